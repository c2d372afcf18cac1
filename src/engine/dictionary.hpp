// The dictionary of one text column: byte strings numbered from 0 in the order of their first appearance.
//
// Append-only and thread-safe: codes never change, so that chunks decoded at different times share one dictionary,
// and readers hold no lock while they use entries below a size they have seen. Limits keep a column of unique texts
// from eating the memory: beyond them intern() says so and the fragment is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace gpuscan {

// What one column's dictionary may hold, on a device whose cache has so many bytes: a sixteenth of them. A million entries and
// 64 MB always, 16 million and 1 GB at most: they are numbered one after the other.
struct DictionaryLimits {
    uint32_t entries;
    size_t bytes;
};
DictionaryLimits dictionary_limits(size_t cache_bytes);

class Dictionary {
  public:
    static constexpr uint32_t full = 0xffffffffu; // intern(): the dictionary takes no more entries

    // Takes at most max_entries entries and max_bytes bytes of text.
    Dictionary(uint32_t max_entries, size_t max_bytes);
    ~Dictionary();
    Dictionary(const Dictionary &) = delete;
    Dictionary &operator=(const Dictionary &) = delete;

    // The code of `text`, added if new; Dictionary::full when it cannot be added.
    uint32_t intern(std::string_view text);
    // The code of `text`, or Dictionary::full when it is not there. Lock-free against other readers is not promised.
    uint32_t find(std::string_view text) const;
    uint32_t size() const;
    bool is_full() const; // it may still take some texts
    size_t bytes() const; // memory held
    // Entry `code` < size(); the view stays valid as long as the dictionary.
    std::string_view entry(uint32_t code) const;
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
