// Variances, covariances and regressions of floating-point numbers -> states.
//
// PostgreSQL keeps the count, the sums and the sums of squares and products of the distances to the mean (Youngs and Cramer,
// "Some Results Relevant to Choice of Sum and Product Algorithms"), row by row. Rows that are added in any order cannot
// do that, and plain sums of squares lose what makes a variance when the mean is far from zero. So the device adds up x, y, x * x, y * y
// and x * y in twice the precision (ir::AggregateKind::LongSum), what the rounded products lack beside it, and the distances
// follow from the totals, better than PostgreSQL has them (exec/moments.cpp).
#include "pg/pg.h"

#include "pg/guc.h"
#include "pg/refusal.h"
#include "pg/translate/translate.h"

namespace gpuscan {

static const FloatMoments known_moments[] = {
    {F_VARIANCE_FLOAT4, float8_var_samp, false, MomentSquaresX},
    {F_VARIANCE_FLOAT8, float8_var_samp, false, MomentSquaresX},
    {F_VAR_SAMP_FLOAT4, float8_var_samp, false, MomentSquaresX},
    {F_VAR_SAMP_FLOAT8, float8_var_samp, false, MomentSquaresX},
    {F_VAR_POP_FLOAT4, float8_var_pop, false, MomentSquaresX},
    {F_VAR_POP_FLOAT8, float8_var_pop, false, MomentSquaresX},
    {F_STDDEV_FLOAT4, float8_stddev_samp, false, MomentSquaresX},
    {F_STDDEV_FLOAT8, float8_stddev_samp, false, MomentSquaresX},
    {F_STDDEV_SAMP_FLOAT4, float8_stddev_samp, false, MomentSquaresX},
    {F_STDDEV_SAMP_FLOAT8, float8_stddev_samp, false, MomentSquaresX},
    {F_STDDEV_POP_FLOAT4, float8_stddev_pop, false, MomentSquaresX},
    {F_STDDEV_POP_FLOAT8, float8_stddev_pop, false, MomentSquaresX},
    {F_REGR_COUNT, nullptr, true, 0},
    {F_REGR_AVGX, float8_regr_avgx, true, 0},
    {F_REGR_AVGY, float8_regr_avgy, true, 0},
    {F_REGR_SXX, float8_regr_sxx, true, MomentSquaresX},
    {F_REGR_SYY, float8_regr_syy, true, MomentSquaresY},
    {F_REGR_SXY, float8_regr_sxy, true, MomentSquaresX | MomentSquaresY | MomentProducts},
    {F_REGR_R2, float8_regr_r2, true, MomentSquaresX | MomentSquaresY | MomentProducts},
    {F_REGR_SLOPE, float8_regr_slope, true, MomentSquaresX | MomentSquaresY | MomentProducts},
    {F_REGR_INTERCEPT, float8_regr_intercept, true, MomentSquaresX | MomentSquaresY | MomentProducts},
    {F_COVAR_POP, float8_covar_pop, true, MomentSquaresX | MomentSquaresY | MomentProducts},
    {F_COVAR_SAMP, float8_covar_samp, true, MomentSquaresX | MomentSquaresY | MomentProducts},
    {F_CORR, float8_corr, true, MomentSquaresX | MomentSquaresY | MomentProducts},
};

const FloatMoments *find_moments(Oid aggfnoid) {
    for (const FloatMoments &known : known_moments)
        if (known.aggfnoid == aggfnoid)
            return &known;
    return nullptr;
}

// An argument as it stands in the query (`plain`), and as what is added up.
struct MomentArgument {
    ir::Index plain, node;
    bool nullable;
};

static bool translate_argument(Translation *t, Expr *expr, MomentArgument *out) {
    TypedExpr value;
    if (!translate(t, expr, &value) || !as_own_node(t, value, &out->plain))
        return false;
    if (value.type != Type::F64)
        out->plain = add_expr(t, ir::Op::Cast, Type::F64, out->plain);
    out->nullable = value.nullable || value.literal_null;
    out->node = add_call(t, ir::Function::Moderate, out->plain);
    return true;
}

static bool add_moment(Translation *t, AggregateStates *states, Aggref *aggref, ir::AggregateKind kind, StateOf of,
                       ir::Index node, int *state) {
    if (!filter_argument(t, aggref, Type::F64, &node))
        return false;
    *state = add_state(states, kind, of, aggref, node);
    return true;
}

static bool add_products(Translation *t, AggregateStates *states, Aggref *aggref, StateOf of, StateOf lost, ir::Index a,
                         ir::Index b, int *state, int *lost_state) {
    return add_moment(t, states, aggref, ir::AggregateKind::LongSum, of, add_expr(t, ir::Op::Mul, Type::F64, a, b),
                      state) &&
           add_moment(t, states, aggref, ir::AggregateKind::Sum, lost, add_call(t, ir::Function::ProductError, a, b),
                      lost_state);
}

bool translate_moments(Translation *t, Aggref *aggref, const FloatMoments *known, AggregateStates *states,
                       FragmentOutput *out) {
    if (aggref->aggdistinct != NIL)
        return refuse("DISTINCT in %s", format_procedure(aggref->aggfnoid));
    if (known->final != nullptr && guc_exact_float && !t->binding)
        return refuse_with("SET gpuscan.exact_float = off",
                           "a variance or regression of floating-point numbers (gpuscan.exact_float is on)");
    MomentArgument x, y{};
    // Regressions have the dependent variable first.
    if (!translate_argument(t, static_cast<TargetEntry *>(llast(aggref->args))->expr, &x) ||
        (known->pair && !translate_argument(t, static_cast<TargetEntry *>(linitial(aggref->args))->expr, &y)))
        return false;
    if (known->final == nullptr) {
        ir::Index both = add_call(t, ir::Function::ProductError, x.plain, y.plain);
        if (!filter_argument(t, aggref, Type::F64, &both))
            return false;
        out->kind = OutputKind::Count;
        out->type = Type::I64;
        out->agg = add_state(states, ir::AggregateKind::Count, StateOf::XY, aggref, both);
        return true;
    }
    if (known->pair) { // A row counts where neither is NULL; both are computed in every row.
        const ir::Index present =
            add_expr(t, ir::Op::IsNotNull, Type::Bool, add_call(t, ir::Function::ProductError, x.plain, y.plain));
        const ir::Index nothing = add_constant(t, Type::F64, 0, true);
        const bool mask_x = y.nullable || may_raise(t, y.plain), mask_y = x.nullable || may_raise(t, x.plain);
        if (mask_x)
            x.node = add_expr(t, ir::Op::Case, Type::F64, present, x.node, nothing);
        if (mask_y)
            y.node = add_expr(t, ir::Op::Case, Type::F64, present, y.node, nothing);
    }
    out->kind = OutputKind::Moments;
    out->type = Type::F64;
    out->final = known->final;
    out->sums = known->sums;
    MomentStates *m = &out->moments;
    m->y = -1;
    if (!add_moment(t, states, aggref, ir::AggregateKind::LongSum, StateOf::X, x.node, &m->x) ||
        (known->pair && !add_moment(t, states, aggref, ir::AggregateKind::LongSum, StateOf::Y, y.node, &m->y)) ||
        ((known->sums & MomentSquaresX) &&
         !add_products(t, states, aggref, StateOf::XX, StateOf::LostOfXX, x.node, x.node, &m->xx, &m->lost_of_xx)) ||
        ((known->sums & MomentSquaresY) &&
         !add_products(t, states, aggref, StateOf::YY, StateOf::LostOfYY, y.node, y.node, &m->yy, &m->lost_of_yy)) ||
        ((known->sums & MomentProducts) &&
         !add_products(t, states, aggref, StateOf::XY, StateOf::LostOfXY, x.node, y.node, &m->xy, &m->lost_of_xy)))
        return false;
    out->agg = m->x;
    return true;
}

} // namespace gpuscan
