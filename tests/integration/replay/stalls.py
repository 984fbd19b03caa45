#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads on NFSv3, NFSv4.1, 9P and AFP while the server hangs, pauses, is slow, refuses, gets full or is killed, or fsreplay itself is
stopped: the report names the one that was stopped, what was not answered in time is part of every figure, and time in which fsreplay
stood still is not the server's. tcpdump's record of the wire says what happened. All servers at once.

stalls.py [--table] [nfs3|nfs4|9p|afp...]   with the wire beside the report, as in docs/results.md
stalls.py --stops N [nfs3|nfs4|9p|afp...]   N stops of 0.1 to 5 s at random times on each server, by hand"""
import contextlib
import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server_faults import HERE, PATIENCE, SERVERS, Cases, Scratch, Server, built, ended, run  # noqa: E402
from wire_count import messages, recorded  # noqa: E402

STOPPED, LOAD, DURATION = 2.0, 200, 4  # seconds; calls a second; seconds
TOO_MUCH = 25 * LOAD  # calls a second: three times what a server does that runs for a fifth of the time
READ = 200_000  # bytes that a program has read when its load is certain to have begun
KEYS = ("offered_per_s", "achieved_per_s", "elapsed_ns", "issued", "failed", "unanswered", "overdue", "unfinished", "silent_ns", "stood_still_ns",
        "limited_by", "not_clean", "error", "service", "response", "open")


class Wire:
    """Requests and replies in tcpdump's record, whatever they ask, of the time in which a load went on."""

    def __init__(self, kind, path, port, since, until):
        self.requests, self.waits, self.silence = 0, [], 0
        asked, quiet_since = {}, None
        for when, source, to, _, (_, tag, is_request, is_reply) in messages(kind, path):
            if when > until:
                break
            if to == port and is_request and when >= since:
                quiet_since = quiet_since if asked else when
                asked[source, tag] = when
                self.requests += 1
            elif source == port and is_reply and (to, tag) in asked:
                self.waits.append(when - asked.pop((to, tag)))
                self.silence = max(self.silence, when - quiet_since)
                quiet_since = when
        self.open = len(asked)
        if asked:
            self.silence = max(self.silence, until - quiet_since)
        self.longest = max(self.waits, default=0)


def shown(name, kind, wire, status, report):
    """A line of the table."""
    def ms(key):
        bound = "> " if report["open"]["count"] > (0.01 if key == "p99_ns" else 0) * report["response"]["count"] else ""
        return f"{bound}{report['response'][key] / 1e6:.0f}"
    cells = (name, kind, len(wire.waits), wire.open, f"{wire.longest * 1e3:.0f}", f"{wire.silence:.2f}", report["issued"], report["overdue"],
             report["unfinished"] + report["unanswered"], report["failed"], f"{report['achieved_per_s']:.0f}", ms("p99_ns"), ms("max_ns"),
             f"{report['silent_ns'] / 1e9:.2f}", f"{report['stood_still_ns'] / 1e9:.2f}", status)
    print("|", " | ".join(str(cell) for cell in cells), "|", flush=True)


@contextlib.contextmanager
def stopped(who, lasts):
    """For `lasts` seconds, or (None) until the block has ended."""
    who(signal.SIGSTOP)
    try:
        if lasts is not None:
            time.sleep(lasts)
            who(signal.SIGCONT)
        yield
    finally:
        who(signal.SIGCONT)


@contextlib.contextmanager
def slowed(server):
    over = threading.Event()

    def slow():
        while not over.wait(0.005):
            server.send(signal.SIGSTOP)
            time.sleep(0.02)
            server.send(signal.SIGCONT)
    thread = threading.Thread(target=slow)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def refused(place):
    for change in (["chown", "-R", "root"], ["chmod", "-R", "u=,g=,o="]):  # the load may remove a file before its turn comes
        subprocess.run([*change, place], capture_output=True, check=False)
    yield


@contextlib.contextmanager
def filled(place):
    """No block is free, and files have none: each write needs some."""
    for directory, _, files in os.walk(place):
        for file in (os.path.join(directory, name) for name in files):
            with contextlib.suppress(FileNotFoundError):  # the load removes some
                if not os.path.islink(file):
                    size = os.path.getsize(file)
                    os.truncate(file, 0)
                    os.truncate(file, size)
    stat, filler = os.statvfs(place), f"{os.path.dirname(place)}/filler"
    with open(filler, "wb", buffering=0) as file:
        os.posix_fallocate(file.fileno(), 0, stat.f_bavail * stat.f_frsize - (1 << 20))
        file.seek(0, os.SEEK_END)
        for size in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)) == size:
                    pass
    try:
        yield
    finally:
        os.unlink(filler)


@contextlib.contextmanager
def killed(server):
    server.send(signal.SIGKILL)
    yield
    run(server.script, "--stop")  # forgets it
    run(server.script, "--start", stdin=subprocess.DEVNULL)


def begun(path):
    """Whether the first interval is told."""
    with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
        return len(file.readlines()) > 1
    return False


def beset(server, name, act, load=str(LOAD), after=0.0, duration=DURATION, timeout=PATIENCE, mix="mix:sfs97-v3", streams=4):
    """(status, report, wire) of a run during which `act(replay)` happens, from `after` seconds after its first interval on."""
    url = server.url(name)
    url += ("&" if "?" in url else "?") + f"timeout={timeout}"
    live = f"{os.environ['OWN_FILES']}/{server.kind}-{name}"  # not where a server may fill the disk
    wire = f"{live}.pcap"
    with recorded(wire, server.port):
        replay = subprocess.Popen([built("replay/fsreplay"), mix, url, "--streams", str(streams), "--workers", "2", "--seed", "5", "--duration",
                                   f"{duration}s", "--load", load, "-q", "--json", "--csv", f"{live}.csv", "--metrics", f"{live}.prom"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        give_up = time.monotonic() + PATIENCE  # its first interval: the load has begun
        while replay.poll() is None and time.monotonic() < give_up and not begun(f"{live}.csv"):
            time.sleep(0.02)
        since = time.time() - 1
        time.sleep(after)
        with act(replay):
            status, report = ended(replay)
            until = time.time()
        time.sleep(0.2)
    seen = Wire(server.kind, wire, server.port, since, until)
    os.unlink(wire)
    return status, report, seen


def beside_server(kind, mix, as_table):
    cases, server = Cases(), Server(kind)

    def case(row, name, fine, status, report, wire):
        if as_table:
            shown(row, kind, wire, status, report)
        cases.case(f"{kind}: {name}", fine, f"status {status}, wire {wire.silence:.2f} s silent, {wire.open} open, longest {wire.longest:.3f} s, " + str({key: report[key] for key in KEYS if key in report})
                   + str({m["got"] for m in report.get("mismatches", [])}))

    def complains(report, words):
        return any(words in why for why in report["not_clean"])

    status, report, wire = beset(server, "pause", lambda _: stopped(server.send, STOPPED))
    case("pauses for 2 s", "the server is stopped for a while: it is named, and the response says how long",
         "did not answer for" in report["limited_by"] and abs(report["silent_ns"] / 1e9 - wire.silence) < 0.5 and report["stood_still_ns"] < 1e9
         and report["response"]["max_ns"] > 1.5e9, status, report, wire)
    for load, name in ((str(LOAD), "at a load"), ("max", "as fast as possible")):
        status, report, wire = beset(server, f"own-{load}", lambda replay: stopped(replay.send_signal, STOPPED), load)
        case(f"fsreplay is stopped for 2 s, {name}", f"fsreplay is stopped, {name}: it says so, and does not charge the server",
             status == 1 and report["stood_still_ns"] > 0.8e9 * STOPPED and "load generator itself stood still" in report["limited_by"]
             and complains(report, "load generator") and report["silent_ns"] == 0
             and report["service"]["max_ns"] < 1e9 * STOPPED and wire.longest < STOPPED, status, report, wire)
    for attempt in range(3):  # a run during which this machine stood still says nothing of the server
        status, report, wire = beset(server, f"slow-{attempt}", lambda _: slowed(server), "max")
        if not report["stood_still_ns"]:
            break
    case("is slow, load max", "a slow server: its time is the response, of whatever was issued",
         status == 0 and report["response"]["p99_ns"] > 15e6 and wire.longest < 1 and report["silent_ns"] == report["stood_still_ns"] == 0
         and "target" in report["limited_by"], status, report, wire)
    status, report, wire = beset(server, "slow-load", lambda _: slowed(server), str(TOO_MUCH), streams=2)
    case(f"is slow, load {TOO_MUCH}/s", "more load than a slow server takes: what was not issued is in the response and in the verdict",
         status == 1 and complains(report, "were never issued") and report["overdue"] > 0.3 * report["issued"]
         and report["issued"] + report["overdue"] == TOO_MUCH * DURATION and report["achieved_per_s"] < 0.9 * TOO_MUCH
         and report["response"]["p99_ns"] > 5e8 and ("target" in report["limited_by"] or report["stood_still_ns"]), status, report, wire)
    for name, act, errors in (("gets full", filled, ("ENOSPC",)), ("refuses what it allowed", refused, ("EACCES", "EPERM", "EIO"))):
        case_of = name.replace(" ", "-")
        status, report, wire = beset(server, case_of, lambda _, act=act, place=f"{server.directory}/{case_of}": act(place), mix=mix)
        case(name, f"a server that {name}: failures are neither achieved nor fast",
             status == 1 and report["failed"] > 50 and complains(report, "outcomes differed")
             and report["response"]["count"] == report["issued"] - report["failed"] + report["open"]["count"]
             and abs(report["achieved_per_s"] * report["elapsed_ns"] / 1e9 - (report["issued"] - report["failed"] - report["unfinished"])) < 2
             and any(m["got"] in errors for m in report["mismatches"]), status, report, wire)
    due = LOAD * DURATION
    for name, act in (("hangs", lambda _: stopped(server.send, None)), ("is killed", lambda _: killed(server))):
        status, report, wire = beset(server, name.replace(" ", "-"), act, timeout=3)
        case(name, f"a server that {name}: what is due and what is not answered count",
             status == 1 and report["issued"] + report["overdue"] == due and report["overdue"] > due / 4
             and abs(report["offered_per_s"] - LOAD) < 1 and report["elapsed_ns"] >= DURATION * 1e9
             and report["response"]["count"] == due - report["failed"] + report["unanswered"]
             and report["open"]["count"] == report["overdue"] + report["unfinished"] + report["unanswered"]
             and report["achieved_per_s"] < 0.7 * LOAD and report["response"]["p99_ns"] > 1e9
             and complains(report, "never issued"), status, report, wire)
        files = f"{os.environ['OWN_FILES']}/{kind}-{name.replace(' ', '-')}"
        with open(f"{files}.csv", encoding="ascii", newline="") as file:
            empty = [row for row in csv.DictReader(file) if row["kind"] == "" and row["operations"] == "0"]
        cases.case(f"{kind}: CSV has no times where nothing was answered", empty and not any(row["response_p99_ns"] for row in empty), empty[:1])
        with open(f"{files}.prom", encoding="ascii") as file:
            metrics = file.read()
        cases.case(f"{kind}: metrics have what was not answered",
                   all(f'\nfsreplay_without_answer_total{{why="{why}"}} {report[why]}\n' in metrics for why in ("overdue", "unfinished", "unanswered"))
                   and '\nfsreplay_response_seconds{kind="getattr",quantile="0.99"} ' in metrics, metrics[-1500:])
    search_on_hung(cases, server)
    return cases.status()


def search_on_hung(cases, server):
    """--find-scale on a server that hangs: what was answered before was fast. No further run can begin, which ends the search."""
    url, live = server.url("search"), f"{os.environ['OWN_FILES']}/{server.kind}-search.csv"
    with subprocess.Popen([built("replay/fsreplay"), "mix:sfs97-v3", f"{url}{'&' if '?' in url else '?'}timeout=3", "--streams", "4", "--workers", "2", "--seed", "5",
                           "--duration", "3s", "--load", str(LOAD), "-q", "--csv", live, "--find-scale", "p99 < 10s"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as search:
        while search.poll() is None and not begun(live):
            time.sleep(0.02)
        with stopped(server.send, None):
            out, err = search.communicate(timeout=PATIENCE)
    cases.case(f"{server.kind}: no load holds on a server that hangs, and the reason is told",
               re.search(rf"^ +{LOAD} .*> .*[\d,]+ of [\d,]+ operations that were due were not issued: broken$", out, re.M) and "holds" not in out, (out, err))
    cases.case(f"{server.kind}: the search ends with status 1, and says why", search.returncode == 1 and re.match(r"fsreplay: .*no (reply|answer)", err),
               (search.returncode, err))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def busy(pid, rank):
    """Whether the program, or its rank 1, has read from its files, which it does only under the load."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{children(pid)[0] if rank else pid}/io", encoding="ascii") as file:
        return int(file.readline().split()[1]) > READ
    return False


def program_stopped(cases, directory, name, words, rank=False):
    """A program of fsbench that is stopped for a while, or one rank of it."""
    with subprocess.Popen([built("tools/fsbench"), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=directory) as program:
        pid = program.pid
        give_up = time.monotonic() + PATIENCE
        while program.poll() is None and time.monotonic() < give_up and not busy(pid, rank):
            time.sleep(0.02)
        if rank:
            pid = children(pid)[0]
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STOPPED)
        os.kill(pid, signal.SIGCONT)
        out, err = program.communicate(timeout=PATIENCE)
    said = re.search(r"^fsbench \w+: (rank 1.*: )?the load generator itself stood still for ([\d.]+) s", err, re.M)
    cases.case(f"{name}: the time in which it was stopped is told, and the status says so",
               program.returncode == 1 and said and bool(said[1]) == rank and float(said[2]) > 0.8 * STOPPED, (program.returncode, err, out[-500:]))
    return out


def programs(directory):
    cases = Cases()
    os.mkdir(f"{directory}/tree")
    with open(f"{directory}/a.vdb", "w", encoding="ascii") as file:
        file.write(f"fsd=fsd1,anchor={directory}/tree/v,depth=1,width=1,files=20,size=8k\nfwd=fwd1,fsd=fsd1,operation=read,xfersize=4k,threads=2\n"
                   "rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=6,interval=1\n")
    os.mkdir(f"{directory}/tree/v")
    vdbench = ["vdbench", "-f", "a.vdb", "-o", "out", "--json"]
    out = program_stopped(cases, directory, "vdbench", vdbench)
    longest = [row["response"]["max_ns"] for row in json.loads(out)["rows"] if "response" in row]
    cases.case("and it is in no response time", longest and max(longest) < 0.9e9 * STOPPED, longest)
    program_stopped(cases, directory, "a rank of vdbench", [*vdbench, "--ranks", "2"], rank=True)
    os.mkdir(f"{directory}/tree/stone")
    program_stopped(cases, directory, "nhfsstone", ["nhfsstone", "-l", "100", "-t", "6", "-p", "2", "tree/stone"])
    return cases.status()


def random_stops(kind, number):
    """Stops the server or the load generator at random times. The report must name the stopped one if the stop was long enough to be
    reported: 1 s for the server, 0.2 s for the generator. It must never name the other one."""
    cases, server, draw = Cases(), Server(kind), random.Random(f"stops of {kind}")
    for i in range(number):
        who, lasts, after = draw.choice(("server", "generator")), draw.uniform(0.1, 5), draw.uniform(0, 2)
        _, report, wire = beset(server, f"stop{i}", lambda replay, who=who, lasts=lasts: stopped(server.send if who == "server" else replay.send_signal, lasts),
                                after=after, duration=after + lasts + 2)
        said = report["limited_by"] + " ".join(report["not_clean"])
        silent, stood, longest = (report[key] / 1e9 for key in ("silent_ns", "stood_still_ns", "longest_stand_ns"))
        if who == "server":
            fine = "load generator" not in said and stood < 0.2 * lasts and (lasts < 1.05 or silent > 0.55 * lasts and "did not answer" in said)
        else:
            fine = silent == 0 and "did not answer" not in said and (lasts < 0.4 or longest > 0.7 * lasts)
            fine = fine and (lasts < 0.25 or "load generator" in said or "fsreplay did not keep up" in said or "late by fsreplay" in said)
        cases.case(f"{kind}, {i}: the {who} is stopped for {lasts:.2f} s, and it alone is named", fine and report["response"]["max_ns"] > 0.7e9 * lasts,
                   f"wire {wire.silence:.2f} s silent, " + str({key: report[key] for key in KEYS if key in report}))
    return cases.status()


def main():
    if sys.argv[1:2] == ["--beside"]:
        kind, mix, how = sys.argv[2:]
        return random_stops(kind, int(how)) if how.isdigit() else beside_server(kind, mix, how == "--table")
    words = sys.argv[1:]
    how = words[1] if words[:1] == ["--stops"] else "--table" if "--table" in words else "-"
    kinds = [word for word in words if word in SERVERS] or list(SERVERS)
    with Scratch() as scratch:
        status = programs(scratch.path) if len(kinds) == len(SERVERS) and not how.isdigit() else 0
        mix = f"{scratch.path}/changes.mix"
        with open(mix, "w", encoding="ascii") as file:
            for name, calls in (("total", 100), ("getattr", 30), ("write", 30), ("create", 20), ("remove", 20)):
                file.write(f"nfs v3 server {name:>12}: {calls:8}\n")
        beside = []
        for kind in kinds:  # each on a file system of its own, which a case fills
            own, image = f"{scratch.path}/{kind}", f"{scratch.path}/{kind}.img"
            os.mkdir(own)
            run("truncate", "-s", "256M", image)
            run("mkfs.ext4", "-q", image)
            run("mount", "-o", "loop", image, own)
            beside.append(subprocess.Popen([os.path.join(HERE, "..", "..", "servers", SERVERS[kind][0]), "--dir", f"{own}/{kind}", __file__, "--beside", kind, mix, how],
                                           stdin=subprocess.DEVNULL, env=os.environ | {"OWN_FILES": scratch.path}))
        return 1 if any([status, *(server.wait() for server in beside)]) else 0


if __name__ == "__main__":
    sys.exit(main())
