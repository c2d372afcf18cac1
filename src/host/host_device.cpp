// The CPU as a device: memory with a limit, decoding, executions.
//
// Buffers are ordinary memory, aligned for vector loads and exactly as long as asked for (the loops never read a vector
// across the end). Large buffers are mappings of their own, on huge pages; freed, they go back to the system at once.
#include "host/host_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/util/huge_pages.hpp"
#include "engine/util/machine.hpp"
#include "host/decode/decode.hpp"
#include "host/execution.hpp"
#include "host/pack.hpp"

namespace gpuscan {
namespace {

constexpr size_t alignment = 64;

// Outlives the device where a buffer does.
struct MemoryAccount {
    std::atomic<size_t> used{0};
    std::atomic<size_t> limit{SIZE_MAX};
};

// Bytes that are counted, as long as it lives.
class Charge {
  public:
    Charge(std::shared_ptr<MemoryAccount> account, size_t bytes) : account_(std::move(account)), bytes_(bytes) {
        size_t used = account_->used.load();
        do {
            const size_t limit = account_->limit.load();
            if (used > limit || bytes > limit - used)
                throw OutOfDeviceMemory("device memory limit reached");
        } while (!account_->used.compare_exchange_weak(used, used + bytes));
    }
    ~Charge() { account_->used -= bytes_; }
    Charge(const Charge &) = delete;
    Charge &operator=(const Charge &) = delete;

  private:
    std::shared_ptr<MemoryAccount> account_;
    size_t bytes_;
};

// Large ones lie on huge pages: filters leave rows that lie far apart, and fetching those costs more in misses of the TLB than
// in misses of the cache otherwise (SSB SF 1, 13 queries on two cores: 150 ms of CPU time without, 123 ms with).
class HostBuffer : public Buffer {
  public:
    HostBuffer(const std::shared_ptr<MemoryAccount> &account, size_t bytes) : charge_(account, bytes) {
        size = bytes;
        if (bytes >= huge_page) {
            mapped_ = HugeMemory(bytes);
            data = mapped_.data();
            comes_zeroed = true;
        } else if (posix_memalign(&data, alignment, std::max<size_t>(bytes, 1)) != 0) {
            data = nullptr;
        }
        if (data == nullptr)
            throw OutOfDeviceMemory("out of memory");
    }
    ~HostBuffer() override {
        if (mapped_.data() == nullptr)
            free(data);
    }

  private:
    Charge charge_;
    HugeMemory mapped_;
};

uint8_t *place(const Buffer &buffer, size_t offset, size_t bytes) {
    if (offset > buffer.size || bytes > buffer.size - offset)
        throw DeviceError("access outside of a buffer");
    return static_cast<uint8_t *>(buffer.data) + offset;
}

class HostDevice : public Device {
  public:
    explicit HostDevice(unsigned threads) : pool_(std::max(1u, threads)) {}

    bool reads_host_memory() const override { return true; }
    DeviceInfo info() const override {
        DeviceInfo info;
        info.name = "host";
        info.kind = "host";
        info.memory_total = memory_total_;
        info.memory_used = account_->used;
        info.memory_limit = std::min<size_t>(account_->limit, info.memory_total);
        return info;
    }

    // Memory is the system's until it is touched, and is filled with zeros then: here, by all threads, rather than by those that happen
    // to write the first rows of a huge page at the same time.
    BufferRef allocate(size_t bytes) override {
        auto buffer = std::make_shared<HostBuffer>(account_, bytes);
        if (buffer->comes_zeroed)
            pool_.run(bytes / huge_page, [&](size_t page, unsigned) {
                static_cast<volatile uint8_t *>(buffer->data)[page * huge_page] = 0;
            });
        return buffer;
    }

    void set_memory_limit(size_t bytes) override { account_->limit = bytes; }

    void upload(Buffer &to, size_t offset, const void *from, size_t bytes) override {
        if (bytes > 0)
            memcpy(place(to, offset, bytes), from, bytes);
    }
    void download(void *to, const Buffer &from, size_t offset, size_t bytes) override {
        if (bytes > 0)
            memcpy(to, place(from, offset, bytes), bytes);
    }
    void copy(Buffer &to, size_t to_offset, const Buffer &from, size_t from_offset, size_t bytes) override {
        if (bytes > 0)
            memmove(place(to, to_offset, bytes), place(from, from_offset, bytes), bytes);
    }
    void fill(Buffer &to, size_t offset, uint8_t byte, size_t bytes) override {
        if (bytes > 0)
            memset(place(to, offset, bytes), byte, bytes);
    }

    void copy_mask(Buffer &to, const Buffer &from, size_t bytes, const std::vector<RowRange> &without) override {
        copy(to, 0, from, 0, bytes);
        uint64_t *const words = static_cast<uint64_t *>(to.data);
        for (const RowRange &range : without)
            for (uint32_t row = range.first; row < range.end; ++row)
                words[row / 64] &= ~(uint64_t(1) << row % 64);
    }

    void decode(const DecodeJob &job, DecodeResult &result, const std::atomic<uint32_t> *cancel) override {
        zero(job.zeros);
        decode_pages(pool_, job, result, cancel);
    }

    void pack(const std::vector<PackJob> &jobs, const std::vector<BufferEnd> &zeros) override {
        zero(zeros);
        for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) // (so that who relies on their order is found)
            pack_rows(pool_, *job);
    }

    std::unique_ptr<Execution> prepare(const Program &program, const std::atomic<uint32_t> *cancel) override {
        return std::make_unique<host::HostExecution>(host::WorkContext{pool_, cancel, work_memory()}, program);
    }

  private:
    void zero(const std::vector<BufferEnd> &ends) {
        for (const BufferEnd &end : ends)
            fill(*end.buffer, end.from, 0, end.buffer->size - end.from);
    }

    const size_t memory_total_ = machine_memory();
    std::shared_ptr<MemoryAccount> account_ = std::make_shared<MemoryAccount>();
    ThreadPool pool_;
};

} // namespace

std::unique_ptr<Device> make_host_device(unsigned threads) { return std::make_unique<HostDevice>(threads); }

} // namespace gpuscan
