// What every decoder checks before it reads; see decode.hpp.
#include "engine/store/decode.hpp"

#include <algorithm>
#include <iterator>

#include "engine/device.hpp"

namespace gpuscan {

static bool same(const AttributeLayout &a, const AttributeLayout &b) {
    return a.length == b.length && a.align == b.align;
}

bool is_prefix(const std::vector<AttributeLayout> &part, const std::vector<AttributeLayout> &whole) {
    return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin(), same);
}

int128 numeric_limit(const ColumnLayout &layout) {
    int128 limit = layout.digits > 0 ? 1 : 0;
    for (int i = 0; i < layout.digits; ++i)
        limit *= 10;
    return limit;
}

// What the codec needs must be what the attribute has, or the decoder's reads would not be checked.
void check_column(const ColumnTarget &target, uint64_t rows) {
    static constexpr int16_t length[] = {1, 2, 4, 8, 4, 8, -1, -1, 16, 0, 16, -1, -1};
    static constexpr Type type[] = {Type::Bool, Type::I16,  Type::I32,  Type::I64,  Type::F32, Type::F64, Type::I64,
                                    Type::Code, Type::I128, Type::Code, Type::I128, Type::I64, Type::I32};
    const ColumnLayout &layout = *target.layout;
    const size_t codec = static_cast<size_t>(layout.codec);
    if (codec >= std::size(type) || layout.attributes.empty() ||
        (layout.codec == Codec::Fixed ? layout.attributes.back().length <= 0
                                      : layout.attributes.back().length != length[codec]))
        throw DeviceError("column layout does not match its codec");
    if (layout.type != type[codec] && !(is_scaled(layout.codec) && layout.type == Type::I128))
        throw DeviceError("column type does not match its codec");
    if (is_coded(layout.codec) && target.dictionary == nullptr)
        throw DeviceError("text column without a dictionary");
    for (const AttributeLayout &a : layout.attributes) {
        const bool align = a.align == 1 || a.align == 2 || a.align == 4 || a.align == 8;
        if (!align || a.length == 0 || a.length < -2)
            throw DeviceError("invalid attribute layout");
    }
    if (target.values->size / type_width(layout.type) < rows || target.nulls->size < rows)
        throw DeviceError("column buffer too small");
}

} // namespace gpuscan
