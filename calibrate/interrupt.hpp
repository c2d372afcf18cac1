// Ctrl-C, and a request to end, are noticed where it is safe: the signal handler only counts.
#pragma once

#include <stdexcept>

namespace calibrate {

struct Interrupted : std::runtime_error {
    Interrupted() : std::runtime_error("interrupted") {}
};

// Handles SIGINT, SIGTERM and SIGHUP from now on. A second one ends the program at once.
void catch_interrupts();
bool interrupted();
void check_interrupt(); // throws Interrupted

} // namespace calibrate
