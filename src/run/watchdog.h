/* The watchdog: a node that makes no progress for long says what it waits for, and how far its neighbours are; and it
 * names kernels that run for long.
 *
 * The application thread calls it while it waits, and the attendant (attendant.h) looks after kernels, too; both with
 * the executor role. */
#ifndef TI_WATCHDOG_H
#define TI_WATCHDOG_H

#include "exec/executor.h"
#include "run/agreement.h"

typedef struct ti_watchdog {
    int limit;                /* seconds; negative: never */
    uint64_t activity, since; /* of the executor when it was seen last to do something, and when */
} ti_watchdog;

/* Look whether anything has happened. `agreement` may be NULL; `tasks` were submitted so far. */
void ti_watchdog_look(ti_watchdog *dog, const ti_executor *executor, ti_agreement *agreement, uint64_t tasks);
/* Name each kernel that has run for the limit, then after twice the time. */
void ti_watchdog_look_at_kernels(const ti_watchdog *dog, ti_executor *executor, int node);

#endif
