// A stand-in for libcuda.so.1: device memory is host memory, kernels (compiled by fake_nvrtc.cpp) run on the CPU when
// they are launched. With it the whole CUDA device runs in tests on machines without a GPU:
//
//     LD_LIBRARY_PATH=<directory of the two libraries> GPUSCAN_EMULATOR_DIR=test/cuda_emulator build/.../unit_tests
//
// Freed memory is overwritten, new memory is filled with noise, and a guard behind every allocation is checked. With
// GPUSCAN_EMULATOR_POOLS in the environment the device keeps small pieces for itself, as on a GPU, and these are seen no more.
//
// A server plans for another machine's GPU with that machine's profile and, in its environment, GPUSCAN_EMULATOR_MEMORY (GiB that
// the GPU seems to have, 4 unless told) and, this library being preloaded, GPUSCAN_EMULATOR_CORES (processors that the machine seems to
// have). See "Testing without a GPU" in doc/architecture.md.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace {

constexpr size_t guard = 256;
std::mutex mutex;
std::map<uint64_t, size_t> allocations;

// What a multiprocessor has: the memory of an H200, and room for few threads, so that little is done in one launch.
constexpr size_t divisions[] = {0,         8 << 10,   16 << 10,  32 << 10,  64 << 10,
                                100 << 10, 132 << 10, 164 << 10, 196 << 10, 228 << 10};
constexpr size_t most_shared = 228 << 10, reserved_shared = 1 << 10, shared_without_asking = 48 << 10;
constexpr unsigned most_threads = 512;

struct Wishes { // of a kernel
    size_t shared = 0;
    int division = -1;
};
std::map<void *, Wishes> wishes;

size_t memory_bytes() {
    const char *gib = getenv("GPUSCAN_EMULATOR_MEMORY");
    return size_t(gib ? atol(gib) : 4) << 30;
}

} // namespace

extern "C" {

long sysconf(int name) noexcept {
    static long (*const real)(int) = reinterpret_cast<long (*)(int)>(dlsym(RTLD_NEXT, "sysconf"));
    const char *cores = name == _SC_NPROCESSORS_ONLN ? getenv("GPUSCAN_EMULATOR_CORES") : nullptr;
    return cores ? atol(cores) : real(name);
}

int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int *v) {
    *v = 13000;
    return 0;
}
int cuGetErrorName(int, const char **s) {
    *s = "EMULATED_ERROR";
    return 0;
}
int cuGetErrorString(int, const char **s) {
    *s = "error of the emulator";
    return 0;
}
int cuDeviceGetCount(int *n) {
    *n = 1;
    return 0;
}
int cuDeviceGet(int *d, int) {
    *d = 0;
    return 0;
}
int cuDeviceGetName(char *name, int n, int) {
    snprintf(name, static_cast<size_t>(n), "emulator");
    return 0;
}
// Without pools of memory every piece is an allocation of its own, whose end is guarded.
int cuDeviceGetAttribute(int *v, int which, int) {
    *v = which == 75    ? 9
         : which == 76  ? 0
         : which == 16  ? 2
         : which == 113 ? 1
         : which == 115 ? getenv("GPUSCAN_EMULATOR_POOLS") != nullptr
                        : 49152;
    return 0;
}
int cuDeviceTotalMem_v2(size_t *n, int) {
    *n = memory_bytes();
    return 0;
}
int cuDevicePrimaryCtxRetain(void **c, int) {
    *c = &mutex;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void *) { return 0; }
int cuMemGetInfo_v2(size_t *f, size_t *t) {
    *f = *t = memory_bytes();
    return 0;
}
int cuMemAlloc_v2(uint64_t *p, size_t n) {
    if (n > memory_bytes())
        return 2;
    char *memory = static_cast<char *>(aligned_alloc(512, (n + guard + 511) / 512 * 512));
    if (n < (1 << 22))
        memset(memory, 0xcd, n);
    memset(memory + n, 0xab, guard);
    *p = reinterpret_cast<uint64_t>(memory);
    std::lock_guard<std::mutex> lock(mutex);
    allocations[*p] = n;
    return 0;
}
int cuMemFree_v2(uint64_t p) {
    std::lock_guard<std::mutex> lock(mutex);
    const size_t n = allocations.at(p);
    allocations.erase(p);
    char *memory = reinterpret_cast<char *>(p);
    for (size_t i = 0; i < guard; ++i)
        if (static_cast<unsigned char>(memory[n + i]) != 0xab) {
            fprintf(stderr, "emulator: a kernel wrote beyond an allocation of %zu bytes\n", n);
            abort();
        }
    if (n < (1 << 22))
        memset(memory, 0xdd, n);
    free(memory);
    return 0;
}
int cuMemAllocAsync(uint64_t *p, size_t n, void *) { return cuMemAlloc_v2(p, n); }
int cuMemFreeAsync(uint64_t p, void *) { return cuMemFree_v2(p); }
int cuDeviceGetDefaultMemPool(void **p, int) {
    *p = &mutex;
    return 0;
}
int cuMemPoolSetAttribute(void *, int, void *) { return 0; }
int cuMemPoolTrimTo(void *, size_t) { return 0; }
int cuMemHostAlloc(void **p, size_t n, unsigned) {
    *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    return 0;
}
int cuMemFreeHost(void *p) {
    free(p);
    return 0;
}
int cuMemHostRegister_v2(void *, size_t, unsigned) { return 0; }
int cuMemHostUnregister(void *) { return 0; }
int cuMemHostGetDevicePointer_v2(uint64_t *d, void *p, unsigned) {
    *d = reinterpret_cast<uint64_t>(p);
    return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t d, const void *s, size_t n, void *) {
    memcpy(reinterpret_cast<void *>(d), s, n);
    return 0;
}
int cuMemcpyDtoHAsync_v2(void *d, uint64_t s, size_t n, void *) {
    memcpy(d, reinterpret_cast<void *>(s), n);
    return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t d, uint64_t s, size_t n, void *) {
    memmove(reinterpret_cast<void *>(d), reinterpret_cast<void *>(s), n);
    return 0;
}
int cuMemsetD8Async(uint64_t d, unsigned char v, size_t n, void *) {
    memset(reinterpret_cast<void *>(d), v, n);
    return 0;
}
int cuStreamWriteValue32_v2(void *, uint64_t d, uint32_t v, unsigned) {
    *reinterpret_cast<volatile uint32_t *>(d) = v;
    return 0;
}
int cuStreamCreate(void **s, unsigned) {
    *s = malloc(1);
    return 0;
}
int cuStreamDestroy_v2(void *s) {
    free(s);
    return 0;
}
int cuStreamQuery(void *) { return 0; }
int cuStreamSynchronize(void *) { return 0; }
int cuEventCreate(void **e, unsigned) {
    *e = malloc(1);
    return 0;
}
int cuEventDestroy_v2(void *e) {
    free(e);
    return 0;
}
int cuEventRecord(void *, void *) { return 0; }
int cuEventQuery(void *) { return 0; }
int cuEventElapsedTime(float *ms, void *, void *) {
    *ms = 0.5f;
    return 0;
}
int cuModuleLoadData(void **module, const void *image) {
    const char *bytes = static_cast<const char *>(image);
    if (memcmp(bytes, "EMULATED", 8) != 0)
        return 200;
    uint64_t size;
    memcpy(&size, bytes + 8, 8);
    char path[] = "/tmp/gpuscan-kernel-XXXXXX";
    const int file = mkstemp(path);
    if (write(file, bytes + 16, size) != static_cast<ssize_t>(size))
        return 999;
    close(file);
    *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*module)
        fprintf(stderr, "emulator: %s\n", dlerror());
    unlink(path);
    return *module ? 0 : 200;
}
int cuModuleUnload(void *) { return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = dlsym(module, (std::string("emulated_") + name).c_str());
    return *function ? 0 : 500;
}
int cuFuncSetAttribute(void *function, int which, int value) {
    std::lock_guard<std::mutex> lock(mutex);
    if (which == 8)
        wishes[function].shared = static_cast<size_t>(value);
    else if (which == 9)
        wishes[function].division = value;
    else
        return 1;
    return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function, int threads, size_t shared) {
    std::lock_guard<std::mutex> lock(mutex);
    const int wish = wishes[function].division;
    size_t room = most_shared;
    if (wish >= 0)
        for (size_t division : divisions)
            if (division * 100 >= most_shared * static_cast<size_t>(wish)) {
                room = division;
                break;
            }
    if (room < shared + reserved_shared)
        room = most_shared; // a wish is no order
    *n = static_cast<int>(std::min<size_t>(std::max(1u, most_threads / static_cast<unsigned>(threads)),
                                           room / (shared + reserved_shared)));
    return 0;
}
int cuLaunchKernel(void *function, unsigned grid, unsigned rows, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned shared, void *, void **arguments, void **) {
    {
        std::lock_guard<std::mutex> lock(mutex);
        if (shared > std::max(shared_without_asking, wishes[function].shared))
            return 1;
    }
    static std::mutex running;
    std::lock_guard<std::mutex> lock(running);
    reinterpret_cast<void (*)(unsigned, unsigned, unsigned, void *)>(function)(grid, rows, threads, arguments[0]);
    return 0;
}
}
