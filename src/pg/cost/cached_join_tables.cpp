// See cached_join_tables.h.
#include "pg/pg.h"

#include "pg/cost/cached_join_tables.h"

#include "pg/cost/device_cost.h"
#include "pg/cost/planning_inputs.h"
#include "pg/fragment/build_fingerprints.h"
#include "pg/service/area.h"

namespace gpuscan {
namespace {

uint64 add_file_of(const PlannerInfo *root, uint64 files, Index rti) {
    const Relation relation = table_open(planner_rt_fetch(rti, root)->relid, NoLock); // the query has locked it
    files = add_file(files, relation);
    table_close(relation, NoLock);
    return files;
}

uint64 files_of(const PlannerInfo *root, const FragmentSource *source) {
    if (!source->is_relation)
        return 0;
    if (source->leaves == NIL)
        return add_file_of(root, 0, source->rti);
    uint64 files = 0;
    ListCell *cell;
    foreach (cell, source->leaves)
        files = add_file_of(root, files, static_cast<Index>(lfirst_int(cell)));
    return files;
}

} // namespace

static bool is_kept(uint64 fingerprint, int device) {
    const auto has = [](const FigureKey &key) -> uint64 {
        return service_area()->cached_builds[key.device].has(key_64(key));
    };
    return planning_input(has, key_of_64(fingerprint, device)) != 0;
}

static bool is_any_kept(int device) {
    const auto any = [](const FigureKey &key) -> uint64 { return service_area()->cached_builds[key.device].any(); };
    return planning_input(any, FigureKey{{}, device}) != 0;
}

const bool *cached_join_tables(const PlannerInfo *root, const Fragment *trial) {
    const int device = device_is_gpu() ? 1 : 0;
    if (trial->nsources == 1 || service_area() == nullptr || !is_any_kept(device))
        return nullptr;
    const Size n = static_cast<Size>(trial->nsources);
    uint64 *files = static_cast<uint64 *>(palloc0(sizeof(uint64) * n));
    for (int i = 1; i < trial->nsources; ++i)
        files[i] = files_of(root, &trial->sources[i]);
    const uint64 *fingerprints = build_fingerprints(trial, files);
    bool *cached = static_cast<bool *>(palloc0(sizeof(bool) * n));
    bool any = false;
    for (int i = 1; i < trial->nsources; ++i) {
        cached[i] = is_kept(fingerprints[i - 1], device);
        for (int k = 1; k < i; ++k)
            cached[i] = cached[i] && (trial->sources[k].join.into != i || cached[k]);
        any = any || cached[i];
    }
    return any ? cached : nullptr;
}

} // namespace gpuscan
