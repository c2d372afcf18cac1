// Groups and their aggregate states, as one thread builds them up (see aggregator.hpp).
#include "host/aggregator.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/semantics.cuh"
#include "host/distinct_values.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

constexpr uint64_t always_dense_groups = 4096;
constexpr uint64_t dense_groups = 16384; // beyond that, making states for a whole domain costs a small query too much
constexpr uint64_t indexed_at_once = uint64_t(1) << 20;
constexpr size_t many_groups = size_t(1) << 18; // whose states are some tens of megabytes
// A table of all numbers is worth its zeros when one group in so many exists.
constexpr uint32_t numbers_per_group = 64;
constexpr uint64_t max_index_bytes = uint64_t(256) << 20; // of all threads' tables, and not more than
constexpr uint64_t index_memory_part = 8;                 // ... of the work memory
constexpr uint64_t hash_half = 0xffffffff00000000u;
const uint32_t zero_ids[batch_rows] = {};
constexpr uint64_t rows_between_carries = uint64_t(1) << 30;
constexpr size_t values_between_checks = size_t(1) << 20; // for cancel, while arrays are filled in order

} // namespace

ValueRanges ranges_of(const Context &context, const std::vector<ChunkView> &chunks) {
    const auto column = [&](const Expr &e) {
        const Program &p = context.program;
        int128 min = INT64_MAX, max = INT64_MIN;
        if (e.a > 0) {
            const PayloadColumn &column = context.tables[p.joins[p.main().joins.first + e.a - 1].build]->payload(e.b);
            return column.has_range ? ValueRange::of(column.min, column.max) : ValueRange();
        }
        for (const ChunkView &chunk : chunks) {
            if (chunk.nrows == 0)
                continue;
            const ColumnView &view = chunk.columns[e.b];
            if (!view.has_range)
                return ValueRange();
            min = std::min<int128>(min, view.min);
            max = std::max<int128>(max, view.max);
        }
        return ValueRange::of(min, max);
    };
    const auto lookup = [&](const Expr &e, const ValueRange &) {
        const LookupRef &table = context.lookups[e.b];
        return table && table->has_range ? ValueRange::of(table->min, table->max) : ValueRange();
    };
    return ValueRanges(context.program, {column, lookup});
}

namespace {

// How many groups of a domain there have to be for a table of all its numbers. (None where there are rows enough to be worth its zeros.)
uint32_t index_from(const WorkContext &work, uint64_t domain, uint64_t rows) {
    const uint64_t bytes = std::min<uint64_t>(max_index_bytes, work.memory->limit() / index_memory_part);
    if (domain * sizeof(uint32_t) * work.pool.workers() > bytes)
        return UINT32_MAX;
    return domain <= std::min(indexed_at_once, rows / 2) ? 0 : static_cast<uint32_t>(domain / numbers_per_group);
}

// A bijection of which all bits depend on all bits: the end of MurmurHash3 (Appleby).
uint64_t hash_number(uint32_t x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return static_cast<uint64_t>(x ^ x >> 16) << 32;
}

} // namespace

Grouping plan_grouping(const WorkContext &work, const Context &context, const std::vector<ChunkView> &chunks,
                       Index nkeys) {
    const Program &p = context.program;
    Grouping grouping;
    uint64_t rows = 0;
    for (const ChunkView &chunk : chunks)
        rows += chunk.nrows;
    for (Index k = 0; k < nkeys; ++k) {
        Index expr = p.lists[p.main().keys.first + k];
        grouping.keys.push_back({expr, p.exprs[expr].type});
    }
    if (grouping.keys.empty())
        return grouping;
    grouping.form = Grouping::Form::Hash;
    uint64_t domain = 1;
    const uint64_t limit = UINT32_MAX;
    ValueRanges ranges = ranges_of(context, chunks);
    for (size_t k = grouping.keys.size(); k-- > 0;) {
        Grouping::Key &key = grouping.keys[k];
        const ValueRange &range = ranges.of(key.expr);
        if (!range.known || range.min < INT64_MIN || range.max > INT64_MAX || range.max - range.min >= limit)
            return grouping;
        key.min = static_cast<int64_t>(range.min);
        key.max = range.value ? static_cast<int64_t>(range.max) : key.min - 1;
        key.stride = static_cast<uint32_t>(domain);
        domain *= static_cast<uint64_t>(key.max - key.min) + 2; // values, and NULL
        if (domain > limit)
            return grouping;
    }
    grouping.form = Grouping::Form::Dense;
    grouping.domain = static_cast<uint32_t>(domain);
    grouping.sparse = domain > std::max(always_dense_groups, std::min(dense_groups, rows / 2));
    if (grouping.sparse)
        grouping.index_from = index_from(work, domain, rows);
    return grouping;
}

Aggregator::Aggregator(const Context &context, const Grouping &grouping, const WorkContext &work,
                       DistinctValues *distincts, unsigned worker)
    : context_(context), grouping_(grouping), work_(work), distincts_(distincts), worker_(worker), rows_(work.memory),
      number_of_(work.memory), group_of_(work.memory), index_from_(grouping.index_from), group_words_(work.memory),
      slots_(work.memory) {
    const Program &p = context.program;
    for (Index a = 0; a < p.main().aggregates.count; ++a) {
        const Aggregate &aggregate = p.aggregates[p.main().aggregates.first + a];
        Type type = aggregate.arg == none ? Type::I64 : p.exprs[aggregate.arg].type;
        accumulators_.emplace_back(aggregate.kind, aggregate.arg, type, work.memory);
    }
    for (const Grouping::Key &key : grouping.keys) {
        key_word_.push_back(words_);
        words_ += words_of(key.type);
    }
    ++words_;
    if (grouping.sparse && index_from_ == 0)
        index_numbers();
    else if (grouping.in_order_met())
        grow();
    else
        resize(grouping.domain);
}

template <class T> void Aggregator::extend(WorkArray<T> &array, size_t size, T value) {
    array.reserve(size);
    while (array.size() < size) {
        work_.check_cancel();
        array.resize(std::min(size, array.size() + values_between_checks), value);
    }
}

// For how many groups there is to be room when that for those that are known has run out. To grow copies the states, so few grow
// fast; many would take memory that they may not need.
size_t Aggregator::room_for_more() const {
    if (!grouping_.in_order_met())
        return grouping_.domain;
    const size_t room = capacity_ < many_groups ? 4 * capacity_ : capacity_ + capacity_ / 2;
    return grouping_.sparse ? std::min<size_t>(room, grouping_.domain) : room;
}

void Aggregator::resize(uint32_t groups) {
    groups_ = groups;
    if (groups <= capacity_)
        return;
    capacity_ = std::max<size_t>(groups, room_for_more());
    extend(rows_, capacity_, int64_t(0));
    for (Accumulator &a : accumulators_)
        resize(a);
}

// New states hold the value that changes no other.
void Aggregator::resize(Accumulator &a) {
    if (!a.nulls.empty())
        extend(a.nulls, capacity_, int64_t(0));
    bool min = a.kind == AggregateKind::Min;
    switch (a.kind) {
    case AggregateKind::CountRows:
    case AggregateKind::Count:
        return;
    case AggregateKind::Sum:
        if (a.type == Type::F64)
            extend(a.real, capacity_, -0.0); // what changes no sum: -0.0 alone stays -0.0, as in PostgreSQL
        else
            extend(a.wide, capacity_, int128(0));
        if (a.type == Type::I16 || a.type == Type::I32)
            extend(a.narrow, capacity_, int64_t(0));
        return;
    case AggregateKind::LongSum:
        extend(a.real, capacity_, 0.0);
        extend(a.rest, capacity_, 0.0);
        return;
    case AggregateKind::BitAnd:
    case AggregateKind::BitOr:
    case AggregateKind::BitXor:
        extend<int64_t>(a.narrow, capacity_, a.kind == AggregateKind::BitAnd ? -1 : 0);
        return;
    default:
        if (is_float(a.type))
            extend<double>(a.real, capacity_, min ? std::numeric_limits<double>::quiet_NaN() : -INFINITY);
        else if (a.type == Type::I128)
            extend<int128>(a.wide, capacity_, min ? sem::Limits<int128>::max : sem::Limits<int128>::min);
        else
            extend<int64_t>(a.narrow, capacity_, min ? INT64_MAX : INT64_MIN);
    }
}

void Aggregator::carry() {
    since_carry_ = 0;
    for (Accumulator &a : accumulators_) {
        if (a.kind != AggregateKind::Sum || a.narrow.empty())
            continue;
        for (size_t g = 0; g < a.narrow.size(); ++g) {
            if (g % values_between_checks == 0)
                work_.check_cancel();
            a.wide[g] += a.narrow[g];
            a.narrow[g] = 0;
        }
    }
}

// ---- group numbers ----

const uint32_t *Aggregator::number_dense(const Batch &batch, Evaluator &evaluator) {
    memset(ids_.data(), 0, batch.n * sizeof(uint32_t));
    for (const Grouping::Key &key : grouping_.keys) {
        Vec v = evaluator.evaluate_full(key.expr, batch);
        uint32_t null_index = static_cast<uint32_t>(key.max - key.min + 1);
        if (!k_.group_index(key.type, batch.n, v.values, v.nulls, key.min, key.max, null_index, key.stride,
                            ids_.data()))
            throw DeviceError("group key outside of the bounds of its column");
    }
    if (distincts_ != nullptr)
        distincts_->add(worker_, ids_.data(), batch, evaluator);
    if (grouping_.sparse && group_of_.empty())
        number_few(batch.n);
    else if (grouping_.sparse)
        number_many(batch.n);
    return ids_.data();
}

// From numbers to groups, by the hash table.
void Aggregator::number_few(uint32_t n) {
    columns_.resize(batch_rows + batch_slack);
    uint64_t *hashes = columns_.data();
    for (uint32_t i = 0; i < n; ++i) {
        hashes[i] = hash_number(ids_[i]);
        __builtin_prefetch(&slots_[slot_of(hashes[i])]);
    }
    for (uint32_t i = 0; i < n; ++i) {
        const size_t mask = slots_.size() - 1;
        size_t at = slot_of(hashes[i]);
        while (slots_[at] != 0 && (slots_[at] ^ hashes[i]) & hash_half)
            at = (at + 1) & mask;
        if (slots_[at] != 0) {
            ids_[i] = static_cast<uint32_t>(slots_[at]) - 1;
            continue;
        }
        const uint32_t group = groups_;
        slots_[at] = hashes[i] | (group + 1);
        number_of_.push_back(ids_[i]);
        add_group();
        ids_[i] = group;
    }
    if (groups_ >= index_from_)
        index_numbers();
}

// ... by the table of all numbers.
void Aggregator::number_many(uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
        uint32_t &group = group_of_[ids_[i]];
        if (group == 0) {
            number_of_.push_back(ids_[i]);
            resize(groups_ + 1);
            group = groups_;
        }
        ids_[i] = group - 1;
    }
}

// The hash table will do where there is no memory for this one.
void Aggregator::index_numbers() {
    if (!work_.if_there_is_room(sizeof(uint32_t) * grouping_.domain,
                                [this] { group_of_.assign_zeros(grouping_.domain); })) {
        index_from_ = UINT32_MAX;
        if (slots_.empty())
            grow();
        return;
    }
    for (uint32_t group = 0; group < groups_; ++group)
        group_of_[number_of_[group]] = group + 1;
    slots_.release();
}

const uint32_t *Aggregator::number_hash(const Batch &batch, Evaluator &evaluator) {
    uint32_t n = batch.n;
    row_words_.resize((batch_rows + batch_slack) * words_);
    columns_.resize(2 * (batch_rows + batch_slack));
    uint64_t *low = columns_.data(), *high = low + batch_rows + batch_slack;
    uint64_t *rows = row_words_.data();
    size_t word = 0, flags = words_ - 1;
    for (uint32_t i = 0; i < n; ++i)
        rows[i * words_ + flags] = 0;
    for (size_t k = 0; k < grouping_.keys.size(); ++k) {
        const Grouping::Key &key = grouping_.keys[k];
        Vec v = evaluator.evaluate_full(key.expr, batch);
        key_words(key.type, n, v.values, low, high);
        bool two = words_of(key.type) == 2;
        for (uint32_t i = 0; i < n; ++i) {
            bool null = v.nulls != nullptr && v.nulls[i];
            rows[i * words_ + word] = null ? 0 : low[i];
            if (two)
                rows[i * words_ + word + 1] = null ? 0 : high[i];
            rows[i * words_ + flags] |= static_cast<uint64_t>(null) << k;
        }
        word += words_of(key.type);
    }
    for (uint32_t i = 0; i < n; ++i) {
        low[i] = hash(rows + i * words_);
        __builtin_prefetch(&slots_[slot_of(low[i])]);
    }
    for (uint32_t i = 0; i < n; ++i)
        ids_[i] = find(rows + i * words_, low[i]);
    return ids_.data();
}

uint64_t Aggregator::hash(uint32_t group) const {
    return grouping_.sparse ? sem::hash64(number_of_[group]) : hash(&group_words_[group * words_]);
}

uint64_t Aggregator::hash(const uint64_t *words) const {
    uint64_t hash = 0;
    for (size_t w = 0; w < words_; ++w)
        hash = sem::hash_combine(hash, words[w]);
    return hash;
}

uint32_t Aggregator::find(const uint64_t *words, uint64_t hash) {
    const size_t mask = slots_.size() - 1;
    size_t at = slot_of(hash);
    for (; slots_[at] != 0; at = (at + 1) & mask) {
        if ((slots_[at] ^ hash) & hash_half)
            continue;
        uint32_t group = static_cast<uint32_t>(slots_[at]) - 1;
        const uint64_t *own = &group_words_[group * words_];
        bool same = true;
        for (size_t w = 0; w < words_; ++w)
            same &= own[w] == words[w];
        if (same)
            return group;
    }
    uint32_t group = groups_;
    slots_[at] = (hash & hash_half) | (group + 1);
    group_words_.append(words, words_);
    add_group();
    return group;
}

// One more, which has its slot.
void Aggregator::add_group() {
    if (groups_ >= UINT32_MAX / 2)
        throw OutOfDeviceMemory("too many groups");
    resize(groups_ + 1);
    if (size_t(groups_) * 2 > slots_.size())
        grow();
}

// Where the search for a hash begins: by the half that slots keep, so that growing needs no look at the groups.
size_t Aggregator::slot_of(uint64_t hash) const { return hash >> 32 & (slots_.size() - 1); }

// A slot's groups go to one of two places of the larger table, each in order: two streams instead of random stores.
void Aggregator::grow() {
    WorkArray<uint64_t> before = std::move(slots_);
    slots_ = WorkArray<uint64_t>(work_.memory);
    extend(slots_, before.empty() ? 1024 : before.size() * 2, uint64_t(0));
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < before.size(); ++i) {
        if (i % values_between_checks == 0)
            work_.check_cancel();
        if (before[i] == 0)
            continue;
        size_t at = slot_of(before[i]);
        while (slots_[at] != 0)
            at = (at + 1) & mask;
        slots_[at] = before[i];
    }
}

// ---- states ----

void Aggregator::consume(const Batch &batch, Evaluator &evaluator) {
    uint32_t n = batch.n;
    since_carry_ += n;
    if (since_carry_ > rows_between_carries)
        carry();
    const uint32_t *ids = nullptr;
    if (grouping_.form == Grouping::Form::Dense)
        ids = number_dense(batch, evaluator);
    else if (grouping_.form == Grouping::Form::Hash)
        ids = number_hash(batch, evaluator);
    else if (distincts_ != nullptr)
        distincts_->add(worker_, zero_ids, batch, evaluator);
    if (ids == nullptr)
        rows_[0] += n;
    else
        for (uint32_t i = 0; i < n; ++i)
            ++rows_[ids[i]];
    for (Accumulator &a : accumulators_) {
        if (a.kind == AggregateKind::CountRows)
            continue;
        Vec v = evaluator.evaluate_full(a.arg, batch);
        if (v.nulls != nullptr) {
            if (a.nulls.empty())
                extend(a.nulls, capacity_, int64_t(0));
            if (ids == nullptr)
                a.nulls[0] += static_cast<int64_t>(k_.count(n, v.nulls));
            else
                for (uint32_t i = 0; i < n; ++i)
                    a.nulls[ids[i]] += v.nulls[i];
        }
        if (a.kind == AggregateKind::Count)
            continue;
        if (ids == nullptr)
            update_one(a, v, n);
        else
            update_many(a, v, n, ids);
    }
}

namespace {

template <class T, class F> void each(Vec v, uint32_t n, const uint32_t *ids, F f) {
    const T *x = v.as<T>();
    if (v.nulls == nullptr) {
        for (uint32_t i = 0; i < n; ++i)
            f(ids[i], x[i]);
        return;
    }
    for (uint32_t i = 0; i < n; ++i)
        if (!v.nulls[i])
            f(ids[i], x[i]);
}

// Min or Max of T, kept in S.
template <class T, class S> void extreme(bool min, WorkArray<S> &states, Vec v, uint32_t n, const uint32_t *ids) {
    S *s = states.data();
    if (min)
        each<T>(v, n, ids,
                [=](uint32_t g, T x) { s[g] = sem::lt(static_cast<S>(x), s[g]) ? static_cast<S>(x) : s[g]; });
    else
        each<T>(v, n, ids,
                [=](uint32_t g, T x) { s[g] = sem::lt(s[g], static_cast<S>(x)) ? static_cast<S>(x) : s[g]; });
}

template <class T> void bits(AggregateKind kind, int64_t *s, Vec v, uint32_t n, const uint32_t *ids) {
    if (kind == AggregateKind::BitAnd)
        each<T>(v, n, ids, [=](uint32_t g, T x) { s[g] &= x; });
    else if (kind == AggregateKind::BitOr)
        each<T>(v, n, ids, [=](uint32_t g, T x) { s[g] |= x; });
    else
        each<T>(v, n, ids, [=](uint32_t g, T x) { s[g] ^= x; });
}

} // namespace

void Aggregator::update_one(Accumulator &a, Vec v, uint32_t n) {
    if (a.kind != AggregateKind::Sum || a.type == Type::I128) {
        update_many(a, v, n, zero_ids);
        return;
    }
    if (a.type != Type::F64) {
        a.wide[0] += k_.sum(a.type, n, v.values, v.nulls);
        return;
    }
    double sum = a.real[0] + k_.sum_double(n, v.as<double>(), v.nulls);
    if (std::isfinite(sum))
        a.real[0] = sum;
    else // infinite input, or overflow? One by one, as PostgreSQL would
        update_many(a, v, n, zero_ids);
}

void Aggregator::update_many(Accumulator &a, Vec v, uint32_t n, const uint32_t *ids) {
    if (a.kind == AggregateKind::Sum) {
        int error = 0;
        int64_t *narrow = a.narrow.data();
        int128 *wide = a.wide.data();
        double *real = a.real.data();
        switch (a.type) {
        case Type::I16:
            each<int16_t>(v, n, ids, [=](uint32_t g, int16_t x) { narrow[g] += x; });
            break;
        case Type::I32:
            each<int32_t>(v, n, ids, [=](uint32_t g, int32_t x) { narrow[g] += x; });
            break;
        case Type::I64:
            each<int64_t>(v, n, ids, [=](uint32_t g, int64_t x) { wide[g] += x; });
            break;
        case Type::I128:
            each<int128>(v, n, ids, [=, &error](uint32_t g, int128 x) { wide[g] = sem::add(wide[g], x, error); });
            break;
        default:
            each<double>(v, n, ids, [=, &error](uint32_t g, double x) { real[g] = sem::add(real[g], x, error); });
        }
        if (error)
            raise_row_error();
        return;
    }
    if (a.kind == AggregateKind::LongSum) {
        int error = 0;
        double *real = a.real.data(), *rest = a.rest.data();
        each<double>(v, n, ids, [=, &error](uint32_t g, double x) {
            const double sum = sem::add(real[g], x, error);
            rest[g] += sem::sum_error(real[g], x, sum);
            real[g] = sum;
        });
        if (error)
            raise_row_error();
        return;
    }
    if (is_bitwise(a.kind)) {
        if (a.type == Type::I16)
            bits<int16_t>(a.kind, a.narrow.data(), v, n, ids);
        else if (a.type == Type::I32)
            bits<int32_t>(a.kind, a.narrow.data(), v, n, ids);
        else
            bits<int64_t>(a.kind, a.narrow.data(), v, n, ids);
        return;
    }
    bool min = a.kind == AggregateKind::Min;
    switch (a.type) {
    case Type::Bool:
        return extreme<uint8_t>(min, a.narrow, v, n, ids);
    case Type::I16:
        return extreme<int16_t>(min, a.narrow, v, n, ids);
    case Type::I32:
        return extreme<int32_t>(min, a.narrow, v, n, ids);
    case Type::I64:
        return extreme<int64_t>(min, a.narrow, v, n, ids);
    case Type::I128:
        return extreme<int128>(min, a.wide, v, n, ids);
    case Type::F32:
        return extreme<float>(min, a.real, v, n, ids);
    case Type::F64:
        return extreme<double>(min, a.real, v, n, ids);
    case Type::Code:
        return extreme<uint32_t>(min, a.narrow, v, n, ids);
    }
}

AggregateState Aggregator::state(const Accumulator &a, uint32_t g) const {
    AggregateState s;
    s.count = rows_[g] - (a.nulls.empty() ? 0 : a.nulls[g]);
    if (a.kind == AggregateKind::CountRows || a.kind == AggregateKind::Count || s.count == 0)
        return s;
    if (is_float(a.type)) {
        if (a.type == Type::F64) {
            memcpy(&s.low, &a.real[g], sizeof(double));
            if (a.kind == AggregateKind::LongSum)
                memcpy(&s.high, &a.rest[g], sizeof(double));
        } else {
            float v = static_cast<float>(a.real[g]);
            memcpy(&s.low, &v, sizeof(v));
        }
        return s;
    }
    int128 v = a.wide.empty() ? 0 : a.wide[g];
    v += a.narrow.empty() ? 0 : a.narrow[g];
    s.low = static_cast<uint64_t>(v);
    s.high = static_cast<int64_t>(v >> 64);
    return s;
}

void Aggregator::end() {
    slots_.release();
    group_of_.release();
}

void Aggregator::prefetch(uint32_t group) const {
    __builtin_prefetch(&rows_[group]);
    if (grouping_.form == Grouping::Form::Hash)
        __builtin_prefetch(&group_words_[group * words_]);
    for (const Accumulator &a : accumulators_) {
        if (!a.narrow.empty())
            __builtin_prefetch(&a.narrow[group]);
        if (!a.wide.empty())
            __builtin_prefetch(&a.wide[group]);
        if (!a.real.empty())
            __builtin_prefetch(&a.real[group]);
        if (!a.rest.empty())
            __builtin_prefetch(&a.rest[group]);
    }
}

void Aggregator::states(uint32_t group, AggregateState *out) const {
    for (const Accumulator &a : accumulators_)
        *out++ = state(a, group);
}

void Aggregator::key(uint32_t group, size_t k, Value &value, uint8_t &null) const {
    const Grouping::Key &key = grouping_.keys[k];
    value = Value();
    if (grouping_.form == Grouping::Form::Dense) {
        const uint32_t span = static_cast<uint32_t>(key.max - key.min + 2);
        const uint32_t index = (grouping_.sparse ? number_of_[group] : group) / key.stride % span;
        null = index == span - 1;
        const int64_t v = key.min + index;
        if (!null)
            value = {static_cast<uint64_t>(v), v < 0 ? -1 : 0};
        return;
    }
    const uint64_t *words = &group_words_[group * words_];
    null = words[words_ - 1] >> k & 1;
    if (null)
        return;
    value.low = words[key_word_[k]];
    if (words_of(key.type) == 2)
        value.high = static_cast<int64_t>(words[key_word_[k] + 1]);
    else if (!is_float(key.type))
        value.high = static_cast<int64_t>(value.low) < 0 ? -1 : 0;
}

} // namespace gpuscan::host
