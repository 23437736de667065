/* The sequential oracle: a random program on dense arrays, one step after the other.
 *
 * Knows nothing of chunks, nodes, versions or messages, and uses no code of src/ but growing arrays. What a fence
 * must show is kept for all fences. Immutable once it has run: any thread may read. */
#ifndef TEST_ORACLE_H
#define TEST_ORACLE_H

#include "meaning.h"

typedef struct oracle {
    const gen_program *program;
    unsigned char **data;   /* by buffer */
    unsigned char **fenced; /* by step: the packed box of a fence, or NULL */
    uint64_t reads;         /* elements looked at */
} oracle;

void oracle_run(oracle *o, const gen_program *program);
void oracle_fini(oracle *o);

#endif
