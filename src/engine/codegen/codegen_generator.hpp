// The generator behind codegen.hpp: one object writes one kernel. Its members stand in six files, each of which says how
// one part of a kernel's text comes about; what they share is the text so far and what is known at its end: the scope's
// variables, the columns that are held, whether the text runs for all rows that a thread holds or for one.
#pragma once

#include <map>
#include <set>

#include "engine/codegen/codegen.hpp"
#include "engine/ir/expr_walk.hpp"

namespace gpuscan::codegen {

using namespace ir;
using std::string;
using std::to_string;

// A type in the kernel's text: of a variable, and as it lies in a column.
const char *value_type(Type type);
const char *stored_type(Type type);

// The name of an expression's value, and of its NULL flag (empty: it is never NULL).
struct ValueNames {
    string v;
    string n;
};

// Where a row is added: to the thread's registers, to the block's copy of the group, to the group in device memory.
enum class Place : uint8_t { Thread, Block, Device };

// The planes of shared memory that hold the parts of an aggregate; see codegen_block.cpp.
struct BlockParts {
    unsigned count = 0, value = 0, odd = 0;
};

// What of a value goes into the state of a bitwise aggregate.
string bits_word(AggregateKind kind, const string &v);

class Generator {
  public:
    explicit Generator(const Request &request)
        : request_(request), program_(*request.program), pipeline_(program_.pipelines[request.pipeline]),
          keys_(request.group.values.empty() ? pipeline_.keys : Range{pipeline_.keys.first, pipeline_.result_keys}) {
        kernel_.constants.assign(program_.constants.size(), 0);
        kernel_.lookups.assign(program_.lookups.size(), 0);
    }

    Kernel generate();
    bool nullable(Index expr);
    bool order_is_free();

  private:
    // text (codegen.cpp)
    void line(const string &text);
    void open(const string &text);
    void close();
    string word(unsigned index) const { return "p.w[" + to_string(index) + "]"; }
    string low_word(unsigned index) const { return "sem::narrow<uint32_t>(" + word(index) + ")"; }
    string pointer(const char *type, unsigned index) const {
        return string("((const ") + type + " *)" + word(index) + ")";
    }
    // A name that no header has: of its own, or i128 would one day hide the type.
    string fresh(const char *prefix) { return string(prefix) + "_" + to_string(serial_++); }

    // the kernel around the steps (codegen.cpp)
    void plan_words();
    void kernel_head();
    const TableShape &table(Index join) const { return *request_.tables[join]; }
    const Join &join(Index k) const { return program_.joins[pipeline_.joins.first + k]; }
    // Must it look at more than the first row with a key?
    bool walks_chains(Index k) const {
        return !table(k).unique && (delivers_payload(join(k).kind) || join(k).filters.count > 0);
    }
    bool fans_out(Index k) const { return walks_chains(k) && delivers_payload(join(k).kind); }
    Index list(Range range, Index i) const { return program_.lists[range.first + i]; }

    // expressions (codegen_expression.cpp)
    bool may_raise(Index expr);
    bool nullable_node(Index expr);
    ValueNames eval(Index expr);
    ValueNames eval_node(Index expr);
    ValueNames column(Index column);
    ValueNames payload(Index join, Index column, Type type);
    ValueNames constant(Index constant, Type type);
    ValueNames lookup(const Expr &expr);
    ValueNames search(const Expr &expr);
    ValueNames logical(const Expr &expr);
    ValueNames conditional(const Expr &expr);
    ValueNames coalesce(const Expr &expr);
    ValueNames checked(const Expr &expr, const string &call, const string &null);
    string either(const string &a, const string &b);

    // rows, filters, probes (codegen_pipeline.cpp)
    std::set<Index> columns_of(const std::vector<Index> &exprs) const;
    string form(Index column) const;
    void load_columns(const std::vector<Index> &exprs);
    void open_rows();
    void close_rows();
    void enter_row_mode();
    void conjuncts(Index after);
    void probe(Index k);
    ValueNames probe_index(Index k, string &hit);
    string hash_probe(Index k, const string &hit, const std::vector<ValueNames> &keys);
    string missing(Index k) const { return table(k).kind == TableKind::Packed ? "0" : "no_match"; }
    string entry_type(Index k) const;
    string probe_entry(Index k, const std::vector<Index> &keys, string hit);
    void partner_lambda(Index k);
    void enter_partners(Index k, const string &entry);
    string next_row(Index k, const string &row) const;
    bool by_interval(Index k) const { return table(k).by_low || table(k).by_reach; }
    string first_between_bounds(Index k);
    void note_partner(Index k, const string &entry);

    // the sinks that write rows: of a build and of a fragment that delivers rows (codegen_rows.cpp)
    struct RowOutput {
        Index expr = none;
        Type type = Type::I32;
        bool nullable = false;
        unsigned values = 0, nulls = 0; // words with the addresses of its arrays
    };
    bool writes_rows() const { return pipeline_.sink != SinkKind::Aggregate; }
    void plan_rows();
    void rows_start();
    string within_bound();
    void rows_sink();
    void rows_tile_end();
    void rows_end();
    ValueNames try_value(Index expr);
    string row_array(const RowOutput &output) const;
    string row_nulls(const RowOutput &output) const;
    void write_row(const std::vector<ValueNames> &values, const string &at, bool cached);
    void put_row(const std::vector<ValueNames> &values, const string &place, bool may_spill);

    // the sink of an aggregation (codegen_aggregate.cpp)
    void aggregate_plan();
    void aggregate_start();
    void aggregate_sink();
    void aggregate_end();
    void group_number(const char *type);
    void find_group();
    std::vector<Index> distinct_values() const;
    void put_values();
    string find_entry();
    void row_into(Place place);
    void row_with_peers();
    void update(Index i, Place place);
    void thread_end();

    // a block's groups in shared memory (codegen_block.cpp)
    void block_plan();
    void block_start();
    void find_cell();
    void block_count(unsigned plane);
    void block_update(Index i, const ValueNames &v);
    void block_end();
    bool in_block() const { return request_.group.grouping == GroupingKind::Shared || request_.group.cells != 0; }
    string wide_cell(unsigned plane, const string &cell) const;
    string narrow_cell(unsigned plane, const string &cell) const;
    const Aggregate &aggregate(Index i) const { return program_.aggregates[pipeline_.aggregates.first + i]; }

    const Request &request_;
    const Program &program_;
    const Pipeline &pipeline_;
    const Range keys_; // of groups
    Kernel kernel_;
    string out_;
    int depth_ = 0;
    unsigned serial_ = 0;
    std::map<Index, ValueNames> values_; // expressions that have a variable in this scope
    std::map<Index, bool> raises_;
    std::map<Index, bool> nullable_;
    std::set<Index> loaded_; // source columns held for a thread's rows
    std::set<Index> used_;   // source columns of the whole pipeline
    bool row_mode_ = false;
    Index last_fan_out_ = none;      // the last join that may multiply rows
    std::vector<BlockParts> block_;  // per aggregate
    unsigned wide_ = 0, narrow_ = 0; // planes of 64 and of 32 bits
    unsigned count_planes_ = 1;      // narrow planes of a counter
    std::vector<bool> staged_;       // per join: probed for a thread's rows at once
    std::vector<RowOutput> outputs_; // of a sink that writes rows
    size_t row_bytes_ = 0;           // of one of them
};

} // namespace gpuscan::codegen
