#!/usr/bin/env python3
"""The pages for `man` and the completions that tools/manual made: every exported function has a page, references lead somewhere, groff and
shells have nothing to say, and every option of --help can be completed.

Usage: manual_test.py HEADERS[:HEADERS...] MANUAL TOOL"""
import pathlib
import re
import shutil
import subprocess
import sys

folders = sys.argv[1].split(":")
headers, manual, tool = (str(pathlib.Path(word).resolve()) for word in (folders[0], *sys.argv[2:]))
failures = []


def check(condition, text):
    if not condition:
        failures.append(f"FAILED: {text}")


def pages():
    folder = pathlib.Path(manual, "man")
    there = {page.name for page in folder.glob("man*/*")}
    for header in (header for place in folders for header in pathlib.Path(place).glob("*.h")):
        for name in re.findall(r"^TACIT_API [\w ]*[ *](tacit_\w+)\(", header.read_text(), flags=re.M):
            check(f"{name}.3" in there, f"{header.name}: {name} has no page")
        check(f"tacit-{header.stem}.7" in there or header.stem == "tacit", f"{header.name} has no page")
    for name, header in (("tacit_submit", "tacit.h"), ("tacit_buffer_write", "io.h"), ("tacit_refuse", "layer.h"), ("tacit_init_mpi", "mpi.h")):
        check(f"#include <tacit/{header}>" in (folder / "man3" / f"{name}.3").read_text(), f"{name}.3 does not include {header}")
    for name in ("tacit_submit.3", "tacit_task.3", "tacit_neighborhood.3", "TACIT_AT1.3", "tacit.1", "tacit-run.1", "tacit.7", "tacit-settings.7"):
        check(name in there, f"{name} is missing")
    for page in folder.glob("man*/*"):
        text = page.read_text()
        for name, section in re.findall(r"^\.BR (\S+) \((\d)\)", text, flags=re.M):
            name = name.replace("\\", "").replace("&", "")
            check(f"{name}.{section}" in there, f"{page.name}: {name}({section}) is not there")
        check("*/" not in text.split(".SH DESCRIPTION")[-1].split(".SH")[0] or ".EX" in text, f"{page.name}: the end of a comment in the text")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", "-I", folder, *sorted(folder.glob("man*/*"))], capture_output=True,
                              text=True, check=False)
        check(done.returncode == 0 and not done.stderr, done.stderr)
    submit = (folder / "man3" / "tacit_submit.3").read_text()
    for wanted in (".SH ERRORS", "TACIT_ERROR_OVERLAP", ".SH THREADS", ".SH NODES", "tacit_submit(tacit_context *ctx"):
        check(wanted in submit, f"tacit_submit.3 lacks {wanted}")


def completions():
    folder = pathlib.Path(manual, "completions")
    for shell, name in (("bash", "tacit.bash"), ("zsh", "_tacit"), ("fish", "tacit.fish")):
        if shutil.which(shell):
            done = subprocess.run([shell, "-n", folder / name], capture_output=True, text=True, check=False)
            check(done.returncode == 0 and not done.stderr, f"{name}: {done.stderr}")
        text = (folder / name).read_text()
        for command in ("run", "graph", "plan", "simulate", "explain", "trace", "info", "bench"):
            check(re.search(rf"\b{command}\b", text), f"{name}: no {command}")
            said = subprocess.run([tool, "help", command], capture_output=True, text=True, check=True).stdout
            check(re.match(rf"Usage: tacit {command} .*\n(       tacit .*\n)*\n[A-Z]", said) and re.search(r"^  -h, --help +this text$", said, re.M) and
                  re.search(r"\b[Tt]he\s+exit\s+status\s+is\b", said), f"the help of {command} is not like that of others")
            for option in re.findall(r"^  (?:-\w, )?--([\w-]+)", said, flags=re.M):
                check(re.search(rf"(--|-l ){option}\b", text), f"{name}: no --{option} of {command}")

    def completed(*words):
        script = f'source {folder}/tacit.bash; COMP_WORDS=(tacit "$@"); COMP_CWORD=$#; _tacit; printf "%s\\n" "${{COMPREPLY[@]}}"'
        return subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True, cwd=headers).stdout.split()

    check(completed("pl") == ["plan"], completed("pl"))
    check(completed("simulate", "--net") == ["--network"], completed("simulate", "--net"))
    check(completed("help", "set") == ["settings"], completed("help", "set"))
    check(completed("bench", "ste") == ["steps"], completed("bench", "ste"))
    check(completed("info", "--j") == ["--json"], completed("info", "--j"))
    check(completed("run", "-n", "4", "task.") == ["task.h"], completed("run", "-n", "4", "task."))
    check(completed("plan", "./prog", "bo") == ["box.h"], "words behind a program are files")


pages()
completions()
print("\n".join(failures + [f"manual: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
