// What PostgreSQL's own executor takes for a plan: the arithmetic, without PostgreSQL.
//
// The planner's costs rank PostgreSQL's plans among each other, and for that a few weights do: a row that is looked up in a hash table
// costs an operator, as does the comparison of two integers and the addition of two numerics, and a page out of order what a disk takes.
// Measured in time, the same plans differ by a factor of ten in what a unit of their costs takes. To decide between such a plan and a
// device, whose costs are times, the plan's work is counted in the *steps* that the executor takes, each with a rate of its own: what a
// step takes one process in nanoseconds, all data being in memory. (Manegold, Boncz and Kersten, VLDB 2002: a query's cost is the sum of
// its operators' basic patterns, each with the rate of the level of memory that it meets; Wu et al., ICDE 2013: the optimizer's cost
// model predicts times well once its units are calibrated and its counts are right.)
//
// Which plan PostgreSQL takes when it is left to itself is not touched by any of this.
#pragma once

#include <cstdint>

namespace gpuscan::executor {

enum class Step : uint8_t {
    // scans
    PageInOrder,
    PageOutOfOrder,
    PageFar,
    PageAgain,
    PageTouched,
    Tuple,
    Attribute,
    IndexStarted,
    IndexTuple,
    BitmapTuple,
    // expressions
    Operation,
    NumericCompared,
    NumericComputed,
    TextCompared,
    TextMatched,
    // joins
    RowBuilt,
    RowBuiltFar,
    RowProbed,
    RowProbedFar,
    RowJoined,
    Loop,
    RowLooped,
    RowMemoized,
    // grouping and aggregates
    Transition,
    NumericTransition,
    RowGrouped,
    RowGroupedFar,
    GroupMade,
    // sorting and passing on
    RowSorted,
    Comparison,
    TextComparison,
    RowKept,
    RowWindowed,
    RowGathered,
    TeamStarted,
};
constexpr int steps = static_cast<int>(Step::TeamStarted) + 1;

// Of PostgreSQL's settings, the one in whose price PostgreSQL would put the step: a rate holds at the setting's default, and follows it.
// (Pages: their settings are what storage takes, and these are in memory.)
enum class Setting : uint8_t { None, Tuple, IndexTuple, Operator, ParallelTuple, ParallelSetup };

struct StepInfo {
    const char *name; // as in a profile
    Setting setting;
    const char *unit;
    const char *meaning;
    double ns; // by default
};
const StepInfo &info(Step step);

struct Rates {
    double ns[steps];
};
const Rates &default_rates();

// So many of each.
struct Work {
    double amount[steps];
    double other_ns; // what is known as a time only
};

inline void add(Work *work, Step step, double amount) { work->amount[static_cast<int>(step)] += amount; }

double time_of(const Work &work, const Rates &rates); // ns

// ---- work of single operators ----

// What a process has of the caches near its core, and a table of which next to nothing is in any cache, nor its pages in the translation
// buffers. Between them, one level after the other is missed: what an access takes grows with the logarithm.
constexpr double near_bytes = 2 << 20, far_bytes = 200 << 20;
double far_share(double bytes); // of what an access to such a large table takes more: for one of so many bytes

void build(Work *work, double rows, double table_bytes);
void probe(Work *work, double rows, double table_bytes);
void group(Work *work, double rows, double groups, double group_bytes);
// `kept` > 0: only the first so many are wanted.
void sort(Work *work, double rows, double kept, bool texts);

} // namespace gpuscan::executor
