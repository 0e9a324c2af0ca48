#include "harness/forecast/polynomial.h"

#include <string.h>

#define TOO_LARGE ((__int128)1 << 60)

const char *const polynomial_outcomes[] = {"", "negative", "no whole number", "2^60 or more"};

/* Sums and products that say whether they overflowed, once for a whole formula. */
struct exact {
    bool lost;
};

static __int128 times(struct exact *exact, __int128 a, __int128 b)
{
    __int128 product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        exact->lost = true;
    return product;
}

static __int128 plus(struct exact *exact, __int128 a, __int128 b)
{
    __int128 sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        exact->lost = true;
    return sum;
}

static __int128 power(struct exact *exact, uint64_t value, int exponent)
{
    __int128 result = 1;
    for (int i = 0; i < exponent; i++)
        result = times(exact, result, (__int128)value);
    return result;
}

static __int128 divisor(__int128 a, __int128 b)
{
    if (a < 0)
        a = -a;
    while (b) {
        const __int128 rest = a % b;
        a = b;
        b = rest < 0 ? -rest : rest;
    }
    return a;
}

/* a b - c d */
static __int128 cross(struct exact *exact, __int128 a, __int128 b, __int128 c, __int128 d)
{
    return plus(exact, times(exact, a, b), -times(exact, c, d));
}

/* Cramer's rule over the powers of `exponents` (`terms` of them) at the first points. */
static void solve(struct exact *exact, const uint64_t *values, const uint64_t *numbers,
                  const int *exponents, int terms, struct polynomial *p)
{
    __int128 m[3][3], n[3];
    for (int row = 0; row < terms; row++) {
        n[row] = (__int128)numbers[row];
        for (int column = 0; column < terms; column++)
            m[row][column] = power(exact, values[row], exponents[column]);
    }
    if (terms == 1) {
        p->numerators[exponents[0]] = n[0];
        p->denominator = m[0][0];
    } else if (terms == 2) {
        p->numerators[exponents[0]] = cross(exact, n[0], m[1][1], m[0][1], n[1]);
        p->numerators[exponents[1]] = cross(exact, m[0][0], n[1], n[0], m[1][0]);
        p->denominator = cross(exact, m[0][0], m[1][1], m[0][1], m[1][0]);
    } else {
        for (int column = 0; column <= terms; column++) { /* the last: the denominator */
            __int128 a[3][3], *sum = column < terms ? &p->numerators[column] : &p->denominator;
            memcpy(a, m, sizeof(a));
            for (int row = 0; row < terms && column < terms; row++)
                a[row][column] = n[row];
            *sum = 0;
            for (int i = 0; i < 3; i++) {
                const int j = (i + 1) % 3, k = (i + 2) % 3;
                const __int128 minor = cross(exact, a[1][j], a[2][k], a[1][k], a[2][j]);
                *sum = plus(exact, *sum, times(exact, a[0][i], minor));
            }
        }
    }
}

static void reduce(struct polynomial *p)
{
    __int128 common = p->denominator < 0 ? -p->denominator : p->denominator;
    for (int i = 0; i < POLYNOMIAL_TERMS; i++)
        common = divisor(p->numerators[i], common);
    if (p->denominator < 0)
        common = -common;
    p->denominator /= common;
    p->terms = 0;
    for (int i = 0; i < POLYNOMIAL_TERMS; i++) {
        p->numerators[i] /= common;
        if (p->numerators[i] != 0)
            p->terms++;
    }
}

static __int128 numerator_at(struct exact *exact, const struct polynomial *p, uint64_t value)
{
    __int128 sum = 0;
    for (int i = POLYNOMIAL_TERMS; i-- > 0;)
        sum = plus(exact, times(exact, sum, (__int128)value), p->numerators[i]);
    return sum;
}

static bool passes(const struct polynomial *p, uint64_t value, uint64_t number)
{
    struct exact exact = {false};
    const __int128 left = numerator_at(&exact, p, value);
    const __int128 right = times(&exact, (__int128)number, p->denominator);
    return !exact.lost && left == right;
}

/* Nothing speaks for it but the points that it was made from. */
static bool is_plausible(const struct polynomial *p, uint64_t least)
{
    const __int128 *n = p->numerators;
    if (n[0] < 0 && n[1] > 0 && n[2] == 0)
        return -n[0] % n[1] == 0 && -n[0] / n[1] <= (__int128)(least / 2);
    return n[0] >= 0 && n[1] >= 0 && n[2] >= 0;
}

static bool try_terms(const uint64_t *values, const uint64_t *numbers, size_t count,
                      unsigned mask, struct polynomial *polynomial)
{
    struct exact exact = {false};
    struct polynomial p = {.denominator = 1};
    int exponents[POLYNOMIAL_TERMS], terms = 0;
    for (int i = 0; i < POLYNOMIAL_TERMS; i++) {
        if (mask >> i & 1)
            exponents[terms++] = i;
    }
    if ((size_t)terms > count)
        return false;
    solve(&exact, values, numbers, exponents, terms, &p);
    if (exact.lost || p.denominator == 0)
        return false;
    reduce(&p);
    for (size_t i = 0; i < count; i++) {
        if (!passes(&p, values[i], numbers[i]))
            return false;
    }
    p.checked = count > (size_t)terms;
    if (!p.checked && !is_plausible(&p, values[0]))
        return false;
    *polynomial = p;
    return true;
}

bool polynomial_fit(const uint64_t *values, const uint64_t *numbers, size_t count,
                    struct polynomial *polynomial)
{
    static const unsigned masks[] = {1, 2, 3, 4, 6, 5, 7}; /* bit i: the power i */
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        if (try_terms(values, numbers, count, masks[i], polynomial))
            return true;
    }
    return false;
}

enum polynomial_outcome polynomial_at(const struct polynomial *p, uint64_t value,
                                      uint64_t *number)
{
    struct exact exact = {false};
    const __int128 top = numerator_at(&exact, p, value);
    if (exact.lost)
        return POLYNOMIAL_TOO_LARGE;
    if (top < 0)
        return POLYNOMIAL_NEGATIVE;
    if (p->denominator != 1 && top % p->denominator)
        return POLYNOMIAL_FRACTION;
    const __int128 result = p->denominator == 1 ? top : top / p->denominator;
    if (result >= TOO_LARGE)
        return POLYNOMIAL_TOO_LARGE;
    *number = (uint64_t)result;
    return POLYNOMIAL_OK;
}

bool polynomial_is_constant(const struct polynomial *p)
{
    return p->numerators[1] == 0 && p->numerators[2] == 0;
}

struct polynomial polynomial_constant(uint64_t number)
{
    return (struct polynomial){.numerators = {(__int128)number},
                               .denominator = 1,
                               .terms = number != 0,
                               .checked = true};
}
