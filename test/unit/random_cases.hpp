// Random programs and data for the reference (reference.hpp) and the devices: joins of up to four tables, groups or rows, lookups,
// expressions of every operation.
#pragma once

#include <random>

#include "case_builder.hpp"
#include "reference.hpp"

namespace gpuscan::reference {

class Generator {
  public:
    // `wild`: values near the limits of their types too, so that most programs meet an error. `rows`: programs that
    // deliver rows.
    Generator(uint64_t seed, bool wild, bool rows) : random_(seed), wild_(wild), rows_(rows) {}

    Case make() {
        size_t njoins = pick(4);
        for (size_t j = 0; j < njoins; ++j)
            make_build(j);
        make_main(njoins);
        c_.program = b_.p;
        make_lookups();
        c_.passes = 1 + pick(2);
        return c_;
    }

  private:
    static constexpr int codes = 7; // entries of every dictionary

    std::mt19937_64 random_;
    bool wild_, rows_;
    Builder b_;
    Case c_;
    std::vector<Index> builds_; // pipelines

    size_t pick(size_t n) { return random_() % n; }
    bool chance(unsigned percent) { return pick(100) < percent; }

    Type any_type() { return static_cast<Type>(pick(type_count)); }
    Type key_type() {
        if (chance(60))
            return Type::I32;
        static const Type types[] = {Type::I32, Type::I32, Type::I64, Type::I16, Type::I128, Type::Bool, Type::Code};
        return types[pick(7)];
    }

    Datum random_value(Type type, bool may_be_null) {
        Datum v;
        v.null = may_be_null && chance(10);
        if (type == Type::Bool)
            v.i = static_cast<int>(pick(2));
        else if (type == Type::Code)
            v.i = static_cast<int>(pick(codes));
        else if (is_float(type))
            v.d = random_float(type);
        else
            v.i = random_integer(type);
        return v;
    }

    int128 random_integer(Type type) {
        int128 small = static_cast<int128>(pick(21)) - 10;
        if (!wild_ || !chance(5))
            return small;
        size_t width = type_width(type) * 8;
        int128 top = static_cast<int128>((static_cast<uint128>(1) << (width - 1)) - 1);
        return small < 0 ? -top - 1 + (small + 10) / 3 : top - small / 3;
    }

    double random_float(Type type) {
        if (chance(wild_ ? 10 : 3)) {
            static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e300, 1e-300, 2.5, 3.5, -0.5};
            double v = special[pick(wild_ ? 10 : 5)];
            return type == Type::F32 ? static_cast<double>(static_cast<float>(v)) : v;
        }
        return (static_cast<double>(pick(81)) - 40) / 4;
    }

    std::vector<Type> random_types(size_t n) {
        std::vector<Type> types(n);
        for (Type &t : types)
            t = chance(50) ? key_type() : any_type();
        types[0] = Type::I32; // so that joins find partners
        return types;
    }

    std::vector<Chunk> random_chunks(const std::vector<Type> &types, bool large) {
        static const uint32_t sizes[] = {0, 1, 31, 32, 33, 64, 100};
        static const uint32_t large_sizes[] = {1, 31, 32, 33, 1023, 1024, 1025, 2047, 2049};
        std::vector<Chunk> chunks(chance(6) ? 0 : 1 + pick(3));
        for (Chunk &chunk : chunks) {
            chunk.nrows = large ? large_sizes[pick(9)] : sizes[pick(7)];
            for (Type t : types) {
                bool nulls = chance(60);
                chunk.columns.emplace_back();
                for (uint32_t r = 0; r < chunk.nrows; ++r)
                    chunk.columns.back().push_back(random_value(t, nulls));
                chunk.ranged.push_back(chance(70));
                chunk.narrow.push_back(chance(60) ? static_cast<uint8_t>(1 + pick(3)) : 0);
            }
            if (chance(30))
                for (uint32_t r = 0; r < chunk.nrows; ++r)
                    chunk.mask.push_back(chance(80));
        }
        return chunks;
    }

    // Types of the columns that exist at each step of the pipeline under construction.
    std::vector<std::vector<Type>> steps_;
    Index source_ = none;

    // Expressions of this pipeline, no deeper than that: nodes are shared, in the same arm of a conditional and in others.
    struct Made {
        Type type;
        Index expr;
        size_t depth;
    };
    std::vector<Made> made_;

    Index expression(Type type, size_t depth) {
        if (depth > 0 && !made_.empty() && chance(20)) {
            const Made &known = made_[pick(made_.size())];
            if (known.type == type && known.depth <= depth)
                return known.expr;
        }
        const Index made = new_expression(type, depth);
        made_.push_back({type, made, depth});
        return made;
    }

    // What an integer is compared with, by every operator, on either side: that of a chain's arm.
    Index test_of_chain(Index x, Type type) {
        static const Op operators[] = {Op::Eq, Op::Eq, Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge};
        if (chance(5))
            return b_.unary(chance(50) ? Op::IsNull : Op::IsNotNull, Type::Bool, x);
        if (chance(15))
            return b_.unary(chance(50) ? Op::Not : Op::IsTrue, Type::Bool, test_of_chain(x, type));
        if (chance(20))
            return b_.binary(chance(50) ? Op::And : Op::Or, test_of_chain(x, type), test_of_chain(x, type));
        const Index bound = b_.constant(type, random_value(type, true));
        const bool first = chance(30);
        return b_.binary(operators[pick(8)], first ? bound : x, first ? x : bound);
    }

    // CASE with many arms by one integer, or many conditions on it: what the host answers by a table.
    Index chain(Type type, size_t depth) {
        static const Type integers[] = {Type::I16, Type::I32, Type::I64};
        const Type of = integers[pick(3)];
        const Index x = expression(of, chance(70) ? 0 : depth - 1);
        if (type == Type::Bool && chance(50)) {
            Index all = test_of_chain(x, of);
            for (size_t n = 16 + pick(30); n > 0; --n)
                all = b_.binary(chance(90) ? Op::Or : Op::And, all, test_of_chain(x, of));
            return all;
        }
        const bool constants = type != Type::Code && chance(60);
        Index node = expression(type, depth - 1);
        for (size_t n = 3 + pick(30); n > 0; --n) {
            const Index arm = constants && chance(90) ? b_.constant(type, random_value(type, true))
                                                      : expression(type, chance(70) ? 0 : depth - 1);
            node = b_.add({Op::Case, type, 0, test_of_chain(x, of), arm, node});
        }
        return node;
    }

    Index new_expression(Type type, size_t depth) {
        if (depth == 0 || chance(25))
            return leaf(type);
        if (chance(5))
            return chain(type, depth);
        if (chance(8))
            return b_.add({Op::Case, type, 0, expression(Type::Bool, depth - 1), expression(type, depth - 1),
                           expression(type, depth - 1)});
        if (chance(6))
            return b_.add({Op::Coalesce, type, 0, expression(type, depth - 1), expression(type, depth - 1), none});
        if (type == Type::Bool)
            return condition(depth);
        if (type == Type::Code)
            return leaf(type);
        if (chance(8)) { // the least or greatest of two
            const Index a = expression(type, depth - 1), b = expression(type, depth - 1);
            return b_.add({Op::Case, type, 0, b_.binary(chance(50) ? Op::Gt : Op::Lt, a, b), b, a});
        }
        if (type == Type::I64 && chance(8)) {
            Lookup l;
            l.type = type;
            b_.p.lookups.push_back(l);
            const Index table = static_cast<Index>(b_.p.lookups.size() - 1);
            return b_.add({Op::Lookup, type, 0,
                           b_.add({Op::Search, Type::Code, 0, expression(type, depth - 1), table, none}), table, none});
        }
        if (type == Type::F64 && chance(10))
            return b_.add(
                {Op::Call, type, 0, expression(type, depth - 1), none, static_cast<Index>(Function::Bounded)});
        if ((type == Type::I32 || type == Type::I64 || type == Type::F64) && chance(15))
            return call(type, depth);
        if (chance(25)) {
            static const Type from[] = {Type::I16, Type::I32, Type::I64, Type::I128, Type::F64, Type::F32, Type::Bool};
            Type t = from[pick(is_integer(type) ? 7 : 6)];
            return b_.unary(Op::Cast, type, expression(t, depth - 1));
        }
        if (chance(10))
            return b_.unary(Op::Neg, type, expression(type, depth - 1));
        static const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Mod};
        size_t op = pick(is_integer(type) ? 5 : 4);
        Index a = expression(type, depth - 1);
        // Division by a value that may be zero would make almost every program fail.
        Index b =
            op >= 3 && !wild_ ? b_.constant(type, 1 + static_cast<int64_t>(pick(5))) : expression(type, depth - 1);
        return b_.binary(ops[op], a, b);
    }

    // A function that cannot fail, unless errors are wanted.
    Index call(Type type, size_t depth) {
        for (;;) {
            const uint32_t function = static_cast<uint32_t>(pick(function_count));
            const FunctionInfo &f = function_info(static_cast<Function>(function));
            if (f.result != type || (f.raises && !wild_))
                continue;
            const Index a = expression(f.argument, depth - 1);
            const Index b = f.arguments == 2 ? expression(f.argument, depth - 1) : none;
            return b_.add({Op::Call, type, 0, a, b, function});
        }
    }

    Index condition(size_t depth) {
        switch (pick(8)) {
        case 0:
            return b_.binary(Op::And, expression(Type::Bool, depth - 1), expression(Type::Bool, depth - 1));
        case 1:
            return b_.binary(Op::Or, expression(Type::Bool, depth - 1), expression(Type::Bool, depth - 1));
        case 2:
            return b_.unary(Op::Not, Type::Bool, expression(Type::Bool, depth - 1));
        case 3:
            return b_.unary(Op::IsTrue, Type::Bool, expression(Type::Bool, depth - 1));
        case 4:
            return b_.unary(chance(50) ? Op::IsNull : Op::IsNotNull, Type::Bool, expression(any_type(), depth - 1));
        default: {
            Type t = any_type();
            Op op = static_cast<Op>(static_cast<int>(Op::Eq) + static_cast<int>(pick(t == Type::Code ? 2 : 6)));
            Index a = expression(t, depth - 1);
            return b_.binary(op, a, expression(t, depth - 1));
        }
        }
    }

    Index leaf(Type type) {
        std::vector<std::pair<Index, Index>> columns;
        std::vector<Index> code_columns;
        for (Index s = 0; s < steps_.size(); ++s)
            for (Index c = 0; c < steps_[s].size(); ++c) {
                if (steps_[s][c] == type)
                    columns.push_back({s, c});
                if (s == 0 && steps_[s][c] == Type::Code)
                    code_columns.push_back(c);
            }
        bool looked_up = type == Type::Bool || type == Type::I32 || type == Type::I64 || type == Type::F64;
        if (looked_up && !code_columns.empty() && chance(30)) {
            Index column = code_columns[pick(code_columns.size())];
            Lookup l;
            l.type = type;
            l.source = source_;
            l.column = column;
            b_.p.lookups.push_back(l);
            return b_.add({Op::Lookup, type, 0, b_.column(Type::Code, 0, column),
                           static_cast<Index>(b_.p.lookups.size() - 1), none});
        }
        if (!columns.empty() && chance(85)) {
            auto at = columns[pick(columns.size())];
            return b_.column(type, at.first, at.second);
        }
        return b_.constant(type, random_value(type, chance(20)));
    }

    void make_lookups() {
        for (const Lookup &l : c_.program.lookups) {
            LookupData data;
            bool nulls = chance(50);
            const int entries = l.source != none ? codes : 1 + static_cast<int>(pick(30));
            for (int i = 0; i < entries; ++i)
                data.entries.push_back(random_value(l.type, nulls && l.source != none));
            if (l.source == none)
                std::sort(data.entries.begin(), data.entries.end(),
                          [](const Datum &a, const Datum &b) { return a.i < b.i; });
            data.entries.push_back(random_value(l.type, nulls));
            c_.lookups.push_back(data);
        }
    }

    bool raises(Index root) const {
        bool any = raises_itself(b_.p.exprs.data(), b_.p.exprs[root]);
        for_each_operand(b_.p.exprs[root], [&](Index operand) { any = any || raises(operand); });
        return any;
    }

    Range filters(bool may_raise) {
        std::vector<Index> list;
        for (size_t i = 1 + pick(2); i > 0; --i) {
            Index e = expression(Type::Bool, 3);
            while (!may_raise && raises(e))
                e = expression(Type::Bool, 2);
            list.push_back(e);
        }
        return b_.list(list);
    }

    // Joins with tables already built, and conjuncts between them. A list of expressions may repeat itself.
    void make_steps(Pipeline &pipeline, size_t njoins) {
        std::vector<Conjunct> conjuncts;
        std::vector<Join> joins;
        bool listed = false; // there is a join without a key
        for (size_t j = 0;; ++j) {
            for (size_t i = chance(25) ? 1 + pick(2) : 0; i > 0; --i)
                conjuncts.push_back({expression(Type::Bool, 3), static_cast<Index>(j)});
            if (j == njoins || builds_.empty())
                break;
            Index build = builds_[pick(builds_.size())];
            while (listed && b_.p.pipelines[build].keys.count == 0 && j > 0 && build != builds_.front())
                --build;
            if (listed && b_.p.pipelines[build].keys.count == 0)
                break; // one of them multiplies rows enough
            const Pipeline table = b_.p.pipelines[build];
            std::vector<Index> keys;
            for (Index k = 0; k < table.keys.count; ++k)
                keys.push_back(expression(b_.type(b_.p.lists[table.keys.first + k]), chance(80) ? 0 : 2));
            static const JoinKind kinds[] = {JoinKind::Inner, JoinKind::Inner, JoinKind::Left, JoinKind::Semi,
                                             JoinKind::Anti,  JoinKind::Right, JoinKind::Full}; // those: not of a build
            Join join;
            join.build = build;
            join.keys = b_.list(keys);
            join.kind = kinds[pick(pipeline.sink == SinkKind::Build ? 5 : 7)];
            listed |= table.keys.count == 0;
            steps_.emplace_back();
            for (Index i = 0; i < table.payload.count; ++i)
                steps_.back().push_back(b_.type(b_.p.lists[table.payload.first + i]));
            const size_t known = made_.size();
            if (join.kind != JoinKind::Inner && chance(60))
                join.filters = filters(delivers_payload(join.kind));
            if (!delivers_payload(join.kind)) { // what filters see is gone
                steps_.back().clear();
                made_.resize(known);
            }
            joins.push_back(join);
        }
        pipeline.conjuncts = b_.conjuncts(conjuncts);
        pipeline.joins = b_.joins(joins);
    }

    void start(Pipeline &pipeline, bool large, bool tiny = false) {
        std::vector<Type> types = random_types(1 + pick(5));
        pipeline.source = source_ = b_.source(types);
        c_.sources.push_back(random_chunks(types, large));
        std::vector<Chunk> &chunks = c_.sources.back();
        while (tiny && !chunks.empty() && (chunks.size() > 1 || chunks[0].nrows > 33))
            chunks.pop_back();
        steps_.assign(1, types);
        made_.clear();
    }

    void make_build(size_t) {
        Pipeline pipeline;
        pipeline.sink = SinkKind::Build;
        const bool listed = chance(15); // no key
        start(pipeline, false, listed);
        make_steps(pipeline, pick(3) == 0 ? 1 : 0);
        std::vector<Index> keys, payload;
        for (size_t i = listed ? 0 : 1 + (chance(30) ? pick(3) : 0); i > 0; --i)
            keys.push_back(expression(key_type(), chance(80) ? 0 : 2));
        for (size_t i = pick(4); i > 0; --i)
            payload.push_back(expression(any_type(), chance(80) ? 0 : 2));
        pipeline.keys = b_.list(keys);
        pipeline.payload = b_.list(payload);
        builds_.push_back(static_cast<Index>(b_.p.pipelines.size()));
        b_.p.pipelines.push_back(pipeline);
    }

    Index row_number(size_t most) {
        Datum number;
        number.i = static_cast<int64_t>(pick(most));
        number.null = chance(5);
        b_.constant(Type::I64, number);
        return static_cast<Index>(b_.p.constants.size() - 1);
    }

    // Rows come in an order, and mostly only the first ones are wanted.
    void make_order(Pipeline &pipeline, const std::vector<Index> &payload) {
        pipeline.order.first = static_cast<Index>(b_.p.orders.size());
        for (size_t i = 1 + pick(3); i > 0 && !payload.empty(); --i) {
            OrderKey key;
            key.expr = payload[pick(payload.size())];
            key.descending = chance(50);
            key.nulls_first = chance(50);
            if (b_.type(key.expr) == Type::Code)
                continue; // codes have no order
            b_.p.orders.push_back(key);
            ++pipeline.order.count;
        }
        if (pipeline.order.count == 0)
            return;
        pipeline.result_keys = pipeline.payload.count;
        if (chance(20))
            return;
        pipeline.top = row_number(chance(80) ? 60 : 6000);
        if (chance(30))
            pipeline.top_offset = row_number(60);
        pipeline.ties = chance(30);
    }

    void make_main(size_t njoins) {
        Pipeline pipeline;
        start(pipeline, njoins < 2);
        make_steps(pipeline, njoins < 2 ? njoins : 1 + pick(2));
        std::vector<Index> keys;
        if (rows_) {
            for (size_t i = pick(8); i > 0; --i)
                keys.push_back(expression(any_type(), chance(60) ? 0 : 3));
            pipeline.sink = SinkKind::Rows;
            pipeline.payload = b_.list(keys);
            pipeline.limit = chance(25) ? 1 + pick(40) : 0;
            if (pipeline.limit == 0 && chance(60))
                make_order(pipeline, keys);
            b_.p.pipelines.push_back(pipeline);
            return;
        }
        for (size_t i = pick(4); i > 0; --i)
            keys.push_back(expression(any_type(), chance(80) ? 0 : 2));
        std::vector<Aggregate> aggregates;
        for (size_t i = 1 + pick(5); i > 0; --i) {
            AggregateKind kind = static_cast<AggregateKind>(pick(9));
            Type type = any_type();
            while ((kind == AggregateKind::LongSum && type != Type::F64) ||
                   (kind == AggregateKind::Sum && !is_integer(type) && type != Type::F64) ||
                   (is_bitwise(kind) && (!is_integer(type) || type == Type::I128)))
                type = any_type();
            aggregates.push_back(aggregate(kind, kind == AggregateKind::CountRows ? none : expression(type, pick(4))));
        }
        pipeline.keys = b_.list(keys);
        pipeline.aggregates = b_.aggregates(aggregates);
        b_.p.pipelines.push_back(pipeline);
    }
};

inline Case random_case(uint64_t seed, bool wild = false) { return Generator(seed, wild, false).make(); }
inline Case random_rows(uint64_t seed, bool wild = false) { return Generator(seed, wild, true).make(); }

} // namespace gpuscan::reference
