#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench vdbench: trees as vdbench 5.04 makes them, every operation, rates and shares, formats; every kind of server; ^C and bad input."""
import concurrent.futures
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
from older_tools import BUILD, FSBENCH, case, failed, on_servers, run, scratch, targets_of_server  # noqa: E402

FSREPLAY = os.path.join(BUILD, "replay/fsreplay")


def vdbench(text, *options, name="run", timeout=120):
    with open(f"{name}.vdb", "w", encoding="utf-8") as file:
        file.write(text)
    done = run(FSBENCH, "vdbench", "-f", f"{name}.vdb", "-o", f"{name}.out", *options, timeout=timeout)
    return done, done.stdout


def tree(directory):
    found = {}
    for where, folders, files in os.walk(directory):
        for folder in folders:
            found[os.path.relpath(os.path.join(where, folder), directory)] = "directory"
        for file in files:
            path = os.path.join(where, file)
            found[os.path.relpath(path, directory)] = os.path.getsize(path)
    return found


OPERATIONS = "Read Write Mkdir Rmdir Create Open Close Delete Getattr Setattr Access".split()
FILE_COLUMNS = ("tod timestamp Run Interval Xfersize Threads Reqrate Rate Rate_std Rate_max Resp Resp_std Resp_max MB/sec MB_read MB_write "
                + " ".join(f"{each}_{what}{of}" for each in OPERATIONS for what in ("rate", "resp") for of in ("", "_std", "_max"))
                + " Compratio Dedupratio cpu_used cpu_user cpu_kernel cpu_wait cpu_idle").split()
RAW_COLUMNS = """tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp resp_max read_max write_max resp_std read_std
write_std xfersize threads rdpct rhpct whpct seekpct lunsize version compratio dedupratio queue_depth cpu_used cpu_user cpu_kernel cpu_wait
cpu_idle""".split()


# Lines of the original's consoles and pages.
RAW_LINES = """\
    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
09:11:52.028           1      547.0     2.70    5166  36.75    0.013    0.013    0.012     0.76     0.70    0.038    0.0  95.5  21.8""".splitlines()
RAW_SKEW = """\
                     i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue       skew     skew    skew 
WD:                 rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth  requested observed   delta 
SD_format_sd2      128.0    16.00  131072   0.00    0.064    0.000    0.064     0.00     2.67    0.252    0.0     50.00%   50.00%""".splitlines()
FILE_LINES = """\
 .Interval. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir.... ...rmdir.... ...create... ....open.... ...close.... ...delete...
                          rate   resp total  sys   pct   rate   resp   rate   resp  read write  total    size  rate   resp  rate   resp  rate   resp  rate   resp  rate   resp  rate   resp
09:12:19.032          1   59.0  0.011  53.1 34.2 100.0   59.0  0.011    0.0  0.000  0.23  0.00   0.23    4096   0.0  0.000   0.0  0.000   0.0  0.000   2.0  0.869   0.0  0.000   0.0  0.000""".splitlines()
FILE_SKEW = """\
              .ReqstdOps...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir.... ...rmdir.... ...create... ....open.... ...close.... ...delete...
FSD:            rate   resp   pct   rate   resp   rate   resp  read write  total    size  rate   resp  rate   resp  rate   resp  rate   resp  rate   resp  rate   resp
fsd1            93.8  0.010 100.0   93.8  0.010    0.0  0.000  0.37  0.00   0.37    4096   0.0  0.000   0.0  0.000   0.0  0.000   3.2  0.297   2.8  0.056   0.0  0.000""".splitlines()
STATUS = ["Starting", "Warmup done", "Workload done", "Slaves done"]


def page(name):
    with open(f"{name}.html", encoding="utf-8") as file:
        return file.read().replace("&lt;", "<")


def has_layout(text, lines, start, extra=0):
    """Both heading lines stand in the text, and below them one that begins like `start`, whose numbers end where the original's do."""
    first, second, numbers = lines
    at = re.search(re.escape(first) + r"[^\n]*\n[^\n]*?" + re.escape(second) + r"[^\n]*\n[^\n]*?(" + start + r"[^\n]*)", text)
    ends = [[m.end() for m in re.finditer(r"\S+", line)] for line in (numbers, at[1] if at else "")]
    return bool(at) and ends[0][1:] == ends[1][1:len(ends[0])] and len(ends[1]) == len(ends[0]) + extra


def layouts(directory, kinds, lines, skew, name, extra=0):
    """Pages of a directory against lines of the original's. `kinds`: its SDs and WDs, or FSDs and FWDs; `extra`: columns at the
    end that the original has as well, but not in these lines."""
    for each in ("summary", "logfile", "totals", "localhost", *kinds):
        case(f"columns of {each}.html", has_layout(page(f"{directory}/{each}"), lines, r"\d\d:\d\d:\d\d\.\d+ +\S", extra), page(f"{directory}/{each}")[:1500])
    case("columns of skew.html", has_layout(page(f"{directory}/skew"), skew, name, extra), page(f"{directory}/skew"))
    rows = re.findall(r"^ *([\d.]+) < +([\d.]+|max) +[\d,]+ +[\d.]+ +[\d.]+  \+*-*$", page(f"{directory}/histogram"), re.M)
    case("27 rows in each histogram", len(rows) % 27 == 0 and rows[:2] == [("0.000", "0.020"), ("0.020", "0.040")] and rows[26] == ("2000.000", "max"), rows)
    case("histograms of each part", all("min(ms) <     max(ms)        count       %%    cum%%" in page(f"{directory}/{each}.histogram") for each in kinds))
    told = [line.split("\t")[1:] for line in page(f"{directory}/status").splitlines() if "\t" in line]
    words = [line[0] for line in told]
    case("steps of status.html", words[:4] == ["Starting slaves", "Slaves connected", "Query host configuration started", "Query host configuration completed"]
         and words[-2:] == ["Shutting down slaves", "Vdbench complete"] and words[4:-2] == STATUS * (len(words[4:-2]) // 4) and told[4][1].startswith("rd="), told)
    links = set(re.findall(r'HREF="([\w.]+\.html)"', page(f"{directory}/summary")))
    case("links of summary.html lead somewhere", links <= set(os.listdir(directory)) and {f"{each}.html" for each in kinds} <= links, links)
    places = re.findall(r'HREF="#(\w+)"', page(f"{directory}/totals"))
    case("links to runs lead to them", places and all(f'<a name="{place}">' in page(f"{directory}/{each}") for place in places
                                                      for each in ("summary", "totals", "histogram", "skew")), places)


def flatfile(directory):
    """Lines as dictionaries."""
    with open(f"{directory}/flatfile.html", encoding="utf-8") as file:
        names, *lines = [line.split() for line in file if line[0] not in "*<"]
    return [dict(zip(names, line)) for line in lines]


def counts(text, rd):
    """Miscellaneous statistics of a run."""
    part = text.split(f"Starting RD={rd}", 1)[1].split("Starting RD=", 1)[0]
    return {code: int(n.replace(",", "")) for code, n in re.findall(r" ([A-Z_]{4,}) +[A-Z].*?: +([0-9,]+) +[0-9,]+/sec", part)}


def lines_of(text, rd):
    """Intervals and average of a run: lists of numbers from the rate on."""
    part = text.split(f"Starting RD={rd}", 1)[1].split("Starting RD=", 1)[0]
    return {label: [float(n) for n in rest.split()] for label, rest in re.findall(r"^\d\d:\d\d:\d\d\.\d{3} +(\d+|avg_\S+)((?: +[\d.]+)+)$", part, re.M)}


def structures():
    # As many directories, files and bytes as consoles of the original show for these parameters.
    done, out = vdbench("""fsd=fsd1,anchor=dir2,depth=2,width=3,files=5,sizes=(8k,50,64k,50),distribution=all
fwd=default,fsd=fsd1,xfersize=(4k,50,8k,50),fileio=random,fileselect=random,threads=2
fwd=fwd1,operation=read,skew=60
fwd=fwd2,operation=write,skew=30
fwd=fwd3,operation=getattr,skew=10
rd=rd1,fwd=fwd*,fwdrate=max,format=yes,elapsed=2,interval=1
rd=rd2,fwd=fwd*,fwdrate=1000,format=no,elapsed=3,interval=1
""", name="mix")
    case("a mix of three FWDs ends well", done.returncode == 0 and "Vdbench execution completed successfully" in out, out + done.stderr)
    made = tree("dir2")
    sizes = [n for n in made.values() if n != "directory"]
    case("12 directories, 60 files, 2,097,152 bytes", (len(made), len(sizes), sum(sizes)) == (72, 60, 2097152), made)
    case("names and sizes of the first files", [made.get(f"vdb.1_1.dir/vdb_f000{n}.file") for n in range(1, 6)] == [65536, 8192, 8192, 8192, 8192], made)
    formatted = counts(out, "format_for_rd1")
    case("the format's counts", [formatted.get(k) for k in ("FILE_CREATES", "DIRECTORY_CREATES", "WRITE_OPENS", "FILE_CLOSES")] == [60, 12, 60, 60],
         formatted)
    asked = lines_of(out, "rd2")
    average = asked.get("avg_2-3", [0] * 50)
    # A busy machine may be late with some, at the end of an interval.
    case("1000 a second come as 1000 a second", 950 < average[0] < 1050, asked)
    case("in the shares that were asked for", all(abs(average[at] / average[0] - want) < 0.03 for at, want in ((5, .6), (7, .3), (25, .1))), average)
    case("the average leaves out the first interval", abs(average[0] - (asked["2"][0] + asked["3"][0]) / 2) < 0.2, asked)
    pages = sorted(os.listdir("mix.out"))
    case("pages", {"summary.html", "totals.html", "logfile.html", "status.html", "parmfile.html", "parmscan.html", "errorlog.html"} <= set(pages), pages)
    with open("mix.out/histogram.html", encoding="utf-8") as file:
        histogram = file.read()
    shares = [float(n) for n in re.findall(r"< +max +[0-9,]+ +[0-9.]+ +([0-9.]+)", histogram)]
    rows = flatfile("mix.out")
    case("the flatfile has a line for each interval and average, in the original's columns",
         [row["Interval"] for row in rows if row["Run"] == "rd2"] == ["1", "2", "3", "avg_2-3"] and list(rows[0]) == FILE_COLUMNS, rows[:1])
    case("with the console's numbers", abs(float(rows[-1]["Rate"]) - average[0]) < 0.06 and float(rows[-1]["Reqrate"]) == 1000, rows[-1])
    done = run(FSBENCH, "vdbench", "parseflat", "-i", "mix.out", "-a", "-c", "Run", "rate", "-f", "Run", "rd2")
    case("parseflat makes CSV of it", done.stdout == f"Run,Rate\nrd2,{rows[-1]['Rate']}\n", done.stdout + done.stderr)
    done = run(FSBENCH, "vdbench", "parseflat", "-i", "mix.out", "-c", "speed")
    case("a column that is not there: status 2 and the ones that are", done.returncode == 2 and "no column 'speed', expected one of tod" in done.stderr, done.stderr)
    done = run(FSBENCH, "vdbench", "compare", "mix.out", "mix.out")
    case("two directories are compared run by run", re.findall(r"^rd\d.* \+0.0%.* \+0.0%$", done.stdout, re.M) != [], done.stdout + done.stderr)
    with open("mix.out/skew.html", encoding="utf-8") as file:
        skew = file.read().split("Starting RD=rd2", 1)[1]
    observed = [(float(asked), float(seen)) for asked, seen in re.findall(r"fwd\d .*? ([0-9.]+)% +([0-9.]+)%", skew)]
    case("skew: asked and observed", [asked for asked, _ in observed] == [60, 30, 10] and all(abs(a - b) < 3 for a, b in observed), skew)
    layouts("mix.out", ("fsd1", "fwd1", "fwd2", "fwd3"), FILE_LINES, FILE_SKEW, "fsd1", 2)
    with open("mix.out/fwd2.html", encoding="utf-8") as file:
        part = [line.split() for line in file if "avg_2-3" in line]
    case("a page for each FWD", len(part) == 1 and abs(float(part[0][2]) / average[0] - 0.3) < 0.03, part)
    case("a histogram of each run, with percentiles", shares and all(abs(n - 100) < .01 for n in shares) and "p99.99" in histogram, shares)


def operations():
    done, out = vdbench("""fsd=fsd1,anchor=ops,depth=2,width=2,files=20,size=16k
fsd=fsd2,anchor=copies,depth=2,width=2,files=20,size=16k
fwd=default,fsd=fsd1,fileselect=seq,threads=4
fwd=read,xfersize=4k,stopafter=3
fwd=reread,fileio=random,xfersize=4k,rdpct=50
fwd=copy,operation=copy,target=fsd2
fwd=makes,operation=create
fwd=removes,operation=delete
fwd=any
rd=default,fwdrate=max,elapsed=2,interval=1
rd=structure,fwd=any,fsd=(fsd1,fsd2),format=only
rd=parts,fwd=read
rd=both,fwd=reread
rd=names,fwd=any,foroperations=(getattr,access,setattr,open,close)
rd=copies,fwd=copy
rd=all,fwd=(makes,removes)
rd=gone,fwd=removes
rd=dirs,fwd=any,operations=rmdir
rd=dirs2,fwd=any,operations=mkdir
rd=again,fwd=any,operations=create
""", "-e", "1", name="ops", timeout=200)
    case("every operation ends well", done.returncode == 0, out[-2000:] + done.stderr)
    for rd, code in (("names; elapsed=1; fwdrate=max. For loops: operation=getattr", "GET_ATTR"), ("names; elapsed=1; fwdrate=max. For loops: operation=access", "ACCESS"),
                     ("names; elapsed=1; fwdrate=max. For loops: operation=setattr", "SET_ATTR"), ("copies", "FILES_COPIED")):
        case(f"{code} was counted", counts(out, rd).get(code, 0) >= 80, counts(out, rd))
    case("files in turn are copied once", counts(out, "copies").get("FILES_COPIED") == 80, counts(out, "copies"))
    content = {name: size for name, size in tree("copies").items() if size != "directory"}
    case("the copies have all the bytes", len(content) == 80 and set(content.values()) == {16384}, content)
    case("what is created and deleted by turns", counts(out, "all").get("FILE_CREATES", 0) > 0 and counts(out, "all").get("FILE_DELETES", 0) > 0, out)
    case("directories go and come, with new files", tree("ops").get("vdb.1_2.dir/vdb.2_2.dir/vdb_f0020.file") == 0 and len(tree("ops")) == 86, tree("ops"))


def formats():
    shutil.rmtree("f", ignore_errors=True)
    done, out = vdbench("""fsd=fsd1,anchor=f,depth=1,width=2,files=3,size=8k
fwd=fwd1,fsd=fsd1,operation=write,fileio=random
rd=rd1,fwd=fwd1,fwdrate=100,elapsed=2,format=(yes,directories)
""", "-e", "2", name="directories")
    case("directories alone", done.returncode == 0 and set(tree("f").values()) == {"directory"}, tree("f"))
    with open("f/own", "w", encoding="utf-8") as file:
        file.write("mine")
    base = "fsd=fsd1,anchor=f,depth=1,width=2,files=3,size=8k\nfwd=fwd1,fsd=fsd1,operation=read\n"
    done, out = vdbench(base + "rd=rd1,fwd=fwd1,fwdrate=100,elapsed=2,forfiles=(2,4),format=yes\n", name="loop")
    case("a format for each round", out.count("Starting RD=format_for_rd1") == 2 and done.returncode == 0, out)
    done, out = vdbench(base.replace("files=3", "files=5") + "rd=rd1,fwd=fwd1,fwdrate=10,elapsed=2,format=complete\n", name="complete")
    case("format=complete ends where files are missing", done.returncode == 1 and "has 2 of 2 directories and 8 of 10 files" in done.stderr, done.stderr)
    case("what has other names stays", os.path.exists("f/own") and len(tree("f")) == 11, tree("f"))
    os.truncate("f/vdb.1_1.dir/vdb_f0002.file", 1000)
    os.unlink("f/vdb.1_2.dir/vdb_f0001.file")
    done, out = vdbench(base.replace("files=3", "files=4") + "rd=rd1,format=(restart,only)\n", name="restart")
    case("a restart mends what is not whole", counts(out, "format_for_rd1").get("FILE_CREATES") == 1 and set(tree("f").values()) == {"directory", 8192, 4},
         (out, tree("f")))
    done, out = vdbench(base + "rd=rd1,fwd=fwd1,fwdrate=10,elapsed=2\n", "-co", name="only")
    done, out = vdbench(base + "rd=rd1,format=clean\n", name="clean")
    case("clean leaves what is not ours", list(tree("f")) == ["own"], (out, tree("f")))


def raw_file():
    done, out = vdbench("""sd=default,size=16m
sd=sd1,lun=sd1
sd=sd2,lun=sd2
wd=wd1,sd=sd1,xfersize=4k,rdpct=80,skew=40
wd=wd2,sd=sd2,xfersize=(4k,50,8k,50),rdpct=0,seekpct=seq
wd=wd3,sd=sd1,xfersize=4k,seekpct=eof
rd=run1,wd=(wd1,wd2),iorate=1000,elapsed=3,interval=1
rd=run2,wd=(wd1,wd2),iorate=max,elapsed=2,interval=1,forthreads=(1,4)
rd=run3,wd=wd3,iorate=max,elapsed=60,interval=1
rd=run4,sd=sd1,iorate=curve,curve=(20,60),elapsed=2,rdpct=100,xfersize=4k
""", "--results", "raw.sqlite", name="raw")
    case("SDs in files: ends well", done.returncode == 0, out[-2000:] + done.stderr)
    case("files are made from end to end", os.path.getsize("sd1") == os.path.getsize("sd2") == 16 << 20 and "RD=SD_format" in out, out[:1000])
    with open("sd2", "rb") as file:
        case("with content", all(any(file.read(1 << 20)) for _ in range(16)))
    asked = lines_of(out, "run1;").get("avg_2-3", [0] * 12)
    whole = sum(line[0] for label, line in lines_of(out, "run1;").items() if label.isdigit())
    case("1000 i/o a second come as that, within 3 % of three seconds", abs(whole - 3000) <= 90, whole)
    case("1000 i/o a second of 5280 bytes, a third read", 950 < asked[0] < 1050 and abs(asked[2] - 5325) < 200 and abs(asked[3] - 32) < 3, asked)
    for threads in (1, 4):
        fastest = lines_of(out, f"run2; I/O rate: Controlled MAX; elapsed=2; For loops: threads={threads}").get("avg_2-2", [0] * 12)
        case(f"shares are kept at the highest rate, {threads} threads", abs(fastest[3] - 32) < 2, fastest)
    rows = flatfile("raw.out")
    case("the flatfile of SDs, with what differs among WDs as n/a",
         list(rows[-1]) == RAW_COLUMNS and [rows[-1][k] for k in ("xfersize", "rdpct", "seekpct", "threads", "lunsize", "reqrate")] ==
         ["4096", "100.0000", "100.0000", "8", "0.0156", rows[-1]["reqrate"]] and {row["rdpct"] for row in rows if row["Run"] == "run1"} == {"n/a"}, rows[-1])
    with open("raw.out/skew.html", encoding="utf-8") as file:
        skew = file.read().split("Starting RD=run1", 1)[1].split("Starting", 1)[0]
    case("skew of SDs and WDs", "Uncontrolled" not in skew and re.search(r"sd2 .*\n.*Total", skew) and re.search(r"wd1 .* 40\.00% +(39|40|41)\.", skew), skew)
    case("pages of SDs", {"sd1.html", "sd2.html", "wd1.html", "wd2.html", "localhost.html"} <= set(os.listdir("raw.out")), os.listdir("raw.out"))
    to_end = [line for label, line in lines_of(out, "run3;").items() if label.isdigit()]
    case("seekpct=eof ends the run", len(to_end) == 1, to_end)
    points = [float(n) for n in re.findall(r"RD=run4_\(\d+%\); I/O rate: (\d+);", out)]
    case("a curve of the highest rate", len(points) == 2 and abs(points[1] / points[0] - 3) < .1, points)
    kept_results(out)
    layouts("raw.out", ("sd1", "sd2", "wd1", "wd2"), RAW_LINES, RAW_SKEW, "SD_format_sd1")
    done, out = vdbench("sd=s,lun=sd1\nwd=w,sd=s\nrd=r,wd=w,iorate=100000000,elapsed=2,interval=1\n", name="beyond")
    case("a rate that is not reached: by how much, and what limits it", done.returncode == 0 and
         re.search(r"Warning for rd=r: requested 100,000,000 a second, achieved \d.*\n.*Limit: (this machine|the target|neither)", out), out)
    done, out = vdbench("report=no_sd_detail\nsd=s,lun=sd1\nwd=w,sd=s\nrd=r,wd=w,iorate=10,elapsed=2\n", "--json", name="json")
    report = json.loads(out) if out.startswith("{") else {}
    case("results as JSON", report and report["rows"][0]["name"] == "r" and [n["label"] for n in report["runs"][0]["intervals"]] == ["1", "2"] and
         report["runs"][0]["WD"]["w"]["response"]["p99_ns"] > 0, out)
    case("without pages of SDs where the file says so", not os.path.exists("json.out/s.html") and os.path.exists("json.out/w.html"), os.listdir("json.out"))
    done, out = vdbench("loop=2\nsd=s,lun=sd1\nwd=default,sd=s\nwd=a,iorate=50,priority=1\nwd=b,priority=2\nrd=r,wd=(a,b),iorate=200,elapsed=2\n", name="own")
    case("all runs twice", done.returncode == 0 and out.count("Starting RD=r;") == 2 and out.count("avg_2-2") == 2, out + done.stderr)
    with open("own.out/a.html", encoding="utf-8") as file:
        own = [float(line.split()[2]) for line in file if "avg_2-2" in line]
    case("a WD has its own rate beside those of the others", len(own) == 2 and all(45 < rate < 55 for rate in own), own)
    done = run(FSREPLAY, "json.vdb", "-o", "old.out", "--layout", "5.00")
    case("fsreplay FILE.vdb, and 5.00's columns", done.returncode == 0 and len(lines_of(done.stdout, "r;")) == 3 and
         all(len(line) == 9 for line in lines_of(done.stdout, "r;").values()), done.stdout + done.stderr)


def kept_results(out):
    """Of the runs on SDs above: the database, and pages of it."""
    with sqlite3.connect("raw.sqlite") as db:
        db.row_factory = sqlite3.Row
        def rows(query, *values):
            return [dict(row) for row in db.execute(query, values)]
        runs = {row["label"]: row for row in rows("select * from run")}
        case("a database has each run, with its rate", list(runs)[:2] == ["SD_format threads=2 iorate=max", "run1"] and len(runs) == 8 and
             (runs["run1"]["asked_per_s"], runs["run1"]["input"], runs["run1"]["target"]) == (1000, "raw.vdb", "sd1 sd2") and
             abs(runs["run1"]["achieved_per_s"] - lines_of(out, "run1;").get("avg_2-3", [0])[0]) < .06, runs)
        run1 = runs["run1"]["id"]
        spread = {(row["kind"], row["what"]): row for row in rows("select * from distributions where run = ?", run1)}
        case("percentiles by operation, of service and of response", set(spread) == {(k, w) for k in ("", "read", "write") for w in ("service", "response")}
             and all(0 < row["p50_ns"] <= row["p99_ns"] <= row["p9999_ns"] <= row["max_ns"] for row in spread.values())
             and spread["", "response"]["count"] == spread["read", "service"]["count"] + spread["write", "service"]["count"] == runs["run1"]["issued"], spread)
        over = rows("select * from intervals where run = ? and kind = ''", run1)
        case("and by interval", [row["to_ns"] for row in over] == [n * 10**9 for n in (1, 2, 3)] and
             sum(row["operations"] for row in over[1:]) == runs["run1"]["issued"] and all(row["response_p9999_ns"] >= row["response_p50_ns"] > 0 for row in over),
             over)
        parts = rows("select * from parts where run = ?", run1)
        averages = {(row["part"], row["name"]): row for row in parts if row["average"]}
        case("and by SD and WD", list(averages) == [("SD", "sd1"), ("SD", "sd2"), ("WD", "wd1"), ("WD", "wd2")] and len(parts) == 16 and
             averages["WD", "wd1"]["asked_percent"] == 40 and averages["WD", "wd2"]["bytes_read"] == 0 < averages["WD", "wd2"]["bytes_written"] and
             averages["SD", "sd1"]["operations"] + averages["SD", "sd2"]["operations"] == runs["run1"]["issued"], averages)
    done = run(FSREPLAY, "report", "raw.sqlite", "-o", "raw.html")
    with open("raw.html", encoding="utf-8") as file:
        shown = file.read()
    case("fsreplay report shows them", done.returncode == 0 and "run 2, run1" in shown, done.stderr)
    done = run(FSREPLAY, "report", "raw.sqlite", "--run", "2", "-o", "raw1.html")
    with open("raw1.html", encoding="utf-8") as file:
        shown = file.read()
    case("and the parts of one", done.returncode == 0 and "SD=sd1" in shown and "Outcomes that differed" not in shown, done.stderr)
    with open("raw.out/curves.html", encoding="utf-8") as file:
        curves = file.read()
    headings = re.findall(r"<h2[^>]*>(.*?)</h2>", curves)
    case("a page with curves of all runs", [name.split()[0] for name in headings] == ["Runs", "run1", "run2", "run2", "run3", "run4", "run4_(20%)", "run4_(60%)"] and
         "Response by load" in curves, headings)


def alike(unit, *names):
    """Units for each that differs."""
    units = []
    for name in names:
        with open(name, "rb") as file:
            units += iter(lambda: file.read(unit), b"")
    return len(units) / len(set(units))


def concatenated():
    """Three SDs, on two kinds of targets, as one."""
    with open("digits", "wb") as file:
        file.write(b"0123456789")
    done, out = vdbench("""concatenatesds=yes
pattern=digits
sd=default,size=1m
sd=sd1,lun=part1
sd=sd2,lun=memory:/part2
sd=sd3,lun=part3
wd=w,sd=*,rdpct=0,xfersize=24k,seekpct=eof
wd=r,sd=*,seekpct=random,xfersize=24k,threads=4
rd=first,wd=w,iorate=max,elapsed=60
rd=second,wd=r,iorate=200,elapsed=2
""", name="concatenated")
    whole = (1 << 20) // 24576 * 24576
    pattern = b"0123456789" * (1 << 19)
    for number, name in ((0, "part1"), (2, "part3")):
        with open(name, "rb") as file:
            held = file.read()
        case(f"SDs as one: {name} holds what belongs there, and no transfer is in two", done.returncode == 0 and
             held == pattern[number * whole:(number + 1) * whole] + pattern[whole:1 << 20], (held[:12], out + done.stderr))
    case("and is read by as many threads as its WD asks for", [row["threads"] for row in flatfile("concatenated.out") if row["Run"] == "second"] == ["4"] * 3, out)


def ratios():
    done, out = vdbench("""compratio=2
dedupratio=2
dedupunit=4k
sd=sd1,lun=alike,size=16m
wd=w,sd=sd1,rdpct=0,xfersize=8k
rd=r,wd=w,iorate=300,elapsed=2
""", name="alike")
    ratio = alike(4096, "alike")
    case("blocks of an SD are alike as dedupratio= asks, after some were written again", done.returncode == 0 and 1.9 < ratio < 2.1, (ratio, out))
    done, out = vdbench("""create_anchors=yes
dedupratio=3
dedupunit=8k
fsd=f,anchor=alike.d,depth=1,width=2,files=50,size=64k
fwd=w,operation=write,xfersize=16k
rd=r,fwd=w,fwdrate=100,elapsed=2,format=yes
""", name="same")
    ratio = alike(8192, *(os.path.join("alike.d", name) for name, size in tree("alike.d").items() if size != "directory"))
    case("and those of files", done.returncode == 0 and 2.85 < ratio < 3.15, (ratio, out))
    done, out = vdbench("sd=s,lun=smaller,size=16m\nwd=w,sd=s,rdpct=0,seekpct=eof,xfersize=64k\nrd=r,wd=w,iorate=max,elapsed=60,forcompratio=(2,5)\n", name="smaller")
    packed = subprocess.run(["zstd", "-q", "-c", "smaller"], capture_output=True, check=True).stdout
    case("what is written compresses as a loop's last compratio= asks", done.returncode == 0 and 4.75 < (16 << 20) / len(packed) < 5.25, (len(packed), out))
    case("which the flatfile has", [row["compratio"] for row in flatfile("smaller.out") if row["Run"] == "r" and row["Interval"].startswith("avg")] == ["2.0000", "5.0000"], out)
    with open("pattern", "wb") as file:
        file.write(b"0123456789")
    done, out = vdbench("pattern=pattern\nsd=s,lun=patterned,size=1m\nwd=w,sd=s,rdpct=0\nrd=r,wd=w,iorate=100,elapsed=2\n", name="pattern")
    with open("patterned", "rb") as file:
        case("a pattern goes on and on", done.returncode == 0 and file.read() == (b"0123456789" * 104858)[:1 << 20], out)
    for name, text, expected in (("more sets than the ratio leaves", "dedupratio=40\ndedupunit=4k\n", "dedupsets=5% are more than dedupratio=40 leaves, expected at most 2.5%"),
                                 ("an empty pattern", "pattern=/dev/null\n", "is empty, expected a pattern"),
                                 ("both kinds of content", "pattern=pattern\ncompratio=2\n", "expected either pattern= or"),
                                 ("data validation beside it", "compratio=2\nvalidate=yes\n", "not possible with")):
        done, out = vdbench(text + "sd=s,lun=small,size=8m\nwd=w,sd=s,rdpct=0\nrd=r,wd=w,iorate=100,elapsed=2\n", name="mistake")
        case(f"refused: {name}", done.returncode != 0 and expected in done.stderr, done.stderr)
    for name, text, expected in (("a loop's content beside data validation", "validate=yes\n", "not possible with"),
                                 ("a loop's content beside a pattern", "pattern=pattern\n", "rd=r: expected either pattern= or compratio=")):
        done, out = vdbench(text + "sd=s,lun=small,size=8m\nwd=w,sd=s,rdpct=0\nrd=r,wd=w,iorate=100,elapsed=2,forcompratio=(1,2)\n", name="mistake")
        case(f"refused: {name}", done.returncode != 0 and expected in done.stderr, done.stderr)


def raw_device():
    with open("image", "wb") as file:
        file.truncate(64 << 20)
    device = run("losetup", "-f", "--show", "image").stdout.strip()
    try:
        done, out = vdbench(f"""sd=sd1,lun={device},openflags=o_direct,threads=8,hitarea=64k
wd=default,sd=sd1,xfersize=8k
wd=r,rdpct=50,range=(50,60)
wd=h,rdpct=0,rhpct=50,whpct=50
rd=default,iorate=max,elapsed=2,interval=1
rd=rd1,wd=r
rd=rd2,wd=h,iorate=500
""", name="device")
        case("a device: two runs end well", done.returncode == 0 and out.count("avg_2-2") == 2, out + done.stderr)
        with open(device, "rb") as file:
            blocks = [any(file.read(1 << 20)) for _ in range(64)]
            file.seek(0)
            first = file.read(8192)
        case("writes go where the file says", any(blocks[32:39]) and any(blocks), blocks)
        case("block 0 is left alone", not any(first), first[:64])
        done, out = vdbench(f"sd=sd1,lun={device},size=1g\nwd=w,sd=sd1\nrd=r,wd=w,iorate=1\n", name="large")
        case("a device that is too small: status 2 and a line", done.returncode == 2 and "size= requires" in done.stderr, done.stderr)
        run("mkfs.ext4", "-q", device)
        done, out = vdbench(f"sd=sd1,lun={device}\nwd=w,sd=sd1,rdpct=0\nrd=r,wd=w,iorate=1\n", name="full")
        case("a file system is not overwritten", done.returncode == 2 and "ext4" in done.stderr, done.stderr)
        done, out = vdbench(f"sd=sd1,lun={device}\nwd=w,sd=sd1\nrd=r,wd=w,iorate=100,elapsed=2\n", name="reads")
        case("but it is read", done.returncode == 0, done.stderr)
    finally:
        run("losetup", "-d", device)
    device = run("losetup", "-f", "--show", "-b", "4096", "image").stdout.strip()
    try:
        done, out = vdbench(f"sd=sd1,lun={device},range=(7,33)\nwd=w,sd=sd1,rdpct=50\nwd=s,sd=sd1,xfersize=512\n"
                            "rd=default,iorate=100,elapsed=2\nrd=whole,wd=w\nrd=a,wd=s\nrd=b,wd=s\n", "--force", name="blocks")
        told = re.findall(r"sd=sd1: .*", out)
        case("transfers that a device can't make are reported once, those of a range are none of them", done.returncode == 0 and
             out.index("RD=whole") < out.index("sd=sd1: ") and told ==
             ["sd=sd1: transfers are multiples of 512 bytes, but O_DIRECT requires multiples of 4096: fsbench widens each to whole blocks, and reads these blocks before a write"], out + done.stderr)
    finally:
        run("losetup", "-d", device)


def full_output():
    os.mkdir("full")
    run("mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", "full")
    try:
        with open("full.vdb", "w", encoding="utf-8") as file:
            file.write("sd=sd1,lun=some,size=1m\nwd=w,sd=sd1\nrd=r,wd=w,iorate=50,elapsed=2\n")
        done = run(FSBENCH, "vdbench", "-f", "full.vdb", "-o", "full/out", timeout=60)
    finally:
        run("umount", "full")
    case("pages that can't be written end with status 1 and a line", done.returncode == 1 and
         re.search(r"full/out/\w+\.html: No space left on device", done.stderr), done.stdout + done.stderr)


def once_and_limits():
    done, out = vdbench("""monitor=monitor
fsd=fsd1,anchor=once,depth=1,width=2,files=50,size=8k
fwd=once,fsd=fsd1,operation=read,xfersize=4k,fileselect=(random,once),threads=3
fwd=on,fsd=fsd1,operation=read,xfersize=4k,threads=3
rd=rd1,fwd=once,fwdrate=max,format=yes,elapsed=60,interval=1
rd=rd2,fwd=on,fwdrate=max,maxdata=1m,elapsed=60,interval=1
""", name="once")
    case("each file once, then the run ends", done.returncode == 0 and counts(out, "rd1").get("READ_OPENS") == 100, out)
    case("maxdata ends a run", list(lines_of(out, "rd2"))[-1].startswith("avg_") and len(lines_of(out, "rd2")) <= 4, out)


def output_directories():
    os.mkdir("kept.out")
    for name, text in (("notes", "<title>Mine</title>"), ("gone", "<title>Vdbench kept.out/gone.html</title><pre>"), ("curves", "old")):
        with open(f"kept.out/{name}.html", "w", encoding="utf-8") as file:
            file.write(text)
    os.mkfifo("kept.out/pipe.html")
    done, out = vdbench("sd=s,lun=memory:s,size=1m\nwd=w,sd=s\nrd=r,wd=w,iorate=10,elapsed=2,interval=1\n", name="kept")
    case("an output directory: only pages of runs are removed", done.returncode == 0 and page("kept.out/notes") == "<title>Mine</title>"
         and not os.path.exists("kept.out/gone.html") and len(page("kept.out/curves")) > 1000, (out, done.stderr, os.listdir("kept.out")))
    with open("kept.out/summary.html", "w", encoding="utf-8") as file:
        file.write("mine")
    done, _ = vdbench("sd=s,lun=memory:s,size=1m\nwd=w,sd=s\nrd=r,wd=w,iorate=10,elapsed=2,interval=1\n", name="kept")
    case("a page that is somebody else's is not replaced", done.returncode != 0 and "kept.out/summary.html: File exists" in done.stderr
         and page("kept.out/summary") == "mine", done)


def interrupted():
    with open("long.vdb", "w", encoding="utf-8") as file:
        file.write("fsd=fsd1,anchor=long,files=10\nfwd=fwd1,fsd=fsd1\nrd=rd1,fwd=fwd1,fwdrate=100,format=yes,elapsed=600,interval=1\n")
    with subprocess.Popen([FSBENCH, "vdbench", "-f", "long.vdb", "-o", "long.out"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while "avg_" in (line := process.stdout.readline()) or " 2 " not in line[12:25]:
            if not line:
                break
        process.send_signal(signal.SIGINT)
        out, complaint = process.communicate(timeout=60)
    case("^C: status 1, the average of what was", process.returncode == 1 and "interrupted" in complaint and "avg_2-" in out, (out, complaint))


def bad_input():
    for name, text, options, expected in (
            ("no such anchor", "fsd=f,anchor=no/such/dir\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", [], "fsd=f: no/such/dir: .*create_anchors"),
            ("a keyword", "fsd=f,anchor=d,deep=1\n", [], r"bad.vdb:1:16: 'deep' is not known here"),
            ("a name that nothing uses", "fsd=f,anchor=d\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", ["x=1"], r"x=1: no parameter file has \$x"),
            ("too many files", "fsd=f,anchor=d,depth=9,width=99\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", [], "fsd=f: expected at most 128000000 directories"),
            ("more bytes than there are", "fsd=f,anchor=d,totalsize=1g\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", [],
             r"bad.vdb:1:\d+: fsd=f: totalsize= asks for 1073741824 bytes, expected at most the 40960 that the files have"),
            ("a working set larger than the smallest tree of a loop", "fsd=f,anchor=d,size=4k,wss=30k\nfwd=w\nrd=r,fwd=w,fwdrate=1,forfiles=(10,5)\n", [],
             r"bad.vdb:1:\d+: fsd=f: workingsetsize= asks for 30720 bytes, expected at most the 20480 that the files have"),
            ("the same, simulated", "fsd=f,anchor=d,size=4k,wss=30k\nfwd=w\nrd=r,fwd=w,fwdrate=1,forfiles=(10,5)\n", ["-s"], "workingsetsize= asks for"),
            ("no files", "fsd=f,anchor=d,files=0\nfwd=w\nrd=r,fwd=w,fwdrate=1\n", [], r"bad.vdb:1:\d+: .*expected")):
        done, _ = vdbench(text, *options, name="bad")
        case(f"{name}: status 2 and a line", done.returncode == 2 and re.search(expected, done.stderr) and done.stderr.count("\n") == 1, done.stderr)
        case(f"{name}: nothing was touched", not os.path.exists("d") and not os.path.exists("no"))
    done = run(FSBENCH, "vdbench", "-s", "-v", "-", "sd=s,lun=x,size=1m", "-", "wd=w,sd=s", "-", "rd=r,wd=w,iorate=$n", "n=5")
    case("options whose letters may be glued take no words", done.returncode == 0 and "I/O rate: 5;" in done.stdout, done)
    for option, expected in (("-t", "avg_2-2"), ("-tf", "avg_2-2")):
        done = run(FSBENCH, "vdbench", option, "-e", "2", "-o", "demo")
        case(f"a small run without a parameter file: {option}", done.returncode == 0 and expected in done.stdout, done.stdout + done.stderr)
    done = run(FSBENCH, "vdbench", "-s", "-", "sd=s,lun=x,size=1m", "wd=w,sd=s", "rd=r,wd=w,iorate=$n", "n=5")
    case("parameters in several words", done.returncode == 0 and "Simulating RD=r; I/O rate: 5" in done.stdout, done.stdout + done.stderr)
    done = run(FSBENCH, "vdbench", "-s", "-", "fsd=f,anchor=none,depth=2,width=2,files=3,size=8k", "fwd=w,fsd=f", "rd=r,fwd=w,fwdrate=1,format=yes,forfiles=(3,30)")
    case("a simulation tells how large trees would be", [line.split(":", 2)[2].split() for line in done.stdout.splitlines() if line.startswith("Anchor size")] ==
         [["dirs:", "6;", "files:", "12;", "bytes:", "96k", "(98,304)"], ["dirs:", "6;", "files:", "120;", "bytes:", "960k", "(983,040)"]] and
         not os.path.exists("none"), done.stdout + done.stderr)
    done = run(FSBENCH, "vdbench", "-vx", "-", "fsd=f")
    case("a letter that -v does not know: status 2", done.returncode == 2 and "'x': expected -f FILE" in done.stderr, done.stderr)
    done = run(FSBENCH, "vdbench", "-s", "-", "fsd=f,anchor=d\nfwd=w", "-", "rd=r,fwd=w,fwdrate=(1-3,1)")
    case("parameters on the command line, simulated", done.returncode == 0 and done.stdout.count("Simulating") == 3, done)
    for name, options, expected in (("an option of replays", ["--scale", "2x"], "--scale: no such option"),
                                    ("a target", ["nfs://host/x?a=b"], "by lun= and anchor="), ("a file that is not there", [], "No such file")):
        done = run(FSREPLAY, "gone.vdb", *options)
        case(f"fsreplay FILE.vdb, {name}: status 2 and a line", done.returncode == 2 and expected in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    done = run(FSREPLAY, "--json", "gone.vdb")
    case("options before a parameter file: status 2 and a line", done.returncode == 2 and "must be the first argument" in done.stderr, done.stderr)
    done, out = vdbench("fsd=f,anchor=empty\nfwd=w,operation=read\nrd=r,fwd=w,fwdrate=max,elapsed=60\n", name="empty")
    case("files that are not there: the run ends", done.returncode == 0 and "avg_" in out, (out, done.stderr))


def on_server():
    for name, url, directory in targets_of_server():
        own = os.path.join(directory, "vdb.1_1.dir")
        done, out = vdbench(f"""fsd=fsd1,anchor={url},depth=1,width=2,files=10,size=(16k,0)
fwd=default,fsd=fsd1,xfersize=8k,fileselect=random,threads=3
fwd=r,operation=read,fileio=random
fwd=w,operation=write
fwd=g,operation=getattr
rd=rd1,fwd=*,fwdrate=300,format=yes,elapsed=2,interval=1
rd=rd2,format=clean
""", "-v", name="server")
        checked = sum(int(n.replace(",", "")) for n in re.findall(r"Data Validation: ([0-9,]+) blocks checked, 0 not as written", out))
        case(f"{name}: ends well, with data that was checked", done.returncode == 0 and checked > 20, out + done.stderr)
        average = lines_of(out, "rd1;").get("avg_2-2", [0])
        case(f"{name}: at the rate, or a little late", 240 < average[0] < 360, out)
        case(f"{name}: all is removed", not os.path.exists(own), os.listdir(directory))
        address, query = url.partition("?")[::2]
        lun = address.rstrip("/") + "/big" + ("?" + query if query else "")
        done, out = vdbench(f"sd=s,lun={lun},size=1m\nwd=w,sd=s,rdpct=50,xfersize=8k\nrd=r,wd=w,iorate=100,elapsed=2\n", name="lun")
        case(f"{name}: a file as an SD", done.returncode == 0 and os.path.getsize(os.path.join(directory, "big")) == 1 << 20, out + done.stderr)


# Each line in a process and a directory of its own, at the same time: most of a run is the wait for the end of its intervals.
PARTS = (
    (structures, operations, formats, once_and_limits),
    (raw_file, interrupted, bad_input, output_directories, full_output),
    (raw_device, ratios, concatenated),
)


def side_by_side():
    def apart(line):
        return run(sys.executable, os.path.abspath(__file__), "--parts", str(line), timeout=280)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        parts = [pool.submit(apart, line) for line in range(len(PARTS))]
        on_servers(__file__)
        for part in parts:
            done = part.result()
            print(done.stdout, end="", flush=True)
            if done.returncode:
                failed.append("a part")
                print(done.stderr[-2000:], file=sys.stderr)


def main():
    began = time.time()
    if sys.argv[1:2] == ["--on-server"]:
        on_server()
    elif sys.argv[1:2] == ["--parts"]:
        for part in PARTS[int(sys.argv[2])]:
            part()
    else:
        side_by_side()
    print(f"# {time.time() - began:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    with scratch():
        main()
