// Which rows a pipeline cannot use; see skip.hpp.
#include "engine/store/skip.hpp"

#include <algorithm>
#include <cstring>

#include "engine/ir/expr_walk.hpp"
#include "engine/ir/value_range.hpp"

namespace gpuscan {

using namespace ir;

namespace {

// A condition of more nodes (a long list of constants) costs more to look at than it is likely to save.
constexpr size_t max_nodes = 256;
// The rows [begin, end) of a chunk; `begin` is a multiple of 64.
ChunkView slice(const ChunkView &chunk, uint32_t begin, uint32_t end) {
    ChunkView part = chunk;
    part.nrows = end - begin;
    part.first_row += begin;
    if (part.row_mask != nullptr)
        part.row_mask += begin / 64;
    if (part.device_mask != nullptr)
        part.device_mask = static_cast<const uint64_t *>(part.device_mask) + begin / 64;
    for (ColumnView &column : part.columns) {
        if (column.values != nullptr)
            column.values = static_cast<const uint8_t *>(column.values) + begin * column.frame.bytes(column.type);
        if (column.nulls != nullptr)
            column.nulls += begin;
        column.zones = nullptr;
    }
    return part;
}

} // namespace

// ---- the pipeline's steps -----------------------------------------------------------------------------------------

Skipper::Skipper(const Program &program, Index pipeline, std::function<LookupContents(Index)> lookup,
                 const std::function<ColumnStats(Index build, Index key)> &keys)
    : program_(program), lookup_(std::move(lookup)),
      ranges_(program, {[this](const Expr &e) { return column(e); },
                        [this](const Expr &e, const ValueRange &code) { return looked_up(e, code); }}) {
    may_raise_ = somewhere(program.exprs,
                           [this](const Expr &e) { return raises_itself(program_.exprs.data(), e) || is_deferred(e); });
    const Pipeline &p = program.pipelines[pipeline];
    for (Index at = 0; at <= p.joins.count; ++at) {
        for (Index i = 0; i < p.conjuncts.count; ++i) {
            const Conjunct &conjunct = program.conjuncts[p.conjuncts.first + i];
            if (conjunct.after != at)
                continue;
            Step step;
            step.conjunct = conjunct.expr;
            step.guarded = conjunct.guarded != 0;
            add_step(std::move(step), {conjunct.expr});
        }
        if (at == p.joins.count)
            break;
        const Join &join = program.joins[p.joins.first + at];
        Step step;
        step.keys = join.keys;
        step.guarded = join.guarded != 0;
        step.needs_partner = !keeps_rows(join.kind) && join.kind != JoinKind::Anti;
        std::vector<Index> roots;
        for (Index k = 0; k < join.keys.count; ++k) {
            roots.push_back(program.lists[join.keys.first + k]);
            step.table.push_back(keys(join.build, k));
        }
        add_step(std::move(step), roots);
        for (Index i = 0; i < join.filters.count; ++i)
            if (may_raise_[program.lists[join.filters.first + i]])
                steps_.push_back(Step()); // the end
        if (keeps_table(join.kind))
            break; // a row that goes no further is a partner all the same
    }
}

// Its function can fail, and its table has not been filled yet.
bool Skipper::is_deferred(const Expr &e) const { return e.op == Op::Lookup && program_.lookups[e.b].deferred != 0; }

// Notes the step and the columns that it reads; what is too long to look at is left out, and where it might raise an error
// nothing behind it can be looked at. So is what is guarded, whatever the bounds say of its errors.
void Skipper::add_step(Step step, const std::vector<Index> &roots) {
    if (!steps_.empty() && steps_.back().conjunct == none && steps_.back().table.empty())
        return;
    std::vector<Index> columns, needed;
    needed.reserve(8);
    for_each_needed(program_.exprs, roots, [&](Index index) {
        const Expr &e = program_.exprs[index];
        if (e.op == Op::Column && e.a == 0)
            columns.push_back(e.b);
        needed.push_back(index);
        return needed.size() <= max_nodes;
    });
    if (needed.size() > max_nodes || step.guarded) {
        if (std::any_of(roots.begin(), roots.end(), [this](Index root) { return may_raise_[root] != 0; }))
            steps_.push_back(Step()); // the end
        return;
    }
    step.nodes = ranges_.order(std::move(needed));
    steps_.push_back(std::move(step));
    for (Index column : columns)
        if (std::find(columns_.begin(), columns_.end(), column) == columns_.end())
            columns_.push_back(column);
}

// ---- chunks and zones ---------------------------------------------------------------------------------------------

Skipped Skipper::skip(std::vector<ChunkView> &chunks, uint32_t zone) {
    Skipped skipped;
    if (steps_.empty())
        return skipped;
    std::vector<ChunkView> left;
    std::vector<const ColumnStats *> zones;
    for (ChunkView &chunk : chunks) {
        zones.assign(chunk.columns.size(), nullptr);
        if (dead(chunk, zones.data())) {
            ++skipped.chunks;
            skipped.rows += chunk.nrows;
            continue;
        }
        const bool zoned = chunk.nrows > zone && std::any_of(columns_.begin(), columns_.end(), [&](Index column) {
                               return chunk.columns[column].zones != nullptr;
                           });
        uint32_t begin = 0; // of the rows that stay
        const uint64_t before = skipped.rows;
        for (uint32_t at = 0; zoned && at < chunk.nrows; at += zone) {
            for (Index column : columns_)
                if (const ColumnStats *stats = chunk.columns[column].zones)
                    zones[column] = stats + at / zone;
            if (!dead(chunk, zones.data()))
                continue;
            if (begin < at)
                left.push_back(slice(chunk, begin, at));
            begin = std::min(chunk.nrows - at, zone) + at;
            skipped.rows += begin - at;
        }
        if (begin == 0)
            left.push_back(std::move(chunk));
        else if (begin < chunk.nrows)
            left.push_back(slice(chunk, begin, chunk.nrows));
        else if (skipped.rows - before == chunk.nrows)
            ++skipped.chunks;
    }
    chunks = std::move(left);
    return skipped;
}

bool Skipper::is_prunable(const ChunkView &chunk) {
    const std::vector<const ColumnStats *> zones(chunk.columns.size(), nullptr);
    return !steps_.empty() && dead(chunk, zones.data());
}

// Does none of the rows come to the pipeline's end, and raise no error on its way?
bool Skipper::dead(const ChunkView &chunk, const ColumnStats *const *zones) {
    chunk_ = &chunk;
    zones_ = zones;
    for (const Step &step : steps_) {
        bool raises = false;
        ranges_.evaluate(step.nodes);
        const bool end = dead_end(step, &raises);
        if (raises)
            return false;
        if (end)
            return true;
    }
    return false;
}

bool Skipper::dead_end(const Step &step, bool *raises) const {
    if (step.conjunct != none) {
        const ValueRange &v = ranges_[step.conjunct];
        *raises = v.raises;
        return !v.can_be(true);
    }
    *raises = step.table.empty();
    bool end = false;
    for (Index k = 0; k < step.table.size(); ++k) {
        const ColumnStats &table = step.table[k];
        const ValueRange &v = ranges_[program_.lists[step.keys.first + k]];
        *raises = *raises || v.raises;
        end = end || !v.value || (!table.any_value && !table.any_wide) ||
              (v.known && !table.any_wide && (v.max < table.min || v.min > table.max));
    }
    return end && step.needs_partner;
}

// ---- what is known of the rows ------------------------------------------------------------------------------------

ValueRange Skipper::column(const Expr &e) const {
    if (e.a != 0)
        return {};
    const ColumnView &column = chunk_->columns[e.b];
    ValueRange v;
    if (const ColumnStats *zone = zones_[e.b]) {
        if (zone->any_value && !zone->any_wide && zone->min <= zone->max)
            return ValueRange::of(zone->min, zone->max, zone->any_null);
        v.value = zone->any_value;
        v.null = zone->any_null;
        return v;
    }
    v.null = column.nulls != nullptr;
    return column.has_range && !is_float(e.type) ? ValueRange::of(column.min, column.max, v.null) : v;
}

// Of a table of truths: is one of the codes' true? Others have no bounds.
ValueRange Skipper::looked_up(const Expr &e, const ValueRange &code) const {
    ValueRange v;
    v.raises = is_deferred(e);
    const LookupContents table = lookup_(e.b);
    if (v.raises || e.type != Type::Bool || table.values == nullptr || table.nulls == nullptr || table.nulls->empty() ||
        !code.known)
        return v;
    const size_t entries = table.nulls->size() - 1; // and the one for NULL
    if (table.values->size() != entries + 1 || code.min < 0 || code.max >= static_cast<int128>(entries))
        return v;
    const size_t first = static_cast<size_t>(code.min), count = static_cast<size_t>(code.max - code.min) + 1;
    const bool by_code = code.value && memchr(table.values->data() + first, 1, count) != nullptr;
    const bool by_null = code.null && table.values->back() != 0 && table.nulls->back() == 0;
    return ValueRange::truth(by_code || by_null, true, true);
}

} // namespace gpuscan
