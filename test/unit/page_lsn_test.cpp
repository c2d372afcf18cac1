// The LSN of a page in shared_buffers, read without a pin: only if the buffer holds the page for certain.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "engine/store/decode.hpp"
#include "server/page_identity.hpp"

namespace gpuscan {
namespace {

constexpr uint32_t valid = 1u << 24, locked = 1u << 22, pins = 3;

struct Descriptor {
    PageTag tag;
    uint32_t state;
};

class PageLsnTest : public testing::Test {
  protected:
    PageLsnTest() {
        pool.pages = pages.data();
        pool.size = pages.size();
        pool.descriptors = reinterpret_cast<const uint8_t *>(descriptors);
        pool.descriptor_size = sizeof(Descriptor);
        pool.tag_offset = offsetof(Descriptor, tag);
        pool.state_offset = offsetof(Descriptor, state);
        pool.valid = valid;
        pool.locked = locked;
        descriptors[1] = {tag, valid | pins};
        const uint32_t halves[2] = {5, 7};
        memcpy(&pages[page_size], halves, sizeof halves);
    }
    bool read(uint32_t buffer) {
        lsn = 0;
        return read_page_lsn(pool, tag, buffer, &lsn);
    }

    const PageTag tag = {1663, 5, 16384, 0, 42};
    Descriptor descriptors[2] = {};
    std::vector<uint8_t> pages = std::vector<uint8_t>(2 * page_size);
    BufferPool pool;
    uint64_t lsn = 0;
};

TEST_F(PageLsnTest, OfThePageThatLiesThere) {
    ASSERT_TRUE(read(1));
    EXPECT_EQ(lsn, uint64_t(5) << 32 | 7);
}

TEST_F(PageLsnTest, NotOfAnotherPage) {
    EXPECT_FALSE(read(0));
    EXPECT_FALSE(read(2)) << "behind the last buffer";
    for (uint32_t *part : {&descriptors[1].tag.database, &descriptors[1].tag.relation, &descriptors[1].tag.block}) {
        ++*part;
        EXPECT_FALSE(read(1));
        --*part;
    }
    descriptors[1].tag.fork = 2;
    EXPECT_FALSE(read(1));
}

// PostgreSQL 15 gives a buffer its next tag while the state still says that the content is valid: that of the page before.
TEST_F(PageLsnTest, NotWhileTheBufferChangesHands) {
    descriptors[1].state = valid | locked | pins;
    EXPECT_FALSE(read(1));
    descriptors[1].state = pins;
    EXPECT_FALSE(read(1));
}

TEST_F(PageLsnTest, NotWithoutDescriptors) {
    pool.descriptors = nullptr;
    EXPECT_FALSE(read(1));
}

} // namespace
} // namespace gpuscan
