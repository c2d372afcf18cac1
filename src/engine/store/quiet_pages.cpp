// Which pages are as a chunk's version has them, as far as WAL has been followed; see quiet_pages.hpp.
#include "engine/store/quiet_pages.hpp"

#include <algorithm>

namespace gpuscan {

// To be changed: readers keep what they took.
PageBits &QuietPages::own_pages() {
    if (!pages_ || taken_)
        pages_ = pages_ ? std::make_shared<PageBits>(*pages_) : std::make_shared<PageBits>();
    taken_ = false;
    return *pages_;
}

void QuietPages::note_reference(uint32_t page, uint64_t end, const ChunkVersion *version) {
    if (from_ == never)
        return;
    last_.put(page, end);
    if (!pages_ || !pages_->test(page) || (version != nullptr && end <= version->pages[page].lsn))
        return;
    own_pages().reset(page);
    --count_;
}

void QuietPages::note_right(const PageBits &right, uint64_t followed, const ChunkVersion &version) {
    if (from_ == never)
        return;
    PageBits others = right & version.known_pages;
    if (pages_)
        others -= *pages_;
    PageBits *pages = nullptr; // (a copy, if need be, once there is one to be added)
    others.for_each([&](uint32_t page) {
        const uint64_t right_at = std::max(version.pages[page].lsn, followed);
        if (right_at < from_ || last_[page] > right_at)
            return;
        if (pages == nullptr)
            pages = &own_pages();
        pages->set(page);
        ++count_;
    });
}

void QuietPages::note_decoded(const PageBits &decoded, const ChunkVersion &next) {
    if (!pages_)
        return;
    PageBits &pages = own_pages();
    pages -= decoded;
    pages &= next.known_pages;
    count_ = pages.count();
}

} // namespace gpuscan
