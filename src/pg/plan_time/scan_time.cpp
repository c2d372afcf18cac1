// The steps of scans: pages, index entries, and rows with their conditions.
//
// What stands in shared buffers is free, as on the device's side of the comparison (cost/buffered_pages.h), and the rest costs what the
// page costs say. In memory a page out of order takes about as long as one in order, so an index is not four times as dear as its
// pages are (random_page_cost = 4), which is what decides between it and a device that has to read the whole table.
#include "pg/pg.h"

#include <algorithm>
#include <cmath>

#include "pg/cost/buffered_pages.h"
#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/plan_time/plan_walk.h"

namespace gpuscan {

using executor::Step;

constexpr double leaves_missed =
    0.75; // of an index's descents: pages that are not in the caches, where the index is not

// ---- rows ----

static double last_of(const Bitmapset *columns) {
    double last = 0;
    for (int i = -1; (i = bms_next_member(columns, i)) >= 0;)
        last = std::max(last, static_cast<double>(i + FirstLowInvalidHeapAttributeNumber));
    return last;
}

// Rows that a scan has found, its conditions, and those that pass. A row is taken apart up to the last column that its conditions need,
// and then up to the last one that is handed on.
static void scanned_rows(const PlanWalk &walk, const Path *path, const List *filters, double found, double passing) {
    const RelOptInfo *rel = path->parent;
    Bitmapset *columns = nullptr;
    ListCell *cell;
    foreach (cell, filters)
        pull_varattnos(reinterpret_cast<Node *>(lfirst_node(RestrictInfo, cell)->clause), rel->relid, &columns);
    const double tested = last_of(columns);
    pull_varattnos(reinterpret_cast<Node *>(rel->reltarget->exprs), rel->relid, &columns);
    walk.count(Step::Tuple, found);
    walk.count(Step::Attribute, found * tested + passing * (last_of(columns) - tested));
    walk.conditions(filters, found);
}

// Of a process that shares the scan with others: PostgreSQL's rows are its own already.
static double share_of_process(const Path *path) { return path->parallel_aware ? 1 / parallel_divisor(path) : 1; }

// ---- pages ----

// Pages that are not in shared buffers cost what the settings say.
static void read_pages(const PlanWalk &walk, const RelOptInfo *rel, double pages, Cost price) {
    walk.count_units(0, pages * (1 - buffered_share(walk.root, rel)) * price);
}

// Pages of `all` that each execution looks at, some in any case and others for rows. In a worker the first look at each counts: of n executions,
// each at other pages by chance, it is all * (1 - (1 - pages / all)^n) (Cardenas, CACM 18, 1975).
static void touch(const PlanWalk &walk, double all, double first, double for_rows) {
    if (!walk.is_worker || all < 1)
        return;
    const double pages = first + for_rows * walk.share;
    const double touched = all * (1 - std::pow(1 - std::min(pages / all, 1.0), walk.executions));
    executor::add(walk.work, Step::PageTouched, touched * walk.lives * walk.contention);
}

static void count_misses(const PlanWalk &walk, double pages, double of_pages) {
    walk.count(Step::CacheMiss, executor::page_misses * pages * executor::far_share(of_pages * BLCKSZ));
}

void count_fetches(const PlanWalk &walk, const RelOptInfo *rel, double far, double pages) {
    walk.count(Step::PageOutOfOrder, pages);
    count_misses(walk, far, rel->pages);
    touch(walk, rel->pages, 0, pages);
}

// ... which then finds so many entries.
static void start_index(const PlanWalk &walk, const IndexOptInfo *index, double found) {
    const double pages = index->pages;
    walk.count(Step::IndexStarted, 1);
    count_misses(walk.whole(), leaves_missed, pages);
    touch(walk, pages, 1, found * pages / std::max(index->tuples, 1.0));
    walk.count(Step::IndexEntry, found);
}

// ---- kinds of scans ----

void count_scan(const PlanWalk &walk, const Path *path) {
    const RelOptInfo *rel = path->parent;
    const double share = share_of_process(path), pages = rel->pages * share;
    walk.count(Step::PageInOrder, pages);
    touch(walk, rel->pages, 0, pages);
    read_pages(walk, rel, pages, device_page_costs().seq_read);
    scanned_rows(walk, path, rel->baserestrictinfo, rel->tuples * share, walk.rows_of(path));
}

static List *conditions_of(const Path *path) {
    return path->param_info != nullptr ? list_concat_copy(path->parent->baserestrictinfo, path->param_info->ppi_clauses)
                                       : path->parent->baserestrictinfo;
}

// What an index path's own conditions leave to be tested.
static List *remaining_conditions(const IndexPath *path) {
    List *rest = NIL;
    ListCell *cell;
    foreach (cell, conditions_of(&path->path))
        if (!is_redundant_with_indexclauses(lfirst_node(RestrictInfo, cell), path->indexclauses))
            rest = lappend(rest, lfirst(cell));
    return rest;
}

// How far an index is in the order of its table: 0 (not at all) to 1.
static double order_of_index(PlannerInfo *root, const IndexOptInfo *index) {
    if (index->ncolumns == 0 || index->indexkeys[0] <= 0)
        return 0;
    Var column = index_column(index, 0);
    VariableStatData statistics;
    double order = 0;
    examine_variable(root, reinterpret_cast<Node *>(&column), 0, &statistics);
    AttStatsSlot slot;
    if (HeapTupleIsValid(statistics.statsTuple) &&
        get_attstatsslot(&slot, statistics.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS)) {
        if (slot.nnumbers > 0)
            order = slot.numbers[0] * slot.numbers[0];
        free_attstatsslot(&slot);
    }
    ReleaseVariableStats(statistics);
    return order;
}

void count_index_scan(const PlanWalk &walk, const Path *path) {
    const IndexPath *index = as<IndexPath>(path);
    const RelOptInfo *rel = path->parent;
    const double rows = walk.rows_of(path);
    const double found = std::max(rel->tuples * index->indexselectivity * share_of_process(path), rows);
    const bool only = path->pathtype == T_IndexOnlyScan;
    const double visited = only ? found * (1 - rel->allvisfrac) : found;
    start_index(walk, index->indexinfo, found);
    // A row's page is most often the one before if the index is in the table's order.
    const double in_order = order_of_index(walk.root, index->indexinfo);
    const double pages = std::min(
        visited, std::max(visited * (1 - in_order), std::ceil(visited * rel->pages / std::max(rel->tuples, 1.0))));
    count_fetches(walk, rel, pages * (1 - in_order / 2), pages);
    walk.count(Step::IndexEntry, only ? found : visited - pages); // (or the look into the visibility map)
    read_pages(walk, rel, pages, device_page_costs().random_read);
    scanned_rows(walk, path, remaining_conditions(index), found, rows);
}

static void count_bitmap(const PlanWalk &walk, const Path *path) {
    if (IsA(path, IndexPath)) {
        const IndexPath *index = as<IndexPath>(path);
        return start_index(walk, index->indexinfo, path->parent->tuples * index->indexselectivity);
    }
    ListCell *cell;
    foreach (cell,
             IsA(path, BitmapAndPath) ? as<BitmapAndPath>(path)->bitmapquals : as<BitmapOrPath>(path)->bitmapquals)
        count_bitmap(walk, static_cast<const Path *>(lfirst(cell)));
}

void count_bitmap_scan(const PlanWalk &walk, const Path *path) {
    Path *bitmap = as<BitmapHeapPath>(path)->bitmapqual;
    const RelOptInfo *rel = path->parent;
    const double rows = walk.rows_of(path);
    Cost cost;
    Selectivity selectivity;
    cost_bitmap_tree_node(bitmap, &cost, &selectivity);
    const double found = std::max(rel->tuples * selectivity * share_of_process(path), rows);
    const double all = std::max(static_cast<double>(rel->pages), 1.0);
    const double pages = std::min(2 * all * found / (2 * all + found), all); // Mackert and Lohman
    count_bitmap(walk.whole(), bitmap);
    count_fetches(walk, rel, pages, pages);
    walk.count(Step::IndexEntry, std::max(found - pages, 0.0));
    read_pages(walk, rel, pages, device_page_costs().random_read);
    scanned_rows(walk, path, conditions_of(path), found, rows);
}

} // namespace gpuscan
