// What a value looks like inside the engine: the physical types, their widths and PostgreSQL's meaning of each.
//
// The engine knows no SQL type. The PostgreSQL side maps int2/4/8, date (I32), timestamp(tz) (I64), bool, float4/8
// directly; numeric(p,s) becomes an integer scaled by 10^s (I64 up to 18 digits, else I128); text, varchar and
// bpchar become codes into a dictionary. Rescaling is written out in the IR as multiplications.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuscan {

using int128 = __int128;
using uint128 = unsigned __int128;

enum class Type : uint8_t {
    Bool = 0, // 1 byte, 0 or 1
    I16 = 1,
    I32 = 2,
    I64 = 3,
    I128 = 4,
    F32 = 5,
    F64 = 6,
    Code = 7, // uint32_t, entry of the column's dictionary, consecutive from 0
};
constexpr int type_count = 8;

// The C++ type of a value in a column.
template <Type type> struct ValueOf;
template <> struct ValueOf<Type::Bool> { using T = uint8_t; };
template <> struct ValueOf<Type::I16> { using T = int16_t; };
template <> struct ValueOf<Type::I32> { using T = int32_t; };
template <> struct ValueOf<Type::I64> { using T = int64_t; };
template <> struct ValueOf<Type::I128> { using T = int128; };
template <> struct ValueOf<Type::F32> { using T = float; };
template <> struct ValueOf<Type::F64> { using T = double; };
template <> struct ValueOf<Type::Code> { using T = uint32_t; };

// Calls work(T()) for the C++ type of the values.
template <class Work> void with_type(Type type, const Work &work) {
    switch (type) {
    case Type::Bool:
        return work(ValueOf<Type::Bool>::T());
    case Type::I16:
        return work(ValueOf<Type::I16>::T());
    case Type::I32:
        return work(ValueOf<Type::I32>::T());
    case Type::Code:
        return work(ValueOf<Type::Code>::T());
    case Type::I64:
        return work(ValueOf<Type::I64>::T());
    case Type::I128:
        return work(ValueOf<Type::I128>::T());
    case Type::F32:
        return work(ValueOf<Type::F32>::T());
    case Type::F64:
        return work(ValueOf<Type::F64>::T());
    }
}

// Bytes of one value in a column.
constexpr size_t type_width(Type type) {
    constexpr size_t width[type_count] = {1, 2, 4, 8, 16, 4, 8, 4};
    return width[static_cast<int>(type)];
}

constexpr bool is_integer(Type type) {
    return type == Type::I16 || type == Type::I32 || type == Type::I64 || type == Type::I128;
}

constexpr bool is_float(Type type) { return type == Type::F32 || type == Type::F64; }

// How the bytes of a heap attribute become a value of Type.
enum class Codec : uint8_t {
    Bool = 0,          // -> Bool
    Int16 = 1,         // -> I16
    Int32 = 2,         // -> I32 (int4, date)
    Int64 = 3,         // -> I64 (int8, timestamp, timestamptz)
    Float4 = 4,        // -> F32
    Float8 = 5,        // -> F64
    Numeric = 6,       // varlena, base-10000 digits -> I64 or I128, value * 10^scale
    Text = 7,          // varlena -> Code, every byte counts
    Uuid = 8,          // 16 bytes -> I128 in the same order
    Fixed = 9,         // attlen bytes -> Code, every byte counts
    Interval = 10,     // 16 bytes -> I128: microseconds in the low half, days and months in the high one
    MixedNumeric = 11, // as Numeric; not every value is shown with `scale` digits after the point
    NumericScale = 12, // varlena, a numeric -> I32, with how many digits after the point it is shown
};

// Whose values are numerics' integers?
constexpr bool is_scaled(Codec codec) { return codec == Codec::Numeric || codec == Codec::MixedNumeric; }

// Whose values are entries of a dictionary?
constexpr bool is_coded(Codec codec) { return codec == Codec::Text || codec == Codec::Fixed; }

} // namespace gpuscan
