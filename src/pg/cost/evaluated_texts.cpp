// See evaluated_texts.h. A slot's count says nothing but that it is taken.
#include "pg/pg.h"

#include "pg/cost/evaluated_texts.h"

#include "pg/cost/device_cost.h"
#include "pg/cost/planning_inputs.h"
#include "pg/fragment/column_form.h"
#include "pg/service/area.h"
#include "pg/translate/lookup_key.h"

namespace gpuscan {

static uint64 fingerprint(const Fragment *fragment, const FragmentLookup *lookup) {
    const FragmentSource *source = &fragment->sources[lookup->source];
    StringInfoData key;
    initStringInfo(&key);
    appendStringInfo(&key, "%d %u %u %u ", device_is_gpu(), MyDatabaseId, source->relid,
                     column_number(&source->columns[lookup->column]));
    append_lookup_key(&key, lookup);
    const uint64 hash = DatumGetUInt64(hash_any_extended(reinterpret_cast<unsigned char *>(key.data), key.len, 0));
    pfree(key.data);
    return hash;
}

void note_evaluated_texts(const Fragment *fragment, const FragmentLookup *lookup) {
    protocol::Area *area = service_area();
    if (area == nullptr || !fragment->sources[lookup->source].is_relation)
        return;
    auto *all = &area->evaluated_texts;
    const uint64 wanted = fingerprint(fragment, lookup);
    if (all->find(wanted) == nullptr)
        all->take(all->free_or_any(wanted, static_cast<uint32>(wanted >> 32)), wanted, 1);
}

bool are_texts_evaluated(const Fragment *fragment, const FragmentLookup *lookup) {
    if (service_area() == nullptr)
        return false;
    const uint64 wanted = fingerprint(fragment, lookup);
    const auto has = [](const FigureKey &key) -> uint64 { return service_area()->evaluated_texts.count(key_64(key)); };
    return planning_input(has, key_of_64(wanted)) != 0;
}

} // namespace gpuscan
