// Which subqueries can be stages, and what of their groups or rows can be handed over; see stage.h.
#include "pg/pg.h"

#include "pg/fragment/stage.h"

#include "pg/fragment/column_form.h"
#include "pg/fragment/path.h"
#include "pg/fragment/qual_order.h"
#include "pg/translate/translate.h"

namespace gpuscan {

// A sum may have more digits than its arguments, and who computes with it wants to have some left.
constexpr int sum_digits = 28;

// A sum has more digits than any column may be declared with here.
static bool is_sum(OutputKind kind) { return kind == OutputKind::SumNumeric || kind == OutputKind::AvgNumeric; }

static bool numeric_field(const FragmentOutput *output, StageField *field) {
    if (is_sum(output->kind) || field->column.type == Type::I128) {
        field->column.type = Type::I128;
        field->column.digits = is_sum(output->kind) ? sum_digits : max_precision;
    }
    return output->type != Type::Code && output->scale_agg < 0 && output->low_agg < 0 && output->scale >= 0 &&
           output->scale <= sum_digits;
}

// Of how many the average is. (Those of a window's stand beside its sums.)
static bool count_field(const FragmentOutput *average, StageField *field) {
    const bool of_row = average->count_column >= 0;
    field->column.field = of_row ? ir::GroupField::Cell : ir::GroupField::Count;
    field->column.index = static_cast<ir::Index>(of_row ? average->count_column : average->agg);
    field->column.type = Type::I64;
    return average->kind == OutputKind::AvgNumeric;
}

// Where the value is among the group's, and what of it the device cannot tell.
static bool place_field(const FragmentOutput *of, StageField *field) {
    field->column.index = static_cast<ir::Index>(of->agg);
    field->column.field = ir::GroupField::Value;
    switch (of->kind) {
    case OutputKind::Row:
        field->column.field = ir::GroupField::Cell;
        field->column.index = static_cast<ir::Index>(of->key);
        return true;
    case OutputKind::GroupKey:
        field->column.field = ir::GroupField::Key;
        field->column.index = static_cast<ir::Index>(of->key);
        return of->largest < 0;
    case OutputKind::Count:
        field->column.field = ir::GroupField::Count;
        field->column.type = Type::I64;
        return true;
    case OutputKind::SumInt8:
        field->column.type = Type::I64;
        return true;
    case OutputKind::SumNumeric:
        return true;
    case OutputKind::AvgNumeric:
        if (of->count_column >= 0) {
            field->column.field = ir::GroupField::Cell;
            field->column.index = static_cast<ir::Index>(of->key);
        }
        return true;
    case OutputKind::AvgFloat8:
        field->column.field = ir::GroupField::Average;
        /* fall through */
    case OutputKind::SumFloat8:
        field->column.type = Type::F64;
        field->column.refused = ir::refuse_infinite;
        return true;
    case OutputKind::StateValue:
        if (is_float(of->type) && !of->ordered)
            field->column.refused = ir::refuse_zero;
        return of->rank_lookup < 0;
    default:
        return false;
    }
}

// (A text that has lost its trailing blanks is no value of char(n). A dictionary has texts of hidden rows, too, and who reads the stage does
// not know.)
static bool text_field(const Fragment *fragment, const FragmentOutput *of, Oid typid, StageField *field) {
    field->source = of->unified != 0 ? -1 : of->source;
    field->text = of->unified != 0 ? of->unified : of->column;
    return (of->kind == OutputKind::GroupKey || of->kind == OutputKind::Row) && !fragment->hides_counts &&
           (of->unified == 0 || typid != BPCHAROID);
}

bool stage_field(const Fragment *fragment, int output, StageField *field) {
    *field = StageField{};
    if (output >= fragment->noutputs)
        return count_field(&fragment->outputs[output - fragment->noutputs], field);
    const FragmentOutput *of = &fragment->outputs[output];
    field->column.type = of->type;
    if (!place_field(of, field) || of->scale_column >= 0 || of->default_column >= 0)
        return false;
    const Oid typid = getBaseType(of->typid);
    if (typid == NUMERICOID || of->kind == OutputKind::AvgNumeric)
        return numeric_field(of, field);
    if (of->kind != OutputKind::GroupKey && of->kind != OutputKind::StateValue && of->kind != OutputKind::Row)
        return true;
    if (of->type == Type::Code)
        return text_field(fragment, of, typid, field);
    return of->type == engine_type(sql_kind(typid)); // (a key of whole floats is an integer)
}

// The backend looks whether they are PostgreSQL's (exec/groups.cpp).
static bool has_groups_by_bytes(const Fragment *fragment) {
    for (int i = 0; i < fragment->noutputs; ++i)
        if (fragment->outputs[i].by_bytes)
            return true;
    return false;
}

bool can_be_stage(const Fragment *fragment, const List *qual) {
    const List *tested = fragment->delivers_rows ? fragment->window_tests : fragment->having;
    return fragment->program != nullptr && fragment->top == nullptr && fragment->limit == 0 &&
           (!fragment->delivers_rows || fragment->windows != NIL) && !has_groups_by_bytes(fragment) &&
           (qual == NIL || (fragment->having_exact && list_length(tested) == list_length(qual)));
}

// ---- columns ----

// The output that shows the expression; -1: none does just that. (A constant's plan does not ask a group for it.)
static int find_output(const Fragment *fragment, Node *expr) {
    int number = 0;
    ListCell *cell;
    for (const List *outputs :
         {fragment->keys, fragment->aggrefs, fragment->groupings, fragment->columns, fragment->window_functions})
        foreach (cell, outputs) {
            if (equal(lfirst(cell), expr))
                return IsA(expr, Aggref) || IsA(expr, WindowFunc) || contain_var_clause(expr) ? number : -1;
            ++number;
        }
    return -1;
}

struct OverOutputs {
    const Fragment *fragment;
    bool possible;
};

static Var *var_of_output(int output, Oid type, int32 typmod, Oid collation) {
    return makeVar(OUTER_VAR, static_cast<AttrNumber>(output + 1), type, typmod, collation, 0);
}

// As numeric.c divides them.
static Node *quotient(const Fragment *fragment, int output) {
    const FragmentOutput *average = &fragment->outputs[output];
    Var *sum = var_of_output(output, NUMERICOID, typmod_of_numeric(sum_digits, average->scale), InvalidOid);
    Var *count = var_of_output(fragment->noutputs + output, INT8OID, -1, InvalidOid);
    FuncExpr *divisor =
        makeFuncExpr(F_NUMERIC_INT8, NUMERICOID, list_make1(count), InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
    return reinterpret_cast<Node *>(makeFuncExpr(F_NUMERIC_DIV, NUMERICOID, list_make2(sum, divisor), InvalidOid,
                                                 InvalidOid, COERCE_EXPLICIT_CALL));
}

// (Of numbers beyond 10^9, which int8 is made for, the quotient would have more digits than a device has: translate_quotient.cpp.)
static bool is_of_large_numbers(const Node *function) {
    return (IsA(function, Aggref) && reinterpret_cast<const Aggref *>(function)->aggfnoid == F_AVG_INT8) ||
           (IsA(function, WindowFunc) && reinterpret_cast<const WindowFunc *>(function)->winfnoid == F_AVG_INT8);
}

static Node *value_of_output(OverOutputs *over, int output, Node *node) {
    const FragmentOutput *of = &over->fragment->outputs[output];
    StageField field;
    if (!stage_field(over->fragment, output, &field) ||
        (of->kind == OutputKind::AvgNumeric && is_of_large_numbers(node))) {
        over->possible = false;
        return node;
    }
    if (of->kind == OutputKind::AvgNumeric)
        return quotient(over->fragment, output);
    int32 typmod = -1;
    if (getBaseType(of->typid) == NUMERICOID)
        typmod = typmod_of_numeric(field.column.digits != 0 ? field.column.digits : short_precision, of->scale);
    return reinterpret_cast<Node *>(var_of_output(output, exprType(node), typmod, exprCollation(node)));
}

static bool is_of_level_alone(const Node *node) {
    switch (nodeTag(node)) {
    case T_Var:
    case T_Aggref:
    case T_GroupingFunc:
    case T_WindowFunc:
    case T_PlaceHolderVar:
    case T_SubPlan:
    case T_AlternativeSubPlan:
        return true;
    case T_Param:
        return reinterpret_cast<const Param *>(node)->paramkind != PARAM_EXTERN;
    default:
        return false;
    }
}

static Node *over_outputs(Node *node, void *context) {
    OverOutputs *over = static_cast<OverOutputs *>(context);
    if (node == nullptr || !over->possible)
        return node;
    const int output = find_output(over->fragment, node);
    if (output >= 0)
        return value_of_output(over, output, node);
    if (is_of_level_alone(node)) {
        over->possible = false;
        return node;
    }
    return mutate_expression(node, over_outputs, context);
}

Path *path_of_source(const RelOptInfo *rel) {
    Path *path = rel->cheapest_total_path;
    if (path != nullptr && IsA(path, ProjectionPath) &&
        IsA(reinterpret_cast<ProjectionPath *>(path)->subpath, SubqueryScanPath))
        return reinterpret_cast<ProjectionPath *>(path)->subpath;
    return path;
}

// The fragment below the subquery's plan, if that does nothing else but ask conditions, which a device can ask as well.
static const Fragment *fragment_below(const RelOptInfo *rel) {
    const Path *path = path_of_source(rel);
    if (rel->rtekind != RTE_SUBQUERY || rel->subroot == nullptr || path == nullptr || !IsA(path, SubqueryScanPath))
        return nullptr;
    const Fragment *fragment = stage_of_path(reinterpret_cast<const SubqueryScanPath *>(path)->subpath);
    if (fragment == nullptr)
        return nullptr;
    ListCell *cell;
    foreach (cell, rel->baserestrictinfo)
        if (lfirst_node(RestrictInfo, cell)->pseudoconstant)
            return nullptr;
    List *quals = NIL;
    return order_quals(rel->subroot->parent_root, rel->baserestrictinfo, false, &quals) ? fragment : nullptr;
}

// What PostgreSQL's plan of the relation needs of it; *possible becomes false where that is something else than columns.
static Bitmapset *columns_needed(const RelOptInfo *rel, bool *possible) {
    Bitmapset *columns = nullptr;
    ListCell *cell;
    *possible = true;
    List *read = pull_var_clause(reinterpret_cast<Node *>(extract_actual_clauses(rel->baserestrictinfo, false)),
                                 PVC_INCLUDE_PLACEHOLDERS);
    foreach (cell, list_concat(read, path_of_source(rel)->pathtarget->exprs)) {
        const Var *var = static_cast<const Var *>(lfirst(cell));
        *possible = *possible && IsA(var, Var) && var->varattno > 0;
        if (*possible)
            columns = bms_add_member(columns, var->varattno);
    }
    return columns;
}

// May an outer join add rows in which its columns are NULL?
static bool may_be_nulled(const PlannerInfo *root, const RelOptInfo *rel) {
    ListCell *cell;
    foreach (cell, root->join_info_list) {
        const SpecialJoinInfo *join = lfirst_node(SpecialJoinInfo, cell);
        if ((join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL) &&
            (bms_is_subset(rel->relids, join->syn_righthand) ||
             (join->jointype == JOIN_FULL && bms_is_subset(rel->relids, join->syn_lefthand))))
            return true;
    }
    return false;
}

// (An expression may be something else than NULL of NULLs.)
static bool can_be_computed(const RelOptInfo *rel, Node *column) {
    PlannerInfo *root = rel->subroot->parent_root;
    return IsA(column, Var) ||
           (can_compute(root, reinterpret_cast<Expr *>(column)) &&
            ((contain_var_clause(column) && !contain_nonstrict_functions(column)) || !may_be_nulled(root, rel)));
}

List *stage_columns(const RelOptInfo *rel) {
    const Fragment *fragment = fragment_below(rel);
    if (fragment == nullptr)
        return NIL;
    bool possible;
    const Bitmapset *needed = columns_needed(rel, &possible);
    List *columns = NIL;
    OverOutputs over{fragment, possible};
    ListCell *cell;
    foreach (cell, rel->subroot->processed_tlist) {
        const TargetEntry *entry = lfirst_node(TargetEntry, cell);
        Node *column = nullptr;
        if (bms_is_member(entry->resno, needed))
            column = over_outputs(static_cast<Node *>(copyObject(reinterpret_cast<Node *>(entry->expr))), &over);
        over.possible = over.possible && (column == nullptr || can_be_computed(rel, column));
        columns = lappend(columns, column);
    }
    return over.possible ? columns : NIL;
}

double stage_rows(const RelOptInfo *rel) {
    return reinterpret_cast<const SubqueryScanPath *>(path_of_source(rel))->subpath->rows;
}

bool stage_hides_counts(const RelOptInfo *rel) {
    const Fragment *fragment = fragment_below(rel);
    return fragment != nullptr && fragment->hides_counts;
}

} // namespace gpuscan
