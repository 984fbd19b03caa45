#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that get no answer: because the file system beneath hangs (a frozen ext4), which stalls nothing else, or because the capture
itself does not go on (its trace's disk hangs). They are named, and a capture can always be aborted."""
import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness"]
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program, take_descriptors  # noqa: E402

STUCK = 80
PATIENCE = 30


def wait_until(true):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def start(directory, trace, *options):
    """A capture for all to see, whose messages go to a file beside the directory."""
    with open(f"{directory}.err", "w", encoding="utf-8") as errors:
        process = subprocess.Popen([shim_program(), "capture", directory, "-o", trace, *options], stderr=errors)
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        while f" {directory} " not in "".join(line for line in mounts if "fuse.fsshim" in line) and process.poll() is None:
            time.sleep(0.05)
            mounts.seek(0)
    return process


def said(directory):
    with open(f"{directory}.err", encoding="utf-8") as errors:
        return errors.read()


def listed(directory):
    return next((c for c in json.loads(run(shim_program(), "list", "--json")) if c["directory"] == directory), {})


def answers(*command, stdin=None):
    """Its status, or None if it has to be killed."""
    process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        return None


def halt(process):
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # all its threads


def blocked(process):
    """Whether it sleeps until a request of FUSE is answered."""
    with open(f"/proc/{process}/wchan", encoding="utf-8") as channel:
        where = channel.read()
    return "fuse" in where or "request_wait" in where


def hung_beneath(cases, scratch):
    top = f"{scratch.path}/top"
    os.mkdir(top)
    os.mkdir(f"{top}/good")
    image = scratch.mount("ext4", "64M")
    os.mkdir(f"{top}/hung")
    for i in range(STUCK):
        os.mkdir(f"{image}/{i}")  # the kernel itself lets only one at a time make something in a directory
    run("mount", "--bind", image, f"{top}/hung")
    trace = f"{scratch.path}/hung.zst"
    capture = start(top, trace, "--stall", "1s", "--on-stall", "abort")
    run("fsfreeze", "-f", image)
    try:
        stuck = [subprocess.Popen(["touch", f"{top}/hung/{i}/f"], stderr=subprocess.DEVNULL) for i in range(STUCK)]
        cases.case("requests without an answer are counted", wait_until(lambda: listed(top).get("stalled", 0) == STUCK),
                   listed(top).get("stalled"))
        entry = listed(top)
        cases.case("list names caller and call", any(f"by thread {p.pid} (touch)" in entry["stalls"] for p in stuck) and
                   "fsshim waits for the underlying file system, in " in entry["stalls"], entry)
        cases.case("so do the messages", "no reply yet to " in said(top), said(top)[-300:])
        cases.case("what does not touch it goes on", answers("sh", "-c", f"echo x >{top}/good/f && cat {top}/good/f") == 0)
        cases.case("it is not aborted for that", "aborted" not in said(top) and all(p.poll() is None for p in stuck))
        cases.case("abort ends it", answers(shim_program(), "abort", top) == 0)
        cases.case("whoever waits gets an error", all(p.wait(PATIENCE) != 0 for p in stuck))
        cases.case("the directory is usable at once", wait_until(lambda: not os.path.ismount(top)) and answers("touch", f"{top}/good/g") == 0)
        cases.case("the trace is complete at once", wait_until(lambda: listed(top).get("state") == "serving") and
                   answers(fstrace_program(), "verify", trace) == 0, (listed(top), said(top)[-300:]))
    finally:
        run("fsfreeze", "-u", image)
    cases.case("the capture ends", capture.wait(PATIENCE) in (0, 1), said(top)[-300:])


def hung_inside(cases, scratch):
    """A file system inside that answers nothing: another capture, which is stopped."""
    top = f"{scratch.path}/outer"
    os.makedirs(f"{top}/slow/d")
    os.mkdir(f"{top}/many")
    inner = start(f"{top}/slow", f"{scratch.path}/inner.zst")
    outer = start(top, f"{scratch.path}/outer.zst")
    hung_at_flush(cases, top, inner)
    hung_at_open(cases, top, inner, outer)
    for directory, capture in ((top, outer), (f"{top}/slow", inner)):
        run(shim_program(), "stop", directory)
        cases.case("it ends", capture.wait(PATIENCE) == 0, said(directory)[-300:])


def hung_at_flush(cases, top, inner):
    locked = "import fcntl, os, sys\nf = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\nfcntl.lockf(f, fcntl.LOCK_EX)\nprint(flush=True)\nsys.stdin.read()\n"
    with subprocess.Popen([sys.executable, "-c", locked, f"{top}/slow/f"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        halt(inner)
        try:
            holder.stdin.close()
            cases.case("a close that hangs is under way", wait_until(lambda: "flush" in listed(top).get("stalls", "") or blocked(holder.pid)))
            cases.case("locks and closes elsewhere go on", answers("flock", f"{top}/good", sys.executable, "-c", locked.replace("sys.stdin.read()", ""), f"{top}/good") == 0)
        finally:
            inner.send_signal(signal.SIGCONT)


def hung_at_open(cases, top, inner, outer):
    """What the capture had closed for want of descriptors it opens again."""
    asks = "import os, sys; d = os.open(sys.argv[1], os.O_PATH); print(flush=True); sys.stdin.read(); os.fstat(d)"
    with subprocess.Popen([sys.executable, "-c", asks, f"{top}/slow/d"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        take_descriptors(outer.pid, f"{top}/many")
        halt(inner)
        try:
            holder.stdin.close()
            cases.case("a stat that hangs is under way", wait_until(lambda: blocked(holder.pid)))
            if cases.case("stats elsewhere go on", answers("stat", f"{top}/many/1", f"{top}/good") == 0):
                take_descriptors(outer.pid, f"{top}/many")
                cases.case("also for want of descriptors", answers("stat", f"{top}/many/1", f"{top}/good") == 0)
        finally:
            inner.send_signal(signal.SIGCONT)
        cases.case("it gets its answer later", holder.wait(PATIENCE) == 0)


def hung_itself(cases, scratch):
    top = f"{scratch.path}/own"
    os.mkdir(top)
    image = f"{scratch.path}/ext4"
    trace = f"{image}/t.zst"
    capture = start(top, trace, "--stall", "1s", "--on-stall", "abort", "--ring", "1ms")
    run("fsfreeze", "-f", image)
    try:
        client = answers(sys.executable, "-c", f"import os\nwhile True: os.statvfs('{top}')")
        cases.case("a capture that hangs itself is aborted when that is asked for", client == 1, client)
    finally:
        run("fsfreeze", "-u", image)
    cases.case("and ends with status 1", capture.wait(PATIENCE) == 1)
    cases.case("it says why", "connection aborted" in said(top), said(top)[-300:])


def hung_at_close(cases, scratch):
    """The trace's disk hangs when the trace is to be completed, with the messages' file on it."""
    top = f"{scratch.path}/close"
    os.mkdir(top)
    image = f"{scratch.path}/ext4"
    run(shim_program(), "capture", top, "-o", f"{image}/c.zst", "--background")
    process = listed(top)["pid"]
    held = os.open(f"{top}/f", os.O_RDWR | os.O_CREAT)
    os.write(held, b"x")
    run("fsfreeze", "-f", image)
    try:
        stop = subprocess.Popen([shim_program(), "stop", top], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        cases.case("a trace whose disk hangs is being closed, list says", wait_until(lambda: listed(top).get("state") == "closing"),
                   listed(top))
        cases.case("open files are served meanwhile",
                   answers(sys.executable, "-c", "import os, sys; sys.exit(os.pread(0, 1, 0) != b'x')", stdin=held) == 0)
        cases.case("the directory is free", answers("touch", f"{top}/g") == 0 and "fuse" not in run("stat", "-fc", "%T", top))
        # Before it says that it waits for the disk, signals cut nothing off.
        cases.case("its end can be given up", wait_until(lambda: os.kill(process, signal.SIGTERM) or stop.poll() is not None))
        said_by_stop = stop.communicate()[1]
        cases.case("stop says so", stop.returncode == 1 and "the last part of the trace was not written" in said_by_stop, said_by_stop)
    finally:
        run("fsfreeze", "-u", image)
    cases.case("the process is gone when the disk is back", wait_until(lambda: not os.path.exists(f"/proc/{process}")))


def main():
    cases = Cases()
    with Scratch() as scratch:
        hung_beneath(cases, scratch)
        hung_inside(cases, scratch)
        hung_itself(cases, scratch)
        hung_at_close(cases, scratch)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
