/* A flag that the executor sets once and the application waits for: the value of a fence is there, initial data were
 * copied. */
#ifndef TI_SIGNAL_H
#define TI_SIGNAL_H

#include <stdatomic.h>

typedef struct ti_signal {
    _Atomic int set;
} ti_signal;

#endif
