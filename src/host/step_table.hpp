// Chains of comparisons with constants, answered by a table.
//
//   number   on which step does a number lie? Of constants close together a table says it; of others one says where in the list of
//            constants the search begins, and there are few left to look at
//   choice   what the expression chooses there, a constant or another expression, is worked out once for each step
//            (engine/ir/step_function.hpp); the rows that choose an expression are divided once, however many arms there are
//
// Invariant: a table says what the chain would say, NULL included, and its argument cannot raise an error. It is made when the chain
// has been asked for as many rows as the table takes to make.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/ir/step_function.hpp"

namespace gpuscan::host {

struct Context;

// Something that is made when it has been asked for as often as making it takes. By any thread.
template <class Made> class MadeWhenWorth {
  public:
    // nullptr: not yet. make() gives a std::unique_ptr.
    template <class Make> const Made *for_rows(uint32_t n, size_t cost, const Make &make) {
        const Made *ready = ready_.load(std::memory_order_acquire);
        if (ready != nullptr || rows_.fetch_add(n, std::memory_order_relaxed) < cost)
            return ready;
        const std::lock_guard<std::mutex> guard(lock_);
        if (!made_) {
            made_ = make();
            ready_.store(made_.get(), std::memory_order_release);
        }
        return made_.get();
    }

  private:
    std::atomic<uint64_t> rows_{0};
    std::atomic<const Made *> ready_{nullptr};
    std::mutex lock_;
    std::unique_ptr<const Made> made_;
};

// How many of some numbers are not above another one?
class StepNumbers {
  public:
    // begins: ascending.
    explicit StepNumbers(std::vector<int64_t> begins);

    // Of values of I16, I32 or I64.
    void find(Type type, const void *values, uint32_t n, uint32_t *out) const;
    // The last number that is not above a value, of which find() has said at least 1.
    int64_t begin_of(uint32_t step) const { return begins_[step - 1]; }
    // How many entries are filled before the first value is looked up, where there are so many numbers.
    static size_t cost(size_t begins);

  private:
    template <class T> void find_of(const T *values, uint32_t n, uint32_t *out) const;

    std::vector<int64_t> begins_;
    unsigned shift_ = 0;          // of a number's distance from the first one: its bucket
    std::vector<uint32_t> first_; // of each bucket: how many numbers lie before it; one more behind the last
};

// One expression's steps. The last one is of NULL.
struct StepChoices {
    StepNumbers numbers;
    std::vector<uint8_t> values, nulls; // of each step that chooses a constant
    bool any_null;
    std::vector<ir::Index> arms;
    std::vector<uint32_t>
        arm_of; // of each step: the place of its arm, arms.size() of a constant; empty: there are no arms
};

class StepTable {
  public:
    explicit StepTable(ir::Index root) : root_(root) {}

    // nullptr: the chain has to do for these rows, too.
    const StepChoices *for_rows(uint32_t n, const Context &context);

    // Is a table of the expression worth having?
    static bool is_worth(const StepNode &node);

  private:
    const ir::Index root_;
    MadeWhenWorth<StepChoices> choices_;
};

} // namespace gpuscan::host
