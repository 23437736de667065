/* What a trace says in a few lines: time by cause, and what to look at first. See timeline.h. */
#include "timeline.h"

#include "trace/advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 5, WORTH_SAYING = 3 /* per cent */ };

/* Of a node's workers together, or of all nodes'. */
static int64_t worker_time(const timeline *t, int q)
{
    int64_t time = 0;
    for (int i = q < 0 ? 0 : q; i < (q < 0 ? t->nodes : q + 1); i++) {
        time += t->node[i].workers * (t->node[i].end - t->node[i].begin);
    }
    return TI_MAX(time, 1);
}

static double percent(int64_t part, int64_t whole)
{
    return 100.0 * (double)part / (double)TI_MAX(whole, 1);
}

/* ---- the table */

static const char *const explanations[TL_CAUSES] = {
    [TL_BUSY] = "workers compute, or move data",
    [TL_MESSAGE] = "for a message or a collective",
    [TL_KERNEL] = "for a kernel of another worker",
    [TL_COPY] = "for a copy, a reduction, memory",
    [TL_START] = "ready, and not started yet",
    [TL_PLANNING] = "for planning",
    [TL_WINDOW] = "for later tasks (TACIT_LOOKAHEAD)",
    [TL_PRESSURE] = "the program is held back (TACIT_RUN_AHEAD)",
    [TL_RESULT] = "the program waits for results, or the end",
    [TL_PROGRAM] = "the program computes",
};

/* One column per node where they fit, else that of the node with least and most. */
static void add_row(const timeline *t, tl_cause cause, ti_strbuf *out)
{
    double least = 100, most = 0;
    int64_t sum = 0;
    for (int q = 0; q < t->nodes; q++) {
        double share = percent(t->node[q].spent[cause], worker_time(t, q));
        least = TI_MIN(least, share);
        most = TI_MAX(most, share);
        sum += t->node[q].spent[cause];
    }
    ti_strbuf_add(out, "  %-14s %5.1f %%", timeline_cause_name(cause), percent(sum, worker_time(t, -1)));
    for (int q = 0; q < t->nodes && t->nodes <= FEW && t->nodes > 1; q++) {
        ti_strbuf_add(out, "  %7.1f", percent(t->node[q].spent[cause], worker_time(t, q)));
    }
    if (t->nodes > FEW) {
        ti_strbuf_add(out, "  %5.1f to %5.1f", least, most);
    }
    ti_strbuf_add(out, "   %s\n", explanations[cause]);
}

void timeline_summary(const timeline *t, ti_strbuf *out)
{
    ti_strbuf_add(out, "  workers are   all nodes");
    for (int q = 0; q < t->nodes && t->nodes <= FEW && t->nodes > 1; q++) {
        ti_strbuf_add(out, "   node %-2d", q);
    }
    ti_strbuf_add(out, "%s\n", t->nodes > FEW ? "  least to most" : "");
    for (int c = 0; c < TL_CAUSES; c++) {
        add_row(t, (tl_cause)c, out);
    }
    if (t->relayed) {
        ti_strbuf_add(
            out, "  relays        %" PRIu64 " messages of broadcasts, %" PRIu64 " bytes, passed on for other nodes\n",
            t->relayed, t->bytes_relayed);
    }
}

/* ---- advice */

static int64_t chunk_time(const timeline *t, uint32_t q, uint32_t name)
{
    const tl_load *load = &t->load[(size_t)q * t->names.count + name];
    return load->parts ? load->ns / (int64_t)load->parts : 0;
}

/* The mean of the other nodes. */
static int64_t chunk_time_elsewhere(const timeline *t, uint32_t q, uint32_t name)
{
    int64_t sum = 0, count = 0;
    for (uint32_t i = 0; i < (uint32_t)t->nodes; i++) {
        if (i != q && chunk_time(t, i, name)) {
            sum += chunk_time(t, i, name);
            count++;
        }
    }
    return count ? sum / count : 0;
}

/* The task whose parts take longest there, compared with the other nodes, and how much it matters. */
static uint32_t slow_task(const timeline *t, uint32_t q, double *ratio)
{
    uint32_t slowest = 0;
    int64_t most = worker_time(t, (int)q) / 50; /* what is lost must be worth it */
    for (uint32_t name = 1; name < t->names.count; name++) {
        int64_t here = chunk_time(t, q, name), there = chunk_time_elsewhere(t, q, name);
        int64_t lost = (here - there) * (int64_t)t->load[(size_t)q * t->names.count + name].parts;
        if (there && here * 4 > there * 5 && lost > most) {
            slowest = name;
            most = lost;
            *ratio = (double)here / (double)there;
        }
    }
    return slowest;
}

/* Of one node for one peer and buffer, whatever the tasks. */
static tl_blame worst_blame(const timeline *t)
{
    tl_blame worst = { .ns = 0 };
    for (size_t i = 0; i < TI_MIN(t->blames.count, (size_t)64); i++) {
        tl_blame sum = t->blames.data[i];
        for (size_t k = 0; k < t->blames.count; k++) {
            const tl_blame *b = &t->blames.data[k];
            sum.ns += k != i && b->node == sum.node && b->peer == sum.peer && b->buffer == sum.buffer &&
                              b->collective == sum.collective
                          ? b->ns
                          : 0;
        }
        worst = sum.ns > worst.ns ? sum : worst;
    }
    return worst;
}

static void add_blame(const timeline *t, const tl_blame *b, double share, ti_strbuf *out)
{
    double ratio = 0;
    ti_strbuf_add(out, "node %" PRIu32 " waits %.0f %% of its time for ", b->node, share);
    if (!b->collective) {
        ti_strbuf_add(out, "messages of '%s' from node %" PRIu32, timeline_name(t, b->buffer), b->peer);
    } else if (b->peer == b->node) {
        ti_strbuf_add(out, "collectives of '%s'", timeline_name(t, b->buffer));
    } else {
        ti_strbuf_add(out, "collectives of '%s', which node %" PRIu32 " begins last", timeline_name(t, b->buffer),
                      b->peer);
    }
    uint32_t slow = b->peer != b->node && b->peer < (uint32_t)t->nodes ? slow_task(t, b->peer, &ratio) : 0;
    if (slow) {
        ti_strbuf_add(out, "; chunks of '%s' take %.1f times as long there as on other nodes: %s",
                      timeline_name(t, slow), ratio, ti_advice_cure(TI_ADVICE_LATE));
    }
}

static const char *const remedies[TL_CAUSES] = {
    [TL_BUSY] = "most time is spent in kernels: make them faster, or add nodes",
    [TL_KERNEL] =
        "tasks have few chunks, or chunks of unequal length: make ranges larger, or let fewer tasks depend on each "
        "other",
    [TL_COPY] = "kernels wait for copies, reductions or memory: the lanes called memory show which",
    [TL_START] = "kernels are ready and start late: they are short; give each task more items",
    [TL_PLANNING] =
        "kernels wait for planning: they are short; give each task more items, or keep tasks alike so that plans "
        "repeat",
    [TL_WINDOW] = "kernels wait for later tasks to be known: TACIT_LOOKAHEAD=off, or submit the next tasks sooner",
    [TL_PRESSURE] = "the program is held back while workers have nothing to do: raise TACIT_RUN_AHEAD",
    [TL_RESULT] = "the program waits for results before it submits more: ask for them later, or less often",
    [TL_PROGRAM] = "the program computes between submissions while workers have nothing to do: do that in a host task",
};

static tl_cause worst_cause(const timeline *t)
{
    int64_t sum[TL_CAUSES] = { 0 };
    tl_cause worst = TL_MESSAGE;
    for (int q = 0; q < t->nodes; q++) {
        for (int c = 0; c < TL_CAUSES; c++) {
            sum[c] += t->node[q].spent[c];
        }
    }
    for (int c = TL_MESSAGE; c < TL_CAUSES; c++) {
        worst = sum[c] > sum[worst] ? (tl_cause)c : worst;
    }
    return percent(sum[worst], worker_time(t, -1)) < WORTH_SAYING ? TL_BUSY : worst;
}

/* Workers that share cores wait for these, and no record says when. */
static void add_crowd(const timeline *t, ti_strbuf *out)
{
    const char *machine = timeline_fact(&t->node[0], "machine"), *cores = timeline_fact(&t->node[0], "cores");
    long workers = 0;
    for (int q = 0; machine && cores && q < t->nodes; q++) {
        const char *other = timeline_fact(&t->node[q], "machine");
        workers += other && strcmp(other, machine) == 0 ? t->node[q].workers : 0;
    }
    if (cores && workers > atol(cores)) {
        ti_strbuf_add(out, "; %ld workers share the %s cores of %s, so a part of all waiting is for cores", workers,
                      cores, machine);
    }
}

static void add_cause(const timeline *t, ti_strbuf *out)
{
    tl_cause cause = worst_cause(t);
    if (cause == TL_MESSAGE && t->blames.count) {
        tl_blame worst = worst_blame(t);
        add_blame(t, &worst, percent(worst.ns, worker_time(t, (int)worst.node)), out);
        return;
    }
    ti_strbuf_add(out, "%s", cause == TL_MESSAGE ? ti_advice_cure(TI_ADVICE_MESSAGES) : remedies[cause]);
    for (size_t i = 0; i < t->path.count && cause == TL_BUSY; i++) {
        const tl_step *s = &t->path.data[i];
        if (tl_is_kernel(s->kind)) {
            ti_strbuf_add(out, " (such as '%s', on the critical path)", timeline_name(t, s->name));
            break;
        }
    }
}

void timeline_advice(const timeline *t, ti_strbuf *out)
{
    add_cause(t, out);
    add_crowd(t, out);
}
