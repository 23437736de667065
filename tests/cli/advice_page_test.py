#!/usr/bin/env python3
"""Every piece of advice points to a page and a section that exist.

Usage: advice_page_test.py SOURCE-ROOT. The table in src/trace/advice.c has rows of a kind, a cure, a page and a section; a section is
the text of a heading, word for word."""
import pathlib
import re
import sys

STRING = r'"(?:[^"\\\n]|\\.)*"'
ROW = re.compile(rf"\[(TI_ADVICE_\w+)\]\s*=\s*\{{\s*((?:{STRING}\s*)+),\s*((?:{STRING}\s*)+),\s*((?:{STRING}\s*)+)\}}")


def text_of(literals):
    return "".join(s[1:-1] for s in re.findall(STRING, literals))


def main():
    root = pathlib.Path(sys.argv[1])
    rows = {kind: (text_of(page), text_of(section)) for kind, _, page, section in ROW.findall((root / "src/trace/advice.c").read_text())}
    kinds = re.findall(r"^    (TI_ADVICE_\w+),", (root / "src/trace/advice.h").read_text(), re.M)
    bad = [f"src/trace/advice.c: no row for {kind}" for kind in kinds if kind not in rows]
    for kind, (page, section) in rows.items():
        path = root / page
        headings = re.findall(r"^#+ (.*)$", path.read_text(), re.M) if path.is_file() else []
        if section not in headings:
            bad.append(f"src/trace/advice.c: {kind} points to {page}, \"{section}\", which is not there")
    print("\n".join(bad + [f"advice: {len(rows)} rows, {len(bad)} offences"]))
    return 1 if bad or len(rows) < 6 else 0


sys.exit(main())
