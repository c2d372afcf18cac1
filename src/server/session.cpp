// One fragment of one backend; see session.hpp. In this file: the order of messages, the program and its sources, running it, and what comes out.
#include "server/session.hpp"

#include <algorithm>
#include <new>

#include "engine/result/first_rows.hpp"
#include "engine/result/ordered_sets.hpp"
#include "engine/result/second_aggregation.hpp"
#include "engine/result/unmatched.hpp"
#include "host/group_filter.hpp"
#include "host/group_sort.hpp"
#include "host/join_table.hpp"
#include "server/column_message.hpp"
#include "server/group_page.hpp"
#include "server/planted_death.hpp"

namespace gpuscan {

using namespace protocol;

namespace {

constexpr size_t build_part = 4; // room is made for a hash table up to this part of the device's memory
constexpr size_t max_identity_bytes = size_t(1)
                                      << 20; // a build with larger lookups, places, or values is not recognised
// The values of so many rows are looked at to find that a build's rows are the same as before, or of one row in so many. On 2 cores
// a row takes 0.2 us to compare and 0.01 us to build.
constexpr size_t compared_rows = 512, compared_part = 32;
// From an H200 a row takes 0.09 us to compare, where a build takes 150 us and 11 us a million rows.
constexpr size_t compared_from_device = 2048, compared_part_from_device = 8192;
// The table of fewer rows it builds in less time than it takes to bring a few values from there.
constexpr size_t worth_comparing_from_device = size_t(1) << 19;
constexpr int max_rough_runs = 3;     // over rough ranks, then they are completed
constexpr uint64_t rows_per_text = 8; // that a program may run over twice, rather than sort all texts

bool is_staging(Command command) {
    return command == Command::StageMany || command == Command::Stage || command == Command::Decode ||
           command == Command::Publish || command == Command::DecodeRows || command == Command::DeliverRows;
}

void copy_text(char *to, size_t size, const std::string &from) {
    size_t n = std::min(size - 1, from.size());
    memcpy(to, from.data(), n);
    memset(to + n, 0, size - n);
}

} // namespace

// ---- the frame ----------------------------------------------------------------------------------------------------

SessionReply Session::handle(const SessionRequest &request) {
    SessionReply reply;
    MessageReader in(request.input, request.input_size);
    MessageWriter out(request.output, slot_buffer_size);
    try {
        try {
            dispatch(request, in, out);
            reply.output_size = out.size();
            return reply;
        } catch (const InvalidMessage &error) {
            reply.status = Status::Invalid;
            reply.message = error.what();
        } catch (const Cancelled &) {
            reply.status = Status::Cancelled;
            counters_.cancelled.fetch_add(1, std::memory_order_relaxed);
        } catch (const RowError &error) {
            reply.status = Status::RowError;
            reply.message = error.what();
            counters_.row_errors.fetch_add(1, std::memory_order_relaxed);
        } catch (const DeviceLost &error) {
            reply.status = Status::Fallback;
            reply.message = error.what();
            reply.device_lost = true;
        } catch (const std::bad_alloc &) {
            reply.status = Status::Fallback;
            reply.message = "the device process is out of memory";
        } catch (const std::exception &error) {
            reply.status = Status::Fallback;
            reply.message = error.what();
        }
    } catch (...) { // while copying a reason
        reply.status = Status::Fallback;
    }
    reset();
    return reply;
}

void Session::reset() {
    stages_.clear();
    end_program();
}

void Session::end_program() {
    groups_ = GroupTable();
    rows_ = RowTable();
    device_rows_.reset();
    merger_.reset();
    feeds_.clear();
    other_feeds_.clear();
    execution_.reset();
    lookups_.clear();
    deferred_ = DeferredState();
    unified_dictionaries_.clear();
    table_ids_.clear();
    table_origins_.clear();
    first_pass_ = true;
    speculated_ = false;
    program_ = Program();
    cancel_ = nullptr;
    pipeline_ = 0;
    any_pass_ = false;
    fetched_ = copied_ = 0;
    counted_ = rest_stats_ = ExecutionStats();
    chunks_skipped_ = rows_skipped_ = groups_dropped_ = 0;
    device_.reset();
}

void Session::dispatch(const SessionRequest &request, MessageReader &in, MessageWriter &out) {
    switch (request.command) {
    case Command::Open:
        return open(in, out, request.cancel);
    case Command::Join:
        return join(in);
    case Command::Close:
        return reset();
    case Command::Evict:
        return evict(in, out);
    case Command::ListCache:
        return list_cache(in, out);
    case Command::Test:
        return test(in, request.cancel);
    default:
        break;
    }
    check(is_open(), "no program is open");
    check(!program_.pipelines.empty() || is_staging(request.command), "the session has joined another one to stage");
    if (request.cancel != nullptr && request.cancel->load(std::memory_order_relaxed) != 0)
        throw Cancelled();
    if (request.command != Command::DefineSource && !speculated_)
        speculate();
    switch (request.command) {
    case Command::DefineSource:
        return define_sources(in);
    case Command::StageMany:
        return stage_many(in, out, request.cancel);
    case Command::Stage:
        return stage(in, out, request.cancel);
    case Command::Decode:
        return decode(in, out, request.cancel);
    case Command::Publish:
        return publish(in, out);
    case Command::Share:
        return share(in, out);
    case Command::Collect:
        return collect(in, out);
    case Command::DecodeRows:
        return decode_rows(in, out, request.cancel);
    case Command::DeliverRows:
        return deliver_rows(in, out);
    case Command::Batch:
        return batch(in, out);
    case Command::Keep:
        return keep(in, out);
    case Command::UseStage:
        return use_stage(in, out);
    case Command::UseUnifiedDictionary:
        return use_unified_dictionary(in);
    case Command::UseLookup:
        return use_lookup(in, out);
    case Command::CodesOfRanks:
        return codes_of_ranks(in, out);
    case Command::ReadDictionary:
        return read_dictionary(in, out);
    case Command::PutLookup:
        return put_lookup(in);
    case Command::DeferredCodes:
        return deferred_codes(in, out);
    case Command::PutEntries:
        return put_entries(in);
    case Command::Run:
        return run(in, out);
    case Command::Fetch:
        return fetch(out);
    default:
        throw InvalidMessage("unknown command");
    }
}

// ---- program and sources ------------------------------------------------------------------------------------------

void Session::open(MessageReader &in, MessageWriter &out, const std::atomic<uint32_t> *cancel) {
    end_program();
    const OpenRequest request = in.head<OpenRequest>();
    check(request.device <= static_cast<uint32_t>(DeviceKind::Cuda), "unknown device");
    const std::string bytes = in.text(request.program_size);
    Program program;
    try {
        program = parse_program(bytes.data(), bytes.size());
    } catch (const std::runtime_error &error) {
        throw InvalidMessage(error.what());
    }
    check(!program.pipelines.empty() && !program.sources.empty(), "empty program");
    ServedDeviceRef device = devices_.find(static_cast<DeviceKind>(request.device));
    if (!device)
        throw DeviceError("the device is not available");
    device_ = std::move(device);
    began_ = device_->cache.tick();
    program_ = std::move(program);
    execution_ = device_->device->prepare(program_, cancel);
    cancel_ = cancel;
    if (!delivers_rows())
        merger_ = std::make_unique<GroupMerger>(program_, device_->device->work_memory(), cancel);
    extreme_ranks_ = ExtremeRanks(program_);
    feeds_.resize(program_.sources.size());
    other_feeds_.resize(program_.sources.size());
    lookups_.resize(program_.lookups.size());
    table_ids_.resize(program_.pipelines.size());
    table_origins_.resize(program_.pipelines.size());
    OpenReply reply = {};
    reply.device = static_cast<uint32_t>(device_->kind);
    copy_text(reply.name, sizeof reply.name, device_->device->info().name);
    out.put(reply);
}

void Session::define_sources(MessageReader &in) {
    DefineSourceRequest request;
    std::vector<ColumnDefinition> columns; // of the relation before
    do {
        request = in.head<DefineSourceRequest>();
        define_source(request, in, columns);
    } while (request.more);
}

void Session::define_source(const DefineSourceRequest &request, MessageReader &in,
                            std::vector<ColumnDefinition> &columns) {
    check(request.source < program_.sources.size(), "unknown source");
    const bool first = request.feed == 0;
    check(first == (feeds_[request.source] == nullptr), "the source is defined already, or not yet");
    const ir::Range range = program_.sources[request.source].columns;
    auto type = [&](ir::Index i) { return program_.source_columns[range.first + i].type; };
    if (request.locator.relation == 0) {
        check(first, "only relations share a source");
        std::vector<Type> types;
        for (ir::Index i = 0; i < range.count; ++i)
            types.push_back(type(i));
        feeds_[request.source] = std::make_unique<SourceFeed>(*device_, shown_counters(), began_, types);
        return;
    }
    if (!request.same_columns) {
        columns.clear();
        for (uint32_t i = 0; i < request.ncolumns; ++i)
            columns.push_back(read_column(in));
    }
    check(columns.size() == range.count, "columns do not match the program");
    for (ir::Index i = 0; i < range.count; ++i)
        check(columns[i].layout.type == type(i), "a column's type does not match the program");
    const RelationFile file = {request.locator.tablespace, request.locator.database, request.locator.relation};
    const std::string path(request.path, strnlen(request.path, sizeof request.path));
    if (first)
        feeds_[request.source] = std::make_unique<SourceFeed>(*device_, shown_counters(), pool_, began_, file, path,
                                                              request.hashed != 0, columns);
    else
        define_another(request,
                       std::make_unique<SourceFeed>(*device_, shown_counters(), pool_, began_, file, path,
                                                    request.hashed != 0, columns, feeds_[request.source]->load()));
}

// One more relation of a source: its texts must have the codes that they have in the others.
void Session::define_another(const DefineSourceRequest &request, std::unique_ptr<SourceFeed> feed) {
    const SourceFeed &first = *feeds_[request.source];
    check(request.feed == feeds_.size(), "feeds are numbered in their order");
    check(first.is_relation(), "only relations share a source");
    check(feed->shares_dictionaries(first), "the relations of a source do not share their dictionaries");
    other_feeds_[request.source].push_back(request.feed);
    feeds_.push_back(std::move(feed));
}

std::vector<SourceFeed *> Session::feeds_of(uint32_t source) {
    std::vector<SourceFeed *> feeds = {&feed(source)};
    for (uint32_t other : other_feeds_[source])
        feeds.push_back(feeds_[other].get());
    return feeds;
}

// The first request after the sources are defined: lets the device prepare for all pipelines at once while the first of them
// is fed.
void Session::speculate() {
    speculated_ = true;
    if (program_.pipelines.empty() || !execution_->wants_speculation())
        return;
    std::vector<ChunkRef> held;
    std::vector<std::vector<ChunkView>> chunks(program_.pipelines.size());
    for (uint32_t p = 0; p < program_.pipelines.size(); ++p) {
        const uint32_t source = program_.pipelines[p].source;
        if (source >= feeds_.size() || !feeds_[source])
            continue;
        for (const SourceFeed *feed : feeds_of(source))
            feed->add_speculative_chunks(chunks[p], held);
    }
    execution_->speculate(chunks);
}

SourceFeed &Session::feed(uint32_t source) {
    check(source < feeds_.size() && feeds_[source] != nullptr, "the source is not defined");
    return *feeds_[source];
}

// ---- running ------------------------------------------------------------------------------------------------------

void Session::run(MessageReader &in, MessageWriter &out) {
    die_after_runs(counters_);
    const RunRequest request = in.head<RunRequest>();
    check(request.pipeline == pipeline_ && pipeline_ < program_.pipelines.size(), "pipelines run in their order");
    const std::vector<SourceFeed *> feeds = feeds_of(program_.pipelines[pipeline_].source);
    finish_deferred();
    check_lookups(pipeline_);
    PassInput input;
    for (SourceFeed *feed : feeds)
        feed->add_to(input);
    if (pipeline_ + 1 < program_.pipelines.size())
        run_build(pipeline_, input, request);
    else
        run_main(input, request.last != 0);
    for (SourceFeed *feed : feeds)
        feed->release(request.last != 0);
    pipeline_ += request.last != 0;
    first_pass_ = request.last != 0;

    ExecutionStats stats = execution_->stats();
    stats += rest_stats_;
    count(stats);
    RunReply reply = {};
    reply.rows_in = stats.rows_in;
    reply.kernel_us = stats.kernel_us;
    reply.compile_us = stats.compile_us;
    reply.link_bytes = stats.link_bytes;
    reply.chunks_skipped = chunks_skipped_;
    reply.rows_skipped = rows_skipped_;
    reply.groups_dropped = groups_dropped_;
    reply.groups = device_rows_      ? device_rows_->nrows
                   : delivers_rows() ? rows_.nrows
                                     : groups_.ngroups + execution_->groups_left();
    if (program_.main().ordered_sets.count > 0)
        stats.grouping += with_ordered_sets;
    copy_text(reply.grouping, sizeof reply.grouping, stats.grouping);
    reply.njoins = static_cast<uint32_t>(std::min<size_t>(stats.joins.size(), ir::max_joins));
    out.put(reply);
    for (uint32_t i = 0; i < reply.njoins; ++i)
        copy_text(reinterpret_cast<char *>(out.part(64)), 64, stats.joins[i] + table_origins_[i]);
}

// How many rows may be looked at to recognise a build.
static size_t most_compared(const Device &device, uint64_t rows) {
    if (!device.reads_host_memory())
        return rows < worth_comparing_from_device ? 0 : compared_from_device + rows / compared_part_from_device;
    return std::max<size_t>(compared_rows, rows / compared_part);
}

// What the table of this build depends on; false: on something that cannot be recognised the next time.
bool Session::identify_build(uint32_t pipeline, const PassInput &input, BuildIdentity &identity) {
    const ir::Pipeline &p = program_.pipelines[pipeline];
    for (ir::Index k = 0; k < p.joins.count; ++k)
        if (table_ids_[program_.joins[p.joins.first + k].build] == 0)
            return false;
    size_t lookup_bytes = 0;
    for (size_t i = 0; i < lookups_.size(); ++i)
        if ((program_.lookups[i].source == p.source || program_.lookups[i].source == ir::none) &&
            lookups_[i].table->id == 0)
            lookup_bytes += lookups_[i].table->bytes();
    if (lookup_bytes > max_identity_bytes)
        return false;
    bool of_relations = true;
    for (const SourceFeed *feed : feeds_of(p.source))
        of_relations = of_relations && feed->describe(identity);
    BuildParts parts;
    parts.lookup = [this](ir::Index lookup) { return contents_of(lookup); };
    parts.table_id = [this](ir::Index build) { return table_ids_[build]; };
    identity.bytes += describe_build(program_, pipeline, parts);
    identity.described = of_relations ? identity.bytes.size() : 0;
    const size_t most_places = identity.bytes.size() + max_identity_bytes;
    for (const SourceFeed *feed : feeds_of(p.source))
        if (!feed->identify(identity) || identity.bytes.size() > most_places)
            return false;
    identity.computed = identity.bytes.size();
    const size_t most = identity.computed + max_identity_bytes;
    for (const SourceFeed *feed : feeds_of(p.source)) // (the limit of values is one for all: more would be no identity)
        if (identity.bytes.size() > most ||
            !feed->identify_rows(most - identity.bytes.size(), most_compared(*device_->device, input.rows), identity))
            return false;
    return identity.bytes.size() <= most;
}

// Does the former table's build have the same rows? See compare_rows().
int64_t Session::compare_with(const BuildIdentity &former, uint32_t pipeline, const PassInput &input,
                              const BuildIdentity &identity, OtherRows *others) {
    const std::vector<SourceFeed *> feeds = feeds_of(program_.pipelines[pipeline].source);
    const ReadRuns read = [this, &feeds](const std::vector<RunsOfChunk> &chunks, std::string &rows) {
        std::vector<RowsOfChunk> of_chunks;
        for (const RunsOfChunk &of : chunks) {
            size_t feed = 0, chunk = of.chunk;
            for (; chunk >= feeds[feed]->held_chunks(); ++feed)
                chunk -= feeds[feed]->held_chunks();
            of_chunks.push_back({&feeds[feed]->held_columns(chunk), &of.runs});
        }
        read_rows(*device_->device, of_chunks, rows);
    };
    try {
        return compare_rows(former, identity, row_bytes(feeds[0]->column_types()),
                            most_compared(*device_->device, input.rows), read, others);
    } catch (const OutOfDeviceMemory &) {
        return -1;
    }
}

// May the build be run over rows that this execution has not staged? Its lookups answer for the codes that were staged.
bool Session::may_run_over(const std::string &rows, const std::vector<SourceFeed *> &feeds) const {
    if (rows.empty())
        return true;
    if (std::any_of(program_.lookups.begin(), program_.lookups.end(),
                    [](const ir::Lookup &lookup) { return lookup.deferred != 0; }))
        return false;
    const std::vector<Type> types = feeds[0]->column_types();
    const size_t stride = row_bytes(types);
    size_t offset = 0;
    for (uint32_t c = 0; c < types.size(); offset += 1 + type_width(types[c++])) {
        if (types[c] != Type::Code)
            continue;
        int64_t most = -1;
        for (const SourceFeed *feed : feeds)
            most = std::max(most, feed->max_code(c));
        for (size_t at = offset; at < rows.size(); at += stride) {
            uint32_t code;
            memcpy(&code, &rows[at + 1], sizeof code);
            if (rows[at] == 0 && code > most)
                return false;
        }
    }
    return true;
}

// Makes the table of this build from that of other rows; false: it has to be built.
bool Session::change_table(uint32_t pipeline, const BuiltTableRef &former, const OtherRows &others) {
    const std::vector<SourceFeed *> feeds = feeds_of(program_.pipelines[pipeline].source);
    if (!may_run_over(others.only_a, feeds))
        return false;
    PassInput gone, come;
    try {
        feeds[0]->add_values(others.only_a, gone);
        feeds[0]->add_values(others.only_b, come);
    } catch (const OutOfDeviceMemory &) { // (the build may need less)
        return false;
    }
    device_->cache.make_room(std::min(2 * former->bytes(), device_->device->info().memory_limit / build_part));
    return execution_->change_build(pipeline, former, gone.chunks, come.chunks);
}

// Takes the table of this build from what is kept, perhaps with a few changes; false: it has to be built.
bool Session::use_kept(uint32_t pipeline, const PassInput &input, BuildIdentity &identity, uint64_t fingerprint) {
    CachedJoinTables::Found found = device_->tables->find(identity, fingerprint);
    std::string &origin = table_origins_[pipeline];
    bool usable = found.table != nullptr;
    if (usable) {
        execution_->use_build(pipeline, found.table);
    } else if (found.former) {
        OtherRows others;
        const bool changes = execution_->changes_builds(pipeline, input.rows);
        const int64_t compared = compare_with(*found.former, pipeline, input, identity, changes ? &others : nullptr);
        const bool same = compared >= 0 && others.only_a.empty() && others.only_b.empty();
        if (same)
            execution_->use_build(pipeline, found.other);
        usable = same || (compared >= 0 && change_table(pipeline, found.other, others));
        if (usable)
            origin = ", " + std::to_string(compared) + " rows compared";
    }
    if (!usable) {
        origin = found.had_other_rows ? ", rebuilt" : "";
        return false;
    }
    const BuiltTableRef table = execution_->finished_build(pipeline);
    const bool changed = table != found.table && table != found.other;
    if (changed)
        found.id = device_->tables->keep_instead(std::move(identity), table, found, fingerprint);
    else if (!found.table)
        device_->tables->keep_as(identity, found, fingerprint);
    table_ids_[pipeline] = found.id;
    origin += changed ? ", changed" : ", kept";
    shown_counters().tables_reused.fetch_add(1,
                                             std::memory_order_relaxed); // (it would tell whether values have changed)
    return true;
}

Skipper Session::make_skipper(uint32_t pipeline) const {
    return Skipper(
        program_, pipeline, [this](ir::Index lookup) { return contents_of(lookup); },
        [this](ir::Index build, ir::Index key) { return execution_->finished_build(build)->key_bounds(key); });
}

// Takes out what the pipeline cannot use; what depends on which rows were staged has been done before.
void Session::skip(uint32_t pipeline, PassInput &input) {
    if (input.chunks.empty())
        return;
    Skipper skipper = make_skipper(pipeline);
    const Skipped skipped = skipper.skip(input.chunks);
    chunks_skipped_ += skipped.chunks;
    rows_skipped_ += skipped.rows;
}

void Session::run_build(uint32_t pipeline, PassInput &input, const RunRequest &request) {
    const bool last = request.last != 0;
    BuildIdentity identity;
    const bool keep = last && first_pass_ && identify_build(pipeline, input, identity);
    if (last && !keep)
        device_->tables->forget(request.fingerprint);
    if (keep && use_kept(pipeline, input, identity, request.fingerprint))
        return;
    skip(pipeline, input);
    // A build cannot be repeated when it fails half-way, so the room for its table is made before.
    const ir::Pipeline &p = program_.pipelines[pipeline];
    size_t width = 16;
    for (const ir::Range &list : {p.keys, p.payload})
        for (ir::Index i = 0; i < list.count; ++i)
            width += type_width(program_.exprs[program_.lists[list.first + i]].type) + 1;
    const size_t wanted = 2 * width * input.rows;
    device_->cache.make_room(std::min(wanted, device_->device->info().memory_limit / build_part));
    if (!input.chunks.empty())
        execution_->run_build(pipeline, input.chunks);
    if (last)
        execution_->finish_build(pipeline);
    if (last && first_pass_)
        keep_built(pipeline, std::move(identity), keep, request.fingerprint);
}

// Does another build probe the table? Then it matters whether it has the rows of the one before.
bool Session::is_probed_by_builds(uint32_t pipeline) const {
    for (size_t other = pipeline + 1; other + 1 < program_.pipelines.size(); ++other) {
        const ir::Range joins = program_.pipelines[other].joins;
        for (ir::Index j = joins.first; j < joins.first + joins.count; ++j)
            if (program_.joins[j].build == pipeline)
                return true;
    }
    return false;
}

// Keeps a table that has been built, and may be found by its rows. Where it has the rows of the one before it gets its id, so that what is
// made of it can be found.
void Session::keep_built(uint32_t pipeline, BuildIdentity identity, bool by_rows, uint64_t fingerprint) {
    CachedJoinTables &tables = *device_->tables;
    const BuiltTableRef table = execution_->finished_build(pipeline);
    if (!execution_->compares_builds() || !is_probed_by_builds(pipeline))
        identity.described = 0;
    const CachedJoinTables::Found former = tables.find_described(identity);
    const host::WorkContext work = {device_->pool(), cancel_, device_->device->work_memory()};
    bool same = false;
    try {
        same = former.other && host::have_same_rows(work, *former.other, *table);
    } catch (const OutOfWorkMemory &) { // (it is of use, but not needed)
    }
    const uint64_t id = same ? former.id : 0;
    if (by_rows) {
        table_ids_[pipeline] =
            tables.keep(std::move(identity), table, fingerprint, table_origins_[pipeline].empty(), id);
    } else if (identity.described != 0) {
        identity.forget_rows();
        table_ids_[pipeline] = same ? id : tables.keep_described(std::move(identity), table);
    }
}

// By the device, in its memory, where the pass has all rows. Where there is not enough of it, they are the host's.
bool Session::compute_windows(const PassInput &input) {
    if (program_.main().windows.count == 0 || input.chunks.empty())
        return false;
    DeviceRows rows;
    if (!try_with_room([&] { return rows = DeviceRows(), execution_->run_windows(input.chunks, rows); }))
        return false;
    device_rows_ = std::move(rows);
    return true;
}

// The rows of one pass, beside those of the passes before.
void Session::collect_rows(const PassInput &input) {
    const uint64_t limit = program_.main().limit;
    if (input.chunks.empty() || (limit != 0 && rows_.nrows >= limit))
        return;
    RowTable pass = with_room([&] { return execution_->run_rows(input.chunks); });
    add_rows(std::move(pass));
}

void Session::add_rows(RowTable &&pass) {
    const uint64_t limit = program_.main().limit;
    for (RowBlock &block : pass.blocks) {
        if (limit != 0)
            block.nrows = std::min<size_t>(block.nrows, limit - rows_.nrows);
        rows_.add(std::move(block));
    }
    FirstRows first(program_);
    if (!first.all())
        first.keep(rows_, true, device_->device->work_memory(), cancel_);
}

// An execution of what belongs to the program, with its tables over texts.
std::unique_ptr<Execution> Session::prepare_again(const Program &program) {
    std::unique_ptr<Execution> execution = device_->device->prepare(program, cancel_);
    for (ir::Index i = 0; i < lookups_.size(); ++i)
        if (lookups_[i].table)
            execution->set_lookup(i, lookups_[i].table);
    return execution;
}

// The same, with the tables that this one has built.
std::unique_ptr<Execution> Session::prepare_with_tables(const Program &program) {
    std::unique_ptr<Execution> execution = prepare_again(program);
    for (uint32_t p = 0; p < pipeline_; ++p)
        execution->use_build(p, execution_->finished_build(p));
    return execution;
}

// When the main pipeline has seen all of its rows: those of right and full joins' tables that were no row's partner.
void Session::run_rest() {
    auto prepare = [this](const Program &program) { return prepare_again(program); };
    auto wants_more = [this] {
        const uint64_t limit = program_.main().limit;
        return !delivers_rows() || limit == 0 || rows_.nrows < limit;
    };
    if (!wants_more())
        return;
    run_unmatched(program_, *execution_, prepare, [&](Execution &execution, const std::vector<ChunkView> &chunks) {
        if (delivers_rows())
            add_rows(with_room([&] { return execution.run_rows(chunks); }));
        else
            merger_->add(with_room([&] { return execution.run_aggregate(chunks); }));
        rest_stats_ += execution.stats();
        return wants_more();
    });
}

// What ordered-set aggregates need of a pass whose groups are there (ordered_sets.hpp).
void Session::collect_arguments(const PassInput &input, bool last) {
    const Program rows = rows_of_arguments(program_);
    const auto collect = [this](Execution &execution, const std::vector<ChunkView> &chunks) {
        RowTable pass = with_room([&] { return execution.run_rows(chunks); });
        for (RowBlock &block : pass.blocks)
            rows_.add(std::move(block));
        ExecutionStats stats = execution.stats();
        stats.rows_in = stats.rows_out = 0; // the same rows
        rest_stats_ += stats;
        return true;
    };
    if (!input.chunks.empty())
        collect(*prepare_with_tables(rows), input.chunks);
    if (last && has_unmatched(program_))
        run_unmatched(
            rows, *execution_, [this](const Program &program) { return prepare_again(program); }, collect);
}

void Session::order_sets() {
    groups_ = add_ordered_sets(program_, std::move(groups_), std::move(rows_), device_->device->work_memory(), cancel_);
    rows_ = RowTable();
}

// The main pipeline's rows once more: what tables were built stays.
void Session::begin_again() {
    rest_stats_ += execution_->stats();
    execution_ = prepare_with_tables(program_);
}

// Runs an only pass over rough ranks until its result, which run() answers, shows none (extreme_ranks.hpp).
template <class Run> void Session::run_until_sharp(Run run) {
    for (int runs = 1;; ++runs) {
        const bool again = sharpen_shown(run());
        if (runs > 1) { // (the same rows)
            rest_stats_.rows_in -= execution_->stats().rows_in;
            rest_stats_.rows_out -= execution_->stats().rows_out;
        }
        if (!again)
            return;
        if (runs == max_rough_runs)
            sharpen_all();
        begin_again();
    }
}

// Is it worth to run with the rough ranks that there are? A row in the program takes a part of the time in which a text is sorted.
bool Session::runs_roughly(const PassInput &input, bool last) {
    size_t texts = 0;
    for (const LookupState &state : lookups_)
        if (state.table && !state.table->rough.empty())
            texts = std::max(texts, state.table->entries);
    if (texts == 0 || (last && first_pass_ && input.rows <= texts * rows_per_text))
        return texts > 0;
    sharpen_all();
    return false;
}

void Session::run_main(PassInput &input, bool last) {
    skip(pipeline_, input);
    const bool rest = has_unmatched(program_), roughly = runs_roughly(input, last);
    if (delivers_rows()) {
        with_results([&] {
            if (last && first_pass_ && !rest && !roughly && compute_windows(input))
                return;
            if (roughly)
                run_until_sharp([&]() -> const RowTable & {
                    rows_ = RowTable();
                    collect_rows(input);
                    return rows_;
                });
            else
                collect_rows(input);
            if (last && rest)
                run_rest();
            if (last)
                order_rows();
        });
        return;
    }
    // Without any row there is still the one group of a query without GROUP BY.
    const bool ordered = program_.main().ordered_sets.count > 0;
    const bool only = last && !any_pass_ && program_.main().sets.count == 0 && !rest && !ordered;
    bool is_result = roughly;
    if (roughly)
        run_until_sharp([&]() -> const GroupTable & {
            merger_ = std::make_unique<GroupMerger>(program_, device_->device->work_memory(), cancel_);
            merger_->add(with_room([&] { return execution_->run_aggregate(input.chunks); }));
            groups_ = merger_->finish();
            return groups_;
        });
    else if (last && !any_pass_ && !rest && program_.counts_distinct())
        is_result = with_room([&] { return execution_->run_to_result(input.chunks, groups_); });
    if (!is_result && (!input.chunks.empty() || (last && !any_pass_))) {
        any_pass_ = true;
        // Groups of an only pass are merged with nothing, nor grouped again: where they are many, the device may keep them
        // until they are fetched.
        merger_->add(with_room([&] {
            return only ? execution_->start_aggregate(input.chunks) : execution_->run_aggregate(input.chunks);
        }));
    }
    if (ordered)
        with_results([&] { collect_arguments(input, last); });
    if (!last)
        return;
    if (rest)
        run_rest();
    if (!is_result)
        groups_ = merger_->finish();
    if (program_.main().sets.count > 0 && !is_result)
        groups_ = aggregate_again(program_, groups_, device_->device->work_memory(), cancel_);
    if (ordered)
        with_results([this] { order_sets(); });
    if (program_.filters_groups())
        filter_groups();
    if (program_.main().sorted)
        with_results([this] { order_groups(); });
    shown_counters().groups_out.fetch_add(groups_.ngroups + execution_->groups_left(), std::memory_order_relaxed);
}

bool Session::is_uncounted() const {
    const auto uncounted = [](const ir::Source &source) { return source.uncounted != 0; };
    return std::any_of(program_.sources.begin(), program_.sources.end(), uncounted);
}

protocol::Counters &Session::shown_counters() { return is_uncounted() ? unshown_ : counters_; }

void Session::count(const ExecutionStats &stats) {
    Counters &counters = shown_counters();
    counters.rows_in.fetch_add(stats.rows_in - counted_.rows_in, std::memory_order_relaxed);
    counters.link_bytes.fetch_add(stats.link_bytes - counted_.link_bytes, std::memory_order_relaxed);
    counters.device_us.fetch_add(stats.kernel_us - counted_.kernel_us, std::memory_order_relaxed);
    device_->run_us.fetch_add(stats.kernel_us - counted_.kernel_us, std::memory_order_relaxed);
    if (stats.compile_us > counted_.compile_us)
        counters_.kernels_compiled.fetch_add(1, std::memory_order_relaxed);
    counted_ = stats;
}

} // namespace gpuscan
