// Sorting a dictionary's texts; see text_order.hpp.
//
// Multikey quicksort over eight bytes at a time (Bentley and Sedgewick, "Fast Algorithms for Sorting and Searching Strings", SODA
// 1997), which stand beside each code, so that a text is looked at once for every eight bytes that it shares with others (caching:
// Ng and Kakehi, "Cache Efficient Radix Sort for String Sorting", 2007). The large ranges are parted first, all of a round at the same time, until
// every thread has some of those that are left.
#include "engine/store/text_order.hpp"

#include <algorithm>
#include <cstring>

#include "engine/util/cancel_point.hpp"

namespace gpuscan {
namespace {

constexpr size_t few = 16;             // sorted by insertion
constexpr size_t read_ahead = 16;      // texts
constexpr size_t per_task = 64 * 1024; // texts that one thread goes through at a time
constexpr size_t few_new = 64;         // one in so many is put in between those that are sorted
constexpr uint32_t key_bytes = 8;

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
    Sorter(const TextOrder &order, uint32_t first_code, size_t count, const WorkMemoryRef &memory, const RunTasks &run,
           const std::atomic<uint32_t> *cancel)
        : order_(order), first_code_(first_code), items_(memory), run_(run), cancel_(cancel) {
        items_.resize(count);
    }

    WorkArray<Item> &sort() {
        const size_t n = items_.size(), tasks = (n + per_task - 1) / per_task;
        std::vector<Range> large, small;
        Range all = {0, n, 0};
        // What all texts begin with is left out.
        for (std::atomic<bool> common{true}; n > 0 && common; all.depth += key_bytes) {
            const uint32_t depth = all.depth;
            const uint64_t first_key = key_at(order_.text(first_code_), depth);
            run_(tasks, [&](size_t task) {
                const size_t begin = task * per_task, end = std::min(n, begin + per_task);
                for (size_t i = begin; depth == 0 && i < end; ++i)
                    items_[i].code = first_code_ + static_cast<uint32_t>(i);
                if (load({begin, end, depth}, first_key))
                    common = false;
            });
            if (!common)
                break;
        }
        (n > per_task ? large : small).push_back(all);
        while (!large.empty()) {
            std::vector<std::vector<Range>> parts(large.size());
            run_(large.size(), [&](size_t i) {
                CancelPoint cancel(cancel_);
                part(large[i], parts[i], cancel);
            });
            large.clear();
            for (const std::vector<Range> &of_one : parts)
                for (const Range &range : of_one)
                    (range.size() > std::max(per_task, n / 32) ? large : small).push_back(range);
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
        return items_;
    }

  private:
    // Reads the keys. Do they differ from `expected`, or does a text end there?
    bool load(const Range &range, uint64_t expected) {
        bool differs = false;
        for (size_t i = range.first; i < range.last; ++i) {
            if (i + read_ahead < range.last)
                order_.dictionary.prefetch(range.depth == 0 ? first_code_ + static_cast<uint32_t>(i + read_ahead)
                                                            : items_[i + read_ahead].code);
            Item &item = items_[i];
            const std::string_view text = order_.text(item.code);
            item.length = static_cast<uint32_t>(text.size());
            item.key = key_at(text, range.depth);
            differs = differs || item.key != expected || item.length <= range.depth + key_bytes;
        }
        return differs;
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
        load(rest, 0);
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
    const uint32_t first_code_;
    WorkArray<Item> items_;
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

void rank_by_bytes(LookupTable &table, const TextOrder &order, const LookupTable *base, const WorkMemoryRef &memory,
                   const RunTasks &run, const std::atomic<uint32_t> *cancel) {
    const size_t n = table.entries;
    const size_t known = base != nullptr && n - base->entries <= n / few_new ? base->by_rank.size() : 0;
    Sorter sorter(order, static_cast<uint32_t>(known), n - known, memory, run, cancel);
    const WorkArray<Item> &items = sorter.sort();
    table.by_rank.charge_to(memory);
    table.by_rank.resize(n);
    if (known > 0)
        merge(table.by_rank, base->by_rank, items, order);
    else
        std::transform(items.begin(), items.end(), table.by_rank.begin(), [](const Item &item) { return item.code; });
    int32_t *const ranks = reinterpret_cast<int32_t *>(table.values.data());
    int32_t rank = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint32_t code = table.by_rank[i];
        if (!order.without_blanks || i == 0 || order.text(table.by_rank[i - 1]) != order.text(code))
            rank = static_cast<int32_t>(i);
        ranks[code] = rank;
    }
    table.nulls[n] = 1;
}

void invert_ranks(LookupTable &table) {
    const int32_t *const ranks = reinterpret_cast<const int32_t *>(table.values.data());
    table.by_rank.resize(table.entries, 0);
    for (size_t code = table.entries; code-- > 0;)
        if (!table.nulls[code] && ranks[code] >= 0 && static_cast<size_t>(ranks[code]) < table.entries)
            table.by_rank[static_cast<size_t>(ranks[code])] = static_cast<uint32_t>(code);
}

} // namespace gpuscan
