#include "engine/util/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace gpuscan {
namespace {

// A limit of a control group, from its file; without one, or with "max", UINT64_MAX.
uint64_t limit_in(const char *path) {
    FILE *file = fopen(path, "re");
    if (file == nullptr)
        return UINT64_MAX;
    unsigned long long limit = 0;
    const bool read = fscanf(file, "%llu", &limit) == 1;
    fclose(file);
    return read ? limit : UINT64_MAX;
}

// Version 2 of control groups: the limits of the process's own group and of all groups above it.
uint64_t limit_of_own_groups() {
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == nullptr)
        return UINT64_MAX;
    char line[4096], path[4200];
    uint64_t least = UINT64_MAX;
    while (fgets(line, sizeof line, file) != nullptr) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        char *group = line + 3;
        group[strcspn(group, "\n")] = '\0';
        for (char *end = group + strlen(group); end != nullptr; end = strrchr(group, '/')) {
            *end = '\0';
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
            least = std::min(least, limit_in(path));
        }
    }
    fclose(file);
    return least;
}

uint64_t find() {
    const uint64_t machine =
        static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    const uint64_t group = std::min(limit_of_own_groups(), limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    return std::min(machine, group);
}

} // namespace

uint64_t machine_memory() {
    static const uint64_t memory = find();
    return memory;
}

int machine_cores() {
    static const int cores = std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
    return cores;
}

} // namespace gpuscan
