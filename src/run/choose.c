/* How a node runs: see choose.h. */
#include "run/choose.h"

#include "base/check.h"
#include "base/config.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/park.h"
#include "comm/tree.h"
#include "device/host.h"
#include "run/tune.h"
#include "trace/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_FOR_THREADS = 8, PATIENCE_NS = 200 * 1000 };

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
    int cores = out->pin.cores;
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

/* Plans do not depend on the machine, and checks look at kernels of the host. */
static bool may_find_devices(const tacit_config *config, bool is_dry)
{
    return !is_dry && !config->bounds_check && !config->check_pure && ti_device_list_may_find();
}

/* Divide the workers among the host devices; each has at least one. */
static bool choose_devices(const tacit_config *config, const ti_comm *comm, bool is_dry, ti_choice *out, ti_strbuf *why)
{
    ti_device_list *list = &out->list;
    if (!ti_device_list_parse(config->devices, config->host_devices, list, why)) {
        return false;
    }
    if (list->automatic && (!list->unasked || may_find_devices(config, is_dry))) {
        ti_device_list_find(list);
        ti_device_list_deal(list, comm->local_node, comm->local_nodes);
    }
    ti_device_list_name(list);
    out->workers = TI_MAX(out->workers / list->hosts, 1);
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

/* ---- windows of pure tasks */

enum { LATENCY_TASKS = 4, MAX_LATENCY_TASKS = 64 };

static bool is_staged(const char *text)
{
    size_t word = text ? strcspn(text, ":") : 0;
    return word == 6 && strncmp(text, "staged", word) == 0;
}

/* How many tasks a window has, 0 for none; -1 if the text means nothing. */
static int latency_tasks(const char *text)
{
    const char *list;
    if (!text || strcmp(text, "off") == 0 || ti_tune_parse(text, &list)) { /* auto: until there are measurements */
        return 0;
    }
    size_t word = strcspn(text, ":"), digits = text[word] ? strlen(text + word + 1) : 0;
    bool known = (word == 4 && strncmp(text, "halo", word) == 0) || is_staged(text);
    if (known && !text[word]) {
        return LATENCY_TASKS;
    }
    if (!known || digits < 1 || digits > 2 || strspn(text + word + 1, "0123456789") != digits) {
        return -1;
    }
    int tasks = atoi(text + word + 1);
    return tasks >= 2 && tasks <= MAX_LATENCY_TASKS ? tasks : -1;
}

/* Horizons that a window meets in a chain of tasks, and one more. */
static int latency_horizons(const tacit_config *config)
{
    const char *list;
    int tasks = ti_tune_parse(config->latency, &list) ? TI_TUNE_MOST_TASKS : latency_tasks(config->latency);
    return tasks > 1 ? (int)ti_ceil_div(tasks, config->horizon_step) + 1 : 0;
}

/* A program that waits for a horizon in a window would wait for ever. */
static bool choose_latency(tacit_config *config, ti_strbuf *why)
{
    if (latency_tasks(config->latency) < 0) {
        ti_strbuf_add(
            why,
            "TACIT_LATENCY is '%s', but must be off, auto, auto:CHOICE,CHOICE... with off, TASKS or staged:TASKS of 2 "
            "to %d, halo, staged, or one of these two with a colon and 2 to %d tasks",
            config->latency, TI_TUNE_MOST_TASKS, MAX_LATENCY_TASKS);
        return false;
    }
    config->run_ahead = TI_MAX(config->run_ahead, latency_horizons(config));
    return true;
}

static bool wants_tiles(const tacit_config *config)
{
    return config->latency_tile && strcmp(config->latency_tile, "off") != 0;
}

static bool check_tile(const tacit_config *config, ti_strbuf *why)
{
    uint64_t bytes;
    const char *text = config->latency_tile;
    bool good = !wants_tiles(config) || strcmp(text, "auto") == 0 ||
                (!strchr(text, '%') && ti_config_memory(text, 0, &bytes));
    if (!good) {
        ti_strbuf_add(why, "TACIT_LATENCY_TILE is '%s', but must be off, auto, or a number of bytes, with k, M, G or T",
                      text);
    }
    return good;
}

/* Of each device of this node. Nodes of one machine have equal parts of its caches. */
static void choose_tiles(ti_system *system, const tacit_config *config, int local_nodes)
{
    const uint64_t sharers = (uint64_t)TI_MAX(local_nodes, 1) * (uint64_t)TI_MAX(ti_system_hosts(system), 1);
    system->latency_tiles = wants_tiles(config);
    if (!system->latency_tiles) {
        return;
    }
    if (strcmp(config->latency_tile, "auto") == 0) {
        system->tile_least = ti_machine_cache() / sharers;
        system->tile_bytes = system->tile_least / 8;
        return;
    }
    ti_config_memory(config->latency_tile, 0, &system->tile_bytes);
    system->tile_bytes /= (uint64_t)TI_MAX(ti_system_hosts(system), 1);
    system->tile_least = system->tile_bytes;
}

/* Threads that want a core each. */
static int count_threads(const ti_choice *choice)
{
    return choice->mode == TI_RUN_INLINE ? 1
                                         : choice->workers * choice->list.hosts + 2 * (choice->mode == TI_RUN_THREAD);
}

/* Threads that look for work. A worker alone that shares roles has the application's thread beside it. If there are
 * more than cores, whoever finds none soon lets the others go on: they may be about to run what it has just started. */
static uint32_t choose_spins(const ti_choice *choice)
{
    const bool beside = choice->mode == TI_RUN_SHARED && choice->workers * choice->list.hosts == 1;
    const bool crowded = choice->pin.is_crowded || count_threads(choice) + beside > choice->pin.cores;
    return crowded ? TI_SPINS_CROWDED : TI_SPINS_ROOMY;
}

/* A thread that wakes on a core of its own comes 30 to 50 us after the kernel that it waits for. One that spins keeps
 * the planner from its core, if the system has put both on one. */
uint32_t ti_choose_yields(const ti_choice *choice, const ti_system *system)
{
    enum { KERNELS_OF_ACCELERATORS_NS = 5 * 1000 * 1000 };
    return system->accelerators > 0 && choice->spins == TI_SPINS_ROOMY ? KERNELS_OF_ACCELERATORS_NS : 0;
}

bool ti_choose(tacit_config *config, const ti_comm *comm, bool is_dry, ti_choice *out, ti_strbuf *why)
{
    *out = (ti_choice){ .mode = TI_RUN_INLINE };
    if (!ti_pin_find(&out->pin, is_dry ? "off" : config->pin, comm, why)) {
        return false;
    }
    choose_mode(config, comm, is_dry, out);
    TI_ASSERT(out->workers >= 1);
    out->attended = is_attended(config, comm, out->mode, is_dry) && (comm->num_nodes > 1 || config->watchdog >= 0);
    bool good = choose_latency(config, why) && check_tile(config, why) && check_threads(config, comm, why) &&
                choose_devices(config, comm, is_dry, out, why);
    if (good) {
        ti_pin_decide(&out->pin, count_threads(out));
        out->spins = choose_spins(out);
        out->share = (uint32_t)TI_MIN(1000 * count_threads(out), out->pin.part);
    }
    return good;
}

/* Whether those that share work are unlike. */
static bool take_weights(const ti_device_list *list, ti_system *system)
{
    const int first = list->idle_host ? list->hosts : 0;
    bool unlike = false;
    for (int d = 0; d < system->devices; d++) {
        system->weight[d] = (uint32_t)(d < list->hosts ? list->host_weight : list->weight[d - list->hosts]);
        unlike |= d > first && system->weight[d] != system->weight[first];
    }
    return unlike;
}

void ti_choose_system(const ti_choice *choice, ti_system *system)
{
    const ti_device_list *list = &choice->list;
    system->workers = choice->workers;
    system->accelerators = list->opencls + list->cudas;
    system->accelerator = list->opencls ? TI_OPENCL : list->cudas ? TI_CUDA : 0;
    system->devices = list->hosts + system->accelerators;
    system->sharing = list->discrete ? 0 : list->hosts;
    system->idle_host = list->idle_host;
    system->memories = 1 + system->accelerators + (list->discrete ? list->hosts : 0);
    system->weighted = take_weights(list, system);
}

/* Inline nothing happens between calls, and every call that waits closes the window; graphs are to be the same in every
 * run. */
uint64_t ti_choose_patience(ti_run_mode mode, const tacit_config *config)
{
    bool for_ever = config->lookahead == TACIT_LOOKAHEAD_FULL || config->graph;
    return mode == TI_RUN_INLINE || for_ever ? 0 : PATIENCE_NS;
}

/* Whether every node can be a relay: one whose only thread may be in a kernel that waits for others cannot. Those of a
 * dry run are taken to have threads, unless the program wants none. */
static bool may_relay(const tacit_config *config, bool is_dry, ti_run_mode mode, ti_comm *comm)
{
    if (is_dry) {
        return config->threads != TACIT_THREADS_INLINE;
    }
    return comm->ops->open_relays && comm->ops->sum(comm, mode != TI_RUN_INLINE) == comm->num_nodes;
}

/* Those of a dry run are. */
static bool has_machines(bool is_dry, ti_comm *comm)
{
    return is_dry || comm->ops->sum(comm, comm->local_nodes < comm->num_nodes) > 0;
}

/* All nodes choose alike. Nodes of a recorded run were where they were, and found what they found. */
static void choose_multicast(ti_system *system, const tacit_config *config, const ti_run_kind *kind, ti_comm *comm)
{
    enum { MIN_NODES = 3 }; /* a root, a relay and a leaf */
    const ti_tree tree = ti_tree_of_setting(config->broadcast, false);
    /* what is planned is not cut into segments: the fewest steps are the best */
    const int planned = TI_MULTICAST_TREES + (int)(tree == TI_TREE_BY_SIZE ? TI_TREE_BINOMIAL : tree);
    const bool asks = config->multicast == TACIT_MULTICAST_AUTO && !kind->is_replay;
    system->multicast = TI_MULTICAST_NONE;
    if (comm->num_nodes < MIN_NODES || config->multicast == TACIT_MULTICAST_OFF) {
        return;
    }
    if (config->multicast == TACIT_MULTICAST_PLANNED) {
        system->multicast = planned;
        return;
    }
    const bool relays = may_relay(config, kind->is_dry, kind->mode, comm);
    system->multicast = relays ? TI_MULTICAST_DYNAMIC : TI_MULTICAST_NONE;
    if (asks && !(relays && tree == TI_TREE_FLAT) && has_machines(kind->is_dry, comm)) {
        system->multicast = planned;
        system->found_tree = relays ? (int)tree : TI_TREE_FLAT;
        system->segment = comm->segment;
    }
}

/* Whether any node has; what these have computed is not looked at. */
static bool has_accelerators(const ti_system *system, ti_comm *comm)
{
    bool any = comm->ops->sum(comm, system->accelerators > 0) > 0;
    if (any && system->node == 0) {
        ti_log(TI_LOG_WARNING,
               "TACIT_CHECK_PURE compares nothing where a node has accelerators: set TACIT_DEVICES=host");
    }
    return any;
}

void ti_choose_planning(ti_system *system, const tacit_config *config, const ti_run_kind *kind, ti_comm *comm)
{
    enum { FRONT_FLOOR = 64, FRONT_PER_WORKER = 32, FRONT_CEILING = 1024, MAX_LOOKAHEAD = 8 };
    int64_t front = TI_MIN(TI_MAX(FRONT_FLOOR, FRONT_PER_WORKER * system->total_workers), FRONT_CEILING);
    system->horizon_step = config->horizon_step;
    system->horizon_front = config->horizon_front ? config->horizon_front
                                                  : front; /* more would keep more than 16 MiB */
    system->latency_tasks = latency_tasks(config->latency);
    system->latency_horizons = latency_horizons(config);
    system->latency_staged = is_staged(config->latency);
    choose_tiles(system, config, comm->local_nodes);
    system->overlap = config->overlap == TACIT_OVERLAP_OFF  ? TI_CUTS_OFF
                      : config->overlap == TACIT_OVERLAP_ON ? TI_CUTS_ON
                                                            : TI_CUTS_AUTO;
    /* A window that spans more horizons than may be under way would never close. Others wait in the windows of pure
     * tasks. */
    int ahead = config->run_ahead + 1 - TI_MAX(system->latency_horizons - 1, 0);
    system->check_pure = config->check_pure && !kind->is_dry && !has_accelerators(system, comm);
    system->lookahead = config->lookahead == TACIT_LOOKAHEAD_OFF ? 0 : TI_MIN(ahead, MAX_LOOKAHEAD);
    system->collectives = config->collectives - TACIT_COLLECTIVES_OFF + TI_COLLECTIVES_OFF;
    choose_multicast(system, config, kind, comm);
    system->record = config->graph != NULL;
    bool explains = config->explain && strcmp(config->explain, "0") != 0 && (system->node == 0 || kind->is_dry);
    system->explain = explains ? ti_explain_create() : NULL;
}

void ti_choose_direct(ti_system *system, const tacit_config *config, ti_comm *comm)
{
    const bool wanted = config->device_mpi == TACIT_DEVICE_MPI_ON ||
                        (config->device_mpi == TACIT_DEVICE_MPI_AUTO && comm->reaches_cuda);
    system->direct = wanted && system->accelerator == TI_CUDA && config->comm_delay == 0;
    comm->never_packs = comm->ops->sum(comm, system->direct) > 0; /* how collectives go is the same everywhere */
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

void ti_choose_device_memory(ti_system *system, const tacit_config *config, ti_device *const *device)
{
    for (int d = 0; d < system->devices; d++) {
        const int memory = ti_system_memory(system, d);
        const uint64_t there = device[d]->memory;
        uint64_t wanted = there;
        if (memory == TI_HOST_MEMORY) {
            continue;
        }
        if (config->device_memory) {
            ti_config_memory(config->device_memory, there, &wanted);
        }
        system->device_memory[memory] = there ? TI_MIN(wanted, there) : wanted;
    }
}

void ti_choose_relays(const ti_system *system, ti_comm *comm)
{
    bool wanted = system->multicast == TI_MULTICAST_DYNAMIC || system->found_tree != TI_TREE_FLAT;
    if (wanted && comm->ops->open_relays) { /* which dry runs have not */
        comm->ops->open_relays(comm);
    }
}
