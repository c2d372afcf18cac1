// In which form does a device hold a numeric whose type does not say how many digits it has?
//
// numeric without precision and scale, or of more digits than 128 bits hold, is an integer scaled by what the column's statistics
// show; an expression has none and is taken for an amount. Both are guesses, so the decoders check each value. One that does not
// fit ends in the CPU plan, and is noted: the next plan takes a wider form, and the one after it none. ANALYZE begins anew with
// a column, a restart with an expression. So it is with 1.5 and 1.50 in one group, where PostgreSQL shows the one that came first.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct NumericForm {
    int precision; // decimal digits at most
    int32 scale;   // digits after the point
    bool mixed;    // not every value is shown with so many
    bool tied;     // an answer had equal values that are shown in different ways
    uint8 misfits; // how often a value has not fitted
};

// Which column of a table it is; the column of a CPU plan is none.
struct TableColumn {
    Oid relid;      // InvalidOid: none
    uint32 number;  // of the attribute, or of the expression (expression_number())
    bool inherited; // of a parent: its children's
};

// False without a reason: no form is known to hold the column's values.
bool find_numeric_form(const TableColumn &column, int32 typmod, NumericForm *form);

// Has it been met that a value of a column of numeric(precision, scale) does not fit, which is NaN?
bool has_unfit_numeric(const TableColumn &column);

// A value of the column did not fit into the form that was taken after so many misfits. (Several fragments of a plan that was made
// before, and several sessions, meet the same value: they are one misfit.)
void note_unfit_numeric(const TableColumn &column, uint8 misfits);

// An answer had to choose among equal values of the column that are shown in different ways. The next plans will not have to.
void note_tied_values(const TableColumn &column);
// Has that been, whatever type the column is of?
bool has_tied_values(const TableColumn &column);

} // namespace gpuscan
