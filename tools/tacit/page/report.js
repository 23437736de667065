"use strict";
/* The report of `tacit trace`: reads the data that stands before it, draws the timeline, fills the tables. Texts come in by
 * textContent only, so names may hold anything. */
(() => {
const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const UNFINISHED = 128, MERGED = 256, FIELDS = 8;
const K = Object.fromEntries(D.kinds.map((name, i) => [i, name]));
const KIND = { task: 1, wait: 2, commands: 3, instructions: 4, window: 5, alloc: 6, free: 7, copy: 8, kernel: 9, send: 12, receive: 13,
               collective: 14, reduce: 15, part: 19, relay: 21, laneKernel: 22, laneCopy: 23 };
const CAUSE_COLOURS = ["#4c8c4a", "#d1495b", "#e8a33d", "#8d6e63", "#b39ddb", "#3d7ea6", "#c0ca33", "#7e57c2", "#90a4ae", "#546e7a"];
const PALETTE = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#72b7b2", "#eeca3b", "#e45756", "#9d755d", "#ff9da6", "#7f7f7f"];
const WAITS = ["back-pressure: too many horizons ahead", "back-pressure: the channel of tasks is full", "the result of a fence",
               "all tasks (tacit_wait, tacit_finalize)", "the other nodes, at the end"];

/* ---- texts */

const time = ns => ns >= 1e9 ? (ns / 1e9).toPrecision(4) + " s" : ns >= 1e6 ? (ns / 1e6).toPrecision(4) + " ms"
    : ns >= 1e3 ? (ns / 1e3).toPrecision(4) + " µs" : ns.toFixed(0) + " ns";
const size = b => { let i = 0; const u = ["B", "KiB", "MiB", "GiB", "TiB"]; while (b >= 1024 && i < 4) { b /= 1024; i++; }
    return (i ? b.toPrecision(3) : b) + " " + u[i]; };
const percent = (a, b) => (b > 0 ? 100 * a / b : 0).toFixed(1) + " %";
const count = n => n.toLocaleString("en");
const make = (tag, text, cls) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls; return e; };
const nameOf = i => D.names[i] || "(no name)";

/* A table: columns are [title, numeric]; cells are texts, numbers or elements. */
function table(id, columns, rows, empty) {
    const t = $(id);
    if (!rows.length) { t.replaceChildren(make("caption", empty || "nothing", "hint")); return; }
    const head = make("tr");
    for (const [title, numeric] of columns) head.append(make("th", title, numeric ? "n" : ""));
    t.replaceChildren(head);
    for (const cells of rows) {
        const row = make("tr");
        cells.forEach((cell, i) => {
            const td = make("td", undefined, columns[i][1] ? "n" : "");
            td.append(cell instanceof Node ? cell : document.createTextNode(cell));
            row.append(td);
        });
        t.append(row);
    }
}
function legend(id, entries) {
    $(id).replaceChildren(...entries.map(([colour, text]) => {
        const e = make("span"), i = make("i");
        i.style.background = colour;
        e.append(i, text);
        return e;
    }));
}
function filled(share, colour, text) {
    const e = make("span"), bar = make("span", undefined, "fill");
    bar.style.width = Math.max(1, Math.round(120 * share)) + "px";
    bar.style.background = colour;
    e.append(bar, text);
    return e;
}

/* ---- spans, as arrays that are searched by time */

for (const lane of D.lanes) {
    const n = lane.spans.length / FIELDS, s = lane.spans;
    lane.count = n;
    lane.start = new Float64Array(n); lane.end = new Float64Array(n); lane.kindOf = new Uint16Array(n);
    lane.names = new Uint32Array(n); lane.task = new Uint32Array(n); lane.buffer = new Uint32Array(n);
    lane.where = new Uint32Array(n); lane.bytes = new Float64Array(n); lane.until = new Float64Array(n);
    for (let i = 0, t = 0, last = 0; i < n; i++) {
        t += s[FIELDS * i];
        lane.start[i] = t; lane.end[i] = t + s[FIELDS * i + 1]; lane.kindOf[i] = s[FIELDS * i + 2];
        lane.names[i] = s[FIELDS * i + 3]; lane.task[i] = s[FIELDS * i + 4]; lane.buffer[i] = s[FIELDS * i + 5];
        lane.where[i] = s[FIELDS * i + 6]; lane.bytes[i] = s[FIELDS * i + 7];
        lane.until[i] = last = Math.max(last, lane.end[i]);
    }
    lane.spans = null;
    const g = lane.gaps, m = g.length / 5;
    lane.gap = [];
    for (let i = 0, t = 0; i < m; i++) {
        t += g[5 * i];
        lane.gap.push({ start: t, end: t + g[5 * i + 1], cause: g[5 * i + 2], buffer: g[5 * i + 3], peer: g[5 * i + 4] });
    }
}
function gapName(gap) {
    const what = "waits: " + D.causes[gap.cause];
    return gap.buffer && gap.cause === 1 ? what + " of " + nameOf(gap.buffer) + (gap.peer >= 0 ? " from node " + gap.peer : "") : what;
}
/* The first gap that ends after `t`. */
function firstGap(lane, t) {
    let low = 0, high = lane.gap.length;
    while (low < high) { const m = (low + high) >> 1; if (lane.gap[m].end > t) high = m; else low = m + 1; }
    return low;
}
/* The first span that ends after `t`. */
function firstAfter(lane, t) {
    let low = 0, high = lane.count;
    while (low < high) { const m = (low + high) >> 1; if (lane.until[m] > t) high = m; else low = m + 1; }
    return low;
}

/* Time of each name, for colours and the table. */
const totals = new Map();
D.node.forEach((node, q) => {
    for (let i = 0; i < node.load.length; i += 3) {
        const key = node.load[i], sum = totals.get(key) || { parts: 0, ns: 0, by: new Map() };
        sum.parts += node.load[i + 1]; sum.ns += node.load[i + 2];
        sum.by.set(q, [node.load[i + 1], node.load[i + 2]]);
        totals.set(key, sum);
    }
});
const ranked = [...totals.entries()].sort((a, b) => b[1].ns - a[1].ns);
const colourOf = new Map(ranked.map(([name], i) => [name, i < PALETTE.length ? PALETTE[i] : `hsl(${i * 137.5 % 360} 45% 60%)`]));

function colour(lane, i) {
    switch (lane.kindOf[i] & 127) {
    case KIND.part: return lane.where[i] < KIND.kernel || lane.where[i] >= KIND.send ? "#8d6e63" : colourOf.get(lane.names[i]) || "#a0a8b0";
    case KIND.laneKernel: return colourOf.get(lane.names[i]) || "#a0a8b0";
    case KIND.task: return "#607d8b";
    case KIND.wait: return lane.where[i] < 2 ? CAUSE_COLOURS[7] : "#dfe4ea";
    case KIND.commands: return "#6ba3c7";
    case KIND.instructions: return "#3d7ea6";
    case KIND.window: return "#e6eaa5";
    case KIND.send: return "#7fb7e6";
    case KIND.receive: return "#d1495b";
    case KIND.relay: return "#2a9d8f";
    case KIND.collective: return "#a05195";
    default: return "#8d6e63";
    }
}
function label(lane, i) {
    const kind = lane.kindOf[i] & 127;
    if (kind === KIND.wait) return "waits for " + (WAITS[lane.where[i]] || "");
    if (kind === KIND.window) return "window";
    if (kind === KIND.collective) return (D.patterns[lane.where[i]] || "collective") + " of " + nameOf(lane.buffer[i]);
    if (kind === KIND.send) return nameOf(lane.buffer[i]) + " to " + lane.where[i];
    if (kind === KIND.receive) return nameOf(lane.buffer[i]) + " from " + lane.where[i];
    if (kind === KIND.relay) return `${nameOf(lane.buffer[i])} of ${Math.floor(lane.where[i] / D.nodes)} to ${lane.where[i] % D.nodes}`;
    if (kind === KIND.laneCopy) return "copy for " + nameOf(lane.names[i]);
    if (kind === KIND.part && (lane.where[i] < KIND.kernel || lane.where[i] >= KIND.send)) return K[lane.where[i]] + " for " + nameOf(lane.names[i]);
    return lane.names[i] ? nameOf(lane.names[i]) : "task " + lane.task[i];
}
function describe(lane, i) {
    const kind = lane.kindOf[i] & 127, merged = lane.kindOf[i] & MERGED, lines = [label(lane, i)];
    lines.push(`node ${lane.node}, ${lane.name}: ${K[kind]}${lane.kindOf[i] & UNFINISHED ? ", not finished" : ""}`);
    lines.push(`${time(lane.end[i] - lane.start[i])}, from ${time(lane.start[i])}`);
    if (merged) lines.push(`${count(lane.bytes[i])} merged, the longest is named: zoom into a shorter run to see them`);
    if (!merged && lane.bytes[i]) lines.push(size(lane.bytes[i]) + (lane.buffer[i] ? ` of ${nameOf(lane.buffer[i])}` : ""));
    if (lane.task[i]) lines.push(`task ${lane.task[i]}${lane.names[i] ? " (" + nameOf(lane.names[i]) + ")" : ""}`);
    return lines.join("\n");
}

/* ---- the critical path, as a lane of its own */

const STEP = 7, path = [];
for (let i = D.path.length / STEP - 1; i >= 0; i--) path.push(D.path.slice(STEP * i, STEP * i + STEP));
function stepName([, , node, peer, name, kind, cause]) {
    if (kind === KIND.receive || kind === KIND.send) return `message of ${nameOf(name)}, node ${peer} to ${node}`;
    if (kind === KIND.collective) return `collective of ${nameOf(name)}` + (peer !== node ? `, begun last by node ${peer}` : "");
    if (kind) return `${K[kind]} ${nameOf(name)}`;
    return D.causes[cause] + (D.names[name] ? `, before ${nameOf(name)}` : "");
}
function stepGroup([, , , , name, kind, cause]) {
    if (kind === KIND.receive || kind === KIND.send) return `message of ${nameOf(name)}`;
    if (kind === KIND.collective) return `collective of ${nameOf(name)}`;
    return kind ? `${K[kind]} ${nameOf(name)}` : D.causes[cause];
}
const stepColour = s => s[5] && s[6] === 0 ? colourOf.get(s[4]) || "#a0a8b0" : CAUSE_COLOURS[s[6]];

/* ---- the timeline */

const canvas = $("canvas"), view = $("view"), pen = canvas.getContext("2d");
const GUTTER = 128, RULER = 24, PATH_ROW = 20, TOP = RULER + PATH_ROW + 6;
const LANE_KINDS = ["program", "planning", "workers", "devices", "memory", "messages"], HEIGHT = [14, 12, 18, 14, 12, 13];
const whole = Math.max(1, D.ns);
const state = { from: 0, to: whole, shown: [true, true, true, true, true, true], needle: "", matched: null, hover: null, arrows: true };
let rows = [], rowOf = new Map(), height = 0;

if (D.nodes > 8) state.shown = [false, false, true, true, false, false];

function layOut() {
    rows = []; rowOf = new Map();
    let y = 0, node = -1;
    D.lanes.forEach((lane, i) => {
        if (!state.shown[lane.kind]) return;
        if (lane.node !== node) { node = lane.node; y += 6; rows.push({ y, h: 16, title: `node ${node}` }); y += 16; }
        rowOf.set(i, { y, h: HEIGHT[lane.kind] });
        rows.push({ y, h: HEIGHT[lane.kind], lane });
        y += HEIGHT[lane.kind] + 2;
    });
    height = y + 8;
    view.style.height = Math.min(640, Math.max(160, height + TOP)) + "px";
    $("spacer").style.height = Math.max(0, height + TOP - view.clientHeight) + "px";
}

function matches(lane, i) {
    return !state.matched || state.matched.has(lane.names[i]) || state.matched.has(-lane.buffer[i] - 1);
}
const xOf = t => GUTTER + (t - state.from) / (state.to - state.from) * (canvas.clientWidth - GUTTER);
const tOf = x => state.from + (x - GUTTER) / (canvas.clientWidth - GUTTER) * (state.to - state.from);

function drawLane(row, y) {
    const lane = row.lane, right = canvas.clientWidth, h = row.h;
    let drawn = -1, drawnMatch = false;
    for (let i = firstGap(lane, state.from), last = -1; i < lane.gap.length && lane.gap[i].start < state.to; i++) {
        const gap = lane.gap[i], x0 = Math.max(GUTTER, xOf(gap.start)), x1 = Math.min(right, xOf(gap.end));
        if (x1 - x0 < 0.5 && x0 - last < 0.5) continue;
        pen.globalAlpha = state.matched ? 0.1 : 0.42;
        pen.fillStyle = CAUSE_COLOURS[gap.cause];
        pen.fillRect(x0, y + h - 6, Math.max(0.5, x1 - x0), 6);
        last = x0;
    }
    for (let i = firstAfter(lane, state.from); i < lane.count && lane.start[i] < state.to; i++) {
        const x0 = Math.max(GUTTER, xOf(lane.start[i])), x1 = Math.min(right, xOf(lane.end[i])), hit = matches(lane, i);
        if (x1 - x0 < 0.7 && x0 - drawn < 0.7 && (drawnMatch || !hit)) continue;
        pen.globalAlpha = hit ? (lane.kindOf[i] & MERGED ? 0.7 : 1) : 0.12;
        pen.fillStyle = colour(lane, i);
        pen.fillRect(x0, y, Math.max(0.8, x1 - x0 - (x1 - x0 > 3 ? 0.6 : 0)), h);
        drawn = x0; drawnMatch = hit;
        if (lane.kindOf[i] & UNFINISHED) { pen.fillStyle = "#c4314b"; pen.fillRect(x0, y, Math.max(2, x1 - x0), 2); }
        if (x1 - x0 > 34 && h > 11) {
            pen.fillStyle = (lane.kindOf[i] & 127) === KIND.wait || (lane.kindOf[i] & 127) === KIND.window ? "#5d6b7a" : "#fff";
            pen.save(); pen.beginPath(); pen.rect(x0, y, x1 - x0 - 3, h); pen.clip();
            pen.fillText(label(lane, i), x0 + 4, y + h / 2 + 0.5);
            pen.restore();
        }
    }
    pen.globalAlpha = 1;
}

function drawPath() {
    const y = RULER + 2;
    pen.fillStyle = "#1c2733"; pen.textAlign = "right";
    pen.fillText("critical path", GUTTER - 8, y + PATH_ROW / 2);
    pen.textAlign = "left";
    for (const s of path) {
        if (s[1] <= state.from || s[0] >= state.to) continue;
        const x0 = Math.max(GUTTER, xOf(s[0])), x1 = Math.min(canvas.clientWidth, xOf(s[1]));
        pen.fillStyle = stepColour(s);
        pen.fillRect(x0, y + 1, Math.max(0.8, x1 - x0), PATH_ROW - 4);
        if (x1 - x0 > 40) {
            pen.fillStyle = "#fff"; pen.save(); pen.beginPath(); pen.rect(x0, y, x1 - x0 - 3, PATH_ROW); pen.clip();
            pen.fillText(stepName(s), x0 + 4, y + PATH_ROW / 2 - 1); pen.restore();
        }
    }
}

function drawRuler() {
    const span = state.to - state.from, raw = span / Math.max(2, (canvas.clientWidth - GUTTER) / 110);
    const power = Math.pow(10, Math.floor(Math.log10(raw))), step = [1, 2, 5, 10].find(k => k * power >= raw) * power;
    pen.fillStyle = "#5d6b7a"; pen.strokeStyle = "#e6eaef"; pen.lineWidth = 1;
    for (let t = Math.ceil(state.from / step) * step; t <= state.to; t += step) {
        const x = Math.round(xOf(t)) + 0.5;
        pen.beginPath(); pen.moveTo(x, RULER - 5); pen.lineTo(x, canvas.clientHeight); pen.stroke();
        pen.fillText(time(Math.round(t)), x + 3, 11);
    }
}

function drawArrows(scroll) {
    const f = D.flows, visible = [];
    for (let i = 0; i < f.length && visible.length < 500; i += 5) {
        if (f[i + 3] > state.from && f[i + 1] < state.to && rowOf.has(f[i]) && rowOf.has(f[i + 2])) visible.push(i);
    }
    if (visible.length >= 500) return;
    pen.save(); pen.beginPath(); pen.rect(GUTTER, TOP, canvas.clientWidth, canvas.clientHeight); pen.clip();
    for (const i of visible) {
        const a = rowOf.get(f[i]), b = rowOf.get(f[i + 2]), hit = !state.matched || state.matched.has(-f[i + 4] - 1);
        pen.strokeStyle = hit ? "rgba(28,39,51,.4)" : "rgba(28,39,51,.06)";
        pen.beginPath(); pen.moveTo(xOf(f[i + 1]), a.y - scroll + TOP + a.h / 2); pen.lineTo(xOf(f[i + 3]), b.y - scroll + TOP + b.h / 2);
        pen.stroke();
    }
    pen.restore();
}

function draw() {
    const ratio = window.devicePixelRatio || 1, w = view.clientWidth, h = view.clientHeight, scroll = view.scrollTop;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
        canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
        canvas.style.width = w + "px"; canvas.style.height = h + "px";
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = "#fff"; pen.fillRect(0, 0, w, h);
    pen.font = "11px system-ui, 'DejaVu Sans', sans-serif"; pen.textBaseline = "middle";
    drawRuler();
    pen.save(); pen.beginPath(); pen.rect(0, TOP, w, h - TOP); pen.clip();
    for (const row of rows) {
        const y = row.y - scroll + TOP;
        if (y + row.h < TOP || y > h) continue;
        if (row.title) {
            pen.fillStyle = "#eef1f5"; pen.fillRect(0, y, w, row.h);
            pen.fillStyle = "#1c2733"; pen.font = "600 11px system-ui, 'DejaVu Sans', sans-serif"; pen.fillText(row.title, 8, y + row.h / 2);
            pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
        } else {
            pen.fillStyle = "#5d6b7a"; pen.textAlign = "right"; pen.fillText(row.lane.name, GUTTER - 8, y + row.h / 2); pen.textAlign = "left";
            drawLane(row, y);
        }
    }
    pen.restore();
    if (state.arrows) drawArrows(scroll);
    drawPath();
    if (state.select) { pen.fillStyle = "rgba(61,126,166,.2)"; pen.fillRect(state.select[0], RULER, state.select[1] - state.select[0], h); }
}
let pending = false;
function redraw() {
    if (!pending) { pending = true; requestAnimationFrame(() => { pending = false; draw(); }); }
}
function show(from, to) {
    const span = Math.min(whole, Math.max(100, to - from));
    state.from = Math.max(0, Math.min(whole - span, from)); state.to = state.from + span;
    redraw();
}
function zoom(factor, x) {
    const at = x === undefined ? (state.from + state.to) / 2 : tOf(x);
    show(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

/* ---- hover, mouse, keys */

function under(x, y) {
    if (y > RULER && y < TOP) {
        const t = tOf(x), s = path.find(p => p[0] <= t && t < p[1]);
        return s ? `critical path: ${stepName(s)}\nnode ${s[2]}\n${time(s[1] - s[0])}, from ${time(s[0])}` : null;
    }
    if (x < GUTTER || y < TOP) return null;
    const row = rows.find(r => r.lane && y + view.scrollTop - TOP >= r.y && y + view.scrollTop - TOP < r.y + r.h + 2);
    if (!row) return null;
    const slack = (state.to - state.from) / canvas.clientWidth, t = tOf(x);
    let best = -1;
    for (let i = firstAfter(row.lane, t - 2 * slack); i < row.lane.count && row.lane.start[i] <= t + 2 * slack; i++) {
        if (best < 0 || (row.lane.start[i] <= t && row.lane.end[i] >= t)) best = i;
    }
    if (best >= 0) return describe(row.lane, best);
    const gap = row.lane.gap[firstGap(row.lane, t)];
    return gap && gap.start <= t ? `${gapName(gap)}\nnode ${row.lane.node}, ${row.lane.name}\n${time(gap.end - gap.start)}, from ${time(gap.start)}` : null;
}
function hover(e) {
    const box = canvas.getBoundingClientRect(), text = under(e.clientX - box.left, e.clientY - box.top), tip = $("tip");
    tip.hidden = !text;
    if (text) {
        tip.textContent = text;
        tip.style.left = Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
        tip.style.top = Math.min(e.clientY + 16, window.innerHeight - tip.offsetHeight - 8) + "px";
    }
}
let drag = null;
canvas.addEventListener("mousedown", e => {
    const x = e.clientX - canvas.getBoundingClientRect().left;
    drag = { x, y: e.clientY, from: state.from, to: state.to, scroll: view.scrollTop, select: e.shiftKey };
    canvas.classList.add("dragging");
});
window.addEventListener("mousemove", e => {
    if (!drag) return;
    const x = e.clientX - canvas.getBoundingClientRect().left;
    if (drag.select) { state.select = [Math.min(drag.x, x), Math.max(drag.x, x)]; redraw(); return; }
    const by = (drag.x - x) / (canvas.clientWidth - GUTTER) * (drag.to - drag.from);
    view.scrollTop = drag.scroll - (e.clientY - drag.y);
    show(drag.from + by, drag.to + by);
});
window.addEventListener("mouseup", () => {
    if (drag && state.select && state.select[1] - state.select[0] > 4) { const [a, b] = state.select; show(tOf(a), tOf(b)); }
    drag = null; state.select = null; canvas.classList.remove("dragging"); redraw();
});
canvas.addEventListener("mousemove", e => { if (!drag) hover(e); });
canvas.addEventListener("mouseleave", () => { $("tip").hidden = true; });
canvas.addEventListener("dblclick", e => zoom(0.4, e.clientX - canvas.getBoundingClientRect().left));
canvas.addEventListener("wheel", e => {
    const x = e.clientX - canvas.getBoundingClientRect().left;
    if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(Math.exp(e.deltaY / 300), x); }
    else if (e.deltaX) { e.preventDefault(); const by = e.deltaX / canvas.clientWidth * (state.to - state.from); show(state.from + by, state.to + by); }
}, { passive: false });
canvas.addEventListener("keydown", e => {
    const by = (state.to - state.from) / 5;
    const act = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => show(0, whole),
                  ArrowLeft: () => show(state.from - by, state.to - by), ArrowRight: () => show(state.from + by, state.to + by) }[e.key];
    if (act) { e.preventDefault(); act(); }
});
view.addEventListener("scroll", redraw);
window.addEventListener("resize", () => { layOut(); redraw(); });
$("zoom-in").onclick = () => zoom(0.5);
$("zoom-out").onclick = () => zoom(2);
$("zoom-all").onclick = () => show(0, whole);
$("arrows").onchange = e => { state.arrows = e.target.checked; redraw(); };

/* ---- search */

function search(text) {
    const needle = text.trim().toLowerCase();
    state.needle = needle;
    state.matched = null;
    if (needle) {
        state.matched = new Set();
        D.names.forEach((name, i) => { if (i && name.toLowerCase().includes(needle)) state.matched.add(i).add(-i - 1); });
    }
    let n = 0, ns = 0;
    if (state.matched) for (const lane of D.lanes) for (let i = 0; i < lane.count; i++) {
        if (matches(lane, i)) { n++; ns += lane.kind === 2 || lane.kind === 3 ? lane.end[i] - lane.start[i] : 0; }
    }
    $("matches").textContent = needle ? `${count(n)} found, ${time(ns)} on workers` : "";
    redraw();
}
/* The next match in the lanes that are shown, to the right or left of the middle. */
function jump(forward) {
    if (!state.matched) return;
    const middle = (state.from + state.to) / 2;
    let best = null;
    for (const { lane } of rows.filter(r => r.lane)) for (let i = 0; i < lane.count; i++) {
        const at = (lane.start[i] + lane.end[i]) / 2, d = forward ? at - middle : middle - at;
        if (d > 1 && matches(lane, i) && (!best || d < best.d)) best = { d, lane, i };
    }
    if (best) {
        const length = Math.max(1000, best.lane.end[best.i] - best.lane.start[best.i]);
        const span = Math.min(state.to - state.from, 12 * length), at = (best.lane.start[best.i] + best.lane.end[best.i]) / 2;
        show(at - span / 2, at + span / 2);
    }
}
$("search").addEventListener("input", e => search(e.target.value));
$("search").addEventListener("keydown", e => { if (e.key === "Enter") jump(!e.shiftKey); });
$("next").onclick = () => jump(true);
$("previous").onclick = () => jump(false);
function lookFor(name) {
    $("search").value = name; search(name); $("timeline").scrollIntoView();
}
function linked(name) {
    const e = make("span", nameOf(name), "name");
    e.onclick = () => lookFor(D.names[name]);
    return e;
}

/* ---- tables */

function fillHead() {
    const busy = D.node.reduce((s, n) => s + n.spent[0], 0), all = D.node.reduce((s, n) => s + n.workers * (n.end - n.begin), 0);
    document.title = "tacit trace: " + (D.command.split(" ")[0].split("/").pop() || "");
    $("command").textContent = D.command;
    const cards = [[time(D.ns), "from start to end"], [`${D.nodes} × ${D.node[0].workers}`, "nodes × workers"],
                   [percent(busy, all), "of workers' time in kernels"], [size(D.bytes_sent), "in messages"], [size(D.bytes_collected), "in collectives"],
                   ...(D.bytes_relayed ? [[size(D.bytes_relayed), "passed on by relays"]] : []), [count(D.records), "records"]];
    $("cards").replaceChildren(...cards.map(([value, text]) => { const c = make("div", undefined, "card"); c.append(make("b", value), make("span", text)); return c; }));
    $("advice").textContent = "First: " + D.advice;
    const missing = D.node.filter(n => !n.there).length, cut = D.node.filter(n => n.there && !n.complete).length, w = [];
    if (missing) w.push(`The records of ${missing} of ${D.nodes} nodes are missing.`);
    if (cut) w.push(`The records of ${cut} of ${D.nodes} nodes end in the middle: the run failed, or was ended. What was under way then has a red edge.`);
    if (D.dropped) w.push(`${count(D.dropped)} records were dropped, since they came faster than they could be written: sums are too small.`);
    const notes = [];
    if (D.merged) notes.push(`${count(D.merged)} short spans are drawn together with their neighbours, so that this page opens quickly; all tables count every record, and so does the file for ui.perfetto.dev.`);
    if (D.flows_cut) notes.push("Only the first messages have arrows.");
    if (D.path_cut) notes.push("The critical path has too many steps: only its end is shown.");
    $("warnings").replaceChildren(...w.map(text => make("div", text, "warning")), ...notes.map(text => make("div", text, "hint")));
}
function fillSpent() {
    legend("spent-legend", D.causes.map((c, i) => [CAUSE_COLOURS[i], i ? "waits: " + c : c]));
    $("spent-bars").replaceChildren(...D.node.map((node, q) => {
        const bar = make("div", undefined, "bar"), fill = make("div"), all = Math.max(1, node.spent.reduce((a, b) => a + b, 0));
        node.spent.forEach((ns, c) => {
            const part = make("div", ns / all > 0.04 ? percent(ns, all) : "");
            part.style.width = 100 * ns / all + "%"; part.style.background = CAUSE_COLOURS[c];
            part.title = `node ${q}: ${D.causes[c]} ${percent(ns, all)}, ${time(ns)} of all workers together`;
            fill.append(part);
        });
        bar.append(make("span", `node ${q}`), fill);
        return bar;
    }));
}
function fillTasks() {
    const all = ranked.reduce((s, [, t]) => s + t.ns, 0);
    table("task-table", [["task"], ["time"], ["chunks", 1], ["mean", 1], ["least busy node", 1], ["busiest node", 1], ["busiest / mean", 1]],
        ranked.map(([name, t]) => {
            const per = [...t.by.entries()].map(([q, [, ns]]) => [q, ns]).sort((a, b) => a[1] - b[1]);
            const [low, high] = [per[0], per[per.length - 1]], mean = t.ns / per.length;
            return [linked(name), filled(t.ns / all, colourOf.get(name), `${percent(t.ns, all)}, ${time(t.ns)}`), count(t.parts), time(t.ns / t.parts),
                    `node ${low[0]}: ${time(low[1])}`, `node ${high[0]}: ${time(high[1])}`, per.length > 1 ? (high[1] / mean).toFixed(2) : ""];
        }), "no task ran on a worker");
}
function fillMessages() {
    const most = D.blames.length ? D.blames[0][5] : 1;
    table("blame-table", [["node"], ["waits"], ["times", 1], ["for"], ["so that"]],
        D.blames.map(([node, peer, buffer, name, collective, ns, times]) =>
            [`node ${node}`, filled(ns / most, CAUSE_COLOURS[1], `${time(ns)} (${percent(ns, D.node[node].workers * (D.node[node].end - D.node[node].begin))})`),
             count(times), collective ? `a collective of ${nameOf(buffer)}` + (peer !== node ? `, begun last by node ${peer}` : "") : `${nameOf(buffer)} from node ${peer}`,
             linked(name)]), "no worker waited for a message");
    const n = D.nodes, both = D.sent.map((b, i) => b + (D.collected[i] || 0)), largest = both.reduce((a, b) => Math.max(a, b), 1);
    if (!both.length || n > 128 || largest === 1) {
        $("matrix").replaceChildren(make("caption", both.length && largest === 1 ? "nothing goes from node to node" : "too many nodes for a table", "hint"));
        return;
    }
    const head = make("tr");
    head.append(make("th", "from \\ to"));
    for (let q = 0; q < n; q++) head.append(make("th", q));
    $("matrix").replaceChildren(head);
    for (let p = 0; p < n; p++) {
        const row = make("tr");
        row.append(make("th", p));
        for (let q = 0; q < n; q++) {
            const bytes = both[p * n + q], passed = D.passed[p * n + q], cell = make("td", bytes && n <= 16 ? size(bytes) : "");
            if (passed) cell.append(make("span", n <= 16 ? ` +${size(passed)}` : "+", "relay"));
            cell.title = `node ${p} to node ${q}: ${size(D.sent[p * n + q])} in messages, ${size(bytes - D.sent[p * n + q])} in collectives`
                + (D.passed[p * n + q] ? `, and ${size(D.passed[p * n + q])} passed on for other nodes` : "");
            cell.style.background = bytes ? `rgba(61,126,166,${0.12 + 0.78 * bytes / largest})` : "#f4f6f9";
            cell.style.color = bytes / largest > 0.5 ? "#fff" : "";
            row.append(cell);
        }
        $("matrix").append(row);
    }
}
function fillPath() {
    const groups = new Map();
    for (const s of path) {
        const key = stepGroup(s), g = groups.get(key) || { ns: 0, times: 0, colour: stepColour(s), name: s[4], kind: s[5] };
        g.ns += s[1] - s[0]; g.times++;
        groups.set(key, g);
    }
    const sorted = [...groups.entries()].sort((a, b) => b[1].ns - a[1].ns), all = sorted.reduce((s, [, g]) => s + g.ns, 0);
    table("path-table", [["what"], ["time"], ["steps", 1], ["mean", 1]],
        sorted.map(([key, g]) => [key, filled(g.ns / all, g.colour, `${percent(g.ns, all)}, ${time(g.ns)}`), count(g.times), time(g.ns / g.times)]), "no path");
}
function fillFacts() {
    const rows = [["tacit", D.tacit + (D.version !== D.tacit ? `, report by ${D.version}` : "")], ["MPI", D.MPI], ["network", D.network]];
    for (const line of D.settings.split("\n")) { const at = line.indexOf("="); if (at > 0) rows.push([line.slice(0, at), line.slice(at + 1)]); }
    table("fact-table", [["name"], ["value"]], rows);
    table("node-table", [["node"], ["machine"], ["workers", 1], ["records", 1], ["dropped", 1], ["clock is right to", 1]],
        D.node.map((n, q) => [`node ${q}`, n.machine, n.workers, count(n.records), count(n.dropped), n.clock_error < 0 ? (D.nodes > 1 ? "not known" : "") : time(n.clock_error)]));
    $("explain-text").textContent = D.explain || "There is no explain table: it is made by `tacit trace` and by TACIT_EXPLAIN.";
}
function fillTools() {
    legend("timeline-legend", [...ranked.slice(0, PALETTE.length).map(([name]) => [colourOf.get(name), nameOf(name)]), ["#7fb7e6", "send"], ["#d1495b", "receive"],
           ["#a05195", "collective"], ...(D.bytes_relayed ? [["#2a9d8f", "relay: passed on for another node"]] : []), ["#8d6e63", "copy, memory"], ["#3d7ea6", "planning"], ["#dfe4ea", "program waits"], [CAUSE_COLOURS[7], "back-pressure"], ["rgba(209,73,91,.42)", "low bands: why a worker waits"]]);
    LANE_KINDS.forEach((name, k) => {
        const l = make("label"), box = make("input");
        box.type = "checkbox"; box.checked = state.shown[k];
        box.onchange = () => { state.shown[k] = box.checked; layOut(); redraw(); };
        l.append(box, " " + name);
        $("kinds").append(l);
    });
}
fillHead(); fillSpent(); fillTools(); fillTasks(); fillMessages(); fillPath(); fillFacts();
layOut(); draw();
window.tacitReport = { state, show, search, under, rows: () => rows, redraw: draw }; /* for tests */
})();
