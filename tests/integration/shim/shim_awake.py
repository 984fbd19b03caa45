#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`--awake`: the kernel keeps processors from sleeping while many requests come, no longer, and not after a capture that was killed; the
trace and the end of the capture tell it. Who may not decide that gets a message."""
import contextlib
import os
import re
import struct
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
sys.path[:0] = [f"{os.path.dirname(os.path.abspath(__file__))}/../harness"]
from captures import Capture, wait_until  # noqa: E402
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program  # noqa: E402

DEVICE = "/dev/cpu_dma_latency"


def kept_awake():
    """What the kernel keeps for all processes of the machine: us in which a processor must be awake."""
    with open(DEVICE, "rb") as device:
        return struct.unpack("=i", device.read(4))[0] == 0


class Load:
    """Much more than 1,000 requests a second, until the end of the body."""

    def __init__(self, directory):
        self.directory, self.goes_on = directory, True
        self.thread = threading.Thread(target=self.run)

    def run(self):
        with contextlib.suppress(OSError):  # a capture that was killed
            while self.goes_on:
                os.close(os.open(f"{self.directory}/file", os.O_CREAT | os.O_RDWR))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.goes_on = False
        self.thread.join()


def reached(state):
    try:
        wait_until(state)
        return True
    except RuntimeError:
        return False


def refused(cases, scratch, *prefix):
    directory, traces = f"{scratch.path}/refused", f"{scratch.path}/traces"
    os.mkdir(directory)
    os.mkdir(traces)
    done = subprocess.run([*prefix, shim_program(), "capture", directory, "--awake", "-o", f"{traces}/none.zst", "--", "true"],
                          capture_output=True, text=True, check=False)
    cases.case("who may not write to the device gets a line, and no capture", done.returncode != 0 and done.stderr.count("\n") == 1
               and f"--awake: {DEVICE}: " in done.stderr and "leave --awake out" in done.stderr, done.stderr)


def main():
    cases = Cases()
    with Scratch() as scratch:
        if not os.access(DEVICE, os.W_OK):  # as in some containers
            refused(cases, scratch)
            return cases.status()
        refused(cases, scratch, "unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$0" && mount -o remount,bind,nodev "$0" && exec "$@"', DEVICE)
        directory, trace = f"{scratch.path}/one", f"{scratch.path}/one.zst"
        os.mkdir(directory)
        with open(f"{scratch.path}/said", "w+", encoding="utf-8") as said:
            stderr = os.dup(2)
            os.dup2(said.fileno(), 2)
            capture = Capture(directory, trace, "--awake")
            os.dup2(stderr, 2)
            cases.case("processors may sleep beside a capture without load", reached(lambda: not kept_awake()))
            with Load(directory):
                cases.case("they are kept awake under load", reached(kept_awake))
            cases.case("they may sleep when it has ended", reached(lambda: not kept_awake()))
            cases.case("the capture ends", capture.end() == 0)
            said.seek(0)
            told = said.read()
        cases.case("its end tells for how long", re.search(r"processors were kept from sleeping for [1-9.][^ ]* ?\S* of ", told), told)
        cases.case("the trace tells it", "processors kept from sleeping under load" in run(fstrace_program(), "info", trace))
        capture = Capture(directory, f"{scratch.path}/two.zst", "--awake")
        with Load(directory):
            cases.case("a second capture keeps them awake", reached(kept_awake))
            capture.process.kill()
            capture.process.wait()
        cases.case("a capture that was killed keeps nobody awake", reached(lambda: not kept_awake()))
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
