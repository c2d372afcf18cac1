// Which kernels will a program need, before its builds have run? NVRTC takes so long for a kernel that those of a new program
// should be compiled at the same time, but what a pipeline's kernel looks like depends on the tables that it probes and on
// the bounds of what they hold.
//
//   speculate   goes through the pipelines in their order. The bounds of a build's columns, which the cache knows, bound its
//             keys and payload whatever its filters leave: from them comes an *expected table*, of the form that the build
//             would choose by them, and with it the kernels of those that probe it. Whether keys are unique is a guess.
//   adapt     when a pipeline runs, its kernel is known. Where a speculative one is being compiled already, and
//             that can do what is asked (it looks for NULLs that are not there, probes in another order, has room for more
//             groups and longer sums), this execution makes do with that one.
//   widen     filters can leave a build so few values that its packed table is narrower than expected. Then this execution
//             gets a copy in the expected width, which its kernels probe. The table itself stays narrow: it is the one
//             that is kept, and later executions have the kernel that probes it.
//   catch up  then the right kernel is compiled while nobody waits, for the next execution, and with all optimisations.
//
// Invariant: a speculative kernel runs only if the request as it was adapted gives the same text as the one that was begun, and all
// words of its argument are those of the adapted request. So a wrong guess costs a compilation that nobody waits for, never
// an answer. Its tables are those that were built, or their wider copies; their forms must be the expected ones.
#include <map>

#include "cuda/execution_state.hpp"
#include "engine/ir/build_identity.hpp"

namespace gpuscan::cuda {

using codegen::GroupingKind;
using codegen::TableShape;
using codegen::TableWords;

namespace {

constexpr double rows_that_pass = 0.3; // of a build, for each of its conditions

// Is the table as expected, or can it become so by wider entries?
bool fits(const TableShape &table, const TableShape &expected) {
    return table.kind == expected.kind && table.unique == expected.unique && table.exact_tag == expected.exact_tag &&
           table.by_low == expected.by_low && table.by_reach == expected.by_reach && table.keys == expected.keys &&
           table.payload == expected.payload && table.payload_nullable == expected.payload_nullable &&
           (table.kind != TableKind::Packed || table.entry_bytes <= expected.entry_bytes);
}

bool covers(const std::vector<uint8_t> &wide, const std::vector<uint8_t> &narrow) {
    for (size_t i = 0; i < narrow.size(); ++i)
        if (narrow[i] && !wide.at(i))
            return false;
    return true;
}

} // namespace

// ---- before ------------------------------------------------------------------------------------------------------

void CudaExecution::speculate(const std::vector<std::vector<ChunkView>> &chunks) {
    speculative_.resize(program_.pipelines.size());
    expected_.assign(program_.pipelines.size(), nullptr);
    for (std::shared_ptr<Table> &table : expected_)
        table = std::make_shared<Table>();
    expected_.swap(tables_);
    for (Index p = 0; p < program_.pipelines.size(); ++p) {
        try {
            compile_speculatively(p, chunks.at(p));
        } catch (const std::exception &) {
            // Whoever needs the kernel will meet the error itself.
        }
    }
    expected_.swap(tables_);
}

void CudaExecution::compile_speculatively(Index index, const std::vector<ChunkView> &chunks) {
    const Pipeline &pipeline = program_.pipelines[index];
    for (Index k = 0; k < pipeline.joins.count; ++k)
        if (!table_of(pipeline, k).finished)
            return;
    if (chunks.empty())
        return;
    const Input input = survey(pipeline, chunks);
    auto speculative = std::make_unique<SpeculativeKernel>();
    codegen::Request r = request(index, input);
    for (size_t i = 0; i < lookups_.size(); ++i)
        if (!lookups_[i].table) // most answer NULL for NULL
            r.lookup_nullable[i] = true;
    if (pipeline.sink == SinkKind::Aggregate) {
        GroupPlan plan;
        if (program_.counts_distinct()) {
            codegen::Request with_values = r;
            with_values.group.values.resize(pipeline.distincts.count);
            plan = plan_groups(std::move(with_values), input);
        }
        if (plan.noted.empty())
            plan = plan_groups(std::move(r), input);
        const GroupingKind grouping = plan.request.group.grouping;
        if ((grouping == GroupingKind::Hash || grouping == GroupingKind::Wide) &&
            input.rows >= state_->groups.counted_rows)
            state_->prepared->start(generate(counting(plan.request)).source, Effort::Quick);
        speculative->request = std::move(plan.request);
        speculative->extent = plan.extent;
        speculative->shared = plan.shared;
        speculative->source = std::move(plan.kernel.source);
    } else {
        const Kernel kernel = generate(r);
        speculative->source = kernel.source;
        if (pipeline.sink == SinkKind::Build)
            tables_[index] = expected_table(index, kernel, input);
        speculative->request = std::move(r);
    }
    state_->prepared->start(speculative->source, Effort::Quick);
    speculative_[index] = std::move(speculative);
}

// What a build would make of all its rows.
std::shared_ptr<Table> CudaExecution::expected_table(Index index, const Kernel &kernel, const Input &input) {
    const Pipeline &pipeline = program_.pipelines[index];
    ValueRanges ranges = this->ranges(pipeline, input);
    auto table = std::make_shared<Table>();
    TableShape &shape = table->shape;
    auto add = [&](Index expr, std::vector<Type> &types) {
        const Type type = program_.exprs[expr].type;
        const ValueRange &range = ranges.of(expr);
        const bool known = range.known && range.min >= INT64_MIN && range.max <= INT64_MAX;
        types.push_back(type);
        if (is_float(type) || type == Type::I128)
            table->ranges.push_back({INT64_MAX, INT64_MIN});
        else if (known)
            table->ranges.push_back({static_cast<int64_t>(range.min), static_cast<int64_t>(range.max)});
        else
            table->ranges.push_back({INT64_MIN, INT64_MAX});
    };
    for (Index i = 0; i < pipeline.keys.count; ++i)
        add(program_.lists[pipeline.keys.first + i], shape.keys);
    for (Index i = 0; i < pipeline.payload.count; ++i)
        add(program_.lists[pipeline.payload.first + i], shape.payload);
    double rows = static_cast<double>(input.rows);
    for (Index i = 0; i < pipeline.conjuncts.count; ++i)
        rows *= rows_that_pass;
    table->rows = std::max<uint64_t>(1, static_cast<uint64_t>(rows));
    table->payload_nullable = shape.payload_nullable = kernel.payload_nullable;

    tables::BuildArgument a{};
    uint64_t extent = 0;
    shape.kind = choose_form(index, *table, a, extent);
    const bool keyed = !shape.keys.empty();
    const bool repeated = shape.kind != TableKind::Hash ? table->rows > extent : kernel.loops;
    shape.unique = is_set_of_keys(program_, index) || (keyed ? !repeated : table->rows <= 1);
    if (!shape.unique && shape.kind == TableKind::Packed)
        shape.kind = TableKind::Rows;
    shape.entry_bytes = static_cast<uint8_t>(a.entry_bytes);
    shape.exact_tag = shape.kind == TableKind::Hash && a.exact_tag != 0;
    shape.by_low = !shape.unique && bounds_[index].low != none;
    shape.by_reach = !shape.unique && bounds_[index].high != none;
    const uint64_t slots = shape.kind == TableKind::Hash ? power_of_two(2 * table->rows) : extent;
    const size_t width = shape.kind == TableKind::Packed ? a.entry_bytes : shape.kind == TableKind::Rows ? 4 : 8;
    table->entries_bytes = keyed ? slots * width : 0;
    table->words.assign(TableWords::count(shape), 0);
    table->words[TableWords::extent] = slots;
    table->finished = true;
    return table;
}

// ---- when it runs ------------------------------------------------------------------------------------------------

// The kernel that was compiled speculatively for a pipeline, where waiting for it is shorter than for the right one.
const SpeculativeKernel *CudaExecution::in_the_making(Index pipeline, const std::string &source) const {
    if (pipeline >= speculative_.size() || !speculative_[pipeline] || speculative_[pipeline]->source == source ||
        state_->prepared->is_ready(source))
        return nullptr;
    return speculative_[pipeline].get();
}

// Asks for what the speculative kernel does, as far as it does what was asked for. Whoever runs it widens the tables before.
bool CudaExecution::adapt(codegen::Request &r, const SpeculativeKernel &speculative) {
    const codegen::Request &begun = speculative.request;
    if (r.tables.size() != begun.tables.size() || r.probe_order.size() != begun.probe_order.size() ||
        !covers(begun.source_nullable, r.source_nullable) || !covers(begun.lookup_nullable, r.lookup_nullable))
        return false;
    for (size_t k = 0; k < r.tables.size(); ++k)
        if (!fits(*r.tables[k], *begun.tables[k]))
            return false;
    for (size_t c = 0; c < r.source_form.size(); ++c)
        if (r.source_form[c] != begun.source_form[c] && begun.source_form[c] != codegen::form_any)
            return false;
    r.tables = begun.tables;
    r.source_nullable = begun.source_nullable;
    r.lookup_nullable = begun.lookup_nullable;
    r.source_form = begun.source_form;
    r.probe_order = begun.probe_order;
    return true;
}

// Gives this execution tables with entries as wide as the speculative kernel reads them. False: there is no memory for that,
// and all tables are as they were.
bool CudaExecution::widen(Index index, const SpeculativeKernel &speculative) {
    const Pipeline &pipeline = program_.pipelines[index];
    std::map<Index, std::shared_ptr<Table>> copies; // by build
    try {
        for (Index k = 0; k < pipeline.joins.count; ++k) {
            const Index build = program_.joins[pipeline.joins.first + k].build;
            const Table &table = *tables_[build];
            const uint8_t width = speculative.request.tables[k]->entry_bytes;
            if (table.shape.kind != TableKind::Packed || table.shape.entry_bytes >= width || copies.count(build) != 0)
                continue;
            auto copy = std::make_shared<Table>(table);
            tables::WidenArgument a{};
            a.entries = table.words[TableWords::extent];
            a.from_bytes = table.shape.entry_bytes;
            a.to_bytes = width;
            copy->shape.entry_bytes = width;
            copy->entries_bytes = (a.entries * width + 7) / 8 * 8;
            copy->entries = streams_->allocate(copy->entries_bytes);
            copy->words[TableWords::entries] = address_of(*copy->entries);
            a.from = table.entries->data;
            a.to = copy->entries->data;
            const CUfunction function = tables_function("widen_entries");
            const uint64_t blocks = (a.entries + tables_threads - 1) / tables_threads;
            streams_->launch(function, static_cast<unsigned>(std::min<uint64_t>(blocks, state_->multiprocessors * 8)),
                             tables_threads, 0, &a);
            copies[build] = std::move(copy);
        }
    } catch (const OutOfDeviceMemory &) {
        streams_->drain(); // what has been launched writes to memory that is given back now
        return false;
    }
    for (auto &[build, copy] : copies) {
        narrow_.push_back(std::move(tables_[build])); // is still read
        tables_[build] = std::move(copy);
    }
    return true;
}

// The kernel of a pipeline that writes rows.
Kernel CudaExecution::kernel_for(Index pipeline, codegen::Request request) {
    Kernel kernel = generate(request);
    const SpeculativeKernel *const speculative = in_the_making(pipeline, kernel.source);
    if (!speculative || !adapt(request, *speculative))
        return kernel;
    Kernel other = generate(request);
    // What the rows of a build can be decides the form of its table, which others may find.
    const bool same_rows =
        program_.pipelines[pipeline].sink != SinkKind::Build || (other.payload_nullable == kernel.payload_nullable);
    if (other.source != speculative->source || !same_rows || !widen(pipeline, *speculative))
        return kernel;
    missed_.push_back(kernel.source);
    return other;
}

// ---- afterwards --------------------------------------------------------------------------------------------------

// Begins what later executions want: the kernels that were not there yet, and those that could be better.
void CudaExecution::catch_up() {
    for (const std::string &source : missed_)
        state_->prepared->start(source, Effort::Patient);
    for (const std::string &source : quick_)
        state_->prepared->improve(source);
    missed_.clear();
    quick_.clear();
}

} // namespace gpuscan::cuda
