#include "world.hpp"

#include <cstdio>

namespace fuzz {

pg::Connection &World::session(int i) {
    while (sessions.size() <= static_cast<size_t>(i)) {
        sessions.push_back(std::make_unique<pg::Connection>(conninfo, ("fuzz " + name).c_str()));
        pg::Connection &c = *sessions.back();
        PQsetNoticeProcessor(c.raw(), notice, nullptr);
        c.exec("SET client_min_messages = warning; SET extra_float_digits = 1; SET lock_timeout = '2s'; "
               "SET statement_timeout = '" +
               std::to_string(timeout) + "s'");
    }
    return *sessions[static_cast<size_t>(i)];
}

void World::run(int i, const string &sql) { session(i).exec(sql); }

bool World::attempt(int i, const string &sql) {
    const pg::Result r(PQexec(session(i).raw(), sql.c_str()));
    if (PQstatus(session(i).raw()) != CONNECTION_OK)
        throw pg::Error("the connection is gone\n" + sql);
    return *r.sqlstate() == '\0';
}

void World::differ(const string &sql, const string &more) {
    ++differences;
    printf("%s (class %s, seed %llu, round %ld%s)\n  %s;\n", falsified ? "NOT SEEN" : "DIFFERENT", name.c_str(),
           static_cast<unsigned long long>(seed), round, more.c_str(), sql.c_str());
}

void World::ask_in(int i, const Query &q, const string &told, const string &as_well) {
    pg::Connection &c = session(i);
    const Answer plain = answer_of(c, q, {}, "off", false, false);
    ++queries;
    if (plain.sqlstate == "57014") {
        ++timeouts;
        return;
    }
    errors += !plain.sqlstate.empty();
    if (verbose || (plain.sqlstate.compare(0, 2, "42") == 0 && plain.sqlstate != "42501"))
        printf("-- %ld %s %s\n%s;\n", round, plain.sqlstate.c_str(), plain.message.c_str(), q.sql.c_str());
    if (falsified) {
        Answer wrong = plain;
        if (falsify(wrong) && same(q, plain, wrong))
            differ(q.sql, "");
        return;
    }
    fell_back = false;
    const long before = answered_by_device(c);
    const Answer forced = answer_of(c, q, {}, "force", false, false);
    if (forced.sqlstate == "57014") {
        ++timeouts;
        return;
    }
    fallback += fell_back;
    device += !fell_back && answered_by_device(c) > before;
    if (same(q, plain, forced))
        return;
    if (error_depends_on_plan(q, plain, forced) ||
        ((!plain.sqlstate.empty() || !forced.sqlstate.empty()) &&
         another_plan_agrees(c, q, {}, false, false, forced)) ||
        (!as_well.empty() && same(q, answer_of(c, query(as_well), {}, "off", false, false), forced))) {
        ++plan_dependent;
        return;
    }
    differ(q.sql, (fell_back ? ", fallback" : "") + (told.empty() ? "" : "\n  " + told));
    printf("  only PostgreSQL:\n");
    show(q, plain, forced);
    printf("  only the device:\n");
    show(q, forced, plain);
}

void World::ask(const Query &q, const string &settings) {
    pg::Connection &c = session();
    c.exec("BEGIN ISOLATION LEVEL REPEATABLE READ");
    if (!settings.empty())
        c.exec(settings);
    ask_in(0, q, settings);
    end_with(c, "ROLLBACK");
}

vector<Answer> World::transcript(const string &reset, const vector<Step> &steps, const string &offload) {
    run(0, reset);
    for (size_t i = 0; i < sessions.size(); ++i)
        run(static_cast<int>(i), "SET gpuscan.offload = " + offload);
    vector<Answer> out;
    for (const Step &step : steps)
        out.push_back(answer(session(step.session), step.sql));
    for (const auto &c : sessions) {
        PQclear(PQexec(c->raw(), "ROLLBACK"));
        c->exec("DISCARD PLANS; CLOSE ALL; DEALLOCATE ALL; RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL");
        c->exec("SET client_min_messages = warning; SET extra_float_digits = 1; SET lock_timeout = '2s'; "
                "SET statement_timeout = '" +
                std::to_string(timeout) + "s'");
    }
    return out;
}

void World::play(const string &reset, const vector<Step> &steps) {
    for (const Step &step : steps)
        session(step.session);
    const vector<Answer> plain = transcript(reset, steps, "off");
    vector<Answer> forced = plain;
    queries += static_cast<long>(steps.size());
    fell_back = false;
    if (falsified) {
        for (int i = 0; i < 20; ++i)
            if (falsify(forced[static_cast<size_t>(roll(static_cast<int>(forced.size())))]))
                break;
    } else {
        const long before = answered_by_device(session());
        forced = transcript(reset, steps, "force");
        const long after = answered_by_device(session());
        device += after > before ? after - before : 0;
    }
    fallback += fell_back;
    string told;
    bool equal = true;
    for (size_t i = 0; i < steps.size(); ++i) {
        const Query q = query(steps[i].sql, false, false);
        told += (i ? ";\n  " : "") + (steps[i].session ? "/* session " + number(steps[i].session) + " */ " : "") +
                steps[i].sql;
        errors += !plain[i].sqlstate.empty();
        if (plain[i].sqlstate == "57014" || forced[i].sqlstate == "57014") {
            ++timeouts;
            return;
        }
        if (verbose && !plain[i].sqlstate.empty())
            printf("-- %ld %s %s\n%s;\n", round, plain[i].sqlstate.c_str(), plain[i].message.c_str(),
                   steps[i].sql.c_str());
        const bool warned = plain[i].warnings == forced[i].warnings;
        if (warned && (steps[i].ordered ? plain[i].sqlstate == forced[i].sqlstate && plain[i].rows == forced[i].rows
                                        : same(q, plain[i], forced[i])))
            continue;
        equal = false;
        if (falsified)
            break;
        differ(told, fell_back ? ", fallback" : "");
        if (!warned)
            printf("  warnings: %s\n  by the device: %s\n", joined(plain[i].warnings, "; ").c_str(),
                   joined(forced[i].warnings, "; ").c_str());
        printf("  only PostgreSQL:\n");
        show(q, plain[i], forced[i]);
        printf("  only the device:\n");
        show(q, forced[i], plain[i]);
        return;
    }
    if (falsified && equal)
        differ(told, "");
}

Query query(const string &sql, bool rows, bool one_of_equals) {
    Query q;
    q.sql = sql;
    q.rows = rows;
    q.one_of_equals = one_of_equals;
    return q;
}

string joined(const vector<string> &parts, const string &gap) {
    string out;
    for (size_t i = 0; i < parts.size(); ++i)
        out += (i ? gap : "") + parts[i];
    return out;
}

} // namespace fuzz
