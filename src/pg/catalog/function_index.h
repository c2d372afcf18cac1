// Which row of a table about PostgreSQL's own functions is the one of this OID? An array by OID says it in one step, since the
// translator asks once a node of an expression for each expression around it. The compiler makes it: initdb's OIDs are constants.
#pragma once

#include "pg/pg.h"

#include <array>

namespace gpuscan {

constexpr Oid end_of_builtin_oids = 10000; // FirstGenbkiObjectId: of functions that pg_proc.dat numbers itself

// [OID]: the row's number from 1; 0: there is none.
using FunctionIndex = std::array<uint16, end_of_builtin_oids>;

// `Row` has a member `funcid`. Of two rows of one function the first counts.
template <typename Row, size_t count> constexpr FunctionIndex index_functions(const Row (&rows)[count]) {
    static_assert(count <= PG_UINT16_MAX, "rows are numbered in 16 bits");
    FunctionIndex index{};
    for (size_t i = count; i > 0; --i)
        index[rows[i - 1].funcid] = static_cast<uint16>(i);
    return index;
}

template <typename Row> const Row *find_function(const FunctionIndex &index, const Row *rows, Oid funcid) {
    const uint16 number = funcid < end_of_builtin_oids ? index[funcid] : 0;
    return number > 0 ? &rows[number - 1] : nullptr;
}

} // namespace gpuscan
