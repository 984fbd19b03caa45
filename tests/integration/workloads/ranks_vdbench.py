#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench vdbench by forked ranks: the counts, trees and rates of one process, each operation once; intervals of all and a line for each rank; limits,
failures and ends that hold for all; on NFSv4.1; what can't be."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, SERVERS, case, failed, run, scratch  # noqa: E402
from ranks import descendants, gone  # noqa: E402

HOST = os.uname().nodename

TREES = """\
fsd=fsd1,anchor={0}/one{1},depth=2,width=3,files=20,size=16k
fsd=fsd2,anchor={0}/two{1},depth=2,width=3,files=20,size=16k
fwd=default,fsd=fsd1,xfersize=4k,threads=8
fwd=read,operation=read,fileselect=(random,once)
fwd=stat,operation=getattr,fileselect=random
fwd=write,operation=write,fileio=random,fileselect=random,threads=4
fwd=copy,operation=copy,fsd=fsd1,target=fsd2
fwd=delete,operation=delete
fwd=rmdir,operation=rmdir
fwd=mkdir,operation=mkdir
fwd=create,operation=create
rd=default,fwdrate=max,elapsed=10,interval=1
rd=once,fwd=read,format=yes
rd=rate,fwd=(stat,write),fwdrate=601,elapsed=2
rd=copied,fwd=copy,format=restart
rd=deleted,fwd=delete
rd=removed,fwd=rmdir
rd=made,fwd=mkdir
rd=created,fwd=create
"""
ONLY_ONCE = "once copied deleted removed made created".split()

STORAGE = """\
sd=sd1,lun={0}/a,size=8m,threads=8
sd=sd2,lun={0}/b,size=8m,threads=6
wd=all,sd=sd1,xfersize=64k,seekpct=eof
wd=streams,sd=sd1,xfersize=4k,streams=2,seekpct=0
wd=a,sd=sd1,xfersize=4k,rdpct=50,skew=75
wd=b,sd=sd2,xfersize=4k,skew=25
wd=c,sd=sd1,xfersize=4k
wd=d,sd=sd2,xfersize=4k
rd=default,elapsed=2,interval=1
rd=all,wd=all,iorate=max
rd=streams,wd=streams,iorate=201
rd=rate,wd=(a,b),iorate=1001,distribution=(deterministic)
rd=shares,wd=(a,b),iorate=max
rd=curve,wd=c,iorate=curve,curve=(20)
rd=enough,wd=d,iorate=max,maxdata=1m,elapsed=20
"""


# Where ranks can't each have their part.
SCARCE = """\
fsd=few,anchor=scarce/few,files=3,size=8k
fsd=part,anchor=scarce/part,width=2,files=20,size=8k,workingsetsize=32k
fsd=nothing,anchor=scarce/nothing,files=3,size=8k
fwd=default,xfersize=4k,threads=8,fileselect=random
fwd=alone,fsd=few,operation=read
fwd=shared,fsd=few,operation=read,fileio=(random,shared)
fwd=part,fsd=part,operation=read,threads=4
fwd=in_vain,fsd=few,operation=copy,target=nothing,threads=3
rd=default,fwdrate=200,elapsed=2,interval=1
rd=alone,fwd=alone,format=yes
rd=shared,fwd=shared
rd=part,fwd=part,format=yes
rd=in_vain,fwd=in_vain,elapsed=50
"""


def vdbench(text, *options, name="run", timeout=100):
    with open(f"{name}.vdb", "w", encoding="utf-8") as file:
        file.write(text)
    done = run(FSBENCH, "vdbench", "-f", f"{name}.vdb", "-o", f"{name}.out", "--json", *options, timeout=timeout)
    result = json.loads(done.stdout or '{"runs": []}')
    return done, {one["name"]: one for one in result["runs"]}


def tree(directory):
    found = {}
    for where, folders, files in os.walk(directory):
        for name in folders + files:
            path = os.path.join(where, name)
            found[os.path.relpath(path, directory)] = os.path.getsize(path) if name in files else "directory"
    return found


def counts(one):
    return {name: (its["count"], its["failed"]) for name, its in one["average"].get("operations", {}).items()}


def by_rank(one):
    return [rank["operations"] for rank in one["ranks"]]


def intervals(one):
    return [part["count"] for part in one["intervals"]]


def trees(url, at, ranks=4, name="trees"):
    """`url`: as vdbench has it; `at`: the same as a directory."""
    where, query = (url.split("?") + [""])[:2]
    for side in ("alone", "ranks"):
        for entry in ("one", "two"):
            os.makedirs(f"{at}/{side}/{entry}")
    alone, one = vdbench(TREES.format(f"{where}/alone", query and "?" + query), name="one")
    done, several = vdbench(TREES.format(f"{where}/ranks", query and "?" + query), "--ranks", str(ranks))
    expected, found = tree(f"{at}/alone"), tree(f"{at}/ranks")
    case(f"{name}: all runs of both", alone.returncode == done.returncode == 0 and not done.stderr and list(one) == list(several) and len(one) == 9, done)
    case(f"{name}: the same files", found == expected and len(expected) == 2 * (1 + 12 + 180), set(found.items()) ^ set(expected.items()))
    for run_ in ["format_for_once", "format_for_copied", *ONLY_ONCE]:
        case(f"{name}, {run_}: each operation once", counts(one[run_]) == counts(several[run_]) != {}, (counts(one[run_]), counts(several[run_])))
    for run_ in ["format_for_once", *ONLY_ONCE]:
        dealt = by_rank(several[run_])
        fine = dealt[1:] == [0] * (ranks - 1) if run_ in ("removed", "made") else max(dealt) - min(dealt) <= dealt[0] / 10
        case(f"{name}, {run_}: dealt to the ranks", len(dealt) == ranks and fine and sum(dealt) == sum(intervals(several[run_])), dealt)
    case(f"{name}: the rate that was asked for", abs(sum(intervals(several["rate"])) - 2 * 601) <= 12, intervals(several["rate"]))


def storages():
    os.makedirs("sds", exist_ok=True)
    done, several = vdbench(STORAGE.format("sds"), "--ranks", "4")
    case("SDs: all runs", done.returncode == 0 and not done.stderr and len(several) == 8, (done, list(several)))
    case("SDs: what is read in turn is read once, by one rank", sorted(by_rank(several["all"])) == [0, 0, 0, 128], by_rank(several["all"]))
    case("SDs: streams at their rate, on one rank", sorted(by_rank(several["streams"]))[:3] == [0, 0, 0]
         and all(abs(n - 201) <= 2 for n in intervals(several["streams"])), several["streams"])
    case("SDs: a rate, start by start", all(abs(n - 1001) <= 20 for n in intervals(several["rate"])), intervals(several["rate"]))
    share = several["rate"]["WD"]["a"]["count"] / several["rate"]["average"]["count"]
    case("SDs: the shares of a rate", abs(share - 0.75) < 0.005, share)
    # 8 and 6 threads: two ranks have the same part of both.
    share = several["shares"]["WD"]["a"]["count"] / several["shares"]["average"]["count"]
    case("SDs: shares without a rate", abs(share - 0.75) < 0.02 and sum(n > 0 for n in by_rank(several["shares"])) == 2, (share, by_rank(several["shares"])))
    highest = several["curve"]["average"]["rate"]
    case("SDs: a curve's points follow from the rate of all", 0.19 < several["curve_(20%)"]["asked_per_s"] / highest < 0.22
         and all(n > 0 for n in by_rank(several["curve_(20%)"])), several["curve_(20%)"])
    case("SDs: a limit holds for all together", len(several["enough"]["intervals"]) <= 2, several["enough"])
    pages = sorted(os.listdir("run.out"))
    case("SDs: reports of the root alone", "flatfile.html" in pages and not [page for page in pages if "rank" in page], pages)
    done = run(FSBENCH, "vdbench", "-o", "text.out", "--ranks", "3", "--results", "text.db", "-", "sd=sd1,lun=sds/a", "rd=rd1,iorate=100,elapsed=2,interval=1")
    lines = re.findall(rf"^\S+ rank (\d) \({HOST}\): [\d,]+ operations in \d+\.\d{{3}} s, 0 failed, ", done.stdout, re.M)
    case("SDs: a line for each rank", done.returncode == 0 and lines == ["0", "1", "2"], done)
    with contextlib.closing(sqlite3.connect("text.db")) as results:
        rows = results.execute("select rank, host, streams, bytes_read = 4096 * issued from ranks order by rank").fetchall()
        issued = results.execute("select sum(ranks.issued) from ranks").fetchone()[0]
    case("SDs: a row for each rank", rows == [(0, HOST, 3, 1), (1, HOST, 3, 1), (2, HOST, 2, 1)] and abs(issued - 200) <= 4, (rows, issued))


def failures():
    os.mkdir("part")
    done, _ = vdbench("data_errors=9\nfsd=fsd1,anchor=part,files=40,size=8k\nfwd=fwd1,fsd=fsd1,operation=read,threads=4\n"
                      "rd=made,fwd=fwd1,fwdrate=50,format=yes,elapsed=2,interval=1,"
                      'endcmd="rm part/vdb.1_1.dir/vdb_f000[2468].file part/vdb.1_1.dir/vdb_f003?.file"\n'
                      "rd=missed,fwd=fwd1,fwdrate=max,elapsed=20,interval=1\n", "--ranks", "4", name="part")
    with open("part.out/errorlog.html", encoding="utf-8") as file:
        errors = [line for line in file if "No such file" in line]
    case("failures of all ranks are counted together, up to the limit", done.returncode == 1 and "errors, as many as data_errors= allows" in done.stderr
         and len(errors) >= 9 and any(f"rank 2 ({HOST}): fwd=fwd1" in line for line in errors) and any("rank" not in line for line in errors), (done, errors))
    for name, options, text, line in (
            ("data validation", ["-v"], STORAGE.format("sds"), "all ranks: data validation: 3 ranks use sd=sd1"),
            ("memory", [], STORAGE.format("memory:"), "all ranks: sd=sd1: ranks can't share memory:, which exists in one process; use another target or one rank"),
            ("a missing directory", [], TREES.format("nowhere", ""), f"rank 0 ({HOST}): fsd=fsd1: nowhere/one: No such file"),
            ("a word that is none", [], "sd=sd1,lum=x\n", "all ranks: bad.vdb:1:")):
        done, _ = vdbench(text, *options, "--ranks", "3", name="bad")
        case(f"{name}: status 2 and a line", done.returncode == 2 and done.stderr.startswith(f"fsbench vdbench: {line}")
             and done.stderr.count("\n") == 1, done)
    done = run(FSBENCH, "vdbench", "-s", "-f", "run.vdb", "--ranks", "3")
    case("one simulation", done.returncode == 0 and done.stdout.count("Simulating RD=rate") == 1, done)


def scarce():
    os.mkdir("scarce")
    for ranks, ending, used in (("1", "", {}), ("4", rf"rank [0-2] \({HOST}\): ", {"alone": 1, "shared": 3, "part": 1, "in_vain": 3})):
        started = time.monotonic()
        text = SCARCE if used else re.sub(r"^rd=(shared|part),.*\n", "", SCARCE, flags=re.M)
        done, runs = vdbench(text, "--ranks", ranks, name="scarce")
        case(f"{ranks} ranks and few files: the rate is kept", all(abs(sum(intervals(runs[name])) - 400) <= 8 for name in ("alone", "shared", "part")
                                                                   if f"rd={name}," in text), runs)
        case(f"{ranks} ranks and few files: as many as have some", all(sum(n > 0 for n in by_rank(runs[name])) == its for name, its in used.items() if name != "in_vain"),
             [by_rank(runs[name]) for name in used])
        said = f"fsbench vdbench: {ending}rd=in_vain: fwd=in_vain: 10000 attempts in a row found no object for operation copy; the last: "
        case(f"{ranks} ranks: threads that can do nothing end the run, which is reported", done.returncode == 1 and re.match(said, done.stderr)
             and done.stderr.count("\n") == 1 and "in_vain" in runs and time.monotonic() - started < 40, (done.returncode, done.stderr))
    for ranks in ("1", "3"):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=4", "none", "scarce"], check=True)
        try:
            done, runs = vdbench("fsd=fsd1,anchor=scarce,width=4,files=1,size=4k\nfwd=fwd1,fsd=fsd1,operation=getattr,threads=4\n"
                                 "rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=2,interval=1\n", "--ranks", ranks, name="scarce")
            case(f"{ranks} ranks: directories that can't be made are errors", done.returncode == 1 and done.stderr.startswith("fsbench vdbench: 5 errors: see")
                 and len(runs) == 2, (done.stderr, list(runs)))
        finally:
            subprocess.run(["umount", "scarce"], check=True)


def ended():
    text = STORAGE.format("sds").replace("elapsed=2", "elapsed=50")
    with open("long.vdb", "w", encoding="utf-8") as file:
        file.write(text[:text.index("rd=all")] + "rd=long,wd=(a,b),iorate=500\nrd=never,wd=c,iorate=500\n")
    lost = f"rank 2 ({HOST}) has ended: no further run is started without all ranks\n"
    for name, interval, act, said in (
            ("^C", "1", lambda run_, others: run_.send_signal(signal.SIGINT), "interrupted\n"),
            ("SIGINT of another rank", "1", lambda run_, others: os.kill(others[1], signal.SIGINT), "interrupted\n"),
            ("a rank that is killed", "1", lambda run_, others: os.kill(others[1], signal.SIGKILL), lost),
            ("a rank that is killed in the first interval", "2", lambda run_, others: os.kill(others[1], signal.SIGKILL), lost)):
        with subprocess.Popen([FSBENCH, "vdbench", "-f", "long.vdb", "-o", "long.out", "--ranks", "3", "-i", interval], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as run_:
            while not re.search(r"^\S+ +1 +\d" if interval == "1" else "Starting RD=long", run_.stdout.readline()):
                pass
            if interval != "1":
                time.sleep(0.5)
            others = descendants(run_.pid, "fsbench")
            started = time.monotonic()
            act(run_, others)
            out, err = run_.communicate(timeout=60)
        case(f"{name}: all end, with a line, and report", run_.returncode == 1 and err == f"fsbench vdbench: {said}" and "avg_" in out and "RD=never" not in out
             and time.monotonic() - started < 5 and gone(others), (run_.returncode, out, err, time.monotonic() - started))


def monitored():
    text = STORAGE.format("sds").replace("elapsed=2", "elapsed=50")
    with open("monitored.vdb", "w", encoding="utf-8") as file:
        file.write("monitor=word\n" + text[:text.index("rd=all")] + "rd=long,wd=(a,b),iorate=500\nrd=never,wd=c,iorate=500\n")
    for ranks in ("1", "3"):
        with open("word", "w", encoding="utf-8") as file:
            file.write("end_rd\n")  # of an earlier run
        with subprocess.Popen([FSBENCH, "vdbench", "-f", "monitored.vdb", "-o", "monitored.out", "--ranks", ranks], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as run_:
            while not re.search(r"^\S+ +2 +\d", run_.stdout.readline()):
                pass
            with open("word", "w", encoding="utf-8") as file:
                file.write("TERMINATE\n")
            started = time.monotonic()
            out, err = run_.communicate(timeout=60)
        case(f"{ranks} ranks: a word in the monitor's file ends all runs", run_.returncode == 0 and err == "" and "avg_2-" in out and "RD=never" not in out
             and time.monotonic() - started < 5 and os.path.getsize("word") == 0, (run_.returncode, out, err))


def main():
    if sys.argv[1:2] == ["--on-server"]:
        with scratch():
            url, directory = os.environ["NFS4_VFS_URL"], os.environ["NFS_VFS_DIR"]
            trees(url, directory, ranks=3, name="NFSv4.1")
        sys.exit(1 if failed else 0)
    with scratch(in_memory=True):
        trees("d", "d")
        storages()
        failures()
        scarce()
        ended()
        monitored()
        done = run(f"{SERVERS}/ganesha", sys.executable, os.path.abspath(__file__), "--on-server")
        print(done.stdout, end="", flush=True)
        case("on a server", done.returncode == 0, done.stderr[-500:])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
