// Where PostgreSQL's estimates of rows are known to be wrong: by how much?
//
// A correction belongs to a set of relations, and is a factor of the rows of each relation that is made of these. There are three
// sources: joins on keys of several columns (joint_keys.h), conditions on what functions make of a column (sampled_conditions.h), and tables
// that a grouped subquery reads as well (repeated_tables.h).
// PostgreSQL's own numbers stay what they are: its rows, costs and choices among its own plans. Corrected are the rows by
// which its plan's time and a device's cost are counted, on both sides of the comparison alike.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct RowCorrection {
    Relids relations;
    double factor;    // of the rows that PostgreSQL expects; above 0
    const List *ends; // of Relids: in relations with all of one of these the rows no longer follow
    double most;      // rows that it makes of fewer; 0: any number
};

void add_correction(List **corrections, const RowCorrection &correction);

// Those of a query level, computed once; to be asked when its base relations have their rows.
const List *row_corrections(PlannerInfo *root);

// How many times the rows of a relation are that PostgreSQL expects.
double row_correction(const List *corrections, const RelOptInfo *rel);

// Where do a base relation's conditions, or those of several, no longer decide how many rows there are? Beyond a join that keeps the other side's rows
// whatever this side has (a left or an anti join), or each of them once (a semi join).
const List *ends_of(const PlannerInfo *root, const Relids relations);

// The relation's rows, corrected; at least 1.
double expected_rows(PlannerInfo *root, const RelOptInfo *rel);

// Levels are known for as long as a statement is planned, which can nest: begin returns what end wants back.
struct LevelCorrections;
LevelCorrections *row_corrections_begin();
void row_corrections_end(LevelCorrections *before);

} // namespace gpuscan
