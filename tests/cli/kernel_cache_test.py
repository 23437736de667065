#!/usr/bin/env python3
"""Kernels that one run has compiled are not compiled in the next: programs on devices with TACIT_KERNEL_CACHE, whose logs say how
many were compiled. Also on several nodes, with a file that is damaged, and a place that cannot be written.
Usage: kernel_cache_test.py opencl|cuda PATH-OF-TACIT FOLDER-OF-EXAMPLES NODES"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KIND, TACIT, EXAMPLES, NODES = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
SIZES = ["--rows", "17", "--cols", "13"]


def run(folder, nodes=1, devices=f"{KIND}:0", **more):
    """Counts of what each node has compiled and taken over, and all that was said."""
    environment = dict(os.environ, TACIT_DEVICES=devices, TACIT_KERNEL_CACHE=str(folder), TACIT_LOG="info", **more)
    done = subprocess.run([TACIT, "run", "-n", str(nodes), f"{EXAMPLES}/jacobi", "--verify", *SIZES], env=environment,
                          capture_output=True, text=True)
    said = done.stdout + done.stderr
    check(done.returncode == 0, f"jacobi has failed:\n{said}")
    counts = [(int(a), int(b)) for a, b in re.findall(r"kernels of devices: (\d+) programs compiled, (\d+) taken", said)]
    check(len(counts) == nodes, f"{nodes} nodes say what they compiled:\n{said}")
    return counts, said


def check(good, what):
    if not good:
        print(what)
        sys.exit(1)


def main():
    info = subprocess.run([TACIT, "info"], capture_output=True, text=True).stdout
    if f"  {KIND}:0 " not in info:
        print(f"there is no device {KIND}:0 here")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        place = pathlib.Path(temporary) / "kept" / "kernels"
        [(programs, taken)], _ = run(place)
        check(programs > 0 and taken == 0, f"the first run compiled {programs} and took {taken}")
        files = sorted(place.iterdir())
        check(len(files) == programs and all(f.suffix == ".kernel" for f in files), f"{programs} programs, but {files}")
        # One is cut off, and compiled again. Then all nodes take what this one has kept.
        files[0].write_bytes(files[0].read_bytes()[:-1])
        check(run(place)[0] == [(1, programs - 1)], "what is damaged is compiled again, the rest is not")
        check(run(place, NODES)[0] == [(0, programs)] * NODES, "all nodes take what one has kept")
        check(sorted(place.iterdir()) == files, "nothing else is left in the directory")
        # A place that nobody can write.
        counts, said = run(files[0] / "below")
        check(counts == [(programs, 0)], "where nothing can be kept, all is compiled")
        check(said.count("compiled kernels cannot be kept") == 1, f"one warning:\n{said}")
    return 0


sys.exit(main())
