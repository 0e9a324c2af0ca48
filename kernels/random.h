/* random: the values of generated tensors.
 *
 * A value depends on (seed, tensor, sequence, row, position, feature) and on nothing else, so a
 * smaller input is a slice of a larger one and every device makes the same content:
 *
 *   bits    Philox4x32-10 (Salmon et al., 2011), key = seed, counter = (feature / 4, position,
 *           row, tensor << 24 | sequence); feature % 4 picks one of its four words
 *   uniform u = (upper 24 bits of the word + 1/2) / 2^24, exact in float64
 *   normal  the quantile of u by Wichura's AS 241 (PPND7), error below 2e-6
 *
 * The quantile is computed in float32 from single roundings only: no operation is contracted
 * (the macros below; the host file is compiled with -ffp-contract=off) and the logarithm is a
 * series of its own, since the two libm differ in the last bit. So host and GPU agree bit for
 * bit.
 */
#ifndef HIGHWATER_KERNELS_RANDOM_H
#define HIGHWATER_KERNELS_RANDOM_H

#include "kernels/fill.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define RANDOM_CALL static __device__ __forceinline__
#define RANDOM_ADD(a, b) __fadd_rn(a, b)
#define RANDOM_MULTIPLY(a, b) __fmul_rn(a, b)
#define RANDOM_DIVIDE(a, b) __fdiv_rn(a, b)
#define RANDOM_ROOT(a) __fsqrt_rn(a)
#else
#define RANDOM_CALL static inline
#define RANDOM_ADD(a, b) ((a) + (b))
#define RANDOM_MULTIPLY(a, b) ((a) * (b))
#define RANDOM_DIVIDE(a, b) ((a) / (b))
#define RANDOM_ROOT(a) sqrtf(a)
#endif

RANDOM_CALL void random_words(uint64_t seed, const uint32_t counter[4], uint32_t word[4])
{
    uint32_t a = counter[0], b = counter[1], c = counter[2], d = counter[3];
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p = (uint64_t)0xD2511F53u * a, q = (uint64_t)0xCD9E8D57u * c;
        a = (uint32_t)(q >> 32) ^ b ^ low;
        b = (uint32_t)q;
        c = (uint32_t)(p >> 32) ^ d ^ high;
        d = (uint32_t)p;
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    word[0] = a, word[1] = b, word[2] = c, word[3] = d;
}

/* c[0] + x * (c[1] + x * (…)), highest power first in the arguments */
#define RANDOM_STEP(sum, x, c) RANDOM_ADD(RANDOM_MULTIPLY(sum, x), c)

/* -ln of n / 2^25 for 0 < n < 2^24 */
RANDOM_CALL float random_minus_log(uint32_t n)
{
    float x = (float)n; /* exact */
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 23) - 127;
    bits = (bits & 0x007FFFFFu) | 0x3F800000u;
    if (bits > 0x3FB504F3u) { /* above sqrt(2): take m in (0.707, 1.414] */
        bits -= 0x00800000u;
        exponent++;
    }
    float m;
    memcpy(&m, &bits, sizeof m);
    /* ln m = 2 artanh s, s = (m - 1) / (m + 1), |s| < 0.172 */
    float s = RANDOM_DIVIDE(RANDOM_ADD(m, -1.0f), RANDOM_ADD(m, 1.0f));
    float square = RANDOM_MULTIPLY(s, s);
    float series = RANDOM_STEP(0.22222222f, square, 0.28571429f);
    series = RANDOM_STEP(series, square, 0.4f);
    series = RANDOM_STEP(series, square, 0.66666667f);
    series = RANDOM_STEP(series, square, 2.0f);
    float whole = RANDOM_MULTIPLY((float)(25 - exponent), 0.69314718f);
    return RANDOM_ADD(whole, -RANDOM_MULTIPLY(s, series));
}

RANDOM_CALL float random_normal(uint32_t word)
{
    uint32_t n = 2 * (word >> 8) + 1;                                    /* u = n / 2^25 */
    float q = RANDOM_MULTIPLY((float)((int32_t)n - 16777216), 0x1p-25f); /* u - 1/2 */
    float r, top, bottom;
    if (fabsf(q) <= 0.425f) {
        r = RANDOM_ADD(0.180625f, -RANDOM_MULTIPLY(q, q));
        top = RANDOM_STEP(5.9109374720e+01f, r, 1.5929113202e+02f);
        top = RANDOM_STEP(top, r, 5.0434271938e+01f);
        top = RANDOM_STEP(top, r, 3.3871327179e+00f);
        bottom = RANDOM_STEP(6.7187563600e+01f, r, 7.8757757664e+01f);
        bottom = RANDOM_STEP(bottom, r, 1.7895169469e+01f);
        bottom = RANDOM_STEP(bottom, r, 1.0f);
        return RANDOM_MULTIPLY(q, RANDOM_DIVIDE(top, bottom));
    }
    r = RANDOM_ROOT(random_minus_log(q < 0 ? n : 33554432u - n));
    r = RANDOM_ADD(r, -1.6f);
    top = RANDOM_STEP(1.7023821103e-01f, r, 1.3067284816e+00f);
    top = RANDOM_STEP(top, r, 2.7568153900e+00f);
    top = RANDOM_STEP(top, r, 1.4234372777e+00f);
    bottom = RANDOM_STEP(1.2021132975e-01f, r, 7.3700164250e-01f);
    bottom = RANDOM_STEP(bottom, r, 1.0f);
    top = RANDOM_DIVIDE(top, bottom);
    return q < 0 ? -top : top;
}

/* The four neighbouring features 4 * quad … 4 * quad + 3. */
RANDOM_CALL void random_normals(const struct fill *fill, uint64_t row, uint64_t position,
                                uint64_t quad, float value[4])
{
    uint32_t word[4], counter[4] = {(uint32_t)quad, (uint32_t)position, (uint32_t)row,
                                    fill->tensor << 24 | (uint32_t)fill->sequence};
    random_words(fill->seed, counter, word);
    for (int i = 0; i < 4; i++)
        value[i] = RANDOM_MULTIPLY(random_normal(word[i]), fill->scale);
}

#endif
