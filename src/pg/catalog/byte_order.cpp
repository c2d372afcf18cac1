// Which collations order texts by their bytes; see byte_order.h.
//
// The builtin provider's all do (code points in UTF-8 have the order of their bytes), ICU's do not. A locale of the C library does if it
// has no rules: strcoll() is strcmp() then. That is "C", and "C.UTF-8" in newer versions of glibc, which tells it.
#include "pg/catalog/byte_order.h"

#include <langinfo.h>
#include <locale.h>

namespace gpuscan {
namespace {

constexpr char builtin_provider = 'b', libc_provider = 'c', database_provider = 'd'; // COLLPROVIDER_...

bool has_no_rules(const char *name) {
#ifdef __GLIBC__
    locale_t locale = newlocale(LC_COLLATE_MASK, name, nullptr);
    if (locale == nullptr)
        return false;
    // The number of rules is a word where other items are pointers.
    const uint32 rules = static_cast<uint32>(reinterpret_cast<uintptr_t>(nl_langinfo_l(_NL_COLLATE_NRULES, locale)));
    freelocale(locale);
    return rules == 0;
#else
    return strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0;
#endif
}

bool by_bytes(char provider, int cache, HeapTuple tuple, AttrNumber attribute) {
    if (provider == builtin_provider)
        return true;
    if (provider != libc_provider)
        return false;
    bool null;
    const Datum name = SysCacheGetAttr(cache, tuple, attribute, &null);
    return !null && has_no_rules(TextDatumGetCString(name));
}

} // namespace

bool orders_by_bytes(Oid collation) {
    HeapTuple tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
    if (!HeapTupleIsValid(tuple))
        return false;
    const Form_pg_collation form = reinterpret_cast<Form_pg_collation>(GETSTRUCT(tuple));
    const bool is_database = form->collprovider == database_provider;
    bool answer = form->collisdeterministic && !is_database &&
                  by_bytes(form->collprovider, COLLOID, tuple, Anum_pg_collation_collcollate);
    ReleaseSysCache(tuple);
    if (!is_database)
        return answer;
    tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
    if (!HeapTupleIsValid(tuple))
        return false;
    answer = by_bytes(reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple))->datlocprovider, DATABASEOID, tuple,
                      Anum_pg_database_datcollate);
    ReleaseSysCache(tuple);
    return answer;
}

} // namespace gpuscan
