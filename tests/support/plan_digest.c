/* Plans as numbers: see plan_digest.h. */
#include "plan_digest.h"

#include "base/map.h"

#include <stdio.h>

static void mix(uint64_t *h, uint64_t x)
{
    *h = ti_hash64(*h * 31 + x + 1);
}

static void mix_box(uint64_t *h, const ti_box *box)
{
    for (int d = 0; d < 3; d++) {
        mix(h, (uint64_t)box->min[d]);
        mix(h, (uint64_t)box->max[d]);
    }
}

static void mix_boxes(uint64_t *h, const ti_box *box, uint32_t count)
{
    mix(h, count);
    for (uint32_t i = 0; i < count; i++) {
        mix_box(h, &box[i]);
    }
}

static void mix_ids(uint64_t *h, const uint64_t *id, uint32_t count)
{
    mix(h, count);
    for (uint32_t i = 0; i < count; i++) {
        mix(h, id[i]);
    }
}

static void mix_buffer(uint64_t *h, const ti_buffer_info *buffer)
{
    mix(h, buffer ? buffer->serial : 0);
}

static void mix_place(uint64_t *h, const ti_place *place)
{
    mix(h, place->allocation);
    mix_box(h, &place->whole);
}

/* ---- commands */

static void mix_pieces(uint64_t *h, const ti_command *c)
{
    mix(h, c->as.execute.pieces);
    for (uint32_t p = 0; p < c->as.execute.pieces; p++) {
        mix_box(h, &c->as.execute.piece[p].chunk);
        for (uint32_t a = 0; a < c->task->shape->accesses; a++) {
            const ti_footprint *f = &c->as.execute.piece[p].footprint[a];
            mix_boxes(h, f->box, f->boxes);
        }
    }
}

static void mix_tree(uint64_t *h, const ti_tree_place *tree)
{
    mix(h, (uint64_t)tree->parent);
    mix(h, tree->parent < 0 ? 0 : tree->parent_counter);
    for (int i = 0; i < tree->children; i++) {
        mix(h, (uint64_t)tree->child[i]);
        mix(h, tree->child_counter[i]);
    }
}

static void mix_messages(uint64_t *h, const ti_block_message *message, int messages)
{
    mix(h, (uint64_t)messages);
    for (int i = 0; i < messages; i++) {
        mix(h, (uint64_t)message[i].peer);
        mix(h, message[i].counter);
        for (uint32_t k = 0; k < message[i].spans; k++) {
            mix(h, message[i].span[k].first);
            mix(h, message[i].span[k].end);
        }
    }
}

static void mix_blocks(uint64_t *h, const ti_block_place *place)
{
    mix(h, place->own.first);
    mix(h, place->own.end);
    mix_messages(h, place->receive, place->receives);
    mix_messages(h, place->send, place->sends);
}

static uint64_t command_digest(const ti_command *c)
{
    uint64_t h = c->kind;
    mix(&h, c->id);
    mix(&h, c->task->id);
    mix_ids(&h, c->dep, c->deps);
    switch (c->kind) {
    case TI_COMMAND_EXECUTE:
        mix_pieces(&h, c);
        mix(&h, c->as.execute.whole != NULL);
        break;
    case TI_COMMAND_SEND:
    case TI_COMMAND_RECEIVE:
        mix_buffer(&h, c->as.transfer.buffer);
        mix(&h, (uint64_t)c->as.transfer.peer);
        mix(&h, c->as.transfer.counter);
        mix_boxes(&h, c->as.transfer.box, c->as.transfer.boxes);
        break;
    case TI_COMMAND_REDUCE:
        mix(&h, c->as.reduce.access);
        if (c->as.reduce.what) {
            mix(&h, c->as.reduce.what->pattern);
            mix(&h, (uint64_t)c->as.reduce.what->root);
            mix(&h, c->as.reduce.sequence);
        } else if (c->as.reduce.tree) {
            mix_tree(&h, c->as.reduce.tree);
        } else {
            mix_blocks(&h, c->as.reduce.blocks);
        }
        break;
    case TI_COMMAND_FENCE:
        for (size_t i = 0; i < c->task->as.fence.pieces; i++) {
            mix_box(&h, &c->task->as.fence.piece[i].box);
        }
        break;
    case TI_COMMAND_COLLECTIVE:
    case TI_COMMAND_EPOCH:
    case TI_COMMAND_CREATE:
    case TI_COMMAND_DESTROY:
        break;
    }
    return h;
}

/* ---- instructions */

static void mix_kernel(uint64_t *h, const ti_instruction *i)
{
    mix_box(h, &i->as.kernel.chunk);
    for (uint32_t v = 0; v < i->as.kernel.views; v++) {
        const ti_instruction_view *view = &i->as.kernel.view[v];
        mix(h, ti_instruction_allocation(i, v));
        mix_box(h, &view->place.whole);
        mix_box(h, &view->box);
        mix_buffer(h, view->buffer);
        mix(h, (uint64_t)view->mode);
        mix(h, view->first_slot);
        for (uint32_t p = 0; p < view->parts; p++) {
            mix_place(h, &view->part[p].place);
            mix_box(h, &view->part[p].box);
        }
    }
}

static void mix_transfer(uint64_t *h, const ti_instruction *i)
{
    mix(h, (uint64_t)i->as.transfer.peer);
    mix(h, i->as.transfer.counter);
    mix_buffer(h, i->as.transfer.buffer);
    for (uint32_t b = 0; b < i->as.transfer.boxes; b++) {
        mix_place(h, &i->as.transfer.box[b].place);
        mix_box(h, &i->as.transfer.box[b].box);
    }
}

static void mix_combination(uint64_t *h, const ti_combination *c)
{
    mix(h, c->staging);
    mix(h, c->slots);
    for (uint32_t k = 0; k < c->pairs; k++) {
        mix(h, c->pair[k].into);
        mix(h, c->pair[k].from);
    }
    mix(h, c->elements);
    mix(h, c->is_root);
    mix_buffer(h, c->buffer);
}

static uint64_t instruction_digest(const ti_instruction *i)
{
    uint64_t h = i->kind;
    mix(&h, i->id);
    mix(&h, i->task->id);
    mix(&h, (uint64_t)i->device);
    mix(&h, (uint64_t)i->priority);
    mix_ids(&h, i->dep, i->deps);
    switch (i->kind) {
    case TI_INSTRUCTION_ALLOC:
    case TI_INSTRUCTION_FREE:
        mix(&h, i->as.memory.allocation);
        mix(&h, i->as.memory.bytes);
        mix(&h, i->as.memory.grown);
        break;
    case TI_INSTRUCTION_COPY:
        mix_place(&h, &i->as.copy.from);
        mix_place(&h, &i->as.copy.to);
        mix_box(&h, &i->as.copy.box);
        break;
    case TI_INSTRUCTION_KERNEL:
    case TI_INSTRUCTION_HOST:
    case TI_INSTRUCTION_COLLECTIVE_HOST:
        mix_kernel(&h, i);
        break;
    case TI_INSTRUCTION_SEND:
    case TI_INSTRUCTION_RECEIVE:
        mix_transfer(&h, i);
        break;
    case TI_INSTRUCTION_REDUCE:
        mix_combination(&h, &i->as.reduce);
        break;
    case TI_INSTRUCTION_COLLECTIVE:
        if (i->as.collective.first) {
            mix_combination(&h, i->as.collective.first);
        }
        break;
    case TI_INSTRUCTION_FENCE:
        break;
    case TI_INSTRUCTION_EPOCH:
        mix(&h, i->as.epoch.is_horizon + 2u * i->as.epoch.barrier);
        break;
    }
    return h;
}

/* ---- */

static void take_commands(void *user, ti_command_batch batch)
{
    plan_digest *d = user;
    for (size_t i = 0; i < batch.count; i++) {
        ti_vec_push(&d->commands, command_digest(batch.command[i]));
    }
}

static void take_instructions(void *user, ti_instruction_batch batch)
{
    plan_digest *d = user;
    for (size_t i = 0; i < batch.count; i++) {
        ti_instruction_kind kind = batch.instruction[i]->kind;
        d->messages += kind == TI_INSTRUCTION_SEND || kind == TI_INSTRUCTION_RECEIVE;
        ti_vec_push(&d->instructions, instruction_digest(batch.instruction[i]));
    }
}

void plan_digest_init(plan_digest *d)
{
    *d = (plan_digest){ .tap = { d, take_commands, take_instructions } };
}

void plan_digest_fini(plan_digest *d)
{
    ti_vec_fini(&d->commands);
    ti_vec_fini(&d->instructions);
}

static bool differ(const char *what, const uint64_t *a, size_t na, const uint64_t *b, size_t nb, char text[100])
{
    for (size_t i = 0; i < na && i < nb; i++) {
        if (a[i] != b[i]) {
            snprintf(text, 100, "%s %zu of %zu differs", what, i + 1, na);
            return true;
        }
    }
    snprintf(text, 100, "%zu %ss in one plan, %zu in the other", na, what, nb);
    return na != nb;
}

const char *plan_digest_difference(const plan_digest *a, const plan_digest *b)
{
    static char text[100];
    return differ("command", a->commands.data, a->commands.count, b->commands.data, b->commands.count, text) ||
                   differ("instruction", a->instructions.data, a->instructions.count, b->instructions.data,
                          b->instructions.count, text)
               ? text
               : NULL;
}
