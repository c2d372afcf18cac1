// The scalar semantics: limits, errors, NaN, rounding, three-valued logic.
#include <gtest/gtest.h>

#include <cfloat>
#include <random>

#include "device/semantics.cuh"

namespace gpuscan {
namespace {

using namespace sem;

template <class T> using L = Limits<T>;

template <class T> void check_limits() {
    int e = 0;
    EXPECT_EQ(L<T>::max, add(L<T>::max, T(0), e));
    EXPECT_EQ(L<T>::min, sub(L<T>::min, T(0), e));
    EXPECT_EQ(T(-1), add(L<T>::max, L<T>::min, e));
    EXPECT_EQ(L<T>::min, mul(L<T>::min, T(1), e));
    EXPECT_EQ(T(-3), div(T(-7), T(2), e));
    EXPECT_EQ(T(-1), mod(T(-7), T(2), e));
    EXPECT_EQ(T(0), mod(L<T>::min, T(-1), e));
    EXPECT_EQ(L<T>::min + 1, neg(L<T>::max, e));
    EXPECT_EQ(0, e);
    auto fails = [](auto f) {
        int error = 0;
        f(error);
        return error == 1;
    };
    EXPECT_TRUE(fails([](int &x) { add(L<T>::max, T(1), x); }));
    EXPECT_TRUE(fails([](int &x) { add(L<T>::min, T(-1), x); }));
    EXPECT_TRUE(fails([](int &x) { sub(L<T>::min, T(1), x); }));
    EXPECT_TRUE(fails([](int &x) { sub(T(0), L<T>::min, x); }));
    EXPECT_TRUE(fails([](int &x) { mul(L<T>::min, T(-1), x); }));
    EXPECT_TRUE(fails([](int &x) { mul(L<T>::max, T(2), x); }));
    EXPECT_TRUE(fails([](int &x) { mul(L<T>::min, L<T>::min, x); }));
    EXPECT_TRUE(fails([](int &x) { div(T(1), T(0), x); }));
    EXPECT_TRUE(fails([](int &x) { div(L<T>::min, T(-1), x); }));
    EXPECT_TRUE(fails([](int &x) { mod(T(1), T(0), x); }));
    EXPECT_TRUE(fails([](int &x) { neg(L<T>::min, x); }));
}

TEST(Semantics, IntegerLimits) {
    check_limits<int16_t>();
    check_limits<int32_t>();
    check_limits<int64_t>();
    check_limits<i128>();
}

// Every operation against the compiler's checked arithmetic, operands of all sizes.
template <class T> void check_random() {
    std::mt19937_64 random(1);
    for (int i = 0; i < 200000; ++i) {
        auto any = [&] {
            i128 v = static_cast<i128>(static_cast<u128>(random()) << 64 | random());
            return static_cast<T>(v >> (random() % 128));
        };
        T a = any(), b = any(), r;
        int e = 0;
        T got = add(a, b, e);
        ASSERT_EQ(__builtin_add_overflow(a, b, &r), e == 1);
        ASSERT_TRUE(e || got == r);
        e = 0;
        got = sub(a, b, e);
        ASSERT_EQ(__builtin_sub_overflow(a, b, &r), e == 1);
        ASSERT_TRUE(e || got == r);
        e = 0;
        got = mul(a, b, e);
        ASSERT_EQ(__builtin_mul_overflow(a, b, &r), e == 1);
        ASSERT_TRUE(e || got == r);
    }
}

TEST(Semantics, IntegersAgainstTheCompiler) {
    check_random<int16_t>();
    check_random<int32_t>();
    check_random<int64_t>();
    check_random<i128>();
}

int float_error(double (*f)(double, double, int &), double a, double b) {
    int e = 0;
    f(a, b, e);
    return e;
}

TEST(Semantics, FloatErrors) {
    auto add8 = [](double a, double b, int &e) { return add(a, b, e); };
    auto mul8 = [](double a, double b, int &e) { return mul(a, b, e); };
    auto div8 = [](double a, double b, int &e) { return div(a, b, e); };
    EXPECT_EQ(1, float_error(add8, DBL_MAX, DBL_MAX));
    EXPECT_EQ(0, float_error(add8, INFINITY, 1));
    EXPECT_EQ(0, float_error(add8, INFINITY, -INFINITY));
    EXPECT_EQ(1, float_error(mul8, 1e200, 1e200));
    EXPECT_EQ(1, float_error(mul8, 1e-200, 1e-200));
    EXPECT_EQ(0, float_error(mul8, 0, 1e-200));
    EXPECT_EQ(0, float_error(mul8, INFINITY, 0));
    EXPECT_EQ(1, float_error(div8, 1, 0));
    EXPECT_EQ(1, float_error(div8, INFINITY, 0));
    EXPECT_EQ(0, float_error(div8, NAN, 0));
    EXPECT_EQ(0, float_error(div8, 1, INFINITY));
    EXPECT_EQ(1, float_error(div8, 1e-200, 1e200));
    EXPECT_EQ(1, float_error(div8, 1e200, 1e-200));
    int e = 0;
    mul(1e30f, 1e30f, e);
    EXPECT_EQ(1, e);
}

TEST(Semantics, FloatOrder) {
    double nan = NAN;
    EXPECT_TRUE(eq(nan, nan));
    EXPECT_TRUE(lt((double)INFINITY, nan));
    EXPECT_FALSE(lt(nan, nan));
    EXPECT_FALSE(lt(nan, 1.0));
    EXPECT_TRUE(gt(nan, 1.0));
    EXPECT_TRUE(ge(nan, nan));
    EXPECT_TRUE(le(nan, nan));
    EXPECT_TRUE(ne(nan, 1.0));
    EXPECT_TRUE(eq(-0.0, 0.0));
    EXPECT_FALSE(lt(-0.0, 0.0));
    EXPECT_TRUE(eq(NAN, NAN)); // float
}

template <class To, class From> bool casts(From from, To want) {
    int e = 0;
    To got = cast<To, From>(from, e);
    return !e && got == want;
}
template <class To, class From> bool refuses(From from) {
    int e = 0;
    cast<To, From>(from, e);
    return e == 1;
}

TEST(Semantics, Casts) {
    EXPECT_TRUE((casts<int32_t, double>(2.5, 2)));
    EXPECT_TRUE((casts<int32_t, double>(3.5, 4)));
    EXPECT_TRUE((casts<int32_t, double>(-2.5, -2)));
    EXPECT_TRUE((casts<int32_t, double>(2147483647.4, 2147483647)));
    EXPECT_TRUE((refuses<int32_t, double>(2147483647.5)));
    EXPECT_TRUE((casts<int32_t, double>(-2147483648.5, INT32_MIN)));
    EXPECT_TRUE((refuses<int32_t, double>(-2147483649.0)));
    EXPECT_TRUE((refuses<int64_t, double>(9223372036854775808.0)));
    EXPECT_TRUE((casts<int64_t, double>(-9223372036854775808.0, INT64_MIN)));
    EXPECT_TRUE((refuses<int16_t, float>(32767.5f)));
    EXPECT_TRUE((refuses<int64_t, double>(NAN)));
    EXPECT_TRUE((refuses<int64_t, float>(INFINITY)));
    EXPECT_TRUE((refuses<int16_t, int32_t>(32768)));
    EXPECT_TRUE((casts<int16_t, int64_t>(-32768, -32768)));
    EXPECT_TRUE((refuses<int64_t, i128>(static_cast<i128>(1) << 64)));
    EXPECT_TRUE((casts<i128, int32_t>(-5, -5)));
    EXPECT_TRUE((casts<double, int64_t>(INT64_MAX, 9223372036854775808.0)));
    EXPECT_TRUE((refuses<float, double>(1e300)));
    EXPECT_TRUE((refuses<float, double>(1e-300)));
    EXPECT_TRUE((casts<float, double>(INFINITY, INFINITY)));
    EXPECT_TRUE((casts<int32_t, uint8_t>(1, 1)));
    int e = 0;
    bounded(1e140, e), bounded(INFINITY, e), bounded(NAN, e);
    EXPECT_EQ(0, e);
    bounded(-1.1e140, e);
    EXPECT_EQ(1, e);
}

bool is_leap(int year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

int month_days(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
}

// A calendar that counts day by day, from 4714 BC into the future; 2000-01-01 was a Saturday.
TEST(Semantics, CalendarDayByDay) {
    int error = 0, year = 2000, month = 1, day = 1, of_year = 1;
    int32_t date = 0;
    for (int way = -1; way <= 1; way += 2) {
        year = 2000, month = day = of_year = 1;
        for (date = 0; date > -2451500 && date < 800000; date += way) {
            const sem::Civil c = sem::civil(date);
            ASSERT_TRUE(c.year == year && c.month == month && c.day == day) << date;
            ASSERT_EQ(sem::day_of(year, month, day), date);
            ASSERT_EQ(sem::date_day_of_year(date, error), of_year);
            ASSERT_EQ(sem::date_iso_day_of_week(date, error), ((date % 7 + 7) % 7 + 5) % 7 + 1);
            ASSERT_EQ(sem::year_start(date, error), date - of_year + 1);
            ASSERT_EQ(sem::month_start(date, error), date - day + 1);
            ASSERT_EQ(sem::week_start(date, error), date - sem::date_iso_day_of_week(date, error) + 1);
            // The week's number is that of its Thursday among the Thursdays of the year.
            const int32_t thursday = sem::week_start(date, error) + 3;
            ASSERT_EQ(sem::date_week(date, error), (sem::date_day_of_year(thursday, error) - 1) / 7 + 1) << date;
            ASSERT_EQ(sem::date_iso_year(date, error), sem::date_year(thursday, error));
            if (way > 0) {
                of_year = month == 12 && day == 31 ? 1 : of_year + 1;
                if (++day > month_days(year, month)) {
                    day = 1;
                    month = month % 12 + 1;
                    year += month == 1;
                }
            } else if (--day == 0) {
                month = month == 1 ? 12 : month - 1;
                year -= month == 12;
                day = month_days(year, month);
                of_year = month == 12 ? 365 + is_leap(year) : of_year - 1;
            } else {
                --of_year;
            }
        }
    }
    EXPECT_EQ(error, 0);
}

TEST(Semantics, MonthsAreAddedToTheLastDayAtMost) {
    int error = 0;
    const int32_t january = sem::day_of(2024, 1, 31);
    EXPECT_EQ(sem::add_months(january, 1, error), sem::day_of(2024, 2, 29));
    EXPECT_EQ(sem::add_months(january, 13, error), sem::day_of(2025, 2, 28));
    EXPECT_EQ(sem::add_months(january, -2, error), sem::day_of(2023, 11, 30));
    EXPECT_EQ(sem::add_months(january, -24 * 1024 + 12 * 24, error), sem::day_of(0, 1, 31));
    EXPECT_EQ(error, 0);
    sem::add_months(january, INT32_MAX, error);
    EXPECT_EQ(error, 1);
    error = 0;
    sem::add_months(INT32_MAX, 1, error);
    EXPECT_EQ(error, 1);
}

TEST(Semantics, TimestampsRoundDownBefore2000) {
    int error = 0;
    EXPECT_EQ(sem::floor_day(-1, error), -1);
    EXPECT_EQ(sem::ceil_day(-1, error), 0);
    EXPECT_EQ(sem::ceil_day(1, error), 1);
    EXPECT_EQ(sem::ceil_day(0, error), 0);
    EXPECT_EQ(sem::floor_day(INT64_MAX, error), INT32_MAX);
    EXPECT_EQ(sem::floor_day(INT64_MIN, error), INT32_MIN);
    EXPECT_EQ(sem::ceil_day(INT64_MIN, error), INT32_MIN);
    EXPECT_EQ(sem::ceil_day(-86400000000, error), -1);
    EXPECT_EQ(sem::ceil_day(-86400000001, error), -1);
    EXPECT_EQ(sem::timestamp_hour(-1, error), 23);
    EXPECT_EQ(sem::timestamp_hour(86400000000, error), 0); // midnight of the second day
    EXPECT_EQ(sem::clock_hour(86400000000, error), 24);    // 24:00
    EXPECT_EQ(sem::time_minute(-1, error), 59);
    EXPECT_EQ(sem::time_minute_micros(-1, error), 59999999);
    EXPECT_EQ(sem::hour_start(-1, error), -3600000000LL);
    EXPECT_EQ(sem::hour_start(INT64_MIN, error), INT64_MIN);
    EXPECT_EQ(error, 0);
}

// Digit by digit, as it is done on paper.
i128 cut_quotient(i128 a, i128 b, int decimals) {
    const u128 x = magnitude(a), y = magnitude(b);
    u128 q = x / y, rest = x % y;
    for (int i = 0; i < decimals; ++i) {
        rest *= 10;
        q = q * 10 + rest / y;
        rest %= y;
    }
    return (a < 0) != (b < 0) ? -static_cast<i128>(q) : static_cast<i128>(q);
}

TEST(Semantics, QuotientsAreCutOff) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 20000; ++i) {
        const int x_bits = static_cast<int>(random() % 60) + 1, y_bits = static_cast<int>(random() % 121) + 1;
        const i128 a = static_cast<i128>(random() >> (64 - x_bits)) * (random() % 2 != 0 ? -1 : 1);
        const i128 b = (static_cast<i128>((static_cast<u128>(random()) << 64 | random()) >> (128 - y_bits)) + 1) *
                       (random() % 2 != 0 ? -1 : 1);
        int e = 0;
        const i128 q = quotient_17(a, b, e), expected = cut_quotient(a, b, 17);
        EXPECT_EQ(a != 0 && expected == 0, e != 0);
        EXPECT_TRUE(e != 0 || q == expected);
        e = 0;
        const bool fits = a / b < 1000000000 && a / b > -1000000000;
        EXPECT_TRUE(!fits || quotient_29(a, b, e) == cut_quotient(a, b, 29));
    }
    int e = 0;
    EXPECT_TRUE(quotient_17(0, 5, e) == 0 && e == 0);
    quotient_17(1, 0, e);
    EXPECT_EQ(1, e);
    for (const i128 far : {Limits<i128>::min, Limits<i128>::max}) {
        quotient_21(far, 1, e = 0);
        EXPECT_EQ(1, e);
        quotient_21(1, far, e = 0);
        EXPECT_EQ(1, e);
    }
    quotient_29(static_cast<i128>(2000000000), 1, e = 0);
    EXPECT_EQ(1, e);
    EXPECT_TRUE(quotient_29(1000000000, -1, e = 0) == -static_cast<i128>(power_of_ten(38)) && e == 0);
}

TEST(Semantics, QuotientsHaveSixteenDigits) {
    int e = 0;
    EXPECT_EQ(20, quotient_scale(1, 1, e)); // the first digits are equal: perhaps less than 1
    EXPECT_EQ(16, quotient_scale(2, 1, e));
    EXPECT_EQ(20, quotient_scale(-1, 3, e));
    EXPECT_EQ(16, quotient_scale(10000, 9999, e)); // 1, one place further, and 9999
    EXPECT_EQ(16, quotient_scale(30000, 20000, e));
    EXPECT_EQ(12, quotient_scale(20000, 1, e));
    EXPECT_EQ(24, quotient_scale(1, 99999999, e));
    EXPECT_EQ(24, quotient_scale(0, 10000, e));
    for (int n = 0; n <= 38; ++n)
        EXPECT_EQ(16 - 4 * (n / 4 - (n % 4 == 0 ? 1 : 0)), quotient_scale(static_cast<i128>(power_of_ten(n)), 1, e));
}

TEST(Semantics, QuotientsAreRoundedAwayFromZero) {
    int e = 0;
    EXPECT_EQ(10, static_cast<int64_t>(without_digits(149, 2, e)));
    EXPECT_EQ(20, static_cast<int64_t>(without_digits(150, 2, e)));
    EXPECT_EQ(-20, static_cast<int64_t>(without_digits(-150, 2, e)));
    EXPECT_EQ(-10, static_cast<int64_t>(without_digits(-149, 2, e)));
    EXPECT_EQ(15, static_cast<int64_t>(without_digits(145, 1, e)));
    EXPECT_EQ(0, static_cast<int64_t>(without_digits(49, 2, e)));
    EXPECT_EQ(0, static_cast<int64_t>(without_digits(0, -7, e)));
    EXPECT_EQ(0, e);
    without_digits(7, 0, e);
    EXPECT_EQ(1, e);
    for (const i128 v : {static_cast<i128>(0), static_cast<i128>(-1), static_cast<i128>(power_of_ten(36)),
                         -static_cast<i128>(power_of_ten(35)) - 1}) {
        e = 0;
        EXPECT_TRUE(static_cast<i128>(high_part(v, e)) * (static_cast<i128>(1) << 62) + low_part(v, e) == v);
        EXPECT_GE(low_part(v, e), 0);
        EXPECT_EQ(0, e);
    }
    high_part(Limits<i128>::max, e);
    EXPECT_EQ(1, e);
}

TEST(Semantics, ThreeValuedLogic) {
    const Truth t{1, 0}, f{0, 0}, n{0, 1}, garbage{1, 1};
    auto is = [](Truth a, Truth b) { return a.value == b.value && a.null == b.null; };
    EXPECT_TRUE(is(truth_and(t, t), t) && is(truth_and(t, f), f) && is(truth_and(f, n), f) && is(truth_and(n, t), n));
    EXPECT_TRUE(is(truth_or(f, f), f) && is(truth_or(t, n), t) && is(truth_or(n, f), n) && is(truth_or(n, n), n));
    EXPECT_TRUE(is(truth_not(t), f) && is(truth_not(f), t) && is(truth_not(n), n));
    EXPECT_TRUE(is(truth_and(garbage, t), n) && is(truth_or(garbage, f), n) && is(truth_not(garbage), n));
}

} // namespace
} // namespace gpuscan
