#include "apply.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>

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

} // namespace

void apply(Session &session, Checkpoint &checkpoint, const ApplyOptions &options) {
    const Json summary = summary_of(checkpoint.lines());
    const Json &result = summary["result"];
    if (!is_complete(summary))
        throw ApplyError("the calibration is not finished: go on with anneal --resume");
    const Json &ratio = result["ratio"];
    if (ratio.is_null() && !options.force)
        throw ApplyError("nothing to apply: the best weights choose the plans of the present settings");
    if (!ratio.is_null() && ratio["high"].get<double>() >= 1 && !options.force) {
        char text[160];
        std::snprintf(text, sizeof text,
                      "the gain is within the noise: total time %+.1f %%, 95 %% confidence %+.1f to %+.1f %%; --force "
                      "applies it all the same",
                      100 * (ratio["estimate"].get<double>() - 1), 100 * (ratio["low"].get<double>() - 1),
                      100 * (ratio["high"].get<double>() - 1));
        throw ApplyError(text);
    }
    if (!summary["applied"].is_null() && !options.show)
        throw ApplyError("it is applied already; undo takes it back");
    Values to;
    for (const auto &[setting, value] : result["weights"].items())
        to[setting] = number_text(value);
    if (options.show) {
        print_statements(session, options.scope, to);
        return;
    }
    Values from;
    try {
        from = present_values(session, options.scope, result["weights"]);
    } catch (const ServerError &e) {
        throw ApplyError(
            std::string("cannot see what is there now, to keep it for undo: ") + e.what() +
            "; a superuser can, --scope database needs the database's owner only, and --show prints the statements");
    }
    show_difference(options.scope, from, to);
    if (!agreed(options))
        throw ApplyError("nothing was changed");
    checkpoint.append({{"type", "apply"}, {"scope", options.scope}, {"before", to_json(from)}, {"after", to_json(to)}});
    try {
        change(session, options.scope, from, to);
    } catch (const ApplyError &) {
        checkpoint.append({{"type", "undo"}});
        throw;
    }
    reload(session, options.scope);
    std::printf("Applied. Sessions %s; undo %s takes it back.\n",
                options.scope == "system" ? "that are open take them with their next statement"
                                          : "that begin from now on have them",
                checkpoint.path().c_str());
    warn_of_overrides(session, to);
}

void undo(Session &session, Checkpoint &checkpoint, const ApplyOptions &options) {
    const Json applied = summary_of(checkpoint.lines())["applied"];
    if (applied.is_null())
        throw ApplyError("nothing to undo: this calibration is not applied");
    const std::string scope = applied["scope"];
    const Values to = to_values(applied["before"]), ours = to_values(applied["after"]);
    if (options.show) {
        print_statements(session, scope, to);
        return;
    }
    const Values now = present_values(session, scope, applied["after"]);
    for (const auto &[setting, value] : now)
        if (!same(value, ours.at(setting)) && !same(value, to.at(setting)) && !options.force)
            throw ApplyError(setting + " has been changed to " + shown(value) +
                             " since; --force undoes it all the same");
    show_difference(scope, now, to);
    if (!agreed(options))
        throw ApplyError("nothing was changed");
    change(session, scope, now, to);
    reload(session, scope);
    checkpoint.append({{"type", "undo"}});
    std::printf("Undone: what was there before is there again.\n");
}

} // namespace calibrate
