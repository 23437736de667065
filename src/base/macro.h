/* Small macros and integer arithmetic that every file may use. Any thread. */
#ifndef TI_MACRO_H
#define TI_MACRO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TI_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TI_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TI_MAX(a, b) ((a) > (b) ? (a) : (b))
#define TI_LIKELY(x) __builtin_expect(!!(x), 1)
#define TI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TI_NOINLINE __attribute__((noinline))
#define TI_PRINTF(fmt, first) __attribute__((__format__(__printf__, fmt, first)))
#define TI_CACHE_LINE 64
#define TI_ALIGN_UP(n, a) (((n) + (a)-1) / (a) * (a))

/* Divisions that round down and up, whatever the sign of `a`; b > 0. */
static inline int64_t ti_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
static inline int64_t ti_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}
/* The greatest common divisor of two numbers that are not negative; that of 0 and b is b. */
static inline int64_t ti_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
/* The least common multiple of two positive numbers, or 2^46, more than any range has, if it is larger. */
static inline int64_t ti_lcm(int64_t a, int64_t b)
{
    const int64_t max = (int64_t)1 << 46;
    a /= ti_gcd(a, b);
    return a > max / b ? max : a * b;
}

/* The cache lines of so many bytes come while the caller goes on: another core wrote them. NULL: nothing. */
static inline void ti_prefetch(const void *at, size_t bytes)
{
    for (size_t i = 0; at && i < bytes; i += TI_CACHE_LINE) {
        __builtin_prefetch((const char *)at + i);
    }
    __asm__ volatile(""); /* else calls of functions that do nothing else are left out */
}

#endif
