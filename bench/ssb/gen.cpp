// ssb-gen: creates and loads the tables of the Star Schema Benchmark.
#include "tables.hpp"

int main(int argc, char **argv) {
    const auto tables = [](double sf, uint64_t seed) { return bench::ssb_tables(sf, seed, false); };
    return bench::generate({"ssb-gen", "Star Schema Benchmark", "lineorder, customer, supplier, part, date", 19920101,
                            "6 million line orders", tables},
                           argc, argv);
}
