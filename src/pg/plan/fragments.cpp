// Candidates: a main relation, filtered, and the tables that its rows are joined with, one after the other. What a table is
// built from is a candidate, too: a relation, or several that were joined before.
//
// A base relation is a candidate without joins. A join relation is one if both sides are candidates; equalities that the
// engine can hash become keys of the table, and without one every pair of rows is looked at. The join may be an inner one,
// or a left, right, full, semi or anti join whose inner side becomes the table. So each step is a pair that PostgreSQL
// itself joins, with the clauses that it gives to this pair; which orders of outer joins are legal is its decision alone.
//
// Planning is PostgreSQL's time, and most queries are not ours, so the hooks only take notes: which base relations there
// are, and for each join that PostgreSQL tries the clauses that belong to it (a join of ten tables is thousands of those).
// Nothing is translated or costed before somebody asks for the candidate of a set of relations, and who asks knows already
// what PostgreSQL's own plan costs (hooks.cpp). Then every way to make that set of two smaller ones is costed, as
// PostgreSQL does it (Selinger et al., SIGMOD 1979), and the cheapest one wins; in a star schema that is the large table with
// the others around it, whatever order PostgreSQL tries; where tables hang on another's table, they are joined when that
// one is built.
//
// GEQO throws its join relations away after every tour, so notes would point nowhere: there every join becomes a
// candidate at once, and the cheapest one of each set of relations is kept.
//
// A table with partitions or children is one relation here: its filters and joins are written down for the parent, and the
// source reads whatever relations PostgreSQL's own plan would append (what planning has pruned is gone). If the device
// cannot read one of them, PostgreSQL's plan of the whole feeds it.
//
// A base relation that the device cannot read (a view's subquery, a function, a foreign table, a qual that is not
// shippable) is still a source: PostgreSQL's own plan for it feeds the device.
#include "pg/pg.h"

#include "pg/plan/fragments.h"

#include "pg/cost/device_cost.h"
#include "pg/cost/plan_time.h"
#include "pg/cost/resident.h"
#include "pg/cost/row_corrections.h"
#include "pg/plan/refusal.h"
#include "pg/plan/translate.h"

namespace gpuscan {

// A join that PostgreSQL tried: everything but GEQO's lives as long as the PlannerInfo.
struct JoinNote {
    RelOptInfo *joined, *outer, *inner;
    List *clauses; // of RestrictInfo *
    JoinType type;
    JoinNote *next; // of the same joined relations
};

// Notes lie in pieces and buckets that are small enough for the context's own blocks. A larger piece would be a block by
// itself, and the C library gives memory back to the kernel (and takes it again, page fault by page fault, for the next
// plan) as soon as a few kilobytes more are free than a context's blocks, each twice as large as the one before, come to.
constexpr int notes_in_piece = 100;
constexpr int entry_buckets = 512; // by the relations
constexpr int known_clauses = 64;
// Inner joins of more relations than these are thought of as chains only. A chain is always there (with more relations on
// the left there are more clauses, never fewer), and ten relations that share one key could be joined in 29,000 ways.
constexpr int most_relations_in_any_shape = 7;

struct NotesPiece {
    JoinNote notes[notes_in_piece];
    NotesPiece *next;
};

// A set of relations that somebody has asked for, or that joins have been noted of.
struct CandidateEntry {
    Relids relids;
    CandidateEntry *next; // of the same bucket
    const Candidate *candidate;
    const Candidate *build_side; // the best one that a table can be built from
    JoinNote *first;             // the latest note of a join that makes this set
    int notes;                   // of all sets, that there were when the candidate was looked for
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
    NotesPiece *first, *last;
    int notes;
    int sorted; // the first so many notes have found their entries
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
    entry->notes = -1;
    entry->next = *bucket;
    *bucket = entry;
    return entry;
}

static CandidateEntry *find_entry(CandidateTable *table, Relids relids);

// ---- base relations ----

// A heap: of a temporary or unlogged one the device gets the pages, too, but for one query only (exec/feed_relation.cpp).
static bool is_heap(Oid relid, const char *name) {
    HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
    if (!HeapTupleIsValid(tuple))
        return false;
    Form_pg_class form = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple));
    bool plain = form->relkind == RELKIND_RELATION || form->relkind == RELKIND_MATVIEW;
    bool heap = form->relam == HEAP_TABLE_AM_OID;
    ReleaseSysCache(tuple);
    if (relid < FirstNormalObjectId)
        return refuse("%s is a system catalog", name);
    if (!plain || !heap)
        return refuse("%s is not a heap table", name);
    return true;
}

// Translates a qual of one relation as if every column were there; can it raise an error?
static bool probe_qual(Expr *qual, bool *raises) {
    Translation probe{};
    TranslatedSource any{};
    ir::Index node;
    probe.probing = true;
    probe.sources = &any;
    probe.nsources = 1;
    if (!translate_condition(&probe, qual, &node))
        return false;
    *raises = may_raise(&probe, node);
    return true;
}

// The relations below a parent that planning has not pruned. Partitioned ones are parents themselves and hold no rows; a
// table with children stands among them.
static List *leaves_of(PlannerInfo *root, Index parent) {
    List *leaves = NIL;
    ListCell *cell;
    foreach (cell, root->append_rel_list) {
        const AppendRelInfo *info = static_cast<const AppendRelInfo *>(lfirst(cell));
        RelOptInfo *child = info->parent_relid == parent ? root->simple_rel_array[info->child_relid] : nullptr;
        if (child == nullptr || is_dummy_rel(child))
            continue;
        if (planner_rt_fetch(info->child_relid, root)->inh)
            leaves = list_concat(leaves, leaves_of(root, info->child_relid));
        else
            leaves = lappend_int(leaves, static_cast<int>(info->child_relid));
    }
    return leaves;
}

static bool device_can_read_leaves(PlannerInfo *root, const List *leaves, const char *parent) {
    if (leaves == NIL)
        return refuse("no partition or child of %s is left to be read", parent);
    ListCell *cell;
    foreach (cell, leaves) {
        const RangeTblEntry *rte = planner_rt_fetch(static_cast<Index>(lfirst_int(cell)), root);
        const char *name = get_rel_name(rte->relid);
        if (!is_heap(rte->relid, name != nullptr ? name : parent))
            return false;
    }
    return true;
}

static bool device_can_read(PlannerInfo *root, const RangeTblEntry *rte, const List *leaves) {
    const char *name = rte->eref->aliasname;
    if (rte->rtekind != RTE_RELATION)
        return false;
    if (rte->tablesample != nullptr)
        return refuse("%s is sampled (TABLESAMPLE)", name);
    return rte->inh ? device_can_read_leaves(root, leaves, name) : is_heap(rte->relid, name);
}

// In a subquery that is evaluated row by row, and has been planned already.
static bool finds_volatile_subplan(Node *node, void *root) {
    if (node == nullptr)
        return false;
    if (IsA(node, Query))
        return walk_query(reinterpret_cast<Query *>(node), finds_volatile_subplan, root);
    if (IsA(node, SubPlan)) {
        const int number = reinterpret_cast<const SubPlan *>(node)->plan_id;
        const List *roots = static_cast<const PlannerInfo *>(root)->glob->subroots;
        Node *query = reinterpret_cast<Node *>(static_cast<PlannerInfo *>(list_nth(roots, number - 1))->parse);
        if (contain_volatile_functions(query) || finds_volatile_subplan(query, root))
            return true;
    }
    return walk_expression(node, finds_volatile_subplan, root);
}

static bool has_volatile_subplan(PlannerInfo *root, const RelOptInfo *rel) {
    ListCell *cell;
    foreach (cell, rel->baserestrictinfo)
        if (finds_volatile_subplan(reinterpret_cast<Node *>(static_cast<RestrictInfo *>(lfirst(cell))->clause), root))
            return true;
    return finds_volatile_subplan(reinterpret_cast<Node *>(rel->reltarget->exprs), root);
}

// Rows of PostgreSQL's own plan feed the device, and if the device gives up, the fallback computes them once more: that
// must not show (nextval, functions that write).
static bool may_run_twice(PlannerInfo *root, const RelOptInfo *rel, const RangeTblEntry *rte) {
    const void *const parts[] = {rte->subquery,    rte->functions,        rte->tablefunc,       rte->values_lists,
                                 rte->tablesample, rel->baserestrictinfo, rel->reltarget->exprs};
    for (const void *part : parts)
        if (part != nullptr && contain_volatile_functions(static_cast<Node *>(const_cast<void *>(part))))
            return rte->rtekind != RTE_RELATION && // whose refusal has been told
                   refuse("%s calls a volatile function", rte->eref->aliasname);
    if (has_volatile_subplan(root, rel))
        return refuse("%s calls a volatile function in a subquery", rte->eref->aliasname);
    return true;
}

// A recursive query's working table has one reader: the fallback would begin where the device's feeder has stopped.
static bool in_recursion(const PlannerInfo *root, const RangeTblEntry *rte) {
    for (; root != nullptr; root = root->parent_root)
        if (root->hasRecursion)
            return !refuse("%s may depend on a recursive query's working table", rte->eref->aliasname);
    return false;
}

constexpr double cheap_operators = 10;

struct RankedQual {
    Expr *expr;
    Index security_level;
    Cost cost;
    double rank; // (selectivity - 1) / cost
    bool raises;
};

static bool before_in_postgres(const RankedQual &a, const RankedQual &b) {
    return a.security_level != b.security_level ? a.security_level < b.security_level : a.cost < b.cost;
}

static bool better_before(const RankedQual &a, const RankedQual &b) {
    return !a.raises && !b.raises && a.rank < b.rank;
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

// Filters in PostgreSQL's order, and between those that can raise an error by the classical rank. So a qual that can
// raise an error meets the very rows that it meets in a sequential scan, or in a hash join, of PostgreSQL's. False: the device
// cannot do all of them; it is asked about every one with `all`, else until one is found that it cannot do.
static bool order_quals(PlannerInfo *root, const List *infos, bool all, List **ordered) {
    bool possible = true;
    int count = list_length(infos);
    RankedQual *quals = static_cast<RankedQual *>(palloc(sizeof(RankedQual) * static_cast<Size>(count + 1)));
    for (int i = 0; i < count; ++i) {
        RestrictInfo *info = static_cast<RestrictInfo *>(list_nth(infos, i));
        Selectivity selectivity = clause_selectivity(root, reinterpret_cast<Node *>(info), 0, JOIN_INNER, nullptr);
        QualCost cost;
        cost_qual_eval_node(&cost, reinterpret_cast<Node *>(info), root);
        quals[i].expr = info->clause;
        // (as createplan.c does: a cheap qual that shows nothing may go before those of a security barrier)
        quals[i].security_level =
            info->leakproof && cost.per_tuple < cheap_operators * cpu_operator_cost ? 0 : info->security_level;
        quals[i].cost = cost.per_tuple;
        quals[i].rank = (selectivity - 1) / (cost.per_tuple + cpu_operator_cost);
        quals[i].raises = true; // unless told otherwise
        if (possible || all)
            possible = probe_qual(info->clause, &quals[i].raises) && possible;
    }
    sort_quals(quals, count, before_in_postgres);
    sort_quals(quals, count, better_before);
    *ordered = NIL;
    for (int i = 0; i < count; ++i)
        *ordered = lappend(*ordered, quals[i].expr);
    return possible;
}

// Of those pages that could be; summed over its leaves, if it has any. `absent` gets the columns of which some are not.
static double cached_share(const CandidateSource *source, const Bitmapset *columns, Bitmapset **absent) {
    if (source->visible <= 0)
        return 1;
    const PlannerInfo *root = source->root;
    const int device = device_is_gpu() ? 1 : 0;
    double pages = 0;
    if (source->leaves == NIL)
        pages = resident_pages(root, source->rel, columns, device, source->visible, absent);
    ListCell *cell;
    foreach (cell, source->leaves) {
        const RelOptInfo *leaf = root->simple_rel_array[lfirst_int(cell)];
        pages += resident_pages(root, leaf, columns_read(leaf), device);
    }
    if (source->leaves != NIL && pages < source->visible)
        *absent = bms_copy(columns);
    return std::min(pages / source->visible, 1.0);
}

static tier::Columns columns_of(const ColumnKinds *kinds) { return {kinds->columns, kinds->varlena, kinds->texts}; }

static SourceWork work_of(const CandidateSource *source) {
    const RelOptInfo *rel = source->rel;
    SourceWork work{};
    work.is_relation = source->is_relation;
    work.pages = source->pages;
    work.visible_share = source->pages > 0 ? source->visible / source->pages : 1;
    work.rows = source->tuples;
    work.read = columns_of(&source->read);
    work.absent = columns_of(&source->absent);
    work.text_entries = source->absent.different_texts;
    work.conjuncts = list_length(source->quals);
    work.cached_share = source->cached_share;
    if (source->is_relation)
        return work;
    work.read.all = list_length(rel->reltarget->exprs);
    if (rel->cheapest_total_path != nullptr) {
        work.child_cost = device_units(path_ns(const_cast<PlannerInfo *>(source->root), rel->cheapest_total_path));
        work.child_rows = expected_rows(const_cast<PlannerInfo *>(source->root), rel);
    }
    return work;
}

// Columns of it that are there when the level's plan begins, because subqueries that are computed before have needed them.
static Bitmapset *brought_by_init_plans(const CandidateSource *source) {
    Bitmapset *columns = nullptr;
    ListCell *cell;
    foreach (cell, init_plans_loads(source->root)) {
        const Load *load = static_cast<const Load *>(lfirst(cell));
        if (load->relid == source->relid)
            columns = bms_add_members(columns, load->columns);
    }
    return columns;
}

static void look_into_cache(CandidateSource *source) {
    PlannerInfo *root = const_cast<PlannerInfo *>(source->root);
    const Bitmapset *columns = columns_read(source->rel);
    const Bitmapset *others = bms_difference(columns, brought_by_init_plans(source));
    Bitmapset *absent = nullptr;
    source->looked = true;
    source->cached_share = bms_is_empty(others) && !bms_is_empty(columns) ? 1 : cached_share(source, others, &absent);
    source->read = source->absent = {};
    source->read.columns = bms_num_members(columns);
    source->absent.columns = bms_num_members(absent);
    if (source->visible < source->pages)
        kinds_of_columns(root, source->rel, columns, &source->read);
    if (absent != nullptr)
        kinds_of_columns(root, source->rel, absent, &source->absent);
    const SourceWork work = work_of(source);
    const Cost price = device_load_cost(&work);
    source->load = Load{source->relid, absent, price, price > 0 ? std::min(price, saved_on(source->relid)) : 0};
}

// What reading it takes; `brought`: another source of the fragment has brought the same columns, `unread`: nobody looks at its rows.
static Cost weigh_source(const CandidateSource *source, bool brought, bool unread, tier::Account *account) {
    if (source->is_relation && !source->looked)
        look_into_cache(const_cast<CandidateSource *>(source));
    SourceWork work = work_of(source);
    work.brought_before = brought;
    work.unread = unread;
    const Cost saved = brought ? 0 : source->load.saved;
    if (account != nullptr)
        account->hidden_ns[static_cast<int>(tier::Stage::Feed)] += device_ns(saved);
    return device_source_cost(&work, account) - saved;
}

static Cost source_cost(const CandidateSource *source) {
    if (source->is_relation && source->cost > 0)
        return source->cost;
    const Cost cost = weigh_source(source, false, false, nullptr);
    const_cast<CandidateSource *>(source)->cost = cost;
    return cost;
}

// (Of what is not cached, each page is looked at row by row in every query.)
static void add_size(PlannerInfo *root, const RelOptInfo *rel, CandidateSource *source) {
    const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
    source->pages += rel->pages;
    if (rte->rtekind == RTE_RELATION && get_rel_persistence(rte->relid) == RELPERSISTENCE_PERMANENT)
        source->visible += rel->pages * rel->allvisfrac;
    source->tuples += rel->tuples;
}

// The relation as a candidate without joins; NULL: it cannot be a source.
static Candidate *base_candidate(PlannerInfo *root, RelOptInfo *rel) {
    const RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);
    if (!bms_is_empty(rel->lateral_relids)) {
        refuse("%s is lateral", rte->eref->aliasname);
        return nullptr;
    }
    List *leaves = rte->rtekind == RTE_RELATION && rte->inh ? leaves_of(root, rel->relid) : NIL;
    List *quals = NIL;
    bool readable = device_can_read(root, rte, leaves) && order_quals(root, rel->baserestrictinfo, false, &quals);
    if (!readable && (in_recursion(root, rte) || !may_run_twice(root, rel, rte)))
        return nullptr;
    CandidateSource *source = static_cast<CandidateSource *>(palloc0(sizeof(CandidateSource)));
    source->root = root;
    source->rel = rel;
    source->is_relation = readable;
    source->relid = readable ? rte->relid : InvalidOid;
    source->quals = readable ? quals : NIL;
    source->leaves = readable ? leaves : NIL;
    ListCell *cell;
    foreach (cell, source->leaves)
        add_size(root, root->simple_rel_array[lfirst_int(cell)], source);
    if (source->leaves == NIL)
        add_size(root, rel, source);
    Candidate *candidate = static_cast<Candidate *>(palloc0(sizeof(Candidate)));
    candidate->relids = bms_copy(rel->relids);
    candidate->main = source;
    candidate->rows = expected_rows(root, rel);
    return candidate;
}

// ---- joins ----

// A numeric column without precision and scale can be compared, but has no form in which it could be a key.
static bool is_unscaled_column(Node *side) {
    int precision, scale;
    Expr *bare = strip_relabels(reinterpret_cast<Expr *>(side));
    return IsA(bare, Var) && exprType(reinterpret_cast<Node *>(bare)) == NUMERICOID &&
           !numeric_typmod(exprTypmod(reinterpret_cast<Node *>(bare)), &precision, &scale);
}

// As the engine does it, the inner side being the table. PostgreSQL's other ways to do one of these joins (with the
// sides exchanged, or with the inner side made unique first) come beside the one that we take.
static bool engine_kind(const JoinNote *note, ir::JoinKind *kind) {
    switch (note->type) {
    case JOIN_INNER:
        *kind = ir::JoinKind::Inner;
        return true;
    case JOIN_LEFT:
        *kind = ir::JoinKind::Left;
        return true;
    case JOIN_SEMI:
        *kind = ir::JoinKind::Semi;
        return true;
    case JOIN_ANTI:
        *kind = ir::JoinKind::Anti;
        return true;
    case JOIN_RIGHT:
        *kind = ir::JoinKind::Right;
        return true;
    case JOIN_FULL:
        *kind = ir::JoinKind::Full;
        return true;
    default:
        return false;
    }
}

// Does the clause say which rows are partners? In an outer join, what stands in WHERE looks at the joined rows.
static bool decides_partners(const JoinNote *note, const RestrictInfo *info) {
    return !IS_OUTER_JOIN(note->type) || !RINFO_IS_PUSHED_DOWN(info, note->joined->relids);
}

static bool is_hashable_clause(const RestrictInfo *info) {
    if (!IsA(info->clause, OpExpr) || info->pseudoconstant)
        return false;
    OpExpr *clause = reinterpret_cast<OpExpr *>(info->clause);
    return list_length(clause->args) == 2 && !is_unscaled_column(static_cast<Node *>(linitial(clause->args))) &&
           !is_unscaled_column(static_cast<Node *>(lsecond(clause->args))) &&
           is_hashable_equality(OidIsValid(clause->opfuncid) ? clause->opfuncid : get_opcode(clause->opno));
}

// The same clause belongs to many joins. (GEQO's may make room for others at the same address.)
static bool is_known_hashable(CandidateTable *table, const RestrictInfo *info) {
    if (table->root->join_search_private != nullptr)
        return is_hashable_clause(info);
    if (table->clauses == nullptr)
        table->clauses =
            static_cast<KnownClause *>(MemoryContextAllocZero(table->context, sizeof(KnownClause) * known_clauses));
    KnownClause *known = &table->clauses[reinterpret_cast<uintptr_t>(info) / 16 % known_clauses];
    if (known->info != info) {
        known->info = info;
        known->hashable = is_hashable_clause(info);
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

static bool is_key(CandidateTable *table, const JoinNote *note, const RestrictInfo *info) {
    return decides_partners(note, info) && is_equi_join(table, info, note->outer->relids, note->inner->relids);
}

// Without one, every pair of rows is looked at.
static bool has_key(CandidateTable *table, const JoinNote *note) {
    ListCell *cell;
    foreach (cell, note->clauses)
        if (is_key(table, note, static_cast<const RestrictInfo *>(lfirst(cell))))
            return true;
    return false;
}

static CandidateJoin *make_join(CandidateTable *table, const JoinNote *note, const Candidate *outer,
                                const Candidate *inner) {
    CandidateJoin *join = static_cast<CandidateJoin *>(palloc0(sizeof(CandidateJoin)));
    join->inner = inner;
    join->ratio = expected_rows(table->root, note->joined) / (outer->rows > 1 ? outer->rows : 1);
    engine_kind(note, &join->kind);
    List *filters = NIL, *partner_filters = NIL;
    ListCell *cell;
    foreach (cell, note->clauses) {
        RestrictInfo *info = static_cast<RestrictInfo *>(lfirst(cell));
        if (is_key(table, note, info))
            join->clauses = lappend(join->clauses, outer_side_first(info, note->inner->relids));
        else if (join->kind != ir::JoinKind::Inner && decides_partners(note, info))
            partner_filters = lappend(partner_filters, info);
        else
            filters = lappend(filters, info);
        join->needs = bms_add_members(join->needs, info->clause_relids);
    }
    join->needs = bms_difference(join->needs, note->inner->relids);
    order_quals(table->root, partner_filters, true, &join->partner_filters);
    order_quals(table->root, filters, true, &join->filters);
    return join;
}

// Of the rows that the candidate yields, by whatever pipeline; a CPU plan that is a source is chosen by now.
static Cost rows_cost(const Candidate *candidate) {
    return candidate->note == nullptr ? source_cost(candidate->main) : candidate->cost;
}

static Cost probe_cost(double rows, double entries, bool keyed, ir::JoinKind kind, tier::Account *account = nullptr) {
    const Cost unmet = ir::keeps_table(kind) ? device_unmet_cost(entries, account) : 0;
    return unmet + (keyed ? device_probe_cost(rows, entries, account) : device_pairs_cost(rows, entries, account));
}

static bool could_be_build_side(const Candidate *inner) {
    return inner->note != nullptr || inner->main->is_relation ||
           inner->main->rel->cheapest_total_path->param_info == nullptr;
}

// The candidate that the note's join makes of these, if it costs less than `best`; NULL: it does not. Whether there is a key is
// asked where the join would be the better one with a key: without one it costs no less.
static const Candidate *better_candidate(CandidateTable *table, const JoinNote *note, ir::JoinKind kind,
                                         const CandidateEntry *entry, const Candidate *outer, const Candidate *inner,
                                         const Candidate *best) {
    if (outer == nullptr)
        return nullptr;
    const Cost before = rows_cost(outer) + rows_cost(inner) + device_build_cost(inner->rows);
    if (best != nullptr && best->cost <= before)
        return nullptr;
    Cost cost = before + probe_cost(outer->rows, inner->rows, true, kind);
    if (best != nullptr && best->cost <= cost)
        return nullptr;
    if (!has_key(table, note))
        cost = before + probe_cost(outer->rows, inner->rows, false, kind);
    if (best != nullptr && best->cost <= cost)
        return nullptr;
    Candidate *candidate = static_cast<Candidate *>(palloc0(sizeof(Candidate)));
    candidate->relids = entry->relids;
    candidate->main = outer->main;
    candidate->outer = outer;
    candidate->inner = inner;
    candidate->note = note;
    candidate->rows = expected_rows(table->root, note->joined);
    candidate->cost = cost;
    return candidate;
}

// Is a join that the device could do the best way to its relations? The unmet rows of a table come when all rows have
// been through, so a join that wants them is the main pipeline's.
static void weigh(CandidateTable *table, const JoinNote *note, CandidateEntry *entry) {
    ir::JoinKind kind;
    if (!engine_kind(note, &kind))
        return;
    const CandidateEntry *outer = find_entry(table, note->outer->relids);
    const CandidateEntry *other = outer->candidate != nullptr ? find_entry(table, note->inner->relids) : nullptr;
    const Candidate *inner = other != nullptr ? other->build_side : nullptr;
    if (other != nullptr && other->candidate != nullptr && inner == nullptr)
        refuse("a full join within the other side of a join");
    if (inner == nullptr || !could_be_build_side(inner))
        return;
    const bool alike = outer->build_side == outer->candidate && entry->build_side == entry->candidate;
    const Candidate *better = better_candidate(table, note, kind, entry, outer->candidate, inner, entry->candidate);
    if (better != nullptr)
        entry->candidate = better;
    if (ir::keeps_table(kind))
        return;
    if (alike || (outer->build_side == outer->candidate && better != nullptr))
        entry->build_side = entry->candidate;
    else if ((better = better_candidate(table, note, kind, entry, outer->build_side, inner, entry->build_side)) !=
             nullptr)
        entry->build_side = better;
}

// The joins of a candidate are written down when somebody asks for just this one.
static const Candidate *with_joins(CandidateTable *table, const Candidate *candidate) {
    if (candidate->note == nullptr || candidate->joins != NIL)
        return candidate;
    const Candidate *outer = with_joins(table, candidate->outer), *inner = with_joins(table, candidate->inner);
    List *joins = lappend(list_copy(outer->joins), make_join(table, candidate->note, outer, inner));
    const_cast<Candidate *>(candidate)->joins = joins;
    return candidate;
}

// ---- notes ----

static void keep_at_once(CandidateTable *table, const JoinNote *note) {
    MemoryContext before = MemoryContextSwitchTo(table->context);
    CandidateEntry *entry = entry_of(table, note->joined->relids);
    weigh(table, note, entry);
    if (entry->candidate != nullptr)
        with_joins(table, entry->candidate);
    if (entry->build_side != nullptr)
        with_joins(table, entry->build_side);
    MemoryContextSwitchTo(before);
}

void note_join(CandidateTable *table, RelOptInfo *joined, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
               const JoinPathExtraData *extra) {
    // Inner joins need no other build sides than base relations: they may pay, but there are very many.
    if (inner->reloptkind != RELOPT_BASEREL &&
        (inner->reloptkind != RELOPT_JOINREL ||
         (type == JOIN_INNER && list_length(table->base) > most_relations_in_any_shape)))
        return;
    const JoinNote note{joined, outer, inner, extra->restrictlist, type, nullptr};
    if (table->root->join_search_private != nullptr) { // GEQO's
        keep_at_once(table, &note);
        return;
    }
    const int place = table->notes % notes_in_piece;
    if (place == 0) {
        NotesPiece *piece = static_cast<NotesPiece *>(MemoryContextAlloc(table->context, sizeof(NotesPiece)));
        piece->next = nullptr;
        (table->last != nullptr ? table->last->next : table->first) = piece;
        table->last = piece;
    }
    table->last->notes[place] = note;
    ++table->notes;
}

static void sort_notes(CandidateTable *table) {
    if (table->sorted == table->notes)
        return;
    NotesPiece *piece = table->first;
    for (int i = 0; i < table->notes; ++i) {
        JoinNote *note = &piece->notes[i % notes_in_piece];
        if (i >= table->sorted) {
            CandidateEntry *entry = entry_of(table, note->joined->relids);
            note->next = entry->first;
            entry->first = note;
        }
        if (i % notes_in_piece == notes_in_piece - 1)
            piece = piece->next;
    }
    table->sorted = table->notes;
}

// ---- candidates of a set of relations ----

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
    if (entry->is_base || entry->notes == table->notes)
        return entry;
    if (bms_get_singleton_member(relids, &relid)) {
        look_at_base(table, relid, entry);
    } else {
        entry->notes = table->notes;
        sort_notes(table);
        for (const JoinNote *note = entry->first; note != nullptr; note = note->next)
            weigh(table, note, entry);
    }
    return entry;
}

const Candidate *candidates_find(CandidateTable *table, Relids relids) {
    MemoryContext before = MemoryContextSwitchTo(table->context);
    const Candidate *candidate = find_entry(table, relids)->candidate;
    if (candidate != nullptr)
        with_joins(table, candidate);
    MemoryContextSwitchTo(before);
    return candidate;
}

// ---- the result ----

static bool joins_are_inner(const Candidate *candidate) {
    ListCell *cell;
    foreach (cell, candidate->joins)
        if (static_cast<const CandidateJoin *>(lfirst(cell))->kind != ir::JoinKind::Inner)
            return false;
    return true;
}

// The most selective join first whose other relations are there already. Others than inner joins may want more than that:
// the order in which they were found is legal.
static List *ordered_joins(const Candidate *candidate) {
    if (!joins_are_inner(candidate))
        return candidate->joins;
    List *left = list_copy(candidate->joins), *result = NIL;
    Relids there = bms_copy(candidate->main->rel->relids);
    while (left != NIL) {
        CandidateJoin *best = nullptr;
        ListCell *cell;
        foreach (cell, left) {
            CandidateJoin *join = static_cast<CandidateJoin *>(lfirst(cell));
            if (bms_is_subset(join->needs, there) && (best == nullptr || join->ratio < best->ratio))
                best = join;
        }
        if (best == nullptr) // cannot happen: the order in which they were found is a valid one
            return candidate->joins;
        result = lappend(result, best);
        left = list_delete_ptr(left, best);
        there = bms_add_members(there, best->inner->relids);
    }
    return result;
}

static void describe_source(PlannerInfo *root, const CandidateSource *from, List **child_paths, BlueprintSource *to) {
    const RangeTblEntry *rte = planner_rt_fetch(from->rel->relid, root);
    to->is_relation = from->is_relation;
    to->rti = from->rel->relid;
    to->relid = from->relid;
    to->leaves = from->leaves;
    to->alias = rte->eref->aliasname;
    to->child = -1;
    to->quals = from->quals;
    to->rows = expected_rows(root, from->rel);
    if (!from->is_relation) {
        *child_paths = lappend(*child_paths, from->rel->cheapest_total_path);
        to->child = list_length(*child_paths);
    }
}

// The joins of one pipeline, whose source is number `into`, with the build sides' own before each of them: a table is
// built before it is probed. Numbers of sources go up in that order.
static void describe_joins(PlannerInfo *root, const Candidate *candidate, List **child_paths, Blueprint *b);

static void describe_build(PlannerInfo *root, const CandidateJoin *from, List **child_paths, Blueprint *b) {
    const int first = b->nsources;
    describe_joins(root, from->inner, child_paths, b);
    const int self = b->nsources++;
    for (int i = first; i < self; ++i)
        if (b->joins[i - 1].into == 0)
            b->joins[i - 1].into = self;
    describe_source(root, from->inner->main, child_paths, &b->sources[self]);
    BlueprintJoin *join = &b->joins[self - 1];
    join->kind = from->kind;
    join->clauses = from->clauses;
    join->partner_filters = from->partner_filters;
    join->filters = from->filters;
}

static void describe_joins(PlannerInfo *root, const Candidate *candidate, List **child_paths, Blueprint *b) {
    ListCell *cell;
    foreach (cell, ordered_joins(candidate))
        describe_build(root, static_cast<const CandidateJoin *>(lfirst(cell)), child_paths, b);
}

Blueprint *candidate_blueprint(PlannerInfo *root, const Candidate *candidate, List **child_paths) {
    Size n = static_cast<Size>(bms_num_members(candidate->relids));
    Blueprint *blueprint = static_cast<Blueprint *>(palloc0(sizeof(Blueprint)));
    blueprint->sources = static_cast<BlueprintSource *>(palloc0(sizeof(BlueprintSource) * n));
    blueprint->joins = static_cast<BlueprintJoin *>(palloc0(sizeof(BlueprintJoin) * n));
    describe_source(root, candidate->main, child_paths, &blueprint->sources[0]);
    blueprint->nsources = 1;
    describe_joins(root, candidate, child_paths, blueprint);
    return blueprint;
}

// ---- costs ----

struct CandidateWork {
    List *brought;     // OIDs of relations that an earlier source reads
    List *below;       // Loads of the CPU plans that are sources
    double table_rows; // of tables that are not there
    const bool *kept;  // tables, by source as in the blueprint
    int nsources;      // that have been met: the next one's number
    tier::Account *account;
};

// Is the table there that the next sources are for, the candidate's main one the last of them? (As describe_build() numbers them.)
static bool is_kept(const Candidate *candidate, const CandidateWork *work) {
    return work->kept != nullptr && work->kept[work->nsources + bms_num_members(candidate->relids) - 1];
}

static bool is_brought(const CandidateSource *source, const CandidateWork *work) {
    if (!source->is_relation)
        return false;
    if (!source->looked)
        look_into_cache(const_cast<CandidateSource *>(source));
    return list_member_oid(work->brought, source->relid) || brings(work->below, &source->load);
}

// The scans, builds and probes in the order in which they will run. A table that stands in the fragment twice is brought once (the
// second time mostly the same columns are wanted), and so is what a device reads for a CPU plan that is a source. Of a table that is there, the sources are staged, which tells the device that it is
// the right one, and nothing else is done.
static Cost weigh_candidate(const Candidate *candidate, bool is_there, CandidateWork *work) {
    const CandidateSource *main = candidate->main;
    double rows = expected_rows(const_cast<PlannerInfo *>(main->root), main->rel);
    Cost cost = 0;
    ListCell *cell;
    foreach (cell, ordered_joins(candidate)) {
        const CandidateJoin *join = static_cast<const CandidateJoin *>(lfirst(cell));
        const double entries = join->inner->rows;
        const bool found = is_kept(join->inner, work);
        cost += weigh_candidate(join->inner, found, work);
        ++work->nsources;
        if (!found) {
            cost += device_build_cost(entries, work->account);
            work->table_rows += entries;
        }
        if (!is_there)
            cost += probe_cost(rows, entries, join->clauses != NIL, join->kind, work->account);
        rows *= join->ratio;
    }
    cost += weigh_source(main, is_brought(main, work), is_there, work->account);
    if (main->is_relation)
        work->brought = lappend_oid(work->brought, main->relid);
    return cost;
}

// What is brought for the CPU plans among the sources.
static void collect_below(const Candidate *candidate, List **loads) {
    ListCell *cell;
    if (!candidate->main->is_relation && candidate->main->rel->cheapest_total_path != nullptr)
        *loads = list_concat(*loads, path_loads(const_cast<PlannerInfo *>(candidate->main->root),
                                                candidate->main->rel->cheapest_total_path));
    foreach (cell, candidate->joins)
        collect_below(static_cast<const CandidateJoin *>(lfirst(cell))->inner, loads);
}

Cost candidate_cost(const Candidate *candidate, const bool *kept, Cost otherwise, tier::Account *account) {
    CandidateWork work{NIL, NIL, 0, kept, 1, account};
    collect_below(candidate, &work.below);
    const Cost cost = weigh_candidate(candidate, false, &work);
    return tables_fit(work.table_rows) ? cost : cost + device_plan_cost(tier::Stage::Build, otherwise, account);
}

// In the order of weigh_candidate.
static void collect_loads(const Candidate *candidate, CandidateWork *work, List **loads) {
    const CandidateSource *main = candidate->main;
    ListCell *cell;
    foreach (cell, ordered_joins(candidate))
        collect_loads(static_cast<const CandidateJoin *>(lfirst(cell))->inner, work, loads);
    if (!main->is_relation || is_brought(main, work))
        return;
    work->brought = lappend_oid(work->brought, main->relid);
    if (main->load.price > 0)
        *loads = lappend(*loads, const_cast<Load *>(&main->load));
}

List *candidate_loads(const Candidate *candidate) {
    CandidateWork work{NIL, NIL, 0, nullptr, 1, nullptr};
    List *loads = NIL;
    collect_below(candidate, &work.below);
    collect_loads(candidate, &work, &loads);
    return loads;
}

List *all_loads(const Candidate *candidate) {
    List *loads = candidate_loads(candidate);
    collect_below(candidate, &loads);
    return loads;
}

} // namespace gpuscan
