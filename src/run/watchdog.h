/* The watchdog: a node that makes no progress for long says what it waits for, and how far its neighbours are.
 *
 * It is looked after by the application thread, while that waits, with the executor role. */
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

#endif
