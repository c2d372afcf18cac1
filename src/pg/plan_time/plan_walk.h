// What those share who count the steps of a path's nodes: where the walk through the path is, and how often what it meets is executed.
//
// Three things are kept apart, so that none is taken for another: what an execution does in any case (before its first row, or to begin),
// what it does for the rows that it is asked for, and what a process does once, however often the node is executed.
#pragma once

#include "pg/pg.h"

#include <algorithm>

#include "engine/cost/executor_cost.hpp"

namespace gpuscan {

struct PlanWalk {
    PlannerInfo *root;
    const List *key_joins; // of the query level
    executor::Work *work;
    List **missing_columns; // what devices have brought so far
    double executions;      // of the node, by one process: 1 or more
    double share;      // of its rows that each execution is asked for; of steps below, so much of the whole is counted
    double different;  // keys at most, of the rows that the node sorts; HUGE_VAL: nobody knows
    double bound;      // the node knows that no more rows are wanted (ExecSetTupleBound); 0: it does not
    double lives;      // of such processes, one after the other; or the part of the work that is one's
    double contention; // how much longer than alone each takes, with more processes than cores
    bool is_worker;    // the process is new, and has not seen shared memory's pages
    bool anew;         // executions differ by what a level above hands in: nothing outlives one

    // What an execution does in full, whatever it is asked for: before its first row, say.
    PlanWalk whole() const;
    // What a process does once, as long as nothing that it depends on changes (`depends`: it changes).
    PlanWalk once(bool depends) const;
    PlanWalk repeated(double often) const; // for all rows of this node, the next one is executed anew so often
    PlanWalk part(double of_rows) const;   // ... is asked for a part
    PlanWalk by_workers(double contended) const;
    PlanWalk divided(double share_of_process) const;
    PlanWalk into(executor::Work *other) const;

    double rows_of(const Path *path) const;       // as they are known best, at least 1
    double correction_of(const Path *path) const; // of PostgreSQL's estimate

    // The next node, which is asked for the same share of rows. (hand_on: it is told the bound, too. That is for nodes that hand each row on.)
    void count_path(const Path *path) const;
    void hand_on(const Path *path) const;

    double times() const { return executions * lives * contention; } // of all that is counted

    // Each of these counts what is done for all rows, of which the share is taken; but not of steps that an execution takes in any case.
    void count(executor::Step step, double amount) const;
    void count_all(const executor::Work &more) const;
    void count_ns(double before_first_row, double in_all) const;
    void count_units(Cost before_first_row, Cost in_all) const; // of PostgreSQL's costs
    void conditions(const List *list, double rows) const;
    void expression(const void *node, double rows) const;
    // All rows are there before the first one comes: to be called of whole(), but for sorts that go group by group.
    void sort(double rows, double kept, const List *pathkeys, int width) const;
    void read_again(double rows) const; // by executions after the first, of what has been kept
};

template <class T> const T *as(const Path *path) { return reinterpret_cast<const T *>(path); }

// By how many processes PostgreSQL divides a partial path's rows (get_parallel_divisor): a leader who gathers does a part of one's work. 1: the
// path is not partial, and each process that has it does all of it.
inline double parallel_divisor(const Path *path) {
    const double workers = path->parallel_workers;
    const double leader = parallel_leader_participation ? std::max(1 - 0.3 * workers, 0.0) : 0;
    return workers > 0 ? workers + leader : 1;
}

constexpr double hash_entry_bytes = 48; // of a join's table or of a group, beside its columns

// Nodes, with what they read but for those that stream one input: of these the input is counted already. (plan_time.cpp has the table.)
void count_scan(const PlanWalk &walk, const Path *path);
void count_index_scan(const PlanWalk &walk, const Path *path);
void count_bitmap_scan(const PlanWalk &walk, const Path *path);
void count_hash_join(const PlanWalk &walk, const Path *path);
void count_merge_join(const PlanWalk &walk, const Path *path);
void count_nested_loop(const PlanWalk &walk, const Path *path);
void count_group(const PlanWalk &walk, const Path *path);
void count_aggregate(const PlanWalk &walk, const Path *path);
void count_grouping_sets(const PlanWalk &walk, const Path *path);

// How many times the groups of such a node are that PostgreSQL expects; 1: it is none.
double group_correction(PlannerInfo *root, const Path *path);

// Pages of a table that an index leads to. `far`: those of them that were not looked at a moment ago.
void count_fetches(const PlanWalk &walk, const RelOptInfo *rel, double far, double pages);

} // namespace gpuscan
