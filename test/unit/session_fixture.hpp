// A session of the device process as a backend sees it, without slots: messages go to it directly. The tables are heap pages made
// by hand in a pretended shared_buffers; the device is the host's.
#pragma once

#include "device_client.hpp"
#include "host/host_device.hpp"
#include "server/session.hpp"

namespace gpuscan::test {

class DirectClient : public Client {
  public:
    DirectClient(Devices &devices, Counters &counters, BufferPool pool) : session(devices, counters, pool) {}

    Answer call(Command command, const Message &message) override {
        SessionRequest request;
        request.command = command;
        request.input = reinterpret_cast<const uint8_t *>(message.bytes.data());
        request.input_size = message.bytes.size();
        request.output = output_.data();
        request.cancel = &cancel;
        SessionReply reply = session.handle(request);
        Answer answer;
        answer.status = reply.status;
        answer.message = reply.message;
        answer.bytes.assign(reinterpret_cast<const char *>(output_.data()), reply.output_size);
        return answer;
    }

    std::atomic<uint32_t> cancel{0};
    Session session;

  private:
    std::vector<uint8_t> output_ = std::vector<uint8_t>(slot_buffer_size);
};

class SessionTest : public ::testing::Test {
  protected:
    SessionTest() {
        auto served = std::make_shared<ServedDevice>(DeviceKind::Host, make_host_device(2), size_t(64) << 20);
        served->device->set_memory_limit(size_t(256) << 20);
        devices.set(served);
        cache = &served->cache;
    }
    std::unique_ptr<DirectClient> client() { return std::make_unique<DirectClient>(devices, counters, server.pool()); }

    Server server;
    Devices devices;
    Counters counters = {};
    Cache *cache;
};

} // namespace gpuscan::test
