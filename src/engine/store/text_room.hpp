// Where do texts lie that functions of texts make, until nobody needs them?
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace gpuscan {

class TextRoom {
  public:
    char *take(size_t bytes) {
        constexpr size_t usual = 256 * 1024;
        if (blocks_.empty() || room_ - used_ < bytes) {
            full_ += used_;
            room_ = std::max(bytes, usual);
            used_ = 0;
            blocks_.emplace_back(new char[room_]); // (untouched: few of these bytes are used)
        }
        char *const at = blocks_.back().get() + used_;
        used_ += bytes;
        return at;
    }
    void give_back(size_t bytes) { used_ -= bytes; } // of what was taken last

    // What was taken is gone. (The last block stays.)
    void clear() {
        if (blocks_.size() > 1)
            blocks_.erase(blocks_.begin(), blocks_.end() - 1);
        full_ = used_ = 0;
    }

    size_t bytes() const { return full_ + used_; } // in use

  private:
    std::vector<std::unique_ptr<char[]>> blocks_;
    size_t room_ = 0, used_ = 0; // of the last block
    size_t full_ = 0;            // in the others
};

} // namespace gpuscan
