// How do rows leave a kernel? Into arrays, one for the values and one for the NULL flags of every column, whose next free
// row a counter in device memory names: the rows of a build, from which its join table is made (cuda/joins/join_build.cpp), and
// the rows that a fragment delivers (cuda/rows.cpp).
//
// One atomic for each row would be the bottleneck as soon as many rows pass, and rows written one by one fill neither
// the lines of device memory nor the packets of the link. So the rows of a block gather in shared memory first, the
// *result cache* of Kaldewey et al., "GPU Join Processing Revisited", section 4:
//
//   place   the threads of a warp that come together take their rows' places in the cache with one atomic in shared memory
//   spill   a row that finds the cache full (only behind a join with duplicates, or where rows are wide) goes to the
//           arrays at once
//   flush   after a tile, when the cache holds flush_rows: one thread reserves that many rows of the arrays with one
//           atomic, the whole block copies column by column. Only a multiple of 32 rows goes, what is left over stays,
//           so that the next reservation starts at a full line again
//
// Invariant: all threads of a block decide alike whether to flush, because a flush has barriers. Each tile ends with
// one barrier that says if any thread met a full cache, and what a tile does stands in a block of its own that every
// thread leaves at its end. Without the cache (rows too wide for it, or turned off) there is no barrier at all and a
// warp reserves rows of the arrays directly.
#include <algorithm>
#include <stdexcept>

#include "engine/codegen/codegen_generator.hpp"

namespace gpuscan::codegen {

namespace {

constexpr size_t cache_bytes = 24 * 1024;     // with that much, as many blocks run on a processor as without a cache
constexpr size_t max_cache_bytes = 46 * 1024; // of the 48 kB that every GPU has for a block
constexpr uint32_t max_cached = 2 * tile_rows, tile_cached = tile_rows + 32, min_cached = 128;
constexpr size_t max_held_bytes = 48; // of a row: columns of wider rows are not held in registers

} // namespace

// What the sink writes, with the words where its arrays stand.
void Generator::plan_rows() {
    size_t row_bytes = 0;
    unsigned next = kernel_.sink + 2;
    auto add = [&](Index expr, bool key) {
        RowOutput output;
        output.expr = expr;
        output.type = program_.exprs[expr].type;
        output.nullable = !key && nullable(expr);
        output.values = next++;
        if (!key)
            output.nulls = next++;
        row_bytes += type_width(output.type) + (output.nullable ? 1 : 0);
        if (!key)
            kernel_.payload_nullable.push_back(output.nullable);
        outputs_.push_back(output);
    };
    if (pipeline_.sink == SinkKind::Rows) {
        kernel_.limit = pipeline_.limit != 0 ? next : 0;
        kernel_.bound = pipeline_.order.count > 0 && pipeline_.top != none ? next + 2 : 0;
        next += Kernel::words_of_rows;
    }
    for (Index i = 0; i < pipeline_.keys.count; ++i)
        add(list(pipeline_.keys, i), true);
    for (Index i = 0; i < pipeline_.payload.count; ++i)
        add(list(pipeline_.payload, i), false);
    kernel_.words = next;
    row_bytes_ = row_bytes;
    row_bytes = std::max<size_t>(row_bytes, 1);
    if (!request_.row_cache)
        return;
    size_t rows = std::min<size_t>(cache_bytes / row_bytes, max_cached);
    if (rows < tile_cached)
        rows = std::min<size_t>(max_cache_bytes / row_bytes, tile_cached);
    rows = rows / 32 * 32;
    if (rows < min_cached)
        return;
    kernel_.cached_rows = static_cast<uint32_t>(rows);
    kernel_.flush_rows = static_cast<uint32_t>(rows >= tile_cached ? rows - tile_rows : rows / 2);
}

void Generator::rows_start() {
    line("uint64_t *const counter = (uint64_t *)" + word(kernel_.sink) + ";");
    line("const uint64_t capacity = " + word(kernel_.sink + 1) + ";");
    line("(void)capacity;");
    if (kernel_.cached_rows == 0)
        return;
    const string size = "[" + to_string(kernel_.cached_rows) + "]";
    for (size_t i = 0; i < outputs_.size(); ++i) {
        line(string("__shared__ ") + stored_type(outputs_[i].type) + " cache" + to_string(i) + size + ";");
        if (outputs_[i].nullable)
            line("__shared__ uint8_t cache_nulls" + to_string(i) + size + ";");
    }
    line("__shared__ uint32_t cached;");
    line("__shared__ uint64_t reserved;");
    line("if (threadIdx.x == 0) cached = 0;");
    line("__syncthreads();");
    line("uint32_t met = 0;");
    open("auto flush = [&](bool all)");
    line("const uint32_t n = cached < " + to_string(kernel_.cached_rows) +
         " ? cached : " + to_string(kernel_.cached_rows) + ";");
    line("const uint32_t kept = all ? 0 : n & 31;");
    line("__syncthreads();");
    open("if (threadIdx.x == 0)");
    line("reserved = atomicAdd((unsigned long long *)counter, (unsigned long long)(n - kept));");
    line("cached = kept;");
    close();
    line("__syncthreads();");
    open("for (uint32_t i = kept + threadIdx.x; i < n; i += " + to_string(block_threads) + ")");
    line("const uint64_t at = reserved + (i - kept);");
    line("if (at >= capacity) break;");
    for (size_t i = 0; i < outputs_.size(); ++i) {
        line(row_array(outputs_[i]) + "[at] = cache" + to_string(i) + "[i];");
        if (outputs_[i].nullable)
            line(row_nulls(outputs_[i]) + "[at] = cache_nulls" + to_string(i) + "[i];");
    }
    close();
    line("met = 0;");
    line("__syncthreads();");
    --depth_;
    line("};");
}

string Generator::row_array(const RowOutput &output) const {
    return string("((") + stored_type(output.type) + " *)" + word(output.values) + ")";
}

string Generator::row_nulls(const RowOutput &output) const { return "((uint8_t *)" + word(output.nulls) + ")"; }

// Writes a row to place `at` of the cache, or of the arrays.
void Generator::write_row(const std::vector<ValueNames> &values, const string &at, bool cached) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const string number = to_string(i);
        const string &null = values[i].n;
        line((cached ? "cache" + number : row_array(outputs_[i])) + "[" + at + "] = " + values[i].v + ";");
        if (outputs_[i].nullable)
            line((cached ? "cache_nulls" + number : row_nulls(outputs_[i])) + "[" + at +
                 "] = " + (null.empty() ? "0" : null) + ";");
        else if (!null.empty() && outputs_[i].nulls != 0)
            throw std::runtime_error("a value that is never NULL has a NULL flag");
    }
}

// A row whose place is known; `may_spill`: the cache may be full.
void Generator::put_row(const std::vector<ValueNames> &values, const string &place, bool may_spill) {
    if (kernel_.cached_rows == 0) {
        open("if (" + place + " < capacity)");
        write_row(values, place, false);
        close();
        return;
    }
    line("met = " + place + " + 1;");
    if (!may_spill) {
        write_row(values, place, true);
        return;
    }
    open("if (" + place + " < " + to_string(kernel_.cached_rows) + ")");
    write_row(values, place, true);
    --depth_;
    open("} else");
    line("const uint64_t out = append(counter);");
    open("if (out < capacity)");
    write_row(values, "out", false);
    close();
    close();
}

// Is what a row's number begins with (row_order.hpp), its first key, not beyond the bound?
string Generator::within_bound() {
    const OrderKey &key = program_.orders[pipeline_.order.first];
    const Type type = program_.exprs[key.expr].type;
    const ValueNames value = eval(key.expr);
    const string late = "0x8000000000000000ull";
    string number = string("order_number<") + (key.descending ? "true" : "false") + ">((" + stored_type(type) + ")" +
                    value.v + ") >> 1";
    if (key.nulls_first)
        number = late + " | " + number;
    if (!value.n.empty())
        number = value.n + " ? " + (key.nulls_first ? "0ull" : late) + " : (" + number + ")";
    return "(" + number + ") <= " + word(kernel_.bound);
}

// A value that may be an error without being the row's.
ValueNames Generator::try_value(Index expr) {
    if (!may_raise(expr))
        return eval(expr);
    const std::map<Index, ValueNames> outer = values_;
    ValueNames r{fresh("v"), nullable(expr) ? fresh("n") : ""};
    line(string(value_type(program_.exprs[expr].type)) + " " + r.v + " = 0;");
    if (!r.n.empty())
        line("bool " + r.n + " = false;");
    open("");
    line("int error = 0;");
    const ValueNames v = eval(expr);
    line(r.v + " = " + v.v + ";");
    if (!v.n.empty())
        line(r.n + " = " + v.n + ";");
    line("if (error) flags |= status_no_bound;");
    close();
    values_ = outer;
    return r;
}

void Generator::rows_sink() {
    std::vector<Index> exprs;
    for (const RowOutput &output : outputs_)
        exprs.push_back(output.expr);
    const bool cache = kernel_.cached_rows != 0;
    const char *const counter = cache ? "&cached" : "counter";
    const char *const place_type = cache ? "uint32_t" : "uint64_t";
    // A NULL key never matches; and a row behind the first ones of an order is not wanted.
    auto present = [&] {
        string condition = kernel_.bound != 0 ? within_bound() : "";
        for (Index i = 0; i < pipeline_.keys.count; ++i) {
            const ValueNames key = eval(list(pipeline_.keys, i));
            kernel_.key_nullable.push_back(!key.n.empty());
            if (!key.n.empty())
                condition += (condition.empty() ? "!" : " && !") + key.n;
        }
        return condition;
    };
    auto evaluate = [&] {
        std::vector<ValueNames> values;
        for (Index expr : exprs)
            values.push_back(values.size() + request_.tried < exprs.size() ? eval(expr) : try_value(expr));
        return values;
    };
    if (row_mode_ || row_bytes_ > max_held_bytes) {
        enter_row_mode();
        const string condition = present();
        if (!condition.empty())
            open("if (" + condition + ")");
        const std::vector<ValueNames> values = evaluate();
        line(string("const ") + place_type + " place = append(" + counter + ");");
        put_row(values, "place", true);
        return;
    }
    load_columns(exprs);
    bool chosen = kernel_.bound != 0;
    for (Index i = 0; i < pipeline_.keys.count; ++i)
        chosen = chosen || nullable(list(pipeline_.keys, i));
    if (chosen) {
        open_rows();
        open("if (alive >> r & 1)");
        line("if (!(" + present() + ")) alive &= ~(1u << r);");
        close();
        close_rows();
        line("if (!alive) continue;");
    } else {
        kernel_.key_nullable.assign(pipeline_.keys.count, 0);
    }
    line(string(place_type) + " places[held_rows];");
    line(string("append_rows(places, ") + counter + ", alive);");
    open_rows();
    open("if (alive >> r & 1)");
    put_row(evaluate(), "places[r]", kernel_.cached_rows < tile_cached);
    close();
    close_rows();
}

// What all threads of a block do at the end of a tile.
void Generator::rows_tile_end() {
    if (kernel_.cached_rows == 0)
        return;
    const bool stops = kernel_.loops || kernel_.limit != 0;
    if (kernel_.limit != 0)
        line("if (threadIdx.x == 0 && *(volatile uint64_t *)counter >= " + word(kernel_.limit) + ") stop = true;");
    const string threshold = kernel_.limit != 0 ? word(kernel_.limit + 1) : to_string(kernel_.flush_rows);
    open("if (__syncthreads_or(met >= " + threshold + (stops ? " || stop" : "") + "))");
    if (stops) {
        line("stop = __syncthreads_or(stop) != 0;");
        open("if (stop)");
        line("stopped = true;");
        line("break;");
        close();
    }
    line(string("flush(") + (kernel_.limit != 0 ? "true" : "false") + ");");
    close();
}

void Generator::rows_end() {
    if (kernel_.cached_rows != 0)
        line("flush(true);");
}

} // namespace gpuscan::codegen
