// ssb-gen: creates and loads the tables of the Star Schema Benchmark.
//
// Source: P. O'Neil, E. O'Neil, X. Chen, S. Revilak, "The Star Schema Benchmark and Augmented Fact Table
// Indexing", TPCTC 2009, and P. O'Neil, E. O'Neil, X. Chen, "The Star Schema Benchmark", revision 3, which
// derive the data from TPC-H.  What the paper leaves open is done as in its data generator: orders of 1 to 7
// lines (so about 6,000,000 * SF lines), sparse order keys, order dates from 1992-01-01 to 1998-08-02, only
// two customers in three ever order, prices are a function of the part key.  Cities are the nation's name
// padded or cut to 9 characters and a digit; brands are MFGR#mcbb with bb from 01 to 40, the fixed length of
// 9 the paper asks for.
//
// Every row is a function of (seed, table, row number) alone, so the contents do not depend on the number of
// threads; only the order of line orders on disk does.  Each thread has its own connection and sends binary
// COPY.  With --freeze everything is one transaction, so that COPY may write tuples that are frozen and pages that
// are all-visible from the start: only one connection can see the new tables then, and the threads make the rows for it.

#include <getopt.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pg.hpp"

namespace {

// ---- random numbers ---------------------------------------------------------------------------------------

enum class Stream : uint64_t { order = 1, customer, supplier, part };

// SplitMix64 (Steele, Lea, Flood 2014): small, and good enough to be started anew for every row.
class Random {
  public:
    Random(uint64_t seed, Stream stream, uint64_t row)
        : state_(mix(mix(seed + golden * static_cast<uint64_t>(stream)) + golden * row)) {}

    // Uniform in low..high, both included.
    int32_t between(int32_t low, int32_t high) {
        const uint64_t n = static_cast<uint64_t>(static_cast<int64_t>(high) - low + 1);
        return low + static_cast<int32_t>(((next() >> 32) * n) >> 32);
    }

    template <size_t N> std::string_view pick(const std::string_view (&list)[N]) {
        return list[between(0, static_cast<int32_t>(N) - 1)];
    }

  private:
    static constexpr uint64_t golden = 0x9E3779B97F4A7C15ULL;

    static uint64_t mix(uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

    uint64_t next() { return mix(state_ += golden); }

    uint64_t state_;
};

// ---- word lists (TPC-H clause 4.2.2.13) -------------------------------------------------------------------

constexpr std::string_view regions[] = {"AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"};

struct Nation {
    std::string_view name;
    int region;
};
// clang-format off
constexpr Nation nations[] = {
    {"ALGERIA", 0},    {"ARGENTINA", 1}, {"BRAZIL", 1},       {"CANADA", 1},         {"EGYPT", 4},
    {"ETHIOPIA", 0},   {"FRANCE", 3},    {"GERMANY", 3},      {"INDIA", 2},          {"INDONESIA", 2},
    {"IRAN", 4},       {"IRAQ", 4},      {"JAPAN", 2},        {"JORDAN", 4},         {"KENYA", 0},
    {"MOROCCO", 0},    {"MOZAMBIQUE", 0}, {"PERU", 1},        {"CHINA", 2},          {"ROMANIA", 3},
    {"SAUDI ARABIA", 4}, {"VIETNAM", 2}, {"RUSSIA", 3},       {"UNITED KINGDOM", 3}, {"UNITED STATES", 1},
};
// clang-format on

constexpr std::string_view priorities[] = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
constexpr std::string_view ship_modes[] = {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};
constexpr std::string_view segments[] = {"AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"};

constexpr std::string_view type_grades[] = {"STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"};
constexpr std::string_view type_finishes[] = {"ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"};
constexpr std::string_view type_metals[] = {"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"};
constexpr std::string_view container_sizes[] = {"SM", "LG", "MED", "JUMBO", "WRAP"};
constexpr std::string_view container_kinds[] = {"CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"};

// clang-format off
constexpr std::string_view colors[] = {
    "almond",    "antique",   "aquamarine", "azure",      "beige",     "bisque",    "black",     "blanched",
    "blue",      "blush",     "brown",      "burlywood",  "burnished", "chartreuse", "chiffon",  "chocolate",
    "coral",     "cornflower", "cornsilk",  "cream",      "cyan",      "dark",      "deep",      "dim",
    "dodger",    "drab",      "firebrick",  "floral",     "forest",    "frosted",   "gainsboro", "ghost",
    "goldenrod", "green",     "grey",       "honeydew",   "hot",       "indian",    "ivory",     "khaki",
    "lace",      "lavender",  "lawn",       "lemon",      "light",     "lime",      "linen",     "magenta",
    "maroon",    "medium",    "metallic",   "midnight",   "mint",      "misty",     "moccasin",  "navajo",
    "navy",      "olive",     "orange",     "orchid",     "pale",      "papaya",    "peach",     "peru",
    "pink",      "plum",      "powder",     "puff",       "purple",    "red",       "rose",      "rosy",
    "royal",     "saddle",    "salmon",     "sandy",      "seashell",  "sienna",    "sky",       "slate",
    "smoke",     "snow",      "spring",     "steel",      "tan",       "thistle",   "tomato",    "turquoise",
    "violet",    "wheat",     "white",      "yellow",
};
// clang-format on

constexpr std::string_view month_names[] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view weekday_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                              "Thursday", "Friday", "Saturday"};

// ---- the calendar -----------------------------------------------------------------------------------------

struct Day {
    int year, month, day; // month 1..12
    int weekday;          // 0 = Sunday
    int day_of_year;      // 1..366
    int days_in_month;

    int key() const { return year * 10000 + month * 100 + day; }
};

constexpr int last_order_day = 2405;   // 1998-08-02, counted from 1992-01-01 = 0
constexpr int longest_commitment = 90; // days from order to commit date

std::vector<Day> make_calendar() {
    std::vector<Day> days;
    int weekday = 3; // 1992-01-01 was a Wednesday
    for (int year = 1992; year <= 1998; ++year) {
        int day_of_year = 0;
        for (int month = 1; month <= 12; ++month) {
            static constexpr int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
            const int length = lengths[month - 1] + (month == 2 && year % 4 == 0 ? 1 : 0);
            for (int day = 1; day <= length; ++day) {
                days.push_back({year, month, day, weekday, ++day_of_year, length});
                weekday = (weekday + 1) % 7;
            }
        }
    }
    return days;
}

std::string_view selling_season(const Day &d) {
    if (d.month >= 11)
        return "Christmas";
    if (d.month >= 9)
        return "Fall";
    if (d.month >= 5)
        return "Summer";
    return d.month == 4 ? "Spring" : "Winter";
}

// The ten federal holidays of the United States.
bool is_holiday(const Day &d) {
    const int nth = (d.day + 6) / 7; // the how-manieth such weekday of its month
    switch (d.month) {
    case 1:
        return d.day == 1 || (d.weekday == 1 && nth == 3);
    case 2:
        return d.weekday == 1 && nth == 3;
    case 5:
        return d.weekday == 1 && d.day + 7 > 31;
    case 7:
        return d.day == 4;
    case 9:
        return d.weekday == 1 && nth == 1;
    case 10:
        return d.weekday == 1 && nth == 2;
    case 11:
        return d.day == 11 || (d.weekday == 4 && nth == 4);
    case 12:
        return d.day == 25;
    default:
        return false;
    }
}

// ---- binary COPY ------------------------------------------------------------------------------------------

std::atomic<bool> stop{false};

struct Stopped {}; // thrown in the other threads once one has failed

// One COPY ... FROM STDIN (FORMAT binary), from its header to its end.
class CopyStream {
  public:
    CopyStream(pg::Connection &connection, const std::string &table, bool freeze) : connection_(connection) {
        connection_.exec("COPY " + table + " FROM STDIN (FORMAT binary" + (freeze ? ", FREEZE)" : ")"));
        static constexpr char header[19] = {'P', 'G', 'C', 'O', 'P', 'Y', '\n', '\377', '\r', '\n', '\0'};
        send(header, sizeof header);
    }

    void send(const char *data, size_t size) {
        if (stop)
            throw Stopped();
        PGconn *c = connection_.raw();
        if (PQputCopyData(c, data, static_cast<int>(size)) != 1)
            throw pg::Error("COPY failed: " + pg::trimmed(PQerrorMessage(c)));
    }

    void finish() {
        send("\377\377", 2);
        PGconn *c = connection_.raw();
        if (PQputCopyEnd(c, nullptr) != 1)
            throw pg::Error("COPY failed: " + pg::trimmed(PQerrorMessage(c)));
        while (PGresult *r = PQgetResult(c)) {
            const bool good = PQresultStatus(r) == PGRES_COMMAND_OK;
            PQclear(r);
            if (!good)
                throw pg::Error("COPY failed: " + pg::trimmed(PQerrorMessage(c)));
        }
    }

  private:
    pg::Connection &connection_;
};

// Makes rows in the form of binary COPY and hands them on in pieces of whole rows.
class CopyWriter {
  public:
    using Sink = std::function<void(const char *, size_t)>;

    CopyWriter(int columns, Sink sink) : columns_(columns), sink_(std::move(sink)), buffer_(new char[capacity]) {}

    void begin_row() {
        if (used_ + longest_row > capacity)
            flush();
        ++rows_;
        put16(static_cast<uint16_t>(columns_));
    }
    void integer(int32_t value) {
        put32(4);
        put32(static_cast<uint32_t>(value));
    }
    void boolean(bool value) {
        put32(1);
        buffer_[used_++] = value ? 1 : 0;
    }
    void text(std::string_view value) {
        put32(static_cast<uint32_t>(value.size()));
        append(value.data(), value.size());
    }

    // Hands the last piece on; gives the number of rows.
    int64_t finish() {
        flush();
        return rows_;
    }

  private:
    static constexpr size_t capacity = 128 * 1024;
    static constexpr size_t longest_row = 1024;

    void append(const char *data, size_t size) {
        std::memcpy(buffer_.get() + used_, data, size);
        used_ += size;
    }
    void put16(uint16_t v) {
        const uint16_t big_endian = __builtin_bswap16(v);
        append(reinterpret_cast<const char *>(&big_endian), 2);
    }
    void put32(uint32_t v) {
        const uint32_t big_endian = __builtin_bswap32(v);
        append(reinterpret_cast<const char *>(&big_endian), 4);
    }
    void flush() {
        if (used_ > 0)
            sink_(buffer_.get(), used_);
        used_ = 0;
    }

    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "COPY sends big-endian numbers");

    int columns_;
    Sink sink_;
    std::unique_ptr<char[]> buffer_;
    size_t used_ = 0;
    int64_t rows_ = 0;
};

// Pieces on their way from the threads that make them to the one that sends them; a bounded number of them.
class Pieces {
  public:
    void put(std::string piece) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return stop || pieces_.size() < capacity; });
        if (stop)
            throw Stopped();
        pieces_.push_back(std::move(piece));
        changed_.notify_all();
    }
    // False once nothing is left and nobody will bring more.
    bool take(std::string &piece) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return stop || !pieces_.empty() || ended_; });
        if (stop || pieces_.empty())
            return false;
        piece = std::move(pieces_.front());
        pieces_.pop_front();
        changed_.notify_all();
        return true;
    }
    void end() {
        std::lock_guard<std::mutex> lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }
    void give_up() {
        std::lock_guard<std::mutex> lock(mutex_);
        stop = true;
        changed_.notify_all();
    }

  private:
    static constexpr size_t capacity = 256;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::string> pieces_;
    bool ended_ = false;
};

// ---- the tables -------------------------------------------------------------------------------------------

struct Table {
    const char *name;
    int columns;
    const char *primary_key; // nullptr: none
    const char *definition;
};

constexpr Table date_table = {"date", 17, "d_datekey", R"(
    d_datekey integer not null,
    d_date varchar(18) not null,
    d_dayofweek varchar(9) not null,
    d_month varchar(9) not null,
    d_year integer not null,
    d_yearmonthnum integer not null,
    d_yearmonth varchar(7) not null,
    d_daynuminweek integer not null,
    d_daynuminmonth integer not null,
    d_daynuminyear integer not null,
    d_monthnuminyear integer not null,
    d_weeknuminyear integer not null,
    d_sellingseason varchar(12) not null,
    d_lastdayinweekfl boolean not null,
    d_lastdayinmonthfl boolean not null,
    d_holidayfl boolean not null,
    d_weekdayfl boolean not null)"};

constexpr Table customer_table = {"customer", 8, "c_custkey", R"(
    c_custkey integer not null,
    c_name varchar(25) not null,
    c_address varchar(25) not null,
    c_city varchar(10) not null,
    c_nation varchar(15) not null,
    c_region varchar(12) not null,
    c_phone varchar(15) not null,
    c_mktsegment varchar(10) not null)"};

constexpr Table supplier_table = {"supplier", 7, "s_suppkey", R"(
    s_suppkey integer not null,
    s_name varchar(25) not null,
    s_address varchar(25) not null,
    s_city varchar(10) not null,
    s_nation varchar(15) not null,
    s_region varchar(12) not null,
    s_phone varchar(15) not null)"};

constexpr Table part_table = {"part", 9, "p_partkey", R"(
    p_partkey integer not null,
    p_name varchar(22) not null,
    p_mfgr varchar(6) not null,
    p_category varchar(7) not null,
    p_brand1 varchar(9) not null,
    p_color varchar(11) not null,
    p_type varchar(25) not null,
    p_size integer not null,
    p_container varchar(10) not null)"};

constexpr Table lineorder_table = {"lineorder", 17, nullptr, R"(
    lo_orderkey integer not null,
    lo_linenumber integer not null,
    lo_custkey integer not null,
    lo_partkey integer not null,
    lo_suppkey integer not null,
    lo_orderdate integer not null,
    lo_orderpriority varchar(15) not null,
    lo_shippriority varchar(1) not null,
    lo_quantity integer not null,
    lo_extendedprice integer not null,
    lo_ordtotalprice integer not null,
    lo_discount integer not null,
    lo_revenue integer not null,
    lo_supplycost integer not null,
    lo_tax integer not null,
    lo_commitdate integer not null,
    lo_shipmode varchar(10) not null)"};

constexpr Table tables[] = {lineorder_table, customer_table, supplier_table, part_table, date_table};

// Comment on every table of ours: says what is loaded, and that we may drop it.
constexpr char marker[] = "Star Schema Benchmark";

struct Sizes {
    int32_t customers, suppliers, parts;
    int64_t orders;

    // Below SF 1 parts shrink in proportion (the paper says nothing); small dimensions keep enough rows to be
    // selected from.
    static Sizes of(double sf) {
        const auto scaled = [](double n, int32_t least) {
            return std::max(least, static_cast<int32_t>(std::llround(n)));
        };
        Sizes s;
        s.customers = scaled(30000 * sf, 500);
        s.suppliers = scaled(2000 * sf, 100);
        s.parts = scaled(sf >= 1 ? 200000 * std::floor(1 + std::log2(sf)) : 200000 * sf, 1000);
        s.orders = std::max<int64_t>(1, std::llround(1500000 * sf));
        return s;
    }
};

// Price of a part in cents (TPC-H clause 4.2.3).
int32_t part_price(int32_t part_key) { return 90000 + (part_key / 10) % 20001 + (part_key % 1000) * 100; }

std::string_view format(char (&out)[32], const char *pattern, int a, int b = 0, int c = 0, int d = 0) {
    const int n = std::snprintf(out, sizeof out, pattern, a, b, c, d);
    return {out, static_cast<size_t>(n)};
}

// The columns name, address, city, nation, region and phone, which customer and supplier share.
void write_address(CopyWriter &out, Random &random, std::string_view kind, int32_t key) {
    static constexpr char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz,ABCDEFGHIJKLMNOPQRSTUVWXYZ ";
    char text[32];
    std::string name(kind);
    name += format(text, "#%09d", key);
    out.text(name);

    const int length = random.between(6, 24);
    for (int i = 0; i < length; ++i)
        text[i] = letters[random.between(0, 63)];
    out.text({text, static_cast<size_t>(length)});

    const int nation_number = random.between(0, 24);
    const Nation &nation = nations[nation_number];
    std::string city(nation.name.substr(0, 9));
    city.resize(9, ' ');
    city += static_cast<char>('0' + random.between(0, 9));
    out.text(city);
    out.text(nation.name);
    out.text(regions[nation.region]);

    const int area = random.between(100, 999);
    const int exchange = random.between(100, 999);
    out.text(format(text, "%02d-%03d-%03d-%04d", 10 + nation_number, area, exchange, random.between(1000, 9999)));
}

struct Job {
    uint64_t seed;
    Sizes sizes;
    std::vector<Day> calendar;
};

void write_dates(const Job &job, CopyWriter &out) {
    for (const Day &d : job.calendar) {
        char text[32];
        const std::string_view month = month_names[d.month - 1];
        out.begin_row();
        out.integer(d.key());
        out.text(std::string(month) + std::string(format(text, " %d, %d", d.day, d.year)));
        out.text(weekday_names[d.weekday]);
        out.text(month);
        out.integer(d.year);
        out.integer(d.year * 100 + d.month);
        out.text(std::string(month.substr(0, 3)) + std::to_string(d.year));
        out.integer(d.weekday + 1);
        out.integer(d.day);
        out.integer(d.day_of_year);
        out.integer(d.month);
        out.integer((d.day_of_year - 1) / 7 + 1);
        out.text(selling_season(d));
        out.boolean(d.weekday == 6);
        out.boolean(d.day == d.days_in_month);
        out.boolean(is_holiday(d));
        out.boolean(d.weekday >= 1 && d.weekday <= 5);
    }
}

void write_customers(const Job &job, CopyWriter &out) {
    for (int32_t key = 1; key <= job.sizes.customers; ++key) {
        Random random(job.seed, Stream::customer, key);
        out.begin_row();
        out.integer(key);
        write_address(out, random, "Customer", key);
        out.text(random.pick(segments));
    }
}

void write_suppliers(const Job &job, CopyWriter &out) {
    for (int32_t key = 1; key <= job.sizes.suppliers; ++key) {
        Random random(job.seed, Stream::supplier, key);
        out.begin_row();
        out.integer(key);
        write_address(out, random, "Supplier", key);
    }
}

void write_parts(const Job &job, CopyWriter &out) {
    const auto join = [](std::initializer_list<std::string_view> words) {
        std::string s;
        for (std::string_view w : words) {
            if (!s.empty())
                s += ' ';
            s += w;
        }
        return s;
    };
    for (int32_t key = 1; key <= job.sizes.parts; ++key) {
        Random random(job.seed, Stream::part, key);
        char text[32];
        const std::string_view color = random.pick(colors);
        const std::string_view first = random.pick(colors);
        std::string_view second = random.pick(colors);
        while (second == first)
            second = random.pick(colors);
        const int mfgr = random.between(1, 5);
        const int category = random.between(1, 5);
        const int brand = random.between(1, 40);
        out.begin_row();
        out.integer(key);
        out.text(join({first, second}));
        out.text(format(text, "MFGR#%d", mfgr));
        out.text(format(text, "MFGR#%d%d", mfgr, category));
        out.text(format(text, "MFGR#%d%d%02d", mfgr, category, brand));
        out.text(color);
        const std::string_view grade = random.pick(type_grades);
        const std::string_view finish = random.pick(type_finishes);
        out.text(join({grade, finish, random.pick(type_metals)}));
        out.integer(random.between(1, 50));
        const std::string_view container_size = random.pick(container_sizes);
        out.text(join({container_size, random.pick(container_kinds)}));
    }
}

// Orders number first .. last-1 with all their lines.
void write_orders(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    struct Line {
        int32_t part, supplier, quantity, price, extended, discount, revenue, tax, commit;
        std::string_view mode;
    };
    for (int64_t number = first; number < last; ++number) {
        Random random(job.seed, Stream::order, number);
        // Eight keys in use, then twenty-four not.
        const int32_t order_key = static_cast<int32_t>(((number >> 3) << 5) | (number & 7));
        const int order_day = random.between(0, last_order_day);
        int32_t customer;
        do
            customer = random.between(1, job.sizes.customers);
        while (customer % 3 == 0);
        const std::string_view priority = random.pick(priorities);

        Line lines[7];
        const int count = random.between(1, 7);
        int32_t total = 0;
        for (int i = 0; i < count; ++i) {
            Line &l = lines[i];
            l.part = random.between(1, job.sizes.parts);
            l.supplier = random.between(1, job.sizes.suppliers);
            l.quantity = random.between(1, 50);
            l.discount = random.between(0, 10);
            l.tax = random.between(0, 8);
            l.commit = order_day + random.between(30, longest_commitment);
            l.mode = random.pick(ship_modes);
            l.price = part_price(l.part);
            l.extended = l.price * l.quantity;
            l.revenue = static_cast<int32_t>(static_cast<int64_t>(l.extended) * (100 - l.discount) / 100);
            total += static_cast<int32_t>(static_cast<int64_t>(l.revenue) * (100 + l.tax) / 100);
        }
        for (int i = 0; i < count; ++i) {
            const Line &l = lines[i];
            out.begin_row();
            out.integer(order_key);
            out.integer(i + 1);
            out.integer(customer);
            out.integer(l.part);
            out.integer(l.supplier);
            out.integer(job.calendar[order_day].key());
            out.text(priority);
            out.text("0");
            out.integer(l.quantity);
            out.integer(l.extended);
            out.integer(total);
            out.integer(l.discount);
            out.integer(l.revenue);
            out.integer(l.price * 6 / 10);
            out.integer(l.tax);
            out.integer(job.calendar[l.commit].key());
            out.text(l.mode);
        }
    }
}

// ---- loading ----------------------------------------------------------------------------------------------

struct Options {
    double sf = 1;
    int threads = 0;
    uint64_t seed = 19920101;
    std::string schema = "public";
    std::string dbname;
    bool if_missing = false;
    bool force = false;
    bool freeze = false;
    bool quiet = false;
};

std::string sf_text(double sf) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", sf);
    return text;
}

class Loader {
  public:
    explicit Loader(Options options) : options_(std::move(options)) {
        job_.seed = options_.seed;
        job_.sizes = Sizes::of(options_.sf);
        job_.calendar = make_calendar();
    }

    void run() {
        auto main = connect();
        schema_ = main->quote_identifier(options_.schema);
        mark_ = std::string(marker) + ", SF " + sf_text(options_.sf) + ", seed " + std::to_string(options_.seed);
        if (!may_load(*main))
            return;
        const auto start = now();
        main->exec("BEGIN");
        create_tables(*main);
        if (options_.freeze) {
            load_frozen(*main);
            main->exec("COMMIT");
        } else {
            main->exec("COMMIT");
            main.reset();
            load();
        }
        const auto loaded = now();
        clean_up();
        main = connect();
        for (const Table &t : tables) {
            warn_unless_all_visible(*main, t);
            comment(*main, t, mark_);
        }
        say("loaded SF %s in %.1f s (rows %.1f s with %d threads, %s %.1f s)\n", sf_text(options_.sf).c_str(),
            seconds(start, now()), seconds(start, loaded), options_.threads, options_.freeze ? "analyze" : "vacuum",
            seconds(loaded, now()));
    }

  private:
    using Clock = std::chrono::steady_clock;
    using Work = std::function<void(pg::Connection &)>;

    static Clock::time_point now() { return Clock::now(); }
    static double seconds(Clock::time_point from, Clock::time_point to) {
        return std::chrono::duration<double>(to - from).count();
    }

    template <typename... Args> void say(const char *pattern, Args... args) {
        if (options_.quiet)
            return;
        std::printf(pattern, args...);
        std::fflush(stdout);
    }

    std::unique_ptr<pg::Connection> connect() const {
        auto c = std::make_unique<pg::Connection>(options_.dbname, "ssb-gen");
        // Synchronous commits: VACUUM cannot call a page all-visible before its commits are on disk.
        c->exec("SET client_min_messages = warning; SET synchronous_commit = on; SET statement_timeout = 0;"
                "SET maintenance_work_mem = '256MB'; SET client_encoding = 'UTF8'");
        return c;
    }

    std::string qualified(const Table &t) const { return schema_ + "." + t.name; }

    void comment(pg::Connection &c, const Table &t, const std::string &text) const {
        c.exec("COMMENT ON TABLE " + qualified(t) + " IS " + c.quote_literal(text));
    }

    // Never drops a table that this program did not make, unless told to.
    bool may_load(pg::Connection &c) {
        int ours = 0, complete = 0, present = 0;
        std::string found;
        for (const Table &t : tables) {
            pg::Result r = c.exec("SELECT coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class "
                                  "WHERE oid = to_regclass($1)",
                                  {qualified(t)});
            if (r.rows() == 0)
                continue;
            ++present;
            const std::string text = r.get(0, 0);
            ours += text.rfind(marker, 0) == 0;
            complete += text == mark_;
            if (text.rfind(marker, 0) != 0 && !options_.force)
                throw pg::Error("table " + qualified(t) +
                                " exists and was not made by ssb-gen; drop it, take another"
                                " --schema, or let --force replace it");
            found = text;
        }
        if (!options_.if_missing || present == 0)
            return true;
        if (complete == static_cast<int>(std::size(tables))) {
            say("%s is there already\n", mark_.c_str());
            return false;
        }
        if (found.rfind(std::string(marker) + ", loading", 0) == 0 || present < static_cast<int>(std::size(tables)))
            return true; // what an interrupted load has left
        throw pg::Error("schema " + options_.schema + " holds \"" + found + "\", not \"" + mark_ +
                        "\"; load it anew without --if-missing (ssb.sh: --load)");
    }

    void create_tables(pg::Connection &c) const {
        if (c.exec("SELECT 1 FROM pg_namespace WHERE nspname = $1", {options_.schema}).rows() == 0)
            c.exec("CREATE SCHEMA " + schema_);
        for (const Table &t : tables) {
            c.exec("DROP TABLE IF EXISTS " + qualified(t));
            // Autovacuum would get in the way of the load; it is switched on again afterwards.
            c.exec("CREATE TABLE " + qualified(t) + " (" + t.definition + ") WITH (autovacuum_enabled = false)");
            comment(c, t, std::string(marker) + ", loading");
        }
    }

    // All rows of a dimension, and its key.
    void load_dimension(pg::Connection &c, const Table &t, void (*write)(const Job &, CopyWriter &)) {
        CopyStream stream(c, qualified(t), options_.freeze);
        CopyWriter out(t.columns, [&](const char *data, size_t size) { stream.send(data, size); });
        write(job_, out);
        const int64_t rows = out.finish();
        stream.finish();
        c.exec("ALTER TABLE " + qualified(t) + " ADD PRIMARY KEY (" + t.primary_key + ")");
        say("%-10s %12lld rows\n", t.name, static_cast<long long>(rows));
    }

    // Orders are made in slices, so that no thread is left with a long tail.
    int64_t slice() const { return std::clamp<int64_t>(job_.sizes.orders / (options_.threads * 8), 5000, 250000); }

    // Everything in the transaction that has created the tables: other threads make the rows that this connection sends.
    void load_frozen(pg::Connection &c) {
        load_dimension(c, part_table, write_parts);
        load_dimension(c, customer_table, write_customers);
        load_dimension(c, supplier_table, write_suppliers);
        load_dimension(c, date_table, write_dates);

        Pieces pieces;
        std::atomic<int64_t> lines{0}, next{1};
        std::atomic<int> busy{options_.threads};
        const auto make = [&] {
            try {
                for (int64_t first; (first = next.fetch_add(slice())) <= job_.sizes.orders;) {
                    CopyWriter out(lineorder_table.columns,
                                   [&](const char *data, size_t size) { pieces.put(std::string(data, size)); });
                    write_orders(job_, out, first, std::min(job_.sizes.orders + 1, first + slice()));
                    lines += out.finish();
                }
            } catch (const Stopped &) {
            }
            if (--busy == 0)
                pieces.end();
        };
        std::vector<std::thread> threads;
        for (int i = 0; i < options_.threads; ++i)
            threads.emplace_back(make);
        std::string error;
        try {
            CopyStream stream(c, qualified(lineorder_table), true);
            for (std::string piece; pieces.take(piece);)
                stream.send(piece.data(), piece.size());
            stream.finish();
        } catch (const std::exception &e) {
            error = e.what();
            pieces.give_up();
        }
        for (std::thread &t : threads)
            t.join();
        if (stop)
            throw pg::Error(error);
        say("%-10s %12lld rows\n", lineorder_table.name, static_cast<long long>(lines));
    }

    void load() {
        std::atomic<int64_t> lines{0};
        std::vector<Work> work;
        const auto dimension = [&](const Table &t, void (*write)(const Job &, CopyWriter &)) {
            work.push_back([this, &t, write](pg::Connection &c) { load_dimension(c, t, write); });
        };
        dimension(part_table, write_parts);
        dimension(customer_table, write_customers);
        dimension(supplier_table, write_suppliers);
        dimension(date_table, write_dates);

        // Orders number 1 .. orders.
        const int64_t orders = job_.sizes.orders;
        for (int64_t first = 1; first <= orders; first += slice()) {
            const int64_t last = std::min(orders + 1, first + slice());
            work.push_back([this, &lines, first, last](pg::Connection &c) {
                CopyStream stream(c, qualified(lineorder_table), false);
                CopyWriter out(lineorder_table.columns,
                               [&](const char *data, size_t size) { stream.send(data, size); });
                write_orders(job_, out, first, last);
                lines += out.finish();
                stream.finish();
            });
        }
        run_all(work);
        say("%-10s %12lld rows\n", lineorder_table.name, static_cast<long long>(lines));
    }

    void clean_up() {
        std::vector<Work> work;
        for (const Table &t : tables)
            work.push_back([this, &t](pg::Connection &c) {
                c.exec("ALTER TABLE " + qualified(t) + " RESET (autovacuum_enabled)");
                if (options_.freeze)
                    c.exec("ANALYZE " + qualified(t));
                else
                    // (not FREEZE: that would write every page to the WAL once more)
                    c.exec(std::string("VACUUM (ANALYZE") +
                           (c.version() >= 160000 ? ", BUFFER_USAGE_LIMIT 0) " : ") ") + qualified(t));
            });
        run_all(work);
    }

    // A transaction that is older than the load, in any database of the server, holds VACUUM back.
    void warn_unless_all_visible(pg::Connection &c, const Table &t) const {
        pg::Result r = c.exec("SELECT relpages, relallvisible FROM pg_class WHERE oid = to_regclass($1) "
                              "AND relallvisible < relpages",
                              {qualified(t)});
        if (r.rows() > 0)
            std::fprintf(stderr,
                         "ssb-gen: warning: only %s of %s pages of %s are all-visible; VACUUM it again once "
                         "older transactions have ended\n",
                         r.get(0, 1).c_str(), r.get(0, 0).c_str(), qualified(t).c_str());
    }

    // Every piece of work once, by as many threads and connections as asked for; rethrows the first error.
    void run_all(const std::vector<Work> &work) {
        std::atomic<size_t> next{0};
        std::mutex mutex;
        std::string error;
        const auto body = [&] {
            try {
                auto c = connect();
                for (size_t i; !stop && (i = next++) < work.size();)
                    work[i](*c);
            } catch (const Stopped &) {
            } catch (const std::exception &e) {
                std::lock_guard<std::mutex> lock(mutex);
                if (!stop.exchange(true))
                    error = e.what();
            }
        };
        std::vector<std::thread> threads;
        const size_t count = std::min<size_t>(options_.threads, work.size());
        for (size_t i = 0; i < count; ++i)
            threads.emplace_back(body);
        for (std::thread &t : threads)
            t.join();
        if (stop)
            throw pg::Error(error);
    }

    Options options_;
    Job job_;
    std::string schema_;
    std::string mark_;
};

// ---- command line -----------------------------------------------------------------------------------------

constexpr char help[] = R"(ssb-gen creates and loads the tables of the Star Schema Benchmark.

Usage: ssb-gen [OPTION]...

  --sf F            scale factor, 0.001 to 300, fractions too (default 1: 6 million line orders)
  --threads N       connections that load at the same time (default: one for each core)
  --seed S          another data set of the same kind (default 19920101)
  --schema NAME     where the tables go; created if missing (default public)
  --dbname CONNINFO database, connection string or URI (default: the PG* variables)
  --if-missing      do nothing when the same data set is there already
  --freeze          load in the transaction that creates the tables, by COPY FREEZE: no VACUUM afterwards, and under
                    wal_level = minimal no WAL; one connection, whose rows the threads make
  --force           replace tables of these names (lineorder, customer, supplier, part, date) even if
                    another program made them
  --quiet           no progress
  --help            this text
)";

double parse_number(const char *option, const char *text, double least, double most, bool whole) {
    char *end = nullptr;
    const double v = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(v >= least && v <= most) || (whole && v != std::floor(v))) {
        std::fprintf(stderr, "ssb-gen: --%s takes a %snumber from %g to %g, not '%s'\n", option, whole ? "whole " : "",
                     least, most, text);
        std::exit(2);
    }
    return v;
}

Options parse(int argc, char **argv) {
    enum { sf = 1, threads, seed, schema, dbname, if_missing, force, freeze, quiet, help_wanted };
    static const option known[] = {
        {"sf", required_argument, nullptr, sf},
        {"threads", required_argument, nullptr, threads},
        {"seed", required_argument, nullptr, seed},
        {"schema", required_argument, nullptr, schema},
        {"dbname", required_argument, nullptr, dbname},
        {"if-missing", no_argument, nullptr, if_missing},
        {"force", no_argument, nullptr, force},
        {"freeze", no_argument, nullptr, freeze},
        {"quiet", no_argument, nullptr, quiet},
        {"help", no_argument, nullptr, help_wanted},
        {nullptr, 0, nullptr, 0},
    };
    Options o;
    o.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 64u));
    for (int c; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (c) {
        case sf:
            o.sf = parse_number("sf", optarg, 0.001, 300, false);
            break;
        case threads:
            o.threads = static_cast<int>(parse_number("threads", optarg, 1, 256, true));
            break;
        case seed:
            o.seed = static_cast<uint64_t>(parse_number("seed", optarg, 0, 9e15, true));
            break;
        case schema:
            o.schema = optarg;
            break;
        case dbname:
            o.dbname = optarg;
            break;
        case if_missing:
            o.if_missing = true;
            break;
        case force:
            o.force = true;
            break;
        case freeze:
            o.freeze = true;
            break;
        case quiet:
            o.quiet = true;
            break;
        case help_wanted:
            std::fputs(help, stdout);
            std::exit(0);
        default:
            std::fputs("Try 'ssb-gen --help'.\n", stderr);
            std::exit(2);
        }
    }
    if (optind < argc) {
        std::fprintf(stderr, "ssb-gen: what is '%s'?\nTry 'ssb-gen --help'.\n", argv[optind]);
        std::exit(2);
    }
    return o;
}

} // namespace

int main(int argc, char **argv) {
    try {
        Loader(parse(argc, argv)).run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "ssb-gen: %s\n", e.what());
        return 1;
    }
    return 0;
}
