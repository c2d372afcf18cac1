// Five page costs for PostgreSQL's own paths, without another server.
//
// PostgreSQL's formulas know two page costs. That scans read what gpuscan.seq_read_page_cost and random_read_page_cost say is
// a matter of setting these two for the time of planning. Temporary files are another: their formulas read the same two
// variables, and so does everything else. Costing such paths again in hooks does not do, because the paths that would have won
// have been freed by then (three plans in four are PostgreSQL's own again). So there are two halves.
//
// *Phases* set the two page costs to what makes PostgreSQL's formulas give the model's costs for what is about to be planned
// (engine/cost/storage_cost.hpp), so that the right paths survive:
//   scans    the read costs. At the beginning, when a relation's statistics are looked up, after a subquery.
//   joins    no join that writes files is too cheap; those are made once more, exactly (spilled_joins.cpp).
//   groups   grouping, DISTINCT, windows, ORDER BY: sorts of as many rows as there are, and hash aggregation in all. From the
//            relation that all joins end in, or from the last stage, on.
//   material writing a subquery's result down. When a query level that is no FROM item is through.
//
// *Re-costing* then makes the costs of what has survived exact: joins at once (recost_join.cpp), what is made
// of a relation's paths between two hooks at the next one (recost_stage.cpp), sorts that only the plan has at the end
// (recost_sorts.cpp). Paths of devices are added after that, and compete with exact costs.
//
// The other hooks are set for the time of planning only, so that a server whose settings are all -1 does nothing but test
// page_cost_model_flags once for each statement. They ask the hooks that they find, gpuscan's own among them, after their work.
// Planning can nest (a function that is folded to a constant may run queries): the inner statement starts from the page
// costs that the user has set, and whatever happens, the outer one's are restored.
// (A function that is folded although it calls set_config for one of the two outside of a SET clause finds the surrogate, and that is
// what the end of its setting brings back.)
#include "pg/page_costs/page_cost_model.h"

#include "pg/page_costs/planner_formulas.h"
#include "pg/page_costs/recost_sorts.h"
#include "pg/page_costs/recost_stage.h"
#include "pg/page_costs/spilled_joins.h"
#include "pg/page_costs/storage_phases.h"

namespace gpuscan {

int page_cost_model_flags = 0;
PageCostModel *current_page_cost_model = nullptr;

// ---- settings ----

static double guc_seq_read = -1, guc_random_read = -1, guc_seq_write = -1, guc_random_write = -1,
              guc_hashagg_write = -1;

constexpr int planning_flag = 1 << 5;

template <int flag> static void remember(double value, void *) {
    page_cost_model_flags = value >= 0 ? page_cost_model_flags | flag : page_cost_model_flags & ~flag;
}

static void define_page_cost(const char *name, const char *what, const char *otherwise, double *variable,
                             GucRealAssignHook assign) {
    DefineCustomRealVariable(name, what, otherwise, variable, -1, -1, DBL_MAX, PGC_USERSET, GUC_EXPLAIN, nullptr,
                             assign, nullptr);
}

void page_cost_model_init() {
    define_page_cost("gpuscan.hashagg_write_page_cost", "Sets the cost of a page that a hash aggregation writes.",
                     "-1 means random_page_cost, which is what PostgreSQL charges.", &guc_hashagg_write, remember<1>);
    define_page_cost("gpuscan.random_read_page_cost", "Sets the cost of a page that is read at random.",
                     "-1 means random_page_cost. A tablespace's random_page_cost goes before it.", &guc_random_read,
                     remember<2>);
    define_page_cost("gpuscan.random_write_page_cost", "Sets the cost of a page of a temporary file written at random.",
                     "-1 means seq_page_cost, which is what PostgreSQL charges.", &guc_random_write, remember<4>);
    define_page_cost("gpuscan.seq_read_page_cost", "Sets the cost of a page that is read in sequence.",
                     "-1 means seq_page_cost. A tablespace's seq_page_cost goes before it.", &guc_seq_read,
                     remember<8>);
    define_page_cost("gpuscan.seq_write_page_cost", "Sets the cost of a page of a temporary file written in sequence.",
                     "-1 means seq_page_cost, which is what PostgreSQL charges.", &guc_seq_write, remember<16>);
}

static storage::PageCosts costs_by_settings(storage::Surrogate page_costs) {
    const storage::PageCosts neutral = storage::neutral_costs(page_costs.seq, page_costs.random);
    const auto chosen = [](double setting, double otherwise) { return setting >= 0 ? setting : otherwise; };
    return {chosen(guc_seq_read, neutral.seq_read), chosen(guc_random_read, neutral.random_read),
            chosen(guc_seq_write, neutral.seq_write), chosen(guc_random_write, neutral.random_write),
            chosen(guc_hashagg_write, neutral.hashagg_write)};
}

// ---- state ----

// The relation that all scans and joins of a query level end in.
struct Topmost {
    const PlannerInfo *root;
    MadeUnder made;
};

struct Planning {
    PageCostModel model;
    storage::Surrogate page_costs; // the user's
    List *topmost;                 // of Topmost *
    RecostedPaths *recosted;
    MemoryContext context;
    bool hides_joins;                 // from PostgreSQL's test of hasPseudoConstantQuals
    const PlannerInfo *set_operation; // whose sides are being planned,
    double side_rows;                 // ... and the largest of them up to now
    int side_width;
};

static Planning *planning = nullptr;

static get_relation_info_hook_type previous_info_hook;
static set_rel_pathlist_hook_type previous_rel_hook;
static set_join_pathlist_hook_type previous_join_hook;
static join_search_hook_type previous_search_hook;
static create_upper_paths_hook_type previous_upper_hook;

static const storage::PageCosts &costs() { return planning->model.costs; }

// ---- phases ----

void enter_phase(storage::Surrogate costs) {
    planning->model.current = costs;
    exchange_page_costs(costs);
}

static storage::Surrogate page_reads() { return {costs().seq_read, costs().random_read}; }

static void enter_scans() { enter_phase(page_reads()); }

void enter_joins() { enter_phase(planning->model.for_joins); }

void enter_sorts(double rows, int width) {
    enter_phase(storage::for_sorts_alone(storage::sort_page(costs(), passes_of(rows, width))));
}

static void enter_groups(double rows, int width) {
    enter_phase(storage::for_groups(costs(), storage::sort_page(costs(), passes_of(rows, width))));
}

static storage::Surrogate for_results() { return storage::for_material(costs(), storage::sort_page(costs(), 1)); }

// ---- recosting ----

void recost_relation(PlannerInfo *root, RelOptInfo *rel) {
    recost_paths(planning->recosted, root, rel, planning->model.current, {});
}

static void note_topmost(const PlannerInfo *root, RelOptInfo *rel) {
    MemoryContext before = MemoryContextSwitchTo(planning->context);
    Topmost *topmost = static_cast<Topmost *>(palloc0(sizeof(Topmost)));
    enter_groups(rel->rows, rel->reltarget->width);
    topmost->root = root;
    topmost->made = {rel, planning->model.current};
    planning->topmost = lcons(topmost, planning->topmost);
    MemoryContextSwitchTo(before);
}

static bool is_end_of_joins(const PlannerInfo *root, const RelOptInfo *rel) {
    return bms_equal(rel->relids, all_relations_of(root));
}

// What is gathered and put in order of its paths comes without a hook, and is recosted with the first stage that is made of it.
// (Only there: of its own list PostgreSQL may have freed paths that it made part of the next relation's.)
static MadeUnder topmost_of(const PlannerInfo *root) {
    ListCell *cell;
    foreach (cell, planning->topmost) {
        const Topmost *topmost = static_cast<const Topmost *>(lfirst(cell));
        if (topmost->root == root)
            return topmost->made;
    }
    return {};
}

// Rows of a set operation's sides, which are sorted one by one (17 and later) or all together.
static void enter_set_operation(const PlannerInfo *root, const RelOptInfo *side) {
    if (planning->set_operation != root) {
        planning->set_operation = root;
        planning->side_rows = 0;
        planning->side_width = 0;
    }
    if (side != nullptr && side->pathlist != NIL) {
        const Path *path = static_cast<const Path *>(linitial(side->pathlist));
        if (bytes_of(path->rows, path->pathtarget->width) > bytes_of(planning->side_rows, planning->side_width)) {
            planning->side_rows = path->rows;
            planning->side_width = path->pathtarget->width;
        }
    }
    enter_groups(planning->side_rows, planning->side_width);
}

// What comes after a query level: the next part of a set operation, the level's result that is kept for a subplan, or the
// planning of the level that has it in FROM.
static void enter_after_level(const PlannerInfo *root, const RelOptInfo *result) {
    const PlannerInfo *parent = root->parent_root;
    if (parent == nullptr || parent->simple_rel_array == nullptr)
        enter_phase(for_results());
    else if (parent->parse->setOperations != nullptr)
        enter_set_operation(parent, result);
    else
        enter_scans();
}

// ---- the hooks, which PostgreSQL calls by pointer ----

extern "C" {

static void tier_relation_info(PlannerInfo *root, Oid relation, bool inhparent, RelOptInfo *rel) {
    if (page_cost_model() != nullptr)
        enter_scans();
    if (previous_info_hook != nullptr)
        previous_info_hook(root, relation, inhparent, rel);
}

static void tier_rel_pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte) {
    const bool active = page_cost_model() != nullptr;
    if (active)
        recost_relation(root, rel);
    if (previous_rel_hook != nullptr)
        previous_rel_hook(root, rel, rti, rte);
    if (active && is_end_of_joins(root, rel))
        note_topmost(root, rel);
}

static bool has_pseudoconstants(const List *clauses) {
    ListCell *cell;
    foreach (cell, clauses)
        if (lfirst_node(RestrictInfo, cell)->pseudoconstant)
            return true;
    return false;
}

static void tier_join_pathlist(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outer, RelOptInfo *inner,
                               JoinType type, JoinPathExtraData *extra) {
    if (page_cost_model() != nullptr) {
        bool changed = false;
        if (!planning->model.completes_relations) {
            changed = recost_paths(planning->recosted, root, outer, planning->model.current, {});
            changed = recost_paths(planning->recosted, root, inner, planning->model.current, {}) || changed;
        }
        if (changed || !planning->model.files_are_postgres_own)
            make_spilled_joins(root, joinrel, outer, inner, type, extra, changed);
        if (planning->hides_joins && has_pseudoconstants(extra->restrictlist))
            return;
    }
    if (previous_join_hook != nullptr)
        previous_join_hook(root, joinrel, outer, inner, type, extra);
}

// 15 and 16 do not show joins with conditions on no relation, which they could push to another server only to lose these. As long as
// no table is on another server PostgreSQL may as well believe that there are no such conditions, while it joins.
static bool hide_pseudoconstants(PlannerInfo *root) {
    if (!pseudoconstant_joins_are_hidden || !root->hasPseudoConstantQuals)
        return false;
    for (int i = 1; i < root->simple_rel_array_size; ++i)
        if (root->simple_rel_array[i] != nullptr && root->simple_rel_array[i]->fdwroutine != nullptr)
            return false;
    root->hasPseudoConstantQuals = false;
    return true;
}

static void enter_join_search(PlannerInfo *root, const List *initial_rels) {
    ListCell *cell;
    foreach (cell, initial_rels) {
        RelOptInfo *rel = static_cast<RelOptInfo *>(lfirst(cell));
        if (rel->reloptkind == RELOPT_BASEREL &&
            recost_paths(planning->recosted, root, rel, planning->model.current, {}))
            set_cheapest(rel);
        make_unique_paths(root, rel);
    }
    enter_joins();
}

static RelOptInfo *tier_join_search(PlannerInfo *root, int levels_needed, List *initial_rels) {
    const bool active = page_cost_model() != nullptr, hid_before = active && planning->hides_joins;
    if (active) {
        enter_join_search(root, initial_rels);
        planning->hides_joins = hide_pseudoconstants(root);
    }
    RelOptInfo *rel;
    if (previous_search_hook != nullptr)
        rel = previous_search_hook(root, levels_needed, initial_rels);
    else if (enable_geqo && levels_needed >= geqo_threshold)
        rel = geqo(root, levels_needed, initial_rels);
    else
        rel = search_joins(root, levels_needed, initial_rels);
    if (active) {
        root->hasPseudoConstantQuals = root->hasPseudoConstantQuals || planning->hides_joins;
        planning->hides_joins = hid_before;
        if (rel != nullptr && is_end_of_joins(root, rel))
            note_topmost(root, rel);
    }
    return rel;
}

static void tier_upper_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
                             void *extra) {
    const bool active = page_cost_model() != nullptr;
    if (active)
        recost_paths(planning->recosted, root, output, planning->model.current, topmost_of(root));
    if (previous_upper_hook != nullptr)
        previous_upper_hook(root, stage, input, output, extra);
    if (!active)
        return;
    if (stage == UPPERREL_FINAL)
        enter_after_level(root, output);
    else if (stage == UPPERREL_SETOP)
        enter_set_operation(root, nullptr);
    else if (output->pathlist != NIL)
        enter_groups(static_cast<const Path *>(linitial(output->pathlist))->rows, output->reltarget->width);
}

} // extern "C"

static bool hooks_are_set() { return get_relation_info_hook == tier_relation_info; }

get_relation_info_hook_type others_relation_info_hook() {
    return hooks_are_set() ? previous_info_hook : get_relation_info_hook;
}

static void set_hooks() {
    previous_info_hook = get_relation_info_hook;
    get_relation_info_hook = tier_relation_info;
    previous_rel_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = tier_rel_pathlist;
    previous_join_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = tier_join_pathlist;
    previous_search_hook = join_search_hook;
    join_search_hook = tier_join_search;
    previous_upper_hook = create_upper_paths_hook;
    create_upper_paths_hook = tier_upper_paths;
}

// A library that was loaded meanwhile may have put its hook before ours, which then stays, and does nothing.
static void unset_hooks() {
    if (get_relation_info_hook == tier_relation_info)
        get_relation_info_hook = previous_info_hook;
    if (set_rel_pathlist_hook == tier_rel_pathlist)
        set_rel_pathlist_hook = previous_rel_hook;
    if (set_join_pathlist_hook == tier_join_pathlist)
        set_join_pathlist_hook = previous_join_hook;
    if (join_search_hook == tier_join_search)
        join_search_hook = previous_search_hook;
    if (create_upper_paths_hook == tier_upper_paths)
        create_upper_paths_hook = previous_upper_hook;
}

// ---- a statement ----

// A function's SET clause may have changed them within planning; else what they are is a surrogate.
static storage::Surrogate users_page_costs() {
    const Planning *outer = planning;
    if (outer != nullptr && seq_page_cost == outer->model.current.seq &&
        random_page_cost == outer->model.current.random)
        return outer->page_costs;
    return {seq_page_cost, random_page_cost};
}

PlannedStmt *plan_with_page_cost_model(PlanStatement plan, Query *parse, const char *query_string, int options,
                                       ParamListInfo params) {
    Planning *outer = planning;
    const storage::Surrogate before{seq_page_cost, random_page_cost};
    const int flags_before = page_cost_model_flags & planning_flag;
    const bool outermost = !hooks_are_set();
    Planning state{};
    state.page_costs = users_page_costs();
    // else a statement within one is planned with PostgreSQL's formulas
    const bool active = (page_cost_model_flags & ~planning_flag) != 0;
    state.model.costs = costs_by_settings(state.page_costs);
    state.model.files_are_postgres_own = storage::files_are_postgres_own(state.model.costs);
    state.model.for_joins = storage::for_joins(state.model.costs);
    state.context = CurrentMemoryContext;
    state.recosted = active ? recosted_paths_create() : nullptr;
    const int settings = NewGUCNestLevel();
    PageCostModel *outer_tier = current_page_cost_model;
    PlannedStmt *result = nullptr;
    planning = &state;
    current_page_cost_model = active ? &state.model : nullptr;
    page_cost_model_flags |= planning_flag;
    enter_phase(active ? page_reads() : state.page_costs);
    if (outermost)
        set_hooks();
    PG_TRY();
    {
        result = plan(parse, query_string, options, params);
        if (active && result != nullptr)
            recost_sorts(result, for_results());
    }
    PG_FINALLY();
    {
        if (outermost)
            unset_hooks();
        planning = outer;
        current_page_cost_model = outer_tier;
        page_cost_model_flags = (page_cost_model_flags & ~planning_flag) | flags_before;
        // After an ERROR in a function with a SET clause, what PostgreSQL would set again is the surrogate that it has found: it shall
        // do so before, not at the transaction's end. (A level that notes the user's costs would take 15 us on 15 to close.)
        AtEOXact_GUC(result != nullptr, settings);
        exchange_page_costs(before);
    }
    PG_END_TRY();
    return result;
}

} // namespace gpuscan
