#!/usr/bin/env python3
"""The binary interface of the installed libraries against the one that is committed (tests/abi/NAME.abi), by libabigail.

Usage: abi_test.py SOURCE BUILD NAME=LIBRARY... [--write]     --write: what is built becomes the committed one

Fails when anything differs but functions that were added, and says what. What a difference means for SOVERSION stands in
CONTRIBUTING.md, "The binary interface"."""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

words = [word for word in sys.argv[1:] if word != "--write"]
source, build, libraries = pathlib.Path(words[0]), pathlib.Path(words[1]), dict(word.split("=", 1) for word in words[2:])
INCOMPATIBLE = 8  # bit of abidiff's status


def skip(why):
    print(f"abi: {why}, so the interface is not compared")
    sys.exit(77)


def public_types():
    """The structs that the headers define."""
    headers = list((source / "include" / "tacit").glob("*.h")) + list((source / "lib").glob("*/include/tacit/*.h"))
    return {name for header in headers for name in re.findall(r"^(?:typedef )?struct (\w+)\s*\{", header.read_text(), flags=re.M)}


def without_private(text):
    """libabigail takes the contents of a type for public if a public header is called like the private one that defines it."""
    public = public_types()

    def declared(match):
        is_ours = re.match(r"(tacit|ti)_", match.group(1)) and match.group(1) not in public
        return f"<class-decl name='{match.group(1)}' is-struct='yes' visibility='default' is-declaration-only='yes' id='{match.group(2)}'/>" \
            if is_ours else match.group(0)
    return re.sub(r"<class-decl name='(\w+)' size-in-bits[^>]* id='([^']*)'>.*?\n    </class-decl>", declared, text, flags=re.S)


def describe(library, out, folder):
    """The interface of a library: functions that it exports, and the types of public headers."""
    command = ["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--short-locs", "--drop-private-types",
               "--no-elf-needed", "--drop-undefined-syms", "--exported-interfaces-only", "--headers-dir", str(source / "include"), "--out-file", str(out), library]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"abi: {' '.join(command)}: {done.stdout}{done.stderr}")
    text = out.read_text()
    if not re.search(r"<function-decl ", text):
        skip(f"{library} has no debug information")
    text = text.replace(f"{source.resolve()}/", "").replace(f"{build.resolve()}/", "")
    text = without_private(text)
    out.write_text(re.sub(r" (filepath|comp-dir-path|line|column)='[^']*'", "", text))


def compare(name, library, folder):
    """True if the interface is the committed one."""
    committed, built = source / "tests" / "abi" / f"{name}.abi", folder / f"{name}.abi"
    describe(library, built, folder)
    if "--write" in sys.argv:
        shutil.copy(built, committed)
        return True
    done = subprocess.run(["abidiff", "--no-show-locs", str(committed), str(built)], capture_output=True, text=True)
    found = re.findall(r"(?:Functions|Variables) changes summary: (\d+) Removed, (\d+) Changed(?: \(\d+ filtered out\))?, (\d+) Added", done.stdout)
    if done.returncode and found and all(removed == changed == "0" for removed, changed, _ in found) and not done.returncode & (INCOMPATIBLE | 3):
        print(f"abi: {name} has {sum(int(added) for _, _, added in found)} more functions than the committed interface, which is allowed")
        return True
    if done.returncode:
        kind = "programs that are linked with the old one may not run" if done.returncode & INCOMPATIBLE else "types have changed"
        print(f"abi: the interface of {name} is another one ({kind}):\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def main():
    if not shutil.which("abidw") or not shutil.which("abidiff"):
        skip("libabigail is not installed (tools/setup --check installs abigail-tools)")
    if platform.machine() != "x86_64":
        skip(f"the committed interfaces are those of x86_64, and this is {platform.machine()}")
    with tempfile.TemporaryDirectory() as folder:
        same = [compare(name, library, pathlib.Path(folder)) for name, library in libraries.items()]
    if not all(same):
        print("abi: if that is meant, look at CONTRIBUTING.md, 'The binary interface', and renew what is committed with:\n"
              f"    python3 {' '.join(sys.argv)} --write")
    return 0 if all(same) else 1


sys.exit(main())
