#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Intervals of ranks on hosts, which are network and UTS namespaces, that mpirun starts. Ranks send them as they end, the first rank of a host
merges those of its host, and the root keeps one set. A rank and then a host are killed: intervals say what they lack.

ranks_intervals.py [RANKS HOSTS INTERVALS MS]: by default 8 ranks on 2 hosts and 70 intervals of 100 ms. tests/bench/ranks_hour has more, without a load."""
import csv
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from hosts import NAMES, Hosts  # noqa: E402
from older_tools import BUILD, case, failed, scratch  # noqa: E402
from ranks import read  # noqa: E402

FSREPLAY = os.path.join(BUILD, "replay/fsreplay")
ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "LD_LIBRARY_PATH": os.path.join(BUILD, "replay/cluster")}


def rows():
    """Complete ones that the root has written so far, of all kinds together."""
    text = read("i.csv")
    return [row for row in csv.DictReader(text[:text.rfind("\n") + 1].splitlines()) if not row["kind"]]


def wait_until(true, seconds=120):
    for _ in range(seconds * 20):
        if true():
            return True
        time.sleep(0.05)
    return False


def memory(pid, what):
    """MB; 0: it has ended."""
    return sum(int(line.split()[1]) for line in read(f"/proc/{pid}/status").splitlines() if line.startswith(what)) / 1000


class Run:
    def __init__(self, hosts, ranks, names, intervals, length):
        self.hosts, self.names = hosts, names
        words = hosts.mpirun(FSREPLAY, "mix:sfs97-v3", "memory:", "-q", "--streams", str(ranks), "--workers", "1", "--load", str(4 * ranks),
                             "--duration", f"{intervals * length}ms", "--interval", f"{length}ms", "--patience", "2s" if ranks < 50 else "20s", "--csv", "i.csv",
                             "--json")
        words[words.index("--host") + 1] = ",".join(f"{name}:{ranks // len(names)}" for name in names)
        words.insert(words.index("--host"), "--enable-recovery")
        with open("out", "w", encoding="utf-8") as out, open("err", "w", encoding="utf-8") as err:
            self.run = subprocess.Popen(words, env=ENV, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        wait_until(lambda: len(rows()) > 5 or self.run.poll() is not None)
        self.pids = {}
        for name in names:
            for pid in hosts.processes(name, "fsreplay"):
                rank = [word[21:] for word in read(f"/proc/{pid}/environ").split("\0") if word.startswith("OMPI_COMM_WORLD_RANK=")]
                self.pids[int(rank[0])] = pid

    def kill_host(self, name):
        """As if its power failed: nobody hears of it, the launcher neither."""
        self.hosts.link(name, "down")
        for pid in self.hosts.processes(name, "fsreplay"):
            os.kill(pid, signal.SIGKILL)

    def end(self, killed):
        """Returns the report. The launcher itself may wait for a host until that is back."""
        left = [name for name in self.names if name != killed]
        self.ended = wait_until(lambda: not any(self.hosts.processes(name, "fsreplay") for name in left))
        self.hosts.link(killed, "up")
        self.run.wait(timeout=60)
        return json.loads(read("out") or '{"intervals": [], "ranks": [], "gaps": [], "not_clean": []}')


def main():
    if os.environ.pop("IN_NAMESPACES", None) is None:
        # All that is started ends with the test, also where that is killed.
        os.execvpe("unshare", ["unshare", "--net", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable,
                               os.path.abspath(__file__), *sys.argv[1:]], {**os.environ, "IN_NAMESPACES": "1"})
    ranks, count, intervals, length = [int(word) for word in sys.argv[1:]] or (8, 2, 70, 100)
    names = NAMES[:count]
    with scratch(in_memory=True) as place:
        os.mkdir("tmp")
        ENV["TMPDIR"] = os.path.join(place, "tmp")
        hosts = Hosts()
        try:
            run = Run(hosts, ranks, names, intervals, length)
            case("all ranks run", sorted(run.pids) == list(range(ranks)), (run.pids, read("err")[-600:]))
            first_of_second = ranks // count
            wait_until(lambda: len(rows()) > intervals // 7)
            before = {rank: memory(pid, "VmRSS") for rank, pid in run.pids.items()}
            whole = len(rows())
            case("until then every interval has all ranks", all(int(row["ranks"]) == ranks for row in rows()), [row["ranks"] for row in rows()][-5:])
            # The first rank of a host: from then on another one merges the intervals of that host.
            os.kill(run.pids[first_of_second], signal.SIGKILL)
            case("a rank is killed: intervals go on without it",
                 wait_until(lambda: rows() and int(rows()[-1]["ranks"]) == ranks - 1), (rows()[-1:], read("err")[-600:]))
            wait_until(lambda: len(rows()) > intervals // 7 * 5)
            after = {rank: memory(pid, "VmRSS") for rank, pid in run.pids.items()}
            grown = max(after[rank] - before[rank] for rank in run.pids if rank not in (0, first_of_second))
            peak = memory(run.pids[0], "VmHWM")
            run.kill_host(names[-1])
            report = run.end(names[-1])
            of_host = ranks // count
            lost = sorted({first_of_second, *range(ranks - of_host, ranks)})
            case("a host is killed: the others end", run.ended, read("err")[-600:])
            case("the results are those of the ranks that are left", [row["rank"] for row in report["ranks"]]
                 == [rank for rank in range(ranks) if rank not in lost]
                 and any(f"results are those of {ranks - len(lost)} of {ranks} ranks" in line for line in report["not_clean"]), report["not_clean"])
            all_rows = [row for row in report["intervals"] if not row.get("kind")]
            case("no interval is missing", len(all_rows) in (intervals, intervals + 1)
                 and all(one["to_ns"] == next_["from_ns"] for one, next_ in zip(all_rows, all_rows[1:])), len(all_rows))
            case("each says how many ranks it has", [row["ranks"] for row in all_rows[:whole]] == [ranks] * whole
                 and 0 < all_rows[-5]["ranks"] <= ranks - len(lost), [row["ranks"] for row in all_rows])
            gaps = {gap["rank"]: gap for gap in report["gaps"]}
            # Ranks of the killed one's host may lack the intervals that it had not passed on.
            case("lost ranks are named, and since when", set(lost) <= set(gaps) and all(
                gap["to_ns"] >= (intervals - 1) * length * 10**6 for rank, gap in gaps.items() if rank in lost)
                and all(rank in lost or first_of_second < rank < first_of_second + of_host for rank in gaps)
                and any(line.startswith("intervals that lack a rank: ") for line in report["not_clean"]), (report["gaps"], report["not_clean"]))
            # The killed rank may have held intervals of its host, whose operations are told. The other host has no gap.
            nowhere = report["operations_in_no_interval"]
            sums = [sum(row["operations"] for row in all_rows), report["issued"], report["operations_of_lost_ranks"], nowhere]
            case("no operation is lost or counted twice", sums[0] == sums[1] + sums[2] - sums[3], sums)
            case("operations are in no interval only where ranks have a gap", (nowhere == 0 or any(rank not in lost for rank in gaps))
                 and any(line.startswith("operations of the totals that are in no interval: ") for line in report["not_clean"]) == (nowhere > 0),
                 (nowhere, gaps))
            case("the root's file has the same rows", [int(row["operations"]) for row in rows()] == [row["operations"] for row in all_rows])
            case("ranks keep no intervals: their memory does not grow", grown < 2, (grown, before, after))
            case("the root needs less than 200 MB", 0 < peak < 200, peak)
            print(f"{ranks} ranks on {count} hosts, {len(all_rows)} intervals: the root's memory {peak:.0f} MB, that of a rank "
                  f"{max(after.values()):.0f} MB, grown by up to {grown:.2f} MB; {read('err').count('does not answer')} ranks named")
        finally:
            hosts.end()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
