// Window functions over rows: what the device computes (engine/result/window.hpp), and what PostgreSQL shows of it.
//
// An average of integers or numerics is a sum and a count; numeric.c divides them. A sum of numerics of mixed scale has the largest scale
// in its frame beside it, and one of another row that row's. The smallest text or numeric of mixed scale is that of the row with the smallest rank or number. A constant that
// lag or lead shows where there is no other row stays in the backend: the device tells which rows these are.
#include "pg/pg.h"

#include "pg/catalog/type_operators.h"
#include "pg/fragment/assembly.h"
#include "pg/refusal.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

namespace {

using ir::WindowKind;

// So that few sums overflow: the CPU plan does those that do.
constexpr int32 max_scale_of_mixed_sums = 24;

struct KnownFunction {
    Oid id;
    WindowKind kind;
    bool average = false; // of a sum
};

const KnownFunction known_functions[] = {
    {F_ROW_NUMBER, WindowKind::RowNumber},
    {F_RANK_, WindowKind::Rank},
    {F_DENSE_RANK_, WindowKind::DenseRank},
    {F_PERCENT_RANK_, WindowKind::PercentRank},
    {F_CUME_DIST_, WindowKind::CumeDist},
    {F_NTILE, WindowKind::Ntile},
    {F_LAG_ANYELEMENT, WindowKind::Lag},
    {F_LAG_ANYELEMENT_INT4, WindowKind::Lag},
    {F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, WindowKind::Lag},
    {F_LEAD_ANYELEMENT, WindowKind::Lead},
    {F_LEAD_ANYELEMENT_INT4, WindowKind::Lead},
    {F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, WindowKind::Lead},
    {F_FIRST_VALUE, WindowKind::FirstValue},
    {F_LAST_VALUE, WindowKind::LastValue},
    {F_NTH_VALUE, WindowKind::NthValue},
    {F_COUNT_, WindowKind::CountRows},
    {F_COUNT_ANY, WindowKind::Count},
    {F_SUM_INT2, WindowKind::Sum},
    {F_SUM_INT4, WindowKind::Sum},
    {F_SUM_INT8, WindowKind::Sum},
    {F_SUM_NUMERIC, WindowKind::Sum},
    {F_SUM_FLOAT8, WindowKind::Sum},
    {F_AVG_INT2, WindowKind::Sum, true},
    {F_AVG_INT4, WindowKind::Sum, true},
    {F_AVG_INT8, WindowKind::Sum, true},
    {F_AVG_NUMERIC, WindowKind::Sum, true},
    {F_AVG_FLOAT4, WindowKind::Average},
    {F_AVG_FLOAT8, WindowKind::Average},
    {F_BOOL_AND, WindowKind::Min},
    {F_EVERY, WindowKind::Min},
    {F_BOOL_OR, WindowKind::Max},
    {F_MIN_INT2, WindowKind::Min},
    {F_MIN_INT4, WindowKind::Min},
    {F_MIN_INT8, WindowKind::Min},
    {F_MIN_FLOAT4, WindowKind::Min},
    {F_MIN_FLOAT8, WindowKind::Min},
    {F_MIN_NUMERIC, WindowKind::Min},
    {F_MIN_DATE, WindowKind::Min},
    {F_MIN_TIME, WindowKind::Min},
    {F_MIN_TIMESTAMP, WindowKind::Min},
    {F_MIN_TIMESTAMPTZ, WindowKind::Min},
    {F_MAX_INT2, WindowKind::Max},
    {F_MAX_INT4, WindowKind::Max},
    {F_MAX_INT8, WindowKind::Max},
    {F_MAX_FLOAT4, WindowKind::Max},
    {F_MAX_FLOAT8, WindowKind::Max},
    {F_MAX_NUMERIC, WindowKind::Max},
    {F_MAX_DATE, WindowKind::Max},
    {F_MAX_TIME, WindowKind::Max},
    {F_MAX_TIMESTAMP, WindowKind::Max},
    {F_MAX_TIMESTAMPTZ, WindowKind::Max},
    {F_MIN_TEXT, WindowKind::Min},
    {F_MAX_TEXT, WindowKind::Max},
};

const KnownFunction *find_function(const WindowFunc *function) {
    if (ignores_nulls(function)) {
        refuse("a window function with IGNORE NULLS");
        return nullptr;
    }
    for (const KnownFunction &known : known_functions)
        if (known.id == function->winfnoid)
            return &known;
    refuse("window function %s", format_procedure(function->winfnoid));
    return nullptr;
}

// The column of the rows that has the node's values.
bool add_column(Assembly *a, ir::Index node, ir::Index *column) {
    int at = 0;
    while (at < a->row_columns.count && a->row_columns[at] != node)
        ++at;
    if (at == static_cast<int>(ir::max_row_outputs))
        return refuse("too many columns that windows need");
    if (at == a->row_columns.count)
        append(&a->row_columns, node);
    *column = static_cast<ir::Index>(at);
    return true;
}

// ---- windows ----

// An int4 that is known beforehand.
bool add_int4(Assembly *a, Expr *number, ir::Index *constant) {
    Node *wide = reinterpret_cast<Node *>(
        makeFuncExpr(F_INT8_INT4, INT8OID, list_make1(number), InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST));
    return (add_number(a, reinterpret_cast<Expr *>(eval_const_expressions(nullptr, wide)), constant) &&
            *constant != ir::none) ||
           refuse("a number of a window function that is not known beforehand");
}

struct Offsets {
    ir::FrameUnit unit;
    const TypedExpr *key; // of values: what they are compared with
};

// A distance of moments as one number, in days or microseconds, to which it comes wherever it begins. (A month does not, nor a day where
// clocks change.)
bool add_distance(Assembly *a, SqlKind kind, const Const *offset, ir::Index *constant) {
    const Interval *interval = DatumGetIntervalP(offset->constvalue);
    int64 distance = interval->day;
    const bool days = kind == SqlKind::Date, fixed = kind != SqlKind::Timestamptz || interval->day == 0;
    if (interval->month != 0 || !fixed || interval->day < 0 || interval->time < 0 || (days && interval->time != 0) ||
        (!days && (__builtin_mul_overflow(distance, USECS_PER_DAY, &distance) ||
                   __builtin_add_overflow(distance, interval->time, &distance))))
        return refuse("an offset of a frame that is no fixed distance");
    *constant = a->t.exprs[static_cast<int>(add_constant(&a->t, Type::I64, distance, false))].a;
    return true;
}

bool add_offset(Assembly *a, const Offsets &of, Expr *offset, ir::Index *constant) {
    TypedExpr value;
    ir::Index node;
    if (offset == nullptr)
        return false;
    if (of.key == nullptr)
        return add_number(a, offset, constant) && *constant != ir::none;
    const Oid type_of_offset = exprType(reinterpret_cast<Node *>(offset));
    if (is_integer_kind(of.key->kind) && type_of_offset == INT8OID)
        return add_number(a, offset, constant) && *constant != ir::none;
    if (is_integer_kind(of.key->kind) && type_of_offset == INT4OID)
        return add_int4(a, offset, constant);
    if (!IsA(offset, Const) || reinterpret_cast<const Const *>(offset)->constisnull)
        return false;
    if (of.unit == ir::FrameUnit::Moments)
        return reinterpret_cast<const Const *>(offset)->consttype == INTERVALOID &&
               add_distance(a, of.key->kind, reinterpret_cast<const Const *>(offset), constant);
    const Type type = of.unit == ir::FrameUnit::Floats ? Type::F64 : Type::I64;
    if (!translate(&a->t, offset, &value) || (value.kind == SqlKind::Numeric) != (of.key->kind == SqlKind::Numeric) ||
        is_float_kind(value.kind) != (type == Type::F64) || value.scale > of.key->scale ||
        !as_node(&a->t, value, type, of.key->scale, &node) || a->t.exprs[static_cast<int>(node)].op != ir::Op::Const)
        return false;
    *constant = a->t.exprs[static_cast<int>(node)].a;
    return true;
}

bool add_bound(Assembly *a, int frame, int unbounded, int current, int preceding, int following, const Offsets &of,
               Expr *offset, bool is_start, ir::FrameBound *bound, ir::Index *constant) {
    if (frame & unbounded)
        *bound = is_start ? ir::FrameBound::UnboundedPreceding : ir::FrameBound::UnboundedFollowing;
    else if (frame & current)
        *bound = ir::FrameBound::CurrentRow;
    else if (frame & (preceding | following))
        *bound = frame & preceding ? ir::FrameBound::Preceding : ir::FrameBound::Following;
    else
        return refuse("a window's frame that is not known");
    return !(frame & (preceding | following)) || add_offset(a, of, offset, constant) ||
           refuse("an offset of a frame that is not known beforehand, or not as a number");
}

// What offsets by values count.
bool find_unit(const TypedExpr &key, ir::FrameUnit *unit) {
    if (is_integer_kind(key.kind) || (key.kind == SqlKind::Numeric && !key.mixed_scale))
        *unit = ir::FrameUnit::Integers;
    else if (is_float_kind(key.kind))
        *unit = ir::FrameUnit::Floats;
    else if (key.kind == SqlKind::Date || key.kind == SqlKind::Timestamp || key.kind == SqlKind::Timestamptz)
        *unit = ir::FrameUnit::Moments;
    else
        return refuse("an offset of a frame by values of this type");
    return true;
}

// `key`: the last one that the window is ordered by, or NULL.
bool add_frame(Assembly *a, int frame, Expr *key, Expr *start, Expr *end, ir::Window *window) {
    Offsets offsets = {ir::FrameUnit::Rows, nullptr};
    TypedExpr value;
    window->exclusion = frame & FRAMEOPTION_EXCLUDE_CURRENT_ROW ? ir::FrameExclusion::CurrentRow
                        : frame & FRAMEOPTION_EXCLUDE_GROUP     ? ir::FrameExclusion::Group
                        : frame & FRAMEOPTION_EXCLUDE_TIES      ? ir::FrameExclusion::Ties
                                                                : ir::FrameExclusion::None;
    window->peers = frame & FRAMEOPTION_ROWS ? 0 : 1;
    if (frame & FRAMEOPTION_GROUPS)
        offsets.unit = ir::FrameUnit::Groups;
    if (frame & FRAMEOPTION_RANGE && (frame & (FRAMEOPTION_START_OFFSET | FRAMEOPTION_END_OFFSET))) {
        if (key == nullptr || !translate(&a->t, key, &value) || !find_unit(value, &offsets.unit))
            return false;
        offsets.key = &value;
    }
    window->unit = offsets.unit;
    return add_bound(a, frame, FRAMEOPTION_START_UNBOUNDED_PRECEDING, FRAMEOPTION_START_CURRENT_ROW,
                     FRAMEOPTION_START_OFFSET_PRECEDING, FRAMEOPTION_START_OFFSET_FOLLOWING, offsets, start, true,
                     &window->start, &window->start_offset) &&
           add_bound(a, frame, FRAMEOPTION_END_UNBOUNDED_FOLLOWING, FRAMEOPTION_END_CURRENT_ROW,
                     FRAMEOPTION_END_OFFSET_PRECEDING, FRAMEOPTION_END_OFFSET_FOLLOWING, offsets, end, false,
                     &window->end, &window->end_offset);
}

int number_of(const List *windows, int window, WindowNumber which) {
    return list_nth_int(windows, window * window_numbers + which);
}

bool add_window(Assembly *a, int number, int *key) {
    const FragmentSpec *spec = a->spec;
    ir::Window window{};
    window.keys = {static_cast<ir::Index>(a->window_keys.count),
                   static_cast<ir::Index>(number_of(spec->windows, number, WINDOW_KEYS))};
    window.partition = static_cast<ir::Index>(number_of(spec->windows, number, WINDOW_PARTITION_KEYS));
    Expr *last = nullptr;
    for (ir::Index k = 0; k < window.keys.count; ++k, ++*key) {
        ir::OrderKey order = order_key(list_nth_int(spec->window_key_flags, *key));
        ir::Index column;
        last = static_cast<Expr *>(list_nth(spec->window_keys, *key));
        if (!translate_sort_key(&a->t, last, &order.expr) || !add_column(a, order.expr, &column))
            return false;
        append(&a->window_keys, order);
    }
    if (!add_frame(a, number_of(spec->windows, number, WINDOW_FRAME), last,
                   static_cast<Expr *>(list_nth(spec->window_offsets, 2 * number)),
                   static_cast<Expr *>(list_nth(spec->window_offsets, 2 * number + 1)), &window))
        return false;
    append(&a->windows, window);
    return true;
}

// ---- functions ----

FragmentOutput output_of(const WindowFunc *function, Type type, SqlKind kind) {
    TypedExpr value{};
    value.kind = kind;
    return output_of_value(OutputKind::Row, value, type, function->wintype, -1);
}

// A function of I64 whose results stand behind the outputs.
int add_beside(Assembly *a, const ir::WindowFunction &function, Array<ir::WindowFunction> *beside) {
    return a->delivered + list_length(a->spec->window_functions) + append(beside, function);
}

// Is there no such row? For its constant.
bool mark_defaults(Assembly *a, const Const *shown, const ir::WindowFunction &to, Array<ir::WindowFunction> *beside,
                   FragmentOutput *output) {
    ir::WindowFunction mark = to;
    if (!add_column(a, add_constant(&a->t, Type::I64, 0, false), &mark.arg) ||
        !add_column(a, add_constant(&a->t, Type::I64, 1, false), &mark.other))
        return false;
    output->shown_default = shown;
    output->default_column = add_beside(a, mark, beside);
    return true;
}

// Which other row it is, and what is shown if there is none.
bool add_other_row(Assembly *a, const WindowFunc *function, WindowKind kind, const TypedExpr &value,
                   ir::WindowFunction *to, Array<ir::WindowFunction> *beside, FragmentOutput *output) {
    const bool shifts = kind == WindowKind::Lag || kind == WindowKind::Lead;
    if (!shifts && kind != WindowKind::NthValue)
        return true;
    if (list_length(function->args) < 2)
        to->number = a->t.exprs[static_cast<int>(add_constant(&a->t, Type::I64, 1, false))].a;
    else if (!add_int4(a, static_cast<Expr *>(lsecond(function->args)), &to->number))
        return false;
    if (list_length(function->args) < 3)
        return true;
    Expr *other = static_cast<Expr *>(lthird(function->args));
    if (IsA(other, Const) && reinterpret_cast<const Const *>(other)->constisnull)
        return true;
    TypedExpr second;
    ir::Index node;
    const bool spelled = is_coded_kind(value.kind) || value.kind == SqlKind::Numeric || value.kind == SqlKind::Interval;
    if (spelled && IsA(other, Const))
        return mark_defaults(a, reinterpret_cast<const Const *>(other), *to, beside, output);
    if (spelled && !equal(other, linitial(function->args)))
        return refuse("a default of lag or lead of type %s that is neither a constant nor the row's own value",
                      format_type_be(function->wintype));
    if (spelled) {
        to->other = to->arg;
        return true;
    }
    return translate(&a->t, other, &second) && as_node(&a->t, second, value.type, value.scale, &node) &&
           add_column(a, node, &to->other);
}

// What is shown of another row, and in rows that have none.
bool add_shown(Assembly *a, const WindowFunc *function, WindowKind kind, ir::WindowFunction *to,
               Array<ir::WindowFunction> *beside, FragmentOutput *output) {
    Expr *arg = static_cast<Expr *>(linitial(function->args));
    TypedExpr value;
    ir::Index node, scale;
    if (!translate_row_column(&a->t, arg, &value, &node, &scale) || !add_column(a, node, &to->arg))
        return false;
    *output = row_output(value, arg);
    if (!add_other_row(a, function, kind, value, to, beside, output))
        return false;
    if (scale == ir::none)
        return true;
    ir::WindowFunction shown = *to;
    if (!add_column(a, scale, &shown.arg))
        return false;
    if (to->other == to->arg)
        shown.other = shown.arg;
    output->scale_column = add_beside(a, shown, beside);
    return true;
}

// What is aggregated of rows for which the function's FILTER holds; of others NULL, which counts as little.
Expr *filtered_argument(const WindowFunc *function) {
    Expr *argument =
        function->winstar
            ? reinterpret_cast<Expr *>(makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(1), false, true))
            : static_cast<Expr *>(linitial(function->args));
    if (function->aggfilter == nullptr)
        return argument;
    CaseExpr *choice = makeNode(CaseExpr);
    CaseWhen *when = makeNode(CaseWhen);
    when->expr = function->aggfilter;
    when->result = argument;
    when->location = choice->location = -1;
    choice->casetype = exprType(reinterpret_cast<Node *>(argument));
    choice->casecollid = exprCollation(reinterpret_cast<Node *>(argument));
    choice->args = list_make1(when);
    choice->defresult = reinterpret_cast<Expr *>(
        makeNullConst(choice->casetype, exprTypmod(reinterpret_cast<Node *>(argument)), choice->casecollid));
    return reinterpret_cast<Expr *>(choice);
}

// Which row has the smallest or largest value is one question, and what it shows another: a text has a rank, a numeric of mixed scale its
// stored form.
bool add_end(Assembly *a, const WindowFunc *function, TypedExpr *value, ir::WindowFunction *to,
             FragmentOutput *output) {
    Expr *argument = strip_relabels(static_cast<Expr *>(linitial(function->args)));
    TypedExpr rank, shown;
    ir::Index node;
    int lookup;
    if (is_text_kind(value->kind)) {
        if (!is_sound_collation(function->inputcollid))
            return refuse("%s under a nondeterministic collation", format_procedure(function->winfnoid));
        if (!make_text_node(&a->t, value) ||
            !translate_rank(&a->t, *value, function->inputcollid, TEXTOID, &lookup, &rank))
            return false;
        *value = rank;
    } else if (value->tied) {
        return refuse("%s of numerics, of which equal ones are written in different ways",
                      format_procedure(function->winfnoid));
    }
    if (!as_own_node(&a->t, *value, &node) || !add_column(a, node, &to->arg) ||
        !translate_row_value(&a->t, argument, &shown, &node) || !add_column(a, node, &to->other))
        return false;
    *output = output_of_value(OutputKind::Row, shown, shown.type, function->wintype, -1);
    return shown.type == Type::Code ||
           refuse("%s over values of this type in a window", format_procedure(function->winfnoid));
}

// With how many digits the sum of a frame is shown.
bool add_scale(Assembly *a, const TypedExpr &value, ir::Index node, const ir::WindowFunction &sum,
               Array<ir::WindowFunction> *beside, FragmentOutput *output) {
    Translation *t = &a->t;
    if (value.scale_node == ir::none || value.scale > max_scale_of_mixed_sums)
        return refuse(
            "a sum of a window over numeric values of different scales that are not known, or of more than %d",
            max_scale_of_mixed_sums);
    ir::WindowFunction scale = sum;
    scale.kind = WindowKind::Max;
    scale.narrow = 0;
    const ir::Index shown = add_expr(t, ir::Op::Cast, Type::I64, display_scale(t, value));
    if (!add_column(a,
                    add_expr(t, ir::Op::Case, Type::I64, add_expr(t, ir::Op::IsNotNull, Type::Bool, node), shown,
                             add_constant(t, Type::I64, 0, true)),
                    &scale.arg))
        return false;
    output->scale_column = add_beside(a, scale, beside);
    return true;
}

// Sums, extremes and counts of values in a frame.
bool add_aggregate(Assembly *a, const WindowFunc *function, const KnownFunction *known, ir::WindowFunction *to,
                   Array<ir::WindowFunction> *beside, FragmentOutput *output) {
    TypedExpr value;
    ir::Index node;
    if (!translate(&a->t, filtered_argument(function), &value))
        return false;
    if (to->kind == WindowKind::Count) {
        *output = output_of(function, Type::I64, SqlKind::Int8);
        return as_own_node(&a->t, value, &node) && add_column(a, node, &to->arg);
    }
    const bool sums = known->kind == WindowKind::Sum;
    if (!sums && (value.mixed_scale || is_text_kind(value.kind)))
        return add_end(a, function, &value, to, output);
    if (is_coded_kind(value.kind) || !is_in_order(value.kind) || value.kind == SqlKind::Uuid)
        return refuse("%s over values of this type in a window", format_procedure(function->winfnoid));
    Type type = value.type;
    if (known->kind == WindowKind::Average)
        type = Type::F64;
    if (value.kind == SqlKind::Numeric && type != Type::I128)
        type = Type::I64;
    if (!as_node(&a->t, value, type, value.scale, &node))
        return false;
    if (function->winfnoid == F_AVG_FLOAT8)
        node = add_call(&a->t, ir::Function::Bounded, node);
    if (!add_column(a, node, &to->arg))
        return false;
    const bool of_floats = is_float(type);
    *output = output_of(function, type, value.kind);
    output->scale = value.scale;
    if (known->kind == WindowKind::Average)
        output->value_kind = SqlKind::Float8;
    if (!sums || of_floats)
        return true;
    to->narrow = !known->average && function->wintype == INT8OID ? 1 : 0;
    output->type = to->narrow ? Type::I64 : Type::I128;
    output->value_kind = to->narrow ? SqlKind::Int8 : SqlKind::Numeric;
    if (known->average)
        output->kind = OutputKind::AvgNumeric;
    return !value.mixed_scale || add_scale(a, value, node, *to, beside, output);
}

int window_of(const FragmentSpec *spec, const WindowFunc *function) {
    const int n = list_length(spec->windows) / window_numbers;
    int window = 0;
    while (window < n && number_of(spec->windows, window, WINDOW_REF) != static_cast<int>(function->winref))
        ++window;
    return window < n ? window : -1;
}

bool add_function(Assembly *a, const WindowFunc *function, Array<ir::WindowFunction> *beside) {
    const KnownFunction *known = find_function(function);
    const int window = window_of(a->spec, function);
    if (known == nullptr || window < 0 || !may_execute(&a->t, function->winfnoid))
        return false;
    ir::WindowFunction to{};
    const bool counts_some = known->kind == WindowKind::CountRows && function->aggfilter != nullptr;
    to.kind = counts_some ? WindowKind::Count : known->kind;
    to.window = static_cast<ir::Index>(window);
    FragmentOutput output;
    switch (to.kind) {
    case WindowKind::RowNumber:
    case WindowKind::Rank:
    case WindowKind::DenseRank:
    case WindowKind::CountRows:
        output = output_of(function, Type::I64, SqlKind::Int8);
        break;
    case WindowKind::PercentRank:
    case WindowKind::CumeDist:
        output = output_of(function, Type::F64, SqlKind::Float8);
        break;
    case WindowKind::Ntile:
        output = output_of(function, Type::I32, SqlKind::Int4);
        if (!add_int4(a, static_cast<Expr *>(linitial(function->args)), &to.number))
            return false;
        break;
    case WindowKind::Lag:
    case WindowKind::Lead:
    case WindowKind::FirstValue:
    case WindowKind::LastValue:
    case WindowKind::NthValue:
        if (!add_shown(a, function, known->kind, &to, beside, &output))
            return false;
        break;
    default:
        if (!add_aggregate(a, function, known, &to, beside, &output))
            return false;
    }
    if (output.kind == OutputKind::AvgNumeric) {
        ir::WindowFunction count{};
        count.kind = WindowKind::Count;
        count.window = to.window;
        count.arg = to.arg;
        output.count_column = add_beside(a, count, beside);
    }
    output.key = a->delivered + append(&a->window_functions, to);
    append(&a->outputs, output);
    return true;
}

// ---- tests ----

// A test that the device does not know is left to the node.
bool add_test(Assembly *a, const OpExpr *test) {
    const int n = list_length(a->spec->window_functions);
    ir::Op op;
    const WindowFunc *of;
    Expr *right;
    if (!compares_window(test, &of, &op, &right))
        return false;
    int number = 0;
    while (number < n && !equal(list_nth(a->spec->window_functions, number), of))
        ++number;
    const FragmentOutput *output = &a->outputs[list_length(a->spec->columns)];
    if (number == n || output[number].type != Type::I64 || output[number].value_kind != SqlKind::Int8)
        return false;
    ir::WindowFunction *function = &a->window_functions[number];
    const Oid type = exprType(reinterpret_cast<Node *>(right));
    ir::Index bound = ir::none;
    if (function->tested || (type != INT8OID && type != INT4OID) ||
        !(type == INT8OID ? add_number(a, right, &bound) : add_int4(a, right, &bound)) || bound == ir::none)
        return false;
    function->tested = 1;
    function->test = op;
    function->bound = bound;
    return true;
}

} // namespace

bool compares_window(const OpExpr *test, const WindowFunc **function, ir::Op *op, Expr **bound) {
    if (list_length(test->args) != 2 ||
        !comparison_operator(test->opfuncid != InvalidOid ? test->opfuncid : get_opcode(test->opno), op))
        return false;
    Expr *left = static_cast<Expr *>(linitial(test->args));
    *bound = static_cast<Expr *>(lsecond(test->args));
    if (!IsA(left, WindowFunc)) {
        std::swap(left, *bound);
        *op = ir::mirrored(*op);
    }
    *function = reinterpret_cast<const WindowFunc *>(left);
    return IsA(left, WindowFunc);
}

bool add_windows(Assembly *a) {
    const FragmentSpec *spec = a->spec;
    const int n = list_length(spec->windows) / window_numbers;
    if (n > static_cast<int>(ir::max_windows))
        return refuse("more than %d windows", ir::max_windows);
    a->t.pipeline = 0;
    int key = 0;
    for (int i = 0; i < n; ++i)
        if (!add_window(a, i, &key))
            return false;
    Array<ir::WindowFunction> beside{};
    ListCell *cell;
    foreach (cell, spec->window_functions)
        if (!add_function(a, static_cast<const WindowFunc *>(lfirst(cell)), &beside))
            return false;
    for (int i = 0; i < beside.count; ++i)
        append(&a->window_functions, beside[i]);
    foreach (cell, spec->window_tests)
        if (IsA(lfirst(cell), OpExpr))
            a->tests += add_test(a, static_cast<const OpExpr *>(lfirst(cell))) ? 1 : 0;
    return true;
}

} // namespace gpuscan
