/* The order of events in the executor: which instruction was started and completed when. Off (NULL) costs a branch.
 *
 * For tests that state orders, and for drawing. Executor role; read after the run. */
#ifndef TI_TIMELINE_H
#define TI_TIMELINE_H

#include "base/vec.h"
#include "ir/instruction.h"

typedef struct ti_timeline_event {
    uint64_t ns;
    uint64_t instruction;
    ti_instruction_kind kind;
    bool complete; /* else: started */
    char task[32]; /* its name, cut */
} ti_timeline_event;

typedef struct ti_timeline {
    TI_VEC(ti_timeline_event) events;
} ti_timeline;

void ti_timeline_add(ti_timeline *timeline, const ti_instruction *instruction, bool complete);
void ti_timeline_fini(ti_timeline *timeline);

#endif
