#!/usr/bin/env python3
"""The Python package on several nodes: what it promises, the example in its three ways, the programs of doc/python.md, functions that raise.

Usage: python_test.py ROOT BUILD LIBRARIES HDF5 NODES...     HDF5: whether it is built, 1 or 0; 77: NumPy is not installed"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root, build, libraries = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
hdf5 = ["hdf5"] if sys.argv[4] == "1" else []
counts = [int(n) for n in sys.argv[5:]]
environment = {**os.environ, "PYTHONPATH": str(root / "lib" / "python"), "PYTACIT_LIBRARY_PATH": libraries,
               "PYTACIT_INCLUDE_PATH": str(root / "include"), "PYTHONDONTWRITEBYTECODE": "1"}
wrong = []


def has(python, module):
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def run(nodes, *arguments, **more):
    launch = [build / "bin" / "tacit", "run", "-n", str(nodes)] if nodes > 1 else []
    done = subprocess.run([*launch, python, *arguments], capture_output=True, text=True, timeout=200, check=False, cwd=name,
                          env={**environment, **more})
    return done.returncode, done.stdout, done.stderr


def expect(what, good, seen):
    if not good:
        wrong.append(f"FAILED {what}: {seen}")


pythons = [p for p in (sys.executable, "/usr/bin/python3") if has(p, "numpy")]
if not pythons:
    print("numpy is not installed (tools/setup --check installs it): the package was not tried")
    sys.exit(77)
python = pythons[0]
with_numba = has(python, "numba")
if not with_numba:
    print("numba is not installed (tools/setup --check installs it): kernels by numba were not tried")

with tempfile.TemporaryDirectory() as name:
    environment["XDG_CACHE_HOME"] = name
    for nodes in counts:
        folder = pathlib.Path(name) / f"files{nodes}"
        folder.mkdir()
        result = run(nodes, root / "lib" / "python" / "tests" / "program.py", folder, *hdf5,
                     *(["numba"] if with_numba and nodes == counts[0] else []))
        expect(f"program.py on {nodes}", result[0] == 0, result)
    ways = ["numpy", "c"] + (["numba"] if with_numba else [])
    for way, nodes in zip(ways, [counts[-1], 1, counts[len(counts) // 2]]):
        result = run(nodes, root / "lib" / "python" / "examples" / "heat.py", way)
        expect(f"heat.py {way} on {nodes}", result[:2] == (0, f"20163.957960787 on {nodes} nodes\n"), result)
    known = subprocess.run([build / "bin" / "tacit", "info"], capture_output=True, text=True, check=True).stdout
    for devices in ["host:2:discrete", *(d for d in ("opencl:0", "cuda:0") if f"\n  {d} " in known)]:
        result = run(counts[-1], root / "lib" / "python" / "examples" / "heat.py", "numpy", TACIT_DEVICES=devices)
        expect(f"heat.py on {devices}", result[:2] == (0, f"20163.957960787 on {counts[-1]} nodes\n"), result)
    for number, text in enumerate(re.findall(r"```python\n(.*?)```", (root / "doc" / "python.md").read_text(), re.S)):
        program = pathlib.Path(name) / f"page{number}.py"
        program.write_text(text)
        if with_numba or "jit" not in text:
            said = ["10 steps so far", "20 steps so far"] if "steps.npy" in text else ["the sum is 4950.0"]
            for line in said:
                result = run(1 if "jit" in text else counts[-1], program)  # compiling by Numba takes seconds on each node
                expect(f"program {number} of doc/python.md", result[0] == 0 and result[1].splitlines()[:1] == [line], result)
    raising = pathlib.Path(name) / "raising.py"
    raising.write_text("import tacit\n"
                       "with tacit.Context() as ctx:\n"
                       "    u = ctx.buffer(9)\n"
                       "    def f(k):\n"
                       "        raise KeyError('lost')\n"
                       "    ctx.submit('f', (9,), f, u.writes(tacit.one_to_one()))\n"
                       "    u.read()\n")
    for nodes in {1, counts[-1]}:
        result = run(nodes, raising)
        expect(f"a function that raises, on {nodes}", result[0] != 0 and "KeyError: 'lost'" in result[2], result)
    mapping = pathlib.Path(name) / "mapping.py"
    mapping.write_text("import tacit\n"
                       "with tacit.Context() as ctx:\n"
                       "    u, v = ctx.buffer(9, init=range(9)), ctx.buffer(9)\n"
                       "    def f(chunk, shape):\n"
                       "        raise KeyError('nowhere')\n"
                       "    ctx.submit('f', (9,), lambda k: None, u.reads(ctx.mapper(f)), v.writes(tacit.one_to_one()))\n"
                       "    v.read()\n")
    for nodes in {1, counts[-1]}:
        result = run(nodes, mapping)
        expect(f"a mapper that raises, on {nodes}", result[0] != 0 and "KeyError: 'nowhere'" in result[2], result)
    mapping.write_text(mapping.read_text().replace("raise KeyError('nowhere')", "return [(chunk[0], chunk[1])]"))
    result = run(1, mapping)
    expect("a box of other dimensions", result[0] != 0 and "a box of 2 dimensions, but the buffer has 1" in result[2], result)
    result = run(1, "-c", "import tacit", PYTACIT_LIBRARY_PATH=name, LD_LIBRARY_PATH=name)
    expect("no library", "PYTACIT_LIBRARY_PATH" in result[2] or result[0] == 0, result)
print("\n".join(wrong) or f"all right, on {counts} nodes")
sys.exit(1 if wrong else 0)
