/* What simulated nodes do, as records of a traced run: see impl.h. */
#include "sim/network.h"

#include "exec/trace.h"

/* 0 means that there is no time yet. */
static uint64_t clock_of(double ns)
{
    return 1 + (uint64_t)(ns + 0.5);
}

void ti_sim_note_open(node *n, ti_recorder *recorder)
{
    n->recorder = recorder;
    n->began = TI_NEW_ARRAY(uint64_t, (size_t)n->slots);
    ti_engine_keep_times(&n->engine);
}

void ti_sim_note_fini(node *n)
{
    if (n->recorder) {
        ti_free(n->began, (size_t)n->slots * sizeof(*n->began));
    }
}

static void add(const node *n, int ring, const ti_trace_record *record)
{
    ti_trace_add(ti_recorder_ring(n->recorder, ring), record);
}

/* ---- the program, and planning */

void ti_sim_note_task(node *n, const ti_task *task, double begin, double end)
{
    if (!n->recorder) {
        return;
    }
    if (task->kind == TI_TASK_CREATE) {
        const ti_buffer_info *buffer = task->as.create.buffer;
        ti_recorder_buffer(n->recorder, buffer->serial, buffer->name);
    }
    add(n, TI_TRACE_PROGRAM,
        &(ti_trace_record){ .start = clock_of(begin),
                            .end = clock_of(end),
                            .task = (uint32_t)task->id,
                            .number = (uint32_t)task->kind,
                            .name = ti_recorder_name(n->recorder, task->shape->name),
                            .kind = TI_TRACE_TASK });
}

/* From when the planner is free, or the task is known, to n->planner. */
void ti_sim_note_plan(node *n, const ti_task *task, size_t commands, size_t instructions)
{
    if (!n->recorder) {
        return;
    }
    double between = n->planner - n->instructions_ns;
    ti_trace_record r = { .start = clock_of(between - n->commands_ns),
                          .end = clock_of(between),
                          .task = (uint32_t)task->id,
                          .number = (uint32_t)commands,
                          .kind = TI_TRACE_COMMANDS };
    add(n, TI_TRACE_PLANNER, &r);
    r.start = r.end;
    r.end = clock_of(n->planner);
    r.number = (uint32_t)instructions;
    r.kind = TI_TRACE_INSTRUCTIONS;
    add(n, TI_TRACE_PLANNER, &r);
    bool open = ti_instruction_graph_is_waiting(n->instructions);
    if (!open && n->window_since) {
        add(n, TI_TRACE_PLANNER,
            &(ti_trace_record){ .start = n->window_since, .end = clock_of(n->planner), .kind = TI_TRACE_WINDOW });
    }
    n->window_since = !open ? 0 : n->window_since ? n->window_since : clock_of(n->planner);
}

void ti_sim_note_wait(const ti_cluster *c, node *n, bool was_blocked)
{
    static const ti_trace_cause causes[TI_CLUSTER_EVENTS] = {
        [TI_CLUSTER_POINTS] = TI_CAUSE_POINTS, [TI_CLUSTER_VALUES] = TI_CAUSE_SIGNAL
    };
    if (!n->recorder || was_blocked == n->blocked) {
        return;
    }
    if (n->blocked) {
        n->blocked_since = clock_of(TI_MAX(n->application, c->now));
    } else if (clock_of(c->now) > n->blocked_since) {
        add(n, TI_TRACE_PROGRAM,
            &(ti_trace_record){ .start = n->blocked_since,
                                .end = clock_of(c->now),
                                .number = (uint32_t)(n->is_ahead ? TI_CAUSE_NEAR : causes[n->waits_for]),
                                .kind = TI_TRACE_WAIT });
    }
}

/* ---- instructions */

void ti_sim_note_known(const ti_cluster *c, node *n)
{
    n->engine.now = clock_of(c->now);
}

void ti_sim_note_start(const ti_cluster *c, node *n, const ti_instruction *i)
{
    if (n->recorder) {
        ti_engine_time_of(&n->engine, i->id)->start = clock_of(c->now);
    }
}

void ti_sim_note_end(const ti_cluster *c, node *n, const ti_instruction *i)
{
    if (n->recorder) {
        ti_trace_instruction(ti_recorder_ring(n->recorder, TI_TRACE_EXECUTOR), &n->engine, n->system.node, i->id,
                             clock_of(c->now));
    }
}

uint64_t ti_sim_note_clock(const ti_cluster *c)
{
    return clock_of(c->now);
}

void ti_sim_note_relayed(node *n, const ti_relayed *what)
{
    ti_trace_relayed(ti_recorder_ring(n->recorder, TI_TRACE_EXECUTOR), what);
}

/* ---- workers */

int ti_sim_note_part(const ti_cluster *c, node *n, int d)
{
    int worker = 0;
    if (n->recorder) {
        worker = n->device[d].first;
        while (n->began[worker]) {
            worker++;
        }
        n->began[worker] = clock_of(c->now);
    }
    return worker;
}

/* Lane `lane` of the accelerator. */
static void add_lane(node *n, const ti_instruction *i, ti_trace_kind kind, int lane, uint64_t start, uint64_t end)
{
    add(n, TI_TRACE_EXECUTOR,
        &(ti_trace_record){ .start = start,
                            .end = end,
                            .id = (uint32_t)i->id,
                            .number = (uint32_t)lane,
                            .kind = (uint32_t)kind & 0xff,
                            .where = (uint32_t)(i->device - ti_system_hosts(&n->system)) });
}

void ti_sim_note_copy(node *n, const ti_instruction *i, copy_way way, double begin, double end)
{
    if (n->recorder) {
        add_lane(n, i, TI_TRACE_LANE_COPY, n->device[i->device].slots + (int)way, clock_of(begin), clock_of(end));
    }
}

void ti_sim_note_part_end(const ti_cluster *c, node *n, const ti_instruction *i, int part, int worker)
{
    if (n->recorder && ti_sim_is_accelerator(n, i->device)) {
        add_lane(n, i, TI_TRACE_LANE_KERNEL, worker - n->device[i->device].first, n->began[worker], clock_of(c->now));
        n->began[worker] = 0;
    } else if (n->recorder) {
        add(n, TI_TRACE_WORKER + worker,
            &(ti_trace_record){ .start = n->began[worker],
                                .end = clock_of(c->now),
                                .id = (uint32_t)i->id,
                                .number = (uint32_t)part,
                                .kind = TI_TRACE_PART,
                                .where = (uint32_t)worker });
        n->began[worker] = 0;
    }
}
