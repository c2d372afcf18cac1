// Loads a benchmark's tables: the part that does not depend on which benchmark.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "copy.hpp"

namespace bench {

struct Index {
    const char *columns;
    bool primary = false;
};

struct Table {
    const char *name;
    int columns;
    std::string definition;
    std::vector<Index> indexes;
    int64_t units; // what is counted 1 .. units: rows, or orders
    int64_t slice; // units that one connection writes at a time, about; 0: all
    // Writes the rows of the units first .. last-1. A function of its arguments and of the seed, so that the contents do
    // not depend on the number of threads; only the order of the slices on disk does.
    std::function<void(CopyWriter &out, int64_t first, int64_t last)> write;
};

struct Generator {
    const char *program; // such as "ssb-gen"
    const char *title;   // begins the comment on every table, which says what is loaded and that we may drop it
    const char *names;   // of the tables, for --help
    uint64_t seed;       // the default
    const char *rows_of_sf1;
    std::function<std::vector<Table>(double sf, uint64_t seed)> tables; // the largest first
};

// main() of a generator: reads the command line, creates the tables and fills them.
int generate(const Generator &generator, int argc, char **argv);

} // namespace bench
