// Properties that are estimates (costs, rows, widths, and whatever gpuscan estimates of its own) are numbers or lie below keys that
// say so; all others belong to the plan. Workers Planned, a number, does, too: another number of workers is another plan.
#include "plan_tree.hpp"

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr double disabled_cost = 1e9; // PostgreSQL 17 and older add 1e10 where something is disabled

struct Json {
    enum Kind { Text, Number, Word, List, Object } kind = Word;
    std::string text; // of a text, number or word
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> members;

    const Json *find(const std::string &key) const {
        for (const auto &[name, value] : members)
            if (name == key)
                return &value;
        return nullptr;
    }
    std::string text_of(const std::string &key) const {
        const Json *value = find(key);
        return value ? value->text : std::string();
    }
};

class Parser {
  public:
    explicit Parser(const std::string &text) : text_(text) {}

    Json whole() {
        Json v = value();
        skip_space();
        if (at_ != text_.size())
            fail();
        return v;
    }

  private:
    [[noreturn]] void fail() const { throw std::runtime_error("no JSON at byte " + std::to_string(at_)); }

    void skip_space() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
            ++at_;
    }

    bool take(char c) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != c)
            return false;
        ++at_;
        return true;
    }

    void need(char c) {
        if (!take(c))
            fail();
    }

    Json value() {
        Json v;
        if (take('{')) {
            v.kind = Json::Object;
            while (!take('}')) {
                if (!v.members.empty())
                    need(',');
                std::string key = string();
                need(':');
                v.members.emplace_back(std::move(key), value());
            }
        } else if (take('[')) {
            v.kind = Json::List;
            while (!take(']')) {
                if (!v.items.empty())
                    need(',');
                v.items.push_back(value());
            }
        } else if (skip_space(); at_ < text_.size() && text_[at_] == '"') {
            v.kind = Json::Text;
            v.text = string();
        } else {
            const size_t from = at_;
            while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                          std::string("+-.").find(text_[at_]) != std::string::npos))
                ++at_;
            if (at_ == from)
                fail();
            v.text = text_.substr(from, at_ - from);
            v.kind = std::isalpha(static_cast<unsigned char>(v.text[0])) ? Json::Word : Json::Number;
        }
        return v;
    }

    // Escapes stay as they are written: texts are compared, not read.
    std::string string() {
        need('"');
        const size_t from = at_;
        while (at_ < text_.size() && text_[at_] != '"')
            at_ += text_[at_] == '\\' ? 2 : 1;
        if (at_ >= text_.size())
            fail();
        return text_.substr(from, at_++ - from);
    }

    const std::string &text_;
    size_t at_ = 0;
};

bool is_estimate(const std::string &key, const Json &value) {
    if (key.find("Cost") != std::string::npos || key.find("Estimate") != std::string::npos)
        return true;
    return value.kind == Json::Number && key != "Workers Planned" && key != "For Join";
}

void write_tree(const Json &v, std::string &out) {
    switch (v.kind) {
    case Json::Object:
        out += '{';
        for (const auto &[key, value] : v.members)
            if (!is_estimate(key, value)) {
                out += key + ':';
                write_tree(value, out);
                out += ';';
            }
        out += '}';
        break;
    case Json::List:
        out += '[';
        for (const Json &item : v.items) {
            write_tree(item, out);
            out += ',';
        }
        out += ']';
        break;
    default:
        out += v.text;
    }
}

bool is_device_node(const Json &node) { return node.text_of("Custom Plan Provider").rfind("Gpu", 0) == 0; }

std::string outline_of(const Json &node) {
    std::string text = is_device_node(node) ? node.text_of("Custom Plan Provider") : node.text_of("Node Type");
    if (node.text_of("Partial Mode") == "Partial")
        text = "Partial " + text;
    for (const char *key : {"Index Name", "Relation Name", "CTE Name"})
        if (const std::string name = node.text_of(key); !name.empty()) {
            text += ' ' + name;
            break;
        }
    std::vector<std::string> below;
    if (is_device_node(node)) // its sources
        if (const Json *steps = node.find("Steps"))
            for (const Json &step : steps->items)
                below.push_back(step.text_of("Source"));
    if (const Json *plans = node.find("Plans"))
        for (const Json &plan : plans->items)
            below.push_back(outline_of(plan));
    if (below.empty())
        return text;
    text += '(';
    for (size_t i = 0; i < below.size(); ++i)
        text += (i > 0 ? ", " : "") + below[i];
    return text + ')';
}

int device_nodes(const Json &node) {
    int n = is_device_node(node);
    if (const Json *plans = node.find("Plans"))
        for (const Json &plan : plans->items)
            n += device_nodes(plan);
    return n;
}

} // namespace

PlanTree read_plan(const std::string &json) {
    const Json all = Parser(json).whole();
    const Json *root = all.kind == Json::List && !all.items.empty() ? all.items[0].find("Plan") : nullptr;
    if (!root)
        throw std::runtime_error("no plan in JSON");
    PlanTree tree;
    write_tree(*root, tree.text);
    tree.outline = outline_of(*root);
    tree.cost = std::strtod(root->text_of("Total Cost").c_str(), nullptr);
    tree.device_nodes = device_nodes(*root);
    tree.honest = tree.cost < disabled_cost;
    return tree;
}

// FNV-1a.
std::string hash_of(const std::string &text) {
    uint64_t hash = 14695981039346656037u;
    for (unsigned char c : text)
        hash = (hash ^ c) * 1099511628211u;
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
    return digits;
}

} // namespace bench
