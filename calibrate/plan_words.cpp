#include "plan_words.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

namespace calibrate {
namespace {

using nlohmann::json;
using Names = std::set<std::string>;

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

std::string listed(const Names &names, const char *between) {
    std::string text;
    for (const std::string &name : names)
        text += (text.empty() ? "" : between) + name;
    return text;
}

struct Join {
    std::string method;
    Names inner; // the side that is hashed, or run again for each row of the other
};

// A plan's facts, by what two plans of one query have in common: tables by alias, joins by the tables that they bring together.
class Facts {
  public:
    explicit Facts(const std::string &text) {
        const json plan = json::parse(text, nullptr, false);
        if (!plan.is_array() || plan.empty() || !plan[0].contains("Plan"))
            throw std::runtime_error("no plan in JSON");
        order_ = visit(plan[0]["Plan"]).order;
    }

    const std::map<std::string, std::string> &reads() const { return reads_; }
    const std::map<Names, Join> &joins() const { return joins_; }
    const std::map<std::string, int> &counts() const { return counts_; }
    const std::string &order() const { return order_; }

  private:
    struct Below {
        Names tables;
        std::string order; // of the joins: "((orders, lineitem), part)"
    };

    static std::string index_of(const json &node) {
        Names names;
        collect(node, names);
        return listed(names, ", ");
    }
    static void collect(const json &node, Names &names) {
        if (node.contains("Index Name"))
            names.insert(node["Index Name"].get<std::string>());
        for (const json &below : node.value("Plans", json::array()))
            collect(below, names);
    }

    static std::string way(const json &node, const std::string &type) {
        if (type == "Seq Scan")
            return "in sequence";
        if (type == "Index Scan")
            return "by index " + index_of(node);
        if (type == "Index Only Scan")
            return "from index " + index_of(node) + " alone";
        if (type == "Bitmap Heap Scan")
            return "by a bitmap of " + index_of(node);
        if (type == "Custom Scan")
            return "by " + node.value("Custom Plan Provider", "custom scan");
        return "by " + lower(type);
    }

    void count(const json &node, const std::string &type) {
        if (type == "Aggregate") {
            const std::string strategy = node.value("Strategy", "");
            if (strategy == "Hashed" || strategy == "Mixed")
                ++counts_["aggregation by hash"];
            else if (strategy == "Sorted")
                ++counts_["aggregation of sorted rows"];
        } else if (type == "Sort" || type == "Incremental Sort" || type == "Materialize" || type == "Memoize" ||
                   type == "Unique" || type == "Gather" || type == "Gather Merge") {
            ++counts_[lower(type)];
        } else if (type == "Custom Scan") {
            ++counts_[node.value("Custom Plan Provider", "custom scan")];
        }
    }

    Below visit(const json &node) {
        const std::string type = node.value("Node Type", "");
        count(node, type);
        if (node.contains("Alias") && node.contains("Relation Name")) {
            const std::string alias = node["Alias"];
            reads_[alias] = way(node, type);
            return {{alias}, alias};
        }
        std::vector<Below> parts; // not those of subplans, which are plans of their own
        for (const json &below : node.value("Plans", json::array())) {
            Below part = visit(below);
            const std::string relationship = below.value("Parent Relationship", "");
            if (relationship != "InitPlan" && relationship != "SubPlan" && !part.tables.empty())
                parts.push_back(std::move(part));
        }
        if (parts.empty())
            return {};
        Below all = parts[0];
        for (size_t i = 1; i < parts.size(); ++i)
            all.tables.insert(parts[i].tables.begin(), parts[i].tables.end());
        if (parts.size() > 1) {
            all.order = "(";
            for (size_t i = 0; i < parts.size(); ++i)
                all.order += (i > 0 ? ", " : "") + parts[i].order;
            all.order += ")";
        }
        if (parts.size() == 2 && (type == "Hash Join" || type == "Merge Join" || type == "Nested Loop"))
            joins_[all.tables] = {lower(type), parts[1].tables};
        return all;
    }

    std::map<std::string, std::string> reads_;
    std::map<Names, Join> joins_;
    std::map<std::string, int> counts_;
    std::string order_;
};

std::string number_of(int n, const std::string &what) {
    if (n == 0)
        return "no " + what;
    return n == 1 ? "one " + what : std::to_string(n) + " of " + what;
}

} // namespace

std::vector<std::string> differences(const std::string &before, const std::string &after) {
    const Facts a(before), b(after);
    std::vector<std::string> words;
    for (const auto &[table, way] : b.reads())
        if (const auto old = a.reads().find(table); old != a.reads().end() && old->second != way)
            words.push_back(table + " " + way + " instead of " + old->second);
    bool reordered = false;
    for (const auto &[tables, join] : b.joins()) {
        const auto old = a.joins().find(tables);
        if (old == a.joins().end()) {
            reordered = true;
            continue;
        }
        const std::string name = listed(tables, " x ");
        if (old->second.method != join.method)
            words.push_back(name + ": " + join.method + " instead of " + old->second.method);
        else if (old->second.inner != join.inner && join.method != "merge join")
            words.push_back(name + ": " + (join.method == "hash join" ? "hashes " : "looks up ") +
                            listed(join.inner, " x ") + " instead of " + listed(old->second.inner, " x "));
    }
    if (reordered)
        words.push_back("joins in the order " + b.order() + " instead of " + a.order());
    std::map<std::string, int> all = a.counts();
    all.insert(b.counts().begin(), b.counts().end());
    for (const auto &[what, n] : all) {
        const auto count = [&what = what](const Facts &f) {
            const auto found = f.counts().find(what);
            return found == f.counts().end() ? 0 : found->second;
        };
        if (count(a) != count(b))
            words.push_back(number_of(count(b), what) + " instead of " + number_of(count(a), what));
    }
    return words;
}

} // namespace calibrate
