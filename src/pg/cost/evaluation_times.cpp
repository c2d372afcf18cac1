// See evaluation_times.h. A count has picoseconds, so that a fast expression is not free: 0 is an empty slot. Half of it is what was known
// before, half what was measured now.
#include "pg/pg.h"

#include "pg/cost/evaluation_times.h"

#include <algorithm>

#include "pg/service/area.h"

namespace gpuscan {

constexpr uint64 enough_evaluations = 100; // to trust their mean
constexpr double units_per_ns = 1000;
constexpr int max_expressions_noted = 64; // of a statement

struct TimedExpression {
    Expr *expr;
    double ns;
};

static TimedExpression timed[max_expressions_noted];
static int ntimed = 0;
static MemoryContext timed_context = nullptr;

static uint64 fingerprint(uint32 number) { return uint64(MyDatabaseId) << 32 | number; }

void note_evaluations(uint32 number, uint64 count, uint64 ns) {
    protocol::Area *area = service_area();
    if (area == nullptr || count < enough_evaluations)
        return;
    const uint64 wanted = fingerprint(number);
    auto *slot = area->evaluation_times.find(wanted);
    const double now = static_cast<double>(ns) * units_per_ns / static_cast<double>(count);
    const double before = slot != nullptr ? static_cast<double>(slot->count.load(std::memory_order_relaxed)) : now;
    area->evaluation_times.take(slot != nullptr ? slot : area->evaluation_times.free_or_any(wanted, number), wanted,
                                std::max<uint64>(static_cast<uint64>((before + now) / 2), 1));
}

void forget_evaluation_times() {
    ntimed = 0;
    if (timed_context != nullptr)
        MemoryContextReset(timed_context);
}

static const TimedExpression *find_timed(Node *node) {
    for (int i = 0; i < ntimed; ++i)
        if (equal(timed[i].expr, node))
            return &timed[i];
    return nullptr;
}

void use_evaluation_time(Expr *expr, uint32 number) {
    const protocol::Area *area = service_area();
    const uint64 known = area != nullptr ? area->evaluation_times.count(fingerprint(number)) : 0;
    if (known == 0 || ntimed == max_expressions_noted || evaluation_time(reinterpret_cast<Node *>(expr)) > 0)
        return;
    if (timed_context == nullptr)
        timed_context = AllocSetContextCreate(TopMemoryContext, "gpuscan evaluation times", ALLOCSET_SMALL_SIZES);
    const MemoryContext old = MemoryContextSwitchTo(timed_context);
    timed[ntimed++] = {static_cast<Expr *>(copyObject(expr)), static_cast<double>(known) / units_per_ns};
    MemoryContextSwitchTo(old);
}

double evaluation_time(Node *node) {
    const TimedExpression *expression = find_timed(node);
    return expression != nullptr ? expression->ns : 0;
}

} // namespace gpuscan
