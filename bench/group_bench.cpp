// Grouping on the GPU by skew, number of groups and the way in which groups are kept, after Sitaridi & Ross, "Ameliorating
// Memory Contention of OLAP Operators on GPU Processors", section 4: Zipf's distribution with theta from 0 to 2, a 4-byte
// key and a 4-byte value, count(*) and sum. The kernels are those that queries run, through the device's interface.
//
// Prints CSV: way,theta,groups,rows,kernel_ms,wall_ms,grows_per_s,found. The ways:
//     chosen     what the product does
//     device     every row an atomic on device memory (dense) or a hash table (hash)
//     combine    the same after the rows of one group in a warp have been added up
//     single     one copy of the table in a block's shared memory; copies: as many as fit into 32 kB; large: 200 kB
//     rowwise    as chosen, but one row of a thread at a time
//     placed2/4  copies placed by the data as in section 3.1 of the paper, 2 or 4 times as many as there are groups
//     hash       chosen with keys of unknown range; hash-device: without groups in shared memory
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "../test/unit/program_builder.hpp"
#include "bench.hpp"
#include "cuda/cuda_device.hpp"

using namespace gpuscan;
using namespace gpuscan::ir;
using test::ProgramBuilder;
using namespace gpuscan::bench;

namespace {

// ---- data ----------------------------------------------------------------------------------------------------------

// Numbers 0..n-1, number i with a probability in proportion to 1 / (i + 1)^theta: Hörmann and Derflinger,
// "Rejection-inversion to generate variates from monotone discrete distributions" (1996).
class Zipf {
  public:
    Zipf(uint64_t n, double theta) : n_(static_cast<double>(n)), theta_(theta) {
        low_ = integral(1.5) - 1;
        high_ = integral(n_ + 0.5);
        sure_ = 2 - inverse(integral(2.5) - density(2));
    }
    template <class Random> uint32_t operator()(Random &random) const {
        if (theta_ == 0)
            return static_cast<uint32_t>(random() % static_cast<uint64_t>(n_));
        for (;;) {
            const double u = high_ + static_cast<double>(random() >> 11) * 0x1p-53 * (low_ - high_);
            const double x = inverse(u);
            const double k = std::min(std::max(std::floor(x + 0.5), 1.0), n_);
            if (k - x <= sure_ || u >= integral(k + 0.5) - density(k))
                return static_cast<uint32_t>(k) - 1;
        }
    }

  private:
    double density(double x) const { return std::exp(-theta_ * std::log(x)); }
    double integral(double x) const {
        const double log = std::log(x);
        return theta_ == 1 ? log : std::expm1((1 - theta_) * log) / (1 - theta_);
    }
    double inverse(double y) const {
        return theta_ == 1 ? std::exp(y) : std::exp(std::log1p(std::max(-1.0, y * (1 - theta_))) / (1 - theta_));
    }
    double n_, theta_, low_, high_, sure_;
};

struct SplitMix {
    uint64_t state;
    uint64_t operator()() {
        uint64_t z = state += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
};

template <class Work> void parallel(uint64_t n, const Work &work) {
    const unsigned workers = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < workers; ++w)
        threads.emplace_back([&, w] { work(w, n * w / workers, n * (w + 1) / workers); });
    for (std::thread &thread : threads)
        thread.join();
}

std::vector<int32_t> zipf_keys(uint64_t rows, uint64_t groups, double theta) {
    std::vector<int32_t> keys(rows);
    const Zipf zipf(groups, theta);
    parallel(rows, [&](unsigned worker, uint64_t first, uint64_t last) {
        SplitMix random{worker * 1000003ULL + groups};
        for (uint64_t i = first; i < last; ++i)
            keys[i] = static_cast<int32_t>(zipf(random));
    });
    return keys;
}

// The paper's placement (section 3.1) over a sample that is repeated: per warp and step, each lane's value gets a copy in
// a bank that no other lane uses; where none of its copies lies in one, a new copy is made as long as there is room.
// A value that cannot be placed so takes its first copy. (The paper also moves values that were placed before.)
std::vector<int32_t> place_copies(const std::vector<int32_t> &keys, uint32_t groups, uint32_t budget) {
    constexpr uint64_t sample = 1u << 20;
    constexpr uint32_t banks = 32;
    std::vector<std::vector<uint32_t>> copies(groups);
    std::vector<uint32_t> next_row(banks); // per bank: how many slots are taken
    const uint32_t slots = groups * budget;
    for (uint32_t v = 0; v < groups; ++v) {
        copies[v].push_back(v);
        next_row[v % banks] = v / banks + 1;
    }
    std::vector<int32_t> out(keys.size());
    for (uint64_t base = 0; base + 128 <= std::min<uint64_t>(sample, keys.size()); base += 128)
        for (uint64_t r = 0; r < 4; ++r) {
            uint32_t used = 0;
            for (uint64_t lane = 0; lane < 32; ++lane) {
                const uint64_t row = base + lane * 4 + r;
                std::vector<uint32_t> &own = copies[static_cast<uint32_t>(keys[row])];
                uint32_t slot = own[0];
                bool found = false;
                for (uint32_t c : own)
                    if (!(used >> (c % banks) & 1)) {
                        slot = c;
                        found = true;
                        break;
                    }
                for (uint32_t b = 0; !found && b < banks; ++b) {
                    const uint32_t bank = static_cast<uint32_t>(b + lane) % banks;
                    const uint32_t fresh = next_row[bank] * banks + bank;
                    if (used >> bank & 1 || fresh >= slots)
                        continue;
                    ++next_row[bank];
                    own.push_back(fresh);
                    slot = fresh;
                    found = true;
                }
                used |= 1u << (slot % banks);
                out[row] = static_cast<int32_t>(slot);
            }
        }
    for (uint64_t at = sample; at < out.size(); ++at)
        out[at] = out[at % sample];
    return out;
}

// ---- running -------------------------------------------------------------------------------------------------------

constexpr uint32_t chunk_rows = 1920000; // some 32672 pages of a narrow table

struct Column {
    std::vector<BufferRef> buffers;
    int64_t max = 0;
};

Column load(Device &device, const std::vector<int32_t> &values, int64_t max) {
    Column column;
    column.max = max;
    for (uint64_t first = 0; first < values.size(); first += chunk_rows) {
        const size_t bytes = std::min<uint64_t>(chunk_rows, values.size() - first) * sizeof(int32_t);
        column.buffers.push_back(device.allocate(bytes));
        device.upload(*column.buffers.back(), 0, values.data() + first, bytes);
    }
    return column;
}

std::vector<ChunkView> chunks(const Column &keys, const Column &values, uint64_t rows, bool ranged) {
    std::vector<ChunkView> out;
    for (size_t i = 0; i < keys.buffers.size(); ++i) {
        ChunkView chunk;
        chunk.nrows = static_cast<uint32_t>(std::min<uint64_t>(chunk_rows, rows - i * chunk_rows));
        for (const Column *column : {&keys, &values}) {
            ColumnView view;
            view.type = Type::I32;
            view.values = column->buffers[i]->data;
            view.has_range = ranged || column == &values;
            view.min = 0;
            view.max = column->max;
            chunk.columns.push_back(view);
        }
        out.push_back(chunk);
    }
    return out;
}

Program query() {
    ProgramBuilder b;
    SourceColumn c{};
    c.type = Type::I32;
    c.nullable = 0;
    const Index s = b.source({c, c});
    const Index key = b.column(Type::I32, 0, 0);
    const Index value = b.column(Type::I32, 0, 1);
    b.aggregate(s, {}, {}, {key}, {{AggregateKind::CountRows, none}, {AggregateKind::Sum, value}});
    return b.program;
}

void measure(CudaDevice &device, const std::string &way, double theta, uint64_t groups, uint64_t rows,
             const std::vector<ChunkView> &input, const GroupTuning &tuning, int reps) {
    device.tune_groups(tuning);
    const Program program = query();
    double best_kernel = 1e99, best_wall = 1e99;
    size_t found = 0;
    try {
        for (int rep = 0; rep <= reps; ++rep) {
            const auto start = Clock::now();
            const std::unique_ptr<Execution> execution = device.prepare(program, nullptr);
            found = execution->run_aggregate(input).ngroups;
            if (rep == 0)
                continue;
            best_wall = std::min(best_wall, ms_since(start));
            best_kernel = std::min(best_kernel, static_cast<double>(execution->stats().kernel_us) / 1000);
            if (best_wall > 2000)
                break;
        }
        printf("%s,%.2f,%llu,%llu,%.3f,%.3f,%.1f,%zu\n", way.c_str(), theta, static_cast<unsigned long long>(groups),
               static_cast<unsigned long long>(rows), best_kernel, best_wall,
               static_cast<double>(rows) / best_kernel / 1e6, found);
    } catch (const DeviceError &error) {
        printf("# %s theta %.2f groups %llu: %s\n", way.c_str(), theta, static_cast<unsigned long long>(groups),
               error.what());
    }
    fflush(stdout);
}

template <class T> std::vector<T> list(const std::string &text) {
    std::vector<T> out;
    std::stringstream stream(text);
    for (std::string item; std::getline(stream, item, ',');) {
        std::stringstream one(item);
        T value;
        one >> value;
        out.push_back(value);
    }
    return out;
}

} // namespace

int main(int argc, char **argv) {
    uint64_t rows = 1u << 27;
    int reps = 3;
    double seconds = 1e9;
    std::string cache, thetas = "0,0.5,1,1.5,2",
                       groups_list = "1,4,32,256,1024,4096,16384,65536,1048576,16777216,100000000";
    std::string ways = "chosen,device,combine,single,copies,large,rowwise,placed2,placed4,hash,hash-device";
    CLI::App app("Grouping on the GPU by skew, number of groups and the way in which groups are kept.", "group_bench");
    app.add_option("--rows", rows, "of the table")->capture_default_str();
    app.add_option("--reps", reps, "runs of each")->capture_default_str();
    app.add_option("--cache", cache, "directory of compiled kernels");
    app.add_option("--seconds", seconds, "begin no further measurement after so many");
    app.add_option("--thetas", thetas, "skews")->capture_default_str();
    app.add_option("--groups", groups_list, "numbers of groups")->capture_default_str();
    app.add_option("--ways", ways, "in which groups are kept")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    const auto start = Clock::now();
    CudaOptions options;
    options.cache_dir = cache;
    std::unique_ptr<CudaDevice> device;
    try {
        device = make_cuda_device(options);
    } catch (const DeviceError &error) {
        fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    printf("way,theta,groups,rows,kernel_ms,wall_ms,grows_per_s,found\n");
    std::vector<int32_t> values(rows);
    parallel(rows, [&](unsigned worker, uint64_t first, uint64_t last) {
        SplitMix random{worker + 77};
        for (uint64_t i = first; i < last; ++i)
            values[i] = static_cast<int32_t>(random() % 10000);
    });
    const Column value_column = load(*device, values, 9999);

    GroupTuning plain; // the product's
    GroupTuning none = plain;
    none.block_bytes = none.large_bytes = 0;
    none.cells = 0;
    GroupTuning combine = none;
    combine.combine = true;
    GroupTuning copies = plain;
    copies.large_bytes = 0;
    copies.cells = 0;
    GroupTuning single = copies;
    single.copies = 1;
    GroupTuning large = plain;
    large.min_copies = 1u << 20;
    GroupTuning rowwise = plain;
    rowwise.side_by_side = false;
    for (uint64_t groups : list<uint64_t>(groups_list))
        for (double theta : list<double>(thetas)) {
            if (groups == 1 && theta != 0)
                continue;
            const std::vector<int32_t> keys = zipf_keys(rows, groups, theta);
            const Column key_column = load(*device, keys, static_cast<int64_t>(groups) - 1);
            const std::vector<ChunkView> ranged = chunks(key_column, value_column, rows, true);
            const std::vector<ChunkView> unknown = chunks(key_column, value_column, rows, false);
            for (const std::string &way : list<std::string>(ways)) {
                if (ms_since(start) > seconds * 1000)
                    break;
                auto go = [&](const std::vector<ChunkView> &input, const GroupTuning &tuning) {
                    measure(*device, way, theta, groups, rows, input, tuning, reps);
                };
                if (way == "chosen")
                    go(ranged, plain);
                else if (way == "device")
                    go(ranged, none);
                else if (way == "combine")
                    go(ranged, combine);
                else if (way == "single" && groups * 12 <= copies.block_bytes)
                    go(ranged, single);
                else if (way == "copies" && groups * 12 <= copies.block_bytes)
                    go(ranged, copies);
                else if ((way == "copies4" || way == "copies8") && groups * 12 <= plain.large_bytes) {
                    GroupTuning few = plain;
                    few.copies = way == "copies4" ? 4 : 8;
                    go(ranged, few);
                } else if (way == "large" && groups * 12 <= large.large_bytes)
                    go(ranged, large);
                else if (way == "rowwise")
                    go(ranged, rowwise);
                else if (way == "hash")
                    go(unknown, plain);
                else if (way == "hash-device")
                    go(unknown, none);
                else if ((way == "placed2" || way == "placed4") && groups >= 32 && groups <= 4096) {
                    const uint32_t budget = way == "placed2" ? 2 : 4;
                    const Column placed = load(*device, place_copies(keys, static_cast<uint32_t>(groups), budget),
                                               static_cast<int64_t>(groups) * budget - 1);
                    GroupTuning one = large;
                    one.copies = 1;
                    measure(*device, way, theta, groups, rows, chunks(placed, value_column, rows, true), one, reps);
                }
            }
        }
    return 0;
}
