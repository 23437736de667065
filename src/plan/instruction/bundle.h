/* Messages of several parts: what graph.c, window.c and cycle_step.c call of bundle.c. For impl.h only. */
#ifndef TI_INSTRUCTION_BUNDLE_H
#define TI_INSTRUCTION_BUNDLE_H

#include "ir/command.h"

struct ti_cycle_step;
struct ti_instruction_graph;

/* Memory of a part of a message, used last by `after`. */
typedef struct ti_unbundled {
    uint64_t allocation;
    size_t bytes;
    uint64_t after;
} ti_unbundled;

void ti_instruction_compile_part(struct ti_instruction_graph *graph, const ti_command *transfer);
/* A window has ended: the memory of its messages may be used again. */
void ti_instruction_give_unbundled(struct ti_instruction_graph *graph);
void ti_instruction_bundles_fini(struct ti_instruction_graph *graph);
/* How many instructions a part becomes: as many steps, of which this is the first one. */
size_t ti_instruction_part_instructions(const ti_command *transfer);
bool ti_instruction_part_is_same(const struct ti_instruction_graph *graph, const ti_command *transfer,
                                 const struct ti_cycle_step *step);
bool ti_instruction_part_has_memory(const struct ti_instruction_graph *graph, const ti_command *transfer);
void ti_instruction_repeat_part(struct ti_instruction_graph *graph, const ti_command *transfer,
                                const struct ti_cycle_step *step);

#endif
