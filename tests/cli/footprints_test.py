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


def memory(what, nodes):
    done = subprocess.run([tacit, "plan", "--json", "--nodes", ",".join(map(str, nodes)), program, what, str(SIDE)],
                          capture_output=True, text=True, timeout=300)
    if done.returncode:
        failures.append(f"{what}: {done.stderr}")
        return []
    return [(row["nodes"], row["memory"]) for row in json.loads(done.stdout)["rows"]]


def expect(what, nodes, most):
    for n, used in memory(what, nodes):
        if used > most(n):
            failures.append(f"{what} on {n} nodes: {used} bytes, which is more than {most(n)}")


# Rows and columns of one matrix, each a share; on two nodes they meet in so much that they lie together.
expect("transform", (1, 2, 3, 4, 7, 16, 64, 256, 1024), lambda n: WHOLE if n < 4 else 1.05 * 2 * WHOLE / n)
# The same of two matrices.
expect("transpose", (1, 2, 3, 4, 7, 16, 64, 256, 1024), lambda n: 2 * WHOLE if n < 4 else 1.05 * 4 * WHOLE / n)
# Rows of all that is left, which move on, and all panels: three quarters of the matrix, and half of it.
expect("factor", (4, 16, 64), lambda n: 1.5 * (0.75 + 0.5) * WHOLE)

print("\n".join(failures + [f"footprints: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
