// The weights of the active device: queries on the scratch tables, cold (their columns were just dropped from the cache) and hot, and least
// squares over their count vectors (device_counts.hpp). Which device that is, the host's or a GPU, makes no difference here: EXPLAIN names it,
// and the counts are its own.
//
// Times that need no clock for each row come from executions without one; what the steps took comes from executions with it.
#include <algorithm>
#include <cmath>

#include "device_counts.hpp"
#include "device_tasks.hpp"
#include "measure.hpp"

namespace calibrate {
namespace {

constexpr char forced[] = "SET LOCAL gpuscan.offload = force; SET LOCAL jit = off; SET LOCAL work_mem = '256MB'; ";
constexpr char alone[] = "SET LOCAL gpuscan.max_feed_workers = 0; ",
               in_team[] = "SET LOCAL gpuscan.max_feed_workers = -1; ";

double counter(Session &session, const char *name) {
    return std::strtod(
        session.value(std::string("SELECT ") + name + " FROM " + session.of_extension("gpuscan.stat")).c_str(),
        nullptr);
}

} // namespace

void MachineMeasurement::measure_device() {
    if (!session_.has_setting("gpuscan.offload")) {
        note("no device is measured: the server has not loaded gpuscan (shared_preload_libraries)");
        return;
    }
    const std::string profile = session_.of_extension("gpuscan.cost_profile");
    if (profile.empty()) {
        note("no device is measured: this database has no extension gpuscan (CREATE EXTENSION gpuscan)");
        return;
    }
    if (session_.value("SELECT count(*) FROM " + session_.of_extension("gpuscan.devices") + " WHERE state = 'ready'") ==
        "0") {
        note("no device is measured: none is ready (see gpuscan.devices)");
        return;
    }
    if (session_.value("SHOW gpuscan.device") == "none") {
        note("no device is measured: gpuscan.device is none");
        return;
    }
    const std::string device =
        session_.value("SELECT device FROM " + profile + " WHERE price IS NOT NULL AND device <> 'server' LIMIT 1");
    if (scratch_->kind() != Scratch::Kind::Schema || !scratch_->is_visible()) {
        note("no device is measured: " +
             (scratch_->kind() != Scratch::Kind::Schema
                  ? scratch_->why()
                  : "a transaction of another session is so old that VACUUM cannot mark pages as visible to all"));
        device_values(device, nullptr);
        return;
    }

    DeviceWeights known;
    known.gpu = device == "cuda";
    known.ns.assign(tier::counts, 0);
    known.divisor.assign(tier::counts, 1);
    const pg::Result weights = session_.query("SELECT name, value, price FROM " + profile +
                                              " WHERE device = " + session_.quote(device) + " AND price IS NOT NULL");
    for (int i = 0; i < weights.rows(); ++i)
        for (int c = 0; c < tier::counts; ++c)
            if (weights.get(i, 0) == tier::weight_table[c].name) {
                const double value = std::stod(weights.get(i, 1)), price = std::stod(weights.get(i, 2));
                known.ns[static_cast<size_t>(c)] = value;
                known.divisor[static_cast<size_t>(c)] = value > 0 && price > 0 ? value / price : 1;
            }

    std::vector<DeviceQuery> queries;
    std::vector<double> compiled_ns; // a kernel
    size_t left_out = 0, by_team = 0, without_team = 0, numbers = 0;
    const std::vector<DeviceTask> all = device_tasks(scratch_->rows());
    progress_.begin("device (" + device + ")", all.size());
    for (size_t t = 0; t < all.size(); ++t) {
        const DeviceTask &task = all[t];
        progress_.step(t, task.name);
        by_team += task.by_team;
        std::vector<double> bring, run_ms, fetch, total;
        std::optional<DeviceRun> seen;
        std::string why;
        bool lacks_team = false;
        const std::string settings = scratch_->path() + forced + (task.by_team ? in_team : alone);
        for (size_t run = 0; run <= plan_.repeats; ++run) {
            if (task.cold != nullptr)
                session_.query("SELECT " + session_.of_extension("gpuscan.evict") + "('" + std::string(scratch_schema) +
                               "." + task.cold + "')");
            const double kernels = run == 0 && known.gpu ? counter(session_, "kernels_compiled") : 0;
            const std::optional<DeviceRun> one =
                device_run(explain("ANALYZE, VERBOSE, ", settings, sql_of(task, &numbers)), &why);
            if (!one)
                break;
            lacks_team =
                task.by_team && (one->expected_feed_workers == 0 || one->feed_workers < one->expected_feed_workers);
            if (task.by_team && one->expected_feed_workers == 0) {
                why = "no feeding worker is worth its start";
                break;
            }
            if (run == 0) { // kernels, and what is kept of texts
                const double made = known.gpu ? counter(session_, "kernels_compiled") - kernels : 0;
                if (made > 0 && one->compile_ms > 0)
                    compiled_ns.push_back(one->compile_ms * 1e6 / made);
                continue;
            }
            if (const std::string other = unexpected(*one); !other.empty()) {
                why = other;
                continue;
            }
            seen = one;
            bring.push_back(one->phase_ms[1] + one->phase_ms[2]);
            run_ms.push_back(one->phase_ms[3]);
            fetch.push_back(one->phase_ms[4]);
            if (task.cold != nullptr)
                continue;
            const Json whole = explain("ANALYZE, TIMING OFF, ", settings, sql_of(task, &numbers)).at(0);
            if (whole.at("Plan").contains("Fallback"))
                why = "the device gave up when nobody looked at its parts";
            else
                total.push_back(whole.at("Execution Time").get<double>());
        }
        if (!seen || bring.size() < 3 || (task.cold == nullptr && total.size() < 3)) {
            ++left_out;
            without_team += lacks_team;
            checkpoint_.append({{"type", "left out"}, {"part", "device"}, {"query", task.name}, {"why", why}});
            continue;
        }
        sample("device", task.name, task.cold != nullptr ? bring : total,
               {{"run", run_ms},
                {"fetch", fetch},
                {"rows_built", rows_built(seen->counts)},
                {"feed_workers", seen->feed_workers}});
        queries.push_back({task.name, task.cold != nullptr, seen->counts, undisturbed(bring), undisturbed(run_ms),
                           undisturbed(fetch), undisturbed(total)});
    }
    if (left_out > 0)
        note(std::to_string(left_out) + " of " + std::to_string(all.size()) +
             " queries of the device are left out; the file says which, and why");
    if (without_team > 0)
        note(std::to_string(without_team) + " of " + std::to_string(by_team) +
             " queries for feeding workers are among them: too few were started, for want of pages, cores or parallel "
             "workers");
    std::vector<FittedWeight> fitted = fit_device(queries, known).weights;
    if (compiled_ns.size() >= 2) {
        const Estimate e = median_of(compiled_ns);
        fitted[static_cast<size_t>(tier::Count::KernelCompiled)] = {e.value, std::max(e.low, 0.0), e.high,
                                                                    Verdict::Measured};
    }
    device_values(device, &fitted);
}

// Lines of the result, and the profile's values that are new.
void MachineMeasurement::device_values(const std::string &device, const std::vector<FittedWeight> *fitted) {
    const pg::Result rows = session_.query("SELECT name, value, default_value, unit, meaning FROM " +
                                           session_.of_extension("gpuscan.cost_profile") +
                                           " WHERE device = " + session_.quote(device) + " AND price IS NOT NULL");
    for (int i = 0; i < rows.rows(); ++i) {
        const double value = std::stod(rows.get(i, 1));
        Measured line{device,       rows.get(i, 0), "ns a " + rows.get(i, 3),  value, std::nullopt,
                      std::nullopt, value,          std::stod(rows.get(i, 2)), false, ""};
        for (int c = 0; fitted != nullptr && c < tier::counts; ++c) {
            if (line.name != tier::weight_table[c].name)
                continue;
            const FittedWeight &f = (*fitted)[static_cast<size_t>(c)];
            line.measured = f.verdict != Verdict::Unseen;
            line.note = words_of(f.verdict);
            if (line.measured) {
                line.value = f.value;
                line.low = f.low;
                line.high = f.high;
                profile_[device][line.name] = f.value;
            }
        }
        values_.push_back(line);
    }
}

} // namespace calibrate
