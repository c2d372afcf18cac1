// The backend's end of the protocol.
//
// A connection is a slot of the shared area plus what this backend must remember about it. All of a backend's
// connections hang in one list, and a connection belongs to the resource owner that was current when it was made: the
// same lifetime that the buffer pins have which its requests refer to. So when a (sub)transaction aborts, exactly the
// connections under its resource owner are let go, and that happens in the transaction callbacks, which come before
// the resource owner drops the pins. (A cursor of the outer transaction keeps its connection, although it was made by
// a FETCH in the subtransaction.)
//
// Letting go never waits. An aborting backend marks the slot Abandoned; the device process ends what runs there (it is
// told to by `cancel`) and frees the slot. What it reads of pages that are no longer pinned does not matter: both
// decoders are safe on arbitrary bytes, and nothing is published.
//
// The caller's pointer may outlive the slot: executor memory is freed before the callbacks in some aborts and after
// them in others. Hence a connection that was let go by a subtransaction stays in the list as a lost one until its
// caller disconnects or the transaction ends, and device_disconnect() ignores pointers that are not in the list.
#include "pg/service/client.h"

#include "engine/util/machine.hpp"
#include "pg/service/admission.h"
#include "pg/service/area.h"
#include "server/futex.hpp"

namespace gpuscan {

using namespace protocol;

struct DeviceConnection {
    DeviceConnection *next;
    ResourceOwner owner;
    uint32 slot;
    uint32 generation; // of the device process that it talks to
    uint32 request;    // number of the last request
    bool outstanding;  // it has not been waited for
    bool session_open; // the device keeps something for this slot
    bool lost;         // the slot is no longer ours
};

static DeviceConnection *connections;
static bool callbacks_registered;

Area *device_area() { return service_area(); }

static Slot *slot_of(const DeviceConnection *connection) { return service_area()->slot(connection->slot); }

uint32 device_generation(const DeviceConnection *connection) { return connection->generation; }

static bool generation_is_over(const DeviceConnection *connection) {
    return service_area()->generation.load() != connection->generation;
}

// ---- letting go (callable in abort: no allocation, no error) ---------------------------------------------------------

static void abandon_slot(DeviceConnection *connection) {
    Slot *slot = slot_of(connection);
    slot->cancel = 1;
    slot->state = uint32_t(SlotState::Abandoned);
    slot->request |= request_abandoned;
    futex_wake(slot->request);
}

static void release_slot(DeviceConnection *connection) {
    if (connection->lost)
        return;
    connection->lost = true;
    Slot *slot = slot_of(connection);
    slot->backend_pid = 0;
    const uint64 held = end_holding(slot);
    // The generation changes after the old device process has gone, so nobody else looks at a dead slot. If it changes
    // after this test the slot is left Abandoned, and the supervisor frees it.
    if (generation_is_over(connection) || !(connection->outstanding || connection->session_open))
        slot->state = uint32_t(SlotState::Free);
    else
        abandon_slot(connection);
    note_release(service_area(), connection->slot, held);
}

static void forget(DeviceConnection **link) {
    DeviceConnection *connection = *link;
    release_slot(connection);
    *link = connection->next;
    pfree(connection);
}

void device_disconnect(DeviceConnection *connection) {
    for (DeviceConnection **link = &connections; *link; link = &(*link)->next) {
        if (*link == connection) {
            forget(link);
            return;
        }
    }
}

static void release_everything() {
    stop_waiting();
    while (connections)
        forget(&connections);
}

static bool owner_is_below(ResourceOwner owner, ResourceOwner ancestor) {
    while (owner && owner != ancestor)
        owner = ResourceOwnerGetParent(owner);
    return owner != nullptr;
}

static void at_transaction_event(XactEvent event, void *argument) {
    (void)argument;
    switch (event) {
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_PARALLEL_COMMIT:
    case XACT_EVENT_ABORT:
    case XACT_EVENT_PARALLEL_ABORT:
    case XACT_EVENT_PREPARE:
        release_everything();
        break;
    case XACT_EVENT_PRE_COMMIT:
    case XACT_EVENT_PARALLEL_PRE_COMMIT:
    case XACT_EVENT_PRE_PREPARE:
        break;
    }
}

// Here CurTransactionResourceOwner is the ending subtransaction's. Its own resources end with it in a commit too; those of
// its portals have been handed to the parent by then.
static void at_subtransaction_event(SubXactEvent event, SubTransactionId subid, SubTransactionId parent,
                                    void *argument) {
    (void)subid;
    (void)parent;
    (void)argument;
    if (event != SUBXACT_EVENT_ABORT_SUB && event != SUBXACT_EVENT_COMMIT_SUB)
        return;
    stop_waiting();
    for (DeviceConnection *connection = connections; connection; connection = connection->next)
        if (!connection->lost && owner_is_below(connection->owner, CurTransactionResourceOwner))
            release_slot(connection);
}

static void at_backend_exit(int code, Datum argument) {
    (void)code;
    (void)argument;
    release_everything();
}

static void register_callbacks() {
    if (callbacks_registered)
        return;
    RegisterXactCallback(at_transaction_event, nullptr);
    RegisterSubXactCallback(at_subtransaction_event, nullptr);
    before_shmem_exit(at_backend_exit, Datum(0));
    callbacks_registered = true;
}

// ---- connecting ------------------------------------------------------------------------------------------------------

// NULL with *reason set when there is no memory.
static DeviceConnection *connection_for(Area *area, const Admission &admission, const char **reason) {
    DeviceConnection *connection = static_cast<DeviceConnection *>(
        MemoryContextAllocExtended(TopMemoryContext, sizeof(DeviceConnection), MCXT_ALLOC_ZERO | MCXT_ALLOC_NO_OOM));
    if (connection == nullptr) {
        *reason = "out of memory";
        area->slot(admission.slot)->state = uint32_t(SlotState::Free);
        area->queue.wake_first();
        return nullptr;
    }
    connection->owner = CurrentResourceOwner;
    connection->generation = admission.generation;
    connection->slot = admission.slot;
    connection->request = area->slot(admission.slot)->request;
    connection->next = connections;
    connections = connection;
    return connection;
}

DeviceConnection *device_connect(const Alternative &alternative, const char **reason) {
    Area *area = service_area();
    if (!area) {
        *reason = "gpuscan is not in shared_preload_libraries";
        return nullptr;
    }
    register_callbacks();
    Admission admission = {};
    if (!admit(area, connections == nullptr ? alternative : Alternative(), &admission)) {
        *reason = admission.reason;
        return nullptr;
    }
    return connection_for(area, admission, reason);
}

DeviceConnection *device_connect_worker() {
    Area *area = service_area();
    const char *reason;
    register_callbacks();
    Admission admission = {};
    return area && admit_worker(area, &admission) ? connection_for(area, admission, &reason) : nullptr;
}

// ---- requests --------------------------------------------------------------------------------------------------------

void device_tell_program(DeviceConnection *connection, uint64 program) {
    if (connection->lost)
        return;
    Slot *slot = slot_of(connection);
    slot->backend_of_request = MyProcPid;
    strlcpy(slot->query, debug_query_string ? debug_query_string : "", sizeof slot->query);
    slot->program = program;
}

bool device_refuses_program(uint64 program) {
    Area *area = service_area();
    return area && is_refused(area->suspects, program);
}

char *device_input(DeviceConnection *connection) {
    return reinterpret_cast<char *>(service_area()->input(connection->slot));
}

void device_post(DeviceConnection *connection, Command command, uint32 offset, uint32 size) {
    Assert(!connection->outstanding);
    Assert(offset + size <= slot_buffer_size);
    connection->outstanding = true;
    if (connection->lost)
        return;
    Slot *slot = slot_of(connection);
    slot->command = uint32_t(command);
    slot->input_offset = offset;
    slot->input_size = size;
    slot->output_size = 0;
    slot->message[0] = '\0';
    connection->session_open = true;
    connection->request = (connection->request + 1) & ~request_abandoned;
    slot->request = connection->request;
    futex_wake(slot->request);
}

// The reply may stand there although the generation is over: it was complete when the process died, so it counts.
static bool replied(const DeviceConnection *connection) {
    return slot_of(connection)->reply.load() == connection->request;
}

bool device_done(const DeviceConnection *connection) {
    return connection->lost || !connection->outstanding || replied(connection) || generation_is_over(connection);
}

static void sleep_until_done(const DeviceConnection *connection) {
    Slot *slot = slot_of(connection);
    pgstat_report_wait_start(wait_event_device());
    for (;;) {
        uint32 reply = slot->reply;
        if (device_done(connection))
            break;
        // The deaths of the device process wake this futex too. A signal ends the sleep; one that comes between the
        // test and the sleep waits at most one slice.
        CHECK_FOR_INTERRUPTS();
        if (!PostmasterIsAlive())
            proc_exit(1);
        if (connection->lost) // by something that an interrupt did
            break;
        futex_wait(slot->reply, reply, slice_milliseconds);
    }
    pgstat_report_wait_end();
}

static Status lose(DeviceConnection *connection) {
    release_slot(connection);
    return Status::Lost;
}

Status device_wait(DeviceConnection *connection) {
    if (connection->lost) {
        connection->outstanding = false;
        return Status::Lost;
    }
    Assert(connection->outstanding);
    CHECK_FOR_INTERRUPTS();
    if (!service_area()->spin_gate.spin([&] { return device_done(connection); }))
        sleep_until_done(connection);
    if (connection->lost || !replied(connection)) {
        connection->outstanding = false;
        return lose(connection);
    }
    connection->outstanding = false;
    Slot *slot = slot_of(connection);
    if (slot->command == uint32_t(Command::Close))
        connection->session_open = false;
    return Status(slot->status);
}

const char *device_output(const DeviceConnection *connection, uint32 *size) {
    uint32 written = slot_of(connection)->output_size;
    *size = written < slot_buffer_size ? written : slot_buffer_size;
    return reinterpret_cast<const char *>(service_area()->output(connection->slot));
}

const char *device_message(const DeviceConnection *connection) {
    if (connection->lost)
        return "the device process ended";
    Slot *slot = slot_of(connection);
    slot->message[sizeof slot->message - 1] = '\0';
    return slot->message;
}

Status device_call(DeviceConnection *connection, Command command, uint32 size) {
    device_post(connection, command, 0, size);
    return device_wait(connection);
}

void device_count(std::atomic<uint64_t> Counters::*counter, uint64 n) {
    Area *area = service_area();
    if (area)
        (area->counters.*counter).fetch_add(n, std::memory_order_relaxed);
}

DeviceConnection *device_connect_or_null() {
    const char *reason;
    DeviceConnection *connection = device_connect(Alternative(), &reason);
    Area *area = service_area();
    if (!connection && area && area->state == uint32(ServiceState::Ready))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                        errmsg("could not reach the gpuscan device process: %s", reason)));
    return connection;
}

bool device_call_or_error(DeviceConnection *connection, Command command, uint32 size) {
    Status status = device_call(connection, command, size);
    if (status == Status::Lost)
        return false;
    if (status != Status::Ok)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("the gpuscan device process refused a request: %s", device_message(connection))));
    return true;
}

} // namespace gpuscan
