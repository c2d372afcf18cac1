// See execution_form.h. A program says of a column only its type, and of a lookup only which column it reads. So the columns are part of
// the form, the functions of lookups, and the tables of plans that bring rows; of constants nothing.
#include "pg/exec/execution_form.h"

#include "pg/fragment/column_form.h"

namespace gpuscan {
namespace {

struct Form {
    uint64 hash;

    void add(const void *bytes, Size size) {
        hash = hash_bytes_extended(static_cast<const unsigned char *>(bytes), static_cast<int>(size), hash);
    }
    void add(uint32 number) { add(&number, sizeof number); }
};

void add_program(Form *form, const Fragment *fragment) {
    const ProgramHeader *header = reinterpret_cast<const ProgramHeader *>(fragment->program);
    const char *constants = reinterpret_cast<const char *>(fragment->program_constants);
    const Size before = static_cast<Size>(constants - fragment->program);
    const Size after = before + aligned(header->constants * sizeof(ir::Constant));
    form->add(fragment->program, before);
    form->add(fragment->program + after, fragment->program_size - after);
}

bool add_function(Oid funcid, void *form) {
    static_cast<Form *>(form)->add(funcid);
    return false;
}

bool add_functions(Node *node, void *form) {
    if (node == nullptr)
        return false;
    check_functions_in_node(node, add_function, form);
    return walk_expression(node, add_functions, form);
}

// Of all plans of the statement: among them are those that bring the rows of a source.
void add_tables(Form *form, const EState *state) {
    ListCell *cell;
    foreach (cell, state->es_range_table)
        if (const RangeTblEntry *rte = lfirst_node(RangeTblEntry, cell); rte->rtekind == RTE_RELATION)
            form->add(rte->relid);
}

} // namespace

uint64 execution_form(const FragmentRun *run) {
    const Fragment *fragment = run->fragment;
    Form form{MyDatabaseId};
    add_program(&form, fragment);
    bool has_plans = false;
    for (int i = 0; i < fragment->nsources; ++i) {
        const FragmentSource *source = &fragment->sources[i];
        has_plans = has_plans || !source->is_relation;
        for (int k = 0; k < run->relations[i].count; ++k)
            form.add(RelationGetRelid(run->relations[i].at[k].relation));
        for (int c = 0; c < source->columns.count; ++c)
            form.add(column_number(&source->columns.at[c]));
    }
    for (int i = 0; i < fragment->nlookups; ++i)
        add_functions(reinterpret_cast<Node *>(fragment->lookups[i].expr), &form);
    if (has_plans && run->parent != nullptr)
        add_tables(&form, run->parent->state);
    return form.hash != 0 ? form.hash : 1;
}

} // namespace gpuscan
