"""A histogram of a .npy file of any length."""
import numpy

import tacit

BINS = 16


def count(k):
    (items,) = k.chunk
    h, _ = numpy.histogram(k.view[0][items], bins=BINS, range=(0, 1))
    k.view[1].array[:] += h


with tacit.Context() as ctx:
    x = ctx.load("data.npy", name="x")
    h = ctx.buffer(BINS, "int64", name="h")
    ctx.submit("count", x.shape, count, x.reads(tacit.one_to_one()), h.reduces("sum"))
    counts = h.read()
    if ctx.node == 0:
        print(*counts)
