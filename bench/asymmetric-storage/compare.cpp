// compare: configurations of a server by the total times of a workload under many seeds, as Bausch, Petrov and Buchmann compare them
// (section 4): a table of the total times, the ratio of each two configurations, and the U-test of Wilcoxon, Mann and Whitney,
// whether the times of both could come from one distribution.
//
// *Ratio*: the seeds that both have run, paired; geometric mean with its 95 % interval by Student's t over logarithms.
// *U-test*: two-sided; exact where no two times are equal, else by the normal distribution with corrections for ties and continuity.
// A seed counts for a configuration when all queries of the file have a time there. A query that was cut off by a timeout counts with
// the timeout, which is said: the true total is larger.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "../common/sample.hpp"

namespace {

[[noreturn]] void fail(const std::string &message) {
    std::fprintf(stderr, "compare: %s\n", message.c_str());
    std::exit(2);
}

void help() {
    std::printf(
        R"(Usage: compare FILE [--queries]     a CSV file of experiment.sh: configuration,seed,query,ms,status,plan
       compare --u-test A,A,... B,B,...    the test alone, of two lists of numbers

  --queries   also the speed-up of each query between the last two configurations that were compared
)");
}

// ---- statistics ----

struct Test {
    double u = 0; // how often a value of the first list is larger than one of the second; ties count half
    double p = 1;
    bool exact = false;
};

// How many ways there are to get each U from lists of n and m values without ties: with the largest of all values in the first
// list it beats all m of the second, else it does nothing (Mann and Whitney 1947, equation 2). Doubles are exact enough.
std::vector<double> ways_of(size_t n, size_t m) {
    std::vector<std::vector<double>> column(m + 1); // for lists of i and j values, j = 0 .. m
    for (size_t j = 0; j <= m; ++j)
        column[j] = {1};
    for (size_t i = 1; i <= n; ++i) {
        std::vector<std::vector<double>> next(m + 1);
        next[0] = {1};
        for (size_t j = 1; j <= m; ++j) {
            next[j].assign(i * j + 1, 0);
            for (size_t u = 0; u < column[j].size(); ++u)
                next[j][u + j] += column[j][u];
            for (size_t u = 0; u < next[j - 1].size(); ++u)
                next[j][u] += next[j - 1][u];
        }
        column = std::move(next);
    }
    return column[m];
}

Test u_test(const std::vector<double> &a, const std::vector<double> &b) {
    Test t;
    if (a.empty() || b.empty())
        return t;
    std::map<double, double> of_value;
    for (double x : a)
        ++of_value[x];
    for (double y : b)
        ++of_value[y];
    for (double x : a)
        for (double y : b)
            t.u += x > y ? 1 : x == y ? 0.5 : 0;
    const double n = a.size(), m = b.size(), all = n + m;
    double ties = 0;
    for (const auto &[value, count] : of_value)
        ties += count * count * count - count;
    if (ties == 0 && n * m <= 10000) {
        const std::vector<double> ways = ways_of(a.size(), b.size());
        double total = 0, low = 0;
        const double least = std::min(t.u, n * m - t.u);
        for (size_t u = 0; u < ways.size(); ++u) {
            total += ways[u];
            if (u <= least)
                low += ways[u];
        }
        t.p = std::min(1.0, 2 * low / total);
        t.exact = true;
        return t;
    }
    const double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
    if (variance > 0) {
        const double z = std::max(0.0, std::fabs(t.u - n * m / 2) - 0.5) / std::sqrt(variance);
        t.p = std::erfc(z / std::sqrt(2.0));
    }
    return t;
}

double mean(const std::vector<double> &v) {
    double sum = 0;
    for (double x : v)
        sum += x;
    return v.empty() ? 0 : sum / v.size();
}

// Geometric mean of ratios, and its 95 % interval (a factor to divide and to multiply by; 0: too few).
struct Ratio {
    double value = 1, factor = 0;
    size_t pairs = 0;
};
Ratio ratio_of(const std::vector<double> &ratios) {
    Ratio r;
    r.pairs = ratios.size();
    std::vector<double> logs;
    for (double x : ratios)
        logs.push_back(std::log(x));
    const double m = mean(logs);
    r.value = std::exp(m);
    if (logs.size() < 2)
        return r;
    double squares = 0;
    for (double x : logs)
        squares += (x - m) * (x - m);
    const double n = logs.size();
    r.factor = std::exp(bench::t95(logs.size() - 1) * std::sqrt(squares / (n - 1) / n));
    return r;
}

// ---- the file ----

struct Run {
    double ms;
    bool cut_off;
    std::string plan;
};

struct Results {
    std::vector<std::string> configurations;                                      // in the order of the file
    std::map<std::string, std::map<std::string, std::map<std::string, Run>>> run; // by configuration, seed, query
    std::set<std::string> queries;

    // Seconds of all queries, by seed; only of seeds that are complete.
    std::map<std::string, double> totals(const std::string &configuration) const {
        std::map<std::string, double> result;
        for (const auto &[seed, by_query] : run.at(configuration)) {
            if (by_query.size() < queries.size())
                continue;
            for (const auto &[query, r] : by_query)
                result[seed] += r.ms / 1000;
        }
        return result;
    }
};

Results read(const std::string &path) {
    std::ifstream in(path);
    if (!in)
        fail("cannot read " + path);
    Results results;
    std::string line;
    std::getline(in, line);
    if (line != "configuration,seed,query,ms,status,plan")
        fail(path + " is no file of experiment.sh");
    while (std::getline(in, line)) {
        std::vector<std::string> fields;
        std::stringstream text(line);
        for (std::string field; std::getline(text, field, ',');)
            fields.push_back(field);
        if (fields.size() != 6)
            fail("a line has not six fields: " + line);
        if (results.run.count(fields[0]) == 0)
            results.configurations.push_back(fields[0]);
        results.run[fields[0]][fields[1]][fields[2]] = {std::strtod(fields[3].c_str(), nullptr), fields[4] == "timeout",
                                                        fields[5]};
        results.queries.insert(fields[2]);
    }
    return results;
}

void print_totals(const Results &results) {
    std::printf("%-22s %6s %10s %10s %10s %10s %8s\n", "configuration", "seeds", "median s", "mean s", "least s",
                "most s", "timeouts");
    for (const std::string &c : results.configurations) {
        std::vector<double> totals;
        for (const auto &[seed, total] : results.totals(c))
            totals.push_back(total);
        int cut_off = 0;
        for (const auto &[seed, by_query] : results.run.at(c))
            for (const auto &[query, r] : by_query)
                cut_off += r.cut_off;
        if (totals.empty()) {
            std::printf("%-22s %6d\n", c.c_str(), 0);
            continue;
        }
        std::printf("%-22s %6zu %10.2f %10.2f %10.2f %10.2f %8d\n", c.c_str(), totals.size(), bench::median(totals),
                    mean(totals), *std::min_element(totals.begin(), totals.end()),
                    *std::max_element(totals.begin(), totals.end()), cut_off);
    }
}

void print_pair(const Results &results, const std::string &a, const std::string &b) {
    const auto first = results.totals(a), second = results.totals(b);
    std::vector<double> x, y, ratios;
    for (const auto &[seed, total] : first)
        x.push_back(total);
    for (const auto &[seed, total] : second) {
        y.push_back(total);
        if (const auto found = first.find(seed); found != first.end())
            ratios.push_back(total / found->second);
    }
    if (ratios.empty()) {
        std::printf("%s / %s: no seed is complete in both\n", b.c_str(), a.c_str());
        return;
    }
    const Ratio r = ratio_of(ratios);
    const Test t = u_test(x, y);
    std::printf("%s / %s: %.3f", b.c_str(), a.c_str(), r.value);
    if (r.factor > 0)
        std::printf(" (95 %%: %.3f to %.3f, %zu pairs)", r.value / r.factor, r.value * r.factor, r.pairs);
    else
        std::printf(" (%zu pair)", r.pairs);
    std::printf(", U %.1f of %zu, p %.4g%s", t.u, x.size() * y.size(), t.p, t.exact ? "" : " (approximate)");
    size_t same = 0, compared = 0;
    for (const auto &[seed, by_query] : results.run.at(a))
        for (const auto &[query, ra] : by_query) {
            const auto &others = results.run.at(b);
            const auto s = others.find(seed);
            if (s == others.end() || s->second.count(query) == 0)
                continue;
            ++compared;
            same += s->second.at(query).plan == ra.plan;
        }
    std::printf(", %zu of %zu plans the same\n", same, compared);
}

// The paper's figure 2: what each query gained, by its geometric mean over the seeds.
void print_queries(const Results &results, const std::string &a, const std::string &b) {
    std::printf("\nspeed-up of each query from %s to %s\n", a.c_str(), b.c_str());
    for (const std::string &query : results.queries) {
        std::vector<double> ratios;
        for (const auto &[seed, by_query] : results.run.at(a)) {
            const auto s = results.run.at(b).find(seed);
            if (by_query.count(query) && s != results.run.at(b).end() && s->second.count(query))
                ratios.push_back(by_query.at(query).ms / s->second.at(query).ms);
        }
        if (!ratios.empty()) {
            const Ratio r = ratio_of(ratios);
            std::printf("%-6s %8.3f", query.c_str(), r.value);
            if (r.factor > 0)
                std::printf("   (%.3f to %.3f)", r.value / r.factor, r.value * r.factor);
            std::printf("\n");
        }
    }
}

std::vector<double> numbers(const std::string &list) {
    std::vector<double> result;
    std::stringstream text(list);
    for (std::string item; std::getline(text, item, ',');)
        result.push_back(std::strtod(item.c_str(), nullptr));
    return result;
}

} // namespace

int main(int argc, char **argv) {
    const std::string first = argc > 1 ? argv[1] : "--help";
    if (first == "--help") {
        help();
        return argc > 1 ? 0 : 2;
    }
    if (first == "--u-test") {
        if (argc != 4)
            fail("--u-test takes two lists");
        const Test t = u_test(numbers(argv[2]), numbers(argv[3]));
        std::printf("U %.1f, p %.4g%s\n", t.u, t.p, t.exact ? "" : " (approximate)");
        return 0;
    }
    const bool queries = argc == 3 && std::string(argv[2]) == "--queries";
    if (argc > 2 && !queries)
        fail("one file only; see --help");
    const Results results = read(first);
    print_totals(results);
    const auto &c = results.configurations;
    if (c.size() > 1)
        std::printf("\n");
    for (size_t i = 0; i < c.size(); ++i)
        for (size_t j = i + 1; j < c.size(); ++j)
            print_pair(results, c[i], c[j]);
    if (queries && c.size() > 1)
        print_queries(results, c[c.size() - 2], c.back());
    return 0;
}
