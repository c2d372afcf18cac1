// Which groups of a table does somebody want, and where do they stand side by side?
//
// One pass over the entries of a group table writes a record for each group: the key's words and the entry, and where groups have numbers
// the group's. One atomic per warp finds room for all of its groups. A group is passed over
//
//   conditions   if one of a few plain conditions of HAVING is false or NULL for it: they are data
//   first ones   if so many groups as ORDER BY ... LIMIT wants come before it by the first sort key. Of that a group has a rank, 64 bits that
//                say of two groups which comes first or, where values of more than 56 bits differ too little, nothing. The rank of the last
//                group that is wanted is found from the top, 12 bits at a time: count the groups whose rank begins as is known so far by
//                what follows, and see where the wanted one falls (radix selection; Alabi, Blanchard, Gordon, Steinbach, "Fast k-Selection
//                Algorithms for Graphics Processing Units", 2012). After three turns whatever is not behind it may pass: ties too, so
//                the other keys are for whoever reads the groups.
//
// Who reads the groups looks at all of them again, so one may always pass. The structures are filled by the host (cuda/wanted_groups.cpp).
#pragma once

#include "device/semantics.cuh"

namespace gpuscan {
namespace tables {

// What a word or two of a group's entry, or of its key, are.
struct GroupValue {
    enum Kind : uint32_t {
        None,
        Word,     // as it is
        Halves,   // two that carry 32 bits
        Largest,  // the code of a maximum,
        Smallest, // of a minimum
        Part,     // of a key's code or the group's number; not the value, but of its order
    };
    uint32_t kind;
    uint32_t word;    // the first one, from the slot's begin
    uint32_t counted; // a word: where that is zero the value is NULL. 0: there is none, as for counts and keys
    uint32_t null_word, null_bit; // a bit that says the same; 0: none
    uint32_t nullable;            // Part: its 0 is NULL
    uint64_t factor, modulus;     // likewise
};

// A condition over a group: a value against a bound.
struct GroupCondition {
    enum Outcome : uint32_t { Less = 1, Equal = 2, Greater = 4 };
    GroupValue value;
    uint32_t outcomes; // of the comparison, with which the group may pass
    uint32_t unused;
    uint64_t low; // of the bound
    int64_t high;
};

constexpr uint32_t max_group_conditions = 4;

constexpr uint32_t rank_bits = 64, digit_bits = 12, rank_turns = 3, rank_bins = 1u << digit_bits;
constexpr uint32_t choosing_threads = 256; // of choose_rank's only block
static_assert(rank_bins % choosing_threads == 0, "each thread adds up as many counts");

// What is known of the rank of the last group that is wanted; zeros before the first turn.
struct LastRank {
    uint64_t begins;          // with these bits
    uint64_t left;            // its place among the groups that do, from 1
    uint64_t outside;         // 1: there are fewer groups than are wanted
    uint64_t bins[rank_bins]; // groups whose rank goes on like this
};

struct GroupOrder {
    GroupValue value; // None: all groups are wanted
    uint32_t descending, nulls_first;
    uint64_t wanted; // how many, from 1
    LastRank *last;
};

struct GatherArgument {
    const uint64_t *table;
    uint64_t entries;
    uint64_t *counter;
    uint64_t *out;          // null pointer: only count
    uint64_t room;          // groups that fit
    uint64_t *dropped;      // how many are passed over
    uint32_t stride, words; // from slot to slot, and of an entry with its key; the first is not zero where a group is
    uint32_t numbered;
    uint32_t key_words;         // of them
    uint32_t nconditions, turn; // turn: of the search for the last rank
    GroupCondition conditions[max_group_conditions];
    GroupOrder order;
};

#ifdef __CUDACC__

// False: it is NULL.
__device__ __forceinline__ bool group_value(const GroupValue &of, const uint64_t *slot, uint64_t number,
                                            uint32_t key_words, sem::i128 &value) {
    const uint64_t *const v = slot + of.word;
    if (of.kind == GroupValue::Part) {
        const uint64_t code = key_words != 0 ? v[0] & ~((uint64_t)1 << 63) : number;
        const uint64_t part = code / of.factor % of.modulus;
        value = (sem::i128)(sem::u128)part;
        return !(of.nullable && part == 0);
    }
    if (of.counted != 0 && slot[of.counted] == 0)
        return false;
    if (of.null_word != 0 && (slot[of.null_word] >> of.null_bit & 1))
        return false;
    if (of.kind == GroupValue::Halves)
        value = (sem::i128)v[0] + (sem::i128)(int64_t)v[1] * ((sem::i128)1 << 32);
    else if (of.kind == GroupValue::Word)
        value = (int64_t)v[0];
    else
        value = (int64_t)((of.kind == GroupValue::Smallest ? ~v[0] : v[0]) ^ ((uint64_t)1 << 63));
    return true;
}

// Is none of the conditions false or NULL?
static __device__ bool may_pass(const GatherArgument &a, const uint64_t *slot, uint64_t number) {
    for (uint32_t i = 0; i < a.nconditions; ++i) {
        const GroupCondition &c = a.conditions[i];
        sem::i128 value;
        if (!group_value(c.value, slot, number, a.key_words, value))
            return false;
        const sem::i128 bound = (sem::i128)(((sem::u128)(uint64_t)c.high << 64) | c.low);
        const uint32_t outcome = value < bound    ? GroupCondition::Less
                                 : value == bound ? GroupCondition::Equal
                                                  : GroupCondition::Greater;
        if (!(c.outcomes & outcome))
            return false;
    }
    return true;
}

// Of a value: its sign, how many bits it has (7 bits), and the first 56 of them. Never decreasing.
__device__ __forceinline__ uint64_t rank_of_value(sem::i128 value) {
    const bool negative = value < 0;
    const sem::u128 size = (sem::u128)(negative ? ~value : value);
    const uint64_t high = (uint64_t)(size >> 64), low = (uint64_t)size;
    const int bits = high ? 128 - __clzll((long long)high) : 64 - __clzll((long long)low);
    const uint64_t first = bits > 56 ? (uint64_t)(size >> (bits - 56)) : low << (56 - bits);
    const uint64_t code = (uint64_t)1 << 63 | (uint64_t)bits << 56 | first;
    return negative ? ~code : code;
}

__device__ __forceinline__ uint64_t rank_of_group(const GatherArgument &a, const uint64_t *slot, uint64_t number) {
    sem::i128 value;
    if (!group_value(a.order.value, slot, number, a.key_words, value))
        return a.order.nulls_first ? 0 : ~(uint64_t)0;
    const uint64_t rank = rank_of_value(value);
    return a.order.descending ? ~rank : rank;
}

// Groups of more rows than sums are made for are left to whoever reads them.
__device__ __forceinline__ bool is_too_large(const GatherArgument &a, const uint64_t *slot) {
    return slot[a.key_words] >> 32 != 0;
}

__device__ __forceinline__ uint32_t shift_of_turn(uint32_t turn) { return rank_bits - (turn + 1) * digit_bits; }

// One turn's counts.
extern "C" __global__ void count_ranks(const GatherArgument a) {
    __shared__ uint32_t bins[rank_bins];
    LastRank &last = *a.order.last;
    if (last.outside)
        return;
    for (uint32_t i = threadIdx.x; i < rank_bins; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    const uint64_t begins = last.begins;
    const uint32_t shift = shift_of_turn(a.turn);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < a.entries; i += step) {
        const uint64_t *const slot = a.table + i * a.stride;
        if (slot[0] == 0 || is_too_large(a, slot) || !may_pass(a, slot, i))
            continue;
        const uint64_t rank = rank_of_group(a, slot, i);
        if (a.turn == 0 || rank >> shift >> digit_bits == begins)
            atomicAdd(&bins[rank >> shift & (rank_bins - 1)], 1u);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < rank_bins; i += blockDim.x)
        if (bins[i])
            atomicAdd((unsigned long long *)&last.bins[i], (unsigned long long)bins[i]);
}

// One block: where among the counts does the wanted group fall?
extern "C" __global__ void choose_rank(const GatherArgument a) {
    __shared__ uint64_t sums[choosing_threads];
    LastRank &last = *a.order.last;
    const uint32_t mine = rank_bins / choosing_threads; // bins of a thread
    uint64_t sum = 0;
    for (uint32_t i = 0; i < mine; ++i)
        sum += last.bins[threadIdx.x * mine + i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0 && !last.outside) {
        uint64_t left = a.turn == 0 ? a.order.wanted : last.left;
        uint32_t at = 0;
        while (at < choosing_threads && sums[at] < left)
            left -= sums[at++];
        if (at == choosing_threads) {
            last.outside = 1;
        } else {
            for (at *= mine; last.bins[at] < left; ++at)
                left -= last.bins[at];
            last.begins = last.begins << digit_bits | at;
            last.left = left;
        }
    }
    __syncthreads();
    for (uint32_t i = 0; i < mine; ++i)
        last.bins[threadIdx.x * mine + i] = 0;
}

// All turns are over: can it be one of the first ones?
__device__ __forceinline__ bool may_be_first(const GatherArgument &a, const uint64_t *slot, uint64_t number) {
    const LastRank &last = *a.order.last;
    return last.outside || rank_of_group(a, slot, number) >> shift_of_turn(rank_turns - 1) <= last.begins;
}

__device__ __forceinline__ bool is_wanted(const GatherArgument &a, const uint64_t *slot, uint64_t number) {
    return is_too_large(a, slot) ||
           (may_pass(a, slot, number) && (a.order.value.kind == GroupValue::None || may_be_first(a, slot, number)));
}

extern "C" __global__ void gather_groups(const GatherArgument a) {
    const uint32_t lane = threadIdx.x & 31;
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    const bool drops_some = a.nconditions || a.order.value.kind != GroupValue::None;
    for (uint64_t first = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x - lane; first < a.entries; first += step) {
        const uint64_t i = first + lane;
        const uint64_t *const slot = a.table + i * a.stride;
        bool present = i < a.entries && slot[0] != 0;
        if (drops_some) {
            const bool drop = present && !is_wanted(a, slot, i);
            const uint32_t drops = __ballot_sync(0xffffffffu, drop);
            if (lane == 0 && drops)
                atomicAdd((unsigned long long *)a.dropped, (unsigned long long)__popc((int)drops));
            present = present && !drop;
        }
        const uint32_t all = __ballot_sync(0xffffffffu, present);
        uint64_t at = 0;
        if (lane == 0 && all)
            at = atomicAdd((unsigned long long *)a.counter, (unsigned long long)__popc((int)all));
        if (!a.out)
            continue;
        at = (uint64_t)__shfl_sync(0xffffffffu, (unsigned long long)at, 0) + __popc((int)(all & ((1u << lane) - 1)));
        if (!present || at >= a.room)
            continue;
        uint64_t *const out = a.out + at * (a.words + a.numbered);
        for (uint32_t w = 0; w < a.words; ++w)
            out[w] = slot[w];
        if (a.numbered)
            out[a.words] = i;
    }
}

#endif

} // namespace tables
} // namespace gpuscan
