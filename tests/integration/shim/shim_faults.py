#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Things that go wrong: kill -9 of the daemon and of clients at random moments, a lower file system that is full, loses its disk or hangs.
Nobody hangs, nobody reads something wrong, and every trace can be read up to a second before.

usage: shim_faults.py [ROUNDS [SEED]]      default 10 rounds; 200 for the real thing
       shim_faults.py --client DIR NUMBER  one client (what the former runs)
"""
import json
import os
import random
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program  # noqa: E402

WRONG = 9
PATIENCE = 20  # seconds that count as for ever


class Halts:
    """Notes when the machine lets nobody run, as virtual ones do now and then for a minute: there is no work then that could get lost."""

    TICK = 0.05  # seconds

    def __init__(self):
        self.ticks = [time.time()]
        threading.Thread(target=self.tick, daemon=True).start()

    def tick(self):
        while True:
            time.sleep(self.TICK)
            self.ticks.append(time.time())

    def seconds_between(self, begin, end):
        ticks = [begin, *(t for t in self.ticks[:] if begin < t < end), end]
        return sum(max(0, after - before - 2 * self.TICK) for before, after in zip(ticks, ticks[1:]))


def client(directory, number):
    """Works until the file system fails, or is not the capture any more: then it ends with 0, with WRONG if it ever read something
    wrong."""
    i = 0
    try:
        home = os.stat(directory).st_dev
        while os.stat(directory).st_dev == home:
            i += 1
            block = b"%d of %d " % (i, number) * 100
            with open(f"{directory}/f{number}", "w+b", buffering=0) as file:
                file.write(block)
                if os.pread(file.fileno(), len(block), 0) != block:
                    return WRONG
            os.rename(f"{directory}/f{number}", f"{directory}/g{number}")
            if os.stat(f"{directory}/g{number}").st_size != len(block):
                return WRONG
            os.unlink(f"{directory}/g{number}")
            if i == 1:
                print("at work", flush=True)
    except OSError:
        pass
    return 0


def is_captured(place):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        return f" {place} fuse.fsshim " in mounts.read()


def start_capture(place, trace):
    shim = subprocess.Popen([shim_program(), "capture", place, "-o", trace], stderr=subprocess.PIPE, text=True)
    while not is_captured(place):
        if shim.poll() is not None:
            raise RuntimeError(shim.stderr.read())
        time.sleep(0.01)
    return shim


def ends(process):
    for _ in range(PATIENCE):  # second by second: a machine that halts for a minute takes one of them
        try:
            return process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            pass
    process.kill()
    return None


def last_recorded(trace):
    """Wall-clock time, in seconds, of the last operation that can be read."""
    info = json.loads(subprocess.run([fstrace_program(), "info", "--json", trace], capture_output=True, text=True, check=False).stdout)
    return (info["header"]["epoch"] + info["last_end"]) / 1e9, info["operations"]


def kill_round(place, trace, choose, halts):
    """What went wrong, '' if nothing did."""
    shim = start_capture(place, trace)
    me = [sys.executable, os.path.abspath(__file__), "--client", place]
    clients = [subprocess.Popen([*me, str(n)], stdout=subprocess.PIPE) for n in range(3)]
    for c in clients:
        c.stdout.readline()
    time.sleep(choose.uniform(0.05, 2.5))
    victim = choose.choice(["daemon", "daemon", "client"])
    problems = []
    if victim == "client":
        clients[0].kill()
        time.sleep(choose.uniform(0, 0.3))
        if any(c.poll() is not None for c in clients[1:]):
            problems.append("another client ended")
        for c in clients[1:]:
            c.kill()
        subprocess.run([shim_program(), "stop", place], stdout=subprocess.DEVNULL, check=False)
        if ends(shim) != 0:
            problems.append(f"the capture ended with {shim.returncode}")
        if subprocess.run([fstrace_program(), "verify", trace], capture_output=True, check=False).returncode != 0:
            problems.append("the trace does not verify")
    else:
        shim.kill()
        killed = time.time()
        statuses = [ends(c) for c in clients]
        if any(s not in (0, WRONG) for s in statuses):
            problems.append(f"clients ended with {statuses}")
        if WRONG in statuses:
            problems.append("a client read something wrong")
        limit = time.monotonic() + PATIENCE
        while is_captured(place) and time.monotonic() < limit:
            time.sleep(0.02)
        if is_captured(place) or os.listdir(place) is None:
            problems.append("the directory does not come back")
        last, operations = last_recorded(trace)
        if not operations:
            last = os.stat(trace).st_ctime + 0.3
        # The clients worked up to the end; what they did in the last second may be lost.
        halted = halts.seconds_between(last, killed)
        if killed - last - halted > 1.2:
            problems.append(f"{killed - last:.2f} s before the end are missing, for {halted:.2f} s of which the machine had halted")
    for c in clients:
        ends(c)
        c.stdout.close()
    for name in os.listdir(place):
        os.unlink(f"{place}/{name}")
    shim.stderr.close()
    return f"{victim}: " + "; ".join(problems) if problems else ""


def kills(cases, scratch, rounds, seed):
    place = f"{scratch.path}/kills"
    os.mkdir(place)
    choose, halts = random.Random(seed), Halts()
    wrong = []
    for n in range(rounds):
        trace = f"{scratch.path}/kill{n}.zst"
        problem = kill_round(place, trace, choose, halts)
        if problem:
            wrong.append(f"round {n}: {problem}")
    cases.case(f"{rounds} random kills, seed {seed}", not wrong, " | ".join(wrong[:10]))


def fill(directory):
    """Bytes that fit, and what the end looked like."""
    done, errors = 0, []
    fd = os.open(f"{directory}/big", os.O_CREAT | os.O_WRONLY)
    while not errors:
        try:
            done += os.write(fd, b"x" * 65536)
        except OSError as e:
            errors.append(e.errno)
    os.close(fd)
    for call in (lambda: os.mkdir(f"{directory}/d"), lambda: open(f"{directory}/small", "wb").close(), lambda: os.truncate(f"{directory}/big", 5),
                 lambda: os.unlink(f"{directory}/big")):
        try:
            errors.append(call())
        except OSError as e:
            errors.append(e.errno)
    return done, errors


def full(cases, scratch):
    answers = []
    for name in ("native", "shim"):
        place = f"{scratch.path}/full-{name}"
        os.mkdir(place)
        run("mount", "-t", "tmpfs", "-o", "size=3m", "none", place)
        shim = start_capture(place, f"{scratch.path}/full.zst") if name == "shim" else None
        answers.append(fill(place))
        if shim:
            subprocess.run([shim_program(), "stop", place], stdout=subprocess.DEVNULL, check=False)
            cases.case("the capture of a full file system ends well", ends(shim) == 0, f"status {shim.returncode}")
    cases.case("a full file system answers as without the shim", answers[0] == answers[1], f"native {answers[0]}, shim {answers[1]}")


def read_all(path):
    """Bytes read and the errno that ended it, and how long that took."""
    started, done = time.monotonic(), 0
    try:
        with open(path, "rb", buffering=0) as file:
            while data := file.read(65536):
                done += len(data)
    except OSError as e:
        return (done, e.errno), time.monotonic() - started
    return (done, 0), time.monotonic() - started


def disk_gone(cases, scratch):
    place = scratch.mount("ext4", size="64M")
    with open(f"{place}/data", "wb") as file:
        file.write(os.urandom(8 << 20))
    run("sync", "-f", place)
    shim = start_capture(place, f"{scratch.path}/gone.zst")
    before, _ = read_all(f"{place}/data")
    # The image loses all but its start, and the cache forgets: what an unplugged disk looks like.
    run("truncate", "-s", "1M", f"{scratch.path}/ram/ext4.img")
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as control:
        control.write("3\n")
    answer, seconds = read_all(f"{place}/data")
    subprocess.run([shim_program(), "stop", place], stdout=subprocess.DEVNULL, check=False)
    status = ends(shim)
    native, _ = read_all(f"{place}/data")
    cases.case("a lost disk's error arrives, and at once", before == (8 << 20, 0) and answer[1] == native[1] != 0 and seconds < PATIENCE,
               f"before {before}, shim {answer} after {seconds:.1f} s, native {native}")
    verified = subprocess.run([fstrace_program(), "verify", f"{scratch.path}/gone.zst"], capture_output=True, check=False).returncode
    cases.case("its trace is whole", status == 0 and verified == 0, f"capture {status}, verify {verified}")


def hang(cases, scratch):
    """A lower file system that answers no change for a while, as one does whose server is away: frozen. In a directory in which a file
    is being made the kernel lets nobody look names up through FUSE: the reader works in another."""
    place, beside, trace = scratch.mount("xfs"), f"{scratch.path}/beside", f"{scratch.path}/hang.zst"
    os.mkdir(beside)
    run("mount", "--bind", place, beside)
    os.mkdir(f"{place}/written")
    os.mkdir(f"{place}/read")
    with open(f"{place}/read/data", "wb") as file:
        file.write(b"x" * 65536)
    shim = start_capture(place, trace)
    answer, listed, waits = "", "", False
    run("fsfreeze", "-f", beside)
    try:
        writer = subprocess.Popen(["sh", "-c", f"echo new >{place}/written/new"])
        time.sleep(2)  # its shell has begun long before
        answer = run("wc", "-c", f"{place}/read/data", timeout=PATIENCE).split()[0]
        listed = run(shim_program(), "list", timeout=PATIENCE)
        waits = writer.poll() is None
    except subprocess.TimeoutExpired as e:
        answer = str(e)
    finally:
        run("fsfreeze", "-u", beside)
    cases.case("a change waits as long as the file system below", waits and ends(writer) == 0 and os.path.getsize(f"{place}/written/new") == 4)
    cases.case("meanwhile others are served, and the capture answers", answer == "65536" and place in listed, f"{answer}, {listed}")
    subprocess.run([shim_program(), "stop", place], stdout=subprocess.DEVNULL, check=False)
    status = ends(shim)
    longest = max(json.loads(line).get("duration", 0) for line in run(fstrace_program(), "dump", "--json", trace).splitlines())
    cases.case("the wait is in the trace", status == 0 and longest > 0.5e9, f"status {status}, longest {longest} ns")


def main():
    if sys.argv[1:2] == ["--client"]:
        return client(sys.argv[2], int(sys.argv[3]))
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    cases = Cases()
    with Scratch() as scratch:
        kills(cases, scratch, rounds, seed)
        full(cases, scratch)
        disk_gone(cases, scratch)
        hang(cases, scratch)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
