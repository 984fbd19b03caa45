#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Directories are closed and opened again 10,000 times, or as often as the argument says, while others walk through them: once the
call that closes one has returned, another user must not get through, and once it was opened must."""
import ctypes
import os
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes"))
from captured import Capture, make_scratch, remove  # noqa: E402

TOGGLES = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
STRANGER = 12345
LIBC = ctypes.CDLL(None)


def may_pass(path):
    """As the stranger. The thread has all its groups, which count for nothing here."""
    LIBC.setfsuid(STRANGER)
    try:
        os.stat(path)
        return True
    except PermissionError:
        return False
    finally:
        LIBC.setfsuid(0)


def by_mode(top):
    gate = top + "/gate"
    return (lambda: os.chmod(gate, 0o700)), (lambda: os.chmod(gate, 0o755)), lambda: f"{gate}/a/b/f"


def by_rename(top):
    where = ["gate"]

    def move(to):
        os.rename(f"{top}/{where[0]}/a", f"{top}/{to}/a")
        where[0] = to

    return (lambda: move("private")), (lambda: move("gate")), lambda: f"{top}/{where[0]}/a/b/f"


def toggle(top, how, times, pipe):
    close, reopen, path = how(top)
    leaks = refusals = 0
    for _ in range(times):
        close()
        leaks += may_pass(path())
        reopen()
        refusals += not may_pass(path())
    os.write(pipe, f"{leaks} {refusals}\n".encode())


def walk(tops, user):
    if user:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    while True:
        for top in tops:
            for place in ("gate", "private"):
                try:
                    os.stat(f"{top}/{place}/a/b/f")
                except OSError:
                    pass


def in_child(function, *args):
    pid = os.fork()
    if pid == 0:
        try:
            function(*args)
        except BaseException as e:  # noqa: B902
            print(f"not ok - toggles: {e!r}", flush=True)
        os._exit(0)
    return pid


def run(directory):
    ways = {"mode": by_mode, "rename": by_rename}
    tops = [f"{directory}/{name}" for name in ways]
    os.umask(0)
    for top in tops:
        os.makedirs(f"{top}/gate/a/b", 0o755)
        os.mkdir(f"{top}/private", 0o700)
        os.close(os.open(f"{top}/gate/a/b/f", os.O_CREAT, 0o644))
    walkers = [in_child(walk, tops, user) for user in (0, STRANGER)]
    start = time.monotonic()
    reports = {}
    for name, how in ways.items():
        r, w = os.pipe()
        pid = in_child(toggle, f"{directory}/{name}", how, TOGGLES // len(ways), w)
        os.close(w)
        reports[name] = pid, r
    failed = 0
    for name, (pid, r) in reports.items():
        said = os.read(r, 100).decode().strip()
        os.waitpid(pid, 0)
        os.close(r)
        case = f"{TOGGLES // len(ways)} toggles by {name}"
        if said == "0 0":
            print(f"ok - {case}")
        else:
            failed += 1
            print(f"not ok - {case}: leaks and wrong refusals: {said or 'no report'}")
    for pid in walkers:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print(f"{time.monotonic() - start:.1f} s")
    return failed


def main():
    scratch = make_scratch()
    directory = scratch + "/shim"
    os.mkdir(directory, 0o755)
    try:
        with Capture(directory) as capture:
            failed = run(directory)
        if capture.status != 0:
            print(f"not ok - the capture ended with {capture.status}")
            failed += 1
    finally:
        remove(scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
