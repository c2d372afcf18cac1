// Puts a calibration's weights into the server's configuration, and takes them out again. The only part that changes settings, and
// the server's profile of device costs (gpuscan.cost_profile_file), which a measurement's file has, too.
//
// What was there is written into the calibration's file before the first statement runs, so that undo knows it whatever happens then.
// A failure half way takes back what was done.
#pragma once

#include <stdexcept>
#include <string>

#include "checkpoint.hpp"
#include "session.hpp"

namespace calibrate {

struct ApplyError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct ApplyOptions {
    std::string scope = "system";     // ALTER SYSTEM; or "database": ALTER DATABASE, which its owner may
    bool yes = false;                 // do not ask
    bool show = false;                // only print the statements
    std::string part = "profile";     // of a measurement; or "settings", or "all"
    std::string model = "asymmetric"; // of a measurement: whose settings (weights.hpp)
    bool force =
        false; // apply: though the gain is within the noise; undo: though somebody has changed the settings since
};

// Both print what they do, on standard output. Throw ApplyError with the reason for a refusal, SessionError, ServerError.
void apply(Session &session, Checkpoint &checkpoint, const ApplyOptions &options);
void undo(Session &session, Checkpoint &checkpoint, const ApplyOptions &options);

} // namespace calibrate
