// See collation_provider.h.
#include "pg/catalog/collation_provider.h"

namespace gpuscan {

constexpr char database_provider = 'd';

static const char *name_of(int cache, HeapTuple tuple, AttrNumber attribute) {
    bool null;
    const Datum name = SysCacheGetAttr(cache, tuple, attribute, &null);
    return null ? nullptr : TextDatumGetCString(name);
}

// (Of the whole database collations are deterministic.)
static bool find_provider_of_database(CollationProvider *found) {
    HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
    if (!HeapTupleIsValid(tuple))
        return false;
    found->provider = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple))->datlocprovider;
    found->collate = name_of(DATABASEOID, tuple, Anum_pg_database_datcollate);
    found->ctype = name_of(DATABASEOID, tuple, Anum_pg_database_datctype);
    ReleaseSysCache(tuple);
    return true;
}

bool find_provider(Oid collation, CollationProvider *found) {
    HeapTuple tuple = OidIsValid(collation) ? SearchSysCache1(COLLOID, ObjectIdGetDatum(collation)) : nullptr;
    if (!HeapTupleIsValid(tuple))
        return false;
    const Form_pg_collation form = reinterpret_cast<Form_pg_collation>(GETSTRUCT(tuple));
    *found = {form->collprovider, form->collisdeterministic, name_of(COLLOID, tuple, Anum_pg_collation_collcollate),
              name_of(COLLOID, tuple, Anum_pg_collation_collctype)};
    ReleaseSysCache(tuple);
    return found->provider != database_provider || find_provider_of_database(found);
}

} // namespace gpuscan
