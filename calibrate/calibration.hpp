// How good weights are found for a workload. In phases, each of which needs what the one before has measured:
//
//   defaults    each query under PostgreSQL's defaults: once to warm up, then as often as near-best pairs are repeated; and under the
//               present settings, where these give another plan
//   harvest     EXPLAIN under many weights around those says which plans there are; each is timed once, the most frequent first, under
//               a limit relative to the query's best time
//   annealing   over the weights (annealer.hpp). A cycle explains each query and adds up what is known of the plans; only plans that
//               are new are executed, and not even they if the rest is too slow already. At the end of each period the plans of the best
//               configurations are executed again, so that a lucky time does not lead the search
//   settling    of the weights that are about as good as the best ones, the middle is taken (plateau.hpp)
//   verifying   these against the present settings, in turns, where their plans differ
//
// All that is measured and decided goes to the checkpoint; a second run over it goes the same way without measuring again
// (plan_cache.hpp). Settings are changed in the calibration's own session only.
//
// After Bausch, Petrov and Buchmann, "Making Cost-Based Query Optimization Asymmetry-Aware" (DaMoN 2012), section 4.2, where each
// cycle executes the whole workload.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annealer.hpp"
#include "checkpoint.hpp"
#include "objective.hpp"
#include "plan_cache.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "weights.hpp"
#include "workload.hpp"

namespace calibrate {

// What anneal was asked for; the checkpoint's first line keeps it.
struct Plan {
    std::string model = "asymmetric";
    uint64_t seed = 1;
    size_t seeds = 1; // walks, with seeds one after the other
    size_t cycles = 1000, period = 100, chains = 4;
    size_t harvest = 200, plans_per_query = 8;
    size_t repeats = 3, settle = 200, rounds = 5;
    double timeout_s = 600, factor = 3;
    double penalty = 1;
    std::vector<std::string> start; // "SETTING=VALUE": where annealing starts, instead of the present settings
    std::vector<std::string> settings;
    bool allow_writes = false;

    Json to_json() const;
    static Plan from_json(const Json &json);
};

// A query of the workload cannot be calibrated with: all reasons, a line each.
struct RefusedError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Calibration {
  public:
    // `checkpoint` is new (then `queries` are written into it) or holds an earlier part (then they come from it). `known`: the lines
    // of another calibration's file, whose times of the same queries are taken over into a new one; empty: none.
    Calibration(Session &session, Checkpoint &checkpoint, Progress &progress, const Plan &plan,
                std::vector<Query> queries, const std::vector<Json> &known);

    // To the end. Throws RefusedError, SessionError, ServerError, CheckpointError, Interrupted.
    void run();
    // After run() was left early: writes down how far it came, if there is something to tell. Never throws.
    void give_up() noexcept;

  private:
    using Plans = std::vector<std::string>; // hashes, one for each query; '' for those that are left out
    struct Evaluation {
        double value;
        Plans plans;
        bool complete; // all of the plans were measured
    };
    struct Candidate {
        Weights weights;
        double value;
    };
    // By the walk that found it and by what it chooses: weights that choose the same plans are as good as each other.
    using Candidates = std::map<std::pair<size_t, Plans>, Candidate>;
    struct Settled {
        Candidate candidate;
        Plans plans;
    };
    struct Predicted {
        std::optional<double> cost;
        std::string json; // the plan, by EXPLAIN
    };
    struct Totals {
        double present, best; // ms
    };

    // settings
    void read_settings();
    void begin_file();
    void continue_file();
    void check_environment(const Json &then, const char *what);
    void take_over(const std::vector<Json> &known);
    Json environment();
    double elapsed_s() const;

    // phases
    void check_workload();
    void measure_defaults();
    void harvest();
    void anneal(size_t walk);
    Settled settle(const Candidate &best, const Plans &plans);
    void verify();

    // parts of them
    std::string explain(size_t query);
    Plans explain_all(const Weights &weights);
    Measurement measure(size_t query, const Weights &weights, const std::string &wanted, const std::string &purpose,
                        double limit_ms);
    double limit_of(size_t query) const;
    std::optional<double> value_of(const Plans &plans) const;
    Evaluation evaluate(const Weights &weights, double bound);
    void consider(size_t walk, const Weights &weights, const Evaluation &e);
    bool confirm(const Weights &weights, const Plans &plans);
    void confirm(std::optional<size_t> walk);
    double noise(const Plans &plans) const;
    Bounds bounds() const;
    std::optional<Candidates::const_iterator> best(std::optional<size_t> walk) const;
    std::optional<std::vector<Totals>> compare(const Weights &weights, const Plans &plans, const std::string &attempt);

    // words
    std::string place(const Query &query, size_t character = 0) const;
    std::string counts() const;
    Json named(const Weights &weights) const;
    std::vector<Predicted> predict(const Weights &weights, const Plans &plans);
    void write_result(bool complete, const Candidate &best, const Plans &plans, const std::vector<Totals> &rounds);

    Session &session_;
    Checkpoint &checkpoint_;
    Progress &progress_;
    const Plan plan_;
    const Model &model_;
    std::vector<Query> queries_;
    std::vector<bool> left_out_; // no plan of it ends
    Weights defaults_, present_, start_;
    PlanCache cache_;
    const Objective objective_;

    std::vector<std::optional<double>> default_ms_;
    Plans default_plans_, present_plans_;
    Candidates candidates_;
    std::set<std::pair<size_t, std::string>> gone_; // plans that their weights no longer choose: not executed again
    size_t executions_ = 0, cycles_ = 0;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    double before_s_ = 0;                         // what the calibration had taken before it was resumed
    std::set<std::pair<size_t, size_t>> written_; // walks and cycles that are in the checkpoint
};

} // namespace calibrate
