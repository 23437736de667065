"""What the package promises, on any number of nodes: every node checks the same. Arguments: numba, if it is installed."""
import sys

import numpy

import tacit

failures = []


def expect(what, good):
    if not good:
        failures.append(what)


def refused(status, part, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except tacit.Error as error:
        expect(f"{status}: {error.status}: {error}", error.status == status and part in str(error))
    else:
        expect(f"{status} was not raised", False)


def dimensions(ctx):
    """NumPy functions on buffers of 0 to 3 dimensions and several types."""
    for dims in range(4):
        shape = (13, 7, 5)[:dims]
        for dtype in ("float64", "int32", "complex128"):
            u = ctx.buffer(shape, dtype, name=f"u{dims}")

            def number(k):
                if k.view[0].dims == 0:
                    k.view[0].array[...] = 7
                else:
                    k.view[0][k.chunk] = sum(numpy.arange(s.start, s.stop).reshape([-1 if e == d else 1 for e in range(len(k.chunk))]) * 10 ** d
                                             for d, s in enumerate(k.chunk))

            ctx.submit("number", shape, number, u.writes(tacit.one_to_one()))
            want = sum((numpy.arange(n).reshape([-1 if e == d else 1 for e in range(dims)]) * 10 ** d for d, n in enumerate(shape)),
                       numpy.zeros(shape)) if dims else numpy.array(7)
            got = u.read()
            expect(f"{dims} dimensions of {dtype}", got.dtype == dtype and numpy.array_equal(got, want))
            if dims == 2:
                expect("a box", numpy.array_equal(u.read([(2, 5), (1, 3)]), want[2:5, 1:3]))
            u.destroy()


def mappers_and_reductions(ctx):
    n = 41
    a = ctx.buffer(n, init=numpy.arange(n), name="a")
    b, total, most = ctx.buffer(n), ctx.buffer((), "float64"), ctx.buffer((), "int64")

    def neighbours(k):
        (s,), u = k.chunk, k.view[0]
        for i in range(s.start, s.stop):
            k.view[1][i] = u[max(i - 1, 0)] + u[min(i + 1, n - 1)]
        k.view[2].array[...] += k.view[1][s].sum()
        k.view[3].array[...] = max(k.view[3].array, s.stop - 1)

    ctx.submit("neighbours", (n,), neighbours, a.reads(tacit.neighborhood(1)), b.writes(tacit.one_to_one()), total.reduces("sum"),
               most.reduces("max"))
    want = numpy.arange(n)[numpy.maximum(numpy.arange(n) - 1, 0)] + numpy.arange(n)[numpy.minimum(numpy.arange(n) + 1, n - 1)]
    expect("a neighbourhood", numpy.array_equal(b.read(), want))
    expect("a sum", total.read() == want.sum())
    expect("a greatest", most.read() == n - 1)
    m, t = ctx.buffer((6, 9), init=numpy.arange(54).reshape(6, 9)), ctx.buffer((9, 6))

    def turn(k):
        k.view[1].array[...] = k.view[0].array.T

    ctx.submit("turn", (9, 6), turn, m.reads(tacit.transposed(1, 0)), t.writes(tacit.one_to_one()))
    expect("transposed", numpy.array_equal(t.read(), numpy.arange(54).reshape(6, 9).T))
    row = ctx.buffer(9)

    def take(k):
        row_2 = k.view[0]
        k.view[1].array[...] = row_2.array[0] + row_2[2, 0] * 0

    ctx.submit("row", (9,), take, m.reads(tacit.fixed((2, 3), (0, 9))), row.writes(tacit.all()), on="one")
    expect("fixed, on one node", numpy.array_equal(row.read(), numpy.arange(18, 27)))
    by = ctx.buffer(6)

    def sums(k):
        by_row, whole = k.view[1], k.view[0]
        for i in range(k.chunk[0].start, k.chunk[0].stop):
            by_row[i] = whole[i, :].sum()

    ctx.submit("sums", (6,), sums, m.reads(tacit.components(tacit.dim(0), tacit.full())), by.writes(tacit.one_to_one()),
               place=tacit.place_node(ctx.num_nodes - 1))
    expect("components, placed", numpy.array_equal(by.read(), numpy.arange(54).reshape(6, 9).sum(1)))
    by.fill(3)
    expect("fill", numpy.array_equal(by.read(), numpy.full(6, 3.0)))


C = """
struct args { double factor; };
static void scale(const tacit_launch *k)
{
    const struct args *a = k->args;
    TACIT_FOR (i, k->chunk, 0)
        TACIT_FOR (j, k->chunk, 1)
            TACIT_AT2(double, k->view[0], i, j) *= a->factor;
}
"""


def compiled(ctx, with_numba):
    u = ctx.buffer((11, 5), init=numpy.ones((11, 5)))
    ctx.submit("scale", (11, 5), tacit.c_kernel(C, "scale"), u.updates(tacit.one_to_one()), args=numpy.float64(2.5), split="2d")
    expect("C", numpy.array_equal(u.read(), numpy.full((11, 5), 2.5)))
    try:
        tacit.c_kernel("static void broken(const tacit_launch *k) { return 1 + ; }", "broken")
        expect("C that does not compile", False)
    except ValueError as error:
        expect(str(error), "broken does not compile" in str(error) and "broken.c:1" in str(error))
    if not with_numba:
        return
    v = ctx.buffer((4, 6, 8))
    total = ctx.buffer((), "int64")

    @tacit.jit("f8[:,:]", "f8[:,:,:]", "i8", args="f8")
    def spread(chunk, u, v, total, args):
        for i in range(chunk[0, 0], chunk[0, 1]):
            for j in range(chunk[1, 0], chunk[1, 1]):
                for k in range(chunk[2, 0], chunk[2, 1]):
                    v[i, j, k] = u[i, 0] * args[0] + 100 * i + 10 * j + k
                    total[0] += 1

    ctx.submit("spread", (4, 6, 8), spread, u.reads(tacit.all()), v.writes(tacit.one_to_one()), total.reduces("sum"), args=numpy.float64(2))
    i, j, k = numpy.ogrid[:4, :6, :8]
    expect("numba", numpy.array_equal(v.read(), 5 + 100 * i + 10 * j + k) and total.read() == 4 * 6 * 8)


def wrong(ctx):
    u = ctx.buffer(5, name="empty")
    refused("TACIT_ERROR_UNINITIALIZED", "empty", u.read)
    refused("TACIT_ERROR_RANGE", "", ctx.submit, "large", (6,), lambda k: None, u.writes(tacit.one_to_one()))
    refused("TACIT_ERROR_ARGUMENT", "", ctx.buffer, (3,), numpy.dtype([]))
    u.destroy()
    refused("TACIT_ERROR_ARGUMENT", "", u.read)


with tacit.Context() as context:
    dimensions(context)
    mappers_and_reductions(context)
    compiled(context, "numba" in sys.argv)
    wrong(context)
    context.wait()
    context.barrier()
print("\n".join(failures), file=sys.stderr)
sys.exit(1 if failures else 0)
