// See evaluation_times.h. A count has picoseconds, so that a fast expression is not free: 0 is an empty slot. Half of it is what was known
// before, half what was measured now.
#include "pg/pg.h"

#include "pg/cost/evaluation_times.h"

#include <algorithm>

#include "pg/catalog/expression_text.h"
#include "pg/cost/planning_inputs.h"
#include "pg/cost/tried_time.h"
#include "pg/service/area.h"

namespace gpuscan {

constexpr uint64 enough_evaluations = 100; // to trust their mean
constexpr double units_per_ns = 1000;
constexpr int max_expressions_noted = 64;                  // of a statement
constexpr double worth_looking = 2e3, worth_trying = 20e3; // rows of the table

struct TimedExpression {
    Node *expr;
    double ns; // 0: nobody knows
};

static TimedExpression timed[max_expressions_noted];
static int ntimed = 0;
static MemoryContext timed_context = nullptr;

static uint64 fingerprint(uint32 number) { return uint64(MyDatabaseId) << 32 | number; }

static void note(uint32 number, double ns) {
    protocol::Area *area = service_area();
    if (area == nullptr)
        return;
    const uint64 wanted = fingerprint(number);
    auto *slot = area->evaluation_times.find(wanted);
    const double now = ns * units_per_ns,
                 before = slot != nullptr ? static_cast<double>(slot->count.load(std::memory_order_relaxed)) : now;
    area->evaluation_times.take(slot != nullptr ? slot : area->evaluation_times.free_or_any(wanted, number), wanted,
                                std::max<uint64>(static_cast<uint64>((before + now) / 2), 1));
}

void note_evaluations(uint32 number, uint64 count, uint64 ns) {
    if (count >= enough_evaluations)
        note(number, static_cast<double>(ns) / static_cast<double>(count));
}

void forget_evaluation_times() {
    ntimed = 0;
    if (timed_context != nullptr)
        MemoryContextReset(timed_context);
}

static const TimedExpression *find_timed(const Node *node) {
    for (int i = 0; i < ntimed; ++i)
        if (equal(timed[i].expr, node))
            return &timed[i];
    return nullptr;
}

struct LargestTable {
    const PlannerInfo *root;
    double rows;
};

// `context`: LargestTable *, of those whose columns are in the expression.
static bool see_tables(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Var))
        return walk_expression(node, see_tables, context);
    const Var *var = reinterpret_cast<const Var *>(node);
    LargestTable *largest = static_cast<LargestTable *>(context);
    if (var->varlevelsup == 0 && var->varno > 0 && var->varno < largest->root->simple_rel_array_size)
        if (const RelOptInfo *rel = largest->root->simple_rel_array[var->varno])
            largest->rows = std::max<double>(largest->rows, rel->tuples);
    return false;
}

static uint64 measured_time(const FigureKey &key) { return service_area()->evaluation_times.count(key_64(key)); }

static double known_or_tried(PlannerInfo *root, Node *node, double rows) {
    const protocol::Area *area = service_area();
    const uint32 number = expression_number(expression_key(reinterpret_cast<const Expr *>(node)));
    if (const uint64 known = area != nullptr ? planning_input(measured_time, key_of_64(fingerprint(number))) : 0;
        known > 0)
        return static_cast<double>(known) / units_per_ns;
    const double ns = rows >= worth_trying ? tried_ns(root, node) : 0;
    if (ns > 0)
        note(number, ns);
    return ns;
}

double evaluation_time(PlannerInfo *root, Node *node) {
    if (const TimedExpression *expression = find_timed(node))
        return expression->ns;
    LargestTable table{root, 0};
    see_tables(node, &table);
    if (ntimed == max_expressions_noted || table.rows < worth_looking)
        return 0;
    const double ns = known_or_tried(root, node, table.rows);
    if (timed_context == nullptr)
        timed_context = AllocSetContextCreate(TopMemoryContext, "gpuscan evaluation times", ALLOCSET_SMALL_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(timed_context);
    timed[ntimed++] = {static_cast<Node *>(copyObject(node)), ns};
    MemoryContextSwitchTo(old);
    return ns;
}

} // namespace gpuscan
