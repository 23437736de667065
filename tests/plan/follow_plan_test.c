/* Instructions of one node, with devices and memories of some kinds: in random programs, whatever touches the same
 * memory, one of them writing, has a path from the first to the second. Alone, a node's dependencies come from those of
 * tasks where nothing else has a say. As one of several, sends of the same contents wait for less than a horizon that
 * has passed (sent.h). Loops whose instructions are not derived again (cycle.h) have the places and the dependencies
 * that they would have, and the forwards. Nothing is executed. */
#include "effort.h"
#include "loops.h"
#include "lower.h"
#include "plan/command/graph.h"
#include "plan/instruction/graph.h"
#include "plan/task/graph.h"

/* cmocka.h wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8192, WORDS = MOST / 64 };

static uint64_t tiles; /* in all programs so far */

typedef struct touch {
    uint64_t instruction, allocation;
    ti_box box;
    bool write;
} touch;

/* Of each task: its forwards. Of each instruction: its kind, what it waits for but horizons and epochs, in order,
 * UINT64_MAX. */
typedef TI_VEC(uint64_t) run_log;

typedef struct run {
    ti_system system;
    lowering lowering;
    ti_task_graph *tasks;
    ti_command_graph *commands;
    ti_instruction_graph *graph;
    TI_VEC(touch) touches;
    uint64_t (*before)[WORDS]; /* per instruction: those that it follows */
    uint64_t count, compared;
    ti_boxes boxes;
    bool of_buffer[MOST];                /* by allocation */
    bool bundled[MOST];                  /* memory of parts of messages: copied to or from, and of no buffer */
    uint64_t bundles;                    /* messages of such */
    ti_box whole[MOST];                  /* of each that is there */
    TI_VEC(const ti_instruction *) made; /* by the number of their views: the first kernel */
    uint64_t again;                      /* kernels that have the views of an earlier one */
    uint64_t collectives;
    uint64_t point, applied; /* the latest horizon or epoch, and the one before if that is a horizon */
    uint64_t early;          /* sends that wait for less than the applied one */
    uint64_t implied;        /* waits that follow from others */
    run_log log;
    bool is_point[MOST]; /* by instruction */
    bool one_by_one;
} run;

static void add_touch(run *r, const ti_instruction *i, uint64_t allocation, const ti_box *box, bool write)
{
    touch t = { i->id, allocation, *box, write };
    if (allocation && !ti_box_is_empty(box)) {
        ti_vec_push(&r->touches, t);
    }
}

static uint64_t allocation_of(const ti_instruction_view *view, const ti_box *box)
{
    for (uint32_t p = 0; p < view->parts; p++) {
        if (ti_box_covers(&view->part[p].box, box)) {
            return view->part[p].place.allocation;
        }
    }
    return view->place.allocation;
}

/* The views lie in allocations that are there, and are those of all kernels with the same number. */
static void check_views(run *r, const ti_instruction *i)
{
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        const ti_instruction_view *view = &i->as.kernel.view[v];
        if (view->place.allocation && view->mode != TACIT_REDUCE) {
            assert_true(ti_box_equal(&view->place.whole, &r->whole[view->place.allocation]));
            assert_true(ti_box_covers(&view->place.whole, &view->box));
        }
    }
    while (r->made.count <= i->as.kernel.made) {
        ti_vec_push(&r->made, NULL);
    }
    const ti_instruction *first = r->made.data[i->as.kernel.made];
    if (i->as.kernel.made && first) {
        r->again++;
        assert_true(ti_box_equal(&first->as.kernel.chunk, &i->as.kernel.chunk) && first->task->shape == i->task->shape);
        assert_true(first->priority == i->priority && first->device == i->device);
        for (uint32_t v = 0; v < i->as.kernel.views; v++) {
            assert_memory_equal(&first->as.kernel.view[v], &i->as.kernel.view[v], sizeof(i->as.kernel.view[v]));
        }
    }
    r->made.data[i->as.kernel.made] = i;
}

static void touch_kernel(run *r, const ti_instruction *i)
{
    check_views(r, i);
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        const ti_access *access = &i->task->shape->access[v];
        if (access->mode == TACIT_REDUCE) {
            continue;
        }
        ti_vec_clear(&r->boxes);
        ti_access_image(access, &i->as.kernel.chunk, &r->boxes);
        for (size_t k = 0; k < r->boxes.count; k++) {
            add_touch(r, i, allocation_of(&i->as.kernel.view[v], &r->boxes.data[k]), &r->boxes.data[k],
                      ti_access_writes(access));
        }
    }
}

/* Memory that is of no buffer is touched as a whole. */
static const ti_box whole_slot = { { 0, 0, 0 }, { 1, 1, 1 } };

static void touch_message(run *r, const ti_instruction *i)
{
    for (uint32_t b = 0; b < i->as.transfer.boxes; b++) {
        const ti_instruction_box *at = &i->as.transfer.box[b];
        const bool of_buffer = r->of_buffer[at->place.allocation];
        add_touch(r, i, at->place.allocation, of_buffer ? &at->box : &whole_slot, i->kind == TI_INSTRUCTION_RECEIVE);
    }
    r->early += i->kind == TI_INSTRUCTION_SEND && i->deps == 1 && i->dep[0] < r->applied;
}

/* Of a reduction what it gets; it gives partial results. */
static void touch_collective(run *r, const ti_instruction *i)
{
    for (uint32_t b = 0; b < i->as.collective.gives + i->as.collective.gets; b++) {
        const bool write = b >= i->as.collective.gives;
        const ti_box *box = write ? &i->as.collective.get[b - i->as.collective.gives] : &i->as.collective.give[b];
        uint64_t allocation = 0;
        for (uint32_t k = 0; k < i->as.collective.places; k++) {
            const ti_instruction_box *place = &i->as.collective.place[k];
            allocation = ti_box_covers(&place->box, box) ? place->place.allocation : allocation;
        }
        const bool reduces = i->as.collective.what->pattern == TI_PATTERN_ALL_REDUCE ||
                             i->as.collective.what->pattern == TI_PATTERN_REDUCE;
        add_touch(r, i, r->of_buffer[allocation] && (write || !reduces) ? allocation : 0, box, write);
        r->collectives++;
    }
}

/* Between buffers and memory of parts of messages, or between slots of partial results. */
static void touch_copied(run *r, const ti_instruction *i, const ti_place *place, bool write)
{
    const bool of_buffers = r->of_buffer[i->as.copy.from.allocation] || r->of_buffer[i->as.copy.to.allocation];
    if (!place->user) {
        const bool of_buffer = r->of_buffer[place->allocation];
        r->bundled[place->allocation] |= of_buffers && !of_buffer;
        add_touch(r, i, place->allocation, of_buffer ? &i->as.copy.box : &whole_slot, write);
    }
}

static void touch_all(run *r, const ti_instruction *i)
{
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
        add_touch(r, i, i->as.memory.grown, &i->as.memory.grown_box, true);
        r->whole[i->as.memory.grown] = (ti_box){ { 0 }, { 0 } };
        add_touch(r, i, i->as.memory.buffer ? i->as.memory.allocation : 0, &i->as.memory.box, true);
        assert_true(i->as.memory.allocation < MOST);
        r->of_buffer[i->as.memory.allocation] = i->as.memory.buffer != NULL;
        r->whole[i->as.memory.allocation] = i->as.memory.box;
        break;
    case TI_INSTRUCTION_FREE:
        r->whole[i->as.memory.allocation] = (ti_box){ { 0 }, { 0 } };
        add_touch(r, i, i->as.memory.buffer ? i->as.memory.allocation : 0, &i->as.memory.box, true);
        break;
    case TI_INSTRUCTION_COPY:
        touch_copied(r, i, &i->as.copy.from, false);
        touch_copied(r, i, &i->as.copy.to, true);
        break;
    case TI_INSTRUCTION_KERNEL:
    case TI_INSTRUCTION_HOST:
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        touch_kernel(r, i);
        break;
    case TI_INSTRUCTION_REDUCE:
        add_touch(r, i, i->as.reduce.is_root ? i->as.reduce.to.allocation : 0, &i->as.reduce.box, true);
        break;
    case TI_INSTRUCTION_SEND:
    case TI_INSTRUCTION_RECEIVE:
        touch_message(r, i);
        break;
    case TI_INSTRUCTION_COLLECTIVE:
        touch_collective(r, i);
        break;
    case TI_INSTRUCTION_FENCE:
    case TI_INSTRUCTION_EPOCH:
        break;
    }
}

/* A horizon or epoch follows everything before it. */
static void note_order(run *r, const ti_instruction *i)
{
    assert_int_equal(i->id, ++r->count);
    assert_true(i->id < MOST);
    uint64_t *mine = r->before[i->id];
    if (i->kind == TI_INSTRUCTION_EPOCH) {
        r->applied = i->as.epoch.is_horizon ? r->point : i->id;
        r->point = i->id;
        for (uint64_t id = 1; id < i->id; id++) {
            mine[id / 64] |= (uint64_t)1 << id % 64;
        }
    }
    for (uint32_t d = 0; d < i->deps; d++) {
        const uint64_t *its = r->before[i->dep[d]];
        assert_true(i->dep[d] < i->id);
        mine[i->dep[d] / 64] |= (uint64_t)1 << i->dep[d] % 64;
        for (int w = 0; w < WORDS; w++) {
            mine[w] |= its[w];
        }
    }
}

/* Whether others that it waits for wait for this one: cycles drop such. */
static bool is_implied(const run *r, const ti_instruction *i, uint64_t id)
{
    bool is = false;
    for (uint32_t d = 0; d < i->deps && !is; d++) {
        is = r->before[i->dep[d]][id / 64] >> id % 64 & 1;
    }
    return is;
}

static void log_dependencies(run *r, const ti_instruction *i)
{
    r->is_point[i->id] = i->kind == TI_INSTRUCTION_EPOCH;
    for (uint32_t d = 0; d < i->deps; d++) {
        r->implied += is_implied(r, i, i->dep[d]);
    }
    ti_vec_push(&r->log, (uint64_t)i->kind);
    for (uint64_t last = 0, next; last < UINT64_MAX; last = next) {
        next = UINT64_MAX;
        for (uint32_t d = 0; d < i->deps; d++) {
            const bool counts = i->dep[d] > last && !r->is_point[i->dep[d]] && !is_implied(r, i, i->dep[d]);
            next = counts ? TI_MIN(next, i->dep[d]) : next;
        }
        ti_vec_push(&r->log, next);
    }
}

static void log_box(run *r, const ti_box *box)
{
    const int64_t *at = box->min, *end = box->max;
    ti_vec_push(&r->log, (uint64_t)(at[0] << 16 ^ at[1] << 8 ^ at[2] ^ end[0] << 40 ^ end[1] << 32 ^ end[2] << 24));
}

static void log_kernel(run *r, const ti_instruction *i)
{
    log_box(r, &i->as.kernel.chunk);
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        ti_vec_push(&r->log, ti_instruction_allocation(i, v));
        log_box(r, &i->as.kernel.view[v].box);
    }
}

static bool is_message(const ti_instruction *i)
{
    return i->kind == TI_INSTRUCTION_SEND || i->kind == TI_INSTRUCTION_RECEIVE;
}

/* Where it happens. Memory of partial results and of parts of messages is taken in turn. */
static void log_places(run *r, const ti_instruction *i)
{
    ti_vec_push(&r->log, (uint64_t)i->device);
    if (i->kind == TI_INSTRUCTION_COPY) {
        ti_vec_push(&r->log, i->as.copy.from.allocation);
        ti_vec_push(&r->log, i->as.copy.to.allocation);
        log_box(r, &i->as.copy.box);
    } else if (i->kind == TI_INSTRUCTION_KERNEL || i->kind == TI_INSTRUCTION_HOST) {
        log_kernel(r, i);
    }
    for (uint32_t b = 0; is_message(i) && b < i->as.transfer.boxes; b++) {
        ti_vec_push(&r->log, i->as.transfer.box[b].place.allocation);
        log_box(r, &i->as.transfer.box[b].box);
    }
}

static void see(run *r, ti_instruction_batch batch)
{
    for (size_t i = 0; i < batch.count; i++) {
        note_order(r, batch.instruction[i]);
        log_places(r, batch.instruction[i]);
        log_dependencies(r, batch.instruction[i]);
        touch_all(r, batch.instruction[i]);
    }
}

static void log_forwards(run *r, const ti_task *task)
{
    for (uint32_t i = 0; i < task->forwards; i++) {
        const ti_forward *f = &task->forward[i];
        ti_vec_push(&r->log, f->producer << 33 | (uint64_t)f->whole << 32 | f->buffer->slot);
        for (uint32_t b = 0; b < f->boxes; b++) {
            log_box(r, &f->box[b]);
        }
    }
}

/* Whatever waits for memory keeps back all of its batch, and what a cycle knows is not in it. So where instructions are
 * compared, batches are of one command each, and of the reductions that follow it. */
static void take_commands(run *r, ti_command_batch commands)
{
    for (size_t at = 0, end; at < commands.count; at = end) {
        const ti_command *const *command = commands.command;
        end = at + 1;
        while (end < commands.count && (!r->one_by_one || command[end]->kind == TI_COMMAND_REDUCE)) {
            end++;
        }
        const ti_command_batch part = { .command = command + at, .count = end - at };
        see(r, ti_instruction_graph_add(r->graph, part));
    }
}

static void take_step(run *r, const gen_step *step)
{
    const ti_task *out[TI_TASK_GRAPH_BATCH];
    lower_begin(&r->lowering, step);
    size_t count = ti_task_graph_add(r->tasks, lower_step(&r->lowering, step, r->tasks), out);
    for (size_t t = 0; t < count; t++) {
        log_forwards(r, out[t]);
        take_commands(r, ti_command_graph_add(r->commands, &out[t], 1));
    }
    lower_end(&r->lowering, step);
}

static void check_order(run *r, uint64_t seed)
{
    for (size_t a = 0; a < r->touches.count; a++) {
        const touch *x = &r->touches.data[a];
        if (!r->of_buffer[x->allocation] && !r->bundled[x->allocation]) {
            continue; /* partial results */
        }
        r->bundles += r->bundled[x->allocation];
        for (size_t b = a + 1; b < r->touches.count; b++) {
            const touch *y = &r->touches.data[b];
            if (x->allocation != y->allocation || x->instruction == y->instruction || !(x->write || y->write) ||
                !ti_box_meets(&x->box, &y->box)) {
                continue;
            }
            r->compared++;
            if (!(r->before[y->instruction][x->instruction / 64] >> x->instruction % 64 & 1)) {
                fail_msg("seed %llu: instruction %llu does not follow %llu", (unsigned long long)seed,
                         (unsigned long long)y->instruction, (unsigned long long)x->instruction);
            }
        }
    }
}

typedef struct settings {
    int64_t horizon_step;
    int lookahead;
    bool shapes;   /* tasks are known when they come again */
    uint64_t tile; /* bytes that a tile of a window of pure tasks touches; 0: there are no windows */
    bool derive;   /* ti_system.derive_always */
    int collectives;
    int window; /* pure tasks of a window without tiles; 0: there are none */
    bool staged;
    int node;
    int devices;                                  /* of the node */
    enum { SHARED, DISCRETE, ACCELERATED } where; /* what is not the only one: which memory they have */
} settings;

/* What they compute in. Accelerators are one device less, and the host computes what they have no kernels for. */
static void choose_devices(ti_system *system, const settings *s)
{
    system->devices = s->devices;
    system->accelerators = s->where == ACCELERATED ? s->devices - 1 : 0;
    system->accelerator = system->accelerators ? TI_CUDA : 0;
    system->idle_host = system->accelerators > 0;
    system->sharing = s->where == DISCRETE ? 0 : s->devices - system->accelerators;
    system->memories = 1 + system->accelerators + (s->where == DISCRETE ? s->devices : 0);
}

static int random_devices(gen_rng *rng)
{
    return gen_chance(rng, 50) ? 1 : (int)gen_between(rng, 1, 4);
}

/* What has been seen of several programs. */
typedef struct counts {
    uint64_t early, again, repeated, collectives, bundles, implied;
    uint64_t tasks[2];   /* repeated: of one node alone, and of several */
    uint64_t planned[2]; /* the same by the command graph */
    run_log log;         /* of the latest program */
} counts;

static uint64_t run_program(const gen_program *program, const settings *s, bool one_by_one, counts *seen)
{
    run r = { .system = { .node = s->node,
                          .num_nodes = program->nodes,
                          .local_nodes = 1,
                          .workers = 2,
                          .total_workers = 2,
                          .horizon_step = s->horizon_step,
                          .horizon_front = 64,
                          .lookahead = s->lookahead,
                          .derive_always = s->derive,
                          .collectives = s->collectives,
                          .latency_tasks = s->tile ? 5 : s->window,
                          .latency_staged = s->staged,
                          .latency_horizons = 4,
                          .latency_tiles = s->tile > 0,
                          .tile_bytes = s->tile } };
    r.one_by_one = one_by_one;
    choose_devices(&r.system, s);
    lower_init(&r.lowering, program);
    r.lowering.accelerators = r.system.accelerators > 0;
    r.lowering.shapes = s->shapes;
    r.before = ti_alloc_zero(MOST * sizeof(*r.before));
    r.tasks = ti_task_graph_create(&r.system);
    r.commands = ti_command_graph_create(&r.system);
    r.graph = ti_instruction_graph_create(&r.system);
    for (size_t i = 0; i < program->step.count; i++) {
        take_step(&r, &program->step.data[i]);
    }
    see(&r, ti_instruction_graph_close(r.graph));
    check_order(&r, program->seed);
    tiles += ti_instruction_graph_counts(r.graph).tiles;
    seen->repeated += ti_instruction_graph_counts(r.graph).repeated;
    seen->tasks[program->nodes > 1] += ti_task_graph_repeated(r.tasks);
    seen->planned[program->nodes > 1] += ti_command_graph_counts(r.commands).repeated;
    ti_vec_fini(&seen->log);
    seen->log = r.log;
    ti_instruction_graph_destroy(r.graph);
    ti_command_graph_destroy(r.commands);
    ti_task_graph_destroy(r.tasks);
    lower_fini(&r.lowering);
    ti_vec_fini(&r.touches);
    ti_vec_fini(&r.boxes);
    ti_vec_fini(&r.made);
    ti_free(r.before, MOST * sizeof(*r.before));
    seen->early += r.early;
    seen->again += r.again;
    seen->collectives += r.collectives;
    seen->bundles += r.bundles;
    seen->implied += r.implied;
    return r.compared;
}

static void what_touches_the_same_is_ordered(void **state)
{
    (void)state;
    static const int64_t steps[] = { 1, 2, 4, 16, INT64_MAX };
    uint64_t compared[2] = { 0 };
    counts seen = { 0 };
    for (uint64_t seed = 1; seed <= EFFORT(3000, 300); seed++) {
        gen_rng rng = { gen_mix(seed) };
        bool alone = seed % 2;
        gen_program *program = gen_create(&(gen_options){ .seed = seed, .nodes = alone ? 1 : 5, .steps = 40 });
        settings s = { steps[gen_between(&rng, 0, 4)],
                       gen_chance(&rng, 50) ? 0 : 4,
                       gen_chance(&rng, 60),
                       gen_chance(&rng, 50) ? (uint64_t)gen_between(&rng, 1, 300) : 0,
                       false,
                       0,
                       (int)gen_between(&rng, 0, 8),
                       gen_chance(&rng, 30),
                       0,
                       random_devices(&rng),
                       (int)gen_between(&rng, SHARED, ACCELERATED) };
        compared[alone] += run_program(program, &s, false, &seen);
        gen_destroy(program);
    }
    printf("%llu and %llu pairs, %llu tiles, %llu early sends, %llu kernels by templates, %llu uses of bundles\n",
           (unsigned long long)compared[1], (unsigned long long)compared[0], (unsigned long long)tiles,
           (unsigned long long)seen.early, (unsigned long long)seen.again, (unsigned long long)seen.bundles);
    ti_vec_fini(&seen.log);
    assert_true(compared[0] > EFFORT(100000, 10000) && compared[1] > EFFORT(500000, 50000) && seen.early > 0);
    assert_true(seen.again > EFFORT(5000, 500) && tiles > EFFORT(100, 10));
}

/* ---- loops */

/* Waits for horizons are judged by what they do (check_order): a tracker that has been described has forgotten sooner
 * what lies below one, so that less waits for it. */
static void compare_logs(uint64_t seed, const run_log *a, const run_log *b)
{
    size_t at = 0, id = 1;
    while (at < a->count && at < b->count && a->data[at] == b->data[at]) {
        id += a->data[at++] == UINT64_MAX;
    }
    if (at < a->count || at < b->count) {
        fail_msg("seed %llu: instruction %zu waits for %lld, if derived for %lld", (unsigned long long)seed, id,
                 at < a->count ? (long long)a->data[at] : 0, at < b->count ? (long long)b->data[at] : 0);
    }
}

static void loops_are_as_if_derived(void **state)
{
    (void)state;
    static const int64_t steps[] = { 1, 2, 4, 4, 4, 7 };
    uint64_t compared = 0;
    counts seen = { 0 }, derived = { 0 };
    for (uint64_t seed = 1; seed <= EFFORT(450, 90); seed++) {
        gen_rng rng = { gen_mix(seed) };
        gen_program *program = gen_create(&(gen_options){ .seed = seed, .nodes = 1 + (int)(seed % 6), .steps = 20 });
        loops_append(program, &rng, 12);
        settings s = { steps[gen_between(&rng, 0, 5)],
                       gen_chance(&rng, 50) ? 0 : 4,
                       true,
                       0,
                       false,
                       seed % 3 ? TI_COLLECTIVES_LOOKAHEAD : TI_COLLECTIVES_OFF,
                       gen_chance(&rng, 50) ? (int)gen_between(&rng, 2, 8) : 0,
                       gen_chance(&rng, 30),
                       (int)gen_between(&rng, 0, program->nodes - 1),
                       random_devices(&rng),
                       (int)gen_between(&rng, SHARED, ACCELERATED) };
        compared += run_program(program, &s, false, &seen);
        run_program(program, &s, true, &seen);
        s.derive = true;
        s.shapes = false;
        run_program(program, &s, true, &derived);
        compare_logs(seed, &seen.log, &derived.log);
        gen_destroy(program);
    }
    printf("%llu pairs, %llu and %llu tasks, %llu and %llu of them by the command graph, %llu instructions repeated, "
           "%llu parts of collectives, %llu uses of bundles, %llu waits that others imply, if derived %llu\n",
           (unsigned long long)compared, (unsigned long long)seen.tasks[0], (unsigned long long)seen.tasks[1],
           (unsigned long long)seen.planned[0], (unsigned long long)seen.planned[1], (unsigned long long)seen.repeated,
           (unsigned long long)seen.collectives, (unsigned long long)seen.bundles, (unsigned long long)seen.implied,
           (unsigned long long)derived.implied);
    assert_true(compared > EFFORT(1000000, 200000) && seen.repeated > EFFORT(40000, 8000) && derived.repeated == 0);
    assert_true(seen.tasks[0] > EFFORT(1000, 200) && seen.tasks[1] > EFFORT(1000, 200) &&
                derived.tasks[0] + derived.tasks[1] == 0);
    assert_true(seen.planned[0] > EFFORT(500, 100) && seen.planned[1] > EFFORT(500, 100) &&
                derived.planned[0] + derived.planned[1] == 0);
    assert_true(10 * seen.implied < 9 * 2 * derived.implied); /* of two runs, half of whose instructions are repeated */
    ti_vec_fini(&seen.log);
    ti_vec_fini(&derived.log);
}

/* ---- loops of windows */

enum { FIELDS = 3, STEPS_OF_WINDOWS = 6 };

/* A step reads the neighbours of one field, and perhaps of another, and changes a third, perhaps in place. */
static gen_task random_step(gen_rng *rng, int64_t size)
{
    const int to = (int)gen_between(rng, 0, FIELDS - 1), from = (to + 1) % FIELDS;
    gen_task task = { .range = tacit_range1((size_t)size), .accesses = 2, .place = -1, .pure = true };
    task.access[0] = (gen_access){ .buffer = from,
                                   .mode = TACIT_READ,
                                   .mapper = tacit_neighborhood((size_t)gen_between(rng, 0, 2), 0, 0) };
    task.access[1] = (gen_access){ .buffer = to,
                                   .mode = gen_chance(rng, 40) ? TACIT_UPDATE : TACIT_WRITE,
                                   .mapper = tacit_one_to_one() };
    if (gen_chance(rng, 40)) {
        task.access[task.accesses++] =
            (gen_access){ .buffer = (to + 2) % FIELDS,
                          .mode = TACIT_READ,
                          .mapper = tacit_neighborhood((size_t)gen_between(rng, 0, 1), 0, 0) };
    }
    return task;
}

/* Two loops of steps of fields whose elements have different sizes, and something else between them. */
static gen_program *windows_program(uint64_t seed, int devices, gen_rng *rng)
{
    static const size_t sizes[] = { 8, 4, 8, 16 };
    gen_program *program = TI_NEW(gen_program);
    const int64_t size = gen_between(rng, 60, 200);
    program->seed = seed;
    program->nodes = (int)gen_between(rng, 2, 5);
    for (int f = 0; f < FIELDS; f++) {
        ti_vec_push(&program->buffer,
                    ((gen_buffer){ .range = tacit_range1((size_t)size), .elem_size = sizes[gen_between(rng, 0, 3)] }));
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_CREATE, .index = f }));
        gen_task first = { .range = tacit_range1((size_t)size), .accesses = 1, .place = -1 };
        first.access[0] = (gen_access){ .buffer = f, .mode = TACIT_WRITE, .mapper = tacit_one_to_one() };
        ti_vec_push(&program->task, first);
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = f }));
    }
    for (int t = 0; t < STEPS_OF_WINDOWS; t++) {
        ti_vec_push(&program->task, random_step(rng, size));
    }
    for (int loop = 0; loop < 2; loop++) {
        const int first = FIELDS + (int)gen_between(rng, 0, 2), length = (int)gen_between(rng, 1, 4);
        const int steps = (int)gen_between(rng, 60, 160) / (devices > 2 ? 2 : 1);
        for (int i = 0; i < steps; i++) {
            ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = first + i % length }));
        }
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = (int)gen_between(rng, 0, FIELDS - 1) }));
    }
    return program;
}

static void windows_are_as_if_derived(void **state)
{
    (void)state;
    static const int64_t steps[] = { 1, 2, 4, 4, 8 };
    counts seen[2] = { { 0 }, { 0 } }, derived = { 0 };
    for (uint64_t seed = 1; seed <= EFFORT(200, 50); seed++) {
        gen_rng rng = { gen_mix(seed ^ 0x51de) };
        const int devices = random_devices(&rng);
        gen_program *program = windows_program(seed, devices, &rng);
        const bool staged = seed % 3 > 0;
        settings s = { steps[gen_between(&rng, 0, 4)],
                       gen_chance(&rng, 50) ? 0 : 4,
                       true,
                       0,
                       false,
                       seed % 2 ? TI_COLLECTIVES_LOOKAHEAD : TI_COLLECTIVES_OFF,
                       (int)gen_between(&rng, 2, 8),
                       staged,
                       (int)gen_between(&rng, 0, program->nodes - 1),
                       devices,
                       (int)gen_between(&rng, SHARED, ACCELERATED) };
        run_program(program, &s, false, &seen[staged]);
        run_program(program, &s, true, &seen[staged]);
        s.derive = true;
        s.shapes = false;
        run_program(program, &s, true, &derived);
        compare_logs(seed, &seen[staged].log, &derived.log);
        gen_destroy(program);
    }
    printf("%llu and %llu instructions repeated, %llu uses of bundles\n", (unsigned long long)seen[0].repeated,
           (unsigned long long)seen[1].repeated, (unsigned long long)seen[1].bundles);
    const uint64_t few = EFFORT(10000, 2500);
    assert_true(seen[0].repeated > few && seen[1].repeated > few && seen[1].bundles > few);
    ti_vec_fini(&seen[0].log);
    ti_vec_fini(&seen[1].log);
    ti_vec_fini(&derived.log);
}

/* ---- loops that look at a sum now and then */

/* Sweeps to and fro between two fields, then a reduction, and a fence of its result. */
static gen_program *sweeps_program(uint64_t seed, gen_rng *rng)
{
    enum { FROM, TO, SUM };
    const tacit_range rows = tacit_range1((size_t)gen_between(rng, 20, 200));
    gen_program *program = TI_NEW(gen_program);
    program->seed = seed;
    program->nodes = (int)gen_between(rng, 1, 5);
    for (int b = FROM; b <= SUM; b++) {
        ti_vec_push(&program->buffer, ((gen_buffer){ .range = b == SUM ? tacit_range1(1) : rows,
                                                     .elem_size = 8,
                                                     .initialised = true,
                                                     .type = b == SUM ? TACIT_INT64 : 0 }));
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_CREATE, .index = b }));
        gen_task task = { .range = rows, .accesses = 2, .place = -1 };
        task.access[0] = (gen_access){ .buffer = b == TO ? TO : FROM,
                                       .mode = TACIT_READ,
                                       .mapper = tacit_neighborhood((size_t)gen_between(rng, 0, 1), 0, 0) };
        task.access[1] =
            (gen_access){ .buffer = b == TO ? FROM : TO, .mode = TACIT_WRITE, .mapper = tacit_one_to_one() };
        if (b == SUM) {
            task.access[1] = (gen_access){
                .buffer = SUM, .mode = TACIT_REDUCE, .mapper = tacit_all(), .op = tacit_sum(TACIT_INT64)
            };
        }
        ti_vec_push(&program->task, task);
    }
    const int sweeps = 2 * (int)gen_between(rng, 0, 15), rounds = 40 + 400 / (sweeps + 1);
    for (int i = 0; i < rounds; i++) {
        for (int s = 0; s < sweeps; s++) {
            ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = s % 2 }));
        }
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = SUM }));
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_FENCE, .index = SUM, .box = { .max = { 1, 1, 1 } } }));
    }
    return program;
}

/* Most of what they become is not derived again, however rare reductions are. */
static void rare_reductions_repeat(void **state)
{
    (void)state;
    counts derived = { 0 };
    for (uint64_t seed = 1; seed <= EFFORT(60, 20); seed++) {
        gen_rng rng = { gen_mix(seed ^ 0x5eed) };
        gen_program *program = sweeps_program(seed, &rng);
        settings s = { .horizon_step = 4,
                       .lookahead = 4,
                       .shapes = true,
                       .collectives = TI_COLLECTIVES_LOOKAHEAD,
                       .node = (int)gen_between(&rng, 0, program->nodes - 1),
                       .devices = 1 };
        counts seen = { 0 };
        run_program(program, &s, true, &seen);
        if (2 * seen.repeated < program->step.count) {
            fail_msg("seed %llu: %llu of %zu steps", (unsigned long long)seed, (unsigned long long)seen.repeated,
                     program->step.count);
        }
        s.derive = true;
        s.shapes = false;
        run_program(program, &s, true, &derived);
        compare_logs(seed, &seen.log, &derived.log);
        ti_vec_fini(&seen.log);
        gen_destroy(program);
    }
    ti_vec_fini(&derived.log);
}

enum { TILES = 3, NODES = 5 };

/* A task on one node with one access. */
static void add_placed(gen_program *program, int node, int buffer, int mode, size_t tile)
{
    gen_task task = { .range = tacit_range1(1), .accesses = 1, .place = node };
    task.access[0] = (gen_access){ .buffer = buffer, .mode = mode, .mapper = tacit_fixed(tacit_box1(tile, tile + 1)) };
    ti_vec_push(&program->task, task);
}

/* Node 0 writes tiles now and then, other nodes read them, and a path of tasks makes horizons. */
static gen_program *placed_program(uint64_t seed)
{
    gen_rng rng = { gen_mix(seed) };
    gen_program *program = TI_NEW(gen_program);
    program->seed = seed;
    program->nodes = NODES;
    ti_vec_push(&program->buffer, ((gen_buffer){ .range = tacit_range1(TILES), .elem_size = 8, .initialised = true }));
    ti_vec_push(&program->buffer, ((gen_buffer){ .range = tacit_range1(1), .elem_size = 8, .initialised = true }));
    add_placed(program, 0, 1, TACIT_UPDATE, 0);
    for (size_t t = 0; t < TILES; t++) {
        for (int n = 0; n < NODES; n++) {
            add_placed(program, n, 0, n ? TACIT_READ : TACIT_UPDATE, t);
        }
    }
    ti_vec_push(&program->step, ((gen_step){ .kind = GEN_CREATE, .index = 0 }));
    ti_vec_push(&program->step, ((gen_step){ .kind = GEN_CREATE, .index = 1 }));
    for (int i = 0; i < 200; i++) {
        int64_t one = gen_between(&rng, 1, TILES * NODES), any = gen_chance(&rng, 50) ? 0 : one;
        ti_vec_push(&program->step, ((gen_step){ .kind = GEN_TASK, .index = (int)any }));
    }
    return program;
}

static void writes_wait_for_early_sends(void **state)
{
    (void)state;
    uint64_t compared = 0;
    counts seen = { 0 };
    for (uint64_t seed = 1; seed <= 200; seed++) {
        gen_program *program = placed_program(seed);
        compared += run_program(
            program, &(settings){ (int64_t)(seed % 4) + 1, 0, seed % 3 == 0, 0, false, 0, 0, false, 0, 1, SHARED },
            false, &seen);
        gen_destroy(program);
    }
    ti_vec_fini(&seen.log);
    assert_true(compared > 10000 && seen.early > 1000);
}

/* An allocation covers what lies between the parts that are touched; who touches that first follows nobody but the
 * allocation. */
static void gaps_of_allocations_wait_for_them(void **state)
{
    (void)state;
    enum { X, Y };
    gen_program *program = TI_NEW(gen_program);
    program->nodes = 1;
    gen_buffer x = { .range = tacit_range1(1), .elem_size = 8, .initialised = true };
    gen_buffer y = { .range = tacit_range1(8), .elem_size = 8 };
    ti_vec_push(&program->buffer, x);
    ti_vec_push(&program->buffer, y);
    ti_vec_push(&program->custom, ((gen_custom){ GEN_CUSTOM_HALVES, 0, 0 }));
    gen_task halves = { .range = tacit_range1(2), .accesses = 1 };
    halves.access[0] = (gen_access){ .buffer = Y, .mode = TACIT_WRITE };
    halves.access[0].mapper = (tacit_mapper){ .kind = TACIT_MAPPER_CUSTOM };
    gen_task update = { .range = tacit_range1(1), .accesses = 1 };
    update.access[0] = (gen_access){ .buffer = X, .mode = TACIT_UPDATE, .mapper = tacit_all() };
    gen_task gap = { .range = tacit_range1(1), .accesses = 2 };
    gap.access[0] = (gen_access){ .buffer = X, .mode = TACIT_READ, .mapper = tacit_all() };
    gap.access[1] = (gen_access){ .buffer = Y, .mode = TACIT_WRITE, .mapper = tacit_fixed(tacit_box1(2, 4)) };
    ti_vec_push(&program->task, halves);
    ti_vec_push(&program->task, update);
    ti_vec_push(&program->task, gap);
    static const gen_step steps[] = { { .kind = GEN_CREATE, .index = X }, { .kind = GEN_CREATE, .index = Y },
                                      { .kind = GEN_TASK, .index = 1 },   { .kind = GEN_TASK, .index = 0 },
                                      { .kind = GEN_TASK, .index = 1 },   { .kind = GEN_TASK, .index = 1 },
                                      { .kind = GEN_TASK, .index = 2 } };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        ti_vec_push(&program->step, steps[i]);
    }
    counts seen = { 0 };
    assert_true(run_program(program, &(settings){ INT64_MAX, 0, false, 0, false, 0, 0, false, 0, 1, SHARED }, false,
                            &seen) > 0);
    ti_vec_fini(&seen.log);
    gen_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_touches_the_same_is_ordered), cmocka_unit_test(loops_are_as_if_derived),
        cmocka_unit_test(windows_are_as_if_derived),        cmocka_unit_test(rare_reductions_repeat),
        cmocka_unit_test(writes_wait_for_early_sends),      cmocka_unit_test(gaps_of_allocations_wait_for_them)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
