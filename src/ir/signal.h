/* A flag that the application thread waits for: the value of a fence is there, initial data have been copied, or the
 * fence of a host object has run. Set with the executor role, or by the worker that runs a host object's fence. */
#ifndef TI_SIGNAL_H
#define TI_SIGNAL_H

#include <stdatomic.h>

typedef struct ti_signal {
    _Atomic int set;
} ti_signal;

#endif
