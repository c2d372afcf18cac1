#include "classes.hpp"

namespace fuzz {

namespace {

struct Deep {
    Generator &g;

    string leaf(Type type) {
        if (type == Bool)
            return g.condition(chance(80) ? 1 : 0);
        return type == Text ? g.text_value(chance(30) ? 1 : 0) : g.expression(type, chance(25) ? 1 : 0);
    }
    string type_name(Type type) { return type == Text ? "text" : type_names[type]; }
    vector<string> leaves(Type type, int n) {
        vector<string> out;
        while (n-- > 0)
            out.push_back(leaf(type));
        return out;
    }

    // A tree of a binary operator: to the left, to the right, or balanced.
    string tree(const vector<string> &parts, const string &op, int shape) {
        if (parts.size() == 1)
            return parts[0];
        const long size = static_cast<long>(parts.size());
        const long middle = shape == 0 ? size - 1 : shape == 1 ? 1 : size / 2;
        return "(" + tree({parts.begin(), parts.begin() + middle}, op, shape) + op +
               tree({parts.begin() + middle, parts.end()}, op, shape) + ")";
    }

    string condition(int n) {
        const Type type = pick(vector<Type>{Int4, Int8, Int2, Numeric, Date, Text, Float8, Timestamp});
        switch (roll(9)) {
        case 0:
            return tree(leaves(Bool, n), pick({" AND ", " OR "}), roll(3));
        case 1: { // of both kinds in turn
            string out = leaf(Bool);
            for (int i = 1; i < n; ++i)
                out = "(" +
                      (chance(50) ? out + (i % 2 ? " OR " : " AND ") + leaf(Bool)
                                  : leaf(Bool) + (i % 2 ? " OR " : " AND ") + out) +
                      ")";
            return out;
        }
        case 2: {
            string out = leaf(Bool);
            for (int i = 0; i < n; ++i)
                out = pick({"(NOT ", "("}) + out + pick({")", " IS NOT TRUE)", " IS FALSE)", " IS NOT UNKNOWN)"});
            return out;
        }
        case 3:
            return "(" + leaf(type) + pick({" IN (", " NOT IN ("}) + joined(leaves(type, n)) + "))";
        case 4:
            return "(" + leaf(type) + pick({" = ANY (ARRAY[", " <> ALL (ARRAY[", " < ANY (ARRAY[", " >= ALL (ARRAY["}) +
                   joined(leaves(type, n)) + "]::" + type_name(type) + "[]))";
        case 5: {
            vector<string> parts;
            for (int i = 0; i < n; ++i)
                parts.push_back(g.text_condition());
            return tree(parts, pick({" AND ", " OR "}), roll(3));
        }
        case 6: {
            vector<string> parts;
            for (int i = 0; i < n; ++i)
                parts.push_back("(" + leaf(type) + " = " + leaf(type) + " AND " + leaf(Bool) + ")");
            return tree(parts, " OR ", roll(3));
        }
        case 7: {
            string out = leaf(Bool);
            for (int i = 0; i < n; ++i)
                out = "(CASE WHEN " + out + " THEN " + leaf(Bool) + " ELSE " + leaf(Bool) + " END)";
            return out;
        }
        default:
            return "(" + grown(type, n) + pick({" = ", " <> ", " < ", " >= ", " IS DISTINCT FROM "}) + leaf(type) + ")";
        }
    }

    string grown(Type type, int n) {
        const bool number_like = type == Int2 || type == Int4 || type == Int8 || type == Float8 || type == Numeric;
        switch (roll(14)) {
        case 0:
        case 1:
            return pick({"greatest(", "least("}) + joined(leaves(type, n)) + ")";
        case 2: {
            vector<string> parts;
            for (int i = 0; i < n; ++i)
                parts.push_back(chance(70) ? "nullif(" + leaf(type) + ", " + leaf(type) + ")" : leaf(type));
            return "coalesce(" + joined(parts) + ")";
        }
        case 3: {
            string out = "(CASE";
            for (int i = 0; i < n; ++i)
                out += " WHEN " + leaf(Bool) + " THEN " + leaf(type);
            return out + (chance(70) ? " ELSE " + leaf(type) : "") + " END)";
        }
        case 4: {
            string out = "(CASE " + leaf(Int4);
            for (int i = 0; i < n; ++i)
                out += " WHEN " + (chance(80) ? number(i) : leaf(Int4)) + " THEN " + leaf(type);
            return out + (chance(70) ? " ELSE " + leaf(type) : "") + " END)";
        }
        case 5: {
            string out = leaf(type);
            for (int i = 0; i < n; ++i)
                out = "(CASE WHEN " + leaf(Bool) + " THEN " +
                      (chance(50) ? leaf(type) + " ELSE " + out : out + " ELSE " + leaf(type)) + " END)";
            return out;
        }
        case 6: { // the nesting is in the condition
            string out = leaf(type);
            for (int i = 0; i < n; ++i)
                out = "(CASE WHEN " + out + pick({" < ", " = ", " >= "}) + leaf(type) + " THEN " + leaf(type) +
                      " ELSE " + leaf(type) + " END)";
            return out;
        }
        case 7: {
            string out = leaf(type);
            for (int i = 0; i < n; ++i)
                out = pick({"coalesce(", "nullif(", "greatest(", "least("}) +
                      (chance(50) ? out + ", " + leaf(type) : leaf(type) + ", " + out) + ")";
            return out;
        }
        case 8:
            if (number_like) {
                string out = leaf(type);
                for (int i = 0; i < n; ++i)
                    out = pick({"abs(", "(- ", "(+ "}) + out + ")";
                return out;
            }
            if (type == Text) {
                string out = leaf(type);
                for (int i = 0; i < n; ++i)
                    out = pick({"upper(", "lower(", "reverse(", "initcap(", "rtrim(", "btrim("}) + out + ")";
                return "(" + out + " COLLATE \"C\")";
            }
            return grown(type, n);
        case 9:
        case 10:
            if (number_like)
                return tree(leaves(type, n), type == Numeric || chance(50) ? " + " : " - ", roll(3));
            if (type == Text)
                return tree(leaves(type, n), " || ", roll(3));
            return grown(type, n);
        case 11: { // the same column again and again: what is shared
            const string x = leaf(type);
            string out = x;
            for (int i = 0; i < n; ++i)
                out = pick({"coalesce(nullif(", "greatest(least("}) + out + ", " + x + "), " + leaf(type) + ")";
            return out;
        }
        case 12: { // some shapes within another
            vector<string> parts;
            for (int i = 0; i < 4; ++i)
                parts.push_back(grown(type, 1 + n / 5));
            return pick({"greatest(", "least(", "coalesce("}) + joined(parts) + ")";
        }
        default:
            return "(CASE WHEN " + condition(n / 2 + 1) + " THEN " + leaf(type) + " ELSE " + grown(type, n / 2 + 1) +
                   " END)";
        }
    }

    string key(Type type, int n) {
        const string x = grown(type, n);
        return type == Numeric ? "(" + x + ")::numeric(30,8)" : x;
    }
};

string deep_query() {
    const int n = chance(20)  ? 1 + roll(80)
                  : chance(3) ? pick(vector<int>{130, 260, 520, 700}) // at the end of what devices take
                              : pick(vector<int>{10, 10, 20, 20, 40, 80});
    const Table &table = tables[static_cast<size_t>(pick(vector<int>{0, 0, 0, 2, 4, 1}))]; // a, s, big; e has errors
    Scope scope;
    scope.sources = {{"r0", table.columns}};
    Generator g{scope};
    Deep d{g};
    const string from = " FROM " + table.name + " r0";
    const Type type = pick(vector<Type>{Int4, Int4, Int8, Int2, Numeric, Numeric, Date, Timestamp, Text, Text, Float8});
    const string aggregate =
        type == Text || type == Date || type == Timestamp ? "max(" : pick({"sum(", "min(", "max("});
    switch (roll(14)) {
    case 0:
    case 1:
        return "SELECT count(*), sum(r0.k)" + from + " WHERE " + d.condition(n);
    case 2:
    case 3:
        return "SELECT " + aggregate + d.grown(type, n) + ")" + from;
    case 4:
        return "SELECT r0.k, " + d.grown(type, n) + " AS x" + from + (chance(50) ? " WHERE " + d.condition(n) : "");
    case 5:
        return "SELECT " + d.key(type == Float8 ? Int4 : type, n) + " AS x, count(*)" + from + " GROUP BY 1";
    case 6: {
        vector<string> calls;
        for (int i = 0; i < n; ++i)
            calls.push_back(i % 3 ? aggregate + d.leaf(type) + ")" : g.aggregate());
        return "SELECT " + joined(calls) + from;
    }
    case 7: {
        vector<string> calls;
        for (int i = 0; i < n; ++i)
            calls.push_back("sum(r0.k + " + number(i) + ")");
        return "SELECT r0.b, count(*)" + from + " GROUP BY 1 HAVING " + pick({"greatest(", "least("}) + joined(calls) +
               ") > " + number(roll(4000));
    }
    case 8:
        return "SELECT count(*), sum(r0.k)" + from + " JOIN fuzz.s r1 ON r1.k = " + d.grown(Int4, n);
    case 9: {
        vector<string> items;
        for (int i = 0; i < n; ++i)
            items.push_back(d.leaf(pick(vector<Type>{Int4, Int8, Numeric, Date, Text, Bool})) + " AS c" + number(i));
        return "SELECT " + joined(items) + from;
    }
    case 10: { // keys
        vector<string> items, positions;
        for (int i = 0; i < n && i < 30; ++i) {
            items.push_back(chance(50) ? "r0." + pick(table.columns).name : d.key(Int4, 1 + n / 20));
            positions.push_back(number(i + 1));
        }
        return "SELECT " + joined(items) + ", count(*)" + from + " GROUP BY " + joined(positions);
    }
    case 11:
        return "SELECT count(DISTINCT " + d.key(type == Float8 ? Int8 : type, n) + ")" + from;
    case 12: { // levels of subqueries, which become one: what they share doubles each time
        string sub = "(SELECT r0.k AS x, r0.i4 AS y" + from + ")";
        for (int i = std::min(n / 8, 8); i >= 0; --i)
            sub = "(SELECT greatest(q.x, q.y) AS x, " +
                  pick({"q.y", "least(q.x, q.y)", "coalesce(q.y, q.x)", "nullif(q.y, q.x)"}) + " AS y FROM " + sub +
                  " q)";
        return "SELECT count(*), sum(z.x::int8), max(z.y) FROM " + sub + " z";
    }
    default:
        return "SELECT count(*) FILTER (WHERE " + d.condition(n) + "), " + aggregate + d.grown(type, n / 2 + 1) + ")" +
               from + " WHERE " + d.condition(n / 2 + 1);
    }
}

} // namespace

void prepare_deep(World &w) { make_tables(w.session(), nullptr); }

void deep_round(World &w) {
    if (chance(2)) // of values some are all-visible, some not
        w.attempt(0, "UPDATE fuzz.a SET i4 = i4 WHERE k = " + number(roll(120)));
    if (chance(2))
        w.attempt(0, "VACUUM fuzz.a");
    w.ask(query(deep_query(), true, true));
}

} // namespace fuzz
