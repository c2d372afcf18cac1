// Keeping the first rows (see first_rows.hpp).
#include "engine/result/first_rows.hpp"

#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace {

constexpr size_t min_rows = 16 * 1024; // fewer are not worth a choice

std::vector<Type> payload_types(const Program &program) {
    std::vector<Type> types;
    for (ir::Index c = 0; c < program.main().payload.count; ++c)
        types.push_back(program.exprs[program.lists[program.main().payload.first + c]].type);
    return types;
}

} // namespace

std::vector<SortColumn> sort_columns(const Program &program) {
    const ir::Pipeline &main = program.main();
    const auto list = program.lists.begin() + main.payload.first;
    std::vector<SortColumn> out;
    for (ir::Index o = 0; o < main.order.count; ++o) {
        const ir::OrderKey &key = program.orders[main.order.first + o];
        const auto column = static_cast<size_t>(std::find(list, list + main.payload.count, key.expr) - list);
        out.push_back({column, program.exprs[key.expr].type, key.descending != 0, key.nulls_first != 0});
    }
    return out;
}

FirstRows::FirstRows(const Program &program)
    : FirstRows(sort_columns(program), payload_types(program),
                program.main().order.count == 0 ? UINT64_MAX : program.wanted(), program.main().ties != 0) {}

FirstRows::FirstRows(std::vector<SortColumn> keys, std::vector<Type> types, uint64_t top, bool ties)
    : types_(std::move(types)), top_(top), ties_(ties) {
    std::vector<bool> nullable(keys.size(), true);
    order_ = RowOrder(std::move(keys), std::move(nullable));
    exact_ = order_.whole() && !ties_;
}

void FirstRows::lower_bound(uint64_t bound) {
    uint64_t before = bound_.load(std::memory_order_relaxed);
    while (bound < before && !bound_.compare_exchange_weak(before, bound, std::memory_order_relaxed)) {
    }
}

size_t FirstRows::worth(size_t kept) const {
    return std::max(min_rows, 2 * std::max(kept, static_cast<size_t>(std::min<uint64_t>(top_, SIZE_MAX / 4))));
}

// The first ones come first, and are left.
void FirstRows::choose(const RowTable &rows, WorkArray<RowEntry> &entries) {
    if (entries.size() <= top_)
        return;
    auto before = [&](const RowEntry &x, const RowEntry &y) {
        if (x.prefix != y.prefix || order_.whole())
            return x.prefix < y.prefix;
        return order_.before(rows.blocks[x.block], x.row, rows.blocks[y.block], y.row);
    };
    std::nth_element(entries.begin(), entries.begin() + top_ - 1, entries.end(), before);
    const RowEntry last = entries[top_ - 1];
    RowEntry *end = entries.begin() + top_;
    if (ties_)
        end = std::partition(end, entries.end(), [&](const RowEntry &entry) { return !before(last, entry); });
    entries.resize(static_cast<size_t>(end - entries.begin()));
    lower_bound(last.prefix);
}

void FirstRows::keep(RowTable &rows, bool helped, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel) {
    if (rows.nrows <= top_)
        return;
    if (top_ == 0) {
        rows = RowTable();
        lower_bound(0);
        return;
    }
    std::vector<WorkArray<RowEntry>> parts;
    const unsigned threads = helped ? threads_worth(rows.nrows) : 1;
    for (unsigned t = 0; t < threads; ++t)
        parts.emplace_back(memory);
    auto slice = [&](unsigned thread, uint64_t first, uint64_t last) {
        WorkArray<RowEntry> &part = parts[thread];
        size_t enough = worth(0);
        each_number(rows, order_, first, last, [&](size_t, const RowEntry &entry) {
            if (entry.prefix > bound()) // (those that made the bound are among these rows)
                return;
            part.resize(part.size() + 1);
            part[part.size() - 1] = entry;
            if (part.size() < enough)
                return;
            choose(rows, part);
            enough = worth(part.size());
            stop_if(cancel);
        });
        choose(rows, part);
        stop_if(cancel);
    };
    in_slices(threads, rows.nrows, slice);
    WorkArray<RowEntry> &chosen = parts[0];
    for (size_t t = 1; t < parts.size(); ++t) {
        const size_t n = chosen.size();
        chosen.resize(n + parts[t].size());
        std::copy(parts[t].begin(), parts[t].end(), chosen.begin() + n);
    }
    choose(rows, chosen);
    RowTable out;
    out.add(gather_rows(rows, chosen.data(), chosen.size(), types_, memory, cancel));
    rows = std::move(out);
}

} // namespace gpuscan
