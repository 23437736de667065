#!/usr/bin/env python3
"""`tacit bench plan`: what it prints, what must hold between its counts, and that all nodes' messages match. Times are not judged.

Usage: bench_plan_test.py TACIT"""
import json
import os
import subprocess
import sys

KEYS = ["pattern", "nodes", "node", "devices", "tasks", "repeat", "us_per_task", "us_per_task_least", "us_per_task_most", "us_per_task_by_stage", "us_first_use", "us_per_foreign_task",
        "commands_per_task", "messages_per_task", "instructions_per_task", "chunks_evaluated_per_task", "horizons", "us_per_horizon",
        "collectives_per_task", "sent_bytes_per_task", "received_bytes_per_task", "us_per_horizon_p999", "tracking_entries_peak", "arena_bytes_peak"]
PATTERNS = ["all-gather", "gather-scatter", "gather-broadcast", "all-to-all", "stencil", "stencil-2d",
            "stencil-periodic", "gather-all", "stencil-all", "parts", "two-all-gathers", "nbody", "wave-sim", "rsim",
            "generative-1d", "generative-2d", "generative-3d", "many-task", "matmul", "matmul-2d", "jacobi", "cholesky"]
GROWING = ["rsim", "generative-1d", "generative-2d", "generative-3d"]
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def bench(*arguments, status=0, **settings):
    command = [sys.argv[1], "bench", "plan", "--json", *map(str, arguments)]
    environment = dict(os.environ, **{"TACIT_" + key: value for key, value in settings.items()})
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    expect(done.returncode == status, f"{' '.join(command)}: status {done.returncode}: {done.stderr[:300]}")
    return json.loads(done.stdout) if status == 0 and done.returncode == 0 else None


def check_keys(out):
    """All that must be there, and what holds for every pattern."""
    name = out["pattern"]
    for key in KEYS:
        expect(key in out, f"{name}: no {key}")
    stages = out["us_per_task_by_stage"]
    expect(sorted(stages) == ["command", "instruction", "task"], f"{name}: stages {stages}")
    expect(all(value > 0 for value in stages.values()) and out["us_per_task"] > 0 and out["us_first_use"] > 0, f"{name}: times")
    expect(0 < out["us_per_task_least"] <= out["us_per_task"] <= out["us_per_task_most"], f"{name}: range of times")
    expect(out["instructions_per_task"] >= out["messages_per_task"], f"{name}: instructions and messages")
    expect(out["horizons"] > 0 and out["us_per_horizon"] > 0, f"{name}: horizons")
    expect(out["us_per_horizon_p999"] > 0 and out["arena_bytes_peak"] > 0, f"{name}: peaks")
    if name in GROWING + ["many-task"]:
        count = out["tasks"] // out["tasks_per_iteration"]
        expect(len(out["us_by_iteration"]) == count and min(out["us_by_iteration"]) > 0, f"{name}: iterations")
        blocks = out["instructions_by_block"]  # null where the kernel of the operating system has no counter
        expect(blocks is None or (len(blocks) == min(count, 20) and min(blocks) > 0), f"{name}: instructions by block")


def small(pattern, nodes, node, *more, collectives="off"):
    """A run whose counts matter, and not its times."""
    return bench("--pattern", pattern, "--nodes", nodes, "--node", node, "--tasks", 256, "--repeat", 1, "--horizon-front", 64,
                 "--collectives", collectives, *more)


def check_foreign():
    """With 16 nodes some blocks of tasks do not concern this one; with one, all do."""
    out = bench("--pattern", "cholesky", "--nodes", 16, "--tiles", 10000, "--tasks", 3000, "--repeat", 1)
    expect(out["us_per_foreign_task"] > 0, "cholesky on 16 nodes: no foreign tasks")
    expect(small("cholesky", 1, 0)["us_per_foreign_task"] == 0, "cholesky on one node: foreign tasks")


def check_patterns():
    for pattern in PATTERNS:
        out = small(pattern, 4, 1)
        if out:
            check_keys(out)
            expect((out["pattern"], out["nodes"], out["node"], out["tasks"], out["repeat"], out["devices"]) == (pattern, 4, 1, 256, 1, 1),
                   f"{pattern}: what was measured")


def check_counts():
    stencil = small("stencil", 16, "inner")
    expect(stencil["messages_per_task"] == 4, "an inner node of a stencil sends two messages and receives two")
    expect(abs(stencil["commands_per_task"] - (5 + stencil["horizons"] / 256)) < 1e-4, "and executes, and horizons are commands")
    expect(small("stencil", 16, 0)["messages_per_task"] == 2, "a node at the border of a stencil has one neighbour")
    expect(small("stencil", 1, 0)["messages_per_task"] == 0, "one node has none")
    for node in [0, "inner", 15]:
        messages = small("stencil-periodic", 16, node)["messages_per_task"]
        expect(messages == 4, f"node {node} of a ring has two neighbours")
    expect(small("all-gather", 16, 5)["messages_per_task"] == 30, "an all-gather on 16 nodes has 15 messages each way")
    expect(small("all-gather", 16, 5, collectives="discover")["collectives_per_task"] == 1, "an all-gather is found")
    expect(small("all-gather", 16, 5, collectives="discover")["messages_per_task"] == 0, "and needs no messages")
    expect(small("stencil-2d", 16, "inner")["messages_per_task"] == 16, "corners count")
    pairs, together = small("all-gather", 16, 5), small("all-gather", 16, 5, collectives="discover")
    expect(pairs["received_bytes_per_task"] == together["received_bytes_per_task"] > 0, "what a node lacks is the same")
    expect(pairs["sent_bytes_per_task"] == pairs["received_bytes_per_task"] == 15 * together["sent_bytes_per_task"], "its part goes to 15 others, or once")
    reduction = small("jacobi", 16, 0), small("stencil", 16, 0)
    expect(reduction[0]["received_bytes_per_task"] == reduction[1]["received_bytes_per_task"] + 4 * 8, "four children of the root send a value each")
    expect(small("many-task", 16, 3)["messages_per_task"] == 0, "independent tasks need no messages")
    kernels = small("stencil", 2, 0, "--devices", 3)
    expect(kernels["devices"] == 3 and kernels["instructions_per_task"] > small("stencil", 2, 0)["instructions_per_task"], "three devices")
    # Devices with a memory each: one copy from each before an all-gather, and one to each on either side of its own part after it.
    discrete = small("all-gather", 4, 1, "--devices", "3:discrete", "--horizon-step", "none", "--horizon-front", "none", collectives="discover")
    expect(discrete["instructions_per_task"] == 3 + 1 + 3 + 2 * 3, f"an all-gather with devices: {discrete['instructions_per_task']}")
    # The same of rows and columns, in turns: of each group all of it comes at once. They lie in places of their own, so in every
    # second task each device copies its own part from one to the other.
    discrete = small("matmul", 16, 5, "--devices", "3:discrete", "--horizon-step", "none", "--horizon-front", "none", collectives="discover")
    expect(abs(discrete["instructions_per_task"] - (3 + 1 + 3 + 2 * 3 + 3 / 2)) < 0.05, f"groups with devices: {discrete['instructions_per_task']}")
    deep, flat = small("stencil", 4, 1, "--horizon-step", 1), small("stencil", 4, 1, "--horizon-step", "none")
    expect(deep["horizons"] > 100 and flat["horizons"] < 10, f"horizon steps: {deep['horizons']} and {flat['horizons']}")
    narrow, wide = small("many-task", 4, 1, "--tasks", 2560), small("many-task", 4, 1, "--tasks", 2560, "--horizon-front", 128)
    expect(narrow["horizons"] > wide["horizons"] > 0, f"horizon fronts: {narrow['horizons']} and {wide['horizons']}")


def check_lookahead():
    """What lookahead finds: per step, collectives and messages of an inner node, with each task by itself and with a window of them."""
    def per_step(pattern, mode):
        out = small(pattern, 8, 3, "--tasks", 252, collectives=mode)
        steps = 4 if pattern == "two-all-gathers" else 3
        return round(steps * out["collectives_per_task"], 2), round(steps * out["messages_per_task"], 2)

    expect(per_step("gather-all", "off") == (0, 14), f"gather-all, off: {per_step('gather-all', 'off')}")
    expect(per_step("gather-all", "discover") == (1, 13), f"gather-all, discover: {per_step('gather-all', 'discover')}")
    expect(per_step("gather-all", "lookahead") == (1, 0), f"gather-all, lookahead: {per_step('gather-all', 'lookahead')}")
    expect(per_step("stencil-all", "discover") == (0, 18), f"stencil-all, discover: {per_step('stencil-all', 'discover')}")
    expect(per_step("stencil-all", "lookahead") == (1, 0), f"stencil-all, lookahead: {per_step('stencil-all', 'lookahead')}")
    expect(per_step("parts", "discover") == (2, 0), f"parts, discover: {per_step('parts', 'discover')}")
    expect(per_step("parts", "lookahead") == (1, 0), f"parts, lookahead: {per_step('parts', 'lookahead')}")
    for mode in ["discover", "lookahead"]:
        expect(per_step("two-all-gathers", mode) == (2, 0), f"two-all-gathers, {mode}: {per_step('two-all-gathers', mode)}")


def check_groups():
    """Rows and columns of nodes: a product takes two collectives, or a message to and from every other node of the row and of the column."""
    def per_product(pattern, mode, nodes=64, tasks=3):
        out = small(pattern, nodes, 9, "--tasks", 252, collectives=mode)
        return round(tasks * out["collectives_per_task"], 2), round(tasks * out["messages_per_task"], 2)

    expect(per_product("matmul-2d", "off") == (0, 28), f"matmul-2d, off: {per_product('matmul-2d', 'off')}")
    for mode in ["discover", "lookahead"]:
        expect(per_product("matmul-2d", mode) == (2, 0), f"matmul-2d, {mode}: {per_product('matmul-2d', mode)}")
        expect(per_product("matmul", mode, tasks=1) == (1, 0), f"matmul, {mode}: {per_product('matmul', mode, tasks=1)}")
    few, many = [small("matmul-2d", nodes, "inner", collectives="lookahead") for nodes in (64, 65536)]
    for key in ["chunks_evaluated_per_task", "messages_per_task", "commands_per_task", "instructions_per_task", "tracking_entries_peak"]:
        expect(few[key] == many[key], f"matmul-2d: {key} is {few[key]} on 64 nodes, {many[key]} on 65536")


def check_flat():
    """Plans of equal nodes do not depend on how many others there are."""
    for pattern in ["stencil", "stencil-2d", "stencil-periodic", "wave-sim", "jacobi"]:
        few, many = small(pattern, 16, "inner"), small(pattern, 65536, "inner")
        for key in ["chunks_evaluated_per_task", "messages_per_task", "commands_per_task", "instructions_per_task", "tracking_entries_peak"]:
            expect(few[key] == many[key], f"{pattern}: {key} is {few[key]} on 16 nodes, {many[key]} on 65536")


def check_growing():
    """Programs that overwrite nothing: what is kept does not depend on how long they run, in no mode."""
    for pattern in GROWING:
        for mode in ["off", "discover", "lookahead"]:
            short, long = (small(pattern, 4, 1, "--tasks", tasks, collectives=mode) for tasks in (200, 1000))
            for key in ["tracking_entries_peak", "arena_bytes_peak"]:
                expect(short[key] >= long[key], f"{pattern}, {mode}: {key} is {short[key]} after 200 tasks, {long[key]} after 1000")


def check_all_nodes():
    for pattern in PATTERNS:
        out = bench("--pattern", pattern, "--nodes", 9, "--node", "all", "--tasks", 14)
        expect(out["nodes_that_disagree"] == 0, f"{pattern}: nodes disagree about collectives")
        out = bench("--pattern", pattern, "--nodes", 9, "--node", "all", "--tasks", 14, "--collectives", "off")
        expect(out["nodes_that_disagree"] == 0, f"{pattern}: nodes disagree about messages")
        expect((out["messages_checked"] > 0) == (pattern != "many-task"), f"{pattern}: {out['messages_checked']} messages")
        expect(out["nodes_with_work"] == 9 or pattern == "cholesky", f"{pattern}: {out['nodes_with_work']} nodes have work")


def check_needed():
    """Factorisations by tiles send what they need and no more, on any grid."""
    for nodes, tasks in [(4, 300), (6, 900), (35, 1500), (36, 2500), (64, 1800), (100, 1500)]:
        for mode in ["off", "lookahead"]:
            out = bench("--pattern", "cholesky", "--nodes", nodes, "--node", "all", "--tasks", tasks, "--collectives", mode)
            expect(0 < out["messages_needed"] == out["messages_checked"],
                   f"cholesky on {nodes} nodes, {mode}: {out['messages_checked']} messages, {out['messages_needed']} needed")
            planned = bench("--pattern", "cholesky", "--nodes", nodes, "--node", "all", "--tasks", tasks, "--collectives", mode,
                            MULTICAST="planned")
            where = f"cholesky on {nodes} nodes, {mode}, planned"
            expect(planned["nodes_that_disagree"] == 0, f"{where}: nodes disagree about messages")
            expect(planned["messages_checked"] == out["messages_needed"],
                   f"{where}: {planned['messages_checked']} messages, {out['messages_needed']} needed")
            expect(planned["multicasts"] > 0 and planned["multicast_recipients"] >= 2 * planned["multicasts"], f"{where}: {planned}")
            expect((planned["multicast_forwards"] > 0) == (planned["multicast_depth"] > 1) == (nodes > 4), f"{where}: {planned}")
    expect("messages_needed" not in bench("--pattern", "stencil", "--nodes", 4, "--node", "all", "--tasks", 8), "a stencil has no tiles")


def check_windows():
    """Windows of pure tasks: inner nodes of a stencil exchange their two borders once in four or eight tasks."""
    for setting, expected in [("off", 4), ("halo:4", 1), ("halo:8", 0.5)]:
        out = bench("--pattern", "stencil", "--nodes", 8, "--node", "inner", "--tasks", 512, "--latency", setting)
        expect(out["latency"] == setting and abs(out["messages_per_task"] - expected) < 0.05, f"{setting}: {out['messages_per_task']} messages a task")
    bench("--pattern", "stencil", "--nodes", 4, "--latency", "maybe", status=1)


def check_errors():
    for arguments in [(), ("--pattern", "stencil"), ("--pattern", "soup", "--nodes", 4), ("--pattern", "stencil", "--nodes", 0),
                      ("--pattern", "stencil", "--nodes", 4, "--node", 4), ("--pattern", "stencil", "--nodes", 8192, "--node", "all"),
                      ("--pattern", "stencil", "--nodes", 4, "--collectives", "maybe"), ("--pattern", "stencil", "--nodes", 4, "--tasks")]:
        bench(*arguments, status=1)


def main():
    check_foreign()
    check_patterns()
    check_counts()
    check_lookahead()
    check_groups()
    check_flat()
    check_needed()
    check_growing()
    check_all_nodes()
    check_windows()
    check_errors()
    print("\n".join(failures + [f"bench plan: {len(failures)} failures"]))
    return 1 if failures else 0


sys.exit(main())
