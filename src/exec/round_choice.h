/* Which kernels of a round are cut for all workers, and, as one more choice, whether the others are spread over them
 * (round_spread.h): what makes the round shorter.
 *
 * What a kernel takes does not say it: a part that another worker runs leaves data there, which the next kernels need
 * here, or there too. So rounds are measured, some with one choice for each kernel and some with another one, in turns.
 * What is better nearly every time is taken over, what is worse twice is given up; then the next other choice is tried:
 * all kernels cut, none, and each one by itself. After that nothing is tried for a while, longer each time that nothing
 * was gained. Executor role. */
#ifndef TI_ROUND_CHOICE_H
#define TI_ROUND_CHOICE_H

#include "base/vec.h"

enum { TI_ROUND_PAIRS = 5 };

typedef struct ti_round_choice {
    uint64_t kernel; /* what it is known by */
    bool is_cut;     /* now; on trial: `tries` */
    bool may_differ, tries;
} ti_round_choice;

typedef struct ti_round_choices {
    TI_VEC(ti_round_choice) choice;
    uint64_t size, left; /* rounds of a block, and of the one at hand */
    uint64_t begun;      /* on the clock: when that began; 0: it is not measured */
    uint64_t ns[2][TI_ROUND_PAIRS];
    uint32_t blocks; /* of the trial so far */
    size_t trial;    /* 0: nothing is tried; else 1 + which */
    bool gained;     /* since the first trial */
    bool rested;     /* long ones have been left as they are for a while */
    uint32_t fruitless;
} ti_round_choices; /* a zeroed one is fresh */

void ti_round_choices_fini(ti_round_choices *choices);
/* Before the kernels of another round are added: only those are tried. What is known of others is kept, if they are not
 * many. */
void ti_round_choices_clear(ti_round_choices *choices);
/* The number of the kernel's choice; what is known of it already holds. */
size_t ti_round_choices_add(ti_round_choices *choices, uint64_t kernel, bool is_cut, bool may_differ);
static inline bool ti_round_choices_cuts(const ti_round_choices *c, size_t i)
{
    return c->choice.data[i].tries != c->choice.data[i].is_cut;
}
/* Rounds are carried out from now on. */
void ti_round_choices_begin(ti_round_choices *choices);
/* A block has ended. */
void ti_round_choices_next(ti_round_choices *choices, uint64_t now);
/* A round begins: whether the clock is to be read, for ti_round_choices_next. */
static inline bool ti_round_choices_is_due(ti_round_choices *c)
{
    return c->left == 0 || (c->left--, false);
}

#endif
