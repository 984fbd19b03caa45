#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More than one run of an input: --repeat, --find-scale, and options from a file."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, put_on_path  # noqa: E402

cases = Cases()
put_on_path()


def replay(*options):
    return subprocess.run(["fsreplay", *options, "-q"], capture_output=True, text=True, check=False, timeout=100)


def rows(query, file="r.sqlite"):
    with contextlib.closing(sqlite3.connect(file)) as db:
        return db.execute(query).fetchall()


def capture():
    os.mkdir("share")
    subprocess.run(["fsshim", "capture", "share", "-o", "a.zst", "--", "sh", "-c",
                    "cd share; mkdir d; for i in $(seq 60); do echo $i >d/f$i; cat d/f$i; done; sleep 0.5; rm -r d"],
                   check=True, capture_output=True, timeout=60)


def repeat():
    done = replay("a.zst", "file:tree", "--repeat", "3", "--results", "r.sqlite")
    lines = done.stdout.splitlines()
    cases.case("each run has its line, and all their median and spread",
         done.returncode == 0 and [line.split()[0] for line in lines] == ["run", "1", "2", "3", "median", "spread"], done.stdout + done.stderr)
    cases.case("each began with the tree as it was and had every outcome", rows("select series, differed, issued > 500 from run") == [(1, 0, 1)] * 3,
         rows("select series, differed, issued from run"))
    done = replay("a.zst", "memory:", "--repeat", "2", "--json")
    report = json.loads(done.stdout)
    rate = report["repeat"]["achieved_per_s"]
    cases.case("JSON has them, too", len(report["runs"]) == 2 and rate["least"] <= rate["median"] <= rate["most"], rate)


def more_than_it_takes():
    """A load that nobody could issue: what is known only when a run has ended is in each of the files."""
    done = replay("mix:nhfsstone", "memory:", "--load", "5000000", "--duration", "0.5s", "--repeat", "2", "--json", "--results", "much.sqlite",
                  "--metrics", "much.prom")
    runs = json.loads(done.stdout)["runs"]
    overdue = [run["overdue"] for run in runs]
    with open("much.prom", encoding="ascii") as file:
        metrics = file.read()
    cases.case("metrics count what was overdue in all runs",
               all(overdue) and f'\nfsreplay_without_answer_total{{why="overdue"}} {sum(overdue)}\n' in metrics, (overdue, metrics[-500:]))
    due = rows("select run, sum(due) from intervals group by run", "much.sqlite")
    cases.case("intervals of each run have what was due", due == [(1, 2500000), (2, 2500000)], due)


def no_second_run():
    """The file system is filled during the first of two runs, so that the second finds no room for its files."""
    os.mkdir("other")
    with open("other/big", "wb") as file:
        file.write(os.urandom(3 << 20))
    subprocess.run(["fsshim", "capture", "other", "-o", "b.zst", "--", "sh", "-c", "cat other/big >/dev/null; rm other/big; sleep 2; touch other/end"],
                   check=True, capture_output=True, timeout=60)
    for name, options in (("is refused", ()), ("can't be prepared", ("--force",))):
        os.mkdir("small")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5m", "none", "small"], check=True)
        with subprocess.Popen(["fsreplay", "b.zst", "file:small/tree", "--repeat", "2", "--json", "-q", *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as running:
            for there in (True, False):
                while running.poll() is None and os.path.exists("small/tree/big") != there:
                    time.sleep(0.01)
            with contextlib.suppress(OSError), open("small/filler", "wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            out, err = running.communicate(timeout=100)
        subprocess.run(["umount", "small"], check=True)
        os.rmdir("small")
        report = json.loads(out) if out else {}
        got = {name: report.get(name) for name in ("issued", "exit_status", "not_clean")} | {"runs": len(report.get("runs", []))}
        cases.case(f"a second run that {name}: the first is reported, and why there is no second",
                   running.returncode == 1 and "repeat" in report and got["runs"] == 1 and got["issued"] > 0 and got["exit_status"] == 1
                   and any(reason.startswith("no further run could begin: ") for reason in got["not_clean"]) and len(err.splitlines()) == 1,
                   (running.returncode, got, err))


def find_scale():
    os.unlink("r.sqlite")
    done = replay("mix:sfs97-v3", "memory:", "--load", "500", "--duration", "200ms", "--find-scale", "mean < 1s", "--seed", "3", "--json")
    report = json.loads(done.stdout) if done.stdout else {}
    cases.case("a target of memory takes any load that the replayer can make",
         report and report["find_scale"]["holds"] > 4000 and report["find_scale"]["unit"] == "calls/s", done.stderr or report.get("find_scale"))
    done = replay("a.zst", "file:scaled", "--scale", "2x", "--find-scale", "p50 < 3s and errors < 50%", "--duration", "1s", "--results", "r.sqlite",
                  "--cleanup")
    kept = rows("select scale, series from run order by id")
    cases.case("every load that was tried is kept", len(kept) >= 3 and kept[0] == (2, 1) and kept[1] == (4, 1) and {s for _, s in kept} == {1}, kept[:4])
    answer = done.stdout.splitlines()[-1] if done.stdout else ""
    cases.case("the answer is one line", re.match(r"this target takes (more than )?[\d.e+]+ times the captured load.* within p50 < 3s and errors < 50%", answer), answer)
    cases.case("and the tree is cleaned up", os.listdir("scaled") == [], os.listdir("scaled"))
    done = replay("mix:sfs97-v3", "memory:", "--load", "0.01", "--duration", "200ms", "--find-scale", "mean < 1s", "--seed", "3")
    cases.case("a load too small for a call", done.returncode == 1 and "no operation was issued in" in done.stderr, done)
    for name, pattern, options in (
            ("a condition that is none", "expected a condition such as 'p99 < 10ms'", ("a.zst", "memory:", "--find-scale", "fast")),
            ("as fast as possible", "needs --timing original", ("a.zst", "memory:", "--find-scale", "p99 < 1s", "--timing", "asap")),
            ("a mix without a load", "expected a --load", ("mix:laddis", "memory:", "--find-scale", "p99 < 1s")),
            ("a ramp", "expected one load", ("mix:laddis", "memory:", "--load", "1-3,1", "--repeat", "2")),
            ("a recording", "expected one run", ("a.zst", "memory:", "--repeat", "2", "--record", "r.zst"))):
        done = replay(*options)
        cases.case(f"refused: {name}", done.returncode == 2 and pattern in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


def requirements():
    met = ("--require", "p99 < 100s", "--require", "differed == 0")
    done = replay("a.zst", "memory:", *met)
    cases.case("a run that meets what is required", done.returncode == 0 and "required" not in done.stdout, done.stdout + done.stderr)
    done = replay("a.zst", "memory:", *met, "--require", "achieved > 1000000/s")
    last = done.stdout.splitlines()[-1]
    cases.case("one that does not: status 3, and which it is comes last",
               done.returncode == 3 and re.fullmatch(r"required achieved > 1000000/s: achieved is [\d.]+/s", last), done.stdout + done.stderr)
    report = json.loads(replay("a.zst", "memory:", "--require", "max < 1ns", "--json").stdout)
    cases.case("JSON has it, too", report["exit_status"] == 3 and len(report["requirements_missed"]) == 1 and not report["not_clean"], report["not_clean"])
    done = replay("mix:sfs97-v3", "memory:", "--calls", "60", "--require", "p99 < 100s", "--require", "p90 < 100s")
    cases.case("a percentile of too few operations meets nothing", done.returncode == 3
               and done.stdout.splitlines()[-1] == "required p99 < 100s: p99 is unknown: 60 operations, at least 100 are required", done.stdout)
    done = replay("a.zst", "memory:", "--repeat", "2", "--require", "max < 1ns")
    cases.case("of each run", done.returncode == 3 and done.stdout.count("required max < 1ns") == 2, done.stdout)
    with open("disk", "wb") as file:
        file.truncate(64 << 20)
    status = [replay("a.zst", "raw:disk", "--force", *allow).returncode
              for allow in ((), ("--allow", "inexpressible=create"), ("--allow", "inexpressible"))]
    cases.case("what the target can't express may be allowed", status == [4, 4, 0], status)
    for name, pattern, options in (("a requirement that is none", "such as 'p99 < 10ms'", ("--require", "fast")),
                                   ("with --find-scale", "its own condition", ("--require", "p99 < 1s", "--find-scale", "p99 < 1s")),
                                   ("an allowance of something else", "expected inexpressible", ("--allow", "errors")),
                                   ("of no kind", "no such kind of operation", ("--allow", "inexpressible=read,fly"))):
        done = replay("a.zst", "memory:", *options)
        cases.case(f"refused: {name}", done.returncode == 2 and pattern in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)


def config():
    with open("options", "w", encoding="ascii") as file:
        file.write("# of every run\nscale=8x\nduration=10s\njson=true\n")
    report = json.loads(replay("a.zst", "memory:", "--config", "options").stdout)
    cases.case("options come from a file", report["scale"] == 8, report["scale"])
    report = json.loads(replay("a.zst", "memory:", "--config", "options", "--scale", "4x").stdout)
    cases.case("those of the command line go before it", report["scale"] == 4, report["scale"])
    with open("wrong", "w", encoding="ascii") as file:
        file.write("scael=8x\n")
    for name, pattern, path in (("an unknown option", "scael", "wrong"), ("no such file", "nosuch", "nosuch")):
        done = replay("a.zst", "memory:", "--config", path)
        cases.case(f"refused: {name}", done.returncode == 2 and pattern in done.stderr, done.stderr)


with tempfile.TemporaryDirectory(prefix="fsshim-test.") as scratch:
    os.chdir(scratch)
    capture()
    repeat()
    more_than_it_takes()
    no_second_run()
    find_scale()
    requirements()
    config()
    os.chdir("/")
sys.exit(cases.status())
