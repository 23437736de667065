/* What threads are bound to, as kernels see it: cores of their own where there are enough, whatever contexts, nodes and
 * processes there are. */
#include "cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 64, ITEMS = 512, ROUNDS = 200 };

/* What the workers of one context were bound to: the last time, and whether it was ever anything else. */
typedef struct seen {
    ti_cores of[MOST];
    _Atomic bool has_run[MOST];
    _Atomic int changes;
} seen;

static void look(const tacit_launch *k)
{
    seen *s = *(seen *const *)k->args;
    ti_cores now;
    ti_cores_of_thread(&now);
    REQUIRE(k->worker < MOST);
    if (!atomic_load(&s->has_run[k->worker])) {
        s->of[k->worker] = now;
        atomic_store(&s->has_run[k->worker], true);
    } else if (memcmp(&s->of[k->worker], &now, sizeof(now)) != 0) {
        s->changes++;
    }
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) += 1;
    }
}

static void run(tacit_context *ctx, seen *s)
{
    tacit_buffer *b;
    static const int zero[ITEMS];
    REQUIRE_OK(ctx,
               tacit_buffer_create(
                   ctx, &(tacit_buffer_desc){ "b", TACIT_RANGE(ITEMS), .elem_size = sizeof(int), .init = zero }, &b));
    for (int round = 0; round < ROUNDS; round++) {
        REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "look",
                                                         .range = TACIT_RANGE(ITEMS),
                                                         .kernel = { .host = look },
                                                         .args = &s,
                                                         .args_size = sizeof(s),
                                                         .access = { tacit_update(b, tacit_one_to_one()) } }));
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

/* What all of them were bound to together; *parts: the sum of what each was. */
static ti_cores together(const seen *s, int *parts)
{
    ti_cores all = { .word = { 0 } };
    *parts = 0;
    for (int w = 0; w < MOST; w++) {
        *parts += atomic_load(&s->has_run[w]) ? ti_cores_count(&s->of[w]) : 0;
        for (size_t i = 0; atomic_load(&s->has_run[w]) && i < TI_COUNT(all.word); i++) {
            all.word[i] |= s->of[w].word[i];
        }
    }
    return all;
}

static int count_workers(const seen *s)
{
    int count = 0;
    for (int w = 0; w < MOST; w++) {
        count += atomic_load(&s->has_run[w]);
    }
    return count;
}

/* With several devices, idle workers of one run kernels of another as the worker that has no thread. */
static void require_own_cores(const seen *s, bool has_devices)
{
    int parts, workers = count_workers(s);
    ti_cores all = together(s, &parts);
    REQUIRE(workers >= 1 && parts == workers);
    REQUIRE(has_devices || (s->changes == 0 && ti_cores_count(&all) == workers));
}

static void require_unbound(const seen *s, const ti_cores *may)
{
    for (int w = 0; w < MOST; w++) {
        REQUIRE(!atomic_load(&s->has_run[w]) || memcmp(&s->of[w], may, sizeof(*may)) == 0);
    }
    REQUIRE(s->changes == 0);
}

static tacit_context *init(const tacit_config *config)
{
    tacit_context *ctx;
    REQUIRE_OK(NULL, tacit_init(config, &ctx));
    return ctx;
}

static ti_cores mine(void)
{
    ti_cores cores;
    ti_cores_of_thread(&cores);
    return cores;
}

/* As many workers as cores; the program's thread gets back what it had. */
static void each_its_own(void **state)
{
    (void)state;
    ti_cores before = mine();
    int cores = ti_cores_count(&before);
    tacit_config configs[] = { { .log = 2 },
                               { .workers = cores, .progress = TACIT_PROGRESS_SHARED },
                               { .workers = cores, .progress = TACIT_PROGRESS_SHARED, .host_devices = "2" } };
    for (int i = 0; i < (cores % 2 == 0 ? 3 : 2); i++) {
        seen s = { .changes = 0 };
        tacit_context *ctx = init(&configs[i]);
        run(ctx, &s);
        REQUIRE(ti_runtime_pin(ctx->runtime)->kind == TI_PIN_EACH);
        require_own_cores(&s, configs[i].host_devices != NULL);
        REQUIRE_OK(ctx, tacit_finalize(ctx));
        ti_cores after = mine();
        assert_memory_equal(&after, &before, sizeof(after));
    }
}

/* Off, more workers than cores, and fewer: nothing is bound. */
static void not_bound(void **state)
{
    (void)state;
    ti_cores before = mine();
    int cores = ti_cores_count(&before);
    const tacit_config configs[] = {
        { .pin = "off" },
        { .workers = cores + 1, .progress = TACIT_PROGRESS_SHARED },
        { .workers = cores, .progress = TACIT_PROGRESS_THREAD },
        { .threads = TACIT_THREADS_INLINE },
    };
    for (size_t i = 0; i < TI_COUNT(configs) - (cores == 1); i++) {
        seen s = { .changes = 0 };
        tacit_context *ctx = init(&configs[i]);
        run(ctx, &s);
        require_unbound(&s, &before);
        REQUIRE_OK(ctx, tacit_finalize(ctx));
    }
}

/* Any one core, and a list for fewer workers than it has cores. */
static void listed(void **state)
{
    (void)state;
    ti_cores before = mine();
    for (int core = 0, tried = 0; core < TI_MAX_CORES && tried < 2; core++) {
        if (!ti_cores_has(&before, core)) {
            continue;
        }
        char text[16];
        int parts;
        seen s = { .changes = 0 };
        snprintf(text, sizeof(text), "%d", core);
        tacit_context *ctx = init(&(tacit_config){ .pin = text, .threads = tried ? TACIT_THREADS_ON : 0 });
        run(ctx, &s);
        ti_cores all = together(&s, &parts);
        REQUIRE(parts == 1 && ti_cores_has(&all, core) && s.changes == 0);
        REQUIRE_OK(ctx, tacit_finalize(ctx));
        tried++;
    }
}

static void wrong_lists(void **state)
{
    (void)state;
    tacit_context *ctx;
    ti_cores may = mine();
    int missing = TI_MAX_CORES - 1;
    assert_false(ti_cores_has(&may, missing));
    assert_int_equal(tacit_init(&(tacit_config){ .pin = "0-" }, &ctx), TACIT_ERROR_CONFIG);
    assert_non_null(strstr(tacit_last_error(NULL), "TACIT_PIN is '0-'"));
    assert_int_equal(tacit_init(&(tacit_config){ .pin = "1023" }, &ctx), TACIT_ERROR_CONFIG);
    assert_non_null(strstr(tacit_last_error(NULL), "TACIT_PIN names core 1023"));
}

/* Of two contexts only the first binds; the threads of the second may go where the process may. */
static void two_contexts(void **state)
{
    (void)state;
    ti_cores before = mine();
    tacit_config config = { .workers = ti_cores_count(&before), .progress = TACIT_PROGRESS_SHARED };
    seen first = { .changes = 0 }, second = { .changes = 0 };
    tacit_context *one = init(&config), *other = init(&config);
    run(one, &first);
    run(other, &second);
    require_own_cores(&first, false);
    int last = config.workers - 1; /* this thread, which the first has bound */
    second.of[last] = before;
    REQUIRE(ti_runtime_pin(other->runtime)->kind == TI_PIN_NONE);
    for (int w = 0; w < last; w++) {
        REQUIRE(!atomic_load(&second.has_run[w]) || memcmp(&second.of[w], &before, sizeof(before)) == 0);
    }
    REQUIRE_OK(one, tacit_finalize(one));
    REQUIRE_OK(other, tacit_finalize(other));
    ti_cores after = mine();
    assert_memory_equal(&after, &before, sizeof(after));
}

typedef struct of_nodes {
    seen node[4];
} of_nodes;

static void on_node(tacit_context *ctx, void *user)
{
    run(ctx, &((of_nodes *)user)->node[tacit_node(ctx)]);
}

/* Nodes that share the cores take different ones; where there are too few, nothing is bound. */
static void nodes(void **state)
{
    (void)state;
    ti_cores may = mine();
    int cores = ti_cores_count(&may);
    for (int count = 1; count <= 4; count++) {
        of_nodes s = { .node = { { .changes = 0 } } };
        cluster_run(&(cluster){ .nodes = count, .program = on_node, .user = &s });
        for (int i = 0; i < count; i++) {
            int parts;
            ti_cores own = together(&s.node[i], &parts);
            REQUIRE(s.node[i].changes == 0);
            REQUIRE(count <= cores || ti_cores_count(&own) == cores);
            for (int j = 0; j < i && count <= cores; j++) {
                ti_cores other = together(&s.node[j], &parts);
                REQUIRE(!ti_cores_meet(&own, &other));
            }
        }
    }
}

/* Another process has the cores. */
static void two_processes(void **state)
{
    (void)state;
    ti_cores before = mine();
    tacit_config config = { .workers = ti_cores_count(&before), .progress = TACIT_PROGRESS_SHARED };
    int ready[2], go[2], status = -1;
    char byte;
    REQUIRE(pipe(ready) == 0 && pipe(go) == 0);
    pid_t child = fork(); /* while this process has no threads */
    REQUIRE(child >= 0);
    if (child == 0) {
        close(go[1]);
        seen theirs = { .changes = 0 };
        tacit_context *ctx = init(&config);
        run(ctx, &theirs);
        require_own_cores(&theirs, false);
        REQUIRE(write(ready[1], "r", 1) == 1 && read(go[0], &byte, 1) >= 0);
        REQUIRE_OK(ctx, tacit_finalize(ctx));
        _exit(0);
    }
    close(ready[1]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    seen ours = { .changes = 0 };
    tacit_context *ctx = init(&config);
    run(ctx, &ours);
    require_unbound(&ours, &before);
    REQUIRE_OK(ctx, tacit_finalize(ctx));
    close(go[1]);
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

/* Other tests take cores, too: here, these find each other in a folder of their own. */
static int in_own_folder(void **state)
{
    static char folder[] = "pin_test.XXXXXX";
    (void)state;
    return mkdtemp(folder) && setenv("XDG_RUNTIME_DIR", folder, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[100];
    const char *folder = getenv("XDG_RUNTIME_DIR");
    snprintf(path, sizeof(path), "%s/tacit-cores-%ld", folder, (long)getuid());
    return unlink(path) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_processes), cmocka_unit_test(each_its_own), cmocka_unit_test(not_bound),
        cmocka_unit_test(listed),        cmocka_unit_test(wrong_lists),  cmocka_unit_test(two_contexts),
        cmocka_unit_test(nodes),
    };
    return cmocka_run_group_tests(tests, in_own_folder, remove_folder);
}
