// What those share who count the steps of a path's nodes: where the walk through the path is, and how often what it meets is executed.
#pragma once

#include "pg/pg.h"

#include "engine/cost/executor_cost.hpp"

namespace gpuscan {

struct PlanWalk {
    PlannerInfo *root;
    const List *key_joins; // of the query level
    executor::Work *work;
    double times; // of each step below
    // In parallel workers: the share of those times in which a process does it. 0: a session's process.
    double worker;
    List **missing_columns; // what devices have brought so far

    PlanWalk repeated(double often) const { return {root, key_joins, work, times * often, worker, missing_columns}; }
    // By workers of whom there are so many for a core.
    PlanWalk by_workers(double contention) const {
        return {root, key_joins, work, times * contention, 1 / (times * contention), missing_columns};
    }

    double rows_of(const Path *path) const;       // as they are known best, at least 1
    double correction_of(const Path *path) const; // of PostgreSQL's estimate

    void count(executor::Step step, double amount) const { executor::add(work, step, amount * times); }
    void count_all(const executor::Work &more) const;
    void count_units(Cost units) const; // of PostgreSQL's costs
    void count_path(const Path *path) const;
    void conditions(const List *list, double rows) const;
    void expression(const void *node, double rows) const;
    void sort(double rows, double kept, const List *pathkeys, int width) const;
};

template <class T> const T *as(const Path *path) { return reinterpret_cast<const T *>(path); }

constexpr double hash_entry_bytes = 48; // of a join's table or of a group, beside its columns

// Nodes, with what they read but for those that read one input to its end: of these the input is counted already. (plan_time.cpp has the table.)
void count_scan(const PlanWalk &walk, const Path *path);
void count_index_scan(const PlanWalk &walk, const Path *path);
void count_bitmap_scan(const PlanWalk &walk, const Path *path);
void count_hash_join(const PlanWalk &walk, const Path *path);
void count_merge_join(const PlanWalk &walk, const Path *path);
void count_nested_loop(const PlanWalk &walk, const Path *path);
void count_group(const PlanWalk &walk, const Path *path);
void count_aggregate(const PlanWalk &walk, const Path *path);
void count_grouping_sets(const PlanWalk &walk, const Path *path);

// Pages of a table that an index leads to. `far`: those of them that were not looked at a moment ago.
void count_fetches(const PlanWalk &walk, const RelOptInfo *rel, double far, double pages);

} // namespace gpuscan
