// Which blocks does WAL name? A reader that goes over its records, in their order, and tells the blocks to which they refer.
//
// Every record that moves the LSN of a page refers to the page's block (PostgreSQL's src/backend/access/transam/README, "Write-Ahead Log
// Coding"; incremental backups of 17 rely on it). So what this reader has not told of a block since some moment says that its page is as
// it was then.
//
// A record: its head (length, where the one before began, resource manager), heads of the blocks, each with that of an image and the
// relation, if it is another one than before, and then data, over which the reader passes. Records lie one behind the other, at multiples of
// 8 bytes, across pages of 8 kB, each with a head of its own, and across files (segments). The form is that of PostgreSQL 15 to 18
// (access/xlogrecord.h, access/xlog_internal.h).
//
// What stands behind the end that the caller names is not looked at: it may be of an earlier use of the file. Before it everything is
// there, unless files have been removed or used again; each page's address and each record's link to the one before show that.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace gpuscan {

struct WalReference {
    uint32_t tablespace, database, relation;
    uint32_t fork;
    uint32_t block;
};

class WalReader {
  public:
    // `directory`: pg_wal. From the first record on that begins on the page of `from` (so some may be told that end before it).
    WalReader(std::string directory, uint32_t timeline, uint64_t segment_size, uint64_t from);
    ~WalReader();
    WalReader(const WalReader &) = delete;
    WalReader &operator=(const WalReader &) = delete;

    // Calls `tell` for each block to which the records refer that end at `to` or before, where the server has written WAL to its files up
    // to `to`. False: it does not go on from here, so what has changed is not known; the reader is of no more use.
    using Tell = std::function<void(const WalReference &)>;
    bool read(uint64_t to, const Tell &tell);

    // Where the next record begins, or ended the last one; of all before it the blocks have been told.
    uint64_t position() const { return position_; }
    uint64_t records() const { return records_; }

  private:
    class Bytes;

    const uint8_t *page(uint64_t at, uint64_t to);
    bool open_segment(uint64_t at);
    bool find_first(uint64_t to);
    static bool tell_blocks(Bytes &record, uint64_t left, const Tell &tell);

    const std::string directory_;
    const uint32_t timeline_;
    const uint64_t segment_size_;
    uint64_t position_, before_ = 0; // ... where the last record began, 0: not known
    bool found_ = false;             // position_ is a record's
    uint64_t records_ = 0;
    int file_ = -1;
    uint64_t segment_ = 0; // of the file
    uint64_t page_at_ = 1; // of bytes_; no page's address: none
    uint8_t bytes_[8192];  // one page of WAL
};

} // namespace gpuscan
