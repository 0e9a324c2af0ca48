/* polynomial: bytes (or a count) as an exact polynomial of a dimension, of degree 0, 1 or 2.
 *
 * Coefficients are rational and kept exactly: a polynomial that was found passes through every
 * point that it was found from, and what it gives elsewhere is an integer or it is refused.
 */
#ifndef HIGHWATER_FORECAST_POLYNOMIAL_H
#define HIGHWATER_FORECAST_POLYNOMIAL_H

#include "harness/base/text.h"

#define POLYNOMIAL_TERMS 3

struct polynomial {
    __int128 numerators[POLYNOMIAL_TERMS]; /* of 1, x, x^2 */
    __int128 denominator;                  /* of all of them, positive, in lowest terms */
    uint8_t terms;                         /* how many numerators are not 0 */
    bool checked; /* more points than terms: it could have missed one */
};

/* The lowest degree that passes through all points, with the fewest terms in that degree. With
 * as many terms as points nothing was checked; then only plausible ones are taken: no negative
 * coefficient, but for a straight line through 0 at a small whole number, as (x - 1) k has it.
 * Values rise strictly and are not 0. false: there is none; *polynomial is untouched. */
bool polynomial_fit(const uint64_t *values, const uint64_t *numbers, size_t count,
                    struct polynomial *polynomial);

enum polynomial_outcome {
    POLYNOMIAL_OK,
    POLYNOMIAL_NEGATIVE,
    POLYNOMIAL_FRACTION,  /* no integer */
    POLYNOMIAL_TOO_LARGE, /* 2^60 or more */
};
extern const char *const polynomial_outcomes[]; /* "negative", … for people */
enum polynomial_outcome polynomial_at(const struct polynomial *polynomial, uint64_t value,
                                      uint64_t *number) MUST_CHECK;
bool polynomial_is_constant(const struct polynomial *polynomial);
struct polynomial polynomial_constant(uint64_t number);

#endif
