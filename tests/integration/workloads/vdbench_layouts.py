#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench vdbench: what programs that read the original's output find in ours. Lists of fields are those of such programs, which are
public: two that send flatfiles to InfluxDB, two that read consoles, and scripts that call parseflat."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, case, failed, run, scratch  # noqa: E402

CONSOLE_OF_SDS = "rate mb bytes read_pct resp read_resp write_resp read_max write_max stddev depth cpu sys".split()
CONSOLE_OF_FILES = ("rate resp cpu sys read_pct read_rate read_resp write_rate write_resp mb_read mb_write mb size "
                    + " ".join(f"{each}_rate {each}_resp" for each in ("mkdir", "rmdir", "create", "open", "close", "delete"))).split()
FLAT_OF_SDS = """tod timestamp run interval reqrate rate mb bytes read_pct resp read_resp write_resp resp_max read_max write_max resp_std
read_std write_std xfersize threads rdpct rhpct whpct seekpct lunsize version compratio dedupratio queue_depth cpu_used cpu_user cpu_kernel
cpu_wait cpu_idle""".split()
OPERATIONS = "Read Write Mkdir Rmdir Create Open Close Delete Getattr Setattr Access".split()
ASKED_OF_FILES = ("Run Xfersize Threads Reqrate Rate Rate_std Rate_max Resp Resp_std Resp_max MB/sec MB_read MB_write "
                  + " ".join(f"{each}_rate {each}_rate_std {each}_rate_max {each}_resp {each}_resp_std {each}_resp_max" for each in OPERATIONS)
                  + " Compratio Dedupratio cpu_used cpu_user cpu_kernel cpu_wait cpu_idle").split()
ASKED_OF_SDS = """rate MB/sec read% resp read_resp write_resp resp_max read_max write_max xfersize threads rdpct rhpct whpct seekpct lunsize
queue_depth""".split()

SDS = "sd=s,lun=big,size=4m\nwd=w,sd=s,rdpct=60,xfersize=4k\nrd=r,wd=w,iorate=500,elapsed=3,interval=1\n"
FILES = """fsd=f,anchor=tree,depth=1,width=2,files=10,size=16k
fwd=w,fsd=f,rdpct=50,xfersize=4k,fileio=random,threads=2
rd=r,fwd=w,fwdrate=400,format=yes,elapsed=3,interval=1
"""
# Lines of 5.04.07 and 5.04.06 on SDs.
HEADING_07 = """\
    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
"""
HEADING_06 = """\
  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%
                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth sys+u   sys
"""


def text(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def start(name, content, *options):
    with open(f"{name}.vdb", "w", encoding="utf-8") as file:
        file.write(content)
    done = run(FSBENCH, "vdbench", "-f", f"{name}.vdb", "-o", f"{name}.out", *options, timeout=60)
    # A busy machine may have had no processor for a while, which is told with status 1.
    case(f"{name}: ends well", done.returncode == 0 or "the load generator itself stood still" in done.stderr, done.stdout + done.stderr)
    return done.stdout


def numbers(console, fields):
    """Lines of a console that are numbers alone, as one of those programs picks them. None: a line has another number of fields."""
    lines = [line.split() for line in console.splitlines() if re.fullmatch(r"[\d\s:.]+", line) and len(line.split()) > 2]
    if not lines or any(len(line) != len(fields) + 2 for line in lines):
        return None
    return [dict(zip(fields, map(float, line[2:]))) for line in lines]


def flat_lines(name):
    return [line for line in text(f"{name}.out/flatfile.html").splitlines() if line and line[0] not in "*<"]


def agree(one, other, fields, allowed=.06):
    return all(abs(one[a] - float(other[b])) <= allowed for a, b in fields)


def parseflat(name, *options):
    done = run(FSBENCH, "vdbench", "parseflat", "-i", f"{name}.out/flatfile.html", *options)
    lines = [line.split(",") for line in done.stdout.splitlines()]
    case(f"{name}: parseflat finds the columns", done.returncode == 0 and len(lines) > 1 and all(len(line) == len(lines[0]) for line in lines),
         done.stdout + done.stderr)
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def of_sds():
    console = start("sds", SDS)
    case("heading as 5.04.07 prints it", HEADING_07 in console, console)
    case("numbers end below it", re.search(r"^[\d:.]{12}.{12}.{11}.{9}.{8}.{7}.{9}.{9}.{9}.{9}.{9}.{9}.{7}.{6}.{6}$", console, re.M) and
         re.search(r"^[\d:.]{12} {11}1 +[\d.]+ ", console, re.M), console)
    found = numbers(console, CONSOLE_OF_SDS)
    case("13 values in each interval", found is not None and len(found) >= 3, console)
    last = text("sds.out/totals.html").splitlines()[-1].split()
    case("the last line of totals.html is the average", len(last) == len(CONSOLE_OF_SDS) + 2 and last[1] == "avg_2-3", last)
    average = dict(zip(CONSOLE_OF_SDS, map(float, last[2:])))
    case("with values in their places", abs(average["rate"] - 500) < 25 and average["bytes"] == 4096 and abs(average["read_pct"] - 60) < 12 and
         average["read_max"] >= average["read_resp"] > 0 and average["write_max"] >= average["write_resp"] > 0, average)
    rows = flat_lines("sds")
    cells = [line.split(" ") for line in rows[1:]]
    # A program that splits at each blank expects one more, which is empty.
    case("34 columns, with a single blank between them", all(len(row) == 35 and row[-1] == "" and "" not in row[:-1] for row in cells), rows)
    case("and in the first line", len(rows[0].split()) == 34 and len(rows[0].split(" ")) != 35, rows[0])
    flat = [dict(zip(FLAT_OF_SDS, row)) for row in cells]
    case("the flatfile has the console's values", agree(average, flat[-1], [(name, name) for name in ("rate", "mb", "bytes", "read_pct", "resp", "read_resp",
         "write_resp", "read_max", "write_max")] + [("stddev", "resp_std"), ("depth", "queue_depth"), ("cpu", "cpu_used"), ("sys", "cpu_kernel")]), (average, flat[-1]))
    highest = [max(float(row["read_max"]), float(row["write_max"])) == float(row["resp_max"]) for row in flat if row["run"] == "r"]
    case("the longer of both is the longest", len(highest) == 4 and all(highest), flat)
    case("deviations of reads and of writes", float(flat[-1]["read_std"]) > 0 and float(flat[-1]["write_std"]) > 0, flat[-1])
    case("the time is one that programs parse", all(re.fullmatch(r"\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d-\w+", row["timestamp"]) and
                                                  re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}", row["tod"]) for row in flat), flat[-1])
    csv = parseflat("sds", "-a", "-c", *ASKED_OF_SDS)
    case("one average", list(csv[0]) == ASKED_OF_SDS and len(csv) == 1 and csv[0]["read_max"] == flat[-1]["read_max"], csv)


def of_files():
    console = start("files", FILES)
    found = numbers(console, CONSOLE_OF_FILES)
    case("25 values in each interval", found is not None and len(found) >= 3, console)
    case("with values in their places", abs(found[-1]["rate"] - 400) < 40 and found[-1]["size"] == 4096, found)
    rows = parseflat("files", "-c", "Interval", *ASKED_OF_FILES)
    case("intervals and the average, without the format", [row["Interval"] for row in rows] == ["1", "2", "3", "avg_2-3"], rows)
    rates = [float(row["Rate"]) for row in rows]
    mean = sum(rates[1:3]) / 2
    deviation = (sum((rate - mean) ** 2 for rate in rates[1:3])) ** .5
    case("the highest rate and the deviation of intervals", abs(float(rows[-1]["Rate_max"]) - max(rates[1:3])) < .001 and
         abs(float(rows[-1]["Rate_std"]) - deviation) < .001 and [row["Rate_std"] for row in rows[:-1]] == ["0.0000"] * 3 and
         all(row["Rate_max"] == row["Rate"] for row in rows[:-1]), rows)
    case("threads, transfers, response times", rows[-1]["Threads"] == "2" and rows[-1]["Xfersize"] == "4096" and
         float(rows[-1]["Read_resp_max"]) >= float(rows[-1]["Read_resp"]) > 0 and float(rows[-1]["Write_resp_std"]) > 0 and
         float(rows[-1]["Resp_max"]) == max(float(rows[-1]["Read_resp_max"]), float(rows[-1]["Write_resp_max"])), rows[-1])
    names = flat_lines("files")[0].split()
    case("columns in the original's order", names == ["tod", "timestamp", "Run", "Interval", *ASKED_OF_FILES[1:]], names)


def older():
    console = start("old", SDS, "--layout", "5.04.06")
    case("5.04.06's heading", HEADING_06 in console and HEADING_07 not in console, console)
    case("and its 12 values", (numbers(console, ["v"] * 12) or [{}])[-1] != {}, console)
    names = flat_lines("old")[0].split()
    case("30 columns", len(names) == 30 and "read_max" not in names and names[13:15] == ["resp_std", "xfersize"], names)
    start("old_files", FILES, "--layout", "5.04.06")
    names = flat_lines("old_files")[0].split()
    case("44 columns of files", len(names) == 44 and names[4:7] == ["reqrate", "rate", "resp"] and names[-9:-5] == ["Move_rate", "Move_resp", "compratio", "dedupratio"],
         names)
    for newer, old, columns in (("sds", "old", ("rate", "resp_max")), ("files", "old_files", ("rate", "RESP", "reqrate"))):
        rows = parseflat(newer, "-a", "-c", *columns) + parseflat(old, "-a", "-c", *columns)
        case(f"{newer}: parseflat takes both layouts, with names in any case", len(rows) == 2 and all(float(value) > 0 for row in rows for value in row.values()), rows)
        done = run(FSBENCH, "vdbench", "compare", f"{old}.out", f"{newer}.out")
        case(f"{newer}: compare takes one of each", done.returncode == 0 and re.search(r"^r +[\d.]+ +[\d.]+ +[-+][\d.]+%", done.stdout, re.M), done.stdout + done.stderr)
    done = run(FSBENCH, "vdbench", "-f", "old.vdb", "--layout", "5.04")
    case("another version: status 2", done.returncode == 2 and "5.04.07" in done.stderr, done.stderr)


if __name__ == "__main__":
    with scratch():
        of_sds()
        of_files()
        older()
        sys.exit(1 if failed else 0)
