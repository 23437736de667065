/* The host device: every item runs once, whatever the box, the granule and the number of workers; copies;
 * completions; placement.
 *
 * Usage: device_host_test [SEED]. Random tests print their seed. Threads are compared by what they did, never by
 * time. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "device/host.h"
#include "device/host_queue.h"
#include "device/parts.h"
#include "ir/task.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 20240611;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = *state ^ (*state >> 29);
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
}

static int64_t pick(uint64_t *state, int64_t least, int64_t most)
{
    return least + (int64_t)(next_random(state) % (uint64_t)(most - least + 1));
}

static ti_device *create(int workers, int threads, ti_lot *lot)
{
    ti_device *device = ti_device_host_create(&(ti_host_desc){ .workers = workers, .threads = threads, .lot = lot });
    assert_non_null(device);
    return device;
}

/* Polls `count` tokens; works as the last worker meanwhile if that one is lent. */
static void drain(ti_device *device, bool lent, uint64_t *tokens, int count)
{
    int got = 0;
    while (got < count) {
        if (!lent || !ti_device_host_work(device, device->workers - 1, 1)) {
            sched_yield();
        }
        int n = device->ops->poll(device, tokens + got, TI_MIN(2, count - got));
        assert_true(n >= 0 && n <= count - got);
        got += n;
    }
    assert_int_equal(device->ops->poll(device, tokens, 1), 0);
}

/* ---------------------------------------------------------------- kernels */

/* One launch and what its kernel saw. */
typedef struct probe {
    ti_device_kernel job;
    _Atomic uint8_t *hits; /* per item of the box */
    size_t extent[3], items;
    _Atomic int calls, prepared, parts, wrong;
    struct probe *self; /* the argument of the kernel */
} probe;

static void count_items(const tacit_launch *launch)
{
    probe *p = *(probe *const *)launch->args;
    const tacit_box *c = &launch->chunk, *whole = &p->job.launch.chunk;
    bool on_border = (c->min[0] - whole->min[0]) % (size_t)p->job.granule == 0;
    bool cut_ok = p->job.whole ? memcmp(c, whole, sizeof(*c)) == 0 : on_border;
    if (!cut_ok || launch->worker < 0 || launch->worker >= launch->num_workers || launch->node != 7) {
        p->wrong++;
    }
    p->calls++;
    for (size_t i = c->min[0] - whole->min[0]; i < c->max[0] - whole->min[0]; i++) {
        for (size_t j = c->min[1] - whole->min[1]; j < c->max[1] - whole->min[1]; j++) {
            for (size_t k = c->min[2] - whole->min[2]; k < c->max[2] - whole->min[2]; k++) {
                p->hits[(i * p->extent[1] + j) * p->extent[2] + k]++;
            }
        }
    }
}

/* A task whose items have weights, every hundredth a large one. */
static ti_weights weights;
static const ti_shape weighted_shape = { .items = &weights };
static const ti_task weighted = { .shape = &weighted_shape };

/* Along dimension 0, parts of such a task begin where the weights say. */
static bool is_cut_by_weights(const ti_device_kernel *job, int part, int parts, const tacit_box *chunk)
{
    const tacit_box *whole = &job->launch.chunk;
    bool along_0 = job->launch.dims == 1 || whole->max[0] - whole->min[0] > 1;
    if (!job->task || parts == 1 || !along_0) {
        return true;
    }
    const ti_weights_cut how = {
        .lo = (int64_t)whole->min[0], .hi = (int64_t)whole->max[0], .gran = job->granule, .parts = parts
    };
    int64_t own[2];
    ti_weights_part(&weights, &how, part, own);
    return (size_t)own[0] == chunk->min[0] && (size_t)own[1] == chunk->max[0];
}

static void make_weights(void)
{
    enum { ITEMS = 1100 };
    uint64_t weight[ITEMS];
    for (uint64_t i = 0; i < ITEMS; i++) {
        weight[i] = i % 100 == 7 ? 1000 : i % 5;
    }
    assert_int_equal(ti_weights_init(&weights, weight, ITEMS), TI_WEIGHTS_OK);
}

static void note_part(ti_device_kernel *job, int part, int parts, tacit_launch *launch)
{
    probe *p = job->user;
    p->wrong += part < 0 || part >= parts || launch->chunk.min[0] >= launch->chunk.max[0] ||
                !is_cut_by_weights(job, part, parts, &launch->chunk);
    p->prepared++;
    p->parts = parts;
    job->host(launch);
}

static void probe_init(probe *p, uint64_t *state, uint64_t token)
{
    memset(p, 0, sizeof(*p));
    p->job.launch.dims = (int)pick(state, 1, 3);
    p->job.whole = pick(state, 0, 5) == 0;
    p->job.granule = pick(state, 0, 2) ? 1 : pick(state, 1, 9);
    p->job.task = pick(state, 0, 2) ? NULL : &weighted;
    p->job.token = token;
    p->job.host = count_items;
    p->job.run = note_part;
    p->job.user = p->self = p;
    p->job.launch.args = &p->self;
    p->job.launch.node = 7;
    p->items = 1;
    for (int d = 0; d < 3; d++) {
        size_t begin = d < p->job.launch.dims ? (size_t)pick(state, 0, 1000) : 0;
        p->extent[d] = d < p->job.launch.dims ? (size_t)(pick(state, 0, 2) ? pick(state, 1, 40) : 1) : 1;
        p->job.launch.chunk.min[d] = begin;
        p->job.launch.chunk.max[d] = begin + p->extent[d];
        p->items *= p->extent[d];
    }
    p->hits = calloc(p->items, 1);
}

/* How many parts the rule in device/host.h makes: granules along the first dimension that can be cut, at most one per
 * worker. */
static int parts_expected(const probe *p, int workers)
{
    int d = 0;
    while (d + 1 < p->job.launch.dims && p->extent[d] == 1) {
        d++;
    }
    size_t granule = d == 0 ? (size_t)p->job.granule : 1;
    size_t granules = (p->extent[d] + granule - 1) / granule;
    return p->job.whole ? 1 : (int)TI_MIN((size_t)workers, granules);
}

static void check_probe(probe *p, int workers)
{
    int parts = parts_expected(p, workers);
    assert_int_equal(p->wrong, 0);
    assert_int_equal(p->parts, parts);
    assert_int_equal(p->calls, parts);
    assert_int_equal(p->prepared, parts);
    for (size_t i = 0; i < p->items; i++) {
        assert_int_equal(p->hits[i], 1);
    }
    free((void *)p->hits);
}

static void check_tokens(const uint64_t *tokens, int count)
{
    bool seen[64] = { false };
    for (int i = 0; i < count; i++) {
        assert_true(tokens[i] < (uint64_t)count);
        assert_false(seen[tokens[i]]);
        seen[tokens[i]] = true;
    }
}

/* What a listener hears of parts that have run, by token. */
typedef struct heard {
    _Atomic uint64_t items[64];
    _Atomic int parts[64], wrong;
} heard;

static void hear(void *told, const ti_host_part *part)
{
    heard *h = told;
    h->wrong += part->token >= 64 || part->worker < 0 || part->start == 0;
    h->items[part->token % 64] += part->items;
    h->parts[part->token % 64]++;
}

static void a_listener_hears_of_every_item(void **unused)
{
    enum { ROUNDS = 40, MOST = 12 };
    uint64_t state = seed, tokens[MOST];
    static probe probes[MOST];
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        ti_lot lot = { 0 };
        heard h = { .wrong = 0 };
        int workers = (int)pick(&state, 1, 5), count = (int)pick(&state, 1, MOST);
        ti_device *device = ti_device_host_create(
            &(ti_host_desc){ .workers = workers, .threads = workers, .lot = &lot, .ran = hear, .listener = &h });
        for (int i = 0; i < count; i++) {
            probe_init(&probes[i], &state, (uint64_t)i);
            device->ops->launch(device, 0, &probes[i].job);
        }
        drain(device, false, tokens, count);
        assert_int_equal(h.wrong, 0);
        for (int i = 0; i < count; i++) {
            assert_int_equal(h.items[i], probes[i].items);
            assert_true(h.parts[i] >= 1 && h.parts[i] <= parts_expected(&probes[i], workers)); /* short ones: fewer */
            check_probe(&probes[i], workers);
        }
        device->ops->destroy(device);
    }
}

static void every_item_runs_once(void **unused)
{
    enum { ROUNDS = 150, MOST = 12 };
    uint64_t state = seed, tokens[MOST];
    static probe probes[MOST];
    (void)unused;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < ROUNDS; round++) {
        ti_lot lot = { 0 };
        int workers = (int)pick(&state, 1, 5), threads = (int)pick(&state, 0, workers),
            count = (int)pick(&state, 1, MOST);
        ti_device *device = create(workers, threads, &lot);
        for (int i = 0; i < count; i++) {
            probe_init(&probes[i], &state, (uint64_t)i);
            device->ops->launch(device, 0, &probes[i].job);
        }
        drain(device, threads < workers, tokens, count);
        check_tokens(tokens, count);
        for (int i = 0; i < count; i++) {
            check_probe(&probes[i], workers);
        }
        device->ops->destroy(device);
    }
}

/* Kernels that come again, and are cut by how long they took: into how many parts depends on the machine. */
static void short_kernels_run_every_item(void **unused)
{
    enum { ROUNDS = 20, LAUNCHES = 60 };
    uint64_t state = seed, token;
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        ti_lot lot = { 0 };
        probe p;
        int workers = (int)pick(&state, 2, 5), threads = (int)pick(&state, 0, workers);
        ti_device *device = create(workers, threads, &lot);
        probe_init(&p, &state, 0);
        p.job.run = NULL;
        for (int launch = 1; launch <= LAUNCHES; launch++) {
            int calls = p.calls;
            device->ops->launch(device, 0, &p.job);
            drain(device, threads < workers, &token, 1);
            assert_true(p.calls > calls && p.calls - calls <= parts_expected(&p, workers));
            for (size_t i = 0; i < p.items; i++) {
                assert_int_equal(p.hits[i], launch);
            }
        }
        assert_int_equal(p.wrong, 0);
        free((void *)p.hits);
        device->ops->destroy(device);
    }
}

/* A reduction: which pieces it was called for, and how many there were. */
typedef struct pieces {
    ti_device_kernel job;
    int calls[8], wrong, expected;
} pieces;

static void note_piece(ti_device_kernel *job, int part, int parts, tacit_launch *launch)
{
    pieces *p = job->user;
    tacit_box chunk = job->launch.chunk;
    ti_parts_cut(job, parts, part, &chunk);
    p->wrong += parts != p->expected || chunk.min[0] != launch->chunk.min[0] || chunk.max[0] != launch->chunk.max[0] ||
                launch->view != job->launch.view;
    p->calls[part]++;
    launch->view++; /* each piece has views of its own */
}

/* The pieces of reductions, on which their bits depend, are always the same; if they are short, one worker runs them
 * all, as one part. Of the first one nothing is known; the estimate follows the shortest that was measured. */
static void short_reductions_keep_their_pieces(void **unused)
{
    enum { WORKERS = 2, MOST = 100000 };
    ti_lot lot = { 0 };
    ti_device *device = create(WORKERS, 0, &lot);
    tacit_view views[2 * WORKERS];
    pieces p = { .expected = WORKERS };
    uint64_t token;
    int steps = 0, launch = 0;
    (void)unused;
    p.job = (ti_device_kernel){ .run = note_piece, .user = &p, .granule = 1 };
    p.job.launch = (tacit_launch){ .chunk = tacit_box1(0, 10), .view = views, .dims = 1 };
    while (steps != 1 && launch < MOST) {
        device->ops->launch(device, 0, &p.job);
        for (steps = 0; device->ops->poll(device, &token, 1) == 0;) {
            steps += ti_device_host_work(device, 0, 1);
        }
        launch++;
        for (int i = 0; i < WORKERS; i++) {
            assert_int_equal(p.calls[i], launch);
        }
        assert_true(launch > 1 || steps == WORKERS);
    }
    assert_int_equal(p.wrong, 0);
    assert_int_equal(steps, 1);
    device->ops->destroy(device);
}

/* ---------------------------------------------------------------- placement */

/* Jobs of one part that note their order and their worker. */
typedef struct step {
    ti_device_kernel job;
    struct log {
        _Atomic int count;
        _Atomic uint64_t token[16];
        _Atomic int worker[16];
        _Atomic int wrong;
    } * log;
} step;

static void note_step(ti_device_kernel *job, int part, int parts, tacit_launch *launch)
{
    step *s = job->user;
    int at = s->log->count++;
    s->log->wrong += part != 0 || parts != 1;
    s->log->token[at] = job->token;
    s->log->worker[at] = launch->worker;
    job->host(launch);
}

static void do_nothing(const tacit_launch *launch)
{
    (void)launch;
}

static void step_init(step *s, struct log *log, uint64_t token)
{
    *s = (step){ .log = log };
    s->job = (ti_device_kernel){
        .host = do_nothing, .whole = true, .granule = 1, .token = token, .run = note_step, .user = s
    };
    s->job.launch.chunk = tacit_box1(0, 1);
}

static void without_threads_only_lent_work_runs(void **unused)
{
    ti_lot lot = { 0 };
    struct log log = { 0 };
    ti_device *device = create(2, 0, &lot);
    uint64_t token = 0;
    step s;
    (void)unused;
    assert_false(ti_device_host_work(device, 0, 1));
    step_init(&s, &log, 42);
    device->ops->launch(device, 0, &s.job);
    assert_int_equal(log.count, 0);
    assert_int_equal(device->ops->poll(device, &token, 1), 0);
    int looks = 1;
    while (!ti_device_host_work(device, 1, 1)) { /* it is what worker 0 does next, who does not come */
        looks++;
    }
    assert_true(looks > 10);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.wrong, 0);
    assert_int_equal(log.worker[0], 1);
    assert_false(ti_device_host_work(device, 1, 1));
    assert_int_equal(device->ops->poll(device, &token, 1), 1);
    assert_int_equal(token, 42);
    assert_int_equal(device->ops->poll(device, &token, 1), 0);
    device->ops->destroy(device);
}

/* A worker's own job waits in its own queue: worker 0 finds the job of round robin first, and A only when it steals. */
static void a_worker_queues_for_itself(void **unused)
{
    ti_lot lot = { 0 };
    struct log log = { 0 };
    ti_device *device = create(2, 0, &lot);
    uint64_t tokens[3];
    step a, b, c;
    (void)unused;
    step_init(&a, &log, 'A');
    step_init(&b, &log, 'B');
    step_init(&c, &log, 'C');
    assert_false(ti_device_host_work(device, 1, 1));
    uint32_t ticket = ti_lot_ticket(&lot);
    device->ops->launch(device, 0, &a.job);
    assert_int_equal(ti_lot_ticket(&lot), ticket); /* nobody is woken for what the caller takes itself */
    ti_device_host_leave(device);
    assert_int_not_equal(ti_lot_ticket(&lot), ticket); /* but when the caller goes away */
    ticket = ti_lot_ticket(&lot);
    device->ops->launch(device, 0, &b.job);
    assert_int_not_equal(ti_lot_ticket(&lot), ticket);
    assert_true(ti_device_host_work(device, 0, 1));
    assert_true(ti_device_host_work(device, 0, 1));
    assert_int_equal(log.token[0], 'B');
    assert_int_equal(log.token[1], 'A');
    assert_int_equal(device->ops->poll(device, tokens, 1), 1);
    assert_int_equal(tokens[0], 'B');
    device->ops->launch(device, 0, &c.job);
    assert_true(ti_device_host_work(device, 0, 1));
    assert_int_equal(device->ops->poll(device, tokens, 3), 2);
    assert_int_equal(tokens[0], 'A');
    assert_int_equal(tokens[1], 'C');
    device->ops->destroy(device);
}

static void room_shrinks_with_queued_kernels(void **unused)
{
    enum { COUNT = 60, WORKERS = 3 }; /* more than a queue holds at first */
    ti_lot lot = { 0 };
    ti_device *device = create(WORKERS, 0, &lot);
    static step steps[COUNT];
    struct log log = { 0 };
    uint64_t tokens[COUNT];
    (void)unused;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(device->ops->room(device), TI_MAX(0, 2 * WORKERS - i));
        step_init(&steps[i], &log, (uint64_t)i);
        steps[i].job.run = NULL;
        device->ops->launch(device, 0, &steps[i].job);
    }
    drain(device, true, tokens, COUNT);
    check_tokens(tokens, COUNT);
    assert_int_equal(device->ops->room(device), 2 * WORKERS);
    device->ops->destroy(device);
}

/* Every part waits for all the others, so each worker runs one; the part must be its own, every time. */
struct presence {
    pthread_barrier_t barrier;
    _Atomic int worker_of[8];
};

static void meet(const tacit_launch *launch)
{
    struct presence *m = *(struct presence *const *)launch->args;
    m->worker_of[launch->chunk.min[0] / 10] = launch->worker;
    pthread_barrier_wait(&m->barrier);
}

static void parts_return_to_their_worker(void **unused)
{
    enum { WORKERS = 4, ROUNDS = 200 };
    ti_lot lot = { 0 };
    ti_device *device = create(WORKERS, WORKERS, &lot);
    struct presence present, *args = &present;
    uint64_t token;
    (void)unused;
    pthread_barrier_init(&present.barrier, NULL, WORKERS);
    for (int round = 0; round < ROUNDS; round++) {
        ti_device_kernel job = { .host = meet, .launch.dims = 1, .granule = 1, .token = (uint64_t)round };
        job.launch.chunk = tacit_box1(0, 10 * WORKERS);
        job.launch.args = &args;
        device->ops->launch(device, 0, &job);
        drain(device, false, &token, 1);
        for (int i = 0; i < WORKERS; i++) {
            assert_int_equal(present.worker_of[i], i);
        }
    }
    pthread_barrier_destroy(&present.barrier);
    device->ops->destroy(device);
}

/* ---------------------------------------------------------------- kernels that follow others */

/* A kernel of a chain, each of whose items looks whether all items of the one before have been counted. */
typedef struct link {
    ti_device_kernel job;
    struct link *self, *before;
    _Atomic size_t counted;
    size_t items;
    _Atomic int wrong, worker, begun, *open; /* the first one waits until this is not 0, if it is there */
    _Atomic int *idle, idles;                /* how often workers had been idle when it began */
    uint64_t plain;                          /* not atomic: what comes after reads it */
} link;

static void count_link(const tacit_launch *launch)
{
    link *l = *(link *const *)launch->args;
    const size_t items = launch->chunk.max[0] - launch->chunk.min[0];
    l->idles = l->idle ? (int)*l->idle : 0;
    l->begun = 1;
    while (l->open && !*l->open) {
        sched_yield();
    }
    if (l->before) {
        l->wrong += l->before->counted != l->before->items || l->before->plain != l->before->job.token + 1;
    }
    if (launch->chunk.min[0] == 0) {
        l->plain = l->job.token + 1;
    }
    l->worker = launch->worker;
    l->counted += items;
}

/* The same, by another name, since it is known how long kernels of a name take. */
static void wait_and_count(const tacit_launch *launch)
{
    count_link(launch);
}

/* The same, and so long that it is worth cutting. */
static void work_and_count(const tacit_launch *launch)
{
    enum { WORK_NS = 4 * TI_PART_NS };
    for (uint64_t start = ti_clock_ns(); ti_clock_ns() - start < WORK_NS;) {
        ti_cpu_relax();
    }
    count_link(launch);
}

static void link_init(link *l, uint64_t token, size_t items, link *before)
{
    *l = (link){ .self = l, .before = before, .items = items };
    l->job = (ti_device_kernel){ .host = count_link, .launch.dims = 1, .granule = 1, .token = token };
    l->job.launch.chunk = tacit_box1(0, items);
    l->job.launch.args = &l->self;
}

/* Two kernels, of which the second follows. It is tried again where the system took the core away when it was measured,
 * so that it seems to be long. */
static void launch_pair(ti_device *device, link *a, link *b)
{
    for (bool follows = false; !follows;) {
        uint64_t token;
        link_init(a, 7, 1, NULL);
        link_init(b, 8, 1, a);
        device->ops->launch(device, 0, &a->job);
        assert_true(device->ops->may_be_followed(device, &a->job));
        follows = device->ops->follow(device, &a->job, &b->job);
        if (!follows) {
            drain(device, true, &token, 1);
        }
    }
}

static void who_ends_a_kernel_starts_what_follows(void **unused)
{
    ti_lot lot = { 0 };
    ti_device *device = create(2, 0, &lot);
    uint64_t tokens[3];
    link a, b, c;
    (void)unused;
    launch_pair(device, &a, &b);
    link_init(&c, 9, 1, &b);
    assert_false(device->ops->may_be_followed(device, &a.job));
    assert_int_equal(device->ops->room(device), 3); /* the second one takes none until it starts */
    uint32_t ticket = ti_lot_ticket(&lot);
    assert_true(ti_device_host_work(device, 1, 1));
    assert_int_equal(ti_lot_ticket(&lot), ticket); /* nobody was woken */
    assert_true(a.counted == 1 && b.counted == 1 && a.wrong + b.wrong == 0 && b.worker == 1);
    assert_int_equal(device->ops->room(device), 4);
    assert_false(device->ops->may_be_followed(device, &b.job));
    assert_false(device->ops->follow(device, &b.job, &c.job)); /* too late */
    assert_int_equal(device->ops->room(device), 4);
    assert_false(ti_device_host_work(device, 0, 1));
    assert_int_equal(device->ops->poll(device, tokens, 3), 2);
    assert_true(tokens[0] == 7 && tokens[1] == 8);
    device->ops->destroy(device);
}

static ti_host_found note_idle(void *user, ti_host_idle when)
{
    (void)when;
    (*(_Atomic int *)user)++;
    return TI_HOST_NOTHING;
}

/* Where somebody else waits for the first one, too, who ends it looks for that before it goes on; else not. */
static void who_is_told_looks_first(void **unused)
{
    (void)unused;
    for (int told = 0; told < 2; told++) {
        ti_lot lot = { 0 };
        _Atomic int open = 0, idle = 0;
        ti_host_desc desc = { .workers = 2, .threads = 1, .lot = &lot, .idle = note_idle, .user = (void *)&idle };
        ti_device *device = ti_device_host_create(&desc);
        uint64_t tokens[2];
        link a, b;
        bool follows = false;
        while (!follows) {
            link_init(&a, 0, 1, NULL);
            link_init(&b, 1, 1, &a);
            b.idle = &idle;
            a.open = &open;
            a.job.host = wait_and_count;
            open = 0;
            device->ops->launch(device, 0, &a.job);
            while (!a.begun) {
                sched_yield();
            }
            int before = idle; /* and there is only one worker, who is in the kernel */
            follows = device->ops->follow(device, &a.job, &b.job);
            if (!follows) { /* how long it takes is not known yet */
                b.before = NULL;
                device->ops->launch(device, 0, &b.job);
            } else if (told) {
                device->ops->tell(device, &a.job);
            }
            open = 1;
            drain(device, false, tokens, 2);
            assert_true(a.counted == 1 && b.counted == 1 && a.wrong + b.wrong == 0);
            assert_true(!follows || b.idles == before + told);
        }
        device->ops->destroy(device);
    }
}

typedef struct chain_counts {
    int followed, cut; /* cut: those of them that have several parts */
} chain_counts;

/* Those that follow others may be reported in any order. */
static void note_reported(const uint64_t *tokens, int count, int last, bool *reported)
{
    for (int i = 0; i < count; i++) {
        assert_true(tokens[i] <= (uint64_t)last && !reported[tokens[i]]);
        reported[tokens[i]] = true;
    }
}

/* Chains that are put together while their first kernel waits; what is not short enough is launched by itself. */
static void run_chain(ti_device *device, uint64_t *state, bool lent, chain_counts *counts)
{
    enum { MOST = 6 };
    static link l[MOST];
    static _Atomic int open;
    uint64_t tokens[MOST];
    bool is_reported[MOST] = { false };
    int count = (int)pick(state, 2, MOST), last = 0, reported = 0;
    open = 0;
    for (int i = 0; i < count; i++) {
        link_init(&l[i], (uint64_t)i, pick(state, 0, 1) ? 1 : 64, i ? &l[i - 1] : NULL);
        l[i].job.host = l[i].items > 1 && pick(state, 0, 1) ? work_and_count : count_link;
    }
    l[0].job.host = wait_and_count;
    l[0].open = lent ? NULL : &open;
    device->ops->launch(device, 0, &l[0].job);
    while (last + 1 < count && device->ops->may_be_followed(device, &l[last].job) &&
           device->ops->follow(device, &l[last].job, &l[last + 1].job)) {
        last++;
        counts->followed++;
        counts->cut += ((ti_host_job *)l[last].job.at)->parts > 1;
    }
    open = 1;
    while (reported < count) {
        drain(device, lent, tokens, last + 1 - reported);
        note_reported(tokens, last + 1 - reported, last, is_reported);
        reported = last + 1;
        if (reported < count) {
            device->ops->launch(device, 0, &l[++last].job);
        }
    }
    for (int i = 0; i < count; i++) {
        assert_int_equal(l[i].wrong, 0);
        assert_int_equal(l[i].counted, l[i].items);
    }
}

static void chains_run_in_order(void **unused)
{
    enum { ROUNDS = 20, CHAINS = 30 };
    uint64_t state = seed + 2;
    chain_counts counts = { 0 };
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        ti_lot lot = { 0 };
        int workers = (int)pick(&state, 2, 4), threads = (int)pick(&state, 0, workers);
        ti_device *device = create(workers, threads, &lot);
        for (int chain = 0; chain < CHAINS; chain++) {
            run_chain(device, &state, threads < workers, &counts);
        }
        device->ops->destroy(device);
    }
    assert_true(counts.followed > counts.cut && counts.cut > 0);
}

/* What follows a kernel that never runs goes with it. */
static void chains_that_do_not_run_are_dropped(void **unused)
{
    ti_lot lot = { 0 };
    ti_device *device = create(2, 0, &lot);
    link a, b, c;
    (void)unused;
    launch_pair(device, &a, &b);
    link_init(&c, 9, 1, &b);
    assert_true(device->ops->follow(device, &b.job, &c.job));
    device->ops->destroy(device);
    assert_int_equal(a.counted + b.counted + c.counted, 0);
}

/* ---------------------------------------------------------------- the executor role in idle */

/* A chain of jobs, each started by whichever worker finds the one before it completed: what the runtime does in
 * `idle`. */
struct chain {
    _Atomic(ti_device *) device;
    ti_lock role;
    ti_lot lot;
    _Atomic int done;
    step next;
    struct log log;
    int length;
};

static ti_host_found advance(void *user, ti_host_idle when)
{
    struct chain *c = user;
    ti_device *device = c->device;
    uint64_t token;
    bool moved = false;
    (void)when;
    if (!device || !ti_lock_try(&c->role)) {
        return TI_HOST_NOTHING;
    }
    if (device->ops->poll(device, &token, 1) == 1) {
        moved = true;
        c->log.wrong += token != (uint64_t)c->done;
        if (c->done + 1 < c->length) {
            c->log.count = 0;
            step_init(&c->next, &c->log, (uint64_t)c->done + 1);
            device->ops->launch(device, 0, &c->next.job);
        }
        c->done++;
    }
    ti_lock_drop(&c->role);
    return moved ? TI_HOST_SOMETHING : TI_HOST_NOTHING;
}

static void workers_pass_the_role_on(void **unused)
{
    static struct chain c;
    (void)unused;
    c.length = 20000;
    ti_host_desc desc = { .workers = 4, .threads = 4, .idle = advance, .user = &c, .lot = &c.lot };
    ti_device *device = ti_device_host_create(&desc);
    assert_non_null(device);
    step_init(&c.next, &c.log, 0);
    ti_lock_take(&c.role);
    c.device = device;
    device->ops->launch(device, 0, &c.next.job);
    ti_lock_drop(&c.role);
    while (c.done < c.length) {
        sched_yield();
    }
    ti_device_host_stop(device);
    ti_device_host_stop(device);
    assert_int_equal(c.done, c.length);
    assert_int_equal(c.log.wrong, 0);
    device->ops->destroy(device);
}

/* ---------------------------------------------------------------- memory */

static void memory_is_aligned_and_may_be_refused(void **unused)
{
    static const size_t sizes[] = { 0, 1, 63, 64, 65, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 40 << 20 };
    ti_lot lot = { 0 };
    ti_device *device = create(1, 0, &lot);
    void *ptr = NULL;
    (void)unused;
    for (size_t i = 0; i < TI_COUNT(sizes); i++) {
        assert_int_equal(device->ops->alloc(device, sizes[i], &ptr), TACIT_OK);
        assert_int_equal((uintptr_t)ptr % 64, 0);
        memset(ptr, 1, sizes[i]);
        device->ops->free(device, ptr, sizes[i]);
    }
    assert_int_equal(device->ops->alloc(device, SIZE_MAX / 4, &ptr), TACIT_ERROR_MEMORY);
    assert_int_equal(device->ops->alloc(device, SIZE_MAX, &ptr), TACIT_ERROR_MEMORY);
    device->ops->free(device, NULL, 1 << 21);
    device->ops->destroy(device);
}

/* From small to small, to mapped, and on; what is refused leaves all as it was. */
static void memory_grows_with_its_contents(void **unused)
{
    static const size_t sizes[] = { 1, 100, 4096, (1 << 20) - 1, 1 << 20, (3 << 20) + 5, 9 << 20, 9 << 20 };
    ti_lot lot = { 0 };
    ti_device *device = create(1, 0, &lot);
    void *ptr = NULL, *before;
    (void)unused;
    assert_int_equal(device->ops->alloc(device, sizes[0], &ptr), TACIT_OK);
    memset(ptr, 7, sizes[0]);
    for (size_t i = 1; i < TI_COUNT(sizes); i++) {
        assert_int_equal(device->ops->grow(device, ptr, sizes[i - 1], sizes[i], &ptr), TACIT_OK);
        assert_int_equal((uintptr_t)ptr % 64, 0);
        for (size_t k = 0; k < sizes[i - 1]; k++) {
            assert_int_equal(((char *)ptr)[k], 7);
        }
        memset(ptr, 7, sizes[i]);
        before = ptr;
        assert_int_equal(device->ops->grow(device, ptr, sizes[i], SIZE_MAX / 4, &before), TACIT_ERROR_MEMORY);
        assert_int_equal(((char *)ptr)[sizes[i] - 1], 7);
    }
    device->ops->free(device, ptr, sizes[TI_COUNT(sizes) - 1]);
    device->ops->destroy(device);
}

/* The bytes of a block, in order, into a plain array (or back). */
static void walk(const ti_block *b, char *plain, bool store)
{
    for (size_t i = 0; i < b->count[0]; i++) {
        for (size_t j = 0; j < b->count[1]; j++, plain += b->run) {
            char *at = b->base + i * b->stride[0] + j * b->stride[1];
            memcpy(store ? at : plain, store ? plain : at, b->run);
        }
    }
}

/* A block of outer x inner runs with gaps; in one piece, `run` swallows all that is contiguous. */
static ti_block block_make(char *memory, size_t outer, size_t inner, size_t run, int shape)
{
    size_t gap = shape == 0 ? 0 : 24, gap0 = shape == 2 ? 40 : 0;
    ti_block b = { .base = memory, .run = run, .count = { outer, inner } };
    b.stride[1] = run + gap;
    b.stride[0] = inner * b.stride[1] + gap0;
    if (shape == 0) {
        b = (ti_block){ .base = memory, .run = run * inner * outer, .count = { 1, 1 } };
        b.stride[0] = b.stride[1] = b.run;
    }
    return b;
}

static size_t block_span(const ti_block *b)
{
    return (b->count[0] - 1) * b->stride[0] + (b->count[1] - 1) * b->stride[1] + b->run;
}

static void copies_move_all_bytes(void **unused)
{
    enum { ROUNDS = 60, CAPACITY = 8 << 20 };
    uint64_t state = seed + 1, token;
    char *a = malloc(CAPACITY), *b = malloc(CAPACITY), *plain = malloc(CAPACITY), *expected = malloc(CAPACITY);
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        int workers = (int)pick(&state, 1, 5), threads = (int)pick(&state, 0, workers);
        size_t outer = (size_t)pick(&state, 1, 6), inner = (size_t)pick(&state, 1, 300);
        size_t run = (size_t)(pick(&state, 0, 1) ? pick(&state, 1, 40) : pick(&state, 500, 1500));
        ti_lot lot = { 0 };
        ti_device *device = create(workers, threads, &lot);
        ti_block from = block_make(a, outer, inner, run, (int)pick(&state, 0, 2));
        ti_block to = block_make(b, outer, inner, run, (int)pick(&state, 0, 2));
        size_t bytes = ti_block_bytes(&to), span = block_span(&to);
        assert_true(span < CAPACITY && block_span(&from) < CAPACITY);
        for (size_t i = 0; i < bytes; i++) {
            plain[i] = (char)next_random(&state);
        }
        memset(b, 0x55, span + 64);
        memcpy(expected, b, span + 64);
        walk(&from, plain, true);
        to.base = expected;
        walk(&to, plain, true);
        to.base = b;
        device->ops->copy(device, 0, &to, &from, 9);
        if (bytes < 256 * 1024) { /* done at once */
            assert_int_equal(device->ops->poll(device, &token, 1), 1);
        } else {
            drain(device, threads < workers, &token, 1);
        }
        assert_int_equal(token, 9);
        assert_memory_equal(b, expected, span + 64); /* gaps too */
        device->ops->destroy(device);
    }
    free(a);
    free(b);
    free(plain);
    free(expected);
}

/* ---------------------------------------------------------------- cores */

static void cores_are_ours(void **unused)
{
    cpu_set_t allowed;
    (void)unused;
    assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    assert_int_equal(ti_host_cores(), CPU_COUNT(&allowed));
}

static void nothing_is_left_allocated(void **unused)
{
    (void)unused;
    ti_weights_fini(&weights);
    assert_int_equal(ti_alloc_live(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_runs_once),
        cmocka_unit_test(short_kernels_run_every_item),
        cmocka_unit_test(short_reductions_keep_their_pieces),
        cmocka_unit_test(a_listener_hears_of_every_item),
        cmocka_unit_test(without_threads_only_lent_work_runs),
        cmocka_unit_test(a_worker_queues_for_itself),
        cmocka_unit_test(room_shrinks_with_queued_kernels),
        cmocka_unit_test(parts_return_to_their_worker),
        cmocka_unit_test(who_ends_a_kernel_starts_what_follows),
        cmocka_unit_test(who_is_told_looks_first),
        cmocka_unit_test(chains_run_in_order),
        cmocka_unit_test(chains_that_do_not_run_are_dropped),
        cmocka_unit_test(workers_pass_the_role_on),
        cmocka_unit_test(memory_is_aligned_and_may_be_refused),
        cmocka_unit_test(memory_grows_with_its_contents),
        cmocka_unit_test(copies_move_all_bytes),
        cmocka_unit_test(cores_are_ours),
        cmocka_unit_test(nothing_is_left_allocated),
    };
    if (argc > 1) {
        seed = strtoull(argv[1], NULL, 10);
    }
    make_weights();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
