/* The limit on memory: what does not fit is refused before it is allocated, with a table; what fits to the byte runs.
 * And tasks that wait for allocations run although the application does nothing more. */
#include "cluster.h"

#include "base/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_TEXT = 1 << 16 };

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void says(const char *text, const char *words)
{
    char copy[400];
    assert_true(strlen(words) < sizeof(copy));
    strcpy(copy, words);
    for (char *word = strtok(copy, "|"); word; word = strtok(NULL, "|")) {
        if (!strstr(text, word)) {
            fail_msg("'%s' is not in: %s", word, text);
        }
    }
}

/* ---- what goes to stderr */

typedef struct capture {
    FILE *file;
    int before;
} capture;

static capture begin_capture(void)
{
    capture c = { tmpfile(), dup(STDERR_FILENO) };
    assert_non_null(c.file);
    fflush(stderr);
    dup2(fileno(c.file), STDERR_FILENO);
    return c;
}

static const char *end_capture(const capture *c)
{
    static char text[MOST_TEXT];
    fflush(stderr);
    dup2(c->before, STDERR_FILENO);
    close(c->before);
    rewind(c->file);
    text[fread(text, 1, sizeof(text) - 1, c->file)] = '\0';
    fclose(c->file);
    return text;
}

/* ---- one node */

static tacit_context *start(const char *limit, const char *devices)
{
    tacit_context *ctx;
    const tacit_config config = { .memory_limit = limit, .host_devices = devices, .lookahead = TACIT_LOOKAHEAD_FULL };
    REQUIRE_OK(NULL, tacit_init(&config, &ctx));
    return ctx;
}

static tacit_buffer *buffer_of(tacit_context *ctx, const char *name, size_t bytes)
{
    tacit_buffer *buffer;
    const tacit_buffer_desc desc = { .name = name, .range = TACIT_RANGE(bytes), .elem_size = 1 };
    REQUIRE_OK(ctx, tacit_buffer_create(ctx, &desc, &buffer));
    return buffer;
}

static void submit(tacit_context *ctx, const char *name, size_t items, tacit_access access)
{
    const tacit_task task = {
        .name = name, .range = TACIT_RANGE(items), .kernel = { .host = nothing }, .access = { access }
    };
    REQUIRE_OK(ctx, tacit_submit(ctx, &task));
}

static uint64_t buffer_bytes(tacit_context *ctx)
{
    tacit_counters counters;
    assert_int_equal(tacit_get_counters(ctx, &counters), TACIT_OK);
    return counters.buffer_bytes;
}

static void the_table_names_what_is_needed(void **state)
{
    (void)state;
    const size_t ten = (size_t)10 << 30;
    capture c = begin_capture();
    tacit_context *ctx = start("1G", NULL);
    tacit_buffer *a = buffer_of(ctx, "positions", ten), *b = buffer_of(ctx, "small", 1000);
    submit(ctx, "little", 1000, tacit_write(b, tacit_one_to_one()));
    submit(ctx, "fill", ten, tacit_write(a, tacit_one_to_one()));
    submit(ctx, "forces", 16, tacit_read(a, tacit_all()));
    tacit_status status = tacit_wait(ctx);
    char sentence[600];
    snprintf(sentence, sizeof(sentence), "%s", tacit_last_error(ctx));
    uint64_t bytes = buffer_bytes(ctx);
    tacit_status end = tacit_finalize(ctx);
    const char *text = end_capture(&c);
    assert_int_equal(status, TACIT_ERROR_MEMORY);
    assert_int_equal(end, TACIT_ERROR_MEMORY);
    assert_int_equal(bytes, 0);
    says(sentence, "all of buffer 'positions'|10.0 GiB|9.00 GiB more than 1.00 GiB (TACIT_MEMORY_LIMIT");
    says(text, "buffer|extent|whole|positions|[0,10737418240)|10.0 GiB|small|[0,1000)|1000 B|limit: 1.00 GiB");
    says(text, sentence);
}

static void exactly_what_is_there(void **state)
{
    (void)state;
    const char *const devices[] = { NULL, "2", "2:discrete" };
    for (int i = 0; i < 6; i++) {
        /* Half of the elements in each device memory, or all in the host's; the result of the fence is the program's
         * own memory. */
        char limit[16], got[1];
        bool discrete = i % 3 == 2;
        size_t need = discrete ? 20000 + 1 : 20000;
        snprintf(limit, sizeof(limit), "%zu", need - (size_t)(i / 3));
        tacit_context *ctx = start(limit, devices[i % 3]);
        tacit_buffer *a = buffer_of(ctx, "a", 20000);
        submit(ctx, "fill", 20000, tacit_write(a, tacit_one_to_one()));
        submit(ctx, "again", 20000, tacit_update(a, tacit_one_to_one()));
        tacit_status status = tacit_fence_read(ctx, a, tacit_box1(7, 8), got);
        assert_int_equal(status, i < 3 ? TACIT_OK : TACIT_ERROR_MEMORY);
        assert_int_equal(buffer_bytes(ctx), i < 3 ? need : 0);
        assert_int_equal(tacit_finalize(ctx), status);
    }
}

static void percentages_of_the_machine(void **state)
{
    (void)state;
    size_t machine = (size_t)ti_machine_memory();
    assert_true(machine > 1 << 20);
    const char *const limits[] = { "50%", NULL };
    for (int i = 0; i < 2; i++) {
        tacit_context *ctx = start(limits[i], NULL);
        size_t bytes = i ? machine + 4096 : machine / 100 * 51;
        submit(ctx, "fill", bytes, tacit_write(buffer_of(ctx, "a", bytes), tacit_one_to_one()));
        assert_int_equal(tacit_wait(ctx), TACIT_ERROR_MEMORY);
        says(tacit_last_error(ctx), "task 'fill' writes all of buffer 'a'|more nodes|the machine has");
        assert_int_equal(buffer_bytes(ctx), 0);
        assert_int_equal(tacit_finalize(ctx), TACIT_ERROR_MEMORY);
    }
}

static void results_of_fences_count(void **state)
{
    (void)state;
    tacit_context *ctx = start("100k", NULL);
    tacit_buffer *a = buffer_of(ctx, "a", 60000);
    tacit_fence_ticket *ticket = NULL, *second = NULL;
    const void *data;
    submit(ctx, "fill", 60000, tacit_write(a, tacit_one_to_one()));
    REQUIRE_OK(ctx, tacit_wait(ctx));
    assert_int_equal(tacit_fence(ctx, a, TACIT_BOX_ALL, &ticket), TACIT_ERROR_MEMORY);
    says(tacit_last_error(ctx), "tacit_fence: no memory for 60000 bytes of buffer 'a'|read it in parts");
    for (int i = 0; i < 3; i++) {
        REQUIRE_OK(ctx, tacit_fence(ctx, a, tacit_box1(0, 30000), &ticket));
        assert_int_equal(tacit_fence(ctx, a, tacit_box1(0, 30000), &second), TACIT_ERROR_MEMORY);
        REQUIRE_OK(ctx, tacit_fence_get(ticket, &data));
        tacit_fence_release(ticket);
    }
    /* Kept results leave less to buffers. */
    REQUIRE_OK(ctx, tacit_fence(ctx, a, tacit_box1(0, 30000), &ticket));
    submit(ctx, "more", 20000, tacit_write(buffer_of(ctx, "b", 20000), tacit_one_to_one()));
    assert_int_equal(tacit_wait(ctx), TACIT_ERROR_MEMORY);
    tacit_fence_release(ticket);
    assert_int_equal(tacit_finalize(ctx), TACIT_ERROR_MEMORY);
}

/* A buffer may have more elements than there is memory: what counts is what this node touches. */
static void buffers_are_virtual(void **state)
{
    (void)state;
    tacit_context *ctx = start("1M", NULL);
    tacit_buffer *a = buffer_of(ctx, "a", (size_t)1 << 46);
    char got[100];
    for (size_t i = 0; i < 10; i++) {
        size_t at = i << 42;
        submit(ctx, "part", 1, tacit_write(a, tacit_fixed(tacit_box1(at, at + 1000))));
    }
    REQUIRE_OK(ctx, tacit_fence_read(ctx, a, tacit_box1(7ul << 42, (7ul << 42) + 100), got));
    assert_int_equal(buffer_bytes(ctx), 10000);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* Ten buffers, one after the other, of which one fits at a time. */
static void memory_is_used_again(void **state)
{
    (void)state;
    tacit_context *ctx = start("1M", NULL);
    for (int i = 0; i < 10; i++) {
        tacit_buffer *a = buffer_of(ctx, "a", 1 << 20);
        submit(ctx, "fill", 1 << 20, tacit_write(a, tacit_one_to_one()));
        REQUIRE_OK(ctx, tacit_buffer_destroy(ctx, a));
    }
    REQUIRE_OK(ctx, tacit_wait(ctx));
    assert_int_equal(buffer_bytes(ctx), 0);
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
}

/* ---- devices */

enum { PIECES = 5, PIECE = 10000 };

static void number(const tacit_launch *k)
{
    const unsigned char first = *(const unsigned char *)k->args;
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(unsigned char, k->view[0], i) = (unsigned char)(first + i);
    }
}

static void add(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(unsigned char, k->view[0], i) =
            (unsigned char)(TACIT_AT1(unsigned char, k->view[0], i) + TACIT_GET1(unsigned char, k->view[1], i));
    }
}

/* Of five buffers two fit on the device, or one: then a task that needs two is refused. */
static void devices_make_room(void **state)
{
    (void)state;
    for (size_t limit = 2 * PIECE; limit >= 2 * PIECE - 1; limit--) {
        char text[20];
        static unsigned char got[PIECE];
        tacit_context *ctx;
        tacit_buffer *a[PIECES];
        snprintf(text, sizeof(text), "%zu", limit);
        capture c = begin_capture();
        const tacit_config config = { .devices = "host:1:discrete", .device_memory = text };
        REQUIRE_OK(NULL, tacit_init(&config, &ctx));
        for (unsigned char i = 0; i < PIECES; i++) {
            a[i] = buffer_of(ctx, "piece", PIECE);
            REQUIRE_OK(ctx, tacit_submit(ctx, &(tacit_task){ .name = "number",
                                                             .range = TACIT_RANGE(PIECE),
                                                             .kernel = { .host = number },
                                                             .args = &i,
                                                             .args_size = 1,
                                                             .access = { tacit_write(a[i], tacit_one_to_one()) } }));
        }
        tacit_status status = tacit_wait(ctx);
        for (int i = 1; i < PIECES && status == TACIT_OK; i++) {
            status = tacit_submit(ctx, &(tacit_task){ .name = "add",
                                                      .range = TACIT_RANGE(PIECE),
                                                      .kernel = { .host = add },
                                                      .access = { tacit_update(a[0], tacit_one_to_one()),
                                                                  tacit_read(a[i], tacit_one_to_one()) } });
        }
        status = status ? status : tacit_fence_read(ctx, a[0], TACIT_BOX_ALL, got);
        assert_int_equal(tacit_finalize(ctx), status);
        const char *said = end_capture(&c);
        assert_int_equal(status, limit < 2 * PIECE ? TACIT_ERROR_MEMORY : TACIT_OK);
        for (int i = 0; i < PIECE && status == TACIT_OK; i++) {
            assert_int_equal(got[i], (unsigned char)(PIECES * i + PIECES * (PIECES - 1) / 2));
        }
        if (status) {
            says(said,
                 "memory of device host|piece|task 'add' |with everything else this device needs|TACIT_DEVICE_MEMORY");
        }
    }
}

/* ---- many nodes */

typedef struct member {
    local_hub *hub;
    pthread_t thread;
    int node;
    bool reads_all;
    tacit_status status;
    uint64_t bytes;
    char error[600];
} member;

/* 10 GiB on a limit of 1 GiB a node. */
static void *large_program(void *user)
{
    member *m = user;
    tacit_context *ctx;
    const size_t ten = (size_t)10 << 30;
    const tacit_config given = { .memory_limit = "1G", .lookahead = TACIT_LOOKAHEAD_FULL, .workers = 1 };
    tacit_config config = cluster_config(&given);
    REQUIRE(ti_context_create(&config, local_comm_create(m->hub, m->node), &ctx) == TACIT_OK);
    tacit_buffer *a = buffer_of(ctx, "positions", ten);
    submit(ctx, "fill", ten, tacit_write(a, tacit_one_to_one()));
    const tacit_task second = { .name = "forces",
                                .range = TACIT_RANGE(ten),
                                .kernel = { .host = nothing },
                                .access = { m->reads_all ? tacit_read(a, tacit_all())
                                                         : tacit_update(a, tacit_one_to_one()) } };
    m->status = tacit_submit(ctx, &second);
    m->status = m->status == TACIT_OK ? tacit_wait(ctx) : m->status;
    snprintf(m->error, sizeof(m->error), "%s", tacit_last_error(ctx));
    tacit_counters counters;
    REQUIRE(tacit_get_counters(ctx, &counters) == TACIT_OK);
    m->bytes = counters.buffer_bytes;
    tacit_finalize(ctx);
    return NULL;
}

static void run_large(member *members, int nodes, bool reads_all)
{
    local_hub *hub = local_hub_create(nodes, 4096, 1 << 20, 0);
    for (int i = 0; i < nodes; i++) {
        members[i] = (member){ .hub = hub, .node = i, .reads_all = reads_all };
        REQUIRE(pthread_create(&members[i].thread, NULL, large_program, &members[i]) == 0);
    }
    for (int i = 0; i < nodes; i++) {
        REQUIRE(pthread_join(members[i].thread, NULL) == 0);
    }
    local_hub_destroy(hub);
}

static void more_nodes_help(void **state)
{
    (void)state;
    enum { NODES = 16 };
    member members[NODES];
    run_large(members, NODES, false);
    for (int i = 0; i < NODES; i++) {
        assert_string_equal(members[i].error, "");
        assert_int_equal(members[i].status, TACIT_OK);
        assert_int_equal(members[i].bytes, ((uint64_t)10 << 30) / NODES);
    }
}

/* The first node to find out ends the others. */
static void more_nodes_do_not_help_where_all_need_all(void **state)
{
    (void)state;
    enum { NODES = 16 };
    member members[NODES];
    int named = 0;
    run_large(members, NODES, true);
    for (int i = 0; i < NODES; i++) {
        assert_true(members[i].status == TACIT_ERROR_MEMORY || members[i].status == TACIT_ERROR_NETWORK);
        assert_int_equal(members[i].bytes, 0);
        if (members[i].status == TACIT_ERROR_MEMORY) {
            says(members[i].error,
                 "task 'forces' reads all of buffer 'positions' by tacit_all: 10.0 GiB|more nodes do not");
            named++;
        }
    }
    assert_true(named > 0);
}

/* ---- tasks that wait for allocations do not wait for the application */

static _Atomic int ran;

static void tell(const tacit_launch *k)
{
    (void)k;
    atomic_fetch_add(&ran, 1);
}

static void an_idle_application_holds_nothing_up(void **state)
{
    (void)state;
    for (int progress = TACIT_PROGRESS_SHARED; progress <= TACIT_PROGRESS_THREAD; progress++) {
        tacit_context *ctx;
        const tacit_config config = { .progress = progress, .workers = 2, .threads = TACIT_THREADS_ON };
        REQUIRE_OK(NULL, tacit_init(&config, &ctx));
        tacit_buffer *a = buffer_of(ctx, "a", 1000);
        const tacit_task task = { .name = "tell",
                                  .kernel = { .host = tell },
                                  .access = { tacit_write(a, tacit_fixed(tacit_box1(0, 10))) } };
        atomic_store(&ran, 0);
        REQUIRE_OK(ctx, tacit_submit(ctx, &task));
        const struct timespec pause = { 0, 1000 * 1000 };
        for (int i = 0; i < 60000 && atomic_load(&ran) == 0; i++) {
            nanosleep(&pause, NULL); /* a minute at most */
        }
        assert_int_equal(atomic_load(&ran), 1);
        assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_names_what_is_needed),
        cmocka_unit_test(exactly_what_is_there),
        cmocka_unit_test(percentages_of_the_machine),
        cmocka_unit_test(results_of_fences_count),
        cmocka_unit_test(buffers_are_virtual),
        cmocka_unit_test(memory_is_used_again),
        cmocka_unit_test(devices_make_room),
        cmocka_unit_test(more_nodes_help),
        cmocka_unit_test(more_nodes_do_not_help_where_all_need_all),
        cmocka_unit_test(an_idle_application_holds_nothing_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
