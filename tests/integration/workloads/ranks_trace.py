#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace that several processes replay: clones dealt out, or its threads; each operation once, outcomes, tree and totals as of one
process; files that follow the run, its own trace, several runs; on servers; what can't be split, ranks that have another trace."""
import csv
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import BUILD, SOURCE, case, failed, on_servers, run, scratch, targets_of_server  # noqa: E402
from ranks import gone  # noqa: E402

FSREPLAY = os.path.join(BUILD, "replay/fsreplay")
FSTRACE = os.path.join(BUILD, "tools/fstrace")
HOST = os.uname().nodename
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "LD_LIBRARY_PATH": os.path.join(BUILD, "replay/cluster")}
HANDS = """
import os, time
def child(act, *args):
    pid = os.fork()
    if pid == 0:
        act(*args)
        os._exit(0)
    return pid
def put(name, text):
    fd = os.open(name, os.O_CREAT | os.O_WRONLY, 0o644)
    os.write(fd, text.encode())
    os.close(fd)
def get(name):
    fd = os.open(name, os.O_RDONLY)
    text = os.read(fd, 100).decode()
    os.close(fd)
    return text
"""
# Several processes, each in its own files with children that read them, and then one that works with all.
WORK = HANDS + """
def work(d):
    os.mkdir(d)
    for j in range(10):
        put(d + "/t", d + str(j))
        os.rename(d + "/t", d + "/f" + str(j))
        time.sleep(0.005)
        os.waitpid(child(get, d + "/f" + str(j)), 0)
def collect():
    put("all", "".join(get(d + "/f1") for d in sorted(os.listdir("."))))
    os.unlink("d3/f3")
    os.link("d1/f1", "linked")
for pid in [child(work, "d" + str(i)) for i in range(6)]:
    os.waitpid(pid, 0)
time.sleep(0.3)
os.waitpid(child(collect), 0)
"""
# Two processes that take turns with one name.
MIXED = """
import os
go, come = os.pipe(), os.pipe()
if os.fork():
    for i in range(60):
        os.mkdir("d")
        os.write(go[1], b"x")
        os.read(come[0], 1)
    os.wait()
else:
    for i in range(60):
        os.read(go[0], 1)
        os.rmdir("d")
        os.write(come[1], b"x")
"""
# Each step by a process of its own, and the next a little later: they rename, link and remove what others made and go on using.
MOVES = HANDS + """
def step(act, *args):
    os.waitpid(child(act, *args), 0)
    time.sleep(0.04)
def add(name, text):
    fd = os.open(name, os.O_WRONLY | os.O_APPEND)
    os.write(fd, text.encode())
    os.close(fd)
def move(d):
    step(os.mkdir, d)
    for i in range(3):
        step(put, d + "/f", d)
        if links:
            step(os.link, d + "/f", d + "/g")
        step(os.rename, d + "/f", d + "/h" + str(i))
        if links:
            step(os.unlink, d + "/g")
        step(get, d + "/h" + str(i))
        step(add, d + "/h" + str(i), "more")
        step(os.mkdir, d + "/e")
        step(put, d + "/e/a", d)
        step(os.rename, d + "/e", d + "/k" + str(i))
        step(get, d + "/k" + str(i) + "/a")
        step(add, d + "/k" + str(i) + "/a", "more")
top = "links" if links else "plain"
os.mkdir(top)
os.chdir(top)
for pid in [child(move, "d" + str(i)) for i in range(4)]:
    os.waitpid(pid, 0)
text = "".join(get(d + "/h1") + get(d + "/k1/a") for d in sorted(os.listdir(".")))
time.sleep(0.3)
step(put, "all", text)
"""
# Four processes that look at a device in the directory of the next. An unprivileged target can't make devices.
DEVICES = HANDS + """
def work(d, other):
    os.mkdir(d)
    for k in range(40):
        put(d + "/f" + str(k), d)
    os.mknod(d + "/device", 0o20644, os.makedev(1, 7))
    time.sleep(0.5)
    os.stat(other + "/device")
    for k in range(40):
        get(d + "/f" + str(k))
for pid in [child(work, "e" + str(i), "e" + str((i + 1) % 4)) for i in range(4)]:
    os.waitpid(pid, 0)
"""
# Two processes that write to one file and rename to one name, the second after the first.
OVERWRITES = HANDS + """
def over(text, first):
    if first:
        for k in range(300):
            put(text + str(k), text)
    for name, at in ("x", 0), ("y", 4000):
        fd = os.open(name, os.O_WRONLY)
        os.pwrite(fd, text.encode() * 100, at)
        os.close(fd)
    put(text, text)
    os.rename(text, "z")
first = child(over, "first", True)
os.waitpid(first, 0)
time.sleep(0.5)
os.waitpid(child(over, "later", False), 0)
"""


def captured(trace, script, *interpreter):
    os.makedirs("share", exist_ok=True)
    done = run(os.path.join(BUILD, "shim/fsshim"), "capture", "share", "-o", trace, "--content", "full", "--", *(interpreter or ("sh", "-c")),
               f"cd share; {script}" if not interpreter else f"import os; os.chdir('share')\n{script}")
    if done.returncode:
        raise RuntimeError(f"{trace}: {done.stderr}")


def replay(trace, *options, **more):
    return run(FSREPLAY, trace, *options, "-q", **more)


def document(done):
    return json.loads(done.stdout or '{"issued": -1, "matched": 0, "ranks": [], "kinds": {}, "intervals": [], "image": {}, "split": {"cut": 0, "waits": 1}}')


def issued(report):
    return {kind: n["issued"] for kind, n in report["kinds"].items()}


def alike(name, one, other):
    done = run(f"{SOURCE}/tests/apps/compare-trees", "--content", "--ignore", ".fsreplay", one, other)
    case(name, done.returncode == 0, done.stdout[-500:])


def clones():
    one = document(replay("app.zst", "one", "--clones", "5", "--json"))
    done = replay("app.zst", "several", "--clones", "5", "--json", "--ranks", "3", "--results", "r.sqlite")
    several = document(done)
    mpi = document(run("mpirun", "--oversubscribe", "-np", "2", FSREPLAY, "app.zst", "mpi", "--clones", "5", "--json", "-q", env=ENV))
    case("clones: the same operations by one, by forked ranks and by mpirun's", one["issued"] > 500 and issued(one) == issued(several) == issued(mpi),
         (one["issued"], several["issued"], mpi["issued"], done.stderr))
    case("clones: every outcome as recorded", done.returncode == 0 and several["matched"] == several["issued"], several.get("not_clean"))
    case("clones: totals of one process", several["image"] | {"elapsed_ns": 0, "kept": 0} == one["image"] | {"elapsed_ns": 0, "kept": 0}
         and several["streams"] == one["streams"] and sum(row["issued"] for row in several["ranks"]) == several["issued"], (one["image"], several["image"]))
    case("clones: dealt out in turn", [row["issued"] for row in several["ranks"]] == [one["issued"] * n // 5 for n in (2, 2, 1)], several["ranks"])
    alike("clones: the tree of one process", "one", "several")
    alike("clones: the tree of one process, by mpirun", "one", "mpi")
    again = document(replay("app.zst", "several", "--clones", "5", "--json", "--ranks", "3", "--reuse"))
    case("clones: taken over by --reuse", again["matched"] == again["issued"] == one["issued"] and again["image"]["files"] == one["image"]["files"], again.get("not_clean"))
    case("clones: on memory, which each rank has", document(replay("app.zst", "memory:", "--clones", "2", "--json", "--ranks", "2"))["matched"] == one["issued"] * 2 // 5)
    with sqlite3.connect("r.sqlite") as db:
        rows = db.execute("select rank, host, issued from ranks order by rank").fetchall()
    case("clones: a row for each rank in the database", [row[:2] for row in rows] == [(rank, HOST) for rank in range(3)], rows)


def split_well(name, done, one, ranks):
    report = document(done)
    case(f"{name}: each operation once", issued(report) == issued(one) and len(report["ranks"]) == ranks
         and all(row["issued"] > 0 for row in report["ranks"]), (report["issued"], one["issued"], done.stderr[-300:]))
    case(f"{name}: every outcome as recorded, status 0", done.returncode == 0 and report["matched"] == report["issued"],
         (done.returncode, report.get("not_clean"), report.get("mismatches", [])[:3]))
    case(f"{name}: what was cut is counted, what others made looked up", 0 < report["split"]["cut"] < report["split"]["waits"] / 4
         and report["split"]["looked_up"] > 3 and report["split"]["first_cut"] and report["streams"] == one["streams"]
         and [share["operations"] for share in report["split"]["shares"]] == [row["issued"] for row in report["ranks"]], report.get("split"))


def split():
    one = document(replay("app.zst", "whole", "--json"))
    for name, ranks, command in (("split over forked ranks", 3, [FSREPLAY, "app.zst", "forked", "--ranks", "3"]),
                                 ("split by mpirun", 2, ["mpirun", "--oversubscribe", "-np", "2", FSREPLAY, "app.zst", "launched"])):
        split_well(name, run(*command, "--json", "-q", env=ENV), one, ranks)
    alike("split over forked ranks: the tree of one process", "whole", "forked")
    alike("split by mpirun: the tree of one process", "whole", "launched")
    done = run(FSREPLAY, "app.zst", "told", "--ranks", "2", "--scale", "2x", "--status-interval", "100ms")
    text = done.stdout
    case("split: the line of progress names whose it is", "rank 0 " in done.stderr and "replay " not in done.stderr, done.stderr[-300:])
    case("split: a line for each rank counts operations", len(re.findall(rf"^rank [01] +[\d,]+ operations, [\d,]+ failed, .*; {HOST}$", text, re.M)) == 2, text)
    case("split: the report says how", re.search(r"\nsplit +over 2 ranks: \S+ % of waits cut \(\d+ of [\d,]+\), \d+ lookups of objects that other ranks created or renamed, largest share [56]\d % of the load\n"
                                                 r"cut +\w+ (\S+ )?of thread \d+ \(\S+\) waits for \w+ of thread \d+", text), text[:900])


def moved():
    captured("links.zst", "links = True" + MOVES, sys.executable, "-c")
    alone = replay("links.zst", "unmoved", "--json")
    case("renamed by others: by one process as recorded", alone.returncode == 0, alone.stderr)
    for ranks in 2, 4:
        report = document(done := replay("links.zst", f"moved{ranks}", "--scale", "0.5x", "--ranks", str(ranks), "--force", "--json"))
        case(f"renamed by others: by {ranks} ranks as recorded", done.returncode == 0 and report["matched"] == report["issued"] == document(alone)["issued"]
             and report["streams"] == document(alone)["streams"] and report["split"]["looked_up"] > 3, (report.get("not_clean"), report.get("mismatches", [])[:4]))
        alike(f"renamed by others: the tree of one process, by {ranks}", "unmoved", f"moved{ranks}")


def left_out():
    captured("devices.zst", DEVICES, sys.executable, "-c")
    reports = [document(replay("devices.zst", f"devices{ranks}", "--ranks", str(ranks), "--force", "--json")) for ranks in (1, 4)]
    one, four = [{key: report.get(key) for key in ("differed", "followed", "followed_from", "exit_status", "mismatches")} for report in reports]
    case("what an operation that another rank can't do entails is no difference", one == four and one["followed"] >= 4 and one["exit_status"] == 4
         and "mknod device" in one["followed_from"], (one, four))


def swapped():
    """Changes that the final tree shows and no outcome does: told when ranks made them in another order."""
    os.makedirs("share", exist_ok=True)
    for name in "x", "y":
        with open(f"share/{name}", "wb") as file:
            file.write(bytes(8192))
    captured("over.zst", OVERWRITES, sys.executable, "-c")
    kept = document(done := replay("over.zst", "kept", "--scale", "0.5x", "--ranks", "2", "--force", "--json"))
    case("changes of two ranks that the schedule keeps in order", done.returncode == 0 and kept["split"]["ordered"] == 3
         and kept["split"]["not_in_order"] == 0, (kept.get("not_clean"), kept.get("split")))
    lost = document(done := replay("over.zst", "lost", "--ranks", "2", "--force", "--timing", "asap", "--json"))
    case("changes of two ranks in another order: told, status 1", done.returncode == 1 and lost["split"]["not_in_order"] >= 2
         and lost["matched"] == lost["issued"]
         and any(re.fullmatch(r"[23] changes did not surely follow an earlier change of another rank, so the trees may differ: operation \d+ "
                              r"\(\w+\) after \d+ \(\w+\), …", why) for why in lost["not_clean"]), (done.returncode, lost.get("not_clean"), lost.get("split")))
    differ = run(f"{SOURCE}/tests/apps/compare-trees", "--content", "--ignore", ".fsreplay", "kept", "lost")
    case("changes of two ranks in another order: the trees do differ", differ.returncode != 0, differ.stdout)


def compiled():
    """A parallel make, whose linker reads what all compilers wrote."""
    run(f"{SOURCE}/tests/apps/make-input", "input")
    run("sh", "-c", "mkdir -p share && cp -a input/src/lib input/src/main.c input/src/Makefile share")
    captured("make.zst", "make -s -j3 main.o $(ls lib/*.c | sed s/c$/o/); sleep 0.5; make -s prog && sleep 0.5 && ./prog >printed")
    one = document(replay("make.zst", "made", "--scale", "0.5x", "--json"))
    split_well("make -j3, split over four ranks", replay("make.zst", "remade", "--scale", "0.5x", "--ranks", "4", "--json"), one, 4)
    alike("make -j3: the tree of one process", "made", "remade")


def followed():
    done = replay("app.zst", "followed", "--ranks", "3", "--csv", "f.csv", "--metrics", "f.prom", "--interval", "300ms", "--record", "f.zst", "--json")
    report = document(done)
    with open("f.csv", encoding="ascii") as file:
        rows = [row for row in csv.DictReader(file) if not row["kind"]]
    case("CSV of all ranks, in order", sum(int(row["operations"]) for row in rows) == report["issued"] and len(rows) >= 2
         and [int(row["from_ns"]) for row in rows] == sorted(int(row["from_ns"]) for row in rows), (rows, done.stderr))
    with open("f.prom", encoding="ascii") as file:
        counted = sum(int(float(n)) for n in re.findall(r'^fsreplay_operations_total\{kind="\w+"\} (\S+)$', file.read(), re.M))
    case("metrics of all ranks", counted == report["issued"], counted)
    checked = run(FSTRACE, "verify", "f.zst")
    compared = run(FSTRACE, "compare", "app.zst", "f.zst")
    case("--record: one trace of all ranks, whole", checked.returncode == 0 and not [name for name in os.listdir() if name.startswith("f.zst.")], checked)
    case("--record: with what was captured", compared.returncode == 0, compared.stdout[-600:] + compared.stderr)
    again = document(replay("f.zst", "again", "--json"))
    case("--record: and it replays", again["matched"] == again["issued"] == report["issued"], again.get("not_clean"))
    done = run(FSREPLAY, "mix:sfs97-v3", "mixed", "--streams", "4", "--calls", "900", "--ranks", "3", "--record", "m.zst", "-q", "--json")
    kept = run(FSTRACE, "info", "m.zst").stdout
    case("--record: a mix of several ranks", done.returncode == 0 and run(FSTRACE, "verify", "m.zst").returncode == 0 and re.search(r"^operations +900\b", kept, re.M), (done, kept))


def several_runs():
    done = replay("app.zst", "rerun", "--ranks", "2", "--repeat", "2", "--cleanup", "--scale", "2x")
    case("--repeat: a line for each run", done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()] == ["run", "1", "2", "median", "spread"], done)
    case("--cleanup: nothing is left", os.listdir("rerun") == [], os.listdir("rerun"))
    done = run(FSREPLAY, "mix:sfs97-v3", "memory:", "--streams", "2", "--load", "500", "--duration", "200ms", "--find-scale", "mean < 1s", "--ranks", "2", "-q", "--json")
    answer = json.loads(done.stdout or '{"find_scale": {}}')["find_scale"]
    case("--find-scale: the load of all ranks", answer.get("holds", 0) > 4000 and answer["unit"] == "calls/s", (answer, done.stderr))


def lost_between():
    """A rank that ends while the next load of a ramp is made ready: the loads before it are told."""
    ramp = subprocess.Popen([FSREPLAY, "mix:sfs97-v3", "ramp", "--streams", "4", "--load", "100-900,100", "--duration", "1s", "--ranks", "2", "-q"],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ramp.stdout.readline()
    first = ramp.stdout.readline()
    with open(f"/proc/{ramp.pid}/task/{ramp.pid}/children", encoding="utf-8") as file:
        other = [int(pid) for pid in file.read().split()]
    os.kill(other[0], signal.SIGKILL)
    out, err = ramp.communicate(timeout=60)
    case("a rank lost in a ramp: named, status 1, what was measured is kept", ramp.returncode == 1 and first.strip().startswith("100")
         and f"rank 1 ({HOST}) has ended" in out + err and len(out.splitlines()) < 5, (ramp.returncode, first, out, err))
    case("a rank lost in a ramp: no process is left", gone(other))


def refused():
    captured("single.zst", "echo a >a; cat a")
    captured("alone.zst", ": >a; : >b")
    captured("mixed.zst", MIXED, sys.executable, "-c")
    for name, words, pattern in (
            ("fewer clones than ranks", ["app.zst", "m", "--clones", "2", "--ranks", "3"], "--clones 2: expected at least one for each of 3 ranks"),
            ("memory, which ranks don't share", ["app.zst", "memory:", "--ranks", "2"], "memory: ranks can't share this target, which exists in one process; use another target or one rank"),
            ("standard input", ["-", "m", "--ranks", "2"], "-: not possible with several ranks; leave --ranks out")):
        done = replay(*words)
        case(f"refused: {name}", done.returncode == 2 and done.stderr == f"fsreplay: rank 0 ({HOST}): {pattern}\n", done)
    done = replay("alone.zst", "few", "--ranks", "3")
    case("fewer groups of threads than ranks: ranks without work are reported", done.returncode == 0
         and "idle       2 of 3 ranks: the trace has no more groups" in done.stdout, done)
    done = replay("mixed.zst", "m", "--ranks", "2")
    case("refused: more than a quarter of the waits would be cut", done.returncode == 2 and re.search(
        r"mixed.zst: split over 2 ranks, \d\d % of the waits between operations would be lost, more than 25 % \(first: .*\); use fewer ranks or --clones, or give --force", done.stderr), done)
    done = replay("mixed.zst", "m", "--ranks", "2", "--force", "--json")
    report = document(done)
    case("with --force it is split all the same, and differences are told", done.returncode in (0, 1, 4) and report["issued"] >= 120
         and report["split"]["cut"] > report["split"]["waits"] / 4, done.stderr)
    for rank, trace in enumerate(("app.zst", "single.zst")):
        os.mkdir(f"host{rank}")
        os.link(trace, f"host{rank}/t.zst")
    done = run("mpirun", "--oversubscribe", "-np", "2", "sh", "-c", 'cd host$OMPI_COMM_WORLD_RANK; exec "$0" "$@"', FSREPLAY, "t.zst", "null:", "--clones", "2", "-q", env=ENV)
    case("refused: another trace on a host", done.returncode == 2 and re.search(
        rf"fsreplay: rank 1 \({HOST}\): t.zst: trace \S+ of \d+ bytes here, but rank 0 \({HOST}\) has trace \S+ of \d+ bytes", done.stderr), done)


def on_server():
    captured("app.zst", WORK, sys.executable, "-c")
    captured("links.zst", "links = True" + MOVES, sys.executable, "-c")
    captured("plain.zst", "links = False" + MOVES, sys.executable, "-c")
    one = {kind: n["issued"] for kind, n in document(replay("app.zst", "null:", "--timing", "asap", "--json"))["kinds"].items()}
    for name, url, directory in targets_of_server():
        for how, times, options in (("a trace by three ranks", 1, ("--ranks", "3")), ("clones by two", 4, ("--clones", "4", "--ranks", "2"))):
            report = document(done := replay("app.zst", url, *options, "--json", "--force"))
            done_once = {kind: n["issued"] + n["impossible"] for kind, n in report["kinds"].items()}
            case(f"{name}: {how}: each operation once", done_once == {kind: n * times for kind, n in one.items()}, (done_once, done.stderr[-300:]))
            case(f"{name}: {how}: every outcome as recorded", report["differed"] == 0 and report["matched"] == report["issued"] > 400,
                 (report.get("not_clean"), report.get("mismatches", [])[:4]))
            run("sh", "-c", f"rm -rf {directory}/* {directory}/.fsreplay")
        report = document(done := replay("plain.zst" if name == "AFP" else "links.zst", url, "--scale", "0.5x", "--ranks", "3", "--json", "--force"))
        case(f"{name}: what other ranks rename: every outcome as recorded", done.returncode == 0 and report["matched"] == report["issued"] > 400,
             (report.get("not_clean"), report.get("mismatches", [])[:4]))
        run("sh", "-c", f"rm -rf {directory}/* {directory}/.fsreplay")


def main():
    if sys.argv[1:2] == ["--on-server"]:
        with scratch():
            on_server()
        sys.exit(1 if failed else 0)
    with scratch(in_memory=True) as place:
        os.mkdir("tmp")
        ENV["TMPDIR"] = os.path.join(place, "tmp")
        captured("app.zst", WORK, sys.executable, "-c")
        clones()
        split()
        moved()
        left_out()
        swapped()
        compiled()
        followed()
        several_runs()
        lost_between()
        refused()
        on_servers(__file__)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
