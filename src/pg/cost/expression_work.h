// What the executor takes to evaluate expressions, by the functions that they call (engine/cost/executor_cost.hpp).
#pragma once

#include "pg/pg.h"

#include "engine/cost/executor_cost.hpp"

namespace gpuscan {

// What functions and subqueries beyond the executor's steps are taken for: PostgreSQL's costs at this rate.
struct ExpressionCounting {
    PlannerInfo *root;
    double ns_per_unit;
    executor::Work *work;
};

// An expression, or a list of them, evaluated for so many rows.
void count_expression(const ExpressionCounting *to, Node *expression, double rows);

// Its time on one core.
double expression_ns(PlannerInfo *root, Node *expression, double rows);

// Conditions (expressions or RestrictInfos), each for the rows that the ones before it have left.
void count_conditions(const ExpressionCounting *to, const List *conditions, double rows);

// What a function is said to cost each time, if that is more than an operator; else 0.
Cost declared_cost(PlannerInfo *root, Oid function);

// What a comparison or an aggregate's step takes, by its values' type. Texts are compared by a collation, or byte by byte.
executor::Step step_of_type(Oid type);

} // namespace gpuscan
