#!/usr/bin/env python3
"""doc/MAP.md is true: each path in it exists, each function that it names with a file stands in that file, no row stands there
twice, rows have at most 120 columns, and every folder of the library's sources has a row.

Usage: map_page_test.py SOURCE-ROOT"""
import pathlib
import re
import sys

TOPS = ("include", "lib", "tests", "tools", "bench", "examples", "doc", "cmake", "packaging", "src")
CODE = re.compile(r"`([^`]+)`")
PATH = re.compile(r"[\w.-]+(/[\w.*-]+)*/?$")
ENDINGS = (".c", ".h", ".hpp", ".cpp", ".py", ".sh", ".md", ".cmake", ".F90", ".js", ".txt")
CAP = 120


def is_path(word):
    return bool(PATH.match(word)) and ("/" in word or word.endswith(ENDINGS))


def resolve(root, word, folder):
    """Where a path of the page is: below its top folder, else below src/, else beside the path named before it in the row."""
    places = [root / word] if word.split("/")[0] in TOPS or "/" not in word else []
    places += [root / "src" / word] if "/" in word else []
    places += [folder / word] if folder else []
    for place in places:
        found = sorted(place.parent.glob(place.name)) if place.parent.is_dir() else []
        if found:
            return found[0]
    return None


def check_cell(root, cell):
    """What is not true of one cell: paths that do not exist, names that their file does not have."""
    folder = None
    words = list(CODE.finditer(cell))
    for n, match in enumerate(words):
        word = match.group(1)
        if not is_path(word):
            continue
        found = resolve(root, word, folder)
        if not found:
            yield f"`{word}` does not exist"
            continue
        folder = found if found.is_dir() else found.parent
        between = cell[words[n - 1].end():match.start()] if n else ""
        name = words[n - 1].group(1) if between == " in " else ""
        if name and found.is_file() and name.replace("*", "") not in found.read_text():
            yield f"`{word}` has no `{name}`"


def folders(root):
    return sorted({str(path.parent.relative_to(root)) for path in (root / "src").rglob("*.c")})


def main():
    root = pathlib.Path(sys.argv[1])
    text = (root / "doc" / "MAP.md").read_text()
    bad, seen, paths = [], {}, 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|") or set(line) <= set("|- "):
            continue
        if len(line) > CAP:
            bad.append(f"{number}: {len(line)} columns (at most {CAP})")
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if cells[0] in seen and cells[0] != "I want to change":
            bad.append(f"{number}: a row for this stands at line {seen[cells[0]]}, too: {cells[0]}")
        seen[cells[0]] = number
        for cell in cells:
            paths += sum(map(is_path, CODE.findall(cell)))
            bad += [f"{number}: {what}" for what in check_cell(root, cell)]
    bad += [f"no row for `{folder}/`" for folder in folders(root) if f"| `{folder}/`" not in text]
    for line in bad:
        print(f"doc/MAP.md:{line}")
    print(f"map: {len(bad)} offences; {paths} paths")
    return 0 if not bad and paths > 100 else 1


sys.exit(main())
