// Tables that belong to no dictionary: long lists of numbers, and functions that are constant between the values of a list.
//
// A search in ascending values finds the last one that is not above a number; it is a code like that of a text, and a
// lookup makes something of it. The values are sent once for an execution.
#include "pg/pg.h"

#include <algorithm>

#include "pg/translate/translate.h"

namespace gpuscan {

// The array gets an entry for NULL behind its values, as every lookup has one.
int add_table(Translation *t, int64 *values, uint32 count) {
    FragmentLookup lookup{};
    lookup.kind = LookupKind::Table;
    lookup.source = lookup.column = -1;
    lookup.type = Type::I64;
    lookup.values = static_cast<int64 *>(
        MemoryContextAllocExtended(CurrentMemoryContext, (Size(count) + 1) * sizeof(int64), MCXT_ALLOC_HUGE));
    memcpy(lookup.values, values, Size(count) * sizeof(int64));
    lookup.values[count] = 0;
    lookup.nvalues = count;
    return append(&t->lookups, lookup);
}

ir::Index step_function(Translation *t, ir::Index node, int table, int results) {
    const ir::Index code = add_expr(t, ir::Op::Search, Type::Code, node, static_cast<ir::Index>(table));
    return add_expr(t, ir::Op::Lookup, Type::I64, code, static_cast<ir::Index>(results));
}

// What lies outside of the list's ends is told without a search, and its chunks need not be read.
ir::Index is_one_of(Translation *t, ir::Index node, int64 *values, uint32 count) {
    std::sort(values, values + count);
    const uint32 different = static_cast<uint32>(std::unique(values, values + count) - values);
    const int table = add_table(t, values, different);
    ir::Index within =
        add_expr(t, ir::Op::And, Type::Bool,
                 add_expr(t, ir::Op::Ge, Type::Bool, node, add_constant(t, Type::I64, values[0], false)),
                 add_expr(t, ir::Op::Le, Type::Bool, node, add_constant(t, Type::I64, values[different - 1], false)));
    return add_expr(t, ir::Op::And, Type::Bool, within,
                    add_expr(t, ir::Op::Eq, Type::Bool, node, step_function(t, node, table, table)));
}

} // namespace gpuscan
