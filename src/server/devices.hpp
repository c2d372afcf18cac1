// The devices of this process, each with its column cache, and which of them a session gets.
//
// A device may be replaced (gpuscan.host_threads changed) while sessions use it: they hold their part, which ends with
// the last of them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/store/cache.hpp"
#include "engine/store/cached_join_tables.hpp"
#include "engine/store/cached_lookups.hpp"
#include "host/thread_pool.hpp"
#include "server/decided_wal.hpp"
#include "server/protocol.hpp"
#include "server/shared_source.hpp"
#include "server/wal_follower.hpp"

namespace gpuscan {

struct ServedDevice {
    // `threads` evaluate texts.
    ServedDevice(protocol::DeviceKind kind, std::unique_ptr<Device> device, size_t cache_budget, unsigned threads = 1)
        : kind(kind), device(std::move(device)), cache(*this->device, cache_budget), threads_(threads) {
        // Cached tables are of the memory that the host device counts as executions', a GPU as everybody's.
        std::weak_ptr<CachedJoinTables> cached = tables;
        std::weak_ptr<CachedLookups> cached_lookups = lookups;
        auto reclaim = [cached, cached_lookups] {
            const std::shared_ptr<CachedJoinTables> there = cached.lock();
            if (there && there->drop_one())
                return true;
            const std::shared_ptr<CachedLookups> others = cached_lookups.lock();
            return others && others->drop_one();
        };
        if (kind == protocol::DeviceKind::Host)
            this->device->work_memory()->set_reclaim(reclaim);
        else
            cache.set_reclaim(reclaim);
    }

    const protocol::DeviceKind kind;
    std::atomic<uint64_t> run_us{0}; // time of requests on the device, all added up
    const std::unique_ptr<Device> device;
    Cache cache;                      // after the device: goes before it
    WalFollower wal{cache, "pg_wal"}; // (the process's directory is the server's)
    DecidedWal decided_wal;
    const std::shared_ptr<CachedJoinTables> tables = std::make_shared<CachedJoinTables>();
    const std::shared_ptr<CachedLookups> lookups = std::make_shared<CachedLookups>();

    // The threads that evaluate texts, started by the first who needs them.
    ThreadPool &pool() {
        std::call_once(pool_started_, [this] { pool_ = std::make_unique<ThreadPool>(threads_); });
        return *pool_;
    }

  private:
    const unsigned threads_;
    std::once_flag pool_started_;
    std::unique_ptr<ThreadPool> pool_;
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
