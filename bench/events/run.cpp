// events-run: measures a dashboard's questions to a web shop's events with gpuscan off and on; see common/runner.cpp.
#include "../common/runner.hpp"
#include "benchmark.hpp"

int main(int argc, char **argv) { return bench::measure(bench::events_benchmark(), argc, argv); }
