// What a planning has found that changes without PostgreSQL telling anybody (an invalidation): sizes of tables, and what gpuscan's shared
// memory says of the cache and of earlier executions. Whoever keeps a plan (pg/planner/plan_cache.h) asks later whether all that still holds.
//
// So whoever looks at such a figure while a statement is planned does it by planning_input(): what is asked another way makes plans that are
// kept longer than they should be. (How busy a device is changes too often to be asked again.)
#pragma once

#include "pg/pg.h"

#include <string_view>

namespace gpuscan {

// What is asked: its meaning is the function's.
struct FigureKey {
    uint32 words[4];
    int device; // as in protocol::Area
};
inline FigureKey key_of_64(uint64 number, int device = 0) {
    return {{static_cast<uint32>(number), static_cast<uint32>(number >> 32)}, device};
}
inline uint64 key_64(const FigureKey &key) { return uint64(key.words[1]) << 32 | key.words[0]; }

using Figure = uint64 (*)(const FigureKey &key);

struct PlanningInput {
    Figure figure;
    FigureKey key;
    Oid table;    // that has to be locked to ask; or invalid
    uint64 slack; // that the figure may change by, beside a tenth of it
    uint64 value;
};

struct PlanningInputs {
    PlanningInput *all; // each as often as somebody has asked
    int count;
    int sizes, next_size; // of a copy: the last ones are sizes of tables, and which of them is looked at next
    uint32 generation, config_version; // of the device process and of its settings
    uint32 ready;                      // which devices were, as bits
    uint64 statement;                  // as statement_hash()
    uint32 surprises;                  // that its executions had met
};

// The figure now, which is noted where somebody wants that.
uint64 planning_input(Figure figure, const FigureKey &key);
uint64 planning_input_of_table(Figure figure, Oid table, uint64 slack); // whose key has the table's OID
void note_table_size(Oid relid); // that planning has looked at it; the table is locked

// From now on notes go there (NULL: nowhere), and their memory is of the context it lies in. Returns where they went before.
PlanningInputs *note_planning_inputs(PlanningInputs *to);

// The statement of `text` that a Query or a PlannedStmt has these of.
std::string_view statement_text(const char *text, int location, int length);
uint64 statement_hash(std::string_view text);

// Without figures yet, for the planning of a statement.
PlanningInputs *new_planning_inputs(uint64 statement);

// A copy, each note once, in the current memory context; of tables only those of these (OIDs).
PlanningInputs *copy_planning_inputs(const PlanningInputs *inputs, const List *tables);

// An execution has met what the plan of the statement did not expect (a fallback): it is planned anew.
void note_surprise(uint64 statement);

// Are they, to a tenth, what a planning would find now? The tables are locked. Of many, some are looked at each time, in turn.
bool still_hold(PlanningInputs *inputs);

} // namespace gpuscan
