// Percentiles and modes of the groups of a result; see ordered_sets.hpp.
#include "engine/result/ordered_sets.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "device/semantics.cuh"
#include "engine/util/cancel_point.hpp"
#include "engine/util/in_parallel.hpp"

namespace gpuscan {
namespace {

using namespace ir;

constexpr size_t at_once = 512;                   // rows
constexpr uint64_t largest_table = 256 * 1024;    // of numbers of groups by their keys, or so many for each group:
constexpr uint64_t places_per_group = 4;          //
constexpr size_t sorted_values = 64;              // no more are sorted
constexpr size_t sampled_values = 16 * 1024;      // no fewer are searched by a sample of them
constexpr size_t sample_size = 1024;              //
constexpr size_t sample_margin = 96;              // three times the deviation of a place in the sample
constexpr size_t shared_values = size_t(1) << 20; // a group of more is all threads' work
constexpr uint64_t counted_range = 4;             // so many numbers for each value are counted one by one

template <class T> T load(const uint8_t *values, size_t row) {
    T value;
    memcpy(&value, values + row * sizeof value, sizeof value);
    return value;
}

// ---- values as group keys ----

template <class T> Value key_of(T value) {
    const int128 wide = static_cast<int128>(value);
    return {static_cast<uint64_t>(wide), static_cast<int64_t>(wide >> 64)};
}
template <class Bits, class Float> Value key_of_float(Float value) {
    const Float one = sem::canonical(value);
    Bits bits;
    memcpy(&bits, &one, sizeof bits);
    return {bits, 0};
}
Value key_of(float value) { return key_of_float<uint32_t>(value); }
Value key_of(double value) { return key_of_float<uint64_t>(value); }

// ---- values in their order ----

// The unsigned numbers that order as values do: those of 128 bits where the values have them. Of floats -0 is just below 0, and every NaN
// is the largest number.
template <class T> struct Coded {
    using Word = uint64_t;
    static Word encode(T value) { return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ (uint64_t(1) << 63); }
    static AggregateState decode(Word word) {
        const int64_t value = static_cast<int64_t>(word ^ (uint64_t(1) << 63));
        return {1, static_cast<uint64_t>(value), value < 0 ? -1 : 0};
    }
    static constexpr bool has_zeros = false;
};
template <> struct Coded<int128> {
    using Word = uint128;
    static Word encode(int128 value) { return static_cast<uint128>(value) ^ (uint128(1) << 127); }
    static AggregateState decode(Word word) {
        const int128 value = static_cast<int128>(word ^ (uint128(1) << 127));
        return {1, static_cast<uint64_t>(value), static_cast<int64_t>(value >> 64)};
    }
    static constexpr bool has_zeros = false;
};
template <class Float, class Bits> struct CodedFloat {
    using Word = uint64_t;
    static constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
    static constexpr bool has_zeros = true;
    static constexpr Word zero = sign, other_zero = sign - 1;

    static Word encode(Float value) {
        Bits bits;
        memcpy(&bits, &value, sizeof bits);
        return value != value ? ~Bits(0) : bits & sign ? Bits(~bits) : Bits(bits | sign);
    }
    static Float value_of(Word word) {
        const Bits bits = static_cast<Bits>(word);
        const Bits own = bits == Bits(~Bits(0)) ? bits ^ sign : bits & sign ? Bits(bits ^ sign) : Bits(~bits);
        Float value;
        memcpy(&value, &own, sizeof value);
        return value;
    }
    static AggregateState decode(Word word) {
        const Float value = value_of(word);
        Bits bits;
        memcpy(&bits, &value, sizeof bits);
        return {1, bits, 0};
    }
};
template <> struct Coded<float> : CodedFloat<float, uint32_t> {};
template <> struct Coded<double> : CodedFloat<double, uint64_t> {};

double real(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// ---- the groups of rows ----

// Which group of one grouping set has a row's keys? They are the first columns of the rows.
class GroupNumbers {
  public:
    GroupNumbers(const Program &program, const GroupTable &groups, Index set, const WorkMemoryRef &memory,
                 const std::atomic<uint32_t> *cancel)
        : groups_(groups), nkeys_(program.result_keys()), cancel_(cancel), table_(memory), slots_(memory) {
        const Pipeline &main = program.main();
        const Index shown = static_cast<Index>(program.shown_keys());
        for (Index k = 0; k < shown; ++k)
            if (main.sets.count == 0 || (program.sets[main.sets.first + set].keys >> k & 1) != 0)
                keys_.push_back({k, program.exprs[program.lists[main.keys.first + k]].type});
        const auto is_in_set = [&](size_t group) {
            return main.sets.count < 2 || groups.keys[group * nkeys_ + shown].low == set;
        };
        if (!keys_.empty() && !make_table(is_in_set))
            make_slots(is_in_set);
        for (size_t g = 0; keys_.empty() && g < groups.ngroups; ++g)
            if (is_in_set(g))
                only_ = static_cast<uint32_t>(g);
    }

    // Of n <= at_once rows from `first` on.
    void find(const RowBlock &block, size_t first, size_t n, uint32_t *numbers) const {
        if (keys_.empty())
            std::fill(numbers, numbers + n, only_);
        else if (!table_.empty())
            look_up(block, first, n, numbers);
        else
            search(block, first, n, numbers);
        for (size_t i = 0; i < n; ++i)
            if (numbers[i] >= groups_.ngroups)
                throw DeviceError("a row that is in none of the groups");
    }

  private:
    struct Key {
        Index number;
        Type type;
        int64_t least = 0;
        uint64_t values = 0; // from `least` on, and one more place is NULL's
    };

    template <class InSet> bool make_table(const InSet &is_in_set) {
        const uint64_t most = std::max(largest_table, groups_.ngroups * places_per_group);
        uint64_t places = 1;
        for (Key &key : keys_) {
            if (is_float(key.type))
                return false;
            int64_t least = INT64_MAX, last = INT64_MIN;
            for (size_t g = 0; g < groups_.ngroups; ++g) {
                const Value &value = groups_.keys[g * nkeys_ + key.number];
                if (!is_in_set(g) || groups_.key_nulls[g * nkeys_ + key.number])
                    continue;
                const int64_t low = static_cast<int64_t>(value.low);
                if (value.high != (low < 0 ? -1 : 0))
                    return false;
                least = std::min(least, low);
                last = std::max(last, low);
            }
            const uint64_t range = least <= last ? static_cast<uint64_t>(last) - static_cast<uint64_t>(least) : 0;
            if (range >= most)
                return false;
            key.least = least <= last ? least : 0;
            key.values = range + 1;
            places *= key.values + 1;
            if (places > most)
                return false;
        }
        table_.resize(places, none);
        for (size_t g = 0; g < groups_.ngroups; ++g) {
            if (!is_in_set(g))
                continue;
            uint64_t place = 0;
            for (const Key &key : keys_) {
                const size_t at = g * nkeys_ + key.number;
                place = place * (key.values + 1) +
                        (groups_.key_nulls[at] ? key.values : groups_.keys[at].low - static_cast<uint64_t>(key.least));
            }
            table_[place] = static_cast<uint32_t>(g);
        }
        return true;
    }

    void look_up(const RowBlock &block, size_t first, size_t n, uint32_t *numbers) const {
        uint64_t places[at_once] = {};
        for (const Key &key : keys_) {
            const RowBlock::Column &column = block.columns[key.number];
            const uint8_t *const nulls = column.nulls ? column.nulls + first : nullptr;
            with_type(key.type, [&](auto one) {
                using T = decltype(one);
                for (size_t i = 0; i < n; ++i) {
                    const uint64_t index =
                        static_cast<uint64_t>(static_cast<int64_t>(load<T>(column.values, first + i))) -
                        static_cast<uint64_t>(key.least);
                    places[i] =
                        places[i] * (key.values + 1) + (nulls && nulls[i] ? key.values : std::min(index, key.values));
                }
            });
        }
        for (size_t i = 0; i < n; ++i)
            numbers[i] = table_[places[i]];
    }

    template <class InSet> void make_slots(const InSet &is_in_set) {
        size_t size = 64;
        while (size < groups_.ngroups * 2)
            size *= 2;
        slots_.resize(size, 0);
        CancelPoint cancel(cancel_);
        for (size_t g = 0; g < groups_.ngroups; ++g) {
            cancel.worked(64);
            if (!is_in_set(g))
                continue;
            uint64_t hash = 0;
            for (const Key &key : keys_)
                hash = combine(hash, groups_.keys[g * nkeys_ + key.number],
                               groups_.key_nulls[g * nkeys_ + key.number] != 0);
            size_t at = hash & (size - 1);
            while (slots_[at] != 0)
                at = (at + 1) & (size - 1);
            slots_[at] = (hash & hash_half) | (g + 1);
        }
    }

    void search(const RowBlock &block, size_t first, size_t n, uint32_t *numbers) const {
        std::vector<Value> values(keys_.size() * n);
        std::vector<uint8_t> nulls(keys_.size() * n);
        uint64_t hashes[at_once] = {};
        for (size_t k = 0; k < keys_.size(); ++k) {
            const RowBlock::Column &column = block.columns[keys_[k].number];
            with_type(keys_[k].type, [&](auto one) {
                using T = decltype(one);
                for (size_t i = 0; i < n; ++i) {
                    nulls[k * n + i] = column.nulls && column.nulls[first + i];
                    values[k * n + i] = key_of(load<T>(column.values, first + i));
                    hashes[i] = combine(hashes[i], values[k * n + i], nulls[k * n + i] != 0);
                }
            });
        }
        const size_t mask = slots_.size() - 1;
        for (size_t i = 0; i < n; ++i)
            __builtin_prefetch(&slots_[hashes[i] & mask]);
        for (size_t i = 0; i < n; ++i) {
            numbers[i] = none;
            for (size_t at = hashes[i] & mask; slots_[at] != 0; at = (at + 1) & mask) {
                const size_t group = static_cast<uint32_t>(slots_[at]) - 1;
                if (((slots_[at] ^ hashes[i]) & hash_half) == 0 &&
                    has_keys(group, values.data() + i, nulls.data() + i, n)) {
                    numbers[i] = static_cast<uint32_t>(group);
                    break;
                }
            }
        }
    }

    bool has_keys(size_t group, const Value *values, const uint8_t *nulls, size_t step) const {
        for (size_t k = 0; k < keys_.size(); ++k) {
            const size_t at = group * nkeys_ + keys_[k].number;
            const Value &key = groups_.keys[at];
            if ((groups_.key_nulls[at] != 0) != (nulls[k * step] != 0) ||
                (!nulls[k * step] && (key.low != values[k * step].low || key.high != values[k * step].high)))
                return false;
        }
        return true;
    }

    static uint64_t combine(uint64_t hash, const Value &value, bool null) {
        return sem::hash_combine(sem::hash_combine(hash, null ? 1 : value.low),
                                 null ? 0 : static_cast<uint64_t>(value.high));
    }

    static constexpr uint64_t hash_half = 0xffffffff00000000u;

    const GroupTable &groups_;
    const size_t nkeys_;
    const std::atomic<uint32_t> *const cancel_;
    std::vector<Key> keys_;
    uint32_t only_ = none;      // without keys
    WorkArray<uint32_t> table_; // by the keys' values; none: there is no such group
    WorkArray<uint64_t> slots_; // or upper half of the hash, group + 1; 0 = empty
};

// ---- selecting ----

// Of values whose order nobody knows, those at two neighbouring places, or at one.
template <class Word> struct Places { Word at, next; };

template <class Word> Places<Word> select_few(Word *values, size_t n, size_t place, bool both) {
    std::nth_element(values, values + place, values + n);
    return {values[place], both ? *std::min_element(values + place + 1, values + n) : values[place]};
}

// `threads` look for candidates.
template <class Word>
Places<Word> select(const Word *values, size_t n, size_t place, bool both, unsigned threads, WorkArray<Word> &scratch,
                    const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel) {
    scratch.resize(0);
    if (n >= sampled_values) {
        Word sample[sample_size];
        for (size_t i = 0; i < sample_size; ++i)
            sample[i] = values[n / sample_size * i + sem::hash64(i) % (n / sample_size)];
        std::sort(sample, sample + sample_size);
        const size_t expected = static_cast<size_t>(static_cast<double>(place) / static_cast<double>(n) * sample_size);
        const Word low = expected < sample_margin ? Word(0) : sample[expected - sample_margin];
        const Word high = expected + sample_margin >= sample_size ? ~Word(0) : sample[expected + sample_margin];
        std::vector<WorkArray<Word>> found;
        std::vector<size_t> below(threads);
        for (unsigned t = 0; t < threads; ++t)
            found.emplace_back(memory);
        in_slices(threads, n, [&](unsigned thread, uint64_t first, uint64_t last) {
            WorkArray<Word> &own = found[thread];
            CancelPoint point(cancel);
            size_t before = 0, count = 0;
            for (size_t begin = first; begin < last; begin += at_once) {
                const size_t end = std::min<size_t>(begin + at_once, last);
                own.resize(count + at_once);
                Word *const to = own.data();
                for (size_t i = begin; i < end; ++i) {
                    const Word value = values[i];
                    before += value < low;
                    to[count] = value;
                    count += value - low <= high - low;
                }
                point.worked(at_once * sizeof(Word));
            }
            own.resize(count);
            below[thread] = before;
        });
        size_t before = 0;
        for (unsigned t = 0; t < threads; ++t)
            before += below[t];
        if (threads == 1)
            scratch = std::move(found[0]);
        for (unsigned t = 0; threads > 1 && t < threads; ++t)
            scratch.append(found[t].data(), found[t].size());
        if (place >= before && place + both < before + scratch.size()) {
            if (low == high)
                return {low, low};
            return select_few(scratch.data(), scratch.size(), place - before, both);
        }
        scratch.resize(0); // a sample that says nothing of the values
    }
    scratch.append(values, n);
    return select_few(scratch.data(), n, place, both);
}

// Of values in their order; `last`: of those that are as many the last one, not the first. All spellings of a value count together.
template <class Word> Word most_frequent(const Word *values, size_t n, bool last, unsigned spelling) {
    Word best = values[0];
    size_t most = 0;
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && values[end] >> spelling == values[i] >> spelling)
            ++end;
        if (end - i > most || (last && end - i == most)) {
            most = end - i;
            best = values[i];
        }
        i = end;
    }
    return best;
}

// ---- the aggregates ----

class OrderedSets {
  public:
    OrderedSets(const Program &program, GroupTable groups, RowTable rows, const WorkMemoryRef &memory,
                const std::atomic<uint32_t> *cancel)
        : program_(program), main_(program.main()), groups_(std::move(groups)), rows_(std::move(rows)), memory_(memory),
          cancel_(cancel), nstates_(program.result_aggregates()), numbers_(memory) {}

    GroupTable run() {
        if (groups_.ngroups > 0)
            check_fractions();
        add_states();
        for (Index set = 0; set < std::max<Index>(main_.sets.count, 1); ++set) {
            number_rows(set);
            for (Index a = 0; a < main_.arguments.count; ++a)
                with_type(program_.exprs[program_.lists[main_.arguments.first + a]].type, [&](auto one) {
                    using T = decltype(one);
                    if constexpr (!std::is_same_v<T, uint32_t>)
                        Argument<T>(*this, a).run();
                });
        }
        return std::move(groups_);
    }

  private:
    template <class T> class Argument;

    // PostgreSQL raises its errors where a group is shown.
    void check_fractions() const {
        for (Index s = 0; s < main_.ordered_sets.count; ++s) {
            const OrderedSet &set = program_.ordered_sets[main_.ordered_sets.first + s];
            if (set.fraction != none && !program_.constants[set.fraction].null) {
                const double fraction = real(program_.constants[set.fraction].low);
                if (!(fraction >= 0 && fraction <= 1))
                    throw DeviceError("a percentile that is not between 0 and 1");
            }
        }
    }

    void add_states() {
        const size_t before = program_.grouped_aggregates();
        WorkArray<AggregateState> states(memory_);
        states.resize(groups_.ngroups * nstates_, AggregateState());
        for (size_t g = 0; g < groups_.ngroups; ++g)
            std::copy_n(groups_.states.data() + g * before, before, states.data() + g * nstates_);
        groups_.states = std::move(states);
    }

    // visit(block, first row, rows, where they are among all rows) for rows [first, last), `at_once` of them.
    template <class Visit> void each_batch(size_t first, size_t last, const Visit &visit) const {
        CancelPoint point(cancel_);
        size_t begin = 0; // of the block
        for (size_t b = 0; b < rows_.blocks.size() && begin < last; begin += rows_.blocks[b++].nrows) {
            const size_t end = std::min(last, begin + rows_.blocks[b].nrows);
            for (size_t i = std::max(first, begin); i < end; i += at_once) {
                visit(rows_.blocks[b], i - begin, std::min(at_once, end - i), i);
                point.worked(at_once * sizeof(uint64_t));
            }
        }
    }

    void number_rows(Index set) {
        const GroupNumbers groups(program_, groups_, set, memory_, cancel_);
        numbers_.resize(rows_.nrows);
        in_slices(threads_worth(rows_.nrows), rows_.nrows, [&](unsigned, uint64_t first, uint64_t last) {
            each_batch(first, last, [&](const RowBlock &block, size_t row, size_t n, size_t at) {
                groups.find(block, row, n, numbers_.data() + at);
            });
        });
    }

    const Program &program_;
    const Pipeline &main_;
    GroupTable groups_;
    const RowTable rows_;
    const WorkMemoryRef &memory_;
    const std::atomic<uint32_t> *const cancel_;
    const size_t nstates_;
    WorkArray<uint32_t> numbers_; // of the rows' groups in the set
};

// One argument's values in the groups of one set.
template <class T> class OrderedSets::Argument {
  public:
    using Code = Coded<T>;
    using Word = typename Code::Word;

    Argument(OrderedSets &all, Index argument)
        : all_(all), program_(all.program_), column_(program_.shown_keys() + argument), starts_(all.memory_),
          values_(all.memory_) {
        for (Index s = 0; s < all.main_.ordered_sets.count; ++s) {
            const OrderedSet &set = program_.ordered_sets[all.main_.ordered_sets.first + s];
            if (set.argument == argument)
                sets_.push_back({set, program_.grouped_aggregates() + s});
        }
    }

    void run() {
        bring_together();
        const size_t ngroups = all_.groups_.ngroups;
        const unsigned threads = threads_worth(values_.size());
        WorkArray<Word> scratch(all_.memory_);
        for (size_t g = 0; threads > 1 && g < ngroups; ++g) // each is all threads'
            if (size_of(g) >= shared_values)
                finish(g, threads, scratch);
        std::atomic<size_t> next{0};
        in_slices(threads, threads, [&](unsigned, uint64_t, uint64_t) {
            WorkArray<Word> own(all_.memory_);
            CancelPoint point(all_.cancel_);
            constexpr size_t taken = 64;
            const size_t step = ngroups > taken * 16 ? taken : 1;
            for (size_t begin; (begin = next.fetch_add(step)) < ngroups;)
                for (size_t g = begin; g < std::min(begin + step, ngroups); ++g)
                    if (size_of(g) > 0 && (threads == 1 || size_of(g) < shared_values)) {
                        finish(g, 1, own);
                        point.worked(size_of(g) * sizeof(Word));
                    }
        });
    }

  private:
    struct Wanted {
        OrderedSet set;
        size_t state; // of a group
    };

    size_t size_of(size_t group) const { return starts_[group + 1] - starts_[group]; }

    // visit(group, value) for the values of rows [first, last) that are not NULL.
    template <class Visit> void each_value(size_t first, size_t last, const Visit &visit) const {
        const uint32_t *const numbers = all_.numbers_.data();
        all_.each_batch(first, last, [&](const RowBlock &block, size_t row, size_t n, size_t at) {
            const RowBlock::Column &column = block.columns[column_];
            if (column.nulls == nullptr) {
                for (size_t i = 0; i < n; ++i)
                    visit(numbers[at + i], load<T>(column.values, row + i));
                return;
            }
            for (size_t i = 0; i < n; ++i)
                if (!column.nulls[row + i])
                    visit(numbers[at + i], load<T>(column.values, row + i));
        });
    }

    // The values, group by group; starts_: where each group's begin, and the end.
    void bring_together() {
        const size_t nrows = all_.rows_.nrows, ngroups = all_.groups_.ngroups;
        const unsigned threads = // (each counts for all groups)
            static_cast<unsigned>(std::max<size_t>(1, std::min<size_t>(threads_worth(nrows), nrows / (ngroups + 1))));
        WorkArray<uint64_t> places(
            all_.memory_); // by thread and group: how many there are, then where the next one goes
        places.resize(threads * ngroups, 0);
        in_slices(threads, nrows, [&](unsigned thread, uint64_t first, uint64_t last) {
            uint64_t *const counts = places.data() + thread * ngroups;
            each_value(first, last, [&](uint32_t group, T) { ++counts[group]; });
        });
        starts_.resize(ngroups + 1);
        uint64_t sum = 0;
        for (size_t g = 0; g < ngroups; ++g) {
            starts_[g] = sum;
            for (unsigned t = 0; t < threads; ++t) {
                const uint64_t count = places[t * ngroups + g];
                places[t * ngroups + g] = sum;
                sum += count;
            }
        }
        starts_[ngroups] = sum;
        values_.resize(sum);
        in_slices(threads, nrows, [&](unsigned thread, uint64_t first, uint64_t last) {
            uint64_t *const next = places.data() + thread * ngroups;
            Word *const to = values_.data();
            each_value(first, last, [&](uint32_t group, T value) { to[next[group]++] = Code::encode(value); });
        });
    }

    // Of floats, 0 and -0 are one value. True: both are there, and are made the same.
    static bool join_zeros(Word *values, size_t n) {
        if constexpr (Code::has_zeros) {
            size_t zeros = 0, others = 0;
            for (size_t i = 0; i < n; ++i) {
                zeros += values[i] == Code::zero;
                others += values[i] == Code::other_zero;
            }
            if (zeros > 0 && others > 0) {
                std::replace(values, values + n, Code::other_zero, Code::zero);
                return true;
            }
        }
        return false;
    }

    void finish(size_t group, unsigned threads, WorkArray<Word> &scratch) {
        Word *const values = values_.data() + starts_[group];
        const size_t n = size_of(group);
        const bool two_zeros = join_zeros(values, n);
        bool sorted = n <= sorted_values;
        if (sorted)
            std::sort(values, values + n);
        for (const Wanted &wanted : sets_) {
            const OrderedSet &set = wanted.set;
            AggregateState state;
            if (set.fraction != none && program_.constants[set.fraction].null)
                continue;
            if (set.kind == OrderedSetKind::Continuous) {
                state = percentile(set, values, n, sorted, threads, scratch);
            } else {
                const Word one = set.kind == OrderedSetKind::Mode
                                     ? mode(set, values, n, sorted, scratch)
                                     : at_fraction(set, values, n, sorted, threads, scratch);
                state = Code::decode(one);
                if (set.spelling > 0 && is_spelled_otherwise(values, n, one, set.spelling, threads))
                    state.count = several_spellings;
            }
            if (two_zeros && is_zero(state))
                throw DeviceError("an ordered-set aggregate of floats is zero, of which there are two");
            all_.groups_.states[group * all_.nstates_ + wanted.state] = state;
        }
    }

    static bool is_zero(const AggregateState &state) {
        if constexpr (Code::has_zeros)
            return (state.low & ~(uint64_t(1) << (sizeof(T) * 8 - 1))) == 0;
        return false;
    }

    double fraction_of(const OrderedSet &set) const { return real(program_.constants[set.fraction].low); }

    // As percentile_disc_final has it.
    Word at_fraction(const OrderedSet &set, const Word *values, size_t n, bool sorted, unsigned threads,
                     WorkArray<Word> &scratch) const {
        const uint64_t number = static_cast<uint64_t>(std::ceil(fraction_of(set) * static_cast<double>(n)));
        const size_t place = std::min(number > 1 ? number - 1 : 0, n - 1);
        const size_t at = set.descending ? n - 1 - place : place;
        return sorted ? values[at] : find(values, n, at, false, threads, scratch).at;
    }

    // As percentile_cont_final has it.
    AggregateState percentile(const OrderedSet &set, const Word *values, size_t n, bool sorted, unsigned threads,
                              WorkArray<Word> &scratch) const {
        if constexpr (std::is_same_v<T, double>) {
            const double exact = fraction_of(set) * static_cast<double>(n - 1);
            const size_t first = std::min(static_cast<size_t>(std::floor(exact)), n - 1),
                         second = std::min(static_cast<size_t>(std::ceil(exact)), n - 1);
            const size_t at = set.descending ? n - 1 - second : first;
            const bool both = second != first;
            const Places<Word> found =
                sorted ? Places<Word>{values[at], values[at + both]} : find(values, n, at, both, threads, scratch);
            const double low = Code::value_of(set.descending ? found.next : found.at),
                         high = Code::value_of(set.descending ? found.at : found.next);
            const double value = both ? low + ((exact - static_cast<double>(first)) * (high - low)) : low;
            AggregateState state;
            state.count = 1;
            memcpy(&state.low, &value, sizeof value);
            return state;
        }
        throw DeviceError("a continuous percentile of another type");
    }

    Places<Word> find(const Word *values, size_t n, size_t at, bool both, unsigned threads,
                      WorkArray<Word> &scratch) const {
        return select(values, n, at, both, threads, scratch, all_.memory_, all_.cancel_);
    }

    // `sorted`: the values are, perhaps from now on.
    Word mode(const OrderedSet &set, Word *values, size_t n, bool &sorted, WorkArray<Word> &scratch) const {
        const bool last = set.descending != 0;
        Word one;
        if (!sorted && count_few(values, n, last, set.spelling, scratch, one))
            return one;
        if (!sorted)
            std::sort(values, values + n);
        sorted = true;
        return most_frequent(values, n, last, set.spelling);
    }

    // Are there values that are equal to this one, but written in another way?
    static bool is_spelled_otherwise(const Word *values, size_t n, Word one, unsigned spelling, unsigned threads) {
        const Word spellings = Word(1) << spelling;
        std::atomic<bool> found{false};
        in_slices(threads, n, [&](unsigned, uint64_t first, uint64_t last) {
            bool any = false;
            for (size_t i = first; i < last; ++i)
                any |= Word((values[i] ^ one) - 1) < spellings - 1; // (less 1, no difference is the largest number)
            if (any)
                found = true;
        });
        return found;
    }

    // The most frequent value, by counting each number between the smallest and the largest. False: these are too many.
    static bool count_few(const Word *values, size_t n, bool last, unsigned spelling, WorkArray<Word> &counts,
                          Word &one) {
        const auto ends = std::minmax_element(values, values + n);
        const Word least = *ends.first >> spelling, range = (*ends.second >> spelling) - least;
        if (range >= n * counted_range)
            return false;
        counts.resize(0);
        counts.resize(static_cast<size_t>(range) + 1, Word(0));
        for (size_t i = 0; i < n; ++i)
            ++counts[static_cast<size_t>((values[i] >> spelling) - least)];
        size_t best = 0;
        for (size_t i = 0; i <= range; ++i)
            if (counts[i] > counts[best] || (last && counts[i] == counts[best]))
                best = i;
        one = *std::find_if(values, values + n, [&](Word value) { return value >> spelling == least + best; });
        return true;
    }

    OrderedSets &all_;
    const Program &program_;
    const size_t column_; // of the rows
    std::vector<Wanted> sets_;
    WorkArray<uint64_t> starts_;
    WorkArray<Word> values_;
};

} // namespace

Program rows_of_arguments(const Program &program) {
    Program rows = program;
    Pipeline &main = rows.pipelines.back();
    const Range payload = {static_cast<Index>(rows.lists.size()),
                           static_cast<Index>(program.shown_keys()) + main.arguments.count};
    for (Index k = 0; k < program.shown_keys(); ++k)
        rows.lists.push_back(program.lists[main.keys.first + k]);
    for (Index a = 0; a < main.arguments.count; ++a)
        rows.lists.push_back(program.lists[main.arguments.first + a]);
    Pipeline pipeline;
    pipeline.source = main.source;
    pipeline.sink = SinkKind::Rows;
    pipeline.conjuncts = main.conjuncts;
    pipeline.joins = main.joins;
    pipeline.payload = payload;
    main = pipeline;
    return rows;
}

GroupTable add_ordered_sets(const Program &program, GroupTable groups, RowTable rows, const WorkMemoryRef &memory,
                            const std::atomic<uint32_t> *cancel) {
    return OrderedSets(program, std::move(groups), std::move(rows), memory, cancel).run();
}

} // namespace gpuscan
