#!/usr/bin/env python3
"""Checks that the library has no variables that its contexts share, but those below, each for a reason.

Usage: globals_test.py ROOT OBJECTS. OBJECTS is the folder of the library's objects, with the folders of src/ in it. Constants are no
variables, also where the loader must fill in their addresses. Variables that the table names and an object does not have any more are
offences, too."""
import pathlib
import subprocess
import sys

ALLOWED = {
    "api/enter.c": {"lost_error": "the sentence of a call that has no context, or is made inside a kernel: one per thread"},
    "api/view.c": {
        "checked": "whether kernels check accesses is how the program was compiled, and is said once",
        "watch": "exit handlers belong to the process",
    },
    "base/cores.c": {"process": "cores that threads are bound to belong to the process, whose contexts must not take the same"},
    "base/crowd.c": {"ti_crowd_of_process": "processor time and the cores that others want are the process's"},
    "base/failure.c": {"ti_failure_kernel": "the kernel that this thread runs, for an exit handler, which takes no argument: one per thread"},
    "base/alloc.c": {"counted": "memory belongs to the process, and so does the count of it"},
    "base/handle.c": {"pools": "a context may be given handles of another one, or garbage, and must find out",
                      "ti_handle_newest": "of these, those that are asked for most"},
    "base/log.c": {"sink": "stderr belongs to the process; the level and node number in front of a line do, too"},
    "comm/mpi/guard.c": {
        "guard": "exit handlers take no argument",
        "ti_mpi_guard_inside": "whether this thread is in a call of MPI, which may call exit: one per thread",
    },
    "comm/mpi/reduce.c": {"attribute": "MPI hands an operator nothing but a type; the key to what belongs to it is MPI's, one per process"},
    "device/bounds/fault.c": {
        "handler": "signal handlers belong to the process",
        "mine": "the kernel that this thread runs, for the handler, which takes no argument: one per thread",
        "under_way": "the kernels that all threads run, for the same",
    },
    "device/host.c": {"me": "which worker this thread is: one per thread"},
    "run/home.c": {"seen": "what this thread saw when it looked last: one per thread"},
    "run/tracing.c": {"contexts": "contexts of a process that are traced must not write to the same files"},
    "run/siblings.c": {"siblings": "a thread that waits in one context for long looks for its others, which nobody drives then"},
}
WRITABLE = (".data", ".bss", ".tdata", ".tbss", "*COM*")


def variables(paths):
    """By path: the names of an object's writable variables; the compiler numbers those of functions."""
    out = subprocess.run(["nm", "--format=sysv", "--defined-only", "--print-file-name", *map(str, paths)],
                         capture_output=True, text=True, check=True).stdout
    found = {path: set() for path in paths}
    for row in out.splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 7 and cells[6].startswith(WRITABLE) and not cells[6].startswith(".data.rel.ro"):
            path, name = cells[0].rsplit(":", 1)
            found[pathlib.Path(path)].add(name)
    return found


def main():
    root, objects = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    # Others were left by an earlier build.
    source_of = {path: str(path.relative_to(objects)).removesuffix(".o") for path in sorted(objects.rglob("*.o"))}
    source_of = {path: source for path, source in source_of.items() if (root / "src" / source).exists()}
    bad, seen, found = [], len(source_of), 0
    for path, names in variables(list(source_of)).items():
        source = source_of[path]
        allowed = set(ALLOWED.get(source, ()))
        found += len(names)
        bad += [f"src/{source}: {name} is shared by all contexts; put it into one, or give the reason here" for name in sorted(names - allowed)]
        bad += [f"src/{source}: {name} is no variable of it any more; take it off the list" for name in sorted(allowed - names)]
    if seen < 50:
        bad.append(f"only {seen} objects in {objects}")
    print("\n".join(bad + [f"globals: {len(bad)} offences; {found} variables in {seen} objects"]))
    return 1 if bad else 0


sys.exit(main())
