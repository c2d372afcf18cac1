// Compiled kernels in memory and on disk. What needs a device is skipped where there is none.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "cuda/kernel_cache.hpp"
#include "engine/device.hpp"
#include "engine/util/sha256.hpp"

namespace gpuscan {
namespace {

using cuda::Compiler;
using cuda::KernelCache;
using cuda::ModuleRef;

class KernelCacheTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/gpuscan-kernels-XXXXXX";
        ASSERT_NE(nullptr, mkdtemp(name));
        directory_ = name;
    }
    void TearDown() override { (void)!system(("rm -rf " + directory_).c_str()); }

    void put(const std::string &name, size_t bytes, long age) const {
        std::ofstream(directory_ + "/" + name) << std::string(bytes, 'x');
        const timespec when = {time(nullptr) - age, 0};
        const timespec times[2] = {when, when};
        ASSERT_EQ(0, utimensat(AT_FDCWD, (directory_ + "/" + name).c_str(), times, 0));
    }
    bool there(const std::string &name) const { return access((directory_ + "/" + name).c_str(), F_OK) == 0; }
    size_t kernels() const {
        FILE *list = popen(("ls " + directory_ + " | grep -c cubin$").c_str(), "r");
        size_t count = 0;
        EXPECT_EQ(1, fscanf(list, "%zu", &count));
        pclose(list);
        return count;
    }

    bool open_device() {
        try {
            driver = cuda::Driver::open();
            compiler = std::make_shared<Compiler>(cuda::Nvrtc::open());
        } catch (const DeviceError &error) {
            reason = error.what();
            return false;
        }
        cuda::CUdevice device = 0;
        int major = 0, minor = 0;
        driver->check(driver->cuDeviceGet(&device, 0), "cuDeviceGet");
        driver->check(driver->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
        driver->check(driver->cuDeviceGetAttribute(&major, cuda::attribute_compute_major, device), "attribute");
        driver->check(driver->cuDeviceGetAttribute(&minor, cuda::attribute_compute_minor, device), "attribute");
        architecture = major * 10 + minor;
        return true;
    }

    std::string directory_, reason;
    std::shared_ptr<cuda::Driver> driver;
    std::shared_ptr<Compiler> compiler;
    cuda::CUcontext context = nullptr;
    int architecture = 0;
};

TEST_F(KernelCacheTest, DirectoryKeepsWhatWasUsedLast) {
    put("a.cubin", 1000, 30);
    put("b.cubin", 1000, 10);
    put("c.cubin", 1000, 20);
    put("d.cubin.1.2.tmp", 10, 7200);
    put("e.cubin.1.3.tmp", 10, 5);
    put("other", 100000, 1000);
    KernelCache::bound_directory(directory_, 5000);
    EXPECT_TRUE(there("a.cubin") && there("b.cubin") && there("c.cubin") && there("other"));
    EXPECT_FALSE(there("d.cubin.1.2.tmp")); // its writer is gone
    EXPECT_TRUE(there("e.cubin.1.3.tmp"));
    KernelCache::bound_directory(directory_, 2000);
    EXPECT_FALSE(there("a.cubin"));
    EXPECT_TRUE(there("b.cubin") && there("c.cubin") && there("other"));
    KernelCache::bound_directory(directory_, 0);
    EXPECT_FALSE(there("b.cubin") || there("c.cubin"));
    EXPECT_TRUE(there("other"));
    KernelCache::bound_directory(directory_ + "/missing", 0);
    KernelCache::bound_directory("", 0);
}

// A file is the kernel's own, byte for byte, or it is none: also for another source of the same key.
TEST(KernelFileTest, ProvesWhatItIs) {
    const cuda::KernelKey key = {1, 2};
    const std::string source = "source", image("machine\0code", 12);
    const std::string file = cuda::make_kernel_file(key, source, image);
    std::string read;
    EXPECT_TRUE(cuda::read_kernel_file(file, key, source, read));
    EXPECT_EQ(image, read);
    EXPECT_FALSE(cuda::read_kernel_file(file, {2, 2}, source, read));
    EXPECT_FALSE(cuda::read_kernel_file(file, {1, 3}, source, read));
    EXPECT_FALSE(cuda::read_kernel_file(file, key, "sourcf", read));
    EXPECT_FALSE(cuda::read_kernel_file(file, key, source + " ", read));
    for (size_t i = 0; i < file.size(); ++i) {
        std::string bad = file;
        bad[i] = static_cast<char>(bad[i] ^ 1);
        EXPECT_FALSE(cuda::read_kernel_file(bad, key, source, read)) << i;
        EXPECT_FALSE(cuda::read_kernel_file(file.substr(0, i), key, source, read)) << i;
    }
    EXPECT_FALSE(cuda::read_kernel_file(file + "x", key, source, read));
}

// The standard's own examples, and the lengths around a block.
TEST(KernelFileTest, Sha256) {
    const auto hex = [](const std::string &text) {
        std::string digits;
        for (uint8_t byte : sha256(text)) {
            char two[3];
            snprintf(two, sizeof two, "%02x", byte);
            digits += two;
        }
        return digits;
    };
    EXPECT_EQ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hex(""));
    EXPECT_EQ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hex("abc"));
    EXPECT_EQ("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
              hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
    EXPECT_EQ("9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318", hex(std::string(55, 'a')));
    EXPECT_EQ("b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a", hex(std::string(56, 'a')));
    EXPECT_EQ("7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34", hex(std::string(63, 'a')));
    EXPECT_EQ("ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb", hex(std::string(64, 'a')));
    EXPECT_EQ("31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb", hex(std::string(119, 'a')));
    EXPECT_EQ("2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c", hex(std::string(120, 'a')));
    EXPECT_EQ("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", hex(std::string(1000000, 'a')));
}

// What does not compile lies beside the kernels, with the reason.
TEST_F(KernelCacheTest, KeepsWhatDoesNotCompile) {
    if (!open_device())
        GTEST_SKIP() << reason;
    KernelCache cache(driver, context, compiler, nullptr, architecture, directory_);
    const std::string source = "extern \"C\" __global__ void broken() { undeclared(); }\n";
    EXPECT_THROW(cache.get(source, nullptr, nullptr), DeviceError);
    std::ifstream file(directory_ + "/not-compiled.cu");
    const std::string kept{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(0u, kept.find(source));
    EXPECT_NE(std::string::npos, kept.find("undeclared", source.size())) << kept;
    EXPECT_EQ(0u, kernels());
}

// The first one that asks waits, the others find it: in memory, then on disk.
TEST_F(KernelCacheTest, MemoryAndDisk) {
    if (!open_device())
        GTEST_SKIP() << reason;
    const std::string source = "extern \"C\" __global__ void one(const int *p) { (void)p; }\n";
    const std::string broken = "extern \"C\" __global__ void one(\n";
    {
        KernelCache cache(driver, context, compiler, nullptr, architecture, directory_);
        cache.start(source);
        uint64_t us = 0, again = 0;
        const ModuleRef first = cache.get(source, nullptr, &us);
        EXPECT_NE(nullptr, first->function("one"));
        EXPECT_GT(us, 0u); // whoever asks first is told, though it was started before
        EXPECT_EQ(first, cache.get(source, nullptr, &again));
        EXPECT_EQ(0u, again);
        EXPECT_THROW(cache.get(broken, nullptr, nullptr), DeviceError);
        cache.start(broken); // harmless
        const std::atomic<uint32_t> cancelled{1};
        EXPECT_THROW(cache.get(source + "// 2", &cancelled, nullptr), Cancelled);
    }
    EXPECT_EQ(2u, kernels()); // the one that was cancelled too
    KernelCache cache(driver, context, compiler, nullptr, architecture, directory_);
    uint64_t us = 0;
    EXPECT_NE(nullptr, cache.get(source, nullptr, &us)->function("one"));
    EXPECT_EQ(0u, us); // from disk
}

// Kernels with little shared memory share a multiprocessor's memory as all do, those with much get what they need.
TEST_F(KernelCacheTest, Residents) {
    if (!open_device())
        GTEST_SKIP() << reason;
    KernelCache cache(driver, context, compiler, nullptr, architecture, directory_);
    const std::string source = "extern __shared__ int shared[];\n"
                               "extern \"C\" __global__ void one(int *p) { shared[threadIdx.x] = 1; *p = shared[0]; }\n"
                               "extern \"C\" __global__ void two(int *p) { *p = 1; }\n";
    const ModuleRef module = cache.get(source, nullptr, nullptr);
    const unsigned all = module->blocks(module->function("one"), 256, 16);
    const cuda::Resident little = module->resident("one", 256, 1024);
    EXPECT_EQ(module->function("one"), little.function);
    EXPECT_EQ(all, little.blocks);
    EXPECT_EQ(little.blocks, module->resident("one", 256, 1024).blocks);
    // What fits into no division but the largest one must run all the same, also after others have asked for less.
    int most = 0;
    driver->check(driver->cuDeviceGetAttribute(&most, cuda::attribute_max_shared_per_block_optin, 0), "attribute");
    const unsigned some = module->blocks(module->function("one"), 256, static_cast<size_t>(most) / 4);
    EXPECT_EQ(some, module->resident("one", 256, static_cast<size_t>(most) / 4).blocks);
    EXPECT_GE(module->resident("one", 256, static_cast<size_t>(most)).blocks, 1u);
    EXPECT_GE(module->resident("one", 256, 1024).blocks, 1u);
    EXPECT_EQ(all, module->resident("two", 256, 0).blocks);
    EXPECT_THROW(module->resident("three", 256, 0), DeviceError);
}

} // namespace
} // namespace gpuscan
