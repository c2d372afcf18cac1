// What the file of a measurement says. Needs no server.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint.hpp"

namespace calibrate {

// Is it a measurement's file? (Else anneal's.)
bool is_measurement(const std::vector<Json> &lines);

// One object: "started", "server", "plan", "values", "settings" (by model), "profile" (a text, or null), "notes", "complete",
// "samples" (a number), "applied".
Json measurement_of(const std::vector<Json> &lines);

// A table of values with intervals, and the notes.
std::string measurement_text(const Json &measurement);
// "setting = value" lines of a model (weights.hpp). Throws CheckpointError if the measurement is not finished.
std::string measurement_settings(const Json &measurement, const std::string &model);

// Is a unit of cost too uncertain for anything to be built on it?
bool is_doubtful(double value, double low, double high);
bool is_doubtful(const Json &measurement);

struct ProfileEntry {
    std::string device, name;
    double value;
};
// The text of a profile (engine/cost/tier_profile.hpp): what is now, and what was measured, by section and name, in its place.
std::string profile_text(const std::vector<ProfileEntry> &now,
                         const std::map<std::string, std::map<std::string, double>> &measured,
                         const std::string &host_name, const std::string &gpu_name);
// Values that differ between two texts of profiles, a line each.
std::string profile_difference(const std::string &from, const std::string &to);

} // namespace calibrate
