#!/usr/bin/env python3
"""TACIT_CHECK_PURE over MPI: kernels that are marked pure and are not are named, with what differs; others are not.
Nodes compare at the same wait, so several may find something before the first one has ended the job: each says one sentence.

Usage: pure_test.py PATH-OF-TACIT PATH-OF-IMPURE"""
import concurrent.futures
import os
import re
import subprocess
import sys

tacit, impure = sys.argv[1], sys.argv[2]
CASES = [("pure", 2, "halo:4"), ("pure", 7, "staged:4"), ("node", 2, "staged:4"), ("counter", 3, "halo:4"), ("clock", 4, "halo:8"),
         ("rare", 7, "halo:4")]
SENTENCE = re.compile(r"task 'smooth' is marked pure, but it has written 0x([0-9a-f]{16}) \(\S+\) to element \[(\d+)\] of buffer "
                      r"'(?:odd|even)' on node (\d+), and 0x([0-9a-f]{16}) \(\S+\) on node (\d+), whose part it is")


def run(kind, nodes, latency, **settings):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    kept.update({"TACIT_LATENCY": latency, "TACIT_CHECK_PURE": "1", "TACIT_LOG": "info", "ASAN_OPTIONS": "detect_leaks=0"})
    kept.update(settings)
    command = [tacit, "run", "-n", str(nodes), impure, kind]
    return subprocess.run(command, capture_output=True, text=True, env=kept, timeout=100)


def offences(kind, nodes, latency):
    done = run(kind, nodes, latency)
    told = [line for line in done.stderr.splitlines() if "marked pure" in line and not line.startswith("impure ends")]
    if kind == "pure":
        compared = [int(n) for n in re.findall(r"has compared (\d+) elements of \d+ tasks", done.stderr)]
        if done.returncode or told or len(compared) != nodes or min(compared) < 16:
            yield f"compared {compared}"
        return
    found = [SENTENCE.search(line) for line in told]
    if done.returncode == 0 or not 1 <= len(told) <= nodes or None in found:
        yield f"exit status {done.returncode}, {len(told)} sentences: {told}"
        return
    for sentence in found:
        if sentence[1] == sentence[4] or sentence[3] == sentence[5] or not 0 <= int(sentence[2]) < 4200:
            yield f"this does not differ: {sentence[0]}"


def all_offences():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = [(case, pool.submit(lambda c: list(offences(*c)), case)) for case in CASES]
        idle = pool.submit(run, "node", 2, "off")
        for case, result in results:
            for offence in result.result():
                yield f"{case}: {offence}"
        if idle.result().returncode or "found nothing to compare" not in idle.result().stderr:
            yield f"without windows: {idle.result().stderr}"


bad = list(all_offences())
print("\n".join(bad) or f"{len(CASES) + 1} runs")
sys.exit(bool(bad))
