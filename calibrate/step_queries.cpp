// The statements, step by step; see step_queries.hpp.
#include "step_queries.hpp"

#include "one_plan.hpp"

namespace calibrate {
namespace {

std::string text(size_t number) { return std::to_string(number); }

// For plans with parallel workers, however little there is to do. (What the settings price follows them, but counts do not.)
const std::string parallel = "SET LOCAL max_parallel_workers_per_gather = " + text(parallel_workers) +
                             "; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL "
                             "min_parallel_table_scan_size = 0; "
                             "SET LOCAL parallel_leader_participation = on; ";

} // namespace

std::vector<StepQuery> step_queries(size_t mixed_rows) {
    const std::string half = text(mixed_rows / 2), few = text(mixed_rows / 20);
    const std::string scan = only({"seqscan"}), hash = only({"seqscan", "hashjoin"}),
                      group = only({"seqscan", "hashagg"}), sort = only({"seqscan", "sort"}),
                      index = only({"indexscan"}), index_only = only({"indexscan", "indexonlyscan"}),
                      bitmap = only({"bitmapscan"}), lookups = only({"seqscan", "indexscan", "nestloop"});
    return {
        // scans
        {"pages and rows", "SELECT count(*) FROM mixed", scan},
        {"narrow rows", "SELECT count(*) FROM dims", scan},
        {"pages with few rows", "SELECT count(*) FROM sparse", scan},
        {"a larger table", "SELECT count(*) FROM facts", scan},
        {"a column", "SELECT count(id) FROM mixed", scan},
        {"the last column", "SELECT count(last) FROM mixed", scan},
        {"all columns", "SELECT count(id), count(k), count(n), count(t), count(last) FROM mixed", scan},
        // conditions
        {"a condition", "SELECT count(*) FROM mixed WHERE v >= 0", scan},
        {"a condition on the last column", "SELECT count(*) FROM mixed WHERE last > 0", scan},
        {"five conditions", "SELECT count(*) FROM mixed WHERE v >= 0 AND id > 0 AND k >= 0 AND many >= 0 AND k <> -1",
         scan},
        {"conditions that few pass", "SELECT count(last) FROM mixed WHERE v = 7", scan},
        {"a condition on numerics", "SELECT count(*) FROM mixed WHERE n >= 0", scan},
        {"conditions on numerics", "SELECT count(*) FROM mixed WHERE n >= 0 AND n < 100000 AND n <> -1 AND kn >= 0",
         scan},
        {"a condition on texts", "SELECT count(*) FROM mixed WHERE t >= '0'", scan},
        {"conditions on texts",
         "SELECT count(*) FROM mixed WHERE t >= '0' AND t <> 'x' AND kt <> 'group x' AND kt >= 'g'", scan},
        {"a pattern", "SELECT count(*) FROM mixed WHERE s NOT LIKE '%no%such%'", scan},
        {"patterns",
         "SELECT count(*) FROM mixed WHERE s NOT LIKE '%no%such%' AND t NOT LIKE '%x%' AND s NOT LIKE '%zz'", scan},
        {"a part of a text", "SELECT count(*) FROM mixed WHERE substr(t, 3, 2) <> 'xx'", scan},
        // aggregates
        {"aggregates", "SELECT sum(v), max(k), min(many), sum(id), max(v), count(*) FROM mixed", scan},
        {"sums of expressions", "SELECT sum(v + k), sum(v * 2 + 1), max(many - id) FROM mixed", scan},
        {"a sum of numerics", "SELECT sum(n) FROM mixed", scan},
        {"aggregates of numerics", "SELECT sum(n), max(n), avg(kn), min(kn) FROM mixed", scan},
        {"a sum of a product", "SELECT sum(n * kn) FROM mixed", scan},
        {"sums of numeric expressions", "SELECT sum(n * (1 - kn)), sum(n * (1 - kn) * (1 + kn)) FROM mixed", scan},
        {"aggregates of texts", "SELECT max(t), min(kt) FROM mixed", scan},
        // groups
        {"few groups", "SELECT k, count(*) FROM mixed GROUP BY k", group},
        {"few groups by a text", "SELECT kt, count(*), sum(v) FROM mixed GROUP BY kt", group},
        {"few groups by a numeric", "SELECT kn, count(*) FROM mixed GROUP BY kn", group},
        {"groups with sums of numerics", "SELECT v, sum(n), sum(n * (1 - kn)), avg(n), count(*) FROM mixed GROUP BY v",
         group},
        {"a thousand groups of a larger table", "SELECT k1000, sum(a) FROM facts GROUP BY k1000", group},
        {"many groups", "SELECT many, count(*) FROM mixed GROUP BY many", group},
        {"many groups of a small table", "SELECT id, sum(v) FROM dims GROUP BY id", group},
        {"many groups by a text", "SELECT t, count(*) FROM mixed GROUP BY t", group},
        {"a sort", "SELECT many, v FROM mixed ORDER BY many", sort},
        {"a sort of few rows", "SELECT many, v FROM mixed WHERE v < 10 ORDER BY many", sort},
        {"a sort of a larger table", "SELECT f FROM facts ORDER BY kmany", sort},
        {"a sort by a text", "SELECT t, v FROM mixed ORDER BY t", sort},
        {"a join with a few rows", "SELECT count(*) FROM mixed m JOIN tiny t ON m.k = t.id", hash},
        {"a join that few rows pass", "SELECT count(*) FROM mixed m JOIN tiny t ON m.v = t.id", hash},
        {"a join of a larger table with a few rows", "SELECT count(*) FROM facts f JOIN tiny t ON f.k10 = t.id", hash},
        {"a join of a larger table that few rows pass", "SELECT count(*) FROM facts f JOIN dims d ON f.kmany = d.id",
         hash},
        {"a join of rows of equal number", "SELECT sum(b.v) FROM mixed a JOIN mixed b ON a.many = b.id", hash},
        {"a join with a part of its rows", "SELECT sum(b.v) FROM mixed a JOIN mixed b ON a.many = b.id WHERE b.v < 30",
         hash},
        {"a join of two small tables", "SELECT sum(b.v) FROM dims a JOIN dims b ON a.id = b.id", hash},
        {"a join with a large table", "SELECT sum(g.a) FROM facts f JOIN facts g ON f.kmany = g.id WHERE g.a < 30",
         hash},
        {"a join of two larger tables", "SELECT count(*) FROM facts f JOIN facts g ON f.kmany = g.id", hash},
        {"a join by texts", "SELECT count(*) FROM mixed a JOIN mixed b ON a.t = b.t", hash},
        {"three joins, a sum",
         "SELECT sum(m.n) FROM mixed m JOIN tiny a ON m.k = a.id JOIN dims b ON m.v = b.id JOIN dims c ON m.many = "
         "c.id",
         hash},
        {"joins and groups",
         "SELECT m.kt, sum(m.n * (1 - m.kn)) FROM mixed m JOIN tiny a ON m.k = a.id JOIN dims b ON m.v = b.id WHERE "
         "m.id > "
         "0 GROUP BY m.kt",
         only({"seqscan", "hashjoin", "hashagg"})},
        // other joins
        {"a merge of two indexes", "SELECT count(*) FROM mixed a JOIN mixed b ON a.id = b.id",
         only({"indexscan", "mergejoin"})},
        {"a merge of sorted rows", "SELECT count(*) FROM mixed a JOIN mixed b ON a.many = b.many",
         only({"seqscan", "sort", "mergejoin"})},
        {"lookups in order", "SELECT sum(m.v) FROM dims d JOIN mixed m ON m.id = d.id WHERE d.id > 0", lookups},
        {"lookups out of order", "SELECT sum(m.v) FROM dims d JOIN mixed m ON m.many = d.id", lookups},
        {"lookups in a larger table", "SELECT sum(f.a) FROM dims d JOIN facts f ON f.kmany = d.id", lookups},
        {"lookups by keys out of order",
         "SELECT sum(f.a) FROM mixed m JOIN facts f ON f.id = m.many WHERE m.v < 30 AND m.many > 0", lookups},
        {"lookups in an index alone", "SELECT count(*) FROM dims d JOIN mixed m ON m.many = d.id",
         only({"seqscan", "indexscan", "indexonlyscan", "nestloop"})},
        {"memoized lookups", "SELECT sum(d.id) FROM mixed m JOIN dims d ON d.id = m.v",
         only({"seqscan", "indexscan", "nestloop", "memoize"})},
        {"all pairs with a few rows", "SELECT count(*) FROM dims d CROSS JOIN tiny t",
         only({"seqscan", "nestloop", "material"})},
        {"pairs by a condition", "SELECT count(*) FROM dims d JOIN tiny t ON d.v * 3 < t.id * 10",
         only({"seqscan", "nestloop", "material"})},
        // indexes
        {"an index in order", "SELECT sum(v) FROM mixed WHERE id <= " + half, index},
        {"an index in order, few rows", "SELECT sum(v) FROM mixed WHERE id <= " + few, index},
        {"an index out of order", "SELECT sum(v) FROM mixed WHERE many < " + half, index},
        {"an index out of order, few rows", "SELECT sum(v) FROM mixed WHERE many < " + few, index},
        {"an index out of order, a larger table", "SELECT sum(a) FROM facts WHERE kmany < " + half, index},
        {"an index alone", "SELECT count(*) FROM mixed WHERE many < " + half, index_only},
        {"an index alone, a larger table", "SELECT count(*) FROM facts WHERE id <= " + half, index_only},
        {"a bitmap", "SELECT sum(v) FROM mixed WHERE many < " + half, bitmap},
        {"a bitmap, few rows", "SELECT sum(v) FROM mixed WHERE many < " + few, bitmap},
        {"a bitmap in order", "SELECT sum(v) FROM mixed WHERE id <= " + half, bitmap},
        {"a bitmap, a larger table", "SELECT sum(a) FROM facts WHERE kmany < " + few, bitmap},
        // rows passed on
        {"rows written down", "SELECT count(m.v) FROM tiny t LEFT JOIN mixed m ON m.v + t.id < 35 WHERE t.id < 5",
         only({"seqscan", "nestloop", "material"})},
        {"a window", "SELECT sum(v) OVER (PARTITION BY many) FROM mixed", sort},
        {"row numbers", "SELECT row_number() OVER (ORDER BY id) FROM mixed", index},
    };
}

std::vector<StepQuery> parallel_step_queries() {
    const std::string scan = only({"seqscan"}) + parallel,
                      lookups = only({"seqscan", "indexscan", "nestloop"}) + parallel;
    return {
        {"parallel workers", "SELECT count(*) FROM dims", scan},
        {"parallel workers, sums", "SELECT sum(v) FROM mixed", scan},
        {"rows of parallel workers", "SELECT id FROM facts WHERE a < 50", scan},
        {"wider rows of parallel workers", "SELECT id, n, t, v FROM mixed WHERE v >= 0", scan},
        {"lookups of parallel workers", "SELECT sum(m.v) FROM dims d JOIN mixed m ON m.many = d.id", lookups},
        {"lookups of parallel workers in a larger table",
         "SELECT sum(f.a) FROM mixed m JOIN facts f ON f.id = m.many WHERE m.v < 30 AND m.many > 0", lookups},
    };
}

} // namespace calibrate
