// The protocol between PostgreSQL backends and the device process: the shared area, its slots, and the messages.
//
// The area is an anonymous MAP_SHARED mapping of its own, made by the postmaster (so that the device process can
// make PostgreSQL's whole shared memory read-only). A backend takes a free slot, writes one request into the slot's
// input, bumps `request`, and waits on the futex `reply`; a thread of the device process that belongs to the slot
// does the reverse. One request is outstanding per slot; a backend may prepare the next one elsewhere meanwhile.
//
// Life of a slot:   Free -> Taken (backend, CAS) -> Abandoned (backend, without waiting: on abort, or with a session
// still open) -> Free (device process)   or   Taken -> Free (backend, idle slot whose last request was Close).
// To abandon, the backend sets `cancel`, then the state, then the bit request_abandoned in `request`: one atomic step
// that also changes the futex, so that the slot's thread can miss it neither before it sleeps nor while it ends a
// request. The thread that finds the bit drops the slot's session, takes the bit away, makes reply equal to request
// and the slot Free, in this order; it never frees a slot because of the state alone.
// `generation` is the device process's number; a slot taken under another generation is dead: every wait returns
// Lost, and its backend frees it (an abandoned one: the supervisor, by the same bit). A new device process ignores what
// stands in such slots: a thread's first `request` seen is the one that it finds at its start.
// No pointer and no C++ object crosses; messages are plain old data and every count in them is checked by the receiver.
//
// Course of one fragment, as seen by the backend (each line a request):
//     Open            the program                                   -> device
//     DefineSource    once per source; a source of several relations: once per relation
//     UseUnifiedDictionary once per unified dictionary that the device may keep, with the constants in it
//     per source, build pipelines first, per map page of the relation:
//       StageMany     map LSNs and visible pages of many map pages  -> which of them the cache has, or nearly; each other one:
//       Stage         map LSN, visible pages                        -> Ready{covered} | NeedLsns | NeedPages | Busy
//       Stage         the same with LSNs that were asked for        -> Ready | NeedPages | Busy
//       Decode*       windows of pinned pages                       -> status per page
//       Publish       pages whose second check failed               -> Ready{covered}
//       every page that is not in `covered` is read row by row by the backend:
//       DecodeRows* / Batch*                                        -> transient rows
//     UseLookup       for every lookup of the source: the device has its table, or makes it itself, or
//     ReadDictionary* / PutLookup*   the backend evaluates the entries that the device has no results of
//     DeferredCodes* / PutEntries*   of lookups whose function may see only what will be looked up: the codes, and what it makes of them
//     parallel workers may stage the chunks of a source with the leader, each in a slot of its own:
//       Share (leader) -> ticket; Join (worker); Stage, Decode*, Publish, DecodeRows*, DeliverRows (worker);
//       Collect (leader), before it runs
//     Run             the pipeline over what was staged (several times when a reply said pass_full)
//     Fetch*          groups, or rows; everything is complete before the first of them is fetched
//       or, of a subquery's groups, Keep -> the number of a stage; the next Open, in the same session, begins a program that may read its
//       rows: UseStage* and Run where it would have Batch. Stages are forgotten with Close
//     CodesOfRanks* / ReadDictionary*   the texts that they show
//     Close
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/cost/tier_profile.hpp"
#include "engine/ir/ir.hpp"
#include "engine/store/admission_credits.hpp"
#include "engine/store/cache_statistics.hpp"
#include "engine/store/cached_builds.hpp"
#include "engine/store/count_table.hpp"
#include "engine/store/decode.hpp"
#include "engine/util/spin.hpp"
#include "server/deaths.hpp"
#include "server/wait_queue.hpp"
#include "server/wal_position.hpp"

namespace gpuscan::protocol {

constexpr uint32_t area_magic = 0x47505341;      // "GPSA"
constexpr uint32_t slot_buffer_size = 1u << 20;  // bytes of input and of output per slot
constexpr uint32_t max_window_pages = 1024;      // pages of one Decode request in place
constexpr uint32_t max_copied_pages = 64;        // pages of one Decode request by copy (they lie in the input)
constexpr uint32_t request_abandoned = 1u << 31; // bit of Slot::request; the numbers count modulo this
constexpr uint32_t bitmap_bytes = (pages_per_chunk + 7) / 8;

enum class ServiceState : uint32_t { Down = 0, Starting = 1, Ready = 2, Failed = 3 };
enum class DeviceKind : uint32_t { None = 0, Host = 1, Cuda = 2 };
enum class SlotState : uint32_t { Free = 0, Taken = 1, Abandoned = 2 };

enum class Command : uint32_t {
    None,
    Open,
    DefineSource,
    StageMany,
    Stage,
    Decode, // pages of the staged chunk that is being built
    Publish,
    Share,       // lets the sessions of parallel workers join a source
    Join,        // instead of Open, by such a session: its source 0 is the shared one
    Collect,     // what they have delivered
    DecodeRows,  // pages with tuple masks, into the source's transient rows
    DeliverRows, // the rows that a session that has joined decoded like this
    Batch,       // rows that the backend decoded itself
    Keep,        // the groups of the program, as the rows of a stage
    UseStage,    // ... of a program that was opened behind that
    UseUnifiedDictionary,
    UseLookup,
    CodesOfRanks,
    ReadDictionary,
    PutLookup,
    DeferredCodes,
    PutEntries,
    Run,
    Fetch,
    Close,
    Evict,
    ListCache,
    Test, // test builds only: crash, stall, write to shared_buffers
};

enum class Status : uint32_t {
    Ok = 0,
    Fallback = 1, // the device cannot; `message` says why. The backend runs the CPU plan
    RowError = 2, // a row met an SQL error: the CPU plan decides
    Cancelled = 3,
    Lost = 4,    // made up by the backend: the device process is gone
    Invalid = 5, // malformed request: a bug; also answered by the CPU plan
};

// What the views show about one device; written by the device process.
struct DeviceEntry {
    uint32_t kind;  // DeviceKind
    uint32_t state; // ServiceState
    char name[96];
    char note[160]; // e.g. why there is no GPU
    std::atomic<uint64_t> memory_total, memory_limit, memory_used, cache_bytes;
    std::atomic<uint32_t>
        busy; // requests that run on it at a time, in thousandths, on the average over the last second or so
};

// Counters since the service's first start (they survive restarts of the device process).
struct Counters {
    std::atomic<uint64_t> fragments, fallbacks, row_errors, cancelled;
    std::atomic<uint64_t> pages_cached, pages_decoded, pages_rowwise, pages_compared, rows_in, groups_out;
    std::atomic<uint64_t> tables_reused, chunks_built, chunks_evicted, kernels_compiled, link_bytes, device_us,
        restarts; // after deaths; an ordered stop is none
};

struct Slot {
    std::atomic<uint32_t> state;      // SlotState
    std::atomic<uint32_t> generation; // of the device process it was taken under
    std::atomic<uint32_t> request;    // futex; number of requests made, and request_abandoned
    std::atomic<uint32_t> reply;      // futex; == request: idle
    std::atomic<uint32_t> cancel;     // non-zero: stop what runs
    std::atomic<uint64_t> taken_ns;   // when it was taken, by the monotonic clock
    int32_t backend_pid;
    uint32_t command;      // Command
    uint32_t status;       // Status
    uint32_t input_offset; // where in `input` the request starts
    uint32_t input_size;
    uint32_t output_size;
    char message[256]; // reason of Fallback or Invalid
    // What runs, for the case that the process dies of it; written by the backend before it opens or joins a program. They stay
    // when the backend has gone.
    std::atomic<uint64_t> program; // fingerprint, 0: none
    int32_t backend_of_request;
    char query[query_bytes];
    char pad[64];
};

// Commits that others may see before WAL has been flushed up to them (synchronous_commit = off).
struct AsyncCommits {
    std::atomic<uint32_t> pending; // are under way, or seen already and not in `end` yet
    std::atomic<uint64_t> end;     // of the last one
};

// The head of the area. Slot i is at slots_offset + i * sizeof(Slot); its input at buffers_offset + 2 * i *
// slot_buffer_size, its output one slot_buffer_size later.
struct Area {
    uint32_t magic;
    uint32_t nslots;         // all
    uint32_t nsession_slots; // the first of them; the others are feed workers', which so never keep a session waiting
    uint64_t size, slots_offset, buffers_offset;
    std::atomic<uint32_t> generation; // futex; of the device process, 0 before the first
    std::atomic<uint32_t> state;      // ServiceState, futex
    std::atomic<int32_t> device_pid;
    std::atomic<uint32_t> config_version; // bumped by the supervisor after it changed the values below
    std::atomic<uint64_t> cache_size;     // bytes of host memory for cached columns
    std::atomic<uint32_t> device_share;   // per cent of the GPU's memory
    std::atomic<uint32_t> host_threads;
    std::atomic<uint32_t> wanted_devices;  // bit 0: host, bit 1: cuda
    DeviceEntry devices[2];                // [0] host, [1] cuda
    CacheStatistics cache_statistics[2];   // likewise: what is cached
    AdmissionCredits admission_credits[2]; // ... and what it would be worth
    CachedBuilds cached_builds[2];         // of which builds tables are cached
    CountTable<256> unfit_numerics;        // by column: how often a value did not fit (pg/cost/numeric_form.cpp)
    CountTable<128> fallen_back;           // by a program's form: fallbacks in a row (pg/exec/fallback_history.h)
    CountTable<64> rowwise_pages;          // by relation (pg/cost/rowwise_pages.h)
    CountTable<256> evaluation_times;      // by expression (pg/cost/evaluation_times.h)
    CountTable<128> evaluated_texts;       // by lookup (pg/cost/evaluated_texts.h)
    Counters counters;
    std::atomic<uint32_t> cuda_suspended; // 1: the process died so often that it runs without the GPU for now
    std::atomic<uint32_t> heartbeat;      // grows while the device process is alive and its drivers answer
    Deaths deaths;
    Suspects suspects;
    SpinGate spin_gate;                                // of all who wait for a request, a reply or a GPU
    WaitQueue queue;                                   // of backends that wait for a slot (pg/service/admission.h)
    alignas(64) AsyncCommits async_commits;            // of all sessions (pg/feed/seen_wal.cpp)
    alignas(64) std::atomic<uint32_t> wal_is_followed; // 1: the device process reads WAL behind the queries
    std::atomic<uint64_t> flushed_wal;                 // how far WAL has been flushed, as the supervisor saw it last
    std::atomic<uint64_t> slot_ns;        // that a slot is held, on the average of the last ones; 0: none has been
    std::atomic<uint64_t> start_began_ns; // of the device process, or when the last one ended; by the monotonic clock
    std::atomic<uint64_t> start_took_ns;  // the last start that came to an end
    CrashNote crash;                      // of the device process that is running
    // What things cost (tier_profile.hpp), and the file that it is to be written to when the device process has measured it, which it
    // does when it finds profile_wanted set, and only once: a measurement that kills the process is not repeated.
    tier::SharedProfile profile;
    std::atomic<uint32_t> profile_wanted;
    char profile_path[1024]; // written by the supervisor while profile_wanted is 0

    Slot *slot(uint32_t i) { return reinterpret_cast<Slot *>(reinterpret_cast<char *>(this) + slots_offset) + i; }
    uint8_t *input(uint32_t i) {
        return reinterpret_cast<uint8_t *>(this) + buffers_offset + 2 * size_t(i) * slot_buffer_size;
    }
    uint8_t *output(uint32_t i) { return input(i) + slot_buffer_size; }
};

// ---- messages; variable parts follow the struct, each 8-byte aligned, in the order of the comment --------------

struct OpenRequest { // program bytes (program.hpp)
    uint32_t device; // DeviceKind wanted; None: the best one
    uint32_t program_size;
};
struct OpenReply {
    uint32_t device; // DeviceKind
    uint32_t unused;
    char name[96];
};

struct Locator { // RelFileLocator
    uint32_t tablespace, database, relation;
};

// A source: a relation's columns, or rows of a CPU plan (relation == 0: then no layouts, types come from the program).
// A source may have several relations (partitions), each of which is defined by itself and has a feed of its own. The feed
// of the first has the source's number; the others are numbered on from the number of sources, in the order in which they
// are defined. Wherever a message about staging says `source`, it means the feed.
struct
    DefineSourceRequest { // ncolumns times: ColumnHead, attributes (AttributeLayout[]), missing_text, key, dictionary
    uint32_t source;
    uint32_t ncolumns;
    Locator locator;
    uint32_t feed;         // 0: the source's first relation, else the number of this one's feed
    uint32_t more;         // 1: the definition of another relation follows in the same message
    uint32_t same_columns; // 1: those of the relation before it in the message, and no definition of them follows
    uint32_t hashed; // 1: WAL does not describe the pages. What messages call a page's LSN is its hash (page_hash.hpp)
    uint32_t unused;
    char path[128]; // of the relation's main fork below the data directory (relpathperm); empty for rows
};
struct ColumnHead {
    uint8_t codec, type, missing_null, digits;
    int32_t scale;
    uint32_t expression;  // 0: an attribute; else an expression's number (ColumnLayout)
    uint32_t nattributes; // == attnum; of an expression 1
    uint32_t unused2;
    uint32_t missing_text_size;
    uint32_t key_size; // bytes that must be equal for a cached column to be this one (types, typmods, collation, ...)
    uint32_t dictionary_size; // text: bytes of the name of the dictionary that it shares, 0: it has its own
    uint64_t missing_low;
    int64_t missing_high;
};

struct
    StageRequest { // visible bitmap (bitmap_bytes); if has_lsns the bitmap of a NeedLsns and of its pages uint64 LSNs and
                   // uint32 buffers (from 0; UINT32_MAX: in none that stays)
    uint32_t source;
    uint32_t chunk;  // number of the visibility map page
    uint32_t npages; // pages of the chunk that exist: min(nblocks - chunk * pages_per_chunk, pages_per_chunk)
    uint32_t has_lsns;
    uint32_t accept_missing; // do not build: use what is valid (another backend repairs)
    uint32_t lsns_prove;     // 1: a page whose LSN has not moved is right, visible or not
    uint64_t map_lsn;        // 0: there is no map page, or it has no LSN that identifies it
    WalPosition
        seen_wal; // read before the map: behind it lies no change that the snapshot sees; none: that is not known
};
enum class StageState : uint32_t {
    Ready = 0,     // the chunk is held by the session; `covered` says for which pages
    NeedLsns = 1,  // send the LSNs of these pages
    NeedPages = 2, // this session is now the chunk's builder: decode the pages in `missing`, then Publish
    Busy = 3,      // another session builds it; `missing` as above. Wait and stage again, or accept_missing
};
struct StageReply { // also the reply to Publish. Followed by one bitmap (bitmap_bytes): covered, wanted LSNs or missing
    uint32_t state; // StageState
    uint32_t pages; // bits set in the bitmap
    uint32_t pass_full;   // 1: run the pipeline before staging more
    uint32_t rows;        // that the session holds now and has not told of (Ready)
    uint64_t expressions; // NeedPages: which of the source's expressions (bit 0: the first one) some of the pages lack
};

// Many chunks of one source, for what the cache has: a chunk of which it has everything, or nearly, is held by the session as
// after Stage; nothing happens to the others. The chunks are taken in order until the pass is full.
struct StageManyRequest { // StageManyEntry[count]; then per entry that is not all_visible its bitmap (bitmap_bytes)
    uint32_t count;
    uint32_t lsns_prove; // as in StageRequest, for all of them
    uint32_t no_maps;    // 1: none was looked at, and no bitmaps are sent
    uint32_t next_xid;   // the next transaction's ID, later than seen_wal
    WalPosition seen_wal;
    uint32_t horizon; // what transactions before this one did, every snapshot sees; 0: not known
    uint32_t unused;
};
struct StageManyEntry {
    uint32_t chunk, npages; // as in StageRequest
    uint32_t all_visible;   // 1: all of the npages are, no bitmap is sent
    uint32_t source;
    uint64_t map_lsn;
};
enum class StageManyState : uint8_t {
    NotHeld = 0,    // if no map was looked at, one may help
    Held = 1,       // every page that can be cached: all, or the visible ones if LSNs prove nothing
    Skipped = 2,    // the same, without a row: by the bounds of cached columns none would be of use
    HeldInPart = 3, // without a few pages
    Missing = 4,    // not held, and no map helps; some of its pages have to be brought
};
struct
    StageManyReply { // answered uint8: StageManyState; answered uint32: rows of each that is held or skipped, pages to
                     // bring of each other one; the covered pages' bitmap (bitmap_bytes) of each that is HeldInPart
    uint32_t answered; // entries that were looked at, from the first
    uint32_t pass_full;
};

// One page of a window.
struct PageEntry {
    uint16_t page;    // in the chunk (Decode); any number below 65536 (DecodeRows)
    uint16_t ntuples; // LP_NORMAL line pointers counted under the lock, or bits of its mask
    uint32_t buffer;  // in place: buffer number from 0; copied: index of the page image
    uint64_t lsn;     // pd_lsn under the SHARE lock
};
struct
    DecodeRequest { // PageEntry[npages]; TupleMask[npages] if has_masks; page images (8192 * npages) if copied, 8-byte
    // aligned; if there are n expressions uint8 (ExpressionState) by page and expression, and as many page images of their values
    uint32_t source;
    uint32_t npages;
    uint32_t
        chunk; // Decode: the one that this session builds, or else the one that the session builds which it has joined
    uint32_t copied;
    uint32_t has_masks; // DecodeRows always; Decode: if not all normal line pointers of all pages count
    uint32_t unused;
    uint64_t expressions; // as in StageReply: those whose values are here. DecodeRows: all of the source's
};
enum class ExpressionState : uint8_t {
    Evaluated = 0,
    Failed = 1, // for one of the page's tuples it raised an error, or its values do not fit into a page
};
struct DecodeReply { // npages uint8 PageStatus
    uint32_t npages;
    uint32_t pass_full;
};

struct PublishRequest { // nbad uint16
    uint32_t source;
    uint32_t nbad;
};

// Shares a source with parallel workers until the session ends.
struct ShareRequest {
    uint32_t source;
    uint32_t unused;
    uint64_t rows_per_chunk; // about
};
struct ShareReply {
    uint64_t ticket;
    uint32_t builders; // chunks that may be built at the same time, the leader's included
    uint32_t unused;
};
struct JoinRequest {
    uint64_t ticket;
};
struct DeliverRowsRequest {
    uint32_t source;
    uint32_t unused;
};
struct DeliverRowsReply {
    uint32_t pass_full;
    uint32_t unused;
};
struct CollectRequest {
    uint32_t source;
    uint32_t unused;
};
struct CollectReply {
    uint32_t chunks;
    uint32_t pass_full;
    uint64_t rows; // of them
};

// Rows decoded by the backend. Per column: nulls (nrows bytes), then values (nrows * width) or, for Code columns,
// uint32 offsets[nrows + 1] and the bytes of the texts.
struct BatchRequest {
    uint32_t source;
    uint32_t nrows;
};
struct BatchReply {
    uint32_t pass_full;
    uint32_t unused;
};

constexpr uint32_t of_unified_dictionary = UINT32_MAX;
struct ReadDictionaryRequest { // uint32 codes[ncodes]
    uint32_t source, column;   // source == of_unified_dictionary: column is the number of a unified dictionary
    uint32_t first;            // code to begin with
    uint32_t ncodes;           // 0: all from `first` on; else just those codes, in their order
};
struct ReadDictionaryReply { // count times: uint32 length, bytes (each entry 4-byte aligned)
    uint64_t id;
    uint32_t size;  // entries of the dictionary now
    uint32_t count; // entries in this reply, beginning with `first` or the first of the codes
};

// A unified dictionary: texts that lookups of the program lead to, and constants, numbered so that equal texts have equal codes. It is
// cached under what it is made of: the keys of all its lookups. Sent before anything is staged.
struct UseUnifiedDictionaryRequest { // nlookups times: UnifiedText, key; nconstants times: UnifiedText, text
    uint32_t unified;                // from 1
    uint32_t nlookups, nconstants;
    uint32_t unused;
};
struct UnifiedText {
    uint32_t index; // of the lookup, or of the constant, which gets its code
    uint32_t size;  // bytes of its key or text
};

// The entries' ranks under a collation: in an order that the backend finds, and then of all entries anew when there are more; or by
// their bytes.
enum class RankOrder : uint32_t { None, Collation, Bytes, BytesWithoutBlanks };

// A lookup whose table depends on nothing but its key and the dictionary: the device uses the table that it has cached, and
// evaluates what is missing itself if there is a function for that. Of a deferred lookup it only notes the key, under which it looks
// for entries that are known, and keeps those that PutEntries brings.
struct UseLookupRequest { // key, function (text_function.hpp)
    uint32_t lookup;
    uint32_t unified; // the values are texts: of this one; else 0
    uint32_t key_size, function_size;
    RankOrder ranks;
    uint32_t unused;
};
struct UseLookupReply {
    uint64_t dictionary; // its id
    uint32_t entries;    // of the dictionary
    uint32_t first;      // from which on PutLookup must follow; > entries: the lookup is set
};

// Which entries have these ranks in the table of a lookup with a RankOrder?
struct CodesOfRanksRequest { // uint32 ranks[count]; answered by uint32 codes[count]
    uint32_t lookup, count;
};

// Values first..first+count-1 of a lookup of `entries` codes (entry `entries` is NULL's). Sent in pieces, from 0 on or from
// where a reply to UseLookup said.
struct PutLookupRequest { // count * width values, count nulls; as texts: count nulls, uint32 offsets[count + 1], bytes
    uint32_t lookup;
    uint32_t entries;
    uint32_t first;
    uint32_t count;
    uint32_t as_texts; // of the unified dictionary that UseLookup has named
    uint32_t unused;
};

// Which codes will be looked up in deferred lookups (engine/store/deferred_evaluation.hpp) when what is staged is run? Asked again until no
// lookup is answered; before the next question the answer's codes have been put.
struct DeferredCodesRequest {
    uint32_t pipeline;
    uint32_t unused;
};
struct DeferredCodesReply { // uint32 codes[count]; that of NULL is `entries`
    uint32_t lookup;        // ir::none: all that will be looked up is there
    uint32_t entries;
    uint32_t count;
    uint32_t unused;
};
constexpr uint32_t max_deferred_codes = 32 * 1024; // codes of one reply,
constexpr size_t max_deferred_bytes = 16 << 20;    // ... until their texts are so long

// What stands in a deferred lookup for so many codes.
struct
    PutEntriesRequest { // uint32 codes[count], count * width values, count nulls; as texts: codes, then as in PutLookup
    uint32_t lookup;
    uint32_t count;
    uint32_t as_texts;
    uint32_t unused;
};

struct RunRequest {
    uint32_t pipeline;
    uint32_t last; // 1: no further pass of this pipeline follows (a build is finished, groups are merged)
    uint64_t
        fingerprint; // of a build (build_fingerprint.hpp), under which planners are told of its table; 0: it has none
};
struct RunReply { // joins: njoins times char[64]
    uint64_t rows_in, kernel_us, compile_us, link_bytes;
    uint64_t chunks_skipped, rows_skipped; // by their bounds (skip.hpp)
    uint64_t
        groups; // after the main pipeline's last Run; of a Rows pipeline: rows so far, and with its limit no Run is needed
    uint64_t groups_dropped; // of all groups that were made (group_filter.hpp)
    char grouping[32];
    uint32_t njoins;
    uint32_t unused;
};

struct FetchReply {   // group_page.hpp
    uint32_t ngroups; // 0: no more
    uint32_t nkeys, naggregates;
    uint32_t unused;
};
// How a column of the groups of a reply is stored: base + `width` bytes; 128-bit values have an upper half.
struct GroupColumn {
    enum High : uint8_t { zero, sign, stored }; // the upper half: zero, that of a sign, or 8 bytes of its own
    int64_t base;
    uint8_t width; // 0, 1, 2, 4 or 8
    uint8_t high;
    uint8_t nulls; // 1: NULL flags follow
    uint8_t unused[5];
};

// The reply to Fetch of a program with a Rows pipeline. Per column: nrows values of the expression's type, nrows bytes of
// NULL flags; each part begins at a multiple of 8 bytes. The value of a NULL is undefined.
struct RowsReply {
    uint32_t nrows; // 0: no more
    uint32_t ncolumns;
};

// The program has ended with this: only Open can follow, or Close.
struct KeepRequest { // KeepColumn[ncolumns]
    uint32_t ncolumns;
    uint32_t unused;
};
struct KeepColumn {
    ir::StageColumn column;
    // Code: its codes are of the dictionary of column `text` of this source; source none: of unified dictionary `text`
    ir::Index source, text;
};
struct KeepReply {
    uint32_t stage;
    uint32_t unused;
    uint64_t rows;
};

// The next rows of the stage are rows of the source.
struct UseStageRequest {
    uint32_t source;
    uint32_t stage;
};
struct UseStageReply {
    uint64_t left; // rows that are to follow when the pipeline has run over those that there are
};

struct EvictRequest {
    uint32_t all; // 1: everything, else the locator's relation
    Locator locator;
};
struct EvictReply {
    uint64_t bytes;
};

struct ListCacheRequest {
    uint32_t first; // entry to begin with
    uint32_t unused;
};
struct CacheEntry {
    Locator locator;
    uint32_t column; // attnum; or an expression's number
    uint32_t device; // DeviceKind
    uint32_t chunks, pages;
    uint32_t text_size;
    uint64_t bytes, hits;
};
struct ListCacheReply { // CacheEntry[count]; then the texts of those that are expressions, one behind the other
    uint32_t count;
    uint32_t more;
};

struct TestRequest {
    uint32_t what; // 1: SIGSEGV, 2: stall until cancelled, 3: a device write into shared_buffers
    uint32_t unused;
};

} // namespace gpuscan::protocol
