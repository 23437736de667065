#!/usr/bin/env python3
"""`tacit simulate`: examples on clusters that are not there, its options, its files, and what it says when something is wrong.

Usage: simulate_test.py PATH-OF-TACIT FOLDER-OF-EXAMPLES FOLDER-OF-PLATFORMS PATH-OF-ODD"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

tacit, examples, platforms = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
odd = os.path.abspath(sys.argv[4])
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def run(*arguments, folder=None, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")} | {"ASAN_OPTIONS": "detect_leaks=0"}
    environment.update({"TACIT_" + k: v for k, v in settings.items()})
    return subprocess.run([tacit, "simulate", *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment, cwd=folder)


def rows(*arguments, **settings):
    done = run("--json", *arguments, **settings)
    expect(done.returncode == 0, f"{arguments}: {done.stderr}")
    return json.loads(done.stdout)["rows"] if done.returncode == 0 else []


def fails(text, *arguments, status=None):
    done = run(*arguments)
    expect(done.returncode == status if status else done.returncode != 0, f"{arguments}: exit status {done.returncode}")
    expect(text in done.stderr, f"{arguments}: not '{text}' in {done.stderr}")


wave = [examples / "wave_sim", "--rows", 2048, "--cols", 2048, "--steps", 40]
nbody = [examples / "nbody", "--plummer", 4096, "--steps", 10]


def scaling():
    """Kernels that are long scale; the same, when short, wait for messages."""
    slow, quick = (rows("--nodes", "1,4,16", "--kernel", f"advance={item}", *wave) for item in ("100ns", "0.001ns"))
    for few, many in zip(slow, slow[1:]):
        expect(3.5 < few["ns"] / many["ns"] <= 4.01, f"advance of 100 ns: {few['ns']} to {many['ns']}")
        expect(many["critical_path"][0]["name"] == "advance", f"{many['critical_path']}")
    expect(slow[2]["kernels"] > 0.9 and quick[2]["kernels"] < 0.1, f"{slow[2]['kernels']}, {quick[2]['kernels']}")
    for row in slow + quick:
        share = row["kernels"] + row["waiting_messages"] + row["waiting_planning"] + row["waiting_ahead"] + row["idle"]
        expect(abs(share - 1) < 1e-3, f"shares of workers: {share}")
        expect(abs(sum(p["ns"] for p in row["critical_path"]) - row["ns"]) < 100, f"the critical path is not the time: {row}")
        expect(row["messages"] >= (row["nodes"] - 1) * 2 * 40, f"{row['messages']} messages")
    collected = rows("--nodes", "8", *nbody)[0]
    expect(collected["collectives"] >= 8 * 10, f"nbody: {collected['collectives']} collectives")


def more_nodes_than_items():
    """A sentence, and the times besides."""
    small = [examples / "wave_sim", "--rows", 16, "--cols", 16, "--steps", 3]
    done = run("--nodes", "4,40", *small)
    expect(done.returncode == 0 and "24 of 40 nodes run no kernel" in done.stderr and "of 4 nodes" not in done.stderr, f"idle nodes: {done.stderr}")
    expect([line.split()[0] for line in done.stdout.splitlines()[1:3]] == ["4", "40"], done.stdout)


def networks():
    """A slower network is not quicker, and all that come with tacit can be read."""
    time = {name: rows("--nodes", "16", "--network", name, *nbody)[0]["ns"] for name in ("hdr", "ethernet-10", "loopback")}
    expect(time["ethernet-10"] > 2 * time["hdr"] > 2 * time["loopback"], f"{time}")
    names = {path.stem for path in platforms.glob("*.txt")}
    usage = run("--help").stdout
    for name in names:
        option = "--machine" if "workers" in (platforms / f"{name}.txt").read_text() else "--network"
        expect(re.search(rf"\b{name}[,.]", usage), f"{name} is not in --help")
        expect(rows("--nodes", "2", option, name, examples / "hello")[0]["ns"] > 0, name)


def options():
    """Before the program and behind it, but not those of the program."""
    first = run("--nodes", "2,3", "--kernel=advance=3ns", *wave)
    late = run(wave[0], "--nodes", "2,3", "--kernel", "advance=3ns", *wave[1:])
    expect(first.stdout == late.stdout and first.returncode == 0, f"late options: {first.stdout}{late.stdout}{late.stderr}")
    expect("Critical path on 3 nodes" in first.stdout and len(first.stdout.splitlines()) > 5, first.stdout)
    with tempfile.TemporaryDirectory() as folder:
        mine = pathlib.Path(folder, "mine")
        mine.write_text((platforms / "hdr.txt").read_text() + "algorithm = ring\nlatency = 50 us # the last one counts\n")
        far = rows("--nodes", "8", "--network", mine, *nbody)[0]["ns"]
        expect(far > 10 * 7 * 50000, f"a ring of 50 us: {far} ns")
        linear, tree, other = ((platforms / "hdr.txt").read_text() + f"algorithm = {a}\n" for a in ("linear", "binomial", "nonblocking"))
        times = []
        for text, settings in ((linear, {}), (tree, {"COLLECTIVE_SCHEDULE": "direct"}), (other, {})):
            mine.write_text(text)
            times.append(rows("--nodes", "8", "--network", mine, *nbody, **settings)[0]["ns"])
        expect(times[0] == times[1] == times[2], f"messages between all, by the file, the setting, and as MPI_Iallgather does: {times}")
        mine.write_text("latency = 1 us\nworkers = 3\n")
        fails("there is no network 'etherent-10'; did you mean 'ethernet-10'?", "--nodes", "4", "--network", "etherent-10", *nbody)
        fails(f"no line says send_overhead, which the file of the network must (read were {mine}:", "--nodes", "4", "--network", mine, *nbody)
        mine.write_text("latency = 1 us\nbandwith = 3 GB/s\n")
        fails(f"{mine}:2: there is no key 'bandwith'; did you mean bandwidth?", "--nodes", "4", "--network", mine, *nbody)
        mine.write_text("planning = guessed\n")
        fails(f"{mine}:1: planning is 'guessed', but must be given or measured", "--nodes", "4", "--network", mine, *nbody)
        mine.write_text("workers = 16\nplanning = measured\n")
        planned = rows("--nodes", "4", "--machine", mine, *nbody)[0]
        mine.write_text("workers = 16\nplanning = given\ncommand = 1 ms\n")
        slow = rows("--nodes", "4", "--machine", mine, *nbody)[0]
        share = [next(p["ns"] for p in row["critical_path"] if p["name"] == "(planning)") for row in (planned, slow)]
        expect(share[0] > 0 and share[0] != share[1] > 1e7, f"planning takes {share} on the critical path")
        mine.write_text("latency = -1 us\n")
        fails(f"{mine}:1: latency is '-1 us'", "--nodes", "4", "--network", mine, *nbody)


def this_machine():
    """Where horizons fall follows from the simulated workers, not from those of the machine that simulates."""
    files = f"{platforms.resolve() / 'hdr.txt'}:{platforms.resolve() / 'cores-16.txt'}"

    def simulated(**settings):
        with tempfile.TemporaryDirectory() as folder:
            settings |= {"DRY_RUN": "1", "SIMULATE": files, "SIMULATE_REPORT": f"{folder}/report"}
            environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")} | {"ASAN_OPTIONS": "detect_leaks=0"}
            environment.update({"TACIT_" + k: v for k, v in settings.items()})
            done = subprocess.run([odd, "wide", "4000"], capture_output=True, text=True, timeout=300, env=environment)
            expect(done.returncode == 0, done.stderr)
            return json.loads(pathlib.Path(folder, "report").read_text())

    one, seven = (simulated(WORKERS=workers) for workers in ("1", "7"))
    expect(one == seven, f"on machines with one and with seven workers: {one} and {seven}")
    expect(simulated(HORIZON_FRONT="224")["instructions"] > one["instructions"], "horizons do not depend on the front")


def rings():
    """Nodes that go around together take what the formula says, whether their steps are taken at once or (parts of unequal length)
    begin at different times."""
    with tempfile.TemporaryDirectory() as folder:
        mine = pathlib.Path(folder, "mine")
        mine.write_text("latency = 2 us\nsend_overhead = 0.5 us\nreceive_overhead = 0.25 us\ngap = 0.1 us\nbandwidth = 1 GB/s\n"
                        "eager = 1 MiB\nalgorithm = ring\n")
        for nodes, barrier in ((8, 3), (3, 2), (16, 4)):  # three nodes take every message by itself
            row = rows("--nodes", nodes, "--network", mine, examples / "nbody", "--plummer", 6144, "--steps", 10)[0]
            part, gathers = 6144 // nodes * 24, row["collectives"] // nodes
            expect(row["messages"] == gathers * nodes * (nodes - 1) + nodes * barrier, f"{nodes} nodes: {row['messages']} messages")
            expect(row["bytes"] == gathers * nodes * (nodes - 1) * part, f"{nodes} nodes: {row['bytes']} bytes")
            said = gathers * (nodes - 1) * (500 + 2000 + part - 1 + 250) + barrier * (500 + 2000 + 250)
            taken = next(p["ns"] for p in row["critical_path"] if p["name"] == "(messages)")
            expect(abs(taken - said) <= 1, f"{nodes} nodes: messages take {taken}, not {said}")
        equal, unequal = (rows("--nodes", 8, "--network", mine, examples / "nbody", "--plummer", n, "--steps", 10)[0]["ns"]
                          for n in (6144, 6149))
        expect(equal < unequal < 1.02 * equal, f"equal parts {equal}, unequal ones {unequal}")


def broadcasts():
    """Placed tasks that read one tile get it by a tree, whose relays forward it; without one, by messages. Counts are the same."""
    with tempfile.TemporaryDirectory() as folder:
        mine = pathlib.Path(folder, "mine")
        mine.write_text((platforms / "qdr.txt").read_text() + "bandwidth = 100 MB/s\n")
        options = ["--nodes", 36, "--network", mine, "--kernel", "gemm=20us", examples / "cholesky", "--size", 1536, "--tile", 64]
        flat, found, chain = (rows(*options, BROADCAST=tree, MULTICAST="dynamic")[0] for tree in ("flat", "auto", "chain"))
        planned, both = (rows(*options, MULTICAST=way)[0] for way in ("planned", "auto"))
        expect(planned["broadcasts"] == 0 and planned["ns"] < flat["ns"] and planned["messages"] == flat["messages"], f"planned: {planned}")
        expect(both == planned, f"tiles of 32 KiB are planned, if anybody may choose: {both}")
        expect(flat["broadcasts"] == flat["relayed_bytes"] == 0, f"flat: {flat}")
        for row in (found, chain):
            expect(row["messages"] == flat["messages"] and row["bytes"] == flat["bytes"], f"{row} and {flat}")
            expect(2 * row["broadcasts"] < row["broadcast_recipients"] < row["messages"], f"{row}")
            expect(row["ns"] < flat["ns"], f"{row['ns']} with trees, {flat['ns']} without")
        expect(found["relayed_bytes"] < chain["relayed_bytes"] < flat["bytes"], f"{found['relayed_bytes']}, {chain['relayed_bytes']}")
        text = run("--trace", pathlib.Path(folder, "relays"), *options, MULTICAST="dynamic").stdout
        page, events = report_of(pathlib.Path(folder, "relays"))
        spans = [e for e in events["traceEvents"] if e["ph"] == "X" and e["cat"] == "relay"]
        expect(sum(page["passed"]) == found["relayed_bytes"] == sum(e["args"]["bytes"] for e in spans), f"{sum(page['passed'])} bytes were passed on, {found}")
        expect(f"{len(spans)} messages of broadcasts, {found['relayed_bytes']} bytes, passed on" in text, text)
        expect(f"Broadcasts on 36 nodes: {found['broadcasts']} of " in text, text)


def report_of(prefix):
    script = re.findall(r"<script\b[^>]*>(.*?)</script>", pathlib.Path(f"{prefix}.html").read_text(), re.S)[0]
    return json.loads(script), json.loads(pathlib.Path(f"{prefix}.json").read_text())


def traces():
    """The report of a simulated run says what the table says, and is the same every time, on every machine."""
    with tempfile.TemporaryDirectory() as folder:
        for name, nodes, program in (("wave", 4, [*wave, "--steps", 8]), ("nbody", 5, nbody)):
            prefix, again = pathlib.Path(folder, name), pathlib.Path(folder, name + "2")
            row = rows("--nodes", f"2,{nodes}", "--trace", prefix, *program)[1]
            expect(rows("--nodes", nodes, "--trace", again, *program, WORKERS="3"), f"{name}: no second simulation")
            left = sorted(path.name for path in pathlib.Path(folder).glob(f"{name}*.*") if path.suffix not in (".json", ".html"))
            expect(not left, f"{name}: {left} are left")
            for suffix in (".json", ".html"):
                same = pathlib.Path(f"{prefix}{suffix}").read_bytes() == pathlib.Path(f"{again}{suffix}").read_bytes()
                expect(same, f"{name}{suffix} is not the same when simulated again")
            page, events = report_of(prefix)
            expect(page["nodes"] == nodes and page["dropped"] == 0 and page["network"] == "simulated", f"{name}: {page['nodes']} nodes")
            expect(abs(page["ns"] - row["ns"]) <= 1, f"{name}: {page['ns']} ns in the report, {row['ns']} in the table")
            workers, busy = sum(n["workers"] for n in page["node"]), sum(n["spent"][0] for n in page["node"])
            expect(abs(busy / workers / page["ns"] - row["kernels"]) < 1e-3, f"{name}: kernels take {busy / workers / page['ns']}, {row}")
            for q, node in enumerate(page["node"]):
                length = node["workers"] * (node["end"] - node["begin"])
                expect(node["complete"] and abs(sum(node["spent"]) - length) <= length // 1000, f"{name}: node {q} spent {node['spent']} of {length}")
            sends = [e for e in events["traceEvents"] if e["ph"] == "X" and e["cat"] == "send"]
            if name == "wave":
                halos = 2 * (nodes - 1) * 8
                expect(len(sends) == halos < row["messages"], f"{name}: {len(sends)} sends, not {halos}")
                expect(sum(e["args"]["bytes"] for e in sends) == halos * 2048 * 8, f"{name}: bytes of sends")
                expect(sum(page["sent"]) == halos * 2048 * 8, f"{name}: {sum(page['sent'])} bytes in the table of messages")
            collectives = [e for e in events["traceEvents"] if e["ph"] == "X" and e["cat"] == "collective"]
            expect(len(collectives) == row["collectives"], f"{name}: {len(collectives)} collectives, not {row['collectives']}")
            ready = [e["args"]["ready instructions"] for e in events["traceEvents"] if e["ph"] == "C" and "ready instructions" in e["args"]]
            expect(min(ready, default=0) >= 0 and (not ready or ready[-1] == 0), f"{name}: {ready[-5:]} instructions are ready at the end")
            flows = [e["ph"] for e in events["traceEvents"] if e["ph"] in "sf"]
            expect(flows.count("s") == flows.count("f") == len(sends), f"{name}: {flows.count('s')} and {flows.count('f')} ends of flows")
        done = run("--nodes", 3, "--trace", "here", *nbody, folder=folder)
        expect("simulated: 3 nodes" in done.stdout and "here.html" in done.stdout, done.stdout)
        expect("  kernels " in done.stdout and "  first: " in done.stdout, done.stdout)
        fails("cannot write", "--nodes", 2, "--trace", "/nowhere/at/all", *nbody)
    fails("--heat1d writes no trace", "--heat1d", "50,5", "--trace", "x", status=2)


def overlaps(without, result):
    """Single steps hide what messages take behind all but two points: on one thread 187 us of 200, on six nothing, as 31 us are too few."""
    for row, before in zip(result["rows"], without["rows"]):
        single, plain = row["windows"][0], before["windows"][0]
        hidden = 64 * (500000 / 8 - 2) * 3 if row["threads"] == 1 else 0
        expect(single["messages"] == plain["messages"], f"{single}, {plain}")
        expect(abs(plain["ns"] - single["ns"] - hidden) <= 0.002 * hidden, f"{row['threads']} threads: {single}, {plain}, {hidden}")


def heat():
    """The formula, and what the simulated time adds to it: redundant points of inner nodes, the filling and the end."""
    many = ("--heat1d", "500000,64", "--nodes", "8", "--threads", "1,6,100", "--latency", "200us", "--item", "3 ns", "--window", "1,7,99", "--json")
    done = run(*many, OVERLAP="off")
    expect(done.returncode == 0, done.stderr)
    result = json.loads(done.stdout)
    expect([row["threads"] for row in result["rows"]] == [1, 6, 100], f"{result}")
    for row in result["rows"]:
        threads, beta = row["threads"], result["point_ns"]
        single, seven, wide = row["windows"]
        for window in row["windows"]:
            b = window["window"]
            said = 200000 * 64 / b + beta * 64 + (64 * 500000 / 8 + 64 * b) * 3 / threads
            expect(abs(window["formula_ns"] - said) <= 1, f"{window}, not {said}")
        # No redundant work, but two points through one port; the kernel that fills, and three steps of the meeting at the end.
        exact = 64 * (200000 + beta + 7 * beta / 8) + 65 * 500000 / 8 * 3 / threads + 3 * 200000
        expect(abs(single["ns"] - exact) < 2, f"{threads} threads: {single}, not {exact}")
        expect(single["messages"] == 64 * 14 + 3 * 8, f"{single}")
        # Nine windows of seven and a single step, with 2 (6 + 5 + ... + 1) points too many in each, hide latency behind work.
        work, end = (65 * 500000 / 8 + 9 * 42) * 3 / threads, 3 * 200000
        expect(max(work, 10 * 200000) + end <= seven["ns"] < work + 10 * 200000 + end + 1000, f"{threads} threads: {seven}, {work}")
        expect(threads > 1 or seven["ns"] < 1.002 * (work + end), f"{seven} is not hidden behind {work}")
        expect(seven["messages"] == 10 * 14 + 3 * 8, f"{seven}")
        expect("ns" not in wide, f"{wide}")
    overlaps(result, json.loads(run(*many).stdout))
    # On one thread stages have the same messages as often, and fewer points too many: 16 in a window instead of 7 + 6 + ... + 1.
    few = ["--heat1d", "500000,64", "--nodes", "8", "--threads", "1", "--latency", "200us", "--item", "3 ns", "--window", "8", "--json", "--strategy"]
    here, there = (json.loads(run(*few, strategy).stdout)["rows"][0]["windows"][0] for strategy in ("staged", "halo"))
    fewer = 2 * (28 - 16) * 3 * 64 / 8
    expect(here["messages"] == there["messages"] and fewer / 2 < there["ns"] - here["ns"] < 2 * fewer, f"{here}, {there}")
    fails("--strategy is 'wide', but must be halo or staged", "--heat1d", "50,5", "--strategy", "wide", status=2)
    table = run("--heat1d", "10000,20", "--latency", "10us").stdout
    rows = table.splitlines()
    expect("best window" in rows[4] and len(rows) == 13 and all(("simulated" in row) == (i % 2 == 1) for i, row in enumerate(rows[5:], 1)), table)
    fails("--heat1d is '5', but must be POINTS,STEPS", "--heat1d", "5", status=2)
    fails("--heat1d is '5,x', but must be up to", "--heat1d", "5,x", status=2)
    fails("--latency is 'soon', but must be a time", "--heat1d", "50,5", "--latency", "soon", status=2)
    fails("--item is '-1ns', but must be a time", "--heat1d", "50,5", "--item", "-1ns", status=2)
    fails("one to --nodes", "--heat1d", "50,5", "--nodes", "2,4", status=2)
    fails("leave out", "--heat1d", "50,5", *nbody, status=2)
    fails("there is no network", "--heat1d", "50,5", "--network", "string", status=2)
    done = run("--heat1d", "5,3", "--nodes", 8, "--threads", "1,2")
    expect(done.returncode == 0 and done.stderr.count("3 of 8 nodes run no kernel") == 1, f"five points on eight nodes: {done.stderr}")
    # Whatever the machine's file and the settings say of threads, planning and kernels: the paper's model has none of it.
    with tempfile.TemporaryDirectory() as folder:
        mine = pathlib.Path(folder, "mine")
        mine.write_text("workers = 3\nhandling = 9 us\nprogress = inline\nplanning = measured\neager = 0 B\nrendezvous = 1 us\nkernel step = 1 s\n")
        few = ("--heat1d", "5000,8", "--nodes", "4", "--threads", "1,8", "--window", "1,4")
        expect(run(*few, "--machine", mine, THREADS="0").stdout == run(*few).stdout, "the file of the machine changes --heat1d")
    for option in (("--kernel", "step=5ns"), ("--kernels", "file"), ("--calibrate-kernels",)):
        fails(f"--heat1d takes the time of a point from --item; leave out {option[0]}", "--heat1d", "50,5", *option, status=2)


def errors():
    fails("no program is given", status=2)
    fails("is not in PATH", "no-such-program", status=127)
    fails("there is no network 'hdrr'", "--network", "hdrr", *nbody, status=2)
    fails("there is no machine 'hall'", "--machine", "hall", *nbody, status=2)
    fails("--nodes is '0'", "--nodes", "0", *nbody, status=2)
    fails("--nodes is '5000'", "--nodes", "5000", *nbody, status=2)
    fails("--kernel is 'step'", "--kernel", "step", *nbody, status=2)
    fails("--kernel step is '-1ns', but must be a time", "--kernel", "step=-1ns", *nbody, status=2)
    fails("no line says latency, which the file of the network must", "--nodes", "4", "--network", "cores-16", *nbody)
    fails("it ended with status 0, and said nothing; a program must call tacit_init", "--nodes", "4", "/bin/true")
    fails("--kernel forces is '2.5', but must be a time, such as 2.5us", "--kernel", "forces=2.5", *nbody, status=2)
    said = run("--nodes", "2", "--kernel", "nosuch=2 ns", *nbody)
    expect(said.returncode == 0 and "--kernel nosuch has no effect" in said.stderr, said.stderr)
    said = run("--nodes", "2", *nbody, "--nosuch")
    expect(said.returncode != 0 and "unrecognized option '--nosuch'" in said.stderr and "would send" not in said.stderr, said.stderr)
    fails("did you mean '--network'", "--netwok", "hdr", *nbody, status=2)
    for option, value in (("--threads", "4"), ("--window", "4"), ("--latency", "5us"), ("--item", "5ns"), ("--strategy", "halo")):
        fails(f"{option} is for --heat1d", option, value, *nbody, status=2)
    for option in (("--nodes", "4"), ("--network", "hdr"), ("--machine", "hdr"), ("--json",), ("--kernel", "a=1ns"), ("--kernels", "file"),
                   ("--item", "5ns"), ("--trace", "x"), ("--calibrate-kernels",), ("--heat1d", "50,5"), ("--replay", "x")):
        fails(f"--calibrate measures this machine and takes no other option; leave out {option[0]}", "--calibrate", *option, status=2)
    fails("was not simulated on 2 nodes", "--nodes", "2", "true")
    failed = run("--nodes", "2,3", odd, "after", 9)
    expect(failed.returncode == 9 and "ended with status 9 on 2 simulated nodes" in failed.stderr and not failed.stdout,
           f"a program that fails: {failed.returncode}, {failed.stdout}{failed.stderr}")
    with tempfile.TemporaryDirectory() as folder:
        fails("ended with status 9", "--nodes", "2", "--trace", f"{folder}/t", odd, "after", 9, status=9)
        expect(not list(pathlib.Path(folder).iterdir()), "a failed simulation leaves records")


scaling()
more_nodes_than_items()
networks()
options()
this_machine()
rings()
if (examples / "cholesky").exists():  # there is a BLAS
    broadcasts()
traces()
heat()
errors()
print("\n".join(failures + [f"simulate: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
