// Join tables that outlive their execution; see kept_tables.hpp.
#include "engine/kept_tables.hpp"

namespace gpuscan {

// The bytes hold the addresses of buffers. The caller has those buffers, and the entry's are alive: same address, same buffer.
KeptTables::Found KeptTables::find(const BuildIdentity &identity) {
    Entries out;
    std::lock_guard<std::mutex> guard(lock_);
    const KeptTable *const found = look_up(identity.bytes, out);
    return found == nullptr ? Found() : Found{found->table, found->id};
}

uint64_t KeptTables::keep(BuildIdentity identity, BuiltTableRef table) {
    Entries out;
    const size_t bytes = table->bytes();
    std::lock_guard<std::mutex> guard(lock_);
    if (!has_room(bytes))
        return 0;
    const KeptTable *const found = look_up(identity.bytes, out);
    if (found != nullptr)
        return found->id; // somebody else has built it meanwhile
    return put_in({std::move(identity), std::move(table), next_id_++, bytes}, out).id;
}

} // namespace gpuscan
