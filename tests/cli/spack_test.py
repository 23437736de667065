#!/usr/bin/env python3
"""packaging/spack/package.py: it is Python, its version is that of the headers, and the options that it gives exist in the build.
Spack is not run: what it makes of the recipe is not tested.

Usage: spack_test.py SOURCE"""
import ast
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
failures = []


def check(good, what):
    if not good:
        failures.append(what)


def calls(tree, name):
    """The first arguments of all calls of a function or method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (getattr(node.func, "id", None) == name or getattr(node.func, "attr", None) == name):
            yield [a.value for a in node.args if isinstance(a, ast.Constant)], {k.arg: getattr(k.value, "value", None) for k in node.keywords}


tree = ast.parse((source / "packaging/spack/package.py").read_text())
options = (source / "cmake/options.cmake").read_text()
header = (source / "include/tacit/tacit.h").read_text()
version = ".".join(re.findall(r"#define TACIT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
known = set(re.findall(r"^(?:option|set)\((\w+)", options, flags=re.M))
variants = {words[0] for words, _ in calls(tree, "variant")}

check([words for words, _ in calls(tree, "version") if words[0] == version], f"there is no version {version}")
defined = list(calls(tree, "define")) + list(calls(tree, "define_from_variant"))
check(len(defined) >= 5, "few options are given")
for words, _ in defined:
    check(words[0] in known, f"the build has no option {words[0]}")
for words, _ in calls(tree, "define_from_variant"):
    check(words[1] in variants, f"there is no variant {words[1]}")
for words, more in calls(tree, "depends_on"):
    condition = more.get("when")
    check(condition is None or condition.lstrip("+~") in variants, f"{words[0]} depends on {condition}, which is no variant")
for failure in failures:
    print(f"spack: {failure}")
sys.exit(1 if failures else 0)
