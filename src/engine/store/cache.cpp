// The column cache of one device; see cache.hpp.
//
// Nothing here calls the device while it holds the mutex; buffers are let go outside of it too, because freeing device
// memory may wait for what runs there.
#include "engine/store/cache.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "engine/store/writing_pace.hpp"

namespace gpuscan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds refusal_lasts{60}; // of a value beyond the column's type: the row may be gone by then
// Fresh columns push older ones out as long as the cache holds more than this part of its budget; the rest is for what
// running queries need beyond.
constexpr size_t low_watermark_percent = 80;

} // namespace

struct Cache::Chunk {
    ChunkRef version;
    ProofRef proof;                        // of the version, and ...
    QuietPages quiet;                      // ... of its pages, by WAL
    std::shared_ptr<PagePlaces> places;    // nullptr: never asked for
    uint32_t borne = 0;                    // by queries, since the version was published
    std::shared_ptr<const ChunkLook> look; // the last one at the version
    bool repaired_when_calm = false;       // since a writer has changed one of its pages
    bool building = false;
    std::map<uint32_t, uint64_t> last_use; // by column
};

class CachedRelation {
  public:
    struct Refusal {
        std::string reason;
        Clock::time_point until;
    };
    RelationFile file;
    std::string path;
    uint32_t next_column = 0;
    std::map<uint32_t, ColumnRef> columns;                  // by number
    std::unordered_map<std::string_view, uint32_t> numbers; // by key, which is the column's own
    size_t expressions = 0, key_bytes = 0;                  // how many of the columns are expressions, and their keys
    std::map<uint32_t, Refusal> refusals;
    std::map<uint32_t, Cache::Chunk> chunks;
    WritingPace pace;
    bool dropped = false; // the cache does not know it any more, its users do

    // What WAL has said of its chunks is forgotten; all that ends behind `from` will be told (QuietPages).
    void forget_quiet(uint64_t from) {
        for (auto &chunk : chunks)
            chunk.second.quiet = QuietPages(from);
    }

    ColumnRef find(uint32_t id) const {
        const auto column = columns.find(id);
        return column != columns.end() ? column->second : nullptr;
    }

    void add(const ColumnRef &column) {
        columns[column->id] = column;
        numbers[column->key] = column->id;
        if (column->layout.expression != 0) {
            ++expressions;
            key_bytes += column->key.size();
        }
    }

    // The next one; `gone` gets the column.
    std::map<uint32_t, ColumnRef>::iterator forget(std::map<uint32_t, ColumnRef>::iterator column,
                                                   std::vector<ColumnRef> &gone) {
        const ColumnRef &known = column->second;
        if (known->layout.expression != 0) {
            --expressions;
            key_bytes -= known->key.size();
        }
        numbers.erase(known->key);
        refusals.erase(known->id);
        for (auto &chunk : chunks)
            chunk.second.last_use.erase(known->id);
        gone.push_back(known);
        return columns.erase(column);
    }

    // Columns that are cached nowhere, used by nobody and not refused, and so their dictionaries.
    void forget_unused_columns(std::vector<ColumnRef> &gone) {
        for (auto column = columns.begin(); column != columns.end();) {
            const uint32_t id = column->first;
            const bool used = column->second.use_count() != 1 || refusals.count(id) != 0 ||
                              std::any_of(chunks.begin(), chunks.end(), [id](const auto &chunk) {
                                  return chunk.second.version && chunk.second.version->columns.find(id) != nullptr;
                              });
            column = used ? std::next(column) : forget(column, gone);
        }
    }

    // The expression that was asked for least recently, of those that nobody uses and no builder has in its version.
    std::map<uint32_t, ColumnRef>::iterator oldest_expression() {
        auto oldest = columns.end();
        for (auto column = columns.begin(); column != columns.end(); ++column) {
            const uint32_t id = column->first;
            if (column->second->layout.expression != 0 && column->second.use_count() == 1 &&
                (oldest == columns.end() || column->second->asked < oldest->second->asked) &&
                std::none_of(chunks.begin(), chunks.end(), [id](const auto &chunk) {
                    return chunk.second.building && chunk.second.version &&
                           chunk.second.version->columns.find(id) != nullptr;
                }))
                oldest = column;
        }
        return oldest;
    }
};

Cache::Cache(Device &device, size_t budget)
    : device_(device), budget_(budget), dictionary_bytes_(dictionary_limit(budget, false)) {}
Cache::~Cache() = default;

// ---- finding things ---------------------------------------------------------------------------------------------

RelationRef Cache::relation(const RelationFile &file, const std::string &path) {
    std::lock_guard<std::mutex> guard(lock_);
    RelationRef &found = relations_[file];
    if (!found) {
        found = std::make_shared<CachedRelation>();
        found->file = file;
    }
    found->path = path;
    return found;
}

std::shared_ptr<Dictionary> Cache::new_dictionary() const {
    return std::make_shared<Dictionary>(Dictionary::max_entry_count, dictionary_bytes_.load(std::memory_order_relaxed),
                                        dictionaries_counted_.load(std::memory_order_relaxed) ? used_ : nullptr);
}

// Under the mutex.
std::shared_ptr<Dictionary> Cache::shared_dictionary(const std::string &name) {
    if (!name.empty())
        if (auto found = dictionaries_[name].lock())
            return found;
    std::shared_ptr<Dictionary> made = new_dictionary();
    if (name.empty())
        return made;
    for (auto old = dictionaries_.begin(); old != dictionaries_.end();)
        old = old->second.expired() ? dictionaries_.erase(old) : std::next(old);
    dictionaries_[name] = made;
    return made;
}

const RelationFile &Cache::file(const RelationRef &relation) { return relation->file; }

ColumnRef Cache::column(const RelationRef &relation, const std::string &key, const ColumnLayout &layout,
                        const std::string &dictionary) {
    std::vector<ChunkRef> old; // both let go outside the lock
    std::vector<ColumnRef> gone;
    std::lock_guard<std::mutex> guard(lock_);
    const auto known = relation->numbers.find(key);
    if (known != relation->numbers.end()) {
        const ColumnRef &column = relation->columns.at(known->second);
        column->asked = tick();
        return column;
    }
    if (layout.expression != 0)
        forget_old_expressions(*relation, key.size(), old, gone);
    auto column = std::make_shared<CachedColumn>();
    column->asked = tick();
    column->id = relation->next_column++;
    column->attnum = layout.expression != 0 ? layout.expression : static_cast<uint32_t>(layout.attributes.size());
    column->key = key;
    column->layout = layout;
    if (is_coded(layout.codec))
        column->dictionary = shared_dictionary(dictionary);
    relation->add(column);
    return column;
}

// Makes room for one more, with a key of that size.
void Cache::forget_old_expressions(CachedRelation &relation, size_t key_size, std::vector<ChunkRef> &old,
                                   std::vector<ColumnRef> &gone) {
    while (relation.expressions >= max_expressions_known || relation.key_bytes + key_size > max_key_bytes) {
        const auto column = relation.oldest_expression();
        if (column == relation.columns.end())
            return;
        for (auto &[number, chunk] : relation.chunks)
            if (chunk.version && chunk.version->columns.find(column->first) != nullptr) {
                old.push_back(chunk.version);
                erase_column(relation, chunk, column->first);
                evictions_.fetch_add(1, std::memory_order_relaxed);
            }
        relation.forget(column, gone);
    }
}

std::vector<ColumnRef> Cache::whole_columns(const RelationRef &relation, const ChunkVersion &version,
                                            const std::vector<uint32_t> &but) {
    std::vector<ColumnRef> columns;
    std::lock_guard<std::mutex> guard(lock_);
    for (const ChunkColumns::Column &cached : version.columns) {
        if (!cached.whole || std::find(but.begin(), but.end(), cached.id) != but.end() ||
            relation->refusals.count(cached.id) != 0)
            continue;
        if (ColumnRef column = relation->find(cached.id))
            columns.push_back(std::move(column));
    }
    return columns;
}

std::string Cache::refusal(const RelationRef &relation, const CachedColumn &column) {
    std::lock_guard<std::mutex> guard(lock_);
    auto refusal = relation->refusals.find(column.id);
    if (refusal == relation->refusals.end())
        return {};
    if (Clock::now() < refusal->second.until)
        return refusal->second.reason;
    relation->refusals.erase(refusal);
    return {};
}

void Cache::refuse(const RelationRef &relation, const CachedColumn &column, const std::string &reason, bool for_good) {
    std::vector<ChunkRef> old; // let go outside the lock
    std::lock_guard<std::mutex> guard(lock_);
    auto until = for_good ? Clock::time_point::max() : Clock::now() + refusal_lasts;
    relation->refusals[column.id] = {reason, until};
    if (!for_good)
        return;
    for (auto &chunk : relation->chunks)
        if (chunk.second.version && chunk.second.version->columns.find(column.id) != nullptr) {
            old.push_back(chunk.second.version);
            erase_column(*relation, chunk.second, column.id);
        }
}

// ---- chunks -----------------------------------------------------------------------------------------------------

Cache::Snapshot Cache::chunk(const RelationRef &relation, uint32_t number, uint64_t followed) {
    return chunks({{{&relation, number}, false}}, followed).front();
}

// (Who has followed WAL may find that it is not followed any more, or from elsewhere on.)
std::vector<Cache::Snapshot> Cache::chunks(const std::vector<Look> &names, uint64_t followed) {
    std::vector<Snapshot> found(names.size());
    std::lock_guard<std::mutex> guard(lock_);
    const bool told = followed != 0 && told_ != QuietPages::never && followed <= told_;
    for (size_t i = 0; i < names.size(); ++i) {
        CachedRelation &relation = **names[i].relation;
        if (told && names[i].is_first)
            relation.pace.note_look();
        std::map<uint32_t, Chunk> &chunks = relation.chunks;
        const auto chunk = chunks.find(names[i].number);
        if (chunk == chunks.end())
            continue;
        found[i] = {chunk->second.version, chunk->second.proof, nullptr, 0, chunk->second.look, false};
        if (told) {
            found[i].calm = relation.pace.is_calm();
            found[i].quiet = chunk->second.quiet.pages();
            found[i].nquiet = chunk->second.quiet.count();
        }
    }
    return found;
}

std::vector<ChunkRef> Cache::versions(const RelationRef &relation) {
    std::lock_guard<std::mutex> guard(lock_);
    std::vector<ChunkRef> versions;
    for (const auto &chunk : relation->chunks)
        if (chunk.second.version)
            versions.push_back(chunk.second.version);
    return versions;
}

void Cache::touch(const std::vector<Use> &uses) {
    const uint64_t now = tick();
    std::lock_guard<std::mutex> guard(lock_);
    for (const Use &use : uses) {
        Chunk &chunk = chunk_of(*use.relation, use.number);
        for (const ColumnRef &column : *use.columns)
            chunk.last_use[column->id] = now;
    }
}

void Cache::confirm(const RelationRef &relation, uint32_t number, const ChunkRef &version,
                    const ChunkFinding &finding) {
    const bool by_map = finding.proof.map_lsn != 0;
    ProofRef seen;
    for (auto next = by_map ? std::make_shared<ChunkProof>(finding.proof) : nullptr;
         ;) { // (merged without the lock: many queries confirm many chunks)
        std::unique_lock<std::mutex> guard(lock_);
        auto chunk = relation->chunks.find(number);
        if (chunk == relation->chunks.end() || chunk->second.version != version)
            return;
        if (chunk->second.proof == seen || !by_map) {
            if (by_map)
                chunk->second.proof = std::move(next);
            chunk->second.quiet.note_right(finding.right, finding.followed, *version);
            return;
        }
        seen = chunk->second.proof;
        guard.unlock();
        *next = finding.proof;
        add_proof(*next, *seen);
    }
}

// ---- what WAL says ------------------------------------------------------------------------------------------------

void Cache::begin_following(uint64_t from) {
    std::lock_guard<std::mutex> guard(lock_);
    told_ = from;
    for (auto &relation : relations_)
        relation.second->forget_quiet(from);
}

// Under the mutex.
void Cache::note_reference(const Reference &reference) {
    if (reference.file == RelationFile()) {
        for (auto &relation : relations_)
            relation.second->forget_quiet(reference.end);
        return;
    }
    const auto relation = relations_.find(reference.file);
    if (relation == relations_.end())
        return;
    if (reference.block == Reference::whole_file) {
        relation->second->forget_quiet(reference.end);
        return;
    }
    std::map<uint32_t, Chunk> &chunks = relation->second->chunks;
    const auto found = chunks.find(reference.block / pages_per_chunk);
    if (found == chunks.end())
        return;
    Chunk &chunk = found->second;
    if (!reference.tidies) {
        relation->second->pace.note_change();
        chunk.repaired_when_calm = false;
    }
    if (chunk.version || chunk.building)
        chunk.quiet.note_reference(reference.block % pages_per_chunk, reference.end, chunk.version.get());
    else // (nobody needs to know which)
        chunk.quiet = QuietPages(reference.end);
}

void Cache::note_references(const std::vector<Reference> &references, uint64_t told) {
    std::lock_guard<std::mutex> guard(lock_);
    for (const Reference &reference : references)
        note_reference(reference);
    if (told_ != QuietPages::never)
        told_ = std::max(told_, told);
}

// Under the mutex. Of a new one nobody knows what WAL said of it until now.
Cache::Chunk &Cache::chunk_of(const RelationRef &relation, uint32_t number) {
    const auto [chunk, is_new] = relation->chunks.try_emplace(number);
    if (is_new && !relation->dropped)
        chunk->second.quiet = QuietPages(told_);
    return chunk->second;
}

// Made anew, half as large again, for a table that grows: what others note in the old ones meanwhile is lost, as a guess may be.
std::shared_ptr<PagePlaces> Cache::places(const RelationRef &relation, uint32_t number, uint32_t npages) {
    std::lock_guard<std::mutex> guard(lock_);
    std::shared_ptr<PagePlaces> &places = chunk_of(relation, number).places;
    if (!places || places->npages() < npages)
        places = std::make_shared<PagePlaces>(places ? std::min(npages + npages / 2, pages_per_chunk) : npages,
                                              places.get());
    return places;
}

void Cache::remember_look(const RelationRef &relation, uint32_t number, const ChunkRef &version,
                          std::shared_ptr<const ChunkLook> look) {
    std::lock_guard<std::mutex> guard(lock_);
    Chunk &chunk = chunk_of(relation, number);
    if (chunk.version == version)
        chunk.look.swap(look); // (the one before goes outside the lock)
}

uint32_t Cache::count_undecided(const RelationRef &relation, uint32_t number, const std::vector<uint32_t> &pages,
                                uint64_t decided) {
    std::lock_guard<std::mutex> guard(lock_);
    return chunk_of(relation, number).quiet.count_named_since(pages, decided);
}

bool Cache::is_repair_due(const RelationRef &relation, uint32_t number, uint32_t burden, uint32_t bearable, bool calm) {
    std::lock_guard<std::mutex> guard(lock_);
    Chunk &chunk = chunk_of(relation, number);
    chunk.borne += burden;
    if (chunk.borne > bearable)
        return true;
    return calm && !std::exchange(chunk.repaired_when_calm, true);
}

void Cache::bear_missing(const RelationRef &relation, uint32_t number) {
    std::lock_guard<std::mutex> guard(lock_);
    chunk_of(relation, number).borne = 0;
}

Cache::Token Cache::take_token(const RelationRef &relation, uint32_t number) {
    std::lock_guard<std::mutex> guard(lock_);
    Token token;
    Chunk &chunk = chunk_of(relation, number);
    if (chunk.building)
        return token;
    chunk.building = true;
    token.cache_ = this;
    token.relation_ = relation;
    token.number_ = number;
    return token;
}

Cache::Token &Cache::Token::operator=(Token &&o) noexcept {
    if (this != &o) {
        release();
        cache_ = std::exchange(o.cache_, nullptr);
        relation_ = std::move(o.relation_);
        number_ = o.number_;
    }
    return *this;
}

void Cache::Token::release() {
    if (cache_ == nullptr)
        return;
    std::lock_guard<std::mutex> guard(cache_->lock_);
    cache_->chunk_of(relation_, number_).building = false;
    cache_ = nullptr;
}

void Cache::publish(const Token &token, std::shared_ptr<ChunkVersion> version, const PageBits &decoded,
                    const ChunkFinding &finding, bool cold) {
    uint64_t now = cold ? 0 : tick();
    version->summarize([this](const ChunkRows &rows, const BufferRef &before, const std::vector<RowRange> &lost) {
        return put_mask(rows, before, lost);
    });
    auto proved = std::make_shared<const ChunkProof>(finding.proof);
    ChunkRef old; // let go outside the lock
    std::lock_guard<std::mutex> guard(lock_);
    Chunk &chunk = chunk_of(token.relation_, token.number_);
    for (const ChunkColumns::Column &column : version->columns)
        if (!chunk.version || chunk.version->columns.find(column.id) == nullptr)
            chunk.last_use[column.id] = now;
    old = exchange(*token.relation_, chunk, std::move(version));
    chunk.proof = std::move(proved);
    chunk.quiet.note_decoded(decoded, *chunk.version);
    chunk.quiet.note_right(finding.right, finding.followed, *chunk.version);
    chunk.borne = 0;
}

// A device that reads host memory needs no copy. Without the memory for it there is none.
BufferRef Cache::put_mask(const ChunkRows &rows, const BufferRef &before, const std::vector<RowRange> &lost) {
    if (device_.reads_host_memory())
        return nullptr;
    try {
        // (for that alone no column goes)
        return make_device_mask(
            device_, [this](size_t bytes) { return allocate(bytes, 0); }, rows, before, lost);
    } catch (const OutOfDeviceMemory &) {
        return nullptr;
    }
}

// ---- what planners are told ---------------------------------------------------------------------------------------

void Cache::count_in(CacheStatistics *cache_statistics) {
    std::lock_guard<std::mutex> guard(lock_);
    cache_statistics_ = cache_statistics;
}

// Adds the version's pages to what is counted, or takes them off (sign -1); not those of columns that `but` has, too.
void Cache::count(const CachedRelation &relation, const ChunkVersion *version, const ChunkVersion *but, int sign) {
    if (cache_statistics_ == nullptr || version == nullptr || relation.dropped)
        return;
    auto add = [&](uint32_t attnum, const PageBits &pages) {
        cache_statistics_->add({relation.file.tablespace, relation.file.database, relation.file.relation, attnum},
                               sign * int64_t(pages.count()));
    };
    add(0, version->known_pages);
    version->columns.each_unlike(but != nullptr ? but->columns : ChunkColumns(),
                                 [&](const ChunkColumns::Column &cached) {
                                     if (const ColumnRef column = relation.find(cached.id))
                                         add(column->attnum, cached.data->have);
                                 });
}

// Makes `version` (nullptr: none) the chunk's current one and answers the one before.
ChunkRef Cache::exchange(const CachedRelation &relation, Chunk &chunk, ChunkRef version) {
    count(relation, chunk.version.get(), version.get(), -1);
    count(relation, version.get(), chunk.version.get(), 1);
    chunk.look = nullptr;
    return std::exchange(chunk.version, std::move(version));
}

// ---- memory -----------------------------------------------------------------------------------------------------

uint64_t Cache::tick() { return clock_.fetch_add(1, std::memory_order_relaxed) + 1; }

BufferRef Cache::allocate(size_t bytes, uint64_t began, bool *squeezed) {
    if (!make_room_for(bytes, began, squeezed))
        throw OutOfDeviceMemory("the column cache is too small");
    BufferRef buffer = allocate_work(bytes);
    used_->fetch_add(bytes, std::memory_order_relaxed);
    Buffer *raw = buffer.get();
    return BufferRef(raw, [owner = std::move(buffer), used = used_, bytes](Buffer *) mutable {
        owner.reset();
        used->fetch_sub(bytes, std::memory_order_relaxed);
    });
}

BufferRef Cache::allocate_work(size_t bytes) {
    for (;;) {
        try {
            return device_.allocate(bytes);
        } catch (const OutOfDeviceMemory &) {
            if (!free_device_memory())
                throw;
        }
    }
}

// Brings the cache down to where `bytes` more fit its budget. False: it cannot.
bool Cache::make_room_for(size_t bytes, uint64_t began, bool *squeezed) {
    const size_t budget = budget_.load(std::memory_order_relaxed);
    if (bytes > budget)
        return false;
    while (this->bytes() + bytes > budget / 100 * low_watermark_percent)
        if (!evict_one(began)) {
            if (squeezed != nullptr)
                *squeezed = true;
            break;
        }
    while (this->bytes() + bytes > budget)
        if (!evict_one(UINT64_MAX))
            return false;
    return true;
}

void Cache::make_room(size_t bytes) {
    for (;;) {
        const DeviceInfo info = device_.info();
        if (info.memory_limit - std::min(info.memory_used, info.memory_limit) >= bytes || !free_device_memory())
            return;
    }
}

// Evicts the column chunk that was used longest ago, among those used before `before` and by nobody now.
bool Cache::evict_one(uint64_t before) {
    ChunkRef old; // both let go outside the lock
    std::vector<ColumnRef> gone;
    std::lock_guard<std::mutex> guard(lock_);
    CachedRelation *relation = nullptr;
    Chunk *victim = nullptr;
    uint32_t column = 0;
    uint64_t oldest = before;
    for (auto &r : relations_)
        for (auto &c : r.second->chunks) {
            Chunk &chunk = c.second;
            if (!chunk.version || chunk.building || chunk.version.use_count() != 1)
                continue;
            const auto &columns = chunk.version->columns;
            const bool has_bytes =
                std::any_of(columns.begin(), columns.end(), [](const auto &c) { return c.data->bytes() > 0; });
            for (const ChunkColumns::Column &cached : columns) {
                const uint64_t used = chunk.last_use[cached.id];
                const bool gives_room = cached.data->bytes() > 0 || !has_bytes; // the last ones give their layout's
                if (used < oldest && gives_room && cached.data->values.use_count() <= 1 &&
                    cached.data->nulls.use_count() <= 1) {
                    oldest = used;
                    relation = r.second.get();
                    victim = &chunk;
                    column = cached.id;
                }
            }
        }
    if (victim == nullptr)
        return false;
    old = victim->version;
    erase_column(*relation, *victim, column);
    relation->forget_unused_columns(gone);
    evictions_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// Swaps in a version without the column; the last column takes the layout along.
void Cache::erase_column(const CachedRelation &relation, Chunk &chunk, uint32_t column) {
    chunk.last_use.erase(column);
    if (chunk.building) // the builder's version brings it back otherwise; it is dropped when that one is evicted
        return;
    if (chunk.version->columns.size() == 1) {
        exchange(relation, chunk, nullptr);
        chunk.proof = nullptr;
        chunk.quiet = QuietPages(told_);
        chunk.places = nullptr;
        return;
    }
    auto next = std::make_shared<ChunkVersion>(*chunk.version);
    next->columns.erase(column);
    exchange(relation, chunk, std::move(next));
}

void Cache::set_budget(size_t bytes) {
    budget_.store(bytes, std::memory_order_relaxed);
    make_room_for(0, UINT64_MAX, nullptr);
}

void Cache::set_dictionaries(size_t max_bytes, bool counted) {
    const std::lock_guard<std::mutex> guard(lock_);
    const bool raised = max_bytes > dictionary_bytes_.exchange(max_bytes, std::memory_order_relaxed);
    dictionaries_counted_.store(counted, std::memory_order_relaxed);
    for (const auto &[file, relation] : relations_) {
        if (raised)
            relation->refusals.clear();
        for (const auto &[id, column] : relation->columns)
            if (column->dictionary)
                column->dictionary->set_limit(max_bytes);
    }
}

// Takes the relation out of the cache; its memory goes with its last user, at the earliest with the caller's reference.
RelationRef Cache::drop(std::map<RelationFile, RelationRef>::iterator found, size_t *bytes) {
    RelationRef relation = std::move(found->second);
    relations_.erase(found);
    relation->forget_quiet(QuietPages::never); // (whatever WAL says of the file is not its any more)
    for (const auto &chunk : relation->chunks)
        if (chunk.second.version) {
            count(*relation, chunk.second.version.get(), nullptr, -1);
            for (const ChunkColumns::Column &column : chunk.second.version->columns) {
                *bytes += column.data->bytes();
                evictions_.fetch_add(1, std::memory_order_relaxed);
            }
        }
    relation->dropped = true;
    return relation;
}

// Of the dictionaries that go with these relations, each counted once: partitions share theirs.
size_t Cache::dictionary_bytes_of(const std::vector<RelationRef> &dropped) const {
    std::set<const Dictionary *> gone;
    for (const RelationRef &relation : dropped)
        for (const auto &column : relation->columns)
            gone.insert(column.second->dictionary.get());
    for (const auto &relation : relations_)
        for (const auto &column : relation.second->columns)
            gone.erase(column.second->dictionary.get());
    gone.erase(nullptr);
    size_t bytes = 0;
    for (const Dictionary *dictionary : gone)
        bytes += dictionary->bytes();
    return bytes;
}

size_t Cache::evict_all() {
    std::vector<RelationRef> dropped; // let go outside the lock
    std::lock_guard<std::mutex> guard(lock_);
    size_t bytes = 0;
    while (!relations_.empty())
        dropped.push_back(drop(relations_.begin(), &bytes));
    return bytes + dictionary_bytes_of(dropped);
}

size_t Cache::evict(const RelationFile &file) {
    std::vector<RelationRef> dropped; // let go outside the lock
    std::lock_guard<std::mutex> guard(lock_);
    size_t bytes = 0;
    auto found = relations_.find(file);
    if (found != relations_.end())
        dropped.push_back(drop(found, &bytes));
    return bytes + dictionary_bytes_of(dropped);
}

size_t Cache::evict_gone(const std::function<int64_t(const std::string &path)> &size) {
    struct Asked {
        RelationFile file;
        std::string path;
        bool has_chunks;
    };
    std::vector<Asked> all; // asked outside the lock: it is file system work
    {
        std::lock_guard<std::mutex> guard(lock_);
        for (const auto &relation : relations_)
            if (!relation.second->path.empty())
                all.push_back({relation.first, relation.second->path, !relation.second->chunks.empty()});
    }
    size_t bytes = 0;
    for (const Asked &asked : all) {
        const int64_t now = size(asked.path);
        // (Queries still ask for an empty table; its dictionaries tell them that it is the same one.)
        if (now < 0 || (now == 0 && asked.has_chunks))
            bytes += evict(asked.file);
    }
    return bytes;
}

std::vector<Cache::Entry> Cache::list() {
    std::lock_guard<std::mutex> guard(lock_);
    std::vector<Entry> entries;
    for (const auto &r : relations_)
        for (const auto &[id, column] : r.second->columns) {
            Entry entry = {r.first,
                           column->attnum,
                           0,
                           0,
                           0,
                           column->hits.load(std::memory_order_relaxed),
                           column->layout.expression_text};
            for (const auto &chunk : r.second->chunks) {
                if (!chunk.second.version)
                    continue;
                const ColumnData *data = chunk.second.version->columns.data(id);
                if (data == nullptr)
                    continue;
                ++entry.chunks;
                entry.pages += data->have.count();
                entry.bytes += data->bytes();
            }
            if (entry.chunks != 0) {
                entry.bytes += column->dictionary ? column->dictionary->bytes() : 0;
                entries.push_back(entry);
            }
        }
    return entries;
}

} // namespace gpuscan
