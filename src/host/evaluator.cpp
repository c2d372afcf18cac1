// What an expression is worth for the rows of a batch (see evaluator.hpp).
#include "host/evaluator.hpp"

#include <algorithm>
#include <cstring>

namespace gpuscan::host {

using namespace ir;

namespace {

alignas(16) const uint8_t zeros[16] = {};
const uint8_t one_null[1] = {1};
const uint8_t bool_values[2] = {0, 1};

Vec null_vec() { return {zeros, one_null, true}; }
Vec bool_vec(bool value) { return {&bool_values[value], nullptr, true}; }

template <class T> void scatter_of(const void *from, bool constant, const uint32_t *at, uint32_t n, void *out) {
    const T *x = static_cast<const T *>(from);
    T *to = static_cast<T *>(out);
    for (uint32_t i = 0; i < n; ++i)
        to[at[i]] = x[constant ? 0 : i];
}

void scatter(size_t width, const void *from, bool constant, const uint32_t *at, uint32_t n, void *out) {
    switch (width) {
    case 1:
        return scatter_of<uint8_t>(from, constant, at, n, out);
    case 2:
        return scatter_of<uint16_t>(from, constant, at, n, out);
    case 4:
        return scatter_of<uint32_t>(from, constant, at, n, out);
    case 8:
        return scatter_of<uint64_t>(from, constant, at, n, out);
    default:
        return scatter_of<uint128>(from, constant, at, n, out);
    }
}

} // namespace

void raise_row_error() { throw RowError("a row meets an error in an expression"); }

uint64_t &Evaluator::next_epoch() {
    static thread_local uint64_t epoch = 0;
    return epoch;
}

void *Evaluator::buffer(std::unique_ptr<uint8_t[]> &memory, size_t width) {
    if (!memory) {
        charge((batch_rows + batch_slack) * width);
        memory.reset(new uint8_t[(batch_rows + batch_slack) * width]); // operator new aligns to 16
    }
    return memory.get();
}

Evaluator::~Evaluator() {
    if (context_.memory)
        context_.memory->release(charged_);
}

void Evaluator::charge(size_t bytes) {
    if (context_.memory)
        context_.memory->charge(bytes);
    charged_ += bytes;
}

Evaluator::Level &Evaluator::level(size_t depth) {
    while (levels_.size() <= depth) {
        charge(context_.program.exprs.size() * sizeof(void *) +
               (2 * (1 + pipeline_.joins.count) + 3) * positions_bytes);
        auto next = std::make_unique<Level>();
        next->slots.resize(context_.program.exprs.size());
        for (auto *positions : {&next->taken, &next->left, &next->rest})
            positions->reset(new uint32_t[batch_rows + batch_slack]);
        levels_.push_back(std::move(next));
    }
    return *levels_[depth];
}

Evaluator::Slot &Evaluator::slot(Index expr, const Batch &batch) {
    std::unique_ptr<Slot> &slot = level(batch.level).slots[expr];
    if (!slot) {
        charge(sizeof(Slot));
        slot = std::make_unique<Slot>();
    }
    return *slot;
}

const Batch *Evaluator::knower(Index expr, const Batch *batch) const {
    for (; batch != nullptr; batch = batch->parent) {
        const Slot *slot = levels_[batch->level]->slots[expr].get();
        if (slot != nullptr && slot->epoch == batch->epoch)
            break;
    }
    return batch;
}

void Evaluator::subset(const Batch &from, const uint32_t *positions, uint32_t n, BatchStorage &storage, Batch &to) {
    const Kernels &k = kernels();
    to.n = n;
    to.identity = false;
    to.level = 0;
    to.parent = nullptr;
    to.rows = storage.rows.get();
    if (from.identity)
        for (uint32_t i = 0; i < n; ++i)
            to.rows[i] = from.base + positions[i];
    else
        k.gather(4, n, from.rows, positions, to.rows);
    for (uint32_t j = 0; j < max_joins; ++j) {
        if (from.entries[j] == nullptr) {
            to.entries[j] = nullptr;
            continue;
        }
        to.entries[j] = storage.entries_of(j);
        k.gather(4, n, from.entries[j], positions, to.entries[j]);
    }
    renew(to);
}

// The rows of `from` at `positions`, one level deeper.
void Evaluator::part(const Batch &from, const uint32_t *positions, uint32_t n, BatchStorage &storage, Batch &to) {
    subset(from, positions, n, storage, to);
    to.level = from.level + 1;
    to.parent = &from;
    to.positions = positions;
}

Vec Evaluator::evaluate(Index expr, const Batch &batch) {
    expr = context_.canonical[expr];
    if (context_.program.exprs[expr].op == Op::Const)
        return compute(expr, batch);
    Slot &s = slot(expr, batch);
    if (s.epoch != batch.epoch) {
        if (!inherit(expr, batch, s))
            s.vec = compute(expr, batch);
        s.epoch = batch.epoch;
    }
    return s.vec;
}

// Takes the values from a batch that these rows are a part of, if one has them: arms share with what stands around them, and
// each level would compute all that is shared once more for each of its arms.
bool Evaluator::inherit(Index expr, const Batch &batch, Slot &to) {
    const Batch *from = knower(expr, batch.parent);
    if (from == nullptr)
        return false;
    const Vec vec = slot(expr, *from).vec;
    to.vec = vec;
    if (vec.constant)
        return true;
    const uint32_t *positions = batch.positions;
    if (from != batch.parent) {
        uint32_t *through = static_cast<uint32_t *>(buffer(to.broadcast, sizeof(int128)));
        for (uint32_t i = 0; i < batch.n; ++i) {
            through[i] = i;
            for (const Batch *step = &batch; step != from; step = step->parent)
                through[i] = step->positions[through[i]];
        }
        positions = through;
    }
    const size_t width = type_width(context_.program.exprs[expr].type);
    void *values = buffer(to.values, width);
    k_.gather(width, batch.n, vec.values, positions, values);
    to.vec.values = values;
    if (vec.nulls != nullptr) {
        void *nulls = buffer(to.nulls, 1);
        k_.gather(1, batch.n, vec.nulls, positions, nulls);
        to.vec.nulls = static_cast<uint8_t *>(nulls);
    }
    return true;
}

static const LookupTable &lookup_table(const Context &context, Index table) {
    if (!context.lookups[table])
        throw DeviceError("lookup table not set");
    return *context.lookups[table];
}

// Of a search: ascending, at least one.
static std::vector<int64_t> numbers_of(const LookupTable &table) {
    const int64_t *const entries = reinterpret_cast<const int64_t *>(table.values.data());
    if (table.entries == 0 || !std::is_sorted(entries, entries + table.entries))
        throw DeviceError("a search's values are not in order");
    return {entries, entries + table.entries};
}

// nullptr: the comparison has to do for these rows, too.
static const NumberSet *number_set(const Context &context, Membership &membership, uint32_t n) {
    const LookupTable &table = lookup_table(context, membership.table);
    return membership.set.for_rows(n, NumberSet::cost(table.entries),
                                   [&] { return std::make_unique<const NumberSet>(numbers_of(table)); });
}

Vec Evaluator::compute(Index expr, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    if (context_.steps[expr])
        if (const StepChoices *choices = context_.steps[expr]->for_rows(batch.n, context_))
            return step(expr, *choices, batch);
    if (context_.memberships[expr])
        if (const NumberSet *set = number_set(context_, *context_.memberships[expr], batch.n))
            return member(expr, *set, batch);
    switch (e.op) {
    case Op::Column:
        return column(e, slot(expr, batch), batch);
    case Op::Const: {
        const Constant &c = context_.program.constants[e.a];
        return {&context_.constants[e.a], c.null ? one_null : nullptr, true};
    }
    case Op::Neg:
    case Op::Cast:
        return unary(expr, batch);
    case Op::Call:
        return operand_count(e) == 2 ? binary(expr, batch) : unary(expr, batch);
    case Op::And:
    case Op::Or:
        return logic(expr, batch);
    case Op::Not:
    case Op::IsNull:
    case Op::IsNotNull:
    case Op::IsTrue:
        return truth(expr, batch);
    case Op::Lookup:
        return lookup(expr, batch);
    case Op::Search:
        return search(expr, batch);
    case Op::Case:
        return conditional(expr, batch);
    case Op::Coalesce:
        return coalesce(expr, batch);
    default:
        return binary(expr, batch);
    }
}

Vec Evaluator::full(Index expr, Vec vec, const Batch &batch) {
    if (!vec.constant)
        return vec;
    expr = context_.canonical[expr];
    Slot &s = slot(expr, batch);
    size_t width = type_width(context_.program.exprs[expr].type);
    uint8_t *out = static_cast<uint8_t *>(buffer(s.broadcast, width));
    bool null = vec.null_constant();
    if (null)
        memset(out, 0, batch.n * width);
    else
        for (uint32_t i = 0; i < batch.n; ++i)
            memcpy(out + i * width, vec.values, width);
    if (null)
        memset(buffer(s.broadcast_nulls, 1), 1, batch.n);
    return {out, null ? s.broadcast_nulls.get() : nullptr, false};
}

// The NULL flags of an operation that is NULL where an operand is; neither is a constant NULL.
const uint8_t *Evaluator::either_null(Slot &to, Vec a, Vec b, size_t n) {
    const uint8_t *x = a.constant ? nullptr : a.nulls, *y = b.constant ? nullptr : b.nulls;
    if (x == nullptr || y == nullptr || x == y)
        return x != nullptr ? x : y;
    uint8_t *out = static_cast<uint8_t *>(buffer(to.nulls, 1));
    k_.either(n, x, y, out);
    return out;
}

Vec Evaluator::column(const Expr &e, Slot &to, const Batch &batch) {
    size_t width = type_width(e.type);
    if (e.a == 0) {
        const ColumnView &view = chunk_->columns[e.b];
        const uint8_t *values = static_cast<const uint8_t *>(view.values);
        const Frame frame = view.frame;
        if (batch.identity && frame.is_whole())
            return {values + batch.base * width, view.nulls ? view.nulls + batch.base : nullptr, false};
        void *out = buffer(to.values, width);
        if (frame.width == 0) {
            const int128 value = frame.base;
            memcpy(out, &value, width);
            if (view.nulls == nullptr)
                return {out, nullptr, true};
            for (uint32_t i = 1; i < batch.n; ++i)
                memcpy(static_cast<uint8_t *>(out) + i * width, &value, width);
        } else if (batch.identity) {
            k_.gather_narrow(width, frame.width, batch.n, values + size_t(batch.base) * frame.width, frame.base,
                             nullptr, out);
        } else {
            k_.gather_narrow(width, frame.bytes(e.type), batch.n, values, frame.base, batch.rows, out);
        }
        if (view.nulls == nullptr)
            return {out, nullptr, false};
        if (batch.identity)
            return {out, view.nulls + batch.base, false};
        void *nulls = buffer(to.nulls, 1);
        k_.gather(1, batch.n, view.nulls, batch.rows, nulls);
        return {out, static_cast<uint8_t *>(nulls), false};
    }
    const Join &join = context_.program.joins[pipeline_.joins.first + e.a - 1];
    const PayloadColumn &payload = context_.tables[join.build]->payload(e.b);
    const uint32_t *entries = batch.entries[e.a - 1];
    void *out = buffer(to.values, width);
    if (keeps_rows(join.kind))
        return outer_payload(payload, entries, batch.n, to);
    k_.gather_narrow(width, payload.stored, batch.n, payload.values.data(), payload.low, entries, out);
    if (payload.nulls.empty())
        return {out, nullptr, false};
    void *nulls = buffer(to.nulls, 1);
    k_.gather(1, batch.n, payload.nulls.data(), entries, nulls);
    return {out, static_cast<uint8_t *>(nulls), false};
}

// The same for a join that leaves rows without an entry: their values are NULL.
Vec Evaluator::outer_payload(const PayloadColumn &payload, const uint32_t *entries, uint32_t n, Slot &to) {
    uint8_t *out = to.values.get();
    uint8_t *nulls = static_cast<uint8_t *>(buffer(to.nulls, 1));
    const size_t width = type_width(payload.type);
    if (payload.values.size() == 0) { // a table without rows
        memset(nulls, 1, n);
        memset(out, 0, n * width);
        return {out, nulls, false};
    }
    uint32_t *present = static_cast<uint32_t *>(buffer(to.broadcast, sizeof(uint32_t)));
    for (uint32_t i = 0; i < n; ++i)
        present[i] = entries[i] == no_entry ? 0 : entries[i];
    k_.gather_narrow(width, payload.stored, n, payload.values.data(), payload.low, present, out);
    if (!payload.nulls.empty())
        k_.gather(1, n, payload.nulls.data(), present, nulls);
    for (uint32_t i = 0; i < n; ++i)
        nulls[i] = entries[i] == no_entry || (!payload.nulls.empty() && nulls[i]);
    return {out, nulls, false};
}

Vec Evaluator::binary(Index expr, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    Type operand = context_.program.exprs[e.a].type;
    Vec a = evaluate(e.a, batch), b = evaluate(e.b, batch);
    if (a.null_constant() || b.null_constant())
        return null_vec();
    Slot &to = slot(expr, batch);
    bool constant = a.constant && b.constant;
    size_t n = constant ? 1 : batch.n;
    if (constant)
        b.constant = false; // one value each: the loops run once
    const uint8_t *nulls = constant ? nullptr : either_null(to, a, b, n);
    void *out = buffer(to.values, type_width(e.type));
    if (is_comparison(e.op))
        k_.compare(e.op, operand, n, a, b, static_cast<uint8_t *>(out));
    else if (e.op == Op::Call ? k_.call(static_cast<Function>(e.c), n, a, b, nulls, out)
                              : k_.arithmetic(e.op, operand, n, a, b, nulls, out))
        raise_row_error();
    return {out, nulls, constant};
}

Vec Evaluator::unary(Index expr, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    Type operand = context_.program.exprs[e.a].type;
    Vec a = evaluate(e.a, batch);
    if (a.null_constant())
        return null_vec();
    if (e.op == Op::Cast && operand == e.type)
        return a;
    size_t n = a.constant ? 1 : batch.n;
    void *out = buffer(slot(expr, batch).values, type_width(e.type));
    int error = e.op == Op::Neg    ? k_.negate(e.type, n, a.values, a.nulls, out)
                : e.op == Op::Call ? k_.call(static_cast<Function>(e.c), n, a, a, a.nulls, out)
                                   : k_.cast(operand, e.type, n, a.values, a.nulls, out);
    if (error)
        raise_row_error();
    return {out, a.nulls, a.constant};
}

// Where the left side decides, PostgreSQL does not evaluate the right one; it matters where that could raise an error.
Vec Evaluator::logic(Index expr, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    Vec a = evaluate(e.a, batch);
    const bool decisive = e.op == Op::Or;
    if (a.constant && !a.null_constant())
        return (*a.as<uint8_t>() != 0) == decisive ? a : evaluate(e.b, batch);
    a = full(e.a, a, batch);
    Vec b = context_.raises[e.b] ? undecided(expr, a, batch) : full(e.b, evaluate(e.b, batch), batch);
    Slot &to = slot(expr, batch);
    uint8_t *out = static_cast<uint8_t *>(buffer(to.values, 1));
    uint8_t *nulls = nullptr;
    if (a.nulls != nullptr || b.nulls != nullptr)
        nulls = static_cast<uint8_t *>(buffer(to.nulls, 1));
    k_.logic(e.op, batch.n, a, b, out, nulls);
    return {out, nulls, false};
}

// The right side of AND or OR, evaluated for the rows that `left` does not decide; the others get any value.
Vec Evaluator::undecided(Index expr, Vec left, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    const bool decisive = e.op == Op::Or;
    uint32_t *open = level(batch.level).left.get(), nopen = 0;
    const uint8_t *truth = left.as<uint8_t>();
    for (uint32_t i = 0; i < batch.n; ++i) {
        open[nopen] = i;
        nopen += (truth[i] != 0) != decisive || (left.nulls != nullptr && left.nulls[i]);
    }
    if (nopen == batch.n)
        return full(e.b, evaluate(e.b, batch), batch);
    Slot &to = slot(expr, batch);
    uint8_t *out = static_cast<uint8_t *>(buffer(to.broadcast, 1)), *nulls = nullptr;
    memset(out, decisive, batch.n);
    if (nopen == 0)
        return {out, nullptr, false};
    Batch rest;
    part(batch, open, nopen, level(batch.level + 1).storage, rest);
    const Vec v = evaluate(e.b, rest);
    scatter(1, v.values, v.constant, open, nopen, out);
    if (v.nulls != nullptr) {
        nulls = static_cast<uint8_t *>(buffer(to.broadcast_nulls, 1));
        memset(nulls, 0, batch.n);
        scatter(1, v.nulls, v.constant, open, nopen, nulls);
    }
    return {out, nulls, false};
}

Vec Evaluator::truth(Index expr, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    Vec a = evaluate(e.a, batch);
    if (a.constant) {
        bool null = a.null_constant();
        if (e.op == Op::IsNull || e.op == Op::IsNotNull)
            return bool_vec(null == (e.op == Op::IsNull));
        if (e.op == Op::IsTrue)
            return bool_vec(!null && *a.as<uint8_t>());
        return null ? null_vec() : bool_vec(!*a.as<uint8_t>());
    }
    if (a.nulls == nullptr && e.op == Op::IsTrue)
        return a;
    if (a.nulls == nullptr && e.op != Op::Not)
        return bool_vec(e.op == Op::IsNotNull);
    if (e.op == Op::IsNull)
        return {a.nulls, nullptr, false};
    uint8_t *out = static_cast<uint8_t *>(buffer(slot(expr, batch).values, 1));
    if (e.op == Op::IsTrue)
        k_.and_not(batch.n, a.as<uint8_t>(), a.nulls, out);
    else
        k_.invert(batch.n, e.op == Op::IsNotNull ? a.nulls : a.as<uint8_t>(), out);
    return {out, e.op == Op::Not ? a.nulls : nullptr, false};
}

Vec Evaluator::lookup(Index expr, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    const LookupTable &table = lookup_table(context_, e.b);
    Vec a = full(e.a, evaluate(e.a, batch), batch);
    Slot &to = slot(expr, batch);
    size_t width = type_width(e.type);
    const uint32_t *codes = a.as<uint32_t>();
    uint32_t *index = static_cast<uint32_t *>(buffer(to.broadcast, 4 > width ? 4 : width));
    const uint32_t entries = static_cast<uint32_t>(table.entries);
    uint32_t beyond = 0;
    for (uint32_t i = 0; i < batch.n; ++i) {
        bool null = a.nulls != nullptr && a.nulls[i];
        beyond |= (codes[i] >= entries) & !null;
        index[i] = null || codes[i] >= entries ? entries : codes[i];
    }
    if (beyond)
        throw DeviceError("code beyond its lookup table");
    void *out = buffer(to.values, width);
    k_.gather(width, batch.n, table.values.data(), index, out);
    if (!table.any_null)
        return {out, nullptr, false};
    void *nulls = buffer(to.nulls, 1);
    k_.gather(1, batch.n, table.nulls.data(), index, nulls);
    return {out, static_cast<uint8_t *>(nulls), false};
}

Vec Evaluator::search(Index expr, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    const LookupTable &table = lookup_table(context_, e.b);
    Vec a = full(e.a, evaluate(e.a, batch), batch);
    uint32_t *codes = static_cast<uint32_t *>(buffer(slot(expr, batch).values, sizeof(uint32_t)));
    const int64_t *const entries = reinterpret_cast<const int64_t *>(table.values.data()), *const v = a.as<int64_t>();
    const StepNumbers *numbers = context_.searches[expr]->for_rows(batch.n, StepNumbers::cost(table.entries), [&] {
        return std::make_unique<const StepNumbers>(numbers_of(table));
    });
    if (numbers != nullptr) {
        numbers->find(Type::I64, v, batch.n, codes);
        for (uint32_t i = 0; i < batch.n; ++i)
            codes[i] -= codes[i] > 0;
        return {codes, a.nulls, false};
    }
    for (uint32_t i = 0; i < batch.n; ++i)
        codes[i] = static_cast<uint32_t>(std::upper_bound(entries + 1, entries + table.entries, v[i]) - entries - 1);
    return {codes, a.nulls, false};
}

Vec Evaluator::member(Index expr, const NumberSet &set, const Batch &batch) {
    const Index argument = context_.memberships[expr]->argument;
    const Vec a = full(argument, evaluate(argument, batch), batch);
    uint8_t *out = static_cast<uint8_t *>(buffer(slot(expr, batch).values, 1));
    set.find(a.as<int64_t>(), batch.n, out);
    return {out, a.nulls, false};
}

// Constants are gathered for all rows, then the rows of each arm get theirs.
Vec Evaluator::step(Index expr, const StepChoices &choices, const Batch &batch) {
    const Index argument = context_.chains[expr].argument;
    const Type type = context_.program.exprs[argument].type;
    const size_t width = type_width(context_.program.exprs[expr].type), narms = choices.arms.size();
    const Vec a = full(argument, evaluate(argument, batch), batch);
    Slot &to = slot(expr, batch);
    uint32_t *const steps = level(batch.level).left.get(); // arms work deeper
    choices.numbers.find(type, a.values, batch.n, steps);
    const uint32_t null_step = static_cast<uint32_t>(choices.nulls.size() - 1);
    for (uint32_t i = 0; a.nulls != nullptr && i < batch.n; ++i)
        steps[i] = a.nulls[i] ? null_step : steps[i];
    void *out = buffer(to.values, width);
    k_.gather(width, batch.n, choices.values.data(), steps, out);
    bool any_null = choices.any_null;
    if (any_null)
        k_.gather(1, batch.n, choices.nulls.data(), steps, buffer(to.nulls, 1));
    if (narms > 0) {
        // The arms' rows one after the other; those of constants stand behind them.
        uint32_t *const rows = level(batch.level).taken.get();
        std::vector<uint32_t> ends(narms + 2);
        for (uint32_t i = 0; i < batch.n; ++i)
            ++ends[choices.arm_of[steps[i]] + 1];
        for (size_t arm = 1; arm < ends.size(); ++arm)
            ends[arm] += ends[arm - 1];
        std::vector<uint32_t> places(ends.begin(), ends.end() - 1);
        for (uint32_t i = 0; i < batch.n; ++i)
            rows[places[choices.arm_of[steps[i]]]++] = i;
        for (size_t arm = 0; arm < narms; ++arm) {
            const uint32_t first = ends[arm], n = ends[arm + 1] - first;
            if (n == batch.n)
                return evaluate(choices.arms[arm], batch);
            if (n == 0)
                continue;
            Batch chosen;
            part(batch, rows + first, n, level(batch.level + 1).storage, chosen);
            put(evaluate(choices.arms[arm], chosen), rows + first, n, to, width, any_null, batch);
        }
    }
    return {out, any_null ? to.nulls.get() : nullptr, false};
}

// Puts values of some rows of a batch in their places.
void Evaluator::put(Vec v, const uint32_t *positions, uint32_t n, Slot &to, size_t width, bool &any_null,
                    const Batch &batch) {
    if (v.nulls != nullptr) {
        if (!any_null)
            memset(buffer(to.nulls, 1), 0, batch.n);
        any_null = true;
        scatter(1, v.nulls, v.constant, positions, n, to.nulls.get());
    } else if (any_null) {
        for (uint32_t i = 0; i < n; ++i)
            to.nulls[positions[i]] = 0;
    }
    scatter(width, v.values, v.constant, positions, n, to.values.get());
}

// CASE with many arms is a chain: each node's last operand is the next one. It is walked here, with the rows that no condition
// has taken so far, one level below the batch however long it is; an arm's rows are one level below that.
Vec Evaluator::conditional(Index expr, const Batch &batch) {
    Slot &to = slot(expr, batch);
    const size_t width = type_width(context_.program.exprs[expr].type);
    bool any_null = false;
    uint32_t *const where =
        level(batch.level).rest.get(); // the places of these rows in the batch, unless they are the batch
    Batch others;
    const Batch *rest = &batch;
    for (Index node = expr;;) {
        const Expr &e = context_.program.exprs[node];
        if (e.op != Op::Case || (rest != &batch && knower(node, &batch) != nullptr)) {
            put(evaluate(node, *rest), where, rest->n, to, width, any_null, batch);
            break;
        }
        const Vec condition = evaluate(e.a, *rest);
        // The arms work deeper; a sibling at this level runs before or after, not within.
        uint32_t *const taken = level(rest->level).taken.get(), *const left = level(rest->level).left.get();
        uint32_t ntaken = 0, nleft = 0;
        if (condition.constant) {
            const bool take = !condition.null_constant() && *condition.as<uint8_t>() != 0;
            (take ? ntaken : nleft) = rest->n;
        } else {
            const uint8_t *truth = condition.as<uint8_t>();
            for (uint32_t i = 0; i < rest->n; ++i) {
                const bool take = truth[i] && !(condition.nulls != nullptr && condition.nulls[i]);
                taken[ntaken] = left[nleft] = i;
                ntaken += take;
                nleft += !take;
            }
        }
        if (ntaken == 0 || nleft == 0) {
            const Index next = context_.canonical[nleft == 0 ? e.b : e.c];
            if (rest == &batch)
                return evaluate(next, batch);
            node = next;
            continue;
        }
        buffer(to.values, width);
        Batch arm;
        part(*rest, taken, ntaken, level(rest->level + 1).storage, arm);
        const Vec v = evaluate(e.b, arm);
        for (uint32_t i = 0; rest != &batch && i < ntaken; ++i)
            taken[i] = where[taken[i]];
        put(v, taken, ntaken, to, width, any_null, batch);
        for (uint32_t i = 0; i < nleft; ++i) // left[i] is never below i
            where[i] = rest == &batch ? left[i] : where[left[i]];
        part(batch, where, nleft, level(batch.level + 1).rest_storage, others);
        rest = &others;
        node = context_.canonical[e.c];
    }
    return {to.values.get(), any_null ? to.nulls.get() : nullptr, false};
}

Vec Evaluator::coalesce(Index expr, const Batch &batch) {
    const Expr &e = context_.program.exprs[expr];
    Vec a = evaluate(e.a, batch);
    if (a.constant)
        return a.null_constant() ? evaluate(e.b, batch) : a;
    if (a.nulls == nullptr)
        return a;
    uint32_t *left = level(batch.level).left.get();
    uint32_t nleft = k_.select(batch.n, a.nulls, nullptr, left);
    if (nleft == 0)
        return {a.values, nullptr, false};
    if (nleft == batch.n)
        return evaluate(e.b, batch);
    Slot &to = slot(expr, batch);
    size_t width = type_width(e.type);
    memcpy(buffer(to.values, width), a.values, batch.n * width);
    bool any_null = false;
    Batch rest;
    part(batch, left, nleft, level(batch.level + 1).storage, rest);
    put(evaluate(e.b, rest), left, nleft, to, width, any_null, batch);
    return {to.values.get(), any_null ? to.nulls.get() : nullptr, false};
}

} // namespace gpuscan::host
