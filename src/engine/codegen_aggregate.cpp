// How do rows become groups? A group is an entry of 64-bit words: the number of its rows, then the components of every
// aggregate. All of them are merged by addition or by maximum, so threads, blocks and passes merge alike.
//
// aggregate_plan gives the components their words. Each row finds its entry (group_entry) and adds itself to it (update).
// Without keys a thread keeps its sums in registers, with few groups a block has copies of the table in shared memory;
// aggregate_end merges those into the one in device memory. The forms of tables are told in codegen.hpp.
#include "engine/codegen_generator.hpp"

namespace gpuscan::codegen {

void Generator::aggregate_plan() {
    unsigned next = 1;
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
        Components parts;
        if (aggregate.arg != none && nullable(aggregate.arg))
            parts.count = next++;
        if (aggregate.kind == AggregateKind::Sum) {
            parts.value = next;
            const SumKind kind = request_.group.sums[i];
            next += kind == SumKind::Digits || (kind == SumKind::Halves && request_.group.grouping == Grouping::None)
                        ? 4
                    : kind == SumKind::Narrow ? 1
                                              : 2;
        } else if (aggregate.kind == AggregateKind::Min || aggregate.kind == AggregateKind::Max) {
            parts.value = next;
            next += program_.exprs[aggregate.arg].type == Type::I128 ? 3 : 1;
        }
        kernel_.components.push_back(parts);
    }
    kernel_.entry_words = next;
    unsigned words = 0;
    bool null = false;
    for (Index i = 0; i < pipeline_.keys.count; ++i) {
        const Index key = list(pipeline_.keys, i);
        kernel_.key_nullable.push_back(nullable(key));
        null = null || nullable(key);
        words += program_.exprs[key].type == Type::I128 ? 2 : 1;
    }
    kernel_.key_words = words + (null ? 1 : 0);
}

void Generator::aggregate_start() {
    const Grouping grouping = request_.group.grouping;
    if (grouping == Grouping::None) {
        line("uint64_t rows = 0;");
        for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
            const string n = to_string(i);
            const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
            if (kernel_.components[i].count != 0)
                line("uint64_t count" + n + " = 0;");
            if (aggregate.kind == AggregateKind::Sum) {
                static const char *const types[] = {"int64_t", "i128", "Digits", "double"};
                const SumKind kind = request_.group.sums[i];
                line(string(types[static_cast<int>(kind)]) + " sum" + n + (kind == SumKind::Digits ? ";" : " = 0;"));
                if (kind == SumKind::Double)
                    line("uint64_t odd" + n + " = 0;");
            } else if (kernel_.components[i].value != 0) {
                line(string(program_.exprs[aggregate.arg].type == Type::I128 ? "u128" : "uint64_t") + " best" + n +
                     " = 0;");
            }
        }
        return;
    }
    line("uint64_t *const table = (uint64_t *)" + word(kernel_.sink + AggregateWords::table) + ";");
    if (grouping == Grouping::Shared) {
        const string words = to_string(kernel_.entry_words * request_.group.copies);
        line("const uint32_t extent = (uint32_t)" + word(kernel_.sink + AggregateWords::extent) + ";");
        line("const uint32_t copy = threadIdx.x & " + to_string(request_.group.copies - 1) + ";");
        line("for (uint32_t i = threadIdx.x; i < extent * " + words + "; i += blockDim.x) shared_table[i] = 0;");
        line("__syncthreads();");
    }
}

string Generator::component(const string &entry, unsigned index) const {
    const unsigned step = request_.group.grouping == Grouping::Shared ? request_.group.copies : 1;
    return "(" + entry + " + " + to_string(index * step) + ")";
}

// Adds the current row to aggregate i of the group at `entry` (no group: to the thread's registers).
void Generator::update(Index i, const string &entry) {
    const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
    if (aggregate.kind == AggregateKind::CountRows)
        return;
    const Grouping grouping = request_.group.grouping;
    const bool shared = grouping == Grouping::Shared;
    const Components &parts = kernel_.components[i];
    const string n = to_string(i);
    auto add = [&](unsigned index, const string &v) {
        const string at = component(entry, index);
        if (shared)
            line("shared_add((uint32_t *)" + at + ", (uint32_t *)" + at + " + 1, " + v + ");");
        else
            line("global_add(" + at + ", " + v + ");");
    };
    if (aggregate.kind == AggregateKind::Count && parts.count == 0 && !may_raise(aggregate.arg))
        return; // as many as rows
    const Value v = eval(aggregate.arg);
    const bool guard = !v.n.empty();
    if (guard)
        open("if (!" + v.n + ")");
    if (parts.count != 0) {
        if (grouping == Grouping::None)
            line("++count" + n + ";");
        else
            add(parts.count, "1");
    }
    const string type = shared ? "shared" : "global";
    if (aggregate.kind == AggregateKind::Sum) {
        const SumKind kind = request_.group.sums[i];
        if (grouping == Grouping::None) {
            if (kind == SumKind::Digits)
                line("sum" + n + ".add(" + v.v + ");");
            else
                line("sum" + n + " += " + v.v + ";");
            if (kind == SumKind::Double)
                line("odd" + n + " += !is_finite(" + v.v + ");");
        } else if (kind == SumKind::Double) {
            open("if (!is_finite(" + v.v + "))");
            add(parts.value + 1, "1");
            close();
            if (shared)
                line("shared_add_double((double *)" + component(entry, parts.value) + ", (double)" + v.v + ");");
            else
                line("global_add_double(" + component(entry, parts.value) + ", (double)" + v.v + ");");
        } else if (kind == SumKind::Narrow) {
            add(parts.value, "(uint64_t)(int64_t)" + v.v);
        } else if (kind == SumKind::Halves) {
            add(parts.value, "(uint32_t)(int64_t)" + v.v);
            add(parts.value + 1, "(uint64_t)((int64_t)" + v.v + " >> 32)");
        } else {
            const string wide = fresh("w");
            line("const i128 " + wide + " = " + v.v + ";");
            add(parts.value, "(uint32_t)" + wide);
            add(parts.value + 1, "(uint32_t)(" + wide + " >> 32)");
            add(parts.value + 2, "(uint32_t)(" + wide + " >> 64)");
            add(parts.value + 3, "(uint64_t)(int64_t)(" + wide + " >> 96)");
        }
    } else if (parts.value != 0) {
        const bool wide = program_.exprs[aggregate.arg].type == Type::I128;
        const string code = string(aggregate.kind == AggregateKind::Min ? "~" : "") + "order_word(" + v.v + ")";
        if (grouping == Grouping::None)
            line("best" + n + " = Largest::apply(best" + n + (wide ? ", (u128)" : ", (uint64_t)") + code + ");");
        else if (wide)
            line("global_max_wide(table + (uint64_t)group * " + to_string(kernel_.entry_words) + " + " +
                 to_string(parts.value) + ", " + code + ");");
        else
            line(type + "_max(" + component(entry, parts.value) + ", " + code + ");");
    }
    if (guard)
        close();
}

// Finds the row's group: `entry` points at its first word.
void Generator::group_entry() {
    const Grouping grouping = request_.group.grouping;
    const unsigned first = kernel_.sink;
    if (grouping == Grouping::Wide) {
        line("uint64_t key[" + to_string(kernel_.key_words) + "];");
        unsigned at = 0;
        string nulls;
        for (Index i = 0; i < pipeline_.keys.count; ++i) {
            const Index expr = list(pipeline_.keys, i);
            const Value v = eval(expr);
            const string null = v.n.empty() ? "" : v.n + " ? 0 : ";
            if (program_.exprs[expr].type == Type::I128) {
                line("key[" + to_string(at++) + "] = " + null + "(uint64_t)" + v.v + ";");
                line("key[" + to_string(at++) + "] = " + null + "(uint64_t)(" + v.v + " >> 64);");
            } else {
                line("key[" + to_string(at++) + "] = " + null + "key_word(" + v.v + ");");
            }
            if (!v.n.empty())
                nulls += (nulls.empty() ? "" : " | ") + ("(uint64_t)" + v.n) + " << " + to_string(i);
        }
        if (!nulls.empty())
            line("key[" + to_string(at) + "] = " + nulls + ";");
        line("const uint32_t group = find_group_wide<" + to_string(kernel_.key_words) + ">((uint32_t *)" +
             word(first + AggregateWords::states) + ", (uint64_t *)" + word(first + AggregateWords::keys) +
             ", (uint32_t)" + word(first + AggregateWords::mask) + ", key, (uint64_t *)" +
             word(first + AggregateWords::counter) + ", " + word(first + AggregateWords::limit) + ", status);");
        open("if (group != no_match)");
        line("uint64_t *const entry = table + (uint64_t)group * " + to_string(kernel_.entry_words) + ";");
        return;
    }
    const string type = grouping == Grouping::Hash ? "uint64_t" : "uint32_t";
    string sum;
    for (Index i = 0; i < pipeline_.keys.count; ++i) {
        const Value v = eval(list(pipeline_.keys, i));
        const unsigned at = first + AggregateWords::key(i);
        const string f = fresh("f");
        line("const " + type + " " + f + " = " + (v.n.empty() ? "" : v.n + " ? 0 : ") + "(" + type + ")key_word(" +
             v.v + ") - (" + type + ")" + word(at) + ";");
        sum += (sum.empty() ? "" : " + ") + f + " * (" + type + ")" + word(at + 1);
    }
    if (grouping == Grouping::Hash) {
        line("const uint64_t key = (" + sum + ") | 0x8000000000000000ULL;");
        line("const uint32_t group = find_group((uint64_t *)" + word(first + AggregateWords::keys) + ", (uint32_t)" +
             word(first + AggregateWords::mask) + ", key, (uint64_t *)" + word(first + AggregateWords::counter) + ", " +
             word(first + AggregateWords::limit) + ", status);");
        open("if (group != no_match)");
        line("uint64_t *const entry = table + (uint64_t)group * " + to_string(kernel_.entry_words) + ";");
        return;
    }
    line("const uint32_t group = " + sum + ";");
    line("if (group >= (uint32_t)" + word(first + AggregateWords::extent) + ") flags |= status_bad_lookup;");
    open("else");
    if (grouping == Grouping::Shared)
        line("uint64_t *const entry = shared_table + group * " +
             to_string(kernel_.entry_words * request_.group.copies) + " + copy;");
    else
        line("uint64_t *const entry = table + (uint64_t)group * " + to_string(kernel_.entry_words) + ";");
}

void Generator::aggregate_sink() {
    const Grouping grouping = request_.group.grouping;
    std::vector<Index> exprs;
    for (Index i = 0; i < pipeline_.keys.count; ++i)
        exprs.push_back(list(pipeline_.keys, i));
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
        if (aggregate.arg != none)
            exprs.push_back(aggregate.arg);
    }
    if (!row_mode_)
        load_columns(exprs);
    if (grouping == Grouping::None && !row_mode_) {
        line("rows += (uint32_t)__popc(alive);");
        open_rows();
        open("if (alive >> r & 1)");
        for (Index i = 0; i < pipeline_.aggregates.count; ++i)
            update(i, "");
        close();
        close_rows();
        return;
    }
    enter_row_mode();
    if (grouping == Grouping::None) {
        line("++rows;");
        for (Index i = 0; i < pipeline_.aggregates.count; ++i)
            update(i, "");
        return;
    }
    group_entry();
    if (grouping == Grouping::Shared)
        line("shared_add((uint32_t *)entry, (uint32_t *)entry + 1, 1);");
    else
        line("global_add(entry, 1);");
    for (Index i = 0; i < pipeline_.aggregates.count; ++i)
        update(i, "entry");
}

// What is left to do when a block has no rows any more.
void Generator::aggregate_end() {
    const Grouping grouping = request_.group.grouping;
    if (grouping != Grouping::None && grouping != Grouping::Shared)
        return;
    if (grouping == Grouping::None) {
        line("__shared__ i128 scratch[32];");
        line("uint64_t *const entry = (uint64_t *)" + word(kernel_.sink + AggregateWords::table) + ";");
        line("rows = block_reduce<Plus>(rows, scratch);");
        line("if (threadIdx.x == 0 && rows) global_add(entry, rows);");
    } else {
        line("__syncthreads();");
        open("for (uint32_t g = threadIdx.x; g < extent; g += blockDim.x)");
        line("uint64_t *const from = shared_table + g * " + to_string(kernel_.entry_words * request_.group.copies) +
             ";");
        line("uint64_t *const entry = table + (uint64_t)g * " + to_string(kernel_.entry_words) + ";");
    }
    // One word of the group: all copies together, then one atomic.
    const string copies = to_string(request_.group.copies);
    auto merge = [&](unsigned index, const char *type, const char *combine, const char *store) {
        line("{");
        ++depth_;
        line(string(type) + " v = 0;");
        line("for (uint32_t i = 0; i < " + copies + "; ++i) v = " + combine + "(v, *(const " + type + " *)(from + " +
             to_string(index * request_.group.copies) + " + i));");
        line(string("if (v != 0) ") + store + "(entry + " + to_string(index) + ", v);");
        close();
    };
    if (grouping == Grouping::Shared)
        merge(0, "uint64_t", "Plus::apply", "global_add");
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &aggregate = program_.aggregates[pipeline_.aggregates.first + i];
        const Components &parts = kernel_.components[i];
        const string n = to_string(i);
        const SumKind kind = request_.group.sums[i];
        if (parts.count != 0) {
            if (grouping == Grouping::Shared) {
                merge(parts.count, "uint64_t", "Plus::apply", "global_add");
            } else {
                line("count" + n + " = block_reduce<Plus>(count" + n + ", scratch);");
                line("if (threadIdx.x == 0 && count" + n + ") global_add(entry + " + to_string(parts.count) +
                     ", count" + n + ");");
            }
        }
        if (parts.value == 0)
            continue;
        const string at = "entry + " + to_string(parts.value);
        if (aggregate.kind != AggregateKind::Sum) {
            const bool wide = program_.exprs[aggregate.arg].type == Type::I128;
            if (grouping == Grouping::Shared) {
                if (wide) // stands in device memory only
                    continue;
                merge(parts.value, "uint64_t", "Largest::apply", "global_max");
            } else {
                line("best" + n + " = block_reduce<Largest>(best" + n + ", scratch);");
                line(string("if (threadIdx.x == 0) ") + (wide ? "global_max_wide(" : "global_max(") + at + ", best" +
                     n + ");");
            }
        } else if (grouping == Grouping::Shared) {
            const unsigned words = kind == SumKind::Digits ? 4 : kind == SumKind::Halves ? 2 : 1;
            if (kind == SumKind::Double)
                merge(parts.value + 1, "uint64_t", "Plus::apply", "global_add");
            for (unsigned w = 0; w < words; ++w)
                merge(parts.value + w, kind == SumKind::Double ? "double" : "uint64_t", "Plus::apply",
                      kind == SumKind::Double ? "global_add_double" : "global_add");
        } else if (kind == SumKind::Digits) {
            for (int d = 0; d < 4; ++d) {
                const string digit = "sum" + n + ".digit[" + to_string(d) + "]";
                line(digit + " = block_reduce<Plus>(" + digit + ", scratch);");
                line("if (threadIdx.x == 0) global_add(" + at + " + " + to_string(d) + ", " + digit + ");");
            }
        } else {
            line("sum" + n + " = block_reduce<Plus>(sum" + n + ", scratch);");
            if (kind == SumKind::Double) {
                line("odd" + n + " = block_reduce<Plus>(odd" + n + ", scratch);");
                line("if (threadIdx.x == 0 && odd" + n + ") global_add(" + at + " + 1, odd" + n + ");");
            }
            if (kind == SumKind::Double)
                line("if (threadIdx.x == 0) global_add_double(" + at + ", sum" + n + ");");
            else if (kind == SumKind::Narrow)
                line("if (threadIdx.x == 0) global_add(" + at + ", (uint64_t)sum" + n + ");");
            else
                line("if (threadIdx.x == 0) add_digits(" + at + ", sum" + n + ");");
        }
    }
    if (grouping == Grouping::Shared)
        close();
}

} // namespace gpuscan::codegen
