// Lookups whose function may see only what the query would have shown to it (engine/store/deferred_evaluation.hpp): which codes these are,
// and what the backend has made of them.
//
// What a function of PostgreSQL's own has made of an entry is kept for all later executions with the same key (engine/store/cached_lookups.hpp).
//
// A pass of a pipeline is not run before the backend has asked for what is deferred until nothing is left. Whoever runs it
// without that gets what is true of no row: finish_deferred() refuses.
#include <algorithm>

#include "server/session.hpp"

namespace gpuscan {

using namespace protocol;

// Makes the table of a lookup this session's own, with so many entries.
void Session::own_deferred(uint32_t lookup, size_t entries) {
    LookupState &state = lookups_[lookup];
    if (state.growing && state.growing->entries == entries)
        return;
    const LookupRef old = std::move(state.table);
    const KnownEntries old_known = std::move(state.known);
    auto table = std::make_shared<LookupTable>(program_.lookups[lookup].type, entries, device_->device->work_memory());
    auto known = std::make_shared<std::vector<uint8_t>>(entries + 1, 0);
    std::fill(table->nulls.begin(), table->nulls.end(), 1);
    if (old) {
        const size_t width = type_width(table->type), before = old->entries;
        memcpy(table->values.data(), old->values.data(), before * width);
        memcpy(table->nulls.data(), old->nulls.data(), before);
        memcpy(known->data(), old_known->data(), before);
        memcpy(table->values.data() + entries * width, old->values.data() + before * width, width); // of NULL
        table->nulls[entries] = old->nulls[before];
        (*known)[entries] = (*old_known)[before];
    }
    state.table = state.growing = std::move(table);
    state.known = state.growing_known = std::move(known);
    state.changed = true;
}

// The tables cover their dictionaries as they are now, and have what earlier executions found out.
void Session::grow_deferred() {
    for (uint32_t i = 0; i < lookups_.size(); ++i) {
        const ir::Lookup &lookup = program_.lookups[i];
        if (!lookup.deferred || feeds_[lookup.source] == nullptr)
            continue;
        LookupState &state = lookups_[i];
        const Dictionary &dictionary = dictionary_of(i);
        if (!state.table && !state.key.empty()) {
            PartOfLookup part = device_->lookups->find_part(dictionary, state.key);
            state.changed = part.table != nullptr;
            state.table = std::move(part.table);
            state.known = std::move(part.known);
        }
        if (!state.table || state.table->entries != dictionary.size())
            own_deferred(i, dictionary.size());
    }
}

// From here on the table is everybody's, and written by nobody.
void Session::keep_deferred(uint32_t lookup) {
    LookupState &state = lookups_[lookup];
    device_->lookups->keep(dictionary_of(lookup), state.key, state.growing,
                           state.unified != 0 ? unified_dictionary_of(state.unified) : nullptr, state.known);
    device_->cache.make_room(state.growing->bytes());
    state.growing = nullptr;
    state.growing_known = nullptr;
}

// A lookup of which codes are asked for; it is no such one when its source is not defined.
Session::LookupState &Session::deferred_state(uint32_t lookup) {
    check(lookup < lookups_.size() && program_.lookups[lookup].deferred != 0 && lookups_[lookup].table != nullptr,
          "no deferred lookup");
    return lookups_[lookup];
}

// The codes by which the lookup will be asked, those among them that have been put already.
std::vector<uint32_t> Session::codes_that_reach(const DeferredLookup &deferred) {
    const Program program = program_of_deferred(program_, pipeline_, deferred);
    PassInput input;
    for (SourceFeed *feed : feeds_of(program.main().source))
        feed->add_to(input);
    make_skipper(pipeline_).skip(input.chunks);
    if (input.chunks.empty())
        return {};
    for (LookupState &state : lookups_)
        if (state.growing)
            state.growing->finish();
    const std::unique_ptr<Execution> execution = prepare_with_tables(program);
    const GroupTable groups = execution->run_aggregate(input.chunks);
    const ExecutionStats stats = execution->stats();
    rest_stats_.kernel_us += stats.kernel_us;
    rest_stats_.compile_us += stats.compile_us;
    rest_stats_.link_bytes += stats.link_bytes;
    const uint32_t null = static_cast<uint32_t>(deferred_state(deferred.lookup(program_)).table->entries);
    std::vector<uint32_t> codes;
    codes.reserve(groups.ngroups);
    for (size_t i = 0; i < groups.ngroups; ++i)
        codes.push_back(groups.key_nulls[i] ? null : static_cast<uint32_t>(groups.keys[i].low));
    return codes;
}

void Session::collect_deferred(const DeferredLookup &deferred) {
    const LookupState &state = deferred_state(deferred.lookup(program_));
    deferred_.codes.clear();
    deferred_.asked = 0;
    for (uint32_t code : codes_that_reach(deferred)) {
        if (code >= state.known->size())
            throw DeviceError("a code beyond its lookup table");
        if (!(*state.known)[code])
            deferred_.codes.push_back(code);
    }
    std::sort(deferred_.codes.begin(), deferred_.codes.end());
}

// How many of the codes that are left the backend shall evaluate next: it reads the texts of all of them before it begins.
uint32_t Session::first_deferred(uint32_t lookup, size_t left) {
    const Dictionary &dictionary = dictionary_of(lookup);
    const size_t most = std::min<size_t>(left, max_deferred_codes);
    size_t count = 0, bytes = 0;
    while (count < most && bytes < max_deferred_bytes) {
        const uint32_t code = deferred_.codes[deferred_.asked + count++];
        bytes += code < dictionary.size() ? dictionary.entry(code).size() : 0; // (NULL has none)
    }
    return static_cast<uint32_t>(count);
}

void Session::deferred_codes(MessageReader &in, MessageWriter &out) {
    const DeferredCodesRequest request = in.head<DeferredCodesRequest>();
    check(request.pipeline == pipeline_ && pipeline_ < program_.pipelines.size(), "pipelines run in their order");
    if (!deferred_.open) {
        deferred_ = DeferredState();
        deferred_.open = true;
        deferred_.all = deferred_lookups_of(program_, pipeline_);
        grow_deferred();
    }
    while (deferred_.asked == deferred_.codes.size() && deferred_.next < deferred_.all.size())
        collect_deferred(deferred_.all[deferred_.next++]);
    DeferredCodesReply reply = {};
    reply.lookup = ir::none;
    const size_t left = deferred_.codes.size() - deferred_.asked;
    if (left > 0) {
        reply.lookup = deferred_.all[deferred_.next - 1].lookup(program_);
        reply.entries = static_cast<uint32_t>(deferred_state(reply.lookup).table->entries);
        reply.count = first_deferred(reply.lookup, left);
    }
    out.put(reply);
    if (reply.count > 0)
        memcpy(out.part(reply.count * sizeof(uint32_t)), deferred_.codes.data() + deferred_.asked,
               reply.count * sizeof(uint32_t));
    deferred_.asked += reply.count;
}

void Session::put_entries(MessageReader &in) {
    const PutEntriesRequest request = in.head<PutEntriesRequest>();
    LookupState &state = deferred_state(request.lookup);
    own_deferred(request.lookup, state.table->entries);
    LookupTable &table = *state.growing;
    const std::vector<uint32_t> codes = in.array<uint32_t>(request.count);
    for (const uint32_t code : codes)
        check(code <= table.entries, "a code beyond its lookup table");
    const size_t width = type_width(table.type);
    std::vector<uint32_t> texts;
    const uint8_t *values = nullptr, *nulls = nullptr;
    if (request.as_texts) {
        nulls = in.part(request.count);
        texts = read_texts(in, request.count, nulls, state.unified);
        values = reinterpret_cast<const uint8_t *>(texts.data());
    } else {
        values = in.part(request.count, width);
        nulls = in.part(request.count);
    }
    for (uint32_t i = 0; i < request.count; ++i) {
        memcpy(table.values.data() + codes[i] * width, values + i * width, width);
        table.nulls[codes[i]] = nulls[i];
        (*state.growing_known)[codes[i]] = 1;
    }
    state.changed = true;
}

// Before a pass runs: nothing is lacking, and the execution has the tables.
void Session::finish_deferred() {
    for (uint32_t i = 0; i < lookups_.size(); ++i)
        if (program_.lookups[i].deferred != 0) {
            check(deferred_.open && deferred_.next == deferred_.all.size() && deferred_.asked == deferred_.codes.size(),
                  "a lookup lacks entries");
            break;
        }
    if (!deferred_.codes.empty()) {
        const std::vector<uint8_t> &known = *deferred_state(deferred_.all.back().lookup(program_)).known;
        for (uint32_t code : deferred_.codes)
            check(code < known.size() && known[code] != 0, "a lookup lacks an entry");
    }
    for (uint32_t i = 0; i < lookups_.size(); ++i) {
        LookupState &state = lookups_[i];
        if (!state.changed)
            continue;
        if (state.growing)
            state.growing->finish();
        if (state.growing && !state.key.empty())
            keep_deferred(i);
        execution_->set_lookup(i, state.table);
        state.changed = false;
    }
    deferred_ = DeferredState();
}

} // namespace gpuscan
