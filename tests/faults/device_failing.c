/* Devices that fail in a run of several nodes, over MPI: a stencil whose borders travel between nodes.
 *
 *   device_failing KIND good|text|function              nothing fails; the kernel in text does not compile; the kernel
 *                                                       that is a function says on rank 1 in step 5 that it cannot go
 *   device_failing cuda FUNCTION N CODE once|on RANK    with the driver of tests/cuda: its Nth call of FUNCTION on this
 *                                                       rank returns CODE, or all from then on
 *
 * KIND is opencl or cuda, as TACIT_DEVICES names. Prints the status and the sentence that a call has failed with. */
#include "cuda/stub.h"
#include "tacit/tacit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, STEPS = 12, FAILING_STEP = 5 };

static const char good_text[] = "TACIT_KERNEL around(TACIT_VIEW(x), TACIT_VIEW(y), TACIT_CHUNK(c),\n"
                                "                    TACIT_VALUE(int, step)) {\n"
                                "    TACIT_FOR (i, c, 0)\n"
                                "        TACIT_AT1(int, y, i) = TACIT_GET1(int, x, TACIT_WRAP(i + 1, 4096));\n"
                                "}\n";
static const char bad_text[] = "TACIT_KERNEL around(TACIT_VIEW(x), TACIT_VIEW(y), TACIT_CHUNK(c),\n"
                               "                    TACIT_VALUE(int, step)) {\n"
                               "    these are no words of the language\n"
                               "}\n";

static tacit_context *ctx;

static void check(tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "program: %s: %s\n", tacit_status_name(status), tacit_last_error(ctx));
        exit(EXIT_FAILURE);
    }
}

static void start(const tacit_launch *k)
{
    TACIT_FOR (i, k->chunk, 0) {
        TACIT_AT1(int, k->view[0], i) = (int)i;
    }
}

static void refuse(const tacit_launch *k)
{
    const int *step = k->args;
    if (k->node == 1 && *step == FAILING_STEP) {
        tacit_kernel_fail(k, "it does not start in step %d", *step);
    }
}

static void refuse_opencl(const tacit_launch *k, const struct tacit_opencl *opencl)
{
    (void)opencl;
    refuse(k);
}

static void refuse_cuda(const tacit_launch *k, void *stream)
{
    (void)stream;
    refuse(k);
}

static tacit_kernel kernel_of(const char *kind, const char *what)
{
    const char *text = strcmp(what, "text") == 0 ? bad_text : good_text;
    const bool is_opencl = strcmp(kind, "opencl") == 0, is_function = strcmp(what, "function") == 0;
    tacit_kernel kernel = { .host = NULL };
    if (is_opencl) {
        kernel.opencl.source = is_function ? NULL : text;
        kernel.opencl.entry = is_function ? NULL : "around";
        kernel.opencl.launch = is_function ? refuse_opencl : NULL;
    } else {
        kernel.cuda.source = is_function ? NULL : text;
        kernel.cuda.entry = is_function ? NULL : "around";
        kernel.cuda.launch = is_function ? refuse_cuda : NULL;
    }
    return kernel;
}

static void run(tacit_kernel kernel, int got[N])
{
    tacit_buffer *u[2];
    for (int i = 0; i < 2; i++) {
        const tacit_buffer_desc desc = { .name = "u", .range = TACIT_RANGE(N), .elem_size = sizeof(int) };
        check(tacit_buffer_create(ctx, &desc, &u[i]));
    }
    check(tacit_submit(ctx, &(tacit_task){ .name = "start",
                                           .range = TACIT_RANGE(N),
                                           .kernel = { .host = start },
                                           .access = { tacit_write(u[0], tacit_one_to_one()) } }));
    for (int s = 0; s < STEPS; s++) {
        check(tacit_submit(ctx, &(tacit_task){ .name = "around",
                                               .range = TACIT_RANGE(N),
                                               .kernel = kernel,
                                               TACIT_ARGS(s),
                                               .access = { tacit_read(u[s % 2], tacit_all()),
                                                           tacit_write(u[1 - s % 2], tacit_one_to_one()) } }));
    }
    check(tacit_fence_read(ctx, u[STEPS % 2], TACIT_BOX_ALL, got));
}

static int disturb(char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
    const stub_control *stub = stub_find();
    if (!stub) {
        fprintf(stderr, "this needs the driver of tests/cuda\n");
        return 77;
    }
    if (rank && atoi(rank) == atoi(argv[6])) {
        stub->disturb(argv[2], atol(argv[3]), atoi(argv[4]), strcmp(argv[5], "on") == 0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static int got[N];
    int status = argc == 7 ? disturb(argv) : argc == 3 ? 0 : EXIT_FAILURE;
    if (status) {
        return status;
    }
    check(tacit_init(NULL, &ctx));
    run(kernel_of(argv[1], argv[2]), got);
    check(tacit_finalize(ctx));
    for (int i = 0; i < N; i++) {
        if (got[i] != (i + STEPS) % N) {
            fprintf(stderr, "program: wrong result\n");
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}
