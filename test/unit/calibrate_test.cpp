// The calibrator's parts that need no server: weights, texts, what is known of plans, the file, the report, the judgement.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <string>

#include "../../bench/common/configurations.hpp"
#include "../../calibrate/checkpoint.hpp"
#include "../../calibrate/objective.hpp"
#include "../../calibrate/page.hpp"
#include "../../calibrate/parameters.hpp"
#include "../../calibrate/plan_cache.hpp"
#include "../../calibrate/report.hpp"
#include "../../calibrate/significance.hpp"
#include "../../calibrate/statements.hpp"
#include "../../calibrate/weights.hpp"
#include "../../calibrate/workload.hpp"

namespace calibrate {
namespace {

class Directory {
  public:
    Directory() {
        char name[] = "/tmp/calibrate_test.XXXXXX";
        path_ = mkdtemp(name);
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    std::string path(const std::string &name = "") const { return path_ + "/" + name; }
    void write(const std::string &name, const std::string &text) const { std::ofstream(path(name)) << text; }

  private:
    std::string path_;
};

// What `f` throws says.
template <typename Error, typename F> std::string message_of(F f) {
    try {
        f();
    } catch (const Error &e) {
        return e.what();
    }
    return "(nothing was thrown)";
}

TEST(CalibrateWeights, UnsetOnesAreWhatPostgreSQLHas) {
    std::map<std::string, double> settings = {{"seq_page_cost", 2},
                                              {"random_page_cost", 7},
                                              {"cpu_tuple_cost", 0.01},
                                              {"cpu_index_tuple_cost", 0.005},
                                              {"cpu_operator_cost", 0.0025}};
    for (const Weight &w : model_of("asymmetric").weights)
        settings.insert({w.setting, -1});
    settings["gpuscan.random_write_page_cost"] = 30;
    const auto value = [&](const std::string &name) { return settings.at(name); };
    EXPECT_EQ(resolve(model_of("asymmetric"), value), (Weights{2, 7, 2, 30, 7, 0.01, 0.005, 0.0025}));
    EXPECT_EQ(resolve(model_of("original"), value), (Weights{2, 7, 0.01, 0.005, 0.0025}));
    EXPECT_THROW(model_of("symmetric"), std::invalid_argument);
    EXPECT_THROW(model_of("original").index_of("gpuscan.seq_write_page_cost"), std::invalid_argument);
}

TEST(CalibrateWeights, AreWrittenAsTheyAreTried) {
    EXPECT_EQ(set_statements(model_of("original"), {1, 6.774051, 0.00121, 0.03658, 1.6e-5}),
              "SET seq_page_cost = 1; SET random_page_cost = 6.77405; SET cpu_tuple_cost = 0.00121; SET "
              "cpu_index_tuple_cost = 0.03658; "
              "SET cpu_operator_cost = 1.6e-05");
    EXPECT_EQ(rounded(rounded(M_PI * 1e-4)), rounded(M_PI * 1e-4));
}

std::vector<std::string> split(const std::string &sql) {
    std::vector<std::string> texts;
    for (const Statement &s : split_statements(sql))
        texts.push_back(s.text);
    return texts;
}

TEST(CalibrateStatements, EndAtSemicolonsOutsideOfQuotes) {
    using Texts = std::vector<std::string>;
    EXPECT_EQ(split("SELECT 1; SELECT 2"), (Texts{"SELECT 1", "SELECT 2"}));
    EXPECT_EQ(split("SELECT ';' , \";\" , 'it''s;' ;;\n ; SELECT 2;"),
              (Texts{"SELECT ';' , \";\" , 'it''s;'", "SELECT 2"}));
    EXPECT_EQ(split("SELECT E'\\';', E'a''\\';', e'\\\\';SELECT '\\';SELECT 3"),
              (Texts{"SELECT E'\\';', E'a''\\';', e'\\\\'", "SELECT '\\'", "SELECT 3"}));
    EXPECT_EQ(split("SELECT $$;$$, $a$ $b$ ; $a$, a$1; SELECT $1"),
              (Texts{"SELECT $$;$$, $a$ $b$ ; $a$, a$1", "SELECT $1"}));
    EXPECT_EQ(split("-- a; b\nSELECT 1 -- ; c\n, 2 /* ; /* ; */ ; */; /* nothing */ -- more"),
              (Texts{"SELECT 1 -- ; c\n, 2"}));
    EXPECT_EQ(split(""), Texts{});
    EXPECT_EQ(split(" ; -- nothing\n;"), Texts{});
}

TEST(CalibrateStatements, KnowTheirLines) {
    const auto statements = split_statements("-- first\n\nSELECT 1;\n SELECT 'é\n', a\nFROM t");
    ASSERT_EQ(statements.size(), 2u);
    EXPECT_EQ(statements[0].line, 3u);
    EXPECT_EQ(statements[1].line, 4u);
    EXPECT_EQ(line_at(statements[1], 1), 4u);
    EXPECT_EQ(line_at(statements[1], 14), 5u); // "a", the 14th character and the 15th byte
    EXPECT_EQ(line_at(statements[1], 16), 6u); // "FROM"
    EXPECT_EQ(line_at(statements[1], 1000), 6u);
}

TEST(CalibrateStatements, RefuseWhatHasNoEnd) {
    const auto error = [](const char *sql) { return message_of<StatementError>([&] { split_statements(sql); }); };
    EXPECT_EQ(error("SELECT 'a"), "unterminated quoted string");
    EXPECT_EQ(error("SELECT \"a"), "unterminated quoted name");
    EXPECT_EQ(error("SELECT $x$ $$"), "unterminated dollar-quoted string");
    EXPECT_EQ(error("/* /* */"), "unterminated comment");
    EXPECT_EQ(error("\\set a 1"), "psql's own commands (\\...) are not understood");
}

TEST(CalibrateParameters, AreFoundOutsideOfQuotes) {
    const std::string sql = "SELECT '$1', \"a$2\", a$3, $$ $4 $$ /* $5 */ -- $6\n, $7, $8::text FROM t WHERE x=$10";
    EXPECT_EQ(parameters_of(sql), (std::set<int>{7, 8, 10}));
    EXPECT_EQ(with_parameters("a = $1 AND b = $11 AND c = $1", {{1, "'x'"}}), "a = 'x' AND b = $11 AND c = 'x'");
}

TEST(CalibrateParameters, LiteralsWithATypeBecomeCasts) {
    EXPECT_EQ(with_casts("d < DATE $1 + interval $2 month"), "d < CAST($1 AS DATE ) + CAST($2 AS interval month)");
    EXPECT_EQ(with_casts("x = $1 AND update = $2"), "x = $1 AND update = $2");
    EXPECT_EQ(limits_of("SELECT 1 LIMIT $3 OFFSET $4"), std::set<int>{3});
    EXPECT_EQ(offsets_of("SELECT 1 LIMIT $3 OFFSET $4"), std::set<int>{4});
    EXPECT_EQ(limits_of("SELECT limits FETCH FIRST $2 ROWS ONLY"), std::set<int>{2});
}

std::string scan(const std::string &condition, const std::string &more = "") {
    return R"json([{"Plan": {"Node Type": "Limit", "Plans": [{"Node Type": "Seq Scan", "Relation Name": "Lines",
        "Schema": "shop", "Alias": "l", "Output": ["(l.a + $9)"], "Filter": ")json" +
           condition + "\"" + more + "}]}}]";
}

TEST(CalibrateParameters, AreUsedAsTheGenericPlanSays) {
    const ParameterUses u = uses_of(
        scan("((l.day >= $1) AND ($2 > l.day) AND ((l.kind)::text = $3) AND (l.n = ANY (ARRAY[$4, ($5)::bigint])) "
             "AND (l.price < ($6)::numeric) AND (l.\\\"Odd Name\\\" = $8))"));
    EXPECT_TRUE(u.unclear.empty());
    ASSERT_EQ(u.compared.size(), 7u);
    EXPECT_EQ(u.compared.at(1).schema + "." + u.compared.at(1).relation + "." + u.compared.at(1).column,
              "shop.Lines.day");
    EXPECT_EQ(u.compared.at(1).op, ">=");
    EXPECT_EQ(u.compared.at(2).op, "<");
    EXPECT_EQ(u.compared.at(3).column, "kind");
    EXPECT_EQ(u.compared.at(4).op, "=");
    EXPECT_EQ(u.compared.at(5).column, "n");
    EXPECT_EQ(u.compared.at(6).op, "<");
    EXPECT_EQ(u.compared.at(8).column, "Odd Name");
    EXPECT_EQ(u.schemas, std::set<std::string>{"shop"});
    EXPECT_FALSE(u.writes);
}

TEST(CalibrateParameters, WhatIsNotComparedWithAColumnIsUnclear) {
    EXPECT_EQ(uses_of(scan("(l.day <= ($1 - $2))")).unclear, (std::set<int>{1, 2}));
    EXPECT_EQ(uses_of(scan("((l.name)::text ~~ $1)")).unclear, std::set<int>{1});
    EXPECT_EQ(uses_of(scan("((l.n + 1) = $1)")).unclear, std::set<int>{1});
    EXPECT_EQ(uses_of(scan("(x.n = $1)")).unclear, std::set<int>{1}); // of no relation
    // As a result of another plan, up to PostgreSQL 16.
    const char *const returns =
        R"json(, "Plans": [{"Node Type": "Result", "Subplan Name": "InitPlan 1 (returns $1)"}])json";
    EXPECT_EQ(uses_of(scan("(l.n = $1)", returns)).unclear, std::set<int>{1});
    const ParameterUses twice = uses_of(scan("((l.n = $1) OR (l.name ~~ $1))"));
    EXPECT_EQ(twice.compared.count(1), 1u); // once is enough
    EXPECT_TRUE(twice.unclear.empty());
    EXPECT_TRUE(uses_of(R"([{"Plan": {"Node Type": "ModifyTable"}}])").writes);
    EXPECT_THROW(uses_of("none"), std::runtime_error);
}

TEST(CalibrateWorkload, IsADirectoryOrAFile) {
    const Directory d;
    d.write("q10.sql", "SELECT 10;");
    d.write("q2.sql", "SELECT 2; SELECT 3");
    d.write("readme.txt", "no query");
    const auto queries = read_workload(d.path());
    ASSERT_EQ(queries.size(), 3u);
    EXPECT_EQ(queries[0].name, "q2#1");
    EXPECT_EQ(queries[1].name, "q2#2");
    EXPECT_EQ(queries[2].name, "q10");
    EXPECT_EQ(read_workload(d.path("q10.sql")).at(0).statement.text, "SELECT 10");
}

TEST(CalibrateWorkload, SaysWhatIsWrong) {
    const Directory d;
    const auto error = [&](const std::string &path) { return message_of<WorkloadError>([&] { read_workload(path); }); };
    EXPECT_EQ(error(d.path("none")), "no workload: there is no file or directory " + d.path("none"));
    EXPECT_EQ(error(d.path()), "empty workload: no query in " + d.path() + "/*.sql");
    d.write("q.sql", "-- nothing\n");
    EXPECT_EQ(error(d.path("q.sql")), "empty workload: no query in " + d.path("q.sql"));
    d.write("q.sql", "SELECT 1;\nSELECT 'a");
    EXPECT_EQ(error(d.path("q.sql")), d.path("q.sql") + ":2: unterminated quoted string");
}

TEST(CalibratePlanCache, TimesAreMediansAndStoppedPlansHaveNone) {
    PlanCache cache(2);
    EXPECT_FALSE(cache.time(0, "a"));
    EXPECT_FALSE(cache.best(0));
    for (double ms : {30.0, 10.0, 12.0})
        cache.add({0, "a", Ending::finished, ms, "", ""});
    cache.add({0, "b", Ending::stopped, 5, "", ""});
    cache.add({0, "c", Ending::finished, 1, "", ""});
    cache.add({0, "c", Ending::failed, 1, "", "out of memory"});
    EXPECT_EQ(cache.time(0, "a"), 12);
    EXPECT_EQ(cache.samples(0, "a"), 3u);
    EXPECT_TRUE(std::isinf(*cache.time(0, "b"))); // its limit is no time
    EXPECT_TRUE(std::isinf(*cache.time(0, "c"))); // what failed once cannot be relied on
    EXPECT_EQ(cache.best(0), 12);
    EXPECT_FALSE(cache.time(1, "a"));
}

TEST(CalibratePlanCache, KnowsHowFarATimeIsToBeTrusted) {
    PlanCache cache(1);
    EXPECT_EQ(cache.error(0, "a"), 0);
    cache.add({0, "a", Ending::finished, 100, "", ""});
    EXPECT_DOUBLE_EQ(cache.error(0, "a"), 5); // one execution says nothing of its spread
    cache.add({0, "a", Ending::finished, 104, "", ""});
    EXPECT_DOUBLE_EQ(cache.error(0, "a"), 2); // deviation of 2 sqrt(2), by sqrt(2)
}

TEST(CalibratePlanCache, ReplaysInOrderAndByPurpose) {
    PlanCache cache(1);
    cache.remember({0, "a", Ending::finished, 1, "warm-up", ""}, "a");
    cache.remember({0, "a", Ending::finished, 2, "defaults", ""}, "a");
    cache.remember({0, "other", Ending::finished, 3, "defaults", ""}, "a"); // the planner had changed its mind
    EXPECT_FALSE(cache.time(0, "a"));                                       // nothing counts before it is wanted
    EXPECT_EQ(cache.replay(0, "a", "defaults")->ms, 2);
    EXPECT_EQ(cache.replay(0, "a", "defaults")->plan, "other");
    EXPECT_FALSE(cache.replay(0, "a", "defaults"));
    EXPECT_EQ(cache.replay(0, "a", "warm-up")->ms, 1);
    EXPECT_FALSE(cache.replay(0, "b", "warm-up"));
}

TEST(CalibrateObjective, LossesCostMoreThanGainsGive) {
    const Objective o{2, 0.1};
    EXPECT_EQ(o.of(50, 100), 50);
    EXPECT_EQ(o.of(110, 100), 110); // within the tolerance
    EXPECT_DOUBLE_EQ(o.of(160, 100), 160 + 2 * 50);
    EXPECT_EQ(o.of(160, std::nullopt), 160);
}

// By R: exp(t.test(log(after / before))$conf.int)
TEST(CalibrateSignificance, IntervalOfRatios) {
    EXPECT_FALSE(ratio_interval({{1, 1}}));
    const auto gain = ratio_interval({{100, 90}, {100, 91}, {102, 90}, {99, 90}, {101, 92}});
    ASSERT_TRUE(gain);
    EXPECT_TRUE(gain->is_gain());
    EXPECT_NEAR(gain->ratio, 0.90238, 1e-4);
    EXPECT_LT(gain->low, gain->ratio);
    EXPECT_NEAR(gain->high / gain->ratio, gain->ratio / gain->low, 1e-12);
    EXPECT_FALSE(ratio_interval({{100, 90}, {100, 110}, {100, 95}})->is_gain());
    // Two pairs with logarithms -0.1 and -0.3: mean -0.2, standard error 0.1, t 12.7062.
    const auto two = ratio_interval({{1, std::exp(-0.1)}, {1, std::exp(-0.3)}});
    EXPECT_NEAR(std::log(two->low), -0.2 - 1.27062, 1e-4);
    EXPECT_NEAR(std::log(two->high), -0.2 + 1.27062, 1e-4);
    // Twenty of them: t of 19 degrees is 2.0930.
    std::vector<Pair> many;
    for (int i = 0; i < 20; ++i)
        many.push_back({1, std::exp(i % 2 ? 0.1 : -0.1)});
    EXPECT_NEAR(std::log(ratio_interval(many)->high), 2.0930 * 0.1 / std::sqrt(19.0), 1e-4);
}

const Json head = {{"type", "calibration"}, {"version", 1}};

TEST(CalibrateCheckpoint, KeepsLinesAndCutsOffHalfOnes) {
    const Directory d;
    const std::string path = d.path("c.jsonl");
    {
        Checkpoint c = Checkpoint::create(path);
        c.append(head);
        c.append({{"type", "execution"}, {"ms", 1.5}});
        EXPECT_EQ(message_of<CheckpointError>([&] { Checkpoint::open(path); }),
                  path + " is in use by another gpuscan-calibrate");
        EXPECT_EQ(Checkpoint::read(path).size(), 2u);
    }
    std::ofstream(path, std::ios::app) << "{\"type\":\"execu";
    {
        Checkpoint c = Checkpoint::open(path);
        ASSERT_EQ(c.lines().size(), 2u);
        EXPECT_EQ(c.lines()[1]["ms"], 1.5);
        c.append({{"type", "execution"}, {"ms", 2.5}});
    }
    EXPECT_EQ(Checkpoint::read(path).at(2)["ms"], 2.5);
    EXPECT_NE(message_of<CheckpointError>([&] { Checkpoint::create(path); }).find("exists already"), std::string::npos);
}

TEST(CalibrateCheckpoint, RefusesOtherFiles) {
    const Directory d;
    d.write("text", "Dear diary,\n");
    EXPECT_EQ(message_of<CheckpointError>([&] { Checkpoint::open(d.path("text")); }),
              d.path("text") + ":1: no line of a calibration");
    d.write("other", "{\"type\":\"execution\"}\n");
    EXPECT_EQ(message_of<CheckpointError>([&] { Checkpoint::read(d.path("other")); }),
              d.path("other") + " is no calibration's file");
    EXPECT_NE(message_of<CheckpointError>([&] { Checkpoint::open(d.path("none")); }).find("No such file"),
              std::string::npos);
    EXPECT_NE(message_of<CheckpointError>([&] { Checkpoint::create(d.path("no/dir")); }).find("cannot create"),
              std::string::npos);
}

TEST(CalibrateReport, ComparesConfigurationsBySeeds) {
    const Directory d;
    std::string csv = "configuration,seed,query,ms,status,plan\n";
    for (int seed = 1; seed <= 4; ++seed)
        for (const char *query : {"q1", "q2"}) {
            csv += "old," + std::to_string(seed) + "," + query + "," + std::to_string(1000 * seed) + ",ok,a\n";
            csv += "new," + std::to_string(seed) + "," + query + "," + std::to_string(500 * seed + 1) + ",ok," +
                   (query[1] == '1' ? "a" : "b") + "\n";
        }
    csv += "new,5,q1,1000,timeout,a\n"; // not complete
    d.write("results.csv", csv);
    Json summary = Json::object();
    add_results(summary, bench::read_configurations(d.path("results.csv")));
    const Json &old = summary["results"]["configurations"].at(0), &pair = summary["results"]["pairs"].at(0);
    EXPECT_EQ(old["name"], "old");
    EXPECT_EQ(old["totals_s"]["3"], 6);
    EXPECT_EQ(summary["results"]["configurations"].at(1)["totals_s"].size(), 4u);
    EXPECT_EQ(summary["results"]["configurations"].at(1)["timeouts"], 1);
    EXPECT_NEAR(pair["ratio"], 0.5, 0.001);
    EXPECT_LT(pair["low"], pair["high"]);
    EXPECT_EQ(pair["u"], 12); // of 16: 2, 4, 6 and 8 s against 1.002 to 4.002 s
    EXPECT_EQ(pair["same_plans"], 4);
    EXPECT_EQ(pair["plans"], 8);
    EXPECT_THROW(bench::read_configurations(d.path("none")), std::runtime_error);
}

TEST(CalibrateReport, TellsAnUnfinishedCalibration) {
    Json first = head;
    first.update({{"started", "2026-01-01T00:00:00Z"},
                  {"plan", {{"model", "original"}, {"rounds", 5}}},
                  {"server", {{"database", "d"}}},
                  {"defaults", {{"random_page_cost", 4}}},
                  {"present", {{"random_page_cost", 4}}},
                  {"start", {{"random_page_cost", 4}}}});
    std::vector<Json> lines = {
        first,
        {{"type", "execution"}},
        {{"type", "cycle"}, {"value", 3.5}, {"best", nullptr}, {"accepted", true}, {"weights", {4}}}};
    EXPECT_NE(report_text(summary_of(lines)).find("Not finished: 1 executions and 1 cycles"), std::string::npos);
    EXPECT_THROW(report_settings(summary_of(lines)), CheckpointError);
    EXPECT_EQ(summary_of(lines)["trace"].at(0)["value"], 3.5);

    lines.push_back({{"type", "result"},
                     {"complete", true},
                     {"weights", {{"random_page_cost", 1.1}}},
                     {"total_ms", {{"defaults", 100}, {"present", 100}, {"best", 90}}},
                     {"ratio", {{"estimate", 0.9}, {"low", 0.88}, {"high", 1.02}}},
                     {"executions", 30},
                     {"cycles", 10},
                     {"pairs", 100},
                     {"queries", Json::array({{{"name", "q<1>"},
                                               {"left_out", false},
                                               {"changed", true},
                                               {"default_ms", nullptr},
                                               {"present_ms", 100.0},
                                               {"best_ms", 50.0},
                                               {"plans", 3},
                                               {"present_plan", "Sort"},
                                               {"best_plan", "Limit"}}})}});
    const std::string text = report_text(summary_of(lines));
    EXPECT_NE(text.find("30 executions instead of 100 (30.0 %)"), std::string::npos);
    EXPECT_NE(text.find("-10.0 % (95 % confidence: -12.0 to +2.0 %). That is within the noise."), std::string::npos);
    EXPECT_NE(text.find("2.00"), std::string::npos);
    EXPECT_EQ(report_settings(summary_of(lines)), "random_page_cost = 1.1\n");
    const std::string page = report_page(summary_of(lines));
    EXPECT_EQ(page.find("http"), std::string::npos); // needs no network
    EXPECT_EQ(page.find("q<1>"), std::string::npos);
    EXPECT_NE(page.find("q&lt;1&gt;</text>"), std::string::npos);
    EXPECT_NE(page.find(">2.00</text>"), std::string::npos);
    EXPECT_NE(page.find("random_page_cost</span>"), std::string::npos);
    EXPECT_TRUE(summary_of(lines)["applied"].is_null());
    lines.push_back({{"type", "apply"}, {"scope", "system"}, {"before", Json::object()}, {"after", Json::object()}});
    EXPECT_EQ(summary_of(lines)["applied"]["scope"], "system");
    lines.push_back({{"type", "undo"}});
    EXPECT_TRUE(summary_of(lines)["applied"].is_null());
}

} // namespace
} // namespace calibrate
