// See letter_locale.h. (formatting.c, str_tolower and str_toupper: ICU looks at words, and the builtin provider has tables of its own.)
#include "pg/catalog/letter_locale.h"

namespace gpuscan {
namespace {

constexpr char libc_provider = 'c', database_provider = 'd'; // COLLPROVIDER_...

// (An empty name means what the environment says, which a backend has changed and other processes have not.)
const char *name_of(int cache, HeapTuple tuple, AttrNumber attribute) {
    bool null;
    const Datum value = SysCacheGetAttr(cache, tuple, attribute, &null);
    const char *const name = null ? "" : TextDatumGetCString(value);
    return name[0] != '\0' ? name : nullptr;
}

const char *locale_of_database() {
    HeapTuple tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
    if (!HeapTupleIsValid(tuple))
        return nullptr;
    const bool is_libc = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple))->datlocprovider == libc_provider;
    const char *const name = is_libc ? name_of(DATABASEOID, tuple, Anum_pg_database_datctype) : nullptr;
    ReleaseSysCache(tuple);
    return name;
}

} // namespace

const char *letter_locale(Oid collation) {
    HeapTuple tuple = OidIsValid(collation) ? SearchSysCache1(COLLOID, ObjectIdGetDatum(collation)) : nullptr;
    if (!HeapTupleIsValid(tuple))
        return nullptr;
    const char provider = reinterpret_cast<Form_pg_collation>(GETSTRUCT(tuple))->collprovider;
    const char *const name = provider == libc_provider ? name_of(COLLOID, tuple, Anum_pg_collation_collctype) : nullptr;
    ReleaseSysCache(tuple);
    return provider == database_provider ? locale_of_database() : name;
}

} // namespace gpuscan
