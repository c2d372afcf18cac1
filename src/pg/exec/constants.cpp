// The constants of one execution: parameters and stable expressions, evaluated once and written into the program.
#include "pg/exec/encode.h"
#include "pg/exec/run.h"

namespace gpuscan {

char *program_with_constants(FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    char *program = static_cast<char *>(MemoryContextAlloc(run->context, fragment->program_size));
    memcpy(program, fragment->program, fragment->program_size);
    ir::Constant *constants = reinterpret_cast<ir::Constant *>(
        program + (reinterpret_cast<char *>(fragment->program_constants) - fragment->program));

    for (int i = 0; i < fragment->nconstants; ++i) {
        const FragmentConstant *from = &fragment->constants[i];
        ir::Constant *to = &constants[from->index];
        ExprState *state = ExecInitExpr(from->expr, run->parent);
        bool null;
        Datum datum = ExecEvalExprSwitchContext(state, run->econtext, &null);

        to->type = from->type;
        to->null = null;
        to->low = 0;
        to->high = 0;
        if (null)
            continue;
        if (from->type == Type::Code && run->spaces[from->space - 1].on_device) { // the device gives it its code
            SpaceConstant *constant = &run->space_constants[i];
            Size size;
            const char *bytes = bytes_of_datum(datum, get_typlen(from->typid), from->is_bpchar, &size);
            constant->is_set = true;
            constant->data = static_cast<char *>(MemoryContextAlloc(run->context, size + 1));
            constant->length = size;
            memcpy(constant->data, bytes, size);
            continue;
        }
        if (from->type == Type::Code) {
            to->low = space_code_of_datum(run, from->space, datum, get_typlen(from->typid), from->is_bpchar);
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
