"""What the tasks read: plate.csv, data.npy, and matrix.h5, which tacit itself writes."""
import numpy

import tacit

plate = numpy.zeros((37, 29))
plate[0, :] = 100
plate[10:20, 14] = 50
numpy.savetxt("plate.csv", plate, delimiter=",")
numpy.save("data.npy", (numpy.arange(12345) * 7919 % 10007) / 10007)
with tacit.Context() as ctx:
    a = numpy.arange(31 * 17).reshape(31, 17) % 11 - 5.0
    x = numpy.arange(17) * 0.5
    ctx.buffer(a.shape, init=a).save("matrix.h5", dataset="A")
    ctx.buffer(x.shape, init=x).save("matrix.h5", dataset="x", keep=True)
