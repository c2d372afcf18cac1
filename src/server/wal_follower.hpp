// Which pages of a device's cache has WAL named? Reads on in WAL (wal_reader.hpp) whenever a query asks, and tells the cache.
//
// A query says how far WAL has to be followed: to where it was flushed when its snapshot had been taken. No change that the snapshot
// sees lies behind that: a commit is seen by others only once it has been flushed (pg/feed/seen_wal.cpp knows the exceptions, and
// asks for nothing then). So pages that no record before that has named are right without a look at them. One query reads for all who wait.
//
// A record takes 60 ns. The process's main thread reads on behind the queries, until none has asked for a minute. A query that finds more to
// be read than takes some ms compares LSNs meanwhile, and leaves it to that thread. Where even that would be too much, or WAL's files
// have gone, all is forgotten: queries compare LSNs again, once, and WAL is followed from there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/store/cache.hpp"
#include "server/wal_position.hpp"
#include "server/wal_reader.hpp"

namespace gpuscan {

class WalFollower {
  public:
    // `directory`: pg_wal.
    WalFollower(Cache &cache, std::string directory) : cache_(cache), directory_(std::move(directory)) {}

    // Has the cache been told of all records that end at `to` or before?
    bool follow(const WalPosition &to);
    // Has a query asked in the last minute?
    bool is_wanted() const;
    // Now and then, by one thread that looks after things: reads a part of what lies before `end`, if a query has asked lately.
    void keep_up(uint64_t end);

  private:
    bool begin(const WalPosition &to);
    bool read(uint64_t to);
    bool tell_cache(uint64_t to);
    void give_up();

    Cache &cache_;
    const std::string directory_;
    std::atomic<uint64_t> told_{0};     // the cache knows all before; 0: WAL is not followed
    std::atomic<uint64_t> asked_ns_{0}; // when a query asked last, by the monotonic clock
    std::mutex lock_;                   // of all below
    std::unique_ptr<WalReader> reader_;
    uint32_t timeline_ = 0;  // of the reader
    uint64_t asked_for_ = 0; // how far, at most
    std::vector<Cache::Reference> references_;
};

} // namespace gpuscan
