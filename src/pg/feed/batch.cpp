// Rows that this backend decodes itself, collected column by column and sent in one request.
#include "pg/catalog/encode.h"
#include "pg/exec/run.h"

namespace gpuscan {

namespace {

constexpr uint32 batch_rows = 4096;
constexpr Size batch_bytes = protocol::slot_buffer_size - 16 * 1024; // some room for heads and padding

struct BatchColumn {
    const FragmentColumn *column;
    uint8 *nulls;    // batch_rows
    char *values;    // batch_rows * width
    uint32 *offsets; // Code: batch_rows + 1
    StringInfoData text;
};

} // namespace

struct BatchBuilder {
    int source, ncolumns;
    uint32 nrows;
    Size fixed_row, text_bytes; // bytes per row without texts; of all texts
    BatchColumn *columns;
};

void batch_begin(FragmentRun *run, int source) {
    const FragmentSource *from = &run->fragment->sources[source];
    MemoryContext old = MemoryContextSwitchTo(run->context);
    BatchBuilder *batch = static_cast<BatchBuilder *>(palloc0(sizeof(BatchBuilder)));
    batch->source = source;
    batch->ncolumns = from->columns.count;
    batch->columns = static_cast<BatchColumn *>(palloc0(sizeof(BatchColumn) * (from->columns.count + 1)));
    for (int i = 0; i < from->columns.count; ++i) {
        batch->columns[i].column = &from->columns[i];
        batch->fixed_row += 1 + type_width(from->columns[i].type);
    }
    run->batch = batch;
    MemoryContextSwitchTo(old);
}

namespace {

// The arrays come with the first row; most tables never need them.
void allocate(FragmentRun *run, BatchBuilder *batch) {
    MemoryContext old = MemoryContextSwitchTo(run->context);
    for (int i = 0; i < batch->ncolumns; ++i) {
        BatchColumn *column = &batch->columns[i];
        column->nulls = static_cast<uint8 *>(palloc(batch_rows));
        if (column->column->type == Type::Code) {
            column->offsets = static_cast<uint32 *>(palloc0((batch_rows + 1) * sizeof(uint32)));
            initStringInfo(&column->text);
        } else {
            column->values = static_cast<char *>(palloc(batch_rows * type_width(column->column->type)));
        }
    }
    MemoryContextSwitchTo(old);
}

bool add_text(FragmentRun *run, BatchColumn *column, uint32 row, Datum value, bool null) {
    if (!null && column->column->codec == Codec::Fixed) {
        const int length = get_typlen(column->column->typid);
        appendBinaryStringInfo(&column->text, DatumGetPointer(value), length);
        run->batch->text_bytes += length;
    } else if (!null) {
        struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
        Size length = VARSIZE_ANY_EXHDR(packed);
        if (length > batch_bytes / 2)
            return give_up(run, "a text is too long for the device");
        appendBinaryStringInfo(&column->text, VARDATA_ANY(packed), length);
        run->batch->text_bytes += length;
    }
    column->offsets[row + 1] = column->text.len;
    return true;
}

char *put(char *to, const void *from, Size size) {
    memcpy(to, from, size);
    memset(to + size, 0, aligned(size) - size);
    return to + aligned(size);
}

Size batch_size(const BatchBuilder *batch) {
    return (batch->nrows + 1) * batch->fixed_row + batch->text_bytes + 32 * Size(batch->ncolumns);
}

} // namespace

bool batch_add(FragmentRun *run, const Datum *values, const bool *nulls) {
    BatchBuilder *batch = run->batch;
    if (batch->nrows == 0 && batch->ncolumns > 0 && !batch->columns[0].nulls)
        allocate(run, batch);
    uint32 row = batch->nrows;
    for (int i = 0; i < batch->ncolumns; ++i) {
        BatchColumn *column = &batch->columns[i];
        Type type = column->column->type;
        column->nulls[row] = nulls[i];
        if (type == Type::Code) {
            if (!add_text(run, column, row, values[i], nulls[i]))
                return false;
            continue;
        }
        ir::Value value = {};
        const char *reason = nullptr;
        const FragmentColumn *as = column->column;
        if (!nulls[i] && !encode_column(values[i], as, &value, &reason)) {
            note_unfit_column(run, batch->source, as);
            return give_up(run, "%s", reason);
        }
        store_value(column->values + row * type_width(type), type, &value);
    }
    ++batch->nrows;
    ++run->report.rows_by_cpu;
    if (batch_size(batch) > batch_bytes)
        return give_up(run, "a row is too long for the device");
    // The next row may be as long as this one's limit allows, so texts leave early.
    if (batch->nrows == batch_rows || batch_size(batch) > batch_bytes / 2)
        return batch_flush(run);
    return true;
}

bool batch_flush(FragmentRun *run) {
    BatchBuilder *batch = run->batch;
    if (!batch || batch->nrows == 0)
        return true;
    char *input = device_input(run->connection);
    protocol::BatchRequest head = {};
    head.source = batch->source;
    head.nrows = batch->nrows;
    char *at = put(input, &head, sizeof head);
    for (int i = 0; i < batch->ncolumns; ++i) {
        BatchColumn *column = &batch->columns[i];
        at = put(at, column->nulls, batch->nrows);
        if (column->column->type == Type::Code) {
            at = put(at, column->offsets, (batch->nrows + 1) * sizeof(uint32));
            at = put(at, column->text.data, column->text.len);
            resetStringInfo(&column->text);
        } else {
            at = put(at, column->values, batch->nrows * type_width(column->column->type));
        }
    }
    batch->nrows = 0;
    batch->text_bytes = 0;
    if (!request(run, protocol::Command::Batch, at - input, sizeof(protocol::BatchReply)))
        return false;
    return !reply_of<protocol::BatchReply>(run)->pass_full || run_pipeline(run, false);
}

} // namespace gpuscan
