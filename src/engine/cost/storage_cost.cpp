#include "engine/cost/storage_cost.hpp"

#include <algorithm>
#include <cmath>

namespace gpuscan::storage {

PageCosts neutral_costs(double seq_page_cost, double random_page_cost) {
    return {seq_page_cost, random_page_cost, seq_page_cost, seq_page_cost, random_page_cost};
}

double merge_passes(double bytes, double memory, double merge_order) {
    const double runs = bytes / memory;
    return runs > merge_order ? std::ceil(std::log(runs) / std::log(merge_order)) : 1;
}

double stock_sort(Surrogate costs, double pages, double passes) {
    return 2 * pages * passes * (costs.seq * 0.75 + costs.random * 0.25);
}

double sort(const PageCosts &costs, double pages, double passes) {
    return pages * (costs.seq_write + (passes - 1) * (costs.seq_write + costs.random_write) / 2 +
                    passes * (costs.seq_read + costs.random_read) / 2);
}

double sort_page(const PageCosts &costs, double passes) { return sort(costs, 1, passes) / passes; }

FileCost stock_hash_join(Surrogate costs, double inner_pages, double outer_pages) {
    const double startup = costs.seq * inner_pages;
    return {startup, startup + costs.seq * (inner_pages + 2 * outer_pages)};
}

FileCost hash_join(const PageCosts &costs, double inner_pages, double outer_pages) {
    const double startup = costs.random_write * inner_pages;
    return {startup, startup + costs.seq_read * inner_pages + (costs.random_write + costs.seq_read) * outer_pages};
}

double material(const PageCosts &costs, double pages) { return costs.seq_write * pages; }

double rescan(const PageCosts &costs, double pages) { return costs.seq_read * pages; }

FileCost stock_hash_aggregate(Surrogate costs, double pages) {
    return {costs.random * pages, (costs.random + costs.seq) * pages};
}

FileCost hash_aggregate(const PageCosts &costs, double pages) {
    return {costs.hashagg_write * pages, (costs.hashagg_write + costs.seq_read) * pages};
}

// Solving for two costs leaves rounding behind, which would make another number of a cost that is meant to stay.
static double without_rounding(double value, double meant) {
    return std::fabs(value - meant) <= 1e-12 * std::fabs(meant) ? meant : value;
}

static Surrogate without_rounding(Surrogate found, const PageCosts &costs) {
    return {without_rounding(found.seq, costs.seq_read), without_rounding(found.random, costs.random_read)};
}

Surrogate for_sorts_alone(double page) { return {page / 2, page / 2}; }

// 2 (0.75 seq + 0.25 random) = page gives random = 2 page - 3 seq.
static Surrogate with_exact_sorts(double seq, double page, const PageCosts &costs) {
    return without_rounding({seq, 2 * page - 3 * seq}, costs);
}

bool files_are_postgres_own(const PageCosts &costs) {
    return costs.seq_write == costs.seq_read && costs.random_write == costs.seq_read;
}

Surrogate for_joins(const PageCosts &costs) {
    if (files_are_postgres_own(costs))
        return {costs.seq_read, costs.random_read};
    const double dearest =
        std::max({costs.seq_read, costs.random_read, costs.seq_write, costs.random_write, costs.hashagg_write});
    return {1000 * dearest, 1000 * dearest};
}

Surrogate for_groups(const PageCosts &costs, double page) {
    // seq + random = hashagg_write + seq_read, and sorts.
    const double seq = page - (costs.hashagg_write + costs.seq_read) / 2;
    return without_rounding({seq, costs.hashagg_write + costs.seq_read - seq}, costs);
}

Surrogate for_material(const PageCosts &costs, double page) { return with_exact_sorts(costs.seq_write, page, costs); }

} // namespace gpuscan::storage
