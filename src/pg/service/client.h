// The backend's end of the protocol: take a slot, make requests, wait without losing interrupts, let go safely.
//
// Waiting: spin at most 50 us (not at all on few cores), then futex waits of at most 10 ms with CHECK_FOR_INTERRUPTS
// and a test of the postmaster and of the service's generation between them. When an interrupt throws, the
// connection is released by a resource-owner/transaction callback before the buffer pins go (see lifetime in exec/):
// the slot becomes Abandoned, nobody waits for it.
#pragma once

#include "pg/pg.h"

#include "pg/service/admission.h"
#include "server/protocol.hpp"

namespace gpuscan {

struct DeviceConnection; // palloc'ed in TopMemoryContext-owned list; released on abort automatically

// Takes a slot, and waits for one if that is better than the alternative. NULL with *reason set when there is no service, it is not ready,
// or no slot is free in time.
DeviceConnection *device_connect(const Alternative &alternative, const char **reason);

// The same for a request outside of a plan: NULL while there is no device process (and so nothing to ask for), an error if there is
// one that cannot be reached.
DeviceConnection *device_connect_or_null();

// For a worker that feeds a session, at once, from slots of their own. NULL: there is none, or no device process.
DeviceConnection *device_connect_worker();

// The number of the device process that the connection talks to.
uint32 device_generation(const DeviceConnection *connection);

// Says what the requests are about, before the first of them: should the device process die of it, the log names the query, and
// the program is refused from then on. `program`: fingerprint, 0 for none.
void device_tell_program(DeviceConnection *connection, uint64 program);
// The program has ended the device process before.
bool device_refuses_program(uint64 program);

// Where to write a request that is made next: the slot's input from `offset` on (slot_buffer_size in all).
char *device_input(DeviceConnection *connection);

// Sends what stands at input + offset. Exactly one request may be outstanding.
void device_post(DeviceConnection *connection, protocol::Command command, uint32 offset, uint32 size);

// Waits for the outstanding request. Does not ereport for device-side failures: look at the result. Interrupts are
// served while waiting (so it may ereport for a cancel).
protocol::Status device_wait(DeviceConnection *connection);

// The outstanding request is done (no wait).
bool device_done(const DeviceConnection *connection);

const char *device_output(const DeviceConnection *connection, uint32 *size);
const char *device_message(const DeviceConnection *connection); // reason of the last status that was not Ok

// Post and wait.
protocol::Status device_call(DeviceConnection *connection, protocol::Command command, uint32 size);

// The same for a request outside of a plan. False: the device process is gone; an error: it refused.
bool device_call_or_error(DeviceConnection *connection, protocol::Command command, uint32 size);

// Gives the slot back (Close is sent first if the slot is idle and alive). Never throws, callable in abort.
void device_disconnect(DeviceConnection *connection);

// The shared area, or NULL when the library was not preloaded.
protocol::Area *device_area();

// Adds to a counter of the statistics view (no-op without an area).
void device_count(std::atomic<uint64_t> protocol::Counters::*counter, uint64 n);

} // namespace gpuscan
