#include "device_tasks.hpp"

namespace calibrate {

std::vector<DeviceTask> device_tasks(size_t rows) {
    const std::string tenth = std::to_string(rows / 10), third = std::to_string(rows / 3);
    return {
        {"bring a column", "SELECT sum(a) FROM facts", "facts"},
        {"bring four integers", "SELECT sum(id), sum(k10), sum(k1000), sum(a) FROM facts", "facts"},
        {"bring numerics", "SELECT sum(x) FROM facts", "facts"},
        {"bring few texts", "SELECT count(t_few) FROM facts", "facts"},
        {"bring some texts", "SELECT count(t_some) FROM facts", "facts"},
        {"bring different texts", "SELECT count(t_own) FROM facts", "facts"},
        {"bring numbers and texts", "SELECT sum(x), sum(f), max(d), sum(b), count(t_few) FROM facts", "facts"},
        {"bring a small table", "SELECT sum(id), sum(v) FROM dims", "dims"},
        {"bring many pages", "SELECT sum(v) FROM spread", "spread"},
        {"bring a column, in a team", "SELECT sum(a) FROM facts", "facts", true},
        {"bring numbers and texts, in a team", "SELECT sum(x), sum(f), max(d), sum(b), count(t_few) FROM facts",
         "facts", true},
        {"bring many pages, in a team", "SELECT sum(v) FROM spread", "spread", true},
        {"bring many pages of two columns, in a team", "SELECT sum(v), max(id) FROM spread", "spread", true},
        {"pages by row", "SELECT sum(v) FROM fresh", "fresh"},
        {"start", "SELECT count(v) FROM tiny", nullptr},
        {"start, two tables", "SELECT count(a.v) FROM tiny a JOIN tiny b USING (id) WHERE a.id > -# AND b.id > -#",
         nullptr},
        {"start, three tables",
         "SELECT count(a.v) FROM tiny a JOIN tiny b USING (id) JOIN tiny c USING (id) WHERE a.id > -# AND b.id > -# "
         "AND c.id > -#",
         nullptr},
        {"start, a text", "SELECT count(v) FROM tiny WHERE t LIKE '%3%'", nullptr},
        {"start, two texts",
         "SELECT count(a.v) FROM tiny a JOIN tiny b USING (id) WHERE a.t LIKE '%3%' AND b.t LIKE '%1%' AND a.id > -# "
         "AND b.id > -#",
         nullptr},
        {"sum", "SELECT sum(a) FROM facts", nullptr},
        {"six sums", "SELECT sum(a), sum(b), sum(id), sum(k10), sum(k1000), sum(kmany) FROM facts", nullptr},
        {"sum of numerics", "SELECT sum(x) FROM facts", nullptr},
        {"one condition", "SELECT count(*) FROM facts WHERE a < 50", nullptr},
        {"three conditions", "SELECT count(*) FROM facts WHERE a >= 10 AND k1000 >= 100 AND kmany > 1000", nullptr},
        {"ten groups", "SELECT k10, count(*) FROM facts GROUP BY k10", nullptr},
        {"a thousand groups", "SELECT k1000, sum(a), sum(b) FROM facts GROUP BY k1000", nullptr},
        {"many groups", "SELECT kmany, sum(a) FROM facts WHERE a < 25 GROUP BY kmany", nullptr},
        {"groups by two keys", "SELECT a, k10, sum(b), count(*) FROM facts GROUP BY a, k10", nullptr},
        {"groups of texts", "SELECT t_few, sum(b) FROM facts GROUP BY t_few", nullptr},
        {"join with a few rows", "SELECT sum(f.a) FROM facts f JOIN tiny t ON f.k10 = t.id WHERE t.id > -#", nullptr},
        {"join with a small table", "SELECT sum(f.a) FROM facts f JOIN dims d ON f.k1000 = d.id WHERE d.id > -#",
         nullptr},
        {"join with a small table that is kept", "SELECT sum(f.a) FROM facts f JOIN dims d ON f.k1000 = d.id", nullptr},
        {"two joins",
         "SELECT sum(f.a) FROM facts f JOIN dims d ON f.k1000 = d.id JOIN dims e ON f.a = e.id WHERE d.id > -# AND "
         "e.id > -#",
         nullptr},
        {"join with a large table",
         "SELECT sum(f.a) FROM facts f JOIN facts g ON f.kmany = g.id WHERE g.id > -# AND g.id <= " + third, nullptr},
        {"join with a large table that is kept",
         "SELECT sum(f.a) FROM facts f JOIN facts g ON f.kmany = g.id WHERE g.id <= " + third, nullptr},
        {"join by comparison",
         "SELECT count(*) FROM facts f JOIN tiny t ON f.a < t.id WHERE t.id > -# AND f.id <= " + tenth, nullptr},
        {"rows", "SELECT id FROM facts WHERE a < 10", nullptr},
        {"rows of six columns", "SELECT id, a, b, k10, k1000, kmany FROM facts WHERE a < 10", nullptr},
        {"many rows", "SELECT id, b FROM facts WHERE a < 40", nullptr},
        {"rows in order", "SELECT id, b FROM facts WHERE a < 30 ORDER BY kmany DESC", nullptr},
    };
}

std::string sql_of(const DeviceTask &task, size_t *numbers) {
    std::string sql;
    for (const char c : task.sql)
        if (c == changing_number)
            sql += std::to_string(++*numbers);
        else
            sql += c;
    return sql;
}

} // namespace calibrate
