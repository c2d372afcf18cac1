// Queries that have one plan: the settings that leave no other, and whether a plan that was executed is the one that was counted.
// Needs no server.
#pragma once

#include <initializer_list>
#include <string>

#include "checkpoint.hpp"

namespace calibrate {

// SET LOCAL statements: PostgreSQL alone, in one process, with enough memory and its own prices of pages.
extern const char postgresql_alone[];

// SET LOCAL statements that allow these kinds of nodes ("seqscan" is enable_seqscan) and forbid the others.
std::string only(std::initializer_list<const char *> allowed);

// Node types with what they read: what makes two plans the same. `plan`: EXPLAIN's, a node.
std::string shape_of(const Json &plan);

// EXPLAIN (ANALYZE)'s: have all nodes had about the rows that they were estimated to have, and their workers? (But where a LIMIT
// wants fewer.)
bool is_as_estimated(const Json &plan);

} // namespace calibrate
