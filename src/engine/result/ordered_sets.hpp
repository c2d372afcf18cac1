// Percentiles and modes of the groups of a result (ir::OrderedSet).
//
// They need all of a group's values, and no device keeps more than a state of each group. So the main pipeline runs twice: once it makes
// the groups, as ever, and once it delivers rows of group keys and arguments (rows_of_arguments). Then the device process, on its
// host's cores, serves both devices:
//
//   numbers   every row finds its group: by a table over all values that the keys can have, if these are few, else by a hash table
//   values    each argument's values that are not NULL become unsigned numbers of their order, and are put together group by group, by
//             counting first how many each group has of each thread's rows (as a radix sort's pass does)
//   select    a group's value at a place is found without sorting: between two values of a sample there are few candidates, which one
//             pass over the values collects (Floyd & Rivest, "Expected Time Bounds for Selection", 1975). Small groups are sorted
//
// Grouping sets have the same rows once more for each set, by the keys that the set has.
#pragma once

#include <atomic>

#include "engine/device.hpp"

namespace gpuscan {

// Behind the strategy of a grouping.
constexpr const char *with_ordered_sets = ", ordered sets";

// The program whose rows have the keys of the result's groups, then the arguments. Its builds are those of `program`.
Program rows_of_arguments(const Program &program);

// The groups of the result, of states for all but the ordered sets, with these behind the others; `rows` are all that the program of
// rows_of_arguments() has delivered. Throws OutOfWorkMemory, Cancelled; DeviceError where PostgreSQL alone can tell the answer: a fraction
// is not between 0 and 1, or the answer is one of two zeros of different signs.
GroupTable add_ordered_sets(const Program &program, GroupTable groups, RowTable rows, const WorkMemoryRef &memory,
                            const std::atomic<uint32_t> *cancel);

} // namespace gpuscan
