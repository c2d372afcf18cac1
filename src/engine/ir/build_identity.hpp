// What a build pipeline computes, as bytes: two builds with equal bytes, over equal rows, give equal tables.
//
// Written is what is reached from the pipeline, in the order of the walk, and not the program's own numbering: the same
// dimension with the same filter is the same build in every query. Constants and the contents of lookups stand for
// themselves, tables that the pipeline probes for their id (cached_join_tables.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/ir/program.hpp"

namespace gpuscan {

struct LookupContents {
    const std::vector<uint8_t> *values, *nulls;
    uint64_t id = 0; // of a table that is cached: stands for both
};

// Is a key's presence all that is ever asked of the build's table? Then equal keys need only be there once.
bool is_set_of_keys(const Program &program, ir::Index pipeline);

// Will somebody want the rows of the build's table that no row has met?
bool are_rows_kept(const Program &program, ir::Index pipeline);

// What stands for the parts that the program itself does not say.
struct BuildParts {
    std::function<LookupContents(ir::Index)> lookup;
    std::function<uint64_t(ir::Index)> table_id;
    std::function<uint64_t(ir::Index)>
        constant; // where constants have no values yet (build_fingerprint.hpp); else empty
};

std::string describe_build(const Program &program, ir::Index pipeline, const BuildParts &parts);

} // namespace gpuscan
