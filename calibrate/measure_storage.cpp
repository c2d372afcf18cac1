// What storage costs, as it is seen through the caches of this machine.
//
// Reads. Random reads of a cold disk are the wrong answer: with what such measurements give as random_page_cost users get slower, as the
// planner has no other term for caches (Vondra, "The real cost of random I/O", 2026). So pages of this database's own tables are looked at
// as they are now, wherever they are, each twice: what the first time takes more than the second is what storage and the operating
// system's cache cost on the average, beyond a page in shared buffers, whose price is the processor's part. That is what is written. What pages
// cost that were not in shared buffers is told beside it, as the price of a cold cache.
//
// Temporary files. The same query with and without enough memory: what it takes more, by the pages that it writes, is the price of a page that is
// written, after that of reading it again is taken off. Whether files reach the disk is the operating system's matter, and in the price.
// Neither needs tables, so a standby can do it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "measure.hpp"

namespace calibrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t most_samples = 40, least_samples = 5;
constexpr size_t pages_at_random = 50, pages_in_order = 128;
constexpr double least_pages = 500; // of all tables, that are worth looking at
constexpr char alone[] =
    "SET LOCAL gpuscan.offload = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off; ";
constexpr double least_cost = 0.01; // as a search has it (weights.cpp)

struct Table {
    std::string name;
    double pages;
};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A value of 0 and its interval are what a difference says that is below it.
FittedWeight at_least_zero(const Estimate &e) {
    return {std::max(e.value, 0.0), std::max(e.low, 0.0), std::max(e.high, 0.0), Verdict::Measured};
}

FittedWeight sum(const FittedWeight &a, const FittedWeight &b) {
    const double value = a.value + b.value, low = std::hypot(a.value - a.low, b.value - b.low),
                 high = std::hypot(a.high - a.value, b.high - b.value);
    return {value, std::max(value - low, 0.0), value + high, Verdict::Measured};
}

} // namespace

MachineMeasurement::Reads MachineMeasurement::read_pages(bool random, double budget_s) {
    std::vector<Table> tables;
    double all = 0;
    const pg::Result found = session_.query(
        "SELECT c.oid::regclass, c.relpages FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
        "c.relnamespace JOIN pg_catalog.pg_am m ON m.oid = c.relam WHERE c.relkind IN ('r', 'm') AND c.relpersistence "
        "= "
        "'p' AND m.amname = 'heap' AND NOT c.relrowsecurity AND c.relpages > 1 AND n.nspname NOT IN ('pg_catalog', "
        "'information_schema', " +
        session_.quote(scratch_schema) +
        ") AND n.nspname !~ '^pg_' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND "
        "pg_catalog.has_table_privilege(c.oid, 'SELECT') ORDER BY c.relpages DESC LIMIT 100");
    for (int i = 0; i < found.rows(); ++i) {
        tables.push_back({found.get(i, 0), std::stod(found.get(i, 1))});
        all += tables.back().pages;
    }
    Reads reads;
    if (all < least_pages)
        return reads;
    std::mt19937_64 numbers(std::random_device{}());
    const auto below = [&](double limit) { return std::uniform_real_distribution<double>(0, limit)(numbers); };
    const auto start = Clock::now();
    progress_.begin(random ? "pages out of order" : "pages in order", most_samples);
    for (size_t s = 0; s < most_samples && (s < least_samples || since(start) < budget_s); ++s) {
        progress_.step(s, "");
        double at = below(all);
        const Table *table = &tables.front();
        for (const Table &t : tables) {
            table = &t;
            if ((at -= t.pages) < 0)
                break;
        }
        std::string condition;
        if (random) {
            for (size_t i = 0; i < pages_at_random; ++i)
                condition +=
                    (i > 0 ? ",\"(" : "\"(") + std::to_string(static_cast<long>(below(table->pages))) + ",1)\"";
            condition = "ctid = ANY ('{" + condition + "}'::tid[])";
        } else {
            const long first = static_cast<long>(below(std::max(table->pages - pages_in_order, 1.0)));
            condition = "ctid >= '(" + std::to_string(first) + ",0)' AND ctid < '(" +
                        std::to_string(first + static_cast<long>(pages_in_order)) + ",0)'";
        }
        const std::string sql = "SELECT count(*) FROM ONLY " + table->name + " WHERE " + condition;
        double ms[2] = {}, hit = 0, missed = 0;
        for (int run = 0; run < 2; ++run) {
            const Json done = explain("ANALYZE, TIMING OFF, BUFFERS, ", alone, sql);
            ms[run] = done.at(0).at("Execution Time");
            if (run == 0) {
                hit = done.at(0).at("Plan").value("Shared Hit Blocks", 0.0);
                missed = done.at(0).at("Plan").value("Shared Read Blocks", 0.0);
            }
        }
        if (hit + missed <= 0)
            continue;
        reads.pages += hit + missed;
        reads.missed += missed;
        const double beyond = missed > 0 ? (ms[0] - ms[1]) * 1e6 : 0;
        reads.beyond_ns.push_back(beyond / (hit + missed));
        if (missed > 0)
            reads.missed_ns.push_back(beyond / missed);
        sample("storage", random ? "pages out of order" : "pages in order", {ms[0], ms[1]},
               {{"pages", hit + missed}, {"missed", missed}});
    }
    return reads;
}

void MachineMeasurement::measure_reads() {
    struct Kind {
        bool random;
        const char *asymmetric, *original, *cold, *warm;
        const FittedWeight *cached;
    };
    const Kind kinds[] = {{false, "gpuscan.seq_read_page_cost", "seq_page_cost", "page in order, not cached",
                           "page in order, cached", &processor_.seq_page},
                          {true, "gpuscan.random_read_page_cost", "random_page_cost", "page out of order, not cached",
                           "page out of order, cached", &processor_.random_page}};
    double least = 0; // a page out of order takes no less than one in order
    for (const Kind &kind : kinds) {
        const Reads reads = read_pages(kind.random, plan_.storage_s / 2);
        if (reads.missed_ns.size() >= least_samples) {
            const FittedWeight cold = sum(at_least_zero(mean_of(reads.missed_ns)), *kind.cached);
            values_.push_back({"storage", kind.cold, "ns", cold.value, cold.low, cold.high, std::nullopt, std::nullopt,
                               true, "not written: caches are part of a page's price"});
        }
        if (kind.cached->verdict != Verdict::Unseen)
            values_.push_back({"storage", kind.warm, "ns", kind.cached->value, kind.cached->low, kind.cached->high,
                               std::nullopt, std::nullopt, true, ""});
        if (!unit_)
            continue;
        if (reads.beyond_ns.size() < least_samples) {
            const std::string setting_name = session_.has_setting(kind.asymmetric) ? kind.asymmetric : kind.original;
            values_.push_back({"storage", setting_name, "", setting(setting_name), std::nullopt, std::nullopt,
                               setting(setting_name), setting(setting_name, "boot_val"), false,
                               "the database has too few pages of its own that could be looked at"});
            continue;
        }
        FittedWeight seen = sum(at_least_zero(mean_of(reads.beyond_ns)), *kind.cached);
        char words[160];
        std::snprintf(words, sizeof words,
                      "as seen through this machine's caches, %.0f %% of %.0f pages in shared buffers%s",
                      100 * (1 - reads.missed / reads.pages), reads.pages,
                      seen.value < least ? "; taken to be no cheaper than in order" : "");
        seen.value = std::max(seen.value, least);
        seen.high = std::max(seen.high, least);
        least = seen.value;
        put_setting(kind.asymmetric, kind.original, seen, words);
    }
}

// ns, as it will be when what is measured is in force.
double MachineMeasurement::page_read_ns() {
    if (asymmetric_.count("gpuscan.seq_read_page_cost") > 0)
        return asymmetric_.at("gpuscan.seq_read_page_cost") * unit_->value;
    const double own = setting("gpuscan.seq_read_page_cost");
    return (own >= 0 ? own : setting("seq_page_cost")) * unit_->value;
}

// What a page of temporary files makes a query longer, with what reading it again takes.
std::optional<std::vector<double>> MachineMeasurement::spill_ns(const Query &query) {
    std::vector<double> ns, without, with;
    double pages = 0;
    for (size_t run = 0; run <= plan_.repeats; ++run) {
        double ms[2] = {};
        for (int small = 0; small < 2; ++small) {
            const Json done = explain("ANALYZE, TIMING OFF, BUFFERS, ",
                                      std::string(alone) + query.settings +
                                          (small ? "SET LOCAL work_mem = '1MB'; SET LOCAL hash_mem_multiplier = 1; "
                                                 : "SET LOCAL work_mem = '1GB'; "),
                                      query.sql);
            const double written = done.at(0).at("Plan").value("Temp Written Blocks", 0.0);
            if ((written > 0) != (small == 1))
                return std::nullopt;
            pages = written;
            ms[small] = done.at(0).at("Execution Time");
        }
        if (run == 0)
            continue;
        without.push_back(ms[0]);
        with.push_back(ms[1]);
        ns.push_back((ms[1] - ms[0]) * 1e6 / pages);
    }
    sample("storage", query.name, with, {{"in memory", without}, {"pages", pages}});
    return ns;
}

void MachineMeasurement::measure_writes() {
    const std::string rows = "(SELECT i, repeat('x', 90 + i % 10) AS p FROM (SELECT pg_catalog.generate_series(1, " +
                             std::to_string(std::clamp<size_t>(scratch_->rows() / 4, 20000, 200000)) +
                             ") AS i) numbers OFFSET 0)";
    const std::string plain =
        "SET LOCAL enable_sort = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_nestloop = off; ";
    struct Kind {
        Query query;
        const char *setting;
    };
    const Kind kinds[] = {
        {{"rows written down", "WITH w AS MATERIALIZED " + rows + " SELECT count(*) FROM w", plain},
         "gpuscan.seq_write_page_cost"},
        {{"batches of a hash join", "SELECT count(a.p), count(b.p) FROM " + rows + " a JOIN " + rows + " b USING (i)",
          plain},
         "gpuscan.random_write_page_cost"},
        {{"spilled groups", "SELECT count(c) FROM (SELECT i, max(p) AS c FROM " + rows + " r GROUP BY i) g", plain},
         "gpuscan.hashagg_write_page_cost"}};
    progress_.begin("temporary files", std::size(kinds));
    for (size_t k = 0; k < std::size(kinds); ++k) {
        progress_.step(k, kinds[k].query.name);
        const std::optional<std::vector<double>> ns = spill_ns(kinds[k].query);
        if (!ns) {
            note(std::string(kinds[k].setting) + " is not measured: \"" + kinds[k].query.name +
                 "\" did not write as expected");
            continue;
        }
        if (!unit_ || !session_.has_setting(kinds[k].setting)) {
            const Estimate e = median_of(*ns);
            values_.push_back({"storage", kinds[k].query.name, "ns", e.value, e.low, e.high, std::nullopt, std::nullopt,
                               true, "a page of a temporary file, written and read"});
            continue;
        }
        const double read = page_read_ns();
        std::vector<double> written;
        for (double one : *ns)
            written.push_back(one - read);
        put_setting(kinds[k].setting, "", at_least_zero(median_of(written)),
                    "a page, by what \"" + kinds[k].query.name + "\" take more than in memory");
    }
}

void MachineMeasurement::measure_storage() {
    measure_reads();
    measure_writes();
}

void MachineMeasurement::put_setting(const std::string &name, const std::string &original, const FittedWeight &ns,
                                     const std::string &words) {
    const double unit = unit_->value, doubt = (unit_->high - unit_->value) / unit;
    const auto bound = [&](double distance) { return std::hypot(distance, ns.value * doubt) / unit; };
    // A page cost of 0 would make plans equal that are not.
    const double value = std::max(ns.value / unit, name.find("page") != std::string::npos ? least_cost : 1e-5);
    const bool loaded = session_.has_setting(name);
    const std::string shown = loaded || original.empty() ? name : original;
    values_.push_back({name.find("page") != std::string::npos ? "storage" : "processor", shown, "", value,
                       std::max(ns.value / unit - bound(ns.value - ns.low), 0.0),
                       std::max(ns.value / unit + bound(ns.high - ns.value), value), setting(shown),
                       setting(shown, "boot_val"), true, words});
    if (loaded)
        asymmetric_[name] = value;
    if (!original.empty())
        original_[original] = value;
}

} // namespace calibrate
