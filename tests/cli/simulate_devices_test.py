#!/usr/bin/env python3
"""Simulated devices: what kernels, launches and copies take to the nanosecond, memories, lanes in traces. There need not be any device.

Usage: simulate_devices_test.py PATH-OF-TACIT FOLDER-OF-EXAMPLES"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

tacit, examples = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
SIDE, STEPS = 256, 12
PLAIN = {"workers": "2", "launch": "5 us", "device_item": "100 ps", "device_lanes": "4", "device_copy": "8 us", "to_device": "16 GB/s",
         "from_device": "8 GB/s", "among_devices": "32 GB/s", "copy": "0 ns", "copy_bandwidth": "1000 GB/s"}
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def simulate(folder, machine, *arguments, devices="cuda:0", nodes=1, status=0, program=()):
    path = pathlib.Path(folder) / "machine.txt"
    path.write_text("".join(f"{key} = {value}\n" for key, value in machine.items()))
    command = [tacit, "simulate", "--nodes", nodes, "--network", "hdr", "--machine", path, *arguments, examples / "wave_sim", "--rows", SIDE,
               "--cols", SIDE, "--steps", STEPS, *program]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    environment.update(ASAN_OPTIONS="detect_leaks=0", TACIT_DEVICES=devices)
    done = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=300, env=environment)
    expect(done.returncode == status, f"{devices}, {machine}: exit status {done.returncode}: {done.stderr}")
    return done


def row(folder, machine=PLAIN, **settings):
    done = simulate(folder, machine, "--json", **settings)
    return json.loads(done.stdout)["rows"][0] if done.returncode == 0 else {"ns": 0, "critical_path": []}


def share(row, name):
    return sum(part["ns"] for part in row["critical_path"] if part["name"] == name)


def times(folder):
    """Steps wait for each other, so the critical path is known: both buffers there, each step, the result back. Launches are
    hidden, as a kernel is given to its device behind the one before."""
    plain, cells = row(folder), SIDE * SIDE
    expect(abs(share(plain, "advance") - STEPS * 0.1 * cells) < 1, f"steps take {plain['critical_path']}")
    there, back = 2 * (8000 + 8 * cells / 16), 8000 + 8 * cells / 8
    host = 8 * cells / 1000 + 1  # the fence's own copy
    expect(abs(share(plain, "(copies)") - there - back - host) < 2, f"copies take {share(plain, '(copies)')}, not {there + back + host}")
    changes = [("launch", "7 us", 0), ("device_item", "300 ps", STEPS * 0.2 * cells), ("from_device", "4 GB/s", 8 * cells / 8),
               ("to_device", "8 GB/s", 2 * 8 * cells / 16), ("device kernel advance", "200 ps", STEPS * 0.1 * cells), ("among_devices", "1 GB/s", 0),
               ("device_lanes", "1", 0), ("device kernel start", "1 s", 0)]
    for key, value, more in changes:
        changed = row(folder, PLAIN | {key: value})
        expect(abs(changed["ns"] - plain["ns"] - more) < 2, f"{key} = {value}: {changed['ns'] - plain['ns']} ns more, not {more}")
    expect(abs(plain["most_busy"] - STEPS * 0.1 * cells / plain["ns"]) < 1e-5, f"the device is busy {plain['most_busy']}")
    unnamed = {key: value for key, value in PLAIN.items() if key != "device_item"} | {"item": "4 ns"}
    expect(abs(share(row(folder, unnamed), "advance") - STEPS * 2 * cells) < 1, "without device_item a device is as fast as all workers")


def several(folder):
    """Two devices have half of the cells each, and exchange a row each way in every step; on two nodes by way of the host."""
    one, two = (row(folder, PLAIN | {"device_item": "10 ns"}, devices=devices) for devices in ("cuda:0", "cuda:0,cuda:1"))
    expect(abs(share(two, "advance") - STEPS * 10 * SIDE * SIDE / 2) < 1, f"two devices: {two['critical_path']}")
    expect(1.8 < one["ns"] / two["ns"] < 2, f"two devices are {one['ns'] / two['ns']} times as fast")
    slow = row(folder, PLAIN | {"device_item": "10 ns", "among_devices": "0.001 GB/s"}, devices="cuda:0,cuda:1")
    row_of_cells = 8 * SIDE * (1000 - 1 / 32)
    expect(abs(slow["ns"] - two["ns"] - (STEPS - 1) * row_of_cells) < 100, f"slow copies among devices: {slow['ns'] - two['ns']} ns more")
    nodes = row(folder, nodes=2)
    expect(nodes["messages"] > 0 and nodes["ns"] > 0 and nodes["least_busy"] > 0, f"two nodes: {nodes}")


def weights(folder):
    """Three quarters of the rows and a quarter, on every node; a task split in two dimensions is cut by rows, too."""
    for options, nodes in ([], 1), ([], 2), (["--split", "2d"], 2):
        prefix = pathlib.Path(folder) / "w"
        simulate(folder, PLAIN | {"device_item": "10 ns"}, "--trace", prefix, devices="cuda:0*3,cuda:1", nodes=nodes, program=options)
        events = json.loads(pathlib.Path(f"{prefix}.json").read_text())["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        for node in range(nodes):
            for device, part in (0, 3), (1, 1):
                spans = [e["dur"] for e in events if e["ph"] == "X" and e["pid"] == node and e["cat"] == "kernel" and e["name"] == "advance" and
                         names[node, e["tid"]].startswith(f"accelerator {device},")]
                wanted = 0.01 * SIDE * SIDE / nodes * part / 4
                expect(len(spans) == STEPS and all(abs(s - wanted) < 0.002 for s in spans), f"{options}, device {device} of {nodes} nodes: {spans}")


def memories(folder):
    """What just fits changes nothing; what does not fit at all is an error that names it."""
    both = 2 * 8 * SIDE * SIDE
    enough = row(folder, PLAIN | {"device_memory": f"{both} B"})
    expect(enough["ns"] == row(folder)["ns"], "a memory that is large enough changes something")
    done = simulate(folder, PLAIN | {"device_memory": f"{both - 1} B"}, status=1)
    expect("device cuda:0;" in done.stderr and "TACIT_DEVICE_MEMORY" in done.stderr, f"too little memory: {done.stderr}")


def lanes(folder):
    prefix = pathlib.Path(folder) / "t"
    simulate(folder, PLAIN, "--trace", prefix, devices="cuda:0,cuda:1", nodes=2)
    events = json.loads(pathlib.Path(f"{prefix}.json").read_text())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for node in range(2):
        for device in range(2):
            mine = [e for e in events if e["ph"] == "X" and e["pid"] == node and names[node, e["tid"]].startswith(f"accelerator {device}, ")]
            kernels = [e for e in mine if e["name"] == "advance" and e["cat"] == "kernel"]
            seen = [e["dur"] - 1e-4 * SIDE * SIDE / 4 for e in kernels]  # of launches; the first ones wait for nothing else
            expect(len(kernels) == STEPS and all(abs(s) < 0.002 for s in seen[:2]) and all(-0.002 < s < 5 for s in seen),
                   f"device {device} of node {node}: {[e['dur'] for e in kernels]}")
            expect(sum(e["cat"] == "copy" for e in mine) >= STEPS, f"device {device} of node {node}: {len(mine)} events")
    by_lane = {}
    for e in events:
        if e["ph"] == "X" and "accelerator" in names[e["pid"], e["tid"]]:
            by_lane.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["dur"]))
    for lane, spans in by_lane.items():
        spans.sort()
        expect(all(a[0] + a[1] <= b[0] + 0.002 for a, b in zip(spans, spans[1:])), f"spans of {names[lane]} overlap")


def plan():
    """Each of two devices of four nodes has its rows of both buffers, and a row of a neighbour on each side."""
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", TACIT_DEVICES="cuda:0,cuda:1")
    command = [tacit, "plan", "--nodes", "4", "--json", examples / "wave_sim", "--rows", SIDE, "--cols", SIDE, "--steps", STEPS]
    done = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=300, env=environment)
    rows, ghosts = SIDE // 8, 2
    expect(done.returncode == 0, f"plan: {done.stderr}")
    most = json.loads(done.stdout)["rows"][0]["device_memory"] if done.returncode == 0 else 0
    expect(most == 8 * SIDE * 2 * (rows + ghosts), f"a device has {most} bytes, not {8 * SIDE * 2 * (rows + ghosts)}")
    command.remove("--json")
    done = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=300, env=environment)
    expect(done.stdout.splitlines()[0].endswith("memory      device"), f"plan: {done.stdout}")


def main():
    plan()
    with tempfile.TemporaryDirectory() as folder:
        times(folder)
        several(folder)
        weights(folder)
        memories(folder)
        lanes(folder)
        wrong = simulate(folder, PLAIN | {"device kernel advance": "soon"}, status=1)
        expect("the time per item of device kernel advance is 'soon'" in wrong.stderr, wrong.stderr)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
