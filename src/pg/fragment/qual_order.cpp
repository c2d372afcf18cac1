#include "pg/pg.h"

#include "pg/fragment/qual_order.h"

#include "pg/cost/own_selectivity.h"
#include "pg/translate/translate.h"

namespace gpuscan {

// (What an expression that the cache holds as a column has met is an error of the row.)
static bool reads_expression(const List *columns) {
    ListCell *cell;
    foreach (cell, columns)
        if (!IsA(lfirst(cell), Var))
            return true;
    return false;
}

// Translates a qual of one relation as if every column were there; can it raise an error?
static bool probe_qual(PlannerInfo *root, Expr *qual, bool *raises) {
    TranslatedSource any{};
    Translation probe = probe_of(root, &any);
    ir::Index node;
    if (!translate_qual(&probe, qual, &node))
        return false;
    *raises = may_raise(&probe, node) || reads_expression(probe.probed);
    return true;
}

constexpr double cheap_operators = 10;

struct RankedQual {
    Expr *expr;
    bool one_time;
    Index security_level;
    Cost cost;
    double rank; // (selectivity - 1) / cost
    bool raises;
    bool of_policy;
};

static bool before_in_postgres(const RankedQual &a, const RankedQual &b) {
    if (a.one_time != b.one_time)
        return a.one_time;
    return a.security_level != b.security_level ? a.security_level < b.security_level : a.cost < b.cost;
}

// (What cannot raise an error can still tell of the rows that it sees, by the time that it takes: not before a policy.)
static bool better_before(const RankedQual &a, const RankedQual &b) {
    return !b.one_time && a.security_level <= b.security_level && !a.raises && !b.raises && a.rank < b.rank;
}

// Insertion sort by a strict order of neighbours: stable, and a qual never passes one that it may not pass.
static void sort_quals(RankedQual *quals, int count, bool (*before)(const RankedQual &, const RankedQual &)) {
    for (int i = 1; i < count; ++i)
        for (int k = i; k > 0 && before(quals[k], quals[k - 1]); --k) {
            RankedQual swapped = quals[k];
            quals[k] = quals[k - 1];
            quals[k - 1] = swapped;
        }
}

bool order_quals(PlannerInfo *root, const List *infos, bool all, List **ordered, int *policy_quals) {
    bool possible = true;
    int count = list_length(infos);
    RankedQual *quals = static_cast<RankedQual *>(palloc(sizeof(RankedQual) * static_cast<Size>(count + 1)));
    for (int i = 0; i < count; ++i) {
        RestrictInfo *info = static_cast<RestrictInfo *>(list_nth(infos, i));
        const Selectivity selectivity = own_selectivity(root, list_make1(info));
        QualCost cost;
        cost_qual_eval_node(&cost, reinterpret_cast<Node *>(info), root);
        quals[i].expr = info->clause;
        quals[i].one_time = is_one_time_filter(info->clause);
        // (as createplan.c does: a cheap qual that shows nothing may go before those of a security barrier)
        quals[i].security_level =
            info->leakproof && cost.per_tuple < cheap_operators * cpu_operator_cost ? 0 : info->security_level;
        quals[i].of_policy = info->security_level < root->qual_security_level;
        quals[i].cost = cost.per_tuple;
        quals[i].rank = (selectivity - 1) / (cost.per_tuple + cpu_operator_cost);
        quals[i].raises = true; // unless told otherwise
        if (possible || all)
            possible = probe_qual(root, info->clause, &quals[i].raises) && possible;
    }
    sort_quals(quals, count, before_in_postgres);
    sort_quals(quals, count, better_before);
    *ordered = NIL;
    for (int i = 0; i < count; ++i) {
        *ordered = lappend(*ordered, quals[i].expr);
        if (quals[i].of_policy && policy_quals != nullptr)
            *policy_quals = i + 1;
    }
    return possible;
}

} // namespace gpuscan
