// Which of the rows are wanted, where ORDER BY ... LIMIT wants only the first ones, and forgetting the others early.
//
// Rows that come in are collected until there are twice as many as are wanted, or a good deal more; then the first ones are
// chosen (std::nth_element: C. A. R. Hoare, "Find", 1961) and the others are gone. So memory holds a few times the rows that are
// wanted, however many come, and each row costs a few comparisons instead of its part of a sort. What the last one of those
// chosen begins with is a bound: rows whose number (row_order.hpp) is larger need not be collected at all. It is shared by
// all threads of an execution and only falls. Each part of the rows (a thread's, a pass's) may choose by itself, since what
// is not among the first of a part is not among the first of the whole.
//
// `ties`: rows that are equal to the last one are wanted too, since PostgreSQL has more keys than the device, or WITH TIES.
#pragma once

#include "engine/ir/program.hpp"
#include "engine/result/row_order.hpp"

namespace gpuscan {

class FirstRows {
  public:
    // Of a program that delivers rows. All rows are wanted where it has no order, no limit, or that is NULL.
    explicit FirstRows(const Program &program);
    FirstRows(std::vector<SortColumn> keys, std::vector<Type> types, uint64_t top, bool ties);

    bool all() const { return top_ == UINT64_MAX; }
    uint64_t top() const { return top_; } // how many, but for ties
    const RowOrder &order() const { return order_; }
    // Is a new row with this number none of them?
    bool refuses(uint64_t number) const {
        const uint64_t bound = bound_.load(std::memory_order_relaxed);
        return number > bound || (exact_ && number == bound);
    }
    bool has_bound() const { return bound_.load(std::memory_order_relaxed) != UINT64_MAX; }
    // What an earlier execution or pass has found, whose rows are kept elsewhere.
    uint64_t bound() const { return bound_.load(std::memory_order_relaxed); }
    void lower_bound(uint64_t bound);

    // Leaves those of the rows that may be wanted. `helped`: by threads of its own where they are many.
    // Throws OutOfWorkMemory, Cancelled; then the rows are as they were.
    void keep(RowTable &rows, bool helped, const WorkMemoryRef &memory, const std::atomic<uint32_t> *cancel);
    // So many rows should be there before keep() is worth its time, where it left `kept` the last time.
    size_t worth(size_t kept) const;

  private:
    void choose(const RowTable &rows, WorkArray<RowEntry> &entries);

    RowOrder order_;
    std::vector<Type> types_; // of all columns
    uint64_t top_ = UINT64_MAX;
    bool ties_ = false, exact_ = false;
    std::atomic<uint64_t> bound_{UINT64_MAX};
};

// The columns by which a program's rows are ordered; none: they are not.
std::vector<SortColumn> sort_columns(const Program &program);

} // namespace gpuscan
