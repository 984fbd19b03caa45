#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Series of runs that fsbench's programs and fsreplay keep with --results, and fsbench compare of two of them: what was measured is in
the database, the same loads meet, and a difference that is put in is found."""
import contextlib
import json
import os
import re
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import BUILD, FSBENCH, case, failed, run, scratch  # noqa: E402

FSREPLAY = os.path.join(BUILD, "replay", "fsreplay")
POSTMARK = "set number 50\nset transactions 50\nset report terse\nrun\nquit\n"
PROGRAMS = {
    "nhfsstone": (["-l", "2000", "-c", "200", "-p", "2", "a"], "nhfsstone -l 2000 -c 200 -p 2 -m mix:nhfsstone", "calls"),
    "postmark": (["--location", "a", "p.pm"], "postmark number 50 transactions 50", "transactions"),
    "bonnie": (["-d", "a", "-s", "1:1024", "-f", "-n", "1", "-r", "0", "-u", "root", "-q"], "bonnie -s 1:1024 -n 1 -f", "put_block"),
    "nfstest": (["fa", "uK", "m64", "M64", "n1", "R2"], "nfstest uK", "write files of 64Kb"),
    "lantest": (["a", "--percent", "1", "-n", "1"], "lantest, as operations, 1 %", None),
}


def query(file, sql):
    with contextlib.closing(sqlite3.connect(file)) as database:
        return database.execute(sql).fetchall()


def compare(*words):
    return run(FSBENCH, "compare", *words)


def compared(*files):
    done = compare("--json", *files)
    return json.loads(done.stdout) if done.stdout else {"rows": [], "stderr": done.stderr}


def every_program():
    for program, (words, load, row) in PROGRAMS.items():
        file = f"{program}.sqlite"
        done = run(FSBENCH, program, "--results", file, *words)
        runs = query(file, "select id, input, exit_status, elapsed_ns > 0 from run") if os.path.exists(file) else []
        case(f"{program}: each repetition is a run with its load", done.returncode == 0 and len(runs) == (2 if program == "nfstest" else 1)
             and all(r[1].startswith(load) and r[2] == 0 and r[3] for r in runs), (done, runs))
        names = [r[0] for r in query(file, "select name from measured where run = 1 and value > 0")]
        case(f"{program}: its rates are kept", names and (row is None or row in names), names)
        if program == "lantest":
            case("lantest: its tables are kept beside them", query(file, "select count(*) from tests")[0][0] == 12, file)
        shutil.copy(file, "copy.sqlite")
        result = compared(file, "copy.sqlite")
        case(f"{program}: a series beside itself has the ratio 1 in every row", result["rows"]
             and all(abs(r["against"][0]["ratio"] - 1) < 1e-9 and not r["against"][0]["decided"] for r in result["rows"]), result)


def left_out():
    """A row that one of three runs lacks: neither the median nor the lowest is 0."""
    for _ in range(3):
        run(FSBENCH, "postmark", "--location", "a", "p.pm", "--results", "gap.sqlite")
    with contextlib.closing(sqlite3.connect("gap.sqlite")) as database, database:
        database.execute("delete from measured where run = 2 and name = 'transactions'")
    done = compare("gap.sqlite", "--html", "gap.html")
    row = next((line.split() for line in done.stdout.splitlines() if line.startswith("transactions ")), [])
    with open("gap.html", encoding="utf-8") as file:
        page = file.read()
    case("the page's title has the program alone", "<title>postmark: " in page or "<title>postmark on " in page, page[:600])
    cells = re.search(r">transactions</th>.*?(?=<tr|</tbody)", page)[0]
    drawn = re.search(r'<svg [^>]*aria-label="transactions, .*?</svg>', page, re.S)[0]
    case("and no line crosses the round that has none", [part.count("l") for line in re.findall(r'<path class="l [^"]*" d="M([^"]*)"', drawn) for part in line.split("M")] == [0, 0], drawn)
    case("the lowest value is of the rounds that measured a row", len(row) > 3 and all(float(cell) > 0 for cell in row[-3:]) and ">0.0000<" not in cells, (done, cells))


def full_disk():
    """PostMark's report is printed when its database has no room for it."""
    os.mkdir("small")
    run("mount", "-t", "tmpfs", "-o", "size=2m", "none", "small")
    with open("full.pm", "w", encoding="ascii") as file:
        file.write("set number 20\nset transactions 20\nrun\n!dd if=/dev/zero of=small/fill bs=1k count=4000\nrun\nquit\n")
    done = run(FSBENCH, "postmark", "full.pm", "--results", "small/kept.sqlite")
    case("postmark: a database without room costs no report", done.returncode == 1 and done.stdout.count("seconds total") == 2
         and "Error: small/kept.sqlite: " in done.stderr, done)
    run("umount", "small")


def loads():
    """Three runs at each of two loads: the same loads meet, and times that are put in at a tenth are found."""
    for load in ("1000", "4000"):
        for _ in range(3):
            run(FSBENCH, "nhfsstone", "-l", load, "-c", "200", "-p", "2", "--results", "before.sqlite", "memory:")
    shutil.copy("before.sqlite", "after.sqlite")
    with contextlib.closing(sqlite3.connect("after.sqlite")) as database:
        database.execute("update measured set value = value * (0.1 + 0.001 * run) where less_is_better")
        database.commit()
    result = compared("before.sqlite", "after.sqlite")
    rows = {r["name"]: r for r in result["rows"]}
    case("rows are named by what differs between the loads",
         {"-l 1000: calls", "-l 4000: calls", "-l 4000: calls response p99"} <= set(rows), sorted(rows))
    for load in ("1000", "4000"):
        row = rows.get(f"-l {load}: calls response p50")
        case(f"the times at {load} calls/s have three rounds and are decided", row and [len(r) for r in row["rates"]] == [3, 3]
             and row["against"][0]["verdict"].startswith("B is faster"), row)
        row = rows[f"-l {load}: calls"]
        kept = all(rate >= 0.98 * int(load) for rate in row["rates"][0])
        case(f"the load of {load} calls/s is compared unless both kept it", row["against"][0]["verdict"].startswith("offered load") == kept, row)
    kept = query("before.sqlite", "select value from measured join run on run = id where name = 'calls response p50' and input like '%-l 1000 %'"
                                  " order by id")
    case("the values are those of the database", rows["-l 1000: calls response p50"]["rates"][0] == [v[0] for v in kept], kept)
    text = compare("before.sqlite", "after.sqlite").stdout
    case("it says that the runs were not made in turn", "The runs were not made in turn" in text and "6 runs from " in text, text)
    with contextlib.closing(sqlite3.connect("after.sqlite")) as database:
        database.executescript("update measured set value = value * case run % 3 when 0 then 1e-7 when 1 then 1 else 1e7 end where name = 'read'")
    compare("--html", "page.html", "before.sqlite", "after.sqlite")
    with open("page.html", encoding="utf-8") as page:
        text = page.read()
    case("the page shows them", "-l 4000: calls response p99" in text, text[:300])
    case("the headline counts decided times", "No difference that could be shown." not in text and "Response times shorter on B: -l 1000: calls response p50" in text,
         text[:900])
    drawn = " ".join(re.findall(r"<t[dh][^>]*>.*?</small>", text))  # values and their intervals
    case("the widest intervals stay within their column", "&lt;0.001 to &gt;9,999" in drawn and not re.search(r"[0-9]e[+-][0-9]", drawn),
         re.findall(r".{20}[0-9]e[+-][0-9].{10}", drawn))


def replays():
    for file in ("one.sqlite", "two.sqlite"):
        for _ in range(2):
            run(FSREPLAY, "mix:nhfsstone", "memory:", "--load", "2000", "--calls", "200", "-q", "--results", file)
    result = compared("one.sqlite", "two.sqlite")
    rows = {r["name"]: r for r in result["rows"]}
    case("whole runs have no complaints", result["complaints"] == [], result["complaints"])
    shutil.copy("two.sqlite", "cut.sqlite")
    with contextlib.closing(sqlite3.connect("cut.sqlite")) as db, db:
        db.execute("update run set issued = 61, cancelled = operations - 61 where id = 2")
    cut = compared("one.sqlite", "cut.sqlite")["complaints"]
    case("a run that ended early is complained of", cut == ["round 2, cut.sqlite: 61 of 200 operations were issued"], cut)
    case("series of fsreplay are compared, too", {"all", "all response p50", "lookup"} <= set(rows) and len(rows["all"]["rates"][1]) == 2, result)


def refusals():
    done = compare("postmark.sqlite", "bonnie.sqlite")
    case("series without a load in common are refused", done.returncode == 2 and "have no load in common: bonnie" in done.stderr
         and done.stderr.count("\n") == 1, done)
    done = compare("before.sqlite", "memory:")
    case("a series beside a target is refused", done.returncode == 2 and "memory:: No such file" in done.stderr, done)
    done = compare("before.sqlite", "nosuch.sqlite")
    case("a missing file is named", done.returncode == 2 and done.stderr == "fsbench compare: nosuch.sqlite: No such file or directory\n", done)
    for program in PROGRAMS:
        done = run(FSBENCH, program, "--results", "p.pm", *PROGRAMS[program][0])
        case(f"{program}: a file that is no results database is refused", done.returncode in (1, 2) and "not a results database" in done.stderr
             and open("p.pm", encoding="ascii").read() == POSTMARK, done)


def main():
    with scratch():
        os.mkdir("a")
        os.chmod(".", 0o755)
        with open("p.pm", "w", encoding="ascii") as config:
            config.write(POSTMARK)
        every_program()
        left_out()
        full_disk()
        loads()
        replays()
        refusals()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
