#include "benchmark.hpp"

#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include "parameters.hpp"

namespace bench {

namespace {

std::vector<std::string> names() {
    std::vector<std::string> list;
    for (int i = 1; i <= 22; ++i)
        list.push_back("q" + std::to_string(i));
    return list;
}

// The scale factor stands in the comment that tpch-gen leaves on its tables.
double scale_factor(pg::Connection &c) {
    const std::string mark = data_set(c, "lineitem");
    const size_t at = mark.find("SF ");
    if (at == std::string::npos)
        throw pg::Error("the tables were not made by tpch-gen");
    return std::strtod(mark.c_str() + at + 3, nullptr);
}

// Names are looked up as a whole: ":size1" is not ":size" and a 1.
void surrogate(Query &q, std::optional<uint64_t> seed, pg::Connection &c) {
    const tpch::Parameters parameters = tpch::parameters(std::atoi(q.name.c_str() + 1), seed, scale_factor(c));
    std::string out;
    for (size_t at = 0; at < q.sql.size();) {
        size_t end = at + 1;
        if (q.sql[at] == ':') {
            while (end < q.sql.size() && std::isalnum(static_cast<unsigned char>(q.sql[end])))
                ++end;
            const std::string name = q.sql.substr(at + 1, end - at - 1);
            bool known = false;
            for (const auto &[key, value] : parameters)
                if (key == name) {
                    out += value;
                    known = true;
                }
            if (!known)
                throw pg::Error(q.name + ": no parameter is called '" + name + "'");
        } else {
            out += q.sql[at];
        }
        at = end;
    }
    q.sql = out;
}

} // namespace

Benchmark tpch_benchmark() {
    return {"tpch-run", "the 22 queries of a benchmark like TPC-H",
            "tpch-gen", {"lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region"},
            3,          names(),
            surrogate,  nullptr,
            nullptr,    nullptr};
}

} // namespace bench
