# SPDX-License-Identifier: Apache-2.0
"""What the benches share: where the programs are, running one with its memory and time, a scratch directory, a table."""
import atexit
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("FSR_BUILD", os.path.join(SOURCE, "build")))
os.environ["PATH"] = ":".join(os.path.join(BUILD, d) for d in ("shim", "replay", "tools", "tests/bench")) + ":" + os.environ["PATH"]


def need(*programs):
    """Builds those that are the benches' own."""
    own = [p for p in programs if os.path.exists(os.path.join(SOURCE, "tests", "bench", p + ".cpp"))]
    if own and os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["ninja", "-C", BUILD, "--quiet", *(f"tests/bench/{p}" for p in own)], check=False)
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
        self.peak_mib = usage.ru_maxrss / 1024  # at least what this process had at the fork, about 14 MiB
        if self.status not in (0, 1, 4):
            sys.exit(f"{' '.join(command)} ended with {self.status}")

    def json(self):
        return json.loads(self.output)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        cpu = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "unknown CPU")
    print(f"{time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} x {cpu}, Linux {os.uname().release}, "
          f"load {os.getloadavg()[0]:.1f}\n")


@contextlib.contextmanager
def new_ext4(gibibytes):
    """A directory on an ext4 made for it, on a loop device: what one program leaves behind is not before the next. (An ext4 without a
    journal, as some machines have, gives no inode away that was freed in the last minutes, and looks at each of those for every
    file that is made.) Needs root."""
    with tempfile.TemporaryDirectory(prefix="fsshim-bench.", dir=os.environ.get("TMPDIR", "/var/tmp")) as top:
        image, place = os.path.join(top, "image"), os.path.join(top, "files")
        os.mkdir(place)
        with open(image, "wb") as file:
            file.truncate(gibibytes << 30)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, place], check=True)
        try:
            subprocess.run(["sync"], check=True)
            yield place
        finally:
            subprocess.run(["umount", place], check=True)


def do_not_pace():
    """In a network namespace of its own. BBR, some hosts' default, paces on loopback too, and then tells more than either client does."""
    with open("/proc/sys/net/ipv4/tcp_congestion_control", "w", encoding="ascii") as setting:
        setting.write("reno")


URING = "/sys/module/fuse/parameters/enable_uring"  # exists if the kernel has FUSE over io_uring


@contextlib.contextmanager
def uring_allowed():
    """FUSE over io_uring, as long as this lasts; nothing where the kernel has none, or is not ours to tell."""
    if not os.access(URING, os.W_OK):
        yield
        return
    with open(URING, encoding="ascii") as switch:
        before = switch.read(1)
    try:
        with open(URING, "w", encoding="ascii") as switch:
            switch.write("Y")
        yield
    finally:
        with open(URING, "w", encoding="ascii") as switch:
            switch.write(before)


def table(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("| " + " | ".join(str(cell).ljust(w) if i == 0 else str(cell).rjust(w) for i, (cell, w) in enumerate(zip(row, widths)))
              + " |")
        if number == 0:
            print("|" + "|".join(("-" * (w + 1) + (":" if i else "-")) for i, w in enumerate(widths)) + "|")


def target_ops(url, kind, depth, seconds, *files):
    """Operations of one kind through the whole engine: how many a second, and microseconds of CPU for each."""
    operations, elapsed, cpu = Run(["target_ops", url, kind, str(depth), str(seconds), *files]).output.split()
    return int(operations) / float(elapsed), float(cpu) / int(operations) * 1e6


def beside_heading(ours, theirs):
    return f"{ours} op/s", f"{theirs} op/s", "ratio (95 %)", f"{ours} CPU us/op", f"{theirs} CPU us/op", "ratio"


def ratio(pairs):
    """The mean of the ratio in each pair, with its 95 % interval (Student's t)."""
    ratios = [one / other for one, other in pairs]
    t = {2: 12.71, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(len(pairs), 2.2)
    around = t * statistics.stdev(ratios) / len(pairs) ** 0.5 if len(pairs) > 1 else float("inf")
    mean = statistics.fmean(ratios)
    return f"{mean:.2f} ({mean - around:.2f}-{mean + around:.2f})"


def beside(pairs):
    """Runs of ours and of a peer by turns, each as target_ops() returns it: medians, the ratio of the rates, and the median of that of
    the costs."""
    rates, costs = ([[run[i] for run in pair] for pair in pairs] for i in (0, 1))
    column = lambda of, i, digits: f"{statistics.median(pair[i] for pair in of):,.{digits}f}"  # noqa: E731
    return (column(rates, 0, 0), column(rates, 1, 0), ratio(rates),
            column(costs, 0, 1), column(costs, 1, 1), f"{statistics.median(ours / theirs for ours, theirs in costs):.2f}")
