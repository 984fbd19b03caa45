#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ninep_reordered.py PROGRAM: the cases of ninep_target_test for replies in another order than diod gives them. For ninep_target.sh."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness", f"{HERE}/../../servers"]
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402

PORT = 15694
late = faults.LateOpen(2)
proxy.Proxy(wires.NineP(), late, int(os.environ["P9_PORT"]), PORT)
os.environ["P9_URL"] = f"9p://127.0.0.1:{PORT}/?aname={os.environ['P9_DIR']}"
status = subprocess.run([f"{HERE}/../harness/catch_cases.sh", sys.argv[1], "[.reordered]"], check=False).returncode
if late.times != 1:
    print(f"not ok - the reply to an open was late: {late.times} times")
sys.exit(status or late.times != 1)
