// How does a row get from the scan to the sink? Loading columns, filtering, probing join tables.
//
// The text is written in two modes. While nothing has been multiplied ("staged"), a thread holds its rows side by
// side: for each conjunct and each join with unique keys it loads the columns that are needed for the first time, runs
// an unrolled loop over these rows, clears the bits of rows that fall out in `alive`, and goes on with the next tile
// when none is left. From the first join with duplicates on, and in sinks that write row by row, the text continues
// inside a loop over the living rows ("row"), where later steps are nested blocks: an `if` per conjunct and unique
// join, a `for` along the chain of a join with duplicates. So they do from the first join on that has filters of its own:
// they stand in a function that finds the next partner, which a left join asks until there is none, a semi or anti join
// once.
//
// A row with many partners keeps one thread busy while others have nothing to do. Where rows are few, several blocks take the
// same ones: each follows their chains, and each goes on with its part of what the last join that multiplies rows finds.
#include <iterator>

#include "engine/codegen/codegen_generator.hpp"
#include "engine/ir/interval_condition.hpp"

namespace gpuscan::codegen {

namespace {

const char *packed_type(uint8_t bytes) {
    return bytes == 1 ? "uint8_t" : bytes == 2 ? "uint16_t" : bytes == 4 ? "uint32_t" : "uint64_t";
}

} // namespace

string Generator::entry_type(Index k) const {
    return table(k).kind == TableKind::Packed ? packed_type(table(k).entry_bytes) : "uint32_t";
}

// ---- rows --------------------------------------------------------------------------------------------------------

// Columns of the source that these expressions read. Operands precede their node: one sweep downwards meets all.
std::set<Index> Generator::columns_of(const std::vector<Index> &exprs) const {
    std::set<Index> columns;
    for_each_needed(program_.exprs, exprs, [&](Index index) {
        const Expr &e = program_.exprs[index];
        if (e.op == Op::Column && e.a == 0)
            columns.insert(e.b);
        return true;
    });
    return columns;
}

// How the column is stored, as a template argument.
string Generator::form(Index column) const {
    return to_string(column < request_.source_form.size() ? request_.source_form[column] : form_any);
}

// Loads the columns that these expressions need and that are not held yet; staged mode only.
void Generator::load_columns(const std::vector<Index> &exprs) {
    const Range columns = program_.sources[pipeline_.source].columns;
    for (Index c : columns_of(exprs)) {
        if (!loaded_.insert(c).second)
            continue;
        const string i = to_string(c);
        line(string(stored_type(program_.source_columns[columns.first + c].type)) + " s" + i + "[held_rows];");
        line("load_rows<" + form(c) + ">(s" + i + ", c" + i + ", base, nrows);");
        if (request_.source_nullable[c]) {
            line("uint8_t t" + i + "[held_rows];");
            line("load_nulls(t" + i + ", z" + i + ", base, nrows);");
        }
    }
}

void Generator::open_rows() {
    line("#pragma unroll");
    open("for (int r = 0; r < held_rows; ++r)");
    values_.clear();
}

void Generator::close_rows() {
    close();
    values_.clear();
}

void Generator::enter_row_mode() {
    if (row_mode_)
        return;
    row_mode_ = true;
    values_.clear();
    line("#pragma unroll 1");
    open("for (uint32_t left = alive; left; left = without_first(left))");
    line("const int r = first_of(left);");
    line("const uint32_t row = base + r;");
    line("(void)row;");
    if (kernel_.divides_partners)
        line("uint32_t partner = row;"); // the next one's number; rows begin with different parts
    for (Index k = 0; k < pipeline_.joins.count; ++k) {
        if (!staged_[k])
            continue;
        line("const " + entry_type(k) + " x" + to_string(k) + " = pick(e" + to_string(k) + ", r);");
    }
}

// ---- filters -----------------------------------------------------------------------------------------------------

void Generator::conjuncts(Index after) {
    for (Index i = 0; i < pipeline_.conjuncts.count; ++i) {
        const Conjunct &conjunct = program_.conjuncts[pipeline_.conjuncts.first + i];
        if (conjunct.after != after)
            continue;
        if (row_mode_) {
            const ValueNames v = eval(conjunct.expr);
            open("if (" + v.v + ")");
            continue;
        }
        load_columns({conjunct.expr});
        open_rows();
        const bool guard = may_raise(conjunct.expr);
        if (guard)
            open("if (alive >> r & 1)");
        const ValueNames v = eval(conjunct.expr);
        line("if (!(" + v.v + ")) alive &= ~(1u << r);");
        if (guard)
            close();
        close_rows();
        line("if (!alive) continue;");
    }
}

// ---- probes ------------------------------------------------------------------------------------------------------

// The index of a key in a table indexed by key; `hit` becomes the condition under which it is inside.
ValueNames Generator::probe_index(Index k, string &hit) {
    const TableShape &shape = table(k);
    const string index = fresh("i");
    string sum;
    for (Index i = 0; i < join(k).keys.count; ++i) {
        const Index expr = list(join(k).keys, i);
        const ValueNames key = eval(expr);
        const unsigned first = kernel_.joins[k] + TableWords::key(i);
        const Type type = program_.exprs[expr].type;
        const string d = fresh("d");
        const bool narrow = type_width(type) <= 4;
        if (narrow)
            line("const uint32_t " + d + " = (uint32_t)key_word(" + key.v + ") - (uint32_t)" + word(first) + ";");
        else
            line("const uint64_t " + d + " = key_word(" + key.v + ") - " + word(first) + ";");
        hit += (hit.empty() ? "" : " && ") + d + " < " + (narrow ? "(uint32_t)" : "") + word(first + 2);
        if (!key.n.empty())
            hit += " && !" + key.n;
        const string term = shape.keys.size() == 1 ? d : "(uint64_t)" + d + " * " + word(first + 1);
        sum += (sum.empty() ? "" : " + ") + term;
    }
    line("const uint64_t " + index + " = " + sum + ";");
    return {index, ""};
}

// Text of a loop that sets the variable it returns to the row whose keys are these, or no_match.
string Generator::hash_probe(Index k, const string &hit, const std::vector<ValueNames> &keys) {
    const TableShape &shape = table(k);
    const unsigned first = kernel_.joins[k];
    const string m = fresh("m");
    line("uint32_t " + m + " = no_match;");
    open("if (" + (hit.empty() ? string("true") : hit) + ")");
    line("uint64_t hash = 0;");
    for (size_t i = 0; i < keys.size(); ++i) {
        if (shape.keys[i] == Type::I128) {
            line("hash = sem::hash_combine(hash, (uint64_t)" + keys[i].v + ");");
            line("hash = sem::hash_combine(hash, (uint64_t)(" + keys[i].v + " >> 64));");
        } else {
            line("hash = sem::hash_combine(hash, key_word(" + keys[i].v + "));");
        }
    }
    line("const uint32_t tag = " +
         (shape.exact_tag ? "(uint32_t)key_word(" + keys[0].v + ")" : string("(uint32_t)hash")) + ";");
    line("const uint64_t *const slots = " + pointer("uint64_t", first + TableWords::entries) + ";");
    line("uint32_t slot = (uint32_t)(hash >> 32) & (uint32_t)" + word(first + TableWords::extent) + ";");
    open("for (;;)");
    line("const uint64_t found = __ldg(slots + slot);");
    line("if (found == 0) break;");
    open("if ((uint32_t)(found >> 32) == tag)");
    line("const uint32_t candidate = (uint32_t)found - 1;");
    string same;
    if (!shape.exact_tag)
        for (size_t i = 0; i < keys.size(); ++i)
            same += (same.empty() ? "" : " && ") + pointer(stored_type(shape.keys[i]), first + TableWords::key(i)) +
                    "[candidate] == " + keys[i].v;
    if (same.empty())
        line(m + " = candidate;");
    else
        line("if (" + same + ") " + m + " = candidate;");
    line("if (" + m + " != no_match) break;");
    close();
    line("slot = (slot + 1) & (uint32_t)" + word(first + TableWords::extent) + ";");
    close();
    close();
    return m;
}

// Text that finds the rows that can hold a row's values between their bounds: the name of the first, and past<k>, the end.
string Generator::first_between_bounds(Index k) {
    const IntervalCondition asked = interval_condition(program_, pipeline_, k);
    const unsigned bounds = kernel_.joins[k] + TableWords::bounds(table(k));
    const string past = "past" + to_string(k), first = fresh("m");
    const auto find = [&](const char *function, const IntervalBound &bound, unsigned at, const char *nothing) {
        const ValueNames v = eval(bound.value);
        return (v.n.empty() ? "" : v.n + " ? " + nothing + " : ") + function + (bound.strict ? "<true>(" : "<false>(") +
               pointer("int64_t", at) + ", " + past + ", " + v.v + ")";
    };
    line("uint32_t " + past + " = (uint32_t)" + word(kernel_.joins[k] + TableWords::extent) + ";");
    if (table(k).by_low)
        line(past + " = " + find("rows_begun", asked.low, bounds, "0u") + ";");
    line("uint32_t " + first + " = 0;");
    if (table(k).by_reach)
        line(first + " = " + find("rows_reaching", asked.high, bounds + 1, past.c_str()) + ";");
    line("if (" + first + " >= " + past + ") " + first + " = no_match;");
    return first;
}

// Text that finds what the table has for a row's key: a packed entry or the first row of a chain; the name of that value.
// It is what says "missing" where the condition `hit` does not hold or a key is NULL.
string Generator::probe_entry(Index k, const std::vector<Index> &keys, string hit) {
    const string type = entry_type(k);
    if (by_interval(k))
        return first_between_bounds(k);
    if (keys.empty()) {
        const string first = fresh("m");
        line("const uint32_t " + first + " = " + (hit.empty() ? "" : hit + " && ") + "(uint32_t)" +
             word(kernel_.joins[k] + TableWords::extent) + " != 0 ? 0u : no_match;");
        return first;
    }
    if (table(k).kind == TableKind::Hash) {
        std::vector<ValueNames> values;
        for (Index expr : keys) {
            values.push_back(eval(expr));
            if (!values.back().n.empty())
                hit += (hit.empty() ? "!" : " && !") + values.back().n;
        }
        return hash_probe(k, hit, values);
    }
    const ValueNames index = probe_index(k, hit);
    const string entries = pointer(type.c_str(), kernel_.joins[k] + TableWords::entries);
    const string entry = fresh("m");
    if (table(k).kind == TableKind::Packed)
        line("const " + type + " " + entry + " = " + hit + " ? __ldg(" + entries + " + " + index.v + ") : (" + type +
             ")0;");
    else
        line("const uint32_t " + entry + " = " + hit + " ? rows_first(" + entries + ", " + index.v + ") : no_match;");
    return entry;
}

// The row of the table that follows one with the same keys; without keys they lie in their order.
string Generator::next_row(Index k, const string &row) const {
    const unsigned first = kernel_.joins[k];
    if (by_interval(k))
        return "(" + row + " + 1 < past" + to_string(k) + " ? " + row + " + 1 : no_match)";
    if (join(k).keys.count == 0)
        return "(" + row + " + 1 < (uint32_t)" + word(first + TableWords::extent) + " ? " + row + " + 1 : no_match)";
    return "rows_next(" + pointer("uint32_t", first + TableWords::next) + ", " + row + ")";
}

// `entry` may be "missing" only where rows without a partner go on.
void Generator::note_partner(Index k, const string &entry) {
    if (keeps_table(join(k).kind))
        line((keeps_rows(join(k).kind) ? "if (" + entry + " != no_match) " : string()) + "((uint8_t *)" +
             word(kernel_.matched_rows[k]) + ")[" + entry + "] = 1;");
}

// A function from a row of the table, or a packed entry, to the first one from there on that is a partner of this row:
// that passes the join's filters.
void Generator::partner_lambda(Index k) {
    const string x = "x" + to_string(k), type = entry_type(k);
    const std::map<Index, ValueNames> outer = values_;
    const bool chain = walks_chains(k);
    open("auto partner" + to_string(k) + " = [&](" + type + " " + x + ") -> " + type);
    if (chain) {
        open("for (; " + x + " != no_match && !stop; " + x + " = " + next_row(k, x) + ")");
        line("if ((++steps & 1023) == 0 && *cancel) stop = true;");
    } else {
        open("if (" + x + " != " + missing(k) + ")");
    }
    const int depth = depth_;
    for (Index i = 0; i < join(k).filters.count; ++i) {
        const ValueNames v = eval(list(join(k).filters, i));
        open("if (" + v.v + ")");
    }
    line("return " + x + ";");
    while (depth_ > depth)
        close();
    close();
    line("return (" + type + ")" + missing(k) + ";");
    --depth_;
    line("};");
    values_ = outer;
}

// Opens the block for a row's partners, or for the row that has, or has not, one.
void Generator::enter_partners(Index k, const string &entry) {
    const string x = "x" + to_string(k), none = missing(k);
    const JoinKind kind = join(k).kind;
    const bool filtered = join(k).filters.count > 0;
    const bool chain = walks_chains(k), outer = keeps_rows(kind);
    if (filtered || (outer && chain))
        partner_lambda(k);
    const string first = filtered ? "partner" + to_string(k) + "(" + entry + ")" : entry;
    if (!delivers_payload(kind)) {
        open("if (" + first + (kind == JoinKind::Semi ? " != " : " == ") + none + (chain ? " && !stop)" : ")"));
        return;
    }
    if (!chain) {
        line("const " + entry_type(k) + " " + x + " = " + first + ";");
        if (!outer)
            open("if (" + x + " != " + none + ")");
        note_partner(k, x);
        return;
    }
    string next = next_row(k, x);
    if (filtered || outer)
        next = "partner" + to_string(k) + "(" + next + ")";
    if (!outer)
        open("for (uint32_t " + x + " = " + first + "; " + x + " != no_match && !stop; " + x + " = " + next + ")");
    else // once at least
        open("for (uint32_t " + x + " = " + first + ", more = 1; more && !stop; more = " + x + " != no_match && (" + x +
             " = " + next + ") != no_match)");
    line("if ((++steps & 1023) == 0 && *cancel) stop = true;");
    if (k == last_fan_out_)
        line("if (gridDim.y > 1 && partner++ % gridDim.y != blockIdx.y) continue;");
    note_partner(k, x);
}

void Generator::probe(Index k) {
    std::vector<Index> exprs;
    bool guard = false;
    for (Index i = 0; i < join(k).keys.count; ++i) {
        exprs.push_back(list(join(k).keys, i));
        guard = guard || may_raise(exprs.back());
    }
    if (walks_chains(k) || join(k).filters.count > 0)
        enter_row_mode();
    if (row_mode_) {
        enter_partners(k, probe_entry(k, exprs, ""));
        return;
    }
    const string e = "e" + to_string(k), none = missing(k);
    const JoinKind kind = join(k).kind;
    load_columns(exprs);
    line(entry_type(k) + " " + e + "[held_rows];");
    open_rows();
    line(e + "[r] = (" + entry_type(k) + ")" + none + ";");
    if (guard || table(k).kind == TableKind::Hash) {
        open("if (alive >> r & 1)");
        guard = true;
    }
    const string entry = probe_entry(k, exprs, guard ? "" : "(alive >> r & 1)");
    line(e + "[r] = " + entry + ";");
    if (keeps_table(kind)) {
        open("if (" + entry + " != no_match)");
        note_partner(k, entry);
        close();
    }
    if (!keeps_rows(kind))
        line("if (" + entry + (kind == JoinKind::Anti ? " != " : " == ") + none + ") alive &= ~(1u << r);");
    if (guard)
        close();
    close_rows();
    if (!keeps_rows(kind))
        line("if (!alive) continue;");
    staged_[k] = delivers_payload(kind);
}

} // namespace gpuscan::codegen
