#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A mix that several processes run: each call done once, as by one process; their numbers in one report, with a row for each; forked and
by mpirun; on servers; ranks that are lost, ^C, what is for one process alone."""
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import BUILD, case, failed, on_servers, run, scratch, targets_of_server  # noqa: E402
from ranks import gone  # noqa: E402

FSREPLAY = os.path.join(BUILD, "replay/fsreplay")
HOST = os.uname().nodename
MIX = ["mix:sfs97-v3", "-q", "--streams", "7", "--seed", "5"]
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "LD_LIBRARY_PATH": os.path.join(BUILD, "replay/cluster")}


def tree(directory):
    """Names and sizes, where sizes are of files."""
    return sorted((os.path.relpath(os.path.join(at, name), directory), os.lstat(os.path.join(at, name)).st_size if name in files else 0)
                  for at, folders, files in os.walk(directory) for name in folders + files)


def document(done):
    return json.loads(done.stdout or '{"issued": 0, "ranks": [], "kinds": {}, "intervals": []}')


def as_by_one():
    one = run(FSREPLAY, *MIX, "one", "--calls", "4003", "--json")
    several = run(FSREPLAY, *MIX, "several", "--calls", "4003", "--json", "--ranks", "3", "--results", "r.sqlite")
    mpi = run("mpirun", "--oversubscribe", "-np", "3", FSREPLAY, *MIX, "mpi", "--calls", "4003", "--json", env=ENV)
    issued = [{kind: n["issued"] for kind, n in document(done)["kinds"].items()} for done in (one, several, mpi)]
    case("the same calls by one, by forked ranks and by mpirun's", issued[0] and issued[0] == issued[1] == issued[2], issued)
    case("all end well", [d.returncode for d in (one, several, mpi)] == [0, 0, 0], (several, mpi))
    case("the same tree", tree("one") == tree("several") == tree("mpi") and len(tree("one")) > 100, len(tree("one")))
    result = document(several)
    case("rows of ranks add up", [row["issued"] for row in result["ranks"]] == [1715, 1144, 1144] and result["issued"] == 4003 and result["image"]["files"] == document(one)["image"]["files"]
         and [row["streams"] for row in result["ranks"]] == [3, 2, 2] and result["streams"] == 7, result["ranks"])
    case("so do the intervals, and the mix", sum(i["operations"] for i in result["intervals"] if not i.get("kind")) == 4003
         and result["mix"]["calls"] == 4003, result["intervals"][:1])
    db = sqlite3.connect("r.sqlite")
    rows = db.execute("select rank, host, issued from ranks order by rank").fetchall()
    case("and those in the database", rows == [(0, HOST, 1715), (1, HOST, 1144), (2, HOST, 1144)], rows)
    db.close()


def sharing_directories():
    shared = ["mix:sfs97-v3", "-q", "--streams", "50", "--directories", "5", "--calls", "5000", "--json"]
    one = document(run(FSREPLAY, *shared, "shared1"))
    done = run(FSREPLAY, *shared, "shared3", "--ranks", "3")
    result = document(done)
    case("shared directories: the same calls by ranks", done.returncode == 0 and result["issued"] == one["issued"] == 5000
         and {kind: n["issued"] for kind, n in result["kinds"].items()} == {kind: n["issued"] for kind, n in one["kinds"].items()}, done)
    case("shared directories: the same tree", tree("shared1") == tree("shared3") and len(os.listdir("shared3")) == 5, os.listdir("shared3"))
    case("shared directories: each is of one rank", [row["streams"] for row in result["ranks"]] == [20, 20, 10], result["ranks"])


def at_a_rate():
    done = run(FSREPLAY, *MIX, "several", "--load", "400-800,400", "--duration", "2s", "--ranks", "2", "--json")
    loads = json.loads(done.stdout or '{"runs": []}')["runs"]
    case("loads are those of all ranks together", [load["asked_per_s"] for load in loads] == [400, 800]
         and all(abs(load["operations"] - 2 * load["asked_per_s"]) <= 2 for load in loads), done)
    done = run(FSREPLAY, *MIX, "several", "--load", "300", "--calls", "300", "--ranks", "2")
    case("a line for each rank", re.search(rf"\nranks +2 on {HOST}\nclocks .*\n(latest .*\n)?rank 0 +17[12] calls, 0 failed, .*{HOST}\nrank 1 +12[89] calls, ", done.stdout), done)


def clocks():
    """Each rank in a time namespace of its own, its clock shifted by another 1000 s."""
    shifted = f'exec unshare --time --fork --monotonic $((OMPI_COMM_WORLD_RANK * 1000)) "{FSREPLAY}" "$@"'
    done = run("mpirun", "--oversubscribe", "-np", "4", "sh", "-c", shifted, "sh", *MIX, "memory:", "--load", "400", "--calls", "400",
               "--results", "clocks.sqlite", env=ENV)
    case("clocks that differ: a line on them, and on what was late", done.returncode == 0
         and re.search(rf"\nclocks +compared to within \S+ .?s, .*; the ranks began within .*\nlatest +\S+ .?s late: an operation of rank \d on {HOST}\n", done.stdout), done)
    db = sqlite3.connect("clocks.sqlite")
    rows = db.execute("select rank, clock_offset_ns, clock_error_ns, clock_drift_ns, start_ns from ranks").fetchall()
    db.close()
    off = [abs(offset - rank * 10**12) - error for rank, offset, error, _, _ in rows]
    case("clocks that differ: known within the error that is told", len(rows) == 4 and max(off) <= 0 and max(row[2] for row in rows) < 10**9, rows)
    case("clocks that differ: no drift, where there is none", all(abs(drift) <= 2 * error for _, _, error, drift, _ in rows), rows)
    # A busy machine starts processes late, but not by what the clocks differ.
    starts = [row[4] for row in rows]
    case("clocks that differ: all begin together", starts and max(starts) - min(starts) < 10**10, rows)


def started(*options, **how):
    run_ = subprocess.Popen([FSREPLAY, *MIX, "several", "--load", "500", "--duration", "100s", "--ranks", "3", *options], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    others = f"/proc/{run_.pid}/task/{run_.pid}/children"
    while len(pids := open(others, encoding="utf-8").read().split()) < 2 or len(os.listdir(f"/proc/{run_.pid}/task")) < 3:
        time.sleep(0.05)
    time.sleep(1)
    return run_, [int(pid) for pid in pids]


def ended_early():
    run_, others = started()
    run_.send_signal(signal.SIGINT)
    out, err = run_.communicate(timeout=60)
    case("^C: the results of all ranks until then", run_.returncode == 1 and "interrupted" in out and out.count("\nrank ") == 3, (out[-500:], err))
    case("^C: no process is left", gone(others))
    # As a shell that has no jobs starts what is to run in the background.
    run_, others = started(preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    run_.send_signal(signal.SIGTERM)
    out, err = run_.communicate(timeout=60)
    case("SIGTERM where SIGINT is ignored: likewise", run_.returncode == 1 and "interrupted" in out and out.count("\nrank ") == 3 and gone(others),
         (out[-500:], err))


def lost():
    """Ranks whose results do not come: those of the others are told, each once."""
    for name, number, which, why, left in (("killed", signal.SIGKILL, [2], f"rank 2 ({HOST}) has ended", [0, 1]),
                                           ("stopped", signal.SIGSTOP, [1], f"rank 1 ({HOST}) sent no heartbeat for 5.00 s", [0, 2]),
                                           ("one of two killed", signal.SIGKILL, [1, 2], f"rank 1 ({HOST}) has ended, rank 2 ({HOST}) has ended", [0])):
        run_, others = started("--patience", "5s", "--json")
        for rank in which:
            os.kill(others[rank - 1], number)
        run_.send_signal(signal.SIGINT)
        out, err = run_.communicate(timeout=120)
        result = json.loads(out or '{"issued": 0, "ranks": [], "intervals": [], "not_clean": [], "gaps": [], "operations_of_lost_ranks": 0}')
        reason = f"{why}: results are those of {len(left)} of 3 ranks"
        case(f"a rank that is {name}: named, status 1", run_.returncode == 1 and reason in result["not_clean"], (out[-500:], err))
        issued = sum(row["issued"] for row in result["ranks"])
        case(f"a rank that is {name}: the results of the others", [row["rank"] for row in result["ranks"]] == left
             and all(row["issued"] > 0 for row in result["ranks"]), result["ranks"])
        case(f"a rank that is {name}: nothing twice", issued == result["issued"] == result["mix"]["calls"]
             == sum(i["operations"] for i in result["intervals"] if not i.get("kind")) - result["operations_of_lost_ranks"],
             (issued, result["issued"], result["operations_of_lost_ranks"]))
        case(f"a rank that is {name}: missing in intervals from then on", [gap["rank"] for gap in result["gaps"]] == which
             and any(line.startswith("intervals that lack a rank: ") for line in result["not_clean"]), (result["gaps"], result["not_clean"]))
        case(f"a rank that is {name}: no process is left", gone(others))


def refused():
    for name, words, line in (("fewer streams than ranks", [*MIX, "m", "--ranks", "8"], "--streams 7: expected at least one for each of 8 ranks"),
                              ("what is for one process", [*MIX, "m", "--ranks", "2", "--dry-run"], "--dry-run: not possible with several ranks; leave --ranks out")):
        done = run(FSREPLAY, *words)
        case(f"{name}: status 2 and a line", done.returncode == 2 and done.stderr == f"fsreplay: rank 0 ({HOST}): {line}\n", done)
    done = run(FSREPLAY, *MIX, "/proc/m", "--ranks", "2", "--calls", "10")
    case("a target that can't be had: status 2 and a line", done.returncode == 2 and done.stderr.startswith(f"fsreplay: rank 0 ({HOST}): ")
         and done.stderr.count("\n") == 1, done)


def on_server():
    for name, url, _ in targets_of_server():
        done = run(FSREPLAY, *MIX, url, "--calls", "1500", "--ranks", "3", "--json")
        result = document(done)
        # Elsewhere a COMMIT, which has no open file, can't be done.
        commits = result["kinds"].get("fsync", {"failed": -1})["failed"]
        case(f"{name}: every call of three ranks", result["issued"] == 1500 == result["matched"] + commits
             and (done.returncode == 0 and commits == 0 or "NFS" not in name), (done.returncode, commits, done.stderr))
        if name == "NFSv3":
            case("NFSv3: the requests of all ranks are counted", abs(result["mix"]["wire_calls"] - 1500) < 150, result["mix"])


def main():
    if sys.argv[1:2] == ["--on-server"]:
        on_server()
        sys.exit(1 if failed else 0)
    with scratch(in_memory=True) as place:
        os.mkdir("tmp")
        ENV["TMPDIR"] = os.path.join(place, "tmp")
        as_by_one()
        sharing_directories()
        at_a_rate()
        clocks()
        ended_early()
        lost()
        refused()
        on_servers(__file__)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
