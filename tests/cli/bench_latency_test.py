#!/usr/bin/env python3
"""bench_latency_test.py TACIT: windows on a late network get the bits of plain steps, and fewer messages, counted. Times are not judged."""

import json
import os
import subprocess
import sys

failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def bench(*arguments, nodes=2, status=0):
    command = [sys.argv[1], "run", "-n", str(nodes), sys.argv[1], "bench", "latency", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, env=environment)
    expect((done.returncode == 0) == (status == 0), f"{arguments}: status {done.returncode}: {done.stderr[:300]}")
    return done


def main():
    # The benchmark ends the job if bits differ. Two borders of one message, of all fields that the step needs.
    small = ("--size", "0.5", "--rounds", "1", "--steps", "16", "--json")
    out = json.loads(bench("--b", "1,4", "--strategy", "overlap,halo,staged,hand", "--delay", "30", *small).stdout)
    runs = [value for value in out.values() if isinstance(value, list)][0]
    expect((out["nodes"], out["steps"], len(runs)) == (2, 16, 3 * 6), f"{len(runs)} runs")
    for run in runs:
        key = (run["program"], run["delay_us"], run["strategy"], run["b"])
        expected = {"off": 32, "overlap": 32, "halo": 8, "staged": 8, "hand": 0}[run["strategy"]]
        expect(run["messages"] == expected, f"{key}: {run['messages']} messages instead of {expected}")
        expect(run["median_ms"] > 0 and run["gain"] > 0 and run["predicted_ms"] > 0, f"{key}: {run}")
        expect(("of_hand" in run) == (run["b"] in (1, 4) and run["strategy"] != "hand") and run.get("of_hand", 1) > 0, f"{key}: by hand")
        expect(run["latency_us"] >= run["delay_us"] and run["model_best_b"] > 0, f"{key}: the model")
    # What auto chooses follows from a latency that dominates on any machine: windows of 16.
    out = json.loads(bench("--program", "heat1d", "--b", "2", "--strategy", "auto", "--delay", "5000", "--steps", "32", "--rounds", "1", "--size",
                           "0.1", "--json").stdout)
    counts = [run["messages"] for run in [value for value in out.values() if isinstance(value, list)][0]]
    expect(counts == [64, 4], f"auto: {counts} messages")
    text = bench("--program", "heat1d", "--b", "2", "--strategy", "halo", "--delay", "50", "--steps", "4", "--rounds", "1", "--size", "0.1",
                 nodes=4).stdout
    expect("heat1d, delay 50 us: latency" in text and "halo:2" in text and "times off" in text, text)
    bench("--b", "4,2", status=1)
    bench("--program", "soup", status=1)
    expect("a node would have fewer rows" in bench("--b", "32", "--size", "0.1", status=1).stderr, "too small a grid")
    # Ranks in network namespaces, where the machine grants them.
    command = [sys.argv[1], "bench", "latency", "--links", "300:1000", "--seconds", "60", "--program", "heat1d", "--b", "4", "--strategy", "halo",
               "--steps", "16", "--rounds", "1", "--size", "0.2", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, env={k: v for k, v in os.environ.items() if k[:6] != "TACIT_"})
    if done.returncode == 0:
        run = [value for value in json.loads(done.stdout).values() if isinstance(value, list)][0][1]
        expect(run["messages"] == 8 and run["latency_us"] >= 300, f"links: {run}")
    else:
        expect("use --delay" in done.stderr, f"links: {done.stderr[:300]}")
    expect(subprocess.run(command[:3] + ["--links", "soup"], capture_output=True, timeout=60).returncode == 1, "links: soup")
    print("\n".join(failures + [f"bench latency: {len(failures)} failures"]))
    return 1 if failures else 0


sys.exit(main())
