#!/usr/bin/env python3
"""Does what doc/tutorial.md and other pages say, step by step, and compares what is printed with what the page shows.

    ```c NAME        a complete program: the file NAME; likewise ```cpp NAME
    ```diff NAME     a change of it, which `patch NAME` would apply, too
    ```console       '$ COMMAND' is run by the shell in the folder of the files; the lines below are its output, both streams. A line
                     '...' stands for any lines, '...' in a line for anything
    ```console LIB   the same where pkg-config knows LIB

Usage: tutorial_test.py PAGE... BUILD_DIR C_COMPILER [--one-node] [--fill] [--cxx=COMPILER] [--result=FILE]
Installs the build into a temporary folder first; every page has an empty folder of its own. --one-node leaves out commands with `-n NODES`; --fill writes the output of commands that
have none into the page. --cxx: the programs are C++17 and C++20, too; --result: what a program of the page is in the end is also this file,
which the page names."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*) ?(\S*)$")


def blocks(lines):
    """Yields (number of the first line inside, language, name, lines)."""
    start = None
    for number, line in enumerate(lines):
        match = FENCE.match(line)
        if start is None and match and match.group(1):
            start, language, name = number + 1, match.group(1), match.group(2)
        elif start is not None and line == "```":
            yield start, language, name, lines[start:number]
            start = None


class Page:
    def __init__(self, path, folder, environment, one_node):
        self.path, self.folder, self.environment, self.one_node = path, folder, environment, one_node
        self.failures, self.commands, self.found = 0, 0, []

    def fail(self, number, text):
        self.failures += 1
        print(f"FAILED: {self.path.name}:{number + 1}: {text}")

    def change(self, number, name, lines):
        """Applies a diff to a file, as strictly as it can be: every line stands where the diff says."""
        text = (self.folder / name).read_text().splitlines()
        if lines[:2] != ["--- " + name, "+++ " + name]:
            return self.fail(number, "a diff begins with the names of the files")
        moved = 0  # by the places before
        for hunk in re.split(r"^(?=@@ )", "\n".join(lines[2:]) + "\n", flags=re.M)[1:]:
            head, *rows = hunk[:-1].split("\n")
            first, olds, new_first, news = map(int, re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", head).groups())
            old = [row[1:] for row in rows if row[:1] in (" ", "-", "")]
            new = [row[1:] for row in rows if row[:1] in (" ", "+", "")]
            at = first - 1 + moved
            if (len(old), len(new), new_first) != (olds, news, first + moved) or text[at:at + olds] != old:
                return self.fail(number, f"{head} does not fit:\n" + "\n".join(old))
            text[at:at + olds] = new
            moved += news - olds
        (self.folder / name).write_text("\n".join(text) + "\n")
        return None

    def run(self, number, command, expected):
        if self.one_node and re.search(r"\s-n \d", command):
            return
        self.commands += 1
        try:
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, text=True, timeout=120,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            output, status = done.stdout.splitlines(), done.returncode
        except subprocess.TimeoutExpired as late:
            output, status = (late.stdout or b"").decode().splitlines() + ["(no end within two minutes)"], 1
        self.found.append((number, output))
        pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n" for line in expected)
        if status != 0 or not re.fullmatch(pattern, "".join(line + "\n" for line in output)):
            shown = "\n".join("    " + line for line in output)
            self.fail(number, f"`{command}` ended with status {status}, and printed:\n{shown}")

    def console(self, number, lines):
        starts = [i for i, line in enumerate(lines) if line.startswith("$ ")] + [len(lines)]
        for start, end in zip(starts, starts[1:]):
            self.run(number + start, lines[start][2:], lines[start + 1:end])

    def there(self, library):
        return subprocess.run(["pkg-config", "--exists", library], env=self.environment, check=False).returncode == 0

    def follow(self):
        for number, language, name, lines in blocks(self.path.read_text().splitlines()):
            if language in ("c", "cpp") and name:
                (self.folder / name).write_text("\n".join(lines) + "\n")
            elif language == "diff" and name:
                self.change(number, name, lines)
            elif language == "console" and (not name or self.there(name)):
                self.console(number, lines)

    def also_cxx(self, compiler):
        """Strictly, and linked: the programs use macros and functions of the headers. And they say what goes wrong."""
        for name in (source.stem for source in self.folder.glob("*.c")):
            self.run(0, f"TACIT_WORKERS=x ./{name} 2>&1; [ $? = 1 ]", ["TACIT_WORKERS is 'x', but must be ..."])
            for standard in ("c++17", "c++20"):
                strict = f"{compiler} -x c++ -std={standard} -pedantic -Wall -Wextra -Werror {name}.c"
                self.run(0, f"{strict} -fsyntax-only $(pkg-config --cflags tacit)", [])
                self.run(0, f"{strict} -O2 -DNDEBUG -o cxx -x none $(pkg-config --cflags --libs tacit)", [])
                self.run(0, f"./cxx >result && ./{name} | cmp - result", [])

    def result_is(self, path):
        if path.name not in self.path.read_text():
            self.fail(0, f"{path} is not named")
        if not any(source.read_text() == path.read_text() for source in self.folder.glob("*.c")):
            self.fail(0, f"no program is that of {path} in the end")

    def fill(self):
        """Writes outputs below the commands that show none."""
        lines = self.path.read_text().splitlines()
        for number, output in reversed(self.found):
            if lines[number + 1].startswith(("$ ", "```")):
                lines[number + 1:number + 1] = output
        self.path.write_text("\n".join(lines) + "\n")


def environment_of(prefix, folder, compiler):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TACIT_")}
    libraries = str(next(prefix.rglob("tacit.pc")).parent.parent)
    (folder / "cc").symlink_to(compiler)  # the page says cc
    environment["PATH"] = f"{prefix}/bin:{folder}:" + environment["PATH"]
    environment["PKG_CONFIG_PATH"] = f"{libraries}/pkgconfig"
    environment["LD_LIBRARY_PATH"] = libraries + ":" + environment.get("LD_LIBRARY_PATH", "")
    environment["LC_ALL"] = "C"
    return environment


def followed(path, folder, environment, options):
    work = folder / path.stem
    work.mkdir()
    page = Page(path, work, environment, "--one-node" in options)
    page.follow()
    for option in options:
        if option.startswith("--cxx="):
            page.also_cxx(option[6:])
        elif option.startswith("--result="):
            page.result_is(pathlib.Path(option[9:]))
    if "--fill" in options:
        page.fill()
    if page.commands == 0:
        page.fail(0, "no commands were found")
    return page


def main():
    options = {word for word in sys.argv[1:] if word.startswith("--")}
    *paths, build, compiler = [word for word in sys.argv[1:] if not word.startswith("--")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(["cmake", "--install", build, "--prefix", folder / "prefix"], check=True, stdout=subprocess.DEVNULL)
        (folder / "compiler").mkdir()
        environment = environment_of(folder / "prefix", folder / "compiler", compiler)
        pages = [followed(pathlib.Path(path), folder, environment, options) for path in paths]
    failures = sum(page.failures for page in pages)
    print(f"tutorial: {sum(page.commands for page in pages)} commands, {failures} failed")
    return 1 if failures else 0


sys.exit(main())
