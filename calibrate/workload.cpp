#include "workload.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace calibrate {
namespace {

namespace fs = std::filesystem;

// q2 before q10.
bool before(const std::string &a, const std::string &b) {
    size_t i = 0, j = 0;
    const auto digit = [](const std::string &s, size_t at) {
        return at < s.size() && std::isdigit(static_cast<unsigned char>(s[at]));
    };
    while (i < a.size() && j < b.size()) {
        if (digit(a, i) && digit(b, j)) {
            size_t m = i, n = j;
            while (digit(a, m))
                ++m;
            while (digit(b, n))
                ++n;
            const std::string x = a.substr(i, m - i), y = b.substr(j, n - j);
            if (x.size() != y.size())
                return x.size() < y.size();
            if (x != y)
                return x < y;
            i = m;
            j = n;
        } else if (a[i] != b[j]) {
            return a[i] < b[j];
        } else {
            ++i;
            ++j;
        }
    }
    return a.size() - i < b.size() - j;
}

void read_file(const fs::path &path, std::vector<Query> &queries) {
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in.is_open() || in.bad())
        throw WorkloadError("cannot read " + path.string());
    std::vector<Statement> statements;
    try {
        statements = split_statements(text);
    } catch (const StatementError &e) {
        throw WorkloadError(path.string() + ":" + std::to_string(e.line) + ": " + e.what());
    }
    for (size_t i = 0; i < statements.size(); ++i) {
        const std::string number = statements.size() > 1 ? "#" + std::to_string(i + 1) : "";
        queries.push_back({path.stem().string() + number, path.string(), std::move(statements[i])});
    }
}

} // namespace

std::vector<Query> read_workload(const std::string &path) {
    std::vector<Query> queries;
    std::error_code error;
    if (fs::is_directory(path, error)) {
        std::vector<fs::path> files;
        for (const auto &entry : fs::directory_iterator(path, error))
            if (entry.path().extension() == ".sql")
                files.push_back(entry.path());
        if (error)
            throw WorkloadError("cannot read " + path + ": " + error.message());
        std::sort(files.begin(), files.end(),
                  [](const fs::path &a, const fs::path &b) { return before(a.stem().string(), b.stem().string()); });
        for (const fs::path &file : files)
            read_file(file, queries);
        if (queries.empty())
            throw WorkloadError("empty workload: no query in " + path + "/*.sql");
        return queries;
    }
    if (!fs::exists(path, error))
        throw WorkloadError("no workload: there is no file or directory " + path);
    read_file(path, queries);
    if (queries.empty())
        throw WorkloadError("empty workload: no query in " + path);
    return queries;
}

} // namespace calibrate
