// htap-gen: creates and loads the tables of HATtrick: those of the Star Schema Benchmark, with plain numerics for amounts and the
// indexes that HATtrick gives PostgreSQL, and HISTORY. htap-run makes the FRESHNESS tables, one for each client.
#include "../ssb/tables.hpp"

namespace {

std::vector<bench::Table> tables(double sf, uint64_t seed) {
    std::vector<bench::Table> all = bench::ssb_tables(sf, seed, true);
    const auto index = [&](const std::string &table, std::initializer_list<bench::Index> indexes) {
        for (bench::Table &t : all)
            if (t.name == table)
                t.indexes.insert(t.indexes.end(), indexes);
    };
    index("lineorder", {{"lo_orderkey, lo_linenumber", true},
                        {"lo_custkey"},
                        {"lo_partkey"},
                        {"lo_suppkey"},
                        {"lo_orderdate"},
                        {"lo_discount"},
                        {"lo_quantity"}});
    index("customer", {{"c_name"}, {"c_region"}, {"c_nation"}, {"c_city"}});
    index("supplier", {{"s_name"}, {"s_region"}, {"s_nation"}, {"s_city"}});
    index("part", {{"p_category"}, {"p_brand1"}, {"p_mfgr"}});
    index("date", {{"d_date"}, {"d_year"}, {"d_yearmonthnum"}, {"d_weeknuminyear"}});
    all.push_back({"history",
                   3,
                   "h_orderkey integer not null, h_custkey integer not null, h_amount numeric not null",
                   {},
                   0,
                   0,
                   [](bench::CopyWriter &, int64_t, int64_t) {}});
    return all;
}

} // namespace

int main(int argc, char **argv) {
    return bench::generate({"htap-gen", "HATtrick", "lineorder, customer, supplier, part, date, history", 19920101,
                            "6 million line orders", tables},
                           argc, argv);
}
