// The order of rows in device memory; see order.hpp.
#include "cuda/windows/order.hpp"

namespace gpuscan::cuda {

namespace {

constexpr unsigned word_bits = 64;

unsigned bits_of(uint64_t largest) {
    unsigned bits = 0;
    for (; largest != 0; largest >>= 1)
        ++bits;
    return bits;
}

} // namespace

WindowOrder::WindowOrder(RowKernels &kernels, const std::vector<HeldColumn> &columns, uint64_t rows)
    : kernels_(kernels), columns_(columns), rows_(rows), ranges_(columns.size()), known_(columns.size()) {}

const windows::OrderRange &WindowOrder::range(size_t column) {
    windows::OrderRange &range = ranges_[column];
    if (known_[column])
        return range;
    range = {~0ull, 0, 0, 0};
    const BufferRef found = kernels_.streams().send(&range, sizeof range);
    windows::OrderRangeArgument a{};
    a.rows = rows_;
    a.column = columns_[column].flat();
    a.range = static_cast<windows::OrderRange *>(found->data);
    kernels_.launch("order_range", rows_, &a);
    kernels_.fetch(*found, &range, sizeof range);
    known_[column] = 1;
    return range;
}

// Above the fields that are there.
void WindowOrder::add(windows::WordField field, unsigned bits, bool of_partition) {
    if (bits == 0)
        return;
    if (words_.empty() || words_.back().bits + bits > word_bits || words_.back().fields.size() == windows::max_fields)
        words_.emplace_back();
    Word &word = words_.back();
    field.shift = word.bits;
    word.fields.push_back(field);
    const uint64_t mask = bits == word_bits ? ~uint64_t(0) : ((uint64_t(1) << bits) - 1) << word.bits;
    word.partition_bits |= of_partition ? mask : 0;
    word.bits += bits;
}

bool WindowOrder::plan(const std::vector<SortColumn> &keys, size_t partition) {
    words_.clear();
    sorted_.reset();
    for (size_t k = keys.size(); k-- > 0;) {
        const SortColumn &key = keys[k];
        const windows::OrderRange &values = range(key.column);
        if (values.wide != 0)
            return false;
        windows::WordField field{};
        field.column = columns_[key.column].flat();
        field.descending = key.descending;
        field.nulls_first = key.nulls_first;
        field.low = values.low;
        field.high = values.high;
        add(field, values.low < values.high ? bits_of(values.high - values.low) : 0, k < partition);
        field.of_null = 1;
        add(field, field.column.nulls != nullptr ? 1 : 0, k < partition);
    }
    return true;
}

void WindowOrder::make(const Word &word, const BufferRef &numbers, uint64_t rows, uint64_t *to) {
    windows::WordsArgument a{};
    a.rows = rows;
    a.numbers = numbers ? static_cast<const uint32_t *>(numbers->data) : nullptr;
    a.words = to;
    a.nfields = static_cast<uint32_t>(word.fields.size());
    std::copy(word.fields.begin(), word.fields.end(), a.fields);
    kernels_.launch("make_words", rows, &a);
}

BufferRef WindowOrder::sort_by(const Word &word, BufferRef numbers, uint64_t rows) {
    radix::Argument a{};
    BufferRef words, other_words, other_numbers, spare, counts;
    uint64_t *from = kernels_.array<uint64_t>(words, rows), *to = kernels_.array<uint64_t>(other_words, rows);
    make(word, numbers, rows, from);
    a.rows = rows;
    a.tiles = static_cast<uint32_t>((rows + radix::tile_rows - 1) / radix::tile_rows);
    a.counts = kernels_.array<uint32_t>(counts, uint64_t(a.tiles) * radix::digits);
    kernels_.array<uint32_t>(other_numbers, rows);
    kernels_.array<uint32_t>(spare, rows);
    for (a.shift = 0; a.shift < word.bits; a.shift += radix::digit_bits) {
        a.words = from;
        a.numbers = numbers ? static_cast<const uint32_t *>(numbers->data) : nullptr;
        a.to_words = to;
        a.to_numbers = static_cast<uint32_t *>(other_numbers->data);
        kernels_.launch_tiles("radix_count", a.tiles, &a);
        radix::Places places{};
        places.rows = uint64_t(a.tiles) * radix::digits;
        places.counts = a.counts;
        kernels_.scan("radix_places", places);
        kernels_.launch_tiles("radix_scatter", a.tiles, &a);
        std::swap(from, to);
        std::swap(words, other_words);
        const BufferRef before = numbers ? numbers : spare;
        numbers = other_numbers;
        other_numbers = before;
    }
    sorted_ = std::move(words);
    kernels_.wait(); // what is no longer needed is free
    return numbers;
}

BufferRef WindowOrder::sort(uint64_t rows) {
    BufferRef numbers;
    for (const Word &word : words_) {
        sorted_.reset();
        numbers = sort_by(word, std::move(numbers), rows);
    }
    return numbers;
}

BufferRef WindowOrder::edges(const BufferRef &numbers, uint64_t rows) {
    windows::EdgesArgument a{};
    BufferRef edges, words;
    a.rows = rows;
    a.edges = kernels_.array<uint8_t>(edges, rows);
    kernels_.fill(*edges, windows::no_edge, rows);
    kernels_.streams().fill(address_of(*edges), windows::partition_edge, 1);
    for (size_t w = 0; w < words_.size(); ++w) {
        const bool sorted = sorted_ && w + 1 == words_.size();
        if (sorted)
            words = sorted_;
        else if (!words)
            kernels_.array<uint64_t>(words, rows);
        if (!sorted)
            make(words_[w], numbers, rows, static_cast<uint64_t *>(words->data));
        a.words = static_cast<const uint64_t *>(words->data);
        a.partition_bits = words_[w].partition_bits;
        kernels_.launch("mark_edges", rows, &a);
    }
    sorted_.reset();
    return edges;
}

} // namespace gpuscan::cuda
