// tpch-run: measures the 22 queries of a benchmark like TPC-H with gpuscan off and on; see common/runner.cpp.
#include "../common/runner.hpp"
#include "benchmark.hpp"

int main(int argc, char **argv) { return bench::measure(bench::tpch_benchmark(), argc, argv); }
