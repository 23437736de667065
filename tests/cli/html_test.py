#!/usr/bin/env python3
"""The manual as HTML: Doxygen makes it without a warning, every link leads somewhere, every function and class has a place, and a
browser loads all documents and every eighth of the other pages without complaints.

Usage: html_test.py SOURCE DOXYFILE [FOLDER]     skipped where there is no doxygen; FOLDER: look at these pages, make none"""
import html
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

source, doxyfile = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
failures = []
DRIVER = """<!doctype html><html><body><div id="told">loading</div><script>
const pages = %s, empty = [];
const frame = document.createElement('iframe');
let next = 0;
frame.onload = () => {
    if (!frame.contentDocument.body.innerText.trim()) empty.push(pages[next]);
    next++;
    if (next < pages.length) frame.src = pages[next]; else document.getElementById('told').innerText = 'loaded ' + next + ' empty ' + empty;
};
frame.src = pages[0];
document.body.append(frame);
</script></body></html>"""


def check(good, what):
    if not good:
        failures.append(what)


class Page(html.parser.HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.places = [], {""}
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)


def make(folder):
    text = doxyfile.read_text() + f"\nOUTPUT_DIRECTORY = {folder}\nWARN_LOGFILE = {folder}/warnings.txt\n"
    done = subprocess.run(["doxygen", "-"], input=text, capture_output=True, text=True, cwd=source)
    warnings = (folder / "warnings.txt").read_text() if (folder / "warnings.txt").exists() else ""
    check(done.returncode == 0 and not warnings, f"doxygen: status {done.returncode}\n{warnings[:4000]}{done.stderr[:1000]}")
    return folder / "html"


def check_links(folder):
    pages = {path.name: Page(path) for path in folder.glob("*.html")}
    check(len(pages) > 40, f"there are {len(pages)} pages only")
    for name, page in pages.items():
        for target in page.targets:
            url = urllib.parse.urlsplit(target)
            if url.scheme in ("http", "https", "javascript", "data"):
                continue
            file, place = urllib.parse.unquote(url.path) or name, urllib.parse.unquote(url.fragment)
            check((folder / file).exists(), f"{name}: there is no {target}")
            check(file not in pages or place in pages[file].places, f"{name}: there is no place {target}")
    return sorted(pages)


def check_functions(folder):
    """Every exported function has a place of its own."""
    shown = "\n".join(path.read_text() for path in folder.glob("*_8h.html"))
    for header in (source / "include" / "tacit").glob("*.h"):
        for name in re.findall(r"^TACIT_API [^;{]*?\b(tacit_\w+)\(", header.read_text(), flags=re.M):
            check(re.search(rf'class="memname">[^<]*(<[^>]*>[^<]*</a>)?[^<]*\b{name} *</td>', shown), f"{name} is not in the manual")


def check_classes(folder):
    """So has every class of C++, with what its comments say."""
    text = (source / "lib/cpp/include/tacit/tacit.hpp").read_text()
    for name in re.findall(r"^(?:template <[^>]*> )?class (\w+)", text, flags=re.M):
        page = folder / f"classtacit_1_1{name.replace('_', '__')}.html"
        check(page.exists(), f"{name} is not in the manual")
    for page, sentence in (("context", "Wait until all nodes have executed everything submitted so far."), ("buffer", "buffer< T, D > Class Template Reference")):
        shown = (folder / f"classtacit_1_1{page}.html").read_text() if (folder / f"classtacit_1_1{page}.html").exists() else ""
        check(sentence in html.unescape(re.sub(r"<[^>]*>", "", shown)), f"'{sentence}' is not in the page of {page}")


def check_browser(folder, pages):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        print("html: there is no chromium, so the pages are not loaded (tools/setup --check installs it)")
        return
    pages = [page for i, page in enumerate(pages) if page.startswith(("page_", "index")) or i % 8 == 0] # the others are alike
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile: # its processes may still write there
        driver = pathlib.Path(profile, "driver.html")
        driver.write_text(DRIVER % json.dumps([(folder / page).as_uri() for page in pages]))
        done = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}/profile",
                               "--allow-file-access-from-files", "--enable-logging=stderr", "--virtual-time-budget=120000", "--dump-dom",
                               driver.as_uri()], capture_output=True, text=True, timeout=500)
    told = re.search(r'id="told">([^<]*)<', done.stdout)
    check(told and told.group(1) == f"loaded {len(pages)} empty ", f"the browser: {told.group(1) if told else done.stderr[-1000:]}")
    for line in re.findall(r".*CONSOLE.*", done.stderr):
        check(False, f"the browser: {line}")


def main():
    if not shutil.which("doxygen"):
        print("html: there is no doxygen, so the manual is not made (tools/setup --check installs it)")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else make(pathlib.Path(temporary))
        pages = check_links(folder)
        check_functions(folder)
        check_classes(folder)
        check_browser(folder, pages)
    for failure in failures[:60]:
        print(f"html: {failure}")
    print(f"html: {len(pages)} pages, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
