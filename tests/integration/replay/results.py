#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a replay leaves for those who look at it later: the results database, CSV and Prometheus files that follow the run, the
JSON report, and what is seen while it runs."""
import contextlib
import csv
import json
import os
import pty
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, put_on_path  # noqa: E402

cases = Cases()
put_on_path()


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, **more)


def rows(database, query):
    with contextlib.closing(sqlite3.connect(database)) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(query)]


def make_traces():
    os.mkdir("share")
    done = run("fsshim", "capture", "share", "-o", "a.zst", "--", "sh", "-c",
               "cd share; for i in $(seq 100); do echo $i >f$i; cat f$i; done; sleep 1.2; ls -l")
    cases.case("a trace", done.returncode == 0, done.stderr)


def database():
    first = run("fsreplay", "a.zst", "memory:", "-q", "--results", "r.sqlite", "--label", "before", "--json")
    cases.case("a first run", first.returncode == 0, first.stderr)
    ramp = run("fsreplay", "mix:sfs97-v3", "memory:", "--load", "100-300,100", "--duration", "1s", "--seed", "7", "-q", "--json",
               "--results", "r.sqlite")
    cases.case("a ramp into the same file", ramp.returncode == 0, ramp.stderr)
    runs = rows("r.sqlite", "select * from run order by id")
    cases.case("each load is a run, and none took another's place",
         [(r["id"], r["series"], r["label"], r["asked_per_s"]) for r in runs]
         == [(1, 1, "before", None), (2, 2, "", 100), (3, 2, "", 200), (4, 2, "", 300)], runs)
    for table in ("kinds", "distributions", "histograms", "intervals"):
        have = [r["run"] for r in rows("r.sqlite", f"select distinct run from {table} order by run")]
        cases.case(f"{table} of each", have == [1, 2, 3, 4], have)
    curve = rows("r.sqlite", "select run, asked_per_s, calls from curve where series = 2")
    cases.case("the curve of the ramp", [c["asked_per_s"] for c in curve] == [100, 200, 300] and all(c["calls"] for c in curve), curve)
    sums = rows("r.sqlite", """select run.id, issued, (select sum(operations + failed) from intervals where run = run.id and kind = '') as a,
        (select sum(operations + failed) from intervals where run = run.id and kind <> '') as b,
        (select sum(count) from histograms where run = run.id and kind = '' and what = 'service') as c from run""")
    warm = rows("r.sqlite", """select id, (select sum(count) from heat where run = id and what = 'service') as service,
        (select sum(count) from heat where run = id and what = 'recorded') as recorded,
        (select sum(count) from distributions where run = id and what = 'recorded' and kind = '') as known, issued from run""")
    cases.case("the heat of a run has each operation once, of a trace with its time in the capture",
               all(w["service"] == w["issued"] and w["recorded"] == w["known"] for w in warm) and warm[0]["known"] > 500, warm)
    cases.case("intervals and histograms add up to what was issued", all(s["issued"] == s["a"] == s["b"] == s["c"] for s in sums), sums)
    short = rows("r.sqlite", """select elapsed_ns, (select count(*) from intervals where run = id and kind = '') as rows,
        (select max(to_ns - from_ns) from intervals where run = id and kind = '') as longest from run""")
    cases.case("runs of a second have a hundred intervals, not one", all(r["rows"] >= 0.4 * r["elapsed_ns"] / 10e6 for r in short), short)
    document = json.loads(first.stdout)
    missing = [k for k, v in runs[0].items() if v is not None and k not in ("id", "series", "run_group", "round") and k not in document]
    cases.case("JSON has the same names", not missing, missing)
    columns = set(rows("r.sqlite", "select * from intervals limit 1")[0]) - {"run"}
    cases.case("of intervals too", columns == set(document["intervals"][0]), columns ^ set(document["intervals"][0]))
    every = json.loads(ramp.stdout)["runs"]
    cases.case("JSON of a ramp has each load", [r["asked_per_s"] for r in every] == [100, 200, 300] and all(r["kinds"] for r in every), len(every))
    known = {k: runs[0][k] for k in ("host", "kernel", "cpus", "memory_bytes", "program", "command", "directory", "directory_mount",
                                     "trace_id", "started")}
    cases.case("where and how it ran", all(known.values()) and known["command"].endswith("a.zst memory: -q --results r.sqlite --label before --json"), known)
    cases.case("a mix's seed", runs[1]["seed"] == 7, runs[1]["seed"])
    run("fsreplay", "a.zst", "file:tree", "-q", "--timing", "asap", "--results", "mount.sqlite")
    cases.case("what a directory lies on", rows("mount.sqlite", "select target_mount from run")[0]["target_mount"].count(" ") >= 2,
         rows("mount.sqlite", "select target_mount from run"))

    with sqlite3.connect("foreign.sqlite") as db:
        db.execute("create table mine(a)")
    with sqlite3.connect("other.sqlite") as db:
        db.execute("pragma application_id = 0x66737265")
        db.execute("pragma user_version = 1")
        db.execute("create table run(key, value)")
    for name, word in (("foreign.sqlite", "not a results database"), ("other.sqlite", "another version")):
        before = open(name, "rb").read()
        done = run("fsreplay", "a.zst", "memory:", "-q", "--results", name, "--force")
        cases.case(f"refused: {word}", done.returncode == 2 and word in done.stderr and open(name, "rb").read() == before, done.stderr)
    done = run("fsreplay", "a.zst", "nfs://127.0.0.1:9/x?version=3&nfsport=9&mountport=9", "-q", "--results", "none.sqlite")
    cases.case("a run that does not start leaves no file", done.returncode == 2 and not os.path.exists("none.sqlite"), done.stderr)


def full_disk():
    os.mkdir("small")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", "small"], check=True)
    try:
        with subprocess.Popen(["fsreplay", "a.zst", "memory:", "-q", "--results", "small/r.sqlite", "--metrics", "small/m.prom"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as replay:
            until(lambda: os.path.exists("small/m.prom"))
            with open("small/fill", "wb", buffering=0) as fill:
                try:
                    while True:
                        fill.write(b"x" * 4096)
                except OSError:
                    pass
            output = replay.communicate(timeout=60)[0]
        cases.case("results on a disk that gets full during the run are kept",
             rows("small/r.sqlite", "select count(*) as n from histograms")[0]["n"] > 100, output)
        cases.case("what else could not be written is told", replay.returncode == 1 and "small/m.prom: No space left" in output, output)
    finally:
        subprocess.run(["umount", "small"], check=True)


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def samples(text):
    return {m[1]: float(m[2]) for m in re.finditer(r"^([a-z_]+(?:\{.*?\})?) (\S+)$", text, re.M)}


def node_exporter(text):
    """What Debian's node exporter makes of the files, and whether the dashboard asks for what is in them."""
    os.makedirs("collected/app")
    with open("collected/run.prom", "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run(["fsshim", "capture", "collected/app", "-o", "collected.zst", "--", "sh", "-c",
                    "for i in $(seq 100); do ls collected/app; fsshim list --metrics collected/capture.prom; "
                    "! grep -q ^fsshim_latency_seconds_count collected/capture.prom || break; sleep 0.1; done"], check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with subprocess.Popen(["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                           "--collector.textfile.directory=collected", f"--web.listen-address={address}"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as exporter:
        page = ""

        def answered():
            nonlocal page
            try:
                with urllib.request.urlopen(f"http://{address}/metrics") as reply:
                    page = reply.read().decode()
                return True
            except OSError:
                return False
        until(answered)
        exporter.terminate()
        errors = exporter.stderr.read()
    cases.case("the node exporter takes the files of runs and captures", "\nnode_textfile_scrape_error 0\n" in page, errors[-500:])
    types = dict(re.findall(r"^# TYPE (fs\S+) (\S+)$", page, re.M))
    wrong = [name for name, kind in types.items() if (kind == "counter") != name.endswith("_total") or kind == "untyped"]
    cases.case("with their types", types.get("fsreplay_operations_total") == types.get("fsshim_operations_total") == "counter" and not wrong, types)
    with open(f"{os.path.dirname(os.path.abspath(__file__))}/../../../docs/grafana-dashboard.json", encoding="ascii") as file:
        asked = {name for panel in json.load(file)["panels"] for target in panel.get("targets", [])
                 for name in re.findall(r"\bfs[a-z]+_[a-z_]+", target["expr"])}
    known = {name + suffix for name, kind in types.items() for suffix in (("", "_sum", "_count") if kind == "summary" else ("",))}
    cases.case("the dashboard shows what there is", asked and asked <= known, asked - known)
    bare = {re.sub("_(sum|count)$", "", name) for name in asked}
    cases.case("all of it", set(types) <= bare, set(types) - bare)


def live_files():
    seen, whole = [], True
    command = ["fsreplay", "a.zst", "memory:", "-q", "--csv", "live.csv", "--metrics", "live.prom", "--interval", "300ms", "--json"]
    with open("live.json", "w+", encoding="utf-8") as printed, subprocess.Popen(command, stdout=printed) as replay:
        until(lambda: os.path.exists("live.prom"))
        while replay.poll() is None:
            with open("live.csv", encoding="ascii") as file:
                seen.append(len(file.read().splitlines()))
            with open("live.prom", encoding="ascii") as file:
                whole &= file.read().endswith("# EOF\n")
            time.sleep(0.02)
        printed.seek(0)
        report = json.load(printed)
    cases.case("CSV is written while the run goes on", len({n for n in seen if n > 1}) >= 3, sorted(set(seen)))
    with open("live.csv", encoding="ascii", newline="") as file:
        lines = list(csv.DictReader(file))
    cases.case("CSV has the columns of the intervals", set(lines[0]) - {"round"} == set(report["intervals"][0]), set(lines[0]))
    starts = [int(r["from_ns"]) for r in lines if r["kind"] == ""]
    late = [s for s in starts[1:-1] if s % 300_000_000 > 150_000_000]
    cases.case("intervals begin at multiples of their length, one at each", len(starts) * 300_000_000 >= report["elapsed_ns"] - 900_000_000
               and len(late) <= len(starts) // 4, starts)
    cases.case("and adds up", sum(int(r["operations"]) for r in lines if r["kind"] == "") == report["issued"], report["issued"])
    cases.case("Prometheus text is whole at any moment", whole)
    with open("live.prom", encoding="ascii") as file:
        last = file.read()
    counts = {k: v for k, v in samples(last).items() if k.startswith("fsreplay_operations_total")}
    cases.case("and ends with the totals", counts == {f'fsreplay_operations_total{{kind="{k}"}}': v["issued"] for k, v in report["kinds"].items()}, counts)
    families = re.findall(r"^# TYPE (\S+) (\S+)$", last, re.M)
    strays = [s for s in samples(last) if not any(s.startswith(name) for name, kind in families)]
    cases.case("every sample has its type", not strays and len(families) == len(set(families)), strays)
    node_exporter(last)
    done = run("fsreplay", "mix:sfs97-v3", "memory:", "--load", "max", "--duration", "1s", "-q", "--csv", "mix.csv", "--interval", "250ms")
    with open("mix.csv", encoding="ascii", newline="") as file:
        ends = [int(r["to_ns"]) for r in csv.DictReader(file) if r["kind"] == ""]
    cases.case("intervals of a mix as fast as possible have their length", done.returncode == 0 and ends[:3] == [250_000_000 * i for i in range(1, 4)], ends)
    done = run("fsreplay", "a.zst", "memory:", "-q", "--csv", "live.csv")
    cases.case("an earlier CSV file is not replaced", done.returncode == 2 and "exists already" in done.stderr, done.stderr)


def differences():
    """On a file system too small for what is written."""
    os.mkdir("wide")
    run("fsshim", "capture", "wide", "-o", "wide.zst", "--", "sh", "-c",
        "mkdir wide/d; for i in $(seq 60); do head -c 65536 /dev/zero >wide/d/f$i; done")
    os.mkdir("narrow")
    run("mount", "-t", "tmpfs", "-o", "size=1m", "narrow", "narrow")
    try:
        done = run("fsreplay", "wide.zst", "file:narrow/tree", "-q", "--timing", "asap", "--results", "narrow.sqlite", "--json")
        shutil.rmtree("narrow/tree")
        text = run("fsreplay", "wide.zst", "file:narrow/again", "-q", "--timing", "asap").stdout
    finally:
        run("umount", "narrow")
    report = json.loads(done.stdout)
    groups = rows("narrow.sqlite", "select * from differences")
    cases.case("each outcome that differed is in a group", done.returncode == 1 and report["differed"] > 20
               and sum(group["count"] for group in groups) == report["differed"] and report["differences"] == [
                   {key: value for key, value in group.items() if key != "run"} for group in groups], (report["differed"], groups))
    full = [group for group in groups if (group["kind"], group["expected"], group["got"]) == ("write", "ok", "ENOSPC")]
    cases.case("a group has its times, its first operation and that one's path",
               len(full) == 1 and 0 < full[0]["first_ns"] < full[0]["last_ns"] and re.fullmatch(r"d/f\d+", full[0]["example"])
               and full[0]["first_seq"] == min(m["seq"] for m in report["mismatches"] if m["got"] == "ENOSPC"), full)
    cases.case("single ones have their time and path too",
               all(m["issued_ns"] > 0 and m["name"].startswith("d") for m in report["mismatches"]), report["mismatches"][:3])
    cases.case("the text report lists the groups", re.search(r"\d+ write: recorded ok, got ENOSPC; first: operation \d+ 'd/f", text),
               text[-1500:])


def what_is_seen():
    done = run("fsreplay", "a.zst", "memory:", "--status-interval", "400ms")
    lines = [line for line in done.stderr.splitlines() if line.startswith("replay ")]
    cases.case("lines of progress without a terminal", 2 <= len(lines) <= 20 and "op/s" in lines[0], done.stderr)
    quiet = run("fsreplay", "a.zst", "memory:")
    cases.case("none where nobody asked for them", quiet.stderr == "", quiet.stderr)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp("fsreplay", ["fsreplay", "a.zst", "memory:"])
    shown = b""
    try:
        while piece := os.read(terminal, 4096):
            shown += piece
    except OSError:
        pass
    os.waitpid(pid, 0)
    cases.case("the status line shows latencies and bytes", re.search(rb"replay .* op/s  \S+ \S*B/s  p50 \S+ \S+  p99 \S+ \S+ ", shown), shown[-600:])
    cases.case("the report has recorded beside replayed",
         re.search(r"^read +[\d.]+ .s +[\d.]+ .s +[\d.]+ +[\d.]+ .s +[\d.]+ .s +[\d.]+$", quiet.stdout, re.M), quiet.stdout)


def main():
    with tempfile.TemporaryDirectory(prefix="results-") as scratch:
        os.chdir(scratch)
        make_traces()
        database()
        full_disk()
        live_files()
        differences()
        what_is_seen()
        os.chdir("/")
    return cases.status()


sys.exit(main())
