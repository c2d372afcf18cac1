// The host's half of packing on the GPU: runs are cut into pieces, one for a block at a time.
#include "cuda/pack.hpp"

#include <algorithm>

#include "device/pack.cuh"
#include "engine/device.hpp"

namespace gpuscan::cuda {

namespace {

constexpr uint32_t piece_rows = 8192;

packing::Side side(Frame frame, const Buffer *values, const Buffer *nulls) {
    packing::Side s{};
    s.values = values ? static_cast<uint8_t *>(values->data) : nullptr;
    s.nulls = nulls ? static_cast<uint8_t *>(nulls->data) : nullptr;
    s.base = frame.base;
    s.width = frame.width;
    return s;
}

void queue_job(SharedState &state, StreamContext &streams, const ModuleRef &module, const PackJob &job) {
    std::vector<packing::Run> pieces;
    for (const RowRun &run : job.runs)
        for (uint32_t done = 0; done < run.count; done += piece_rows)
            pieces.push_back({run.from + done, run.to + done, std::min(piece_rows, run.count - done)});
    if (pieces.empty() || (job.to_nulls == nullptr && job.to_frame.bytes(job.type) == 0))
        return;
    const CUfunction function = module->function("pack_rows");
    packing::Argument a{};
    a.runs = reinterpret_cast<const packing::Run *>(
        address_of(*streams.send(pieces.data(), pieces.size() * sizeof(packing::Run))));
    a.nruns = static_cast<uint32_t>(pieces.size());
    a.type = static_cast<uint32_t>(job.type);
    a.from = side(job.from_frame, job.from, job.from_nulls);
    a.to = side(job.to_frame, job.to, job.to_nulls);
    const unsigned grid = state.full_grid(module->blocks(function, packing::threads, 0));
    streams.launch(function, std::min(grid, a.nruns), packing::threads, 0, &a);
}

} // namespace

void pack_rows(SharedState &state, const std::vector<PackJob> &jobs) {
    for (const PackJob &job : jobs)
        check_pack(job);
    const std::shared_ptr<StreamContext> streams = state.stream_contexts->borrow();
    streams->use();
    const ModuleRef module = state.kernels->get(pack_source, nullptr, nullptr);
    try {
        for (const PackJob &job : jobs)
            queue_job(state, *streams, module, job);
        streams->wait(nullptr);
    } catch (...) {
        streams->drain();
        throw;
    }
}

} // namespace gpuscan::cuda
