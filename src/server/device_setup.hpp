// Which devices this process has, how much memory each may use, and what the views show of them.
#pragma once

#include <chrono>
#include <memory>

#include "server/device_process.hpp"
#include "server/devices.hpp"

namespace gpuscan {

namespace cuda {
class CompilerProcesses;
}

class DeviceSetup {
  public:
    DeviceSetup(const DeviceProcessOptions &options, Devices &devices) : options_(options), devices_(devices) {}

    // Forks the processes that compile kernels, if there may be a GPU; before any thread is started.
    void start_compilers();

    // Makes the devices that area->wanted_devices asks for, with all signals blocked (drivers start threads). Returns
    // whether there is any; why one is missing stands in its entry's note.
    bool start();
    // Obeys settings that have changed.
    void configure();
    // Brings the entries' numbers and the eviction counter up to date.
    void update_entries();
    // Comes back when every device has answered.
    void ping();
    // Evicts what belongs to files that are gone.
    void evict_gone();

  private:
    void start_host();
    void start_cuda();
    void serve(ServedDeviceRef device);
    void apply_limits(ServedDevice &device);
    void note(protocol::DeviceKind kind, protocol::ServiceState state, const char *name, const char *text);

    const DeviceProcessOptions &options_;
    Devices &devices_;
    std::shared_ptr<cuda::CompilerProcesses> compilers_;
    unsigned host_threads_ = 0;
    uint64_t evictions_[2] = {};
    uint64_t run_us_[2] = {};
    double busy_[2] = {};
    std::chrono::steady_clock::time_point updated_ = std::chrono::steady_clock::now();

    void update_busy(const ServedDevice &served, double us);
};

} // namespace gpuscan
