// Writing the kernel of a pipeline; the shape of the kernel is told in cuda/runtime.cuh, the interface in codegen.hpp.
//
// A kernel is written in two modes. While nothing has been multiplied ("staged"), a thread keeps its four rows side by
// side: for each conjunct and each join with unique keys it loads the columns that are needed for the first time, runs
// an unrolled loop over the four rows, clears the bits of rows that fall out in `alive`, and goes on with the next tile
// when none is left. From the first join with duplicates on, and in sinks that write row by row, the text continues
// inside a loop over the living rows ("row"), where later steps are nested blocks: an `if` per conjunct and unique
// join, a `for` along the chain of a join with duplicates.
//
// Expressions become one variable each, in the innermost scope, remembered until the scope ends; an operand that may
// raise an SQL error and need not be evaluated (the arms of Case, the second operand of Coalesce) stands in a scope of
// its own. Bool values are false where they are NULL, so that IsTrue costs nothing.
//
// Fusing the pipeline this way is what Yuan et al., "The Yin and Yang of Processing Data Warehousing Queries on GPU
// Devices", ask for in sections 5 and 6: a kernel per operator spends its time on intermediate results.
#include "engine/codegen.hpp"

#include <iterator>
#include <map>
#include <set>
#include <stdexcept>

namespace gpuscan::codegen {
namespace {

using namespace ir;
using std::string;
using std::to_string;

const char *value_type(Type type) {
    static const char *const names[type_count] = {"bool", "int16_t", "int32_t", "int64_t",
                                                  "i128", "float",   "double",  "uint32_t"};
    return names[static_cast<int>(type)];
}

// As it lies in a column.
const char *stored_type(Type type) { return type == Type::Bool ? "uint8_t" : value_type(type); }

const char *entry_type(uint8_t bytes) {
    return bytes == 1 ? "uint8_t" : bytes == 2 ? "uint16_t" : bytes == 4 ? "uint32_t" : "uint64_t";
}

int operand_count(Op op) {
    switch (op) {
    case Op::Column:
    case Op::Const:
        return 0;
    case Op::Neg:
    case Op::Not:
    case Op::IsNull:
    case Op::IsNotNull:
    case Op::IsTrue:
    case Op::Cast:
    case Op::Lookup:
    case Op::Bounded:
        return 1;
    case Op::Case:
        return 3;
    default:
        return 2;
    }
}

bool cast_may_raise(Type from, Type to) {
    if (from == Type::Bool)
        return false;
    if (is_integer(from))
        return is_integer(to) && type_width(to) < type_width(from);
    return !is_float(to) || type_width(to) < type_width(from);
}

// The name of an expression's value, and of its NULL flag (empty: it is never NULL).
struct Value {
    string v;
    string n;
};

class Generator {
  public:
    explicit Generator(const Request &request)
        : request_(request), program_(*request.program), pipeline_(program_.pipelines[request.pipeline]) {
        kernel_.constants.assign(program_.constants.size(), 0);
        kernel_.lookups.assign(program_.lookups.size(), 0);
    }

    Kernel generate();
    bool nullable(Index expr);

  private:
    // ---- text ----
    void line(const string &text);
    void open(const string &text);
    void close();
    string word(unsigned index) const { return "p.w[" + to_string(index) + "]"; }
    string pointer(const char *type, unsigned index) const {
        return string("((const ") + type + " *)" + word(index) + ")";
    }
    string fresh(const char *prefix) { return prefix + to_string(serial_++); }

    // ---- facts about expressions ----
    bool may_raise(Index expr);
    bool nullable_node(Index expr);
    std::set<Index> columns_of(const std::vector<Index> &exprs) const;
    const TableShape &table(Index join) const { return *request_.tables[join]; }
    const Join &join(Index k) const { return program_.joins[pipeline_.joins.first + k]; }
    Index list(Range range, Index i) const { return program_.lists[range.first + i]; }

    // ---- expressions ----
    Value eval(Index expr);
    Value eval_node(Index expr);
    Value column(Index column);
    Value payload(Index join, Index column, Type type);
    Value constant(Index constant, Type type);
    Value lookup(const Expr &expr);
    Value logical(const Expr &expr);
    Value conditional(const Expr &expr);
    Value coalesce(const Expr &expr);
    Value checked(const Expr &expr, const string &call, const string &null);
    string either(const string &a, const string &b) const;

    // ---- steps ----
    void plan_words();
    void kernel_head();
    void load_columns(const std::vector<Index> &exprs);
    void open_rows();
    void close_rows();
    void enter_row_mode();
    void conjuncts(Index after);
    void probe(Index k);
    Value probe_index(Index k, string &hit);
    string hash_probe(Index k, const string &hit, const std::vector<Value> &keys);
    void build_sink();
    void aggregate_plan();
    void aggregate_start();
    void aggregate_sink();
    void aggregate_end();
    void group_entry();
    void update(Index i, const string &entry);
    string component(const string &entry, unsigned index) const;

    const Request &request_;
    const Program &program_;
    const Pipeline &pipeline_;
    Kernel kernel_;
    string out_;
    int depth_ = 0;
    unsigned serial_ = 0;
    std::map<Index, Value> values_; // expressions that have a variable in this scope
    std::map<Index, bool> raises_;
    std::map<Index, bool> nullable_;
    std::set<Index> loaded_; // source columns held for four rows
    std::set<Index> used_;   // source columns of the whole pipeline
    bool row_mode_ = false;
    bool guarded_ = false;     // the text runs for living rows only
    std::vector<bool> staged_; // per join: probed for four rows at once
    int row_depth_ = 0;        // where row mode began
};

// ---- text --------------------------------------------------------------------------------------------------------

void Generator::line(const string &text) {
    out_.append(static_cast<size_t>(depth_) * 4, ' ');
    out_ += text;
    out_ += '\n';
}

void Generator::open(const string &text) {
    line(text + " {");
    ++depth_;
}

void Generator::close() {
    --depth_;
    line("}");
}

// ---- facts about expressions -------------------------------------------------------------------------------------

// Must it be evaluated for living rows only? Because it may set an error, or because it reads memory by a number that
// is nonsense for other rows: a lookup by its code, a payload by the row that a probe found.
bool Generator::may_raise(Index index) {
    auto known = raises_.find(index);
    if (known != raises_.end())
        return known->second;
    const Expr &e = program_.exprs[index];
    bool raises = false;
    switch (e.op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Mod:
    case Op::Neg:
    case Op::Lookup:
    case Op::Bounded:
        raises = true;
        break;
    case Op::Cast:
        raises = cast_may_raise(program_.exprs[e.a].type, e.type);
        break;
    case Op::Column:
        raises = e.a > 0 && table(e.a - 1).kind != TableKind::Packed;
        break;
    default:
        break;
    }
    const int operands = operand_count(e.op);
    raises = raises || (operands >= 1 && may_raise(e.a)) || (operands >= 2 && may_raise(e.b)) ||
             (operands >= 3 && may_raise(e.c));
    raises_[index] = raises;
    return raises;
}

// Columns of the source that these expressions read. Operands precede their node: one sweep downwards meets all.
std::set<Index> Generator::columns_of(const std::vector<Index> &exprs) const {
    std::set<Index> open(exprs.begin(), exprs.end());
    std::set<Index> columns;
    while (!open.empty()) {
        const Expr &e = program_.exprs[*open.rbegin()];
        open.erase(std::prev(open.end()));
        if (e.op == Op::Column && e.a == 0)
            columns.insert(e.b);
        const int operands = operand_count(e.op);
        if (operands >= 1)
            open.insert(e.a);
        if (operands >= 2)
            open.insert(e.b);
        if (operands >= 3)
            open.insert(e.c);
    }
    return columns;
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
        return e.a == 0 ? request_.source_nullable[e.b] != 0 : table(e.a - 1).payload_nullable[e.b] != 0;
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
        return nullable(e.a) || (operand_count(e.op) >= 2 && nullable(e.b));
    }
}

// ---- expressions -------------------------------------------------------------------------------------------------

Value Generator::eval(Index index) {
    auto known = values_.find(index);
    if (known != values_.end())
        return known->second;
    const Value value = eval_node(index);
    values_[index] = value;
    return value;
}

string Generator::either(const string &a, const string &b) const {
    return a.empty() ? b : b.empty() || a == b ? a : "(" + a + " | " + b + ")";
}

Value Generator::eval_node(Index index) {
    const Expr &e = program_.exprs[index];
    const string type = value_type(e.type);
    switch (e.op) {
    case Op::Column:
        return e.a == 0 ? column(e.b) : payload(e.a - 1, e.b, e.type);
    case Op::Const:
        return constant(e.a, e.type);
    case Op::Lookup:
        return lookup(e);
    case Op::And:
    case Op::Or:
        return logical(e);
    case Op::Case:
        return conditional(e);
    case Op::Coalesce:
        return coalesce(e);
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Div:
    case Op::Mod: {
        static const char *const names[] = {"add", "sub", "mul", "div", "mod"};
        const Value a = eval(e.a);
        const Value b = eval(e.b);
        const char *name = names[static_cast<int>(e.op) - static_cast<int>(Op::Add)];
        return checked(e, string("sem::") + name + "(" + a.v + ", " + b.v + ", error)", either(a.n, b.n));
    }
    case Op::Neg: {
        const Value a = eval(e.a);
        return checked(e, "sem::neg(" + a.v + ", error)", a.n);
    }
    case Op::Bounded: {
        const Value a = eval(e.a);
        return checked(e, "sem::bounded(" + a.v + ", error)", a.n);
    }
    case Op::Cast: {
        const Value a = eval(e.a);
        return checked(e, "sem::cast<" + type + ", " + value_type(program_.exprs[e.a].type) + ">(" + a.v + ", error)",
                       a.n);
    }
    case Op::Eq:
    case Op::Ne:
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge: {
        static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
        const Value a = eval(e.a);
        const Value b = eval(e.b);
        Value r{fresh("v"), either(a.n, b.n)};
        line("const bool " + r.v + " = " + (r.n.empty() ? "" : "!" + r.n + " & ") +
             "sem::" + names[static_cast<int>(e.op) - static_cast<int>(Op::Eq)] + "(" + a.v + ", " + b.v + ");");
        return r;
    }
    case Op::Not: {
        const Value a = eval(e.a);
        Value r{fresh("v"), a.n};
        line("const bool " + r.v + " = !" + a.v + (a.n.empty() ? "" : " & !" + a.n) + ";");
        return r;
    }
    case Op::IsNull: {
        const Value a = eval(e.a);
        return {a.n.empty() ? "false" : a.n, ""};
    }
    case Op::IsNotNull: {
        const Value a = eval(e.a);
        return {a.n.empty() ? "true" : "(!" + a.n + ")", ""};
    }
    case Op::IsTrue:
        return {eval(e.a).v, ""};
    }
    throw std::runtime_error("unknown operator in a program");
}

// A call that may set `error`: not made where an operand is NULL.
Value Generator::checked(const Expr &e, const string &call, const string &null) {
    Value r{fresh("v"), null};
    if (null.empty()) {
        line(string("const ") + value_type(e.type) + " " + r.v + " = " + call + ";");
        return r;
    }
    line(string(value_type(e.type)) + " " + r.v + " = 0;");
    line("if (!" + null + ") " + r.v + " = " + call + ";");
    return r;
}

Value Generator::column(Index index) {
    const SourceColumn &c = program_.source_columns[program_.sources[pipeline_.source].columns.first + index];
    const bool null = request_.source_nullable[index] != 0;
    const string i = to_string(index);
    const bool held = loaded_.count(index) != 0;
    Value r{fresh("v"), null ? fresh("n") : ""};
    string value = !held ? "c" + i + "[row]" : row_mode_ ? "pick(s" + i + ", r)" : "s" + i + "[r]";
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

Value Generator::payload(Index k, Index index, Type type) {
    const TableShape &shape = table(k);
    const unsigned first = kernel_.joins[k] + TableWords::payload(shape.keys.size(), index);
    const bool null = shape.payload_nullable[index] != 0;
    const string x = row_mode_ ? "x" + to_string(k) : "e" + to_string(k) + "[r]";
    Value r{fresh("v"), null ? fresh("n") : ""};
    string value;
    if (shape.kind == TableKind::Packed) {
        const string field = fresh("f");
        if (shape.entry_bytes <= 4)
            line("const uint32_t " + field + " = ((uint32_t)(" + x + " - 1) >> (uint32_t)" + word(first) +
                 ") & (uint32_t)" + word(first + 1) + ";");
        else
            line("const uint64_t " + field + " = ((" + x + " - 1) >> " + word(first) + ") & " + word(first + 1) + ";");
        if (null)
            line("const bool " + r.n + " = " + field + " == 0;");
        if (type == Type::I32 || type == Type::Code || type == Type::I16)
            value = string("(") + value_type(type) + ")((uint32_t)" + field + " + (uint32_t)" + word(first + 2) + ")";
        else
            value = string("(") + value_type(type) + ")(" + field + " + " + word(first + 2) + ")";
    } else {
        if (null)
            line("const bool " + r.n + " = " + pointer("uint8_t", first + 1) + "[" + x + "] != 0;");
        value = pointer(stored_type(type), first) + "[" + x + "]";
    }
    if (type == Type::Bool)
        value = "(" + value + ") != 0" + (null ? " & !" + r.n : "");
    line(string("const ") + value_type(type) + " " + r.v + " = " + value + ";");
    return r;
}

Value Generator::constant(Index index, Type type) {
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
    default:
        return {string("(") + value_type(type) + ")" + low, ""};
    }
}

Value Generator::lookup(const Expr &e) {
    const Value a = eval(e.a);
    const Lookup &lookup = program_.lookups[e.b];
    const unsigned first = kernel_.lookups[e.b];
    const bool null = request_.lookup_nullable[e.b] != 0;
    const string at = fresh("i");
    Value r{fresh("v"), null ? fresh("n") : ""};
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

// a AND b: false if one is false, else NULL if one is NULL; OR is its mirror image. Both operands are always evaluated:
// what PostgreSQL would not have evaluated is at worst a row error, and then the CPU plan decides.
Value Generator::logical(const Expr &e) {
    const bool is_and = e.op == Op::And;
    const Value a = eval(e.a);
    const Value b = eval(e.b);
    const string any = either(a.n, b.n);
    Value r{fresh("v"), any.empty() ? "" : fresh("n")};
    line("const bool " + r.v + " = " + a.v + (is_and ? " & " : " | ") + b.v + ";");
    if (!any.empty()) {
        auto decides = [is_and](const Value &x) {
            return !is_and ? x.v : x.n.empty() ? "!" + x.v : "(!" + x.v + " & !" + x.n + ")";
        };
        line("const bool " + r.n + " = " + any + " & !(" + decides(a) + " | " + decides(b) + ");");
    }
    return r;
}

Value Generator::conditional(const Expr &e) {
    const Value taken = eval(e.a);
    const bool null = nullable(e.b) || nullable(e.c);
    const string type = value_type(e.type);
    Value r{fresh("v"), null ? fresh("n") : ""};
    auto flag = [](const Value &v) { return v.n.empty() ? string("false") : v.n; };
    if (!may_raise(e.b) && !may_raise(e.c)) {
        const Value b = eval(e.b);
        const Value c = eval(e.c);
        line("const " + type + " " + r.v + " = " + taken.v + " ? " + b.v + " : " + c.v + ";");
        if (null)
            line("const bool " + r.n + " = " + taken.v + " ? " + flag(b) + " : " + flag(c) + ";");
        return r;
    }
    line(type + " " + r.v + ";");
    if (null)
        line("bool " + r.n + ";");
    const std::map<Index, Value> outer = values_;
    for (int arm = 0; arm < 2; ++arm) {
        open(arm == 0 ? "if (" + taken.v + ")" : "else");
        const Value v = eval(arm == 0 ? e.b : e.c);
        line(r.v + " = " + v.v + ";");
        if (null)
            line(r.n + " = " + flag(v) + ";");
        close();
        values_ = outer;
    }
    return r;
}

Value Generator::coalesce(const Expr &e) {
    const Value a = eval(e.a);
    if (a.n.empty())
        return a;
    const bool null = nullable(e.b);
    const string type = value_type(e.type);
    Value r{fresh("v"), null ? fresh("n") : ""};
    if (!may_raise(e.b)) {
        const Value b = eval(e.b);
        line("const " + type + " " + r.v + " = " + a.n + " ? " + b.v + " : " + a.v + ";");
        if (null)
            line("const bool " + r.n + " = " + a.n + " & " + (b.n.empty() ? "false" : b.n) + ";");
        return r;
    }
    line(type + " " + r.v + " = " + a.v + ";");
    if (null)
        line("bool " + r.n + " = false;");
    const std::map<Index, Value> outer = values_;
    open("if (" + a.n + ")");
    const Value b = eval(e.b);
    line(r.v + " = " + b.v + ";");
    if (null)
        line(r.n + " = " + (b.n.empty() ? "false" : b.n) + ";");
    close();
    values_ = outer;
    return r;
}

// ---- steps -------------------------------------------------------------------------------------------------------

// Gives every constant, lookup, table and the sink their words of the kernel's argument.
void Generator::plan_words() {
    std::set<Index> reached;
    std::vector<Index> work;
    auto add = [&](Index expr) {
        if (reached.insert(expr).second)
            work.push_back(expr);
    };
    for (Index i = 0; i < pipeline_.conjuncts.count; ++i)
        add(program_.conjuncts[pipeline_.conjuncts.first + i].expr);
    for (Index k = 0; k < pipeline_.joins.count; ++k)
        for (Index i = 0; i < join(k).keys.count; ++i)
            add(list(join(k).keys, i));
    for (Index i = 0; i < pipeline_.keys.count; ++i)
        add(list(pipeline_.keys, i));
    for (Index i = 0; i < pipeline_.payload.count; ++i)
        add(list(pipeline_.payload, i));
    for (Index i = 0; i < pipeline_.aggregates.count; ++i)
        if (program_.aggregates[pipeline_.aggregates.first + i].arg != none)
            add(program_.aggregates[pipeline_.aggregates.first + i].arg);
    unsigned next = 6;
    while (!work.empty()) {
        const Index index = work.back();
        work.pop_back();
        const Expr &e = program_.exprs[index];
        if (e.op == Op::Column && e.a == 0)
            used_.insert(e.b);
        const int operands = operand_count(e.op);
        if (operands >= 1)
            add(e.a);
        if (operands >= 2)
            add(e.b);
        if (operands >= 3)
            add(e.c);
    }
    for (Index index : reached) { // in order, so that the text does not depend on the walk
        const Expr &e = program_.exprs[index];
        if (e.op == Op::Const && kernel_.constants[e.a] == 0) {
            kernel_.constants[e.a] = next;
            next += 2;
        }
        if (e.op == Op::Lookup && kernel_.lookups[e.b] == 0) {
            kernel_.lookups[e.b] = next;
            next += 3;
        }
    }
    for (Index k = 0; k < pipeline_.joins.count; ++k) {
        kernel_.joins.push_back(next);
        next += TableWords::count(table(k));
        if (!table(k).unique)
            kernel_.loops = true;
    }
    kernel_.sink = next;
    if (pipeline_.sink == SinkKind::Build)
        next += 2 + pipeline_.keys.count + 2 * pipeline_.payload.count;
    else
        next += AggregateWords::key(pipeline_.keys.count);
    kernel_.words = next;
    staged_.assign(pipeline_.joins.count, false);
}

void Generator::kernel_head() {
    const Range columns = program_.sources[pipeline_.source].columns;
    line("#include \"cuda/runtime.cuh\"");
    line("using namespace gpuscan;");
    line("using namespace gpuscan::rt;");
    line("struct Params { uint64_t w[" + to_string(kernel_.words) + "]; };");
    if (pipeline_.sink == SinkKind::Aggregate && request_.group.grouping == Grouping::Shared)
        line("extern __shared__ uint64_t shared_table[];");
    open("extern \"C\" __global__ void __launch_bounds__(" + to_string(block_threads) + ") pipeline(const Params p)");
    line("int error = 0;");
    line("uint32_t flags = 0;");
    line("uint32_t *const status = (uint32_t *)" + word(Kernel::status) + ";");
    if (kernel_.loops) {
        line("const volatile uint32_t *const cancel = (const volatile uint32_t *)" + word(Kernel::cancel) + ";");
        line("uint32_t steps = 0;");
        line("bool stop = false;");
    }
    if (pipeline_.sink == SinkKind::Aggregate)
        aggregate_start();
    line("const uint64_t *const chunks = (const uint64_t *)" + word(Kernel::chunks) + ";");
    line("uint64_t tile = " + word(Kernel::tile_begin) + " + blockIdx.x;");
    open("for (uint64_t k = 0; k < " + word(Kernel::chunk_count) + " && tile < " + word(Kernel::tile_end) + "; ++k)");
    line("const uint64_t *const chunk = chunks + k * " + to_string(ChunkWords::count(columns.count)) + ";");
    line("uint64_t end = chunk[0];");
    line("if (end > " + word(Kernel::tile_end) + ") end = " + word(Kernel::tile_end) + ";");
    line("if (tile >= end) continue;");
    line("const uint64_t first = chunk[1];");
    line("const uint32_t nrows = (uint32_t)chunk[2];");
    line("const uint32_t *const mask = (const uint32_t *)chunk[3];");
    for (Index c : used_) {
        const string i = to_string(c);
        const char *type = stored_type(program_.source_columns[columns.first + c].type);
        line(string("const ") + type + " *const c" + i + " = (const " + type + " *)chunk[" +
             to_string(ChunkWords::values(c)) + "];");
        if (request_.source_nullable[c])
            line("const uint8_t *const z" + i + " = (const uint8_t *)chunk[" + to_string(ChunkWords::nulls(c)) + "];");
    }
    open("for (; tile < end; tile += gridDim.x)");
    line("const uint32_t base = (uint32_t)(tile - first) * " + to_string(tile_rows) + " + threadIdx.x * 4;");
    line("uint32_t alive = base >= nrows ? 0 : nrows - base >= 4 ? 15 : (1u << (nrows - base)) - 1;");
    line("if (alive && mask) alive &= mask[base >> 5] >> (base & 31);");
    line("if (!alive) continue;");
}

// Loads the columns that these expressions need and that are not held yet; staged mode only.
void Generator::load_columns(const std::vector<Index> &exprs) {
    const Range columns = program_.sources[pipeline_.source].columns;
    for (Index c : columns_of(exprs)) {
        if (!loaded_.insert(c).second)
            continue;
        const string i = to_string(c);
        line(string(stored_type(program_.source_columns[columns.first + c].type)) + " s" + i + "[4];");
        line("load4(s" + i + ", c" + i + ", base, nrows);");
        if (request_.source_nullable[c]) {
            line("uint8_t t" + i + "[4];");
            line("load4_nulls(t" + i + ", z" + i + ", base, nrows);");
        }
    }
}

void Generator::open_rows() {
    line("#pragma unroll");
    open("for (int r = 0; r < 4; ++r)");
    values_.clear();
}

void Generator::close_rows() {
    close();
    values_.clear();
}

void Generator::enter_row_mode() {
    if (row_mode_)
        return;
    row_mode_ = true;
    row_depth_ = depth_;
    values_.clear();
    line("#pragma unroll 1");
    open("for (uint32_t left = alive; left; left &= left - 1)");
    line("const int r = __ffs((int)left) - 1;");
    line("const uint32_t row = base + r;");
    line("(void)row;");
    for (Index k = 0; k < pipeline_.joins.count; ++k) {
        if (!staged_[k])
            continue;
        const TableShape &shape = table(k);
        const char *type = shape.kind == TableKind::Packed ? entry_type(shape.entry_bytes) : "uint32_t";
        line(string("const ") + type + " x" + to_string(k) + " = pick(e" + to_string(k) + ", r);");
    }
}

void Generator::conjuncts(Index after) {
    for (Index i = 0; i < pipeline_.conjuncts.count; ++i) {
        const Conjunct &conjunct = program_.conjuncts[pipeline_.conjuncts.first + i];
        if (conjunct.after != after)
            continue;
        if (row_mode_) {
            const Value v = eval(conjunct.expr);
            open("if (" + v.v + ")");
            continue;
        }
        load_columns({conjunct.expr});
        open_rows();
        const bool guard = may_raise(conjunct.expr);
        if (guard)
            open("if (alive >> r & 1)");
        const Value v = eval(conjunct.expr);
        line("if (!(" + v.v + ")) alive &= ~(1u << r);");
        if (guard)
            close();
        close_rows();
        line("if (!alive) continue;");
    }
}

// The index of a key in a table indexed by key; `hit` becomes the condition under which it is inside.
Value Generator::probe_index(Index k, string &hit) {
    const TableShape &shape = table(k);
    const string index = fresh("i");
    string sum;
    for (Index i = 0; i < join(k).keys.count; ++i) {
        const Index expr = list(join(k).keys, i);
        const Value key = eval(expr);
        const unsigned first = kernel_.joins[k] + TableWords::key(i);
        const Type type = program_.exprs[expr].type;
        const string d = fresh("d");
        const bool narrow = type_width(type) <= 4;
        if (narrow)
            line("const uint32_t " + d + " = (uint32_t)key_word(" + key.v + ") - (uint32_t)" + word(first) + ";");
        else
            line("const uint64_t " + d + " = key_word(" + key.v + ") - " + word(first) + ";");
        hit += (hit.empty() ? "" : " && ") + d + " < " + (narrow ? "(uint32_t)" : "") + word(first + 2);
        if (!key.n.empty())
            hit += " && !" + key.n;
        const string term = shape.keys.size() == 1 ? d : "(uint64_t)" + d + " * " + word(first + 1);
        sum += (sum.empty() ? "" : " + ") + term;
    }
    line("const uint64_t " + index + " = " + sum + ";");
    return {index, ""};
}

// Text of a loop that sets the variable it returns to the row whose keys are these, or no_match.
string Generator::hash_probe(Index k, const string &hit, const std::vector<Value> &keys) {
    const TableShape &shape = table(k);
    const unsigned first = kernel_.joins[k];
    const string m = fresh("m");
    line("uint32_t " + m + " = no_match;");
    open("if (" + (hit.empty() ? string("true") : hit) + ")");
    line("uint64_t hash = 0;");
    for (size_t i = 0; i < keys.size(); ++i) {
        if (shape.keys[i] == Type::I128) {
            line("hash = sem::hash_combine(hash, (uint64_t)" + keys[i].v + ");");
            line("hash = sem::hash_combine(hash, (uint64_t)(" + keys[i].v + " >> 64));");
        } else {
            line("hash = sem::hash_combine(hash, key_word(" + keys[i].v + "));");
        }
    }
    line("const uint32_t tag = " +
         (shape.exact_tag ? "(uint32_t)key_word(" + keys[0].v + ")" : string("(uint32_t)hash")) + ";");
    line("const uint64_t *const slots = " + pointer("uint64_t", first + TableWords::entries) + ";");
    line("uint32_t slot = (uint32_t)(hash >> 32) & (uint32_t)" + word(first + TableWords::extent) + ";");
    open("for (;;)");
    line("const uint64_t found = __ldg(slots + slot);");
    line("if (found == 0) break;");
    open("if ((uint32_t)(found >> 32) == tag)");
    line("const uint32_t candidate = (uint32_t)found - 1;");
    string same;
    if (!shape.exact_tag)
        for (size_t i = 0; i < keys.size(); ++i)
            same += (same.empty() ? "" : " && ") + pointer(stored_type(shape.keys[i]), first + TableWords::key(i)) +
                    "[candidate] == " + keys[i].v;
    if (same.empty())
        line(m + " = candidate;");
    else
        line("if (" + same + ") " + m + " = candidate;");
    line("if (" + m + " != no_match) break;");
    close();
    line("slot = (slot + 1) & (uint32_t)" + word(first + TableWords::extent) + ";");
    close();
    close();
    return m;
}

void Generator::probe(Index k) {
    const TableShape &shape = table(k);
    std::vector<Index> exprs;
    bool guard = false;
    for (Index i = 0; i < join(k).keys.count; ++i) {
        exprs.push_back(list(join(k).keys, i));
        guard = guard || may_raise(exprs.back());
    }
    if (!shape.unique)
        enter_row_mode();
    const bool packed = shape.kind == TableKind::Packed;
    const string type = packed ? entry_type(shape.entry_bytes) : "uint32_t";
    const string e = "e" + to_string(k);
    const string missing = packed ? "0" : "no_match";
    if (!row_mode_) {
        load_columns(exprs);
        line(type + " " + e + "[4];");
        open_rows();
        line(e + "[r] = (" + type + ")" + missing + ";");
        if (guard || shape.kind == TableKind::Hash) {
            open("if (alive >> r & 1)");
            guard = true;
        }
    }
    string hit = row_mode_ || guard ? "" : "(alive >> r & 1)";
    string entry;
    if (shape.kind == TableKind::Hash) {
        std::vector<Value> keys;
        for (Index expr : exprs) {
            keys.push_back(eval(expr));
            if (!keys.back().n.empty())
                hit += (hit.empty() ? "!" : " && !") + keys.back().n;
        }
        entry = hash_probe(k, hit, keys);
    } else {
        const Value index = probe_index(k, hit);
        const string table_address = pointer(type.c_str(), kernel_.joins[k] + TableWords::entries);
        entry = fresh("m");
        if (packed)
            line("const " + type + " " + entry + " = " + hit + " ? __ldg(" + table_address + " + " + index.v + ") : (" +
                 type + ")0;");
        else
            line("const uint32_t " + entry + " = " + hit + " ? rows_first(" + table_address + ", " + index.v +
                 ") : no_match;");
    }
    if (!row_mode_) {
        line(e + "[r] = " + entry + ";");
        line("if (" + entry + " == " + missing + ") alive &= ~(1u << r);");
        if (guard)
            close();
        close_rows();
        line("if (!alive) continue;");
        staged_[k] = true;
        return;
    }
    const string x = "x" + to_string(k);
    if (shape.unique) {
        line("const " + type + " " + x + " = " + entry + ";");
        open("if (" + x + " != " + missing + ")");
        return;
    }
    const string next = pointer("uint32_t", kernel_.joins[k] + TableWords::next);
    open("for (uint32_t " + x + " = " + entry + "; " + x + " != no_match && !stop; " + x + " = rows_next(" + next +
         ", " + x + "))");
    line("if ((++steps & 1023) == 0 && *cancel) stop = true;");
}

// ---- build sink --------------------------------------------------------------------------------------------------

void Generator::build_sink() {
    std::vector<Index> exprs;
    for (Index i = 0; i < pipeline_.keys.count; ++i)
        exprs.push_back(list(pipeline_.keys, i));
    for (Index i = 0; i < pipeline_.payload.count; ++i)
        exprs.push_back(list(pipeline_.payload, i));
    if (!row_mode_)
        load_columns(exprs);
    enter_row_mode();
    string present;
    for (Index i = 0; i < pipeline_.keys.count; ++i) {
        const Value key = eval(exprs[i]);
        kernel_.key_nullable.push_back(!key.n.empty());
        if (!key.n.empty())
            present += (present.empty() ? "!" : " && !") + key.n;
    }
    if (!present.empty()) // a NULL key never matches
        open("if (" + present + ")");
    const unsigned first = kernel_.sink;
    std::vector<Value> values;
    for (Index expr : exprs)
        values.push_back(eval(expr));
    line("const uint64_t at = append((uint64_t *)" + word(first) + ");");
    open("if (at < " + word(first + 1) + ")");
    for (size_t i = 0; i < exprs.size(); ++i) {
        const char *type = stored_type(program_.exprs[exprs[i]].type);
        const bool key = i < pipeline_.keys.count;
        const unsigned at = first + 2 +
                            (key ? static_cast<unsigned>(i)
                                 : pipeline_.keys.count + 2 * static_cast<unsigned>(i - pipeline_.keys.count));
        line(string("((") + type + " *)" + word(at) + ")[at] = " + values[i].v + ";");
        if (key)
            continue;
        kernel_.payload_nullable.push_back(!values[i].n.empty());
        if (!values[i].n.empty())
            line("((uint8_t *)" + word(at + 1) + ")[at] = " + values[i].n + ";");
    }
}

// ---- aggregate sink ----------------------------------------------------------------------------------------------

void Generator::aggregate_plan() {
    unsigned next = 1;
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
        Components parts;
        if (aggregate.arg != none && nullable(aggregate.arg))
            parts.count = next++;
        if (aggregate.kind == AggregateKind::Sum) {
            parts.value = next;
            const SumKind kind = request_.group.sums[i];
            next += kind == SumKind::Digits || (kind == SumKind::Halves && request_.group.grouping == Grouping::None)
                        ? 4
                    : kind == SumKind::Narrow ? 1
                                              : 2;
        } else if (aggregate.kind == AggregateKind::Min || aggregate.kind == AggregateKind::Max) {
            parts.value = next;
            next += program_.exprs[aggregate.arg].type == Type::I128 ? 3 : 1;
        }
        kernel_.components.push_back(parts);
    }
    kernel_.entry_words = next;
    unsigned words = 0;
    bool null = false;
    for (Index i = 0; i < pipeline_.keys.count; ++i) {
        const Index key = list(pipeline_.keys, i);
        kernel_.key_nullable.push_back(nullable(key));
        null = null || nullable(key);
        words += program_.exprs[key].type == Type::I128 ? 2 : 1;
    }
    kernel_.key_words = words + (null ? 1 : 0);
}

void Generator::aggregate_start() {
    const Grouping grouping = request_.group.grouping;
    if (grouping == Grouping::None) {
        line("uint64_t rows = 0;");
        for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
            const string n = to_string(i);
            const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
            if (kernel_.components[i].count != 0)
                line("uint64_t count" + n + " = 0;");
            if (aggregate.kind == AggregateKind::Sum) {
                static const char *const types[] = {"int64_t", "i128", "Digits", "double"};
                const SumKind kind = request_.group.sums[i];
                line(string(types[static_cast<int>(kind)]) + " sum" + n + (kind == SumKind::Digits ? ";" : " = 0;"));
                if (kind == SumKind::Double)
                    line("uint64_t odd" + n + " = 0;");
            } else if (kernel_.components[i].value != 0) {
                line(string(program_.exprs[aggregate.arg].type == Type::I128 ? "u128" : "uint64_t") + " best" + n +
                     " = 0;");
            }
        }
        return;
    }
    line("uint64_t *const table = (uint64_t *)" + word(kernel_.sink + AggregateWords::table) + ";");
    if (grouping == Grouping::Shared) {
        const string words = to_string(kernel_.entry_words * request_.group.copies);
        line("const uint32_t extent = (uint32_t)" + word(kernel_.sink + AggregateWords::extent) + ";");
        line("const uint32_t copy = threadIdx.x & " + to_string(request_.group.copies - 1) + ";");
        line("for (uint32_t i = threadIdx.x; i < extent * " + words + "; i += blockDim.x) shared_table[i] = 0;");
        line("__syncthreads();");
    }
}

string Generator::component(const string &entry, unsigned index) const {
    const unsigned step = request_.group.grouping == Grouping::Shared ? request_.group.copies : 1;
    return "(" + entry + " + " + to_string(index * step) + ")";
}

// Adds the current row to aggregate i of the group at `entry` (no group: to the thread's registers).
void Generator::update(Index i, const string &entry) {
    const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
    if (aggregate.kind == AggregateKind::CountRows)
        return;
    const Grouping grouping = request_.group.grouping;
    const bool shared = grouping == Grouping::Shared;
    const Components &parts = kernel_.components[i];
    const string n = to_string(i);
    auto add = [&](unsigned index, const string &v) {
        const string at = component(entry, index);
        if (shared)
            line("shared_add((uint32_t *)" + at + ", (uint32_t *)" + at + " + 1, " + v + ");");
        else
            line("global_add(" + at + ", " + v + ");");
    };
    if (aggregate.kind == AggregateKind::Count && parts.count == 0 && !may_raise(aggregate.arg))
        return; // as many as rows
    const Value v = eval(aggregate.arg);
    const bool guard = !v.n.empty();
    if (guard)
        open("if (!" + v.n + ")");
    if (parts.count != 0) {
        if (grouping == Grouping::None)
            line("++count" + n + ";");
        else
            add(parts.count, "1");
    }
    const string type = shared ? "shared" : "global";
    if (aggregate.kind == AggregateKind::Sum) {
        const SumKind kind = request_.group.sums[i];
        if (grouping == Grouping::None) {
            if (kind == SumKind::Digits)
                line("sum" + n + ".add(" + v.v + ");");
            else
                line("sum" + n + " += " + v.v + ";");
            if (kind == SumKind::Double)
                line("odd" + n + " += !is_finite(" + v.v + ");");
        } else if (kind == SumKind::Double) {
            open("if (!is_finite(" + v.v + "))");
            add(parts.value + 1, "1");
            close();
            if (shared)
                line("shared_add_double((double *)" + component(entry, parts.value) + ", (double)" + v.v + ");");
            else
                line("global_add_double(" + component(entry, parts.value) + ", (double)" + v.v + ");");
        } else if (kind == SumKind::Narrow) {
            add(parts.value, "(uint64_t)(int64_t)" + v.v);
        } else if (kind == SumKind::Halves) {
            add(parts.value, "(uint32_t)(int64_t)" + v.v);
            add(parts.value + 1, "(uint64_t)((int64_t)" + v.v + " >> 32)");
        } else {
            const string wide = fresh("w");
            line("const i128 " + wide + " = " + v.v + ";");
            add(parts.value, "(uint32_t)" + wide);
            add(parts.value + 1, "(uint32_t)(" + wide + " >> 32)");
            add(parts.value + 2, "(uint32_t)(" + wide + " >> 64)");
            add(parts.value + 3, "(uint64_t)(int64_t)(" + wide + " >> 96)");
        }
    } else if (parts.value != 0) {
        const bool wide = program_.exprs[aggregate.arg].type == Type::I128;
        const string code = string(aggregate.kind == AggregateKind::Min ? "~" : "") + "order_word(" + v.v + ")";
        if (grouping == Grouping::None)
            line("best" + n + " = Largest::apply(best" + n + (wide ? ", (u128)" : ", (uint64_t)") + code + ");");
        else if (wide)
            line("global_max_wide(table + (uint64_t)group * " + to_string(kernel_.entry_words) + " + " +
                 to_string(parts.value) + ", " + code + ");");
        else
            line(type + "_max(" + component(entry, parts.value) + ", " + code + ");");
    }
    if (guard)
        close();
}

// Finds the row's group: `entry` points at its first word.
void Generator::group_entry() {
    const Grouping grouping = request_.group.grouping;
    const unsigned first = kernel_.sink;
    if (grouping == Grouping::Wide) {
        line("uint64_t key[" + to_string(kernel_.key_words) + "];");
        unsigned at = 0;
        string nulls;
        for (Index i = 0; i < pipeline_.keys.count; ++i) {
            const Index expr = list(pipeline_.keys, i);
            const Value v = eval(expr);
            const string null = v.n.empty() ? "" : v.n + " ? 0 : ";
            if (program_.exprs[expr].type == Type::I128) {
                line("key[" + to_string(at++) + "] = " + null + "(uint64_t)" + v.v + ";");
                line("key[" + to_string(at++) + "] = " + null + "(uint64_t)(" + v.v + " >> 64);");
            } else {
                line("key[" + to_string(at++) + "] = " + null + "key_word(" + v.v + ");");
            }
            if (!v.n.empty())
                nulls += (nulls.empty() ? "" : " | ") + ("(uint64_t)" + v.n) + " << " + to_string(i);
        }
        if (!nulls.empty())
            line("key[" + to_string(at) + "] = " + nulls + ";");
        line("const uint32_t group = find_group_wide<" + to_string(kernel_.key_words) + ">((uint32_t *)" +
             word(first + AggregateWords::states) + ", (uint64_t *)" + word(first + AggregateWords::keys) +
             ", (uint32_t)" + word(first + AggregateWords::mask) + ", key, (uint64_t *)" +
             word(first + AggregateWords::counter) + ", " + word(first + AggregateWords::limit) + ", status);");
        open("if (group != no_match)");
        line("uint64_t *const entry = table + (uint64_t)group * " + to_string(kernel_.entry_words) + ";");
        return;
    }
    const string type = grouping == Grouping::Hash ? "uint64_t" : "uint32_t";
    string sum;
    for (Index i = 0; i < pipeline_.keys.count; ++i) {
        const Value v = eval(list(pipeline_.keys, i));
        const unsigned at = first + AggregateWords::key(i);
        const string f = fresh("f");
        line("const " + type + " " + f + " = " + (v.n.empty() ? "" : v.n + " ? 0 : ") + "(" + type + ")key_word(" +
             v.v + ") - (" + type + ")" + word(at) + ";");
        sum += (sum.empty() ? "" : " + ") + f + " * (" + type + ")" + word(at + 1);
    }
    if (grouping == Grouping::Hash) {
        line("const uint64_t key = (" + sum + ") | 0x8000000000000000ULL;");
        line("const uint32_t group = find_group((uint64_t *)" + word(first + AggregateWords::keys) + ", (uint32_t)" +
             word(first + AggregateWords::mask) + ", key, (uint64_t *)" + word(first + AggregateWords::counter) + ", " +
             word(first + AggregateWords::limit) + ", status);");
        open("if (group != no_match)");
        line("uint64_t *const entry = table + (uint64_t)group * " + to_string(kernel_.entry_words) + ";");
        return;
    }
    line("const uint32_t group = " + sum + ";");
    line("if (group >= (uint32_t)" + word(first + AggregateWords::extent) + ") flags |= status_bad_lookup;");
    open("else");
    if (grouping == Grouping::Shared)
        line("uint64_t *const entry = shared_table + group * " +
             to_string(kernel_.entry_words * request_.group.copies) + " + copy;");
    else
        line("uint64_t *const entry = table + (uint64_t)group * " + to_string(kernel_.entry_words) + ";");
}

void Generator::aggregate_sink() {
    const Grouping grouping = request_.group.grouping;
    std::vector<Index> exprs;
    for (Index i = 0; i < pipeline_.keys.count; ++i)
        exprs.push_back(list(pipeline_.keys, i));
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
        if (aggregate.arg != none)
            exprs.push_back(aggregate.arg);
    }
    if (!row_mode_)
        load_columns(exprs);
    if (grouping == Grouping::None && !row_mode_) {
        line("rows += (uint32_t)__popc(alive);");
        open_rows();
        open("if (alive >> r & 1)");
        for (Index i = 0; i < pipeline_.aggregates.count; ++i)
            update(i, "");
        close();
        close_rows();
        return;
    }
    enter_row_mode();
    if (grouping == Grouping::None) {
        line("++rows;");
        for (Index i = 0; i < pipeline_.aggregates.count; ++i)
            update(i, "");
        return;
    }
    group_entry();
    if (grouping == Grouping::Shared)
        line("shared_add((uint32_t *)entry, (uint32_t *)entry + 1, 1);");
    else
        line("global_add(entry, 1);");
    for (Index i = 0; i < pipeline_.aggregates.count; ++i)
        update(i, "entry");
}

// What is left to do when a block has no rows any more.
void Generator::aggregate_end() {
    const Grouping grouping = request_.group.grouping;
    if (grouping != Grouping::None && grouping != Grouping::Shared)
        return;
    if (grouping == Grouping::None) {
        line("__shared__ i128 scratch[32];");
        line("uint64_t *const entry = (uint64_t *)" + word(kernel_.sink + AggregateWords::table) + ";");
        line("rows = block_reduce<Plus>(rows, scratch);");
        line("if (threadIdx.x == 0 && rows) global_add(entry, rows);");
    } else {
        line("__syncthreads();");
        open("for (uint32_t g = threadIdx.x; g < extent; g += blockDim.x)");
        line("uint64_t *const from = shared_table + g * " + to_string(kernel_.entry_words * request_.group.copies) +
             ";");
        line("uint64_t *const entry = table + (uint64_t)g * " + to_string(kernel_.entry_words) + ";");
    }
    // One word of the group: all copies together, then one atomic.
    const string copies = to_string(request_.group.copies);
    auto merge = [&](unsigned index, const char *type, const char *combine, const char *store) {
        line("{");
        ++depth_;
        line(string(type) + " v = 0;");
        line("for (uint32_t i = 0; i < " + copies + "; ++i) v = " + combine + "(v, *(const " + type + " *)(from + " +
             to_string(index * request_.group.copies) + " + i));");
        line(string("if (v != 0) ") + store + "(entry + " + to_string(index) + ", v);");
        close();
    };
    if (grouping == Grouping::Shared)
        merge(0, "uint64_t", "Plus::apply", "global_add");
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
        const Components &parts = kernel_.components[i];
        const string n = to_string(i);
        const SumKind kind = request_.group.sums[i];
        if (parts.count != 0) {
            if (grouping == Grouping::Shared) {
                merge(parts.count, "uint64_t", "Plus::apply", "global_add");
            } else {
                line("count" + n + " = block_reduce<Plus>(count" + n + ", scratch);");
                line("if (threadIdx.x == 0 && count" + n + ") global_add(entry + " + to_string(parts.count) +
                     ", count" + n + ");");
            }
        }
        if (parts.value == 0)
            continue;
        const string at = "entry + " + to_string(parts.value);
        if (aggregate.kind != AggregateKind::Sum) {
            const bool wide = program_.exprs[aggregate.arg].type == Type::I128;
            if (grouping == Grouping::Shared) {
                if (wide) // stands in device memory only
                    continue;
                merge(parts.value, "uint64_t", "Largest::apply", "global_max");
            } else {
                line("best" + n + " = block_reduce<Largest>(best" + n + ", scratch);");
                line(string("if (threadIdx.x == 0) ") + (wide ? "global_max_wide(" : "global_max(") + at + ", best" +
                     n + ");");
            }
        } else if (grouping == Grouping::Shared) {
            const unsigned words = kind == SumKind::Digits ? 4 : kind == SumKind::Halves ? 2 : 1;
            if (kind == SumKind::Double)
                merge(parts.value + 1, "uint64_t", "Plus::apply", "global_add");
            for (unsigned w = 0; w < words; ++w)
                merge(parts.value + w, kind == SumKind::Double ? "double" : "uint64_t", "Plus::apply",
                      kind == SumKind::Double ? "global_add_double" : "global_add");
        } else if (kind == SumKind::Digits) {
            for (int d = 0; d < 4; ++d) {
                const string digit = "sum" + n + ".digit[" + to_string(d) + "]";
                line(digit + " = block_reduce<Plus>(" + digit + ", scratch);");
                line("if (threadIdx.x == 0) global_add(" + at + " + " + to_string(d) + ", " + digit + ");");
            }
        } else {
            line("sum" + n + " = block_reduce<Plus>(sum" + n + ", scratch);");
            if (kind == SumKind::Double) {
                line("odd" + n + " = block_reduce<Plus>(odd" + n + ", scratch);");
                line("if (threadIdx.x == 0 && odd" + n + ") global_add(" + at + " + 1, odd" + n + ");");
            }
            if (kind == SumKind::Double)
                line("if (threadIdx.x == 0) global_add_double(" + at + ", sum" + n + ");");
            else if (kind == SumKind::Narrow)
                line("if (threadIdx.x == 0) global_add(" + at + ", (uint64_t)sum" + n + ");");
            else
                line("if (threadIdx.x == 0) add_digits(" + at + ", sum" + n + ");");
        }
    }
    if (grouping == Grouping::Shared)
        close();
}

// ---- the whole ---------------------------------------------------------------------------------------------------

Kernel Generator::generate() {
    plan_words();
    if (pipeline_.sink == SinkKind::Aggregate)
        aggregate_plan();
    kernel_head();
    if (pipeline_.sink == SinkKind::Aggregate &&
        (request_.group.grouping == Grouping::Hash || request_.group.grouping == Grouping::Wide))
        line("if (*(volatile uint32_t *)status & status_table_full) { tile = " + word(Kernel::tile_end) + "; break; }");
    if (kernel_.loops)
        line("if (stop) { tile = " + word(Kernel::tile_end) + "; break; }");
    const int tile_depth = depth_;
    conjuncts(0);
    for (Index k = 0; k < pipeline_.joins.count; ++k) {
        probe(k);
        conjuncts(k + 1);
    }
    if (pipeline_.sink == SinkKind::Build)
        build_sink();
    else
        aggregate_sink();
    while (depth_ > tile_depth)
        close();
    close(); // tiles
    close(); // chunks
    if (pipeline_.sink == SinkKind::Aggregate)
        aggregate_end();
    line("if (error) flags |= status_row_error;");
    line("if (flags) atomicOr(status, flags);");
    close();
    kernel_.source = std::move(out_);
    return std::move(kernel_);
}

} // namespace

Kernel generate(const Request &request) { return Generator(request).generate(); }

bool nullable(const Request &request, Index expr) { return Generator(request).nullable(expr); }

} // namespace gpuscan::codegen
