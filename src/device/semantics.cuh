// What an operator means, written once: generated CUDA kernels and the host engine's vector loops call these functions.
//
// The meaning is PostgreSQL's: checked integers (int.c, int8.c), floats with overflow, underflow and division-by-zero
// errors (utils/float.h), NaN equal to itself and above everything, -0.0 equal to 0.0, casts that round half to even
// and check the range (float.c: FLOAT8_FITS_IN_INT32 and its kin).
//
// Nothing here throws. A function that may meet an SQL error takes `int &error` and sets it to 1; its result is then
// some value that must not be used. No standard header is needed, so that NVRTC can compile the file; NULL is the
// caller's business (an argument under a NULL may be anything, the error it sets must be ignored). Functions never trap.
#pragma once

#ifdef __CUDACC__
#define GPUSCAN_HD __host__ __device__ inline __attribute__((always_inline))
#elif defined(__SANITIZE_ADDRESS__) // called through pointers there
#define GPUSCAN_HD inline
#else
#define GPUSCAN_HD inline __attribute__((always_inline))
#endif

// A long function: of a kernel that is compiled quickly it is a part of its own, which takes its compiler less than a copy at each call.
#ifdef GPUSCAN_QUICK
#define GPUSCAN_LONG static __attribute__((noinline))
#else
#define GPUSCAN_LONG GPUSCAN_HD
#endif

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#endif

namespace gpuscan {
namespace sem {

typedef __int128 i128;
typedef unsigned __int128 u128;

template <class T> struct Limits;
template <> struct Limits<int16_t> {
    typedef uint16_t Unsigned;
    static constexpr int16_t min = -32767 - 1, max = 32767;
};
template <> struct Limits<int32_t> {
    typedef uint32_t Unsigned;
    static constexpr int32_t min = -2147483647 - 1, max = 2147483647;
};
template <> struct Limits<int64_t> {
    typedef uint64_t Unsigned;
    static constexpr int64_t min = -9223372036854775807LL - 1, max = 9223372036854775807LL;
};
template <> struct Limits<i128> {
    typedef u128 Unsigned;
    static constexpr i128 max = (i128)((((u128)1) << 127) - 1);
    static constexpr i128 min = -max - 1;
};

template <class T> struct IsFloat { static constexpr bool value = false; };
template <> struct IsFloat<float> { static constexpr bool value = true; };
template <> struct IsFloat<double> { static constexpr bool value = true; };

// ---- floats ----

template <class F> GPUSCAN_HD bool is_nan(F a) { return a != a; }
template <class F> GPUSCAN_HD bool is_inf(F a) { return a - a != a - a && a == a; }

template <class F> GPUSCAN_HD F float_add(F a, F b, int &error) {
    F r = a + b;
    error |= is_inf(r) & !is_inf(a) & !is_inf(b);
    return r;
}
template <class F> GPUSCAN_HD F float_sub(F a, F b, int &error) {
    F r = a - b;
    error |= is_inf(r) & !is_inf(a) & !is_inf(b);
    return r;
}
template <class F> GPUSCAN_HD F float_mul(F a, F b, int &error) {
    F r = a * b;
    error |= (is_inf(r) & !is_inf(a) & !is_inf(b)) | ((r == 0) & (a != 0) & (b != 0));
    return r;
}
template <class F> GPUSCAN_HD F float_div(F a, F b, int &error) {
    F r = a / b;
    error |= ((b == 0) & !is_nan(a)) | (is_inf(r) & !is_inf(a)) | ((r == 0) & (a != 0) & !is_inf(b));
    return r;
}

// ---- arithmetic: Add, Sub, Mul, Div, Mod, Neg of one type ----

GPUSCAN_HD int16_t add(int16_t a, int16_t b, int &error) {
    int32_t r = (int32_t)a + b;
    error |= r != (int16_t)r;
    return (int16_t)r;
}
GPUSCAN_HD int16_t sub(int16_t a, int16_t b, int &error) {
    int32_t r = (int32_t)a - b;
    error |= r != (int16_t)r;
    return (int16_t)r;
}
GPUSCAN_HD int16_t mul(int16_t a, int16_t b, int &error) {
    int32_t r = (int32_t)a * b;
    error |= r != (int16_t)r;
    return (int16_t)r;
}
GPUSCAN_HD int32_t add(int32_t a, int32_t b, int &error) {
    int32_t r = (int32_t)((uint32_t)a + (uint32_t)b);
    error |= ((a ^ r) & (b ^ r)) < 0;
    return r;
}
GPUSCAN_HD int32_t sub(int32_t a, int32_t b, int &error) {
    int32_t r = (int32_t)((uint32_t)a - (uint32_t)b);
    error |= ((a ^ b) & (a ^ r)) < 0;
    return r;
}
GPUSCAN_HD int32_t mul(int32_t a, int32_t b, int &error) {
    int64_t r = (int64_t)a * b;
    error |= r != (int32_t)r;
    return (int32_t)r;
}
GPUSCAN_HD int64_t add(int64_t a, int64_t b, int &error) {
    int64_t r = (int64_t)((uint64_t)a + (uint64_t)b);
    error |= ((a ^ r) & (b ^ r)) < 0;
    return r;
}
GPUSCAN_HD int64_t sub(int64_t a, int64_t b, int &error) {
    int64_t r = (int64_t)((uint64_t)a - (uint64_t)b);
    error |= ((a ^ b) & (a ^ r)) < 0;
    return r;
}
GPUSCAN_HD int64_t mul(int64_t a, int64_t b, int &error) {
    i128 r = (i128)a * b;
    error |= r != (int64_t)r;
    return (int64_t)r;
}
GPUSCAN_HD i128 add(i128 a, i128 b, int &error) {
    i128 r = (i128)((u128)a + (u128)b);
    error |= ((a ^ r) & (b ^ r)) < 0;
    return r;
}
GPUSCAN_HD i128 sub(i128 a, i128 b, int &error) {
    i128 r = (i128)((u128)a - (u128)b);
    error |= ((a ^ b) & (a ^ r)) < 0;
    return r;
}
// |a| * |b| from 64-bit halves: at most one of the high halves may be non-zero, and then only as far as 128 bits go.
struct CheckedWide {
    i128 value;
    int error;
};
GPUSCAN_LONG CheckedWide wide_product(i128 a, i128 b) {
    if (a == (int64_t)a && b == (int64_t)b) // two 64-bit values always fit
        return {(i128)(int64_t)a * (int64_t)b, 0};
    bool negative = (a < 0) != (b < 0);
    u128 x = a < 0 ? (u128)0 - (u128)a : (u128)a;
    u128 y = b < 0 ? (u128)0 - (u128)b : (u128)b;
    uint64_t xl = (uint64_t)x, xh = (uint64_t)(x >> 64), yl = (uint64_t)y, yh = (uint64_t)(y >> 64);
    u128 cross = xh ? (u128)xh * yl : (u128)yh * xl;
    u128 low = (u128)xl * yl;
    u128 r = low + (cross << 64);
    u128 bound = (((u128)1) << 127) - (negative ? 0 : 1);
    const bool error = ((xh != 0) & (yh != 0)) | ((cross >> 64) != 0) | (r < low) | (r > bound);
    return {negative ? (i128)((u128)0 - r) : (i128)r, error};
}
GPUSCAN_HD i128 mul(i128 a, i128 b, int &error) {
    const CheckedWide r = wide_product(a, b);
    error |= r.error;
    return r.value;
}

GPUSCAN_HD u128 magnitude(i128 a) { return a < 0 ? (u128)0 - (u128)a : (u128)a; }

// Quotients, cut off towards 0, and rests, not of 0 nor of the smallest value by -1. NVIDIA's compiler adds a function to a kernel for each
// of a quotient and a rest with and without sign. Of 128 bits each takes it some 10 ms, so there all are made of one; and compiled
// quickly that one goes bit by bit.
#ifdef GPUSCAN_QUICK
GPUSCAN_LONG u128 unsigned_quotient(u128 a, u128 b) {
    u128 rest = 0;
    int bits = 128;
    if (a >> 64 == 0) {
        a <<= 64;
        bits = 64;
    }
    for (; bits > 0; --bits) {
        const bool over = rest >> 127 != 0;
        rest = rest << 1 | a >> 127;
        a <<= 1;
        if (over | (rest >= b)) {
            rest -= b;
            a |= 1;
        }
    }
    return a;
}
#else
GPUSCAN_HD u128 unsigned_quotient(u128 a, u128 b) { return a / b; }
#endif
template <class T> GPUSCAN_HD T whole_quotient(T a, T b) { return (T)(a / b); }
#ifdef __CUDACC__
template <> GPUSCAN_HD i128 whole_quotient(i128 a, i128 b) {
    const u128 q = unsigned_quotient(magnitude(a), magnitude(b));
    return (i128)((a < 0) != (b < 0) ? (u128)0 - q : q);
}
template <class T> GPUSCAN_HD T whole_rest(T a, T b) { return (T)(a - whole_quotient(a, b) * b); }
#else
template <class T> GPUSCAN_HD T whole_rest(T a, T b) { return (T)(a % b); }
#endif

template <class T> GPUSCAN_HD T div(T a, T b, int &error) {
    bool bad = (b == 0) | ((b == (T)-1) & (a == Limits<T>::min));
    error |= bad;
    return bad ? (T)0 : whole_quotient(a, b);
}
template <class T> GPUSCAN_HD T mod(T a, T b, int &error) {
    error |= b == 0;
    return (b == 0) | (b == (T)-1) ? (T)0 : whole_rest(a, b);
}
template <class T> GPUSCAN_HD T neg(T a, int &error) {
    typedef typename Limits<T>::Unsigned U;
    error |= a == Limits<T>::min;
    return (T)((U)0 - (U)a);
}

GPUSCAN_HD float add(float a, float b, int &error) { return float_add(a, b, error); }
GPUSCAN_HD float sub(float a, float b, int &error) { return float_sub(a, b, error); }
GPUSCAN_HD float mul(float a, float b, int &error) { return float_mul(a, b, error); }
GPUSCAN_HD float div(float a, float b, int &error) { return float_div(a, b, error); }
GPUSCAN_HD float neg(float a, int &) { return -a; }
GPUSCAN_HD double add(double a, double b, int &error) { return float_add(a, b, error); }
GPUSCAN_HD double sub(double a, double b, int &error) { return float_sub(a, b, error); }
GPUSCAN_HD double mul(double a, double b, int &error) { return float_mul(a, b, error); }
GPUSCAN_HD double div(double a, double b, int &error) { return float_div(a, b, error); }
GPUSCAN_HD double neg(double a, int &) { return -a; }

// ---- comparisons: Eq, Ne, Lt, Le, Gt, Ge ----

template <class T> GPUSCAN_HD bool eq(T a, T b) { return a == b; }
template <class T> GPUSCAN_HD bool lt(T a, T b) { return a < b; }
template <> GPUSCAN_HD bool eq(float a, float b) { return (a == b) | (is_nan(a) & is_nan(b)); }
template <> GPUSCAN_HD bool eq(double a, double b) { return (a == b) | (is_nan(a) & is_nan(b)); }
template <> GPUSCAN_HD bool lt(float a, float b) { return (a < b) | (is_nan(b) & !is_nan(a)); }
template <> GPUSCAN_HD bool lt(double a, double b) { return (a < b) | (is_nan(b) & !is_nan(a)); }
template <class T> GPUSCAN_HD bool ne(T a, T b) { return !eq(a, b); }
template <class T> GPUSCAN_HD bool gt(T a, T b) { return lt(b, a); }
template <class T> GPUSCAN_HD bool le(T a, T b) { return !lt(b, a); }
template <class T> GPUSCAN_HD bool ge(T a, T b) { return !lt(a, b); }

// ---- casts ----

// The low bits of an integer, of 2, 4 or 8 bytes. In assembly, because a compiler that sees where the bits come from takes the
// smaller of two integers by choosing between the wide ones, and NVIDIA's assembler (ptxas 13.0) then keeps 16 bits of the choice:
// least(5, -1000000000, x) was 13824. Costs no instruction: a register has 32 bits.
template <class To, class From> GPUSCAN_HD To narrow(From a) {
    static_assert(sizeof(To) >= 2 && sizeof(To) <= 8 && sizeof(From) >= sizeof(To), "integers of 2 to 16 bytes");
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(From) > 4 && sizeof(To) <= 4) {
        uint32_t low;
        asm("cvt.u32.u64 %0, %1;" : "=r"(low) : "l"((uint64_t)a));
        return narrow<To>(low);
    } else if constexpr (sizeof(From) == 4 && sizeof(To) == 2) {
        uint16_t low;
        asm("cvt.u16.u32 %0, %1;" : "=h"(low) : "r"((uint32_t)a));
        return (To)low;
    }
#endif
    return (To)a;
}

#ifdef __CUDACC__
GPUSCAN_HD double round_even(double a) { return rint(a); }
GPUSCAN_HD float round_even(float a) { return rintf(a); }
GPUSCAN_HD double quiet_nan() { return nan(""); }
GPUSCAN_HD float quiet_nanf() { return nanf(""); }
#else
GPUSCAN_HD double round_even(double a) { return __builtin_rint(a); }
GPUSCAN_HD float round_even(float a) { return __builtin_rintf(a); }
GPUSCAN_HD double quiet_nan() { return __builtin_nan(""); }
GPUSCAN_HD float quiet_nanf() { return __builtin_nanf(""); }
#endif

// 2^(bits-1) of an integer type, exact as a double and as a float.
template <class To> GPUSCAN_HD double integer_bound() {
    return sizeof(To) == 2   ? 32768.0
           : sizeof(To) == 4 ? 2147483648.0
           : sizeof(To) == 8 ? 9223372036854775808.0
                             : 170141183460469231731687303715884105728.0;
}

template <class To, class From> struct Cast { // integer to integer or float
    static GPUSCAN_HD To apply(From a, int &error) {
        if constexpr (!IsFloat<To>::value && sizeof(To) < sizeof(From)) {
            To r = narrow<To>(a);
            error |= (From)r != a;
            return r;
        }
        return (To)a;
    }
};
template <class To, class From> struct CastRounded {
    static GPUSCAN_HD To apply(From a, int &error) {
        From r = round_even(a);
        bool fits = (r >= (From)-integer_bound<To>()) & (r < (From)integer_bound<To>()); // false for NaN
        error |= !fits;
        return fits ? (To)r : (To)0;
    }
};
template <class To> struct Cast<To, float> : CastRounded<To, float> {};
template <class To> struct Cast<To, double> : CastRounded<To, double> {};
template <> struct Cast<float, float> {
    static GPUSCAN_HD float apply(float a, int &) { return a; }
};
template <> struct Cast<double, double> {
    static GPUSCAN_HD double apply(double a, int &) { return a; }
};
template <> struct Cast<double, float> {
    static GPUSCAN_HD double apply(float a, int &) { return a; }
};
template <> struct Cast<float, double> {
    static GPUSCAN_HD float apply(double a, int &error) {
        float r = (float)a;
        error |= (is_inf(r) & !is_inf(a)) | ((r == 0) & (a != 0));
        return r;
    }
};
template <class To, class From> GPUSCAN_HD To cast(From a, int &error) { return Cast<To, From>::apply(a, error); }

// float8 avg adds up squares too and so fails where one overflows; this keeps such values away.
GPUSCAN_HD double bounded(double a, int &error) {
    error |= (!is_inf(a)) & ((a > 1e140) | (a < -1e140));
    return a;
}

// ---- dates and times, as in utils/adt/datetime.c and timestamp.c ----

// A date is a day since 2000-01-01; j2date() and date2j() count from 4714 BC in 32 bits. None of this may be asked of infinity
// except where it says so, but must not trap for it.

constexpr int64_t micros_per_day = 86400000000LL;
constexpr int32_t epoch_julian = 2451545;
constexpr int32_t day_begin = -2147483647 - 1, day_end = 2147483647; // -infinity, infinity
constexpr int64_t time_begin = -9223372036854775807LL - 1, time_end = 9223372036854775807LL;

struct Civil {
    int32_t year, month, day; // the year before 1 is 0
};

GPUSCAN_HD Civil civil(int32_t date) {
    uint32_t julian = (uint32_t)date + (uint32_t)epoch_julian + 32044u;
    uint32_t quad = julian / 146097u;
    const uint32_t extra = (julian - quad * 146097u) * 4u + 3u;
    julian += 60u + quad * 3u + extra / 146097u;
    quad = julian / 1461u;
    julian -= quad * 1461u;
    const uint32_t year = julian * 4u / 1461u;
    julian = (year != 0 ? (julian + 305u) % 365u : (julian + 306u) % 366u) + 123u;
    Civil c;
    c.year = (int32_t)(year + quad * 4u) - 4800;
    quad = julian * 2141u / 65536u;
    c.day = (int32_t)(julian - 7834u * quad / 256u);
    c.month = (int32_t)((quad + 10u) % 12u + 1u);
    return c;
}

GPUSCAN_HD int32_t julian_of(int32_t year, int32_t month, int32_t day) {
    const bool late = month > 2;
    const uint32_t y = (uint32_t)year + (late ? 4800u : 4799u), m = (uint32_t)month + (late ? 1u : 13u);
    const uint32_t century = y / 100u;
    return (int32_t)(y * 365u - 32167u + y / 4u - century + century / 4u + 7834u * m / 256u + (uint32_t)day);
}
GPUSCAN_HD int32_t day_of(int32_t year, int32_t month, int32_t day) {
    return (int32_t)((uint32_t)julian_of(year, month, day) - (uint32_t)epoch_julian);
}

// Sunday 0, of a day counted as date2j() does.
GPUSCAN_HD int32_t week_day(int32_t julian) {
    const int32_t day = (int32_t)((uint32_t)julian + 1u) % 7;
    return day < 0 ? day + 7 : day;
}

// The Monday of the first week of the year that has its Thursday.
GPUSCAN_HD int32_t first_monday(int32_t year) {
    const int32_t fourth = julian_of(year, 1, 4);
    return fourth - week_day(fourth - 1);
}

struct Week {
    int32_t year, week;
};
GPUSCAN_HD Week iso_week(int32_t date) {
    const int32_t julian = (int32_t)((uint32_t)date + (uint32_t)epoch_julian);
    int32_t year = civil(date).year;
    int32_t monday = first_monday(year);
    if (julian < monday)
        monday = first_monday(--year);
    else if (julian >= first_monday(year + 1))
        monday = first_monday(++year);
    Week w;
    w.year = year;
    w.week = (julian - monday) / 7 + 1;
    return w;
}

GPUSCAN_HD bool is_infinite_day(int32_t date) { return (date == day_begin) | (date == day_end); }

// Parts: there is no year 0, and centuries and millennia begin with the year 1.
GPUSCAN_HD int64_t date_year(int32_t date, int &error) {
    error |= is_infinite_day(date);
    const int32_t year = civil(date).year;
    return year > 0 ? year : year - 1;
}
GPUSCAN_HD int64_t date_iso_year(int32_t date, int &error) {
    error |= is_infinite_day(date);
    const int32_t year = iso_week(date).year;
    return year > 0 ? year : year - 1;
}
GPUSCAN_HD int64_t date_decade(int32_t date, int &error) {
    error |= is_infinite_day(date);
    const int32_t year = civil(date).year;
    return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10);
}
GPUSCAN_HD int64_t date_century(int32_t date, int &error) {
    error |= is_infinite_day(date);
    const int32_t year = civil(date).year;
    return year > 0 ? (year + 99) / 100 : -((99 - (year - 1)) / 100);
}
GPUSCAN_HD int64_t date_millennium(int32_t date, int &error) {
    error |= is_infinite_day(date);
    const int32_t year = civil(date).year;
    return year > 0 ? (year + 999) / 1000 : -((999 - (year - 1)) / 1000);
}
GPUSCAN_HD int64_t date_quarter(int32_t date, int &) { return (civil(date).month - 1) / 3 + 1; }
GPUSCAN_HD int64_t date_month(int32_t date, int &) { return civil(date).month; }
GPUSCAN_HD int64_t date_week(int32_t date, int &) { return iso_week(date).week; }
GPUSCAN_HD int64_t date_day(int32_t date, int &) { return civil(date).day; }
GPUSCAN_HD int64_t date_day_of_year(int32_t date, int &) { return (int64_t)date - day_of(civil(date).year, 1, 1) + 1; }
GPUSCAN_HD int64_t date_day_of_week(int32_t date, int &) {
    return week_day((int32_t)((uint32_t)date + (uint32_t)epoch_julian));
}
GPUSCAN_HD int64_t date_iso_day_of_week(int32_t date, int &) {
    const int32_t day = week_day((int32_t)((uint32_t)date + (uint32_t)epoch_julian));
    return day == 0 ? 7 : day;
}

// Timestamps: infinities are those of dates.
GPUSCAN_HD int64_t floor_div(int64_t a, int64_t b) {
    const int64_t quotient = a / b;
    return quotient - (a % b < 0 ? 1 : 0);
}
GPUSCAN_HD int32_t floor_day(int64_t time, int &) {
    return time == time_begin ? day_begin : time == time_end ? day_end : (int32_t)floor_div(time, micros_per_day);
}
GPUSCAN_HD int32_t ceil_day(int64_t time, int &) {
    return time == time_begin ? day_begin
           : time == time_end ? day_end
                              : (int32_t)(time / micros_per_day + (time % micros_per_day > 0 ? 1 : 0));
}
// What is left of a timestamp below a multiple of `unit`.
GPUSCAN_HD int64_t rest(int64_t time, int64_t unit) {
    const int64_t r = time % unit;
    return r < 0 ? r + unit : r;
}
GPUSCAN_HD int64_t timestamp_hour(int64_t time, int &) { return rest(time, micros_per_day) / 3600000000LL; }
GPUSCAN_HD int64_t clock_hour(int64_t time, int &) { return time / 3600000000LL; } // a time may be 24:00
GPUSCAN_HD int64_t time_minute(int64_t time, int &) { return rest(time, 3600000000LL) / 60000000; }
GPUSCAN_HD int64_t time_minute_micros(int64_t time, int &) { return rest(time, 60000000); }

GPUSCAN_HD int32_t year_start(int32_t date, int &) { return day_of(civil(date).year, 1, 1); }
GPUSCAN_HD int32_t quarter_start(int32_t date, int &) {
    const Civil c = civil(date);
    return day_of(c.year, (c.month - 1) / 3 * 3 + 1, 1);
}
GPUSCAN_HD int32_t month_start(int32_t date, int &) {
    return (int32_t)((uint32_t)date - (uint32_t)civil(date).day + 1u);
}
GPUSCAN_HD int32_t week_start(int32_t date, int &) {
    const int32_t day = week_day((int32_t)((uint32_t)date + (uint32_t)epoch_julian));
    return (int32_t)((uint32_t)date - (uint32_t)(day == 0 ? 6 : day - 1));
}
GPUSCAN_HD int64_t unit_start(int64_t time, int64_t unit) {
    return (time == time_begin) | (time == time_end) ? time : (int64_t)((uint64_t)time - (uint64_t)rest(time, unit));
}
GPUSCAN_HD int64_t hour_start(int64_t time, int &) { return unit_start(time, 3600000000LL); }
GPUSCAN_HD int64_t minute_start(int64_t time, int &) { return unit_start(time, 60000000); }
GPUSCAN_HD int64_t second_start(int64_t time, int &) { return unit_start(time, 1000000); }
GPUSCAN_HD int64_t millisecond_start(int64_t time, int &) { return unit_start(time, 1000); }

GPUSCAN_HD int32_t days_of_month(int32_t year, int32_t month) {
    const bool leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0));
    return month == 2 ? (leap ? 29 : 28) : ((month == 4) | (month == 6) | (month == 9) | (month == 11)) ? 30 : 31;
}

// Months are counted from the year 0; a day that the month does not have is its last one.
GPUSCAN_HD int32_t add_months(int32_t date, int32_t months, int &error) {
    const Civil c = civil(date);
    const int64_t month = (int64_t)c.year * 12 + (c.month - 1) + months;
    error |= is_infinite_day(date) | (month < -4713 * 12) | (month > 5874898LL * 12);
    const int32_t year = (int32_t)floor_div(month, 12), in_year = (int32_t)(month - (int64_t)year * 12);
    const int32_t last = days_of_month(year, in_year + 1);
    return day_of(year, in_year + 1, c.day < last ? c.day : last);
}

// ---- functions of floats ----

#ifdef __CUDACC__
GPUSCAN_HD double absolute(double a, int &) { return fabs(a); }
GPUSCAN_HD double ceiling(double a, int &) { return ceil(a); }
GPUSCAN_HD double floor_of(double a, int &) { return floor(a); }
GPUSCAN_HD double truncate(double a, int &) { return trunc(a); }
GPUSCAN_HD double root(double a) { return sqrt(a); }
#else
GPUSCAN_HD double absolute(double a, int &) { return __builtin_fabs(a); }
GPUSCAN_HD double ceiling(double a, int &) { return __builtin_ceil(a); }
GPUSCAN_HD double floor_of(double a, int &) { return __builtin_floor(a); }
GPUSCAN_HD double truncate(double a, int &) { return __builtin_trunc(a); }
GPUSCAN_HD double root(double a) { return __builtin_sqrt(a); }
#endif
GPUSCAN_HD double round_even(double a, int &) { return round_even(a); }
// PostgreSQL's sign: 0 for NaN and both zeros.
GPUSCAN_HD double sign(double a, int &) { return a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0; }
// Rounded correctly by IEEE 754 everywhere.
GPUSCAN_HD double square_root(double a, int &error) {
    error |= a < 0;
    return root(a < 0 ? 0.0 : a);
}

// By PostgreSQL's constant: one division, one multiplication.
constexpr double radians_per_degree = 0.0174532925199432957692;
GPUSCAN_HD double degrees(double a, int &error) { return float_div(a, radians_per_degree, error); }
GPUSCAN_HD double radians(double a, int &error) { return float_mul(a, radians_per_degree, error); }

// ---- sums and products in twice the precision: Dekker, "A floating-point technique for extending the available precision" ----

// What the rounded sum of a and b lacks, exactly.
GPUSCAN_HD double sum_error(double a, double b, double sum) {
    const double more = sum - a;
    return (a - (sum - more)) + (b - more);
}
#ifdef __CUDACC__
GPUSCAN_HD double product_error(double a, double b, int &) { return fma(a, b, -(a * b)); }
#else
GPUSCAN_HD double product_error(double a, double b, int &) { return __builtin_fma(a, b, -(a * b)); }
#endif
// The product of two such numbers is far from both ends of the doubles, and so is what it lacks.
GPUSCAN_HD double moderate(double a, int &error) {
    const double size = a < 0 ? -a : a;
    error |= (size < 1e-140) & (a != 0);
    error |= (size > 1e140) & !is_inf(a);
    return a;
}

GPUSCAN_HD int64_t gcd(int64_t a, int64_t b, int &error) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y != 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    error |= x >> 63 != 0;
    return (int64_t)x;
}

// ---- integers as bits; what oids, enums and floats are compared by ----

GPUSCAN_HD int64_t bit_and(int64_t a, int64_t b, int &) { return a & b; }
GPUSCAN_HD int64_t bit_or(int64_t a, int64_t b, int &) { return a | b; }
GPUSCAN_HD int64_t bit_xor(int64_t a, int64_t b, int &) { return a ^ b; }
// What a processor does with a shift by more bits than there are is its own.
template <class T> GPUSCAN_HD T shift_left(T a, T by, int &error) {
    error |= (by < 0) | (by >= (T)(8 * sizeof(T)));
    return (T)((typename Limits<T>::Unsigned)a << (by & (T)(8 * sizeof(T) - 1)));
}
template <class T> GPUSCAN_HD T shift_right(T a, T by, int &error) {
    error |= (by < 0) | (by >= (T)(8 * sizeof(T)));
    return (T)(a >> (by & (T)(8 * sizeof(T) - 1)));
}
GPUSCAN_HD int64_t oid_order(int32_t a, int &) { return (int64_t)(uint32_t)a; }
// Even oids are in the order of their enum's values, odd ones stand anywhere in it (enum.c: enum_cmp_internal).
GPUSCAN_HD int64_t enum_order(int32_t a, int &error) {
    error |= a & 1;
    return (int64_t)(uint32_t)a;
}
GPUSCAN_HD int64_t bits_of(double a) {
#ifdef __CUDACC__
    return __double_as_longlong(a);
#else
    int64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
#endif
}
GPUSCAN_HD double double_of(int64_t bits) {
#ifdef __CUDACC__
    return __longlong_as_double(bits);
#else
    double a;
    memcpy(&a, &bits, sizeof a);
    return a;
#endif
}
// C's cast to int32; a row error where it has no meaning.
GPUSCAN_HD int32_t truncated(double a, int &error) {
    const bool fits = (a >= -2147483648.0) & (a <= 2147483647.0); // false for NaN
    error |= !fits;
    return fits ? (int32_t)a : 0;
}
GPUSCAN_HD double plain_zero(double a, int &error) {
    error |= (a == 0) & (bits_of(a) != 0);
    return a;
}

// ---- intervals: 64 bits of microseconds, 32 bits of days, 32 bits of months above them, as PostgreSQL stores them ----

GPUSCAN_HD int32_t interval_months(i128 a, int &) { return (int32_t)(a >> 96); }
GPUSCAN_HD int32_t interval_days(i128 a, int &) { return (int32_t)(a >> 64); }
GPUSCAN_HD int64_t interval_micros(i128 a, int &) { return (int64_t)a; }
GPUSCAN_HD i128 make_interval(int32_t months, int32_t days, int64_t micros) {
    return (i128)((u128)(uint32_t)months << 96 | (u128)(uint32_t)days << 64 | (u128)(uint64_t)micros);
}
GPUSCAN_HD i128 interval_span(i128 a, int &error) {
    const int64_t days = (int64_t)interval_months(a, error) * 30 + interval_days(a, error);
    return (i128)days * micros_per_day + interval_micros(a, error);
}
// Infinity is what has the ends of the types in all three fields. Before PostgreSQL 17 that is an interval as any other,
// which then is left to PostgreSQL for nothing.
GPUSCAN_HD i128 finite_interval(i128 a, int &error) {
    error |= (a == make_interval(day_begin, day_begin, time_begin)) | (a == make_interval(day_end, day_end, time_end));
    return a;
}
GPUSCAN_HD i128 interval_plus(i128 a, i128 b, int &error) {
    finite_interval(a, error);
    finite_interval(b, error);
    return finite_interval(make_interval(add(interval_months(a, error), interval_months(b, error), error),
                                         add(interval_days(a, error), interval_days(b, error), error),
                                         add(interval_micros(a, error), interval_micros(b, error), error)),
                           error);
}
GPUSCAN_HD i128 interval_minus(i128 a, i128 b, int &error) {
    finite_interval(a, error);
    finite_interval(b, error);
    return finite_interval(make_interval(sub(interval_months(a, error), interval_months(b, error), error),
                                         sub(interval_days(a, error), interval_days(b, error), error),
                                         sub(interval_micros(a, error), interval_micros(b, error), error)),
                           error);
}
GPUSCAN_HD i128 months_interval(int32_t months, int &) { return make_interval(months, 0, 0); }
GPUSCAN_HD i128 days_interval(int32_t days, int &) { return make_interval(0, days, 0); }
GPUSCAN_HD i128 micros_interval(int64_t micros, int &) { return make_interval(0, 0, micros); }

// As justify_days(), justify_hours(), justify_interval(): days make months of 30 days, hours make days; fields that are not zero have
// the sign of the largest one.
struct Interval {
    int32_t months, days;
    int64_t micros;
};
GPUSCAN_HD Interval finite_fields(i128 a, int &error) {
    finite_interval(a, error);
    return {interval_months(a, error), interval_days(a, error), interval_micros(a, error)};
}
GPUSCAN_HD void days_to_months(Interval &i, int &error) {
    i.months = add(i.months, i.days / 30, error);
    i.days %= 30;
}
GPUSCAN_HD void micros_to_days(Interval &i, int &error) {
    i.days = add(i.days, (int32_t)(i.micros / micros_per_day), error);
    i.micros %= micros_per_day;
}
GPUSCAN_HD void borrow_day(Interval &i) {
    const int32_t sign = (i.days > 0) & (i.micros < 0) ? 1 : (i.days < 0) & (i.micros > 0) ? -1 : 0;
    i.days -= sign;
    i.micros += sign * micros_per_day;
}
GPUSCAN_HD void borrow_month(Interval &i, bool of_days_alone) {
    const int32_t rest = i.days != 0 || of_days_alone ? i.days : i.micros < 0 ? -1 : i.micros > 0 ? 1 : 0;
    const int32_t sign = (i.months > 0) & (rest < 0) ? 1 : (i.months < 0) & (rest > 0) ? -1 : 0;
    i.months -= sign;
    i.days += sign * 30;
}
GPUSCAN_HD i128 justify_days(i128 a, int &error) {
    Interval i = finite_fields(a, error);
    days_to_months(i, error);
    borrow_month(i, true);
    return make_interval(i.months, i.days, i.micros);
}
GPUSCAN_HD i128 justify_hours(i128 a, int &error) {
    Interval i = finite_fields(a, error);
    micros_to_days(i, error);
    borrow_day(i);
    return make_interval(i.months, i.days, i.micros);
}
GPUSCAN_HD i128 justify_interval(i128 a, int &error) {
    Interval i = finite_fields(a, error);
    if ((i.days > 0 && i.micros > 0) || (i.days < 0 && i.micros < 0))
        days_to_months(i, error);
    micros_to_days(i, error);
    days_to_months(i, error);
    borrow_month(i, false);
    borrow_day(i);
    return make_interval(i.months, i.days, i.micros);
}

// As interval_mul() and interval_div(): what is no whole month becomes days, what is no whole day becomes seconds, each rounded to
// microseconds. The factor comes as its bits. What leaves a field's range is a row error.
GPUSCAN_HD double to_micros_of_seconds(double a) { return round_even(a * 1000000.0) / 1000000.0; }
GPUSCAN_HD i128 scaled_interval(double months, double days, double micros, int &error) {
    const int32_t whole_months = truncated(months, error), whole_days = truncated(days, error);
    const double rest = to_micros_of_seconds((months - whole_months) * 30);
    const int32_t rest_days = truncated(rest, error);
    double seconds = to_micros_of_seconds((days - whole_days + rest - rest_days) * 86400);
    int32_t result_days = whole_days;
    if (seconds >= 86400 || seconds <= -86400) {
        const int32_t more = truncated(seconds / 86400, error);
        result_days = add(result_days, more, error);
        seconds -= more * 86400;
    }
    return finite_interval(make_interval(whole_months, add(result_days, rest_days, error),
                                         cast<int64_t>(micros + seconds * 1000000.0, error)),
                           error);
}
GPUSCAN_HD i128 interval_times(i128 a, i128 factor, int &error) {
    const Interval i = finite_fields(a, error);
    const double f = double_of((int64_t)factor);
    return scaled_interval(i.months * f, i.days * f, i.micros * f, error);
}
GPUSCAN_HD i128 interval_by(i128 a, i128 divisor, int &error) {
    const Interval i = finite_fields(a, error);
    const double d = double_of((int64_t)divisor);
    error |= d == 0;
    return scaled_interval(i.months / d, i.days / d, i.micros / d, error);
}

// The length, and below it, in 56 bits, the months and days that it is written with: the order of intervals, and of equal ones that of
// the ways in which they are written, or its contrary. A row error beyond 700,000 years.
constexpr int interval_rank_bits = 56;
GPUSCAN_HD i128 interval_rank(i128 a, int &error) {
    const int32_t months = interval_months(a, error), half = 1 << 23;
    error |= (months < -half) | (months >= half);
    const uint64_t spelling =
        (uint64_t)((int64_t)months + half) << 32 | (uint64_t)((int64_t)interval_days(a, error) + 2147483648ll);
    return (i128)((u128)interval_span(a, error) << interval_rank_bits) +
           (i128)(spelling & ((1ull << interval_rank_bits) - 1));
}
GPUSCAN_HD i128 interval_rank_back(i128 a, int &error) {
    return interval_rank(a, error) ^ (i128)((1ull << interval_rank_bits) - 1);
}
GPUSCAN_HD i128 interval_of_rank(i128 rank) {
    const uint64_t spelling = (uint64_t)rank & ((1ull << interval_rank_bits) - 1);
    const int32_t months = (int32_t)((int64_t)(spelling >> 32) - (1 << 23));
    const int32_t days = (int32_t)((int64_t)(spelling & 0xffffffffull) - 2147483648ll);
    const i128 whole = (i128)((int64_t)months * 30 + days) * micros_per_day;
    return make_interval(months, days, (int64_t)((rank >> interval_rank_bits) - whole));
}
// As timestamp_mi(): whole days, and what is left of the same sign.
GPUSCAN_HD i128 timestamp_minus(int64_t a, int64_t b, int &error) {
    error |= (a == time_begin) | (a == time_end) | (b == time_begin) | (b == time_end);
    const int64_t micros = sub(a, b, error);
    return make_interval(0, (int32_t)(micros / micros_per_day), micros % micros_per_day);
}
// As timestamp_age(): the fields' differences, of which those that are negative borrow from the next; a month that is
// borrowed has the days of the earlier timestamp's month.
GPUSCAN_HD i128 timestamp_age(int64_t a, int64_t b, int &error) {
    error |= (a == time_begin) | (a == time_end) | (b == time_begin) | (b == time_end);
    const bool negative = a < b;
    const int64_t later = negative ? b : a, earlier = negative ? a : b;
    const int32_t later_day = (int32_t)floor_div(later, micros_per_day);
    const int32_t earlier_day = (int32_t)floor_div(earlier, micros_per_day);
    const Civil x = civil(later_day), y = civil(earlier_day);
    int64_t micros = rest(later, micros_per_day) - rest(earlier, micros_per_day);
    int32_t days = x.day - y.day, months = (x.year - y.year) * 12 + (x.month - y.month);
    if (micros < 0) {
        micros += micros_per_day;
        --days;
    }
    for (int borrowed = 0; borrowed < 2 && days < 0; ++borrowed) {
        days += days_of_month(y.year, y.month);
        --months;
    }
    return negative ? make_interval(-months, -days, -micros) : make_interval(months, days, micros);
}

// ---- quotients of numerics, as in utils/adt/numeric.c ----

// 10^n, of 0 <= n <= 38.
GPUSCAN_LONG u128 power_of_ten(int n) {
    u128 power = 1;
    power *= n & 1 ? 10u : 1u;
    power *= n & 2 ? 100u : 1u;
    power *= n & 4 ? 10000u : 1u;
    power *= n & 8 ? 100000000u : 1u;
    power *= n & 16 ? 10000000000000000ull : 1u;
    power *= n & 32 ? (u128)10000000000000000ull * 10000000000000000ull : (u128)1;
    return power;
}

// The first digit of a number to the base of 10,000, and how many follow it; of 0 both are 0.
struct FirstDigit {
    int32_t digit, following;
};
GPUSCAN_LONG FirstDigit first_digit(u128 a) {
    constexpr uint64_t two = 100000000ull, four = two * two;
    FirstDigit first = {0, 0};
    while (a >= four) {
        a = unsigned_quotient(a, four);
        first.following += 4;
    }
    uint64_t left = (uint64_t)a;
    if (left >= two) {
        left /= two;
        first.following += 2;
    }
    if (left >= 10000u) {
        left /= 10000u;
        first.following += 1;
    }
    first.digit = (int32_t)left;
    return first;
}
// How many decimals select_div_scale() gives a / b, both with one scale that is a multiple of 4: at least 16 significant digits.
// As if 0 were less than 10,000 of the last places.
GPUSCAN_HD int32_t quotient_scale(i128 a, i128 b, int &) {
    const FirstDigit x = first_digit(magnitude(a)), y = first_digit(magnitude(b));
    return 16 - 4 * (x.following - y.following - (x.digit <= y.digit ? 1 : 0));
}

// a / b cut off behind so many decimals, by long division; a row error if all of them are zero though a is not, or if there is no
// room for them.
template <int Decimals> GPUSCAN_HD i128 quotient(i128 a, i128 b, int &error) {
    const u128 x = magnitude(a);
    u128 y = magnitude(b);
    // The rest of a step is less than y, and with the step's digits in 128 bits.
    const int digits = y >> 64 == 0 ? 18 : y >> 88 == 0 ? 12 : y >> 108 == 0 ? 6 : 1;
    error |= (y == 0) | (y >> 124 != 0) | (x >> 127 != 0);
    y = y == 0 ? 1 : y;
    i128 q = (i128)unsigned_quotient(x, y);
    u128 rest = x - (u128)q * y;
    for (int left = Decimals; left > 0; left -= digits) {
        const u128 power = power_of_ten(left < digits ? left : digits);
        const u128 more = rest * power, next = unsigned_quotient(more, y);
        q = add(mul(q, (i128)power, error), (i128)next, error);
        rest = more - next * y;
    }
    error |= (q == 0) & (a != 0);
    return (a < 0) != (b < 0) ? (i128)((u128)0 - (u128)q) : q;
}
GPUSCAN_HD i128 quotient_17(i128 a, i128 b, int &error) { return quotient<17>(a, b, error); }
GPUSCAN_HD i128 quotient_21(i128 a, i128 b, int &error) { return quotient<21>(a, b, error); }
GPUSCAN_HD i128 quotient_25(i128 a, i128 b, int &error) { return quotient<25>(a, b, error); }
GPUSCAN_HD i128 quotient_29(i128 a, i128 b, int &error) { return quotient<29>(a, b, error); }

// Such a quotient rounded half away from zero to so many digits less, and without its last decimal, which then is a zero.
// Nothing but 0 can do without a digit too many. (What was cut off behind the digits that are rounded does not matter.)
GPUSCAN_HD i128 without_digits(i128 a, i128 digits, int &error) {
    if (a == 0)
        return 0;
    const bool possible = (digits >= 1) & (digits <= 38);
    error |= !possible;
    const int n = possible ? (int)digits : 1;
    const u128 power = power_of_ten(n), x = magnitude(a), cut = unsigned_quotient(x, power), rest = x - cut * power;
    const u128 r = (cut + (rest >= power - rest ? 1u : 0u)) * power_of_ten(n - 1);
    return a < 0 ? (i128)((u128)0 - r) : (i128)r;
}

// What adds up in 128 bits each, where the whole would not: a = high * 2^62 + low.
GPUSCAN_HD int64_t high_part(i128 a, int &error) {
    const i128 high = a >> 62;
    error |= high != (int64_t)high;
    return (int64_t)high;
}
GPUSCAN_HD int64_t low_part(i128 a, int &) { return (int64_t)((uint64_t)a & ((1ull << 62) - 1)); }

// ---- three-valued logic: value and NULL flag, both 0 or 1; the value under a NULL is 0 ----

struct Truth {
    uint8_t value, null;
};
GPUSCAN_HD Truth truth_and(Truth a, Truth b) {
    uint8_t is_false = (uint8_t)((!a.value & !a.null) | (!b.value & !b.null));
    uint8_t null = (uint8_t)((a.null | b.null) & !is_false);
    return {(uint8_t)(!is_false & !null), null};
}
GPUSCAN_HD Truth truth_or(Truth a, Truth b) {
    uint8_t is_true = (uint8_t)((a.value & !a.null) | (b.value & !b.null));
    return {is_true, (uint8_t)((a.null | b.null) & !is_true)};
}
GPUSCAN_HD Truth truth_not(Truth a) { return {(uint8_t)(!a.value & !a.null), a.null}; }

// ---- keys: equal values have equal bits, and a hash of them ----

GPUSCAN_HD double canonical(double a) { return is_nan(a) ? quiet_nan() : a == 0 ? 0.0 : a; }
GPUSCAN_HD float canonical(float a) { return is_nan(a) ? quiet_nanf() : a == 0 ? 0.0f : a; }

// Not monotonic: nothing but equality is kept.
GPUSCAN_HD int64_t float_bits(double a, int &) {
    const double v = canonical(a);
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

// MurmurHash3's 64-bit finalizer: every input bit reaches every output bit.
GPUSCAN_HD uint64_t hash64(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}
GPUSCAN_HD uint64_t hash_combine(uint64_t hash, uint64_t word) {
    return hash64(word + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2)) ^ hash;
}

} // namespace sem
} // namespace gpuscan
