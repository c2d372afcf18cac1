// See planning_inputs.h. A tenth is far within what estimates are off by, and a table that somebody fills grows by it soon enough.
#include "pg/pg.h"

#include "pg/cost/planning_inputs.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "pg/service/area.h"

namespace gpuscan {

static PlanningInputs *noted = nullptr;
static uint32 surprises[256]; // by statement (where several share one, they share their surprises)

static uint32 *surprises_of(uint64 statement) { return &surprises[statement % lengthof(surprises)]; }

void note_surprise(uint64 statement) { ++*surprises_of(statement); }

std::string_view statement_text(const char *text, int location, int length) {
    const std::string_view all = text != nullptr ? text : "";
    const size_t begin = std::min(static_cast<size_t>(std::max(location, 0)), all.size());
    return all.substr(begin, length > 0 ? static_cast<size_t>(length) : all.size());
}

uint64 statement_hash(std::string_view text) {
    return hash_bytes_extended(reinterpret_cast<const unsigned char *>(text.data()), static_cast<int>(text.size()), 0);
}

PlanningInputs *note_planning_inputs(PlanningInputs *to) { return std::exchange(noted, to); }

static uint32 devices_ready(const protocol::Area *area) {
    uint32 ready = 0;
    for (size_t i = 0; i < lengthof(area->devices); ++i)
        ready |= uint32(area->devices[i].state == static_cast<uint32>(protocol::ServiceState::Ready)) << i;
    return ready;
}

PlanningInputs *new_planning_inputs(uint64 statement) {
    PlanningInputs *inputs = static_cast<PlanningInputs *>(palloc0(sizeof(PlanningInputs)));
    inputs->statement = statement;
    inputs->surprises = *surprises_of(statement);
    if (const protocol::Area *area = service_area()) {
        inputs->generation = area->generation.load(std::memory_order_relaxed);
        inputs->config_version = area->config_version.load(std::memory_order_relaxed);
        inputs->ready = devices_ready(area);
    }
    return inputs;
}

static void add_note(const PlanningInput &input) {
    constexpr int first = 32; // notes; then twice as many each time
    if (noted->count == 0)
        noted->all = static_cast<PlanningInput *>(
            MemoryContextAlloc(GetMemoryChunkContext(noted), sizeof(PlanningInput) * first));
    else if (noted->count >= first && (noted->count & (noted->count - 1)) == 0)
        noted->all = static_cast<PlanningInput *>(
            repalloc(noted->all, sizeof(PlanningInput) * static_cast<Size>(noted->count) * 2));
    noted->all[noted->count++] = input;
}

static uint64 ask(PlanningInput input) {
    input.value = input.figure(input.key);
    if (noted != nullptr)
        add_note(input);
    return input.value;
}

uint64 planning_input(Figure figure, const FigureKey &key) { return ask(PlanningInput{figure, key, InvalidOid, 0, 0}); }

uint64 planning_input_of_table(Figure figure, Oid table, uint64 slack) {
    return ask(PlanningInput{figure, FigureKey{{table}, 0}, table, slack, 0});
}

static uint64 pages_of_table(const FigureKey &key) {
    Relation relation = relation_open(key.words[0], NoLock);
    const BlockNumber pages = RelationGetNumberOfBlocks(relation);
    relation_close(relation, NoLock);
    return pages;
}

void note_table_size(Oid relid) {
    if (noted != nullptr)
        planning_input_of_table(pages_of_table, relid, 0);
}

static auto identity(const PlanningInput &input) {
    const uint32 *words = input.key.words;
    return std::make_tuple(reinterpret_cast<uintptr_t>(input.figure), words[0], words[1], words[2], words[3],
                           input.key.device);
}

static bool is_table_size(const PlanningInput &input) { return input.figure == pages_of_table; }

PlanningInputs *copy_planning_inputs(const PlanningInputs *inputs, const List *tables) {
    PlanningInputs *copy = static_cast<PlanningInputs *>(palloc(sizeof *copy));
    *copy = *inputs;
    copy->all =
        static_cast<PlanningInput *>(palloc(sizeof(PlanningInput) * static_cast<Size>(std::max(inputs->count, 1))));
    PlanningInput *end = std::copy_n(inputs->all, inputs->count, copy->all);
    std::sort(copy->all, end, [](const PlanningInput &a, const PlanningInput &b) { return identity(a) < identity(b); });
    end = std::unique(copy->all, end,
                      [](const PlanningInput &a, const PlanningInput &b) { return identity(a) == identity(b); });
    end = std::remove_if(copy->all, end, [tables](const PlanningInput &input) {
        return OidIsValid(input.table) && !list_member_oid(tables, input.table);
    });
    const PlanningInput *sizes =
        std::partition(copy->all, end, [](const PlanningInput &input) { return !is_table_size(input); });
    copy->count = static_cast<int>(end - copy->all);
    copy->sizes = static_cast<int>(end - sizes);
    return copy;
}

static bool holds(const PlanningInput &input) {
    const uint64 now = input.figure(input.key), then = input.value;
    return std::max(now, then) - std::min(now, then) <= std::max(then / 10, input.slack);
}

// (Where there are more tables than files may be open, each look opens one.)
static bool sizes_hold(PlanningInputs *inputs) {
    constexpr int max_looks = 64;
    const PlanningInput *const sizes = inputs->all + inputs->count - inputs->sizes;
    for (int i = std::min(inputs->sizes, max_looks); i > 0; --i) {
        inputs->next_size = (inputs->next_size + 1) % inputs->sizes;
        if (!holds(sizes[inputs->next_size]))
            return false;
    }
    return true;
}

bool still_hold(PlanningInputs *inputs) {
    const protocol::Area *area = service_area();
    return area != nullptr && inputs->surprises == *surprises_of(inputs->statement) &&
           inputs->ready == devices_ready(area) &&
           inputs->generation == area->generation.load(std::memory_order_relaxed) &&
           inputs->config_version == area->config_version.load(std::memory_order_relaxed) &&
           std::all_of(inputs->all, inputs->all + inputs->count - inputs->sizes, holds) && sizes_hold(inputs);
}

} // namespace gpuscan
