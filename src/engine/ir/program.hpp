// A checked program: the IR's flat arrays, and their one wire format.
#pragma once

#include <string>
#include <vector>

#include "engine/ir/ir.hpp"

namespace gpuscan {

// Counts of every array, in the order in which the arrays follow this header on the wire (each 8-byte aligned).
struct ProgramHeader {
    static constexpr uint32_t expected_magic = 0x47505231; // "GPR1"
    uint32_t magic = expected_magic;
    uint32_t exprs = 0, constants = 0, lookups = 0, sources = 0, source_columns = 0;
    uint32_t conjuncts = 0, joins = 0, lists = 0, aggregates = 0, pipelines = 0;
    uint32_t sets = 0, distincts = 0, orders = 0, windows = 0, window_functions = 0, ordered_sets = 0, unused = 0;
};

struct Program {
    std::vector<ir::Expr> exprs;
    std::vector<ir::Constant> constants;
    std::vector<ir::Lookup> lookups;
    std::vector<ir::Source> sources;
    std::vector<ir::SourceColumn> source_columns;
    std::vector<ir::Conjunct> conjuncts;
    std::vector<ir::Join> joins;
    std::vector<ir::Index> lists;
    std::vector<ir::Aggregate> aggregates;
    std::vector<ir::Pipeline> pipelines;
    std::vector<ir::GroupingSet> sets;
    std::vector<ir::Distinct> distincts;
    std::vector<ir::OrderKey> orders;
    std::vector<ir::Window> windows;
    std::vector<ir::WindowFunction> window_functions;
    std::vector<ir::OrderedSet> ordered_sets;

    const ir::Pipeline &main() const { return pipelines.back(); }

    // What a group of the result consists of; the groups that a device delivers have the main pipeline's keys and aggregates.
    size_t result_keys() const;
    size_t result_aggregates() const { return grouped_aggregates() + main().ordered_sets.count; }
    // Those that come of grouping, once or twice: all but the ordered sets, which stand last.
    size_t grouped_aggregates() const { return main().aggregates.count + main().distincts.count; }
    // How many keys of the main pipeline are keys of the result.
    size_t shown_keys() const { return main().sets.count == 0 ? main().keys.count : main().result_keys; }

    // The types of the columns of delivered rows, those of window functions last.
    std::vector<Type> row_types() const;
    Type window_type(const ir::WindowFunction &function) const;
    Type ordered_set_type(const ir::OrderedSet &set) const;

    // Is the second grouping there for DISTINCT aggregates alone: one set, of all keys of the result?
    bool counts_distinct() const;

    // The type of a column of the result's groups (ir::group_keys and the like); the column must exist.
    Type group_column_type(ir::Index step, ir::Index column) const;
    size_t group_columns(ir::Index step) const { return step == ir::group_keys ? result_keys() : result_aggregates(); }
    // How many groups or rows are wanted by their number, OFFSET's among them, but for ties; UINT64_MAX: all.
    uint64_t wanted() const;
    // Are any groups of the result not wanted?
    bool filters_groups() const { return main().having.count > 0 || main().top != ir::none; }

    // The type and nullability of column `column` seen at `step` of `pipeline` (see Op::Column).
    Type column_type(const ir::Pipeline &pipeline, ir::Index step, ir::Index column) const;
};

// Parses and checks `size` bytes; every index, range, operand type and order is verified (an attacker cannot send
// these bytes, a bug can). Throws std::runtime_error with the reason.
Program parse_program(const void *bytes, size_t size);

// The wire bytes of a program (tests; backends write the same format from palloc'ed arrays).
std::string serialize_program(const Program &program);

} // namespace gpuscan
