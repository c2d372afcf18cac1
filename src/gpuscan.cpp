// The library's entry: settings, and what may only be set up while the postmaster preloads libraries.
//
// _PG_init runs in the postmaster, before its children are forked: nothing here (nor in a static constructor) may open
// a GPU driver or start a thread. In a server that has not preloaded the library there is no device service, hence no
// planner hooks: everything is plain PostgreSQL.
#include "pg/pg.h"

#include "pg/cost/cache_admission.h"
#include "pg/exec/node.h"
#include "pg/feed/seen_wal.h"
#include "pg/guc.h"
#include "pg/planner/executions.h"
#include "pg/planner/explain_refusals.h"
#include "pg/planner/hooks.h"
#include "pg/planner/plan_cache.h"
#include "pg/service/area.h"
#include "pg/service/supervisor.h"

extern "C" {
PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init();
}

void _PG_init() {
    gpuscan::guc_init();
    gpuscan::executor_init();
    if (!process_shared_preload_libraries_in_progress)
        return;
    gpuscan::area_init();
    gpuscan::supervisor_register();
    gpuscan::planner_init();
    gpuscan::plan_cache_init();
    gpuscan::explain_refusals_init();
    gpuscan::cache_admission_init();
    gpuscan::seen_wal_init();
    gpuscan::executions_init();
}
