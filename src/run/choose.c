/* How a node runs: see choose.h. */
#include "run/choose.h"

#include "base/check.h"
#include "base/config.h"
#include "base/machine.h"
#include "base/park.h"
#include "device/host.h"
#include "trace/explain.h"

#include <stdio.h>
#include <string.h>

enum { CORES_FOR_THREADS = 8, MAX_DEVICES = 32, PATIENCE_NS = 200 * 1000 };

static bool must_be_inline(const ti_comm *comm)
{
    return comm->threads == TI_COMM_THREADS_INSIDE_CALLS || comm->threads == TI_COMM_THREADS_CREATOR;
}

/* What the program or its environment asks for must be possible. */
static bool check_threads(const tacit_config *c, const ti_comm *comm, ti_strbuf *why)
{
    bool progress = c->progress != TACIT_PROGRESS_DEFAULT;
    if (!must_be_inline(comm) || (!progress && c->threads != TACIT_THREADS_ON)) {
        return true;
    }
    ti_strbuf_add(why,
                  "%s needs MPI_THREAD_MULTIPLE, but MPI was initialised with %s; call MPI_Init_thread with "
                  "MPI_THREAD_MULTIPLE, or remove the setting",
                  progress ? c->progress == TACIT_PROGRESS_THREAD ? "TACIT_PROGRESS=thread" : "TACIT_PROGRESS=shared"
                           : "TACIT_THREADS=1",
                  comm->thread_level);
    return false;
}

/* Mode, and workers of all devices. */
static void choose_mode(const tacit_config *c, const ti_comm *comm, bool is_dry, ti_choice *out)
{
    int all_cores = ti_host_cores(), cores = TI_MAX(all_cores / TI_MAX(comm->local_nodes, 1), 1);
    out->spins = all_cores < comm->local_nodes ? TI_SPINS_CROWDED : TI_SPINS_ROOMY;
    bool alone = cores == 1 && c->workers <= 1 && c->threads != TACIT_THREADS_ON &&
                 c->progress == TACIT_PROGRESS_DEFAULT;
    if (c->threads == TACIT_THREADS_INLINE || must_be_inline(comm) || alone) {
        out->mode = TI_RUN_INLINE;
        out->workers = 1;
        return;
    }
    bool spare = c->progress == TACIT_PROGRESS_DEFAULT && cores >= CORES_FOR_THREADS;
    out->mode = c->progress == TACIT_PROGRESS_THREAD || spare ? TI_RUN_THREAD : TI_RUN_SHARED;
    int kept = out->mode == TI_RUN_THREAD && cores >= CORES_FOR_THREADS ? 2 : 0;
    out->workers = c->workers ? c->workers : cores - kept;
    out->mode = is_dry ? TI_RUN_INLINE : out->mode; /* with the workers that a live run would have */
}

/* Divide the workers among the devices; each has at least one. */
static bool choose_devices(const char *text, ti_choice *out, ti_strbuf *why)
{
    int count = 1, used = 0;
    bool discrete = false;
    if (text) { /* sscanf would skip spaces and take a plus */
        discrete = sscanf(text, "%d:discrete%n", &count, &used) == 1 && used > 0 && text[used] == '\0';
        if ((!discrete && (sscanf(text, "%d%n", &count, &used) != 1 || text[used] != '\0')) || count < 1 ||
            count > MAX_DEVICES || strspn(text, "0123456789") == 0) {
            ti_strbuf_add(why, "TACIT_HOST_DEVICES is '%s', but must be 1 to %d, or such a number with :discrete", text,
                          MAX_DEVICES);
            return false;
        }
    }
    out->devices = count;
    out->memories = discrete ? count + 1 : 1;
    out->workers = TI_MAX(out->workers / count, 1);
    return true;
}

/* Where kernels and messages share threads. Who asks for TACIT_THREADS=0 gets no thread, and MPI must allow one that
 * calls it while a kernel runs: inline, kernels of tasks on every node may be in MPI, too. */
static bool is_attended(const tacit_config *c, const ti_comm *comm, ti_run_mode mode, bool is_dry)
{
    return !is_dry && c->threads != TACIT_THREADS_INLINE &&
           ((mode == TI_RUN_SHARED && !must_be_inline(comm)) ||
            (mode == TI_RUN_INLINE && comm->threads == TI_COMM_THREADS_ALL));
}

bool ti_choose(const tacit_config *config, const ti_comm *comm, bool is_dry, ti_choice *out, ti_strbuf *why)
{
    *out = (ti_choice){ .mode = TI_RUN_INLINE };
    choose_mode(config, comm, is_dry, out);
    TI_ASSERT(out->workers >= 1);
    out->attended = is_attended(config, comm, out->mode, is_dry) && (comm->num_nodes > 1 || config->watchdog >= 0);
    return check_threads(config, comm, why) && choose_devices(config->host_devices, out, why);
}

/* Inline nothing happens between calls, and every call that waits closes the window; graphs are to be the same in every
 * run. */
uint64_t ti_choose_patience(ti_run_mode mode, const tacit_config *config)
{
    bool for_ever = config->lookahead == TACIT_LOOKAHEAD_FULL || config->graph;
    return mode == TI_RUN_INLINE || for_ever ? 0 : PATIENCE_NS;
}

void ti_choose_planning(ti_system *system, const tacit_config *config, bool is_dry)
{
    enum { FRONT_FLOOR = 64, FRONT_PER_WORKER = 32, FRONT_CEILING = 1024, MAX_LOOKAHEAD = 8 };
    int64_t front = TI_MIN(TI_MAX(FRONT_FLOOR, FRONT_PER_WORKER * system->total_workers), FRONT_CEILING);
    system->horizon_step = config->horizon_step;
    system->horizon_front = config->horizon_front ? config->horizon_front
                                                  : front; /* more would keep more than 16 MiB */
    /* A window that spans more horizons than may be under way would never close. */
    system->lookahead = config->lookahead == TACIT_LOOKAHEAD_OFF ? 0 : TI_MIN(config->run_ahead + 1, MAX_LOOKAHEAD);
    system->collectives = config->collectives - TACIT_COLLECTIVES_OFF + TI_COLLECTIVES_OFF;
    system->record = config->graph != NULL;
    bool explains = config->explain && strcmp(config->explain, "0") != 0 && (system->node == 0 || is_dry);
    system->explain = explains ? ti_explain_create() : NULL;
}

void ti_choose_memory(ti_system *system, const tacit_config *config, int local_nodes)
{
    system->local_nodes = TI_MAX(local_nodes, 1);
    system->machine = ti_machine_memory();
    uint64_t share = system->machine / (uint64_t)system->local_nodes;
    /* Nothing is allocated in a dry run, unless the program asks what would fit. */
    system->memory = config->dry_run ? 0 : share;
    if (config->memory_limit) {
        ti_config_memory(config->memory_limit, share, &system->memory);
    }
}

enum { RELAY_NODES = 3 }; /* a root, a relay and a leaf */

void ti_choose_relays(ti_run_mode mode, ti_comm *comm)
{
    if (comm->num_nodes >= RELAY_NODES && comm->ops->open_relays &&
        comm->ops->sum(comm, mode != TI_RUN_INLINE) == comm->num_nodes) {
        comm->ops->open_relays(comm);
    }
}
