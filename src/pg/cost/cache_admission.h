// Whether a query shall pay for bringing columns into the device's cache; see engine/store/admission_credits.hpp.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

void cache_admission_init(); // by _PG_init

// Bringing what a device path needs of a relation and the cache does not have.
struct MissingColumns {
    Oid relid;
    const Bitmapset *columns; // of it
    Cost price;               // of bringing it
    Cost saved; // the part of the price that earlier queries would have saved by now; no part of the path's cost
};

// Between them plans are not made to be run: they leave no credit.
void cache_admission_pause();
void cache_admission_resume();

// What queries would have saved so far if the relation had been cached, in the planner's units.
Cost admission_credit(Oid relid);

void add_admission_credit(Oid relid, Cost credit);

// A relation's columns (InvalidOid: everybody's) have been thrown out on purpose: begins anew.
void forget_admission_credit(Oid relid);

// A device path has been made for which PostgreSQL has a path that costs `otherwise`, but is `forced`. `missing_columns`: of
// MissingColumns *.
void request_admission(Cost otherwise, Cost cost, bool forced, const List *missing_columns);

// Requests of a statement, by attempts to plan it. What decide_admission answers is what begin_admission answered; with an error between
// them, the next statement of the backend begins anew (`outermost`).
int begin_admission(bool outermost);
struct OuterAttempt {
    unsigned attempt;
    int requests;
};
// Requests are of this attempt until it ends; if it has not come to a plan, they are forgotten.
OuterAttempt begin_attempt(unsigned attempt);
void end_attempt(OuterAttempt outer, bool planned);
// The statement's plan is this one, of `attempt`, and costs so much. Returns whether it leaves a credit, so that planning it again may come
// to another plan.
bool decide_admission(int first, unsigned attempt, const PlannedStmt *plan, bool on_device, Cost cost);

} // namespace gpuscan
