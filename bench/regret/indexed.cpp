#include "indexed.hpp"

namespace bench {

static void replace_word(std::string &text, const std::string &word, const std::string &by) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size()))
        text.replace(at, word.size(), by);
}

static void surrogate(Query &q, std::optional<uint64_t>, pg::Connection &c) {
    const long rows = static_cast<long>(rows_of(c, "points"));
    replace_word(q.sql, ":few", std::to_string(rows / 500));
    replace_word(q.sql, ":many", std::to_string(rows / 5));
}

Benchmark indexed_benchmark() {
    return {"regret-run",
            "self-joins of a table with indexes",
            "bench/regret.sh",
            {"points"},
            1,
            {"range", "value", "wide", "all"},
            surrogate,
            nullptr,
            nullptr,
            nullptr};
}

} // namespace bench
