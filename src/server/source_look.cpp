// What does the cache have of a chunk, and is that right for this query? See source_feed.hpp.
//
// Most chunks of a live table have no changed page, or a few. So a chunk is looked at in three ways, each for more cases and
// dearer than the one before:
//
//   whole         WAL has named none of its pages, or the map vouches for all: two numbers are compared
//   nearly whole  WAL has named a few, which have changed: one pass over the sets of pages, 1 us
//   any other     check_chunk(), 5 to 10 us, and 20 ns for each page whose LSN is compared
//
// What is missing may be read row by row by this query, or brought into the cache for all (stage_ahead()).
#include <algorithm>

#include "engine/util/cancel_point.hpp"
#include "server/source_feed.hpp"

namespace gpuscan {

using namespace protocol;

namespace {

// For test/tap/windows.sh, which proves that it would notice: bit 0 builds without a look at heap pages' LSNs.
#ifndef GPUSCAN_TEST_NO_BARRIER
#define GPUSCAN_TEST_NO_BARRIER 0
#endif
constexpr bool compare_pages = (GPUSCAN_TEST_NO_BARRIER & 1) == 0;

// Reading a page row by row takes 9 us, making the next version of a whole chunk 1 ms: of so many pages one is read by row, by
// all queries together, before a query makes that version (ski rental).
constexpr uint32_t pages_per_missing = 256;
// But a page that has changed lately can mostly not be cached yet, since some snapshot sees it otherwise (if its rows were not just
// locked). Of so many one is counted. And so many pages may be read by row at a time: of more, several processes bring the chunk.
constexpr uint32_t undecided_per_missing = 16;
constexpr uint32_t read_by_row = 512;
uint32_t bearable(uint32_t npages) { return npages * undecided_per_missing / pages_per_missing; }

constexpr uint32_t pages_per_task = 2048; // when LSNs are compared: 20 ns each
constexpr uint32_t hashes_per_task = 512; // 0.5 us each
constexpr uint32_t pages_ahead = 16;      // that are fetched while others are compared

} // namespace

ChunkQuestion SourceFeed::question(uint32_t chunk, uint32_t npages, uint64_t map_lsn, uint64_t followed,
                                   bool lsns_prove, const PageBits &visible, const GivenLsns *given,
                                   const std::atomic<uint32_t> *cancel) const {
    ChunkQuestion question;
    question.visible = visible;
    question.map_lsn = hashed_ ? 0 : map_lsn; // (neither says anything of such pages)
    question.followed = hashed_ ? 0 : followed;
    question.has_lsns = !hashed_;
    question.wanted = lsns_prove ? PageBits::first(npages) : visible;
    question.columns = ids();
    question.compare = [this, chunk, given, cancel](const ChunkVersion &version, const PageBits &pages,
                                                    ChunkAnswer &answer) {
        PageBits others = pages;
        size_t at = 0;
        if (given != nullptr)
            given->pages.for_each([&](uint32_t page) {
                const uint64_t lsn = given->lsns[at++];
                if (!pages.test(page))
                    return;
                others.reset(page);
                if (lsn != 0 && lsn == version.pages[page].lsn)
                    answer.verified.set(page);
            });
        compare_identities(chunk, version, others, answer, cancel);
    };
    return question;
}

// Is the page in shared buffers the one that had this LSN, or hash? `next`: where the next page lies that is looked at.
SourceFeed::PageLook SourceFeed::look_at(uint32_t chunk, uint32_t page, uint64_t lsn, const PagePlaces &places,
                                         uint32_t next) const {
    const RelationFile &file = Cache::file(relation_);
    const PageTag tag = {file.tablespace, file.database, file.relation, 0, chunk * pages_per_chunk + page};
    const uint32_t buffer = places.get(page);
    uint64_t identity = 0;
    bool unlocked = hashed_;
    if (!(hashed_ ? read_page_hash(pool_, tag, buffer, next, &identity)
                  : read_page_lsn(pool_, tag, buffer, &identity, &unlocked)))
        return PageLook::NotFound;
    if (identity != lsn && compare_pages)
        return PageLook::Changed;
    return unlocked ? PageLook::Same : PageLook::InWork;
}

void SourceFeed::compare_identities(uint32_t chunk, const ChunkVersion &version, const PageBits &pages,
                                    ChunkAnswer &answer, const std::atomic<uint32_t> *cancel) const {
    std::vector<uint32_t> list;
    pages.for_each([&](uint32_t page) {
        if (version.pages[page].lsn == 0)
            return;
        list.push_back(page);
        answer.verified.set(page); // (nearly all are)
    });
    counters_.pages_compared.fetch_add(list.size(), std::memory_order_relaxed);
    const std::shared_ptr<PagePlaces> places = cache_.places(relation_, chunk, 0);
    const size_t per_task = hashed_ ? hashes_per_task : pages_per_task;
    const size_t ntasks = (list.size() + per_task - 1) / per_task;
    std::vector<std::vector<uint32_t>> changed(ntasks), not_found(ntasks), in_work(ntasks);
    auto compare = [&](size_t task, unsigned) {
        CancelPoint(cancel).worked(0);
        const size_t end = std::min(list.size(), (task + 1) * per_task);
        for (size_t i = task * per_task, ahead = i; i < end; ++i) {
            for (; ahead < std::min(end, i + pages_ahead); ++ahead)
                prefetch_page_lsn(pool_, places->get(list[ahead]));
            const uint32_t page = list[i], next = i + 1 < end ? places->get(list[i + 1]) : PagePlaces::none;
            const PageLook found = look_at(chunk, page, version.pages[page].lsn, *places, next);
            if (found == PageLook::NotFound)
                not_found[task].push_back(page);
            else if (found == PageLook::Changed)
                changed[task].push_back(page);
            else if (found == PageLook::InWork)
                in_work[task].push_back(page);
        }
    };
    if (ntasks == 1)
        compare(0, 0);
    else if (ntasks > 1)
        device_.pool().run(ntasks, compare);
    for (size_t task = 0; task < ntasks; ++task) {
        for (uint32_t page : changed[task])
            answer.verified.reset(page);
        for (uint32_t page : not_found[task]) {
            answer.verified.reset(page);
            answer.unknown.set(page);
        }
        answer.in_work.insert(answer.in_work.end(), in_work[task].begin(), in_work[task].end());
    }
}

// For which only a map can vouch.
static bool any_without_lsn(const ChunkVersion &version, const PageBits &pages) {
    bool any = false;
    (pages & version.known_pages).for_each([&](uint32_t page) { any |= version.pages[page].lsn == 0; });
    return any;
}

// A chunk of which every page is known to the cache and right, by WAL, or because all are visible and by the map page's LSN: the common
// cases, and cheap to see.
bool SourceFeed::is_whole(const Cache::Snapshot &now, const StageManyRequest &request,
                          const StageManyEntry &entry) const {
    if (!now.version || entry.npages == 0 || now.version->whole_pages != entry.npages)
        return false;
    // (Quiet pages are known ones, and those are just the first so many. To a snapshot from recovery only the map says anything.)
    const bool by_wal = request.lsns_prove != 0 && !hashed_ && now.nquiet == entry.npages;
    const bool by_map = now.proof && entry.all_visible != 0 && entry.map_lsn != 0 &&
                        now.proof->map_lsn == entry.map_lsn && now.proof->whole_by_map >= entry.npages;
    return (by_wal || by_map) && has_whole_columns(*now.version);
}

bool SourceFeed::has_whole_columns(const ChunkVersion &version) const {
    return std::all_of(columns_.begin(), columns_.end(), [&](const SourceColumn &wanted) {
        const ChunkColumns::Column *column = version.columns.find(wanted.id);
        return column != nullptr && column->whole;
    });
}

// What is found of a version of which WAL has named these pages; nullptr: some have not changed, or that cannot be told here.
std::shared_ptr<const ChunkLook> SourceFeed::look_at_named(const StageManyEntry &entry,
                                                           const Cache::Snapshot &now) const {
    const ChunkVersion &version = *now.version;
    auto look = std::make_shared<ChunkLook>();
    if (!now.quiet->list_missing(entry.npages, compared_for_map, &look->missing) || look->missing.empty())
        return nullptr;
    const std::shared_ptr<PagePlaces> places = cache_.places(relation_, entry.chunk, 0);
    look->covered = PageBits::first(entry.npages);
    uint32_t compared = 0;
    for (const uint32_t page : look->missing) {
        look->covered.reset(page);
        if (!version.known(page))
            continue;
        const uint64_t lsn = version.pages[page].lsn;
        if (lsn == 0 || look_at(entry.chunk, page, lsn, *places, PagePlaces::none) != PageLook::Changed)
            return nullptr;
        ++compared;
    }
    counters_.pages_compared.fetch_add(compared, std::memory_order_relaxed);
    look->quiet = now.quiet;
    look->npages = entry.npages;
    look->rows = covered_rows(version, look->covered);
    return look;
}

// False: this is not such a chunk. (A page that has changed since the version was made stays so.)
bool SourceFeed::examine_nearly_whole(const StageManyEntry &entry, uint64_t decided, Examined *examined) const {
    const Cache::Snapshot &now = examined->now;
    if (hashed_ || !now.quiet || !now.version->cpu_pages.empty() || !has_whole_columns(*now.version))
        return false;
    std::shared_ptr<const ChunkLook> look = now.look;
    if (!look || look->quiet != now.quiet || look->npages != entry.npages) {
        look = look_at_named(entry, now);
        if (!look)
            return false;
        cache_.remember_look(relation_, entry.chunk, now.version, look);
    }
    note_missing(entry, look->missing, decided, examined);
    examined->answered = true;
    examined->ncovered = entry.npages - examined->missing;
    if (examined->may_be_borne)
        examined->rows = look->rows;
    examined->covered = std::shared_ptr<const PageBits>(look, &look->covered);
    return true;
}

// May the query do without these pages, which it reads row by row then?
void SourceFeed::note_missing(const StageManyEntry &entry, const std::vector<uint32_t> &missing, uint64_t decided,
                              Examined *examined) const {
    examined->missing = static_cast<uint32_t>(missing.size());
    if (!missing.empty())
        examined->undecided = cache_.count_undecided(relation_, entry.chunk, missing, decided);
    examined->may_be_borne = examined->burden() <= bearable(entry.npages) && examined->missing <= read_by_row;
}

SourceFeed::Examined SourceFeed::examine(const StageManyRequest &request, const StageManyEntry &entry,
                                         const PageBits *visible, uint64_t decided, Cache::Snapshot found,
                                         const std::atomic<uint32_t> *cancel) const {
    Examined examined;
    examined.missing = entry.npages;
    examined.now = std::move(found);
    examined.answered = !examined.now.version;
    const Cache::Snapshot &now = examined.now;
    if (!now.version || (entry.map_lsn == 0 && request.lsns_prove == 0))
        return examined;
    if (is_whole(now, request, entry)) {
        examined.ncovered = entry.npages;
        examined.missing = 0;
        examined.rows = now.version->known_rows;
        return examined;
    }
    if (request.no_maps != 0 && request.lsns_prove != 0 && examine_nearly_whole(entry, decided, &examined))
        return examined;
    ChunkQuestion asked =
        question(entry.chunk, entry.npages, entry.map_lsn, request.seen_wal.end, request.lsns_prove != 0,
                 visible != nullptr ? *visible : PageBits::first(entry.npages), nullptr, cancel);
    if (request.no_maps != 0) {
        asked.visible = PageBits();
        asked.compare_at_most = compared_for_map;
    }
    const ChunkAnswer answer = check_chunk(now.version.get(), now.proof.get(), now.quiet.get(), asked);
    examined.missing = answer.missing.any() ? answer.missing.count() : 0; // (mostly none)
    if (answer.unknown.any())
        return examined;
    if (answer.news)
        cache_.confirm(relation_, entry.chunk, now.version, finding_of(answer.verified, answer.in_work, asked));
    examined.answered = request.no_maps == 0 || !any_without_lsn(*now.version, answer.missing);
    if (!examined.answered)
        return examined;
    if (examined.missing <= read_by_row) {
        std::vector<uint32_t> missing;
        answer.missing.for_each([&](uint32_t page) { missing.push_back(page); });
        note_missing(entry, missing, decided, &examined);
    }
    examined.ncovered = answer.covered.count();
    if (examined.ncovered != 0 && examined.may_be_borne)
        examined.rows = covered_rows(*now.version, answer.covered);
    if (answer.covered == asked.wanted)
        return examined;
    examined.covered = std::make_shared<const PageBits>(answer.covered);
    if (answer.verified.contains(asked.wanted))
        examined.right = std::make_unique<PageBits>(asked.wanted);
    return examined;
}

uint32_t SourceFeed::Examined::burden() const { return (missing - undecided) * undecided_per_missing + undecided; }

SourceFeed::StagedAhead SourceFeed::stage_ahead(const StageManyEntry &entry, Examined &&examined,
                                                const std::function<bool(const ChunkView &)> &is_prunable,
                                                bool may_prune, bool may_repair) {
    StagedAhead staged;
    if (examined.answered)
        staged.state = StageManyState::Missing;
    staged.to_be_repaired =
        examined.rows && examined.covered &&
        cache_.is_repair_due(relation_, entry.chunk, examined.burden(), bearable(entry.npages),
                             may_repair && examined.missing > examined.undecided && examined.now.calm);
    if (examined.rows && !staged.to_be_repaired) {
        staged.state = examined.covered ? StageManyState::HeldInPart : StageManyState::Held;
        staged.covered = std::move(examined.covered);
        hold(entry.chunk, *examined.now.version, std::move(examined.rows), false);
        count_hits(examined.ncovered);
    } else if (may_prune && examined.right) {
        staged.skipped = rows_pruned(*examined.now.version, *examined.right, is_prunable);
        if (staged.skipped != 0)
            staged.state = StageManyState::Skipped;
    }
    if (staged.holds())
        check(shared_->note_staged(entry.chunk), "the chunk is staged already");
    return staged;
}

// How many rows are passed over if, by the bounds of the columns that have all of the pages, none is wanted.
uint32_t SourceFeed::rows_pruned(const ChunkVersion &version, const PageBits &pages,
                                 const std::function<bool(const ChunkView &)> &is_prunable) const {
    static const uint8_t some_nulls = 0; // nobody looks at the flags
    ChunkView view;
    view.nrows = version.live_rows;
    bool any = false;
    for (size_t c = 0; c < columns_.size(); ++c) {
        const ColumnData *data = version.columns.data(columns_[c].id);
        if (data != nullptr && data->have.contains(pages)) {
            view.columns.push_back(
                column_view(data->type, data->frame, data->values.get(), data->nulls.get(), data->stats));
            any = true;
        } else {
            ColumnView unknown;
            unknown.type = columns_[c].type;
            unknown.nulls = &some_nulls;
            view.columns.push_back(unknown);
        }
    }
    return any && view.nrows != 0 && is_prunable(view) ? view.nrows : 0;
}

} // namespace gpuscan
