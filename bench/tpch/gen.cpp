// tpch-gen: creates and loads the tables of a benchmark like TPC-H.
//
// Source: TPC Benchmark H, standard specification, revision 3: the schema of clause 1.4, the distributions of clause 4.2.
// This is our own program and shares nothing with the council's: random numbers, comment texts (text.hpp) and therefore
// all results differ from its data. What the queries depend on is as specified: sizes and keys (sparse order keys; the four
// suppliers of a part; one customer in three never orders), dates that follow from the order's date and make the
// return flag and the line and order status, prices that follow from the part's key, the word lists that parameters
// come from (common/tpc.hpp), and the patterns in comments that queries 13 and 16 look for. Order keys are integers, as SF
// 300 still lets them. The indexes are the primary keys and one for each foreign key.
//
// Every row is a function of (seed, table, row number) alone.  common/loader.cpp sends them to the server.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../common/loader.hpp"
#include "../common/tpc.hpp"
#include "text.hpp"

using namespace bench;

namespace {

// ---- the tables (clause 1.4.1) ----------------------------------------------------------------------------

constexpr char region_columns[] = R"(
    r_regionkey integer not null,
    r_name char(25) not null,
    r_comment varchar(152) not null)";

constexpr char nation_columns[] = R"(
    n_nationkey integer not null,
    n_name char(25) not null,
    n_regionkey integer not null,
    n_comment varchar(152) not null)";

constexpr char supplier_columns[] = R"(
    s_suppkey integer not null,
    s_name char(25) not null,
    s_address varchar(40) not null,
    s_nationkey integer not null,
    s_phone char(15) not null,
    s_acctbal decimal(15,2) not null,
    s_comment varchar(101) not null)";

constexpr char customer_columns[] = R"(
    c_custkey integer not null,
    c_name varchar(25) not null,
    c_address varchar(40) not null,
    c_nationkey integer not null,
    c_phone char(15) not null,
    c_acctbal decimal(15,2) not null,
    c_mktsegment char(10) not null,
    c_comment varchar(117) not null)";

constexpr char part_columns[] = R"(
    p_partkey integer not null,
    p_name varchar(55) not null,
    p_mfgr char(25) not null,
    p_brand char(10) not null,
    p_type varchar(25) not null,
    p_size integer not null,
    p_container char(10) not null,
    p_retailprice decimal(15,2) not null,
    p_comment varchar(23) not null)";

constexpr char partsupp_columns[] = R"(
    ps_partkey integer not null,
    ps_suppkey integer not null,
    ps_availqty integer not null,
    ps_supplycost decimal(15,2) not null,
    ps_comment varchar(199) not null)";

constexpr char orders_columns[] = R"(
    o_orderkey integer not null,
    o_custkey integer not null,
    o_orderstatus char(1) not null,
    o_totalprice decimal(15,2) not null,
    o_orderdate date not null,
    o_orderpriority char(15) not null,
    o_clerk char(15) not null,
    o_shippriority integer not null,
    o_comment varchar(79) not null)";

constexpr char lineitem_columns[] = R"(
    l_orderkey integer not null,
    l_partkey integer not null,
    l_suppkey integer not null,
    l_linenumber integer not null,
    l_quantity decimal(15,2) not null,
    l_extendedprice decimal(15,2) not null,
    l_discount decimal(15,2) not null,
    l_tax decimal(15,2) not null,
    l_returnflag char(1) not null,
    l_linestatus char(1) not null,
    l_shipdate date not null,
    l_commitdate date not null,
    l_receiptdate date not null,
    l_shipinstruct char(25) not null,
    l_shipmode char(10) not null,
    l_comment varchar(44) not null)";

constexpr std::string_view instructions[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"};

constexpr int current_day = 1263; // 1995-06-17, counted from 1992-01-01 = 0

// ---- rows (clause 4.2.3) ----------------------------------------------------------------------------------

enum class Stream : uint64_t {
    text = 1,
    region,
    nation,
    supplier,
    complaint,
    customer,
    part,
    partsupp,
    order,
    comment
};

struct Job {
    Job(double sf, uint64_t s) : seed(s), text(s, static_cast<uint64_t>(Stream::text)) {
        const auto scaled = [sf](double n) { return std::max(1, static_cast<int32_t>(std::llround(n * sf))); };
        suppliers = std::max(10, scaled(10000)); // a part has four, which differ
        customers = std::max(3, scaled(150000));
        parts = scaled(200000);
        clerks = scaled(1000);
        orders = scaled(1500000);
    }

    Random random(Stream stream, int64_t row) const {
        return {seed, static_cast<uint64_t>(stream), static_cast<uint64_t>(row)};
    }

    // One of the four suppliers of a part.
    int32_t supplier_of(int32_t part, int i) const {
        const int64_t step = suppliers / 4 + (part - 1) / suppliers;
        return static_cast<int32_t>((part + i * step) % suppliers) + 1;
    }

    uint64_t seed;
    tpch::Text text;
    int32_t suppliers, customers, parts, clerks;
    int64_t orders;
};

// A name and a number of nine digits.
std::string numbered(std::string_view kind, int32_t number) {
    char text[32];
    return std::string(kind) + std::string(format(text, "#%09d", number));
}

std::string words(std::initializer_list<std::string_view> list) {
    std::string s;
    for (std::string_view word : list) {
        if (!s.empty())
            s += ' ';
        s += word;
    }
    return s;
}

void write_regions(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int64_t number = first; number < last; ++number) {
        Random random = job.random(Stream::region, number);
        out.begin_row();
        out.integer(static_cast<int32_t>(number) - 1);
        out.text(regions[number - 1]);
        out.text(job.text.piece(random, 31, 115));
    }
}

void write_nations(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int64_t number = first; number < last; ++number) {
        Random random = job.random(Stream::nation, number);
        out.begin_row();
        out.integer(static_cast<int32_t>(number) - 1);
        out.text(nations[number - 1].name);
        out.integer(nations[number - 1].region);
        out.text(job.text.piece(random, 31, 114));
    }
}

// Five suppliers in 10,000 are complained of and five recommended: one of each among 2,000.
std::string_view remark(const Job &job, int32_t key) {
    const int32_t group = std::min(2000, job.suppliers);
    Random random = job.random(Stream::complaint, (key - 1) / group);
    const int32_t complaint = random.between(0, group - 1);
    int32_t praise = random.between(0, group - 2);
    praise += praise >= complaint;
    const int32_t place = (key - 1) % group;
    return place == complaint ? "Complaints" : place == praise ? "Recommends" : "";
}

// What rows of suppliers and customers begin with: key, name, address, nation, phone, balance.
void begin_party(Random &random, CopyWriter &out, const char *kind, int32_t key) {
    char text[64], number[32];
    out.begin_row();
    out.integer(key);
    out.text(numbered(kind, key));
    out.text(address(random, 10, 40, text));
    const int nation = random.between(0, 24);
    out.integer(nation);
    out.text(phone(random, nation, number));
    out.decimal(random.between(-99999, 999999));
}

void write_suppliers(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int32_t key = static_cast<int32_t>(first); key < last; ++key) {
        Random random = job.random(Stream::supplier, key);
        begin_party(random, out, "Supplier", key);
        std::string comment(job.text.piece(random, 25, 100));
        if (const std::string_view word = remark(job, key); !word.empty()) {
            // "Customer", something or nothing, and the word, anywhere in the comment
            const int between = random.between(0, static_cast<int32_t>(comment.size()) - 18);
            const int before = random.between(0, static_cast<int32_t>(comment.size()) - 18 - between);
            comment.replace(before, 8, "Customer");
            comment.replace(before + 8 + between, 10, word);
        }
        out.text(comment);
    }
}

void write_customers(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int32_t key = static_cast<int32_t>(first); key < last; ++key) {
        Random random = job.random(Stream::customer, key);
        begin_party(random, out, "Customer", key);
        out.text(random.pick(segments));
        out.text(job.text.piece(random, 29, 116));
    }
}

void write_parts(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int32_t key = static_cast<int32_t>(first); key < last; ++key) {
        Random random = job.random(Stream::part, key);
        char text[32];
        out.begin_row();
        out.integer(key);
        std::string_view name[5];
        for (int i = 0; i < 5; ++i)
            do
                name[i] = random.pick(colors);
            while (std::find(name, name + i, name[i]) != name + i);
        out.text(words({name[0], name[1], name[2], name[3], name[4]}));
        const int maker = random.between(1, 5);
        out.text(format(text, "Manufacturer#%d", maker));
        out.text(format(text, "Brand#%d%d", maker, random.between(1, 5)));
        const std::string_view grade = random.pick(type_grades);
        const std::string_view finish = random.pick(type_finishes);
        out.text(words({grade, finish, random.pick(type_metals)}));
        out.integer(random.between(1, 50));
        const std::string_view size = random.pick(container_sizes);
        out.text(words({size, random.pick(container_kinds)}));
        out.decimal(part_price(key));
        out.text(job.text.piece(random, 5, 22));
    }
}

void write_supplies(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int32_t part = static_cast<int32_t>(first); part < last; ++part) {
        Random random = job.random(Stream::partsupp, part);
        for (int i = 0; i < 4; ++i) {
            out.begin_row();
            out.integer(part);
            out.integer(job.supplier_of(part, i));
            out.integer(random.between(1, 9999));
            out.decimal(random.between(100, 100000));
            out.text(job.text.piece(random, 49, 198));
        }
    }
}

struct Line {
    int32_t part, supplier, quantity, discount, tax, ship, commit, receipt;
    int64_t price; // of all pieces, in cents
    std::string_view instruction, mode;
    char flag, status;
};

struct Order {
    int32_t key, customer, day, clerk, count;
    std::string_view priority;
    Line lines[7];

    // Of the order's lines: with tax and discount, rounded at the end.
    int64_t total() const {
        int64_t millionths = 0;
        for (int i = 0; i < count; ++i)
            millionths += lines[i].price * (100 - lines[i].discount) * (100 + lines[i].tax);
        return (millionths + 5000) / 10000;
    }
    char status() const {
        const auto all = [this](char wanted) {
            return std::all_of(lines, lines + count, [wanted](const Line &l) { return l.status == wanted; });
        };
        return all('F') ? 'F' : all('O') ? 'O' : 'P';
    }
};

// Everything but the comments, which only one of the two tables needs at a time.
Order make_order(const Job &job, int64_t number) {
    Random random = job.random(Stream::order, number);
    Order o;
    o.key = order_key(number);
    o.customer = customer_of_order(random, job.customers);
    o.day = random.between(0, last_order_day);
    o.priority = random.pick(priorities);
    o.clerk = random.between(1, job.clerks);
    o.count = random.between(1, 7);
    for (int i = 0; i < o.count; ++i) {
        Line &l = o.lines[i];
        l.part = random.between(1, job.parts);
        l.supplier = job.supplier_of(l.part, random.between(0, 3));
        l.quantity = random.between(1, 50);
        l.price = static_cast<int64_t>(l.quantity) * part_price(l.part);
        l.discount = random.between(0, 10);
        l.tax = random.between(0, 8);
        l.ship = o.day + random.between(1, 121);
        l.commit = o.day + random.between(30, 90);
        l.receipt = l.ship + random.between(1, 30);
        l.flag = l.receipt > current_day ? 'N' : random.between(0, 1) == 0 ? 'R' : 'A';
        l.status = l.ship > current_day ? 'O' : 'F';
        l.instruction = random.pick(instructions);
        l.mode = random.pick(ship_modes);
    }
    return o;
}

void write_orders(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int64_t number = first; number < last; ++number) {
        const Order o = make_order(job, number);
        Random random = job.random(Stream::comment, -number);
        const char status = o.status();
        out.begin_row();
        out.integer(o.key);
        out.integer(o.customer);
        out.text({&status, 1});
        out.decimal(o.total());
        out.date(o.day);
        out.text(o.priority);
        out.text(numbered("Clerk", o.clerk));
        out.integer(0);
        out.text(job.text.piece(random, 19, 78));
    }
}

void write_lines(const Job &job, CopyWriter &out, int64_t first, int64_t last) {
    for (int64_t number = first; number < last; ++number) {
        const Order o = make_order(job, number);
        Random random = job.random(Stream::comment, number);
        for (int i = 0; i < o.count; ++i) {
            const Line &l = o.lines[i];
            out.begin_row();
            out.integer(o.key);
            out.integer(l.part);
            out.integer(l.supplier);
            out.integer(i + 1);
            out.decimal(l.quantity * 100);
            out.decimal(l.price);
            out.decimal(l.discount);
            out.decimal(l.tax);
            out.text({&l.flag, 1});
            out.text({&l.status, 1});
            out.date(l.ship);
            out.date(l.commit);
            out.date(l.receipt);
            out.text(l.instruction);
            out.text(l.mode);
            out.text(job.text.piece(random, 10, 43));
        }
    }
}

std::vector<Table> tables(double sf, uint64_t seed) {
    const auto job = std::make_shared<const Job>(sf, seed);
    const auto by = [&](auto write) {
        return [job, write](CopyWriter &out, int64_t first, int64_t last) { write(*job, out, first, last); };
    };
    const int64_t slice = 250000;
    return {
        {"lineitem",
         16,
         lineitem_columns,
         {{"l_orderkey, l_linenumber", true}, {"l_partkey, l_suppkey"}, {"l_suppkey"}},
         job->orders,
         slice,
         by(write_lines)},
        {"orders", 9, orders_columns, {{"o_orderkey", true}, {"o_custkey"}}, job->orders, slice, by(write_orders)},
        {"partsupp",
         5,
         partsupp_columns,
         {{"ps_partkey, ps_suppkey", true}, {"ps_suppkey"}},
         job->parts,
         slice,
         by(write_supplies)},
        {"part", 9, part_columns, {{"p_partkey", true}}, job->parts, slice, by(write_parts)},
        {"customer",
         8,
         customer_columns,
         {{"c_custkey", true}, {"c_nationkey"}},
         job->customers,
         slice,
         by(write_customers)},
        {"supplier",
         7,
         supplier_columns,
         {{"s_suppkey", true}, {"s_nationkey"}},
         job->suppliers,
         slice,
         by(write_suppliers)},
        {"nation", 4, nation_columns, {{"n_nationkey", true}}, 25, 0, by(write_nations)},
        {"region", 3, region_columns, {{"r_regionkey", true}}, 5, 0, by(write_regions)},
    };
}

} // namespace

int main(int argc, char **argv) {
    return generate({"tpch-gen", "TPC-H", "lineitem, orders, partsupp, part, customer, supplier, nation, region",
                     19920101, "6 million line items", tables},
                    argc, argv);
}
