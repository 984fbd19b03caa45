#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--find-scale on a server whose limit is known: Ganesha behind a proxy that serves one request at a time; and on one that hangs."""
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402
from lower_fs import Cases, built  # noqa: E402

PORT = 15980
EACH = 0.008  # seconds: much more than a busy machine takes for a call besides
LIMIT = 1 / EACH  # calls a second
LEAST, MOST = 0.6, 1.15  # of it: a mean response of ten calls' time is had below the limit, and a queue takes time to grow above

hostile.beside("ganesha")
cases = Cases()
between = proxy.Proxy(wires.Rpc(), faults.OneAtATime(EACH), int(os.environ["NFS_PORT"]), PORT)
place = os.path.join(os.environ["NFS_VFS_DIR"], "scaled")
os.mkdir(place)
url = f"nfs://127.0.0.1/vfs/scaled?nfsport={PORT}&mountport={os.environ['MOUNT_PORT']}"
mix = [built("replay/fsreplay"), "mix:sfs97-v3", url, "--streams", "2", "--workers", "1", "--seed", "5", "-q"]


def search(condition, *options):
    return subprocess.run([*mix, "--find-scale", condition, *options], capture_output=True, text=True, check=False, timeout=200)


done = search("mean < 80ms", "--load", "100", "--json")
report = json.loads(done.stdout) if done.stdout else {}
found = report.get("find_scale", {})
cases.case("the limit of a server that serves one call at a time is found",
           found and LIMIT * LEAST < found["holds"] < found["breaks"] < LIMIT * MOST, found or done.stderr)
cases.case("within 5 %", found and found["breaks"] <= found["holds"] * 1.051, found)
runs = report.get("runs", [])
cases.case("runs are as long as a queue takes to show", runs and all(run["elapsed_ns"] > 1.4e9 for run in runs), [run.get("elapsed_ns") for run in runs])
cases.case("there is no doubt", found and not found["doubt"], found)

between.close()

# A faster server, whose limit does not matter: each of some forty runs asks it for the mix's files first.
FAST_PORT = PORT + 2
between = proxy.Proxy(wires.Rpc(), faults.OneAtATime(EACH / 8), int(os.environ["NFS_PORT"]), FAST_PORT)
mix[2] = url.replace(f"nfsport={PORT}", f"nfsport={FAST_PORT}")
done = search("p99.9 < 100ms", "--load", "800", "--duration", "100ms")
cases.case("runs too short for a percentile are told",
           re.search(r"; uncertain: \d+ operations in .*; at least 25000 in 4.00 s are required$", done.stdout.replace(",", ""), re.M), done.stdout + done.stderr)
between.close()

# A server that hangs. What it never answered is part of every figure.
HANG_PORT, DUE = PORT + 1, 3000
between = proxy.Proxy(wires.Rpc(), faults.FallSilent(1000), int(os.environ["NFS_PORT"]), HANG_PORT)
mix[2] = url.replace(f"nfsport={PORT}", f"nfsport={HANG_PORT}") + "&timeout=1"
mix += ["--load", str(DUE), "--duration", "1s"]
done = subprocess.run([*mix, "--json"], capture_output=True, text=True, check=False, timeout=100)
report = json.loads(done.stdout) if done.stdout else {}
got = {name: report.get(name) for name in ("offered_per_s", "achieved_per_s", "elapsed_ns", "issued", "overdue", "unfinished", "failed", "not_clean", "open",
                                           "exit_status")}
cases.case("what was due and never issued is counted", report and report["issued"] + report["overdue"] == DUE and report["overdue"] > DUE / 2, got)
cases.case("the offered load is what was asked for", report and abs(report["offered_per_s"] - DUE) < 1, got)
cases.case("the achieved load counts what was answered, by the time of the schedule",
           report and report["elapsed_ns"] >= 1e9 and report["achieved_per_s"] < 1001, got)
cases.case("the response is that of all", report and report["response"]["count"] == DUE and report["response"]["p99_ns"] > 5e8, got)
cases.case("most of the load was not issued: not clean", done.returncode == 1 and any("never issued" in reason for reason in report["not_clean"]), got)

with subprocess.Popen([*mix, "--find-scale", "p99 < 10s"], stdout=subprocess.PIPE, text=True) as searching:
    lines = [searching.stdout.readline() for _ in range(2)]
    searching.send_signal(signal.SIGINT)
    lines.append(searching.stdout.read())
cases.case("such a load does not hold, however high the limit, and the reason is told",
           "> " in lines[1] and re.match(r" +3000 .*[\d,]+ of [\d,]+ operations that were due were not issued: broken$", lines[1]), lines)
between.close()

endless = [*mix[:2], "memory:", "--load", "100", "--duration", "1s", "--find-scale", "p99 < 1s", "--json", "-q"]
with subprocess.Popen(endless, stdout=subprocess.PIPE, text=True) as searching:
    time.sleep(3.5)
    searching.send_signal(signal.SIGINT)
    document = searching.stdout.read()
report = json.loads(document) if document else {}
cases.case("a search that is interrupted reports its runs in JSON, too",
           searching.returncode == 1 and len(report.get("runs", [])) >= 2 and report["exit_status"] == 1, document[-800:])
sys.exit(cases.status())
