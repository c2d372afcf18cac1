// Which values have a column's rows, drawn at random from its statistics?
//
// The most common values come as often as they occur, and NULL does. Between two bounds of a histogram, numbers and times are drawn at random; of
// other types the bounds themselves are the sample, in random order. Random draws, since the bounds of a column without gaps lie at equal
// distances, and a step function of them may be all different, or all the same.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

struct ColumnDraws {
    const Var *column;
    VariableStatData statistics;
    double null_share, distinct;
    double order;                   // correlation of the values with the order of the table's rows, -1 to 1
    AttStatsSlot common, histogram; // without values if there are none of the column's type
    bool has_values;                // either of them has, or there are none but NULL
    double from,
        to; // positions in the histogram between which values are drawn: the number of a bound, and a part of the next step
    int *bounds; // in random order: those of the histogram, where nothing can be made between them
    int taken;   // ... of which so many have been drawn
};

// Looks up the column's statistics, which are to be released. False: there are none, or not for the user.
bool examine_column(PlannerInfo *root, Var *column, ColumnDraws *draws);

// What a row of the columns is like, domains as their base types.
TupleDesc row_of(const ColumnDraws *columns, int ncolumns);

// Reads the values. To be called in the memory context in which they are drawn.
void read_statistics(ColumnDraws *draws);

// Draws from the part of the histogram only that may hold values that pass, as far as it is one part of it.
void narrow(ColumnDraws *draws, bool (*passes)(void *context, Datum value), void *context);

// The part of the histogram that values are drawn from, 0 to 1.
double drawn_part(const ColumnDraws *draws);

// One that is neither NULL nor a common value. `place` of the row in its table is 0 to 1, or negative: this value decides, if it follows the
// order. False: they have all been drawn.
bool draw_from_histogram(ColumnDraws *draws, pg_prng_state *random, double *place, Datum *value);

// Any: as often NULL, or a common value, as it is one.
bool draw_value(ColumnDraws *draws, pg_prng_state *random, double *place, Datum *value, bool *is_null);

} // namespace gpuscan
