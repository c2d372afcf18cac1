// Host memory that running fragments use beside columns: rows of build sides, join tables, groups, results.
//
// One account per device, with a limit: what a query wants beyond it is OutOfWorkMemory, and then PostgreSQL's own plan,
// which can spill to disk, runs instead. Without the account a large GROUP BY would take the machine's memory and the
// device process with it, again and again.
//
// WorkArray is the array whose memory is charged: what a vector is, for plain data only. A large one lies in a block of its own, which
// comes from those that others have left (spare_memory.hpp). Vectors of a
// few thousand values that live as long as a batch are not worth an account.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "engine/util/spare_memory.hpp"

namespace gpuscan {

class WorkMemory {
  public:
    void charge(size_t bytes); // throws OutOfWorkMemory
    // Called where a charge does not fit; it is tried again for as long as this returns true. Set before the first charge.
    void set_reclaim(std::function<bool()> reclaim) { reclaim_ = std::move(reclaim); }
    // Without asking anybody to give back some.
    bool has_room(size_t bytes) const { return bytes <= limit() && used() <= limit() - bytes; }
    void release(size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
    size_t used() const { return used_.load(std::memory_order_relaxed); }
    size_t limit() const { return limit_.load(std::memory_order_relaxed); }
    void set_limit(size_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }

  private:
    std::atomic<size_t> used_{0};
    std::atomic<size_t> limit_{SIZE_MAX};
    std::function<bool()> reclaim_;
};
using WorkMemoryRef = std::shared_ptr<WorkMemory>;

// Bytes of something that is no WorkArray, as long as it lives.
class WorkCharge {
  public:
    // nullptr: nobody counts. Throws OutOfWorkMemory.
    WorkCharge(WorkMemoryRef to, size_t bytes) : memory(std::move(to)), bytes_(bytes) {
        if (memory)
            memory->charge(bytes_);
    }
    ~WorkCharge() {
        if (memory)
            memory->release(bytes_);
    }
    WorkCharge(const WorkCharge &) = delete;
    WorkCharge &operator=(const WorkCharge &) = delete;

    const WorkMemoryRef memory;

  private:
    const size_t bytes_;
};

template <class T> class WorkArray {
    static_assert(std::is_trivially_copyable<T>::value, "grows by realloc");

  public:
    WorkArray() = default;
    explicit WorkArray(WorkMemoryRef memory) : memory_(std::move(memory)) {} // nullptr: nobody counts
    WorkArray(WorkArray &&o) noexcept { swap(o); }
    WorkArray &operator=(WorkArray &&o) noexcept {
        WorkArray taken(std::move(o));
        swap(taken);
        return *this;
    }
    WorkArray(const WorkArray &) = delete;
    WorkArray &operator=(const WorkArray &) = delete;
    ~WorkArray() { release(); }

    T *data() { return data_; }
    const T *data() const { return data_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    size_t bytes() const { return capacity_ * sizeof(T); }
    T &operator[](size_t i) { return data_[i]; }
    const T &operator[](size_t i) const { return data_[i]; }
    T *begin() { return data_; }
    T *end() { return data_ + size_; }
    const T *begin() const { return data_; }
    const T *end() const { return data_ + size_; }

    void reserve(size_t n) {
        if (n > capacity_)
            set_capacity(n);
    }
    // New values are not initialized.
    void resize(size_t n) {
        if (n > capacity_)
            set_capacity(std::max(n, capacity_ + capacity_ / 2));
        size_ = n;
    }
    void resize(size_t n, T value) {
        const size_t old = size_;
        resize(n);
        std::fill(data_ + std::min(old, n), data_ + n, value);
    }
    // Makes it n zeros; what it held is lost. Zeros of a large array may take no memory of the machine until they are written.
    void assign_zeros(size_t n) {
        release();
        if (!set_capacity(n) && n > 0)
            memset(static_cast<void *>(data_), 0, n * sizeof(T));
        size_ = n;
    }
    void push_back(const T &value) {
        const T copy = value;
        resize(size_ + 1);
        data_[size_ - 1] = copy;
    }
    void append(const T *values, size_t n) {
        resize(size_ + n);
        if (n != 0)
            memcpy(static_cast<void *>(data_ + size_ - n), values, n * sizeof(T));
    }
    // Gives the memory back.
    void release() {
        if (block_.data() != nullptr)
            SpareMemory::shared().put(std::exchange(block_, HugeMemory()));
        else
            free(data_);
        if (memory_)
            memory_->release(bytes());
        data_ = nullptr;
        size_ = capacity_ = 0;
    }
    // Counts there from now on. Throws OutOfWorkMemory, and changes nothing then.
    void charge_to(const WorkMemoryRef &memory) {
        if (memory == memory_)
            return;
        if (memory)
            memory->charge(bytes());
        if (memory_)
            memory_->release(bytes());
        memory_ = memory;
    }

  private:
    void swap(WorkArray &o) noexcept {
        std::swap(memory_, o.memory_);
        std::swap(block_, o.block_);
        std::swap(data_, o.data_);
        std::swap(size_, o.size_);
        std::swap(capacity_, o.capacity_);
    }
    // Is all of it zeros behind what it held?
    bool set_capacity(size_t n) {
        if (n > SIZE_MAX / 2 / sizeof(T))
            throw std::bad_alloc();
        const size_t more = (n - capacity_) * sizeof(T);
        if (memory_)
            memory_->charge(more);
        bool zeros = false;
        void *moved = n * sizeof(T) < block_from ? realloc(static_cast<void *>(data_), n * sizeof(T))
                                                 : move_to_block(n * sizeof(T), &zeros);
        if (moved == nullptr) {
            if (memory_)
                memory_->release(more);
            throw std::bad_alloc();
        }
        data_ = static_cast<T *>(moved);
        capacity_ = n;
        return zeros;
    }
    // nullptr: there is no memory.
    char *move_to_block(size_t bytes, bool *zeros) {
        if (bytes <= block_.bytes())
            return block_.data();
        SpareMemory::Block next = SpareMemory::shared().take(bytes);
        if (next.memory.data() == nullptr)
            return nullptr;
        if (size_ > 0)
            memcpy(next.memory.data(), static_cast<const void *>(data_), size_ * sizeof(T));
        if (block_.data() != nullptr)
            SpareMemory::shared().put(std::exchange(block_, HugeMemory()));
        else
            free(data_);
        block_ = std::move(next.memory);
        *zeros = next.zeros;
        return block_.data();
    }

    static constexpr size_t block_from = huge_page; // bytes

    WorkMemoryRef memory_;
    HugeMemory block_; // of a large one
    T *data_ = nullptr;
    size_t size_ = 0, capacity_ = 0;
};

} // namespace gpuscan
