/* The command graph, bundles: see pure.h. In a window that is planned in stages (plan/lookahead/stage.c), everything
 * that this node sends to another one is one message, and everything that it receives from it is one, too.
 *
 * Each transfer remains a command in its place, so versions and trackers see what they would see without bundles. Its
 * data are packed into memory of the bundle when its task comes, and unpacked from there by the receiver: so later
 * tasks may overwrite what has been packed, and what arrives does not overwrite what is still read. How they are
 * packed: plan/stream/bundle.c.
 *
 * Sender and receiver plan the same transfers, in the same order, so they count the same parts. Scheduler thread. */
#include "plan/command/impl.h"

static struct ti_command_bundle *find(ti_command_graph *graph, int peer, bool send)
{
    TI_ASSERT(graph->pure.staging > 0 && peer != graph->system->node);
    ti_command_pure *p = &graph->pure;
    for (size_t i = 0; i < p->bundles; i++) {
        if (p->bundle.data[i].peer == peer && p->bundle.data[i].send == send) {
            return &p->bundle.data[i];
        }
    }
    if (p->bundles == p->bundle.count) {
        ti_vec_push(&p->bundle, (struct ti_command_bundle){ .peer = 0 });
    }
    struct ti_command_bundle *b = &p->bundle.data[p->bundles++];
    TI_ASSERT(b->part.count == 0 && b->command.count == 0);
    b->peer = peer;
    b->send = send;
    b->counter = ti_command_count_message(graph, peer, send);
    return b;
}

void ti_command_bundle_add(ti_command_graph *graph, ti_command *transfer)
{
    TI_ASSERT(transfer->kind == TI_COMMAND_SEND || transfer->kind == TI_COMMAND_RECEIVE);
    struct ti_command_bundle *b = find(graph, transfer->as.transfer.peer, transfer->kind == TI_COMMAND_SEND);
    transfer->as.transfer.counter = b->counter;
    transfer->as.transfer.part = (uint32_t)b->part.count;
    ti_vec_push(&b->part, ((ti_bundle_part){ transfer->as.transfer.buffer, transfer->as.transfer.box,
                                             transfer->as.transfer.boxes }));
    ti_vec_push(&b->command, transfer);
}

/* What has one part only is a message like any other. No horizon has been planned, so all of it lies in one arena. */
void ti_command_bundles_end(ti_command_graph *graph)
{
    ti_command_pure *p = &graph->pure;
    TI_ASSERT(p->staging == 0 && p->bundles <= p->bundle.count);
    for (size_t i = 0; i < p->bundles; i++) {
        struct ti_command_bundle *b = &p->bundle.data[i];
        TI_ASSERT(b->part.count > 0 && b->part.count == b->command.count);
        ti_bundle *bundle = b->part.count > 1 ? TI_ARENA_NEW(ti_command_arena(graph), ti_bundle) : NULL;
        for (size_t k = 0; bundle && k < b->command.count; k++) {
            b->command.data[k]->as.transfer.bundle = bundle;
        }
        if (bundle) {
            bundle->parts = (uint32_t)b->part.count;
            bundle->part = ti_arena_copy(ti_command_arena(graph), b->part.data, b->part.count * sizeof(*b->part.data));
        }
        ti_vec_clear(&b->part);
        ti_vec_clear(&b->command);
    }
    p->bundles = 0;
}

void ti_command_bundles_fini(ti_command_pure *p)
{
    for (size_t i = 0; i < p->bundle.count; i++) {
        ti_vec_fini(&p->bundle.data[i].part);
        ti_vec_fini(&p->bundle.data[i].command);
    }
    ti_vec_fini(&p->bundle);
}
