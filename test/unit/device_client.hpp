// A backend for tests: it writes the protocol's messages and goes through the course of whole fragments, over tables
// that are heap pages made by hand in a pretended shared_buffers.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "message.hpp"
#include "page_builder.hpp"
#include "program_builder.hpp"
#include "server/futex.hpp"
#include "server/group_page.hpp"
#include "server/source_feed.hpp"

namespace gpuscan::test {

using namespace protocol;

// ---- messages -----------------------------------------------------------------------------------------------------

struct Answer {
    Status status = Status::Lost;
    std::string bytes, message;
    template <class T> T head(size_t at = 0) const {
        T value;
        EXPECT_LE(at + sizeof(T), bytes.size());
        memcpy(static_cast<void *>(&value), bytes.data() + at, sizeof(T));
        return value;
    }
};

// The groups of a reply to Fetch, one after the other.
struct UnpackedGroups {
    std::vector<ir::Value> keys;
    std::vector<uint8_t> key_nulls;
    std::vector<ir::AggregateState> states;
};

inline UnpackedGroups unpack(const Answer &answer, uint32_t nkeys, uint32_t naggregates) {
    UnpackedGroups groups;
    std::vector<GroupPart> parts(nkeys + 2 * naggregates);
    const bool good = open_group_page(answer.bytes.data(), answer.bytes.size(), nkeys, naggregates, parts.data());
    EXPECT_TRUE(good);
    if (!good)
        return groups;
    const uint32_t n = answer.head<FetchReply>().ngroups;
    groups.keys.resize(n * nkeys);
    groups.key_nulls.resize(n * nkeys);
    groups.states.resize(n * naggregates);
    for (uint32_t k = 0; k < nkeys && n > 0; ++k) {
        unpack_group_part(parts[k], 0, n, &groups.keys[k].low, &groups.keys[k].high, nkeys * sizeof(ir::Value));
        for (uint32_t g = 0; g < n && parts[k].nulls != nullptr; ++g)
            groups.key_nulls[g * nkeys + k] = parts[k].nulls[g];
    }
    for (uint32_t a = 0; a < naggregates && n > 0; ++a) {
        ir::AggregateState &first = groups.states[a];
        const size_t stride = naggregates * sizeof first;
        unpack_group_part(parts[nkeys + 2 * a], 0, n, &first.count, nullptr, stride);
        unpack_group_part(parts[nkeys + 2 * a + 1], 0, n, &first.low, &first.high, stride);
    }
    return groups;
}

class Client {
  public:
    virtual ~Client() = default;
    virtual Answer call(Command command, const Message &message) = 0;
};

// ---- the pretended server -----------------------------------------------------------------------------------------

constexpr size_t pool_bytes = 512 * size_t(page_size);

// A relation in the pool: pages from `first` on.
struct Relation {
    uint32_t number = 0, first = 0, npages = 0;
    std::vector<uint32_t> tuples;
    std::vector<uint64_t> lsns;
    PageBits visible;
    uint64_t map_lsn = 100;
};

// fact(key int4, amount int8, kind text), dim(id int4, name text)
inline const AttributeLayout fact_attributes[] = {{4, 4, 0}, {8, 8, 0}, {-1, 4, 0}};
inline const AttributeLayout dim_attributes[] = {{4, 4, 0}, {-1, 4, 0}};

class Server {
  public:
    Server()
        : memory_(static_cast<uint8_t *>(
              mmap(nullptr, pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
        fact = make(1, 0, 40);
        dim = make(2, 100, 3);
        more_dim = make(4, 200, 1);
        for (uint32_t p = 0; p < fact.npages; ++p)
            write_fact(p, 1);
        for (uint32_t p = 0; p < dim.npages; ++p)
            write_dim(p);
        pages::Page page;
        for (int i = 0; i < 10; ++i)
            page.add({dim_attributes, dim_attributes + 2},
                     {pages::fixed(30 + i), pages::short_text("name " + std::to_string(5 - i % 4))});
        set(more_dim, 0, page);
    }

    void write_fact(uint32_t p, int64_t amount) {
        pages::Page page;
        for (int i = 0; i < 30; ++i)
            page.add({fact_attributes, fact_attributes + 3},
                     {pages::fixed((static_cast<int32_t>(p) + i) % 40), pages::fixed(amount),
                      i % 10 == 0 ? pages::null_value() : pages::short_text(i % 2 ? "odd" : "even")});
        set(fact, p, page);
    }

    // The page's rows from one of them on, then those before it; all names may be the next ones.
    void write_dim(uint32_t p, int first = 0, int renamed = 0) {
        pages::Page page;
        for (int at = first; at < first + 10; ++at)
            page.add({dim_attributes, dim_attributes + 2},
                     {pages::fixed(static_cast<int32_t>(p) * 10 + at % 10),
                      pages::short_text("name " + std::to_string((at % 10 + renamed) % 4))});
        set(dim, p, page);
    }

    ~Server() { munmap(memory_, pool_bytes); }
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    BufferPool pool() const { return {memory_, pool_bytes}; }
    const uint8_t *page(uint32_t buffer) const { return memory_ + size_t(buffer) * page_size; }

    Relation fact, dim;
    Relation more_dim; // a second partition of dim: other ids, other names in another order

  private:
    static Relation make(uint32_t number, uint32_t first, uint32_t npages) {
        Relation r;
        r.number = number;
        r.first = first;
        r.npages = npages;
        r.tuples.resize(npages);
        r.lsns.resize(npages);
        for (uint32_t p = 0; p < npages; ++p)
            r.visible.set(p);
        return r;
    }
    void set(Relation &r, uint32_t p, const pages::Page &page) {
        memcpy(memory_ + size_t(r.first + p) * page_size, page.bytes, page_size);
        r.tuples[p] = page.tuples;
        r.lsns[p] = ++lsn_;
    }

    uint8_t *memory_;
    uint64_t lsn_ = 1000;
};

// select name, count(*), sum(amount) from fact join dim on key = id [where kind is 'odd' by a lookup] group by name
inline std::string join_program(bool with_lookup) {
    ProgramBuilder b;
    const ir::Index d = b.source({{Type::I32, 1, {}}, {Type::Code, 1, {}}});
    const ir::Index f = b.source({{Type::I32, 1, {}}, {Type::I64, 1, {}}, {Type::Code, 1, {}}});
    const ir::Index build = b.build(d, {}, {}, {b.column(Type::I32, 0, 0)}, {b.column(Type::Code, 0, 1)});
    std::vector<ProgramBuilder::ConjunctSpec> conjuncts;
    if (with_lookup)
        conjuncts.push_back({b.lookup(Type::Bool, f, 2, b.column(Type::Code, 0, 2)), 0});
    const ir::Index key = b.column(Type::I32, 0, 0);
    const ir::Index name = b.column(Type::Code, 1, 0);
    const ir::Index amount = b.column(Type::I64, 0, 1);
    b.aggregate(f, conjuncts, {{build, {key}}}, {name},
                {{ir::AggregateKind::CountRows, ir::none}, {ir::AggregateKind::Sum, amount}});
    return serialize_program(b.program);
}

// select count(*) from one int4 column of any source
inline std::string count_program() {
    ProgramBuilder b;
    const ir::Index s = b.source({{Type::I32, 1, {}}});
    b.aggregate(s, {}, {}, {}, {{ir::AggregateKind::CountRows, ir::none}});
    return serialize_program(b.program);
}

inline Message open_message(const std::string &program) {
    OpenRequest request = {};
    request.program_size = static_cast<uint32_t>(program.size());
    return Message().put(request).raw(program.data(), program.size());
}

// `dictionary`: the name that text columns share one under.
inline Message define_message(uint32_t source, const Relation &r, const std::vector<int> &attnums, uint32_t feed = 0,
                              const std::string &dictionary = {}) {
    DefineSourceRequest request = {};
    request.source = source;
    request.feed = feed;
    request.ncolumns = static_cast<uint32_t>(attnums.size());
    request.locator = {1663, 5, r.number};
    Message message;
    message.put(request);
    for (int attnum : attnums) {
        const AttributeLayout *all = r.number == 1 ? fact_attributes : dim_attributes;
        ColumnHead head = {};
        head.nattributes = static_cast<uint32_t>(attnum);
        const bool is_text = all[attnum - 1].length < 0, wide = all[attnum - 1].length == 8;
        head.codec = static_cast<uint8_t>(is_text ? Codec::Text : wide ? Codec::Int64 : Codec::Int32);
        head.type = static_cast<uint8_t>(is_text ? Type::Code : wide ? Type::I64 : Type::I32);
        head.missing_null = 1;
        head.key_size = 3;
        head.dictionary_size = is_text ? static_cast<uint32_t>(dictionary.size()) : 0;
        message.put(head).raw(all, static_cast<size_t>(attnum) * sizeof *all).raw("", 0).raw("key", 3);
        message.raw(dictionary.data(), head.dictionary_size);
    }
    return message;
}

// lsns: with the LSNs of all visible pages. Not identified: a map page without an LSN.
inline Message stage_message(uint32_t source, const Relation &r, bool lsns, bool accept = false,
                             bool identified = true) {
    StageRequest request = {};
    request.source = source;
    request.npages = r.npages;
    request.has_lsns = lsns;
    request.accept_missing = accept;
    request.map_lsn = identified ? r.map_lsn : 0;
    Message message;
    message.put(request);
    uint8_t bits[bitmap_bytes];
    r.visible.write(bits);
    message.raw(bits, sizeof bits);
    if (!lsns)
        return message;
    std::vector<uint64_t> of_visible;
    r.visible.for_each([&](uint32_t page) { of_visible.push_back(r.lsns[page]); });
    message.raw(bits, sizeof bits).array(of_visible);
    return message.array(std::vector<uint32_t>(of_visible.size(), PagePlaces::none));
}

// Every one of these chunks has the relation's pages.
inline Message stage_many_message(uint32_t source, const Relation &r, const std::vector<uint32_t> &chunks) {
    Message message;
    message.put(StageManyRequest{static_cast<uint32_t>(chunks.size()), 0, 0, 0, {}, 0, 0});
    const bool all = r.visible == PageBits::first(r.npages);
    std::vector<StageManyEntry> entries;
    for (uint32_t chunk : chunks)
        entries.push_back({chunk, r.npages, all, source, r.map_lsn});
    message.array(entries);
    uint8_t bits[bitmap_bytes];
    r.visible.write(bits);
    for (size_t i = 0; !all && i < chunks.size(); ++i)
        message.raw(bits, sizeof bits);
    return message;
}

inline std::vector<bool> held_of(const Answer &answer) {
    std::vector<bool> held;
    for (uint32_t i = 0; i < answer.head<StageManyReply>().answered; ++i)
        held.push_back(answer.bytes.at(sizeof(StageManyReply) + i) != static_cast<char>(StageManyState::NotHeld) &&
                       answer.bytes.at(sizeof(StageManyReply) + i) != static_cast<char>(StageManyState::Missing));
    return held;
}

// Of each chunk that was looked at: its rows, or the pages to bring.
inline std::vector<uint32_t> counts_of(const Answer &answer) {
    const uint32_t answered = answer.head<StageManyReply>().answered;
    std::vector<uint32_t> counts(answered);
    const size_t at = sizeof(StageManyReply) + (answered + 7) / 8 * 8;
    memcpy(counts.data(), &answer.bytes.at(at), answered * sizeof(uint32_t));
    return counts;
}

inline PageBits bits_of(const Answer &answer) {
    PageBits bits;
    EXPECT_EQ(answer.bytes.size(), sizeof(StageReply) + bitmap_bytes);
    bits.read(answer.bytes.data() + sizeof(StageReply), pages_per_chunk);
    return bits;
}

inline Message decode_message(uint32_t source, const Relation &r, const std::vector<uint32_t> &pages,
                              uint32_t chunk = 0) {
    DecodeRequest request = {};
    request.source = source;
    request.chunk = chunk;
    request.npages = static_cast<uint32_t>(pages.size());
    Message message;
    message.put(request);
    std::vector<PageEntry> entries;
    for (uint32_t p : pages)
        entries.push_back({static_cast<uint16_t>(p), static_cast<uint16_t>(r.tuples[p]), r.first + p, r.lsns[p]});
    return message.array(entries);
}

inline Message publish_message(uint32_t source, const std::vector<uint16_t> &bad = {}) {
    PublishRequest request = {};
    request.source = source;
    request.nbad = static_cast<uint32_t>(bad.size());
    return Message().put(request).array(bad);
}

// Pages row by row, every tuple visible; copied as if the pool were too small to pin them.
inline Message rows_message(uint32_t source, const Server &server, const Relation &r,
                            const std::vector<uint32_t> &pages) {
    DecodeRequest request = {};
    request.source = source;
    request.npages = static_cast<uint32_t>(pages.size());
    request.copied = 1;
    request.has_masks = 1;
    std::vector<PageEntry> entries;
    std::vector<TupleMask> masks;
    std::string images;
    for (uint32_t p : pages) {
        entries.push_back(
            {static_cast<uint16_t>(p), static_cast<uint16_t>(r.tuples[p]), static_cast<uint32_t>(entries.size()), 0});
        TupleMask mask;
        for (uint32_t t = 0; t < r.tuples[p]; ++t)
            mask.bits[t / 64] |= uint64_t(1) << (t % 64);
        masks.push_back(mask);
        images.append(reinterpret_cast<const char *>(server.page(r.first + p)), page_size);
    }
    Message message;
    return message.put(request)
        .array(std::vector<uint16_t>())
        .array(entries)
        .array(masks)
        .raw(images.data(), images.size());
}

inline Message run_message(uint32_t pipeline, bool last = true, uint64_t fingerprint = 0) {
    RunRequest request = {};
    request.fingerprint = fingerprint;
    request.pipeline = pipeline;
    request.last = last;
    return Message().put(request);
}

// ---- a whole fragment ---------------------------------------------------------------------------------------------

struct Totals {
    int64_t count = 0, sum = 0;
    bool operator==(const Totals &o) const { return count == o.count && sum == o.sum; }
};
using Groups = std::map<std::string, Totals>;

struct Course {
    Client &client;
    const Server &server;
    uint32_t decoded = 0, held = 0; // pages; chunks that the cache had in full
    Status status = Status::Ok;
    std::string message = {};
    Client *helper = nullptr; // stages the table of facts
    bool collects = true;     // what the helper has delivered
    bool partitions = false;  // dim has two
    uint64_t fingerprint = 0; // of the build
    std::string table = {};   // what the device says of the join's

    bool ask(Command command, const Message &m, Answer *answer = nullptr) {
        Answer a = client.call(command, m);
        status = a.status;
        message = a.message;
        if (answer != nullptr)
            *answer = a;
        return status == Status::Ok;
    }

    // Everything of one source: what the cache has, what it lacks, and the rest row by row.
    bool feed(uint32_t source, const Relation &r) {
        Answer a;
        if (!ask(Command::StageMany, stage_many_message(source, r, {0}), &a))
            return false;
        if (held_of(a).at(0)) {
            ++held;
            return feed_rows(source, r, r.visible);
        }
        for (bool lsns = false;;) {
            if (!ask(Command::Stage, stage_message(source, r, lsns), &a))
                return false;
            StageState state = static_cast<StageState>(a.head<StageReply>().state);
            if (state == StageState::NeedLsns) {
                lsns = true;
                continue;
            }
            if (state == StageState::Busy && !ask(Command::Stage, stage_message(source, r, true, true), &a))
                return false;
            break;
        }
        if (static_cast<StageState>(a.head<StageReply>().state) == StageState::NeedPages) {
            std::vector<uint32_t> window;
            const PageBits missing = bits_of(a);
            bool good = true;
            auto send = [&] {
                good = good && ask(Command::Decode, decode_message(source, r, window));
                decoded += static_cast<uint32_t>(window.size());
                window.clear();
            };
            missing.for_each([&](uint32_t page) {
                window.push_back(page);
                if (window.size() == 16)
                    send();
            });
            send();
            if (!good || !ask(Command::Publish, publish_message(source), &a))
                return false;
        }
        return feed_rows(source, r, bits_of(a));
    }

    bool feed_more() {
        return !partitions || (ask(Command::DefineSource, define_message(0, server.more_dim, {1, 2}, 2, "dim/name")) &&
                               feed(2, server.more_dim));
    }

    // As parallel workers do it.
    bool feed_by_helper() {
        Answer a;
        if (!ask(Command::Share, Message().put(ShareRequest{1, 0, 100}), &a))
            return false;
        Course other{*helper, server};
        const uint64_t ticket = a.head<ShareReply>().ticket;
        const bool fed = other.ask(Command::Join, Message().put(JoinRequest{ticket})) && other.feed(0, server.fact) &&
                         other.ask(Command::DeliverRows, Message().put(DeliverRowsRequest{0, 0})) &&
                         other.ask(Command::Close, Message());
        status = other.status;
        message = other.message;
        decoded += other.decoded;
        held += other.held;
        return fed && (!collects || ask(Command::Collect, Message().put(CollectRequest{1, 0})));
    }

    bool feed_rows(uint32_t source, const Relation &r, const PageBits &covered) {
        for (uint32_t page = 0; page < r.npages; ++page)
            if (!covered.test(page) && !ask(Command::DecodeRows, rows_message(source, server, r, {page})))
                return false;
        return true;
    }

    // All entries, or those of some codes.
    std::vector<std::string> dictionary(uint32_t source, uint32_t column, const std::vector<uint32_t> &codes = {}) {
        std::vector<std::string> entries;
        Answer a;
        ReadDictionaryRequest request = {source, column, 0, static_cast<uint32_t>(codes.size())};
        if (!ask(Command::ReadDictionary, Message().put(request).array(codes), &a))
            return entries;
        const ReadDictionaryReply head = a.head<ReadDictionaryReply>();
        size_t at = sizeof head;
        for (uint32_t i = 0; i < head.count; ++i) {
            const uint32_t length = a.head<uint32_t>(at);
            entries.push_back(a.bytes.substr(at + 4, length));
            at += 4 + ((length + 3) & ~3u);
        }
        return entries;
    }

    bool put_lookup(uint32_t lookup, const std::vector<std::string> &entries, const std::string &wanted) {
        PutLookupRequest request = {
            lookup, static_cast<uint32_t>(entries.size()), 0, static_cast<uint32_t>(entries.size() + 1), 0, 0};
        std::vector<uint8_t> values(entries.size() + 1), nulls(entries.size() + 1);
        for (size_t i = 0; i < entries.size(); ++i)
            values[i] = entries[i] == wanted;
        nulls.back() = 1;
        return ask(Command::PutLookup, Message().put(request).array(values).array(nulls));
    }

    bool run(bool with_lookup, Groups *groups) {
        if (!ask(Command::Open, open_message(join_program(with_lookup))) ||
            !ask(Command::DefineSource, define_message(0, server.dim, {1, 2}, 0, partitions ? "dim/name" : "")) ||
            !ask(Command::DefineSource, define_message(1, server.fact, {1, 2, 3})) || !feed(0, server.dim) ||
            !feed_more() || !ask(Command::Run, run_message(0, true, fingerprint)) ||
            !(helper ? feed_by_helper() : feed(1, server.fact)))
            return false;
        if (with_lookup && !put_lookup(0, dictionary(1, 2), "odd"))
            return false;
        Answer a;
        if (!ask(Command::Run, run_message(1), &a))
            return false;
        table = a.bytes.substr((sizeof(RunReply) + 7) / 8 * 8, 64).c_str();
        const std::vector<std::string> names = dictionary(0, 1);
        for (;;) {
            if (!ask(Command::Fetch, Message(), &a))
                return false;
            const FetchReply head = a.head<FetchReply>();
            if (head.ngroups == 0)
                break;
            const UnpackedGroups unpacked = unpack(a, 1, 2);
            for (uint32_t g = 0; g < head.ngroups; ++g) {
                EXPECT_LT(unpacked.keys[g].low, names.size());
                (*groups)[names[unpacked.keys[g].low]] = {unpacked.states[2 * g].count,
                                                          static_cast<int64_t>(unpacked.states[2 * g + 1].low)};
            }
        }
        return ask(Command::Close, Message());
    }
};

// `changed` pages of facts; `renamed`: a page of dim.
inline Groups expected_groups(bool with_lookup, int64_t changed_pages_amount = 1, const PageBits &changed = {},
                              uint32_t renamed = UINT32_MAX) {
    Groups groups;
    for (uint32_t p = 0; p < 40; ++p)
        for (uint32_t i = 0; i < 30; ++i) {
            const uint32_t key = (p + i) % 40;
            if (key >= 30 || (with_lookup && (i % 2 == 0)))
                continue;
            Totals &t = groups["name " + std::to_string((key % 10 + (key / 10 == renamed)) % 4)];
            ++t.count;
            t.sum += changed.test(p) ? changed_pages_amount : 1;
        }
    return groups;
}

// ---- through the slots --------------------------------------------------------------------------------------------

inline Area *make_area(uint32_t nslots) {
    const size_t slots_offset = 4096 * ((sizeof(Area) + 4095) / 4096);
    const size_t buffers_offset = slots_offset + 4096 * ((nslots * sizeof(Slot) + 4095) / 4096);
    const size_t size = buffers_offset + 2 * nslots * size_t(slot_buffer_size);
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return nullptr;
    Area *area = static_cast<Area *>(memory);
    area->magic = area_magic;
    area->size = size;
    area->nslots = nslots;
    area->slots_offset = slots_offset;
    area->buffers_offset = buffers_offset;
    return area;
}

class SlotClient : public Client {
  public:
    SlotClient(Area *area, uint32_t number) : area_(area), slot_(*area->slot(number)), number_(number) {}

    void take() {
        uint32_t expected = static_cast<uint32_t>(SlotState::Free);
        while (!slot_.state.compare_exchange_weak(expected, static_cast<uint32_t>(SlotState::Taken))) {
            expected = static_cast<uint32_t>(SlotState::Free);
            std::this_thread::yield();
        }
        slot_.reply = slot_.request.load();
        slot_.cancel = 0;
        slot_.generation = area_->generation.load();
        request_ = slot_.request;
    }

    void post(Command command, const Message &message) {
        memcpy(area_->input(number_), message.bytes.data(), message.bytes.size());
        slot_.command = static_cast<uint32_t>(command);
        slot_.input_offset = 0;
        slot_.input_size = static_cast<uint32_t>(message.bytes.size());
        slot_.request = ++request_;
        futex_wake(slot_.request);
    }

    Answer call(Command command, const Message &message) override {
        post(command, message);
        for (uint32_t reply; (reply = slot_.reply) != request_;)
            futex_wait(slot_.reply, reply, 1000);
        Answer answer;
        answer.status = static_cast<Status>(slot_.status);
        answer.message = slot_.message;
        answer.bytes.assign(reinterpret_cast<const char *>(area_->output(number_)), slot_.output_size);
        return answer;
    }

    void abandon() {
        slot_.cancel = 1;
        slot_.state = static_cast<uint32_t>(SlotState::Abandoned);
        slot_.request |= request_abandoned;
        futex_wake(slot_.request);
    }

    void release() { slot_.state = static_cast<uint32_t>(SlotState::Free); }

  private:
    Area *area_;
    Slot &slot_;
    uint32_t number_, request_ = 0;
};

} // namespace gpuscan::test
