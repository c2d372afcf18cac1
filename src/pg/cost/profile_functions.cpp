// What users see of the profile: the function behind the view gpuscan.cost_profile, and gpuscan.set_cost_profile(), which replaces the file.
//
// A new file is written beside the old one, brought to the disk and renamed, so there is a whole one at any time; the old one stays as
// NAME.previous. Only a text that the server could read is written. The server takes it when the configuration is read again
// (pg_reload_conf()), like any change of the file.
#include "pg/pg.h"

#include <fcntl.h>
#include <unistd.h>

#include "engine/cost/tier_profile.hpp"
#include "pg/cost/device_cost.h"
#include "pg/guc.h"
#include "pg/service/area.h"

extern "C" {
PG_FUNCTION_INFO_V1(gpuscan_profile_rows);
PG_FUNCTION_INFO_V1(gpuscan_set_profile);
}

namespace gpuscan {

// ---- reading ----

constexpr int profile_columns = 7;

struct ProfileRow {
    const char *device, *name, *unit, *meaning;
    double value, standard, price; // price < 0: not known
};

static void put(const ReturnSetInfo *result, const ProfileRow *row) {
    Datum values[profile_columns];
    bool nulls[profile_columns] = {};
    values[0] = CStringGetTextDatum(row->device);
    values[1] = CStringGetTextDatum(row->name);
    values[2] = Float8GetDatum(row->value);
    values[3] = Float8GetDatum(row->standard);
    values[4] = Float8GetDatum(row->price);
    nulls[4] = row->price < 0;
    values[5] = CStringGetTextDatum(row->unit);
    values[6] = CStringGetTextDatum(row->meaning);
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

static void put_device(const ReturnSetInfo *result, const tier::Profile *profile, int device) {
    const tier::Prices *prices = device_is_gpu() == (device == 1) ? device_prices() : nullptr;
    for (int i = 0; i < tier::device_values; ++i) {
        if (!tier::in_profile(i, device == 1))
            continue;
        const tier::CountInfo &info = tier::weight_table[i];
        const ProfileRow row = {device == 0 ? "host" : "cuda",
                                info.name,
                                info.unit,
                                info.meaning,
                                profile->devices[device].values[i],
                                device == 0 ? info.host : info.gpu,
                                i < tier::counts && prices != nullptr ? prices->ns[i] : -1};
        put(result, &row);
    }
}

static void profile_rows(FunctionCallInfo fcinfo) {
    InitMaterializedSRF(fcinfo, 0);
    const ReturnSetInfo *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    device_costs_begin();
    tier::Profile profile = tier::default_profile();
    if (const protocol::Area *area = service_area())
        area->profile.read(&profile);
    const ProfileRow unit = {"server",
                             "ns_per_unit",
                             "unit",
                             "one unit of PostgreSQL's costs",
                             profile.ns_per_unit,
                             tier::default_ns_per_unit,
                             -1};
    put(result, &unit);
    for (int i = 0; i < executor::steps; ++i) {
        const executor::StepInfo &step = executor::info(static_cast<executor::Step>(i));
        const ProfileRow row = {"server",
                                step.name,
                                step.unit,
                                step.meaning,
                                profile.executor.ns[i],
                                step.ns,
                                device_executor_rates()->ns[i]};
        put(result, &row);
    }
    put_device(result, &profile, 0);
    put_device(result, &profile, 1);
}

// ---- writing ----

constexpr int max_notes = 10;

// Refuses what the server could not read, and names that it would ignore: a slip must not replace a measured profile.
static void check_profile(const char *text, Size size) {
    tier::Profile profile;
    tier::ProfileNote notes[max_notes];
    int count = 0;
    const bool good = tier::parse_profile(text, size, &profile, notes, max_notes, &count);
    for (int i = 0; i < count; ++i)
        ereport(ERROR,
                (errcode(ERRCODE_CONFIG_FILE_ERROR), errmsg("profile, line %d: %s", notes[i].line, notes[i].text)));
    if (!good)
        ereport(ERROR, (errcode(ERRCODE_CONFIG_FILE_ERROR), errmsg("the profile cannot be read")));
}

static void write_file(const char *path, const char *text, Size size) {
    const int fd = OpenTransientFile(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | PG_BINARY);
    if (fd < 0)
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not create \"%s\": %m", path)));
    errno = 0;
    if (write(fd, text, size) != static_cast<ssize_t>(size)) {
        if (errno == 0) // as if there were no room
            errno = ENOSPC;
        const int error = errno;
        unlink(path);
        errno = error;
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not write \"%s\": %m", path)));
    }
    if (pg_fsync(fd) != 0)
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not fsync \"%s\": %m", path)));
    if (CloseTransientFile(fd) != 0)
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not close \"%s\": %m", path)));
}

// The old file keeps its name until the new one takes it.
static void keep_previous(const char *path, const char *previous) {
    unlink(previous);
    if (link(path, previous) != 0 && errno != ENOENT)
        ereport(ERROR, (errcode_for_file_access(), errmsg("could not link \"%s\" to \"%s\": %m", path, previous)));
}

static void set_profile(const char *text, Size size) {
    const char *path = guc_cost_profile_file;
    if (path == nullptr || path[0] == '\0')
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("gpuscan.cost_profile_file is empty"),
                        errhint("It names the file that would be written.")));
    if (strspn(text, " \t\r\n") == size)
        ereport(
            ERROR,
            (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the profile is empty"),
             errhint("To measure this machine again, remove the file that gpuscan.cost_profile_file names and reload "
                     "the configuration.")));
    check_profile(text, size);
    const char *next = psprintf("%s.new", path);
    write_file(next, text, size);
    keep_previous(path, psprintf("%s.previous", path));
    (void)durable_rename(next, path, ERROR);
}

} // namespace gpuscan

extern "C" {

Datum gpuscan_profile_rows(PG_FUNCTION_ARGS) {
    gpuscan::profile_rows(fcinfo);
    PG_RETURN_VOID();
}

Datum gpuscan_set_profile(PG_FUNCTION_ARGS) {
    const text *given = PG_GETARG_TEXT_PP(0);
    const char *copy = text_to_cstring(given);
    gpuscan::set_profile(copy, strlen(copy));
    PG_RETURN_VOID();
}
}
