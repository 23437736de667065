#!/usr/bin/env python3
"""What `tacit trace` shows of devices: a row for each lane, with every kernel and copy that the device has carried out.

Usage: trace_devices_test.py opencl|cuda PATH-OF-TACIT FOLDER-OF-EXAMPLES NODES. Skipped (77) where there is no such device."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KIND, TACIT, EXAMPLES, NODES = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
ROWS, COLUMNS, STEPS, DEVICES = 90, 50, 12, 2
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def lanes_of(prefix):
    """The spans of every lane: {(node, its name): [span]}."""
    events = json.loads(pathlib.Path(f"{prefix}.json").read_text())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    lanes = {}
    for e in events:
        if e["ph"] == "X":
            lanes.setdefault((e["pid"], names[e["pid"], e["tid"]]), []).append(e)
    return lanes


def check_device(lanes, node, device):
    """All steps, and on both sides of the cut a row of cells for each step but the first."""
    mine = {name: spans for (q, name), spans in lanes.items() if q == node and name.startswith(f"accelerator {device}, lane ")}
    what = f"node {node}, device {device}"
    for name, spans in mine.items():
        spans.sort(key=lambda e: e["ts"])
        check(all(a["ts"] + a["dur"] <= b["ts"] + 0.002 for a, b in zip(spans, spans[1:])), f"{name} of node {node}: spans overlap")
        check(len({e["cat"] for e in spans}) == 1, f"{name} of node {node} has kernels and copies")
    spans = [e for lane in mine.values() for e in lane]
    kernels = sorted((e["ts"], e["args"]["task"], e["ts"] + e["dur"]) for e in spans if e["name"] == "advance" and e["cat"] == "kernel")
    check(len(kernels) == STEPS, f"{what}: {len(kernels)} kernels of {STEPS} steps")
    check(all(a[1] < b[1] and a[2] <= b[0] + 0.002 for a, b in zip(kernels, kernels[1:])), f"{what}: steps are not in order: {kernels}")
    copies = [e for e in spans if e["cat"] == "copy"]
    check(all(e["args"].get("bytes", 0) > 0 for e in copies), f"{what}: copies of nothing")
    borders = [e for e in copies if e["name"] == "advance" and e["args"]["bytes"] == 8 * COLUMNS]
    check(len(borders) >= STEPS - 1, f"{what}: {len(borders)} copies of a row")


def check_page(prefix):
    text = re.findall(r"<script\b[^>]*>(.*?)</script>", pathlib.Path(f"{prefix}.html").read_text(), re.S)[0]
    page = json.loads(text)
    for q, node in enumerate(page["node"]):
        lanes = [lane["name"] for lane in page["lanes"] if lane["kind"] == 3 and lane["node"] == q]
        check({name.split(",")[0] for name in lanes} == {f"accelerator {d}" for d in range(DEVICES)}, f"page: lanes {lanes} of node {q}")
        load = {page["names"][node["load"][i]]: node["load"][i + 1] for i in range(0, len(node["load"]), 3)}
        check(load.get("advance") == STEPS * DEVICES, f"page: node {q} has run {load.get('advance')} chunks of advance")


def main():
    known = subprocess.run([TACIT, "info"], capture_output=True, text=True).stdout
    if f"\n  {KIND}:0 " not in known:
        print(f"there is no device {KIND}:0 here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "t"
        nodes = ["-n", str(NODES)] if NODES > 1 else []
        program = [EXAMPLES / "wave_sim", "--rows", ROWS, "--cols", COLUMNS, "--steps", STEPS]
        done = subprocess.run([str(a) for a in [TACIT, "trace", *nodes, "--output", prefix, *program]], capture_output=True, text=True,
                              env=dict(os.environ, TACIT_DEVICES=f"{KIND}:0,{KIND}:0"))
        check(done.returncode == 0, f"status {done.returncode}: {done.stdout}{done.stderr}")
        lanes = lanes_of(prefix)
        for node in range(NODES):
            for device in range(DEVICES):
                check_device(lanes, node, device)
            elsewhere = [e for (q, name), spans in lanes.items() if q == node and not name.startswith("accelerator") for e in spans
                         if e["name"] == "advance" and e["cat"] in ("kernel", "copy")]
            check(not elsewhere, f"node {node}: {len(elsewhere)} kernels and copies of advance are drawn in other lanes, too")
        check_page(prefix)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
