#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way to end a capture while processes are at work below it and lock requests wait: the capture ends in time, with the status that
the way has. Builds with a sanitizer look at what its threads do meanwhile."""
import concurrent.futures
import ctypes
import fcntl
import mmap
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from captures import CONNECTIONS, connection_of, wait_until  # noqa: E402
from lower_fs import Cases, Scratch, run, shim_program  # noqa: E402

PATIENCE = 60  # seconds; sanitizers are slow
WORK = 0.5     # seconds for which clients are at work before an ending
PR_SET_PDEATHSIG = 1


def of_ranges(fd, kind):
    fcntl.lockf(fd, kind, 100, 0)


def at_once_on_all(act):
    """Does it until the capture that served it is gone, and in what is there then."""
    while True:
        try:
            act()
        except OSError:
            time.sleep(0.01)


def locks(directory, lock):
    fd = os.open(f"{directory}/lock-{lock.__name__}", os.O_RDWR | os.O_CREAT)

    def turn():
        lock(fd, fcntl.LOCK_EX)
        time.sleep(0.02)
        lock(fd, fcntl.LOCK_UN)

    at_once_on_all(turn)


def files(directory, number):
    name = f"{directory}/file-{number}"

    def turn():
        with open(name, "w+b") as f:
            f.write(os.urandom(6000))
            f.flush()
            with mmap.mmap(f.fileno(), 4096) as m:
                m[0] = m[1]
            with open("/dev/null", "wb") as to:
                os.sendfile(to.fileno(), f.fileno(), 0, 8192)
            f.seek(0)
            f.read()
        os.setxattr(name, "user.a", b"x")
        os.rename(name, f"{name}-renamed")
        os.listdir(directory)
        os.unlink(f"{name}-renamed")
        time.sleep(0.005)  # traces with content fit into their file system

    at_once_on_all(turn)


def clients(directory, count):
    """Works below the directory with that many processes for each kind of lock, and two more. Writes a line when they are there."""
    work = [(locks, (directory, lock)) for lock in (fcntl.flock, of_ranges) for _ in range(count)]
    work += [(files, (directory, number)) for number in range(2)]
    for act, arguments in work:
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            act(*arguments)
    print("work", flush=True)
    signal.pause()


class Work:
    """Clients, until it ends; not under the capture's eyes."""

    def __init__(self, directory):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--clients", directory, "4"],
                                        stdout=subprocess.PIPE)
        self.process.stdout.readline()
        time.sleep(WORK)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def abort(directory):
    with open(f"{CONNECTIONS}/{connection_of(directory)}/abort", "w", encoding="ascii") as f:
        f.write("1")


def send(*numbers):
    """An ending by signals."""
    def act(process, _directory, _traces):
        for number in numbers:
            process.send_signal(number)
            time.sleep(0.05)
    return act


def stop(*options):
    def act(_process, directory, _traces):
        subprocess.run([shim_program(), "stop", directory, *options], check=False, capture_output=True)
    return act


def rotate_and_stop(_process, directory, _traces):
    for _ in range(3):
        subprocess.run([shim_program(), "rotate", directory], check=False, capture_output=True)
        subprocess.run([shim_program(), "list", "--json"], check=False, capture_output=True)
    subprocess.run([shim_program(), "stop", directory], check=False, capture_output=True)


def fill_disk(process, _directory, traces):
    try:
        with open(f"{traces}/filler", "wb", buffering=0) as f:
            while f.write(bytes(1 << 16)):
                pass
    except OSError:
        pass
    time.sleep(WORK)
    process.terminate()


def remove_traces(process, _directory, traces):
    shutil.rmtree(f"{traces}/t")
    process.terminate()


# Name, options, what ends it, status.
ENDINGS = (
    ("SIGTERM", (), send(signal.SIGTERM), 0),
    ("SIGINT twice", (), send(signal.SIGINT, signal.SIGINT), 0),
    ("stop", ("--content", "full"), stop(), 0),
    ("stop --now where mappings are seen", ("--mappings", "seen"), stop("--now"), 0),
    ("stop after rotations", ("--content", "fingerprint"), rotate_and_stop, 0),
    ("its connection is aborted", (), lambda _process, directory, _traces: abort(directory), 0),
    ("umount", (), lambda _process, directory, _traces: run("umount", "-l", directory), 0),
    ("--max-time", ("--max-time", "1s"), lambda *_: None, 0),
    ("--max-size", ("--max-size", "64k", "--content", "full"), lambda *_: None, 0),
    ("the trace's disk is full", ("--content", "full"), fill_disk, 1),
    ("the trace's directory is removed", ("--content", "full"), remove_traces, 1),
)


def ended(process, patience=PATIENCE):
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        return None


def over_directory(cases, directory, traces, ending):
    name, options, act, expected = ending
    process = subprocess.Popen([shim_program(), "capture", directory, "-o", f"{traces}/t/x.zst", *options],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: connection_of(directory) or process.poll() is not None)
    work = Work(directory)
    act(process, directory, traces)
    status = ended(process, 1)
    work.end()  # who has files open there keeps the capture
    if status is None:
        status = ended(process)
    if status is None:
        abort(directory)
        process.kill()
    said = process.communicate()[1]
    cases.case(f"ends in time, with its status: {name}", status == expected, (status, said[-1000:]))


def around_command(cases, directory, traces, count):
    """The command is killed, and its clients with it."""
    command = ["timeout", "-s", "KILL", "1", sys.executable, os.path.abspath(__file__), "--clients", directory, count]
    process = subprocess.Popen([shim_program(), "capture", directory, "-o", f"{traces}/t/x.zst", "--", *command],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    status = ended(process)
    if status is None:
        process.kill()
    said = process.communicate()[1]
    cases.case(f"ends in time, with its status: a command with {count} waiting for each lock", status == 137, (status, said[-1000:]))


def main():
    cases = Cases()
    with Scratch() as scratch:
        if not os.path.ismount(CONNECTIONS):
            run("mount", "-t", "fusectl", "none", CONNECTIONS)
        tmpfs = scratch.mount("tmpfs", size="256M")
        work = [(over_directory, ending) for ending in ENDINGS] + [(around_command, count) for count in ("4", "40")]

        def one(number):
            act, argument = work[number]
            directory, traces = f"{tmpfs}/{number}", f"{scratch.path}/traces-{number}"
            os.mkdir(directory)
            os.mkdir(traces)
            run("mount", "-t", "tmpfs", "-o", "size=64M", "none", traces)
            os.mkdir(f"{traces}/t")
            act(cases, directory, traces, argument)

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(one, number) for number in range(len(work))]:
                done.result()
    return cases.status()


if sys.argv[1:2] == ["--clients"]:
    clients(sys.argv[2], int(sys.argv[3]))
else:
    sys.exit(main())
