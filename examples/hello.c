/* examples/hello.c: the smallest program. Every node computes squares of its part of the indices, and one prints them.
 *
 * Nobody says which node has which indices, and nobody sends anything: the first task says that item i writes
 * element i, the second that its one item reads all elements, and tacit does the rest. On 3 nodes, for 8 elements:
 *     $ build/bin/tacit run -n 3 build/bin/hello 8
 *     0^2 = 0 by node 0
 *     ... */
#include "common.h"

#include <stdlib.h>

struct square {
    size_t value;
    int node;
};

/* Compute a chunk of the squares. Runs on every node, on some chunk of the range. */
static void compute(const tacit_launch *k)
{
    for (size_t i = k->chunk.min[0]; i < k->chunk.max[0]; i++)
        TACIT_AT1(struct square, k->view[0], i) = (struct square){ i * i, k->node };
}

/* Print all squares. Runs on one node, which tacit gives the whole buffer. */
static void print(const tacit_launch *k)
{
    const tacit_view squares = k->view[0];
    for (size_t i = squares.box.min[0]; i < squares.box.max[0]; i++) {
        const struct square s = TACIT_GET1(struct square, squares, i);
        printf("%zu^2 = %zu by node %d\n", i, s.value, s.node);
    }
}

/* The program. Every node runs it from top to bottom and submits the same tasks. */
static void run(tacit_context *ctx, size_t n, struct square *result)
{
    const tacit_buffer_desc desc = {
        .name = "squares",
        .range = TACIT_RANGE(n),
        .elem_size = sizeof(struct square),
    };
    tacit_buffer *squares;
    CHECK(tacit_buffer_create(ctx, &desc, &squares));

    const tacit_task compute_them = {
        .name = "compute",
        .range = TACIT_RANGE(n),
        .kernel = { .host = compute },
        .access = { tacit_write(squares, tacit_one_to_one()) },
    };
    const tacit_task print_them = {
        .name = "print",
        .on = TACIT_ON_ONE_NODE,
        .kernel = { .host = print },
        .access = { tacit_read(squares, tacit_all()) },
    };
    CHECK(tacit_submit(ctx, &compute_them));
    CHECK(tacit_submit(ctx, &print_them));
    CHECK(tacit_fence_read(ctx, squares, TACIT_BOX_ALL, result));
}

/* The rest has nothing to do with tacit: options, and the check of the result. */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_ARG && state->arg_num == 0)
        return example_parse_size(state, "SIZE", arg, 1, 1000000, state->input);
    return ARGP_ERR_UNKNOWN;
}

static bool is_right(const struct square *result, size_t n, int num_nodes)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good = good && result[i].value == i * i && result[i].node >= 0 && result[i].node < num_nodes;
    return good;
}

int main(int argc, char **argv)
{
    const struct argp argp = { NULL, parse, "[SIZE]", "Squares of the numbers below SIZE (8), computed by all nodes.",
                               NULL, NULL,  NULL };
    struct example_options options = { .plain = true };
    tacit_context *ctx = NULL;
    size_t n = 8;
    bool good = true;

    CHECK(tacit_init(NULL, &ctx));
    int error = example_parse(ctx, &argp, &options, argc, argv, &n);
    if (!error && !options.help) {
        struct square *result = example_alloc(n, sizeof *result);
        run(ctx, n, result);
        good = !options.verify || is_right(result, n, tacit_num_nodes(ctx));
        if (!good)
            fprintf(stderr, "node %d: the squares are wrong\n", tacit_node(ctx));
        free(result);
    }
    return example_end(ctx, error, good);
}
