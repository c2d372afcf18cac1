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
// Work is a step of its own only if its time is none of another step's by a factor of 1.5, or a small multiple of it (below).
// Which plan PostgreSQL takes when it is left to itself is not touched by any of this.
#pragma once

#include <cstdint>

namespace gpuscan::executor {

// A step's rate is multiplied by how many of them there are: for each row that a node hands on, or for each execution of the node, which begins
// whether it is asked for many rows or for one.
enum class Per : uint8_t { Row, Execution };

// Of PostgreSQL's settings, the one in whose price PostgreSQL would put the step: a rate holds at the setting's default, and follows it.
// (Pages: their settings are what storage takes, and these are in memory. Nor do cores' prices say what memory takes.)
enum class Setting : uint8_t { None, Tuple, IndexTuple, Operator, ParallelTuple, ParallelSetup };

struct StepInfo {
    const char *name; // as in a profile
    const char *unit;
    double ns;             // measured, see below; by default
    const char *benchmark; // the query that has most of it, of those that measure steps (calibrate/step_queries.cpp)
    Setting setting;
    Per per;
    const char *meaning;
};

// Each step once: its enumerator and its entry in the table. The rates are of a core that takes as long to test a row as tier_measure.cpp's
// reference; a device process scales them to its own machine, and `gpuscan-calibrate measure` finds those that differ. (On 2 cores of half the reference's time, PostgreSQL 15,
// November 2026, least squares found 0.65 to 1.3 of these, scaled, but 3 of page_in_order, for which pairs of queries say 0.8 to 1.4;
// page_out_of_order, page_touched and row_gathered were not told there.)
// clang-format off
#define GPUSCAN_EXECUTOR_STEPS(X) \
    X(PageInOrder, "page_in_order", "page", 530, "pages with few rows", Setting::None, Per::Row, "of a table in shared buffers") \
    X(PageOutOfOrder, "page_out_of_order", "page", 300, "an index out of order", Setting::None, Per::Row, "to which an index leads") \
    X(PageTouched, "page_touched", "page", 1100, "lookups of parallel workers", Setting::None, Per::Row, "more for a worker's first look at it") \
    X(CacheMiss, "cache_miss", "access", 560, "a join of two larger tables", Setting::None, Per::Row, "that ends in memory") \
    X(IndexStarted, "index_started", "descent", 920, "lookups in order", Setting::Operator, Per::Execution, "from an index's root to its first entry") \
    X(IndexEntry, "index_entry", "entry", 45, "an index alone", Setting::IndexTuple, Per::Row, "the next, or its row on the page before") \
    X(Tuple, "tuple", "row", 37, "all pairs with a few rows", Setting::Tuple, Per::Row, "that a node hands on") \
    X(Attribute, "attribute", "value", 3.9, "the last column", Setting::Tuple, Per::Row, "a column that a row is taken apart for") \
    X(Operation, "operation", "call", 9, "sums of expressions", Setting::Operator, Per::Row, "an operator of fixed-length values") \
    X(Numeric, "numeric", "call", 46, "sums of numeric expressions", Setting::Operator, Per::Row, "a comparison or sum of numerics") \
    X(Text, "text", "call", 38, "patterns", Setting::Operator, Per::Row, "a comparison or function of texts") \
    X(RowHashed, "row_hashed", "row", 50, "few groups", Setting::Operator, Per::Row, "that is looked up in a hash table") \
    X(GroupMade, "group_made", "group", 350, "many groups of a small table", Setting::Tuple, Per::Row, "that is new") \
    X(RowKept, "row_kept", "row", 190, "a window", Setting::Tuple, Per::Row, "that is written down in memory and read again") \
    X(RowGathered, "row_gathered", "row", 79, "rows of parallel workers", Setting::ParallelTuple, Per::Row, "from a parallel worker") \
    X(TeamStarted, "team_started", "team", 8.5e6, "parallel workers", Setting::ParallelSetup, Per::Execution, "parallel workers, start and end")
// clang-format on

#define GPUSCAN_STEP(name, ...) name,
enum class Step : uint8_t { GPUSCAN_EXECUTOR_STEPS(GPUSCAN_STEP) };
#undef GPUSCAN_STEP
#define GPUSCAN_STEP(name, ...) {__VA_ARGS__},
constexpr StepInfo step_table[] = {GPUSCAN_EXECUTOR_STEPS(GPUSCAN_STEP)};
#undef GPUSCAN_STEP
constexpr int steps = sizeof step_table / sizeof *step_table;
constexpr const StepInfo &info(Step step) { return step_table[static_cast<int>(step)]; }

// Work that takes several times as long as the step that it is like.
constexpr double numeric_products = 2; // a product or quotient of numerics is allocated: Numeric
constexpr double text_patterns = 3;    // LIKE and regular expressions: Text
constexpr double hashed_rows = 2;      // rows into the hash table of a join, or to their group: RowHashed
constexpr double page_misses = 2;      // a page's descriptor, and its rows: CacheMiss
constexpr double overlapped = 0.25;    // CacheMiss, where nothing waits for it: rows built or grouped

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
void add(Work *work, const Work &more, double times); // with its time

double time_of(const Work &work, const Rates &rates); // ns

// ---- work of single operators ----

// What a process has of the caches near its core, and a table of which next to nothing is in any cache, nor its pages in the translation
// buffers. Between them, one level after the other is missed: what an access takes grows with the logarithm.
constexpr double near_bytes = 2 << 20, far_bytes = 200 << 20;
double far_share(double bytes); // of accesses to such a large table, those that are counted as misses

void build(Work *work, double rows, double table_bytes);
void probe(Work *work, double rows, double table_bytes);
void group(Work *work, double rows, double groups, double group_bytes);
// `kept` > 0: only the first so many are wanted.
void sort(Work *work, double rows, double kept, bool texts);

} // namespace gpuscan::executor
