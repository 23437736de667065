/* What tacit itself keeps for a small buffer that a task has written: all stages together, on one node and on two. */
#include "base/alloc.h"
#include "tacit/tacit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* So many that what a run has anyway, some 500 kB of arenas and queues, is a few bytes of each. */
enum { BUFFERS = 40000, AT_ONCE = 100, ELEMENTS = 16, ONE_NODE = 1500, TWO_NODES = 3520 /* bytes */ };

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static uint64_t bytes_per_buffer(const char *dry_run)
{
    static tacit_buffer *buffer[BUFFERS];
    const tacit_config config = { .workers = 2, .dry_run = dry_run };
    tacit_context *ctx;
    assert_int_equal(tacit_init(&config, &ctx), TACIT_OK);
    uint64_t before = ti_alloc_live();
    for (int i = 0; i < BUFFERS; i++) {
        const tacit_buffer_desc desc = { .name = "small", .range = TACIT_RANGE(ELEMENTS), .elem_size = 8 };
        assert_int_equal(tacit_buffer_create(ctx, &desc, &buffer[i]), TACIT_OK);
    }
    for (int i = 0; i < BUFFERS; i++) {
        const tacit_task task = { .name = "write",
                                  .range = TACIT_RANGE(ELEMENTS),
                                  .kernel = { .host = nothing },
                                  .access = { tacit_write(buffer[i], tacit_one_to_one()) } };
        assert_int_equal(tacit_submit(ctx, &task), TACIT_OK);
        if (i % AT_ONCE == AT_ONCE - 1) { /* queues of tasks grow with what waits in them: not of interest here */
            assert_int_equal(tacit_wait(ctx), TACIT_OK);
        }
    }
    uint64_t bytes = (ti_alloc_live() - before) / BUFFERS;
    assert_int_equal(tacit_finalize(ctx), TACIT_OK);
    return bytes;
}

/* In a process of its own: slots of handles stay when a context ends, and would not be counted a second time. */
static uint64_t bytes_in_a_process(const char *dry_run)
{
    int end[2], how;
    uint64_t bytes = 0;
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        bytes = bytes_per_buffer(dry_run);
        _exit(write(end[1], &bytes, sizeof(bytes)) != sizeof(bytes));
    }
    assert_true(child > 0);
    assert_int_equal(read(end[0], &bytes, sizeof(bytes)), sizeof(bytes));
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    close(end[0]);
    close(end[1]);
    return bytes;
}

static void one_node(void **state)
{
    (void)state;
    assert_in_range(bytes_in_a_process(NULL), 1, ONE_NODE);
}

static void two_nodes(void **state)
{
    (void)state;
    assert_in_range(bytes_in_a_process("2:0"), 1, TWO_NODES);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_node), cmocka_unit_test(two_nodes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
