// The settings of gpuscan (gpuscan.*), defined in guc.cpp in alphabetical order.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

enum OffloadMode { OFFLOAD_OFF, OFFLOAD_AUTO, OFFLOAD_FORCE };
enum DeviceChoice { DEVICE_AUTO, DEVICE_CUDA, DEVICE_HOST, DEVICE_NONE };

extern int guc_cache_size;          // gpuscan.cache_size (SIGHUP, kB): host memory for cached columns
extern char *guc_cost_profile_file; // gpuscan... (SIGHUP): this machine's costs, '' = built-in ones
extern int guc_device;              // gpuscan.device (USERSET): auto | cuda | host | none
extern int guc_device_memory_share; // gpuscan.device_memory_share (SIGHUP, per cent of the GPU's memory)
extern int guc_device_timeout;      // gpuscan.device_timeout (SIGHUP, ms): a silent device process is ended, 0 = never
extern bool guc_enable_decorrelation; // gpuscan.enable_decorrelation (USERSET): plan subqueries per row as joins, too
extern bool guc_exact_float;          // gpuscan.exact_float (USERSET): refuse plans that reorder float additions
extern bool guc_explain_refusals;     // gpuscan.explain_refusals (USERSET): EXPLAIN tells the reasons
extern int guc_host_threads;          // gpuscan.host_threads (SIGHUP): threads of the host device, 0 = one per core
extern bool guc_log_fallbacks;        // gpuscan.log_fallbacks (SUSET): tell the server's log of each
extern int
    guc_max_concurrent_fragments; // gpuscan... (POSTMASTER): that can run at once; -1 or 0: twice as many as cores, at least 32
extern int guc_max_feed_workers; // gpuscan.max_feed_workers (USERSET): -1 = by the number of cores
extern int guc_offload;          // gpuscan.offload (USERSET): off | auto | force
extern int guc_plan_cache_size; // gpuscan.plan_cache_size (USERSET, kB): memory for plans that a session keeps; 0: none

void guc_init(); // called by _PG_init

// True when the library was loaded by shared_preload_libraries, so that the device service can exist.
bool service_available();

} // namespace gpuscan
