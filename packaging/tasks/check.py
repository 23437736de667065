"""Compares what the tasks have printed and written with what NumPy computes. Usage: check.py, in the folder of `run`."""
import pathlib
import sys

import numpy

failures = []


def expect(name, wanted, nodes):
    said = pathlib.Path(f"{name}.{nodes}.out").read_text()
    if said != wanted:
        failures.append(f"{name} on {nodes} nodes printed {said!r} instead of {wanted!r}")


def heat():
    u = numpy.loadtxt("plate.csv", delimiter=",")
    for _ in range(40):
        inner = u[1:-1, 1:-1] + 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        u = u.copy()
        u[1:-1, 1:-1] = inner
    return u


def life():
    i, j = numpy.ogrid[:60, :80]
    u = ((i * 31 + j * 17 + i * j) % 5 < 2).astype(int)
    for _ in range(100):
        around = sum(numpy.roll(u, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - u
        u = ((around == 3) | ((u == 1) & (around == 2))).astype(int)
    return u.sum()


def jacobi(steps):
    u = numpy.zeros((40, 50))
    u[:, 0] = 100
    for _ in range(steps):
        before, u = u, u.copy()
        u[1:-1, 1:-1] = 0.25 * (before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:])
    return f"{steps} steps, sum {u.sum():.4f}, change {abs(u - before).max():.8f}"


def merged():
    values = [(x * x * ((1 << 20) - 1)).astype("uint32") for x in (numpy.arange(30000) / 30000, 0.3 + 0.5 * numpy.arange(17001) / 17001)]
    return f"{sum(map(len, values))} values, sorted, sum {sum(int(v.sum(dtype='uint64')) for v in values)}\n"


def kmeans():
    i = numpy.arange(20000, dtype="int64")
    a, r = (i * 7919 % 10007) / 10007 * 6.283185307179586, (i * 104729 % 1009) / 1009
    x, y = numpy.where(i % 4 < 2, 3, -3) + r * numpy.cos(a), numpy.where(i % 2, 3, -3) + r * numpy.sin(a)
    quadrants = [(x > 0) & (y < 0), (x > 0) & (y > 0), (x < 0) & (y < 0), (x < 0) & (y > 0)]
    return "".join(f"{x[q].mean():.4f} {y[q].mean():.4f}\n" for q in quadrants)


plate, numbers = heat(), numpy.load("data.npy")
sums = numpy.cumsum(numpy.arange(100000) % 7)
counts = numpy.histogram(numbers, 16, (0, 1))[0]
for nodes in (1, 2, 3, 4):
    expect("heat", f"{plate.sum():.4f}\n", nodes)
    expect("histogram", " ".join(map(str, counts)) + "\n", nodes)
    expect("kmeans", kmeans(), nodes)
    expect("prefix", f"{sums[12345]} {sums[-1]}\n", nodes)
    expect("life", f"{life()} alive\n", nodes)
    expect("merge", merged(), nodes)
    expect("jacobi", jacobi(100 * nodes) + "\n", nodes)  # each goes on where that on a node less has ended
    expect("adopt", f"done, ranks add up to {nodes * (nodes - 1) // 2}\n", nodes)
    a, x = numpy.arange(31 * 17).reshape(31, 17) % 11 - 5.0, numpy.arange(17) * 0.5
    if not numpy.allclose(numpy.load(f"y.{nodes}.npy"), a @ x):
        failures.append(f"matvec on {nodes} nodes wrote another product")
    if not numpy.array_equal(numpy.fromfile(f"squares.{nodes}.bin"), numpy.arange(1000.0) ** 2):
        failures.append(f"adopt on {nodes} nodes wrote other squares")
    if not numpy.allclose(numpy.load(f"heat.{nodes}.npy"), plate):
        failures.append(f"heat on {nodes} nodes wrote another plate")
    pi = pathlib.Path(f"pi.{nodes}.out").read_text()
    if pi != pathlib.Path("pi.1.out").read_text() or abs(float(pi) - numpy.pi) > 0.01:
        failures.append(f"pi on {nodes} nodes printed {pi!r}")
for picture in ("heat010.png", "heat040.png", "life025.png", "life100.png"):
    if pathlib.Path(picture).read_bytes()[:8] != b"\x89PNG\r\n\x1a\n":
        failures.append(f"{picture} is no picture")
print("\n".join(failures) or "the tasks are right on 1 to 4 nodes")
sys.exit(1 if failures else 0)
