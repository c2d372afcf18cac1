// compare: configurations of a server by the total times of a workload under many seeds, as Bausch, Petrov and Buchmann compare them
// (section 4): a table of the total times, the ratio of each two configurations, and the U-test of Wilcoxon, Mann and Whitney,
// whether the times of both could come from one distribution.
//
// *Ratio*: the seeds that both have run, paired; geometric mean with its 95 % interval by Student's t over logarithms.
// *U-test*: two-sided; exact where no two times are equal, else by the normal distribution with corrections for ties and continuity.
// A seed counts for a configuration when all queries of the file have a time there. A query that was cut off by a timeout counts with
// the timeout, which is said: the true total is larger.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "../common/configurations.hpp"
#include "../common/sample.hpp"
#include "../common/u_test.hpp"

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

void print_totals(const bench::Configurations &results) {
    std::printf("%-22s %6s %10s %10s %10s %10s %8s\n", "configuration", "seeds", "median s", "mean s", "least s",
                "most s", "timeouts");
    for (const std::string &c : results.names) {
        std::vector<double> totals;
        for (const auto &[seed, total] : results.totals(c))
            totals.push_back(total);
        if (totals.empty()) {
            std::printf("%-22s %6d\n", c.c_str(), 0);
            continue;
        }
        std::printf("%-22s %6zu %10.2f %10.2f %10.2f %10.2f %8zu\n", c.c_str(), totals.size(), bench::median(totals),
                    std::accumulate(totals.begin(), totals.end(), 0.0) / static_cast<double>(totals.size()),
                    *std::min_element(totals.begin(), totals.end()), *std::max_element(totals.begin(), totals.end()),
                    results.cut_off(c));
    }
}

void print_pair(const bench::Configurations &results, const std::string &a, const std::string &b) {
    const bench::ConfigurationPair pair = bench::compare(results, a, b);
    const bench::Ratio &r = pair.ratio;
    if (r.pairs == 0) {
        std::printf("%s / %s: no seed is complete in both\n", b.c_str(), a.c_str());
        return;
    }
    std::printf("%s / %s: %.3f", b.c_str(), a.c_str(), r.value);
    if (r.factor > 0)
        std::printf(" (95 %%: %.3f to %.3f, %zu pairs)", r.value / r.factor, r.value * r.factor, r.pairs);
    else
        std::printf(" (%zu pair)", r.pairs);
    std::printf(", U %.1f of %zu, p %.4g%s, %zu of %zu plans the same\n", pair.test.u, pair.of, pair.test.p,
                pair.test.exact ? "" : " (approximate)", pair.same_plans, pair.plans);
}

// The paper's figure 2: what each query gained, by its geometric mean over the seeds.
void print_queries(const bench::Configurations &results, const std::string &a, const std::string &b) {
    std::printf("\nspeed-up of each query from %s to %s\n", a.c_str(), b.c_str());
    for (const std::string &query : results.queries) {
        std::vector<double> ratios;
        for (const auto &[seed, by_query] : results.run.at(a)) {
            const auto s = results.run.at(b).find(seed);
            if (by_query.count(query) && s != results.run.at(b).end() && s->second.count(query))
                ratios.push_back(by_query.at(query).ms / s->second.at(query).ms);
        }
        if (!ratios.empty()) {
            const bench::Ratio r = bench::ratio_of(ratios);
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
        const bench::UTest t = bench::u_test(numbers(argv[2]), numbers(argv[3]));
        std::printf("U %.1f, p %.4g%s\n", t.u, t.p, t.exact ? "" : " (approximate)");
        return 0;
    }
    const bool queries = argc == 3 && std::string(argv[2]) == "--queries";
    if (argc > 2 && !queries)
        fail("one file only; see --help");
    bench::Configurations results;
    try {
        results = bench::read_configurations(first);
    } catch (const std::exception &e) {
        fail(e.what());
    }
    print_totals(results);
    const auto &c = results.names;
    if (c.size() > 1)
        std::printf("\n");
    for (size_t i = 0; i < c.size(); ++i)
        for (size_t j = i + 1; j < c.size(); ++j)
            print_pair(results, c[i], c[j]);
    if (queries && c.size() > 1)
        print_queries(results, c[c.size() - 2], c.back());
    return 0;
}
