// Profiles: what is written is read again, what cannot be understood is told with its line, and what is shared is never half of it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "engine/cost/tier_measure.hpp"
#include "engine/cost/tier_profile.hpp"

namespace gpuscan::tier {
namespace {

constexpr int most = 4;

struct Parsed {
    Profile profile;
    ProfileNote notes[most];
    int count = 0;
    bool good;
    explicit Parsed(const std::string &text) {
        good = parse_profile(text.data(), text.size(), &profile, notes, most, &count);
    }
    std::string note(int i) const { return i < count ? std::to_string(notes[i].line) + ": " + notes[i].text : ""; }
};

double ns(const Profile &profile, bool gpu, Count count) { return profile.devices[gpu].ns[static_cast<int>(count)]; }

TEST(TierProfile, WhatIsWrittenIsRead) {
    Profile profile = default_profile();
    profile.ns_per_unit = 3210.5;
    profile.devices[0].ns[static_cast<int>(Count::HostReadMemory)] = 11.25;
    profile.devices[1].ns[static_cast<int>(Count::DeviceSeqRead)] = 0.000219;
    profile.devices[1].far_bytes = 62914560;
    Origins origins = {};
    origins.server[0] = true;
    const std::string text = format_profile(profile, origins, "host", "NVIDIA H200 # 1 = [x]");
    const Parsed parsed(text);
    EXPECT_TRUE(parsed.good) << parsed.note(0);
    EXPECT_EQ(parsed.count, 0) << parsed.note(0);
    EXPECT_DOUBLE_EQ(parsed.profile.ns_per_unit, 3210.5);
    EXPECT_DOUBLE_EQ(ns(parsed.profile, false, Count::HostReadMemory), 11.25);
    EXPECT_DOUBLE_EQ(ns(parsed.profile, true, Count::DeviceSeqRead), 0.000219);
    EXPECT_DOUBLE_EQ(parsed.profile.devices[1].far_bytes, 62914560);
    for (int gpu = 0; gpu < 2; ++gpu)
        for (int i = 0; i < profile_values; ++i) {
            Weights read = parsed.profile.devices[gpu], written = profile.devices[gpu];
            EXPECT_NEAR(profile_value(read, i), profile_value(written, i), profile_value(written, i) * 1e-5);
        }
    EXPECT_NE(text.find("measured"), std::string::npos);
    EXPECT_EQ(text.find("storage"), std::string::npos); // page costs are settings
}

TEST(TierProfile, WhatIsMissingHasItsDefault) {
    const Parsed parsed("# mine\r\n\n [host] \n  condition=2.5e0 # slow\n");
    EXPECT_TRUE(parsed.good && parsed.count == 0);
    EXPECT_EQ(ns(parsed.profile, false, Count::Condition), 2.5);
    EXPECT_EQ(ns(parsed.profile, true, Count::Condition), ns(default_profile(), true, Count::Condition));
    EXPECT_EQ(parsed.profile.ns_per_unit, default_ns_per_unit);
    EXPECT_TRUE(Parsed("").good);
}

TEST(TierProfile, UnknownNamesAreToldAndLeftOut) {
    const Parsed parsed("[host]\nconditon = 3\ncondition = 4\n[cuda]\nhost_seq_read = 1\n");
    EXPECT_TRUE(parsed.good);
    EXPECT_EQ(parsed.note(0), "2: unknown name \"conditon\"");
    EXPECT_EQ(parsed.note(1), "5: unknown name \"host_seq_read\"");
    EXPECT_EQ(ns(parsed.profile, false, Count::Condition), 4);
}

TEST(TierProfile, ABrokenFileIsVoid) {
    const struct {
        const char *text, *note;
    } cases[] = {
        {"[host]\ncondition = 3\ncondition 4\n", "3: expected \"name = value\", not \"condition 4\""},
        {"condition = 3\n", "1: \"condition = 3\" stands before the first section"},
        {"[host]\ncondition = three\n", "2: \"three\" is not a number"},
        {"[host]\ncondition = 3 ns\n", "2: \"3 ns\" is not a number"},
        {"[host]\ncondition =\n", "2: \"\" is not a number"},
        {"[host]\ncondition = -1\n", "2: \"-1\" is not a number from 0 to 1e18"},
        {"[host]\ncondition = nan\n", "2: \"nan\" is not a number from 0 to 1e18"},
        {"[host]\ncondition = 1e300\n", "2: \"1e300\" is not a number from 0 to 1e18"},
        {"[host\n", "1: a section is a name in brackets, not \"[host\""},
        {"[tpu]\n", "1: there is no section \"tpu\" (server, host, cuda)"},
        {"[server]\nns_per_unit = 0\n", "2: ns_per_unit must be greater than 0"},
    };
    for (const auto &c : cases) {
        const Parsed parsed(c.text);
        EXPECT_FALSE(parsed.good);
        EXPECT_EQ(parsed.note(parsed.count - 1), c.note);
        EXPECT_EQ(ns(parsed.profile, false, Count::Condition), ns(default_profile(), false, Count::Condition));
    }
    EXPECT_FALSE(Parsed(std::string("[host]\ncond\0ition = 1\n", 22)).good);
    EXPECT_FALSE(Parsed("[host]\n" + std::string(5000, 'x')).good);
    // Many notes: the error is still among them.
    const Parsed many("[host]\na = 1\nb = 1\nc = 1\nd = 1\ne = 1\nf\n");
    EXPECT_FALSE(many.good);
    EXPECT_EQ(many.count, most);
    EXPECT_TRUE(many.notes[most - 1].error);
    EXPECT_EQ(many.notes[most - 1].line, 7);
}

TEST(TierProfile, ReadersSeeOneProfileOrTheOther) {
    const auto shared = std::make_unique<SharedProfile>();
    Profile read;
    EXPECT_EQ(shared->read(&read), 0u);
    EXPECT_EQ(read.ns_per_unit, default_ns_per_unit);
    Profile a = default_profile(), b = default_profile();
    for (int i = 0; i < counts; ++i)
        a.devices[0].ns[i] = 1, b.devices[0].ns[i] = 2;
    shared->publish(a);
    std::atomic<bool> end{false};
    std::thread writer([&] {
        for (int i = 0; i < 20000; ++i)
            shared->publish(i % 2 == 0 ? b : a);
        end = true;
    });
    int mixed = 0;
    while (!end) {
        if (shared->read(&read) == 0)
            continue; // the writer was always faster
        for (int i = 1; i < counts; ++i)
            mixed += read.devices[0].ns[i] != read.devices[0].ns[0];
    }
    writer.join();
    EXPECT_EQ(mixed, 0);
    EXPECT_EQ(shared->generation() % 2, 0u);
}

TEST(TierMeasure, TheHostIsMeasured) {
    const HostMeasurement measured = measure_host();
    Weights weights = measured.host.weights;
    for (int i = 0; i < profile_values; ++i) {
        EXPECT_TRUE(std::isfinite(profile_value(weights, i))) << profile_name(i);
        EXPECT_GE(profile_value(weights, i), 0) << profile_name(i);
    }
    EXPECT_GT(measured.slowness, 0);
    EXPECT_TRUE(measured.host.known[static_cast<int>(Count::HostSeqRead)]);
    EXPECT_FALSE(measured.host.known[static_cast<int>(Count::Condition)]);
    // Beyond the caches an access takes longer than within them, whatever the machine.
    EXPECT_GT(weights.ns[static_cast<int>(Count::HostReadMemory)], weights.ns[static_cast<int>(Count::HostReadNear)]);
    Measurement scaled = measured.host;
    scale_work(scaled, false, 2);
    EXPECT_EQ(scaled.weights.ns[static_cast<int>(Count::Condition)],
              default_weights(false).ns[static_cast<int>(Count::Condition)] * 2);
    EXPECT_EQ(scaled.weights.ns[static_cast<int>(Count::HostSeqRead)],
              measured.host.weights.ns[static_cast<int>(Count::HostSeqRead)]);
}

} // namespace
} // namespace gpuscan::tier
