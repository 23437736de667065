/* examples/cg_kernels.h: the numerics of cg, and its kernels for OpenCL and CUDA devices.
 *
 * Where a task has a sum, each group of work-items adds up a part of it. */
#ifndef TACIT_EXAMPLES_CG_KERNELS_H
#define TACIT_EXAMPLES_CG_KERNELS_H

#include <math.h>
#include <tacit/tacit.h>

#define CG_KERNELS                                                                                                     \
    "#define ROW_SUM(i, sum) \\\n"                                                                                     \
    "    double sum = 0; \\\n"                                                                                         \
    "    for (ulong e = TACIT_GET1(uint64_t, start, i); e < TACIT_GET1(uint64_t, start, i + 1); e++) \\\n"             \
    "        sum += TACIT_GET1(double, value, e) * TACIT_GET1(double, v, TACIT_GET1(uint32_t, column, e))\n"           \
    "#define SET_SUM(x) \\\n"                                                                                          \
    "    TACIT_GROUP_SUM(scratch, x); \\\n"                                                                            \
    "    if (TACIT_GROUP_ID(0) == 0) \\\n"                                                                             \
    "        *TACIT_RESULT(double, sum) = scratch[0]\n"                                                                \
    "TACIT_KERNEL multiply(TACIT_VIEW(start), TACIT_VIEW(column), TACIT_VIEW(value), TACIT_VIEW(v),\n"                 \
    "                      TACIT_VIEW(row), TACIT_VIEW(to), TACIT_VIEW(sum), TACIT_CHUNK(c),\n"                        \
    "                      TACIT_SCRATCH(double, scratch))\n"                                                          \
    "{\n"                                                                                                              \
    "    double dot = 0;\n"                                                                                            \
    "    TACIT_EACH (i, c, 0) {\n"                                                                                     \
    "        ROW_SUM(i, product);\n"                                                                                   \
    "        TACIT_AT1(double, to, i) = product;\n"                                                                    \
    "        dot += product * TACIT_GET1(double, row, i);\n"                                                           \
    "    }\n"                                                                                                          \
    "    SET_SUM(dot);\n"                                                                                              \
    "}\n"                                                                                                              \
    "TACIT_KERNEL begin(TACIT_VIEW(r), TACIT_VIEW(p), TACIT_VIEW(x), TACIT_VIEW(sum), TACIT_CHUNK(c),\n"               \
    "                   TACIT_SCRATCH(double, scratch))\n"                                                             \
    "{\n"                                                                                                              \
    "    double dot = 0;\n"                                                                                            \
    "    TACIT_EACH (i, c, 0) {\n"                                                                                     \
    "        const double here = TACIT_GET1(double, r, i);\n"                                                          \
    "        TACIT_AT1(double, p, i) = here;\n"                                                                        \
    "        TACIT_AT1(double, x, i) = 0;\n"                                                                           \
    "        dot += here * here;\n"                                                                                    \
    "    }\n"                                                                                                          \
    "    SET_SUM(dot);\n"                                                                                              \
    "}\n"                                                                                                              \
    "TACIT_KERNEL advance(TACIT_VIEW(p), TACIT_VIEW(q), TACIT_VIEW(rr), TACIT_VIEW(pq), TACIT_VIEW(x),\n"              \
    "                     TACIT_VIEW(r), TACIT_VIEW(sum), TACIT_CHUNK(c), TACIT_VALUE(struct goal, goal),\n"           \
    "                     TACIT_SCRATCH(double, scratch))\n"                                                           \
    "{\n"                                                                                                              \
    "    const double step = step_length(TACIT_GET0(double, rr), TACIT_GET0(double, pq), goal.rr);\n"                  \
    "    double dot = 0;\n"                                                                                            \
    "    TACIT_EACH (i, c, 0) {\n"                                                                                     \
    "        const double left = TACIT_GET1(double, r, i) - step * TACIT_GET1(double, q, i);\n"                        \
    "        TACIT_AT1(double, x, i) += step * TACIT_GET1(double, p, i);\n"                                            \
    "        TACIT_AT1(double, r, i) = left;\n"                                                                        \
    "        dot += left * left;\n"                                                                                    \
    "    }\n"                                                                                                          \
    "    SET_SUM(dot);\n"                                                                                              \
    "}\n"                                                                                                              \
    "TACIT_KERNEL product(TACIT_VIEW(start), TACIT_VIEW(column), TACIT_VIEW(value), TACIT_VIEW(v), TACIT_VIEW(to),\n"  \
    "                     TACIT_CHUNK(c))\n"                                                                           \
    "{\n"                                                                                                              \
    "    TACIT_FOR (i, c, 0) {\n"                                                                                      \
    "        ROW_SUM(i, product);\n"                                                                                   \
    "        TACIT_AT1(double, to, i) = product;\n"                                                                    \
    "    }\n"                                                                                                          \
    "}\n"                                                                                                              \
    "TACIT_KERNEL dot_of(TACIT_VIEW(p), TACIT_VIEW(q), TACIT_VIEW(sum), TACIT_CHUNK(c),\n"                             \
    "                    TACIT_SCRATCH(double, scratch))\n"                                                            \
    "{\n"                                                                                                              \
    "    double dot = 0;\n"                                                                                            \
    "    TACIT_EACH (i, c, 0)\n"                                                                                       \
    "        dot += TACIT_GET1(double, q, i) * TACIT_GET1(double, p, i);\n"                                            \
    "    SET_SUM(dot);\n"                                                                                              \
    "}\n"                                                                                                              \
    "TACIT_KERNEL descend(TACIT_VIEW(q), TACIT_VIEW(rr), TACIT_VIEW(pq), TACIT_VIEW(r), TACIT_VIEW(sum),\n"            \
    "                     TACIT_CHUNK(c), TACIT_VALUE(struct goal, goal), TACIT_SCRATCH(double, scratch))\n"           \
    "{\n"                                                                                                              \
    "    const double step = step_length(TACIT_GET0(double, rr), TACIT_GET0(double, pq), goal.rr);\n"                  \
    "    double dot = 0;\n"                                                                                            \
    "    TACIT_EACH (i, c, 0) {\n"                                                                                     \
    "        const double left = TACIT_GET1(double, r, i) - step * TACIT_GET1(double, q, i);\n"                        \
    "        TACIT_AT1(double, r, i) = left;\n"                                                                        \
    "        dot += left * left;\n"                                                                                    \
    "    }\n"                                                                                                          \
    "    SET_SUM(dot);\n"                                                                                              \
    "}\n"                                                                                                              \
    "TACIT_KERNEL move(TACIT_VIEW(p), TACIT_VIEW(rr), TACIT_VIEW(pq), TACIT_VIEW(x), TACIT_CHUNK(c),\n"                \
    "                  TACIT_VALUE(struct goal, goal))\n"                                                              \
    "{\n"                                                                                                              \
    "    const double step = step_length(TACIT_GET0(double, rr), TACIT_GET0(double, pq), goal.rr);\n"                  \
    "    TACIT_FOR (i, c, 0)\n"                                                                                        \
    "        TACIT_AT1(double, x, i) += step * TACIT_GET1(double, p, i);\n"                                            \
    "}\n"                                                                                                              \
    "TACIT_KERNEL turn(TACIT_VIEW(r), TACIT_VIEW(rr), TACIT_VIEW(rr_old), TACIT_VIEW(p), TACIT_CHUNK(c))\n"            \
    "{\n"                                                                                                              \
    "    const double share = share_of_old(TACIT_GET0(double, rr), TACIT_GET0(double, rr_old));\n"                     \
    "    TACIT_FOR (i, c, 0)\n"                                                                                        \
    "        TACIT_AT1(double, p, i) = TACIT_GET1(double, r, i) + share * TACIT_GET1(double, p, i);\n"                 \
    "}\n"

TACIT_BOTH(
    cg_text, CG_KERNELS,
    /* The squared length of the residual that is small enough. */
    struct goal { double rr; };

    /* How far to go along p, if r.r and p.Ap are these: not at all if r is small enough already. If p.Ap is not
     * positive, the matrix is not positive definite; not-a-number spreads to everything, and the program notices. */
    static double step_length(double rr, double pq, double goal) {
        if (rr <= goal)
            return 0.0;
        return pq > 0 ? rr / pq : sqrt(-1.0);
    }

    /* How much of the old direction goes into the new one. */
    static double share_of_old(double rr, double rr_old) { return rr_old > 0 ? rr / rr_old : 0.0; });

#endif
