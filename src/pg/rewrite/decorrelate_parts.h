// What the files of decorrelation share.
#pragma once

#include "pg/pg.h"

#include "pg/rewrite/error_free_expression.h"

namespace gpuscan {

// A query level under work.
struct Level {
    Query *query;
    List *conjuncts; // of WHERE
    bool shown;      // the subquery stands in the target list
    bool changed;
    bool makes_rows; // of the statement: see level_of_rows()
    bool guards;     // a sum of plain numerics may be joined (decorrelate_guarded.cpp)
};

// s.k = x
struct Correlation {
    const OpExpr *clause;
    Node *inside;      // over the subquery's own columns
    Node *outside;     // over the outer query's columns, as the outer query sees them
    bool inside_first; // the operator's left side
};

constexpr int max_pairs = 8;

struct Correlations {
    int count;
    Correlation pairs[max_pairs];
    List *kept; // the other conjuncts
};

// Whose columns are in an expression?
enum : int { own_columns = 1, outer_columns = 2, others = 4 }; // others: of queries further out, or not to be told
int levels_of(void *node);

// The level as its expressions are to be looked at: CTEs are subqueries.
const Query *looked_at(const Level *level);

// A copy of the conjuncts of WHERE.
List *conjuncts_of(const Query *query);
Node *conjunction(List *conjuncts);

// Are they over the query's own columns, and none that may raise an error?
bool are_error_free(const Query *query, const List *expressions);

// Is the operator an equality of the family by which values of this type are grouped?
bool is_grouping_equality(Oid opno, Oid collation, Node *key);

// A subquery's expression of the outer query's columns, as the outer query writes it.
Node *seen_from_outside(const Node *node);

// Is it a column of a relation that no outer join can make NULL?
bool is_inner(const Query *query, const Var *column);

// Adds to the subquery what the outer query asks of the columns that it is correlated by.
void leave_out_groups(const Level *level, const Correlations *all, Query *grouped);

// x IN (...), x <> ALL (...) and the like
bool is_quantified(const SubLink *link);

// Nothing in the expression can raise an error, subqueries included; likewise the conditions of joins, those of subqueries in FROM.
bool is_error_free_with_links(const Level *level, Node *node);
bool joins_are_error_free_with_links(const Level *level, Node *from);
bool subqueries_are_error_free(const Query *query);

// The equalities of (x, ...) IN (SELECT y, ...), or of what says the contrary of it; `all->kept` is left alone.
bool read_members(const Level *level, const SubLink *link, Correlations *all);

// What is true of the level's rows where the correlated subquery has one; NULL: it cannot be a join.
Node *join_exists(Level *level, const Query *sub);

// The conjuncts that stand for the conjunct x NOT IN (...); NIL: it is none, or it stays.
List *exclude_members(Level *level, Node *conjunct);

// ---- sums that may overflow (decorrelate_guarded.cpp) ----

// The statement's level that makes its rows: those above take all of them, one after the other.
const Query *level_of_rows(const Query *statement);

// Is the level's only subquery evaluated for the same rows whether it is joined or not, if nothing else there can raise an error?
bool may_guard(const Level *level);

// What is known of the subquery's value where its sums of plain numerics are guarded. False: it has none, or something else of it may raise
// an error.
bool guarded_bounds(const Query *sub, const Node *value, NumericBounds *bounds);
// The value over the values that are not too large, and whether there is one that is, an aggregate too. NULL: as above.
Node *guarded_value(const Query *sub, const Node *value, Node **any_beyond);
// Their columns once they are joined: the value, or where there is one that is too large the subquery.
Node *choose_guarded(Node *any_beyond, const SubLink *link, Node *value);

} // namespace gpuscan
