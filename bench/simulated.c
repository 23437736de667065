/* The programs of Table 3 of doi 10.1007/s10766-024-00767-y, and N-body, for simulated clusters: so many iterations of
 * one pattern on buffers of a given number of elements, whatever the number of nodes; and the broadcast of Figure 2 of
 * doi 10.1007/978-3-030-57675-2_28: node 0 writes, and all others read, by one placed task each ("tree"), or all by one
 * task ("collective"). Kernels do nothing: what they would take is said to the simulator. Started by
 * tools/figures/figures.py in dry runs. */
#include "tacit/tacit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    const char *name;
    bool square; /* as many elements in two dimensions */
    bool gives;  /* the first task writes what there is */
    void (*describe)(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2]);
} program;

static void nothing(const tacit_launch *launch)
{
    (void)launch;
}

static tacit_task task_of(const char *name, tacit_range range, tacit_access first, tacit_access second)
{
    return (tacit_task){ .name = name, .range = range, .kernel = { .host = nothing }, .access = { first, second } };
}

/* Two buffers in turns. */
static void in_turns(tacit_range range, tacit_mapper read, tacit_buffer *const buffer[2], tacit_task task[2])
{
    for (int i = 0; i < 2; i++) {
        task[i] = task_of("step", range, tacit_read(buffer[i], read), tacit_write(buffer[1 - i], tacit_one_to_one()));
    }
}

static void all_gather(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2])
{
    in_turns(range, tacit_all(), buffer, task);
}

static void all_to_all(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2])
{
    in_turns(range, tacit_transposed(1, 0, 2), buffer, task);
}

static void stencil(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2])
{
    in_turns(range, tacit_neighborhood(1, 1, 0), buffer, task);
}

static void gather_then(tacit_range range, tacit_mapper read, tacit_buffer *const buffer[2], tacit_task task[2])
{
    task[0] = task_of("gather", tacit_range1(1), tacit_read(buffer[0], tacit_all()),
                      tacit_write(buffer[1], tacit_fixed(TACIT_BOX_ALL)));
    task[1] = task_of("spread", range, tacit_read(buffer[1], read), tacit_write(buffer[0], tacit_one_to_one()));
}

static void gather_scatter(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2])
{
    gather_then(range, tacit_one_to_one(), buffer, task);
}

static void gather_broadcast(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2])
{
    gather_then(range, tacit_all(), buffer, task);
}

static void nbody(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2])
{
    task[0] = task_of("kick", range, tacit_read(buffer[0], tacit_all()), tacit_update(buffer[1], tacit_one_to_one()));
    task[1] = task_of("drift", range, tacit_read(buffer[1], tacit_one_to_one()),
                      tacit_update(buffer[0], tacit_one_to_one()));
}

static void give(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2])
{
    task[0] = task_of("give", tacit_range1(1), tacit_write(buffer[0], tacit_all()), (tacit_access){ 0 });
    task[0].place = tacit_place_node(0);
    task[1] = task_of("take", range, tacit_read(buffer[0], tacit_all()), (tacit_access){ 0 });
}

static void collective(tacit_range range, tacit_buffer *const buffer[2], tacit_task task[2])
{
    give(range, buffer, task);
    task[1].access[1] = tacit_write(buffer[1], tacit_one_to_one());
}

static const program programs[] = {
    { "all-gather", false, false, all_gather },
    { "all-to-all", true, false, all_to_all },
    { "collective", false, true, collective },
    { "gather-broadcast", false, false, gather_broadcast },
    { "gather-scatter", false, false, gather_scatter },
    { "nbody", false, false, nbody },
    { "stencil", true, false, stencil },
    { "tree", false, true, give },
};

static const program *find(const char *name)
{
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        if (strcmp(programs[i].name, name) == 0) {
            return &programs[i];
        }
    }
    return NULL;
}

static bool submit(tacit_context *ctx, const program *p, const tacit_task *task)
{
    tacit_task each = *task;
    if (p->describe != give || task->place.kind == TACIT_PLACE_NODE) {
        return tacit_submit(ctx, task) == TACIT_OK;
    }
    for (int node = 1; node < tacit_num_nodes(ctx); node++) {
        each.place = tacit_place_node(node);
        if (tacit_submit(ctx, &each) != TACIT_OK) {
            return false;
        }
    }
    return true;
}

static bool simulate(tacit_context *ctx, const program *p, size_t elements, size_t elem_size, long iterations)
{
    static const char contents[1]; /* never looked at: this is a dry run */
    static const char *const names[] = { "A", "B" };
    size_t side = (size_t)(sqrt((double)elements) + 0.5);
    tacit_range range = p->square ? tacit_range2(side, side) : tacit_range1(elements);
    tacit_buffer *buffer[2];
    tacit_task task[2];
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = names[i],
                                         .range = range,
                                         .elem_size = elem_size,
                                         .init = p->gives ? NULL : contents,
                                         .init_borrow = true };
        if (tacit_buffer_create(ctx, &desc, &buffer[i]) != TACIT_OK) {
            return false;
        }
    }
    p->describe(range, buffer, task);
    for (long i = 0; i < 2 * iterations; i++) {
        if (!submit(ctx, p, &task[i % 2])) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    const program *p = argc == 5 ? find(argv[1]) : NULL;
    long elements = p ? atol(argv[2]) : 0, elem_size = p ? atol(argv[3]) : 0, iterations = p ? atol(argv[4]) : 0;
    tacit_context *ctx;
    if (elements < 1 || elem_size < 1 || iterations < 1) {
        fprintf(stderr, "usage: tacit-simulated PATTERN ELEMENTS BYTES-OF-EACH ITERATIONS-OF-TWO-TASKS\n");
        return EXIT_FAILURE;
    }
    if (tacit_init(NULL, &ctx) != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        return EXIT_FAILURE;
    }
    if (!tacit_is_dry_run(ctx)) {
        fprintf(stderr, "tacit-simulated only runs dry: start it with `tacit simulate`\n");
        return EXIT_FAILURE;
    }
    if (!simulate(ctx, p, (size_t)elements, (size_t)elem_size, iterations) || tacit_finalize(ctx) != TACIT_OK) {
        fprintf(stderr, "%s\n", tacit_last_error(NULL));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
