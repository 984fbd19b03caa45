#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How captures are found and asked: whoever asks one waits for no other client of it and no other capture, and reaches the right one."""
import contextlib
import glob
import json
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [f"{os.path.dirname(os.path.abspath(__file__))}/../harness"]
from captures import PATIENCE, Capture, connection_of, wait_until  # noqa: E402
from lower_fs import Cases, Scratch, run, shim_program  # noqa: E402

SOCKETS = "/run/fsshim"


def listed(directory):
    return next((c for c in json.loads(run(shim_program(), "list", "--json")) if c["directory"] == directory), {})


def sockets_of(process):
    count = 0
    for fd in glob.glob(f"/proc/{process.pid}/fd/*"):
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            count += os.readlink(fd).startswith("socket:")
    return count


def stop(directory):
    """Status, and what was said."""
    try:
        done = subprocess.run([shim_program(), "stop", directory], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return None, "it waits"
    return done.returncode, done.stdout


def silent_clients(cases, capture):
    """More than its listener's queue holds, fewer than it keeps at a time."""
    clients = []
    for _ in range(40):
        client = socket.socket(socket.AF_UNIX)
        client.connect(f"{SOCKETS}/{capture.process.pid}.sock")
        clients.append(client)
    cases.case("clients that connect and ask nothing hold up nobody", listed(capture.directory).get("state") == "recording",
               listed(capture.directory))
    clients[0].send(b"status")
    cases.case("they are answered when they ask", b"state=recording" in clients[0].recv(65536))
    for _ in range(60):
        client = socket.socket(socket.AF_UNIX)
        client.connect(f"{SOCKETS}/{capture.process.pid}.sock")
        clients.append(client)
    wait_until(lambda: sockets_of(capture.process) < 80)
    cases.case("those that came first are sent away when there are many", clients[1].recv(1) == b"" and
               listed(capture.directory).get("state") == "recording", sockets_of(capture.process))
    for client in clients:
        client.close()


def while_closing(image, old, new, look):
    """Has a capture of `old` end, held up by the frozen disk of its trace, and `look` at one of `new` if its mount has got the number of
    the other's, which any mount on this machine may get. The status and words of the former's stop, None if `look` was not called."""
    for directory in (old, new):
        os.mkdir(directory)
    ending = Capture(old, f"{image}/{os.path.basename(old)}.zst")
    number = connection_of(old)
    run("fsfreeze", "-f", image)
    try:
        first = subprocess.Popen([shim_program(), "stop", old], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_until(lambda: listed(old).get("state") == "closing")
        wait_until(lambda: not os.path.exists(ending.connection))
        capture = Capture(new, f"{new}.zst")
        same = connection_of(new) == number
        if same:
            look(capture)
    finally:
        run("fsfreeze", "-u", image)
    said = first.communicate()[0]
    capture.end()
    ending.process.wait(PATIENCE)
    return (first.returncode, said) if same else None


def same_device(cases, scratch):
    """Tests a capture that is still ending when a newer capture gets the number of its mount: neither is taken for the other."""
    image = scratch.mount("ext4", "64M")

    def stopped(capture):
        status, said = stop(capture.directory)
        cases.case("stop reaches the capture of that mount, not one that had its number before",
                   status == 0 and capture.end() == 0, said)

    def goes_on(capture):
        done = subprocess.run([shim_program(), "abort", capture.directory.replace("/new", "/old")], stderr=subprocess.PIPE, text=True,
                              check=False)
        cases.case("neither does abort", done.returncode == 1 and os.path.isdir(capture.directory), done.stderr)

    number = 0
    for look in (stopped, goes_on):
        ended = None
        while ended is None and number < 40:
            number += 1
            ended = while_closing(image, f"{scratch.path}/old{number}", f"{scratch.path}/new{number}", look)
        cases.case(f"a capture that ended is not called mounted for another with its number ({look.__name__})",
                   ended and ended[0] == 0, ended or "never had another its number")


def main():
    cases = Cases()
    with Scratch() as scratch:
        one, other = f"{scratch.path}/one", f"{scratch.path}/other"
        os.mkdir(one)
        os.mkdir(other)
        capture = Capture(one, f"{scratch.path}/one.zst")
        alone = sockets_of(capture.process)
        second = Capture(other, f"{scratch.path}/other.zst")
        cases.case("a capture that starts beside others keeps no connection to them", sockets_of(second.process) == alone,
                   f"{sockets_of(second.process)} sockets, the first has {alone}")
        second.end()
        silent_clients(cases, capture)
        cases.case("a capture ends", capture.end() == 0)
        same_device(cases, scratch)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
