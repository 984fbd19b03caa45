#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench vdbench: parameter files of the kinds that its users have run to their end, and make each run that a simulation tells."""
import concurrent.futures
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, SOURCE, case, failed, run, scratch  # noqa: E402

SAMPLES = sorted(glob.glob(os.path.join(SOURCE, "tests/data/vdbench/*.vdb")))


def runs_of(words, text):
    return [name for name in re.findall(rf"{words} RD=([^;\n]+)", text) if name != "SD_format"]


def sample(path):
    """Its simulation, and its run with intervals of a second."""
    name = os.path.basename(path)[:-4]
    os.mkdir(name)
    simulated = run(FSBENCH, "vdbench", "-s", "-f", path, f"dir={name}")
    told = os.listdir(name)
    return name, told, simulated, run(FSBENCH, "vdbench", "-f", path, "-o", f"{name}.out", "-e", "1", "-i", "1", f"dir={name}")


def main():
    case("there are samples", len(SAMPLES) >= 12, SAMPLES)
    # Most of a run is the wait for the end of its intervals.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for name, told, simulated, done in pool.map(sample, SAMPLES):
            expected = runs_of("Simulating", simulated.stdout)
            case(f"{name}: simulated, and nothing is made", simulated.returncode == 0 and expected and told == [], (simulated, told))
            case(f"{name}: runs to its end", done.returncode == 0, done.stdout[-1500:] + done.stderr)
            case(f"{name}: {len(expected)} runs", runs_of("Starting", done.stdout) == expected, (expected, done.stdout))
            measured = [found for found in expected if found != "format_for_gone"]
            averages = re.findall(r"avg_\d+-\d+ +([\d.]+)", done.stdout)
            case(f"{name}: each did something", len(averages) >= len(measured) and all(float(rate) > 0 for rate in averages[:len(measured)]), done.stdout)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    with scratch():
        main()
