// Reading, writing and sharing profiles; see tier_profile.hpp. The reader allocates nothing: PostgreSQL's side calls it, too.
#include "engine/cost/tier_profile.hpp"

#include <sched.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gpuscan::tier {

namespace {

constexpr char unit_name[] = "ns_per_unit";
constexpr size_t max_line = 1000;
constexpr int max_tries = 1000;

enum class Section { None, Server, Host, Cuda };

struct Parser {
    Profile *profile;
    ProfileNote *notes;
    int capacity, *nnotes;
    Section section;
    int line;
};

void note(Parser &parser, bool error, const char *format, const char *argument) {
    if (parser.capacity == 0)
        return;
    // An error takes the last place.
    const int at = *parser.nnotes < parser.capacity ? *parser.nnotes : parser.capacity - 1;
    if (*parser.nnotes >= parser.capacity && !error)
        return;
    ProfileNote &to = parser.notes[at];
    to.line = parser.line;
    to.error = error;
    snprintf(to.text, sizeof to.text, format, argument);
    *parser.nnotes = at + 1;
}

bool fail(Parser &parser, const char *format, const char *argument = "") {
    note(parser, true, format, argument);
    return false;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Cuts blanks off both ends, in place.
char *trimmed(char *text) {
    while (is_blank(*text))
        ++text;
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1]))
        text[--length] = '\0';
    return text;
}

bool begin_section(Parser &parser, char *text) {
    char *end = strchr(text, ']');
    if (end == nullptr || end[1] != '\0')
        return fail(parser, "a section is a name in brackets, not \"%.60s\"", text);
    *end = '\0';
    const char *name = trimmed(text + 1);
    if (strcmp(name, "server") == 0)
        parser.section = Section::Server;
    else if (strcmp(name, "host") == 0)
        parser.section = Section::Host;
    else if (strcmp(name, "cuda") == 0)
        parser.section = Section::Cuda;
    else
        return fail(parser, "there is no section \"%.60s\" (server, host, cuda)", name);
    return true;
}

double *server_place(Profile &profile, const char *name) {
    for (int i = 0; i < server_values; ++i)
        if (strcmp(name, server_name(i)) == 0)
            return &server_value(profile, i);
    return nullptr;
}

// Where a value of the section goes; NULL: there is none of that name.
double *place_of(Parser &parser, const char *name) {
    if (parser.section == Section::Server)
        return server_place(*parser.profile, name);
    const bool gpu = parser.section == Section::Cuda;
    for (int i = 0; i < device_values; ++i)
        if (in_profile(i, gpu) && strcmp(name, weight_table[i].name) == 0)
            return &parser.profile->devices[gpu].values[i];
    return nullptr;
}

bool read_value(Parser &parser, char *text) {
    char *equals = strchr(text, '=');
    if (equals == nullptr)
        return fail(parser, "expected \"name = value\", not \"%.60s\"", text);
    if (parser.section == Section::None)
        return fail(parser, "\"%.60s\" stands before the first section", text);
    *equals = '\0';
    const char *name = trimmed(text), *digits = trimmed(equals + 1);
    char *end = nullptr;
    const double value = strtod(digits, &end);
    if (end == digits || *end != '\0')
        return fail(parser, "\"%.60s\" is not a number", digits);
    if (!std::isfinite(value) || value < 0 || value > 1e18)
        return fail(parser, "\"%.60s\" is not a number from 0 to 1e18", digits);
    double *place = place_of(parser, name);
    if (place == nullptr)
        note(parser, false, "unknown name \"%.60s\"", name);
    else if (place == &parser.profile->ns_per_unit && value <= 0)
        return fail(parser, "%s must be greater than 0", unit_name);
    else
        *place = value;
    return true;
}

bool read_line(Parser &parser, const char *line, size_t length) {
    char copy[max_line + 1];
    if (length > max_line)
        return fail(parser, "the line is too long");
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (memchr(copy, '\0', length) != nullptr)
        return fail(parser, "the line is not text");
    if (char *comment = strchr(copy, '#'))
        *comment = '\0';
    char *text = trimmed(copy);
    if (*text == '\0')
        return true;
    return *text == '[' ? begin_section(parser, text) : read_value(parser, text);
}

void add_line(std::string &text, const char *name, double value, const std::string &comment) {
    char line[400];
    const int length = snprintf(line, sizeof line, "%s = %.9g", name, value);
    snprintf(line + length, sizeof line - static_cast<size_t>(length), "%*s# %s\n", length < 44 ? 44 - length : 1, "",
             comment.c_str());
    text += line;
}

} // namespace

Profile default_profile() {
    return {default_ns_per_unit, executor::default_rates(), {default_weights(false), default_weights(true)}};
}

double &server_value(Profile &profile, int index) {
    return index == 0 ? profile.ns_per_unit : profile.executor.ns[index - 1];
}

const char *server_name(int index) {
    return index == 0 ? unit_name : executor::info(static_cast<executor::Step>(index - 1)).name;
}

bool in_profile(int index, bool gpu) {
    const Tier tier = weight_table[index].tier;
    if (tier == Tier::Storage || index == static_cast<int>(Count::PlanCost))
        return false;
    return gpu || (tier != Tier::Link && index != static_cast<int>(Count::KernelCompiled));
}

bool parse_profile(const char *text, size_t size, Profile *profile, ProfileNote *notes, int capacity, int *nnotes) {
    Parser parser{profile, notes, capacity, nnotes, Section::None, 0};
    *profile = default_profile();
    *nnotes = 0;
    for (size_t at = 0; at < size;) {
        const char *end = static_cast<const char *>(memchr(text + at, '\n', size - at));
        const size_t length = end != nullptr ? static_cast<size_t>(end - (text + at)) : size - at;
        ++parser.line;
        if (!read_line(parser, text + at, length)) {
            *profile = default_profile();
            return false;
        }
        at += length + 1;
    }
    return true;
}

std::string format_profile(const Profile &profile, const Origins &origins, const std::string &host_name,
                           const std::string &gpu_name) {
    const std::string names[2] = {host_name, gpu_name};
    std::string text =
        "# What work costs on this machine: read by the planner, written by gpuscan when it found no such file, or by\n"
        "# gpuscan-calibrate.\n"
        "# name = value  # unit, meaning, where the value is from. Reload the configuration after a change; a missing "
        "name\n"
        "# has its default. Weights of a host's work are those of one core. See doc/cost-model.md, \"Device "
        "cost\".\n"
        "\n[server]\n";
    add_line(text, unit_name, profile.ns_per_unit,
             std::string("ns; one unit of PostgreSQL's costs; ") + (origins.server[0] ? "measured" : "default"));
    for (int i = 0; i < executor::steps; ++i) {
        const executor::StepInfo &step = executor::info(static_cast<executor::Step>(i));
        add_line(text, step.name, profile.executor.ns[i],
                 std::string("ns a ") + step.unit + "; " + step.meaning + "; " +
                     (origins.server[1 + i] ? "measured" : "default"));
    }
    for (int device = 0; device < 2; ++device) {
        text += device == 0 ? "\n[host]" : "\n[cuda]";
        text += names[device].empty() ? "\n" : "  # " + names[device] + "\n";
        for (int i = 0; i < device_values; ++i) {
            if (!in_profile(i, device == 1))
                continue;
            const CountInfo &row = weight_table[i];
            const std::string unit = i < counts ? std::string("ns a ") + row.unit : row.unit;
            add_line(text, row.name, profile.devices[device].values[i],
                     unit + (unit.empty() ? "" : "; ") + row.meaning + "; " +
                         (origins.devices[device][i] ? "measured" : "default"));
        }
    }
    return text;
}

void SharedProfile::publish(const Profile &profile) {
    uint64_t copy[words];
    memcpy(copy, &profile, sizeof profile);
    uint32_t before = generation_.load();
    // Writing takes a microsecond. A writer that takes longer was killed.
    for (int tries = 0; (before & 1) != 0 && tries < max_tries; ++tries) {
        sched_yield();
        before = generation_.load();
    }
    before &= ~1u;
    generation_.store(before + 1);
    std::atomic_thread_fence(std::memory_order_release);
    for (size_t i = 0; i < words; ++i)
        words_[i].store(copy[i], std::memory_order_relaxed);
    generation_.store(before + 2, std::memory_order_release);
}

uint32_t SharedProfile::read(Profile *profile) const {
    uint64_t copy[words];
    for (int tries = 0; tries < max_tries; ++tries) {
        const uint32_t before = generation_.load(std::memory_order_acquire);
        if (before == 0)
            break;
        for (size_t i = 0; i < words; ++i)
            copy[i] = words_[i].load(std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_acquire);
        if ((before & 1) == 0 && generation_.load(std::memory_order_relaxed) == before) {
            memcpy(profile, copy, sizeof *profile);
            return before;
        }
    }
    // Nobody has published, or a writer died half way: then the next one never comes either.
    *profile = default_profile();
    return 0;
}

} // namespace gpuscan::tier
