// Which entries of a dictionary does a lookup need? Those whose codes reach it, and no others.
//
// Most lookups are functions that may be evaluated for every entry of a dictionary. A *deferred* one (ir::Lookup::deferred) is
// not: a user's function, a cast that may fail. It may see no value that the query would not have shown to it, so before a
// pass of its pipeline runs, the codes are collected that will be looked up, by a program of its own:
//
//     the same source, the conjuncts and joins that run before -> groups by the code
//
// and what stands around the lookup in its expression (the condition of a CASE, the left side of AND, OR and COALESCE)
// becomes one more conjunct. Both devices can run that as it is. What the function makes of these codes is put into the
// table, the others stay NULL there, and the pass runs as any other.
//
// Lookups that stand behind others come later: their programs read the tables of those. Not every place can be a deferred
// lookup's: the filters of a join other than an inner one, and what follows a right or full join's second pass (unmatched.hpp).
#pragma once

#include <vector>

#include "engine/ir/program.hpp"

namespace gpuscan {

// An expression is walked through again for each condition under which it is met: so many nodes at most.
constexpr size_t max_deferral_steps = 2000;

// Are those of all these expressions few enough? `deferred`: per lookup. (Asked when a query is planned.)
bool deferrals_fit(const ir::Expr *exprs, size_t count, const std::vector<bool> &deferred);

// A lookup at one place of a pipeline.
struct DeferredLookup {
    ir::Index node = ir::none; // of the lookup
    ir::Index root = ir::none; // the whole expression
    size_t place = 0;          // in it: a number in the order of evaluation
    ir::Index step = 0;        // joins that run before
    ir::Index conjuncts = 0;   // of those that come after join `step`: so many run before
    ir::Index lookup(const Program &program) const { return program.exprs[node].b; }
};

// The deferred lookups of a pipeline in an order in which each needs the tables of those before it only. Throws
// std::runtime_error where there is none, or one is where none can be.
std::vector<DeferredLookup> deferred_lookups_of(const Program &program, ir::Index pipeline);

// The program that groups by the codes which reach the lookup. Its last pipeline reads the same source, and the builds
// before it are those of `program`.
Program program_of_deferred(const Program &program, ir::Index pipeline, const DeferredLookup &deferred);

} // namespace gpuscan
