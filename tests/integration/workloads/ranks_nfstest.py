#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench nfstest by forked ranks: the original's lines, what is written and read on every kind of server, wrong content, the quota; ranks
that are killed, stopped, interrupted or wait; bad input."""
import json
import os
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, case, ended_well, failed, on_servers, run, scratch, targets_of_server, without_stands  # noqa: E402
from ranks import Running, cpu_while_waiting, gone  # noqa: E402

HOST = os.uname().nodename
HEADER = """FILETEST/NFS/MPI of 2003/07/04 is running with following parameters:
\tUnit is 1Kb = 1024 bytes
\tFile size: 256Kb to 1024Kb, buffer size: 256Kb
\tNumber of processes: 4, number of files: 3, total: 12
\tChecking correctness of read buffer.
\tUsing direct I/O calls (read/write).
\tNumber of iterations for whole test: 3
\tTesting file system: d
"""


def layout():
    words = ["n3", "uK", "m256", "M1024", "b256", "K2", "fd", "oresults", "d1", "c1", "v1", "R3"]
    done = run(FSBENCH, "nfstest", "--ranks", "4", "--compat", *words)
    number = r" *\d+\.\d"
    stages = [rf"Starting test iteration = {i} for FS = {size}Kb\.\n"
              + "".join(rf"--- TFS={size * 12}Kb\t{x}TT={number}s A{x}T={number}s\tL{x}R={number}Kb/s T{x}R={number}Kb/s\n" for x in "WR") + "\n"
              for i in range(3) for size in (256, 512, 1024)]
    with open("results", encoding="utf-8") as file:
        text = file.read()
    nodes = "\tNodes: " + " ".join([HOST] * 4) + "\n\n"
    best = "".join(rf"--- Best {name} rate achieved: T{x}R={number} Kb/s \(at TFS=\d+Kb\)\n" for name, x in (("writing", "W"), ("reading", "R")))
    wanted = re.escape(HEADER + nodes) + "".join(stages) + rf"Testing complete in {number} seconds\n" + best
    case("the file of results has the original's lines", done.returncode == 0 and re.fullmatch(wanted, text), text + done.stderr)
    case("the terminal has the progress", done.stdout.count("Starting test iteration") == 9 and "---" not in done.stdout, done.stdout)
    done = run(FSBENCH, "nfstest", "--ranks", "2", "fd", "n1", "m4", "M8")
    line = r"--- TFS=\d+Kb\t[WR]TT=\d\.\d{6}s .*\n"
    case("without v1: lines of results alone", re.fullmatch(rf"({line}){{4}}(--- Best .*\n){{2}}", done.stdout) and not done.stderr, done)
    case("nothing is left", not os.listdir("d"), os.listdir("d"))


def content():
    for name, words in (("whole files", []), ("an odd size by odd buffers", ["ub", "m5001", "M12345", "s7344", "b701"]),
                        ("the same by system calls", ["ub", "m5001", "M12345", "s7344", "b701", "d1"]),
                        ("more files than ranks", ["n5", "m64", "--fsync"])):
        done = run(FSBENCH, "nfstest", "--ranks", "3", "fd", "c1", "--json", *words)
        result = json.loads(done.stdout or '{"stages": []}')
        files = 5 if "n5" in words else 3
        fine = done.returncode == 0 and len(result["stages"]) >= 2
        for stage in result["stages"]:
            fine = fine and sum(rank["bytes"] for rank in stage["ranks"]) == stage["total_bytes"] == 3 * files * stage["file_bytes"]
            opened = "create" if stage["stage"] == "write" else "open"
            fine = fine and stage["latency"][opened]["count"] == 3 * files and stage["fastest_rank_seconds"] <= stage["slowest_rank_seconds"]
            fine = fine and "lookup" not in stage["latency"]  # in a directory, open(2) finds a file by its name
            fine = fine and ("fsync" in stage["latency"]) == ("--fsync" in words and stage["stage"] == "write")
        case(f"{name}: all bytes of all ranks", fine, done)
    stop = threading.Event()

    def spoil():
        while not stop.is_set():
            try:
                with open("d/nfstest.1.0", "r+b", buffering=0) as file:
                    os.pwrite(file.fileno(), b"\xff", 100)
            except FileNotFoundError:
                pass

    spoiler = threading.Thread(target=spoil)
    spoiler.start()
    done = run(FSBENCH, "nfstest", "--ranks", "3", "fd", "c1", "m4", "R500")
    stop.set()
    spoiler.join()
    case("a byte that another wrote: rank, file, offset, expected and found",
         done.returncode == 1 and re.search(rf"fsbench nfstest: rank 0 \({HOST}\): nfstest\.1\.0 at byte 100: expected 1, found 255\n", done.stderr)
         and re.search(r"fsbench nfstest: \d+ bytes were not what had been written\n$", done.stderr) and "Best" in done.stdout, done)
    done = run(FSBENCH, "nfstest", "--ranks", "2", "fd", "n2", "m1", "M100", "K10", "S100", "v1")
    case("the quota leaves sizes out, and says so", done.returncode == 0 and "FS = 10Kb" in done.stdout and "FS = 100Kb" not in done.stdout
         and done.stderr == "fsbench nfstest: left out for the quota of 100Kb: 1 size, from 100Kb\n", done)
    done = run(FSBENCH, "nfstest", "--ranks", "2", "--patience", "1s", "fnull:", "ub", "m16000000", "b1", "d1", "n1")
    case("a rank that is busy for longer than the patience is not lost", done.returncode == 0 and float(done.stdout.split("WTT=")[1].split("s")[0]) > 1, done)
    done = run(FSBENCH, "nfstest", "fmemory:", "m64", "c1")
    case("one rank alone, in memory", done.returncode == 0, done)


def running(*options):
    return Running(FSBENCH, "nfstest", "--ranks", "4", *options)


def failures():
    for name, victim, number, options, line in (
            ("a rank that is killed", 1, signal.SIGKILL, [], rf"fsbench nfstest: rank 2 \({HOST}\) has ended\n"),
            ("a rank that stops", 2, signal.SIGSTOP, ["--patience", "2s"], rf"fsbench nfstest: rank 3 \({HOST}\) sent no heartbeat for 2\S* s\n")):
        run_ = running(*options)
        os.kill(run_.others[victim], number)
        status, out, err = run_.end()
        case(f"{name}: named, status 1", status == 1 and re.fullmatch(line, without_stands(err)), (status, err))
        case(f"{name}: what was measured is printed", out.count("--- Best") == 2, out[-300:])
        case(f"{name}: neither files nor processes are left", gone(run_.others) and not os.listdir("d"), os.listdir("d"))
    run_ = running()
    run_.run.kill()
    run_.end()
    case("without the root the others end", gone(run_.others), run_.others)
    for left in os.listdir("d"):
        os.unlink(f"d/{left}")
    run_ = running()
    run_.run.send_signal(signal.SIGINT)
    status, out, err = run_.end()
    case("^C: status 1, a line, what was measured", (status, without_stands(err)) == (1, "fsbench nfstest: interrupted\n") and out.count("--- Best") == 2, (status, err))
    case("^C: neither files nor processes are left", gone(run_.others) and not os.listdir("d"), os.listdir("d"))
    run_ = running()
    os.kill(run_.others[2], signal.SIGSTOP)
    used = cpu_while_waiting([run_.run.pid, *run_.others[:2]])
    os.kill(run_.others[2], signal.SIGCONT)
    case("ranks that wait use no processor", used <= 0.05, used)
    run_.run.send_signal(signal.SIGTERM)
    status, _, err = run_.end()
    case("a rank that goes on is waited for", (status, without_stands(err)) == (1, "fsbench nfstest: interrupted\n"), (status, err))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", "d"], check=True)
    done = run(FSBENCH, "nfstest", "--ranks", "2", "fd", "m600", "n1")
    case("a full file system: named, nothing left", done.returncode == 1 and not os.listdir("d")
         and re.search(rf"rank [01] \({HOST}\): can't write nfstest\.[01]\.0 at byte \d+: No space left on device\n", done.stderr), done)
    subprocess.run(["umount", "d"], check=True)


def bad_input():
    for name, words, line in (
            ("an odd letter", ["x5"], "'x5': expected u, m, M, b,"), ("no number", ["nmany"], "'nmany': expected a whole number above 0 after 'n'"),
            ("an odd unit", ["uG"], "'uG': expected the unit b, K or M after 'u'"), ("sizes that shrink", ["m4", "M2"], "M2: expected a largest size of at least m4"),
            ("a quota for nothing", ["S1", "m4"], "S1: expected a quota that holds all files at their smallest size, m4"),
            ("a missing directory", ["fnowhere"], f"rank 0 ({HOST}): nowhere: No such file or directory\n"),
            ("no memory", ["fd", "uM", "m2000000"], f"rank 0 ({HOST}): files of 2000000Mb: a buffer of 2097152000000 bytes, expected at most the memory of "),
            ("a file that can't be written", ["fd", "onowhere/o"], f"rank 0 ({HOST}): nowhere/o: No such file or directory\n")):
        done = run(FSBENCH, "nfstest", "--ranks", "2", *words)
        case(f"{name}: status 2 and a line", done.returncode == 2 and done.stderr.startswith("fsbench nfstest: " + line)
             and done.stderr.count("\n") == 1 and not done.stdout, done)
    with open("kept", "w", encoding="ascii") as file:
        file.write("older results")
    done = run(FSBENCH, "nfstest", "--ranks", "2", "fnowhere", "okept")
    with open("kept", encoding="ascii") as file:
        case("a test that can't start leaves its output file as it was", done.returncode == 2 and file.read() == "older results", done)


def on_server():
    for name, url, directory in targets_of_server():
        for words in (["m300", "n3", "d1"], ["ub", "m5001", "b701", "n2"]):
            done = run(FSBENCH, "nfstest", "--ranks", "3", "c1", "--json", "f" + url, *words, timeout=60)
            result = json.loads(done.stdout or '{"stages": []}')
            fine = ended_well(done) and [stage["stage"] for stage in result["stages"]] == ["write", "read"]
            case(f"{name}, {words[0]}: others' files are read", fine and result["wrong_bytes"] == 0, (done.stderr, done))
            reads = [rank.get("wire_reads") for rank in result["stages"][1]["ranks"]] if fine else []
            case(f"{name}, {words[0]}: READ requests are counted where they can be", "NFS" not in name or all(reads), reads)
        left = [entry for entry in os.listdir(directory) if entry.startswith("nfstest")]
        case(f"{name}: nothing is left", not left, left)


def main():
    if sys.argv[1:2] == ["--on-server"]:
        on_server()
        sys.exit(1 if failed else 0)
    with scratch(in_memory=True):
        os.mkdir("d")
        layout()
        content()
        failures()
        bad_input()
        on_servers(__file__)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
