/* Assertions about the library itself.
 *
 * TI_ASSERT states what must be true if tacit is right; it is on unless TACIT_CHECKS is `off` (release). Errors of
 * the caller or of the environment never go through it: they are statuses. TI_VALIDATE is the same for a structure
 * as a whole, after every change of it; it is on if TACIT_CHECKS is `full` (tests under sanitizers). ti_panic ends
 * the process with a message; it is for broken invariants. ti_stop does so where the environment leaves nothing else
 * to do: memory for tacit itself that cannot be allocated. ti_abort ends the process when its last words are said. Any
 * thread. */
#ifndef TI_CHECK_H
#define TI_CHECK_H

#include "base/macro.h"

__attribute__((noreturn)) void ti_panic(const char *file, int line, const char *format, ...) TI_PRINTF(3, 4);

__attribute__((noreturn)) void ti_stop(const char *format, ...) TI_PRINTF(1, 2);

__attribute__((noreturn)) void ti_abort(void);

#define TI_PANIC(...) ti_panic(__FILE__, __LINE__, __VA_ARGS__)
#define TI_UNREACHABLE() ti_panic(__FILE__, __LINE__, "unreachable code was reached")

#if TI_CHECKS >= 1
#define TI_ASSERT(cond) (TI_LIKELY(cond) ? (void)0 : ti_panic(__FILE__, __LINE__, "assertion failed: %s", #cond))
#else
#define TI_ASSERT(cond) ((void)sizeof((cond) ? 1 : 0))
#endif

#if TI_CHECKS >= 2
#define TI_VALIDATE(cond) TI_ASSERT(cond)
#else
#define TI_VALIDATE(cond) ((void)sizeof((cond) ? 1 : 0))
#endif

#endif
