// Window functions over rows in device memory; see windows.hpp.
#include "cuda/windows/windows.hpp"

#include "engine/result/window_rules.hpp"

namespace gpuscan::cuda {

using ir::WindowFunction;
using ir::WindowKind;
using namespace window_parts;

namespace {

constexpr uint64_t narrow_frame = 64; // rows of a frame that are looked at one by one

bool is_extreme(WindowKind kind) { return kind == WindowKind::Min || kind == WindowKind::Max; }

bool is_of_floats(const Program &program, const WindowFunction &function) {
    return function.kind == WindowKind::Average ||
           (function.kind == WindowKind::Sum && program.window_type(function) == Type::F64);
}

// How far behind the row a bound lies that counts rows; before it: less than 0. False: any number of them.
bool rows_behind(const Program &program, FrameBound bound, bool peers, ir::Index offset, int128 *behind) {
    int64_t rows = 0;
    if (bound == FrameBound::CurrentRow && !peers) {
        *behind = 0;
        return true;
    }
    if (!has_offset(bound) || !number_of(program, offset, &rows))
        return false;
    *behind = bound == FrameBound::Preceding ? -int128(rows) : int128(rows);
    return true;
}

// From the partition's first row on, so that a prefix sum at the frame's end is the frame's.
bool only_grows(const ir::Window &window) {
    return window.start == FrameBound::UnboundedPreceding && window.exclusion == ir::FrameExclusion::None;
}

bool is_narrow(const Program &program, const ir::Window &window) {
    int128 first = 0, last = 0;
    return window.unit == FrameUnit::Rows &&
           rows_behind(program, window.start, window.peers != 0, window.start_offset, &first) &&
           rows_behind(program, window.end, window.peers != 0, window.end_offset, &last) &&
           last - first < int128(narrow_frame);
}

uint32_t outcomes_of(ir::Op op) {
    uint32_t outcomes = 0;
    if (ir::holds(op, int64_t(0), int64_t(1)))
        outcomes |= windows::less;
    if (ir::holds(op, int64_t(0), int64_t(0)))
        outcomes |= windows::equal;
    if (ir::holds(op, int64_t(1), int64_t(0)))
        outcomes |= windows::greater;
    return outcomes;
}

// Rows of which some are wanted, in an order.
class Windows {
  public:
    Windows(RowKernels &kernels, const Program &program, std::vector<HeldColumn> columns, uint64_t rows)
        : k_(kernels), p_(program), columns_(std::move(columns)), rows_(rows), order_(kernels, columns_, rows),
          results_(program.main().window_functions.count), in_order_(columns_.size()) {
        for (const HeldColumn &column : columns_) {
            k_.hold(column.values);
            k_.hold(column.nulls);
        }
    }

    bool run(DeviceRows &result) {
        const ir::Range windows = p_.main().windows;
        for (ir::Index w = 0; w < windows.count; ++w)
            rules_.push_back(rule_of(p_, p_.windows[windows.first + w]));
        for (ir::Index w = 0; w < windows.count && rows_ > 0; ++w) {
            if (!compute(w, p_.windows[windows.first + w]))
                return false;
            if (w == last_with_functions(p_))
                drop_rows();
        }
        deliver(result);
        return (k_.wait() & status_wide) == 0;
    }

  private:
    struct Result {
        HeldColumn column;
        bool in_order = true; // as the rows are now; else as columns_ are
    };

    BufferRef gather(const BufferRef &from, const BufferRef &numbers, uint64_t rows, size_t bytes) {
        const BufferRef to = k_.column(rows, bytes);
        windows::GatherArgument a{};
        a.rows = rows;
        a.numbers = static_cast<const uint32_t *>(numbers->data);
        a.from = from->data;
        a.to = to->data;
        a.bytes = static_cast<uint32_t>(bytes);
        k_.launch("gather_rows", rows, &a);
        return to;
    }
    HeldColumn gather(const HeldColumn &from, const BufferRef &numbers) {
        HeldColumn to;
        to.type = from.type;
        to.values = gather(from.values, numbers, rows_, type_width(from.type));
        to.nulls = from.nulls ? gather(from.nulls, numbers, rows_, 1) : nullptr;
        return to;
    }
    // A column of the payload, in order.
    const HeldColumn &in_order(size_t column) {
        if (!numbers_)
            return columns_[column];
        if (!in_order_[column].values)
            in_order_[column] = gather(columns_[column], numbers_);
        return in_order_[column];
    }
    void forget_order() { in_order_.assign(columns_.size(), HeldColumn()); }

    // Which columns do this window and those behind it look at, or the result?
    bool is_needed(size_t column, ir::Index from) const {
        if (column < p_.main().result_keys)
            return true;
        for (ir::Index w = from; w < p_.main().windows.count; ++w)
            for (const SortColumn &key : sort_columns(p_, p_.windows[p_.main().windows.first + w]))
                if (key.column == column)
                    return true;
        for (ir::Index f = 0; f < p_.main().window_functions.count; ++f) {
            const WindowFunction &function = function_at(f);
            if (function.window >= from && (function.arg == column || function.other == column))
                return true;
        }
        return false;
    }
    const WindowFunction &function_at(ir::Index f) const {
        return p_.window_functions[p_.main().window_functions.first + f];
    }

    // The rows are moved to where they stand in order.
    void move_rows(ir::Index window) {
        if (numbers_) {
            for (size_t c = 0; c < columns_.size(); ++c)
                columns_[c] = is_needed(c, window) ? in_order(c) : HeldColumn{columns_[c].type, nullptr, nullptr};
            for (Result &result : results_)
                if (result.column.values && !result.in_order)
                    result.column = gather(result.column, numbers_);
            k_.wait();
            numbers_.reset();
            forget_order();
        }
        for (Result &result : results_)
            result.in_order = false;
        order_.moved(columns_, rows_);
    }

    bool compute(ir::Index number, const ir::Window &window) {
        std::vector<SortColumn> keys = sort_columns(p_, window);
        const bool sorts = !begins_with(keys, present_);
        if (sorts)
            move_rows(number);
        const bool has = has_functions(p_, number);
        if (!sorts && !has)
            return true;
        if (!order_.plan(keys, window.partition))
            return false;
        if (sorts) {
            numbers_ = order_.sort(rows_);
            for (Result &result : results_)
                result.in_order = numbers_ == nullptr; // (all keys are alike: nothing has moved)
            present_ = std::move(keys);
        }
        if (has) {
            find_places(number, window);
            for (ir::Index f = 0; f < results_.size(); ++f)
                if (function_at(f).window == number)
                    results_[f] = {evaluate(function_at(f), window), true};
            k_.wait();
            places_ = windows::Places();
            held_.clear();
            sums_.clear();
            edges_.reset();
        }
        return true;
    }

    // ---- places and frames ----

    template <class T> T *hold(uint64_t count) {
        held_.emplace_back();
        return k_.array<T>(held_.back(), count);
    }

    void find_places(ir::Index number, const ir::Window &window) {
        edges_ = order_.edges(numbers_, rows_);
        windows::Ordinals ordinals{};
        ordinals.rows = rows_;
        ordinals.edges = edges();
        ordinals.partitions = hold<uint32_t>(rows_);
        ordinals.groups = hold<uint32_t>(rows_);
        ordinals.partition_at = hold<uint32_t>(rows_ + 1);
        ordinals.group_at = hold<uint32_t>(rows_ + 1);
        k_.scan("ordinals", ordinals);
        places_ = {ordinals.partitions, ordinals.groups, ordinals.partition_at, ordinals.group_at};
        frames::FrameRule &rule = rules_[number];
        if (window.unit != FrameUnit::Rows && has_offset(window.start))
            rule.firsts = bounds(window, true);
        if (window.unit != FrameUnit::Rows && has_offset(window.end))
            rule.ends = bounds(window, false);
    }

    const uint8_t *edges() const { return static_cast<const uint8_t *>(edges_->data); }

    // The first rows of frames, or those behind their last.
    const uint64_t *bounds(const ir::Window &window, bool start) {
        const ir::Index offset = start ? window.start_offset : window.end_offset;
        windows::BoundsArgument a{};
        a.rows = rows_;
        a.places = places_;
        a.bounds = hold<uint64_t>(rows_);
        a.status = k_.status();
        a.unit = window.unit;
        a.preceding = (start ? window.start : window.end) == FrameBound::Preceding;
        if (window.unit == FrameUnit::Floats)
            a.float_offset = float_offset_of(p_, offset);
        else
            a.offset = offset_of(p_, offset);
        a.bound.start = start;
        if (window.unit != FrameUnit::Groups) {
            const SortColumn key = sort_column(p_, p_.orders[window.keys.first + window.partition]);
            a.key = in_order(key.column).flat();
            a.bound = frames::value_bound(start, a.preceding, key.descending, key.nulls_first);
        }
        k_.launch("frame_bounds", rows_, &a);
        return a.bounds;
    }

    // ---- functions ----

    HeldColumn evaluate(const WindowFunction &function, const ir::Window &window) {
        const Type type = p_.window_type(function);
        const size_t bytes = type_width(type);
        HeldColumn to;
        to.type = type;
        to.values = k_.column(rows_, bytes);
        if (may_be_null(function.kind))
            to.nulls = k_.column(rows_, 1);
        windows::FunctionArgument a{};
        if (function.number != ir::none && !number_of(p_, function.number, &a.number)) {
            k_.fill(*to.values, 0, rows_ * bytes);
            k_.fill(*to.nulls, 1, rows_);
            return to;
        }
        if ((function.kind == WindowKind::Ntile || function.kind == WindowKind::NthValue) && a.number <= 0)
            throw DeviceError("a window function's number is not positive");
        a.rows = rows_;
        a.places = places_;
        a.rule = rules_[function.window];
        if (function.arg != ir::none)
            a.arg = in_order(function.arg).flat();
        if (function.other != ir::none)
            a.other = in_order(function.other).flat();
        a.values = to.values->data;
        a.nulls = to.nulls ? static_cast<uint8_t *>(to.nulls->data) : nullptr;
        a.status = k_.status();
        a.kind = function.kind;
        a.narrow = type == Type::I64;
        a.by_frame = !only_grows(window);
        a.bytes = static_cast<uint8_t>(bytes);
        k_.launch(kernel_of(function, a), rows_, &a);
        return to;
    }

    // With what it needs of prefix sums.
    const char *kernel_of(const WindowFunction &function, windows::FunctionArgument &a) {
        if (function.kind <= WindowKind::Ntile)
            return "rank_rows";
        if (function.kind <= WindowKind::NthValue)
            return "pick_rows";
        const Sums *sums = nullptr;
        if (is_extreme(function.kind)) {
            sums = a.by_frame ? nullptr : &extremes(function, a);
        } else if (is_of_floats(p_, function)) {
            sums = a.by_frame ? nullptr : &float_sums(function, a);
        } else if (function.kind != WindowKind::CountRows) {
            sums = &integer_sums(function, a);
        }
        a.sums = sums != nullptr ? sums->sums : nullptr;
        a.counts = sums != nullptr ? sums->counts : nullptr;
        return is_extreme(function.kind)    ? "extremes_of_frames"
               : is_of_floats(p_, function) ? "sum_frames_of_floats"
                                            : "sum_frames";
    }

    // Prefix sums of a column, for all functions of the window that need the same.
    struct Sums {
        enum Of { Count, Integers, Floats, Least, Largest } of;
        ir::Index column;
        const void *sums;
        const uint32_t *counts;
    };
    const Sums *find(Sums::Of of, ir::Index column) const {
        for (const Sums &sums : sums_)
            if (sums.of == of && sums.column == column)
                return &sums;
        return nullptr;
    }

    const Sums &extremes(const WindowFunction &function, const windows::FunctionArgument &a) {
        const bool largest = function.kind == WindowKind::Max;
        const Sums::Of of = largest ? Sums::Largest : Sums::Least;
        if (const Sums *known = find(of, function.arg))
            return *known;
        windows::Extremes scan{};
        scan.rows = rows_;
        scan.arg = a.arg;
        scan.edges = edges();
        scan.found = hold<uint32_t>(rows_);
        scan.largest = largest;
        k_.scan("extremes", scan);
        return add({of, function.arg, scan.found, nullptr});
    }

    const Sums &float_sums(const WindowFunction &function, const windows::FunctionArgument &a) {
        if (const Sums *known = find(Sums::Floats, function.arg))
            return *known;
        windows::FloatSums scan{};
        scan.rows = rows_;
        scan.arg = a.arg;
        scan.edges = edges();
        scan.sums = hold<double>(rows_);
        scan.counts = hold<uint32_t>(rows_);
        scan.status = a.status;
        k_.scan("float_sums", scan);
        return add({Sums::Floats, function.arg, scan.sums, scan.counts});
    }

    const Sums &integer_sums(const WindowFunction &function, const windows::FunctionArgument &a) {
        const bool adds = function.kind == WindowKind::Sum;
        const Sums *known = find(Sums::Integers, function.arg);
        if (known == nullptr && !adds)
            known = find(Sums::Count, function.arg);
        if (known != nullptr)
            return *known;
        windows::IntegerSums scan{};
        scan.rows = rows_;
        scan.arg = a.arg;
        scan.sums = adds ? hold<sem::u128>(rows_) : nullptr;
        scan.counts = a.arg.nulls != nullptr ? hold<uint32_t>(rows_) : nullptr;
        scan.status = a.status;
        if (adds || scan.counts != nullptr)
            k_.scan("integer_sums", scan);
        return add({adds ? Sums::Integers : Sums::Count, function.arg, scan.sums, scan.counts});
    }

    const Sums &add(const Sums &sums) {
        sums_.push_back(sums);
        return sums_.back();
    }

    // ---- results ----

    void drop_rows() {
        BufferRef flags;
        for (ir::Index f = 0; f < results_.size(); ++f) {
            const WindowFunction &function = function_at(f);
            if (function.tested == 0)
                continue;
            if (!flags) {
                k_.array<uint8_t>(flags, rows_);
                k_.fill(*flags, 1, rows_);
            }
            Result &result = results_[f];
            if (!result.in_order) {
                result.column = gather(result.column, numbers_);
                result.in_order = true;
            }
            int64_t bound = 0;
            const bool null = !number_of(p_, function.bound, &bound);
            windows::TestArgument a{};
            const FlatColumn values = result.column.flat();
            a.rows = rows_;
            a.values = static_cast<const int64_t *>(values.values);
            a.nulls = values.nulls;
            a.bound = bound;
            a.kept = static_cast<uint8_t *>(flags->data);
            a.outcomes = null ? 0 : outcomes_of(function.test);
            k_.launch("test_rows", rows_, &a);
        }
        if (flags)
            keep(flags);
    }

    void keep(const BufferRef &flags) {
        BufferRef kept, count;
        windows::Kept scan{};
        scan.rows = rows_;
        scan.kept = static_cast<const uint8_t *>(flags->data);
        scan.numbers = k_.array<uint32_t>(kept, rows_);
        scan.count = k_.array<uint64_t>(count, 1);
        k_.scan("kept", scan);
        uint64_t left = 0;
        k_.fetch(*count, &left, sizeof left);
        if (left == rows_)
            return;
        rows_ = left;
        for (Result &result : results_)
            if (result.in_order)
                result.column = gather(result.column, kept);
        numbers_ = numbers_ ? gather(numbers_, kept, rows_, sizeof(uint32_t)) : kept;
        forget_order();
        k_.wait();
    }

    void deliver(DeviceRows &result) {
        result.nrows = rows_;
        const auto put = [&](const HeldColumn &column) {
            DeviceRows::Column to;
            to.type = column.type;
            to.values = column.values;
            to.nulls = column.nulls;
            to.stats.any_null = column.nulls != nullptr;
            to.stats.any_value = rows_ > 0;
            result.columns.push_back(std::move(to));
        };
        for (size_t c = 0; c < p_.main().result_keys; ++c)
            put(in_order(c));
        for (Result &of : results_) {
            if (!of.column.values) // (there is no row)
                of.column.values = k_.column(0, 0);
            put(of.in_order || !numbers_ ? of.column : gather(of.column, numbers_));
        }
        for (size_t f = 0; f < results_.size(); ++f)
            result.columns[p_.main().result_keys + f].type = p_.window_type(function_at(static_cast<ir::Index>(f)));
        find_ranges(k_, result);
    }

    RowKernels &k_;
    const Program &p_;
    std::vector<HeldColumn> columns_; // of the payload
    uint64_t rows_;
    WindowOrder order_;
    BufferRef numbers_; // of rows in order, among columns_; nullptr: as they stand
    std::vector<SortColumn> present_;
    std::vector<Result> results_; // by function
    std::vector<HeldColumn> in_order_;
    std::vector<frames::FrameRule> rules_; // by window
    // Of the window now.
    BufferRef edges_;
    windows::Places places_{};
    std::vector<BufferRef> held_;
    std::vector<Sums> sums_;
};

} // namespace

bool can_compute_windows(const Program &program) {
    const ir::Pipeline &main = program.main();
    if (main.windows.count == 0 || main.limit != 0)
        return false;
    for (ir::Index f = 0; f < main.window_functions.count; ++f) {
        const WindowFunction &function = program.window_functions[main.window_functions.first + f];
        const ir::Window &window = program.windows[main.windows.first + function.window];
        if (is_extreme(function.kind) && function.other != ir::none)
            return false;
        if ((is_extreme(function.kind) || is_of_floats(program, function)) && !only_grows(window) &&
            !is_narrow(program, window))
            return false;
    }
    return true;
}

bool compute_windows(RowKernels &kernels, const Program &program, const std::vector<HeldColumn> &columns, uint64_t rows,
                     DeviceRows &result) {
    kernels.streams().reset_control();
    const Drain drain(kernels.streams());
    Windows computed(kernels, program, columns, rows);
    if (!computed.run(result))
        return false;
    if (kernels.streams().fetched().status & status_row_error)
        throw DeviceError("a sum of a window overflows, or a bound of a frame is out of range");
    return true;
}

void find_ranges(RowKernels &kernels, DeviceRows &rows) {
    std::vector<windows::OrderRange> ranges(rows.columns.size(), windows::OrderRange{~0ull, 0, 0, 0});
    if (rows.nrows == 0 || ranges.empty())
        return;
    const size_t bytes = ranges.size() * sizeof ranges[0];
    const BufferRef found = kernels.streams().send(ranges.data(), bytes);
    for (size_t c = 0; c < ranges.size(); ++c) {
        const DeviceRows::Column &column = rows.columns[c];
        windows::OrderRangeArgument a{};
        a.rows = rows.nrows;
        a.column = HeldColumn{column.type, column.values, column.nulls}.flat();
        a.range = static_cast<windows::OrderRange *>(found->data) + c;
        if (!is_float(column.type))
            kernels.launch("order_range", rows.nrows, &a);
    }
    kernels.fetch(*found, ranges.data(), bytes);
    for (size_t c = 0; c < ranges.size(); ++c) {
        ColumnStats &stats = rows.columns[c].stats;
        stats.any_wide = ranges[c].wide != 0;
        if (ranges[c].low > ranges[c].high)
            continue;
        stats.min = static_cast<int64_t>(ranges[c].low ^ (uint64_t(1) << 63));
        stats.max = static_cast<int64_t>(ranges[c].high ^ (uint64_t(1) << 63));
    }
}

void cast_column(RowKernels &kernels, DeviceRows::Column &column, uint64_t rows, Type type, int128 limit) {
    kernels.streams().reset_control();
    const Drain drain(kernels.streams());
    kernels.hold(column.values);
    const BufferRef to = kernels.column(rows, type_width(type));
    windows::CastArgument a{};
    a.rows = rows;
    a.from = HeldColumn{column.type, column.values, column.nulls}.flat();
    a.to = to->data;
    a.type = static_cast<uint32_t>(type);
    a.limit = limit;
    a.status = kernels.status();
    kernels.launch("cast_rows", rows, &a);
    if (kernels.wait() & status_row_error)
        throw DeviceError("a value of a subquery is too large for who reads it");
    column.type = type;
    column.values = to;
}

} // namespace gpuscan::cuda
