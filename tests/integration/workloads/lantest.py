#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench lantest on a real Netatalk: all twelve tests, their text and CSV, and that the printed numbers follow from each other."""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, SERVERS, case, failed, run  # noqa: E402

RUN = re.compile(r"^Run (\d+) => (.*AFP ops\]) +(\d+) ms(?: for (\d+) MB \((?:avg\. (\d+) MB/s|time too small to measure)\))?$", re.M)
TESTS = ["Open, stat", "Writing", "Reading", "Locking", "Creating", "Enumerate", "Deleting", "Create directory", "Directory cache",
         "Mixed", "Deep", "Cache validation"]


def lantest(*options, **more):
    env = os.environ
    return run(FSBENCH, "lantest", "-h", env["AFP_HOST"], "-p", env["AFP_PORT"], "-u", env["AFP_USER"], "-s", "share", *options, **more)


def mean(values):
    """Over what is not 0, without the extremes where there are more than five."""
    values = list(values)
    if len(values) > 5:
        least, most = values.index(min(values)), values.index(max(values))
        values[least] = values[most] = 0
    values = [value for value in values if value]
    return sum(values) // len(values) if values else 0


def told(output):
    """{label: milliseconds of each iteration}, in order."""
    runs = {}
    for iteration, name, ms, _, _ in RUN.findall(output):
        runs.setdefault(name, []).append(int(ms))
        if len(runs[name]) != int(iteration):
            return {}
    return runs


def follows(name, done, rows, total):
    """Rows: (label, mean) as printed."""
    runs = told(done.stdout)
    case(f"{name}: ends well", done.returncode == 0 and not done.stderr, done.stdout + done.stderr)
    case(f"{name}: each test ran in each iteration, in order", [label.startswith(test) for label, test in zip(runs, TESTS)] == [True] * 12,
         done.stdout)
    case(f"{name}: the mean of the printed times is the printed mean", rows == [(label, mean(times)) for label, times in runs.items()],
         done.stdout)
    case(f"{name}: the sum is that of the means", total == sum(ms for _, ms in rows), done.stdout)
    case(f"{name}: the test directory is gone", re.search(r"^Successfully deleted test directory 'LanTest-\d+'$", done.stdout, re.M) and
         not [entry for entry in os.listdir(os.environ["AFP_DIR"]) if entry.startswith("LanTest")], done.stdout)


def layouts():
    done = lantest("--percent", "2", "-n", "6", timeout=100)
    table = re.findall(r"^(\S.*AFP ops\]) +(\d+) +\d+\.\d +\d+$", done.stdout, re.M)
    total = re.search(r"^Sum of all AFP OPs = 1613 +(\d+) +$", done.stdout, re.M)
    follows("table", done, [(label, int(ms)) for label, ms in table], int(total[1]) if total else None)
    done = lantest("--percent", "2", "-n", "2", "-c", "--cleartext", "-4", timeout=100)
    rows = re.findall(r"^(\S.*AFP ops\]),(\d+),\d+\.\d,\d+$", done.stdout, re.M)
    total = re.search(r"^Sum of all AFP OPs = 1613,(\d+),,$", done.stdout, re.M)
    follows("CSV", done, [(label, int(ms)) for label, ms in rows], int(total[1]) if total else None)


def choices():
    done = lantest("--percent", "10", "-n", "2", "-f", "6")
    case("files of test 5 are no trouble to the next iteration", done.returncode == 0 and len(told(done.stdout)) == 2, done.stdout + done.stderr)
    url = f"{os.environ['AFP_URL']}?version=3.1"
    done = run(FSBENCH, "lantest", "--percent", "5", "-n", "1", "-f", ":", url)
    case("a URL says where; letters beyond 9", done.returncode == 0 and "Run 1 => Mixed" in done.stdout, done.stdout + done.stderr)


def on_server():
    layouts()
    choices()
    sys.exit(1 if failed else 0)


def main():
    if sys.argv[1:2] == ["--on-server"]:
        on_server()
    scratch = tempfile.mkdtemp(prefix="fsshim-test.")
    os.chdir(scratch)
    try:
        done = run(f"{SERVERS}/netatalk", sys.executable, os.path.abspath(__file__), "--on-server", timeout=280)
        print(done.stdout, end="", flush=True)
        case("beside Netatalk", done.returncode in (0, 1) and "ok - " in done.stdout, done.stderr[-500:])
        failed.extend(["a case on the server"] * done.stdout.count("not ok - "))
    finally:
        os.chdir("/")
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
