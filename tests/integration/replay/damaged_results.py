#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsreplay report of results databases with numbers that no run has, and of a run with many intervals."""
import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, put_on_path  # noqa: E402

cases = Cases()
put_on_path()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


def measure():
    os.mkdir("share")
    run("fsshim", "capture", "share", "-o", "a.zst", "--", "sh", "-c", "cd share; for i in $(seq 40); do echo $i >f$i; cat f$i; done; sleep 0.3; ls -l")
    for scale in ("1x", "2x"):
        done = run("fsreplay", "a.zst", f"file:tree-{scale}", "-q", "--scale", scale, "--results", "r.sqlite")
        cases.case(f"a run at {scale}", done.returncode == 0, done.stderr)


def damaged():
    """Numbers that no run has make a page, or one line."""
    with contextlib.closing(sqlite3.connect("r.sqlite")) as db:
        tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'") if db.execute(f"select count(*) from {name}").fetchone()[0]]
        columns = [(table, row[1]) for table in tables for row in db.execute(f"pragma table_info({table})") if row[1] not in ("id", "run")]
    wrong, values = [], ("9223372036854775807", "-1", "9e999", "-9223372036854775808", "'text'", "x'00ff'", "null", "-1e300", "0.5", "1e300")
    changes = [(table, f"{column} = {values[i % len(values)]}") for i, (table, column) in enumerate(columns)]
    changes += [(table, ", ".join(f"{column} = {value}" for of, column in columns if of == table)) for table in tables for value in values]
    for number, (table, change) in enumerate(changes):
        shutil.copy("r.sqlite", "damaged.sqlite")
        with contextlib.closing(sqlite3.connect("damaged.sqlite")) as db, db:
            db.execute(f"update {table} set {change}")
        done = run("fsreplay", "report", "damaged.sqlite", *(["--run", "1"] if number % 2 else []), "-o", "damaged.html", "--force")
        if done.returncode == 2 and re.fullmatch("fsreplay report: damaged.sqlite: holds (no run|only runs of fsbench).*\n", done.stderr):
            continue
        with open("damaged.html", encoding="utf-8") as file:
            text = file.read()
        if done.returncode or done.stderr or re.search(r'[ >"(](nan|-?inf)[ <",)]', text) or len(text) > 400_000:
            wrong.append((table, change[:60], done.returncode, done.stderr[:200], len(text), re.findall(r".{20}\b(?:nan|inf)\b.{9}", text)[:2]))
    cases.case(f"{len(changes)} pages of numbers that no run has", not wrong, wrong[:5])


def many_intervals():
    """A run of many intervals has a page of usual size."""
    shutil.copy("r.sqlite", "steps.sqlite")
    with contextlib.closing(sqlite3.connect("steps.sqlite")) as db, db:
        db.execute("delete from intervals")
        db.executemany("""insert into intervals (run, from_ns, to_ns, kind, operations, due, issued, service_p50_ns, service_p99_ns)
            values (1, ?1 * 1000000000, (?1 + 1) * 1000000000, '', 3, 3, 3, 1000, 1000 + ?1)""", [(i,) for i in range(50_000)])
        db.execute("update intervals set due = 5003 where from_ns = 100 * 1000000000")
        db.execute("update intervals set issued = 5003, service_mean_ns = 5000 where from_ns = 101 * 1000000000")
        db.execute("update intervals set service_mean_ns = 1000, operations = 12 where from_ns = 102 * 1000000000")
    done = run("fsreplay", "report", "steps.sqlite", "--run", "1", "-o", "steps.html")
    with open("steps.html", encoding="utf-8") as file:
        text = file.read()
    cases.case("a run of 50,000 intervals has a page of usual size", done.returncode == 0 and len(text) < 600_000 and "Each step has 50 intervals" in text, (done.stderr, len(text)))
    steps = re.findall(r'<tr><th scope="row">([^<]*)</th><td>3<td>3<td>0<td>1 us<td>([\d.]+ us)', text)
    cases.case("whose steps have all their operations and the longest of their times", ("0 s", "1.05 us") in steps and steps[-1][1] == "51 us", steps[:2] + steps[-2:])
    cases.case("and the greatest backlog", re.search(r"<td>5,000<td>1 us<td>", text), re.findall(r"<tr><th.*5,000.*", text)[:2])
    cases.case("and the mean of their means", "1.8 us" in text, re.findall(r"<tr><th[^\n]*5 us[^\n]*", text)[:2])


with tempfile.TemporaryDirectory(prefix="fsshim-test.", ignore_cleanup_errors=True) as scratch:
    os.chdir(scratch)
    measure()
    damaged()
    many_intervals()
    os.chdir("/")
sys.exit(cases.status())
