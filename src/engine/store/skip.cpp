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
constexpr size_t most_nodes = 256;
constexpr int128 limit = static_cast<int128>(1) << 100; // sums and products below cannot overflow 128 bits

bool range_of_type(Type type, int128 *min, int128 *max) {
    switch (type) {
    case Type::Bool:
        *min = 0, *max = 1;
        return true;
    case Type::I16:
        *min = INT16_MIN, *max = INT16_MAX;
        return true;
    case Type::I32:
        *min = INT32_MIN, *max = INT32_MAX;
        return true;
    case Type::I64:
        *min = INT64_MIN, *max = INT64_MAX;
        return true;
    case Type::I128:
        *min = -limit, *max = limit;
        return true;
    case Type::Code:
        *min = 0, *max = UINT32_MAX;
        return true;
    default:
        return false;
    }
}

bool has_bounds(Type type) { return is_integer(type) || type == Type::Code || type == Type::Bool; }

// The rows [begin, end) of a chunk; `begin` is a multiple of 64.
ChunkView slice(const ChunkView &chunk, uint32_t begin, uint32_t end) {
    ChunkView part = chunk;
    part.nrows = end - begin;
    if (part.row_mask != nullptr)
        part.row_mask += begin / 64;
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

Skipper::Values Skipper::Values::of(int128 min, int128 max, bool null) {
    Values v;
    v.known = true;
    v.min = min;
    v.max = max;
    v.null = null;
    return v;
}

Skipper::Values Skipper::Values::truth(bool can_be_true, bool can_be_false, bool can_be_null) {
    Values v = of(can_be_false ? 0 : 1, can_be_true ? 1 : 0, can_be_null);
    v.value = can_be_true || can_be_false;
    return v;
}

// ---- the pipeline's steps -----------------------------------------------------------------------------------------

Skipper::Skipper(const Program &program, Index pipeline, std::function<LookupContents(Index)> lookup,
                 const std::function<ColumnStats(Index build, Index key)> &keys)
    : program_(program), lookup_(std::move(lookup)), found_(program.exprs.size()), found_at_(program.exprs.size(), 0) {
    may_raise_ = somewhere(program.exprs, [this](const Expr &e) { return raises(e); });
    const Pipeline &p = program.pipelines[pipeline];
    for (Index at = 0; at <= p.joins.count; ++at) {
        for (Index i = 0; i < p.conjuncts.count; ++i) {
            const Conjunct &conjunct = program.conjuncts[p.conjuncts.first + i];
            if (conjunct.after != at)
                continue;
            Step step;
            step.conjunct = conjunct.expr;
            step.guarded = conjunct.guarded != 0;
            add_step(step, {conjunct.expr});
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
        add_step(step, roots);
        for (Index i = 0; i < join.filters.count; ++i)
            if (may_raise_[program.lists[join.filters.first + i]])
                steps_.push_back(Step()); // the end
        if (keeps_table(join.kind))
            break; // a row that goes no further is a partner all the same
    }
}

// A demanded lookup's function can fail, and its table has not been filled yet.
bool Skipper::raises(const Expr &e) const { return raises_itself(program_.exprs.data(), e) || is_demanded(e); }

bool Skipper::is_demanded(const Expr &e) const { return e.op == Op::Lookup && program_.lookups[e.b].demanded != 0; }

// Notes the step and the columns that it reads; what is too long to look at is left out, and where it might raise an error
// nothing behind it can be looked at. So is what is guarded, whatever the bounds say of its errors.
void Skipper::add_step(const Step &step, const std::vector<Index> &roots) {
    if (!steps_.empty() && steps_.back().conjunct == none && steps_.back().table.empty())
        return;
    std::vector<Index> columns;
    size_t nodes = 0;
    for_each_needed(program_.exprs, roots, [&](Index index) {
        const Expr &e = program_.exprs[index];
        if (e.op == Op::Column && e.a == 0)
            columns.push_back(e.b);
        return ++nodes <= most_nodes;
    });
    if (nodes > most_nodes || step.guarded) {
        if (std::any_of(roots.begin(), roots.end(), [this](Index root) { return may_raise_[root] != 0; }))
            steps_.push_back(Step()); // the end
        return;
    }
    steps_.push_back(step);
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

bool Skipper::hopeless(const ChunkView &chunk) {
    const std::vector<const ColumnStats *> zones(chunk.columns.size(), nullptr);
    return !steps_.empty() && dead(chunk, zones.data());
}

// Does none of the rows come to the pipeline's end, and raise no error on its way?
bool Skipper::dead(const ChunkView &chunk, const ColumnStats *const *zones) {
    chunk_ = &chunk;
    zones_ = zones;
    ++now_;
    for (const Step &step : steps_) {
        bool raises = false;
        const bool end = dead_end(step, &raises);
        if (raises)
            return false;
        if (end)
            return true;
    }
    return false;
}

bool Skipper::dead_end(const Step &step, bool *raises) {
    if (step.conjunct != none) {
        const Values v = values(step.conjunct);
        *raises = v.raises;
        return !v.can_be(true);
    }
    *raises = step.table.empty();
    bool end = false;
    for (Index k = 0; k < step.table.size(); ++k) {
        const ColumnStats &table = step.table[k];
        const Values v = values(program_.lists[step.keys.first + k]);
        *raises = *raises || v.raises;
        end = end || !v.value || (!table.any_value && !table.any_wide) ||
              (v.known && !table.any_wide && (v.max < table.min || v.min > table.max));
    }
    return end && step.needs_partner;
}

// ---- expressions --------------------------------------------------------------------------------------------------

Skipper::Values Skipper::values(Index expr) {
    if (found_at_[expr] == now_)
        return found_[expr];
    const Expr &e = program_.exprs[expr];
    Values v = evaluate(e);
    for_each_operand(e, [&](Index operand) { v.raises |= found_[operand].raises; });
    int128 least, most;
    if (is_demanded(e)) {
        v.raises = true;
    } else if (raises_itself(program_.exprs.data(), e)) { // not if the exact result fits the type
        if (!v.known || !range_of_type(e.type, &least, &most)) {
            v.raises = true;
        } else if (v.min < least || v.max > most) {
            v.raises = true;
            v.min = std::max(v.min, least);
            v.max = std::min(v.max, most);
            v.known = v.min <= v.max;
        }
    }
    found_at_[expr] = now_;
    return found_[expr] = v;
}

// The operands first, all of them: what may raise is asked of each.
Skipper::Values Skipper::evaluate(const Expr &e) {
    Values a, b, c;
    if (operand_count(e.op) >= 1)
        a = values(e.a);
    if (operand_count(e.op) >= 2)
        b = values(e.b);
    if (operand_count(e.op) >= 3)
        c = values(e.c);
    Values unknown;
    const bool both = a.value && b.value, null = a.null || b.null, bounds = a.known && b.known;
    auto computed = [&](int128 min, int128 max) {
        Values v = Values::of(min, max, null);
        v.value = both;
        return v;
    };
    auto compared = [&](bool can_be_true, bool can_be_false) {
        return bounds ? Values::truth(both && can_be_true, both && can_be_false, null)
                      : Values::truth(both, both, null);
    };
    auto small = [](const Values &v) { return v.min > -(int128(1) << 62) && v.max < (int128(1) << 62); };
    switch (e.op) {
    case Op::Column:
        return column(e);
    case Op::Const:
        return constant(e);
    case Op::Add:
        return bounds ? computed(a.min + b.min, a.max + b.max) : unknown;
    case Op::Sub:
        return bounds ? computed(a.min - b.max, a.max - b.min) : unknown;
    case Op::Mul: {
        if (!bounds || !small(a) || !small(b))
            return unknown;
        const int128 corners[] = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
        return computed(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
    }
    case Op::Div:
    case Op::Mod:
        if (!bounds || b.min <= 0) // a division by zero has no bounds, so it may raise
            return unknown;
        if (e.op == Op::Mod)
            return computed(a.min < 0 ? 1 - b.max : 0, a.max > 0 ? b.max - 1 : 0);
        return computed(std::min(a.min / b.min, a.min / b.max), std::max(a.max / b.min, a.max / b.max));
    case Op::Neg: {
        Values v = a;
        v.min = -a.max;
        v.max = -a.min;
        return v;
    }
    case Op::Eq:
        return compared(a.min <= b.max && b.min <= a.max, !(a.one() && b.one() && a.min == b.min));
    case Op::Ne:
        return compared(!(a.one() && b.one() && a.min == b.min), a.min <= b.max && b.min <= a.max);
    case Op::Lt:
        return compared(a.min < b.max, a.max >= b.min);
    case Op::Le:
        return compared(a.min <= b.max, a.max > b.min);
    case Op::Gt:
        return compared(a.max > b.min, a.min <= b.max);
    case Op::Ge:
        return compared(a.max >= b.min, a.min < b.max);
    case Op::And:
        return Values::truth(a.can_be(true) && b.can_be(true), a.can_be(false) || b.can_be(false), null);
    case Op::Or:
        return Values::truth(a.can_be(true) || b.can_be(true), a.can_be(false) && b.can_be(false), null);
    case Op::Not:
        return Values::truth(a.can_be(false), a.can_be(true), a.null);
    case Op::IsNull:
        return Values::truth(a.null, a.value, false);
    case Op::IsNotNull:
        return Values::truth(a.value, a.null, false);
    case Op::IsTrue:
        return Values::truth(a.can_be(true), a.can_be(false) || a.null, false);
    case Op::Case:
    case Op::Coalesce: {
        if (e.op == Op::Case && !a.can_be(true))
            return c;
        if (e.op == Op::Case && !a.can_be(false) && !a.null)
            return b;
        const Values &x = e.op == Op::Case ? b : a, &y = e.op == Op::Case ? c : b;
        Values v = !x.value ? y : x;
        if (x.value && y.value) {
            v.known = x.known && y.known;
            v.min = std::min(x.min, y.min);
            v.max = std::max(x.max, y.max);
        }
        v.null = e.op == Op::Case ? x.null || y.null : x.null && y.null;
        return v;
    }
    case Op::Cast:
        return has_bounds(program_.exprs[e.a].type) && has_bounds(e.type) ? a : unknown;
    case Op::Lookup:
        return is_demanded(e) ? unknown : looked_up(e, a);
    case Op::Call: {
        const ValueRange range =
            call_range(static_cast<Function>(e.c), a.known ? ValueRange::of(a.min, a.max) : ValueRange());
        if (!range.known)
            break;
        Values v = Values::of(range.min, range.max, a.null);
        v.value = a.value;
        return v;
    }
    case Op::CallTwo:
    case Op::Search:
    case Op::Bounded:
        break;
    }
    return unknown;
}

Skipper::Values Skipper::column(const Expr &e) const {
    Values v;
    if (e.a != 0)
        return v;
    const ColumnView &column = chunk_->columns[e.b];
    if (const ColumnStats *zone = zones_[e.b]) {
        v.value = zone->any_value;
        v.null = zone->any_null;
        if (zone->any_value && !zone->any_wide && zone->min <= zone->max && has_bounds(e.type)) {
            v.known = true;
            v.min = zone->min;
            v.max = zone->max;
        }
        return v;
    }
    v.null = column.nulls != nullptr;
    if (column.has_range && has_bounds(e.type)) { // bounds of no value say that there is none, and mean nothing
        v.value = v.known = column.min <= column.max;
        v.min = column.min;
        v.max = column.max;
    }
    return v;
}

Skipper::Values Skipper::constant(const Expr &e) const {
    const Constant &c = program_.constants[e.a];
    Values v;
    v.value = c.null == 0;
    v.null = c.null != 0;
    if (c.null != 0 || !has_bounds(e.type))
        return v;
    if (e.type == Type::I128)
        v.min = static_cast<int128>(static_cast<uint128>(static_cast<uint64_t>(c.high)) << 64 | c.low);
    else if (e.type == Type::Code)
        v.min = static_cast<uint32_t>(c.low);
    else
        v.min = static_cast<int64_t>(c.low);
    v.max = v.min;
    v.known = v.min >= -limit && v.max <= limit;
    return v;
}

// Of a table of truths: is one of the codes' true? Others have no bounds.
Skipper::Values Skipper::looked_up(const Expr &e, const Values &code) const {
    const LookupContents table = lookup_(e.b);
    Values v;
    if (e.type != Type::Bool || table.values == nullptr || table.nulls == nullptr || table.nulls->empty() ||
        !code.known)
        return v;
    const size_t entries = table.nulls->size() - 1; // and the one for NULL
    if (table.values->size() != entries + 1 || code.min < 0 || code.max >= static_cast<int128>(entries))
        return v;
    const size_t first = static_cast<size_t>(code.min), count = static_cast<size_t>(code.max - code.min) + 1;
    const bool by_code = code.value && memchr(table.values->data() + first, 1, count) != nullptr;
    const bool by_null = code.null && table.values->back() != 0 && table.nulls->back() == 0;
    return Values::truth(by_code || by_null, true, true);
}

} // namespace gpuscan
