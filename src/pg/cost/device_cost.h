// What a fragment costs on a device, in the planner's units. The one place that knows rates.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

// Reading one source: a relation's pages into columns, or a CPU plan's rows.
struct SourceWork {
    bool is_relation;
    double pages;         // relation
    double visible_share; // of the pages that are all-visible
    double rows;          // before the filters
    double columns;       // that are looked at
    double conjuncts;
    double child_cost; // CPU plan: what PostgreSQL says it costs
    double child_rows;
};

Cost device_source_cost(const SourceWork *work);
Cost device_build_cost(double rows);                 // rows put into a hash table
Cost device_probe_cost(double rows, double entries); // rows looked up in a table of so many entries

// Every row is looked at with every entry.
Cost device_pairs_cost(double rows, double entries);

// The second pass of a right or full join, over the entries that were no row's partner.
Cost device_unmet_cost(double entries);
Cost device_aggregate_cost(double rows, double groups, int keys, int aggregates);
Cost device_regroup_cost(double groups); // groups that are grouped once more

// Rows that leave the device.
struct RowsWork {
    double rows;
    double columns;
    double bytes;              // of a row
    double dictionary_entries; // that the backend needs to show texts
};

Cost device_rows_cost(const RowsWork *work); // before the first row is shown
Cost emit_rows_cost(const RowsWork *work);   // making tuples of them
Cost device_sort_cost(const RowsWork *work); // putting them in order

Cost device_setup_cost(int nsources, int nlookups);

// Entries of dictionaries, each column's counted: see plan/text_work.cpp.
struct TextWork {
    double read;      // numbered when the columns are read
    double native;    // for which the device evaluates an expression itself; it keeps what comes out
    double evaluated; // for which PostgreSQL evaluates one
    double shown;     // that the backend needs to show groups
    Cost calls;       // what PostgreSQL says that calling functions for `evaluated` costs, where it is more than LIKE
    int demands;      // expressions of which the device first collects what they need (engine/demand.hpp)
};

Cost device_text_cost(const TextWork *work);
// May a column have so many different texts of so many bytes? With more the device gives up.
bool dictionary_fits(double entries, double width);

} // namespace gpuscan
