// Kernels by what they are generated from: an execution whose kernel has been needed before, with these or other constants,
// does not write its text again.
//
// The key is everything that codegen::generate() looks at, compared in full: the program without the values of its
// constants, what is known of columns and lookups, the shapes of tables and groups. It takes a microsecond to put
// together; the text takes some fifty to write, several times per run while a grouping is chosen.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cuda/kernel_cache.hpp"
#include "engine/codegen/codegen.hpp"

namespace gpuscan::cuda {

class PreparedKernels {
  public:
    explicit PreparedKernels(std::shared_ptr<KernelCache> kernels) : kernels_(std::move(kernels)) {}

    // As codegen::generate(); `program` is shape_of(*request.program).
    codegen::Kernel generate(const std::string &program, const codegen::Request &request);
    // Begins to compile a kernel that will be needed soon, or later.
    void start(const std::string &source, Effort effort) { kernels_->start(source, effort); }
    void improve(const std::string &source) { kernels_->improve(source); }
    bool is_ready(const std::string &source) { return kernels_->is_ready(source); }
    // Has nobody asked this of this program before?
    bool is_new(const std::string &program);
    // As KernelCache::get().
    ModuleRef get(const std::string &source, const std::atomic<uint32_t> *cancel, uint64_t *compile_us,
                  bool *quick = nullptr);

    // The bytes of a program that kernels depend on.
    static std::string shape_of(const Program &program);
    static std::string key(const std::string &program, const codegen::Request &request);

  private:
    const std::shared_ptr<KernelCache> kernels_;
    std::mutex lock_;
    std::unordered_map<std::string, std::shared_ptr<const codegen::Kernel>> generated_; // by key()
    std::unordered_set<std::string> programs_;
    std::unordered_map<std::string, ModuleRef> modules_; // by source
};

} // namespace gpuscan::cuda
