#!/usr/bin/env python3
"""examples/mandelbrot under TACIT_BALANCE: the shares that are given, those that are measured, and the same again by what the log says.

What is measured differs from run to run, so it decides nothing here: only that the picture is right, that nodes share all rows, and that
a run with the choices of another one has the same shares.

Usage: balance_example_test.py TACIT MANDELBROT NODES..."""
import json
import os
import re
import subprocess
import sys

tacit, program = sys.argv[1:3]
counts = [int(n) for n in sys.argv[3:]]
ROWS = 40
wrong = []


def expect(what, good, seen):
    if not good:
        wrong.append(f"FAILED {what}: {seen}")


def run(nodes, balance=None, frames=4, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")} | {"TACIT_LOG": "info", **more}
    if balance:
        environment["TACIT_BALANCE"] = balance
    launch = [tacit, "run", "-n", str(nodes)] if nodes > 1 else []
    done = subprocess.run([*launch, program, "--json", "--verify", "--rows", str(ROWS), "--cols", "48", "--iterations", "20000", "--frames", str(frames)],
                          env=environment, capture_output=True, text=True, timeout=100, check=False)
    expect(f"{balance} on {nodes}", done.returncode == 0, done.stdout + done.stderr)
    result = json.loads(done.stdout) if done.returncode == 0 else {"first_rows": "", "last_rows": "", "verified": "", "picture_hash": ""}
    expect(f"the picture, {balance} on {nodes}", result["verified"] == "yes", result)
    return result, done.stderr


def rows(text):
    return [int(n) for n in text.split(",") if n]


def equal_and_given(nodes):
    result, _ = run(nodes)
    shares = rows(result["first_rows"])
    expect(f"equal shares on {nodes}", len(shares) == nodes and sum(shares) == ROWS and max(shares) - min(shares) <= 1, result)
    expect(f"they stay on {nodes}", result["first_rows"] == result["last_rows"], result)
    if nodes > 1:
        given, _ = run(nodes, ",".join(["3", *["1"] * (nodes - 1)]))
        shares = rows(given["last_rows"])
        expect(f"three shares for node 0 of {nodes}", abs(shares[0] - ROWS * 3 / (nodes + 2)) < 1 and sum(shares) == ROWS, given)
        expect(f"the same picture on {nodes}", given["picture_hash"] == result["picture_hash"], (given, result))


def measured(nodes):
    result, said = run(nodes, "auto")
    shares = rows(result["last_rows"])
    expect(f"all rows on {nodes}", len(shares) == nodes and sum(shares) == ROWS, result)
    expect(f"shares before anything is measured on {nodes}", max(rows(result["first_rows"])) - min(rows(result["first_rows"])) <= 1, result)
    choices = re.findall(r"the same again: TACIT_BALANCE=(\S+)", said)
    if nodes == 1 or not choices:
        expect(f"shares that stay on {nodes}", result["first_rows"] == result["last_rows"], (result, said))
        return
    again, _ = run(nodes, choices[-1])
    expect(f"the same again on {nodes}: {choices[-1]}", again["last_rows"] == result["last_rows"], (again, result))


for count in counts:
    equal_and_given(count)
    measured(count)
print("\n".join(wrong) or f"all right, on {counts} nodes")
sys.exit(1 if wrong else 0)
