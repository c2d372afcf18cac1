// One program running on the host device: pipelines over chunks, cut into morsels for the threads of the pool.
#pragma once

#include "engine/device.hpp"
#include "engine/ir/interval_condition.hpp"
#include "host/aggregator.hpp"

namespace gpuscan::host {

class HostExecution : public Execution {
  public:
    HostExecution(const WorkContext &work, const Program &program);

    void set_lookup(ir::Index lookup, LookupRef table) override;
    void set_constant(ir::Index constant, uint32_t code) override;
    void run_build(ir::Index pipeline, const std::vector<ChunkView> &chunks) override;
    void finish_build(ir::Index pipeline) override;
    void use_build(ir::Index pipeline, BuiltTableRef table) override;
    BuiltTableRef finished_build(ir::Index pipeline) override;
    GroupTable run_aggregate(const std::vector<ChunkView> &chunks) override;
    bool run_to_result(const std::vector<ChunkView> &chunks, GroupTable &groups) override;
    RowTable run_rows(const std::vector<ChunkView> &chunks) override;
    bool changes_builds(ir::Index, uint64_t) const override { return true; }
    bool compares_builds() const override { return true; }
    bool change_build(ir::Index pipeline, const BuiltTableRef &former, const std::vector<ChunkView> &gone,
                      const std::vector<ChunkView> &come) override;
    std::vector<uint64_t> unmatched(ir::Index join) override;
    ChunkView table_rows(ir::Index pipeline, std::shared_ptr<void> &memory) override;
    ExecutionStats stats() const override { return stats_; }

  private:
    ir::Index main_pipeline() const { return static_cast<ir::Index>(context_.program.pipelines.size() - 1); }
    GroupTable aggregate(const std::vector<ChunkView> &chunks, const Grouping &grouping, DistinctValues *distincts);
    std::vector<BuildRows> build_rows(ir::Index pipeline, const std::vector<ChunkView> &chunks);
    void note_partners_of(ir::Index pipeline);
    void bounds_of_entries(const IntervalBound &of, const ir::Pipeline &pipeline, ir::Index join, int64_t null,
                           WorkArray<int64_t> &bounds);
    void order_by_intervals(ir::Index build);
    void check_chunks(ir::Index pipeline, const std::vector<ChunkView> &chunks) const;
    uint32_t partner_parts(ir::Index pipeline, const std::vector<ChunkView> &chunks) const;
    template <class MakeSink>
    uint64_t run(ir::Index pipeline, const std::vector<ChunkView> &chunks, MakeSink sink,
                 const std::atomic<bool> *enough = nullptr);

    const WorkContext work_;
    Context context_;
    std::vector<std::vector<BuildRows>> builds_;   // by pipeline: rows collected so far, per thread
    std::vector<WorkArray<uint8_t>> matched_rows_; // by join: see Context
    ExecutionStats stats_;
    uint64_t row_bound_ = UINT64_MAX; // of the first rows (first_rows.hpp) of the passes before
};

} // namespace gpuscan::host
