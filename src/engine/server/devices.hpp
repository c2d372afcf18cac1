// The devices of this process, each with its column cache, and which of them a session gets.
//
// A device may be replaced (gpuscan.host_threads changed) while sessions use it: they hold their part, which ends with
// the last of them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/cache.hpp"
#include "engine/server/protocol.hpp"
#include "engine/server/shared_source.hpp"

namespace gpuscan {

struct ServedDevice {
    ServedDevice(protocol::DeviceKind kind, std::unique_ptr<Device> device, size_t cache_budget)
        : kind(kind), device(std::move(device)), cache(*this->device, cache_budget) {}

    const protocol::DeviceKind kind;
    const std::unique_ptr<Device> device;
    Cache cache; // after the device: goes before it
};
using ServedDeviceRef = std::shared_ptr<ServedDevice>;

class Devices {
  public:
    void set(ServedDeviceRef device) {
        std::lock_guard<std::mutex> guard(lock_);
        place(device->kind) = std::move(device);
    }

    // The device of a kind; None: the best there is. nullptr: there is none.
    ServedDeviceRef find(protocol::DeviceKind kind) {
        std::lock_guard<std::mutex> guard(lock_);
        if (kind == protocol::DeviceKind::None)
            return cuda_ ? cuda_ : host_;
        return place(kind);
    }

    std::vector<ServedDeviceRef> all() {
        std::lock_guard<std::mutex> guard(lock_);
        std::vector<ServedDeviceRef> devices;
        for (const ServedDeviceRef &device : {host_, cuda_})
            if (device)
                devices.push_back(device);
        return devices;
    }

    Shares shares; // sources of sessions that others may join

  private:
    ServedDeviceRef &place(protocol::DeviceKind kind) { return kind == protocol::DeviceKind::Cuda ? cuda_ : host_; }

    std::mutex lock_;
    ServedDeviceRef host_, cuda_;
};

} // namespace gpuscan
