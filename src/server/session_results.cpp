// How do the groups and rows of a program leave it: to the backend, or to a later program?
//
// Rows with windows may be in the device's memory (Execution::run_windows). They come from there piece by piece as they are fetched, or stay there
// for a later program on the same device.
#include <algorithm>
#include <cstring>

#include "engine/result/first_rows.hpp"
#include "engine/result/row_sort.hpp"
#include "engine/result/window.hpp"
#include "host/group_filter.hpp"
#include "host/group_sort.hpp"
#include "server/group_page.hpp"
#include "server/session.hpp"

namespace gpuscan {

using namespace protocol;

constexpr size_t rows_copied = size_t(1) << 20; // at once, from the device's memory

// Says so if the rows take too much memory.
void Session::with_results(const std::function<void()> &work) {
    try {
        work();
    } catch (const OutOfWorkMemory &) {
        throw OutOfWorkMemory("the result does not fit into the working memory of " +
                              std::to_string(device_->device->work_memory()->limit() >> 20) +
                              " MB (it follows gpuscan.cache_size)");
    }
}

// All rows are there.
void Session::order_rows() {
    if (program_.main().windows.count > 0)
        rows_ = apply_windows(program_, std::move(rows_), device_->device->work_memory(), cancel_);
    const std::vector<SortColumn> order = sort_columns(program_);
    if (order.empty())
        return;
    rows_ = sort_rows(std::move(rows_), order, program_.row_types(), device_->device->work_memory(), cancel_);
}

// Those that the device has cached back, or has already looked at, are looked at, too: what is left of them is seldom much.
void Session::filter_groups() {
    host::GroupFilter filter(program_, device_->device->work_memory(), cancel_);
    filter.add(std::move(groups_));
    while (execution_->groups_left() > 0)
        filter.add(execution_->more_groups());
    groups_ = filter.finish();
    groups_dropped_ = filter.groups_seen() - groups_.ngroups + execution_->groups_dropped();
}

// All groups are there, but for those that the device has cached back.
void Session::order_groups() {
    while (execution_->groups_left() > 0)
        groups_.append(execution_->more_groups());
    std::vector<LookupRef> lookups;
    for (const LookupState &lookup : lookups_)
        lookups.push_back(lookup.table);
    groups_ = host::sort_groups(program_, std::move(groups_), lookups, device_->device->work_memory(), cancel_);
}

void Session::fetch(MessageWriter &out) {
    check(pipeline_ == program_.pipelines.size(), "the main pipeline has not ended");
    if (delivers_rows())
        fetch_rows(out);
    else
        fetch_groups(out);
}

// What is in the device's memory may stay there. False: it comes to the host.
bool Session::keep_on_device(StageRows &rows) {
    if (device_rows_)
        return try_with_room([&] { return rows.share_cells(*device_rows_, *execution_), true; });
    DeviceRows columns;
    if (groups_.ngroups > 0 || execution_->groups_left() == 0 ||
        !try_with_room([&] { return columns = DeviceRows(), execution_->group_columns(rows.fields(), columns); }))
        return false;
    rows.share(std::move(columns));
    return true;
}

// The groups or rows become rows of a later program's, and this one ends.
void Session::keep(MessageReader &in, MessageWriter &out) {
    check(pipeline_ == program_.pipelines.size() && fetched_ == 0, "the program has nothing to keep");
    const KeepRequest request = in.head<KeepRequest>();
    std::vector<ir::StageColumn> columns;
    std::vector<std::shared_ptr<Dictionary>> dictionaries;
    for (const KeepColumn &column : in.array<KeepColumn>(request.ncolumns)) {
        columns.push_back(column.column);
        const bool coded = column.column.type == Type::Code;
        dictionaries.push_back(!coded                      ? nullptr
                               : column.source == ir::none ? unified_dictionary_of(column.text)
                                                           : feed(column.source).shared_dictionary(column.text));
    }
    with_results([&] {
        auto rows = std::make_shared<StageRows>(program_, std::move(columns), std::move(dictionaries),
                                                device_->device->work_memory());
        if (!keep_on_device(*rows)) {
            if (device_rows_)
                rows_ = execution_->copy_rows(*device_rows_, 0, device_rows_->nrows);
            rows->add(rows_, cancel_); // none where there are groups, and the other way round
            rows->add(groups_, cancel_);
        }
        while (execution_->groups_left() > 0) {
            groups_ = GroupTable(); // gives its memory back before the next ones need it
            groups_ = execution_->more_groups();
            rows->add(groups_, cancel_);
        }
        stages_.push_back(std::move(rows));
    });
    KeepReply reply = {};
    reply.stage = static_cast<uint32_t>(stages_.size() - 1);
    reply.rows = stages_.back()->nrows();
    out.put(reply);
    end_program();
}

// As many rows as the reply has room for, from the first blocks; a block's memory goes back with its last row.
void Session::fetch_rows(MessageWriter &out) {
    if (device_rows_ && rows_.blocks.empty() && copied_ < device_rows_->nrows) {
        const size_t count = std::min(device_rows_->nrows - copied_, rows_copied);
        with_results([&] { rows_ = execution_->copy_rows(*device_rows_, copied_, count); });
        copied_ += count;
    }
    std::vector<size_t> widths;
    size_t row_bytes = 0;
    for (const Type type : program_.row_types()) {
        widths.push_back(type_width(type));
        row_bytes += widths.back() + 1;
    }
    const size_t around = sizeof(RowsReply) + 16 * (widths.size() + 1); // with the gaps before the parts
    const size_t fit = row_bytes == 0 ? UINT32_MAX : (slot_buffer_size - around) / row_bytes;
    struct Piece {
        const RowBlock *block;
        size_t first, count;
    };
    std::vector<Piece> pieces;
    size_t n = 0;
    for (size_t b = 0; b < rows_.blocks.size() && n < fit; ++b) {
        const size_t first = b == 0 ? fetched_ : 0;
        pieces.push_back({&rows_.blocks[b], first, std::min(rows_.blocks[b].nrows - first, fit - n)});
        n += pieces.back().count;
    }
    RowsReply reply = {};
    reply.nrows = static_cast<uint32_t>(n);
    reply.ncolumns = static_cast<uint32_t>(widths.size());
    out.put(reply);
    for (size_t c = 0; c < widths.size() && n > 0; ++c) {
        uint8_t *values = out.part(n * widths[c]);
        for (const Piece &piece : pieces) {
            const size_t bytes = piece.count * widths[c];
            memcpy(values, piece.block->columns[c].values + piece.first * widths[c], bytes);
            values += bytes;
        }
        uint8_t *nulls = out.part(n);
        for (const Piece &piece : pieces) {
            if (const uint8_t *from = piece.block->columns[c].nulls)
                memcpy(nulls, from + piece.first, piece.count);
            else
                memset(nulls, 0, piece.count);
            nulls += piece.count;
        }
    }
    if (pieces.empty())
        return;
    const Piece end = pieces.back();
    const bool whole = end.first + end.count == end.block->nrows;
    fetched_ = whole ? 0 : end.first + end.count;
    rows_.blocks.erase(rows_.blocks.begin(),
                       rows_.blocks.begin() + static_cast<ptrdiff_t>(pieces.size() - (whole ? 0 : 1)));
}

void Session::fetch_groups(MessageWriter &out) {
    if (fetched_ == groups_.ngroups && execution_->groups_left() > 0) {
        groups_ = GroupTable(); // gives its memory back before the next ones need it
        groups_ = execution_->more_groups();
        fetched_ = 0;
    }
    fetched_ += write_group_page(groups_, fetched_, program_.result_keys(), program_.result_aggregates(), out);
}

} // namespace gpuscan
