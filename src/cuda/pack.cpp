// The host's half of packing on the GPU: runs are cut into pieces, one for a block at a time.
#include "cuda/pack.hpp"

#include <algorithm>

#include "device/pack.cuh"
#include "engine/device.hpp"

namespace gpuscan::cuda {

namespace {

constexpr uint32_t piece_rows = 8192;
constexpr size_t jobs_at_once = 32768;           // a grid has 65,535 rows of blocks at most
constexpr size_t block_bytes = size_t(1) << 16;  // that a block zeroes
constexpr size_t driver_bytes = size_t(4) << 20; // so many and more the driver zeroes faster

packing::Side side(Frame frame, const Buffer *values, const Buffer *nulls) {
    packing::Side s{};
    s.values = values ? static_cast<uint8_t *>(values->data) : nullptr;
    s.nulls = nulls ? static_cast<uint8_t *>(nulls->data) : nullptr;
    s.base = frame.base;
    s.width = frame.width;
    return s;
}

// Adds the job, and its pieces to `runs`; nothing, where there is nothing to do.
void describe(const PackJob &job, std::vector<packing::Job> &jobs, std::vector<packing::Run> &runs) {
    if (job.to_nulls == nullptr && job.to_frame.bytes(job.type) == 0)
        return;
    const size_t first = runs.size();
    for (const RowRun &run : job.runs)
        for (uint32_t done = 0; done < run.count; done += piece_rows)
            runs.push_back({run.from + done, run.to + done, std::min(piece_rows, run.count - done)});
    if (runs.size() == first)
        return;
    packing::Job to{};
    to.nruns = static_cast<uint32_t>(runs.size() - first);
    to.type = static_cast<uint32_t>(job.type);
    to.from = side(job.from_frame, job.from, job.from_nulls);
    to.to = side(job.to_frame, job.to, job.to_nulls);
    jobs.push_back(to);
}

template <class T> const T *sent(StreamContext &streams, const std::vector<T> &items) {
    return reinterpret_cast<const T *>(address_of(*streams.send(items.data(), items.size() * sizeof(T))));
}

// (A copy for each job would take longer than moving a few rows.)
void queue_jobs(SharedState &state, StreamContext &streams, const Module &module, const std::vector<PackJob> &jobs) {
    const Resident kernel = module.resident("pack_rows", packing::threads, 0);
    const unsigned grid = state.full_grid(kernel.blocks);
    for (size_t first = 0; first < jobs.size(); first += jobs_at_once) {
        std::vector<packing::Job> described;
        std::vector<packing::Run> runs;
        for (size_t i = first; i < std::min(jobs.size(), first + jobs_at_once); ++i)
            describe(jobs[i], described, runs);
        if (described.empty())
            continue;
        const packing::Run *next = sent(streams, runs);
        uint32_t most_runs = 0;
        for (packing::Job &job : described) {
            job.runs = next;
            next += job.nruns;
            most_runs = std::max(most_runs, job.nruns);
        }
        packing::Argument a{};
        a.jobs = sent(streams, described);
        streams.launch(kernel.function, std::min(grid, most_runs), packing::threads, 0, &a,
                       static_cast<unsigned>(described.size()));
    }
}

} // namespace

// Of a dozen small buffers each call of the driver would take longer than what it does.
void queue_zeros(SharedState &state, StreamContext &streams, const std::vector<BufferEnd> &ends) {
    std::vector<packing::Zeros> pieces;
    for (const BufferEnd &end : ends) {
        const size_t size = end.buffer->size, from = end.from;
        if (from > size)
            throw DeviceError("zeros begin behind their buffer's end");
        const CUdeviceptr at = address_of(*end.buffer);
        const size_t aligned = std::min(size, (from + 15) / 16 * 16);
        if (size - from >= driver_bytes) {
            streams.fill(at + from, 0, size - from);
            continue;
        }
        if (from < aligned) // (less than 16 bytes: the block writes byte by byte)
            pieces.push_back({reinterpret_cast<uint8_t *>(at + from), aligned - from});
        for (size_t done = aligned; done < size; done += block_bytes)
            pieces.push_back({reinterpret_cast<uint8_t *>(at + done), std::min(block_bytes, size - done)});
    }
    if (pieces.empty())
        return;
    packing::ZeroArgument a{};
    a.pieces = sent(streams, pieces);
    const ModuleRef module = state.kernels->get(pack_source, nullptr, nullptr);
    streams.launch(module->resident("zero_pieces", packing::threads, 0).function, static_cast<unsigned>(pieces.size()),
                   packing::threads, 0, &a);
}

void pack_rows(SharedState &state, const std::vector<PackJob> &jobs, const std::vector<BufferEnd> &zeros) {
    for (const PackJob &job : jobs)
        check_pack(job);
    if (jobs.empty() && zeros.empty())
        return;
    const std::shared_ptr<StreamContext> streams = state.stream_contexts->borrow();
    const ModuleRef module = state.kernels->get(pack_source, nullptr, nullptr);
    const Drain drain(*streams);
    queue_zeros(state, *streams, zeros);
    queue_jobs(state, *streams, *module, jobs);
    streams->wait(nullptr);
}

} // namespace gpuscan::cuda
