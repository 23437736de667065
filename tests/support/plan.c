/* Planners for literal tests: see plan.h. */
#include "plan.h"

#include <limits.h>
#include <string.h>

static void init_node(const plan *p, plan_node *n, int node, const plan_setup *setup)
{
    int nodes = p->program->nodes;
    n->system = (ti_system){
        .node = node, .num_nodes = nodes, .devices = 1, .memories = 1, .workers = 1, .total_workers = nodes
    };
    n->system.horizon_step = setup->horizon_step ? setup->horizon_step : 4;
    n->system.horizon_front = 64;
    n->system.old_producers = setup->old_producers;
    n->system.latency_tasks = setup->latency_tasks;
    n->system.latency_horizons = INT_MAX;
    n->system.latency_staged = setup->latency_staged;
    n->system.overlap = setup->overlap;
    n->system.collectives = setup->collectives;
    n->system.multicast = setup->multicast;
    n->system.explain = n == p->node ? p->explain : NULL;
    n->tasks = ti_task_graph_create(&n->system);
    n->graph = ti_command_graph_create(&n->system);
}

static void add_box(ti_strbuf *text, const ti_box *box, int dims)
{
    char part[TI_BOX_TEXT];
    ti_strbuf_add(text, "%s", ti_box_format(box, dims > 0 ? dims : 1, part));
}

static void describe_transfer(plan_node *n, const ti_command *c)
{
    const ti_buffer_info *buffer = c->as.transfer.buffer;
    ti_strbuf_add(&n->text, "%s %d %s ", c->kind == TI_COMMAND_SEND ? "send" : "receive", c->as.transfer.peer,
                  buffer->name);
    for (uint32_t i = 0; i < c->as.transfer.boxes; i++) {
        ti_strbuf_add(&n->text, "%s", i ? "+" : "");
        add_box(&n->text, &c->as.transfer.box[i], buffer->dims);
        n->elements += (uint64_t)ti_box_volume(&c->as.transfer.box[i]);
    }
    n->messages++;
}

static void add_boxes(ti_strbuf *text, const char *word, const ti_box *box, uint32_t count, int dims)
{
    for (uint32_t i = 0; i < count; i++) {
        ti_strbuf_add(text, "%s", i ? "+" : word);
        add_box(text, &box[i], dims);
    }
}

/* A gather, broadcast or scatter has a root; in groups, it is a member of each. */
static void describe_collective(plan_node *n, const ti_command *c)
{
    const ti_collective *what = c->as.collective.what;
    const ti_buffer_info *buffer = c->as.collective.buffer;
    ti_strbuf_add(&n->text, "%s", ti_pattern_name(what->pattern));
    if (what->root >= 0) {
        ti_strbuf_add(&n->text, " %s %d", what->pattern == TI_PATTERN_GATHER ? "to" : "from", what->root);
    }
    if (what->members) {
        ti_strbuf_add(&n->text, " in %d groups of %d", ti_collective_groups(what), what->members);
    }
    ti_strbuf_add(&n->text, " %s", buffer->name);
    add_boxes(&n->text, " ", what->region, what->regions, buffer->dims);
    add_boxes(&n->text, " give ", c->as.collective.give, c->as.collective.gives, buffer->dims);
    add_boxes(&n->text, " get ", c->as.collective.get, c->as.collective.gets, buffer->dims);
}

static void add_spans(ti_strbuf *text, const char *word, const ti_block_message *message, int messages)
{
    for (int i = 0; i < messages; i++) {
        ti_strbuf_add(text, " %s %d ", word, message[i].peer);
        for (uint32_t k = 0; k < message[i].spans; k++) {
            ti_strbuf_add(text, "%s[%u,%u)", k ? "+" : "", message[i].span[k].first, message[i].span[k].end);
        }
    }
}

static void describe_reduction(plan_node *n, const ti_command *c)
{
    const ti_tree_place *tree = c->as.reduce.tree;
    const ti_collective *what = c->as.reduce.what;
    if (what) {
        ti_strbuf_add(&n->text, "%s", ti_pattern_name(what->pattern));
        if (what->root >= 0) {
            ti_strbuf_add(&n->text, " to %d", what->root);
        }
        ti_strbuf_add(&n->text, "%s%s", c->as.reduce.alone ? " with nothing" : "",
                      c->as.reduce.takes_old ? " and the old value" : "");
        return;
    }
    if (!tree) {
        const ti_block_place *place = c->as.reduce.blocks;
        ti_strbuf_add(&n->text, "reduce [%u,%u)", place->own.first, place->own.end);
        add_spans(&n->text, "from", place->receive, place->receives);
        add_spans(&n->text, "to", place->send, place->sends);
        return;
    }
    ti_strbuf_add(&n->text, "reduce to %d", tree->parent);
    for (int i = 0; i < tree->children; i++) {
        ti_strbuf_add(&n->text, " from %d", tree->child[i]);
    }
}

static void describe(plan_node *n, const ti_command *c)
{
    ti_strbuf_add(&n->text, "%s", n->text.length ? "; " : "");
    switch (c->kind) {
    case TI_COMMAND_EXECUTE:
        ti_strbuf_add(&n->text, "execute ");
        for (uint32_t i = 0; i < c->as.execute.pieces; i++) {
            ti_strbuf_add(&n->text, "%s", i ? "+" : "");
            add_box(&n->text, &c->as.execute.piece[i].chunk, c->task->shape->dims);
        }
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        describe_transfer(n, c);
        break;
    case TI_COMMAND_COLLECTIVE:
        describe_collective(n, c);
        break;
    case TI_COMMAND_REDUCE:
        describe_reduction(n, c);
        break;
    case TI_COMMAND_FENCE:
        ti_strbuf_add(&n->text, "fence ");
        for (size_t i = 0; i < c->task->as.fence.pieces; i++) {
            add_box(&n->text, &c->task->as.fence.piece[i].box, c->task->shape->access[0].buffer->dims);
        }
        break;
    case TI_COMMAND_EPOCH:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        ti_strbuf_add(&n->text, "%s", c->task->shape->name);
        break;
    }
}

/* The latest task and what it brings about: a horizon is planned, but not described. */
static void plan_node_step(plan *p, plan_node *n, const gen_step *step)
{
    const ti_task *out[TI_TASK_GRAPH_BATCH];
    p->lowering.serial = p->shape;
    ti_task *task = lower_step(&p->lowering, step, n->tasks);
    size_t count = ti_task_graph_add(n->tasks, task, out);
    uint64_t before = ti_command_graph_counts(n->graph).chunks_evaluated;
    ti_strbuf_clear(&n->text);
    n->messages = n->elements = 0;
    for (size_t t = 0; t < count; t++) {
        ti_command_batch batch = ti_command_graph_add(n->graph, &out[t], 1);
        for (size_t i = 0; i < batch.count && t == 0; i++) {
            describe(n, batch.command[i]);
        }
        if (out[t]->kind == TI_TASK_HORIZON) {
            ti_command_graph_release(n->graph, out[t]->id);
            ti_task_graph_release(n->tasks, out[t]->id);
        }
    }
    n->evaluated = ti_command_graph_counts(n->graph).chunks_evaluated - before;
    n->replayed = ti_command_graph_counts(n->graph).replayed;
}

static void run(plan *p, gen_step step)
{
    lower_begin(&p->lowering, &step);
    for (int i = 0; i < p->count; i++) {
        plan_node_step(p, &p->node[i], &step);
    }
    lower_end(&p->lowering, &step);
}

void plan_init(plan *p, int nodes, int only, const gen_buffer *buffer, size_t buffers)
{
    plan_start(p, &(plan_setup){ .nodes = nodes, .only = only, .collectives = TI_COLLECTIVES_OFF }, buffer, buffers);
}

void plan_start(plan *p, const plan_setup *setup, const gen_buffer *buffer, size_t buffers)
{
    int nodes = setup->nodes, only = setup->only;
    static const char *const names[] = { "A", "B", "C", "D", "E", "F", "G", "H" };
    memset(p, 0, sizeof(*p));
    p->program = TI_NEW(gen_program);
    p->program->nodes = nodes;
    for (size_t i = 0; i < buffers; i++) {
        ti_vec_push(&p->program->buffer, buffer[i]);
    }
    ti_vec_push(&p->program->task, (gen_task){ 0 });
    for (size_t i = 0; i < setup->customs; i++) {
        ti_vec_push(&p->program->custom, (gen_custom){ 0 });
    }
    lower_init(&p->lowering, p->program);
    for (size_t i = 0; i < setup->customs; i++) {
        p->lowering.custom[i] = setup->custom[i];
        p->lowering.custom[i].handle = (int)i;
    }
    p->explain = ti_explain_create();
    p->count = only < 0 ? nodes : 1;
    p->node = TI_NEW_ARRAY(plan_node, (size_t)p->count);
    for (int i = 0; i < p->count; i++) {
        init_node(p, &p->node[i], only < 0 ? i : only, setup);
    }
    for (size_t i = 0; i < buffers; i++) {
        p->lowering.info[i].name = names[i % 8];
        run(p, (gen_step){ .kind = GEN_CREATE, .index = (int)i });
    }
}

void plan_fini(plan *p)
{
    for (int i = 0; i < p->count; i++) {
        ti_command_graph_destroy(p->node[i].graph);
        ti_task_graph_destroy(p->node[i].tasks);
        ti_strbuf_fini(&p->node[i].text);
    }
    ti_free(p->node, (size_t)p->count * sizeof(*p->node));
    ti_explain_destroy(p->explain);
    lower_fini(&p->lowering);
    gen_destroy(p->program);
}

void plan_placed(plan *p, int node, gen_task task)
{
    gen_task *slot = &p->program->task.data[0];
    *slot = task;
    slot->place = node;
    while (slot->accesses < GEN_ACCESSES && slot->access[slot->accesses].mode != 0) {
        slot->accesses++;
    }
    run(p, (gen_step){ .kind = GEN_TASK, .index = 0 });
    slot->weights = NULL; /* the caller's */
}

void plan_task(plan *p, gen_task task)
{
    plan_placed(p, -1, task);
}

void plan_fence(plan *p, int buffer, gen_box box)
{
    run(p, (gen_step){ .kind = GEN_FENCE, .index = buffer, .box = box });
}

const char *plan_text(const plan *p, int i)
{
    return ti_strbuf_text(&p->node[i].text);
}

uint64_t plan_entries(const plan *p)
{
    return ti_command_graph_counts(p->node[0].graph).entries;
}

const ti_explain_edge *plan_edge(const plan *p, const char *consumer, const char *buffer)
{
    uint64_t times;
    for (size_t i = ti_explain_rows(p->explain); i-- > 0;) {
        const ti_explain_edge *e = ti_explain_row(p->explain, i, &times);
        if (strcmp(e->consumer, consumer) == 0 && strcmp(e->buffer, buffer) == 0) {
            return e;
        }
    }
    return NULL;
}
