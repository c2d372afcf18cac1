// A number for a build by which a planner can ask whether its table is cached (cached_builds.hpp), before there is a session.
//
// The device process knows a build by its constants, by the contents of its lookups and by the buffers that it read
// (build_identity.hpp). A planner has none of these. But it has the program, which it translates to price it, and knows what
// each of these will be made of: the relations' files and columns, the lookups' expressions, the constants' values. So the
// fingerprint is a hash of the same description with these in their place; tables that the build probes stand in it by
// their own fingerprints. The backend makes it twice, by the same function: of the trial translation when it plans, and of the program that it runs,
// to tell the device.
//
// It says nothing of the rows: a build over a relation that has changed has the same one. Whoever looks for its table finds
// that out (CachedJoinTables).
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuscan {

// What stands for a part of a program; `unknown`: it cannot be told, and builds that need it have no fingerprint.
constexpr uint64_t unknown_part = UINT64_MAX;
constexpr uint64_t value_of_program = 0; // of a constant: its value is in the program

struct ProgramParts {
    const uint64_t *sources;   // by source: which columns of which relations
    const uint64_t *lookups;   // by lookup: what its table is a function of
    const uint64_t *constants; // by constant
};

// Writes the fingerprint of each build of a program in its wire format (of pipelines but the last, in their order), 0: it has none.
// False: it could not be done.
bool fingerprint_builds(const void *program, size_t size, const ProgramParts &parts, uint64_t *fingerprints) noexcept;

} // namespace gpuscan
