#include "statements.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace calibrate {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80); }

class Splitter {
  public:
    explicit Splitter(const std::string &sql) : sql_(sql) {}

    std::vector<Statement> all() {
        while (at_ < sql_.size()) {
            const char c = sql_[at_];
            if (starts("--")) {
                at_ = std::min(sql_.find('\n', at_), sql_.size());
            } else if (starts("/*")) {
                comment();
            } else if (c == ';') {
                finish();
                ++at_;
            } else if (std::isspace(static_cast<unsigned char>(c))) {
                ++at_;
            } else {
                if (begin_ == none)
                    begin_ = at_;
                token(c);
                end_ = at_;
            }
        }
        finish();
        return std::move(found_);
    }
    const std::vector<Parameter> &parameters() const { return parameters_; }

  private:
    static constexpr size_t none = std::string::npos;

    bool starts(const char *what) const { return sql_.compare(at_, std::strlen(what), what) == 0; }
    size_t line(size_t at) const {
        return 1 + static_cast<size_t>(std::count(sql_.begin(), sql_.begin() + static_cast<long>(at), '\n'));
    }

    void finish() {
        if (begin_ != none)
            found_.push_back({sql_.substr(begin_, end_ - begin_), line(begin_)});
        begin_ = none;
    }

    void comment() {
        const size_t from = at_;
        int depth = 0;
        do {
            if (at_ >= sql_.size())
                throw StatementError(line(from), "unterminated comment");
            if (starts("/*")) {
                ++depth;
                at_ += 2;
            } else if (starts("*/")) {
                --depth;
                at_ += 2;
            } else {
                ++at_;
            }
        } while (depth > 0);
    }

    void token(char c) {
        if (c == '\'') {
            quoted('\'', false);
        } else if (c == '"') {
            quoted('"', false);
        } else if (c == '$' && (parameter() || dollar_quoted())) {
        } else if (c == '\\') {
            throw StatementError(line(at_), "psql's own commands (\\...) are not understood");
        } else if (is_name(c)) {
            const size_t from = at_;
            while (at_ < sql_.size() && (is_name(sql_[at_]) || sql_[at_] == '$'))
                ++at_;
            if (at_ - from == 1 && (c == 'e' || c == 'E') && at_ < sql_.size() && sql_[at_] == '\'')
                quoted('\'', true);
        } else {
            ++at_;
        }
    }

    void quoted(char quote, bool escapes) {
        const size_t from = at_;
        do {
            ++at_;
            while (at_ < sql_.size() && sql_[at_] != quote)
                at_ += escapes && sql_[at_] == '\\' ? 2 : 1;
            if (at_ >= sql_.size())
                throw StatementError(line(from),
                                     quote == '"' ? "unterminated quoted name" : "unterminated quoted string");
            ++at_;
        } while (at_ < sql_.size() && sql_[at_] == quote); // a doubled quote stands for itself
    }

    bool parameter() {
        constexpr size_t most_digits = 6; // of a number: the protocol has 65535 parameters
        size_t end = at_ + 1;
        while (end < sql_.size() && std::isdigit(static_cast<unsigned char>(sql_[end])))
            ++end;
        if (end == at_ + 1 || end - at_ - 1 > most_digits)
            return false;
        parameters_.push_back({at_, end - at_, std::stoi(sql_.substr(at_ + 1, end - at_ - 1))});
        at_ = end;
        return true;
    }

    bool dollar_quoted() {
        size_t end = at_ + 1;
        while (end < sql_.size() && is_name(sql_[end]))
            ++end;
        if (end >= sql_.size() || sql_[end] != '$')
            return false;
        const std::string tag = sql_.substr(at_, end + 1 - at_);
        const size_t close = sql_.find(tag, end + 1);
        if (close == none)
            throw StatementError(line(at_), "unterminated dollar-quoted string");
        at_ = close + tag.size();
        return true;
    }

    const std::string &sql_;
    std::vector<Statement> found_;
    std::vector<Parameter> parameters_;
    size_t at_ = 0, begin_ = none, end_ = 0;
};

} // namespace

std::vector<Statement> split_statements(const std::string &sql) { return Splitter(sql).all(); }

std::vector<Parameter> find_parameters(const std::string &sql) {
    Splitter splitter(sql);
    splitter.all();
    return splitter.parameters();
}

size_t line_at(const Statement &statement, size_t character) {
    size_t line = statement.line, seen = 0;
    for (char c : statement.text) {
        seen += (c & 0xC0) != 0x80;
        if (seen >= character)
            break;
        line += c == '\n';
    }
    return line;
}

} // namespace calibrate
