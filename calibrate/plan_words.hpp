// What distinguishes two plans of a query, in words: how tables are read, how and in which order they are joined, how rows are grouped
// and sorted. Knows EXPLAIN's JSON only.
#pragma once

#include <string>
#include <vector>

namespace calibrate {

// Phrases such as "lineitem by index lineitem_pkey instead of in sequence", "orders x lineitem: nested loop instead of hash join". Empty
// if the plans differ in nothing that has a word here. Throws std::runtime_error if a text is no plan.
std::vector<std::string> differences(const std::string &before, const std::string &after);

} // namespace calibrate
