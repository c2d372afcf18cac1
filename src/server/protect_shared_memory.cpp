// Takes the right to write PostgreSQL's shared memory from this process; see protect_shared_memory.hpp.
//
// The kernel's own list says where mappings begin and end (PostgreSQL's variables say only where its structures are), and
// is read again afterwards: what counts is what it says then. One mapping may be listed in several pieces; pieces of one
// file (shared anonymous memory has an inode of its own too) belong together.
#include "server/protect_shared_memory.hpp"

#include <sys/mman.h>
#include <sys/shm.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace gpuscan {
namespace {

struct Mapping {
    uintptr_t start = 0, end = 0;
    bool writable = false;
    std::string file; // device and inode
    bool anonymous = true;

    bool holds(const void *address) const {
        const uintptr_t a = reinterpret_cast<uintptr_t>(address);
        return start <= a && a < end;
    }
};

std::vector<Mapping> mappings() {
    std::vector<Mapping> all;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == nullptr)
        return all;
    char *line = nullptr;
    size_t capacity = 0;
    while (getline(&line, &capacity, maps) > 0) {
        Mapping m;
        char rights[8] = "", device[32] = "";
        unsigned long inode = 0;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %31s %lu", &m.start, &m.end, rights, device, &inode) != 5)
            continue;
        m.writable = rights[1] == 'w';
        m.anonymous = inode == 0;
        m.file = std::string(device) + "/" + std::to_string(inode);
        all.push_back(m);
    }
    free(line);
    fclose(maps);
    return all;
}

const Mapping *find(const std::vector<Mapping> &all, const void *address) {
    for (const Mapping &m : all)
        if (m.holds(address))
            return &m;
    return nullptr;
}

bool complain(const char *what, const void *address) {
    fprintf(stderr, "gpuscan: could not protect shared memory at %p: %s\n", address, what);
    return false;
}

bool protect(const std::vector<Mapping> &all, const void *address, const void *keep) {
    const Mapping *home = find(all, address);
    if (home == nullptr)
        return complain("not mapped", address);
    for (const Mapping &m : all) {
        const bool piece = &m == home || (!m.anonymous && m.file == home->file);
        if (!piece || !m.writable)
            continue;
        if (m.holds(keep))
            return complain("it is the mapping of the request slots", address);
        if (mprotect(reinterpret_cast<void *>(m.start), m.end - m.start, PROT_READ) != 0)
            return complain(strerror(errno), address);
    }
    return true;
}

} // namespace

bool guard_memory(const DeviceProcessOptions &options) {
    if (options.detach != nullptr && shmdt(options.detach) != 0 && errno != EINVAL)
        fprintf(stderr, "gpuscan: could not detach shared memory segment: %s\n", strerror(errno));
    const std::vector<Mapping> before = mappings();
    for (int i = 0; i < options.nprotect; ++i)
        if (!protect(before, options.protect[i], options.area))
            return false;
    const std::vector<Mapping> after = mappings();
    for (int i = 0; i < options.nprotect; ++i) {
        const Mapping *m = find(after, options.protect[i]);
        if (m == nullptr || m->writable)
            return complain("it is still writable", options.protect[i]);
    }
    const Mapping *area = find(after, options.area);
    return area != nullptr && area->writable ? true : complain("the request slots became read-only", options.area);
}

} // namespace gpuscan
