// Compiling, remembering and loading kernels; see kernel_cache.hpp.
#include "cuda/kernel_cache.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "cuda/compiler_processes.hpp"
#include "cuda/compiler_warm_up.hpp"
#include "cuda/embedded.hpp"
#include "engine/device.hpp"
#include "engine/ir/types.hpp"

namespace gpuscan::cuda {

namespace {

// FNV-1a with 128 bits: slow and simple, and a few kilobytes of text per query are nothing.
class Hash128 {
  public:
    void add(const void *bytes, size_t size) {
        const uint128 prime = (static_cast<uint128>(1) << 88) + 0x13b;
        for (size_t i = 0; i < size; ++i)
            state_ = (state_ ^ static_cast<const unsigned char *>(bytes)[i]) * prime;
    }
    void add(const std::string &text) {
        const uint64_t size = text.size();
        add(&size, sizeof(size));
        add(text.data(), text.size());
    }
    uint64_t high() const { return static_cast<uint64_t>(state_ >> 64); }
    uint64_t low() const { return static_cast<uint64_t>(state_); }

  private:
    uint128 state_ = (static_cast<uint128>(0x6c62272e07bb0142ULL) << 64) | 0x62b821756295c58dULL;
};

// -fmad=false: a fused multiply-add would give another last bit than PostgreSQL's own arithmetic.
const char *const fixed_options[] = {
    "-std=c++17",        "-device-int128", "-fmad=false", "-default-device", "-diag-suppress=177,550,128,111",
    "-DGPUSCAN_DEVICE=1"};

constexpr int caching_version = 13000; // NVRTC has a cache of its own, in the user's directory
constexpr int quick_version = 13000;   // and can leave out optimisations (--Ofast-compile; tried with no older one)

template <class T> bool is_there(const std::shared_future<T> &future) {
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

constexpr size_t max_modules = 2000; // in memory; then those that nobody uses are dropped
constexpr off_t max_file_bytes = 64 << 20;
constexpr uint64_t max_directory_bytes = 256 << 20; // some 10,000 kernels
constexpr unsigned writes_between_bounds = 200;
constexpr const char *refused_name = "not-compiled.cu";
constexpr int64_t abandoned_seconds = 3600; // a temporary file of this age will never be renamed

} // namespace

// ---- compiler ----------------------------------------------------------------------------------------------------

Compiler::Compiler(std::shared_ptr<Nvrtc> nvrtc) : nvrtc_(std::move(nvrtc)) {
    Hash128 hash;
    for (unsigned i = 0; i < embedded_source_count; ++i) {
        hash.add(std::string(embedded_sources[i].name));
        hash.add(std::string(embedded_sources[i].text));
    }
    for (const char *option : fixed_options)
        hash.add(std::string(option));
    hash.add(&nvrtc_->version, sizeof(nvrtc_->version));
    headers_[0] = hash.low();
    headers_[1] = hash.high();
}

KernelKey Compiler::key(const std::string &source, int architecture) const {
    Hash128 hash;
    hash.add(headers_, sizeof(headers_));
    hash.add(&architecture, sizeof(architecture));
    hash.add(source);
    return {hash.low(), hash.high()};
}

// The newest target that both NVRTC and the GPU know; PTX, which the driver finishes, when that is not the GPU itself.
std::string Compiler::target(int architecture, bool &ptx) const {
    int best = 0;
    for (int known : nvrtc_->architectures)
        if (known <= architecture)
            best = known;
    ptx = best != architecture && !nvrtc_->architectures.empty();
    if (nvrtc_->architectures.empty())
        best = architecture;
    if (best == 0)
        throw DeviceError("NVRTC " + std::to_string(nvrtc_->version) + " cannot compile for compute capability " +
                          std::to_string(architecture));
    return std::string(ptx ? "-arch=compute_" : "-arch=sm_") + std::to_string(best);
}

bool Compiler::can_be_quick() const { return nvrtc_->version >= quick_version; }

std::string Compiler::compile(const std::string &source, int architecture, bool quick, bool anew) const {
    if (HeaderParts::knows(source)) {
        try {
            return compile_with(parts_.used_by(source), source, architecture, quick, anew);
        } catch (const NotCompiled &) {
            // With all of the headers, then, or with a message that is about them.
        }
    }
    return compile_with(HeaderParts::whole(), source, architecture, quick, anew);
}

std::string Compiler::compile_with(const std::vector<std::string> &headers, const std::string &source, int architecture,
                                   bool quick, bool anew) const {
    bool ptx = false;
    const std::string arch = target(architecture, ptx);
    std::vector<const char *> options(std::begin(fixed_options), std::end(fixed_options));
    options.push_back(arch.c_str());
    if (anew && nvrtc_->version >= caching_version)
        options.push_back("-no-cache");
    if (can_be_quick())
        options.push_back("--minimal"); // without the declarations of textures and the like
    if (quick && can_be_quick()) {
        options.push_back("--Ofast-compile=mid");
        options.push_back("-DGPUSCAN_QUICK=1"); // device/runtime.cuh: less text, too
    }
    std::vector<const char *> names;
    std::vector<const char *> texts;
    for (unsigned i = 0; i < embedded_source_count; ++i) {
        names.push_back(embedded_sources[i].name);
        texts.push_back(headers.at(i).c_str());
    }
    nvrtcProgram program = nullptr;
    int result = nvrtc_->nvrtcCreateProgram(&program, source.c_str(), "gpuscan_kernel.cu",
                                            static_cast<int>(names.size()), texts.data(), names.data());
    if (result != 0)
        throw DeviceError(std::string("NVRTC: ") + nvrtc_->nvrtcGetErrorString(result));
    std::string image;
    std::string log;
    result = nvrtc_->nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data());
    size_t size = 0;
    if (result != 0) {
        if (nvrtc_->nvrtcGetProgramLogSize(program, &size) == 0 && size > 0) {
            log.resize(size);
            nvrtc_->nvrtcGetProgramLog(program, &log[0]);
        }
    } else if (ptx) {
        nvrtc_->nvrtcGetPTXSize(program, &size);
        image.resize(size);
        nvrtc_->nvrtcGetPTX(program, &image[0]);
    } else {
        nvrtc_->nvrtcGetCUBINSize(program, &size);
        image.resize(size);
        nvrtc_->nvrtcGetCUBIN(program, &image[0]);
    }
    nvrtc_->nvrtcDestroyProgram(&program);
    if (result != 0)
        throw NotCompiled(std::string("a generated kernel does not compile (") + nvrtc_->nvrtcGetErrorString(result) +
                          "): " + log.substr(0, 4000));
    if (image.empty())
        throw DeviceError("NVRTC returned no machine code");
    return image;
}

void Compiler::warm_up(int architecture) const {
    bool quick = true; // one so, one so
    for (const std::string &source : warm_up_sources()) {
        compile(source, architecture, quick, true);
        quick = !quick;
    }
}

// ---- cache -------------------------------------------------------------------------------------------------------

KernelCache::KernelCache(std::shared_ptr<Driver> driver, CUcontext context, std::shared_ptr<Compiler> compiler,
                         std::shared_ptr<CompilerProcesses> processes, int architecture, std::string directory)
    : driver_(std::move(driver)), context_(context), compiler_(std::move(compiler)), processes_(std::move(processes)),
      architecture_(architecture), directory_(std::move(directory)) {
    if (!directory_.empty() && mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
        directory_.clear();
    bound_directory(directory_, max_directory_bytes);
}

KernelCache::~KernelCache() {
    if (processes_)
        processes_->refuse_patient();
    wait_idle();
}

void KernelCache::wait_idle() {
    std::unique_lock<std::mutex> lock(mutex_);
    idle_.wait(lock, [this] { return running_ == 0; });
}

void KernelCache::wait_idle(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    if (processes_)
        processes_->wait_until_warm(patience);
    std::unique_lock<std::mutex> lock(mutex_);
    idle_.wait_until(lock, end, [this] { return running_ == 0; });
}

std::string KernelCache::path(KernelKey key) const {
    char name[80];
    snprintf(name, sizeof(name), "/%016llx%016llx.cubin", static_cast<unsigned long long>(key.second),
             static_cast<unsigned long long>(key.first));
    return directory_ + name;
}

bool KernelCache::read_file(KernelKey key, const std::string &source, std::string &image) const {
    if (directory_.empty())
        return false;
    const int file = ::open(path(key).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    struct stat status;
    std::string bytes;
    bool good = fstat(file, &status) == 0 && status.st_size > 0 && status.st_size <= max_file_bytes;
    if (good) {
        bytes.resize(static_cast<size_t>(status.st_size));
        size_t done = 0;
        while (good && done < bytes.size()) {
            const ssize_t got = read(file, &bytes[done], bytes.size() - done);
            good = got > 0;
            done += good ? static_cast<size_t>(got) : 0;
        }
        good = good && read_kernel_file(bytes, key, source, image);
    }
    if (good)
        futimens(file, nullptr); // used now: see bound_directory
    close(file);
    return good;
}

void KernelCache::write_file(KernelKey key, const std::string &source, const std::string &image) const {
    if (directory_.empty())
        return;
    static std::atomic<unsigned> serial{0};
    const std::string final_name = path(key);
    const std::string temporary =
        final_name + "." + std::to_string(getpid()) + "." + std::to_string(serial.fetch_add(1)) + ".tmp";
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    const std::string bytes = make_kernel_file(key, source, image);
    const bool good = write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    close(file);
    if (!good || rename(temporary.c_str(), final_name.c_str()) != 0)
        unlink(temporary.c_str());
    if ((written_.fetch_add(1) + 1) % writes_between_bounds == 0)
        bound_directory(directory_, max_directory_bytes);
}

void KernelCache::bound_directory(const std::string &directory, uint64_t bytes) {
    struct File {
        int64_t used;
        uint64_t size;
        std::string path;
    };
    DIR *const dir = directory.empty() ? nullptr : opendir(directory.c_str());
    if (!dir)
        return;
    std::vector<File> files;
    uint64_t sum = 0;
    auto ends_with = [](const std::string &name, const char *end) {
        const size_t size = strlen(end);
        return name.size() > size && name.compare(name.size() - size, size, end) == 0;
    };
    while (const dirent *entry = readdir(dir)) {
        const std::string name = entry->d_name;
        const bool temporary = ends_with(name, ".tmp");
        struct stat status;
        const std::string path = directory + "/" + name;
        if ((!temporary && !ends_with(name, ".cubin")) || stat(path.c_str(), &status) != 0)
            continue;
        if (temporary) {
            if (time(nullptr) - status.st_mtim.tv_sec > abandoned_seconds)
                unlink(path.c_str());
            continue;
        }
        files.push_back({status.st_mtim.tv_sec * 1000000000LL + status.st_mtim.tv_nsec,
                         static_cast<uint64_t>(status.st_size), path});
        sum += files.back().size;
    }
    closedir(dir);
    std::sort(files.begin(), files.end(), [](const File &a, const File &b) { return a.used < b.used; });
    for (const File &file : files) {
        if (sum <= bytes)
            break;
        if (unlink(file.path.c_str()) == 0)
            sum -= file.size;
    }
}

std::string KernelCache::compile(const std::string &source, Effort effort) const {
    std::string image;
    try {
        if (processes_ && processes_->compile(source, architecture_, image, effort))
            return image;
        return compiler_->compile(source, architecture_, effort == Effort::Quick);
    } catch (const NotCompiled &error) {
        keep_refused(source, error.what());
        throw;
    }
}

// The last one only: for whoever looks for the reason.
void KernelCache::keep_refused(const std::string &source, const char *reason) const {
    if (!directory_.empty())
        std::ofstream(directory_ + "/" + refused_name) << source << "\n/*\n" << reason << "\n*/\n";
}

ModuleRef KernelCache::from_disk(KernelKey key, const std::string &source) const {
    std::string image;
    if (!read_file(key, source, image))
        return nullptr;
    try {
        return std::make_shared<Module>(driver_, context_, image);
    } catch (const DeviceLost &) {
        throw;
    } catch (const DeviceError &) {
        return nullptr; // another driver's file: compile again
    }
}

void KernelCache::build(const std::string &source, KernelKey key, Effort effort, std::promise<Built> &promise) {
    Built built;
    std::string image;
    try {
        built.module = from_disk(key, source);
        if (!built.module) {
            const auto start = std::chrono::steady_clock::now();
            image = compile(source, effort);
            built.module = std::make_shared<Module>(driver_, context_, image);
            built.quick = effort == Effort::Quick;
            built.compile_us = static_cast<uint64_t>(
                std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start)
                    .count());
        }
    } catch (...) {
        promise.set_exception(std::current_exception());
        return;
    }
    promise.set_value(built);
    if (!image.empty() && !built.quick)
        write_file(key, source, image);
}

void KernelCache::in_background(std::function<void()> work) {
    ++running_;
    try {
        std::thread([this, work] {
            work();
            std::lock_guard<std::mutex> lock(mutex_);
            --running_;
            idle_.notify_all();
        }).detach();
    } catch (const std::exception &) {
        --running_;
        throw DeviceError("no thread to compile a kernel in");
    }
}

void KernelCache::warm_up() {
    if (processes_) {
        processes_->warm_up(architecture_);
        return;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    in_background([this] {
        try {
            compiler_->warm_up(architecture_);
        } catch (const std::exception &) {
            // Whoever needs the compiler will meet the error itself.
        }
    });
}

std::shared_future<KernelCache::Built> KernelCache::begin(KernelKey key, const std::string &source, Effort effort) {
    auto promise = std::make_shared<std::promise<Built>>();
    std::shared_future<Built> future = promise->get_future().share();
    if (effort == Effort::Quick && (!processes_ || !compiler_->can_be_quick()))
        effort = Effort::Full; // where kernels wait for each other, each is compiled once
    in_background([this, source, key, effort, promise] { build(source, key, effort, *promise); });
    return future;
}

// The entry of `source`; begins it when there is none.
KernelCache::Entry &KernelCache::find(KernelKey key, const std::string &source, Effort effort) {
    if (modules_.size() >= max_modules)
        for (auto it = modules_.begin(); it != modules_.end();)
            it = is_there(it->second.built) && (!it->second.better.valid() || is_there(it->second.better))
                     ? modules_.erase(it)
                     : std::next(it);
    Entry &entry = modules_[key];
    if (!entry.built.valid()) {
        try {
            entry.built = begin(key, source, effort);
        } catch (...) {
            modules_.erase(key);
            throw;
        }
    }
    return entry;
}

void KernelCache::start(const std::string &source, Effort effort) {
    const KernelKey key = compiler_->key(source, architecture_);
    std::lock_guard<std::mutex> lock(mutex_);
    find(key, source, effort);
}

void KernelCache::improve(const std::string &source) {
    const KernelKey key = compiler_->key(source, architecture_);
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = modules_.find(key);
    if (found == modules_.end() || found->second.better.valid() || !is_there(found->second.built))
        return;
    try {
        if (found->second.built.get().quick)
            found->second.better = begin(key, source, Effort::Patient);
    } catch (const std::exception &) {
        // Whoever needs the kernel will meet the error itself.
    }
}

bool KernelCache::is_ready(const std::string &source) {
    const KernelKey key = compiler_->key(source, architecture_);
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = modules_.find(key);
    return found != modules_.end() && is_there(found->second.built);
}

ModuleRef KernelCache::get(const std::string &source, const std::atomic<uint32_t> *cancel, uint64_t *compile_us,
                           bool *quick) {
    const KernelKey key = compiler_->key(source, architecture_);
    bool first = false;
    std::shared_future<Built> future, better;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        Entry &entry = find(key, source, quick ? Effort::Quick : Effort::Full);
        first = !entry.counted;
        entry.counted = true;
        future = entry.built;
        better = entry.better;
    }
    if (quick)
        *quick = false;
    if (better.valid() && is_there(better)) {
        try {
            return better.get().module;
        } catch (const std::exception &) {
            // The quick one will do.
        }
    }
    while (future.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready)
        if (cancel && cancel->load(std::memory_order_relaxed))
            throw Cancelled();
    try {
        const Built &built = future.get();
        if (first && compile_us)
            *compile_us += built.compile_us;
        if (quick)
            *quick = built.quick && (!better.valid() || !is_there(better));
        return built.module;
    } catch (...) {
        std::lock_guard<std::mutex> lock(mutex_);
        modules_.erase(key); // out of memory, say: the next one may try again
        throw;
    }
}

} // namespace gpuscan::cuda
