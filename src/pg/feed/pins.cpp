// How many buffers may be pinned at a time.
//
// Every session may run a fragment at once, so none may take more than its share of shared_buffers; "no unpinned
// buffers available" would hit somebody else. Where the share is too small for windows that are worth a round trip,
// pages are copied under their lock and no pin outlives it.
#include "pg/exec/run.h"

namespace gpuscan {

constexpr int min_window_pages = 16;

constexpr int windows_in_flight = 3;

int window_pages(Relation relation) {
    if (RelationUsesLocalBuffers(relation))
        return 0;
    // One pin stays with the visibility map.
    uint32 share = additional_pins();
    uint32 pages = share > 1 ? (share - 1) / windows_in_flight : 0;
    if (pages < min_window_pages)
        return 0;
    return pages < protocol::max_window_pages ? pages : protocol::max_window_pages;
}

} // namespace gpuscan
