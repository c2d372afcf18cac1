#include "measure.hpp"

#include <cmath>
#include <cstdlib>

#include "engine/cost/tier_profile.hpp"
#include "interrupt.hpp"
#include "measure_report.hpp"

namespace calibrate {
namespace {

namespace tier = gpuscan::tier;

Json optional_json(const std::optional<double> &value) { return value ? Json(*value) : Json(nullptr); }

} // namespace

Json MeasurePlan::to_json() const {
    return {{"rows", rows}, {"repeats", repeats}, {"storage_s", storage_s}, {"settings", settings}};
}

MachineMeasurement::MachineMeasurement(Session &session, Checkpoint &checkpoint, Progress &progress,
                                       const MeasurePlan &plan)
    : session_(session), checkpoint_(checkpoint), progress_(progress), plan_(plan) {}

void MachineMeasurement::note(const std::string &text) {
    progress_.say(text);
    notes_.push_back(text);
    checkpoint_.append({{"type", "note"}, {"text", text}});
}

void MachineMeasurement::begin_file() {
    checkpoint_.append({{"type", "calibration"},
                        {"kind", "measure"},
                        {"started", utc_now()},
                        {"server",
                         {{"version", session_.version()},
                          {"database", session_.value("SELECT current_database()")},
                          {"shared_buffers", session_.value("SHOW shared_buffers")}}},
                        {"plan", plan_.to_json()}});
}

Json MachineMeasurement::explain(const std::string &options, const std::string &settings, const std::string &sql) {
    check_interrupt();
    const Json parsed = Json::parse(session_.value(settings + "EXPLAIN (" + options + "FORMAT JSON) " + sql));
    return parsed;
}

double MachineMeasurement::setting(const std::string &name, const char *column) {
    return std::strtod(session_
                           .value(std::string("SELECT ") + column +
                                  " FROM pg_catalog.pg_settings WHERE name = " + session_.quote(name))
                           .c_str(),
                       nullptr);
}

void MachineMeasurement::sample(const char *part, const std::string &name, const std::vector<double> &ms, Json more) {
    Json line = {{"type", "sample"}, {"part", part}, {"query", name}, {"ms", ms}};
    line.update(more);
    checkpoint_.append(line);
}

void MachineMeasurement::run() {
    begin_file();
    scratch_.emplace(session_, plan_.rows);
    if (scratch_->kind() != Scratch::Kind::None)
        scratch_->fill(progress_);
    if (scratch_->kind() == Scratch::Kind::Temporary)
        note("tables are temporary ones: " + scratch_->why());
    measure_processor();
    measure_steps();
    measure_storage();
    if (unit_) {
        put_setting("cpu_tuple_cost", "cpu_tuple_cost", processor_.tuple, "");
        put_setting("cpu_operator_cost", "cpu_operator_cost", processor_.operation, "");
        if (processor_.index_tuple.verdict != Verdict::Unseen)
            put_setting("cpu_index_tuple_cost", "cpu_index_tuple_cost", processor_.index_tuple, "");
        else
            values_.push_back({"processor", "cpu_index_tuple_cost", "", setting("cpu_index_tuple_cost"), std::nullopt,
                               std::nullopt, setting("cpu_index_tuple_cost"),
                               setting("cpu_index_tuple_cost", "boot_val"), false,
                               words_of(processor_.index_tuple.verdict)});
    }
    measure_device();
    scratch_.reset();
    write_result();
}

void MachineMeasurement::write_result() {
    const std::string view = session_.of_extension("gpuscan.cost_profile");
    if (unit_) {
        std::optional<double> before;
        if (!view.empty())
            before = std::strtod(session_.value("SELECT value FROM " + view + " WHERE name = 'ns_per_unit'").c_str(),
                                 nullptr);
        values_.push_back({"server", "ns_per_unit", "ns a unit", unit_->value, unit_->low, unit_->high, before,
                           tier::default_ns_per_unit, true, "a tuple with one operator costs what it did"});
        if (before)
            profile_["server"]["ns_per_unit"] = unit_->value;
    }
    values_.insert(values_.end(), steps_.begin(), steps_.end());
    Json values = Json::array();
    for (const Measured &m : values_)
        values.push_back({{"tier", m.tier},
                          {"name", m.name},
                          {"unit", m.unit},
                          {"value", optional_json(m.value)},
                          {"low", optional_json(m.low)},
                          {"high", optional_json(m.high)},
                          {"before", optional_json(m.before)},
                          {"default", optional_json(m.standard)},
                          {"source", m.measured ? "measured" : "kept"},
                          {"note", m.note}});
    // The profile as it would be: what is in force, with what was measured.
    Json text = nullptr;
    if (!profile_.empty()) {
        const pg::Result rows = session_.query("SELECT device, name, value FROM " + view);
        std::vector<ProfileEntry> now;
        for (int i = 0; i < rows.rows(); ++i)
            now.push_back({rows.get(i, 0), rows.get(i, 1), std::stod(rows.get(i, 2))});
        std::string names[2];
        for (const char *kind : {"host", "cuda"})
            names[std::string(kind) == "cuda"] =
                session_.value("SELECT coalesce(name, '') FROM " + session_.of_extension("gpuscan.devices") +
                               " WHERE kind = " + session_.quote(kind));
        text = profile_text(now, profile_, names[0], names[1]);
    }
    checkpoint_.append({{"type", "result"},
                        {"complete", true},
                        {"values", values},
                        {"settings", {{"asymmetric", asymmetric_}, {"original", original_}}},
                        {"profile", text},
                        {"notes", notes_}});
}

} // namespace calibrate
