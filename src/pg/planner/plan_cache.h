// Plans of statements that come again just as they were. A dashboard sends the same text every few seconds, and to plan it may take
// longer than a device needs for the answer.
//
// PostgreSQL keeps the plans of prepared statements; here it is done for a text that is sent again, with the same values of its parameters,
// under the same settings, by the same user, in one session. The rules are those of plancache.c: the plan's relations are locked, then it is
// looked whether any catalog has said meanwhile that it changed. More is asked than there, since whoever sends a text expects a plan of now:
// the tables and what is cached of them are as large as they were (cost/planning_inputs.h), no execution of it has fallen back since, and the
// plan is a minute old at most.
//
// Only plans in which a device takes part are kept, of a text that comes for the second time, whose functions are all PostgreSQL's own:
// a user's function that calls itself immutable is evaluated by each planning, and may answer otherwise. Other libraries that take part in
// planning (planner_hook) are not asked for a kept plan; what they are told by settings makes another plan of it.
#pragma once

#include "pg/pg.h"

#include <string_view>

#include "pg/cost/planning_inputs.h"

namespace gpuscan {

void plan_cache_init(); // by _PG_init

// What the planner is called with.
struct SentStatement {
    const Query *query;
    std::string_view text; // of this statement alone
    ParamListInfo values;  // of parameters; NULL: none, or a plan for whatever they are
    int options;
    uint64 hash; // of text and values
};

// `source`: the text that the statement is a part of.
SentStatement sent_statement(const Query *query, const char *source, ParamListInfo values, int options);

// A statement's planning of which the plan may be kept: what begin_plan_to_cache() notes, in the current memory context.
struct PlanToCache;

// A copy of the plan that is kept for the statement, ready to be executed. NULL: it has to be planned.
PlannedStmt *cached_plan(const SentStatement *sent);

// Before the planner, which scribbles on it, gets the query of an outermost statement. NULL: the plan will not be kept.
PlanToCache *begin_plan_to_cache(const SentStatement *sent);

// What its planning is to note its inputs in; NULL of NULL.
PlanningInputs *inputs_of(const PlanToCache *planned);

// The statement has been planned, and a device takes part. `planned`: may be NULL.
void cache_plan(PlanToCache *planned, const SentStatement *sent, const PlannedStmt *plan);

} // namespace gpuscan
