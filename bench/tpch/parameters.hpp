// The substitution parameters of the 22 queries (TPC-H, clauses 2.4.1.3 to 2.4.22.3): random ones by a seed, or those of the
// validation run (clauses 2.4.x.4). In a query's text a parameter stands as ":name".
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../common/random.hpp"
#include "../common/tpc.hpp"

namespace tpch {

using Parameters = std::vector<std::pair<std::string, std::string>>;

class Choice {
  public:
    // Without a seed every choice is the validation run's.
    Choice(std::optional<uint64_t> seed, int query) : validation_(!seed), random_(seed.value_or(0), 1000, query) {}

    std::string number(int low, int high, int validation) {
        return std::to_string(validation_ ? validation : random_.between(low, high));
    }
    // A whole number of hundredths.
    std::string hundredths(int low, int high, int validation) {
        char text[32];
        const int v = validation_ ? validation : random_.between(low, high);
        std::snprintf(text, sizeof text, "%d.%02d", v / 100, v % 100);
        return text;
    }
    template <size_t N> std::string of(const std::string_view (&list)[N], std::string_view validation) {
        return std::string(validation_ ? validation : random_.pick(list));
    }
    const bench::Nation &nation(std::string_view validation) {
        if (!validation_)
            return bench::nations[random_.between(0, 24)];
        for (const bench::Nation &n : bench::nations)
            if (n.name == validation)
                return n;
        return bench::nations[0];
    }
    // The first of a month, from `first` (in months since 1992-01) on.
    std::string month(int first, int last, int validation) {
        return date(validation_ ? validation : random_.between(first, last), 1);
    }
    std::string year(int first, int last, int validation) {
        return month_of_year(validation_ ? validation : random_.between(first, last));
    }
    std::string day_of_march_1995(int validation) {
        return date(38, validation_ ? validation : random_.between(1, 31));
    }
    std::string brand(int validation) {
        return "Brand#" + std::to_string(validation_ ? validation : random_.between(1, 5) * 10 + random_.between(1, 5));
    }
    // `count` different numbers of low .. high.
    std::vector<int> different(int count, int low, int high, std::vector<int> validation) {
        if (validation_)
            return validation;
        std::vector<int> chosen;
        while (static_cast<int>(chosen.size()) < count) {
            const int n = random_.between(low, high);
            bool taken = false;
            for (int c : chosen)
                taken = taken || c == n;
            if (!taken)
                chosen.push_back(n);
        }
        return chosen;
    }

  private:
    static std::string date(int months, int day) {
        char text[32];
        std::snprintf(text, sizeof text, "%04d-%02d-%02d", 1992 + months / 12, 1 + months % 12, day);
        return text;
    }
    static std::string month_of_year(int year) { return date((year - 1992) * 12, 1); }

    bool validation_;
    bench::Random random_;
};

// Query 1 .. 22; query 11 also needs the scale factor.
inline Parameters parameters(int query, std::optional<uint64_t> seed, double sf) {
    using namespace bench;
    Choice choice(seed, query);
    const auto list = [](const char *name, const std::vector<int> &values) {
        Parameters p;
        for (size_t i = 0; i < values.size(); ++i)
            p.emplace_back(name + std::to_string(i + 1), std::to_string(values[i]));
        return p;
    };
    // (months are counted from 1992-01, so 1993-01 is 12)
    switch (query) {
    case 1:
        return {{"delta", choice.number(60, 120, 90)}};
    case 2:
        return {{"size", choice.number(1, 50, 15)},
                {"type", choice.of(type_metals, "BRASS")},
                {"region", choice.of(regions, "EUROPE")}};
    case 3:
        return {{"segment", choice.of(segments, "BUILDING")}, {"date", choice.day_of_march_1995(15)}};
    case 4:
        return {{"date", choice.month(12, 69, 18)}};
    case 5:
        return {{"region", choice.of(regions, "ASIA")}, {"date", choice.year(1993, 1997, 1994)}};
    case 6:
        return {{"date", choice.year(1993, 1997, 1994)},
                {"discount", choice.hundredths(2, 9, 6)},
                {"quantity", choice.number(24, 25, 24)}};
    case 7: {
        const std::vector<int> n = choice.different(2, 0, 24, {6, 7});
        return {{"nation1", std::string(nations[n[0]].name)}, {"nation2", std::string(nations[n[1]].name)}};
    }
    case 8: {
        const Nation &n = choice.nation("BRAZIL");
        const std::string grade = choice.of(type_grades, "ECONOMY"), finish = choice.of(type_finishes, "ANODIZED");
        return {{"nation", std::string(n.name)},
                {"region", std::string(regions[n.region])},
                {"type", grade + " " + finish + " " + choice.of(type_metals, "STEEL")}};
    }
    case 9:
        return {{"color", choice.of(colors, "green")}};
    case 10:
        return {{"date", choice.month(13, 36, 21)}};
    case 11: {
        char fraction[32];
        std::snprintf(fraction, sizeof fraction, "%.10f", 0.0001 / sf);
        return {{"nation", std::string(choice.nation("GERMANY").name)}, {"fraction", fraction}};
    }
    case 12: {
        const std::vector<int> m = choice.different(2, 0, 6, {5, 3});
        return {{"mode1", std::string(ship_modes[m[0]])},
                {"mode2", std::string(ship_modes[m[1]])},
                {"date", choice.year(1993, 1997, 1994)}};
    }
    case 13: {
        static constexpr std::string_view first[] = {"special", "pending", "unusual", "express"};
        static constexpr std::string_view second[] = {"packages", "requests", "accounts", "deposits"};
        return {{"word1", choice.of(first, "special")}, {"word2", choice.of(second, "requests")}};
    }
    case 14:
        return {{"date", choice.month(12, 71, 44)}};
    case 15:
        return {{"date", choice.month(12, 69, 48)}};
    case 16: {
        Parameters p = list("size", choice.different(8, 1, 50, {49, 14, 23, 45, 19, 3, 36, 9}));
        p.emplace_back("brand", choice.brand(45));
        const std::string grade = choice.of(type_grades, "MEDIUM");
        p.emplace_back("type", grade + " " + choice.of(type_finishes, "POLISHED"));
        return p;
    }
    case 17: {
        const std::string brand = choice.brand(23), size = choice.of(container_sizes, "MED");
        return {{"brand", brand}, {"container", size + " " + choice.of(container_kinds, "BOX")}};
    }
    case 18:
        return {{"quantity", choice.number(312, 315, 300)}};
    case 19:
        return {{"quantity1", choice.number(1, 10, 1)},
                {"quantity2", choice.number(10, 20, 10)},
                {"quantity3", choice.number(20, 30, 20)},
                {"brand1", choice.brand(12)},
                {"brand2", choice.brand(23)},
                {"brand3", choice.brand(34)}};
    case 20:
        return {{"color", choice.of(colors, "forest")},
                {"date", choice.year(1993, 1997, 1994)},
                {"nation", std::string(choice.nation("CANADA").name)}};
    case 21:
        return {{"nation", std::string(choice.nation("SAUDI ARABIA").name)}};
    default:
        return list("code", choice.different(7, 10, 34, {13, 31, 23, 29, 30, 18, 17}));
    }
}

} // namespace tpch
