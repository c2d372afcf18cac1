// The CUDA device that all tests of it share; where there is no GPU they are skipped. GPUSCAN_TEST_CACHE names a directory for
// compiled kernels.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "cuda/cuda_device.hpp"
#include "engine/store/dictionary.hpp"

namespace gpuscan::test {

// Starting a device costs half a second.
struct Shared {
    static constexpr size_t pool_pages = 4096;
    std::unique_ptr<CudaDevice> device;
    uint8_t *pool = nullptr;
    std::string reason;
};

inline Shared &shared() {
    static Shared *instance = [] {
        auto *s = new Shared; // never freed: the driver may be gone before static destructors
        void *memory =
            mmap(nullptr, Shared::pool_pages * page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        memset(memory, 0, Shared::pool_pages * page_size);
        s->pool = static_cast<uint8_t *>(memory);
        CudaOptions options;
        const char *cache = getenv("GPUSCAN_TEST_CACHE");
        options.cache_dir = cache ? cache : "";
        options.pool = s->pool;
        options.pool_bytes = Shared::pool_pages * page_size;
        try {
            s->device = make_cuda_device(options);
        } catch (const DeviceError &error) {
            s->reason = error.what();
        }
        return s;
    }();
    return *instance;
}

class CudaTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (getenv("GPUSCAN_FAULT_FILE"))
            GTEST_SKIP() << "this process is the child of the fault test";
        if (!shared().device)
            GTEST_SKIP() << shared().reason;
    }
    // What a test tunes does not last.
    void TearDown() override {
        if (!getenv("GPUSCAN_FAULT_FILE") && shared().device)
            shared().device->tune_groups(GroupTuning());
    }
    static Device &device() { return *shared().device; }
};

} // namespace gpuscan::test
