// Groups that stay in device memory as columns of the next program, against those that the host makes of the same groups; skipped
// where there is no GPU.
//
// GPUSCAN_TEST_SEEDS sets how many random programs are run.
#include <algorithm>
#include <cmath>
#include <map>

#include "cuda_fixture.hpp"
#include "engine/result/stage_rows.hpp"
#include "grouping_cases.hpp"
#include "random_cases.hpp"

namespace gpuscan {
namespace {

using namespace reference;
using test::shared;

class CudaGroupColumnsTest : public test::CudaTest {
  protected:
    void SetUp() override {
        test::CudaTest::SetUp();
        if (!shared().device)
            return;
        GroupTuning tuning;
        tuning.few_groups = 0;
        shared().device->tune_groups(tuning);
    }

    // Every field that a group of the program has.
    static std::vector<StageColumn> fields_of(const Program &program) {
        std::vector<StageColumn> fields;
        const Pipeline &main = program.main();
        for (Index k = 0; k < main.keys.count; ++k)
            fields.push_back({GroupField::Key, program.exprs[program.lists[main.keys.first + k]].type, 0, 0, k});
        for (Index a = 0; a < main.aggregates.count; ++a) {
            const Aggregate &aggregate = program.aggregates[main.aggregates.first + a];
            fields.push_back({GroupField::Count, Type::I64, 0, 0, a});
            if (aggregate.arg == none || aggregate.kind == AggregateKind::Count ||
                aggregate.kind == AggregateKind::LongSum)
                continue;
            const Type type = program.exprs[aggregate.arg].type;
            const bool sum = aggregate.kind == AggregateKind::Sum;
            fields.push_back({GroupField::Value, sum && !is_float(type) ? Type::I128 : type, 0, 0, a});
            if (sum && type == Type::F64)
                fields.push_back({GroupField::Average, Type::F64, 0, 0, a});
        }
        return fields;
    }

    // The values of a row, each as text; "" is NULL.
    static std::string text_of(Type type, const uint8_t *values, const uint8_t *nulls, size_t row) {
        if (nulls != nullptr && nulls[row] != 0)
            return "";
        std::string out;
        with_type(type, [&](auto value) {
            memcpy(&value, values + row * sizeof value, sizeof value);
            if constexpr (std::is_floating_point_v<decltype(value)>) {
                char text[64]; // (sums differ in their last digits by the order in which they are added up)
                snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
                out = value != value ? "nan" : text;
            } else {
                out = text(static_cast<int128>(value));
            }
        });
        return out;
    }
    using Rows = std::multimap<std::vector<std::string>, std::vector<std::string>>; // by keys

    static Rows rows_of(const std::vector<StageColumn> &fields, size_t nrows,
                        const std::function<std::string(size_t column, size_t row)> &cell) {
        Rows rows;
        for (size_t row = 0; row < nrows; ++row) {
            std::vector<std::string> keys, others;
            for (size_t c = 0; c < fields.size(); ++c)
                (fields[c].field == GroupField::Key ? keys : others).push_back(cell(c, row));
            rows.emplace(std::move(keys), std::move(others));
        }
        return rows;
    }

    // Are they the same? Returns how many groups came from device memory.
    static size_t check_columns(Case c) {
        c.passes = 1;
        const Program &program = c.program;
        if (program.main().sink != SinkKind::Aggregate || program.main().sets.count > 0 ||
            program.main().ordered_sets.count > 0 || has_unmatched(program))
            return 0;
        const std::vector<StageColumn> fields = fields_of(program);
        std::vector<std::shared_ptr<Dictionary>> dictionaries;
        for (const StageColumn &field : fields)
            dictionaries.push_back(field.type == Type::Code ? std::make_shared<Dictionary>(10, 1000) : nullptr);
        StageRows host(program, fields, dictionaries, nullptr);
        DeviceRows rows;
        RowTable copied;
        bool host_fails = false, done = false;
        try {
            auto execution = start_on(device(), c, nullptr);
            each_pass(device(), c, [&](const std::vector<ChunkView> &views) {
                host.add(execution->start_aggregate(views), nullptr);
                while (execution->groups_left() > 0)
                    host.add(execution->more_groups(), nullptr);
            });
        } catch (const DeviceError &) {
            host_fails = true;
        }
        try {
            auto execution = start_on(device(), c, nullptr);
            each_pass(device(), c, [&](const std::vector<ChunkView> &views) {
                const GroupTable first = execution->start_aggregate(views);
                done = first.ngroups == 0 && execution->groups_left() > 0 && execution->group_columns(fields, rows);
                if (done)
                    copied = execution->copy_rows(rows, 0, rows.nrows);
            });
        } catch (const DeviceError &) {
            EXPECT_TRUE(host_fails);
            return 0;
        }
        if (!done)
            return 0;
        EXPECT_FALSE(host_fails);
        EXPECT_EQ(host.nrows(), rows.nrows);
        const auto of_host = [&](size_t c, size_t row) {
            const StageRows::Column &column = host.columns()[c];
            return text_of(column.type, column.values.data(), column.nulls.data(), row);
        };
        const auto of_device = [&](size_t c, size_t row) {
            const RowBlock::Column &column = copied.blocks[0].columns[c];
            return text_of(fields[c].type, column.values, column.nulls, row);
        };
        EXPECT_EQ(rows_of(fields, host.nrows(), of_host), rows_of(fields, rows.nrows, of_device));
        for (size_t c = 0; c < fields.size(); ++c) {
            const ColumnStats &stats = rows.columns[c].stats, &exact = host.columns()[c].stats;
            EXPECT_TRUE(stats.any_null || !exact.any_null);
            if (!is_float(fields[c].type) && exact.any_value && !exact.any_wide) {
                EXPECT_TRUE(stats.any_wide || (stats.min <= exact.min && stats.max >= exact.max));
            }
        }
        return rows.nrows;
    }
};

TEST_F(CudaGroupColumnsTest, RandomPrograms) {
    const char *wish = getenv("GPUSCAN_TEST_SEEDS");
    const uint64_t seeds = wish ? static_cast<uint64_t>(atoll(wish)) : 200;
    GroupTuning tuning;
    tuning.few_groups = 0;
    tuning.dense_bytes = tuning.block_bytes = tuning.large_bytes =
        0; // (small tables come with the status of their kernel)
    shared().device->tune_groups(tuning);
    size_t groups = 0;
    for (uint64_t seed = 1; seed <= 6 + seeds / 5 && !HasFailure();
         ++seed) { // (one after the other, and each compiles)
        SCOPED_TRACE("seed " + std::to_string(seed));
        groups += check_columns(random_case(seed, seed % 4 == 0));
    }
    EXPECT_GT(groups, 0u);
}

// Keys of all types by number, by one word and by several; sums of all forms.
TEST_F(CudaGroupColumnsTest, WaysOfGrouping) {
    for (const bool dense : {true, false}) {
        GroupTuning tuning;
        tuning.few_groups = 0;
        if (!dense)
            tuning.dense_bytes = 0;
        shared().device->tune_groups(tuning);
        size_t groups = 0;
        for (const GroupingCase &c : grouping_cases()) {
            SCOPED_TRACE(c.name);
            groups += check_columns(c.program);
        }
        EXPECT_GT(groups, 0u);
    }
}

} // namespace
} // namespace gpuscan
