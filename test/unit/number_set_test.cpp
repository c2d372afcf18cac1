// Sets of numbers say of each value what a search in the list says.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "host/number_set.hpp"

using namespace gpuscan;
using namespace gpuscan::host;

namespace {

void expect_membership(std::vector<int64_t> numbers, const std::vector<int64_t> &more_values) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    std::vector<int64_t> values = more_values;
    for (const int64_t number : numbers) {
        values.push_back(number);
        if (number != INT64_MIN)
            values.push_back(number - 1);
        if (number != INT64_MAX)
            values.push_back(number + 1);
    }
    values.push_back(INT64_MIN);
    values.push_back(INT64_MAX);
    std::vector<uint8_t> found(values.size(), 7);
    NumberSet(numbers).find(values.data(), static_cast<uint32_t>(values.size()), found.data());
    for (size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(found[i], std::binary_search(numbers.begin(), numbers.end(), values[i])) << values[i];
}

TEST(NumberSet, FindsWhatTheListHolds) {
    std::mt19937_64 random(1);
    for (const int bits : {1, 8, 14, 16, 22, 23, 40, 62, 63, 64})
        for (const size_t count : {1, 2, 9, 100, 5000, 200000}) {
            const auto draw = [&] { return static_cast<int64_t>(bits == 64 ? random() : random() >> (64 - bits)); };
            std::vector<int64_t> numbers(count), values(1000);
            std::generate(numbers.begin(), numbers.end(), draw);
            std::generate(values.begin(), values.end(), draw);
            expect_membership(numbers, values);
        }
}

TEST(NumberSet, TakesTheExtremesOfIntegers) {
    expect_membership({INT64_MIN}, {0, -1, 1});
    expect_membership({INT64_MAX}, {0, -1, 1});
    expect_membership({INT64_MIN, INT64_MAX}, {0, -1, 1});
    expect_membership({INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX}, {5, -5});
}

// A part of the range is then full of numbers, and others are empty.
TEST(NumberSet, TellsNeighboursApartBesideAFarNumber) {
    std::vector<int64_t> numbers{int64_t{1} << 60}, values;
    for (int64_t i = 0; i < 5000; ++i) {
        numbers.push_back(i * 2);
        values.push_back(i);
    }
    expect_membership(numbers, values);
}

} // namespace
