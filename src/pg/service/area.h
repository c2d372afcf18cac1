// The shared area of the protocol: who makes it, and how its processes are told that something has changed.
#pragma once

#include "pg/pg.h"

#include "server/protocol.hpp"

namespace gpuscan {

void area_init(); // called by _PG_init while libraries are preloaded

// The area, or NULL in a server that has not preloaded the library.
protocol::Area *service_area();

// The supervisor has not come in the ten seconds since the server started: no background worker was left for it.
bool supervisor_is_missing();

// The file that holds a relation.
inline protocol::Locator locator_of(Relation relation) {
    return {locator_tablespace(relation->rd_locator), locator_database(relation->rd_locator),
            locator_relation(relation->rd_locator)};
}

// Copies the settings that the device process obeys; called by the postmaster and by the supervisor.
void area_publish_settings(protocol::Area *area);

// Waits until the process has ended and its memory is free (a zombie's is), at most so long. True if it is gone.
bool wait_until_gone(pid_t pid, int milliseconds);

} // namespace gpuscan
