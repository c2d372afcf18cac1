// See build_fingerprints.h. What of a fragment its program does not say becomes hashes here.
//
// The trial when a path is priced and the fragment of its plan come from the same translator, so they differ in nothing
// that is hashed. Two plans of the same text need not be equal, though: what a table's rows carry depends on what is made of
// them, and such tables are different ones to the device, too.
#include "pg/pg.h"

#include "pg/fragment/build_fingerprints.h"

#include "device/semantics.cuh"
#include "engine/ir/build_fingerprint.hpp"
#include "engine/ir/program.hpp"
#include "engine/util/text_hash.hpp"
#include "pg/fragment/column_form.h"
#include "pg/translate/translate.h"

namespace gpuscan {
namespace {

uint64 mix(uint64 hash, uint32 a, uint32 b) { return sem::hash_combine(hash, uint64(a) << 32 | b); }

// A hash that stands for neither of the two special parts.
uint64 part(uint64 hash) { return hash == unknown_part || hash == value_of_program ? 1 : hash; }

uint64 *new_parts(int count) { return static_cast<uint64 *>(palloc0(sizeof(uint64) * (static_cast<Size>(count) + 1))); }

uint64 source_part(const FragmentSource *source, uint64 files) {
    if (!source->is_relation || files == 0)
        return unknown_part;
    uint64 hash = sem::hash_combine(files, source->leaves != NIL);
    for (int i = 0; i < source->columns.count; ++i) {
        const FragmentColumn *column = &source->columns[i];
        hash = mix(hash, column->typid, static_cast<uint32>(column->typmod));
        hash = mix(hash, column->collation, column_number(column));
    }
    return part(hash);
}

// ---- expressions ----

uint64 mix_datum(uint64 hash, const Const *value) {
    if (value->constisnull)
        return mix(hash, value->consttype, 1);
    hash = mix(hash, value->consttype, 0);
    if (value->constbyval)
        return sem::hash_combine(hash, value->constvalue);
    const Size size = datumGetSize(value->constvalue, false, value->constlen);
    return sem::hash_combine(hash, text_hash(DatumGetPointer(value->constvalue), size));
}

// What is a node's own, but for its place in the query's text. False: nobody knows that of this kind of node.
bool mix_fields(const Node *node, uint64 *hash) {
    switch (nodeTag(node)) {
    case T_Var: {
        const Var *var = reinterpret_cast<const Var *>(node);
        *hash = mix(*hash, static_cast<uint32>(var->varno), static_cast<uint32>(var->varattno));
        *hash = mix(*hash, var->vartype, var->varcollid);
        return true;
    }
    case T_Const:
        *hash = mix_datum(*hash, reinterpret_cast<const Const *>(node));
        return true;
    case T_RelabelType: {
        const RelabelType *relabel = reinterpret_cast<const RelabelType *>(node);
        *hash = mix(*hash, relabel->resulttype, relabel->resultcollid);
        return true;
    }
    case T_FuncExpr: {
        const FuncExpr *function = reinterpret_cast<const FuncExpr *>(node);
        *hash = mix(*hash, function->funcid, function->inputcollid);
        return true;
    }
    case T_OpExpr:
    case T_DistinctExpr:
    case T_NullIfExpr: {
        const OpExpr *op = reinterpret_cast<const OpExpr *>(node);
        *hash = mix(*hash, op->opno, op->inputcollid);
        return true;
    }
    case T_ScalarArrayOpExpr: {
        const ScalarArrayOpExpr *op = reinterpret_cast<const ScalarArrayOpExpr *>(node);
        *hash = mix(*hash, op->opno, op->inputcollid);
        *hash = mix(*hash, op->useOr, 0);
        return true;
    }
    case T_BoolExpr:
        *hash = mix(*hash, reinterpret_cast<const BoolExpr *>(node)->boolop, 0);
        return true;
    case T_NullTest:
        *hash = mix(*hash, reinterpret_cast<const NullTest *>(node)->nulltesttype, 0);
        return true;
    case T_BooleanTest:
        *hash = mix(*hash, reinterpret_cast<const BooleanTest *>(node)->booltesttype, 0);
        return true;
    case T_CoalesceExpr:
        *hash = mix(*hash, reinterpret_cast<const CoalesceExpr *>(node)->coalescetype, 0);
        return true;
    case T_CaseExpr:
        *hash = mix(*hash, reinterpret_cast<const CaseExpr *>(node)->casetype, 0);
        return true;
    case T_CaseWhen:
    case T_ArrayExpr:
        return true;
    default:
        return false;
    }
}

// A node with all that is below it. (nodeToString() takes ten times as long, and planning is not free.)
bool mix_node(Node *node, void *context) {
    uint64 *hash = static_cast<uint64 *>(context);
    if (node == nullptr) {
        *hash = mix(*hash, T_Invalid, 0);
        return false;
    }
    *hash = mix(*hash, static_cast<uint32>(nodeTag(node)), 1);
    if (!mix_fields(node, hash)) {
        char *text = nodeToString(node);
        *hash = sem::hash_combine(*hash, text_hash(text, strlen(text)));
        pfree(text);
        return false;
    }
    walk_expression(node, mix_node, context);
    *hash = mix(*hash, static_cast<uint32>(nodeTag(node)), 2); // the end of what is below it
    return false;
}

// ---- lookups and constants ----

// (No build reads a lookup of the main source, but texts of both may have their codes in one unified dictionary.)
uint64 lookup_part(const FragmentLookup *lookup) {
    if (lookup->source == 0 && lookup->unified == 0)
        return unknown_part;
    if (lookup->kind == LookupKind::Table)
        return part(text_hash(reinterpret_cast<const char *>(lookup->values), sizeof(int64) * lookup->nvalues));
    if (lookup->has_params || contain_mutable_functions(reinterpret_cast<Node *>(lookup->expr)))
        return unknown_part;
    uint64 hash = mix(0, static_cast<uint32>(lookup->kind), lookup->is_bpchar);
    hash = mix(hash, lookup->typid, static_cast<uint32>(lookup->type));
    hash = mix(hash, lookup->collation, 0);
    mix_node(reinterpret_cast<Node *>(lookup->expr), &hash);
    return part(hash);
}

// What numbers texts, which their codes in it depend on: all lookups that lead there. `lookups` are their parts.
uint64 *unified_parts(const Fragment *fragment, const uint64 *lookups) {
    uint64 *parts = new_parts(fragment->nunified);
    for (int i = 0; i < fragment->nlookups; ++i) {
        const FragmentLookup *lookup = &fragment->lookups[i];
        uint64 *unified = &parts[lookup->unified];
        if (lookup->unified == 0 || *unified == unknown_part)
            continue;
        const FragmentSource *source = &fragment->sources[lookup->source];
        if (!source->is_relation || lookups[i] == unknown_part)
            *unified = unknown_part;
        else
            *unified = part(sem::hash_combine(
                mix(*unified, source->relid, column_number(&source->columns[lookup->column])), lookups[i]));
    }
    return parts;
}

uint64 in_unified(uint64 hash, uint64 unified) {
    return hash == unknown_part || unified == unknown_part ? unknown_part : part(sem::hash_combine(hash, unified));
}

// What becomes a value only when the fragment runs: of texts that is known before, of parameters and what is stable it is not.
uint64 constant_part(const FragmentConstant *constant) {
    const Const *value = reinterpret_cast<const Const *>(strip_relabels(constant->expr));
    if (!IsA(value, Const))
        return unknown_part;
    uint64 hash = mix(0, constant->typid, static_cast<uint32>(constant->type));
    hash = mix(hash, static_cast<uint32>(constant->scale), static_cast<uint32>(constant->rounding));
    return part(mix_datum(mix(hash, constant->is_bpchar, 0), value));
}

} // namespace

uint64 add_file(uint64 files, Relation relation) {
    const auto &locator = relation->rd_locator;
    files = sem::hash_combine(files, uint64(locator_database(locator)) << 32 | locator_relation(locator));
    return sem::hash_combine(files, locator_tablespace(locator));
}

uint64 *build_fingerprints(const Fragment *fragment, const uint64 *files) {
    const int njoins = fragment->nsources - 1;
    if (njoins == 0)
        return nullptr;
    uint64 *fingerprints = new_parts(njoins);
    uint64 *sources = new_parts(fragment->nsources), *lookups = new_parts(fragment->nlookups);
    const ProgramHeader *header = reinterpret_cast<const ProgramHeader *>(fragment->program);
    uint64 *constants = new_parts(static_cast<int>(header->constants));
    for (int i = 0; i < fragment->nsources; ++i)
        sources[i] = source_part(&fragment->sources[i], files[i]);
    for (int i = 0; i < fragment->nlookups; ++i)
        lookups[i] = lookup_part(&fragment->lookups[i]);
    uint64 *unified_dictionaries = unified_parts(fragment, lookups);
    for (int i = 0; i < fragment->nlookups; ++i)
        if (fragment->lookups[i].unified != 0)
            lookups[i] = in_unified(lookups[i], unified_dictionaries[fragment->lookups[i].unified]);
    for (int i = 0; i < fragment->nconstants; ++i) {
        const FragmentConstant *constant = &fragment->constants[i];
        constants[constant->index] = constant_part(constant);
        if (constant->unified != 0)
            constants[constant->index] =
                in_unified(constants[constant->index], unified_dictionaries[constant->unified]);
    }
    if (!fingerprint_builds(fragment->program, fragment->program_size, {sources, lookups, constants}, fingerprints))
        memset(fingerprints, 0, sizeof(uint64) * static_cast<Size>(njoins));
    pfree(sources);
    pfree(lookups);
    pfree(unified_dictionaries);
    pfree(constants);
    return fingerprints;
}

} // namespace gpuscan
