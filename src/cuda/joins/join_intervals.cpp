// How do rows find partners between bounds without looking at every pair?
//
// As on the host (host/join_intervals.cpp): rows of a table lie in the order of their lower bound, beside each stands the highest upper
// bound so far, and a row that asks searches both. Here that is done for tables without keys; rows of one key are a chain in no order.
//
//   bounds  that are no payload of the build are added to it, as expressions over its own rows, so that the kernel that collects
//           rows works them out. A pair may never meet a bound whose value is an error: such an error is noted, and every pair is
//           looked at
//   order   after collecting: places by bound are sorted, payload and bounds are moved to their places, and the upper bounds become
//           the highest so far (device/tables.cuh)
//
// A NULL bound is no partner's, and may lie anywhere. Where only upper bounds are asked, rows lie in their order.
#include <map>

#include "cuda/execution_state.hpp"
#include "engine/ir/expr_walk.hpp"
#include "engine/ir/interval_condition.hpp"

namespace gpuscan::cuda {

using codegen::TableWords;

namespace {

// An expression over a build's payload becomes one over the rows of the build.
Index over_build(std::vector<Expr> &exprs, Index root, const std::vector<Index> &payload) {
    std::vector<Index> nodes;
    for_each_needed(exprs, {root}, [&](Index index) {
        nodes.push_back(index);
        return true;
    });
    std::map<Index, Index> become;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) { // operands first
        Expr e = exprs[*node];
        if (e.op == Op::Column) {
            become[*node] = payload.at(e.b);
            continue;
        }
        Index *const operands[] = {&e.a, &e.b, &e.c};
        for (int i = 0; i < operand_count(e); ++i)
            *operands[i] = become.at(*operands[i]);
        become[*node] = static_cast<Index>(exprs.size());
        exprs.push_back(e);
    }
    return become.at(root);
}

} // namespace

// ---- before rows are collected -----------------------------------------------------------------------------------

// The payload column that is this bound, one of the build's own or one that is added.
Index CudaExecution::bound_column(Index bound, const std::vector<Index> &payload, std::vector<Index> &added) {
    if (bound == none)
        return none;
    const Expr e = program_.exprs[bound];
    if (e.op == Op::Column)
        return e.b;
    added.push_back(over_build(program_.exprs, bound, payload));
    return static_cast<Index>(payload.size() + added.size() - 1);
}

void CudaExecution::add_bounds() {
    bounds_.resize(program_.pipelines.size());
    for (Index build = 0; build < program_.pipelines.size(); ++build) {
        Pipeline &pipeline = program_.pipelines[build];
        Index by = none, at = none;
        if (pipeline.sink != SinkKind::Build || pipeline.keys.count > 0)
            continue;
        const IntervalCondition asked = interval_condition_of_build(program_, build, &by, &at);
        // A row's pairs are looked at by one thread, which cannot begin again after an error. (Searches: the host device alone.)
        if (!asked.any() || asked.values_raise() || asked.by_search())
            continue;
        const auto first = program_.lists.begin() + pipeline.payload.first;
        std::vector<Index> payload(first, first + pipeline.payload.count), added;
        Bounds &bounds = bounds_[build];
        bounds.low = bound_column(asked.low.bound, payload, added);
        bounds.high = bound_column(asked.high.bound, payload, added);
        bounds.added = static_cast<Index>(added.size());
        if (added.empty())
            continue;
        payload.insert(payload.end(), added.begin(), added.end());
        pipeline.payload = {static_cast<Index>(program_.lists.size()), static_cast<Index>(payload.size())};
        program_.lists.insert(program_.lists.end(), payload.begin(), payload.end());
    }
}

// ---- when all are there ------------------------------------------------------------------------------------------

void CudaExecution::launch_over_rows(CUfunction function, uint64_t rows, void *argument) {
    const uint64_t blocks =
        std::min<uint64_t>((rows + tables_threads - 1) / tables_threads, uint64_t(state_->multiprocessors) * 8);
    streams_->launch(function, static_cast<unsigned>(blocks), tables_threads, 0, argument);
}

// Without memory for another copy the rows stay as they are, and every pair is looked at.
void CudaExecution::order_by_intervals(Index build) {
    Table &table = *tables_[build];
    const Bounds &bounds = bounds_[build];
    const bool by_low = bounds.low != none, by_reach = bounds.high != none;
    if ((!by_low && !by_reach) || table.shape.unique || table.no_bound)
        return;
    const uint64_t n = table.rows;
    const size_t own = table.payload.size() - bounds.added;
    BufferRef places, other, low, reach, further;
    std::vector<BufferRef> values(table.payload.size()), nulls(table.payload.size());
    try {
        places = streams_->allocate(n * sizeof(tables::Place));
        other = streams_->allocate(n * sizeof(tables::Place));
        if (by_low)
            low = streams_->allocate(n * sizeof(int64_t));
        if (by_reach) {
            reach = streams_->allocate(n * sizeof(int64_t));
            further = streams_->allocate(n * sizeof(int64_t));
        }
        for (size_t i = 0; i < own; ++i) {
            values[i] = streams_->allocate(n * type_width(table.shape.payload[i]));
            if (table.payload_nullable[i])
                nulls[i] = streams_->allocate(n);
        }
    } catch (const OutOfDeviceMemory &) {
        return;
    }

    streams_->start_clock();
    tables::PlacesArgument make{};
    make.bound = table.payload_column(by_low ? bounds.low : bounds.high);
    make.null = by_low ? INT64_MAX : INT64_MIN;
    make.places = static_cast<tables::Place *>(places->data);
    make.rows = n;
    launch_over_rows(tables_function("make_places"), n, &make);
    const CUfunction merge = tables_function("merge_places");
    for (uint64_t width = 1; width < n; width *= 2) {
        tables::MergeArgument a{static_cast<const tables::Place *>(places->data),
                                static_cast<tables::Place *>(other->data), n, width};
        launch_over_rows(merge, n, &a);
        std::swap(places, other);
    }
    const tables::Place *const ordered = static_cast<const tables::Place *>(places->data);

    const CUfunction move = tables_function("move_column"), move_bound = tables_function("move_bound");
    const auto move_values = [&](const BufferRef &from, const BufferRef &to, size_t bytes) {
        tables::MoveArgument a{ordered, from->data, to->data, n, static_cast<uint32_t>(bytes), 0};
        launch_over_rows(move, n, &a);
    };
    for (size_t i = 0; i < own; ++i) {
        move_values(table.payload[i], values[i], type_width(table.shape.payload[i]));
        if (nulls[i])
            move_values(table.payload_nulls[i], nulls[i], 1);
    }
    const auto move_bounds = [&](Index column, int64_t null, const BufferRef &to) {
        tables::MoveBoundArgument a{ordered, table.payload_column(column), null, static_cast<int64_t *>(to->data), n};
        launch_over_rows(move_bound, n, &a);
    };
    if (by_low)
        move_bounds(bounds.low, INT64_MAX, low);
    if (by_reach) {
        move_bounds(bounds.high, INT64_MIN, reach);
        const CUfunction extend = tables_function("extend_reach");
        for (uint64_t step = 1; step < n; step *= 2) {
            tables::ReachArgument a{static_cast<const int64_t *>(reach->data), static_cast<int64_t *>(further->data), n,
                                    step};
            launch_over_rows(extend, n, &a);
            std::swap(reach, further);
        }
    }
    stats_.kernel_us += streams_->wait(cancel_);

    // (Columns that were added have no other reader; their places among the words stay empty.)
    table.payload = std::move(values);
    table.payload_nulls = std::move(nulls);
    table.low = std::move(low);
    table.reach = std::move(reach);
    table.shape.by_low = by_low;
    table.shape.by_reach = by_reach;
    table.words.resize(TableWords::count(table.shape), 0);
    for (size_t i = 0; i < table.payload.size(); ++i) {
        uint64_t *const words = &table.words[TableWords::payload(0, i)];
        words[0] = table.payload[i] ? address_of(*table.payload[i]) : 0;
        words[1] = table.payload_nulls[i] ? address_of(*table.payload_nulls[i]) : 0;
    }
    table.words[TableWords::bounds(table.shape)] = by_low ? address_of(*table.low) : 0;
    table.words[TableWords::bounds(table.shape) + 1] = by_reach ? address_of(*table.reach) : 0;
    table.description += ", by interval";
}

} // namespace gpuscan::cuda
