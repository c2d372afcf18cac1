// The texts of a session: dictionaries, the tables over their codes, and the unified dictionaries that tables of texts lead into.
#include <algorithm>
#include <numeric>

#include "engine/store/text_order.hpp"
#include "engine/util/text_hash.hpp"
#include "server/session.hpp"

namespace gpuscan {

using namespace protocol;

namespace {

constexpr size_t piece_entries = 16 * 1024; // evaluated by one thread at a time
constexpr uint32_t read_ahead = 8;
constexpr size_t max_waiting_bytes = 1024 * 1024; // of texts that wait for their numbers
constexpr uint32_t max_unified_dictionaries = 4096;
constexpr size_t asked_part =
    8; // of a dictionary's texts: when queries have asked for the ranks of more, all are sorted

bool yields(const TextFunction &function, Type type) {
    switch (function.result()) {
    case TextResult::Truth:
        return type == Type::Bool;
    case TextResult::Number:
        return type == Type::I32;
    case TextResult::Text:
        return type == Type::Code;
    }
    return false;
}

void store(LookupTable &table, size_t entry, const TextFunction::Value &value) {
    table.nulls[entry] = value.null;
    if (table.type == Type::Bool) {
        table.values[entry] = value.number != 0;
        return;
    }
    const int32_t number = static_cast<int32_t>(value.number);
    memcpy(table.values.data() + entry * sizeof number, &number, sizeof number);
}

uint32_t not_full(uint32_t code) {
    if (code == Dictionary::full)
        throw DeviceError("too many distinct values of an expression");
    return code;
}

std::vector<size_t> all_rough(const LookupTable &table) {
    std::vector<size_t> all(table.rough.size());
    std::iota(all.begin(), all.end(), size_t(0));
    return all;
}

// These, or all where queries have asked for so many by now: each time costs a second run and a copy of the table.
std::vector<size_t> these_or_all(const LookupTable &table, const std::vector<size_t> &which) {
    size_t left = 0;
    for (const RoughRanks &rough : table.rough)
        left += rough.last - rough.first;
    for (size_t i : which)
        left -= table.rough[i].last - table.rough[i].first;
    return table.entries - left > table.entries / asked_part ? all_rough(table) : which;
}

// nullptr: there is none, or it needs a locale that this machine's C library lacks; PostgreSQL evaluates the expression.
std::unique_ptr<TextFunction> parse(const std::string &function) {
    if (function.empty())
        return nullptr;
    try {
        return std::make_unique<TextFunction>(function.data(), function.size());
    } catch (const UnknownLocale &) {
        return nullptr;
    } catch (const std::runtime_error &error) {
        throw InvalidMessage(error.what());
    }
}

void copy_base(LookupTable &table, const LookupTable &base) {
    memcpy(table.values.data(), base.values.data(), base.entries * type_width(base.type));
    memcpy(table.nulls.data(), base.nulls.data(), base.entries);
}

} // namespace

Dictionary &Session::dictionary_of(uint32_t lookup) {
    check(lookup < lookups_.size(), "unknown lookup");
    const ir::Lookup &described = program_.lookups[lookup];
    Dictionary *const dictionary = feed(described.source).dictionary(described.column);
    check(dictionary != nullptr, "the column has no dictionary");
    return *dictionary;
}

std::shared_ptr<Dictionary> Session::unified_dictionary_of(uint32_t unified) const {
    check(unified > 0 && unified < unified_dictionaries_.size() && unified_dictionaries_[unified],
          "unknown unified dictionary");
    return unified_dictionaries_[unified];
}

LookupContents Session::contents_of(uint32_t lookup) const {
    const LookupRef &table = lookups_[lookup].table;
    return table ? LookupContents{&table->values, &table->nulls, table->id} : LookupContents{nullptr, nullptr, 0};
}

// ---- unified dictionaries -------------------------------------------------------------------------------------------------------

void Session::use_unified_dictionary(MessageReader &in) {
    const UseUnifiedDictionaryRequest request = in.head<UseUnifiedDictionaryRequest>();
    check(request.unified > 0 && request.unified < max_unified_dictionaries, "number of a unified dictionary");
    std::vector<std::string> parts;
    for (uint32_t i = 0; i < request.nlookups; ++i) {
        const UnifiedText text = in.head<UnifiedText>();
        parts.push_back(std::to_string(dictionary_of(text.index).id()) + ' ' + in.text(text.size));
    }
    std::sort(parts.begin(), parts.end());
    std::string key;
    for (const std::string &part : parts)
        key += std::to_string(part.size()) + ' ' + part;
    if (unified_dictionaries_.size() <= request.unified)
        unified_dictionaries_.resize(request.unified + 1);
    unified_dictionaries_[request.unified] =
        device_->lookups->unified_dictionary(key, [this] { return device_->cache.new_dictionary(); });
    Dictionary &texts = *unified_dictionaries_[request.unified];
    for (uint32_t i = 0; i < request.nconstants; ++i) {
        const UnifiedText text = in.head<UnifiedText>();
        check(text.index < program_.constants.size() && program_.constants[text.index].type == Type::Code,
              "no text among the constants");
        const uint32_t code = not_full(texts.intern(in.text(text.size)));
        program_.constants[text.index].low = code;
        execution_->set_constant(text.index, code);
    }
}

// ---- lookups ------------------------------------------------------------------------------------------------------

// The table is complete; it is cached if it can be.
void Session::set_lookup(uint32_t lookup, const std::shared_ptr<LookupTable> &table) {
    LookupState &state = lookups_[lookup];
    table->finish();
    if (state.ranks != RankOrder::None && table->by_rank.empty())
        invert_ranks(*table);
    if (!state.key.empty()) {
        device_->lookups->keep(dictionary_of(lookup), state.key, table,
                               state.unified != 0 ? unified_dictionary_of(state.unified) : nullptr);
        device_->cache.make_room(table->bytes());
    }
    execution_->set_lookup(lookup, table);
    state.table = table;
    state.base = nullptr;
    state.filling = nullptr;
}

void Session::use_lookup(MessageReader &in, MessageWriter &out) {
    const UseLookupRequest request = in.head<UseLookupRequest>();
    Dictionary &dictionary = dictionary_of(request.lookup);
    std::shared_ptr<Dictionary> texts;
    if (request.unified != 0)
        texts = unified_dictionary_of(request.unified);
    check((texts != nullptr) == (program_.lookups[request.lookup].type == Type::Code),
          "a lookup of texts has a unified dictionary");
    check(request.ranks <= RankOrder::BytesWithoutBlanks &&
              (request.ranks == RankOrder::None || (program_.lookups[request.lookup].type == Type::I32 && !texts)),
          "ranks of another type");
    const std::string key = (texts ? std::to_string(texts->id()) : std::string("-")) + ' ' +
                            std::to_string(static_cast<int>(request.ranks)) + ' ' + in.text(request.key_size);
    const std::string function = in.text(request.function_size);
    UseLookupReply reply = {};
    reply.dictionary = dictionary.id();
    reply.entries = dictionary.size();
    reply.first = reply.entries + 1;
    LookupState &state = lookups_[request.lookup];
    if (program_.lookups[request.lookup].deferred != 0) {
        if (state.key.empty() && !is_uncounted()) // (else it is a later pass)
            state.key = "part " + key;
        state.unified = request.unified;
        return out.put(reply);
    }
    LookupRef cached = device_->lookups->find(dictionary, key);
    if (request.ranks != RankOrder::None && state.ranks == request.ranks && state.table)
        cached = state.table; // of an earlier pass, whose results have its ranks
    const bool rough = !is_uncounted() && extreme_ranks_.may_be_rough(request.lookup, reply.entries);
    if (cached && cached->entries >= reply.entries) {
        if (state.table != cached)
            execution_->set_lookup(request.lookup, cached);
        state = LookupState();
        state.ranks = request.ranks;
        state.table = std::move(cached);
        if (!state.table->rough.empty()) {
            state.key = key;
            if (!rough)
                sharpen_ranks(request.lookup, all_rough(*state.table));
        }
        reply.entries = static_cast<uint32_t>(state.table->entries);
        reply.first = reply.entries + 1;
        return out.put(reply);
    }
    state = LookupState();
    state.key = key;
    state.unified = request.unified;
    state.ranks = request.ranks;
    if (request.ranks == RankOrder::Collation) {
        reply.first = 0;
        return out.put(reply);
    }
    if (request.ranks != RankOrder::None) {
        const bool without_blanks = request.ranks == RankOrder::BytesWithoutBlanks;
        set_lookup(request.lookup, rank(request.lookup, without_blanks, reply.entries, cached, rough));
        return out.put(reply);
    }
    const std::unique_ptr<TextFunction> parsed = parse(function);
    if (parsed == nullptr) {
        reply.first = cached ? static_cast<uint32_t>(cached->entries) : 0;
        state.base = std::move(cached);
        return out.put(reply);
    }
    plant_death(function);
    set_lookup(request.lookup, evaluate(request.lookup, *parsed, reply.entries, cached, texts.get()));
    out.put(reply);
}

// The table of so many entries, those of `base` as they are there, by all threads.
std::shared_ptr<LookupTable> Session::evaluate(uint32_t lookup, const TextFunction &function, size_t entries,
                                               const LookupRef &base, Dictionary *texts) {
    const Type type = program_.lookups[lookup].type;
    check(yields(function, type), "a text function of another type");
    const Dictionary &dictionary = dictionary_of(lookup);
    auto table = std::make_shared<LookupTable>(type, entries, device_->device->work_memory());
    const size_t first = base ? base->entries : 0;
    if (base)
        copy_base(*table, *base);
    auto piece = [&](size_t begin, size_t end) {
        CancelPoint cancel(cancel_);
        TextRoom room;
        std::vector<Dictionary::Text> made;
        std::vector<size_t> of;
        const auto number_made = [&] {
            texts->intern_many(made.data(), made.size());
            for (size_t i = 0; i < made.size(); ++i) {
                TextFunction::Value value;
                value.null = false;
                value.number = not_full(made[i].code);
                store(*table, of[i], value);
            }
            made.clear();
            of.clear();
        };
        const size_t end_of_entries = std::min(end, entries); // NULL's place, the table's last, is no entry
        for (size_t code = begin; code < end; ++code) {
            if (code + read_ahead < end_of_entries)
                dictionary.prefetch(static_cast<uint32_t>(code + read_ahead));
            std::string_view entry;
            if (code < entries)
                entry = dictionary.entry(static_cast<uint32_t>(code));
            const TextFunction::Value value = function.evaluate(code < entries ? &entry : nullptr, room, cancel);
            store(*table, code, value);
            if (texts == nullptr) {
                room.clear();
                continue;
            }
            if (!value.null) {
                const uint32_t length = static_cast<uint32_t>(value.text.size());
                made.push_back({value.text.data(), length, 0, text_hash(value.text.data(), length)});
                of.push_back(code);
            }
            if (room.bytes() >= max_waiting_bytes) {
                number_made();
                room.clear();
            }
        }
        if (texts != nullptr)
            number_made();
    };
    const size_t pieces = (entries + 1 - first + piece_entries - 1) / piece_entries; // NULL's entry is the last
    device_->pool().run(pieces, [&](size_t index, unsigned) {
        const size_t begin = first + index * piece_entries;
        piece(begin, std::min(begin + piece_entries, entries + 1));
    });
    return table;
}

// The codes, in a unified dictionary, of the texts that follow; 0 for NULL.
std::vector<uint32_t> Session::read_texts(MessageReader &in, uint32_t count, const uint8_t *nulls,
                                          uint32_t unified) const {
    Dictionary &texts = *unified_dictionary_of(unified);
    const std::vector<uint32_t> offsets = in.array<uint32_t>(size_t(count) + 1);
    const std::string bytes = in.text(offsets.back()); // (copied: they could change between two looks)
    std::vector<uint32_t> codes(count);
    for (uint32_t i = 0; i < count; ++i) {
        check(offsets[i] <= offsets[i + 1] && offsets[i + 1] <= offsets.back(), "text offsets are out of order");
        if (!nulls[i])
            codes[i] = not_full(texts.intern({bytes.data() + offsets[i], offsets[i + 1] - offsets[i]}));
    }
    return codes;
}

// ---- ranks (text_order.hpp, extreme_ranks.hpp) ----

RunTasks Session::all_threads() const {
    return [this](size_t count, const std::function<void(size_t)> &task) {
        device_->pool().run(count, [&task](size_t index, unsigned) { task(index); });
    };
}

std::shared_ptr<LookupTable> Session::rank(uint32_t lookup, bool without_blanks, size_t entries, const LookupRef &base,
                                           bool rough) {
    const WorkMemoryRef &memory = device_->device->work_memory();
    auto table = std::make_shared<LookupTable>(Type::I32, entries, memory);
    const TextOrder order = {dictionary_of(lookup), without_blanks};
    if (rough && !takes_few_in(entries, base.get()))
        rank_roughly(*table, order, memory, all_threads(), cancel_);
    else
        rank_by_bytes(*table, order, base.get(), memory, all_threads(), cancel_);
    return table;
}

// (Others may be using the table as it is.)
void Session::sharpen_ranks(uint32_t lookup, const std::vector<size_t> &which) {
    const LookupState &state = lookups_[lookup];
    const WorkMemoryRef &memory = device_->device->work_memory();
    const LookupTable &before = *state.table;
    auto table = std::make_shared<LookupTable>(Type::I32, before.entries, memory);
    copy_base(*table, before);
    table->nulls[before.entries] = 1;
    table->by_rank.charge_to(memory);
    table->by_rank.append(before.by_rank.data(), before.by_rank.size());
    table->rough = before.rough;
    const TextOrder order = {dictionary_of(lookup), state.ranks == RankOrder::BytesWithoutBlanks};
    sharpen(*table, order, these_or_all(before, which), memory, all_threads(), cancel_);
    set_lookup(lookup, table);
}

void Session::sharpen_all() {
    for (uint32_t i = 0; i < lookups_.size(); ++i)
        if (lookups_[i].table && !lookups_[i].table->rough.empty())
            sharpen_ranks(i, all_rough(*lookups_[i].table));
}

// Does the result show texts of which it is not known yet which come first? It is now, and the program must run again.
template <class Result> bool Session::sharpen_shown(const Result &result) {
    bool any = false;
    for (uint32_t i = 0; i < lookups_.size(); ++i) {
        if (!lookups_[i].table || lookups_[i].table->rough.empty())
            continue;
        const std::vector<size_t> which = extreme_ranks_.shown(i, *lookups_[i].table, result);
        if (!which.empty())
            sharpen_ranks(i, which);
        any = any || !which.empty();
    }
    return any;
}
template bool Session::sharpen_shown(const GroupTable &);
template bool Session::sharpen_shown(const RowTable &);

void Session::codes_of_ranks(MessageReader &in, MessageWriter &out) {
    const CodesOfRanksRequest request = in.head<CodesOfRanksRequest>();
    check(request.lookup < lookups_.size() && lookups_[request.lookup].ranks != RankOrder::None &&
              lookups_[request.lookup].table,
          "no lookup of ranks");
    const LookupTable &table = *lookups_[request.lookup].table;
    std::vector<uint32_t> codes = in.array<uint32_t>(request.count);
    for (uint32_t &code : codes) {
        check(code < table.by_rank.size(), "a rank is not in the lookup");
        code = table.by_rank[code];
    }
    memcpy(out.part(codes.size() * sizeof(uint32_t)), codes.data(), codes.size() * sizeof(uint32_t));
}

void Session::put_lookup(MessageReader &in) {
    const PutLookupRequest request = in.head<PutLookupRequest>();
    check(request.lookup < lookups_.size(), "unknown lookup");
    LookupState &state = lookups_[request.lookup];
    if (program_.lookups[request.lookup].source == ir::none)
        check(request.entries > 0 && !request.as_texts, "a table without entries");
    else
        check(request.entries <= dictionary_of(request.lookup).size(), "the lookup is longer than its dictionary");
    const size_t begin = state.base ? state.base->entries : 0;
    if (request.first == begin) {
        check(begin <= request.entries, "a lookup does not shrink");
        state.filling = std::make_shared<LookupTable>(program_.lookups[request.lookup].type, request.entries,
                                                      device_->device->work_memory());
        if (state.base)
            copy_base(*state.filling, *state.base);
        state.filled = begin;
    }
    check(state.filling && request.entries == state.filling->entries && request.first == state.filled &&
              request.count <= state.filling->entries + 1 - state.filled,
          "pieces of a lookup are out of order");
    LookupTable &table = *state.filling;
    const size_t width = type_width(table.type);
    uint8_t *const nulls = table.nulls.data() + state.filled;
    uint8_t *const values = table.values.data() + state.filled * width;
    if (request.as_texts) {
        memcpy(nulls, in.part(request.count), request.count);
        const std::vector<uint32_t> codes = read_texts(in, request.count, nulls, state.unified);
        memcpy(values, codes.data(), codes.size() * sizeof codes[0]);
    } else {
        memcpy(values, in.part(request.count, width), request.count * width);
        memcpy(nulls, in.part(request.count), request.count);
    }
    state.filled += request.count;
    if (state.filled == table.entries + 1)
        set_lookup(request.lookup, state.filling);
}

// Every code that a pipeline may meet must be in the tables it is looked up in.
void Session::check_lookups(uint32_t pipeline) {
    const bool main = pipeline + 1 == program_.pipelines.size();
    for (size_t i = 0; i < lookups_.size(); ++i) {
        const ir::Lookup &lookup = program_.lookups[i];
        if (!main && lookup.source != ir::none && lookup.source != program_.pipelines[pipeline].source)
            continue;
        check(lookups_[i].table != nullptr, "a lookup is missing");
        if (lookup.source == ir::none)
            continue;
        for (const SourceFeed *feed : feeds_of(lookup.source))
            check(int64_t(lookups_[i].table->entries) > feed->max_code(lookup.column),
                  "a lookup does not cover its dictionary");
    }
}

// ---- dictionaries -------------------------------------------------------------------------------------------------

void Session::read_dictionary(MessageReader &in, MessageWriter &out) {
    const ReadDictionaryRequest request = in.head<ReadDictionaryRequest>();
    const Dictionary *const dictionary = request.source == of_unified_dictionary
                                             ? unified_dictionary_of(request.column).get()
                                             : feed(request.source).dictionary(request.column);
    check(dictionary != nullptr, "the column has no dictionary");
    ReadDictionaryReply reply = {};
    reply.id = dictionary->id();
    reply.size = dictionary->size();
    uint8_t *head = out.part(sizeof reply);
    size_t left = out.left();
    const bool chosen = request.ncodes > 0;
    const auto codes = in.array<uint32_t>(request.ncodes);
    const uint32_t end = chosen ? request.ncodes : reply.size;
    for (uint32_t i = chosen ? 0 : request.first; i < end; ++i) {
        const uint32_t code = chosen ? codes[i] : i;
        check(code < reply.size, "a code is not in the dictionary");
        const std::string_view entry = dictionary->entry(code);
        const uint32_t length = static_cast<uint32_t>(entry.size());
        const size_t bytes = sizeof length + ((entry.size() + 3) & ~size_t(3));
        if (bytes > left)
            break;
        left -= bytes;
        ++reply.count;
        uint8_t *to = out.part_unaligned(bytes);
        memcpy(to, &length, sizeof length);
        memcpy(to + sizeof length, entry.data(), entry.size());
    }
    if (reply.count == 0 && (chosen || request.first < reply.size))
        throw DeviceError("a text is too long for the device");
    memcpy(head, &reply, sizeof reply);
}

} // namespace gpuscan
