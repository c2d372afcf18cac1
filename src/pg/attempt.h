// Evaluating what may raise an error, where an error only means that PostgreSQL's own plan has to run.
#pragma once

#include "pg/pg.h"

namespace gpuscan {

enum class Attempt {
    Done,
    Failed, // an error was raised, or a message for the client was about to be sent
    Impossible, // no attempt was made: a server with assertions runs workers (leave_parallel_mode), a deferred trigger runs at the
                // transaction's end, or trial.cpp refuses
};

// Calls `work` with `argument` in a subtransaction, in the current memory context, and is in that context again afterwards. What
// the expressions' parameters stand for must have been evaluated before (evaluate_params). The subtransaction is rolled back in any
// case, so `work` must end what it began (the callbacks of an ExprContext), and change nothing outside of memory. It may come to its end
// and have failed all the same, so what it has computed counts only if Done comes back.
// `message` (unless NULL): what the error said, in the current memory context.
// Two errors are raised again: a cancelled query is cancelled, and what a parallel worker of a plan around the attempt sends is that
// plan's. In a subtransaction a conflict with a standby's recovery ends the session, not the statement (ProcessInterrupts), so `work`
// must be short there.
Attempt attempt(void (*work)(void *argument), void *argument, const char **message);

// Calls `work` where nothing but PostgreSQL's own functions of values are called: no subtransaction, so also in a parallel worker. What such a
// function holds when it raises an error (memory, pins, locks of TOAST and catalogs) its resource owner knows. False: it has raised one,
// or was about to send a message, and the current memory context is what it was. The errors that attempt() raises again are raised again.
bool attempt_own_functions(void (*work)(void *argument), void *argument);

// Whoever tells the client something of his own in one would end it.
bool is_attempt_running();

} // namespace gpuscan
