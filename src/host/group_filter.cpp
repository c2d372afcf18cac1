// Dropping the groups that nobody wants; see group_filter.hpp.
#include "host/group_filter.hpp"

#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "device/semantics.cuh"
#include "engine/util/in_parallel.hpp"
#include "host/group_batches.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

constexpr size_t min_candidates = 16 * 1024; // a thread has so many before it throws away the worse half
constexpr size_t max_kept = size_t(1) << 20; // groups of several tables, before they are filtered together

double real(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Of one key of one candidate; smaller is better.
struct Rank {
    uint64_t null; // before what has the other number
    uint64_t high, low;
    bool operator<(const Rank &o) const {
        return null != o.null ? null < o.null : high != o.high ? high < o.high : low < o.low;
    }
    bool operator==(const Rank &o) const { return null == o.null && high == o.high && low == o.low; }
};

int compare(const Rank *a, const Rank *b, size_t keys) {
    for (size_t k = 0; k < keys; ++k)
        if (!(a[k] == b[k]))
            return a[k] < b[k] ? -1 : 1;
    return 0;
}

// The best that a thread knows of what must be kept, for all: a slice of none but worse groups keeps none of them.
class Worst {
  public:
    // `worst`: so many groups as are wanted are not worse. Empty: not known.
    void tell(const std::vector<Rank> &worst) {
        const std::lock_guard<std::mutex> guard(lock_);
        if (!worst_.empty() && compare(worst.data(), worst_.data(), worst.size()) >= 0)
            return;
        worst_ = worst;
        version_.fetch_add(1, std::memory_order_release);
    }
    void ask(std::vector<Rank> &worst, uint64_t &seen) {
        if (version_.load(std::memory_order_acquire) == seen)
            return;
        const std::lock_guard<std::mutex> guard(lock_);
        seen = version_.load(std::memory_order_relaxed);
        if (worst.empty() || compare(worst_.data(), worst.data(), worst.size()) < 0)
            worst = worst_;
    }

  private:
    std::mutex lock_;
    std::atomic<uint64_t> version_{0};
    std::vector<Rank> worst_;
};

} // namespace

// What all threads read.
struct GroupFilter::Plan : GroupEvaluation {      // with the conditions
    std::vector<size_t> narrow, narrower, floats; // aggregates whose sums are looked at: of 8 bytes, of 4, of floats
    std::vector<OrderKey> order;
    uint64_t top = UINT64_MAX;
    bool ties = false;

    Plan(const Program &program, const WorkMemoryRef &memory);
};

GroupFilter::Plan::Plan(const Program &program, const WorkMemoryRef &memory)
    : GroupEvaluation(program, program.main().having, memory) {
    const Pipeline &main = program.main();
    for (Index a = 0; a < main.aggregates.count; ++a) {
        const Aggregate &aggregate = program.aggregates[main.aggregates.first + a];
        if (aggregate.narrow)
            (aggregate.narrow == 4 ? narrower : narrow).push_back(a);
        if (aggregate.kind == AggregateKind::Sum && program.exprs[aggregate.arg].type == Type::F64)
            floats.push_back(a);
    }
    for (Index d = 0; d < main.distincts.count; ++d)
        if (program.distincts[main.distincts.first + d].narrow)
            narrow.push_back(main.aggregates.count + d);

    top = program.wanted();
    ties = main.ties != 0;
    for (Index o = 0; o < main.order.count && top != UINT64_MAX; ++o)
        order.push_back(program.orders[main.order.first + o]);
}

// What one thread does with its slice.
class GroupFilter::SliceFilter {
  public:
    SliceFilter(const Plan &plan, Worst &shared, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel)
        : plan_(plan), shared_(shared), kept_(memory),
          batches_(plan, cancel, [this](const Batch &batch, Evaluator &e) { take(batch, e); }) {}

    // Groups [first, last) of a table.
    void run(const GroupTable &groups, size_t first, size_t last) {
        for (size_t at = first; at < last; at += batch_rows) {
            const size_t n = std::min<size_t>(batch_rows, last - at);
            check(groups, at, n);
            shared_.ask(worst_, worst_seen_);
            base_ = at;
            batches_.run(groups, at, n);
        }
        prune();
    }

    // The candidates of another thread's slice.
    void add(SliceFilter &other) {
        kept_.append(other.kept_.data(), other.kept_.size());
        ranks_.insert(ranks_.end(), other.ranks_.begin(), other.ranks_.end());
        other.kept_.release();
    }

    // Throws away the candidates that cannot be among the first ones.
    void prune();
    // The numbers of groups that are left.
    WorkArray<uint32_t> &kept() { return kept_; }

  private:
    void check(const GroupTable &groups, size_t at, size_t n) const;
    void take(const Batch &batch, Evaluator &evaluator);
    void rank(const OrderKey &key, Type type, const Vec &vec, size_t n, Rank *to) const;
    int compare(const Rank *a, const Rank *b) const { return host::compare(a, b, plan_.order.size()); }

    const Plan &plan_;
    Worst &shared_;
    WorkArray<uint32_t> kept_;
    std::vector<Rank> ranks_; // of kept_, as many as there are keys; none where all groups that pass are wanted
    std::vector<Rank> worst_; // of what must be kept: what is worse need not be looked at; empty: not known
    std::vector<Rank> scratch_;
    uint64_t worst_seen_ = 0;
    size_t prune_at_ = 0;
    GroupBatches batches_;
    size_t base_ = 0;
};

void GroupFilter::SliceFilter::check(const GroupTable &groups, size_t at, size_t n) const {
    for (size_t a : plan_.narrow)
        for (size_t g = at; g < at + n; ++g) {
            const AggregateState &s = groups.states[g * plan_.naggregates + a];
            if (s.count != 0 && s.high != (static_cast<int64_t>(s.low) < 0 ? -1 : 0))
                throw RowError("a sum is out of bigint's range");
        }
    for (size_t a : plan_.narrower)
        for (size_t g = at; g < at + n; ++g) {
            const AggregateState &s = groups.states[g * plan_.naggregates + a];
            const int64_t sum = static_cast<int64_t>(s.low);
            if (s.count != 0 && (sum != static_cast<int32_t>(sum) || s.high != (sum < 0 ? -1 : 0)))
                throw RowError("a sum is out of integer's range");
        }
    for (size_t a : plan_.floats)
        for (size_t g = at; g < at + n; ++g) {
            const AggregateState &s = groups.states[g * plan_.naggregates + a];
            if (s.count != 0 && std::isinf(real(s.low)))
                throw RowError("a sum of floats is infinite");
        }
}

void GroupFilter::SliceFilter::rank(const OrderKey &key, Type type, const Vec &vec, size_t n, Rank *to) const {
    const size_t width = type_width(type), stride = plan_.order.size();
    for (size_t i = 0; i < n; ++i) {
        Rank &r = to[i * stride];
        const size_t at = vec.constant ? 0 : i;
        const uint8_t *const value = static_cast<const uint8_t *>(vec.values) + at * width;
        if (vec.nulls != nullptr && vec.nulls[at]) {
            r = {key.nulls_first ? 0u : 2u, 0, 0};
            continue;
        }
        int128 v = 0;
        if (is_float(type)) {
            float narrow;
            double wide;
            if (type == Type::F32)
                memcpy(&narrow, value, sizeof narrow);
            else
                memcpy(&wide, value, sizeof wide);
            if (type == Type::F32)
                wide = narrow;
            wide = std::isnan(wide) ? NAN : wide + 0.0; // one NaN, which is above all, and one zero
            uint64_t bits;
            memcpy(&bits, &wide, sizeof bits);
            v = static_cast<int64_t>(bits) < 0 ? ~static_cast<int64_t>(bits & INT64_MAX) : static_cast<int64_t>(bits);
        } else if (type == Type::Bool) {
            v = *value;
        } else if (type == Type::I16) {
            int16_t small;
            memcpy(&small, value, sizeof small);
            v = small;
        } else if (type == Type::I32) {
            int32_t small;
            memcpy(&small, value, sizeof small);
            v = small;
        } else if (type == Type::I64) {
            int64_t small;
            memcpy(&small, value, sizeof small);
            v = small;
        } else {
            memcpy(&v, value, sizeof v);
        }
        uint128 code = static_cast<uint128>(v) ^ (static_cast<uint128>(1) << 127);
        if (key.descending)
            code = ~code;
        r = {1, static_cast<uint64_t>(code >> 64), static_cast<uint64_t>(code)};
    }
}

void GroupFilter::SliceFilter::take(const Batch &batch, Evaluator &evaluator) {
    const size_t keys = plan_.order.size();
    auto number = [&](size_t i) {
        return static_cast<uint32_t>(base_ + (batch.identity ? batch.base + i : batch.rows[i]));
    };
    if (keys == 0) {
        const size_t before = kept_.size();
        kept_.resize(before + batch.n);
        for (size_t i = 0; i < batch.n; ++i)
            kept_[before + i] = number(i);
        if (kept_.size() > plan_.top)
            kept_.resize(plan_.top);
        return;
    }
    scratch_.resize(batch.n * keys);
    for (size_t k = 0; k < keys; ++k) {
        const Index expr = plan_.order[k].expr;
        const Type type = plan_.context.program.exprs[expr].type;
        rank(plan_.order[k], type, evaluator.evaluate(expr, batch), batch.n, scratch_.data() + k);
    }
    for (size_t i = 0; i < batch.n; ++i) {
        const Rank *const mine = scratch_.data() + i * keys;
        if (!worst_.empty() && compare(mine, worst_.data()) >= (plan_.ties ? 1 : 0))
            continue;
        kept_.push_back(number(i));
        ranks_.insert(ranks_.end(), mine, mine + keys);
    }
    if (kept_.size() >= std::max({min_candidates, prune_at_, 2 * std::min<size_t>(plan_.top, SIZE_MAX / 4)}))
        prune();
}

void GroupFilter::SliceFilter::prune() {
    const size_t keys = plan_.order.size();
    if (keys == 0) {
        if (kept_.size() > plan_.top)
            kept_.resize(plan_.top);
        return;
    }
    if (kept_.size() <= plan_.top)
        return;
    const size_t top = plan_.top;
    if (top == 0) {
        kept_.resize(0);
        ranks_.clear();
        return;
    }
    std::vector<uint32_t> order(kept_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::nth_element(order.begin(), order.begin() + static_cast<ptrdiff_t>(top - 1), order.end(),
                     [&](uint32_t a, uint32_t b) { return compare(&ranks_[a * keys], &ranks_[b * keys]) < 0; });
    const Rank *const last = &ranks_[order[top - 1] * keys];
    if (worst_.empty() || compare(last, worst_.data()) < 0) { // (another thread may know better ones)
        worst_.assign(last, last + keys);
        shared_.tell(worst_);
    }
    size_t left = top;
    if (plan_.ties)
        left = static_cast<size_t>(
            std::partition(order.begin(), order.end(),
                           [&](uint32_t i) { return compare(&ranks_[i * keys], worst_.data()) <= 0; }) -
            order.begin());
    order.resize(left);
    std::sort(order.begin(), order.end()); // as they stood, so that they can be moved down
    for (size_t i = 0; i < left; ++i) {
        kept_[i] = kept_[order[i]];
        std::copy_n(&ranks_[order[i] * keys], keys, &ranks_[i * keys]);
    }
    kept_.resize(left);
    ranks_.resize(left * keys);
    prune_at_ = 2 * left; // many ties are not looked at again and again
}

GroupFilter::GroupFilter(const Program &program, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel)
    : plan_(std::make_unique<Plan>(program, memory)), memory_(memory), cancel_(cancel), kept_(memory) {}

GroupFilter::~GroupFilter() = default;

GroupTable GroupFilter::filter(GroupTable &&groups) const {
    const size_t n = groups.ngroups, nkeys = plan_->nkeys, naggregates = plan_->naggregates;
    Worst shared;
    std::vector<std::unique_ptr<SliceFilter>> slice_filters(threads_worth(n));
    in_slices(static_cast<unsigned>(slice_filters.size()), n, [&](unsigned thread, uint64_t first, uint64_t last) {
        slice_filters[thread] = std::make_unique<SliceFilter>(*plan_, shared, memory_, cancel_);
        slice_filters[thread]->run(groups, first, last);
    });
    SliceFilter &all = *slice_filters[0];
    for (size_t t = 1; t < slice_filters.size(); ++t)
        all.add(*slice_filters[t]);
    if (slice_filters.size() > 1)
        all.prune();
    size_t to = 0;
    for (uint32_t g : all.kept()) { // in their order, so that none is overwritten before it has been moved
        if (g != to) {
            std::copy_n(groups.keys.data() + g * nkeys, nkeys, groups.keys.data() + to * nkeys);
            std::copy_n(groups.key_nulls.data() + g * nkeys, nkeys, groups.key_nulls.data() + to * nkeys);
            std::copy_n(groups.states.data() + g * naggregates, naggregates, groups.states.data() + to * naggregates);
        }
        ++to;
    }
    groups.ngroups = to;
    groups.keys.resize(to * nkeys);
    groups.key_nulls.resize(to * nkeys);
    groups.states.resize(to * naggregates);
    return std::move(groups);
}

void GroupFilter::add(GroupTable &&groups) {
    seen_ += groups.ngroups;
    GroupTable left = filter(std::move(groups));
    if (kept_.ngroups == 0) {
        kept_ = std::move(left);
        return;
    }
    several_ = true;
    kept_.append(left);
    if (plan_->top < max_kept / 2 && kept_.ngroups > max_kept)
        kept_ = filter(std::move(kept_));
}

GroupTable GroupFilter::finish() {
    if (several_ && plan_->top != UINT64_MAX)
        kept_ = filter(std::move(kept_));
    return std::move(kept_);
}

} // namespace gpuscan::host
