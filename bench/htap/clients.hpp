// The clients of HATtrick (Milkai, Chronis, Gaffney, Guo, Patel, Yu, "How Good is My HTAP System?", SIGMOD 2022): what one does again
// and again, and what it counts.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../common/answer.hpp"
#include "../common/pg.hpp"
#include "../common/random.hpp"

namespace bench {

using Clock = std::chrono::steady_clock;

inline double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

// How every session is set up: `offload` is gpuscan.offload.
struct SessionOptions {
    std::string dbname, schema, offload;
    std::vector<std::pair<std::string, std::string>> settings;
};
std::unique_ptr<pg::Connection> connect(const SessionOptions &options);

std::string freshness_table(size_t client);

// When a transactional client was told that its transactions are committed: number 1, 2, ...
class CommitLog {
  public:
    void add(Clock::time_point when);
    // Freshness of a query that began at `start` and saw the first `seen` transactions: for how many seconds the first one that
    // it did not see had been committed by then; 0 if it had not. Throws pg::Error if `seen` is more than there ever were.
    double staleness(size_t seen, Clock::time_point start) const;

  private:
    mutable std::mutex mutex_;
    std::vector<Clock::time_point> when_;
};

// What transactions have added to the data.
struct Totals {
    int64_t transactions = 0, orders = 0, lines = 0, revenue = 0, payments = 0, paid = 0; // amounts in cents
    Totals &operator+=(const Totals &other);
};

// What is there to choose from.
struct Sizes {
    int customers, suppliers, parts;
    std::vector<std::string> dates; // d_date of the days
    int last_order;                 // the largest key of an order before the run
};
Sizes read_sizes(pg::Connection &c);

// Of 100 transactions 48 are new orders, 48 payments, and 4 count a customer's orders. Each increments the one row of the client's
// own FRESHNESS table. All by prepared statements, each of them a round trip.
class TransactionalClient {
  public:
    // `client` counts from 1, `next_order` is shared by all clients.
    TransactionalClient(const SessionOptions &options, const Sizes &sizes, size_t client, std::atomic<int> &next_order,
                        uint64_t seed);
    void step(); // one transaction
    const Totals &totals() const { return totals_; }
    const CommitLog &log() const { return log_; }

  private:
    void new_order();
    void payment();
    void count_orders();
    std::string customer_key();

    std::unique_ptr<pg::Connection> connection_;
    const Sizes &sizes_;
    std::atomic<int> &next_order_;
    Random random_;
    Totals totals_;
    CommitLog log_;
    int last_order_ = 0;
};

// The queries in random order, each of them once before one comes again. A query also reads all FRESHNESS tables, by the same
// statement and so the same snapshot.
class AnalyticalClient {
  public:
    // With `compare` each query runs twice more, by PostgreSQL's plan and as it is, in one snapshot; answers have to be equal.
    AnalyticalClient(const SessionOptions &options, const std::vector<Query> &queries,
                     const std::vector<std::unique_ptr<TransactionalClient>> &beside, bool compare, uint64_t seed);
    void step();                                    // one query
    size_t query() const { return query_; }         // which it was
    double staleness() const { return staleness_; } // in seconds; the largest over the transactional clients
    size_t different() const { return different_; } // answers so far

  private:
    void shuffle();
    void compare_answers(const Query &query);

    std::unique_ptr<pg::Connection> connection_;
    const std::vector<Query> &queries_;
    const std::vector<std::unique_ptr<TransactionalClient>> &beside_;
    const std::string offload_;
    const bool compare_;
    Random random_;
    std::vector<size_t> order_;
    size_t at_ = 0, query_ = 0, different_ = 0;
    double staleness_ = 0;
};

} // namespace bench
