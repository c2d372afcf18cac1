// gpuscan.evict(regclass): drops a relation's columns from the device's cache; of a partitioned table those of its leaves; of
// NULL everything. What the relation would have saved by being cached (cost/cache_admission.h) is forgotten with it.
#include "pg/pg.h"

#include "pg/cost/cache_admission.h"
#include "pg/service/area.h"
#include "pg/service/client.h"

extern "C" {
PG_FUNCTION_INFO_V1(gpuscan_evict);
}

namespace gpuscan {

using namespace protocol;

// Bytes freed. A device process that is not there has nothing cached.
static int64 evict(DeviceConnection *connection, bool all, Locator locator) {
    EvictRequest request = {uint32(all), locator};
    memcpy(device_input(connection), &request, sizeof request);
    EvictReply reply = {0};
    if (device_call_or_error(connection, Command::Evict, sizeof request)) {
        uint32 size;
        const char *output = device_output(connection, &size);
        if (size >= sizeof reply)
            memcpy(&reply, output, sizeof reply);
    }
    return int64(reply.bytes);
}

static int64 evict_relation(DeviceConnection *connection, Oid relid) {
    int64 bytes = 0;
    Relation relation = try_relation_open(relid, AccessShareLock);
    if (!relation)
        return 0;
    if (RELKIND_HAS_STORAGE(relation->rd_rel->relkind))
        bytes = evict(connection, false, locator_of(relation));
    relation_close(relation, AccessShareLock);
    return bytes;
}

static void check_evictable(Oid relid) {
    char relkind = get_rel_relkind(relid);
    char *name = get_rel_name(relid);
    if (!name)
        ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE), errmsg("relation with OID %u does not exist", relid)));
    if (relkind != RELKIND_RELATION && relkind != RELKIND_MATVIEW && relkind != RELKIND_PARTITIONED_TABLE)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("\"%s\" is not a table, materialized view, or partitioned table", name)));
    if (!may_maintain_relation(relid))
        aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relkind), name);
}

static int64 evict_tree(Oid relid) {
    check_evictable(relid);
    DeviceConnection *connection = device_connect_or_null();
    if (!connection)
        return 0;
    List *relations = list_make1_oid(relid);
    if (get_rel_relkind(relid) == RELKIND_PARTITIONED_TABLE)
        relations = find_all_inheritors(relid, AccessShareLock, nullptr);
    int64 bytes = 0;
    ListCell *cell;
    foreach (cell, relations) {
        bytes += evict_relation(connection, lfirst_oid(cell));
        forget_admission_credit(lfirst_oid(cell));
    }
    device_disconnect(connection);
    return bytes;
}

static int64 evict_everything() {
    if (!superuser())
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("must be superuser to evict every relation from gpuscan's cache")));
    DeviceConnection *connection = device_connect_or_null();
    if (!connection)
        return 0;
    int64 bytes = evict(connection, true, Locator{});
    forget_admission_credit(InvalidOid);
    device_disconnect(connection);
    return bytes;
}

} // namespace gpuscan

extern "C" {

Datum gpuscan_evict(PG_FUNCTION_ARGS) {
    PG_RETURN_INT64(PG_ARGISNULL(0) ? gpuscan::evict_everything() : gpuscan::evict_tree(PG_GETARG_OID(0)));
}
}
