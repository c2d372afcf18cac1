// The caches of all devices, from outside of any fragment: what is there, and what shall go.
#include <algorithm>

#include "server/give_back.hpp"
#include "server/session.hpp"

namespace gpuscan {

using namespace protocol;

constexpr size_t longest_text = 1 << 16; // of an expression that is listed

void Session::evict(MessageReader &in, MessageWriter &out) {
    const EvictRequest request = in.head<EvictRequest>();
    const RelationFile file = {request.locator.tablespace, request.locator.database, request.locator.relation};
    EvictReply reply = {};
    for (const ServedDeviceRef &device : devices_.all()) {
        reply.bytes += request.all ? device->cache.evict_all() : device->cache.evict(file);
        if (request.all)
            device->tables->drop_all();
        else
            device->tables->drop_of(file);
        device->lookups->drop_dead();
    }
    give_back_free_memory();
    out.put(reply);
}

void Session::list_cache(MessageReader &in, MessageWriter &out) {
    const ListCacheRequest request = in.head<ListCacheRequest>();
    std::vector<CacheEntry> entries;
    std::vector<std::string> texts;
    for (const ServedDeviceRef &device : devices_.all())
        for (const Cache::Entry &entry : device->cache.list()) {
            CacheEntry e = {};
            e.locator = {entry.file.tablespace, entry.file.database, entry.file.relation};
            e.column = entry.attnum;
            e.device = static_cast<uint32_t>(device->kind);
            e.chunks = entry.chunks;
            e.pages = entry.pages;
            e.bytes = entry.bytes;
            e.hits = entry.hits;
            texts.push_back(entry.expression.size() > longest_text ? std::string() : entry.expression);
            e.text_size = static_cast<uint32_t>(texts.back().size());
            entries.push_back(e);
        }
    const size_t first = std::min<size_t>(request.first, entries.size());
    ListCacheReply reply = {};
    for (size_t i = first, room = slot_buffer_size - sizeof(ListCacheReply) - 8; i < entries.size(); ++i) {
        const size_t size = sizeof(CacheEntry) + texts[i].size();
        if (size > room)
            break;
        room -= size;
        ++reply.count;
    }
    reply.more = first + reply.count < entries.size();
    out.put(reply);
    for (size_t i = 0; i < reply.count; ++i)
        out.put(entries[first + i]);
    for (size_t i = 0; i < reply.count; ++i)
        memcpy(out.part_unaligned(texts[first + i].size()), texts[first + i].data(), texts[first + i].size());
}

} // namespace gpuscan
