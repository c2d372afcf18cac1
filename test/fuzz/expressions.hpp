// Random expressions, conditions and aggregates over the columns of some relations.
#pragma once

#include <utility>

#include "tables.hpp"

namespace fuzz {

extern bool one_of_equals; // the query shows one of several equal numerics, whose scales may differ

struct Source {
    string alias;
    vector<Column> columns;
};

struct Scope {
    vector<Source> sources;
    vector<std::pair<Type, string>> *parameters = nullptr; // of a prepared statement: type and first value
    vector<string> outer[types];                           // columns of an outer query
};

struct Generator {
    Scope &scope;

    // The columns of a type, as alias.name.
    vector<string> columns(Type type) const;
    string leaf(Type type);
    string text_of(const string &column, int depth);
    string text_column();
    // A text that may come from several columns or from none.
    string text_value(int depth);
    string text_condition();
    Type comparable();
    Type number_type();
    string condition(int depth);
    string expression(Type type, int depth);
    // An interval.
    string span(int depth);
    string quotient(int depth);
    string distinct(int percent);
    string date_part();
    string interval();
    string varying_float();
    string summand(Type type);
    string aggregate();
    string ordered_set();
};

} // namespace fuzz
