// Collecting the rows that a pipeline delivers (see row_sink.hpp).
#include "host/row_sink.hpp"

namespace gpuscan::host {

using namespace ir;

namespace {

constexpr size_t block_rows = 64 * 1024;

} // namespace

RowSink::RowSink(const Program &program, const Pipeline &pipeline, WorkMemoryRef memory, FirstRows *first)
    : program_(program), pipeline_(pipeline), memory_(std::move(memory)), first_(first) {
    if (first_ == nullptr)
        return;
    enough_ = first_->worth(0);
    keys_.columns.resize(pipeline_.payload.count);
    numbers_.reset(new uint64_t[batch_rows]);
    positions_.reset(new uint32_t[batch_rows + batch_slack]);
}

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
    if (first_ == nullptr)
        return store(batch, evaluator);
    const uint32_t n = first_->has_bound() ? choose(batch, evaluator) : batch.n;
    if (n == batch.n) {
        store(batch, evaluator);
    } else if (n > 0) {
        Evaluator::subset(batch, positions_.get(), n, chosen_rows_, chosen_);
        store(chosen_, evaluator);
    }
    stored_ += n;
    if (kept_.nrows + stored_ >= enough_)
        keep_first();
}

// Which rows of the batch may be wanted: their positions.
uint32_t RowSink::choose(const Batch &batch, Evaluator &evaluator) {
    for (const SortColumn &key : first_->order().keys()) {
        const Index expr = program_.lists[pipeline_.payload.first + static_cast<Index>(key.column)];
        const Vec vec = evaluator.evaluate_full(expr, batch);
        keys_.columns[key.column] = {static_cast<const uint8_t *>(vec.values), vec.nulls};
    }
    first_->order().prefixes(keys_, 0, batch.n, numbers_.get());
    uint32_t n = 0;
    for (uint32_t i = 0; i < batch.n; ++i) {
        positions_[n] = i;
        n += first_->refuses(numbers_[i]) ? 0 : 1;
    }
    return n;
}

void RowSink::keep_first() {
    RowTable rows;
    hand_over(rows);
    first_->keep(rows, false, memory_, nullptr);
    kept_ = std::move(rows);
    enough_ = first_->worth(kept_.nrows);
}

void RowSink::store(const Batch &batch, Evaluator &evaluator) {
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
    for (RowBlock &block : kept_.blocks)
        to.add(std::move(block));
    kept_ = RowTable();
    stored_ = 0;
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
