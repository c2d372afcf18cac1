#include "plan_cache.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bench/common/sample.hpp"

namespace calibrate {

const PlanCache::Plan *PlanCache::find(size_t query, const std::string &plan) const {
    const auto at = queries_[query].plans.find(plan);
    return at == queries_[query].plans.end() ? nullptr : &at->second;
}

void PlanCache::see(size_t query, const std::string &plan, const std::string &outline) {
    Plan &p = queries_[query].plans[plan];
    if (p.outline.empty())
        p.outline = outline;
}

const std::string &PlanCache::outline(size_t query, const std::string &plan) const {
    static const std::string unknown;
    const Plan *p = find(query, plan);
    return p ? p->outline : unknown;
}

void PlanCache::remember(const Measurement &m, const std::string &wanted) {
    queries_[m.query].tape[{m.purpose, wanted}].push_back(m);
}

std::optional<Measurement> PlanCache::replay(size_t query, const std::string &wanted, const std::string &purpose) {
    const auto at = queries_[query].tape.find({purpose, wanted});
    if (at == queries_[query].tape.end() || at->second.empty())
        return std::nullopt;
    Measurement m = std::move(at->second.front());
    at->second.pop_front();
    return m;
}

void PlanCache::add(const Measurement &m) {
    Plan &p = queries_[m.query].plans[m.plan];
    if (m.ending == Ending::finished)
        p.times.push_back(m.ms);
    else
        p.ruled_out = true;
}

std::optional<double> PlanCache::time(size_t query, const std::string &plan) const {
    const Plan *p = find(query, plan);
    if (p && p->ruled_out)
        return std::numeric_limits<double>::infinity();
    if (!p || p->times.empty())
        return std::nullopt;
    return bench::median(p->times);
}

double PlanCache::error(size_t query, const std::string &plan) const {
    constexpr double of_one = 0.05;
    const Plan *p = find(query, plan);
    if (!p || p->times.empty())
        return 0;
    const double n = static_cast<double>(p->times.size());
    const double mean = std::accumulate(p->times.begin(), p->times.end(), 0.0) / n;
    if (p->times.size() == 1)
        return of_one * mean;
    double squares = 0;
    for (double t : p->times)
        squares += (t - mean) * (t - mean);
    return std::sqrt(squares / (n - 1) / n);
}

size_t PlanCache::samples(size_t query, const std::string &plan) const {
    const Plan *p = find(query, plan);
    return p ? p->times.size() : 0;
}

std::optional<double> PlanCache::best(size_t query) const {
    std::optional<double> best;
    for (const auto &[hash, plan] : queries_[query].plans)
        if (!plan.ruled_out && !plan.times.empty())
            best = std::min(best.value_or(std::numeric_limits<double>::infinity()), bench::median(plan.times));
    return best;
}

} // namespace calibrate
