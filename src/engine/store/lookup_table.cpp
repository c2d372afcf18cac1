// The table of a lookup; see lookup_table.hpp.
#include "engine/store/lookup_table.hpp"

#include <algorithm>

namespace gpuscan {
namespace {

template <class T> void find_range(LookupTable &table) {
    const T *const values = reinterpret_cast<const T *>(table.values.data());
    table.min = INT64_MAX;
    table.max = INT64_MIN;
    for (size_t i = 0; i <= table.entries; ++i) {
        if (table.nulls[i])
            continue;
        table.min = std::min(table.min, static_cast<int64_t>(values[i]));
        table.max = std::max(table.max, static_cast<int64_t>(values[i]));
    }
    table.has_range = true;
}

} // namespace

void LookupTable::finish() {
    for (uint8_t &null : nulls)
        null = null != 0;
    any_null = std::find(nulls.begin(), nulls.end(), 1) != nulls.end();
    if (type == Type::Bool)
        for (uint8_t &value : values)
            value = value != 0;
    if (type == Type::Bool)
        find_range<uint8_t>(*this);
    else if (type == Type::I32)
        find_range<int32_t>(*this);
    else if (type == Type::I64)
        find_range<int64_t>(*this);
    else if (type == Type::Code)
        find_range<uint32_t>(*this);
}

} // namespace gpuscan
