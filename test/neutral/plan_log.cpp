// Writes down every plan that a server makes, whole, for script/neutral.sh: what two servers wrote can be compared line by line.
//
// One line per planned statement: its text, a tab, and the plan as PostgreSQL writes nodes (nodeToString), with all costs, to the
// hundredth up to 15, to the last bit from 16 on, and with the names of the indexes that it uses. Lines go into a file per application_name below plan_log.directory, so per
// test of pg_regress. Loaded after gpuscan it sees what gpuscan made of a plan. EXPLAIN, functions' statements and those that
// fail when they run are among them.
//
// It also lets each statement draw the same random numbers (ANALYZE's sample, where a GiST index puts what fits equally well).
extern "C" {
#include "postgres.h"

#include <ctype.h>

#include "common/pg_prng.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/nodes.h"
#include "optimizer/planner.h"
#include "storage/fd.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);
}

static char *directory;
static planner_hook_type previous_hook;
static ProcessUtility_hook_type previous_utility_hook;

static void repeat_random_numbers() { pg_prng_seed(&pg_global_prng_state, 1); }

// The beginning of a text, on one line. Numbers are left out: some tests put in what they have counted before, or the time.
static void append_line(StringInfo line, const char *text) {
    constexpr int most = 500;
    for (int i = 0; i < most && text[i] != '\0'; ++i) {
        if (!isdigit(static_cast<unsigned char>(text[i])))
            appendStringInfoChar(line, text[i] == '\n' || text[i] == '\t' ? ' ' : text[i]);
        else if (!isdigit(static_cast<unsigned char>(text[i + 1])))
            appendStringInfoChar(line, '0');
    }
}

// Which index: ids are not the same in each run.
static void append_indexes(StringInfo line, const char *plan) {
    static const char field[] = ":indexid ";
    for (const char *found = strstr(plan, field); found != nullptr; found = strstr(found + 1, field)) {
        const char *name = get_rel_name(static_cast<Oid>(strtoul(found + strlen(field), nullptr, 10)));
        appendStringInfo(line, " %s", name != nullptr ? name : "?");
    }
}

static void log_plan(const PlannedStmt *plan, const char *query_string) {
    StringInfoData name, line;
    initStringInfo(&name);
    initStringInfo(&line);
    appendStringInfo(&name, "%s/", directory);
    for (const char *letter = application_name; *letter != '\0'; ++letter)
        appendStringInfoChar(&name, *letter == '/' || *letter == ' ' ? '.' : *letter);
    append_line(&line, query_string != nullptr ? query_string : "");
    appendStringInfoChar(&line, '\t');
    const char *nodes = nodeToString(plan);
    appendStringInfoString(&line, nodes);
    append_indexes(&line, nodes);
    appendStringInfoChar(&line, '\n');
    FILE *file = AllocateFile(name.data, "a");
    if (file == nullptr || fwrite(line.data, 1, static_cast<size_t>(line.len), file) != static_cast<size_t>(line.len))
        ereport(FATAL, (errcode_for_file_access(), errmsg("could not write to \"%s\": %m", name.data)));
    FreeFile(file);
    pfree(line.data);
    pfree(name.data);
}

extern "C" {

static PlannedStmt *plan_and_log(Query *parse, const char *query_string, int options, ParamListInfo params) {
    PlannedStmt *plan = previous_hook != nullptr ? previous_hook(parse, query_string, options, params)
                                                 : standard_planner(parse, query_string, options, params);
    if (directory[0] != '\0' && application_name != nullptr && application_name[0] != '\0')
        log_plan(plan, query_string);
    repeat_random_numbers();
    return plan;
}

static void repeat_and_process(PlannedStmt *statement, const char *query_string, bool read_only,
                               ProcessUtilityContext context, ParamListInfo params, QueryEnvironment *environment,
                               DestReceiver *destination, QueryCompletion *completion) {
    repeat_random_numbers();
    if (previous_utility_hook != nullptr)
        previous_utility_hook(statement, query_string, read_only, context, params, environment, destination,
                              completion);
    else
        standard_ProcessUtility(statement, query_string, read_only, context, params, environment, destination,
                                completion);
}

void _PG_init(void) {
    DefineCustomStringVariable("plan_log.directory", "Where plans are written down.", nullptr, &directory, "",
                               PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
    previous_hook = planner_hook;
    planner_hook = plan_and_log;
    previous_utility_hook = ProcessUtility_hook;
    ProcessUtility_hook = repeat_and_process;
}

} // extern "C"
