// What the calibrator says of two plans, at plans as EXPLAIN writes them.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "../../calibrate/plan_words.hpp"

namespace calibrate {
namespace {

using Words = std::vector<std::string>;

std::string plan(const std::string &node) { return "[{\"Plan\": " + node + "}]"; }

std::string node(const std::string &type, const Words &below, const std::string &more = "") {
    std::string text = "{\"Node Type\": \"" + type + "\"" + more;
    for (size_t i = 0; i < below.size(); ++i)
        text += (i == 0 ? ", \"Plans\": [" : ", ") + below[i];
    return text + (below.empty() ? "}" : "]}");
}

std::string scan(const std::string &type, const std::string &table, const std::string &index = "") {
    return node(type, {},
                ", \"Relation Name\": \"" + table + "\", \"Alias\": \"" + table + "\"" +
                    (index.empty() ? "" : ", \"Index Name\": \"" + index + "\""));
}

const std::string orders = scan("Seq Scan", "orders"), lines = scan("Seq Scan", "lines"),
                  parts = scan("Seq Scan", "parts");

TEST(CalibratePlanWords, NothingForEqualPlans) {
    EXPECT_EQ(differences(plan(orders), plan(orders)), Words{});
    EXPECT_THROW(differences("none", plan(orders)), std::runtime_error);
}

TEST(CalibratePlanWords, HowTablesAreReadAndJoined) {
    const std::string hash = plan(node("Hash Join", {orders, node("Hash", {lines})}));
    const std::string loop = plan(node("Nested Loop", {orders, scan("Index Scan", "lines", "lines_pkey")}));
    EXPECT_EQ(differences(hash, loop), (Words{"lines by index lines_pkey instead of in sequence",
                                              "lines x orders: nested loop instead of hash join"}));
    EXPECT_EQ(differences(hash, plan(node("Hash Join", {lines, node("Hash", {orders})}))),
              (Words{"lines x orders: hashes orders instead of lines"}));
    const std::string bitmap =
        plan(node("Bitmap Heap Scan", {node("Bitmap Index Scan", {}, ", \"Index Name\": \"by_day\"")},
                  ", \"Relation Name\": \"lines\", \"Alias\": \"lines\""));
    EXPECT_EQ(differences(plan(lines), bitmap), (Words{"lines by a bitmap of by_day instead of in sequence"}));
}

TEST(CalibratePlanWords, OrdersOfJoins) {
    const std::string before =
        plan(node("Hash Join", {node("Hash Join", {lines, node("Hash", {orders})}), node("Hash", {parts})}));
    const std::string after =
        plan(node("Hash Join", {node("Hash Join", {lines, node("Hash", {parts})}), node("Hash", {orders})}));
    EXPECT_EQ(differences(before, after),
              (Words{"lines x orders x parts: hashes orders instead of parts",
                     "joins in the order ((lines, parts), orders) instead of ((lines, orders), parts)"}));
}

TEST(CalibratePlanWords, GroupsAndSorts) {
    const std::string sorted = plan(node("Aggregate", {node("Sort", {lines})}, ", \"Strategy\": \"Sorted\""));
    const std::string hashed = plan(node("Aggregate", {lines}, ", \"Strategy\": \"Hashed\""));
    EXPECT_EQ(differences(sorted, hashed),
              (Words{"one aggregation by hash instead of no aggregation by hash",
                     "no aggregation of sorted rows instead of one aggregation of sorted rows",
                     "no sort instead of one sort"}));
}

// A subplan's tables are no part of the join.
TEST(CalibratePlanWords, SubplansAreOfTheirOwn) {
    const std::string below = scan("Seq Scan", "parts");
    const std::string with =
        plan(node("Hash Join",
                  {orders, node("Hash", {lines}), node("Limit", {below}, ", \"Parent Relationship\": \"SubPlan\"")}));
    const std::string without = plan(node("Merge Join", {orders, node("Sort", {lines})}));
    EXPECT_EQ(differences(with, without).at(0), "lines x orders: merge join instead of hash join");
}

} // namespace
} // namespace calibrate
