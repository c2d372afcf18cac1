// A subtransaction around expressions that may fail; see attempt.h.
//
// It is rolled back in any case. What has been called has changed nothing, so there is nothing to keep, and a commit begins with
// CommandCounterIncrement(), which raises an error in parallel mode if the statement writes (CREATE TABLE AS).
#include "pg/exec/attempt.h"

namespace gpuscan {

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
        const int category = ERRCODE_TO_CATEGORY(error->sqlerrcode);
        if (category == ERRCODE_OPERATOR_INTERVENTION || category == ERRCODE_INSUFFICIENT_RESOURCES)
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
