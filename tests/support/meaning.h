/* What the kernels of random programs compute: a hash of everything that they declare to read.
 *
 * Every written element gets a value that depends on the step, the element, and all elements that the items which
 * write it read. It does not depend on how the range was cut into chunks, so that a plain sequential run gives the
 * same bytes. Kernels and the oracle share these functions and differ in where elements come from: a source.
 * Reductions use exact operators on integers. Any thread. */
#ifndef TEST_MEANING_H
#define TEST_MEANING_H

#include "gen.h"

enum { MEANING_MOST_BYTES = 24 }; /* of an element */

/* Where elements are read from. */
typedef struct meaning_source {
    const gen_program *program;
    const gen_task *task;
    size_t step;
    const unsigned char *(*fetch)(struct meaning_source *source, int access, const int64_t at[3]);
    void *user;
    bool known[GEN_ACCESSES]; /* hashes of what is the same for all items */
    uint64_t constant[GEN_ACCESSES];
    gen_boxes image;
} meaning_source;

void meaning_init(meaning_source *s, const gen_program *program, size_t step);
void meaning_fini(meaning_source *s);

/* The new bytes of an element by a writing access. */
void meaning_value(meaning_source *s, int access, const int64_t at[3], unsigned char out[MEANING_MOST_BYTES]);
/* What an item contributes to element `at` of a reduced buffer. */
void meaning_contribution(meaning_source *s, int access, const int64_t item[3], const int64_t at[3],
                          unsigned char out[MEANING_MOST_BYTES]);

/* Reductions on one element, by plain arithmetic. */
void meaning_identity(tacit_op op, unsigned char out[MEANING_MOST_BYTES]);
void meaning_combine(tacit_op op, unsigned char *into, const unsigned char *from);

/* The initial bytes of an element. */
void meaning_initial(int buffer, size_t element, size_t elem_size, unsigned char *out);
/* The bytes of all elements after a step that fills a buffer. */
void meaning_filled(size_t step, size_t elem_size, unsigned char *out);

#endif
