// Something for each page of a chunk, in blocks that copies share until they change them. So the next version of a chunk copies the
// blocks of the pages that have changed, and not what it has of 32,672 pages.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/store/decode.hpp"

namespace gpuscan {

template <class T> class PageBlocks {
  public:
    PageBlocks() = default;
    // Neither may change what both have from here on: the copy knows it, and the other one must not be changed any more.
    PageBlocks(const PageBlocks &o) : blocks_(o.blocks_), own_(o.own_.size()) {}
    PageBlocks &operator=(const PageBlocks &o) { return *this = PageBlocks(o); }
    PageBlocks(PageBlocks &&) noexcept = default;
    PageBlocks &operator=(PageBlocks &&) noexcept = default;

    // T() where nothing was put.
    const T &operator[](uint32_t page) const {
        static const T nothing{};
        const size_t block = page / pages_per_block;
        return block < blocks_.size() && blocks_[block] ? (*blocks_[block])[page % pages_per_block] : nothing;
    }
    void put(uint32_t page, const T &value) {
        const size_t block = page / pages_per_block;
        if (block >= blocks_.size()) {
            blocks_.resize(block + 1);
            own_.resize(block + 1);
        }
        if (!own_[block]) {
            blocks_[block] = blocks_[block] ? std::make_shared<Block>(*blocks_[block]) : std::make_shared<Block>();
            own_[block] = true;
        }
        (*blocks_[block])[page % pages_per_block] = value;
    }

  private:
    static constexpr uint32_t pages_per_block = 512;
    using Block = std::array<T, pages_per_block>;

    std::vector<std::shared_ptr<Block>> blocks_;
    std::vector<bool> own_; // nobody else has it
};

} // namespace gpuscan
