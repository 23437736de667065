#!/usr/bin/env python3
"""Files of tacit/io.h: written on some number of nodes and read on another, the same bytes from all of them, what NumPy and h5py make of
them (where Debian's python3-numpy and python3-h5py are installed), and what is wrong with files and disks: a sentence, and the old file.

Usage: files_test.py PATH-OF-TACIT PATH-OF-IO-TEST FOLDER EXAMPLES NODES... [ROOT LIBRARIES]
EXAMPLES is where heat3d and others lie; with ROOT and LIBRARIES the program of doc/io.md is tried, too."""
import hashlib
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import sys
import zlib

tacit, program, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
examples = pathlib.Path(sys.argv[4])
pages = [pathlib.Path(p) for p in sys.argv[5:] if not p.isdigit()]
counts = [int(n) for n in sys.argv[5:] if n.isdigit()]
wrong = []


def expect(what, good, seen=""):
    if not good:
        wrong.append(f"FAILED {what}: {seen}")


def run(nodes, *arguments, before=None, of=program):
    launch = [tacit, "run", "-n", str(nodes)] if nodes > 1 else []
    done = subprocess.run([*launch, of, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, preexec_fn=before)
    return done.returncode, done.stdout, "\n".join(line for line in done.stderr.splitlines() if "was checked" not in line)


def npy(descr="<f8", shape="(5, 7)", order="False", bytes_behind=5 * 7 * 8, version=1):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + bytes(bytes_behind)


def png_pixels(path):
    """Width, height and the numbers of the colours of a picture with a palette and no filters."""
    data, at, found = path.read_bytes(), 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        found[kind] = found.get(kind, b"") + data[at + 8:at + 8 + length]
        at += length + 12
    width, height = struct.unpack(">II", found[b"IHDR"][:8])
    rows = zlib.decompress(found[b"IDAT"])
    lines = [rows[i * (width + 1):(i + 1) * (width + 1)] for i in range(height)]
    expect(f"filters of {path.name}", all(line[0] == 0 for line in lines), [line[0] for line in lines])
    return width, height, [list(line[1:]) for line in lines]


def several_numbers_of_nodes():
    """All tests on every number of nodes; then files are the same whoever wrote them, and read by all others."""
    hashes = set()
    for nodes in counts:
        place = folder / str(nodes)
        place.mkdir()
        result = run(nodes, place)
        expect(f"all on {nodes}", result[0] == 0, result)
        digest = hashlib.sha1()
        for file in sorted(place.iterdir()):
            if file.suffix != ".h5":  # HDF5 files know when they were made
                digest.update(file.name.encode() + file.read_bytes())
        hashes.add(digest.hexdigest())
        expect(f"nothing is left on {nodes}", not list(place.glob("*.part")), list(place.glob("*.part")))
        result = run(counts[-1] if nodes == 1 else nodes // 2, place, "load")
        expect(f"load what {nodes} wrote", result[0] == 0, result)
    expect("the same bytes on any number of nodes", len(hashes) == 1, hashes)
    width, height, pixels = png_pixels(folder / str(counts[-1]) / "grey.png")
    expect("grey.png", (width, height) == (7, 13) and pixels[0][0] == 0 and pixels[12][6] == 255, pixels)
    width, height, pixels = png_pixels(folder / str(counts[-1]) / "part.png")
    expect("part.png", (width, height) == (2, 4) and pixels[0] == [int(255 * 0.1205 + 0.5), int(255 * 0.1305 + 0.5)], pixels)
    series = (folder / str(counts[-1]) / "series.xdmf").read_text()
    expect("series.xdmf", [f"frame{i}.h5:/data" in series for i in range(5)] == [True] * 4 + [False] and series.count("<Time") == 4, series)


OTHERS = """
import numpy as np, sys, pathlib
f = pathlib.Path(sys.argv[1])
want = 100.0 * np.arange(13)[:, None] + 10.0 * np.arange(7)[None, :] + 0.5
assert np.array_equal(np.load(f / "u2.npy"), want) and np.load(f / "u0.npy") == 0.5 and np.load(f / "u3.npy").shape == (5, 13, 7)
assert np.array_equal(np.load(f / "box.npy"), want[3:11, 2:6]) and np.load(f / "vectors.npy").shape == (13, 3)
assert np.load(f / "opaque.npy").dtype == np.dtype("V12")
try:
    import h5py
except ImportError:
    print("h5py is not installed"); sys.exit()
with h5py.File(f / "u2.h5") as h:
    assert np.array_equal(h["data"][...], want)
with h5py.File(f / "vectors.h5") as h:
    d = h["run/1/x"]
    assert d.shape == (13, 3) and d.attrs["step"] == 42 and d.attrs["time"] == 0.125 and d.attrs["unit"] == b"K", dict(d.attrs)
    assert d.attrs["step"].dtype == np.int64 and d[12, 0] == 12
    assert not d.chunks
with h5py.File(f / "several.h5") as h:
    assert np.array_equal(h["a"][...], want) and h["grid/b"].shape == (5, 13, 7) and h["grid/b"].attrs["step"] == 7, list(h)
with h5py.File(f / "u2.h5", "a") as h:
    h.attrs["title"], h["data"].attrs["unit"] = "Häuser", "K"  # texts of any length, in UTF-8
    h["more/other"] = [1, 2, 3]
with h5py.File(f / "group.h5", "w") as h:
    h["more/data/below"] = 1
with h5py.File(f / "packed.h5", "w") as h:
    h.create_dataset("data", data=want[:5, :7], chunks=(2, 3), compression="gzip")
with h5py.File(f / "swapped.h5", "w") as h:
    h.create_dataset("data", data=want[:5, :7].astype(">f8"))
with h5py.File(f / "u3.h5", "a") as h:
    del h["data"]
    h.create_dataset("data", data=np.add.outer(100.0 * np.arange(5), want[0, 0] + np.add.outer(10.0 * np.arange(13), np.arange(7))), chunks=(2, 5, 3), compression="gzip")
print("both")
"""


def other_programs():
    """Returns whether h5py has made more files."""
    place = folder / str(counts[-1])
    with_numpy = [p for p in (sys.executable, "/usr/bin/python3") if subprocess.run([p, "-c", "import numpy"], capture_output=True, check=False).returncode == 0]
    if not with_numpy:
        print("numpy is not installed (tools/setup --check installs it): what it makes of the files was not tried")
        return False
    done = subprocess.run([with_numpy[0], "-c", OTHERS, place], capture_output=True, text=True, check=False)
    expect("numpy and h5py", done.returncode == 0, done.stderr)
    return done.stdout == "both\n"


def wrong_files(with_h5py):
    place = folder / "wrong"
    place.mkdir()
    nodes = counts[len(counts) // 2]
    whole = (folder / "1" / "box.h5").read_bytes()
    files = {
        "shape.npy": (npy(shape="(7, 5)"), "it has 7 x 5 of double, but the buffer's box is 5 x 7 of double"),
        "more.npy": (npy(shape="(5, 7, 1)"), "it has 5 x 7 x 1 of double"),
        "type.npy": (npy("<i8"), "it has 5 x 7 of int64_t"),
        "order.npy": (npy(">f8"), "another byte order"),
        "columns.npy": (npy(order="True"), "stored by columns"),
        "short.npy": (npy(bytes_behind=5 * 7 * 8 - 1), "it is cut off: it has 407 bytes, but its header says 408"),
        "struct.npy": (npy().replace(b"'<f8'", b"[('a'"), "structs"),
        "huge.npy": (npy(shape="(99999999999999999999,)"), "makes no sense"),
        "head.npy": (npy()[:40], "cut off"),
        "empty.npy": (b"", "no .npy file"),
        "text.npy": (b"1 2 3 4 5 6 7 8 9 10 11 12 13\n", "no .npy file"),
        "short.raw": (bytes(279), "it has 279 bytes, but the buffer's box 280"),
        "long.raw": (bytes(281), "it has 281 bytes"),
        "text.h5": (b"no HDF5", "it is no HDF5 file, or is cut off"),
        "cut.h5": (whole[:len(whole) - 9], "cut off"),
        "box.h5": (whole, "it has 8 x 4 of double"),
        "none.h5": (None, "it cannot be opened: No such file or directory"),
        "none.npy": (None, "it cannot be opened: No such file or directory"),
    }
    for name, (contents, _) in files.items():
        if contents is not None:
            (place / name).write_bytes(contents)
    result = run(1, place, "fail", *files)
    expect("wrong files", result[0] == 0 and len(result[1].splitlines()) == len(files), result)
    for (name, (_, sentence)), line in zip(files.items(), result[1].splitlines()):
        expect(name, sentence in line and name in line, line)
    result = run(nodes, place, "fail", "short.npy")
    expect("on several nodes", result[0] == 0 and "it is cut off" in result[1], result)
    if with_h5py:
        shutil.copy(folder / str(counts[-1]) / "swapped.h5", place)
        result = run(1, place, "fail", "swapped.h5")
        expect("swapped.h5", result[0] == 0 and "another byte order" in result[1], result)
        result = run(nodes, folder / str(counts[-1]), "load")  # u3.h5 is compressed now
        expect("a compressed dataset", result[0] == 0, result)


KEPT = """
import h5py, sys
with h5py.File(sys.argv[1]) as h:
    assert h["more/data"].shape == (5, 7) and list(h["more/other"]) == [1, 2, 3] and h["data"].attrs["unit"] == "K" and h.attrs["title"] == "Häuser"
"""


def kept_files(with_h5py):
    """A dataset more in files of other programs, whose contents stay; and files that cannot have one."""
    place = folder / "kept"
    place.mkdir()
    (place / "text.h5").write_bytes(b"no HDF5")
    result = run(counts[-1], place, "keep", "text.h5")
    expect("added to a text", "it is no HDF5 file" in result[1] and ".keep adds to HDF5 files only" in result[1], result)
    expect("the text", (place / "text.h5").read_bytes() == b"no HDF5" and len(list(place.iterdir())) == 1, list(place.iterdir()))
    if not with_h5py:
        return
    for name in ("u2.h5", "group.h5"):
        shutil.copy(folder / str(counts[-1]) / name, place)
    result = run(counts[-1], place, "texts", "u2.h5")
    expect("texts of any length", result[:2] == (0, "Häuser, K\n"), result)
    result = run(counts[-1], place, "keep", "group.h5")
    expect("in place of a group", "'more/data' in it is no dataset, and stays" in result[1], result)
    result = run(counts[-1], place, "keep", "u2.h5")
    expect("a dataset more", result[:2] == (0, "written\n"), result)
    python = next(p for p in (sys.executable, "/usr/bin/python3") if subprocess.run([p, "-c", "import h5py"], capture_output=True, check=False).returncode == 0)
    done = subprocess.run([python, "-c", KEPT, place / "u2.h5"], capture_output=True, text=True, check=False)
    expect("what else it has", done.returncode == 0, done.stderr)


def what_is_left():
    """What a run that was killed has begun goes when the same file is written again; and nothing else."""
    place = folder / "left"
    place.mkdir()
    stay = ["full.npy.0123abcd.part", "u.npy.0123abcd.parts", "u.npy.0123abc.part", "u.npy.x123abcd.part", "u.npyx.0123abcd.part"]
    for name in [*stay, "u.npy.0123abcd.part", "u.npy.ffffffff.part"]:
        (place / name).write_bytes(b"begun")
    result = run(1, place, "full", "u.npy")
    expect("written again", result[:2] == (0, "written\n"), result)
    expect("what is left", sorted(p.name for p in place.iterdir()) == sorted([*stay, "u.npy"]), list(place.iterdir()))


def disks_of_nodes():
    """Each node in a folder of its own, as if they did not share a disk: neither a file of before nor one of another node is taken for it."""
    nodes = 2
    if counts[-1] < nodes:
        return
    script = 'cd "$0/${OMPI_COMM_WORLD_RANK-$PMI_RANK}" && exec "$@"'

    def apart(*arguments):
        return run(nodes, "-c", script, place, program, ".", *arguments, of="sh")

    place = folder / "apart"
    for node in range(nodes):
        shutil.copytree(folder / "1", place / str(node))
    result = apart("load")
    expect("copies on all nodes", result[0] == 0, result)
    for name in ("u.npy.part", "u.npy"):
        (place / "1" / name).write_bytes(npy())
    result = apart("full", "u.npy")
    expect("written apart", result[0] == 0 and "node 1 does not find it" in result[1] and "that all nodes see" in result[1], result)
    expect("nothing is written", (place / "1" / "u.npy").read_bytes() == npy() and not (place / "0" / "u.npy").exists(), "")
    other = bytearray(npy())
    other[-1] ^= 1
    (place / "0" / "u.npy").write_bytes(other)
    result = apart("fail", "u.npy")
    expect("another file", result[0] == 0 and "node 1 finds another file there than node 0" in result[1], result)


def full_disks():
    """A limit on the size of files instead of a full disk: the calls that fail are the same, and a signal comes on top."""
    place = folder / "full"
    place.mkdir()
    for name in ("u.npy", "u.raw", "u.h5"):
        (place / name).write_bytes(b"the old one")

        def limit(size=200 if name != "u.h5" else 2100):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        result = run(1, place, "full", name, before=limit)
        expect(f"full {name}", result[0] == 0 and "writing" in result[1] and "File too large" in result[1], result)
        expect(f"the old {name}", (place / name).read_bytes() == b"the old one" and not list(place.glob("*.part")), list(place.iterdir()))
    for bad in ("/proc", place / "none", place / "u.npy"):
        result = run(1, bad, "full", "u.npy")
        expect(f"writing into {bad}", result[0] == 0 and "cannot be created" in result[1], result)
    (place / "folder.npy").mkdir()
    result = run(1, place, "full", "folder.npy")
    expect("in place of a folder", result[0] == 0 and "cannot be renamed" in result[1] and not list(place.glob("*.part")), result)


def restarts():
    """heat3d in one run, and in two parts on different numbers of nodes; what the other examples write."""
    place = folder / "heat"
    place.mkdir()
    heat = examples / "heat3d"
    common = ["--size", 17, "--json", "--save-every", 5, "--restart", place / "heat.h5", "--save", place / "heat.h5"]
    first = run(counts[-1], "--steps", 7, *common, of=heat)
    second = run(counts[-1] // 2 or 1, "--steps", 12, "--verify", "--series", place / "film", *common, of=heat)
    expect("the first part", first[0] == 0 and '"first_step": 0' in first[1], first)
    expect("the second part", second[0] == 0 and '"first_step": 7' in second[1] and '"verified": "yes"' in second[1], second)
    expect("the series", sorted(p.name for p in place.iterdir()) == ["film.xdmf", "film_000010.h5", "film_000012.h5", "heat.h5"], list(place.iterdir()))
    (place / "heat.h5").write_bytes((place / "heat.h5").read_bytes()[:30000])
    result = run(1, "--steps", 14, *common, of=heat)
    expect("a checkpoint that is cut off counts as none", result[0] == 0 and '"first_step": 0' in result[1], result)
    result = run(counts[-1], "--rows", 61, "--cols", 53, "--steps", 10, "--frames", 2, "--output", place / "frames", of=examples / "wave_sim")
    expect("frames", result[0] == 0 and png_pixels(place / "frames" / "frame_0001.png")[:2] == (53, 61), result)
    result = run(counts[-1], "--rows", 17, "--cols", 31, "--save", place / "x.npy", of=examples / "cg")
    expect("cg --save", result[0] == 0 and (place / "x.npy").stat().st_size == 128 + 8 * 17 * 31, result)
    result = run(counts[-1], "--items", 1003, "--bins", 11, "--save", place / "bins.raw", of=examples / "histogram")
    expect("histogram --save", result[0] == 0 and sum(struct.unpack("<11Q", (place / "bins.raw").read_bytes())) == 1003, result)
    result = run(1, "--items", 1003, "--save", "/proc/x.npy", of=examples / "histogram")
    expect("a file that cannot be", result[0] == 1 and re.search(r"writing '/proc/x.npy': /proc/x.npy.[0-9a-f]{8}.part cannot be created", result[2]), result)


def page(root, library):
    """The program of doc/io.md, compiled and started three times, on different numbers of nodes."""
    place = folder / "page"
    place.mkdir()
    text = re.search(r"```c\n(.*?)```", (root / "doc" / "io.md").read_text(), re.S).group(1)
    (place / "page.c").write_text(text)
    command = ["cc", "-std=c11", "-O2", "-DNDEBUG", "-Wall", "-Wextra", "-Werror", f"-I{root}/include", f"-I{root}/lib/io/include", place / "page.c",
               "-o", place / "page", f"-L{library}", "-ltacit-io", "-ltacit", f"-Wl,-rpath,{library}"]
    subprocess.run(command, check=True)
    for time, nodes in enumerate((1, counts[-1], 2 if len(counts) > 1 else 1), 1):
        launch = [tacit, "run", "-n", str(nodes)] if nodes > 1 else []
        done = subprocess.run([*launch, place / "page"], cwd=place, capture_output=True, text=True, timeout=120, check=False)
        expect(f"doc/io.md, run {time}", (done.returncode, done.stdout) == (0, f"{10 * time} steps so far\n"), done)


shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
several_numbers_of_nodes()
with_h5py = other_programs()
wrong_files(with_h5py)
kept_files(with_h5py)
what_is_left()
disks_of_nodes()
full_disks()
if (examples / "heat3d").exists():
    restarts()
if pages:
    page(*pages)
print("\n".join(wrong) or f"all right, on {counts} nodes")
sys.exit(1 if wrong else 0)
