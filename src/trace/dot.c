/* The three graphs as Graphviz text: see dot.h. */
#include "trace/dot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool ti_dot_init(ti_dot *dot, const char *window)
{
    *dot = (ti_dot){ .end_task = UINT64_MAX };
    unsigned long long first, end;
    char rest;
    if (!window) {
        return true;
    }
    if (strspn(window, "0123456789:") != strlen(window) || sscanf(window, "%llu:%llu%c", &first, &end, &rest) != 2 ||
        first >= end) {
        return false;
    }
    dot->first_task = first;
    dot->end_task = end;
    return true;
}

void ti_dot_fini(ti_dot *dot)
{
    ti_strbuf_fini(&dot->text);
}

static bool is_shown(ti_dot *dot, const ti_task *task, uint64_t vertex)
{
    if (task->id < dot->first_task || task->id >= dot->end_task) {
        return false;
    }
    dot->first_vertex = dot->first_vertex ? dot->first_vertex : vertex;
    return true;
}

static const size_t MAX_BOXES = 8; /* of a fence */

static void add_box(ti_dot *dot, const ti_box *box, int dims)
{
    char text[TI_BOX_TEXT];
    ti_strbuf_add(&dot->text, " %s", ti_box_format(box, dims, text));
}

/* Quotes would end the label. */
static void add_name(ti_dot *dot, const char *name)
{
    ti_strbuf clean = { 0 };
    ti_strbuf_add_utf8(&clean, name);
    for (const char *c = ti_strbuf_text(&clean); *c; c++) {
        ti_strbuf_add(&dot->text, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    }
    ti_strbuf_fini(&clean);
}

/* Its label begins with a text and a name. */
static void open_vertex(ti_dot *dot, uint64_t id, const char *shape, const char *colour, const char *name,
                        const char *format, ...) TI_PRINTF(6, 7);
static void open_vertex(ti_dot *dot, uint64_t id, const char *shape, const char *colour, const char *name,
                        const char *format, ...)
{
    va_list args;
    ti_strbuf_add(&dot->text, "  v%" PRIu64 " [shape=%s, style=filled, fillcolor=\"%s\", label=\"", id, shape, colour);
    va_start(args, format);
    ti_strbuf_vadd(&dot->text, format, args);
    va_end(args);
    add_name(dot, name);
}

static void close_vertex(ti_dot *dot, uint64_t id, const uint64_t *dep, uint32_t deps)
{
    ti_strbuf_add(&dot->text, "\"];\n");
    for (uint32_t i = 0; i < deps; i++) {
        if (dep[i] >= dot->first_vertex) {
            ti_strbuf_add(&dot->text, "  v%" PRIu64 " -> v%" PRIu64 ";\n", dep[i], id);
        }
    }
}

static const char *mode_name(int mode)
{
    static const char *const names[] = { "", "read", "write", "update", "reduce" };
    return mode >= TACIT_READ && mode <= TACIT_REDUCE ? names[mode] : "access";
}

static void add_accesses(ti_dot *dot, const ti_task *task)
{
    for (uint32_t i = 0; i < task->shape->accesses; i++) {
        const ti_access *a = &task->shape->access[i];
        ti_boxes boxes = { 0 };
        ti_access_image(a, &task->shape->range, &boxes);
        ti_strbuf_add(&dot->text, "\\n%s ", mode_name(a->mode));
        add_name(dot, a->buffer->name);
        for (size_t k = 0; k < boxes.count; k++) {
            add_box(dot, &boxes.data[k], a->buffer->dims);
        }
        ti_vec_fini(&boxes);
    }
}

/* Between producer and consumer: a vertex of its own, with the region that may change hands. */
static void add_forwards(ti_dot *dot, const ti_task *task)
{
    for (uint32_t i = 0; i < task->forwards; i++) {
        const ti_forward *f = &task->forward[i];
        ti_strbuf_add(&dot->text,
                      "  f%" PRIu64 "_%u [shape=ellipse, style=filled, fillcolor=\"#fce5cd\", label=\"forward ",
                      task->id, i);
        add_name(dot, f->buffer->name);
        for (uint32_t k = 0; k < TI_MIN(f->boxes, (uint32_t)MAX_BOXES); k++) {
            add_box(dot, &f->box[k], f->buffer->dims);
        }
        ti_strbuf_add(&dot->text, "\"];\n  f%" PRIu64 "_%u -> v%" PRIu64 ";\n", task->id, i, task->id);
        if (f->producer >= dot->first_vertex) {
            ti_strbuf_add(&dot->text, "  v%" PRIu64 " -> f%" PRIu64 "_%u;\n", f->producer, task->id, i);
        }
    }
}

void ti_dot_task(ti_dot *dot, const ti_task *task)
{
    static const char *const colours[] = { "#cfe2f3", "#d9ead3", "#eeeeee", "#eeeeee", "#fff2cc", "#fff2cc" };
    if (!is_shown(dot, task, task->id)) {
        return;
    }
    open_vertex(dot, task->id, "box", colours[task->kind], task->shape->name, "T%" PRIu64 " ", task->id);
    if (task->kind == TI_TASK_EXECUTE) {
        ti_strbuf_add(&dot->text, "%s", task->shape->place == TI_PLACE_EVERYWHERE ? " on every node" : "");
        add_box(dot, &task->shape->range, task->shape->dims);
        add_accesses(dot, task);
    }
    for (uint32_t i = 0; i < task->shape->orders; i++) {
        if (task->shape->order[i] >= TI_ORDER_OF_OBJECTS) {
            ti_strbuf_add(&dot->text, "\\nhost object %u", task->shape->order[i] - TI_ORDER_OF_OBJECTS + 1);
        } else if (task->shape->group) {
            ti_strbuf_add(&dot->text, "\\ngroup %d", task->shape->group);
        }
    }
    close_vertex(dot, task->id, task->dep, task->deps);
    add_forwards(dot, task);
}

static void open_transfer(ti_dot *dot, uint64_t id, const ti_buffer_info *buffer, bool send, int peer, uint64_t counter)
{
    open_vertex(dot, id, "ellipse", send ? "#f9cb9c" : "#fce5cd", buffer->name, "%s ", send ? "send" : "receive");
    ti_strbuf_add(&dot->text, "\\n%s node %d, message %" PRIu64 "\\n", send ? "to" : "from", peer, counter);
}

static void add_reduction(ti_dot *dot, const ti_command *c)
{
    const ti_collective *what = c->as.reduce.what;
    if (what) {
        ti_strbuf_add(&dot->text, "\\n%s", ti_pattern_name(what->pattern));
        if (what->root >= 0) {
            ti_strbuf_add(&dot->text, " to %d", what->root);
        }
        return;
    }
    if (c->as.reduce.tree) {
        ti_strbuf_add(&dot->text, "\\n%d children, parent %d", c->as.reduce.tree->children, c->as.reduce.tree->parent);
        return;
    }
    const ti_block_place *place = c->as.reduce.blocks;
    ti_strbuf_add(&dot->text, "\\nblocks [%u,%u) of %u", place->own.first, place->own.end, place->blocks);
    for (int i = 0; i < place->receives; i++) {
        ti_strbuf_add(&dot->text, ", from %d", place->receive[i].peer);
    }
    for (int i = 0; i < place->sends; i++) {
        ti_strbuf_add(&dot->text, ", to %d", place->send[i].peer);
    }
}

static void describe_command(ti_dot *dot, const ti_command *c)
{
    switch (c->kind) {
    case TI_COMMAND_EXECUTE:
        open_vertex(dot, c->id, "box", "#cfe2f3", c->task->shape->name, "execute T%" PRIu64 " ", c->task->id);
        for (uint32_t p = 0; p < c->as.execute.pieces; p++) {
            add_box(dot, &c->as.execute.piece[p].chunk, c->task->shape->dims);
        }
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        open_transfer(dot, c->id, c->as.transfer.buffer, c->kind == TI_COMMAND_SEND, c->as.transfer.peer,
                      c->as.transfer.counter);
        for (uint32_t i = 0; i < c->as.transfer.boxes; i++) {
            add_box(dot, &c->as.transfer.box[i], c->as.transfer.buffer->dims);
        }
        break;
    case TI_COMMAND_REDUCE:
        open_vertex(dot, c->id, "ellipse", "#d9d2e9", c->task->shape->access[c->as.reduce.access].buffer->name,
                    "reduce ");
        add_reduction(dot, c);
        break;
    case TI_COMMAND_FENCE:
        open_vertex(dot, c->id, "box", "#d9ead3", c->task->shape->access[0].buffer->name, "fence ");
        for (size_t i = 0; i < TI_MIN(c->task->as.fence.pieces, MAX_BOXES); i++) {
            add_box(dot, &c->task->as.fence.piece[i].box, c->task->shape->access[0].buffer->dims);
        }
        break;
    case TI_COMMAND_COLLECTIVE:
        open_vertex(dot, c->id, "box", "#fce5cd", c->as.collective.buffer->name, "%s ",
                    ti_pattern_name(c->as.collective.what->pattern));
        break;
    case TI_COMMAND_EPOCH:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        open_vertex(dot, c->id, "box", "#eeeeee", c->task->shape->name, "%s", "");
        break;
    }
}

void ti_dot_command(ti_dot *dot, const ti_command *command)
{
    if (is_shown(dot, command->task, command->id)) {
        describe_command(dot, command);
        close_vertex(dot, command->id, command->dep, command->deps);
    }
}

static void describe_memory(ti_dot *dot, const ti_instruction *i, const char *what)
{
    const ti_buffer_info *buffer = i->as.memory.buffer;
    open_vertex(dot, i->id, "box", "#fff2cc", buffer ? buffer->name : "staging", "%s A%" PRIu64 " ", what,
                i->as.memory.allocation);
    add_box(dot, &i->as.memory.box, buffer ? buffer->dims : 1);
    if (i->as.memory.grown) {
        ti_strbuf_add(&dot->text, " from A%" PRIu64, i->as.memory.grown);
    }
}

static void describe_place(ti_dot *dot, const char *word, const ti_place *place)
{
    if (place->allocation) {
        ti_strbuf_add(&dot->text, " %s A%" PRIu64, word, place->allocation);
    } else {
        ti_strbuf_add(&dot->text, " %s user memory", word);
    }
}

static void describe_kernel(ti_dot *dot, const ti_instruction *i, const char *what)
{
    open_vertex(dot, i->id, "box", "#cfe2f3", i->task->shape->name, "%s ", what);
    add_box(dot, &i->as.kernel.chunk, i->task->shape->dims);
}

static void describe_instruction(ti_dot *dot, const ti_instruction *i)
{
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
        describe_memory(dot, i, "alloc");
        break;
    case TI_INSTRUCTION_FREE:
        describe_memory(dot, i, "free");
        break;
    case TI_INSTRUCTION_COPY:
        open_vertex(dot, i->id, "box", "#d0e0e3", "", "copy");
        describe_place(dot, "from", &i->as.copy.from);
        describe_place(dot, "to", &i->as.copy.to);
        break;
    case TI_INSTRUCTION_KERNEL:
        describe_kernel(dot, i, "kernel");
        break;
    case TI_INSTRUCTION_HOST:
        describe_kernel(dot, i, "host task");
        break;
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        describe_kernel(dot, i, "host task on every node");
        break;
    case TI_INSTRUCTION_SEND:
    case TI_INSTRUCTION_RECEIVE:
        open_transfer(dot, i->id, i->as.transfer.buffer, i->kind == TI_INSTRUCTION_SEND, i->as.transfer.peer,
                      i->as.transfer.counter);
        break;
    case TI_INSTRUCTION_REDUCE:
        open_vertex(dot, i->id, "box", "#d9d2e9", i->as.reduce.buffer->name, "reduce %u %s ",
                    i->as.reduce.pair ? i->as.reduce.pairs : i->as.reduce.slots, i->as.reduce.pair ? "pairs" : "slots");
        break;
    case TI_INSTRUCTION_COLLECTIVE:
        open_vertex(dot, i->id, "box", "#fce5cd", i->as.collective.buffer->name, "%s%s %" PRIu64 " ",
                    i->as.collective.first ? "combine slots, " : "", ti_pattern_name(i->as.collective.what->pattern),
                    i->as.collective.sequence);
        break;
    case TI_INSTRUCTION_FENCE:
    case TI_INSTRUCTION_EPOCH:
        open_vertex(dot, i->id, "box", "#eeeeee", i->task->shape->name, "%s", "");
        break;
    }
}

void ti_dot_instruction(ti_dot *dot, const ti_instruction *instruction)
{
    if (is_shown(dot, instruction->task, instruction->id)) {
        describe_instruction(dot, instruction);
        close_vertex(dot, instruction->id, instruction->dep, instruction->deps);
    }
}

bool ti_dot_write(const ti_dot *dot, const char *path, const char *title)
{
    ti_strbuf whole = { 0 };
    ti_strbuf_add(&whole, "digraph tacit {\n  label=\"%s\"; labelloc=t; fontname=\"sans-serif\";\n", title);
    ti_strbuf_add(&whole, "  node [fontname=\"sans-serif\", fontsize=10];\n  edge [color=\"#666666\"];\n%s}\n",
                  ti_strbuf_text(&dot->text));
    bool good = ti_strbuf_write(&whole, path);
    ti_strbuf_fini(&whole);
    return good;
}
