// Lookup tables that outlive their execution.
//
// LIKE over two million part names takes the backend longer than the device needs for the rest of TPC-H's query 9. The table
// is a function of the expression and of the dictionary's entries, if the expression has no parameter and calls only
// functions that are immutable and PostgreSQL's own, so a session that meets both again sends it as it is. (Whether the user
// may call the functions is asked in every execution, by ExecInitExpr.) The tables of a session take 64 MB at most; those that
// were not used for the longest time go first.
#include "pg/exec/kept_lookups.h"

namespace gpuscan {
namespace {

constexpr Size most_bytes = Size(64) << 20;
constexpr int most_lookups = 256;

struct Kept {
    KeptLookup table;
    MemoryContext context; // of all that follows
    Expr *expr;
    Type type;
    uint32 generation;
    uint64 dictionary;
    uint32 entries;
    Size bytes;
    uint64 used; // the higher, the later
};

Kept *kept[most_lookups];
int nkept = 0;
Size kept_bytes = 0;
uint64 uses = 0;

void drop(int index) {
    kept_bytes -= kept[index]->bytes;
    MemoryContextDelete(kept[index]->context);
    kept[index] = kept[--nkept];
}

void drop_oldest() {
    int oldest = 0;
    for (int i = 1; i < nkept; ++i)
        if (kept[i]->used < kept[oldest]->used)
            oldest = i;
    drop(oldest);
}

bool is_foreign_function(Oid funcid, void *) { return funcid >= FirstGenbkiObjectId; }

bool calls_foreign_function(Node *node, void *context) {
    if (node == nullptr)
        return false;
    return check_functions_in_node(node, is_foreign_function, context) ||
           walk_expression(node, calls_foreign_function, context);
}

} // namespace

bool lookup_can_be_kept(const FragmentLookup *lookup) {
    Node *expr = reinterpret_cast<Node *>(lookup->expr);
    return lookup->kind == LookupKind::Function && !lookup->has_params && !contain_mutable_functions(expr) &&
           !calls_foreign_function(expr, nullptr);
}

const KeptLookup *find_kept_lookup(const FragmentLookup *lookup, uint32 generation, uint64 dictionary, uint32 entries) {
    for (int i = 0; i < nkept; ++i) {
        Kept *k = kept[i];
        if (k->generation == generation && k->dictionary == dictionary && k->entries == entries &&
            k->type == lookup->type && equal(k->expr, lookup->expr)) {
            k->used = ++uses;
            return &k->table;
        }
    }
    return nullptr;
}

void keep_lookup(const FragmentLookup *lookup, uint32 generation, uint64 dictionary, uint32 entries, const char *values,
                 const uint8 *nulls) {
    const Size value_bytes = (Size(entries) + 1) * type_width(lookup->type), null_bytes = Size(entries) + 1;
    const Size bytes = value_bytes + null_bytes;
    if (bytes > most_bytes / 2)
        return;
    for (int i = nkept; i-- > 0;) // of other device processes, and of the dictionary when it was smaller
        if (kept[i]->generation != generation ||
            (kept[i]->dictionary == dictionary && kept[i]->entries != entries && equal(kept[i]->expr, lookup->expr)))
            drop(i);
    while (nkept > 0 && (nkept == most_lookups || kept_bytes + bytes > most_bytes))
        drop_oldest();

    // An error before the last line leaves nothing behind: the context belongs to the transaction until then.
    MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpuscan kept lookup", ALLOCSET_SMALL_SIZES);
    MemoryContext old = MemoryContextSwitchTo(context);
    Kept *k = static_cast<Kept *>(palloc0(sizeof(Kept)));
    k->table.values = static_cast<char *>(MemoryContextAllocHuge(context, value_bytes));
    k->table.nulls = static_cast<uint8 *>(MemoryContextAllocHuge(context, null_bytes));
    memcpy(k->table.values, values, value_bytes);
    memcpy(k->table.nulls, nulls, null_bytes);
    k->expr = static_cast<Expr *>(copyObject(lookup->expr));
    MemoryContextSwitchTo(old);
    k->context = context;
    k->type = lookup->type;
    k->generation = generation;
    k->dictionary = dictionary;
    k->entries = entries;
    k->bytes = bytes;
    k->used = ++uses;
    MemoryContextSetParent(context, CacheMemoryContext);
    kept[nkept++] = k;
    kept_bytes += bytes;
}

} // namespace gpuscan
