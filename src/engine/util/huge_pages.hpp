// Huge pages under an array of the heap's: a page fault for every 4 kB of what is filled once takes as long as filling it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace gpuscan {

constexpr size_t huge_page = size_t(2) << 20;

// For the whole ones within the array, where the system has them: a wish, without which pages are small.
inline void wish_huge_pages(void *data, size_t bytes) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(data);
    const uintptr_t start = (first + huge_page - 1) & ~(huge_page - 1), end = (first + bytes) & ~(huge_page - 1);
    if (start < end)
        madvise(reinterpret_cast<void *>(start), end - start, MADV_HUGEPAGE);
}

} // namespace gpuscan
