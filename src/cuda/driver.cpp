// Finding libcuda and NVRTC on this machine, and what their errors mean; see driver.hpp.
#include "cuda/driver.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "engine/device.hpp"

namespace gpuscan::cuda {

namespace {

template <class Function> void resolve(void *library, const char *file, const char *name, Function &function) {
    void *symbol = dlsym(library, name);
    if (!symbol)
        throw DeviceError(std::string(file) + " has no " + name + ": it is too old for gpuscan");
    function = reinterpret_cast<Function>(symbol);
}

// Errors after which every call of the context fails: the process must be started again.
bool is_sticky(CUresult result) {
    static const int sticky[] = {4, 46, 100, 201, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999};
    return std::find(std::begin(sticky), std::end(sticky), result) != std::end(sticky);
}

} // namespace

std::shared_ptr<Driver> Driver::open() {
    static const char *const file = "libcuda.so.1";
    auto driver = std::make_shared<Driver>();
    driver->library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!driver->library) {
        const char *reason = dlerror();
        throw DeviceError(std::string("no NVIDIA driver on this machine (") + (reason ? reason : file) + ")");
    }
#define GPUSCAN_RESOLVE(member, symbol) resolve(driver->library, file, symbol, driver->member)
    GPUSCAN_RESOLVE(cuInit, "cuInit");
    GPUSCAN_RESOLVE(cuDriverGetVersion, "cuDriverGetVersion");
    GPUSCAN_RESOLVE(cuGetErrorName, "cuGetErrorName");
    GPUSCAN_RESOLVE(cuGetErrorString, "cuGetErrorString");
    GPUSCAN_RESOLVE(cuDeviceGetCount, "cuDeviceGetCount");
    GPUSCAN_RESOLVE(cuDeviceGet, "cuDeviceGet");
    GPUSCAN_RESOLVE(cuDeviceGetName, "cuDeviceGetName");
    GPUSCAN_RESOLVE(cuDeviceGetAttribute, "cuDeviceGetAttribute");
    GPUSCAN_RESOLVE(cuDeviceTotalMem, "cuDeviceTotalMem_v2");
    GPUSCAN_RESOLVE(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
    GPUSCAN_RESOLVE(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
    GPUSCAN_RESOLVE(cuCtxSetCurrent, "cuCtxSetCurrent");
    GPUSCAN_RESOLVE(cuMemGetInfo, "cuMemGetInfo_v2");
    GPUSCAN_RESOLVE(cuMemAlloc, "cuMemAlloc_v2");
    GPUSCAN_RESOLVE(cuMemFree, "cuMemFree_v2");
    GPUSCAN_RESOLVE(cuMemAllocAsync, "cuMemAllocAsync");
    GPUSCAN_RESOLVE(cuMemFreeAsync, "cuMemFreeAsync");
    GPUSCAN_RESOLVE(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool");
    GPUSCAN_RESOLVE(cuMemPoolSetAttribute, "cuMemPoolSetAttribute");
    GPUSCAN_RESOLVE(cuMemPoolTrimTo, "cuMemPoolTrimTo");
    GPUSCAN_RESOLVE(cuMemHostAlloc, "cuMemHostAlloc");
    GPUSCAN_RESOLVE(cuMemFreeHost, "cuMemFreeHost");
    GPUSCAN_RESOLVE(cuMemHostRegister, "cuMemHostRegister_v2");
    GPUSCAN_RESOLVE(cuMemHostUnregister, "cuMemHostUnregister");
    GPUSCAN_RESOLVE(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2");
    GPUSCAN_RESOLVE(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
    GPUSCAN_RESOLVE(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
    GPUSCAN_RESOLVE(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
    GPUSCAN_RESOLVE(cuMemsetD8Async, "cuMemsetD8Async");
    GPUSCAN_RESOLVE(cuStreamCreate, "cuStreamCreate");
    GPUSCAN_RESOLVE(cuStreamDestroy, "cuStreamDestroy_v2");
    GPUSCAN_RESOLVE(cuStreamQuery, "cuStreamQuery");
    GPUSCAN_RESOLVE(cuStreamSynchronize, "cuStreamSynchronize");
    GPUSCAN_RESOLVE(cuEventCreate, "cuEventCreate");
    GPUSCAN_RESOLVE(cuEventDestroy, "cuEventDestroy_v2");
    GPUSCAN_RESOLVE(cuEventRecord, "cuEventRecord");
    GPUSCAN_RESOLVE(cuEventQuery, "cuEventQuery");
    GPUSCAN_RESOLVE(cuEventElapsedTime, "cuEventElapsedTime");
    GPUSCAN_RESOLVE(cuModuleLoadData, "cuModuleLoadData");
    GPUSCAN_RESOLVE(cuModuleUnload, "cuModuleUnload");
    GPUSCAN_RESOLVE(cuModuleGetFunction, "cuModuleGetFunction");
    GPUSCAN_RESOLVE(cuFuncSetAttribute, "cuFuncSetAttribute");
    GPUSCAN_RESOLVE(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    GPUSCAN_RESOLVE(cuLaunchKernel, "cuLaunchKernel");
#undef GPUSCAN_RESOLVE
    driver->cuStreamWriteValue32 =
        reinterpret_cast<decltype(driver->cuStreamWriteValue32)>(dlsym(driver->library, "cuStreamWriteValue32_v2"));
    const CUresult result = driver->cuInit(0);
    if (result == 100)
        throw DeviceError("the NVIDIA driver sees no GPU");
    if (result != success)
        throw DeviceError("the NVIDIA driver does not start: " + driver->error_text(result));
    return driver;
}

Driver::~Driver() {
    // libcuda stays open: its own threads and exit handlers outlive us.
}

std::string Driver::error_text(CUresult result) const {
    const char *name = nullptr;
    const char *text = nullptr;
    cuGetErrorName(result, &name);
    cuGetErrorString(result, &text);
    return std::string(name ? name : "CUDA error " + std::to_string(result)) + (text ? std::string(": ") + text : "");
}

void Driver::check(CUresult result, const char *what) const {
    if (result == success)
        return;
    const std::string text = std::string(what) + ": " + error_text(result);
    if (result == error_out_of_memory)
        throw OutOfDeviceMemory(text);
    if (is_sticky(result))
        throw DeviceLost(text);
    throw DeviceError(text);
}

std::shared_ptr<Nvrtc> Nvrtc::open() {
    auto nvrtc = std::make_shared<Nvrtc>();
    std::string file;
    std::string tried;
    for (const char *directory :
         {"", "/usr/local/cuda/lib64/", "/usr/local/nvidia/lib64/", "/usr/lib/x86_64-linux-gnu/",
          "/usr/local/cuda-13/lib64/", "/usr/local/cuda-12/lib64/"}) {
        for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
            if (nvrtc->library)
                break;
            file = std::string(directory) + name;
            nvrtc->library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
            tried += (tried.empty() ? "" : ", ") + file;
        }
    }
    if (!nvrtc->library)
        throw DeviceError("NVRTC, the CUDA run-time compiler, is not installed (tried " + tried + ")");
    const char *const from = file.c_str();
#define GPUSCAN_RESOLVE(name) resolve(nvrtc->library, from, #name, nvrtc->name)
    GPUSCAN_RESOLVE(nvrtcVersion);
    GPUSCAN_RESOLVE(nvrtcGetErrorString);
    GPUSCAN_RESOLVE(nvrtcGetNumSupportedArchs);
    GPUSCAN_RESOLVE(nvrtcGetSupportedArchs);
    GPUSCAN_RESOLVE(nvrtcCreateProgram);
    GPUSCAN_RESOLVE(nvrtcDestroyProgram);
    GPUSCAN_RESOLVE(nvrtcCompileProgram);
    GPUSCAN_RESOLVE(nvrtcGetProgramLogSize);
    GPUSCAN_RESOLVE(nvrtcGetProgramLog);
    GPUSCAN_RESOLVE(nvrtcGetCUBINSize);
    GPUSCAN_RESOLVE(nvrtcGetCUBIN);
    GPUSCAN_RESOLVE(nvrtcGetPTXSize);
    GPUSCAN_RESOLVE(nvrtcGetPTX);
#undef GPUSCAN_RESOLVE
    int major = 0;
    int minor = 0;
    int count = 0;
    nvrtc->nvrtcVersion(&major, &minor);
    nvrtc->version = major * 1000 + minor * 10;
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) == 0 && count > 0) {
        nvrtc->architectures.resize(static_cast<size_t>(count));
        nvrtc->nvrtcGetSupportedArchs(nvrtc->architectures.data());
        std::sort(nvrtc->architectures.begin(), nvrtc->architectures.end());
    }
    return nvrtc;
}

Nvrtc::~Nvrtc() {
    // Stays open too: a compilation that nobody waits for may still run.
}

} // namespace gpuscan::cuda
