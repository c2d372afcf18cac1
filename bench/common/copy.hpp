// Rows in the form of binary COPY, and their way to the server.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "pg.hpp"

namespace bench {

inline std::atomic<bool> stop{false};

struct Stopped {}; // thrown in the other threads once one has failed

// One COPY ... FROM STDIN (FORMAT binary), from its header to its end.
class CopyStream {
  public:
    CopyStream(pg::Connection &connection, const std::string &table, bool freeze) : connection_(connection) {
        connection_.exec("COPY " + table + " FROM STDIN (FORMAT binary" + (freeze ? ", FREEZE)" : ")"));
        static constexpr char header[19] = {'P', 'G', 'C', 'O', 'P', 'Y', '\n', '\377', '\r', '\n', '\0'};
        send(header, sizeof header);
    }

    void send(const char *data, size_t size) {
        if (stop)
            throw Stopped();
        PGconn *c = connection_.raw();
        if (PQputCopyData(c, data, static_cast<int>(size)) != 1)
            throw pg::Error("COPY failed: " + pg::trimmed(PQerrorMessage(c)));
    }

    void finish() {
        send("\377\377", 2);
        PGconn *c = connection_.raw();
        if (PQputCopyEnd(c, nullptr) != 1)
            throw pg::Error("COPY failed: " + pg::trimmed(PQerrorMessage(c)));
        while (PGresult *r = PQgetResult(c)) {
            const bool good = PQresultStatus(r) == PGRES_COMMAND_OK;
            PQclear(r);
            if (!good)
                throw pg::Error("COPY failed: " + pg::trimmed(PQerrorMessage(c)));
        }
    }

  private:
    pg::Connection &connection_;
};

// Makes rows in the form of binary COPY and hands them on in pieces of whole rows.
class CopyWriter {
  public:
    using Sink = std::function<void(const char *, size_t)>;

    CopyWriter(int columns, Sink sink) : columns_(columns), sink_(std::move(sink)), buffer_(new char[capacity]) {}

    void begin_row() {
        if (used_ + longest_row > capacity)
            flush();
        ++rows_;
        put16(static_cast<uint16_t>(columns_));
    }
    void integer(int32_t value) {
        put32(4);
        put32(static_cast<uint32_t>(value));
    }
    void bigint(int64_t value) {
        put32(8);
        put32(static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32));
        put32(static_cast<uint32_t>(value));
    }
    void boolean(bool value) {
        put32(1);
        buffer_[used_++] = value ? 1 : 0;
    }
    // Days since 1992-01-01, where the benchmarks' calendar begins; PostgreSQL's begins with 2000.
    void date(int day) { integer(day - 2922); }
    // A numeric of two decimals, given in hundredths: groups of four decimal digits, as numeric_recv reads them.
    void decimal(int64_t hundredths) {
        constexpr uint16_t negative = 0x4000;
        uint64_t whole = static_cast<uint64_t>(hundredths < 0 ? -hundredths : hundredths);
        uint16_t digits[6];
        int n = 0;
        digits[n++] = static_cast<uint16_t>(whole % 100 * 100);
        for (whole /= 100; whole > 0; whole /= 10000)
            digits[n++] = static_cast<uint16_t>(whole % 10000);
        put32(static_cast<uint32_t>(8 + 2 * n));
        put16(static_cast<uint16_t>(n));
        put16(static_cast<uint16_t>(n - 2)); // weight of the first group
        put16(hundredths < 0 ? negative : 0);
        put16(2);
        while (n > 0)
            put16(digits[--n]);
    }
    void text(std::string_view value) {
        put32(static_cast<uint32_t>(value.size()));
        append(value.data(), value.size());
    }

    void jsonb(std::string_view value) {
        put32(static_cast<uint32_t>(1 + value.size()));
        buffer_[used_++] = 1; // the version of jsonb_recv's format: one, and the text
        append(value.data(), value.size());
    }
    void null() { put32(0xFFFFFFFF); }

    // Hands the last piece on; gives the number of rows.
    int64_t finish() {
        flush();
        return rows_;
    }

  private:
    static constexpr size_t capacity = 128 * 1024;
    static constexpr size_t longest_row = 1024;

    void append(const char *data, size_t size) {
        std::memcpy(buffer_.get() + used_, data, size);
        used_ += size;
    }
    void put16(uint16_t v) {
        const uint16_t big_endian = __builtin_bswap16(v);
        append(reinterpret_cast<const char *>(&big_endian), 2);
    }
    void put32(uint32_t v) {
        const uint32_t big_endian = __builtin_bswap32(v);
        append(reinterpret_cast<const char *>(&big_endian), 4);
    }
    void flush() {
        if (used_ > 0)
            sink_(buffer_.get(), used_);
        used_ = 0;
    }

    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "COPY sends big-endian numbers");

    int columns_;
    Sink sink_;
    std::unique_ptr<char[]> buffer_;
    size_t used_ = 0;
    int64_t rows_ = 0;
};

// Pieces on their way from the threads that make them to the one that sends them; a bounded number of them.
class Pieces {
  public:
    void put(std::string piece) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return stop || pieces_.size() < capacity; });
        if (stop)
            throw Stopped();
        pieces_.push_back(std::move(piece));
        changed_.notify_all();
    }
    // False once nothing is left and nobody will bring more.
    bool take(std::string &piece) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return stop || !pieces_.empty() || ended_; });
        if (stop || pieces_.empty())
            return false;
        piece = std::move(pieces_.front());
        pieces_.pop_front();
        changed_.notify_all();
        return true;
    }
    void end() {
        std::lock_guard<std::mutex> lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }
    void give_up() {
        std::lock_guard<std::mutex> lock(mutex_);
        stop = true;
        changed_.notify_all();
    }

  private:
    static constexpr size_t capacity = 256;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> pieces_;
    bool ended_ = false;
};

} // namespace bench
