// What a session's sources are fed with: chunks that the cache has, pages and rows that the backend brings, and sessions that join to bring
// more.
#include <algorithm>

#include "server/session.hpp"

namespace gpuscan {

using namespace protocol;

// Of one request: beyond so many, nobody's writing any more is no reason to repair a chunk, which takes 0.4 ms.
constexpr unsigned repairs_of_request = 8;
constexpr size_t chunks_per_task = 4; // that are examined: 3 us each, and 20 ns for each page that is compared

// What the cache has of the chunks. Where pages must be compared, several threads do that.
std::vector<SourceFeed::Examined> Session::examine(const StageManyRequest &request,
                                                   const std::vector<StageManyEntry> &entries, MessageReader &in,
                                                   const std::atomic<uint32_t> *cancel) {
    std::vector<std::unique_ptr<PageBits>> visible(entries.size()); // nullptr: all pages are
    std::vector<Cache::Look> names;
    names.reserve(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
        check(entries[i].npages <= pages_per_chunk && entries[i].chunk <= UINT32_MAX / pages_per_chunk,
              "too many pages");
        SourceFeed &source = feed(entries[i].source);
        check(source.is_relation(), "the source is not a relation");
        names.push_back({{&source.relation(), entries[i].chunk}, request.no_maps != 0 && source.is_first_look()});
        if (entries[i].all_visible || request.no_maps)
            continue;
        visible[i] = std::make_unique<PageBits>();
        visible[i]->read(in.part(bitmap_bytes), entries[i].npages);
    }
    uint64_t decided = UINT64_MAX;
    if (request.horizon != 0 && request.seen_wal.end != 0) {
        device_->decided_wal.note(request.seen_wal.end, request.next_xid);
        decided = device_->decided_wal.before(request.horizon);
    }
    std::vector<Cache::Snapshot> found = device_->cache.chunks(names, request.seen_wal.end);
    std::vector<SourceFeed::Examined> examined(entries.size());
    size_t in_part = 0; // of whose pages more than a few are not quiet
    for (size_t i = 0; i < entries.size(); ++i)
        in_part += found[i].version && !entries[i].all_visible &&
                   found[i].nquiet + SourceFeed::compared_for_map < entries[i].npages;
    const auto examine_some = [&](size_t first, size_t end) {
        for (size_t i = first; i < end; ++i)
            examined[i] = feed(entries[i].source)
                              .examine(request, entries[i], visible[i].get(), decided, std::move(found[i]), cancel);
    };
    if (in_part > chunks_per_task)
        device_->pool().run((entries.size() + chunks_per_task - 1) / chunks_per_task, [&](size_t task, unsigned) {
            examine_some(task * chunks_per_task, std::min(entries.size(), (task + 1) * chunks_per_task));
        });
    else
        examine_some(0, entries.size());
    return examined;
}

// Does the next pipeline read the feed? Then the tables that it probes are there.
bool Session::is_read_next(uint32_t feed) const {
    if (pipeline_ >= program_.pipelines.size())
        return false;
    const uint32_t source = program_.pipelines[pipeline_].source;
    const std::vector<uint32_t> &others = other_feeds_[source]; // in their order
    return feed == source || std::binary_search(others.begin(), others.end(), feed);
}

void Session::stage_many(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel) {
    StageManyRequest request = in.head<StageManyRequest>();
    check(request.no_maps == 0 || request.lsns_prove != 0, "nothing is proved");
    if (!device_->wal.follow(request.seen_wal))
        request.seen_wal = {};
    const std::vector<StageManyEntry> entries = in.array<StageManyEntry>(request.count);
    std::vector<uint8_t> states;
    std::vector<uint32_t> counts;
    std::vector<std::shared_ptr<const PageBits>> covered;
    std::vector<Cache::Use> used;
    states.reserve(entries.size());
    counts.reserve(entries.size());
    used.reserve(entries.size());
    std::unique_ptr<Skipper> skipper;
    auto is_prunable = [&](const ChunkView &chunk) {
        if (!skipper)
            skipper.reset(new Skipper(make_skipper(pipeline_)));
        return skipper->is_prunable(chunk);
    };
    bool full = false;
    unsigned repairs = 0;
    std::vector<SourceFeed::Examined> examined = examine(request, entries, in, cancel);
    for (size_t i = 0; i < entries.size(); ++i) {
        const StageManyEntry &entry = entries[i];
        SourceFeed &source = feed(entry.source);
        const uint32_t missing = examined[i].missing;
        SourceFeed::StagedAhead staged = source.stage_ahead(entry, std::move(examined[i]), is_prunable,
                                                            is_read_next(entry.source), repairs < repairs_of_request);
        repairs += staged.to_be_repaired;
        if (staged.state == StageManyState::Skipped) {
            ++chunks_skipped_;
            rows_skipped_ += staged.skipped;
        } else if (staged.holds()) {
            used.push_back({{&source.relation(), entry.chunk}, &source.cached_columns()});
        }
        if (staged.state == StageManyState::HeldInPart)
            covered.push_back(std::move(staged.covered));
        const uint32_t new_rows = static_cast<uint32_t>(source.take_new_rows());
        counts.push_back(staged.holds() ? staged.skipped + new_rows : missing);
        states.push_back(static_cast<uint8_t>(staged.state));
        full = source.pass_full();
        if (full)
            break;
    }
    device_->cache.touch(used);
    StageManyReply reply = {};
    reply.answered = static_cast<uint32_t>(states.size());
    reply.pass_full = full;
    out.put(reply);
    if (states.empty())
        return;
    memcpy(out.part(states.size()), states.data(), states.size());
    memcpy(out.part(counts.size() * sizeof(uint32_t)), counts.data(), counts.size() * sizeof(uint32_t));
    for (const std::shared_ptr<const PageBits> &pages : covered)
        pages->write(out.part(bitmap_bytes));
}

void Session::stage(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel) {
    const StageRequest request = in.head<StageRequest>();
    SourceFeed &source = feed(request.source);
    check(request.npages <= pages_per_chunk && request.chunk <= UINT32_MAX / pages_per_chunk, "too many pages");
    PageBits visible;
    visible.read(in.part(bitmap_bytes), request.npages);
    GivenLsns given;
    if (request.has_lsns) {
        given.pages.read(in.part(bitmap_bytes), request.npages);
        given.lsns = in.array<uint64_t>(given.pages.count());
        given.buffers = in.array<uint32_t>(given.lsns.size());
    }
    put_staged(out, source.stage(request, visible, request.has_lsns ? &given : nullptr, cancel), source);
}

void Session::publish(MessageReader &in, MessageWriter &out) {
    const PublishRequest request = in.head<PublishRequest>();
    SourceFeed &source = feed(request.source);
    const std::vector<uint16_t> bad = in.array<uint16_t>(request.nbad);
    put_staged(out, source.publish(bad), source);
}

void Session::share(MessageReader &in, MessageWriter &out) {
    const ShareRequest request = in.head<ShareRequest>();
    SourceFeed &source = feed(request.source);
    const std::shared_ptr<SharedSource> shared = source.share();
    check(shared != nullptr, "the source cannot be shared");
    shared->uncounted = is_uncounted();
    ShareReply reply = {};
    reply.ticket = devices_.shares.offer(device_, shared);
    reply.builders = source.builders(request.rows_per_chunk);
    out.put(reply);
}

// The session has no program: it can stage, and nothing else.
void Session::join(MessageReader &in) {
    reset();
    const JoinRequest request = in.head<JoinRequest>();
    Shares::Share share = devices_.shares.find(request.ticket);
    if (!share)
        throw DeviceError("the session to be joined has ended");
    device_ = std::move(share.device);
    feeds_.push_back(std::make_unique<SourceFeed>(*device_, share.source->uncounted ? unshown_ : counters_, pool_,
                                                  std::move(share.source)));
}

void Session::collect(MessageReader &in, MessageWriter &out) {
    const CollectRequest request = in.head<CollectRequest>();
    SourceFeed &source = feed(request.source);
    CollectReply reply = {};
    reply.chunks = source.collect();
    reply.rows = source.take_new_rows();
    reply.pass_full = source.pass_full();
    out.put(reply);
}

void Session::put_staged(MessageWriter &out, const SourceFeed::Staged &staged, SourceFeed &source) const {
    StageReply reply = {};
    reply.state = static_cast<uint32_t>(staged.state);
    reply.pages = staged.pages.count();
    reply.rows = static_cast<uint32_t>(source.take_new_rows());
    reply.pass_full = source.pass_full();
    reply.expressions = staged.expressions;
    out.put(reply);
    staged.pages.write(out.part(bitmap_bytes));
}

// The pages of a request, with addresses that lie where they must.
std::vector<WindowPage> Session::window(const DecodeRequest &request, const std::vector<PageEntry> &entries,
                                        MessageReader &in) const {
    const uint8_t *copies = request.copied ? in.part(request.npages, page_size) : nullptr;
    std::vector<WindowPage> pages;
    pages.reserve(entries.size());
    for (const PageEntry &entry : entries) {
        check(entry.ntuples <= max_tuples_per_page, "too many tuples");
        const size_t offset = size_t(entry.buffer) * page_size;
        if (request.copied)
            check(entry.buffer < request.npages, "no such page image");
        else
            check(pool_.size >= page_size && offset <= pool_.size - page_size, "no such buffer");
        WindowPage page;
        page.page = entry.page;
        page.ntuples = entry.ntuples;
        page.in_place = !request.copied;
        page.lsn = entry.lsn;
        page.data = (request.copied ? copies : pool_.pages) + offset;
        pages.push_back(page);
    }
    return pages;
}

// One for each page, if the request has any.
static std::vector<TupleMask> read_masks(const DecodeRequest &request, const std::vector<PageEntry> &entries,
                                         MessageReader &in) {
    const std::vector<TupleMask> masks = in.array<TupleMask>(request.has_masks ? request.npages : 0);
    for (size_t i = 0; i < masks.size(); ++i) {
        int tuples = 0;
        for (uint64_t word : masks[i].bits)
            tuples += __builtin_popcountll(word);
        check(tuples == entries[i].ntuples, "a mask does not have its tuples");
    }
    return masks;
}

// What the backend has made of expressions for the pages, each of which has a mask.
static void read_expressions(const DecodeRequest &request, MessageReader &in, std::vector<WindowPage> &pages) {
    std::vector<size_t> numbers;
    for (size_t number = 0; number < 64; ++number)
        if (request.expressions >> number & 1)
            numbers.push_back(number);
    check(numbers.empty() || (request.has_masks != 0 && numbers.back() < max_expressions),
          "expressions that nobody has asked for");
    const std::vector<uint8_t> states = in.array<uint8_t>(numbers.size() * pages.size());
    const uint8_t *values = numbers.empty() ? nullptr : in.part(static_cast<uint32_t>(states.size()), page_size);
    for (size_t i = 0; i < states.size(); ++i) {
        std::vector<ExpressionPage> &of_page = pages[i / numbers.size()].expressions;
        of_page.resize(numbers.back() + 1);
        ExpressionPage &page = of_page[numbers[i % numbers.size()]];
        page.failed = states[i] != static_cast<uint8_t>(ExpressionState::Evaluated);
        page.data = page.failed ? nullptr : values + i * page_size;
    }
}

// What follows the head of the request.
Session::MaskedWindow Session::masked_window(const DecodeRequest &request, MessageReader &in) const {
    MaskedWindow to;
    const std::vector<PageEntry> entries = in.array<PageEntry>(request.npages);
    to.masks = read_masks(request, entries, in);
    to.pages = window(request, entries, in);
    for (size_t i = 0; i < to.masks.size(); ++i)
        to.pages[i].mask = &to.masks[i];
    read_expressions(request, in, to.pages);
    return to;
}

void Session::decode(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel) {
    const DecodeRequest request = in.head<DecodeRequest>();
    SourceFeed &source = feed(request.source);
    check(request.npages <= (request.copied ? max_copied_pages : max_window_pages), "too many pages");
    const MaskedWindow window = masked_window(request, in);
    put_statuses(out, source.decode(request.chunk, window.pages, cancel), source);
}

void Session::decode_rows(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel) {
    const DecodeRequest request = in.head<DecodeRequest>();
    SourceFeed &source = feed(request.source);
    check(request.npages <= (request.copied ? max_copied_pages : max_window_pages), "too many pages");
    check(request.has_masks != 0, "DecodeRows needs masks");
    const MaskedWindow window = masked_window(request, in);
    put_statuses(out, source.decode_rows(window.pages, cancel), source);
}

void Session::deliver_rows(MessageReader &in, MessageWriter &out) {
    const DeliverRowsRequest request = in.head<DeliverRowsRequest>();
    SourceFeed &source = feed(request.source);
    source.deliver_rows();
    DeliverRowsReply reply = {};
    reply.pass_full = source.pass_full();
    out.put(reply);
}

void Session::put_statuses(MessageWriter &out, const std::vector<PageStatus> &statuses,
                           const SourceFeed &source) const {
    DecodeReply reply = {};
    reply.npages = static_cast<uint32_t>(statuses.size());
    reply.pass_full = source.pass_full();
    out.put(reply);
    uint8_t *to = out.part(statuses.size());
    for (PageStatus status : statuses)
        *to++ = static_cast<uint8_t>(status);
}

void Session::batch(MessageReader &in, MessageWriter &out) {
    const BatchRequest request = in.head<BatchRequest>();
    SourceFeed &source = feed(request.source);
    source.batch(in, request.nrows);
    BatchReply reply = {};
    reply.pass_full = source.pass_full();
    out.put(reply);
}

void Session::use_stage(MessageReader &in, MessageWriter &out) {
    const UseStageRequest request = in.head<UseStageRequest>();
    check(request.stage < stages_.size(), "no such stage");
    UseStageReply reply = {};
    reply.left = feed(request.source).use_stage(stages_[request.stage]);
    out.put(reply);
}

} // namespace gpuscan
