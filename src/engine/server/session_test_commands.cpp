// Faults on demand, for the tests of everything that must survive them. Absent from a normal build.
#include <unistd.h>

#include <csignal>

#include "engine/server/session.hpp"

namespace gpuscan {

#ifdef GPUSCAN_TEST_COMMANDS

namespace {

// shared_buffers as memory that a device may try to write.
struct PoolBuffer : Buffer {
    explicit PoolBuffer(const BufferPool &pool) {
        data = const_cast<uint8_t *>(pool.pages);
        size = pool.size;
    }
};

} // namespace

void Session::test(MessageReader &in, const std::atomic<uint32_t> *cancel) {
    const protocol::TestRequest request = in.head<protocol::TestRequest>();
    switch (request.what) {
    case 1:
        signal(SIGSEGV, SIG_DFL);
        kill(getpid(), SIGSEGV);
        break;
    case 2:
        while (cancel == nullptr || cancel->load(std::memory_order_relaxed) == 0)
            usleep(10 * 1000);
        throw Cancelled();
    case 3: {
        PoolBuffer pool(pool_);
        const ServedDeviceRef device = devices_.find(protocol::DeviceKind::None);
        if (device)
            device->device->fill(pool, 0, 0xa5, page_size);
        break;
    }
    default:
        throw InvalidMessage("unknown test");
    }
}

#else

void Session::test(MessageReader &, const std::atomic<uint32_t> *) { throw InvalidMessage("not a test build"); }

#endif

} // namespace gpuscan
