// Expressions are counted by what their functions are given: numerics are computed digit by digit and allocated, texts are compared by
// their length and a collation, and what goes from a fixed length to a fixed length takes next to nothing. Anything else of a variable length
// (a document is searched, a date written) is taken for a pattern that is looked for in a text. A function whose author says that it costs more than an operator
// (pg_proc.procost) is taken at his word. But these are guesses, for expressions that cannot be tried: what has been measured is what it takes.
#include "pg/pg.h"

#include "pg/cost/expression_work.h"

#include <algorithm>

#include "pg/cost/device_cost.h"
#include "pg/cost/evaluation_times.h"
#include "pg/plan_time/level_time.h"

namespace gpuscan {

using executor::Step;

constexpr double unknown_share = 0.5;   // of rows that a condition within AND or OR hands to the next one
constexpr double usual_cost = 1.5;      // of a function, in operators
constexpr int max_searched = 8;         // constants of IN; more are hashed (MIN_ARRAY_SIZE_FOR_HASHED_SAOP is 9)
constexpr double searched_share = 0.75; // ... of which so many are looked at, on the average

struct Counting {
    const ExpressionCounting *to;
    double rows;
};

static bool count_node(Node *node, void *context);

Step step_of_type(Oid type) {
    switch (type) {
    case NUMERICOID:
        return Step::Numeric;
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
    case NAMEOID:
        return Step::Text;
    default:
        return Step::Operation;
    }
}

// Of values that a step computes with as they stand.
static bool is_plain(Oid type) {
    switch (type) {
    case BOOLOID:
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case FLOAT4OID:
    case FLOAT8OID:
    case NUMERICOID:
    case OIDOID:
    case CHAROID:
    case DATEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
    case UUIDOID:
        return true;
    default:
        return step_of_type(type) == Step::Text;
    }
}

static bool are_plain(const List *arguments) {
    ListCell *cell;
    foreach (cell, arguments)
        if (!is_plain(exprType(static_cast<const Node *>(lfirst(cell)))))
            return false;
    return true;
}

static bool is_pattern(Oid function) {
    switch (function) {
    case F_TEXTLIKE:
    case F_TEXTNLIKE:
    case F_BPCHARLIKE:
    case F_BPCHARNLIKE:
    case F_NAMELIKE:
    case F_NAMENLIKE:
    case F_TEXTICLIKE:
    case F_TEXTICNLIKE:
    case F_BPCHARICLIKE:
    case F_BPCHARICNLIKE:
    case F_TEXTREGEXEQ:
    case F_TEXTREGEXNE:
    case F_TEXTICREGEXEQ:
    case F_TEXTICREGEXNE:
    case F_BPCHARREGEXEQ:
    case F_BPCHARREGEXNE:
        return true;
    default:
        return false;
    }
}

// Operators of plain values, and casts of numbers, take what a step takes. Of any other function nobody knows.
static bool calls_unknown(Node *node, void *) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_FuncExpr: {
        const FuncExpr *call = reinterpret_cast<const FuncExpr *>(node);
        if (call->funcformat == COERCE_EXPLICIT_CALL || step_of_type(call->funcresulttype) == Step::Text ||
            !is_plain(call->funcresulttype) || !are_plain(call->args))
            return true;
        break;
    }
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr: {
        OpExpr *op = reinterpret_cast<OpExpr *>(node);
        set_opfuncid(op);
        if (is_pattern(op->opfuncid) || !is_plain(op->opresulttype) || !are_plain(op->args))
            return true;
        break;
    }
    case T_ScalarArrayOpExpr: {
        ScalarArrayOpExpr *op = reinterpret_cast<ScalarArrayOpExpr *>(node);
        set_sa_opfuncid(op);
        if (is_pattern(op->opfuncid) || !is_plain(exprType(static_cast<const Node *>(linitial(op->args)))))
            return true;
        break;
    }
    case T_CoerceViaIO:
        return true;
    default:
        break;
    }
    return walk_expression(node, calls_unknown, nullptr);
}

static bool is_call(const Node *node) {
    switch (nodeTag(node)) {
    case T_FuncExpr:
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr:
    case T_ScalarArrayOpExpr:
    case T_CoerceViaIO:
        return true;
    default:
        return false;
    }
}

static bool is_long(Oid type) { return OidIsValid(type) && get_typlen(type) < 0; }

static void count_builtin(executor::Work *work, Oid function, Oid argument, Oid result, double times) {
    if (is_pattern(function))
        return add(work, Step::Text, executor::text_patterns * times);
    const Step by_argument = step_of_type(argument);
    if (by_argument == Step::Operation && result != NUMERICOID && (is_long(argument) || is_long(result)))
        return add(work, Step::Text, executor::text_patterns * times);
    const Step step = by_argument != Step::Operation || result != NUMERICOID ? by_argument : Step::Numeric;
    add(work, step, step == Step::Numeric && result != BOOLOID ? executor::numeric_products * times : times);
}

Cost declared_cost(PlannerInfo *root, Oid function) {
    QualCost cost{};
    add_function_cost(root, function, nullptr, &cost);
    return cost.per_tuple > cpu_operator_cost * usual_cost ? cost.per_tuple : 0;
}

static Oid type_of_first(const List *arguments) {
    return arguments != NIL ? exprType(static_cast<const Node *>(linitial(arguments))) : InvalidOid;
}

static void count_call(const Counting *counting, Oid function, const List *arguments, Oid result, double times) {
    const double rows = counting->rows * times;
    const Cost declared = declared_cost(counting->to->root, function);
    if (declared > 0)
        counting->to->work->other_ns += rows * declared * counting->to->ns_per_unit;
    else
        count_builtin(counting->to->work, function, type_of_first(arguments), result, rows);
}

// Of AND, OR, CASE, COALESCE: each for the rows that were not decided before.
static bool count_in_turn(const Counting *counting, const List *arguments) {
    Counting rest = *counting;
    ListCell *cell;
    foreach (cell, arguments) {
        count_node(static_cast<Node *>(lfirst(cell)), &rest);
        rest.rows *= unknown_share;
    }
    return false;
}

static double compared_elements(PlannerInfo *root, const ScalarArrayOpExpr *op) {
    const double all = elements_of_array(root, static_cast<Node *>(lsecond(op->args)));
    return all <= max_searched ? std::max(all * searched_share, 1.0) : 1;
}

static bool count_node(Node *node, void *context) {
    const Counting *counting = static_cast<const Counting *>(context);
    if (node == nullptr)
        return false;
    const double measured =
        is_call(node) && calls_unknown(node, nullptr) ? evaluation_time(counting->to->root, node) : 0;
    if (measured > 0) {
        counting->to->work->other_ns += counting->rows * measured;
        return false;
    }
    switch (nodeTag(node)) {
    case T_FuncExpr: {
        const FuncExpr *call = reinterpret_cast<const FuncExpr *>(node);
        count_call(counting, call->funcid, call->args, call->funcresulttype, 1);
        break;
    }
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr: {
        OpExpr *op = reinterpret_cast<OpExpr *>(node);
        set_opfuncid(op);
        count_call(counting, op->opfuncid, op->args, op->opresulttype, 1);
        break;
    }
    case T_ScalarArrayOpExpr: {
        ScalarArrayOpExpr *op = reinterpret_cast<ScalarArrayOpExpr *>(node);
        set_sa_opfuncid(op);
        count_call(counting, op->opfuncid, op->args, BOOLOID, compared_elements(counting->to->root, op));
        break;
    }
    case T_BoolExpr:
        return count_in_turn(counting, reinterpret_cast<const BoolExpr *>(node)->args);
    case T_CoalesceExpr:
        return count_in_turn(counting, reinterpret_cast<const CoalesceExpr *>(node)->args);
    case T_CaseExpr: {
        Counting rest = *counting;
        ListCell *cell;
        foreach (cell, reinterpret_cast<const CaseExpr *>(node)->args) {
            const CaseWhen *when = lfirst_node(CaseWhen, cell);
            count_node(reinterpret_cast<Node *>(when->expr), &rest);
            rest.rows *= unknown_share;
            count_node(reinterpret_cast<Node *>(when->result), &rest);
        }
        return count_node(reinterpret_cast<Node *>(reinterpret_cast<const CaseExpr *>(node)->defresult), &rest);
    }
    case T_RestrictInfo:
        return count_node(reinterpret_cast<Node *>(reinterpret_cast<const RestrictInfo *>(node)->clause), context);
    case T_SubPlan: {
        const SubPlan *plan = reinterpret_cast<const SubPlan *>(node);
        const double calls = plan->useHashTable ? 0 : counting->rows;
        counting->to->work->other_ns +=
            (plan->startup_cost + calls * plan->per_call_cost) * subplan_ns_per_unit(counting->to->root, plan->plan_id);
        if (plan->useHashTable)
            executor::probe(counting->to->work, counting->rows, 0);
        return false;
    }
    case T_AlternativeSubPlan:
        return count_node(static_cast<Node *>(linitial(reinterpret_cast<const AlternativeSubPlan *>(node)->subplans)),
                          context);
    case T_CoerceViaIO:
    case T_RowCompareExpr:
    case T_MinMaxExpr:
        add(counting->to->work, Step::Text, counting->rows);
        break;
    case T_Aggref: // computed below
    case T_WindowFunc:
    case T_GroupingFunc:
    case T_PlaceHolderVar:
    case T_Var:
    case T_Const:
        return false;
    default:
        break;
    }
    return walk_expression(node, count_node, context);
}

void count_expression(const ExpressionCounting *to, Node *expression, double rows) {
    Counting counting{to, rows};
    count_node(expression, &counting);
}

void count_conditions(const ExpressionCounting *to, const List *conditions, double rows) {
    ListCell *cell;
    foreach (cell, conditions) {
        Node *condition = static_cast<Node *>(lfirst(cell));
        count_expression(to, condition, rows);
        double selectivity = unknown_share;
        if (IsA(condition, RestrictInfo)) {
            const RestrictInfo *info = reinterpret_cast<const RestrictInfo *>(condition);
            if (info->norm_selec >= 0 && info->norm_selec <= 1)
                selectivity = info->norm_selec;
        }
        rows *= selectivity;
    }
}

double expression_ns(PlannerInfo *root, Node *expression, double rows) {
    executor::Work work{};
    const ExpressionCounting to{root, device_ns_per_unit(), &work};
    count_expression(&to, expression, rows);
    return executor::time_of(work, *device_executor_rates());
}

} // namespace gpuscan
