#include "pg/page_costs/planner_formulas.h"

namespace gpuscan {

double hash_aggregate_pages(const PlannerInfo *root, double rows, int width, double groups, Size transition_space) {
    const double entry = hash_agg_entry_size(list_length(root->aggtransinfos), width, transition_space);
    Size memory;
    uint64 max_groups;
    int partitions;
    hash_agg_set_limits(entry, groups, 0, &memory, &max_groups, &partitions);
    double batches = std::fmax(groups * entry / static_cast<double>(memory), groups / static_cast<double>(max_groups));
    batches = std::fmax(std::ceil(batches), 1.0);
    const double depth = std::ceil(std::log(batches) / std::log(partitions < 2 ? 2.0 : partitions));
    return 2 * (bytes_of(rows, width) / BLCKSZ * depth);
}

// PostgreSQL charges 2 pages * passes * (0.75 seq + 0.25 random) for one group before the first row, and as often as there
// are groups in all. With page costs of 0 and 1 the differences tell both numbers.
Cost incremental_sort_page(const storage::PageCosts &costs, PlannerInfo *root, List *pathkeys, int presorted,
                           const Path *input, double limit) {
    if (!is_spilled(input))
        return 0;
    Path without, with;
    const storage::Surrogate before = exchange_page_costs(free_pages);
    cost_incremental_sort_of(&without, root, pathkeys, presorted, input, limit);
    exchange_page_costs({1, 1});
    cost_incremental_sort_of(&with, root, pathkeys, presorted, input, limit);
    exchange_page_costs(before);
    const double first = with.startup_cost - without.startup_cost, all = with.total_cost - without.total_cost;
    if (first < 0.5) // a page is the least
        return 0;
    const double rows = input->rows / std::fmax(all / first, 1) * group_size_for_incremental_sort;
    return storage::sort_page(costs, passes_of(rows, input->pathtarget->width));
}

double distinct_values(PlannerInfo *root, const Node *value, bool *is_guess) {
    VariableStatData statistics;
    examine_variable(root, const_cast<Node *>(value), 0, &statistics);
    const double distinct = get_variable_numdistinct(&statistics, is_guess);
    ReleaseVariableStats(statistics);
    return distinct;
}

void order_by_cost(List *paths) {
    for (int i = 1; i < list_length(paths); ++i) {
        Path *path = static_cast<Path *>(list_nth(paths, i));
        int to = i;
        for (; to > 0; --to) {
            Path *before = static_cast<Path *>(list_nth(paths, to - 1));
            if (compare_path_costs(before, path, TOTAL_COST) <= 0)
                break;
            lfirst(list_nth_cell(paths, to)) = before;
        }
        lfirst(list_nth_cell(paths, to)) = path;
    }
}

} // namespace gpuscan
