#!/usr/bin/env python3
"""What README.md and doc/slurm.md say about Slurm, in the cluster that tests/slurm/cluster starts (4 nodes, which it must have).

Usage: tests/slurm/cluster --nodes 4 tests/slurm/slurm_test.py SOURCE BUILD...     builds with Open MPI, MPICH or both"""
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

source, builds = pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(b).resolve() for b in sys.argv[2:]]
folder = pathlib.Path(tempfile.mkdtemp(prefix="tacit-slurm-jobs-"))
failures, checks = [], 0
LINE = re.compile(r"^node (\d+) of (\d+) on (\S+) step (\S+) cores (\d+) \((\S*)\) workers (\d+) bound (\d+) pid (\d+)$", re.M)
FIELDS = ("node", "nodes", "on", "step", "cores", "list", "workers", "bound", "pid")
OVER = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")


def check(good, what, told=""):
    global checks
    checks += 1
    if not good:
        failures.append(what)
        print(f"FAILED: {what}\n{told}", flush=True)


def run(*command, limit=60, **environment):
    """Exit status and output of a command; 124 if it took too long."""
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=limit, env={**os.environ, **environment})
        return done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        return 124, str(late.stdout or b"") + str(late.stderr or b"")


def wait_until(is_true, limit=30):
    end = time.monotonic() + limit
    while not is_true():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def places(text):
    """The lines of tests/slurm/placed.c, by node."""
    found = [dict(zip(FIELDS, [int(w) if w.isdigit() and f != "list" else w for f, w in zip(FIELDS, m)])) for m in LINE.findall(text)]
    return sorted(found, key=lambda place: place["node"])


def are(found, nodes, **values):
    """One line of each node, and fields that all have these values."""
    good = [p["node"] for p in found] == list(range(nodes)) and all(p["nodes"] == nodes for p in found)
    return good and all(p[field] == value for p in found for field, value in values.items())


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


class Job:
    """A batch job: `script` is what stands below its #SBATCH lines."""

    def __init__(self, options, script):
        self.file = folder / f"job.{len(list(folder.iterdir()))}"
        self.file.write_text(script if script.startswith("#!") else "#!/bin/bash\n" + script + "\n")
        self.out = self.file.with_suffix(self.file.suffix + ".out")
        status, told = run("sbatch", "--parsable", f"--output={self.out}", *options, self.file)
        check(status == 0, f"sbatch {options} takes the script", told + self.file.read_text())
        self.number = told.strip().split("\n")[-1]

    def state(self):
        status, told = run("scontrol", "show", "job", "-o", self.number)
        found = re.search(r"JobState=(\S+)", told)
        return found.group(1) if found else told

    def ends(self, limit=60):
        wait_until(lambda: self.state() in OVER, limit)
        return self.state()

    def text(self):
        return self.out.read_text() if self.out.exists() else ""

    def places(self):
        return places(self.text())

    def prints(self, nodes, limit=60):
        return wait_until(lambda: len(self.places()) >= nodes, limit)

    def leaves_nothing(self):
        pids = [p["pid"] for p in self.places()]
        return wait_until(lambda: all(is_gone(pid) for pid in pids), 20) and \
            wait_until(lambda: not run("squeue", "-h", "-j", self.number)[1].strip().replace("slurm_load_jobs error: Invalid job id specified", ""), 20)


class Build:
    def __init__(self, path):
        self.tacit, self.placed = path / "bin" / "tacit", path / "tests" / "slurm_placed"
        info = json.loads(run(self.tacit, "info", "--json")[1])
        self.mpi = info["features"]["mpi"].split()[0].lower()
        self.protocol = "pmi2" if "mpich" in info["features"]["mpi"].lower() else "pmix"
        self.by_tacit = f"{shlex.quote(str(self.tacit))} run -n %d {shlex.quote(str(self.placed))}"


def script_of_readme(nodes, cores, program, protocol):
    """What stands in README.md, with other numbers and a program."""
    text = (source / "README.md").read_text()
    found = re.search(r"^    (#!/bin/bash\n(?:    .*\n)+)", text, re.M)
    script = re.sub(r"^    ", "", found.group(1), flags=re.M)
    for old, new in (("--nodes=16", f"--nodes={nodes}"), ("--cpus-per-task=64", f"--cpus-per-task={cores}"), ("PROGRAM", str(program)),
                     ("--mpi=pmix", f"--mpi={protocol}")):
        check(old in script, f"the job script of README.md has {old}", script)
        script = script.replace(old, new)
    return script


def try_starts(build):
    """Ways to start a program on 3 nodes, one process each."""
    job = Job([], script_of_readme(3, 1, build.placed, build.protocol))
    check(job.ends() == "COMPLETED" and are(job.places(), 3) and {p["on"] for p in job.places()} == {"n1", "n2", "n3"},
          f"{build.mpi}: the job script of README.md", job.text())
    job = Job(["--nodes=3", "--ntasks-per-node=1"], build.by_tacit % 3)
    check(job.ends() == "COMPLETED" and are(job.places(), 3) and len({p["on"] for p in job.places()}) == 3,
          f"{build.mpi}: tacit run in a batch job", job.text())
    status, told = run("salloc", "--nodes=3", "--ntasks-per-node=1", "bash", "-c", build.by_tacit % 3)
    check(status == 0 and are(places(told), 3) and len({p["on"] for p in places(told)}) == 3, f"{build.mpi}: tacit run in salloc", told)
    status, told = run("srun", f"--mpi={build.protocol}", "--nodes=2", "--ntasks=4", build.placed)
    check(status == 0 and are(places(told), 4), f"{build.mpi}: srun alone, 4 processes on 2 nodes", told)
    status, told = run("salloc", "--nodes=2", "--ntasks=2", "bash", "-c", build.by_tacit % 1)
    check(status == 0 and are(places(told), 1), f"{build.mpi}: tacit run -n 1 in an allocation of two", told)


def try_protocol(build):
    """Without the protocol of its MPI every process would be alone, and says so."""
    status, told = run("srun", "--mpi=none", "--nodes=2", "--ntasks=2", build.placed)
    check("each of them runs alone" in told or status != 0, f"{build.mpi}: srun --mpi=none is noticed", told)


def try_cores(build):
    """What a process may use is what --cpus-per-task says, and workers are as many."""
    for n, cores in ((1, 1), (1, 2), (2, 1)):
        options = ["--nodes=1", f"--ntasks={n}", f"--cpus-per-task={cores}"]
        job = Job(options, build.by_tacit % n)
        found = job.places() if job.ends() == "COMPLETED" else []
        check(are(found, n, cores=cores, workers=cores) and len({p["list"] for p in found}) == n,
              f"{build.mpi}: tacit run -n {n} with --cpus-per-task={cores}", job.text())
        status, told = run("srun", f"--mpi={build.protocol}", *options, build.placed)
        check(status == 0 and are(places(told), n, cores=cores, workers=cores), f"{build.mpi}: srun {' '.join(options)}", told)


def try_pins(build):
    """TACIT_PIN inside what Slurm has bound."""
    options = ["--nodes=1", "--ntasks=1", "--cpus-per-task=2", f"--mpi={build.protocol}"]
    for pin, good in (("auto", lambda p: p["bound"] >= 2), ("off", lambda p: p["bound"] == 0), ("0-1", lambda p: p["bound"] >= 2)):
        for _ in range(10):  # another program of this machine may have bound its threads to these cores just then
            status, told = run("srun", *options, build.placed, TACIT_PIN=pin)
            if status or (places(told) and good(places(told)[0])):
                break
        check(status == 0 and are(places(told), 1, workers=2) and good(places(told)[0]), f"{build.mpi}: TACIT_PIN={pin}", told)
    status, told = run("srun", f"--mpi={build.protocol}", "--nodes=1", "--ntasks=1", "--cpus-per-task=1", build.placed, TACIT_PIN="0-1")
    check(status != 0 and "which this process may not use" in told, f"{build.mpi}: TACIT_PIN names a core of somebody else", told)


def try_cancel(build):
    for by in ("scancel", "SIGTERM for tacit run"):
        script = f"{build.by_tacit % 2} --for-ever & echo $! >{folder}/pid; wait $!; echo status $?; sleep 30"
        job = Job(["--nodes=2", "--ntasks=2"], script)
        check(job.prints(2), f"{build.mpi}: a job that does not end starts", job.text())
        if by == "scancel":
            run("scancel", job.number)
            check(job.ends() == "CANCELLED" and job.leaves_nothing(), f"{build.mpi}: a job that is cancelled leaves nothing", job.text())
            continue
        try:
            os.kill(int((folder / "pid").read_text()), signal.SIGTERM)
        except ProcessLookupError:
            check(False, f"{build.mpi}: tacit run lives as long as its step", job.text())
        ended = wait_until(lambda: "status 143" in job.text())
        check(ended and all(wait_until(lambda p=p: is_gone(p["pid"]), 10) for p in job.places()),
              f"{build.mpi}: {by} ends the step", job.text())
        run("scancel", job.number)
        job.ends()


def try_death(build):
    """One process is killed: the job does not wait for it."""
    job = Job(["--nodes=2", "--ntasks=2"], f"{build.by_tacit % 2} --for-ever; echo status $?")
    check(job.prints(2), f"{build.mpi}: a job that does not end starts", job.text())
    if job.places():
        os.kill(job.places()[-1]["pid"], signal.SIGKILL)
    check(job.ends() == "COMPLETED" and re.search(r"status (?!0$)\d+", job.text()) and job.leaves_nothing(),
          f"{build.mpi}: a process that is killed ends the job", job.text())


def try_memory(build):
    job = Job(["--nodes=1", "--ntasks=1", "--mem=300"], build.by_tacit % 1 + " --touch 1500")
    state = job.ends()
    check(state in ("FAILED", "OUT_OF_MEMORY", "CANCELLED") and "emory" in job.text() and job.leaves_nothing(),
          f"{build.mpi}: a job beyond its memory is ended, and told so: {state}", job.text())


def start_late(build):
    """It binds nothing: all nodes have the same cores."""
    return Job(["--nodes=1", "--ntasks=1", "--nodelist=n4", "--time=1"], "TACIT_PIN=off " + build.by_tacit % 1 + " --for-ever")


def try_time(build, job):
    state = job.ends(150)
    check(state == "TIMEOUT" and "DUE TO TIME LIMIT" in job.text() and job.leaves_nothing(),
          f"{build.mpi}: a job that runs out of time is ended: {state}", job.text())


def try_drain(build):
    """A node that is drained ends what it has, gets nothing new, and is taken again when it is resumed."""
    running = Job(["--nodes=1", "--ntasks=1", "--nodelist=n2"], f"{build.by_tacit % 1}; sleep 3; {build.by_tacit % 1}")
    running.prints(1)
    run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    waiting = Job(["--nodes=3", "--ntasks=3", "--exclude=n4"], build.by_tacit % 3)
    status, told = run("srun", f"--mpi={build.protocol}", "--nodes=2", "--ntasks=2", "--exclude=n4", build.placed)
    check(status == 0 and are(places(told), 2) and {p["on"] for p in places(told)} == {"n1", "n3"},
          f"{build.mpi}: beside a drained node", told)
    check(running.ends() == "COMPLETED" and len(running.places()) == 2, f"{build.mpi}: a job on a node that is drained ends", running.text())
    check(waiting.state() == "PENDING", f"{build.mpi}: a job waits for a drained node: {waiting.state()}", waiting.text())
    run("scontrol", "update", "NodeName=n2", "State=RESUME")
    check(waiting.ends() == "COMPLETED" and are(waiting.places(), 3), f"{build.mpi}: it runs when the node is resumed", waiting.text())


def try_all(build):
    late = start_late(build)
    for part in (try_starts, try_protocol, try_cores, try_pins, try_cancel, try_death, try_memory, try_drain):
        start = time.monotonic()
        part(build)
        print(f"{build.mpi}: {part.__name__[4:]} ({time.monotonic() - start:.0f} s)", flush=True)
    try_time(build, late)
    print(f"{build.mpi}: time", flush=True)


for one in builds:
    try_all(Build(one))
subprocess.run(["rm", "-rf", str(folder)], check=True)
print(f"slurm: {checks - len(failures)} passed, {len(failures)} failed")
sys.exit(1 if failures else 0)
