#!/usr/bin/env python3
"""Simulated against measured time on this machine.

Usage: compare.py BUILD [--nodes LIST] [--rounds N] [--samples N] [--real-time] [--json FILE] [--check]

In every round the machine is measured anew (`tacit simulate --calibrate`), then each program is run and simulated in turns, with the
times per item of its kernels that `--calibrate-kernels` has just found, on as many nodes as there are cores for. A step's time is
compared: simulated, the difference between runs of few and of many steps; measured, the lower quartile of several runs, since other
programs on the machine make them longer and never shorter. They are long enough for their first steps, which use memory for the
first time, to matter little. The table has medians over the rounds, and the range of the ratio simulated / measured.

Nodes are processes on this machine. Each simulated node has its share of the cores as workers; with more nodes than cores, kernels
take as many times as long as nodes share a core.
--real-time: runs go before all other programs (`chrt -f 1`, which needs the right to do so): on a machine that others use.
--check: one short round on two nodes, for the tests: all of it works, and steps take time.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import progress


class Program:
    def __init__(self, name, path, arguments, steps):
        self.name, self.path, self.arguments, self.steps = name, path, arguments, steps

    def with_steps(self, steps):
        return [str(self.path), *[str(a).format(steps=steps) for a in self.arguments]]


def programs(build):
    example = ["--steps", "{steps}", "--json"]
    return [
        Program("nbody, 2048 bodies", build / "bin" / "nbody", ["--plummer", 2048, *example], 100),
        Program("wave_sim, 1024 x 1024", build / "bin" / "wave_sim", ["--rows", 1024, "--cols", 1024, *example], 400),
        Program("wave_sim, 256 x 256", build / "bin" / "wave_sim", ["--rows", 256, "--cols", 256, *example], 10000),
        Program("all-gather, 1 MiB of each node", build / "libexec" / "tacit-simulated-gather", [1 << 20, "{steps}", 20], 20),
        Program("all-gather, 64 KiB of each node", build / "libexec" / "tacit-simulated-gather", [1 << 16, "{steps}", 20], 200),
    ]


FIRST = []  # words in front of what is timed


def run(command, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    environment["TACIT_ROUNDS"] = "off"  # the simulated nodes plan each task, as those of several machines do
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, env=environment, **more)
    if done.returncode:
        sys.exit(f"compare: {' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def lower_quartile(values):
    return sorted(values)[len(values) // 4]


class Machine:
    """What one round has found out about it."""

    def __init__(self, tacit, folder):
        self.tacit, self.folder = tacit, folder
        self.file = folder / "machine.txt"
        run([*FIRST, tacit, "simulate", "--calibrate", self.file])
        self.cores = len(os.sched_getaffinity(0))

    def workers(self, nodes):
        return max(1, self.cores // nodes)

    def kernels(self, program, nodes):
        """Times per item, and of how many nodes a core is the core."""
        costs, scaled = self.folder / "costs.txt", self.folder / "scaled.txt"
        run([*FIRST, self.tacit, "simulate", "--nodes", 1, "--calibrate-nodes", min(nodes, self.cores), f"--calibrate-kernels={costs}",
             *program.with_steps(program.steps)])
        lines = [f"workers = {self.workers(nodes)}"]
        if self.workers(nodes) == 1:
            lines.append("progress = inline")  # as a run on one core
        for line in costs.read_text().splitlines():
            if line.startswith("kernel"):
                key, value = line.rsplit("=", 1)
                lines.append(f"{key}= {float(value.split()[0]) * max(1, nodes / self.cores):.9g} ns")
        scaled.write_text("\n".join(lines) + "\n")
        return scaled

    def simulated(self, program, nodes, kernels):
        """Seconds of a step."""
        ns = []
        for steps in (program.steps, 2 * program.steps):
            out = run([self.tacit, "simulate", "--json", "--nodes", nodes, "--network", self.file, "--machine", self.file,
                       "--kernels", kernels, *program.with_steps(steps)])
            ns.append(json.loads(out)["rows"][0]["ns"])
        repeats = 20 if "gather" in program.name else 1  # its samples
        return 1e-9 * (ns[1] - ns[0]) / program.steps / repeats

    def measured(self, program, nodes, samples):
        steps = max(1, program.steps // max(1, nodes // self.cores))
        command = [*FIRST, self.tacit, "run", "-n", nodes, *program.with_steps(steps)]
        return lower_quartile([json.loads(run(command))["seconds_per_step"] for _ in range(samples)])


def compare(build, nodes, rounds, samples, part):
    """By (program, nodes): (simulated, measured) of each round, of a part of the steps."""
    tacit = build / "bin" / "tacit"
    found = {}
    for turn in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(tacit, pathlib.Path(folder))
            for program in programs(build):
                program.steps = max(2, program.steps // part)
                for count in nodes:
                    progress.say(f"compare: round {turn + 1} of {rounds}: {program.name}, {count} nodes")
                    before = machine.measured(program, count, samples)
                    simulated = machine.simulated(program, count, machine.kernels(program, count))
                    after = machine.measured(program, count, samples)
                    found.setdefault((program.name, count), []).append((simulated, min(before, after)))
    return found


def table(found):
    lines = ["| program | nodes | simulated | measured | simulated / measured | of all rounds |", "|---|---|---|---|---|---|"]
    for (name, nodes), rows in found.items():
        ratios = [s / m for s, m in rows]
        s, m = (1e6 * statistics.median(r[i] for r in rows) for i in (0, 1))
        lines.append(f"| {name} | {nodes} | {s:.1f} us | {m:.1f} us | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--nodes", default="2,4,8")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--real-time", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    FIRST.extend(["chrt", "-f", "1"] if options.real_time else [])
    nodes = [2] if options.check else [int(n) for n in options.nodes.split(",")]
    found = compare(options.build.resolve(), nodes, 1 if options.check else options.rounds, 1 if options.check else options.samples,
                    10 if options.check else 1)
    progress.end()
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps([{"program": p, "nodes": n, "seconds": rows} for (p, n), rows in found.items()], indent=2))
    if not all(s > 0 and m > 0 for rows in found.values() for s, m in rows):
        sys.exit("compare: a step that takes no time")


if __name__ == "__main__":
    main()
