// Which rows can a pipeline not use, by the bounds of their columns?
//
// A cached column knows the bounds of its values, for the chunk and for its zones (zone_map.hpp). Where they prove that a
// condition of the pipeline is false or NULL for every row of a chunk or zone, or that no row has the partner that an inner
// or semi join wants in its table, those rows are not given to the device. This is data skipping by small materialized aggregates (Moerkotte, VLDB
// 1998) by interval arithmetic over the same expressions that the device would evaluate (value_range.hpp).
//
// An error that a row would raise must not be lost: conditions and joins are looked at in the order in which the pipeline
// runs them, and the first one that might raise an error for some of the rows ends the search. "Might" is decided by the
// same bounds: a sum of small numbers does not overflow.
//
// Conditions that are guarded (ir::Conjunct) rule out nothing: a policy hides rows from the user who has written them, and what is
// skipped shows in figures and in time. Those that could raise an error end the search.
//
// The answer depends on nothing but the pipeline (with its constants), the contents of its lookups, the finished tables that
// it probes, and the chunks; so a build that skips is still what its identity says (cached_join_tables.hpp).
#pragma once

#include <functional>

#include "engine/device.hpp"
#include "engine/ir/build_identity.hpp"
#include "engine/ir/value_range.hpp"

namespace gpuscan {

struct Skipped {
    uint64_t chunks = 0; // of which no row is left
    uint64_t rows = 0;   // in them, and in zones of others
};

class Skipper {
  public:
    // `lookup`: pointers are null where it has not been set. `keys`: the bounds of a key of a finished join table.
    Skipper(const Program &program, ir::Index pipeline, std::function<LookupContents(ir::Index)> lookup,
            const std::function<ColumnStats(ir::Index build, ir::Index key)> &keys);
    Skipper(const Skipper &) = delete;
    Skipper &operator=(const Skipper &) = delete;

    // Takes out of `chunks` what no row can come from. `zone`: rows of a zone.
    Skipped skip(std::vector<ChunkView> &chunks, uint32_t zone = zone_rows);
    // Can no row of the chunk be of use? Only what the view says of its columns is looked at, not its values.
    bool is_prunable(const ChunkView &chunk);

  private:
    struct Step {
        ir::Index conjunct = ir::none; // its expression, or
        ir::Range keys;                // of a join
        std::vector<ColumnStats> table;
        bool needs_partner = true;    // a row without one goes no further
        bool guarded = false;         // rules out nothing
        std::vector<ir::Index> nodes; // to be evaluated for it
    };

    void add_step(Step step, const std::vector<ir::Index> &roots);
    bool is_deferred(const ir::Expr &e) const;
    bool dead(const ChunkView &chunk, const ColumnStats *const *zones);
    bool dead_end(const Step &step, bool *raises) const;
    ValueRange column(const ir::Expr &e) const;
    ValueRange looked_up(const ir::Expr &e, const ValueRange &code) const;

    const Program &program_;
    std::function<LookupContents(ir::Index)> lookup_;
    std::vector<Step> steps_;
    std::vector<ir::Index> columns_; // of the source that the steps read
    std::vector<uint8_t> may_raise_; // of each expression: evaluating it may raise an error, whatever the bounds

    // Of the rows that are looked at.
    const ChunkView *chunk_ = nullptr;
    const ColumnStats *const *zones_ = nullptr; // per source column; nullptr: the chunk's bounds count
    ValueRanges ranges_;
};

} // namespace gpuscan
