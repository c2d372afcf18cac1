// The code generator without a GPU: every kernel must compile with NVRTC for all architectures we support. Where NVRTC
// is missing, generating must still work and the compilation is skipped.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "cuda/prepared_kernels.hpp"
#include "engine/codegen/codegen.hpp"
#include "engine/device.hpp"
#include "program_builder.hpp"

namespace gpuscan {
namespace {

using namespace ir;
using codegen::GroupingKind;
using codegen::Kernel;
using codegen::Request;
using codegen::SumKind;
using codegen::TableKind;
using codegen::TableShape;
using codegen::TableWords;
using test::ProgramBuilder;

class CodegenTest : public ::testing::Test {
  protected:
    static std::shared_ptr<cuda::Compiler> compiler() {
        static std::shared_ptr<cuda::Compiler> instance = [] {
            try {
                return std::make_shared<cuda::Compiler>(cuda::Nvrtc::open());
            } catch (const DeviceError &) {
                return std::shared_ptr<cuda::Compiler>();
            }
        }();
        return instance;
    }

    // GPUSCAN_TEST_ARCHS=all compiles for every architecture; one is enough day by day.
    static std::vector<int> architectures() {
        const char *wish = getenv("GPUSCAN_TEST_ARCHS");
        return wish ? std::vector<int>{75, 80, 90} : std::vector<int>{90};
    }

    static void compile(const std::string &source, bool everywhere = true) {
        if (!compiler())
            GTEST_SKIP() << "NVRTC is not installed";
        static const cuda::HeaderParts parts;
        for (int architecture : architectures()) {
            if (!everywhere && architecture != architectures().front())
                break;
            try {
                // With the parts of the headers that it uses alone: Compiler::compile would try all of them next.
                const std::vector<std::string> headers = parts.used_by(source);
                EXPECT_GT(compiler()->compile_with(headers, source, architecture, false).size(), 100u);
                if (everywhere) { // less text, as first executions have it
                    EXPECT_GT(compiler()->compile_with(headers, source, architecture, true).size(), 100u);
                }
            } catch (const DeviceError &error) {
                ADD_FAILURE() << error.what() << "\n" << source;
                return;
            }
        }
    }

    // What is generated, and that those who have it prepared get the same: all requests of these tests stand side by side.
    static Kernel generated(const Request &request) {
        static cuda::PreparedKernels prepared(nullptr);
        const Kernel kernel = codegen::generate(request);
        const std::string shape = cuda::PreparedKernels::shape_of(*request.program);
        for (int i = 0; i < 2; ++i) {
            const Kernel same = prepared.generate(shape, request);
            EXPECT_EQ(same.source, kernel.source);
            EXPECT_EQ(same.words, kernel.words);
        }
        return kernel;
    }

    static void compile_all(const Program &program, const std::vector<TableShape> &tables, bool nulls,
                            codegen::GroupShape group, bool everywhere = true) {
        Request request;
        request.program = &program;
        request.pipeline = static_cast<Index>(program.pipelines.size() - 1);
        const Pipeline &main = program.main();
        for (Index c = 0; c < program.sources[main.source].columns.count; ++c)
            request.source_nullable.push_back(nulls);
        request.lookup_nullable.assign(program.lookups.size(), nulls);
        for (Index k = 0; k < main.joins.count; ++k)
            request.tables.push_back(&tables[k]);
        if (main.keys.count == 0)
            group.grouping = GroupingKind::None;
        for (Index i = 0; i < main.aggregates.count; ++i) {
            const Aggregate &a = program.aggregates[main.aggregates.first + i];
            SumKind kind = SumKind::Narrow;
            if (a.arg != none) {
                const Type type = program.exprs[a.arg].type;
                kind = type == Type::F64    ? SumKind::Double
                       : type == Type::I128 ? SumKind::Digits
                       : type == Type::I64  ? SumKind::Halves
                                            : SumKind::Narrow;
            }
            group.sums.push_back(kind);
        }
        request.group = group;
        parse_program(serialize_program(program).data(), serialize_program(program).size());
        compile(generated(request).source, everywhere);
    }
};

const Type all_types[] = {Type::Bool, Type::I16, Type::I32, Type::I64, Type::I128, Type::F32, Type::F64, Type::Code};

// Every aggregate of every type, with and without groups of every kind.
void all_aggregates(ProgramBuilder &b, std::vector<ProgramBuilder::AggregateSpec> &aggregates) {
    aggregates.push_back({AggregateKind::CountRows, none});
    for (Index i = 0; i < 8; ++i) {
        const Type type = all_types[i];
        const Index column = b.column(type, 0, i);
        aggregates.push_back({AggregateKind::Count, column});
        if (is_integer(type) || type == Type::F64)
            aggregates.push_back({AggregateKind::Sum, column});
        if (type == Type::F64)
            aggregates.push_back({AggregateKind::LongSum, column});
        if (is_integer(type) && type != Type::I128)
            for (AggregateKind kind : {AggregateKind::BitAnd, AggregateKind::BitOr, AggregateKind::BitXor})
                aggregates.push_back({kind, column});
        aggregates.push_back({AggregateKind::Min, column});
        aggregates.push_back({AggregateKind::Max, column});
    }
}

std::vector<SourceColumn> all_columns() {
    std::vector<SourceColumn> columns;
    for (Type type : all_types) {
        SourceColumn c{};
        c.type = type;
        columns.push_back(c);
    }
    return columns;
}

TEST_F(CodegenTest, EveryAggregateOfEveryType) {
    for (GroupingKind grouping :
         {GroupingKind::None, GroupingKind::Shared, GroupingKind::Dense, GroupingKind::Hash, GroupingKind::Wide}) {
        for (bool nulls : {false, true}) {
            ProgramBuilder b;
            const Index s = b.source(all_columns());
            std::vector<ProgramBuilder::AggregateSpec> aggregates;
            all_aggregates(b, aggregates);
            std::vector<Index> keys;
            if (grouping == GroupingKind::Wide)
                for (Index i = 0; i < 8; ++i)
                    keys.push_back(b.column(all_types[i], 0, i));
            else if (grouping != GroupingKind::None)
                keys = {b.column(Type::I32, 0, 2), b.column(Type::Bool, 0, 0), b.column(Type::I16, 0, 1)};
            b.aggregate(s, {}, {}, keys, aggregates);
            codegen::GroupShape group;
            group.grouping = grouping;
            group.copies = 4;
            compile_all(b.program, {}, nulls, group);
        }
    }
}

TEST_F(CodegenTest, EveryOperator) {
    for (bool nulls : {false, true}) {
        ProgramBuilder b;
        const Index s = b.source(all_columns());
        std::vector<ProgramBuilder::ConjunctSpec> conjuncts;
        for (Index i = 0; i < 8; ++i) {
            const Type type = all_types[i];
            const Index x = b.column(type, 0, i);
            const Index c = b.constant(type, 1);
            const Index null = b.constant(type, 0, true);
            Index y = x;
            if (is_integer(type) || is_float(type)) {
                for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div})
                    y = b.expr(op, type, y, c);
                if (is_integer(type))
                    y = b.expr(Op::Mod, type, y, c);
                y = b.expr(Op::Neg, type, y);
                for (Type to : all_types)
                    if (is_integer(to) || is_float(to)) {
                        const Index cast = b.expr(Op::Cast, to, y);
                        y = b.expr(Op::Cast, type, cast);
                    }
            }
            const Index condition = b.compare(Op::Eq, y, c);
            const Index chosen = b.expr(Op::Case, type, condition, y, null);
            const Index filled = b.expr(Op::Coalesce, type, chosen, y);
            const Index plain = b.expr(Op::Coalesce, type, x, c);
            for (Op op : {Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge}) {
                if (type == Type::Code && op != Op::Eq && op != Op::Ne)
                    continue;
                const Index left = b.compare(op, filled, x);
                const Index right = b.compare(op, plain, c);
                const Index both = b.expr(Op::And, Type::Bool, right, left);
                const Index any = b.expr(Op::Or, Type::Bool, both, right);
                const Index eager = b.expr(Op::And, Type::Bool, right, right);
                const Index inverse = b.expr(Op::Not, Type::Bool, any);
                const Index is_true = b.expr(Op::IsTrue, Type::Bool, inverse);
                const Index is_null = b.expr(Op::IsNull, Type::Bool, filled);
                const Index is_not_null = b.expr(Op::IsNotNull, Type::Bool, plain);
                conjuncts.push_back({b.expr(Op::Or, Type::Bool, is_true, is_null)});
                conjuncts.push_back({b.expr(Op::Or, Type::Bool, is_not_null, eager)});
            }
        }
        for (Type type : {Type::Bool, Type::I32, Type::I64, Type::F64, Type::Code}) {
            const Index code = b.column(Type::Code, 0, 7);
            conjuncts.push_back({b.expr(Op::IsNotNull, Type::Bool, b.lookup(type, s, 7, code))});
        }
        conjuncts.push_back({b.lookup(Type::Bool, s, 7, b.column(Type::Code, 0, 7))});
        const Index bounded =
            b.expr(Op::Call, Type::F64, b.column(Type::F64, 0, 6), none, static_cast<Index>(Function::Bounded));
        const Index truth = b.expr(Op::Cast, Type::I32, b.column(Type::Bool, 0, 0));
        b.aggregate(s, conjuncts, {}, {}, {{AggregateKind::Sum, bounded}, {AggregateKind::Max, truth}});
        compile_all(b.program, {}, nulls, {});
    }
}

// However many variables there are, none hides a type's name (i128 did, as the index of a lookup). The padding has each kind of
// variable at each number.
TEST_F(CodegenTest, ManyVariables) {
    for (int padding = 0; padding < 4; ++padding) {
        ProgramBuilder b;
        const Index s = b.source(all_columns());
        const Index code = b.column(Type::Code, 0, 7);
        Index flag = b.column(Type::Bool, 0, 0);
        for (int i = 0; i < padding; ++i)
            flag = b.expr(Op::Not, Type::Bool, flag);
        Index sum = b.column(Type::I128, 0, 4);
        for (int i = 0; i < 70; ++i) {
            const Index value = b.lookup(Type::I64, s, 7, code);
            sum = b.expr(Op::Add, Type::I128, sum, b.expr(Op::Cast, Type::I128, value));
        }
        b.aggregate(s, {{flag}}, {}, {}, {{AggregateKind::Sum, sum}});
        compile_all(b.program, {}, padding % 2 != 0, {}, false);
    }
}

// The calendar in one kernel is long; what it does on other architectures than the first is no other C++.
TEST_F(CodegenTest, EveryFunction) {
    ProgramBuilder b;
    const Index s = b.source(all_columns());
    std::vector<ProgramBuilder::ConjunctSpec> conjuncts;
    for (Index f = 0; f < function_count; ++f) {
        const FunctionInfo &info = function_info(static_cast<Function>(f));
        const Index column = info.argument == Type::I32    ? 2
                             : info.argument == Type::I64  ? 3
                             : info.argument == Type::I128 ? 4
                                                           : 6;
        const Index x = b.column(info.argument, 0, column);
        const Index y = b.expr(Op::Call, info.result, x, info.arguments == 2 ? x : none, f);
        conjuncts.push_back({b.expr(Op::Ge, Type::Bool, y, y)});
    }
    b.aggregate(s, conjuncts, {}, {}, {{AggregateKind::CountRows, none}});
    compile_all(b.program, {}, true, {}, false);
}

// Zero to four joins with every form of table, in the main pipeline and in a build.
TEST_F(CodegenTest, Joins) {
    std::mt19937 random(7);
    for (int joins = 0; joins <= 4; ++joins) {
        for (int variant = 0; variant < 3; ++variant) {
            ProgramBuilder b;
            const Index s = b.source(all_columns());
            const Index d = b.source(all_columns());
            const std::vector<Type> key_types[] = {
                {Type::I32}, {Type::I64}, {Type::Code, Type::I16}, {Type::I128, Type::Bool, Type::I32, Type::I64}};
            const std::vector<Type> payload_types = {Type::Bool, Type::I16, Type::I32, Type::Code, Type::I64};
            const std::vector<Type> wide_types = {Type::F32, Type::F64, Type::I128, Type::Code};
            std::vector<TableShape> shapes;
            std::vector<ProgramBuilder::JoinSpec> specs;
            std::vector<Index> keys;
            std::vector<ProgramBuilder::AggregateSpec> aggregates{{AggregateKind::CountRows, none}};
            std::vector<ProgramBuilder::ConjunctSpec> conjuncts;
            for (int j = 0; j < joins; ++j) {
                TableShape shape;
                shape.kind = static_cast<TableKind>((variant + j) % 3);
                shape.keys = key_types[shape.kind == TableKind::Hash ? random() % 4 : random() % 3];
                shape.payload = shape.kind == TableKind::Packed ? payload_types : wide_types;
                shape.unique = shape.kind == TableKind::Packed || random() % 2;
                shape.entry_bytes = static_cast<uint8_t>(1 << random() % 4);
                shape.exact_tag = shape.kind == TableKind::Hash && shape.keys.size() == 1 && shape.keys[0] == Type::I32;
                shape.payload_nullable.assign(shape.payload.size(), variant % 2);
                std::vector<Index> build_keys, build_payload, probe_keys;
                for (Type type : shape.keys) {
                    const Index at = static_cast<Index>(type);
                    build_keys.push_back(b.column(type, 0, at));
                    probe_keys.push_back(b.column(type, 0, at));
                }
                for (Type type : shape.payload)
                    build_payload.push_back(b.column(type, 0, static_cast<Index>(type)));
                const Index build = b.build(d, {}, {}, build_keys, build_payload);
                specs.push_back({build, probe_keys, random() % 3 == 0 ? JoinKind::Left : JoinKind::Inner});
                for (Index p = 0; p < shape.payload.size(); ++p)
                    if (shape.payload[p] == Type::Code || shape.payload[p] == Type::I16)
                        keys.push_back(b.column(shape.payload[p], static_cast<Index>(j + 1), p));
                    else
                        aggregates.push_back(
                            {AggregateKind::Count, b.column(shape.payload[p], static_cast<Index>(j + 1), p)});
                const Index last = static_cast<Index>(shape.payload.size() - 1);
                const Index payload = b.column(shape.payload[last], static_cast<Index>(j + 1), last);
                const Index zero = b.constant(shape.payload[last], 0);
                conjuncts.push_back({b.compare(Op::Ne, payload, zero), static_cast<Index>(j + 1)});
                shapes.push_back(shape);
            }
            b.aggregate(s, conjuncts, specs, keys, aggregates);
            codegen::GroupShape group;
            group.grouping =
                std::vector<GroupingKind>{GroupingKind::Shared, GroupingKind::Dense, GroupingKind::Hash}[random() % 3];
            compile_all(b.program, shapes, variant % 2, group);
        }
    }
}

// Searches stand where the table has its rows in order, for the bounds that it has; else every row is looked at.
TEST_F(CodegenTest, IntervalJoins) {
    for (const JoinKind kind : {JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti, JoinKind::Full})
        for (int bounds = 0; bounds < 4; ++bounds) {
            ProgramBuilder b;
            const Index s = b.source(all_columns()), d = b.source(all_columns());
            const Index build = b.build(d, {}, {}, {}, {b.column(Type::I32, 0, 2), b.column(Type::I32, 0, 2)});
            const Index x = b.column(Type::I32, 0, 2);
            const Index low = b.compare(Op::Lt, b.column(Type::I32, 1, 0), x),
                        high = b.compare(Op::Le, x, b.column(Type::I32, 1, 1));
            ProgramBuilder::JoinSpec join{build, {}, kind};
            std::vector<ProgramBuilder::ConjunctSpec> conjuncts;
            if (kind == JoinKind::Inner)
                conjuncts = {{low, 1}, {high, 1}};
            else
                join.filters = {low, high};
            b.aggregate(s, conjuncts, {join}, {}, {{AggregateKind::CountRows, none}});
            TableShape shape;
            shape.kind = TableKind::Rows;
            shape.payload = {Type::I32, Type::I32};
            shape.payload_nullable = {1, 0};
            shape.by_low = bounds & 1;
            shape.by_reach = bounds & 2;
            Request request;
            request.program = &b.program;
            request.pipeline = 1;
            request.source_nullable.assign(8, bounds == 3);
            request.tables = {&shape};
            request.group.grouping = GroupingKind::None;
            request.group.sums = {SumKind::Narrow};
            const Kernel kernel = generated(request);
            EXPECT_EQ(shape.by_low, kernel.source.find("rows_begun<true>(") != std::string::npos);
            EXPECT_EQ(shape.by_reach, kernel.source.find("rows_reaching<false>(") != std::string::npos);
            EXPECT_EQ(TableWords::count(shape), TableWords::payload(0, 2) + (bounds == 0 ? 0 : 2));
            compile(kernel.source, bounds == 3);
        }
}

// An error in a value that is only tried is no row's.
TEST_F(CodegenTest, TriedPayload) {
    for (const Index tried : {Index(0), Index(1)}) {
        ProgramBuilder b;
        const Index s = b.source(all_columns()), x = b.column(Type::I32, 0, 2);
        b.build(s, {}, {}, {}, {x, b.expr(Op::Add, Type::I32, x, b.constant(Type::I32, 5))});
        Request request;
        request.program = &b.program;
        request.source_nullable.assign(8, 1);
        request.tried = tried;
        const Kernel kernel = generated(request);
        EXPECT_EQ(tried == 1, kernel.source.find("flags |= status_no_bound") != std::string::npos);
        compile(kernel.source);
    }
}

TEST_F(CodegenTest, BuildOfEveryType) {
    for (bool nulls : {false, true}) {
        ProgramBuilder b;
        const Index s = b.source(all_columns());
        std::vector<Index> payload;
        for (Index i = 0; i < 8; ++i)
            payload.push_back(b.column(all_types[i], 0, i));
        b.build(s, {{b.compare(Op::Ge, b.column(Type::I32, 0, 2), b.constant(Type::I32, 5))}}, {},
                {b.column(Type::I32, 0, 2), b.column(Type::I128, 0, 4)}, payload);
        Request request;
        request.program = &b.program;
        request.source_nullable.assign(8, nulls);
        const Kernel kernel = generated(request);
        EXPECT_EQ(kernel.payload_nullable.size(), 8u);
        EXPECT_EQ(kernel.payload_nullable[0], nulls);
        compile(kernel.source);
    }
}

// Rows of every type: cached, too wide for a cache, behind joins with and without duplicates, with a limit.
TEST_F(CodegenTest, RowsOfEveryType) {
    TableShape shape;
    shape.kind = TableKind::Rows;
    shape.keys = {Type::I32};
    shape.payload = {Type::F64, Type::I128, Type::Bool};
    for (int variant = 0; variant < 6; ++variant) {
        const bool nulls = variant % 2;
        shape.unique = variant < 3;
        shape.payload_nullable.assign(shape.payload.size(), nulls);
        ProgramBuilder b;
        const Index s = b.source(all_columns()), d = b.source(all_columns());
        const Index build =
            b.build(d, {}, {}, {b.column(Type::I32, 0, 2)},
                    {b.column(Type::F64, 0, 6), b.column(Type::I128, 0, 4), b.column(Type::Bool, 0, 0)});
        std::vector<Index> outputs = {b.column(Type::F64, 1, 0), b.column(Type::I128, 1, 1),
                                      b.column(Type::Bool, 1, 2)};
        for (int copies = variant == 5 ? 8 : 1; copies > 0; --copies)
            for (Index i = 0; i < 8; ++i)
                outputs.push_back(b.column(all_types[i], 0, i));
        if (variant == 0 || variant == 3)
            outputs.resize(1);
        b.rows(s, {{b.compare(Op::Ge, b.column(Type::I32, 0, 2), b.constant(Type::I32, 5))}},
               {{build, {b.column(Type::I32, 0, 2)}}}, outputs, variant % 3 == 2 ? 10 : 0);
        Request request;
        request.program = &b.program;
        request.pipeline = 1;
        request.source_nullable.assign(8, nulls);
        request.tables = {&shape};
        const Kernel kernel = generated(request);
        EXPECT_EQ(kernel.payload_nullable, std::vector<uint8_t>(outputs.size(), nulls));
        EXPECT_EQ(kernel.cached_rows, variant == 5 ? 0u : kernel.cached_rows / 32 * 32);
        EXPECT_EQ(kernel.limit != 0, variant % 3 == 2);
        compile(kernel.source);
        request.row_cache = false;
        const Kernel plain = generated(request);
        EXPECT_EQ(plain.cached_rows, 0u);
        compile(plain.source);
    }
}

// The kernels that no query changes.
TEST_F(CodegenTest, FixedKernels) {
    compile("#include \"device/tables.cuh\"\n#include \"device/gather_groups.cuh\"\n");
    compile("#include \"device/decode.cuh\"\n");
}

// Other constants, the same text.
TEST_F(CodegenTest, ConstantsAreNotInTheText) {
    std::string texts[2], shapes[2];
    for (int i = 0; i < 2; ++i) {
        ProgramBuilder b;
        SourceColumn c{};
        c.type = Type::I64;
        const Index s = b.source({c});
        b.aggregate(s, {{b.compare(Op::Lt, b.column(Type::I64, 0, 0), b.constant(Type::I64, 17 + 1000 * i))}}, {}, {},
                    {{AggregateKind::CountRows, none}});
        Request request;
        request.program = &b.program;
        request.source_nullable = {0};
        request.group.sums = {SumKind::Narrow};
        texts[i] = generated(request).source;
        shapes[i] = cuda::PreparedKernels::shape_of(b.program);
    }
    EXPECT_EQ(texts[0], texts[1]);
    EXPECT_EQ(shapes[0], shapes[1]);
}

} // namespace
} // namespace gpuscan
