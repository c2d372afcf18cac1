// Which subqueries can be stages, and what of their groups can be handed over; see stage.h.
#include "pg/pg.h"

#include "pg/fragment/stage.h"

#include "pg/fragment/column_form.h"
#include "pg/fragment/path.h"

namespace gpuscan {

// A sum may have more digits than its arguments, and who computes with it wants to have some left.
constexpr int sum_digits = 28;

static bool numeric_field(const FragmentOutput *output, StageField *field) {
    if (output->kind == OutputKind::SumNumeric) {
        if (output->scale_agg >= 0 || output->low_agg >= 0)
            return false;
        field->column.type = Type::I128;
        field->column.digits = sum_digits;
    }
    return output->scale >= 0 && output->scale <= sum_digits;
}

bool stage_field(const Fragment *fragment, int output, StageField *field) {
    const FragmentOutput *of = &fragment->outputs[output];
    *field = StageField{};
    field->column.index = static_cast<ir::Index>(of->agg);
    field->column.field = ir::GroupField::Value;
    field->column.type = of->type;
    const Oid typid = getBaseType(of->typid);
    switch (of->kind) {
    case OutputKind::GroupKey:
        if (of->largest >= 0)
            return false;
        field->column.field = ir::GroupField::Key;
        field->column.index = static_cast<ir::Index>(of->key);
        break;
    case OutputKind::Count:
        field->column.field = ir::GroupField::Count;
        field->column.type = Type::I64;
        return true;
    case OutputKind::SumInt8:
        field->column.type = Type::I64;
        return true;
    case OutputKind::SumNumeric:
        break;
    case OutputKind::AvgFloat8:
        field->column.field = ir::GroupField::Average;
        field->column.type = Type::F64;
        field->column.refused = ir::refuse_infinite;
        return true;
    case OutputKind::SumFloat8:
        field->column.type = Type::F64;
        field->column.refused = ir::refuse_infinite;
        return true;
    case OutputKind::StateValue:
        if (of->rank_lookup >= 0)
            return false;
        if (is_float(of->type) && !of->ordered)
            field->column.refused = ir::refuse_zero;
        break;
    default:
        return false;
    }
    if (typid == NUMERICOID)
        return numeric_field(of, field);
    if (of->type != Type::Code)
        return of->type == engine_type(sql_kind(typid)); // (a key of whole floats is an integer)
    if (of->unified != 0 && typid == BPCHAROID)          // (whose texts have lost their trailing blanks)
        return false;
    if (fragment
            ->hides_counts) // (the dictionary has texts of hidden rows, too, and who reads the groups does not know)
        return false;
    field->source = of->unified != 0 ? -1 : of->source;
    field->text = of->unified != 0 ? of->unified : of->column;
    return of->kind == OutputKind::GroupKey;
}

// The backend looks whether they are PostgreSQL's (exec/groups.cpp).
static bool has_groups_by_bytes(const Fragment *fragment) {
    for (int i = 0; i < fragment->noutputs; ++i)
        if (fragment->outputs[i].by_bytes)
            return true;
    return false;
}

bool delivers_its_groups(const Fragment *fragment, const List *qual) {
    return fragment->program != nullptr && !fragment->delivers_rows && fragment->top == nullptr &&
           !has_groups_by_bytes(fragment) &&
           (qual == NIL || (fragment->having_exact && list_length(fragment->having) == list_length(qual)));
}

// The output that shows the expression; -1: none does just that. (A constant's plan does not ask a group for it.)
static int find_output(const Fragment *fragment, const Expr *expr) {
    int number = 0;
    if (!contain_var_clause(reinterpret_cast<Node *>(const_cast<Expr *>(expr))) && !IsA(expr, Aggref))
        return -1;
    ListCell *cell;
    for (const List *outputs : {fragment->keys, fragment->aggrefs})
        foreach (cell, outputs) {
            if (equal(lfirst(cell), expr))
                return number;
            ++number;
        }
    return -1;
}

// Of the subquery's column; false: the device process cannot hand it over.
static bool find_typmod(const RelOptInfo *rel, const Fragment *groups, AttrNumber attnum, int32 *typmod) {
    const TargetEntry *entry = get_tle_by_resno(rel->subroot->processed_tlist, attnum);
    const int output = entry != nullptr ? find_output(groups, entry->expr) : -1;
    StageField field;
    if (output < 0 || !stage_field(groups, output, &field))
        return false;
    *typmod = -1;
    if (getBaseType(groups->outputs[output].typid) != NUMERICOID)
        return true;
    const int precision = groups->outputs[output].kind == OutputKind::SumNumeric ? sum_digits
                          : field.column.type == Type::I128                      ? max_precision
                                                                                 : short_precision;
    *typmod = typmod_of_numeric(precision, groups->outputs[output].scale);
    return true;
}

Path *path_of_source(const RelOptInfo *rel) {
    Path *path = rel->cheapest_total_path;
    if (path != nullptr && IsA(path, ProjectionPath) &&
        IsA(reinterpret_cast<ProjectionPath *>(path)->subpath, SubqueryScanPath))
        return reinterpret_cast<ProjectionPath *>(path)->subpath;
    return path;
}

// The fragment below the subquery's plan, if that does nothing else.
static const Fragment *groups_below(const RelOptInfo *rel) {
    const Path *path = path_of_source(rel);
    if (rel->rtekind != RTE_SUBQUERY || rel->subroot == nullptr || rel->baserestrictinfo != NIL || path == nullptr ||
        !IsA(path, SubqueryScanPath))
        return nullptr;
    return groups_of_path(reinterpret_cast<const SubqueryScanPath *>(path)->subpath);
}

List *stage_typmods(const RelOptInfo *rel) {
    const Fragment *groups = groups_below(rel);
    if (groups == nullptr)
        return NIL;
    List *typmods = list_make1_int(-1);
    for (int i = 0; i < list_length(rel->subroot->processed_tlist); ++i)
        typmods = lappend_int(typmods, -1);
    ListCell *cell;
    foreach (cell, path_of_source(rel)->pathtarget->exprs) {
        const Var *var = static_cast<const Var *>(lfirst(cell));
        int32 typmod;
        if (!IsA(var, Var) || var->varattno <= 0 || !find_typmod(rel, groups, var->varattno, &typmod))
            return NIL;
        list_nth_cell(typmods, var->varattno)->int_value = typmod;
    }
    return typmods;
}

bool stage_hides_counts(const RelOptInfo *rel) {
    const Fragment *groups = groups_below(rel);
    return groups != nullptr && groups->hides_counts;
}

} // namespace gpuscan
