#!/usr/bin/env python3
"""Every reason that `tacit explain` may give has an entry in doc/collectives.md with its remedy, and every entry is one.

Usage: explain_page_test.py SOURCE-ROOT. The sources have a table of {name, reason, remedy}; an entry is a heading `### `reason`` with <producer>,
<consumer> and <buffer> for names, and a paragraph that contains the remedy word for word."""
import pathlib
import re
import sys

STRING = r'"(?:[^"\\\n]|\\.)*"'
ROW = re.compile(rf"\[(TI_VERDICT_\w+)\]\s*=\s*\{{\s*((?:{STRING}\s*)+),\s*((?:{STRING}\s*)+),\s*((?:{STRING}\s*)+)\}}")


def text_of(literals):
    joined = "".join(s[1:-1] for s in re.findall(STRING, literals))
    for letter, word in (("P", "producer"), ("C", "consumer"), ("B", "buffer")):
        joined = joined.replace("{%s}" % letter, f"<{word}>")
    return joined


def main():
    root = pathlib.Path(sys.argv[1])
    source = (root / "src" / "trace" / "explain_reason.c").read_text()
    header = (root / "src" / "ir" / "collective.h").read_text()
    page = (root / "doc" / "collectives.md").read_text()
    rows = {verdict: (text_of(reason), text_of(remedy)) for verdict, _, reason, remedy in ROW.findall(source)}
    verdicts = re.findall(r"^    (TI_VERDICT_\w+)", header, re.M)
    entries = dict(re.findall(r"^### `(.*?)`\n(.*?)(?=^##|\Z)", page, re.M | re.S))
    bad = [f"src/trace/explain_reason.c: no words for {v}" for v in verdicts if v not in rows]
    for verdict, (reason, remedy) in rows.items():
        if reason not in entries:
            bad.append(f"doc/collectives.md has no entry for {verdict}: {reason}")
        elif remedy not in re.sub(r"\s+", " ", entries[reason]):
            bad.append(f"doc/collectives.md: under `{reason}` stands another remedy than: {remedy}")
    known = {reason for reason, _ in rows.values()}
    bad += [f"doc/collectives.md: nothing in the sources says: {e}" for e in entries if e not in known]
    print("\n".join(bad + [f"explain: {len(rows)} reasons, {len(entries)} entries, {len(bad)} differences"]))
    return 1 if bad or len(rows) < 10 else 0


sys.exit(main())
