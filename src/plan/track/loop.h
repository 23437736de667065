/* Whether a stage goes round in a loop: what comes between two horizons is a segment, and if the last few segments are
 * like those before them, the next ones are expected to be the same again. For cycles (plan/task/cycle.h,
 * plan/stream/cycle.c), which record what they repeat. A zeroed one is fresh. Thread of the stage. */
#ifndef TI_LOOP_H
#define TI_LOOP_H

#include "base/macro.h"

/* Segments of a round at most. */
enum { TI_LOOP_SEGMENTS = 12 };

typedef enum ti_loop_phase { TI_LOOP_LOOKS, TI_LOOP_RECORDS, TI_LOOP_REPEATS } ti_loop_phase;

typedef struct ti_loop {
    ti_loop_phase phase;
    uint64_t hash, hashes[2 * TI_LOOP_SEGMENTS];   /* of the segment at hand, and of those before it */
    uint64_t segments, same[TI_LOOP_SEGMENTS + 1]; /* so far; how many in a row are like the one so many before */
    uint64_t next_try;                             /* segment from which on a round may be recorded */
    int failures;                                  /* since one was worth it */
} ti_loop;

/* Something that is part of the segment; what never comes again has a word of its own. */
void ti_loop_note(ti_loop *loop, uint64_t word);
/* A horizon ends the segment: how many segments a round has that may be recorded from here on, or 0. Not asked for
 * while one is recorded. */
void ti_loop_end_segment(ti_loop *loop);
size_t ti_loop_round(const ti_loop *loop);
/* What comes is like nothing that has come: what is being recorded is of no use. */
void ti_loop_forget(ti_loop *loop);
/* A recorded round is not used any more, and another one is looked for. If it was of no use, that is recorded later. */
void ti_loop_give_up(ti_loop *loop, bool was_worth);

#endif
