// Deaths of the device process: which there were, what was running, and which programs are not sent again.
//
// A fallback gives the right answer when the process dies under a query, so nobody would notice. Hence every death is kept in
// a short list in the shared area, with the request under which it happened, and counted (Counters::restarts).
//
// A program that has ended the process is refused from then on: whoever sends it again would end it again, for everybody.
// Programs are known by a fingerprint of their form and relations, without constants. Where the dying thread has told whose
// request it worked on (crash_handler.hpp), that program is refused at once; else every program that was running gets a
// strike, and the second one counts. Who was killed from outside (SIGKILL, SIGTERM, or a signal of another process) proves nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/util/crash_handler.hpp"

namespace gpuscan {

namespace protocol {
struct Area;
}

constexpr uint32_t max_deaths = 16;
constexpr uint32_t max_suspects = 64;
constexpr uint32_t strikes_to_refuse = 2;
constexpr uint32_t query_bytes = 512; // of a slot and of a death: the query's beginning

struct Death {
    int64_t at_us; // since 1970
    int32_t pid;
    int32_t signal;    // 0: it has exited
    int32_t exit_code; // if signal is 0
    uint32_t requests; // that were running
    // Of the request that is held responsible, or of the only one that was running; else 0 and empty.
    uint32_t command; // protocol::Command
    int32_t backend_pid;
    uint64_t program; // its fingerprint
    char query[query_bytes];
};

// The last deaths; number n is at n % max_deaths. Written by the supervisor.
struct Deaths {
    std::atomic<uint64_t> count;
    Death at[max_deaths];
};

struct Suspects {
    struct Suspect {
        std::atomic<uint64_t> program;
        std::atomic<uint32_t> strikes;
    };
    std::atomic<uint32_t> count; // ever added; number n is at n % max_suspects
    Suspect at[max_suspects];
};

// Whether the program must not be sent. Callable by every process; 0 is no program.
bool is_refused(const Suspects &suspects, uint64_t program);
void add_strikes(Suspects &suspects, uint64_t program, uint32_t strikes);

// Called by the supervisor when the process is gone and before its slots are given back. `signal` is 0 if it has exited with
// `exit_code`. Returns the record.
const Death &record_death(protocol::Area &area, int32_t pid, int32_t signal, int32_t exit_code, int64_t at_us);

// The suspects as the lines of a file, and back. A file that another version of the library has written is of no use: what it
// names may be mended. `version`: one word.
std::string suspects_text(const Suspects &suspects, const std::string &version);
void read_suspects(Suspects &suspects, const std::string &text, const std::string &version);

// The build of this library: its build ID, or "unknown".
std::string library_version();

} // namespace gpuscan
