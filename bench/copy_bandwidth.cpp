// copy_bandwidth: how fast the device copies memory: the yardstick of bench/operators.sh (Diamos, Wu, Lele, Wang,
// Yalamanchili, "Relational Algorithms for Multi-Bulk-Synchronous Processors", 2012, section 5: operators are shown against
// a copy benchmark, each byte of input and output counted once).
//
//     copy_bandwidth cuda|host [MEGABYTES]
//
// Prints GB/s, read and write together: the best of several copies of a buffer that no cache holds. "cuda" copies within
// the memory of the first GPU, "host" within main memory by one thread a core.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int repetitions = 9;

[[noreturn]] void fail(const std::string &message) {
    std::fprintf(stderr, "copy_bandwidth: %s\n", message.c_str());
    std::exit(2);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <typename Copy> double best_rate(size_t bytes, const Copy &copy) {
    copy(); // touches the pages
    double best = 0;
    for (int i = 0; i < repetitions; ++i) {
        const auto start = std::chrono::steady_clock::now();
        copy();
        best = std::max(best, 2.0 * static_cast<double>(bytes) / seconds_since(start) / 1e9);
    }
    return best;
}

double host_rate(size_t bytes) {
    std::vector<uint8_t> from(bytes, 1), to(bytes, 2);
    const size_t count = std::max(1u, std::thread::hardware_concurrency());
    return best_rate(bytes, [&] {
        std::vector<std::thread> threads;
        for (size_t t = 0; t < count; ++t)
            threads.emplace_back([&, t] {
                const size_t first = bytes * t / count, last = bytes * (t + 1) / count;
                memcpy(&to[first], &from[first], last - first);
            });
        for (std::thread &thread : threads)
            thread.join();
    });
}

// The driver's functions, opened at run time like gpuscan's own: building needs no CUDA.
template <typename... Args> void call(void *library, const char *name, Args... args) {
    void *function = dlsym(library, name);
    if (!function)
        fail(std::string("the driver has no ") + name);
    const int error = reinterpret_cast<int (*)(Args...)>(function)(args...);
    if (error)
        fail(std::string(name) + " failed with CUDA error " + std::to_string(error));
}

double cuda_rate(size_t bytes) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda)
        fail("no NVIDIA driver here");
    int device = 0;
    void *context = nullptr;
    unsigned long long from = 0, to = 0;
    call(cuda, "cuInit", 0u);
    call(cuda, "cuDeviceGet", &device, 0);
    call(cuda, "cuDevicePrimaryCtxRetain", &context, device);
    call(cuda, "cuCtxSetCurrent", context);
    call(cuda, "cuMemAlloc_v2", &from, bytes);
    call(cuda, "cuMemAlloc_v2", &to, bytes);
    call(cuda, "cuMemsetD8_v2", from, static_cast<unsigned char>(1), bytes);
    const double rate = best_rate(bytes, [&] {
        call(cuda, "cuMemcpyDtoD_v2", to, from, bytes);
        call(cuda, "cuCtxSynchronize");
    });
    call(cuda, "cuMemFree_v2", from);
    call(cuda, "cuMemFree_v2", to);
    return rate;
}

} // namespace

int main(int argc, char **argv) {
    const std::string kind = argc > 1 ? argv[1] : "";
    if (kind != "cuda" && kind != "host")
        fail("usage: copy_bandwidth cuda|host [MEGABYTES]");
    const long megabytes = argc > 2 ? std::atol(argv[2]) : kind == "cuda" ? 4096 : 512;
    if (megabytes < 1)
        fail("how many megabytes?");
    const size_t bytes = static_cast<size_t>(megabytes) << 20;
    std::printf("%.1f\n", kind == "cuda" ? cuda_rate(bytes) : host_rate(bytes));
    return 0;
}
