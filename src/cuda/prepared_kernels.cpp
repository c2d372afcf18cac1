// Kernels by what they are generated from; see prepared_kernels.hpp.
#include "cuda/prepared_kernels.hpp"

#include <type_traits>

namespace gpuscan::cuda {
namespace {

constexpr size_t max_prepared = 1000; // then all are forgotten; the kernel cache still has them

template <class T> void put(std::string &to, const T &value) {
    static_assert(std::is_arithmetic<T>::value || std::is_enum<T>::value, "no padding");
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

// Arrays of the program are sent and compared as bytes (engine/ir/program.hpp): their padding is zero, or the key misses.
template <class T> void put(std::string &to, const std::vector<T> &values) {
    static_assert(std::is_trivially_copyable<T>::value, "plain data");
    put(to, values.size());
    to.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

} // namespace

std::string PreparedKernels::shape_of(const Program &program) {
    const auto &[exprs, constants, lookups, sources, source_columns, conjuncts, joins, lists, aggregates, pipelines,
                 sets, distincts, orders, windows, window_functions, ordered_sets] =
        program;                                               // (every member: a new one does not compile here)
    (void)windows, (void)window_functions, (void)ordered_sets; // of rows that kernels have made
    std::string shape;
    put(shape, exprs);
    put(shape, constants.size());
    for (const ir::Constant &constant : constants) {
        put(shape, constant.type);
        put(shape, constant.null);
    }
    put(shape, lookups);
    put(shape, sources);
    put(shape, source_columns);
    put(shape, conjuncts);
    put(shape, joins);
    put(shape, lists);
    put(shape, aggregates);
    put(shape, pipelines);
    put(shape, sets);
    put(shape, distincts);
    put(shape, orders);
    return shape;
}

std::string PreparedKernels::key(const std::string &program, const codegen::Request &request) {
    const auto &[request_program, pipeline, source_nullable, source_form, lookup_nullable, tables, probe_order, group,
                 row_cache, tried] = request;
    (void)request_program; // stands in `program`
    std::string key = program;
    put(key, pipeline);
    put(key, source_nullable);
    put(key, source_form);
    put(key, lookup_nullable);
    put(key, tables.size());
    for (const codegen::TableShape *table : tables) {
        const auto &[kind, unique, entry_bytes, exact_tag, by_low, by_reach, keys, payload, payload_nullable] = *table;
        put(key, kind);
        put(key, unique);
        put(key, entry_bytes);
        put(key, exact_tag);
        put(key, by_low);
        put(key, by_reach);
        put(key, keys);
        put(key, payload);
        put(key, payload_nullable);
    }
    put(key, probe_order);
    const auto &[grouping, threads, cells, copies, side_by_side, combine, count_only, values, sums] = group;
    put(key, grouping);
    put(key, threads);
    put(key, cells);
    put(key, copies);
    put(key, side_by_side);
    put(key, combine);
    put(key, count_only);
    put(key, values);
    put(key, sums);
    put(key, row_cache);
    put(key, tried);
    return key;
}

codegen::Kernel PreparedKernels::generate(const std::string &program, const codegen::Request &request) {
    std::string wanted = key(program, request);
    {
        std::lock_guard<std::mutex> guard(lock_);
        const auto found = generated_.find(wanted);
        if (found != generated_.end())
            return *found->second;
    }
    auto kernel = std::make_shared<const codegen::Kernel>(codegen::generate(request));
    std::lock_guard<std::mutex> guard(lock_);
    if (generated_.size() >= max_prepared)
        generated_.clear();
    generated_.emplace(std::move(wanted), kernel);
    return *kernel;
}

bool PreparedKernels::is_new(const std::string &program) {
    std::lock_guard<std::mutex> guard(lock_);
    if (programs_.size() >= max_prepared)
        programs_.clear();
    return programs_.insert(program).second;
}

ModuleRef PreparedKernels::get(const std::string &source, const std::atomic<uint32_t> *cancel, uint64_t *compile_us,
                               bool *quick) {
    if (quick)
        *quick = false;
    {
        std::lock_guard<std::mutex> guard(lock_);
        const auto found = modules_.find(source);
        if (found != modules_.end())
            return found->second;
    }
    ModuleRef module = kernels_->get(source, cancel, compile_us, quick);
    if (quick && *quick)
        return module; // until the full one is there
    std::lock_guard<std::mutex> guard(lock_);
    if (modules_.size() >= max_prepared)
        modules_.clear();
    modules_.emplace(source, module);
    return module;
}

} // namespace gpuscan::cuda
