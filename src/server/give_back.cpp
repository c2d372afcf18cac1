// Memory that goes back to the system; see give_back.hpp.
#include "server/give_back.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "engine/util/spare_memory.hpp"

namespace gpuscan {
namespace {

constexpr size_t worth_a_look = size_t(16) << 20; // growth since the last time
constexpr auto between_looks = std::chrono::seconds(2);

} // namespace

void limit_arenas() { mallopt(M_ARENA_MAX, static_cast<int>(std::max(2u, std::thread::hardware_concurrency()))); }

size_t private_memory() {
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == nullptr)
        return 0;
    unsigned long size = 0, resident = 0, shared = 0;
    const bool read = fscanf(file, "%lu %lu %lu", &size, &resident, &shared) == 3;
    fclose(file);
    return read && resident > shared ? (resident - shared) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

void give_back_free_memory() { malloc_trim(0); }

void MemoryKeeper::look() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_)
        return;
    next_ = now + between_looks;
    SpareMemory::shared().give_back();
    if (private_memory() < before_ + worth_a_look)
        return;
    give_back_free_memory();
    before_ = private_memory();
}

} // namespace gpuscan
