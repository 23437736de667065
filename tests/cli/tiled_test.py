#!/usr/bin/env python3
"""The tiled examples: what they are asked that cannot be, what they print, and that every tile travels once to each node that needs it.

Usage: tiled_test.py PATH-OF-TACIT FOLDER-OF-EXAMPLES DATA MPI (openmpi, mpich, other or none)"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

tacit, examples, data, mpi = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]), sys.argv[4]
failures = []

BANNER = "%%MatrixMarket matrix coordinate real symmetric\n"
ARRAY = "%%MatrixMarket matrix array real symmetric\n"
GOOD = BANNER + "% a comment\n3 3 4\n1 1 2\n2 2 2\n\n3 3 2\n3 1 -1\n"
# What is wrong with a file, and what is said of it; in [] if cg says something else, or nothing, since it reads other kinds, too.
MALFORMED = [
    ("", ":1: not a Matrix Market file", True),
    ("3 3 4\n1 1 2\n", ":1: not a Matrix Market file", True),
    ("%%MatrixMarket matrix coordinate real\n3 3 4\n", ":1: not a Matrix Market file", True),
    ("%%MatrixMarket vector coordinate real symmetric\n3 3 4\n", ":1: not a Matrix Market file", True),
    (GOOD.replace("coordinate", "elements"), ":1: the format is 'elements', but only 'coordinate'", True),
    (GOOD.replace("real", "complex"), ":1: the numbers are 'complex', but must be 'real' or 'integer'", True),
    (GOOD.replace("real", "pattern"), ":1: the numbers are 'pattern'", True),
    (GOOD.replace("symmetric", "hermitian"), ":1: the matrix is 'hermitian', but must be 'symmetric'", True),
    (GOOD.replace("symmetric", "general"), ":1: the matrix is 'general', but must be 'symmetric'", False),
    (BANNER + "% nothing\n", ":2: the file ends before the line with the number of rows", True),
    (BANNER + "3 3\n", ":2: this must be the number of rows, columns and entries", True),
    (BANNER + "3 -3 4\n", ":2: this must be the number of rows, columns and entries", True),
    (BANNER + "3 3 4 1\n", ":2: this must be the number of rows, columns and entries", True),
    (BANNER + "3 99999999999999999999999 4\n", ":2: this must be the number of rows", True),
    (BANNER + "3 4 4\n", ":2: the matrix has 3 rows and 4 columns, but must be square", True),
    (BANNER + "3 3 2\n", ":2: 2 entries are fewer than the 3 of the diagonal", True),
    (BANNER + "3 3 7\n", ":2: 7 entries are more than the lower half of a matrix of 3 rows and columns has", True),
    (GOOD.replace("3 1 -1", "4 1 -1"), ":8: this must begin with a row and a column, each 1 to 3", True),
    (GOOD.replace("1 1 2", "0 1 2"), ":4: this must begin with a row and a column, each 1 to 3", True),
    (GOOD.replace("3 1 -1", "3 x -1"), ":8: this must begin with a row and a column", True),
    (GOOD.replace("3 1 -1", "1 3 -1"), ":8: a symmetric matrix is stored by its lower half", True),
    (GOOD.replace("3 1 -1", "3 1"), ":8: after row and column must come one number, and nothing else", True),
    (GOOD.replace("3 1 -1", "3 1 -1 0"), ":8: after row and column must come one number, and nothing else", True),
    (GOOD.replace("3 1 -1", "3 1 inf"), ":8: the value is not finite", True),
    (GOOD.replace("3 1 -1", "3 1 nan"), ":8: the value is not finite", True),
    (GOOD.replace("3 1 -1", ""), "the file ends after 3 of 4 entries", True),
    (GOOD + "2 1 -1\n", ":9: there is more than the 4 entries that were announced", True),
    (GOOD.replace("3 1 -1", "2 2 2"), "row 2, column 2 is given twice", True),
    (ARRAY + "2 2 3\n2\n0\n2\n", ":2: this must be the number of rows and columns", False),
    (ARRAY + "2 2\n2\n0\n", "the file ends after 2 of 3 entries", False),
    (ARRAY + "2 2\n2 0\n2\n", ":3: a line of an array must be one number, and nothing else", False),
    (ARRAY + "2 2\n2\n0\n2\n0\n", ":6: there is more than the 3 entries", False),
]


def check(good, what):
    if not good:
        failures.append(what)


def run(program, *arguments, nodes=1, **settings):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    environment = {**kept, **{"TACIT_" + k: v for k, v in settings.items()}, "ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C"}
    launch = [tacit, "run", "-n", str(nodes)] if nodes > 1 else []
    command = [*launch, str(examples / program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100)


def fails(done, *texts):
    """An end with a status and a sentence, which is said once."""
    check(done.returncode > 0, f"{done.args}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    for text in texts:
        check(done.stderr.count(text) == 1, f"{done.args}: not once '{text}' in: {done.stderr}")


def result(program, *arguments, **options):
    done = run(program, *arguments, "--json", **options)
    check(done.returncode == 0, f"{done.args}: {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else {}


def files(folder):
    """Malformed matrices, a good one in both formats, and what is said of a sparse one."""
    path = pathlib.Path(folder, "m.mtx")
    for text, said, also_cg in MALFORMED:
        path.write_text(text)
        fails(run("cholesky", "--tile", 1, "--matrix", path), f"{path}:", said)
        if also_cg:
            fails(run("cg", "--matrix", path), f"{path}:", said)
    fails(run("cholesky", "--matrix", folder + "/none"), "none: cannot be opened: No such file")
    path.write_text(GOOD)
    sparse = run("cholesky", "--verify", "--tile", 2, "--matrix", path)
    check(sparse.returncode == 0 and "dense one" not in sparse.stderr, f"4 of 6 entries: {sparse}")
    path.write_text(ARRAY + "3 3\n2\n0\n-1\n2\n0\n2\n")
    dense = result("cholesky", "--verify", "--tile", 2, "--matrix", path)
    check(dense.get("size") == 3 and dense.get("verified") == "yes", f"an array: {dense}")
    sparse = run("cholesky", "--verify", "--tile", 7, "--matrix", data / "springs_60.mtx")
    check(sparse.returncode == 0 and sparse.stderr.count("only 9.4 % of the lower half is given") == 1, f"sparse: {sparse}")


def indefinite(folder):
    """A matrix with a factor up to row 4 of 6, which lies in tile (1, 1): the second tile of three; on any node."""
    path = pathlib.Path(folder, "m.mtx")
    path.write_text(BANNER + "6 6 7\n" + "".join(f"{i} {i} 2\n" for i in range(1, 7)) + "4 1 -3\n")
    for nodes in [1] + ([2, 3] if mpi != "none" else []):
        done = run("cholesky", "--matrix", path, "--tile", 2, nodes=nodes)
        said = "the matrix is not positive definite: tile (1, 1) has no factor, from row 4 of the matrix on"
        check(done.returncode != 0 and said in done.stderr and "task 'potrf'" in done.stderr, f"{nodes} nodes: {done}")
        check("GFLOP" not in done.stdout, f"results of no factor: {done.stdout}")


def misfits():
    """Sizes, tiles, grids and nodes that do not go together."""
    for program in ("cholesky", "lu", "summa"):
        fails(run(program, "--size", 10, "--tile", 20), "a tile of 20 x 20 is larger than the matrix of 10 x 10")
        fails(run(program, "--grid", "2,2"), "--grid 2,2 is for 4 nodes, but this run has 1")
        for text in ("2", "2x2", "0,1", "1,-1", "a,b", "1,1,1", ",", ""):
            fails(run(program, "--grid", text), "--grid wants rows and columns of nodes, such as 2,3")
        fails(run(program, "--tile", 0), "--tile wants a whole number from 1 to 16384, not '0'")
        fails(run(program, "--size", "many"), "--size wants a whole number from 1 to 1000000, not 'many'")
        check(run(program, "--help").returncode == 0, f"{program} --help")
        most = 3 if program == "cholesky" else 4
        fails(run(program, "--size", 10, "--tile", 5, DRY_RUN="7"), f"7 nodes are more than the {most} tiles of the matrix")
        fails(run(program, "--size", 10, "--tile", 4, DRY_RUN="5"), "a grid of 1 x 5 nodes is larger than the matrix of 3 x 3 tiles")
    fails(run("cholesky", "--condition", 0.5), "--condition wants a number from 1 to 1e+12, not '0.5'")
    if mpi != "none":
        fails(run("cholesky", "--grid", "2,2", nodes=3), "--grid 2,2 is for 4 nodes, but this run has 3")
        fails(run("cholesky", "--size", 10, "--tile", 6, nodes=4), "4 nodes are more than the 3 tiles of the matrix")


def steps(program, t):
    """The tasks of a program: the tile that one changes, and those that it reads; a tile is its matrix, row and column."""
    for k in range(t):
        if program == "summa":
            yield from ((("C", i, j), ("A", i, k), ("B", k, j)) for i in range(t) for j in range(t))
            continue
        yield (("A", k, k),)
        yield from ((("A", m, k), ("A", k, k)) for m in range(k + 1, t))
        if program == "lu":
            yield from ((("A", k, n), ("A", k, k)) for n in range(k + 1, t))
            yield from ((("A", m, n), ("A", m, k), ("A", k, n)) for m in range(k + 1, t) for n in range(k + 1, t))
        else:
            yield from ((("A", m, n), ("A", m, k), ("A", n, k)) for n in range(k + 1, t) for m in range(n, t))


def needed(program, size, tile, rows, columns):
    """Bytes: each tile that is read goes once to each node that reads it and does not own it; none is changed after that. How many
    tiles go to several nodes."""
    def owner(at):
        return at[1] % rows, at[2] % columns

    def length(i):
        return min(size - i * tile, tile)

    wanted = {(read, owner(task[0])) for task in steps(program, -(-size // tile)) for read in task[1:]}
    away = [read for read, node in wanted if owner(read) != node]
    return sum(8 * length(read[1]) * length(read[2]) for read in away), sum(n > 1 for n in collections.Counter(away).values())


def traffic():
    """Every tile travels once to each node that needs it, on the whole cluster."""
    for program in ("cholesky", "lu", "summa"):
        for rows, columns, mode in ((1, 1, 0), (2, 2, 0), (3, 1, 1), (1, 3, 1), (2, 2, 1)) if mpi != "none" else ((1, 1, 0),):
            got = result(program, "--size", 110, "--tile", 16, "--grid", f"{rows},{columns}", "--verify", nodes=rows * columns,
                         THREADS=str(mode), WORKERS="2" if mode else "1")
            size, shared = needed(program, 110, 16, rows, columns)
            check((got.get("bytes"), got.get("shared")) == (size, shared), f"{program} on {rows} x {columns} nodes: {size}, {shared}, {got}")
            check((shared > 0) == ("share_complete" in got) and 0 <= got.get("share_complete", 1) <= 1, f"{program}: {got}")
            check(got.get("verified") == "yes" and (got["messages"] > 0) == (rows * columns > 1), f"{program}: {got}")


def planned():
    """The same tiles by planned multicasts, some of which need relays; with threads and inline."""
    for program in ("cholesky", "lu", "summa"):
        for rows, columns, settings in ((2, 2, {}), (2, 3, {"WORKERS": "2"}), (1, 4, {"THREADS": "0"})) if mpi != "none" else ():
            got = result(program, "--size", 110, "--tile", 16, "--grid", f"{rows},{columns}", "--verify", nodes=rows * columns,
                         MULTICAST="planned", **settings)
            size, _ = needed(program, 110, 16, rows, columns)
            check(got.get("bytes") == size, f"{program} on {rows} x {columns} nodes, planned: {size} bytes needed, {got}")
            check(got.get("verified") == "yes" and got["recipients"] >= 2 * got["broadcasts"] >= 2 * (columns > 2), f"{program}, planned: {got}")


def reports():
    """Repetitions compute the same again; progress is said where it is wanted."""
    once, again = (result("cholesky", "--size", 100, "--tile", 16, "--repeat", n, "--verify") for n in (1, 3))
    check(once.get("factor_error") == again.get("factor_error"), f"--repeat: {once} {again}")
    check(once.get("tasks") == 84 and once.get("gflops", 0) > 0 and once.get("seconds", 0) > 0, f"results: {once}")
    hard = result("cholesky", "--size", 100, "--tile", 16, "--condition", 1e12, "--verify")
    check(hard.get("verified") == "yes", f"--condition 1e12: {hard}")
    for program in ("cholesky", "lu", "summa"):
        said = run(program, "--size", 100, "--tile", 16, "--progress").stderr
        check("step 1 of 7" in said and "step 7 of 7" in said, f"{program} --progress: {said}")
        check("step" not in run(program, "--size", 100, "--tile", 16).stderr, f"{program}: progress without a terminal")


with tempfile.TemporaryDirectory() as temporary:
    files(temporary)
    indefinite(temporary)
misfits()
traffic()
planned()
reports()
for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
