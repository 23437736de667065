/* Which of two numbers of parts is better for a kernel that comes again and again: both are tried in turns.
 *
 * What a kernel itself takes does not say it: its parts leave data on other cores, which the kernels that come next
 * have to fetch, and other workers could run something else. So what counts is how often the kernel comes by, from the
 * end of one launch to that of another one, whatever happens in between. A turn begins with launches that do not count:
 * they bring data to the cores where it is needed in that turn. A thread may lose its core in one of the turns, so one
 * pair of them may say otherwise; two end the trial.
 *
 * `ti_trial_next` and `ti_trial_drop` are called by one thread at a time, `ti_trial_note` by any. */
#ifndef TI_TRIAL_H
#define TI_TRIAL_H

#include "base/macro.h"

#include <stdatomic.h>

enum { TI_TRIAL_SETTLES = 16, TI_TRIAL_COUNTS = 32, TI_TRIAL_TURNS = 5 }; /* launches; turns of each of the two */
enum { TI_TRIAL_LAUNCHES = 2 * TI_TRIAL_TURNS * (TI_TRIAL_SETTLES + TI_TRIAL_COUNTS) };

/* Zeroed: none has begun. */
typedef struct ti_trial {
    int parts[2];          /* as now, and the other number */
    uint32_t next;         /* launch */
    uint32_t pairs, gains; /* turns that were compared; pairs in which the other number was better by a twentieth */
    /* When the first and the last launch that count of each turn had ended; 0: not yet. Those of trials before are told
     * apart by `number`. */
    _Atomic uint32_t number;
    _Atomic uint64_t end[2 * TI_TRIAL_TURNS][2];
} ti_trial;

void ti_trial_begin(ti_trial *trial, int now, int other);
/* The number of parts of the next launch. *mark: 0, or to be noted when it has ended. */
int ti_trial_next(ti_trial *trial, uint32_t *mark);
/* The last one was not launched after all. Those without a mark make no difference. */
void ti_trial_drop(ti_trial *trial, uint32_t mark);
/* The launch with this mark has ended, so late on the clock. */
void ti_trial_note(ti_trial *trial, uint32_t mark, uint64_t now);
/* Whether it is known which number is better; then that number. By the caller of ti_trial_next. */
bool ti_trial_has_ended(ti_trial *trial);
int ti_trial_better(const ti_trial *trial);

#endif
