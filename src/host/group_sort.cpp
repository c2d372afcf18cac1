// Sorting groups; see group_sort.hpp.
#include "host/group_sort.hpp"

#include <algorithm>
#include <cstring>

#include "engine/result/row_sort.hpp"
#include "engine/util/in_parallel.hpp"
#include "host/group_batches.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

// The sort keys and, in column 0, the number of each group.
struct KeyColumns {
    std::vector<WorkArray<uint8_t>> values, nulls;
};

class KeyWriter {
  public:
    KeyWriter(const Program &program, const GroupEvaluation &scope, const std::atomic<uint32_t> *cancel, KeyColumns &to)
        : program_(program), to_(to),
          batches_(scope, cancel, [this](const Batch &batch, Evaluator &evaluator) { write(batch, evaluator); }) {}

    void run(const GroupTable &groups, size_t first, size_t last) {
        for (base_ = first; base_ < last; base_ += batch_rows)
            batches_.run(groups, base_, std::min<size_t>(batch_rows, last - base_));
    }

  private:
    // (No condition drops a group, so the batch is all of them, in their order.)
    void write(const Batch &batch, Evaluator &evaluator) {
        const Range order = program_.main().order;
        for (Index k = 0; k < order.count; ++k) {
            const Index expr = program_.orders[order.first + k].expr;
            const size_t width = type_width(program_.exprs[expr].type);
            const Vec vec = evaluator.evaluate_full(expr, batch);
            memcpy(to_.values[k + 1].data() + base_ * width, vec.values, batch.n * width);
            if (vec.nulls != nullptr)
                memcpy(to_.nulls[k + 1].data() + base_, vec.nulls, batch.n);
            else
                memset(to_.nulls[k + 1].data() + base_, 0, batch.n);
        }
        for (size_t i = 0; i < batch.n; ++i) {
            const uint32_t number = static_cast<uint32_t>(base_ + i);
            memcpy(to_.values[0].data() + (base_ + i) * sizeof number, &number, sizeof number);
        }
    }

    const Program &program_;
    KeyColumns &to_;
    size_t base_ = 0;
    GroupBatches batches_;
};

bool any(const WorkArray<uint8_t> &flags) {
    return std::any_of(flags.begin(), flags.end(), [](uint8_t flag) { return flag != 0; });
}

RowTable rows_of(std::shared_ptr<KeyColumns> columns, size_t n) {
    RowBlock block;
    block.nrows = n;
    for (size_t c = 0; c < columns->values.size(); ++c)
        block.columns.push_back(
            {columns->values[c].data(), c > 0 && any(columns->nulls[c]) ? columns->nulls[c].data() : nullptr});
    block.memory = std::move(columns);
    RowTable rows;
    rows.add(std::move(block));
    return rows;
}

template <class T> void gather(const T *from, const uint8_t *numbers, size_t n, size_t stride, T *to) {
    for (size_t i = 0; i < n; ++i) {
        uint32_t number;
        memcpy(&number, numbers + i * sizeof number, sizeof number);
        std::copy_n(from + number * stride, stride, to + i * stride);
    }
}

} // namespace

GroupTable sort_groups(const Program &program, GroupTable groups, const std::vector<LookupRef> &lookups,
                       const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel) {
    const size_t n = groups.ngroups;
    if (n < 2)
        return groups;
    if (n > UINT32_MAX)
        throw OutOfWorkMemory("too many groups to be sorted");
    const GroupEvaluation scope(program, {}, memory, lookups);
    const Range order = program.main().order;
    auto columns = std::make_shared<KeyColumns>();
    std::vector<SortColumn> keys;
    for (Index c = 0; c <= order.count; ++c) {
        const OrderKey *key = c > 0 ? &program.orders[order.first + c - 1] : nullptr;
        const Type type = key ? program.exprs[key->expr].type : Type::I32;
        columns->values.emplace_back(memory);
        columns->values.back().resize(n * type_width(type));
        columns->nulls.emplace_back(memory);
        if (key == nullptr)
            continue;
        columns->nulls.back().resize(n);
        keys.push_back({c, type, key->descending != 0, key->nulls_first != 0});
    }
    in_slices(threads_worth(n), n, [&](unsigned, uint64_t first, uint64_t last) {
        KeyWriter(program, scope, cancel, *columns).run(groups, first, last);
    });
    const RowTable sorted = sort_rows(rows_of(std::move(columns), n), keys, {Type::I32}, memory, cancel);

    GroupTable out(memory);
    out.ngroups = n;
    out.keys.resize(n * scope.nkeys);
    out.key_nulls.resize(n * scope.nkeys);
    out.states.resize(n * scope.naggregates);
    size_t begin = 0;
    for (const RowBlock &block : sorted.blocks) {
        in_slices(threads_worth(block.nrows), block.nrows, [&](unsigned, uint64_t first, uint64_t last) {
            const uint8_t *const numbers = block.columns[0].values + first * sizeof(uint32_t);
            const size_t count = last - first, at = begin + first;
            gather(groups.keys.data(), numbers, count, scope.nkeys, out.keys.data() + at * scope.nkeys);
            gather(groups.key_nulls.data(), numbers, count, scope.nkeys, out.key_nulls.data() + at * scope.nkeys);
            gather(groups.states.data(), numbers, count, scope.naggregates, out.states.data() + at * scope.naggregates);
        });
        begin += block.nrows;
    }
    return out;
}

} // namespace gpuscan::host
