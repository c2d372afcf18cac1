// The settings of gpuscan, in alphabetical order.
//
// Settings that the device process obeys (SIGHUP) reach it through the shared area: the supervisor copies them when
// the configuration is read again (service/supervisor.cpp). The others are looked at in the session.
#include "pg/guc.h"

#include <algorithm>

#include "engine/util/machine.hpp"
#include "pg/page_costs/page_cost_model.h"
#include "pg/service/area.h"

namespace gpuscan {

int guc_cache_size; // by default default_cache_size()
char *guc_cost_profile_file = nullptr;
int guc_device = DEVICE_AUTO;
int guc_device_memory_share = 80;
int guc_device_timeout = 30000;
bool guc_enable_decorrelation = true;
int guc_plan_cache_size = 8192;
bool guc_exact_float = false;
bool guc_explain_refusals = false;
int guc_host_threads = 0;
bool guc_log_fallbacks = false;
int guc_max_concurrent_fragments = -1;
int guc_max_feed_workers = -1;
int guc_offload = OFFLOAD_AUTO;

static const config_enum_entry device_options[] = {
    {"auto", DEVICE_AUTO, false}, {"cuda", DEVICE_CUDA, false}, {"host", DEVICE_HOST, false},
    {"none", DEVICE_NONE, false}, {nullptr, 0, false},
};

// As for PostgreSQL's own settings of this kind, spellings of booleans are accepted and not offered.
static const config_enum_entry offload_options[] = {
    {"off", OFFLOAD_OFF, false}, {"auto", OFFLOAD_AUTO, false}, {"force", OFFLOAD_FORCE, false},
    {"on", OFFLOAD_AUTO, true},  {"false", OFFLOAD_OFF, true},  {"true", OFFLOAD_AUTO, true},
    {nullptr, 0, false},
};

// Plans that PostgreSQL keeps were made under the other value: nobody who says "off" expects a device to be asked.
template <int &setting> static void change_plans(int to, void *) {
    if (to != setting)
        ResetPlanCache();
}

static bool is_below_data_directory(char **path, void **, GucSource) {
    canonicalize_path(*path);
    if (**path == '\0' || path_is_relative_and_below_cwd(*path))
        return true;
    GUC_check_errdetail("The file must lie below the data directory.");
    return false;
}

constexpr int min_cache_size = 256 * 1024; // kB

// A quarter of the memory, as PostgreSQL's manual says of shared_buffers; a multiple of 64 MB, which reads well.
static int default_cache_size() {
    const uint64 unit = UINT64CONST(64) << 20;
    const uint64 size = machine_memory() / 4 / unit * unit / 1024;
    return static_cast<int>(std::clamp<uint64>(size, min_cache_size, MAX_KILOBYTES));
}

static bool check_cache_size(int *kilobytes, void **, GucSource) {
    const uint64 memory = machine_memory() / 1024;
    if (static_cast<uint64>(*kilobytes) <= std::max<uint64>(memory, min_cache_size))
        return true;
    GUC_check_errdetail("This machine, or the control group of the server, has %lu MB of memory.",
                        static_cast<unsigned long>(memory / 1024));
    return false;
}

static bool check_device_timeout(int *milliseconds, void **, GucSource) {
    if (*milliseconds == 0 || *milliseconds >= 1000)
        return true;
    GUC_check_errdetail("It is 0, for ever, or at least 1s.");
    return false;
}

void guc_init() {
    DefineCustomIntVariable("gpuscan.cache_size", "Sets the host memory used for cached columns.",
                            "The device process keeps decoded columns of all-visible pages up to this size. The "
                            "least recently used ones go first. The default is a quarter of the machine's memory.",
                            &guc_cache_size, default_cache_size(), 1024, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_KB,
                            check_cache_size, nullptr, nullptr);
    DefineCustomStringVariable("gpuscan.cost_profile_file",
                               "Names the file with this machine's costs, below the data directory.",
                               "If there is none, the devices are measured once and it is written. An empty name means "
                               "built-in costs.",
                               &guc_cost_profile_file, "gpuscan.profile", PGC_SIGHUP, GUC_SUPERUSER_ONLY,
                               is_below_data_directory, nullptr, nullptr);
    DefineCustomEnumVariable("gpuscan.device", "Selects the device that runs query fragments.",
                             "\"auto\" takes the GPU where there is one, else the CPU engine (\"host\"). \"none\" "
                             "in the configuration file means that no device process is started.",
                             &guc_device, guc_device, device_options, PGC_USERSET, GUC_EXPLAIN, nullptr,
                             change_plans<guc_device>, nullptr);
    DefineCustomIntVariable(
        "gpuscan.device_memory_share", "Sets the share of the GPU's memory that gpuscan may use, in per cent.", nullptr,
        &guc_device_memory_share, guc_device_memory_share, 1, 100, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("gpuscan.device_timeout",
                            "Sets how long the device process may give no sign of life before it is started again.",
                            "Queries that wait for it are then answered by PostgreSQL. 0 means for ever.",
                            &guc_device_timeout, guc_device_timeout, 0, 3600000, PGC_SIGHUP, GUC_UNIT_MS,
                            check_device_timeout, nullptr, nullptr);
    DefineCustomBoolVariable(
        "gpuscan.enable_decorrelation", "Plans subqueries that would be evaluated row by row as joins, too.",
        "The plan with joins is taken where a device runs a part of it and it costs less, or where "
        "it costs PostgreSQL less than half.",
        &guc_enable_decorrelation, guc_enable_decorrelation, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("gpuscan.exact_float", "Refuses plans that change the order of float additions.",
                             "Sums of float4 and float8 depend in their last digits on the order of the "
                             "additions, in parallel plans of PostgreSQL too.",
                             &guc_exact_float, guc_exact_float, PGC_USERSET, GUC_EXPLAIN, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("gpuscan.explain_refusals",
                             "Lets EXPLAIN show why parts of a query do not run on a device.", nullptr,
                             &guc_explain_refusals, guc_explain_refusals, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("gpuscan.host_threads", "Sets the number of threads of the CPU engine.",
                            "0 means one thread for every processor core.", &guc_host_threads, guc_host_threads, 0,
                            1024, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("gpuscan.log_fallbacks",
                             "Logs each query fragment that the device has not answered, with the reason.",
                             "PostgreSQL's plan answers instead, so the query takes as long as both.",
                             &guc_log_fallbacks, guc_log_fallbacks, PGC_SUSET, 0, nullptr, nullptr, nullptr);
    // A setting of the postmaster cannot be defined later than the library's preloading; then it has no effect.
    DefineCustomIntVariable(
        "gpuscan.max_concurrent_fragments", "Sets how many query fragments can be on the devices at the same time.",
        "Each takes 2 MB of memory once it is used. Fragments beyond that wait, or run in PostgreSQL if that takes "
        "less time. -1 means "
        "twice the number of processor cores, at least 32.",
        &guc_max_concurrent_fragments, guc_max_concurrent_fragments, -1, 1024,
        process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "gpuscan.max_feed_workers", "Sets the most parallel workers that bring a table's pages to the device.",
        "They are started for the length of a scan that finds many pages missing in the cache, and "
        "taken from max_parallel_workers. -1 means up to 7, by the number of processor cores.",
        &guc_max_feed_workers, guc_max_feed_workers, -1, 1024, PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomEnumVariable("gpuscan.offload", "Decides when plans use the device.",
                             "\"auto\" goes by cost, \"force\" takes the device wherever it can run the query.",
                             &guc_offload, guc_offload, offload_options, PGC_USERSET, GUC_EXPLAIN, nullptr,
                             change_plans<guc_offload>, nullptr);
    DefineCustomIntVariable("gpuscan.plan_cache_size",
                            "Sets the memory of a session for plans of statements that it sends again.",
                            "Only plans in which a device takes part are kept. 0 means none.", &guc_plan_cache_size,
                            guc_plan_cache_size, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, nullptr, nullptr, nullptr);
    page_cost_model_init();
    MarkGUCPrefixReserved("gpuscan");
}

bool service_available() { return service_area() != nullptr; }

} // namespace gpuscan
