// The only place with tests of the server's version. Each difference names what changed.
#pragma once

// 16: the macros of variable-length values moved out of postgres.h (commit d952373a987).
#if PG_VERSION_NUM >= 160000
extern "C" {
#include "varatt.h"
}
#endif

// 16: RelFileNode became RelFileLocator, rd_node rd_locator, relNode relNumber (commit b0a55e43299).
#if PG_VERSION_NUM < 160000
using RelFileLocator = RelFileNode;
#define rd_locator rd_node
#define locator_tablespace(locator) ((locator).spcNode)
#define locator_database(locator) ((locator).dbNode)
#define locator_relation(locator) ((locator).relNode)
#else
#define locator_tablespace(locator) ((locator).spcOid)
#define locator_database(locator) ((locator).dbOid)
#define locator_relation(locator) ((locator).relNumber)
#endif

// 16: a buffer's tag is filled by a function (commit 82ac34db202).
#if PG_VERSION_NUM < 160000
inline void InitBufferTag(BufferTag *tag, const RelFileLocator *locator, ForkNumber fork, BlockNumber block) {
    INIT_BUFFERTAG(*tag, *locator, fork, block);
}
#endif

// 16: the fields for a relation's storage that is new in this transaction were renamed with the locator.
#if PG_VERSION_NUM < 160000
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#endif

// 18: EXPLAIN's state and output functions have headers of their own (commit c65bc2e1d14).
#if PG_VERSION_NUM >= 180000
extern "C" {
#include "commands/explain_format.h"
#include "commands/explain_state.h"
}
#endif

// 17: what EXPLAIN does where no hook does it otherwise is a function (standard_ExplainOneQuery).
#if PG_VERSION_NUM >= 170000
inline void explain_query_as_usual(Query *query, int options, IntoClause *into, ExplainState *es, const char *text,
                                   ParamListInfo params, QueryEnvironment *environment) {
    standard_ExplainOneQuery(query, options, into, es, text, params, environment);
}
#else
inline void explain_query_as_usual(Query *query, int options, IntoClause *into, ExplainState *es, const char *text,
                                   ParamListInfo params, QueryEnvironment *environment) {
    const BufferUsage before = pgBufferUsage;
    instr_time start, duration;
    INSTR_TIME_SET_CURRENT(start);
    PlannedStmt *plan = pg_plan_query(query, text, options, params);
    INSTR_TIME_SET_CURRENT(duration);
    INSTR_TIME_SUBTRACT(duration, start);
    BufferUsage buffers = {};
    BufferUsageAccumDiff(&buffers, &pgBufferUsage, &before);
    ExplainOnePlan(plan, into, es, text, params, environment, &duration, es->buffers ? &buffers : nullptr);
}
#endif

// 18: the range table may hold an entry for GROUP BY, which is no table to choose column names from (commit 247dea89f76).
#if PG_VERSION_NUM >= 180000
inline int explained_tables(const ExplainState *es) { return es->rtable_size; }
#else
inline int explained_tables(const ExplainState *es) { return list_length(es->rtable); }
#endif

// 18: relpathperm returns a struct that holds the characters (commit 37c87e63f9e).
#if PG_VERSION_NUM >= 180000
inline void relation_path(char *to, size_t size, RelFileLocator locator) {
    RelPathStr path = relpathperm(locator, MAIN_FORKNUM);
    strlcpy(to, path.str, size);
}
#else
inline void relation_path(char *to, size_t size, RelFileLocator locator) {
    char *path = relpathperm(locator, MAIN_FORKNUM);
    strlcpy(to, path, size);
    pfree(path);
}
#endif

// 18: a relation can be pruned at executor start, and the caller says whether it is a result relation.
#if PG_VERSION_NUM >= 180000
inline Relation executor_relation(EState *estate, Index rti) { return ExecGetRangeTableRelation(estate, rti, false); }
#else
inline Relation executor_relation(EState *estate, Index rti) { return ExecGetRangeTableRelation(estate, rti); }
#endif

// 18: partitions that no row of this execution can be in are known when the executor starts (commit d47cbf474ec), and may
// not be opened (commit cbc127917e0).
#if PG_VERSION_NUM >= 180000
inline bool is_pruned(const EState *estate, Index rti) {
    return !bms_is_member(static_cast<int>(rti), estate->es_unpruned_relids);
}
template <class AppendNode> const PartitionPruneInfo *prune_info_of(const AppendNode *) { return nullptr; }
#else
inline bool is_pruned(const EState *, Index) { return false; }
template <class AppendNode> const PartitionPruneInfo *prune_info_of(const AppendNode *plan) {
    return plan->part_prune_info;
}
#endif

// 17: old_snapshot_threshold is gone (commit f691f5b80a8). Before, vacuum may set a page all-visible that a live
// snapshot does not see in full.
#if PG_VERSION_NUM < 170000
inline bool snapshots_can_be_too_old() { return old_snapshot_threshold >= 0; }
#else
inline bool snapshots_can_be_too_old() { return false; }
#endif

// How many more buffers this backend may pin without taking others' share. 18 counts what is pinned, 17 nearly so;
// before, the same share by hand.
#if PG_VERSION_NUM >= 180000
inline uint32 additional_pins() { return GetAdditionalPinLimit(); }
#elif PG_VERSION_NUM >= 170000
inline uint32 additional_pins() {
    uint32 pins = UINT32_MAX;
    LimitAdditionalPins(&pins);
    return pins;
}
#else
inline uint32 additional_pins() { return NBuffers / (MaxBackends + NUM_AUXILIARY_PROCS); }
#endif

// 16: outer joins have numbers among the relations' (commit 2489d76c491).
#if PG_VERSION_NUM >= 160000
inline Relids all_relations_of(const PlannerInfo *root) { return root->all_query_rels; }
#else
inline Relids all_relations_of(const PlannerInfo *root) { return root->all_baserels; }
#endif

// 16: grouping leaves keys out that are redundant (commit 8d83a5d0a26).
#if PG_VERSION_NUM >= 160000
inline List *group_clause_of(const PlannerInfo *root) { return root->processed_groupClause; }
#else
inline List *group_clause_of(const PlannerInfo *root) { return root->parse->groupClause; }
#endif

// 16: a Var names the outer joins that may have made it NULL (commit 2489d76c491).
#if PG_VERSION_NUM >= 160000
inline void take_nulling_joins(Var *to, const Var *from) {
    to->varnullingrels = from != nullptr ? bms_copy(from->varnullingrels) : nullptr;
}
#else
inline void take_nulling_joins(Var *, const Var *) {}
#endif

namespace gpuscan {

// 17: the MAINTAIN privilege (commit ecb0fd33720). Before, maintenance is the owner's; 16 has one ownership check for
// all classes of objects (commit afbfc02983f).
#if PG_VERSION_NUM >= 170000
inline bool may_maintain_relation(Oid relation) {
    return pg_class_aclcheck(relation, GetUserId(), ACL_MAINTAIN) == ACLCHECK_OK;
}
#elif PG_VERSION_NUM >= 160000
inline bool may_maintain_relation(Oid relation) { return object_ownercheck(RelationRelationId, relation, GetUserId()); }
#else
inline bool may_maintain_relation(Oid relation) { return pg_class_ownercheck(relation, GetUserId()); }
#endif

// 17: extensions name their wait events (commit c9af054653077). The first call may raise an error.
#if PG_VERSION_NUM >= 170000
inline uint32 wait_event_device() {
    static uint32 event;
    if (event == 0)
        event = WaitEventExtensionNew("GpuscanDevice");
    return event;
}
#else
inline uint32 wait_event_device() { return PG_WAIT_EXTENSION; }
#endif

} // namespace gpuscan

// 16: the checks of privileges on one kind of object became one function (commit c727f511bd7).
#if PG_VERSION_NUM < 160000
inline AclResult function_aclcheck(Oid funcid, Oid role) { return pg_proc_aclcheck(funcid, role, ACL_EXECUTE); }
#else
inline AclResult function_aclcheck(Oid funcid, Oid role) {
    return object_aclcheck(ProcedureRelationId, funcid, role, ACL_EXECUTE);
}
#endif

// 18: a NOT NULL constraint may be NOT VALID, which attnotnull does not tell (commit a379061a22a).
#if PG_VERSION_NUM >= 180000
inline bool attribute_is_not_null(TupleDesc descriptor, int i) {
    return TupleDescCompactAttr(descriptor, i)->attnullability == ATTNULLABLE_VALID;
}
// What says that the constraint is valid, written when it was validated; nullptr: nothing beside pg_attribute does.
inline HeapTuple not_null_constraint(Oid relid, AttrNumber attnum) {
    return findNotNullConstraintAttnum(relid, attnum);
}
inline bool constraint_is_valid(HeapTuple constraint) {
    return reinterpret_cast<Form_pg_constraint>(GETSTRUCT(constraint))->convalidated;
}
#else
inline HeapTuple not_null_constraint(Oid, AttrNumber) { return nullptr; }
inline bool constraint_is_valid(HeapTuple) { return true; }
inline bool attribute_is_not_null(TupleDesc descriptor, int i) { return TupleDescAttr(descriptor, i)->attnotnull; }
#endif

// 17: the conditions that a WindowAgg may stop by belong to its path (commit 9e9f3a1d9d9).
#if PG_VERSION_NUM >= 170000
inline List *run_condition_of(const WindowAggPath *path) { return path->runCondition; }
#else
inline List *run_condition_of(const WindowAggPath *path) { return path->winclause->runCondition; }
#endif

// 19: window functions may ignore NULLs.
#if PG_VERSION_NUM >= 190000
inline bool ignores_nulls(const WindowFunc *function) { return function->ignore_nulls == IGNORE_NULLS; }
#else
inline bool ignores_nulls(const WindowFunc *) { return false; }
#endif

// 16: all settings come as an array of the caller's (commit 3057465acfb); before, as the server's own.
#if PG_VERSION_NUM >= 160000
inline config_generic **all_settings(int *count) { return get_guc_variables(count); }
#else
inline config_generic **all_settings(int *count) {
    *count = GetNumConfigOptions();
    return get_guc_variables();
}
#endif

// 19: what is special to a setting's type is a member of it; before, its record began with the general part.
#if PG_VERSION_NUM >= 190000
inline const void *variable_of(const config_generic *setting) {
    switch (setting->vartype) {
    case PGC_BOOL:
        return setting->_bool.variable;
    case PGC_INT:
        return setting->_int.variable;
    case PGC_REAL:
        return setting->_real.variable;
    case PGC_STRING:
        return setting->_string.variable;
    case PGC_ENUM:
        return setting->_enum.variable;
    }
    return nullptr;
}
#else
inline const void *variable_of(const config_generic *setting) {
    switch (setting->vartype) {
    case PGC_BOOL:
        return reinterpret_cast<const config_bool *>(setting)->variable;
    case PGC_INT:
        return reinterpret_cast<const config_int *>(setting)->variable;
    case PGC_REAL:
        return reinterpret_cast<const config_real *>(setting)->variable;
    case PGC_STRING:
        return reinterpret_cast<const config_string *>(setting)->variable;
    case PGC_ENUM:
        return reinterpret_cast<const config_enum *>(setting)->variable;
    }
    return nullptr;
}
#endif

// 17: the planner takes IS NULL for false where NOT NULL is declared, whatever the snapshot sees (commit b262ad440ed).
constexpr bool planner_trusts_not_null = PG_VERSION_NUM >= 170000;

// 16: tree walkers take callbacks with a prototype (commit 1c27d16e6e5).
using TreeWalker = bool (*)(Node *, void *);
using TreeMutator = Node *(*)(Node *, void *);
#if PG_VERSION_NUM < 160000
inline bool walk_expression(Node *node, TreeWalker walker, void *context) {
    return expression_tree_walker(node, reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker)), context);
}
inline Node *mutate_expression(Node *node, TreeMutator mutator, void *context) {
    return expression_tree_mutator(node, reinterpret_cast<Node *(*)()>(reinterpret_cast<void (*)()>(mutator)), context);
}
#else
inline bool walk_expression(Node *node, TreeWalker walker, void *context) {
    return expression_tree_walker(node, walker, context);
}
inline Node *mutate_expression(Node *node, TreeMutator mutator, void *context) {
    return expression_tree_mutator(node, mutator, context);
}
#endif

// 16: query_tree_walker takes callbacks with a prototype as well (commit 1c27d16e6e5).
#if PG_VERSION_NUM < 160000
inline bool walk_query(Query *query, TreeWalker walker, void *context, int flags = 0) {
    return query_tree_walker(query, reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker)), context, flags);
}
#else
inline bool walk_query(Query *query, TreeWalker walker, void *context, int flags = 0) {
    return query_tree_walker(query, walker, context, flags);
}
#endif

// 16: the fields have lost their prefix.
inline void count_sequential_scans(Relation relation, uint64 scans, uint64 rows) {
    if (!pgstat_should_count_relation(relation))
        return;
#if PG_VERSION_NUM < 160000
    relation->pgstat_info->t_counts.t_numscans += static_cast<PgStat_Counter>(scans);
    relation->pgstat_info->t_counts.t_tuples_returned += static_cast<PgStat_Counter>(rows);
#else
    relation->pgstat_info->counts.numscans += static_cast<PgStat_Counter>(scans);
    relation->pgstat_info->counts.tuples_returned += static_cast<PgStat_Counter>(rows);
#endif
}

// 16: what may be done with a table stands in a list of its own (commit a61b1f74823). Gives `copy`, a copy of a range
// table entry of `from`, the same in `to`, whose only entry it is.
#if PG_VERSION_NUM >= 160000
inline void copy_permissions(const Query *from, const RangeTblEntry *rte, Query *to, RangeTblEntry *copy) {
    copy->perminfoindex = 0;
    if (rte->perminfoindex == 0)
        return;
    to->rteperminfos =
        list_make1(copyObject(getRTEPermissionInfo(from->rteperminfos, const_cast<RangeTblEntry *>(rte))));
    copy->perminfoindex = 1;
}
// Of a query whose range table is another's now.
inline void forget_permissions(Query *query) { query->rteperminfos = NIL; }
#else
inline void copy_permissions(const Query *, const RangeTblEntry *, Query *, RangeTblEntry *) {}
inline void forget_permissions(Query *) {}
#endif

// 16: a Var above an outer join names the joins that may make it NULL (commit 2489d76c491).
#if PG_VERSION_NUM >= 160000
inline void set_nulled_by(Var *var, int join) { var->varnullingrels = bms_make_singleton(join); }
#else
inline void set_nulled_by(Var *, int) {}
#endif

// 18: generated columns that are computed when they are read (commit 83ea6c54025).
#if PG_VERSION_NUM >= 180000
constexpr char generated_when_read = ATTRIBUTE_GENERATED_VIRTUAL;
#else
constexpr char generated_when_read = 'v';
#endif

// 18: the interpretation of operators is no longer B-tree's alone (commit a8025f54485).
#if PG_VERSION_NUM >= 180000
inline bool is_ordering_operator(Oid opno) { return get_op_index_interpretation(opno) != NIL; }
using OrderedBy = CompareType;
#else
inline bool is_ordering_operator(Oid opno) { return get_op_btree_interpretation(opno) != NIL; }
using OrderedBy = int16;
#endif
// <, >, <= or >= of a type's order.
inline bool is_inequality(Oid opno) {
    Oid family, type;
    OrderedBy order;
    const Oid negator = get_negator(opno); // of <= and >= it is > or <
    return get_ordering_op_properties(opno, &family, &type, &order) ||
           (OidIsValid(negator) && get_ordering_op_properties(negator, &family, &type, &order));
}

// 16: as the walkers above.
using StateWalker = bool (*)(PlanState *, void *);
#if PG_VERSION_NUM < 160000
inline bool walk_states(PlanState *state, StateWalker walker, void *context) {
    return planstate_tree_walker(state, reinterpret_cast<bool (*)()>(reinterpret_cast<void (*)()>(walker)), context);
}
#else
inline bool walk_states(PlanState *state, StateWalker walker, void *context) {
    return planstate_tree_walker(state, walker, context);
}
#endif

// 16: permissions have a list of their own (commit a61b1f74823). 18: and partitions are pruned before any node starts (commit d47cbf474ec).
inline void init_range_table(EState *estate, const EState *parent) {
    PlannedStmt *statement = parent->es_plannedstmt;
#if PG_VERSION_NUM >= 180000
    ExecInitRangeTable(estate, statement->rtable, statement->permInfos, bms_copy(statement->unprunableRelids));
    estate->es_part_prune_infos = statement->partPruneInfos;
    ExecDoInitialPruning(estate);
#elif PG_VERSION_NUM >= 160000
    ExecInitRangeTable(estate, statement->rtable, statement->permInfos);
#else
    ExecInitRangeTable(estate, statement->rtable);
#endif
}

// 16: all equal aggregate calls are kept, not one of them (commit 2489d76c491).
#if PG_VERSION_NUM >= 160000
inline const Aggref *first_aggref(const AggInfo *info) { return linitial_node(Aggref, info->aggrefs); }
#else
inline const Aggref *first_aggref(const AggInfo *info) { return info->representative_aggref; }
#endif

// 17: statistics tell how long arrays are (commit 9391f71523b).
#if PG_VERSION_NUM >= 170000
inline double elements_of_array(PlannerInfo *root, Node *array) { return estimate_array_length(root, array); }
#else
inline double elements_of_array(PlannerInfo *, Node *array) { return estimate_array_length(array); }
#endif

// 18: switched-off steps of plans are counted instead of costing 1e10 (commit e22253467942).
#if PG_VERSION_NUM >= 180000
inline void count_disabled_nodes(Path *path, const List *children) {
    ListCell *cell;
    foreach (cell, children)
        path->disabled_nodes += static_cast<const Path *>(lfirst(cell))->disabled_nodes;
}
inline bool path_is_disabled(const Path *path) { return path->disabled_nodes > 0; }
#else
inline void count_disabled_nodes(Path *, const List *) {}
inline bool path_is_disabled(const Path *) { return false; }
#endif

// 18: cost functions are told how many switched-off steps their input has (commit e22253467942), and a merge join's that its
// outer side may be sorted by some of the keys (commit 828e94c9d2f).
#if PG_VERSION_NUM >= 180000
#define INPUT_DISABLED_NODES(input) (input)->disabled_nodes,
inline int disabled_nodes_of(const Path *path) { return path->disabled_nodes; }
constexpr bool paths_are_in_order_of_total = false; // those with the fewest switched-off steps come first
#define OUTER_PRESORTED_KEYS(path) (path)->outer_presorted_keys,
#define LAST_OUTER_PRESORTED_KEYS(path) , (path)->outer_presorted_keys
inline int presorted_outer_keys(const MergePath *path) { return path->outer_presorted_keys; }
inline void set_presorted_outer_keys(MergePath *path, int keys) { path->outer_presorted_keys = keys; }
#else
#define INPUT_DISABLED_NODES(input)
inline int disabled_nodes_of(const Path *) { return 0; }
constexpr bool paths_are_in_order_of_total = true;
#define OUTER_PRESORTED_KEYS(path)
#define LAST_OUTER_PRESORTED_KEYS(path)
inline int presorted_outer_keys(const MergePath *) { return 0; }
inline void set_presorted_outer_keys(MergePath *, int) {}
#endif

// 18: directions are named without the kind of index (commit 8123e91f5ae).
inline PathKey *usual_pathkey(PlannerInfo *root, EquivalenceClass *value) {
#if PG_VERSION_NUM >= 180000
    return make_canonical_pathkey(root, value, linitial_oid(value->ec_opfamilies), COMPARE_LT, false);
#else
    return make_canonical_pathkey(root, value, linitial_oid(value->ec_opfamilies), BTLessStrategyNumber, false);
#endif
}

// Before 16 the groups of an incremental sort are taken for half as large again (commit 4a29eabd1d9).
constexpr double group_size_for_incremental_sort = PG_VERSION_NUM >= 160000 ? 1 : 1.5;

// 18: what is known of a path's costs before it is made begins with its switched-off steps (commit e22253467942).
inline bool is_worth_making(RelOptInfo *rel, const JoinCostWorkspace *workspace, List *pathkeys,
                            Relids required_outer) {
#if PG_VERSION_NUM >= 180000
    return add_path_precheck(rel, workspace->disabled_nodes, workspace->startup_cost, workspace->total_cost, pathkeys,
                             required_outer);
#else
    return add_path_precheck(rel, workspace->startup_cost, workspace->total_cost, pathkeys, required_outer);
#endif
}
inline bool is_worth_making_partial(RelOptInfo *rel, const JoinCostWorkspace *workspace, List *pathkeys) {
#if PG_VERSION_NUM >= 180000
    return add_partial_path_precheck(rel, workspace->disabled_nodes, workspace->total_cost, pathkeys);
#else
    return add_partial_path_precheck(rel, workspace->total_cost, pathkeys);
#endif
}

// 16: joins that keep the rows of the table without a partner only (commit 16dc2703c54); 18: those with one, once (commit
// aa86129e19d).
inline bool keeps_inner_rows(JoinType type) {
#if PG_VERSION_NUM >= 160000
    if (type == JOIN_RIGHT_ANTI)
        return true;
#endif
    return type == JOIN_RIGHT || type == JOIN_FULL;
}
inline bool is_right_semi(JoinType type) {
#if PG_VERSION_NUM >= 180000
    return type == JOIN_RIGHT_SEMI;
#else
    (void)type;
    return false;
#endif
}

// 16: a shared hash table keeps such rows, too (commit 11c2d6fdf5a); 18: workers have nested loops over rows that are written down
// (commit 22d946b0f86).
constexpr bool shared_tables_keep_inner_rows = PG_VERSION_NUM >= 160000,
               workers_write_rows_down = PG_VERSION_NUM >= 180000;

// 16: an outer join has a number of its own, by which nothing within it can be parameterized (commit 2489d76c4906).
inline int outer_join_of(const SpecialJoinInfo *join) {
#if PG_VERSION_NUM >= 160000
    return static_cast<int>(join->ojrelid);
#else
    (void)join;
    return 0;
#endif
}

// 15 and 16 show joins with conditions on no relation to no extension (commits 6f80a8d9c1d and 9e9931d2bfa).
#if PG_VERSION_NUM >= 170000
constexpr bool pseudoconstant_joins_are_hidden = false;
#else
constexpr bool pseudoconstant_joins_are_hidden = true;
#endif

// 18: the sides of INTERSECT and EXCEPT are inputs of their own (commit 27627929528).
#if PG_VERSION_NUM >= 180000
inline Path *first_input_of(const SetOpPath *path) { return path->leftpath; }
inline Path *second_input_of(const SetOpPath *path) { return path->rightpath; }
#else
inline Path *first_input_of(const SetOpPath *path) { return path->subpath; }
inline Path *second_input_of(const SetOpPath *) { return nullptr; }
#endif

// 17: the sides of a set operation have an order that it asks for (commit 66c0185a3d1).
inline const List *setop_pathkeys_of(const PlannerInfo *root) {
#if PG_VERSION_NUM >= 170000
    return root->setop_pathkeys;
#else
    (void)root;
    return NIL;
#endif
}

// 18: a path key names its direction, not the strategy of a B-tree (commit 8123e91f5ae).
#if PG_VERSION_NUM >= 180000
inline bool is_descending(const PathKey *key) { return key->pk_cmptype == COMPARE_GT; }
inline bool same_direction(const MergeScanSelCache *scan, const PathKey *key) {
    return scan->cmptype == key->pk_cmptype;
}
#else
inline bool is_descending(const PathKey *key) { return key->pk_strategy == BTGreaterStrategyNumber; }
inline bool same_direction(const MergeScanSelCache *scan, const PathKey *key) {
    return scan->strategy == key->pk_strategy;
}
#endif

// 18: reverse() takes bytea, too, so that the name of the one for text says so.
#if PG_VERSION_NUM >= 180000
#define F_REVERSE F_REVERSE_TEXT
#endif

// 18: EXPLAIN looks for the WindowAgg of each window function that it shows, and raises an error where it does not stand below one.
#if PG_VERSION_NUM >= 180000
constexpr bool explain_wants_windows = true;
#else
constexpr bool explain_wants_windows = false;
#endif

// 18: expressions of a grouped query refer to the group keys by a range table entry of their own (commit 247dea89f76). Makes
// them refer to what the keys are made of, as before; the entry stays, for nobody.
#if PG_VERSION_NUM >= 180000
inline void resolve_group_references(Query *query) {
    if (!query->hasGroupRTE)
        return;
    query->targetList =
        reinterpret_cast<List *>(flatten_group_exprs(nullptr, query, reinterpret_cast<Node *>(query->targetList)));
    query->havingQual = flatten_group_exprs(nullptr, query, query->havingQual);
    ListCell *cell;
    foreach (cell, query->rtable) {
        RangeTblEntry *entry = static_cast<RangeTblEntry *>(lfirst(cell));
        if (entry->rtekind == RTE_GROUP)
            entry->groupexprs = NIL;
    }
}
inline bool has_group_entry(const Query *query) { return query->hasGroupRTE; } // (the last one of the range table)
inline Node *group_key_of(const RangeTblEntry *rte, int number) { // of such an entry; NULL: it is another, or resolved
    return rte->rtekind == RTE_GROUP && number <= list_length(rte->groupexprs)
               ? static_cast<Node *>(list_nth(rte->groupexprs, number - 1))
               : nullptr;
}
inline void forget_group_entry(Query *query) { query->hasGroupRTE = false; }
#else
inline Node *group_key_of(const RangeTblEntry *, int) { return nullptr; }
inline void resolve_group_references(Query *) {}
inline bool has_group_entry(const Query *) { return false; }
inline void forget_group_entry(Query *) {}
#endif

// 17: subtransactions within a statement are allowed in parallel mode (commit 0075d78947e). Before, the mode has to be left for as long.
// Workers may run meanwhile: the mode protects the state that they share, transaction ids and the number of the command, and callers
// change neither. False: ExitParallelMode of a server with assertions insists on there being no workers.
#if PG_VERSION_NUM >= 170000
inline bool leave_parallel_mode(int *levels) {
    *levels = 0;
    return true;
}
inline void enter_parallel_mode(int) {}
#else
inline int left_levels = 0; // of parallel mode, by attempts, of which one may be within another

// The session ends meanwhile. As the end of the transaction would do in parallel mode, workers go before the locks that they rely on.
inline void end_workers_at_exit(int, Datum) {
    if (left_levels > 0)
        AtEOXact_Parallel(false);
}

inline bool leave_parallel_mode(int *levels) {
    static bool registered = false;
    *levels = 0;
#ifdef USE_ASSERT_CHECKING
    if (IsInParallelMode() && ParallelContextActive())
        return false;
#endif
    if (!registered)
        before_shmem_exit(end_workers_at_exit, Datum(0));
    registered = true;
    for (; IsInParallelMode(); ++*levels)
        ExitParallelMode();
    left_levels += *levels;
    return true;
}

inline void enter_parallel_mode(int levels) {
    left_levels -= levels;
    for (; levels > 0; --levels)
        EnterParallelMode();
}
#endif

// 19: a page's lock is a part of its buffer's state, no lock of its own (commit fcb9c977aa5).
#if PG_VERSION_NUM >= 190000
constexpr size_t page_lock_offset = SIZE_MAX;
#else
constexpr size_t page_lock_offset = offsetof(BufferDesc, content_lock) + offsetof(LWLock, state);
#endif

// The records of WAL have the form that server/wal_reader.hpp knows.
constexpr bool wal_has_known_form = PG_VERSION_NUM < 190000 && XLOG_BLCKSZ == 8192; // wal_page_bytes
