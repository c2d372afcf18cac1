// Of one chunk: which pages are as its version has them, as far as WAL has been followed?
//
// Whoever changes a page writes a record that names it, whose end becomes the page's LSN (server/wal_reader.hpp; some records name a
// page that they do not change). So a page that was decoded at LSN L is as it was if no record that ends behind L names it; and a page
// that was found unchanged when WAL ended at F, if none does behind F. Of each page the end of the last record that names it is kept: 8
// bytes, in blocks of 512 pages. The pages of which that is known are quiet.
//
//   note_reference   a record names the page: it is not quiet any more, unless the version was decoded behind it
//   note_right       pages were found to be as the version has them, by somebody who looked when WAL had been written up to
//                    `followed` at least: quiet are those that no record names behind that, or behind their LSN
//   note_decoded     the next version has decoded these pages again: what was known of them is of their earlier rows
//
// What was named before the chunk came to be known, or before WAL was followed at all, is not known: nothing is quiet but for what lies
// behind `from`. Under the cache's mutex; readers keep the set of pages that they took.
#pragma once

#include <memory>

#include "engine/store/chunk.hpp"
#include "engine/store/page_blocks.hpp"

namespace gpuscan {

class QuietPages {
  public:
    static constexpr uint64_t never = UINT64_MAX; // WAL is not followed

    // All records that end behind `from` are told by note_reference(), in their order.
    explicit QuietPages(uint64_t from = never) : from_(from) {}

    void note_reference(uint32_t page, uint64_t end, const ChunkVersion *version);
    void note_right(const PageBits &right, uint64_t followed, const ChunkVersion &version);
    void note_decoded(const PageBits &decoded, const ChunkVersion &next);

    // How many of these pages has a record named that ends behind `decided`?
    uint32_t count_named_since(const std::vector<uint32_t> &pages, uint64_t decided) const {
        uint32_t count = 0;
        for (const uint32_t page : pages)
            count += last_[page] > decided;
        return count;
    }
    // nullptr: none.
    std::shared_ptr<const PageBits> pages() {
        taken_ = true;
        return pages_;
    }
    uint32_t count() const { return count_; }

  private:
    PageBits &own_pages();

    uint64_t from_;
    PageBlocks<uint64_t> last_; // 0: it has not been named
    std::shared_ptr<PageBits> pages_;
    bool taken_ = false; // by a reader
    uint32_t count_ = 0; // of pages_
};

} // namespace gpuscan
