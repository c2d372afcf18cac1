// The boundary between C++ and PostgreSQL: no C++ exception may leave a callback, no ereport may skip a destructor.
//
// Outward: a callback's body that uses C++ (std::, the engine's client) runs inside guarded(); exceptions are copied,
// the try block is left, and only then ereport is raised. Inward: code inside guarded() calls no PostgreSQL function
// that can ereport while an object with a destructor is alive; the PostgreSQL side therefore keeps palloc'ed plain
// data and most callbacks need no guard at all.
#pragma once

#include "pg/pg.h"

#include <cstdio>
#include <exception>

namespace gpuscan {

// Runs body(); an exception becomes ereport(ERROR) after every C++ frame has been left.
template <typename Body> void guarded(Body &&body) {
    char message[512];
    bool failed = false;
    try {
        body();
    } catch (const std::exception &error) {
        strlcpy(message, error.what(), sizeof message);
        failed = true;
    } catch (...) {
        strlcpy(message, "unknown C++ exception", sizeof message);
        failed = true;
    }
    if (failed)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg_internal("gpuscan: %s", message)));
}

} // namespace gpuscan
