/* Templates: the instruction for the kernel of a task that comes again, kept as long as its buffers' memory stays.
 *
 * Tasks of one shape whose chunk on this node is the same have kernels that differ in their id, their dependencies
 * and their arguments only. So the views are made once, and all these kernels point to them. A template is good until
 * memory of one of its buffers is allocated or freed. Then there is another one, and the old one stays until the tasks
 * that use it have been executed.
 *
 * There are none of tasks whose shape comes once, of reductions, of accesses in parts, of tasks with host objects, of
 * chunks that are cut, and on systems where a buffer may lie in several places. Part of the instruction graph; kernel.c
 * calls it. Scheduler thread. */
#ifndef TI_TEMPLATE_H
#define TI_TEMPLATE_H

#include "plan/instruction/graph.h"
#include "plan/memory/memory.h"

/* What it touches: first what it reads only. */
typedef struct ti_template_touch {
    ti_buffer_memory *memory;
    uint32_t slot; /* of the buffer */
    bool write;
    ti_box box;
} ti_template_touch;

/* Where an access finds its buffer, and by which instruction that was changed last. */
typedef struct ti_template_memory {
    ti_buffer_memory *is;
    uint64_t changed;
} ti_template_memory;

typedef struct ti_template {
    ti_instruction kernel; /* but for its task, id and dependencies */
    uint64_t changed;      /* the latest that `memory` says */
    uint64_t seen;         /* it was good after so many changes of allocations */
    uint64_t last_task;    /* that uses it */
    size_t bytes;
    uint32_t accesses, touches;
    ti_instruction_view *view; /* of each access, as is */
    ti_template_memory *memory;
    ti_template_touch *touch;
    ti_tracker_found *found; /* of each touch; NULL: trackers are told later */
} ti_template;

/* By the number of the shape. */
typedef struct ti_template_entry {
    uint64_t serial;      /* of the shape; 0: nothing is known */
    ti_template *current; /* NULL: its tasks have none */
} ti_template_entry;

typedef struct ti_templates {
    TI_VEC(ti_template_entry) entry;
    TI_VEC(ti_template *) retired; /* some of their tasks may not have been executed */
    uint64_t made;                 /* so far */
} ti_templates;

void ti_templates_fini(ti_templates *templates);
/* Tasks up to this one have been executed. */
void ti_templates_release(ti_templates *templates, uint64_t executed);

/* Whether an execution may have a template, as far as the command shows. */
bool ti_template_may_be(const ti_instruction_graph *graph, const ti_command *command);
/* The one that holds now; NULL: there is none, and if nothing is `known`, one may be made. */
ti_template *ti_template_find(ti_instruction_graph *graph, const ti_command *command, bool *known);
/* For a piece of the command on a device. NULL: it lacks memory, or there is none of such tasks. */
struct ti_device_piece;
ti_template *ti_template_make(ti_instruction_graph *graph, const ti_command *command, const struct ti_device_piece *at,
                              ti_instruction_kind kind);
/* The kernel of a task, whose dependencies are collected until ti_emit; and what the trackers say of them. */
ti_instruction *ti_template_start(ti_instruction_graph *graph, ti_template *t, const ti_task *task);
void ti_template_track(ti_instruction_graph *graph, const ti_template *t);

#endif
