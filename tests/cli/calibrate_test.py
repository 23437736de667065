#!/usr/bin/env python3
"""`tacit simulate --calibrate` and `--calibrate-kernels`: what they write is read back, and what they say when something is wrong.
How long anything takes does not matter here.

Usage: calibrate_test.py PATH-OF-TACIT FOLDER-OF-EXAMPLES PATH-OF-IDLE MPI-KIND"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

tacit, examples, idle, mpi = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), os.path.abspath(sys.argv[3]), sys.argv[4]
failures = []
KEYS = ["latency", "send_overhead", "receive_overhead", "gap", "bandwidth", "eager", "workers", "copy", "copy_bandwidth", "combine_bandwidth",
        "task", "command", "instruction", "start", "handling"]
wave = [examples / "wave_sim", "--rows", 64, "--cols", 48, "--steps", 30]


def expect(good, what):
    if not good:
        failures.append(what)


def run(*arguments, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")} | {"ASAN_OPTIONS": "detect_leaks=0"} | more
    return subprocess.run([tacit, "simulate", *map(str, arguments)], capture_output=True, text=True, timeout=280, env=environment)


def fails(text, *arguments, status=None):
    done = run(*arguments)
    expect(done.returncode == status if status else done.returncode != 0, f"{arguments}: exit status {done.returncode}")
    expect(text in done.stderr, f"{arguments}: not '{text}' in {done.stderr}")


def rows(*arguments):
    done = run("--json", *arguments)
    expect(done.returncode == 0, f"{arguments}: {done.stderr}")
    return json.loads(done.stdout)["rows"] if done.returncode == 0 else [{"ns": 0}]


def values(text):
    return dict(re.findall(r"^([\w ]+?) *= (\S+ ?\S*)$", text, re.M))


def machine(folder):
    """All keys are there, and the file is one for both options; a setting of the environment does not disturb."""
    file = folder / "machine.txt"
    done = run("--calibrate", file, TACIT_DRY_RUN="4", TACIT_GRAPH=str(folder / "graph"))
    expect(done.returncode == 0, f"--calibrate: {done.stderr}")
    text = file.read_text() if file.exists() else ""
    found = values(text)
    expect(not set(KEYS) - set(found), f"no {set(KEYS) - set(found)} in {text}")
    expect(set(found) <= set(KEYS) | {"rendezvous"}, f"{set(found)}")
    expect(done.stdout == f"{file}\n", f"--calibrate prints {done.stdout}")
    for key in ("bandwidth", "copy_bandwidth", "combine_bandwidth", "task", "command", "instruction", "workers"):
        expect(float(found.get(key, "0").split()[0]) > 0, f"{key} = {found.get(key)}")
    expect(rows("--nodes", 4, "--network", file, "--machine", file, *wave)[0]["ns"] > 0, "a file that was measured is not read")
    expect(not list(folder.glob("graph*")), "settings of the environment act on the measurement")
    for key, value in (("bandwidth", "0 GB/s"), ("latency", "-3 ns"), ("workers", "many"), ("rendezvous", "5 B")):
        wrong = folder / "wrong.txt"
        wrong.write_text(text + f"{key} = {value}\n")
        fails(f"{key} is '{value}', but must be", "--nodes", 4, "--network", wrong, "--machine", file, *wave)


def kernels(folder):
    """The names of the program's tasks; what is written is read, and --kernel counts more."""
    file = folder / "kernels.txt"
    done = run("--json", "--nodes", "1,3", f"--calibrate-kernels={file}", *wave)
    expect(done.returncode == 0, done.stderr)
    found = values(file.read_text())
    expect({"kernel start", "kernel advance"} <= set(found), f"{found}")
    expect(all(float(value.split()[0]) > 0 for value in found.values()), f"{found}")
    # Simulated times follow from what was measured in the same run: the same file gives the same rows.
    again = [run("--json", "--nodes", "1,3", "--kernels", file, *wave).stdout for _ in range(2)]
    expect(again[0] == again[1] == done.stdout, f"{done.stdout} {again}")
    slow = rows("--nodes", 3, "--kernels", file, "--kernel", "advance=1ms", *wave)[0]["ns"]
    expect(slow > 30 * 64 * 48 / 3 / 16 * 1e6, f"--kernel counts less than --kernels: {slow}")
    measured = rows("--nodes", 3, "--calibrate-kernels", "--kernel", "advance=1ms", *wave)[0]["ns"]
    expect(measured > 30 * 64 * 48 / 3 / 16 * 1e6, f"--kernel counts less than --calibrate-kernels: {measured}")
    late = run("--nodes", 2, wave[0], "--calibrate-kernels", *wave[1:])
    expect(late.returncode == 0, f"behind the program: {late.stderr}")
    several(file)


def several(file):
    """Measured on two nodes: the same kernels. Without an MPI there is one."""
    options = ("--nodes", 2, "--calibrate-nodes", 2, f"--calibrate-kernels={file}")
    if mpi == "none":
        fails("ended with status", *options, *wave, status=1)
        return
    done = run(*options, *wave)
    expect(done.returncode == 0, done.stderr)
    expect("on 2 nodes" in file.read_text() and {"kernel start", "kernel advance"} <= set(values(file.read_text())), file.read_text())


def errors(folder):
    nowhere = folder / "no" / "such" / "file"
    fails(f"{nowhere} cannot be written: No such file", "--calibrate", nowhere, status=1)
    fails("--calibrate takes one file and no program; leave out 'b'", "--calibrate", "a", "b", status=2)
    fails(f"{nowhere} cannot be written: No such file", f"--calibrate-kernels={nowhere}", *wave, status=1)
    fails(f"cannot read {nowhere}: No such file", "--kernels", nowhere, *wave, status=2)
    fails("runs no kernels; leave out --calibrate-kernels", "--calibrate-kernels", idle, status=1)
    fails("true recorded nothing: it is no program of tacit", "--calibrate-kernels", "true", status=1)
    fails("false ended with status 1, so its kernels were not measured", "--calibrate-kernels", "false", status=1)
    fails("ended with status", "--calibrate-kernels", wave[0], "--no-such-option", status=1)
    fails("no program is given", "--calibrate-kernels", status=2)
    fails("the number of nodes is 'two'", "--calibrate-nodes", "two", "--calibrate-kernels", *wave, status=2)
    fails("--calibrate-nodes is for --calibrate-kernels, which is not given", "--calibrate-nodes", 2, *wave, status=2)
    wrong = folder / "wrong.txt"
    wrong.write_text("kernel advance = soon\n")
    fails("kernel advance is 'soon'", "--kernels", wrong, *wave)


with tempfile.TemporaryDirectory() as name:
    if mpi == "none":
        fails("this build of tacit has no MPI", "--calibrate", status=1)
    else:
        machine(pathlib.Path(name))
    kernels(pathlib.Path(name))
    errors(pathlib.Path(name))
print("\n".join(failures + [f"calibrate: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
