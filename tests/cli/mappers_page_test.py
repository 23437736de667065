#!/usr/bin/env python3
"""The table of range mappers in doc/model.md is that of src/grid/mapper_kinds.h, row by row.

Usage: mappers_page_test.py SOURCE-ROOT [--write]. With --write the table is made anew."""
import pathlib
import re
import sys

ROW = re.compile(r'X\(\w+, (\w+), "([^"]*)", [^,]+, \d+, "([^"]*)"\)')
TABLE = re.compile(r"(\| mapper \| item i touches \|\n\|---\|---\|\n)((?:\|.*\n)+)")


def rows(root):
    source = (root / "src" / "grid" / "mapper_kinds.h").read_text().split("#define TI_MAPPER_KINDS(X)")[1]
    source = re.sub(r"\s+", " ", re.split(r"(?<!\\)\n", source)[0].replace("\\\n", " "))
    return [f"| `tacit_{name}({arguments})` | {touches} |\n" for name, arguments, touches in ROW.findall(source)]


def main():
    root = pathlib.Path(sys.argv[1])
    page = root / "doc" / "model.md"
    expected, text = rows(root), page.read_text()
    found = TABLE.search(text)
    if "--write" in sys.argv:
        page.write_text(TABLE.sub(lambda m: m.group(1) + "".join(expected), text))
        return 0
    written = found.group(2).splitlines(keepends=True) if found else []
    for row in [r for r in expected if r not in written] + [r for r in written if r not in expected]:
        print("not in both:", row, end="")
    print(f"mappers: {len(expected)} kinds, {'the same' if written == expected else 'other'} rows in doc/model.md")
    return 0 if written == expected and expected else 1


sys.exit(main())
