"""Buffers to files and back: the library tacit-io, which is loaded when the first file is named."""
import ctypes
import functools
import os

import numpy

from . import _library as lib

_FORMATS = {"hdf5": "TACIT_FILE_HDF5", "npy": "TACIT_FILE_NPY", "raw": "TACIT_FILE_RAW", "png": "TACIT_FILE_PNG"}
_COLOURS = {"heat": "TACIT_COLOURS_HEAT", "grey": "TACIT_COLOURS_GREY", "signed": "TACIT_COLOURS_SIGNED"}
_TEXT = 128  # bytes of a text attribute, with the 0 at its end

TYPES = {numpy.dtype(name): lib.constant("TACIT_" + tacit) for name, tacit in {
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32",
    "uint64": "UINT64", "float32": "FLOAT", "float64": "DOUBLE"}.items()}
# What a file has as other numbers than NumPy: two for a complex one, a byte for a truth.
_NUMBERS = {**TYPES, numpy.dtype("complex64"): TYPES[numpy.dtype("float32")], numpy.dtype("complex128"): TYPES[numpy.dtype("float64")],
            numpy.dtype("bool"): TYPES[numpy.dtype("uint8")]}


@functools.lru_cache(maxsize=None)
def library():
    """libtacit-io, with its calls declared."""
    loaded, p = lib.load("libtacit-io.so.0"), ctypes.c_void_p
    for name, arguments in {
            "tacit_buffer_write_sized": (p, p, ctypes.c_char_p, p, ctypes.c_size_t),
            "tacit_buffer_read_sized": (p, p, ctypes.c_char_p, p, ctypes.c_size_t),
            "tacit_file_look": (p, ctypes.c_char_p, p, p), "tacit_files_wait": (p,),
            "tacit_file_get_attribute": (p, ctypes.c_char_p, p, ctypes.c_char_p, ctypes.c_int, p, p)}.items():
        lib.declare(loaded, name, ctypes.c_int, *arguments)
    return loaded


def _one_of(names, word, what):
    if word not in names:
        raise ValueError(f"{what} is {word!r}; it is one of {', '.join(names)}")
    return lib.constant(names[word])


def _attribute(name, value):
    """A tacit_file_attribute, and the memory that it names."""
    if isinstance(value, str):
        kind, memory = 0, ctypes.create_string_buffer(value.encode())
    else:
        number = numpy.asarray(value)
        number = number.astype("int64" if number.dtype.kind in "bi" else number.dtype)
        if number.shape or number.dtype not in TYPES:
            raise ValueError(f"attribute {name!r} is {value!r}; attributes are numbers and texts")
        kind, memory = TYPES[number.dtype], ctypes.create_string_buffer(number.tobytes(), number.itemsize)
    entry = lib.Struct("tacit_file_attribute", name=name.encode(), type=kind, value=ctypes.addressof(memory))
    entry.kept.append(memory)
    return entry


def options(dtype, hint, format=None, dataset=None, box=None, attributes=None,  # pylint: disable=redefined-builtin
            xdmf=None, colours=None, **plain):
    """A tacit_file_options for elements of this type. `plain`: fields that are what they are."""
    made = lib.Struct("tacit_file_options", type=_NUMBERS.get(dtype, 0), hint=hint, **plain)
    if format is not None:
        made["format"] = _one_of(_FORMATS, format, "format")
    if colours is not None:
        made["colours"] = _one_of(_COLOURS, colours, "colours")
    if dataset is not None:
        made["dataset"] = dataset.encode()
    if xdmf is not None:
        made["xdmf"] = os.fsencode(xdmf)
    if box is not None:
        made["box"] = lib.Struct("tacit_box", min=box.min, max=box.max)
    if attributes:
        entries = [_attribute(name, value) for name, value in attributes.items()]
        joined = b"".join(entry.memory.raw for entry in entries)
        memory = ctypes.create_string_buffer(joined, len(joined))
        made["attributes"], made["num_attributes"] = ctypes.addressof(memory), len(entries)
        made.kept += [memory, entries]
    return made


class FileFacts:
    """What a file is: `format`, `shape` and `dtype` of its array. It is true if there is such a file; else `why` says why not."""

    def __init__(self, facts):
        at = ctypes.addressof(facts.memory)
        self.found = bool(lib.peek("tacit_file_facts", "found", at))
        self.why = lib.peek("tacit_file_facts", "why", at)
        self.why = bytes(self.why).split(b"\0")[0].decode(errors="replace")
        self.format = self.shape = self.dtype = None
        if self.found:
            kind, size = lib.peek("tacit_file_facts", "type", at), lib.peek("tacit_file_facts", "type_size", at)
            number = lib.peek("tacit_file_facts", "format", at)
            self.format = next(name for name, constant in _FORMATS.items() if lib.constant(constant) == number)
            self.shape = tuple(lib.peek("tacit_file_facts", "size", at)[:lib.peek("tacit_file_facts", "dims", at)])
            self.dtype = next((dtype for dtype, number in TYPES.items() if number == kind), numpy.dtype(f"V{max(size, 1)}"))
            if self.format == "raw":
                self.dtype = numpy.dtype("uint8")

    def __bool__(self):
        return self.found

    def __repr__(self):
        return f"FileFacts({self.format}, {self.shape}, {self.dtype})" if self.found else f"FileFacts(not found: {self.why})"


def look(handle, path, asked):
    """(status, FileFacts)"""
    facts = lib.Struct("tacit_file_facts")
    status = library().tacit_file_look(handle, os.fsencode(path), asked.address, facts.address)
    return status, FileFacts(facts)


def get_attribute(handle, path, name, kind, asked):
    """(status, the value or None)"""
    if kind not in (int, float, str):
        raise ValueError(f"kind is {kind!r}; it is int, float or str")
    memory, found = ctypes.create_string_buffer(_TEXT), ctypes.c_bool()
    number = {int: "int64", float: "float64", str: None}[kind]
    status = library().tacit_file_get_attribute(handle, os.fsencode(path), asked.address, name.encode(),
                                                TYPES[numpy.dtype(number)] if number else 0, memory, ctypes.byref(found))
    if status or not found:
        return status, None
    return status, kind(numpy.frombuffer(memory, number, 1)[0]) if number else memory.value.decode(errors="replace")
