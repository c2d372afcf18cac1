#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace calibrate {

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::begin(const std::string &phase, size_t steps) {
    phase_ = phase;
    steps_ = steps;
    has_first_ = false;
    last_ = {};
}

void Progress::step(size_t at, const std::string &about) {
    if (quiet_)
        return;
    const auto now = Clock::now();
    if (!has_first_) {
        has_first_ = true;
        first_ = at;
        started_ = now;
    }
    const bool first_or_last = last_ == Clock::time_point() || at == steps_;
    const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000);
    if (!first_or_last && now - last_ < pause)
        return;
    last_ = now;
    std::string line =
        phase_ + " " + std::to_string(at) + "/" + std::to_string(steps_) + (about.empty() ? "" : ", " + about);
    // (not before there is something to go by)
    if (at > first_ && at < steps_ && now - started_ > std::chrono::seconds(1)) {
        const double ms = std::chrono::duration<double, std::milli>(now - started_).count();
        line += ", ETA " + duration_text(ms / static_cast<double>(at - first_) * static_cast<double>(steps_ - at));
    }
    std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", line.c_str());
    std::fflush(stderr);
    shown_ = terminal_;
    if (at == steps_)
        clear();
}

void Progress::clear() {
    if (shown_)
        std::fputs("\n", stderr);
    shown_ = false;
}

void Progress::say(const std::string &text) {
    clear();
    std::fprintf(stderr, "gpuscan-calibrate: %s\n", text.c_str());
}

std::string utc_now() {
    char text[32];
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

std::string duration_text(double ms) {
    char text[64];
    const double s = ms / 1000;
    if (ms < 1000)
        std::snprintf(text, sizeof text, "%.*f ms", ms < 10 ? 1 : 0, ms);
    else if (s < 90)
        std::snprintf(text, sizeof text, "%.*f s", s < 10 ? 2 : 1, s);
    else if (s < 5400)
        std::snprintf(text, sizeof text, "%d min %d s", static_cast<int>(s) / 60, static_cast<int>(s) % 60);
    else
        std::snprintf(text, sizeof text, "%d h %d min", static_cast<int>(s) / 3600, static_cast<int>(s) / 60 % 60);
    return text;
}

} // namespace calibrate
