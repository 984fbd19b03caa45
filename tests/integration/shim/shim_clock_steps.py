#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A capture and replays while the machine's clock steps back and forth by seconds and years: times in the trace, what is called a stall,
the pace of a replay and the length of a run follow the time that passes. For a virtual machine only (tests/vm/test), since it sets the
clock. usage: shim_clock_steps.py --set-clock"""
import json
import os
import random
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from captures import Capture  # noqa: E402
from lower_fs import Cases, Scratch, built, fstrace_program, run  # noqa: E402

SECONDS = 5
STEPS = (-3600, 3600, -86400 * 365 * 10, 86400 * 365 * 5, -1, 1)
NS = 1_000_000_000


class SteppingClock(threading.Thread):
    """Sets the clock ten times a second, and right at the end."""

    def __init__(self):
        super().__init__()
        self.over, self.steps = threading.Event(), 0
        self.begin = time.time(), time.monotonic()

    def run(self):
        while not self.over.wait(0.1):
            time.clock_settime(time.CLOCK_REALTIME, max(86400, time.time() + random.choice(STEPS)))
            self.steps += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        time.clock_settime(time.CLOCK_REALTIME, self.begin[0] + time.monotonic() - self.begin[1])


def work(directory):
    """For SECONDS; returns how many files were made. Writes a marker last."""
    end, made = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        name = f"{directory}/{made}"
        with open(name, "wb") as f:
            f.write(b"a" * 1000)
            os.utime(f.fileno())
        os.stat(name)
        os.rename(name, name + "n")
        made += 1
        time.sleep(0.01)
    return made


def replay(trace, *arguments):
    begin = time.monotonic()
    done = subprocess.run([built("replay/fsreplay"), trace, *arguments, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return json.loads(done.stdout or "{}"), time.monotonic() - begin, done.stderr.decode()


def main():
    cases = Cases()
    with Scratch() as scratch, SteppingClock() as clock:
        directory, trace = scratch.mount("ext4", "256M"), f"{scratch.path}/t.zst"
        errors = f"{scratch.path}/errors"
        with open(errors, "wb") as f:
            saved = os.dup(2)
            os.dup2(f.fileno(), 2)
            capture = Capture(directory, trace, "--stall", "2s")
            os.dup2(saved, 2)
        begin = time.monotonic()
        made = work(directory)
        took = time.monotonic() - begin
        status = capture.end()
        with open(errors, encoding="utf-8") as f:
            said = f.read()
        cases.case("a capture ends well and calls nothing stalled", status == 0 and "without a reply" not in said, (status, said))
        cases.case("it says that dates in the trace are wrong from then on", said.count("the clock was set") == 1, said)
        operations = [json.loads(line) for line in run(fstrace_program(), "dump", "--json", trace).splitlines()]
        operations = [o for o in operations if "start" in o]
        starts = [o["start"] for o in operations]
        durations = [o["duration"] / NS for o in operations if "duration" in o]
        covered = (max(starts) - min(starts)) / NS
        cases.case("operations begin in order, and take as long as they did",
                   made > 20 and took - 1 < covered < took + 2 and max(durations) < 2 and min(durations) >= 0,
                   (made, took, covered, max(durations)))
        for target in ("null:", f"file:{scratch.path}/replayed"):
            report, seconds, words = replay(trace, target)
            cases.case(f"a replay onto {target.split(':')[0]} keeps the recorded pace",
                       report.get("issued") == len(operations) and covered - 0.5 < seconds < covered + 10, (len(operations), report, seconds, words))
        report, seconds, words = replay("mix:nhfsstone", "null:", "--load", "500", "--duration", "4s")
        cases.case("a mix at a fixed load lasts as long as was asked, at that load",
                   1800 < report.get("issued", 0) < 2200 and 3.5 < seconds < 14, (report, seconds, words))
        cases.case("the clock stepped meanwhile", clock.steps > 50, clock.steps)
    return cases.status()


if sys.argv[1:] != ["--set-clock"]:
    sys.exit(f"usage: {sys.argv[0]} --set-clock, in a virtual machine: it sets the clock")
sys.exit(main())
