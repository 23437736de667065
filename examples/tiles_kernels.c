/* examples/tiles_kernels.c: the kernels of cholesky, lu and summa for OpenCL and CUDA devices: see tiles.h.
 *
 * A task is one group of work-items, which changes one tile. These are plain loops, for devices without a library of
 * their own; --cublas takes one (tiles_cublas.c). */
#include "tiles.h"

static const char text[] =
    "/* What the programs give as arguments: struct tile_step of tiles.h. */\n"
    "struct tile_step { uint64_t size, tile, k, i, j; };\n"
    "#define STEP TACIT_CHUNK(all), TACIT_VALUE(struct tile_step, s)\n"
    "#define FIRST(t) ((t) * s.tile)\n"
    "#define END(t) (((t) + 1) * s.tile < s.size ? ((t) + 1) * s.tile : s.size)\n"
    "/* The elements of tile (i, j), dealt to the work-items of the group. */\n"
    "#define EACH_ELEMENT(e) TACIT_GROUP_EACH (e, (END(s.i) - FIRST(s.i)) * (END(s.j) - FIRST(s.j)))\n"
    "#define ROW(e) (FIRST(s.i) + (e) / (END(s.j) - FIRST(s.j)))\n"
    "#define COLUMN(e) (FIRST(s.j) + (e) % (END(s.j) - FIRST(s.j)))\n"
    "#define PRODUCT(sum, x, y) \\\n"
    "    double sum = 0; \\\n"
    "    for (ulong q = FIRST(s.k); q < END(s.k); q++) \\\n"
    "        sum += x * y\n"
    "/* A(i, j) = B(i, k) C(k, j), added to what is there but in the first step */\n"
    "TACIT_KERNEL add(TACIT_VIEW(a), TACIT_VIEW(b), TACIT_VIEW(c), STEP)\n"
    "{\n"
    "    EACH_ELEMENT (e) {\n"
    "        PRODUCT(sum, TACIT_GET2(double, b, ROW(e), q), TACIT_GET2(double, c, q, COLUMN(e)));\n"
    "        TACIT_AT2(double, a, ROW(e), COLUMN(e)) = s.k ? TACIT_GET2(double, a, ROW(e), COLUMN(e)) + sum : sum;\n"
    "    }\n"
    "}\n"
    "/* A(i, j) -= B(i, k) C(k, j) */\n"
    "TACIT_KERNEL take(TACIT_VIEW(a), TACIT_VIEW(b), TACIT_VIEW(c), STEP)\n"
    "{\n"
    "    EACH_ELEMENT (e) {\n"
    "        PRODUCT(sum, TACIT_GET2(double, b, ROW(e), q), TACIT_GET2(double, c, q, COLUMN(e)));\n"
    "        TACIT_AT2(double, a, ROW(e), COLUMN(e)) -= sum;\n"
    "    }\n"
    "}\n"
    "/* A(i, j) -= B(i, k) C(j, k)' */\n"
    "TACIT_KERNEL take_transposed(TACIT_VIEW(a), TACIT_VIEW(b), TACIT_VIEW(c), STEP)\n"
    "{\n"
    "    EACH_ELEMENT (e) {\n"
    "        PRODUCT(sum, TACIT_GET2(double, b, ROW(e), q), TACIT_GET2(double, c, COLUMN(e), q));\n"
    "        TACIT_AT2(double, a, ROW(e), COLUMN(e)) -= sum;\n"
    "    }\n"
    "}\n"
    "/* The lower half of A(i, i) -= B(i, k) B(i, k)' */\n"
    "TACIT_KERNEL take_square(TACIT_VIEW(a), TACIT_VIEW(b), STEP)\n"
    "{\n"
    "    EACH_ELEMENT (e)\n"
    "        if (COLUMN(e) <= ROW(e)) {\n"
    "            PRODUCT(sum, TACIT_GET2(double, b, ROW(e), q), TACIT_GET2(double, b, COLUMN(e), q));\n"
    "            TACIT_AT2(double, a, ROW(e), COLUMN(e)) -= sum;\n"
    "        }\n"
    "}\n"
    "/* A row of A(i, k) at a time: A := A D^-1, where element (q, j) of D is D(q, j). */\n"
    "#define SOLVE_ROWS(D) \\\n"
    "    TACIT_GROUP_EACH (e, END(s.i) - FIRST(s.i)) \\\n"
    "        for (ulong j = FIRST(s.k); j < END(s.k); j++) { \\\n"
    "            double left = TACIT_GET2(double, a, FIRST(s.i) + e, j); \\\n"
    "            for (ulong q = FIRST(s.k); q < j; q++) \\\n"
    "                left -= TACIT_GET2(double, a, FIRST(s.i) + e, q) * D(q, j); \\\n"
    "            TACIT_AT2(double, a, FIRST(s.i) + e, j) = left / D(j, j); \\\n"
    "        }\n"
    "#define TRANSPOSED(q, j) TACIT_GET2(double, d, j, q)\n"
    "#define UPPER(q, j) TACIT_GET2(double, d, q, j)\n"
    "TACIT_KERNEL solve_transposed(TACIT_VIEW(a), TACIT_VIEW(d), STEP)\n"
    "{\n"
    "    SOLVE_ROWS(TRANSPOSED)\n"
    "}\n"
    "TACIT_KERNEL solve_below(TACIT_VIEW(a), TACIT_VIEW(d), STEP)\n"
    "{\n"
    "    SOLVE_ROWS(UPPER)\n"
    "}\n"
    "/* A column of A(k, j) at a time: A := L^-1 A, where the diagonal of L is 1. */\n"
    "TACIT_KERNEL solve_right(TACIT_VIEW(a), TACIT_VIEW(d), STEP)\n"
    "{\n"
    "    TACIT_GROUP_EACH (e, END(s.j) - FIRST(s.j))\n"
    "        for (ulong i = FIRST(s.k); i < END(s.k); i++) {\n"
    "            double left = TACIT_GET2(double, a, i, FIRST(s.j) + e);\n"
    "            for (ulong q = FIRST(s.k); q < i; q++)\n"
    "                left -= TACIT_GET2(double, d, i, q) * TACIT_GET2(double, a, q, FIRST(s.j) + e);\n"
    "            TACIT_AT2(double, a, i, FIRST(s.j) + e) = left;\n"
    "        }\n"
    "}\n";

tacit_kernel tiles_kernel(tacit_host_kernel *host, const char *entry)
{
    tacit_kernel kernel = example_kernel(host, text, entry, 0);
    kernel.cuda.launch = tiles_cublas_kernel(entry);
    return kernel;
}

struct tile_step tiles_step(const struct tiled *a, size_t k, size_t i, size_t j)
{
    return (struct tile_step){ a->size, a->tile, k, i, j };
}
