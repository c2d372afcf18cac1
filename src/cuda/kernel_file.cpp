// The header before the machine code; see kernel_file.hpp.
#include "cuda/kernel_file.hpp"

#include <cstring>

#include "engine/util/sha256.hpp"

namespace gpuscan::cuda {
namespace {

struct Header {
    char magic[8] = {'G', 'P', 'U', 'S', 'C', 'A', 'N', '2'};
    uint64_t key_low = 0;
    uint64_t key_high = 0;
    uint64_t source_size = 0;
    Sha256 source_hash = {};
    uint64_t size = 0;
    Sha256 hash = {};
};
static_assert(sizeof(Header) == 104, "the file has no gaps, so that all of the header is compared");

Header header_of(KernelKey key, const std::string &source, const std::string &image) {
    Header header;
    header.key_low = key.first;
    header.key_high = key.second;
    header.source_size = source.size();
    header.source_hash = sha256(source);
    header.size = image.size();
    header.hash = sha256(image);
    return header;
}

} // namespace

std::string make_kernel_file(KernelKey key, const std::string &source, const std::string &image) {
    const Header header = header_of(key, source, image);
    return std::string(reinterpret_cast<const char *>(&header), sizeof header) + image;
}

bool read_kernel_file(const std::string &bytes, KernelKey key, const std::string &source, std::string &image) {
    if (bytes.size() <= sizeof(Header))
        return false;
    image.assign(bytes, sizeof(Header), std::string::npos);
    const Header expected = header_of(key, source, image);
    return memcmp(bytes.data(), &expected, sizeof expected) == 0;
}

} // namespace gpuscan::cuda
