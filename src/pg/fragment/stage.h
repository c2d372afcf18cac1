// A subquery whose groups, or rows with the results of window functions, are rows of the query around it, without leaving the device
// process.
//
// The subquery is a fragment of its own: its node is the plan that feeds a source of the outer fragment. The outer node runs the
// subquery's program before its own and reads what that has made as columns (engine/result/stage_rows.hpp); the plan is then not executed
// (exec/stages.cpp). What the subquery computes of its groups or rows, and the conditions that the query around it has for them, become
// expressions of the outer program. PostgreSQL computes them for all rows before it asks for any condition, so whatever may raise an
// error there is evaluated for all of them here, too (add_computed in assemble.cpp).
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// What of a group or row an output is, as a column. A text's codes are of the dictionary of column `text` of source `source`; source -1:
// of unified dictionary `text`.
struct StageField {
    ir::StageColumn column;
    int source, text;
};

// False: only PostgreSQL can make a value of the output. (The type is the one in which the device has it; an integer may become a larger
// one.) Of an average of integers or numerics it is the sum, and output `noutputs` further on the count.
bool stage_field(const Fragment *fragment, int output, StageField *field);

// Are the device's groups, or rows, those that a node with this qual shows, and can they be handed over?
bool can_be_stage(const Fragment *fragment, const List *qual);

// PostgreSQL's path for a source that is no relation, without what the level computes of its only relation's rows; NULL: it is not known yet.
Path *path_of_source(const RelOptInfo *rel);

// FragmentSource::stage_columns of the relation, of those columns that are read of it; NIL: it is no stage. To be asked when PostgreSQL's
// paths for it are known.
List *stage_columns(const RelOptInfo *rel);

// How many groups or rows a stage hands over, before any condition.
double stage_rows(const RelOptInfo *rel);

// Does a stage's fragment hide how much it has read (hidden_rows.h)? The one around it runs it, and does so then, too.
bool stage_hides_counts(const RelOptInfo *rel);

} // namespace gpuscan
