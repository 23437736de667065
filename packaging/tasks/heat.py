"""Heat in a plate: temperatures from a CSV file, a picture every ten steps, and an array for NumPy at the end."""
import numpy

import tacit

start = numpy.loadtxt("plate.csv", delimiter=",")
rows, columns = start.shape


def step(k):
    u, after = k.view
    i, j = k.chunk
    i0, i1 = max(i.start, 1), min(i.stop, rows - 1)
    j0, j1 = max(j.start, 1), min(j.stop, columns - 1)
    after[i, j] = u[i, j]
    if i0 < i1:
        after[i0:i1, j0:j1] = u[i0:i1, j0:j1] + 0.2 * (
            u[i0 - 1:i1 - 1, j0:j1] + u[i0 + 1:i1 + 1, j0:j1] + u[i0:i1, j0 - 1:j1 - 1] + u[i0:i1, j0 + 1:j1 + 1] - 4 * u[i0:i1, j0:j1])


with tacit.Context() as ctx:
    u = ctx.buffer(start.shape, init=start, name="u")
    v = ctx.buffer(start.shape, name="v")
    for t in range(40):
        ctx.submit("step", u.shape, step, u.reads(tacit.star(1, 1)), v.writes(tacit.one_to_one()))
        u, v = v, u
        if t % 10 == 9:
            u.save(f"heat{t + 1:03}.png", low=0, high=100)
    u.save("heat.npy")
    total = u.read().sum()
    if ctx.node == 0:
        print(f"{total:.4f}")
