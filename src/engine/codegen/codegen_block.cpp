// What does a block keep in shared memory? Copies of groups, so that neither a popular group nor a popular bank makes a
// queue: after Sitaridi & Ross, "Ameliorating Memory Contention of OLAP Operators on GPU Processors", sections 2 and 3.
//
// They place copies by the data, once, when it is loaded, and write the copy's place into the column. We cannot rewrite a
// heap, so a thread's copy is that of its lane: with 32 copies no two lanes of a warp ever meet, with fewer they share.
//
//   Shared   every group has its cells here; the group's number says where
//   cells    too many groups for that: a cell belongs to the first group of the block that asks for it (its tag), what
//            finds its bucket of four cells taken goes to device memory. Frequent groups ask early, so the skew that would
//            queue up at one address of device memory ends in the block.
//
// One part of all cells is a plane, an array by group and copy: neighbouring groups and copies lie in neighbouring banks.
// Planes of 64 bits come first. Sums are chains of 32-bit words with carry (runtime.cuh: block_sum), counters one word,
// because no block sees 2^32 rows in one launch unless rows are multiplied by joins. At its end the block adds its cells
// to the groups in device memory.
#include "engine/codegen/codegen_generator.hpp"

namespace gpuscan::codegen {

namespace {

bool narrow_order(Type type) {
    return type == Type::Bool || type == Type::I16 || type == Type::I32 || type == Type::Code;
}

unsigned sum_planes(SumKind kind) { return kind == SumKind::Narrow ? 2 : kind == SumKind::Halves ? 3 : 5; }

} // namespace

void Generator::block_plan() {
    count_planes_ = kernel_.loops ? 2 : 1;
    narrow_ = count_planes_; // plane 0: rows
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &a = aggregate(i);
        BlockParts parts;
        auto take = [](unsigned &planes, unsigned count) {
            planes += count;
            return planes - count;
        };
        if (kernel_.components[i].count != 0)
            parts.count = take(narrow_, count_planes_);
        if (a.kind == AggregateKind::Sum) {
            const SumKind kind = request_.group.sums[i];
            if (kind == SumKind::Double) {
                parts.value = take(wide_, 1);
                parts.odd = take(narrow_, 2);
            } else {
                parts.value = take(narrow_, sum_planes(kind));
            }
        } else if (a.kind == AggregateKind::LongSum) {
            parts.value = take(wide_, 2);
            parts.odd = take(narrow_, 2);
        } else if (a.kind == AggregateKind::Min || a.kind == AggregateKind::Max) {
            const Type type = program_.exprs[a.arg].type;
            if (narrow_order(type))
                parts.value = take(narrow_, 1);
            else if (type != Type::I128) // those stand in device memory only
                parts.value = take(wide_, 1);
        } else if (is_bitwise(a.kind)) {
            parts.value = take(wide_, 1);
        }
        block_.push_back(parts);
    }
    kernel_.cell_bytes = 8 * wide_ + 4 * narrow_;
    if (request_.group.cells != 0)
        kernel_.tag_bytes = request_.group.grouping == GroupingKind::Hash ? 8 : 4;
}

void Generator::block_start() {
    const GroupShape &group = request_.group;
    const string copies = to_string(group.copies);
    if (group.cells == 0)
        line("const uint32_t plane = (uint32_t)" + word(kernel_.sink + AggregateWords::extent) + " * " + copies + ";");
    else
        line("const uint32_t plane = " + to_string(group.cells * group.copies) + ";");
    line("const uint32_t copy = threadIdx.x & " + to_string(group.copies - 1) + ";");
    string narrow = "wide + " + to_string(wide_) + " * plane";
    if (group.cells != 0 && group.grouping == GroupingKind::Hash) {
        line("uint64_t *const tags = " + narrow + ";");
        narrow = "tags + " + to_string(group.cells);
    }
    line("uint32_t *const narrow = (uint32_t *)(" + narrow + ");");
    if (group.cells != 0 && group.grouping != GroupingKind::Hash)
        line("uint32_t *const tags = narrow + " + to_string(narrow_) + " * plane;");
    if (wide_ != 0)
        line("for (uint32_t i = threadIdx.x; i < " + to_string(wide_) + " * plane; i += blockDim.x) wide[i] = 0;");
    line("for (uint32_t i = threadIdx.x; i < " + to_string(narrow_) + " * plane; i += blockDim.x) narrow[i] = 0;");
    if (group.cells != 0)
        line("for (uint32_t i = threadIdx.x; i < " + to_string(group.cells) + "; i += blockDim.x) tags[i] = 0;");
    line("__syncthreads();");
}

string Generator::wide_cell(unsigned plane, const string &cell) const {
    return "wide + " + to_string(plane) + " * plane + " + cell;
}
string Generator::narrow_cell(unsigned plane, const string &cell) const {
    return "narrow + " + to_string(plane) + " * plane + " + cell;
}

// Has the row's group a cell here (`near`), and which?
void Generator::find_cell() {
    const bool hash = request_.group.grouping == GroupingKind::Hash;
    const string buckets = to_string(request_.group.cells / 4 - 1);
    line(string("const uint32_t place = claim_cell(tags, ") +
         (hash ? "(uint32_t)hash & " + buckets + ", key" : "(group * 0x9e3779b1u) >> 12 & " + buckets + ", group + 1") +
         ");");
    line("const bool near = place != no_match;");
    line("const uint32_t cell = place * " + to_string(request_.group.copies) + " + copy;");
}

void Generator::block_count(unsigned plane) {
    if (count_planes_ == 1)
        line("atomicAdd(" + narrow_cell(plane, "cell") + ", 1u);");
    else
        line("block_sum<2>(" + narrow_cell(plane, "cell") + ", plane, (uint32_t)1);");
}

void Generator::block_update(Index i, const ValueNames &v) {
    const Aggregate &a = aggregate(i);
    const BlockParts &parts = block_[i];
    if (kernel_.components[i].count != 0)
        block_count(parts.count);
    auto count_odd = [&] {
        line("if (odd_value(" + v.v + ")) atomicAdd(" + narrow_cell(parts.odd, "cell") + " + (is_finite(" + v.v +
             ") ? 0 : plane), 1u);");
    };
    if (a.kind == AggregateKind::LongSum) {
        line("block_add_long((double *)(" + wide_cell(parts.value, "cell") + "), plane, " + v.v + ");");
        count_odd();
    } else if (a.kind == AggregateKind::Sum) {
        const SumKind kind = request_.group.sums[i];
        if (kind == SumKind::Double) {
            line("atomicAdd((double *)(" + wide_cell(parts.value, "cell") + "), (double)" + v.v + ");");
            count_odd();
        } else {
            line("block_sum<" + to_string(sum_planes(kind)) + ">(" + narrow_cell(parts.value, "cell") + ", plane, (" +
                 (kind == SumKind::Digits ? "i128" : "int64_t") + ")" + v.v + ");");
        }
    } else if (is_bitwise(a.kind)) {
        line(string(a.kind == AggregateKind::BitXor ? "global_xor(" : "global_or(") + wide_cell(parts.value, "cell") +
             ", " + bits_word(a.kind, v.v) + ");");
    } else if (a.kind == AggregateKind::Min || a.kind == AggregateKind::Max) {
        const Type type = program_.exprs[a.arg].type;
        const string flip = a.kind == AggregateKind::Min ? "~" : "";
        if (type == Type::I128)
            line("global_max_wide(" + find_entry() + " + " + to_string(kernel_.components[i].value) + ", " + flip +
                 "order_word(" + v.v + "));");
        else if (narrow_order(type))
            line("block_max(" + narrow_cell(parts.value, "cell") + ", " + flip + "order_half(" + v.v + "));");
        else
            line("block_max((unsigned long long *)(" + wide_cell(parts.value, "cell") + "), (unsigned long long)" +
                 flip + "order_word(" + v.v + "));");
    }
}

// Adds the block's cells, all copies of a group together, to the groups in device memory. The loop over the copies stays one loop: this
// runs once for each block, and a loop for each plane, unrolled, took long to compile.
void Generator::block_end() {
    const GroupShape &group = request_.group;
    const string copies = to_string(group.copies);
    line("__syncthreads();");
    const string groups =
        group.cells == 0 ? "(uint32_t)" + word(kernel_.sink + AggregateWords::extent) : to_string(group.cells);
    open("for (uint32_t place = threadIdx.x; place < " + groups + "; place += blockDim.x)");
    line("const uint32_t cell = place * " + copies + ";");
    std::vector<string> steps, stores; // for each copy, and for the group
    // The sum, or the largest, of one plane over the copies.
    auto gather = [&](const string &name, const string &type, const string &start, const string &more) {
        line(type + " " + name + " = " + start + ";");
        steps.push_back(more + ";");
    };
    auto store = [&](const string &text) { stores.push_back(text); };
    auto count = [&](const string &name, unsigned plane) {
        gather(name, "uint64_t", "0",
               name + " += " +
                   (count_planes_ == 1 ? "*(" + narrow_cell(plane, "c") + ")"
                                       : "(uint64_t)block_value<2>(" + narrow_cell(plane, "c") + ", plane)"));
    };
    count("rows", 0);
    for (Index i = 0; i < pipeline_.aggregates.count; ++i) {
        const Aggregate &a = aggregate(i);
        const Components &to = kernel_.components[i];
        const BlockParts &from = block_[i];
        const string n = to_string(i);
        if (to.count != 0) {
            count("count" + n, from.count);
            store("if (count" + n + ") global_add(entry + " + to_string(to.count) + ", count" + n + ");");
        }
        if (to.value == 0)
            continue;
        const string at = "entry + " + to_string(to.value);
        const string v = "v" + n;
        if (is_bitwise(a.kind)) {
            const bool exclusive = a.kind == AggregateKind::BitXor;
            gather(v, "uint64_t", "0", v + (exclusive ? " ^= *(" : " |= *(") + wide_cell(from.value, "c") + ")");
            store("if (" + v + ") " + (exclusive ? "global_xor(" : "global_or(") + at + ", " + v + ");");
            continue;
        }
        auto add_odd = [&](const string &to_odd) {
            gather("odd" + n, "uint64_t", "0",
                   "odd" + n + " += *(" + narrow_cell(from.odd, "c") + ") + *(" + narrow_cell(from.odd + 1, "c") +
                       ") * odd_infinite");
            store("if (odd" + n + ") global_add(" + to_odd + ", odd" + n + ");");
        };
        if (a.kind == AggregateKind::LongSum) {
            line("double sum" + n + " = 0, rest" + n + " = 0;");
            steps.push_back("long_add(sum" + n + ", rest" + n + ", *(double *)(" + wide_cell(from.value, "c") +
                            ")); rest" + n + " += *(double *)(" + wide_cell(from.value + 1, "c") + ");");
            store("global_add_long((double *)(" + at + "), sum" + n + ", rest" + n + ");");
            add_odd(at + " + 2");
            continue;
        }
        if (a.kind != AggregateKind::Sum) {
            const Type type = program_.exprs[a.arg].type;
            if (type == Type::I128)
                continue;
            const bool narrow = narrow_order(type);
            const string half = narrow ? "uint32_t" : "uint64_t";
            gather(v, half, "0",
                   v + " = Largest::apply(" + v + ", *(" +
                       (narrow ? narrow_cell(from.value, "c") : wide_cell(from.value, "c")) + "))");
            if (narrow) {
                const bool min = a.kind == AggregateKind::Min;
                const string code = min ? "~" + v : v;
                store("global_max(" + at + ", " + (min ? "~" : "") +
                      (type == Type::I16 || type == Type::I32 ? "order_word((int32_t)(" + code + " ^ 0x80000000u))"
                                                              : "(uint64_t)(" + code + ")") +
                      ");");
            } else {
                store("global_max(" + at + ", " + v + ");");
            }
            continue;
        }
        switch (request_.group.sums[i]) {
        case SumKind::Narrow:
            gather(v, "uint64_t", "0", v + " += (uint64_t)block_value<2>(" + narrow_cell(from.value, "c") + ", plane)");
            store("if (" + v + ") global_add(" + at + ", " + v + ");");
            break;
        case SumKind::Halves:
            gather(v, "i128", "0", v + " += block_value<3>(" + narrow_cell(from.value, "c") + ", plane)");
            store("global_add(" + at + ", (uint32_t)" + v + ");");
            store("global_add(" + at + " + 1, (uint64_t)(" + v + " >> 32));");
            break;
        case SumKind::Digits:
            for (unsigned d = 0; d < 4; ++d) {
                const string digit = v + "_" + to_string(d);
                const string part = "*(" + narrow_cell(from.value + d, "c") + ")";
                gather(
                    digit, "uint64_t", "0",
                    digit + " += " +
                        (d < 3 ? part : "(uint64_t)block_value<2>(" + narrow_cell(from.value + d, "c") + ", plane)"));
                store("if (" + digit + ") global_add(" + at + " + " + to_string(d) + ", " + digit + ");");
            }
            break;
        case SumKind::Double:
            gather(v, "double", "0", v + " += *(double *)(" + wide_cell(from.value, "c") + ")");
            store("global_add_double(" + at + ", " + v + ");");
            add_odd(at + " + 1");
            break;
        }
    }
    line("#pragma unroll 1");
    open("for (uint32_t c = cell; c < cell + " + copies + "; ++c)");
    for (const string &step : steps)
        line(step);
    close();
    line("if (rows == 0) continue;");
    if (group.cells == 0) {
        line("const uint32_t group = place;");
    } else if (group.grouping == GroupingKind::Hash) {
        line("const uint64_t key = tags[place];");
        line("const uint64_t hash = sem::hash64(key);");
    } else {
        line("const uint32_t group = tags[place] - 1;");
    }
    line("uint64_t *const entry = " + find_entry() + ";");
    line("if (!entry) continue;");
    line("global_add(entry, rows);");
    for (const string &text : stores)
        line(text);
    close();
}

} // namespace gpuscan::codegen
