// What does a reader of WAL cost? Reads what lies between two LSNs, as a cache that learns from WAL which of its pages have changed would
// (src/server/wal_reader.hpp; page_identity.hpp says what is done instead), and prints how many records and blocks that were, and how
// long it took; or, with --list, each block.
//
// Usage: bench/wal_references PG_WAL TIMELINE FROM TO [--list]      run as a user who may read the server's directory
// FROM and TO are LSNs as PostgreSQL writes them; the server must have flushed TO. WAL segments have 16 MB. Exit status: 0, 1 if
// WAL does not go on from FROM to TO, 2 for a wrong call.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "server/wal_reader.hpp"

namespace {

bool parse(const char *text, uint64_t *lsn) {
    unsigned high, low;
    if (sscanf(text, "%X/%X", &high, &low) != 2)
        return false;
    *lsn = uint64_t(high) << 32 | low;
    return true;
}

} // namespace

int main(int argc, char **argv) {
    const bool list = argc == 6 && strcmp(argv[5], "--list") == 0;
    uint64_t from, to;
    if ((argc != 5 && !list) || !parse(argv[3], &from) || !parse(argv[4], &to)) {
        fprintf(stderr, "usage: %s PG_WAL TIMELINE FROM TO [--list]\n", argv[0]);
        return 2;
    }
    gpuscan::WalReader reader(argv[1], {from, static_cast<uint32_t>(strtoul(argv[2], nullptr, 10)), 16u << 20});
    uint64_t blocks = 0;
    const auto began = std::chrono::steady_clock::now();
    const bool whole = reader.read(to, [&](const gpuscan::WalReference &block) {
        if (block.block == gpuscan::WalReference::whole_file)
            return;
        ++blocks;
        if (list)
            printf("%u/%u/%u %u %u\n", block.tablespace, block.database, block.relation, block.fork, block.block);
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (!whole) {
        fprintf(stderr, "%s: WAL does not go on from %llX\n", argv[0],
                static_cast<unsigned long long>(reader.position()));
        return 1;
    }
    const double records = static_cast<double>(reader.records());
    if (!list)
        printf("%.1f MB, %.0f records, %llu blocks: %.1f ms, %.0f ns a record\n", static_cast<double>(to - from) / 1e6,
               records, static_cast<unsigned long long>(blocks), seconds * 1e3,
               records > 0 ? seconds * 1e9 / records : 0);
    return 0;
}
