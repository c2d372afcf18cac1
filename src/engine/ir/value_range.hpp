// Which values can an expression take over some rows? By interval arithmetic over what is known of the columns that it reads.
//
// The answer rules out rows (engine/store/skip.hpp) and decides the form of things: whether the number of a group can be
// computed from its keys, whether 64 bits hold a sum. "Unknown", "may be NULL" and "may raise" are always allowed; the contrary
// holds of every row. The nodes are those that the devices evaluate, so an error is one only where the exact result does not
// fit: a sum of small numbers does not overflow.
#pragma once

#include <functional>

#include "engine/ir/program.hpp"

namespace gpuscan {

struct ValueRange {
    bool value = true;   // some row may have a value that is not NULL,
    bool known = false;  // and it lies between these; never known of floats
    bool null = true;    // some may have NULL
    bool raises = false; // some may raise an error
    int128 min = 0;      // <= max, also where there is no value
    int128 max = 0;

    // Between these; where min > max there is no value.
    static ValueRange of(int128 min, int128 max, bool null = true);
    static ValueRange truth(bool can_be_true, bool can_be_false, bool can_be_null);
    bool can_be(bool truth) const { return value && (!known || (truth ? max > 0 : min <= 0)); }
};

// What is known of the leaves. What a lookup says need not fit the bounds of the code; it does not ask whether the code raises.
struct RangeSources {
    std::function<ValueRange(const ir::Expr &column)> column;
    std::function<ValueRange(const ir::Expr &lookup, const ValueRange &code)> lookup;
};

class ValueRanges {
  public:
    ValueRanges(const Program &program, RangeSources sources);

    // Works out what is not known yet.
    const ValueRange &of(ir::Index expr);

    // For who asks of other rows each time: of these nodes, users before operands (expr_walk.hpp), those that no earlier call has
    // named, in the order in which they are to be evaluated.
    std::vector<ir::Index> order(std::vector<ir::Index> needed);
    void evaluate(const std::vector<ir::Index> &nodes);
    const ValueRange &operator[](ir::Index node) const { return found_[node]; }

  private:
    ValueRange exact(const ir::Expr &e) const;
    ValueRange constant(const ir::Expr &e) const;

    const Program &program_;
    RangeSources sources_;
    std::vector<ValueRange> found_; // by node
    std::vector<uint8_t> named_;
};

} // namespace gpuscan
