// Sorting a dictionary's texts; see text_order.hpp.
//
// Multikey quicksort over eight bytes at a time (Bentley and Sedgewick, "Fast Algorithms for Sorting and Searching Strings", SODA
// 1997), which stand beside each code, so that a text is looked at once for every eight bytes that it shares with others (caching:
// Ng and Kakehi, "Cache Efficient Radix Sort for String Sorting", 2007). Before that all threads split the texts into ranges, which is all
// that rough ranks need; ranges that are large after that are parted first, all of a round at the same time, until every thread
// has some of those that are left.
#include "engine/store/text_order.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/util/cancel_point.hpp"

namespace gpuscan {
namespace {

constexpr size_t few = 16;             // sorted by insertion
constexpr size_t read_ahead = 16;      // texts
constexpr size_t per_task = 64 * 1024; // texts that one thread goes through at a time
constexpr size_t few_new = 64;         // one in so many is put in between those that are sorted
constexpr uint32_t key_bytes = 8;
constexpr size_t buckets = 256; // (a power of two)
constexpr size_t max_samples = 8 * buckets, some = 64;
constexpr int max_rounds = 3;        // of splitting
constexpr size_t rough_part = 16;    // of all texts: a rough range has no more, where that can be had
constexpr size_t rough_range = 1024; // ... but need not have fewer

struct Item {
    uint64_t key; // the bytes at the range's depth, in the order of numbers; 0 behind the text's end
    uint32_t code, length;
};

struct Range { // all texts have the same bytes before `depth`, and reach it; keys are those at `depth`
    size_t first, last;
    uint32_t depth;
    size_t size() const { return last - first; }
};

uint64_t key_at(std::string_view text, uint32_t depth) {
    uint64_t key = 0;
    memcpy(&key, text.data() + depth, std::min<size_t>(text.size() - depth, key_bytes));
    return __builtin_bswap64(key);
}

class Sorter {
  public:
    Sorter(const TextOrder &order, const WorkMemoryRef &memory, const RunTasks &run,
           const std::atomic<uint32_t> *cancel)
        : order_(order), items_(memory), memory_(memory), run_(run), cancel_(cancel) {}

    WorkArray<Item> &items() { return items_; }

    // Parts the texts of so many codes from `first_code` on into ranges of not more than `enough`, in their order, where that takes
    // few rounds.
    std::vector<Range> begin(uint32_t first_code, size_t count, size_t enough) {
        items_.resize(count);
        const Range all = {0, count, 0};
        run_(tasks_of(all), [&](size_t task) {
            const Range part = task_of(all, task);
            for (size_t i = part.first; i < part.last; ++i)
                items_[i].code = first_code + static_cast<uint32_t>(i);
        });
        std::vector<Range> left{all}, done;
        for (int round = 0; round < max_rounds && !left.empty(); ++round) {
            std::vector<Range> parts;
            for (const Range &range : left)
                split(range, parts);
            left.clear();
            for (const Range &range : parts)
                (range.size() > enough ? left : done).push_back(range);
        }
        done.insert(done.end(), left.begin(), left.end());
        return done;
    }

    // Ranges of which nobody has read the keys.
    void load(const std::vector<Range> &ranges) {
        run_(ranges.size(), [&](size_t i) {
            CancelPoint cancel(cancel_);
            load(ranges[i]);
            cancel.worked(ranges[i].size() * sizeof(Item));
        });
    }

    void sort(const std::vector<Range> &ranges) {
        std::vector<Range> large, small;
        const size_t too_many = std::max(per_task, items_.size() / 32);
        for (const Range &range : ranges)
            (range.size() > too_many ? large : small).push_back(range);
        while (!large.empty()) {
            std::vector<std::vector<Range>> parts(large.size());
            run_(large.size(), [&](size_t i) {
                CancelPoint cancel(cancel_);
                part(large[i], parts[i], cancel);
            });
            large.clear();
            for (const std::vector<Range> &of_one : parts)
                for (const Range &range : of_one)
                    (range.size() > too_many ? large : small).push_back(range);
        }
        run_(small.size(), [&](size_t i) {
            CancelPoint cancel(cancel_);
            std::vector<Range> left{small[i]};
            while (!left.empty()) {
                const Range range = left.back();
                left.pop_back();
                if (range.size() > few)
                    part(range, left, cancel);
                else
                    insert(range);
            }
        });
    }

  private:
    // ---- splitting: all threads put the texts of a range into buckets, whose bounds some of the texts give (Frazer and McKellar,
    // "Samplesort", JACM 1970)

    size_t tasks_of(const Range &range) const { return (range.size() + per_task - 1) / per_task; }
    Range task_of(const Range &range, size_t task) const {
        const size_t begin = range.first + task * per_task;
        return {begin, std::min(range.last, begin + per_task), range.depth};
    }

    // How many bytes the texts of a range most likely have in common.
    uint32_t likely_depth(const Range &range) const {
        const std::string_view first = order_.text(items_[range.first].code);
        size_t common = std::min<size_t>(first.size(), UINT32_MAX / 2);
        for (size_t i = 1; i < some; ++i) {
            const std::string_view text = order_.text(items_[range.first + i * (range.size() - 1) / some].code);
            common = std::min(common, text.size());
            common = static_cast<size_t>(std::mismatch(first.begin(), first.begin() + common, text.begin()).first -
                                         first.begin());
        }
        return std::max(range.depth, static_cast<uint32_t>(common));
    }

    // Reads the keys at `depth`. False: not all texts have the same bytes before it.
    bool load_at(const Range &range, uint32_t depth) {
        const std::string_view common = order_.text(items_[range.first].code).substr(0, depth);
        std::atomic<bool> same{true};
        run_(tasks_of(range), [&](size_t task) {
            CancelPoint cancel(cancel_);
            const Range part = task_of(range, task);
            for (size_t i = part.first; i < part.last && same.load(std::memory_order_relaxed); ++i) {
                if (i + read_ahead < part.last)
                    order_.dictionary.prefetch(items_[i + read_ahead].code);
                const std::string_view text = order_.text(items_[i].code);
                if (text.size() < depth ||
                    memcmp(text.data() + range.depth, common.data() + range.depth, depth - range.depth) != 0) {
                    same = false;
                    return;
                }
                items_[i].length = static_cast<uint32_t>(text.size());
                items_[i].key = key_at(text, depth);
                cancel.worked(sizeof(Item));
            }
        });
        return same;
    }

    // Adds the parts of a range to `parts`; keys are read.
    void split(Range range, std::vector<Range> &parts) {
        if (range.size() == 0)
            return;
        const uint32_t depth = likely_depth(range);
        if (load_at(range, depth))
            range.depth = depth;
        else
            load_at(range, range.depth);
        const size_t samples = std::min(max_samples, range.size());
        std::vector<uint64_t> bounds;
        for (size_t i = 0; i < samples; ++i)
            bounds.push_back(items_[range.first + i * range.size() / samples].key);
        std::sort(bounds.begin(), bounds.end());
        bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
        if (bounds.size() >= buckets) {
            for (size_t i = 1; i < buckets; ++i)
                bounds[i - 1] = bounds[i * bounds.size() / buckets];
        }
        bounds.resize(buckets - 1, UINT64_MAX);
        try {
            put_into_buckets(range, bounds, parts);
        } catch (const OutOfWorkMemory &) {
            parts.push_back(range); // (which can be sorted where it is)
        }
    }

    // The bucket of a key: how many bounds are not above it. (Comparisons whose outcome no processor can guess are no branches.)
    static uint8_t bucket_for(const uint64_t *bounds, uint64_t key) {
        size_t bucket = 0;
        for (size_t step = buckets / 2; step > 0; step /= 2)
            bucket += bounds[bucket + step - 1] <= key ? step : 0;
        return static_cast<uint8_t>(bucket);
    }

    void put_into_buckets(const Range &range, const std::vector<uint64_t> &bounds, std::vector<Range> &parts) {
        const size_t tasks = tasks_of(range);
        std::vector<std::vector<size_t>> at(tasks, std::vector<size_t>(buckets)); // counts, then places
        WorkArray<uint8_t> bucket_of(memory_);
        WorkArray<Item> to(memory_);
        bucket_of.resize(range.size());
        to.resize(range.size());
        run_(tasks, [&](size_t task) {
            const Range part = task_of(range, task);
            for (size_t i = part.first; i < part.last; ++i) {
                const uint8_t bucket = bucket_for(bounds.data(), items_[i].key);
                bucket_of[i - range.first] = bucket;
                ++at[task][bucket];
            }
        });
        size_t end = 0;
        for (size_t bucket = 0; bucket < buckets; ++bucket) {
            const size_t first = end;
            for (std::vector<size_t> &of_task : at)
                of_task[bucket] = std::exchange(end, end + of_task[bucket]);
            if (end > first)
                parts.push_back({range.first + first, range.first + end, range.depth});
        }
        run_(tasks, [&](size_t task) {
            const Range part = task_of(range, task);
            for (size_t i = part.first; i < part.last; ++i)
                to[at[task][bucket_of[i - range.first]]++] = items_[i];
        });
        if (range.size() == items_.size())
            items_ = std::move(to);
        else
            std::copy(to.begin(), to.end(), items_.begin() + range.first);
    }

    // ---- sorting

    void load(const Range &range) {
        for (size_t i = range.first; i < range.last; ++i) {
            if (i + read_ahead < range.last)
                order_.dictionary.prefetch(items_[i + read_ahead].code);
            const std::string_view text = order_.text(items_[i].code);
            items_[i].length = static_cast<uint32_t>(text.size());
            items_[i].key = key_at(text, range.depth);
        }
    }

    uint64_t middle(size_t a, size_t b, size_t c) const {
        const uint64_t x = items_[a].key, y = items_[b].key, z = items_[c].key;
        return std::max(std::min(x, y), std::min(std::max(x, y), z));
    }

    uint64_t pivot(const Range &range) const {
        const size_t step = range.size() / 8, first = range.first;
        const uint64_t thirds[3] = {middle(first, first + step, first + 2 * step),
                                    middle(first + 3 * step, first + 4 * step, first + 5 * step),
                                    middle(first + 6 * step, first + 7 * step, range.last - 1)};
        return std::max(std::min(thirds[0], thirds[1]), std::min(std::max(thirds[0], thirds[1]), thirds[2]));
    }

    // Adds what is left to sort of a range to `parts`.
    void part(const Range &range, std::vector<Range> &parts, CancelPoint &cancel) {
        cancel.worked(range.size() * sizeof(Item));
        const uint64_t key = pivot(range);
        size_t less = range.first, more = range.last, at = less;
        while (at < more) {
            if (items_[at].key < key)
                std::swap(items_[less++], items_[at++]);
            else if (items_[at].key > key)
                std::swap(items_[at], items_[--more]);
            else
                ++at;
        }
        for (const Range &other : {Range{range.first, less, range.depth}, Range{more, range.last, range.depth}})
            if (other.size() > 1)
                parts.push_back(other);
        // Of equal keys: texts that end here come first. They are equal, or end in zeros.
        Item *const end = items_.data() + more;
        const uint32_t deeper = range.depth + key_bytes;
        Item *const longer =
            std::partition(items_.data() + less, end, [deeper](const Item &item) { return item.length <= deeper; });
        std::sort(items_.data() + less, longer, [](const Item &a, const Item &b) { return a.length < b.length; });
        const Range rest = {static_cast<size_t>(longer - items_.data()), more, deeper};
        if (rest.size() <= 1)
            return;
        load(rest);
        parts.push_back(rest);
    }

    bool is_less(const Item &a, const Item &b, uint32_t depth) const {
        if (a.key != b.key)
            return a.key < b.key;
        return order_.text(a.code).substr(depth) < order_.text(b.code).substr(depth);
    }

    void insert(const Range &range) {
        for (size_t i = range.first + 1; i < range.last; ++i) {
            const Item item = items_[i];
            size_t to = i;
            for (; to > range.first && is_less(item, items_[to - 1], range.depth); --to)
                items_[to] = items_[to - 1];
            items_[to] = item;
        }
    }

    const TextOrder &order_;
    WorkArray<Item> items_;
    const WorkMemoryRef memory_;
    const RunTasks &run_;
    const std::atomic<uint32_t> *const cancel_;
};

// The codes of base, which are sorted, and those of the items.
void merge(WorkArray<uint32_t> &to, const WorkArray<uint32_t> &base, const WorkArray<Item> &items,
           const TextOrder &order) {
    const uint32_t *from = base.begin();
    size_t at = 0;
    for (const Item &item : items) {
        const std::string_view text = order.text(item.code);
        const uint32_t *const place = std::upper_bound(
            from, base.end(), text, [&](std::string_view mine, uint32_t code) { return mine < order.text(code); });
        at = static_cast<size_t>(std::copy(from, place, to.begin() + at) - to.begin());
        to[at++] = item.code;
        from = place;
    }
    std::copy(from, base.end(), to.begin() + at);
}

} // namespace

std::string_view TextOrder::text(uint32_t code) const {
    std::string_view text = dictionary.entry(code);
    if (without_blanks)
        text = text.substr(0, text.find_last_not_of(' ') + 1); // (npos + 1: none)
    return text;
}

static int32_t *ranks_of(LookupTable &table) { return reinterpret_cast<int32_t *>(table.values.data()); }

// Ranks of the texts at these places of `by_rank`, which are in order.
static void number(LookupTable &table, const TextOrder &order, size_t first, size_t last) {
    int32_t *const ranks = ranks_of(table);
    int32_t rank = static_cast<int32_t>(first);
    for (size_t i = first; i < last; ++i) {
        const uint32_t code = table.by_rank[i];
        if (!order.without_blanks || i == first || order.text(table.by_rank[i - 1]) != order.text(code))
            rank = static_cast<int32_t>(i);
        ranks[code] = rank;
    }
}

bool takes_few_in(size_t entries, const LookupTable *base) {
    return base != nullptr && base->rough.empty() && entries - base->entries <= entries / few_new;
}

void rank_by_bytes(LookupTable &table, const TextOrder &order, const LookupTable *base, const WorkMemoryRef &memory,
                   const RunTasks &run, const std::atomic<uint32_t> *cancel) {
    const size_t n = table.entries;
    const size_t known = takes_few_in(n, base) ? base->by_rank.size() : 0;
    Sorter sorter(order, memory, run, cancel);
    sorter.sort(sorter.begin(static_cast<uint32_t>(known), n - known, std::max(per_task, n / 32)));
    const WorkArray<Item> &items = sorter.items();
    table.by_rank.charge_to(memory);
    table.by_rank.resize(n);
    if (known > 0)
        merge(table.by_rank, base->by_rank, items, order);
    else
        std::transform(items.begin(), items.end(), table.by_rank.begin(), [](const Item &item) { return item.code; });
    const size_t pieces = order.without_blanks ? 1 : (n + per_task - 1) / per_task; // (equal ones are neighbours)
    run(pieces, [&](size_t i) { number(table, order, i * n / pieces, (i + 1) * n / pieces); });
    table.nulls[n] = 1;
}

void rank_roughly(LookupTable &table, const TextOrder &order, const WorkMemoryRef &memory, const RunTasks &run,
                  const std::atomic<uint32_t> *cancel) {
    const size_t n = table.entries;
    Sorter sorter(order, memory, run, cancel);
    std::vector<Range> ranges = sorter.begin(0, n, std::max(rough_range, n / rough_part));
    std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) { return a.first < b.first; });
    const WorkArray<Item> &items = sorter.items();
    table.by_rank.charge_to(memory);
    table.by_rank.resize(n);
    int32_t *const ranks = ranks_of(table);
    run(ranges.size(), [&](size_t r) {
        for (size_t i = ranges[r].first; i < ranges[r].last; ++i) {
            table.by_rank[i] = items[i].code;
            ranks[items[i].code] = static_cast<int32_t>(ranges[r].first);
        }
    });
    for (const Range &range : ranges)
        if (range.size() > 1)
            table.rough.push_back({static_cast<uint32_t>(range.first), static_cast<uint32_t>(range.last), range.depth});
    table.nulls[n] = 1;
}

void sharpen(LookupTable &table, const TextOrder &order, const std::vector<size_t> &which, const WorkMemoryRef &memory,
             const RunTasks &run, const std::atomic<uint32_t> *cancel) {
    Sorter sorter(order, memory, run, cancel);
    std::vector<Range> ranges;
    size_t n = 0;
    for (size_t i : which) {
        const RoughRanks &rough = table.rough[i];
        ranges.push_back({n, n + rough.last - rough.first, rough.depth});
        n = ranges.back().last;
    }
    WorkArray<Item> &items = sorter.items();
    items.resize(n);
    for (size_t r = 0; r < ranges.size(); ++r)
        for (size_t i = ranges[r].first; i < ranges[r].last; ++i)
            items[i].code = table.by_rank[table.rough[which[r]].first + (i - ranges[r].first)];
    sorter.load(ranges);
    sorter.sort(ranges);
    run(ranges.size(), [&](size_t r) {
        RoughRanks &rough = table.rough[which[r]];
        for (size_t i = ranges[r].first; i < ranges[r].last; ++i)
            table.by_rank[rough.first + (i - ranges[r].first)] = items[i].code;
        number(table, order, rough.first, rough.last);
        rough.last = rough.first; // (is done)
    });
    table.rough.erase(std::remove_if(table.rough.begin(), table.rough.end(),
                                     [](const RoughRanks &rough) { return rough.first == rough.last; }),
                      table.rough.end());
}

void invert_ranks(LookupTable &table) {
    const int32_t *const ranks = reinterpret_cast<const int32_t *>(table.values.data());
    table.by_rank.resize(table.entries, 0);
    for (size_t code = table.entries; code-- > 0;)
        if (!table.nulls[code] && ranks[code] >= 0 && static_cast<size_t>(ranks[code]) < table.entries)
            table.by_rank[static_cast<size_t>(ranks[code])] = static_cast<uint32_t>(code);
}

} // namespace gpuscan
