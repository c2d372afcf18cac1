// How fast the CUDA device runs Star Schema shaped programs on synthetic columns, and how fast it decodes pages in place.
//
// Defaults: 119,994,608 rows (SSB scale factor 20), 1,000,000 pages, 11 repetitions. For each program: the first run
// (with compilation), then the median over the repetitions of the whole execution seen by a session (wall), of all its
// time on the GPU, and of the fact pipeline's alone. Column data are random with SSB's distributions and selectivities.
#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "../test/unit/page_builder.hpp"
#include "../test/unit/program_builder.hpp"
#include "bench.hpp"
#include "cuda/cuda_device.hpp"
#include "device/semantics.cuh"
#include "engine/store/dictionary.hpp"

using namespace gpuscan;
using namespace gpuscan::ir;
using test::ProgramBuilder;
using namespace gpuscan::bench;

namespace {

// ---- tables --------------------------------------------------------------------------------------------------------

struct Column {
    std::string name;
    Type type = Type::I32;
    int64_t min = 0, max = 0;
    std::function<int64_t(uint64_t)> value; // by row
};

struct Table {
    std::vector<Column> columns;
    std::vector<ChunkView> chunks;
    std::vector<BufferRef> buffers;
    uint64_t rows = 0;

    Index index(const std::string &name) const {
        for (size_t i = 0; i < columns.size(); ++i)
            if (columns[i].name == name)
                return static_cast<Index>(i);
        abort();
    }
    std::vector<SourceColumn> source() const {
        std::vector<SourceColumn> out;
        for (const Column &c : columns) {
            SourceColumn s{};
            s.type = c.type;
            s.nullable = 0;
            out.push_back(s);
        }
        return out;
    }
};

// Random, but the same for the same row and column.
std::function<int64_t(uint64_t)> uniform(int64_t min, int64_t max) {
    static uint64_t next_seed = 1;
    const uint64_t seed = sem::hash64(next_seed++);
    return [=](uint64_t row) {
        return min + static_cast<int64_t>(sem::hash64(row ^ seed) % static_cast<uint64_t>(max - min + 1));
    };
}

Column random_column(const std::string &name, Type type, int64_t min, int64_t max) {
    return {name, type, min, max, uniform(min, max)};
}

// Chunks as large as the column cache's: the rows of 32672 pages.
void load(Device &device, Table &table, uint64_t rows, uint32_t chunk_rows, bool narrow) {
    table.rows = rows;
    for (uint64_t first = 0; first < rows; first += chunk_rows) {
        ChunkView chunk;
        chunk.nrows = static_cast<uint32_t>(std::min<uint64_t>(chunk_rows, rows - first));
        for (const Column &c : table.columns) {
            ColumnStats bounds;
            bounds.any_value = true;
            bounds.min = c.min;
            bounds.max = c.max;
            const Frame frame = narrow ? frame_for(c.type, bounds) : Frame();
            const size_t width = frame.bytes(c.type);
            std::vector<uint8_t> bytes(chunk.nrows * width + 64);
            const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
            std::vector<std::thread> threads;
            for (unsigned w = 0; w < workers; ++w)
                threads.emplace_back([&, w] {
                    for (uint64_t r = chunk.nrows * uint64_t(w) / workers; r < chunk.nrows * uint64_t(w + 1) / workers;
                         ++r) {
                        const int64_t v = c.value(first + r) - (frame.is_whole() ? 0 : frame.base);
                        memcpy(&bytes[r * width], &v, width);
                    }
                });
            for (std::thread &thread : threads)
                thread.join();
            BufferRef buffer = device.allocate(bytes.size());
            device.upload(*buffer, 0, bytes.data(), bytes.size());
            table.buffers.push_back(buffer);
            ColumnView view;
            view.type = c.type;
            view.frame = frame;
            view.values = buffer->data;
            view.has_range = true;
            view.min = c.min;
            view.max = c.max;
            chunk.columns.push_back(view);
        }
        table.chunks.push_back(chunk);
    }
}

int64_t date_key(uint64_t day) { // 2556 days from 1992-01-01 on, as yyyymmdd
    const int64_t year = 1992 + static_cast<int64_t>(day) / 366;
    const int64_t in_year = static_cast<int64_t>(day) % 366;
    return year * 10000 + (in_year / 31 + 1) * 100 + in_year % 31 + 1;
}

// ---- programs ------------------------------------------------------------------------------------------------------

struct Bench {
    std::string name;
    Program program;
    std::vector<const Table *> sources; // by source of the program
};

struct Star {
    Table lineorder, date, customer, supplier, part;
};

struct Query {
    ProgramBuilder b;
    std::vector<const Table *> sources;

    Index source(const Table &table) {
        sources.push_back(&table);
        return b.source(table.source());
    }
    Index column(const Table &table, const std::string &name) {
        const Index i = table.index(name);
        return b.column(table.columns[i].type, 0, i);
    }
    Index is(const Table &table, const std::string &name, int64_t value, Op op = Op::Eq) {
        const Index c = column(table, name);
        const Index k = b.constant(table.columns[table.index(name)].type, value);
        return b.compare(op, c, k);
    }
    Index dimension(const Table &table, const std::string &key, const std::vector<Index> &conjuncts,
                    const std::vector<std::string> &payload, Index s) {
        std::vector<ProgramBuilder::ConjunctSpec> specs;
        for (Index c : conjuncts)
            specs.push_back({c, 0});
        std::vector<Index> columns;
        for (const std::string &name : payload)
            columns.push_back(column(table, name));
        return b.build(s, specs, {}, {column(table, key)}, columns);
    }
    Bench done(const std::string &name) { return {name, b.program, sources}; }
};

Bench q1_1(const Star &s) {
    Query q;
    const Index d = q.source(s.date), l = q.source(s.lineorder);
    const Index date = q.dimension(s.date, "datekey", {q.is(s.date, "year", 1993)}, {}, d);
    const Index low = q.is(s.lineorder, "discount", 1, Op::Ge), high = q.is(s.lineorder, "discount", 3, Op::Le);
    const Index few = q.is(s.lineorder, "quantity", 25, Op::Lt);
    const Index price = q.b.expr(Op::Cast, Type::I64, q.column(s.lineorder, "extendedprice"));
    const Index discount = q.b.expr(Op::Cast, Type::I64, q.column(s.lineorder, "discount"));
    const Index product = q.b.expr(Op::Mul, Type::I64, price, discount);
    const Index key = q.column(s.lineorder, "orderdate");
    q.b.aggregate(l, {{low}, {high}, {few}}, {{date, {key}}}, {}, {{AggregateKind::Sum, product}});
    return q.done("Q1.1");
}

Bench q2_1(const Star &s) {
    Query q;
    const Index p = q.source(s.part), u = q.source(s.supplier), d = q.source(s.date), l = q.source(s.lineorder);
    const Index part = q.dimension(s.part, "partkey", {q.is(s.part, "category", 7)}, {"brand"}, p);
    const Index supplier = q.dimension(s.supplier, "suppkey", {q.is(s.supplier, "region", 1)}, {}, u);
    const Index date = q.dimension(s.date, "datekey", {}, {"year"}, d);
    const Index k1 = q.column(s.lineorder, "partkey"), k2 = q.column(s.lineorder, "suppkey"),
                k3 = q.column(s.lineorder, "orderdate");
    const Index year = q.b.column(Type::I32, 3, 0), brand = q.b.column(Type::Code, 1, 0);
    q.b.aggregate(l, {}, {{part, {k1}}, {supplier, {k2}}, {date, {k3}}}, {year, brand},
                  {{AggregateKind::Sum, q.column(s.lineorder, "revenue")}});
    return q.done("Q2.1");
}

Bench q3_1(const Star &s) {
    Query q;
    const Index c = q.source(s.customer), u = q.source(s.supplier), d = q.source(s.date), l = q.source(s.lineorder);
    const Index supplier = q.dimension(s.supplier, "suppkey", {q.is(s.supplier, "region", 2)}, {"nation"}, u);
    const Index customer = q.dimension(s.customer, "custkey", {q.is(s.customer, "region", 2)}, {"nation"}, c);
    const Index date = q.dimension(s.date, "datekey", {q.is(s.date, "year", 1997, Op::Le)}, {"year"}, d);
    const Index k1 = q.column(s.lineorder, "suppkey"), k2 = q.column(s.lineorder, "custkey"),
                k3 = q.column(s.lineorder, "orderdate");
    const Index s_nation = q.b.column(Type::Code, 1, 0), c_nation = q.b.column(Type::Code, 2, 0),
                year = q.b.column(Type::I32, 3, 0);
    q.b.aggregate(l, {}, {{supplier, {k1}}, {customer, {k2}}, {date, {k3}}}, {c_nation, s_nation, year},
                  {{AggregateKind::Sum, q.column(s.lineorder, "revenue")}});
    return q.done("Q3.1");
}

Bench q4_1(const Star &s) {
    Query q;
    const Index c = q.source(s.customer), u = q.source(s.supplier), p = q.source(s.part), d = q.source(s.date),
                l = q.source(s.lineorder);
    const Index supplier = q.dimension(s.supplier, "suppkey", {q.is(s.supplier, "region", 1)}, {}, u);
    const Index customer = q.dimension(s.customer, "custkey", {q.is(s.customer, "region", 1)}, {"nation"}, c);
    const Index part = q.dimension(s.part, "partkey", {q.is(s.part, "mfgr", 1, Op::Le)}, {}, p);
    (void)p;
    const Index date = q.dimension(s.date, "datekey", {}, {"year"}, d);
    const Index k1 = q.column(s.lineorder, "suppkey"), k2 = q.column(s.lineorder, "custkey"),
                k3 = q.column(s.lineorder, "partkey"), k4 = q.column(s.lineorder, "orderdate");
    const Index year = q.b.column(Type::I32, 4, 0), nation = q.b.column(Type::Code, 2, 0);
    const Index revenue = q.column(s.lineorder, "revenue"), cost = q.column(s.lineorder, "supplycost");
    const Index profit = q.b.expr(Op::Sub, Type::I32, revenue, cost);
    q.b.aggregate(l, {}, {{supplier, {k1}}, {customer, {k2}}, {part, {k3}}, {date, {k4}}}, {year, nation},
                  {{AggregateKind::Sum, profit}});
    return q.done("Q4.1");
}

// Every row in one of few, many, very many groups: shared memory, device memory, hash.
Bench group_by(const Star &s, const std::string &name, const std::string &key, bool ranged) {
    Query q;
    const Index l = q.source(s.lineorder);
    Index k = q.column(s.lineorder, key);
    if (!ranged) { // a product of unknown range
        const Index one = q.b.constant(Type::I32, 1);
        k = q.b.expr(Op::Cast, Type::I32, q.b.expr(Op::Cast, Type::F64, q.b.expr(Op::Mul, Type::I32, k, one)));
    }
    q.b.aggregate(l, {}, {}, {k},
                  {{AggregateKind::CountRows, none}, {AggregateKind::Sum, q.column(s.lineorder, "revenue")}});
    return q.done(name);
}

void run(Device &device, const Bench &bench, int reps) {
    std::vector<double> wall, gpu, fact;
    double first = 0;
    size_t groups = 0;
    ExecutionStats last;
    for (int rep = 0; rep <= reps; ++rep) {
        const auto start = Clock::now();
        std::unique_ptr<Execution> execution = device.prepare(bench.program, nullptr);
        for (Index p = 0; p + 1 < bench.program.pipelines.size(); ++p) {
            execution->run_build(p, bench.sources[bench.program.pipelines[p].source]->chunks);
            execution->finish_build(p);
        }
        const uint64_t before = execution->stats().kernel_us;
        groups = execution->run_aggregate(bench.sources[bench.program.main().source]->chunks).ngroups;
        const double ms = ms_since(start);
        last = execution->stats();
        if (rep == 0) {
            first = ms;
            continue;
        }
        wall.push_back(ms);
        gpu.push_back(static_cast<double>(last.kernel_us) / 1000);
        fact.push_back(static_cast<double>(last.kernel_us - before) / 1000);
    }
    printf("%-12s first %8.1f ms   wall %7.3f ms   gpu %7.3f ms   fact %7.3f ms   %zu groups (%s), %llu rows",
           bench.name.c_str(), first, median(wall), median(gpu), median(fact), groups, last.grouping.c_str(),
           static_cast<unsigned long long>(last.rows_out));
    for (const std::string &join : last.joins)
        printf("; %s", join.c_str());
    printf("\n");
    fflush(stdout);
}

// ---- decoding ------------------------------------------------------------------------------------------------------

// Lineorder's tuples: 17 attributes, some 60 to a page.
pages::Page lineorder_page(std::mt19937 &random, const std::vector<AttributeLayout> &layout) {
    pages::Page page;
    static const char *const modes[] = {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};
    for (;;) {
        std::vector<pages::Value> values;
        for (size_t i = 0; i < layout.size(); ++i)
            values.push_back(layout[i].length == 4 ? pages::fixed<int32_t>(static_cast<int32_t>(random() % 1000000))
                                                   : pages::short_text(modes[random() % 7]));
        if (!page.add(layout, values))
            return page;
    }
}

void decode(CudaDevice &device, const uint8_t *pool, size_t npages, const std::vector<AttributeLayout> &attributes,
            const std::vector<uint16_t> &tuples, size_t kinds, int reps) {
    const std::vector<std::pair<const char *, std::vector<size_t>>> wishes = {
        {"4 int columns", {5, 8, 9, 11}}, {"8 int columns", {2, 3, 4, 5, 8, 9, 12, 13}}, {"2 int, 1 text", {5, 9, 16}}};
    for (const auto &[name, columns] : wishes) {
        std::vector<ColumnLayout> layouts(columns.size());
        std::vector<std::unique_ptr<Dictionary>> dictionaries(columns.size());
        for (size_t i = 0; i < columns.size(); ++i) {
            layouts[i].attributes.assign(attributes.begin(), attributes.begin() + static_cast<long>(columns[i]) + 1);
            if (attributes[columns[i]].length == -1) {
                layouts[i].codec = Codec::Text;
                layouts[i].type = Type::Code;
                dictionaries[i] = std::make_unique<Dictionary>(100000, size_t(1) << 24);
            }
        }
        std::vector<double> rates;
        for (int rep = 0; rep <= reps; ++rep) {
            const auto start = Clock::now();
            for (size_t first = 0; first < npages; first += pages_per_chunk) {
                DecodeJob job;
                uint32_t rows = 0;
                for (size_t p = first; p < std::min<size_t>(npages, first + pages_per_chunk); ++p) {
                    PageRef ref{};
                    ref.page = pool + p * page_size;
                    ref.row_start = rows;
                    ref.ntuples = tuples[p % kinds];
                    ref.in_place = 1;
                    rows += ref.ntuples;
                    job.pages.push_back(ref);
                }
                std::vector<BufferRef> buffers;
                for (size_t i = 0; i < columns.size(); ++i) {
                    buffers.push_back(device.allocate(rows * 4));
                    buffers.push_back(device.allocate(rows));
                    job.columns.push_back(
                        {&layouts[i], buffers[2 * i].get(), buffers[2 * i + 1].get(), dictionaries[i].get()});
                }
                DecodeResult result;
                device.decode(job, result, nullptr);
                for (PageStatus status : result.pages)
                    if (status != PageStatus::Ok) {
                        printf("a page did not decode (%d)\n", static_cast<int>(status));
                        return;
                    }
            }
            if (rep > 0)
                rates.push_back(static_cast<double>(npages) * page_size / ms_since(start) / 1e6);
        }
        std::sort(rates.begin(), rates.end());
        printf("decode in place, %-15s %6.1f GB/s median, %6.1f best\n", name, rates[rates.size() / 2], rates.back());
        fflush(stdout);
    }
}

} // namespace

int main(int argc, char **argv) {
    uint64_t rows = 119994608;
    size_t npages = 1000000;
    int reps = 11;
    std::string cache, only;
    bool narrow = true;
    CLI::App app("How fast the CUDA device runs Star Schema shaped programs, and decodes pages.", "cuda_bench");
    app.add_option("--rows", rows, "of the table of facts")->capture_default_str();
    app.add_option("--pages", npages, "that are decoded")->capture_default_str();
    app.add_option("--reps", reps, "runs of each program")->capture_default_str();
    app.add_option("--cache", cache, "directory of compiled kernels");
    app.add_option("--only", only, "one of the programs, or decode");
    app.add_option("--narrow", narrow, "columns in the narrowest frames, as the cache stores them")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    setvbuf(stdout, nullptr, _IOLBF, 0);

    // The pool: a few kinds of pages, repeated.
    constexpr size_t kinds = 64;
    std::vector<AttributeLayout> attributes(17, AttributeLayout{4, 4, 0});
    attributes[6] = attributes[16] = AttributeLayout{-1, 4, 0};
    std::mt19937 random(1);
    std::vector<pages::Page> samples;
    std::vector<uint16_t> tuples;
    for (size_t k = 0; k < kinds; ++k) {
        samples.push_back(lineorder_page(random, attributes));
        tuples.push_back(samples.back().tuples);
    }
    const size_t pool_bytes = npages * page_size;
    uint8_t *pool = nullptr;
    if (npages > 0) {
        pool = static_cast<uint8_t *>(
            mmap(nullptr, pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        madvise(pool, pool_bytes, MADV_HUGEPAGE);
        const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
        std::vector<std::thread> threads;
        for (unsigned w = 0; w < workers; ++w)
            threads.emplace_back([&, w] {
                for (size_t p = npages * w / workers; p < npages * (w + 1) / workers; ++p)
                    memcpy(pool + p * page_size, samples[p % kinds].bytes, page_size);
            });
        for (std::thread &thread : threads)
            thread.join();
    }

    CudaOptions options;
    options.cache_dir = cache;
    options.pool = pool;
    options.pool_bytes = pool_bytes;
    std::unique_ptr<CudaDevice> device;
    const auto start = Clock::now();
    try {
        device = make_cuda_device(options);
    } catch (const DeviceError &error) {
        printf("no CUDA device: %s\n", error.what());
        return 1;
    }
    printf("%s, started in %.0f ms, pool of %.1f GB: %s\n", device->info().name.c_str(), ms_since(start),
           static_cast<double>(pool_bytes) / 1e9,
           device->register_note.empty() ? "registered" : device->register_note.c_str());
    if (npages > 0 && (only.empty() || only == "decode"))
        decode(*device, pool, npages, attributes, tuples, kinds, std::min(reps, 3));
    if (rows == 0 || only == "decode")
        return 0;

    const uint64_t scale = std::max<uint64_t>(1, rows / 6000000);
    const int64_t customers = static_cast<int64_t>(30000 * scale), suppliers = static_cast<int64_t>(2000 * scale);
    int64_t parts = 200000;
    for (uint64_t s = scale; s > 1; s /= 2)
        parts += 200000;
    Star star;
    const auto order_day = uniform(0, 2405);
    star.lineorder.columns = {{"orderdate", Type::I32, 19920101, 19981231,
                               [=](uint64_t r) { return date_key(static_cast<uint64_t>(order_day(r))); }},
                              random_column("custkey", Type::I32, 1, customers),
                              random_column("partkey", Type::I32, 1, parts),
                              random_column("suppkey", Type::I32, 1, suppliers),
                              random_column("quantity", Type::I32, 1, 50),
                              random_column("discount", Type::I32, 0, 10),
                              random_column("extendedprice", Type::I32, 90000, 10494950),
                              random_column("revenue", Type::I32, 81360, 10474950),
                              random_column("supplycost", Type::I32, 54000, 125939)};
    star.date.columns = {{"datekey", Type::I32, 19920101, 19981231, [](uint64_t r) { return date_key(r); }},
                         {"year", Type::I32, 1992, 1998, [](uint64_t r) { return date_key(r) / 10000; }}};
    auto key = [](const char *name, int64_t n) {
        return Column{name, Type::I32, 1, n, [](uint64_t r) { return static_cast<int64_t>(r) + 1; }};
    };
    auto place = [](Table &table, Column first) {
        const auto nation = uniform(0, 24);
        table.columns = {std::move(first),
                         {"nation", Type::Code, 0, 24, nation},
                         {"region", Type::Code, 0, 4, [nation](uint64_t r) { return nation(r) / 5; }}};
    };
    place(star.customer, key("custkey", customers));
    place(star.supplier, key("suppkey", suppliers));
    const auto brand = uniform(0, 999);
    star.part.columns = {key("partkey", parts),
                         {"brand", Type::Code, 0, 999, brand},
                         {"category", Type::Code, 0, 24, [brand](uint64_t r) { return brand(r) / 40; }},
                         {"mfgr", Type::I32, 0, 4, [brand](uint64_t r) { return brand(r) / 200; }}};
    const auto load_start = Clock::now();
    const uint32_t chunk_rows = 2000000; // some 32672 pages of lineorder
    load(*device, star.lineorder, rows, chunk_rows, narrow);
    load(*device, star.date, 2556, chunk_rows, narrow);
    load(*device, star.customer, static_cast<uint64_t>(customers), chunk_rows, narrow);
    load(*device, star.supplier, static_cast<uint64_t>(suppliers), chunk_rows, narrow);
    load(*device, star.part, static_cast<uint64_t>(parts), chunk_rows, narrow);
    printf("%llu rows in %zu chunks loaded in %.1f s, %.1f GB on the device\n", static_cast<unsigned long long>(rows),
           star.lineorder.chunks.size(), ms_since(load_start) / 1000,
           static_cast<double>(device->info().memory_used) / 1e9);
    for (const Bench &bench :
         {q1_1(star), q2_1(star), q3_1(star), q4_1(star), group_by(star, "group 11", "discount", true),
          group_by(star, "group 2406", "orderdate", true), group_by(star, "group 600k", "custkey", true),
          group_by(star, "hash 50", "quantity", false), group_by(star, "hash 600k", "custkey", false)}) {
        if (!only.empty() && only != bench.name)
            continue;
        try {
            run(*device, bench, reps);
        } catch (const DeviceError &error) {
            printf("%-12s failed: %s\n", bench.name.c_str(), error.what());
        }
    }
    return 0;
}
