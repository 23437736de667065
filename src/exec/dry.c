/* The issue table of dry runs: see dry.h. */
#include "exec/dry.h"

#include "base/check.h"
#include "base/hash.h"

#include <string.h>

enum { MAX_NAMES = 1000 };

void ti_dry_fini(ti_dry *dry)
{
    for (size_t i = 0; i < dry->names.count; i++) {
        ti_strfree(dry->names.data[i].name);
    }
    ti_vec_fini(&dry->names);
    ti_vec_fini(&dry->place);
    ti_map_fini(&dry->name_index);
    ti_map_fini(&dry->peers);
    ti_dry_memory_fini(&dry->memory);
}

/* ---- by name of the task */

static ti_dry_name *name_of(ti_dry *dry, const char *name)
{
    uint64_t key = ti_hash_bytes(name, strlen(name));
    for (const uint64_t *index; (index = ti_map_find(&dry->name_index, key)); key++) {
        if (strcmp(dry->names.data[*index - 1].name, name) == 0) {
            return &dry->names.data[*index - 1];
        }
    }
    if (dry->names.count <= MAX_NAMES) {
        ti_dry_name fresh = { .name = ti_strdup(dry->names.count < MAX_NAMES ? name : "(others)") };
        ti_vec_push(&dry->names, fresh);
        if (dry->names.count <= MAX_NAMES) {
            *ti_map_at(&dry->name_index, key) = dry->names.count;
        }
    }
    return &dry->names.data[dry->names.count - 1];
}

/* ---- kinds of instructions */

static void note_kernel(ti_dry *dry, const ti_instruction *i)
{
    ti_dry_name *name = name_of(dry, i->task->shape->name);
    uint64_t items = (uint64_t)ti_box_volume(&i->as.kernel.chunk);
    name->kernels++;
    name->items += items;
    dry->items += items;
}

static void note_transfer(ti_dry *dry, const ti_instruction *i)
{
    ti_dry_name *name = name_of(dry, i->task->shape->name);
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < i->as.transfer.boxes; k++) {
        bytes += (uint64_t)ti_box_volume(&i->as.transfer.box[k].box) * i->as.transfer.elem_size;
    }
    if (i->task->kind == TI_TASK_FENCE) {
        dry->fence_messages++;
        dry->fence_bytes += bytes;
    } else {
        *ti_map_at(&dry->peers, (uint64_t)i->as.transfer.peer) += 1;
    }
    if (i->kind == TI_INSTRUCTION_SEND) {
        name->messages_sent++;
        name->bytes_sent += bytes;
        dry->network->messages_sent++;
        dry->network->bytes_sent += bytes;
    } else {
        name->messages_received++;
        name->bytes_received += bytes;
        dry->network->messages_received++;
        dry->network->bytes_received += bytes;
    }
}

static void note_collective(ti_dry *dry, const ti_instruction *i)
{
    ti_dry_name *name = name_of(dry, i->task->shape->name);
    uint64_t elem = i->as.collective.elem_size;
    uint64_t out = (uint64_t)ti_boxes_volume(i->as.collective.give, i->as.collective.gives) * elem;
    uint64_t in = (uint64_t)ti_boxes_volume(i->as.collective.get, i->as.collective.gets) * elem;
    if (i->task->kind == TI_TASK_FENCE) {
        dry->fence_collectives++;
        dry->fence_collective_bytes += out + in;
    }
    name->collectives++;
    name->bytes_sent += out;
    name->bytes_received += in;
    dry->network->collectives++;
    dry->network->collective_bytes_out += out;
    dry->network->collective_bytes_in += in;
}

static void note_place(ti_dry *dry, int device, uint64_t add, uint64_t sub)
{
    while (dry->place.count <= (size_t)device) {
        ti_vec_push(&dry->place, (ti_dry_place){ 0 });
    }
    ti_dry_place *p = &dry->place.data[device];
    TI_ASSERT(p->bytes + add >= sub);
    p->bytes += add - sub;
    p->peak = TI_MAX(p->peak, p->bytes);
}

/* A fence's values; what a program gives for initial contents is not looked at. */
static void zero_fence(const ti_instruction *i)
{
    const ti_place *to = &i->as.copy.to;
    /* Of a local array's parts. */
    bool is_first = memcmp(i->as.copy.box.min, to->whole.min, sizeof(to->whole.min)) == 0;
    if (to->allocation == 0 && is_first) {
        memset(to->user, 0, (size_t)ti_box_volume(&to->whole) * i->as.copy.elem_size);
    }
}

bool ti_dry_issue(ti_dry *dry, const ti_instruction *i)
{
    dry->instructions[i->kind]++;
    ti_dry_memory_note(&dry->memory, i);
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
        note_place(dry, i->device, i->as.memory.bytes - i->as.memory.grown_bytes, 0);
        dry->buffer_bytes += i->as.memory.bytes - i->as.memory.grown_bytes;
        dry->buffer_bytes_peak = TI_MAX(dry->buffer_bytes_peak, dry->buffer_bytes);
        return true;
    case TI_INSTRUCTION_FREE:
        TI_ASSERT(dry->buffer_bytes >= i->as.memory.bytes);
        note_place(dry, i->device, 0, i->as.memory.bytes);
        dry->buffer_bytes -= i->as.memory.bytes;
        return true;
    case TI_INSTRUCTION_COPY:
        zero_fence(i);
        return true;
    case TI_INSTRUCTION_KERNEL:
    case TI_INSTRUCTION_HOST:
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        note_kernel(dry, i);
        return true;
    case TI_INSTRUCTION_SEND:
    case TI_INSTRUCTION_RECEIVE:
        note_transfer(dry, i);
        return true;
    case TI_INSTRUCTION_COLLECTIVE:
        note_collective(dry, i);
        return true;
    case TI_INSTRUCTION_REDUCE:
        return true;
    case TI_INSTRUCTION_FENCE:
    case TI_INSTRUCTION_EPOCH:
        break;
    }
    return false;
}
