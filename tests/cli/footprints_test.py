#!/usr/bin/env python3
"""Nodes keep what their tasks touch, and not what lies between: memory of planned programs against what arithmetic says.

Usage: footprints_test.py PATH-OF-TACIT PATH-OF-FOOTPRINTS"""
import json
import subprocess
import sys

tacit, program = sys.argv[1:]
failures = []
SIDE = 1024
WHOLE = SIDE * SIDE * 8


def plan(nodes, *arguments):
    done = subprocess.run([tacit, "plan", "--json", "--nodes", ",".join(map(str, nodes)), program, *map(str, arguments)],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        failures.append(f"{arguments}: {done.stderr}")
        return {"rows": [], "idle_memory": []}
    return json.loads(done.stdout)


def expect(what, nodes, most, *more):
    out = plan(nodes, what, *(more or (SIDE,)))
    for row in out["rows"]:
        n, used = row["nodes"], row["memory"]
        if used > most(n):
            failures.append(f"{what} {more} on {n} nodes: {used} bytes, which is more than {most(n)}")
    return out["idle_memory"]


# Rows and columns of one matrix, each a share; on two nodes they meet in so much that they lie together.
idle = expect("transform", (1, 2, 3, 4, 7, 16, 64, 256, 1024), lambda n: WHOLE if n < 4 else 1.05 * 2 * WHOLE / n)
# The same of two matrices.
idle += expect("transpose", (1, 2, 3, 4, 7, 16, 64, 256, 1024), lambda n: 2 * WHOLE if n < 4 else 1.05 * 4 * WHOLE / n)
if idle:
    failures.append(f"rows and columns are warned of: {idle}")


def share(first, end, nodes, node):
    """The rows of a node: as even as possible, the larger ones first."""
    rows, more = divmod(end - first, nodes)
    begin = first + node * rows + min(node, more)
    return begin, begin + rows + (node < more)


def factored(nodes):
    """Bytes that a factorisation as one split task per step touches on the node that touches most."""
    width, most = SIDE // 32, 0
    for node in {0, min(1, nodes - 1), nodes // 2, nodes - 1}:
        touched = [0] * SIDE  # by row, a bit for each block of columns

        def touch(rows, columns):
            mask = (1 << columns[1] // width) - (1 << columns[0] // width)
            for r in range(*rows):
                touched[r] |= mask

        touch(share(0, SIDE, nodes, node), (0, SIDE))
        for k in range(0, SIDE - width, width):
            rest = share(k + width, SIDE, nodes, node)
            if node == 0 or rest[0] < rest[1]:
                touch((k, k + width), (k, k + width))
            if rest[0] < rest[1]:
                touch(rest, (k, SIDE))
                touch((k + width, SIDE), (k, k + width))
        most = max(most, sum(bin(t).count("1") for t in touched) * width * 8)
    return most


# Rows of all that is left, which move on, and all panels.
idle = expect("factor", (1, 2, 3, 4, 7, 16, 64, 256, 1024), lambda n: 1.5 * factored(n))
if idle:
    failures.append(f"a factorisation is warned of: {idle}")


def grid(nodes, split):
    """Two factors that are as equal as possible."""
    rows = max(r for r in range(1, int(nodes ** 0.5) + 1) if nodes % r == 0) if split == "2d" else nodes
    return (nodes // rows, rows) if split == "2d" else (nodes, 1)


def world(side, dims, reach, split):
    """Bytes of two buffers, of which a node touches its chunk and what is around it."""
    def most(nodes):
        parts = grid(nodes, split) if dims > 1 else (nodes, 1)
        volume = 2 * 8
        for d in range(dims):
            chunk = -(-side // parts[d]) if d < 2 else side
            volume *= min(side, chunk + 2 * reach)
        return volume
    return most


# Around the end: what lies between the parts is not kept. Chunks of one row, and neighbourhoods wider than a chunk, too.
COUNTS = (1, 3, 5, 7, 16, 64, 256, 1024)
for side, dims, reach, split in ((100003, 1, 1, "1d"), (5000, 1, 90, "1d"), (1024, 2, 1, "1d"), (1021, 2, 1, "2d"), (900, 2, 17, "2d"),
                                 (1030, 2, 3, "1d"), (257, 3, 1, "1d"), (260, 3, 2, "2d"), (64, 3, 5, "2d")):
    most = world(side, dims, reach, split)
    idle = expect("torus", COUNTS, lambda n: 1.5 * most(n), side, dims, reach, "parts", split)
    if idle:
        failures.append(f"a torus in parts is warned of: {idle}")

# In one piece all of it is kept where the ends are; the plan says so, and what to do.
idle = expect("torus", (1, 2, 4, 16), lambda n: 2 * 512 * 512 * 8, 512, 2, 1, "piece", "1d")
if sorted((i["buffer"], i["task"], i["access"], i["spans"]) for i in idle) != [("even", "live", 1, True), ("odd", "live", 1, True)]:
    failures.append(f"a torus in one piece: {idle}")
for i in idle:
    if i["nodes"] != 16 or i["node"] not in (0, 15) or i["bytes"] != 512 * 512 * 8 or i["used_bytes"] != (512 // 16 + 2) * 512 * 8:
        failures.append(f"idle memory of a torus: {i}")
text = subprocess.run([tacit, "plan", "--nodes", "4,16", program, "torus", "512", "2", "1", "piece", "1d"], capture_output=True, text=True)
if "use tacit_in_parts" not in text.stdout or "buffer 'even'" not in text.stdout or "Task 'live', access 1" not in text.stdout:
    failures.append(f"no warning in: {text.stdout}")

print("\n".join(failures + [f"footprints: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
