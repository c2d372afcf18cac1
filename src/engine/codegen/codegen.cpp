// Writing the kernel of a pipeline; the shape of the kernel is told in device/runtime.cuh, the interface in codegen.hpp.
//
// This file has the frame: the words of the argument, the head, the order of the steps. The parts are written by
// codegen_expression.cpp (one value), codegen_pipeline.cpp (rows, filters, probes), codegen_rows.cpp (the sinks that write
// rows) and codegen_aggregate.cpp with codegen_block.cpp (the sink that makes groups of them).
//
// Fusing the pipeline this way is what Yuan et al., "The Yin and Yang of Processing Data Warehousing Queries on GPU
// Devices", ask for in sections 5 and 6: a kernel per operator spends its time on intermediate results.
#include "engine/codegen/codegen.hpp"

#include <algorithm>

#include "engine/codegen/codegen_generator.hpp"

namespace gpuscan::codegen {

static constexpr int deepest_indent = 16; // of nested arms: the text is for the compiler

// ---- text --------------------------------------------------------------------------------------------------------

void Generator::line(const string &text) {
    out_.append(static_cast<size_t>(std::min(depth_, deepest_indent)) * 4, ' ');
    out_ += text;
    out_ += '\n';
}

void Generator::open(const string &text) {
    line(text + " {");
    ++depth_;
}

void Generator::close() {
    --depth_;
    line("}");
}

// ---- the frame ---------------------------------------------------------------------------------------------------

// Gives every constant, lookup, table and the sink their words of the kernel's argument.
void Generator::plan_words() {
    std::set<Index> reached;
    std::vector<Index> work;
    auto add = [&](Index expr) {
        if (reached.insert(expr).second)
            work.push_back(expr);
    };
    for (Index i = 0; i < pipeline_.conjuncts.count; ++i)
        add(program_.conjuncts[pipeline_.conjuncts.first + i].expr);
    for (Index k = 0; k < pipeline_.joins.count; ++k)
        for (Range range : {join(k).keys, join(k).filters})
            for (Index i = 0; i < range.count; ++i)
                add(list(range, i));
    for (Index i = 0; i < pipeline_.keys.count; ++i)
        add(list(pipeline_.keys, i));
    for (Index i = 0; i < pipeline_.payload.count; ++i)
        add(list(pipeline_.payload, i));
    for (Index i = 0; i < pipeline_.aggregates.count; ++i)
        if (program_.aggregates[pipeline_.aggregates.first + i].arg != none)
            add(program_.aggregates[pipeline_.aggregates.first + i].arg);
    unsigned next = 7;
    while (!work.empty()) {
        const Index index = work.back();
        work.pop_back();
        const Expr &e = program_.exprs[index];
        if (e.op == Op::Column && e.a == 0)
            used_.insert(e.b);
        for_each_operand(e, add);
    }
    for (Index index : reached) { // in order, so that the text does not depend on the walk
        const Expr &e = program_.exprs[index];
        if (e.op == Op::Const && kernel_.constants[e.a] == 0) {
            kernel_.constants[e.a] = next;
            next += 2;
        }
        if ((e.op == Op::Lookup || e.op == Op::Search) && kernel_.lookups[e.b] == 0) {
            kernel_.lookups[e.b] = next;
            next += 3;
        }
    }
    for (Index k = 0; k < pipeline_.joins.count; ++k) {
        kernel_.joins.push_back(next);
        next += TableWords::count(table(k));
        kernel_.matched_rows.push_back(keeps_table(join(k).kind) ? next++ : 0);
        if (walks_chains(k))
            kernel_.loops = true;
        if (fans_out(k))
            last_fan_out_ = k;
    }
    kernel_.divides_partners = last_fan_out_ != none;
    kernel_.sink = next;
    kernel_.words = next + AggregateWords::values(keys_.count, distinct_values().size());
    if (writes_rows())
        plan_rows();
    staged_.assign(pipeline_.joins.count, false);
}

void Generator::kernel_head() {
    const Range columns = program_.sources[pipeline_.source].columns;
    line("#include \"device/runtime.cuh\"");
    line("using namespace gpuscan;");
    line("using namespace gpuscan::rt;");
    line("struct Params { uint64_t w[" + to_string(kernel_.words) + "]; };");
    const bool aggregates = pipeline_.sink == SinkKind::Aggregate;
    if (aggregates && in_block())
        line("extern __shared__ uint64_t wide[];");
    const unsigned threads = aggregates ? request_.group.threads : block_threads;
    open("extern \"C\" __global__ void __launch_bounds__(" + to_string(threads) + ") pipeline(const Params p)");
    line("int error = 0;");
    line("bool stopped = false;");
    line("uint32_t flags = 0;");
    line("uint32_t *const status = (uint32_t *)" + word(Kernel::status) + ";");
    if (kernel_.loops) {
        line("const volatile uint32_t *const cancel = (const volatile uint32_t *)" + word(Kernel::cancel) + ";");
        line("uint32_t steps = 0;");
    }
    if (kernel_.loops || kernel_.limit != 0)
        line("bool stop = false;");
    if (writes_rows())
        rows_start();
    else
        aggregate_start();
    const string chunk_words = to_string(ChunkWords::count(columns.count));
    line("const uint64_t *const chunks = (const uint64_t *)" + word(Kernel::chunks) + ";");
    // Larger blocks are several teams, of block_threads of their threads each.
    const bool several = threads > block_threads;
    const string teams = several ? " * " + to_string(threads / block_threads) : "";
    const string team = several ? "(blockIdx.x * " + to_string(threads / block_threads) + " + threadIdx.x / " +
                                      to_string(block_threads) + ")"
                                : "blockIdx.x";
    const string thread = several ? "threadIdx.x % " + to_string(block_threads) : "threadIdx.x";
    const string chunk_end = "chunks[(uint64_t)k * " + chunk_words + "]";
    line("#ifdef GPUSCAN_QUICK"); // one loop
    line("const uint64_t parts_end = " + word(Kernel::tile_end) + " * tile_parts;");
    line("uint32_t k = 0;");
    open("for (uint64_t part = " + word(Kernel::tile_begin) + " * tile_parts + " + team +
         "; part < parts_end; part += (uint64_t)gridDim.x" + teams + ")");
    line("while (" + chunk_end + " <= part / tile_parts) ++k;");
    --depth_;
    line("#else"); // turns, chunks of a turn, tiles of a chunk
    line("const uint64_t tiles_end = " + word(Kernel::tile_end) + ", turn = " + word(Kernel::turn) + ";");
    line("uint64_t tile = " + word(Kernel::tile_begin) + " + " + team + " * turn;");
    line("uint32_t k = chunk_of(chunks, " + chunk_words + ", (uint32_t)" + word(Kernel::chunk_count) + ", tile);");
    open("while (tile < tiles_end && !stopped)");
    line("const uint64_t next_turn = tile + (uint64_t)gridDim.x * turn" + teams + ";");
    line("const uint64_t turn_end = min_word(tile + turn, tiles_end);");
    open("while (tile < turn_end && !stopped)");
    line("while (" + chunk_end + " <= tile) ++k;");
    line("#endif");
    line("const uint64_t *const chunk = chunks + (uint64_t)k * " + chunk_words + ";");
    line("const uint64_t first = chunk[1];");
    line("const uint32_t nrows = (uint32_t)chunk[2];");
    line("const uint32_t *const mask = (const uint32_t *)chunk[3];");
    for (Index c : used_) {
        const string i = to_string(c);
        line("const Stored c" + i + " = stored(chunk[" + to_string(ChunkWords::values(c)) + "], chunk[" +
             to_string(ChunkWords::base(c)) + "]);");
        if (request_.source_nullable[c])
            line("const uint8_t *const z" + i + " = (const uint8_t *)chunk[" + to_string(ChunkWords::nulls(c)) + "];");
    }
    line("#ifdef GPUSCAN_QUICK");
    line("const uint32_t base = (uint32_t)(part - first * tile_parts) * " + to_string(block_threads) + " + " + thread +
         ";");
    line("#else");
    line("const uint64_t end = min_word(chunk[0], turn_end);");
    open("for (; tile < end; ++tile)");
    line("const uint32_t base = (uint32_t)(tile - first) * " + to_string(tile_rows) + " + " + thread + " * held_rows;");
    line("#endif");
    if (kernel_.limit != 0 && kernel_.cached_rows == 0)
        line("if (*(volatile uint64_t *)counter >= " + word(kernel_.limit) + ") stop = true;");
    if ((kernel_.loops || kernel_.limit != 0) && kernel_.cached_rows == 0)
        line("if (stop) { stopped = true; break; }");
    if (aggregates && !request_.group.count_only &&
        (request_.group.grouping == GroupingKind::Hash || request_.group.grouping == GroupingKind::Wide))
        line("if (*(volatile uint32_t *)status & status_table_full) { stopped = true; break; }");
    // What follows may go on behind itself from any place, and meets the block's others there.
    open("do");
    line("uint32_t alive = living(base, nrows, mask);");
    line("if (!alive) continue;");
}

Kernel Generator::generate() {
    plan_words();
    if (pipeline_.sink == SinkKind::Aggregate)
        aggregate_plan();
    kernel_head();
    const int tile_depth = depth_;
    conjuncts(0);
    std::vector<bool> probed(pipeline_.joins.count, false);
    for (Index i = 0, complete = 0; i < pipeline_.joins.count; ++i) {
        const Index k = request_.probe_order.empty() ? i : request_.probe_order[i];
        probe(k);
        probed[k] = true;
        for (; complete < pipeline_.joins.count && probed[complete]; ++complete)
            conjuncts(complete + 1); // reads what the joins so far have
    }
    if (writes_rows())
        rows_sink();
    else
        aggregate_sink();
    while (depth_ > tile_depth)
        close();
    --depth_;
    line("} while (false);");
    if (kernel_.cached_rows != 0)
        rows_tile_end();
    line("#ifndef GPUSCAN_QUICK");
    close(); // tiles
    close(); // chunks
    line("tile = next_turn;");
    line("#endif");
    close(); // turns, or parts
    if (writes_rows())
        rows_end();
    else
        aggregate_end();
    line("if (error) flags |= status_row_error;");
    line("if (flags) atomicOr(status, flags);");
    close();
    kernel_.source = std::move(out_);
    return std::move(kernel_);
}

Kernel generate(const Request &request) { return Generator(request).generate(); }

bool Generator::order_is_free() {
    for (Index k = 0; k < pipeline_.joins.count; ++k) {
        if (walks_chains(k) || join(k).filters.count > 0 || keeps_table(join(k).kind))
            return false;
        std::vector<Index> roots;
        for (Index i = 0; i < join(k).keys.count; ++i)
            roots.push_back(list(join(k).keys, i));
        bool free = true;
        for_each_needed(program_.exprs, roots, [&](Index index) {
            const Expr &e = program_.exprs[index];
            free = !may_raise(index) && (e.op != Op::Column || e.a == 0);
            return free;
        });
        if (!free)
            return false;
    }
    return true;
}

bool order_is_free(const Request &request) { return Generator(request).order_is_free(); }

bool nullable(const Request &request, Index expr) { return Generator(request).nullable(expr); }

} // namespace gpuscan::codegen
