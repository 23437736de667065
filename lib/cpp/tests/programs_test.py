#!/usr/bin/env python3
"""The C++ programs: the examples on several nodes, and what doc/cpp.md shows, compiled as it says.

Usage: programs_test.py SOURCE-ROOT BUILD COMPILER [--one-node]"""
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(build, folder, nodes, program, *arguments, devices=None):
    launch = [build / "bin" / "tacit", "run", "-n", str(nodes)] if nodes > 1 else []
    environment = os.environ | ({"TACIT_DEVICES": devices} if devices else {})
    done = subprocess.run([*launch, program, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def main():
    root, build, compiler = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    counts = [1] if "--one-node" in sys.argv else [1, 2, 3, 7]
    wrong = []

    def expect(what, good, seen):
        if not good:
            wrong.append(f"FAILED {what}: {seen}")

    with tempfile.TemporaryDirectory() as name:
        folder, frames = pathlib.Path(name), set()
        for nodes in counts:
            result = run(build, folder, nodes, build / "bin" / "hello_cpp")
            expect(f"hello on {nodes}", result[:2] == (0, "Hello, cluster!\n"), result)
            result = run(build, folder, nodes, build / "bin" / "matmul_cpp", "61")
            expect(f"matmul on {nodes}", result[:2] == (0, "61 x 61: right\n"), result)
            result = run(build, folder, nodes, build / "bin" / "wave_sim_cpp", "-n", "70", "-t", "20", "--sample-every", "20", "--verify")
            expect(f"wave_sim on {nodes}", result[:2] == (0, "80 steps of 70 x 70: right\n"), result)
            file = (folder / "wave_sim.bin").read_bytes()
            expect(f"frames on {nodes}", len(file) == 16 + 5 * 70 * 70 * 4 and file[0] == 70 and file[8] == 5, len(file))
            frames.add(hashlib.sha1(file).hexdigest())
        known = subprocess.run([build / "bin" / "tacit", "info"], capture_output=True, text=True, check=True).stdout
        for devices in ["host:2:discrete", *(d for d in ("opencl:0", "cuda:0") if f"\n  {d} " in known)]:
            result = run(build, folder, counts[-1], build / "bin" / "matmul_cpp", "61", devices=devices)
            expect(f"matmul on {devices}", result[:2] == (0, "61 x 61: right\n"), result)
            result = run(build, folder, counts[-1], build / "bin" / "wave_sim_cpp", "-n", "70", "-t", "20", "--sample-every", "20", "--verify",
                         devices=devices)
            expect(f"wave_sim on {devices}", result[:2] == (0, "80 steps of 70 x 70: right\n"), result)
            frames.add(hashlib.sha1((folder / "wave_sim.bin").read_bytes()).hexdigest())
        expect("the same frames on any number of nodes", len(frames) == 1, frames)
        for bad in (["-n", "0"], ["--size", "3"], ["-n", "x"], ["--dt", "-1"], ["-t"]):
            result = run(build, folder, 1, build / "bin" / "wave_sim_cpp", *bad)
            expect(f"wave_sim {bad}", result[0] == 1 and result[2].count("\n") == 1, result)
        page = (root / "doc" / "cpp.md").read_text()
        for number, text in enumerate(re.findall(r"```cpp\n(.*?)```", page, re.S)):
            source = folder / f"page{number}.cpp"
            source.write_text(text)
            library = next(build.glob("lib*/**/libtacit.so")).parent
            command = [compiler, "-std=c++17", "-O2", "-DNDEBUG", "-Wall", "-Wextra", "-Werror", f"-I{root}/include", f"-I{root}/lib/cpp/include",
                       source, "-o", folder / "page", f"-L{library}", "-ltacit", f"-Wl,-rpath,{library}"]
            subprocess.run(command, check=True)
            result = run(build, folder, counts[-1], folder / "page")
            expect(f"program {number} of doc/cpp.md", result[:2] == (0, "the sum is 1\n"), result)
        limits = {"hello": 21, "matmul": 96, "wave_sim": 163}  # lines of Celerity's examples
        for program, limit in limits.items():
            lines = len((root / "lib" / "cpp" / "examples" / f"{program}.cpp").read_text().splitlines())
            expect(f"lines of {program}", lines <= limit and f"{lines}" in page, lines)
    print("\n".join(wrong) or f"all right, on {counts} nodes")
    return 1 if wrong else 0


sys.exit(main())
