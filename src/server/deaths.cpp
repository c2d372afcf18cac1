// Deaths of the device process; see deaths.hpp.
#include "server/deaths.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "server/protocol.hpp"

namespace gpuscan {

using namespace protocol;

namespace {

bool is_running(const Slot &slot, uint32_t generation) {
    return slot.generation.load() == generation && slot.state.load() != static_cast<uint32_t>(SlotState::Free) &&
           (slot.request.load() & ~request_abandoned) != slot.reply.load();
}

void describe(Death &death, const Slot &slot) {
    death.command = slot.command;
    death.backend_pid = slot.backend_of_request;
    death.program = slot.program.load();
    snprintf(death.query, sizeof death.query, "%.*s", static_cast<int>(sizeof slot.query), slot.query);
}

} // namespace

bool is_refused(const Suspects &suspects, uint64_t program) {
    const uint32_t n = std::min(suspects.count.load(std::memory_order_acquire), max_suspects);
    for (uint32_t i = 0; i < n; ++i)
        if (suspects.at[i].program.load(std::memory_order_relaxed) == program && program != 0)
            return suspects.at[i].strikes.load(std::memory_order_relaxed) >= strikes_to_refuse;
    return false;
}

void add_strikes(Suspects &suspects, uint64_t program, uint32_t strikes) {
    if (program == 0)
        return;
    const uint32_t count = suspects.count.load();
    for (uint32_t i = 0; i < std::min(count, max_suspects); ++i)
        if (suspects.at[i].program.load() == program) {
            suspects.at[i].strikes.fetch_add(strikes);
            return;
        }
    Suspects::Suspect &added = suspects.at[count % max_suspects];
    added.strikes.store(strikes);
    added.program.store(program);
    suspects.count.store(count + 1, std::memory_order_release);
}

const Death &record_death(Area &area, int32_t pid, int32_t signal, int32_t exit_code, int64_t at_us) {
    const uint64_t number = area.deaths.count.load();
    Death &death = area.deaths.at[number % max_deaths];
    death = Death();
    death.at_us = at_us;
    death.pid = pid;
    death.signal = signal;
    death.exit_code = exit_code;
    const CrashNote &note = area.crash;
    const bool noted = note.written.load() != 0;
    // (It exits with 0 when it gets SIGTERM or SIGQUIT, which it never sends itself.)
    const bool from_outside = noted ? note.from_outside != 0 : signal == SIGKILL || (signal == 0 && exit_code == 0);
    const uint32_t culprit = noted && !from_outside ? note.slot : no_slot;
    // (What has ended a GPU's context may have been another session's kernel: an exit is one strike.)
    const uint32_t strikes = culprit != no_slot && signal != 0 ? strikes_to_refuse : 1;
    const uint32_t generation = area.generation.load();
    for (uint32_t i = 0; i < area.nslots; ++i) {
        const Slot &slot = *area.slot(i);
        if (!is_running(slot, generation) && i != culprit)
            continue;
        ++death.requests;
        if (i == culprit || (culprit == no_slot && death.requests == 1))
            describe(death, slot);
        if (!from_outside && (i == culprit || culprit == no_slot))
            add_strikes(area.suspects, slot.program.load(), strikes);
    }
    if (culprit == no_slot && death.requests > 1) { // nobody knows
        death.command = 0;
        death.backend_pid = 0;
        death.program = 0;
        death.query[0] = '\0';
    }
    area.crash.written.store(0);
    area.deaths.count.store(number + 1);
    return death;
}

std::string suspects_text(const Suspects &suspects, const std::string &version) {
    std::ostringstream text;
    text << version << '\n';
    for (uint32_t i = 0; i < std::min(suspects.count.load(), max_suspects); ++i)
        text << suspects.at[i].program.load() << ' ' << suspects.at[i].strikes.load() << '\n';
    return text.str();
}

void read_suspects(Suspects &suspects, const std::string &text, const std::string &version) {
    std::istringstream in(text);
    std::string written_by;
    if (!std::getline(in, written_by) || written_by != version)
        return;
    uint64_t program = 0;
    uint32_t strikes = 0;
    while (in >> program >> strikes)
        add_strikes(suspects, program, std::min(strikes, strikes_to_refuse));
}

// ---- the build ----

namespace {

std::string build_id_in(const uint8_t *note, size_t size) {
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head;
        memcpy(&head, note, sizeof head);
        const size_t name = (head.n_namesz + 3u) & ~size_t(3), bytes = (head.n_descsz + 3u) & ~size_t(3);
        if (name > size - sizeof head || bytes > size - sizeof head - name)
            break;
        if (head.n_type == NT_GNU_BUILD_ID) {
            std::string id;
            char digits[3];
            for (size_t i = 0; i < head.n_descsz; ++i) {
                snprintf(digits, sizeof digits, "%02x", note[sizeof head + name + i]);
                id += digits;
            }
            return id;
        }
        note += sizeof head + name + bytes;
        size -= sizeof head + name + bytes;
    }
    return "";
}

int find_this_library(dl_phdr_info *info, size_t, void *result) {
    const auto here = reinterpret_cast<uintptr_t>(&find_this_library);
    bool ours = false;
    std::string id;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr) &part = info->dlpi_phdr[i];
        const uintptr_t at = info->dlpi_addr + part.p_vaddr;
        ours = ours || (part.p_type == PT_LOAD && here >= at && here < at + part.p_memsz);
        if (part.p_type == PT_NOTE && id.empty())
            id = build_id_in(reinterpret_cast<const uint8_t *>(at), part.p_filesz);
    }
    if (ours)
        *static_cast<std::string *>(result) = id;
    return ours;
}

} // namespace

std::string library_version() {
    std::string id;
    dl_iterate_phdr(find_this_library, &id);
    return id.empty() ? "unknown" : id;
}

} // namespace gpuscan
