// Which pages of a request the storage reaches in sequence. The question is asked of the storage, not of a file: a device sees
// requests of all processes and files mixed, and follows so many *streams* at once. A hash join that writes a page to each of
// 64 files in turn appends to every one of them, and yet is random for a device that follows eight (Bausch et al., Table 1, found
// 94 % of such writes random); a sort writes its runs, and a scan reads a table, in one stream each, however many processes take part.
//
//   candidate   the end of a request that continued nothing. It becomes a stream when the next request begins there.
//   stream      has been continued. A stream of reads reads ahead: a request that begins a little further, where reading what
//               lies between costs no more than a random access, continues it, and pays for what was passed over. These pages
//               cost nothing when they are asked for after all, which they are when several processes scan one table, or
//               several I/O workers read for one backend, and overtake each other.
//
// Candidates and streams are kept apart, the last used ones of each, so that random accesses do not make the storage forget its
// streams. The first page of a request that continues nothing is random, its other pages are sequential.
#pragma once

#include <cstdint>

namespace asymmetric_storage {

constexpr uint64_t page_bytes = 8192;
constexpr unsigned most_streams = 256;
constexpr unsigned most_readahead = 64; // bits of Stream::ahead

struct Found {
    uint64_t random = 0, sequential = 0;
    uint64_t skipped = 0; // read ahead of what was asked for
    uint64_t ahead = 0;   // asked for, and read before
};

struct Stream {
    uint64_t file = 0;
    uint64_t end = 0;   // byte behind the last request
    uint64_t ahead = 0; // bit i: the page i + 1 before the end's was passed over, and not asked for since
    uint64_t used = 0;  // 0: free
};

class Streams {
  public:
    // `bytes` > 0 of `file` from `offset`. `readahead` <= most_readahead: pages that may be passed over; `followed`, 1 to
    // most_streams: streams, and as many candidates.
    Found access(uint64_t file, uint64_t offset, uint64_t bytes, unsigned readahead, unsigned followed) {
        const uint64_t first = offset / page_bytes;
        uint64_t pages = (bytes + page_bytes - 1) / page_bytes;
        ++now_;
        Found found;
        for (unsigned i = 0; i < followed; ++i) {
            Stream &s = streams_[i];
            if (s.used == 0 || s.file != file)
                continue;
            const uint64_t end_page = page_behind(s.end);
            if (continues(s, offset) || (first >= end_page && first - end_page <= readahead)) {
                found.skipped = first > end_page ? first - end_page : 0;
                found.sequential = pages;
                advance(s, offset + bytes, found.skipped);
                return found;
            }
            if (first < end_page && s.ahead != 0) {
                while (pages > 0 && take_ahead(s, first + found.ahead)) {
                    ++found.ahead;
                    --pages;
                }
                if (found.ahead > 0) {
                    s.used = now_;
                    // What was not read ahead lies behind it.
                    found.sequential = pages;
                    return found;
                }
            }
        }
        for (unsigned i = 0; i < followed; ++i) {
            Stream &candidate = candidates_[i];
            if (candidate.used != 0 && candidate.file == file && continues(candidate, offset)) {
                candidate.used = 0;
                found.sequential = pages;
                remember(streams_, followed, file, offset + bytes);
                return found;
            }
        }
        found.random = 1;
        found.sequential = pages - 1;
        remember(candidates_, followed, file, offset + bytes);
        return found;
    }

  private:
    static uint64_t page_behind(uint64_t end) { return (end + page_bytes - 1) / page_bytes; }

    // At the end, or, behind a page that was not filled, at the next page.
    static bool continues(const Stream &s, uint64_t offset) {
        return offset == s.end || offset == page_behind(s.end) * page_bytes;
    }

    void advance(Stream &s, uint64_t end, uint64_t skipped) const {
        const uint64_t old_page = page_behind(s.end), moved = page_behind(end) - old_page;
        const uint64_t passed = skipped == 0 ? 0 : (skipped >= 64 ? ~0ull : (1ull << skipped) - 1);
        // The pages passed over are the first ones behind the old end, so the bits above those of the pages just read.
        const uint64_t behind = moved - skipped;
        s.ahead = (moved >= 64 ? 0 : s.ahead << moved) | (behind >= 64 ? 0 : passed << behind);
        s.end = end;
        s.used = now_;
    }

    static bool take_ahead(Stream &s, uint64_t page) {
        const uint64_t end_page = page_behind(s.end);
        if (page >= end_page || end_page - page > 64)
            return false;
        const uint64_t bit = 1ull << (end_page - page - 1);
        if ((s.ahead & bit) == 0)
            return false;
        s.ahead &= ~bit;
        return true;
    }

    // In the place of the one that was used least recently.
    void remember(Stream *list, unsigned followed, uint64_t file, uint64_t end) const {
        unsigned oldest = 0;
        for (unsigned i = 1; i < followed; ++i)
            if (list[i].used < list[oldest].used)
                oldest = i;
        list[oldest] = {file, end, 0, now_};
    }

    uint64_t now_ = 0;
    Stream streams_[most_streams], candidates_[most_streams];
};

} // namespace asymmetric_storage
