/* How long accelerators are busy with kernels that somebody measures, and how many items these have.
 *
 * Their drivers run several kernels of a device at a time, so a device counts as busy from the launch of one until all
 * have been seen to end; then time and items are reported (`done`). A launch that takes long, because a kernel is
 * compiled, keeps the executor from seeing others end: what was under way then is not reported. Executor role; the
 * times are the caller's. */
#ifndef TI_BUSY_H
#define TI_BUSY_H

#include "ir/system.h"

enum { TI_BUSY_LONG_LAUNCH = 1000 * 1000 }; /* ns */

typedef struct ti_busy_device {
    int running;
    bool spoilt;
    uint64_t since, items;
} ti_busy_device;

typedef struct ti_busy {
    void *user;
    void (*done)(void *user, int device, uint64_t items, uint64_t ns);
    ti_busy_device device[TI_MAX_MEMORIES];
} ti_busy;

/* A launch has lasted from `before` to `now`; of a kernel that counts, with so many items, if `items` is not 0. */
void ti_busy_launched(ti_busy *busy, int device, uint64_t items, uint64_t before, uint64_t now);
/* A kernel that counts has ended. */
void ti_busy_ended(ti_busy *busy, int device, uint64_t now);

#endif
