// Sorting delivered rows; see row_sort.hpp.
#include "engine/row_sort.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <queue>
#include <system_error>
#include <thread>

namespace gpuscan {
namespace {

constexpr size_t rows_per_thread = 16 * 1024; // fewer are not worth a thread
constexpr size_t most_threads = 32;
constexpr size_t samples_per_run = 64;

// A row: the first bits of its keys, and where it is.
struct Entry {
    uint64_t prefix;
    uint32_t block, row;
};

constexpr unsigned value_bits(Type type) {
    return type == Type::Bool ? 1 : static_cast<unsigned>(type_width(type)) * 8;
}

template <class T> T load(const uint8_t *values, size_t row) {
    T value;
    memcpy(&value, values + row * sizeof value, sizeof value);
    return value;
}

// Unsigned numbers that order as floats do.
template <class Bits, class Float> Bits float_order(Float value) {
    if (value != value)
        return ~Bits(0);
    if (value == 0)
        value = 0; // not -0
    Bits bits;
    memcpy(&bits, &value, sizeof bits);
    const Bits sign = Bits(1) << (sizeof bits * 8 - 1);
    return bits & sign ? ~bits : bits | sign;
}

// The value as an unsigned number of value_bits(type) bits.
uint128 order_of(Type type, const uint8_t *values, size_t row) {
    switch (type) {
    case Type::Bool:
        return values[row] != 0;
    case Type::I16:
        return static_cast<uint16_t>(load<uint16_t>(values, row) ^ 0x8000u);
    case Type::I32:
        return load<uint32_t>(values, row) ^ 0x80000000u;
    case Type::I64:
        return load<uint64_t>(values, row) ^ (uint64_t(1) << 63);
    case Type::I128:
        return load<uint128>(values, row) ^ (uint128(1) << 127);
    case Type::F32:
        return float_order<uint32_t>(load<float>(values, row));
    case Type::F64:
        return float_order<uint64_t>(load<double>(values, row));
    case Type::Code:
        break;
    }
    return 0;
}

struct OrderedValue {
    bool late; // of NULL and values, what comes second
    uint128 bits;
};

OrderedValue ordered_value(const SortColumn &key, const RowBlock &block, size_t row) {
    const RowBlock::Column &column = block.columns[key.column];
    const bool null = column.nulls && column.nulls[row];
    if (null)
        return {!key.nulls_first, 0};
    const uint128 bits = order_of(key.type, column.values, row);
    const unsigned width = value_bits(key.type);
    const uint128 all = width == 128 ? ~uint128(0) : (uint128(1) << width) - 1;
    return {key.nulls_first, key.descending ? all ^ bits : bits};
}

class Sorter {
  public:
    Sorter(const RowTable &rows, const std::vector<SortColumn> &order, const std::vector<Type> &types,
           const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel)
        : rows_(rows), order_(order), types_(types), memory_(memory), cancel_(cancel), entries_(memory) {
        const size_t cores = std::max(1u, std::thread::hardware_concurrency());
        threads_ = std::max<size_t>(1, std::min({cores, most_threads, rows.nrows / rows_per_thread}));
        for (const SortColumn &key : order)
            has_nulls_.push_back(std::any_of(rows.blocks.begin(), rows.blocks.end(), [&](const RowBlock &block) {
                return block.columns[key.column].nulls != nullptr;
            }));
        unsigned bits = 0;
        for (size_t k = 0; k < order.size(); ++k)
            bits += value_bits(order[k].type) + (has_nulls_[k] ? 1 : 0);
        whole_ = bits <= 64;
    }

    RowTable run() {
        entries_.resize(rows_.nrows);
        std::vector<size_t> first_of_block;
        size_t n = 0;
        for (const RowBlock &block : rows_.blocks) {
            first_of_block.push_back(n);
            n += block.nrows;
        }
        each_thread([&](size_t t) {
            const size_t first = run_begin(t), last = run_begin(t + 1);
            size_t b = static_cast<size_t>(std::upper_bound(first_of_block.begin(), first_of_block.end(), first) -
                                           first_of_block.begin() - 1);
            for (size_t i = first; i < last; ++i) {
                while (i - first_of_block[b] >= rows_.blocks[b].nrows)
                    ++b;
                const size_t row = i - first_of_block[b];
                entries_[i] = {prefix(rows_.blocks[b], row), static_cast<uint32_t>(b), static_cast<uint32_t>(row)};
            }
            std::sort(entries_.begin() + first, entries_.begin() + last,
                      [this](const Entry &x, const Entry &y) { return before(x, y); });
            check_cancel();
        });
        divide();
        std::vector<RowBlock> blocks(threads_);
        each_thread([&](size_t t) { blocks[t] = merge(t); });
        RowTable out;
        for (RowBlock &block : blocks)
            out.add(std::move(block));
        return out;
    }

  private:
    size_t run_begin(size_t t) const { return rows_.nrows * t / threads_; }

    void check_cancel() const {
        if (cancel_ && cancel_->load(std::memory_order_relaxed) != 0)
            throw Cancelled();
    }

    // work(thread), at once. The first exception goes on.
    template <class Work> void each_thread(const Work &work) const {
        std::vector<std::exception_ptr> errors(threads_);
        auto run = [&](size_t t) {
            try {
                work(t);
            } catch (...) {
                errors[t] = std::current_exception();
            }
        };
        std::vector<std::thread> helpers;
        try {
            for (size_t t = 1; t < threads_; ++t)
                helpers.emplace_back(run, t);
        } catch (const std::system_error &) { // no more threads: this one does the others' work
        }
        run(0);
        for (size_t t = helpers.size() + 1; t < threads_; ++t)
            run(t);
        for (std::thread &helper : helpers)
            helper.join();
        for (const std::exception_ptr &error : errors)
            if (error)
                std::rethrow_exception(error);
    }

    uint64_t prefix(const RowBlock &block, size_t row) const {
        uint64_t bits = 0;
        unsigned left = 64;
        for (size_t k = 0; k < order_.size() && left > 0; ++k) {
            const OrderedValue value = ordered_value(order_[k], block, row);
            if (has_nulls_[k]) {
                bits |= static_cast<uint64_t>(value.late) << --left;
                if (left == 0)
                    break;
            }
            const unsigned width = value_bits(order_[k].type), taken = std::min(width, left);
            left -= taken;
            bits |= static_cast<uint64_t>(value.bits >> (width - taken)) << left;
        }
        return bits;
    }

    bool before(const Entry &x, const Entry &y) const {
        if (x.prefix != y.prefix || whole_)
            return x.prefix < y.prefix;
        for (const SortColumn &key : order_) {
            const OrderedValue a = ordered_value(key, rows_.blocks[x.block], x.row);
            const OrderedValue b = ordered_value(key, rows_.blocks[y.block], y.row);
            if (a.late != b.late)
                return b.late;
            if (a.bits != b.bits)
                return a.bits < b.bits;
        }
        return false;
    }

    // Where the ranges begin in each run: begins_[range][run].
    void divide() {
        std::vector<Entry> samples;
        for (size_t r = 0; r < threads_; ++r) {
            const size_t first = run_begin(r), n = run_begin(r + 1) - first;
            for (size_t s = 0; s < samples_per_run && n > 0; ++s)
                samples.push_back(entries_[first + n * s / samples_per_run]);
        }
        auto order = [this](const Entry &x, const Entry &y) { return before(x, y); };
        std::sort(samples.begin(), samples.end(), order);
        begins_.assign(threads_ + 1, std::vector<size_t>(threads_));
        for (size_t r = 0; r < threads_; ++r) {
            begins_[0][r] = run_begin(r);
            begins_[threads_][r] = run_begin(r + 1);
            for (size_t t = 1; t < threads_; ++t)
                begins_[t][r] = static_cast<size_t>(std::lower_bound(entries_.begin() + run_begin(r),
                                                                     entries_.begin() + run_begin(r + 1),
                                                                     samples[samples.size() * t / threads_], order) -
                                                    entries_.begin());
        }
    }

    RowBlock merge(size_t t) const {
        size_t n = 0;
        for (size_t r = 0; r < threads_; ++r)
            n += begins_[t + 1][r] - begins_[t][r];
        if (threads_ == 1)
            return gather(entries_.data(), n);
        WorkArray<Entry> merged(memory_);
        merged.resize(n);
        struct Cursor {
            const Entry *at, *end;
        };
        auto later = [this](const Cursor &x, const Cursor &y) { return before(*y.at, *x.at); };
        std::priority_queue<Cursor, std::vector<Cursor>, decltype(later)> cursors(later);
        for (size_t r = 0; r < threads_; ++r)
            if (begins_[t][r] < begins_[t + 1][r])
                cursors.push({entries_.data() + begins_[t][r], entries_.data() + begins_[t + 1][r]});
        for (size_t i = 0; i < n; ++i) {
            Cursor cursor = cursors.top();
            cursors.pop();
            merged[i] = *cursor.at++;
            if (cursor.at != cursor.end)
                cursors.push(cursor);
        }
        check_cancel();
        return gather(merged.data(), n);
    }

    struct Columns {
        std::vector<WorkArray<uint8_t>> values, nulls;
    };

    // The rows' columns, in the order of the entries.
    RowBlock gather(const Entry *entries, size_t n) const {
        auto columns = std::make_shared<Columns>();
        RowBlock block;
        block.nrows = n;
        for (size_t c = 0; c < types_.size(); ++c) {
            WorkArray<uint8_t> values(memory_), nulls(memory_);
            values.resize(n * type_width(types_[c]));
            switch (type_width(types_[c])) {
            case 1:
                gather_values<1>(entries, n, c, values.data());
                break;
            case 2:
                gather_values<2>(entries, n, c, values.data());
                break;
            case 4:
                gather_values<4>(entries, n, c, values.data());
                break;
            case 8:
                gather_values<8>(entries, n, c, values.data());
                break;
            default:
                gather_values<16>(entries, n, c, values.data());
            }
            const bool nullable = std::any_of(rows_.blocks.begin(), rows_.blocks.end(),
                                              [&](const RowBlock &from) { return from.columns[c].nulls != nullptr; });
            if (nullable) {
                nulls.resize(n);
                for (size_t i = 0; i < n; ++i) {
                    const uint8_t *from = rows_.blocks[entries[i].block].columns[c].nulls;
                    nulls[i] = from ? from[entries[i].row] : 0;
                }
            }
            block.columns.push_back({values.data(), nullable ? nulls.data() : nullptr});
            columns->values.push_back(std::move(values));
            columns->nulls.push_back(std::move(nulls));
            check_cancel();
        }
        block.memory = std::move(columns);
        return block;
    }

    template <size_t width> void gather_values(const Entry *entries, size_t n, size_t column, uint8_t *to) const {
        for (size_t i = 0; i < n; ++i)
            memcpy(to + i * width,
                   rows_.blocks[entries[i].block].columns[column].values + size_t(entries[i].row) * width, width);
    }

    const RowTable &rows_;
    const std::vector<SortColumn> &order_;
    const std::vector<Type> &types_;
    const WorkMemoryRef &memory_;
    const std::atomic<uint32_t> *const cancel_;
    size_t threads_;
    std::vector<bool> has_nulls_; // per key
    bool whole_;                  // a prefix holds all of the keys
    WorkArray<Entry> entries_;
    std::vector<std::vector<size_t>> begins_;
};

} // namespace

RowTable sort_rows(RowTable rows, const std::vector<SortColumn> &order, const std::vector<Type> &types,
                   const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel) {
    if (rows.nrows == 0)
        return rows;
    return Sorter(rows, order, types, memory, cancel).run();
}

} // namespace gpuscan
