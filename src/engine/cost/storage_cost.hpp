// What reading and writing pages of storage costs: the arithmetic of the page cost model, without PostgreSQL.
//
// The model is that of Bausch, Petrov and Buchmann, "Making Cost-Based Query Optimization Asymmetry-Aware" (DaMoN 2012):
// PostgreSQL's two page costs become four, by direction and pattern. Numbers in parentheses are the paper's equations. Scans
// keep PostgreSQL's formulas (1 to 30), in which the read costs take the places of the two page costs; what differs is the
// temporary files of sorts (33, 34), hash joins (35, 36), and materialized rows (31, 32). Hash aggregation's spilling came
// with PostgreSQL 13 and has a write cost of its own here.
//
// All costs are in PostgreSQL's unit (one page that is read in sequence, if seq_page_cost is 1), all sizes in pages.
//
// Surrogates. An extension cannot change the server's formulas, but it can change the two page costs that they read.
// `Surrogate` holds a pair of them under which PostgreSQL's own formulas give what the model asks for, for the steps of a plan
// that are being weighed. Two numbers cannot stand for five everywhere; each function says what is exact. They may be negative.
#pragma once

namespace gpuscan::storage {

struct PageCosts {
    double seq_read, random_read;
    double seq_write, random_write; // of temporary files
    double hashagg_write;           // of the partitions of a hash aggregation
};

struct Surrogate {
    double seq, random; // for seq_page_cost and random_page_cost
};

// Where the model's costs are PostgreSQL's: reads as they are, writes like sequential reads, hash aggregation's like random ones.
PageCosts neutral_costs(double seq_page_cost, double random_page_cost);

// A temporary file's part of a step's cost: before its first row, and in all.
struct FileCost {
    double startup, total;
};

// How often an external sort writes and reads all of its input: ceil(log of the runs to the base of the merge order), at
// least 1. `memory` in the unit of `bytes`.
double merge_passes(double bytes, double memory, double merge_order);

// (33): PostgreSQL's cost of an external sort; all of it is paid before the first row.
double stock_sort(Surrogate costs, double pages, double passes);
// (34): the first pass writes in sequence; merging writes and reads in turn, half of the pages at random.
double sort(const PageCosts &costs, double pages, double passes);
// The cost of one page in one pass of (34), on the average over all passes.
double sort_page(const PageCosts &costs, double passes);

// (35) and (36): the batches of a hash join. The inner side is written before the first row.
FileCost stock_hash_join(Surrogate costs, double inner_pages, double outer_pages);
FileCost hash_join(const PageCosts &costs, double inner_pages, double outer_pages);

// (31) and (32): writing rows down, reading them again.
double material(const PageCosts &costs, double pages);
double rescan(const PageCosts &costs, double pages);

// Hash aggregation writes and reads `pages` (as often as it partitions, and with PostgreSQL's factor 2 for bad patterns).
FileCost stock_hash_aggregate(Surrogate costs, double pages);
FileCost hash_aggregate(const PageCosts &costs, double pages);

// Under it (33) gives what (34) says if a page of a pass costs `page`; both costs are the same.
Surrogate for_sorts_alone(double page);
// Are the files of joins PostgreSQL's, too? If writing costs what reading in sequence does.
bool files_are_postgres_own(const PageCosts &costs);
// For joins. If the files of joins are PostgreSQL's own: exact. Else no step that has files costs less than by the model, before
// its first row and in all.
Surrogate for_joins(const PageCosts &costs);
// For grouping and sorting above the joins. Exact: the total of hash aggregation, and sorts as above. Not exact: what of hash
// aggregation comes before the first row.
Surrogate for_groups(const PageCosts &costs, double page);
// For writing a plan's result down (31), with exact sorts.
Surrogate for_material(const PageCosts &costs, double page);

} // namespace gpuscan::storage
