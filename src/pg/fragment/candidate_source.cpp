#include "pg/pg.h"

#include "pg/fragment/candidate_source.h"

#include <algorithm>

#include "engine/store/decode.hpp"
#include "pg/catalog/expression_text.h"
#include "pg/cost/buffered_pages.h"
#include "pg/cost/cached_pages.h"
#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/expression_work.h"
#include "pg/cost/rowwise_pages.h"
#include "pg/fragment/columns_read.h"
#include "pg/fragment/hidden_rows.h"
#include "pg/fragment/path.h"
#include "pg/fragment/qual_order.h"
#include "pg/fragment/readable.h"
#include "pg/fragment/stage.h"
#include "pg/plan_time/level_time.h"
#include "pg/plan_time/plan_time.h"
#include "pg/refusal.h"

namespace gpuscan {

// Of those pages that could be; summed over its leaves, if it has any. `absent` gets the columns of which some are not.
static double cached_share(const CandidateSource *source, const Bitmapset *columns, Bitmapset **absent) {
    if (source->cacheable <= 0)
        return 1;
    const PlannerInfo *root = source->root;
    const int device = device_is_gpu() ? 1 : 0;
    double pages = 0;
    if (source->leaves == NIL)
        pages = cached_pages(root, source->rel, columns, device, source->cacheable, absent);
    ListCell *cell;
    foreach (cell, source->leaves) {
        const RelOptInfo *leaf = root->simple_rel_array[lfirst_int(cell)];
        pages += cached_pages(root, leaf, attributes_read(leaf), device);
    }
    if (source->leaves != NIL && pages < source->cacheable)
        *absent = bms_copy(columns);
    return std::min(pages / source->cacheable, 1.0);
}

// Columns of it that are there when the level's plan begins, because subqueries that are computed before have needed them.
static Bitmapset *brought_by_init_plans(const CandidateSource *source) {
    Bitmapset *columns = nullptr;
    ListCell *cell;
    foreach (cell, init_plans_missing_columns(source->root)) {
        const MissingColumns *missing = static_cast<const MissingColumns *>(lfirst(cell));
        if (missing->relid == source->relid)
            columns = bms_add_members(columns, missing->columns);
    }
    return columns;
}

// PostgreSQL evaluates them for the pages that the cache does not have.
static void look_for_expressions(CandidateSource *source, const List *expressions) {
    PlannerInfo *root = const_cast<PlannerInfo *>(source->root);
    const int device = device_is_gpu() ? 1 : 0;
    tier::RelationWork *work = &source->work;
    ListCell *cell;
    foreach (cell, expressions) {
        Expr *expr = static_cast<Expr *>(lfirst(cell));
        const uint32 number = expression_number(expression_key(expr));
        double pages = 0;
        if (source->leaves == NIL)
            pages = cached_pages_of(root, source->rel, number, device);
        ListCell *leaf;
        foreach (leaf, source->leaves)
            pages += cached_pages_of(root, root->simple_rel_array[lfirst_int(leaf)], number, device);
        const double share = source->cacheable > 0 ? std::min(pages / source->cacheable, 1.0) : 0;
        if (share >= 1)
            continue;
        work->cached_share = std::min(work->cached_share, share);
        work->evaluated +=
            device_units(expression_ns(root, reinterpret_cast<Node *>(expr), work->rows / std::max(work->pages, 1.0)));
        ++work->expressions;
    }
}

static void look_into_cache(CandidateSource *source) {
    PlannerInfo *root = const_cast<PlannerInfo *>(source->root);
    const ColumnsRead read = columns_read(root, source->rel);
    const Bitmapset *columns = read.attributes;
    const Bitmapset *others = bms_difference(columns, brought_by_init_plans(source));
    Bitmapset *absent = nullptr;
    tier::RelationWork *work = &source->work;
    source->looked = true;
    work->cached_share = bms_is_empty(others) && !bms_is_empty(columns) ? 1 : cached_share(source, others, &absent);
    look_for_expressions(source, read.expressions);
    work->read.all = bms_num_members(columns) + list_length(read.expressions);
    work->absent.all = bms_num_members(absent) + work->expressions;
    if (source->cacheable < work->pages)
        kinds_of_columns(root, source->rel, columns, &work->read);
    if (absent != nullptr)
        work->text_entries = kinds_of_columns(root, source->rel, absent, &work->absent);
    const Cost price = device_missing_cost(work);
    source->missing =
        MissingColumns{source->relid, absent, price, price > 0 ? std::min(price, admission_credit(source->relid)) : 0};
}

const MissingColumns *source_missing_columns(const CandidateSource *source) {
    if (!source->looked)
        look_into_cache(const_cast<CandidateSource *>(source));
    return &source->missing;
}

static Cost weigh_plan(const CandidateSource *source, tier::Breakdown *breakdown) {
    const Path *path = path_of_source(source->rel);
    tier::Ledger ledger = device_ledger(breakdown);
    if (path == nullptr)
        return 0;
    const double ns = path_ns(const_cast<PlannerInfo *>(source->root), path);
    const int columns = list_length(path->pathtarget->exprs);
    if (stage_columns(source->rel) == NIL) {
        ledger.plan_rows(device_units(ns), source->rows, columns);
        return device_cost(ledger);
    }
    // Neither the subquery's node nor the one above it makes tuples.
    const double rows = stage_rows(source->rel);
    const double tuples = stage_emitted_ns(reinterpret_cast<const SubqueryScanPath *>(path)->subpath) +
                          rows * device_executor_rates()->ns[static_cast<int>(executor::Step::Tuple)];
    ledger.stage_rows(device_units(std::max(ns - tuples, 0.0)), rows, columns);
    return device_cost(ledger);
}

// What the cache's credit saves is feeding, and the texts that come with it.
static void show_saved(tier::Breakdown *breakdown, double saved_ns) {
    double *hidden = breakdown->hidden_ns;
    const double feed =
        std::min(saved_ns, std::max(tier::stage_ns(*breakdown, *device_prices(), tier::Stage::Feed), 0.0));
    hidden[static_cast<int>(tier::Stage::Feed)] += feed;
    hidden[static_cast<int>(tier::Stage::Texts)] += saved_ns - feed;
}

Cost weigh_source(const CandidateSource *source, bool brought, bool unread, tier::Breakdown *breakdown) {
    if (!source->is_relation)
        return weigh_plan(source, breakdown);
    const MissingColumns *missing = source_missing_columns(source); // looks into the cache
    const Cost saved = brought ? 0 : missing->saved;
    tier::RelationWork work = source->work;
    work.brought_before = brought;
    work.unread = unread;
    const Cost cost = device_relation_cost(&work, breakdown) - saved;
    if (breakdown != nullptr)
        show_saved(breakdown, device_ns(saved));
    return cost;
}

Cost source_cost(const CandidateSource *source) {
    if (source->is_relation && source->cost > 0)
        return source->cost;
    const Cost cost = weigh_source(source, false, false, nullptr);
    const_cast<CandidateSource *>(source)->cost = cost;
    return cost;
}

// (Of what is not cached, each page is looked at row by row in every query.)
static void add_size(PlannerInfo *root, const RelOptInfo *rel, CandidateSource *source) {
    const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
    const double before = source->work.pages;
    tier::RelationWork *work = &source->work;
    work->pages += rel->pages;
    if (rel->pages > 0)
        work->resident_share = (work->resident_share * before + buffered_share(root, rel) * rel->pages) / work->pages;
    if (rte->rtekind == RTE_RELATION) {
        const char persistence = get_rel_persistence(rte->relid);
        source->cacheable += cacheable_pages(rel, persistence);
        source->work.hashed += persistence == RELPERSISTENCE_UNLOGGED ? rel->pages : 0;
    }
    source->work.rows += rel->tuples;
    if (rel->pages > 0)
        source->work.chunk_rows = std::max(
            source->work.chunk_rows, rel->tuples * std::min(1.0, static_cast<double>(pages_per_chunk) / rel->pages));
}

CandidateSource *make_source(PlannerInfo *root, RelOptInfo *rel) {
    const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
    if (!bms_is_empty(rel->lateral_relids)) {
        refuse("%s is lateral", rte->eref->aliasname);
        return nullptr;
    }
    List *leaves = rte->rtekind == RTE_RELATION && rte->inh ? leaves_of(root, rel->relid) : NIL;
    List *quals = NIL;
    int policy_quals = 0;
    const bool readable =
        device_can_read(root, rte, leaves) && order_quals(root, rel->baserestrictinfo, false, &quals, &policy_quals);
    if (!readable && !plan_may_feed(root, rel, rte))
        return nullptr;
    CandidateSource *source = static_cast<CandidateSource *>(palloc0(sizeof(CandidateSource)));
    source->root = root;
    source->rel = rel;
    source->rti = rel->relid;
    source->alias = rte->eref->aliasname;
    source->work.resident_share = 1;
    source->child = -1;
    source->rows = expected_rows(root, rel);
    source->is_relation = readable;
    if (readable) {
        source->relid = rte->relid;
        source->quals = quals;
        source->policy_quals = policy_quals;
        source->hides_rows = hides_rows(root, rel->relid);
        source->leaves = leaves;
    }
    ListCell *cell;
    foreach (cell, source->leaves)
        add_size(root, root->simple_rel_array[lfirst_int(cell)], source);
    if (source->leaves == NIL)
        add_size(root, rel, source);
    if (readable)
        source->cacheable = std::min(
            source->cacheable,
            source->work.pages - std::min(source->work.pages, rowwise_pages(source->relid, source->work.pages)));
    source->work.cacheable_share = source->work.pages > 0 ? source->cacheable / source->work.pages : 1;
    source->work.conjuncts = list_length(source->quals);
    return source;
}

} // namespace gpuscan
