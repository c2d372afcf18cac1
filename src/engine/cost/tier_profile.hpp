// A machine's weights as a file that people read, and as shared memory that every backend reads. No PostgreSQL, no CUDA.
//
// The file (gpuscan.cost_profile_file) has a section for the server and one for each device:
//
//   [server]
//   ns_per_unit = 4000                  # ns; one unit of the planner's costs; default
//   row_hashed = 50                     # ns a row; ... a step of PostgreSQL's executor; default
//   [host]
//   memory_seq_read = 0.1               # ns a byte; columns; measured
//   near_bytes = 1048576                # bytes; ...
//   [cuda]
//   ...
//
// What stands behind # is for people. A name that is missing has its default; one that nobody knows is told and left out; anything else
// that cannot be understood makes the whole file void, because half of a profile prices two devices on two scales.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/cost/executor_cost.hpp"
#include "engine/cost/tier_cost.hpp"

namespace gpuscan::tier {

struct Profile { // doubles only, so that it can be shared word by word
    double ns_per_unit;
    executor::Rates executor; // PostgreSQL's own
    Weights devices[2];       // host, cuda
};
Profile default_profile();

// What a profile says of the server: what a unit of costs takes, and each step of PostgreSQL's executor.
constexpr int server_values = 1 + executor::steps;
double &server_value(Profile &profile, int index);
const char *server_name(int index);

// Has the section of this device this value of Weights? (Page costs are settings, and a CPU has no link.)
bool in_profile(int index, bool gpu);

// What is known from where: for the comments of a file.
struct Origins {
    bool server[server_values], devices[2][device_values]; // measured; else default
};

struct ProfileNote {
    int line; // from 1
    bool error;
    char text[160];
};

// Reads a file's text. `profile` has the defaults where the text says nothing, and after an error. At most `capacity` notes are
// written. False: there was an error (the last note).
bool parse_profile(const char *text, size_t size, Profile *profile, ProfileNote *notes, int capacity, int *nnotes);

std::string format_profile(const Profile &profile, const Origins &origins, const std::string &host_name,
                           const std::string &gpu_name);

// The profile in shared memory. Zeros: the defaults. Read without a lock: an odd generation means that it is being written. The two who
// write, the supervisor when it reads the file and the device process when it has measured, do not do so at the same time (one waits
// for what the other has found); if they did, a reader would see one of two profiles, or both in turns.
class SharedProfile {
  public:
    uint32_t generation() const { return generation_.load(std::memory_order_acquire); }
    void publish(const Profile &profile);
    // The generation of what was read.
    uint32_t read(Profile *profile) const;

  private:
    static constexpr size_t words = sizeof(Profile) / sizeof(uint64_t);
    std::atomic<uint32_t> generation_;
    std::atomic<uint64_t> words_[words];
};

} // namespace gpuscan::tier
