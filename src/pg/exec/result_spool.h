// The device's replies with groups or rows, kept as they came until they are shown.
//
// As many bytes as the caller allows stay in memory, later ones go to a temporary file; where temp_file_limit could turn that
// into an error, the CPU plan answers instead. Memory goes with the run's context, the file by replies_close.
#pragma once

#include "pg/exec/run.h"

namespace gpuscan {

struct StoredReply {
    const char *bytes;
    uint32 size;
};

struct ResultSpool {
    StoredReply *replies; // those in memory, which come first
    uint64 count, allocated;
    Size kept;  // bytes of them
    char *free; // room for more
    Size room;
    BufFile *file; // the others: each its size (uint32) and its bytes
    uint64 spilled;
    // What is being read.
    uint64 next; // of those in memory
    uint64 read; // bytes of the file
    char *from_file;
};

// `what` is in it, for messages. False: see failure.
bool replies_add(FragmentRun *run, ResultSpool *store, const char *bytes, uint32 size, Size memory, const char *what);

// From the first one again; and the next one, which lives until the one after it is asked for. False: there is none.
void replies_rewind(ResultSpool *store);
bool replies_next(FragmentRun *run, ResultSpool *store, const char **bytes, uint32 *size);

void replies_close(ResultSpool *store);

} // namespace gpuscan
