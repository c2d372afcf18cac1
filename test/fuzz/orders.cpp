#include "classes.hpp"

namespace fuzz {

namespace {

// A column that can be a key: the operators that order it otherwise (none: its own are meant), and what of a key is the same
// for all values that its operators take for equal.
struct Key {
    const char *column;
    vector<const char *> less, greater;
    const char *canonical; // %: the column
};

const vector<Key> keys = {
    {"v", {"OPERATOR(ord.<#)"}, {"OPERATOR(ord.>#)"}, "abs(%)"},
    {"s", {"OPERATOR(ord.<#)", "OPERATOR(ord.<@)", "~<~"}, {"OPERATOR(ord.>#)", "OPERATOR(ord.>@)", "~>~"}, "lower(%)"},
    {"d", {"OPERATOR(ord.<#)"}, {"OPERATOR(ord.>#)"}, "%"},
    {"e", {"<"}, {">"}, "%"},
    {"own", {"<"}, {">"}, "length(%::text)"}, // its default class is by length
    {"e", {}, {}, "%"},
    {"own", {}, {}, "length(%::text)"},
    {"v", {}, {}, "%"},
    {"s", {}, {}, "%"},
    {"f", {"<"}, {">"}, "%"},
    {"n", {"<"}, {">"}, "%::numeric(20,4)"},
};

const Table columns{"ord.t",
                    900,
                    true,
                    {{"id", Int4, "int4", 0, 0, 900},
                     {"v", Int4, "int4", 0, 0, 0},
                     {"s", Text, "text", 0, 0, 0},
                     {"d", Date, "date", 0, 0, 0},
                     {"n", Numeric, "numeric(9,2)", 0, 0, 0}}};

string canonical(const Key &key) {
    string out = key.canonical;
    for (size_t at; (at = out.find('%')) != string::npos;)
        out.replace(at, 1, key.column);
    return out;
}

string order_of(const Key &key) {
    const string nulls = pick({"", "", " NULLS FIRST", " NULLS LAST"});
    if (key.less.empty())
        return key.column + pick({"", " DESC"}) + nulls;
    return key.column + string(" USING ") + pick(chance(60) ? key.less : key.greater) + nulls;
}

vector<Key> some_keys() {
    vector<Key> out;
    for (int i = 1 + roll(chance(40) ? 3 : 1); i > 0; --i) {
        const Key key = pick(keys);
        bool there = false;
        for (const Key &other : out)
            there |= string(other.column) == key.column;
        if (!there)
            out.push_back(key);
    }
    return out;
}

string condition() {
    if (chance(30))
        return "";
    Scope scope;
    scope.sources = {{"t", columns.columns}};
    Generator g{scope};
    switch (roll(5)) {
    case 0:
        return " WHERE t.e " + pick({"<", ">=", "=", "<>"}) + " " +
               pick({"'low'", "'mid'", "'high'", "'none'", "'top'"});
    case 1:
        return " WHERE t.e IN ('low', 'none')" + string(chance(50) ? " OR t.own > 'bb'" : "");
    case 2:
        return " WHERE t.v OPERATOR(ord." + pick({"=#", "<#", ">=#"}) + ") " + number(roll(20));
    case 3:
        return " WHERE t.s OPERATOR(ord." + pick({"=#", "<#", ">=#", "<@", "=@"}) + ") 'W" + number(roll(13)) + "x'";
    default:
        return " WHERE " + g.condition(2);
    }
}

string columns_of(const vector<Key> &some) {
    vector<string> out;
    for (const Key &key : some)
        out.push_back(key.column);
    return joined(out);
}
string shown(const vector<Key> &some) {
    vector<string> out;
    for (const Key &key : some)
        out.push_back(canonical(key));
    return joined(out);
}
string ordered(const vector<Key> &some) {
    vector<string> out;
    for (const Key &key : some)
        out.push_back(order_of(key));
    return joined(out);
}

string orders_query() {
    const vector<Key> some = some_keys();
    const string names = columns_of(some), from = " FROM ord.t t" + condition(), order = ordered(some);
    const string limit = chance(30) ? " LIMIT " + number(1 + roll(20)) : "";
    switch (roll(15)) {
    case 0:
    case 1:
        return "SELECT " + shown(some) + ", count(*), sum(id), min(id)" + from + " GROUP BY " + names + " ORDER BY " +
               order;
    case 2:
        return "SELECT count(*), " + shown(some) + " FROM (SELECT DISTINCT " + names + from + " ORDER BY " + order +
               ") t GROUP BY " + shown(some);
    case 3:
        return "SELECT " + shown(some) + ", id FROM (SELECT DISTINCT ON (" + names + ") " + names + ", id" + from +
               " ORDER BY " + order + ", id) t";
    case 4: {
        const Key &key = some[0];
        return "SELECT count(DISTINCT " + string(key.column) + " ORDER BY " + order_of(key) + "), count(DISTINCT " +
               key.column + ")" + from;
    }
    case 5:
        return "SELECT md5(array_agg(id)::text) FROM (SELECT id" + from + " ORDER BY " + order + ", id" +
               (limit.empty() ? "" : limit + " OFFSET " + number(roll(30))) + ") t";
    case 6:
        return "SELECT id, rank() OVER (PARTITION BY " + string(pick(keys).column) + " ORDER BY " + order + ")" + from;
    case 7:
        return "SELECT count(*), sum(t.id), sum(u.id) FROM ord.t t JOIN ord.u u ON " +
               pick({"t.v OPERATOR(ord.=#) u.v", "t.s OPERATOR(ord.=#) u.s", "t.s OPERATOR(ord.=@) u.s", "t.e = u.e",
                     "t.own = u.own", "t.own = u.own AND t.e = u.e"}) +
               condition();
    case 8:
        return "SELECT " + pick({"grouping(", "count("}) + some[0].column + "), count(*), sum(id)" + from +
               " GROUP BY " + pick({"ROLLUP (", "CUBE ("}) + names + ")" + (chance(50) ? " ORDER BY " + order : "");
    case 9: {
        const string column = pick({"e", "own", "v", "d"});
        const string canon = column == "own" ? "length(own::text)" : column;
        return "SELECT count(*), " + canon + " FROM (SELECT " + column + from +
               pick({" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT "}) + "SELECT " + column + " FROM ord.u t" +
               condition() + ") x GROUP BY 2";
    }
    case 10:
        return "SELECT " +
               pick({"min(e), max(e)", "length(min(own)::text), length(max(own)::text)", "count(DISTINCT e)",
                     "count(DISTINCT own)", "length(greatest(min(own), max(own))::text)", "max(greatest(e, 'mid'))",
                     "min(least(e, 'low', NULL))"}) +
               ", count(*)" + from + (chance(50) ? " GROUP BY k" : "");
    case 11: {
        const string column = pick({"e", "own", "v"});
        return "SELECT count(*)" + from + (from.find(" WHERE ") == string::npos ? " WHERE " : " AND ") + "t." + column +
               pick({" IN", " NOT IN"}) + " (SELECT u." + column + " FROM ord.u u" +
               pick({"", " WHERE u.e IS NOT NULL", " WHERE u.own > 'bb'", " WHERE u.v > 3"}) + ")";
    }
    case 12:
        return "SELECT id" + from + (from.find(" WHERE ") == string::npos ? " WHERE " : " AND ") +
               pick({"(t.v, t.id) < (3, 400)", "(t.e, t.id) >= ('mid', 100)", "(t.own, t.k) < ('ccc', 5)",
                     "t.v OPERATOR(ord.<#) ANY (ARRAY[3, -7])", "t.s OPERATOR(ord.=#) ALL (ARRAY['w3X'])",
                     "t.e BETWEEN 'low' AND 'high'", "t.e = ANY ('{low,top}')", "nullif(t.e, 'mid') IS NULL",
                     "CASE t.e WHEN 'low' THEN true WHEN 'top' THEN NULL ELSE t.v > 3 END",
                     "CASE t.own WHEN 'xx' THEN true ELSE false END", "t.own IS DISTINCT FROM 'xx'"});
    case 13:
        return "SELECT " + shown(some) + ", c FROM (SELECT " + names + ", count(*) c" + from + " GROUP BY " + names +
               " ORDER BY " + order + limit + ") t";
    default: // several levels
        return "SELECT c, count(*) FROM (SELECT count(*) c" + from + " GROUP BY " + names + " ORDER BY " + order +
               ") x GROUP BY c";
    }
}

// Queries whose "=" is not the catalogue's: of integers by their last digit, of texts without case.
string by_name_query() {
    const string x = pick({"t.v", "t.id", "t.v + 1"}), y = chance(60) ? pick({"t.v", "t.k"}) : number(roll(12));
    const string s = pick({"t.s", "upper(t.s)", "lower(t.s)"});
    switch (roll(9)) {
    case 0:
        return "SELECT count(*), sum(id) FROM ord.t t WHERE " + x + pick({" = ", " <> ", " IS DISTINCT FROM "}) + y;
    case 1:
        return "SELECT count(*), sum(id) FROM ord.t t WHERE " + x + pick({" IN (", " NOT IN ("}) + number(roll(20)) +
               ", 7, " + number(roll(90)) + ")";
    case 2:
        return "SELECT id, CASE " + x + " WHEN 3 THEN 'three' WHEN " + y + " THEN 'y' ELSE 'no' END FROM ord.t t";
    case 3:
        return "SELECT id, nullif(" + x + ", " + y + ") IS NULL FROM ord.t t";
    case 4:
        return "SELECT count(*), sum(t.id) FROM ord.t t JOIN ord.u u ON " +
               pick({"t.v = u.v", "t.s = u.s", "t.s = u.s AND t.v = u.v"});
    case 5:
        return "SELECT count(*) FROM ord.t t WHERE " + s + pick({" = ", " <> "}) + "'W" + number(roll(13)) + "x'";
    case 6:
        return "SELECT count(*) FROM ord.t t WHERE " + pick({"t.v", "t.k"}) + pick({" IN", " NOT IN"}) +
               " (SELECT u.v FROM ord.u u WHERE u.id < 5)";
    case 7:
        return "SELECT count(*) FROM ord.t t WHERE EXISTS (SELECT FROM ord.u u WHERE " +
               pick({"u.v = t.v", "u.s = t.s"}) + ")";
    default:
        return "SELECT count(*) FROM ord.t JOIN ord.u USING (" + pick({"v", "s", "v, s"}) + ")";
    }
}

} // namespace

void prepare_orders(World &w) {
    make_tables(w.session(), nullptr); // (with its functions)
    w.run(0, "DROP SCHEMA IF EXISTS ord, ord_eq CASCADE; CREATE SCHEMA ord; CREATE SCHEMA ord_eq");
    w.run(0, R"(CREATE FUNCTION ord.make_class(name text, of text, suffix text, code text, is_default text DEFAULT '')
RETURNS void LANGUAGE plpgsql SET search_path = ord AS $$
DECLARE
    operators constant text[] := ARRAY['<', '<=', '=', '>=', '>'];
    parts text := '';
BEGIN
    EXECUTE format('CREATE FUNCTION %1$s_cmp(a %2$s, b %2$s) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT AS $f$ BEGIN RETURN %3$s; END $f$', name, of, code);
    FOR i IN 1..5 LOOP
        EXECUTE format('CREATE FUNCTION %1$s_%2$s(a %3$s, b %3$s) RETURNS bool LANGUAGE plpgsql IMMUTABLE STRICT AS $f$ BEGIN RETURN ord.%1$s_cmp(a, b) %4$s 0; END $f$', name, i, of, operators[i]);
        EXECUTE format('CREATE OPERATOR %1$s (LEFTARG = %2$s, RIGHTARG = %2$s, FUNCTION = %3$s_%4$s, COMMUTATOR = %5$s%6$s)', operators[i] || suffix, of, name, i,
                       operators[6 - i] || suffix, CASE WHEN i = 3 THEN ', MERGES' END);
        parts := parts || format('OPERATOR %s %s, ', i, operators[i] || suffix);
    END LOOP;
    EXECUTE format('CREATE OPERATOR CLASS %1$s_ops %2$s FOR TYPE %3$s USING btree AS %4$s FUNCTION 1 %1$s_cmp(%3$s, %3$s)', name, is_default, of, parts);
END $$)");
    w.run(0, "CREATE TYPE ord.mood AS ENUM ('low', 'high')");
    w.run(0, "ALTER TYPE ord.mood ADD VALUE 'mid' BEFORE 'high'");
    w.run(0, "ALTER TYPE ord.mood ADD VALUE 'none' BEFORE 'low'");
    w.run(0, "ALTER TYPE ord.mood ADD VALUE 'top' AFTER 'high'");
    w.run(0, "CREATE TYPE ord.own AS ENUM ('xx', 'a', 'bb', 'ccc', 'zzz', 'dddd')");
    w.run(0, "SELECT ord.make_class('abs', 'int4', '#', 'sign(abs(a) - abs(b))'), ord.make_class('ci', 'text', '#', "
             "'bttextcmp(lower(a), lower(b))'), ord.make_class('back', 'text', '@', 'bttextcmp(reverse(a), "
             "reverse(b))'), ord.make_class('down', 'date', '#', 'b - a'), ord.make_class('own', 'ord.own', '~#', "
             "'sign(length(a::text) - length(b::text))', 'DEFAULT')");
    w.run(0, "CREATE FUNCTION ord_eq.eq(int, int) RETURNS bool IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN "
             "pg_catalog.int4eq($1 % 10, $2 % 10); END'");
    w.run(0, "CREATE FUNCTION ord_eq.eq(text, text) RETURNS bool IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN "
             "pg_catalog.texteq(pg_catalog.lower($1), pg_catalog.lower($2)); END'");
    w.run(0, "CREATE OPERATOR ord_eq.= (LEFTARG = int, RIGHTARG = int, FUNCTION = ord_eq.eq, COMMUTATOR = "
             "OPERATOR(ord_eq.=))");
    w.run(0, "CREATE OPERATOR ord_eq.= (LEFTARG = text, RIGHTARG = text, FUNCTION = ord_eq.eq, COMMUTATOR = "
             "OPERATOR(ord_eq.=))");
    w.run(0, "CREATE FUNCTION ord_eq.ne(int, int) RETURNS bool IMMUTABLE STRICT LANGUAGE plpgsql AS 'BEGIN RETURN NOT "
             "ord_eq.eq($1, $2); END'");
    w.run(0, "CREATE OPERATOR ord_eq.<> (LEFTARG = int, RIGHTARG = int, FUNCTION = ord_eq.ne, COMMUTATOR = "
             "OPERATOR(ord_eq.<>))");
    w.run(0, "CREATE TABLE ord.t (id int NOT NULL, k int, v int, s text, d date, e ord.mood, own ord.own, f float8, n "
             "numeric(9,2))");
    w.run(0, "CREATE TABLE ord.u (LIKE ord.t)");
}

void orders_round(World &w) {
    if (w.round % 60 == 0) {
        const string values =
            "i, i % 9, CASE WHEN i % 23 = 0 THEN NULL ELSE i % 41 - 20 END, CASE i % 4 WHEN 0 THEN upper('w' || i % 13 "
            "|| "
            "'x') WHEN 1 THEN 'w' || i % 13 || 'X' WHEN 2 THEN 'w' || i % 13 || 'x' END, date '2024-01-01' + i % 50, "
            "(enum_range(NULL::ord.mood))[1 + i % 6], (enum_range(NULL::ord.own))[1 + i * 7 % 8], i % 9, i % 30 / 4.0";
        w.run(0, "TRUNCATE ord.t, ord.u; INSERT INTO ord.t SELECT " + values + " FROM generate_series(1, " +
                     number(pick(vector<int>{5, 90, 900, 3000})) + ") i; INSERT INTO ord.u SELECT " + values +
                     " FROM generate_series(3, 40) i; ANALYZE ord.t, ord.u");
        w.run(0, chance(60) ? "VACUUM ord.t" : "SELECT 1");
    }
    if (chance(25))
        w.ask(query(by_name_query()), "SET LOCAL search_path = ord_eq, pg_catalog, public");
    else
        w.ask(query(orders_query()), chance(20) ? "SET LOCAL enable_hashagg = off" : "");
}

} // namespace fuzz
