// See group_count.h. Keys that share columns are tried together (a year and a month of one date); others are taken to be independent, as
// PostgreSQL does it. A key that is a column itself decides for all expressions of it. A column of a subquery stands for what the subquery
// computes it from. PostgreSQL is asked of what nothing better is known, and of expressions of which it has statistics: those of an index,
// or extended ones.
#include "pg/pg.h"

#include "pg/cost/group_count.h"

#include <algorithm>
#include <cmath>

#include "pg/cost/expression_values.h"
#include "pg/cost/level_estimates.h"
#include "pg/cost/value_bound.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

struct GroupCount {
    const List *keys;
    double values;
};

// Keys over columns that no other part has.
struct KeyPart {
    List *columns; // of Var *; NIL: no values of the keys can be tried
    List *keys;
};

// Keys over columns of one subquery.
struct SubqueryKeys {
    PlannerInfo *root; // of the subquery
    List *keys;
    List *inner; // the same, over its own columns
};

bool is_of_table(const PlannerInfo *root, const Var *column) {
    const int relid = static_cast<int>(column->varno);
    const RelOptInfo *rel = relid > 0 && relid < root->simple_rel_array_size ? root->simple_rel_array[relid] : nullptr;
    return rel != nullptr && rel->reloptkind == RELOPT_BASEREL && rel->rtekind == RTE_RELATION;
}

bool has_column(const List *columns, const Var *wanted) {
    ListCell *cell;
    foreach (cell, columns)
        if (const Var *column = static_cast<const Var *>(lfirst(cell));
            column->varno == wanted->varno && column->varattno == wanted->varattno)
            return true;
    return false;
}

// NIL: they cannot be tried.
List *tried_columns(const PlannerInfo *root, Expr *key) {
    List *columns = columns_of_expression(reinterpret_cast<Node *>(key));
    ListCell *cell;
    foreach (cell, columns)
        if (!is_of_table(root, static_cast<const Var *>(lfirst(cell))))
            return NIL;
    return columns;
}

bool share_a_column(const List *columns, const List *others) {
    ListCell *cell;
    foreach (cell, columns)
        if (has_column(others, static_cast<const Var *>(lfirst(cell))))
            return true;
    return false;
}

// The key's part takes in all parts that it shares columns with. Of KeyPart *.
List *add_key(List *parts, List *columns, Expr *key) {
    KeyPart *part = static_cast<KeyPart *>(palloc(sizeof(KeyPart)));
    *part = {list_copy(columns), list_make1(key)};
    List *result = list_make1(part);
    ListCell *cell;
    foreach (cell, parts) {
        KeyPart *other = static_cast<KeyPart *>(lfirst(cell));
        if (!share_a_column(other->columns, columns)) {
            result = lappend(result, other);
            continue;
        }
        part->keys = list_concat(list_copy(other->keys), part->keys);
        ListCell *column;
        foreach (column, other->columns)
            if (!has_column(part->columns, static_cast<const Var *>(lfirst(column))))
                part->columns = lappend(part->columns, lfirst(column));
    }
    return result;
}

// NULL: none, or one whose columns are not one expression each, or a security barrier, of which PostgreSQL's estimates show nothing.
PlannerInfo *subquery_of(const PlannerInfo *root, const List *columns) {
    ListCell *cell;
    foreach (cell, columns)
        if (lfirst_node(Var, cell)->varno != linitial_node(Var, columns)->varno)
            return nullptr;
    const RelOptInfo *rel = columns != NIL ? root->simple_rel_array[linitial_node(Var, columns)->varno] : nullptr;
    return rel != nullptr && rel->reloptkind == RELOPT_BASEREL && rel->subroot != nullptr &&
                   rel->subroot->parse->setOperations == nullptr &&
                   !planner_rt_fetch(rel->relid, root)->security_barrier
               ? rel->subroot
               : nullptr;
}

// `context`: const PlannerInfo *, of the subquery that all columns are of.
Node *with_inner_columns(Node *node, void *context) {
    if (node == nullptr || !IsA(node, Var))
        return node == nullptr ? nullptr : mutate_expression(node, with_inner_columns, context);
    const TargetEntry *entry = get_tle_by_resno(static_cast<const PlannerInfo *>(context)->processed_tlist,
                                                reinterpret_cast<const Var *>(node)->varattno);
    return entry != nullptr ? static_cast<Node *>(copyObject(reinterpret_cast<Node *>(entry->expr))) : node;
}

// False: it is not of a subquery, or nothing is known of what it is computed from.
bool add_to_subquery(const PlannerInfo *root, Expr *key, List **subqueries) {
    PlannerInfo *subroot = subquery_of(root, columns_of_expression(reinterpret_cast<Node *>(key)));
    Node *inner = subroot != nullptr ? with_inner_columns(reinterpret_cast<Node *>(key), subroot) : nullptr;
    if (inner == nullptr || columns_of_expression(inner) == NIL)
        return false;
    SubqueryKeys *subquery = nullptr;
    ListCell *cell;
    foreach (cell, *subqueries)
        if (SubqueryKeys *other = static_cast<SubqueryKeys *>(lfirst(cell)); other->root == subroot)
            subquery = other;
    if (subquery == nullptr) {
        subquery = static_cast<SubqueryKeys *>(palloc0(sizeof(SubqueryKeys)));
        subquery->root = subroot;
        *subqueries = lappend(*subqueries, subquery);
    }
    subquery->keys = lappend(subquery->keys, key);
    subquery->inner = lappend(subquery->inner, inner);
    return true;
}

// Takes those out of the list of which it knows.
double take_out_subqueries(PlannerInfo *root, List **keys) {
    List *subqueries = NIL, *others = NIL;
    double groups = 1;
    ListCell *cell;
    foreach (cell, *keys)
        if (Expr *key = static_cast<Expr *>(lfirst(cell)); !add_to_subquery(root, key, &subqueries))
            others = lappend(others, key);
    foreach (cell, subqueries) {
        const SubqueryKeys *subquery = static_cast<const SubqueryKeys *>(lfirst(cell));
        if (const double values = max_groups(subquery->root, subquery->inner); std::isfinite(values))
            groups *= values;
        else
            others = list_concat(others, subquery->keys);
    }
    *keys = others;
    return groups;
}

bool has_own_statistics(PlannerInfo *root, Expr *key) {
    VariableStatData statistics;
    examine_variable(root, reinterpret_cast<Node *>(key), 0, &statistics);
    const bool has = HeapTupleIsValid(statistics.statsTuple) || statistics.isunique;
    ReleaseVariableStats(statistics);
    return has;
}

double count_values(PlannerInfo *root, const KeyPart *part) {
    double bound = 1;
    ListCell *cell;
    foreach (cell, part->keys)
        bound *= value_bound(root, static_cast<const Node *>(lfirst(cell)));
    return part->columns != NIL ? std::min(bound, expression_values(root, part->columns, part->keys)) : bound;
}

// A level asks for some keys more than once, and grouping sets for parts of them.
const GroupCount *known_count(PlannerInfo *root, const List *keys) {
    ListCell *cell;
    foreach (cell, level_estimates(root)->group_counts)
        if (const GroupCount *known = static_cast<const GroupCount *>(lfirst(cell)); equal(known->keys, keys))
            return known;
    return nullptr;
}

double remember(PlannerInfo *root, const List *keys, double values) {
    LevelEstimates *level = level_estimates(root);
    MemoryContext before = MemoryContextSwitchTo(root->planner_cxt);
    GroupCount *count = static_cast<GroupCount *>(palloc(sizeof(GroupCount)));
    *count = {static_cast<const List *>(copyObject(keys)), values};
    level->group_counts = lappend(const_cast<List *>(level->group_counts), count);
    MemoryContextSwitchTo(before);
    return values;
}

double values_of(PlannerInfo *root, const KeyPart *part) {
    const GroupCount *known = known_count(root, part->keys);
    return known != nullptr ? known->values : remember(root, part->keys, count_values(root, part));
}

double count_groups(PlannerInfo *root, const List *keys) {
    List *columns = NIL, *measured = NIL, *others = NIL, *parts = NIL, *left = list_copy(keys);
    ListCell *cell;
    double groups = take_out_subqueries(root, &left);
    foreach (cell, left) {
        Expr *key = const_cast<Expr *>(strip_relabels(static_cast<Expr *>(lfirst(cell))));
        List **list = IsA(key, Var) ? &columns : has_own_statistics(root, key) ? &measured : &others;
        *list = list_append_unique(*list, key);
    }
    foreach (cell, others) {
        Expr *key = static_cast<Expr *>(lfirst(cell));
        if (List *of_key = tried_columns(root, key); !are_among(of_key, columns))
            parts = add_key(parts, of_key, key);
    }
    List *unknown = list_concat(columns, measured);
    foreach (cell, parts) {
        const KeyPart *part = static_cast<const KeyPart *>(lfirst(cell));
        if (const double values = values_of(root, part); std::isfinite(values))
            groups *= std::max(values, 1.0);
        else
            unknown = list_concat(unknown, part->keys);
    }
    if (list_length(unknown) == list_length(keys))
        return HUGE_VAL;
    return unknown == NIL ? groups : groups * estimate_num_groups(root, unknown, HUGE_VAL, nullptr, nullptr);
}

} // namespace

List *keys_of_references(const PlannerInfo *root, const List *references) {
    List *keys = NIL;
    ListCell *cell, *reference;
    foreach (reference, references) {
        foreach (cell, root->processed_tlist)
            if (const TargetEntry *entry = lfirst_node(TargetEntry, cell);
                static_cast<int>(entry->ressortgroupref) == lfirst_int(reference)) {
                keys = lappend(keys, entry->expr);
                break;
            }
        if (cell == nullptr)
            return NIL;
    }
    return keys;
}

List *keys_of_clauses(const PlannerInfo *root, const List *clauses) {
    List *references = NIL;
    ListCell *cell;
    foreach (cell, clauses)
        references = lappend_int(references, static_cast<int>(lfirst_node(SortGroupClause, cell)->tleSortGroupRef));
    return keys_of_references(root, references);
}

double max_groups(PlannerInfo *root, const List *keys) {
    if (keys == NIL)
        return HUGE_VAL;
    const GroupCount *known = known_count(root, keys);
    return known != nullptr ? known->values : remember(root, keys, count_groups(root, keys));
}

double expected_groups(PlannerInfo *root, List *keys, double rows) {
    if (keys == NIL)
        return 1;
    return std::min(estimate_num_groups(root, keys, rows, nullptr, nullptr), max_groups(root, keys));
}

} // namespace gpuscan
