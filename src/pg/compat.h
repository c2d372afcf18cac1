// The only place with tests of the server's version. Each difference names what changed.
#pragma once

// 16: RelFileNode became RelFileLocator, rd_node rd_locator, relNode relNumber (commit b0a55e43299).
#if PG_VERSION_NUM < 160000
using RelFileLocator = RelFileNode;
#define rd_locator rd_node
#define locator_tablespace(locator) ((locator).spcNode)
#define locator_database(locator) ((locator).dbNode)
#define locator_relation(locator) ((locator).relNode)
#else
#define locator_tablespace(locator) ((locator).spcOid)
#define locator_database(locator) ((locator).dbOid)
#define locator_relation(locator) ((locator).relNumber)
#endif

// 16: the fields for a relation's storage that is new in this transaction were renamed with the locator.
#if PG_VERSION_NUM < 160000
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#endif

// 18: EXPLAIN's state and output functions have headers of their own (commit c65bc2e1d14).
#if PG_VERSION_NUM >= 180000
extern "C" {
#include "commands/explain_format.h"
#include "commands/explain_state.h"
}
#endif

// 18: relpathperm returns a struct that holds the characters (commit 37c87e63f9e).
#if PG_VERSION_NUM >= 180000
inline void relation_path(char *to, size_t size, RelFileLocator locator) {
    RelPathStr path = relpathperm(locator, MAIN_FORKNUM);
    strlcpy(to, path.str, size);
}
#else
inline void relation_path(char *to, size_t size, RelFileLocator locator) {
    char *path = relpathperm(locator, MAIN_FORKNUM);
    strlcpy(to, path, size);
    pfree(path);
}
#endif

// 18: a relation can be pruned at executor start, and the caller says whether it is a result relation.
#if PG_VERSION_NUM >= 180000
inline Relation executor_relation(EState *estate, Index rti) {
    return ExecGetRangeTableRelation(estate, rti, false);
}
#else
inline Relation executor_relation(EState *estate, Index rti) { return ExecGetRangeTableRelation(estate, rti); }
#endif

// 17: old_snapshot_threshold is gone (commit f691f5b80a8). Before, vacuum may set a page all-visible that a live
// snapshot does not see in full.
#if PG_VERSION_NUM < 170000
inline bool snapshots_can_be_too_old() { return old_snapshot_threshold >= 0; }
#else
inline bool snapshots_can_be_too_old() { return false; }
#endif

// How many more buffers this backend may pin without taking others' share. 18 counts what is pinned, 17 nearly so;
// before, the same share by hand.
#if PG_VERSION_NUM >= 180000
inline uint32 additional_pins() { return GetAdditionalPinLimit(); }
#elif PG_VERSION_NUM >= 170000
inline uint32 additional_pins() {
    uint32 pins = UINT32_MAX;
    LimitAdditionalPins(&pins);
    return pins;
}
#else
inline uint32 additional_pins() { return NBuffers / (MaxBackends + NUM_AUXILIARY_PROCS); }
#endif
