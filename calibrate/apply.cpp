#include "apply.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>

#include "measure_report.hpp"
#include "report.hpp"

namespace calibrate {
namespace {

// What a setting has in the chosen place; nothing: it is not set there.
using Values = std::map<std::string, std::optional<std::string>>;

std::string alter(Session &session, const std::string &scope, const std::string &setting,
                  const std::optional<std::string> &value) {
    std::string object = "SYSTEM";
    if (scope == "database")
        object = "DATABASE " + session.value("SELECT quote_ident(current_database())");
    return "ALTER " + object + (value ? " SET " + setting + " = " + session.quote(*value) : " RESET " + setting);
}

Values present_values(Session &session, const std::string &scope, const Json &settings) {
    Values values;
    for (const auto &[setting, value] : settings.items()) {
        const std::string name = session.quote(setting);
        const pg::Result found = session.query(
            scope == "database"
                ? "SELECT substr(c, strpos(c, '=') + 1) FROM pg_catalog.pg_db_role_setting, unnest(setconfig) c WHERE "
                  "setrole = 0 AND "
                  "setdatabase = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()) AND "
                  "split_part(c, '=', 1) = " +
                      name
                : "SELECT setting FROM pg_catalog.pg_file_settings WHERE sourcefile LIKE '%/postgresql.auto.conf' AND "
                  "name = " +
                      name + " ORDER BY seqno DESC LIMIT 1");
        values[setting] = found.rows() > 0 ? std::optional(found.get(0, 0)) : std::nullopt;
    }
    return values;
}

Json to_json(const Values &values) {
    Json json = Json::object();
    for (const auto &[setting, value] : values)
        json[setting] = value ? Json(*value) : Json(nullptr);
    return json;
}

Values to_values(const Json &json) {
    Values values;
    for (const auto &[setting, value] : json.items())
        values[setting] = value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
    return values;
}

bool same(const std::optional<std::string> &a, const std::optional<std::string> &b) {
    return a.has_value() == b.has_value() &&
           (!a || *a == *b || std::strtod(a->c_str(), nullptr) == std::strtod(b->c_str(), nullptr));
}

std::string shown(const std::optional<std::string> &value) { return value ? *value : "(not set)"; }

void show_difference(const std::string &scope, const Values &from, const Values &to) {
    std::printf("%s\n", scope == "system" ? "postgresql.auto.conf (ALTER SYSTEM):"
                                          : "this database's settings (ALTER DATABASE):");
    for (const auto &[setting, value] : to)
        std::printf("  %-32s %12s -> %s\n", setting.c_str(), shown(from.at(setting)).c_str(), shown(value).c_str());
    std::fflush(stdout);
}

bool agreed(const ApplyOptions &options) {
    if (options.yes)
        return true;
    if (!isatty(STDIN_FILENO))
        throw ApplyError("nothing was changed: --yes does it without asking");
    std::printf("Do it? [y/N] ");
    std::fflush(stdout);
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

void print_statements(Session &session, const std::string &scope, const Values &to) {
    for (const auto &[setting, value] : to)
        std::printf("%s;\n", alter(session, scope, setting, value).c_str());
    if (scope == "system")
        std::printf("SELECT pg_reload_conf();\n");
}

void reload(Session &session, const std::string &scope) {
    if (scope != "system")
        return;
    try {
        session.query("SELECT pg_catalog.pg_reload_conf()");
    } catch (const ServerError &e) {
        std::printf("The server has yet to reload its configuration (%s): SELECT pg_reload_conf(), by one who may.\n",
                    e.what());
    }
}

// All or none.
void change(Session &session, const std::string &scope, const Values &from, const Values &to) {
    std::vector<std::string> done;
    for (const auto &[setting, value] : to) {
        try {
            session.query(alter(session, scope, setting, value));
            done.push_back(setting);
        } catch (const ServerError &e) {
            for (const std::string &back : done)
                session.query(alter(session, scope, back, from.at(back)));
            std::string help;
            if (e.sqlstate == "42501")
                help = scope == "system" ? "; a superuser can (GRANT ALTER SYSTEM ON PARAMETER ... lets others), "
                                           "--scope database needs the database's "
                                           "owner only, and --show prints the statements"
                                         : "; the database's owner can, and --show prints the statements";
            throw ApplyError(std::string("nothing was changed: ") + e.what() + help);
        }
    }
}

// What sessions will see: a role's or a command line's own setting goes before ours.
void warn_of_overrides(Session &session, const Values &to) {
    for (const auto &[setting, value] : to) {
        if (!value)
            continue;
        const pg::Result r =
            session.query("SELECT source FROM pg_catalog.pg_settings WHERE name = " + session.quote(setting) +
                          " AND source IN ('database', 'user', 'database user', 'client', 'command line', 'environment "
                          "variable') AND "
                          "setting::float8 <> " +
                          *value);
        if (r.rows() > 0)
            std::printf("But %s is set for this session by: %s. That goes before it.\n", setting.c_str(),
                        r.get(0, 0).c_str());
    }
}

// ---- the profile ----

// Does the server have a file, as far as we may see?
bool has_profile(Session &session) {
    try {
        return !session.value("SELECT pg_catalog.current_setting('gpuscan.cost_profile_file', true)").empty();
    } catch (const ServerError &) {
        return false;
    }
}

// (Where the extension has none, the server says so.)
std::string name_of(Session &session, const std::string &name) {
    const std::string found = session.of_extension(name);
    return found.empty() ? name : found;
}

// Its file's text, or what is in force if there is no file.
std::string present_profile(Session &session) {
    const std::string text = session.value(
        "SELECT pg_catalog.pg_read_file(pg_catalog.current_setting('gpuscan.cost_profile_file'), 0, 262144, true)");
    if (!text.empty())
        return text;
    const pg::Result rows =
        session.query("SELECT device, name, value FROM " + name_of(session, "gpuscan.cost_profile"));
    std::vector<ProfileEntry> now;
    for (int i = 0; i < rows.rows(); ++i)
        now.push_back({rows.get(i, 0), rows.get(i, 1), std::stod(rows.get(i, 2))});
    return profile_text(now, {}, "", "");
}

std::string profile_statement(Session &session, const std::string &text) {
    return "SELECT " + name_of(session, "gpuscan.set_cost_profile") + "(" + session.quote(text) + ")";
}

// What is changed, and from what; no profile: nothing of it is.
struct Change {
    std::string scope;
    Values from, to;
    std::optional<std::string> profile_from, profile_to;
};

void show_statements(Session &session, const Change &wanted) {
    if (wanted.profile_to)
        std::printf("%s;\n", profile_statement(session, *wanted.profile_to).c_str());
    print_statements(session, wanted.scope, wanted.to);
    if (wanted.profile_to && wanted.scope != "system")
        std::printf("SELECT pg_reload_conf();\n");
}

void show_changes(const Change &wanted) {
    if (!wanted.to.empty())
        show_difference(wanted.scope, wanted.from, wanted.to);
    if (wanted.profile_to) {
        const std::string difference = profile_difference(*wanted.profile_from, *wanted.profile_to);
        std::printf("gpuscan.cost_profile_file:\n%s", difference.empty() ? "  (no change)\n" : difference.c_str());
        std::fflush(stdout);
    }
}

// All or nothing.
void carry_out(Session &session, const Change &wanted) {
    change(session, wanted.scope, wanted.from, wanted.to);
    if (wanted.profile_to) {
        try {
            session.query(profile_statement(session, *wanted.profile_to));
        } catch (const ServerError &e) {
            change(session, wanted.scope, wanted.to, wanted.from);
            throw ApplyError(std::string("nothing was changed: ") + e.what() +
                             "; the profile is for superusers (GRANT EXECUTE ON FUNCTION gpuscan.set_cost_profile lets "
                             "others), --part settings leaves it alone");
        }
    }
    reload(session, wanted.profile_to ? "system" : wanted.scope);
}

void check_gain(const Json &summary, bool force) {
    const Json &ratio = summary["result"]["ratio"];
    if (!is_complete(summary))
        throw ApplyError("the calibration is not finished: go on with anneal --resume");
    if (ratio.is_null() && !force)
        throw ApplyError("nothing to apply: the best weights choose the plans of the present settings");
    if (!ratio.is_null() && ratio["high"].get<double>() >= 1 && !force) {
        char text[160];
        std::snprintf(text, sizeof text,
                      "the gain is within the noise: total time %+.1f %%, 95 %% confidence %+.1f to %+.1f %%; --force "
                      "applies it all the same",
                      100 * (ratio["estimate"].get<double>() - 1), 100 * (ratio["low"].get<double>() - 1),
                      100 * (ratio["high"].get<double>() - 1));
        throw ApplyError(text);
    }
}

// The weights that a calibration or a measurement has found; and whether they are in force already.
Json wanted_settings(const Checkpoint &checkpoint, const ApplyOptions &options, Json *profile, bool *applied) {
    *profile = nullptr;
    if (!is_measurement(checkpoint.lines())) {
        const Json summary = summary_of(checkpoint.lines());
        check_gain(summary, options.force);
        *applied = !summary["applied"].is_null();
        return summary["result"]["weights"];
    }
    const Json measurement = measurement_of(checkpoint.lines());
    if (!measurement["complete"].get<bool>())
        throw ApplyError("the measurement was stopped before its end: measure again");
    if (is_doubtful(measurement) && !options.force)
        throw ApplyError(
            "the machine was too busy while it was measured, so a unit of cost is uncertain by half or more: "
            "measure again in a quiet hour; --force applies it all the same");
    *applied = !measurement["applied"].is_null();
    if (options.part != "settings" && options.scope == "system")
        *profile = measurement["profile"];
    return options.part == "profile" ? Json(Json::object()) : measurement["settings"].at(options.model);
}

} // namespace

void apply(Session &session, Checkpoint &checkpoint, const ApplyOptions &options) {
    Json profile;
    bool applied = false;
    const Json settings = wanted_settings(checkpoint, options, &profile, &applied);
    if (applied && !options.show)
        throw ApplyError("it is applied already; undo takes it back");
    Change wanted{options.scope, {}, {}, std::nullopt, std::nullopt};
    for (const auto &[setting, value] : settings.items())
        wanted.to[setting] = number_text(value);
    if (profile.is_string() && !has_profile(session))
        std::printf(
            "The profile is left alone: gpuscan.cost_profile_file names no file, or this role may not see it.\n");
    else if (profile.is_string())
        wanted.profile_to = profile.get<std::string>();
    if (wanted.to.empty() && !wanted.profile_to)
        throw ApplyError("there is nothing to apply");
    if (options.show) {
        show_statements(session, wanted);
        return;
    }
    try {
        wanted.from = present_values(session, options.scope, settings);
        if (wanted.profile_to)
            wanted.profile_from = present_profile(session);
    } catch (const ServerError &e) {
        throw ApplyError(
            std::string("cannot see what is there now, to keep it for undo: ") + e.what() +
            "; a superuser can, --scope database needs the database's owner only, and --show prints the statements");
    }
    show_changes(wanted);
    if (!agreed(options))
        throw ApplyError("nothing was changed");
    Json line = {
        {"type", "apply"}, {"scope", options.scope}, {"before", to_json(wanted.from)}, {"after", to_json(wanted.to)}};
    if (wanted.profile_to)
        line["profile"] = {{"before", *wanted.profile_from}, {"after", *wanted.profile_to}};
    checkpoint.append(line);
    try {
        carry_out(session, wanted);
    } catch (const ApplyError &) {
        checkpoint.append({{"type", "undo"}});
        throw;
    }
    std::printf("Applied. Sessions %s; undo %s takes it back.\n",
                options.scope == "system" ? "that are open take them with their next statement"
                                          : "that begin from now on have them",
                checkpoint.path().c_str());
    warn_of_overrides(session, wanted.to);
}

void undo(Session &session, Checkpoint &checkpoint, const ApplyOptions &options) {
    const bool measured = is_measurement(checkpoint.lines());
    const Json applied = (measured ? measurement_of(checkpoint.lines()) : summary_of(checkpoint.lines()))["applied"];
    if (applied.is_null())
        throw ApplyError("nothing to undo: this calibration is not applied");
    const Values ours = to_values(applied["after"]);
    Change back{applied["scope"], {}, to_values(applied["before"]), std::nullopt, std::nullopt};
    if (applied.contains("profile"))
        back.profile_to = applied["profile"]["before"].get<std::string>();
    if (options.show) {
        show_statements(session, back);
        return;
    }
    back.from = present_values(session, back.scope, applied["after"]);
    for (const auto &[setting, value] : back.from)
        if (!same(value, ours.at(setting)) && !same(value, back.to.at(setting)) && !options.force)
            throw ApplyError(setting + " has been changed to " + shown(value) +
                             " since; --force undoes it all the same");
    if (back.profile_to) {
        back.profile_from = present_profile(session);
        if (*back.profile_from != applied["profile"]["after"] && back.profile_from != back.profile_to && !options.force)
            throw ApplyError("the profile has been changed since; --force undoes it all the same");
    }
    show_changes(back);
    if (!agreed(options))
        throw ApplyError("nothing was changed");
    carry_out(session, back);
    checkpoint.append({{"type", "undo"}});
    std::printf("Undone: what was there before is there again.\n");
}

} // namespace calibrate
