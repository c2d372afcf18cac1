// Classes of queries in which defects have been found, each a generator of its own. `prepare` makes what a class needs; a round
// asks one query or a few, and makes tables anew now and then.
#pragma once

#include "world.hpp"

namespace fuzz {

struct Class {
    const char *name;
    void (*prepare)(World &);
    void (*round)(World &);
};

// Expressions of 10 to 80 parts, wide or deep.
void prepare_deep(World &);
void deep_round(World &);
// Equality and orders by other operators than a type's own; enums.
void prepare_orders(World &);
void orders_round(World &);
// Init plans, and functions that raise or have side effects, some of which nothing needs.
void prepare_moments(World &);
void moments_round(World &);
// Cursors and prepared statements with settings, roles, writes and DDL in between.
void prepare_cursors(World &);
void cursors_round(World &);
// Old snapshots beside DDL of another session.
void prepare_snapshots(World &);
void snapshots_round(World &);
// Row-level security: two tables that differ in hidden rows only, and a user who must not see which is which.
void prepare_hidden(World &);
void hidden_round(World &);
// Chosen texts: nearly equal ones, 255 to 257 of them, lengths around those that are stored otherwise.
void prepare_texts(World &);
void texts_round(World &);

} // namespace fuzz
