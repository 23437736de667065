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

static void three_indices(const tacit_launch *k)
{
    TACIT_AT3(int, k->view[1], k->chunk.min[0], k->chunk.min[1], 1) = 1;
}

static void below(const tacit_launch *k)
{
    TACIT_AT2(int, k->view[1], k->chunk.min[0], k->chunk.min[1] - 1) = 1;
}

static void no_such_view(const tacit_launch *k)
{
    TACIT_AT2(int, k->view[2], 0, 0) = 1;
}

static void far_from_any_view(const tacit_launch *k)
{
    (void)TACIT_GET0(char, k->view[TACIT_MAX_ACCESSES]);
}

/* Indices are evaluated once, in the order of the macro's name. */
static void counts(const tacit_launch *k)
{
    const tacit_view in = k->view[0], out = k->view[1];
    size_t p = 0, q = 0, calls = 0;
    for (size_t n = 0; n < COLS; n++) {
        TACIT_AT2(int, out, (calls++, 0), q++) = TACIT_GET2(int, in, 0, p++) + (int)n;
    }
    for (size_t n = 0; n < COLS; n++) {
        if (TACIT_GET2(int, out, 0, n) != (int)n || q != COLS || p != COLS || calls != COLS) {
            tacit_kernel_fail(k, "element %zu is %d", n, TACIT_GET2(int, out, 0, n));
        }
    }
}

static void knows_its_buffers(const tacit_launch *k)
{
    for (int v = 0; v < k->num_views; v++) {
        const tacit_view view = k->view[v];
        if (k->num_views != 2 || view.extent[0] != ROWS || view.extent[1] != COLS || view.extent[2] != 1 ||
            view.access != v) {
            tacit_kernel_fail(k, "view %d is of %zu x %zu", v, view.extent[0], view.extent[1]);
        }
    }
}

/* Of an access in parts, and of one that is not. */
static void uses_parts(const tacit_launch *k)
{
    const tacit_view in = k->view[0], out = k->view[1];
    size_t elements = 0, calls = 0;
    for (size_t p = 0; p < in.parts; p++) {
        elements += (in.part[p].box.max[0] - in.part[p].box.min[0]) * (in.part[p].box.max[1] - in.part[p].box.min[1]);
    }
    if (in.data || elements != ROWS * COLS || out.parts || out.part) {
        tacit_kernel_fail(k, "the parts have %zu elements", elements);
    }
    const tacit_view *last = tacit_part_of(&in, ROWS - 1, COLS - 1, 0);
    if (!last || tacit_part_of(&in, ROWS, 0, 0) || tacit_part_of(&in, (size_t)-1, 0, 0) ||
        tacit_part_of(&out, 0, 0, 0) != &out || tacit_part_of(&out, 0, COLS, 0)) {
        tacit_kernel_fail(k, "parts are found where there are none");
    }
    const int old = TACIT_PART_GET2(int, in, (calls++, 1), 2);
    TACIT_PART_AT2(int, out, (calls++, 1), 2) = old + 3;
    if (TACIT_GET2(int, out, 1, 2) != 3 || TACIT_GET2(int, *last, ROWS - 1, COLS - 1) != 0 || calls != 2) {
        tacit_kernel_fail(k, "an element of a part is wrong");
    }
}

static void takes_parts_for_one(const tacit_launch *k)
{
    (void)TACIT_GET2(int, k->view[0], 0, 0);
}

static void beside_all_parts(const tacit_launch *k)
{
    (void)TACIT_PART_GET2(int, k->view[0], 0, COLS);
}

static void writes_a_part_that_is_read(const tacit_launch *k)
{
    TACIT_PART_AT2(int, k->view[0], 0, 0) = 1;
}

/* The child: its status is that of tacit_finalize. */
static int run(tacit_host_kernel *kernel)
{
    const bool parts = kernel == uses_parts || kernel == takes_parts_for_one || kernel == beside_all_parts ||
                       kernel == writes_a_part_that_is_read;
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
    const tacit_access read = tacit_read(in, tacit_one_to_one());
    tacit_submit(
        ctx, &(tacit_task){ .name = "t",
                            .range = TACIT_RANGE(ROWS, COLS),
                            .kernel = { .host = kernel },
                            .access = { parts ? tacit_in_parts(read) : read, tacit_update(out, tacit_one_to_one()) } });
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
    stops(wrong_type,
          "tacit error: task 't' on node 0, access 1 to buffer 'out': the type has 8 bytes, an element has 4\n");
    stops(writes_a_read, "task 't' on node 0, access 0 to buffer 'in': TACIT_AT may write, but the access is "
                         "tacit_read; use TACIT_GET");
    stops(beyond, "task 't' on node 0, access 1 to buffer 'out': index 5 of dimension 1 is outside [0,5), which the "
                  "access declares for this chunk");
    stops(below, "index -1 of dimension 1 is outside [0,5)");
    stops(three_indices, "the kernel gives an index of dimension 2, but the buffer has 2 dimensions; use TACIT_AT2 or "
                         "TACIT_GET2");
    stops(no_such_view, "task 't' on node 0: the kernel uses view[2], but the task has only 2, counted from 0");
    stops(takes_parts_for_one, "access 0 to buffer 'in': the access is in parts (tacit_in_parts), so its view has no "
                               "elements of its own; use TACIT_PART_GET or TACIT_PART_AT");
    stops(beside_all_parts, "[0,5] is in none of the parts that the access declares for this chunk");
    stops(writes_a_part_that_is_read, "TACIT_AT may write, but the access is tacit_read; use TACIT_GET");
    stops(far_from_any_view, "task 't' on node 0: the kernel uses view[16], but the task has only 2, counted from 0");
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
    assert_int_equal(in_child(knows_its_buffers, said, sizeof(said)), 0);
    assert_string_equal(said, "");
    assert_int_equal(in_child(counts, said, sizeof(said)), 0);
    assert_int_equal(in_child(uses_parts, said, sizeof(said)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_uses_stop),
        cmocka_unit_test(right_uses_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
