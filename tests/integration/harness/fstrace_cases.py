# SPDX-License-Identifier: Apache-2.0
"""What the tests of fstrace share: a line for each case, and a trace's operations as fstrace dump shows them."""
import json
import os
import subprocess

SOURCE, BUILD = os.environ["FSR_SOURCE"], os.environ["FSR_BUILD"]
FSTRACE = os.path.join(BUILD, "tools/fstrace")
failed = []


def case(name, why):
    if why:
        failed.append(name)
    print(f"not ok - {name}: {why}" if why else f"ok - {name}")


def dumped(trace, *options):
    out = subprocess.run([FSTRACE, "dump", "--json", *options, trace], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def make_trace(path, *options):
    subprocess.run([os.path.join(BUILD, "tests/bench/make_trace"), path, *options], check=True)
