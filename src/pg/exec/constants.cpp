// The constants of one execution: parameters and stable expressions, evaluated once and written into the program.
//
// PostgreSQL evaluates such an expression for each row that gets to it, and if there is none it never raises the expression's
// error. Here that is not known yet. So an expression that could raise one is evaluated in a subtransaction, and if it does,
// PostgreSQL's own plan runs, which raises it or does not.
#include "pg/pg.h"

#include "pg/attempt.h"
#include "pg/catalog/encode.h"
#include "pg/exec/run.h"

namespace gpuscan {

namespace {

// A parameter's value, or a literal, as it is.
bool is_value(const Expr *expr) {
    while (IsA(expr, RelabelType))
        expr = reinterpret_cast<const RelabelType *>(expr)->arg;
    return IsA(expr, Const) || IsA(expr, Param);
}

struct Evaluation {
    FragmentRun *run;
    Expr *expr;
    ExprContext *econtext; // NULL: it has been freed
    Datum datum;
    bool null;
};

// The result is in the current memory context.
void evaluate_expression(void *argument) {
    Evaluation *e = static_cast<Evaluation *>(argument);
    const Oid type = exprType(reinterpret_cast<Node *>(e->expr));
    int16 length;
    bool by_value;
    get_typlenbyval(type, &length, &by_value);
    e->datum = ExecEvalExprSwitchContext(start_expression(e->run, e->expr), e->econtext, &e->null);
    if (!e->null)
        e->datum = datumCopy(e->datum, by_value, length);
    FreeExprContext(e->econtext, true);
    e->econtext = nullptr;
}

// False if the expression raised an error, other than that the query is to end.
bool evaluate(FragmentRun *run, Expr *expr, Datum *datum, bool *null) {
    // A context of its own: its callbacks end with the subtransaction.
    Evaluation e{run, expr, CreateExprContext(run->parent->state), 0, true};
    bool done = true;
    if (is_value(expr))
        evaluate_expression(&e);
    else
        done = attempt(evaluate_expression, &e, nullptr) == Attempt::Done;
    if (e.econtext != nullptr)
        FreeExprContext(e.econtext, false);
    *datum = e.datum;
    *null = e.null;
    return done;
}

} // namespace

char *program_with_constants(FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    char *program = static_cast<char *>(MemoryContextAlloc(run->context, fragment->program_size));
    memcpy(program, fragment->program, fragment->program_size);
    ir::Constant *constants = reinterpret_cast<ir::Constant *>(
        program + (reinterpret_cast<char *>(fragment->program_constants) - fragment->program));

    for (int i = 0; i < fragment->nconstants; ++i) {
        const FragmentConstant *from = &fragment->constants[i];
        ir::Constant *to = &constants[from->index];
        bool null;
        Datum datum;
        if (!evaluate(run, from->expr, &datum, &null)) {
            give_up(run, "an expression that every row would evaluate alike raises an error or sends a message");
            return nullptr;
        }
        to->type = from->type;
        to->null = null;
        to->low = 0;
        to->high = 0;
        if (null)
            continue;
        if (from->type == Type::Code &&
            run->unified_dictionaries[from->unified - 1].on_device) { // the device gives it its code
            UnifiedConstant *constant = &run->unified_constants[i];
            Size size;
            const char *bytes = bytes_of_datum(datum, get_typlen(from->typid), from->is_bpchar, &size);
            constant->is_set = true;
            constant->data = static_cast<char *>(MemoryContextAlloc(run->context, size + 1));
            constant->length = size;
            memcpy(constant->data, bytes, size);
            continue;
        }
        if (from->type == Type::Code) {
            to->low = unified_code_of_datum(run, from->unified, datum, get_typlen(from->typid), from->is_bpchar);
            continue;
        }
        ir::Value value;
        const char *reason = nullptr;
        bool encoded = from->rounding == Rounding::None
                           ? encode_value(datum, from->typid, from->type, from->scale, false, &value, &reason)
                           : encode_rounded(datum, from->type, from->scale, from->rounding, &value, &reason);
        if (!encoded) {
            give_up(run, "a parameter cannot be used on the device: %s", reason);
            return nullptr;
        }
        to->low = value.low;
        to->high = value.high;
    }
    return program;
}

} // namespace gpuscan
