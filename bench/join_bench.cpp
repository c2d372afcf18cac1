// The experiments of Kaldewey, Lohman, Mueller, Volk, "GPU Join Processing Revisited" (DaMoN 2012), by the engine's own
// generated kernels: tables of 8-byte tuples (4 bytes of key, 4 of payload, as columns) in pinned host memory, read over
// the link; the hash table in device memory; the result (key's payload on both sides, and the key) in host memory again.
//
//     size     figures 3 and 4: both tables of the same size, 2^16 to 2^27 rows, 3 % match
//     match    figure 5: 2^26 rows each, 1 to 100 % match; the result through the result cache or row by row, into device
//              memory and then copied or straight to host memory
//     ratio    figure 6: builds of 1, 4, 16 and 64 M rows, probes of 1 M to 2^28, 3 % match
//     resident as match, with both tables in device memory: what the ways of the result are worth without the link's other
//              direction being busy
//     group    join and group by: 2^26 rows each, 100 % match, the sum of the probe's payload in 1,000 groups of the build's
//
// Keys are a permutation of 32-bit numbers without order ("hash"), or of 0..n-1 ("dense": the table is indexed by key). A
// probe row without a match has a key outside the build's. As in the paper GB/s are bytes of input tables over time, and
// "end to end" counts all input bytes over the time of the whole join, tables in host memory before and result after it.
// Standard output is CSV; one line a configuration, medians.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "../test/unit/program_builder.hpp"
#include "bench.hpp"
#include "cuda/cuda_device.hpp"
#include "cuda/driver.hpp"
#include "device/semantics.cuh"

using namespace gpuscan;
using namespace gpuscan::ir;
using test::ProgramBuilder;
using namespace gpuscan::bench;

namespace {

// Pinned memory that the GPU reads where it stands.
class HostColumn {
  public:
    HostColumn(const cuda::Driver &driver, uint64_t rows) : driver_(driver) {
        driver.check(driver.cuMemHostAlloc(&data_, std::max<uint64_t>(rows, 4) * 4, cuda::host_alloc_portable),
                     "cuMemHostAlloc");
    }
    ~HostColumn() { driver_.cuMemFreeHost(data_); }
    HostColumn(const HostColumn &) = delete;
    HostColumn &operator=(const HostColumn &) = delete;
    int32_t *data() { return static_cast<int32_t *>(data_); }

  private:
    const cuda::Driver &driver_;
    void *data_ = nullptr;
};

struct Table {
    Table(const cuda::Driver &driver, uint64_t rows) : key(driver, rows), payload(driver, rows) {}
    HostColumn key, payload;
    BufferRef resident[2]; // copies in device memory, if they are to be read

    void make_resident(Device &device, uint64_t rows) {
        HostColumn *const columns[] = {&key, &payload};
        for (int i = 0; i < 2; ++i) {
            resident[i] = device.allocate(rows * 4);
            device.upload(*resident[i], 0, columns[i]->data(), rows * 4);
        }
    }

    // Chunks over the first `rows` rows.
    std::vector<ChunkView> chunks(uint64_t rows) {
        std::vector<ChunkView> out;
        for (uint64_t first = 0; first < rows; first += 1u << 30) {
            ChunkView chunk;
            chunk.nrows = static_cast<uint32_t>(std::min<uint64_t>(1u << 30, rows - first));
            HostColumn *const columns[] = {&key, &payload};
            for (int i = 0; i < 2; ++i) {
                ColumnView view;
                view.values = (resident[i] ? static_cast<int32_t *>(resident[i]->data) : columns[i]->data()) + first;
                chunk.columns.push_back(view);
            }
            out.push_back(chunk);
        }
        return out;
    }
};

void parallel(uint64_t n, const std::function<void(uint64_t, uint64_t)> &work) {
    const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < workers; ++w)
        threads.emplace_back([&, w] { work(n * w / workers, n * (w + 1) / workers); });
    for (std::thread &thread : threads)
        thread.join();
}

// Number i's key, without an order in i. Dense: below n (a power of two); else any 32 bits but never the same twice, of
// which numbers from n on are the keys without a match.
int32_t key_of(uint64_t i, uint64_t n, bool dense) {
    if (dense) // an odd factor permutes the residues of a power of two
        return static_cast<int32_t>(i < n ? (i * 2654435761u + 12345) & (n - 1) : i);
    return static_cast<int32_t>(static_cast<uint32_t>(i * 2654435761u + 12345));
}

void fill_build(Table &table, uint64_t n, bool dense) {
    parallel(n, [&](uint64_t from, uint64_t to) {
        for (uint64_t i = from; i < to; ++i) {
            table.key.data()[i] = key_of(i, n, dense);
            table.payload.data()[i] = static_cast<int32_t>(i);
        }
    });
}

// Answers how many rows have a match.
uint64_t fill_probe(Table &table, uint64_t rows, uint64_t build, unsigned match, bool dense) {
    std::atomic<uint64_t> hits{0};
    parallel(rows, [&](uint64_t from, uint64_t to) {
        uint64_t own = 0;
        for (uint64_t i = from; i < to; ++i) {
            const uint64_t r = sem::hash64(i + 1);
            const bool hit = r % 100 < match;
            own += hit;
            const uint64_t number = (r >> 8) % build;
            table.key.data()[i] = key_of(hit ? number : build + number, build, dense);
            table.payload.data()[i] = static_cast<int32_t>(i);
        }
        hits += own;
    });
    return hits;
}

Program join_program(bool grouped) {
    ProgramBuilder b;
    SourceColumn c{};
    c.type = Type::I32;
    c.nullable = 0;
    const Index build = b.source({c, c}), probe = b.source({c, c});
    const Index key = b.column(Type::I32, 0, 0), payload = b.column(Type::I32, 0, 1);
    Index kept = payload;
    if (grouped)
        kept = b.expr(Op::Mod, Type::I32, payload, b.constant(Type::I32, 1000));
    const Index table = b.build(build, {}, {}, {key}, {kept});
    const Index other = b.column(Type::I32, 1, 0);
    if (grouped)
        b.aggregate(probe, {}, {{table, {key}}}, {other}, {{AggregateKind::Sum, payload}});
    else
        b.rows(probe, {}, {{table, {key}}}, {key, payload, other});
    return b.program;
}

// What the link gives a kernel: a sum over both columns.
Program scan_program() {
    ProgramBuilder b;
    SourceColumn c{};
    c.type = Type::I32;
    c.nullable = 0;
    const Index s = b.source({c, c});
    b.aggregate(s, {}, {}, {},
                {{AggregateKind::Max, b.column(Type::I32, 0, 0)}, {AggregateKind::Max, b.column(Type::I32, 0, 1)}});
    return b.program;
}

struct Path {
    const char *name;
    bool cache, to_host;
};

struct Devices {
    std::vector<std::pair<Path, std::unique_ptr<CudaDevice>>> all;
    CudaDevice &of(const std::string &name) {
        for (auto &device : all)
            if (name == device.first.name)
                return *device.second;
        abort();
    }
};

constexpr int warm_ups = 2;

struct Experiment {
    const char *name;
    bool dense;
    uint64_t build, probe;
    unsigned match;
    const char *path;
    bool grouped = false;
    bool resident = false;
};

void run(Devices &devices, Table &build, Table &probe, const Experiment &e, int reps) {
    static Experiment filled{}; // what stands in the tables
    static uint64_t want = 0;   // rows of the result
    if (filled.build != e.build || filled.probe != e.probe || filled.match != e.match || filled.dense != e.dense) {
        filled = e;
        fill_build(build, e.build, e.dense);
        want = fill_probe(probe, e.probe, e.build, e.match, e.dense);
    }
    CudaDevice &device = devices.of(e.path);
    if (e.resident) {
        build.make_resident(device, e.build);
        probe.make_resident(device, e.probe);
    }
    const Program program = join_program(e.grouped);
    std::vector<double> builds, probes, walls;
    uint64_t rows = 0;
    for (int rep = 0; rep < reps + warm_ups; ++rep) {
        const auto start = Clock::now();
        const std::unique_ptr<Execution> execution = device.prepare(program, nullptr);
        execution->run_build(0, build.chunks(e.build));
        execution->finish_build(0);
        const double built = ms_since(start);
        RowTable result;
        if (e.grouped)
            execution->run_aggregate(probe.chunks(e.probe));
        else
            result = execution->run_rows(probe.chunks(e.probe));
        const double all = ms_since(start);
        rows = execution->stats().rows_out;
        if (rep < warm_ups)
            continue;
        builds.push_back(built);
        probes.push_back(all - built);
        walls.push_back(all);
    }
    const double build_ms = median(builds), probe_ms = median(probes), wall_ms = median(walls);
    const double build_bytes = 8.0 * static_cast<double>(e.build), probe_bytes = 8.0 * static_cast<double>(e.probe);
    const double result_bytes = e.grouped ? 0 : 12.0 * static_cast<double>(rows);
    printf("%s,%s,%s,%llu,%llu,%u,%llu,%.3f,%.3f,%.3f,%.2f,%.2f,%.2f,%.2f%s\n", e.name, e.dense ? "dense" : "hash",
           e.path, static_cast<unsigned long long>(e.build), static_cast<unsigned long long>(e.probe), e.match,
           static_cast<unsigned long long>(rows), build_ms, probe_ms, wall_ms, build_bytes / build_ms / 1e6,
           probe_bytes / probe_ms / 1e6, result_bytes / probe_ms / 1e6, (build_bytes + probe_bytes) / wall_ms / 1e6,
           rows == want ? "" : ",wrong");
    if (rows != want)
        fprintf(stderr, "%llu rows instead of %llu\n", static_cast<unsigned long long>(rows),
                static_cast<unsigned long long>(want));
}

} // namespace

int main(int argc, char **argv) {
    std::string wish, kernels;
    int reps = 5;
    unsigned largest = 27;
    CLI::App app("The experiments of Kaldewey, Lohman, Mueller, Volk, \"GPU Join Processing Revisited\".",
                 "join_bench");
    app.add_option("experiment", wish)
        ->required()
        ->check(CLI::IsMember({"size", "match", "resident", "ratio", "group"}));
    app.add_option("--reps", reps, "runs of each")->capture_default_str()->check(CLI::PositiveNumber);
    app.add_option("--cache", kernels, "directory of compiled kernels");
    app.add_option("--largest", largest, "exponent of the largest tables of size")
        ->capture_default_str()
        ->check(CLI::Range(16, 28));
    CLI11_PARSE(app, argc, argv);
    setvbuf(stdout, nullptr, _IOLBF, 0);
    Devices devices;
    const Path paths[] = {{"cache-host", true, true},
                          {"cache-device", true, false},
                          {"plain-host", false, true},
                          {"plain-device", false, false}};
    try {
        for (const Path &path : paths) {
            if (wish != "match" && wish != "resident" && !path.cache)
                continue;
            CudaOptions options;
            options.cache_dir = kernels;
            options.row_cache = path.cache;
            options.rows_to_host = path.to_host;
            devices.all.emplace_back(path, make_cuda_device(options));
        }
        const std::shared_ptr<cuda::Driver> driver = cuda::Driver::open();
        devices.of("cache-host").allocate(16); // makes the context current
        const uint64_t most = uint64_t(1) << largest, middle = uint64_t(1) << std::min(26u, largest);
        const uint64_t probes = wish == "size" ? most : wish == "ratio" ? 2 * most : middle;
        Table build(*driver, wish == "size" ? most : middle), probe(*driver, probes);

        printf("experiment,keys,path,build_rows,probe_rows,match,rows,build_ms,probe_ms,wall_ms,build_gbs,probe_gbs,"
               "result_gbs,end_to_end_gbs\n");
        fill_build(probe, middle, true);
        std::vector<double> scans;
        for (int rep = 0; rep < reps + warm_ups; ++rep) {
            const auto start = Clock::now();
            devices.of("cache-host").prepare(scan_program(), nullptr)->run_aggregate(probe.chunks(middle));
            if (rep >= warm_ups)
                scans.push_back(ms_since(start));
        }
        printf("link,,,0,%llu,0,0,0,%.3f,%.3f,0,%.2f,0,%.2f\n", static_cast<unsigned long long>(middle), median(scans),
               median(scans), 8.0 * static_cast<double>(middle) / median(scans) / 1e6,
               8.0 * static_cast<double>(middle) / median(scans) / 1e6);
        for (bool dense : {false, true}) {
            if (wish == "size")
                for (uint64_t n = 1u << 16; n <= most; n *= 2)
                    run(devices, build, probe, {"size", dense, n, n, 3, "cache-host"}, reps);
            if (wish == "match")
                for (unsigned match : {1u, 3u, 5u, 10u, 20u, 30u, 50u, 70u, 100u})
                    for (const Path &path : paths)
                        run(devices, build, probe, {"match", dense, middle, middle, match, path.name}, reps);
            if (wish == "resident" && !dense)
                for (unsigned match : {1u, 3u, 10u, 30u, 100u})
                    for (const Path &path : paths)
                        run(devices, build, probe, {"resident", dense, middle, middle, match, path.name, false, true},
                            reps);
            if (wish == "ratio")
                for (uint64_t n = 1u << 20; n <= middle; n *= 4)
                    for (uint64_t p = 1u << 20; p <= probes; p *= 4)
                        run(devices, build, probe, {"ratio", dense, n, p, 3, "cache-host"}, reps);
            if (wish == "group")
                for (uint64_t n = 1u << 16; n <= middle; n *= 4)
                    run(devices, build, probe, {"group", dense, n, middle, 100, "cache-host", true}, reps);
        }
    } catch (const DeviceError &error) {
        fprintf(stderr, "join_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
