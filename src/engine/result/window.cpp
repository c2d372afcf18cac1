// Window functions over delivered rows; see window.hpp.
#include "engine/result/window.hpp"

#include "engine/result/row_sort.hpp"
#include "engine/result/window_aggregates.hpp"
#include "engine/result/window_bounds.hpp"
#include "engine/result/window_exclusion.hpp"
#include "engine/result/window_functions.hpp"
#include "engine/result/window_rules.hpp"
#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace window_parts {
namespace {

class Windows {
  public:
    Windows(const Program &program, RowTable rows, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel,
            unsigned threads)
        : p_(program), rows_(std::move(rows)), memory_(memory), cancel_(cancel),
          threads_(threads == 0 ? threads_worth(rows_.nrows)
                                : static_cast<unsigned>(std::clamp<size_t>(rows_.nrows, 1, threads))),
          edges_(memory), starts_(memory), firsts_(memory), ends_(memory) {
        const ir::Range payload = p_.main().payload;
        for (ir::Index c = 0; c < payload.count; ++c)
            types_.push_back(p_.exprs[p_.lists[payload.first + c]].type);
        place_of_function_.resize(p_.main().window_functions.count);
    }

    RowTable run() {
        const ir::Range windows = p_.main().windows;
        for (ir::Index w = 0; w < windows.count; ++w) // PostgreSQL looks at them even where there is no row
            rules_.push_back(rule_of(p_, p_.windows[windows.first + w]));
        if (rows_.nrows == 0)
            return std::move(rows_);
        for (ir::Index w = 0; w < windows.count; ++w) {
            compute(w, p_.windows[windows.first + w]);
            if (w == last_with_functions(p_))
                drop_rows();
        }
        for (RowBlock &block : rows_.blocks) {
            std::vector<RowBlock::Column> columns(
                block.columns.begin(), block.columns.begin() + static_cast<ptrdiff_t>(p_.main().result_keys));
            for (const size_t place : place_of_function_)
                columns.push_back(block.columns[place]);
            block.columns = std::move(columns);
        }
        return std::move(rows_);
    }

  private:
    // By the tests of functions, when all of them are there.
    void drop_rows() {
        struct Test {
            size_t column;
            ir::Op op;
            int64_t bound;
            bool null;
        };
        std::vector<Test> tests;
        const ir::Range functions = p_.main().window_functions;
        for (ir::Index f = 0; f < functions.count; ++f) {
            const ir::WindowFunction &function = p_.window_functions[functions.first + f];
            int64_t bound = 0;
            if (function.tested != 0) {
                const bool null = !number_of(p_, function.bound, &bound);
                tests.push_back({place_of_function_[f], function.test, bound, null});
            }
        }
        if (tests.empty())
            return;
        WorkArray<RowEntry> kept(memory_);
        for (uint32_t b = 0; b < rows_.blocks.size(); ++b) {
            const RowBlock &block = rows_.blocks[b];
            for (uint32_t i = 0; i < block.nrows; ++i)
                if (std::all_of(tests.begin(), tests.end(), [&](const Test &test) {
                        const RowBlock::Column &column = block.columns[test.column];
                        const Column values = {Type::I64, column.values, column.nulls};
                        return !test.null && !values.null(i) && ir::holds(test.op, values.at<int64_t>(i), test.bound);
                    }))
                    kept.push_back({0, b, i});
            stop_if(cancel_);
        }
        if (kept.size() == rows_.nrows)
            return;
        RowTable left;
        left.add(gather_rows(rows_, kept.data(), kept.size(), types_, memory_, cancel_));
        rows_ = std::move(left);
    }

    void compute(ir::Index number, const ir::Window &window) {
        sort(window);
        if (rows_.nrows == 0 || !has_functions(p_, number))
            return;
        find_edges(window);
        find_bounds(number, window);
        const ir::Range functions = p_.main().window_functions;
        for (ir::Index f = 0; f < functions.count; ++f) {
            const ir::WindowFunction &function = p_.window_functions[functions.first + f];
            if (function.window == number)
                place_of_function_[f] = add(function);
        }
        flat_.clear();
        firsts_.resize(0);
        ends_.resize(0);
    }

    // Of offsets that do not count rows.
    void find_bounds(ir::Index number, const ir::Window &window) {
        if (window.unit == ir::FrameUnit::Rows)
            return;
        if (has_offset(window.start))
            rules_[number].firsts = find_bound(window, true, firsts_);
        if (has_offset(window.end))
            rules_[number].ends = find_bound(window, false, ends_);
    }

    const uint64_t *find_bound(const ir::Window &window, bool start, WorkArray<uint64_t> &bounds) {
        bounds.resize(rows_.nrows);
        const bool preceding = (start ? window.start : window.end) == FrameBound::Preceding;
        const ir::Index constant = start ? window.start_offset : window.end_offset;
        if (window.unit == ir::FrameUnit::Groups) {
            each_slice([&](const Slice &slice) {
                bound_by_groups(slice, start, preceding, offset_of(p_, constant), memory_, bounds.data());
            });
            return bounds.data();
        }
        const ir::OrderKey &order = p_.orders[window.keys.first + window.partition];
        const Column key = flat(sort_column(p_, order).column);
        each_slice([&](const Slice &slice) {
            with_type(key.type, [&](auto value) {
                using T = decltype(value);
                const auto find = [&](const auto &distance) {
                    bound_by_values<T>(slice, key, order, start, preceding, distance, bounds.data());
                };
                if constexpr (std::is_floating_point_v<T>)
                    find(frames::FloatRange{float_offset_of(p_, constant)});
                else if (window.unit == ir::FrameUnit::Integers)
                    find(frames::IntegerRange{static_cast<int64_t>(offset_of(p_, constant))});
                else if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>)
                    find(frames::MomentRange{static_cast<int64_t>(offset_of(p_, constant))});
            });
        });
        return bounds.data();
    }

    void sort(const ir::Window &window) {
        std::vector<SortColumn> order = sort_columns(p_, window);
        if (begins_with(order, order_))
            return;
        rows_ = sort_rows(std::move(rows_), order, types_, memory_, cancel_);
        order_ = std::move(order);
    }

    // The column in one piece, while nothing is sorted.
    Column flat(size_t column) {
        Column all;
        all.type = types_[column];
        if (rows_.blocks.size() == 1) {
            const RowBlock::Column &only = rows_.blocks[0].columns[column];
            all.values = only.values;
            all.nulls = only.nulls;
            return all;
        }
        for (const auto &known : flat_)
            if (known.first == column) {
                all.values = known.second->values.data();
                all.nulls = known.second->nulls.empty() ? nullptr : known.second->nulls.data();
                return all;
            }
        auto own = std::make_unique<OwnColumn>(memory_);
        const size_t width = type_width(all.type);
        const bool nullable = std::any_of(rows_.blocks.begin(), rows_.blocks.end(), [&](const RowBlock &block) {
            return block.columns[column].nulls != nullptr;
        });
        own->values.resize(rows_.nrows * width);
        if (nullable)
            own->nulls.assign_zeros(rows_.nrows);
        size_t at = 0;
        for (const RowBlock &block : rows_.blocks) {
            memcpy(own->values.data() + at * width, block.columns[column].values, block.nrows * width);
            if (block.columns[column].nulls != nullptr)
                memcpy(own->nulls.data() + at, block.columns[column].nulls, block.nrows);
            at += block.nrows;
            stop_if(cancel_);
        }
        all.values = own->values.data();
        all.nulls = nullable ? own->nulls.data() : nullptr;
        flat_.emplace_back(column, std::move(own));
        return all;
    }

    void find_edges(const ir::Window &window) {
        edges_.assign_zeros(rows_.nrows);
        for (ir::Index k = 0; k < window.keys.count; ++k) {
            const Column key = flat(sort_column(p_, p_.orders[window.keys.first + k]).column);
            const uint8_t edge = k < window.partition ? partition_edge : peers_edge;
            in_slices(threads_, rows_.nrows, [&](unsigned, uint64_t first, uint64_t last) {
                with_type(key.type, [&](auto value) {
                    window_parts::find_edges<decltype(value)>(key, edge, first, last, edges_.data());
                });
            });
            stop_if(cancel_);
        }
        starts_.resize(0);
        starts_.push_back(0);
        for (size_t i = 1; i < rows_.nrows; ++i)
            if (edges_[i] == partition_edge)
                starts_.push_back(i);
        starts_.push_back(rows_.nrows);
    }

    // Of rows, wherever their partitions begin.
    template <class Work> void each_piece(const Work &work) const {
        const auto holder_of = [&](uint64_t row) {
            return static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), row) - starts_.begin()) - 1;
        };
        in_slices(threads_, rows_.nrows, [&](unsigned thread, uint64_t first, uint64_t last) {
            if (first < last)
                work(Slice{edges_.data(), starts_, holder_of(first), holder_of(last - 1) + 1, cancel_, first, last,
                           thread});
        });
    }

    // Of whole partitions.
    template <class Work> void each_slice(const Work &work) const {
        const auto partition_of = [&](uint64_t row) {
            return static_cast<size_t>(std::lower_bound(starts_.begin(), starts_.end() - 1, row) - starts_.begin());
        };
        in_slices(threads_, rows_.nrows, [&](unsigned thread, uint64_t first, uint64_t last) {
            const size_t end = last == rows_.nrows ? starts_.size() - 1 : partition_of(last);
            work(Slice{edges_.data(), starts_, partition_of(first), end, cancel_, 0, rows_.nrows, thread});
        });
    }

    // The column that the function makes.
    size_t add(const ir::WindowFunction &function) {
        const WindowKind kind = function.kind;
        const Type type = p_.window_type(function);
        auto own = std::make_shared<OwnColumn>(memory_);
        own->values.resize(rows_.nrows * type_width(type));
        const bool nullable = may_be_null(kind);
        if (nullable)
            own->nulls.assign_zeros(rows_.nrows);
        const Result to = {own->values.data(), nullable ? own->nulls.data() : nullptr};
        int64_t number = 0;
        if (function.number != ir::none && !number_of(p_, function.number, &number)) {
            memset(to.values, 0, rows_.nrows * type_width(type));
            memset(to.nulls, 1, rows_.nrows);
        } else {
            evaluate(function, number, to);
        }
        size_t at = 0;
        for (RowBlock &block : rows_.blocks) {
            block.columns.push_back({to.values + at * type_width(type), nullable ? to.nulls + at : nullptr});
            block.memory = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(block.memory, own);
            at += block.nrows;
        }
        types_.push_back(type);
        return types_.size() - 1;
    }

    void evaluate(const ir::WindowFunction &function, int64_t number, const Result &to) {
        const WindowKind kind = function.kind;
        if ((kind == WindowKind::Ntile || kind == WindowKind::NthValue) && number <= 0)
            throw DeviceError("a window function's number is not positive");
        const FrameRule &rule = rules_[function.window];
        const Column arg = function.arg != ir::none ? flat(function.arg) : Column();
        const Column other = function.other != ir::none ? flat(function.other) : Column();
        const auto work = [&](const Slice &slice) {
            switch (kind) {
            case WindowKind::RowNumber:
                return number_rows(slice, to);
            case WindowKind::Rank:
            case WindowKind::DenseRank:
            case WindowKind::PercentRank:
            case WindowKind::CumeDist:
                return rank_rows(slice, kind, to);
            case WindowKind::Ntile:
                return divide_rows(slice, number, to);
            case WindowKind::Lag:
            case WindowKind::Lead:
                return with_type(arg.type, [&](auto value) {
                    // (There is no row so far before or behind either way.)
                    const int64_t back_by = kind == WindowKind::Lag ? number : -std::max(number, -INT64_MAX);
                    shift<decltype(value)>(slice, arg, other, back_by, to);
                });
            case WindowKind::FirstValue:
            case WindowKind::LastValue:
            case WindowKind::NthValue:
                return with_type(arg.type,
                                 [&](auto value) { pick<decltype(value)>(slice, rule, kind, arg, number, to); });
            default:
                break;
            }
        };
        if (kind < WindowKind::CountRows)
            each_piece(work);
        else if (rule.exclusion != ir::FrameExclusion::None)
            aggregate_some(function, rule, arg, other, to);
        else
            aggregate(function, rule, arg, other, to);
    }

    template <class Sum, class Of> Carry<Sum> carry(const FrameRule &rule, const Of &of) const {
        return Carry<Sum>(
            rule, threads_, [&](const auto &work) { each_piece(work); }, of);
    }

    void aggregate(const ir::WindowFunction &function, const FrameRule &rule, const Column &arg, const Column &other,
                   const Result &to) const {
        const bool floats = arg.type == Type::F64, average = function.kind == WindowKind::Average;
        if (function.kind == WindowKind::CountRows || function.kind == WindowKind::Count) {
            const auto before =
                carry<RowCount>(rule, [&](size_t first, size_t end) { return count_values(arg, first, end); });
            each_piece([&](const Slice &slice) { count_frames(slice, rule, arg, before, to); });
        } else if (average || (function.kind == WindowKind::Sum && floats)) {
            const auto before =
                carry<FloatSum>(rule, [&](size_t first, size_t end) { return add_floats(arg, first, end); });
            each_piece([&](const Slice &slice) { sum_floats(slice, rule, arg, average, before, memory_, to); });
        } else {
            with_type(arg.type, [&](auto value) {
                using T = decltype(value);
                if (function.kind != WindowKind::Sum)
                    aggregate_ends<T>(function, rule, arg, other, to);
                else if constexpr (!std::is_floating_point_v<T>)
                    aggregate_integers<T>(function, rule, arg, to);
            });
        }
    }

    template <class T>
    void aggregate_integers(const ir::WindowFunction &function, const FrameRule &rule, const Column &arg,
                            const Result &to) const {
        const auto before =
            carry<IntegerSum>(rule, [&](size_t first, size_t end) { return add_integers<T>(arg, first, end); });
        each_piece([&](const Slice &slice) { sum_integers<T>(slice, rule, arg, function.narrow != 0, before, to); });
    }

    template <class T>
    void aggregate_ends(const ir::WindowFunction &function, const FrameRule &rule, const Column &arg,
                        const Column &other, const Result &to) const {
        const Ends<T> ends = {arg, other, edges_.data(), function.kind == WindowKind::Max};
        const auto before =
            carry<EndRow<T>>(rule, [&](size_t first, size_t end) { return end_of_rows<T>(ends, first, end); });
        each_piece([&](const Slice &slice) { find_ends<T>(slice, rule, ends, before, memory_, to); });
    }

    // put(slice): put(row, sum) for its rows; of(first, end): the sum of some rows
    template <class Of, class PutOf>
    void each_range_sum(const FrameRule &rule, const Of &of, const PutOf &put_of) const {
        using Sum = decltype(of(0, 0));
        const RangeSums<Sum, Of> sums(rows_.nrows, of, memory_, [&](size_t count, const auto &work) {
            in_slices(threads_, count, [&](unsigned, uint64_t first, uint64_t last) { work(first, last); });
            stop_if(cancel_);
        });
        each_piece([&](const Slice &slice) { each_sum(slice, rule, sums, put_of(slice)); });
    }

    // Of frames of which rows are left out.
    void aggregate_some(const ir::WindowFunction &function, const FrameRule &rule, const Column &arg,
                        const Column &other, const Result &to) const {
        const bool average = function.kind == WindowKind::Average;
        if (function.kind == WindowKind::CountRows || function.kind == WindowKind::Count)
            return each_range_sum(
                rule,
                [&](size_t first, size_t end) {
                    return arg.nulls != nullptr ? count_values(arg, first, end)
                                                : RowCount{static_cast<int64_t>(end - first)};
                },
                [&](const Slice &) {
                    return [&](size_t row, const RowCount &count) { to.put<int64_t>(row, count.count); };
                });
        if (average || (function.kind == WindowKind::Sum && arg.type == Type::F64))
            return each_range_sum(
                rule, [&](size_t first, size_t end) { return add_floats(arg, first, end); },
                [&](const Slice &slice) {
                    if (average)
                        check_squares(slice, arg);
                    return [&](size_t row, const FloatSum &sum) { put_sum(sum, average, row, to); };
                });
        with_type(arg.type, [&](auto value) {
            using T = decltype(value);
            if (function.kind != WindowKind::Sum) {
                const Ends<T> ends = {arg, other, edges_.data(), function.kind == WindowKind::Max};
                each_range_sum(
                    rule, [&](size_t first, size_t end) { return end_of_rows<T>(ends, first, end); },
                    [&](const Slice &) {
                        return [&](size_t row, const EndRow<T> &found) { ends.show(found.row, row, to); };
                    });
            } else if constexpr (!std::is_floating_point_v<T>) {
                each_range_sum(
                    rule, [&](size_t first, size_t end) { return add_integers<T>(arg, first, end); },
                    [&](const Slice &) {
                        return [&](size_t row, const IntegerSum &sum) { put_sum(sum, function.narrow != 0, row, to); };
                    });
            }
        });
    }

    const Program &p_;
    RowTable rows_; // the payload's columns, then those of functions as they have come
    const WorkMemoryRef &memory_;
    const std::atomic<uint32_t> *const cancel_;
    const unsigned threads_;
    std::vector<Type> types_;
    std::vector<FrameRule> rules_;          // by window
    std::vector<size_t> place_of_function_; // columns
    std::vector<SortColumn> order_;         // of the rows now
    WorkArray<uint8_t> edges_;
    WorkArray<uint64_t> starts_;
    WorkArray<uint64_t> firsts_, ends_; // of the window's frames, where offsets do not count rows
    std::vector<std::pair<size_t, std::unique_ptr<OwnColumn>>> flat_;
};

} // namespace
} // namespace window_parts

RowTable apply_windows(const Program &program, RowTable rows, const WorkMemoryRef &memory,
                       const std::atomic<uint32_t> *cancel, unsigned threads) {
    return window_parts::Windows(program, std::move(rows), memory, cancel, threads).run();
}

} // namespace gpuscan
