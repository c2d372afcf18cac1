// Random queries.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "expressions.hpp"

namespace fuzz {

extern int rows_share; // per cent of the queries that are none of groups
extern int sets_share; // ... and of those that are set operations

struct Query {
    string sql;
    vector<std::pair<Type, string>> parameters;
    bool rows = false; // what stands above them sees equal values in the order in which they come
    bool one_of_equals = false;

    bool has_one_of(std::initializer_list<const char *> words) const {
        return std::any_of(words.begin(), words.end(),
                           [&](const char *word) { return sql.find(word) != string::npos; });
    }
};

Query random_query(bool prepared);

} // namespace fuzz
