// The tables that queries are asked of: all supported types, many NULLs, edge values, text in three collations, a column
// added later, a dropped one, tables that are temporary, unlogged or empty, tables with partitions and children.
#pragma once

#include <cstdio>

#include "../../bench/common/pg.hpp"
#include "values.hpp"

namespace fuzz {

struct Column {
    string name;
    Type type;
    string declared;
    int edge; // per cent of limit values
    int null;
    int domain; // 0: literal(); else integers below it, for keys of joins
};

struct Table {
    string name;
    int rows;
    bool writable;
    vector<Column> columns;
};

extern vector<Table> tables;

string row_value(const Column &column);
string insert_rows(const Table &table, int rows);

// Drops the schema "fuzz" and fills it anew. What is done is written to `script`, too, unless that is NULL.
void make_tables(pg::Connection &c, FILE *script);

} // namespace fuzz
