// One line on standard error that says how far a calibration is: rewritten in place on a terminal, else a new one every ten seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace calibrate {

class Progress {
  public:
    explicit Progress(bool quiet);
    ~Progress() { clear(); }

    // A phase of so many steps.
    void begin(const std::string &phase, size_t steps);
    // `at` steps are done; `about`: what else is to be said.
    void step(size_t at, const std::string &about);
    // A line of its own, which stays.
    void say(const std::string &text);

  private:
    using Clock = std::chrono::steady_clock;

    void clear();

    bool quiet_, terminal_, shown_ = false;
    std::string phase_;
    size_t steps_ = 0, first_ = 0;
    bool has_first_ = false;
    Clock::time_point started_, last_{};
};

// "2026-11-22T16:00:00Z"
std::string utc_now();

// "95 ms", "12.3 s", "4 min 5 s", "2 h 3 min"
std::string duration_text(double ms);

} // namespace calibrate
