#!/usr/bin/env python3
"""What `tacit trace` records and reports: of examples whose tasks and messages are known, of programs with odd names, of runs
that fail, and of records made by hand.

Usage: trace_test.py PATH-OF-TACIT FOLDER-OF-EXAMPLES PATH-OF-TRACED MPI"""
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

tacit, examples, traced, mpi = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def run(arguments, status=0, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    environment.update({"TACIT_" + k: v for k, v in settings.items()}, ASAN_OPTIONS="detect_leaks=0", LC_ALL="C")
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, errors="replace", env=environment, timeout=100)
    check(status is None or done.returncode == status, f"{arguments}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done


def page_data(path):
    """The data of a page: what stands between its two scripts, and that there is no other end of a script before it."""
    text = path.read_text()
    scripts = re.findall(r"<script\b[^>]*>(.*?)</script>", text, re.S)
    check(len(scripts) == 2, f"{path}: {len(scripts)} scripts")
    check("http://" not in text and "https://" not in text, f"{path}: it needs a network")
    return json.loads(scripts[0])


class Trace:
    def __init__(self, prefix):
        self.page = page_data(pathlib.Path(f"{prefix}.html"))
        document = json.loads(pathlib.Path(f"{prefix}.json").read_text())
        self.events, self.data = document["traceEvents"], document["otherData"]
        self.spans = [e for e in self.events if e["ph"] == "X"]

    def named(self, name, category, pid=None):
        return [e for e in self.spans if e["name"] == name and e["cat"] == category and pid in (None, e["pid"])]

    def check_events(self, what):
        """Times are in order, every send has its receive and comes before its end, counters end at nothing."""
        check(all(e["dur"] >= 0 and e["ts"] >= 0 for e in self.spans), f"{what}: negative times")
        slack = 1 + 2 * 1e-3 * self.data["clock_error_ns"]  # at the beginning, and at the end; rounded
        check(self.data["clock_error_ns"] < 1e7, f"{what}: clocks may be {self.data['clock_error_ns']} ns apart")
        sends = {e["id"]: e for e in self.events if e["ph"] == "s"}
        receives = {e["id"]: e for e in self.events if e["ph"] == "f"}
        check(sends.keys() == receives.keys(), f"{what}: {sorted(sends.keys() ^ receives.keys())[:5]} have one end")
        check(len(sends) == len([e for e in self.events if e["ph"] == "s"]), f"{what}: flows of the same name")
        for key in sends.keys() & receives.keys():
            e = receives[key]
            check(e["ts"] + slack >= sends[key]["ts"], f"{what}: {key} arrives {sends[key]['ts'] - e['ts']} us before it is sent")
        last = {}
        for e in self.events:
            if e["ph"] == "C":
                last[e["pid"], e["name"]] = e["args"][e["name"]]
                check(e["args"][e["name"]] >= 0, f"{what}: {e}")
        check(not any(last.values()), f"{what}: {last}")
        known = {(e["pid"], e["tid"]) for e in self.events if e["ph"] == "M" and e["name"] == "thread_name"}
        check({(e["pid"], e["tid"]) for e in self.spans} <= known, f"{what}: lanes without a name")
        return len(sends)

    def check_page(self, what, nodes):
        page = self.page
        check(page["nodes"] == nodes == len(page["node"]), f"{what}: {page['nodes']} nodes")
        check(page["dropped"] == 0, f"{what}: {page['dropped']} records were dropped")
        for q, node in enumerate(page["node"]):
            check(node["there"] and node["complete"], f"{what}: node {q} is not complete")
            check(nodes == 1 or node["clock_error"] >= 0, f"{what}: the clock of node {q} was not compared")
            length = node["workers"] * (node["end"] - node["begin"])
            check(abs(sum(node["spent"]) - length) <= length // 50 + 1000, f"{what}: node {q} spent {node['spent']} of {length}")
        steps = [page["path"][i:i + 7] for i in range(0, len(page["path"]), 7)]
        check(steps and steps[-1][0] <= 0 and steps[0][1] == page["ns"], f"{what}: the path goes from {steps[-1:]} to {steps[:1]}")
        check(all(a[0] == b[1] for a, b in zip(steps, steps[1:])), f"{what}: the path has gaps")
        check("TACIT_TRACE=" in page["settings"] and page["tacit"], f"{what}: no settings")
        lanes = [lane for lane in page["lanes"] if lane["kind"] == 2]
        for q, node in enumerate(page["node"]):
            mine = [lane for lane in lanes if lane["node"] == q]
            check(1 <= len(mine) <= node["workers"], f"{what}: {len(mine)} lanes of workers on node {q}")


def trace(folder, name, nodes, *program, **settings):
    prefix = folder / name
    launch = ["-n", nodes] if nodes > 1 or mpi != "none" else []
    done = run([tacit, "trace", *launch, "--output", prefix, *program], **settings)
    check(not list(folder.glob(f"{name}.*.tacit-trace")), f"{name}: records are left")
    check("  kernels " in done.stdout and "  first: " in done.stdout, f"{name}: {done.stdout}")
    found = Trace(prefix)
    found.check_page(name, nodes)
    return found


def nbody(folder, nodes):
    """Two tasks a step, and positions that are all-gathered; what comes from workers covers every chunk of every step."""
    steps = 17
    t = trace(folder, f"nbody{nodes}", nodes, examples / "nbody", "--plummer", "301", "--steps", steps, WORKERS="2")
    check(t.check_events(f"nbody on {nodes}") == 0 or nodes > 1, "messages on one node")
    for q in range(nodes):
        for task in ("kick", "drift"):
            parts = {e["args"]["task"] for e in t.named(task, "kernel", q)}
            submitted = len(t.named(task, "submission", q))
            check(submitted >= steps, f"nbody: {submitted} submissions of {task} on node {q}")
            check(len(parts) == submitted, f"nbody on {nodes}, node {q}: {len(parts)} of {submitted} {task} ran")
            check(len(t.named(task, "commands", q)) == len(t.named(task, "instructions", q)) == submitted, f"nbody: plans of {task}")
        gathers = [e for e in t.spans if e["cat"] == "collective" and e["name"] == "all-gather" and e["pid"] == q]
        check(all(e["args"]["buffer"] == "P" for e in gathers if e["args"]["task"] in parts), "nbody: buffers")
        check(len(gathers) >= steps - 1 if nodes > 1 else not gathers, f"nbody on {nodes}: {len(gathers)} collectives")
    loads = t.page["node"][0]["load"]
    check({t.page["names"][i] for i in loads[::3]} >= {"kick", "drift"}, f"nbody: {loads}")


def stencil(folder, nodes):
    """Neighbours exchange one message per step and direction."""
    steps = 23
    t = trace(folder, f"stencil{nodes}", nodes, examples / "wave_sim", "--rows", "61", "--cols", "53", "--steps", steps)
    flows = t.check_events(f"stencil on {nodes}")
    check(flows >= 2 * (nodes - 1) * (steps - 1), f"stencil on {nodes}: {flows} messages")
    sent = t.page["sent"]
    for p in range(nodes):
        for q in range(nodes):
            check((sent[p * nodes + q] > 0) == (abs(p - q) == 1), f"stencil: {sent}")
    sizes = {e["args"]["bytes"] for e in t.spans if e["cat"] == "send" and e["args"]["buffer"] in ("even", "odd")}
    check(nodes == 1 or 53 * 8 in sizes, f"stencil: messages of {sizes} bytes")


def shared(folder):
    """Threads of every kind, and without any."""
    for settings in ({"PROGRESS": "thread", "WORKERS": "3"}, {"PROGRESS": "shared", "WORKERS": "2"}, {"THREADS": "0"},
                     {"HOST_DEVICES": "2:discrete", "WORKERS": "2"}, {"RUN_AHEAD": "1", "HORIZON_STEP": "1", "WORKERS": "2"}):
        nodes = 1 if mpi == "none" else 2
        t = trace(folder, "modes", nodes, examples / "wave_sim", "--rows", "61", "--cols", "53", "--steps", "15", **settings)
        t.check_events(f"{settings}")
        parts = {e["args"]["task"] for e in t.named("advance", "kernel", 0)}
        check(len(parts) == 15, f"{settings}: {len(parts)} steps")


def collected(folder, nodes):
    """Bytes of collectives between pairs of nodes, by their patterns; what a node gets is what its counters say."""
    prefix = folder / f"patterns{nodes}"
    done = run([tacit, "trace", "-n", nodes, "--output", prefix, traced, "patterns"], LOG="info")
    data = page_data(pathlib.Path(f"{prefix}.html"))
    rows, columns, size = 24, 60, 8
    whole, part, block, sums = rows * columns * size, rows // nodes * columns * size, rows // nodes * (columns // nodes) * size, columns * size
    for p in range(nodes):
        for q in range(nodes):
            every = part + block + sums // (nodes - 1)  # all-gather, all-to-all, all-reduce
            expected = 0 if p == q else 2 * (every + (whole + part if p == 0 else 0) + (part if q == 0 else 0))
            check(data["collected"][p * nodes + q] == expected, f"{p} to {q} of {nodes}: {data['collected'][p * nodes + q]} bytes, not {expected}")
    check_counters(f"{nodes} nodes", data, done.stderr)
    for settings in ({}, {"COLLECTIVES": "off"}):
        done = run([tacit, "trace", "-n", nodes, "--output", prefix, examples / "nbody", "--plummer", 100, "--steps", 4], LOG="info", **settings)
        check_counters(f"nbody on {nodes} nodes {settings}", page_data(pathlib.Path(f"{prefix}.html")), done.stderr)


def check_counters(what, data, said):
    counters = {int(node): dict(re.findall(r"(\w+)=(\d+)", text)) for node, text in re.findall(r"\(node (\d+)\): counters:(.*)", said)}
    nodes = data["nodes"]
    check(len(counters) == nodes, f"{what}: counters of {len(counters)} nodes")
    for q, c in counters.items():
        for kind, key in (("sent", "bytes_received"), ("collected", "collective_bytes_received")):
            got = sum(data[kind][p * nodes + q] for p in range(nodes))
            check(abs(got - int(c[key])) <= nodes * int(c["collectives"]), f"{what}: node {q} got {got} bytes by the page, {c[key]} by its counters")
        check(sum(data["sent"][q * nodes:(q + 1) * nodes]) == int(c["bytes_sent"]), f"{what}: node {q} sent {c['bytes_sent']}")
    check(sum(data["collected"]) > 0 or not any(int(c["collectives"]) for c in counters.values()), f"{what}: nothing was collected")


def relayed(folder):
    """What relays of broadcasts pass on: as much as their counters say, between the send and the end of its receive, for the task and
    buffer of the sender."""
    nodes, prefix = 4, folder / "relays"
    done = run([tacit, "trace", "-n", nodes, "--output", prefix, traced, "relays"], LOG="info", WORKERS="2", BROADCAST="chain")
    t = Trace(prefix)
    t.check_events("relays")
    check_counters("relays", t.page, done.stderr)
    counters = [int(n) for n in re.findall(r"relayed_bytes=(\d+)", done.stderr)]
    spans, passed = [e for e in t.spans if e["cat"] == "relay"], t.page["passed"]
    check(len(counters) == nodes and sum(counters) > 0, f"relays: counters {counters}")
    check(sorted(counters) == sorted(sum(passed[q * nodes:(q + 1) * nodes]) for q in range(nodes)), f"relays: {passed}, counters {counters}")
    check(sum(e["args"]["bytes"] for e in spans) == sum(counters), f"relays: spans {spans}")
    ends = {(e["args"]["peer"], e["pid"], e["args"]["message"]): e for e in t.spans if e["cat"] == "receive"}
    begins = {(e["pid"], e["args"]["peer"], e["args"]["message"]): e for e in t.spans if e["cat"] == "send"}
    slack = 1 + 2 * 1e-3 * t.data["clock_error_ns"]
    for e in spans:
        key = e["args"]["for"], e["args"]["peer"], e["args"]["message"]
        got, sent = ends[key], begins[key]  # whose receive may be planned later than the relay gets it
        check(e["name"] == "look" and e["args"]["buffer"] == got["args"]["buffer"] and e["args"]["bytes"] == got["args"]["bytes"], f"relays: {e}, {got}")
        check(e["args"]["for"] == 0 and 0 < e["args"]["peer"] != e["pid"] > 0, f"relays: {e}")
        check(sent["ts"] - slack <= e["ts"] <= got["ts"] + got["dur"] + slack, f"relays: {e} is not between {sent} and {got}")
    steps = [e["id"] for e in t.events if e["ph"] == "t"]
    check(sorted(steps) == sorted(f"{e['args']['for']}>{e['args']['peer']}:{e['args']['message']}" for e in spans), f"relays: {steps}")
    check(f"{len(spans)} messages of broadcasts, {sum(counters)} bytes, passed on" in done.stdout, done.stdout)


def slow(folder):
    """Kernels of node 1 take long: others wait for its messages, and the report says so."""
    t = trace(folder, "slow", 3, traced, "slow", "1", WORKERS="1")
    waited, on_path = [0] * 3, [0] * 3
    for node, peer, buffer, _, collective, ns, _ in t.page["blames"]:
        check(collective or t.page["names"][buffer] in ("even", "odd") and abs(node - peer) == 1, f"slow: node {node} for {peer}")
        waited[peer] += 0 if collective else ns
    check(waited[1] > waited[0] + waited[2], f"slow: nodes waited for {waited}")
    for i in range(0, len(t.page["path"]), 7):
        start, end, node, _, _, kind, _ = t.page["path"][i:i + 7]
        on_path[node] += end - start if t.page["kinds"][kind] == "kernel" else 0
    check(on_path[1] > on_path[0] + on_path[2], f"slow: kernels on the critical path {on_path}")
    check(re.match(r"node \d waits \d+ % of its time for (messages|collectives) of '(even|odd)'", t.page["advice"]), t.page["advice"])


def odd_names(folder):
    t = trace(folder, "names", 1 if mpi == "none" else 2, traced, "names")
    t.check_events("names")
    check("m\u00f6ve \\ \x01 \ufffd \"</script>\"" in t.page["names"], f"{t.page['names']}")
    check(any(name.startswith("b2 </script><script>alert(1)</script>") for name in t.page["names"]), f"{t.page['names']}")


def by_hand(folder):
    """64 nodes whose clocks differ by minutes and drift: messages go forwards, all names are there. Dropped records are told."""
    prefix = folder / "hand"
    run([traced, "write", prefix, "64", "200"])
    done = run([tacit, "trace", "--report", prefix])
    t = Trace(prefix)
    check(t.check_events("by hand") == 64 * 200, "by hand: messages")
    check(abs(t.page["ns"] - 200 * 20000) < 30000, f"by hand: {t.page['ns']} ns")
    check("compute" in t.page["names"] and "halo <b>" in t.page["names"], f"{t.page['names']}")
    check(all(abs(node["spent"][1] - 200 * 5000) < 400 * 200 for node in t.page["node"]), f"by hand: {t.page['node'][3]['spent']}")
    check("dropped" not in done.stderr, done.stderr)
    run([traced, "write", prefix, "3", "700", "37"])
    done = run([tacit, "trace", "--report", prefix])
    check("111 records were dropped" in done.stderr and Trace(prefix).page["dropped"] == 111, done.stderr)
    run([traced, "write", prefix, "3", "25000"])
    run([tacit, "trace", "--report", prefix])
    big = Trace(prefix)
    check(len(big.spans) == 3 * 25000 * 5, f"by hand: {len(big.spans)} spans")
    drawn = sum(len(lane["spans"]) // 8 for lane in big.page["lanes"])
    check(big.page["merged"] + drawn == 3 * 25000 * 5 and drawn < 320000, f"by hand: {drawn} drawn, {big.page['merged']} merged")


def merged(folder):
    """Of long runs the JSON file, too, merges short spans, and says so; it counts each, and every flow has both ends."""
    nodes, tasks, prefix = 8, 25000, folder / "long"
    run([traced, "write", prefix, nodes, tasks])
    done = run([tacit, "trace", "--report", prefix])
    t = Trace(prefix)
    count = sum(e["args"].get("merged", 1) for e in t.spans)
    check(count == nodes * tasks * 5 and len(t.spans) < 520000, f"merged: {len(t.spans)} spans for {count} events")
    check(t.data["merged"] == count - len(t.spans) > 0 and f"{t.data['merged']} short spans are drawn together" in done.stdout, f"merged: {t.data} {done.stdout}")
    flows = t.check_events("merged")
    check(flows == len([k for k in range(tasks) if k % t.data["one_flow_of"] == 0]) * nodes and flows <= 110000, f"merged: {flows} flows")
    lanes = {}
    for e in t.spans:
        lanes.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["dur"]))
    for lane, spans in lanes.items():
        check(all(a[0] + a[1] <= b[0] + 0.002 for a, b in zip(spans, spans[1:])), f"merged: spans of lane {lane} overlap")


def contexts(folder):
    """Several contexts, two of them at the same time: each has files, a report and an explain table of its own, up to the sixteenth."""
    nodes = 1 if mpi == "none" else 2
    launch, prefix = (["-n", nodes] if nodes > 1 else []), folder / "contexts"
    run([tacit, "trace", *launch, "--keep", "--output", prefix, traced, "contexts", 4])
    done = run([tacit, "trace", *launch, "--output", prefix, traced, "contexts", 3])  # nothing of the run before is left
    check(done.stdout.count("  kernels ") == 3 and "tacit trace, context 3:" in done.stdout, f"contexts: {done.stdout}")
    check(sorted(path.name for path in folder.glob("contexts*.tacit-trace")) == [], "contexts: records are left")
    check(not list(folder.glob("contexts*explain*")), "contexts: tables are left")
    for k, suffix in ((1, ""), (2, ".context2"), (3, ".context3")):
        t = Trace(f"{prefix}{suffix}")
        t.check_page(f"context {k}", nodes)
        names = {e["name"] for e in t.spans if e["cat"] == "kernel"}
        check(names == {"fill", f"task{k}"}, f"context {k} has kernels of {names}")
        check(nodes == 1 or f"task{k}" in t.page["explain"], f"context {k} has the table {t.page['explain']}")
    done = run([traced, "contexts", 18], TRACE=folder / "many")
    check(len(list(folder.glob("many*.0.tacit-trace"))) == 16, "contexts: more than sixteen are traced, or fewer")
    check(done.stderr.count("of which only the first 16 are traced") == 2, f"contexts: {done.stderr}")


def failing(folder):
    """A node ends in the middle: what was recorded until then is reported, with the program's exit status."""
    nodes = 1 if mpi == "none" else 2
    done = run([tacit, "trace", *(["-n", nodes] if nodes > 1 else []), "--output", folder / "fail", traced, "fail", nodes - 1], status=None)
    check(done.returncode not in (0, 2), f"fail: exit status {done.returncode}")
    check("end in the middle" in done.stderr, f"fail: {done.stderr}")
    t = Trace(folder / "fail")
    check(not all(node["complete"] for node in t.page["node"]), "fail: complete")
    check(len(t.named("move", "kernel")) >= 10, f"fail: {len(t.spans)} spans")


def refused(folder):
    done = run([examples / "nbody", "--plummer", "50", "--steps", "2"], status=1, TRACE="/nowhere/x")
    check("cannot write '/nowhere/x.0.tacit-trace'" in done.stderr, done.stderr)
    done = run([tacit, "trace", "--output", "/nowhere/x", examples / "nbody", "--plummer", "50", "--steps", "2"], status=1)
    check("cannot write '/nowhere/x.0.tacit-trace'" in done.stderr, done.stderr)
    done = run([tacit, "trace", "--report", folder / "absent"], status=1)
    check("cannot be read" in done.stderr, done.stderr)
    (folder / "other.0.tacit-trace").write_text("something else, long enough to be taken for a header" * 3)
    done = run([tacit, "trace", "--report", folder / "other"], status=1)
    check("is no trace of tacit" in done.stderr, done.stderr)
    done = run([tacit, "trace", "--output", folder / "true", "/bin/true"], status=1)
    check("recorded nothing" in done.stderr, done.stderr)
    run([tacit, "trace"], status=2)
    run([tacit, "trace", "--report", "x", "/bin/true"], status=2)


def setting(folder):
    """Without the tool: records stay, and a report can be made of them; whole files and files that were cut anywhere."""
    prefix = folder / "set"
    run([examples / "nbody", "--plummer", "50", "--steps", "5"], TRACE=str(prefix))
    file = folder / "set.0.tacit-trace"
    whole = file.read_bytes()
    run([tacit, "trace", "--report", prefix])
    records = Trace(prefix).page["records"]
    check(file.exists(), "the records are gone")
    for cut in (50, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        run([tacit, "trace", "--report", prefix])
        check(Trace(prefix).page["records"] <= records, f"cut at {cut}")
    done = run([examples / "nbody", "--plummer", "50", "--steps", "5"], TRACE=str(prefix), DRY_RUN="4")
    check("tacit-trace" not in done.stderr, done.stderr)


def progress(folder):
    """On a terminal there is a line that is rewritten, and removed at the end; in files there is none."""
    commands = [[tacit, "trace", "--output", folder / "far", traced, "slow", "0"],
                [tacit, "plan", "--nodes", "4,9", examples / "nbody", "--plummer", "99", "--steps", "3"],
                [tacit, "simulate", "--nodes", "4,9", examples / "nbody", "--plummer", "99", "--steps", "3"]]
    if (pathlib.Path(tacit).resolve().parent.parent / "libexec" / "tacit-bench-plan").exists():
        commands.append([tacit, "bench", "plan", "--pattern", "stencil", "--nodes", "4", "--tasks", "64", "--repeat", "3"])
        if mpi != "none":
            commands.append([tacit, "bench", "messages", "--bytes", "8"])
    for command in commands:
        words = [str(a) for a in command]
        check("\r" not in run(command).stderr, f"{words[1]}: a progress line in a file")
        mine, its = pty.openpty()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=its, env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        os.close(its)
        said = b""
        try:
            while chunk := os.read(mine, 4096):
                said += chunk
        except OSError:  # the other end is closed
            pass
        os.close(mine)
        check(process.wait() == 0, f"{words[1]} on a terminal: exit status {process.returncode}")
        check(b"\r\x1b[Ktacit " in said and said.endswith(b"\r\x1b[K"), f"{words[1]}: {said}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for nodes in (1, 2, 3) if mpi != "none" else (1,):
        nbody(folder, nodes)
        stencil(folder, nodes)
    if mpi != "none":
        slow(folder)
        collected(folder, 3)
        collected(folder, 4)
        relayed(folder)
    for test in (shared, odd_names, contexts, by_hand, merged, failing, refused, setting, progress):
        test(folder)
print("\n".join(failures[:40] + [f"trace: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
