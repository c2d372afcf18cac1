// Which blocks does WAL name? A reader that goes over its records, in their order, and tells the blocks to which they refer.
//
// Every record that moves the LSN of a page refers to the page's block (PostgreSQL's src/backend/access/transam/README, "Write-Ahead Log
// Coding"; incremental backups of 17 rely on it). So what this reader has not told of a block since some moment says that its page is as
// it was then. Records that change files otherwise have a flag of their own (XLR_SPECIAL_REL_UPDATE): the storage manager makes one or
// cuts it off; those of databases are copied, moved and removed.
//
// A record: its head (length, where the one before began, resource manager), heads of the blocks, each with that of an image and the
// relation, if it is another one than before, and then data, over which the reader passes. Records lie one behind the other, at multiples of
// 8 bytes, across pages of 8 kB, each with a head of its own, and across files (segments). The form is that of PostgreSQL 15 to 18
// (access/xlogrecord.h, access/xlog_internal.h).
//
// What stands behind the end that the caller names is not looked at: it may be of an earlier use of the file. Before it everything is
// there, unless files have been removed or used again: each page's address and each record's link to the one before show that, and
// that the file still has its name. (A server that uses a file again gives it another one first, and then writes.)
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "server/wal_position.hpp"

namespace gpuscan {

struct WalReference {
    static constexpr uint32_t whole_file = UINT32_MAX; // InvalidBlockNumber

    uint32_t tablespace, database, relation; // all 0, and the whole file: any file may be another one now
    uint32_t fork;
    uint32_t block;
    uint64_t end; // of the record: the LSN that it gives to the page
    // The record tidies the page up: queries and VACUUM write such ones too, and it says nothing of a writer.
    bool tidies;
};

class WalReader {
  public:
    // `directory`: pg_wal. From the first record on that begins on the page of `from` (so some may be told that end before it).
    WalReader(std::string directory, const WalPosition &from);
    ~WalReader();
    WalReader(const WalReader &) = delete;
    WalReader &operator=(const WalReader &) = delete;

    // Calls `tell` for each block to which the records refer that end at `to` or before, where the server has written WAL to its files up
    // to `to`. False: it does not go on from here, so what has changed is not known; the reader is of no more use.
    using Tell = std::function<void(const WalReference &)>;
    bool read(uint64_t to, const Tell &tell);

    // Until the next read(): nobody asks for a while, and the server may want to remove it.
    void close_file();

    // Where the next record begins, or ended the last one; of all before it the blocks have been told.
    uint64_t position() const { return position_; }
    // Behind which the first record began, and the one before ended; 0: it has not been found yet.
    uint64_t first() const { return first_; }
    uint64_t records() const { return records_; }
    uint64_t pages_read() const { return pages_read_; }

  private:
    class Bytes;

    const uint8_t *page(uint64_t at, uint64_t to);
    bool open_segment(uint64_t at);
    std::string segment_name(uint64_t segment) const;
    bool is_file_in_place() const;
    bool find_first(uint64_t to);
    bool read_records(uint64_t to, const Tell &tell);
    static bool tell_blocks(Bytes &record, uint64_t left, uint64_t end, bool tidies, const Tell &tell);
    static bool tell_files(Bytes &record, uint8_t manager, uint8_t info, uint64_t end, const Tell &tell);

    const std::string directory_;
    const uint32_t timeline_;
    const uint64_t segment_size_;
    uint64_t position_, before_ = 0; // ... where the last record began, 0: not known
    uint64_t first_ = 0;             // 0: position_ is not a record's yet
    uint64_t records_ = 0, pages_read_ = 0;
    int file_ = -1;
    uint64_t segment_ = 0;   // of the file
    uint64_t page_at_ = 1;   // of bytes_; no page's address: none
    uint64_t bytes_end_ = 0; // of WAL, which bytes_ had when they were read
    uint8_t bytes_[8192];    // one page of WAL
};

} // namespace gpuscan
