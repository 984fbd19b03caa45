#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench compare: what it says of a difference that is known, every program, its outputs, its early end, ^C and bad input."""
import contextlib
import json
import math
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import pages  # noqa: E402
from older_tools import BUILD, FSBENCH, case, failed, run, scratch  # noqa: E402

ENVIRONMENT = {**os.environ, "PATH": f"{BUILD}/replay:{os.environ['PATH']}"}
LITTLE = ["--", "bonnie", "-s", "1:1024", "-f", "-n", "1", "-r", "0", "-u", "root"]


def compare(*words, **options):
    return run(FSBENCH, "compare", "--keep-caches", *words, **options)


STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # two-sided 95 %, by rounds


def short(ratio):
    """A ratio as the page has it."""
    return "&lt;0.001" if ratio < 0.001 else "&gt;9,999" if ratio > 9999 else f"{ratio:,.0f}" if ratio >= 1000 else f"{ratio:.3g}"


def outputs():
    """What is said follows from the rates of the rounds, however busy the machine was, and is the same in every form."""
    done = compare("a", "memory:", "--json", "--results", "r.sqlite", "--html", "page.html", *LITTLE)
    result = json.loads(done.stdout)
    times = [row["name"] for row in result["rows"] if row["less_is_better"]]
    case("each row of bonnie has response times, too", len(times) == 3 * (len(result["rows"]) - len(times)), times)
    for row in result["rows"]:
        if row["less_is_better"]:  # rounded to steps, which makes their intervals wider
            continue
        against = row["against"][0]
        logs = [math.log(b / a) for a, b in zip(*row["rates"])]
        width = STUDENT[len(logs)] * statistics.stdev(logs) / math.sqrt(len(logs))
        low, high = math.exp(statistics.fmean(logs) - width), math.exp(statistics.fmean(logs) + width)
        right = "no difference that could be shown (" if not against["decided"] else "B is faster" if low > 1 else "B is slower"
        case(f"{row['name']}: ratio, interval and verdict follow from the rounds",
             math.isclose(against["ratio"], math.exp(statistics.fmean(logs))) and math.isclose(against["low"], low)
             and math.isclose(against["high"], high) and against["verdict"].startswith(right)
             and (not against["decided"] or (low > 1 or high < 1) and against["p"] <= 0.05), row)
    case("nothing is left", not os.listdir("a"), os.listdir("a"))
    verdict = result["rows"][0]["against"][0]["verdict"]
    with contextlib.closing(sqlite3.connect("r.sqlite")) as database:
        count = database.execute("select count(*), count(distinct target) from compared_rates where name = 'put_block'").fetchone()
        places = database.execute("select distinct round, target, place from compared_rates order by round, place").fetchall()
        where = database.execute("select host, kernel, input, (select min(asked) from compared where run = id) from run").fetchone()
        stored = database.execute("select verdict from compared where name = 'put_block'").fetchone()
    case("the database has every round and the verdict", count == (2 * result["rounds"], 2) and stored == (verdict,), (count, stored))
    with open("page.html", encoding="utf-8") as page:
        text = page.read()
    turns = [[target for number, target, _ in places if number == round] for round in sorted({row[0] for row in places})]
    case("the database has the order of each round, its environment and what was asked", all(where) and len(turns) > 1
         and all(a == b[::-1] for a, b in zip(turns, turns[1:])), (where, places))
    wrong = []
    for row in result["rows"]:
        against = row["against"][0]
        ratio, low, high = (short(against[name]) for name in ("ratio", "low", "high"))
        words = f"B takes {ratio} times as long" if row["less_is_better"] else f"B is {ratio} times as fast"
        shown = words if against["decided"] else against["verdict"].replace("no difference that could be shown", "not decided")
        if f" {shown}</bdi><small>" not in text or f"{low} to {high}; sign test" not in text:
            wrong.append((row["name"], shown, low, high))
    case("the page has the verdict of each row, with its ratio and interval", not wrong and "put_block" in text, wrong)
    rates = [row for row in result["rows"] if not row["less_is_better"]]
    decided = [row for row in rates if row["against"][0]["decided"]]
    faster = sum(row["against"][0]["ratio"] > 1 for row in decided)
    counts = f"{faster} faster, {len(decided) - faster} slower. {decided[0]['name']}: B is {short(decided[0]['against'][0]['ratio'])}" if decided else ""
    headline = re.search(r'<p class="v">(.*?)</p>', text)[1]
    case("its headline has the first rate that is decided, and how many there are", f": {counts} times as fast as A (" in headline if decided else "times as" not in headline, headline)
    page_holds(text, result)
    wrong = pages.faults("page.html")
    case("the page: on a phone, a tablet and a desk, no text is cut, small or over another", not wrong, wrong)
    done = compare("a", "memory:", "--html", "page.html", *LITTLE)
    case("a page is not overwritten", done.returncode == 2 and done.stderr == "fsbench compare: page.html: exists already; give --html another name\n", done)


def page_holds(text, result):
    """Each value of each round with its separators, a bar for each row, and the circumstances."""
    case("the page: targets are named in its headings", "<h1>bonnie: B, memory:, against A, a</h1>" in text
         and '<h2 id="against-B-h">B, memory: against A, a</h2>' in text, text[:600])
    bars = re.findall(r'<rect class="box [a-z]+" x="([0-9.]+)"[^>]* width="([0-9.]+)"', text)
    case("the page: a bar for each row, within the picture", len(bars) == len(result["rows"]) and all(float(x) + float(w) <= 100.11 for x, w in bars), bars)
    # Both a bar that is filled and one that is not have an outline in a browser, and a box that is undecided has texts as dark as others.
    with open("probe.html", "w", encoding="utf-8") as file:
        file.write(text.replace("default-src 'none';", "").replace("</body>", """<script>document.title = JSON.stringify(
          [...document.querySelectorAll('rect.box')].map(e => getComputedStyle(e).stroke == 'none').concat(
          [...document.querySelectorAll('.verdict p')].map(e => getComputedStyle(e).color != getComputedStyle(document.body).color)))</script></body>"""))
    dom, _ = pages.browser("probe.html", "--dump-dom")
    faint = re.search("<title>(.*?)</title>", dom)[1]
    case("the page: each bar has an outline, and the verdict is not faint", "true" not in faint and faint.count("false") > len(bars), faint)
    cells = re.findall(r"<td[^>]*>([^<]*)(?=<)", text)
    values = [f"{v:,.0f}" if v >= 100 else f"{v:.2f}" for row in result["rows"] for rates in row["rates"] for v in rates if v >= 1]
    case("the page: the values of each round", all(value in cells for value in values), [v for v in values if v not in cells])
    where = result["environment"]
    case("the page: host, kernel, processor, program and date", all(str(where[key]) in text for key in ("host", "kernel", "cpu", "program", "started")), where)
    case("the page: nothing from elsewhere, no script", "<script" not in text and "://" not in text and "default-src 'none'" in text, text[:300])


def no_difference():
    """Of one thing with itself no row differs, but for one comparison in twenty; rates of so little work are no normal ones."""
    done = compare("memory:", "memory:", "memory:", "--rounds", "4", "--json", "--all-rounds", *LITTLE)
    result = json.loads(done.stdout)
    verdicts = [a["verdict"] for row in result["rows"] for a in row["against"]]
    unknown = [v for v in verdicts if v.startswith("no difference that could be shown (")]
    case("a target is as fast as itself", len(verdicts) == 80 and len(unknown) >= 64, verdicts)
    case("all rounds were run", result["rounds"] == 4 and all(len(r) == 4 for row in result["rows"] for r in row["rates"]), result["rounds"])


def few_rounds():
    """Two rounds decide nothing, also of response times in steps; headline, rows and JSON of a page agree."""
    done = compare("memory:", "memory:", "--rounds", "2", "--all-rounds", "--json", "--html", "two.html", "--", "lantest", "--percent", "1", "-n", "1")
    result = json.loads(done.stdout)
    times = [row["against"][0] for row in result["rows"] if row["less_is_better"]]
    case("two rounds show no difference", times and not any(a["decided"] for row in result["rows"] for a in row["against"]), result["rows"])
    case("no interval is narrower than a step of the times", all(a["high"] / a["low"] > 1.015 for a in times), times)
    wrong = pages.faults("two.html")
    case("no title of a chart is cut, long names included", not wrong, wrong)
    with open("two.html", encoding="utf-8") as page:
        text = page.read()
    case("the headline says so, and how many times are open", re.search(r'<p class="v">. No difference that could be shown.</p>', text)
         and f"Response times not decided: {len(times)}." in text and "requires 3 rounds or more" in text, text[:900])
    case("and counts the rates that it does not name", f", and {len(result['rows']) - len(times) - 6} more below.</p>" in text, text[:1500])


def every_program():
    with open("p.pm", "w", encoding="ascii") as config:
        config.write("set transactions 500\nset location /nowhere\nrun\n")
    done = compare("memory:", "memory:", "--rounds", "1", "--html", "config.html", "--", "postmark", "p.pm")
    case("postmark: locations that the targets replace are named", "--location TARGET, which replaces 'set location /nowhere' of p.pm" in done.stdout, done)
    with open("config.html", encoding="utf-8") as page:
        case("the page has what the program was configured by", "<pre>set transactions 500\nset location /nowhere\nrun\n</pre>" in page.read())
    run(f"{BUILD}/shim/fsshim", "capture", "a", "-o", "t.zst", "--", "sh", "-c", "for i in 1 2 3 4; do echo $i >a/$i; cat a/$i; rm a/$i; done")
    for program, row in ((["postmark", "p.pm"], "transactions"), (["nhfsstone", "-l", "5000", "-c", "500"], "getattr"),
                         (["fsreplay", "t.zst", "--timing", "asap"], "write"), (["fsreplay", "mix:nhfsstone", "--calls", "500"], "read")):
        name = " ".join(program[:2])
        os.mkdir("b")
        done = compare("memory:", "b", "--rounds", "2", "--", *program, env=ENVIRONMENT)
        line = next((line for line in done.stdout.splitlines() if line.startswith(row + " ")), "")
        case(f"{name}: has a row with a verdict", done.returncode == 0 and (" B is " in line or "could be shown" in line), done)
        if program[0] in ("postmark",) or "t.zst" in program:
            case(f"{name}: leaves nothing", not os.listdir("b"), os.listdir("b"))
        shutil.rmtree("b")


def requirements():
    targets, least = ["memory:", "memory:"], "every row >= 1"
    for name, words, met in (("of one target", ["memory:", "--require", least], True),
                             ("too high a rate", ["memory:", "--require", least, "--require", "seq_create > 9e12"], False),
                             ("a ratio", [*targets, "--require", "every row >= 0.0001%"], True),
                             ("too high a ratio", [*targets, "--require", "seq_create >= 10000%"], False)):
        done = compare(*words, "--rounds", "3", *LITTLE)
        case(f"a requirement, {name}: {'met' if met else 'status 3, and what was missed is the last line'}",
             done.returncode == (0 if met else 3) and (met or done.stderr.splitlines()[-1].startswith("required ")), done)
    for name, words, line in (("a row that there is not", "speed >= 1", "--require speed >= 1: no row with this name was measured; rows are put_block, "),
                              ("a time where rates are", "seq_create <= 1", "--require seq_create <= 1: seq_create is a rate, give >=\n")):
        done = compare("memory:", "--require", words, "--rounds", "10000", "--all-rounds", *LITTLE)
        case(f"a requirement, {name}: refused after one round", done.returncode == 2 and done.stderr.startswith(f"fsbench compare: {line}")
             and done.stderr.count("\n") == 1 and not done.stdout, done)


def percentiles_and_loads():
    """A load that both kept is no result; the response times at that load are."""
    for program, row in ((["nhfsstone", "-l", "200", "-c", "800"], "calls"),
                         (["fsreplay", "mix:nhfsstone", "--load", "200", "--calls", "800"], "all")):
        done = compare("memory:", "a", "--rounds", "1", "--json", "--", *program, env=ENVIRONMENT)
        rows = {r["name"]: r for r in json.loads(done.stdout)["rows"]}
        case(f"{program[0]}: an offered load gets no verdict", rows[row]["against"][0]["verdict"] == "offered load, kept by both", rows[row])
        case(f"{program[0]}: response times are compared", all(rows[f"{row} response {p}"]["less_is_better"] and rows[f"{row} response {p}"]["unit"] == "ms"
             for p in ("p50", "p99", "p99.9")), list(rows))
        shutil.rmtree("a")
        os.mkdir("a")
    mix = ["--rounds", "2", "--", "fsreplay", "mix:nhfsstone", "--load", "500", "--calls", "500"]
    for words, met in (("every row <= 1000", True), ("all response p50 <= 1e99%", True), ("all response p99 < 0.000001", False),
                       ("all response p99 <= 0.0001%", False)):
        done = compare("memory:", "memory:", "--require", words, *mix, env=ENVIRONMENT)
        case(f"required '{words}': {'met' if met else 'status 3, and what was missed is the last line'}",
             done.returncode == (0 if met else 3) and (met or done.stderr.splitlines()[-1].startswith("required all response p99")), done)


def refusals():
    for name, targets, program, line in (
            ("a target of the program's own", ["memory:", "a"], ["nhfsstone", "-l", "100", "-c", "100", "a/x"], 'a/x: expected targets before "--" only'),
            ("bonnie in a place of its own", ["memory:", "a"], [*LITTLE[1:], "-d", "a"], 'bonnie -d: expected targets before "--" only'),
            ("vdbench that goes to no target", ["memory:", "a"], ["vdbench", "-", "fsd=f,anchor=a,files=2,size=4k", "fwd=w,fsd=f", "rd=r,fwd=w,elapsed=1"],
             "vdbench: expected $target in the parameter file"),
            ("postmark without CONFIG", ["memory:", "a"], ["postmark", "--streams", "2"], "postmark: expected CONFIG, a file of commands")):
        done = compare(*targets, "--", *program)
        case(f"{name}: refused before anything is measured", done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1
             and done.stderr.startswith(f"fsbench compare: {line}"), done)
    for words, line in ((["postmrk", "--detail", "x"], "fsbench: postmrk: no such subcommand; did you mean postmark?"),
                        (["--detail", "postmrk"], "fsbench: --detail: no such option")):
        done = run(FSBENCH, *words)
        case(f"{' '.join(words)}: what is wrong is named", done.returncode == 2 and done.stderr.startswith(line), done)


def endings():
    # What takes no time at all is faster in everything.
    done = compare("null:", "a", "--rounds", "200", "--", "fsreplay", "mix:nhfsstone", "--calls", "500", timeout=250, env=ENVIRONMENT)
    said = [line for line in done.stdout.splitlines() if line.startswith("Rounds: ")]
    case("it ends early when every rate is decided, and says so", " of 200, as every rate is decided" in said[0], done.stdout)
    os.mkdir("c")
    running = subprocess.Popen([FSBENCH, "compare", "--keep-caches", "c", "memory:", "--rounds", "100", "--all-rounds", *LITTLE],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    seen = set()
    while len(seen) < 2 and running.poll() is None:  # the second is of another round
        seen.update(os.listdir("c"))
        time.sleep(0.002)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    out, err = running.communicate(timeout=60)
    case("^C: status 1, a line, the rounds so far, nothing left", running.returncode == 1 and "interrupted in round" in err
         and err.count("\n") == 1 and "seq_create" in out and not os.listdir("c"), (running.returncode, err, out))
    os.mkdir("first")
    running = subprocess.Popen([FSBENCH, "compare", "--keep-caches", "first", "memory:", "--rounds", "3", "--html", "first.html", "--results", "first.sqlite",
                                "--", "nhfsstone", "-l", "10", "-t", "30"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not os.listdir("first") and running.poll() is None:
        time.sleep(0.002)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    case("^C in the first round: status 2, a line, no page", running.returncode == 2 and not out and not os.path.exists("first.html")
         and err.splitlines()[-1] == "fsbench compare: interrupted in round 1: nothing to report", (running.returncode, err, out))
    os.mkdir("goes")
    running = subprocess.Popen([FSBENCH, "compare", "--keep-caches", "memory:", "goes", "--rounds", "100", "--all-rounds", *LITTLE],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = set()
    while len(seen) < 2 and running.poll() is None:
        seen.update(os.listdir("goes"))
        time.sleep(0.002)
    os.rename("goes", "gone")
    out, err = running.communicate(timeout=60)
    case("a target that goes away: status 1, a line, the rounds so far", running.returncode == 1 and err.count("\n") == 1
         and re.match("fsbench compare: bonnie on goes measured nothing: .*No such file or directory in round [0-9]+\n", err)
         and "seq_create" in out, (running.returncode, err, out))
    os.chmod(".", 0o755)
    for name, words, line in (("no target", LITTLE, "fsbench: TARGET is required"),
                              ("a requirement without a row", ["a", "--require", "fast", *LITTLE], "fsbench: --require fast: expected a row"),
                              ("no program", ["a", "memory:"], 'fsbench compare: expected a program behind "--"'),
                              ("an unknown program", ["a", "memory:", "--", "fio"],
                               'fsbench compare: expected a program behind "--": bonnie, lantest, nhfsstone, postmark, vdbench, fsreplay, '
                               "with its options; or files of --results alone, found 'fio'\n"),
                              ("a target that is not there", ["a", "nowhere", *LITTLE],
                               "fsbench compare: nowhere: No such file"),
                              ("wrong options of the program", ["a", "memory:", "--", "bonnie", "--wrong"],
                               "fsbench compare: bonnie on a measured nothing: fsbench: --wrong")):
        done = compare(*words)
        case(f"{name}: status 2 and a line", done.returncode == 2 and done.stderr.startswith(line) and done.stderr.count("\n") == 1, done)


def main():
    with scratch():
        os.mkdir("a")
        outputs()
        no_difference()
        few_rounds()
        every_program()
        requirements()
        percentiles_and_loads()
        refusals()
        endings()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
