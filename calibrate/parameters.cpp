#include "parameters.hpp"

#include <nlohmann/json.hpp>
#include <regex>

#include "statements.hpp"

namespace calibrate {
namespace {

using nlohmann::json;

// What decides about rows; everything else of a plan node shows or orders them.
const char *const conditions[] = {"Filter",     "Join Filter", "Index Cond",      "Recheck Cond", "Hash Cond",
                                  "Merge Cond", "TID Cond",    "One-Time Filter", "Run Condition"};

std::string unquoted(const std::string &name) {
    if (name.empty() || name[0] != '"')
        return name;
    std::string s;
    for (size_t i = 1; i + 1 < name.size(); ++i) {
        s += name[i];
        i += name[i] == '"';
    }
    return s;
}

#define NAME "(\"(?:[^\"]|\"\")+\"|[A-Za-z_][A-Za-z0-9_$]*)"
#define TYPE "(?:::[a-z][a-z ]*(?:\\([0-9, ]+\\))?(?:\\[\\])?)?"
#define PARAMETER "\\(?\\$([0-9]+)\\)?" TYPE

class Uses {
  public:
    explicit Uses(ParameterUses &uses) : uses_(uses) {}

    void names(const json &node) {
        const std::string type = node.value("Node Type", "");
        uses_.writes |= type == "ModifyTable" || type == "LockRows";
        if (node.contains("Relation Name")) {
            const std::string schema = node.value("Schema", ""), relation = node["Relation Name"];
            uses_.schemas.insert(schema);
            relations_[node.value("Alias", relation)] = {schema, relation};
        }
        // Up to PostgreSQL 16 "$1" may also be the result of "InitPlan 1 (returns $1)".
        static const std::regex number("\\$([0-9]+)");
        const std::string subplan = node.value("Subplan Name", "");
        for (std::sregex_iterator m(subplan.begin(), subplan.end(), number), end; m != end; ++m)
            results_.insert(std::stoi((*m)[1]));
        for (const json &below : node.value("Plans", json::array()))
            names(below);
    }

    void comparisons(const json &node) {
        for (const char *key : conditions)
            if (node.contains(key) && node[key].is_string())
                condition(node[key]);
        for (const json &below : node.value("Plans", json::array()))
            comparisons(below);
    }

  private:
    void condition(const std::string &text) {
        static const std::regex column_first("\\(+" NAME "\\." NAME "\\)?" TYPE " (=|<>|<=|>=|<|>) " PARAMETER
                                             "(?=\\)| AND | OR |$)");
        static const std::regex column_last("\\(+" PARAMETER " (=|<>|<=|>=|<|>) \\(?" NAME "\\." NAME "\\)?" TYPE
                                            "(?=\\)| AND | OR |$)");
        static const std::regex one_of("\\(+" NAME "\\." NAME "\\)?" TYPE " = ANY \\(\\(?ARRAY\\[([^\\]]*)\\]");
        static const std::regex any("\\$([0-9]+)");
        std::set<int> known;
        const auto found = [&](const std::string &alias, const std::string &column, const std::string &op, int number) {
            const auto relation = relations_.find(unquoted(alias));
            if (relation == relations_.end() || results_.count(number))
                return;
            known.insert(number);
            uses_.compared.insert({number, {relation->second.schema, relation->second.relation, unquoted(column), op}});
        };
        for (std::sregex_iterator m(text.begin(), text.end(), column_first), end; m != end; ++m)
            found((*m)[1], (*m)[2], (*m)[3], std::stoi((*m)[4]));
        for (std::sregex_iterator m(text.begin(), text.end(), column_last), end; m != end; ++m) {
            std::string op = (*m)[2];
            if (op[0] == '<' && op != "<>")
                op[0] = '>';
            else if (op[0] == '>')
                op[0] = '<';
            found((*m)[3], (*m)[4], op, std::stoi((*m)[1]));
        }
        for (std::sregex_iterator m(text.begin(), text.end(), one_of), end; m != end; ++m) {
            const std::string list = (*m)[3];
            static const std::regex element("^ *" PARAMETER " *$");
            size_t begin = 0;
            for (size_t comma; begin <= list.size(); begin = comma + 1) {
                comma = std::min(list.find(',', begin), list.size());
                std::smatch e;
                const std::string item = list.substr(begin, comma - begin);
                if (std::regex_match(item, e, element))
                    found((*m)[1], (*m)[2], "=", std::stoi(e[1]));
            }
        }
        for (std::sregex_iterator m(text.begin(), text.end(), any), end; m != end; ++m)
            if (known.count(std::stoi((*m)[1])) == 0)
                uses_.unclear.insert(std::stoi((*m)[1]));
    }

    struct Relation {
        std::string schema, relation;
    };

    ParameterUses &uses_;
    std::map<std::string, Relation> relations_; // by alias
    std::set<int> results_;                     // numbers that are not only parameters'
};

std::set<int> numbers_after(const std::string &sql, const char *pattern) {
    const std::regex words(pattern, std::regex::icase);
    std::set<int> numbers;
    for (std::sregex_iterator m(sql.begin(), sql.end(), words), end; m != end; ++m)
        numbers.insert(std::stoi((*m)[1]));
    return numbers;
}

} // namespace

ParameterUses uses_of(const std::string &plan_json) {
    const json plan = json::parse(plan_json, nullptr, false);
    if (!plan.is_array() || plan.empty() || !plan[0].contains("Plan"))
        throw std::runtime_error("no plan in JSON");
    ParameterUses uses;
    Uses all(uses);
    all.names(plan[0]["Plan"]);
    all.comparisons(plan[0]["Plan"]);
    // (a plan may use it again elsewhere, such as for another column that is equal to this one)
    for (const auto &[number, comparison] : uses.compared)
        uses.unclear.erase(number);
    return uses;
}

std::set<int> parameters_of(const std::string &sql) {
    std::set<int> numbers;
    for (const Parameter &p : find_parameters(sql))
        numbers.insert(p.number);
    return numbers;
}

std::string with_parameters(const std::string &sql, const std::map<int, std::string> &values) {
    std::string text;
    size_t from = 0;
    for (const Parameter &p : find_parameters(sql)) {
        const auto value = values.find(p.number);
        if (value == values.end())
            continue;
        text += sql.substr(from, p.at - from) + value->second;
        from = p.at + p.length;
    }
    return text + sql.substr(from);
}

std::string with_casts(const std::string &sql) {
    static const std::regex typed("\\b(date|time|timestamp|timestamptz|timetz|interval|numeric)\\s+(\\$[0-9]+)"
                                  "(?:\\s+(year|month|day|hour|minute|second)\\b(?!\\s*\\())?",
                                  std::regex::icase);
    return std::regex_replace(sql, typed, "CAST($2 AS $1 $3)");
}

std::set<int> limits_of(const std::string &sql) {
    return numbers_after(sql, "\\b(?:limit|fetch\\s+(?:first|next))\\s+\\$([0-9]+)");
}

std::set<int> offsets_of(const std::string &sql) { return numbers_after(sql, "\\boffset\\s+\\$([0-9]+)"); }

} // namespace calibrate
