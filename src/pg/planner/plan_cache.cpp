// See plan_cache.h. Invariant: an entry that is valid holds a plan that planning its query now could have come to, but for what a minute
// changes in statistics of the machine.
//
// A statement is known by the hash of its text and of its parameters' values; that these, and its tree after analysis and rewriting (views,
// policies), are the same is compared. So names that have come to mean other objects, and another row security, make another statement of it.
#include "pg/pg.h"

#include "pg/planner/plan_cache.h"

#include <algorithm>

#include "pg/cost/planning_inputs.h"
#include "pg/guc.h"
#include "pg/page_costs/page_cost_model.h"
#include "pg/settings.h"

namespace gpuscan {

constexpr int max_plans = 64;
constexpr int max_statements = 1024;          // whose plans may be kept when they come again
constexpr TimestampTz max_age = 60 * 1000000; // us

struct StatementKey {
    uint64 hash, settings;
    ParamListInfo values; // that the planner is told; NULL: none
    Oid user;
    int security_context; // restricted operations, and row security
    int options;
};

struct CachedPlan {
    StatementKey key;
    Query *query;
    PlannedStmt *plan;
    PlanningInputs *inputs;
    TimestampTz made;
    TransactionId xmin; // an index may be too new for a snapshot that is older (pg_index.indcheckxmin)
    uint64 last_use;
    Size bytes;
    uint32 *statistics; // sorted: the syscache's hashes of statistics of its tables' columns
    int nstatistics;
    bool valid;
    MemoryContext context; // holds all of this
};

struct PlanToCache {
    StatementKey key;
    Query *query;
    PlanningInputs *inputs;
    uint64 changes;
};

static CachedPlan *plans[max_plans];
static int nplans = 0;
static Size bytes_used = 0;
static uint64 uses = 0;
static uint64 changes = 0;                // that catalogs have told
static uint64 statements[max_statements]; // hashes, of those that a device takes part in
static ProcessUtility_hook_type previous_utility_hook = nullptr;

// ---- what makes a plan invalid ----

static void forget(int which) {
    bytes_used -= plans[which]->bytes;
    MemoryContextDelete(plans[which]->context);
    plans[which] = plans[--nplans];
}

// (Callbacks come at any moment, so they free nothing.)
static void relation_has_changed(Datum, Oid relid) {
    ++changes;
    for (int i = 0; i < nplans; ++i)
        plans[i]->valid &= OidIsValid(relid) && !list_member_oid(plans[i]->plan->relationOids, relid);
}

static void catalog_has_changed(Datum, int, uint32) {
    ++changes;
    for (int i = 0; i < nplans; ++i)
        plans[i]->valid = false;
}

// (A table's statistics change with each ANALYZE, be it of as many rows as before, which leaves pg_class as it is. 0: all.)
static void statistics_have_changed(Datum, int, uint32 hash) {
    ++changes;
    for (int i = 0; i < nplans; ++i) {
        const uint32 *const first = plans[i]->statistics, *const last = first + plans[i]->nstatistics;
        plans[i]->valid &= hash != 0 && !std::binary_search(first, last, hash);
    }
}

static void forget_all() {
    while (nplans > 0)
        forget(nplans - 1);
}

static bool discards_plans(const Node *statement) {
    if (!IsA(statement, DiscardStmt))
        return false;
    const DiscardMode target = reinterpret_cast<const DiscardStmt *>(statement)->target;
    return target == DISCARD_ALL || target == DISCARD_PLANS;
}

extern "C" {

static void watch_discard(PlannedStmt *statement, const char *query_string, bool read_only_tree,
                          ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
                          DestReceiver *destination, QueryCompletion *completion) {
    if (discards_plans(statement->utilityStmt))
        forget_all();
    const ProcessUtility_hook_type run =
        previous_utility_hook != nullptr ? previous_utility_hook : standard_ProcessUtility;
    run(statement, query_string, read_only_tree, context, params, environment, destination, completion);
}

} // extern "C"

// ---- which statements ----

struct TypeStorage {
    int16 length;
    bool by_value;
};

static TypeStorage storage_of(Oid type) {
    TypeStorage storage{0, true};
    if (OidIsValid(type))
        get_typlenbyval(type, &storage.length, &storage.by_value);
    return storage;
}

static uint64 hash_of_values(ParamListInfo values) {
    uint64 hash = 0;
    for (int i = 0; values != nullptr && i < values->numParams; ++i) {
        const ParamExternData &value = values->params[i];
        const TypeStorage storage = storage_of(value.ptype);
        const uint32 its = value.isnull ? 0 : datum_image_hash(value.value, storage.by_value, storage.length);
        hash = hash_combine64(hash, hash_combine(value.ptype, its));
    }
    return hash;
}

static bool same_values(ParamListInfo a, ParamListInfo b) {
    if (a == nullptr || b == nullptr)
        return a == b;
    bool same = a->numParams == b->numParams;
    for (int i = 0; same && i < a->numParams; ++i) {
        const ParamExternData &one = a->params[i], &other = b->params[i];
        same = one.ptype == other.ptype && one.pflags == other.pflags && one.isnull == other.isnull;
        if (!same || one.isnull)
            continue;
        const TypeStorage storage = storage_of(one.ptype);
        same = datum_image_eq(one.value, other.value, storage.by_value, storage.length);
    }
    return same;
}

// Such a value is gone when its row is, which an entry would outlive.
static bool any_out_of_line(ParamListInfo values) {
    for (int i = 0; values != nullptr && i < values->numParams; ++i) {
        const ParamExternData &value = values->params[i];
        if (!value.isnull && storage_of(value.ptype).length == -1 &&
            VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value.value)))
            return true;
    }
    return false;
}

SentStatement sent_statement(const Query *query, const char *source, ParamListInfo values, int options) {
    const std::string_view text = statement_text(source, query->stmt_location, query->stmt_len);
    return {query, text, values, options, statement_hash(text) ^ hash_of_values(values)};
}

static uint64 *place_of(uint64 hash) { return &statements[hash % max_statements]; }

static StatementKey key_of(const SentStatement *sent) {
    StatementKey key{sent->hash, settings_hash(), sent->values, InvalidOid, 0, sent->options};
    GetUserIdAndSecContext(&key.user, &key.security_context);
    return key;
}

static bool same_key(const StatementKey &a, const StatementKey &b) {
    return a.hash == b.hash && a.settings == b.settings && a.user == b.user &&
           a.security_context == b.security_context && a.options == b.options && same_values(a.values, b.values);
}

// A user's function that calls itself immutable may answer otherwise; the key has no settings that users name.
static bool reads_unknown_state(Oid function, void *) {
    return function >= FirstNormalObjectId || function == F_CURRENT_SETTING_TEXT ||
           function == F_CURRENT_SETTING_TEXT_BOOL;
}

// Does its planning depend on what neither its tree nor a catalog tells?
static bool depends_on_more(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, CoerceToDomain) || check_functions_in_node(node, reads_unknown_state, nullptr))
        return true;
    if (!IsA(node, Query))
        return walk_expression(node, depends_on_more, context);
    Query *query = reinterpret_cast<Query *>(node);
    ListCell *cell;
    foreach (cell, query->rtable) {
        const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
        if (rte->rtekind == RTE_NAMEDTUPLESTORE ||
            (rte->rtekind == RTE_RELATION && rte->relkind == RELKIND_FOREIGN_TABLE))
            return true;
    }
    return query->commandType != CMD_SELECT || query->rowMarks != NIL || walk_query(query, depends_on_more, context, 0);
}

// CHECK constraints may say without a look at its rows that a table has none to show (constraint exclusion).
static bool checks_depend_on_more(const RangeTblEntry *rte) {
    if (rte->rtekind != RTE_RELATION)
        return false;
    Relation relation = relation_open(rte->relid, NoLock);
    const TupleConstr *constraints = RelationGetDescr(relation)->constr;
    bool depend = false;
    for (int i = 0; constraints != nullptr && !depend && i < constraints->num_check; ++i)
        depend = depends_on_more(static_cast<Node *>(stringToNode(constraints->check[i].ccbin)), nullptr);
    relation_close(relation, NoLock);
    return depend;
}

// Is a partition being detached concurrently? Whether it is there depends on the snapshot then. (The relation is locked.)
static bool is_losing_partition(const RangeTblEntry *rte) {
    if (rte->rtekind != RTE_RELATION || rte->relkind != RELKIND_PARTITIONED_TABLE)
        return false;
    Relation relation = table_open(rte->relid, NoLock);
    const bool losing = RelationGetPartitionDesc(relation, true)->detached_exist;
    table_close(relation, NoLock);
    return losing;
}

// Foreign tables can be partitions. (Where estimates come from another extension, they may change unseen.)
static bool can_be_cached(const PlannedStmt *plan) {
    if (plan->dependsOnRole || others_relation_info_hook() != nullptr || get_relation_stats_hook != nullptr ||
        get_index_stats_hook != nullptr)
        return false;
    ListCell *cell;
    foreach (cell, plan->rtable) {
        const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
        if (rte->relkind == RELKIND_FOREIGN_TABLE || is_losing_partition(rte))
            return false;
    }
    return true;
}

static bool any_checks_depend_on_more(const PlannedStmt *plan) {
    ListCell *cell;
    foreach (cell, plan->rtable)
        if (checks_depend_on_more(lfirst_node(RangeTblEntry, cell)))
            return true;
    return false;
}

// ---- the plans ----

static Size size_limit() { return static_cast<Size>(guc_plan_cache_size) * 1024; }

// For so many plans more.
static void make_room(int count, Size bytes) {
    while (nplans > 0 && (nplans + count > max_plans || bytes_used + bytes > size_limit())) {
        int oldest = 0;
        for (int i = 1; i < nplans; ++i)
            if (plans[i]->last_use < plans[oldest]->last_use)
                oldest = i;
        forget(oldest);
    }
}

static PlannedStmt *copy_for(const CachedPlan *cached, const Query *query) {
    PlannedStmt *plan = static_cast<PlannedStmt *>(copyObject(cached->plan));
    plan->queryId = query->queryId;
    plan->stmt_location = query->stmt_location;
    plan->stmt_len = query->stmt_len;
    return plan;
}

static void lock_relations(const PlannedStmt *plan) {
    ListCell *cell;
    foreach (cell, plan->rtable) {
        const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell);
        if (rte->rtekind == RTE_RELATION)
            LockRelationOid(rte->relid, rte->rellockmode);
    }
}

static bool is_young(const CachedPlan *plan) {
    const TimestampTz age = GetCurrentTimestamp() - plan->made;
    return age >= 0 && age <= max_age; // (the clock may have been set back)
}

static CachedPlan *find(const StatementKey &key) {
    for (int i = nplans; i-- > 0;) {
        if (!plans[i]->valid)
            forget(i);
        else if (same_key(plans[i]->key, key))
            return plans[i];
    }
    return nullptr;
}

static bool is_known(uint64 hash) {
    for (int i = 0; i < nplans; ++i)
        if (plans[i]->key.hash == hash)
            return true;
    return false;
}

PlannedStmt *cached_plan(const SentStatement *sent) {
    make_room(0, 0); // (somebody may have made it smaller)
    if (nplans == 0)
        return nullptr;
    CachedPlan *cached = is_known(sent->hash) ? find(key_of(sent)) : nullptr;
    if (cached == nullptr || !equal(cached->query, sent->query))
        return nullptr;
    lock_relations(cached->plan);
    // (Whoever had a lock that was waited for has told by now what he changed.)
    const bool holds = cached->valid && can_be_cached(cached->plan) &&
                       TransactionIdPrecedesOrEquals(cached->xmin, TransactionXmin) && is_young(cached) &&
                       still_hold(cached->inputs) &&
                       cached->valid; // (to look at a table may have told that it changed)
    if (!holds) {
        cached->valid = false;
        return nullptr;
    }
    cached->last_use = ++uses;
    return copy_for(cached, sent->query);
}

PlanToCache *begin_plan_to_cache(const SentStatement *sent) {
    Query *const query = const_cast<Query *>(sent->query);
    if (guc_plan_cache_size == 0 || *place_of(sent->hash) != sent->hash || any_out_of_line(sent->values) ||
        depends_on_more(reinterpret_cast<Node *>(query), nullptr))
        return nullptr;
    PlanToCache *planned = static_cast<PlanToCache *>(palloc0(sizeof *planned));
    planned->key = key_of(sent);
    planned->query = static_cast<Query *>(copyObject(query));
    planned->inputs = new_planning_inputs(statement_hash(sent->text));
    planned->changes = changes;
    return planned;
}

PlanningInputs *inputs_of(const PlanToCache *planned) { return planned != nullptr ? planned->inputs : nullptr; }

static int attributes_of(Oid relid) {
    Relation relation = relation_open(relid, NoLock);
    const int attributes = RelationGetNumberOfAttributes(relation);
    relation_close(relation, NoLock);
    return attributes;
}

static void list_statistics(CachedPlan *entry) {
    Size room = 1;
    ListCell *cell;
    foreach (cell, entry->plan->relationOids)
        room += 2 * static_cast<Size>(attributes_of(lfirst_oid(cell)));
    entry->statistics = static_cast<uint32 *>(palloc(sizeof(uint32) * room));
    foreach (cell, entry->plan->relationOids) {
        const Datum relid = ObjectIdGetDatum(lfirst_oid(cell));
        for (int attribute = attributes_of(lfirst_oid(cell)); attribute > 0; --attribute)
            for (const bool inherited : {false, true})
                entry->statistics[entry->nstatistics++] = GetSysCacheHashValue3(
                    STATRELATTINH, relid, Int16GetDatum(static_cast<int16>(attribute)), BoolGetDatum(inherited));
    }
    std::sort(entry->statistics, entry->statistics + entry->nstatistics);
}

// In a context of its own, which bears the statement's text (pg_backend_memory_contexts); an ERROR on the way leaves nothing behind.
static CachedPlan *make_entry(const PlanToCache *planned, std::string_view text, const PlannedStmt *plan) {
    const MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpuscan cached plan", ALLOCSET_DEFAULT_SIZES);
    const MemoryContext before = MemoryContextSwitchTo(context);
    CachedPlan *entry = static_cast<CachedPlan *>(palloc0(sizeof *entry));
    entry->key = planned->key;
    entry->key.values = copyParamList(planned->key.values);
    entry->query = static_cast<Query *>(copyObject(planned->query));
    entry->plan = static_cast<PlannedStmt *>(copyObject(const_cast<PlannedStmt *>(plan)));
    entry->inputs = copy_planning_inputs(planned->inputs, plan->relationOids);
    list_statistics(entry);
    entry->made = GetCurrentTimestamp();
    entry->xmin = TransactionXmin;
    entry->last_use = ++uses;
    entry->valid = true;
    entry->context = context;
    MemoryContextSetIdentifier(context, pnstrdup(text.data(), text.size()));
    MemoryContextSwitchTo(before);
    entry->bytes = MemoryContextMemAllocated(context, true);
    return entry;
}

void cache_plan(PlanToCache *planned, const SentStatement *sent, const PlannedStmt *plan) {
    *place_of(sent->hash) = sent->hash;
    if (planned == nullptr || !can_be_cached(plan) || any_checks_depend_on_more(plan) || planned->changes != changes)
        return;
    for (int i = nplans; i-- > 0;)
        if (!plans[i]->valid || same_key(plans[i]->key, planned->key))
            forget(i);
    CachedPlan *entry = make_entry(planned, sent->text, plan);
    if (entry->bytes > size_limit()) {
        MemoryContextDelete(entry->context);
        return;
    }
    make_room(1, entry->bytes);
    MemoryContextSetParent(entry->context, CacheMemoryContext);
    plans[nplans++] = entry;
    bytes_used += entry->bytes;
}

void plan_cache_init() {
    previous_utility_hook = ProcessUtility_hook;
    ProcessUtility_hook = watch_discard;
    CacheRegisterRelcacheCallback(relation_has_changed, 0);
    CacheRegisterSyscacheCallback(STATRELATTINH, statistics_have_changed, 0);
    // What immutable functions read that planning has folded (text search, encodings), and who may call them.
    for (const int catalog : {PROCOID, OPEROID, AMOPOPID, NAMESPACEOID, TSCONFIGOID, TSCONFIGMAP, TSDICTOID,
                              TSTEMPLATEOID, TSPARSEROID, CONDEFAULT, AUTHOID, AUTHMEMROLEMEM})
        CacheRegisterSyscacheCallback(catalog, catalog_has_changed, 0);
}

} // namespace gpuscan
