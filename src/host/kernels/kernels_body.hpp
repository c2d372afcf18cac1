// The inner loops themselves; see kernels.hpp. Included by one file per instruction set, inside its target pragma, with
// GPUSCAN_KERNELS naming the namespace. Everything here is static, so that no function compiled for one instruction set
// can stand in for that of another; the standard headers were included before the pragma for the same reason.

namespace gpuscan::host::GPUSCAN_KERNELS {
namespace {

using ir::Op;

// Calls f with a value of the C++ type of `type`.
template <class F> auto with_integer(Type type, F f) {
    switch (type) {
    case Type::Bool:
        return f(uint8_t());
    case Type::I16:
        return f(int16_t());
    case Type::I32:
        return f(int32_t());
    case Type::I128:
        return f(int128());
    case Type::Code:
        return f(uint32_t());
    default:
        return f(int64_t());
    }
}
template <class F> auto with_number(Type type, F f) {
    switch (type) {
    case Type::I16:
        return f(int16_t());
    case Type::I32:
        return f(int32_t());
    case Type::I128:
        return f(int128());
    case Type::F32:
        return f(float());
    case Type::F64:
        return f(double());
    default:
        return f(int64_t());
    }
}

template <class T, class A, class B, class F>
int arithmetic_loop(size_t n, A a, B b, const uint8_t *nulls, T *__restrict out, F function) {
    int error = 0;
    if (nulls == nullptr) {
        for (size_t i = 0; i < n; ++i)
            out[i] = function(a(i), b(i), error);
        return error;
    }
    for (size_t i = 0; i < n; ++i) {
        int e = 0;
        out[i] = function(a(i), b(i), e);
        error |= e & !nulls[i];
    }
    return error;
}

template <Op op, class T, class F>
int arithmetic_of(size_t n, Vec a, Vec b, const uint8_t *nulls, void *out, F function) {
    if constexpr (op == Op::Mod && sem::IsFloat<T>::value)
        return 1;
    else {
        const T *x = a.as<T>(), *y = b.as<T>();
        T *to = static_cast<T *>(out);
        if (a.constant) {
            T c = x[0];
            return arithmetic_loop(
                n, [=](size_t) { return c; }, [=](size_t i) { return y[i]; }, nulls, to, function);
        }
        if (b.constant) {
            T c = y[0];
            return arithmetic_loop(
                n, [=](size_t i) { return x[i]; }, [=](size_t) { return c; }, nulls, to, function);
        }
        return arithmetic_loop(
            n, [=](size_t i) { return x[i]; }, [=](size_t i) { return y[i]; }, nulls, to, function);
    }
}

int arithmetic(Op op, Type type, size_t n, Vec a, Vec b, const uint8_t *nulls, void *out) {
    return with_number(type, [&](auto t) {
        using T = decltype(t);
        switch (op) {
#define GPUSCAN_ARITHMETIC_OF(name, of)                                                                                \
    case Op::name:                                                                                                     \
        return arithmetic_of<Op::name, T>(n, a, b, nulls, out, [](auto x, auto y, int &e) { return sem::of(x, y, e); });
            GPUSCAN_ARITHMETIC(GPUSCAN_ARITHMETIC_OF)
#undef GPUSCAN_ARITHMETIC_OF
        default:
            return 1;
        }
    });
}

int negate(Type type, size_t n, const void *a, const uint8_t *nulls, void *out) {
    return with_number(type, [&](auto t) {
        using T = decltype(t);
        const T *x = static_cast<const T *>(a);
        T *to = static_cast<T *>(out);
        int error = 0;
        for (size_t i = 0; i < n; ++i) {
            int e = 0;
            to[i] = sem::neg(x[i], e);
            error |= nulls == nullptr ? e : e & !nulls[i];
        }
        return error;
    });
}

template <class To, class From> int cast_loop(size_t n, const From *x, const uint8_t *nulls, To *__restrict to) {
    int error = 0;
    if (nulls == nullptr) {
        for (size_t i = 0; i < n; ++i)
            to[i] = sem::cast<To, From>(x[i], error);
        return error;
    }
    for (size_t i = 0; i < n; ++i) {
        int e = 0;
        to[i] = sem::cast<To, From>(x[i], e);
        error |= e & !nulls[i];
    }
    return error;
}

int cast(Type from, Type to, size_t n, const void *a, const uint8_t *nulls, void *out) {
    return with_number(to, [&](auto t) {
        using To = decltype(t);
        To *o = static_cast<To *>(out);
        if (from == Type::Bool)
            return cast_loop<To, uint8_t>(n, static_cast<const uint8_t *>(a), nulls, o);
        return with_number(from, [&](auto f) {
            using From = decltype(f);
            return cast_loop<To, From>(n, static_cast<const From *>(a), nulls, o);
        });
    });
}

// ---- functions ----

template <class From, class To, class F> int call_loop(size_t n, Vec a, const uint8_t *nulls, void *out, F function) {
    const From *x = a.as<From>();
    To *to = static_cast<To *>(out);
    int error = 0;
    for (size_t i = 0; i < n; ++i) {
        int e = 0;
        to[i] = function(e, x[i]);
        error |= nulls == nullptr ? e : e & !nulls[i];
    }
    return error;
}

template <class From, class To, class F>
int call_loop_of_two(size_t n, Vec a, Vec b, const uint8_t *nulls, void *out, F function) {
    const From *x = a.as<From>(), *y = b.as<From>();
    To *to = static_cast<To *>(out);
    const size_t step_x = a.constant ? 0 : 1, step_y = b.constant ? 0 : 1;
    int error = 0;
    for (size_t i = 0; i < n; ++i) {
        int e = 0;
        to[i] = function(e, x[i * step_x], y[i * step_y]);
        error |= nulls == nullptr ? e : e & !nulls[i];
    }
    return error;
}

template <int arguments, Type argument, Type result, class F>
int call_of(size_t n, Vec a, Vec b, const uint8_t *nulls, void *out, F function) {
    using From = typename ValueOf<argument>::T;
    using To = typename ValueOf<result>::T;
    if constexpr (arguments == 1)
        return call_loop<From, To>(n, a, nulls, out, function);
    else
        return call_loop_of_two<From, To>(n, a, b, nulls, out, function);
}

int call(ir::Function function, size_t n, Vec a, Vec b, const uint8_t *nulls, void *out) {
    switch (function) {
#define GPUSCAN_CALL(name, of, arguments, argument, result, ...)                                                       \
    case ir::Function::name:                                                                                           \
        return call_of<arguments, Type::argument, Type::result>(n, a, b, nulls, out,                                   \
                                                                [](int &e, auto... x) { return sem::of(x..., e); });
        GPUSCAN_FUNCTIONS(GPUSCAN_CALL)
#undef GPUSCAN_CALL
    }
    return 1;
}

// ---- comparisons ----

template <class T, class F> void compare_of(size_t n, Vec a, Vec b, uint8_t *__restrict out, F function) {
    const T *x = a.as<T>(), *y = b.as<T>();
    if (a.constant) {
        T c = x[0];
        for (size_t i = 0; i < n; ++i)
            out[i] = function(c, y[i]);
    } else if (b.constant) {
        T c = y[0];
        for (size_t i = 0; i < n; ++i)
            out[i] = function(x[i], c);
    } else {
        for (size_t i = 0; i < n; ++i)
            out[i] = function(x[i], y[i]);
    }
}

template <class T> void compare_type(Op op, size_t n, Vec a, Vec b, uint8_t *out) {
    switch (op) {
#define GPUSCAN_COMPARE(name, of)                                                                                      \
    case Op::name:                                                                                                     \
        return compare_of<T>(n, a, b, out, [](T x, T y) { return sem::of(x, y); });
        GPUSCAN_COMPARISONS(GPUSCAN_COMPARE)
#undef GPUSCAN_COMPARE
    default:
        return;
    }
}

void compare(Op op, Type type, size_t n, Vec a, Vec b, uint8_t *out) {
    if (type == Type::Bool)
        return compare_type<uint8_t>(op, n, a, b, out);
    if (type == Type::Code)
        return compare_type<uint32_t>(op, n, a, b, out);
    with_number(type, [&](auto t) { compare_type<decltype(t)>(op, n, a, b, out); });
}

// ---- three-valued logic ----

void logic(Op op, size_t n, Vec a, Vec b, uint8_t *__restrict out, uint8_t *__restrict out_nulls) {
    const uint8_t *x = a.as<uint8_t>(), *y = b.as<uint8_t>();
    if (a.nulls == nullptr && b.nulls == nullptr) {
        if (op == Op::And)
            for (size_t i = 0; i < n; ++i)
                out[i] = x[i] & y[i];
        else
            for (size_t i = 0; i < n; ++i)
                out[i] = x[i] | y[i];
        return;
    }
    for (size_t i = 0; i < n; ++i) {
        sem::Truth s{x[i], a.nulls ? a.nulls[i] : uint8_t(0)}, t{y[i], b.nulls ? b.nulls[i] : uint8_t(0)};
        sem::Truth r = op == Op::And ? sem::truth_and(s, t) : sem::truth_or(s, t);
        out[i] = r.value;
        out_nulls[i] = r.null;
    }
}

void either(size_t n, const uint8_t *a, const uint8_t *b, uint8_t *out) {
    for (size_t i = 0; i < n; ++i)
        out[i] = a[i] | b[i];
}

void both(size_t n, const uint8_t *a, const uint8_t *b, uint8_t *out) {
    for (size_t i = 0; i < n; ++i)
        out[i] = a[i] & b[i];
}

void and_not(size_t n, const uint8_t *a, const uint8_t *b, uint8_t *out) {
    for (size_t i = 0; i < n; ++i)
        out[i] = a[i] & !b[i];
}

void invert(size_t n, const uint8_t *a, uint8_t *out) {
    for (size_t i = 0; i < n; ++i)
        out[i] = !a[i];
}

// ---- selection and gathering ----

void expand(size_t n, const uint64_t *words, uint8_t *out) {
#ifdef GPUSCAN_AVX512
    for (size_t i = 0; i < n; i += 64)
        _mm512_storeu_si512(out + i, _mm512_maskz_set1_epi8(words[i / 64], 1));
#else
    for (size_t i = 0; i < n; ++i)
        out[i] = static_cast<uint8_t>(words[i / 64] >> (i % 64) & 1);
#endif
}

uint32_t select(uint32_t n, const uint8_t *truth, const uint8_t *nulls, uint32_t *positions) {
    uint32_t k = 0, i = 0;
#ifdef GPUSCAN_AVX512
    const __m512i step = _mm512_set1_epi32(16);
    __m512i index = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    for (; i + 16 <= n; i += 16) {
        __m128i flags = _mm_loadu_si128(reinterpret_cast<const __m128i *>(truth + i));
        __mmask16 mask = _mm_test_epi8_mask(flags, flags);
        if (nulls != nullptr) {
            __m128i absent = _mm_loadu_si128(reinterpret_cast<const __m128i *>(nulls + i));
            mask = static_cast<__mmask16>(mask & _mm_testn_epi8_mask(absent, absent));
        }
        _mm512_storeu_si512(positions + k, _mm512_maskz_compress_epi32(mask, index));
        k += static_cast<uint32_t>(__builtin_popcount(mask));
        index = _mm512_add_epi32(index, step);
    }
#endif
    if (nulls == nullptr) {
        for (; i < n; ++i) {
            positions[k] = i;
            k += truth[i];
        }
        return k;
    }
    for (; i < n; ++i) {
        positions[k] = i;
        k += truth[i] & !nulls[i];
    }
    return k;
}

template <class T> void gather_of(size_t n, const void *from, const uint32_t *at, void *out) {
    const T *x = static_cast<const T *>(from);
    T *to = static_cast<T *>(out);
    for (size_t i = 0; i < n; ++i) // hardware gathers and prefetches showed no gain here (within noise)
        to[i] = x[at[i]];
}

void gather(size_t width, size_t n, const void *from, const uint32_t *at, void *out) {
    switch (width) {
    case 1:
        return gather_of<uint8_t>(n, from, at, out);
    case 2:
        return gather_of<uint16_t>(n, from, at, out);
    case 4:
        return gather_of<uint32_t>(n, from, at, out);
    case 8:
        return gather_of<uint64_t>(n, from, at, out);
    default:
        return gather_of<uint128>(n, from, at, out);
    }
}

// at: nullptr for consecutive rows.
template <class T, class S>
void gather_narrow_of(size_t n, const void *from, int64_t low, const uint32_t *at, void *out) {
    const S *x = static_cast<const S *>(from);
    T *__restrict to = static_cast<T *>(out);
    const T add = static_cast<T>(static_cast<int128>(low));
    if (at == nullptr) {
        for (size_t i = 0; i < n; ++i)
            to[i] = static_cast<T>(add + static_cast<T>(x[i]));
        return;
    }
    for (size_t i = 0; i < n; ++i)
        to[i] = static_cast<T>(add + static_cast<T>(x[at[i]]));
}

template <class T>
void gather_narrow_to(size_t stored, size_t n, const void *from, int64_t low, const uint32_t *at, void *out) {
    switch (stored) {
    case 1:
        return gather_narrow_of<T, uint8_t>(n, from, low, at, out);
    case 2:
        return gather_narrow_of<T, uint16_t>(n, from, low, at, out);
    case 4:
        return gather_narrow_of<T, uint32_t>(n, from, low, at, out);
    case 8:
        return gather_narrow_of<T, uint64_t>(n, from, low, at, out);
    default:
        return gather_narrow_of<T, uint128>(n, from, low, at, out);
    }
}

void gather_narrow(size_t width, size_t stored, size_t n, const void *from, int64_t low, const uint32_t *at,
                   void *out) {
    if (low == 0 && stored == width && at != nullptr)
        return gather(width, n, from, at, out);
    switch (width) {
    case 1:
        return gather_narrow_to<uint8_t>(stored, n, from, low, at, out);
    case 2:
        return gather_narrow_to<uint16_t>(stored, n, from, low, at, out);
    case 4:
        return gather_narrow_to<uint32_t>(stored, n, from, low, at, out);
    case 8:
        return gather_narrow_to<uint64_t>(stored, n, from, low, at, out);
    default:
        return gather_narrow_to<uint128>(stored, n, from, low, at, out);
    }
}

// ---- keys ----

uint32_t probe_bitmap(Type type, uint32_t n, const void *keys, const uint8_t *nulls, int64_t min, uint64_t domain,
                      const uint32_t *bitmap, uint32_t *positions, uint32_t *slots) {
    uint32_t k = 0, begin = 0;
#ifdef GPUSCAN_AVX512
    if (type == Type::I32 && min >= INT32_MIN && min <= INT32_MAX && domain <= INT32_MAX) {
        const int32_t *x = static_cast<const int32_t *>(keys);
        const __m512i low = _mm512_set1_epi32(static_cast<int32_t>(min));
        const __m512i size = _mm512_set1_epi32(static_cast<int32_t>(domain));
        const __m512i step = _mm512_set1_epi32(16), low5 = _mm512_set1_epi32(31), one = _mm512_set1_epi32(1);
        __m512i index = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        for (; begin + 16 <= n; begin += 16) {
            // The difference wraps: a key below min becomes a large unsigned number. It may wrap into the domain only if
            // min + domain exceeds the 32-bit range, which the caller's min and max of I32 keys rule out.
            __m512i slot = _mm512_sub_epi32(_mm512_loadu_si512(x + begin), low);
            __mmask16 inside = _mm512_cmplt_epu32_mask(slot, size);
            if (nulls != nullptr) {
                __m128i absent = _mm_loadu_si128(reinterpret_cast<const __m128i *>(nulls + begin));
                inside = static_cast<__mmask16>(inside & _mm_testn_epi8_mask(absent, absent));
            }
            // (The forms without a mask would do; g++ 12 warns of an uninitialized value in its own header for them.)
            __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), inside,
                                                        _mm512_maskz_srli_epi32(inside, slot, 5), bitmap, 4);
            __m512i bits = _mm512_maskz_sllv_epi32(inside, one, _mm512_and_si512(slot, low5));
            __mmask16 hit = _mm512_mask_test_epi32_mask(inside, words, bits);
            _mm512_storeu_si512(positions + k, _mm512_maskz_compress_epi32(hit, index));
            _mm512_storeu_si512(slots + k, _mm512_maskz_compress_epi32(hit, slot));
            k += static_cast<uint32_t>(__builtin_popcount(hit));
            index = _mm512_add_epi32(index, step);
        }
    }
#endif
    return with_integer(type, [&](auto t) {
        using T = decltype(t);
        const T *x = static_cast<const T *>(keys);
        for (uint32_t i = begin; i < n; ++i) {
            uint64_t slot = static_cast<uint64_t>(x[i]) - static_cast<uint64_t>(min);
            bool inside = slot < domain && (nulls == nullptr || !nulls[i]);
            if constexpr (sizeof(T) == 16)
                inside = inside && x[i] == static_cast<int64_t>(x[i]);
            uint64_t at = inside ? slot : 0;
            positions[k] = i;
            slots[k] = static_cast<uint32_t>(at);
            k += inside & (bitmap[at >> 5] >> (at & 31) & 1);
        }
        return k;
    });
}

void pack_key(Type type, size_t n, const void *keys, const uint8_t *nulls, int64_t min, int64_t max, uint64_t stride,
              uint64_t *__restrict packed, uint8_t *__restrict invalid) {
    with_integer(type, [&](auto t) {
        using T = decltype(t);
        const T *x = static_cast<const T *>(keys);
        for (size_t i = 0; i < n; ++i) {
            bool outside;
            if constexpr (sizeof(T) == 16)
                outside = x[i] < static_cast<int128>(min) || x[i] > static_cast<int128>(max);
            else
                outside = static_cast<int64_t>(x[i]) < min || static_cast<int64_t>(x[i]) > max;
            packed[i] += (static_cast<uint64_t>(x[i]) - static_cast<uint64_t>(min)) * stride;
            invalid[i] |= outside;
        }
        if (nulls != nullptr)
            for (size_t i = 0; i < n; ++i)
                invalid[i] |= nulls[i];
    });
}

bool group_index(Type type, size_t n, const void *keys, const uint8_t *nulls, int64_t min, int64_t max,
                 uint32_t null_index, uint32_t stride, uint32_t *__restrict ids) {
    return with_integer(type, [&](auto t) {
        using T = decltype(t);
        const T *x = static_cast<const T *>(keys);
        bool outside = false;
        for (size_t i = 0; i < n; ++i) {
            uint32_t index = static_cast<uint32_t>(static_cast<uint64_t>(x[i]) - static_cast<uint64_t>(min));
            bool wrong;
            if constexpr (sizeof(T) == 16)
                wrong = x[i] < static_cast<int128>(min) || x[i] > static_cast<int128>(max);
            else
                wrong = static_cast<int64_t>(x[i]) < min || static_cast<int64_t>(x[i]) > max;
            if (nulls != nullptr && nulls[i]) {
                index = null_index;
                wrong = false;
            }
            outside |= wrong;
            ids[i] += index * stride;
        }
        return !outside;
    });
}

// ---- sums ----

// 64-bit values are added as two 32-bit halves, so that 2048 of them fit in 64-bit accumulators and the loop vectorizes.
int128 sum64(size_t n, const int64_t *x, const uint8_t *nulls) {
    int64_t high = 0;
    uint64_t low = 0;
    if (nulls == nullptr) {
        for (size_t i = 0; i < n; ++i) {
            high += x[i] >> 32;
            low += static_cast<uint32_t>(x[i]);
        }
    } else {
        for (size_t i = 0; i < n; ++i) {
            int64_t v = nulls[i] ? 0 : x[i];
            high += v >> 32;
            low += static_cast<uint32_t>(v);
        }
    }
    return (static_cast<int128>(high) << 32) + static_cast<int128>(low);
}

template <class T> int128 sum_small(size_t n, const void *values, const uint8_t *nulls) {
    const T *x = static_cast<const T *>(values);
    int64_t sum = 0;
    if (nulls == nullptr)
        for (size_t i = 0; i < n; ++i)
            sum += x[i];
    else
        for (size_t i = 0; i < n; ++i)
            sum += nulls[i] ? 0 : x[i];
    return sum;
}

int128 sum(Type type, size_t n, const void *values, const uint8_t *nulls) {
    if (type == Type::I16)
        return sum_small<int16_t>(n, values, nulls);
    if (type == Type::I32)
        return sum_small<int32_t>(n, values, nulls);
    return sum64(n, static_cast<const int64_t *>(values), nulls);
}

// Eight running sums. The order of float additions is free; it is the one permitted difference.
double sum_double(size_t n, const double *x, const uint8_t *nulls) {
    double part[8] = {-0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0}; // x + -0.0 is x, and -0.0 for x = -0.0
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t j = 0; j < 8; ++j)
            part[j] += nulls != nullptr && nulls[i + j] ? -0.0 : x[i + j];
    for (; i < n; ++i)
        part[0] += nulls != nullptr && nulls[i] ? -0.0 : x[i];
    return ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
}

size_t count(size_t n, const uint8_t *flags) {
    size_t sum = 0, i = 0;
#ifdef GPUSCAN_AVX2
    __m256i sums = _mm256_setzero_si256();
    for (; i + 32 <= n; i += 32)
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(flags + i)),
                                                      _mm256_setzero_si256()));
    uint64_t parts[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(parts), sums);
    sum = parts[0] + parts[1] + parts[2] + parts[3];
#endif
    for (; i < n; ++i)
        sum += flags[i];
    return sum;
}

#ifdef GPUSCAN_AVX2
// SmallNumeric::decode() of four values; `bad` gets the parts of its answer that must be 0, `negative` those that must not be negative.
__m256i decode_four(const SmallNumeric &format, __m256i head, __m256i word, __m256i length, __m256i &bad,
                    __m256i &negative) {
    const __m256i one = _mm256_set1_epi64x(1), three = _mm256_set1_epi64x(3), zero = _mm256_setzero_si256();
    // Weight of the first digit: 7 bits and their sign.
    const __m256i weight = _mm256_xor_si256(_mm256_and_si256(head, _mm256_set1_epi64x(0x7f)), _mm256_set1_epi64x(0x40));
    const __m256i first = _mm256_add_epi64(weight, _mm256_set1_epi64x(static_cast<int64_t>(format.behind) - 0x40));
    // The digits that are there move to the end of the word, and from there to where their weights are. With `length` = 2 + 2 *
    // digits these are 64 - 16 * digits and 16 * (first + 1 - digits) bits; 64 and more leave nothing.
    const __m256i length8 = _mm256_slli_epi64(length, 3);
    const __m256i back =
        _mm256_sub_epi64(_mm256_add_epi64(_mm256_slli_epi64(first, 4), _mm256_set1_epi64x(32)), length8);
    word = _mm256_sllv_epi64(word, _mm256_sub_epi64(_mm256_set1_epi64x(80), length8));
    word = _mm256_srlv_epi64(word, back);
    const __m256i pairs = _mm256_madd_epi16(word, _mm256_set1_epi32(1 << 16 | 10000));
    const __m256i lower = _mm256_srli_epi64(pairs, 32);
    const __m256i quotient = _mm256_srl_epi64(_mm256_mul_epu32(lower, _mm256_set1_epi64x(format.reciprocal)),
                                              _mm_cvtsi32_si128(static_cast<int>(format.shift)));
    const __m256i sum = _mm256_add_epi64(_mm256_mul_epu32(pairs, _mm256_set1_epi64x(format.upper)), quotient);
    const __m256i sign = _mm256_sub_epi64(zero, _mm256_and_si256(_mm256_srli_epi64(head, 13), one));
    const __m256i other_head = _mm256_xor_si256(_mm256_and_si256(head, _mm256_set1_epi64x(format.header_bits)),
                                                _mm256_set1_epi64x(format.header));
    const __m256i remainder = _mm256_xor_si256(_mm256_mul_epu32(quotient, _mm256_set1_epi64x(format.divisor)), lower);
    bad = _mm256_or_si256(bad, _mm256_or_si256(other_head, _mm256_and_si256(length, one)));
    bad = _mm256_or_si256(bad, _mm256_or_si256(_mm256_subs_epu16(word, _mm256_set1_epi16(9999)), remainder));
    negative = _mm256_or_si256(negative, _mm256_or_si256(first, _mm256_sub_epi64(three, first)));
    negative = _mm256_or_si256(negative, _mm256_or_si256(back, _mm256_sub_epi64(length, _mm256_set1_epi64x(2))));
    return _mm256_sub_epi64(_mm256_xor_si256(sum, sign), sign);
}

// The lesser (or, with a and b exchanged in the comparison, the greater) ones of four values each.
__m256i min_of(__m256i a, __m256i b) { return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)); }
__m256i max_of(__m256i a, __m256i b) { return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)); }

// As many as are a multiple of four.
uint64_t small_numerics_by_four(const SmallNumeric &format, const uint8_t *page, uint32_t n, const uint32_t *at,
                                const uint32_t *lengths, int64_t *values, int64_t *least, int64_t *most) {
    const auto word = [page](uint32_t from) {
        int64_t bytes;
        memcpy(&bytes, page + from, sizeof bytes);
        return bytes;
    };
    __m256i bad = _mm256_setzero_si256(), negative = bad;
    __m256i low = _mm256_set1_epi64x(*least), high = _mm256_set1_epi64x(*most);
    for (uint32_t i = 0; i + 4 <= n; i += 4) {
        const __m256i heads =
            _mm256_and_si256(_mm256_set_epi64x(word(at[i + 3]), word(at[i + 2]), word(at[i + 1]), word(at[i])),
                             _mm256_set1_epi64x(0xffff));
        const __m256i words =
            _mm256_set_epi64x(word(at[i + 3] + 2), word(at[i + 2] + 2), word(at[i + 1] + 2), word(at[i] + 2));
        const __m256i length = _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i *>(lengths + i)));
        const __m256i four = decode_four(format, heads, words, length, bad, negative);
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(values + i), four);
        low = min_of(low, four);
        high = max_of(high, four);
    }
    int64_t lows[4], highs[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(lows), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(highs), high);
    for (int i = 0; i < 4; ++i) {
        *least = lows[i] < *least ? lows[i] : *least;
        *most = highs[i] > *most ? highs[i] : *most;
    }
    return static_cast<uint64_t>(!_mm256_testz_si256(bad, bad)) |
           static_cast<uint64_t>(_mm256_movemask_pd(_mm256_castsi256_pd(negative)));
}
#endif

uint64_t small_numerics(const SmallNumeric &format, const uint8_t *page, uint32_t n, const uint32_t *at,
                        const uint32_t *lengths, int64_t *values, int64_t *least, int64_t *most) {
    uint64_t others = 0;
    uint32_t i = 0;
    *least = INT64_MAX;
    *most = INT64_MIN;
#ifdef GPUSCAN_AVX2
    others = small_numerics_by_four(format, page, n, at, lengths, values, least, most);
    i = n & ~3u;
#endif
    for (; i < n; ++i) {
        int64_t value;
        others |= format.decode(page, at[i], lengths[i], value);
        *least = value < *least ? value : *least;
        *most = value > *most ? value : *most;
        values[i] = value;
    }
    return others;
}

} // namespace

extern const Kernels table;
const Kernels table = {GPUSCAN_KERNELS_NAME,
                       arithmetic,
                       negate,
                       cast,
                       call,
                       compare,
                       logic,
                       either,
                       both,
                       and_not,
                       invert,
                       expand,
                       select,
                       gather,
                       gather_narrow,
                       probe_bitmap,
                       pack_key,
                       group_index,
                       sum,
                       sum_double,
                       count,
                       small_numerics};

} // namespace gpuscan::host::GPUSCAN_KERNELS
