/* The simulated cluster: see cluster.h. Here: the program, planning, and the loop over events. */
#include "sim/network.h"

#include "base/check.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { TRIM_STEPS = 1024 };
enum { MIN_RELAY_NODES = 3 }; /* a root, a relay and a leaf */

/* In a run that is followed, an accelerator had as many kernels under way as it had. */
static void create_devices(const ti_cluster *c, node *n)
{
    enum { MAX_LANES = 64 };
    n->device = TI_NEW_ARRAY(device, (size_t)n->system.devices);
    for (int d = 0; d < n->system.devices; d++) {
        const int slots = !ti_sim_is_accelerator(n, d) ? n->system.workers
                          : c->replay                  ? MAX_LANES
                                                       : (int)TI_MIN(c->platform.device_lanes, (double)MAX_LANES);
        n->device[d] = (device){ .idle = slots, .first = n->slots, .slots = slots, .current = -1 };
        n->slots += slots;
    }
}

ti_cluster *ti_cluster_create(const ti_cluster_desc *desc)
{
    ti_cluster *c = TI_NEW(ti_cluster);
    c->platform = *desc->platform;
    c->run_ahead = desc->run_ahead;
    c->replay = desc->replay;
    c->nodes = desc->system->num_nodes;
    c->progress = desc->platform->progress;
    c->attended = desc->attended && c->progress != TI_PROGRESS_THREAD;
    c->early_bytes = desc->early_bytes;
    c->relays = c->progress != TI_PROGRESS_INLINE && desc->tree != TI_TREE_FLAT && c->nodes >= MIN_RELAY_NODES;
    c->node = TI_NEW_ARRAY(node, (size_t)c->nodes);
    for (int q = 0; q < c->nodes; q++) {
        node *n = &c->node[q];
        n->system = *desc->system;
        n->system.node = q;
        const int hosts = ti_system_hosts(&n->system);
        n->system.workers = c->replay ? ti_replay_workers(c->replay, q) / hosts : n->system.workers;
        n->system.explain = NULL;
        n->commands = ti_command_graph_create(&n->system);
        n->instructions = ti_instruction_graph_create(&n->system);
        ti_engine_init(&n->engine, n->system.devices);
        if (n->system.accelerators && !c->replay) {
            ti_engine_know_accelerators(&n->engine, hosts);
        }
        create_devices(c, n);
        n->in = TI_NEW_ARRAY(double, (size_t)c->platform.ports);
        n->out = TI_NEW_ARRAY(double, (size_t)c->platform.ports);
        n->starved = true;
        n->used = -INFINITY;
        n->starts = -1;
        if (desc->recorder) {
            ti_sim_note_open(n, desc->recorder[q]);
        }
        ti_sim_open_relay(c, n, desc);
    }
    c->pairs = c->nodes <= TI_CLUSTER_PAIRS ? TI_NEW_ARRAY(ti_cluster_pair, (size_t)c->nodes * (size_t)c->nodes) : NULL;
    c->starved = c->nodes;
    return c;
}

static void fini_node(const ti_cluster *c, node *n)
{
    ti_instruction_graph_destroy(n->instructions);
    ti_command_graph_destroy(n->commands);
    ti_engine_fini(&n->engine);
    ti_vec_fini(&n->planned);
    ti_sim_note_fini(n);
    ti_sim_fini_relay(n);
    ti_sim_fini_early(n);
    ti_vec_fini(&n->put_off);
    for (int d = 0; d < n->system.devices; d++) {
        ti_vec_fini(&n->device[d].begun.instruction);
    }
    ti_free(n->device, (size_t)n->system.devices * sizeof(device));
    ti_free(n->in, (size_t)c->platform.ports * sizeof(double));
    ti_free(n->out, (size_t)c->platform.ports * sizeof(double));
    ti_vec_fini(&n->running);
    ti_vec_fini(&n->collectives);
    ti_vec_fini(&n->share);
    ti_map_fini(&n->expected);
    ti_map_fini(&n->memory);
    ti_map_fini(&n->behind.given);
    ti_vec_fini(&n->behind.copies.instruction);
}

void ti_cluster_destroy(ti_cluster *c)
{
    if (!c) {
        return;
    }
    for (int q = 0; q < c->nodes; q++) {
        fini_node(c, &c->node[q]);
    }
    ti_free(c->node, (size_t)c->nodes * sizeof(node));
    if (c->pairs) {
        ti_free(c->pairs, (size_t)c->nodes * (size_t)c->nodes * sizeof(*c->pairs));
    }
    ti_vec_fini(&c->steps);
    ti_events_fini(&c->events);
    ti_paths_fini(&c->paths);
    ti_vec_fini(&c->wires);
    ti_vec_fini(&c->free_wires);
    ti_sim_free_frames(c);
    ti_vec_fini(&c->ops);
    ti_sim_free_schedules(c);
    TI_DELETE(c);
}

int ti_cluster_units(const ti_system *system)
{
    return (system->idle_host ? 0 : ti_system_workers(system)) + system->accelerators;
}

/* Accelerators that have kernels. */
static int accelerators_busy(const node *n)
{
    int busy = 0;
    for (int d = ti_system_hosts(&n->system); d < n->system.devices; d++) {
        busy += n->device[d].idle < n->device[d].slots;
    }
    return busy;
}

/* What the workers have done since the last event of their node. */
static void note_use(const ti_cluster *c, node *n)
{
    double ns = c->now - n->noted;
    int busy = (n->system.idle_host ? 0 : n->busy) + accelerators_busy(n), idle = ti_cluster_units(&n->system) - busy;
    ti_cluster_use use = n->waiting > 0              ? TI_USE_MESSAGES
                         : n->planner > n->noted     ? TI_USE_PLANNING
                         : n->blocked && n->is_ahead ? TI_USE_AHEAD
                                                     : TI_USE_IDLE;
    n->use[TI_USE_KERNELS] += ns * busy;
    n->use[use] += ns * idle;
    n->noted = c->now;
}

/* ---- the program */

static void keep_planned(ti_cluster *c, node *n, ti_instruction_batch batch)
{
    for (size_t i = 0; i < batch.count; i++) {
        ti_vec_push(&n->planned, batch.instruction[i]);
        if (c->replay) {
            ti_sim_replay_planned(c, n, batch.instruction[i]);
        }
    }
    c->held += batch.count;
    c->result.held_peak = TI_MAX(c->result.held_peak, c->held);
    n->planner = TI_MAX(n->planner, n->application) + n->commands_ns + n->instructions_ns;
    ti_sim_keep_thread(c, n, n->planner);
    ti_sim_later(c, n->planner, n->system.node, EVENT_PLANNED, batch.count, TI_PATH_PLANNING);
}

/* Of this thread alone, whatever else the machine does. */
static double planning_clock(const ti_cluster *c)
{
    struct timespec t = { 0 };
    if (c->platform.measured) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    }
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void plan(ti_cluster *c, node *n, const ti_task *task)
{
    if (n->released != n->point) {
        n->released = n->point;
        ti_command_graph_release(n->commands, n->point);
        ti_instruction_graph_release(n->instructions, n->point);
    }
    const ti_sim_stages recorded = c->replay ? ti_sim_replay_task(c, n, task) : (ti_sim_stages){ .closes = -1 };
    bool alone = ti_sim_replay_is_alone(c, n);
    double begin = TI_MAX(TI_MAX(n->application, c->now), alone ? n->executor : 0) + recorded.gap;
    n->application = begin + (c->replay ? recorded.task : c->platform.task);
    double start = planning_clock(c);
    ti_command_batch commands = ti_command_graph_add(n->commands, &task, 1);
    double between = planning_clock(c);
    ti_instruction_batch instructions = ti_instruction_graph_add(n->instructions, commands);
    n->commands_ns = c->replay ? recorded.commands : c->platform.measured ? between - start : c->platform.command;
    n->instructions_ns = c->replay              ? recorded.instructions
                         : c->platform.measured ? planning_clock(c) - between
                                                : c->platform.instruction;
    if (!c->refusal) {
        c->refusal = ti_instruction_graph_refusal(n->instructions);
        c->refusing = n->system.node;
    }
    keep_planned(c, n, instructions);
    ti_sim_note_task(n, task, begin, n->application);
    ti_sim_note_plan(n, task, commands.count, instructions.count);
    if (alone) {
        n->application = n->executor = n->planner;
    }
    if (recorded.closes >= 0) {
        n->commands_ns = 0;
        n->instructions_ns = recorded.closes;
        keep_planned(c, n, ti_instruction_graph_close(n->instructions));
    }
}

/* Whether the program gets a value, or has its initial contents copied. */
static bool has_value(const ti_task *task)
{
    return (task->kind == TI_TASK_FENCE && task->as.fence.signal) ||
           (task->kind == TI_TASK_CREATE && task->as.create.init.signal);
}

static void submit(ti_cluster *c, node *n, const ti_task *task)
{
    plan(c, n, task);
    ti_ahead_note(&n->ahead, task, n->system.node);
    n->submitted[TI_CLUSTER_POINTS] = n->ahead.points;
    n->submitted[TI_CLUSTER_VALUES] += has_value(task);
    n->is_ahead = true;
    n->listens |= c->relays && task->shape->place >= 0;
}

static void application(ti_cluster *c, node *n)
{
    if (c->progress == TI_PROGRESS_INLINE && n->application > c->now) { /* it is in a kernel, or plans */
        ti_sim_later(c, n->application, n->system.node, EVENT_APPLICATION, 0, c->chain.slot);
        return;
    }
    if (n->next_step == c->first_step + c->steps.count) {
        n->starved = true;
        n->chain = ti_paths_extend(&c->paths, c->chain, TI_PATH_PLANNING, 0);
        c->starved++;
        return;
    }
    const step *s = &c->steps.data[n->next_step++ - c->first_step];
    if (s->task) {
        submit(c, n, s->task);
    } else if (s->chooses) {
        n->system.latency_tasks = s->latency_tasks;
        n->system.latency_staged = s->latency_staged;
    } else {
        n->waits_for = s->wait;
        n->until = n->submitted[s->wait];
        n->is_ahead = false;
    }
    ti_sim_go_on(c, n);
}

/* Steps that all nodes have taken are forgotten. */
static void trim_steps(ti_cluster *c)
{
    uint64_t least = UINT64_MAX;
    for (int q = 0; q < c->nodes; q++) {
        least = TI_MIN(least, c->node[q].next_step);
    }
    size_t gone = (size_t)(least - c->first_step);
    memmove(c->steps.data, c->steps.data + gone, (c->steps.count - gone) * sizeof(*c->steps.data));
    c->steps.count -= gone;
    c->first_step = least;
}

/* ---- instructions */

static void planned(ti_cluster *c, node *n, uint64_t count)
{
    ti_sim_note_known(c, n);
    for (uint64_t k = 0; k < count; k++) {
        ti_engine_submit(&n->engine, n->planned.data[n->planned_head++]);
    }
    n->may_start = true;
    if (n->planned_head == n->planned.count) {
        ti_vec_clear(&n->planned);
        n->planned_head = 0;
    }
}

static void part_ends(ti_cluster *c, node *n, uint64_t what)
{
    running *r = &n->running.data[(uint32_t)what];
    const ti_instruction *i = ti_engine_slot_of(&n->engine, r->instruction)->instruction;
    n->device[i->device].idle++;
    n->busy -= !ti_sim_is_accelerator(n, i->device);
    n->may_start = true;
    ti_sim_note_part_end(c, n, i, r->to_end - 1, (int)(what >> TI_WORKER_SHIFT));
    if (--r->to_end == 0) {
        r->instruction = 0;
        ti_sim_complete(c, n, i->id);
    }
}

/* ---- the loop */

/* One side of a message is done with it. */
static void tell(ti_cluster *c, node *n, uint64_t token)
{
    if (token & TI_OF_COLLECTIVE) {
        ti_sim_part_done(c, n, token & ~TI_OF_COLLECTIVE);
    } else if (token & (TI_OF_FRAME | TI_RELAY_TOKEN)) {
        ti_sim_relay_message(c, n, token);
    } else if (token & TI_OF_POINT) {
        ti_sim_point_passed(c, n, (size_t)(token & ~TI_OF_POINT));
    } else {
        ti_sim_complete(c, n, token);
    }
}

/* Somebody looks after the messages for which nobody was there. */
static void look(ti_cluster *c, node *n)
{
    for (size_t i = 0; i < n->put_off.count; i++) {
        ti_event event = n->put_off.data[i];
        uint64_t token = ti_sim_wire_event(c, &event);
        if (token) {
            tell(c, n, token);
        }
        ti_paths_drop(&c->paths, event.chain);
    }
    ti_vec_clear(&n->put_off);
    n->may_start = true;
}

/* The attendant does. Its naps are short again after one that was of use. */
static void attend(ti_cluster *c, node *n)
{
    n->will_look = false;
    if (n->put_off.count > 0) {
        n->awake = c->now;
        n->looks = true;
        look(c, n);
        ti_sim_pump(c, n);
        n->looks = false;
    }
}

/* What happens to the node itself, and not to a message on its way. */
static void change(ti_cluster *c, node *n, const ti_event *event, uint64_t token)
{
    note_use(c, n);
    switch ((event_kind)event->kind) {
    case EVENT_APPLICATION:
        application(c, n);
        break;
    case EVENT_PLANNED:
        planned(c, n, event->what);
        break;
    case EVENT_PART:
        part_ends(c, n, event->what);
        break;
    case EVENT_DONE:
        ti_sim_complete(c, n, event->what);
        break;
    case EVENT_MEET:
        ti_sim_meet(c, event->what);
        break;
    case EVENT_STEPPED:
        tell(c, n, event->what);
        break;
    case EVENT_LOOK:
        attend(c, n);
        break;
    case EVENT_SENT:
    case EVENT_ENTERS:
    case EVENT_ASKS:
    case EVENT_ANSWERS:
    case EVENT_ARRIVED:
    case EVENT_RECEIVED:
        tell(c, n, token);
        break;
    }
    if (n->put_off.count > 0 && !ti_sim_is_away(c, n)) {
        look(c, n);
    }
    if (n->may_start) {
        ti_sim_pump(c, n);
    }
}

static void handle(ti_cluster *c, const ti_event *event)
{
    c->now = event->time;
    c->chain = event->chain;
    c->result.events++;
    if (ti_sim_put_off(c, event)) {
        c->chain = (ti_chain){ 0 };
        return;
    }
    uint64_t token = event->kind >= EVENT_SENT ? ti_sim_wire_event(c, event) : 0;
    if (token || event->kind < EVENT_SENT) {
        change(c, &c->node[event->node], event, token);
    }
    ti_paths_drop(&c->paths, event->chain);
    c->chain = (ti_chain){ 0 };
}

static void simulate(ti_cluster *c, bool all)
{
    ti_event event;
    while ((all || c->starved == 0) && !ti_sim_replay_differs(c) && ti_events_pop(&c->events, &event)) {
        handle(c, &event);
    }
}

/* A node that had nothing left to do for its program goes on from there. */
static void feed(ti_cluster *c, node *n)
{
    n->starved = false;
    c->starved--;
    c->chain = n->chain;
    ti_sim_go_on(c, n);
    ti_paths_drop(&c->paths, n->chain);
    c->chain = n->chain = (ti_chain){ 0 };
}

static void take_step(ti_cluster *c, step s)
{
    if (c->steps.count >= TRIM_STEPS && c->steps.count % TRIM_STEPS == 0) {
        trim_steps(c);
    }
    ti_vec_push(&c->steps, s);
    for (int q = 0; q < c->nodes && c->starved > 0; q++) {
        if (c->node[q].starved) {
            feed(c, &c->node[q]);
        }
    }
    simulate(c, false);
}

void ti_cluster_submit(ti_cluster *c, const ti_task *task)
{
    c->result.tasks += task->kind == TI_TASK_EXECUTE;
    take_step(c, (step){ .task = task });
}

void ti_cluster_wait(ti_cluster *c, ti_cluster_event what)
{
    take_step(c, (step){ .wait = what });
}

void ti_cluster_choose(ti_cluster *c, const ti_system *system)
{
    take_step(
        c, (step){ .chooses = true, .latency_tasks = system->latency_tasks, .latency_staged = system->latency_staged });
}

bool ti_cluster_finish(ti_cluster *c, ti_strbuf *why)
{
    simulate(c, true);
    if (ti_sim_replay_differs(c)) {
        ti_strbuf_add(why, "%s", c->replay->difference.text);
        return false;
    }
    if (c->refusal) {
        ti_strbuf_add(why, "simulated node %d: %s", c->refusing, c->refusal->sentence.text);
        return false;
    }
    for (int q = 0; q < c->nodes; q++) {
        const node *n = &c->node[q];
        if (ti_engine_incomplete(&n->engine) > 0) {
            const ti_instruction *i = ti_engine_slot_of(&n->engine, n->engine.watermark)->instruction;
            ti_strbuf_add(why, "the simulation has come to a stop: node %d waits for ever in task %llu ('%s')", q,
                          (unsigned long long)i->task->id, i->task->shape->name);
            return false;
        }
    }
    return !c->replay || ti_sim_replay_ends(c, why);
}

uint64_t ti_cluster_executed(const ti_cluster *c)
{
    uint64_t least = UINT64_MAX;
    for (int q = 0; q < c->nodes; q++) {
        least = TI_MIN(least, c->node[q].released);
    }
    return least;
}

ti_cluster_result ti_cluster_result_of(const ti_cluster *c)
{
    ti_cluster_result r = c->result;
    for (int q = 0; q < c->nodes; q++) {
        const node *n = &c->node[q];
        double left = (c->result.ns - n->noted) * ti_cluster_units(&n->system), busy = n->use[TI_USE_KERNELS];
        for (int u = 0; u < TI_USES; u++) {
            r.use[u] += n->use[u];
        }
        r.use[TI_USE_IDLE] += TI_MAX(left, 0);
        r.least_busy = q == 0 ? busy : TI_MIN(r.least_busy, busy);
        r.most_busy = TI_MAX(r.most_busy, busy);
        r.broadcasts += n->relay_stats.broadcasts;
        r.recipients += n->relay_stats.recipients;
        r.refused += n->relay_stats.refused;
        r.relayed_bytes += n->relay_stats.forwarded_bytes;
        r.idle_nodes += !n->has_run;
    }
    ti_paths_sum(&c->paths, c->last, r.path);
    r.paths = &c->paths;
    r.pairs = c->pairs;
    r.replay = c->replay ? ti_sim_replay_result(c) : r.replay;
    return r;
}
