/* Advice at the end of a run (TACIT_ADVICE): for each piece a program that provokes it, and the same program mended,
 * after which nothing is said. That one node is late takes sums over nodes: tests/mpi/late_node_test.c. */
#undef NDEBUG /* one of them is about checked accesses */
#include "api/cluster.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { HEARD = 4000, N = 64, STEPS = 24 };

/* ---- what is said on stderr */

static const char starving[] = "workers had nothing to compute in ";

/* Run it with stderr in `file`. */
static void run_into(const cluster *c, int file)
{
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(file, STDERR_FILENO) >= 0);
    cluster_run(c);
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
}

static void hear(const cluster *c, char out[HEARD])
{
    FILE *file = tmpfile();
    assert_non_null(file);
    run_into(c, fileno(file));
    rewind(file);
    out[fread(out, 1, HEARD - 1, file)] = '\0';
    fclose(file);
}

/* How long things take is chance here, but in the test about that. */
static void drop_times(char *text)
{
    for (char *line = text; *line;) {
        char *next = strchr(line, '\n') ? strchr(line, '\n') + 1 : line + strlen(line), *found = strstr(line, starving);
        if (found && found < next) {
            memmove(line, next, strlen(next) + 1);
        } else {
            line = next;
        }
    }
}

static void expect(const cluster *c, const char *words)
{
    char text[HEARD];
    hear(c, text);
    if (strcmp(words, starving) != 0) {
        drop_times(text);
    }
    if (!strstr(text, words) || strchr(text, '\n') != strrchr(text, '\n')) {
        fail_msg("'%s' and nothing else should be said, but it is: %s", words, text);
    }
}

static void expect_nothing(const cluster *c)
{
    char text[HEARD];
    hear(c, text);
    drop_times(text);
    assert_string_equal(text, "");
}

/* ---- programs */

static tacit_buffer *create(tacit_context *ctx, const char *name, size_t elements)
{
    tacit_buffer *b;
    const tacit_buffer_desc desc = { .name = name, .range = TACIT_RANGE(elements), .elem_size = sizeof(int) };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &b));
    return b;
}

static void fill(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        ((int *)k->view[0].data)[i - k->view[0].box.min[0]] = (int)i;
    }
}

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void start(tacit_context *ctx, tacit_buffer *b)
{
    const tacit_task starting = { .name = "start",
                                  .range = TACIT_RANGE(N),
                                  .kernel = { .host = fill },
                                  .access = { tacit_write(b, tacit_one_to_one()) } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &starting));
}

/* Each step needs twice as much as the one before; what is mended says so before. */
static void growing(tacit_context *ctx, void *user)
{
    const bool *mended = user;
    enum { DOUBLINGS = 12 };
    tacit_buffer *b = create(ctx, "grows", (size_t)1 << DOUBLINGS);
    for (int i = *mended ? DOUBLINGS : 0; i <= DOUBLINGS; i++) {
        const tacit_task step = { .name = "step",
                                  .range = TACIT_RANGE(1),
                                  .kernel = { .host = nothing },
                                  .access = { tacit_write(b, tacit_fixed(tacit_box1(0, (size_t)1 << i))) } };
        REQUIRE_OK(ctx, tacit_submit(ctx, &step));
        REQUIRE_OK(ctx, tacit_wait(ctx));
    }
}

/* All nodes read what all have written. */
static void gathering(tacit_context *ctx, void *user)
{
    (void)user;
    tacit_buffer *b[2] = { create(ctx, "a", N), create(ctx, "b", N) };
    start(ctx, b[0]);
    for (int i = 0; i < STEPS; i++) {
        const tacit_task step = { .name = "step",
                                  .range = TACIT_RANGE(N),
                                  .kernel = { .host = nothing },
                                  .access = { tacit_read(b[i % 2], tacit_all()),
                                              tacit_write(b[1 - i % 2], tacit_one_to_one()) } };
        REQUIRE_OK(ctx, tacit_submit(ctx, &step));
    }
}

/* What one step has written by blocks, the next divides otherwise, so that half of it moves; mended, both are alike. */
static void dividing(tacit_context *ctx, void *user)
{
    const bool *mended = user;
    tacit_buffer *b[2] = { create(ctx, "a", N), create(ctx, "b", N) };
    start(ctx, b[0]);
    for (int i = 0; i < STEPS; i++) {
        tacit_task step = { .name = "step",
                            .range = TACIT_RANGE(N),
                            .kernel = { .host = nothing },
                            .access = { tacit_read(b[i % 2], tacit_one_to_one()),
                                        tacit_write(b[1 - i % 2], tacit_one_to_one()) } };
        step.hint.granularity[0] = *mended || i % 2 ? 0 : N / 3;
        REQUIRE_OK(ctx, tacit_submit(ctx, &step));
    }
}

/* Windows of four; a fence after every step closes them early. */
static void fencing(tacit_context *ctx, void *user)
{
    const bool *mended = user;
    int first;
    tacit_buffer *b[2] = { create(ctx, "a", N), create(ctx, "b", N) };
    start(ctx, b[0]);
    for (int i = 0; i < STEPS; i++) {
        const tacit_task step = { .name = "step",
                                  .range = TACIT_RANGE(N),
                                  .kernel = { .host = nothing },
                                  .access = { tacit_read(b[i % 2], tacit_neighborhood(1, 0, 0)),
                                              tacit_write(b[1 - i % 2], tacit_one_to_one()) },
                                  .hint = { .pure = true } };
        REQUIRE_OK(ctx, tacit_submit(ctx, &step));
        if (!*mended || i % 8 == 7) {
            REQUIRE_OK(ctx, tacit_fence_read(ctx, b[1 - i % 2], tacit_box1(0, 1), &first));
        }
    }
}

static void linger(const tacit_launch *k)
{
    const struct timespec pause = { 0, 120 * 1000 * 1000 };
    (void)k;
    nanosleep(&pause, NULL);
}

/* One kernel, of one part. */
static void lingering(tacit_context *ctx, void *user)
{
    (void)user;
    const tacit_task step = { .name = "step",
                              .range = TACIT_RANGE(1),
                              .kernel = { .host = linger },
                              .access = { tacit_write(create(ctx, "b", 1), tacit_one_to_one()) } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &step));
}

static void look(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) = 0;
    }
}

static void checking(tacit_context *ctx, void *user)
{
    (void)user;
    const tacit_task looking = { .name = "look",
                                 .range = TACIT_RANGE(N),
                                 .kernel = { .host = look },
                                 .access = { tacit_write(create(ctx, "b", N), tacit_one_to_one()) } };
    REQUIRE_OK(ctx, tacit_submit(ctx, &looking));
}

/* ---- tests */

static const tacit_config on = { .advice = TACIT_ADVICE_ON, .threads = TACIT_THREADS_INLINE };

static void both_ways(cluster_program *program, int nodes, const tacit_config *config, const char *words)
{
    bool mended = false;
    cluster c = { .nodes = nodes, .config = config, .program = program, .user = &mended };
    expect(&c, words);
    mended = true;
    expect_nothing(&c);
}

/* A view that spans far boxes, of which little is touched; what is mended has parts. In a loop, so that what is known
 * of a shape is used. */
static void both_ends(const tacit_box *items, const tacit_range *range, const void *user, tacit_region *out)
{
    (void)items;
    (void)user;
    tacit_region_add(out, tacit_box1(0, N));
    tacit_region_add(out, tacit_box1(range->size[0] - N, range->size[0]));
}

static void spreading(tacit_context *ctx, void *user)
{
    const bool *mended = user;
    int handle;
    const size_t elements = (size_t)3 << 18; /* 3 MiB */
    tacit_buffer *b = create(ctx, "wide", elements);
    REQUIRE_OK(ctx, tacit_mapper_create(ctx, both_ends, NULL, 0, 0, &handle));
    for (int i = 0; i < STEPS; i++) {
        tacit_task step = { .name = "ends",
                            .range = TACIT_RANGE(1),
                            .kernel = { .host = nothing },
                            .place = tacit_place_node(0),
                            .access = { tacit_write(b, tacit_custom(handle)) } };
        step.access[0].in_parts = *mended;
        REQUIRE_OK(ctx, tacit_submit(ctx, &step));
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
}

static void memory_lies_idle(void **state)
{
    (void)state;
    both_ways(spreading, 1, &on, "3.0 MiB of buffer 'wide' lie in one piece on node 0, mostly for access 0 of task");
    both_ways(spreading, 2, &on, "use tacit_in_parts, an access for each box");
}

static void memory_grows(void **state)
{
    (void)state;
    both_ways(growing, 1, &on, "the memory of a buffer had to grow 1");
}

static void messages_for_collectives(void **state)
{
    (void)state;
    tacit_config off = on;
    off.collectives = TACIT_COLLECTIVES_OFF;
    const cluster without = { .nodes = 4, .config = &off, .program = gathering };
    expect(&without, "24 times a task got by messages between pairs of nodes what a collective might bring (off)");
    expect_nothing(&(cluster){ .nodes = 4, .config = &on, .program = gathering });
    expect_nothing(&(cluster){ .nodes = 2, .config = &off, .program = gathering }); /* the same messages */
    both_ways(dividing, 3, &on, "what a collective might bring (partition)");
}

static void windows_close_early(void **state)
{
    (void)state;
    tacit_config halo = on;
    halo.latency = "halo:4";
    both_ways(fencing, 2, &halo, "windows of pure tasks closed before they were full (at a fence)");
}

static void workers_starve(void **state)
{
    (void)state;
    tacit_config many = { .advice = TACIT_ADVICE_ON, .threads = TACIT_THREADS_ON, .workers = 4 };
    tacit_config one = { .advice = TACIT_ADVICE_ON, .threads = TACIT_THREADS_ON, .workers = 1 };
    char text[HEARD];
    expect(&(cluster){ .nodes = 1, .config = &many, .program = lingering }, starving);
    hear(&(cluster){ .nodes = 1, .config = &one, .program = lingering }, text);
    assert_string_equal(text, "");
    hear(&(cluster){ .nodes = 1, .config = &on, .program = lingering }, text);
    assert_string_equal(text, "");
}

/* Once in a process, and also if stderr is no terminal. */
static void accesses_are_checked(void **state)
{
    (void)state;
    tacit_config off = { .advice = TACIT_ADVICE_OFF, .threads = TACIT_THREADS_INLINE };
    tacit_config usual = { .threads = TACIT_THREADS_INLINE };
    expect_nothing(&(cluster){ .nodes = 1, .config = &off, .program = checking });
    expect(&(cluster){ .nodes = 1, .config = &usual, .program = checking }, "14 to 18 times slower");
    expect_nothing(&(cluster){ .nodes = 1, .config = &usual, .program = checking });
}

/* By default nothing is said into a file, and a reader at a terminal gets all. */
static void on_terminals(void **state)
{
    (void)state;
    bool mended = false;
    char text[HEARD] = "";
    tacit_config usual = { .threads = TACIT_THREADS_INLINE };
    cluster c = { .nodes = 1, .config = &usual, .program = growing, .user = &mended };
    expect_nothing(&c);
    int reader = posix_openpt(O_RDWR | O_NOCTTY);
    if (reader < 0 || grantpt(reader) != 0 || unlockpt(reader) != 0) {
        skip(); /* this system has no terminals to spare */
    }
    int terminal = open(ptsname(reader), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    run_into(&c, terminal);
    assert_true(read(reader, text, HEARD - 1) > 0);
    assert_non_null(strstr(text, "had to grow"));
    close(terminal);
    close(reader);
}

int main(void)
{
    unsetenv("TACIT_ADVICE");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_lies_idle),
        cmocka_unit_test(memory_grows),
        cmocka_unit_test(messages_for_collectives),
        cmocka_unit_test(windows_close_early),
        cmocka_unit_test(workers_starve),
        cmocka_unit_test(accesses_are_checked),
        cmocka_unit_test(on_terminals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
