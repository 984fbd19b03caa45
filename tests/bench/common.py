# SPDX-License-Identifier: Apache-2.0
"""What the benches share: where the programs are, running one with its memory and time, a scratch directory, a table."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("FSR_BUILD", os.path.join(SOURCE, "build")))
os.environ["PATH"] = ":".join(os.path.join(BUILD, d) for d in ("shim", "replay", "tools", "tests/bench")) + ":" + os.environ["PATH"]


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            sys.exit(f"{os.path.basename(sys.argv[0])}: no {program}; build first (FSR_BUILD is {BUILD}), "
                     "packages: tools/install-deps test")


def scratch():
    """A directory on disk that is gone at the end."""
    path = tempfile.mkdtemp(prefix="fsshim-bench.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    atexit.register(shutil.rmtree, path, True)
    return path


class Run:
    def __init__(self, command, **options):
        start = time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **options)
        self.output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.status = child.returncode
        self.seconds = time.monotonic() - start
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.peak_mib = usage.ru_maxrss / 1024  # at least what this process had at the fork, some 14 MiB
        if self.status not in (0, 1):
            sys.exit(f"{' '.join(command)} ended with {self.status}")

    def json(self):
        return json.loads(self.output)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "unknown CPU")
    print(f"{time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} x {cpu}, Linux {os.uname().release}, "
          f"load {os.getloadavg()[0]:.1f}\n")


def table(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("| " + " | ".join(str(cell).ljust(w) if i == 0 else str(cell).rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
              + " |")
        if number == 0:
            print("|" + "|".join(("-" * (w + 1) + (":" if i else "-")) for i, w in enumerate(widths)) + "|")
