// What the preloaded library and the control program share: one small file that each of the server's processes maps. It holds what
// was asked for (latencies and the shape of the storage), what the storage remembers (its streams and when its channels are free),
// and what has happened (counts and times). It outlives the server, so it can be read afterwards.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "streams.hpp"

namespace asymmetric_storage {

// How a page is reached; the order of the latencies and counters below.
enum Pattern { seq_read, random_read, seq_write, random_write, patterns };

constexpr const char *pattern_names[patterns] = {"seq_read", "random_read", "seq_write", "random_write"};

// Whose pages they are: a relation's (all forks, catalogs too), or a temporary file's.
enum Kind { relation, temporary, kinds };

constexpr const char *kind_names[kinds] = {"relation", "temporary"};

constexpr unsigned most_channels = 64;

struct Asked {
    std::atomic<uint64_t> latency_ns[patterns]; // per page of 8 kB
    std::atomic<uint32_t> streams;              // that the storage follows at once, of reads and of writes
    std::atomic<uint32_t> readahead;            // pages that a stream of reads has read before they are asked for
    std::atomic<uint32_t> channels;             // accesses that the storage serves at the same time; 0: any number
    std::atomic<uint32_t> slice_us;             // a process sleeps when it owes so much
    char program[32];                           // the executable that is delayed
};

struct Counters {
    std::atomic<uint64_t> requests[kinds][patterns]; // by the pattern of the first page
    std::atomic<uint64_t> pages[kinds][patterns];
    std::atomic<uint64_t> skipped[kinds]; // pages that a stream of reads passed over, read like the others
    std::atomic<uint64_t>
        ahead[kinds]; // pages that were asked for later, and had been paid for when they were passed over

    std::atomic<uint64_t> charged_ns; // what all of this should take
    std::atomic<uint64_t> own_ns;     // of it, what the true accesses took
    std::atomic<uint64_t> slept_ns;   // time in sleeps, as the clock says
    std::atomic<uint64_t> late_ns;    // sleeps that ended late, summed
    std::atomic<uint64_t> made_up_ns; // of that, what later sleeps were shortened by
    std::atomic<uint64_t> queued_ns;  // of the sleeps, waiting for a channel
    std::atomic<uint64_t> sleeps;
};

struct State {
    static constexpr uint64_t expected_magic = 0x617379'6d737430'31; // "asymst01"; counts up when the layout changes

    uint64_t magic;
    Asked asked;
    Counters counters;
    std::atomic<uint32_t> servers; // that have loaded the library
    std::atomic<int32_t> server;   // process id of the last one

    pthread_mutex_t lock; // of what follows; robust, since a backend may die at any instruction
    Streams reads, writes;
    uint64_t free_at[most_channels]; // CLOCK_MONOTONIC, ns
};

} // namespace asymmetric_storage
