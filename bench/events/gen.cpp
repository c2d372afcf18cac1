// events-gen: loads the events of a web shop, its users and its products, as people declare such tables: texts that repeat and texts
// that hardly do, timestamptz in the order in which events came, jsonb, NULLs, amounts, and few users who do much.
//
// Every row is a function of (seed, table, row number) alone.  common/loader.cpp sends them to the server.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../common/loader.hpp"
#include "../common/random.hpp"

using namespace bench;

namespace {

constexpr char events_columns[] = R"(
    id bigint not null,
    at timestamptz not null,
    user_id integer,
    session_id text not null,
    name text not null,
    country text,
    path text not null,
    user_agent text not null,
    duration_ms integer,
    product_id integer,
    amount numeric(12,2),
    properties jsonb not null)";

constexpr char users_columns[] = R"(
    id integer not null,
    email text not null,
    country text,
    plan text not null,
    signed_up timestamptz not null)";

constexpr char products_columns[] = R"(
    id integer not null,
    name text not null,
    category text not null,
    price numeric(10,2) not null)";

constexpr int64_t second = 1000000, day = 86400 * second; // timestamptz counts microseconds since 2000
constexpr int64_t first_day = 9679 * day;                 // 2026-07-02, a Thursday
constexpr int days = 120;

// As often as they stand here.
constexpr std::string_view names[] = {"page_view", "page_view", "page_view",   "page_view",   "page_view", "page_view",
                                      "page_view", "page_view", "page_view",   "page_view",   "page_view", "page_view",
                                      "click",     "click",     "click",       "search",      "search",    "login",
                                      "logout",    "error",     "add_to_cart", "add_to_cart", "checkout",  "purchase"};
constexpr std::string_view countries[] = {"US", "US", "US", "US", "DE", "DE", "GB", "GB", "FR", "FR", "IN", "IN",
                                          "BR", "JP", "CA", "NL", "ES", "IT", "PL", "SE", "AU", "MX", "ZA", "KR"};
constexpr std::string_view systems[] = {"Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7",
                                        "X11; Linux x86_64", "Linux; Android 14; Mobile",
                                        "iPhone; CPU iPhone OS 17_5 like Mac OS X"};
constexpr std::string_view browsers[] = {"Chrome", "Chrome", "Chrome", "Firefox", "Safari", "Edg"};
constexpr std::string_view campaigns[] = {"spring", "summer", "newsletter", "partner", "search_ad"};
constexpr std::string_view categories[] = {"books",   "games", "garden", "kitchen", "music", "office",
                                           "outdoor", "pets",  "sports", "tools",   "toys",  "travel"};
constexpr std::string_view adjectives[] = {"light", "strong", "small", "large", "green", "quiet", "fast", "soft"};
constexpr std::string_view nouns[] = {"lamp", "chair", "bag", "clock", "bottle", "board", "ball", "knife", "tent"};

struct Sizes {
    int64_t events;
    int32_t users, products;
};

enum class Stream : uint64_t { event = 1, visit, user, product };

struct Job {
    uint64_t seed;
    Sizes sizes;

    Random random(Stream stream, int64_t row) const {
        return {seed, static_cast<uint64_t>(stream), static_cast<uint64_t>(row)};
    }
};

template <typename... Args> std::string format(const char *pattern, Args... args) {
    char text[256];
    return {text, static_cast<size_t>(std::snprintf(text, sizeof text, pattern, args...))};
}

// Uniform in [0, 1).
double fraction(Random &random) { return random.between(0, 999999999) / 1e9; }
bool chance(Random &random, int per_cent) { return random.between(1, 100) <= per_cent; }

// Where the event of this number lies in time: evenly over the days, with busy noons and quiet nights.
int64_t time_of(double event_days) {
    constexpr double turn = 2 * 3.14159265358979323846;
    return first_day + std::llround((event_days + 0.7 * std::sin(turn * event_days) / turn) * day);
}

// The first 60 % of the users were there before the first event; the others sign up, in the order of their numbers, while events come.
int64_t signed_up(const Job &job, int32_t user) {
    const double position = static_cast<double>(user) / job.sizes.users;
    return position < 0.6 ? first_day - std::llround((0.6 - position) * 1000 * day)
                          : time_of((position - 0.6) / 0.4 * days);
}

// New users do much, most of the others little.
int32_t user_of(const Job &job, Random &random, double event_days) {
    const double there = (0.6 + 0.4 * event_days / days) * job.sizes.users;
    return std::max(1, static_cast<int32_t>(there * (1 - std::pow(fraction(random), 3))));
}

int32_t price_of(const Job &job, int32_t product) {
    return job.random(Stream::product, product).between(199, 49999); // in hundredths
}

std::string path_of(Random &random, std::string_view name, int32_t product) {
    if (product > 0)
        return format("/products/%d%s", product, name == "page_view" ? "" : "/buy");
    if (name == "search")
        return "/search?q=" + std::string(random.pick(nouns)) + "+" + std::to_string(random.between(1, 3000));
    static constexpr std::string_view pages[] = {"/", "/", "/", "/pricing", "/cart", "/account", "/help"};
    return chance(random, 60) ? std::string(random.pick(pages)) : format("/blog/2026/post-%d", random.between(1, 800));
}

std::string properties_of(Random &random, std::string_view name) {
    static constexpr std::string_view kinds[] = {"mobile", "mobile", "desktop", "desktop", "tablet"};
    std::string text = R"({"device": ")" + std::string(random.pick(kinds)) + R"(", "variant": ")" +
                       (chance(random, 50) ? "A" : "B") + '"';
    if (chance(random, 20))
        text += R"(, "campaign": ")" + std::string(random.pick(campaigns)) + '"';
    if (name == "purchase" || name == "add_to_cart")
        text += R"(, "items": )" + std::to_string(random.between(1, 6));
    return text + '}';
}

void write_events(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int64_t number = first; number < last; ++number) {
        Random random = job.random(Stream::event, number);
        const double event_days = static_cast<double>(number - 1) * days / static_cast<double>(job.sizes.events);
        const int64_t at = time_of(event_days);
        const std::string_view name = random.pick(names);
        const bool buys = name == "purchase" || name == "add_to_cart" || name == "checkout";
        // Of those who are there at the same time: about eight events each.
        Random visit = job.random(Stream::visit, number / 4096 * 512 + random.between(0, 511));
        const std::string session = format("%08x%08x", visit.between(0, INT32_MAX), visit.between(0, INT32_MAX));
        const bool known = chance(visit, 80);
        const int32_t user = user_of(job, visit, event_days);
        const int32_t product = buys || (name == "page_view" && chance(random, 50))
                                    ? 1 + static_cast<int32_t>(std::pow(fraction(random), 2) * job.sizes.products)
                                    : 0;
        Random home = job.random(Stream::user, user);

        out.begin_row();
        out.bigint(number);
        out.bigint(at);
        known ? out.integer(user) : out.null();
        out.text(session);
        out.text(name);
        chance(random, 97) ? out.text(home.pick(countries)) : out.null();
        out.text(path_of(random, name, product));
        out.text(format("Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) %s/%d.0", home.pick(systems).data(),
                        home.pick(browsers).data(), home.between(105, 128)));
        name == "page_view" ? out.integer(static_cast<int32_t>(50 / (1.002 - fraction(random)))) : out.null();
        product > 0 ? out.integer(product) : out.null();
        name == "purchase" ? out.decimal(int64_t{price_of(job, product)} * random.between(1, 3)) : out.null();
        out.jsonb(properties_of(random, name));
    }
}

void write_users(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    static constexpr std::string_view plans[] = {"free", "free", "free", "free", "basic", "basic", "pro", "enterprise"};
    for (int64_t user = first; user < last; ++user) {
        Random home = job.random(Stream::user, user);
        out.begin_row();
        out.integer(static_cast<int32_t>(user));
        out.text(format("user%lld@mail%d.example", static_cast<long long>(user), static_cast<int>(user % 4)));
        chance(home, 97) ? out.text(home.pick(countries)) : out.null();
        out.text(home.pick(plans));
        out.bigint(signed_up(job, static_cast<int32_t>(user)));
    }
}

void write_products(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int64_t product = first; product < last; ++product) {
        Random random = job.random(Stream::product, product);
        const int32_t price = random.between(199, 49999);
        out.begin_row();
        out.integer(static_cast<int32_t>(product));
        out.text(std::string(random.pick(adjectives)) + " " + std::string(random.pick(nouns)));
        out.text(random.pick(categories));
        out.decimal(price);
    }
}

std::vector<Table> tables(double sf, uint64_t seed) {
    const auto scaled = [&](double n) { return std::max<int64_t>(10, std::llround(n * sf)); };
    const Sizes n{scaled(5000000), static_cast<int32_t>(scaled(200000)), static_cast<int32_t>(scaled(5000))};
    const auto job = std::make_shared<const Job>(Job{seed, n});
    const auto by = [&](auto write) {
        return [job, write](CopyWriter &out, int64_t first, int64_t last) { write(*job, out, first, last); };
    };
    return {
        {"events", 12, events_columns, {{"id", true}, {"user_id, at"}}, n.events, 250000, by(write_events)},
        {"users", 5, users_columns, {{"id", true}}, n.users, 0, by(write_users)},
        {"products", 4, products_columns, {{"id", true}}, n.products, 0, by(write_products)},
    };
}

} // namespace

int main(int argc, char **argv) {
    return bench::generate(
        {"events-gen", "Events of a web shop", "events, users, products", 20260702, "5 million events", tables}, argc,
        argv);
}
