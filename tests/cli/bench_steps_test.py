#!/usr/bin/env python3
"""`tacit bench steps`: rows come as they are measured, all of them in the time that is given, and Ctrl-C leaves what there is. Times are not judged.

Usage: bench_steps_test.py TACIT. Counts rows and turns: one that is not bounded would have ten times as many."""
import json
import os
import signal
import subprocess
import sys

TACIT = sys.argv[1]
PAIRS, SIZES = 31, 5
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
COLUMNS = ["kernel", "size", "way", "tacit us", "by hand", "us", "ratio", "95 %", "starts", "apart ns", "pairs"]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def start(*arguments, **environment):
    """A process group of its own, which is what a terminal sends Ctrl-C to."""
    return subprocess.Popen([TACIT, "bench", "steps", "--only", "points", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**ENVIRONMENT, **environment}, start_new_session=True)


def check_rows(report):
    rows = report["rows"]
    for row in rows:
        expect(1 <= row["pairs"] <= PAIRS and row["kernel"] == "points", f"{row}")
        expect(0 < row["interval"][0] <= row["ratio"] <= row["interval"][1] and row["starts"] >= 1, f"{row}")
        expect(row["apart_ns"] >= 0 and (row["apart_ns"] > 0 or len(os.sched_getaffinity(0)) == 1), f"{row}")
    expect(len({(row["size"], row["way"]) for row in rows}) == len(rows), "a row came twice")
    return rows


def check_bound():
    run = start("--seconds", "1", "--json")
    out, err = run.communicate(timeout=300)
    expect(run.returncode == 0, f"status {run.returncode}: {err[:300]}")
    report = json.loads(out or "{}")
    rows = check_rows(report)
    wanted = len(rows) + report["rows_left"]
    expect(len(rows) >= 1 and wanted in (SIZES, 2 * SIZES), f"{len(rows)} rows, {report['rows_left']} left")
    expect((report["seconds"], report["pairs"], report["interrupted"]) == (1, PAIRS, False), f"head: {report}")
    expect(sum(row["pairs"] for row in rows) < wanted * PAIRS, "all turns of all rows were taken in a second")


def check_table():
    """Ctrl-C when the first row is there."""
    run = start("--seconds", "6")
    head, first = run.stdout.readline(), run.stdout.readline()
    expect(all(column in head for column in COLUMNS), f"head: {head}")
    expect(first.split()[:3] == ["points", "16", "1x2"], f"first row: {first}")
    os.killpg(run.pid, signal.SIGINT)
    rest, err = run.communicate(timeout=300)
    lines = rest.splitlines()
    expect(run.returncode == 128 + signal.SIGINT, f"status {run.returncode} after Ctrl-C: {err[:300]}")
    expect(lines and lines[-1].endswith("rows were not measured"), f"after Ctrl-C: {rest}")
    expect(all(len(line.split()) == len(first.split()) for line in lines[:-1]), f"a row is broken: {rest}")


def check_interrupted_json():
    """Ctrl-C in the first turn, which the line of progress shows."""
    run = start("--json", PROGRESS_ON_TERMINAL="1")
    shown = ""
    while "turn" not in shown:
        more = os.read(run.stderr.fileno(), 1000).decode()
        if not more:
            break
        shown += more
    expect("size 16, 1x2 (row 1 of" in shown, f"progress: {shown}")
    os.killpg(run.pid, signal.SIGINT)
    out, _ = run.communicate(timeout=300)
    expect(run.returncode == 128 + signal.SIGINT, f"status {run.returncode} after Ctrl-C")
    report = json.loads(out or "{}")
    expect(report.get("interrupted") is True and report.get("rows_left", 0) >= SIZES - 1, f"after Ctrl-C: {out[:300]}")
    check_rows(report)


def main():
    for wrong in (["--seconds", "0"], ["--seconds", "x"], ["--seconds"]):
        run = start(*wrong)
        _, err = run.communicate(timeout=300)
        expect(run.returncode == 1 and "usage: tacit bench steps" in err, f"{wrong} are not refused")
    check_bound()
    check_table()
    check_interrupted_json()
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
