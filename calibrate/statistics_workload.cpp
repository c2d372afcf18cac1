#include "statistics_workload.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>

#include "parameters.hpp"

namespace calibrate {
namespace {

constexpr char prepared[] = "gpuscan_calibrate_statement";

struct Row {
    std::string id, text;
    double calls, ms, rows;
    size_t entries; // of several users
};

// Why a query is left out.
struct Unusable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The view, wherever the extension is.
std::string find_view(Session &session) {
    const std::string schema =
        session.value("SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e JOIN "
                      "pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'");
    if (schema.empty())
        throw WorkloadError(
            "pg_stat_statements is not in this database: CREATE EXTENSION pg_stat_statements, with it in "
            "shared_preload_libraries, and let the server run for a while; or --workload DIR");
    return schema + ".pg_stat_statements";
}

std::vector<Row> read_rows(Session &session, const std::string &view) {
    const std::string mine =
        " FROM " + view +
        " WHERE dbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) AND toplevel ";
    try {
        const pg::Result r =
            session.query("SELECT queryid, query, sum(calls), sum(total_exec_time), sum(rows), count(*)" + mine +
                          "GROUP BY 1, 2 ORDER BY 4 DESC, 1");
        std::vector<Row> rows;
        for (int i = 0; i < r.rows(); ++i)
            rows.push_back({r.get(i, 0), r.get(i, 1), std::stod(r.get(i, 2)), std::stod(r.get(i, 3)),
                            std::stod(r.get(i, 4)), std::stoul(r.get(i, 5))});
        return rows;
    } catch (const ServerError &e) {
        if (e.sqlstate == "55000")
            throw WorkloadError(std::string(e.what()) +
                                ": it has to be in the server's configuration, and the server restarted");
        if (e.sqlstate == "42501")
            throw WorkloadError(std::string(e.what()) + ": GRANT SELECT ON " + view +
                                ", and pg_read_all_stats for the queries of other users");
        throw;
    }
}

bool is_query(const std::string &text) {
    size_t i = 0;
    while (i < text.size() && (std::isspace(static_cast<unsigned char>(text[i])) || text[i] == '('))
        ++i;
    std::string verb;
    for (; i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])); ++i)
        verb += static_cast<char>(std::toupper(static_cast<unsigned char>(text[i])));
    return verb == "SELECT" || verb == "WITH" || verb == "VALUES" || verb == "TABLE";
}

class Resolver {
  public:
    Resolver(Session &session, const Row &row) : session_(session), row_(row) {}

    // The query with values in the place of its parameters. Throws Unusable.
    std::string text() {
        std::string sql = row_.text;
        try {
            if (!parameters_of(sql).empty())
                sql = resolve(sql);
            const ParameterUses uses = uses_of(session_.explain(sql, "COSTS OFF, VERBOSE"));
            if (uses.writes)
                throw Unusable("it writes or locks rows");
            if (std::none_of(uses.schemas.begin(), uses.schemas.end(), [](const std::string &s) {
                    return !s.empty() && s != "pg_catalog" && s != "information_schema" && s != "pg_toast";
                }))
                throw Unusable("it reads no table");
        } catch (const ServerError &e) {
            throw Unusable(e.what());
        } catch (const StatementError &e) {
            throw Unusable(e.what());
        }
        return sql;
    }

  private:
    std::string resolve(const std::string &normalized) {
        std::string sql = normalized;
        try {
            session_.prepare_statement(prepared, sql);
        } catch (const ServerError &e) {
            if (e.sqlstate != "42601")
                throw;
            sql = with_casts(normalized);
            session_.prepare_statement(prepared, sql);
        }
        std::vector<Type> types;
        std::string plan;
        try {
            types = types_of();
            plan = session_.explain_generic(prepared, types.size());
        } catch (...) {
            session_.query(std::string("DEALLOCATE ") + prepared);
            throw;
        }
        session_.query(std::string("DEALLOCATE ") + prepared);
        return with_parameters(sql, values(sql, uses_of(plan), types));
    }

    struct Type {
        std::string name, category;
    };
    std::vector<Type> types_of() {
        const pg::Result r = session_.query(
            "SELECT pg_catalog.format_type(t.oid, -1), t.typcategory FROM pg_catalog.pg_prepared_statements p, "
            "unnest(p.parameter_types) WITH ORDINALITY u(type, n) JOIN pg_catalog.pg_type t ON t.oid = u.type WHERE "
            "p.name = '" +
            std::string(prepared) + "' ORDER BY u.n");
        std::vector<Type> types;
        for (int i = 0; i < r.rows(); ++i)
            types.push_back({r.get(i, 0), r.get(i, 1)});
        return types;
    }

    std::map<int, std::string> values(const std::string &sql, const ParameterUses &uses,
                                      const std::vector<Type> &types) {
        const std::set<int> limits = limits_of(sql), offsets = offsets_of(sql);
        std::map<std::string, int> turn; // of a column's common values
        std::map<int, std::string> all;
        for (int number : parameters_of(sql)) {
            if (number < 1 || static_cast<size_t>(number) > types.size())
                throw Unusable("parameter $" + std::to_string(number) + " has no type");
            const Type &type = types[static_cast<size_t>(number) - 1];
            std::string value;
            if (limits.count(number))
                value = std::to_string(std::max(1L, std::lround(std::ceil(row_.rows / std::max(1.0, row_.calls)))));
            else if (offsets.count(number))
                value = "0";
            else if (uses.unclear.count(number))
                throw Unusable("the value of $" + std::to_string(number) +
                               " is not known: it is not compared with a column");
            else if (const auto c = uses.compared.find(number); c != uses.compared.end())
                value = usual(c->second, bounded(uses, c->second), turn);
            else
                value = neutral(type);
            all[number] = "CAST(" + session_.quote(value) + " AS " + type.name + ")";
        }
        return all;
    }

    // Whether another parameter bounds the same column from the other side.
    static bool bounded(const ParameterUses &uses, const Comparison &c) {
        return std::any_of(uses.compared.begin(), uses.compared.end(), [&](const auto &other) {
            const Comparison &o = other.second;
            return o.schema == c.schema && o.relation == c.relation && o.column == c.column && o.op[0] != c.op[0] &&
                   (o.op[0] == '<' || o.op[0] == '>') && o.op != "<>";
        });
    }

    std::string usual(const Comparison &c, bool bounded, std::map<std::string, int> &turn) {
        const std::string column = c.schema + "." + c.relation + "." + c.column;
        const std::string statistics = "WITH s AS (SELECT s.most_common_vals::text::text[] AS common, "
                                       "s.histogram_bounds::text::text[] AS bounds FROM "
                                       "pg_catalog.pg_stats s WHERE s.schemaname = " +
                                       session_.quote(c.schema) + " AND s.tablename = " + session_.quote(c.relation) +
                                       " AND s.attname = " + session_.quote(c.column) +
                                       " ORDER BY s.inherited DESC LIMIT 1) ";
        std::string found;
        if (c.op == "=" || c.op == "<>") {
            const std::string nth = std::to_string(turn[column]++);
            found = session_.value(statistics + "SELECT coalesce(common[1 + " + nth +
                                   " % cardinality(common)], bounds[1 + (cardinality(bounds) / 2 + " + nth +
                                   ") % cardinality(bounds)]) FROM s");
        } else {
            const std::string type = session_.value(
                "SELECT pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a JOIN "
                "pg_catalog.pg_class c ON "
                "c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = " +
                session_.quote(c.schema) + " AND c.relname = " + session_.quote(c.relation) +
                " AND a.attname = " + session_.quote(c.column));
            const char *share = !bounded ? "0.5" : c.op[0] == '>' ? "0.4" : "0.6";
            found =
                session_.value(statistics + ", v AS (SELECT coalesce(bounds, (SELECT array_agg(x ORDER BY x::" + type +
                               ") FROM unnest(common) x)) AS v FROM s) SELECT v[1 + floor((cardinality(v) - 1) * " +
                               share + ")::int] FROM v");
        }
        if (found.empty())
            throw Unusable("there are no statistics of " + column + " that this role may see (ANALYZE)");
        return found;
    }

    // For what decides about no row.
    static std::string neutral(const Type &type) {
        switch (type.category.empty() ? ' ' : type.category[0]) {
        case 'N':
            return "1";
        case 'S':
            return "";
        case 'B':
            return "true";
        case 'D':
            return "2000-01-01";
        case 'T':
            return "1 day";
        default:
            throw Unusable("no value is known for a parameter of type " + type.name);
        }
    }

    Session &session_;
    const Row &row_;
};

std::string first_words(const std::string &text) {
    std::string line;
    for (char c : text) {
        if (std::isspace(static_cast<unsigned char>(c))) {
            if (!line.empty() && line.back() != ' ')
                line += ' ';
        } else {
            line += c;
        }
    }
    return line.size() > 60 ? line.substr(0, 57) + "..." : line;
}

} // namespace

std::vector<Query> read_statistics(Session &session, size_t top, const std::function<void(const std::string &)> &say) {
    const std::vector<Row> rows = read_rows(session, find_view(session));
    std::vector<Query> queries;
    double taken_ms = 0, queries_ms = 0;
    size_t hidden = 0, left_out = 0;
    for (const Row &row : rows) {
        if (row.text == "<insufficient privilege>") {
            hidden += row.entries;
            continue;
        }
        if (!is_query(row.text))
            continue;
        queries_ms += row.ms;
        if (queries.size() == top)
            continue;
        try {
            queries.push_back(
                {"query " + row.id, "pg_stat_statements", {Resolver(session, row).text(), 1}, row.calls, true});
            taken_ms += row.ms;
        } catch (const Unusable &why) {
            if (std::string(why.what()) != "it reads no table") {
                ++left_out;
                char share[64];
                std::snprintf(share, sizeof share, "%.0f ms in %.0f calls", row.ms, row.calls);
                say("left out: query " + row.id + " (" + share + "), " + first_words(row.text) + ": " + why.what());
            } else {
                queries_ms -= row.ms;
            }
        }
    }
    if (hidden > 0)
        say(std::to_string(hidden) + " statements of other users are not shown to this role: GRANT pg_read_all_stats");
    if (queries.empty())
        throw WorkloadError("empty workload: pg_stat_statements has no query of this database that can be used" +
                            std::string(left_out > 0 ? " (why is said above)" : ""));
    char text[160];
    std::snprintf(text, sizeof text,
                  "%zu queries of pg_stat_statements are taken: %.0f %% of the time that queries took", queries.size(),
                  100 * taken_ms / std::max(queries_ms, 1e-9));
    say(text);
    return queries;
}

} // namespace calibrate
