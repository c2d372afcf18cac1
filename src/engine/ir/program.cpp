// Programs on the wire: writing them, and reading them back with every index, range, type and order checked.
//
// The checker follows the structure of ir.hpp: arrays first (expressions in order, so that operands are known when they
// are used), then pipelines in order, so that a join only meets builds whose keys and payload have types already. An
// expression belongs to no pipeline of its own; a Column's type claim is checked in every pipeline that reaches it.
#include "engine/ir/program.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gpuscan {
namespace {

using namespace ir;

[[noreturn]] void fail(const std::string &reason) { throw std::runtime_error("invalid program: " + reason); }

void require(bool condition, const char *reason) {
    if (!condition)
        fail(reason);
}

size_t aligned(size_t size) { return (size + 7) & ~size_t(7); }

// ---- wire format ----

template <class T> void write_array(std::string &out, const std::vector<T> &array) {
    out.append(reinterpret_cast<const char *>(array.data()), array.size() * sizeof(T));
    out.resize(aligned(out.size()), '\0');
}

struct Reader {
    const char *at;
    size_t left;

    template <class T> void array(std::vector<T> &out, uint32_t count) {
        size_t bytes = size_t(count) * sizeof(T);
        require(bytes <= left, "truncated");
        out.resize(count);
        if (bytes > 0)
            memcpy(static_cast<void *>(out.data()), at, bytes);
        size_t step = aligned(bytes) < left ? aligned(bytes) : left;
        at += step;
        left -= step;
    }
};

// ---- checks ----

bool key_type(Type type) { return is_integer(type) || type == Type::Bool || type == Type::Code; }

class Checker {
  public:
    explicit Checker(const Program &program) : p(program) {}

    void check() {
        for (const SourceColumn &column : p.source_columns)
            check_type(column.type);
        for (const Source &source : p.sources)
            check_range(source.columns, p.source_columns.size(), "columns of a source");
        for (const Constant &constant : p.constants)
            check_constant(constant);
        for (const Lookup &lookup : p.lookups)
            check_lookup(lookup);
        require(p.exprs.size() <= max_exprs, "too many expressions");
        for (size_t i = 0; i < p.exprs.size(); ++i)
            check_expr(i);
        check_depth();
        check_references();
        require(!p.pipelines.empty(), "no pipeline");
        for (size_t i = 0; i < p.pipelines.size(); ++i)
            check_pipeline(i);
    }

  private:
    const Program &p;

    static void check_type(Type type) { require(static_cast<int>(type) < type_count, "unknown type"); }

    static void check_range(Range range, size_t size, const char *what) {
        if (range.first > size || range.count > size - range.first)
            fail(std::string("range out of bounds: ") + what);
    }

    void check_constant(const Constant &c) {
        check_type(c.type);
        require(c.null <= 1, "NULL flag of a constant");
        require(c.type != Type::Bool || c.low <= 1, "Bool constant");
    }

    void check_lookup(const Lookup &lookup) {
        Type t = lookup.type;
        require(t == Type::Bool || t == Type::I32 || t == Type::I64 || t == Type::F64 || t == Type::Code,
                "type of a lookup");
        require(lookup.deferred == 0 || lookup.source != none, "a deferred lookup without a source");
        if (lookup.source == none)
            return;
        require(lookup.source < p.sources.size(), "source of a lookup");
        Range columns = p.sources[lookup.source].columns;
        require(lookup.column < columns.count, "column of a lookup");
        require(p.source_columns[columns.first + lookup.column].type == Type::Code, "lookup over a column not coded");
    }

    // What names an expression names one that exists, whether or not a pipeline uses it: whole arrays are walked, too.
    void check_references() {
        const auto check = [this](Index expr) { require(expr < p.exprs.size(), "expression out of bounds"); };
        for (const Index expr : p.lists)
            check(expr);
        for (const Conjunct &conjunct : p.conjuncts)
            check(conjunct.expr);
        for (const OrderKey &key : p.orders)
            check(key.expr);
        for (const Aggregate &aggregate : p.aggregates)
            if (aggregate.arg != none)
                check(aggregate.arg);
    }

    Type operand(size_t node, Index index) {
        require(index < node, "operand does not precede its node");
        return p.exprs[index].type;
    }

    void check_expr(size_t i) {
        const Expr &e = p.exprs[i];
        check_type(e.type);
        if (is_arithmetic(e.op)) {
            require(is_integer(e.type) || (is_float(e.type) && e.op != Op::Mod), "arithmetic on a type without");
            require(operand(i, e.a) == e.type && operand(i, e.b) == e.type, "operand types of arithmetic");
            return;
        }
        if (is_comparison(e.op)) {
            const Type a = operand(i, e.a);
            require(e.type == Type::Bool && a == operand(i, e.b), "types of a comparison");
            require(a != Type::Code || e.op == Op::Eq || e.op == Op::Ne, "codes have no order");
            return;
        }
        switch (e.op) {
        case Op::Column: // step and column depend on the pipeline
            return;
        case Op::Const:
            require(e.a < p.constants.size(), "constant out of bounds");
            require(p.constants[e.a].type == e.type, "type of a constant");
            return;
        case Op::Neg:
            require(is_integer(e.type) || is_float(e.type), "negation of a type without");
            require(operand(i, e.a) == e.type, "operand type of a negation");
            return;
        case Op::And:
        case Op::Or:
            require(e.type == Type::Bool && operand(i, e.a) == Type::Bool && operand(i, e.b) == Type::Bool,
                    "types of a logical operator");
            return;
        case Op::Not:
        case Op::IsTrue:
            require(e.type == Type::Bool && operand(i, e.a) == Type::Bool, "types of a logical operator");
            return;
        case Op::IsNull:
        case Op::IsNotNull:
            operand(i, e.a);
            require(e.type == Type::Bool, "type of a NULL test");
            return;
        case Op::Case:
            require(operand(i, e.a) == Type::Bool, "condition of a case");
            require(operand(i, e.b) == e.type && operand(i, e.c) == e.type, "types of a case");
            return;
        case Op::Coalesce:
            require(operand(i, e.a) == e.type && operand(i, e.b) == e.type, "types of a coalesce");
            return;
        case Op::Cast: {
            Type from = operand(i, e.a);
            bool number = is_integer(e.type) || is_float(e.type);
            require(number && (is_integer(from) || is_float(from) || from == Type::Bool), "types of a cast");
            require(from != Type::Bool || is_integer(e.type), "types of a cast");
            return;
        }
        case Op::Search:
            require(operand(i, e.a) == Type::I64 && e.type == Type::Code, "types of a search");
            require(e.b < p.lookups.size(), "lookup out of bounds");
            require(p.lookups[e.b].type == Type::I64 && p.lookups[e.b].source == none, "table of a search");
            return;
        case Op::Lookup:
            require(operand(i, e.a) == Type::Code, "argument of a lookup");
            require(e.b < p.lookups.size(), "lookup out of bounds");
            require(p.lookups[e.b].type == e.type, "type of a lookup");
            return;
        case Op::Call: {
            require(e.c < function_count, "unknown function");
            const FunctionInfo &f = function_info(static_cast<Function>(e.c));
            require(operand(i, e.a) == f.argument && e.type == f.result, "types of a function");
            require(f.arguments == 1 || operand(i, e.b) == f.argument, "types of a function");
            return;
        }
        default:
            fail("unknown operator");
        }
    }

    void check_depth() const {
        std::vector<Index> depth(p.exprs.size(), 1);
        for (size_t i = 0; i < p.exprs.size(); ++i) {
            for_each_operand(p.exprs[i], [&](Index operand) { depth[i] = std::max(depth[i], depth[operand] + 1); });
            require(depth[i] <= max_expr_depth, "an expression is too deep");
        }
    }

    // Marks every expression that `root` needs; operands precede, so one downward sweep is enough.
    void reach(Index root, std::vector<uint8_t> &needed) const {
        require(root < p.exprs.size(), "expression out of bounds");
        needed.assign(p.exprs.size(), 0);
        needed[root] = 1;
        for (size_t i = root + 1; i-- > 0;)
            if (needed[i])
                for_each_operand(p.exprs[i], [&](Index operand) { needed[operand] = 1; });
    }

    // An expression evaluated in `pipeline` when steps 0..`step` exist.
    void check_use(const Pipeline &pipeline, Index root, Index step) {
        reach(root, needed_);
        for (size_t i = 0; i <= root; ++i) {
            const Expr &e = p.exprs[i];
            if (!needed_[i] || e.op != Op::Column)
                continue;
            require(e.a <= step, "column of a later join");
            Range columns = step_columns(pipeline, e.a);
            require(e.b < columns.count, "column out of bounds");
            require(p.column_type(pipeline, e.a, e.b) == e.type, "type of a column");
            require(e.a == 0 || e.a == partner_ || delivers_payload(p.joins[pipeline.joins.first + e.a - 1].kind),
                    "column of a semi or anti join");
        }
    }

    Range step_columns(const Pipeline &pipeline, Index step) const {
        if (step == 0)
            return p.sources[pipeline.source].columns;
        return p.pipelines[p.joins[pipeline.joins.first + step - 1].build].payload;
    }

    void check_join(size_t pipeline_index, Index k) {
        const Pipeline &pipeline = p.pipelines[pipeline_index];
        const Join &join = p.joins[pipeline.joins.first + k];
        require(join.build < pipeline_index, "join with a later pipeline");
        const Pipeline &build = p.pipelines[join.build];
        check_range(join.keys, p.lists.size(), "keys of a join");
        require(join.keys.count == build.keys.count, "number of join keys");
        for (Index i = 0; i < join.keys.count; ++i) {
            Index probe = p.lists[join.keys.first + i];
            check_use(pipeline, probe, k);
            require(p.exprs[probe].type == p.exprs[p.lists[build.keys.first + i]].type, "types of join keys");
        }
        require(join.kind <= JoinKind::Full, "kind of a join");
        require(!keeps_table(join.kind) || pipeline_index + 1 == p.pipelines.size(), "kind of a build's join");
        check_range(join.filters, p.lists.size(), "filters of a join");
        require(join.kind != JoinKind::Inner || join.filters.count == 0, "filters of an inner join");
        partner_ = k + 1;
        for (Index i = 0; i < join.filters.count; ++i) {
            const Index filter = p.lists[join.filters.first + i];
            check_use(pipeline, filter, k + 1);
            require(p.exprs[filter].type == Type::Bool, "type of a join's filter");
            for (size_t node = 0; node <= filter && !delivers_payload(join.kind); ++node)
                require(!needed_[node] || !raises_itself(p.exprs.data(), p.exprs[node]),
                        "error in the filter of a semi or anti join");
        }
        partner_ = none;
    }

    void check_aggregate(const Pipeline &pipeline, const Aggregate &aggregate, Index step) {
        require(aggregate.kind <= AggregateKind::BitXor, "unknown aggregate");
        if (aggregate.kind == AggregateKind::CountRows) {
            require(aggregate.arg == none, "argument of count(*)");
            return;
        }
        check_use(pipeline, aggregate.arg, step);
        Type type = p.exprs[aggregate.arg].type;
        require(aggregate.kind != AggregateKind::Sum || is_integer(type) || type == Type::F64, "type of a sum");
        require(aggregate.kind != AggregateKind::LongSum || type == Type::F64, "type of a long sum");
        require(!is_bitwise(aggregate.kind) || (is_integer(type) && type != Type::I128), "type of a bitwise aggregate");
    }

    void check_second_aggregation(const Pipeline &pipeline, bool aggregates) {
        check_range(pipeline.sets, p.sets.size(), "grouping sets");
        check_range(pipeline.distincts, p.distincts.size(), "distinct aggregates");
        require(pipeline.sets.count <= max_grouping_sets, "too many grouping sets");
        require(aggregates || pipeline.sets.count == 0, "grouping sets without groups");
        require(pipeline.sets.count > 0 || pipeline.distincts.count == 0, "distinct aggregates without a grouping set");
        const bool rows = pipeline.sink == SinkKind::Rows; // whose result_keys are columns
        require((rows || pipeline.result_keys <= pipeline.keys.count) && pipeline.keys.count <= max_group_keys,
                "keys of a result");
        for (Index s = 0; s < pipeline.sets.count; ++s)
            require(p.sets[pipeline.sets.first + s].keys >> pipeline.result_keys == 0, "key of a grouping set");
        for (Index d = 0; d < pipeline.distincts.count; ++d)
            require(p.distincts[pipeline.distincts.first + d].key < pipeline.keys.count, "key of a distinct aggregate");
    }

    void check_ordered_sets(const Pipeline &pipeline, bool aggregates) {
        check_range(pipeline.arguments, p.lists.size(), "arguments");
        check_range(pipeline.ordered_sets, p.ordered_sets.size(), "ordered sets");
        require(aggregates || (pipeline.arguments.count == 0 && pipeline.ordered_sets.count == 0),
                "ordered sets without groups");
        require(pipeline.arguments.count <= max_row_outputs - max_group_keys &&
                    pipeline.ordered_sets.count <= max_ordered_sets,
                "too many ordered sets");
        for (Index a = 0; a < pipeline.arguments.count; ++a) {
            const Index argument = p.lists[pipeline.arguments.first + a];
            check_use(pipeline, argument, pipeline.joins.count);
            require(p.exprs[argument].type != Type::Code, "codes have no order");
        }
        for (Index s = 0; s < pipeline.ordered_sets.count; ++s) {
            const OrderedSet &set = p.ordered_sets[pipeline.ordered_sets.first + s];
            require(set.kind <= OrderedSetKind::Mode && set.argument < pipeline.arguments.count,
                    "argument of an ordered set");
            require(set.kind == OrderedSetKind::Mode
                        ? set.fraction == none
                        : set.fraction < p.constants.size() && p.constants[set.fraction].type == Type::F64,
                    "fraction of an ordered set");
            require(set.kind != OrderedSetKind::Continuous || p.ordered_set_type(set) == Type::F64,
                    "type of a continuous percentile");
            require(set.spelling == 0 ||
                        (set.spelling < 64 && set.kind != OrderedSetKind::Continuous &&
                         (p.ordered_set_type(set) == Type::I64 || p.ordered_set_type(set) == Type::I128)),
                    "spelling of an ordered set's values");
        }
    }

    // An expression over the groups of the result; only sort keys may look something up.
    void check_group_use(Index root, bool lookups = false) {
        reach(root, needed_);
        for (size_t i = 0; i <= root; ++i) {
            const Expr &e = p.exprs[i];
            require(!needed_[i] || e.op != Op::Lookup || lookups, "lookup over groups");
            if (!needed_[i] || e.op != Op::Column)
                continue;
            require(e.a == group_keys || e.a == group_values || e.a == group_counts, "column of a row over groups");
            require(e.b < p.group_columns(e.a), "column of a group out of bounds");
            require(p.group_column_type(e.a, e.b) == e.type, "type of a column of a group");
        }
    }

    void check_top(Index constant) {
        require(constant == none || (constant < p.constants.size() && p.constants[constant].type == Type::I64),
                "number of groups that are wanted");
    }

    bool is_payload(const Pipeline &pipeline, Index expr) const {
        for (Index k = 0; k < pipeline.payload.count; ++k)
            if (p.lists[pipeline.payload.first + k] == expr)
                return true;
        return false;
    }

    void check_group_filter(const Pipeline &pipeline, bool aggregates) {
        check_range(pipeline.having, p.lists.size(), "conditions of groups");
        check_range(pipeline.order, p.orders.size(), "order of groups or rows");
        require(aggregates || (pipeline.having.count == 0 && (pipeline.top == none || pipeline.order.count > 0)),
                "choice of groups without groups, or of rows without an order");
        for (Index h = 0; h < pipeline.having.count; ++h) {
            const Index condition = p.lists[pipeline.having.first + h];
            check_group_use(condition);
            require(p.exprs[condition].type == Type::Bool, "type of a condition of groups");
        }
        for (Index o = 0; o < pipeline.order.count; ++o) {
            const Index key = p.orders[pipeline.order.first + o].expr;
            if (aggregates)
                check_group_use(key, pipeline.sorted != 0 && pipeline.top == none);
            else
                require(is_payload(pipeline, key), "order of rows by what they do not have");
            require(p.exprs[key].type != Type::Code, "codes have no order");
        }
        require(aggregates || (pipeline.order.count == 0 && pipeline.windows.count == 0) ||
                    (pipeline.sink == SinkKind::Rows && pipeline.limit == 0 &&
                     pipeline.result_keys <= pipeline.payload.count),
                "rows in an order");
        require(!pipeline.sorted || (aggregates && pipeline.order.count > 0), "groups in an order");
        check_top(pipeline.top);
        check_top(pipeline.top_offset);
        for (Index a = 0; a < pipeline.aggregates.count; ++a) {
            const Aggregate &aggregate = p.aggregates[pipeline.aggregates.first + a];
            require(!aggregate.narrow ||
                        ((aggregate.narrow == 8 || aggregate.narrow == 4) && aggregate.kind == AggregateKind::Sum &&
                         is_integer(p.exprs[aggregate.arg].type)),
                    "narrow aggregate");
        }
    }

    void check_offset(const Window &window, FrameBound bound, Index constant) {
        require(bound <= FrameBound::UnboundedFollowing, "bound of a frame");
        const bool has_one = bound == FrameBound::Preceding || bound == FrameBound::Following;
        const Type type = window.unit == FrameUnit::Floats ? Type::F64 : Type::I64;
        require(has_one ? constant < p.constants.size() && p.constants[constant].type == type &&
                              (window.peers == 0) == (window.unit == FrameUnit::Rows)
                        : constant == none,
                "offset of a frame");
    }

    // By which the values of the only order key differ.
    void check_unit(const Window &window) {
        require(window.unit <= FrameUnit::Moments, "unit of a frame");
        require(window.exclusion <= FrameExclusion::Ties, "exclusion of a frame");
        if (window.unit <= FrameUnit::Groups)
            return;
        require(window.keys.count == window.partition + 1, "order of a frame by values");
        const Type type = p.exprs[p.orders[window.keys.first + window.partition].expr].type;
        require(window.unit == FrameUnit::Integers ? is_integer(type)
                : window.unit == FrameUnit::Floats ? is_float(type)
                                                   : type == Type::I32 || type == Type::I64,
                "values of a frame");
    }

    void check_window(const Pipeline &pipeline, const Window &window) {
        check_range(window.keys, p.orders.size(), "keys of a window");
        require(window.partition <= window.keys.count, "keys of partitions");
        for (Index k = 0; k < window.keys.count; ++k) {
            const Index key = p.orders[window.keys.first + k].expr;
            require(is_payload(pipeline, key), "window by what rows do not have");
            require(p.exprs[key].type != Type::Code, "codes have no order");
        }
        require(window.start != FrameBound::UnboundedFollowing && window.end != FrameBound::UnboundedPreceding,
                "bound of a frame");
        check_unit(window);
        check_offset(window, window.start, window.start_offset);
        check_offset(window, window.end, window.end_offset);
    }

    void check_window_function(const Pipeline &pipeline, const WindowFunction &function) {
        const WindowKind kind = function.kind;
        require(kind <= WindowKind::Max, "unknown window function");
        require(function.window < pipeline.windows.count, "window of a function");
        const bool has_arg = kind >= WindowKind::Lag && kind != WindowKind::CountRows;
        require(has_arg ? function.arg < pipeline.payload.count : function.arg == none,
                "argument of a window function");
        const bool shifts = kind == WindowKind::Lag || kind == WindowKind::Lead;
        const bool extreme = kind == WindowKind::Min || kind == WindowKind::Max;
        require(function.other == none || ((shifts || extreme) && function.other < pipeline.payload.count),
                "second argument of a window function");
        const bool has_number = shifts || kind == WindowKind::Ntile || kind == WindowKind::NthValue;
        require(has_number ? function.number < p.constants.size() && p.constants[function.number].type == Type::I64
                           : function.number == none,
                "number of a window function");
        require(function.narrow <= (kind == WindowKind::Sum ? 1 : 0), "narrow window function");
        require(function.tested <= 1 && is_comparison(function.test), "test of a window function");
        require(function.tested
                    ? function.bound < p.constants.size() && p.constants[function.bound].type == Type::I64 &&
                          p.window_type(function) == Type::I64
                    : function.bound == none,
                "bound of a window function");
        if (!has_arg)
            return;
        const auto type_of = [&](Index column) { return p.exprs[p.lists[pipeline.payload.first + column]].type; };
        const Type type = type_of(function.arg);
        require(function.other == none || type_of(function.other) == (extreme ? Type::Code : type),
                "types of a window function");
        require(kind != WindowKind::Sum || type == Type::F64 || is_integer(type), "type of a sum");
        require(!function.narrow || is_integer(type), "type of a narrow sum");
        require(kind != WindowKind::Average || type == Type::F64, "type of an average");
        require(!extreme || type != Type::Code, "codes have no order");
    }

    void check_windows(const Pipeline &pipeline) {
        check_range(pipeline.windows, p.windows.size(), "windows");
        check_range(pipeline.window_functions, p.window_functions.size(), "window functions");
        require(pipeline.windows.count == 0 || (pipeline.sink == SinkKind::Rows && pipeline.order.count == 0),
                "windows without rows, or of rows in another order");
        require(pipeline.windows.count <= max_windows, "too many windows");
        require(pipeline.window_functions.count <= max_row_outputs, "too many columns of a row");
        for (Index w = 0; w < pipeline.windows.count; ++w)
            check_window(pipeline, p.windows[pipeline.windows.first + w]);
        for (Index f = 0; f < pipeline.window_functions.count; ++f)
            check_window_function(pipeline, p.window_functions[pipeline.window_functions.first + f]);
    }

    void check_pipeline(size_t i) {
        const Pipeline &pipeline = p.pipelines[i];
        bool last = i + 1 == p.pipelines.size();
        require(pipeline.source < p.sources.size(), "source out of bounds");
        const bool rows = pipeline.sink == SinkKind::Rows;
        require(last ? rows || pipeline.sink == SinkKind::Aggregate : pipeline.sink == SinkKind::Build,
                "sink of a pipeline");
        require(rows || pipeline.limit == 0, "limit of a pipeline");
        check_range(pipeline.conjuncts, p.conjuncts.size(), "conjuncts");
        check_range(pipeline.joins, p.joins.size(), "joins");
        check_range(pipeline.keys, p.lists.size(), "keys");
        check_range(pipeline.payload, p.lists.size(), "payload");
        check_range(pipeline.aggregates, p.aggregates.size(), "aggregates");
        require(pipeline.joins.count <= max_joins, "too many joins");
        for (Index k = 0; k < pipeline.joins.count; ++k)
            check_join(i, k);

        Index steps = pipeline.joins.count;
        Index after = 0;
        for (Index c = 0; c < pipeline.conjuncts.count; ++c) {
            const Conjunct &conjunct = p.conjuncts[pipeline.conjuncts.first + c];
            require(conjunct.after <= steps && conjunct.after >= after, "place of a conjunct");
            after = conjunct.after;
            check_use(pipeline, conjunct.expr, conjunct.after);
            require(p.exprs[conjunct.expr].type == Type::Bool, "type of a conjunct");
        }
        for (Index k = 0; k < pipeline.keys.count; ++k) {
            Index key = p.lists[pipeline.keys.first + k];
            check_use(pipeline, key, steps);
            require(last || key_type(p.exprs[key].type), "type of a join key");
        }
        for (Index k = 0; k < pipeline.payload.count; ++k)
            check_use(pipeline, p.lists[pipeline.payload.first + k], steps);
        for (Index a = 0; a < pipeline.aggregates.count; ++a)
            check_aggregate(pipeline, p.aggregates[pipeline.aggregates.first + a], steps);
        check_second_aggregation(pipeline, last && !rows);
        check_ordered_sets(pipeline, last && !rows); // whose types the conditions of groups ask for
        check_group_filter(pipeline, last && !rows);
        check_windows(pipeline);
        if (rows) {
            require(pipeline.keys.count == 0 && pipeline.aggregates.count == 0, "groups of a pipeline that has rows");
            require(pipeline.payload.count <= max_row_outputs, "too many columns of a row");
        } else if (last) {
            require(pipeline.keys.count <= max_group_keys, "too many group keys");
            require(pipeline.payload.count == 0, "payload of an aggregation");
        } else {
            require(pipeline.keys.count <= max_join_keys, "number of join keys");
            require(pipeline.aggregates.count == 0, "aggregates of a build");
        }
    }

    std::vector<uint8_t> needed_;
    Index partner_ = none; // the step whose partners the expressions under check may see whatever the join
};

} // namespace

Type Program::column_type(const Pipeline &pipeline, Index step, Index column) const {
    if (step == 0)
        return source_columns[sources[pipeline.source].columns.first + column].type;
    const Pipeline &build = pipelines[joins[pipeline.joins.first + step - 1].build];
    return exprs[lists[build.payload.first + column]].type;
}

Type Program::group_column_type(Index step, Index column) const {
    const Pipeline &p = main();
    if (step == group_counts)
        return Type::I64;
    if (step == group_keys) {
        const bool number_of_set = p.sets.count > 0 && column == p.result_keys;
        return number_of_set ? Type::I64 : exprs[lists[p.keys.first + column]].type;
    }
    if (column >= grouped_aggregates())
        return ordered_set_type(ordered_sets[p.ordered_sets.first + column - grouped_aggregates()]);
    if (column >= p.aggregates.count)
        return distincts[p.distincts.first + column - p.aggregates.count].narrow ? Type::I64 : Type::I128;
    const Aggregate &aggregate = aggregates[p.aggregates.first + column];
    if (aggregate.kind == AggregateKind::CountRows || aggregate.kind == AggregateKind::Count)
        return Type::I64;
    const Type type = exprs[aggregate.arg].type;
    if (aggregate.kind != AggregateKind::Sum || is_float(type))
        return type;
    return aggregate.narrow ? Type::I64 : Type::I128;
}

size_t Program::result_keys() const { return shown_keys() + (main().sets.count > 1 ? 1 : 0); }

Type Program::ordered_set_type(const OrderedSet &set) const {
    return exprs[lists[main().arguments.first + set.argument]].type;
}

Type Program::window_type(const WindowFunction &function) const {
    const auto argument = [&] { return exprs[lists[main().payload.first + function.arg]].type; };
    switch (function.kind) {
    case WindowKind::RowNumber:
    case WindowKind::Rank:
    case WindowKind::DenseRank:
    case WindowKind::CountRows:
    case WindowKind::Count:
        return Type::I64;
    case WindowKind::PercentRank:
    case WindowKind::CumeDist:
    case WindowKind::Average:
        return Type::F64;
    case WindowKind::Ntile:
        return Type::I32;
    case WindowKind::Sum:
        return argument() == Type::F64 ? Type::F64 : function.narrow ? Type::I64 : Type::I128;
    case WindowKind::Min:
    case WindowKind::Max:
        return function.other != none ? Type::Code : argument();
    default:
        return argument();
    }
}

std::vector<Type> Program::row_types() const {
    const Pipeline &p = main();
    const Index delivered = p.order.count > 0 || p.windows.count > 0 ? p.result_keys : p.payload.count;
    std::vector<Type> types;
    for (Index c = 0; c < delivered; ++c)
        types.push_back(exprs[lists[p.payload.first + c]].type);
    for (Index f = 0; f < p.window_functions.count; ++f)
        types.push_back(window_type(window_functions[p.window_functions.first + f]));
    return types;
}

// The constant's number; absent, NULL and negative ones count as `absent`: PostgreSQL raises its error before it asks for a row.
static uint64_t number_of(const Program &program, ir::Index constant, uint64_t absent) {
    if (constant == ir::none || program.constants[constant].null)
        return absent;
    const int64_t value = static_cast<int64_t>(program.constants[constant].low);
    return value < 0 ? absent : static_cast<uint64_t>(value);
}

uint64_t Program::wanted() const {
    const uint64_t top = number_of(*this, main().top, UINT64_MAX);
    return top == UINT64_MAX ? top : top + number_of(*this, main().top_offset, 0);
}

bool Program::counts_distinct() const {
    const Pipeline &p = main();
    return p.sink == SinkKind::Aggregate && p.distincts.count > 0 && p.sets.count == 1 &&
           sets[p.sets.first].keys == (uint64_t(1) << p.result_keys) - 1;
}

Program parse_program(const void *bytes, size_t size) {
    ProgramHeader header;
    require(size >= sizeof(header), "truncated");
    memcpy(&header, bytes, sizeof(header));
    require(header.magic == ProgramHeader::expected_magic, "wrong magic number");
    size_t start = aligned(sizeof(header));
    require(size >= start, "truncated");
    Reader reader{static_cast<const char *>(bytes) + start, size - start};
    Program program;
    reader.array(program.exprs, header.exprs);
    reader.array(program.constants, header.constants);
    reader.array(program.lookups, header.lookups);
    reader.array(program.sources, header.sources);
    reader.array(program.source_columns, header.source_columns);
    reader.array(program.conjuncts, header.conjuncts);
    reader.array(program.joins, header.joins);
    reader.array(program.lists, header.lists);
    reader.array(program.aggregates, header.aggregates);
    reader.array(program.pipelines, header.pipelines);
    reader.array(program.sets, header.sets);
    reader.array(program.distincts, header.distincts);
    reader.array(program.orders, header.orders);
    reader.array(program.windows, header.windows);
    reader.array(program.window_functions, header.window_functions);
    reader.array(program.ordered_sets, header.ordered_sets);
    Checker(program).check();
    return program;
}

std::string serialize_program(const Program &p) {
    ProgramHeader header;
    header.exprs = static_cast<uint32_t>(p.exprs.size());
    header.constants = static_cast<uint32_t>(p.constants.size());
    header.lookups = static_cast<uint32_t>(p.lookups.size());
    header.sources = static_cast<uint32_t>(p.sources.size());
    header.source_columns = static_cast<uint32_t>(p.source_columns.size());
    header.conjuncts = static_cast<uint32_t>(p.conjuncts.size());
    header.joins = static_cast<uint32_t>(p.joins.size());
    header.lists = static_cast<uint32_t>(p.lists.size());
    header.aggregates = static_cast<uint32_t>(p.aggregates.size());
    header.pipelines = static_cast<uint32_t>(p.pipelines.size());
    header.sets = static_cast<uint32_t>(p.sets.size());
    header.distincts = static_cast<uint32_t>(p.distincts.size());
    header.orders = static_cast<uint32_t>(p.orders.size());
    header.windows = static_cast<uint32_t>(p.windows.size());
    header.window_functions = static_cast<uint32_t>(p.window_functions.size());
    header.ordered_sets = static_cast<uint32_t>(p.ordered_sets.size());
    std::string out(reinterpret_cast<const char *>(&header), sizeof(header));
    out.resize(aligned(out.size()), '\0');
    write_array(out, p.exprs);
    write_array(out, p.constants);
    write_array(out, p.lookups);
    write_array(out, p.sources);
    write_array(out, p.source_columns);
    write_array(out, p.conjuncts);
    write_array(out, p.joins);
    write_array(out, p.lists);
    write_array(out, p.aggregates);
    write_array(out, p.pipelines);
    write_array(out, p.sets);
    write_array(out, p.distincts);
    write_array(out, p.orders);
    write_array(out, p.windows);
    write_array(out, p.window_functions);
    write_array(out, p.ordered_sets);
    return out;
}

} // namespace gpuscan
