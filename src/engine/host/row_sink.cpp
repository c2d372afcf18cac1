// Collecting the rows that a pipeline delivers (see row_sink.hpp).
#include "engine/host/row_sink.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

constexpr size_t block_rows = 64 * 1024;

} // namespace

RowSink::RowSink(const Program &program, const Pipeline &pipeline, WorkMemoryRef memory)
    : program_(program), pipeline_(pipeline), memory_(std::move(memory)) {}

void RowSink::begin_block(size_t rows) {
    auto block = std::make_shared<BuildRows>();
    for (Index i = 0; i < pipeline_.payload.count; ++i) {
        const Type type = program_.exprs[program_.lists[pipeline_.payload.first + i]].type;
        block->payload.emplace_back(type, memory_);
        block->payload.back().values.reserve(rows * type_width(type));
    }
    blocks_.push_back(std::move(block));
}

void RowSink::append(const Batch &batch, Evaluator &evaluator) {
    if (blocks_.empty())
        begin_block(0);
    else if (blocks_.back()->n + batch.n > block_rows)
        begin_block(block_rows);
    BuildRows &block = *blocks_.back();
    for (Index i = 0; i < pipeline_.payload.count; ++i)
        block.append(block.payload[i], evaluator.evaluate_full(program_.lists[pipeline_.payload.first + i], batch),
                     batch.n);
    block.n += batch.n;
}

void RowSink::hand_over(RowTable &to) {
    for (std::shared_ptr<BuildRows> &rows : blocks_) {
        RowBlock block;
        block.nrows = rows->n;
        for (const BuildRows::Column &column : rows->payload)
            block.columns.push_back({column.values.data(), column.nulls.empty() ? nullptr : column.nulls.data()});
        block.memory = std::move(rows);
        to.add(std::move(block));
    }
    blocks_.clear();
}

} // namespace gpuscan::host
