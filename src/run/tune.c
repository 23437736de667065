/* What auto chooses: see tune.h. */
#include "run/tune.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "plan/tolerance/overlap.h"
#include "trace/explain.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_TASKS = 16, BARRIERS = 16, FEMTO = 1000000 /* of a ns */ };

static const double worth_it = 0.9; /* of the time without windows */

/* ---- the model */

/* Of a window of b tasks: items in all, those that need no message, and those of them that come before one is sent. */
typedef struct work {
    double items, early, ahead;
} work;

static work work_of(const ti_tune_costs *c, int b, bool staged)
{
    double w = c->row, early = TI_MAX(b * c->items - w * b * (b + 1), 0.0);
    return staged ? (work){ b * c->items + w * b * b / 2, early, w * (b * b / 2 - b) }
                  : (work){ b * c->items + w * b * (b - 1), early, 0 };
}

/* Of a window whose chunks are cut, or not. */
static double time_of(const ti_tune_costs *c, const work *k, bool cut)
{
    double latency = TI_MIN(c->messages, 1.0) * c->latency;
    if (!cut) {
        return latency + k->items * c->item;
    }
    return TI_MAX(latency + k->ahead * c->item, k->early * c->item) + (k->items - k->early) * c->item;
}

double ti_tune_time(const ti_tune_costs *c, ti_tune_choice choice)
{
    int b = TI_MAX(choice.tasks, 1);
    const work k = work_of(c, b, choice.staged && b > 1);
    bool cut = choice.staged || 4 * k.early >= 3 * k.items;
    if (choice.tasks > 1) {
        return time_of(c, &k, cut) / b + (cut ? c->launches : 0) + (choice.staged ? c->copies : 0);
    }
    return c->cut * (time_of(c, &k, true) + c->launches) + (1 - c->cut) * time_of(c, &k, false);
}

ti_tune_choice ti_tune_best(const ti_tune_costs *c, ti_tune_choice *fastest)
{
    const ti_tune_choice none = { 0, false };
    double least = 0;
    *fastest = none;
    for (int b = 2; b <= TI_TUNE_MOST_TASKS && 2 * b <= c->rows && c->item > 0; b *= 2) {
        for (int staged = 0; staged <= (b > 2 && 4 * b <= c->rows); staged++) {
            const ti_tune_choice choice = { b, staged };
            double time = ti_tune_time(c, choice);
            *fastest = !fastest->tasks || time < least ? choice : *fastest;
            least = fastest->tasks == b && fastest->staged == (bool)staged ? time : least;
        }
    }
    return fastest->tasks && least < worth_it * ti_tune_time(c, none) ? *fastest : none;
}

/* ---- choices as texts */

/* "off", a number of tasks, or that behind "staged:", the at-th of a list; the last one holds for all later ones.
 * False: it means nothing. */
static bool choice_in(const char *list, size_t at, ti_tune_choice *out)
{
    static const char prefix[] = "staged:";
    const char *from = list;
    for (const char *comma; at > 0 && (comma = strchr(from, ',')); at--) {
        from = comma + 1;
    }
    size_t length = strcspn(from, ",");
    *out = (ti_tune_choice){ 0, length > strlen(prefix) && strncmp(from, prefix, strlen(prefix)) == 0 };
    if (length == strlen("off") && strncmp(from, "off", length) == 0) {
        return true;
    }
    from += out->staged ? strlen(prefix) : 0;
    length -= out->staged ? strlen(prefix) : 0;
    out->tasks = length >= 1 && length <= 2 && strspn(from, "0123456789") >= length ? atoi(from) : -1;
    return out->tasks >= 2 && out->tasks <= TI_TUNE_MOST_TASKS;
}

bool ti_tune_parse(const char *text, const char **list)
{
    static const char name[] = "auto";
    const size_t length = sizeof(name) - 1;
    *list = NULL;
    if (!text || strncmp(text, name, length) != 0 || (text[length] && text[length] != ':')) {
        return false;
    }
    size_t choices = 1;
    *list = text[length] ? text + length + 1 : NULL;
    for (const char *c = *list; c && (c = strchr(c, ',')); c++) {
        choices++;
    }
    for (size_t i = 0; *list && i < choices; i++) {
        ti_tune_choice choice;
        if (!choice_in(*list, i, &choice)) {
            return false;
        }
    }
    return true;
}

/* ---- measuring */

/* How long a barrier takes; UINT64_MAX / 4: an error. */
static uint64_t time_barrier(ti_comm *comm)
{
    uint64_t token, start = ti_clock_ns();
    int got = 0;
    comm->ops->barrier(comm, 0);
    while (got == 0) {
        got = comm->ops->poll(comm, &token, 1);
        if (got == 0) {
            sched_yield();
        }
    }
    return got > 0 ? ti_clock_ns() - start : UINT64_MAX / 4;
}

/* In ns; from barriers, whose algorithms have as many steps as nodes have bits. Who comes to one late finds that all
 * others have sent already, and waits twice as long in the next one: so two that follow each other count, the shortest
 * two. What a network with a delay adds, it adds once. Nothing else is under way. */
static double measure_latency(ti_comm *comm)
{
    uint64_t least = UINT64_MAX, before = time_barrier(comm);
    for (int i = 1; i < BARRIERS && !comm->stats.error; i++) {
        const uint64_t now = time_barrier(comm);
        least = TI_MIN(least, (before + now) / 2);
        before = now;
    }
    int steps = 0;
    while (1 << steps < comm->num_nodes) {
        steps++;
    }
    uint64_t delay = TI_MIN(comm->delay_ns, least);
    return (double)delay + (double)(least - delay) / TI_MAX(steps, 1);
}

/* Over all nodes; numbers travel as integers. */
static double mean_of(ti_comm *comm, double value)
{
    return (double)comm->ops->sum(comm, (int64_t)(value * FEMTO)) / FEMTO / comm->num_nodes;
}

void ti_tune_init(ti_tune *tune, const char *setting, ti_comm *comm, ti_system *system, ti_lock *const locks[2])
{
    memcpy(tune->lock, locks, sizeof(tune->lock));
    tune->comm = comm;
    tune->system = system;
    tune->on = ti_tune_parse(setting, &tune->list) && comm->num_nodes > 1;
    tune->due = FIRST_TASKS;
    tune->rows = INT64_MAX;
    if (tune->on && !tune->list) {
        tune->latency = mean_of(comm, measure_latency(comm));
    }
}

void ti_tune_fini(ti_tune *tune)
{
    ti_strbuf_fini(&tune->said);
}

void ti_tune_note(ti_tune *tune, const ti_task *task)
{
    const int nodes = tune->comm->num_nodes;
    const ti_shape *shape = task->shape;
    if (!tune->on || task->kind != TI_TASK_EXECUTE || !shape->pure) {
        return;
    }
    double items = (double)ti_box_volume(&shape->range);
    int64_t rows = shape->range.max[0] - shape->range.min[0];
    tune->tasks++;
    tune->items += items / nodes;
    tune->row += rows > 0 ? items / (double)rows : 0;
    tune->rows = TI_MIN(tune->rows, rows / nodes);
    tune->cut += ti_overlap_admits(tune->system, shape) == TI_OVERLAP_FITS;
}

void ti_tune_note_part(void *user, const ti_host_part *part)
{
    ti_tune *tune = user;
    if (part->items) {
        atomic_fetch_add_explicit(&tune->ns, ti_clock_ns() - part->start, memory_order_relaxed);
        atomic_fetch_add_explicit(&tune->done, part->items, memory_order_relaxed);
    }
}

/* Workers divide the items, so one takes so much of the time of the node. */
static double item_here(ti_tune *tune)
{
    const ti_system *system = tune->system;
    uint64_t done = atomic_exchange_explicit(&tune->done, 0, memory_order_relaxed);
    uint64_t ns = atomic_exchange_explicit(&tune->ns, 0, memory_order_relaxed);
    return done ? (double)ns / (double)done / (system->workers * ti_system_hosts(system)) : 0;
}

static ti_tune_costs measure(ti_tune *tune)
{
    ti_comm *comm = tune->comm;
    double tasks = (double)TI_MAX(tune->tasks - tune->seen, (uint64_t)1);
    double received = (double)(comm->stats.messages_received - tune->received);
    ti_tune_costs c = { .items = tune->items / tasks,
                        .row = tune->row / tasks,
                        .cut = (double)tune->cut / tasks,
                        .launches = TI_TUNE_LAUNCHES,
                        .copies = TI_TUNE_COPIES,
                        .rows = tune->rows };
    tune->latency = c.latency = mean_of(comm, measure_latency(comm));
    c.item = mean_of(comm, item_here(tune));
    received = mean_of(comm, received / tasks);
    tune->messages = tune->system->latency_tasks > 1 ? tune->messages : received; /* windows have fewer */
    c.messages = tune->messages;
    tune->received = comm->stats.messages_received;
    tune->seen = tune->tasks;
    tune->items = tune->row = 0;
    tune->cut = 0;
    tune->rows = INT64_MAX;
    return c;
}

/* ---- choosing */

static size_t choices_so_far(const ti_tune *tune)
{
    size_t count = tune->said.length > 0;
    for (size_t i = 0; i < tune->said.length; i++) {
        count += tune->said.text[i] == ',';
    }
    return count;
}

static void say(ti_tune *tune, const char *why)
{
    const int tasks = tune->system->latency_tasks;
    const bool staged = tune->system->latency_staged;
    ti_strbuf text = { 0 };
    ti_strbuf_add(&text, "after %llu pure tasks ", (unsigned long long)tune->tasks);
    ti_strbuf_add(&tune->said, tune->said.length ? "," : "");
    if (tasks) {
        ti_strbuf_add(&text, "windows of %d (%s): %s", tasks, staged ? "staged" : "halo", why);
        ti_strbuf_add(&tune->said, "%s%d", staged ? "staged:" : "", tasks);
    } else {
        ti_strbuf_add(&text, "no windows: %s", why);
        ti_strbuf_add(&tune->said, "off");
    }
    ti_log(TI_LOG_INFO, "latency: auto chooses %s; the same again: TACIT_LATENCY=auto:%s", text.text, tune->said.text);
    if (tune->system->explain) {
        ti_explain_note_choice(tune->system->explain, text.text);
    }
    ti_strbuf_fini(&text);
}

static ti_tune_choice choose_by_costs(const ti_tune_costs *c, ti_strbuf *out)
{
    ti_tune_choice fastest, best = ti_tune_best(c, &fastest);
    ti_strbuf_add(
        out,
        "latency %.1f us, %.3f ns an item, %.0f items a task and %.0f in a row, %.2f messages a task, %.0f %% of "
        "tasks overlap with them: by the model a task takes %.1f us without windows",
        1e-3 * c->latency, c->item, c->items, c->row, c->messages, 100 * c->cut,
        1e-3 * ti_tune_time(c, (ti_tune_choice){ 0, false }));
    if (fastest.tasks) {
        ti_strbuf_add(out, ", and %.1f us with the best, %s:%d", 1e-3 * ti_tune_time(c, fastest),
                      fastest.staged ? "staged" : "halo", fastest.tasks);
    }
    return best;
}

static void choose(ti_tune *tune)
{
    ti_strbuf why = { 0 };
    ti_tune_choice choice = { 0, false };
    tune->due = 2 * TI_MAX(tune->tasks, (uint64_t)FIRST_TASKS);
    if (tune->list) {
        choice_in(tune->list, choices_so_far(tune), &choice);
        ti_strbuf_add(&why, "so TACIT_LATENCY says");
    } else {
        const ti_tune_costs c = measure(tune);
        choice = choose_by_costs(&c, &why);
    }
    tune->system->latency_tasks = choice.tasks;
    tune->system->latency_staged = choice.staged;
    say(tune, why.text);
    ti_strbuf_fini(&why);
}

void ti_tune_choose(ti_tune *tune)
{
    if (tune->on) {
        ti_lock_take(tune->lock[0]);
        ti_lock_take(tune->lock[1]);
        choose(tune);
        ti_lock_drop(tune->lock[1]);
        ti_lock_drop(tune->lock[0]);
    }
}
