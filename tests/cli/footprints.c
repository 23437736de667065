/* Programs whose footprints are far larger together than apart, to be planned: rows and columns of one matrix in turns,
 * transpositions between two, a factorisation as one split task per step.
 *
 * Usage: footprints transform|transpose|factor SIDE */
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

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "transform";
    const size_t n = argc > 2 ? (size_t)atol(argv[2]) : 256;
    const tacit_config config = { 0 };
    const tacit_buffer_desc matrix = { .name = "A", .range = tacit_range2(n, n), .elem_size = 8 };
    const tacit_mapper columns = tacit_components(tacit_full(), tacit_dim(0), tacit_full());
    tacit_buffer *a, *b;
    must(tacit_init(&config, &ctx));
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
    must(tacit_finalize(ctx));
    return 0;
}
