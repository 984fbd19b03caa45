#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same random system calls in a bare directory and beneath the shim, on several file systems: answers and trees must be the same,
but for what fsshim(1) states. A difference is printed as the shortest script that shows it (differential/).

usage: shim_differential.py                     a short run with fixed seeds
       shim_differential.py KIND [OPTION...]    on that file system, with options of the program differential: --seed N --calls N ...
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lower_fs import Cases, Scratch, built, run, shim_program  # noqa: E402

KINDS = ("tmpfs", "ext4", "xfs")
CONNECTIONS = "/sys/fs/fuse/connections"
MAN_PAGE = os.path.join(os.environ.get("FSR_SOURCE") or f"{os.path.dirname(os.path.abspath(__file__))}/../..", "docs/man/fsshim.1.scd")
DIFFERENTIAL = built("tests/integration/differential/differential")
# Areas in which the shim's answers are not yet those of the directory.
DIFFERENT = "capabilities,dots,special-files,unchanged-owner,watches"
SHORT = ["--seed", "1", "--calls", "15000", "--without", DIFFERENT]


def run_on(cases, scratch, kind, permissions, options):
    point = scratch.mount(kind)
    bare, shim, beneath = f"{point}/bare", f"{point}/shim", f"{scratch.path}/{kind}-beneath"
    for directory in (bare, shim, beneath):
        os.mkdir(directory)
    run("mount", "--bind", shim, beneath)
    done = subprocess.run([shim_program(), "capture", shim, "-o", f"{scratch.path}/{kind}.zst", "--permissions", permissions, "--",
                           DIFFERENTIAL, *options, bare, shim, beneath], stdout=subprocess.PIPE, text=True, check=False)
    print("".join(f"# {line}\n" for line in done.stdout.splitlines()), end="")
    cases.case(f"answers and trees on {kind}", done.returncode == 0, f"status {done.returncode}, see above")


def check_known(cases):
    """Each known difference is stated in the man page."""
    with open(MAN_PAGE, encoding="utf-8") as page:
        text = " ".join(page.read().split()).replace("\\", "")
    known = [line.split(": ", 1) for line in run(DIFFERENTIAL, "--known").splitlines()]
    missing = [name for name, words in known if words not in text]
    cases.case("known differences are stated in fsshim(1)", known and not missing, f"not there: {missing}")


def main():
    cases = Cases()
    if not os.path.ismount(CONNECTIONS):
        run("mount", "-t", "fusectl", "none", CONNECTIONS)
    with Scratch() as scratch:
        if sys.argv[1:]:
            run_on(cases, scratch, *sys.argv[1:3], sys.argv[3:])
        else:
            check_known(cases)
            for kind in KINDS:
                run_on(cases, scratch, kind, "auto", SHORT)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
