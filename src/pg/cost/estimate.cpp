// A breakdown as plain data in a Const of type bytea: plans are copied and compared, and may be kept for long.
#include "pg/pg.h"

#include "pg/cost/estimate.h"

#include "pg/cost/device_cost.h"

namespace gpuscan {

constexpr int estimate_position = 5; // in custom_private, behind what plan_data.cpp writes

static bool is_empty(const tier::Breakdown *breakdown, int stage, int count) {
    return breakdown->amount[stage][count] == 0;
}

static int count_parts(const tier::Breakdown *breakdown) {
    int parts = 0;
    for (int s = 0; s < tier::stages; ++s) {
        parts += breakdown->hidden_ns[s] != 0;
        for (int c = 0; c < tier::counts; ++c)
            parts += !is_empty(breakdown, s, c);
    }
    return parts;
}

static void fill(const tier::Breakdown *breakdown, const tier::Prices *prices, EstimatePart *to) {
    for (int s = 0; s < tier::stages; ++s) {
        for (int c = 0; c < tier::counts; ++c)
            if (!is_empty(breakdown, s, c))
                *to++ = {static_cast<uint8>(s), static_cast<uint8>(c), breakdown->amount[s][c],
                         breakdown->amount[s][c] * prices->ns[c]};
        if (breakdown->hidden_ns[s] != 0)
            *to++ = {static_cast<uint8>(s), count_hidden, 0, -breakdown->hidden_ns[s]};
    }
}

Node *estimate_to_node(const tier::Breakdown *breakdown, double ns_per_unit, double cpu_plan_ns, double cpu_first_ns) {
    const int parts = count_parts(breakdown);
    const Size size = offsetof(Estimate, parts) + sizeof(EstimatePart) * static_cast<Size>(parts);
    // (A varlena's data begins at 4 bytes: the reader aligns it.)
    struct varlena *bytes = static_cast<struct varlena *>(palloc0(VARHDRSZ + size));
    Estimate *estimate = static_cast<Estimate *>(palloc0(size));
    estimate->ns_per_unit = ns_per_unit;
    estimate->cpu_plan_ns = cpu_plan_ns;
    estimate->cpu_first_ns = cpu_first_ns;
    estimate->gpu = device_is_gpu();
    estimate->nparts = parts;
    fill(breakdown, device_prices(), estimate->parts);
    SET_VARSIZE(bytes, VARHDRSZ + size);
    memcpy(VARDATA(bytes), estimate, size);
    pfree(estimate);
    return reinterpret_cast<Node *>(makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(bytes), false, false));
}

const Estimate *estimate_of_node(const Node *node) {
    if (node == nullptr || !IsA(node, Const))
        return nullptr;
    const struct varlena *bytes =
        reinterpret_cast<const struct varlena *>(DatumGetPointer(reinterpret_cast<const Const *>(node)->constvalue));
    const Size size = VARSIZE(bytes) - VARHDRSZ;
    Estimate *estimate = static_cast<Estimate *>(palloc(size));
    memcpy(estimate, VARDATA(bytes), size);
    return estimate;
}

const Estimate *estimate_of_scan(const CustomScan *scan) {
    if (list_length(scan->custom_private) <= estimate_position)
        return nullptr;
    return estimate_of_node(static_cast<const Node *>(list_nth(scan->custom_private, estimate_position)));
}

double estimated_ns(const Estimate *estimate, tier::Stage stage) {
    double ns = 0;
    for (int i = 0; i < estimate->nparts; ++i)
        ns += estimate->parts[i].stage == static_cast<uint8>(stage) ? estimate->parts[i].ns : 0;
    return ns;
}

double estimated_ns(const Estimate *estimate) {
    double ns = 0;
    for (int i = 0; i < estimate->nparts; ++i)
        ns += estimate->parts[i].ns;
    return ns;
}

double estimated_amount(const Estimate *estimate, tier::Count count) {
    double amount = 0;
    for (int i = 0; i < estimate->nparts; ++i)
        amount += estimate->parts[i].count == static_cast<uint8>(count) ? estimate->parts[i].amount : 0;
    return amount;
}

} // namespace gpuscan
