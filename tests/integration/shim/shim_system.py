#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures of directories that the system, and the capture itself, live in: /usr, /etc and /var at once, /run with the sockets by which
captures are reached, and what can't be captured. In a mount namespace of its own: the machine sees none of it."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness"]
from captures import PATIENCE, Capture  # noqa: E402
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program  # noqa: E402

SYSTEM = ("/usr", "/etc", "/var")
# What uses the loader, locales, time zones, the name service, package databases, interpreters.
WORK = ("ls -l /usr/bin /etc /var/lib >/dev/null && getent passwd root && id nobody && TZ=Europe/Berlin date && date && locale -a &&"
        " LC_ALL=C.UTF-8 perl -e 'print 1' && dpkg -s libc6 >/dev/null && python3 -c 'import json, socket; socket.getaddrinfo"
        '("localhost", 80)\' && copy=$(mktemp -p /var/tmp fsshim-system.XXXXXX) && cp /etc/passwd "$copy" && rm "$copy"')


def own_operations(trace, pid):
    """Operations of a capture upon itself: each may wait for the one that made it."""
    dump = run(fstrace_program(), "dump", "--json", trace)
    return [line for line in dump.splitlines() if json.loads(line).get("pid") == pid]


def refused(cases, name, words, *command):
    done = subprocess.run([shim_program(), "capture", *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
    cases.case(name, done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, f"{done.returncode}: {done.stderr}")


def answered(*command):
    """Empty, or what went wrong."""
    try:
        done = subprocess.run([shim_program(), *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return "it hangs"
    return "" if done.returncode == 0 else done.stdout + done.stderr


def system(cases, scratch):
    captures = [Capture(directory, f"{scratch.path}{directory}.zst", "--rotate", "1G") for directory in SYSTEM]
    why = captures[0].runs("sh", "-c", WORK)
    cases.case("programs work with /usr, /etc and /var captured", not why, why)
    listed = {c["directory"]: c["state"] for c in json.loads(run(shim_program(), "list", "--json", timeout=PATIENCE))}
    cases.case("list shows them", all(listed.get(d) == "recording" for d in SYSTEM), listed)
    for capture in reversed(captures):  # the first ones serve the programs and libraries of later ones
        why = answered("rotate", capture.directory) or answered("stop", capture.directory)
        cases.case(f"{capture.directory}: rotate, stop", not why and capture.process.wait(PATIENCE) == 0, why)
        if why == "it hangs":
            capture.abort()
        own = own_operations(capture.trace, capture.process.pid)
        cases.case(f"{capture.directory}: the capture made no requests to itself", not own, own[:5])


def swap(cases, scratch):
    """Swap files have to be activated where they really lie."""
    lower = f"{scratch.mount('ext4', '64M')}/d"
    os.mkdir(lower)
    run("dd", "if=/dev/zero", f"of={lower}/swap", "bs=1M", "count=8", "status=none")
    run("mkswap", f"{lower}/swap")
    os.chmod(f"{lower}/swap", 0o600)
    capture = Capture(lower, f"{scratch.path}/swap.zst")
    done = subprocess.run(["swapon", f"{lower}/swap"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    cases.case("a swap file can't be activated through a capture", done.returncode != 0 and "Invalid argument" in done.stderr, done.stderr)
    why = capture.runs("rm", "swap")
    cases.case("it is a file as others", not why and capture.end() == 0, why)


def main():
    if "--inside" not in sys.argv:
        os.execvp("unshare", ["unshare", "--mount", sys.executable, os.path.abspath(__file__), "--inside"])
    cases = Cases()
    with Scratch() as scratch:
        system(cases, scratch)
        trace = f"{scratch.path}/t.zst"
        refused(cases, "the root directory is refused", "/: can't be captured", "/", "-o", trace)
        refused(cases, "with a command too", "/: can't be captured", "/", "-o", trace, "--", "true")
        refused(cases, "/proc is refused", "/proc: can't be captured", "/proc", "-o", trace)
        refused(cases, "/run is refused", "capture a subdirectory", "/run", "-o", trace)
        cases.case("no file is left of that", not os.path.exists(trace))
        why = answered("capture", "/run", "-o", trace, "--", "ls", "-R", "/run")
        cases.case("a command may work in /run", not why, why)
        capture = Capture("/sys", f"{scratch.path}/sys.zst")
        why = answered("abort", "/sys")
        cases.case("a capture of /sys can be aborted", not why and capture.process.wait(PATIENCE) == 0, why)
        swap(cases, scratch)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
