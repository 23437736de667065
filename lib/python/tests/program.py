"""What the package promises, on any number of nodes: every node checks the same. Arguments: a folder that is empty; then numba, if it is
installed; hdf5, if it is built."""
import pathlib
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


def custom_mappers(ctx):
    """Reads of what lies elsewhere, of several boxes, and writes the other way round."""
    n = 37
    source = ctx.buffer(n, init=numpy.arange(n) * 3.0, name="source")
    gathered, turned, ends = ctx.buffer(n), ctx.buffer(n), ctx.buffer(n)
    where = (numpy.arange(n) * 11 + 5) % n
    scattered = ctx.mapper(lambda chunk, shape: [((w, w + 1),) for w in where[chunk[0]].tolist()])
    backwards = ctx.mapper(lambda chunk, shape: [((shape[0] - chunk[0].stop, shape[0] - chunk[0].start),)])
    both_ends = ctx.mapper(lambda chunk, shape: [(numpy.s_[0:1],), (numpy.s_[shape[0] - 1:shape[0]],)], constant=True)

    def gather(k):
        for i in range(k.chunk[0].start, k.chunk[0].stop):
            k.view[1][i] = k.view[0][int(where[i])]

    def turn(k):
        for i in range(k.chunk[0].start, k.chunk[0].stop):
            k.view[1][n - 1 - i] = k.view[0][i]

    def add_ends(k):
        k.view[1][k.chunk] = k.view[0][0] + k.view[0][n - 1]

    ctx.submit("gather", (n,), gather, source.reads(scattered), gathered.writes(tacit.one_to_one()))
    ctx.submit("turn", (n,), turn, gathered.reads(tacit.one_to_one()), turned.writes(backwards))
    ctx.submit("ends", (n,), add_ends, source.reads(both_ends), ends.writes(tacit.one_to_one()))
    expect("gathered", numpy.array_equal(gathered.read(), where * 3.0))
    expect("turned", numpy.array_equal(turned.read(), where[::-1] * 3.0))
    expect("both ends", numpy.array_equal(ends.read(), numpy.full(n, 3.0 * (n - 1))))
    scattered.destroy()
    refused("TACIT_ERROR_STATE", "destroyed", ctx.submit, "gather", (n,), gather, source.reads(scattered), gathered.writes(tacit.one_to_one()))
    refused("TACIT_ERROR_STATE", "destroyed", scattered.destroy)


def sizes_and_weights(ctx):
    """Buffers that get another size, and tasks that are split by weights."""
    u = ctx.buffer((6, 4), init=numpy.arange(24).reshape(6, 4), name="u")

    def number(k):
        k.view[0][k.chunk] = 100 + numpy.arange(k.chunk[0].start, k.chunk[0].stop)[:, None] * 10 + numpy.arange(3)

    u.resize((9, 3))
    ctx.submit("rest", (3, 3), number, u.writes(tacit.one_to_one()), offset=(6, 0))
    want = numpy.arange(24).reshape(6, 4)[:, :3]
    rest = 100 + numpy.arange(6, 9)[:, None] * 10 + numpy.arange(3)
    expect("resized", u.shape == (9, 3) and numpy.array_equal(u.read(), numpy.vstack([want, rest])))
    u.resize((2, 2))
    expect("smaller", numpy.array_equal(u.read(), want[:2, :2]))
    refused("TACIT_ERROR_DIMENSION", "u", u.resize, 7)

    nodes, items = ctx.num_nodes, 40
    owner = ctx.buffer(items, "int32")

    def tell(k):
        k.view[0][k.chunk] = k.node

    heavy = numpy.where(numpy.arange(items) < 8, 20, 1)
    weights = ctx.weights(heavy)
    ctx.submit("by items", (items,), tell, owner.writes(tacit.one_to_one()), item_weights=weights)
    sums = [int(heavy[owner.read() == i].sum()) for i in range(nodes)]
    expect(f"sums {sums}", sum(sums) == heavy.sum() and max(sums) <= heavy.sum() / nodes + 20 * (1 + numpy.log(nodes)))
    expect(f"not as many items {sums}", nodes == 1 or (owner.read() == 0).sum() < items // nodes)
    weights.destroy()
    ctx.submit("by nodes", (items,), tell, owner.writes(tacit.one_to_one()), weights=[items - nodes] + [1] * (nodes - 1))
    expect("by nodes", (owner.read() == 0).sum() >= items - nodes)
    refused("TACIT_ERROR_RANGE", "weights", ctx.weights, [])


def chunks(ctx):
    """A chunk has the dimensions of its task, whatever those of the buffers."""
    m, sums = ctx.buffer((7, 5), init=numpy.arange(35).reshape(7, 5)), ctx.buffer(7)
    single, seen = ctx.buffer((), "int64", init=0), []

    def add_rows(k):
        (rows,) = k.chunk
        k.view[1][rows] = k.view[0][k.chunk].sum(1) + k.view[0][rows, numpy.array([4, 0])].sum(1)

    def add_one(k):
        seen.append(k.chunk)
        k.view[0][...] += 1

    whole = numpy.arange(35).reshape(7, 5)
    ctx.submit("rows", 7, add_rows, m.reads(tacit.components(tacit.dim(0), tacit.full())), sums.writes(tacit.one_to_one()))
    expect("rows of a matrix", numpy.array_equal(sums.read(), whole.sum(1) + whole[:, [4, 0]].sum(1)))
    ctx.submit("one", (), add_one, single.updates(tacit.one_to_one()))
    expect("no dimensions", single.read() == 1 and seen in ([], [()]))
    wrong_index = []

    def outside(k):
        for index in ((0, 0), numpy.array([0, 7]), numpy.array([True] * 7)):
            try:
                k.view[0][index]
            except IndexError as error:
                wrong_index.append(str(error))

    ctx.submit("outside", 7, outside, sums.reads(tacit.all()), on="every")
    ctx.wait()
    expect(f"wrong indices {wrong_index}", len(wrong_index) == 3 and "2 indices, but the buffer has 1" in wrong_index[0] and
           "0 to 7 is not in [0, 7)" in wrong_index[1] and "mask" in wrong_index[2])
    for call in (lambda: sums.reduces("mean"), lambda: ctx.buffer(3, "complex128").reduces(),
                 lambda: ctx.submit("f", 7, outside, on="evry"), lambda: ctx.submit("f", 7, outside, split="3d")):
        try:
            call()
            expect("a word that is none", False)
        except ValueError as error:
            expect(str(error), "one of" in str(error))


def files(ctx, folder, with_hdf5):
    """What one run writes and reads; that other numbers of nodes do is a matter of the C library."""
    want = numpy.arange(60).reshape(12, 5) * 0.5
    u = ctx.buffer(want.shape, init=want, name="u")
    z = ctx.buffer(4, "complex128", init=numpy.arange(4) * 1j)
    u.save(folder / "u.npy")
    z.save(folder / "z.npy", sync=True)
    u.save(str(folder / "u.png"), low=0, high=30, colours="grey")
    u.save(folder / "part.raw", box=[(2, 4), (1, 5)], split="2d")
    v, w = ctx.load(folder / "u.npy", name="v"), ctx.buffer(4, "complex128")
    w.load(folder / "z.npy")
    expect("u.npy", v.shape == want.shape and v.dtype == want.dtype and numpy.array_equal(v.read(), want))
    expect("by NumPy", numpy.array_equal(numpy.load(folder / "u.npy"), want))
    expect("complex numbers", numpy.array_equal(w.read(), numpy.arange(4) * 1j))
    ctx.files_wait()
    expect("part.raw", (folder / "part.raw").read_bytes() == want[2:4, 1:5].tobytes())
    expect("u.png", (folder / "u.png").read_bytes()[:4] == b"\x89PNG")
    v.fill(0)
    v.load(folder / "part.raw", box=[(0, 2), (0, 4)])
    expect("into a box", numpy.array_equal(v.read()[:2, :4], want[2:4, 1:5]) and v.read()[2:].sum() == 0)
    facts, none = ctx.look(folder / "u.npy"), ctx.look(folder / "none.npy")
    expect(f"facts {facts}", facts and facts.shape == (12, 5) and facts.dtype == "float64" and facts.format == "npy")
    expect(f"no file {none}", not none and none.why)
    refused("TACIT_ERROR_ARGUMENT", "none.npy", ctx.load, folder / "none.npy")
    refused("TACIT_ERROR_ARGUMENT", "u.txt", u.save, folder / "u.txt")
    try:
        u.save(folder / "u.png", colours="gray")
        expect("colours that are none", False)
    except ValueError as error:
        expect(str(error), "heat, grey, signed" in str(error))
    u.load(folder / "none.npy", tolerant=True)
    refused("TACIT_ERROR_KERNEL", "none.npy", ctx.files_wait)
    if with_hdf5:
        v.save(folder / "f.h5", dataset="run/v", attributes={"step": 3, "time": 0.25, "who": "north"}, xdmf=folder / "f.xdmf", time=1.5)
        z.save(folder / "f.h5", dataset="z", keep=True)
        again = ctx.load(folder / "f.h5", dataset="run/v")
        expect("f.h5", numpy.array_equal(again.read(), v.read()))
        told = [ctx.attribute(folder / "f.h5", name, kind, "run/v") for name, kind in (("step", int), ("time", float), ("who", str), ("no", str))]
        expect(f"attributes {told}", told == [3, 0.25, "north", None])
        expect(f"z {ctx.look(folder / 'f.h5', 'z')}", ctx.look(folder / "f.h5", "z").shape == (4, 2))


def groups(ctx):
    """Collective host tasks of two groups: each sees those of its own before it."""
    seen, group = {"a": [], "b": []}, {"a": ctx.group(), "b": ctx.group()}
    for i in range(6):
        for name in group:
            def note(k, name=name, i=i):
                seen[name].append(i)

            ctx.submit("note", (1,), note, on="every", group=group[name])
    ctx.wait()
    expect(f"groups {seen}", seen == {"a": list(range(6)), "b": list(range(6))})
    refused("TACIT_ERROR_ARGUMENT", ".group", ctx.submit, "host", (1,), lambda k: None, group=group["a"])
    group["a"].destroy()


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
    custom_mappers(context)
    sizes_and_weights(context)
    groups(context)
    chunks(context)
    files(context, pathlib.Path(sys.argv[1]), "hdf5" in sys.argv)
    compiled(context, "numba" in sys.argv)
    wrong(context)
    context.wait()
    context.barrier()
print("\n".join(failures), file=sys.stderr)
sys.exit(1 if failures else 0)
