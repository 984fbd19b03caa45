#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tutorial's commands run in its order, and print what it shows: the same words in the same lines, whatever the numbers."""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
from lower_fs import Cases, Scratch, put_on_path  # noqa: E402

TUTORIAL = f"{HERE}/../../../docs/tutorial.md"
UNITS = {"ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB"}


def steps():
    """Of each command of the text: itself, and the lines that are shown below."""
    found = []
    with open(TUTORIAL, encoding="utf-8") as text:
        for line in text:
            if line.startswith("    $ "):
                found.append((line[6:].rstrip("\n"), []))
            elif line.startswith("    ") and found:
                found[-1][1].append(line.strip())
    return found


def words(line):
    return [word for word in re.findall(r"[A-Za-z_]\w*", line) if word not in UNITS]


def shows(wanted, line):
    """`...` at the end stands for anything."""
    if wanted.endswith("..."):
        wanted = words(wanted[:-3])
        return words(line)[:len(wanted)] == wanted
    return words(wanted) == words(line)


def missing(wanted, lines):
    """The first line that is not shown, in order. None: all are."""
    at = 0
    for line in wanted:
        if line == "...":
            continue
        while at < len(lines) and not shows(line, lines[at]):
            at += 1
        if at == len(lines):
            return line
        at += 1
    return None


def main():
    put_on_path()
    cases = Cases()
    all_steps = steps()
    cases.case("the tutorial has commands and shows output", len(all_steps) >= 10 and sum(len(shown) for _, shown in all_steps) > 20,
               len(all_steps))
    with Scratch() as scratch:
        where = scratch.path
        for command, shown in all_steps:
            # One shell would do, but not say which of them printed what.
            done = subprocess.run(["bash", "-c", f"{command}\nstatus=$?\npwd >{scratch.path}/where\nexit $status"], cwd=where,
                                  env={**os.environ, "TMPDIR": scratch.path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False, timeout=120)
            with open(f"{scratch.path}/where", encoding="utf-8") as f:
                where = f.read().rstrip("\n")
            lost = missing(shown, done.stdout.splitlines())
            # A machine may take less than the capture's load within the condition, or more than there is to ask for: status 1.
            fine = (0, 1) if "--find-scale" in command else (0,)
            cases.case(command, done.returncode in fine and lost is None,
                       f"status {done.returncode}, not printed: {lost}\n{done.stdout[-2000:]}")
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
