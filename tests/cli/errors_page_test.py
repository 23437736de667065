#!/usr/bin/env python3
"""Every sentence that tacit may say when something is wrong has an entry in doc/errors.md, under its status, and every entry is one.

Usage: errors_page_test.py SOURCE-ROOT [--list]. Looks for calls of the functions that make such sentences, in src/ and tools/tacit/;
an entry is a heading `### `sentence`` with <words> where the source has placeholders. --list prints what the sources say."""
import pathlib
import re
import sys

# The functions that make sentences, and which argument is the format. A pattern says what the first argument must be.
MAKERS = {
    "ti_context_error": (2, None), "REFUSE": (2, None), "refuse": (2, None), "init_failed": (1, None), "ti_no_context": (1, None), "ti_failure_set": (2, None),
    "ti_runtime_fail": (2, None), "ti_panic": (2, None), "TI_PANIC": (0, None), "ti_stop": (0, None), "ti_context_no_memory": (1, None), "tool_fail": (1, None), "fail": (1, None), "ti_mpi_fail": (1, None),
    "stop": (1, None), "ti_log": (1, r"TI_LOG_(ERROR|WARNING)"), "ti_strbuf_add": (1, r"(\w+->)?\w*why|&ctx->error"),
    "snprintf": (2, r"(\w+->)?(why|what|error|text)"), "fprintf": (1, r"stderr"),
}
STRING = r'"(?:[^"\\\n]|\\.)*"'
TOKEN = re.compile(rf"/\*.*?\*/|{STRING}|'(?:[^'\\]|\\.)+'|[A-Za-z_]\w*|\S", re.S)
PLACEHOLDER = re.compile(r"%[-+ 0#]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]")
STATUS = re.compile(r"TACIT_ERROR_\w+")


def arguments(tokens, at):
    """The arguments of the call whose '(' is tokens[at], as lists of tokens."""
    depth, out = 0, [[]]
    for token in tokens[at:]:
        depth += token in ("(", "{", "[")
        depth -= token in (")", "}", "]")
        if depth == 0:
            return out
        if depth == 1 and token == ",":
            out.append([])
        elif depth > 1 or token != "(":
            out[-1].append(token)
    return out


def sentences(argument):
    """The string literals of an argument: neighbours are one, those of `a ? "x" : "y"` are several."""
    out, before = [], None
    for token in argument:
        if token.startswith('"'):
            text = token[1:-1].replace(r"\n", "\n").replace(r"\"", '"')
            if before and before.startswith('"'):
                out[-1] += text
            else:
                out.append(text)
        before = token
    return out


def normal(sentence):
    sentence = PLACEHOLDER.sub("\0", sentence.replace("%%", "\1")).replace("\1", "%")
    return re.sub(r"\s+", " ", re.sub(r"\0+", "<>", sentence)).strip()


def says_something(sentence):
    return re.search(r"[a-z]{2}", re.sub("<>", "", sentence)) is not None


def messages(root):
    """Yields (sentence, statuses, where). No status: any."""
    files = sorted((root / "src").rglob("*.c")) + sorted((root / "tools" / "tacit").glob("*.c"))
    for path in files:
        text = path.read_text()
        tokens = [(m.group(), m.start()) for m in TOKEN.finditer(text) if not m.group().startswith("/*")]
        words = [t for t, _ in tokens]
        for i, word in enumerate(words[:-1]):
            if word not in MAKERS or words[i + 1] != "(":
                continue
            index, first = MAKERS[word]
            args = arguments(words, i + 1)
            if len(args) <= index or first and not re.fullmatch(first, "".join(args[0])):
                continue
            where = f"{path.relative_to(root)}:{text.count(chr(10), 0, tokens[i][1]) + 1}"
            statuses = set(STATUS.findall(" ".join(args[1]))) if index == 2 else set()
            for sentence in sentences(args[index]):
                if says_something(normal(sentence)):
                    yield normal(sentence), statuses, where


def entries(page):
    """Yields (sentence, section)."""
    section = ""
    for line in page.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:].strip().strip("`")
        elif match := re.fullmatch(r"### `+ ?(.*?) ?`+", line):
            yield re.sub(r"\s+", " ", re.sub(r"(<[^<>]*>)+", "<>", match.group(1))), section


def table_offences(root):
    """The table at the end names tests, and in parentheses functions of theirs."""
    for line in (root / "doc" / "errors.md").read_text().splitlines():
        cells = line.split("|")
        if len(cells) != 5 or "`tests/" not in cells[3]:
            continue
        text = ""
        for name in re.findall(r"`([^`]+)`", cells[3]):
            path = root / name if "/" in name else last.parent / name
            if "/" in name or "." in name:
                last = path
                if not path.exists():
                    yield f"doc/errors.md: there is no {name}"
                elif path.is_file():
                    text += path.read_text()
            elif name not in text:
                yield f"doc/errors.md: no {name} in the tests that are named before it"


def main():
    root = pathlib.Path(sys.argv[1])
    said = list(messages(root))
    if "--list" in sys.argv:
        for sentence, statuses, where in said:
            print(where, "|".join(sorted(statuses)) or "-", sentence)
        return 0
    written, bad = {}, []
    for sentence, section in entries(root / "doc" / "errors.md"):
        written.setdefault(sentence, set()).add(section)
    for sentence, statuses, where in said:
        if sentence not in written:
            bad.append(f"{where}: doc/errors.md has no entry for: {sentence}")
        elif statuses and not statuses & written[sentence]:
            bad.append(f"{where}: the entry is not under {' or '.join(sorted(statuses))}: {sentence}")
    known = {sentence for sentence, _, _ in said}
    bad += [f"doc/errors.md: nothing in the sources says: {sentence}" for sentence in written if sentence not in known]
    bad += table_offences(root)
    print("\n".join(bad + [f"errors: {len(said)} messages, {len(written)} entries, {len(bad)} differences"]))
    return 1 if bad or not said else 0


sys.exit(main())
