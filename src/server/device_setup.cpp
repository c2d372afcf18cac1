// Which devices this process has; see device_setup.hpp.
//
// Memory. The host device's columns may take gpuscan.cache_size; rows in transit come on top, half as much. The GPU's
// share is one number for both, of which the cache takes four fifths. What executions need of the host's memory (hash
// tables, groups, results; all of it for the host device, groups and results for the GPU) may be as much as the cache,
// at least 256 MB and at most a quarter of the machine's memory, per device.
//
// The GPU is opened before the service says that it is ready, because a session that wants the best device should not
// get the host's for the first second and another one after it; but a driver that hangs is waited for only so long.
#include "server/device_setup.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <thread>

#include "cuda/compiler_processes.hpp"
#include "cuda/cuda_device.hpp"
#include "engine/util/machine.hpp"
#include "engine/util/spare_memory.hpp"
#include "host/host_device.hpp"

namespace gpuscan {

using namespace protocol;

namespace {

constexpr size_t min_host_work = size_t(256) << 20; // for rows in transit, and for executions, beside a small cache
constexpr size_t work_part = 4;                     // of the machine's memory for executions at most
constexpr size_t cuda_cache_percent = 80;           // of the GPU's share
constexpr size_t spare_part = 4;                    // of the memory of executions for blocks that nobody uses now
constexpr size_t cached_part = 16;                  // of the memory of executions for join tables that nobody uses now
constexpr size_t cached_lookups_part = 4;           // ... and for tables over dictionaries
constexpr unsigned max_readers = 32;                // threads that evaluate texts beside a GPU
constexpr unsigned max_compilers = 6;               // processes that compile kernels: 0.1 GB each
constexpr std::chrono::seconds cuda_patience{60};
constexpr double busy_memory_us = 1e6;

unsigned thread_count(uint32_t setting) {
    return setting != 0 ? setting : std::max(1u, std::thread::hardware_concurrency());
}

// The CUDA device while it is being opened. Shared with the thread that opens it, which may be given up.
struct Opening {
    std::mutex lock;
    std::condition_variable finished;
    bool done = false;
    std::unique_ptr<Device> device;
    std::string note = "the driver does not answer";
};

void open_cuda(const std::shared_ptr<Opening> &opening, const CudaOptions &options) {
    std::unique_ptr<CudaDevice> device;
    std::string note;
    try {
        device = make_cuda_device(options);
        note = device->register_note;
    } catch (const std::exception &e) {
        note = e.what();
    }
    std::lock_guard<std::mutex> guard(opening->lock);
    opening->device = std::move(device);
    opening->note = note;
    opening->done = true;
    opening->finished.notify_all();
}

} // namespace

void DeviceSetup::start_compilers() {
    protocol::Area *const area = options_.area;
    if ((area->wanted_devices.load() & 2) == 0)
        return;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    compilers_ =
        std::make_shared<cuda::CompilerProcesses>(std::min(cores, max_compilers), [area] { munmap(area, area->size); });
}

bool DeviceSetup::start() {
    const uint32_t wanted = options_.area->wanted_devices.load();
    if (wanted & 1)
        start_host();
    if (wanted & 2)
        start_cuda();
    configure();
    update_entries();
    return !devices_.all().empty();
}

void DeviceSetup::start_host() {
    host_threads_ = thread_count(options_.area->host_threads.load());
    try {
        serve(std::make_shared<ServedDevice>(DeviceKind::Host, make_host_device(host_threads_),
                                             options_.area->cache_size.load(), host_threads_));
        note(DeviceKind::Host, ServiceState::Ready, "host", "");
    } catch (const std::exception &e) {
        note(DeviceKind::Host, ServiceState::Failed, "host", e.what());
    }
}

void DeviceSetup::start_cuda() {
    CudaOptions options = {};
    options.ordinal = 0;
    options.cache_dir = options_.cache_dir != nullptr ? options_.cache_dir : "";
    options.compilers = std::move(compilers_); // without a GPU they end with these options
    options.pool = options_.pool.pages;
    options.pool_bytes = options_.pool.size;
    options.spin_gate = &options_.area->spin_gate;
    auto opening = std::make_shared<Opening>();
    std::thread(open_cuda, opening, options).detach();
    std::unique_lock<std::mutex> guard(opening->lock);
    opening->finished.wait_for(guard, cuda_patience, [&] { return opening->done; });
    if (!opening->device) {
        note(DeviceKind::Cuda, ServiceState::Failed, "", opening->note.c_str());
        if (!(options_.area->wanted_devices.load() & 1))
            fprintf(stderr, "gpuscan: the GPU cannot be used: %s\n", opening->note.c_str());
        return;
    }
    const std::string name = opening->device->info().name;
    serve(std::make_shared<ServedDevice>(DeviceKind::Cuda, std::move(opening->device), 0,
                                         std::min(thread_count(options_.area->host_threads.load()), max_readers)));
    note(DeviceKind::Cuda, ServiceState::Ready, name.c_str(), opening->note.c_str());
}

// The one that it replaces, if there is one, keeps its cache and its tables as long as sessions use it; planners hear of the new one's.
void DeviceSetup::serve(ServedDeviceRef device) {
    if (const ServedDeviceRef old = devices_.find(device->kind)) {
        old->cache.count_in(nullptr);
        old->tables->tell(nullptr);
    }
    const bool gpu = device->kind == DeviceKind::Cuda;
    CacheStatistics &cache_statistics = options_.area->cache_statistics[gpu];
    cache_statistics.clear();
    device->cache.count_in(&cache_statistics);
    options_.area->cached_builds[gpu].clear();
    device->tables->tell(&options_.area->cached_builds[gpu]);
    devices_.set(std::move(device));
}

void DeviceSetup::note(DeviceKind kind, ServiceState state, const char *name, const char *text) {
    DeviceEntry &entry = options_.area->devices[kind == DeviceKind::Cuda];
    entry.kind = static_cast<uint32_t>(kind);
    snprintf(entry.name, sizeof entry.name, "%s", name);
    snprintf(entry.note, sizeof entry.note, "%s", text);
    entry.state = static_cast<uint32_t>(state);
}

void DeviceSetup::configure() {
    const Area &area = *options_.area;
    const unsigned threads = thread_count(area.host_threads.load());
    if (host_threads_ != 0 && threads != host_threads_)
        start_host(); // running sessions keep the old device to their end
    for (const ServedDeviceRef &device : devices_.all())
        apply_limits(*device);
}

void DeviceSetup::apply_limits(ServedDevice &served) {
    const size_t machine = machine_memory();
    const size_t work = std::max<size_t>(options_.area->cache_size.load(), min_host_work);
    served.device->work_memory()->set_limit(std::min(work, machine / work_part));
    SpareMemory::shared().set_limit(served.device->work_memory()->limit() / spare_part);
    if (served.kind == DeviceKind::Host) {
        served.tables->set_limit(served.device->work_memory()->limit() / cached_part);
        served.lookups->set_limit(served.device->work_memory()->limit() / cached_lookups_part);
        const size_t cache = options_.area->cache_size.load();
        served.device->set_memory_limit(cache + std::max(cache / 2, min_host_work));
        served.cache.set_budget(cache);
        served.cache.set_dictionaries(dictionary_limit(cache, false), true);
        return;
    }
    const size_t share = std::min<uint32_t>(options_.area->device_share.load(), 100);
    const size_t limit = served.device->info().memory_total / 100 * share;
    served.device->set_memory_limit(limit);
    served.tables->set_limit(limit / cached_part);
    served.lookups->set_limit(limit / cached_part);
    served.cache.set_budget(limit / 100 * cuda_cache_percent);
    served.cache.set_dictionaries(dictionary_limit(options_.area->cache_size.load(), true), false);
}

// How many requests have run at a time since the last look, `us` ago; older times count less and less.
void DeviceSetup::update_busy(const ServedDevice &served, double us) {
    const size_t index = served.kind == DeviceKind::Cuda;
    const uint64_t run_us = served.run_us.load();
    const uint64_t more = run_us > run_us_[index] ? run_us - run_us_[index] : 0; // (a replaced device begins at 0)
    const double share = std::min(us / busy_memory_us, 1.0);
    run_us_[index] = run_us;
    busy_[index] += (static_cast<double>(more) / us - busy_[index]) * share;
    options_.area->devices[index].busy.store(static_cast<uint32_t>(busy_[index] * 1000));
}

void DeviceSetup::update_entries() {
    const auto now = std::chrono::steady_clock::now();
    const double us = std::chrono::duration<double, std::micro>(now - updated_).count();
    updated_ = now;
    // What all devices' executions use of host memory, and the dictionaries, stand in the host's line.
    size_t work_used = Dictionary::bytes_of_all();
    for (const ServedDeviceRef &served : devices_.all())
        work_used += served->device->work_memory()->used();
    for (const ServedDeviceRef &served : devices_.all()) {
        if (us > 0)
            update_busy(*served, us);
        const size_t index = served->kind == DeviceKind::Cuda;
        DeviceEntry &entry = options_.area->devices[index];
        const DeviceInfo info = served->device->info();
        entry.memory_total.store(info.memory_total);
        entry.memory_limit.store(info.memory_limit + (index == 0 ? served->device->work_memory()->limit() : 0));
        entry.memory_used.store(info.memory_used + (index == 0 ? work_used : 0));
        entry.cache_bytes.store(served->cache.bytes());
        const uint64_t evictions = served->cache.evictions();
        if (evictions > evictions_[index]) // (a replaced device begins at 0)
            options_.area->counters.chunks_evicted.fetch_add(evictions - evictions_[index]);
        evictions_[index] = evictions;
    }
}

void DeviceSetup::ping() {
    for (const ServedDeviceRef &served : devices_.all())
        served->device->ping();
}

void DeviceSetup::evict_gone() {
    for (const ServedDeviceRef &served : devices_.all()) {
        served->cache.evict_gone([](const std::string &path) -> int64_t {
            struct stat file;
            return stat(path.c_str(), &file) == 0 ? file.st_size : -1;
        });
        served->tables->drop_dead();
        served->lookups->drop_dead();
    }
}

} // namespace gpuscan
