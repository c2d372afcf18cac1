// Puts what has been translated into pipelines and writes the engine's wire format.
//
// Order of the program: the pipelines that build hash tables, source 1 first, then the main one. Source numbers in the program are those
// of the FragmentSpec; the main source is 0.
#include "pg/pg.h"

#include "engine/ir/program.hpp"
#include "pg/fragment/assembly.h"

namespace gpuscan {

struct Writer {
    Array<ir::Conjunct> conjuncts;
    Array<ir::Join> joins;
    Array<ir::Index> lists;
    Array<ir::Pipeline> pipelines;
    Array<ir::Source> sources;
    Array<ir::SourceColumn> columns;
    Array<ir::Lookup> lookups;
    Array<ir::GroupingSet> sets;
    Array<ir::OrderKey> orders;
};

template <class T> static ir::Range append_all(Array<T> *to, const Array<T> &items) {
    ir::Range range{static_cast<ir::Index>(to->count), static_cast<ir::Index>(items.count)};
    for (int i = 0; i < items.count; ++i)
        append(to, items[i]);
    return range;
}

// What the tables carry, as expressions of the pipelines that build them. Those that probe come first: what they carry
// decides what the tables must that they probe.
static Array<ir::Index> *payload_expressions(Assembly *a) {
    Array<ir::Index> *result =
        static_cast<Array<ir::Index> *>(palloc0(sizeof(Array<ir::Index>) * static_cast<Size>(a->t.nsources)));
    for (int i = a->t.nsources - 1; i > 0; --i) {
        for (int k = 0; k < a->t.sources[i].payload.count; ++k) {
            const PayloadSource from = a->t.sources[i].payload[k];
            int step = 0, at = from.column;
            if (from.source != i) {
                const int table = table_of_source(&a->t, i, from.source);
                step = a->t.sources[table].step;
                at = payload_position(&a->t.sources[table], from.source, from.column);
            }
            append(&result[i], add_expr(&a->t, ir::Op::Column, a->t.sources[from.source].columns[from.column].type,
                                        static_cast<ir::Index>(step), static_cast<ir::Index>(at)));
        }
    }
    return result;
}

static ir::Range write_joins(Assembly *a, Writer *w, int source) {
    ir::Range range{static_cast<ir::Index>(w->joins.count), 0};
    for (int i = 1; i < a->t.nsources; ++i) {
        const FragmentJoin *from = &a->t.sources[i].join;
        if (from->into != source)
            continue;
        ir::Join join{};
        join.build = static_cast<ir::Index>(i - 1);
        join.keys = append_all(&w->lists, a->parts[i].probe_keys);
        join.kind = from->kind;
        join.guarded = is_guarded(a, source, reinterpret_cast<Node *>(from->clauses)) ? 1 : 0;
        join.filters = append_all(&w->lists, a->parts[i].filters);
        append(&w->joins, join);
        ++range.count;
    }
    return range;
}

static void write_build(Assembly *a, Writer *w, int source, const Array<ir::Index> &payload) {
    ir::Pipeline pipeline{};
    pipeline.source = static_cast<ir::Index>(source);
    pipeline.sink = ir::SinkKind::Build;
    pipeline.conjuncts = append_all(&w->conjuncts, a->parts[source].conjuncts);
    pipeline.joins = write_joins(a, w, source);
    pipeline.keys = append_all(&w->lists, a->parts[source].build_keys);
    pipeline.payload = append_all(&w->lists, payload);
    append(&w->pipelines, pipeline);
}

static void write_main(Assembly *a, Writer *w) {
    ir::Pipeline pipeline{};
    pipeline.source = 0;
    pipeline.sink = a->spec->delivers_rows ? ir::SinkKind::Rows : ir::SinkKind::Aggregate;
    pipeline.limit = static_cast<uint64_t>(a->spec->limit);
    pipeline.conjuncts = append_all(&w->conjuncts, a->parts[0].conjuncts);
    pipeline.joins = write_joins(a, w, 0);
    pipeline.keys = append_all(&w->lists, a->states.keys);
    pipeline.payload = append_all(&w->lists, a->row_columns);
    pipeline.arguments = append_all(&w->lists, a->states.arguments);
    pipeline.ordered_sets.count = static_cast<ir::Index>(a->states.ordered_sets.count);
    pipeline.aggregates.first = 0;
    pipeline.aggregates.count = static_cast<ir::Index>(a->states.states.count);
    ListCell *cell;
    foreach (cell, a->spec->sets)
        append(&w->sets, ir::GroupingSet{static_cast<uint32_t>(lfirst_int(cell))});
    if (a->spec->sets == NIL && a->states.distincts.count > 0)
        append(&w->sets, ir::GroupingSet{(1u << a->group_keys) - 1});
    if (w->sets.count > 0) {
        pipeline.sets.count = static_cast<ir::Index>(w->sets.count);
        pipeline.distincts.count = static_cast<ir::Index>(a->states.distincts.count);
        pipeline.result_keys = static_cast<ir::Index>(a->group_keys);
    }
    pipeline.order = append_all(&w->orders, a->order);
    append_all(&w->orders,
               a->window_keys); // the windows count on them to follow the order, of which there is none beside windows
    pipeline.windows.count = static_cast<ir::Index>(a->windows.count);
    pipeline.window_functions.count = static_cast<ir::Index>(a->window_functions.count);
    if (a->spec->delivers_rows) {
        pipeline.result_keys = static_cast<ir::Index>(a->delivered);
    } else {
        pipeline.having = append_all(&w->lists, a->having);
        pipeline.sorted = a->spec->sorted && a->order.count > 0 ? 1 : 0;
    }
    pipeline.top = a->top;
    pipeline.top_offset = a->top_offset;
    pipeline.ties = a->spec->ties ? 1 : 0;
    append(&w->pipelines, pipeline);
}

static void write_sources(Assembly *a, Writer *w) {
    for (int i = 0; i < a->t.nsources; ++i) {
        const TranslatedSource &s = a->t.sources[i];
        ir::Source source{};
        source.columns.first = static_cast<ir::Index>(w->columns.count);
        source.columns.count = static_cast<ir::Index>(s.columns.count);
        source.uncounted = a->spec->hides_counts ? 1 : 0;
        for (int k = 0; k < s.columns.count; ++k) {
            ir::SourceColumn column{};
            column.type = s.columns[k].type;
            column.nullable = s.columns[k].nullable ? 1 : 0;
            append(&w->columns, column);
        }
        append(&w->sources, source);
    }
    for (int i = 0; i < a->t.lookups.count; ++i) {
        const FragmentLookup &from = a->t.lookups[i];
        ir::Lookup lookup{};
        lookup.type = from.type;
        lookup.deferred = from.deferred ? 1 : 0;
        lookup.source = static_cast<ir::Index>(from.source);
        lookup.column = static_cast<ir::Index>(from.column);
        append(&w->lookups, lookup);
    }
}

// The program's arrays in the order of the wire format, each with its field of the header.
template <class Visit> static void each_array(const Assembly *a, const Writer *w, ProgramHeader *header, Visit visit) {
    visit(&header->exprs, a->t.exprs);
    visit(&header->constants, a->t.constants);
    visit(&header->lookups, w->lookups);
    visit(&header->sources, w->sources);
    visit(&header->source_columns, w->columns);
    visit(&header->conjuncts, w->conjuncts);
    visit(&header->joins, w->joins);
    visit(&header->lists, w->lists);
    visit(&header->aggregates, a->states.states);
    visit(&header->pipelines, w->pipelines);
    visit(&header->sets, w->sets);
    visit(&header->distincts, a->states.distincts);
    visit(&header->orders, w->orders);
    visit(&header->windows, a->windows);
    visit(&header->window_functions, a->window_functions);
    visit(&header->ordered_sets, a->states.ordered_sets);
}

template <class T> static Size bytes_of(const Array<T> &array) { return sizeof(T) * static_cast<Size>(array.count); }
static Size padded(Size bytes) { return (bytes + 7) & ~static_cast<Size>(7); }

void write_program(Assembly *a, Fragment *out) {
    Writer w{};
    write_sources(a, &w);
    const Array<ir::Index> *payloads = payload_expressions(a);
    for (int i = 1; i < a->t.nsources; ++i)
        write_build(a, &w, i, payloads[i]);
    write_main(a, &w);

    ProgramHeader header{};
    static_assert(sizeof header % 8 == 0, "arrays follow the header at once");
    out->program_size = sizeof header;
    each_array(a, &w, &header, [out](uint32_t *count, const auto &array) {
        *count = static_cast<uint32_t>(array.count);
        out->program_size += padded(bytes_of(array));
    });
    out->program = static_cast<char *>(palloc0(out->program_size));
    memcpy(out->program, &header, sizeof header);
    char *at = out->program + sizeof header;
    out->program_constants = reinterpret_cast<ir::Constant *>(at + padded(bytes_of(a->t.exprs)));
    each_array(a, &w, &header, [&at](uint32_t *, const auto &array) {
        if (array.count > 0)
            memcpy(at, array.at, bytes_of(array));
        at += padded(bytes_of(array));
    });
}

} // namespace gpuscan
