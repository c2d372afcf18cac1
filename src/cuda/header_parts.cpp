// Dividing headers and following words; see header_parts.hpp.
#include "cuda/header_parts.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "cuda/embedded.hpp"

namespace gpuscan::cuda {
namespace {

constexpr const char *kernel_header =
    "device/runtime.cuh"; // which generated kernels include, and through it the others
constexpr const char *divided_headers[] = {kernel_header, "device/semantics.cuh", "device/status.cuh"};

bool in_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Words, and each other character that is no space.
std::vector<std::string> tokens_of(const std::string &text) {
    std::vector<std::string> tokens;
    for (size_t at = 0; at < text.size();) {
        size_t end = at + 1;
        while (in_word(text[at]) && end < text.size() && in_word(text[end]))
            ++end;
        if (!isspace(static_cast<unsigned char>(text[at])))
            tokens.push_back(text.substr(at, end - at));
        at = end;
    }
    return tokens;
}

bool is_word(const std::string &token) { return in_word(token[0]) && !isdigit(static_cast<unsigned char>(token[0])); }

std::string without_comment(const std::string &line) {
    std::string text = line.substr(0, line.find("//"));
    text.erase(text.find_last_not_of(" \t") + 1);
    return text;
}

std::string directive_of(const std::string &line) {
    const std::vector<std::string> tokens = tokens_of(line);
    return tokens.size() > 1 && tokens[0] == "#" ? tokens[1] : std::string();
}

// Behind the brackets that open at tokens[at].
size_t behind(const std::vector<std::string> &tokens, size_t at, const char *open, const char *close) {
    int depth = 0;
    do {
        depth += tokens[at] == open ? 1 : tokens[at] == close ? -1 : 0;
        ++at;
    } while (at < tokens.size() && depth > 0);
    return at;
}

// The words that a declaration defines.
void add_declared(const std::vector<std::string> &tokens, std::vector<std::string> &words) {
    size_t at = 0;
    while (at + 1 < tokens.size() && tokens[at] == "template")
        at = behind(tokens, at + 1, "<", ">");
    if (at >= tokens.size())
        return;
    if (tokens[at] == "typedef") {
        if (tokens.size() > at + 2)
            words.push_back(tokens[tokens.size() - 2]); // before the semicolon
        return;
    }
    if (tokens[at] == "struct" || tokens[at] == "enum") {
        if (at + 1 < tokens.size() && is_word(tokens[at + 1]))
            words.push_back(tokens[at + 1]);
        for (size_t i = at + 1; tokens[at] == "enum" && i + 1 < tokens.size(); ++i)
            if ((tokens[i] == "{" || tokens[i] == ",") && is_word(tokens[i + 1]))
                words.push_back(tokens[i + 1]);
        return;
    }
    for (size_t i = at + 1; i < tokens.size(); ++i) {
        if (tokens[i] == "(" && words.empty()) { // a function
            if (is_word(tokens[i - 1]))
                words.push_back(tokens[i - 1]);
            return;
        }
        if (tokens[i] == "(") { // in the value of a variable
            i = behind(tokens, i, "(", ")") - 1;
        } else if (tokens[i] == "=" && is_word(tokens[i - 1])) {
            words.push_back(tokens[i - 1]);
        } else if (tokens[i] == "{") {
            return;
        }
    }
}

} // namespace

std::vector<std::string> HeaderParts::divide(const std::string &text) {
    std::vector<std::string> parts;
    std::string part;
    int braces = 0, conditions = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = without_comment(text.substr(at, end - at));
        at = end + 1;
        if (line.empty())
            continue;
        part += line + '\n';
        const std::string directive = directive_of(line);
        conditions += directive.compare(0, 2, "if") == 0 ? 1 : directive == "endif" ? -1 : 0;
        // Namespaces are not open: what stands in them is divided.
        const bool of_namespace = braces == 0 && (line.compare(0, 10, "namespace ") == 0 || line == "}");
        if (directive.empty() && !of_namespace)
            braces +=
                static_cast<int>(std::count(line.begin(), line.end(), '{') - std::count(line.begin(), line.end(), '}'));
        const char last = line.back();
        if (conditions == 0 && braces == 0 && (!directive.empty() || of_namespace || last == ';' || last == '}')) {
            parts.push_back(std::move(part));
            part.clear();
        }
    }
    if (!part.empty())
        parts.push_back(std::move(part));
    return parts;
}

std::vector<std::string> HeaderParts::defined_by(const std::string &part) {
    std::vector<std::string> words;
    const std::string first = directive_of(part.substr(0, part.find('\n')));
    if (first.empty()) { // directives inside change nothing of what it declares
        std::string text;
        for (size_t at = 0; at < part.size();) {
            const size_t end = std::min(part.find('\n', at), part.size());
            const std::string line = part.substr(at, end - at);
            text += directive_of(line).empty() ? line + '\n' : std::string();
            at = end + 1;
        }
        if (text.compare(0, 10, "namespace ") != 0)
            add_declared(tokens_of(text), words);
        return words;
    }
    if (first.compare(0, 2, "if") != 0)
        return words;
    // All of an #if: what its declarations define, unless there are macros and headers in it.
    std::string text;
    for (size_t at = 0; at < part.size();) {
        const size_t end = std::min(part.find('\n', at), part.size());
        const std::string line = part.substr(at, end - at), directive = directive_of(line);
        if (directive == "define" || directive == "include")
            return {};
        text += directive.empty() ? line + '\n' : std::string();
        at = end + 1;
    }
    for (const std::string &inner : divide(text)) {
        const std::vector<std::string> more = defined_by(inner);
        if (more.empty())
            return {};
        words.insert(words.end(), more.begin(), more.end());
    }
    return words;
}

HeaderParts::HeaderParts() {
    for (const char *name : divided_headers)
        for (unsigned h = 0; h < embedded_source_count; ++h) {
            if (strcmp(embedded_sources[h].name, name) != 0)
                continue;
            for (std::string &text : divide(embedded_sources[h].text)) {
                const std::vector<std::string> words = defined_by(text);
                for (const std::string &word : words)
                    defining_[word].push_back(static_cast<unsigned>(parts_.size()));
                parts_.push_back({h, std::move(text), words.empty(), {}});
            }
        }
    for (Part &part : parts_) {
        std::set<unsigned> needs;
        for (const std::string &token : tokens_of(part.text)) {
            const auto found = defining_.find(token);
            if (found != defining_.end())
                needs.insert(found->second.begin(), found->second.end());
        }
        part.needs.assign(needs.begin(), needs.end());
    }
}

bool HeaderParts::knows(const std::string &source) { return source.find(kernel_header) != std::string::npos; }

std::vector<std::string> HeaderParts::whole() {
    std::vector<std::string> texts;
    for (unsigned h = 0; h < embedded_source_count; ++h)
        texts.push_back(embedded_sources[h].text);
    return texts;
}

std::vector<std::string> HeaderParts::used_by(const std::string &source) const {
    std::vector<std::string> texts = whole();
    if (!knows(source))
        return texts;
    std::vector<bool> kept(parts_.size(), false);
    std::vector<unsigned> work;
    auto keep = [&](unsigned part) {
        if (!kept[part])
            work.push_back(part);
        kept[part] = true;
    };
    for (unsigned i = 0; i < parts_.size(); ++i)
        if (parts_[i].always)
            keep(i);
    for (const std::string &token : tokens_of(source)) {
        const auto found = defining_.find(token);
        if (found != defining_.end())
            for (unsigned part : found->second)
                keep(part);
    }
    while (!work.empty()) {
        const unsigned part = work.back();
        work.pop_back();
        for (unsigned needed : parts_[part].needs)
            keep(needed);
    }
    for (const Part &part : parts_)
        texts[part.header].clear();
    for (unsigned i = 0; i < parts_.size(); ++i)
        if (kept[i])
            texts[parts_[i].header] += parts_[i].text;
    return texts;
}

} // namespace gpuscan::cuda
