// Where work that takes no fixed time looks whether it is still wanted: after so many bytes, not after so many entries, of which
// one may be a gigabyte.
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/device.hpp"

namespace gpuscan {

class CancelPoint {
  public:
    // `cancel`: not 0 when the work is to end; nullptr: never. It belongs to one thread.
    explicit CancelPoint(const std::atomic<uint32_t> *cancel = nullptr) : cancel_(cancel) {}

    // So much has been looked at since the last call. Throws Cancelled.
    void worked(size_t bytes) {
        done_ += bytes;
        if (done_ >= look_every)
            look();
    }

  private:
    static constexpr size_t look_every = size_t(1) << 20; // below a millisecond

    void look() {
        done_ = 0;
        if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed) != 0)
            throw Cancelled();
    }

    const std::atomic<uint32_t> *const cancel_;
    size_t done_ = look_every; // looks at once
};

} // namespace gpuscan
