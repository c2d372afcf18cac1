// See cached_pages.h. A page counts only where all columns have it; since the table has counts and not pages, that is taken to be so
// of as many as the least cached column has.
#include "pg/pg.h"

#include "pg/cost/cached_pages.h"

#include <algorithm>

#include "pg/cost/planning_inputs.h"
#include "pg/service/area.h"

namespace gpuscan {

ColumnLocator column_locator(Relation relation, uint32 attnum) {
    const protocol::Locator file = locator_of(relation);
    return {file.tablespace, file.database, file.relation, attnum};
}

Bitmapset *attributes_read(const RelOptInfo *rel) {
    Bitmapset *columns = nullptr;
    ListCell *cell;
    pull_varattnos(reinterpret_cast<Node *>(rel->reltarget->exprs), rel->relid, &columns);
    foreach (cell, rel->baserestrictinfo)
        pull_varattnos(reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause), rel->relid, &columns);
    return columns;
}

double cacheable_pages(const RelOptInfo *rel, char persistence) {
    if (persistence == RELPERSISTENCE_TEMP)
        return 0;
    return RecoveryInProgress() ? rel->pages * rel->allvisfrac : rel->pages;
}

// Attribute 0 of the table's file; false: nobody can say what is cached of it.
static bool locate_file(const PlannerInfo *root, const RelOptInfo *rel, ColumnLocator *column) {
    const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
    if (service_area() == nullptr || rte->rtekind != RTE_RELATION || !RELKIND_HAS_STORAGE(rte->relkind))
        return false;
    Relation relation = table_open(rte->relid, NoLock); // the query has locked it
    *column = column_locator(relation, 0);
    table_close(relation, NoLock);
    return true;
}

static uint64 cached_pages_of_column(const FigureKey &key) {
    return service_area()->cache_statistics[key.device].pages(
        ColumnLocator{key.words[0], key.words[1], key.words[2], key.words[3]});
}

static uint64 pages_of(const ColumnLocator &column, int device) {
    return planning_input(cached_pages_of_column,
                          FigureKey{{column.tablespace, column.database, column.relation, column.attnum}, device});
}

double cached_pages_of(const PlannerInfo *root, const RelOptInfo *rel, uint32 number, int device) {
    ColumnLocator column;
    if (!locate_file(root, rel, &column))
        return 0;
    column.attnum = number;
    return static_cast<double>(pages_of(column, device));
}

double cached_pages(const PlannerInfo *root, const RelOptInfo *rel, const Bitmapset *columns, int device, double whole,
                    Bitmapset **absent) {
    ColumnLocator column;
    if (!locate_file(root, rel, &column)) {
        if (absent != nullptr)
            *absent = bms_copy(columns);
        return 0;
    }
    uint64 pages = pages_of(column, device);
    for (int i = -1; (pages > 0 || absent != nullptr) && (i = bms_next_member(columns, i)) >= 0;) {
        const int attnum = i + FirstLowInvalidHeapAttributeNumber;
        if (attnum <= 0)
            continue;
        column.attnum = static_cast<uint32>(attnum);
        const uint64 there = pages_of(column, device);
        pages = std::min(pages, there);
        if (absent != nullptr && static_cast<double>(there) < whole)
            *absent = bms_add_member(*absent, i);
    }
    return static_cast<double>(pages);
}

} // namespace gpuscan
