"""Kernels: Python functions, functions that Numba compiles, and C."""
import ctypes
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

import numpy

from . import _library as lib

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Kernel:
    """An address that tacit calls, and what must live as long as it may."""

    def __init__(self, address, *kept):
        self.address, self.kept = address, kept


class DeviceKernel:
    """A kernel for OpenCL or CUDA devices; what tacit keeps addresses of."""

    def __init__(self, source, entry, group, local_bytes):
        self.source, self.entry = source.encode(), entry.encode()
        self.group, self.local_bytes = tuple(int(n) for n in group), int(local_bytes)
        if len(self.group) > 3:
            raise ValueError(f"the kernel {entry} has groups of {len(self.group)} dimensions; at most 3 are possible")

    def fields(self, kind):
        """Of a tacit_kernel, `kind` being "opencl" or "cuda"."""
        group = self.group + (0,) * (3 - len(self.group))
        return {f"{kind}.source": self.source, f"{kind}.entry": self.entry, f"{kind}.group": group, f"{kind}.local_bytes": self.local_bytes}


def device_kernel(source, entry, group=(), local_bytes=0):
    """A kernel for OpenCL or CUDA devices: a text, and the name of a TACIT_KERNEL in it (doc/devices.md). It is compiled when a task
    first needs it. `group`: items of a work-group in each dimension; `local_bytes`: of its scratch memory."""
    return DeviceKernel(source, entry, group, local_bytes)


# ---- what Python functions are called with

def _indices(box, dims):
    return tuple(slice(box.min[d], box.max[d]) for d in range(dims))


class View:
    """What a kernel sees of a buffer: a NumPy array, and where it lies. `view[...]` takes indices of the buffer, `array` is what
    is there, with indices from 0."""

    def __init__(self, address):
        box = lib.Box.from_address(address + lib.OFFSET["tacit_view", "box"])
        self.dims = lib.peek("tacit_view", "dims", address)
        self.elem_size = lib.peek("tacit_view", "elem_size", address)
        self.box = _indices(box, self.dims)
        self._data, self._stride = lib.peek("tacit_view", "data", address), lib.peek("tacit_view", "stride", address)
        self._shape = tuple(b.stop - b.start for b in self.box)
        self._writable = lib.peek("tacit_view", "mode", address) != lib.constant("TACIT_READ")
        self.array = None

    def typed(self, dtype):
        """Called for each view, with the type of its buffer."""
        if not self._data:
            self.array = numpy.empty((0,) * max(self.dims, 1), dtype)
            return
        span = self.elem_size + sum((n - 1) * s for n, s in zip(self._shape, self._stride))
        memory = (ctypes.c_char * span).from_address(self._data)
        self.array = numpy.ndarray(self._shape, dtype, memory, 0, self._stride[:self.dims])
        self.array.flags.writeable = self._writable

    def _local(self, index):
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > self.dims and not (len(index) == 1 and index[0] is ...):
            raise IndexError(f"{len(index)} indices, but the buffer has {self.dims} dimensions")
        out = []
        for i, b in zip(index, self.box):
            if isinstance(i, slice):
                start, stop = b.start if i.start is None else i.start, b.stop if i.stop is None else i.stop
                if stop > start and (start < b.start or stop > b.stop):
                    raise IndexError(f"[{start}, {stop}) is not in [{b.start}, {b.stop}), which the access declares")
                out.append(slice(start - b.start, stop - b.start, i.step))
            elif i is Ellipsis:
                return ...
            elif numpy.ndim(i):
                which = numpy.asarray(i)
                if which.dtype == bool:
                    raise IndexError("a mask has no indices of the buffer; use it on `array`")
                if which.size and (which.min() < b.start or which.max() >= b.stop):
                    raise IndexError(f"{which.min()} to {which.max()} is not in [{b.start}, {b.stop}), which the access declares")
                out.append(which - b.start)
            else:
                if not b.start <= i < b.stop:
                    raise IndexError(f"{i} is not in [{b.start}, {b.stop}), which the access declares")
                out.append(i - b.start)
        return tuple(out)

    def __getitem__(self, index):
        return self.array[self._local(index)]

    def __setitem__(self, index, value):
        self.array[self._local(index)] = value


class Launch:
    """The argument of a kernel: `chunk`, a slice of the items to compute for each dimension of the task; `view`, one for each access;
    `node`, `num_nodes`."""

    def __init__(self, address, dtypes, dims):
        box = lib.Box.from_address(address + lib.OFFSET["tacit_launch", "chunk"])
        self.address, self.box = address, (tuple(box.min), tuple(box.max))
        self.node, self.num_nodes = lib.peek("tacit_launch", "node", address), lib.peek("tacit_launch", "num_nodes", address)
        views, count = lib.peek("tacit_launch", "view", address), lib.peek("tacit_launch", "num_views", address)
        self.view = [View(views + i * lib.SIZE["tacit_view"]) for i in range(count)]
        for view, dtype in zip(self.view, dtypes):
            view.typed(dtype)
        self.chunk = _indices(box, dims)

    def fail(self, text):
        """The run has failed, for this reason."""
        lib.bind.tacit_bind_fail(self.address, text.encode())


def host_kernel(function, dtypes, dims):
    """A Python function as a kernel of a task of `dims` dimensions. What it raises ends the run."""

    def entry(address):
        try:
            function(Launch(address, dtypes, dims))
        except BaseException as error:  # pylint: disable=broad-except
            traceback.print_exc()
            lib.bind.tacit_bind_fail(address, f"{type(error).__name__}: {error}".encode(errors="replace"))

    called = _ENTRY(entry)
    return Kernel(ctypes.cast(called, ctypes.c_void_p).value, called, function)


# ---- mappers

def box_of(box):
    """A box from one (first, end), or a slice, for each dimension."""
    pairs = [(b.start or 0, b.stop) if isinstance(b, slice) else tuple(b) for b in box]
    if len(pairs) > 3:
        raise ValueError("there are at most 3 dimensions")
    first, end = [p[0] for p in pairs] + [0] * (3 - len(pairs)), [p[1] for p in pairs] + [1] * (3 - len(pairs))
    return lib.Box((ctypes.c_size_t * 3)(*first), (ctypes.c_size_t * 3)(*end))


_MAPPER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def custom_mapper(function):
    """A Python function as a custom mapper. Nobody can go on without its answer: what it raises ends the process, and so the job."""

    def entry(chunk, extent, _user, out):
        try:
            dims = lib.peek("tacit_range", "dims", extent)
            for box in function(_indices(lib.Box.from_address(chunk), 3), tuple(lib.peek("tacit_range", "size", extent)[:dims])):
                box = tuple(box)
                if len(box) != dims:
                    raise ValueError(f"a mapper gave a box of {len(box)} dimensions, but the buffer has {dims}")
                lib.core.tacit_region_add(out, box_of(box))
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)  # pylint: disable=protected-access

    return _MAPPER(entry)


# ---- C, compiled when it is first needed

def _headers():
    here = pathlib.Path(__file__).resolve()
    given = [pathlib.Path(f) for f in os.environ.get("PYTACIT_INCLUDE_PATH", "").split(":") if f]
    near = [p / "include" for p in list(here.parents)[2:6]]
    for folder in given + near + [pathlib.Path("/usr/include")]:
        if (folder / "tacit" / "tacit.h").exists():
            return folder
    raise FileNotFoundError("tacit/tacit.h was not found: set PYTACIT_INCLUDE_PATH to the folder that `tacit` is in")


def c_kernel(source, name, flags=("-O3", "-DNDEBUG"), compiler=None):
    """A kernel in C, `static` or not, that takes a `const tacit_launch *`; the source needs no #include of tacit's headers. It
    is compiled by $CC or cc, once for each source, and kept in a folder of the user's cache."""
    compiler = compiler or os.environ.get("CC", "cc")
    text = (f"#include <tacit/tacit.h>\n#line 1 \"{name}.c\"\n{source}\n"
            f"__attribute__((visibility(\"default\"))) void tacit_entry_(const tacit_launch *k) {{ {name}(k); }}\n")
    command = [*compiler.split(), "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", *flags, f"-I{_headers()}", "-x", "c", "-"]
    key = hashlib.sha256("\0".join([text, *command]).encode()).hexdigest()
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "tacit" / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{key}.so"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as place:  # several nodes may do so at the same time
            made = pathlib.Path(place) / "kernel.so"
            done = subprocess.run([*command, "-o", made], input=text, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ValueError(f"the kernel {name} does not compile:\n{done.stderr}")
            os.replace(made, target)
    library = ctypes.CDLL(str(target))
    return Kernel(ctypes.cast(library.tacit_entry_, ctypes.c_void_p).value, library)


# ---- Numba

def jit(*types, args=None, **options):
    """Compile a function by Numba: `@tacit.jit("f8[:,:]", "f8[:,:]")`, one type for each access. It is called with `chunk`, an
    array of (first, end) for each of 3 dimensions, and the arrays, which take indices of the buffer; with `args="f8"` the
    task's arguments follow as an array. What is 0D is an array of one element."""
    import numba  # pylint: disable=import-outside-toplevel
    from numba.extending import intrinsic  # pylint: disable=import-outside-toplevel
    word = numba.types.int64

    def pointer_to(dtype):
        @intrinsic
        def cast(_context, address):
            target = numba.types.CPointer(dtype)

            def generate(context, builder, _signature, values):
                return builder.inttoptr(values[0], context.get_value_type(target))

            return target(address), generate

        return cast

    def at(kind, field):
        offset = lib.OFFSET[kind, field]
        if offset % 8:
            raise ImportError(f"{kind}.{field} is not aligned to 8 bytes")
        return offset // 8

    views, chunk, arguments, length = (at("tacit_launch", f) for f in ("view", "chunk", "args", "args_size"))
    data, box, stride, extent = (at("tacit_view", f) for f in ("data", "box", "stride", "extent"))
    view_words = lib.SIZE["tacit_view"] // 8
    words_at = pointer_to(word)

    def decorate(function):
        compiled = numba.njit(function, **options)
        names, lines = {"compiled": compiled, "carray": numba.carray, "words_at": words_at, "empty": numpy.empty}, []
        lines += ["def entry(launch):", f"    l = carray(launch, {lib.SIZE['tacit_launch'] // 8})", "    chunk = empty((3, 2), int64)",
                  "    for d in range(3):", f"        chunk[d, 0] = l[{chunk} + d]", f"        chunk[d, 1] = l[{chunk} + 3 + d]"]
        names["int64"] = numba.int64
        calls = ["chunk"]
        for i, text in enumerate(types):
            array = eval(text, {}, vars(numba.types))  # pylint: disable=eval-used
            dtype, dims = (array.dtype, array.ndim) if isinstance(array, numba.types.Array) else (array, 1)
            names[f"pointer{i}"] = pointer_to(dtype)
            lines += [f"    v = carray(words_at(l[{views}] + {i * view_words * 8}), {view_words})"]
            # Index 0 lies where it would if the buffer were all there, with these strides; what is not there is not touched.
            origin = " - ".join([f"v[{data}]"] + [f"v[{box + d}] * v[{stride + d}]" for d in range(dims)])
            shape = [f"v[{extent}]"] + [f"v[{stride + d}] // v[{stride + d + 1}]" for d in range(dims - 1)]
            lines += [f"    a{i} = carray(pointer{i}({origin}), ({', '.join(shape)},))"]
            calls.append(f"a{i}")
        if args:
            size = numpy.dtype(args).itemsize
            names["pointer_args"] = pointer_to(numba.from_dtype(numpy.dtype(args)))
            lines += [f"    arguments = carray(pointer_args(l[{arguments}]), l[{length}] // {size})"]
            calls.append("arguments")
        lines += [f"    compiled({', '.join(calls)})"]
        exec("\n".join(lines), names)  # pylint: disable=exec-used
        made = numba.cfunc(numba.types.void(numba.types.CPointer(word)))(names["entry"])
        return Kernel(made.address, made, compiled)

    return decorate
