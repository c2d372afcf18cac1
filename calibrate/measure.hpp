// gpuscan-calibrate measure: starting values for every tier, from microbenchmarks through the server, in a minute or two.
//
//   processor  what a tuple, an index tuple, an operator and a cached page take PostgreSQL: least squares over plans whose counts the planner
//              tells (measure_cpu.cpp)
//   server     how long the steps of PostgreSQL's executor take, with which its plans are compared with a device's: least squares over the
//              steps of more plans (measure_steps.cpp)
//   storage    what a page costs beyond that as it is seen through the caches of this machine, in this database's own tables, and what
//              temporary files cost (measure_storage.cpp)
//   device     the weights of the active device: least squares over count vectors (measure_device.cpp, device_counts.hpp)
//
// One unit of the planner's costs is kept what it is for the processor: a tuple with one operator costs what it does under PostgreSQL's
// defaults. So settings that nobody measures (parallel_setup_cost, jit_above_cost) keep their sense, and page costs come out as what a page takes
// beside a tuple. On a machine that has everything in memory they are far below 1.
//
// Each sample is in the file before the next one is taken. A measurement that was stopped is not resumed; it is short.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint.hpp"
#include "least_squares.hpp"
#include "progress.hpp"
#include "scratch.hpp"
#include "session.hpp"
#include "step_queries.hpp"

namespace calibrate {

struct MeasurePlan {
    size_t rows = 0; // of the largest scratch table; 0: by shared_buffers
    size_t repeats = 5;
    double storage_s = 20; // for looking at pages of the database's tables, at most
    std::vector<std::string> settings;

    Json to_json() const;
};

// One line of the result.
struct Measured {
    std::string tier; // processor, storage, server, host, cuda
    std::string name; // a setting, a name in a profile, or words
    std::string unit;
    std::optional<double> value, low, high;
    std::optional<double> before; // in force now
    std::optional<double> standard;
    bool measured; // else kept
    std::string note;
};

// What the parts share.
class MachineMeasurement {
  public:
    MachineMeasurement(Session &session, Checkpoint &checkpoint, Progress &progress, const MeasurePlan &plan);

    // Throws SessionError, ServerError, CheckpointError, Interrupted. Tables are dropped whatever happens.
    void run();

  private:
    // ns
    struct Processor {
        FittedWeight seq_page, random_page, tuple, index_tuple, operation;
    };
    struct Query {
        std::string name, sql, settings;
    };

    void note(const std::string &text);
    void begin_file();
    void write_result();

    // EXPLAIN's JSON, under "SET LOCAL" statements.
    Json explain(const std::string &options, const std::string &settings, const std::string &sql);
    double setting(const std::string &name, const char *column = "setting");
    void sample(const char *part, const std::string &name, const std::vector<double> &ms, Json more = Json::object());

    void measure_processor();
    std::optional<Equation> processor_equation(const Query &query);

    void measure_steps();
    bool is_contended(const Equation &equation, const std::vector<std::string> &names) const;
    std::string steps_equation(const StepQuery &query, const std::vector<std::string> &names, Equation *equation);

    void measure_storage();
    void measure_reads();
    struct Reads {
        std::vector<double> beyond_ns,
            missed_ns; // a page, beyond a cached one; of those that were not in shared buffers
        double pages = 0, missed = 0;
    };
    Reads read_pages(bool random, double budget_s);
    void measure_writes();
    double page_read_ns();
    std::optional<std::vector<double>> spill_ns(const Query &query);

    void measure_device();
    void device_values(const std::string &device, const std::vector<FittedWeight> *fitted);

    void put_setting(const std::string &name, const std::string &original, const FittedWeight &ns,
                     const std::string &note);

    Session &session_;
    Checkpoint &checkpoint_;
    Progress &progress_;
    const MeasurePlan plan_;
    std::optional<Scratch> scratch_;
    std::vector<Measured> values_, steps_;
    std::vector<std::string> notes_;
    Processor processor_{};
    std::optional<FittedWeight> unit_;                             // ns
    std::map<std::string, double> asymmetric_, original_;          // settings to write
    std::map<std::string, std::map<std::string, double>> profile_; // by section
    std::string profile_text_;
};

} // namespace calibrate
