/* Messages of several parts: the state of plan/stream/bundle.c. Included by impl.h only. Scheduler thread. */
#ifndef TI_INSTRUCTION_BUNDLE_H
#define TI_INSTRUCTION_BUNDLE_H

#include "ir/command.h"

/* Memory of a part of a message, used last by `after`. */
typedef struct ti_unbundled {
    uint64_t allocation;
    size_t bytes;
    uint64_t after;
} ti_unbundled;

#endif
