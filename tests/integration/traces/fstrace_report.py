#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fstrace report in a real browser: it loads without a word on the console, shows the numbers of fstrace stat, asks the network for
nothing, and what names hold stays text."""
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import pages  # noqa: E402

BUILD = os.environ.get("FSR_BUILD") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "build")
os.environ["PATH"] = os.pathsep.join([os.path.join(BUILD, d) for d in ("shim", "replay", "tools")] + [os.environ["PATH"]])
HOSTILE = [b"<script>alert(1)", b"\"><img src=x onerror=alert(2)>", b"<!--", b"&lt;b&gt;", b"new\nline", b"not\xffutf8",
           "\u202etxt.exe".encode(), b"'-alert(3)-'", b"<svg onload=alert(4)>"]
failed = 0


def case(name, good, why=""):
    global failed
    failed += not good
    print(f"ok - {name}" if good else f"not ok - {name}: {why}", flush=True)


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, timeout=100, **options).stdout


class Page(html.parser.HTMLParser):
    """Elements of the page, and the cells of its tables that have an id."""
    VOID = {"meta", "link", "img", "br", "input"}

    def __init__(self, text):
        super().__init__()
        self.elements, self.tables, self.stack = [], {}, []
        self.table = self.cell = None
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag not in self.VOID:
            self.stack.append(tag)
        if tag == "table":
            self.table = self.tables.setdefault(attributes.get("id"), [])
        elif tag == "tr" and self.table is not None:
            self.table.append([])
        elif tag in ("th", "td") and self.table is not None:
            self.cell = ["", None]
            self.table[-1].append(self.cell)
        elif tag == "data" and self.cell:
            self.cell[1] = attributes["value"]

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop() != tag:
            pass
        if tag in ("th", "td"):
            self.cell = None
        elif tag == "table":
            self.table = None

    def handle_data(self, data):
        self.text += data
        if self.cell and "title" not in self.stack:
            self.cell[0] += data

    def rows(self, table):
        heads = [cell[0] for cell in self.tables[table][0]]
        return [dict(zip(heads, row)) for row in self.tables[table][1:]]


def capture():
    os.mkdir("work")
    with open("work.py", "w") as script:
        script.write(f"""
import os, time
os.chdir(b'work')
for name in {HOSTILE!r}:
    with open(name, 'wb') as f: f.write(name * 500)
    with open(name, 'rb') as f: f.read()
    try: os.stat(b'missing ' + name)
    except OSError: pass
    time.sleep(0.02)
for turn in range(5):
    with open('journal', 'wb') as f: f.write(b'x' * 100000 * turn)
    os.unlink('journal')
time.sleep(1)
with open('last', 'wb') as f: f.write(b'x')
os.system('while read line; do :; done <last')
""")
    run("fsshim", "capture", "work", "-o", "<script>odd & 'name'.zst", "--", sys.executable, "work.py")


def main():
    capture()
    trace = "<script>odd & 'name'.zst"
    run("fstrace", "report", trace, "-o", "report.html")
    stat = json.loads(run("fstrace", "stat", "--json", trace))
    last = json.loads(run("fstrace", "sql", "--json", trace, "select max(start) as start from ops"))["start"]
    run("fstrace", "cut", trace, "--from", f"{last - 900_000_000}ns", "-o", "late.zst")
    dom, console = pages.browser("report.html", "--dump-dom")
    page = Page(dom)
    case("it loads and the console stays empty", "</html>" in dom and not console, console[:3])
    tags = [tag for tag, _ in page.elements]
    case("names stay text", not {"script", "img", "b", "iframe"} & set(tags) and not [a for _, a in page.elements if any(k.startswith("on") for k in a)],
         set(tags))
    missing = [shown for shown in ("<script>alert(1)", "\"><img src=x onerror=alert(2)>", "new\\x0aline", "not\\xffutf8", "&lt;b&gt;",
                                   "'-alert(3)-'", "<svg onload=alert(4)>", "Report on <script>odd & 'name'.zst") if shown not in page.text]
    case("and are shown as they are", not missing, missing)
    outside = [(t, a) for t, a in page.elements for k in ("src", "href", "action", "data") if not a.get(k, "#").startswith(("#", "data:"))]
    case("nothing is asked of a network", not outside and "http" not in open("report.html").read().replace("http-equiv", ""), outside)

    kinds = {g["op"]: g for g in stat["groups"]}
    members = {"operations": "operations", "failed": "failed", "p50": "latency_p50_ns", "p99": "latency_p99_ns",
               "max": "latency_max_ns", "time": "busy_ns", "read": "read_bytes", "written": "written_bytes"}
    rows = page.rows("kinds") + (page.rows("kinds-more") if "kinds-more" in page.tables else [])
    wrong = [(row["kind"][0], head, row[head]) for row in rows for head, member in members.items()
             if row[head][1] is not None and int(row[head][1]) != kinds[row["kind"][0]][member]]
    case("the numbers by kind are those of fstrace stat", {row["kind"][0] for row in rows} == set(kinds) and not wrong, wrong[:3])
    case("what is shown is the exact number where that is short",
         all(row["operations"][0] == f"{kinds[row['kind'][0]]['operations']:,}" for row in rows), rows[:2])
    by_path = {}
    for g in json.loads(run("fstrace", "stat", "--json", "--by", "file", trace))["groups"]:
        if g["path"] != "none":
            files, time, operations = by_path.get(g["path"], (0, 0, 0))
            by_path[g["path"]] = (files + 1, time + g["busy_ns"], operations + g["operations"])
    hot = page.rows("files-table")
    case("hot files are those of fstrace stat --by file, one row for each path",
         [(int(r["time"][1]), int(r["operations"][1])) for r in hot] == sorted((g[1:] for g in by_path.values()), reverse=True)[:20], (hot, by_path))
    case("files that had one path in turn are counted", by_path["journal"][0] == 5 and [r for r in hot if r["file"][0] == "journal (5 files, one after another)"], hot)
    failed = {}
    for line in run("fstrace", "sql", "--json", trace, "select path, duration from ops where op = 'lookup' and error = 'ENOENT'").splitlines():
        op = json.loads(line)
        count, time = failed.get(os.path.dirname(op["path"]) or ".", (0, 0))
        failed[os.path.dirname(op["path"]) or "."] = (count + 1, time + op["duration"])
    case("failed look-ups are told by directory, not as those of no file",
         sorted((int(r["failed"][1]), int(r["time"][1])) for r in page.rows("lookups-table")) == sorted(failed.values()) != [] and
         "none" not in [r["file"][0] for r in page.rows("files-table")], failed)
    outcomes = json.loads(run("fstrace", "stat", "--json", "--by", "outcome", trace))["groups"]
    case("outcomes are those of fstrace stat --by outcome",
         {r["outcome"][0]: int(r["operations"][1]) for r in page.rows("outcome-table")} == {g["outcome"]: g["operations"] for g in outcomes})

    purposes = {"sync": {"fsync", "fsyncdir", "syncfs", "flush"}, "read, write": {"read", "write", "copy_file_range"}}
    commands = {}
    for g in json.loads(run("fstrace", "stat", "--json", "--by", "command,op", trace))["groups"]:
        of = commands.setdefault(g["command"], {"operations": 0, "failed": 0, "sync": 0, "read, write": 0})
        for member in ("operations", "failed"):
            of[member] += g[member]
        for name, ops in purposes.items():
            of[name] += g["busy_ns"] if g["op"] in ops else 0
    shown = page.rows("time-by-command")
    case("the time of each command is that of fstrace stat, by what it asked for", "sh" in commands and
         {r["command"][0]: {name: int(r[name][1]) for name in commands[r["command"][0]]} for r in shown} == commands, (shown[:2], commands))
    activity = page.rows("activity")
    case("and so are the operations of each over time", len(activity) > 5 and
         {name: sum(int(r[name][1] or r[name][0]) for r in activity) for name in commands} == {n: c["operations"] for n, c in commands.items()}, activity[:2])
    longest = [json.loads(line)["duration"] for line in
               run("fstrace", "sql", "--json", trace, "select duration from ops order by duration desc limit 10").splitlines()]
    case("the slowest operations are those of fstrace sql", [int(r["latency"][1]) for r in page.rows("slowest")] == longest, longest)

    whole = json.loads(run("fstrace", "sql", "--json", trace, "select sum(duration) as busy, max(start + duration) as span from ops"))
    told = re.search(r"How busy: ([\d.]+) (µs|ms|s) in all, ([\d.]+) % of the time of one thread", page.text)
    case("the verdict says how busy the file system was", told and
         abs(float(told[1]) * {"µs": 1e3, "ms": 1e6, "s": 1e9}[told[2]] / whole["busy"] - 1) < 0.01 and
         abs(float(told[3]) - 100 * whole["busy"] / whole["span"]) <= 0.5, (whole, told and told[0]))

    in_flight = re.search(r"([\d.]+) in flight on average", run("fstrace", "stat", "late.zst").decode())[1]
    compared = json.loads(run("fstrace", "compare", "late.zst", "late.zst", "--json"))["first"]["in_flight_mean"]
    case("fstrace compare has the mean of fstrace stat, of a trace that begins late", f"{compared:.2f}" == in_flight, (compared, in_flight))
    run("fstrace", "report", "late.zst", "-o", "late.html")
    late = Page(open("late.html").read()).text
    case("operations in flight are those of fstrace stat, of a trace that begins late", f"{in_flight} operations were in flight on average" in late, (in_flight, late[:900]))
    case("every axis of time begins with the first operation", "time since the first operation" in late and "time since the start" not in late)

    latency = re.search(r'<div class="wide"><svg [^>]*aria-label="Latency over time".*?</svg>', open("report.html").read(), re.S)[0]
    steps = [float(x) for path in re.findall(r'<path class="l [^"]*" d="([^"]*)"', latency) for x in re.findall(r"h([\d.]+)", path)]
    case("no line crosses the second in which nothing happened", len(steps) > 3 and max(steps) < 100, steps)
    drawings = [a for t, a in page.elements if t == "svg" and a.get("role") == "img"]
    case("each drawing, in two widths, has a label and its values as a table", len(drawings) >= 14 and all(a.get("aria-label") for a in drawings) and
         2 * (tags.count("details") + 1 - ("kinds-more" in page.tables)) == len(drawings), (len(drawings), tags.count("details")))  # two share a table
    case("what appears under the pointer has lines", re.search(r"<title>[\d.]+ m?s to [\d.]+ m?s\nread: [^<]*\nwritten: ", dom))
    axes = {tuple(tick for tick in re.findall(r'<text x="([\d.]+)" y="[\d.]+">([\d.]+ m?s)<', drawing) if float(tick[0]) >= 90) for name in ("Operations by command", "Operations", "Data", "Latency of every operation", "In flight over time")
            for drawing in re.findall(rf'<div class="wide"><svg [^>]*aria-label="{name}".*?time since', open("report.html").read(), re.S)}
    case("all drawings over time have one axis", len(axes) == 1, axes)
    case("the time is that of fstrace stat", page.text.count(re.search(r"operations in ([\d.]+ \w+);", run("fstrace", "stat", trace).decode())[1]) >= 2)
    case("values show where the pointer rests", dom.count("<g class=\"hit\">") >= 7 and dom.count("<title>") > 100)
    levels = [int(t[1]) for t in tags if t in ("h1", "h2", "h3")]
    ids = [a["id"] for _, a in page.elements if "id" in a]
    links = [a["href"][1:] for t, a in page.elements if t == "a"]
    html_attributes = dict(page.elements)["html"]
    case("headings, landmarks, language and links are in order", levels[0] == 1 and levels.count(1) == 1 and html_attributes.get("lang") == "en" and
         {"main", "nav", "header"} <= set(tags) and len(ids) == len(set(ids)) and set(links) <= set(ids) and len(links) > 8, levels)
    case("what scrolls can be reached by keyboard, columns and rows have names",
         all(a.get("tabindex") == "0" and a.get("aria-label") for _, a in page.elements if a.get("class") == "scroll") and
         all(a.get("scope") for t, a in page.elements if t == "th"))

    wrong = pages.faults("report.html")
    case("on a phone, a tablet and a desk, no text is cut, small or over another", not wrong, wrong)
    pages.browser("report.html", "--print-to-pdf=" + os.path.abspath("page.pdf"))
    case("it prints", os.path.exists("page.pdf") and os.path.getsize("page.pdf") > 10_000)
    again = subprocess.run(["fstrace", "report", trace, "-o", "report.html"], capture_output=True, text=True, check=False)
    case("a page that exists is kept", again.returncode == 2 and "exists already" in again.stderr, again.stderr)
    empty = subprocess.run(["fstrace", "report", "work.py", "-o", "none.html"], capture_output=True, text=True, check=False)
    case("no trace, no page", empty.returncode == 2 and not [f for f in os.listdir() if f.startswith("none.html")], empty.stderr)


with tempfile.TemporaryDirectory(prefix="fsshim-test.") as scratch:
    os.chdir(scratch)
    main()
    os.chdir("/")
sys.exit(1 if failed else 0)
