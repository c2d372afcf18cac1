// The ways in which a session can be told to plan a query: each gives a plan, many the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct Variant {
    std::string name;
    Settings settings;
    double scale = 1;      // PostgreSQL's costs are multiplied by this
    bool tampered = false; // PostgreSQL plans its part otherwise than it would by itself
};

// `device`: what gpuscan.device is in the case ("" leaves it as it is); `others`: further devices, on which it could have run. The
// first variant is what gpuscan chooses by itself.
// `costs` are PostgreSQL's cost settings and their present values.
std::vector<Variant> variants(const std::string &device, const std::vector<std::string> &others, const Settings &costs);

// The settings that PostgreSQL's costs are made of.
extern const std::vector<std::string> cost_settings;

} // namespace bench
