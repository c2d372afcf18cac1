// A subtransaction around expressions that may fail; see attempt.h.
//
// It is rolled back in any case. What has been called has changed nothing, so there is nothing to keep, and a commit begins with
// CommandCounterIncrement(), which raises an error in parallel mode if the statement writes (CREATE TABLE AS).
#include "pg/exec/attempt.h"

namespace gpuscan {

// Somebody, or a timeout, has cancelled the statement, whoever was just computing. (An error of the same code that a function raises is
// the function's, and so are those of limits: PostgreSQL might compute neither.)
static bool is_interrupt(const ErrorData *error) {
    return error->sqlerrcode == ERRCODE_QUERY_CANCELED && error->funcname != nullptr &&
           strcmp(error->funcname, "ProcessInterrupts") == 0;
}

static bool succeeds(void (*work)(void *argument), void *argument, const char **message) {
    const MemoryContext context = CurrentMemoryContext;
    const ResourceOwner owner = CurrentResourceOwner;
    volatile bool done = false;
    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(context);
    PG_TRY();
    {
        work(argument);
        RollbackAndReleaseCurrentSubTransaction();
        done = true;
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        ErrorData *error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
        MemoryContextSwitchTo(context);
        CurrentResourceOwner = owner;
        if (is_interrupt(error))
            ReThrowError(error);
        if (message != nullptr)
            *message = error->message != nullptr ? pstrdup(error->message) : "";
        FreeErrorData(error);
    }
    PG_END_TRY();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
    return done;
}

Attempt attempt(void (*work)(void *argument), void *argument, const char **message) {
    int levels;
    if (!leave_parallel_mode(&levels))
        return Attempt::Impossible;
    const bool done = succeeds(work, argument, message);
    enter_parallel_mode(levels);
    return done ? Attempt::Done : Attempt::Failed;
}

} // namespace gpuscan
