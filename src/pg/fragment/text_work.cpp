// How much has a fragment to do with the dictionaries of its text columns?
//
// Every text of a column is numbered once, when the column is read into the cache, and that is part of what bringing it takes;
// expressions over it are evaluated for every entry, by the device, which keeps the results, or by the backend; and the texts that
// groups or rows show are read by the backend: all of a dictionary, or for a few rows or groups those that they have (exec/code_set.cpp). A
// function that may fail costs what PostgreSQL says it does, once per value, and one more run to find out which values there are. A
// column of unique texts makes each of these as long as the table, and beyond a limit the device gives up
// (engine/store/dictionary.hpp), so that only the statistics can tell in time.
#include "pg/pg.h"

#include "pg/fragment/text_work.h"

#include <algorithm>

#include "pg/catalog/byte_order.h"
#include "pg/catalog/sql_type.h"
#include "pg/cost/cache_admission.h"
#include "pg/cost/cached_pages.h"
#include "pg/cost/device_cost.h"
#include "pg/cost/evaluated_texts.h"
#include "pg/cost/expression_work.h"
#include "pg/fragment/column_form.h"
#include "pg/page_costs/planner_formulas.h"
#include "pg/refusal.h"
#include "pg/translate/lookup_key.h"

namespace gpuscan {

// Of these nobody has to know whether the device has them.
static constexpr double few_texts = 5000;

// LIKE for so many takes a device as long as finding the rank of one, or, where only the first or last ones are wanted, a rough one.
static constexpr double ranking_texts = 3, ranking_texts_roughly = 0.5;

// 0: nobody knows.
static double known_distinct(PlannerInfo *root, const Var *column) {
    bool is_guess;
    const double distinct = distinct_values(root, reinterpret_cast<const Node *>(column), &is_guess);
    return is_guess ? 0 : distinct;
}

// Distinct texts of a source's column; 0 where nobody knows: a CPU plan's, or without statistics.
static double distinct_texts(PlannerInfo *root, const FragmentSource *source, const FragmentColumn *column,
                             double *width = nullptr) {
    if (!source->is_relation)
        return 0;
    if (column->expr != nullptr) {
        Node *expr = reinterpret_cast<Node *>(column->expr);
        bool is_guess;
        if (width != nullptr)
            *width = get_typavgwidth(column->typid, column->typmod);
        return distinct_values(root, expr, &is_guess);
    }
    if (width != nullptr) {
        const int average = get_attavgwidth(source->relid, column->attnum);
        *width = average > 0 ? average : get_typavgwidth(column->typid, column->typmod);
    }
    return known_distinct(root,
                          makeVar(source->rti, column->attnum, column->typid, column->typmod, column->collation, 0));
}

static bool is_native_lookup(const FragmentLookup *lookup) {
    if (!lookup_is_cacheable(lookup))
        return false;
    if (lookup->kind == LookupKind::Rank)
        return orders_by_bytes(lookup->collation);
    StringInfoData function;
    initStringInfo(&function);
    const bool native = append_native_function(&function, lookup);
    pfree(function.data);
    return native;
}

// Does the result show few ranks (engine/result/extreme_ranks.hpp)?
static bool shows_extremes(const Fragment *fragment) {
    return fragment->delivers_rows ? fragment->order != NIL && fragment->top != nullptr
                                   : fragment->nkeys == 0 && fragment->having == NIL;
}

struct LookupColumn {
    const FragmentSource *source;
    const FragmentColumn *column;
};

// `context`: const LookupColumn *, which takes the place of the slot's value (over_slot).
static Node *over_table(Node *node, void *context) {
    if (node == nullptr || !IsA(node, Var))
        return node == nullptr ? nullptr : mutate_expression(node, over_table, context);
    const LookupColumn *lookup = static_cast<const LookupColumn *>(context);
    const FragmentColumn *column = lookup->column;
    if (column->expr != nullptr)
        return static_cast<Node *>(copyObject(reinterpret_cast<Node *>(column->expr)));
    return reinterpret_cast<Node *>(
        makeVar(lookup->source->rti, column->attnum, column->typid, column->typmod, column->collation, 0));
}

// What the backend takes for so many texts: reading them, and PostgreSQL's functions, as far as it is known what these are called with.
static Cost evaluation_cost(PlannerInfo *root, const Fragment *fragment, const FragmentLookup *lookup, double texts) {
    const FragmentSource *source = &fragment->sources[lookup->source];
    LookupColumn column{source, &source->columns[lookup->column]};
    tier::Ledger ledger = device_ledger();
    if (!source->is_relation || lookup->expr == nullptr) {
        ledger.texts({0, texts, 0, 0});
        return device_cost(ledger);
    }
    ledger.texts({0, 0, texts, 0});
    return device_cost(ledger) +
           device_units(expression_ns(root, over_table(reinterpret_cast<Node *>(lookup->expr), &column), texts));
}

static double distinct_texts(PlannerInfo *root, const Fragment *fragment, int source, int column) {
    const FragmentSource *from = &fragment->sources[source];
    return distinct_texts(root, from, &from->columns[column]);
}

// Of a column's texts, those of which the device does not have yet what an expression makes of them: those that it does not have at all.
// (Partitions have columns of their own; of all attributes that are read of them, a part is there.)
static double new_share(const PlannerInfo *root, const FragmentSource *source, const FragmentColumn *column) {
    const RelOptInfo *rel = source->is_relation ? root->simple_rel_array[source->rti] : nullptr;
    const int device = device_is_gpu() ? 1 : 0;
    const uint32 number = column_number(column);
    double whole = 0, there = 0;
    if (rel != nullptr && source->leaves == NIL) {
        whole = cacheable_pages(rel, RELPERSISTENCE_PERMANENT);
        there = cached_pages_of(root, rel, number, device);
    }
    ListCell *cell;
    foreach (cell, source->leaves) {
        const RelOptInfo *leaf = root->simple_rel_array[lfirst_int(cell)];
        whole += cacheable_pages(leaf, RELPERSISTENCE_PERMANENT);
        there += column->expr != nullptr ? cached_pages_of(root, leaf, number, device)
                                         : cached_pages(root, leaf, attributes_read(leaf), device);
    }
    return whole > 0 ? std::clamp(1 - there / whole, tier::expected_missing, 1.0) : tier::expected_missing;
}

double kinds_of_columns(PlannerInfo *root, const RelOptInfo *rel, const Bitmapset *read, tier::Columns *kinds) {
    const Relation relation = table_open(planner_rt_fetch(rel->relid, root)->relid, NoLock);
    const TupleDesc attributes = RelationGetDescr(relation);
    double different_texts = 0;
    int next = 0;         // attribute to be looked at
    bool constant = true; // those before it are at the same offset in all tuples
    for (int i = -1; (i = bms_next_member(read, i)) >= 0;) {
        const AttrNumber attnum = static_cast<AttrNumber>(i + FirstLowInvalidHeapAttributeNumber);
        if (attnum <= 0)
            continue;
        for (; next < attnum; ++next) {
            const FormData_pg_attribute *attribute = TupleDescAttr(attributes, next);
            kinds->passed += !constant && next + 1 < attnum;
            constant = constant && attribute->attlen > 0 && attribute_is_not_null(attributes, next);
        }
        const FormData_pg_attribute *attribute = TupleDescAttr(attributes, attnum - 1);
        kinds->varlena += attribute->attlen < 0;
        if (!is_coded_kind(sql_kind(attribute->atttypid)))
            continue;
        const double different = known_distinct(
            root, makeVar(rel->relid, attnum, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0));
        kinds->texts += 1;
        kinds->unfamiliar += 1 - std::min(tier::remembered_texts / std::max(different, 1.0), 1.0);
        different_texts += different;
    }
    table_close(relation, NoLock);
    return different_texts;
}

// Will the device take a dictionary of the column's texts? It reads the column anyway where it is forced to.
static bool dictionary_is_taken(PlannerInfo *root, const FragmentSource *source, const FragmentColumn *column) {
    double width = 0;
    const double distinct = distinct_texts(root, source, column, &width);
    if (dictionary_fits(distinct, width))
        return true;
    const char *name = column->expr != nullptr
                           ? "an expression"
                           : psprintf("column %s", get_attname(source->relid, column->attnum, false));
    return refuse_with("raise gpuscan.cache_size", "the texts of %s of %s need gpuscan.cache_size to be some %.0f MB",
                       name, get_rel_name(source->relid), 2 * dictionary_bytes(distinct, width) / (1 << 20));
}

// The backend sorts all of a dictionary's texts (exec/lookup.cpp).
static Cost sorting_texts(double distinct) {
    executor::Work work{};
    executor::sort(&work, distinct, 0, true);
    return device_units(executor::time_of(work, *device_executor_rates()));
}

// A table is bought once, as columns are (cost/cache_admission.h).
static void add_kept(Oid relid, Cost calls, TextWork *work) {
    MissingColumns *kept = static_cast<MissingColumns *>(palloc(sizeof(MissingColumns)));
    *kept = {relid, nullptr, calls, 0};
    work->kept = lappend(work->kept, kept);
}

bool text_work(PlannerInfo *root, const Fragment *fragment, TextWork *work) {
    bool fits = true;
    *work = {};
    for (int s = 0; s < fragment->nsources; ++s) {
        const FragmentSource *source = &fragment->sources[s];
        for (int c = 0; c < source->columns.count; ++c) {
            if (is_coded(source->columns[c].codec))
                fits = fits && dictionary_is_taken(root, source, &source->columns[c]);
        }
    }
    for (int i = 0; i < fragment->nlookups; ++i) {
        const FragmentLookup *lookup = &fragment->lookups[i];
        if (lookup->kind == LookupKind::Table)
            continue;
        double distinct = distinct_texts(root, fragment, lookup->source, lookup->column);
        if (lookup->deferred) {
            if (distinct == 0)
                distinct = fragment->sources[lookup->source].rows;
            QualCost call;
            cost_qual_eval_node(&call, reinterpret_cast<Node *>(lookup->expr), root);
            work->evaluated += distinct;
            work->calls += call.startup + distinct * call.per_tuple;
            ++work->deferred;
            continue;
        }
        const FragmentSource *source = &fragment->sources[lookup->source];
        const bool native = is_native_lookup(lookup);
        const bool kept = lookup_is_cacheable(lookup) && source->is_relation;
        double evaluated = distinct;
        if (native || (kept && (lookup->kind == LookupKind::Rank || distinct < few_texts ||
                                are_texts_evaluated(fragment, lookup))))
            evaluated *= new_share(root, source, &source->columns[lookup->column]);
        if (lookup->kind == LookupKind::Rank && !native)
            work->calls += sorting_texts(evaluated);
        if (native)
            work->native += lookup->kind != LookupKind::Rank ? evaluated
                            : shows_extremes(fragment)       ? ranking_texts_roughly * evaluated
                                                             : ranking_texts * evaluated;
        else {
            const Cost calls = evaluation_cost(root, fragment, lookup, evaluated);
            work->calls += calls;
            if (kept)
                add_kept(source->relid, calls, work);
        }
    }
    for (int i = 0; i < fragment->noutputs; ++i) {
        const FragmentOutput *output = &fragment->outputs[i];
        if ((output->type != Type::Code || output->unified != 0) && output->rank_lookup < 0)
            continue;
        work->shown += distinct_texts(root, fragment, output->source, output->column);
        ++work->shown_columns;
    }
    return fits;
}

tier::Ledger fragment_ledger(const Fragment *fragment, const TextWork *texts, tier::Breakdown *breakdown) {
    tier::Ledger ledger = device_ledger(breakdown);
    ledger.start(fragment->nsources, fragment->nlookups);
    ledger.texts(*texts);
    ledger.plan_cost(tier::Stage::Texts, texts->calls);
    return ledger;
}

} // namespace gpuscan
