// Measuring, publishing and writing a profile, in a thread of its own with a low priority.
//
// The file appears as a whole or not at all (a temporary name, fsync, rename), and never takes the place of one that has come meanwhile.
#include "server/self_measurement.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <thread>

#include "engine/cost/tier_measure.hpp"

namespace gpuscan {

using namespace protocol;

namespace {

constexpr int low_priority = 10;

void take_over(const tier::Measurement &measurement, int device, tier::Profile &profile, tier::Origins &origins) {
    profile.devices[device] = measurement.weights;
    memcpy(origins.devices[device], measurement.known, sizeof measurement.known);
}

std::string name_of(const Area &area, int device) {
    const DeviceEntry &entry = area.devices[device];
    const bool ready = entry.state == static_cast<uint32_t>(ServiceState::Ready);
    return ready ? std::string(entry.name, strnlen(entry.name, sizeof entry.name)) : "";
}

bool write_all(int fd, const std::string &text) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t written = write(fd, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        done += static_cast<size_t>(written);
    }
    return fsync(fd) == 0;
}

// The name's last step is a link, which fails if somebody has written a profile meanwhile.
bool write_file(const std::string &path, const std::string &text) {
    const std::string temporary = path + ".tmp";
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool good = write_all(fd, text);
    good = close(fd) == 0 && good;
    good = good && (link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST);
    const int error = errno;
    unlink(temporary.c_str());
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    const int directory = open(folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (directory >= 0) {
        fsync(directory);
        close(directory);
    }
    errno = error;
    return good;
}

void measure(Area &area, Devices &devices) {
    const auto start = std::chrono::steady_clock::now();
    tier::Profile profile = tier::default_profile();
    tier::Origins origins = {};
    tier::HostMeasurement host = tier::measure_host();
    tier::scale_work(host.host, false, host.slowness);
    take_over(host.host, 0, profile, origins);
    profile.ns_per_unit *= host.slowness;
    for (double &ns : profile.executor.ns)
        ns *= host.slowness;
    std::fill_n(origins.server, tier::server_values, true);
    if (const ServedDeviceRef gpu = devices.find(DeviceKind::Cuda)) {
        tier::Measurement measurement = {};
        if (gpu->device->measure(measurement)) {
            tier::scale_work(measurement, true, host.slowness);
            take_over(measurement, 1, profile, origins);
        }
    }
    area.profile.publish(profile);
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
    const std::string path(area.profile_path, strnlen(area.profile_path, sizeof area.profile_path));
    if (!write_file(path, tier::format_profile(profile, origins, name_of(area, 0), name_of(area, 1))))
        fprintf(stderr, "gpuscan: could not write the profile \"%s\": %s\n", path.c_str(), strerror(errno));
    else
        fprintf(stderr, "gpuscan: measured this machine in %ld ms and wrote the profile \"%s\"\n",
                static_cast<long>(took), path.c_str());
}

void run(Area &area, Devices &devices) {
    // (of this thread alone, on Linux)
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), low_priority);
    try {
        measure(area, devices);
    } catch (const std::exception &error) {
        fprintf(stderr, "gpuscan: this machine could not be measured, default costs are used: %s\n", error.what());
    }
}

} // namespace

void measure_if_wanted(Area &area, Devices &devices) {
    if (area.profile_wanted.exchange(0) == 0)
        return;
    sigset_t all, before; // signals are the main thread's
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        std::thread(run, std::ref(area), std::ref(devices)).detach();
    } catch (const std::exception &error) {
        fprintf(stderr, "gpuscan: this machine could not be measured, default costs are used: %s\n", error.what());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace gpuscan
