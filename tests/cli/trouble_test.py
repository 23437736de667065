#!/usr/bin/env python3
"""What programs of tacit and the tool do where something around them goes wrong: disks that are full, settings that differ, signals.

Usage: trouble_test.py PATH-OF-TACIT FOLDER-OF-EXAMPLES MPI (openmpi, mpich, other or none) PATH-OF-ODD"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

tacit, examples, mpi = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
odd = os.path.abspath(sys.argv[4])
hello = str(examples / "hello")
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def environment(**settings):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    return {**kept, **{"TACIT_" + k: v for k, v in settings.items()}, "ASAN_OPTIONS": "detect_leaks=0", "LC_ALL": "C"}


def run(arguments, timeout=100, **settings):
    try:
        return subprocess.run(arguments, capture_output=True, text=True, env=environment(**settings), timeout=timeout)
    except subprocess.TimeoutExpired:
        check(False, f"{arguments} {settings}: no end after {timeout} s")
        return subprocess.CompletedProcess(arguments, -1, "", "")


def fails(done, *texts):
    check(done.returncode != 0, f"{done.args}: exit status 0: {done.stderr}")
    for text in texts:
        check(text in done.stdout + done.stderr, f"{done.args}: not '{text}' in: {done.stdout}{done.stderr}")


def full_disk():
    """Every file, whatever fits into it: nothing, or a part (of less or more than a stream's buffer)."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("g.task.dot", "g.command.0.dot", "g.instruction.0.dot"):
            path = pathlib.Path(folder, name)
            path.symlink_to("/dev/full")
            fails(run([hello], GRAPH=folder + "/g"), f"cannot write '{path}': No space left on device; set TACIT_GRAPH to")
            path.unlink()
        # A file that may have a KiB ends in the middle.
        limited = ["bash", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "x"]
        nbody = [str(examples / "nbody"), "--steps", "60", "--plummer", "64"]
        fails(run([*limited, *nbody], GRAPH=folder + "/g"), "File too large")
        fails(run([*limited, tacit, "graph", "--output", folder, *nbody]), "File too large", "may not be complete")
        fails(run([*limited, *nbody], DRY_RUN="4", DRY_RUN_REPORT=folder + "/r"), "File too large")
        fails(run([*limited, tacit, "explain", "--json", *nbody]))
    fails(run([hello], DRY_RUN="4", DRY_RUN_REPORT="/dev/full"), "cannot write '/dev/full': No space left", "DRY_RUN_REPORT")
    fails(run([hello], EXPLAIN="/dev/full"), "cannot write '/dev/full': No space left", "TACIT_EXPLAIN")
    fails(run([str(examples / "nbody"), "--steps", "1", "--output", "/dev/full"]), "cannot write /dev/full: No space left")


def lonely_processes():
    """The launcher of another MPI: what it says in the environment, by all launchers' names; only the first process speaks."""
    words = "each of them runs alone"
    launchers = [("PMI_SIZE", "PMI_RANK"), ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("MPI_LOCALNRANKS", "MPI_LOCALRANKID")]
    strange = {"openmpi": launchers[0], "mpich": launchers[1], "none": launchers[0]}.get(mpi)
    for size, rank, said in ((3, 0, 1), (3, 2, 0), (1, 0, 0)) if strange else ():
        before = dict(os.environ)
        os.environ.update({strange[0]: str(size), strange[1]: str(rank)})
        done = run([hello])
        os.environ.clear()
        os.environ.update(before)
        check(done.returncode == 0 and done.stderr.count(words) == said, f"{strange} {rank} of {size}: {done.stderr}")
    other = shutil.which({"openmpi": "mpiexec.mpich", "mpich": "mpiexec.openmpi"}.get(mpi, ""))
    if other:
        # Where Open MPI keeps the folders of all of a user's jobs: the last one removes that, while another one may be about to
        # make its own in there, unless something stays.
        with tempfile.TemporaryDirectory() as base:
            pathlib.Path(base, f"ompi.{os.uname().nodename.split('.')[0]}.{os.getuid()}", "stays").mkdir(parents=True)
            may = ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
                   f"OMPI_MCA_orte_tmpdir_base={base}"]
            done = run(["env", *may, other, "-n", "2", hello])
        check((done.stdout + done.stderr).count(words) == 1, f"{other}: {done.stderr}")
    if mpi != "none":
        done = run([tacit, "run", "-n", "2", hello])
        check(words not in done.stdout + done.stderr, f"tacit run: {done.stderr}")


def full_output():
    """The tool's results."""
    for command in ("help", "--version", "info", "info --json", "help settings", "help settings --json", "bench --list",
                    f"plan --nodes 4 {hello}", f"explain {hello}", f"explain --json {hello}", "run --help"):
        fails(run(["bash", "-c", f"'{tacit}' {command} >/dev/full"]), "standard output cannot be written: No space left")


def names():
    """Names that are no UTF-8: what is for other programs is UTF-8 nevertheless."""
    task, buffer = "t\N{REPLACEMENT CHARACTER}sk", "b" + 3 * "\N{REPLACEMENT CHARACTER}"
    with tempfile.TemporaryDirectory() as folder:
        for command in (["explain", "--json"], ["explain"], ["plan", "--json", "--nodes", "4"]):
            output = subprocess.run([tacit, *command, odd, "names"], capture_output=True, env=environment()).stdout.decode()
            check(task in output or buffer in output, f"{command}: {output}")
            check("--json" not in command or json.loads(output), f"{command}")
        report = pathlib.Path(folder, "report")
        subprocess.run([odd, "names"], env=environment(DRY_RUN="4", DRY_RUN_REPORT=str(report)), stderr=subprocess.DEVNULL)
        check(json.loads(report.read_text())["by_task"][0]["name"] == task, report.read_text())
        subprocess.run([odd, "names"], env=environment(GRAPH=folder + "/g"))
        for graph in pathlib.Path(folder).glob("*.dot"):
            check(task in graph.read_text() and buffer in graph.read_text(), f"{graph}: {graph.read_text()}")
        names = {os.fsencode(k): os.fsencode(v) for k, v in environment().items()}
        names[b"TACIT_GRAPH"] = os.fsencode(folder) + b"/\xff"
        output = subprocess.run([tacit, "info", "--json"], capture_output=True, env=names).stdout.decode()
        check("/\N{REPLACEMENT CHARACTER}" in {s["name"]: s["value"] for s in json.loads(output)["settings"]}["TACIT_GRAPH"], output)


def hints():
    """What makes programs slow, once; what makes plans slow, once and only then."""
    checked = "every access of kernels to an element was checked"
    for nodes in [1] + ([3] if mpi != "none" else []):
        done = run([tacit, "run", "-n", str(nodes), odd] if nodes > 1 else [odd])
        check(done.returncode == 0 and done.stderr.count(checked) == 1, f"{nodes} nodes: {done.stderr}")
    check(checked not in run([odd], LOG="error").stderr, "a hint with TACIT_LOG=error")
    check(checked not in run([odd], DRY_RUN="4").stderr, "a dry run checks accesses")
    for quick in (run([odd, "host", "1"], DRY_RUN="4"), run([tacit, "plan", "--nodes", "4", odd, "host", "1"])):
        check("has worked for" not in quick.stderr and "in a plan" not in quick.stderr, quick.stderr)


SLEEPS = 11 # seconds, one more than it takes to be told


def sleeper(*arguments, **settings):
    """A program that works outside of tacit for long, which takes no core: other things are tried meanwhile."""
    return subprocess.Popen([*arguments, odd, "host", str(SLEEPS)], env=environment(**settings), stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def long_work(dry, live, plan):
    """What is said of it in a dry run, and once in a plan, and not in a live run."""
    said = dry.communicate()[1]
    check(said.count(f"whose fences give zeros, and the program has worked for {SLEEPS} s outside of tacit") == 1, said)
    check("fences give zeros" not in live.communicate()[1], "a live run is no dry run")
    said = plan.communicate()[1]
    check(plan.returncode == 0 and said.count("Fences give zeros in a plan") == 1, f"plan: {said}")


def at_once(function, cases):
    """Several at a time: launchers mostly wait, above all where they end a job."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(function, *case) for case in cases]:
            done.result()


def exits():
    """A kernel that calls exit: an error that names it, whatever the status, and the job ends."""
    def one(nodes, way, status, settings):
        launch = [tacit, "run", "-n", str(nodes)] if nodes > 1 else []
        fails(run([*launch, odd, way, status], timeout=60, **settings), f"task 'task' on node {nodes - 1}: its kernel called exit")

    counts = [1] + ([3] if mpi != "none" else [])
    at_once(one, [(nodes, way, status, settings) for nodes in counts for way in ("exit", "host-exit")
                  for status in (("0", "3") if nodes == 1 else ("0",))
                  for settings in ({}, {"THREADS": "0"}, {"WORKERS": "3"}, {"BOUNDS_CHECK": "1"})])
    for nodes in counts:
        done = run([*([tacit, "run", "-n", str(nodes)] if nodes > 1 else []), odd, "fork"], WORKERS="1")
        check(done.returncode == 0 and "called exit" not in done.stderr, f"fork on {nodes} nodes: {done.stderr}")


def signals():
    """The tool ends by them, its program ends, and nothing stays in the temporary directory."""
    for command in (["plan", "--nodes", "4"], ["explain"], ["graph", "--output", "."]):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with tempfile.TemporaryDirectory() as folder:
                marker = pathlib.Path(folder, "marker")
                script = 'echo $$ "$TACIT_DRY_RUN_REPORT$TACIT_EXPLAIN$TACIT_GRAPH" >made; mv made marker; exec sleep 60'
                tool = subprocess.Popen([tacit, *command, "sh", "-c", script], env=environment(), cwd=folder, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
                until = time.monotonic() + 60
                while not marker.exists() and time.monotonic() < until:
                    time.sleep(0.01)
                program, report = marker.read_text().split()
                check(pathlib.Path(report).parent.exists(), f"{command}: {report} cannot be written")
                tool.send_signal(number)
                try:
                    tool.wait(30)
                except subprocess.TimeoutExpired:
                    check(False, f"{command}: goes on after {number}")
                    tool.kill()
                    tool.wait()
                    os.kill(int(program), signal.SIGKILL)
                check(tool.returncode == -number, f"{command}, signal {number}: exit status {tool.returncode}")
                check(not pathlib.Path(report).parent.exists(), f"{command}, signal {number}: leaves {report}")
                check(not pathlib.Path("/proc", program).exists(), f"{command}, signal {number}: its program goes on")


def settings_that_differ():
    """Whatever nodes would wait for: one node says what differs, all end, and soon."""
    differ = {"COLLECTIVE_SCHEDULE": ("measure", "auto"), "DRY_RUN": ("3", "not set"), "COLLECTIVES": ("off", "lookahead"), "REPRODUCIBLE": ("1", "0"),
              "HORIZON_STEP": ("7", "4"), "HORIZON_FRONT": ("99", "not set")}

    def one(name, other, usual, nodes):
        cases = "|".join(str(node) for node in nodes)
        script = f'case "${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}" in {cases}) export TACIT_{name}={other} ;; esac; exec "$0"'
        done = run([tacit, "run", "-n", "3", "sh", "-c", script, hello])
        node, here, there = (nodes[0], other, usual) if nodes != [0] else (1, usual, other)
        fails(done, f"TACIT_{name} is {here} on node {node}, but {there} on node 0")
        check(done.stderr.count("TACIT_" + name) == 1, f"{name}: said more than once: {done.stderr}")
        check("^2 =" not in done.stdout, f"{name}: something was computed")

    at_once(one, [(name, other, usual, nodes) for name, (other, usual) in differ.items() for nodes in ([1], [1, 2], [2], [0])])
    done = run([tacit, "run", "-n", "2", tacit, "plan", "--nodes", "4", hello]) # each tool by itself
    check(done.returncode == 0, f"plan on two nodes: {done.stderr}")
    for same in ({"DRY_RUN": "3"}, {"COLLECTIVE_SCHEDULE": "measure"}): # these go well
        done = run([tacit, "run", "-n", "3", hello], **same)
        check(done.returncode == 0, f"{same}: {done.stderr}")


def short_memory():
    """What is too much by the messages of windows alone is said with a table that adds up."""
    said = 0
    for limit in range(1044, 1120, 8):
        done = run([tacit, "plan", "--nodes", "4", str(examples / "wave_sim"), "--steps", "8"], LATENCY="staged:4", MEMORY_LIMIT=f"{limit}k")
        if done.returncode != 0:
            fails(done, "more than", "TACIT_MEMORY_LIMIT")
            check("EiB" not in done.stderr, f"limit {limit}k: {done.stderr}")
            said += "(packed messages)" in done.stderr
    check(said > 0, "no limit is too little for the messages of windows alone")


sleepers = sleeper(DRY_RUN="4"), sleeper(), sleeper(tacit, "plan", "--nodes", "1,2")
full_disk()
full_output()
lonely_processes()
names()
hints()
short_memory()
exits()
signals()
if mpi != "none":
    settings_that_differ()
long_work(*sleepers)
print("\n".join(failures + [f"trouble: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
