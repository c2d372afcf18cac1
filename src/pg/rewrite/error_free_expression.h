// Which expressions cannot raise an error, whatever rows they meet?
//
// A rewritten query evaluates a subquery's expressions for rows that nobody asked for. That may not show.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// What is known of a numeric expression's values without looking at any.
struct NumericBounds {
    int digits;       // before and after the point together, at most
    int scale;        // digits after the point of the largest display scale
    bool exact_scale; // every value is shown with `scale` digits after the point
};

// Of an expression over the query's columns (NULL: over what a plan's nodes deliver).
bool numeric_bounds(const Query *query, Node *node, NumericBounds *bounds);

// The expression with its constants folded; NULL: that raises an error, which PostgreSQL's planner may never meet, because it does not
// fold what nobody needs.
Node *folded(const Node *node);

// Columns of the query's own plain tables, or of its subqueries where they are error-free there; constants, parameters, comparisons, logic,
// arithmetic of bounded numerics. Whether anything else of a subquery may raise an error is not asked (error_free_query.h).
// Aggregates count if `aggregates` (but never inside one another). False for whatever is not known to be free of errors.
bool is_error_free(const Query *query, Node *node, bool aggregates = false);

// The same of an expression of a finished plan's node, or of a list of them: its Vars are what other nodes deliver, and whether an init
// plan that a parameter stands for may raise one is not asked.
bool is_error_free_in_plan(Node *node);

// A comparison that cannot raise an error, whatever its operands do.
bool is_error_free_comparison(const OpExpr *expr);
bool is_error_free_comparison(const ScalarArrayOpExpr *expr);

// The aggregates that cannot fail over error-free arguments, and those of them that are 0, not NULL, over no rows.
bool is_error_free_aggregate(const Query *query, const Aggref *aggref);
bool is_count(const Aggref *aggref);

} // namespace gpuscan
