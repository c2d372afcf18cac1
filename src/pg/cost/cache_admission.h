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

// A device path has been made for which PostgreSQL has a path that costs `otherwise`. `missing_columns`: of MissingColumns *.
void request_admission(Cost otherwise, Cost cost, const List *missing_columns);

// A device path that brings these, of MissingColumns *, has become a part of the attempt's plan.
void note_bought(const List *missing_columns);

// How much has been noted of a statement, by attempts to plan it. What decide_admission is given is what begin_admission answered; with
// an error between them, the next statement of the backend begins anew (`outermost`).
struct AdmissionNotes {
    int requests, bought;
};
AdmissionNotes begin_admission(bool outermost);
struct OuterAttempt {
    unsigned attempt;
    AdmissionNotes notes;
};
// What is noted is of this attempt until it ends; if it has not come to a plan, it is forgotten.
OuterAttempt begin_attempt(unsigned attempt);
void end_attempt(OuterAttempt outer, bool planned);
// The statement's plan is this one, of `attempt`, and costs so much.
void decide_admission(AdmissionNotes first, unsigned attempt, const PlannedStmt *plan, Cost cost);

} // namespace gpuscan
