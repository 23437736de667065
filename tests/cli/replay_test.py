#!/usr/bin/env python3
"""`tacit simulate --replay` and `--durations`: recorded runs are executed by the simulator with the same instructions, in the
recorded order; traces of other runs, damaged ones, and orders that no run can have are refused.

Usage: replay_test.py PATH-OF-TACIT FOLDER-OF-EXAMPLES PATH-OF-TRACED MPI"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

tacit, examples, traced, mpi = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
failures = []
HEADER, RECORD, TRANSFERS = 40, 48, ("send", "receive", "collective")
RECORDS, END = 1, 6
RECEIVE, KERNEL, HOST, PART = 13, 9, 10, 19


def check(good, what):
    if not good:
        failures.append(what)


def run(arguments, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    environment.update({"TACIT_" + k: v for k, v in settings.items()}, ASAN_OPTIONS="detect_leaks=0", LC_ALL="C")
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, errors="replace", env=environment, timeout=100)


def trace(prefix, nodes, program, **settings):
    done = run([tacit, "trace", "-n", nodes, "--keep", "--output", prefix, *program], **settings)
    check(done.returncode == 0, f"{program}: {done.stdout}{done.stderr}")


def replay(option, prefix, program, *more, **settings):
    done = run([tacit, "simulate", option, prefix, *more, "--json", *program], **settings)
    check(done.returncode == 0, f"{option} {program}: {done.stderr}")
    return json.loads(done.stdout)["rows"][0] if done.returncode == 0 else None


def refused(text, prefix, program, *more, option="--replay", **settings):
    done = run([tacit, "simulate", option, prefix, *more, *program], **settings)
    check(done.returncode != 0 and text in done.stderr, f"{program} {more}: not '{text}', but {done.stderr}")


def instructions(prefix):
    """Of each node: spans of memory and messages, by start."""
    spans = [e for e in json.loads(pathlib.Path(f"{prefix}.json").read_text())["traceEvents"] if e["ph"] == "X"]
    nodes = {}
    for e in spans:
        if e["cat"] in ("alloc", "free", "copy", "reduction", *TRANSFERS):
            nodes.setdefault(e["pid"], []).append((e["ts"], e["cat"], e["args"]["task"], e["args"].get("bytes"), e["args"].get("peer"),
                                                   e["args"].get("message")))
    return {q: sorted(list_) for q, list_ in nodes.items()}


def check_same(what, recorded, replayed):
    """The same instructions; what began before another did so in both, but where both began at the same time. Receives are drawn from
    when their messages were sent."""
    check(recorded.keys() == replayed.keys() and recorded, f"{what}: nodes {recorded.keys()}, {replayed.keys()}")
    for q, then in recorded.items():
        now = replayed.get(q, [])
        check(sorted(e[1:] for e in then) == sorted(e[1:] for e in now), f"{what}: node {q} has other instructions")
        times = {}
        for e in now:
            times.setdefault(e[1:], []).append(e[0])
        last = -1.0
        for e in (e for e in then if e[1] != "receive"):
            time = times[e[1:]].pop(0) if times.get(e[1:]) else last
            check(time >= last, f"{what}: node {q}: {e} began at {time} us, and what was before it at {last} us")
            last = max(last, time)


def count(prefix, nodes):
    """Instructions that were recorded: kinds 6 to 18."""
    return sum(6 <= kind <= 18 for q in range(nodes) for kind in kinds(f"{prefix}.{q}.tacit-trace"))


def blocks(data):
    at = HEADER
    while at + 16 <= len(data):
        kind, number, size = struct.unpack_from("=IIQ", data, at)
        yield at, kind, number, size
        at += 16 + size


def records(data):
    """Places in the file."""
    for at, kind, _, size in blocks(data):
        if kind == RECORDS:
            yield from range(at + 16, at + 16 + size, RECORD)


def kind_of(data, at):
    return data[at + 44] & 127


def kinds(path):
    data = pathlib.Path(path).read_bytes()
    return [kind_of(data, at) for at in records(data)]


def copy_trace(prefix, other, nodes):
    for q in range(nodes):
        shutil.copy(f"{prefix}.{q}.tacit-trace", f"{other}.{q}.tacit-trace")


def edit(path, change):
    data = bytearray(pathlib.Path(path).read_bytes())
    change(data)
    pathlib.Path(path).write_bytes(data)


def same_instructions(folder):
    """Examples with halos, with collectives, with tiles; with one thread, and with several."""
    programs = {
        "stencil": ([examples / "wave_sim", "--rows", 128, "--cols", 128, "--steps", 20], {}),
        "stencil in threads": ([examples / "wave_sim", "--rows", 128, "--cols", 128, "--steps", 20], {"WORKERS": "2"}),
        "nbody": ([examples / "nbody", "--plummer", 256, "--steps", 6], {}),
        "nbody in threads": ([examples / "nbody", "--plummer", 256, "--steps", 6], {"WORKERS": "2"}),
        "summa": ([examples / "summa"], {}),
        "devices": ([examples / "wave_sim", "--rows", 128, "--cols", 128, "--steps", 20], {"HOST_DEVICES": "2:discrete"}),
        "jacobi": ([examples / "jacobi", "--rows", 9, "--cols", 9, "--check-every", 7, "--verify"], {}),
        "cg": ([examples / "cg", "--rows", 20, "--verify"], {"WORKERS": "2"}),
        "a pause": ([traced, "pause"], {"WORKERS": "2"}),
    }
    for k, (what, (program, settings)) in enumerate(programs.items()):
        prefix, again = f"{folder}/run{k}", f"{folder}/again{k}"
        trace(prefix, 2, program, **settings)
        row = replay("--replay", prefix, program, "--trace", again, **settings)
        free = replay("--durations", prefix, program, "--network", "hdr", **settings)
        if row and free:
            check(row["recorded"]["instructions"] == count(prefix, 2), f"{what}: {row['recorded']}, not {count(prefix, 2)}")
            check(row["recorded"]["moved"] == 0 and row["recorded"]["events"] == 2 * row["recorded"]["instructions"], f"{what}: {row}")
            check(free["recorded"]["moved"] < free["recorded"]["events"] and free["ns"] > 0, f"{what}: {free}")
            check(row["ns"] > 0 and row["recorded"]["ns"] > 0, f"{what}: {row}")
            check_same(what, instructions(prefix), instructions(again))


def a_pause_matters(folder):
    """A window that was closed since nothing came makes other plans: without it the replay would be refused."""
    first, second = f"{folder}/pause", f"{folder}/slow"
    trace(first, 2, [traced, "pause"], WORKERS="2")
    trace(second, 2, [traced, "slow", "-1"], WORKERS="2", LOOKAHEAD="full")
    check(count(first, 2) != count(second, 2), "the pause makes no difference")


def simulated_again(folder):
    """A trace of a simulation, whose clock is exact, is replayed to the nanosecond, but for rounding; in the simulator's own order, too."""
    program = [traced, "slow", "-1"]  # which does not ask whether it is a dry run
    platforms = pathlib.Path(tacit).resolve().parent.parent / "share/tacit/platforms"
    prefix = f"{folder}/simulated"
    done = run(program, DRY_RUN="4", SIMULATE=f"{platforms}/hdr.txt:{platforms}/cores-16.txt", SIMULATE_REPORT=f"{prefix}.report",
               TRACE=prefix)
    check(done.returncode == 0, done.stderr)
    ns = json.loads(pathlib.Path(f"{prefix}.report").read_text())["ns"]
    row, free = replay("--replay", prefix, program), replay("--durations", prefix, program)
    for r in (row, free):
        if r:
            check(abs(r["ns"] / ns - 1) < 1e-4, f"a simulation of {ns} ns takes {r['ns']} ns again")
    check(not free or free["recorded"]["moved"] == 0, f"{free}")


def other_runs(folder):
    """Other arguments, another program, other settings."""
    prefix, program = f"{folder}/this", [examples / "wave_sim", "--rows", 128, "--cols", 128, "--steps", 20]
    trace(prefix, 2, program)
    refused("is the trace of another run: instruction", prefix, [*program[:-1], 21])
    refused("is the trace of another run: instruction", prefix, [examples / "wave_sim", "--rows", 130, "--cols", 128, "--steps", 20])
    refused("is the trace of another run: instruction", prefix, [examples / "nbody", "--plummer", 256, "--steps", 2])
    refused("it was 'wave_sim --rows 128 --cols 128 --steps 20'", prefix, [*program[:-1], 19], option="--durations")
    refused("is the trace of another run", prefix, program, HOST_DEVICES="1:discrete")
    refused("which are not those of 2 devices", prefix, program, HOST_DEVICES="2")
    refused("leave out --nodes", prefix, program, "--nodes", 4)
    refused("leave out --network", prefix, program, "--network", "hdr")
    refused("leave out --kernel", prefix, program, "--kernel", "advance=1ns", option="--durations")
    refused("tacit trace --keep", f"{folder}/nothing", program)
    return prefix, program


def damaged(folder, prefix, program):
    """What is missing or cannot have been."""
    other = f"{folder}/other"
    copy_trace(prefix, other, 2)
    os.unlink(f"{other}.1.tacit-trace")
    refused(f"{other}.1.tacit-trace cannot be read", other, program)
    copy_trace(prefix, other, 2)
    edit(f"{other}.1.tacit-trace", lambda data: data.__delitem__(slice(len(data) // 2, None)))
    refused("end in the middle", other, program)
    copy_trace(prefix, other, 2)
    edit(f"{other}.0.tacit-trace", lambda data: [struct.pack_into("=Q", data, at + 16 + 16, 7) for at, kind, _, _ in blocks(data) if kind == END])
    refused("lacks 7 records", other, program)
    copy_trace(prefix, other, 2)
    edit(f"{other}.0.tacit-trace", lambda data: [struct.pack_into("=I", data, at + 28, 1 << 30) for at in records(data) if kind_of(data, at) == RECEIVE])
    refused("are damaged", other, program)
    edit(f"{other}.0.tacit-trace", lambda data: data.__setitem__(slice(0, 4), b"none"))
    refused("is no trace of tacit", other, program)


def impossible(folder, prefix, program):
    """A kernel that began before the message that it waits for had come, by the trace."""
    other = f"{folder}/impossible"
    copy_trace(prefix, other, 2)
    changed = []

    def change(data):
        receives = {struct.unpack_from("=I", data, at + 28)[0]: struct.unpack_from("=Q", data, at)[0] for at in records(data) if kind_of(data, at) == RECEIVE}
        waited = {}
        for at in records(data):
            start, end, _, _, number, by = struct.unpack_from("=QQQIII", data, at)
            if kind_of(data, at) in (KERNEL, HOST) and by in receives and not changed:
                changed.append(number)
                waited[number] = receives[by] - 1000
                struct.pack_into("=Q", data, at, waited[number])
        for at in records(data):
            if kind_of(data, at) == PART and struct.unpack_from("=I", data, at + 28)[0] in waited:
                struct.pack_into("=Q", data, at, waited[struct.unpack_from("=I", data, at + 28)[0]])

    edit(f"{other}.0.tacit-trace", change)
    check(changed, "no kernel waits for a message")
    refused("the simulation has come to a stop: node", other, program)
    row = replay("--durations", other, program)
    check(row and row["recorded"]["moved"] > 0, f"{row}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        simulated_again(folder)
        if mpi != "none":
            same_instructions(folder)
            a_pause_matters(folder)
            prefix, program = other_runs(folder)
            damaged(folder, prefix, program)
            impossible(folder, prefix, program)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


sys.exit(main())
