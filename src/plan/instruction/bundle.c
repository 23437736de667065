/* The instruction graph, bundles: messages of several parts, each of which is a transfer of a task in a window of
 * stages (plan/command/bundle.c).
 *
 * A part lies in an allocation of its own from when it is packed until it has been sent, or from when the message is
 * received until it has been unpacked. These allocations are used by nobody else: what is used again would be waited
 * for, and nothing that is sent may wait for what has arrived in the same window. */
#include "plan/instruction/staging.h"

typedef struct ti_open_bundle {
    const ti_bundle *bundle;
    uint64_t counter;
    int peer;
    bool send;
    uint32_t done;                            /* parts that have been packed, or unpacked */
    uint64_t received;                        /* the instruction that receives all of them */
    TI_VEC(uint64_t) allocation, made, ready; /* of the parts' boxes; who allocates, and who packs them */
} ti_open_bundle;

static void allocate(ti_instruction_graph *graph, const ti_task *task, ti_open_bundle *b, const ti_bundle_part *part)
{
    for (uint32_t i = 0; i < part->boxes; i++) {
        uint64_t allocation, bytes = ti_bytes_of(part->buffer, &part->box[i]);
        ti_instruction_make_room(graph, task, bytes);
        ti_vec_push(&b->made, ti_emit_staging(&graph->emit, task, 0, bytes, &allocation));
        ti_vec_push(&b->allocation, allocation);
    }
}

/* ---- the message */

/* The box as bytes. */
static ti_box scaled(const ti_box *box, size_t elem_size)
{
    ti_box out = *box;
    out.min[2] *= (int64_t)elem_size;
    out.max[2] *= (int64_t)elem_size;
    return out;
}

/* Elements of different sizes travel as bytes. */
static size_t common_size(const ti_bundle *bundle)
{
    size_t size = bundle->part[0].buffer->elem_size;
    for (uint32_t i = 1; i < bundle->parts; i++) {
        size = bundle->part[i].buffer->elem_size == size ? size : 1;
    }
    return size;
}

static ti_instruction *start_message(ti_instruction_graph *graph, const ti_task *task, const ti_open_bundle *b)
{
    size_t size = common_size(b->bundle), n = 0;
    ti_instruction *message = ti_emit_start(&graph->emit, b->send ? TI_INSTRUCTION_SEND : TI_INSTRUCTION_RECEIVE, task);
    ti_instruction_box *box = TI_ARENA_ARRAY(ti_arena_ring_top(&graph->emit.arenas), ti_instruction_box,
                                             b->allocation.count);
    for (uint32_t p = 0; p < b->bundle->parts; p++) {
        const ti_bundle_part *part = &b->bundle->part[p];
        for (uint32_t i = 0; i < part->boxes; i++, n++) {
            box[n].box = scaled(&part->box[i], part->buffer->elem_size / size);
            box[n].place = (ti_place){ .allocation = b->allocation.data[n], .whole = box[n].box };
        }
    }
    TI_ASSERT(n == b->allocation.count);
    message->as.transfer.peer = b->peer;
    message->as.transfer.boxes = (uint32_t)n;
    message->as.transfer.counter = b->counter;
    message->as.transfer.box = box;
    message->as.transfer.elem_size = size;
    message->as.transfer.buffer = b->bundle->part[0].buffer;
    return message;
}

static void free_box(ti_instruction_graph *graph, const ti_task *task, const ti_bundle_part *part, uint32_t i,
                     uint64_t allocation, uint64_t after)
{
    ti_emit_unstaging(&graph->emit, task, 0, ti_bytes_of(part->buffer, &part->box[i]), allocation, &after, 1);
}

static void send(ti_instruction_graph *graph, const ti_task *task, const ti_open_bundle *b)
{
    ti_instruction *message = start_message(graph, task, b);
    ti_deps_add_all(&graph->emit.deps, b->ready.data, b->ready.count);
    ti_emit(&graph->emit, message);
    for (uint32_t p = 0, n = 0; p < b->bundle->parts; p++) {
        for (uint32_t i = 0; i < b->bundle->part[p].boxes; i++, n++) {
            free_box(graph, task, &b->bundle->part[p], i, b->allocation.data[n], message->id);
        }
    }
}

static void receive(ti_instruction_graph *graph, const ti_task *task, ti_open_bundle *b)
{
    for (uint32_t p = 0; p < b->bundle->parts; p++) {
        allocate(graph, task, b, &b->bundle->part[p]);
    }
    ti_instruction *message = start_message(graph, task, b);
    ti_deps_add_all(&graph->emit.deps, b->made.data, b->made.count);
    ti_emit(&graph->emit, message);
    b->received = message->id;
}

/* ---- parts */

/* Copy one box between the buffer's host memory and the allocation. Returns the copy's id. */
static uint64_t copy_box(ti_instruction_graph *graph, const ti_command *c, const ti_box *box, uint64_t allocation,
                         uint64_t after)
{
    const ti_buffer_info *buffer = c->as.transfer.buffer;
    bool out = c->kind == TI_COMMAND_SEND;
    int in = ti_instruction_place_in(graph, buffer, box, TI_HOST_MEMORY);
    if (out) {
        ti_instruction_make_fresh(graph, c->task, buffer, box, in);
    }
    ti_instruction *copy = ti_emit_start(&graph->emit, TI_INSTRUCTION_COPY, c->task);
    ti_place inside = ti_instruction_place(graph, buffer, box, in);
    ti_place outside = { .allocation = allocation, .whole = *box };
    copy->as.copy.from = out ? inside : outside;
    copy->as.copy.to = out ? outside : inside;
    copy->as.copy.box = *box;
    copy->as.copy.elem_size = buffer->elem_size;
    ti_deps_add(&graph->emit.deps, after);
    ti_instruction_touch(graph, buffer, box, in, !out);
    ti_emit(&graph->emit, copy);
    return copy->id;
}

static ti_open_bundle *open_bundle(ti_instruction_graph *graph, const ti_command *c)
{
    for (size_t i = 0; i < graph->bundle.count; i++) {
        if (graph->bundle.data[i]->bundle == c->as.transfer.bundle) {
            return graph->bundle.data[i];
        }
    }
    ti_open_bundle *b = TI_NEW(ti_open_bundle);
    b->bundle = c->as.transfer.bundle;
    b->counter = c->as.transfer.counter;
    b->peer = c->as.transfer.peer;
    b->send = c->kind == TI_COMMAND_SEND;
    ti_vec_push(&graph->bundle, b);
    return b;
}

static void close_bundle(ti_open_bundle *b)
{
    ti_vec_fini(&b->allocation);
    ti_vec_fini(&b->made);
    ti_vec_fini(&b->ready);
    TI_DELETE(b);
}

void ti_instruction_bundles_fini(ti_instruction_graph *graph)
{
    for (size_t i = 0; i < graph->bundle.count; i++) {
        close_bundle(graph->bundle.data[i]);
    }
    ti_vec_fini(&graph->bundle);
}

/* The index of the part's first box. */
static size_t first_box(const ti_bundle *bundle, uint32_t part)
{
    size_t first = 0;
    for (uint32_t p = 0; p < part; p++) {
        first += bundle->part[p].boxes;
    }
    return first;
}

void ti_instruction_compile_part(ti_instruction_graph *graph, const ti_command *c)
{
    ti_open_bundle *b = open_bundle(graph, c);
    const ti_bundle_part *part = &b->bundle->part[c->as.transfer.part];
    size_t first = first_box(b->bundle, c->as.transfer.part);
    TI_ASSERT(b->done == c->as.transfer.part && part->buffer == c->as.transfer.buffer);
    if (b->send) {
        allocate(graph, c->task, b, part);
    } else if (b->done == 0) {
        receive(graph, c->task, b);
    }
    for (uint32_t i = 0; i < part->boxes; i++) {
        uint64_t allocation = b->allocation.data[first + i];
        uint64_t copy = copy_box(graph, c, &part->box[i], allocation, b->send ? b->made.data[first + i] : b->received);
        if (b->send) {
            ti_vec_push(&b->ready, copy);
        } else {
            free_box(graph, c->task, part, i, allocation, copy);
        }
    }
    if (++b->done < b->bundle->parts) {
        return;
    }
    if (b->send) {
        send(graph, c->task, b);
    }
    size_t at = 0;
    while (graph->bundle.data[at] != b) {
        at++;
    }
    graph->bundle.data[at] = graph->bundle.data[--graph->bundle.count];
    close_bundle(b);
}
