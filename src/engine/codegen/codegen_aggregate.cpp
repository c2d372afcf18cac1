// How do rows become groups? A group is an entry of 64-bit words: the number of its rows, then the components of every
// aggregate. All of them are merged by addition, by maximum or bit by bit, so threads, blocks and passes merge alike.
//
// aggregate_plan gives the components their words. Each row finds its entry (find_entry) and adds itself to it (update).
// Without keys a thread keeps its sums in registers and blocks reduce them (thread_end); what a block keeps in shared
// memory is told in codegen_block.cpp, the forms of tables in codegen.hpp.
#include "engine/codegen/codegen_generator.hpp"

namespace gpuscan::codegen {

void Generator::aggregate_plan() {
    unsigned next = 1;
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &a = aggregate(i);
        Components parts;
        if (a.arg != none && nullable(a.arg))
            parts.count = next++;
        if (a.kind == AggregateKind::Sum) {
            parts.value = next;
            const SumKind kind = request_.group.sums[i];
            next +=
                kind == SumKind::Digits || (kind == SumKind::Halves && request_.group.grouping == GroupingKind::None)
                    ? 4
                : kind == SumKind::Narrow ? 1
                                          : 2;
        } else if (a.kind == AggregateKind::LongSum) {
            parts.value = next;
            next += 3;
        } else if (a.kind == AggregateKind::Min || a.kind == AggregateKind::Max) {
            parts.value = next;
            next += program_.exprs[a.arg].type == Type::I128 ? 3 : 1;
        } else if (is_bitwise(a.kind)) {
            parts.value = next++;
        }
        kernel_.components.push_back(parts);
    }
    kernel_.entry_words = next;
    unsigned words = 0;
    bool null = false;
    for (Index i = 0; i < keys_.count; ++i) {
        const Index key = list(keys_, i);
        kernel_.key_nullable.push_back(nullable(key));
        null = null || nullable(key);
        words += program_.exprs[key].type == Type::I128 ? 2 : 1;
    }
    const GroupingKind grouping = request_.group.grouping;
    kernel_.key_words = grouping == GroupingKind::Hash   ? 1
                        : grouping == GroupingKind::Wide ? 1 + words + (null ? 1 : 0)
                                                         : 0;
    // A slot of three words would lie in two sectors of 32 bytes every other time.
    const unsigned slot = kernel_.key_words + kernel_.entry_words;
    kernel_.slot_words = kernel_.key_words != 0 && slot == 3 ? 4 : slot;
    if (in_block())
        block_plan();
}

void Generator::aggregate_start() {
    if (request_.group.count_only) {
        line("__shared__ uint32_t sketch[" + to_string(sketch_registers) + "];");
        line("sketch_start<" + to_string(sketch_registers) + ">(sketch);");
        return;
    }
    if (request_.group.grouping != GroupingKind::None) {
        line("uint64_t *const table = (uint64_t *)" + word(kernel_.sink + AggregateWords::table) + ";");
        if (kernel_.key_words != 0)
            line("uint32_t fresh = 0;");
        if (in_block())
            block_start();
        return;
    }
    line("uint64_t rows = 0;");
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const string n = to_string(i);
        if (kernel_.components[i].count != 0)
            line("uint64_t count" + n + " = 0;");
        if (aggregate(i).kind == AggregateKind::Sum) {
            static const char *const types[] = {"int64_t", "i128", "Digits", "double"};
            const SumKind kind = request_.group.sums[i];
            line(string(types[static_cast<int>(kind)]) + " sum" + n + (kind == SumKind::Digits ? ";" : " = 0;"));
            if (kind == SumKind::Double)
                line("uint64_t odd" + n + " = 0;");
        } else if (aggregate(i).kind == AggregateKind::LongSum) {
            line("double sum" + n + " = 0, rest" + n + " = 0;");
            line("uint64_t odd" + n + " = 0;");
        } else if (kernel_.components[i].value != 0) {
            line(string(program_.exprs[aggregate(i).arg].type == Type::I128 ? "u128" : "uint64_t") + " best" + n +
                 " = 0;");
        }
    }
}

// What of a value is added to a bitwise state, which begins with 0: the bits that are missing where all are asked for.
string bits_word(AggregateKind kind, const string &v) {
    return string(kind == AggregateKind::BitAnd ? "~" : "") + "(uint64_t)(int64_t)" + v;
}

// ---- one row -----------------------------------------------------------------------------------------------------

// Adds the current row to aggregate i.
void Generator::update(Index i, Place place) {
    const Aggregate &a = aggregate(i);
    if (a.kind == AggregateKind::CountRows)
        return;
    const Components &parts = kernel_.components[i];
    const string n = to_string(i);
    if (a.kind == AggregateKind::Count && parts.count == 0 && !may_raise(a.arg))
        return; // as many as rows
    const ValueNames v = eval(a.arg);
    const bool guard = !v.n.empty();
    if (guard)
        open("if (!" + v.n + ")");
    auto entry = [](unsigned index) { return "entry + " + to_string(index); };
    auto add = [&](unsigned index, const string &value) { line("global_add(" + entry(index) + ", " + value + ");"); };
    if (place == Place::Block) {
        block_update(i, v);
    } else if (parts.count != 0) {
        if (place == Place::Thread)
            line("++count" + n + ";");
        else
            add(parts.count, "1");
    }
    if (place == Place::Block) {
    } else if (a.kind == AggregateKind::Sum) {
        const SumKind kind = request_.group.sums[i];
        if (place == Place::Thread) {
            if (kind == SumKind::Digits)
                line("sum" + n + ".add(" + v.v + ");");
            else
                line("sum" + n + " += " + v.v + ";");
            if (kind == SumKind::Double)
                line("odd" + n + " += odd_value(" + v.v + ");");
        } else if (kind == SumKind::Double) {
            line("if (odd_value(" + v.v + ")) global_add(" + entry(parts.value + 1) + ", odd_value(" + v.v + "));");
            line("global_add_double(" + entry(parts.value) + ", (double)" + v.v + ");");
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
    } else if (a.kind == AggregateKind::LongSum) {
        if (place == Place::Thread) {
            line("long_add(sum" + n + ", rest" + n + ", " + v.v + ");");
            line("odd" + n + " += odd_value(" + v.v + ");");
        } else {
            line("if (odd_value(" + v.v + ")) global_add(" + entry(parts.value + 2) + ", odd_value(" + v.v + "));");
            line("global_add_long((double *)(" + entry(parts.value) + "), " + v.v + ", 0);");
        }
    } else if (is_bitwise(a.kind)) {
        const string code = bits_word(a.kind, v.v);
        const bool exclusive = a.kind == AggregateKind::BitXor;
        if (place == Place::Thread)
            line("best" + n + (exclusive ? " ^= " : " |= ") + code + ";");
        else
            line((exclusive ? "global_xor(" : "global_or(") + entry(parts.value) + ", " + code + ");");
    } else if (parts.value != 0) {
        const bool wide = program_.exprs[a.arg].type == Type::I128;
        const string code = string(a.kind == AggregateKind::Min ? "~" : "") + "order_word(" + v.v + ")";
        if (place == Place::Thread)
            line("best" + n + " = Largest::apply(best" + n + (wide ? ", (u128)" : ", (uint64_t)") + code + ");");
        else
            line(string(wide ? "global_max_wide(" : "global_max(") + entry(parts.value) + ", " + code + ");");
    }
    if (guard)
        close();
}

// The group's number, or the one word of its key, as `group`: the sum of the keys' parts.
void Generator::group_number(const char *type) {
    string sum;
    for (Index i = 0; i < keys_.count; ++i) {
        const ValueNames v = eval(list(keys_, i));
        const unsigned at = kernel_.sink + AggregateWords::key(i);
        const string f = fresh("f");
        line(string("const ") + type + " " + f + " = " + (v.n.empty() ? "" : v.n + " ? 0 : ") + "(" + type +
             ")key_word(" + v.v + ") - (" + type + ")" + word(at) + ";");
        sum += (sum.empty() ? "" : " + ") + f + " * (" + type + ")" + word(at + 1);
    }
    line(string("const ") + type + " group = " + sum + ";");
}

// What identifies the row's group; opens a scope if that may fail.
void Generator::find_group() {
    const GroupingKind grouping = request_.group.grouping;
    if (grouping == GroupingKind::Wide) {
        const unsigned words = kernel_.key_words - 1;
        line("uint64_t key[" + to_string(words) + "];");
        unsigned at = 0;
        string nulls;
        for (Index i = 0; i < keys_.count; ++i) {
            const Index expr = list(keys_, i);
            const ValueNames v = eval(expr);
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
        line("const uint64_t hash = hash_words<" + to_string(words) + ">(key);");
    } else if (grouping == GroupingKind::Hash) {
        group_number("uint64_t");
        line("const uint64_t key = group | 0x8000000000000000ULL;");
        line("const uint64_t hash = sem::hash64(key);");
    } else {
        group_number("uint32_t");
        line("if (group >= (uint32_t)" + word(kernel_.sink + AggregateWords::extent) + ") flags |= status_bad_lookup;");
        open("else");
    }
}

std::vector<Index> Generator::distinct_values() const {
    std::vector<Index> values;
    for (size_t d = 0; d < request_.group.values.size(); ++d)
        values.push_back(
            list(pipeline_.keys, program_.distincts[pipeline_.distincts.first + static_cast<Index>(d)].key));
    return values;
}

// Notes which values the row's group has had.
void Generator::put_values() {
    const std::vector<Index> values = distinct_values();
    for (size_t d = 0; d < values.size(); ++d) {
        const bool by_bits = request_.group.values[d] == ValuesBy::Bits;
        const unsigned at = kernel_.sink + AggregateWords::values(keys_.count, d);
        const ValueNames v = eval(values[d]);
        const string place = fresh("place");
        if (!v.n.empty())
            open("if (!" + v.n + ")");
        line("uint64_t " + place + " = (uint64_t)key_word(" + v.v + ") - " + word(at + 1) + ";");
        line("if (" + place + " >= " + word(at + 2) + ") flags |= status_bad_lookup;");
        open("else");
        if (request_.group.grouping != GroupingKind::None)
            line(place + " += (uint64_t)group * " + word(by_bits ? at + 3 : at + 2) + ";");
        if (by_bits)
            line("global_or((uint64_t *)" + word(at) + " + (" + place + " >> 6), 1ULL << (" + place + " & 63));");
        else
            line("add_to_set((uint64_t *)" + word(at) + ", (uint32_t)" + word(at + 3) + ", " + place + ", status);");
        close();
        if (!v.n.empty())
            close();
    }
}

// Text that finds the group's entry in device memory, where `group`, or `key` and `hash`, say which it is.
string Generator::find_entry() {
    const GroupingKind grouping = request_.group.grouping;
    const string stride = to_string(kernel_.slot_words);
    if (grouping != GroupingKind::Hash && grouping != GroupingKind::Wide)
        return "table + (uint64_t)group * " + stride;
    return (grouping == GroupingKind::Hash ? string("find_group")
                                           : "find_group_wide<" + to_string(kernel_.key_words - 1) + ">") +
           "(table, " + stride + ", (uint32_t)" + word(kernel_.sink + AggregateWords::slots) +
           ", key, hash, fresh, status)";
}

// Adds the row to its group at `place`.
void Generator::row_into(Place place) {
    if (request_.group.combine && place == Place::Device) {
        row_with_peers();
        return;
    }
    if (place == Place::Block) {
        block_count(0);
    } else if (place == Place::Device) {
        line("uint64_t *const entry = " + find_entry() + ";");
        open("if (entry)");
        line("global_add(entry, 1);");
    }
    for (Index i = 0; i < pipeline_.aggregates.count; ++i)
        update(i, place);
    if (place == Place::Device)
        close();
}

// The rows that a warp has for one group at this moment, added up before one lane stores them. For counts and sums of up
// to 64 bits that cannot be NULL.
void Generator::row_with_peers() {
    line("const uint32_t peers = peers_of(group);");
    line("const bool leads = (peers & ((1u << (threadIdx.x & 31)) - 1)) == 0;");
    line("uint64_t *const entry = " + find_entry() + ";");
    line("if (leads) global_add(entry, (uint32_t)__popc((int)peers));");
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        if (aggregate(i).kind != AggregateKind::Sum)
            continue;
        const ValueNames v = eval(aggregate(i).arg);
        const string sum = fresh("w");
        line("const int64_t " + sum + " = peers_sum(peers, (int64_t)" + v.v + ");");
        line("if (leads) global_add(entry + " + to_string(kernel_.components[i].value) + ", (uint64_t)" + sum + ");");
    }
}

void Generator::aggregate_sink() {
    const GroupingKind grouping = request_.group.grouping;
    std::vector<Index> keys, args;
    for (Index i = 0; i < keys_.count; ++i)
        keys.push_back(list(keys_, i));
    for (Index i = 0; i < pipeline_.aggregates.count; ++i)
        if (aggregate(i).arg != none)
            args.push_back(aggregate(i).arg);
    if (!row_mode_) {
        std::vector<Index> all = keys;
        all.insert(all.end(), args.begin(), args.end());
        for (Index value : distinct_values())
            all.push_back(value);
        load_columns(all);
    }
    const bool side_by_side = !row_mode_ && (grouping == GroupingKind::None || request_.group.side_by_side);
    if (side_by_side) {
        if (grouping == GroupingKind::None)
            line("rows += (uint32_t)__popc(alive);");
        open_rows();
        open("if (alive >> r & 1)");
    } else {
        enter_row_mode();
        if (grouping == GroupingKind::None)
            line("++rows;");
    }
    if (grouping == GroupingKind::None) {
        put_values();
        row_into(Place::Thread);
        return;
    }
    find_group();
    put_values();
    if (request_.group.count_only) {
        line("sketch_add<" + to_string(sketch_registers) + ">(sketch, hash);");
        return;
    }
    if (grouping == GroupingKind::Hash || grouping == GroupingKind::Wide)
        open("if (in_part(hash, " + word(kernel_.sink + AggregateWords::parts) + ", " +
             word(kernel_.sink + AggregateWords::part) + "))");
    if (grouping == GroupingKind::Shared) {
        line("const uint32_t cell = group * " + to_string(request_.group.copies) + " + copy;");
        row_into(Place::Block);
        return;
    }
    if (request_.group.cells == 0) {
        row_into(Place::Device);
        return;
    }
    // Both arms use the arguments' values, so these come before.
    for (Index arg : args)
        eval(arg);
    find_cell();
    open("if (near)");
    row_into(Place::Block);
    close();
    open("else");
    row_into(Place::Device);
    close();
}

// ---- the end -----------------------------------------------------------------------------------------------------

// What is left to do when a block has no rows any more.
void Generator::aggregate_end() {
    if (request_.group.count_only)
        line("sketch_end<" + to_string(sketch_registers) + ">(sketch, (uint32_t *)" +
             word(kernel_.sink + AggregateWords::table) + ");");
    else if (request_.group.grouping == GroupingKind::None)
        thread_end();
    else if (in_block())
        block_end();
    if (kernel_.key_words != 0 && !request_.group.count_only)
        line("add_fresh((uint64_t *)" + word(kernel_.sink + AggregateWords::counter) + ", fresh);");
}

// The threads' registers are reduced, and added by one atomic per block and word.
void Generator::thread_end() {
    line("__shared__ i128 scratch[32];");
    line("uint64_t *const entry = (uint64_t *)" + word(kernel_.sink + AggregateWords::table) + ";");
    auto reduce = [this](const string &name, const char *operation) {
        line(name + " = block_reduce<" + operation + ">(" + name + ", scratch);");
    };
    auto store = [this](const string &name, const string &function, unsigned index, const char *cast = "") {
        line("if (speaks(" + name + ") && " + name + " != 0) " + function + "(entry + " + to_string(index) + ", " +
             cast + name + ");");
    };
    reduce("rows", "Plus");
    store("rows", "global_add", 0);
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &a = aggregate(i);
        const Components &parts = kernel_.components[i];
        const string n = to_string(i);
        if (parts.count != 0) {
            reduce("count" + n, "Plus");
            store("count" + n, "global_add", parts.count);
        }
        if (parts.value == 0)
            continue;
        if (is_bitwise(a.kind)) {
            const bool exclusive = a.kind == AggregateKind::BitXor;
            reduce("best" + n, exclusive ? "Differing" : "Either");
            store("best" + n, exclusive ? "global_xor" : "global_or", parts.value);
            continue;
        }
        if (a.kind == AggregateKind::LongSum) {
            line("if (warp_reduce_long(sum" + n + ", rest" + n + ")) global_add_long((double *)(entry + " +
                 to_string(parts.value) + "), sum" + n + ", rest" + n + ");");
            reduce("odd" + n, "Plus");
            store("odd" + n, "global_add", parts.value + 2);
            continue;
        }
        if (a.kind != AggregateKind::Sum) {
            const bool wide = program_.exprs[a.arg].type == Type::I128;
            reduce("best" + n, "Largest");
            store("best" + n, wide ? "global_max_wide" : "global_max", parts.value);
            continue;
        }
        switch (request_.group.sums[i]) {
        case SumKind::Digits:
            for (unsigned d = 0; d < 4; ++d) {
                const string digit = "sum" + n + ".digit[" + to_string(d) + "]";
                reduce(digit, "Plus");
                store(digit, "global_add", parts.value + d);
            }
            break;
        case SumKind::Double:
            reduce("sum" + n, "Plus");
            reduce("odd" + n, "Plus");
            store("odd" + n, "global_add", parts.value + 1);
            store("sum" + n, "global_add_double", parts.value);
            break;
        case SumKind::Narrow:
            reduce("sum" + n, "Plus");
            store("sum" + n, "global_add", parts.value, "(uint64_t)");
            break;
        case SumKind::Halves:
            reduce("sum" + n, "Plus");
            store("sum" + n, "add_digits", parts.value);
            break;
        }
    }
}

} // namespace gpuscan::codegen
