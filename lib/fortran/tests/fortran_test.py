#!/usr/bin/env python3
"""The Fortran module on several nodes: its test program, the example, the program of doc/fortran.md compiled as it says.

Usage: fortran_test.py ROOT BUILD LIBRARIES COMPILER TEST FILES_TEST HDF5 NODES...     HDF5: whether it is built, 1 or 0"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root, build, libraries, compiler, program, files = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:7]
hdf5 = ["hdf5"] if sys.argv[7] == "1" else []
counts = [int(n) for n in sys.argv[8:]]
wrong = []
temporary = tempfile.TemporaryDirectory()
place = temporary.name  # where programs run, and leave their files


def run(nodes, *command, devices=None):
    environment = os.environ | ({"TACIT_DEVICES": devices} if devices else {})
    launch = [build / "bin" / "tacit", "run", "-n", str(nodes)] if nodes > 1 else []
    done = subprocess.run([*launch, *command], capture_output=True, text=True, timeout=120, check=False, cwd=place, env=environment)
    return done.returncode, done.stdout, done.stderr


def expect(what, good, seen):
    if not good:
        wrong.append(f"FAILED {what}: {seen}")


for nodes in counts:
    result = run(nodes, program)
    expect(f"the test on {nodes}", result[:2] == (0, ""), result)
    result = run(nodes, build / "bin" / "heat_fortran")
    expect(f"heat on {nodes}", result[:2] == (0, f"20163.957960787 on {nodes} nodes\n"), result)
known = run(1, build / "bin" / "tacit", "info")[1]
for devices in ["host:2:discrete", *(d for d in ("opencl:0", "cuda:0") if f"\n  {d} " in known)]:
    result = run(counts[-1], build / "bin" / "heat_fortran", devices=devices)
    expect(f"heat on {devices}", result[:2] == (0, f"20163.957960787 on {counts[-1]} nodes\n"), result)
    result = run(counts[-1], program, devices=devices)
    expect(f"the test on {devices}", result[:2] == (0, ""), result)
result = run(1, program, "wrong")
expect("a view of another type", result[0] != 0 and "elements of 8 bytes, but the pointer of 4" in result[2], result)
with tempfile.TemporaryDirectory() as name:
    for nodes, others in zip(counts, reversed(counts)):
        result = run(nodes, files, "write", name, *hdf5)
        expect(f"files written on {nodes}", result[:2] == (0, ""), result)
        result = run(others, files, "read", name, *hdf5)
        expect(f"files of {nodes} read on {others}", result[:2] == (0, ""), result)
    folder = pathlib.Path(name)
    said = [["the sum is 4950.0"], ["10 steps so far", "20 steps so far"]]  # what the programs of the page print, run again and again
    for number, text in enumerate(re.findall(r"```fortran\n(.*?)```", (root / "doc" / "fortran.md").read_text(), re.S)):
        source, page = folder / f"page{number}.f90", folder / f"page{number}"
        source.write_text(text)
        subprocess.run([compiler, f"-I{build}/lib/fortran/modules", f"-J{folder}", source, f"-L{libraries}", "-ltacit-fortran", "-ltacit-bind",
                        "-ltacit-io", "-ltacit", f"-Wl,-rpath,{libraries}", "-o", page], check=True)
        for nodes, line in zip((counts[-1], counts[0]), said[number]):
            result = run(nodes, page)
            expect(f"program {number} of doc/fortran.md on {nodes}", result[:2] == (0, line + "\n"), result)
print("\n".join(wrong) or f"all right, on {counts} nodes")
sys.exit(1 if wrong else 0)
