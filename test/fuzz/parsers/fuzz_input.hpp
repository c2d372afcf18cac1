// What the libFuzzer targets share: an input that is read piece by piece, a check that ends the process, a corpus to start from.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

namespace gpuscan::fuzz {

inline void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

// Bytes of their own, no more than asked for: the sanitizer watches both ends.
class Exactly {
  public:
    Exactly(const void *from, size_t size) : bytes_(std::make_unique<char[]>(size)), size_(size) {
        if (size > 0)
            memcpy(bytes_.get(), from, size);
    }
    const char *data() const { return bytes_.get(); }
    const uint8_t *bytes() const { return reinterpret_cast<const uint8_t *>(bytes_.get()); }
    size_t size() const { return size_; }
    std::string text() const { return {bytes_.get(), size_}; }

  private:
    std::unique_ptr<char[]> bytes_;
    size_t size_;
};

struct Input {
    const uint8_t *data;
    size_t size;

    // Little-endian, `bytes` long; zero behind the end.
    uint32_t number(int bytes) {
        uint32_t value = 0;
        for (int i = 0; i < bytes && size > 0; ++i, ++data, --size)
            value |= static_cast<uint32_t>(*data) << (8 * i);
        return value;
    }
    Exactly take(size_t wanted) {
        const size_t count = wanted < size ? wanted : size;
        Exactly taken(data, count);
        data += count;
        size -= count;
        return taken;
    }
};

// Cancels what has run for long, as a user would: an input may be a join of everything with everything. What does not look whether
// it is cancelled runs into libFuzzer's -timeout.
class Patience {
  public:
    std::atomic<uint32_t> cancel{0};

    Patience() {
        std::thread([this] {
            for (;;) {
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                const uint32_t now = ticks_.fetch_add(1) + 1;
                if (now - begun_.load() > most_ticks)
                    cancel.store(1);
            }
        }).detach();
    }
    void begin() {
        begun_.store(ticks_.load());
        cancel.store(0);
    }

  private:
    static constexpr uint32_t most_ticks = 10;
    std::atomic<uint32_t> ticks_{0}, begun_{0};
};

// FUZZ_CORPUS=directory makes a target write inputs to start from.
inline const char *corpus() { return getenv("FUZZ_CORPUS"); }

inline void write_input(const std::string &name, const std::string &bytes) {
    if (FILE *file = fopen((std::string(corpus()) + "/" + name).c_str(), "wb")) {
        fwrite(bytes.data(), 1, bytes.size(), file);
        fclose(file);
    }
}

} // namespace gpuscan::fuzz
