// Which rows of a chunk a query may use; see chunk.hpp.
#include "engine/store/chunk.hpp"

#include <algorithm>

namespace gpuscan {

PageBits ChunkVersion::have(const std::vector<uint32_t> &wanted) const {
    PageBits bits = known_pages;
    for (uint32_t column : wanted) {
        auto data = columns.find(column);
        if (data == columns.end())
            return PageBits();
        bits &= data->second.have;
    }
    return bits;
}

PageBits ChunkVersion::cpu_only(const std::vector<uint32_t> &wanted) const {
    std::vector<uint32_t> sorted = wanted;
    std::sort(sorted.begin(), sorted.end());
    PageBits bits;
    for (const CpuPages &cpu : cpu_pages)
        if (std::includes(sorted.begin(), sorted.end(), cpu.columns.begin(), cpu.columns.end()))
            bits |= cpu.pages;
    return bits;
}

void ChunkVersion::summarize() {
    const uint32_t npages = known_pages.count();
    whole_pages = garbage_rows() == 0 && known_pages == PageBits::first(npages) ? npages : 0;
    for (auto &column : columns)
        column.second.whole = column.second.have.contains(known_pages);
}

void ChunkVersion::place_page(uint32_t page, uint64_t lsn, uint16_t rows) {
    whole_pages = 0;
    pages[page] = {lsn, nrows, rows};
    known_pages.set(page);
    nrows += rows;
    live_rows += rows;
}

void ChunkVersion::forget_page(uint32_t page) {
    if (!known(page))
        return;
    whole_pages = 0;
    known_pages.reset(page);
    live_rows -= pages[page].nrows;
    for (auto &column : columns)
        column.second.have.reset(page);
    for (CpuPages &cpu : cpu_pages)
        cpu.pages.reset(page);
}

ChunkAnswer check_chunk(const ChunkVersion *version, uint64_t version_map_lsn, const ChunkQuestion &question) {
    ChunkAnswer answer;
    if (version == nullptr || question.map_lsn == 0) {
        answer.missing = question.visible;
        return answer;
    }
    PageBits have = version->have(question.columns) & question.visible;
    PageBits cpu_only = version->cpu_only(question.columns) & question.visible;
    PageBits known = version->known_pages & question.visible;
    if (question.map_lsn == version_map_lsn) {
        answer.verified = known;
    } else if (question.lsns != nullptr) {
        known.for_each([&](uint32_t page) {
            if (page < question.npages && question.lsns[page] != 0 && question.lsns[page] == version->pages[page].lsn)
                answer.verified.set(page);
        });
        answer.confirms_map = true;
    } else if ((have | cpu_only).any()) {
        answer.need_lsns = true;
        return answer;
    }
    answer.covered = have & answer.verified;
    answer.missing = question.visible - answer.covered - (cpu_only & answer.verified);
    return answer;
}

ChunkRows covered_rows(const ChunkVersion &version, const PageBits &covered) {
    ChunkRows rows;
    if (version.garbage_rows() == 0 && covered == version.known_pages) {
        rows.nrows = rows.participating = version.nrows;
        return rows;
    }
    covered.for_each([&](uint32_t page) {
        const PageRows &p = version.pages[page];
        rows.nrows = std::max(rows.nrows, p.row_start + p.nrows);
        rows.participating += p.nrows;
    });
    if (rows.participating == rows.nrows)
        return rows;
    rows.row_mask.resize((size_t(rows.nrows) + 63) / 64);
    covered.for_each([&](uint32_t page) {
        const PageRows &p = version.pages[page];
        for (uint32_t row = p.row_start, end = p.row_start + p.nrows; row < end;) {
            uint32_t n = std::min(64 - row % 64, end - row);
            uint64_t ones = n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1;
            rows.row_mask[row / 64] |= ones << (row % 64);
            row += n;
        }
    });
    return rows;
}

} // namespace gpuscan
