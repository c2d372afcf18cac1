// The fingerprints of a fragment's builds, by which planners and the device process mean the same tables (engine/ir/build_fingerprint.hpp).
#pragma once

#include "pg/pg.h"

#include "pg/fragment/fragment.h"

namespace gpuscan {

// Of a relation's file, and of files before it (0: none); in the order in which a source reads them.
uint64 add_file(uint64 files, Relation relation);

// By join, 0: it has none. `files`: by source, 0 of a source whose rows come from a CPU plan. Joins to nothing: NULL.
uint64 *build_fingerprints(const Fragment *fragment, const uint64 *files);

} // namespace gpuscan
