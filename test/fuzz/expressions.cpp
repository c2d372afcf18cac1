#include "expressions.hpp"

namespace fuzz {

bool one_of_equals;

vector<string> Generator::columns(Type type) const {
    vector<string> out;
    for (const Source &source : scope.sources)
        for (const Column &column : source.columns)
            if (column.type == type)
                out.push_back(source.alias + "." + column.name);
    return out;
}

string Generator::leaf(Type type) {
    vector<string> names = columns(type);
    if (!scope.outer[type].empty() && chance(15))
        return pick(scope.outer[type]);
    if (!names.empty() && chance(78))
        return pick(names);
    if (scope.parameters && chance(50)) {
        scope.parameters->push_back({type, literal(type, 5)});
        return "$" + std::to_string(scope.parameters->size());
    }
    return constant(type, 6);
}

string Generator::text_of(const string &column, int depth) {
    if (depth <= 0 || chance(45))
        return column;
    string inner = text_of(column, depth - 1);
    switch (roll(19)) {
    case 18:
        return "fuzz.loud((" + inner + ")::text)";
    case 14:
        return "replace(" + inner + ", 'a', " + quoted(pick({"", "e", "aa"})) + ")";
    case 15:
        return "reverse(" + inner + ")";
    case 16:
        return "split_part(" + inner + ", '-', " + number(1 + roll(3)) + ")";
    case 17:
        return "translate(" + inner + ", 'ab', 'b')";
    case 0:
        return "upper(" + inner + ")";
    case 1:
        return "lower(" + inner + ")";
    case 2:
        return "substr(" + inner + ", " + number(roll(6) - 2) + ")";
    case 3:
        return "substring(" + inner + ", " + number(roll(6) - 2) + ", " + number(roll(4)) + ")";
    case 4:
        return "left(" + inner + ", " + number(roll(6) - 3) + ")";
    case 5:
        return "right(" + inner + ", " + number(roll(6) - 3) + ")";
    case 6:
        return "rtrim(" + inner + ")";
    case 7:
        return inner + " || 'x'";
    case 8:
        return "'a' || " + inner;
    case 9:
        return "coalesce(" + inner + ", 'ab')";
    case 10:
        return "nullif(" + inner + ", 'a')";
    case 11:
        return "CASE WHEN " + inner + " LIKE 'a%' THEN " + inner + " ELSE 'b' END";
    case 12:
        return "(" + inner + ")::text";
    default:
        return "initcap(" + inner + ")";
    }
}

string Generator::text_column() {
    vector<string> names = columns(Text), padded = columns(Bpchar);
    names.insert(names.end(), padded.begin(), padded.end());
    return names.empty() ? "'abc'::text" : pick(names);
}

string Generator::text_value(int depth) {
    auto one = [&] { return "((" + text_of(text_column(), 1) + ")::text COLLATE \"C\")"; };
    if (depth <= 0 || chance(50))
        return one();
    switch (roll(5)) {
    case 0:
        return "coalesce(" + text_value(depth - 1) + ", " + text_value(depth - 1) + ")";
    case 1:
        return "nullif(" + text_value(depth - 1) + ", " + text_value(depth - 1) + ")";
    case 2:
        return "(CASE WHEN " + condition(1) + " THEN " + text_value(depth - 1) +
               (chance(70) ? " ELSE " + text_value(depth - 1) : "") + " END)";
    case 3:
        return "(CASE WHEN " + condition(1) + " THEN 'a' WHEN " + condition(1) + " THEN 'xyz' ELSE 'ab' END)";
    default:
        return "(" + quoted(literal(Text, 10)) + "::text)";
    }
}

string Generator::text_condition() {
    if (chance(25))
        return text_value(2) + pick({" = ", " = ", " <> ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM "}) +
               text_value(2);
    if (chance(10))
        return text_value(2) + pick({" IN ", " NOT IN "}) + "('a', 'ab', " + quoted(literal(Text, 10)) + ")";
    string x = "(" + text_of(text_column(), 2) + ")";
    string value = quoted(literal(Text, 15));
    if (!scope.outer[Text].empty() && chance(40)) {
        value = pick(scope.outer[Text]);
    } else if (scope.parameters && chance(30)) {
        scope.parameters->push_back({Text, literal(Text, 10)});
        value = "$" + std::to_string(scope.parameters->size());
    }
    switch (roll(13)) {
    case 10:
    case 11:
        return "fuzz.odd((" + x + ")::text)";
    case 12:
        return chance(80) ? "fuzz.size((" + x + ")::text) > 2" : "fuzz.picky((" + x + ")::text)";
    case 0:
    case 1:
    case 2:
        return x + " " + pick({"=", "<>", "<", "<=", ">", ">="}) + " " + value;
    case 3:
        return x + pick({" LIKE ", " NOT LIKE ", " ILIKE "}) +
               quoted(pick({"a%", "%b%", "_", "%", "", "a\\%", "%a_c", "\\\\%"}));
    case 4:
        return x + pick({" IN ", " NOT IN "}) + "('a', " + value + pick({", 'ab')", ", NULL)", ")"});
    case 5:
        return x + pick({" IS NULL", " IS NOT NULL"});
    case 6:
        return x + pick({" ~ 'a'", " !~ '^a.*b'", " ~* 'AB|x'", " IS DISTINCT FROM 'a'", " IS DISTINCT FROM NULL"});
    case 7:
        return x + " COLLATE " + pick({"\"C\"", "\"en-x-icu\""}) + pick({" < ", " >= "}) + value;
    case 8:
        return "starts_with(" + x + "::text, 'a')";
    default:
        return x + " BETWEEN 'a' AND " + value;
    }
}

Type Generator::comparable() {
    static const vector<Type> choice = {Int2,    Int4,    Int8, Int4,      Int8,        Float4, Float8,
                                        Numeric, Numeric, Date, Timestamp, Timestamptz, Bool};
    return pick(choice);
}

Type Generator::number_type() {
    static const vector<Type> choice = {Int2, Int4, Int8, Float8, Numeric};
    return pick(choice);
}

string Generator::condition(int depth) {
    if (depth <= 0 || chance(8)) {
        vector<string> names = columns(Bool);
        return names.empty() || chance(10) ? pick({"true", "false", "NULL::bool"}) : pick(names);
    }
    Type type = comparable();
    auto x = [&] { return expression(type, depth - 1); };
    switch (roll(29)) {
    case 28:
        return "(" + quotient(depth - 1) + pick({" < ", " <= ", " = ", " > "}) +
               (chance(50) ? constant(Numeric) : expression(Numeric, depth - 1)) + ")";
    case 24: // of the same moment both are equal, however they are written
        return "(" + span(depth - 1) + pick({" = ", " <> ", " < ", " <= ", " > ", " >= "}) + span(depth - 1) + ")";
    case 25: {
        string list;
        type = pick(vector<Type>{Int2, Int4, Int8, Numeric, Date, Timestamp});
        for (int i = 9 + roll(300); i > 0; --i)
            list += (list.empty() ? "" : ", ") + constant(type);
        return "(" + x() + pick({" IN (", " NOT IN ("}) + list + "))";
    }
    case 26:
        return "(" + expression(Timestamptz, depth - 1) + pick({"::date", ""}) + pick({" = ", " < ", " >= "}) +
               expression(Date, depth - 1) + ")";
    case 27:
        return "(" + expression(Timestamptz, depth - 1) + pick({"::timestamp", " AT TIME ZONE 'Europe/Berlin'", ""}) +
               pick({" = ", " < ", " >= "}) + expression(Timestamp, depth - 1) + ")";
    case 22:
        return "(" + expression(Date, depth - 1) + pick({" = ", " <> ", " < ", " <= ", " > ", " >= "}) +
               expression(Timestamp, depth - 1) + ")";
    case 23:
        return "(" + expression(Timestamp, depth - 1) + pick({" = ", " <> ", " < ", " <= ", " > ", " >= "}) +
               expression(Date, depth - 1) + ")";
    case 0:
    case 1:
        return "(" + condition(depth - 1) + " AND " + condition(depth - 1) + ")";
    case 2:
    case 3:
        return "(" + condition(depth - 1) + " OR " + condition(depth - 1) + ")";
    case 4:
        return "(NOT " + condition(depth - 1) + ")";
    case 5:
        return "(" + x() + pick({" IS NULL", " IS NOT NULL"}) + ")";
    case 6:
        return "(" + condition(depth - 1) +
               pick({" IS TRUE", " IS NOT TRUE", " IS FALSE", " IS NOT FALSE", " IS UNKNOWN", " IS NOT UNKNOWN"}) + ")";
    case 7: {
        string list = constant(type);
        for (int i = roll(5); i > 0; --i)
            list += ", " + constant(type);
        return "(" + x() + pick({" IN (", " NOT IN ("}) + list + "))";
    }
    case 8:
        return "(" + x() + pick({" BETWEEN ", " NOT BETWEEN "}) + leaf(type) + " AND " + leaf(type) + ")";
    case 9:
        return "(" + x() + pick({" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "}) + x() + ")";
    case 10:
        return "(CASE WHEN " + condition(depth - 1) + " THEN " + condition(depth - 1) + " ELSE " +
               condition(depth - 1) + " END)";
    case 11:
        return "coalesce(" + condition(depth - 1) + ", " + condition(depth - 1) + ")";
    case 12:
    case 13:
    case 14:
        return "(" + text_condition() + ")";
    case 15: { // numbers of different types
        Type other = number_type();
        if (type == Bool || type >= Date)
            type = Int4;
        return "(" + expression(type, depth - 1) + pick({" = ", " <> ", " < ", " >= "}) + expression(other, depth - 1) +
               ")";
    }
    case 16:
        return "(" + x() + pick({" = ANY ", " <> ALL ", " < ANY ", " >= ALL "}) + "('{}'::" + type_names[type] + "[]))";
    default:
        return "(" + x() + " " + pick({"=", "<>", "<", "<=", ">", ">="}) + " " + x() + ")";
    }
}

string Generator::expression(Type type, int depth) {
    if (type == Bool)
        return condition(depth);
    if (depth <= 0 || chance(35))
        return leaf(type);
    auto same = [&] { return expression(type, depth - 1); };
    switch (roll(13)) {
    case 12:
        return string(chance(50) ? "greatest(" : "least(") + same() + ", " + same() +
               (chance(30) ? ", " + leaf(type) : "") + ")";
    case 0:
        return "coalesce(" + same() + ", " + same() + ")";
    case 1:
        return "(CASE WHEN " + condition(depth - 1) + " THEN " + same() + (chance(70) ? " ELSE " + same() : "") +
               " END)";
    case 2:
        return "nullif(" + same() + ", " + same() + ")";
    case 3:
        return "(CASE " + expression(Int4, 1) + " WHEN 1 THEN " + same() + " WHEN " + constant(Int4) + " THEN " +
               leaf(type) + " END)";
    default:
        break;
    }
    auto arithmetic = [&](const string &operators) {
        string op(1, operators[static_cast<size_t>(roll(static_cast<int>(operators.size())))]);
        return "(" + same() + " " + op + " " + same() + ")";
    };
    switch (type) {
    case Int2:
        return chance(50) ? arithmetic("+-*/%") : chance(30) ? "(- " + same() + ")" : "(" + leaf(Int4) + ")::int2";
    case Int4:
        switch (roll(11)) {
        case 10:
            return pick({"gcd(", "lcm("}) + same() + ", " + leaf(Int4) + ")";
        case 8:
            return "abs(" + same() + ")";
        case 9:
            return "(" + expression(Numeric, depth - 1) + ")::int4";
        case 0:
            return "(" + leaf(Int2) + " " + pick({"+", "-", "*", "/"}) + " " + same() + ")";
        case 1:
            return (chance(70) ? "length((" : "fuzz.size((") + text_of(text_column(), 1) + ")::text)";
        case 2:
            return "(" + leaf(Date) + " - " + leaf(Date) + ")";
        case 3:
            return "(" + condition(depth - 1) + ")::int4";
        case 4:
            return "(" + leaf(pick(vector<Type>{Int8, Float8, Float4, Int2})) + ")::int4";
        case 5:
            return chance(50) ? "(- " + same() + ")" : "strpos(" + text_of(text_column(), 1) + ", 'b')";
        case 6:
            return chance(20) ? "(~ " + same() + ")" : "(" + same() + pick({" << ", " >> "}) + number(roll(34)) + ")";
        default:
            return arithmetic("+-*/%&|#");
        }
    case Int8:
        switch (roll(6)) {
        case 0:
            return "(" + expression(Int4, depth - 1) + " " + pick({"+", "-", "*", "/"}) + " " + same() + ")";
        case 1:
            return "(" + same() + " " + pick({"+", "-", "*", "/"}) + " " + leaf(Int2) + ")";
        case 2:
            return "(" + leaf(pick(vector<Type>{Int4, Float8, Int2})) + ")::int8";
        case 3:
            return "(- " + same() + ")";
        default:
            return arithmetic("+-*/%&|#");
        }
    case Float4:
        return chance(60) ? arithmetic("+-*/") : "(" + leaf(pick(vector<Type>{Int4, Float8, Int8, Int2})) + ")::float4";
    case Float8:
        switch (roll(7)) {
        case 5:
            return pick({"abs(", "floor(", "ceil(", "round(", "trunc(", "sign("}) + same() + ")";
        case 6:
            return chance(50) ? pick({"sqrt(abs(", "degrees((", "radians(("}) + same() + "))"
                              : "date_part('" + (chance(70) ? date_part() : pick({"second", "milliseconds", "epoch"})) +
                                    "', " + expression(Timestamp, depth - 1) + ")";
        case 0:
            return "(" + expression(pick(vector<Type>{Int4, Float4, Int8, Numeric}), depth - 1) + ")::float8";
        case 1:
            return "(" + leaf(Float4) + " " + pick({"+", "-", "*", "/"}) + " " + same() + ")";
        case 2:
            return "(- " + same() + ")";
        default:
            return arithmetic("+-*/");
        }
    case Numeric:
        switch (roll(15)) {
        case 13:
            return pick({"round(", "trunc("}) + quotient(depth - 1) + ", " + number(roll(20)) + ")";
        case 14:
            return "(" + quotient(depth - 1) + ")::numeric(" + pick({"20,4", "30,8", "12,2"}) + ")";
        case 6:
            return pick({"abs(", "floor(", "ceil(", "round(", "trunc(", "sign("}) + same() + ")";
        case 7:
            return pick({"round(", "trunc("}) + same() + ", " + number(roll(7) - 2) + ")";
        case 8:
            return "mod(" + same() + ", " + pick({"3", "0.75", "-7.125"}) + ")";
        case 9:
            return "extract(" + date_part() + " from " + expression(Date, depth - 1) + ")";
        case 10:
            return "extract(" +
                   (chance(50) ? date_part() : pick({"hour", "minute", "second", "milliseconds", "epoch"})) + " from " +
                   expression(chance(50) ? Timestamp : Timestamptz, depth - 1) + ")";
        case 12:
            return "extract(" + pick({"year", "month", "day", "hour", "minute", "second", "epoch"}) + " from " +
                   span(depth - 1) + ")";
        case 11:
            return "(" + same() + ")::numeric(" + pick({"9,1", "12,0", "6,3"}) + ")";
        case 0:
            return "(" + expression(pick(vector<Type>{Int4, Int8, Int2}), depth - 1) + ")::numeric";
        case 1:
            return "(- " + same() + ")";
        case 2:
            return "(" + same() + ")::numeric(" + pick({"20,4", "30,8", "12,2", "38,10"}) + ")";
        default:
            return arithmetic("+-*");
        }
    case Date:
        if (chance(25))
            return "(" + expression(Timestamp, depth - 1) + ")::date";
        if (chance(10))
            return "make_date(1990 + abs(" + leaf(Int4) + ") % 50, 1 + abs(" + leaf(Int4) + ") % 12, 28)";
        return "(" + same() + pick({" + ", " - "}) + (chance(80) ? number(roll(40)) : leaf(Int4)) + ")";
    case Timestamp:
        switch (roll(6)) {
        case 4:
            return "date_bin('" + pick({"15 minutes", "1 day", "90 days 1 hour"}) + "', " + same() + ", " +
                   pick({"'2000-01-01'", "'2012-03-04 05:06:07'"}) + ")";
        case 5:
            return "(" + same() + ")::timestamp(" + number(roll(7)) + ")";
        case 0:
            return "date_trunc('" + pick({"year", "quarter", "month", "week", "day", "hour", "minute", "second"}) +
                   "', " + same() + ")";
        case 1:
            return "(" + same() + pick({" + ", " - "}) + interval() + ")";
        case 2:
            return "(" + expression(Date, depth - 1) + pick({" + ", " - "}) + interval() + ")";
        default:
            return chance(50) ? "(" + leaf(Date) + ")::timestamp" : "(" + same() + " + (" + span(depth - 1) + "))";
        }
    case Timestamptz:
        switch (roll(6)) {
        case 0:
            return "date_trunc('" + pick({"year", "quarter", "month", "week", "day", "hour", "minute"}) + "', " +
                   same() + pick({")", ", 'America/St_Johns')"});
        case 1:
            return "(" + same() + pick({" + ", " - "}) + interval() + ")";
        case 2:
            return "(" + expression(pick(vector<Type>{Date, Timestamp}), depth - 1) + ")::timestamptz";
        case 3:
            return "now()";
        default:
            return leaf(type);
        }
    default:
        return leaf(type);
    }
}

string Generator::span(int depth) {
    switch (depth > 0 ? roll(6) : 3) {
    case 4:
        return pick({"justify_days(", "justify_hours(", "justify_interval("}) + span(depth - 1) + ")";
    case 5:
        return "(" + span(depth - 1) + pick({" * ", " / "}) + pick({"3", "0.7", "-1.25", "1e-3"}) + ")";
    case 0:
        return "(" + expression(Timestamp, depth - 1) + " - " + expression(Timestamp, depth - 1) + ")";
    case 1:
        return "age(" + expression(Timestamp, depth - 1) + ", " + expression(Timestamp, depth - 1) + ")";
    case 2:
        return "(" + span(depth - 1) + pick({" + ", " - "}) + interval() + ")";
    default:
        return chance(50) ? interval() : "(" + leaf(Timestamptz) + " - " + leaf(Timestamptz) + ")";
    }
}

// Not for groups as it is: equal quotients may be shown with different numbers of decimals.
string Generator::quotient(int depth) {
    const string x = expression(chance(75) ? Numeric : pick(vector<Type>{Int2, Int4, Int8}), depth);
    const string y = expression(Numeric, depth);
    switch (roll(6)) {
    case 0:
        return "(" + x + " / " + y + ")"; // mostly an error
    case 1:
    case 2:
        return "(" + x + " / " + pick({"3.0", "100.0", "-0.07", "1024.00", "1e6"}) + ")";
    case 3:
        return "(CASE WHEN " + y + " > 0 THEN " + x + "::numeric / " + y + " ELSE " + pick({"0", "NULL", "1.50"}) +
               " END)";
    default:
        return "(" + x + "::numeric / nullif(" + y + ", 0))";
    }
}

string Generator::distinct(int percent) { return chance(percent) ? "DISTINCT " : ""; }

string Generator::date_part() {
    return pick({"year", "quarter", "month", "week", "day", "doy", "dow", "isodow", "isoyear", "decade", "century"});
}

string Generator::interval() {
    return "interval '" +
           pick({"1 day", "-3 days", "1 month", "13 months 2 days", "1 year -1 day 03:04:05.678", "90 minutes",
                 "-1 month", "0"}) +
           "'";
}

// Not a constant: the moments of one are nothing but what the rounding of sums leaves, in whatever order.
string Generator::varying_float() {
    for (int i = 0; i < 20; ++i) {
        const string item = leaf(Float8);
        if (item[0] != '$' && item[0] != '\'' && item[0] != '(')
            return item;
    }
    return pick(scope.sources).alias + ".k::float8";
}

// What is left of sums of 1e17 and -1e17 depends on the order of the rows, and whether 1e308 and 1e308 are too much.
// Of numbers near 2^53 that differ by less than a hundred PostgreSQL's own variance is anything between 310 and 450,
// depending on the order of the rows; covariances of some 1e70 have either sign; and the square of 1e308 is an error, or
// nothing if an infinity came before it.
static string without_drowned_differences(const string &x) {
    return "(CASE WHEN abs(" + x + ") >= 1e9 AND abs(" + x + ") < 'infinity' THEN NULL ELSE " + x + " END)";
}

string Generator::summand(Type type) {
    const string x = expression(type, 2);
    return type == Float4 || type == Float8 ? without_drowned_differences(x) : x;
}

string Generator::ordered_set() {
    const bool continuous = chance(40);
    const Type type = continuous ? pick(vector<Type>{Float8, Float8, Float4, Int2, Int4, Int8, Numeric})
                                 : static_cast<Type>(roll(types));
    one_of_equals |= !continuous && (type == Numeric || type == Float4 || type == Float8);
    const string values = type == Text || type == Bpchar ? text_of(text_column(), 1) : expression(type, 2);
    const string fraction = pick({"0", "1", "0.5", "0.5", "0.9", "0.25", "0.01", "1/3.0", "NULL", "1.5",
                                  "ARRAY[0.5,0.9]", "'{{0,1},{0.2,0.7}}'"});
    const string call = continuous   ? "percentile_cont(" + fraction + ")"
                        : chance(60) ? "percentile_disc(" + fraction + ")"
                                     : "mode()";
    return call + " WITHIN GROUP (ORDER BY " + values + pick({"", "", " DESC", " NULLS FIRST"}) + ")";
}

string Generator::aggregate() {
    string call;
    switch (roll(19)) {
    case 17:
    case 18:
        call = ordered_set();
        break;
    case 12:
        call = pick({"stddev(", "variance(", "var_pop(", "stddev_pop("}) +
               without_drowned_differences(expression(pick(vector<Type>{Float4, Float8}), 1)) + ")";
        break;
    case 13:
        call =
            pick({"corr(", "covar_pop(", "regr_slope(", "regr_intercept(", "regr_sxx(", "regr_count(", "regr_avgx("}) +
            without_drowned_differences(varying_float()) + ", " + without_drowned_differences(varying_float()) + ")";
        break;
    case 14:
        call = pick({"sum(", "avg("}) + span(2) + ")";
        break;
    case 0:
        call = "count(*)";
        break;
    case 1:
        call = "count(" + (chance(15) ? text_value(2) : expression(static_cast<Type>(roll(types)), 2)) + ")";
        break;
    case 2:
    case 3:
    case 4:
        call = "sum(" + (chance(25) ? quotient(1) : summand(number_type())) + ")";
        break;
    case 5: {
        Type type = pick(vector<Type>{Int2, Int4, Int8, Float4, Float8, Numeric});
        call = "avg(" + (type == Numeric && chance(30) ? quotient(1) : summand(type)) + ")";
        break;
    }
    case 6:
        call = pick({"bool_and(", "bool_or(", "every("}) + condition(2) + ")";
        break;
    case 7:
        call = string(pick({"bit_and(", "bit_or(", "bit_xor("})) + distinct(20) +
               expression(pick(vector<Type>{Int2, Int4, Int8}), 2) + ")";
        break;
    case 8:
        call = pick({"stddev(", "stddev_pop(", "var_samp(", "var_pop("}) +
               expression(pick(vector<Type>{Int2, Int4, Int8, Numeric, Numeric}), 1) + ")";
        break;
    case 9:
    case 10: {
        Type type = static_cast<Type>(roll(types));
        call = "count(DISTINCT " + (type == Text || type == Bpchar ? text_column() : expression(type, 2)) + ")";
        break;
    }
    case 11: {
        Type type = pick(vector<Type>{Int2, Int4, Int8, Numeric});
        one_of_equals |= type == Numeric;
        call = pick({"sum(DISTINCT ", "avg(DISTINCT "}) + expression(type, 2) + ")";
        break;
    }
    default: {
        Type type = static_cast<Type>(1 + roll(types - 1));
        one_of_equals |= type == Numeric;
        call = pick({"min(", "max("}) + distinct(5) +
               (type == Text || type == Bpchar ? text_of(text_column(), 1) : expression(type, 2)) + ")";
    }
    }
    if (chance(20))
        call += " FILTER (WHERE " + condition(2) + ")";
    return call;
}

} // namespace fuzz
