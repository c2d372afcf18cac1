// Feeding a source's relations with parallel workers: one process finds, pins and checks some million pages a second, the link to a
// GPU takes six.
//
//   leader    shares its session's feeds of the relations that lack chunks (Share), starts workers of PostgreSQL's parallel infrastructure (so they have its
//             transaction, locks and settings, count against max_parallel_workers, report their errors to it and end with
//             it), and then takes chunks itself
//   worker    takes a request slot of its own, joins the feed of the relation whose turn it is (Join), and brings one chunk after the other into the
//             leader's session by the rules of feed_relation.cpp. What it looks at is younger than the leader's snapshot,
//             because it was started after that was taken
//   chunks    are taken from one counter. A worker brings what the cache may have of a chunk, and then its other pages row by
//             row under the leader's snapshot. `covered` says for which pages that was done; the leader reads the others (there are
//             values that only PostgreSQL decodes), and collects the chunk (Collect) before it next runs its pipeline. Of a
//             chunk that the session holds already only rows are brought
//   parts     where there are fewer chunks than processes, the leader takes all chunks, and shares the pages of the one that it builds
//             (SharedBuild): each worker takes parts of them, decodes them into the leader's builder, and checks them again. The
//             leader publishes when all parts are done, without the pages that did not pass. Parts are small and taken in the order of
//             the pages, so that neighbours stay neighbours. Rows are the leader's
//   passes    when the device says that a pass is full, workers wait until the leader has run it: what is held is bounded,
//             however large the relation
//
// Invariant: a chunk (or part) is taken once, and whoever has taken it brings it or fails. Who fails says so and all stop: the CPU
// plan answers. A worker that gets no slot, or for which PostgreSQL has no process, has taken nothing: the others do its
// share.
//
// Nothing of the leader's transaction changes while workers run: parallel mode is left before feeding ends, so that a
// statement that writes can be fed like this too.
#include "pg/cost/feed_workers.h"
#include "pg/feed/feed.h"

namespace gpuscan {
namespace {

enum SharedBuildState : uint32 {
    BuildToCome = 0,
    BuildOpen = 1,
    BuildOver = 2, // or there was nothing to build
};

constexpr double default_rows_per_page = 100;
constexpr uint32 smallest_part = 16, parts_per_process = 4; // that it gets at least, if the chunk has so many pages
constexpr long longest_sleep = 20;                          // ms

constexpr uint64 key_shared = 1, key_buffer_usage = 2, key_wal_usage = 3, key_relations = 4, key_snapshot = 5,
                 key_expressions = 6, key_builds = 7;

struct SharedRelation {
    Oid relid;
    BlockNumber nblocks;
    bool cacheable; // a worker does not know what its transaction has created
    uint64 ticket;
    int number; // of those shared
};

struct SharedChunk {
    uint32 relation; // of those shared
    uint32 chunk;
    bool held;                // by the session: the pages that are covered before somebody takes it
    pg_atomic_uint32 brought; // by a worker
    uint8 covered[bitmap_bytes_aligned];
};

struct FeedShared {
    uint32 nchunks;
    bool rowwise;             // workers bring rows
    bool in_parts;            // ... or parts of what the leader builds
    uint64 form;              // of the leader's program (FragmentRun::form)
    pg_atomic_uint32 next;    // chunk to be taken (in parts: by the leader)
    pg_atomic_uint32 passes;  // that the leader has run
    pg_atomic_uint32 stopped; // take no more
    pg_atomic_uint64 pages_cached, pages_decoded, pages_rowwise;
    ConditionVariable progress; // a worker has brought a chunk
    ConditionVariable room;     // the leader has run a pass, begun a build or ended one, or stopped
    slock_t lock;
    char failure[256];
    SharedChunk chunks[FLEXIBLE_ARRAY_MEMBER];
};

bool take_chunk(FeedShared *shared, uint32 *i) {
    if (pg_atomic_read_u32(&shared->stopped))
        return false;
    *i = pg_atomic_fetch_add_u32(&shared->next, 1);
    return *i < shared->nchunks;
}

void stop_workers(FeedShared *shared) {
    pg_atomic_write_u32(&shared->stopped, 1);
    ConditionVariableBroadcast(&shared->room);
    ConditionVariableBroadcast(&shared->progress);
}

// ---- a worker ----

void fail(FeedShared *shared, const char *reason) {
    SpinLockAcquire(&shared->lock);
    if (!shared->failure[0])
        strlcpy(shared->failure, reason ? reason : "a feeding process failed", sizeof shared->failure);
    SpinLockRelease(&shared->lock);
    stop_workers(shared);
}

bool join(FragmentRun *run, const SharedRelation *relation) {
    protocol::JoinRequest head = {};
    head.ticket = relation->ticket;
    memcpy(device_input(run->connection), &head, sizeof head);
    return request(run, protocol::Command::Join, sizeof head, 0);
}

void wait_for_room(FeedShared *shared, uint32 passes) {
    while (pg_atomic_read_u32(&shared->passes) == passes && !pg_atomic_read_u32(&shared->stopped))
        ConditionVariableSleep(&shared->room, PG_WAIT_EXTENSION);
    ConditionVariableCancelSleep();
}

// Chunks come in the order of their relations, so each relation is joined once.
struct Worker {
    FragmentRun run;
    const SharedRelation *relation; // NULL: none yet
    ChunkFeed *feed;
    ChunkWork *work;
    List *expressions; // by shared relation, each a list
};

void leave_relation(Worker *worker) {
    if (!worker->relation)
        return;
    Relation relation = worker->feed->relation;
    end_chunks(worker->feed);
    table_close(relation, AccessShareLock);
    worker->relation = nullptr;
}

bool go_to_relation(Worker *worker, const SharedRelation *relation) {
    if (worker->relation == relation)
        return true;
    leave_relation(worker);
    if (!join(&worker->run, relation))
        return false;
    worker->feed =
        begin_chunks(&worker->run, worker->work, table_open(relation->relid, AccessShareLock), 0, relation->nblocks);
    worker->feed->cacheable = worker->feed->cacheable && relation->cacheable;
    worker->feed->expressions = begin_expressions(
        worker->feed->relation, static_cast<List *>(list_nth(worker->expressions, relation->number)), NIL);
    worker->relation = relation;
    return true;
}

// What the session does not hold of the chunk goes into it, and into feed->work->covered.
bool stage_shared_chunk(ChunkFeed *feed, const SharedChunk *chunk, bool *pass_full) {
    *pass_full = false;
    go_to_chunk(feed, chunk->chunk);
    if (!chunk->held)
        return stage_chunk(feed, pass_full);
    memcpy(feed->work->covered, chunk->covered, bitmap_bytes_aligned);
    return true;
}

void bring_chunks(FeedShared *shared, const SharedRelation *relations, Worker *worker) {
    uint32 i;
    while (take_chunk(shared, &i)) {
        SharedChunk *chunk = &shared->chunks[i];
        uint32 passes = pg_atomic_read_u32(&shared->passes);
        bool pass_full;
        CHECK_FOR_INTERRUPTS();
        if (!go_to_relation(worker, &relations[chunk->relation])) {
            fail(shared, worker->run.failure);
            return;
        }
        ChunkFeed *feed = worker->feed;
        if (!stage_shared_chunk(feed, chunk, &pass_full) || (shared->rowwise && !bring_rows(feed, &pass_full))) {
            fail(shared, worker->run.failure);
            return;
        }
        memcpy(chunk->covered, feed->work->covered, bitmap_bytes_aligned);
        pg_write_barrier();
        pg_atomic_write_u32(&chunk->brought, 1);
        ConditionVariableSignal(&shared->progress);
        if (pass_full)
            wait_for_room(shared, passes);
    }
}

// Until the leader builds the chunk, or is over with it; false: nothing more is to be done.
bool wait_for_build(FeedShared *shared, SharedBuild *build) {
    while (pg_atomic_read_u32(&build->state) == BuildToCome && !pg_atomic_read_u32(&shared->stopped))
        ConditionVariableSleep(&shared->room, PG_WAIT_EXTENSION);
    ConditionVariableCancelSleep();
    pg_read_barrier();
    return !pg_atomic_read_u32(&shared->stopped);
}

void bring_parts(FeedShared *shared, SharedBuild *builds, const SharedRelation *relations, Worker *worker) {
    for (uint32 i = 0; i < shared->nchunks && wait_for_build(shared, &builds[i]); ++i) {
        SharedBuild *build = &builds[i];
        CHECK_FOR_INTERRUPTS();
        if (pg_atomic_read_u32(&build->state) != BuildOpen || pg_atomic_read_u32(&build->next_part) >= build->nparts)
            continue;
        if (!go_to_relation(worker, &relations[shared->chunks[i].relation])) {
            fail(shared, worker->run.failure);
            return;
        }
        go_to_chunk(worker->feed, shared->chunks[i].chunk);
        if (!help_to_build(worker->feed, build)) {
            fail(shared, worker->run.failure);
            return;
        }
        ConditionVariableSignal(&shared->progress);
    }
}

void work(FeedShared *shared, SharedBuild *builds, const SharedRelation *relations, const char *expressions,
          Snapshot snapshot) {
    Worker worker = {};
    worker.run.context = CurrentMemoryContext;
    worker.run.snapshot = snapshot;
    worker.expressions = static_cast<List *>(stringToNode(const_cast<char *>(expressions)));
    worker.work = static_cast<ChunkWork *>(palloc0(sizeof(ChunkWork)));
    worker.run.connection = device_connect_worker();
    if (!worker.run.connection)
        return;
    device_tell_program(worker.run.connection, shared->form);
    if (shared->in_parts)
        bring_parts(shared, builds, relations, &worker);
    else
        bring_chunks(shared, relations, &worker);
    leave_relation(&worker);
    pg_atomic_fetch_add_u64(&shared->pages_cached, worker.run.report.pages_cached);
    pg_atomic_fetch_add_u64(&shared->pages_decoded, worker.run.report.pages_decoded);
    pg_atomic_fetch_add_u64(&shared->pages_rowwise, worker.run.report.pages_rowwise);
    device_disconnect(worker.run.connection);
}

} // namespace

// ---- the leader ----

struct FeedLeader {
    FragmentRun *run;
    ChunkFeed **feeds; // by shared relation
    uint32 nrelations;
    bool *delivered; // by relation: something that has not been collected
    FeedShared *shared;
    SharedBuild *builds; // by chunk; NULL: workers bring whole chunks
    ParallelContext *parallel;
    bool *finished; // per chunk: fed in full, or about to be
    uint32 nunfinished;
    uint32 *news; // chunks that have been brought since the last look
};

namespace {

// A pass makes room, wherever it was run.
bool note_passes(FeedLeader *leader, bool fed) {
    uint32 passes = leader->run->passes;
    if (pg_atomic_read_u32(&leader->shared->passes) != passes) {
        pg_atomic_write_u32(&leader->shared->passes, passes);
        ConditionVariableBroadcast(&leader->shared->room);
    }
    return fed;
}

// Takes what workers have delivered of a relation into the session.
// `pass_full` becomes true if the device wants to run what it has.
bool collect_one(FeedLeader *leader, uint32 relation, bool *pass_full) {
    FragmentRun *run = leader->run;
    protocol::CollectRequest head = {};
    head.source = leader->feeds[relation]->feed;
    memcpy(device_input(run->connection), &head, sizeof head);
    leader->delivered[relation] = false;
    if (!request(run, protocol::Command::Collect, sizeof head, sizeof(protocol::CollectReply)))
        return false;
    *pass_full = *pass_full || reply_of<protocol::CollectReply>(run)->pass_full;
    leader->feeds[relation]->from->rows += reply_of<protocol::CollectReply>(run)->rows;
    return true;
}

// `all`: not only of the relations of which workers have told.
bool collect(FeedLeader *leader, bool all) {
    bool pass_full = false;
    for (uint32 i = 0; i < leader->nrelations; ++i)
        if ((all || leader->delivered[i]) && !collect_one(leader, i, &pass_full))
            return false;
    return !pass_full || run_pipeline(leader->run, false);
}

// What workers have brought since the last time.
bool note_brought_chunks(FeedLeader *leader) {
    FeedShared *shared = leader->shared;
    uint32 nnews = 0;
    for (uint32 i = 0; i < shared->nchunks; ++i) {
        if (leader->finished[i] || !pg_atomic_read_u32(&shared->chunks[i].brought))
            continue;
        leader->finished[i] = true;
        --leader->nunfinished;
        leader->news[nnews++] = i;
        leader->delivered[shared->chunks[i].relation] = true;
    }
    pg_read_barrier();
    bool fed = nnews == 0 || collect(leader, false);
    for (uint32 n = 0; fed && n < nnews; ++n) {
        const SharedChunk *chunk = &shared->chunks[leader->news[n]];
        ChunkFeed *feed = leader->feeds[chunk->relation];
        go_to_chunk(feed, chunk->chunk);
        fed = feed_uncovered(feed, chunk->covered);
    }
    return note_passes(leader, fed);
}

// Stages the chunk, in parts together with workers.
bool stage_leaders_chunk(FeedLeader *leader, ChunkFeed *feed, uint32 i, bool *pass_full) {
    SharedBuild *build = leader->builds ? &leader->builds[i] : nullptr;
    feed->leader = build ? leader : nullptr;
    feed->shared = build;
    const bool staged = stage_shared_chunk(feed, &leader->shared->chunks[i], pass_full);
    feed->leader = nullptr;
    feed->shared = nullptr;
    if (build) {
        pg_atomic_write_u32(&build->state, BuildOver);
        ConditionVariableBroadcast(&leader->shared->room);
    }
    return staged;
}

bool take_chunks(FeedLeader *leader) {
    FeedShared *shared = leader->shared;
    uint32 i;
    while (take_chunk(shared, &i)) {
        ChunkFeed *feed = leader->feeds[shared->chunks[i].relation];
        bool pass_full;
        bool fed = stage_leaders_chunk(leader, feed, i, &pass_full);
        leader->finished[i] = true;
        --leader->nunfinished;
        fed = fed && feed_uncovered(feed, feed->work->covered);
        fed = fed && (!pass_full || (collect(leader, true) && note_passes(leader, true)));
        if (!note_passes(leader, fed) || !note_brought_chunks(leader))
            return false;
    }
    return true;
}

bool workers_are_gone(const ParallelContext *parallel) {
    pid_t pid;
    for (int i = 0; i < parallel->nworkers_launched; ++i)
        if (parallel->worker[i].bgwhandle &&
            GetBackgroundWorkerPid(parallel->worker[i].bgwhandle, &pid) != BGWH_STOPPED)
            return false;
    return true;
}

// Sleeps until a worker makes progress; false: none will. `gone`: all workers were before the caller looked at what they have done.
bool sleep_for_progress(FeedLeader *leader, bool gone) {
    if (gone || pg_atomic_read_u32(&leader->shared->stopped)) {
        const char *failure = leader->shared->failure;
        return give_up(leader->run, "%s", failure[0] ? failure : "a feeding process ended early");
    }
    ConditionVariableTimedSleep(&leader->shared->progress, longest_sleep, PG_WAIT_EXTENSION);
    return true;
}

bool wait_for_all_chunks(FeedLeader *leader) {
    while (leader->nunfinished > 0) {
        const bool gone = workers_are_gone(leader->parallel);
        if (!note_brought_chunks(leader))
            return false;
        CHECK_FOR_INTERRUPTS(); // (an error of a worker comes out of here)
        if (leader->nunfinished > 0 && !sleep_for_progress(leader, gone))
            return false;
    }
    return true;
}

bool wait_until_done(FeedLeader *leader, SharedBuild *build) {
    for (;;) {
        const bool gone = workers_are_gone(leader->parallel);
        if (pg_atomic_read_u32(&build->parts_done) >= build->nparts)
            return true;
        CHECK_FOR_INTERRUPTS();
        if (!sleep_for_progress(leader, gone))
            return false;
    }
}

bool wait_for_workers(FeedLeader *leader) {
    const bool finished = wait_for_all_chunks(leader);
    ConditionVariableCancelSleep();
    return finished;
}

bool lead(FeedLeader *leader) {
    leader->run->passes = 0;
    leader->delivered = static_cast<bool *>(palloc0(leader->nrelations * sizeof(bool)));
    leader->finished = static_cast<bool *>(palloc0(leader->shared->nchunks * sizeof(bool)));
    leader->nunfinished = leader->shared->nchunks;
    leader->news = static_cast<uint32 *>(palloc(leader->shared->nchunks * sizeof(uint32)));
    // A last collection: what has been brought was delivered before.
    bool fed = take_chunks(leader) && wait_for_workers(leader) && collect(leader, true);
    pfree(leader->delivered);
    pfree(leader->finished);
    pfree(leader->news);
    return fed;
}

bool share(ChunkFeed *feed, protocol::ShareReply *reply) {
    FragmentRun *run = feed->run;
    Form_pg_class table = feed->relation->rd_rel;
    double rows_per_page =
        table->relpages > 0 && table->reltuples > 0 ? table->reltuples / table->relpages : default_rows_per_page;
    protocol::ShareRequest head = {};
    head.source = feed->feed;
    head.rows_per_chunk = static_cast<uint64>(rows_per_page * pages_per_chunk);
    memcpy(device_input(run->connection), &head, sizeof head);
    if (!request(run, protocol::Command::Share, sizeof head, sizeof *reply))
        return false;
    *reply = *reply_of<protocol::ShareReply>(run);
    return true;
}

FeedShared *make_shared_state(ParallelContext *parallel, const SourceScan *scan, const uint32 *chunks,
                              const uint32 *relations, uint32 nchunks, bool rowwise) {
    FeedShared *shared = static_cast<FeedShared *>(
        shm_toc_allocate(parallel->toc, offsetof(FeedShared, chunks) + nchunks * sizeof(SharedChunk)));
    shared->nchunks = nchunks;
    shared->rowwise = rowwise;
    shared->in_parts = false;
    pg_atomic_init_u32(&shared->next, 0);
    pg_atomic_init_u32(&shared->passes, 0);
    pg_atomic_init_u32(&shared->stopped, 0);
    pg_atomic_init_u64(&shared->pages_cached, 0);
    pg_atomic_init_u64(&shared->pages_decoded, 0);
    pg_atomic_init_u64(&shared->pages_rowwise, 0);
    ConditionVariableInit(&shared->progress);
    ConditionVariableInit(&shared->room);
    SpinLockInit(&shared->lock);
    shared->failure[0] = '\0';
    for (uint32 i = 0; i < nchunks; ++i) {
        const ChunkAhead *ahead = &scan->ahead[chunks[i]];
        SharedChunk *chunk = &shared->chunks[i];
        chunk->relation = relations[i];
        chunk->chunk = ahead->question.chunk;
        chunk->held = ahead->held;
        if (ahead->held)
            take_covered(chunk->covered, ahead);
        pg_atomic_init_u32(&chunk->brought, 0);
    }
    shm_toc_insert(parallel->toc, key_shared, shared);
    return shared;
}

SharedBuild *make_builds(ParallelContext *parallel, uint32 nchunks) {
    SharedBuild *builds = static_cast<SharedBuild *>(shm_toc_allocate(parallel->toc, nchunks * sizeof(SharedBuild)));
    for (uint32 i = 0; i < nchunks; ++i) {
        memset(&builds[i], 0, sizeof builds[i]);
        pg_atomic_init_u32(&builds[i].state, BuildToCome);
        pg_atomic_init_u32(&builds[i].next_part, 0);
        pg_atomic_init_u32(&builds[i].parts_done, 0);
        pg_atomic_init_u32(&builds[i].windows, 0);
        pg_atomic_init_u32(&builds[i].pages_decoded, 0);
        SpinLockInit(&builds[i].lock);
    }
    shm_toc_insert(parallel->toc, key_builds, builds);
    return builds;
}

template <typename Usage> Usage *make_usage(ParallelContext *parallel, uint64 key) {
    Usage *usage = static_cast<Usage *>(shm_toc_allocate(parallel->toc, (parallel->nworkers + 1) * sizeof(Usage)));
    shm_toc_insert(parallel->toc, key, usage);
    return usage;
}

} // namespace

FeedWorkers workers_for_chunks(uint32 nchunks, uint64 npages, uint64 rowwise, uint64 evaluated) {
    if (nchunks == 0 || IsParallelWorker() || !ActiveSnapshotSet() || !INTERRUPTS_CAN_BE_PROCESSED())
        return {0, false};
    return feed_workers_worth(static_cast<double>(npages), static_cast<double>(rowwise), static_cast<double>(evaluated),
                              nchunks);
}

void open_shared_build(ChunkFeed *feed, const uint8 *missing) {
    SharedBuild *build = feed->shared;
    const uint32 processes = static_cast<uint32>(feed->leader->parallel->nworkers_launched) + 1;
    const uint32 window =
        pages_with_expressions(feed->lacking ? feed->expressions : nullptr, feed->window_pages, false);
    build->part_pages = std::max(std::min(window, feed->npages / (processes * parts_per_process)), smallest_part);
    build->nparts = (feed->npages + build->part_pages - 1) / build->part_pages;
    build->nvisible = feed->nvisible;
    build->lsns_prove = feed->lsns_prove;
    build->horizon = feed->horizon;
    build->lacking = feed->lacking;
    memcpy(build->visible, feed->work->visible, bitmap_bytes_aligned);
    memcpy(build->missing, missing, bitmap_bytes_aligned);
    feed->parts = 0;
    pg_write_barrier();
    pg_atomic_write_u32(&build->state, BuildOpen);
    ConditionVariableBroadcast(&feed->leader->shared->room);
}

bool wait_for_parts(ChunkFeed *feed, bool *nothing, uint32 *decoded) {
    const bool done = wait_until_done(feed->leader, feed->shared);
    ConditionVariableCancelSleep();
    pg_read_barrier();
    *nothing = *nothing && pg_atomic_read_u32(&feed->shared->windows) == 0;
    *decoded = pg_atomic_read_u32(&feed->shared->pages_decoded);
    return done;
}

bool feed_in_parallel(SourceScan *scan, const uint32 *chunks, uint32 nchunks, bool rowwise,
                      const FeedWorkers &workers) {
    int nworkers = workers.count;
    FeedLeader leader = {};
    leader.run = scan->run;
    leader.feeds = static_cast<ChunkFeed **>(palloc(nchunks * sizeof(ChunkFeed *)));
    uint32 *relations = static_cast<uint32 *>(palloc(nchunks * sizeof(uint32))); // by chunk
    List *expressions = NIL;
    SharedRelation *described = static_cast<SharedRelation *>(palloc0(nchunks * sizeof(SharedRelation)));
    for (uint32 i = 0; i < nchunks; ++i) {
        ChunkFeed *feed = scan->feeds[scan->ahead[chunks[i]].relation];
        if (leader.nrelations == 0 || leader.feeds[leader.nrelations - 1] != feed) {
            protocol::ShareReply shares;
            if (!share(feed, &shares))
                return false;
            if (!workers.in_parts && shares.builders <= static_cast<uint32>(nworkers))
                nworkers = shares.builders > 0 ? static_cast<int>(shares.builders) - 1 : 0;
            SharedRelation *relation = &described[leader.nrelations];
            relation->relid = RelationGetRelid(feed->relation);
            relation->nblocks = feed->nblocks;
            relation->cacheable = feed->cacheable;
            relation->ticket = shares.ticket;
            relation->number = static_cast<int>(leader.nrelations);
            expressions = lappend(expressions, feed->from->expressions);
            leader.feeds[leader.nrelations++] = feed;
        }
        relations[i] = leader.nrelations - 1;
    }

    char *written = nodeToString(expressions);
    EnterParallelMode();
    ParallelContext *parallel = CreateParallelContext("gpuscan", "gpuscan_feed_worker", nworkers);
    const Size described_size = leader.nrelations * sizeof(SharedRelation);
    shm_toc_estimate_chunk(&parallel->estimator, offsetof(FeedShared, chunks) + nchunks * sizeof(SharedChunk));
    shm_toc_estimate_chunk(&parallel->estimator, described_size);
    shm_toc_estimate_chunk(&parallel->estimator, (nworkers + 1) * sizeof(BufferUsage));
    shm_toc_estimate_chunk(&parallel->estimator, (nworkers + 1) * sizeof(WalUsage));
    shm_toc_estimate_chunk(&parallel->estimator, EstimateSnapshotSpace(scan->run->snapshot));
    shm_toc_estimate_chunk(&parallel->estimator, strlen(written) + 1);
    if (workers.in_parts)
        shm_toc_estimate_chunk(&parallel->estimator, nchunks * sizeof(SharedBuild));
    shm_toc_estimate_keys(&parallel->estimator, 7);
    InitializeParallelDSM(parallel);
    leader.parallel = parallel;
    leader.shared = make_shared_state(parallel, scan, chunks, relations, nchunks, rowwise);
    leader.shared->in_parts = workers.in_parts;
    leader.shared->form = scan->run->form;
    if (workers.in_parts)
        leader.builds = make_builds(parallel, nchunks);
    SharedRelation *shared_relations = static_cast<SharedRelation *>(shm_toc_allocate(parallel->toc, described_size));
    memcpy(shared_relations, described, described_size);
    shm_toc_insert(parallel->toc, key_relations, shared_relations);
    char *snapshot = static_cast<char *>(shm_toc_allocate(parallel->toc, EstimateSnapshotSpace(scan->run->snapshot)));
    SerializeSnapshot(scan->run->snapshot, snapshot);
    shm_toc_insert(parallel->toc, key_snapshot, snapshot);
    char *shared_expressions = static_cast<char *>(shm_toc_allocate(parallel->toc, strlen(written) + 1));
    strcpy(shared_expressions, written);
    shm_toc_insert(parallel->toc, key_expressions, shared_expressions);
    BufferUsage *buffer_usage = make_usage<BufferUsage>(parallel, key_buffer_usage);
    WalUsage *wal_usage = make_usage<WalUsage>(parallel, key_wal_usage);
    LaunchParallelWorkers(parallel);

    bool fed = lead(&leader);
    stop_workers(leader.shared);
    WaitForParallelWorkersToFinish(parallel);
    RunReport *report = &scan->run->report;
    for (int i = 0; i < parallel->nworkers_launched; ++i)
        InstrAccumParallelQuery(&buffer_usage[i], &wal_usage[i]);
    if (static_cast<uint32>(parallel->nworkers_launched) > report->feed_workers)
        report->feed_workers = parallel->nworkers_launched;
    report->pages_cached += pg_atomic_read_u64(&leader.shared->pages_cached);
    report->pages_decoded += pg_atomic_read_u64(&leader.shared->pages_decoded);
    report->pages_rowwise += pg_atomic_read_u64(&leader.shared->pages_rowwise);
    DestroyParallelContext(parallel);
    ExitParallelMode();
    pfree(leader.feeds);
    pfree(relations);
    pfree(described);
    return fed;
}

} // namespace gpuscan

extern "C" {

PGDLLEXPORT void gpuscan_feed_worker(dsm_segment *segment, shm_toc *toc);

void gpuscan_feed_worker(dsm_segment *, shm_toc *toc) {
    using namespace gpuscan;
    FeedShared *shared = static_cast<FeedShared *>(shm_toc_lookup(toc, key_shared, false));
    BufferUsage *buffer_usage = static_cast<BufferUsage *>(shm_toc_lookup(toc, key_buffer_usage, false));
    WalUsage *wal_usage = static_cast<WalUsage *>(shm_toc_lookup(toc, key_wal_usage, false));
    InstrStartParallelQuery();
    work(shared, static_cast<SharedBuild *>(shm_toc_lookup(toc, key_builds, !shared->in_parts)),
         static_cast<const SharedRelation *>(shm_toc_lookup(toc, key_relations, false)),
         static_cast<const char *>(shm_toc_lookup(toc, key_expressions, false)),
         RestoreSnapshot(static_cast<char *>(shm_toc_lookup(toc, key_snapshot, false))));
    InstrEndParallelQuery(&buffer_usage[ParallelWorkerNumber], &wal_usage[ParallelWorkerNumber]);
}
}
