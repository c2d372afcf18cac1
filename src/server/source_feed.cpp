// The rows that a session has staged of one source; see source_feed.hpp.
#include "server/source_feed.hpp"

#include <algorithm>

namespace gpuscan {

using namespace protocol;

namespace {

constexpr size_t min_pass = size_t(1) << 20;           // bytes of rows in no cache
constexpr size_t builders_part = 4;                    // of the cache, for chunks that are being built
constexpr size_t delivered_rows = transient_limit / 4; // bytes; each helper has so many

// Columns that the query does not read are decoded with the others if no more than a 16th of the pages has to be read anyway: then
// the version costs more than they do.
constexpr uint32_t few_changed = 16;

} // namespace

SourceFeed::SourceFeed(ServedDevice &device, Counters &counters, uint64_t began, const std::vector<Type> &types)
    : device_(device), cache_(device.cache), counters_(counters), began_(began), load_(std::make_shared<PassLoad>()),
      columns_(types.size()) {
    for (size_t c = 0; c < types.size(); ++c) {
        columns_[c].type = types[c];
        if (types[c] == Type::Code) {
            own_dictionaries_.push_back(cache_.new_dictionary());
            columns_[c].dictionary = own_dictionaries_.back().get();
        }
    }
}

SourceFeed::SourceFeed(ServedDevice &device, Counters &counters, const BufferPool &pool, uint64_t began,
                       const RelationFile &file, const std::string &path, bool hashed,
                       const std::vector<ColumnDefinition> &columns, std::shared_ptr<PassLoad> load)
    : device_(device), pool_(pool), cache_(device.cache), counters_(counters), began_(began), hashed_(hashed),
      load_(std::move(load)), relation_(cache_.relation(file, path)) {
    std::vector<ColumnRef> cached;
    cached.reserve(columns.size());
    for (const ColumnDefinition &wanted : columns) {
        cached.push_back(cache_.column(relation_, wanted.key, wanted.layout, wanted.dictionary));
        std::string refusal = cache_.refusal(relation_, *cached.back());
        if (!refusal.empty())
            throw DeviceError(refusal);
    }
    shared_ = std::make_shared<SharedSource>(relation_, hashed, std::move(cached), began_, load_);
    use_columns();
}

SourceFeed::SourceFeed(ServedDevice &device, Counters &counters, const BufferPool &pool,
                       std::shared_ptr<SharedSource> source)
    : device_(device), pool_(pool), cache_(device.cache), counters_(counters), began_(source->began), joined_(true),
      hashed_(source->hashed), load_(source->load), relation_(source->relation), shared_(std::move(source)) {
    use_columns();
}

void SourceFeed::use_columns() {
    columns_.resize(shared_->columns.size());
    int expressions = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
        const CachedColumn &cached = *shared_->columns[c];
        static_cast<TransientColumn &>(columns_[c]) = {cached.layout.type, &cached.layout, cached.dictionary.get(),
                                                       cached.layout.expression != 0 ? expressions++ : -1};
        columns_[c].id = cached.id;
    }
    check(expressions <= static_cast<int>(max_expressions), "too many expressions");
}

std::vector<uint32_t> SourceFeed::ids() const {
    std::vector<uint32_t> ids;
    for (const SourceColumn &column : columns_)
        ids.push_back(column.id);
    return ids;
}

SourceFeed::~SourceFeed() {
    if (shared_ && !joined_)
        shared_->close();
}

ChunkBuilder::Allocate SourceFeed::cache_allocator(bool *squeezed) {
    // (Another session may decode into a build while this one ends.)
    return [&cache = cache_, began = began_, squeezed](size_t bytes) { return cache.allocate(bytes, began, squeezed); };
}

ChunkBuilder::Allocate SourceFeed::work_allocator() {
    return [this](size_t bytes) { return cache_.allocate_work(bytes); };
}

// ---- staging ------------------------------------------------------------------------------------------------------

SourceFeed::Staged SourceFeed::stage(const StageRequest &request, const PageBits &visible, const GivenLsns *given,
                                     const std::atomic<uint32_t> *cancel) {
    check(relation_ != nullptr, "the source is not a relation");
    check(!shared_->is_staged(request.chunk), "the chunk is staged already");
    take_build();
    const bool cacheable = request.map_lsn != 0 || request.lsns_prove != 0;
    const uint64_t followed = device_.wal.follow(request.seen_wal) ? request.seen_wal.end : 0;
    const ChunkQuestion asked = question(request.chunk, request.npages, request.map_lsn, followed,
                                         request.lsns_prove != 0, visible, given, cancel);
    if (given != nullptr) {
        const std::shared_ptr<PagePlaces> places = cache_.places(relation_, request.chunk, request.npages);
        size_t at = 0;
        given->pages.for_each([&](uint32_t page) { places->set(page, given->buffers[at++]); });
    }
    Cache::Token token;
    for (;;) {
        Cache::Snapshot now = cacheable ? cache_.chunk(relation_, request.chunk, followed) : Cache::Snapshot();
        ChunkAnswer answer = check_chunk(now.version.get(), now.proof.get(), now.quiet.get(), asked);
        if (answer.unknown.any() && given == nullptr)
            return {StageState::NeedLsns, answer.unknown};
        if (answer.news)
            cache_.confirm(relation_, request.chunk, now.version, finding_of(answer.verified, answer.in_work, asked));
        if (answer.missing.any() && request.accept_missing)
            cache_.bear_missing(relation_, request.chunk);
        if (!answer.missing.any() || request.accept_missing)
            return ready(request.chunk, now.version, answer.covered);
        if (token || !cacheable)
            return start_build(request, now.version, answer, asked, std::move(token));
        token = cache_.take_token(relation_, request.chunk);
        if (!token)
            return {StageState::Busy, answer.missing};
        // Somebody may have published between our look and the token: look again.
    }
}

SourceFeed::Staged SourceFeed::ready(uint32_t chunk, const ChunkRef &version, const PageBits &covered) {
    shared_->note_staged(chunk);
    if (covered.any()) {
        cache_.touch({{&relation_, chunk, &shared_->columns}});
        hold(chunk, *version, covered_rows(*version, covered), false);
        count_hits(covered.count());
    }
    return {StageState::Ready, covered};
}

SourceFeed::Staged SourceFeed::start_build(const StageRequest &request, const ChunkRef &base, const ChunkAnswer &answer,
                                           ChunkQuestion question, Cache::Token token) {
    auto build = std::make_shared<ChunkInWork>();
    build->chunk = request.chunk;
    build->is_private = !token;
    build->question = std::move(question);
    build->places = cache_.places(relation_, request.chunk, request.npages);
    build->covered = answer.covered;
    build->in_work = answer.in_work;
    build->token = std::move(token);
    build->columns = shared_->columns;
    ChunkAnswer todo = answer;
    if (build->is_private) {
        build->base = base;
        todo.covered = todo.verified = PageBits();
    } else {
        cache_.touch({{&relation_, request.chunk, &shared_->columns}});
        if (base && answer.missing.count() <= request.npages / few_changed)
            for (ColumnRef &companion : cache_.whole_columns(relation_, *base, ids()))
                if (companion->layout.expression == 0) // nobody evaluates others
                    build->columns.push_back(std::move(companion));
    }
    std::vector<BuildColumn> columns;
    for (const ColumnRef &column : build->columns) {
        const size_t c = columns.size();
        columns.push_back(
            {column->id, &column->layout, column->dictionary.get(), c < columns_.size() ? columns_[c].expression : -1});
    }
    const uint64_t expressions = lacking_expressions(build->is_private ? nullptr : base.get(), todo);
    build->builder = std::make_unique<ChunkBuilder>(*device_.device, cache_allocator(&build->squeezed),
                                                    build->is_private ? nullptr : base, todo, request.npages,
                                                    std::move(columns), shared_->columns.size());
    build_ = std::move(build);
    if (!joined_)
        shared_->offer(build_);
    return {StageState::NeedPages, answer.missing, expressions};
}

// The expressions of which one of the missing pages may not have the values: it has changed, or was decoded for others.
uint64_t SourceFeed::lacking_expressions(const ChunkVersion *base, const ChunkAnswer &answer) const {
    uint64_t lacking = 0;
    const bool same = base != nullptr && answer.verified.contains(answer.missing);
    for (const SourceColumn &wanted : columns_)
        if (wanted.expression >= 0 && !(same && base->have({wanted.id}).contains(answer.missing)))
            lacking |= uint64_t(1) << wanted.expression;
    return lacking;
}

std::vector<PageStatus> SourceFeed::decode(uint32_t chunk, const std::vector<WindowPage> &window,
                                           const std::atomic<uint32_t> *cancel) {
    const std::shared_ptr<ChunkInWork> build = build_ || !shared_ || !joined_ ? build_ : shared_->offered();
    check(build != nullptr && build->chunk == chunk, "the chunk is not being built");
    std::lock_guard<std::mutex> guard(build->lock);
    check(!build->over, "the chunk is not being built any more");
    PageBits twice;
    for (const WindowPage &page : window) {
        check(page.page < pages_per_chunk && build->builder->wanted(page.page) && !twice.test(page.page),
              "the page is not missing");
        twice.set(page.page);
    }
    for (const WindowPage &page : window)
        if (page.in_place)
            build->places->set(page.page, static_cast<uint32_t>(size_t(page.data - pool_.pages) / page_size));
    try {
        return build->builder->decode(window, cancel);
    } catch (const Undecodable &reason) {
        build->over = true;
        give_up(reason);
    } catch (...) {
        build->over = true;
        throw;
    }
}

// The session's own, which nobody else finds any more.
std::shared_ptr<ChunkInWork> SourceFeed::take_build() {
    if (build_ && !joined_)
        shared_->offer(nullptr);
    return std::move(build_);
}

SourceFeed::Staged SourceFeed::publish(const std::vector<uint16_t> &bad) {
    const std::shared_ptr<ChunkInWork> build = take_build();
    check(build != nullptr, "no chunk is being built");
    std::lock_guard<std::mutex> guard(build->lock);
    check(!std::exchange(build->over, true), "the chunk is not being built any more");
    for (uint16_t page : bad) {
        check(page < pages_per_chunk && build->builder->was_decoded(page), "the page was not decoded");
        build->builder->drop_page(page);
    }
    const std::shared_ptr<ChunkVersion> version = build->builder->finish();
    const PageBits usable = build->builder->covered();
    if (!build->is_private) { // (first, since that sums up the version)
        cache_.publish(build->token, version, build->builder->decoded(),
                       finding_of(build->builder->verified(), build->in_work, build->question), build->squeezed);
        counters_.chunks_built.fetch_add(1, std::memory_order_relaxed);
    }
    hold(build->chunk, *version, covered_rows(*version, usable), build->is_private);
    if (build->is_private && build->covered.any())
        hold(build->chunk, *build->base, covered_rows(*build->base, build->covered), false);
    shared_->note_staged(build->chunk);
    counters_.pages_decoded.fetch_add(build->builder->decoded_pages(), std::memory_order_relaxed);
    count_hits(build->covered.count());
    return {StageState::Ready, usable | build->covered};
}

void SourceFeed::count_hits(uint32_t pages) {
    if (pages == 0)
        return;
    counters_.pages_cached.fetch_add(pages, std::memory_order_relaxed);
    for (const ColumnRef &column : shared_->columns)
        column->hits.fetch_add(1, std::memory_order_relaxed);
}

void SourceFeed::hold(uint32_t number, const ChunkVersion &version, RowsRef rows, bool is_private) {
    if (rows->participating == 0)
        return;
    HeldChunk held;
    held.number = number;
    if (version.known_rows && rows->mask == version.known_rows->mask)
        held.mask = version.mask; // (without the ranges of the version's own rows)
    held.mask_is_whole = held.mask && rows == version.known_rows;
    uint32_t room = rows->nrows;
    held.columns.reserve(columns_.size());
    for (const SourceColumn &column : columns_) {
        held.columns.push_back(*version.columns.data(column.id));
        const ColumnValues &values = held.columns.back();
        held.bytes += values.bytes();
        if (values.values || values.nulls)
            room = std::min(room, values.capacity);
    }
    if (room <
        rows->nrows) { // the last rows are of pages that a column has not got, and its buffers may end before them
        ChunkRows fewer = *rows;
        fewer.nrows = room;
        rows = std::make_shared<const ChunkRows>(std::move(fewer));
    }
    held.rows = std::move(rows);
    held.is_private = is_private;
    if (joined_) {
        shared_->deliver(std::move(held));
        return;
    }
    shared_->count(held);
    keep(std::move(held));
}

void SourceFeed::keep(HeldChunk chunk) {
    new_rows_ += chunk.rows->participating;
    for (size_t c = 0; c < columns_.size(); ++c)
        note_codes(c, chunk.columns[c].stats.max);
    // (A chunk that was repaired, or that a helper brings, comes later. Whoever recognises rows looks at them in their order.)
    const auto behind = std::upper_bound(held_.begin(), held_.end(), chunk.number,
                                         [](uint32_t number, const HeldChunk &held) { return number < held.number; });
    held_.insert(behind, std::move(chunk));
}

uint32_t SourceFeed::collect() {
    check(shared_ != nullptr && !joined_, "nobody delivers chunks of the source");
    std::vector<HeldChunk> delivered = shared_->collect();
    for (HeldChunk &chunk : delivered)
        keep(std::move(chunk));
    return static_cast<uint32_t>(delivered.size());
}

uint32_t SourceFeed::builders(uint64_t rows_per_chunk) const {
    uint64_t width = 0;
    for (const SourceColumn &column : columns_)
        width += type_width(column.type) + 1;
    const uint64_t bytes = std::max<uint64_t>(std::min<uint64_t>(rows_per_chunk, UINT32_MAX) * width, 1);
    return static_cast<uint32_t>(std::min<uint64_t>(cache_.budget() / builders_part / bytes, UINT32_MAX));
}

// ---- transient rows -----------------------------------------------------------------------------------------------

std::vector<PageStatus> SourceFeed::decode_rows(const std::vector<WindowPage> &window,
                                                const std::atomic<uint32_t> *cancel) {
    check(is_relation(), "the source has no pages");
    if (!decoded_)
        decoded_ = std::make_unique<DecodedRows>(*device_.device, work_allocator(), transient_columns());
    check(decoded_->bytes() <= 2 * transient_limit, "the pass is full");
    try {
        std::vector<PageStatus> statuses = decoded_->decode(window, cancel);
        if (joined_) {
            if (decoded_->bytes() > delivered_rows)
                deliver_rows();
            return statuses;
        }
        for (size_t c = 0; c < columns_.size(); ++c)
            note_codes(c, decoded_->max_code(c));
        note_transient();
        return statuses;
    } catch (const Undecodable &reason) {
        give_up(reason);
    }
}

void SourceFeed::deliver_rows() {
    check(joined_, "the session has its rows itself");
    if (!decoded_)
        return;
    for (size_t block = 0; block < decoded_->nblocks(); ++block) {
        HeldChunk chunk;
        chunk.rows = std::make_shared<ChunkRows>(decoded_->rows(block));
        if (chunk.rows->participating == 0)
            continue;
        chunk.is_private = true;
        for (size_t c = 0; c < columns_.size(); ++c) {
            chunk.columns.push_back(decoded_->column(block, c));
            chunk.bytes += chunk.columns.back().bytes();
        }
        shared_->deliver(std::move(chunk));
    }
    decoded_->clear();
}

void SourceFeed::batch(MessageReader &message, uint32_t nrows) {
    check(nrows <= slot_buffer_size, "too many rows");
    check(!joined_, "the source takes no rows");
    if (!batched_)
        batched_ = std::make_unique<BatchRows>(*device_.device, work_allocator(), transient_columns());
    check(batched_->bytes() <= 2 * transient_limit, "the pass is full");
    size_t full = 0;
    if (!batched_->add(message, nrows, &full))
        give_up(Undecodable("too many distinct values", {full}));
    for (size_t c = 0; c < columns_.size(); ++c)
        note_codes(c, batched_->max_code(c));
    note_transient();
}

size_t SourceFeed::use_stage(const std::shared_ptr<const StageRows> &rows) {
    check(!is_relation() && !joined_ && !batched_, "the source takes no rows of a stage");
    if (!staged_) {
        check(rows->columns().size() == columns_.size(), "a stage has other columns");
        own_dictionaries_.clear();
        for (size_t c = 0; c < columns_.size(); ++c) {
            const StageRows::Column &column = rows->columns()[c];
            check(column.type == columns_[c].type, "a column of a stage has another type");
            columns_[c].dictionary = column.dictionary.get();
            if (column.dictionary)
                own_dictionaries_.push_back(column.dictionary);
            if (column.stats.any_value)
                note_codes(c, column.stats.max);
        }
        staged_ = std::make_unique<StagedRows>(*device_.device, work_allocator(), rows);
    }
    check(&staged_->all() == rows.get(), "the source has another stage's rows");
    const size_t left = staged_->next();
    note_transient();
    return left;
}

// The fragment ends here; what is known for sure to be wrong with a column saves the next query the way to here.
void SourceFeed::give_up(const Undecodable &reason) {
    std::string message = reason.what();
    std::vector<size_t> guilty;
    for (size_t c : reason.columns) {
        const Dictionary *dictionary = columns_[c].dictionary;
        if (dictionary == nullptr || reason.columns.size() == 1 || dictionary->is_full())
            guilty.push_back(c);
    }
    if (guilty.empty())
        guilty = reason.columns;
    for (size_t i = 0; i < guilty.size() && relation_; ++i) {
        const CachedColumn &column = *shared_->columns[guilty[i]];
        message += i == 0 ? " in " : " or ";
        message += column.layout.expression != 0 ? "an expression" : "column " + std::to_string(column.attnum);
    }
    // (A numeric whose form comes from statistics has another one in the next plan: pg/cost/numeric_form.cpp.)
    if (guilty.size() == 1 && relation_ && columns_[guilty[0]].layout->digits == 0)
        cache_.refuse(relation_, *shared_->columns[guilty[0]], message, columns_[guilty[0]].dictionary != nullptr);
    throw DeviceError(message);
}

// ---- handing over -------------------------------------------------------------------------------------------------

// Rows in no cache leave twice as much device memory free as they take: so executions that run at a time share it, and a new one
// finds some. (What the cache would give up is not counted, so there is a least pass.) Who has heard it waits for the pass, so it
// stays true though others give memory back.
bool SourceFeed::pass_full() const {
    const size_t transient = load_->transient.load(std::memory_order_relaxed);
    const DeviceInfo info = device_.device->info();
    const size_t free = info.memory_limit - std::min(info.memory_used, info.memory_limit);
    if (transient > std::clamp(free / 2, min_pass, transient_limit) || load_->full(cache_.budget()))
        load_->said_full.store(true, std::memory_order_relaxed);
    return load_->said_full.load(std::memory_order_relaxed);
}

void SourceFeed::note_transient() {
    const size_t bytes =
        (batched_ ? batched_->bytes() : 0) + (decoded_ ? decoded_->bytes() : 0) + (staged_ ? staged_->bytes() : 0);
    load_->transient.fetch_add(bytes - transient_, std::memory_order_relaxed); // (modulo 2^64)
    transient_ = bytes;
}

bool SourceFeed::shares_dictionaries(const SourceFeed &other) const {
    return columns_.size() == other.columns_.size() &&
           std::equal(columns_.begin(), columns_.end(), other.columns_.begin(),
                      [](const SourceColumn &a, const SourceColumn &b) { return a.dictionary == b.dictionary; });
}

void SourceFeed::add_to(PassInput &input) {
    take_build();
    for (const HeldChunk &held : held_) {
        ChunkView view;
        view.nrows = held.rows->nrows;
        view.row_mask = held.rows->mask ? held.rows->mask->data() : nullptr;
        view.device_mask = held.mask ? held.mask->data : nullptr;
        view.device_mask_is_whole = held.mask_is_whole;
        view.without = held.rows->without.empty() ? nullptr : &held.rows->without;
        view.columns.reserve(held.columns.size());
        for (const ColumnValues &column : held.columns) {
            view.columns.push_back(
                column_view(column.type, column.frame, column.values.get(), column.nulls.get(), column.stats));
            if (column.zone_map_narrows && column.zones->size() * zone_rows >= view.nrows)
                view.columns.back().zones = column.zones->data();
        }
        input.chunks.push_back(std::move(view));
        input.rows += held.rows->participating;
    }
    if (decoded_)
        decoded_->add_to(input);
    if (batched_)
        batched_->add_to(input);
    if (staged_)
        staged_->add_to(input);
}

void SourceFeed::add_speculative_chunks(std::vector<ChunkView> &chunks, std::vector<ChunkRef> &held) const {
    for (const ChunkRef &version : relation_ ? cache_.versions(relation_) : std::vector<ChunkRef>()) {
        ChunkView view;
        view.nrows = version->nrows;
        for (const SourceColumn &wanted : columns_) {
            const ColumnData *data = version->columns.data(wanted.id);
            if (data == nullptr)
                break;
            view.columns.push_back(
                column_view(data->type, data->frame, data->values.get(), data->nulls.get(), data->stats));
        }
        if (view.columns.size() < columns_.size())
            continue;
        chunks.push_back(std::move(view));
        held.push_back(version);
    }
}

bool SourceFeed::describe(BuildIdentity &identity) const {
    if (!relation_)
        return false;
    const RelationFile &file = Cache::file(relation_);
    identity.put(file.tablespace);
    identity.put(file.database);
    identity.put(file.relation);
    identity.relations.push_back(file);
    identity.put(columns_.size());
    for (const SourceColumn &column : columns_) {
        identity.put(column.id);
        identity.put(column.dictionary != nullptr ? column.dictionary->id() : uint64_t(0));
    }
    return true;
}

bool SourceFeed::identify(BuildIdentity &identity) const {
    if (!relation_ && ((batched_ && !batched_->empty()) || staged_)) // (whose texts have codes of this session's)
        return false;
    identity.put(held_.size());
    identity.put(columns_.size());
    const bool any_row = !held_.empty() || (decoded_ && !decoded_->empty()) || (batched_ && !batched_->empty());
    for (const TransientColumn &column : columns_)
        identity.put(column.dictionary != nullptr && any_row ? column.dictionary->id() : uint64_t(0));
    for (const HeldChunk &held : held_) {
        if (held.is_private)
            return false;
        for (const ColumnValues &column : held.columns) {
            identity.put(column.frame.width);
            identity.put(column.frame.base);
            for (const BufferRef &buffer : {column.values, column.nulls}) {
                identity.put(buffer.get());
                if (buffer)
                    identity.read.push_back(buffer);
            }
        }
    }
    return true;
}

bool SourceFeed::identify_rows(size_t max_bytes, size_t max_uncached, BuildIdentity &identity) const {
    const size_t uncached = (decoded_ ? decoded_->count() : 0) + (batched_ ? batched_->count() : 0);
    if (uncached * row_bytes(column_types()) > max_bytes || uncached > max_uncached ||
        (uncached > 0 && columns_.empty()))
        return false;
    for (const HeldChunk &held : held_)
        identity.put_chunk(held.rows);
    std::string rows;
    try {
        if (decoded_)
            decoded_->read(rows);
    } catch (const OutOfDeviceMemory &) {
        return false;
    }
    if (batched_)
        batched_->read(rows);
    identity.put_uncached(rows);
    return true;
}

void SourceFeed::add_values(const std::string &rows, PassInput &input) {
    gpuscan::add_values(*device_.device, work_allocator(), column_types(), rows, input);
}

std::vector<Type> SourceFeed::column_types() const {
    std::vector<Type> types;
    for (const TransientColumn &column : columns_)
        types.push_back(column.type);
    return types;
}

void SourceFeed::release(bool last) {
    take_build();
    size_t bytes = 0, private_bytes = 0;
    for (const HeldChunk &chunk : held_) {
        bytes += chunk.bytes;
        private_bytes += chunk.is_private ? chunk.bytes : 0;
    }
    held_.clear();
    if (shared_)
        shared_->discount(bytes, private_bytes);
    if (decoded_)
        decoded_->clear();
    if (batched_)
        batched_->clear();
    if (staged_)
        staged_->clear();
    note_transient();
    load_->said_full.store(false, std::memory_order_relaxed);
    if (last && shared_)
        check(shared_->forget_staged(), "delivered chunks have not been collected");
}

std::shared_ptr<Dictionary> SourceFeed::shared_dictionary(uint32_t column) const {
    const Dictionary *wanted = dictionary(column);
    if (wanted == nullptr || relation_)
        return wanted != nullptr ? shared_->columns[column]->dictionary : nullptr;
    for (const std::shared_ptr<Dictionary> &own : own_dictionaries_)
        if (own.get() == wanted)
            return own;
    return nullptr;
}

void SourceFeed::note_codes(size_t column, int64_t code) {
    if (columns_[column].type == Type::Code)
        columns_[column].max_code = std::max(columns_[column].max_code, code);
}

int64_t SourceFeed::max_code(uint32_t column) const {
    return column < columns_.size() ? columns_[column].max_code : -1;
}

} // namespace gpuscan
