// Sets of numbers; see number_set.hpp.
#include "host/number_set.hpp"

#include <algorithm>

namespace gpuscan::host {

namespace {

constexpr size_t min_parts = 1 << 15, max_parts = 1 << 22, parts_per_number = 32;

size_t parts_of(size_t numbers) {
    size_t parts = min_parts;
    while (parts < numbers * parts_per_number && parts < max_parts)
        parts *= 2;
    return parts;
}

uint64_t distance(int64_t from, int64_t to) { return static_cast<uint64_t>(to) - static_cast<uint64_t>(from); }

} // namespace

size_t NumberSet::cost(size_t numbers) { return parts_of(numbers) / 64 + StepNumbers::cost(numbers); }

NumberSet::NumberSet(const std::vector<int64_t> &numbers)
    : numbers_(numbers), low_(numbers.front()), span_(distance(numbers.front(), numbers.back())) {
    const size_t parts = parts_of(numbers.size());
    while (span_ >> shift_ >= parts)
        ++shift_;
    parts_.assign(static_cast<size_t>(span_ >> shift_) / 64 + 1, 0);
    for (const int64_t number : numbers) {
        const size_t part = static_cast<size_t>(distance(low_, number) >> shift_);
        parts_[part / 64] |= uint64_t{1} << part % 64;
    }
}

void NumberSet::find(const int64_t *values, uint32_t n, uint8_t *out) const {
    constexpr uint32_t block = 256;
    int64_t found[block];
    uint32_t places[block], steps[block];
    for (uint32_t begin = 0; begin < n; begin += block) {
        const uint32_t end = std::min(n, begin + block);
        for (uint32_t i = begin; i < end; ++i) {
            const uint64_t d = distance(low_, values[i]);
            const size_t part = static_cast<size_t>(std::min(d, span_) >> shift_);
            out[i] = static_cast<uint8_t>((parts_[part / 64] >> part % 64 & 1) & (d <= span_));
        }
        if (shift_ == 0)
            continue;
        uint32_t nfound = 0;
        for (uint32_t i = begin; i < end; ++i) {
            found[nfound] = values[i];
            places[nfound] = i;
            nfound += out[i];
        }
        numbers_.find(Type::I64, found, nfound, steps);
        for (uint32_t f = 0; f < nfound; ++f)
            out[places[f]] = numbers_.begin_of(steps[f]) == found[f];
    }
}

} // namespace gpuscan::host
