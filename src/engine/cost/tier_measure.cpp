// Measures the host; a GPU's part is in cuda/measure.cpp.
//
// PostgreSQL's own speed cannot be asked in a process that runs none of its code, so a loop stands for it that does what a
// sequential scan does with a row: it finds the row by its line pointer, takes it apart by the lengths and alignments of its columns,
// which are data, and calls functions by pointer for its conditions. How long that took where the planner's unit took
// 4000 ns is a constant here, and what it takes on another machine says what a unit takes there.
#include "engine/cost/tier_measure.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <vector>

#include "engine/util/huge_pages.hpp"

namespace gpuscan::tier {

namespace {

constexpr size_t stream_bytes = size_t(32) << 20;
constexpr size_t max_random_bytes = size_t(96) << 20;
constexpr size_t random_accesses = size_t(1) << 19;
constexpr int runs = 5;

// A row of the loop below on the machine of the default rates (AMD EPYC with AVX-512, the "2 cores" of doc/performance.md), ns.
constexpr double reference_row_ns = 31.0;

// A guest is told of all of a processor's last-level cache, which it shares with others.
constexpr double max_far_bytes = 32e6;

// Of this thread, so that others on the same core do not count.
double processor_ns() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

volatile uint64_t sink; // what is computed here is of no use otherwise

template <class Work> double fastest_ns(const Work &work) {
    double best = 1e18;
    for (int i = 0; i < runs; ++i) {
        const double start = processor_ns();
        sink = work();
        best = std::min(best, processor_ns() - start);
    }
    return best;
}

// ---- memory ----

uint64_t next_random(uint64_t &state) { // Marsaglia's xorshift64
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

size_t words_of(size_t bytes) { // a power of two
    size_t words = 1;
    while (words * 2 * sizeof(uint64_t) <= bytes)
        words *= 2;
    return words;
}

// On huge pages where there are any, as columns and tables are.
struct Memory {
    uint64_t *const at;
    Memory() : at(static_cast<uint64_t *>(aligned_alloc(huge_page, max_random_bytes))) {
        if (at == nullptr)
            throw std::bad_alloc();
        wish_huge_pages(at, max_random_bytes);
        memset(at, 1, max_random_bytes);
    }
    ~Memory() { free(at); }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
};

constexpr uint64_t seed = 88172645463325252u;
constexpr double min_random_ns = 0.2;

// The numbers alone, which a random access is not charged with.
double generator_ns() {
    return fastest_ns([] {
        uint64_t state = seed, sum = 0;
        for (size_t i = 0; i < random_accesses; ++i)
            sum += next_random(state);
        return sum;
    });
}

// One access to a random word, independent of the others, as probes of a batch are.
double random_ns(const Memory &memory, size_t bytes, bool write) {
    const size_t mask = words_of(std::min(bytes, max_random_bytes)) - 1;
    uint64_t *const at = memory.at;
    const double ns = fastest_ns([=] {
        uint64_t state = seed, sum = 0;
        if (write)
            for (size_t i = 0; i < random_accesses; ++i)
                at[next_random(state) & mask] += i;
        else
            for (size_t i = 0; i < random_accesses; ++i)
                sum += at[next_random(state) & mask];
        return sum;
    });
    return std::max((ns - generator_ns()) / random_accesses, min_random_ns);
}

void measure_memory(Measurement &m, double near, double far) {
    const Memory memory;
    uint64_t *const at = memory.at;
    const size_t words = stream_bytes / sizeof(uint64_t);
    m.put(Count::MemorySeqRead, fastest_ns([=] {
                                    uint64_t sum = 0;
                                    for (size_t i = 0; i < words; ++i)
                                        sum += at[i];
                                    return sum;
                                }) / stream_bytes);
    m.put(Count::MemorySeqWrite, fastest_ns([=] {
                                     for (size_t i = 0; i < words; ++i)
                                         at[i] = i;
                                     return at[words / 2];
                                 }) / stream_bytes);
    const size_t cached = static_cast<size_t>(std::max(far / 2, near)), beyond = static_cast<size_t>(far * 4);
    m.put(Count::MemoryRandomReadCached, random_ns(memory, cached, false));
    m.put(Count::MemoryRandomRead, random_ns(memory, beyond, false));
    m.put(Count::MemoryRandomWriteCached, random_ns(memory, cached, true));
    m.put(Count::MemoryRandomWrite, random_ns(memory, beyond, true));
}

// ---- a core ----

constexpr int columns = 8, rows_in_page = 60, pages = 64;
constexpr size_t page_bytes = 8192;

struct Page {
    uint16_t pointers[rows_in_page];
    uint8_t data[page_bytes - rows_in_page * sizeof(uint16_t)];
};

struct Column {
    int16_t length; // -1: a length byte, then so many
    int16_t alignment;
};

using Condition = bool (*)(const uint64_t *values, uint64_t constant);
bool less(const uint64_t *values, uint64_t constant) { return values[0] < constant; }
bool different(const uint64_t *values, uint64_t constant) { return values[3] != constant; }

void fill_page(Page &page, const Column *layout, uint64_t seed) {
    size_t at = 0;
    for (int row = 0; row < rows_in_page; ++row) {
        at = (at + 7) & ~size_t(7);
        page.pointers[row] = static_cast<uint16_t>(at);
        for (int c = 0; c < columns; ++c) {
            const size_t alignment = static_cast<size_t>(layout[c].alignment);
            at = (at + alignment - 1) & ~(alignment - 1);
            const size_t length =
                layout[c].length > 0 ? static_cast<size_t>(layout[c].length) : 1 + next_random(seed) % 12;
            memset(page.data + at, static_cast<int>(next_random(seed) & 0x7f), length);
            if (layout[c].length < 0)
                page.data[at] = static_cast<uint8_t>(length - 1);
            at += length;
        }
    }
}

__attribute__((noinline)) void take_apart(const uint8_t *row, const Column *layout, uint64_t *values) {
    size_t at = 0;
    for (int c = 0; c < columns; ++c) {
        const size_t alignment = static_cast<size_t>(layout[c].alignment);
        at = (at + alignment - 1) & ~(alignment - 1);
        values[c] = 0;
        if (layout[c].length < 0) {
            values[c] = row[at];
            at += row[at] + size_t(1);
        } else {
            memcpy(&values[c], row + at, static_cast<size_t>(layout[c].length));
            at += static_cast<size_t>(layout[c].length);
        }
    }
}

double row_ns() {
    const std::vector<Column> layout = {{4, 4}, {4, 4}, {-1, 1}, {8, 8}, {-1, 1}, {-1, 1}, {4, 4}, {8, 8}};
    Condition volatile conditions[2] = {less, different};
    std::vector<Page> heap(pages);
    for (int i = 0; i < pages; ++i)
        fill_page(heap[static_cast<size_t>(i)], layout.data(), 1234567u + static_cast<uint64_t>(i));
    constexpr int repeats = 20;
    const double ns = fastest_ns([&] {
        uint64_t values[columns], found = 0;
        for (int repeat = 0; repeat < repeats; ++repeat)
            for (const Page &page : heap)
                for (const uint16_t pointer : page.pointers) {
                    take_apart(page.data + pointer, layout.data(), values);
                    found += conditions[0](values, 0x40404040u) && conditions[1](values, 7);
                }
        return found;
    });
    return ns / (double(repeats) * pages * rows_in_page);
}

double cache_bytes(int name, double otherwise) {
    const long bytes = sysconf(name);
    return bytes > 0 ? static_cast<double>(bytes) : otherwise;
}

// What cores do, whatever the device; latencies are not only theirs.
bool is_work_of_cores(const CountInfo &row, bool gpu) {
    return row.tier == Tier::Backend || (row.tier == Tier::Processor && (!gpu || row.sharing == Sharing::Feeders));
}

} // namespace

HostMeasurement measure_host() {
    HostMeasurement result = {};
    Measurement &m = result.host;
    m.weights = default_weights(false);
    const double near = cache_bytes(_SC_LEVEL2_CACHE_SIZE, m.weights.values[near_cache]);
    const double far =
        std::max(std::min(cache_bytes(_SC_LEVEL3_CACHE_SIZE, m.weights.values[far_cache]), max_far_bytes), near);
    m.put(near_cache, near);
    m.put(far_cache, far);
    measure_memory(m, near, far);
    result.slowness = row_ns() / reference_row_ns;
    return result;
}

void scale_work(Measurement &measurement, bool gpu, double slowness) {
    const Weights &defaults = default_weights(gpu);
    for (int i = 0; i < counts; ++i)
        if (is_work_of_cores(info(static_cast<Count>(i)), gpu) && in_profile(i, gpu) && !measurement.known[i])
            measurement.put(i, defaults.values[i] * slowness);
}

} // namespace gpuscan::tier
