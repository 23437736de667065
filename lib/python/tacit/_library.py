"""The C library, and how its structs lie in memory: asked when the package is imported, never guessed."""
import ctypes
import os
import pathlib

from ctypes import c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint8, c_void_p


def load(name):
    """By PYTACIT_LIBRARY_PATH, beside the package as it is installed, or where the loader looks."""
    here = pathlib.Path(__file__).resolve().parent
    folders = [pathlib.Path(f) for f in os.environ.get("PYTACIT_LIBRARY_PATH", "").split(":") if f] + list(here.parents)[:4]
    for folder in folders:
        if (folder / name).exists():
            return ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
    try:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise ImportError(f"{name} was not found: set PYTACIT_LIBRARY_PATH to the folder that it is in ({error})") from None


core = load("libtacit.so.0")
bind = load("libtacit-bind.so.0")

# Types of the fields that this package uses. Where sizes differ, the package and the library do not belong together.
_USED = {
    "tacit_range": {"size": c_size_t * 3, "dims": c_int},
    "tacit_box": {"min": c_size_t * 3, "max": c_size_t * 3},
    "tacit_buffer_desc": {"name": c_char_p, "range": None, "elem_size": c_size_t, "init": c_void_p},
    "tacit_hints": {"split": c_int, "granularity": c_size_t * 3, "oversubscribe": c_int, "priority": c_int, "whole_chunk": c_bool,
                    "pure": c_bool, "weights": c_void_p, "item_weights": c_void_p, "no_collectives": c_bool},
    "tacit_kernel": {"host": c_void_p, **{f"{kind}.{name}": size for kind in ("opencl", "cuda") for name, size in (
        ("source", c_char_p), ("entry", c_char_p), ("group", c_size_t * 3), ("local_bytes", c_size_t))}},
    "tacit_place": {"kind": c_int, "arg": c_int},
    "tacit_task": {"name": c_char_p, "range": None, "offset": c_size_t * 3, "access": None, "kernel": None, "args": c_void_p,
                   "args_size": c_size_t, "on": c_int, "place": None, "hint": None, "hash_args": c_bool, "cost": c_double,
                   "group": c_void_p},
    "tacit_view": {"data": c_void_p, "box": None, "stride": c_size_t * 3, "elem_size": c_size_t, "ld": c_size_t, "dims": c_int, "mode": c_int,
                   "name": c_char_p, "extent": c_size_t * 3},
    "tacit_launch": {"chunk": None, "view": c_void_p, "args": c_void_p, "args_size": c_size_t, "node": c_int, "num_nodes": c_int,
                     "worker": c_int, "num_workers": c_int, "name": c_char_p, "num_views": c_int},
    "tacit_file_attribute": {"name": c_char_p, "type": c_int, "value": c_void_p},
    "tacit_file_options": {"format": c_int, "type": c_int, "box": None, "dataset": c_char_p, "attributes": c_void_p,
                           "num_attributes": c_size_t, "xdmf": c_char_p, "time": c_double, "low": c_double, "high": c_double,
                           "colours": c_int, "sync": c_bool, "tolerant": c_bool, "hint": None, "keep": c_bool},
    "tacit_file_facts": {"found": c_bool, "format": c_int, "dims": c_int, "size": c_size_t * 4, "type": c_int, "type_size": c_size_t,
                         "why": c_uint8 * 256},
    "tacit_mapper": {}, "tacit_component": {}, "tacit_access": {},
}


class _Field(ctypes.Structure):
    _fields_ = [("type", c_char_p), ("field", c_char_p), ("offset", c_size_t), ("size", c_size_t)]


def _layout():
    bind.tacit_bind_layout.restype = c_bool
    bind.tacit_bind_layout.argtypes = [c_size_t, ctypes.POINTER(_Field)]
    sizes, offsets, field, index = {}, {}, _Field(), 0
    while bind.tacit_bind_layout(index, ctypes.byref(field)):
        kind, name = field.type.decode(), field.field.decode()
        if name:
            offsets[kind, name] = field.offset
        else:
            sizes[kind] = field.size
        used = _USED.get(kind, {}).get(name)
        if used and ctypes.sizeof(used) != field.size:
            raise ImportError(f"{kind}.{name} has {field.size} bytes in the library and {ctypes.sizeof(used)} in the package: "
                              "they are of different versions")
        index += 1
    missing = [f"{kind}.{name}" for kind, fields in _USED.items() for name in fields if (kind, name) not in offsets]
    missing += [kind for kind in _USED if kind not in sizes]
    if missing:
        raise ImportError(f"the library has no {', '.join(missing)}: it is of another version than the package")
    return sizes, offsets


SIZE, OFFSET = _layout()


def constant(name):
    """The number of a constant of the headers."""
    value = c_int64()
    if not bind.tacit_bind_constant(name.encode(), ctypes.byref(value)):
        raise ImportError(f"the library has no {name}: it is of another version than the package")
    return value.value


class Struct:
    """A struct of the library, all zero: memory of its size, written at the library's offsets."""

    def __init__(self, kind, /, **fields):
        self.kind, self.memory, self.kept = kind, ctypes.create_string_buffer(SIZE[kind]), []
        for name, value in fields.items():
            self[name] = value

    def __setitem__(self, name, value):
        used, at = _USED[self.kind][name], OFFSET[self.kind, name]
        self.kept.append(value)
        if used is None:  # a struct within
            raw = bytes(value.memory.raw)
            self.memory[at:at + len(raw)] = raw
            self.kept += value.kept
        elif issubclass(used, ctypes.Array):
            used.from_buffer(self.memory, at)[:] = value
        else:
            used.from_buffer(self.memory, at).value = value

    def put(self, name, index, raw):
        """Bytes as entry number `index` of an array."""
        at = OFFSET[self.kind, name] + index * len(raw)
        self.memory[at:at + len(raw)] = raw

    @property
    def address(self):
        return ctypes.byref(self.memory)


def peek(kind, name, address):
    """A field of a struct of the library's at this address."""
    used = _USED[kind][name]
    value = used.from_address(address + OFFSET[kind, name])
    return list(value) if issubclass(used, ctypes.Array) else value.value


def declare(library, name, result, *arguments):
    """Say what a function of a library takes and gives."""
    function = getattr(library, name)
    function.restype, function.argtypes = result, arguments
    return function


_P = c_void_p
for _name, _arguments in {
        "tacit_bind_init": (_P,), "tacit_bind_buffer_create": (_P, _P, _P), "tacit_bind_submit": (_P, _P)}.items():
    declare(bind, _name, c_int, *_arguments)
for _name, _arguments in {
        "full": (_P,), "span": (c_size_t, c_size_t, _P), "dim": (c_int, c_int, c_int, c_int64, c_int64, _P), "dim_periodic": (c_int, c_size_t, _P),
        "components": (_P, _P), "one_to_one": (_P,), "all": (_P,), "fixed": (_P, _P), "slice": (c_int, _P),
        "neighborhood": (c_size_t, c_size_t, c_size_t, _P), "star": (c_size_t, c_size_t, c_size_t, _P),
        "periodic": (c_size_t, c_size_t, c_size_t, _P), "transposed": (c_int, c_int, c_int, _P), "replicated": (_P,),
        "custom": (c_int, _P),
        "access": (_P, c_int, _P, c_bool, _P), "reduce": (_P, c_int, c_int, c_bool, _P), "fail": (_P, c_char_p)}.items():
    declare(bind, "tacit_bind_" + _name, None, *_arguments)
declare(bind, "tacit_bind_constant", c_bool, c_char_p, _P)
declare(core, "tacit_last_error", c_char_p, _P)
declare(core, "tacit_status_name", c_char_p, c_int)
declare(core, "tacit_finalize", c_int, _P)
declare(core, "tacit_wait", c_int, _P)
declare(core, "tacit_barrier", c_int, _P)
declare(core, "tacit_node", c_int, _P)
declare(core, "tacit_num_nodes", c_int, _P)
declare(core, "tacit_buffer_destroy", c_int, _P, _P)
declare(core, "tacit_fill", c_int, _P, _P, _P)
declare(core, "tacit_mapper_create", c_int, _P, _P, _P, c_size_t, ctypes.c_uint, _P)
declare(core, "tacit_mapper_destroy", c_int, _P, c_int)
declare(core, "tacit_weights_create", c_int, _P, c_size_t, _P, _P)
declare(core, "tacit_weights_destroy", c_int, _P, _P)
declare(core, "tacit_collective_group_create", c_int, _P, _P)
declare(core, "tacit_collective_group_destroy", c_int, _P, _P)


class Box(ctypes.Structure):
    """tacit_box, as calls take it by value."""
    _fields_ = [("min", c_size_t * 3), ("max", c_size_t * 3)]


if ctypes.sizeof(Box) != SIZE["tacit_box"] or Box.max.offset != OFFSET["tacit_box", "max"]:
    raise ImportError("tacit_box of the library is another one")


class Range(ctypes.Structure):
    """tacit_range, likewise."""
    _fields_ = [("size", c_size_t * 3), ("dims", c_int)]


if ctypes.sizeof(Range) != SIZE["tacit_range"] or Range.dims.offset != OFFSET["tacit_range", "dims"]:
    raise ImportError("tacit_range of the library is another one")
declare(core, "tacit_fence_read", c_int, _P, _P, Box, _P)
declare(core, "tacit_buffer_resize", c_int, _P, _P, Range)
declare(core, "tacit_region_add", None, _P, Box)
