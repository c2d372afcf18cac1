// A relation's target list has the columns that are needed above it, whatever for. Which of them only make up expressions that the cache
// holds as columns, the translator knows; so it is asked about all expressions of the level that may read the relation.
#include "pg/pg.h"

#include "pg/fragment/columns_read.h"

#include "pg/cost/cached_pages.h"
#include "pg/fragment/path.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

struct Reading {
    PlannerInfo *root;
    Index relid;
    ColumnsRead *read;
    ValueUse use;    // of what is looked at
    Bitmapset *seen; // attributes of the relation in all that was looked at
};

Bitmapset *own_attributes(const Reading *reading, const Expr *expr) {
    Bitmapset *attributes = nullptr;
    pull_varattnos(reinterpret_cast<Node *>(const_cast<Expr *>(expr)), reading->relid, &attributes);
    return attributes;
}

// A value: by the translator's word, which is asked for if the value reads the relation at all, and is more than a column.
void read_value(Reading *reading, Expr *value) {
    if (IsA(value, Var)) {
        const Var *var = reinterpret_cast<const Var *>(value);
        if (static_cast<Index>(var->varno) == reading->relid && var->varlevelsup == 0) {
            const int attribute = var->varattno - FirstLowInvalidHeapAttributeNumber;
            reading->seen = bms_add_member(reading->seen, attribute);
            reading->read->attributes = bms_add_member(reading->read->attributes, attribute);
        }
        return;
    }
    const Bitmapset *own = own_attributes(reading, value);
    if (own == nullptr)
        return;
    ColumnsRead *read = reading->read;
    reading->seen = bms_add_members(reading->seen, own);
    List *columns = NIL;
    if (!columns_of_value(reading->root, value, reading->use, &columns)) {
        read->attributes = bms_add_members(read->attributes, own);
        return;
    }
    ListCell *cell;
    foreach (cell, columns) {
        Expr *column = static_cast<Expr *>(lfirst(cell));
        const Bitmapset *of_column = own_attributes(reading, column);
        if (IsA(column, Var))
            read->attributes = bms_add_members(read->attributes, of_column);
        else if (of_column != nullptr)
            read->expressions = list_append_unique(read->expressions, column);
    }
}

bool read_node(Node *node, void *context);

bool read_as(ValueUse use, Node *node, Reading *reading) {
    const ValueUse outer = reading->use;
    reading->use = use;
    walk_expression(node, read_node, reading);
    reading->use = outer;
    return false;
}

bool read_node(Node *node, void *context) {
    Reading *reading = static_cast<Reading *>(context);
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_TargetEntry: {
        const Index number = reinterpret_cast<TargetEntry *>(node)->ressortgroupref;
        const bool grouped = reading->use == ValueUse::Any && number != 0 &&
                             get_sortgroupref_clause_noerr(number, grouping_clause(reading->root)) != nullptr;
        return read_as(grouped ? ValueUse::Grouped : reading->use, node, reading);
    }
    case T_Aggref:
        return read_as(reinterpret_cast<Aggref *>(node)->aggfnoid == F_COUNT_ANY ? ValueUse::Counted : ValueUse::Any,
                       node, reading);
    case T_List:
    case T_WindowFunc:
    case T_GroupingFunc:
        return walk_expression(node, read_node, context);
    case T_Const:
        return false;
    case T_RestrictInfo: {
        RestrictInfo *info = reinterpret_cast<RestrictInfo *>(node);
        return bms_is_member(static_cast<int>(reading->relid), info->clause_relids) &&
               read_node(reinterpret_cast<Node *>(info->clause), context);
    }
    default:
        // What is made of aggregates is made of groups: their arguments are what is read.
        if (contain_agg_clause(node) || contain_window_function(node))
            return walk_expression(node, read_node, context);
        read_value(reading, reinterpret_cast<Expr *>(node));
        return false;
    }
}

// (What equals a constant is compared by a clause of the relation, which may be a column as a whole.)
void read_classes(Reading *reading, const PlannerInfo *root) {
    ListCell *cell, *member;
    const int relid = static_cast<int>(reading->relid);
    foreach (cell, root->eq_classes) {
        const EquivalenceClass *same = lfirst_node(EquivalenceClass, cell);
        if (same->ec_has_const || !bms_is_member(relid, same->ec_relids))
            continue;
        foreach (member, same->ec_members) {
            const EquivalenceMember *value = lfirst_node(EquivalenceMember, member);
            if (bms_is_member(relid, value->em_relids))
                read_node(reinterpret_cast<Node *>(value->em_expr), reading);
        }
    }
}

} // namespace

ColumnsRead columns_read(PlannerInfo *root, const RelOptInfo *rel) {
    ColumnsRead read{};
    Reading reading{root, rel->relid, &read, ValueUse::Any, nullptr};
    read_node(reinterpret_cast<Node *>(root->processed_tlist), &reading);
    read_node(root->parse->havingQual, &reading);
    read_node(reinterpret_cast<Node *>(rel->baserestrictinfo), &reading);
    read_node(reinterpret_cast<Node *>(rel->joininfo), &reading);
    read_classes(&reading, root);
    Bitmapset *all = attributes_read(rel);
    // What is needed for something else is read as it is.
    read.attributes = bms_int_members(read.attributes, all);
    read.attributes = bms_add_members(read.attributes, bms_difference(all, reading.seen));
    return read;
}

} // namespace gpuscan
