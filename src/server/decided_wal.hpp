// Up to where has all that WAL says been decided, by transactions that are over for every snapshot?
//
// A page that has changed lately cannot be cached yet: snapshots differ about it (pg/feed/decode_pages.cpp). Who thinks of repairing a chunk
// must know how many pages that would gain; otherwise, beside an old snapshot or many writers, repairs are tried in vain again and again.
// Pages have LSNs and transactions IDs. So queries say where WAL ended at some moment, and which ID was the next one: whatever WAL says
// before that was done by earlier transactions. Estimates come of it, and no answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <vector>

namespace gpuscan {

class DecidedWal {
  public:
    static constexpr size_t moments_known = 1024;

    // WAL ended there, and later this was the next transaction's ID.
    void note(uint64_t end, uint32_t next_xid) {
        const std::lock_guard<std::mutex> guard(lock_);
        if (!moments_.empty() && (end <= moments_.back().end || precedes(next_xid, moments_.back().next_xid)))
            return;
        if (!moments_.empty() && moments_.back().next_xid == next_xid)
            moments_.back().end = end;
        else
            moments_.push_back({end, next_xid});
        if (moments_.size() > moments_known)
            forget_some();
    }

    // What lies before, transactions before `horizon` have done; 0: that is not known of anything.
    uint64_t before(uint32_t horizon) const {
        const std::lock_guard<std::mutex> guard(lock_);
        const auto later = std::partition_point(moments_.begin(), moments_.end(), [horizon](const Moment &moment) {
            return !precedes(horizon, moment.next_xid);
        });
        return later == moments_.begin() ? 0 : std::prev(later)->end;
    }

  private:
    struct Moment {
        uint64_t end;
        uint32_t next_xid;
    };

    static bool precedes(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; } // (they come round)

    // The longer ago, the farther apart: by a 16th of the WAL that has been written since. That leaves some hundreds.
    void forget_some() {
        const uint64_t now = moments_.back().end;
        std::vector<Moment> kept = {moments_.back()};
        for (size_t i = moments_.size() - 1; i-- > 0;)
            if (i == 0 || kept.back().end - moments_[i - 1].end > (now - moments_[i - 1].end) / 16)
                kept.push_back(moments_[i]);
        moments_.assign(kept.rbegin(), kept.rend());
    }

    mutable std::mutex lock_;
    std::vector<Moment> moments_; // in order
};

} // namespace gpuscan
