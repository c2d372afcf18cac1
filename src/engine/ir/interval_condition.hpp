// Which conditions of a join say that a value of its row lies in an interval of its partner?
//
// `at BETWEEN since AND till`, `a.first <= b.last AND a.last >= b.first`: one bound of the partner from below, one from above, or one of
// both. A table whose entries lie in the order of the lower bound need not be looked at as a whole (host/join_intervals.cpp,
// cuda/joins/join_intervals.cpp).
#pragma once

#include <vector>

#include "engine/ir/program.hpp"

namespace gpuscan {

// bound <= value, or value <= bound from above.
struct IntervalBound {
    ir::Index bound = ir::none; // over the partner's columns alone; none: there is no such condition
    ir::Index value = ir::none; // over the row's
    bool strict = false;        // < instead of <=
    bool value_raises = false;  // it can raise an error
    bool by_search =
        false; // bound or value are found by a Search in numbers, which are there before any row (a time zone's changes)
};

struct IntervalCondition {
    IntervalBound low, high;
    bool any() const { return low.bound != ir::none || high.bound != ir::none; }
    bool values_raise() const { return low.value_raises || high.value_raises; }
    bool by_search() const { return low.by_search || high.by_search; }
};

// The first conditions of their kind, over integers, of the join with this number in the pipeline. Neither they nor the conditions before
// them can raise an error but in a bound or a value: who has worked out these without one, the bounds of all entries and the values of the
// rows at hand, may leave out pairs that do not pass. After an error all pairs are to be looked at, since none of them may meet it.
IntervalCondition interval_condition(const Program &program, const ir::Pipeline &pipeline, ir::Index join);

// That of the one join that asks the table of this build pipeline; none where several do. *by becomes its pipeline, *at its number there.
IntervalCondition interval_condition_of_build(const Program &program, ir::Index build, ir::Index *by, ir::Index *at);

} // namespace gpuscan
