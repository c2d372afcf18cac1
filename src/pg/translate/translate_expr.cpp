// The recursive part of the translator: which file translates a node, and how nodes and values are made. The kinds of
// nodes are in translate_leaf.cpp, translate_logic.cpp, translate_comparison.cpp, translate_conditional.cpp and
// translate_function.cpp.
//
// Rules that keep answers equal to PostgreSQL's:
//   - only functions known by OID are translated, never by name or by operator;
//   - a numeric is an integer scaled by a power of ten that is known at plan time; where branches of a CASE differ in
//     scale the value is right but its display scale is not one number, which `mixed_scale` remembers;
//   - whatever can raise an error becomes an IR node that can raise one: a row error makes PostgreSQL's plan run.
#include "pg/pg.h"

#include <algorithm>

#include "engine/store/deferred_evaluation.hpp"
#include "pg/guard.h"
#include "pg/refusal.h"
#include "pg/refusal_state.h"
#include "pg/translate/translate_parts.h"

namespace gpuscan {

// ---- nodes and values ----

static NodeFacts facts_of(const Translation *t, const ir::Expr &e) {
    NodeFacts facts{};
    facts.deferred = e.op == ir::Op::Lookup && t->lookups[static_cast<int>(e.b)].deferred;
    facts.looks_up = e.op == ir::Op::Lookup;
    facts.raises = facts.deferred || ir::raises_itself(t->exprs.at, e);
    ir::for_each_operand(e, [&](ir::Index operand) {
        const NodeFacts &of = t->facts[static_cast<int>(operand)];
        facts.depth = std::max(facts.depth, of.depth);
        facts.raises = facts.raises || of.raises;
        facts.deferred = facts.deferred || of.deferred;
        facts.looks_up = facts.looks_up || of.looks_up;
        facts.steps += of.steps; // (each is limited below)
    });
    ++facts.depth;
    facts.steps = facts.deferred ? std::min<ir::Index>(facts.steps + 1, max_deferral_steps + 1) : 0;
    return facts;
}

static int *bucket_of(Translation *t, const ir::Expr &e) {
    const uint32 words[] = {static_cast<uint32>(e.op) << 8 | static_cast<uint32>(e.type), e.a, e.b, e.c};
    const uint32 hash = hash_bytes(reinterpret_cast<const unsigned char *>(words), sizeof words);
    return &t->buckets[static_cast<int>(hash & static_cast<uint32>(t->buckets.count - 1))];
}

static void link_node(Translation *t, int node) {
    int *bucket = bucket_of(t, t->exprs[node]);
    t->same_hash[node] = *bucket;
    *bucket = node;
}

// At least as many buckets as nodes.
static void grow_buckets(Translation *t) {
    if (t->exprs.count < t->buckets.count)
        return;
    const int count = std::max(64, 2 * t->buckets.count);
    t->buckets.count = 0;
    for (int i = 0; i < count; ++i)
        append(&t->buckets, -1);
    for (int i = 0; i < t->exprs.count; ++i)
        if (t->exprs[i].op != ir::Op::Const)
            link_node(t, i);
}

// Equal nodes are one node. Constants never are: which of them happen to be equal must not shape the kernel.
ir::Index add_expr(Translation *t, ir::Op op, Type type, ir::Index a, ir::Index b, ir::Index c) {
    ir::Expr e{};
    e.op = op;
    e.type = type;
    e.a = a;
    e.b = b;
    e.c = c;
    grow_buckets(t);
    const bool shared = op != ir::Op::Const;
    for (int i = shared ? *bucket_of(t, e) : -1; i >= 0; i = t->same_hash[i]) {
        const ir::Expr &known = t->exprs[i];
        if (known.op == op && known.type == type && known.a == a && known.b == b && known.c == c)
            return static_cast<ir::Index>(i);
    }
    append(&t->facts, facts_of(t, e));
    t->deepest = std::max(t->deepest, t->facts[t->facts.count - 1].depth);
    t->max_steps = std::max(t->max_steps, t->facts[t->facts.count - 1].steps);
    append(&t->same_hash, -1);
    const int node = append(&t->exprs, e);
    if (shared)
        link_node(t, node);
    return static_cast<ir::Index>(node);
}

ir::Index add_call(Translation *t, ir::Function function, ir::Index a, ir::Index b) {
    return add_expr(t, ir::Op::Call, ir::function_info(function).result, a, b, static_cast<ir::Index>(function));
}

bool may_raise(const Translation *t, ir::Index node) { return t->facts[static_cast<int>(node)].raises; }

bool looks_up(const Translation *t, ir::Index node) { return t->facts[static_cast<int>(node)].looks_up; }

bool is_deferred(const Translation *t, ir::Index node) { return t->facts[static_cast<int>(node)].deferred; }

ir::Index add_constant(Translation *t, Type type, int128 value, bool null) {
    ir::Constant constant{};
    constant.type = type;
    constant.null = null ? 1 : 0;
    constant.low = static_cast<uint64_t>(value);
    constant.high = static_cast<int64_t>(value >> 64);
    ir::Index index = static_cast<ir::Index>(append(&t->constants, constant));
    return add_expr(t, ir::Op::Const, type, index);
}

bool fits(int128 value, Type type) {
    switch (type) {
    case Type::Bool:
        return value == 0 || value == 1;
    case Type::I16:
        return value >= PG_INT16_MIN && value <= PG_INT16_MAX;
    case Type::I32:
        return value >= PG_INT32_MIN && value <= PG_INT32_MAX;
    case Type::I64:
        return value >= PG_INT64_MIN && value <= PG_INT64_MAX;
    default:
        return true;
    }
}

static bool power_of_ten(int exponent, int128 *out) {
    if (exponent < 0 || exponent > 38)
        return false;
    *out = 1;
    for (int i = 0; i < exponent; ++i)
        *out *= 10;
    return true;
}

bool as_node(Translation *t, const TypedExpr &value, Type type, int32 scale, ir::Index *out) {
    int128 factor = 1;
    if (value.text != nullptr) // nobody needs to know which unified dictionary it is in
        return as_unified_node(t, value, new_unified_dictionary(t), false, out);
    if (value.kind == SqlKind::Numeric && scale > value.scale && !power_of_ten(scale - value.scale, &factor))
        return refuse("numeric scales are too far apart");

    if (value.literal) {
        int128 scaled = value.literal_value;
        if (value.literal_null)
            scaled = 0;
        else if (__builtin_mul_overflow(scaled, factor, &scaled) || !fits(scaled, type))
            return refuse("a constant is too large for the type that it is compared or computed with");
        if (is_float(type)) { // only NULL has no value of its own there
            if (!value.literal_null)
                return refuse("integer constant as a float");
        }
        *out = add_constant(t, type, scaled, value.literal_null);
        return true;
    }
    ir::Index node = value.expr;
    if (value.type != type)
        node = add_expr(t, ir::Op::Cast, type, node);
    if (factor != 1)
        node = add_expr(t, ir::Op::Mul, type, node, add_constant(t, type, factor, false));
    *out = node;
    return true;
}

bool as_own_node(Translation *t, const TypedExpr &value, ir::Index *out) {
    return as_node(t, value, value.type, value.scale, out);
}

void node_value(TypedExpr *out, SqlKind kind, Type type, ir::Index expr, bool nullable) {
    *out = TypedExpr{};
    out->kind = kind;
    out->type = type;
    out->expr = expr;
    out->nullable = nullable;
    if (is_integer_kind(kind))
        out->precision = integer_digits(kind);
}

void bool_value(TypedExpr *out, ir::Index expr, bool nullable) {
    node_value(out, SqlKind::Bool, Type::Bool, expr, nullable);
}

ir::Index raise_node(Translation *t, Type type) {
    if (type == Type::I128)
        return add_expr(t, ir::Op::Cast, Type::I128, raise_node(t, Type::I64));
    if (type == Type::I64) {
        ir::Index wide = add_constant(t, Type::I128, static_cast<int128>(1) << 100, false);
        return add_expr(t, ir::Op::Cast, Type::I64, wide);
    }
    return add_expr(t, ir::Op::Cast, Type::I32, add_constant(t, Type::I64, static_cast<int128>(1) << 40, false));
}

// ---- the walk ----

static bool translate_call(Translation *t, Oid funcid, List *args, Expr *expr, TypedExpr *out) {
    if (is_late_constant(expr)) {
        SqlKind kind = sql_kind(exprType(reinterpret_cast<Node *>(expr)));
        if (kind != SqlKind::None && kind != SqlKind::Opaque && kind != SqlKind::Numeric &&
            (contain_mutable_functions(reinterpret_cast<Node *>(expr)) || !is_device_function(funcid)))
            return translate_late_constant(t, expr, out);
    }
    return translate_function(t, funcid, args, expr, out);
}

// Some constructs are translated several times (the argument of CASE x WHEN for each of its arms), and such ones may be nested.
constexpr int max_calls = 50000;

bool within_budget(const Translation *t) {
    if (t->calls > max_calls || t->exprs.count > static_cast<int>(ir::max_exprs))
        return refuse("an expression that is too large for a device");
    if (t->deepest > ir::max_expr_depth)
        return refuse("an expression that is too deep for a device");
    return true;
}

bool within_deferral_budget(const Translation *t) {
    if (t->max_steps <= max_deferral_steps)
        return true;
    bool fit = false;
    guarded([&] {
        std::vector<bool> deferred;
        for (int i = 0; i < t->lookups.count; ++i)
            deferred.push_back(t->lookups[i].deferred);
        fit = deferrals_fit(t->exprs.at, static_cast<size_t>(t->exprs.count), deferred);
    });
    return fit || refuse("an expression around functions of texts that is too long for a device");
}

static bool translate_node(Translation *t, Expr *expr, TypedExpr *out);

// How far the translation had come: what has been added since can be taken back. (Unified dictionaries stay: others may have joined them.)
class Checkpoint {
  public:
    explicit Checkpoint(const Translation *t)
        : exprs_(t->exprs.count), constants_(t->constants.count), late_constants_(t->late_constants.count),
          lookups_(t->lookups.count), time_zones_(t->time_zones.count), deepest_(t->deepest), max_steps_(t->max_steps),
          probed_(list_length(t->probed)) {
        for (int i = 0; i < t->nsources; ++i) {
            columns_[i] = t->sources[i].columns.count;
            payload_[i] = t->sources[i].payload.count;
        }
    }
    void go_back(Translation *t) const {
        for (int node = t->exprs.count; --node >= exprs_;) // the latest is first in its bucket
            if (t->exprs[node].op != ir::Op::Const)
                *bucket_of(t, t->exprs[node]) = t->same_hash[node];
        t->exprs.count = t->facts.count = t->same_hash.count = exprs_;
        t->constants.count = constants_;
        t->late_constants.count = late_constants_;
        t->lookups.count = lookups_;
        t->time_zones.count = time_zones_;
        t->probed = list_truncate(t->probed, probed_);
        t->deepest = deepest_;
        t->max_steps = max_steps_;
        for (int i = 0; i < t->nsources; ++i) {
            t->sources[i].columns.count = t->sources[i].varattnos.count = columns_[i];
            t->sources[i].payload.count = payload_[i];
        }
    }

  private:
    int exprs_, constants_, late_constants_, lookups_, time_zones_;
    ir::Index deepest_, max_steps_;
    int probed_;
    int columns_[ir::max_joins + 1], payload_[ir::max_joins + 1];
};

bool translate(Translation *t, Expr *expr, TypedExpr *out) {
    check_stack_depth();
    CHECK_FOR_INTERRUPTS();
    ++t->calls;
    // Nearly every level becomes a node, and looks at all that is below it first: so too many are refused on the way down.
    if (t->nesting >= static_cast<int>(ir::max_expr_depth))
        return refuse("an expression that is too deep for a device");
    if (t->nesting == 0)
        t->reads_entries = reads_entries(reinterpret_cast<Node *>(expr));
    ++t->nesting;
    const Checkpoint before(t);
    bool translated = within_budget(t) && translate_node(t, expr, out);
    if (!translated && t->groups == nullptr) { // what was made of its parts is not wanted
        before.go_back(t);
        translated = within_budget(t) && translate_expression_column(t, expr, out);
    }
    --t->nesting;
    return translated;
}

// Of expressions that no device evaluates.
static const char *name_of_kind(const Expr *expr) {
    switch (nodeTag(expr)) {
    case T_RowCompareExpr:
        return "a comparison of rows";
    case T_RowExpr:
        return "a row";
    case T_ArrayExpr:
    case T_ArrayCoerceExpr:
        return "an array";
    case T_SubscriptingRef:
        return "an element of an array or the like";
    case T_FieldSelect:
    case T_FieldStore:
        return "a field of a composite value";
    case T_WindowFunc:
        return "a window function";
    case T_SubPlan:
    case T_AlternativeSubPlan:
        return "a subquery";
    case T_SQLValueFunction:
        return "a value such as CURRENT_DATE, in this place";
    default:
        return psprintf("an expression of a kind that no device knows (%d)", static_cast<int>(nodeTag(expr)));
    }
}

static bool translate_node(Translation *t, Expr *expr, TypedExpr *out) {
    bool translated;
    if (t->groups != nullptr && translate_of_group(t, expr, out, &translated))
        return translated;
    if (IsA(expr, Var))
        return translate_column(t, reinterpret_cast<Var *>(expr), out);
    const bool may_look_up = t->groups == nullptr && t->reads_entries;
    if (may_look_up && is_dictionary_expression(t, expr))
        return translate_lookup(t, expr, out);
    if (may_look_up && is_deferrable(t, expr))
        return is_better_a_column(t, expr) ? false : translate_deferred(t, expr, out);

    switch (nodeTag(expr)) {
    case T_Const:
        return translate_const(t, reinterpret_cast<Const *>(expr), out);
    case T_Param:
        if (reinterpret_cast<Param *>(expr)->paramkind != PARAM_EXTERN &&
            reinterpret_cast<Param *>(expr)->paramkind != PARAM_EXEC)
            return refuse("a parameter that only UPDATE has");
        return translate_late_constant(t, expr, out);
    case T_SQLValueFunction:
        return translate_late_constant(t, expr, out);
    case T_RelabelType: {
        // Binary compatible: same value, another name.
        const RelabelType *relabel = reinterpret_cast<const RelabelType *>(expr);
        if (!translate(t, relabel->arg, out))
            return false;
        SqlKind kind = sql_kind(relabel->resulttype);
        if (kind != out->kind)
            return refuse("a cast to %s", format_type_be(relabel->resulttype));
        if (out->text != nullptr)
            out->text = expr;
        if (is_text_kind(kind) &&
            (!OidIsValid(relabel->resultcollid) || !get_collation_isdeterministic(relabel->resultcollid)))
            return refuse("a nondeterministic collation");
        return true;
    }
    case T_BoolExpr:
        return translate_bool(t, reinterpret_cast<BoolExpr *>(expr), out);
    case T_NullTest:
        return translate_null_test(t, reinterpret_cast<NullTest *>(expr), out);
    case T_BooleanTest:
        return translate_boolean_test(t, reinterpret_cast<BooleanTest *>(expr), out);
    case T_CaseExpr:
        return translate_case(t, reinterpret_cast<CaseExpr *>(expr), out);
    case T_CoalesceExpr:
        return translate_coalesce(t, reinterpret_cast<CoalesceExpr *>(expr), out);
    case T_NullIfExpr:
        return translate_nullif(t, reinterpret_cast<NullIfExpr *>(expr), out);
    case T_DistinctExpr:
        return translate_distinct(t, reinterpret_cast<DistinctExpr *>(expr), out);
    case T_ScalarArrayOpExpr:
        return translate_array_comparison(t, reinterpret_cast<ScalarArrayOpExpr *>(expr), out);
    case T_FuncExpr: {
        FuncExpr *call = reinterpret_cast<FuncExpr *>(expr);
        return translate_call(t, call->funcid, call->args, expr, out);
    }
    case T_OpExpr: {
        OpExpr *call = reinterpret_cast<OpExpr *>(expr);
        Oid funcid = OidIsValid(call->opfuncid) ? call->opfuncid : get_opcode(call->opno);
        return translate_call(t, funcid, call->args, expr, out);
    }
    case T_SubPlan:
    case T_AlternativeSubPlan:
        return refuse_with("write the subquery as a join", "a subquery that is evaluated per row");
    case T_PlaceHolderVar:
        return refuse("an expression that an outer join or a lateral subquery computes");
    case T_CoerceToDomain:
        return refuse("a cast to a domain");
    case T_CoerceViaIO:
        return is_late_constant(expr) ? translate_late_constant(t, expr, out) : refuse("a cast through text");
    case T_MinMaxExpr:
        return translate_min_max(t, reinterpret_cast<MinMaxExpr *>(expr), out);
    default:
        return refuse("%s", name_of_kind(expr));
    }
}

Translation probe_of(PlannerInfo *root, TranslatedSource *any) {
    Translation probe{};
    probe.probing = root;
    probe.sources = any;
    probe.nsources = 1;
    return probe;
}

bool columns_of_value(PlannerInfo *root, Expr *value, ValueUse use, List **columns) {
    TranslatedSource any{};
    Translation probe = probe_of(root, &any);
    TypedExpr out;
    RefusalState heard;
    RefusalState *outer = refusals_begin(&heard); // nobody is told
    const bool known = translate(&probe, value, &out) ||
                       (use == ValueUse::Grouped && translate_stored_expression(&probe, value, &out)) ||
                       (use == ValueUse::Counted && translate_presence(&probe, value, &out));
    refusals_end(outer);
    *columns = probe.probed;
    return known;
}

bool can_compute(PlannerInfo *root, Expr *expr) {
    TranslatedSource any{};
    Translation probe = probe_of(root, &any);
    TypedExpr out;
    return translate(&probe, expr, &out) &&
           (!is_coded_kind(out.kind) || refuse("a text that a subquery makes of groups or windows"));
}

bool translate_condition(Translation *t, Expr *expr, ir::Index *out) {
    TypedExpr value;
    if (!translate(t, expr, &value))
        return false;
    if (value.kind != SqlKind::Bool)
        return refuse("a condition is not boolean");
    return as_own_node(t, value, out);
}

bool is_one_time_filter(Expr *qual) { return !IsA(qual, Const) && is_late_constant(qual); }

bool translate_qual(Translation *t, Expr *qual, ir::Index *out) {
    TypedExpr value;
    return is_one_time_filter(qual) ? translate_late_constant(t, qual, &value) && as_own_node(t, value, out)
                                    : translate_condition(t, qual, out);
}

} // namespace gpuscan
