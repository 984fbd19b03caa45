#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench compare: what it says of a difference that is known, every program, its outputs, its early end, ^C and bad input."""
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from older_tools import BUILD, FSBENCH, case, failed, run

LITTLE = ["--", "bonnie", "-s", "1:1024", "-f", "-n", "1", "-r", "0", "-u", "root"]


def compare(*words, **options):
    return run(FSBENCH, "compare", "--keep-caches", *words, **options)


def known_difference():
    done = compare("a", "memory:", "--json", "--results", "r.sqlite", "--html", "page.html", *LITTLE)
    result = json.loads(done.stdout)
    creations = next(row for row in result["rows"] if row["name"] == "seq_create")
    against = creations["against"][0]
    case("memory is faster than a directory, as its interval says", against["verdict"] == "B is faster" and against["low"] > 1, against)
    ratios = [b / a for a, b in zip(*creations["rates"])]
    case("the ratio lies among those of the rounds", min(ratios) <= against["ratio"] <= max(ratios), (ratios, against))
    case("nothing is left", not os.listdir("a"), os.listdir("a"))
    with contextlib.closing(sqlite3.connect("r.sqlite")) as database:
        rates = database.execute("select count(*), count(distinct target) from compared_rates where name = 'seq_create'").fetchone()
        verdict = database.execute("select verdict, ratio from compared where name = 'seq_create'").fetchone()
    case("the database has every round and the verdict", rates == (2 * result["rounds"], 2) and verdict == ("B is faster", against["ratio"]),
         (rates, verdict))
    with open("page.html", encoding="utf-8") as page:
        text = page.read()
    case("the page has them", "B is faster" in text and "seq_create" in text and "95 % interval" in text, text[:300])
    case("a page is not overwritten", compare("a", "memory:", "--html", "page.html", *LITTLE).returncode == 2)


def no_difference():
    """Of one thing with itself, most rows can't differ. (One in twenty may by chance.)"""
    done = compare("memory:", "memory:", "memory:", "--rounds", "4", "--json", "--all-rounds", *LITTLE)
    result = json.loads(done.stdout)
    verdicts = [a["verdict"] for row in result["rows"] for a in row["against"]]
    unknown = [v for v in verdicts if v.startswith("no difference that could be told (")]
    case("a target is as fast as itself", len(verdicts) == 20 and len(unknown) >= 13, verdicts)
    case("all rounds were run", result["rounds"] == 4 and all(len(r) == 4 for row in result["rows"] for r in row["rates"]), result["rounds"])


def every_program():
    with open("p.pm", "w", encoding="ascii") as config:
        config.write("set transactions 500\nset location /nowhere\nrun\n")
    run(f"{BUILD}/shim/fsshim", "capture", "a", "-o", "t.zst", "--", "sh", "-c", "for i in 1 2 3 4; do echo $i >a/$i; cat a/$i; rm a/$i; done")
    environment = {**os.environ, "PATH": f"{BUILD}/replay:{os.environ['PATH']}"}
    for program, row in ((["postmark", "p.pm"], "transactions"), (["nhfsstone", "-l", "5000", "-c", "500"], "calls"),
                         (["fsreplay", "t.zst", "--timing", "asap"], "write"), (["fsreplay", "mix:nhfsstone", "--calls", "500"], "read")):
        name = " ".join(program[:2])
        os.mkdir("b")
        done = compare("memory:", "b", "--rounds", "2", "--", *program, env=environment)
        line = next((line for line in done.stdout.splitlines() if line.startswith(row + " ")), "")
        case(f"{name}: has a row with a verdict", done.returncode == 0 and ("B is slower" in line or "could be told" in line), done)
        if program[0] in ("postmark",) or "t.zst" in program:
            case(f"{name}: leaves nothing", not os.listdir("b"), os.listdir("b"))
        shutil.rmtree("b")


def endings():
    done = compare("a", "memory:", "--rounds", "500", "--", "bonnie", "-s", "0", "-n", "1", "-r", "0", "-u", "root", timeout=250)
    said = [line for line in done.stdout.splitlines() if line.startswith("Rounds: ")]
    case("it ends early when every row is decided, and says so", " of 500, as every row is decided" in said[0], done.stdout)
    os.mkdir("c")
    running = subprocess.Popen([FSBENCH, "compare", "--keep-caches", "c", "memory:", "--rounds", "100", "--all-rounds", *LITTLE],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    case("^C: status 1, a line, the rounds so far, nothing left", running.returncode == 1 and "interrupted in round" in err
         and err.count("\n") == 1 and "seq_create" in out and not os.listdir("c"), (running.returncode, err, out))
    os.chmod(".", 0o755)
    for name, words, line in (("one target", ["a", *LITTLE], "fsbench: TARGET: At least 2"),
                              ("no program", ["a", "memory:"], 'fsbench compare: expected a program behind "--"'),
                              ("an unknown program", ["a", "memory:", "--", "fio"], 'fsbench compare: expected a program behind "--"'),
                              ("a target that is not there", ["a", "nowhere", *LITTLE],
                               "fsbench compare: bonnie on nowhere measured nothing: fsbench bonnie: nowhere: No such file"),
                              ("wrong options of the program", ["a", "memory:", "--", "bonnie", "--wrong"],
                               "fsbench compare: bonnie on a measured nothing: fsbench: --wrong")):
        done = compare(*words)
        case(f"{name}: status 2 and a line", done.returncode == 2 and done.stderr.startswith(line) and done.stderr.count("\n") == 1, done)


def main():
    scratch = tempfile.mkdtemp(prefix="fsshim-test.")
    subprocess.run(["mount", "-t", "tmpfs", "none", scratch], check=True)  # alike on every machine
    os.chdir(scratch)
    os.mkdir("a")
    try:
        known_difference()
        no_difference()
        every_program()
        endings()
    finally:
        os.chdir("/")
        subprocess.run(["umount", scratch], check=False)
        os.rmdir(scratch)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
