// Loading modules and dividing a multiprocessor's memory; see module.hpp.
#include "cuda/module.hpp"

#include <algorithm>

namespace gpuscan::cuda {

namespace {

// Per cent of the shared memory that a multiprocessor can have; the driver rounds up to the next division there is: 100 of
// 228 kB on an H200. With 8 sessions 30 to 43 % gave the highest throughput; 60 % take too much of the cache away, and the
// kernels of SSB take a fifth longer.
constexpr int common_division = 35;
constexpr int drivers_choice = -1;

} // namespace

Module::Module(std::shared_ptr<Driver> driver, CUcontext context, const std::string &image)
    : driver_(std::move(driver)), context_(context) {
    driver_->check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent");
    driver_->check(driver_->cuModuleLoadData(&module_, image.data()), "cuModuleLoadData");
}

Module::~Module() {
    if (module_ && driver_->cuCtxSetCurrent(context_) == success)
        driver_->cuModuleUnload(module_);
}

CUfunction Module::function(const char *name) const {
    CUfunction function = nullptr;
    driver_->check(driver_->cuModuleGetFunction(&function, module_, name), "cuModuleGetFunction");
    return function;
}

unsigned Module::blocks(CUfunction function, unsigned threads, size_t shared) const {
    int blocks = 0;
    if (driver_->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, static_cast<int>(threads), shared) !=
        success)
        blocks = 1;
    return static_cast<unsigned>(std::max(1, blocks));
}

// The driver keeps one division and one limit of shared memory for a function: the largest need decides.
Resident Module::resident(const char *name, unsigned threads, size_t shared) const {
    std::lock_guard<std::mutex> guard(mutex_);
    const auto key = std::make_tuple(std::string(name), threads, shared);
    const auto found = residents_.find(key);
    if (found != residents_.end())
        return found->second;
    Resident resident;
    resident.function = function(name);
    size_t &most = most_shared_[resident.function];
    if (shared > most) {
        driver_->check(driver_->cuFuncSetAttribute(resident.function, function_attribute_max_dynamic_shared,
                                                   static_cast<int>(shared)),
                       "cuFuncSetAttribute");
        most = shared;
    }
    const auto divide = [&](int division) { // a wish: an error changes nothing but speed
        driver_->cuFuncSetAttribute(resident.function, function_attribute_shared_division, division);
        return blocks(resident.function, threads, most);
    };
    const unsigned alone = divide(drivers_choice);
    if (divide(common_division) * 2 <= alone)
        divide(drivers_choice);
    resident.blocks = blocks(resident.function, threads, shared);
    residents_.emplace(key, resident);
    return resident;
}

} // namespace gpuscan::cuda
