// A page's LSN and hash, as they are read from shared buffers that others may be writing.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "engine/store/decode.hpp"
#include "engine/util/page_hash.hpp"
#include "server/page_identity.hpp"

namespace gpuscan {
namespace {

constexpr uint32_t valid = 1u << 24, locked = 1u << 22;

struct Descriptor {
    PageTag tag;
    uint32_t state;
    uint32_t lock = 0;
};

// Two buffers; the second one holds block 7.
struct Buffers {
    Buffers() {
        std::mt19937_64 random(1);
        for (uint64_t &word : words)
            word = random();
        descriptors[1] = {{1663, 5, 16384, 0, 7}, valid | 3, 0};
    }
    BufferPool pool() const {
        BufferPool pool;
        pool.pages = reinterpret_cast<const uint8_t *>(words.data());
        pool.size = words.size() * sizeof words[0];
        pool.descriptors = reinterpret_cast<const uint8_t *>(descriptors);
        pool.descriptor_size = sizeof(Descriptor);
        pool.tag_offset = offsetof(Descriptor, tag);
        pool.state_offset = offsetof(Descriptor, state);
        pool.valid = valid;
        pool.locked = locked;
        return pool;
    }
    uint64_t *page() { return &words[page_size / 8]; }

    std::vector<uint64_t> words = std::vector<uint64_t>(2 * page_size / 8);
    Descriptor descriptors[2] = {};
};

TEST(PageIdentity, OfThePageThatIsAskedFor) {
    Buffers buffers;
    const PageTag tag = buffers.descriptors[1].tag;
    uint64_t lsn = 0, hash = 0;
    bool unlocked = true;
    ASSERT_TRUE(read_page_lsn(buffers.pool(), tag, 1, &lsn, &unlocked));
    EXPECT_FALSE(unlocked); // nobody knows where its lock is
    EXPECT_EQ(lsn, buffers.page()[0] << 32 | buffers.page()[0] >> 32);
    ASSERT_TRUE(read_page_hash(buffers.pool(), tag, 1, 0, &hash));
    EXPECT_EQ(hash, page_hash(buffers.page()));
    PageTag other = tag;
    other.block = 8;
    const auto refused = [&hash](const BufferPool &pool, const PageTag &wanted, uint32_t buffer) {
        bool is_unlocked_now;
        return !read_page_lsn(pool, wanted, buffer, &hash, &is_unlocked_now) &&
               !read_page_hash(pool, wanted, buffer, buffer + 1, &hash);
    };
    EXPECT_TRUE(refused(buffers.pool(), other, 1));
    EXPECT_TRUE(refused(buffers.pool(), tag, 0));
    EXPECT_TRUE(refused(buffers.pool(), tag, 2));
    EXPECT_TRUE(refused(BufferPool(), tag, 1));
    for (uint32_t PageTag::*part : {&PageTag::database, &PageTag::relation}) {
        other = tag;
        ++(other.*part);
        EXPECT_TRUE(refused(buffers.pool(), other, 1));
    }
    other = tag;
    other.fork = 2;
    EXPECT_TRUE(refused(buffers.pool(), other, 1));
    BufferPool without = buffers.pool();
    without.descriptors = nullptr;
    EXPECT_TRUE(refused(without, tag, 1));
    buffers.descriptors[1].state = 3; // being read from its file
    EXPECT_TRUE(refused(buffers.pool(), tag, 1));
    // PostgreSQL 15 gives a buffer its next tag while the state still says that the content is valid: that of the page before.
    buffers.descriptors[1].state = valid | locked | 3;
    EXPECT_TRUE(refused(buffers.pool(), tag, 1));
}

// Whoever holds a page's lock to change it may put another LSN on it, of a record that is written already.
TEST(PageIdentity, IsUnlockedWhereNobodyIsAtWork) {
    constexpr uint32_t exclusive = 1u << 18;
    Buffers buffers;
    BufferPool pool = buffers.pool();
    pool.lock_offset = offsetof(Descriptor, lock);
    pool.lock_held = exclusive;
    const auto unlocked = [&](uint32_t lock) {
        buffers.descriptors[1].lock = lock;
        uint64_t lsn = 0;
        bool is_unlocked_now = false;
        EXPECT_TRUE(read_page_lsn(pool, buffers.descriptors[1].tag, 1, &lsn, &is_unlocked_now));
        return is_unlocked_now;
    };
    EXPECT_TRUE(unlocked(0));
    EXPECT_TRUE(unlocked(1u << 30 | 5)); // readers
    EXPECT_FALSE(unlocked(1u << 30 | exclusive));
}

// Each bit of a page matters, and so does the order of its words; also where they are 0, as a new page's are, or the same.
TEST(PageIdentity, EveryChangeChangesTheHash) {
    Buffers buffers;
    uint64_t *const page = buffers.page();
    for (int content = 0; content < 3; ++content) {
        std::set<uint64_t> hashes = {page_hash(page)};
        size_t pages = 1;
        for (size_t bit = 0; bit < 8 * page_size; ++bit) {
            page[bit / 64] ^= uint64_t(1) << (bit % 64);
            hashes.insert(page_hash(page));
            ++pages;
            page[bit / 64] ^= uint64_t(1) << (bit % 64);
        }
        for (size_t i = 1; i < page_size / 8 && content == 0; ++i, ++pages) {
            std::swap(page[i - 1], page[i]);
            hashes.insert(page_hash(page));
        }
        EXPECT_EQ(hashes.size(), pages);
        std::fill(page, page + page_size / 8, content == 0 ? 0 : 0x0102030401020304);
    }
}

} // namespace
} // namespace gpuscan
