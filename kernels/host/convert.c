#include "kernels/host/convert.h"

#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7FFFu;
    if (rest >= 0x7C00u) /* infinite, or not a number */
        return float_of(sign | 0x7F800000u | (rest & 0x3FFu) << 13);
    if (rest < 0x400u) /* zero and subnormals: multiples of 2^-24 */
        return float_of(sign | bits_of((float)rest * 0x1p-24f));
    return float_of(sign | ((rest << 13) + (112u << 23)));
}

uint16_t float_to_half(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7FFFFFFFu;
    if (rest > 0x7F800000u)
        return (uint16_t)(sign | 0x7E00u);
    if (rest >= 0x477FF000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7C00u);
    if (rest < 0x38800000u) { /* below 2^-14: adding 1/2 rounds to multiples of 2^-24 */
        float shifted = float_of(rest) + 0.5f;
        return (uint16_t)(sign | (bits_of(shifted) - 0x3F000000u));
    }
    rest += 0xFFFu + (rest >> 13 & 1u);
    return (uint16_t)(sign | (rest - (112u << 23)) >> 13);
}

float brain_to_float(uint16_t brain)
{
    return float_of((uint32_t)brain << 16);
}

uint16_t float_to_brain(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return 0x7FFF; /* as the GPU's conversion makes it */
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

void host_load(struct array from, uint64_t first, uint64_t count, float *to)
{
    const void *base = (const void *)(uintptr_t)from.address;
    const uint16_t *narrow = (const uint16_t *)base + first;
    if (from.dtype == DTYPE_float32)
        memcpy(to, (const float *)base + first, count * sizeof *to);
    else if (from.dtype == DTYPE_float16)
        for (uint64_t i = 0; i < count; i++)
            to[i] = half_to_float(narrow[i]);
    else
        for (uint64_t i = 0; i < count; i++)
            to[i] = brain_to_float(narrow[i]);
}

void host_store(struct array to, uint64_t first, uint64_t count, const float *from)
{
    void *base = (void *)(uintptr_t)to.address;
    uint16_t *narrow = (uint16_t *)base + first;
    if (to.dtype == DTYPE_float32)
        memcpy((float *)base + first, from, count * sizeof *from);
    else if (to.dtype == DTYPE_float16)
        for (uint64_t i = 0; i < count; i++)
            narrow[i] = float_to_half(from[i]);
    else
        for (uint64_t i = 0; i < count; i++)
            narrow[i] = float_to_brain(from[i]);
}
