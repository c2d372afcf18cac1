// Expressions over one text column: PostgreSQL evaluates them once per dictionary entry, the device looks the result up.
//
// The whole dictionary is evaluated, entries of rows that the query would never see included. So only functions are
// admitted that cannot fail for a single entry and show their argument to nobody: built-in ones from the list below,
// whose other arguments are constants or parameters, and whose errors (a pattern that ends in an escape, a negative
// length, a malformed regular expression) are ruled out by looking at the constants. Everything else on text is refused.
//
// Where policies hide rows from the user, an expression that is not leakproof is deferred instead (deferred_lookup.cpp).
//
// The largest subtree over one text column becomes one lookup, so a chain of OR over a column costs one table access.
#include "pg/pg.h"

#include "pg/catalog/error_free.h"
#include "pg/catalog/function_index.h"
#include "pg/refusal.h"
#include "pg/translate/translate.h"

namespace gpuscan {

// Of what one text, and constants or parameters, give. Those that can fail for some arguments are here as well: catalog/error_free.h knows
// for which.
struct DictionaryFunction {
    Oid funcid;
};

static constexpr DictionaryFunction dictionary_functions[] = {
    {F_TEXTEQ},
    {F_TEXTNE},
    {F_TEXT_LT},
    {F_TEXT_LE},
    {F_TEXT_GT},
    {F_TEXT_GE},
    {F_BPCHAREQ},
    {F_BPCHARNE},
    {F_BPCHARLT},
    {F_BPCHARLE},
    {F_BPCHARGT},
    {F_BPCHARGE},
    {F_TEXT_PATTERN_LT},
    {F_TEXT_PATTERN_LE},
    {F_TEXT_PATTERN_GT},
    {F_TEXT_PATTERN_GE},
    {F_TEXTLIKE},
    {F_TEXTNLIKE},
    {F_LIKE_TEXT_TEXT},
    {F_NOTLIKE_TEXT_TEXT},
    {F_BPCHARLIKE},
    {F_BPCHARNLIKE},
    {F_TEXTICLIKE},
    {F_TEXTICNLIKE},
    {F_BPCHARICLIKE},
    {F_BPCHARICNLIKE},
    {F_TEXTREGEXEQ},
    {F_TEXTREGEXNE},
    {F_BPCHARREGEXEQ},
    {F_BPCHARREGEXNE},
    {F_TEXTICREGEXEQ},
    {F_TEXTICREGEXNE},
    {F_BPCHARICREGEXEQ},
    {F_BPCHARICREGEXNE},
    {F_UPPER_TEXT},
    {F_LOWER_TEXT},
    {F_INITCAP},
    {F_LENGTH_TEXT},
    {F_LENGTH_BPCHAR},
    {F_CHAR_LENGTH_TEXT},
    {F_CHAR_LENGTH_BPCHAR},
    {F_CHARACTER_LENGTH_TEXT},
    {F_CHARACTER_LENGTH_BPCHAR},
    {F_OCTET_LENGTH_TEXT},
    {F_OCTET_LENGTH_BPCHAR},
    {F_SUBSTR_TEXT_INT4},
    {F_SUBSTRING_TEXT_INT4},
    {F_SUBSTR_TEXT_INT4_INT4},
    {F_SUBSTRING_TEXT_INT4_INT4},
    {F_LEFT},
    {F_RIGHT},
    {F_LTRIM_TEXT},
    {F_LTRIM_TEXT_TEXT},
    {F_RTRIM_TEXT},
    {F_RTRIM_TEXT_TEXT},
    {F_BTRIM_TEXT},
    {F_BTRIM_TEXT_TEXT},
    {F_TEXTCAT},
    {F_STARTS_WITH},
    {F_STRPOS},
    {F_POSITION_TEXT_TEXT},
    {F_TEXT_BPCHAR},
    {F_REPLACE},
    {F_TRANSLATE},
    {F_REVERSE},
    {F_SPLIT_PART},
    {F_SUBSTRING_TEXT_TEXT},
    {F_VARCHAR_VARCHAR_INT4_BOOL},
};

static constexpr FunctionIndex dictionary_index = index_functions(dictionary_functions);

// `args` NIL: whatever they are.
static bool can_evaluate_all(Oid funcid, const List *args, Oid collation) {
    return find_function(dictionary_index, dictionary_functions, funcid) != nullptr &&
           is_error_free_function(funcid, args, collation);
}

// ---- the walk ----

struct DictionaryWalk {
    const Var *column; // the one text column
    int functions;     // on text
    bool has_params;
    int case_depth; // inside so many CASEs with an argument
};

static bool unsound_walker(Node *node, DictionaryWalk *walk);

static bool unsound_in(void *node, DictionaryWalk *walk) { return unsound_walker(static_cast<Node *>(node), walk); }

bool is_dictionary_function(Oid funcid, Oid collation, List *args) {
    return OidIsValid(collation) && get_collation_isdeterministic(collation) &&
           can_evaluate_all(funcid, args, collation);
}

// `known`: the arguments that the function gets; NIL: elements of an array, one after the other.
static bool unsound_function(Oid funcid, Oid collation, List *args, const List *known, DictionaryWalk *walk) {
    ir::Op op;
    if (comparison_operator(funcid, &op)) // of numbers and the like: cannot fail
        return unsound_in(args, walk);
    if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
        return true;
    if (!can_evaluate_all(funcid, known, collation))
        return true;
    if (!OidIsValid(collation) && type_is_collatable(exprType(static_cast<Node *>(linitial(args)))))
        return true;
    ++walk->functions;
    return unsound_in(args, walk);
}

// True as soon as something is found that may not be evaluated over a whole dictionary.
static bool unsound_walker(Node *node, DictionaryWalk *walk) {
    if (node == nullptr)
        return false;
    switch (nodeTag(node)) {
    case T_List: {
        ListCell *cell;
        foreach (cell, reinterpret_cast<List *>(node))
            if (unsound_in(lfirst(cell), walk))
                return true;
        return false;
    }
    case T_Var: {
        const Var *var = reinterpret_cast<const Var *>(node);
        if (var->varlevelsup != 0 || var->varattno <= 0 || !is_text_kind(sql_kind(var->vartype)))
            return true;
        if (walk->column != nullptr && (walk->column->varno != var->varno || walk->column->varattno != var->varattno))
            return true;
        walk->column = var;
        return false;
    }
    case T_Const:
        return false;
    case T_Param:
        walk->has_params = true;
        return reinterpret_cast<Param *>(node)->paramkind != PARAM_EXTERN &&
               reinterpret_cast<Param *>(node)->paramkind != PARAM_EXEC;
    case T_RelabelType:
        return unsound_in(reinterpret_cast<RelabelType *>(node)->arg, walk);
    case T_FuncExpr: {
        FuncExpr *call = reinterpret_cast<FuncExpr *>(node);
        return call->funcretset || unsound_function(call->funcid, call->inputcollid, call->args, call->args, walk);
    }
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr: {
        OpExpr *call = reinterpret_cast<OpExpr *>(node);
        Oid funcid = OidIsValid(call->opfuncid) ? call->opfuncid : get_opcode(call->opno);
        return unsound_function(funcid, call->inputcollid, call->args, call->args, walk);
    }
    case T_ScalarArrayOpExpr: {
        ScalarArrayOpExpr *call = reinterpret_cast<ScalarArrayOpExpr *>(node);
        Oid funcid = OidIsValid(call->opfuncid) ? call->opfuncid : get_opcode(call->opno);
        Expr *array = strip_relabels(static_cast<Expr *>(lsecond(call->args)));
        return !(IsA(array, Const) || IsA(array, Param) || IsA(array, ArrayExpr)) ||
               unsound_function(funcid, call->inputcollid, call->args, NIL, walk);
    }
    case T_ArrayExpr:
        return unsound_in(reinterpret_cast<ArrayExpr *>(node)->elements, walk);
    case T_BoolExpr:
        return unsound_in(reinterpret_cast<BoolExpr *>(node)->args, walk);
    case T_NullTest:
        return reinterpret_cast<NullTest *>(node)->argisrow ||
               unsound_in(reinterpret_cast<NullTest *>(node)->arg, walk);
    case T_BooleanTest:
        return unsound_in(reinterpret_cast<BooleanTest *>(node)->arg, walk);
    case T_CoalesceExpr:
        return unsound_in(reinterpret_cast<CoalesceExpr *>(node)->args, walk);
    case T_CaseExpr: {
        CaseExpr *expr = reinterpret_cast<CaseExpr *>(node);
        if (unsound_in(expr->arg, walk))
            return true;
        walk->case_depth += expr->arg != nullptr ? 1 : 0;
        bool unsound = unsound_in(expr->args, walk) || unsound_in(expr->defresult, walk);
        walk->case_depth -= expr->arg != nullptr ? 1 : 0;
        return unsound;
    }
    case T_CaseWhen:
        return unsound_in(reinterpret_cast<CaseWhen *>(node)->expr, walk) ||
               unsound_in(reinterpret_cast<CaseWhen *>(node)->result, walk);
    case T_CaseTestExpr:
        return walk->case_depth == 0;
    default:
        return true;
    }
}

bool lookup_type(Expr *expr, Type *type) {
    switch (sql_kind(exprType(reinterpret_cast<Node *>(expr)))) {
    case SqlKind::Bool:
        *type = Type::Bool;
        return true;
    case SqlKind::Int4:
    case SqlKind::Date:
    case SqlKind::Oid:
        *type = Type::I32;
        return true;
    case SqlKind::Int8:
    case SqlKind::Timestamp:
    case SqlKind::Timestamptz:
    case SqlKind::Money:
    case SqlKind::Time:
        *type = Type::I64;
        return true;
    case SqlKind::Float8:
        *type = Type::F64;
        return true;
    case SqlKind::Text:
    case SqlKind::Bytes:
        *type = Type::Code;
        return true;
    default:
        return false;
    }
}

bool is_dictionary_expression(const Translation *, Expr *expr) {
    Type type;
    DictionaryWalk walk{};
    if (unsound_walker(reinterpret_cast<Node *>(expr), &walk) || walk.column == nullptr || !lookup_type(expr, &type))
        return false;
    if (type == Type::Code && !is_sound_collation(exprCollation(reinterpret_cast<Node *>(expr))))
        return false;
    return walk.functions > 0 || (type == Type::Code && !IsA(strip_relabels(expr), Var));
}

static AttrNumber position_of(const Var *column, const List *columns) {
    ListCell *cell;
    foreach (cell, columns)
        if (const Var *one = static_cast<const Var *>(lfirst(cell));
            one->varno == column->varno && one->varattno == column->varattno)
            return static_cast<AttrNumber>(foreach_current_index(cell) + 1);
    return 1;
}

// `context`: of Var *, the columns.
static Node *read_slot(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (IsA(node, Var)) {
        Var *var = static_cast<Var *>(copyObject(reinterpret_cast<Var *>(node)));
        var->varattno = position_of(var, static_cast<const List *>(context));
        var->varno = 1;
        const Oid domain = var->vartype;
        var->vartype = getBaseTypeAndTypmod(domain, &var->vartypmod); // as the slot has it
        if (var->vartype == domain)
            return reinterpret_cast<Node *>(var);
        // A function may ask of which type its argument is.
        return reinterpret_cast<Node *>(makeRelabelType(
            reinterpret_cast<Expr *>(var), domain, -1, reinterpret_cast<Var *>(node)->varcollid, COERCE_IMPLICIT_CAST));
    }
    return mutate_expression(node, read_slot, context);
}

Node *over_slot(Expr *expr, const List *columns) {
    return read_slot(reinterpret_cast<Node *>(expr), const_cast<List *>(columns));
}

static int find_lookup(const Translation *t, const FragmentLookup &wanted) {
    for (int i = 0; i < t->lookups.count; ++i) {
        const FragmentLookup &lookup = t->lookups[i];
        if (lookup.kind == wanted.kind && lookup.source == wanted.source && lookup.column == wanted.column &&
            lookup.collation == wanted.collation && equal(lookup.expr, wanted.expr) &&
            lookup.is_bpchar == wanted.is_bpchar && lookup.ordered == wanted.ordered &&
            lookup.deferred == wanted.deferred &&
            (wanted.unified == 0 || unified_root(t, lookup.unified) == unified_root(t, wanted.unified)))
            return i;
    }
    return -1;
}

static int add_lookup(Translation *t, const FragmentLookup &lookup, const TypedExpr &column, SqlKind kind,
                      TypedExpr *out) {
    int index = find_lookup(t, lookup);
    if (index < 0)
        index = append(&t->lookups, lookup);
    *out = TypedExpr{};
    out->kind = kind;
    out->type = lookup.type;
    out->expr = add_expr(t, ir::Op::Lookup, lookup.type, column.expr, static_cast<ir::Index>(index));
    out->nullable = true;
    if (is_integer_kind(kind))
        out->precision = integer_digits(kind);
    return index;
}

// The texts of a lookup are codes of its unified dictionary, or of a new one.
static void add_unified_lookup(Translation *t, const TypedExpr &column, FragmentLookup lookup, TypedExpr *out) {
    lookup.kind = LookupKind::Text;
    if (lookup.unified == 0 && find_lookup(t, lookup) < 0)
        lookup.unified = new_unified_dictionary(t);
    const SqlKind kind = sql_kind(lookup.typid) == SqlKind::Bytes ? SqlKind::Bytes : SqlKind::Text;
    const int index = add_lookup(t, lookup, column, lookup.is_bpchar ? SqlKind::Bpchar : kind, out);
    out->unified = t->lookups[index].unified;
}

bool translate_lookup(Translation *t, Expr *expr, TypedExpr *out) {
    DictionaryWalk walk{};
    unsound_walker(reinterpret_cast<Node *>(expr), &walk);
    TypedExpr column;
    if (!translate_column(t, const_cast<Var *>(walk.column), &column))
        return false;
    // How long it takes for entries of hidden rows, and which error it may find in them, would tell of these rows.
    const bool hidden = !t->probing && !t->of_policy && t->sources[column.source].hides_rows &&
                        contain_leaked_vars(reinterpret_cast<Node *>(expr));
    return add_function_lookup(t, column, expr, walk.has_params, hidden, out);
}

bool add_function_lookup(Translation *t, const TypedExpr &column, Expr *expr, bool has_params, bool deferred,
                         TypedExpr *out) {
    FragmentLookup lookup{};
    lookup.source = column.source;
    lookup.column = column.column;
    lookup.expr = reinterpret_cast<Expr *>(over_slot(expr));
    lookup.has_params = has_params;
    lookup.deferred = deferred;
    lookup.typid = exprType(reinterpret_cast<Node *>(expr));
    if (!lookup_type(expr, &lookup.type))
        return refuse("a function of a text that gives %s", format_type_be(lookup.typid));
    if (lookup.type == Type::Code) {
        add_unified_lookup(t, column, lookup, out);
        return true;
    }
    lookup.kind = LookupKind::Function;
    add_lookup(t, lookup, column, sql_kind(lookup.typid), out);
    return true;
}

void add_text_lookup(Translation *t, const TypedExpr &column, Expr *expr, bool is_bpchar, int unified, TypedExpr *out) {
    FragmentLookup lookup{};
    lookup.source = column.source;
    lookup.column = column.column;
    lookup.expr = expr;
    lookup.typid = exprType(reinterpret_cast<Node *>(expr));
    lookup.type = Type::Code;
    lookup.is_bpchar = is_bpchar;
    lookup.unified = unified;
    add_unified_lookup(t, column, lookup, out);
}

bool translate_rank(Translation *t, const TypedExpr &value, Oid collation, Oid type, int *index, TypedExpr *out) {
    FragmentLookup lookup{};
    TypedExpr column = value;
    if (value.unified != 0) { // of the texts that an expression makes of a column
        const ir::Expr &node = t->exprs[static_cast<int>(value.expr)];
        if (node.op != ir::Op::Lookup || t->lookups[static_cast<int>(node.b)].kind != LookupKind::Text)
            return refuse("the order of texts that come from more than one column");
        const FragmentLookup &texts = t->lookups[static_cast<int>(node.b)];
        if (texts.deferred)
            return refuse("the order of texts that a function makes which may fail");
        column.source = texts.source;
        column.column = texts.column;
        column.expr = node.a;
        lookup.expr = texts.expr;
        lookup.has_params = texts.has_params;
        lookup.unified = value.unified;
    }
    lookup.kind = LookupKind::Rank;
    lookup.source = column.source;
    lookup.column = column.column;
    lookup.typid = INT4OID;
    lookup.type = Type::I32;
    lookup.collation = collation;
    lookup.is_bpchar = column.kind == SqlKind::Bpchar;
    lookup.ordered = column.kind == SqlKind::Bytes ? type : InvalidOid;
    *index = add_lookup(t, lookup, column, SqlKind::Int4, out);
    return true;
}

} // namespace gpuscan
