// libFuzzer target for files of the kernel cache: any bytes, and a file whose bytes are changed. A file is accepted only if it is
// byte for byte what would be written.
#include "cuda/kernel_file.hpp"
#include "fuzz_input.hpp"

using namespace gpuscan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz::Input in{data, size};
    const cuda::KernelKey key = {in.number(1), in.number(1)};
    const std::string source = in.take(in.number(1)).text();
    const bool changed = in.number(1) & 1;
    std::string bytes;
    if (changed) { // a good file with up to four other bytes
        const std::string image = in.take(in.number(1)).text();
        bytes = cuda::make_kernel_file(key, source, image);
        while (in.size > 2) {
            const size_t at = in.number(2) % bytes.size();
            bytes[at] = static_cast<char>(in.number(1));
        }
    } else {
        bytes = in.take(size).text();
    }
    std::string image;
    if (cuda::read_kernel_file(bytes, key, source, image))
        fuzz::require(!image.empty() && cuda::make_kernel_file(key, source, image) == bytes,
                      "a wrong file is accepted");
    return 0;
}
