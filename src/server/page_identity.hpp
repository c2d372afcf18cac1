// Has a page in shared_buffers changed? Its identity is read without a pin and without a lock: the LSN, or a hash of all of its
// bytes where WAL does not describe it (unlogged tables; page_hash.hpp).
//
// Pinning a page costs 270 to 800 ns, and its pin count is a word that all processes write. A look at its LSN takes a cache line
// of its buffer's descriptor and one of its header, which are fetched ahead for many pages at once. Nothing holds the page
// meanwhile: another one may come into its buffer, and a writer may be storing the LSN, in two halves. So the descriptor's
// tag and LSN are read in turns, three times and twice; only if all agree, this was the page's LSN.
//
// That takes 20 to 45 ns, since neither line is in a near cache. So what one query has found is kept for others until WAL names the page
// (wal_follower.hpp, 60 ns a record, once for all queries). But WAL may have named it before, by a writer who puts the LSN on the page
// later: he holds the page's lock until then. So the lock is looked at before the LSN: if no writer holds it, whatever change was in WAL by
// then has given the page its LSN. (An image of a page with new hint bits is written under a reader's lock. It changes no row.)
//
// A writer who has put its change on the page but not yet the LSN holds the page's lock, so its transaction has not
// committed, and no snapshot sees the change.
//
// A hash that is equal says that each byte, when it was read, was as when the page was decoded. All were read after the query's snapshot
// was taken, and a change that this snapshot sees was on the page before. Writers may come in between, but as long as the snapshot
// lives they leave something of it in place, byte by byte:
// - A tuple that the snapshot sees is not removed. Its line pointer, which was none, stays one; where an older tuple's had
//   the same bytes, that tuple had another xmin.
// - A tuple that the snapshot does not see any more keeps its xmax until its line pointer is another, and after that what stands
//   in its place has another xmin, or, if the same transaction made both, another ctid.
// - What changes no tuple (locks, hint bits, pruning, freezing, aborted transactions) may be undone: the rows are the same.
// Bytes that are equal stand for equal rows, whichever file they are in and however they came back: decided transactions stay
// decided. Only values made for it, that contain an old tuple's header and are moved over it while the page is being read, could look
// like that tuple: to the one who wrote them into the same table. The hash's keys are drawn at the server's start, so neither chance nor
// users give two contents one hash.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuscan {

// PostgreSQL's shared_buffers as this process sees them. Without descriptors no page is found.
struct BufferPool {
    const uint8_t *pages = nullptr;
    size_t size = 0; // bytes
    const uint8_t *descriptors = nullptr;
    size_t descriptor_size = 0;
    size_t tag_offset = 0, state_offset = 0; // in a descriptor
    static constexpr size_t no_lock = SIZE_MAX;
    size_t lock_offset = no_lock; // of the 32 bits of the page's lock; no_lock: they are not known
    uint32_t lock_held = 0;       // its bits that somebody holds
    uint32_t valid = 0;           // the state's bit of a buffer that holds what its tag says ...
    uint32_t locked = 0;          // ... unless this one is set: up to 15, the next tag comes before the bit goes
};

// PostgreSQL's BufferTag.
struct PageTag {
    uint32_t tablespace, database, relation;
    int32_t fork;
    uint32_t block;
};
static_assert(sizeof(PageTag) == 20, "compared as bytes");

// The LSN of the page if it lies in this buffer; false: it does not, or was being changed. `unlocked`: nobody was at work on it, so no
// record of WAL that had been written by then, and changes the page, ends behind that LSN.
bool read_page_lsn(const BufferPool &pool, const PageTag &tag, uint32_t buffer, uint64_t *lsn, bool *unlocked);
// Fetches what read_page_lsn() will read.
void prefetch_page_lsn(const BufferPool &pool, uint32_t buffer);
// The same for the page's hash; the page in the buffer `next`, if there is one, is fetched meanwhile.
bool read_page_hash(const BufferPool &pool, const PageTag &tag, uint32_t buffer, uint32_t next, uint64_t *hash);

} // namespace gpuscan
