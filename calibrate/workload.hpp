// What is calibrated for: queries, from a directory or a file. Looks at texts only; the server is asked later whether they are valid.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "statements.hpp"

namespace calibrate {

struct Query {
    std::string name; // the file's, without .sql; with #N if it has several statements
    std::string file; // for messages
    Statement statement;
    double weight = 1;        // how often it counts
    bool from_server = false; // a text that the server has kept: if it fails, it is left out
};

struct WorkloadError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A directory: its files *.sql, by name; numbers in names count as numbers. Or one file. Throws WorkloadError: no such file, no
// query in it, a text that has no end.
std::vector<Query> read_workload(const std::string &path);

} // namespace calibrate
