/* Planners against a model of every element: see sim.h. */
#include "sim.h"

#include "grid/split.h"
#include "plan/version/version.h"
#include "trace/explain.h"

#include <string.h>

bool sim_fail(sim *s, const char *format, ...)
{
    if (!s->failed) {
        s->failed = true;
        int n = snprintf(s->why, sizeof(s->why), "step %zu: ", s->step);
        va_list args;
        va_start(args, format);
        vsnprintf(s->why + n, sizeof(s->why) - (size_t)n, format, args);
        va_end(args);
    }
    return false;
}

/* ---- set up */

static void init_node(sim *s, int r)
{
    sim_node *n = &s->node[r];
    n->system = (ti_system){
        .node = r, .num_nodes = s->nodes, .devices = 1, .memories = 1, .workers = 1, .total_workers = s->nodes
    };
    n->system.horizon_step = s->options.horizon_step;
    n->system.horizon_front = s->options.horizon_front;
    n->system.record = s->options.record;
    n->system.collectives = s->options.collectives;
    n->system.multicast = s->options.multicast;
    n->system.found_tree = s->options.found_tree;
    n->system.segment = s->options.segment;
    n->system.old_producers = s->options.old_producers;
    n->system.latency_tasks = s->options.latency_tasks;
    n->system.latency_horizons = s->options.latency_horizons;
    n->system.latency_staged = s->options.latency_staged;
    n->system.overlap = s->options.overlap;
    n->system.explain = s->options.explain && r == 0 ? ti_explain_create() : NULL;
    n->tasks = ti_task_graph_create(&n->system);
    n->graph = ti_command_graph_create(&n->system);
    n->hold = TI_NEW_ARRAY(uint32_t, s->elements);
    n->came = TI_NEW_ARRAY(uint32_t, s->elements);
    n->early = TI_NEW_ARRAY(uint32_t, s->elements);
    n->sent = TI_NEW_ARRAY(uint64_t, (size_t)s->nodes);
    n->received = TI_NEW_ARRAY(uint64_t, (size_t)s->nodes);
}

void sim_init(sim *s, const gen_program *program, const sim_options *options)
{
    memset(s, 0, sizeof(*s));
    s->program = program;
    s->options = *options;
    s->nodes = program->nodes;
    lower_init(&s->lowering, program);
    s->lowering.reproducible = options->reproducible;
    s->lowering.shapes = options->shapes;
    s->base = TI_NEW_ARRAY(size_t, program->buffer.count + 1);
    for (size_t i = 0; i < program->buffer.count; i++) {
        gen_box extent = gen_extent(&program->buffer.data[i]);
        s->base[i + 1] = s->base[i] + (size_t)gen_volume(&extent);
    }
    s->elements = s->base[program->buffer.count];
    s->newest = TI_NEW_ARRAY(uint32_t, s->elements);
    s->mark = TI_NEW_ARRAY(uint32_t, s->elements);
    s->node = TI_NEW_ARRAY(sim_node, (size_t)s->nodes);
    for (int r = 0; r < s->nodes; r++) {
        init_node(s, r);
    }
}

static void fini_node(sim *s, sim_node *n)
{
    ti_command_graph_destroy(n->graph);
    ti_task_graph_destroy(n->tasks);
    ti_explain_destroy(n->system.explain);
    ti_vec_fini(&n->command);
    ti_vec_fini(&n->made);
    ti_vec_fini(&n->planned);
    ti_free(n->hold, s->elements * sizeof(*n->hold));
    ti_free(n->came, s->elements * sizeof(*n->came));
    ti_free(n->early, s->elements * sizeof(*n->early));
    ti_free(n->sent, (size_t)s->nodes * sizeof(*n->sent));
    ti_free(n->received, (size_t)s->nodes * sizeof(*n->received));
}

void sim_fini(sim *s)
{
    for (int r = 0; r < s->nodes; r++) {
        fini_node(s, &s->node[r]);
    }
    ti_free(s->node, (size_t)s->nodes * sizeof(*s->node));
    ti_free(s->newest, s->elements * sizeof(*s->newest));
    ti_free(s->mark, s->elements * sizeof(*s->mark));
    ti_free(s->base, (s->program->buffer.count + 1) * sizeof(*s->base));
    ti_vec_fini(&s->task_vertex);
    ti_vec_fini(&s->points);
    ti_arena_fini(&s->arena);
    lower_fini(&s->lowering);
}

static int64_t volume_of(const ti_box *box, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += ti_box_volume(&box[i]);
    }
    return sum;
}

/* ---- recording commands */

int sim_buffer(const sim *s, const ti_buffer_info *info)
{
    return (int)(info - s->lowering.info);
}

static bool reads_by_custom(const ti_shape *shape)
{
    bool any = false;
    for (uint32_t i = 0; i < shape->accesses; i++) {
        any |= shape->access[i].custom && ti_access_reads(&shape->access[i]);
    }
    return any;
}

static bool record_transfer(sim *s, sim_node *n, const ti_command *from, sim_command *to)
{
    sim_list list = { 0 };
    bool send = from->kind == TI_COMMAND_SEND;
    int peer = from->as.transfer.peer;
    to->peer = peer;
    to->buffer = sim_buffer(s, from->as.transfer.buffer);
    to->counter = from->as.transfer.counter;
    to->part = from->as.transfer.part;
    to->bundled = from->as.transfer.bundle != NULL;
    SIM_CHECK(s, peer >= 0 && peer < s->nodes && peer != n->system.node, "node %d has peer %d", n->system.node, peer);
    if (from->as.transfer.part) { /* of a message whose first part has come */
        SIM_CHECK(s,
                  from->as.transfer.bundle && from->as.transfer.part < from->as.transfer.bundle->parts &&
                      to->counter < (send ? n->sent : n->received)[peer],
                  "part of no message from %d to %d", n->system.node, peer);
        s->counts.bundled += send;
        s->counts.bundled_2d += send && from->task->shape->two_dimensional;
        s->counts.bundled_custom += send && reads_by_custom(from->task->shape);
    } else {
        SIM_CHECK(s, to->counter == (send ? n->sent : n->received)[peer]++, "counter %d to %d", n->system.node, peer);
    }
    SIM_CHECK(s, from->as.transfer.boxes > 0, "an empty message");
    sim_new_set(s);
    if (!sim_add_boxes(s, to->buffer, from->as.transfer.box, from->as.transfer.boxes, &list)) {
        return false;
    }
    bool once = (int64_t)list.count == volume_of(from->as.transfer.box, from->as.transfer.boxes);
    *(send ? &to->read : &to->write) = sim_keep(s, &list);
    to->expected = send ? sim_stamps(s, &to->read) : NULL;
    ti_vec_fini(&list);
    SIM_CHECK(s, once, "a message has an element twice");
    return true;
}

/* The footprint of one access of one piece is what plain arithmetic says. Appends its elements. */
static bool check_footprint(sim *s, const gen_access *access, const gen_box *chunk, const ti_footprint *f)
{
    gen_boxes image = { 0 };
    sim_list expected = { 0 }, found = { 0 };
    ti_box bounding = { { 0 }, { 0 } };
    gen_image(s->program, access, chunk, &image);
    sim_new_set(s);
    for (size_t i = 0; i < image.count; i++) {
        sim_add_box(s, access->buffer, &image.data[i], &expected);
    }
    sim_new_set(s);
    bool good = sim_add_boxes(s, access->buffer, f->box, f->boxes, &found) && found.count == expected.count;
    for (size_t i = 0; i < expected.count && good; i++) {
        good = s->mark[expected.data[i]] == s->token;
    }
    for (uint32_t i = 0; i < f->boxes; i++) {
        bounding = i ? ti_box_bounding(&bounding, &f->box[i]) : f->box[i];
    }
    good = good && (f->boxes ? ti_box_equal(&bounding, &f->bounding) : ti_box_is_empty(&f->bounding));
    ti_vec_fini(&image);
    ti_vec_fini(&expected);
    ti_vec_fini(&found);
    SIM_CHECK(s, good, "a footprint of buffer %d is wrong", access->buffer);
    return true;
}

static bool check_chunk(sim *s, const gen_task *task, const gen_box *chunk)
{
    gen_box items = gen_items(task);
    int64_t granularity[3];
    gen_granularity(task, granularity);
    for (int d = 0; d < 3; d++) {
        bool inside = items.min[d] <= chunk->min[d] && chunk->min[d] < chunk->max[d] && chunk->max[d] <= items.max[d];
        bool regular = (chunk->min[d] - items.min[d]) % granularity[d] == 0 &&
                       (chunk->max[d] == items.max[d] || (chunk->max[d] - items.min[d]) % granularity[d] == 0);
        SIM_CHECK(s, inside && regular, "chunk [%lld,%lld) in dimension %d", (long long)chunk->min[d],
                  (long long)chunk->max[d], d);
    }
    return true;
}

/* The elements that all pieces read, or write. */
static bool collect_pieces(sim *s, const gen_task *task, const ti_command *from, bool writes, sim_list *out)
{
    sim_new_set(s);
    for (int i = 0; i < task->accesses; i++) {
        const gen_access *a = &task->access[i];
        for (uint32_t p = 0; p < from->as.execute.pieces && (writes ? gen_writes(a) : gen_reads(a)); p++) {
            const ti_footprint *f = &from->as.execute.piece[p].footprint[i];
            if (!sim_add_boxes(s, a->buffer, f->box, f->boxes, out)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether each element is written by one piece: what several items write together must not be cut. */
static bool check_apart(sim *s, const gen_task *task, const ti_command *from)
{
    sim_list one = { 0 }, all = { 0 };
    bool good = true;
    for (int i = 0; i < task->accesses && good; i++) {
        const gen_access *a = &task->access[i];
        size_t sum = 0;
        ti_vec_clear(&all);
        if (!gen_writes(a) || a->mapper.kind == TACIT_MAPPER_REPLICATED) {
            continue;
        }
        for (uint32_t p = 0; p < from->as.execute.pieces && good; p++) {
            const ti_footprint *f = &from->as.execute.piece[p].footprint[i];
            ti_vec_clear(&one);
            sim_new_set(s);
            good = sim_add_boxes(s, a->buffer, f->box, f->boxes, &one);
            sum += one.count;
        }
        sim_new_set(s);
        for (uint32_t p = 0; p < from->as.execute.pieces && good; p++) {
            const ti_footprint *f = &from->as.execute.piece[p].footprint[i];
            good = sim_add_boxes(s, a->buffer, f->box, f->boxes, &all);
        }
        good = good && sum == all.count;
    }
    ti_vec_fini(&one);
    ti_vec_fini(&all);
    SIM_CHECK(s, good, "two pieces write the same element");
    return true;
}

static bool record_execute(sim *s, const ti_command *from, sim_command *to)
{
    const gen_task *task = &s->program->task.data[s->program->step.data[s->step].index];
    sim_list list = { 0 };
    bool good = true;
    for (uint32_t p = 0; p < from->as.execute.pieces && good; p++) {
        gen_box chunk;
        memcpy(chunk.min, from->as.execute.piece[p].chunk.min, sizeof(chunk.min));
        memcpy(chunk.max, from->as.execute.piece[p].chunk.max, sizeof(chunk.max));
        good = check_chunk(s, task, &chunk);
        to->items += gen_volume(&chunk);
        for (int i = 0; i < task->accesses && good; i++) {
            good = check_footprint(s, &task->access[i], &chunk, &from->as.execute.piece[p].footprint[i]);
        }
    }
    good = good && check_apart(s, task, from) && collect_pieces(s, task, from, false, &list);
    to->read = sim_keep(s, &list);
    to->expected = sim_stamps(s, &to->read);
    good = good && collect_pieces(s, task, from, true, &list);
    to->write = sim_keep(s, &list);
    ti_vec_fini(&list);
    return good;
}

static void whole_buffer(sim *s, int buffer, sim_elements *out)
{
    sim_list list = { 0 };
    gen_box extent = gen_extent(&s->program->buffer.data[buffer]);
    sim_new_set(s);
    sim_add_box(s, buffer, &extent, &list);
    *out = sim_keep(s, &list);
    ti_vec_fini(&list);
}

static bool record_tree(sim *s, sim_node *n, const ti_command *from, sim_command *to)
{
    const ti_tree_place *tree = ti_arena_copy(&s->arena, from->as.reduce.tree, sizeof(*tree));
    to->tree = tree;
    for (int i = 0; i < tree->children; i++) {
        SIM_CHECK(s, tree->child_counter[i] == n->received[tree->child[i]]++, "counter of child %d", tree->child[i]);
    }
    SIM_CHECK(s, tree->parent < 0 || tree->parent_counter == n->sent[tree->parent]++, "counter to parent %d",
              tree->parent);
    return true;
}

static bool record_blocks(sim *s, sim_node *n, const ti_command *from, sim_command *to)
{
    const ti_block_place *place = ti_arena_copy(&s->arena, from->as.reduce.blocks, sizeof(*place));
    to->blocks = place;
    for (int i = 0; i < place->receives; i++) {
        SIM_CHECK(s, place->receive[i].counter == n->received[place->receive[i].peer]++, "counter of blocks from %d",
                  place->receive[i].peer);
    }
    for (int i = 0; i < place->sends; i++) {
        SIM_CHECK(s, place->send[i].counter == n->sent[place->send[i].peer]++, "counter of blocks to %d",
                  place->send[i].peer);
    }
    return true;
}

static bool record_reduce(sim *s, sim_node *n, const ti_command *from, sim_command *to)
{
    const gen_task *task = &s->program->task.data[s->program->step.data[s->step].index];
    to->buffer = task->access[from->as.reduce.access].buffer;
    SIM_CHECK(s, task->access[from->as.reduce.access].mode == TACIT_REDUCE, "a reduction of something else");
    bool together = from->as.reduce.what != NULL, in_blocks = from->task->shape->in_blocks;
    SIM_CHECK(s,
              !together ? !from->as.reduce.tree == in_blocks && !from->as.reduce.blocks != in_blocks
                        : !in_blocks && !from->as.reduce.tree && !from->as.reduce.blocks,
              "a reduction of the wrong kind");
    if (together    ? !sim_record_combining(s, n, from, to)
        : in_blocks ? !record_blocks(s, n, from, to)
                    : !record_tree(s, n, from, to)) {
        return false;
    }
    if (ti_command_is_root(from)) {
        whole_buffer(s, to->buffer, &to->write);
        to->read = from->as.reduce.takes_old ? to->write : (sim_elements){ NULL, 0 };
        to->expected = sim_stamps(s, &to->read);
    }
    return true;
}

static bool record_fence(sim *s, const ti_command *from, sim_command *to)
{
    const gen_step *step = &s->program->step.data[s->step];
    sim_list list = { 0 };
    ti_box box = lower_box(&step->box);
    SIM_CHECK(s, from->task->as.fence.pieces == 1 && ti_box_equal(&box, &from->task->as.fence.piece[0].box),
              "a fence with another box");
    sim_new_set(s);
    bool good = sim_add_boxes(s, step->index, &box, 1, &list);
    to->read = sim_keep(s, &list);
    to->expected = sim_stamps(s, &to->read);
    ti_vec_fini(&list);
    return good;
}

static bool record_kind(sim *s, sim_node *n, const ti_command *from, sim_command *to)
{
    int buffer = s->program->step.data[s->step].index;
    switch (from->kind) {
    case TI_COMMAND_EXECUTE:
        return record_execute(s, from, to);
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        return record_transfer(s, n, from, to);
    case TI_COMMAND_REDUCE:
        return record_reduce(s, n, from, to);
    case TI_COMMAND_FENCE:
        return record_fence(s, from, to);
    case TI_COMMAND_CREATE:
        to->stamp = 1;
        if (s->program->buffer.data[buffer].initialised) {
            whole_buffer(s, buffer, &to->write);
        }
        return true;
    case TI_COMMAND_DESTROY:
        whole_buffer(s, buffer, &to->write);
        return true;
    case TI_COMMAND_EPOCH:
        return true;
    case TI_COMMAND_COLLECTIVE:
        return sim_record_collective(s, n, from, to);
    }
    return sim_fail(s, "a command of kind %d, which the model does not know", (int)from->kind);
}

static bool record(sim *s, sim_node *n, const ti_command *from)
{
    sim_command *to = TI_ARENA_NEW(&s->arena, sim_command);
    to->kind = from->kind;
    to->step = s->step;
    to->stamp = s->stamp;
    to->is_wait = from->task->kind == TI_TASK_EPOCH;
    to->id = from->id;
    to->deps = from->deps;
    to->dep = ti_arena_copy(&s->arena, from->dep, from->deps * sizeof(uint64_t));
    SIM_CHECK(s, from->id == n->command.count + 1, "command ids have a gap at %llu", (unsigned long long)from->id);
    ti_vec_push(&n->command, to);
    s->counts.commands++;
    return record_kind(s, n, from, to);
}

/* ---- the model's side of one step */

size_t sim_first_command(const sim *s, const sim_node *n)
{
    size_t i = n->command.count;
    while (i > 0 && n->command.data[i - 1]->step == s->step) {
        i--;
    }
    return i;
}

static sim_command *find_receive(sim *s, const sim_command *send, int from)
{
    sim_node *n = &s->node[send->peer];
    for (size_t i = sim_first_command(s, n); i < n->command.count; i++) {
        sim_command *c = n->command.data[i];
        if (c->kind == TI_COMMAND_RECEIVE && c->peer == from && c->buffer == send->buffer &&
            c->counter == send->counter) {
            return c;
        }
    }
    return NULL;
}

static bool check_send(sim *s, int r, const sim_command *send)
{
    const sim_command *receive = find_receive(s, send, r);
    SIM_CHECK(s, receive, "node %d sends to %d (buffer %d, counter %llu), which expects nothing", r, send->peer,
              send->buffer, (unsigned long long)send->counter);
    SIM_CHECK(s,
              receive->write.count == send->read.count &&
                  memcmp(receive->write.data, send->read.data, send->read.count * sizeof(uint32_t)) == 0,
              "node %d and %d disagree about a message of buffer %d", r, send->peer, send->buffer);
    for (size_t i = 0; i < send->read.count; i++) {
        uint32_t e = send->read.data[i];
        bool on = s->options.multicast && sim_sends_on(s, &s->node[r], send, e);
        s->counts.forwarded += on && i == 0;
        SIM_CHECK(s, s->newest[e] && (s->node[r].hold[e] == s->newest[e] || on),
                  "node %d sends element %zu of buffer %d, which it does not hold", r, e - s->base[send->buffer],
                  send->buffer);
        SIM_CHECK(s, s->node[send->peer].hold[e] != s->newest[e],
                  "node %d sends element %zu of buffer %d, which %d holds", r, e - s->base[send->buffer], send->buffer,
                  send->peer);
    }
    s->counts.messages++;
    s->counts.elements += send->read.count;
    return true;
}

/* Everything that arrives at a node is wanted there, and arrives once. */
static bool check_arrivals(sim *s, sim_node *n)
{
    size_t first = sim_first_command(s, n);
    sim_new_set(s);
    for (size_t i = first; i < n->command.count; i++) {
        const sim_command *c = n->command.data[i];
        bool passes = c->kind == TI_COMMAND_SEND || c->kind == TI_COMMAND_COLLECTIVE;
        for (size_t k = 0; !passes && k < c->read.count; k++) {
            s->mark[c->read.data[k]] = s->token;
        }
    }
    for (size_t i = first; i < n->command.count; i++) {
        const sim_command *c = n->command.data[i];
        bool arrives = c->kind == TI_COMMAND_RECEIVE || c->kind == TI_COMMAND_COLLECTIVE;
        for (size_t k = 0; arrives && k < c->write.count; k++) {
            uint32_t e = c->write.data[k];
            bool early = c->kind == TI_COMMAND_COLLECTIVE && s->options.collectives == TI_COLLECTIVES_LOOKAHEAD &&
                         s->mark[e] != s->token - 1; /* wanted by a later task */
            if (s->options.multicast && c->kind == TI_COMMAND_RECEIVE && s->mark[e] < s->token - 1) {
                n->early[e] = s->newest[e];
                early = true;
            }
            SIM_CHECK(s, early || s->mark[e] == s->token, "node %d receives element %zu of buffer %d in vain or twice",
                      n->system.node, e - s->base[c->buffer], c->buffer);
            SIM_CHECK(s, n->came[e] != s->newest[e] || c->kind == TI_COMMAND_COLLECTIVE,
                      "element %zu of buffer %d comes to node %d twice between two writes", e - s->base[c->buffer],
                      c->buffer, n->system.node);
            s->counts.by_collectives += c->kind == TI_COMMAND_COLLECTIVE;
            s->counts.hoisted += early && s->mark[e] != s->token && c->kind == TI_COMMAND_COLLECTIVE;
            n->came[e] = s->newest[e];
            s->mark[e] = s->token - 1;
            n->hold[e] = s->newest[e];
        }
    }
    return true;
}

static bool check_messages(sim *s)
{
    uint64_t sends = 0, receives = 0;
    for (int r = 0; r < s->nodes; r++) {
        sim_node *n = &s->node[r];
        for (size_t i = sim_first_command(s, n); i < n->command.count; i++) {
            sends += n->command.data[i]->kind == TI_COMMAND_SEND;
            receives += n->command.data[i]->kind == TI_COMMAND_RECEIVE;
            if (n->command.data[i]->kind == TI_COMMAND_SEND && !check_send(s, r, n->command.data[i])) {
                return false;
            }
        }
    }
    if (!sim_check_collectives(s)) {
        return false;
    }
    SIM_CHECK(s, sends == receives, "%llu sends and %llu receives", (unsigned long long)sends,
              (unsigned long long)receives);
    for (int r = 0; r < s->nodes; r++) {
        s->token++; /* so that token - 1 below never means an older set */
        if (!check_arrivals(s, &s->node[r])) {
            return false;
        }
    }
    return true;
}

static bool check_reads(sim *s, sim_node *n)
{
    sim_read_early(s, n);
    for (size_t i = sim_first_command(s, n); i < n->command.count; i++) {
        const sim_command *c = n->command.data[i];
        for (size_t k = 0; c->kind != TI_COMMAND_SEND && k < c->read.count; k++) {
            uint32_t e = c->read.data[k];
            SIM_CHECK(s, n->hold[e] && n->hold[e] == s->newest[e], "node %d lacks element %u (stamp %u, newest %u)",
                      n->system.node, e, n->hold[e], s->newest[e]);
        }
    }
    return true;
}

static const sim_command *find_kind(const sim *s, const sim_node *n, ti_command_kind kind, int buffer)
{
    for (size_t i = sim_first_command(s, n); i < n->command.count; i++) {
        const sim_command *c = n->command.data[i];
        if (c->kind == kind && (buffer < 0 || c->buffer == buffer)) {
            return c;
        }
    }
    return NULL;
}

/* All nodes take part alike, and one of those with a chunk brings the old value if there is one to bring. */
static bool check_combining(sim *s, int buffer, bool include_old)
{
    const sim_command *first = find_kind(s, &s->node[0], TI_COMMAND_REDUCE, buffer);
    size_t old = 0, results = 0;
    for (int r = 0; r < s->nodes; r++) {
        const sim_command *c = find_kind(s, &s->node[r], TI_COMMAND_REDUCE, buffer);
        SIM_CHECK(s,
                  c && c->pattern == first->pattern && c->root == first->root && c->counter == first->counter &&
                      c->serial == first->serial,
                  "node 0 and %d have different reductions", r);
        SIM_CHECK(s, c->alone == !find_kind(s, &s->node[r], TI_COMMAND_EXECUTE, -1),
                  "node %d takes part in half of a reduction", r);
        SIM_CHECK(s, !c->read.count || !c->alone, "node %d brings the old value, but has no chunk", r);
        old += c->read.count > 0;
        results += c->write.count > 0;
    }
    SIM_CHECK(s, old == include_old, "%zu nodes bring the old value of a reduction", old);
    SIM_CHECK(s, results == (first->pattern == TI_PATTERN_ALL_REDUCE ? (size_t)s->nodes : 1),
              "%zu nodes get the result of a reduction", results);
    return true;
}

/* Every node with a chunk is in the tree once; the first of them is the root. */
static bool check_tree(sim *s, int buffer)
{
    int members = 0, edges = 0, root = -1;
    for (int r = 0; r < s->nodes; r++) {
        const sim_command *c = find_kind(s, &s->node[r], TI_COMMAND_REDUCE, buffer);
        SIM_CHECK(s, !c == !find_kind(s, &s->node[r], TI_COMMAND_EXECUTE, -1),
                  "node %d takes part in half of a reduction", r);
        if (!c) {
            continue;
        }
        root = root < 0 ? r : root;
        members++;
        edges += c->tree->children;
        SIM_CHECK(s, (c->tree->parent < 0) == (r == root), "the root of a reduction is not the first node");
        const sim_command *p = c->tree->parent < 0 ? NULL
                                                   : find_kind(s, &s->node[c->tree->parent], TI_COMMAND_REDUCE, buffer);
        bool known = !!p == (c->tree->parent >= 0);
        for (int i = 0; p && i < p->tree->children; i++) {
            known = known && (p->tree->child[i] != r || p->tree->child_counter[i] == c->tree->parent_counter);
        }
        SIM_CHECK(s, known, "node %d and its parent disagree", r);
    }
    SIM_CHECK(s, members == 0 || edges == members - 1, "%d nodes and %d edges in a reduction tree", members, edges);
    for (int r = 0; r < s->nodes; r++) {
        sim_command *c = (sim_command *)(uintptr_t)find_kind(s, &s->node[r], TI_COMMAND_REDUCE, buffer);
        if (c) {
            c->contributions = members;
        }
    }
    return true;
}

/* The message of node `from` to `to` that has these spans. */
static bool has_mate(const sim *s, int from, int to, int buffer, const ti_block_message *received)
{
    const sim_command *c = find_kind(s, &s->node[from], TI_COMMAND_REDUCE, buffer);
    for (int i = 0; c && i < c->blocks->sends; i++) {
        const ti_block_message *m = &c->blocks->send[i];
        if (m->peer == to && m->counter == received->counter) {
            return m->spans == received->spans && memcmp(m->span, received->span, m->spans * sizeof(m->span[0])) == 0;
        }
    }
    return false;
}

/* The nodes' blocks follow each other and are all there are; what one receives another sends; what has come together
 * goes on or is the result. */
static bool check_blocks(sim *s, int buffer)
{
    uint32_t next = 0, blocks = 0;
    int sends = 0, receives = 0;
    for (int r = 0; r < s->nodes; r++) {
        sim_command *c = (sim_command *)(uintptr_t)find_kind(s, &s->node[r], TI_COMMAND_REDUCE, buffer);
        SIM_CHECK(s, !c == !find_kind(s, &s->node[r], TI_COMMAND_EXECUTE, -1),
                  "node %d takes part in half of a reduction", r);
        if (!c) {
            continue;
        }
        const ti_block_place *p = c->blocks;
        SIM_CHECK(s, p->own.first == next && p->own.end > next, "node %d has the wrong blocks", r);
        next = p->own.end;
        blocks = p->blocks;
        sends += p->sends;
        receives += p->receives;
        c->contributions = (int)blocks;
        for (int i = 0; i < p->receives; i++) {
            SIM_CHECK(s, has_mate(s, p->receive[i].peer, r, buffer, &p->receive[i]),
                      "node %d waits for blocks that node %d does not send", r, p->receive[i].peer);
        }
    }
    SIM_CHECK(s, next == blocks, "%u blocks of %u", next, blocks);
    SIM_CHECK(s, sends == receives, "%d messages with blocks are sent, %d received", sends, receives);
    return true;
}

static bool check_reduction(sim *s, int buffer, bool include_old)
{
    const sim_command *c = find_kind(s, &s->node[0], TI_COMMAND_REDUCE, buffer);
    if (c && ti_pattern_combines(c->pattern)) {
        return check_combining(s, buffer, include_old);
    }
    return s->options.reproducible ? check_blocks(s, buffer) : check_tree(s, buffer);
}

/* Together the chunks of all nodes are the range, each item once, or once per node. */
static bool check_partition(sim *s, const gen_task *task)
{
    gen_box items = gen_items(task);
    int64_t written = 0, expected = 0, executed = 0;
    int place;
    for (int r = 0; r < s->nodes; r++) {
        const sim_command *c = find_kind(s, &s->node[r], TI_COMMAND_EXECUTE, -1);
        SIM_CHECK(s, !c || !gen_is_placed(task, &place) || r == place, "node %d executes a task for another one", r);
        executed += c ? c->items : 0;
    }
    int64_t wanted = gen_volume(&items) * (gen_is_everywhere(task) ? s->nodes : 1);
    bool more = s->options.latency_tasks > 1 && task->pure && executed > wanted;
    SIM_CHECK(s, executed == wanted || more, "%lld items executed instead of %lld", (long long)executed,
              (long long)wanted);
    s->counts.items += (uint64_t)executed;
    s->counts.redundant += (uint64_t)(executed - wanted);
    for (int i = 0; i < task->accesses; i++) {
        if (executed > wanted && task->access[i].mapper.kind == TACIT_MAPPER_CUSTOM) {
            s->counts.by_custom += (uint64_t)(executed - wanted);
        }
    }
    for (int i = 0; i < task->accesses; i++) {
        if (!gen_writes(&task->access[i]) || task->access[i].mapper.kind == TACIT_MAPPER_REPLICATED ||
            gen_volume(&items) == 0) {
            continue;
        }
        gen_boxes image = { 0 };
        sim_list list = { 0 };
        gen_image(s->program, &task->access[i], &items, &image);
        sim_new_set(s);
        for (size_t k = 0; k < image.count; k++) {
            sim_add_box(s, task->access[i].buffer, &image.data[k], &list);
        }
        expected += (int64_t)list.count;
        for (size_t k = 0; k < list.count; k++) {
            int64_t here = 0;
            for (int r = 0; r < s->nodes; r++) {
                here += s->node[r].hold[list.data[k]] == s->stamp;
            }
            written += more ? here > 0 : here;
        }
        ti_vec_fini(&image);
        ti_vec_fini(&list);
    }
    SIM_CHECK(s, written == expected, "%lld elements written by the task, %lld by all nodes", (long long)expected,
              (long long)written);
    return true;
}

static void apply_writes(sim *s, sim_node *n)
{
    for (size_t i = sim_first_command(s, n); i < n->command.count; i++) {
        const sim_command *c = n->command.data[i];
        if (c->kind != TI_COMMAND_EXECUTE && c->kind != TI_COMMAND_REDUCE && c->kind != TI_COMMAND_CREATE) {
            continue;
        }
        for (size_t k = 0; k < c->write.count; k++) {
            s->newest[c->write.data[k]] = c->stamp;
            n->hold[c->write.data[k]] = c->stamp;
        }
    }
}

static bool check_step(sim *s, const gen_step *step)
{
    const gen_task *task = step->kind == GEN_TASK ? &s->program->task.data[step->index] : NULL;
    if (!check_messages(s)) {
        return false;
    }
    for (int r = 0; r < s->nodes; r++) {
        if (!check_reads(s, &s->node[r])) {
            return false;
        }
    }
    if (s->options.multicast && !sim_check_unread(s)) {
        return false;
    }
    for (int r = 0; r < s->nodes; r++) {
        apply_writes(s, &s->node[r]);
    }
    for (int i = 0; task && i < task->accesses; i++) {
        int buffer = task->access[i].buffer;
        if (task->access[i].mode == TACIT_REDUCE && !check_reduction(s, buffer, task->access[i].include_old)) {
            return false;
        }
    }
    return !task || check_partition(s, task);
}

/* All nodes have come to the same versions. */
static bool check_maps(sim *s)
{
    uint64_t digest = ti_command_graph_digest(s->node[0].graph);
    for (int r = 0; r < s->nodes; r++) {
        SIM_CHECK(s, ti_command_graph_digest(s->node[r].graph) == digest, "the maps of node 0 and %d differ", r);
        if (r < 4 || r == s->nodes - 1) {
            SIM_CHECK(s, ti_command_graph_is_valid(s->node[r].graph), "a version map of node %d is broken", r);
        }
    }
    ti_command_counts counts = ti_command_graph_counts(s->node[s->nodes - 1].graph);
    uint64_t entries = counts.entries;
    s->counts.replayed = counts.replayed;
    s->counts.overlapped = counts.overlapped;
    s->counts.multicasts = s->counts.recipients = s->counts.left = 0;
    for (int r = 0; r < s->nodes; r++) {
        counts = ti_command_graph_counts(s->node[r].graph);
        s->counts.multicasts += counts.multicast.multicasts;
        s->counts.recipients += counts.multicast.recipients;
        s->counts.left += counts.multicast.left;
    }
    s->counts.most_entries = TI_MAX(s->counts.most_entries, entries);
    return true;
}

/* ---- planning */

/* The task at its own level, to check the dependencies of the task graph. */
static void record_task(sim *s, const ti_task *task)
{
    sim_command *v = TI_ARENA_NEW(&s->arena, sim_command);
    v->step = s->step;
    v->is_wait = task->kind == TI_TASK_EPOCH;
    v->id = task->id;
    v->deps = task->deps;
    v->dep = ti_arena_copy(&s->arena, task->dep, task->deps * sizeof(uint64_t));
    v->kind = task->kind == TI_TASK_HORIZON || task->kind == TI_TASK_EPOCH ? TI_COMMAND_EPOCH : TI_COMMAND_EXECUTE;
    const gen_step *step = &s->program->step.data[s->step];
    if (task->kind == TI_TASK_CREATE ? s->program->buffer.data[step->index].initialised
                                     : task->kind == TI_TASK_DESTROY) {
        whole_buffer(s, step->index, &v->write);
    }
    sim_list list = { 0 };
    ti_boxes image = { 0 };
    for (int writes = 0; writes < 2; writes++) {
        sim_new_set(s);
        for (uint32_t i = 0; i < task->shape->accesses && !ti_box_is_empty(&task->shape->range); i++) {
            const ti_access *a = &task->shape->access[i];
            if (writes ? ti_access_writes(a) || a->mode == TACIT_REDUCE : ti_access_needs_old(a)) {
                ti_vec_clear(&image);
                ti_access_image(a, &task->shape->range, &image);
                sim_add_boxes(s, sim_buffer(s, a->buffer), image.data, image.count, &list);
            }
        }
        if (list.count) {
            *(writes ? &v->write : &v->read) = sim_keep(s, &list);
        }
    }
    ti_vec_fini(&image);
    ti_vec_fini(&list);
    ti_vec_push(&s->task_vertex, v);
}

static bool is_point(const sim *s, uint64_t id)
{
    return s->task_vertex.data[id - 1]->kind == TI_COMMAND_EPOCH;
}

/* The same but for points: what they stand for precedes every task, and is listed or not. A tracker that has been
 * described (plan/task/cycle.c; not where there is a report) has forgotten sooner what lies below one. */
static bool same_task(const sim *s, const ti_task *a, const sim_command *b)
{
    bool same = a->id == b->id && (a->kind == TI_TASK_HORIZON || a->kind == TI_TASK_EPOCH) == is_point(s, b->id);
    for (size_t i = 0, k = 0; same && (i < a->deps || k < b->deps);) {
        if (i < a->deps && is_point(s, a->dep[i])) {
            i++;
        } else if (k < b->deps && is_point(s, b->dep[k])) {
            k++;
        } else {
            same = i < a->deps && k < b->deps && a->dep[i++] == b->dep[k++];
        }
    }
    return same;
}

/* Hand one task of node r's task graph to its command graph. */
static bool plan_task(sim *s, int r, const ti_task *task)
{
    sim_node *n = &s->node[r];
    if (r == 0) {
        record_task(s, task);
        s->counts.tasks++;
        s->counts.horizons += task->kind == TI_TASK_HORIZON;
    }
    SIM_CHECK(s, task->id <= s->task_vertex.count && same_task(s, task, s->task_vertex.data[task->id - 1]),
              "task graphs of node 0 and %d differ", r);
    ti_command_batch batch = ti_command_graph_add(n->graph, &task, 1);
    for (size_t i = 0; i < batch.count; i++) {
        ti_vec_push(&n->made, batch.command[i]);
    }
    for (size_t i = 0; i < batch.tasks; i++) {
        ti_vec_push(&n->planned, batch.task[i]);
    }
    return true;
}

static bool plan_step(sim *s, int r, const gen_step *step)
{
    const ti_task *out[TI_TASK_GRAPH_BATCH];
    ti_task *task = lower_step(&s->lowering, step, s->node[r].tasks);
    if (step->kind == GEN_TASK || step->kind == GEN_FENCE) {
        ti_strbuf why = { 0 };
        bool empty = ti_box_is_empty(&task->shape->range);
        tacit_status status = empty ? TACIT_OK : ti_task_graph_check(s->node[r].tasks, task->shape, &why);
        ti_strbuf_fini(&why);
        SIM_CHECK(s, status == TACIT_OK, "the task graph refuses a task");
    }
    size_t count = ti_task_graph_add(s->node[r].tasks, task, out);
    for (size_t i = 0; i < count; i++) {
        if (!plan_task(s, r, out[i])) {
            return false;
        }
    }
    return true;
}

/* ---- what was planned: at once, or with lookahead when the window has closed, on all nodes in the same order */

static bool record_planned(sim *s, sim_node *n, const ti_task *task, size_t *at)
{
    for (; *at < n->made.count && n->made.data[*at]->task == task; ++*at) {
        if (!record(s, n, n->made.data[*at])) {
            return false;
        }
    }
    return true;
}

static void release_executed(sim *s, const ti_task *task)
{
    bool point = task->kind == TI_TASK_HORIZON || task->kind == TI_TASK_EPOCH;
    for (int r = 0; s->options.release && point && r < s->nodes; r++) {
        ti_command_graph_release(s->node[r].graph, task->id);
        ti_task_graph_release(s->node[r].tasks, task->id);
    }
}

static bool check_planned(sim *s, size_t index, size_t *at)
{
    const ti_task *first = s->node[0].planned.data[index];
    ti_task_kind kind = first->kind;
    s->step = s->task_vertex.data[first->id - 1]->step;
    s->stamp = (uint32_t)s->step + 2;
    for (int r = 0; r < s->nodes; r++) {
        const ti_task *task = s->node[r].planned.data[index];
        SIM_CHECK(s, task->id == first->id, "node %d plans task %llu where node 0 plans task %llu", r,
                  (unsigned long long)task->id, (unsigned long long)first->id);
        if (!record_planned(s, &s->node[r], task, &at[r])) {
            return false;
        }
    }
    const gen_step *step = &s->program->step.data[s->step];
    if (kind != TI_TASK_HORIZON && !check_step(s, step)) {
        return false;
    }
    if (kind == TI_TASK_DESTROY) {
        lower_end(&s->lowering, step);
    }
    release_executed(s, first);
    return true;
}

static bool check_all_planned(sim *s)
{
    size_t *at = TI_ARENA_ARRAY(&s->arena, size_t, (size_t)s->nodes);
    memset(at, 0, (size_t)s->nodes * sizeof(*at));
    for (int r = 0; r < s->nodes; r++) {
        SIM_CHECK(s, s->node[r].planned.count == s->node[0].planned.count, "node %d has planned other tasks", r);
    }
    for (size_t i = 0; i < s->node[0].planned.count; i++) {
        if (!check_planned(s, i, at)) {
            return false;
        }
    }
    for (int r = 0; r < s->nodes; r++) {
        SIM_CHECK(s, at[r] == s->node[r].made.count, "node %d: commands of no task", r);
        ti_vec_clear(&s->node[r].made);
        ti_vec_clear(&s->node[r].planned);
    }
    return true;
}

static bool run_step(sim *s, size_t index)
{
    const gen_step *step = &s->program->step.data[index];
    s->step = index;
    s->stamp = (uint32_t)s->step + 2;
    lower_begin(&s->lowering, step);
    for (int r = 0; r < s->nodes; r++) {
        if (!plan_step(s, r, step)) {
            return false;
        }
    }
    bool looks = s->options.look <= 1 || index % (size_t)s->options.look == 0 || index + 1 == s->program->step.count;
    return check_all_planned(s) && (!looks || check_maps(s));
}

bool sim_run(sim *s)
{
    for (size_t i = 0; i < s->program->step.count; i++) {
        if (!run_step(s, i)) {
            return false;
        }
    }
    return sim_check_order(s, s->task_vertex.data, s->task_vertex.count, "tasks");
}
