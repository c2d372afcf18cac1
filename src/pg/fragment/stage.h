// A subquery whose groups are rows of the query around it, without leaving the device process.
//
// The subquery is a fragment of its own: its node is the plan that feeds a source of the outer fragment. If that plan hands on nothing but
// keys and aggregates that the device process can finish, the outer node runs the subquery's program before its own and reads the
// groups as columns (engine/result/stage_rows.hpp); the plan is then not executed (exec/stages.cpp).
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// What of a group an output is, as a column. A text's codes are of the dictionary of column `text` of source `source`; source -1: of
// unified dictionary `text`.
struct StageField {
    ir::StageColumn column;
    int source, text;
};

// False: only PostgreSQL can make a value of the output. (The type is the one in which the device has it; an integer may become a larger one.)
bool stage_field(const Fragment *fragment, int output, StageField *field);

// Are the device's groups those that a node with this qual shows?
bool delivers_its_groups(const Fragment *fragment, const List *qual);

// PostgreSQL's path for a source that is no relation, without what the level computes of its only relation's rows; NULL: it is not known yet.
Path *path_of_source(const RelOptInfo *rel);

// The typmods with which the columns of a subquery are described, by attribute number from 0 on: of a numeric, the device's; of others -1. NIL:
// the relation is no stage. To be asked when PostgreSQL's paths for it are known.
List *stage_typmods(const RelOptInfo *rel);

// Does a stage's fragment hide how much it has read (hidden_rows.h)? The one around it runs it, and does so then, too.
bool stage_hides_counts(const RelOptInfo *rel);

} // namespace gpuscan
