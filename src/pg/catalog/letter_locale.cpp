// See letter_locale.h. (formatting.c, str_tolower and str_toupper: ICU looks at words, and the builtin provider has tables of its own.)
#include "pg/catalog/letter_locale.h"

#include "pg/catalog/collation_provider.h"

namespace gpuscan {

// (An empty name means what the environment says, which a backend has changed and other processes have not.)
const char *letter_locale(Oid collation) {
    CollationProvider found;
    if (!find_provider(collation, &found) || found.provider != libc_provider || found.ctype == nullptr)
        return nullptr;
    return found.ctype[0] != '\0' ? found.ctype : nullptr;
}

} // namespace gpuscan
