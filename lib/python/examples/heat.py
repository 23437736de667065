#!/usr/bin/env python3
"""Heat in a plate, in Python: the same step as a NumPy function, compiled by Numba, or in C; and for OpenCL and CUDA devices.

Usage: heat.py [numpy | numba | c]     on several nodes: tacit run -n 4 python3 heat.py c"""
import sys

import numpy

import tacit

ROWS, COLUMNS, STEPS = 61, 53, 40


def step_in_numpy(k):
    """Inner cells of the chunk; those at the edge stay."""
    u, after = k.view
    (i0, i1), (j0, j1) = ((max(s.start, 1), min(s.stop, n - 1)) for s, n in zip(k.chunk, (ROWS, COLUMNS)))
    after[k.chunk] = u[k.chunk]
    if i0 < i1 and j0 < j1:
        four = u[i0 - 1:i1 - 1, j0:j1] + u[i0 + 1:i1 + 1, j0:j1] + u[i0:i1, j0 - 1:j1 - 1] + u[i0:i1, j0 + 1:j1 + 1]
        after[i0:i1, j0:j1] = 0.25 * four


def step_by_numba():
    @tacit.jit("f8[:,:]", "f8[:,:]")
    def step(chunk, u, after):
        for i in range(chunk[0, 0], chunk[0, 1]):
            for j in range(chunk[1, 0], chunk[1, 1]):
                if 0 < i < ROWS - 1 and 0 < j < COLUMNS - 1:
                    after[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                else:
                    after[i, j] = u[i, j]

    return step


STEP_IN_C = f"""
static void step(const tacit_launch *k)
{{
    const tacit_view u = k->view[0], after = k->view[1];
    TACIT_FOR (i, k->chunk, 0)
        TACIT_FOR (j, k->chunk, 1)
            if (i == 0 || j == 0 || i == {ROWS} - 1 || j == {COLUMNS} - 1)
                TACIT_AT2(double, after, i, j) = TACIT_GET2(double, u, i, j);
            else
                TACIT_AT2(double, after, i, j) = 0.25 * (TACIT_GET2(double, u, i - 1, j) + TACIT_GET2(double, u, i + 1, j) +
                                                         TACIT_GET2(double, u, i, j - 1) + TACIT_GET2(double, u, i, j + 1));
}}
"""


STEP_ON_DEVICES = f"""
TACIT_KERNEL heat(TACIT_VIEW(u), TACIT_VIEW(after), TACIT_CHUNK(c))
{{
    TACIT_FOR (i, c, 0)
        TACIT_FOR (j, c, 1)
            TACIT_AT2(double, after, i, j) =
                i == 0 || j == 0 || i == {ROWS} - 1 || j == {COLUMNS} - 1
                    ? TACIT_GET2(double, u, i, j)
                    : 0.25 * (TACIT_GET2(double, u, i - 1, j) + TACIT_GET2(double, u, i + 1, j) +
                              TACIT_GET2(double, u, i, j - 1) + TACIT_GET2(double, u, i, j + 1));
}}
"""


def main():
    way = sys.argv[1] if len(sys.argv) > 1 else "numpy"
    kernel = {"numpy": lambda: step_in_numpy, "numba": step_by_numba, "c": lambda: tacit.c_kernel(STEP_IN_C, "step")}[way]()
    device = tacit.device_kernel(STEP_ON_DEVICES, "heat")
    start = numpy.zeros((ROWS, COLUMNS))
    start[0, :] = 100.0
    with tacit.Context() as ctx:
        u, after = ctx.buffer(start.shape, init=start, name="u"), ctx.buffer(start.shape, name="after")
        for _ in range(STEPS):
            ctx.submit("step", start.shape, kernel, u.reads(tacit.star(1, 1)), after.writes(tacit.one_to_one()), opencl=device, cuda=device)
            u, after = after, u
        result = u.read()
        if ctx.node == 0:
            print(f"{result.sum():.9f} on {ctx.num_nodes} nodes")


if __name__ == "__main__":
    main()
