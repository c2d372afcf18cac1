// Large blocks of memory that nobody uses now, kept for the next who wants one.
//
// Memory that is new from the system costs a page fault and zeroing before the first value is in it: as much as a fragment does with
// it. The next fragment mostly wants the same again, so blocks stay with the process, up to a limit, and go back to the system when
// nobody has taken them for some seconds.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>

#include "engine/util/huge_pages.hpp"

namespace gpuscan {

class SpareMemory {
  public:
    // The one of the process.
    static SpareMemory &shared();

    struct Block {
        HugeMemory memory; // empty: there is no memory
        bool zeros = true; // else it holds what somebody has left
    };
    // At least so many bytes, and at most an eighth more where it is a kept one.
    Block take(size_t bytes);
    void put(HugeMemory memory) noexcept;
    // Lets go what has not been used since the call before the last one.
    void give_back();
    void set_limit(size_t bytes);
    size_t bytes() const;

  private:
    struct Kept {
        HugeMemory memory;
        unsigned calls; // of give_back() since it was put
    };
    void drop_beyond(size_t bytes, std::list<Kept> &dropped); // the oldest ones

    mutable std::mutex lock_;
    std::list<Kept> kept_; // the last one was put last
    size_t bytes_ = 0, limit_ = size_t(256) << 20;
};

} // namespace gpuscan
