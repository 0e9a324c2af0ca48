/* units: the one strict number grammar of highwater, and numbers for people.
 *
 * Every parser consumes the whole string or fails, checks overflow, and leaves *out untouched
 * on failure. Return 0, or -1 with a reason of one line appended to `why` (which names no file;
 * the caller adds it).
 *
 *   count     digits, no sign, no leading zero ("0" itself is allowed)
 *   size      digits [. digits] directly followed by nothing, B, kB, MB, GB, TB (powers of
 *             1000), KiB, MiB, GiB or TiB (powers of 1024); result in bytes, whole ones
 *   capacity  size of a device or a limit on one: at least CAPACITY_LEAST, since "24" is
 *             rather 24GiB than 24 bytes
 *   duration  count directly followed by ms, s, m or h; result in nanoseconds
 *   real      digits [. digits], no sign, no exponent
 */
#ifndef HIGHWATER_BASE_UNITS_H
#define HIGHWATER_BASE_UNITS_H

#include "harness/base/reading.h"
#include "harness/base/text.h"

#include <stdint.h>

int parse_count(const char *string, uint64_t *out, struct text *why) MUST_CHECK;
int parse_size(const char *string, uint64_t *out, struct text *why) MUST_CHECK;
#define CAPACITY_LEAST ((uint64_t)1 << 20)
int parse_capacity(const char *string, uint64_t *out, struct text *why) MUST_CHECK;
int parse_duration(const char *string, uint64_t *out, struct text *why) MUST_CHECK;
int parse_real(const char *string, double *out, struct text *why) MUST_CHECK;

/* a * b, a + b; return -1 and leave *out untouched on overflow. */
int multiply_checked(uint64_t a, uint64_t b, uint64_t *out) MUST_CHECK;
int add_checked(uint64_t a, uint64_t b, uint64_t *out) MUST_CHECK;

/* "14.00 GB" (10^9) and "13.04 GiB" (2^30), rounded to nearest. For people only. */
void text_add_gb(struct text *text, uint64_t bytes);
void text_add_gib(struct text *text, uint64_t bytes);
/* "25769803776 bytes = 25.77 GB = 24.00 GiB", where one number stands alone. */
void text_add_size(struct text *text, uint64_t bytes);
/* Two cells of a table, in UNITS_BYTES and UNITS_GIB columns with a blank before each: bytes,
 * and the same in GiB; a dash in both when missing. `mark` stands before the digits (">="). */
#define UNITS_BYTES 15
#define UNITS_GIB 8
void text_add_peak(struct text *text, const char *mark, struct reading bytes);
void text_add_peak_heading(struct text *text, const char *name);
/* Bytes alone, as wide as they are there. */
void text_add_bytes_cell(struct text *text, const char *mark, struct reading bytes);
/* "1 h 02 min", "12.3 s", "45 ms". For people only. */
void text_add_duration(struct text *text, uint64_t nanoseconds);

/* `bytes` to the next multiple of `unit`. */
static inline uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

#endif
