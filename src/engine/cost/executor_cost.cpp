// The work of operators in steps, and what it takes; see executor_cost.hpp.
#include "engine/cost/executor_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gpuscan::executor {

const Rates &default_rates() {
    static const Rates rates = [] {
        Rates r{};
        for (int i = 0; i < steps; ++i)
            r.ns[i] = step_table[i].ns;
        return r;
    }();
    return rates;
}

void add(Work *work, const Work &more, double times) {
    for (int i = 0; i < steps; ++i)
        work->amount[i] += more.amount[i] * times;
    work->other_ns += more.other_ns * times;
}

double time_of(const Work &work, const Rates &rates) {
    double ns = work.other_ns;
    for (int i = 0; i < steps; ++i)
        ns += work.amount[i] * rates.ns[i];
    return ns;
}

double far_share(double bytes) {
    return bytes > near_bytes ? std::min(std::log(bytes / near_bytes) / std::log(far_bytes / near_bytes), 1.0) : 0;
}

void build(Work *work, double rows, double table_bytes) {
    add(work, Step::RowHashed, rows * hashed_rows);
    add(work, Step::CacheMiss, rows * overlapped * far_share(table_bytes));
}

void probe(Work *work, double rows, double table_bytes) {
    add(work, Step::RowHashed, rows);
    add(work, Step::CacheMiss, rows * far_share(table_bytes));
}

void group(Work *work, double rows, double groups, double group_bytes) {
    build(work, rows, groups * group_bytes);
    add(work, Step::GroupMade, groups);
}

void sort(Work *work, double rows, double kept, bool texts) {
    // (a heap of those that are wanted, or the whole sort: PostgreSQL's own rule, costsize.c)
    const bool bounded = kept > 0 && kept < rows / 2;
    const double depth = std::log2(std::max(bounded ? 2 * kept : rows, 2.0));
    // (Most rows are compared with the last of those that are kept, and refused.)
    const double compared = bounded ? rows + kept * depth : rows * depth;
    add(work, Step::RowKept, bounded ? kept + rows / 4 : rows);
    add(work, texts ? Step::Text : Step::Operation, compared);
}

} // namespace gpuscan::executor
