#!/usr/bin/env python3
"""The Fortran module on several nodes: its test program, the example, the program of doc/fortran.md compiled as it says.

Usage: fortran_test.py ROOT BUILD LIBRARIES COMPILER TEST NODES..."""
import pathlib
import re
import subprocess
import sys
import tempfile

root, build, libraries, compiler, program = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), *sys.argv[3:6]
counts = [int(n) for n in sys.argv[6:]]
wrong = []


def run(nodes, *command):
    launch = [build / "bin" / "tacit", "run", "-n", str(nodes)] if nodes > 1 else []
    done = subprocess.run([*launch, *command], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def expect(what, good, seen):
    if not good:
        wrong.append(f"FAILED {what}: {seen}")


for nodes in counts:
    result = run(nodes, program)
    expect(f"the test on {nodes}", result[:2] == (0, ""), result)
    result = run(nodes, build / "bin" / "heat_fortran")
    expect(f"heat on {nodes}", result[:2] == (0, f"20163.957960787 on {nodes} nodes\n"), result)
result = run(1, program, "wrong")
expect("a view of another type", result[0] != 0 and "elements of 8 bytes, but the pointer of 4" in result[2], result)
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "page.f90").write_text(re.search(r"```fortran\n(.*?)```", (root / "doc" / "fortran.md").read_text(), re.S).group(1))
    subprocess.run([compiler, f"-I{build}/lib/fortran/modules", f"-J{folder}", folder / "page.f90", f"-L{libraries}", "-ltacit-fortran", "-ltacit-bind",
                    "-ltacit", f"-Wl,-rpath,{libraries}", "-o", folder / "page"], check=True)
    result = run(counts[-1], folder / "page")
    expect("the program of doc/fortran.md", result[:2] == (0, "the sum is 4950.0\n"), result)
print("\n".join(wrong) or f"all right, on {counts} nodes")
sys.exit(1 if wrong else 0)
