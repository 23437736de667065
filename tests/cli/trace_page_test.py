#!/usr/bin/env python3
"""The report of `tacit trace` in a browser: it loads without errors, shows something, and zoom, hover and search work.

Usage: trace_page_test.py PATH-OF-TACIT PATH-OF-TRACED [--pictures REPORT.html FOLDER]. With --pictures it only writes pictures of a
report into a folder, for doc/tracing.md. Skipped, with a sentence, where there is no chromium."""
import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

tacit, traced = sys.argv[1], sys.argv[2]
browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if not browser:
    print("trace_page: there is no chromium, so the page is not looked at (tools/setup --check installs it)")
    sys.exit(77)
failures = []


def check(good, what):
    if not good:
        failures.append(what)


class Browser:
    """Chromium, driven over a pair of pipes: messages are JSON, and end with NUL."""

    def __init__(self, folder):
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()

        def take_pipes():
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.process = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={folder}/profile", "about:blank"],
            preexec_fn=take_pipes, close_fds=False, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.last, self.session, self.complaints = b"", 0, None, []

    def message(self):
        while b"\0" not in self.rest:
            chunk = os.read(self.into, 1 << 16)
            if not chunk:
                raise EOFError("the browser has ended")
            self.rest += chunk
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        method, told = message.get("method", ""), message.get("params", {})
        if method == "Runtime.exceptionThrown" or (method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning")) or \
           (method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert")):
            self.complaints.append(message)
        return message

    def call(self, method, **parameters):
        self.last += 1
        request = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.last:
                check("error" not in message, f"{method}: {message.get('error')}")
                return message.get("result", {})

    def open(self, path, width, height):
        if not self.session:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Runtime", "Log", "Page"):
                self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=path.as_uri())
        for _ in range(300):
            if self.value("document.readyState === 'complete' && !!window.tacitReport"):
                return
            time.sleep(0.1)
        check(False, f"{path}: it does not load: {self.complaints}")

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        check("exceptionDetails" not in result, f"{expression}: {result.get('exceptionDetails')}")
        return result.get("result", {}).get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def settle(self):
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def png(self, x, y, width, height):
        shot = self.call("Page.captureScreenshot", format="png", clip={"x": x, "y": y, "width": width, "height": height, "scale": 1},
                         captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def picture(self, x, y, width, height):
        """Rows of (red, green, blue) of a part of the page."""
        return decode(self.png(x, y, width, height))

    def end(self):
        """All of its processes: one that lives on writes into the profile while that is being removed."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for _ in range(1000):
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            time.sleep(0.01)
        check(False, "the browser does not end")


def decode(png):
    """A PNG of 8 bits a channel."""
    at, data, width, height, channels = 8, b"", 0, 0, 0
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, channels = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big"), {2: 3, 6: 4}[body[9]]
        data += body if kind == b"IDAT" else b""
        at += length + 12
    raw, size, before, rows = zlib.decompress(data), width * channels, bytearray(width * channels), []
    for y in range(height):
        how, line = raw[y * (size + 1)], bytearray(raw[y * (size + 1) + 1:(y + 1) * (size + 1)])
        for i in range(size):
            a, b, c = line[i - channels] if i >= channels else 0, before[i], before[i - channels] if i >= channels else 0
            if how == 4:
                p = a + b - c
                best = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            else:
                best = (0, a, b, (a + b) // 2)[how]
            line[i] = (line[i] + best) & 255
        rows.append([tuple(line[i:i + 3]) for i in range(0, size, channels)])
        before = line
    return rows


def colours(rows):
    """How many pixels have a colour that is no grey, and how many different colours there are."""
    coloured = sum(1 for row in rows for p in row if max(p) - min(p) > 40)
    return coloured, len({p for row in rows for p in row})


def difference(a, b):
    return sum(1 for x, y in zip(a, b) for p, q in zip(x, y) if p != q)


def box(page, element):
    page.value(f"document.getElementById('{element}').scrollIntoView({{block: 'center'}})")
    r = page.value(f"(() => {{ const r = document.getElementById('{element}').getBoundingClientRect(); "
                   "return [r.x, r.y, r.width, r.height, window.scrollX, window.scrollY]; })()")
    return r


def canvas(page):
    x, y, width, height, sx, sy = box(page, "canvas")
    page.settle()
    return page.picture(x + sx, y + sy, width, min(height, 400))


def look_at(page, path, nodes):
    page.open(path, 1400, 900)
    check(page.value("document.querySelectorAll('#spent-bars .bar').length") == nodes, f"{path}: bars")
    check(page.value("document.querySelectorAll('#task-table tr').length") == 3, f"{path}: tasks")
    check("collect </script> \"now\" \u00e4" in page.value("document.getElementById('task-table').textContent"), f"{path}: names")
    check(page.value("document.querySelectorAll('#path-table tr').length") > 2, f"{path}: path")
    check(page.value("document.body.scrollWidth <= window.innerWidth"), f"{path}: it is wider than the window")
    shown = canvas(page)
    coloured, different = colours(shown)
    check(coloured > 3000 and different > 8, f"{path}: {coloured} coloured pixels, {different} colours")
    return shown


def use(page):
    """Zoom by button, wheel, double click and keys; hover; search."""
    before = canvas(page)
    span = "window.tacitReport.state.to - window.tacitReport.state.from"
    whole = page.value(span)
    page.value("document.getElementById('zoom-in').click()")
    check(abs(page.value(span) - whole / 2) < 2, "the button does not zoom")
    check(difference(before, canvas(page)) > 2000, "zooming does not change the picture")
    x, y, width, height, _, _ = box(page, "canvas")
    page.mouse("mouseWheel", x + width / 2, y + 100, deltaX=0, deltaY=-300, modifiers=2)
    page.settle()
    check(page.value(span) < whole / 3, "the wheel does not zoom")
    page.mouse("mousePressed", x + width / 2, y + 150, button="left", clickCount=1)
    start = page.value("window.tacitReport.state.from")
    page.mouse("mouseMoved", x + width / 2 - 60, y + 150, button="left", buttons=1)
    page.mouse("mouseReleased", x + width / 2 - 60, y + 150, button="left", clickCount=1)
    check(page.value("window.tacitReport.state.from") > start, "dragging does not move")
    page.value("document.getElementById('zoom-all').click()")
    check(page.value(span) == whole, "the whole run is not shown again")
    # Over the middle of the first span of a worker.
    row = page.value("(() => { const r = window.tacitReport.rows().find(r => r.lane && r.lane.kind === 2); window.tacitReport.show(r.lane.start[0] - 5000, "
                     "r.lane.end[0] + 5000); const s = window.tacitReport.state, w = document.getElementById('canvas').clientWidth; "
                     "return [128 + ((r.lane.start[0] + r.lane.end[0]) / 2 - s.from) / (s.to - s.from) * (w - 128), r.y + r.h / 2 + 50]; })()")
    page.settle()
    x, y, _, _, _, _ = box(page, "canvas")
    page.mouse("mouseMoved", x + row[0], y + row[1])
    text = page.value("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    check("collect </script>" in text and "worker 0: kernel" in text and "11.70 \u00b5s" in text, f"hover says: {text!r}")
    page.value("document.getElementById('zoom-all').click()")
    plain = canvas(page)
    page.value("(() => { const s = document.getElementById('search'); s.value = 'COLLECT'; s.dispatchEvent(new Event('input')); })()")
    found = page.value("document.getElementById('matches').textContent")
    check("found" in found and not found.startswith("0 "), f"search says: {found!r}")
    check(difference(plain, canvas(page)) > 2000, "search does not change the picture")
    page.value("document.getElementById('next').click()")
    check(page.value(span) < whole, "the next match is not shown")
    page.value("(() => { const s = document.getElementById('search'); s.value = 'nothing at all'; s.dispatchEvent(new Event('input')); })()")
    check(page.value("document.getElementById('matches').textContent").startswith("0 found"), "search finds what is not there")


def write_pictures(report, folder):
    """The head, the timeline of the whole run, and its middle."""
    with tempfile.TemporaryDirectory() as name:
        page = Browser(name)
        page.open(pathlib.Path(report).resolve(), 1000, 900)
        page.value("document.querySelector('nav').style.position = 'static'")
        for part, first, last, height in (("head", "header", "#spent", 0), ("timeline", "#timeline", "#timeline", 470),
                                          ("path", "#path", "#path", 300)):
            top, bottom = page.value(f"[document.querySelector('{first}').getBoundingClientRect().top + window.scrollY, "
                                     f"document.querySelector('{last}').getBoundingClientRect().bottom + window.scrollY]")
            page.settle()
            (pathlib.Path(folder) / f"trace.{part}.png").write_bytes(page.png(0, top, 1000, height or bottom - top))
        page.end()


if "--pictures" in sys.argv:
    write_pictures(*sys.argv[sys.argv.index("--pictures") + 1:][:2])
    sys.exit(0)
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for prefix, nodes, tasks in (("small", 4, 1000), ("large", 64, 2500)):
        subprocess.run([traced, "write", folder / prefix, str(nodes), str(tasks)], check=True)
        subprocess.run([tacit, "trace", "--report", folder / prefix], check=True, stdout=subprocess.DEVNULL)
        (folder / f"{prefix}.json").unlink()
    page = Browser(folder)
    try:
        look_at(page, folder / "small.html", 4)
        use(page)
        check("drawn together" not in page.value("document.getElementById('warnings').textContent"), "the small run is merged")
        look_at(page, folder / "large.html", 64)
        check("drawn together" in page.value("document.getElementById('warnings').textContent"), "the large run is not merged, or does not say so")
    finally:
        page.end()
    check(not page.complaints, f"the console says: {json.dumps(page.complaints)[:2000]}")
print("\n".join(failures + [f"trace_page: {len(failures)} failures"]))
sys.exit(1 if failures else 0)
