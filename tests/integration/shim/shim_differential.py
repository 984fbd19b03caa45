#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same random system calls in a bare directory and beneath the shim, on several file systems: answers and trees must be the same,
but for what fsshim(1) states. A difference is printed as the shortest script that shows it (differential/).

usage: shim_differential.py                     a short run with fixed seeds
       shim_differential.py KIND PERMISSIONS [OPTION...]
                                                on that file system, captured with --permissions auto or kernel, with options of the
                                                program differential: --seed N --calls N --outside USER ...
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, built, run, shim_program  # noqa: E402

KINDS = ("tmpfs", "ext4", "xfs")
CONNECTIONS = "/sys/fs/fuse/connections"
MAN_PAGE = os.path.join(os.environ.get("FSR_SOURCE") or f"{os.path.dirname(os.path.abspath(__file__))}/../../..", "docs/man/fsshim.1.scd")
DIFFERENTIAL = built("tests/integration/shim/differential/differential")
# Areas in which answers differ unless the kernel checks permissions, and the words that state it.
UNCHECKED = {"dots": '"." and ".." in a path take no search permission of their own',
             "special-files": "who may only read or only write a FIFO or a device may do neither",
             "watches": "inotify_add_watch(2) succeeds on files and directories that the caller may search for but not read"}
SHORT = {"auto": ["--seed", "1", "--calls", "15000", "--without", ",".join(UNCHECKED)], "kernel": ["--seed", "1000", "--calls", "9000"]}
# What random runs have found, and what it was.
FOUND = {"io_uring-workers": """# a worker that is older than the credentials of the request has others
root setfsuid uid=1002
root ring-openat new=0 at=cwd path="a" flags=O_RDWR|O_CREAT mode=0644 async=0
root seteuid uid=0
root ring-openat new=0 at=cwd path="a" flags=O_RDWR|O_CREAT mode=0644 async=0
"""}


def run_on(cases, scratch, point, permissions, options):
    kind = os.path.basename(point)
    name = f"{kind}-{permissions}-{len(os.listdir(point))}"
    bare, shim, beneath = f"{point}/{name}-bare", f"{point}/{name}-shim", f"{scratch.path}/{name}-beneath"
    for directory in (bare, shim, beneath):
        os.mkdir(directory)
    run("mount", "--bind", shim, beneath)
    # What others do is seen at once only where nothing is cached.
    cache = "none" if "--outside" in options else "auto"
    done = subprocess.run([shim_program(), "capture", shim, "-o", f"{scratch.path}/{name}.zst", "--permissions", permissions, "--cache", cache, "--",
                           DIFFERENTIAL, *options, bare, shim, beneath], stdout=subprocess.PIPE, text=True, check=False)
    print("".join(f"# {line}\n" for line in done.stdout.splitlines()), end="")
    cases.case(f"answers and trees on {kind}, permissions {permissions}", done.returncode == 0, f"status {done.returncode}, see above")


def check_known(cases):
    """Each known difference is stated in the man page."""
    with open(MAN_PAGE, encoding="utf-8") as page:
        text = " ".join(page.read().split()).replace("\\", "")
    known = [line.split(": ", 1) for line in run(DIFFERENTIAL, "--known").splitlines()]
    known += UNCHECKED.items()
    missing = [name for name, words in known if words not in text]
    cases.case("known differences are stated in fsshim(1)", known and not missing, f"not there: {missing}")


def main():
    cases = Cases()
    if not os.path.ismount(CONNECTIONS):
        run("mount", "-t", "fusectl", "none", CONNECTIONS)
    with Scratch() as scratch:
        if sys.argv[1:]:
            kind, permissions, *options = sys.argv[1:]
            run_on(cases, scratch, scratch.mount(kind), permissions, options)
        else:
            check_known(cases)
            points = [scratch.mount(kind) for kind in KINDS]
            for point in points:
                run_on(cases, scratch, point, "auto", SHORT["auto"])
            run_on(cases, scratch, points[0], "kernel", SHORT["kernel"])
            for name, script in FOUND.items():
                with open(f"{scratch.path}/{name}", "w", encoding="ascii") as file:
                    file.write(script)
                run_on(cases, scratch, points[0], "auto", ["--script", file.name])
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
