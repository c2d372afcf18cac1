// What users see of the service: the functions behind the views gpuscan.devices, gpuscan.deaths, gpuscan.stat and gpuscan.cached_columns. The
// views themselves, their column names and privileges are in sql/gpuscan--1.0.sql.
//
// The first three read the shared area, without a request, so that they answer whatever state the service is in. The cache's
// contents are the device process's own: listing them is a request.
#include "pg/pg.h"

#include <algorithm>

#include "pg/guc.h"
#include "pg/service/area.h"
#include "pg/service/client.h"

extern "C" {
PG_FUNCTION_INFO_V1(gpuscan_cache_rows);
PG_FUNCTION_INFO_V1(gpuscan_cached_expression);
PG_FUNCTION_INFO_V1(gpuscan_death_rows);
PG_FUNCTION_INFO_V1(gpuscan_device_rows);
PG_FUNCTION_INFO_V1(gpuscan_stat_reset);
PG_FUNCTION_INFO_V1(gpuscan_stat_row);
PG_FUNCTION_INFO_V1(gpuscan_test_device);
}

namespace gpuscan {

using namespace protocol;

// ---- gpuscan.devices -----------------------------------------------------------------------------------------------

// The device process may be writing while we read: copy with a bound, and keep what a terminal can show.
static Datum text_of(const char *source, size_t size) {
    char copy[query_bytes];
    size_t length = 0;
    while (length < size && length < sizeof copy - 1 && source[length] != '\0') {
        copy[length] = source[length] >= ' ' && source[length] <= '~' ? source[length] : '?';
        length++;
    }
    copy[length] = '\0';
    return CStringGetTextDatum(copy);
}

static const char *state_name(ServiceState state) {
    switch (state) {
    case ServiceState::Starting:
        return "starting";
    case ServiceState::Ready:
        return "ready";
    case ServiceState::Failed:
        return "failed";
    case ServiceState::Down:
        break;
    }
    return "down";
}

// A device's state and, if the service knows better than the device, a note.
static const char *device_state(Area *area, int device, const char **note) {
    *note = nullptr;
    if (!area) {
        *note = "add gpuscan to shared_preload_libraries and restart";
        return "not preloaded";
    }
    if (supervisor_is_missing()) {
        *note = "all max_worker_processes were taken when the server started, so nobody starts the device process";
        return "not started";
    }
    if (area->generation == 0)
        return "starting";
    uint32 wanted = area->wanted_devices;
    if ((wanted & (1u << device)) == 0) {
        *note = area->cuda_suspended ? "the device process ended too often; reload the configuration to try again"
                : wanted == 0        ? "gpuscan.device is none in the configuration"
                                     : "gpuscan.device is host in the configuration";
        return "off";
    }
    ServiceState service = ServiceState(area->state.load());
    if (service == ServiceState::Down)
        *note = "the device process is not running; it is started again";
    if (service == ServiceState::Down || service == ServiceState::Starting)
        return state_name(service);
    return state_name(ServiceState(area->devices[device].state));
}

static void put_device(ReturnSetInfo *result, Area *area, int device) {
    Datum values[9] = {};
    bool nulls[9] = {};
    const char *note;
    const char *state = device_state(area, device, &note);
    const DeviceEntry *entry = area ? &area->devices[device] : nullptr;
    bool known = entry && entry->kind != uint32(DeviceKind::None);

    values[0] = CStringGetTextDatum(device == 0 ? "host" : "cuda");
    nulls[1] = !known || entry->name[0] == '\0';
    if (!nulls[1])
        values[1] = text_of(entry->name, sizeof entry->name);
    values[2] = CStringGetTextDatum(state);
    // (A device that could not be opened has no memory to tell of.)
    bool opened = known && entry->memory_total != 0;
    nulls[3] = nulls[4] = nulls[5] = nulls[6] = !opened;
    // Whoever may insert could try whether a text is in a column already, in rows that a policy hides from him: then the column's
    // dictionary does not grow.
    if (!has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
        nulls[5] = nulls[6] = true;
    if (opened) {
        values[3] = Int64GetDatum(int64(entry->memory_total.load()));
        values[4] = Int64GetDatum(int64(entry->memory_limit.load()));
        values[5] = Int64GetDatum(int64(entry->memory_used.load()));
        values[6] = Int64GetDatum(int64(entry->cache_bytes.load()));
    }
    nulls[7] = !note && (!known || entry->note[0] == '\0');
    if (!nulls[7])
        values[7] = note ? CStringGetTextDatum(note) : text_of(entry->note, sizeof entry->note);
    int32 pid = area ? area->device_pid.load() : 0;
    nulls[8] = pid == 0;
    values[8] = Int32GetDatum(pid);
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void device_rows(FunctionCallInfo fcinfo) {
    InitMaterializedSRF(fcinfo, 0);
    ReturnSetInfo *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    for (int device = 0; device < 2; device++)
        put_device(result, service_area(), device);
}

// ---- gpuscan.deaths ------------------------------------------------------------------------------------------------

static const char *command_name(uint32 command) {
    static const char *const names[] = {"none",
                                        "open",
                                        "define source",
                                        "stage many",
                                        "stage",
                                        "decode",
                                        "publish",
                                        "share",
                                        "join",
                                        "collect",
                                        "decode rows",
                                        "deliver rows",
                                        "batch",
                                        "keep",
                                        "use stage",
                                        "use unified",
                                        "use lookup",
                                        "codes of ranks",
                                        "read dictionary",
                                        "put lookup",
                                        "deferred codes",
                                        "put entries",
                                        "run",
                                        "fetch",
                                        "close",
                                        "evict",
                                        "list cache",
                                        "test"};
    static_assert(lengthof(names) == size_t(Command::Test) + 1, "a name for each command");
    return command < lengthof(names) ? names[command] : "unknown";
}

static void put_death(ReturnSetInfo *result, const Area *area, const Death &death) {
    const bool known = death.command != 0;
    Datum values[9] = {};
    bool nulls[9] = {};
    values[0] = TimestampTzGetDatum(death.at_us - (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY);
    values[1] = Int32GetDatum(death.pid);
    nulls[2] = death.signal == 0;
    values[2] = Int32GetDatum(death.signal);
    nulls[3] = death.signal != 0;
    values[3] = Int32GetDatum(death.exit_code);
    values[4] = Int32GetDatum(int32(death.requests));
    nulls[5] = nulls[6] = nulls[7] = nulls[8] = !known;
    if (known) {
        values[5] = CStringGetTextDatum(command_name(death.command));
        values[6] = Int32GetDatum(death.backend_pid);
        values[7] = text_of(death.query, sizeof death.query);
        values[8] = BoolGetDatum(is_refused(area->suspects, death.program));
    }
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void death_rows(FunctionCallInfo fcinfo) {
    InitMaterializedSRF(fcinfo, 0);
    ReturnSetInfo *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const Area *area = service_area();
    const uint64 count = area ? area->deaths.count.load() : 0;
    for (uint64 i = count > max_deaths ? count - max_deaths : 0; i < count; i++)
        put_death(result, area, area->deaths.at[i % max_deaths]);
}

// ---- gpuscan.stat --------------------------------------------------------------------------------------------------

// In the order of the view's columns.
static constexpr std::atomic<uint64_t> Counters::*counters[] = {
    &Counters::fragments,      &Counters::fallbacks,        &Counters::row_errors,    &Counters::cancelled,
    &Counters::pages_cached,   &Counters::pages_decoded,    &Counters::pages_rowwise, &Counters::pages_compared,
    &Counters::rows_in,        &Counters::groups_out,       &Counters::tables_reused, &Counters::chunks_built,
    &Counters::chunks_evicted, &Counters::kernels_compiled, &Counters::link_bytes,    &Counters::device_us,
    &Counters::restarts,
};

static Datum stat_row(FunctionCallInfo fcinfo) {
    TupleDesc descriptor;
    Datum values[lengthof(counters)];
    bool nulls[lengthof(counters)] = {};
    if (get_call_result_type(fcinfo, nullptr, &descriptor) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "return type must be a row type");
    Area *area = service_area();
    for (size_t i = 0; i < lengthof(counters); i++) {
        const uint64 count = area ? (area->counters.*counters[i]).load() : 0;
        values[i] = counters[i] == &Counters::device_us ? Float8GetDatum(static_cast<double>(count) / 1000)
                                                        : Int64GetDatum(static_cast<int64>(count));
    }
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

static void stat_reset() {
    Area *area = service_area();
    for (size_t i = 0; area && i < lengthof(counters); i++)
        area->counters.*counters[i] = 0;
}

// ---- gpuscan.cached_columns ----------------------------------------------------------------------------------------

static void put_cache_entry(ReturnSetInfo *result, const CacheEntry &entry, const char *text) {
    Datum values[10] = {
        ObjectIdGetDatum(entry.locator.tablespace),
        ObjectIdGetDatum(entry.locator.database),
        ObjectIdGetDatum(entry.locator.relation),
        Int32GetDatum(int32(entry.column)),
        PointerGetDatum(cstring_to_text_with_len(text, int(entry.text_size))), // (a pg_node_tree is a text)
        CStringGetTextDatum(entry.device == uint32(DeviceKind::Cuda) ? "cuda" : "host"),
        Int64GetDatum(int64(entry.chunks)),
        Int64GetDatum(int64(entry.pages)),
        Int64GetDatum(int64(entry.bytes)),
        Int64GetDatum(int64(entry.hits)),
    };
    bool nulls[10] = {};
    nulls[3] = entry.column > PG_INT32_MAX; // an expression's
    nulls[4] = entry.text_size == 0;
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

// One reply's entries; returns the number of entries, 0 when there are no more.
static uint32 put_cache_page(ReturnSetInfo *result, DeviceConnection *connection, uint32 first) {
    ListCacheRequest request = {first, 0};
    memcpy(device_input(connection), &request, sizeof request);
    if (!device_call_or_error(connection, Command::ListCache, sizeof request))
        return 0;
    uint32 size;
    const char *output = device_output(connection, &size);
    ListCacheReply reply;
    if (size < sizeof reply)
        return 0;
    memcpy(&reply, output, sizeof reply);
    uint32 count = std::min(reply.count, uint32((size - sizeof reply) / sizeof(CacheEntry)));
    const char *text = output + sizeof reply + count * sizeof(CacheEntry), *end = output + size;
    for (uint32 i = 0; i < count; i++) {
        CacheEntry entry;
        memcpy(&entry, output + sizeof reply + i * sizeof entry, sizeof entry);
        entry.text_size = std::min(entry.text_size, uint32(end - text));
        put_cache_entry(result, entry, text);
        text += entry.text_size;
    }
    return reply.more ? count : 0;
}

// Are all columns that it reads still there? What is cached of others nobody asks for any more, but it is there until it is evicted.
static bool has_columns_of(Node *expression, Oid relid) {
    Bitmapset *columns = nullptr;
    pull_varattnos(expression, 1, &columns);
    for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
        if (get_attname(relid, AttrNumber(i + FirstLowInvalidHeapAttributeNumber), true) == nullptr)
            return false;
    return true;
}

// The expression over columns of this relation, as one would write it; NULL: it is over others.
static Datum cached_expression(FunctionCallInfo fcinfo) {
    Node *expression = static_cast<Node *>(stringToNode(text_to_cstring(PG_GETARG_TEXT_PP(0))));
    if (!has_columns_of(expression, PG_GETARG_OID(1)))
        PG_RETURN_NULL();
    return DirectFunctionCall2(pg_get_expr, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1));
}

static void cache_rows(FunctionCallInfo fcinfo) {
    InitMaterializedSRF(fcinfo, 0);
    ReturnSetInfo *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    DeviceConnection *connection = device_connect_or_null();
    if (!connection)
        return;
    uint32 first = 0;
    while (uint32 count = put_cache_page(result, connection, first))
        first += count;
    device_disconnect(connection);
}

// ---- test hook (declared by test/sql-support/gpuscan_test.sql only) --------------------------------------------------

static const char *status_name(Status status) {
    switch (status) {
    case Status::Ok:
        return "ok";
    case Status::Fallback:
        return "fallback";
    case Status::RowError:
        return "row error";
    case Status::Cancelled:
        return "cancelled";
    case Status::Lost:
        return "lost";
    case Status::Invalid:
        break;
    }
    return "invalid";
}

static const char *test_device(const char *what) {
    if (!superuser())
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be superuser to test the device")));
    static const char *const names[] = {"segv", "stall", "write"};
    TestRequest request = {0, 0};
    for (uint32 i = 0; i < lengthof(names); i++)
        if (strcmp(what, names[i]) == 0)
            request.what = i + 1;
    if (request.what == 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown test \"%s\"", what)));
    const char *reason;
    DeviceConnection *connection = device_connect(Alternative(), &reason);
    if (!connection)
        return reason;
    memcpy(device_input(connection), &request, sizeof request);
    Status status = device_call(connection, Command::Test, sizeof request);
    device_disconnect(connection);
    return status_name(status);
}

} // namespace gpuscan

// ---- the SQL functions ---------------------------------------------------------------------------------------------

extern "C" {

Datum gpuscan_cache_rows(PG_FUNCTION_ARGS) {
    gpuscan::cache_rows(fcinfo);
    return Datum(0);
}

Datum gpuscan_cached_expression(PG_FUNCTION_ARGS) { return gpuscan::cached_expression(fcinfo); }

Datum gpuscan_death_rows(PG_FUNCTION_ARGS) {
    gpuscan::death_rows(fcinfo);
    return Datum(0);
}

Datum gpuscan_device_rows(PG_FUNCTION_ARGS) {
    gpuscan::device_rows(fcinfo);
    return Datum(0);
}

Datum gpuscan_stat_reset(PG_FUNCTION_ARGS) {
    (void)fcinfo;
    gpuscan::stat_reset();
    PG_RETURN_VOID();
}

Datum gpuscan_stat_row(PG_FUNCTION_ARGS) { return gpuscan::stat_row(fcinfo); }

Datum gpuscan_test_device(PG_FUNCTION_ARGS) {
    PG_RETURN_TEXT_P(cstring_to_text(gpuscan::test_device(text_to_cstring(PG_GETARG_TEXT_PP(0)))));
}
}
