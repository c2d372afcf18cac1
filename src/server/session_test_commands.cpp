// Faults on demand, for the tests of everything that must survive them. Absent from a normal build.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "cuda/driver.hpp"
#include "cuda/kernel_cache.hpp"
#include "server/planted_death.hpp"
#include "server/session.hpp"

namespace gpuscan {

#ifdef GPUSCAN_TEST_COMMANDS

namespace {

// shared_buffers as memory that a device may try to write.
struct PoolBuffer : Buffer {
    explicit PoolBuffer(const BufferPool &pool) {
        data = const_cast<uint8_t *>(pool.pages);
        size = pool.size;
    }
};

// A kernel that stores into the first page of shared_buffers, through the address at which the GPU reads it.
void store_by_kernel(Device &device, const BufferPool &pool) {
    const BufferRef current = device.allocate(16); // makes the device's context this thread's
    const auto driver = cuda::Driver::open();
    cuda::CUdeviceptr address = 0;
    const auto first = (reinterpret_cast<uintptr_t>(pool.pages) + page_size - 1) / page_size * page_size;
    driver->check(driver->cuMemHostGetDevicePointer(&address, reinterpret_cast<void *>(first), 0),
                  "address of the pool");
    int major = 0, minor = 0;
    driver->cuDeviceGetAttribute(&major, cuda::attribute_compute_major, 0);
    driver->cuDeviceGetAttribute(&minor, cuda::attribute_compute_minor, 0);
    const std::string image = cuda::Compiler(cuda::Nvrtc::open())
                                  .compile("extern \"C\" __global__ void poke(unsigned long long a) { "
                                           "((volatile int *)a)[threadIdx.x] = 42; }\n",
                                           major * 10 + minor);
    cuda::CUmodule module = nullptr;
    cuda::CUfunction function = nullptr;
    driver->check(driver->cuModuleLoadData(&module, image.data()), "loading the kernel");
    driver->check(driver->cuModuleGetFunction(&function, module, "poke"), "finding the kernel");
    void *arguments[] = {&address};
    driver->check(driver->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), "the launch");
    driver->check(driver->cuStreamSynchronize(nullptr), "the store into shared_buffers");
}

[[noreturn]] void die() {
    for (;;)
        *static_cast<volatile int *>(nullptr) = 0; // cppcheck-suppress nullPointer
}

// GPUSCAN_PLANTED_DEATH in the server's environment: "200 runs" or "2 seconds". Nothing if it asks for another unit.
std::optional<uint64_t> planted(const char *unit) {
    static const char *const wish = getenv("GPUSCAN_PLANTED_DEATH");
    if (wish == nullptr)
        return std::nullopt;
    char *end = nullptr;
    const uint64_t count = strtoull(wish, &end, 10);
    return strcmp(end, unit) == 0 ? std::optional<uint64_t>(count) : std::nullopt;
}

} // namespace

void die_after_runs(const protocol::Counters &counters) {
    static std::atomic<uint64_t> runs;
    const std::optional<uint64_t> wanted = planted(" runs");
    if (wanted && counters.restarts == 0 && ++runs == *wanted)
        die();
}

void die_after_seconds(const protocol::Counters &counters) {
    static const auto start = std::chrono::steady_clock::now();
    const std::optional<uint64_t> wanted = planted(" seconds");
    if (wanted && counters.restarts == 0 && std::chrono::steady_clock::now() - start >= std::chrono::seconds(*wanted))
        die();
}

void Session::test(MessageReader &in, const std::atomic<uint32_t> *cancel) {
    const protocol::TestRequest request = in.head<protocol::TestRequest>();
    switch (request.what) {
    case 1:
        signal(SIGSEGV, SIG_DFL);
        kill(getpid(), SIGSEGV);
        break;
    case 2:
        while (cancel == nullptr || cancel->load(std::memory_order_relaxed) == 0)
            usleep(10 * 1000);
        throw Cancelled();
    case 3: {
        PoolBuffer pool(pool_);
        const ServedDeviceRef device = devices_.find(protocol::DeviceKind::None);
        if (device && device->kind == protocol::DeviceKind::Cuda)
            store_by_kernel(*device->device, pool_);
        else if (device)
            device->device->fill(pool, 0, 0xa5, page_size);
        break;
    }
    default:
        throw InvalidMessage("unknown test");
    }
}

// A query that ends the process, or never ends, as a defect would: any harness can plant it (WHERE t LIKE '%gpuscan_planted_death%').
void Session::plant_death(const std::string &function) {
    if (function.find("gpuscan_planted_death") != std::string::npos)
        die();
    while (function.find("gpuscan_planted_deafness") != std::string::npos)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

#else

void Session::test(MessageReader &, const std::atomic<uint32_t> *) { throw InvalidMessage("not a test build"); }
void Session::plant_death(const std::string &) {}
void die_after_runs(const protocol::Counters &) {}
void die_after_seconds(const protocol::Counters &) {}

#endif

} // namespace gpuscan
