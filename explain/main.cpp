// gpuscan-explain: the command line. The page is made in page.hpp of what plan.hpp reads.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "bench/common/pg.hpp"
#include "page.hpp"

namespace {

constexpr char about[] =
    "Makes one page for a browser of a query's plan: the tree with the time of each node, and for GpuScan nodes where "
    "they ran, the time "
    "of each stage, the data by tier, and why a node fell back.\n"
    "\n"
    "  psql -XAt -c 'EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT JSON) SELECT ...' | gpuscan-explain >plan.html\n"
    "  gpuscan-explain plan.json --out plan.html\n"
    "  gpuscan-explain --dbname mydb --query 'SELECT ...' --out plan.html\n"
    "\n"
    "Plans may be what EXPLAIN (FORMAT JSON) or auto_explain wrote. The page needs nothing else, and has no script.";

struct Options {
    std::string file = "-", out = "-", dbname, query;
    bool only_plan = false;
};

std::string read(const std::string &name) {
    if (name == "-")
        return {std::istreambuf_iterator<char>(std::cin), {}};
    std::ifstream file(name, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file)
        throw std::runtime_error("cannot read " + name);
    return text;
}

// In a transaction that is read only and rolled back; by the extended protocol, which takes one statement only.
std::string ask_server(const Options &options) {
    pg::Connection connection(options.dbname, "gpuscan-explain");
    if (PQsetClientEncoding(connection.raw(), "UTF8") != 0)
        throw pg::Error(pg::trimmed(PQerrorMessage(connection.raw())));
    connection.exec("BEGIN READ ONLY");
    const char *const how =
        options.only_plan ? "EXPLAIN (VERBOSE, FORMAT JSON) " : "EXPLAIN (ANALYZE, VERBOSE, BUFFERS, FORMAT JSON) ";
    const pg::Result result = connection.exec(how + options.query, {});
    std::string plan = result.rows() > 0 ? result.get(0, 0) : "";
    connection.exec("ROLLBACK");
    return plan;
}

void write(const std::string &name, const std::string &page) {
    if (name == "-") {
        std::cout << page << std::flush;
        if (!std::cout)
            throw std::runtime_error("cannot write the page");
        return;
    }
    std::ofstream file(name, std::ios::binary);
    file << page;
    file.close();
    if (!file)
        throw std::runtime_error("cannot write " + name);
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app(about, "gpuscan-explain");
    app.set_help_flag("--help,-?", "this text");
    app.set_version_flag("--version", "gpuscan-explain " GPUSCAN_RELEASE);
    app.footer("Exit status: 0; 1 if the input is no plan, or something else went wrong; 2 for a wrong command line.");
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast); // as psql does
    Options options;
    auto *file = app.add_option("file", options.file, "what EXPLAIN wrote; -: standard input")->capture_default_str();
    app.add_option("-o,--out", options.out, "the page's file; -: standard output")->capture_default_str();
    auto *query =
        app.add_option("-q,--query", options.query,
                       "explain this statement, which is executed in a transaction that is read only and rolled back");
    app.add_option("-d,--dbname", options.dbname, "database, connection string or URI (PG* variables)")->needs(query);
    app.add_flag("--only-plan", options.only_plan, "do not execute it")->needs(query);
    query->excludes(file);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    try {
        const std::string text = query->count() > 0 ? ask_server(options) : read(options.file);
        write(options.out, explain::page_of(explain::read_plans(text), options.query));
        return 0;
    } catch (const std::exception &e) {
        std::string reason = e.what();
        std::replace(reason.begin(), reason.end(), '\n', ' ');
        std::fprintf(stderr, "gpuscan-explain: %s\n", reason.c_str());
        return 1;
    }
}
