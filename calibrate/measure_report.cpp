#include "measure_report.hpp"

#include <cmath>
#include <cstdio>

#include "engine/cost/tier_profile.hpp"
#include "weights.hpp"

namespace calibrate {
namespace {

namespace tier = gpuscan::tier;

std::string cell(const Json &number) {
    if (!number.is_number())
        return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", number.get<double>());
    return text;
}

// Reads what format_profile writes, or a person.
tier::Profile parsed(const std::string &text) {
    tier::Profile profile;
    tier::ProfileNote notes[1];
    int count = 0;
    (void)tier::parse_profile(text.data(), text.size(), &profile, notes, 1, &count);
    return profile;
}

void add_difference(std::string &text, const char *section, const char *name, double from, double to) {
    if (from == to)
        return;
    char line[160];
    std::snprintf(line, sizeof line, "  %-32s %12.6g -> %.6g\n", (std::string(section) + "." + name).c_str(), from, to);
    text += line;
}

} // namespace

bool is_measurement(const std::vector<Json> &lines) { return lines.at(0).value("kind", "") == "measure"; }

Json measurement_of(const std::vector<Json> &lines) {
    const Json &head = lines.at(0);
    Json m = {{"started", head.at("started")},
              {"server", head.at("server")},
              {"plan", head.at("plan")},
              {"complete", false},
              {"values", Json::array()},
              {"settings", {{"asymmetric", Json::object()}, {"original", Json::object()}}},
              {"profile", nullptr},
              {"notes", Json::array()},
              {"samples", 0},
              {"applied", nullptr}};
    size_t samples = 0;
    for (const Json &line : lines) {
        const std::string type = line.at("type");
        if (type == "sample") {
            ++samples;
        } else if (type == "note") {
            m["notes"].push_back(line.at("text"));
        } else if (type == "result") {
            for (const char *part : {"complete", "values", "settings", "profile"})
                m[part] = line.at(part);
        } else if (type == "apply") {
            m["applied"] = line;
            m["applied"].erase("type");
        } else if (type == "undo") {
            m["applied"] = nullptr;
        }
    }
    m["samples"] = samples;
    return m;
}

std::string measurement_text(const Json &m) {
    std::string text = "Measurement, database \"" + m["server"]["database"].get<std::string>() + "\", begun " +
                       m["started"].get<std::string>() + ", " + std::to_string(m["samples"].get<size_t>()) +
                       " samples\n";
    if (!m["complete"].get<bool>())
        return text + "It was stopped before its end; measure again (with another file).\n";
    std::string section;
    for (const Json &v : m["values"]) {
        if (v["tier"] != section) {
            section = v["tier"];
            char head[200];
            std::snprintf(head, sizeof head, "\n%-32s %10s %21s %10s %10s  %s\n", section.c_str(), "value",
                          "95 % confidence", "before", "default", "source");
            text += head;
        }
        std::string interval = v["low"].is_number() ? cell(v["low"]) + " .. " + cell(v["high"]) : "";
        char line[200];
        std::snprintf(line, sizeof line, "  %-30s %10s %21s %10s %10s  ", v["name"].get<std::string>().c_str(),
                      cell(v["value"]).c_str(), interval.c_str(), cell(v["before"]).c_str(),
                      cell(v["default"]).c_str());
        text += line + v["source"].get<std::string>();
        if (const std::string unit = v["unit"]; !unit.empty())
            text += ", " + unit;
        if (const std::string note = v["note"]; !note.empty())
            text += ": " + note;
        text += "\n";
    }
    for (const Json &note : m["notes"])
        text += "\n" + note.get<std::string>();
    if (!m["notes"].empty())
        text += "\n";
    if (!m["applied"].is_null())
        text += "\nApplied (" + m["applied"]["scope"].get<std::string>() + "); undo takes it back.\n";
    return text;
}

std::string measurement_settings(const Json &m, const std::string &model) {
    if (!m["complete"].get<bool>())
        throw CheckpointError("the measurement is not finished");
    std::string text;
    for (const auto &[setting, value] : m["settings"].at(model).items())
        text += setting + " = " + number_text(value) + "\n";
    return text;
}

bool is_doubtful(double value, double low, double high) {
    constexpr double limit = 1.5; // and its inverse
    return high > limit * value || low * limit < value;
}

bool is_doubtful(const Json &m) {
    for (const Json &v : m["values"])
        if (v["name"] == "ns_per_unit" && v["low"].is_number())
            return is_doubtful(v["value"], v["low"], v["high"]);
    return false;
}

std::string profile_text(const std::vector<ProfileEntry> &now,
                         const std::map<std::string, std::map<std::string, double>> &measured,
                         const std::string &host_name, const std::string &gpu_name) {
    tier::Profile profile = tier::default_profile(), standard = profile;
    tier::Origins origins = {};
    for (const ProfileEntry &entry : now) {
        double value = entry.value;
        bool found = false;
        if (const auto section = measured.find(entry.device); section != measured.end())
            if (const auto one = section->second.find(entry.name); one != section->second.end()) {
                value = one->second;
                found = true;
            }
        if (entry.device == "server") {
            for (int i = 0; i < tier::server_values; ++i)
                if (entry.name == tier::server_name(i)) {
                    origins.server[i] = found || value != tier::server_value(standard, i);
                    tier::server_value(profile, i) = value;
                }
            continue;
        }
        const int device = entry.device == "cuda";
        for (int i = 0; i < tier::device_values; ++i)
            if (entry.name == tier::weight_table[i].name) {
                // (what the server has measured by itself was measured, too)
                origins.devices[device][i] = found || value != standard.devices[device].values[i];
                profile.devices[device].values[i] = value;
            }
    }
    return tier::format_profile(profile, origins, host_name, gpu_name);
}

std::string profile_difference(const std::string &from, const std::string &to) {
    tier::Profile a = parsed(from), b = parsed(to);
    std::string text;
    for (int i = 0; i < tier::server_values; ++i)
        add_difference(text, "server", tier::server_name(i), tier::server_value(a, i), tier::server_value(b, i));
    for (int device = 0; device < 2; ++device)
        for (int i = 0; i < tier::device_values; ++i)
            if (tier::in_profile(i, device == 1))
                add_difference(text, device == 0 ? "host" : "cuda", tier::weight_table[i].name,
                               a.devices[device].values[i], b.devices[device].values[i]);
    return text;
}

} // namespace calibrate
