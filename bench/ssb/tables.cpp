// The tables of the Star Schema Benchmark, and with HATtrick's columns for bench/htap.
//
// Source: P. O'Neil, E. O'Neil, X. Chen, S. Revilak, "The Star Schema Benchmark and Augmented Fact Table
// Indexing", TPCTC 2009, and P. O'Neil, E. O'Neil, X. Chen, "The Star Schema Benchmark", revision 3, which
// derive the data from TPC-H.  What the paper leaves open is done as in its data generator: orders of 1 to 7
// lines (so about 6,000,000 * SF lines), sparse order keys, order dates from 1992-01-01 to 1998-08-02, only
// two customers in three ever order, prices are a function of the part key.  Cities are the nation's name
// padded or cut to 9 characters and a digit; brands are MFGR#mcbb with bb from 01 to 40, the fixed length of
// 9 the paper asks for.
//
// Every row is a function of (seed, table, row number) alone.  common/loader.cpp sends them to the server.
#include "tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../common/tpc.hpp"

namespace bench {
namespace {

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

// ---- the tables -------------------------------------------------------------------------------------------

constexpr char date_columns[] = R"(
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
    d_weekdayfl boolean not null)";

constexpr char customer_columns[] = R"(
    c_custkey integer not null,
    c_name varchar(25) not null,
    c_address varchar(25) not null,
    c_city varchar(10) not null,
    c_nation varchar(15) not null,
    c_region varchar(12) not null,
    c_phone varchar(15) not null,
    c_mktsegment varchar(10) not null)";

constexpr char supplier_columns[] = R"(
    s_suppkey integer not null,
    s_name varchar(25) not null,
    s_address varchar(25) not null,
    s_city varchar(10) not null,
    s_nation varchar(15) not null,
    s_region varchar(12) not null,
    s_phone varchar(15) not null)";

constexpr char part_columns[] = R"(
    p_partkey integer not null,
    p_name varchar(22) not null,
    p_mfgr varchar(6) not null,
    p_category varchar(7) not null,
    p_brand1 varchar(9) not null,
    p_color varchar(11) not null,
    p_type varchar(25) not null,
    p_size integer not null,
    p_container varchar(10) not null)";

// $ stands for the type of amounts.
constexpr char lineorder_columns[] = R"(
    lo_orderkey integer not null,
    lo_linenumber integer not null,
    lo_custkey integer not null,
    lo_partkey integer not null,
    lo_suppkey integer not null,
    lo_orderdate integer not null,
    lo_orderpriority varchar(15) not null,
    lo_shippriority varchar(1) not null,
    lo_quantity integer not null,
    lo_extendedprice $ not null,
    lo_ordtotalprice $ not null,
    lo_discount integer not null,
    lo_revenue $ not null,
    lo_supplycost $ not null,
    lo_tax integer not null,
    lo_commitdate integer not null,
    lo_shipmode varchar(10) not null)";

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

// The columns name, address, city, nation, region and phone, which customer and supplier share.
void write_address(CopyWriter &out, Random &random, std::string_view kind, int32_t key) {
    char text[32], letters[64];
    std::string name(kind);
    name += format(text, "#%09d", key);
    out.text(name);

    out.text(address(random, 6, 24, letters));

    const int nation_number = random.between(0, 24);
    const Nation &nation = nations[nation_number];
    std::string city(nation.name.substr(0, 9));
    city.resize(9, ' ');
    city += static_cast<char>('0' + random.between(0, 9));
    out.text(city);
    out.text(nation.name);
    out.text(regions[nation.region]);

    out.text(phone(random, nation_number, text));
}

enum class Stream : uint64_t { order = 1, customer, supplier, part };

struct Job {
    uint64_t seed;
    bool htap;
    Sizes sizes;
    std::vector<Day> calendar;

    void amount(CopyWriter &out, int32_t cents) const {
        if (htap)
            out.decimal(cents);
        else
            out.integer(cents);
    }

    Random random(Stream stream, int64_t row) const {
        return {seed, static_cast<uint64_t>(stream), static_cast<uint64_t>(row)};
    }
};

void write_dates(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int64_t number = first; number < last; ++number) {
        const Day &d = job.calendar[number - 1];
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

void write_customers(const Job &job, CopyWriter &out, int32_t first, int32_t last) {
    for (int32_t key = first; key < last; ++key) {
        Random random = job.random(Stream::customer, key);
        out.begin_row();
        out.integer(key);
        write_address(out, random, "Customer", key);
        out.text(random.pick(segments));
        if (job.htap)
            out.integer(0);
    }
}

void write_suppliers(const Job &job, CopyWriter &out, int32_t first, int32_t last) {
    for (int32_t key = first; key < last; ++key) {
        Random random = job.random(Stream::supplier, key);
        out.begin_row();
        out.integer(key);
        write_address(out, random, "Supplier", key);
        if (job.htap)
            out.decimal(0);
    }
}

void write_parts(const Job &job, CopyWriter &out, int32_t first, int32_t last) {
    const auto join = [](std::initializer_list<std::string_view> words) {
        std::string s;
        for (std::string_view w : words) {
            if (!s.empty())
                s += ' ';
            s += w;
        }
        return s;
    };
    for (int32_t key = first; key < last; ++key) {
        Random random = job.random(Stream::part, key);
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
        if (job.htap)
            out.decimal(part_price(key));
    }
}

// Orders number first .. last-1 with all their lines.
void write_orders(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    struct Line {
        int32_t part, supplier, quantity, price, extended, discount, revenue, tax, commit;
        std::string_view mode;
    };
    for (int64_t number = first; number < last; ++number) {
        Random random = job.random(Stream::order, number);
        const int order_day = random.between(0, last_order_day);
        const int32_t customer = customer_of_order(random, job.sizes.customers);
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
            out.integer(order_key(number));
            out.integer(i + 1);
            out.integer(customer);
            out.integer(l.part);
            out.integer(l.supplier);
            out.integer(job.calendar[order_day].key());
            out.text(priority);
            out.text("0");
            out.integer(l.quantity);
            job.amount(out, l.extended);
            job.amount(out, total);
            out.integer(l.discount);
            job.amount(out, l.revenue);
            job.amount(out, l.price * 6 / 10);
            out.integer(l.tax);
            out.integer(job.calendar[l.commit].key());
            out.text(l.mode);
        }
    }
}

// The columns of a table, with one that HATtrick adds.
std::string with(const Job &job, std::string columns, const char *added) {
    return job.htap ? columns + ",\n    " + added + " not null" : columns;
}

} // namespace

std::vector<Table> ssb_tables(double sf, uint64_t seed, bool htap) {
    const auto job = std::make_shared<const Job>(Job{seed, htap, Sizes::of(sf), make_calendar()});
    const Sizes &n = job->sizes;
    const auto by = [&](auto write) {
        return [job, write](CopyWriter &out, int64_t first, int64_t last) { write(*job, out, first, last); };
    };
    std::string lineorder = lineorder_columns;
    for (size_t at; (at = lineorder.find('$')) != std::string::npos;)
        lineorder.replace(at, 1, htap ? "numeric" : "integer");
    return {
        {"lineorder", 17, lineorder, {}, n.orders, 250000, by(write_orders)},
        {"customer",
         8 + htap,
         with(*job, customer_columns, "c_paymentcnt integer"),
         {{"c_custkey", true}},
         n.customers,
         0,
         by(write_customers)},
        {"supplier",
         7 + htap,
         with(*job, supplier_columns, "s_ytd numeric"),
         {{"s_suppkey", true}},
         n.suppliers,
         0,
         by(write_suppliers)},
        {"part",
         9 + htap,
         with(*job, part_columns, "p_price numeric"),
         {{"p_partkey", true}},
         n.parts,
         0,
         by(write_parts)},
        {"date",
         17,
         date_columns,
         {{"d_datekey", true}},
         static_cast<int64_t>(job->calendar.size()),
         0,
         by(write_dates)},
    };
}

} // namespace bench
