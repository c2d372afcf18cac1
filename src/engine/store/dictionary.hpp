// The dictionary of one text column: byte strings numbered from 0, each with one number for good.
//
// Append-only and thread-safe: codes never change, so that chunks decoded at different times share one dictionary,
// and readers hold no lock while they use entries below a size they have seen. What a dictionary may hold is a matter of
// memory, not of how many different texts there are: beyond it intern() says so and the fragment is refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace gpuscan {

// What one column's dictionary may hold: half of gpuscan.cache_size, and 64 MB always. For a GPU's columns at least 1 GB:
// dictionaries are all that they need of the host's memory.
size_t dictionary_limit(size_t cache_size, bool is_gpu);

class Dictionary : public std::enable_shared_from_this<Dictionary> {
  public:
    static constexpr uint32_t full = 0xffffffffu;         // intern(): the dictionary takes no more entries
    static constexpr uint32_t max_entry_count = 1u << 30; // a code and its neighbours fit an int32
    static constexpr size_t entry_bytes = 32;             // that an entry counts for beside its text

    // Memory that somebody counts: what is held is added, and taken off when it goes.
    using Account = std::shared_ptr<std::atomic<size_t>>;

    // Takes at most max_entries entries, whose texts and entry_bytes each are at most max_bytes together.
    Dictionary(uint32_t max_entries, size_t max_bytes, Account account = nullptr);
    ~Dictionary();
    Dictionary(const Dictionary &) = delete;
    Dictionary &operator=(const Dictionary &) = delete;

    // The code of `text`, added if new; Dictionary::full when it cannot be added.
    uint32_t intern(std::string_view text);

    struct Text {
        const char *data;
        uint32_t length;
        uint32_t code; // out: as intern() answers
        uint64_t hash; // text_hash()
    };
    // The same for many texts at once, which costs a fraction of it. New texts are numbered in any order. Bytes must not
    // change meanwhile.
    void intern_many(Text *texts, size_t count);

    // The code of `text`, or Dictionary::full when it is not there.
    uint32_t find(std::string_view text) const;
    uint32_t size() const;
    // Another max_bytes from now on. What is there stays, even if it is more.
    void set_limit(size_t max_bytes);
    bool is_full() const; // a text was refused; it may still take shorter ones
    size_t bytes() const; // memory held
    static size_t bytes_of_all();
    // Entry `code` < size(); the view stays valid as long as the dictionary.
    std::string_view entry(uint32_t code) const;
    // Tells the processor that entry `code` < size() will be asked for. (NULL's place in a table over codes is no entry.)
    void prefetch(uint32_t code) const;
    uint64_t id() const; // unique in this process; a backend's cached copy is keyed by it

    // A device's mirror of the entries (the CUDA decoder looks codes up on the GPU). Owned here, made by the device.
    struct DeviceMirror {
        virtual ~DeviceMirror() = default;
    };
    std::shared_ptr<DeviceMirror> mirror() const;
    void set_mirror(std::shared_ptr<DeviceMirror> mirror);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace gpuscan
