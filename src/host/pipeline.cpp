// One pipeline as one thread runs it (see pipeline.hpp).
#include "host/pipeline.hpp"

#include <algorithm>

#include "engine/ir/expr_walk.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

// Filters are combined while at least one row of so many is left; below, gathering few rows is cheaper.
constexpr size_t combine_fraction = 4;

// The joins whose payload `root` reads are used at `step`.
void note_uses(const Program &p, Index root, size_t step, std::vector<size_t> &last_use) {
    for_each_needed(p.exprs, {root}, [&](Index index) {
        const Expr &e = p.exprs[index];
        if (e.op == Op::Column && e.a > 0)
            last_use[e.a - 1] = std::max(last_use[e.a - 1], step);
        return true;
    });
}

} // namespace

PipelineRunner::PipelineRunner(const Context &context, Index pipeline, const std::atomic<uint32_t> *cancel, Sink sink)
    : context_(context), pipeline_(context.program.pipelines[pipeline]), cancel_(cancel), sink_(std::move(sink)),
      evaluator_(context, pipeline_), steps_(pipeline_.joins.count + 1), last_use_(pipeline_.joins.count, 0),
      last_multiplier_(last_multiplier(context, pipeline_)) {
    const Program &p = context.program;
    for (Index c = 0; c < pipeline_.conjuncts.count; ++c) {
        const Conjunct &conjunct = p.conjuncts[pipeline_.conjuncts.first + c];
        steps_[conjunct.after].filters.push_back({conjunct.expr, context.raises[conjunct.expr] == 0});
        note_uses(p, conjunct.expr, conjunct.after, last_use_);
    }
    for (Index j = 0; j < pipeline_.joins.count; ++j) {
        const Join &join = p.joins[pipeline_.joins.first + j];
        for (Index k = 0; k < join.keys.count; ++k)
            note_uses(p, p.lists[join.keys.first + k], j, last_use_);
        for (Index i = 0; i < join.filters.count; ++i)
            note_uses(p, p.lists[join.filters.first + i], j, last_use_);
        Step &step = steps_[j];
        step.probes_all = join.kind == JoinKind::Inner;
        step.interval = interval_condition(p, pipeline_, j);
        for (Index k = 0; k < join.keys.count; ++k)
            step.probes_all = step.probes_all && context.raises[p.lists[join.keys.first + k]] == 0;
        for (auto *buffer : {&step.positions, &step.entries, &step.counts})
            buffer->reset(new uint32_t[batch_rows + batch_slack]);
        if (join.kind != JoinKind::Inner)
            step.matched_rows.reset(new uint8_t[batch_rows + batch_slack]);
        if (join.filters.count > 0)
            for (auto *buffer : {&step.pair_positions, &step.pair_entries})
                buffer->reset(new uint32_t[batch_rows + batch_slack]);
    }
    size_t sink_step = pipeline_.joins.count;
    for (Range list : {pipeline_.keys, pipeline_.payload})
        for (Index i = 0; i < list.count; ++i)
            note_uses(p, p.lists[list.first + i], sink_step, last_use_);
    for (Index a = 0; a < pipeline_.aggregates.count; ++a)
        if (p.aggregates[pipeline_.aggregates.first + a].arg != none)
            note_uses(p, p.aggregates[pipeline_.aggregates.first + a].arg, sink_step, last_use_);
}

Index PipelineRunner::last_multiplier(const Context &context, const Pipeline &pipeline) {
    for (Index j = pipeline.joins.count; j-- > 0;) {
        const Join &join = context.program.joins[pipeline.joins.first + j];
        if (delivers_payload(join.kind) && !context.tables[join.build]->unique())
            return j;
    }
    return none;
}

void PipelineRunner::run(const ChunkView &chunk, uint32_t begin, uint32_t end, uint32_t part, uint32_t parts) {
    evaluator_.set_chunk(&chunk);
    part_ = part;
    parts_ = parts;
    batches_of_pairs_ = 0;
    for (uint32_t at = begin; at < end; at += batch_rows) {
        check_cancel();
        const uint32_t n = fill(chunk, at, std::min(end, at + batch_rows));
        if (part == 0)
            rows_in_ += n;
        if (n > 0)
            proceed(0);
    }
}

void PipelineRunner::check_cancel() const {
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed) != 0)
        throw Cancelled();
}

static void clear_bits(uint64_t *mask, uint32_t first, uint32_t end) {
    while (first < end) {
        const uint32_t n = std::min(64 - first % 64, end - first);
        mask[first / 64] &= ~(n == 64 ? ~uint64_t(0) : ((uint64_t(1) << n) - 1) << first % 64);
        first += n;
    }
}

// The mask of the rows [begin, end), at most a batch; false: all take part.
static bool take_mask(const ChunkView &chunk, uint32_t begin, uint32_t end, uint64_t *mask) {
    const size_t words = (end - begin + 63) / 64;
    uint64_t lacking = 0;
    if (chunk.row_mask != nullptr)
        for (size_t i = 0; i < words; ++i) {
            mask[i] = chunk.row_mask[begin / 64 + i];
            lacking |= ~mask[i];
        }
    if (chunk.without == nullptr)
        return lacking != 0;
    auto range = chunk.without_from(begin);
    const uint32_t first = chunk.first_row + begin, last = chunk.first_row + end; // in the chunk
    if (range == chunk.without->end() || range->first >= last)
        return lacking != 0;
    if (chunk.row_mask == nullptr)
        std::fill_n(mask, words, ~uint64_t(0));
    for (; range != chunk.without->end() && range->first < last; ++range)
        clear_bits(mask, std::max(range->first, first) - first, std::min(range->end, last) - first);
    return true;
}

// The rows [begin, end), of which pending_ says which take part where not all do; how many do.
uint32_t PipelineRunner::fill(const ChunkView &chunk, uint32_t begin, uint32_t end) {
    Step &step = steps_[0];
    step.batch.base = begin;
    step.batch.n = end - begin;
    step.batch.identity = true;
    Evaluator::renew(step.batch);
    uint64_t mask[batch_rows / 64];
    step.pending = take_mask(chunk, begin, end, mask);
    if (!step.pending)
        return step.batch.n;
    k_.expand(step.batch.n, mask, pending_.get()); // (begin is a multiple of 64)
    const uint32_t n = static_cast<uint32_t>(k_.count(step.batch.n, pending_.get()));
    step.pending = n < step.batch.n;
    return n;
}

// Filters the batch of a step and sends what is left on.
void PipelineRunner::proceed(size_t at) {
    Step &step = steps_[at];
    if (!filter(step))
        return;
    if (at + 1 < steps_.size()) {
        probe(at);
        return;
    }
    rows_out_ += step.batch.n;
    sink_(step.batch, evaluator_);
}

// Do so many of a step's rows take part that whole columns are read sooner than those rows are gathered?
bool PipelineRunner::are_many(const Step &step, size_t part, size_t of) const {
    return k_.count(step.batch.n, pending_.get()) * of >= step.batch.n * part;
}

bool PipelineRunner::filter(Step &step) {
    for (const Filter &filter : step.filters) {
        if (step.pending && !(filter.safe && are_many(step, 1, combine_fraction)) && !shrink(step))
            return false;
        const Vec v = evaluator_.evaluate(filter.expr, step.batch);
        if (v.constant) {
            if (v.null_constant() || !*v.as<uint8_t>())
                return false;
            continue;
        }
        uint8_t *passed = pending_.get();
        if (step.pending)
            k_.both(step.batch.n, passed, v.as<uint8_t>(), passed);
        else
            std::copy_n(v.as<uint8_t>(), step.batch.n, passed);
        if (v.nulls != nullptr)
            k_.and_not(step.batch.n, passed, v.nulls, passed);
        step.pending = true;
    }
    return !step.pending || (step.probes_all && are_many(step, 3, 4)) || shrink(step);
}

// Keeps the rows that pending_ has; false when none is left.
bool PipelineRunner::shrink(Step &step) {
    step.pending = false;
    const uint32_t n = k_.select(step.batch.n, pending_.get(), nullptr, selected_.get());
    if (n > 0 && n < step.batch.n)
        Evaluator::subset(Batch(step.batch), selected_.get(), n, step.storage, step.batch);
    return n > 0;
}

void PipelineRunner::probe(size_t at) {
    Step &step = steps_[at];
    const Join &join = context_.program.joins[pipeline_.joins.first + at];
    const JoinTable &table = *context_.tables[join.build];
    Vec keys[max_join_keys];
    for (Index k = 0; k < join.keys.count; ++k)
        keys[k] = evaluator_.evaluate_full(context_.program.lists[join.keys.first + k], step.batch);
    const uint32_t n = step.batch.n;
    uint32_t matched = table.probe(keys, n, scratch_, step.positions.get(), step.entries.get(), step.counts.get());
    if (step.pending)
        matched = drop_others(step, table.unique(), matched);
    if (table.has_intervals())
        matched = narrow(step, table, matched);
    if (join.kind == JoinKind::Inner) {
        hand_on_matches(at, table, matched);
        return;
    }
    uint8_t *matched_rows = step.matched_rows.get(),
            *matched_entries = context_.matched_rows[pipeline_.joins.first + at];
    std::fill_n(matched_rows, n, 0);
    if (join.filters.count == 0) {
        for (uint32_t i = 0; i < matched; ++i)
            matched_rows[step.positions[i]] = 1;
        if (matched_entries != nullptr)
            note_partners(at, table, matched, matched_entries);
        if (delivers_payload(join.kind))
            hand_on_matches(at, table, matched);
    } else {
        each_pair(at, table, matched, [&](const uint32_t *positions, const uint32_t *entries, uint32_t pairs) {
            pairs = filter_pairs(at, join, positions, entries, pairs);
            for (uint32_t i = 0; i < pairs; ++i) {
                matched_rows[step.pair_positions[i]] = 1;
                if (matched_entries != nullptr)
                    __atomic_store_n(&matched_entries[step.pair_entries[i]], 1, __ATOMIC_RELAXED);
            }
            if (delivers_payload(join.kind) && takes_next_pairs(at) && pairs > 0)
                hand_on(at, step.pair_positions.get(), step.pair_entries.get(), pairs);
        });
    }
    if (keeps_rows(join.kind) && (part_ == 0 || at != last_multiplier_))
        hand_on_without_partner(at);
    else if (!delivers_payload(join.kind))
        hand_on_chosen(at, join.kind == JoinKind::Semi);
}

// Of the matches, keeps the entries whose intervals can hold the rows' values; all of them, where a value is an error.
uint32_t PipelineRunner::narrow(const Step &step, const JoinTable &table, uint32_t matched) {
    IntervalProbe probes[2];
    const IntervalBound *const bounds[2] = {&step.interval.low, &step.interval.high};
    try {
        for (size_t i = 0; i < 2; ++i)
            if (bounds[i]->bound != none)
                probes[i] = {evaluator_.evaluate_full(bounds[i]->value, step.batch),
                             context_.program.exprs[bounds[i]->value].type, bounds[i]->strict};
    } catch (const RowError &) {
        return matched;
    }
    return table.narrow(probes[0], probes[1], matched, step.positions.get(), step.entries.get(), step.counts.get());
}

// Of the matches, drops those of rows that do not take part.
uint32_t PipelineRunner::drop_others(Step &step, bool unique, uint32_t matched) const {
    const uint8_t *const taken = pending_.get();
    uint32_t *const positions = step.positions.get(), *const entries = step.entries.get(),
                    *const counts = step.counts.get();
    uint32_t n = 0;
    for (uint32_t i = 0; i < matched; ++i) {
        const uint32_t position = positions[i];
        positions[n] = position;
        entries[n] = entries[i];
        if (!unique)
            counts[n] = counts[i];
        n += taken[position];
    }
    return n;
}

// Threads write the same byte, if they do, with the same value.
void PipelineRunner::note_partners(size_t at, const JoinTable &table, uint32_t matched, uint8_t *matched_rows) {
    const Step &step = steps_[at];
    for (uint32_t i = 0; i < matched; ++i) {
        const uint32_t first = step.entries[i], count = table.unique() ? 1 : step.counts[i];
        if (__atomic_load_n(&matched_rows[first + count - 1], __ATOMIC_RELAXED) != 0)
            continue; // then so are the others: all of a key's entries are noted, the last one last
        for (uint32_t entry = first; entry < first + count; ++entry)
            __atomic_store_n(&matched_rows[entry], 1, __ATOMIC_RELAXED);
    }
}

void PipelineRunner::hand_on_matches(size_t at, const JoinTable &table, uint32_t matched) {
    if (matched > 0 && table.unique())
        hand_on(at, steps_[at].positions.get(), steps_[at].entries.get(), matched);
    else
        each_pair(at, table, matched, [&](const uint32_t *positions, const uint32_t *entries, uint32_t n) {
            if (takes_next_pairs(at))
                hand_on(at, positions, entries, n);
        });
}

// Is the batch of pairs that a step has found one of those with which this part of the work goes on?
bool PipelineRunner::takes_next_pairs(size_t at) {
    return parts_ == 1 || at != last_multiplier_ || batches_of_pairs_++ % parts_ == part_;
}

// The rows that have a partner, or those that have none.
void PipelineRunner::hand_on_chosen(size_t at, bool matched) {
    Step &step = steps_[at];
    if (!matched)
        k_.invert(step.batch.n, step.matched_rows.get(), step.matched_rows.get());
    const uint32_t n = k_.select(step.batch.n, step.matched_rows.get(), nullptr, expanded_positions_.get());
    if (n > 0)
        hand_on(at, expanded_positions_.get(), nullptr, n);
}

void PipelineRunner::hand_on_without_partner(size_t at) {
    Step &step = steps_[at];
    k_.invert(step.batch.n, step.matched_rows.get(), step.matched_rows.get());
    const uint32_t n = k_.select(step.batch.n, step.matched_rows.get(), nullptr, expanded_positions_.get());
    std::fill_n(expanded_entries_.get(), n, no_entry);
    if (n > 0)
        hand_on(at, expanded_positions_.get(), expanded_entries_.get(), n);
}

// Calls task(positions, entries, n) for the pairs of the probe of a step, a batch at a time.
template <class Task> void PipelineRunner::each_pair(size_t at, const JoinTable &table, uint32_t matched, Task task) {
    const Step &step = steps_[at];
    uint32_t n = 0;
    for (uint32_t i = 0; i < matched; ++i) {
        const uint32_t count = table.unique() ? 1 : step.counts[i];
        for (uint32_t c = 0; c < count; ++c) {
            expanded_positions_[n] = step.positions[i];
            expanded_entries_[n] = step.entries[i] + c;
            if (++n == batch_rows) {
                task(expanded_positions_.get(), expanded_entries_.get(), n);
                check_cancel();
                n = 0;
            }
        }
    }
    if (n > 0)
        task(expanded_positions_.get(), expanded_entries_.get(), n);
}

// Of these pairs those that pass the join's filters, as the step's pair_positions and pair_entries; how many are left.
uint32_t PipelineRunner::filter_pairs(size_t at, const Join &join, const uint32_t *positions, const uint32_t *entries,
                                      uint32_t n) {
    Step &step = steps_[at];
    uint32_t *kept_positions = step.pair_positions.get(), *kept_entries = step.pair_entries.get();
    std::copy_n(positions, n, kept_positions);
    std::copy_n(entries, n, kept_entries);
    for (Index i = 0; i < join.filters.count; ++i) {
        Batch &pairs = step.pairs;
        Evaluator::subset(step.batch, kept_positions, n, step.pair_storage, pairs);
        pairs.entries[at] = kept_entries;
        const Vec v = evaluator_.evaluate_full(context_.program.lists[join.filters.first + i], pairs);
        const uint32_t left = k_.select(n, v.as<uint8_t>(), v.nulls, selected_.get());
        if (left == 0)
            return 0;
        for (uint32_t k = 0; k < left && left < n; ++k) { // selected_[k] >= k
            kept_positions[k] = kept_positions[selected_[k]];
            kept_entries[k] = kept_entries[selected_[k]];
        }
        n = left;
    }
    return n;
}

void PipelineRunner::hand_on(size_t at, const uint32_t *positions, const uint32_t *entries, uint32_t n) {
    Batch from = steps_[at].batch;
    Step &next = steps_[at + 1];
    for (size_t j = 0; j < at; ++j)
        if (last_use_[j] <= at)
            from.entries[j] = nullptr;
    Evaluator::subset(from, positions, n, next.storage, next.batch);
    next.pending = false;
    if (last_use_[at] > at) {
        next.batch.entries[at] = next.storage.entries_of(static_cast<uint32_t>(at));
        std::copy_n(entries, n, next.batch.entries[at]);
    }
    proceed(at + 1);
}

} // namespace gpuscan::host
