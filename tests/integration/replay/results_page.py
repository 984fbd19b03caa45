#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsreplay report: the page of kept runs in a real browser, at the widths of a phone and of a desk, and the files for the viewers of
HdrHistogram, whose histograms are decoded here as its documentation says."""
import base64
import contextlib
import html
import json
import math
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, put_on_path  # noqa: E402
from pages import PROBE, browser, faults, probe  # noqa: E402

cases = Cases()
put_on_path()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


def rows(query):
    with contextlib.closing(sqlite3.connect("r.sqlite")) as db:
        return db.execute(query).fetchall()


def measure():
    os.mkdir("share")
    name = "<img src=x onerror=alert(1)>"
    run("fsshim", "capture", "share", "-o", "a.zst", "--", "sh", "-c",
        f"cd share; mkdir 'd{name}'; for i in $(seq 80); do echo $i >'d{name}'/f$i; cat 'd{name}'/f$i; done; sleep 1.1; ls -lR")
    for label, scale in ((f"before {name}", "1x"), ("after", "2x")):
        done = run("fsreplay", "a.zst", f"file:tree-{scale}", "-q", "--scale", scale, "--results", "r.sqlite", "--label", label)
        cases.case(f"a run at {scale}", done.returncode == 0, done.stderr)


    done = run("fsreplay", "mix:sfs97-v3", "memory:", "--load", "100-300,100", "--duration", "1s", "--seed", "7", "-q", "--results", "ramp.sqlite")
    cases.case("a ramp", done.returncode == 0, done.stderr)


def charts(page, title):
    """The lines of the wide drawing without its gaps, each a list of its points."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    drawings = re.findall(rf'<div class="wide"><svg [^>]*aria-label="{title}".*?</svg>', text, re.S)
    return [line for path in re.findall(r'<path class="l [^"]*" d="([^"]*)"', drawings[0]) for line in parts_of(path)]


def values_of(text, table, heading):
    """The texts of a column of a folded table, the last of which holds until the next row, by the texts of the first column."""
    table = re.search(rf"<details><summary>{table}</summary>.*?</table>", text, re.S)[0]
    rows = [[html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)(?=<td|<th|</t|$)", row, re.S)] for row in table.split("<tr")[1:]]
    return {row[0]: row[rows[0].index(heading)] for row in rows[1:]}


def at_a_glance():
    shutil.copy("r.sqlite", "differed.sqlite")
    with contextlib.closing(sqlite3.connect("differed.sqlite")) as db, db:
        path = "a\\rather/long/path/of/a/file/" + "x" * 60
        db.executemany("insert into mismatches (run, seq, kind, name, object, thread, expected, got) values (1, ?, 'copy_file_range', ?, 5, 1, '1,048,576 bytes', '1,044,480 bytes')",
                       [(1234567 + i, path) for i in range(3)])
        db.execute("""insert into differences (run, kind, expected, got, count, first_ns, last_ns, first_seq, example)
            values (1, 'copy_file_range', '1,048,576 bytes', '1,044,480 bytes', 3, 2500000000, 2600000000, 1234567, ?)""", [path])
        db.execute("update run set differed = 3, not_clean = '3 outcomes differed', limited_by = 'the schedule was kept (lateness p99 1.00 ms)', command = 'fsreplay --workers 4 B.zst'")
    done = run("fsreplay", "report", "differed.sqlite", "--run", "1", "-o", "differed.html")
    cases.case("a page of a run with differences", done.returncode == 0, done.stderr)
    for width in (390, 600, 768, 1280):
        found = json.loads(probe("differed.html", width, PROBE))
        cases.case(f"at {width} pixels no number breaks", not found["broken"], found["broken"][:5])
        cases.case(f"at {width} pixels no text is cut or below 10 pixels", found["smallest"] >= 10 and not found["cut"] and not found["overflow"], found)
        cases.case(f"at {width} pixels, what scrolls has a sign", found["unsigned"] == 0, found)
        cases.case(f"at {width} pixels, no label is cut or over another", not found["labels"], found["labels"][:5])
        if width == 390:
            cases.case("on a phone, rows of text are blocks, and rows of numbers scroll", found["stacked"] == found["blocks"] == 4 and found["scrolls"] > 0, found)
    with open("differed.html", encoding="utf-8") as file:
        text = file.read()
    matched = rows("select matched from run where id = 1")[0][0]
    cases.case("the verdict says how many outcomes differed, and since when", f"Outcomes that differed: 3 of {matched + 3:,}, the first one issued after <span class=\"u\">2.50 s</span>." in text)
    cases.case("and leads to them", '. <a href="#mismatches">What differed</a></p>' in text)
    cases.case("commands stay as they are", ">fsreplay --workers 4 B.zst</dd>" in text)
    cases.case("a gap is said to be a zero on logarithmic axes too", "or on a logarithmic axis a zero." in text)
    group = re.search(r'id="difference-table".*?</table>', text, re.S)[0]
    cases.case("outcomes that differed stand by kind, with the first time and a file", all(
        part in group for part in ('<data value="3">', '<data value="2500000000">2.50 s<', path.replace("\\", "\\x5c"))), group)
    cases.case("a name is escaped once", path.replace("\\", "\\x5c") in text and "x5cx5c" not in text)
    table = re.search(r"<caption>Operations by time</caption>.*?</table>", text, re.S)[0]
    shown = [[int(value) for value in re.findall(r'<td[^>]*><data value="(\d+)"', row)] for row in table.split("<tr>")[2:]]
    counted = [rows(f"select sum(count) from heat where run = 1 and what = '{what}'")[0][0] for what in ("recorded", "service", "response")]
    cases.case("heat maps have each operation of the results", [sum(column) for column in zip(*shown)] == counted
               and text.count('aria-label="Service in the capture"') == 2 and text.count('<path class="h') >= 6, (shown, counted))
    cases.case("a run that kept its pace has no limit", "Limit: " not in text and "The schedule was kept (lateness" in text)
    lines = charts("one.html", "Response")
    behind = charts("one.html", "Operations due, but not yet issued")
    cases.case("what was due and not issued yet is drawn", len(behind) == 1 and len(behind[0]) > 2 and (behind[0][0][0], behind[0][-1][0]) == (90, 724), behind)
    pause = rows("select max(gap) from (select to_ns - from_ns as gap, 1 from intervals where run = 1 and kind = '')")[0][0]
    empty = rows("select count(*) from intervals where run = 1 and kind = '' and operations + failed = 0")[0][0]
    bottom = max(y for line in lines for _, y in line)
    cases.case("where nothing completed, no response is drawn", empty > 30 and pause < 1e9 and len(lines) >= 6
               and all(b[0] - a[0] < 60 for line in lines for a, b in zip(line, line[1:])), (empty, pause, len(lines), bottom))
    seen = probe("one.html", 1280, """const part = document.querySelector('.wide path.l').cloneNode(); part.setAttribute('d', 'M5 9H5');
        document.querySelector('.wide svg').append(part); document.title = part.isPointInStroke(new DOMPoint(5, 9))""")
    cases.case("a part of a line without length is seen", seen == "true", seen)
    cases.case("a short run has many steps", rows("select count(*) from intervals where run = 1 and kind = ''")[0][0] > 100)
    lines = charts("both.html", "Response by load")
    cases.case("no line joins runs of two commands", [len(line) for line in lines] == [1, 1, 1, 1], lines)
    for name, change, keys in (("two captures on one target", "input = id || '.zst', target = 'file:x'", ("p50, 1.zst", "p50, 2.zst")),
                               ("two captures on two targets", "input = id || '.zst'", ("1.zst on file:tree-1x", "2.zst on file:tree-2x"))):
        shutil.copy("r.sqlite", "apart.sqlite")
        with contextlib.closing(sqlite3.connect("apart.sqlite")) as db, db:
            db.execute("update run set " + change)
        run("fsreplay", "report", "apart.sqlite", "-o", "apart.html", "--force")
        with open("apart.html", encoding="utf-8") as file:
            text = file.read()
        cases.case(f"{name} are drawn apart", all(f"{key}<" in text for key in keys), re.findall(r"p50, [^<]*", text))
    done = run("fsreplay", "report", "ramp.sqlite", "-o", "ramp.html")
    lines = charts("ramp.html", "Response by load")
    cases.case("a line joins the loads of a ramp", done.returncode == 0 and [len(line) for line in lines] == [3, 3], lines)


def parts_of(path):
    """The points of each part of a path of M, l, h and v, the last three of which are relative."""
    parts = []
    for command, first, second in re.findall(r"([Mlhv])(-?[\d.]+)(?: (-?[\d.]+))?", path):
        if command == "M":
            parts.append([(float(first), float(second))])
            continue
        x, y = parts[-1][-1]
        parts[-1].append((x + float(first) * (command != "v"), y + float(second or 0) + float(first) * (command == "v")))
    return parts


def nanoseconds(text):
    number, unit = text.split()
    return float(number.replace(",", "")) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]


def shown_time(ns):
    """A time as an axis has it: three digits, without zeros at its end."""
    unit, size = next(of for of in (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)) if ns >= of[1] or of[1] == 1)
    if ns == 0:
        return "0 s"
    number = f"{ns / size:#.3g}"
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def long_names():
    """A path of 4 KB is as long as others on a page, and whole under the pointer."""
    path = "/".join(f"directory{i:04}" for i in range(290))
    shutil.copy("differed.sqlite", "names.sqlite")
    with contextlib.closing(sqlite3.connect("names.sqlite")) as db, db:
        db.execute("update run set input = ?1, target = 'file:' || ?1, label = ?1, not_clean = ?1 || ': not as before', command = 'fsreplay ' || ?1", [path])
        for table, column in (("slowest", "name"), ("mismatches", "name"), ("differences", "example")):
            db.execute(f"update {table} set {column} = ?", [path])
    for name, arguments in (("one", ["--run", "1"]), ("two", [])):
        done = run("fsreplay", "report", "names.sqlite", *arguments, "-o", f"names-{name}.html")
        with open(f"names-{name}.html", encoding="utf-8") as file:
            text = file.read()
        cases.case(f"names of 4 KB: the page of {name}", done.returncode == 0 and f'title="{path}"' in text and f"<details><summary><bdi title=\"fsreplay {path}" in text, done.stderr)
        wrong = faults(f"names-{name}.html")
        cases.case(f"names of 4 KB: nothing of the page of {name} is cut or beyond it", not wrong, wrong)
    height = [json.loads(probe(page, 390, "document.title = document.documentElement.scrollHeight")) for page in ("differed.html", "names-one.html")]
    cases.case("names of 4 KB make a page little longer", height[1] < 1.6 * height[0], height)


def ended_early():
    """A run of which nothing was issued is not called clean, and its axes have different ticks."""
    with open("one.html", encoding="utf-8") as file:
        whole = file.read()
    for name, issued in (("in part", "issued - 5"), ("none", "0")):
        shutil.copy("r.sqlite", "early.sqlite")
        with contextlib.closing(sqlite3.connect("early.sqlite")) as db, db:
            db.execute(f"update run set issued = {issued}, cancelled = operations - ({issued}), not_clean = ''")
            count, all_ = db.execute("select issued, operations from run where id = 1").fetchone()
        done = run("fsreplay", "report", "early.sqlite", "--run", "1", "-o", "early.html", "--force")
        with open("early.html", encoding="utf-8") as file:
            text = file.read()
        cases.case(f"a run that ended early, issued: {name}", f"Ended early: {count:,} of {all_:,} operations were issued" in text and '"verdict open"' in text
                   and "Clean:" not in text and '"verdict good"' in whole, done.stderr)
        run("fsreplay", "report", "early.sqlite", "-o", "early-both.html", "--force")
        with open("early-both.html", encoding="utf-8") as file:
            text = file.read()
        cases.case(f"a page of such runs says so, too, issued: {name}", '"verdict open"' in text and "2 of 2 runs ended early." in text and
                   f": ended early: {count:,} of {all_:,} operations were issued; every outcome" in text and text.count(">ended early<") == 2 and ">clean<" not in text,
                   re.search(r'<div class="verdict.*?</div>', text, re.S)[0])
    for name, sets, single, several in (("not clean and cut short", "not_clean = 'one differed', issued = 1", "Not clean: one differed; 1 of ", "2 of 2 runs were not clean."),
                                        ("a requirement missed", "issued = operations, cancelled = 0, not_clean = '', requirements_missed = 'p99 is too long'",
                                         "Requirement missed: p99 is too long", "2 of 2 runs missed a requirement.")):
        with contextlib.closing(sqlite3.connect("early.sqlite")) as db, db:
            db.execute(f"update run set {sets}")
            db.execute("update made_of set low_ns = 0 where rowid = (select min(rowid) from made_of)")
            db.execute("update intervals set recorded_p99_ns = 9e999")
        for options, words in ((["--run", "1"], single), ([], several)):
            done = run("fsreplay", "report", "early.sqlite", *options, "-o", "early.html", "--force")
            with open("early.html", encoding="utf-8") as file:
                text = file.read()
            cases.case(f"a page says: {name}, {len(options)} options", '"verdict bad"' in text and words in text, (done.stderr, re.search(r'<div class="verdict.*?</div>', text, re.S)[0]))
    with contextlib.closing(sqlite3.connect("early.sqlite")) as db, db:
        db.execute("update run set not_clean = 'trace is incomplete', overdue = 0, unanswered = 0, violations = 0, stood_still_ns = 0, differed = 0")
        db.execute("update intervals set from_ns = from_ns * 10, to_ns = to_ns * 10")
        length, last = db.execute("select max(to_ns - from_ns), max(from_ns) from intervals where run = 1").fetchone()
        db.execute("delete from heat")
        db.execute("insert into heat (run, from_ns, to_ns, what, bucket, count) values (1, ?1, ?1 + 1, 'service', 20, 7)", [last])
    run("fsreplay", "report", "early.sqlite", "--run", "1", "-o", "early.html", "--force")
    with open("early.html", encoding="utf-8") as file:
        text = file.read()
    box = re.search(r'<div class="verdict bad">.*?</p>', text, re.S)[0]
    cases.case("what delayed the run is no cause of an incomplete trace", "trace is incomplete" in box and "<a " not in box, box)
    columns = [int(column) for column in re.findall(r'<path class="h\d" d="M(-?\d+) ', text)]
    cases.case("a heat map of only the last stretch has it at the end", last > 2**31 and len(columns) == 2 and all(0.9 * last / length / of <= column <= last / length for column, of in zip(columns, (2, 4))), (columns, last, length))


def contrast(one, other):
    """The ratio of luminances that WCAG defines, of two colours such as #fff or #1b1f24."""
    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        return sum(weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4) for weight, part in zip((0.2126, 0.7152, 0.0722), parts))
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def colours():
    with open("one.html", encoding="utf-8") as file:
        schemes = [dict(re.findall(r"--(\w+):(#[0-9a-f]{3,6})\b", block)) for block in re.findall(r":root\{(.*?)\}", file.read(), re.S)]
    cases.case("there are colours for the light, the dark and paper", len(schemes) == 3 and all("c6" in scheme for scheme in schemes[:2]), schemes)
    schemes[2] = schemes[0] | schemes[2]  # paper has the colours of the light but for a few
    for name, scheme in zip(("in the light", "in the dark", "on paper"), schemes):
        text = {(a, b): contrast(scheme[a], scheme[b]) for a in ("fg", "soft", "good", "c0", "c1") for b in ("bg", "tile") if a in scheme}
        drawn = {a: contrast(scheme[a], scheme["bg"]) for a in ("c0", "c1", "c2", "c3", "c4", "o5", "c6")}
        cases.case(f"texts and lines stand out {name}", min(text.values()) >= 5 and min(drawn.values()) >= 3 and contrast(scheme["soft"], scheme["tile"]) >= 6, (text, drawn))


def paper():
    """The page as a PDF that a browser prints."""
    for name in ("one", "many"):
        browser(f"{name}.html", "--no-pdf-header-footer", f"--print-to-pdf={os.path.abspath(name)}.pdf")
        with contextlib.suppress(FileNotFoundError), open(f"{name}.pdf", "rb") as file:
            pdf = file.read()
            cases.case(f"{name}.html can be printed", pdf.startswith(b"%PDF-") and pdf.count(b"/Type /Page\n") < 12, (len(pdf), pdf.count(b"/Type /Page\n")))
            continue
        cases.case(f"{name}.html can be printed", False)
    bare = probe("many.html", 1280, """const runs = document.querySelector('#runs');
        const rules = [...document.styleSheets[0].cssRules].filter(r => r.media && r.media.mediaText == 'print').flatMap(r => [...r.cssRules]);
        document.title = rules.some(r => r.style.display == 'none' && runs.matches(r.selectorText))""")
    cases.case("a section that is folded leaves no bare heading on paper", bare == "true", bare)


def many():
    """Thirty-six runs: a small page in which each has its numbers."""
    for scale in ("1x", "4x", "16x"):
        for number in range(12):
            run("fsreplay", "a.zst", "memory:", "-q", "--scale", scale, "--results", "many.sqlite", "--label", "odd" if number % 2 else "even")
    done = run("fsreplay", "report", "many.sqlite", "-o", "many.html")
    cases.case("a page of 36 runs is below 150 KB", done.returncode == 0 and os.path.getsize("many.html") < 150_000, os.path.getsize("many.html"))
    with open("many.html", encoding="utf-8") as file:
        text = file.read()
    table = text[text.index('id="case-table"'):]
    table = table[:table.index("</table>")]
    with contextlib.closing(sqlite3.connect("many.sqlite")) as db:
        p99 = [[row[0] for row in db.execute("""select p99_ns from run join distributions on run = id where kind = '' and what = 'service'
            and label = ? and scale = ? order by p99_ns""", (label, scale))] for scale in (1, 4, 16) for label in ("even", "odd")]
    middle = [(six[2] + six[3]) / 2 for six in p99]
    shown = [int(re.findall(r'<data value="([\d.]+)"', row)[3]) for row in table.split("<tr>")[2:]]
    cases.case("its cases have the medians of their runs", len(shown) == 6 and all(abs(a - b) <= 1 for a, b in zip(shown, middle)), (shown, middle))
    ratios = table_of(text, "ratio-table")
    means = [[math.exp(sum(map(math.log, six)) / 6) for six in p99[2 * i:2 * i + 2]] for i in range(3)]
    cases.case("cases of one load stand beside the first one, as ratios of their means", len(ratios) == 3 and all(
        len(row) >= 3 and abs(row[2] - odd / even) < 1e-4 * row[2] for row, (even, odd) in zip(ratios.values(), means)), (ratios, means))
    marks = {}  # of the rates of the second case at 1x
    shutil.copy("many.sqlite", "marks.sqlite")
    for name, change in (("as they are shown", "achieved_per_s = 100 + 0.08 * (label = 'odd')"), ("clear", "achieved_per_s = 100 + (label = 'odd')"),
                         ("not clean", "not_clean = 'one failed' where id = 1")):
        with contextlib.closing(sqlite3.connect("marks.sqlite")) as db, db:
            db.execute("update run set " + change)
        run("fsreplay", "report", "marks.sqlite", "-o", "marks.html", "--force")
        with open("marks.html", encoding="utf-8") as file:
            shown = file.read()
            marks[name] = re.search(r'id="ratio-table".*?</th><td[^>]*>.*?(<td.*?)<td', shown, re.S)[1]
            marks[name] += " verdict: " + re.search(r'<div class="verdict.*?</div>', shown, re.S)[0]
    cases.case("a ratio is better if its interval is shown above 1, and both cases were clean", 'class="open"' in marks["as they are shown"]
               and 'class="better"' in marks["clear"] and "1.009 to 1.011" in marks["clear"] and ">- verdict" in marks["not clean"], marks)
    shutil.copy("many.sqlite", "labels.sqlite")
    with contextlib.closing(sqlite3.connect("labels.sqlite")) as db, db:
        db.execute("update run set label = 'l' || (id % 4), achieved_per_s = 100 + id % 4, not_clean = ''")
    run("fsreplay", "report", "labels.sqlite", "-o", "labels.html")
    with open("labels.html", encoding="utf-8") as file:
        shown = re.search(r'<div class="verdict.*?</div>', file.read(), re.S)[0]
    cases.case("the verdict counts the cases that it does not name", shown.count(" beside ") == 4 and "And 5 more, in the table of ratios." in shown, shown)
    cases.case("and the verdict says so", "achieved/s ×" not in marks["as they are shown"] and "odd, 1x beside even, 1x: achieved/s ×1.01 (1.009 to 1.011)" in marks["clear"]
               and 'href="#runs"' in marks["not clean"], marks)
    with contextlib.closing(sqlite3.connect("many.sqlite")) as db:
        groups = db.execute("select run_group, group_concat(round) from run group by run_group").fetchall()
    cases.case("the database knows the groups, and the rounds of each", groups == [(first, "1,2,3,4,5,6") for first in (1, 2, 13, 14, 25, 26)], groups)
    cases.case("and each run has its row", text.count(">clean<") == 36)
    small = re.findall(r"<figure><figcaption>(.*?)</figcaption>.*?<small>p50 (.*?), p99 (.*?)</small></figure>", text)
    cases.case("the distributions of cases stand beside each other, with percentiles among those of their runs", len(small) == 6 and all(
        0.98 * six[0] <= nanoseconds(shown) <= 1.02 * six[-1] for (_, _, shown), six in zip(small, p99)), (small, p99))
    for width in (390, 768, 1280):
        found = json.loads(probe("many.html", width, PROBE))
        cases.case(f"at {width} pixels no number of it breaks, no text is cut or small", not found["broken"] and not found["labels"] and found["unsigned"] == 0
             and found["smallest"] >= 10 and not found["cut"] and not found["overflow"], found)


def live():
    """The page of a run that goes on, and what stays of it."""
    seen = set()
    with subprocess.Popen(["fsreplay", "a.zst", "memory:", "-q", "--scale", "0.2x", "--page", "live.html", "--results", "live.sqlite"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as replay:
        while replay.poll() is None:
            with contextlib.suppress(FileNotFoundError), open("live.html", encoding="utf-8") as file:
                seen.add(file.read())
            time.sleep(0.02)
        complaint = replay.stderr.read()
    cases.case("a page is written while a run goes on, whole each time", len(seen) >= 3 and all(text.endswith("</html>\n") for text in seen), (len(seen), complaint))
    with open("live.html", encoding="utf-8") as file:
        last = file.read()
    running = [text for text in seen if 'http-equiv="refresh"' in text]
    cases.case("a browser loads it again, and it says that the run goes on", len(running) >= 2 and all("Still running" in text for text in running)
               and "refresh" not in last and "Still running" not in last)
    counts = sorted(int(re.search(r'<dt>operations</dt><dd><data value="(\d+)"', text)[1]) for text in running)
    cases.case("its counts grow", counts[0] < counts[-1], counts)
    with open("running.html", "w", encoding="utf-8") as file:
        file.write(max(running, key=len))
    dom, console = browser("running.html", "--dump-dom")
    cases.case("a browser shows the page of a run that goes on", "</html>" in dom and not console, console)
    ticks = {}
    for text in running:
        for name in ("Operations a second", "Service", "Response"):
            for drawing in re.findall(rf'<div class="wide"><svg [^>]*aria-label="{name}".*?</svg>', text, re.S):
                shown = tuple(re.findall(r'<text x="([\d.]+)" y="[\d.]+">([\d.]+ m?s)<', drawing))
                if "<polyline" in drawing or '<path class="h' in drawing:  # has something to show
                    ticks.setdefault(text, set()).add(tuple(tick for tick in shown if float(tick[0]) >= 90))
    cases.case("all its drawings have one time axis, also the heat maps", ticks and all(len(axes) == 1 for axes in ticks.values()), list(ticks.values())[:1])
    run("fsreplay", "report", "live.sqlite", "-o", "kept.html")
    with open("kept.html", encoding="utf-8") as file:
        cases.case("the page that stays is that of the results", file.read() == last)
    done = run("fsreplay", "mix:sfs97-v3", "memory:", "--load", "100-300,100", "--duration", "1s", "-q", "--page", "live.html")
    cases.case("an earlier page is not replaced", done.returncode == 2 and "exists already" in done.stderr, done.stderr)
    done = run("fsreplay", "mix:sfs97-v3", "memory:", "--load", "100-300,100", "--duration", "1s", "-q", "--page", "live.html", "--force")
    with open("live.html", encoding="utf-8") as file:
        text = file.read()
    cases.case("a ramp's page has each load", done.returncode == 0 and all(f"run {i}, memory:, {i}00 calls/s" in text for i in (1, 2, 3)) and "refresh" not in text, done.stderr)
    done = run("fsreplay", "a.zst", "null:", "-q", "--ranks", "2", "--force", "--page", "ranks.html")
    with contextlib.suppress(FileNotFoundError), open("ranks.html", encoding="utf-8") as file:
        text = file.read()
    whole = rows("select issued from run where id = 1")[0][0]
    cases.case("ranks have one page", f'<dt>operations</dt><dd><data value="{whole}"' in text, done.stderr)
    cases.case("nothing else is left", not [f for f in os.listdir() if ".partial" in f])
    before = {place: set(os.listdir(place)) for place in ("/dev/shm", "/tmp")}
    with subprocess.Popen(["fsreplay", "a.zst", "file:killed", "-q", "--scale", "0.2x", "--page", "killed.html"]) as killed:
        while killed.poll() is None and not os.path.exists("killed.html"):
            time.sleep(0.02)
        killed.kill()
    left = {place: [name for name in set(os.listdir(place)) - names if "fsreplay" in name] for place, names in before.items()}
    cases.case("a killed run leaves no files elsewhere", os.path.exists("killed.html") and killed.returncode == -9 and not any(left.values()), left)


def page():
    one = run("fsreplay", "report", "r.sqlite", "--run", "1", "-o", "one.html")
    both = run("fsreplay", "report", "r.sqlite", "-o", "both.html")
    cases.case("pages of one run and of two", one.returncode == both.returncode == 0, one.stderr + both.stderr)
    dom, console = browser("both.html", "--dump-dom")
    cases.case("it loads and the console stays empty", "</html>" in dom and not console, console)
    with open("both.html", encoding="utf-8") as file:
        text = file.read()
    cases.case("nothing is asked of a network, and there is no script", "http" not in text.replace("http-equiv", "") and "<script" not in text)
    cases.case("names stay text", "<img" not in text and "&lt;img src=x" in text)
    with open("one.html", encoding="utf-8") as file:
        first = file.read()
    cases.case("the verdict comes first", first.index("Clean: every operation") < first.index("<svg") and "All 2 runs were clean" in text)
    whole = {c: n for c, n in zip(("issued", "p99"), rows("""select issued, p99_ns from run join distributions on run = id
        where id = 1 and kind = '' and what = 'response'""")[0])}
    cases.case("its numbers are the database's", all(f'<data value="{n}">' in first and (f'<data value="{n}">' in text or c == "issued") for c, n in whole.items()), whole)
    recorded = rows("select count(*) from distributions where run = 1 and what = 'recorded' and kind = 'read'")[0][0]
    cases.case("service stands beside that of the capture", recorded == 1 and re.search(r"<dt>service, p99</dt><dd><data value=\"\d+\">.*?</data><small><span class=\"u\">[\d.]+ .s</span> recorded, ×", first))
    for section in ("time", "distributions", "kinds", "slowest", "mismatches", "limits", "environment"):
        cases.case(f"the page of one run has its {section}", f'id="{section}"' in first)
    for section in ("cases", "curve", "distributions", "kinds", "runs", "environment"):
        cases.case(f"the page of two has their {section}", text.count(f'id="{section}"') == 1)
    cases.case("the page of one run is small", os.path.getsize("one.html") < 200_000, os.path.getsize("one.html"))
    shares = re.findall(r'<path class="s[04]" stroke-width="7" d="([^"]+)"', re.search(r'aria-label="Service in the capture".*?aria-label="Operations by response time"', first, re.S)[0])
    of_rows = [rows(f"select count(distinct bucket) from heat where run = 1 and what = '{what}'")[0][0] for what in ("recorded", "service", "response")]
    cases.case("beside each heat map, each row has its share", len(shares) == 6 and all(0 <= most - path.count("M") <= 8 for most, path in zip(of_rows, shares[::2])), (of_rows, shares))
    slow = first[first.index('id="slowest-table"'):]
    slow = slow[:slow.index("</table>")]
    cases.case("the slowest operations name their files", "alert(1)&gt;/f" in slow and "object " not in slow, slow)
    ids = re.findall(r' id="([^"]+)"', text)
    cases.case("ids are used once, and links lead somewhere", len(ids) == len(set(ids)) and set(re.findall(r'href="#([^"]+)"', text)) <= set(ids))
    for width, shown, hidden in ((390, "phone", "wide"), (1280, "wide", "phone")):
        found = json.loads(probe("both.html", width, f"""const seen = c => [...document.querySelectorAll('.' + c)].filter(e => e.getClientRects().length).length;
              document.title = JSON.stringify([innerWidth, document.documentElement.scrollWidth, seen('{shown}'), seen('{hidden}')])"""))
        cases.case(f"at {width} pixels nothing is cut, and drawings have the form for it",
             found[0] == width and found[1] <= width and found[2] >= 1 and found[3] == 0, found)


def data():
    """What the database has over the time of a run: each operation once, on one grid, and sums that agree."""
    grid = rows("select from_ns, to_ns, due, issued, operations, failed from intervals where run = 1 and kind = '' order by from_ns")
    length = grid[0][1]
    cases.case("intervals have one length and no space between them, but for the last one", all(
        row[0] == i * length and (row[1] == (i + 1) * length or i + 1 == len(grid)) for i, row in enumerate(grid)), (length, grid[:3], grid[-2:]))
    offered = rows("select from_ns, operations from offered where run = 1 order by from_ns")
    common = min(len(offered), len(grid)) - 1
    issued, overdue, done = rows("select issued, overdue, issued - unfinished from run where id = 1")[0]
    cases.case("what was due stands on the same grid", [row[0] for row in offered[:common]] == [row[0] for row in grid[:common]]
               and [row[1] for row in offered[:common]] == [row[2] for row in grid[:common]], (offered[:3], grid[:3]))
    cases.case("what was due, issued and completed adds up to the run's", [sum(row[i] for row in grid) for i in (2, 3)] == [issued + overdue, issued]
               and sum(row[1] for row in offered) == issued + overdue and sum(row[4] + row[5] for row in grid) == done, (issued, overdue, done))
    parts, whole, count = rows("""select sum(operations * (service_mean_ns + waiting_mean_ns + lateness_mean_ns)), sum(operations * response_mean_ns), sum(operations)
        from intervals where run = 1 and kind = ''""")[0]
    cases.case("the means of service, waiting and lateness are those of the response", abs(parts - whole) <= 0.01 * whole + count, (parts, whole))
    cases.case("the parts of an interval are those of made_of", abs(parts - rows("select sum(service_ns + waiting_ns + lateness_ns) from made_of where run = 1")[0][0]) <= 0.01 * parts + count)
    kinds, together = (rows(f"select sum(count), max(max_ns) from distributions where run = 1 and what = 'recorded' and kind {which} ''")[0] for which in ("<>", "="))
    cases.case("recorded times of all kinds stand together", kinds == together and kinds[0] > 0, (kinds, together))
    cases.case("heat maps are bounded", all(n <= 6000 for (n,) in rows("select count(*) from heat group by run, what")))


def long_run():
    """Intervals of a run of many hours are longer, so that their number is bounded: those of ten hours have five seconds."""
    run("timeout", "-s", "INT", "4", "fsreplay", "mix:sfs97-v3", "memory:", "--load", "50", "--duration", "10h", "-q", "--results", "long.sqlite")
    with contextlib.closing(sqlite3.connect("long.sqlite")) as db:
        ends = [end for (end,) in db.execute("select to_ns from intervals where kind = '' order by to_ns")]
    cases.case("a run of ten hours has intervals of five seconds", len(ends) == 1 and ends[0] > 1.1e9, ends)


def table_of(text, name):
    """The exact numbers of each row of a table, by the row's name."""
    table = re.search(rf'<table[^>]* id="{name}".*?</table>', text, re.S)[0]
    found = {}
    for row in table.split("<tr")[2:]:
        head = html.unescape(re.sub("<.*?>", "", re.search(r'<th scope="row".*?>(.*?)</th>', row, re.S)[1]))
        found[head] = [float(value) for value in re.findall(r'<data value="([\d.]+)"', row)]
    return found


def numbers():
    """Every number of the page of one run is the database's."""
    with open("one.html", encoding="utf-8") as file:
        text = file.read()
    of = "from distributions d where d.run = 1"
    expected = {row[0]: list(map(float, row[1:])) for row in rows(f"select what, count, p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns, max_ns, cast(mean_ns as int) {of} and kind = ''")}
    shown = table_of(text, "distribution-table")
    cases.case("distributions are the database's", set(shown) >= {"lateness", "service", "response"} and all(values == expected[what] for what, values in shown.items()), (shown, expected))
    expected = {row[0]: list(map(float, row[1:])) for row in rows(f"select d.kind, issued, differed, p50_ns, p99_ns, max_ns {of.replace('where', 'join kinds k on k.run = d.run and k.kind = d.kind where')} and what = 'service'")}
    shown = table_of(text, "kind-table") | (table_of(text, "kind-table-more") if 'id="kind-table-more"' in text else {})
    cases.case("more than fourteen kinds are folded after the twelfth", len(table_of(text, "kind-table")) == (12 if len(expected) > 14 else len(expected)), len(expected))
    cases.case("so are the kinds, each with its distributions", shown == expected and text.count('<span class="viz">') == len(expected), (shown, expected))
    times = [row[0] for row in rows("select d.kind from distributions d where run = 1 and what = 'service' and kind <> '' order by mean_ns * count desc")]
    cases.case("the kind that took the most time comes first", list(shown) == times, (list(shown), times))
    tiles = dict(re.findall(r'<dt>([^<]*)</dt><dd><data value="([\d.]+)"', text))
    run_row = dict(zip(("operations", "differed", "failed", "time", "data read", "achieved"),
                       rows("select issued, differed, failed, elapsed_ns, bytes_read, achieved_per_s from run where id = 1")[0]))
    cases.case("so are the figures at its top", all(abs(float(tiles["achieved, op/s" if name == "achieved" else name]) - value) < 0.001 for name, value in run_row.items()), (tiles, run_row))
    over_time = {name: values_of(text, "These values as a table", name) for name in
                 ("Operations due, but not yet issued", "Operations a second, achieved", "Service, p99", "Means of the parts of a response, waiting")}
    shown, expected, sum_, done, p99 = {name: [] for name in over_time}, [], 0, [], []
    for start, end, due, issued, operations, service in rows("""select from_ns, to_ns, due, issued, operations, service_p99_ns from intervals
            where run = 1 and kind = '' order by from_ns"""):
        sum_ += due - issued
        expected.append(max(0, sum_))
        done.append(operations * 1e9 / (end - start))
        p99.append(service if operations else None)
        for name, values in over_time.items():
            shown[name].append(values.get(shown_time(start), shown[name][-1] if shown[name] else None))
    cases.case("so is what was due and not issued", [int(n.replace(",", "")) for n in shown["Operations due, but not yet issued"]] == expected, (shown, expected[:9]))
    cases.case("so are the operations a second", all(abs(float(n.replace(",", "")) - value) <= 0.5 for n, value in zip(shown["Operations a second, achieved"], done)), (shown, done[:9]))
    cases.case("so is the service time", [n == "-" for n in shown["Service, p99"]] == [n is None for n in p99] and all(
        n is None or abs(nanoseconds(text) - n) <= 0.006 * n for text, n in zip(shown["Service, p99"], p99)), (shown["Service, p99"], p99))
    columns = rows("select waiting_mean_ns from intervals where run = 1 and kind = '' and operations > 0")
    cases.case("and the means of the parts of responses", len([n for n in shown["Means of the parts of a response, waiting"] if n != "-"]) == len(columns) > 0, (shown, len(columns)))


def decode(line):
    """value: count, of one line of a log."""
    outer = base64.b64decode(line)
    cookie, length = struct.unpack(">II", outer[:8])
    plain = zlib.decompress(outer[8:8 + length])
    inner, size, _, digits, least, _, _ = struct.unpack(">IIIIQQd", plain[:40])
    assert (cookie, inner, least) == (0x1C849314, 0x1C849313, 1), (hex(cookie), hex(inner))
    half = 1 << ((2 * 10 ** digits - 1).bit_length() - 1)
    counts, at, index = {}, 40, 0
    while at < 40 + size:
        number = shift = 0
        for i in range(9):
            byte = plain[at]
            at += 1
            number |= (byte if i == 8 else byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        number = (number >> 1) ^ -(number & 1)
        if number < 0:
            index -= number
            continue
        bucket = max(0, index // half - 1)
        sub = index - bucket * half
        counts[((sub + 1) << bucket) - 1] = number
        index += 1
    return counts


def hdr_files():
    done = run("fsreplay", "report", "r.sqlite", "--run", "1", "-o", "r.hlog")
    cases.case("a log of histograms", done.returncode == 0, done.stderr)
    with open("r.hlog", encoding="ascii") as file:
        lines = dict((line.split(",")[0][4:], line.strip().split(",")[4]) for line in file if line.startswith("Tag="))
    wrong = []
    for kind, what, count, p99 in rows("select kind, what, count, p99_ns from distributions where run = 1"):
        counts = decode(lines[f"{kind}-{what}" if kind else what])
        upto, value = 0, 0
        for value in sorted(counts):
            upto += counts[value]
            if upto >= 0.99 * count:
                break
        if sum(counts.values()) != count or abs(value - p99) > 2 + 0.025 * p99:
            wrong.append((kind, what, count, sum(counts.values()), value, p99))
    cases.case("every histogram has its counts and its percentiles", not wrong, wrong)
    done = run("fsreplay", "report", "r.sqlite", "--run", "1", "-o", "r.hgrm")
    with open("r.hgrm", encoding="ascii") as file:
        text = file.read()
    lines = [[float(word) for word in line.split()] for line in text.splitlines()[2:] if line[0] != "#"]
    issued = rows("select issued, max_ns from run join distributions on run = id where id = 1 and kind = '' and what = 'response'")[0]
    cases.case("percentiles rise to the whole", lines == sorted(lines) and lines[-1][1:] == [1.0, issued[0]] and abs(lines[-1][0] - issued[1] / 1e6) < 0.001
         and f"Total count    = {issued[0]:12}" in text, text[-300:])


def refusals():
    run("fsbench", "lantest", "--percent", "1", "-f", "1", "--results", "other.sqlite", "memory:")
    for name, pattern, command in (
            ("a kept page", "exists already", ("r.sqlite", "-o", "one.html")),
            ("no such run", "holds no run with a number of --run", ("r.sqlite", "--run", "9", "-o", "x.html")),
            ("two runs in one log", "expected one run for a .hgrm or .hlog file, found 2", ("r.sqlite", "-o", "x.hlog")),
            ("a kind that did not occur", "--kind mknod: run 1 of r.sqlite has no such measurements", ("r.sqlite", "--run", "1", "--kind", "mknod", "-o", "x.hgrm")),
            ("an unknown ending", "ends in .html", ("r.sqlite", "-o", "x.pdf")),
            ("a trace", "not a results database", ("a.zst", "-o", "x.html")),
            ("a program of fsbench", "holds only runs of fsbench", ("other.sqlite", "-o", "x.html")),
            ("nothing", "No such file", ("none.sqlite", "-o", "x.html"))):
        done = run("fsreplay", "report", *command)
        cases.case(f"refused: {name}", done.returncode == 2 and pattern in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
    cases.case("and nothing was left behind", not [f for f in os.listdir() if f.startswith("x.")], os.listdir())


with tempfile.TemporaryDirectory(prefix="fsshim-test.", ignore_cleanup_errors=True) as scratch:
    os.chdir(scratch)
    measure()
    data()
    long_run()
    page()
    numbers()
    at_a_glance()
    long_names()
    ended_early()
    many()
    colours()
    paper()
    live()
    hdr_files()
    refusals()
    os.chdir("/")
sys.exit(cases.status())
