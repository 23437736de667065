/* Whether other programs want the cores that this process runs on.
 *
 * A thread that yields to one of them waits for a whole time slice, and on new kernels for longer each time; one that
 * sleeps gets a core soon after it is woken. So threads that wait sleep at once for a while, when a yield took long and
 * the process got less processor time than its contexts may expect. Threads of this process do not count as others,
 * since the time that they use is the process's own; nor do nodes of the same run, each of which expects only its part
 * of the machine.
 *
 * Processor time is that of the whole process, and so is the answer. Any thread. */
#ifndef TI_CROWD_H
#define TI_CROWD_H

#include "base/macro.h"
#include "base/park.h"

/* A context comes or goes that may expect so many thousandths of a core. */
void ti_crowd_join(uint32_t share);
void ti_crowd_leave(uint32_t share);

/* A yield has taken long: look whether others had the cores. `now`: ti_clock_ns. */
void ti_crowd_look(uint64_t now);

/* crowd.c's. */
typedef struct ti_crowd {
    _Atomic uint64_t until;    /* on the clock */
    _Atomic uint32_t expected; /* thousandths of a core, by all contexts */
    ti_lock looking;           /* who has it may use what follows: when somebody looked last, and had used how much */
    uint64_t looked, used;
} ti_crowd;
extern ti_crowd ti_crowd_of_process;

static inline bool ti_crowd_is_there(uint64_t now)
{
    return now < atomic_load_explicit(&ti_crowd_of_process.until, memory_order_relaxed);
}

#endif
