// What EXPLAIN says about a GpuScan node, in every format.
//
// The steps of the fragment in the order in which the device runs them; with ANALYZE where the pages came from and what
// the device did. Durations and bytes depend on the machine and come with TIMING only, so that the rest is stable in
// tests. The fragment's expressions refer to the node's scan tuple (INDEX_VARs) and are deparsed with the node as
// context; the tables behind it are not known to EXPLAIN by themselves (the planner gives nodes for upper relations no
// relids), so their names are filled into EXPLAIN's own list first.
//
// The CPU plan is shown under VERBOSE, and when it has answered. Tools take the times and costs of whatever is among a node's "Plans" from the
// node's own. So a CPU plan that has run is a subplan of the node, with the name "CPU Plan"; of one that has not, JSON and its kin tell in a
// group of its own, which is a whole plan by itself; one that needs values from the plan around it is not shown there.
#include "pg/exec/state.h"
#include "pg/guc.h"

namespace gpuscan {
namespace {

struct Explainer {
    GpuScanState *state;
    const GpuScanState *ran; // whose run is shown
    ExplainState *es;
    List *context; // for deparsing
    bool prefix;   // columns with their table's name
};

bool is_text(const ExplainState *es) { return es->format == EXPLAIN_FORMAT_TEXT; }

// ---- names and expressions ----

void fill_table_names(const Fragment *fragment, ExplainState *es) {
    Bitmapset *used = nullptr;
    for (int i = 0; i < list_length(es->rtable_names); ++i)
        if (list_nth(es->rtable_names, i))
            used = bms_add_member(used, i + 1);
    for (int i = 0; i < fragment->nsources; ++i)
        if (fragment->sources[i].is_relation)
            used = bms_add_member(used, fragment->sources[i].rti);
    List *names = select_rtable_names_for_explain(es->rtable, used);
    for (int i = 0; i < list_length(es->rtable_names) && i < list_length(names); ++i) {
        ListCell *cell = list_nth_cell(es->rtable_names, i);
        if (!lfirst(cell))
            lfirst(cell) = list_nth(names, i);
    }
}

char *deparse(const Explainer *explainer, Node *expr) {
    return deparse_expression(expr, explainer->context, explainer->prefix, false);
}

// Implicitly ANDed conditions; NULL when there are none.
char *deparse_conditions(const Explainer *explainer, List *conditions) {
    if (conditions == NIL)
        return nullptr;
    return deparse(explainer, reinterpret_cast<Node *>(make_ands_explicit(list_copy(conditions))));
}

const char *column_name(const FragmentSource *source, PlanState *child, AttrNumber attnum) {
    if (source->is_relation)
        return get_attname(source->relid, attnum, true);
    TargetEntry *entry = child ? get_tle_by_resno(child->plan->targetlist, attnum) : nullptr;
    return entry ? entry->resname : nullptr;
}

// Of what a stage hands on, or the fragment makes of that.
List *stage_names(const Explainer *explainer, const FragmentSource *source) {
    List *names = NIL;
    ListCell *cell;
    foreach (cell, source->stage_columns)
        if (lfirst(cell) != nullptr) {
            const List *all = rt_fetch(source->rti, explainer->es->rtable)->eref->colnames;
            names = lappend(names, pstrdup(quote_identifier(strVal(list_nth(all, foreach_current_index(cell))))));
        }
    return names;
}

// Also appends those that are expressions to *expressions.
List *column_names(const Explainer *explainer, int index, List **expressions) {
    const FragmentSource *source = &explainer->state->fragment->sources[index];
    if (source->stage_columns != NIL)
        return stage_names(explainer, source);
    List *names = NIL;
    for (int i = 0; i < source->columns.count; ++i) {
        if (source->columns[i].codec == Codec::NumericScale)
            continue; // of a numeric that is there
        if (source->columns[i].expr) {
            char *text = deparse(explainer, reinterpret_cast<Node *>(source->columns[i].expr));
            names = lappend(names, text);
            *expressions = lappend(*expressions, text);
            continue;
        }
        const char *name = column_name(source, explainer->state->run.children[index], source->columns[i].attnum);
        names =
            lappend(names, name ? pstrdup(quote_identifier(name)) : psprintf("column %d", source->columns[i].attnum));
    }
    return names;
}

// What feeds a source that is no relation.
const char *kind_of_rows(const Explainer *explainer, int index) {
    PlanState *plan = explainer->state->run.children[index];
    const bool may_be_stage = explainer->state->fragment->sources[index].stage_columns != NIL && plan != nullptr;
    const GpuScanState *node = may_be_stage ? walk_to_node(plan) : nullptr;
    return node == nullptr ? "rows" : node->fragment->delivers_rows ? "windows" : "groups";
}

char *source_name(const Explainer *explainer, int index) {
    const FragmentSource *source = &explainer->state->fragment->sources[index];
    if (!source->is_relation)
        return psprintf("%s of %s", kind_of_rows(explainer, index), source->alias ? source->alias : "a CPU plan");
    const char *name = get_rel_name(source->relid);
    const char *alias =
        static_cast<char *>(list_nth(explainer->es->rtable_names, source->rti - 1)); // as in expressions
    if (alias == nullptr)
        alias = source->alias ? source->alias : name;
    StringInfoData text;
    initStringInfo(&text);
    if (name && strcmp(name, alias) != 0)
        appendStringInfo(&text, "%s ", quote_identifier(name));
    appendStringInfoString(&text, quote_identifier(alias));
    int tables = list_length(source->leaves);
    if (tables > 0)
        appendStringInfo(&text, " in %d %s", tables, tables == 1 ? "table" : "tables");
    return text.data;
}

// ---- the steps ----

char *text_of_source(const Explainer *explainer, int index) {
    StringInfoData text;
    initStringInfo(&text);
    appendStringInfoString(&text, source_name(explainer, index));
    List *expressions = NIL, *names = column_names(explainer, index, &expressions);
    const char *separator = " (";
    ListCell *cell;
    foreach (cell, names) {
        appendStringInfo(&text, "%s%s", separator, static_cast<char *>(lfirst(cell)));
        separator = ", ";
    }
    if (names != NIL)
        appendStringInfoChar(&text, ')');
    return text.data;
}

void show_optional(const Explainer *explainer, const char *label, const char *text) {
    if (text)
        ExplainPropertyText(label, text, explainer->es);
}

void open_step(const Explainer *explainer, const char *step, int source) {
    ExplainOpenGroup("Step", nullptr, true, explainer->es);
    ExplainPropertyText("Step", step, explainer->es);
    ExplainPropertyText("Source", source_name(explainer, source), explainer->es);
    List *expressions = NIL, *names = column_names(explainer, source, &expressions);
    ExplainPropertyList("Columns", names, explainer->es);
    if (expressions != NIL) // of these columns
        ExplainPropertyList("Expressions", expressions, explainer->es);
}

void show_scan(const Explainer *explainer) {
    const Fragment *fragment = explainer->state->fragment;
    const FragmentSource *source = &fragment->sources[0];
    char *filter = deparse_conditions(explainer, source->quals);
    if (is_text(explainer->es)) {
        ExplainPropertyText("Scan", text_of_source(explainer, 0), explainer->es);
        show_optional(explainer, "Scan Filter", filter);
        return;
    }
    open_step(explainer, "Scan", 0);
    show_optional(explainer, "Filter", filter);
    ExplainCloseGroup("Step", nullptr, true, explainer->es);
}

const char *join_name(ir::JoinKind kind) {
    static const char *const names[] = {"Inner", "Left", "Semi", "Anti", "Right", "Full"}; // as JoinKind has them
    return names[static_cast<int>(kind)];
}

// What the device says of a join table ("hash 100 entries, 12 kB, kept"), with its figures as numbers.
void show_table(const char *table, ExplainState *es) {
    ExplainPropertyText("Table", table, es);
    unsigned long entries, size;
    char unit[3];
    if (sscanf(table, "%*[^0-9]%lu %*[a-z], %lu %2[kB]", &entries, &size, unit) != 3)
        return;
    ExplainPropertyUInteger("Table Entries", nullptr, entries, es);
    ExplainPropertyUInteger("Table Size", "kB", unit[0] == 'k' ? size : (size + 1023) / 1024, es);
}

// The join with the table of a source.
void show_join(const Explainer *explainer, int number) {
    const FragmentSource *source = &explainer->state->fragment->sources[number];
    const FragmentJoin *join = &source->join;
    const RunReport *report = &explainer->ran->run.report;
    char *condition = deparse_conditions(explainer, join->clauses);
    char *build_filter = deparse_conditions(explainer, source->quals);
    char *partner_filter = deparse_conditions(explainer, join->partner_filters);
    char *filter = deparse_conditions(explainer, join->filters);
    const char *table =
        may_see_counts(explainer->state) && explainer->es->analyze && static_cast<uint32>(number) <= report->njoins
            ? report->joins[number - 1]
            : nullptr;
    if (is_text(explainer->es)) {
        char *label = psprintf("Join %d", number);
        if (join->kind != ir::JoinKind::Inner)
            label = psprintf("%s %s", join_name(join->kind), label);
        if (join->into > 0)
            label = psprintf("%s for Join %d", label, join->into);
        ExplainPropertyText(label, text_of_source(explainer, number), explainer->es);
        show_optional(explainer, psprintf("%s Cond", label), condition);
        show_optional(explainer, psprintf("%s Build Filter", label), build_filter);
        show_optional(explainer, psprintf("%s Partner Filter", label), partner_filter);
        show_optional(explainer, psprintf("%s Filter", label), filter);
        if (table && explainer->es->timing)
            ExplainPropertyText(psprintf("%s Table", label), table, explainer->es);
        return;
    }
    open_step(explainer, "Join", number);
    ExplainPropertyText("Join Type", join_name(join->kind), explainer->es);
    if (join->into > 0)
        ExplainPropertyInteger("For Join", nullptr, join->into, explainer->es);
    show_optional(explainer, "Join Cond", condition);
    show_optional(explainer, "Build Filter", build_filter);
    show_optional(explainer, "Partner Filter", partner_filter);
    show_optional(explainer, "Filter", filter);
    if (table && explainer->es->timing)
        show_table(table, explainer->es);
    ExplainCloseGroup("Step", nullptr, true, explainer->es);
}

List *sort_keys(const Explainer *explainer, const List *order, const List *order_flags) {
    List *keys = NIL;
    ListCell *cell, *flags;
    forboth (cell, order, flags, order_flags) {
        const bool descending = lfirst_int(flags) & ORDER_DESCENDING, first = lfirst_int(flags) & ORDER_NULLS_FIRST;
        keys = lappend(keys, psprintf("%s%s%s", deparse(explainer, static_cast<Node *>(lfirst(cell))),
                                      descending ? " DESC" : "",
                                      first == descending ? ""
                                      : first             ? " NULLS FIRST"
                                                          : " NULLS LAST"));
    }
    return keys;
}

// The first ones of how many groups or rows are wanted.
void show_wanted(const Explainer *explainer, const char *label) {
    const Fragment *fragment = explainer->state->fragment;
    if (fragment->top == nullptr)
        return;
    const Const *top = reinterpret_cast<const Const *>(fragment->top);
    const Const *offset = reinterpret_cast<const Const *>(fragment->top_offset);
    if (IsA(top, Const) && !top->constisnull && (offset == nullptr || (IsA(offset, Const) && !offset->constisnull))) {
        const uint64 skipped = offset != nullptr ? static_cast<uint64>(DatumGetInt64(offset->constvalue)) : 0;
        ExplainPropertyUInteger(label, nullptr, static_cast<uint64>(DatumGetInt64(top->constvalue)) + skipped,
                                explainer->es);
        return;
    }
    char *wanted = deparse(explainer, reinterpret_cast<Node *>(fragment->top));
    if (fragment->top_offset != nullptr)
        wanted = psprintf("%s + %s", wanted, deparse(explainer, reinterpret_cast<Node *>(fragment->top_offset)));
    ExplainPropertyText(label, wanted, explainer->es);
}

List *deparse_each(const Explainer *explainer, const List *expressions) {
    List *texts = NIL;
    ListCell *cell;
    foreach (cell, expressions)
        texts = lappend(texts, deparse(explainer, static_cast<Node *>(lfirst(cell))));
    return texts;
}

// ---- windows ----

void add_keys(StringInfo text, const char *label, const List *keys) {
    const char *separator = label;
    ListCell *cell;
    foreach (cell, keys) {
        const bool behind = text->len > 0 && text->data[text->len - 1] != '(';
        appendStringInfo(text, "%s%s%s", separator == label && behind ? " " : "", separator,
                         static_cast<char *>(lfirst(cell)));
        separator = ", ";
    }
}

const char *bound_name(int frame, bool start) {
    if (frame & (start ? FRAMEOPTION_START_CURRENT_ROW : FRAMEOPTION_END_CURRENT_ROW))
        return "CURRENT ROW";
    if (frame & (start ? FRAMEOPTION_START_UNBOUNDED_PRECEDING : FRAMEOPTION_END_UNBOUNDED_FOLLOWING))
        return start ? "UNBOUNDED PRECEDING" : "UNBOUNDED FOLLOWING";
    return frame & (start ? FRAMEOPTION_START_OFFSET_PRECEDING : FRAMEOPTION_END_OFFSET_PRECEDING) ? "PRECEDING"
                                                                                                   : "FOLLOWING";
}

void add_bound(const Explainer *explainer, StringInfo text, int frame, bool start, Node *offset) {
    const Const *number = reinterpret_cast<const Const *>(offset);
    if (offset != nullptr && IsA(offset, Const) && number->consttype == INT8OID && !number->constisnull)
        appendStringInfo(text, INT64_FORMAT " ", DatumGetInt64(number->constvalue));
    else if (offset != nullptr)
        appendStringInfo(text, "%s ", deparse(explainer, offset));
    appendStringInfoString(text, bound_name(frame, start));
}

// Functions of one window, and what it is. (PostgreSQL's own text of a window function says "OVER (?)" here, or a name.)
char *text_of_window(const Explainer *explainer, int window, int key) {
    const Fragment *fragment = explainer->state->fragment;
    const auto number = [&](WindowNumber which) {
        return list_nth_int(fragment->windows, window * window_numbers + which);
    };
    StringInfoData text;
    initStringInfo(&text);
    ListCell *cell;
    foreach (cell, fragment->window_functions) {
        const WindowFunc *function = static_cast<const WindowFunc *>(lfirst(cell));
        if (static_cast<int>(function->winref) != number(WINDOW_REF))
            continue;
        appendStringInfo(&text, "%s%s(%s", text.len > 0 ? ", " : "", get_func_name(function->winfnoid),
                         function->winstar ? "*" : "");
        ListCell *arg;
        foreach (arg, function->args)
            appendStringInfo(&text, "%s%s", foreach_current_index(arg) > 0 ? ", " : "",
                             deparse(explainer, static_cast<Node *>(lfirst(arg))));
        appendStringInfoChar(&text, ')');
        if (function->aggfilter != nullptr)
            appendStringInfo(&text, " FILTER (WHERE %s)",
                             deparse(explainer, reinterpret_cast<Node *>(function->aggfilter)));
    }
    const bool is_order = text.len == 0; // that comes last
    if (!is_order)
        appendStringInfoString(&text, " OVER (");
    const List *keys = sort_keys(explainer, list_copy_tail(fragment->window_keys, key),
                                 list_copy_tail(fragment->window_key_flags, key));
    const List *all = list_copy_head(keys, number(WINDOW_KEYS));
    add_keys(&text, "PARTITION BY ", list_copy_head(all, number(WINDOW_PARTITION_KEYS)));
    add_keys(&text, "ORDER BY ", list_copy_tail(all, number(WINDOW_PARTITION_KEYS)));
    Node *start = static_cast<Node *>(list_nth(fragment->window_offsets, 2 * window)),
         *end = static_cast<Node *>(list_nth(fragment->window_offsets, 2 * window + 1));
    if (start != nullptr || end != nullptr ||
        (number(WINDOW_FRAME) & FRAMEOPTION_EXCLUSION)) { // the planner chooses between others that mean the same
        const int frame = number(WINDOW_FRAME);
        appendStringInfo(&text, "%s%s BETWEEN ", all != NIL ? " " : "",
                         frame & FRAMEOPTION_RANGE    ? "RANGE"
                         : frame & FRAMEOPTION_GROUPS ? "GROUPS"
                                                      : "ROWS");
        add_bound(explainer, &text, number(WINDOW_FRAME), true, start);
        appendStringInfoString(&text, " AND ");
        add_bound(explainer, &text, number(WINDOW_FRAME), false, end);
        appendStringInfoString(&text, frame & FRAMEOPTION_EXCLUDE_CURRENT_ROW ? " EXCLUDE CURRENT ROW"
                                      : frame & FRAMEOPTION_EXCLUDE_GROUP     ? " EXCLUDE GROUP"
                                      : frame & FRAMEOPTION_EXCLUDE_TIES      ? " EXCLUDE TIES"
                                                                              : "");
    }
    if (!is_order)
        appendStringInfoChar(&text, ')');
    return text.data;
}

void show_windows(const Explainer *explainer) {
    const Fragment *fragment = explainer->state->fragment;
    List *texts = NIL;
    int key = 0;
    for (int i = 0; i < list_length(fragment->windows) / window_numbers; ++i) {
        texts = lappend(texts, text_of_window(explainer, i, key));
        key += list_nth_int(fragment->windows, i * window_numbers + WINDOW_KEYS);
    }
    if (texts != NIL)
        ExplainPropertyList("Windows", texts, explainer->es);
}

void show_row(const Explainer *explainer) {
    const Fragment *fragment = explainer->state->fragment;
    const CustomScan *plan = reinterpret_cast<const CustomScan *>(explainer->state->css.ss.ps.plan);
    List *columns = deparse_each(
        explainer, get_tlist_exprs(list_copy_head(plan->custom_scan_tlist, list_length(fragment->columns)), true));
    if (columns != NIL)
        ExplainPropertyList("Row", columns, explainer->es);
    if (fragment->order != NIL)
        ExplainPropertyList("Row Order", sort_keys(explainer, fragment->order, fragment->order_flags), explainer->es);
    show_windows(explainer);
    if (fragment->checks != NIL)
        ExplainPropertyList("Row Checks", deparse_each(explainer, fragment->checks), explainer->es);
    show_wanted(explainer, "Rows Wanted");
    if (fragment->limit > 0)
        ExplainPropertyUInteger("Rows Wanted", nullptr, fragment->limit, explainer->es);
}

// What the device need not deliver.
void show_wanted_groups(const Explainer *explainer) {
    const Fragment *fragment = explainer->state->fragment;
    show_optional(explainer, "Group Filter", deparse_conditions(explainer, fragment->having));
    show_wanted(explainer, "Groups Wanted");
    if (fragment->order != NIL)
        ExplainPropertyList("Group Order", sort_keys(explainer, fragment->order, fragment->order_flags), explainer->es);
}

void show_steps(const Explainer *explainer) {
    const Fragment *fragment = explainer->state->fragment;
    ExplainState *es = explainer->es;
    ExplainOpenGroup("Steps", "Steps", false, es);
    show_scan(explainer);
    for (int i = 1; i < fragment->nsources; ++i)
        show_join(explainer, i);
    ExplainCloseGroup("Steps", "Steps", false, es);

    List *keys = NIL;
    ListCell *cell;
    foreach (cell, fragment->keys)
        keys = lappend(keys, deparse(explainer, static_cast<Node *>(lfirst(cell))));
    if (keys != NIL)
        ExplainPropertyList("Group Key", keys, es);
    if (fragment->sets != NIL)
        ExplainPropertyInteger("Grouping Sets", nullptr, list_length(fragment->sets), es);
    if (fragment->delivers_rows)
        show_row(explainer);
    else
        show_wanted_groups(explainer);
    // Tables over dictionaries: expressions that PostgreSQL evaluates once per different text.
    int tables = 0;
    for (int i = 0; i < fragment->nlookups; ++i)
        tables += fragment->lookups[i].kind != LookupKind::Table;
    if (es->verbose && tables > 0)
        ExplainPropertyInteger("Dictionary Tables", nullptr, tables, es);
}

// ---- init plans ----

struct InitPlanValues {
    const Explainer *explainer;
    List *names;
};

// EXPLAIN writes the value of an init plan as "$0", from PostgreSQL 17 on as "(InitPlan 1).col1"; other parameters are shown as the columns
// that they come from.
bool collect_init_plan_values(Node *node, void *context) {
    InitPlanValues *values = static_cast<InitPlanValues *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Param) && reinterpret_cast<const Param *>(node)->paramkind == PARAM_EXEC) {
        char *name = deparse(values->explainer, node);
        if (name[0] == '$' || strstr(name, "InitPlan") != nullptr)
            values->names = list_append_unique(values->names, makeString(name));
    }
    return walk_expression(node, collect_init_plan_values, context);
}

// Tools take an init plan's time from the node whose text names its value. They look at a node's texts only, not into Steps.
void show_init_plan_values(const Explainer *explainer) {
    const Fragment *fragment = explainer->state->fragment;
    InitPlanValues values = {explainer, NIL};
    for (int i = 0; i < fragment->nconstants; ++i)
        collect_init_plan_values(reinterpret_cast<Node *>(fragment->constants[i].expr), &values);
    for (int i = 0; i < fragment->nlookups; ++i)
        collect_init_plan_values(reinterpret_cast<Node *>(fragment->lookups[i].expr), &values);
    StringInfoData text;
    initStringInfo(&text);
    ListCell *cell;
    foreach (cell, values.names)
        appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "", strVal(lfirst(cell)));
    if (text.len > 0)
        ExplainPropertyText("Init Plan Values", text.data, explainer->es);
}

// ---- the device ----

// The device that would be used now.
const char *device_now() {
    protocol::Area *area = device_area();
    if (!area || guc_device == DEVICE_NONE || area->state.load() != static_cast<uint32>(protocol::ServiceState::Ready))
        return "none";
    const uint32 ready = static_cast<uint32>(protocol::ServiceState::Ready);
    if (guc_device != DEVICE_HOST && area->devices[1].state == ready)
        return area->devices[1].name;
    if (guc_device != DEVICE_CUDA && area->devices[0].state == ready)
        return area->devices[0].name;
    return "none";
}

void show_durations(const Explainer *explainer, const RunReport *report) {
    ExplainState *es = explainer->es;
    if (!es->timing)
        return;
    if (is_text(es)) {
        ExplainPropertyText("Device Work",
                            psprintf("run=%.3f ms compile=%.3f ms link=" UINT64_FORMAT " bytes",
                                     report->kernel_us / 1000.0, report->compile_us / 1000.0, report->link_bytes),
                            es);
        return;
    }
    ExplainPropertyFloat("Device Run Time", "ms", report->kernel_us / 1000.0, 3, es);
    ExplainPropertyFloat("Device Compile Time", "ms", report->compile_us / 1000.0, 3, es);
    ExplainPropertyUInteger("Link Bytes", nullptr, report->link_bytes, es);
}

void show_skipped(const Explainer *explainer, const RunReport *report) {
    ExplainState *es = explainer->es;
    if (!is_text(es)) {
        ExplainPropertyUInteger("Chunks Skipped", nullptr, report->chunks_skipped, es);
        ExplainPropertyUInteger("Rows Skipped", nullptr, report->rows_skipped, es);
    } else if (report->rows_skipped > 0) {
        ExplainPropertyText(
            "Skipped by Bounds",
            psprintf("chunks=" UINT64_FORMAT " rows=" UINT64_FORMAT, report->chunks_skipped, report->rows_skipped), es);
    }
}

void show_rows_out(const Explainer *explainer, const RunReport *report) {
    ExplainPropertyUInteger("Rows Out", nullptr, report->rows_out, explainer->es);
    if (report->rows_spilled > 0 && explainer->es->timing)
        ExplainPropertyUInteger("Rows Spilled", "kB", (report->rows_spilled + 1023) / 1024, explainer->es);
}

void show_what_was_read(const Explainer *explainer, const RunReport *report) {
    ExplainState *es = explainer->es;
    if (is_text(es)) {
        ExplainPropertyText("Pages",
                            psprintf("cached=" UINT64_FORMAT " decoded=" UINT64_FORMAT " rowwise=" UINT64_FORMAT,
                                     report->pages_cached, report->pages_decoded, report->pages_rowwise),
                            es);
        if (report->rows_by_cpu > 0)
            ExplainPropertyUInteger("Rows from CPU", nullptr, report->rows_by_cpu, es);
    } else {
        ExplainPropertyUInteger("Pages Cached", nullptr, report->pages_cached, es);
        ExplainPropertyUInteger("Pages Decoded", nullptr, report->pages_decoded, es);
        ExplainPropertyUInteger("Pages Rowwise", nullptr, report->pages_rowwise, es);
        ExplainPropertyUInteger("Rows from CPU", nullptr, report->rows_by_cpu, es);
    }
    if (report->feed_workers > 0 || !is_text(es))
        ExplainPropertyUInteger("Feed Workers", nullptr, report->feed_workers, es);
    ExplainPropertyUInteger("Rows In", nullptr, report->rows_in, es);
    if (report->entries_deferred > 0)
        ExplainPropertyUInteger("Values Evaluated", nullptr, report->entries_deferred, es);
    show_skipped(explainer, report);
}

void show_report(const Explainer *explainer) {
    ExplainState *es = explainer->es;
    const RunReport *report = &explainer->ran->run.report;
    if (explainer->ran->phase == Phase::Fallback)
        ExplainPropertyText("Fallback",
                            may_see_counts(explainer->state)
                                ? explainer->ran->fallback_reason
                                : "the reason is shown to superusers, because rows are hidden",
                            es);
    if (explainer->ran->cpu_first.executions > 0)
        ExplainPropertyUInteger("CPU Executions", nullptr, explainer->ran->cpu_first.executions, es);
    if (!has_answered(explainer->ran))
        return;
    if (explainer->ran->executions > 1)
        ExplainPropertyUInteger("Device Executions", nullptr, explainer->ran->executions, es);
    const bool counts = may_see_counts(explainer->state);
    if (counts)
        show_what_was_read(explainer, report);
    if (explainer->state->fragment->delivers_rows)
        show_rows_out(explainer, report);
    else if (counts && report->grouping[0])
        ExplainPropertyText("Grouping", report->grouping, es);
    if (report->groups_dropped > 0)
        ExplainPropertyUInteger("Groups Dropped", nullptr, report->groups_dropped, es);
    const uint64 spilled = report->groups_spilled;
    if (spilled > 0)
        ExplainPropertyUInteger("Groups Spilled", "kB", (spilled + 1023) / 1024, es);
    if (counts)
        show_durations(explainer, report);
}

// ---- the CPU plan ----

// In a group of its own. EXPLAIN does not know there what is above the node, and could not name parameters that come from there (nor
// work tables of recursive queries, which no fragment reads).
void show_apart(PlanState *plan, const ExplainState *es) {
    PlannedStmt statement = *plan->state->es_plannedstmt;
    statement.queryId = 0; // it is not the plan of the whole query
    QueryDesc query = {};
    query.plannedstmt = &statement;
    query.planstate = plan;
    ExplainState own = *es; // which knows the names of this plan's tables, and the groups that are open
    ExplainOpenGroup(cpu_plan_name, cpu_plan_name, true, &own);
    ExplainPrintPlan(&own, &query);
    ExplainCloseGroup(cpu_plan_name, cpu_plan_name, true, &own);
}

void show_cpu_plan(GpuScanState *state, const ExplainState *es) {
    const CustomScan *scan = reinterpret_cast<const CustomScan *>(state->css.ss.ps.plan);
    if (state->fallback_shown || (es->verbose && is_text(es)))
        name_fallback(state);
    else if (es->verbose && bms_is_empty(static_cast<const Plan *>(linitial(scan->custom_plans))->extParam))
        show_apart(start_fallback(state), es);
}

} // namespace

bool may_see_counts(const GpuScanState *state) { return !state->fragment->hides_counts || superuser(); }

void explain_node(GpuScanState *state, List *ancestors, ExplainState *es) {
    fill_table_names(state->fragment, es);
    Explainer explainer;
    explainer.state = state;
    explainer.ran = state->other_run != nullptr ? state->other_run : state;
    explainer.es = es;
    explainer.context = set_deparse_context_plan(es->deparse_cxt, state->css.ss.ps.plan, ancestors);
    explainer.prefix = explained_tables(es) > 1 || es->verbose;

    const bool answered = es->analyze && has_answered(explainer.ran);
    ExplainPropertyText("Device", answered ? explainer.ran->run.report.device : device_now(), es);
    show_steps(&explainer);
    if (!is_text(es) && !state->fallback_shown)
        show_init_plan_values(&explainer);
    if (es->analyze)
        show_report(&explainer);
    if (may_see_counts(state))
        explain_estimate(explainer.ran, es);
    show_cpu_plan(state, es);
}

} // namespace gpuscan
