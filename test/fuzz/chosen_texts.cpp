#include "classes.hpp"

namespace fuzz {

namespace {

Table chosen;

// SQL for the text number i of a kind, of which two are equal only if their numbers are.
string text_of_number() {
    const string i = "lpad(i::text, 8, '0')";
    switch (roll(15)) {
    case 0:
        return i;
    case 1: // of one beginning
        return "repeat('x', " + number(pick(vector<int>{1, 4, 7, 8, 9, 15, 16, 17, 120, 1000})) + ") || i";
    case 2: // of one end
        return "i || repeat('x', " + number(pick(vector<int>{1, 7, 8, 9, 23, 31, 32, 120, 1000})) + ")";
    case 3: // beginnings of each other
        return "repeat('a', i)";
    case 4: // of two letters in some order
        return "translate(i::bit(12)::text, '01', 'ab')";
    case 5: // multibyte
        return "chr(1000 + i) || 'x' || chr(19968 + i)";
    case 6:
        return "chr(128512 + i % 60) || repeat(chr(228), i / 60)";
    case 7: // around the lengths of short headers and of TOAST
        return "rpad(i::text || '.', " +
               pick({"120 + i % 12", "1990 + i % 60", "8100 + i % 200", "2000 + i", "126", "127", "2032"}) + ", 'pq')";
    case 8: // not to be compressed
        return "i || (SELECT string_agg(md5((i * 1000 + j)::text), '') FROM generate_series(1, " +
               number(pick(vector<int>{3, 4, 63, 64, 70, 260})) + ") j)";
    case 9: // one letter of many
        return "overlay(repeat('m', 300) placing chr(65 + i % 26) from 1 + i / 26 * 7)";
    case 10: // blanks and controls at the end
        return "i || repeat(' ', i % 5) || chr(1 + i % 30)";
    case 11: // a number's forms
        return "i || repeat('0', i % 7) || '.'";
    case 12: // case and accents
        return "CASE i % 3 WHEN 0 THEN upper('straße ' || i) WHEN 1 THEN 'strasse ' || i ELSE 'Straße ' || i END";
    case 13:
        return "'%_\\' || i || '\\'";
    default: // one byte each, then two
        return "chr(CASE WHEN i % 200 < 94 THEN 33 + i % 200 ELSE 161 + i % 200 END) || repeat('z', i / 200)";
    }
}

void make_texts(World &w) {
    const int values = pick(vector<int>{1,   2,   3,   15,  16,  17,  31,  33,  64,  65,  127,  128,  129,
                                        250, 254, 255, 256, 257, 258, 300, 511, 512, 513, 1023, 1024, 1025});
    const int rows = values + (chance(50) ? roll(2000) : roll(20));
    const bool nulls = chance(30);
    w.run(0, "DROP TABLE IF EXISTS fuzz.chosen, fuzz.partners");
    const string collation = pick({"", "", " COLLATE \"C\"", " COLLATE \"en-x-icu\""});
    const string type = pick({"text", "text", "text", "varchar", "varchar(9000)"});
    w.run(0, "CREATE TABLE fuzz.chosen (k int, x " + type + collation + ", y text, z int)" +
                 (chance(20) ? " WITH (toast_tuple_target = 128)" : ""));
    if (chance(40))
        w.run(0, "ALTER TABLE fuzz.chosen ALTER x SET STORAGE " + pick({"EXTERNAL", "MAIN", "PLAIN"}));
    w.attempt(0, "INSERT INTO fuzz.chosen SELECT i, " + text_of_number() + ", " + text_of_number() +
                     ", i % 7 FROM (SELECT n % " + number(values) + " AS i FROM generate_series(0, " +
                     number(rows - 1) + ") n) s");
    if (nulls)
        w.run(0, "INSERT INTO fuzz.chosen SELECT 1, NULL, CASE i WHEN 1 THEN '' END, i FROM generate_series(1, 3) i");
    w.run(0, "CREATE TABLE fuzz.partners AS SELECT k, x" + collation + " AS x, y FROM fuzz.chosen WHERE k % " +
                 number(1 + roll(5)) + " = 0 LIMIT 300");
    if (chance(70))
        w.run(0, "VACUUM (FREEZE) fuzz.chosen");
    if (chance(50))
        w.run(0, "ANALYZE fuzz.chosen");
    chosen = Table{"fuzz.chosen",
                   rows,
                   true,
                   {{"k", Int4, "int4", 0, 0, 0},
                    {"x", Text, "text", 0, 0, 0},
                    {"y", Text, "text", 0, 0, 0},
                    {"z", Int4, "int4", 0, 0, 0}}};
}

string texts_query(World &w) {
    Scope scope;
    scope.sources = {{"t", chosen.columns}};
    Generator g{scope};
    const string x = pick({"t.x", "t.x", "t.y"});
    // One of the texts that are there, whole or in part.
    pg::Connection &c = w.session();
    const string there = c.value("SELECT x FROM fuzz.chosen WHERE x IS NOT NULL ORDER BY k, x COLLATE \"C\" OFFSET " +
                                 number(roll(chosen.rows)) + " LIMIT 1");
    const string one = c.quote_literal(there);
    const string value = "(" + one + "::text)";
    const string from = " FROM fuzz.chosen t";
    const string where = chance(40) ? "" : " WHERE " + g.condition(1);
    const string f = pick({"length(%)",
                           "octet_length(%)",
                           "upper(%)",
                           "substr(%, 2)",
                           "left(%, 8)",
                           "right(%, 3)",
                           "left(%, -1)",
                           "% || 'x'",
                           "reverse(%)",
                           "replace(%, 'x', '')",
                           "strpos(%, 'x')",
                           "md5(%)",
                           "rtrim(%)",
                           "ascii(%)",
                           "split_part(%, 'x', 2)",
                           "lower(%)",
                           "initcap(%)",
                           "% COLLATE \"C\"",
                           "substr(%, 120, 20)",
                           "%::char(9)",
                           "%::varchar(3)",
                           "position('0' in %)"});
    string fx = f;
    fx.replace(fx.find('%'), 1, x);
    const string like = "(" + pick({"left(", "right(", "substr("}) + one + ", " + number(1 + roll(12)) + "))";
    switch (roll(20)) {
    case 0:
        return "SELECT " + x + ", count(*), sum(t.z)" + from + where + " GROUP BY 1";
    case 1:
        return "SELECT count(DISTINCT " + x + "), min(" + x + " COLLATE \"C\"), max(" + x + "), count(*)" + from +
               where;
    case 2:
        return "SELECT count(*), sum(t.k)" + from + " WHERE " + x +
               pick({" = ", " <> ", " < ", " >= ", " IS DISTINCT FROM "}) + value;
    case 3:
        return "SELECT count(*), sum(t.k)" + from + " WHERE " + x + pick({" LIKE ", " NOT LIKE ", " ILIKE "}) +
               pick({"'%' || ", ""}) + like + pick({"|| '%'", "|| '_'", "|| '_%'", ""});
    case 4:
        return "SELECT " + fx + " AS f, count(*)" + from + where + " GROUP BY 1";
    case 5:
        return "SELECT count(*), sum(t.k), sum(p.k)" + from + " JOIN fuzz.partners p ON " +
               pick({"p.x = t.x", "p.y = t.y", "p.x = t.x AND p.y = t.y", "p.x = t.y"}) + where;
    case 6:
        return "SELECT t.k, " + x + from + where + " ORDER BY " + x + " COLLATE \"C\", t.k LIMIT " + number(roll(40));
    case 7:
        return "SELECT md5(string_agg(v, ',')) FROM (SELECT " + x + " AS v" + from + where + " ORDER BY " + x +
               pick({"", " DESC", " COLLATE \"C\""}) + ") s";
    case 8:
        return "SELECT DISTINCT " + x + ", t.z" + from + where;
    case 9:
        return "SELECT x" + from + where + pick({" UNION ", " INTERSECT ", " EXCEPT ", " EXCEPT ALL "}) +
               "SELECT x FROM fuzz.partners";
    case 10:
        return "SELECT count(*)" + from + " WHERE " + x + pick({" IN ", " NOT IN "}) +
               "(SELECT p.x FROM fuzz.partners p WHERE p.x IS NOT NULL)";
    case 11:
        return "SELECT count(*), sum(length(" + x + ")), sum(octet_length(" + x + "))" + from + where;
    case 12:
        return "SELECT t.k, " + fx + from + where;
    case 13:
        return "SELECT count(*)" + from + " WHERE " + fx + pick({" IS NULL", " IS NOT NULL"}) + " AND " + x +
               pick({" ~ 'x[0-9]'", " !~ '^a'", " SIMILAR TO '%(0|1)%'", " ~* 'STRA'"});
    case 14:
        return "SELECT t.x, t.y, count(*)" + from + where +
               " GROUP BY t.x, t.y HAVING count(*) >= " + number(1 + roll(3));
    case 15:
        return "SELECT " + x + ", max(t.k)" + from + where + " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 9";
    case 16:
        return "SELECT count(*)" + from + " WHERE " + x + " BETWEEN " + value + " AND " + value + " || 'z' OR " + x +
               " IN (" + value + ", 'a', '')";
    case 17:
        return "SELECT count(CASE WHEN t.x > t.y THEN t.x END), count(nullif(t.x, t.y)), max(greatest(t.x, t.y, " +
               value + ") COLLATE \"C\")" + from + where;
    case 18:
        return "SELECT z, min(" + x + "), max(" + x + " COLLATE \"C\"), count(DISTINCT " + fx + ")" + from + where +
               " GROUP BY z";
    default:
        return "SELECT p.k, count(*)" + from + " RIGHT JOIN fuzz.partners p ON p.x = t.x AND " + g.condition(1) +
               " GROUP BY 1";
    }
}

} // namespace

void prepare_texts(World &w) { make_tables(w.session(), nullptr); }

void texts_round(World &w) {
    if (w.round % 25 == 0)
        make_texts(w);
    if (chance(6)) // a value more or less
        w.attempt(0, pick({"INSERT INTO fuzz.chosen SELECT 7, 'one more', x, z FROM fuzz.chosen LIMIT 1",
                           "DELETE FROM fuzz.chosen WHERE x = (SELECT min(x) FROM fuzz.chosen)",
                           "UPDATE fuzz.chosen SET x = y WHERE k = 3", "UPDATE fuzz.chosen SET y = x || y WHERE k = 5",
                           "VACUUM fuzz.chosen", "UPDATE fuzz.chosen SET x = '' WHERE k = 1"}));
    w.ask(query(texts_query(w), true, true));
}

} // namespace fuzz
