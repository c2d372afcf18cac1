// A session of the device process on its own, for targets that send it messages.
#pragma once

#include <vector>

#include "fuzz_input.hpp"
#include "host/host_device.hpp"
#include "server/session.hpp"

namespace gpuscan::fuzz {

// The devices, and what they keep from one input to the next: nothing.
class Process {
  public:
    Process()
        : served_(std::make_shared<ServedDevice>(protocol::DeviceKind::Host, make_host_device(1), size_t(16) << 20)) {
        served_->device->set_memory_limit(size_t(64) << 20);
        devices.set(served_);
    }
    void forget() {
        served_->cache.evict_all();
        while (served_->tables->drop_one() || served_->lookups->drop_one()) {
        }
        served_->tables->drop_dead();
        served_->lookups->drop_dead();
    }

    Devices devices;
    protocol::Counters counters = {};
    Patience patience;
    std::vector<uint8_t> output = std::vector<uint8_t>(protocol::slot_buffer_size);

  private:
    const ServedDeviceRef served_;
};

inline SessionReply send(Process &process, Session &session, protocol::Command command, const Exactly &message) {
    SessionRequest request;
    request.command = command;
    request.input = message.bytes();
    request.input_size = message.size();
    request.output = process.output.data();
    request.cancel = &process.patience.cancel;
    const SessionReply reply = session.handle(request);
    require(reply.output_size <= protocol::slot_buffer_size, "size of a reply");
    require(reply.status == protocol::Status::Ok || !session.is_open(), "a session that goes on after an error");
    return reply;
}

} // namespace gpuscan::fuzz
