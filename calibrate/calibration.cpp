#include "calibration.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bench/regret/plan_tree.hpp"
#include "interrupt.hpp"
#include "plateau.hpp"
#include "random.hpp"
#include "significance.hpp"

namespace calibrate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double spread = 2;  // standard deviation of a weight's logarithm: two thirds within a factor of 7.4
constexpr size_t no_walk = 0; // candidates that no walk has found: the defaults, the present settings

// Besides weights, what decides which plan is chosen and how long it takes: times of other values cannot be mixed with these.
const char *const decisive[] = {"work_mem",
                                "hash_mem_multiplier",
                                "shared_buffers",
                                "effective_cache_size",
                                "max_parallel_workers_per_gather",
                                "parallel_setup_cost",
                                "parallel_tuple_cost",
                                "jit",
                                "search_path",
                                "gpuscan.offload",
                                "gpuscan.device"};

const char *const endings[] = {"finished", "stopped", "failed"};

Ending ending_of(const std::string &word) {
    for (int i = 0; i < 3; ++i)
        if (word == endings[i])
            return static_cast<Ending>(i);
    throw CheckpointError("unknown ending \"" + word + "\" of an execution");
}

Measurement measurement_of(const Json &line, size_t query) {
    return {query,
            line.at("plan").get<std::string>(),
            ending_of(line.at("ending")),
            line.at("ms").get<double>(),
            line.value("purpose", ""),
            line.value("message", "")};
}

// The first word, in capitals.
std::string verb_of(const std::string &sql) {
    std::string word;
    for (char c : sql) {
        if (!std::isalpha(static_cast<unsigned char>(c)))
            break;
        word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return word;
}

} // namespace

Json Plan::to_json() const {
    return {{"model", model},
            {"seed", seed},
            {"seeds", seeds},
            {"cycles", cycles},
            {"period", period},
            {"chains", chains},
            {"harvest", harvest},
            {"plans_per_query", plans_per_query},
            {"repeats", repeats},
            {"settle", settle},
            {"rounds", rounds},
            {"timeout_s", timeout_s},
            {"factor", factor},
            {"penalty", penalty},
            {"start", start},
            {"settings", settings},
            {"allow_writes", allow_writes}};
}

Plan Plan::from_json(const Json &json) {
    Plan p;
    json.at("model").get_to(p.model);
    json.at("seed").get_to(p.seed);
    json.at("seeds").get_to(p.seeds);
    json.at("cycles").get_to(p.cycles);
    json.at("period").get_to(p.period);
    json.at("chains").get_to(p.chains);
    json.at("harvest").get_to(p.harvest);
    json.at("plans_per_query").get_to(p.plans_per_query);
    json.at("repeats").get_to(p.repeats);
    json.at("settle").get_to(p.settle);
    json.at("rounds").get_to(p.rounds);
    json.at("timeout_s").get_to(p.timeout_s);
    json.at("factor").get_to(p.factor);
    json.at("penalty").get_to(p.penalty);
    json.at("start").get_to(p.start);
    json.at("settings").get_to(p.settings);
    json.at("allow_writes").get_to(p.allow_writes);
    return p;
}

Calibration::Calibration(Session &session, Checkpoint &checkpoint, Progress &progress, const Plan &plan,
                         std::vector<Query> queries, const std::vector<Json> &known)
    : session_(session), checkpoint_(checkpoint), progress_(progress), plan_(plan), model_(model_of(plan.model)),
      queries_(std::move(queries)), cache_(0), objective_{plan.penalty, 0.05} {
    if (checkpoint_.lines().empty()) {
        read_settings();
        // (before the file is made: what is refused leaves none)
        check_workload();
        if (!known.empty())
            check_environment(known[0].at("server"), "times cannot be taken over");
        begin_file();
        take_over(known);
    } else {
        continue_file();
        check_workload();
    }
}

// ---- settings and the file ----

void Calibration::read_settings() {
    if (plan_.model == "asymmetric" && !session_.has_setting("gpuscan.seq_write_page_cost"))
        throw RefusedError("the server has not loaded gpuscan (shared_preload_libraries), so there are no weights of "
                           "writes to calibrate; "
                           "--model original calibrates PostgreSQL's own weights");
    const auto number = [this](const std::string &column) {
        return [this, column](const std::string &setting) {
            return std::stod(session_.value("SELECT " + column +
                                            " FROM pg_catalog.pg_settings WHERE name = " + session_.quote(setting)));
        };
    };
    defaults_ = resolve(model_, number("boot_val"));
    present_ = resolve(model_, number("setting"));
    if (plan_.model == "original")
        for (const Weight &w : model_of("asymmetric").weights)
            if (w.setting.rfind("gpuscan.", 0) == 0 && session_.has_setting(w.setting) &&
                number("setting")(w.setting) >= 0)
                throw RefusedError(w.setting + " is set, which goes before PostgreSQL's own page costs: --set " +
                                   w.setting + "=-1, or --model asymmetric");
    for (const char *which : {"seq_page_cost", "random_page_cost"}) {
        const std::string own =
            session_.value("SELECT string_agg(quote_ident(spcname), ', ') FROM pg_catalog.pg_tablespace WHERE EXISTS "
                           "(SELECT FROM unnest(spcoptions) o WHERE o LIKE '" +
                           std::string(which) + "=%')");
        if (!own.empty())
            progress_.say("tablespace " + own + " has a " + which +
                          " of its own, which goes before the weight that is calibrated");
    }
    start_ = present_;
    for (const std::string &assignment : plan_.start) {
        const size_t equals = assignment.find('=');
        start_[model_.index_of(assignment.substr(0, equals))] = rounded(std::stod(assignment.substr(equals + 1)));
    }
    for (size_t i = 0; i < model_.size(); ++i) {
        const Weight &w = model_.weights[i];
        if (!w.anchor)
            start_[i] = std::clamp(start_[i], w.low, w.high);
    }
}

Json Calibration::environment() {
    Json all = {{"version", session_.version()}, {"database", session_.value("SELECT current_database()")}};
    for (const char *setting : decisive)
        all[setting] = session_.value("SELECT pg_catalog.current_setting(" + session_.quote(setting) + ", true)");
    return all;
}

Json Calibration::named(const Weights &weights) const {
    Json all = Json::object();
    for (size_t i = 0; i < model_.size(); ++i)
        all[model_.weights[i].setting] = weights[i];
    return all;
}

void Calibration::begin_file() {
    Json queries = Json::array();
    for (const Query &q : queries_)
        queries.push_back({{"name", q.name},
                           {"file", q.file},
                           {"line", q.statement.line},
                           {"sql", q.statement.text},
                           {"weight", q.weight},
                           {"from_server", q.from_server}});
    checkpoint_.append({{"type", "calibration"},
                        {"version", 1},
                        {"started", utc_now()},
                        {"plan", plan_.to_json()},
                        {"server", environment()},
                        {"defaults", named(defaults_)},
                        {"present", named(present_)},
                        {"start", named(start_)},
                        {"queries", queries}});
}

void Calibration::check_environment(const Json &then, const char *what) {
    const Json now = environment();
    for (const auto &[name, value] : then.items())
        if (now.value(name, Json()) != value)
            throw RefusedError(std::string(what) + ": " + name + " was " + value.dump() + " and is now " +
                               now.value(name, Json()).dump() + ", so times do not compare");
}

// What another calibration has measured of the same queries, whatever its weights and its model were: plans have times, not weights.
void Calibration::take_over(const std::vector<Json> &known) {
    if (known.empty())
        return;
    std::map<std::string, size_t> by_text;
    for (size_t q = 0; q < queries_.size(); ++q)
        by_text[queries_[q].statement.text] = q;
    std::vector<std::optional<size_t>> query_of;
    for (const Json &q : known[0].at("queries")) {
        const auto found = by_text.find(q.at("sql").get<std::string>());
        query_of.push_back(found == by_text.end() ? std::nullopt : std::optional(found->second));
    }
    size_t taken = 0;
    for (const Json &line : known) {
        if ((line["type"] != "execution" && line["type"] != "known") || line.value("purpose", "") == "warm-up")
            continue;
        const auto &query = query_of.at(line.at("query").get<size_t>());
        if (!query)
            continue;
        checkpoint_.append({{"type", "known"},
                            {"query", *query},
                            {"plan", line.at("plan")},
                            {"ending", line.at("ending")},
                            {"ms", line.at("ms")}},
                           false);
        cache_.add(measurement_of(line, *query));
        ++taken;
    }
    progress_.say(std::to_string(taken) + " times are taken over");
}

double Calibration::elapsed_s() const {
    return before_s_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

void Calibration::continue_file() {
    const Json &head = checkpoint_.lines()[0];
    check_environment(head.at("server"), "cannot go on");
    const auto weights = [&](const char *key) {
        Weights all;
        for (const Weight &w : model_.weights)
            all.push_back(head.at(key).at(w.setting).get<double>());
        return all;
    };
    defaults_ = weights("defaults");
    present_ = weights("present");
    start_ = weights("start");
    queries_.clear();
    for (const Json &q : head.at("queries"))
        queries_.push_back({q.at("name").get<std::string>(),
                            q.at("file").get<std::string>(),
                            {q.at("sql").get<std::string>(), q.at("line").get<size_t>()},
                            q.value("weight", 1.0),
                            q.value("from_server", false)});
}

std::string Calibration::place(const Query &query, size_t character) const {
    return query.file + ":" +
           std::to_string(character > 0 ? line_at(query.statement, character) : query.statement.line);
}

std::string Calibration::counts() const {
    const size_t pairs = cycles_ * static_cast<size_t>(std::count(left_out_.begin(), left_out_.end(), false));
    return std::to_string(executions_) + " executions" +
           (pairs > executions_ ? ", " + std::to_string(pairs - executions_) + " saved" : "");
}

// ---- phases ----

void Calibration::run() {
    for (const Json &line : checkpoint_.lines()) {
        before_s_ = std::max(before_s_, line.value("s", 0.0));
        if (line["type"] == "execution")
            cache_.remember(measurement_of(line, line.at("query")), line.at("wanted").get<std::string>());
        else if (line["type"] == "known")
            cache_.add(measurement_of(line, line.at("query")));
        else if (line["type"] == "cycle")
            written_.insert({line.at("walk").get<size_t>(), line.at("cycle").get<size_t>()});
    }
    measure_defaults();
    harvest();
    for (size_t walk = 1; walk <= plan_.seeds; ++walk)
        anneal(walk);
    confirm(std::nullopt);
    verify();
}

// Everything that is wrong with the workload at once.
void Calibration::check_workload() {
    cache_ = PlanCache(queries_.size());
    left_out_.assign(queries_.size(), false);
    default_ms_.assign(queries_.size(), std::nullopt);
    session_.set_weights(model_, defaults_);
    std::string refused;
    const auto refuse = [&](const std::string &where, const std::string &why) {
        refused += (refused.empty() ? "" : "\n") + where + ": " + why;
    };
    for (const Query &q : queries_) {
        try {
            const std::string json = session_.explain(q.statement.text);
            const std::string verb = verb_of(q.statement.text);
            const bool writes = json.find("\"Node Type\": \"ModifyTable\"") != std::string::npos;
            const bool locks = json.find("\"Node Type\": \"LockRows\"") != std::string::npos;
            if (!writes && !verb.empty() && verb != "SELECT" && verb != "WITH" && verb != "VALUES" && verb != "TABLE")
                refuse(place(q), verb + " is no query");
            else if ((writes || locks) && !plan_.allow_writes)
                refuse(place(q), std::string("this query ") + (writes ? "writes" : "locks rows") +
                                     "; only queries that read are executed, unless --allow-writes is given (they are "
                                     "rolled back then)");
        } catch (const ServerError &e) {
            refuse(place(q, e.position), e.what());
        }
    }
    if (!refused.empty())
        throw RefusedError(refused);
}

void Calibration::measure_defaults() {
    default_plans_ = explain_all(defaults_);
    present_plans_ = explain_all(present_);
    const double limit = plan_.timeout_s * 1000;
    progress_.begin("defaults", queries_.size());
    for (size_t q = 0; q < queries_.size(); ++q) {
        progress_.step(q, queries_[q].name);
        bool ended = std::isfinite(cache_.time(q, default_plans_[q]).value_or(0));
        const bool cold = cache_.samples(q, default_plans_[q]) == 0;
        for (size_t i = cold ? 0 : 1 + cache_.samples(q, default_plans_[q]); i <= plan_.repeats && ended; ++i) {
            const Measurement m = measure(q, defaults_, default_plans_[q], i == 0 ? "warm-up" : "defaults", limit);
            if (m.ending == Ending::failed && !queries_[q].from_server)
                throw RefusedError(place(queries_[q]) + ": " + m.message);
            if (m.ending == Ending::failed)
                progress_.say(queries_[q].name + " fails: " + m.message);
            ended = m.ending == Ending::finished;
            default_plans_[q] = m.plan;
        }
        if (ended)
            default_ms_[q] = cache_.time(q, default_plans_[q]);
        else
            progress_.say(queries_[q].name + " did not end within " + duration_text(limit) +
                          " under PostgreSQL's defaults; other plans are tried");
        if (!cache_.time(q, present_plans_[q]))
            for (size_t i = 0; i < plan_.repeats; ++i)
                if (measure(q, present_, present_plans_[q], "present", limit).ending != Ending::finished)
                    break;
    }
    progress_.step(queries_.size(), counts());
}

void Calibration::harvest() {
    struct Found {
        std::string plan;
        size_t times;
        Weights weights;
    };
    std::vector<std::vector<Found>> found(queries_.size());
    Random random(plan_.seed);
    progress_.begin("plans", plan_.harvest);
    for (size_t i = 0; i < plan_.harvest; ++i) {
        Weights weights = i % 2 ? present_ : defaults_;
        for (size_t w = 0; w < model_.size(); ++w)
            if (!model_.weights[w].anchor)
                weights[w] = rounded(std::clamp(weights[w] * std::exp(spread * random.normal()), model_.weights[w].low,
                                                model_.weights[w].high));
            else
                weights[w] = present_[w];
        const Plans plans = explain_all(weights);
        size_t distinct = 0;
        for (size_t q = 0; q < plans.size(); ++q) {
            auto at =
                std::find_if(found[q].begin(), found[q].end(), [&](const Found &f) { return f.plan == plans[q]; });
            if (at == found[q].end())
                found[q].push_back({plans[q], 1, weights});
            else
                ++at->times;
            distinct += found[q].size();
        }
        progress_.step(i + 1, std::to_string(distinct) + " plans");
    }
    size_t deepest = 0, wanted = 0;
    for (auto &plans : found) {
        std::stable_sort(plans.begin(), plans.end(), [](const Found &a, const Found &b) { return a.times > b.times; });
        if (plans.size() > plan_.plans_per_query)
            plans.resize(plan_.plans_per_query);
        deepest = std::max(deepest, plans.size());
        wanted += plans.size();
    }
    // Plans of one rank at a time, so that a later plan meets limits that were lowered by earlier ones.
    progress_.begin("timing plans", wanted);
    size_t at = 0;
    for (size_t rank = 0; rank < deepest; ++rank)
        for (size_t q = 0; q < queries_.size(); ++q) {
            if (rank >= found[q].size())
                continue;
            if (!cache_.time(q, found[q][rank].plan))
                measure(q, found[q][rank].weights, found[q][rank].plan, "harvest", limit_of(q));
            progress_.step(++at, counts());
        }
    for (size_t q = 0; q < queries_.size(); ++q)
        if (!cache_.best(q)) {
            left_out_[q] = true;
            progress_.say(queries_[q].name + " is left out: none of its " + std::to_string(cache_.plans(q)) +
                          " plans ended within " + duration_text(plan_.timeout_s * 1000));
        }
    if (std::find(left_out_.begin(), left_out_.end(), false) == left_out_.end())
        throw RefusedError("no query of the workload ended within " + duration_text(plan_.timeout_s * 1000) +
                           "; a longer limit: --timeout");
    for (size_t q = 0; q < queries_.size(); ++q)
        if (left_out_[q])
            default_plans_[q] = present_plans_[q] = "";
    for (const auto &[weights, plans] : {std::pair(defaults_, default_plans_), std::pair(present_, present_plans_)})
        if (const std::optional<double> value = value_of(plans))
            consider(no_walk, weights, {*value, plans, true});
}

Bounds Calibration::bounds() const {
    Bounds bounds;
    for (size_t i = 0; i < model_.size(); ++i) {
        const Weight &w = model_.weights[i];
        bounds.low.push_back(w.anchor ? start_[i] : w.low);
        bounds.high.push_back(w.anchor ? start_[i] : w.high);
    }
    return bounds;
}

void Calibration::anneal(size_t walk) {
    Schedule schedule;
    schedule.period = plan_.period;
    schedule.chains = plan_.chains;
    const Evaluation first = evaluate(start_, infinite);
    consider(walk, start_, first);
    Annealer annealer(bounds(), start_, first.value, schedule, plan_.seed + walk - 1);
    progress_.begin(plan_.seeds > 1
                        ? "annealing, walk " + std::to_string(walk) + " of " + std::to_string(plan_.seeds) + ", cycle"
                        : "annealing, cycle",
                    plan_.cycles);
    for (size_t cycle = 1; cycle <= plan_.cycles; ++cycle) {
        Weights weights = annealer.propose();
        for (double &w : weights)
            w = rounded(w);
        const Evaluation e = evaluate(weights, annealer.bound());
        const bool accepted = annealer.observe(e.value);
        consider(walk, weights, e);
        ++cycles_;
        if (written_.insert({walk, cycle}).second) {
            Json line = {{"type", "cycle"},  {"walk", walk},    {"cycle", cycle},       {"weights", weights},
                         {"value", nullptr}, {"best", nullptr}, {"accepted", accepted}, {"s", elapsed_s()}};
            if (e.complete && std::isfinite(e.value))
                line["value"] = e.value;
            if (std::isfinite(annealer.best_value()))
                line["best"] = annealer.best_value();
            checkpoint_.append(line, false);
        }
        if (annealer.period_ended() || cycle == plan_.cycles) {
            confirm(walk);
            if (const auto b = best(walk))
                annealer.restart((*b)->second.weights, (*b)->second.value);
        }
        progress_.step(
            cycle, (std::isfinite(annealer.best_value()) ? "best " + duration_text(annealer.best_value()) + ", " : "") +
                       counts());
    }
}

// The standard error of the plans' total time, as a share of it: how far two totals differ without being different.
double Calibration::noise(const Plans &plans) const {
    constexpr double least = 0.005, most = 0.03;
    double squares = 0, total = 0;
    for (size_t q = 0; q < plans.size(); ++q)
        if (!left_out_[q]) {
            total += queries_[q].weight * *cache_.time(q, plans[q]);
            squares += std::pow(queries_[q].weight * cache_.error(q, plans[q]), 2);
        }
    return std::clamp(std::sqrt(squares) / total, least, most);
}

// The middle of what is about as good as the best weights (plateau.hpp). Plans that are met there for the first time are executed, as
// in annealing. What is taken is as good as the best weights but for noise, by plans that were executed as often as theirs.
Calibration::Settled Calibration::settle(const Candidate &best, const Plans &plans) {
    constexpr double within = 2, looked_at = 6; // times the noise: what may be taken, and what is worth an execution
    const double unit = noise(plans) * best.value;
    const auto excess_of = [&](double value) { return std::max(0.0, value - best.value) / unit; };
    Plateau plateau(bounds(), best.weights, present_, spread, plan_.settle, plan_.seed);
    progress_.begin("settling", plan_.settle);
    for (size_t i = 0; i < plan_.settle; ++i) {
        Weights weights = plateau.propose();
        for (double &w : weights)
            w = rounded(w);
        const Evaluation e = evaluate(weights, best.value + looked_at * unit);
        plateau.observe(e.complete ? excess_of(e.value) : infinite);
        progress_.step(i + 1, counts());
    }
    const Point middle = plateau.mean();
    for (double share : {0.0, 0.25, 0.5, 0.75}) {
        Weights weights = Plateau::towards(middle, best.weights, share);
        for (double &w : weights)
            w = rounded(w);
        const Evaluation e = evaluate(weights, best.value + within * unit);
        if (!e.complete || excess_of(e.value) > within || !confirm(weights, e.plans))
            continue;
        if (const std::optional<double> value = value_of(e.plans); value && excess_of(*value) <= within)
            return {{weights, *value}, e.plans};
    }
    return {best, plans};
}

void Calibration::verify() {
    for (int attempt = 1; attempt <= 5; ++attempt) {
        const auto b = best(std::nullopt);
        if (!b)
            throw RefusedError("no weights were found under which all queries end");
        const auto [candidate, plans] = settle((*b)->second, (*b)->first.second);
        if (const auto rounds = compare(candidate.weights, plans, std::to_string(attempt))) {
            write_result(true, candidate, plans, *rounds);
            return;
        }
        // A plan did not end this time, and is ruled out from now on.
        for (Candidates::iterator c = candidates_.begin(); c != candidates_.end();)
            if (const auto value = value_of(c->first.second); !value || !std::isfinite(*value))
                c = candidates_.erase(c);
            else
                ++c;
    }
    throw RefusedError("the plans of the best weights did not end when they were run again");
}

// Total times of all queries, in turns where plans differ; nothing if a plan of these weights did not end.
std::optional<std::vector<Calibration::Totals>> Calibration::compare(const Weights &weights, const Plans &plans,
                                                                     const std::string &attempt) {
    std::vector<Totals> rounds;
    double same = 0;
    std::vector<size_t> changed;
    for (size_t q = 0; q < queries_.size(); ++q) {
        if (plans[q] == present_plans_[q])
            same += left_out_[q] ? 0 : queries_[q].weight * *cache_.time(q, plans[q]);
        else
            changed.push_back(q);
    }
    if (changed.empty())
        return rounds;
    const double limit = plan_.timeout_s * 1000;
    progress_.begin("verifying, round", plan_.rounds);
    for (size_t round = 0; round < plan_.rounds; ++round) {
        Totals total{same, same};
        for (size_t i = 0; i < changed.size(); ++i)
            for (size_t turn = 0; turn < 2; ++turn) {
                const size_t q = changed[i];
                const bool old = (round + i + turn) % 2 == 0;
                const Measurement m = measure(q, old ? present_ : weights, old ? present_plans_[q] : plans[q],
                                              "verify " + attempt, limit);
                if (!old && m.ending != Ending::finished)
                    return std::nullopt;
                // (what fails under the present settings has no time: it is no gain)
                (old ? total.present : total.best) +=
                    queries_[q].weight * (m.ending == Ending::failed ? cache_.best(q).value_or(0) : m.ms);
            }
        rounds.push_back(total);
        progress_.step(round + 1, counts());
    }
    return rounds;
}

void Calibration::give_up() noexcept {
    try {
        if (const auto b = best(std::nullopt))
            write_result(false, (*b)->second, (*b)->first.second, {});
    } catch (...) { // the file cannot be written; what is in it stays
    }
}

// ---- parts of them ----

std::string Calibration::explain(size_t query) {
    const bench::PlanTree tree = bench::read_plan(session_.explain(queries_[query].statement.text));
    std::string hash = bench::hash_of(tree.text);
    cache_.see(query, hash, tree.outline);
    return hash;
}

Calibration::Plans Calibration::explain_all(const Weights &weights) {
    session_.set_weights(model_, weights);
    Plans plans;
    for (size_t q = 0; q < queries_.size(); ++q)
        plans.push_back(left_out_[q] ? "" : explain(q));
    return plans;
}

double Calibration::limit_of(size_t query) const {
    constexpr double least_ms = 100; // more than the best: below that a limit would be one on noise
    const double most = plan_.timeout_s * 1000;
    const std::optional<double> best = cache_.best(query);
    return best ? std::min(most, std::max(*best * plan_.factor, *best + least_ms)) : most;
}

// What is executed is what the planner chooses now. That may be another plan than the one that was `wanted`: statistics may have
// changed since, or what a device has cached. It is then measured under its own name.
Measurement Calibration::measure(size_t query, const Weights &weights, const std::string &wanted,
                                 const std::string &purpose, double limit_ms) {
    std::optional<Measurement> m = cache_.replay(query, wanted, purpose);
    if (!m) {
        check_interrupt();
        session_.set_weights(model_, weights);
        m = Measurement{query, explain(query), Ending::finished, 0, purpose, ""};
        const Session::Outcome outcome = session_.run(queries_[query].statement.text, limit_ms);
        m->ms = outcome.ms;
        if (outcome.ending == Session::Outcome::stopped)
            m->ending = Ending::stopped;
        if (outcome.ending == Session::Outcome::failed) {
            m->ending = Ending::failed;
            m->message = outcome.message;
            if (outcome.sqlstate == "25006")
                m->message += ": this query writes; only queries that read are executed, unless --allow-writes is "
                              "given (they are rolled back then)";
        }
        Json line = {{"type", "execution"}, {"query", query},  {"purpose", purpose},
                     {"wanted", wanted},    {"plan", m->plan}, {"ending", endings[static_cast<int>(m->ending)]},
                     {"ms", m->ms},         {"s", elapsed_s()}};
        if (!m->message.empty())
            line["message"] = m->message;
        checkpoint_.append(line);
    }
    ++executions_;
    // The first execution of all brings pages into caches, and is no time.
    if (purpose != "warm-up" || m->ending != Ending::finished)
        cache_.add(*m);
    return *m;
}

std::optional<double> Calibration::value_of(const Plans &plans) const {
    double value = 0;
    for (size_t q = 0; q < plans.size(); ++q) {
        if (left_out_[q])
            continue;
        const std::optional<double> ms = cache_.time(q, plans[q]);
        if (!ms)
            return std::nullopt;
        value += queries_[q].weight * objective_.of(*ms, default_ms_[q]);
    }
    return value;
}

// Above `bound` the value is not needed, so plans that are new are executed only while it may still be below: if none of them is
// faster than a share of what their queries' best plans take.
Calibration::Evaluation Calibration::evaluate(const Weights &weights, double bound) {
    constexpr double hope = 0.5;
    Evaluation e{0, explain_all(weights), false};
    std::vector<size_t> unknown;
    double hoped = 0; // of the unknown ones
    const auto least = [&](size_t q) { return queries_[q].weight * hope * cache_.best(q).value_or(0); };
    for (size_t q = 0; q < queries_.size(); ++q) {
        if (left_out_[q])
            continue;
        if (const std::optional<double> ms = cache_.time(q, e.plans[q])) {
            e.value += queries_[q].weight * objective_.of(*ms, default_ms_[q]);
        } else {
            unknown.push_back(q);
            hoped += least(q);
        }
    }
    for (size_t q : unknown) {
        if (e.value + hoped > bound || !std::isfinite(e.value)) {
            e.value += hoped;
            return e;
        }
        hoped -= least(q);
        // (the plan may be another one by now)
        e.plans[q] = measure(q, weights, e.plans[q], "annealing", limit_of(q)).plan;
        e.value += queries_[q].weight * objective_.of(*cache_.time(q, e.plans[q]), default_ms_[q]);
    }
    e.complete = true;
    return e;
}

void Calibration::consider(size_t walk, const Weights &weights, const Evaluation &e) {
    if (e.complete && std::isfinite(e.value))
        candidates_.insert({{walk, e.plans}, {weights, e.value}});
}

// Executes these plans until each of them has been as often as the defaults'; false if one of them is no longer chosen, or did not end.
bool Calibration::confirm(const Weights &weights, const Plans &plans) {
    for (size_t q = 0; q < queries_.size(); ++q) {
        if (left_out_[q])
            continue;
        while (std::isfinite(*cache_.time(q, plans[q])) && cache_.samples(q, plans[q]) < plan_.repeats) {
            if (gone_.count({q, plans[q]}))
                return false;
            if (measure(q, weights, plans[q], "confirming", limit_of(q)).plan != plans[q])
                gone_.insert({q, plans[q]});
        }
        if (!std::isfinite(*cache_.time(q, plans[q])))
            return false;
    }
    return true;
}

// The best candidates of a walk, or of all, are confirmed, and the values of all are what is known then.
void Calibration::confirm(std::optional<size_t> walk) {
    constexpr size_t near = 3;
    for (int turn = 0; turn < 10; ++turn) {
        std::vector<Candidates::iterator> order;
        for (Candidates::iterator c = candidates_.begin(); c != candidates_.end(); ++c)
            if (!walk || c->first.first == *walk || c->first.first == no_walk) {
                c->second.value = value_of(c->first.second).value_or(infinite);
                order.push_back(c);
            }
        std::stable_sort(order.begin(), order.end(), [](auto a, auto b) { return a->second.value < b->second.value; });
        const size_t before = executions_;
        for (size_t i = 0; i < order.size() && i < near; ++i)
            confirm(order[i]->second.weights, order[i]->first.second);
        if (executions_ == before)
            return;
    }
}

std::optional<Calibration::Candidates::const_iterator> Calibration::best(std::optional<size_t> walk) const {
    std::optional<Candidates::const_iterator> best;
    for (Candidates::const_iterator c = candidates_.begin(); c != candidates_.end(); ++c)
        if ((!walk || c->first.first == *walk) && std::isfinite(c->second.value) &&
            (!best || c->second.value < (*best)->second.value))
            best = c;
    return best;
}

} // namespace calibrate
