// What are the counts, sums and extremes of frames of which rows are left out (EXCLUDE; window.hpp)?
//
// Such a frame is up to three ranges of rows, and moves by no simple rule. A tree over the column knows what fanout rows, fanout of these
// and so on add up to, and so what any range does (Leis, Kundhavi, Kemper and Neumann, "Efficient Processing of Window Functions in
// Analytical SQL Queries", VLDB 2015, section 4.2 on the segment tree). Rows are added in their order.
#pragma once

#include "engine/result/window_aggregates.hpp"

namespace gpuscan::window_parts {

// `Sum` begins empty and has add(const Sum &) and a way to make it of rows: of(first, end).
template <class Sum, class Of> class RangeSums {
  public:
    // in_slices(count, work): work(first, last) by all threads
    template <class InSlices>
    RangeSums(size_t rows, const Of &of, const WorkMemoryRef &memory, const InSlices &in_slices) : of_(of) {
        for (size_t below = rows; below > fanout;) {
            const size_t nodes = (below + fanout - 1) / fanout;
            auto level = std::make_unique<WorkArray<Sum>>(memory);
            level->resize(nodes);
            const WorkArray<Sum> *const parts = levels_.empty() ? nullptr : levels_.back().get();
            in_slices(nodes, [&](size_t first, size_t last) {
                for (size_t i = first; i < last; ++i)
                    (*level)[i] = parts == nullptr ? of(i * fanout, std::min(rows, (i + 1) * fanout))
                                                   : total(*parts, i * fanout, std::min(below, (i + 1) * fanout));
            });
            levels_.push_back(std::move(level));
            below = nodes;
        }
    }

    Sum sum(size_t first, size_t end) const { return end > first ? range(0, first, end) : Sum(); }

  private:
    static constexpr size_t fanout = 16;

    static Sum total(const WorkArray<Sum> &parts, size_t first, size_t end) {
        Sum sum;
        for (size_t i = first; i < end; ++i)
            sum.add(parts[i]);
        return sum;
    }

    // Level 0: rows.
    Sum range(size_t level, size_t first, size_t end) const {
        const auto some = [&](size_t from, size_t to) {
            return level == 0 ? of_(from, to) : total(*levels_[level - 1], from, to);
        };
        const size_t inner = (first + fanout - 1) / fanout, behind = end / fanout;
        if (behind <= inner || level == levels_.size())
            return some(first, end);
        Sum sum = some(first, inner * fanout);
        sum.add(range(level + 1, inner, behind));
        sum.add(some(behind * fanout, end));
        return sum;
    }

    const Of &of_;
    std::vector<std::unique_ptr<WorkArray<Sum>>> levels_;
};

// put(row, sum): of each row's frame
template <class Sums, class Put>
void each_sum(const Slice &slice, const FrameRule &rule, const Sums &sums, const Put &put) {
    slice.each_row(nothing, [&](const Place &at) {
        const frames::FrameParts parts = frames::parts_of(rule, at);
        auto sum = sums.sum(parts.part[0].first, parts.part[0].end);
        for (int i = 1; i < 3; ++i)
            sum.add(sums.sum(parts.part[i].first, parts.part[i].end));
        put(at.row, sum);
    });
}

} // namespace gpuscan::window_parts
