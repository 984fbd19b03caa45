#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--find-scale on a server whose limit is known: Ganesha behind a proxy that serves one request at a time."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402
from lower_fs import Cases, built  # noqa: E402

PORT = 15980
EACH = 0.004  # seconds
LIMIT = 1 / EACH  # calls a second
LEAST, MOST = 0.6, 1.15  # of it: a mean response of ten calls' time is had below the limit, and a queue takes time to grow above

hostile.beside("ganesha")
cases = Cases()
between = proxy.Proxy(wires.Rpc(), faults.OneAtATime(EACH), int(os.environ["NFS_PORT"]), PORT)
place = os.path.join(os.environ["NFS_VFS_DIR"], "scaled")
os.mkdir(place)
url = f"nfs://127.0.0.1/vfs/scaled?nfsport={PORT}&mountport={os.environ['MOUNT_PORT']}"


def search(condition, *options):
    return subprocess.run([built("replay/fsreplay"), "mix:sfs97-v3", url, "--streams", "2", "--load", "200", "--workers", "1", "--find-scale", condition,
                           "--seed", "5", "-q", *options], capture_output=True, text=True, check=False, timeout=200)


done = search("mean < 40ms", "--json")
report = json.loads(done.stdout) if done.stdout else {}
found = report.get("find_scale", {})
cases.case("the limit of a server that serves one call at a time is found",
           found and LIMIT * LEAST < found["holds"] < found["breaks"] < LIMIT * MOST, found or done.stderr)
cases.case("within 5 %", found and found["breaks"] <= found["holds"] * 1.051, found)
runs = report.get("runs", [])
cases.case("runs are as long as a queue takes to show", runs and all(run["elapsed_ns"] > 1.4e9 for run in runs), [run.get("elapsed_ns") for run in runs])
cases.case("there is no doubt", found and not found["doubt"], found)

done = search("p99.9 < 100ms", "--duration", "100ms")
cases.case("runs too short for a percentile are told",
           re.search(r"; not sure: \d+ operations in .* where 25000 in 4.00 s are needed$", done.stdout.replace(",", ""), re.M), done.stdout + done.stderr)
between.close()
sys.exit(cases.status())
