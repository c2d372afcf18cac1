// The row masks of a run in device memory; see masks.hpp.
//
// The mask of all known rows of a cached chunk is there for as long as its version, and is read where it lies. Another one is
// uploaded. Of those chunks that a query reads without some more ranges of rows, the GPU makes masks of its own for this run: one
// kernel for all of them, cut into pieces. The mask of a new version is made in the same way from that of the version before.
#include "cuda/masks.hpp"

#include <algorithm>
#include <cstring>

#include "device/masks.cuh"

namespace gpuscan::cuda {

namespace {

size_t words_of(const ChunkView &chunk) { return (static_cast<size_t>(chunk.nrows) + 63) / 64; }

// Those of the ranges, which are in order, that have rows from `first` to before `end`.
struct Ranges {
    std::vector<RowRange>::const_iterator begin, end;
};
Ranges ranges_between(const std::vector<RowRange> &ranges, uint32_t first, uint32_t end) {
    const auto begin = std::lower_bound(ranges.begin(), ranges.end(), first,
                                        [](const RowRange &range, uint32_t row) { return range.end <= row; });
    return {begin, std::lower_bound(begin, ranges.end(), end,
                                    [](const RowRange &range, uint32_t row) { return range.first < row; })};
}

bool is_patched(const ChunkView &chunk) {
    if (chunk.without == nullptr || chunk.nrows == 0 || chunk.device_mask_is_whole)
        return false;
    const Ranges ranges = ranges_between(*chunk.without, chunk.first_row, chunk.first_row + chunk.nrows);
    return ranges.begin != ranges.end;
}

void upload_masks(StreamContext &streams, const std::vector<ChunkView> &chunks, DeviceMasks &result) {
    for (const ChunkView &chunk : chunks)
        if (chunk.row_mask && !chunk.device_mask)
            result.link_bytes += words_of(chunk) * sizeof(uint64_t);
    if (result.link_bytes == 0)
        return;
    char *const staged = static_cast<char *>(streams.stage(result.link_bytes).data);
    result.uploaded = streams.allocate(result.link_bytes);
    size_t at = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
        if (!chunks[i].row_mask || chunks[i].device_mask)
            continue;
        const size_t bytes = words_of(chunks[i]) * sizeof(uint64_t);
        memcpy(staged + at, chunks[i].row_mask, bytes);
        result.masks[i] = address_of(*result.uploaded) + at;
        at += bytes;
    }
    streams.copy_in(address_of(*result.uploaded), staged, at);
}

// Masks that one kernel makes of others, cut into pieces.
class Patches {
  public:
    // `from`: of which it is made, nullptr: all ones. Its first bit stands for this row, as the ranges count.
    void add(const uint64_t *from, uint64_t *to, size_t nwords, uint32_t first_row,
             const std::vector<RowRange> &without) {
        for (size_t word = 0; word < nwords; word += masks::piece_words) {
            masks::Piece piece{};
            piece.from = from ? from + word : nullptr;
            piece.to = to + word;
            piece.words = static_cast<uint32_t>(std::min<size_t>(nwords - word, masks::piece_words));
            piece.row = first_row + static_cast<uint32_t>(word * 64);
            piece.first_range = static_cast<uint32_t>(ranges_.size());
            const Ranges here = ranges_between(without, piece.row, piece.row + piece.words * 64);
            for (auto range = here.begin; range != here.end; ++range)
                ranges_.push_back({range->first, range->end});
            piece.end_range = static_cast<uint32_t>(ranges_.size());
            pieces_.push_back(piece);
        }
    }
    // Queues the kernel; returns the bytes of its arguments.
    size_t launch(SharedState &state, StreamContext &streams) const {
        masks::Argument argument{};
        argument.pieces = reinterpret_cast<const masks::Piece *>(
            address_of(*streams.send(pieces_.data(), pieces_.size() * sizeof(masks::Piece))));
        argument.ranges = reinterpret_cast<const masks::Range *>(
            address_of(*streams.send(ranges_.data(), ranges_.size() * sizeof(masks::Range))));
        const ModuleRef module = state.kernels->get(masks_source, nullptr, nullptr);
        streams.launch(module->resident("mask_without", masks::threads, 0).function,
                       static_cast<unsigned>(pieces_.size()), masks::threads, 0, &argument);
        return pieces_.size() * sizeof(masks::Piece) + ranges_.size() * sizeof(masks::Range);
    }

  private:
    std::vector<masks::Piece> pieces_;
    std::vector<masks::Range> ranges_;
};

void patch_masks(SharedState &state, StreamContext &streams, const std::vector<ChunkView> &chunks,
                 DeviceMasks &result) {
    size_t nwords = 0;
    for (const ChunkView &chunk : chunks)
        if (is_patched(chunk))
            nwords += words_of(chunk);
    if (nwords == 0)
        return;
    result.patched = streams.allocate(nwords * sizeof(uint64_t));
    uint64_t *to = static_cast<uint64_t *>(result.patched->data);
    Patches patches;
    for (size_t i = 0; i < chunks.size(); ++i) {
        const ChunkView &chunk = chunks[i];
        if (!is_patched(chunk))
            continue;
        patches.add(reinterpret_cast<const uint64_t *>(result.masks[i]), to, words_of(chunk), chunk.first_row,
                    *chunk.without);
        result.masks[i] = reinterpret_cast<CUdeviceptr>(to);
        to += words_of(chunk);
    }
    result.link_bytes += patches.launch(state, streams);
}

} // namespace

void copy_mask(SharedState &state, StreamContext &streams, Buffer &to, const Buffer &from, size_t bytes,
               const std::vector<RowRange> &without) {
    if (bytes % sizeof(uint64_t) != 0)
        throw DeviceError("a mask does not have whole words");
    Patches patches;
    patches.add(static_cast<const uint64_t *>(from.data), static_cast<uint64_t *>(to.data), bytes / sizeof(uint64_t), 0,
                without);
    if (bytes > 0)
        patches.launch(state, streams);
}

DeviceMasks put_masks(SharedState &state, StreamContext &streams, const std::vector<ChunkView> &chunks) {
    DeviceMasks result;
    result.masks.assign(chunks.size(), 0);
    for (size_t i = 0; i < chunks.size(); ++i)
        result.masks[i] = reinterpret_cast<CUdeviceptr>(chunks[i].device_mask);
    upload_masks(streams, chunks, result);
    patch_masks(state, streams, chunks, result);
    return result;
}

} // namespace gpuscan::cuda
