#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One program, captured by fsshim and by strace at once: the imported strace has the same operations with the same sizes and outcomes,
one by one, for the system calls that map one to one. Differences and their reasons: docs/import.md.

usage: strace_import.py
       strace_import.py --in DIR    the program
"""
import difflib
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, fstrace_program, shim_program  # noqa: E402
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shim"))
from shim_visibility import Program  # noqa: E402

# What is compared of an operation, besides its error. Objects are numbered in the order in which they are first seen.
FIELDS = {
    "open": ["object"], "create": ["object", "name", "mode"], "read": ["object", "offset", "length", "result"],
    "write": ["object", "offset", "length", "result"], "copy_file_range": ["object", "object2", "offset", "offset2", "length", "result"],
    "fallocate": ["object", "offset", "length", "mode"], "lseek": ["object", "offset", "mode", "result"],
    "fsync": ["object", "flags"], "flush": ["object"], "getattr": ["object"], "setattr": ["object", "set"], "readlink": ["object", "data"],
    "mkdir": ["object", "name", "mode"], "symlink": ["object", "name", "data"], "link": ["object", "name2"], "unlink": ["object", "name"],
    "rmdir": ["object", "name"], "rename": ["object", "name", "name2", "flags"], "statfs": [],
    "getxattr": ["object", "name", "length", "result"], "setxattr": ["object", "name", "length", "flags"],
    "setlk": ["object", "offset", "length", "mode"], "flock": ["object", "mode"],
}
KERNEL, INFERRED = 1, 64


def operations(trace, command):
    """Those that the program called, as comparable lines: not the kernel's own, not what the importer added, and no lookups, which
    paths need."""
    found, numbers = [], {}
    for line in subprocess.check_output([fstrace_program(), "dump", "--json", trace], text=True).splitlines():
        op = json.loads(line)
        kind = "getattr" if op["kind"] == "statx" else op["kind"]
        flags = op.get("op_flags", 0)
        # The kernel asks by itself, before writes, whether a file has capabilities.
        if op.get("name", "").startswith("security."):
            continue
        if op["command"] != command or kind not in FIELDS or flags & KERNEL or (flags & INFERRED and kind == "lookup"):
            continue
        for member in ("object", "object2"):
            if member in op:
                op[member] = numbers.setdefault(op[member], len(numbers))
        found.append(" ".join([kind, op.get("error", "ok"), *(f"{f}={op.get(f, 0)}" for f in FIELDS[kind])]))
    return found


def main():
    if sys.argv[1:2] == ["--in"]:
        Program(sys.argv[2]).run()
        return 0
    cases = Cases()
    with Scratch() as scratch:
        top = f"{scratch.mount('ext4')}/top"
        os.mkdir(top)
        command = os.path.basename(os.path.realpath(sys.executable))[:15]
        program = [os.path.realpath(sys.executable), os.path.abspath(__file__), "--in", top]
        for named in (["-y"], []):
            trace, log, imported = (f"{scratch.path}/{n}{len(named)}" for n in ("trace", "log", "imported"))
            done = subprocess.run([shim_program(), "capture", top, "-o", trace, "--", "strace", "-f", "-ttt", "-T", *named, "-o", log,
                                   *program], capture_output=True, text=True, check=False)
            with_y = " ".join(named) or "without -y"
            if not cases.case(f"{with_y}: strace and capture at once", done.returncode == 0, done.stderr[-1000:]):
                break
            done = subprocess.run([fstrace_program(), "import", log, "--directory", top, "-o", imported], capture_output=True, text=True,
                                  check=False)
            # Without -y nobody knows what the descriptors stand for that were open before; here they are the standard ones.
            lost = [line for line in done.stderr.splitlines() if not line.startswith("fstrace: left out ")]
            cases.case(f"{with_y}: nothing is lost", done.returncode == 0 and not lost if named else
                       done.returncode == 1 and len(lost) == 1 and "descriptors of unknown origin" in lost[0], done.stderr)
            expected, got = operations(trace, command), operations(imported, command)
            differences = [d for d in difflib.unified_diff(expected, got, "captured", "imported", n=0, lineterm="")]
            cases.case(f"{with_y}: {len(expected)} operations, sizes and outcomes are the same", expected == got and len(expected) > 3000,
                       f"{len(differences)} lines of difference: {differences[:20]}")
            for name in os.listdir(top):
                os.unlink(f"{top}/{name}")
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
