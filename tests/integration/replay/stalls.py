#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads on NFSv3, NFSv4.1, 9P and AFP while the server or fsreplay itself is stopped: the report names the one that was stopped, what
was not answered in time is part of every figure, and time in which fsreplay stood still is not the server's. All servers at once.

stalls.py [nfs3|nfs4|9p|afp...]
stalls.py --stops N [nfs3|nfs4|9p|afp...]   N stops of 0.1 to 5 s at random times on each server, by hand"""
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server_faults import HERE, PATIENCE, SERVERS, Cases, Scratch, Server, built, ended  # noqa: E402

BEFORE, STOPPED, LOAD, DURATION = 1, 2.0, 200, 4  # seconds; calls a second; seconds
KEYS = ("offered_per_s", "achieved_per_s", "elapsed_ns", "issued", "failed", "unanswered", "overdue", "unfinished", "silent_ns", "stood_still_ns",
        "limited_by", "not_clean", "error", "service", "response", "open")


def stalled(server, name, who, load, lasts, after=0.0, duration=DURATION):
    """(status, report) of a run during which the server or fsreplay is stopped `after` seconds, for `lasts` seconds or (None) until the run
    has ended."""
    url = server.url(name)
    url += ("&" if "?" in url else "?") + f"timeout={3 if lasts is None else PATIENCE}"
    replay = subprocess.Popen([built("replay/fsreplay"), "mix:sfs97-v3", url, "--streams", "4", "--workers", "2", "--seed", "5", "--duration",
                               f"{duration}s", "--load", load, "-q", "--json", "--csv", f"{server.directory}.{name}.csv"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    give_up = time.monotonic() + PATIENCE
    csv = f"{server.directory}.{name}.csv"  # its first interval: the load has begun
    while replay.poll() is None and time.monotonic() < give_up and not (os.path.exists(csv) and len(open(csv, encoding="ascii").readlines()) > 1):
        time.sleep(0.02)
    time.sleep(after)
    stop = replay.send_signal if who == "generator" else server.send
    stop(signal.SIGSTOP)
    try:
        if lasts is None:
            return ended(replay)
        time.sleep(lasts)
    finally:
        stop(signal.SIGCONT)
    return ended(replay)


def beside_server(kind):
    cases, server = Cases(), Server(kind)

    def case(name, fine, status, report):
        cases.case(f"{kind}: {name}", fine, f"status {status}, " + str({key: report[key] for key in KEYS if key in report}))

    status, report = stalled(server, "pause", "server", str(LOAD), STOPPED)
    case("the server is stopped for a while: it is named, and the response says how long",
         "did not answer for" in report["limited_by"] and report["silent_ns"] > 1e9 and report["stood_still_ns"] < 1e9
         and report["response"]["max_ns"] > 1.5e9, status, report)
    for load, name in ((str(LOAD), "at a load"), ("max", "as fast as possible")):
        status, report = stalled(server, f"own-{load}", "generator", load, STOPPED)
        case(f"fsreplay is stopped, {name}: it says so, and does not charge the server",
             status == 1 and report["stood_still_ns"] > 0.8e9 * STOPPED and "load generator itself stood still" in report["limited_by"]
             and any("load generator" in why for why in report["not_clean"]) and report["silent_ns"] == 0
             and report["service"]["max_ns"] < 1e9 * STOPPED, status, report)
    status, report = stalled(server, "hang", "server", str(LOAD), None)
    due = LOAD * DURATION
    case("the server hangs for good: what is due and what is not answered count",
         status == 1 and report["issued"] + report["overdue"] == due and report["overdue"] > due / 4
         and abs(report["offered_per_s"] - LOAD) < 1 and report["elapsed_ns"] >= DURATION * 1e9
         and report["response"]["count"] == due - report["failed"] + report["unanswered"]
         and report["open"]["count"] == report["overdue"] + report["unfinished"] + report["unanswered"]
         and report["achieved_per_s"] < 0.7 * LOAD and report["response"]["p99_ns"] > 1e9
         and any("never issued" in why for why in report["not_clean"]), status, report)
    return cases.status()


def random_stops(kind, number):
    """The one that was stopped is named if the report has a word for so short a time (silence 1 s, generator 0.2 s), the other never is."""
    cases, server, draw = Cases(), Server(kind), random.Random(f"stops of {kind}")
    for i in range(number):
        who, lasts, after = draw.choice(("server", "generator")), draw.uniform(0.1, 5), draw.uniform(0, 2)
        _, report = stalled(server, f"stop{i}", who, str(LOAD), lasts, after, after + lasts + 2)
        said = report["limited_by"] + " ".join(report["not_clean"])
        silent, stood, longest = (report[key] / 1e9 for key in ("silent_ns", "stood_still_ns", "longest_stand_ns"))
        if who == "server":
            fine = "load generator" not in said and stood < 0.2 * lasts and (lasts < 1.2 or silent > 0.7 * lasts and "did not answer" in said)
        else:
            fine = silent == 0 and "did not answer" not in said and (lasts < 0.4 or longest > 0.7 * lasts)
        cases.case(f"{kind}, {i}: the {who} is stopped for {lasts:.2f} s, and it alone is named", fine and report["response"]["max_ns"] > 0.7e9 * lasts,
                   {key: report[key] for key in KEYS if key in report})
    return cases.status()


def main():
    if sys.argv[1:2] == ["--beside"]:
        return random_stops(sys.argv[2], int(sys.argv[3])) if sys.argv[3:] else beside_server(sys.argv[2])
    kinds, number = (sys.argv[3:], sys.argv[2:3]) if sys.argv[1:2] == ["--stops"] else (sys.argv[1:], [])
    with Scratch() as scratch:
        beside = [subprocess.Popen([os.path.join(HERE, "..", "..", "servers", SERVERS[kind][0]), "--dir", f"{scratch.path}/{kind}", __file__,
                                    "--beside", kind, *number], stdin=subprocess.DEVNULL) for kind in kinds or SERVERS]
        return max(server.wait() for server in beside)


if __name__ == "__main__":
    sys.exit(main())
