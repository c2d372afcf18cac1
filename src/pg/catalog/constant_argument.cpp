#include "pg/pg.h"

#include "pg/catalog/constant_argument.h"

#include "pg/catalog/sql_type.h"

namespace gpuscan {

const Const *constant_argument(const List *arguments, int position) {
    Expr *argument = list_length(arguments) > position
                         ? strip_relabels(static_cast<Expr *>(list_nth(arguments, position)))
                         : nullptr;
    if (argument == nullptr || !IsA(argument, Const) || reinterpret_cast<const Const *>(argument)->constisnull)
        return nullptr;
    return reinterpret_cast<const Const *>(argument);
}

bool integer_argument(const List *arguments, int position, int64 *number) {
    const Const *constant = constant_argument(arguments, position);
    return constant != nullptr && integer_of(constant->consttype, constant->constvalue, number);
}

// (Each replacement within another one could make a text so many times longer.)
bool replaces_by_no_more(const List *arguments) {
    const Const *from = constant_argument(arguments, 1), *to = constant_argument(arguments, 2);
    return from != nullptr && to != nullptr &&
           VARSIZE_ANY_EXHDR(DatumGetPointer(to->constvalue)) <= VARSIZE_ANY_EXHDR(DatumGetPointer(from->constvalue));
}

} // namespace gpuscan
