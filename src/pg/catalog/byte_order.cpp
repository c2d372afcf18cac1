// Which collations order texts by their bytes; see byte_order.h.
//
// The builtin provider's all do (code points in UTF-8 have the order of their bytes), ICU's do not. A locale of the C library does if it
// has no rules: strcoll() is strcmp() then. That is "C", and "C.UTF-8" in newer versions of glibc, which tells it.
#include "pg/catalog/byte_order.h"

#include <langinfo.h>
#include <locale.h>

#include "pg/catalog/collation_provider.h"

namespace gpuscan {
namespace {

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

} // namespace

bool orders_by_bytes(Oid collation) {
    CollationProvider found;
    if (!find_provider(collation, &found) || !found.is_deterministic)
        return false;
    return found.provider == builtin_provider ||
           (found.provider == libc_provider && found.collate != nullptr && has_no_rules(found.collate));
}

} // namespace gpuscan
