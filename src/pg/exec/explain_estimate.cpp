// What a node was estimated to take, by component, and with ANALYZE what it took.
//
// Both are told in the steps that can be timed: opening, bringing pages, texts, the device's run (in the estimate scan, build, probe, group and
// sort), fetching, making tuples. VERBOSE adds the estimate's work by tier and pattern. All of it depends on the machine, so it comes
// with COSTS only, the actual times with TIMING.
#include "pg/cost/estimate.h"
#include "pg/exec/state.h"

namespace gpuscan {
namespace {

using tier::Count;
using tier::Stage;

struct Component {
    const char *name;
    Stage first, last;
};

constexpr Component components[] = {
    {"start", Stage::Start, Stage::Start}, {"feed", Stage::Feed, Stage::Feed},    {"texts", Stage::Texts, Stage::Texts},
    {"run", Stage::Scan, Stage::Sort},     {"fetch", Stage::Fetch, Stage::Fetch}, {"emit", Stage::Emit, Stage::Emit},
};
constexpr int ncomponents = lengthof(components);
constexpr int emit_component = ncomponents - 1;

struct Figures {
    double ms[ncomponents];
    double pages, link_bytes;
};

Figures estimated(const Estimate *estimate) {
    Figures figures = {};
    for (int i = 0; i < ncomponents; ++i)
        for (int s = static_cast<int>(components[i].first); s <= static_cast<int>(components[i].last); ++s)
            figures.ms[i] += estimated_ns(estimate, static_cast<Stage>(s)) / 1e6;
    figures.pages = estimated_amount(estimate, Count::PageDecoded);
    figures.link_bytes =
        estimated_amount(estimate, Count::LinkSeqRead) + estimated_amount(estimate, Count::LinkSeqWrite);
    return figures;
}

// What an execution of the node, on the average, took beyond the run went into tuples (the children's rows are part of feeding). 0 if
// nobody looked at the clock.
double emit_ms(const PlanState *ps, double others) {
    if (ps->instrument == nullptr || !ps->instrument->need_timer)
        return 0;
    const double loops = std::max(ps->instrument->nloops, 1.0);
    const double all = (ps->instrument->total + INSTR_TIME_GET_DOUBLE(ps->instrument->counter)) * 1000 / loops;
    return all > others ? all - others : 0;
}

Figures actual(const GpuScanState *state) {
    const RunReport *report = &state->run.report;
    Figures figures = {};
    double sum = 0;
    static_assert(run_phases == emit_component, "a phase for each component but the last");
    for (int i = 0; i < run_phases; ++i)
        sum += figures.ms[i] = static_cast<double>(report->phase_us[i]) / 1000;
    figures.ms[emit_component] = emit_ms(&state->css.ss.ps, sum);
    figures.pages = static_cast<double>(report->pages_decoded + report->pages_rowwise);
    figures.link_bytes = static_cast<double>(report->link_bytes);
    return figures;
}

void show(const char *label, const Figures &figures, bool link, ExplainState *es) {
    if (es->format != EXPLAIN_FORMAT_TEXT) {
        ExplainOpenGroup(label, label, true, es);
        for (int i = 0; i < ncomponents; ++i)
            ExplainPropertyFloat(psprintf("%c%s Time", pg_toupper(static_cast<unsigned char>(components[i].name[0])),
                                          components[i].name + 1),
                                 "ms", figures.ms[i], 3, es);
        ExplainPropertyFloat("Pages Brought", nullptr, figures.pages, 0, es);
        ExplainPropertyFloat("Link Bytes", nullptr, figures.link_bytes, 0, es);
        ExplainCloseGroup(label, label, true, es);
        return;
    }
    StringInfoData text;
    initStringInfo(&text);
    for (int i = 0; i < ncomponents; ++i)
        appendStringInfo(&text, "%s=%.3f ", components[i].name, figures.ms[i]);
    appendStringInfo(&text, "ms pages=%.0f", figures.pages);
    if (link)
        appendStringInfo(&text, " link=%.0f bytes", figures.link_bytes);
    ExplainPropertyText(label, text.data, es);
}

// ---- the estimate's work ----

const char *name_of_part(const EstimatePart *part) {
    return part->count == count_hidden ? "side by side" : tier::info(static_cast<Count>(part->count)).name;
}

void show_stage(const Estimate *estimate, int stage, ExplainState *es) {
    StringInfoData text;
    initStringInfo(&text);
    for (int i = 0; i < estimate->nparts; ++i) {
        const EstimatePart *part = &estimate->parts[i];
        if (part->stage != stage)
            continue;
        appendStringInfo(&text, "%s%s ", text.len > 0 ? ", " : "", name_of_part(part));
        if (part->count != count_hidden)
            appendStringInfo(&text, "%.0f x ", part->amount);
        appendStringInfo(&text, "= %.3f ms", part->ns / 1e6);
    }
    if (text.len > 0)
        ExplainPropertyText(psprintf("Estimated %s", tier::name_of(static_cast<Stage>(stage))), text.data, es);
}

void show_part(const EstimatePart *part, bool gpu, ExplainState *es) {
    ExplainOpenGroup("Work", nullptr, true, es);
    ExplainPropertyText("Stage", tier::name_of(static_cast<Stage>(part->stage)), es);
    ExplainPropertyText("Work", name_of_part(part), es);
    if (part->count != count_hidden) {
        const tier::CountInfo &info = tier::info(static_cast<Count>(part->count));
        ExplainPropertyText("Tier", tier::name_of(info.tier, gpu), es);
        if (info.pattern != tier::Pattern::None)
            ExplainPropertyText("Pattern", tier::name_of(info.pattern), es);
        ExplainPropertyFloat("Amount", info.unit, part->amount, 0, es);
        ExplainPropertyText("Unit", info.unit, es);
    }
    ExplainPropertyFloat("Time", "ms", part->ns / 1e6, 3, es);
    ExplainCloseGroup("Work", nullptr, true, es);
}

void show_work(const Estimate *estimate, ExplainState *es) {
    if (es->format == EXPLAIN_FORMAT_TEXT) {
        for (int s = 0; s < tier::stages; ++s)
            show_stage(estimate, s, es);
        return;
    }
    ExplainOpenGroup("Estimated Work", "Estimated Work", false, es);
    for (int i = 0; i < estimate->nparts; ++i)
        show_part(&estimate->parts[i], estimate->gpu, es);
    ExplainCloseGroup("Estimated Work", "Estimated Work", false, es);
}

} // namespace

void explain_estimate(const GpuScanState *state, ExplainState *es) {
    const bool compare = es->analyze && es->timing && has_answered(state);
    if (!es->costs || (!es->verbose && !compare))
        return;
    const Estimate *estimate = estimate_of_scan(reinterpret_cast<const CustomScan *>(state->css.ss.ps.plan));
    if (estimate == nullptr)
        return;
    show("Estimated", estimated(estimate), estimate->gpu, es);
    if (compare)
        show("Actual", actual(state), estimate->gpu, es);
    if (es->verbose)
        show_work(estimate, es);
}

} // namespace gpuscan
