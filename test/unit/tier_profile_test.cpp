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

double ns(const Profile &profile, bool gpu, Count count) {
    return profile.devices[gpu].values[static_cast<int>(count)];
}

TEST(TierProfile, WhatIsWrittenIsRead) {
    Profile profile = default_profile();
    profile.ns_per_unit = 3210.5;
    profile.devices[0].values[static_cast<int>(Count::MemoryRandomRead)] = 11.25;
    profile.devices[1].values[static_cast<int>(Count::MemorySeqRead)] = 0.000219;
    profile.devices[1].values[far_cache] = 62914560;
    Origins origins = {};
    origins.server[0] = true;
    const std::string text = format_profile(profile, origins, "host", "NVIDIA H200 # 1 = [x]");
    const Parsed parsed(text);
    EXPECT_TRUE(parsed.good) << parsed.note(0);
    EXPECT_EQ(parsed.count, 0) << parsed.note(0);
    EXPECT_DOUBLE_EQ(parsed.profile.ns_per_unit, 3210.5);
    EXPECT_DOUBLE_EQ(ns(parsed.profile, false, Count::MemoryRandomRead), 11.25);
    EXPECT_DOUBLE_EQ(ns(parsed.profile, true, Count::MemorySeqRead), 0.000219);
    EXPECT_DOUBLE_EQ(parsed.profile.devices[1].values[far_cache], 62914560);
    for (int gpu = 0; gpu < 2; ++gpu)
        for (int i = 0; i < device_values; ++i) {
            const double read = parsed.profile.devices[gpu].values[i], written = profile.devices[gpu].values[i];
            EXPECT_NEAR(read, written, written * 1e-5);
        }
    EXPECT_NE(text.find("measured"), std::string::npos);
    EXPECT_EQ(text.find("storage"), std::string::npos); // page costs are settings
}

TEST(TierProfile, WhatIsMissingHasItsDefault) {
    const Parsed parsed("# mine\r\n\n [host] \n  value_step=2.5e0 # slow\n");
    EXPECT_TRUE(parsed.good && parsed.count == 0);
    EXPECT_EQ(ns(parsed.profile, false, Count::ValueStep), 2.5);
    EXPECT_EQ(ns(parsed.profile, true, Count::ValueStep), ns(default_profile(), true, Count::ValueStep));
    EXPECT_EQ(parsed.profile.ns_per_unit, default_ns_per_unit);
    EXPECT_TRUE(Parsed("").good);
}

TEST(TierProfile, UnknownNamesAreToldAndLeftOut) {
    const Parsed parsed("[host]\nvalu_step = 3\nvalue_step = 4\n[host]\nlink_seq_read = 1\n");
    EXPECT_TRUE(parsed.good);
    EXPECT_EQ(parsed.note(0), "2: unknown name \"valu_step\"");
    EXPECT_EQ(parsed.note(1), "5: unknown name \"link_seq_read\"");
    EXPECT_EQ(ns(parsed.profile, false, Count::ValueStep), 4);
}

TEST(TierProfile, ABrokenFileIsVoid) {
    const struct {
        const char *text, *note;
    } cases[] = {
        {"[host]\nvalue_step = 3\nvalue_step 4\n", "3: expected \"name = value\", not \"value_step 4\""},
        {"value_step = 3\n", "1: \"value_step = 3\" stands before the first section"},
        {"[host]\nvalue_step = three\n", "2: \"three\" is not a number"},
        {"[host]\nvalue_step = 3 ns\n", "2: \"3 ns\" is not a number"},
        {"[host]\nvalue_step =\n", "2: \"\" is not a number"},
        {"[host]\nvalue_step = -1\n", "2: \"-1\" is not a number from 0 to 1e18"},
        {"[host]\nvalue_step = nan\n", "2: \"nan\" is not a number from 0 to 1e18"},
        {"[host]\nvalue_step = 1e300\n", "2: \"1e300\" is not a number from 0 to 1e18"},
        {"[host\n", "1: a section is a name in brackets, not \"[host\""},
        {"[tpu]\n", "1: there is no section \"tpu\" (server, host, cuda)"},
        {"[server]\nns_per_unit = 0\n", "2: ns_per_unit must be greater than 0"},
    };
    for (const auto &c : cases) {
        const Parsed parsed(c.text);
        EXPECT_FALSE(parsed.good);
        EXPECT_EQ(parsed.note(parsed.count - 1), c.note);
        EXPECT_EQ(ns(parsed.profile, false, Count::ValueStep), ns(default_profile(), false, Count::ValueStep));
    }
    EXPECT_FALSE(Parsed(std::string("[host]\nvalue\0step = 1\n", 22)).good);
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
        a.devices[0].values[i] = 1, b.devices[0].values[i] = 2;
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
            mixed += read.devices[0].values[i] != read.devices[0].values[0];
    }
    writer.join();
    EXPECT_EQ(mixed, 0);
    EXPECT_EQ(shared->generation() % 2, 0u);
}

TEST(TierMeasure, TheHostIsMeasured) {
    const HostMeasurement measured = measure_host();
    const Weights &weights = measured.host.weights;
    for (int i = 0; i < device_values; ++i) {
        EXPECT_TRUE(std::isfinite(weights.values[i])) << weight_table[i].name;
        EXPECT_GE(weights.values[i], 0) << weight_table[i].name;
    }
    EXPECT_GT(measured.slowness, 0);
    EXPECT_TRUE(measured.host.known[static_cast<int>(Count::MemorySeqRead)]);
    EXPECT_FALSE(measured.host.known[static_cast<int>(Count::ValueStep)]);
    // Beyond the caches an access takes longer than within them, whatever the machine.
    const auto ns = [](const Weights &weights, Count count) { return weights.values[static_cast<int>(count)]; };
    EXPECT_GT(ns(weights, Count::MemoryRandomRead), ns(weights, Count::MemoryRandomReadCached));
    Measurement scaled = measured.host;
    scale_work(scaled, false, 2);
    EXPECT_EQ(ns(scaled.weights, Count::ValueStep), ns(default_weights(false), Count::ValueStep) * 2);
    EXPECT_EQ(ns(scaled.weights, Count::MemorySeqRead), ns(weights, Count::MemorySeqRead));
}

} // namespace
} // namespace gpuscan::tier
