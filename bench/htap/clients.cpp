#include "clients.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "../common/tpc.hpp"

namespace bench {
namespace {

std::string amount(int64_t cents) {
    char text[32];
    std::snprintf(text, sizeof text, "%lld.%02d", static_cast<long long>(cents / 100), static_cast<int>(cents % 100));
    return text;
}

// Of a numeric with two decimals.
int64_t cents(std::string text) {
    text.erase(std::remove(text.begin(), text.end(), '.'), text.end());
    return std::atoll(text.c_str());
}

std::string key_name(const char *kind, int key) {
    char text[32];
    std::snprintf(text, sizeof text, "%s#%09d", kind, key);
    return text;
}

// The query beside what its snapshot sees of the FRESHNESS tables; there is a row even if the query gives none.
std::string with_freshness(const std::string &query, size_t clients) {
    if (clients == 0)
        return query;
    std::string tables;
    for (size_t i = 1; i <= clients; ++i)
        tables += (i > 1 ? " UNION ALL SELECT * FROM " : "SELECT * FROM ") + freshness_table(i);
    return "SELECT f.seen, q.* FROM (SELECT array_agg(f_txnnum ORDER BY f_clientnum) AS seen FROM (" + tables +
           ") AS t) AS f LEFT JOIN (" + query + ") AS q ON true";
}

} // namespace

std::unique_ptr<pg::Connection> connect(const SessionOptions &options) {
    auto c = std::make_unique<pg::Connection>(options.dbname, "htap-run");
    c->exec("SET client_min_messages = warning");
    c->exec("SET search_path = " + c->quote_identifier(options.schema) + ", public");
    c->exec("SET gpuscan.offload = " + options.offload);
    for (const auto &[name, value] : options.settings)
        c->exec("SELECT set_config($1, $2, false)", {name, value});
    return c;
}

std::string freshness_table(size_t client) { return "freshness_" + std::to_string(client); }

void CommitLog::add(Clock::time_point when) {
    std::lock_guard<std::mutex> lock(mutex_);
    when_.push_back(when);
}

double CommitLog::staleness(size_t seen, Clock::time_point start) const {
    std::lock_guard<std::mutex> lock(mutex_);
    // (One that is committed may be seen before its client has heard of it.)
    if (seen > when_.size() + 1)
        throw pg::Error("a query saw a transaction that has not been");
    return seen < when_.size() && when_[seen] < start ? seconds(start - when_[seen]) : 0;
}

Totals &Totals::operator+=(const Totals &other) {
    transactions += other.transactions;
    orders += other.orders;
    lines += other.lines;
    revenue += other.revenue;
    payments += other.payments;
    paid += other.paid;
    return *this;
}

Sizes read_sizes(pg::Connection &c) {
    const auto number = [&](const char *query) { return std::atoi(c.value(query).c_str()); };
    Sizes s;
    s.customers = number("SELECT max(c_custkey) FROM customer");
    s.suppliers = number("SELECT max(s_suppkey) FROM supplier");
    s.parts = number("SELECT max(p_partkey) FROM part");
    s.last_order = number("SELECT max(lo_orderkey) FROM lineorder");
    const pg::Result days = c.exec("SELECT d_date FROM date");
    for (int i = 0; i < days.rows(); ++i)
        s.dates.push_back(days.get(i, 0));
    return s;
}

// ---- transactions -----------------------------------------------------------------------------------------

TransactionalClient::TransactionalClient(const SessionOptions &options, const Sizes &sizes, size_t client,
                                         std::atomic<int> &next_order, uint64_t seed)
    : connection_(connect(options)), sizes_(sizes), next_order_(next_order), random_(seed, 1, client) {
    const auto prepare = [&](const char *name, const std::string &sql) { connection_->prepare(name, sql); };
    prepare("customer", "SELECT c_custkey FROM customer WHERE c_name = $1");
    prepare("supplier", "SELECT s_suppkey FROM supplier WHERE s_name = $1");
    prepare("price", "SELECT p_price FROM part WHERE p_partkey = $1");
    prepare("date", "SELECT d_datekey FROM date WHERE d_date = $1");
    prepare("line",
            "INSERT INTO lineorder VALUES ($1, $2, $3, $4, $5, $6, $7, '0', $8, $9, $10, $11, $12, $13, $14, $6, $15)");
    prepare("count_payment", "UPDATE customer SET c_paymentcnt = c_paymentcnt + 1 WHERE c_custkey = $1");
    prepare("pay_supplier", "UPDATE supplier SET s_ytd = s_ytd + $2 WHERE s_suppkey = $1");
    prepare("history", "INSERT INTO history VALUES ($1, $2, $3)");
    prepare("count_orders", "SELECT count(DISTINCT lo_orderkey) FROM lineorder WHERE lo_custkey = $1");
    prepare("freshness", "UPDATE " + freshness_table(client) + " SET f_txnnum = f_txnnum + 1");
}

void TransactionalClient::step() {
    connection_->exec("BEGIN");
    const int kind = random_.between(1, 100);
    if (kind <= 48)
        new_order();
    else if (kind <= 96)
        payment();
    else
        count_orders();
    connection_->execute("freshness", {});
    connection_->exec("COMMIT");
    log_.add(Clock::now());
    ++totals_.transactions;
}

std::string TransactionalClient::customer_key() {
    return connection_->execute("customer", {key_name("Customer", random_.between(1, sizes_.customers))}).get(0, 0);
}

void TransactionalClient::new_order() {
    struct Line {
        std::string part, supplier;
        int64_t price, quantity, extended, discount, revenue, tax;
    };
    const std::string customer = customer_key();
    const std::string day = sizes_.dates[random_.between(0, static_cast<int>(sizes_.dates.size()) - 1)];
    const std::string date = connection_->execute("date", {day}).get(0, 0);
    std::vector<Line> lines(random_.between(1, 7));
    int64_t total = 0;
    for (Line &l : lines) {
        l.part = std::to_string(random_.between(1, sizes_.parts));
        l.price = cents(connection_->execute("price", {l.part}).get(0, 0));
        l.supplier =
            connection_->execute("supplier", {key_name("Supplier", random_.between(1, sizes_.suppliers))}).get(0, 0);
        l.quantity = random_.between(1, 50);
        l.discount = random_.between(0, 10);
        l.tax = random_.between(0, 8);
        l.extended = l.price * l.quantity;
        l.revenue = l.extended * (100 - l.discount) / 100;
        total += l.revenue * (100 + l.tax) / 100;
    }
    const std::string priority(random_.pick(priorities)), mode(random_.pick(ship_modes));
    last_order_ = next_order_++;
    int number = 0;
    for (const Line &l : lines) {
        connection_->execute("line", {std::to_string(last_order_), std::to_string(++number), customer, l.part,
                                      l.supplier, date, priority, std::to_string(l.quantity), amount(l.extended),
                                      amount(total), std::to_string(l.discount), amount(l.revenue),
                                      amount(l.price * 6 / 10), std::to_string(l.tax), mode});
        totals_.revenue += l.revenue;
    }
    ++totals_.orders;
    totals_.lines += static_cast<int64_t>(lines.size());
}

void TransactionalClient::payment() {
    const std::string customer = std::to_string(random_.between(1, sizes_.customers));
    const int64_t paid = random_.between(100, 10495000);
    connection_->execute("count_payment", {customer});
    connection_->execute("pay_supplier", {std::to_string(random_.between(1, sizes_.suppliers)), amount(paid)});
    connection_->execute("history", {std::to_string(last_order_), customer, amount(paid)});
    ++totals_.payments;
    totals_.paid += paid;
}

void TransactionalClient::count_orders() { connection_->execute("count_orders", {customer_key()}); }

// ---- queries ----------------------------------------------------------------------------------------------

AnalyticalClient::AnalyticalClient(const SessionOptions &options, const std::vector<Query> &queries,
                                   const std::vector<std::unique_ptr<TransactionalClient>> &beside, bool compare,
                                   uint64_t seed)
    : connection_(connect(options)), queries_(queries), beside_(beside), offload_(options.offload), compare_(compare),
      random_(seed, 2, 0) {
    for (size_t i = 0; i < queries_.size(); ++i) {
        connection_->prepare(queries_[i].name.c_str(), with_freshness(queries_[i].sql, beside_.size()));
        order_.push_back(i);
    }
}

void AnalyticalClient::shuffle() {
    for (size_t i = order_.size(); i > 1; --i)
        std::swap(order_[i - 1], order_[random_.between(0, static_cast<int>(i) - 1)]);
}

void AnalyticalClient::step() {
    if (at_ == 0)
        shuffle();
    query_ = order_[at_];
    at_ = (at_ + 1) % order_.size();
    const Query &query = queries_[query_];
    const Clock::time_point start = Clock::now();
    if (compare_)
        connection_->exec("BEGIN ISOLATION LEVEL REPEATABLE READ");
    const pg::Result rows = connection_->execute(query.name.c_str(), {});
    staleness_ = 0;
    if (!beside_.empty()) {
        std::string seen = rows.get(0, 0); // {17,4}
        seen = seen.substr(1, seen.size() - 2);
        size_t client = 0;
        for (const std::string &number : split(seen, ','))
            staleness_ = std::max(staleness_, beside_[client++]->log().staleness(std::stoul(number), start));
    }
    if (compare_) {
        compare_answers(query);
        connection_->exec("COMMIT");
    }
}

void AnalyticalClient::compare_answers(const Query &query) {
    const auto run = [&](const std::string &offload) {
        connection_->exec("SET LOCAL gpuscan.offload = " + offload);
        return connection_->exec(query.sql);
    };
    Expected expected;
    for (const std::string &offload : {std::string("off"), offload_})
        expected.add(query, answer_of(query, run(offload)), [&](const std::string &) { return run("off"); });
    different_ += !expected.equal;
}

} // namespace bench
