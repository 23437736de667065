#!/usr/bin/env python3
"""`tacit bench device`: what it prints, that tacit and the programs by hand compute the same, and what it says without a device. Times are not judged.

Usage: bench_device_test.py TACIT DEVICE. Skipped (77) where there is no such device; what it says then is tried all the same."""
import json
import os
import subprocess
import sys

TACIT, DEVICE = sys.argv[1:]
SMALL = ["--device", DEVICE, "--bytes", "65536", "--bodies", "130", "--side", "37", "--steps", "3", "--samples", "5"]
RESULTS = [("empty kernel", "us"), ("empty task", "us"), ("empty task of a chain", "us"), ("host to device", "GB/s"), ("host to device, rows", "GB/s"),
           ("device to host", "GB/s"), ("device to host, rows", "GB/s"), ("copy by itself", "us"), ("kernel by itself", "us"),
           ("copy beside kernel", "us"), ("step of N-body", "us"), ("step of waves", "us")]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def bench(*arguments, status=0):
    """Whatever its status is, if that is None."""
    done = subprocess.run([TACIT, "bench", "device", *arguments], capture_output=True, text=True, timeout=300, env=os.environ)
    expect(status in (None, done.returncode), f"bench device {' '.join(arguments)}: status {done.returncode}, not {status}: {done.stderr[:300]}")
    return done


def check_report(text):
    out = json.loads(text or "{}")
    expect((out.get("benchmark"), out.get("device")) == ("device", DEVICE) and out.get("model"), f"head: {out}")
    expect((out.get("bytes"), out.get("bodies"), out.get("side"), out.get("steps"), out.get("samples")) == (65536, 130, 37, 3, 5), f"sizes: {out}")
    expect(out.get("same_results") is True, "tacit and the program by hand do not compute the same")
    results = out.get("results", [])
    expect([(r["name"], r["unit"]) for r in results] == RESULTS, f"results: {[r['name'] for r in results]}")
    for r in results:
        low, high = r["speed_95"]
        expect(r["tacit"] > 0 and r["by_hand"] > 0 and 0 < low <= r["speed"] <= high, f"{r}")
    for key in ("overlap_over_longer", "overlap_over_longer_by_hand"):
        expect(out.get(key, 0) > 0, key)


def check_table():
    text = bench(*SMALL).stdout
    for name, unit in RESULTS:
        expect(any(line.startswith(name + " ") and unit in line for line in text.splitlines()), f"the table has no '{name}'")
    expect("of the longer one by itself" in text, "the table has no overlap")


def main():
    none = DEVICE.split(":")[0] + ":99"
    done = bench("--device", none, status=3)
    expect(f"there is no {none} here" in done.stderr and not done.stdout, f"without a device: {done.stderr}")
    for wrong in (["--device", "host"], ["--device", "opencl:x"], ["--samples", "4"], ["--bytes", "-1"], ["--steps"]):
        expect("usage: tacit bench device" in bench(*wrong, status=1).stderr, f"{wrong} are not refused")
    done = bench(*SMALL, "--json", status=None)
    if done.returncode == 3 and not failures:
        print(f"there is no {DEVICE} here")
        return 77
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[:300]}")
    check_report(done.stdout)
    check_table()
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
