#!/usr/bin/python3
"""Real kernels by tacit, against OpenMP and MPI by hand.

Usage: peers.py BUILD [--quick] [--only KERNEL]... [--repeat N] [--json|--markdown]
       peers.py BUILD --check

Runs BUILD/libexec/tacit-peer-tacit on one node with two workers against tacit-peer-openmp with two threads, and on two
nodes with one worker each against tacit-peer-mpi with two ranks: in turns, since others may use the machine. Every
program says how long a step takes in the fastest of its rounds. A line has the median of the ratios of the turns, and
the ratio of the fastest turns, which other load disturbs less. The programs must get the same results.

--check runs every kernel once at a small odd size with two and three workers, threads, nodes and ranks, and on one, and
compares the results. Nothing is timed.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

SIZES = {  # n, of n x n grids and matrices, n bodies, a vector of n; cg: of a vector of n x n
    "stencil": [64, 256, 1024, 2048, 4096],
    "wave": [64, 256, 1024, 2048, 4096],
    "jacobi": [64, 256, 1024, 2048, 4096],
    "cg": [32, 100, 300, 700, 1500],
    "nbody": [64, 256, 1024, 2048, 4096],
    "transpose": [64, 256, 1024, 2048, 4096],
    "sparse": [1000, 10000, 100000, 500000, 2000000],
    "reduce": [1, 8192, 100000, 1 << 20, 1 << 23],
    "wavefront": [100, 300, 1000, 2000, 4000],
    "wavefront-32": [100, 300, 1000, 2000, 4000],
}
CHECKED = {"sparse": 301, "reduce": 1031}  # n of --check; others: 37
SUMS = {"cg": 1e-9}  # dot products of several threads: rounding depends on how they are added up; all others: equal bits


class Programs:
    """What runs the three programs."""

    def __init__(self, build):
        self.build = pathlib.Path(build)

    def has(self, way):
        return (self.build / "libexec" / f"tacit-peer-{way}").exists()

    def run(self, way, ranks, threads, *arguments):
        """One process, or several ranks; of each so many workers or threads."""
        command = [self.build / "libexec" / f"tacit-peer-{way}", *map(str, arguments)]
        if ranks > 1 or way == "mpi":
            command = [self.build / "bin" / "tacit", "run", "-n", str(ranks), *command]
        environment = {**os.environ, "TACIT_WORKERS": str(threads), "OMP_NUM_THREADS": str(threads),
                       "OMP_PROC_BIND": "false"}
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)


def is_same(kernel, one, other):
    if kernel in SUMS:
        return abs(one["sum"] - other["sum"]) <= SUMS[kernel] * abs(one["sum"])
    return one["hash"] == other["hash"]


def compare(kernel, size, steps, results):
    """Whether all programs got the same; says so if not. Results by the name of the program."""
    first, *others = results
    for name in others:
        if not is_same(kernel, results[first], results[name]):
            print(f"peers: {kernel}, size {size}, {steps} steps: {name} got {results[name]}, {first} {results[first]}",
                  file=sys.stderr)
            return False
    return True


def measure(programs, kernel, size, repeat):
    """The row of a kernel and a size: by way the fastest seconds of a step, and ratios by turn."""
    ways = [("1x2", "tacit", 1, 2), ("openmp", "openmp", 1, 2), ("2r", "tacit", 2, 1), ("mpi", "mpi", 2, 1)]
    ways = [way for way in ways if programs.has(way[1]) and (way[2] == 1 or programs.has("mpi"))]
    seconds = {name: [] for name, *_ in ways}
    for turn in range(repeat):
        results = {name: programs.run(way, ranks, threads, kernel, size) for name, way, ranks, threads in ways}
        if not compare(kernel, size, next(iter(results.values()))["steps"], results):
            sys.exit(1)
        for name, result in results.items():
            seconds[name].append(result["seconds"])
    row = {"kernel": kernel, "size": size, **{f"{name}_us": 1e6 * min(times) for name, times in seconds.items()}}
    for ours, theirs in (("1x2", "openmp"), ("2r", "mpi")):
        if ours in seconds and theirs in seconds:
            row[f"{ours}_ratio"] = statistics.median(a / b for a, b in zip(seconds[ours], seconds[theirs]))
            row[f"{ours}_fastest_ratio"] = min(seconds[ours]) / min(seconds[theirs])
    return row


COLUMNS = ["kernel", "size", "tacit 1x2 us", "OpenMP us", "ratio", "of fastest", "tacit 2r us", "MPI us", "ratio", "of fastest"]
KEYS = ["1x2_us", "openmp_us", "1x2_ratio", "1x2_fastest_ratio", "2r_us", "mpi_us", "2r_ratio", "2r_fastest_ratio"]


def table_line(row):
    cells = [row["kernel"], str(row["size"])]
    for key in KEYS:
        cells.append(f"{row[key]:.{2 if 'ratio' in key else 1}f}" if key in row else "-")
    return "".join(c.ljust(14) if i == 0 else c.rjust(13) for i, c in enumerate(cells))


def measure_all(programs, only, quick, repeat):
    """The rows of all kernels, each as soon as it is measured, with a line of progress each."""
    plan = [(kernel, size) for kernel in only or SIZES for size in (SIZES[kernel][:3:2] if quick else SIZES[kernel])]
    for done, (kernel, size) in enumerate(plan):
        print(f"peers: {done + 1} of {len(plan)}: {kernel}, size {size}", file=sys.stderr, flush=True)
        yield measure(programs, kernel, size, 1 if quick else repeat)


def markdown(rows):
    """The table of doc/performance.md: a line for each kernel, with the ratios of the fastest at all sizes."""
    lines = ["| kernel | sizes | 1x2: tacit / OpenMP | 2r: tacit / MPI |", "|---|---|---|---|"]
    for kernel in SIZES:
        own = [row for row in rows if row["kernel"] == kernel]
        ratios = [", ".join(f"{row[key]:.2f}" if key in row else "-" for row in own) for key in ("1x2_fastest_ratio", "2r_fastest_ratio")]
        if own:
            lines.append(f"| {kernel} | {', '.join(str(row['size']) for row in own)} | {ratios[0]} | {ratios[1]} |")
    return "\n".join(lines) + "\n"


def print_all(programs, options):
    rows = []
    if not (options.json or options.markdown):
        print("".join(c.ljust(14) if i == 0 else c.rjust(13) for i, c in enumerate(COLUMNS)))
    for row in measure_all(programs, options.only, options.quick, options.repeat):
        rows.append(row)
        if not (options.json or options.markdown):
            print(table_line(row), flush=True)
    if options.json:
        print(json.dumps({"cores": os.cpu_count(), "repeat": options.repeat, "rows": rows}, indent=1))
    elif options.markdown:
        print(markdown(rows), end="")


def check_all(programs):
    """Whether all programs get the same at small odd sizes. Ranks beyond the cores take turns, so steps are few."""
    good = True
    for kernel in SIZES:
        size = CHECKED.get(kernel, 37)
        for many in (1, 2, 3):
            ways = [("tacit", 1, many), ("openmp", 1, many), ("tacit", many, 1), ("mpi", many, 1)]
            results = {f"{way}, {ranks} x {threads}": programs.run(way, ranks, threads, kernel, size, 3, 1)
                       for way, ranks, threads in ways if programs.has(way) and (ranks == 1 or programs.has("mpi"))}
            good = compare(kernel, size, 3, results) and good
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true", help="two sizes of each kernel, once")
    parser.add_argument("--only", action="append", choices=SIZES, help="only this kernel (may be given several times)")
    parser.add_argument("--repeat", type=int, default=5, help="turns (5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--markdown", action="store_true", help="print the table of doc/performance.md instead")
    parser.add_argument("--check", action="store_true", help="compare results at small sizes, and time nothing")
    options = parser.parse_args()
    programs = Programs(options.build)
    if options.check:
        sys.exit(0 if check_all(programs) else 1)
    print_all(programs, options)


if __name__ == "__main__":
    main()
