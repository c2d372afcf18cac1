// How do rows become a join table? A kernel only appends the rows that pass to arrays, one per key and payload column,
// with their NULL flags; the table is built from those when their ranges are known (cuda/join_build.cpp). A row whose key
// has a NULL joins nothing and is left out.
#include "engine/codegen_generator.hpp"

namespace gpuscan::codegen {

void Generator::build_sink() {
    std::vector<Index> exprs;
    for (Index i = 0; i < pipeline_.keys.count; ++i)
        exprs.push_back(list(pipeline_.keys, i));
    for (Index i = 0; i < pipeline_.payload.count; ++i)
        exprs.push_back(list(pipeline_.payload, i));
    if (!row_mode_)
        load_columns(exprs);
    enter_row_mode();
    string present;
    for (Index i = 0; i < pipeline_.keys.count; ++i) {
        const Value key = eval(exprs[i]);
        kernel_.key_nullable.push_back(!key.n.empty());
        if (!key.n.empty())
            present += (present.empty() ? "!" : " && !") + key.n;
    }
    if (!present.empty()) // a NULL key never matches
        open("if (" + present + ")");
    const unsigned first = kernel_.sink;
    std::vector<Value> values;
    for (Index expr : exprs)
        values.push_back(eval(expr));
    line("const uint64_t at = append((uint64_t *)" + word(first) + ");");
    open("if (at < " + word(first + 1) + ")");
    for (size_t i = 0; i < exprs.size(); ++i) {
        const char *type = stored_type(program_.exprs[exprs[i]].type);
        const bool key = i < pipeline_.keys.count;
        const unsigned at = first + 2 +
                            (key ? static_cast<unsigned>(i)
                                 : pipeline_.keys.count + 2 * static_cast<unsigned>(i - pipeline_.keys.count));
        line(string("((") + type + " *)" + word(at) + ")[at] = " + values[i].v + ";");
        if (key)
            continue;
        kernel_.payload_nullable.push_back(!values[i].n.empty());
        if (!values[i].n.empty())
            line("((uint8_t *)" + word(at + 1) + ")[at] = " + values[i].n + ";");
    }
}

} // namespace gpuscan::codegen
