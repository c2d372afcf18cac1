// What is known of the plans of each query: a (query, plan) pair is executed once, and again only when it is near the best. This is
// what makes annealing affordable: a thousand cycles over 22 queries meet some hundred pairs. Plans are known by their trees
// (bench/regret/plan_tree.hpp); what else decides about a plan's time (work_mem, parallelism, devices) stays the same in a calibration.
//
// A plan that was stopped has no time. All that is known is that it is worse than the limit, which is above the query's best time, so
// it is *ruled out*, as one is that failed; neither can be part of an accepted configuration.
//
// *Replay.* Everything that was executed is in the checkpoint, in order. A resumed calibration goes its whole way again from the
// beginning, and where it wants to execute a pair it is given what was measured at that point the first time (`replay`): so it takes
// the same way, and executes nothing twice.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace calibrate {

enum class Ending { finished, stopped, failed };

struct Measurement {
    size_t query = 0;
    std::string plan; // hash: the one that was executed
    Ending ending = Ending::finished;
    double ms = 0;       // the time; the limit, if stopped
    std::string purpose; // of the phase that wanted it: a replay gives a phase what is its own
    std::string message; // why it failed
};

class PlanCache {
  public:
    explicit PlanCache(size_t queries) : queries_(queries) {}

    // A plan that was seen in EXPLAIN.
    void see(size_t query, const std::string &plan, const std::string &outline);
    const std::string &outline(size_t query, const std::string &plan) const;
    size_t plans(size_t query) const { return queries_[query].plans.size(); }

    // From a checkpoint.
    void remember(const Measurement &m, const std::string &wanted);
    // What was measured when this was wanted the next time; nothing if it never was.
    std::optional<Measurement> replay(size_t query, const std::string &wanted, const std::string &purpose);

    // A measurement that counts from now on.
    void add(const Measurement &m);
    // The median time in ms; nothing if it was not measured, infinite if it is ruled out.
    std::optional<double> time(size_t query, const std::string &plan) const;
    // The standard error of that time in ms; of one execution, 5 % of it.
    double error(size_t query, const std::string &plan) const;
    size_t samples(size_t query, const std::string &plan) const;
    // Of the finished plans of the query.
    std::optional<double> best(size_t query) const;

  private:
    struct Plan {
        std::string outline;
        std::vector<double> times;
        bool ruled_out = false;
    };
    struct Known {
        std::map<std::string, Plan> plans;
        std::map<std::pair<std::string, std::string>, std::deque<Measurement>> tape; // by purpose and wanted plan
    };

    const Plan *find(size_t query, const std::string &plan) const;

    std::vector<Known> queries_;
};

} // namespace calibrate
