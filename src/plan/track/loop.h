/* Whether a stage goes round in a loop: what comes between two horizons is a segment, and if the last few segments are
 * like those before them, the next ones are expected to be the same again. For cycles (plan/task/cycle.h,
 * plan/stream/cycle.c), which record what they repeat. A zeroed one is fresh. Thread of the stage. */
#ifndef TI_LOOP_H
#define TI_LOOP_H

#include "base/map.h"

/* Segments of a round at most; distances at which stretches repeat. */
enum { TI_LOOP_SEGMENTS = 4096, TI_LOOP_RUNS = 16 };

typedef enum ti_loop_phase { TI_LOOP_LOOKS, TI_LOOP_RECORDS, TI_LOOP_REPEATS } ti_loop_phase;

/* Segments in a row that are alike. */
typedef struct ti_loop_stretch {
    uint64_t hash, begin, count; /* of its segments; number of the first */
    uint64_t key;                /* hash of hash and count */
    uint64_t before, number;     /* 1 + that of the latest one with an equal key, or 0; 1 + its own, or 0 if open */
} ti_loop_stretch;

/* The latest `length` stretches were like the ones `distance` before them. */
typedef struct ti_loop_run {
    uint64_t distance, length;
} ti_loop_run;

typedef struct ti_loop {
    ti_loop_phase phase;
    uint64_t hash;         /* of the segment at hand */
    uint64_t segments;     /* so far */
    size_t most;           /* segments of a round for now: more are looked for where none is found. Of these, */
    uint64_t *past;        /* and one more: hashes of the latest, by number */
    ti_loop_stretch *kept; /* likewise: the latest, by number */
    ti_loop_run run[TI_LOOP_RUNS];
    size_t runs;
    uint64_t found;     /* segments when more were looked for, and two for each that has been repeated since */
    uint64_t stretches; /* that have ended; those in a row that are alike are one */
    bool is_open;       /* and there is one more */
    ti_map newest;      /* by key, of those that are kept: 1 + number of the latest one */
    size_t distance;    /* stretches of a round in which the latest is, or 0 */
    size_t round;       /* segments of the round that may be recorded now, or 0 */
    size_t recorded;    /* of the latest one that was worth a try; 0: not known */
    size_t more;        /* rounds beside it that are recorded as one: what is known may need several to repeat */
    uint64_t next_try;  /* segment from which on a round may be recorded that is not longer than */
    size_t failed;      /* the longest that was of no use, of those that have to wait */
    int failures;       /* since one was worth it */
} ti_loop;

void ti_loop_fini(ti_loop *loop);
/* Something that is part of the segment; what never comes again has a word of its own. */
void ti_loop_note(ti_loop *loop, uint64_t word);
/* A horizon ends the segment: how many segments may be recorded from here on as one round, or 0. Not asked for while
 * one is recorded. */
void ti_loop_end_segment(ti_loop *loop);
size_t ti_loop_round(ti_loop *loop);
/* Of who knows rounds by itself, without notes: one begins. Whether it may be recorded. */
bool ti_loop_begin_round(ti_loop *loop);
/* What comes is like nothing that has come: what is being recorded is of no use. */
void ti_loop_forget(ti_loop *loop);
/* A recorded round is not used any more, and another one is looked for. If it was of no use, that is recorded later. */
void ti_loop_give_up(ti_loop *loop, bool was_worth);
/* The latest round to be recorded has been repeated since, for so many segments, and nothing else has come: they are
 * segments like others, so that a longer round is found which this one is part of. */
void ti_loop_go_on(ti_loop *loop, uint64_t repeated);

#endif
