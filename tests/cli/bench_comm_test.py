#!/usr/bin/env python3
"""bench_comm_test.py TACIT: what programs that only communicate send, counted. Times are not judged."""

import json
import os
import subprocess
import sys

failures = []


def expect(good, what):
    if not good:
        failures.append(what)


def bench(*arguments, status=0, **settings):
    command = [sys.argv[1], "run", "-n", "2", sys.argv[1], "bench", "comm", "--json", *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TACIT_")}
    environment.update({"TACIT_" + k: v for k, v in settings.items()})
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, env=environment)
    expect((done.returncode == 0) == (status == 0), f"{command}: status {done.returncode}: {done.stderr[:300]}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def counts(pattern, against, size="64", *more):
    """Collectives and messages of node 0 per iteration, with lookahead and in the other mode, where no horizon closes a window."""
    out = bench("--pattern", pattern, "--against", against, "--bytes", size, "--iterations", "40", *more, HORIZON_STEP="1000000")
    expect(out["devices"] == (more[1] if more else ""), f"{out}")
    expect((out["pattern"], out["collectives"], out["other"], out["nodes"]) == (pattern, "lookahead", against, 2), f"{out}")
    run = [value for value in out.values() if isinstance(value, list)][0][0]
    expect(run["by_hand_per_s"] > 0 and run["tacit_per_s"] > 0 and run["other_per_s"] > 0, f"{pattern}: rates")
    return tuple(round(run[key], 1) for key in ("collectives_per_iteration", "messages_per_iteration", "other_collectives_per_iteration",
                                                "other_messages_per_iteration"))


def main():
    # Node 0 sends: a message of a halo, or its part; a gather to node 0 is a collective, and what node 1 lacks then a message.
    for pattern, against, expected in [("all-gather", "off", (1, 0, 0, 1)), ("gather-all", "discover", (1, 0, 1, 1)),
                                       ("stencil-all", "discover", (1, 0, 0, 2)), ("parts", "discover", (1, 0, 2, 0)),
                                       ("two-all-gathers", "off", (2, 0, 0, 2))]:
        found = counts(pattern, against)
        expect(found == expected, f"{pattern} against {against}: {found} instead of {expected}")
    # Nodes with several devices send no more: what comes is for all of them.
    for devices in ("host:2:discrete", "host:4:discrete"):
        for pattern, expected in [("all-gather", (1, 0, 0, 1)), ("stencil-all", (1, 0, 0, 2))]:
            against = "discover" if pattern == "stencil-all" else "off"
            found = counts(pattern, against, "512", "--devices", devices)
            expect(found == expected, f"{pattern} with {devices}: {found} instead of {expected}")
    bench("--pattern", "gather-all", "--devices", "host:nothing", status=1)
    bench("--pattern", "gather-all", "--against", "soup", status=1)
    print("\n".join(failures + [f"bench comm: {len(failures)} failures"]))
    return 1 if failures else 0


sys.exit(main())
