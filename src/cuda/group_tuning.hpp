// How groups are kept, as far as it is a matter of speed only: the answers are the same whatever stands here. The defaults
// are what won on an H200 (doc/performance.md, "Grouping"); tests and benchmarks set others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/util/value_bits.hpp"

namespace gpuscan {

struct GroupTuning {
    size_t block_bytes = 32u << 10;   // shared memory of a block, where several share a multiprocessor
    size_t large_bytes = 200u << 10;  // and of a block that has it alone; no more than the GPU allows
    unsigned large_threads = 1024;    // of such a block
    unsigned min_copies = 4;          // with fewer copies of a group in block_bytes the large block is taken
    unsigned copies = 32;             // of a group in shared memory, at most
    unsigned spread = 128;            // groups times copies: more than min_copies only below it
    unsigned cells = 1024;            // groups that a block keeps in shared memory where not all fit; 0: none
    unsigned cell_copies = 2;         // and the copies of each
    bool side_by_side = true;         // four rows of a thread at once where nothing filters them
    bool combine = false;             // add up the rows of one group in a warp first
    uint64_t dense_groups = 1u << 20; // tables with an entry per number may have so many, whatever the rows
    size_t dense_bytes = 512u << 20;  // and are never larger than this
    BitsWorth bits = gpu_bits;        // for groups and DISTINCT values; beyond it they are sets
    size_t noted_bytes = SIZE_MAX;    // of both, at most
    uint64_t counted_rows = 4u << 20; // from so many rows on groups are counted before they get a hash table
    uint64_t min_slots = 1u << 10;
    // Beyond so many, those that ORDER BY ... LIMIT does not want stay where they are. (Three passes over the table find them, and two gather
    // what is left: 0.1 ms for 110,000 groups, whose way to the host takes 5.)
    uint64_t chosen_groups = 1u << 12;
    uint64_t few_groups = 1u << 13;  // beyond so many, groups may stay on the GPU until they are fetched,
    uint64_t kept_groups = 1u << 20; // so many at a time
    size_t table_bytes = SIZE_MAX;   // of a hash table, at most; what does not fit is done in several passes
};

} // namespace gpuscan
