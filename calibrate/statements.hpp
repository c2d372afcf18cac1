// SQL text to statements, as psql divides it: by semicolons outside of quotes, comments and dollar quotes.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace calibrate {

struct Statement {
    std::string text; // without the semicolon, from its first word on
    size_t line;      // of its first word, from 1
};

struct StatementError : std::runtime_error {
    StatementError(size_t line, const std::string &message) : std::runtime_error(message), line(line) {}
    size_t line;
};

// Statements of nothing but comments are left out. Throws StatementError at what has no end, and at psql's own commands (\set).
std::vector<Statement> split_statements(const std::string &sql);

// $1 and its like, outside of quotes and comments.
struct Parameter {
    size_t at, length;
    int number;
};
std::vector<Parameter> find_parameters(const std::string &sql);

// The line of a character of the statement (from 1, as the server counts: characters of UTF-8, not bytes), in its file.
size_t line_at(const Statement &statement, size_t character);

} // namespace calibrate
