"""Pictures of windows of pure tasks, drawn from what the planner says: counterparts of figures 1 to 3, 5, 6, 7 and 8 of Eijkhout, Task
Graph Transformations for Latency Tolerance, 2022. Used by figures.py.

The commands of each node come from the command graphs that TACIT_GRAPH writes of a dry run of the heat equation. Which items wait for
messages, and which are needed by others, follows from what is received and sent, item by item. (In the picture of single steps, from their
own messages and the parts that chunks were cut into. Windows so small are not cut.)"""
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile

import matplotlib.pyplot as plt
import progress

HELD, SENT, RECEIVED = "#d9d9d9", "#e06666", "#9fc5e8"
FIRST, MEANWHILE, AFTER = "#f6b26b", "#b6d7a8", "#8e7cc3"


def intervals(text):
    return [(int(a), int(b)) for a, b in re.findall(r"\[(\d+),(\d+)\)", text)]


def items(boxes):
    return {i for a, b in boxes for i in range(a, b)}


def plan(bench, setting, points, steps, nodes, node, overlap):
    """What a node receives before each step, executes in it, and sends before it: sets of items, and those of each part."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "graph"
        settings = {"TACIT_LATENCY": setting, "TACIT_GRAPH": str(prefix), "TACIT_DRY_RUN": f"{nodes}:{node}", "TACIT_HORIZON_STEP": "1000",
                    "TACIT_COLLECTIVES": "off", "TACIT_OVERLAP": overlap}
        subprocess.run([bench.build / "libexec" / "tacit-heat1d", str(points), str(steps)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env={**os.environ, **settings})
        text = prefix.with_suffix(f".command.{node}.dot").read_text()
    level, received, sent, executed = 0, {}, {}, {}
    for found in re.findall(r'label="([^"]*)"', text):
        if found.startswith("receive"):
            received.setdefault(level, set()).update(items(intervals(found)))
        elif found.startswith("send"):
            sent.setdefault(level, set()).update(items(intervals(found)))
        elif found.startswith("execute") and " step " in found:
            level += 1
            parts = intervals(found.split(" step ")[1])
            executed[level] = [items([part]) for part in parts] if overlap == "on" else [{i} for i in items(parts)]
    return received, sent, executed


def sort_items(points, received, sent, executed, singly):
    """By step: the items that others need, those that wait for nothing, and those that wait for messages (singly: of this step)."""
    steps = max(executed)
    late, needed = {0: set(received.get(0, set()))}, {}
    for level in range(1, steps + 1):
        came = received.get(level - 1, set()) if singly else late[level - 1]
        parts = [part for part in executed[level] if any(came & {i - 1, i, i + 1} for i in part)]
        late[level] = set().union(received.get(level, set()), *parts)
    for level in range(steps, -1, -1):
        wanted = {j for i in needed.get(level + 1, set()) for j in (i - 1, i, i + 1) if 0 <= j < points}
        needed[level] = set() if singly else (sent.get(level, set()) | wanted) - late[level]
    return late, needed


def draw_node(axes, points, chunk, found, lift, singly):
    received, sent, executed = found
    late, needed = sort_items(points, received, sent, executed, singly)
    executed = {level: set().union(*parts) for level, parts in executed.items()}
    for level in range(max(executed) + 1):
        held = set(range(*chunk)) if level == 0 else executed[level]
        for i in held | received.get(level, set()):
            colour = (RECEIVED if i in received.get(level, set()) else HELD if level == 0 else AFTER if i in late[level]
                      else FIRST if i in needed[level] else MEANWHILE)
            again = level > 0 and i in executed[level] and not chunk[0] <= i < chunk[1]
            axes.add_patch(plt.Rectangle((i, lift + level), 0.9, 0.8, facecolor=colour, hatch="////" if again else None,
                                         edgecolor=SENT if i in sent.get(level, set()) else "#666666",
                                         linewidth=1.8 if i in sent.get(level, set()) else 0.4))


def legend(picture):
    def box(colour, **more):
        return plt.Rectangle((0, 0), 1, 1, facecolor=colour, **{"edgecolor": "#666666", **more})

    picture.legend([box(HELD), box(FIRST), box(MEANWHILE), box(AFTER), box("white", hatch="////"), box("white", edgecolor=SENT, linewidth=1.8),
                    box(RECEIVED)],
                   ["held before (L0)", "for others, first (L1)", "while messages travel (L2)", "after messages (L3)", "redundant", "sent",
                    "received"], loc="lower center", ncol=7, fontsize=7, frameon=False)


def picture(bench, output, name, title, setting, points, steps, nodes, shown, overlap="off"):
    progress.say("figures: window", setting)
    figure, axes = plt.subplots(figsize=(10, 0.45 * (steps + 2) * len(shown) + 1))
    for row, node in enumerate(shown):
        chunk = (points * node // nodes, points * (node + 1) // nodes)
        lift = (len(shown) - 1 - row) * (steps + 2)
        draw_node(axes, points, chunk, plan(bench, setting, points, steps, nodes, node, overlap), lift, overlap == "on")
        axes.text(-0.5, lift + 0.4 * steps, f"node {node}", ha="right", fontsize=8)
    axes.set_xlim(-5, points + 1)
    axes.set_ylim(-0.6, len(shown) * (steps + 2))
    axes.axis("off")
    axes.set_title(title, fontsize=10)
    legend(figure)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    figure.savefig(output / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def sets(bench, output, _quick):
    """Counterparts of figures 1 and 2 (halo), 3 and 5 (staged), and 6 (one node)."""
    picture(bench, output, "window-cone", "One step in a message: every step waits (off)", "off", 48, 4, 3, [0, 1, 2])
    picture(bench, output, "window-overlap", "One step in a message: borders wait (off, TACIT_OVERLAP=on)", "off", 48, 4, 3, [0, 1, 2], "on")
    picture(bench, output, "window-halo", "A window of four steps, halo (counterpart of Figures 1 and 2)", "halo:4", 48, 4, 3, [0, 1, 2])
    picture(bench, output, "window-staged", "A window of four steps, staged (counterpart of Figures 3 and 5)", "staged:4", 48, 4, 3,
            [0, 1, 2])
    picture(bench, output, "window-node", "The sets of one node, eight steps, staged (counterpart of Figure 6)", "staged:8", 96, 8, 3, [1])


# ---------------------------------------------------------------- simulated


WINDOWS = [1, 2, 4, 8, 16]
POINTS, STEPS, NODES = 10000, 64, 4
ITEM = 1e-8  # seconds


def heat(bench, latency, threads, windows, strategy, points=POINTS):
    command = [bench.build / "bin" / "tacit", "simulate", "--json", "--heat1d", f"{points},{STEPS}", "--nodes", str(NODES), "--threads",
               ",".join(map(str, threads)), "--window", ",".join(map(str, windows)), "--latency", latency, "--item", "10ns", "--strategy",
               strategy]
    progress.say("figures: heat1d", latency, strategy)
    environment = {**os.environ, "TACIT_OVERLAP": "off"}  # b = 1 of the formula hides nothing
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)["rows"]


def run_time(bench, output, quick, figure_of, name, number, latency):
    figure = figure_of(output, name, ["threads", "window", "halo_ns", "staged_ns", "formula_ns"])
    threads = [1, 16, 256] if quick else [2**i for i in range(11)]
    halo, staged = (heat(bench, latency, threads, WINDOWS, s) for s in ("halo", "staged"))
    for k, window in enumerate(WINDOWS):
        found = [(h["threads"], h["windows"][k], s["windows"][k]) for h, s in zip(halo, staged)]
        for count, h, s in found:
            figure.add(count, window, h["ns"], s["ns"], h["formula_ns"])
        line, = figure.axes.plot(threads, [1e-6 * h["ns"] for _, h, _ in found], "o-", markersize=3, label=f"b = {window}")
        if window > 1:
            figure.axes.plot(threads, [1e-6 * s["ns"] for _, _, s in found], "x:", markersize=4, color=line.get_color())
    figure.axes.plot([], [], "k-", label="halo")
    figure.axes.plot([], [], "k:", label="staged")
    figure.finish(f"{POINTS} points, {STEPS} steps, {NODES} nodes, latency {latency}, simulated (counterpart of Figure {number})",
                  "threads of a node", "run time in ms", log_x=True, log_y=True, beside=True)


def best_window(bench, output, quick, figure_of):
    """The best window by latency, against that of the formula, sqrt(alpha / gamma), and against the least one whose work hides a message,
    alpha p / (N gamma), of which the formula knows nothing."""
    figure = figure_of(output, "window-best", ["latency_us", "formula", "hides", "halo", "staged"])
    windows = [1, 2, 4, 8, 16] if quick else [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
    points, threads, item = 4000, 10, 10  # ns
    for latency in [2, 16] if quick else [1, 2, 4, 8, 16, 32]:
        best = {}
        for strategy in ("halo", "staged"):
            row = heat(bench, f"{latency}us", [threads], windows, strategy, points)[0]
            best[strategy] = min(row["windows"], key=lambda w: w["ns"])["window"]
        gamma = item / threads
        figure.add(latency, math.sqrt(1000 * latency / gamma), 1000 * latency * NODES / points / gamma, best["halo"], best["staged"])
    latencies = [r[0] for r in figure.rows]
    for k, style, text in ((1, "k-", "sqrt(alpha / gamma)"), (2, "k:", "alpha p / (N gamma)"), (3, "o", "halo"), (4, "x", "staged")):
        figure.axes.plot(latencies, [r[k] for r in figure.rows], style, label=text)
    figure.axes.set_yscale("log", base=2)
    figure.finish(f"Best window, simulated: {points} points, {STEPS} steps, {NODES} nodes, {threads} threads", "latency in us",
                  "steps of the best window", log_x=True)
