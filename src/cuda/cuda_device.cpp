// Starting the GPU as a device, and its memory operations; executions are in execution.cpp, decoding in decode.cpp.
#include "cuda/cuda_device.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/decode.hpp"
#include "cuda/execution.hpp"
#include "cuda/masks.hpp"
#include "cuda/measure.hpp"
#include "cuda/pack.hpp"

namespace gpuscan {

namespace {

using namespace cuda;

constexpr uintptr_t host_page = 4096;
constexpr size_t staging_bytes = 8u << 20; // pinned; copies of pageable memory go through two of them
constexpr size_t first_pool_bytes = 256u << 20;
constexpr std::chrono::seconds compiler_patience{10}; // to start: queries would wait for them, too

class CudaDeviceImpl : public CudaDevice {
  public:
    explicit CudaDeviceImpl(const CudaOptions &options) : state_(std::make_shared<SharedState>()) {
        SharedState &s = *state_;
        s.driver = Driver::open();
        std::shared_ptr<Compiler> compiler = std::make_shared<Compiler>(Nvrtc::open());
        open_device(options.ordinal);
        s.work_memory = work_memory();
        s.row_cache = options.row_cache;
        s.rows_to_host = options.rows_to_host;
        s.row_area_bytes = options.row_area_bytes;
        s.memory = std::make_shared<DeviceMemory>(s.driver, s.context, s.device, s.memory_total);
        s.pinned = std::make_shared<PinnedMemory>(s.driver, s.context);
        s.stream_contexts = std::make_shared<StreamContextPool>(
            s.driver, s.context, s.memory, s.pinned, options.spin_gate != nullptr ? *options.spin_gate : s.own_gate);
        s.kernels = std::make_shared<KernelCache>(s.driver, s.context, compiler, options.compilers, s.architecture,
                                                  options.cache_dir);
        s.prepared = std::make_shared<PreparedKernels>(s.kernels);
        // While shared_buffers is registered: the kernels that every query may need, and NVRTC itself, which takes 0.3 s to
        // start, even if those kernels come from disk.
        s.kernels->warm_up();
        s.kernels->start(tables_source, Effort::Full);
        s.kernels->start(decode_source, Effort::Full);
        s.kernels->start(pack_source, Effort::Full);
        s.kernels->start(masks_source, Effort::Full);
        s.kernels->start(windows_source, Effort::Full);
        s.kernels->start(group_columns_source, Effort::Full);
        register_pool(options);
        s.memory->warm_up(std::min<size_t>(first_pool_bytes, s.memory_total / 16));
        s.kernels->wait_idle(compiler_patience);
    }

    ~CudaDeviceImpl() override {
        SharedState &s = *state_;
        s.kernels->wait_idle();
        if (s.pool && s.driver->cuCtxSetCurrent(s.context) == success)
            s.driver->cuMemHostUnregister(const_cast<uint8_t *>(registered_));
        // The primary context stays: buffers may outlive the device, and the process is about to end anyway.
    }

    DeviceInfo info() const override {
        DeviceInfo info;
        info.name = state_->name;
        info.kind = "cuda";
        info.memory_total = state_->memory_total;
        info.memory_used = state_->memory->used();
        info.memory_limit = state_->memory->limit();
        return info;
    }

    void ping() noexcept override { state_->memory->ping(); }

    BufferRef allocate(size_t bytes) override { return state_->memory->allocate(bytes); }
    void set_memory_limit(size_t bytes) override { state_->memory->set_limit(std::min(bytes, state_->memory_total)); }

    void upload(Buffer &to, size_t offset, const void *from, size_t bytes) override {
        check_range(to, offset, bytes);
        with_stream_context([&](StreamContext &streams) {
            for (size_t done = 0; done < bytes;) {
                const size_t part = std::min(staging_bytes, bytes - done);
                PinnedMemory::Piece &piece = streams.stage(part);
                memcpy(piece.data, static_cast<const char *>(from) + done, part);
                streams.copy_in(address_of(to) + offset + done, piece.data, part);
                done += part;
                if (done / staging_bytes % 4 == 0)
                    streams.wait(nullptr);
            }
        });
    }

    void download(void *to, const Buffer &from, size_t offset, size_t bytes) override {
        check_range(from, offset, bytes);
        with_stream_context([&](StreamContext &streams) {
            std::unique_ptr<PinnedMemory::Piece> piece = state_->pinned->allocate(std::min(staging_bytes, bytes));
            for (size_t done = 0; done < bytes;) {
                const size_t part = std::min(staging_bytes, bytes - done);
                streams.copy_out(piece->data, address_of(from) + offset + done, part);
                streams.wait(nullptr);
                memcpy(static_cast<char *>(to) + done, piece->data, part);
                done += part;
            }
        });
    }

    void copy(Buffer &to, size_t to_offset, const Buffer &from, size_t from_offset, size_t bytes) override {
        check_range(to, to_offset, bytes);
        check_range(from, from_offset, bytes);
        with_stream_context([&](StreamContext &streams) {
            streams.copy_inside(address_of(to) + to_offset, address_of(from) + from_offset, bytes);
        });
    }

    void fill(Buffer &to, size_t offset, uint8_t byte, size_t bytes) override {
        check_range(to, offset, bytes);
        with_stream_context([&](StreamContext &streams) { streams.fill(address_of(to) + offset, byte, bytes); });
    }

    void copy_mask(Buffer &to, const Buffer &from, size_t bytes, const std::vector<RowRange> &without) override {
        check_range(to, 0, bytes);
        check_range(from, 0, bytes);
        with_stream_context(
            [&](StreamContext &streams) { cuda::copy_mask(*state_, streams, to, from, bytes, without); });
    }

    void decode(const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel) override {
        cuda::decode_pages(*state_, job, result, cancel);
    }

    void tune_groups(const GroupTuning &tuning) override { state_->groups = tuning; }
    void pack(const std::vector<PackJob> &jobs, const std::vector<BufferEnd> &zeros) override {
        cuda::pack_rows(*state_, jobs, zeros);
    }
    bool measure(tier::Measurement &measurement) override {
        measurement = cuda::measure_gpu(*state_);
        return true;
    }

    std::unique_ptr<Execution> prepare(const Program &program, const std::atomic<uint32_t> *cancel) override {
        return make_execution(state_, program, cancel);
    }

  private:
    void open_device(int ordinal) {
        SharedState &s = *state_;
        const Driver &d = *s.driver;
        int count = 0;
        d.check(d.cuDeviceGetCount(&count), "cuDeviceGetCount");
        if (ordinal < 0 || ordinal >= count)
            throw DeviceError("there is no GPU number " + std::to_string(ordinal) + " (the driver sees " +
                              std::to_string(count) + ")");
        d.check(d.cuDeviceGet(&s.device, ordinal), "cuDeviceGet");
        char name[256] = "";
        d.cuDeviceGetName(name, sizeof(name), s.device);
        s.name = name;
        int major = 0;
        int minor = 0;
        int multiprocessors = 1;
        d.cuDeviceGetAttribute(&major, attribute_compute_major, s.device);
        d.cuDeviceGetAttribute(&minor, attribute_compute_minor, s.device);
        d.cuDeviceGetAttribute(&multiprocessors, attribute_multiprocessors, s.device);
        s.architecture = major * 10 + minor;
        s.multiprocessors = static_cast<unsigned>(std::max(multiprocessors, 1));
        int shared = 0;
        if (d.cuDeviceGetAttribute(&shared, attribute_max_shared_per_block_optin, s.device) == success && shared > 0)
            s.shared_per_block = static_cast<size_t>(shared);
        int cache = 0;
        if (d.cuDeviceGetAttribute(&cache, attribute_second_level_cache, s.device) == success && cache > 0)
            s.cache_bytes = static_cast<size_t>(cache);
        if (s.architecture < 70)
            throw DeviceError("GPU \"" + s.name + "\" is too old: compute capability 7.0 is needed");
        d.check(d.cuDeviceTotalMem(&s.memory_total, s.device), "cuDeviceTotalMem");
        d.check(d.cuDevicePrimaryCtxRetain(&s.context, s.device), "cuDevicePrimaryCtxRetain");
        d.check(d.cuCtxSetCurrent(s.context), "cuCtxSetCurrent");
    }

    // Registration works on whole host pages, and shared_buffers need not start at one.
    void register_pool(const CudaOptions &options) {
        if (!options.pool || options.pool_bytes == 0) {
            register_note = "no pool of pages was given";
            return;
        }
        SharedState &s = *state_;
        const Driver &d = *s.driver;
        const uintptr_t begin = reinterpret_cast<uintptr_t>(options.pool) & ~(host_page - 1);
        const uintptr_t end =
            (reinterpret_cast<uintptr_t>(options.pool) + options.pool_bytes + host_page - 1) & ~(host_page - 1);
        void *const base = reinterpret_cast<void *>(begin);
        int read_only = 0;
        d.cuDeviceGetAttribute(&read_only, attribute_read_only_host_register, s.device);
        if (!read_only) { // never registered writable: the pool belongs to PostgreSQL
            register_note = "this GPU cannot map host memory read-only; pages are copied";
            return;
        }
        CUresult result = d.cuMemHostRegister(base, end - begin, host_register_device_map | host_register_read_only);
        CUdeviceptr address = 0;
        if (result == success) {
            result = d.cuMemHostGetDevicePointer(&address, base, 0);
            if (result != success)
                d.cuMemHostUnregister(base);
        }
        if (result != success) {
            register_note = "shared_buffers could not be registered (" + d.error_text(result) + "); pages are copied";
            return;
        }
        registered_ = static_cast<const uint8_t *>(base);
        s.pool = static_cast<const uint8_t *>(options.pool);
        s.pool_bytes = options.pool_bytes;
        s.pool_address = address + (reinterpret_cast<uintptr_t>(options.pool) - begin);
    }

    static void check_range(const Buffer &buffer, size_t offset, size_t bytes) {
        if (offset > buffer.size || bytes > buffer.size - offset)
            throw DeviceError("a copy reaches beyond its buffer");
    }

    // Runs `work` with a stream context of its own and waits for it.
    template <class Work> void with_stream_context(const Work &work) {
        std::shared_ptr<StreamContext> streams = state_->stream_contexts->borrow();
        work(*streams);
        streams->wait(nullptr);
    }

    std::shared_ptr<SharedState> state_;
    const uint8_t *registered_ = nullptr;
};

} // namespace

std::unique_ptr<CudaDevice> make_cuda_device(const CudaOptions &options) {
    return std::make_unique<CudaDeviceImpl>(options);
}

} // namespace gpuscan
