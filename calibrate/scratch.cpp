#include "scratch.hpp"

#include <algorithm>
#include <cstdlib>

namespace calibrate {
namespace {

constexpr char comment[] = "made by gpuscan-calibrate measure, and dropped by it";
constexpr size_t most_rows = 1000000, least_rows = 1000, most_mixed_rows = 100000;
constexpr double row_bytes = 170,
                 spread_row_bytes = 455; // of facts, and of spread, whose pages are nearly empty; about

std::string schema_query(Session &session, const std::string &what) {
    return "SELECT " + what + " FROM pg_catalog.pg_namespace WHERE nspname = " + session.quote(scratch_schema);
}

std::string text(size_t number) { return std::to_string(number); }

} // namespace

size_t dims_rows(size_t rows) { return std::max<size_t>(rows / 10, tiny_rows); }

size_t mixed_rows(size_t rows) { return std::clamp<size_t>(rows / 5, least_rows, most_mixed_rows); }

Scratch::Scratch(Session &session, size_t rows) : session_(session), rows_(rows) {
    const double buffers = std::strtod(
        session_.value("SELECT setting::float8 * 8192 FROM pg_catalog.pg_settings WHERE name = 'shared_buffers'")
            .c_str(),
        nullptr);
    if (rows_ == 0)
        rows_ = std::clamp(static_cast<size_t>(buffers / 4 / row_bytes), least_rows, most_rows);
    spread_rows_ = std::min({static_cast<size_t>(buffers / 4 / spread_row_bytes), rows_, most_rows});
    if (session_.value("SELECT pg_catalog.pg_is_in_recovery()") == "t") {
        why_ = "the server is a standby, on which no table can be made";
        return;
    }
    const std::string left =
        session_.value(schema_query(session_, "coalesce(pg_catalog.obj_description(oid, 'pg_namespace'), '')"));
    const bool there = session_.value(schema_query(session_, "count(*)")) == "1";
    if (there && left != comment)
        throw SessionError(std::string("the schema ") + scratch_schema +
                           " is there, and not of this program's making: drop or rename it");
    if (there)
        session_.query(std::string("DROP SCHEMA ") + scratch_schema + " CASCADE");
    if (session_.value("SELECT pg_catalog.has_database_privilege(current_database(), 'CREATE')") == "t") {
        kind_ = Kind::Schema;
        return;
    }
    why_ = "this role may not create a schema in this database (GRANT CREATE ON DATABASE)";
    if (session_.value("SELECT pg_catalog.has_database_privilege(current_database(), 'TEMPORARY')") == "t")
        kind_ = Kind::Temporary;
}

Scratch::~Scratch() { drop(); }

void Scratch::drop() {
    if (made_ && kind_ == Kind::Schema)
        session_.clean_up(std::string("DROP SCHEMA IF EXISTS ") + scratch_schema + " CASCADE");
    made_ = false; // (temporary tables go with the session)
}

std::string Scratch::path() const {
    return std::string("SET LOCAL search_path = ") +
           (kind_ == Kind::Schema ? std::string(scratch_schema) + ", pg_catalog; " : "pg_temp, pg_catalog; ");
}

void Scratch::fill(Progress &progress) {
    progress.begin("making scratch tables", 6);
    const bool temporary = kind_ == Kind::Temporary;
    if (temporary) // (before the first one is used)
        session_.query("SET temp_buffers = '" +
                       text(static_cast<size_t>(static_cast<double>(rows_) * row_bytes * 2 / 1024) + 8192) + "kB'");
    made_ = true;
    if (!temporary)
        session_.query(std::string("CREATE SCHEMA ") + scratch_schema + "; COMMENT ON SCHEMA " + scratch_schema +
                       " IS " + session_.quote(comment));
    const std::string place = temporary ? "pg_temp." : std::string(scratch_schema) + ".";
    const std::string create = std::string("CREATE ") + (temporary ? "TEMPORARY " : "") + "TABLE " + place;
    const std::string options = " WITH (autovacuum_enabled = off) AS SELECT ";
    // Values are uniform, so the planner's estimates are right; orders of keys are the table's (id) or none (the multiples of a prime).
    progress.step(0, "facts");
    session_.query(
        create + "facts" + options +
        "i AS id, i % 10 AS k10, (i::bigint * 7919 % 1000)::int AS k1000, (i::bigint * 104729 % " + text(rows_) +
        ")::int AS kmany, (pg_catalog.hashint4(i) & 65535) % 100 AS a, i::bigint * 3 AS b, date '2020-01-01' + i % "
        "2000 AS d, "
        "((i::bigint * 7919 % 100000) / 100.0)::numeric(12,2) AS x, i::float8 / 7 AS f, "
        "'value ' || i % 20 AS t_few, 'some text ' || i::bigint * 7919 % 5000 AS t_some, 'a text of its own ' || i AS "
        "t_own FROM pg_catalog.generate_series(1, " +
        text(rows_) + ") i");
    progress.step(1, "dims, sparse, tiny");
    session_.query(create + "dims" + options + "i AS id, i % 100 AS v FROM pg_catalog.generate_series(0, " +
                   text(dims_rows(rows_) - 1) + ") i");
    session_.query(create + "sparse WITH (autovacuum_enabled = off, fillfactor = 10) AS SELECT id FROM " + place +
                   "dims");
    session_.query(create + "tiny" + options +
                   "i AS id, i % 5 AS v, 'tiny ' || i AS t FROM pg_catalog.generate_series(0, " + text(tiny_rows - 1) +
                   ") i");
    // Every kind of value, few and many of them; the texts of t are in no order, and of one length.
    progress.step(2, "mixed");
    session_.query(create + "mixed" + options + "i AS id, i % 20 AS k, (i::bigint * 104729 % " +
                   text(mixed_rows(rows_)) +
                   ")::int AS many, (pg_catalog.hashint4(i) & 65535) % 100 AS v, ((i::bigint * 7919 % 100000) / "
                   "100.0)::numeric(12,2) AS n, (i % 20 / 100.0)::numeric(12,2) AS kn, 'group ' || i % 20 AS kt, h AS "
                   "t, 'some words "
                   "and ' || h || ' among them' AS s, i AS c1, i AS c2, i AS c3, i AS c4, i AS c5, i AS c6, i AS last "
                   "FROM (SELECT i, "
                   "pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.hashint8extended(i, 1)), 16, '0') AS h FROM "
                   "pg_catalog.generate_series(1, " +
                   text(mixed_rows(rows_)) + ") i) numbers");
    // Many pages with little on them; devices keep no columns of temporary tables.
    progress.step(3, "spread");
    if (!temporary)
        session_.query(create +
                       "spread WITH (autovacuum_enabled = off, fillfactor = 10) AS SELECT "
                       "i AS id, i % 100 AS v, i::bigint AS w FROM pg_catalog.generate_series(1, " +
                       text(spread_rows_) + ") i");
    progress.step(4, "indexes");
    for (const char *index : {"facts (id)", "facts (kmany)", "dims (id)", "mixed (id)", "mixed (many)"})
        session_.query(std::string("CREATE INDEX ON ") + place + index);
    progress.step(5, "vacuum");
    for (const char *table : {"facts", "dims", "sparse", "tiny", "mixed", "spread"})
        if (!temporary || table != std::string("spread"))
            session_.query(std::string("VACUUM (FREEZE, ANALYZE) ") + place + table);
    // Its pages are not all-visible: it is never vacuumed.
    session_.query(create + "fresh" + options + "i AS id, i % 100 AS v FROM pg_catalog.generate_series(1, " +
                   text(std::max(rows_ / 10, least_rows)) + ") i");
    session_.query(std::string("ANALYZE ") + place + "fresh");
    visible_ = session_.value("SELECT relallvisible >= relpages * 0.99 FROM pg_catalog.pg_class WHERE oid = '" + place +
                              "facts'::regclass") == "t";
}

} // namespace calibrate
