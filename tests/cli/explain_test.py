#!/usr/bin/env python3
"""What `tacit explain` says about programs whose communication is known.

Usage: explain_test.py PATH-OF-TACIT FOLDER-OF-EXAMPLES PATH-OF-EXPLAINED"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

tacit, examples, explained = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def run(arguments, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    environment.update({"TACIT_" + k: v for k, v in settings.items()}, ASAN_OPTIONS="detect_leaks=0")
    done = subprocess.run(arguments, capture_output=True, text=True, env=environment, timeout=100)
    check(done.returncode == 0, f"{arguments}: exit status {done.returncode}: {done.stderr}")
    return done


def edges(program, *arguments, nodes="16", **settings):
    report = json.loads(run([tacit, "explain", "--json", "--nodes", nodes, str(examples / program), *arguments], **settings).stdout)
    return {(e["producer"], e["consumer"], e["buffer"], e["verdict"]): e for e in report["edges"]}


def nbody():
    """Figures 1 and 2 of the paper: positions are all-gathered before every kick but the first, velocities never move."""
    found = edges("nbody", "--steps", "5", "--plummer", "1024")
    steps = {key: e for key, e in found.items() if key[1] in ("kick", "drift")}
    check(set(steps) == {("drift", "kick", "P", "collective"), ("kick", "drift", "V", "free"), ("kick", "kick", "V", "free"),
                         ("drift", "drift", "P", "free")}, f"nbody: {sorted(found)}")
    gather = found["drift", "kick", "P", "collective"]
    check(gather["became"] == "all-gather" and gather["pattern"] == "all-gather" and gather["region"] == "[0,1024)", f"{gather}")
    each = 1024 * 24  # bytes of all positions
    check(gather["region_bytes"] == each, f"{gather}")
    check(gather["sent_bytes"] == gather["times"] * each // 16, f"{gather}")
    check(gather["received_bytes"] == gather["times"] * each * 15 // 16, f"{gather}")
    check(gather["messages"] == 0 and "reason" not in gather, f"{gather}")
    free = found["kick", "drift", "V", "free"]
    check(free["became"] == "free" and free["sent_bytes"] == 0 and free["received_bytes"] == 0, f"{free}")


def off():
    found = edges("nbody", "--steps", "5", "--plummer", "1024", COLLECTIVES="off")
    by_messages = found["drift", "kick", "P", "off"]
    check(by_messages["became"] == "messages, 15 peers" and by_messages["reason"] == "collectives are off", f"{by_messages}")
    check(by_messages["messages"] == by_messages["times"] * 30, f"{by_messages}")
    with_collectives = edges("nbody", "--steps", "5", "--plummer", "1024")["drift", "kick", "P", "collective"]
    check(by_messages["received_bytes"] == with_collectives["received_bytes"], f"{by_messages} {with_collectives}")
    check(by_messages["sent_bytes"] == 15 * with_collectives["sent_bytes"], f"{by_messages} {with_collectives}")


def stencil():
    """Halos are messages to the neighbours: one at the border, two inside."""
    for node, peers in (("0", "1 peer"), ("7", "2 peers")):
        found = edges("jacobi", "--rows", "200", "--cols", "30", "--steps", "10", nodes="16:" + node)
        halo = found["sweep", "sweep", "U", "neither"]
        check(halo["became"] == "messages, " + peers, f"{halo}")
        check(halo["reason"] == "the consumer mapper of 'sweep' on 'U' is neither constant nor non-overlapping", f"{halo}")
        check("neighbours exchange messages" in halo["remedy"], f"{halo}")


def groups():
    """A product split in two dimensions: rows of one matrix and columns of the other, in a grid of 3 x 2 nodes; or in two grids that differ."""
    found = edges("matmul", "--split", "2d", "--rows", "36", "--inner", "30", "--cols", "24", nodes="6")
    rows, columns = found["fill", "multiply", "A", "collective"], found["fill", "multiply", "B", "collective"]
    check(rows["became"] == "all-gather in 3 groups of 2" and (rows["groups"], rows["group_nodes"]) == (3, 2), f"{rows}")
    check(columns["became"] == "all-gather in 2 groups of 3" and (columns["groups"], columns["group_nodes"]) == (2, 3), f"{columns}")
    check((rows["sent_bytes"], rows["received_bytes"]) == (12 * 15 * 8, 12 * 15 * 8), f"{rows}")
    check((columns["sent_bytes"], columns["received_bytes"]) == (10 * 12 * 8, 20 * 12 * 8), f"{columns}")
    found = edges("matmul", "--split", "2d", "--rows", "36", "--inner", "30", "--cols", "24", "--panels", "6", nodes="6:3")
    panels = found["fill", "multiply", "A", "collective"]
    check(panels["became"] == "broadcast in 3 groups of 2" and panels["times"] == 6, f"{panels}")
    check((panels["sent_bytes"], panels["received_bytes"]) == (12 * 15 * 8, 12 * 15 * 8), f"{panels}")
    found = edges("matmul", "--split", "2d", "--rows", "36", "--inner", "40", "--cols", "24", nodes="6")
    other, columns = found["fill", "multiply", "A", "group_grid"], found["fill", "multiply", "B", "collective"]
    check("'fill' has no such grid of chunks" in other["reason"] and "longer in the same dimension" in other["remedy"], f"{other}")
    check(columns["became"] == "all-gather in 2 groups of 3", f"{columns}")


def table():
    text = run([tacit, "explain", "--nodes", "64:3", str(examples / "nbody"), "--steps", "3"]).stdout
    lines = text.splitlines()
    check(lines[0] == "tacit explain: what became of the edges between tasks, as node 3 of 64 sees it", text)
    check(any(line.split()[:6] == ["drift", "kick", "P", "all-gather", "3", "1.12"] for line in lines), text)
    text = run([tacit, "explain", "--nodes", "1", str(examples / "nbody"), "--steps", "3"]).stdout
    check("on one node nothing moves" in text, text)


def by_setting():
    """TACIT_EXPLAIN alone: stderr, a file, a file with JSON; a file that cannot be written."""
    program = [str(examples / "nbody"), "--steps", "2"]
    check("all-gather" in run(program, DRY_RUN="8", EXPLAIN="1").stderr, "nothing on stderr")
    check("tacit explain" not in run(program, DRY_RUN="8", EXPLAIN="0").stderr, "0 explains")
    with tempfile.TemporaryDirectory() as folder:
        table, report = pathlib.Path(folder) / "table", pathlib.Path(folder) / "report.json"
        run(program, DRY_RUN="8", EXPLAIN=str(table))
        check("all-gather" in table.read_text(), "no table")
        run(program, DRY_RUN="8", EXPLAIN=str(report))
        check(json.loads(report.read_text())["nodes"] == 8, "no report")
        environment = {**os.environ, "TACIT_DRY_RUN": "8", "TACIT_EXPLAIN": folder + "/none/x", "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run(program, capture_output=True, text=True, env=environment, timeout=100)
        check("set TACIT_EXPLAIN to 1, or to a path in a folder that exists and has room" in done.stderr, done.stderr)


def on_nodes():
    """The same from a run on two nodes as from a plan of it."""
    if "programs run on one node" in run([tacit, "info"]).stdout:
        return
    program = [str(examples / "nbody"), "--steps", "4", "--plummer", "256"]
    lived = json.loads(run([tacit, "explain", "--json", "-n", "2", *program]).stdout)
    planned = json.loads(run([tacit, "explain", "--json", "--nodes", "2", *program]).stdout)
    check(lived["nodes"] == 2 and lived["node"] == 0, f"{lived}")
    key = lambda e: (e["producer"], e["consumer"], e["buffer"])
    for e in planned["edges"]:
        check(e in lived["edges"] or "fence" in key(e), f"{e} is not in {lived}")
    check(planned["carried_out"] == [], "a plan carries nothing out")
    for schedule, who in [("mpi", "by_mpi"), ("direct", "by_messages"), ("auto", "by_messages")]:  # two nodes do not need MPI's trees
        carried = json.loads(run([tacit, "explain", "--json", "-n", "2", *program], COLLECTIVE_SCHEDULE=schedule).stdout)["carried_out"]
        counts = {c["pattern"]: c for c in carried}["all-gather"]
        check(counts[who] >= 4 and counts["by_mpi"] + counts["by_messages"] == counts[who], f"{schedule}: {carried}")
    text = run([tacit, "explain", "-n", "2", *program], COLLECTIVE_SCHEDULE="mpi").stdout
    check("Who carried collectives out on this node" in text and " by MPI\n" in text, text)


def several():
    """Several reads of one buffer, buffers of one name, rows that one node wrote, and what each leaves to messages."""
    found = edges(explained, nodes="256:100")
    parts = found["write", "two parts", "same", "collective"]
    check(parts["became"] == "all-gather" and parts["peers"] == 0, f"{parts}")
    check(parts["received_bytes"] >= 8 * (760 - 4), f"{parts}")
    mixed = found["write", "part and halo", "same (2)", "collective"]
    check(mixed["became"] == "all-gather and messages, 2 peers", f"{mixed}")
    check(mixed["reason"] == "the consumer mapper of 'part and halo' on 'same (2)' is neither constant nor non-overlapping", f"{mixed}")
    halves = found["alone", "halves", "V", "collective"]
    check(halves["became"] == "scatter" and halves["times"] == 2 and halves["messages"] == 0, f"{halves}")
    rows = edges(explained, nodes="4")
    check(rows["fill", "eliminate", "M", "collective"]["pattern"] == "broadcast", f"{rows}")
    text = run([tacit, "explain", "--nodes", "4", explained]).stdout
    table, _, reasons = text.partition("Why messages are no collectives:\n")
    numbers = [line for line in reasons.splitlines() if line.startswith(" (")]
    check(numbers and len(numbers) == len(set(line.split(") ", 1)[1] for line in numbers)), text)
    advice = [line for line in reasons.splitlines() if line.startswith("     ") and not line.startswith("     As for (")]
    check(len(advice) == len(set(advice)), text)
    check(all(f"({i + 1})" in table for i in range(len(numbers))), text)


def windows():
    """Windows of pure tasks: how many there were, what they cost, and that they save the messages that they say."""
    def received(**settings):
        command = [tacit, "explain", "--json", "--nodes", "4:1", str(examples / "wave_sim"), "--steps", "40"]
        report = json.loads(run(command, COLLECTIVES="off", **settings).stdout)
        steps = [e for e in report["edges"] if e["consumer"] == "advance"]
        return report["windows"], sum(e["messages"] for e in steps) // 2
    none, singly = received()
    check(none == [], f"{none}")
    found, together = received(LATENCY="halo:4")
    full = [w for w in found if w["tasks"] == 4]
    check(full and all(w["closed_by"] is None or w["why"] == "has no hint pure" for w in found), f"{found}")
    check(sum(w["times"] * w["tasks"] for w in found) == 40, f"{found}")
    check(all(w["redundant_items"] * 128 * w["tasks"] == w["items"] * 2 * (w["tasks"] - 1) * w["tasks"] // 2 for w in found), f"{found}")
    # An edge counts what it has a part of: each window has one message from each side, of both fields.
    check(singly - together == 40 and singly - 2 * sum(w["times"] for w in found) == sum(w["saved_messages"] for w in found),
          f"{singly} {together} {found}")
    text = run([tacit, "explain", "--nodes", "4:1", str(examples / "wave_sim")], LATENCY="halo:3").stdout
    check(" x 3 tasks, 'advance' to 'advance': " in text and "closed: 'progress' has no hint pure" in text, text)


def tiles():
    """Windows are cut in tiles, on one node, too, and the report says how large they are, or why there are none."""
    def of(nodes, **settings):
        command = [tacit, "explain", "--json", "--nodes", nodes, str(examples / "wave_sim"), "--steps", "40"]
        return json.loads(run(command, LATENCY="halo:4", **settings).stdout)["tiles"]
    check(of("1") == [] and of("4:1") == [], "tiles without being asked")
    for nodes, rows, bytes_of in (("1", 512, 512), ("4:1", 128, 136)):
        found = of(nodes, LATENCY_TILE="512k")
        made = [t for t in found if t["no_tiles"] is None and t["tasks"] == 4]
        check(made and all(t["tiles"] * t["extent"][0] >= rows and t["extent"][1] == 512 and t["bytes"] >= 2 * 8 * 512 * rows
                           and t["bytes"] <= 2 * 8 * 512 * bytes_of for t in made), f"{found}")
        small = of(nodes, LATENCY_TILE="1G")
        check(small and all(t["tiles"] == 0 and t["no_tiles"] for t in small), f"{small}")
    wave_sim = [tacit, "explain", "--nodes", "1", str(examples / "wave_sim"), "--steps", "40"]
    text = run(wave_sim + ["--split", "2d"], LATENCY="halo:8", LATENCY_TILE="96k").stdout
    check(" 8 tasks, 'advance' to 'advance': " in text and " tiles of " in text and " x 512 items" not in text, text)
    text = run(wave_sim, LATENCY="halo:8", LATENCY_TILE="2k").stdout
    check("no tiles: a tile would be smaller than what" in text, text)


def overlap():
    """Steps of a stencil are cut where they are large enough, and what is not is said to be, with the reason; in windows they are not listed."""
    def found(node, *size, **settings):
        command = [tacit, "explain", "--json", "--nodes", f"4:{node}", str(examples / "jacobi"), *size, "--steps", "10"]
        return {(o["task"], o["why_not"]): o for o in json.loads(run(command, WORKERS="2", **settings).stdout)["overlap"]}
    large, small = ("--rows", "4000", "--cols", "1000"), ("--rows", "100", "--cols", "100")
    for node, borders in ((0, 1), (1, 2)):
        cut = found(node, *large)["sweep", None]
        check(cut["parts"] == borders + 1 and cut["items_at_once"] * 1000 == cut["items"] * (1000 - borders), f"{cut}")
    little = found(1, *small)
    check(all("too little time" in why or "reduces" in why for _, why in little), f"{little}")
    check(("sweep", None) in found(1, *small, OVERLAP="on") and ("sweep", "TACIT_OVERLAP is off") in found(1, *large, OVERLAP="off"), "TACIT_OVERLAP")
    text = run([tacit, "explain", "--nodes", "4:1", str(examples / "jacobi"), *small, "--steps", "10"], OVERLAP="on").stdout
    check("What of tasks waits for their messages (TACIT_OVERLAP), as this node sees them:" in text and "'sweep': cut into up to 3 parts, " in text, text)


def sparse_windows():
    """The same with custom mappers: a row of the grid at each border of a node for each product that follows, or in stages b * b / 4."""
    command = [tacit, "explain", "--json", "--nodes", "4:1", str(examples / "powers"), "--cols", "16", "--power", "12", "--rows"]
    for strategy, rows in ("halo", 3 + 2 + 1), ("staged", 4):
        report = json.loads(run([*command, "80"], COLLECTIVES="off", LATENCY=f"{strategy}:4").stdout)
        found = report["windows"]
        check(len(found) == 1 and found[0]["times"] == 3 and found[0]["tasks"] == 4, f"{found}")
        check(found[0]["saved_messages"] == 3 * (4 * 2 - 2), f"{found}")
        check(found[0]["redundant_items"] == 3 * 2 * 16 * rows, f"{found}")
    text = run([*command[:2], *command[3:], "24"], LATENCY="staged:4").stdout
    check("not in stages: chunks are too short" in text, text)


def failing():
    """A program that fails is heard, and its exit status passed on."""
    done = subprocess.run([tacit, "explain", str(examples / "jacobi"), "--rows", "none"], capture_output=True, text=True, timeout=100)
    check(done.returncode != 0 and "rows" in done.stderr, done.stderr)


for test in (on_nodes, several, windows, tiles, overlap, sparse_windows, failing, nbody, off, stencil, groups, table, by_setting):
    test()
print("\n".join(failures + [f"explain: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
