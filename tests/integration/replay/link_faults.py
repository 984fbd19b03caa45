#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NFSv3, NFSv4.1, 9P and AFP over a link that fails: a proxy between replay and server pauses, delays, cuts, repeats. Whatever it
does, and whenever ^C comes: the replay ends in time, its report is whole, and nothing is done twice unless it says so.

link_faults.py [--runs N] [nfs3|nfs4|9p|afp...]        N: replays that are interrupted, for each of them"""
import fcntl
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402
from lower_fs import Cases, Scratch, built, run, shim_program  # noqa: E402

PORT = 15990
TIMEOUT = 4  # seconds: the target's
SOON = 2  # seconds that a replay may take to end
SLACK = 3  # seconds more on a busy machine
RUNS = 8
UNDER_WAY = 100  # requests: the run has begun

# server, the proxy's wire, the server's port, the URL through the proxy, the exported directory, who owns what is made there
KINDS = {
    "nfs3": ("ganesha", wires.Rpc, "NFS_PORT", "nfs://127.0.0.1/vfs/{name}?nfsport={port}&mountport={MOUNT_PORT}", "NFS_VFS_DIR", 0),
    "nfs4": ("ganesha", wires.Rpc4, "NFS_PORT", "nfs://127.0.0.1:{port}/vfs/{name}?version=4.1", "NFS_VFS_DIR", 0),
    "9p": ("diod", wires.NineP, "P9_PORT", "9p://127.0.0.1:{port}/?aname={P9_DIR}/{name}", "P9_DIR", 0),
    "afp": ("netatalk", wires.Afp, "AFP_PORT", "afp://{AFP_USER}@127.0.0.1:{port}/{volume}/{name}?", "AFP_DIR", None),
}


def work(directory):
    """What is recorded: a file that stays open, with a lock, and short-lived ones of two processes."""
    os.chdir(directory)
    log = os.open("log", os.O_CREAT | os.O_RDWR, 0o644)
    fcntl.lockf(log, fcntl.LOCK_EX, 10)
    other = os.fork()
    for i in range(40):
        name = f"{'new' if other else 'more'}{i}"
        file = os.open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
        os.write(file, bytes([i]) * 16384)
        os.unlink(name)
        os.close(file)
        os.mkdir(f"{name}.d")
        os.pwrite(log, b"%5d\n" % i, 6 * i)
        os.rename(f"{name}.d", f"kept{name}")
        os.listdir(".")
        time.sleep(0.02)
    if not other:
        os._exit(0)
    os.waitpid(other, 0)
    os.close(log)


def once(directory):
    """What is recorded: what must not be done twice."""
    os.chdir(directory)
    for i in range(4):
        os.close(os.open(f"new{i}", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
        os.mkdir(f"dir{i}", 0o750)
        os.setxattr(f"new{i}", "user.once", b"value", os.XATTR_CREATE)
        os.removexattr(f"new{i}", "user.once")
        time.sleep(0.02)


def names(directory):
    """What is recorded: changes of names, each of which fails if it is done twice."""
    os.chdir(directory)
    for i in range(4):
        os.mkdir(f"dir{i}")
        os.close(os.open(f"dir{i}/new", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
        os.symlink("new", f"dir{i}/symlink")
        os.link(f"dir{i}/new", f"dir{i}/second")
        os.rename(f"dir{i}/new", f"kept{i}")
        os.unlink(f"dir{i}/second")
        os.unlink(f"dir{i}/symlink")
        os.rmdir(f"dir{i}")


def reads(directory):
    """What is recorded: files that were there before are read."""
    os.chdir(directory)
    for i in range(6):
        with open(f"old{i}", "rb") as file:
            file.read()


def make_old(directory):
    for i in range(6):
        with open(f"{directory}/old{i}", "wb") as file:
            file.write(b"%d old " % i * 2000)


class Beside:
    """One kind of target, through a proxy to the server that runs beside us."""

    def __init__(self, kind, cases):
        self.kind, self.cases = kind, cases
        _, self.wire, port, self.url_form, directory, self.owner = KINDS[kind]
        self.server_port = int(os.environ[port])
        self.directory = os.environ[directory]
        if self.owner is None:
            self.owner = os.stat(self.directory).st_uid
        self.made = 0

    def place(self):
        self.made += 1
        path = os.path.join(self.directory, f"link{self.made}")
        os.mkdir(path)
        os.chown(path, self.owner, -1)
        return os.path.basename(path)

    def proxy(self, fault=None):
        return proxy.Proxy(self.wire(), fault or faults.Fault(), self.server_port, PORT)

    def url(self, name, timeout=TIMEOUT):
        url = self.url_form.format(name=name, port=PORT, volume=os.path.basename(self.directory), **os.environ)
        return f"{url}&timeout={timeout}"

    def start(self, trace, *options, timeout=TIMEOUT, place=None):
        command = [built("replay/fsreplay"), trace, self.url(place or self.place(), timeout), "-q", "--json", *options]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self, replay, within):
        """(what is wrong with how it ended or "", its report)"""
        try:
            output, errors = replay.communicate(timeout=within)
        except subprocess.TimeoutExpired:
            replay.kill()
            replay.communicate()
            return f"still runs after {within} s", {}
        if replay.returncode not in (0, 1, 4):
            return f"status {replay.returncode}: {errors[-300:]}", {}
        try:
            report = json.loads(output)
        except ValueError:
            return f"no report: {output[-100:]!r} {errors[-300:]!r}", {}
        left = report["operations"] - report["issued"] - report.get("cancelled", 0) - impossible(report)
        return (f"{left} of {report['operations']} operations are unaccounted for" if left > 0 else ""), report

    # --- cases ---
    def interrupted(self, trace, runs):
        """^C at a random moment, again if that does not end it: with a server that answers, is slow, silent, or hangs up."""
        chance = random.Random(11)
        kinds = {"": faults.Fault, ", slow": lambda: faults.Delay(0.05), ", silent": faults.Fault, ", gone": faults.Fault,
                  ", cut in mid-frame": lambda: faults.CutInMidFrame(60)}
        for number in range(runs):
            what = list(kinds)[number % len(kinds)]
            workers = 1 + number // len(kinds) % 2
            timing = ("original", "asap", "think", None)[number % 4]
            load = (trace, "--timing", timing) if timing else ("mix:sfs97-v3", "--load", "max")
            for _ in range(3):  # diod dies now and then as a connection ends; it is started again, which may be too late for the next one
                between = self.proxy(kinds[what]())
                replay = self.start(*load, "--workers", str(workers), timeout=20)
                between.await_requests(UNDER_WAY if timing else chance.randrange(UNDER_WAY, 20 * UNDER_WAY), replay)
                if self.kind != "9p" or replay.poll() != 2:
                    break
                print("#", replay.communicate()[1].strip())
                between.close()
            time.sleep(chance.random())
            if what == ", silent":
                between.pause()
                time.sleep(0.2)
            if what == ", gone":
                between.refuse()
                time.sleep(0.2)
            for _ in range(2):
                replay.send_signal(signal.SIGINT)
                try:
                    replay.wait(SOON)
                    break
                except subprocess.TimeoutExpired:
                    pass
            problem, _ = self.ended(replay, SOON + SLACK)
            between.close()
            if problem:
                self.cases.case(f"{self.kind}: ^C{what}, {timing or 'a mix'}, {workers} workers", False, problem)
                return
        self.cases.case(f"{self.kind}: ^C at random moments, {runs} times", True)

    def says_nothing(self, trace):
        """^C while a server that says nothing is waited for before the run."""
        between = self.proxy()
        between.pause()
        replay = self.start(trace, timeout=60)
        time.sleep(1.5)
        early = replay.poll()
        replay.send_signal(signal.SIGINT)
        began = time.monotonic()
        try:
            errors = replay.communicate(timeout=SOON + SLACK)[1]
        except subprocess.TimeoutExpired:
            replay.kill()
            errors = "goes on; " + replay.communicate()[1]
        print(f"# {self.kind}: ended {time.monotonic() - began:.2f} s after ^C")
        between.close()
        self.cases.case(f"{self.kind}: ^C while a server that says nothing is opened", early is None and replay.returncode == 2
                        and errors.endswith("interrupted\n") and errors.count("\n") == 1, repr((early, replay.returncode, errors)))

    def plays(self):
        """A mix whose time is over, and a program that gets a ^C, on a server that has fallen silent."""
        between = self.proxy()
        where = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "stdin": subprocess.DEVNULL}
        mix = subprocess.Popen([built("replay/fsreplay"), "mix:sfs97-v3", self.url(self.place(), 60), "--streams", "1", "--load",
                                "max", "--duration", "4s", "-q", "--json"], **where)
        between.await_requests(10 * UNDER_WAY, mix)  # far more than its preparation takes
        program = subprocess.Popen([built("tools/fsbench"), "bonnie", "-d", self.url(self.place(), 60), "-s", "256", "-r", "0", "-u",
                                    "root", "-q"], **where)
        time.sleep(0.5)
        between.pause()
        began = time.monotonic()
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        for play, what, limit in ((program, "^C ends a program", SOON), (mix, "a mix whose time is over ends", 4 + 10)):
            try:
                output = play.communicate(timeout=limit + SLACK)[0]
                print(f"# {self.kind}: {what} {time.monotonic() - began:.1f} s after the server fell silent")
            except subprocess.TimeoutExpired:
                play.kill()
                output = "goes on; " + play.communicate()[0]
            self.cases.case(f"{self.kind}: {what}, on a server that fell silent", play.returncode == 1 and "in flight" in output,
                            f"{play.returncode}, {output[-300:]}")
        between.close()

    def left_open(self):
        """A mix with many files open, whose server fell silent: they do not wait for their time limit one after another."""
        between, limit = self.proxy(), 3  # seconds, in which also a busy machine logs in
        mix = subprocess.Popen([built("replay/fsreplay"), "mix:sfs97-v3", self.url(self.place(), limit), "--streams", "1", "--load", "max",
                                "--duration", "2s", "-q", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        between.await_requests(10 * UNDER_WAY, mix)  # far more than its preparation takes
        between.pause()
        problem, report = self.ended(mix, 2 + 5 * limit + SOON + SLACK)
        between.close()
        if not problem and not any("files were not closed" in why for why in report["not_clean"]):
            problem = report["not_clean"]
        self.cases.case(f"{self.kind}: files left open by a server that fell silent hold up nobody", not problem, problem)

    def silent(self, trace):
        """No ^C: each operation ends with its time limit, which what it is made of and reconnects share."""
        between = self.proxy()
        replay = self.start(trace, "--on-error", "stop")
        between.await_requests(UNDER_WAY)
        between.pause()
        began = time.monotonic()
        problem, report = self.ended(replay, 3 * TIMEOUT + SOON + SLACK)
        print(f"# {self.kind}: ended {time.monotonic() - began:.1f} s after the server fell silent", report.get("not_clean"))
        between.close()
        self.cases.case(f"{self.kind}: a server that falls silent ends the run in time", not problem, problem)

    def listings(self):
        name = self.place()
        for i in range(40 if self.kind == "afp" else 3000):  # by cookies, only what takes several replies goes wrong
            with open(os.path.join(self.directory, name, f"file-with-a-long-name-{i}"), "w", encoding="ascii"):
                pass
        between = self.proxy(faults.RepeatCookies())
        try:
            done = subprocess.run([built("replay/fsreplay"), "target", "ls", self.url(name)], capture_output=True, text=True, timeout=30,
                                  check=False)
            fine = done.returncode == 1 and "Input/output error" in done.stderr and 0 < between.fault.times < 100
            why = f"status {done.returncode}, {between.fault.times} requests, {done.stderr[-300:]}"
        except subprocess.TimeoutExpired:
            fine, why = False, f"goes on and on: {between.fault.times} requests"
        between.close()
        self.cases.case(f"{self.kind}: a listing that leads nowhere ends, with EIO", fine, why)

    def broken(self, trace):
        """Connections that break again and again: all is issued, and each begins as it must."""
        between = self.proxy(faults.CutInMidFrame(150))
        problem, report = self.ended(self.start(trace, timeout=10), 60)
        between.close()
        counters = report.get("counters", {})
        explained = sum(n for name, n in counters.items() if "again" in name or "lost" in name)
        if not problem and between.fault.times == 0:
            problem = "no connection was cut"
        if not problem and between.wrong_openings:
            problem = f"{between.wrong_openings} connections began with the rest of another"
        twice = [m for m in report.get("mismatches", []) if m["got"] in ("EEXIST", "ENODATA")]
        if not problem and (twice or (report["differed"] and not explained)):
            problem = f"{report['differed']} outcomes differ: {twice} {counters}"
        self.cases.case(f"{self.kind}: connections that are cut in mid-frame", not problem, problem)

    def restarted(self, trace):
        """(what is wrong with how a run ended whose server forgot everything in its midst or "", its counters)"""
        between = self.proxy(faults.ReclaimFirst())
        replay = self.start(trace, timeout=20)
        between.await_requests(UNDER_WAY)
        script = os.path.join(hostile.SOURCE, "tests/servers", KINDS[self.kind][0])
        run(script, "--stop")
        run(script, "--start", stdin=subprocess.DEVNULL)
        began = time.monotonic()
        problem, report = self.ended(replay, 60)
        print(f"# {self.kind}: ended {time.monotonic() - began:.1f} s after the restart")
        between.close()
        counters = report.get("counters", {})
        if not problem and (between.fault.times or report["differed"] or not counters["open files opened again"]):
            problem = f"{between.fault.times} requests came too early, {report['differed']} outcomes differ: {counters}"
        return problem, counters

    def reclaimed_first(self, trace):
        """A server that remembers nothing, and opens and locks nothing anew before it heard that all is reclaimed."""
        for _ in range(8):
            problem, counters = self.restarted(trace)
            # What the server may or may not have done when it ended can't be told; then the restart is tried at another moment.
            if not counters.get("operations lost with a session"):
                break
        self.cases.case(f"{self.kind}: after a restart all is reclaimed before anything is opened or locked anew", not problem, problem)

    def lost_replies(self, trace):
        """Changes of names of which the request, or the reply, is lost with the connection, and with NFSv4.1 the session."""
        def number():
            return nth(lambda wire, body: wire.changes_names(body), 11, 3)  # of 32

        for fault in (faults.CutAndForget(number()),) if self.kind == "nfs4" else (faults.CutAt(number(), after=True), faults.CutAt(number())):
            between = self.proxy(fault)
            problem, report = self.ended(self.start(trace, timeout=20), 60)
            between.close()
            done = report.get("counters", {}).get("operations assumed done whose reply was lost, not compared")
            kept = sorted(os.listdir(os.path.join(self.directory, f"link{self.made}")))
            if not problem and (report["differed"] or fault.times < 5 or (fault.after and not done)
                                or kept != [".fsreplay"] + [f"kept{i}" for i in range(4)]):
                problem = f"{fault.times} faults, {report['differed']} differ: {report.get('mismatches')} {report.get('counters')} {kept}"
            self.cases.case(f"{self.kind}: changes of names whose {'replies' if fault.after else 'requests'} are lost are done once", not problem, problem)

    def prepares(self, trace):
        """Files from before a live capture, whose creates lose their replies, or get none for longer than the target waits. Beside them is
        a file of somebody else."""
        for fault, what in ((faults.CutAt(nth(lambda wire, body: wire.creates_file(body)), after=True), "lose their replies"),
                            (faults.GoneFor(nth(lambda wire, body: wire.creates_file(body), 1), 2.5), "get no reply")):
            name = self.place()
            with open(os.path.join(self.directory, name, "old5"), "wb") as file:
                file.write(b"somebody's")
            between = self.proxy(fault)
            with open(trace, "rb") as stream:
                replay = subprocess.Popen([built("replay/fsreplay"), "-", self.url(name, 1), "--live", "--lag", "500ms", "--force", "-q", "--json"], stdin=stream,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            problem, report = self.ended(replay, 60)
            between.close()
            contents = {}
            for file in sorted(os.listdir(os.path.join(self.directory, name))):
                with open(os.path.join(self.directory, name, file), "rb") as content:
                    contents[file] = content.read()
            right = {f"old{i}": b"%d old " % i * 2000 for i in range(5)} | {"old5": b"somebody's"}
            part = report.get("live", {})
            told = "create old5: EEXIST" in str(report.get("not_clean"))
            if not problem and (contents != right or fault.times == 0 or not told or (what == "get no reply" and not part.get("repeated"))):
                problem = f"{fault.times} faults, {[name for name in right if contents.get(name) != right[name]]} differ: {part} {report.get('not_clean')}"
            self.cases.case(f"{self.kind}: files whose creates {what} are made before their use, and no other file is touched", not problem, problem)

    def foreign(self, trace):
        """Creates whose requests are lost, where somebody else's objects have their names."""
        between = self.proxy(faults.CutAt(nth(lambda wire, body: wire.changes_names(body), 8)))
        place = self.place()
        top = os.path.join(self.directory, place)
        os.makedirs(os.path.join(top, "dir0", "sub"))
        with open(os.path.join(top, "new1"), "w", encoding="utf-8") as file:
            file.write("theirs")
        for name, mode in (("dir0", 0o700), ("new1", 0o600)):
            os.chown(os.path.join(top, name), self.owner, -1)
            os.chmod(os.path.join(top, name), mode)
        problem, report = self.ended(self.start(trace, "--force", timeout=20, place=place), 60)
        between.close()
        with open(os.path.join(top, "new1"), encoding="utf-8") as file:
            kept = [file.read(), *[oct(os.stat(os.path.join(top, name)).st_mode & 0o777) for name in ("dir0", "new1")]]
        if not problem and (kept != ["theirs", "0o700", "0o600"] or report["differed"] < 2 or between.fault.times < 2):
            problem = f"{kept}, {between.fault.times} {report['differed']} differ: {report.get('mismatches')}"
        self.cases.case(f"{self.kind}: objects of others are not taken for what a lost request was to make", not problem, problem)

    def not_twice(self, trace, fault, what, lost=0):
        between = self.proxy(fault)
        problem, report = self.ended(self.start(trace, timeout=20), 60)
        between.close()
        wrong = [m for m in report.get("mismatches", []) if m["got"] != "ECONNRESET"]
        if not problem and (wrong or report["differed"] > lost or fault.times == 0 or report["issued"] == 0):
            problem = f"{fault.times} faults, {report['differed']} differ: {report.get('mismatches')} {report.get('counters')}"
        self.cases.case(f"{self.kind}: {what}", not problem, problem)


    def hidden(self, trace):
        """The reply to a RENAME is lost that gives a file that is removed while it is open a hidden name."""
        number = nth(lambda wire, body: struct.unpack_from(">3I", body, 12) == wires.Rpc.RENAME and b".nfs" in body)
        between = self.proxy(faults.CutAt(number, after=True))
        problem, report = self.ended(self.start(trace, timeout=20), 60)
        between.close()
        place = os.path.join(self.directory, f"link{self.made}")
        left = [name for name in os.listdir(place) if name.startswith(".nfs")]
        if not problem and (left or between.fault.times == 0 or report["counters"]["hidden names left behind"]):
            problem = f"{between.fault.times} replies were lost, {left} are left: {report['counters']}"
        self.cases.case(f"{self.kind}: a hidden name is removed although the reply to its RENAME was lost", not problem, problem)


def impossible(report):
    return sum(kind["impossible"] for kind in report["kinds"].values())


def nth(matches, most=4, every=2):
    """For CutAt and LoseSession: numbers those requests that match; only one of `every` is not let pass."""
    seen = [0]

    def number(wire, body):
        if not matches(wire, body):
            return None
        seen[0] += 1
        return seen[0] if seen[0] % every == 1 and seen[0] < every * most else None
    return number


def exclusive_steps(number):
    return nth(lambda wire, body: any(n == number for n, _, _ in wire.operations(body)))


def sets_attribute():
    """For nth(): the Tclunk that sets or removes an extended attribute."""
    fids = set()

    def matches(wire, body):
        if body[0] == wire.TXATTRCREATE:
            fids.add(body[3:7])
        if body[0] != wire.TCLUNK or body[3:7] not in fids:
            return False
        fids.remove(body[3:7])
        return True
    return matches


def beside_server(kind, runs, work_trace, once_trace, names_trace, reads_trace):
    cases = Cases()
    target = Beside(kind, cases)
    target.listings()
    target.lost_replies(names_trace)
    target.prepares(reads_trace)
    if kind == "afp":
        target.foreign(once_trace)
        for command, what in ((wires.Afp.SET_FILE_DIR_PARMS, "setting the mode"), (wires.Afp.OPEN_FORK, "opening")):
            target.not_twice(once_trace, faults.CutAt(nth(lambda wire, body, c=command: wire.command(body) == c)),
                             f"a create or mkdir whose connection breaks before {what} goes on there")
    if kind == "nfs3":
        target.plays()
        target.hidden(work_trace)
    if kind == "nfs4":
        target.not_twice(once_trace, faults.LoseSession(exclusive_steps(wires.Rpc4.SETATTR)),
                         "an exclusive create that loses its session goes on behind the OPEN")
        target.reclaimed_first(work_trace)
        target.not_twice(once_trace, faults.LoseSession(exclusive_steps(wires.Rpc4.OPEN), after=True),
                         "an exclusive create that is begun again finds its own file")
    if kind == "9p":
        target.not_twice(reads_trace, faults.CutSetUp(nth(lambda wire, body: body[0] == wire.TWRITE, 1)),
                         "a preparation survives a connection that breaks again while it is set up")
        target.not_twice(once_trace, faults.CutAt(nth(sets_attribute()), after=True),
                         "an extended attribute is not made or removed twice", lost=4)
    target.broken(work_trace)
    target.says_nothing(once_trace)
    if kind != "nfs3":  # which opens nothing
        target.left_open()
    target.silent(work_trace)
    target.interrupted(work_trace, runs)
    return cases.status()


def main():
    arguments = sys.argv[1:]
    recorded = {"--work": work, "--once": once, "--names": names, "--reads": reads}
    if arguments[:1] and arguments[0] in recorded:
        return recorded[arguments[0]](arguments[1])
    if arguments[:1] == ["--beside"]:
        return beside_server(arguments[1], int(arguments[2]), *arguments[3:])
    runs = RUNS
    if arguments[:1] == ["--runs"]:
        runs, arguments = int(arguments[1]), arguments[2:]
    with Scratch() as scratch:
        traces = []
        for name in ("work", "once", "names", "reads"):
            place = scratch.mount("tmpfs") if name == "work" else f"{scratch.path}/tmpfs/{name}"
            os.makedirs(place, exist_ok=True)
            if name == "reads":
                make_old(place)
            traces.append(f"{scratch.path}/{name}.zst")
            run(shim_program(), "capture", place, "-o", traces[-1], "--content", "full" if name == "reads" else "none", "--", os.path.abspath(__file__), f"--{name}", place)
        # All at once: each server has a network namespace of its own, and their cases wait more than they compute.
        beside = [subprocess.Popen([os.path.join(hostile.SOURCE, "tests/servers", KINDS[kind][0]), os.path.abspath(__file__), "--beside", kind,
                                    str(runs), *traces], stdin=subprocess.DEVNULL) for kind in arguments or KINDS]
        return 1 if any([server.wait() for server in beside]) else 0


sys.exit(main())
