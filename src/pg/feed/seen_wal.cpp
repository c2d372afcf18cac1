// Where in WAL is everything that a snapshot sees?
//
// A transaction is seen by others once its commit record has been flushed, and its changes lie before that. So a snapshot that has been
// taken sees no change behind what has been flushed by now, and the device process can read that much in WAL's files
// (server/wal_follower.hpp). Not so:
//
// - A transaction sees its own changes before they are flushed.
// - With synchronous_commit = off others see a commit first, and WAL is flushed later. So such a session counts itself in shared memory before
//   it commits, and says where its commit record ends before it takes itself off: a snapshot that sees it was taken in between or later.
//   Meanwhile nobody is told how far to follow WAL. (If another extension's callback, which runs behind this one, switched the setting off, its end
//   would be noted only after others may have seen it.)
// - A transaction that has an ID, but wrote nothing to WAL, is not flushed either. It has changed no page that WAL describes.
// - In recovery WAL comes from elsewhere, and only the visibility map tells what every snapshot sees.
#include "pg/feed/seen_wal.h"

#include "pg/feed/feed.h"

namespace gpuscan {
namespace {

bool counted = false; // this session, in async_commits

void note_async_commit(XactEvent event, void *) {
    protocol::Area *area = device_area();
    if (area == nullptr)
        return;
    protocol::AsyncCommits &commits = area->async_commits;
    const bool async = synchronous_commit == SYNCHRONOUS_COMMIT_OFF;
    if (event == XACT_EVENT_PRE_COMMIT && async && !counted && TransactionIdIsValid(GetTopTransactionIdIfAny())) {
        counted = true;
        commits.pending.fetch_add(1);
    }
    if (event == XACT_EVENT_COMMIT && (async || counted)) {
        uint64 end = commits.end.load();
        while (end < XactLastCommitEnd && !commits.end.compare_exchange_weak(end, XactLastCommitEnd)) {
        }
    }
    if (counted && (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)) {
        counted = false;
        commits.pending.fetch_sub(1);
    }
}

} // namespace

void seen_wal_init() { RegisterXactCallback(note_async_commit, nullptr); }

// What others have changed, and a snapshot sees: this transaction has changed nothing itself.
static bool wal_tells_all() { return !RecoveryInProgress() && !TransactionIdIsValid(GetTopTransactionIdIfAny()); }

// (Also what has not been flushed: a look that is remembered was made before that was there.)
XLogRecPtr end_of_wal() { return wal_tells_all() ? GetXLogInsertRecPtr() : InvalidXLogRecPtr; }

WalPosition seen_wal() {
    WalPosition seen;
    if (!wal_has_known_form || !wal_tells_all())
        return seen;
    const protocol::AsyncCommits &commits = device_area()->async_commits;
    if (commits.pending.load() != 0)
        return seen;
    const XLogRecPtr last = commits.end.load(), flushed = GetFlushRecPtr(&seen.timeline);
    if (last > flushed)
        return seen;
    seen.end = flushed;
    seen.segment_size = static_cast<uint32>(wal_segment_size);
    return seen;
}

} // namespace gpuscan
