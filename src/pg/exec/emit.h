// The groups of a finished run as Datums.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

// Some groups, unpacked.
struct GroupPage {
    uint64 ngroups;
    const ir::Value *keys;            // ngroups * nkeys
    const uint8 *key_nulls;           // ngroups * nkeys
    const ir::AggregateState *states; // ngroups * naggregates
};

// Are there values of this output that PostgreSQL would not show, or show differently?
bool has_unfit_values(const FragmentOutput *output);
// All of the groups can be shown as PostgreSQL would show them; false: see failure. To be asked before the first one is shown.
bool groups_can_be_shown(FragmentRun *run, const GroupPage *page);

// The rank of the text that the output shows for a group (rank_lookup); false: NULL.
bool rank_of_group(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group,
                   uint32 *rank);

// The code of the text that the output shows for a group; false: NULL.
bool code_of_group(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, uint64 group,
                   uint32 *code);

// Is each value a numeric of the same scale? Then show_groups() writes it where it is told to.
bool shows_plain_numeric(const FragmentOutput *output);

// One output of all groups of a page: group i's goes to datums[i * stride], nulls[i * stride]. `numerics`: room for
// numeric_room bytes a group where shows_plain_numeric(), else NULL. Other values may be palloc'ed.
void show_groups(const FragmentRun *run, const GroupPage *page, const FragmentOutput *output, int stride, Datum *datums,
                 bool *nulls, char *numerics);

} // namespace gpuscan
