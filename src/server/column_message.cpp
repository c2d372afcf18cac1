// Reading one column's definition; see column_message.hpp.
#include "server/column_message.hpp"

namespace gpuscan {
namespace {

constexpr uint32_t max_attributes = 1664; // MaxTupleAttributeNumber
constexpr uint32_t max_text = 1u << 20;
constexpr int32_t max_scale = 38, max_digits = 38;

bool codec_fits(const ColumnLayout &layout) {
    const int16_t length = layout.attributes.back().length;
    switch (layout.codec) {
    case Codec::Bool:
        return layout.type == Type::Bool && length == 1;
    case Codec::Int16:
        return layout.type == Type::I16 && length == 2;
    case Codec::Int32:
        return layout.type == Type::I32 && length == 4;
    case Codec::Int64:
        return layout.type == Type::I64 && length == 8;
    case Codec::Float4:
        return layout.type == Type::F32 && length == 4;
    case Codec::Float8:
        return layout.type == Type::F64 && length == 8;
    case Codec::Numeric:
    case Codec::MixedNumeric:
        return (layout.type == Type::I64 || layout.type == Type::I128) && length == -1 && layout.scale >= 0 &&
               layout.scale <= max_scale && layout.digits <= max_digits;
    case Codec::Text:
        return layout.type == Type::Code && length == -1;
    case Codec::Uuid:
    case Codec::Interval:
        return layout.type == Type::I128 && length == 16;
    case Codec::NumericScale:
        return layout.type == Type::I32 && length == -1;
    case Codec::Fixed:
        return layout.type == Type::Code && length > 0;
    }
    return false;
}

bool attribute_is_sound(const AttributeLayout &a) {
    return (a.length > 0 || a.length == -1 || a.length == -2) &&
           (a.align == 1 || a.align == 2 || a.align == 4 || a.align == 8);
}

} // namespace

ColumnDefinition read_column(MessageReader &in) {
    const protocol::ColumnHead head = in.head<protocol::ColumnHead>();
    if (head.nattributes == 0 || head.nattributes > max_attributes || head.missing_text_size > max_text ||
        head.key_size > max_text || head.dictionary_size > max_text ||
        head.codec > static_cast<uint8_t>(Codec::NumericScale) || head.type >= type_count ||
        (head.expression != 0 && head.nattributes != 1))
        throw InvalidMessage("column definition out of range");
    ColumnLayout layout;
    layout.attributes = in.array<AttributeLayout>(head.nattributes);
    layout.codec = static_cast<Codec>(head.codec);
    layout.type = static_cast<Type>(head.type);
    layout.scale = head.scale;
    layout.digits = head.digits;
    layout.expression = head.expression;
    layout.missing_null = head.missing_null != 0;
    layout.missing_low = head.missing_low;
    layout.missing_high = head.missing_high;
    layout.missing_text = in.text(head.missing_text_size);
    const std::string key = in.text(head.key_size), dictionary = in.text(head.dictionary_size);
    if (head.expression != 0)
        layout.expression_text = key.substr(0, key.find('\n')); // (what follows are settings)
    for (AttributeLayout &attribute : layout.attributes) {
        attribute.unused = 0;
        if (!attribute_is_sound(attribute))
            throw InvalidMessage("attribute layout out of range");
    }
    if (!codec_fits(layout))
        throw InvalidMessage("codec, type and attribute do not fit each other");

    std::string identity(reinterpret_cast<const char *>(&head), sizeof head);
    identity.append(reinterpret_cast<const char *>(layout.attributes.data()),
                    layout.attributes.size() * sizeof(AttributeLayout));
    identity += layout.missing_text;
    identity += key;
    identity += dictionary;
    return {identity, layout, dictionary};
}

} // namespace gpuscan
