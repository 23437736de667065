/* The state of whoever makes a random program; for gen.c, gen_task.c and gen_mapper.c only. */
#ifndef TEST_GEN_MAKER_H
#define TEST_GEN_MAKER_H

#include "gen_manual.h"

typedef struct maker {
    gen_rng rng;
    gen_rng more; /* for what came later: the rest of a program is as if it did not exist */
    const gen_options *options;
    gen_program *program;
    TI_VEC(uint8_t *) written; /* per buffer, one byte per element */
    TI_VEC(uint8_t) alive;
    bool tiles; /* a program whose tasks are mostly placed, and touch tiles */
    bool pure;  /* a program whose tasks are mostly marked pure */
    gen_boxes boxes;
} maker;

static inline gen_rng *rng_of(maker *m)
{
    return &m->rng;
}
static inline bool chance(maker *m, int percent)
{
    return gen_chance(&m->rng, percent);
}
static inline int count_alive(const maker *m)
{
    int count = 0;
    for (size_t i = 0; i < m->alive.count; i++) {
        count += m->alive.data[i];
    }
    return count;
}
/* Largest extents by number of dimensions. */
static inline int64_t largest(const maker *m, int dims)
{
    return m->options->nodes > 16 ? gen_largest_many[dims] : gen_largest_few[dims];
}

/* A buffer that exists now. */
int gen_pick_alive(maker *m);

/* Any mapper that goes with the numbers of dimensions; whether it may write is another question. */
tacit_mapper gen_random_mapper(maker *m, const gen_task *t, const gen_buffer *b, bool writes);
tacit_component gen_random_span(maker *m, size_t size);
/* tacit_fixed of a box that is not empty. */
tacit_mapper gen_random_fixed(maker *m, const gen_buffer *b);

/* Adds a task to the pool. */
void gen_add_task(maker *m);
/* Adds a task that writes all of one buffer, each element by one item, and returns its number. */
int gen_add_writer(maker *m, int buffer);

#endif
