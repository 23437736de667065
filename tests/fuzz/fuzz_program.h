/* Random programs out of bytes: buffers, mappers, operators, tasks, fences, through the public API, with values that
 * are often wrong.
 *
 * Whatever the bytes, calls return statuses and nothing else happens. The same bytes give the same program on every
 * node. What the caller promises and nobody can check is kept: pointers lead to as much memory as is said, handles of
 * destroyed buffers are not used, and custom mappers of writers name elements once. One thread per program. */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include "fuzz_input.h"

#include "api/context.h"

typedef struct fuzz_program {
    bool vast;         /* buffers may be of any size: for dry runs, which allocate nothing */
    int steps;         /* at most */
    uint64_t statuses; /* out: a hash of what the calls returned */
} fuzz_program;

void fuzz_program_run(fuzz_program *program, tacit_context *ctx, const uint8_t *data, size_t size);

#endif
