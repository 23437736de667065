#!/usr/bin/env python3
"""demo_test.py SOURCE_DIR BUILD_DIR OUT_DIR: a small demonstration succeeds, its bits agree, and its page is whole."""

import html.parser
import os
import pathlib
import subprocess
import sys

ALONE = {"meta", "img", "br", "path", "polygon", "ellipse", "polyline"}
failures = []


def expect(good, what):
    if not good:
        failures.append(what)


class Page(html.parser.HTMLParser):
    """Elements close in the order in which they opened; what there is of them, and the text."""

    def __init__(self):
        super().__init__()
        self.open, self.count, self.pictures, self.ids, self.words = [], {}, [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.count[tag] = self.count.get(tag, 0) + 1
        self.pictures += [named["src"]] if tag == "img" else []
        self.ids += [named["id"]] if "id" in named else []
        if tag not in ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in ALONE:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in ALONE:
            expect(self.open and self.open[-1] == tag, f"</{tag}> where {self.open[-3:]} are open")
            self.open.pop()

    def handle_data(self, data):
        self.words.append(data)


def main():
    source, build, out = map(pathlib.Path, sys.argv[1:])
    environment = dict(os.environ, DEMO_BODIES="256", DEMO_STEPS="4", DEMO_NODES="3")
    done = subprocess.run([source / "examples/demo.sh", build, out], env=environment, capture_output=True, text=True, timeout=280)
    expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-500:]}")
    rows = [line for line in done.stdout.splitlines() if line.startswith("  point-to-point") or line.startswith("  collectives")]
    expect(len(rows) == 4 and all(row.endswith(" yes") for row in rows), f"rows: {rows}")

    page = Page()
    page.feed((out / "report.html").read_text(encoding="utf-8"))
    text = "".join(page.words)
    expect(page.open == [], f"left open: {page.open}")
    expect(page.count.get("svg") == 4 and len(page.ids) == len(set(page.ids)), "four graphs, whose names differ")
    expect(page.pictures == ["bodies.png", "planets.png"] and all((out / name).stat().st_size > 1000 for name in page.pictures), "pictures")
    expect(all(row in text for row in rows), "the table is in the page")
    expect("all-gather" in text and "send P" in text and "kernel kick" in text, "what became of transfers, and both modes' commands")

    done = subprocess.run([source / "examples/demo.sh"], capture_output=True, text=True)
    expect(done.returncode != 0 and "usage" in done.stderr, "usage")
    print("\n".join(failures + [f"demo: {len(failures)} failures"]))
    return 1 if failures else 0


sys.exit(main())
