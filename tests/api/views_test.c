/* The macros of views stop a kernel that uses one wrongly, with a sentence, and only then. Each kernel runs in a
 * process of its own. */
#undef NDEBUG
#undef TACIT_UNCHECKED
#include "tacit/tacit.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { ROWS = 6, COLS = 5 };

static void nothing(const tacit_launch *k)
{
    (void)k;
}

static void good(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++) {
        for (size_t j = 0; j < COLS; j++) {
            TACIT_AT2(int, k->view[1], i, j) = TACIT_GET2(int, k->view[0], i, j) + TACIT_GET2(int, k->view[1], i, j);
        }
    }
}

static void wrong_type(const tacit_launch *k)
{
    TACIT_AT2(double, k->view[1], 0, 0) = 1.0;
}

static void writes_a_read(const tacit_launch *k)
{
    TACIT_AT2(int, k->view[0], 0, 0) = 1;
}

static void beyond(const tacit_launch *k)
{
    TACIT_AT2(int, k->view[1], 0, COLS) = 1;
}

/* The child: its status is that of tacit_finalize. */
static int run(tacit_host_kernel *kernel)
{
    const int zeros[ROWS * COLS] = { 0 };
    tacit_context *ctx;
    tacit_buffer *in, *out;
    tacit_config config = { .threads = TACIT_THREADS_INLINE };
    tacit_buffer_desc desc = { .range = TACIT_RANGE(ROWS, COLS), .elem_size = sizeof(int), .init = zeros };
    if (tacit_init(&config, &ctx) != TACIT_OK) {
        return EXIT_FAILURE;
    }
    desc.name = "in";
    tacit_buffer_create(ctx, &desc, &in);
    desc.name = "out";
    tacit_buffer_create(ctx, &desc, &out);
    tacit_submit(
        ctx, &(tacit_task){ .name = "t",
                            .range = TACIT_RANGE(ROWS, COLS),
                            .kernel = { .host = kernel },
                            .access = { tacit_read(in, tacit_one_to_one()), tacit_update(out, tacit_one_to_one()) } });
    return tacit_finalize(ctx) == TACIT_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Runs a kernel in a child: how it ended, and what it said. */
static int in_child(tacit_host_kernel *kernel, char *said, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t id = fork();
    assert_true(id >= 0);
    if (id == 0) {
        dup2(ends[1], STDERR_FILENO);
        exit(run(kernel));
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n; length < size - 1 && (n = read(ends[0], said + length, size - 1 - length)) > 0;) {
        length += (size_t)n;
    }
    said[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(id, &status, 0), id);
    return status;
}

static void stops(tacit_host_kernel *kernel, const char *sentence)
{
    char said[2000];
    int status = in_child(kernel, said, sizeof(said));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (!strstr(said, sentence)) {
        fail_msg("\"%s\" does not say \"%s\"", said, sentence);
    }
}

static void wrong_uses_stop(void **state)
{
    (void)state;
    stops(wrong_type, "kernel uses buffer 'out' wrongly: the type has 8 bytes, an element has 4");
    stops(writes_a_read,
          "kernel uses buffer 'in' wrongly: TACIT_AT may write, but the access is tacit_read; use TACIT_GET");
    stops(beyond, "kernel uses buffer 'out' wrongly: index 5 of dimension 1 is outside [0,5), which the task's access "
                  "declares for this chunk");
}

static void right_uses_go_on(void **state)
{
    char said[2000];
    (void)state;
    assert_int_equal(in_child(good, said, sizeof(said)), 0);
    assert_non_null(strstr(said, "tacit warning: every access of kernels to an element was checked"));
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
    assert_int_equal(in_child(nothing, said, sizeof(said)), 0);
    assert_string_equal(said, ""); /* no access, no check */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_uses_stop),
        cmocka_unit_test(right_uses_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
