// What a build pipeline computes, as bytes; see build_identity.hpp.
#include "engine/ir/build_identity.hpp"

#include <map>
#include <type_traits>

#include "engine/ir/interval_condition.hpp"

namespace gpuscan {

using namespace ir;

namespace {

// Every part is preceded by its length or is of a fixed one, so that no two descriptions run into each other.
class Describer {
  public:
    Describer(const Program &program, const BuildParts &parts) : p_(program), parts_(parts) {}

    template <class T> void put(T value) {
        static_assert(std::is_integral<T>::value, "no padding");
        out_.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    void put(const std::vector<uint8_t> &bytes) {
        put(bytes.size());
        out_.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    }

    // An expression that was written before is its number then.
    void expr(Index index) {
        const auto seen = exprs_.emplace(index, static_cast<uint32_t>(exprs_.size()));
        put(seen.first->second);
        if (!seen.second)
            return;
        const Expr &e = p_.exprs[index];
        put(static_cast<uint8_t>(e.op));
        put(static_cast<uint8_t>(e.type));
        for_each_operand(e, [this](Index operand) { expr(operand); });
        if (e.op == Op::Column) {
            put(e.a);
            put(e.b);
        } else if (e.op == Op::Const) {
            const Constant &c = p_.constants[e.a];
            put(static_cast<uint8_t>(c.type));
            put(c.null);
            put(c.low);
            put(c.high);
            if (parts_.constant)
                put(parts_.constant(e.a));
        } else if (e.op == Op::Lookup || e.op == Op::Search) {
            contents(e.b);
        } else if (e.op == Op::Call) {
            put(e.c);
        }
    }

    void list(Range range) {
        put(range.count);
        for (Index i = 0; i < range.count; ++i)
            expr(p_.lists[range.first + i]);
    }

    std::string take() { return std::move(out_); }

  private:
    void contents(Index index) {
        const auto seen = lookups_.emplace(index, static_cast<uint32_t>(lookups_.size()));
        put(seen.first->second);
        if (!seen.second)
            return;
        const LookupContents lookup = parts_.lookup(index);
        put(static_cast<uint8_t>(p_.lookups[index].type));
        put(lookup.id);
        if (lookup.id != 0 || lookup.values == nullptr) // (who builds by what is not there fails)
            return;
        put(*lookup.values);
        put(*lookup.nulls);
    }

    const Program &p_;
    const BuildParts &parts_;
    std::string out_;
    std::map<Index, uint32_t> exprs_, lookups_;
};

} // namespace

bool is_set_of_keys(const Program &program, Index build) {
    bool asked = false;
    for (const Join &join : program.joins) {
        if (join.build != build)
            continue;
        if (delivers_payload(join.kind) || join.filters.count > 0)
            return false;
        asked = true;
    }
    return asked && program.pipelines[build].payload.count == 0;
}

bool are_rows_kept(const Program &program, Index build) {
    for (const Join &join : program.joins)
        if (join.build == build && keeps_table(join.kind))
            return true;
    return false;
}

std::string describe_build(const Program &program, Index index, const BuildParts &parts) {
    const Pipeline &pipeline = program.pipelines[index];
    Describer d(program, parts);
    const Range columns = program.sources[pipeline.source].columns;
    d.put(columns.count);
    for (Index c = 0; c < columns.count; ++c) {
        d.put(static_cast<uint8_t>(program.source_columns[columns.first + c].type));
        d.put(program.source_columns[columns.first + c].nullable);
    }
    d.put(pipeline.conjuncts.count);
    for (Index i = 0; i < pipeline.conjuncts.count; ++i) {
        const Conjunct &conjunct = program.conjuncts[pipeline.conjuncts.first + i];
        d.put(conjunct.after);
        d.expr(conjunct.expr);
    }
    d.put(pipeline.joins.count);
    for (Index k = 0; k < pipeline.joins.count; ++k) {
        const Join &join = program.joins[pipeline.joins.first + k];
        d.put(parts.table_id(join.build));
        d.list(join.keys);
        d.put(static_cast<uint8_t>(join.kind));
        d.list(join.filters);
    }
    d.list(pipeline.keys);
    d.list(pipeline.payload);
    d.put(static_cast<uint8_t>(is_set_of_keys(program, index)));
    d.put(static_cast<uint8_t>(are_rows_kept(program, index)));
    Index by = none, at = none;
    const IntervalCondition asked = interval_condition_of_build(program, index, &by, &at);
    for (const IntervalBound &bound : {asked.low, asked.high}) { // by which a key's entries are in order
        d.put(static_cast<uint8_t>(bound.bound != none));
        if (bound.bound != none)
            d.expr(bound.bound);
    }
    return d.take();
}

} // namespace gpuscan
