/* Programs whose footprints are far larger together than apart, to be planned: rows and columns of one matrix in turns,
 * transpositions between two, a factorisation as one split task per step; and worlds that go around the ends, of 1 to 3
 * dimensions, in parts or each in one piece, split along one dimension or two.
 *
 * Usage: footprints transform|transpose|factor SIDE
 *        footprints torus SIDE DIMS REACH parts|piece 1d|2d */
#include <tacit/tacit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tacit_context *ctx;

static void kernel(const tacit_launch *launch)
{
    (void)launch;
}

static void must(tacit_status status)
{
    if (status != TACIT_OK) {
        fprintf(stderr, "footprints: %s\n", tacit_last_error(ctx));
        exit(1);
    }
}

static void submit(const char *name, size_t first, size_t items, tacit_access a, tacit_access b)
{
    tacit_task task = { .name = name,
                        .kernel = { .host = kernel },
                        .range = tacit_range1(items),
                        .offset = { first },
                        .access = { a, b } };
    must(tacit_submit(ctx, &task));
}

static const tacit_access none = { .mode = 0 };

static tacit_mapper rows_within(size_t first, size_t end)
{
    return tacit_components(tacit_dim(0), tacit_span(first, end), tacit_full());
}

static void factor(tacit_buffer *a, size_t n)
{
    const size_t width = n / 32;
    for (size_t k = 0; k + width < n; k += width) {
        const size_t next = k + width;
        const tacit_mapper diagonal = tacit_fixed(tacit_box2(k, next, k, next));
        submit("diagonal", 0, 1, tacit_update(a, diagonal), none);
        submit("panel", next, n - next, tacit_update(a, rows_within(k, next)), tacit_read(a, diagonal));
        submit("rest", next, n - next, tacit_update(a, rows_within(next, n)),
               tacit_read(a, tacit_fixed(tacit_box2(next, n, k, next))));
    }
}

/* Arguments: SIDE DIMS REACH parts|piece 1d|2d. */
static void torus(char **argument)
{
    const size_t n = (size_t)atol(argument[0]);
    const int dims = atoi(argument[1]);
    const tacit_range range = tacit_range_make(dims, n, n, n);
    const size_t reach = (size_t)atol(argument[2]);
    const tacit_mapper around = tacit_periodic(reach, reach, reach);
    tacit_buffer *world[2];
    for (int b = 0; b < 2; b++) {
        const tacit_buffer_desc desc = { .name = b ? "odd" : "even", .range = range, .elem_size = 8 };
        must(tacit_buffer_create(ctx, &desc, &world[b]));
    }
    for (int step = 0; step < 9; step++) {
        tacit_access in = tacit_read(world[!(step % 2)], around);
        const tacit_access out = tacit_write(world[step % 2], tacit_one_to_one());
        in = strcmp(argument[3], "parts") == 0 ? tacit_in_parts(in) : in;
        tacit_task task = { .name = step ? "live" : "start",
                            .kernel = { .host = kernel },
                            .range = range,
                            .access = { out, in },
                            .hint.split = strcmp(argument[4], "2d") == 0 ? TACIT_SPLIT_2D : TACIT_SPLIT_1D };
        task.access[1] = step ? in : none;
        must(tacit_submit(ctx, &task));
    }
}

static void matrices(const char *what, size_t n)
{
    const tacit_buffer_desc matrix = { .name = "A", .range = tacit_range2(n, n), .elem_size = 8 };
    const tacit_mapper columns = tacit_components(tacit_full(), tacit_dim(0), tacit_full());
    tacit_buffer *a, *b;
    must(tacit_buffer_create(ctx, &matrix, &a));
    must(tacit_buffer_create(ctx, &matrix, &b));
    submit("init", 0, n, tacit_write(a, rows_within(0, n)), none);
    for (int step = 0; step < 4 && strcmp(what, "factor") != 0; step++) {
        submit("rows", 0, n, tacit_update(a, rows_within(0, n)), none);
        if (strcmp(what, "transform") == 0) {
            submit("columns", 0, n, tacit_update(a, columns), none);
        } else {
            submit("there", 0, n, tacit_read(a, columns), tacit_write(b, rows_within(0, n)));
            submit("back", 0, n, tacit_read(b, columns), tacit_write(a, rows_within(0, n)));
        }
    }
    if (strcmp(what, "factor") == 0) {
        factor(a, n);
    }
}

int main(int argc, char **argv)
{
    const tacit_config config = { 0 };
    must(tacit_init(&config, &ctx));
    if (argc == 7 && strcmp(argv[1], "torus") == 0) {
        torus(&argv[2]);
    } else {
        matrices(argc > 1 ? argv[1] : "transform", argc > 2 ? (size_t)atol(argv[2]) : 256);
    }
    must(tacit_finalize(ctx));
    return 0;
}
