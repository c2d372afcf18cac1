// The order of a dictionary's texts by their bytes, as memcmp has it, of two of which one begins with the other the shorter first.
// That is the order of the C collation and of all that compare bytes; the backend knows which ones do (pg/exec/lookup.cpp).
#pragma once

#include <atomic>
#include <functional>

#include "engine/store/dictionary.hpp"
#include "engine/store/lookup_table.hpp"

namespace gpuscan {

// Calls the task for each number below `count`, with as many threads as there are.
using RunTasks = std::function<void(size_t count, const std::function<void(size_t)> &task)>;

struct TextOrder {
    const Dictionary &dictionary;
    bool without_blanks; // those at a text's end do not count (bpchar)

    std::string_view text(uint32_t code) const;
};

// Fills a table of I32 with the ranks of its entries, and its `by_rank`. Texts that are equal without blanks share a rank, that of
// the first of them. `base`: the finished ranks of the first entries, or nullptr; a few new ones are put in between them.
// Throws Cancelled and OutOfWorkMemory.
void rank_by_bytes(LookupTable &table, const TextOrder &order, const LookupTable *base, const WorkMemoryRef &memory,
                   const RunTasks &run, const std::atomic<uint32_t> *cancel);

// Does it do that?
bool takes_few_in(size_t entries, const LookupTable *base);

// The same with rough ranks (LookupTable::rough): ranges of a small part of the texts each, where most texts differ early. Takes a
// fraction of the time.
void rank_roughly(LookupTable &table, const TextOrder &order, const WorkMemoryRef &memory, const RunTasks &run,
                  const std::atomic<uint32_t> *cancel);

// Finds the ranks in some of the table's rough ranges (their numbers, ascending), which are none then.
void sharpen(LookupTable &table, const TextOrder &order, const std::vector<size_t> &which, const WorkMemoryRef &memory,
             const RunTasks &run, const std::atomic<uint32_t> *cancel);

// Fills `by_rank` of a table of ranks that somebody else has found: for each the first code that has it.
void invert_ranks(LookupTable &table);

} // namespace gpuscan
