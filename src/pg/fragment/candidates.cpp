// Candidates: a main relation, filtered, and the tables that its rows are joined with, one after the other. What a table is
// built from is a candidate, too: a relation, or several that were joined before.
//
// A base relation is a candidate without joins. A join relation is one if both sides are candidates; equalities that the
// engine can hash become keys of the table, and without one every pair of rows is looked at. The join may be an inner one,
// or a left, right, full, semi or anti join whose inner side becomes the table. So each step is a pair that PostgreSQL
// itself joins, with the clauses that it gives to this pair; which orders of outer joins are legal is its decision alone.
//
// Planning is PostgreSQL's time, and most queries are not ours, so the hooks only note pairs: which base relations there
// are, and for each join that PostgreSQL tries the clauses that belong to it (a join of ten tables is thousands of those).
// Nothing is translated or costed before somebody asks for the candidate of a set of relations, and who asks knows already
// what PostgreSQL's own plan costs (hooks.cpp). Then every way to make that set of two smaller ones is costed, as
// PostgreSQL does it (Selinger et al., SIGMOD 1979), and the cheapest one wins; in a star schema that is the large table with
// the others around it, whatever order PostgreSQL tries; where tables hang on another's table, they are joined when that
// one is built.
//
// GEQO throws its join relations away after every tour, so pairs would point nowhere: there every join becomes a
// candidate at once, and the cheapest one of each set of relations is kept.
//
// A table with partitions or children is one relation here: its filters and joins are written down for the parent, and the
// source reads whatever relations PostgreSQL's own plan would append (what planning has pruned is gone). If the device
// cannot read one of them, PostgreSQL's plan of the whole feeds it.
//
// A base relation that the device cannot read (a view's subquery, a function, a foreign table, a qual that is not
// shippable) is still a source: PostgreSQL's own plan for it feeds the device.
#include "pg/pg.h"

#include "pg/fragment/candidates.h"

#include "pg/cost/composite_keys.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/numeric_form.h"
#include "pg/fragment/candidate_cost.h"
#include "pg/fragment/qual_order.h"
#include "pg/refusal.h"
#include "pg/translate/translate.h"

namespace gpuscan {

// Two sets of relations that PostgreSQL tried to join: everything but GEQO's lives as long as the PlannerInfo.
struct JoinPair {
    RelOptInfo *joined, *outer, *inner;
    List *clauses; // of RestrictInfo *
    JoinType type;
    JoinPair *next; // of the same joined relations
};

// Pairs and buckets take pieces of memory that are small enough for the context's own blocks. A larger one would be a block by
// itself, and the C library gives memory back to the kernel (and takes it again, page fault by page fault, for the next
// plan) as soon as a few kilobytes more are free than a context's blocks, each twice as large as the one before, come to.
constexpr int pairs_in_block = 100;
constexpr int entry_buckets = 512; // by the relations
constexpr int known_clauses = 64;
// Inner joins of more relations than these are thought of as chains only. A chain is always there (with more relations on
// the left there are more clauses, never fewer), and ten relations that share one key could be joined in 29,000 ways.
constexpr int max_relations_in_any_shape = 7;

struct PairBlock {
    JoinPair pairs[pairs_in_block];
    PairBlock *next;
};

// A set of relations that somebody has asked for, or that a noted pair makes.
struct CandidateEntry {
    Relids relids;
    CandidateEntry *next; // of the same bucket
    const Candidate *candidate;
    const Candidate *build_side; // the best one that a table can be built from
    JoinPair *first;             // the latest that makes this set
    int pairs;                   // of all sets, that there were when the candidate was looked for
    bool is_base;                // a single relation, which has been looked at
};

// Is a clause an equality that the engine can hash, whatever relations are on which side?
struct KnownClause {
    const RestrictInfo *info;
    bool hashable;
};

struct CandidateTable {
    MemoryContext context;
    PlannerInfo *root;
    CandidateEntry **buckets; // NULL until somebody asks
    KnownClause *clauses;     // the latest ones, by their address
    List *base;               // of RelOptInfo *
    PairBlock *first, *last;
    int pairs;
    int sorted; // the first so many pairs have found their entries
};

CandidateTable *candidates_create(PlannerInfo *root) {
    CandidateTable *table =
        static_cast<CandidateTable *>(MemoryContextAllocZero(root->planner_cxt, sizeof(CandidateTable)));
    table->context = root->planner_cxt;
    table->root = root;
    MemoryContext before = MemoryContextSwitchTo(table->context);
    for (int i = 1; i < root->simple_rel_array_size; ++i)
        if (root->simple_rel_array[i] != nullptr && root->simple_rel_array[i]->reloptkind == RELOPT_BASEREL)
            table->base = lappend(table->base, root->simple_rel_array[i]);
    MemoryContextSwitchTo(before);
    return table;
}

// (Cheaper than dynahash by far; ten relations have 1,023 sets.)
static CandidateEntry **bucket_of(const CandidateTable *table, const Relids relids) {
    uint64 hash = 0;
    for (int i = 0; relids != nullptr && i < relids->nwords; ++i)
        if (relids->words[i] != 0) // version 15 knows equal sets with different numbers of words
            hash ^= (relids->words[i] + static_cast<uint64>(i)) * UINT64CONST(0x9E3779B97F4A7C15);
    return &table->buckets[hash >> 55];
}
static_assert(entry_buckets == 1 << (64 - 55), "as many as the hash has bits");

static CandidateEntry *entry_of(CandidateTable *table, Relids relids) {
    if (table->buckets == nullptr)
        table->buckets = static_cast<CandidateEntry **>(
            MemoryContextAllocZero(table->context, sizeof(CandidateEntry *) * entry_buckets));
    CandidateEntry **bucket = bucket_of(table, relids);
    for (CandidateEntry *entry = *bucket; entry != nullptr; entry = entry->next)
        if (bms_equal(entry->relids, relids))
            return entry;
    CandidateEntry *entry =
        static_cast<CandidateEntry *>(MemoryContextAllocZero(table->context, sizeof(CandidateEntry)));
    entry->relids = bms_copy(relids);
    entry->pairs = -1;
    entry->next = *bucket;
    *bucket = entry;
    return entry;
}

static CandidateEntry *find_entry(CandidateTable *table, Relids relids);

// ---- joins ----

// A numeric column without precision and scale can be compared, but may have no form in which it could be a key.
static bool is_unscaled_column(PlannerInfo *root, Node *side) {
    int precision, scale;
    Expr *bare = strip_relabels(reinterpret_cast<Expr *>(side));
    const Var *var = reinterpret_cast<const Var *>(bare);
    if (!IsA(bare, Var) || exprType(reinterpret_cast<Node *>(bare)) != NUMERICOID ||
        numeric_typmod(var->vartypmod, &precision, &scale))
        return false;
    const RangeTblEntry *rte = planner_rt_fetch(var->varno, root);
    NumericForm form;
    return rte->rtekind != RTE_RELATION ||
           !find_numeric_form({rte->relid, static_cast<uint32>(var->varattno), rte->inh}, -1, &form);
}

// As the engine does it, the inner side being the table. PostgreSQL's other ways to do one of these joins (with the
// sides exchanged, or with the inner side made unique first) come beside the one that we take.
static bool engine_kind(JoinType type, ir::JoinKind *kind) {
    static constexpr ir::JoinKind kinds[] = {ir::JoinKind::Inner, ir::JoinKind::Left, ir::JoinKind::Full,
                                             ir::JoinKind::Right, ir::JoinKind::Semi, ir::JoinKind::Anti};
    static_assert(JOIN_LEFT == 1 && JOIN_FULL == 2 && JOIN_RIGHT == 3 && JOIN_SEMI == 4 && JOIN_ANTI == 5);
    if (type > JOIN_ANTI)
        return false;
    *kind = kinds[type];
    return true;
}

// Does the clause say which rows are partners? In an outer join, what stands in WHERE looks at the joined rows.
static bool decides_partners(const JoinPair *pair, const RestrictInfo *info) {
    return !IS_OUTER_JOIN(pair->type) || !RINFO_IS_PUSHED_DOWN(info, pair->joined->relids);
}

static bool is_hashable_clause(PlannerInfo *root, const RestrictInfo *info) {
    if (!IsA(info->clause, OpExpr) || info->pseudoconstant)
        return false;
    OpExpr *clause = reinterpret_cast<OpExpr *>(info->clause);
    return list_length(clause->args) == 2 && !is_unscaled_column(root, static_cast<Node *>(linitial(clause->args))) &&
           !is_unscaled_column(root, static_cast<Node *>(lsecond(clause->args))) &&
           is_hashable_equality(OidIsValid(clause->opfuncid) ? clause->opfuncid : get_opcode(clause->opno));
}

// The same clause belongs to many joins. (GEQO's may make room for others at the same address.)
static bool is_known_hashable(CandidateTable *table, const RestrictInfo *info) {
    if (table->root->join_search_private != nullptr)
        return is_hashable_clause(table->root, info);
    if (table->clauses == nullptr)
        table->clauses =
            static_cast<KnownClause *>(MemoryContextAllocZero(table->context, sizeof(KnownClause) * known_clauses));
    KnownClause *known = &table->clauses[reinterpret_cast<uintptr_t>(info) / 16 % known_clauses];
    if (known->info != info) {
        known->info = info;
        known->hashable = is_hashable_clause(table->root, info);
    }
    return known->hashable;
}

// An equality with one side over the inner relation alone and the other one over outer relations alone.
static bool is_equi_join(CandidateTable *table, const RestrictInfo *info, Relids outer, Relids inner) {
    if (bms_is_empty(info->left_relids) || bms_is_empty(info->right_relids))
        return false;
    const bool sides = (bms_is_subset(info->left_relids, outer) && bms_is_subset(info->right_relids, inner)) ||
                       (bms_is_subset(info->right_relids, outer) && bms_is_subset(info->left_relids, inner));
    return sides && is_known_hashable(table, info);
}

// The equality with the outer relations' side first, as EXPLAIN shows it.
static Expr *outer_side_first(const RestrictInfo *info, Relids inner) {
    if (bms_is_subset(info->right_relids, inner))
        return info->clause;
    OpExpr *clause = static_cast<OpExpr *>(copyObject(reinterpret_cast<OpExpr *>(info->clause)));
    if (OidIsValid(get_commutator(clause->opno))) {
        CommuteOpExpr(clause);
        set_opfuncid(clause);
    }
    return reinterpret_cast<Expr *>(clause);
}

static bool is_key(CandidateTable *table, const JoinPair *pair, const RestrictInfo *info) {
    return decides_partners(pair, info) && is_equi_join(table, info, pair->outer->relids, pair->inner->relids);
}

static bool is_narrow_integer(const Node *node) {
    int precision, scale;
    const SqlKind kind = sql_kind(exprType(node));
    if (kind == SqlKind::None)
        return false;
    const Type type = kind != SqlKind::Numeric                               ? engine_type(kind)
                      : numeric_typmod(exprTypmod(node), &precision, &scale) ? numeric_type(precision)
                                                                             : Type::I128;
    return type == Type::I16 || type == Type::I32 || type == Type::I64;
}

// Does the clause give a bound of the partners (engine/ir/interval_condition.hpp)?
static bool is_bound(const JoinPair *pair, const RestrictInfo *info) {
    const OpExpr *clause = reinterpret_cast<const OpExpr *>(info->clause);
    const Relids inner = pair->inner->relids, left = info->left_relids, right = info->right_relids;
    if (!IsA(clause, OpExpr) || list_length(clause->args) != 2 || !decides_partners(pair, info))
        return false;
    const bool sides = (!bms_is_empty(left) && bms_is_subset(left, inner) && !bms_overlap(right, inner)) ||
                       (!bms_is_empty(right) && bms_is_subset(right, inner) && !bms_overlap(left, inner));
    return sides && is_narrow_integer(static_cast<const Node *>(linitial(clause->args))) &&
           is_narrow_integer(static_cast<const Node *>(lsecond(clause->args))) && is_inequality(clause->opno);
}

static PartnersBy partners_by(CandidateTable *table, const JoinPair *pair) {
    PartnersBy by = PartnersBy::Pair;
    ListCell *cell;
    foreach (cell, pair->clauses) {
        const RestrictInfo *info = static_cast<const RestrictInfo *>(lfirst(cell));
        if (is_key(table, pair, info))
            return PartnersBy::Key;
        if (is_bound(pair, info))
            by = PartnersBy::Interval;
    }
    return by;
}

static void write_join(CandidateTable *table, Candidate *candidate) {
    const JoinPair *pair = candidate->pair;
    FragmentJoin *join = static_cast<FragmentJoin *>(palloc0(sizeof(FragmentJoin)));
    engine_kind(pair->type, &join->kind);
    join->by = partners_by(table, pair);
    List *filters = NIL, *partner_filters = NIL;
    ListCell *cell;
    foreach (cell, pair->clauses) {
        RestrictInfo *info = static_cast<RestrictInfo *>(lfirst(cell));
        if (is_key(table, pair, info))
            join->clauses = lappend(join->clauses, outer_side_first(info, pair->inner->relids));
        else if (join->kind != ir::JoinKind::Inner && decides_partners(pair, info))
            partner_filters = lappend(partner_filters, info);
        else
            filters = lappend(filters, info);
        candidate->needs = bms_add_members(candidate->needs, info->clause_relids);
    }
    candidate->needs = bms_difference(candidate->needs, pair->inner->relids);
    order_quals(table->root, partner_filters, true, &join->partner_filters);
    order_quals(table->root, filters, true, &join->filters);
    candidate->join = join;
}

// Of the rows that the candidate yields, by whatever pipeline; a CPU plan that is a source is chosen by now.
static Cost rows_cost(const Candidate *candidate) {
    return candidate->outer == nullptr ? source_cost(candidate->main) : candidate->cost;
}

static bool could_be_build_side(const Candidate *inner) {
    return inner->outer != nullptr || inner->main->is_relation ||
           inner->main->rel->cheapest_total_path->param_info == nullptr;
}

// The candidate that the pair makes of these, if it costs less than `best`; NULL: it does not. Whether there is a key is
// asked where the join would be the better one with a key: without one it costs no less.
static const Candidate *better_candidate(CandidateTable *table, const JoinPair *pair, ir::JoinKind kind,
                                         const CandidateEntry *entry, const Candidate *outer, const Candidate *inner,
                                         const Candidate *best) {
    if (outer == nullptr)
        return nullptr;
    const Cost before = rows_cost(outer) + rows_cost(inner) + build_cost(inner->rows);
    if (best != nullptr && best->cost <= before)
        return nullptr;
    Cost cost = before + probe_cost(outer->rows, inner->rows, 0, PartnersBy::Key, kind);
    if (best != nullptr && best->cost <= cost)
        return nullptr;
    const PartnersBy by = partners_by(table, pair);
    if (by != PartnersBy::Key)
        cost = before + probe_cost(outer->rows, inner->rows, expected_rows(table->root, pair->joined), by, kind);
    if (best != nullptr && best->cost <= cost)
        return nullptr;
    Candidate *candidate = static_cast<Candidate *>(palloc0(sizeof(Candidate)));
    candidate->relids = entry->relids;
    candidate->main = outer->main;
    candidate->outer = outer;
    candidate->inner = inner;
    candidate->pair = pair;
    candidate->rows = expected_rows(table->root, pair->joined);
    candidate->cost = cost;
    return candidate;
}

// Is a join that the device could do the best way to its relations? The unmatched rows of a table come when all rows have
// been through, so a join that wants them is the main pipeline's.
static void weigh(CandidateTable *table, const JoinPair *pair, CandidateEntry *entry) {
    ir::JoinKind kind;
    if (!engine_kind(pair->type, &kind))
        return;
    const CandidateEntry *outer = find_entry(table, pair->outer->relids);
    const CandidateEntry *other = outer->candidate != nullptr ? find_entry(table, pair->inner->relids) : nullptr;
    const Candidate *inner = other != nullptr ? other->build_side : nullptr;
    if (other != nullptr && other->candidate != nullptr && inner == nullptr)
        refuse("a full join within the other side of a join");
    if (inner == nullptr || !could_be_build_side(inner))
        return;
    const bool alike = outer->build_side == outer->candidate && entry->build_side == entry->candidate;
    const Candidate *better = better_candidate(table, pair, kind, entry, outer->candidate, inner, entry->candidate);
    if (better != nullptr)
        entry->candidate = better;
    if (ir::keeps_table(kind))
        return;
    if (alike || (outer->build_side == outer->candidate && better != nullptr))
        entry->build_side = entry->candidate;
    else if ((better = better_candidate(table, pair, kind, entry, outer->build_side, inner, entry->build_side)) !=
             nullptr)
        entry->build_side = better;
}

// The joins of a candidate are written down when somebody asks for just this one.
static void write_joins(CandidateTable *table, const Candidate *candidate) {
    if (candidate == nullptr || candidate->outer == nullptr || candidate->join != nullptr)
        return;
    write_joins(table, candidate->outer);
    write_joins(table, candidate->inner);
    write_join(table, const_cast<Candidate *>(candidate));
}

// ---- pairs ----

static void keep_at_once(CandidateTable *table, const JoinPair *pair) {
    MemoryContext before = MemoryContextSwitchTo(table->context);
    CandidateEntry *entry = entry_of(table, pair->joined->relids);
    weigh(table, pair, entry);
    write_joins(table, entry->candidate);
    write_joins(table, entry->build_side);
    MemoryContextSwitchTo(before);
}

void note_join(CandidateTable *table, RelOptInfo *joined, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
               const JoinPathExtraData *extra) {
    // Inner joins need no other build sides than base relations: they may pay, but there are very many.
    if (inner->reloptkind != RELOPT_BASEREL &&
        (inner->reloptkind != RELOPT_JOINREL ||
         (type == JOIN_INNER && list_length(table->base) > max_relations_in_any_shape)))
        return;
    const JoinPair pair{joined, outer, inner, extra->restrictlist, type, nullptr};
    if (table->root->join_search_private != nullptr) { // GEQO's
        keep_at_once(table, &pair);
        return;
    }
    const int place = table->pairs % pairs_in_block;
    if (place == 0) {
        PairBlock *block = static_cast<PairBlock *>(MemoryContextAlloc(table->context, sizeof(PairBlock)));
        block->next = nullptr;
        (table->last != nullptr ? table->last->next : table->first) = block;
        table->last = block;
    }
    table->last->pairs[place] = pair;
    ++table->pairs;
}

static void sort_pairs(CandidateTable *table) {
    if (table->sorted == table->pairs)
        return;
    PairBlock *block = table->first;
    for (int i = 0; i < table->pairs; ++i) {
        JoinPair *pair = &block->pairs[i % pairs_in_block];
        if (i >= table->sorted) {
            CandidateEntry *entry = entry_of(table, pair->joined->relids);
            pair->next = entry->first;
            entry->first = pair;
        }
        if (i % pairs_in_block == pairs_in_block - 1)
            block = block->next;
    }
    table->sorted = table->pairs;
}

// ---- candidates of a set of relations ----

// The relation as a candidate without joins; NULL: it cannot be a source.
static Candidate *base_candidate(PlannerInfo *root, RelOptInfo *rel) {
    CandidateSource *source = make_source(root, rel);
    if (source == nullptr)
        return nullptr;
    Candidate *candidate = static_cast<Candidate *>(palloc0(sizeof(Candidate)));
    candidate->relids = bms_copy(rel->relids);
    candidate->main = source;
    candidate->rows = source->rows;
    return candidate;
}

static void look_at_base(CandidateTable *table, int relid, CandidateEntry *entry) {
    RelOptInfo *rel = table->root->simple_rel_array[relid];
    bool is_member = rel != nullptr && rel->reloptkind == RELOPT_OTHER_MEMBER_REL; // of a union: by itself
    if (is_member || list_member_ptr(table->base, rel))
        entry->candidate = entry->build_side = base_candidate(table->root, rel);
    entry->is_base = true;
}

static CandidateEntry *find_entry(CandidateTable *table, Relids relids) {
    CandidateEntry *entry = entry_of(table, relids);
    int relid;
    if (entry->is_base || entry->pairs == table->pairs)
        return entry;
    if (bms_get_singleton_member(relids, &relid)) {
        look_at_base(table, relid, entry);
    } else {
        entry->pairs = table->pairs;
        sort_pairs(table);
        for (const JoinPair *pair = entry->first; pair != nullptr; pair = pair->next)
            weigh(table, pair, entry);
    }
    return entry;
}

const Candidate *candidates_find(CandidateTable *table, Relids relids) {
    MemoryContext before = MemoryContextSwitchTo(table->context);
    const Candidate *candidate = find_entry(table, relids)->candidate;
    write_joins(table, candidate);
    MemoryContextSwitchTo(before);
    return candidate;
}

} // namespace gpuscan
