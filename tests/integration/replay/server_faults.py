#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A whole replay while its server is killed and started again, then says nothing for ten seconds; interrupted while its server is
silent or busy; onto an export that gets full; in a directory that stops being ours. For NFSv3, NFSv4.1, 9P and AFP, on real servers:
the run goes on or ends as --on-error or ^C says, what was lost or repeated is counted, nothing hangs.

server_faults.py [nfs3|nfs4|9p|afp...]"""
import fcntl
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, built, run, shim_program  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SILENCE = 10  # seconds
PATIENCE = 60
ENDS_AT_ONCE = ("nfs3", "nfs4", "afp")
AT_ONCE = 5  # seconds: 2, and as much as a busy machine may take to print a report

# kind: server, the file of its process group below its directory, the URL that it hands on, the exported directory, URL options
SERVERS = {
    "nfs3": ("ganesha", "ganesha.pid", "NFS_VFS_URL", "NFS_VFS_DIR", "&uid=4711&gid=4711"),
    "nfs4": ("ganesha", "ganesha.pid", "NFS4_VFS_URL", "NFS_VFS_DIR", "&uid=4711&gid=4711"),
    "9p": ("diod", "diod.pid", "P9_URL", "P9_DIR", "&dfltuid=4711&dfltgid=4711"),
    "afp": ("netatalk", "afpd.pid", "AFP_URL", "AFP_DIR", ""),
}
OWNER = {"afp": 54321}
PORTS = {"ganesha": "NFS_PORT", "diod": "P9_PORT", "netatalk": "AFP_PORT"}
PLACES = {"ganesha": "GANESHA_DIR", "diod": "DIOD_DIR", "netatalk": "NETATALK_DIR"}


def work(directory):
    """What is recorded: three seconds of one process with a file open throughout, and many short-lived ones."""
    os.chdir(directory)
    log = os.open("log", os.O_CREAT | os.O_RDWR, 0o644)
    for i in range(100):
        file = os.open(f"new{i}", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
        os.write(file, bytes([i]) * 16384)
        os.fsync(file)
        os.close(file)
        os.pwrite(log, b"%5d\n" % i, 6 * i)
        os.rename(f"new{i}", f"kept{i}")
        with open(f"kept{i}", "rb") as again:
            again.read()
        if i % 3 == 2:
            os.unlink(f"kept{i - 1}")
        time.sleep(0.03)
    os.close(log)


def work_locks(directory):
    """Two kinds of locks on one file, which are one to many servers: then the second is not had, and not waited for without end."""
    with open(os.path.join(directory, "locked"), "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        fcntl.lockf(file, fcntl.LOCK_EX)


class Server:
    """The one that runs beside us (see tests/servers)."""

    def __init__(self, kind):
        name, pid_file, url, directory, options = SERVERS[kind]
        self.kind, self.port = kind, int(os.environ[PORTS[name]])
        self.script = os.path.join(HERE, "..", "..", "servers", name)
        self.pid_file = os.path.join(os.environ[PLACES[name]], pid_file)
        self.directory = os.environ[directory]
        self.base, self.options = os.environ[url], options
        self.owner = OWNER.get(kind, 4711)
        os.chown(self.directory, self.owner, self.owner)

    def url(self, name):
        """Of a new directory that the replay may use."""
        path = os.path.join(self.directory, name)
        os.mkdir(path)
        os.chown(path, self.owner, self.owner)
        if "aname=" in self.base:
            return f"{self.base}/{name}{self.options}"
        where, _, query = self.base.partition("?")
        return f"{where}/{name}?{query}{self.options}" if query else f"{where}/{name}"

    def send(self, number):
        with open(self.pid_file, encoding="ascii") as file:
            os.killpg(int(file.read()), number)

    def kill_and_start(self):
        self.send(signal.SIGKILL)
        time.sleep(0.3)
        run(self.script, "--stop")  # forgets it
        run(self.script, "--start", stdin=subprocess.DEVNULL)


def start(trace, url, *options):
    return subprocess.Popen([built("replay/fsreplay"), trace, url, "-q", "--json", *options], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def ended(replay):
    """(status, report)"""
    try:
        output, errors = replay.communicate(timeout=PATIENCE)
        return replay.returncode, json.loads(output) if output else {"error": errors}
    except subprocess.TimeoutExpired:
        replay.kill()
        replay.communicate()
        return None, {"error": "hangs"}


def told(status, report):
    keys = ("error", "operations", "issued", "matched", "differed", "not_clean", "counters")
    return f"status {status}, " + str({k: report[k] for k in keys if k in report}) + str(report.get("mismatches", [])[:5])


def impossible(report):
    return sum(kind["impossible"] for kind in report["kinds"].values())


def begun(directory):
    """Waits for what the replay makes first."""
    give_up = time.monotonic() + PATIENCE
    while not any(os.path.exists(os.path.join(directory, at, "log")) for at in ("", "clone-0")) and time.monotonic() < give_up:
        time.sleep(0.01)


def comes_back(cases, server, kind, trace):
    began = time.monotonic()
    replay = start(trace, server.url("back"), "--scale", "0.5x")
    begun(os.path.join(server.directory, "back"))
    time.sleep(1.5)
    server.kill_and_start()
    time.sleep(2)
    server.send(signal.SIGSTOP)
    try:
        time.sleep(SILENCE)
    finally:
        server.send(signal.SIGCONT)
    status, report = ended(replay)
    counters = report.get("counters", {})
    explained = sum(n for name, n in counters.items() if "again" in name or "lost" in name or "repeated" in name)
    print("#", kind, {k: n for k, n in counters.items() if n}, f"{time.monotonic() - began:.1f} s")
    cases.case(f"{kind}: killed, started again, silent for {SILENCE} s: the replay ends, its outcomes as recorded or counted",
               status in (0, 1, 4) and report["issued"] > 0 and report["violations"] == 0 and report["differed"] <= explained
               and explained > 0 and report["matched"] + report["differed"] >= 0.999 * report["issued"], told(status, report))
    lost = [m for m in report.get("mismatches", []) if m["got"] == "ECONNRESET" and m["kind"] in ("create", "rename", "unlink")]
    cases.case(f"{kind}: names tell what became of operations whose replies were lost", kind == "afp" or not lost, lost)


def full(cases, server, kind, trace):
    stat = os.statvfs(server.directory)
    filler = os.path.join(server.directory, "filler")
    urls = server.url("full"), server.url("full-stop")
    with open(filler, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, stat.f_bavail * stat.f_frsize - (300 << 10))
    status, report = ended(start(trace, urls[0], "--timing", "asap", "--force"))
    cases.case(f"{kind}: a full export: all is issued, what failed is counted",
               status == 1 and report["issued"] + impossible(report) == report["operations"] and 0 < report["differed"] < report["issued"]
               and any(m["got"] == "ENOSPC" for m in report["mismatches"]), told(status, report))
    run("find", os.path.join(server.directory, "full"), "-mindepth", "1", "-delete")
    status, report = ended(start(trace, urls[1], "--timing", "asap", "--force", "--on-error", "stop"))
    cases.case(f"{kind}: --on-error stop ends there",
               status == 1 and 0 < report["differed"] < 20 and any("--on-error stop" in why for why in report["not_clean"]),
               told(status, report))
    os.unlink(filler)


def revoked(cases, server, kind, trace):
    all_of_it = 0
    for name, options in (("ours", ()), ("ours-stop", ("--on-error", "stop"))):
        replay = start(trace, server.url(name), *options)
        begun(os.path.join(server.directory, name))
        time.sleep(1.5)
        os.chmod(os.path.join(server.directory, name), 0o555)
        os.chown(os.path.join(server.directory, name), 0, 0)
        status, report = ended(replay)
        fine = status == 1 and any(m["got"] in ("EACCES", "EPERM") for m in report["mismatches"]) and report["violations"] == 0
        if options:
            fine = fine and report["issued"] < 0.9 * all_of_it
        all_of_it = report.get("issued", 0)
        cases.case(f"{kind}: permission taken away in mid-run" + (", --on-error stop" if options else ""), fine, told(status, report))


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def interrupted(cases, server, kind, trace, silent, timing, workers, *options):
    """Ended by ^C at a random moment."""
    place = f"stopped-{silent}-{timing}-{workers}{''.join(options)}"
    chance, used = random.Random(f"{kind}-{place}"), processor_time()
    replay = start(trace, server.url(place), "--timing", timing, "--workers", str(workers), "--clones", "8", *options)
    begun(os.path.join(server.directory, place))
    time.sleep(chance.uniform(0, 0.3))
    try:
        if silent:
            server.send(signal.SIGSTOP)
            time.sleep(chance.uniform(0, 0.3))
        began = time.monotonic()
        replay.send_signal(signal.SIGINT)
        status, report = ended(replay)
        took = time.monotonic() - began
    finally:
        server.send(signal.SIGCONT)
    used = processor_time() - used
    fine = status == 1 and took < AT_ONCE and used < 1 and any("interrupted" in why for why in report["not_clean"])
    fine = fine and report["issued"] == report["matched"] + report["differed"] + report["unrecorded"] + report["unfinished"]
    how = " ".join((timing, *options))
    cases.case(f"{kind}: {how}, {workers} workers, the server {'silent' if silent else 'busy'}: ^C ends it at once, and without "
               "burning processor time", fine, f"{took:.1f} s, {used:.1f} s of processor time, {told(status, report)}")


def two_locks(cases, server, kind, trace):
    url = server.url("locks")
    status, report = ended(start(trace, url + ("&" if "?" in url else "?") + "timeout=2"))
    cases.case(f"{kind}: a lock that was had at once and is not had here ends, and differs",
               status in (0, 1, 4) and report["issued"] + impossible(report) == report["operations"]
               and all(m["got"] == "EAGAIN" for m in report["mismatches"]), told(status, report))


def no_second_run(cases, server, kind, trace):
    url = server.url("again")
    replay = start(trace, url + ("&" if "?" in url else "?") + "timeout=1", "--repeat", "2", "--cleanup", "--duration", "1s")
    begun(os.path.join(server.directory, "again"))
    server.send(signal.SIGSTOP)
    try:
        status, report = ended(replay)
    finally:
        server.send(signal.SIGCONT)
    cases.case(f"{kind}: silent from the first of two runs on: the first is reported, and why there is no second", status == 1 and "repeat" in report,
               told(status, report))


def beside_server(kind, trace, locks):
    cases, server = Cases(), Server(kind)
    if kind in ENDS_AT_ONCE:
        for silent, timing, workers in ((True, "original", 1), (True, "think", 2), (True, "asap", 1), (True, "asap", 2), (False, "asap", 2)):
            interrupted(cases, server, kind, trace, silent, timing, workers)
        interrupted(cases, server, kind, trace, True, "asap", 1, "--cleanup")
        two_locks(cases, server, kind, locks)
        no_second_run(cases, server, kind, trace)
    comes_back(cases, server, kind, trace)
    full(cases, server, kind, trace)
    revoked(cases, server, kind, trace)
    return cases.status()


def main():
    if sys.argv[1:2] == ["--work"]:
        return work(sys.argv[2])
    if sys.argv[1:2] == ["--work-locks"]:
        return work_locks(sys.argv[2])
    if sys.argv[1:2] == ["--beside"]:
        return beside_server(*sys.argv[2:])
    with Scratch() as scratch:
        traces, place = [f"{scratch.path}/work.zst", f"{scratch.path}/work-locks.zst"], f"{scratch.path}/work"
        os.mkdir(place)
        for trace, work_of in zip(traces, ("--work", "--work-locks")):
            run(shim_program(), "capture", place, "-o", trace, "--content", "full", "--", __file__, work_of, place)
            run("find", place, "-mindepth", "1", "-delete")
        beside = []
        for kind in sys.argv[1:] or SERVERS:  # all at once, each on a file system of its own, which a case fills
            small = scratch.mount("ext4", "64M", name=kind)
            beside.append(subprocess.Popen([os.path.join(HERE, "..", "..", "servers", SERVERS[kind][0]), "--dir", f"{small}/{kind}", __file__,
                                            "--beside", kind, *traces], stdin=subprocess.DEVNULL))
        return 1 if any([server.wait() for server in beside]) else 0


if __name__ == "__main__":
    sys.exit(main())
