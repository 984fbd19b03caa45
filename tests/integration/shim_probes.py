#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a directory some hundred questions that an application could ask, beneath the shim and without it: the answers must be the
same. Each probe (folder probes/) returns something printable or fails with an errno; probes run in a directory of their own."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes"))
import probe_attributes  # noqa: E402, F401
import probe_data  # noqa: E402, F401
import probe_locks  # noqa: E402, F401
import probe_names  # noqa: E402, F401
from probe_tools import PROBES  # noqa: E402


def run_probes(directory):
    """{name: answer}"""
    answers = {}
    for function in PROBES:
        place = tempfile.mkdtemp(dir=directory)
        os.chdir(place)
        os.umask(0)
        try:
            answers[function.__name__] = repr(function())
        except OSError as e:
            answers[function.__name__] = f"probe failed: {e!r}"
        os.chdir("/")
    return answers


def main():
    if len(sys.argv) == 2:  # run by ourselves, beneath the shim
        for name, answer in run_probes(sys.argv[1]).items():
            print(f"{name}\t{answer}")
        return 0
    shim = os.path.join(os.environ["FSR_BUILD"], "shim/fsshim")
    scratch = tempfile.mkdtemp(prefix="fsshim-probes.")
    failed = 0
    try:
        os.chmod(scratch, 0o755)
        for kind in ("native", "shim"):
            os.mkdir(f"{scratch}/{kind}", 0o755)
        native = run_probes(f"{scratch}/native")
        run = subprocess.run([shim, "capture", f"{scratch}/shim", "-o", f"{scratch}/trace.zst", "--", sys.executable,
                              os.path.abspath(__file__), f"{scratch}/shim"], capture_output=True, text=True, check=False)
        shimmed = dict(line.split("\t", 1) for line in run.stdout.splitlines() if "\t" in line)
        for name, answer in native.items():
            if "probe failed" in answer:
                print(f"not ok - {name}: does not work without the shim: {answer}")
            elif shimmed.get(name) == answer:
                print(f"ok - {name}")
                continue
            else:
                print(f"not ok - {name}: native {answer}, shim {shimmed.get(name)}")
            failed += 1
        if run.returncode != 0:
            failed += 1
            print(f"not ok - capture: status {run.returncode}: {run.stderr}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
