// Which rows of a chunk a query may use; see chunk.hpp.
#include "engine/store/chunk.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace gpuscan {

constexpr uint32_t few_ranges = 1024; // a mask costs as much as some thousands of them
constexpr uint32_t mask_headroom = 8; // a mask has one more word for so many

// n, if these are pages 0..n-1; else 0.
static uint32_t first_pages(const PageBits &pages) {
    const uint32_t count = pages.count();
    return pages == PageBits::first(count) ? count : 0;
}

PageBits ChunkVersion::have(const std::vector<uint32_t> &wanted) const {
    PageBits bits = known_pages;
    for (uint32_t id : wanted) {
        const ChunkColumns::Column *column = columns.find(id);
        if (column == nullptr)
            return PageBits();
        if (!column->whole)
            bits &= column->data->have;
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

// Calls f(word, bits) for the words of a mask in which the range has rows.
template <class F> static void each_word(const RowRange &range, F f) {
    for (uint32_t row = range.first; row < range.end;) {
        const uint32_t n = std::min(64 - row % 64, range.end - row);
        const uint64_t ones = n == 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1;
        f(row / 64, ones << (row % 64));
        row += n;
    }
}

static size_t words_of(const ChunkRows &rows) { return (size_t(rows.nrows) + 63) / 64; }

static uint32_t mask_rows(const ChunkRows &rows) { return static_cast<uint32_t>(rows.mask->size() * 64); }

static void clear_ranges(std::vector<uint64_t> &mask, const std::vector<RowRange> &ranges) {
    for (const RowRange &range : ranges)
        each_word(range, [&](uint32_t word, uint64_t bits) { mask[word] &= ~bits; });
}

// Adds ranges, of which none overlaps another or those that are there (which are in order).
static void add_ranges(std::vector<RowRange> &to, const std::vector<RowRange> &ranges) {
    const auto earlier = [](const RowRange &a, const RowRange &b) { return a.first < b.first; };
    const auto there = static_cast<std::ptrdiff_t>(to.size());
    to.insert(to.end(), ranges.begin(), ranges.end());
    std::sort(to.begin() + there, to.end(), earlier);
    std::inplace_merge(to.begin(), to.begin() + there, to.end(), earlier);
    size_t kept = 0;
    for (const RowRange &range : to)
        if (kept > 0 && to[kept - 1].end == range.first)
            to[kept - 1].end = range.end;
        else
            to[kept++] = range;
    to.resize(kept);
}

// The rows of all known pages, from those of the version before: without those that went, since all that came behind its end are
// there. (Rows are never given away twice.) When there are many ranges, or the mask ends, a new one is made, with room for later rows.
static RowsRef changed_rows(const ChunkVersion &version, const std::vector<RowRange> &lost) {
    auto rows = std::make_shared<ChunkRows>();
    rows->nrows = version.nrows;
    rows->participating = version.live_rows;
    if (version.garbage_rows() == 0)
        return rows;
    const ChunkRows &base = *version.base_rows;
    rows->without = base.without;
    add_ranges(rows->without, lost);
    rows->mask = base.mask;
    if (rows->without.size() <= few_ranges && (!rows->mask || mask_rows(*rows) >= rows->nrows))
        return rows;
    std::vector<uint64_t> mask;
    mask.reserve(words_of(*rows) + words_of(*rows) / mask_headroom + 1);
    if (base.mask)
        mask = *base.mask;
    mask.resize(mask.capacity(), ~uint64_t(0));
    clear_ranges(mask, rows->without);
    rows->without.clear();
    rows->mask = std::make_shared<const std::vector<uint64_t>>(std::move(mask));
    return rows;
}

// Words [first, end) of mask and ranges in one.
static std::vector<uint64_t> mask_words(const ChunkRows &rows, size_t first, size_t end) {
    std::vector<uint64_t> words(end - first, ~uint64_t(0));
    if (rows.mask && first < rows.mask->size())
        std::copy_n(rows.mask->begin() + static_cast<std::ptrdiff_t>(first), std::min(end, rows.mask->size()) - first,
                    words.begin());
    const auto ends_before = [](const RowRange &range, uint64_t row) { return range.end <= row; };
    for (auto range = std::lower_bound(rows.without.begin(), rows.without.end(), first * 64, ends_before);
         range != rows.without.end() && range->first < end * 64; ++range)
        each_word(*range, [&](uint32_t word, uint64_t bits) {
            if (word >= first && word < end)
                words[word - first] &= ~bits;
        });
    return words;
}

BufferRef make_device_mask(Device &device, const Allocate &allocate, const ChunkRows &rows, const BufferRef &before,
                           const std::vector<RowRange> &lost) {
    const size_t words = words_of(rows);
    const bool patched = before && before->size >= words * sizeof(uint64_t);
    const size_t bytes = patched ? before->size : (words + words / mask_headroom + 1) * sizeof(uint64_t);
    BufferRef mask = allocate(bytes);
    if (patched) {
        std::vector<RowRange> without;
        add_ranges(without, lost);
        device.copy_mask(*mask, *before, bytes, without);
    } else {
        device.upload(*mask, 0, mask_words(rows, 0, bytes / sizeof(uint64_t)).data(), bytes);
    }
    return mask;
}

void ChunkVersion::summarize(const PutMask &put) {
    const RowMask before = base_rows ? base_rows->mask : nullptr;
    const std::vector<RowRange> left = std::move(lost);
    known_rows = nullptr; // or it would be taken for true
    known_rows = base_rows ? changed_rows(*this, left) : covered_rows(*this, known_pages);
    const bool shared = mask && base_rows && known_rows->mask == before;
    const bool reaches = mask && mask->size >= words_of(*known_rows) * sizeof(uint64_t);
    base_rows = nullptr;
    lost = {};
    if (!known_rows->mask && known_rows->without.empty()) // all take part
        mask = nullptr;
    else if (!shared || !reaches || !left.empty())
        mask = put(*known_rows, shared ? mask : nullptr, left);
    whole_pages = first_pages(known_pages);
    columns.note_whole(known_pages, other_pages);
}

void ChunkVersion::place_page(uint32_t page, uint64_t lsn, uint16_t rows) {
    pages.put(page, {lsn, nrows, rows});
    other_pages = true;
    known_pages.set(page);
    nrows += rows;
    live_rows += rows;
}

void ChunkVersion::forget_page(uint32_t page) {
    if (!known(page))
        return;
    other_pages = true;
    known_pages.reset(page);
    live_rows -= pages[page].nrows;
    if (base_rows && pages[page].nrows > 0)
        lost.push_back({pages[page].row_start, pages[page].row_start + pages[page].nrows});
    columns.forget_page(page);
    for (CpuPages &cpu : cpu_pages)
        cpu.pages.reset(page);
}

ChunkFinding finding_of(const PageBits &verified, const std::vector<uint32_t> &in_work, const ChunkQuestion &question) {
    ChunkFinding finding;
    finding.followed = question.followed;
    if (question.has_lsns)
        finding.right = verified;
    for (uint32_t page : in_work)
        finding.right.reset(page);
    finding.proof.map_lsn = question.map_lsn;
    if (question.map_lsn != 0)
        finding.proof.by_map = verified & question.visible;
    finding.proof.whole_by_map = first_pages(finding.proof.by_map);
    return finding;
}

void add_proof(ChunkProof &proof, const ChunkProof &other) {
    if (other.map_lsn > proof.map_lsn)
        proof = other;
    else if (other.map_lsn == proof.map_lsn)
        proof.by_map |= other.by_map;
    proof.whole_by_map = first_pages(proof.by_map);
}

// Each query asks this of every chunk of a live table. So no set of pages is made that is not needed: one takes 0.1 to 0.2 us.
ChunkAnswer check_chunk(const ChunkVersion *version, const ChunkProof *proof, const PageBits *quiet,
                        const ChunkQuestion &question) {
    ChunkAnswer answer;
    answer.missing = question.wanted;
    if (version == nullptr)
        return answer;
    answer.covered = version->have(question.columns);
    answer.covered &= question.wanted;
    const bool by_map = proof != nullptr && question.map_lsn != 0 && question.map_lsn == proof->map_lsn;
    if (by_map) {
        answer.verified = question.visible;
        answer.verified &= proof->by_map;
    }
    if (quiet != nullptr && question.followed != 0)
        answer.verified |= *quiet;
    answer.verified &= version->known_pages;
    answer.verified &= question.wanted;
    PageBits cpu_only, others = answer.covered;
    if (!version->cpu_pages.empty()) {
        cpu_only = version->cpu_only(question.columns);
        cpu_only &= question.wanted;
        others |= cpu_only;
    }
    others -= answer.verified;
    answer.news = question.map_lsn != 0 && !by_map;
    if (others.any()) {
        if (question.compare_at_most < others.count()) {
            answer.unknown = others;
        } else {
            question.compare(*version, others, answer);
            others &= answer.verified;
            answer.news |= question.followed != 0 && others.any();
        }
    }
    answer.covered &= answer.verified;
    answer.missing -= answer.covered;
    if (!version->cpu_pages.empty())
        answer.missing -= cpu_only & answer.verified;
    return answer;
}

std::vector<uint64_t> row_words(const ChunkRows &rows, size_t first, size_t end) {
    std::vector<uint64_t> words = mask_words(rows, first, end);
    for (size_t word = std::max<size_t>(first, rows.nrows / 64); word < end; ++word)
        words[word - first] &= word == rows.nrows / 64 ? (uint64_t(1) << rows.nrows % 64) - 1 : 0;
    return words;
}

// The words, in order, in which they may have other rows. Of the same mask: where only one is without a range, and behind the first
// one's end; else all.
static std::vector<RowRange> unlike_words(const ChunkRows &a, const ChunkRows &b) {
    const uint32_t least = std::min(a.nrows, b.nrows), end = std::max(a.nrows, b.nrows);
    std::vector<RowRange> ranges;
    if (a.mask != b.mask)
        ranges.push_back({0, end});
    else
        std::set_symmetric_difference(
            a.without.begin(), a.without.end(), b.without.begin(), b.without.end(), std::back_inserter(ranges),
            [](const RowRange &x, const RowRange &y) { return std::tie(x.first, x.end) < std::tie(y.first, y.end); });
    if (least < end)
        ranges.push_back({least, end});
    std::sort(ranges.begin(), ranges.end(), [](const RowRange &x, const RowRange &y) { return x.first < y.first; });
    std::vector<RowRange> words;
    for (const RowRange &range : ranges) {
        const uint32_t first = range.first / 64, last = (std::min(range.end, end) + 63) / 64;
        if (!words.empty() && first <= words.back().end)
            words.back().end = std::max(words.back().end, last);
        else if (first < last)
            words.push_back({first, last});
    }
    return words;
}

bool each_unlike_word(const ChunkRows &a, const ChunkRows &b, const UnlikeWord &f) {
    for (const RowRange &range : unlike_words(a, b)) {
        const std::vector<uint64_t> in_a = row_words(a, range.first, range.end),
                                    in_b = row_words(b, range.first, range.end);
        for (size_t i = 0; i < in_a.size(); ++i)
            if (in_a[i] != in_b[i] && !f(range.first + i, in_a[i], in_b[i]))
                return false;
    }
    return true;
}

// The rows of all known pages but these; nullptr: that takes too many ranges. (Pages that VACUUM has cut off may be many, and have
// mostly been decoded one behind the other.)
static RowsRef known_without(const ChunkVersion &version, const PageBits &pages) {
    uint32_t nrows = 0;
    std::vector<RowRange> ranges;
    pages.for_each([&](uint32_t number) {
        const PageRows &page = version.pages[number];
        nrows += page.nrows;
        if (page.nrows > 0 && !ranges.empty() && ranges.back().end == page.row_start)
            ranges.back().end += page.nrows;
        else if (page.nrows > 0)
            ranges.push_back({page.row_start, page.row_start + page.nrows});
    });
    if (ranges.size() > few_ranges)
        return nullptr;
    auto rows = std::make_shared<ChunkRows>(*version.known_rows);
    rows->participating -= nrows;
    add_ranges(rows->without, ranges);
    return rows;
}

RowsRef covered_rows(const ChunkVersion &version, const PageBits &covered) {
    if (version.known_rows) {
        const PageBits others = version.known_pages - covered;
        if (!others.any())
            return version.known_rows;
        const uint32_t count = others.count();
        RowsRef rows = count <= few_ranges || count <= covered.count() ? known_without(version, others) : nullptr;
        if (rows)
            return rows;
    }
    auto rows = std::make_shared<ChunkRows>();
    if (version.garbage_rows() == 0 && covered == version.known_pages) {
        rows->nrows = rows->participating = version.nrows;
        return rows;
    }
    covered.for_each([&](uint32_t page) {
        const PageRows &p = version.pages[page];
        rows->nrows = std::max(rows->nrows, p.row_start + p.nrows);
        rows->participating += p.nrows;
    });
    if (rows->participating == rows->nrows)
        return rows;
    std::vector<uint64_t> mask(words_of(*rows));
    covered.for_each([&](uint32_t number) {
        const PageRows &page = version.pages[number];
        each_word({page.row_start, page.row_start + page.nrows},
                  [&](uint32_t word, uint64_t bits) { mask[word] |= bits; });
    });
    if (rows->nrows % 64 != 0)
        mask.back() |= ~uint64_t(0) << rows->nrows % 64;
    rows->mask = std::make_shared<const std::vector<uint64_t>>(std::move(mask));
    return rows;
}

} // namespace gpuscan
