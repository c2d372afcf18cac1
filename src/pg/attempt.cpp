// A subtransaction around expressions that may fail; see attempt.h.
//
// It is rolled back in any case. What has been called has changed nothing, so there is nothing to keep, and a commit begins with
// CommandCounterIncrement(), which raises an error in parallel mode if the statement writes (CREATE TABLE AS).
#include "pg/attempt.h"

namespace gpuscan {

// Somebody, or a timeout, has cancelled the statement, whoever was just computing. (An error of the same code that a function raises is
// the function's, and so are those of limits: PostgreSQL might compute neither.)
static bool is_interrupt(const ErrorData *error) {
    return error->sqlerrcode == ERRCODE_QUERY_CANCELED && error->funcname != nullptr &&
           strcmp(error->funcname, "ProcessInterrupts") == 0;
}

// Parallel workers of the plan around the attempt may send an error, which is raised here when the leader happens to look for their
// messages. It is the query's, not the work's. HandleParallelMessage raises it in the error context in which that plan started its
// workers, and never calls what the attempt has put on top of that. So an error that comes through here is the work's. hide_ctx is
// the mark: only the server's log reads it, and the log does not see a caught error.
static void mark_own_error(const ErrorData *error) {
    if (error->elevel >= ERROR)
        errhidecontext(true);
}

// What is seen of the reports of an attempt's work.
struct Watch {
    MemoryContext context;
    bool has_sent; // it would have told the client something: it has failed, whatever it has made of the error
};

constexpr const char *sends_message = "it sends a message";

// What is told to the client cannot be taken back, and PostgreSQL might not call the function that tells it, or call it more often. So
// the attempt ends before it is sent, and PostgreSQL's plan sends it. (LOG and DEBUG are about the server, and come from everywhere in it.)
// A function that catches all errors lets this one pass: EXCEPTION WHEN OTHERS leaves a cancelled query cancelled.
static void send_nothing(const ErrorData *message, Watch *watch) {
    if (message->elevel < INFO || message->elevel >= ERROR)
        return;
    watch->has_sent = true;
    ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg_internal("%s", sends_message)));
}

// errfinish() calls it for an error before it is raised, and for a message before it is sent.
static void see_report(void *argument) {
    Watch *watch = static_cast<Watch *>(argument);
    if (CritSectionCount > 0)
        return; // no memory may be asked for, and what is raised ends the server
    MemoryContext old = MemoryContextSwitchTo(watch->context);
    ErrorData *report = CopyErrorData();
    mark_own_error(report);
    send_nothing(report, watch);
    FreeErrorData(report);
    MemoryContextSwitchTo(old);
}

static bool is_own_error(const ErrorData *error) { return error->hide_ctx; }

static int running = 0; // attempts, one within the other

bool is_attempt_running() { return running > 0; }

// NULL, or the error.
static ErrorData *run_in_subtransaction(void (*work)(void *argument), void *argument, bool parallel, Watch *watch) {
    const MemoryContext context = watch->context;
    const ResourceOwner owner = CurrentResourceOwner;
    ErrorData *volatile error = nullptr;
    ErrorContextCallback callback = {error_context_stack, see_report, watch};
    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(context);
    ++running;
    PG_TRY();
    {
        error_context_stack = &callback;
        if (parallel)
            EnterParallelMode(); // what is forbidden in it stays so
        work(argument);
        error_context_stack = callback.previous;
        RollbackAndReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
    }
    PG_END_TRY();
    --running;
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
    return error;
}

// Deferred triggers run when the transaction ends, after the last statement. A server with assertions wants no subtransaction
// rolled back then.
static bool in_deferred_trigger() {
    LOCAL_FCINFO(call, 0);
    InitFunctionCallInfoData(*call, nullptr, 0, InvalidOid, nullptr, nullptr);
    return ActivePortal == nullptr && DatumGetInt32(pg_trigger_depth(call)) > 0;
}

Attempt attempt(void (*work)(void *argument), void *argument, const char **message) {
    int levels;
    if (in_deferred_trigger() || !leave_parallel_mode(&levels))
        return Attempt::Impossible;
    Watch watch{CurrentMemoryContext, false};
    ErrorData *error = run_in_subtransaction(work, argument, levels > 0, &watch);
    enter_parallel_mode(levels);
    if (error == nullptr && !watch.has_sent)
        return Attempt::Done;
    if (error != nullptr && (!is_own_error(error) || is_interrupt(error))) {
        error->hide_ctx = false;
        ReThrowError(error);
    }
    if (message != nullptr)
        *message = watch.has_sent ? sends_message : error->message != nullptr ? pstrdup(error->message) : "";
    if (error != nullptr)
        FreeErrorData(error);
    return Attempt::Failed;
}

// ... or a standby's recovery has: whatever the code is, it is the statement's.
static bool is_of_statement(const ErrorData *error) {
    return error->funcname != nullptr && (strcmp(error->funcname, "ProcessInterrupts") == 0 ||
                                          strncmp(error->funcname, "ProcessRecoveryConflict", 23) == 0);
}

bool attempt_own_functions(void (*work)(void *argument), void *argument) {
    const MemoryContext context = CurrentMemoryContext;
    const ResourceOwner outer = CurrentResourceOwner;
    const ResourceOwner owner = ResourceOwnerCreate(outer, "gpuscan functions");
    ErrorData *volatile error = nullptr;
    Watch watch{context, false};
    ErrorContextCallback callback = {error_context_stack, see_report, &watch};
    CurrentResourceOwner = owner;
    PG_TRY();
    {
        error_context_stack = &callback;
        work(argument);
        error_context_stack = callback.previous;
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        error = CopyErrorData();
        FlushErrorState();
        LWLockReleaseAll(); // (as AbortSubTransaction does)
        UnlockBuffers();
    }
    PG_END_TRY();
    ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
    ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, false, false);
    ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
    CurrentResourceOwner = outer;
    ResourceOwnerDelete(owner);
    MemoryContextSwitchTo(context);
    if (error != nullptr && (!is_own_error(error) || is_of_statement(error))) {
        error->hide_ctx = false;
        ReThrowError(error);
    }
    if (error == nullptr)
        return !watch.has_sent;
    FreeErrorData(error);
    return false;
}

} // namespace gpuscan
