// One bit per heap page of a chunk.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/store/decode.hpp"

namespace gpuscan {

class PageBits {
  public:
    // Whole cache lines: compilers use vectors for loops without a rest.
    static constexpr size_t words = (pages_per_chunk + 511) / 512 * 8;
    static constexpr size_t bytes = (pages_per_chunk + 7) / 8; // on the wire

    bool test(uint32_t page) const { return word_[page / 64] >> (page % 64) & 1; }
    void set(uint32_t page) { word_[page / 64] |= uint64_t(1) << (page % 64); }
    void reset(uint32_t page) { word_[page / 64] &= ~(uint64_t(1) << (page % 64)); }

    bool any() const {
        uint64_t all = 0;
        for (uint64_t w : word_)
            all |= w;
        return all != 0;
    }

    // All bits of `o` are set here too.
    bool contains(const PageBits &o) const {
        uint64_t lacking = 0;
        for (size_t i = 0; i < words; ++i)
            lacking |= o.word_[i] & ~word_[i];
        return lacking == 0;
    }

    // Pages 0..npages-1.
    static PageBits first(uint32_t npages) {
        PageBits bits;
        bits.word_.fill(~uint64_t(0));
        bits.drop_from(npages);
        return bits;
    }

    // Adds bits within words, in lanes of 16 bits: compilers vectorize it, and no machine needs an instruction for it. (Every query
    // counts the pages of every chunk of a live table; without that instruction a count by words takes four times as long.)
    uint32_t count() const {
        static_assert(words * 64 < 1 << 16);
        uint64_t lanes = 0;
        for (uint64_t w : word_) {
            w -= w >> 1 & 0x5555555555555555;
            w = (w & 0x3333333333333333) + (w >> 2 & 0x3333333333333333);
            w = (w + (w >> 4)) & 0x0f0f0f0f0f0f0f0f;
            lanes += (w & 0x00ff00ff00ff00ff) + (w >> 8 & 0x00ff00ff00ff00ff);
        }
        return static_cast<uint32_t>(lanes * 0x0001000100010001 >> 48);
    }

    PageBits &operator&=(const PageBits &o) {
        return each(o, [](uint64_t a, uint64_t b) { return a & b; });
    }
    PageBits &operator|=(const PageBits &o) {
        return each(o, [](uint64_t a, uint64_t b) { return a | b; });
    }
    PageBits &operator-=(const PageBits &o) {
        return each(o, [](uint64_t a, uint64_t b) { return a & ~b; });
    }
    friend PageBits operator&(PageBits a, const PageBits &b) { return a &= b; }
    friend PageBits operator|(PageBits a, const PageBits &b) { return a |= b; }
    friend PageBits operator-(PageBits a, const PageBits &b) { return a -= b; }
    bool operator==(const PageBits &o) const { return word_ == o.word_; }

    // Calls f(page) for every page whose bit is set, in order.
    template <class F> void for_each(F f) const {
        for (size_t i = 0; i < words; ++i)
            for (uint64_t w = word_[i]; w != 0; w &= w - 1)
                f(static_cast<uint32_t>(i * 64 + static_cast<size_t>(__builtin_ctzll(w))));
    }

    // Adds those of the pages 0..npages-1 whose bits are not set, in order; false: there are more than `most`.
    bool list_missing(uint32_t npages, size_t most, std::vector<uint32_t> *pages) const {
        for (uint32_t first = 0; first < npages; first += 64) {
            uint64_t w = ~word_[first / 64];
            if (npages - first < 64)
                w &= (uint64_t(1) << (npages - first)) - 1;
            for (; w != 0; w &= w - 1) {
                if (pages->size() == most)
                    return false;
                pages->push_back(first + static_cast<uint32_t>(__builtin_ctzll(w)));
            }
        }
        return true;
    }

    // From and to the wire; bits of pages from `npages` on are dropped.
    void read(const void *from, uint32_t npages) {
        memcpy(word_.data(), from, bytes);
        drop_from(npages);
    }
    void write(void *to) const { memcpy(to, word_.data(), bytes); }

    // The first bit of each of these pairs, as a page of the visibility map has them. Without
    // branches: a query reads the maps of all chunks of a live table, and which of their words have all bits is not to be foretold.
    using Pairs = std::array<uint16_t, words * 8>; // eight in each
    void read_first_bits(const Pairs &pairs, uint32_t npages) {
        std::array<uint8_t, words * 8> bits; // (no part of this, as far as the compiler can tell)
        for (size_t i = 0; i < pairs.size(); ++i) {
            uint16_t of = pairs[i] & 0x5555;
            of = (of | of >> 1) & 0x3333;
            of = (of | of >> 2) & 0x0f0f;
            bits[i] = static_cast<uint8_t>(of | of >> 4);
        }
        memcpy(word_.data(), bits.data(), sizeof bits);
        drop_from(npages);
    }

  private:
    void drop_from(uint32_t npages) {
        size_t i = npages / 64;
        if (npages % 64 != 0)
            word_[i++] &= (uint64_t(1) << (npages % 64)) - 1;
        for (; i < words; ++i)
            word_[i] = 0;
    }
    template <class F> PageBits &each(const PageBits &o, F f) {
        for (size_t i = 0; i < words; ++i)
            word_[i] = f(word_[i], o.word_[i]);
        return *this;
    }

    std::array<uint64_t, words> word_{};
};

} // namespace gpuscan
