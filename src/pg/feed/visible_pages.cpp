// gpuscan.visible_pages(regclass): how many pages of a relation a device may cache now, by the visibility map itself. What pg_class says of it
// is as old as the last VACUUM or ANALYZE.
#include "pg/pg.h"

extern "C" {
PG_FUNCTION_INFO_V1(gpuscan_visible_pages);
}

namespace gpuscan {

// False: NULL, as nobody waits for a lock to see a figure.
static bool count_visible_pages(Oid relid, int64 *pages) {
    if (!ConditionalLockRelationOid(relid, AccessShareLock))
        return false;
    Relation relation = try_relation_open(relid, NoLock);
    BlockNumber visible = 0;
    const bool counts =
        relation != nullptr && RELKIND_HAS_TABLE_AM(relation->rd_rel->relkind) && (!RELATION_IS_OTHER_TEMP(relation));
    if (counts)
        visibilitymap_count(relation, &visible, nullptr);
    if (relation != nullptr)
        relation_close(relation, NoLock);
    UnlockRelationOid(relid, AccessShareLock);
    *pages = visible;
    return counts;
}

// A page that is no longer all-visible tells that somebody has written a row there, which a policy may hide from who reads the table.
static void check_privilege(Oid relid) {
    if (!may_maintain_relation(relid) && !has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS))
        aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)), get_rel_name(relid));
}

} // namespace gpuscan

extern "C" {

Datum gpuscan_visible_pages(PG_FUNCTION_ARGS) {
    const Oid relid = PG_GETARG_OID(0);
    gpuscan::check_privilege(relid);
    int64 pages = 0;
    if (!gpuscan::count_visible_pages(relid, &pages))
        PG_RETURN_NULL();
    PG_RETURN_INT64(pages);
}
}
