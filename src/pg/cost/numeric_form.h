// In which form does a device hold a numeric whose type does not say how many digits it has?
//
// numeric without precision and scale, or of more digits than 128 bits hold, is an integer scaled by what the column's statistics
// show. They are a sample, so the decoders check each value. One that does not fit ends in the CPU plan, and is noted: the next plan
// takes a wider form, and the one after it none. ANALYZE begins anew.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct NumericForm {
    int precision; // decimal digits at most
    int32 scale;   // digits after the point
    bool mixed;    // not every value is shown with so many
};

// Of a column of a relation (inherited: and of its children). False without a reason: no form is known to hold its values.
bool find_numeric_form(Oid relid, AttrNumber attnum, bool inherited, int32 typmod, NumericForm *form);

// A value of the column did not fit into the form.
void note_unfit_numeric(Oid relid, AttrNumber attnum, bool inherited);

} // namespace gpuscan
