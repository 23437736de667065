#!/usr/bin/python3
"""Real kernels by tacit, against OpenMP and MPI by hand, and a factorisation in tiles against StarPU.

Usage: peers.py BUILD [--quick] [--only KERNEL]... [--repeat N] [--json|--markdown]
       peers.py BUILD --check

Runs BUILD/libexec/tacit-peer-tacit on one node with two workers against tacit-peer-openmp with two threads, and on two
nodes with one worker each against tacit-peer-mpi with two ranks: in turns, since others may use the machine. Every
program says how long a step takes in the fastest of its rounds. A line has the median of the ratios of the turns, and
the ratio of the fastest turns, which other load disturbs less. The programs must get the same results.

The row cholesky, which is measured last, is a factorisation in tiles of tacit and of StarPU (tacit-peer-cholesky-...),
where that is installed: the same tasks, the same BLAS, the same bits. StarPU runs with several of its documented
settings in every turn, and the best of them is what tacit is compared with: turn by turn, and over all turns; and by
the processor time of all threads (of the first process), which other load changes least, but which counts waiting by
polling, too. On two and four nodes every process has one worker.

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
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import progress

SIZES = {  # n, of n x n grids and matrices, n bodies, a vector of n; cg: of a vector of n x n; points: multiplications of each
    "stencil": [64, 256, 1024, 2048, 4096],
    "stencil2": [64, 256, 1024, 2048, 4096],
    "points": [16, 64, 256, 1024, 4096],
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
CHOLESKY = [(2048, 64), (2048, 128), (2048, 256), (4096, 64), (4096, 128), (4096, 256)]  # n, rows of a tile
STARPU = {  # settings by name: the scheduler, and whether threads are bound to cores
    "lws": {"STARPU_SCHED": "lws"},
    "lws, not bound": {"STARPU_SCHED": "lws", "STARPU_WORKERS_NOBIND": "1", "STARPU_MPI_NOBIND": "1"},
    "prio, not bound": {"STARPU_SCHED": "prio", "STARPU_WORKERS_NOBIND": "1", "STARPU_MPI_NOBIND": "1"},
    "eager": {"STARPU_SCHED": "eager"},
    "dmdas": {"STARPU_SCHED": "dmdas"},
}
SUMS = {"cg": 1e-9}  # dot products of several threads: rounding depends on how they are added up; all others: equal bits


def blas_settings():
    """OpenBLAS has its oldest kernels for processors that it does not know, three times as slow: name newer ones."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    flags = set(cpuinfo.read_text().split()) if cpuinfo.exists() else set()
    core = "SkylakeX" if "avx512vl" in flags else "Haswell" if "avx2" in flags else None
    return {"OPENBLAS_CORETYPE": core} if core and "OPENBLAS_CORETYPE" not in os.environ else {}


class Programs:
    """What runs the three programs."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.blas = blas_settings()

    def has(self, way):
        return (self.build / "libexec" / f"tacit-peer-{way}").exists()

    def run(self, way, ranks, threads, *arguments, **settings):
        """One process, or several ranks; of each so many workers or threads."""
        command = [self.build / "libexec" / f"tacit-peer-{way}", *map(str, arguments)]
        if ranks > 1 or way == "mpi":
            command = [self.build / "bin" / "tacit", "run", "-n", str(ranks), *command]
        environment = {**os.environ, "TACIT_WORKERS": str(threads), "OMP_NUM_THREADS": str(threads),
                       "OMP_PROC_BIND": "false", **self.blas, **settings}
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)

    def run_starpu(self, ranks, threads, home, setting, *arguments):
        """StarPU with one of its settings; it keeps what it measures of kernels in `home`."""
        way = "cholesky-starpumpi" if ranks > 1 else "cholesky-starpu"
        return self.run(way, ranks, threads, *arguments, STARPU_NCPU=str(threads), STARPU_HOME=home, STARPU_SILENT="1",
                        OMP_NUM_THREADS="1", **STARPU[setting])


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
        progress.say(f"peers: {done + 1} of {len(plan)}: {kernel}, size {size}")
        yield measure(programs, kernel, size, 1 if quick else repeat)


def measure_cholesky(programs, ranks, threads, size, tile, repeat, home):
    """A row of the factorisation in tiles: tacit, and every setting of StarPU, in turns."""
    rounds = 2 if ranks > 1 else 5 if size > 2048 else 10
    seconds, processor = ({name: [] for name in ["tacit", *STARPU]} for _ in range(2))
    for turn in range(repeat):
        results = {"tacit": programs.run("cholesky-tacit", ranks, threads, size, tile, rounds)}
        for setting in STARPU:
            results[setting] = programs.run_starpu(ranks, threads, home, setting, size, tile, rounds)
        if not compare("cholesky", f"{size}, tile {tile}", 1, results):
            sys.exit(1)
        for name, result in results.items():
            seconds[name].append(result["seconds"])
            processor[name].append(result["processor_seconds"])
    best = min(STARPU, key=lambda name: min(seconds[name]))
    turns = [ours / min(theirs) for ours, *theirs in zip(*seconds.values())]
    work = size ** 3 / 3 * 1e-9
    return {"kernel": "cholesky", "size": size, "tile": tile, "ranks": ranks, "workers": threads,
            "tacit_gflops": work / min(seconds["tacit"]), "starpu_gflops": work / min(seconds[best]), "starpu_best": best,
            "starpu_gflops_by_setting": {name: work / min(seconds[name]) for name in STARPU},
            "ratio": statistics.median(turns), "fastest_ratio": min(seconds["tacit"]) / min(seconds[best]),
            "processor_ms": {name: 1e3 * min(times) for name, times in processor.items()},
            "processor_ratio": min(processor["tacit"]) / min(min(processor[name]) for name in STARPU)}


def measure_all_cholesky(programs, quick, repeat):
    """One node with two workers at all sizes; two and four ranks at some, where StarPU takes seconds for one."""
    ways = [(1, 2, CHOLESKY[1:2] if quick else CHOLESKY)] if programs.has("cholesky-starpu") else []
    if programs.has("cholesky-starpumpi") and not quick:
        ways += [(ranks, 1, [(2048, 128), (4096, 128), (4096, 256)]) for ranks in (2, 4)]
    with tempfile.TemporaryDirectory() as home:
        for ranks, threads, sizes in ways:
            for size, tile in sizes:
                progress.say(f"peers: cholesky, size {size}, tile {tile}, {ranks} x {threads}")
                yield measure_cholesky(programs, ranks, threads, size, tile, 1 if quick else repeat, home)


def cholesky_line(row):
    cells = ["cholesky", row["size"], row["tile"], f"{row['ranks']} x {row['workers']}", f"{row['tacit_gflops']:.1f}",
             f"{row['starpu_gflops']:.1f}", f"{row['ratio']:.2f}", f"{row['fastest_ratio']:.2f}",
             f"{row['processor_ratio']:.2f}", row["starpu_best"]]
    return "".join(str(c).ljust(14) if i == 0 else str(c).rjust(17) for i, c in enumerate(cells))


CHOLESKY_COLUMNS = ["kernel", "size", "tile", "nodes x workers", "tacit GFLOP/s", "StarPU GFLOP/s", "ratio", "of fastest", "processor time", "best setting"]


def markdown_of_cholesky(rows):
    lines = ["| n, tile | nodes x workers | tacit GFLOP/s | StarPU GFLOP/s, setting | time of tacit / StarPU: of fastest, median of turns | processor time |",
             "|---|---|---:|---|---|---:|"]
    for row in rows:
        lines.append(f"| {row['size']}, {row['tile']} | {row['ranks']} x {row['workers']} | {row['tacit_gflops']:.1f} | "
                     f"{row['starpu_gflops']:.1f}, {row['starpu_best']} | {row['fastest_ratio']:.2f}, {row['ratio']:.2f} | {row['processor_ratio']:.2f} |")
    return "\n".join(lines) + "\n"


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
    rows, factorisations = [], []
    shown = not (options.json or options.markdown)
    kernels = [kernel for kernel in options.only or SIZES if kernel != "cholesky"]
    if kernels and shown:
        print("".join(c.ljust(14) if i == 0 else c.rjust(13) for i, c in enumerate(COLUMNS)))
    for row in measure_all(programs, kernels, options.quick, options.repeat) if kernels else ():
        rows.append(row)
        if shown:
            progress.end()
            print(table_line(row), flush=True)
    for row in measure_all_cholesky(programs, options.quick, options.repeat) if not options.only or "cholesky" in options.only else ():
        if shown and not factorisations:
            print("".join(c.ljust(14) if i == 0 else c.rjust(17) for i, c in enumerate(CHOLESKY_COLUMNS)))
        factorisations.append(row)
        if shown:
            progress.end()
            print(cholesky_line(row), flush=True)
    if options.json:
        print(json.dumps({"cores": os.cpu_count(), "repeat": options.repeat, "rows": rows + factorisations}, indent=1))
    elif options.markdown:
        print(markdown(rows) * bool(rows) + markdown_of_cholesky(factorisations) * bool(factorisations), end="")


def check_cholesky(programs):
    """Whether tacit on any number of nodes and StarPU with any setting get the same factor."""
    if not programs.has("cholesky-tacit"):
        return True
    results = {f"tacit, {ranks} x {threads}": programs.run("cholesky-tacit", ranks, threads, 120, 24, 1)
               for ranks, threads in ((1, 1), (1, 3), (2, 1), (3, 1)) if ranks == 1 or programs.has("mpi")}
    with tempfile.TemporaryDirectory() as home:
        for ranks in [1] * programs.has("cholesky-starpu") + [2] * programs.has("cholesky-starpumpi"):
            for setting in STARPU if ranks == 1 else ["lws, not bound"]:
                results[f"StarPU, {setting}, {ranks}"] = programs.run_starpu(ranks, 2, home, setting, 120, 24, 1)
    return compare("cholesky", 120, 1, results)


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
    return check_cholesky(programs) and good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true", help="two sizes of each kernel, once")
    parser.add_argument("--only", action="append", choices=[*SIZES, "cholesky"], help="only this kernel (may be given several times)")
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
