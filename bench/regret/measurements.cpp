#include "measurements.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace bench {
namespace {

const char *const header = "context,data,query,temperature,plan,phase,outcome,ms,about";
constexpr size_t key_fields = 6, fields = 9;

std::string quoted(const std::string &text) {
    if (text.find_first_of(",\"") == std::string::npos)
        return text;
    std::string out = "\"";
    for (char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c == '\n' ? ' ' : c);
    return out + "\"";
}

std::vector<std::string> unquoted(const std::string &line) {
    std::vector<std::string> list(1);
    bool inside = false;
    for (size_t i = 0; i < line.size(); ++i)
        if (line[i] == '"') {
            if (inside && i + 1 < line.size() && line[i + 1] == '"')
                list.back() += line[++i];
            else
                inside = !inside;
        } else if (line[i] == ',' && !inside) {
            list.emplace_back();
        } else {
            list.back() += line[i];
        }
    return list;
}

} // namespace

std::string MeasurementKey::text() const {
    std::string text;
    for (const std::string *part : {&context, &data, &query, &temperature, &plan, &phase})
        text += quoted(*part) + ',';
    return text;
}

Measurements::Measurements(const std::string &path) : path_(path) {
    std::string line;
    bool complete = true; // the last line: the program may have died while it wrote it
    if (std::ifstream in(path); in && std::getline(in, line)) {
        if (line != header)
            throw std::runtime_error(path + " is no file of measurements of this program");
        while (std::getline(in, line)) {
            complete = !in.eof();
            const std::vector<std::string> list = unquoted(line);
            if (!complete || list.size() != fields)
                continue;
            Measurement m;
            m.censored = list[key_fields] == "stopped";
            const char *at = list[key_fields + 1].c_str();
            for (char *end; *at != '\0'; at = *end != '\0' ? end + 1 : end) {
                const double ms = std::strtod(at, &end);
                if (end == at)
                    break;
                m.times.push_back(ms);
            }
            if (!m.times.empty())
                known_[MeasurementKey{list[0], list[1], list[2], list[3], list[4], list[5]}.text()] = m;
        }
    }
    const bool is_new = line.empty() && known_.empty();
    out_.open(path, std::ios::app);
    if (is_new)
        out_ << header << '\n';
    else if (!complete)
        out_ << '\n';
    out_.flush();
    if (!out_)
        throw std::runtime_error("cannot write " + path);
}

const Measurement *Measurements::find(const MeasurementKey &key) const {
    const auto at = known_.find(key.text());
    return at != known_.end() ? &at->second : nullptr;
}

void Measurements::add(const MeasurementKey &key, const Measurement &m, const std::string &about) {
    out_ << key.text() << (m.censored ? "stopped" : "done") << ',';
    for (size_t i = 0; i < m.times.size(); ++i) {
        char number[32];
        std::snprintf(number, sizeof number, "%s%.3f", i > 0 ? " " : "", m.times[i]);
        out_ << number;
    }
    out_ << ',' << quoted(about) << '\n' << std::flush;
    if (!out_)
        throw std::runtime_error("cannot write " + path_);
    known_[key.text()] = m;
}

} // namespace bench
