/* Counted allocation: see alloc.h. Callers pass the size back, so that no header is needed in front of blocks. */
#include "base/alloc.h"

#include "base/check.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct {
    _Atomic uint64_t live, peak, calls; /* bytes, bytes, mallocs */
} counted;

static void count(size_t add, size_t sub)
{
    uint64_t now = atomic_fetch_add_explicit(&counted.live, add - sub, memory_order_relaxed) + add - sub;
    uint64_t peak = atomic_load_explicit(&counted.peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak_explicit(&counted.peak, &peak, now, memory_order_relaxed,
                                                                memory_order_relaxed)) {
    }
    if (add) {
        atomic_fetch_add_explicit(&counted.calls, 1, memory_order_relaxed);
    }
}

static void *checked(void *ptr, size_t size)
{
    if (!ptr) {
        ti_stop(
            "no memory for %zu bytes of tacit's own (it has %llu); the machine, or a limit on the process, has no more",
            size, (unsigned long long)ti_alloc_live());
    }
    return ptr;
}

void *ti_alloc(size_t size)
{
    void *ptr = checked(malloc(size ? size : 1), size);
    count(size, 0);
    return ptr;
}

void *ti_try_alloc(size_t size)
{
    void *ptr = malloc(size ? size : 1);
    count(ptr ? size : 0, 0);
    return ptr;
}

void *ti_alloc_zero(size_t size)
{
    void *ptr = checked(calloc(1, size ? size : 1), size);
    count(size, 0);
    return ptr;
}

void *ti_alloc_aligned(size_t size)
{
    void *ptr = checked(aligned_alloc(TI_CACHE_LINE, TI_ALIGN_UP(size, TI_CACHE_LINE)), size);
    count(size, 0);
    return memset(ptr, 0, size);
}

void *ti_realloc(void *ptr, size_t old_size, size_t size)
{
    void *grown = checked(realloc(ptr, size ? size : 1), size);
    count(size, old_size);
    return grown;
}

void ti_free(void *ptr, size_t size)
{
    if (ptr) {
        count(0, size);
        free(ptr);
    }
}

char *ti_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(ti_alloc(size), text, size);
}

void ti_strfree(char *text)
{
    if (text) {
        ti_free(text, strlen(text) + 1);
    }
}

void *ti_user_alloc(size_t size)
{
    return malloc(size ? size : 1);
}

void ti_user_free(void *ptr)
{
    free(ptr);
}

uint64_t ti_alloc_live(void)
{
    return atomic_load_explicit(&counted.live, memory_order_relaxed);
}

uint64_t ti_alloc_peak(void)
{
    return atomic_load_explicit(&counted.peak, memory_order_relaxed);
}

uint64_t ti_alloc_calls(void)
{
    return atomic_load_explicit(&counted.calls, memory_order_relaxed);
}
