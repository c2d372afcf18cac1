// Runs a schema's queries with DuckDB, in memory: duckdb-run LIBRARY THREADS WARMUPS REPS DATA QUERIES
//   LIBRARY   libduckdb.so, opened at run time: only its C interface is used, so it may come from any package
//   DATA      has tables.sql (CREATE TABLE) and a CSV file TABLE.csv for each table
//   QUERIES   has files NAME.duckdb
// Prints a line "NAME MS ROWS" for each query: median of the counted runs, from sending to having all rows. A query that fails has
// the times and rows "-", and its message goes to standard error.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string &message) {
    std::fprintf(stderr, "DuckDB: %s\n", message.c_str());
    std::exit(2);
}

std::string contents(const fs::path &path) {
    std::ifstream file(path);
    if (!file)
        fail("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}

// duckdb_result of DuckDB's C interface: its first fields are deprecated and not read here.
struct Result {
    uint64_t deprecated_counts[3];
    void *deprecated_columns;
    char *deprecated_message;
    void *data;
};

class Database {
  public:
    Database(const char *library, const std::string &threads) : handle(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
        if (!handle)
            fail(dlerror());
        query = function<int(void *, const char *, Result *)>("duckdb_query");
        destroy = function<void(Result *)>("duckdb_destroy_result");
        row_count = function<uint64_t(Result *)>("duckdb_row_count");
        error = function<const char *(Result *)>("duckdb_result_error");
        void *config = nullptr, *database = nullptr;
        char *message = nullptr;
        if (function<int(void **)>("duckdb_create_config")(&config) != 0 ||
            function<int(void *, const char *, const char *)>("duckdb_set_config")(config, "threads",
                                                                                   threads.c_str()) != 0)
            fail("cannot set the number of threads");
        if (function<int(const char *, void **, void *, char **)>("duckdb_open_ext")(":memory:", &database, config,
                                                                                     &message) != 0)
            fail(message ? message : "cannot open a database");
        if (function<int(void *, void **)>("duckdb_connect")(database, &connection) != 0)
            fail("cannot connect");
    }

    // Runs a statement and takes all its rows: their number. On an error false, with its message.
    bool run(const std::string &statement, uint64_t &rows, std::string &message) {
        Result result = {};
        const bool done = query(connection, statement.c_str(), &result) == 0;
        if (done)
            rows = row_count(&result);
        else
            message = error(&result) ? error(&result) : "failed";
        destroy(&result);
        return done;
    }

    void run(const std::string &statement) {
        uint64_t rows;
        std::string message;
        if (!run(statement, rows, message))
            fail(message);
    }

  private:
    template <typename Signature> Signature *function(const char *name) {
        void *found = dlsym(handle, name);
        if (!found)
            fail(std::string("the library has no ") + name);
        return reinterpret_cast<Signature *>(found);
    }

    void *handle;
    void *connection = nullptr;
    int (*query)(void *, const char *, Result *) = nullptr;
    void (*destroy)(Result *) = nullptr;
    uint64_t (*row_count)(Result *) = nullptr;
    const char *(*error)(Result *) = nullptr;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<fs::path> files_of(const fs::path &folder, const char *extension) {
    std::vector<fs::path> files;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
        if (entry.path().extension() == extension)
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

void measure(Database &database, const fs::path &file, int warmups, int reps) {
    const std::string name = file.stem().string(), statement = contents(file);
    std::vector<double> times;
    uint64_t rows = 0;
    for (int i = 0; i < warmups + reps; ++i) {
        const auto start = std::chrono::steady_clock::now();
        std::string message;
        if (!database.run(statement, rows, message)) {
            std::fprintf(stderr, "DuckDB: %s: %s\n", name.c_str(), message.c_str());
            std::printf("%s - -\n", name.c_str());
            return;
        }
        if (i >= warmups)
            times.push_back(
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("%s %.3f %llu\n", name.c_str(), median(times), static_cast<unsigned long long>(rows));
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 7)
        fail("usage: duckdb-run LIBRARY THREADS WARMUPS REPS DATA QUERIES");
    const int warmups = std::atoi(argv[3]), reps = std::atoi(argv[4]);
    const fs::path data = argv[5], queries = argv[6];
    if (reps < 1)
        fail("no run to count");
    Database database(argv[1], argv[2]);
    database.run("SET TimeZone = 'UTC'");
    database.run(contents(data / "tables.sql"));
    for (const fs::path &file : files_of(data, ".csv"))
        database.run("COPY " + data.filename().string() + "." + file.stem().string() + " FROM '" + file.string() +
                     "' (HEADER, NULLSTR '')");
    for (const fs::path &file : files_of(queries, ".duckdb"))
        measure(database, file, warmups, reps);
    std::fflush(stdout);
    std::_Exit(0); // the library's own threads need no farewell
}
