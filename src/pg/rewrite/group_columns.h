// Expressions over a level's groups, as expressions over the columns of a relation that makes the groups.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct GroupColumns {
    int rti;       // of the relation, in the level's range table
    List *columns; // of Node *: the relation's, as expressions over the level's rows; the keys first
    int nkeys;
    const char *reason; // why an expression is none over the columns: NULL if it is, or if there is nothing to tell
};

// The number, from 1 on, of the column that is the expression, which is added if it is new.
int column_of(GroupColumns *groups, Node *expr);

Var *column_as_var(const GroupColumns *groups, int column);

// Another function of the same argument and the same rows.
Node *other_aggregate(const Aggref *aggref, Oid function, Oid type);

// The function whose value avg() divides by count(), as a numeric; InvalidOid: the function is no such average.
Oid sum_of_average(Oid function, Oid *type);

Expr *call_of(Oid function, Oid type, List *args);

// A plain aggregate of one argument.
Aggref *make_aggregate(Oid function, Oid type, Oid collation, Expr *arg);

// What an aggregate is over the columns: NULL if it cannot be.
using AggregateOverColumns = Expr *(*)(GroupColumns *groups, const Aggref *aggref);

// The expression (or a list) over the columns; false: it cannot be.
bool over_group_columns(GroupColumns *groups, AggregateOverColumns aggregate, Node **expr);

} // namespace gpuscan
