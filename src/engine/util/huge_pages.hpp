// Huge pages under an array of the heap's: a page fault for every 4 kB of what is filled once takes as long as filling it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace gpuscan {

constexpr size_t huge_page = size_t(2) << 20, small_page = 4096;

// For the whole ones within the array, where the system has them: a wish, without which pages are small.
inline void wish_huge_pages(void *data, size_t bytes) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(data);
    const uintptr_t start = (first + huge_page - 1) & ~(huge_page - 1), end = (first + bytes) & ~(huge_page - 1);
    if (start < end)
        madvise(reinterpret_cast<void *>(start), end - start, MADV_HUGEPAGE);
}

// Zeros that start at a huge page, so that the kernel backs them with huge pages where it may. Empty: there is no memory.
class HugeMemory {
  public:
    HugeMemory() = default;
    explicit HugeMemory(size_t bytes) : bytes_((bytes + small_page - 1) & ~(small_page - 1)) {
        void *mapped = mmap(nullptr, bytes_ + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED)
            return;
        char *const first = static_cast<char *>(mapped);
        const size_t skipped = -reinterpret_cast<uintptr_t>(first) % huge_page;
        if (skipped > 0)
            munmap(first, skipped);
        munmap(first + skipped + bytes_, huge_page - skipped);
        data_ = first + skipped;
        wish_huge_pages(data_, bytes_);
    }
    HugeMemory(HugeMemory &&other) noexcept { *this = std::move(other); }
    HugeMemory &operator=(HugeMemory &&other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~HugeMemory() {
        if (data_ != nullptr)
            munmap(data_, bytes_);
    }

    char *data() const { return data_; }
    size_t bytes() const { return data_ != nullptr ? bytes_ : 0; }

  private:
    char *data_ = nullptr;
    size_t bytes_ = 0;
};

} // namespace gpuscan
