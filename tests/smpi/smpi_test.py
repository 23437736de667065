#!/usr/bin/env python3
"""The library under SimGrid's SMPI, another simulator of MPI, against `tacit simulate`: the same messages and bytes of each pair of
nodes, and the same time of a step but for a fifth, without collectives.

Usage: smpi_test.py STEPS-FOR-SMPI STEPS SMPIRUN PLATFORM

Both know the same network: 1.5 us, 12.5 GB/s, 0.3 us of the sender and 0.2 us of the receiver for each message, which never asks
first. A step's time is the difference between runs of n and of 2 n steps, since SMPI's beginning and end are other than tacit's."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

if sys.argv[3] == "none":
    print("smpi: skipped, since SimGrid is not installed (libsimgrid-dev, simgrid)")
    sys.exit(77)
under_smpi, planned, smpirun, platform = (os.path.abspath(path) for path in sys.argv[1:5])
failures = []
SETTINGS = ["bw-factor:0:1", "lat-factor:0:1", "simulate-computation:no", "grow-injected-times:no", "test:1e-8", "iprobe:1e-8", "ois:0:3e-7:0",
            "os:0:3e-7:0", "or:0:2e-7:0", "send-is-detached-thresh:100000000", "async-small-thresh:100000000"]
NETWORK = """latency = 1.5 us
send_overhead = 0.3 us
receive_overhead = 0.2 us
gap = 0 ns
bandwidth = 12.5 GB/s
eager = 1024 MiB
workers = 1
start = 0 ns
copy = 0 ns
task = 0 ns
command = 0 ns
instruction = 0 ns
"""
# Nodes, pattern, elements of a node, steps, nanoseconds of an element.
CASES = [(8, "neighbours", 1000, 32, 10), (8, "all", 1000, 16, 10), (16, "all", 4096, 8, 1), (16, "round", 1000, 32, 10),
         (32, "neighbours", 1000, 16, 10), (32, "round", 500, 32, 10), (64, "neighbours", 1000, 12, 10)]


def smpi(folder, nodes, arguments):
    hosts = folder / "hosts"
    hosts.write_text("".join(f"h{i}\n" for i in range(nodes)))
    # Every rank has a copy of the program, whose thread-local variables must lie side by side.
    environment = dict(os.environ) | {"TACIT_COLLECTIVES": "off", "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=200000"}
    command = [smpirun, "-np", str(nodes), "-platform", platform, "-hostfile", str(hosts), *[f"--cfg=smpi/{s}" for s in SETTINGS],
               "--log=root.thres:warning", under_smpi, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, env=environment, cwd=folder)
    if done.returncode:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def simulated(folder, nodes, arguments, item):
    files, report = folder / "network", folder / "report"
    files.write_text(NETWORK + f"kernel step = {item} ns\n")
    # Under SMPI nodes run inline, so there are no broadcasts.
    environment = dict(os.environ) | {"TACIT_COLLECTIVES": "off", "TACIT_BROADCAST": "flat", "TACIT_DRY_RUN": str(nodes), "TACIT_SIMULATE": str(files),
                                      "TACIT_SIMULATE_REPORT": str(report)}
    done = subprocess.run([planned, *arguments], capture_output=True, text=True, timeout=250, env=environment)
    if done.returncode:
        sys.exit(f"{arguments} on {nodes} nodes: {done.stderr}")
    return json.loads(report.read_text())


def compare(folder, nodes, pattern, elements, steps, item):
    runs = [[pattern, str(elements), str(count), str(item)] for count in (steps, 2 * steps)]
    theirs = [smpi(folder, nodes, run) for run in runs]
    ours = [simulated(folder, nodes, run, item) for run in runs]
    name = f"{pattern} of {elements} on {nodes} nodes"
    for their, our in zip(theirs, ours):
        if their["pairs"] != our["pairs"] or not our["pairs"]:
            failures.append(f"{name}: other messages:\n  {their['pairs']}\n  {our['pairs']}")
    their, our = 1e9 * (theirs[1]["seconds"] - theirs[0]["seconds"]) / steps, (ours[1]["ns"] - ours[0]["ns"]) / steps
    print(f"{name}: SMPI {their:.0f} ns, tacit {our:.0f} ns, {our / their:.3f}; {sum(pair[2] for pair in ours[1]['pairs'])} messages", flush=True)
    if not 0.8 < our / their < 1.2:
        failures.append(f"{name}: a step takes {our:.0f} ns, under SMPI {their:.0f} ns")


with tempfile.TemporaryDirectory() as name:
    for case in CASES:
        compare(pathlib.Path(name), *case)
print("\n".join(failures + [f"smpi: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
