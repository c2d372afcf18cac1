// The rows of a finished run.
//
// All rows are taken from the device before the first is shown. So whatever goes wrong on the device ends in the CPU plan,
// no row is shown twice or from two plans, a rescan reads them again, and a cursor that somebody leaves open holds no slot
// of the device. Replies are kept as they came (result_spool.h), columns of values, in up to work_mem of memory.
//
// Showing. A slice of rows (what fits into a core's first cache) is converted column by column, in loops whose body is known at
// compile time, into an array of Datums that lies row by row; a tuple then is one copy of its piece of the array. Nothing but
// averages is allocated per value: texts point into the copy of their dictionary, numerics are written as numeric.c would store them
// into a buffer of the slice.
#include "pg/exec/rows.h"

#include <algorithm>

#include "device/semantics.cuh"
#include "pg/catalog/encode.h"
#include "pg/exec/code_set.h"
#include "pg/exec/result_spool.h"

namespace gpuscan {

namespace {

constexpr uint32 slice_datums = 2048; // values of one slice, 16 kB
constexpr uint32 min_slice_rows = 32, max_slice_rows = 1024;

} // namespace

struct RowStore {
    uint64 nrows;
    ResultSpool replies;

    // What is being shown.
    const RowTargets *targets;
    uint32 batch_rows, batch_at;
    Size *widths;           // per column of the device's rows
    const char **values;    // per column of the current batch
    const uint8 **nulls;    // per column
    bool *has_nulls;        // per column of the current batch
    uint32 slice_rows;      // rows of a slice at most
    Datum *datums;          // slice_rows * targets
    bool *datum_nulls;      // slice_rows * targets
    bool *null_seen;        // per target: some of its datum_nulls may be set
    char **numerics;        // per target: slice_rows * numeric_room bytes, where it is one
    uint32 shown, filled;   // of the slice
    MemoryContext averages; // that the slice shows
};

namespace {

// ---- the form of rows ----

// Finds where the columns of a batch lie; false if it is not as long as it should be.
bool locate_columns(const FragmentRun *run, RowStore *store, const char *bytes, Size size) {
    const Fragment *fragment = run->fragment;
    const protocol::RowsReply *head = reinterpret_cast<const protocol::RowsReply *>(bytes);
    Size at = aligned(sizeof *head), n = head->nrows;
    if (head->ncolumns != static_cast<uint32>(fragment->nrow_columns))
        return false;
    for (int i = 0; i < fragment->nrow_columns; ++i) {
        store->values[i] = bytes + at;
        at += aligned(n * store->widths[i]);
        store->nulls[i] = reinterpret_cast<const uint8 *>(bytes + at);
        at += aligned(n);
    }
    return at <= aligned(size);
}

// ---- taking them ----

CodeSet *make_code_sets(FragmentRun *run) {
    int n = run->fragment->noutputs;
    return static_cast<CodeSet *>(MemoryContextAllocZero(run->context, sizeof(CodeSet) * (n + 1)));
}

void note_codes(FragmentRun *run, CodeSet *set, const uint32 *codes, const uint8 *nulls, uint32 nrows) {
    for (uint32 row = 0; row < nrows; ++row)
        if (!nulls[row])
            code_set_add(run, set, codes[row]);
}

// The first output that shows texts of the same column, as window functions show those of other rows: they are fetched once.
int first_of_column(const Fragment *fragment, int output) {
    const FragmentOutput *outputs = fragment->outputs;
    int first = 0;
    while (outputs[first].type != Type::Code || outputs[first].source != outputs[output].source ||
           outputs[first].column != outputs[output].column)
        ++first;
    return first;
}

bool fetch_row_texts(FragmentRun *run, const CodeSet *sets) {
    for (int i = 0; i < run->fragment->noutputs; ++i) {
        const FragmentOutput *output = &run->fragment->outputs[i];
        if (output->type == Type::Code && !fetch_texts(run, output->source, output->column, &sets[i]))
            return false;
    }
    return true;
}

RowStore *make_store(FragmentRun *run) {
    Size columns = run->fragment->nrow_columns + 1;
    RowStore *store = static_cast<RowStore *>(MemoryContextAllocZero(run->context, sizeof(RowStore)));
    store->values = static_cast<const char **>(MemoryContextAllocZero(run->context, columns * sizeof(char *)));
    store->nulls = static_cast<const uint8 **>(MemoryContextAllocZero(run->context, columns * sizeof(uint8 *)));
    store->has_nulls = static_cast<bool *>(MemoryContextAllocZero(run->context, columns * sizeof(bool)));
    store->widths = static_cast<Size *>(MemoryContextAllocZero(run->context, columns * sizeof(Size)));
    std::fill_n(store->widths, columns, type_width(Type::I64));
    for (int i = 0; i < run->fragment->noutputs; ++i)
        store->widths[run->fragment->outputs[i].key] = type_width(run->fragment->outputs[i].type);
    return store;
}

} // namespace

bool fetch_rows(FragmentRun *run) {
    RowStore *store = run->rows = make_store(run);
    CodeSet *sets = make_code_sets(run);
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        if (!request(run, protocol::Command::Fetch, 0, sizeof(protocol::RowsReply)))
            return false;
        uint32 size;
        const char *output = device_output(run->connection, &size);
        const protocol::RowsReply *reply = reinterpret_cast<const protocol::RowsReply *>(output);
        if (reply->nrows == 0)
            return fetch_row_texts(run, sets);
        if (!locate_columns(run, store, output, size))
            return give_up(run, "the device's rows have another form");
        for (int i = 0; i < run->fragment->noutputs; ++i) {
            const int column = run->fragment->outputs[i].key;
            if (run->fragment->outputs[i].type == Type::Code)
                note_codes(run, &sets[first_of_column(run->fragment, i)],
                           reinterpret_cast<const uint32 *>(store->values[column]), store->nulls[column], reply->nrows);
        }
        store->nrows += reply->nrows;
        run->report.rows_out = store->nrows;
        if (!replies_add(run, &store->replies, output, size, work_mem * Size(1024), "rows"))
            return false;
        run->report.rows_spilled = store->replies.spilled;
    }
}

void release_rows(RowStore *store) {
    if (store)
        replies_close(&store->replies);
}

// ---- showing them ----

namespace {

// Values that do not fit into a Datum and are no entries of a dictionary.
bool is_wide(const FragmentOutput *output) {
    return output->value_kind == SqlKind::Numeric || output->value_kind == SqlKind::Uuid ||
           output->value_kind == SqlKind::Interval;
}

// A type's values as Datums, in a loop of their own.
template <class T, class Make>
void convert(RowStore *store, int target, int stride, uint32 first, uint32 n, const char *from, Make make) {
    const T *values = reinterpret_cast<const T *>(from) + first;
    Datum *to = store->datums + target;
    for (uint32 i = 0; i < n; ++i, to += stride)
        *to = make(values[i]);
}

// A number of units of the output's scale, as the device holds numerics of so many digits (or integers that were cast to numeric).
int128 units_at(const FragmentOutput *output, const char *values, uint32 i) {
    const auto read = [&](auto number) -> int128 {
        memcpy(&number, values + Size(i) * sizeof number, sizeof number);
        return number;
    };
    switch (output->type) {
    case Type::I16:
        return read(int16{});
    case Type::I32:
        return read(int32{});
    case Type::I64:
        return read(int64{});
    case Type::I128:
        return read(int128{});
    default:
        elog(ERROR, "gpuscan: a numeric of engine type %d", static_cast<int>(output->type));
    }
}

void convert_numerics(RowStore *store, const FragmentOutput *output, int target, int stride, uint32 first, uint32 n,
                      const char *from) {
    char *room = store->numerics[target];
    Datum *to = store->datums + target;
    for (uint32 i = 0; i < n; ++i, to += stride, room += numeric_room) {
        write_numeric(units_at(output, from, first + i), output->scale, output->scale, room);
        *to = PointerGetDatum(room);
    }
}

void convert_wide(RowStore *store, int target, int stride, uint32 first, uint32 n, const char *from,
                  void (*write)(int128 value, char *to)) {
    char *room = store->numerics[target];
    Datum *to = store->datums + target;
    for (uint32 i = 0; i < n; ++i, to += stride, room += numeric_room) {
        int128 value;
        memcpy(&value, from + (first + i) * sizeof value, sizeof value);
        write(value, room);
        *to = PointerGetDatum(room);
    }
}

const int64 *numbers_of(const RowStore *store, int column, uint32 first) {
    return reinterpret_cast<const int64 *>(store->values[column]) + first;
}

// Numerics that are shown with different numbers of digits.
void convert_mixed_numerics(RowStore *store, const FragmentOutput *output, int target, int stride, uint32 first,
                            uint32 n, const char *from, const uint8 *nulls) {
    const int64 *scales = numbers_of(store, output->scale_column, first);
    char *room = store->numerics[target];
    Datum *to = store->datums + target;
    for (uint32 i = 0; i < n; ++i, to += stride, room += numeric_room) {
        if (!nulls[first + i])
            write_numeric(units_at(output, from, first + i), output->scale, static_cast<int32>(scales[i]), room);
        *to = PointerGetDatum(room);
    }
}

// Sums, divided by their counts.
void convert_averages(RowStore *store, const FragmentOutput *output, int target, int stride, uint32 first, uint32 n,
                      const char *from, const uint8 *nulls) {
    const int64 *counts = numbers_of(store, output->count_column, first);
    const int64 *scales = output->scale_column >= 0 ? numbers_of(store, output->scale_column, first) : nullptr;
    char *room = store->numerics[target];
    Datum *to = store->datums + target;
    MemoryContext old = MemoryContextSwitchTo(store->averages);
    for (uint32 i = 0; i < n; ++i, to += stride, room += numeric_room) {
        *to = 0;
        if (nulls[first + i])
            continue;
        const int32 shown = scales ? static_cast<int32>(scales[i]) : output->scale;
        write_numeric(units_at(output, from, first + i), output->scale, shown, room);
        *to = DirectFunctionCall2(numeric_div, PointerGetDatum(room), NumericGetDatum(int64_to_numeric(counts[i])));
    }
    MemoryContextSwitchTo(old);
}

// The value of a NULL is undefined, and may be a code that does not exist. `nulls`: NULL if there is none.
void convert_texts(RowStore *store, const DictionaryCopy *copy, int header, int target, int stride, uint32 first,
                   uint32 n, const char *from, const uint8 *nulls) {
    const uint32 *codes = reinterpret_cast<const uint32 *>(from) + first;
    Datum *to = store->datums + target;
    if (!nulls)
        for (uint32 i = 0; i < n; ++i, to += stride)
            *to = PointerGetDatum(copy->data + copy->offsets[codes[i]] + header);
    else
        for (uint32 i = 0; i < n; ++i, to += stride)
            *to = nulls[first + i] ? 0 : PointerGetDatum(copy->data + copy->offsets[codes[i]] + header);
}

void convert_nulls(RowStore *store, int target, int stride, uint32 first, uint32 n, const uint8 *nulls) {
    bool *to = store->datum_nulls + target;
    for (uint32 i = 0; i < n; ++i, to += stride)
        *to = nulls[first + i] != 0;
}

// Of rows that lag and lead find no other row for.
void convert_defaults(RowStore *store, const FragmentOutput *output, int target, int stride, uint32 first, uint32 n) {
    const int64 *defaults = numbers_of(store, output->default_column, first);
    for (uint32 i = 0; i < n; ++i)
        if (defaults[i] != 0) {
            store->datums[target + i * static_cast<uint32>(stride)] = output->shown_default->constvalue;
            store->datum_nulls[target + i * static_cast<uint32>(stride)] = false;
        }
}

void convert_values(FragmentRun *run, RowStore *store, int target, uint32 first, uint32 n) {
    const FragmentOutput *output = &run->fragment->outputs[store->targets->columns[target]];
    const int column = output->key, stride = store->targets->count;
    const char *from = store->values[column];
    if (store->has_nulls[column] || store->null_seen[target]) {
        convert_nulls(store, target, stride, first, n, store->nulls[column]);
        // Flags behind the slice's end stay: they are seen until a full slice has gone over them.
        store->null_seen[target] = store->has_nulls[column] || (store->null_seen[target] && n < store->slice_rows);
    }
    if (output->kind == OutputKind::AvgNumeric) {
        convert_averages(store, output, target, stride, first, n, from, store->nulls[column]);
        return;
    }
    if (output->scale_column >= 0) {
        convert_mixed_numerics(store, output, target, stride, first, n, from, store->nulls[column]);
        return;
    }
    if (output->value_kind == SqlKind::Numeric) {
        convert_numerics(store, output, target, stride, first, n, from);
        return;
    }
    switch (output->type) {
    case Type::Bool:
        convert<uint8>(store, target, stride, first, n, from, [](uint8 v) { return BoolGetDatum(v != 0); });
        break;
    case Type::I16:
        convert<int16>(store, target, stride, first, n, from, [](int16 v) { return Int16GetDatum(v); });
        break;
    case Type::I32:
        if (is_unsigned_kind(output->value_kind))
            convert<uint32>(store, target, stride, first, n, from, [](uint32 v) { return ObjectIdGetDatum(v); });
        else
            convert<int32>(store, target, stride, first, n, from, [](int32 v) { return Int32GetDatum(v); });
        break;
    case Type::I64:
        convert<int64>(store, target, stride, first, n, from, [](int64 v) { return Int64GetDatum(v); });
        break;
    case Type::F32:
        convert<float4>(store, target, stride, first, n, from, [](float4 v) { return Float4GetDatum(v); });
        break;
    case Type::F64:
        convert<float8>(store, target, stride, first, n, from, [](float8 v) { return Float8GetDatum(v); });
        break;
    case Type::I128:
        convert_wide(store, target, stride, first, n, from,
                     output->value_kind == SqlKind::Interval ? write_interval : write_uuid);
        break;
    case Type::Code:
        convert_texts(store, &run->copies[output->source][output->column], output->fixed_length ? VARHDRSZ : 0, target,
                      stride, first, n, from, store->has_nulls[column] ? store->nulls[column] : nullptr);
        break;
    default:
        elog(ERROR, "gpuscan: a row with a column of engine type %d", static_cast<int>(output->type));
    }
}

void convert_column(FragmentRun *run, RowStore *store, int target, uint32 first, uint32 n) {
    const FragmentOutput *output = &run->fragment->outputs[store->targets->columns[target]];
    convert_values(run, store, target, first, n);
    if (output->default_column >= 0)
        convert_defaults(store, output, target, store->targets->count, first, n);
}

// The next batch; false: there is none.
bool next_batch(FragmentRun *run, RowStore *store) {
    const char *batch;
    uint32 size;
    if (!replies_next(run, &store->replies, &batch, &size))
        return false;
    locate_columns(run, store, batch, size);
    store->batch_rows = reinterpret_cast<const protocol::RowsReply *>(batch)->nrows;
    store->batch_at = 0;
    for (int i = 0; i < store->targets->count; ++i) {
        const int column = run->fragment->outputs[store->targets->columns[i]].key;
        store->has_nulls[column] = memchr(store->nulls[column], 1, store->batch_rows) != nullptr;
    }
    return true;
}

} // namespace

void begin_rows(FragmentRun *run, const RowTargets *targets) {
    RowStore *store = run->rows;
    MemoryContext old = MemoryContextSwitchTo(run->context);
    if (store->targets != targets) {
        Size count = targets->count > 0 ? targets->count : 1;
        uint32 rows = slice_datums / count;
        store->targets = targets;
        store->slice_rows = rows < min_slice_rows ? min_slice_rows : rows > max_slice_rows ? max_slice_rows : rows;
        store->datums = static_cast<Datum *>(palloc0(store->slice_rows * count * sizeof(Datum)));
        store->datum_nulls = static_cast<bool *>(palloc0(store->slice_rows * count));
        store->null_seen = static_cast<bool *>(palloc0(count));
        store->numerics = static_cast<char **>(palloc0(count * sizeof(char *)));
        for (int i = 0; i < targets->count; ++i)
            if (is_wide(&run->fragment->outputs[targets->columns[i]]))
                store->numerics[i] = static_cast<char *>(palloc(store->slice_rows * numeric_room));
    }
    if (store->averages == nullptr)
        store->averages = AllocSetContextCreate(run->context, "gpuscan averages", ALLOCSET_DEFAULT_SIZES);
    replies_rewind(&store->replies);
    store->batch_rows = store->batch_at = store->shown = store->filled = 0;
    MemoryContextSwitchTo(old);
}

bool next_row(FragmentRun *run, TupleTableSlot *slot) {
    RowStore *store = run->rows;
    const int count = store->targets->count;
    if (unlikely(store->shown == store->filled)) {
        if (store->batch_at == store->batch_rows && !next_batch(run, store))
            return false;
        uint32 left = store->batch_rows - store->batch_at;
        store->filled = left < store->slice_rows ? left : store->slice_rows;
        store->shown = 0;
        MemoryContextReset(store->averages);
        for (int i = 0; i < count; ++i)
            convert_column(run, store, i, store->batch_at, store->filled);
        store->batch_at += store->filled;
    }
    memcpy(slot->tts_values, store->datums + Size(store->shown) * count, count * sizeof(Datum));
    memcpy(slot->tts_isnull, store->datum_nulls + Size(store->shown) * count, count);
    ++store->shown;
    ExecStoreVirtualTuple(slot);
    return true;
}

} // namespace gpuscan
