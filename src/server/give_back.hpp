// Memory that is free within the process and goes back to the system.
//
// The C library keeps what is freed, in arenas that many threads share: after hours of work gigabytes that no account knows.
// So there are no more arenas than cores, and when the process has grown since the last look the free pages are given back.
#pragma once

#include <chrono>
#include <cstddef>

namespace gpuscan {

// Call before the process has a second thread.
void limit_arenas();

// Bytes of private memory that the process holds (its part of shared memory left out); 0 if the system does not say.
size_t private_memory();

// Gives back what is free: some milliseconds per gigabyte of small blocks.
void give_back_free_memory();

// The same from time to time, where it is worth it.
class MemoryKeeper {
  public:
    void look();

  private:
    std::chrono::steady_clock::time_point next_{};
    size_t before_ = 0; // private memory after the last time
};

} // namespace gpuscan
