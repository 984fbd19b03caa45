#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients and the capture itself in want of memory: mapped pages that were changed can be given up only by writing them through the
capture. Nobody waits for ever, and nothing is lost. The capture keeps to the memory and the threads that its group may have.

usage: shim_memory.py             all of it
       shim_memory.py --in WHAT   one of the programs below, in the captured directory (what the former runs)
"""
import errno
import fcntl
import mmap
import os
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness"]
from captures import PATIENCE, Capture  # noqa: E402
from cgroups import ControlGroup  # noqa: E402
from lower_fs import Cases, Scratch, fstrace_program, shim_program  # noqa: E402

USER, OTHER = 1000, 1001
THREADS = 100  # that the group of a capture may have; half of them may be waiting for locks of one user
MAPPED = 8 << 20  # bytes of the file that a client maps which is killed
DIRTIED = 48 << 20  # of each of those that share a group with the capture, which is less than they all need
ME = [sys.executable, os.path.abspath(__file__), "--in"]


def number_pages(name, size):
    """Locks a file and changes each of its pages through a mapping, which is returned."""
    f = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
    os.truncate(f, size)
    fcntl.flock(f, fcntl.LOCK_EX)
    m = mmap.mmap(f, size)
    for at in range(0, size, 4096):
        m[at:at + 8] = at.to_bytes(8, "little")
    return m


def is_numbered(name, size):
    with open(name, "rb") as f:
        return all(f.read(4096)[:8] == at.to_bytes(8, "little") for at in range(0, size, 4096))


def killed():
    """Has changed pages and threads at work, and then takes memory until it is killed."""
    taken = [number_pages("mapped", MAPPED)]

    def work(i):
        while True:
            with open(f"w{i}", "wb") as f:
                f.write(b"x" * 100_000)
    for i in range(4):
        threading.Thread(target=work, args=(i,), daemon=True).start()
    while True:
        taken.append(bytearray(b"x") * (1 << 20))


def dirty():
    """Changes more pages than its group has memory, and reads and writes beside that."""
    name = f"dirty{os.getpid()}"
    number_pages(name, DIRTIED)
    assert is_numbered(name, DIRTIED)


def lock_as(user, path):
    """Waits for a lock as this user, in a process of its own; its status is 0, or an errno."""
    pid = os.fork()
    if pid == 0:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        try:
            fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX)
        except OSError as e:
            os._exit(e.errno)
        os._exit(0)
    return pid


def ended(pids):
    """Takes the statuses of those that have ended out of the list."""
    found = []
    for pid in list(pids):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            pids.remove(pid)
            found.append(os.waitstatus_to_exitcode(status))
    return found


PROGRAMS = {p.__name__: p for p in (killed, dirty)}


def client_killed(cases, scratch, capture):
    with ControlGroup(scratch, "memory") as group:
        group.limit_memory(40 << 20)
        process = subprocess.Popen(group.command(*ME, "killed"), cwd=capture.directory)
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            capture.abort()
            status = None
        cases.case("a client is killed for want of memory", status == -9 and group.killed(), status)
    why = capture.runs("flock", "-w", "5", "mapped", "true")
    cases.case("its lock is free", not why, why)
    cases.case("what it had written through a mapping is there", is_numbered(f"{capture.directory}/mapped", MAPPED))


def together(cases, scratch, lower):
    """A capture in a group with clients that change more pages than there is memory for all of them."""
    trace = f"{scratch.path}/together.zst"
    with ControlGroup(scratch, "memory") as group:
        group.limit_memory(96 << 20)
        capture = Capture(lower, trace, "--ring", "10ms", prefix=group.command())
        clients = [subprocess.Popen(group.command(*ME, "dirty"), cwd=lower) for _ in range(3)]
        try:
            statuses = [client.wait(PATIENCE * 2) for client in clients]
        except subprocess.TimeoutExpired:
            capture.abort()
            statuses = ["they hang"]
        cases.case("a capture that shares scarce memory with its clients serves them", statuses == [0, 0, 0], statuses)
        cases.case("it is alive, and ends", capture.process.poll() is None and capture.end() == 0)
    cases.case("its trace is complete", subprocess.run([fstrace_program(), "verify", trace], check=False).returncode == 0)
    names = [f"{lower}/dirty{client.pid}" for client in clients]
    cases.case("all that was changed is there", all(is_numbered(name, DIRTIED) for name in names))


def small_group(cases, scratch, lower):
    """A capture that may not have the memory that its rings would take on this machine, and one of 10,000 files in it."""
    trace = f"{scratch.path}/small.zst"
    with ControlGroup(scratch, "memory") as group:
        group.limit_memory(160 << 20)
        capture = Capture(lower, trace, "--ring", "60s", prefix=group.command())
        why = capture.runs("sh", "-c", "mkdir many && cd many && seq 10000 | xargs touch && cd .. && rm -r many")
        cases.case("a capture takes no more memory than its group has", not why and capture.end() == 0, why)


def few_threads(cases, scratch, lower):
    """One user's lock requests wait in no more than half of the threads that a capture may have: others' go on."""
    for name in ("held", "others"):
        with open(f"{lower}/{name}", "w", encoding="ascii"):
            os.chmod(f"{lower}/{name}", 0o666)
    with ControlGroup(scratch, "pids") as group:
        group.limit_threads(THREADS)
        capture = Capture(lower, f"{scratch.path}/threads.zst", prefix=group.command())
        with open(f"{lower}/held", "wb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            waiting = [lock_as(USER, f"{lower}/held") for _ in range(THREADS)]
            refused, end = [], time.monotonic() + PATIENCE
            while len(waiting) > THREADS // 2 and time.monotonic() < end:
                refused += ended(waiting)
                time.sleep(0.01)
            cases.case("one user's waiting locks take half of the threads", len(waiting) == THREADS // 2 and set(refused) == {errno.ENOLCK},
                       (len(waiting), refused))
            other = [lock_as(OTHER, f"{lower}/held")]
            why = capture.runs("flock", "-w", "5", "others", "sh", "-c", "ls -l . >/dev/null && echo x >others")
            cases.case("others' requests and locks go on", not why and not ended(other), why)
            fcntl.flock(held, fcntl.LOCK_UN)  # those that wait have inherited it
        left, end, statuses = waiting + other, time.monotonic() + PATIENCE, []
        while left and time.monotonic() < end:
            statuses += ended(left)
            time.sleep(0.01)
        cases.case("all that waited get the lock", not left and set(statuses) == {0}, (left, statuses))
        cases.case("and it ends", capture.end() == 0)


def main():
    if len(sys.argv) > 2:
        PROGRAMS[sys.argv[2]]()
        return 0
    cases = Cases()
    with Scratch() as scratch:
        point = scratch.mount("ext4", "512M")
        # The file system's image has its memory before anybody is short of it.
        subprocess.run(["fallocate", "-l", "512M", f"{scratch.path}/ram/ext4.img"], check=True)
        lower = f"{point}/d"
        os.mkdir(lower)
        capture = Capture(lower, f"{scratch.path}/t.zst")
        client_killed(cases, scratch, capture)
        cases.case("the capture ends", capture.end() == 0)
        together(cases, scratch, lower)
        small_group(cases, scratch, lower)
        few_threads(cases, scratch, lower)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
