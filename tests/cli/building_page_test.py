#!/usr/bin/env python3
"""doc/building.md lists the options of cmake/options.cmake, with their defaults in release builds.

Usage: building_page_test.py SOURCE"""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
text = (source / "cmake/options.cmake").read_text()
options = dict(re.findall(r'^option\((\w+) ".*" (ON|OFF)\)$', text, flags=re.M))
options |= {name: value.strip('"') for name, value in re.findall(r'^set\((\w+) ("[^"]*"|\S+) CACHE STRING', text, flags=re.M)}
options["TACIT_CHECKS"] = "off"  # by the build type
page = (source / "doc/building.md").read_text().split("## Options")[1].split("\n## ")[0]
listed = {name: default.strip().strip("`") for name, default in re.findall(r"^\| `(\w+)` \|([^|]*)\|", page, flags=re.M)}
failures = [f"doc/building.md has no row for {name}" for name in sorted(options.keys() - listed.keys())]
failures += [f"doc/building.md has a row for {name}, which is no option" for name in sorted(listed.keys() - options.keys())]
failures += [f"{name}: the page says '{listed[name]}', the build '{options[name]}'"
             for name in sorted(options.keys() & listed.keys()) if options[name] != listed[name]]
if len(options) < 15:
    failures.append(f"only {len(options)} options were found in cmake/options.cmake")
print("\n".join(failures) or f"{len(options)} options")
sys.exit(1 if failures else 0)
