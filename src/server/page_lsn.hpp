// Has a page in shared_buffers changed? Its LSN is read without a pin and without a lock.
//
// Pinning a page costs 270 to 800 ns, and its pin count is a word that all processes write. A look at its LSN takes a cache line
// of its buffer's descriptor and one of its header, which are fetched ahead for many pages at once. Nothing holds the page
// meanwhile: another one may come into its buffer, and a writer may be storing the LSN, in two halves. So the descriptor's
// tag and LSN are read in turns, three times and twice; only if all agree, this was the page's LSN.
//
// A writer who has put its change on the page but not yet the LSN holds the page's lock, so its transaction has not
// committed, and no snapshot sees the change.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuscan {

// PostgreSQL's shared_buffers as this process sees them. Without descriptors no LSN is found.
struct BufferPool {
    const uint8_t *pages = nullptr;
    size_t size = 0; // bytes
    const uint8_t *descriptors = nullptr;
    size_t descriptor_size = 0;
    size_t tag_offset = 0, state_offset = 0; // in a descriptor
    uint32_t valid = 0;                      // the state's bit of a buffer that holds what its tag says ...
    uint32_t locked = 0; // ... unless this one is set: up to 15, the next tag comes before the bit goes
};

// PostgreSQL's BufferTag.
struct PageTag {
    uint32_t tablespace, database, relation;
    int32_t fork;
    uint32_t block;
};
static_assert(sizeof(PageTag) == 20, "compared as bytes");

// The LSN of the page if it lies in this buffer; false: it does not, or was being changed.
bool read_page_lsn(const BufferPool &pool, const PageTag &tag, uint32_t buffer, uint64_t *lsn);
// Fetches what read_page_lsn() will read.
void prefetch_page_lsn(const BufferPool &pool, uint32_t buffer);

} // namespace gpuscan
