#!/usr/bin/python3
"""Measures planning as the papers did, and draws the counterparts of their figures; and real kernels against programs
by hand.

Usage: figures.py BUILD OUTPUT [--quick] [--only NAME]...

Runs `BUILD/bin/tacit bench plan` (and the example rsim, dry; and `tacit bench comm` on up to 8 nodes) and writes OUTPUT/NAME.csv and OUTPUT/NAME.svg
for each figure, OUTPUT/peers.md, the table of bench/peers/peers.py, and OUTPUT/simulated.md, that of bench/simulated/compare.py. Nothing is executed on more than this machine: a plan for node K of M nodes is made here. Every curve of a figure is measured
in this run.
--quick takes fewer iterations and node counts, for a test of the script.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

for folder in ("", "peers", "simulated"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / folder))
import compare
import matplotlib
import peers
import progress
import windows

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STEPS = ["1", "2", "4", "16", "none"]
GPUS = 512  # nodes of the generative and the application benchmarks


class Bench:
    """Runs of the benchmark, with a line of progress each."""

    def __init__(self, build):
        self.build = pathlib.Path(build)

    def plan(self, pattern, nodes, **options):
        command = [self.build / "bin" / "tacit", "bench", "plan", "--json", "--pattern", pattern, "--nodes", str(nodes)]
        for name, value in options.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        if "collectives" not in options:  # the horizons paper knows of none
            command += ["--collectives", "off"]
        progress.say("figures:", *command[2:])
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

    def comm(self, pattern, nodes, sizes, iterations, devices=None):
        """What communication alone takes on this machine, by size: with collectives, with messages and by hand."""
        tacit = self.build / "bin" / "tacit"
        command = [tacit, "run", "-n", str(nodes), tacit, "bench", "comm", "--json", "--pattern", pattern,
                   "--bytes", ",".join(map(str, sizes)), "--iterations", str(iterations),
                   *(["--devices", devices] if devices else [])]
        progress.say("figures:", *command[1:])
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["results"]

    def dry(self, program, nodes, environment, arguments):
        """The report of a dry run as a node in the middle."""
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report.json"
            settings = {"TACIT_DRY_RUN": f"{nodes}:{nodes // 2}", "TACIT_DRY_RUN_REPORT": str(report),
                        "TACIT_COLLECTIVES": "off", **environment}
            progress.say("figures:", program, settings, *arguments)
            subprocess.run([self.build / "bin" / program, *arguments], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env={**os.environ, **settings})
            return json.loads(report.read_text())


    def simulate(self, nodes, network, machine, environment, *program):
        """What `tacit simulate` says of a program of bench/simulated.c or an example; the files are texts."""
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / name for name in ("network", "machine")]
            for file, text in zip(files, (network, machine)):
                file.write_text(text)
            command = [self.build / "bin" / "tacit", "simulate", "--json", "--nodes", ",".join(map(str, nodes)), "--network", files[0],
                       "--machine", files[1], *program]
            progress.say("figures: simulate", nodes, *program, environment)
            done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, **environment})
            if done.returncode:
                sys.exit(f"figures: {' '.join(str(c) for c in command)}: {done.stderr}")
            return json.loads(done.stdout)["rows"]

    def platform(self, name):
        return (self.build / "share" / "tacit" / "platforms" / f"{name}.txt").read_text()


class Figure:
    """One figure: its rows as CSV, its curves as SVG."""

    def __init__(self, output, name, columns):
        self.output, self.name, self.columns, self.rows = output, name, columns, []
        self.picture, self.axes = plt.subplots(figsize=(7, 4.2))

    def add(self, *row):
        self.rows.append(row)

    def finish(self, title, x, y, log_x=False, log_y=False, beside=False):
        with open(self.output / (self.name + ".csv"), "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            writer.writerows(self.rows)
        axes = self.axes
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        if log_x:
            axes.set_xscale("log", base=2)
        if log_y:
            axes.set_yscale("log")
        elif axes.get_yscale() != "log":
            axes.set_ylim(bottom=0)
        axes.grid(True, which="major", alpha=0.3)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize=8, **({"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if beside else {}))
        self.picture.tight_layout()
        self.picture.savefig(self.output / (self.name + ".svg"), metadata={"Date": None})
        plt.close(self.picture)


def label(step):
    return "no horizons" if step == "none" else f"S = {step}"


def horizons_off(step):
    """The options of a run with this step; without horizons there is none for the width of the front either."""
    return {"horizon_step": step, **({"horizon_front": "none"} if step == "none" else {})}


# ---------------------------------------------------------------- the horizons paper


def generative(bench, output, quick, dims, name, figure_of_paper):
    figure = Figure(output, name, ["step", "iteration", "us"])
    iterations = 24 if quick else 128
    for step in STEPS:
        times = bench.plan(f"generative-{dims}d", GPUS, tasks=iterations, repeat=1 if quick else 5,
                           **horizons_off(step))["us_by_iteration"]
        for i, us in enumerate(times):
            figure.add(step, i, us)
        figure.axes.plot(range(len(times)), times, label=label(step), linewidth=1, color="black" if step == "none" else None)
    figure.finish(f"{dims}D generative pattern, {GPUS} nodes (counterpart of {figure_of_paper})", "iteration",
                  "planning per iteration [µs]", log_y=True)


def figure_5(bench, output, quick):
    generative(bench, output, quick, 2, "horizons-fig5", "Figure 5")


def figure_6(bench, output, quick):
    generative(bench, output, quick, 3, "horizons-fig6", "Figure 6")


def figure_7(bench, output, quick):
    figure = Figure(output, "horizons-fig7", ["dimensions", "step", "total_ms", "horizons_ms", "horizons"])
    iterations = 24 if quick else 256
    for color, dimensions in enumerate(["1d", "2d", "3d"]):
        total, spent = [], []
        for step in STEPS:
            run = bench.plan(f"generative-{dimensions}", GPUS, tasks=iterations, repeat=1 if quick else 3, **horizons_off(step))
            total.append(1e-3 * sum(run["us_by_iteration"]))
            spent.append(1e-3 * run["horizons"] * run["us_per_horizon"])
            figure.add(dimensions, step, total[-1], spent[-1], run["horizons"])
        figure.axes.plot(range(len(STEPS)), total, "D-", color=f"C{color}", label=f"{dimensions}: all planning of {iterations} iterations")
        shown = [ms or float("nan") for ms in spent]  # a logarithmic axis has no 0
        figure.axes.plot(range(len(STEPS)), shown, "^:", color=f"C{color}", label=f"{dimensions}: of which horizons")
    figure.axes.set_xticks(range(len(STEPS)), [label(s) for s in STEPS])
    figure.finish(f"Generative patterns, {GPUS} nodes (counterpart of Figure 7)", "horizon step", "time [ms]", log_y=True)


def figure_9(bench, output, quick):
    figure = Figure(output, "horizons-fig9", ["nodes", "front", "us_per_task"])
    fronts = [64, 256, "none"] if quick else [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, "none"]
    tasks = 2000 if quick else 75000  # N = 15 000, R = 5
    for nodes in [1, 16, 256]:
        times = []
        for front in fronts:
            times.append(bench.plan("many-task", nodes, tasks=tasks, repeat=1 if quick else 5, horizon_step="none",
                                    horizon_front=front)["us_per_task"])
            figure.add(nodes, front, times[-1])
        figure.axes.plot(fronts[:-1], times[:-1], "o-", label=f"{nodes} nodes")
        figure.axes.axhline(times[-1], linestyle=":", linewidth=1, color=figure.axes.lines[-1].get_color())
    figure.axes.plot([], [], "k:", label="no horizons")
    figure.finish("15 000 independent tasks, 5 rounds (counterpart of Figure 9)", "largest front M_E",
                  "planning per task [µs]", log_x=True)


def figure_10(bench, output, quick):
    figure = Figure(output, "horizons-fig10", ["program", "step", "us_per_task"])
    for pattern, tasks in [("wave-sim", 3000), ("nbody", 60)]:
        times = []
        for step in STEPS:
            times.append(bench.plan(pattern, GPUS, tasks=tasks // 10 if quick else tasks, repeat=1 if quick else 7,
                                    **horizons_off(step))["us_per_task"])
            figure.add(pattern, step, times[-1])
        figure.axes.plot(range(len(STEPS)), times, "o-", label=f"{pattern}, {GPUS} nodes")
    figure.axes.set_xticks(range(len(STEPS)), [label(s) for s in STEPS])
    figure.finish("Programs without a generative pattern (counterpart of Figure 10)", "horizon step",
                  "planning per task [µs]", log_y=True)


def figure_11(bench, output, quick):
    figure = Figure(output, "horizons-rsim", ["step", "steps", "us_per_step"])
    lengths = [20, 60] if quick else [50, 100, 200, 400, 700, 1000]
    for step in ["2", "none"]:
        settings = {"TACIT_HORIZON_STEP": "2"} if step == "2" else {"TACIT_HORIZON_STEP": "1000000",
                                                                    "TACIT_HORIZON_FRONT": "100000000"}
        def total(n):  # the least of many runs: differences of single ones show the machine, not the program
            runs = [bench.dry("rsim", 32, settings, ["--steps", str(n), "--detail", "1", "--read-all"]) for _ in range(1 if quick else 25)]
            return min(1e-3 * sum(r["planning_ns"].values()) for r in runs)

        totals = [total(n) for n in lengths]
        rates, at = [], []
        for i in range(1, len(lengths)):
            at.append(0.5 * (lengths[i] + lengths[i - 1]))
            rates.append((totals[i] - totals[i - 1]) / (lengths[i] - lengths[i - 1]))
            figure.add(step, at[-1], rates[-1])
        figure.axes.plot(at, rates, "o-", label=label(step))
    figure.finish("rsim on 32 nodes: planning of a step, as time goes on (section 4.5)", "time step", "planning per step [µs]")


# ---------------------------------------------------------------- the collectives paper


TABLE_3 = ["all-gather", "gather-scatter", "gather-broadcast", "all-to-all", "stencil"]


def figure_3(bench, output, quick):
    figure = Figure(output, "collectives-fig3", ["pattern", "collectives", "nodes", "us_per_task", "least", "most",
                                                 "messages_per_task", "collectives_per_task"])
    near = [1, 4, 16, 64, 256] if quick else [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096]
    far = near + [65536] if quick else near + [16384, 65536, 262144, 1048576]
    for color, pattern in enumerate(TABLE_3):
        for mode in ["off", "lookahead"]:
            nodes_list = far if pattern == "stencil" or mode == "lookahead" else near
            rates, ranges = [], []
            for nodes in nodes_list:
                tasks = 2000 if pattern == "stencil" or mode == "lookahead" else max(20, 20000 // nodes)
                run = bench.plan(pattern, nodes, tasks=tasks // 10 if quick else tasks, repeat=1 if quick else 5,
                                 node=0 if pattern.startswith("gather") else nodes // 2, collectives=mode)
                rates.append(1e6 / run["us_per_task"])
                ranges.append((1e6 / run["us_per_task_most"], 1e6 / run["us_per_task_least"]))
                figure.add(pattern, mode, nodes, run["us_per_task"], run["us_per_task_least"], run["us_per_task_most"],
                           run["messages_per_task"], run["collectives_per_task"])
            figure.axes.fill_between(nodes_list, [r[0] for r in ranges], [r[1] for r in ranges], color=f"C{color}", alpha=0.15, linewidth=0)
            figure.axes.plot(nodes_list, rates, "o-" if mode == "lookahead" else "x:", markersize=3, color=f"C{color}",
                             label=pattern if mode == "lookahead" else None)
    figure.axes.plot([], [], "kx:", markersize=3, label="without collectives")
    figure.finish("Planning with and without collectives (counterpart of Figure 3)", "nodes", "tasks planned per second",
                  log_x=True, log_y=True)


def figure_4(bench, output, quick):
    sizes = [8, 65536]
    nodes_list = [2, 4] if quick else [2, 4, 8]
    figures = [Figure(output, f"collectives-fig4-{name}", ["pattern", "nodes", "bytes_per_node", "with_collectives_per_s",
                                                           "with_messages_per_s", "by_hand_per_s", "collectives_per_iteration",
                                                           "messages_per_iteration"]) for name in ["small", "large"]]
    for color, pattern in enumerate(TABLE_3 + ["nbody"]):
        rates = [[], []]
        for nodes in nodes_list:
            # More nodes than cores take turns, so an iteration takes long and few of them do.
            runs = bench.comm(pattern, nodes, sizes, 20 if quick else 400 if nodes == 2 else 40)
            for figure, run, at in zip(figures, runs, rates):
                figure.add(pattern, nodes, run["bytes_per_node"], run["tacit_per_s"], run["other_per_s"], run["by_hand_per_s"],
                           run["collectives_per_iteration"], run["messages_per_iteration"])
                at.append((run["tacit_per_s"], run["other_per_s"], run["by_hand_per_s"]))
        for figure, at in zip(figures, rates):
            for i, style in enumerate(["o-", "x:", "_--"]):
                figure.axes.plot(nodes_list, [r[i] for r in at], style, markersize=4, linewidth=1, color=f"C{color}",
                                 label=pattern if i == 0 else None)
    for figure, size in zip(figures, ["8 B", "64 KiB"]):
        figure.axes.plot([], [], "kx:", markersize=4, linewidth=1, label="without collectives")
        figure.axes.plot([], [], "k_--", markersize=4, linewidth=1, label="MPI by hand")
        figure.axes.set_xticks(nodes_list, [str(n) for n in nodes_list])
        figure.finish(f"Communication alone, {size} per node, {os.cpu_count()} cores (counterpart of Figure 4)", "nodes", "iterations per second",
                      log_x=True, log_y=True)


def figure_4_devices(bench, output, quick):
    """Figure 4 on two nodes of which each has two or four devices with memories of their own, as the paper's nodes have GPUs."""
    sizes = [8, 65536]
    figures = [Figure(output, f"collectives-fig4-devices-{name}", ["pattern", "devices", "bytes_per_node", "with_collectives_per_s",
                                                                   "with_messages_per_s", "messages_over_collectives",
                                                                   "collectives_per_iteration", "messages_per_iteration"])
               for name in ["small", "large"]]
    counts = [1, 2, 4]
    for color, pattern in enumerate(TABLE_3 + ["nbody"]):
        rates = [[], []]
        for devices in counts:
            runs = bench.comm(pattern, 2, sizes, 20 if quick else 200, f"host:{devices}:discrete")
            for figure, run, at in zip(figures, runs, rates):
                figure.add(pattern, devices, run["bytes_per_node"], run["tacit_per_s"], run["other_per_s"], 1 / run["time_over_other"],
                           run["collectives_per_iteration"], run["messages_per_iteration"])
                at.append((run["tacit_per_s"], run["other_per_s"]))
        for figure, at in zip(figures, rates):
            for i, style in enumerate(["o-", "x:"]):
                figure.axes.plot(counts, [r[i] for r in at], style, markersize=4, linewidth=1, color=f"C{color}",
                                 label=pattern if i == 0 else None)
    for figure, size in zip(figures, ["8 B", "64 KiB"]):
        figure.axes.plot([], [], "kx:", markersize=4, linewidth=1, label="without collectives")
        figure.axes.set_xticks(counts, [str(n) for n in counts])
        figure.finish(f"Communication alone, {size} per node, 2 nodes, {os.cpu_count()} cores (counterpart of Figure 4)", "devices of a node",
                      "iterations per second", log_x=True, log_y=True)


def counts_of(bench, pattern, nodes, mode, quick):
    run = bench.plan(pattern, nodes, tasks=60 if quick else 240, repeat=1, node=nodes // 2, collectives=mode)
    return run["messages_per_task"], run["collectives_per_task"], run["sent_bytes_per_task"], run["received_bytes_per_task"]


def figure_4_counts(bench, output, quick):
    """What Figure 4 shows as time, as counts for more nodes than there are here: messages of a node per task, collectives, and bytes."""
    figure = Figure(output, "collectives-counts", ["pattern", "collectives", "nodes", "messages_per_task", "collectives_per_task"])
    volume = Figure(output, "collectives-bytes", ["pattern", "collectives", "nodes", "sent_bytes_per_task", "received_bytes_per_task"])
    nodes_list = [2, 16, 256] if quick else [2, 4, 8, 16, 32, 64, 128, 256]
    for color, pattern in enumerate(TABLE_3 + ["nbody"]):
        for mode in ["off", "lookahead"]:
            totals, bytes_sent = [], []
            for nodes in nodes_list:
                messages, collectives, sent, received = counts_of(bench, pattern, nodes, mode, quick)
                figure.add(pattern, mode, nodes, messages, collectives)
                volume.add(pattern, mode, nodes, sent, received)
                totals.append(messages + collectives)
                bytes_sent.append(sent)
            for one, values in ((figure, totals), (volume, bytes_sent)):
                one.axes.plot(nodes_list, values, "o-" if mode == "lookahead" else "x:", markersize=3, color=f"C{color}",
                              label=pattern if mode == "lookahead" else None)
    for one in (figure, volume):
        one.axes.plot([], [], "kx:", markersize=3, label="without collectives")
    volume.finish("Bytes that a node sends, or gives to a collective, per task", "nodes", "bytes per task", log_x=True, log_y=True)
    figure.finish("Messages and collectives of a node per task (counts to Figure 4)", "nodes", "operations per task", log_x=True, log_y=True)


# ---------------------------------------------------------------- simulated clusters


# Four V100 per node as devices with one worker and a memory each. Assumed: 8 us until a copy starts, 12 GB/s of PCIe.
GPU_NODE = """workers = 1
start = 5 us
copy = 8 us
copy_bandwidth = 12 GB/s
task = 300 ns
command = 200 ns
instruction = 300 ns
"""
COPIES_PER_MESSAGE = 4 * 8  # us: one to each device
RSIM_ITEM = "200 ns"  # 2 ms per step on one GPU
PLACES = [0.75, 1, 1.25, 1.75, 2.5]  # times the latency: how far apart the nodes are that one gets


def microseconds(network, key):
    line = next(l for l in network.splitlines() if l.split("=")[0].strip() == key)
    value, unit = line.split("=")[1].split()
    return float(value) * {"us": 1, "ns": 1e-3}[unit]


def figure_4_simulated_small(bench, output, quick):
    figure_4_simulated(bench, output, quick, "small", "8 B per node, or pair of nodes")


def figure_4_simulated_large(bench, output, quick):
    figure_4_simulated(bench, output, quick, "large", "4 MiB in all")


def figure_4_simulated(bench, output, quick, name, title):
    """Figure 4 on the number of nodes that the paper had. A simulation has no scatter: quartiles are over latencies."""
    nodes_list = [4, 16] if quick else [4, 16, 64, 256]
    edr = bench.platform("edr-2")
    latency = microseconds(edr, "latency")
    figure = Figure(output, f"simulated-fig4-{name}", ["pattern", "collectives", "nodes", "least", "first_quartile", "median",
                                                       "third_quartile", "most"])
    for color, pattern in enumerate(TABLE_3 + ["nbody"]):
        for mode, algorithm, style in [("off", "auto", "x:"), ("lookahead", "auto", "o-"), ("lookahead", "nonblocking", "^--")]:
            rates = []
            for nodes in nodes_list:
                small = nodes * nodes if pattern in ("all-to-all", "stencil") else nodes
                iterations = 3 if quick else 5 if nodes < 256 else 3

                def ns(factor, count):
                    return bench.simulate([nodes], edr + f"latency = {factor * latency} us\nalgorithm = {algorithm}\n", GPU_NODE + "item = 0 ns\n",
                                          {"TACIT_COLLECTIVES": mode, "TACIT_HOST_DEVICES": "4:discrete"},
                                          bench.build / "libexec" / "tacit-simulated", pattern,
                                          small if name == "small" else 1 << 19, 8, count)[0]["ns"]

                # The first pair of tasks finds its data where it is.
                times = sorted(ns(factor, iterations) - ns(factor, 1) for factor in PLACES)
                tasks = (iterations - 1) * (1 if pattern in ("gather-scatter", "gather-broadcast", "nbody") else 2)
                rates.append([1e9 * tasks / t for t in reversed(times)])
                figure.add(pattern, mode if mode == "off" else algorithm, nodes, *rates[-1])
            figure.axes.plot(nodes_list, [r[2] for r in rates], style, markersize=4, linewidth=1, color=f"C{color}",
                             label=pattern if style == "o-" else None)
            figure.axes.fill_between(nodes_list, [r[1] for r in rates], [r[3] for r in rates], color=f"C{color}", alpha=0.15, linewidth=0)
    if name == "large":
        figure.axes.set_ylim(3, 1e5)  # room for the names
    figure.axes.plot([], [], "k^--", markersize=4, linewidth=1, label="as MPI_Iallgather ... of Open MPI")
    figure.axes.plot([], [], "kx:", markersize=4, linewidth=1, label="without collectives")
    figure.axes.set_xticks(nodes_list, [str(n) for n in nodes_list])
    figure.finish(f"Simulated: {title} (counterpart of Figure 4)", "nodes with 4 devices", "iterations per second",
                  log_x=True, log_y=True)


def figure_5_simulated(bench, output, quick):
    """Strong scaling of 20 steps of N-body with 1 048 576 bodies, on nodes with up to four GPUs."""
    figure = Figure(output, "simulated-fig5", ["mode", "gpus", "ms", "speed_up"])
    edr = bench.platform("edr-2")
    overhead = microseconds(edr, "receive_overhead")
    each = edr + f"receive_overhead = {overhead + COPIES_PER_MESSAGE} us\n"
    gpus_list = [1, 4, 16] if quick else [1, 2, 4, 8, 16, 32, 64, 128, 256]
    first = None
    for mode, network, text, style in [("lookahead", edr, "collectives", "o-"), ("off", edr, "messages", "x--"),
                                       ("off", each, "messages, a copy to each device for each", "^:")]:
        speed = []
        for gpus in gpus_list:
            devices, nodes = min(gpus, 4), max(gpus // 4, 1)
            # 20 operations for each of a million bodies, at half of 7 Tflop/s.
            row = bench.simulate([nodes], network, GPU_NODE + "kernel kick = 6 us\nkernel drift = 0.05 ns\n",
                                 {"TACIT_COLLECTIVES": mode, "TACIT_HOST_DEVICES": f"{devices}:discrete"},
                                 bench.build / "libexec" / "tacit-simulated", "nbody", 1 << 20, 24, 20)[0]
            first = first or row["ns"]
            speed.append(first / row["ns"])
            figure.add(text, gpus, 1e-6 * row["ns"], speed[-1])
        figure.axes.plot(gpus_list, speed, style, markersize=4, label=text)
    figure.axes.plot(gpus_list, gpus_list, "k-", linewidth=0.5, label="linear")
    figure.axes.set_xticks(gpus_list, [str(n) for n in gpus_list])
    figure.finish("20 steps of N-body, 1 048 576 bodies, simulated (counterpart of Figure 5)", "GPUs, four per node", "speed-up",
                  log_x=True, log_y=True)


def figure_11_simulated(bench, output, quick):
    """Strong scaling of rsim: planning takes what it takes here, the rest is simulated."""
    figure = Figure(output, "simulated-rsim", ["step", "gpus", "ms", "speed_up", "planning"])
    gpus_list = [1, 4] if quick else [1, 2, 4, 8, 16, 32]
    for step in ["2", "none"]:
        settings = {"TACIT_HORIZON_STEP": "2"} if step == "2" else {"TACIT_HORIZON_STEP": "1000000", "TACIT_HORIZON_FRONT": "100000000"}
        rows = [bench.simulate([gpus], bench.platform("edr-2"), GPU_NODE + f"kernel spread = {RSIM_ITEM}\nplanning = measured\n",
                               {"TACIT_COLLECTIVES": "off", **settings}, bench.build / "bin" / "rsim",
                               "--steps", 100 if quick else 600, "--detail", 8, "--read-all")[0] for gpus in gpus_list]
        speed = [rows[0]["ns"] / row["ns"] for row in rows]
        for gpus, row, up in zip(gpus_list, rows, speed):
            figure.add(step, gpus, 1e-6 * row["ns"], up, row["waiting_planning"])
        figure.axes.plot(gpus_list, speed, "o-", markersize=4, label=label(step))
    figure.axes.plot(gpus_list, gpus_list, "k-", linewidth=0.5, label="linear")
    figure.axes.set_xticks(gpus_list, [str(n) for n in gpus_list])
    figure.finish("rsim, 10 000 triangles, 600 steps, simulated (counterpart of Figure 11)", "GPUs, one per node", "speed-up",
                  log_x=True, log_y=True)


# ---------------------------------------------------------------- broadcasts: the paper by Denis et al.


TREES = ["binomial", "binary", "chain"]
TILE = 320  # the paper does not say
# By cluster: the network, workers of a node, Gflop/s of a core, bytes per second that one core copies. inti has 16 cores with 8 flops per
# cycle at 2.7 GHz, of which tacit keeps two for planning and messages; plafrim 36, of which the paper used 32, with 32 flops per cycle at
# 1.8 GHz, which is assumed for such instructions on all cores.
CLUSTERS = {"inti": ("qdr", 14, 21.6, "6 GB/s"), "plafrim": ("omni-path", 32, 57.6, "10 GB/s")}
FLOPS = {"gemm": (2, 0.9), "syrk": (1, 0.85), "trsm": (1, 0.8), "potrf": (1 / 3, 0.5)}  # per TILE^3, and share of the speed (assumed)


def cluster(bench, name):
    network, workers, speed, copy = CLUSTERS[name]
    kernels = "".join(f"kernel {kernel} = {flops * TILE**3 / (speed * share):.0f} ns\n" for kernel, (flops, share) in FLOPS.items())
    return bench.platform(network), (f"workers = {workers}\nstart = 2 us\ncopy_bandwidth = {copy}\ntask = 300 ns\ncommand = 200 ns\n"
                                     f"instruction = 300 ns\n{kernels}")


def ways(bench):
    """How a tile that many nodes read travels: by name the settings and the style of the curve. Planned trees where this tacit has them."""
    said = subprocess.run([bench.build / "bin" / "tacit", "help", "settings"], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {"baseline": ({"TACIT_BROADCAST": "flat"}, "x:"), "dynamic": ({"TACIT_BROADCAST": "binomial"}, "o-"),
             "dynamic, binary tree": ({"TACIT_BROADCAST": "binary"}, "+-.")}
    if "TACIT_MULTICAST" in said:
        for settings, _ in found.values():
            settings["TACIT_MULTICAST"] = "dynamic"
        found["baseline"][0]["TACIT_MULTICAST"] = "off"
        found["planned"] = ({"TACIT_MULTICAST": "planned"}, "^--")
    return found


def figure_2_broadcast(bench, output, quick):
    """8 MB from one node to all others, from when it has them until the last one has, and all have met."""
    figure = Figure(output, "simulated-broadcast", ["way", "nodes", "ms"])
    nodes_list = [2, 8, 32] if quick else [2, 3, 4, 6, 8, 12, 16, 25, 36, 50, 64, 80, 100]
    network, machine = cluster(bench, "inti")
    begin = 1e6  # ns: everything is planned by then
    machine += f"item = 0 ns\nstart = 0 ns\nkernel give = {begin} ns\n"
    program = bench.build / "libexec" / "tacit-simulated"
    curves = [("naive: a message to each", network, "tree", {"TACIT_BROADCAST": "flat"}, "kx:")]
    curves += [(f"dynamic, {tree}", network, "tree", {"TACIT_BROADCAST": tree, "TACIT_MULTICAST": "dynamic"}, f"C{i}o-")
               for i, tree in enumerate(TREES)]
    curves += [("MPI_Bcast, binomial", network + "algorithm = binomial\n", "collective", {}, "k+--"),
               ("MPI_Bcast, as Open MPI 4.1 chooses", network, "collective", {}, "k--")]
    for text, files, pattern, settings, style in curves:
        rows = bench.simulate(nodes_list, files, machine, settings, program, pattern, 8000000, 1, 1)
        times = [1e-6 * (row["ns"] - begin) for row in rows]
        for nodes, ms in zip(nodes_list, times):
            figure.add(text, nodes, f"{ms:.4f}")
        figure.axes.plot(nodes_list, times, style, markersize=4, linewidth=1, label=text)
    figure.axes.set_ylim(1, 2000)
    figure.finish("Broadcast of 8 MB, simulated InfiniBand QDR (counterpart of Figure 2)", "nodes", "time [ms]", log_y=True)


def figure_cholesky(bench, output, name, number, on, nodes_list, sizes):
    figure = Figure(output, name, ["nodes", "way", "size", "gflops", "gain_percent", "broadcasts", "recipients", "waiting_messages"])
    network, machine = cluster(bench, on)
    for color, nodes in enumerate(nodes_list):
        baseline = {}
        for way, (settings, style) in ways(bench).items():
            speed = []
            for size in sizes:
                row = bench.simulate([nodes], network, machine, settings, bench.build / "bin" / "cholesky", "--size", size, "--tile", TILE)[0]
                speed.append(size**3 / 3 / row["ns"])
                baseline.setdefault(size, speed[-1])
                figure.add(nodes, way, size, f"{speed[-1]:.1f}", f"{100 * (speed[-1] / baseline[size] - 1):.1f}", row["broadcasts"],
                           row["broadcast_recipients"], f"{row['waiting_messages']:.4f}")
            figure.axes.plot(sizes, speed, style, color=f"C{color}", markersize=4, linewidth=1, label=f"{nodes} nodes, {way}")
    figure.finish(f"Cholesky factorisation on a simulated {on} (counterpart of Figure {number})", "rows of the matrix", "Gflop/s")


def figure_4_cholesky(bench, output, quick):
    figure_cholesky(bench, output, "simulated-cholesky-16", 4, "plafrim", [16], [2560, 5120] if quick else [2560, 5120, 7680, 10240, 15360, 20480, 25600])


def figure_5_cholesky(bench, output, quick):
    figure_cholesky(bench, output, "simulated-cholesky", 5, "inti", [16] if quick else [64, 100],
                    [2560, 5120] if quick else [6400, 9600, 12800, 19200, 25600])


def cholesky_here(bench, output, quick):
    """The same program on this machine, whose nodes share its cores and have no network between them: by size and tree Gflop/s, median and
    range of several runs in turns."""
    nodes, repeat = 8, 1 if quick else 7
    with open(output / "cholesky-here.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["nodes", "tree", "size", "tile", "least", "median", "most", "broadcasts"])
        for size in [512] if quick else [512, 1024, 2048]:
            rates, counts = {}, {}
            for _ in range(repeat):
                for tree in ["flat", "binomial", "chain"]:
                    command = [bench.build / "bin" / "tacit", "run", "-n", str(nodes), bench.build / "bin" / "cholesky", "--size", str(size),
                               "--tile", "64", "--json"]
                    print("figures: run", nodes, "cholesky", size, tree, file=sys.stderr, flush=True)
                    done = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                                          env={**os.environ, "TACIT_BROADCAST": tree, "TACIT_WORKERS": "2"})
                    said = json.loads(done.stdout)
                    rates.setdefault(tree, []).append(said["gflops"])
                    counts[tree] = said["broadcasts"]
            for tree, seen in rates.items():
                seen.sort()
                writer.writerow([nodes, tree, size, 64, f"{seen[0]:.2f}", f"{seen[len(seen) // 2]:.2f}", f"{seen[-1]:.2f}", counts[tree]])


# ---------------------------------------------------------------- programs by hand


def figure_peers(bench, output, quick):
    """Real kernels by tacit, over OpenMP and MPI by hand, and the table of doc/performance.md."""
    keys = ["kernel", "size", *peers.KEYS]
    figures = {"1x2": Figure(output, "peers-openmp", keys), "2r": Figure(output, "peers-mpi", keys)}
    rows = list(peers.measure_all(peers.Programs(bench.build), None, quick, 5))
    for key, figure in figures.items():
        for row in rows:
            figure.add(*(row.get(k, "") for k in keys))
        for color, kernel in enumerate(peers.SIZES):
            ratios = [row[key + "_ratio"] for row in rows if row["kernel"] == kernel and key + "_ratio" in row]
            figure.axes.plot(range(1, len(ratios) + 1), ratios, "o-", markersize=4, color=f"C{color}", label=kernel)
        figure.axes.axhline(1, linestyle=":", color="black", linewidth=1)
        figure.axes.set_xticks(range(1, 3 if quick else 6))
    (output / "peers.md").write_text(peers.markdown(rows))
    figures["1x2"].finish("One node with two workers against OpenMP by hand", "size, from small to large", "tacit / OpenMP",
                          log_y=True)
    figures["2r"].finish("Two nodes with one worker each against MPI by hand", "size, from small to large", "tacit / MPI",
                         log_y=True)


def table_simulated(bench, output, quick):
    """Simulated against measured time on this machine: the table of doc/simulation.md."""
    found = compare.compare(bench.build.resolve(), [2] if quick else [2, 4, 8], 1 if quick else 3, 1 if quick else 5, 10 if quick else 1)
    (output / "simulated.md").write_text(compare.table(found) + "\n")


# ---------------------------------------------------------------- latency tolerance: the paper by Eijkhout


def figure_7_windows(bench, output, quick):
    windows.run_time(bench, output, quick, Figure, "windows-moderate", 7, "2us")


def figure_8_windows(bench, output, quick):
    windows.run_time(bench, output, quick, Figure, "windows-high", 8, "100us")


def figure_best_window(bench, output, quick):
    windows.best_window(bench, output, quick, Figure)


FIGURES = {"fig5": figure_5, "fig6": figure_6, "fig7": figure_7, "fig9": figure_9, "fig10": figure_10, "rsim": figure_11,
           "fig3": figure_3, "fig4": figure_4, "fig4-devices": figure_4_devices, "counts": figure_4_counts, "simulated4": figure_4_simulated_small,
           "simulated4-large": figure_4_simulated_large, "simulated5": figure_5_simulated, "simulated-rsim": figure_11_simulated,
           "broadcast": figure_2_broadcast, "cholesky4": figure_4_cholesky, "cholesky5": figure_5_cholesky,
           "cholesky-here": cholesky_here, "windows": windows.sets, "windows-moderate": figure_7_windows,
           "windows-high": figure_8_windows, "window-best": figure_best_window, "peers": figure_peers, "simulated": table_simulated}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("output")
    parser.add_argument("--quick", action="store_true", help="fewer iterations and node counts")
    parser.add_argument("--only", action="append", choices=FIGURES, help="only this figure (may be given several times)")
    options = parser.parse_args()
    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.build)
    for name in options.only or FIGURES:
        FIGURES[name](bench, output, options.quick)
    progress.end()
    print(f"figures: written to {output}")


if __name__ == "__main__":
    main()
