// The search for the order of joins, level by level.
//
// PostgreSQL's own search calls no hook between the joins of a level, the gathering of their paths, and the choice of the
// cheapest: so gpuscan goes through the levels itself, and calls what PostgreSQL exports for each of the three
// (join_search_one_level, generate_partitionwise_join_paths and generate_useful_gather_paths, set_cheapest) with the page
// costs that are right for it. The genetic search for many relations stays PostgreSQL's; it gets along with those for joins.
#include "pg/page_costs/page_cost_model.h"
#include "pg/page_costs/spilled_joins.h"
#include "pg/page_costs/storage_phases.h"

namespace gpuscan {

// What is made of a relation's paths when all of its joins are known: of the topmost one only by its partitions, since the
// target list is not known yet.
static void complete(PlannerInfo *root, RelOptInfo *rel) {
    if (rel->part_scheme != nullptr) {
        enter_sorts(rel->rows, rel->reltarget->width);
        generate_partitionwise_join_paths(root, rel);
        recost_relation(root, rel);
    }
    if (rel->partial_pathlist != NIL && !bms_equal(rel->relids, all_relations_of(root))) {
        const Path *partial = static_cast<const Path *>(linitial(rel->partial_pathlist));
        enter_sorts(partial->rows, rel->reltarget->width);
        generate_useful_gather_paths(root, rel, false);
        recost_relation(root, rel);
    }
    set_cheapest(rel);
    make_unique_paths(root, rel);
}

RelOptInfo *search_joins_with_page_cost_model(PlannerInfo *root, int levels_needed, List *initial_rels) {
    PageCostModel *model = page_cost_model();
    if (model == nullptr)
        return standard_join_search(root, levels_needed, initial_rels);
    List **levels = static_cast<List **>(palloc0(static_cast<Size>(levels_needed + 1) * sizeof(List *)));
    levels[1] = initial_rels;
    root->join_rel_level = levels;
    model->completes_relations = true;
    for (int level = 2; level <= levels_needed; ++level) {
        enter_joins();
        join_search_one_level(root, level);
        ListCell *cell;
        foreach (cell, levels[level])
            complete(root, static_cast<RelOptInfo *>(lfirst(cell)));
    }
    model->completes_relations = false;
    root->join_rel_level = nullptr;
    if (levels[levels_needed] == NIL)
        elog(ERROR, "no order of joins was found for %d relations", levels_needed);
    return static_cast<RelOptInfo *>(linitial(levels[levels_needed]));
}

} // namespace gpuscan
