// What a fragment costs on a device: the arithmetic of every tier that it touches, without PostgreSQL and without CUDA.
//
// Work is a *count vector*: so many bytes, accesses, rows, requests of each kind (`Count`), by stage of the fragment (`Stage`). A
// device's *weights* (tier_weights.hpp) say what one of each takes, in nanoseconds. Cost is weights times counts, so the counts of queries that were
// timed give the weights by least squares (Stark's proposal for PostgreSQL's planner, pgsql-performance, March 2005).
//
// Sequential access is priced by the byte; random access by the access, as each moves a whole segment (Yuan, Lee and Zhang, PVLDB 6(10),
// section 6: device memory is a row of segments, and what counts is how many of them are moved). Whether it moves one at all is a matter of the
// structure that it hits: with two caches of known size, an access to s bytes meets the near one with probability near / s, and the far
// one with far / s (s being larger); the rest goes to memory.
//
// What is shared. Weights are of one core, or of the whole GPU. What the threads of the host device share is divided by them in the
// prices (`Prices`); what feeding processes share is divided by these in the counts, since there are as many as a table is worth, and so is
// what the host's cores do on either device's behalf (sorting, LIKE).
//
// What overlaps. While pages are brought, the feeding processes find the next ones (in storage, or in shared buffers), the link
// carries, and the device decodes; the slowest of the three is what takes time (Yuan et al., section 4.3: transfer overlapping). What the other two
// would have taken is a stage's `hidden_ns`, so that its counts still say all that was done, and stages add up to the total. Feeding
// processes take chunk after chunk. As long as there is one for each of them the three are as above; the last chunks keep fewer processes busy
// than there are, and finding their pages takes as long as one process needs for one chunk. Other stages follow one another.
#pragma once

#include "engine/cost/tier_weights.hpp"

namespace gpuscan::tier {

enum class Stage : uint8_t {
    Start, // opening a fragment and its sources
    Feed,  // bringing what is not cached
    Texts, // dictionaries and tables over them
    Scan,  // reading columns, filters
    Build, // join tables
    Probe, // joins
    Group, // grouping and aggregation
    Sort,
    Fetch, // rows or groups to the backend
    Emit,  // ... and to tuples
};
constexpr int stages = 10;

inline const CountInfo &info(Count count) { return weight_table[static_cast<int>(count)]; }
const char *name_of(Tier tier, bool gpu);
const char *name_of(Pattern pattern); // "" for None
const char *name_of(Stage stage);

// A device's column of the table. Of Storage and PlanCost the planner knows the weights (`Machine`).
struct Weights {
    double values[device_values];
};
const Weights &default_weights(bool gpu);
constexpr double default_ns_per_unit = 4000;

// What is true of the server, the session and this moment.
struct Machine {
    bool gpu;
    double threads;               // that share the host device's work; of a GPU 1
    double text_threads;          // that evaluate texts
    double cores;                 // of the machine
    double cache_bytes;           // of columns that the device can keep
    double work_bytes;            // that join tables and groups can take
    double busy;                  // requests of others on the device now, on the average
    double ns_per_unit;           // of the planner's costs
    double page_read, page_write; // in sequence, in the planner's units
};

// Weights as they are here and now: divided by those who share the work, storage and plans included.
struct Prices {
    double ns[counts];
    double near_bytes, far_bytes;
};
Prices prices(const Weights &weights, const Machine &machine);

// Counts by stage. Plain data, to be cleared by its owner.
struct Breakdown {
    double amount[stages][counts];
    double hidden_ns[stages];
};
double stage_ns(const Breakdown &breakdown, const Prices &prices, Stage stage);
double total_ns(const Breakdown &breakdown, const Prices &prices);

// Of accesses to a structure of so many bytes.
struct Levels {
    double near, far, memory; // add up to 1
};
Levels levels(double bytes, double near_bytes, double far_bytes);

// How often probing must go through its input if the tables fit only piece by piece.
double passes(double table_bytes, double work_bytes);

// Reading a relation's columns.
// Columns; of them, those whose values have no fixed length (numerics, texts), and those of texts, of which a share is not among
// the texts that a thread remembers (`unfamiliar`); and how many other attributes lie between them that a tuple's walker steps over.
struct Columns {
    double all, varlena, texts, unfamiliar, passed;
};

struct RelationWork {
    double pages;
    double cacheable_share; // of the pages, those that can be cached
    double hashed;          // of the pages, those that are hashed for each query to see whether they have changed
    double rows;            // before the filters
    double chunk_rows;      // of them, those of the largest chunk
    double conjuncts;
    Columns read, absent;  // absent: of those that are looked at, which the cache does not have of all pages
    double text_entries;   // different texts of the absent ones
    double cached_share;   // of the absent ones: is in the cache now; < 0: not known
    double resident_share; // of the pages that stand in shared buffers, most likely
    bool brought_before;   // another source of the fragment has brought the same columns
    bool unread;           // nobody looks at its rows: a table that was made of them is still there
    // Feeding processes beside the backend, for pages that are decoded and for those read row by row (all that would be worth it),
    // and how many pages each of them takes at a time (0: they share each chunk).
    double workers, row_workers;
    double chunk_pages;
    double expressions; // absent ones that PostgreSQL evaluates for the pages that are decoded
    double evaluated;   // ... which costs it so much for a page
};

constexpr double value_bytes = 4;        // of a column, in frames
constexpr double table_entry_bytes = 12; // of a join table
constexpr double bound_bytes = 8;        // ... of an interval
constexpr double group_state_bytes = 24; // of a key or a state of a group
// Where nobody knows what is cached: a relation that fits is taken to be queried often enough that one scan pays for a tenth of it. So are
// expressions of texts.
constexpr double expected_missing = 0.1;
// Kernels are kept in files, too; few executions meet one that nobody has compiled.
constexpr double expected_compiles = 0.001;

// The share of the pages that can be decoded into columns.
double decoded_share(const RelationWork &work, double cache_bytes);
// The share of the columns that the cache can hold.
double fitting_share(const RelationWork &work, double cache_bytes);
// The share of what could be cached that has to be brought.
double missing_share(const RelationWork &work, double cache_bytes);

// Adds up what work costs, and notes its counts in a breakdown if there is one. Rows, bytes and entries are estimates of the planner's.
class Ledger {
  public:
    Ledger(const Machine &machine, const Prices &prices, Breakdown *breakdown = nullptr)
        : machine_(machine), prices_(prices), breakdown_(breakdown) {}
    double ns() const { return ns_; }

    void add(Stage stage, Count count, double amount) {
        ns_ += amount * prices_.ns[static_cast<int>(count)];
        if (breakdown_ != nullptr)
            breakdown_->amount[static_cast<int>(stage)][static_cast<int>(count)] += amount;
    }
    // Of the memory where the device has its columns and tables.
    void sequential(Stage stage, bool write, double bytes);
    void random(Stage stage, bool write, double accesses, double structure_bytes);

    void start(int sources, int lookups); // a fragment
    void lookups(int more);               // tables over dictionaries
    void relation(const RelationWork &work);
    void plan_rows(double cost, double rows, double columns);  // of a CPU plan with such a cost in the planner's units
    void stage_rows(double cost, double rows, double columns); // of groups that the device process has, at such a cost
    void build(double rows);                 // of a join table: row_built, memory_random_write(_cached)
    void probe(double rows, double entries); // ... by each row: row_step, memory_random_read(_cached)
    void pairs(double rows, double entries); // ... without an equality: value_step
    // ... where partners lie between bounds, and so many pairs are found.
    void intervals(double rows, double entries, double found);
    void unmatched(double entries);
    void aggregate(double rows, double groups, double delivered, int keys, int states); // (of the groups, so many)
    void aggregate_again(double groups);
    // Does the device note the values that groups have had, for DISTINCT aggregates, instead of grouping by them, too? `numbers`: of groups.
    // `bits`: bytes, of a bit for each group and value. And what that costs.
    bool notes_values(double rows, double numbers, double bits) const;
    void distinct_values(double rows, int arguments, double bits);
    // Rows that leave the device: before the first one is shown, and making tuples of them. Beyond `kept_bytes` they go through a file.
    void fetch_rows(double rows, double columns, double row_bytes, double entries, double kept_bytes);
    void emit_rows(double rows, double columns);
    void sort(double rows, double columns);
    void windows(double rows, double functions); // of one order, beside sorting
    // Ordered-set aggregates: rows with the keys of their groups and the arguments, whose values are searched.
    void ordered_sets(double rows, double columns, double arguments);
    void plan_cost(Stage stage, double units) { add(stage, Count::PlanCost, units); }

    // Entries of dictionaries, see pg/cost/device_cost.h.
    struct Texts {
        double native, evaluated, shown, deferred;
    };
    void texts(const Texts &work);

  private:
    const Machine &machine_;
    const Prices &prices_;
    Breakdown *breakdown_;
    double ns_ = 0;

    void transient(double rows, double columns); // that are brought for this execution
    struct Piece;                                // of a relation's pages
    void bring(const RelationWork &work, const Piece &piece);
};

} // namespace gpuscan::tier
