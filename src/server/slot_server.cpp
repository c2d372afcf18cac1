// One thread per request slot; see slot_server.hpp, and protocol.hpp for the life of a slot.
//
// A thread remembers the number of the last request it has answered and starts with the one that it finds, so that what
// an earlier process left behind is never taken for a request. It looks at `request` alone: the bit request_abandoned
// changes the same word, so neither a new request nor an abandonment can fall between its look and its sleep.
#include "server/slot_server.hpp"

#include <pthread.h>

#include <cstdio>
#include <stdexcept>

#include "engine/util/crash_handler.hpp"
#include "engine/util/spin.hpp"
#include "server/futex.hpp"
#include "server/session.hpp"

namespace gpuscan {

using namespace protocol;

namespace {

constexpr size_t stack_bytes =
    size_t(8) << 20; // an execution's work runs on it, expressions of ir::max_expr_depth by recursion

class SlotThread {
  public:
    SlotThread(const SlotServer &server, uint32_t number)
        : server_(server), number_(number), slot_(*server.area->slot(number)), input_(server.area->input(number)),
          output_(server.area->output(number)), session_(*server.devices, server.area->counters, server.pool),
          done_(slot_.request.load()) {}

    [[noreturn]] void run() {
        const SignalStack signal_stack;
        const WorkingFor working(number_);
        for (;;) {
            const uint32_t request = slot_.request.load();
            if (request == done_)
                wait(request);
            else if (slot_.generation.load() != server_.generation)
                done_ = request;
            else if (request & request_abandoned)
                free_slot();
            else
                answer(request);
        }
    }

  private:
    void wait(uint32_t seen) {
        const auto asked = [&] { return slot_.request.load(std::memory_order_relaxed) != seen; };
        if (session_.is_open() && server_.area->spin_gate.spin(asked))
            return;
        futex_wait(slot_.request, seen, -1);
    }

    void free_slot() {
        session_.reset();
        const uint32_t number = slot_.request.fetch_and(~request_abandoned) & ~request_abandoned;
        done_ = number;
        slot_.cancel.store(0);
        slot_.reply.store(number);
        slot_.state.store(static_cast<uint32_t>(SlotState::Free));
        server_.area->queue.wake_first();
    }

    void answer(uint32_t number) {
        SessionReply reply = handle();
        if (reply.device_lost)
            note_own_end();
        slot_.status = static_cast<uint32_t>(reply.status);
        slot_.output_size = static_cast<uint32_t>(reply.output_size);
        snprintf(slot_.message, sizeof slot_.message, "%s", reply.message.c_str());
        done_ = number;
        slot_.reply.store(number);
        futex_wake(slot_.reply);
        if (reply.device_lost) {
            fprintf(stderr, "gpuscan: device lost, the device process ends: %s\n", reply.message.c_str());
            _exit(3);
        }
    }

    SessionReply handle() {
        const uint32_t offset = slot_.input_offset, size = slot_.input_size;
        if (offset % 8 != 0 || offset > slot_buffer_size || size > slot_buffer_size - offset) {
            SessionReply reply;
            reply.status = Status::Invalid;
            reply.message = "the request does not lie in the slot's input";
            return reply;
        }
        SessionRequest request;
        request.command = static_cast<Command>(slot_.command);
        request.input = input_ + offset;
        request.input_size = size;
        request.output = output_;
        request.cancel = &slot_.cancel;
        return session_.handle(request);
    }

    const SlotServer &server_;
    const uint32_t number_;
    Slot &slot_;
    const uint8_t *input_;
    uint8_t *output_;
    Session session_;
    uint32_t done_; // the last request answered, or found at the start
};

void *thread_main(void *thread) {
    static_cast<SlotThread *>(thread)->run();
    return nullptr; // (not reached; for cppcheck)
}

} // namespace

void SlotServer::start() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (uint32_t i = 0; i < area->nslots; ++i) {
        pthread_t thread;
        // (never freed: threads end with the process)
        if (pthread_create(&thread, &attributes, thread_main, new SlotThread(*this, i)) != 0)
            throw std::runtime_error("could not start a thread for every request slot");
    }
    pthread_attr_destroy(&attributes);
}

void SlotServer::cancel_abandoned() {
    for (uint32_t i = 0; i < area->nslots; ++i) {
        Slot &slot = *area->slot(i);
        if (slot.generation.load() == generation && (slot.request.load() & request_abandoned))
            slot.cancel.store(1);
    }
}

} // namespace gpuscan
