// libFuzzer target for the replies to Fetch, as a backend reads them: any bytes, any number of keys and aggregates.
#include <vector>

#include "fuzz_input.hpp"
#include "server/group_page.hpp"

using namespace gpuscan;
using namespace gpuscan::protocol;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz::Input in{data, size};
    const uint32_t nkeys = in.number(1) % 17, naggregates = in.number(1) % 20;
    const fuzz::Exactly reply = in.take(in.size);
    std::vector<GroupPart> parts(nkeys + 2 * size_t(naggregates));
    if (!open_group_page(reply.data(), reply.size(), nkeys, naggregates, parts.data()))
        return 0;
    FetchReply head;
    memcpy(&head, reply.data(), sizeof head);
    struct Wide {
        uint64_t low;
        int64_t high;
    };
    std::vector<Wide> values(head.ngroups);
    unsigned nulls = 0;
    for (const GroupPart &part : parts) {
        if (head.ngroups == 0)
            break;
        unpack_group_part(part, 0, head.ngroups, &values[0].low, &values[0].high, sizeof(Wide));
        for (uint32_t g = 0; g < head.ngroups && part.nulls != nullptr; ++g)
            nulls += part.nulls[g];
    }
    fuzz::require(nulls <= 255u * head.ngroups * parts.size(), "(so that they are read)");
    return 0;
}
