// Tables of step functions; see step_table.hpp.
#include "host/step_table.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "host/evaluator.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

constexpr size_t max_buckets = 64 * 1024, buckets_per_number = 4;
// An arm of CASE divides a batch, which is as much as a look into a table; comparisons of a whole batch are cheap.
constexpr uint32_t few_comparisons = 16, few_nodes_with_case = 6;
// Working out a step follows the chain.
constexpr uint32_t longest_chain = 8192;

size_t buckets_of(size_t begins) {
    size_t buckets = 256;
    while (buckets < begins * buckets_per_number && buckets < max_buckets)
        buckets *= 2;
    return buckets;
}

} // namespace

size_t StepNumbers::cost(size_t begins) { return buckets_of(begins) + begins; }

StepNumbers::StepNumbers(std::vector<int64_t> begins) : begins_(std::move(begins)) {
    if (begins_.empty())
        return;
    const uint64_t low = static_cast<uint64_t>(begins_.front()), span = static_cast<uint64_t>(begins_.back()) - low;
    const size_t buckets = buckets_of(begins_.size());
    while (span >> shift_ >= buckets)
        ++shift_;
    first_.assign(static_cast<size_t>(span >> shift_) + 2, 0);
    for (const int64_t begin : begins_)
        ++first_[static_cast<size_t>((static_cast<uint64_t>(begin) - low) >> shift_) + 1];
    for (size_t b = 1; b < first_.size(); ++b)
        first_[b] += first_[b - 1];
}

template <class T> void StepNumbers::find_of(const T *values, uint32_t n, uint32_t *out) const {
    const int64_t low = begins_.front(), high = begins_.back();
    const uint32_t all = static_cast<uint32_t>(begins_.size());
    if (shift_ == 0) { // a bucket is a number
        for (uint32_t i = 0; i < n; ++i) {
            const int64_t value = values[i];
            const uint64_t at = static_cast<uint64_t>(std::clamp(value, low, high)) - static_cast<uint64_t>(low);
            out[i] = value < low ? 0 : first_[at + 1];
        }
        return;
    }
    for (uint32_t i = 0; i < n; ++i) {
        const int64_t value = values[i];
        if (value < low || value >= high) {
            out[i] = value < low ? 0 : all;
            continue;
        }
        const size_t bucket =
            static_cast<size_t>((static_cast<uint64_t>(value) - static_cast<uint64_t>(low)) >> shift_);
        uint32_t at = first_[bucket];
        for (uint32_t left = first_[bucket + 1] - at; left > 0;) {
            const uint32_t half = (left + 1) / 2;
            const bool above = begins_[at + half - 1] <= value;
            at += above ? half : 0;
            left = above ? left - half : half - 1;
        }
        out[i] = at;
    }
}

void StepNumbers::find(Type type, const void *values, uint32_t n, uint32_t *out) const {
    if (begins_.empty())
        std::fill(out, out + n, 0);
    else if (type == Type::I16)
        find_of(static_cast<const int16_t *>(values), n, out);
    else if (type == Type::I32)
        find_of(static_cast<const int32_t *>(values), n, out);
    else
        find_of(static_cast<const int64_t *>(values), n, out);
}

bool StepTable::is_worth(const StepNode &node) {
    return node.argument != none && node.size <= longest_chain &&
           node.size >= (node.has_case ? few_nodes_with_case : few_comparisons);
}

// The lowest step holds nothing where the first one begins at the smallest integer.
static int64_t number_on(const std::vector<int64_t> &begins, size_t step) {
    if (step > 0)
        return begins[step - 1];
    return begins.empty() || begins[0] == INT64_MIN ? INT64_MIN : begins[0] - 1;
}

static std::unique_ptr<const StepChoices> make_choices(const Context &context, Index root) {
    const Program &program = context.program;
    const std::vector<int64_t> begins = step_begins(program, context.chains, root);
    const size_t width = type_width(program.exprs[root].type), null_step = begins.size() + 1;
    auto made = std::make_unique<StepChoices>(StepChoices{StepNumbers(begins), {}, {}, false, {}, {}});
    made->values.resize((null_step + 1) * width);
    made->nulls.resize(null_step + 1);
    std::map<Index, std::vector<size_t>> steps_of_arms;
    for (size_t s = 0; s <= null_step; ++s) {
        const bool null = s == null_step;
        const int64_t choice = step_choice(program, context.chains, root, null ? 0 : number_on(begins, s), null);
        if (choice < 0) {
            made->values[s] = choice == step_is_true;
            made->nulls[s] = choice == step_is_null;
        } else if (const Expr &e = program.exprs[static_cast<size_t>(choice)]; e.op == Op::Const) {
            memcpy(&made->values[s * width], &context.constants[e.a], width);
            made->nulls[s] = program.constants[e.a].null;
        } else {
            steps_of_arms[context.canonical[static_cast<size_t>(choice)]].push_back(s);
        }
        made->any_null |= made->nulls[s] != 0;
    }
    if (!steps_of_arms.empty())
        made->arm_of.assign(null_step + 1, static_cast<uint32_t>(steps_of_arms.size()));
    for (const auto &[arm, steps] : steps_of_arms) {
        for (const size_t s : steps)
            made->arm_of[s] = static_cast<uint32_t>(made->arms.size());
        made->arms.push_back(arm);
    }
    return made;
}

const StepChoices *StepTable::for_rows(uint32_t n, const Context &context) {
    return choices_.for_rows(n, StepNumbers::cost(context.chains[root_].size),
                             [&] { return make_choices(context, root_); });
}

} // namespace gpuscan::host
