// How does a kernel compute an expression? One variable for each, of C++'s own types.
//
// A variable stands in the innermost scope and is remembered until the scope ends; an operand that may raise an SQL error
// and need not be evaluated (the arms of Case, the second operand of Coalesce) stands in a scope of its own. Bool values
// are false where they are NULL, so that IsTrue costs nothing. What the operators do is device/semantics.cuh's.
#include <stdexcept>

#include "engine/codegen/codegen_generator.hpp"

namespace gpuscan::codegen {

constexpr size_t longest_flag = 40; // characters

// ---- types -------------------------------------------------------------------------------------------------------

const char *value_type(Type type) {
    static const char *const names[type_count] = {"bool", "int16_t", "int32_t", "int64_t",
                                                  "i128", "float",   "double",  "uint32_t"};
    return names[static_cast<int>(type)];
}

const char *stored_type(Type type) { return type == Type::Bool ? "uint8_t" : value_type(type); }

// ---- facts about expressions -------------------------------------------------------------------------------------

// Must it be evaluated for living rows only? Because it may set an error, or because it reads memory by a number that
// is nonsense for other rows: a lookup by its code, a payload by the row that a probe found.
bool Generator::may_raise(Index index) {
    auto known = raises_.find(index);
    if (known != raises_.end())
        return known->second;
    const Expr &e = program_.exprs[index];
    bool raises = raises_itself(program_.exprs.data(), e) || e.op == Op::Lookup ||
                  (e.op == Op::Column && e.a > 0 && table(e.a - 1).kind != TableKind::Packed);
    for_each_operand(e, [&](Index operand) { raises = raises || may_raise(operand); });
    raises_[index] = raises;
    return raises;
}

bool Generator::nullable(Index index) {
    auto known = nullable_.find(index);
    if (known != nullable_.end())
        return known->second;
    const bool null = nullable_node(index);
    nullable_[index] = null;
    return null;
}

bool Generator::nullable_node(Index index) {
    const Expr &e = program_.exprs[index];
    switch (e.op) {
    case Op::Column:
        return e.a == 0 ? request_.source_nullable[e.b] != 0
                        : keeps_rows(join(e.a - 1).kind) || table(e.a - 1).payload_nullable[e.b] != 0;
    case Op::Const:
        return program_.constants[e.a].null != 0;
    case Op::Lookup:
        return request_.lookup_nullable[e.b] != 0;
    case Op::IsNull:
    case Op::IsNotNull:
    case Op::IsTrue:
        return false;
    case Op::Case:
        return nullable(e.b) || nullable(e.c);
    case Op::Coalesce:
        return nullable(e.a) && nullable(e.b);
    default:
        return nullable(e.a) || (operand_count(e) >= 2 && nullable(e.b));
    }
}

// ---- values ------------------------------------------------------------------------------------------------------

ValueNames Generator::eval(Index index) {
    auto known = values_.find(index);
    if (known != values_.end())
        return known->second;
    const ValueNames value = eval_node(index);
    values_[index] = value;
    return value;
}

// A flag of two becomes a variable once its text is longer than a few names: flags of flags would double it at each step.
string Generator::either(const string &a, const string &b) {
    if (a.empty() || b.empty() || a == b)
        return a.empty() ? b : a;
    const string both = "(" + a + " | " + b + ")";
    if (both.size() <= longest_flag)
        return both;
    const string name = fresh("n");
    line("const bool " + name + " = " + both + ";");
    return name;
}

ValueNames Generator::eval_node(Index index) {
    const Expr &e = program_.exprs[index];
    const string type = value_type(e.type);
    if (is_arithmetic(e.op) || is_comparison(e.op)) {
        const ValueNames a = eval(e.a);
        const ValueNames b = eval(e.b);
        const string call = string("sem::") + operator_name(e.op) + "(" + a.v + ", " + b.v;
        if (is_arithmetic(e.op))
            return checked(e, call + ", error)", either(a.n, b.n));
        ValueNames r{fresh("v"), either(a.n, b.n)};
        line("const bool " + r.v + " = " + (r.n.empty() ? "" : "!" + r.n + " & ") + call + ");");
        return r;
    }
    switch (e.op) {
    case Op::Column:
        return e.a == 0 ? column(e.b) : payload(e.a - 1, e.b, e.type);
    case Op::Const:
        return constant(e.a, e.type);
    case Op::Lookup:
        return lookup(e);
    case Op::Search:
        return search(e);
    case Op::And:
    case Op::Or:
        return logical(e);
    case Op::Case:
        return conditional(e);
    case Op::Coalesce:
        return coalesce(e);
    case Op::Neg: {
        const ValueNames a = eval(e.a);
        return checked(e, "sem::neg(" + a.v + ", error)", a.n);
    }
    case Op::Call: {
        const FunctionInfo &f = function_info(static_cast<Function>(e.c));
        const ValueNames a = eval(e.a);
        const ValueNames b = f.arguments == 2 ? eval(e.b) : ValueNames();
        return checked(e, string("sem::") + f.name + "(" + a.v + (f.arguments == 2 ? ", " + b.v : "") + ", error)",
                       either(a.n, b.n));
    }
    case Op::Cast: {
        const ValueNames a = eval(e.a);
        return checked(e, "sem::cast<" + type + ", " + value_type(program_.exprs[e.a].type) + ">(" + a.v + ", error)",
                       a.n);
    }
    case Op::Not: {
        const ValueNames a = eval(e.a);
        ValueNames r{fresh("v"), a.n};
        line("const bool " + r.v + " = !" + a.v + (a.n.empty() ? "" : " & !" + a.n) + ";");
        return r;
    }
    case Op::IsNull: {
        const ValueNames a = eval(e.a);
        return {a.n.empty() ? "false" : a.n, ""};
    }
    case Op::IsNotNull: {
        const ValueNames a = eval(e.a);
        return {a.n.empty() ? "true" : "(!" + a.n + ")", ""};
    }
    case Op::IsTrue:
        return {eval(e.a).v, ""};
    default:
        throw std::runtime_error("unknown operator in a program");
    }
}

// A call that may set `error`: not made where an operand is NULL.
ValueNames Generator::checked(const Expr &e, const string &call, const string &null) {
    ValueNames r{fresh("v"), null};
    if (null.empty()) {
        line(string("const ") + value_type(e.type) + " " + r.v + " = " + call + ";");
        return r;
    }
    line(string(value_type(e.type)) + " " + r.v + " = 0;");
    line("if (!" + null + ") " + r.v + " = " + call + ";");
    return r;
}

ValueNames Generator::column(Index index) {
    const SourceColumn &c = program_.source_columns[program_.sources[pipeline_.source].columns.first + index];
    const bool null = request_.source_nullable[index] != 0;
    const string i = to_string(index);
    const bool held = loaded_.count(index) != 0;
    ValueNames r{fresh("v"), null ? fresh("n") : ""};
    string value = !held       ? string("load1<") + form(index) + ", " + stored_type(c.type) + ">(c" + i + ", row)"
                   : row_mode_ ? "pick(s" + i + ", r)"
                               : "s" + i + "[r]";
    if (null) {
        string flag = !held ? "(z" + i + " != nullptr && z" + i + "[row] != 0)"
                            : (row_mode_ ? "pick(t" + i + ", r)" : "t" + i + "[r]") + " != 0";
        line("const bool " + r.n + " = " + flag + ";");
    }
    if (c.type == Type::Bool)
        value = value + " != 0" + (null ? " & !" + r.n : "");
    line(string("const ") + value_type(c.type) + " " + r.v + " = " + value + ";");
    return r;
}

ValueNames Generator::payload(Index k, Index index, Type type) {
    const TableShape &shape = table(k);
    const unsigned first = kernel_.joins[k] + TableWords::payload(shape.keys.size(), index);
    const bool some_null = shape.payload_nullable[index] != 0, outer = keeps_rows(join(k).kind);
    const bool null = some_null || outer;
    const string x = row_mode_ ? "x" + to_string(k) : "e" + to_string(k) + "[r]";
    const string absent = outer ? x + " == " + missing(k) : "";
    ValueNames r{fresh("v"), null ? fresh("n") : ""};
    string value;
    if (shape.kind == TableKind::Packed) {
        const string field = fresh("f");
        if (shape.entry_bytes <= 4)
            line("const uint32_t " + field + " = ((uint32_t)(" + x + " - 1) >> (uint32_t)" + word(first) +
                 ") & (uint32_t)" + word(first + 1) + ";");
        else
            line("const uint64_t " + field + " = ((" + x + " - 1) >> " + word(first) + ") & " + word(first + 1) + ";");
        if (null)
            line("const bool " + r.n + " = " + absent + (outer && some_null ? " || " : "") +
                 (some_null ? field + " == 0" : "") + ";");
        if (type == Type::I32 || type == Type::Code || type == Type::I16)
            value = string("(") + value_type(type) + ")(sem::narrow<uint32_t>(" + field + ") + " + low_word(first + 2) +
                    ")";
        else
            value = string("(") + value_type(type) + ")(" + field + " + " + word(first + 2) + ")";
    } else {
        if (null)
            line("const bool " + r.n + " = " + absent + (outer && some_null ? " || " : "") +
                 (some_null ? pointer("uint8_t", first + 1) + "[" + x + "] != 0" : "") + ";");
        value = pointer(stored_type(type), first) + "[" + x + "]";
        if (outer)
            value = absent + " ? (" + stored_type(type) + ")0 : " + value;
    }
    if (type == Type::Bool)
        value = "(" + value + ") != 0" + (null ? " & !" + r.n : "");
    line(string("const ") + value_type(type) + " " + r.v + " = " + value + ";");
    return r;
}

ValueNames Generator::constant(Index index, Type type) {
    if (program_.constants[index].null)
        return {string("(") + value_type(type) + ")0", "true"};
    const string low = word(kernel_.constants[index]);
    switch (type) {
    case Type::Bool:
        return {"(" + low + " != 0)", ""};
    case Type::F32:
        return {"bits_float(" + low + ")", ""};
    case Type::F64:
        return {"bits_double(" + low + ")", ""};
    case Type::I128:
        return {"bits_i128(" + low + ", " + word(kernel_.constants[index] + 1) + ")", ""};
    case Type::I64:
        return {"(int64_t)" + low, ""};
    default:
        return {string("sem::narrow<") + value_type(type) + ">(" + low + ")", ""};
    }
}

ValueNames Generator::lookup(const Expr &e) {
    const ValueNames a = eval(e.a);
    const Lookup &lookup = program_.lookups[e.b];
    const unsigned first = kernel_.lookups[e.b];
    const bool null = request_.lookup_nullable[e.b] != 0;
    const string at = fresh("i");
    ValueNames r{fresh("v"), null ? fresh("n") : ""};
    line("uint32_t " + at + " = " + (a.n.empty() ? a.v : a.n + " ? (uint32_t)" + word(first + 2) + " : " + a.v) + ";");
    open("if (" + at + " > (uint32_t)" + word(first + 2) + ")");
    line("flags |= status_bad_lookup;");
    line(at + " = 0;");
    close();
    if (null)
        line("const bool " + r.n + " = __ldg(" + pointer("uint8_t", first + 1) + " + " + at + ") != 0;");
    string value = "__ldg(" + pointer(stored_type(lookup.type), first) + " + " + at + ")";
    if (lookup.type == Type::Bool)
        value = value + " != 0" + (null ? " & !" + r.n : "");
    line(string("const ") + value_type(lookup.type) + " " + r.v + " = " + value + ";");
    return r;
}

ValueNames Generator::search(const Expr &e) {
    const ValueNames a = eval(e.a);
    const unsigned first = kernel_.lookups[e.b];
    const ValueNames r{fresh("v"), a.n};
    line("const uint32_t " + r.v + " = search_table(" + pointer("int64_t", first) + ", (uint32_t)" + word(first + 2) +
         ", " + a.v + ");");
    return r;
}

// a AND b: false if one is false, else NULL if one is NULL; OR is its mirror image. Both operands are always evaluated:
// what PostgreSQL would not have evaluated is at worst a row error, and then the CPU plan decides.
ValueNames Generator::logical(const Expr &e) {
    const bool is_and = e.op == Op::And;
    const ValueNames a = eval(e.a);
    const ValueNames b = eval(e.b);
    const string any = either(a.n, b.n);
    ValueNames r{fresh("v"), any.empty() ? "" : fresh("n")};
    line("const bool " + r.v + " = " + a.v + (is_and ? " & " : " | ") + b.v + ";");
    if (!any.empty()) {
        auto decides = [is_and](const ValueNames &x) {
            return !is_and ? x.v : x.n.empty() ? "!" + x.v : "(!" + x.v + " & !" + x.n + ")";
        };
        line("const bool " + r.n + " = " + any + " & !(" + decides(a) + " | " + decides(b) + ");");
    }
    return r;
}

ValueNames Generator::conditional(const Expr &e) {
    const ValueNames taken = eval(e.a);
    const bool null = nullable(e.b) || nullable(e.c);
    const string type = value_type(e.type);
    ValueNames r{fresh("v"), null ? fresh("n") : ""};
    auto flag = [](const ValueNames &v) { return v.n.empty() ? string("false") : v.n; };
    if (!may_raise(e.b) && !may_raise(e.c)) {
        const ValueNames b = eval(e.b);
        const ValueNames c = eval(e.c);
        line("const " + type + " " + r.v + " = " + taken.v + " ? " + b.v + " : " + c.v + ";");
        if (null)
            line("const bool " + r.n + " = " + taken.v + " ? " + flag(b) + " : " + flag(c) + ";");
        return r;
    }
    line(type + " " + r.v + ";");
    if (null)
        line("bool " + r.n + ";");
    const std::map<Index, ValueNames> outer = values_;
    for (int arm = 0; arm < 2; ++arm) {
        open(arm == 0 ? "if (" + taken.v + ")" : "else");
        const ValueNames v = eval(arm == 0 ? e.b : e.c);
        line(r.v + " = " + v.v + ";");
        if (null)
            line(r.n + " = " + flag(v) + ";");
        close();
        values_ = outer;
    }
    return r;
}

ValueNames Generator::coalesce(const Expr &e) {
    const ValueNames a = eval(e.a);
    if (a.n.empty())
        return a;
    const bool null = nullable(e.b);
    const string type = value_type(e.type);
    ValueNames r{fresh("v"), null ? fresh("n") : ""};
    if (!may_raise(e.b)) {
        const ValueNames b = eval(e.b);
        line("const " + type + " " + r.v + " = " + a.n + " ? " + b.v + " : " + a.v + ";");
        if (null)
            line("const bool " + r.n + " = " + a.n + " & " + (b.n.empty() ? "false" : b.n) + ";");
        return r;
    }
    line(type + " " + r.v + " = " + a.v + ";");
    if (null)
        line("bool " + r.n + " = false;");
    const std::map<Index, ValueNames> outer = values_;
    open("if (" + a.n + ")");
    const ValueNames b = eval(e.b);
    line(r.v + " = " + b.v + ";");
    if (null)
        line(r.n + " = " + (b.n.empty() ? "false" : b.n) + ";");
    close();
    values_ = outer;
    return r;
}

} // namespace gpuscan::codegen
