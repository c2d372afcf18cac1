// The row masks of a run in device memory; see masks.hpp.
//
// The mask of all known rows of a cached chunk is there for as long as its version, and is read where it lies. Another one is
// uploaded. Of those chunks that a query reads without some more ranges of rows, the GPU makes masks of its own for this run: one
// kernel for all of them, cut into pieces.
#include "cuda/masks.hpp"

#include <algorithm>
#include <cstring>

#include "device/masks.cuh"

namespace gpuscan::cuda {

namespace {

size_t words_of(const ChunkView &chunk) { return (static_cast<size_t>(chunk.nrows) + 63) / 64; }

// The view's own part of what it is without.
struct Ranges {
    std::vector<RowRange>::const_iterator begin, end;
};
Ranges ranges_of(const ChunkView &chunk, uint32_t first_row, uint32_t end_row) {
    const auto begin = chunk.without_from(first_row);
    const uint32_t end = chunk.first_row + end_row;
    return {begin, std::lower_bound(begin, chunk.without->end(), end,
                                    [](const RowRange &range, uint32_t row) { return range.first < row; })};
}

bool is_patched(const ChunkView &chunk) {
    if (chunk.without == nullptr || chunk.nrows == 0 || chunk.device_mask_is_whole)
        return false;
    const Ranges ranges = ranges_of(chunk, 0, chunk.nrows);
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
    std::vector<masks::Piece> pieces;
    std::vector<masks::Range> ranges;
    for (size_t i = 0; i < chunks.size(); ++i) {
        const ChunkView &chunk = chunks[i];
        if (!is_patched(chunk))
            continue;
        const uint64_t *from = reinterpret_cast<const uint64_t *>(result.masks[i]);
        result.masks[i] = reinterpret_cast<CUdeviceptr>(to);
        for (size_t word = 0; word < words_of(chunk); word += masks::piece_words) {
            masks::Piece piece{};
            piece.from = from ? from + word : nullptr;
            piece.to = to + word;
            piece.words = static_cast<uint32_t>(std::min<size_t>(words_of(chunk) - word, masks::piece_words));
            piece.row = chunk.first_row + static_cast<uint32_t>(word * 64);
            piece.first_range = static_cast<uint32_t>(ranges.size());
            const Ranges here =
                ranges_of(chunk, static_cast<uint32_t>(word * 64), static_cast<uint32_t>((word + piece.words) * 64));
            for (auto range = here.begin; range != here.end; ++range)
                ranges.push_back({range->first, range->end});
            piece.end_range = static_cast<uint32_t>(ranges.size());
            pieces.push_back(piece);
        }
        to += words_of(chunk);
    }
    masks::Argument argument{};
    argument.pieces = reinterpret_cast<const masks::Piece *>(
        address_of(*streams.send(pieces.data(), pieces.size() * sizeof(masks::Piece))));
    argument.ranges = reinterpret_cast<const masks::Range *>(
        address_of(*streams.send(ranges.data(), ranges.size() * sizeof(masks::Range))));
    result.link_bytes += pieces.size() * sizeof(masks::Piece) + ranges.size() * sizeof(masks::Range);
    const ModuleRef module = state.kernels->get(masks_source, nullptr, nullptr);
    streams.launch(module->resident("mask_without", masks::threads, 0).function, static_cast<unsigned>(pieces.size()),
                   masks::threads, 0, &argument);
}

} // namespace

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
