"""tacit in Python: programs for a whole cluster without communication code.

    import numpy, tacit

    with tacit.Context() as ctx:
        u = ctx.buffer((1000,), "float64", init=numpy.zeros(1000))

        def add(k):
            k.view[0][k.chunk] += 1.0

        ctx.submit("add", (1000,), add, u.updates(tacit.one_to_one()))
        print(u.read())

    tacit run -n 4 python3 add.py

The model, the rules and the words are those of the C library; doc/python.md shows the three kinds of kernels."""
import atexit
import ctypes
import os
import weakref

import numpy

from . import _files as files
from . import _library as lib
from ._files import FileFacts
from ._kernels import DeviceKernel, Kernel, Launch, View, box_of, c_kernel, custom_mapper, device_kernel, host_kernel, jit

__all__ = ["Access", "Buffer", "Context", "Error", "CustomMapper", "DeviceKernel", "FileFacts", "Group", "Kernel", "Launch", "Mapper", "View", "Weights", "all", "c_kernel", "components", "device_kernel", "dim", "fixed", "full",
           "jit", "neighborhood", "one_to_one", "periodic", "place_node", "place_owner", "replicated", "slice", "span", "star", "transposed"]

_OPERATORS = {name: lib.constant("TACIT_OP_" + name.upper()) for name in ("sum", "product", "min", "max", "and", "or", "xor")}
_ON = {"devices": lib.constant("TACIT_ON_DEVICES"), "host": lib.constant("TACIT_ON_HOST"), "one": lib.constant("TACIT_ON_ONE_NODE"),
       "every": lib.constant("TACIT_ON_EVERY_NODE")}
_SPLIT = {"1d": lib.constant("TACIT_SPLIT_1D"), "2d": lib.constant("TACIT_SPLIT_2D")}
_MODE = {name: lib.constant("TACIT_" + name.upper()) for name in ("read", "write", "update")}
_MAX_ACCESSES = lib.constant("TACIT_MAX_ACCESSES")
_contexts = weakref.WeakSet()


class Error(Exception):
    """What a call of tacit was refused for; `status` is its name, such as "TACIT_ERROR_RANGE"."""

    def __init__(self, status, sentence):
        super().__init__(sentence)
        self.status = status


# ---- mappers: bytes that the library has made

class Mapper:
    """A range mapper. Made by the functions below."""

    def __init__(self, kind, *arguments):
        self.memory = ctypes.create_string_buffer(lib.SIZE["tacit_mapper"])
        getattr(lib.bind, "tacit_bind_" + kind)(*arguments, self.memory)


def _component(kind, *arguments):
    memory = ctypes.create_string_buffer(lib.SIZE["tacit_component"])
    getattr(lib.bind, "tacit_bind_" + kind)(*arguments, memory)
    return memory


def _three(values, default):
    values = tuple(values)
    if len(values) > 3:
        raise ValueError("there are at most 3 dimensions")
    return values + (default,) * (3 - len(values))


class CustomMapper(Mapper):
    """What a Python function says. Made by Context.mapper."""

    def __init__(self, ctx, handle, kept):
        super().__init__("custom", handle)
        self.ctx, self.number, self.kept = ctx, handle, kept

    def destroy(self):
        """Tasks that were submitted before go on with it."""
        self.ctx._check(lib.core.tacit_mapper_destroy(self.ctx.handle, self.number))


def one_to_one():
    return Mapper("one_to_one")


def all():  # pylint: disable=redefined-builtin
    return Mapper("all")


def replicated():
    return Mapper("replicated")


def fixed(*box):
    """The same box for all: fixed((0, 3), (2, 5))."""
    return Mapper("fixed", ctypes.byref(box_of(box)))


def slice(dim):  # pylint: disable=redefined-builtin
    return Mapper("slice", dim)


def neighborhood(*extents):
    return Mapper("neighborhood", *_three(extents, 0))


def star(*extents):
    return Mapper("star", *_three(extents, 0))


def periodic(*extents):
    return Mapper("periodic", *_three(extents, 0))


def transposed(*order):
    return Mapper("transposed", *(tuple(order) + (0, 1, 2)[len(order):]))


def full():
    return _component("full")


def span(a, b):
    return _component("span", a, b)


def dim(k, mul=1, div=1, lo=0, hi=0):
    return _component("dim", k, mul, div, lo, hi)


def components(*parts):
    parts = _three(parts, None)
    joined = b"".join((full() if p is None else p).raw for p in parts)
    return Mapper("components", ctypes.create_string_buffer(joined, len(joined)))


# ---- buffers

class Access:
    """A buffer, a mode and a mapper: an argument of Context.submit. Made by methods of Buffer."""

    def __init__(self, raw, dtype):
        self.raw, self.dtype = raw, dtype


class Buffer:
    """A virtual array that all nodes share. Made by Context.buffer."""

    def __init__(self, ctx, handle, shape, dtype):
        self.ctx, self.handle, self.shape, self.dtype = ctx, handle, shape, dtype

    def _access(self, mode, mapper, in_parts=False):
        raw = ctypes.create_string_buffer(lib.SIZE["tacit_access"])
        lib.bind.tacit_bind_access(self.handle, _MODE[mode], mapper.memory, in_parts, raw)
        return Access(raw.raw, self.dtype)

    def reads(self, mapper, in_parts=False):
        return self._access("read", mapper, in_parts)

    def writes(self, mapper, in_parts=False):
        return self._access("write", mapper, in_parts)

    def updates(self, mapper, in_parts=False):
        return self._access("update", mapper, in_parts)

    def reduces(self, operator="sum", include_old=False):
        """`operator`: sum, product, min, max, and, or, xor."""
        if operator not in _OPERATORS:
            raise ValueError(f"operator is {operator!r}; it is one of {', '.join(_OPERATORS)}")
        if self.dtype not in files.TYPES:
            raise ValueError(f"a buffer of {self.dtype} cannot be reduced; its type is one of {', '.join(map(str, files.TYPES))}")
        raw = ctypes.create_string_buffer(lib.SIZE["tacit_access"])
        lib.bind.tacit_bind_reduce(self.handle, _OPERATORS[operator], files.TYPES[self.dtype], include_old, raw)
        return Access(raw.raw, self.dtype)

    def read(self, box=None):
        """The newest contents, of all or of a box, as a NumPy array; the same on all nodes."""
        which = box_of(box if box is not None else [(0, n) for n in self.shape])
        shape = tuple(which.max[d] - which.min[d] for d in range(len(self.shape)))
        out = numpy.empty(shape, self.dtype)
        self.ctx._check(lib.core.tacit_fence_read(self.ctx.handle, self.handle, which, out.ctypes.data))
        return out

    def fill(self, value):
        one = numpy.array(value, self.dtype)
        self.ctx._check(lib.core.tacit_fill(self.ctx.handle, self.handle, one.ctypes.data))

    def resize(self, shape):
        """Another shape of as many dimensions, ordered like a task: what both have keeps its contents."""
        shape = _shape(shape)
        size = (ctypes.c_size_t * 3)(*_three(shape, 1))
        self.ctx._check(lib.core.tacit_buffer_resize(self.ctx.handle, self.handle, lib.Range(size, len(shape))))
        self.shape = shape

    def _file_options(self, box, hints, **more):
        hint = _hints(self.ctx.num_nodes, **hints)
        return files.options(self.dtype, hint, box=box_of(box) if box is not None else None, **more)

    def save(self, path, *, dataset=None, keep=False, attributes=None, xdmf=None, time=0.0, low=0.0, high=0.0, colours=None, box=None,
             format=None, sync=False, tolerant=False, **hints):  # pylint: disable=redefined-builtin
        """Write all, or a box, to a file: HDF5, .npy, raw or PNG by the suffix of `path`, or by `format` ("hdf5", "npy", "raw", "png").
        A task, which is waited for by nobody; every node writes its own part. The options are those of tacit/io.h. `attributes`: a
        dict of numbers and texts; `colours`: "heat", "grey" or "signed"; `hints`: split, weights, item_weights and granularity, as
        the tasks have them that wrote the buffer."""
        asked = self._file_options(box, hints, format=format, dataset=dataset, keep=keep, attributes=attributes, xdmf=xdmf, time=time,
                                   low=low, high=high, colours=colours, sync=sync, tolerant=tolerant)
        self.ctx._check(files.library().tacit_buffer_write_sized(self.ctx.handle, self.handle, os.fsencode(path), asked.address,
                                                                 lib.SIZE["tacit_file_options"]))

    def load(self, path, *, dataset=None, box=None, format=None, tolerant=False, **hints):  # pylint: disable=redefined-builtin
        """Read a file of the buffer's shape and type, or into a box of it: likewise a task."""
        asked = self._file_options(box, hints, format=format, dataset=dataset, tolerant=tolerant)
        self.ctx._check(files.library().tacit_buffer_read_sized(self.ctx.handle, self.handle, os.fsencode(path), asked.address,
                                                                lib.SIZE["tacit_file_options"]))

    def destroy(self):
        self.ctx._check(lib.core.tacit_buffer_destroy(self.ctx.handle, self.handle))
        self.handle = None


class Weights:
    """Weights of items, by which tasks are split. Made by Context.weights."""

    def __init__(self, ctx, handle):
        self.ctx, self.handle = ctx, handle

    def destroy(self):
        """Tasks that were submitted before still use them."""
        self.ctx._check(lib.core.tacit_weights_destroy(self.ctx.handle, self.handle))
        self.handle = None


class Group:
    """Collective host tasks that follow each other, and may overlap with those of other groups. Made by Context.group."""

    def __init__(self, ctx, handle):
        self.ctx, self.handle = ctx, handle

    def destroy(self):
        self.ctx._check(lib.core.tacit_collective_group_destroy(self.ctx.handle, self.handle))
        self.handle = None


def place_node(node):
    return lib.Struct("tacit_place", kind=lib.constant("TACIT_PLACE_NODE"), arg=node)


def place_owner(access):
    return lib.Struct("tacit_place", kind=lib.constant("TACIT_PLACE_OWNER"), arg=access)


def _word(words, word, what):
    if word not in words:
        raise ValueError(f"{what} is {word!r}; it is one of {', '.join(words)}")
    return words[word]


def _hints(num_nodes, split=None, granularity=(), weights=None, item_weights=None, **plain):
    hint = lib.Struct("tacit_hints", split=_word(_SPLIT, split, "split") if split else 0, granularity=_three(granularity, 0), **plain)
    if weights is not None:
        by_node = numpy.array(weights, "uint32")
        if by_node.shape != (num_nodes,):
            raise ValueError(f"weights has the shape {by_node.shape}; give one for each of the {num_nodes} nodes")
        hint["weights"] = by_node.ctypes.data
        hint.kept.append(by_node)
    if item_weights is not None:
        hint["item_weights"] = item_weights.handle
    return hint


def _shape(shape):
    return (int(shape),) if numpy.ndim(shape) == 0 else tuple(int(n) for n in shape)


def _range(shape):
    return lib.Struct("tacit_range", size=_three(shape, 1), dims=len(shape))


# ---- contexts

class Context:
    """tacit running on this node. `with tacit.Context() as ctx:` finalizes it; an exception in between ends the job."""

    def __init__(self):
        handle = ctypes.c_void_p()
        status = lib.bind.tacit_bind_init(ctypes.byref(handle))
        self.handle, self._alive, self._mappers, self._texts = handle.value, {}, [], set()
        self._check(status)
        _contexts.add(self)

    def _check(self, status):
        if status:
            sentence = lib.core.tacit_last_error(self.handle).decode(errors="replace")
            raise Error(lib.core.tacit_status_name(status).decode(), sentence)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.finalize()

    @property
    def node(self):
        return lib.core.tacit_node(self.handle)

    @property
    def num_nodes(self):
        return lib.core.tacit_num_nodes(self.handle)

    def buffer(self, shape, dtype="float64", name=None, init=None):
        """A buffer. `init`: its contents, the same on all nodes, copied."""
        dtype, shape = numpy.dtype(dtype), _shape(shape)
        desc = lib.Struct("tacit_buffer_desc", range=_range(shape), elem_size=dtype.itemsize)
        if name is not None:
            desc["name"] = name.encode()
        if init is not None:
            contents = numpy.asarray(init, dtype, order="C")  # which leaves a number without dimensions
            if contents.shape != shape:
                raise ValueError(f"init has the shape {contents.shape}, but the buffer {shape}")
            desc["init"] = contents.ctypes.data
        handle = ctypes.c_void_p()
        self._check(lib.bind.tacit_bind_buffer_create(self.handle, desc.address, ctypes.byref(handle)))
        return Buffer(self, handle.value, shape, dtype)

    def mapper(self, function, constant=False):
        """A mapper that a function says: `function(chunk, shape)` gets 3 slices of items and the shape of the buffer, and returns the
        boxes that these items touch, each with a slice or (first, end) for each dimension of the buffer. It is pure: the same at any
        time, on all nodes and on any thread. `constant`: its result does not depend on the chunk."""
        called, handle = custom_mapper(function), ctypes.c_int()
        self._check(lib.core.tacit_mapper_create(self.handle, called, None, 0, 1 if constant else 0, ctypes.byref(handle)))
        self._mappers.append(called)  # until the end: planners may ask at any time
        return CustomMapper(self, handle.value, called)

    def weights(self, weights):
        """Weights of the items of dimension 0: tasks with them are split so that parts have about equal sums. The same on all nodes."""
        values = numpy.ascontiguousarray(weights)
        if values.ndim != 1 or (values.size and not numpy.issubdtype(values.dtype, numpy.integer)) or (values < 0).any():
            raise ValueError("weights are a list of integers from 0 on")
        values, handle = values.astype("uint64"), ctypes.c_void_p()
        self._check(lib.core.tacit_weights_create(self.handle, values.size, values.ctypes.data, ctypes.byref(handle)))
        return Weights(self, handle.value)

    def group(self):
        """A group of tasks with on="every". All nodes wait for each other here."""
        handle = ctypes.c_void_p()
        self._check(lib.core.tacit_collective_group_create(self.handle, ctypes.byref(handle)))
        return Group(self, handle.value)

    def submit(self, name, shape, kernel, *accesses, args=b"", on=None, place=None, offset=(), split=None, priority=0, oversubscribe=0,
               pure=False, whole_chunk=False, granularity=(), weights=None, item_weights=None, group=None, opencl=None, cuda=None):
        """Submit a task over `shape` items. `kernel` is a Python function, whose argument is a Launch, or what jit or c_kernel gave.
        `opencl` and `cuda`: the kernels of such devices, what device_kernel gave.

        `on`: "devices", "host", "one" or "every"; Python functions run as host tasks unless it says otherwise, or there
        are kernels for devices. `args`: bytes, or
        what numpy or ctypes has as bytes, for compiled kernels. `weights`: one for each node; `item_weights`: what Context.weights
        gave; `group`: what Context.group gave."""
        if len(accesses) > _MAX_ACCESSES:
            raise ValueError(f"a task has at most {_MAX_ACCESSES} accesses")
        compiled, shape = isinstance(kernel, Kernel), _shape(shape)
        key = (kernel, tuple(access.dtype for access in accesses), len(shape))
        entry = kernel if compiled else self._alive.get(key) or host_kernel(*key)
        self._alive[key] = entry  # until it has been executed
        kernels = {"host": entry.address}
        for kind, text in (("opencl", opencl), ("cuda", cuda)):
            if text is not None:
                kernels |= text.fields(kind)
                self._texts.add(text)  # until tacit_finalize
        raw = bytes(memoryview(args))
        hint = _hints(self.num_nodes, split, granularity, weights, item_weights, priority=priority, oversubscribe=oversubscribe,
                      pure=pure, whole_chunk=whole_chunk)
        task = lib.Struct("tacit_task", name=name.encode(), range=_range(shape), offset=_three(offset, 0), hint=hint,
                          on=_word(_ON, on or ("devices" if compiled or opencl or cuda else "host"), "on"), kernel=lib.Struct("tacit_kernel", **kernels))
        if raw:
            memory = ctypes.create_string_buffer(raw, len(raw))
            task["args"], task["args_size"] = ctypes.addressof(memory), len(raw)
            task.kept.append(memory)
        if place is not None:
            task["place"] = place
        if group is not None:
            task["group"] = group.handle
        for i, access in enumerate(accesses):
            task.put("access", i, access.raw)
        self._check(lib.bind.tacit_bind_submit(self.handle, task.address))

    def look(self, path, dataset=None, format=None):  # pylint: disable=redefined-builtin
        """What a file is: FileFacts, the same on all nodes. Waits for the file operations submitted before."""
        status, facts = files.look(self.handle, path, files.options(None, lib.Struct("tacit_hints"), format, dataset))
        self._check(status)
        return facts

    def load(self, path, name=None, dataset=None, format=None, **hints):  # pylint: disable=redefined-builtin
        """A new buffer with what a file has: its shape, its type and its contents."""
        facts = self.look(path, dataset, format)
        if not facts:
            raise Error("TACIT_ERROR_ARGUMENT", f"reading '{os.fspath(path)}': {facts.why}")
        if len(facts.shape) > 3:
            raise Error("TACIT_ERROR_DIMENSION", f"reading '{os.fspath(path)}': it has {len(facts.shape)} dimensions, and a buffer at most 3")
        made = self.buffer(facts.shape, facts.dtype, name)
        made.load(path, dataset=dataset, format=format, **hints)
        return made

    def attribute(self, path, name, kind=float, dataset=None):
        """An attribute of a dataset in an HDF5 file, as `kind` (int, float or str); None if it has none of that name. `dataset` may
        also name a group; "/" is that of the file."""
        asked = files.options(None, lib.Struct("tacit_hints"), dataset=dataset)
        status, value = files.get_attribute(self.handle, path, name, kind, asked)
        self._check(status)
        return value

    def files_wait(self):
        """Until all file operations submitted so far are done; raises Error if one with `tolerant` has failed."""
        self._check(files.library().tacit_files_wait(self.handle))

    def wait(self):
        """Until this node has executed all that was submitted."""
        self._check(lib.core.tacit_wait(self.handle))
        self._alive.clear()

    def barrier(self):
        """Until all nodes have executed all that was submitted."""
        self._check(lib.core.tacit_barrier(self.handle))
        self._alive.clear()

    def finalize(self):
        if self.handle:
            status = lib.core.tacit_finalize(self.handle)
            self.handle = None
            if status:
                raise Error(lib.core.tacit_status_name(status).decode(), "the run failed; the first error is on standard error")


def _forgotten():
    """The interpreter ends: its functions must not be called after it."""
    for ctx in list(_contexts):
        if ctx.handle and ctx.num_nodes == 1:
            lib.core.tacit_finalize(ctx.handle)
            ctx.handle = None


atexit.register(_forgotten)
