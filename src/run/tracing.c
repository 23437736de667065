/* What a traced run needs besides its recorder: see tracing.h. */
#include "run/tracing.h"

#include "base/config.h"
#include "base/log.h"
#include "run/tune.h"
#include "trace/clock_sync.h"

#include <stdio.h>
#include <unistd.h>

enum { FACT = 1024 };
enum { VALUE_BYTES = 1 << 20, ALL_VALUE_BYTES = 1 << 26 }; /* of one fence, and of all; doc/simulation.md */

/* Contexts of this process that were to be traced. Two may live at the same time, so each has files of its own. */
static _Atomic unsigned contexts;

static bool is_wanted(const tacit_config *config)
{
    return config->trace && !config->dry_run;
}

bool ti_tracing_open(ti_tracing *t, const tacit_config *config, const ti_system *system, ti_strbuf *why)
{
    if (!is_wanted(config)) {
        return true;
    }
    t->context = atomic_fetch_add(&contexts, 1) + 1;
    if (t->context > TI_RECORDER_CONTEXTS) {
        ti_log(TI_LOG_WARNING, "this is context %u of the program, of which only the first %d are traced", t->context,
               TI_RECORDER_CONTEXTS);
        return true;
    }
    ti_strbuf prefix = { 0 };
    ti_recorder_context(config->trace, t->context, &prefix);
    t->recorder = ti_recorder_create(&(ti_recorder_desc){ .prefix = ti_strbuf_text(&prefix),
                                                          .node = system->node,
                                                          .nodes = system->num_nodes,
                                                          .rings = TI_TRACE_WORKER + ti_system_workers(system),
                                                          .threaded = config->threads != TACIT_THREADS_INLINE },
                                     why);
    ti_strbuf_fini(&prefix);
    if (t->recorder) {
        t->keeps_values = system->node == 0;
        t->program = ti_recorder_ring(t->recorder, TI_TRACE_PROGRAM);
        t->planner = ti_recorder_ring(t->recorder, TI_TRACE_PLANNER);
        t->executor = ti_recorder_ring(t->recorder, TI_TRACE_EXECUTOR);
    }
    return t->recorder != NULL;
}

/* The command line, its words parted by spaces; of the program its name alone. */
static void add_command(ti_recorder *recorder)
{
    char text[FACT];
    size_t name = 0;
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    for (size_t i = 0; i < n && text[i]; i++) {
        name = text[i] == '/' ? i + 1 : name;
    }
    for (size_t i = 0; i < n; i++) {
        text[i] = text[i] ? text[i] : ' ';
    }
    text[n && text[n - 1] == ' ' ? n - 1 : n] = '\0';
    ti_recorder_fact(recorder, "command", text + name);
}

void ti_tracing_add_facts(ti_recorder *recorder, const tacit_config *config, const char *progress, const char *network)
{
    char text[64];
    ti_strbuf settings = { 0 };
    snprintf(text, sizeof(text), "%d.%d.%d", TACIT_VERSION_MAJOR, TACIT_VERSION_MINOR, TACIT_VERSION_PATCH);
    ti_recorder_fact(recorder, "tacit", text);
    ti_recorder_fact(recorder, "progress", progress);
    ti_recorder_fact(recorder, "network", network);
    ti_config_all(config, &settings);
    ti_recorder_fact(recorder, "settings", ti_strbuf_text(&settings));
    ti_strbuf_fini(&settings);
    add_command(recorder);
}

static void add_facts(ti_recorder *recorder, const ti_comm *comm, const tacit_config *config, ti_run_mode mode)
{
    static const char *const modes[] = {
        [TI_RUN_INLINE] = "inline", [TI_RUN_SHARED] = "shared", [TI_RUN_THREAD] = "thread"
    };
    char text[FACT];
    ti_tracing_add_facts(recorder, config, modes[mode], comm->ops->name);
    ti_recorder_fact(recorder, "MPI", ti_comm_mpi_library());
    if (gethostname(text, sizeof(text)) == 0) {
        text[FACT - 1] = '\0';
        ti_recorder_fact(recorder, "machine", text);
    }
    snprintf(text, sizeof(text), "%ld", sysconf(_SC_NPROCESSORS_ONLN)); /* whichever this process may use */
    ti_recorder_fact(recorder, "cores", text);
}

static void compare_clocks(const ti_tracing *t, ti_comm *comm, uint64_t patience)
{
    size_t nodes = (size_t)comm->num_nodes;
    ti_trace_clock *clock = TI_NEW_ARRAY(ti_trace_clock, nodes);
    ti_clock_sync(comm, patience, clock);
    if (comm->node == 0) {
        ti_recorder_clocks(t->recorder, clock, nodes);
    }
    ti_free(clock, nodes * sizeof(*clock));
}

void ti_tracing_begin(ti_tracing *t, ti_comm *comm, const tacit_config *config, ti_run_mode mode, bool has_notes)
{
    if (!is_wanted(config)) {
        return;
    }
    if (t->recorder) {
        add_facts(t->recorder, comm, config, mode);
    }
    if (comm->num_nodes > 1) { /* also those that have no recorder: all nodes must come here */
        t->aligned = t->recorder && (has_notes || (comm->ops->note_open && comm->ops->note_open(comm)));
        /* Also that nobody's notes of the run come to one that compares clocks. */
        if (comm->ops->sum(comm, t->aligned) == comm->num_nodes) {
            compare_clocks(t, comm, 0);
            comm->ops->sum(comm, 0);
        } else {
            t->aligned = false;
        }
    }
}

void ti_tracing_path(const ti_tracing *t, const char *path, ti_strbuf *out)
{
    ti_recorder_context(path, t->context, out);
}

void ti_tracing_end(ti_tracing *t, ti_comm *comm)
{
    if (t->recorder && t->aligned) {
        comm->ops->sum(comm, 0); /* nobody compares submissions any more, and would take these notes for such */
        compare_clocks(t, comm, 5000000000u);
    }
}

void ti_tracing_flush(ti_tracing *t)
{
    if (t->recorder) {
        ti_recorder_flush(t->recorder);
    }
}

void ti_tracing_close(ti_tracing *t)
{
    ti_strbuf why = { 0 };
    uint64_t dropped = t->recorder ? ti_recorder_dropped(t->recorder) : 0;
    if (t->recorder && !ti_recorder_destroy(t->recorder, &why)) {
        ti_log(TI_LOG_ERROR, "%s", ti_strbuf_text(&why));
    } else if (dropped) {
        ti_log(TI_LOG_WARNING, "the trace lacks %llu records, which came faster than they could be written",
               (unsigned long long)dropped);
    }
    ti_strbuf_fini(&why);
    *t = (ti_tracing){ .recorder = NULL };
}

/* ---- the program's thread */

static void note_buffer(ti_tracing *t, const ti_buffer_info *buffer)
{
    ti_recorder_buffer(t->recorder, buffer->serial, buffer->name);
}

void ti_tracing_note_tasks(ti_tracing *t, const ti_task *const *task, size_t count, uint64_t start)
{
    uint64_t end = ti_clock_ns();
    for (size_t i = 0; i < count; i++) {
        if (task[i]->kind == TI_TASK_CREATE) {
            note_buffer(t, task[i]->as.create.buffer);
        }
        ti_trace_add(t->program, &(ti_trace_record){ .start = i == 0 ? start : end,
                                                     .end = end,
                                                     .task = (uint32_t)task[i]->id,
                                                     .number = (uint32_t)task[i]->kind,
                                                     .name = ti_recorder_name(t->recorder, task[i]->shape->name),
                                                     .kind = TI_TRACE_TASK });
    }
}

void ti_tracing_note_wait(ti_tracing *t, ti_trace_cause cause, uint64_t start)
{
    if (start) {
        ti_trace_add(t->program,
                     &(ti_trace_record){
                         .start = start, .end = ti_clock_ns(), .number = (uint32_t)cause, .kind = TI_TRACE_WAIT });
    }
}

void ti_tracing_note_values(ti_tracing *t, uint64_t fence, const void *data, size_t bytes)
{
    if (t->keeps_values && bytes <= VALUE_BYTES && t->value_bytes + bytes <= ALL_VALUE_BYTES) {
        t->value_bytes += bytes;
        ti_recorder_values(t->recorder, fence, data, bytes);
    }
}

/* ---- workers */

void ti_tracing_note_part(void *user, const ti_host_part *part)
{
    ti_tracing *t = user;
    if (t->tune) {
        ti_tune_note_part(t->tune, part);
    }
    ti_trace_add(ti_recorder_ring(t->recorder, TI_TRACE_WORKER + part->worker),
                 &(ti_trace_record){ .start = part->start,
                                     .end = ti_clock_ns(),
                                     .value = part->items,
                                     .id = (uint32_t)part->token,
                                     .number = (uint32_t)part->part,
                                     .kind = TI_TRACE_PART,
                                     .where = (uint32_t)part->worker });
}
