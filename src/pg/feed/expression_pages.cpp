// What are the values of an expression for the tuples of a page, in a form that the device can decode?
//
// A column that the device knows may be an expression over one row that no device knows (translate/expression_column.cpp).
// PostgreSQL's own code evaluates it here, for each visible tuple of a page that goes into the cache (or is read by row), whatever
// the query's conditions say. The values go to the device as a page whose tuples have one attribute and stand at the line
// pointers of the heap's tuples, so decoders, masks and rows are those of any other column. They must fit on one page.
//
// PostgreSQL might never evaluate the expression for some of these tuples: another condition comes first, or a policy hides the
// row. So an error is no error here. The page is said to have failed, the cache remembers it as one that only the CPU can
// read, and a query that needs it finds the error again when it reads the page by row (read_expressions): then PostgreSQL's plan
// runs, and raises what it raises when it raises it; unless the query's own conditions drop the row first. A page whose values are too long has failed as well.
//
// Callers hold a pin, which keeps the tuples where they are, and a snapshot that keeps what they point to in TOAST.
#include "engine/util/core_time.hpp"
#include "pg/attempt.h"
#include "pg/catalog/encode.h"
#include "pg/catalog/expression_text.h"
#include "pg/cost/evaluation_times.h"
#include "pg/feed/feed.h"

namespace gpuscan {
namespace {

constexpr Size bytes_for_expressions = protocol::slot_buffer_size / 2 - 64 * 1024; // of a window, less heads
static_assert(bytes_for_expressions >= BLCKSZ * (max_expressions + 1), "a window has at least one page");
static_assert(max_expressions < 64, "a set of expressions is a word");

struct ExpressionResult {
    ExprState *state;
    int same;       // the first one of the same expression: one is the value, the other one how it is shown; -1: none
    TupleDesc desc; // of the one attribute
    uint32 number;  // the cache's
    // What evaluating takes, without finding the row and putting the value: by one page in so many, which is evaluated again.
    uint64 pages, evaluations, ns;
};

} // namespace

struct ExpressionFeed {
    Relation relation;
    int count;
    ExpressionResult *results;
    List *quals; // ExprStates: those that are asked of a row in which an expression has failed
    TupleTableSlot *slot;
    HeapTupleData tuple; // in the slot
    ExprContext *econtext;
};

namespace {

struct Evaluation {
    ExpressionFeed *feed;
    ExpressionResult *result;
    const EvaluatedPage *page;
    char *image;
    const Evaluation *same; // of the same expression for the same page, which comes first; NULL: none
    bool fits;
};

constexpr uint64 pages_per_sample = 64;

// Of a tuple's header the decoders read only what follows these bytes (device/heap_page.cuh: a mask says which tuples are visible). So they
// lie in the tuple before, and the values of as many tuples as a heap page holds find room on one page, if they take up to 16 bytes.
constexpr Size unread_header = 16;
static_assert(unread_header <= offsetof(HeapTupleHeaderData, t_infomask2) && unread_header == MAXALIGN(unread_header));
static_assert(SizeOfPageHeaderData +
                  MaxHeapTuplesPerPage * (sizeof(ItemIdData) + 16 + MAXALIGN(SizeofHeapTupleHeader) - unread_header) <=
              BLCKSZ);

// Puts one value at the line pointer; false: there is no room.
bool put_value(const ExpressionResult *result, Page image, OffsetNumber offset, Datum value, bool null) {
    if (!null && TupleDescAttr(result->desc, 0)->attlen == -1)
        value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
    const Size start = MAXALIGN(SizeofHeapTupleHeader + (null ? BITMAPLEN(1) : 0));
    const Size length = heap_compute_data_size(result->desc, &value, &null), size = MAXALIGN(start + length);
    PageHeader header = reinterpret_cast<PageHeader>(image);
    const Size lower = SizeOfPageHeaderData + sizeof(ItemIdData) * offset;
    const Size end = header->pd_upper == BLCKSZ ? BLCKSZ : header->pd_upper + unread_header;
    if (std::max<Size>(lower, header->pd_lower) + size > end)
        return false;
    header->pd_lower = std::max<LocationIndex>(header->pd_lower, static_cast<LocationIndex>(lower));
    header->pd_upper = static_cast<LocationIndex>(end - size);
    // (As heap_form_tuple() would: the bytes are zero.)
    HeapTupleHeader tuple = reinterpret_cast<HeapTupleHeader>(image + header->pd_upper);
    HeapTupleHeaderSetNatts(tuple, 1);
    tuple->t_hoff = static_cast<uint8>(start);
    heap_fill_tuple(result->desc, &value, &null, reinterpret_cast<char *>(tuple) + start, length, &tuple->t_infomask,
                    null ? tuple->t_bits : nullptr);
    ItemIdSetNormal(PageGetItemId(image, offset), header->pd_upper, static_cast<unsigned>(start + length));
    return true;
}

void store_tuple(ExpressionFeed *feed, Page page, BlockNumber block, OffsetNumber offset) {
    feed->tuple = tuple_at(feed->relation, page, block, offset);
    ExecStoreHeapTuple(&feed->tuple, feed->slot, false);
    feed->econtext->ecxt_scantuple = feed->slot;
}

void time_page(const Evaluation *e, OffsetNumber last) {
    const uint64 begin = core_ns();
    uint64 evaluations = 0;
    for (OffsetNumber offset = 1; offset <= last; ++offset) {
        if (!has_tuple(e->page->mask, offset - 1))
            continue;
        bool null;
        store_tuple(e->feed, e->page->page, e->page->block, offset);
        ExecEvalExprSwitchContext(e->result->state, e->feed->econtext, &null);
        ResetExprContext(e->feed->econtext);
        ++evaluations;
    }
    e->result->evaluations += evaluations;
    e->result->ns += core_ns() - begin;
}

void evaluate_page(void *argument) {
    Evaluation *e = static_cast<Evaluation *>(argument);
    if (e->same != nullptr) {
        memcpy(e->image, e->same->image, BLCKSZ);
        e->fits = e->same->fits;
        return;
    }
    ExprContext *econtext = e->feed->econtext;
    OffsetNumber last = 0;
    for (OffsetNumber offset = 1; offset <= max_tuples_per_page; ++offset)
        if (has_tuple(e->page->mask, offset - 1))
            last = offset;
    PageInit(e->image, BLCKSZ, 0);
    PageHeader header = reinterpret_cast<PageHeader>(e->image);
    header->pd_lower = static_cast<LocationIndex>(SizeOfPageHeaderData + sizeof(ItemIdData) * last);
    e->fits = true;
    for (OffsetNumber offset = 1; e->fits && offset <= last; ++offset) {
        if (!has_tuple(e->page->mask, offset - 1))
            continue;
        bool null;
        store_tuple(e->feed, e->page->page, e->page->block, offset);
        const Datum value = ExecEvalExprSwitchContext(e->result->state, econtext, &null);
        MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
        e->fits = put_value(e->result, e->image, offset, value, null);
        MemoryContextSwitchTo(old);
        ResetExprContext(econtext);
    }
    if (e->result->pages++ % pages_per_sample == 0)
        time_page(e, last);
    CHECK_FOR_INTERRUPTS();
}

struct Evaluations {
    Evaluation *at;
    int count;
};

void evaluate_all(void *argument) {
    const Evaluations *all = static_cast<const Evaluations *>(argument);
    for (int i = 0; i < all->count; ++i)
        evaluate_page(&all->at[i]);
}

// One attempt for all pages; one for each if that fails.
void evaluate(Evaluations *all) {
    if (attempt_own_functions(evaluate_all, all))
        return;
    for (int i = 0; i < all->count; ++i) {
        ResetExprContext(all->at[i].feed->econtext);
        if (!attempt_own_functions(evaluate_page, &all->at[i]))
            all->at[i].fits = false;
    }
}

// (Of a domain the base type, as describe_column() says.)
TupleDesc describe_result(Node *expr) {
    TupleDesc desc = CreateTemplateTupleDesc(1);
    int32 typmod = exprTypmod(expr);
    const Oid type = getBaseTypeAndTypmod(exprType(expr), &typmod);
    TupleDescInitEntry(desc, 1, "value", type, typmod, 0);
    TupleDescInitEntryCollation(desc, 1, exprCollation(expr));
    return desc;
}

} // namespace

ExpressionFeed *begin_expressions(Relation relation, List *expressions, List *asked_quals) {
    if (expressions == NIL)
        return nullptr;
    ExpressionFeed *feed = static_cast<ExpressionFeed *>(palloc0(sizeof(ExpressionFeed)));
    feed->relation = relation;
    feed->results =
        static_cast<ExpressionResult *>(palloc(sizeof(ExpressionResult) * static_cast<Size>(list_length(expressions))));
    ListCell *cell;
    foreach (cell, expressions) {
        Expr *expr = static_cast<Expr *>(lfirst(cell));
        int same = 0;
        while (same < feed->count && !equal(list_nth(expressions, same), expr))
            ++same;
        feed->results[feed->count] = ExpressionResult{ExecInitExpr(expr, nullptr),
                                                      same < feed->count ? same : -1,
                                                      describe_result(reinterpret_cast<Node *>(expr)),
                                                      expression_number(expression_key(expr)),
                                                      0,
                                                      0,
                                                      0};
        ++feed->count;
    }
    foreach (cell, asked_quals)
        feed->quals = lappend(feed->quals, ExecInitExpr(static_cast<Expr *>(lfirst(cell)), nullptr));
    feed->slot = MakeSingleTupleTableSlot(CreateTupleDescCopyConstr(RelationGetDescr(relation)), &TTSOpsHeapTuple);
    feed->econtext = CreateStandaloneExprContext();
    return feed;
}

void end_expressions(ExpressionFeed *feed) {
    if (feed == nullptr)
        return;
    // (How long the values of hidden rows are is nobody's business.)
    for (int i = 0; i < feed->count && !feed->relation->rd_rel->relrowsecurity; ++i)
        note_evaluations(feed->results[i].number, feed->results[i].evaluations, feed->results[i].ns);
    ExecDropSingleTupleTableSlot(feed->slot);
    FreeExprContext(feed->econtext, true);
    pfree(feed);
}

uint32 pages_with_expressions(const ExpressionFeed *feed, uint32 limit, bool copied) {
    return feed == nullptr ? limit
                           : std::min<uint32>(limit, bytes_for_expressions /
                                                         (BLCKSZ * static_cast<Size>(feed->count + (copied ? 1 : 0))));
}

uint64 all_expressions(const ExpressionFeed *feed) { return feed == nullptr ? 0 : (UINT64CONST(1) << feed->count) - 1; }

Size put_expressions(ExpressionFeed *feed, uint64 wanted, const EvaluatedPage *pages, int npages, char *to) {
    if (wanted == 0 || npages == 0)
        return 0;
    int n = 0;
    for (int i = 0; i < feed->count; ++i)
        n += (wanted >> i & 1) != 0;
    const int count = npages * n;
    char *images = to + aligned(static_cast<Size>(count));
    Evaluations all{static_cast<Evaluation *>(palloc(sizeof(Evaluation) * static_cast<Size>(count))), 0};
    for (int page = 0; page < npages; ++page)
        for (int i = 0; i < feed->count; ++i)
            if (wanted >> i & 1) {
                const int same = feed->results[i].same;
                const bool has_same = same >= 0 && (wanted >> same & 1) != 0;
                const Evaluation *of_page = &all.at[page * n];
                all.at[all.count] =
                    Evaluation{feed,
                               &feed->results[i],
                               &pages[page],
                               images + static_cast<Size>(all.count) * BLCKSZ,
                               has_same ? &of_page[pg_popcount64(wanted & ((UINT64CONST(1) << same) - 1))] : nullptr,
                               false};
                ++all.count;
            }
    evaluate(&all);
    for (int i = 0; i < count; ++i)
        to[i] = static_cast<char>(all.at[i].fits ? protocol::ExpressionState::Evaluated
                                                 : protocol::ExpressionState::Failed);
    pfree(all.at);
    return aligned(static_cast<Size>(count)) + static_cast<Size>(count) * BLCKSZ;
}

namespace {

struct RowEvaluation {
    ExpressionFeed *feed;
    const AttrNumber *attnums;
    Datum *values;
    bool *nulls;
};

void evaluate_row(void *argument) {
    const RowEvaluation *e = static_cast<const RowEvaluation *>(argument);
    for (int column = 0, i = 0; i < e->feed->count; ++column)
        if (e->attnums[column] == 0)
            e->values[column] = ExecEvalExpr(e->feed->results[i++].state, e->feed->econtext, &e->nulls[column]);
}

struct Question {
    ExprState *qual;
    ExprContext *econtext;
    bool passes;
};

void ask(void *argument) {
    Question *question = static_cast<Question *>(argument);
    bool null;
    const Datum value = ExecEvalExpr(question->qual, question->econtext, &null);
    question->passes = !null && DatumGetBool(value);
}

// Does a qual drop the row in the slot before another one fails?
bool is_dropped(const ExpressionFeed *feed) {
    ListCell *cell;
    foreach (cell, feed->quals) {
        Question question{static_cast<ExprState *>(lfirst(cell)), feed->econtext, true};
        if (!attempt_own_functions(ask, &question))
            return false;
        if (!question.passes)
            return true;
    }
    return false;
}

} // namespace

RowExpressions read_expressions(ExpressionFeed *feed, Page page, BlockNumber block, OffsetNumber offset,
                                const AttrNumber *attnums, Datum *values, bool *nulls) {
    if (feed == nullptr)
        return RowExpressions::Evaluated;
    RowEvaluation e{feed, attnums, values, nulls};
    store_tuple(feed, page, block, offset);
    if (attempt_own_functions(evaluate_row, &e))
        return RowExpressions::Evaluated;
    return is_dropped(feed) ? RowExpressions::Dropped : RowExpressions::Failed;
}

} // namespace gpuscan
