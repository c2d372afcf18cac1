// One fragment of one backend, from Open to Close, as a state machine over the protocol's messages.
//
// handle() answers one request and never throws: what the device cannot do is Fallback with the reason, what the sender
// must not send is Invalid. Any answer but Ok ends the session, so that its memory is free before the backend has begun
// with its CPU plan. Ending it, for whatever reason, gives the builder's token back and publishes nothing unfinished.
//
// The order that is enforced: Open; DefineSource for each source; per pipeline, in the program's order, staging of its
// source, DeferredCodes until nothing is lacking, and Run (until one says last); Fetch, or Keep, when the main pipeline's last Run is done. A chunk
// is staged at most once per scan, and a lookup must cover every code that was staged: wrong orders cannot become wrong results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/ir/build_identity.hpp"
#include "engine/ir/program.hpp"
#include "engine/result/extreme_ranks.hpp"
#include "engine/result/group_merge.hpp"
#include "engine/result/stage_rows.hpp"
#include "engine/store/deferred_evaluation.hpp"
#include "engine/store/skip.hpp"
#include "engine/store/text_function.hpp"
#include "engine/store/text_order.hpp"
#include "server/source_feed.hpp"

namespace gpuscan {

struct SessionRequest {
    protocol::Command command = protocol::Command::None;
    const uint8_t *input = nullptr;
    size_t input_size = 0;
    uint8_t *output = nullptr;                     // protocol::slot_buffer_size bytes
    const std::atomic<uint32_t> *cancel = nullptr; // the same for all requests of a session
};

struct SessionReply {
    protocol::Status status = protocol::Status::Ok;
    size_t output_size = 0;
    std::string message;
    bool device_lost = false; // the process must be restarted once the reply is sent
};

class Session {
  public:
    Session(Devices &devices, protocol::Counters &counters, BufferPool pool)
        : devices_(devices), counters_(counters), pool_(pool) {}

    SessionReply handle(const SessionRequest &request);
    void reset(); // as Close
    bool is_open() const { return device_ != nullptr; }

  private:
    struct LookupState {
        LookupRef table; // nullptr: not set
        std::string key; // of the table that is being filled, "": it cannot be cached
        uint32_t unified = 0;
        protocol::RankOrder ranks = protocol::RankOrder::None;
        LookupRef base; // a cached table of fewer entries, with which it begins
        std::shared_ptr<LookupTable> filling;
        size_t filled = 0; // of entries + 1
        // A deferred lookup: which entries of `table` (and of NULL, the last) are there, and whether the execution has not seen it
        // so. `growing`: the table, if it is this session's own and may be written; `growing_known` likewise.
        KnownEntries known;
        std::shared_ptr<LookupTable> growing;
        std::shared_ptr<std::vector<uint8_t>> growing_known;
        bool changed = false;
    };

    // What is asked of the backend before a pass runs (session_deferred.cpp).
    struct DeferredState {
        bool open = false;
        std::vector<DeferredLookup> all; // of the pipeline
        size_t next = 0;                 // of them: the one that is looked at when `codes` have been asked for
        std::vector<uint32_t> codes;     // of the one before
        size_t asked = 0;                // of the codes
    };

    void dispatch(const SessionRequest &request, MessageReader &in, MessageWriter &out);
    void open(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel);
    void define_sources(MessageReader &in);
    void define_source(const protocol::DefineSourceRequest &request, MessageReader &in,
                       std::vector<ColumnDefinition> &columns);
    void stage_many(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel);
    void stage(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel);
    void decode(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel);
    void decode_rows(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel);
    void deliver_rows(MessageReader &in, MessageWriter &out);
    void publish(MessageReader &in, MessageWriter &out);
    void share(MessageReader &in, MessageWriter &out);
    void join(MessageReader &in);
    void collect(MessageReader &in, MessageWriter &out);
    void batch(MessageReader &in, MessageWriter &out);
    void keep(MessageReader &in, MessageWriter &out);
    void use_stage(MessageReader &in, MessageWriter &out);
    void use_unified_dictionary(MessageReader &in);
    void use_lookup(MessageReader &in, MessageWriter &out);
    void codes_of_ranks(MessageReader &in, MessageWriter &out);
    void read_dictionary(MessageReader &in, MessageWriter &out);
    void put_lookup(MessageReader &in);
    void deferred_codes(MessageReader &in, MessageWriter &out);
    void put_entries(MessageReader &in);
    void end_program();
    void run(MessageReader &in, MessageWriter &out);
    void fetch(MessageWriter &out);
    void fetch_groups(MessageWriter &out);
    void fetch_rows(MessageWriter &out);
    void evict(MessageReader &in, MessageWriter &out);
    void list_cache(MessageReader &in, MessageWriter &out);
    void test(MessageReader &in, const std::atomic<uint32_t> *cancel);
    static void plant_death(const std::string &function);

    void define_another(const protocol::DefineSourceRequest &request, std::unique_ptr<SourceFeed> feed);
    void speculate();
    SourceFeed &feed(uint32_t source);
    // All of a source that is defined.
    std::vector<SourceFeed *> feeds_of(uint32_t source);
    bool is_read_next(uint32_t feed) const;
    std::vector<SourceFeed::Examined> examine(const protocol::StageManyRequest &request,
                                              const std::vector<protocol::StageManyEntry> &entries, MessageReader &in,
                                              const std::atomic<uint32_t> *cancel);
    struct MaskedWindow {
        std::vector<TupleMask> masks; // of the pages, or none
        std::vector<WindowPage> pages;
    };
    MaskedWindow masked_window(const protocol::DecodeRequest &request, MessageReader &in) const;
    std::vector<WindowPage> window(const protocol::DecodeRequest &request,
                                   const std::vector<protocol::PageEntry> &entries, MessageReader &in) const;
    void put_staged(MessageWriter &out, const SourceFeed::Staged &staged, SourceFeed &feed) const;
    void put_statuses(MessageWriter &out, const std::vector<PageStatus> &statuses, const SourceFeed &feed) const;
    void check_lookups(uint32_t pipeline);
    uint32_t first_deferred(uint32_t lookup, size_t left);
    void collect_deferred(const DeferredLookup &deferred);
    std::vector<uint32_t> codes_that_reach(const DeferredLookup &deferred);
    void grow_deferred();
    LookupState &deferred_state(uint32_t lookup);
    void own_deferred(uint32_t lookup, size_t entries);
    void keep_deferred(uint32_t lookup);
    void finish_deferred();
    Dictionary &dictionary_of(uint32_t lookup);
    std::shared_ptr<Dictionary> unified_dictionary_of(uint32_t unified) const;
    void set_lookup(uint32_t lookup, const std::shared_ptr<LookupTable> &table);
    std::vector<uint32_t> read_texts(MessageReader &in, uint32_t count, const uint8_t *nulls, uint32_t unified) const;
    std::shared_ptr<LookupTable> evaluate(uint32_t lookup, const TextFunction &function, size_t entries,
                                          const LookupRef &base, Dictionary *texts);
    std::shared_ptr<LookupTable> rank(uint32_t lookup, bool without_blanks, size_t entries, const LookupRef &base,
                                      bool rough);
    RunTasks all_threads() const;
    void sharpen_ranks(uint32_t lookup, const std::vector<size_t> &which);
    bool runs_roughly(const PassInput &input, bool last);
    template <class Run> void run_until_sharp(Run run);
    void sharpen_all();
    template <class Result> bool sharpen_shown(const Result &result);
    void begin_again();
    LookupContents contents_of(uint32_t lookup) const;
    Skipper make_skipper(uint32_t pipeline) const;
    void skip(uint32_t pipeline, PassInput &input);
    void run_build(uint32_t pipeline, PassInput &input, const protocol::RunRequest &request);
    bool identify_build(uint32_t pipeline, const PassInput &input, BuildIdentity &identity);
    bool use_kept(uint32_t pipeline, const PassInput &input, BuildIdentity &identity, uint64_t fingerprint);
    int64_t compare_with(const BuildIdentity &former, uint32_t pipeline, const PassInput &input,
                         const BuildIdentity &identity, OtherRows *others);
    bool may_run_over(const std::string &rows, const std::vector<SourceFeed *> &feeds) const;
    bool change_table(uint32_t pipeline, const BuiltTableRef &former, const OtherRows &others);
    bool is_probed_by_builds(uint32_t pipeline) const;
    void keep_built(uint32_t pipeline, BuildIdentity identity, bool by_rows, uint64_t fingerprint);
    void run_main(PassInput &input, bool last);
    void filter_groups();
    void order_groups();
    void collect_rows(const PassInput &input);
    bool keep_on_device(StageRows &rows);
    bool compute_windows(const PassInput &input);
    void order_rows();
    void add_rows(RowTable &&pass);
    void run_rest();
    std::unique_ptr<Execution> prepare_again(const Program &program);
    std::unique_ptr<Execution> prepare_with_tables(const Program &program);
    void collect_arguments(const PassInput &input, bool last);
    void order_sets();
    template <class Run> auto with_room(Run run) -> decltype(run());
    template <class Run> bool try_with_room(Run run);
    void with_results(const std::function<void()> &work);
    bool delivers_rows() const { return program_.main().sink == ir::SinkKind::Rows; }
    void count(const ExecutionStats &stats);
    bool is_uncounted() const;            // of a program that reads a table with hidden rows nothing shows
    protocol::Counters &shown_counters(); // those of such a program are nobody's

    Devices &devices_;
    protocol::Counters &counters_;
    protocol::Counters unshown_ = {};
    const BufferPool pool_;

    std::vector<std::shared_ptr<const StageRows>> stages_; // since the last Close, by number

    // Of the open fragment; the device is declared first because everything else is its.
    ServedDeviceRef device_;
    uint64_t began_ = 0;
    Program program_;
    std::unique_ptr<Execution> execution_;
    const std::atomic<uint32_t> *cancel_ = nullptr;  // of the request that opened it, and so of all
    std::vector<std::unique_ptr<SourceFeed>> feeds_; // by number: the first of each source, then the others
    std::vector<std::vector<uint32_t>> other_feeds_; // by source: numbers of the feeds beside the first
    std::vector<LookupState> lookups_;
    ExtremeRanks extreme_ranks_;
    DeferredState deferred_;
    std::vector<std::shared_ptr<Dictionary>> unified_dictionaries_; // by number, from 1
    bool speculated_ = false;                                       // the device knows what will most likely be read
    uint32_t pipeline_ = 0;                                         // the one that runs next
    std::vector<uint64_t> table_ids_;        // by pipeline: of its finished table among the cached ones, 0: not cached
    std::vector<std::string> table_origins_; // by pipeline: what became of what was kept of it, for EXPLAIN
    bool first_pass_ = true;                 // of that pipeline
    std::unique_ptr<GroupMerger> merger_;
    bool any_pass_ = false; // of the main pipeline
    GroupTable groups_;
    RowTable rows_;
    std::optional<DeviceRows> device_rows_; // instead of them: a result that is in the device's memory
    size_t copied_ = 0;                     // of these into rows_
    size_t fetched_ = 0;                    // groups, or rows of the first block
    ExecutionStats rest_stats_;             // of the executions that ran over unmatched rows, or before
    ExecutionStats counted_;                // what the counters already have
    uint64_t chunks_skipped_ = 0, rows_skipped_ = 0;
    uint64_t groups_dropped_ = 0;
};

// Work of the device, tried again with more of its memory where that was too little.
template <class Run> auto Session::with_room(Run run) -> decltype(run()) {
    constexpr int attempts = 3;
    for (int attempt = 1;; ++attempt) {
        try {
            return run();
        } catch (const OutOfWorkMemory &) {
            throw;
        } catch (const OutOfDeviceMemory &) {
            if (attempt == attempts)
                throw;
            const DeviceInfo info = device_->device->info();
            device_->cache.make_room(info.memory_limit / 4 * size_t(attempt));
        }
    }
}

// False, too, if there is not enough of it.
template <class Run> bool Session::try_with_room(Run run) {
    try {
        return with_room(run);
    } catch (const OutOfWorkMemory &) {
        throw;
    } catch (const OutOfDeviceMemory &) {
        return false;
    }
}

} // namespace gpuscan
