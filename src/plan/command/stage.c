/* The command graph, stages: windows whose nodes exchange values of several steps (plan/tolerance/stages.h).
 *
 * All messages of such a window between two nodes are one (bundle.c), and leave when the last of what they bring has
 * been computed. So nothing that is sent may wait for what the window receives. Therefore items that need no message
 * are always executed in kernels of their own, and a window is in stages only if the versions say that each node has
 * what these items read; if not, it is planned like one of strategy `halo`. All nodes decide the same. */
#include "plan/command/impl.h"

/* Whether the nodes whose chunks read some of the entry by the access are among those that hold it. */
static bool readers_hold(ti_command_graph *graph, const ti_windowed *reader, const ti_access *access,
                         const ti_version *v, const ti_box *box)
{
    ti_split_ref *split = graph->pure.split.data[reader - graph->pure.task.data];
    ti_command_buffer *state = ti_command_buffer_of(graph, access->buffer);
    bool hold = true;
    for (uint32_t m = 0; m < TI_MAX(access->mappers, 1); m++) {
        int a, b;
        const ti_holder *h = ti_holder_get(&state->versions.holders, access, m, split);
        hold &= !ti_holder_candidate_nodes(h, box, &a, &b) || (v->a <= a && b < v->b);
    }
    return hold;
}

static bool lies(void *user, const ti_windowed *reader, const ti_access *access, const ti_box *box, ti_lyings *out)
{
    ti_command_graph *graph = user;
    ti_command_buffer *state = ti_command_buffer_of(graph, access->buffer);
    const ti_versions *found = ti_version_map_query(&state->versions, box);
    for (size_t i = 0; i < found->count; i++) {
        const ti_version *v = found->data[i];
        ti_box common = ti_box_intersect(&v->box, box);
        switch (v->kind) {
        case TI_WRITER_UNDEFINED:
            break;
        case TI_WRITER_NODES:
            if (!readers_hold(graph, reader, access, v, &common)) {
                return false;
            }
            break;
        case TI_WRITER_SPLIT:
            if (v->writer->custom) {
                return false;
            }
            ti_vec_push(out, ((ti_lying){ &v->writer->mapper, &v->writer->split->split }));
            break;
        }
    }
    return true;
}

/* Bring the versions up to date of what the window reads. */
static void settle(ti_command_graph *graph)
{
    const ti_command_pure *p = &graph->pure;
    for (size_t t = 0; t < p->task.count; t++) {
        const ti_shape *shape = p->task.data[t].shape;
        for (uint32_t i = 0; i < shape->accesses; i++) {
            ti_command_buffer *state = ti_command_buffer_of(graph, shape->access[i].buffer);
            ti_replay_settle(&state->replay, &state->versions);
        }
    }
}

ti_stage_verdict ti_command_find_stages(ti_command_graph *graph)
{
    ti_command_pure *p = &graph->pure;
    ti_command_window_flush(graph);
    if (graph->multicast.starting.count) {
        return TI_STAGE_FORWARDS;
    }
    settle(graph);
    ti_vec_reserve(&p->stage, p->task.count);
    p->stage.count = p->task.count;
    ti_stage_verdict verdict = ti_window_stages(p->task.data, p->task.count, p->margin.data, lies, graph,
                                                p->stage.data);
    for (size_t t = 0; t < p->task.count && verdict == TI_STAGE_FITS; t++) {
        const ti_stage *stage = &p->stage.data[t];
        ti_spread_unref(p->spread.data[t]);
        p->margin.data[t] = stage->around ? (ti_margin){ { 0 }, { 0 } } : stage->margin;
        p->spread.data[t] = stage->around ? ti_spread_around(&stage->margin, &stage->depth) : NULL;
    }
    return verdict;
}
