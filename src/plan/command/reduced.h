/* What is known of a buffer's latest reduction: where its result went, and who reads it. All zero: there was none. For
 * cycle.h and impl.h only. Scheduler thread. */
#ifndef TI_COMMAND_REDUCED_H
#define TI_COMMAND_REDUCED_H

#include "ir/collective.h"

/* Who reads what a reduction leaves, as far as it shows. */
typedef struct ti_readers {
    enum { TI_READERS_NONE, TI_READERS_NODE, TI_READERS_ALL, TI_READERS_OTHER } kind;
    int node;
} ti_readers;

typedef struct ti_reduced {
    uint64_t task;          /* the latest reduction, or 0 */
    int a, b;               /* nodes that its result came to */
    ti_pattern untold;      /* how, if by a collective, until it has been reported */
    ti_readers seen, usual; /* since the latest reduction; before it */
} ti_reduced;

#endif
