// Reading and writing the protocol's messages without ever leaving their bytes.
//
// A message is a struct followed by variable parts, each starting at a multiple of 8 bytes. The bytes lie in memory that
// the backend can still write, so whatever is checked is copied out first; only bulk values (page images, column values)
// are used in place, by code that does not trust them.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace gpuscan {

// The request is malformed: a bug of the sender.
struct InvalidMessage : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void check(bool good, const char *what) {
    if (!good)
        throw InvalidMessage(what);
}

class MessageReader {
  public:
    MessageReader(const uint8_t *bytes, size_t size) : bytes_(bytes), size_(size) {}

    // The next part: `count` items of `width` bytes, used in place.
    const uint8_t *part(size_t count, size_t width = 1) {
        size_t start = (at_ + 7) & ~size_t(7);
        if (start > size_ || (width != 0 && count > (size_ - start) / width))
            throw InvalidMessage("message is shorter than its parts");
        at_ = start + count * width;
        return bytes_ + start;
    }

    template <class T> T head() {
        static_assert(std::is_trivially_copyable<T>::value, "messages are plain data");
        T value;
        memcpy(static_cast<void *>(&value), part(1, sizeof(T)), sizeof(T));
        return value;
    }

    template <class T> std::vector<T> array(size_t count) {
        const uint8_t *from = part(count, sizeof(T));
        std::vector<T> values(count);
        if (count != 0)
            memcpy(static_cast<void *>(values.data()), from, count * sizeof(T));
        return values;
    }

    std::string text(size_t count) { return {reinterpret_cast<const char *>(part(count)), count}; }

  private:
    const uint8_t *bytes_;
    size_t size_;
    size_t at_ = 0;
};

class MessageWriter {
  public:
    MessageWriter(uint8_t *bytes, size_t capacity) : bytes_(bytes), capacity_(capacity) {}

    // Room for the next part. The caller has made sure that it fits (see left()).
    uint8_t *part(size_t bytes) {
        size_t start = (at_ + 7) & ~size_t(7);
        if (start > capacity_ || bytes > capacity_ - start)
            throw std::runtime_error("reply does not fit");
        at_ = start + bytes;
        return bytes_ + start;
    }

    // Room right behind the last byte.
    uint8_t *part_unaligned(size_t bytes) {
        if (bytes > capacity_ - at_)
            throw std::runtime_error("reply does not fit");
        at_ += bytes;
        return bytes_ + at_ - bytes;
    }

    template <class T> void put(const T &value) {
        static_assert(std::is_trivially_copyable<T>::value, "messages are plain data");
        memcpy(part(sizeof(T)), static_cast<const void *>(&value), sizeof(T));
    }

    size_t left() const {
        size_t start = (at_ + 7) & ~size_t(7);
        return start < capacity_ ? capacity_ - start : 0;
    }
    size_t size() const { return at_; }

  private:
    uint8_t *bytes_;
    size_t capacity_;
    size_t at_ = 0;
};

} // namespace gpuscan
