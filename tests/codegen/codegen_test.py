#!/usr/bin/env python3
"""Views cost nothing in programs compiled with -DNDEBUG: hot loops are those of plain pointers.

Usage: codegen_test.py SOURCE COMPILER... [--print KERNEL "FLAGS"]. Compiles the source (tests/codegen/kernels.c, or kernels.cpp of lib/cpp) to assembly with
each compiler and compares the innermost vectorised loop of NAME_views with that of NAME_hand, per element: as much packed arithmetic, not more instructions besides those that
count and jump or move registers to the stack and back, no scalar arithmetic and no calls. --print shows the two loops of a kernel beside each other. Status 77 where the processor is no x86-64."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-O3", "-O3 -march=x86-64-v3"]
KERNELS = ["jacobi", "heat", "axpy", "index"]
STORE = re.compile(r"\s*v?mov(?:[au]p[sd]|dq[au]\d*)\s+%([xyz])mm\d+, *[^%].*\(")
PACKED = re.compile(r"\s*v?(?:(?:add|sub|mul|div|max|min|sqrt)p[sd]|fn?m(?:add|sub)\d+pd|p(?:add|sub)[bwdq])\b")
SCALAR = re.compile(r"\s*(?:v?(?:add|sub|mul|div)s[sd]|v?fn?m(?:add|sub)\d+sd|v?gather\w+|call\w*)\b")
SPILL = re.compile(r"\s*v?mov\w+\s+(?:-?\d*\(%rsp\), *%\w+|%\w+, *-?\d*\(%rsp\))")  # which registers are kept is the compiler's choice
JUMP = re.compile(r"\s*j\w+\s+(\.?\w+)\s*$")
LABEL = re.compile(r"(\.?\w+):")
LOOP = 3  # instructions that only count and jump: unrolled loops have them once for more elements
ELEMENTS = {"x": 2, "y": 4, "z": 8}  # of 8 bytes


def assembly(compiler, flags, source):
    standard = "-std=c17" if source.suffix == ".c" else "-std=c++17"
    includes = ["-I", str(ROOT / "include"), "-I", str(ROOT / "lib" / "cpp" / "include")]
    command = [compiler, standard, *flags.split(), "-DNDEBUG", "-fno-asynchronous-unwind-tables", *includes, "-S", "-o", "-", str(source)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def body(lines, function):
    begin = next(i for i, line in enumerate(lines) if line.startswith(function + ":"))
    end = next(i for i, line in enumerate(lines) if i > begin and re.match(rf"\s+\.size\s+{function},", line))
    return lines[begin:end]


def loops(lines):
    """The innermost loops: from a label to a jump back to it, with no other one between."""
    label = {m.group(1): i for i, line in enumerate(lines) if (m := LABEL.match(line))}
    spans = [(label[m.group(1)], i) for i, line in enumerate(lines) if (m := JUMP.match(line)) and label.get(m.group(1), i) < i]
    for begin, end in spans:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in spans):
            body = [line.split("#")[0].rstrip() for line in lines[begin:end + 1] if re.match(r"\s+[a-z]", line)]
            yield [line for line in body if not SPILL.match(line)]


def hot_loop(lines, function):
    """The one that stores most at once, and how many elements that are."""
    best, most = None, 0
    for loop in loops(body(lines, function)):
        elements = sum(ELEMENTS[m.group(1)] for line in loop if (m := STORE.match(line)))
        if elements > most:
            best, most = loop, elements
    return best, most


def compare(lines, kernel):
    """The differences, as sentences."""
    (views, count), (hand, hand_count) = hot_loop(lines, kernel + "_views"), hot_loop(lines, kernel + "_hand")
    if not hand:
        return ["the loop with plain pointers is not vectorised: nothing to compare with"]
    if not views:
        return ["the loop with views is not vectorised, that with plain pointers is"]
    bad = [f"scalar or call: {line.strip()}" for line in views if SCALAR.match(line)]
    packed, hand_packed = (sum(bool(PACKED.match(line)) for line in loop) for loop in (views, hand))
    if packed * hand_count != hand_packed * count:
        bad.append(f"{packed} packed operations for {count} elements, by hand {hand_packed} for {hand_count}")
    if (len(views) - LOOP) * hand_count > (len(hand) - LOOP) * count:
        bad.append(f"{len(views)} instructions for {count} elements, by hand {len(hand)} for {hand_count}")
    print(f"  {kernel}: {len(views)} instructions ({packed} packed operations) for {count} elements, by hand {len(hand)} ({hand_packed}) for {hand_count}")
    return bad


def show(lines, kernel):
    columns = [[re.sub(r"\s+", " ", line.strip()) for line in hot_loop(lines, kernel + end)[0]] for end in ("_views", "_hand")]
    for i in range(max(map(len, columns))):
        print("  ".join(f"{c[i] if i < len(c) else '':36}" for c in columns).rstrip())


def main():
    if platform.machine() not in ("x86_64", "AMD64"):
        print("codegen: the test knows the instructions of x86-64 only")
        return 77
    source, words = pathlib.Path(sys.argv[1]), sys.argv[2:]
    if "--print" in words:
        at = words.index("--print")
        show(assembly(words[0], words[at + 2], source), words[at + 1])
        return 0
    failed = 0
    for compiler in {os.path.realpath(shutil.which(w) or w): w for w in reversed(words)}.values():
        for flags in FLAGS:
            print(compiler, flags)
            lines = assembly(compiler, flags, source)
            for kernel in KERNELS:
                bad = compare(lines, kernel)
                failed += bool(bad)
                print("\n".join(f"  FAILED {kernel}: {b}" for b in bad), end="\n" if bad else "")
    return 1 if failed else 0


sys.exit(main())
