#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench vdbench: options and parameters that change what a run does: where it begins and ends, its rates in turn, how files are opened."""
import concurrent.futures
import csv
import io
import json
import os
import re
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import BUILD, FSBENCH, case, failed, run, scratch  # noqa: E402

SD = "sd=sd1,lun=lun1,size=1m\n"


def vdbench(name, text, *options):
    with open(f"{name}.vdb", "w", encoding="utf-8") as file:
        file.write(text)
    return run(FSBENCH, "vdbench", "-f", f"{name}.vdb", "-o", f"{name}.out", *options)


def flatfile(name, *columns):
    done = run(FSBENCH, "vdbench", "parse", "-i", f"{name}.out", "-c", *columns)
    return [tuple(row) for row in csv.reader(io.StringIO(done.stdout))][1:]


def options():
    three = SD + "wd=wd1,sd=sd1\nrd=default,iorate=10,elapsed=4\nrd=a\nrd=b,forxfersize=(4k,8k)\nrd=c\n"
    done = vdbench("o", three, "-s", "-r", "b")
    case("-r: from this RD on", re.findall(r"RD=(\w+);", done.stdout) == ["b", "b", "c"], done)
    done = vdbench("o", three, "-s", "-r", "d")
    case("-r: an RD that is not there: status 2 and a line", done.returncode == 2 and "-r d: no RD has this name" in done.stderr, done)
    done = vdbench("o", three, "-s", "+elapsed=6,interval=2")
    case("+: parameters of all RDs", done.stdout.count("elapsed=6;") == 4, done)
    done = vdbench("o", three, "-s", "+speed=6")
    case("+: a parameter that is not there, with its place", done.returncode == 2 and "command line:1:1: 'speed' is not known here" in done.stderr, done)
    for words, why in ((["-m", "4", "-p5570"], ""), (["-j2"], ""), (["-k"], "-k: refused, because statistics of Solaris"),
                       (["-d27"], "-d: refused"), (["-m", "x"], "-m")):
        done = vdbench("o", three, "-s", *words)
        case(f"{' '.join(words)}: {why or 'taken'}", (done.returncode == 2 and why in done.stderr) if why else done.returncode == 0, done)
    done = vdbench("o", three.replace("elapsed=4", "elapsed=4,warmup=2"), "-s", "-w", "0")
    case("-w 0: no warmup", done.returncode == 0 and "elapsed=4; For" in done.stdout, done)
    done = vdbench("o", "include=/\n" + three, "-s")
    case("include= of a directory: status 2 and a line", done.returncode == 2 and "o.vdb:1:8: can't include /: Is a directory" in done.stderr, done)
    for word in ("print", "o.vdb"):
        done = run(FSBENCH, "vdbench", word)
        case(f"{word} as the first word: what was expected", done.returncode == 2 and "expected -f FILE, NAME=VALUE" in done.stderr, done)


def places():
    """What only turns out with other things still has its place."""
    rest = SD + "wd=wd1,sd=sd1,rdpct=0\nrd=r,wd=wd1,iorate=10\n"
    for text, words, expected in (("report=host_detail\npattern=gone\n" + rest, [], "p.vdb:2:9: gone: No such file"),
                                  ("concatenatesds=yes\n" + rest, ["-v"], "p.vdb:1:1: data validation: not possible with concatenatesds="),
                                  ("compratio=2\n" + rest, ["-v"], "p.vdb:1:1: data validation: not possible with pattern=, compratio="),
                                  (rest.replace("iorate", "forcompratio=(1,2),iorate"), ["-v"], "p.vdb:3:1: data validation: not possible with")):
        done = vdbench("p", text, *words)
        case(expected, done.returncode == 2 and expected in done.stderr and not os.path.exists("lun1"), done)


def rates_are(name, text, asked):
    """Whether the intervals of RD r have these rates. A machine that stands still moves some to the next: three attempts."""
    for _ in range(3):
        done = vdbench(name, text)
        rates = [round(float(rate)) for run_, interval, rate in flatfile(name, "Run", "Interval", "rate") if run_ == "r" and interval.isdigit()]
        held = done.returncode == 0 and len(rates) == len(asked) and all(abs(rate - ask) <= 2 for rate, ask in zip(rates, asked))
        if held:
            break
    return held, (rates, done)


def rates_in_turn():
    case("rates in turn, before distribution=",
         *rates_are("v", SD.replace("lun1", "lun2") + "wd=wd1,sd=sd1\n"
                    "rd=r,wd=wd1,iorate=(50%,1,100,1),distribution=(deterministic,variable),elapsed=4\n", (50, 100, 50, 100)))
    case("of files, too",
         *rates_are("w", "fsd=f,anchor=f,files=4,size=8k\nfwd=w,fsd=f,threads=2\n"
                    "rd=r,fwd=w,distribution=(deterministic,variable),fwdrate=(20,1,60,1),elapsed=4,format=yes\n", (20, 60, 20, 60)))


def ends():
    done = vdbench("m", SD.replace("lun1", "lun3") + "wd=wd1,sd=sd1,seekpct=0\nrd=r,wd=wd1,iorate=max,maxdata=2,elapsed=20\n")
    case("maxdata=2: twice the size of the SD", done.returncode == 0 and re.search(r"avg_\d-[12] ", done.stdout), done)
    done = vdbench("x", "histogram=(default,100u,100u,300u,1s)\nfsd=f,anchor=x,files=3,size=10000\nfwd=w,fsd=f,xfersize=3000,threads=1\n"
                        "rd=r,fwd=w,fwdrate=40,elapsed=3,format=yes\n")
    loop = vdbench("y", SD.replace("lun1", "lun6") + "wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=50,elapsed=2,forxfersize=(4k,8k)\n")
    compared = run(FSBENCH, "vdbench", "compare", "y.out", "y.out").stdout
    case("compare names each run of a loop", re.findall(r"^r xfersize=\w+", compared, re.M) == ["r xfersize=4k", "r xfersize=8k"], (compared, loop))
    sizes = {size for run_, interval, size in flatfile("x", "Run", "Interval", "Xfersize") if run_ == "r" and interval.startswith("avg")}
    case("files in transfers of 3000 bytes, the last of 1000", done.returncode == 0 and len(sizes) == 1 and 2300 < float(sizes.pop()) < 2700, (sizes, done))
    with open("x.out/histogram.html", encoding="utf-8") as page:
        text = page.read()
    case("a width of buckets holds up to the next edge", re.search(r"0\.100 .*0\.200", text) and re.search(r"0\.200 .*0\.300", text), text[:2000])


def open_flags():
    """A run's own flags: of files as they are opened for it, and of what is asked of the disk after it."""
    with open("flags.vdb", "w", encoding="utf-8") as file:
        file.write("sd=sd1,lun=d/lun,size=1m\nwd=wd1,sd=sd1,rdpct=0\nrd=default,wd=wd1,iorate=20,elapsed=2\n"
                   "rd=a\nrd=b,openflags=o_dsync\nrd=c,openflags=fsync\n")
    os.mkdir("d")
    done = run(f"{BUILD}/shim/fsshim", "capture", "d", "-o", "flags.fst", "--", FSBENCH, "vdbench", "-f", "flags.vdb", "-o", "flags.out")
    dump = run(f"{BUILD}/tools/fstrace", "dump", "--json", "flags.fst").stdout
    ops = [json.loads(line) for line in dump.splitlines()]
    steps = [(o["kind"], bool(o.get("open_flags", 0) & os.O_DSYNC)) for o in ops if o["kind"] in ("create", "open", "fsync") and o.get("path", "").endswith("lun")]
    case("each run opens an SD with its own flags, and syncs it", done.returncode == 0 and
         steps == [("create", False), ("open", True), ("open", False), ("fsync", False)], (steps, done))
    done = vdbench("short", 'sd=sd1,lun=lun4,size=1m\nwd=wd1,sd=sd1,rdpct=0\nrd=default,wd=wd1,iorate=20,elapsed=2\n'
                            'rd=a\nrd=b,openflags=o_dsync,startcmd="truncate -s 4k lun4"\n')
    case("an SD that a command made shorter", done.returncode and "lun4 has 4096 bytes, but had 1048576 before" in done.stderr, done)


def write_backup_gpt(name, sectors=20480):
    """A file with the second header and table of a GPT, and nothing at its beginning."""
    table, last = bytes(128 * 128), sectors - 1
    fields = (b"EFI PART", 0x10000, 92, 0, 0, last, 1, 34, last - 33, bytes(range(16)), last - 32, 128, 128, zlib.crc32(table))
    header = struct.pack("<8sIIIIQQQQ16sQIII", *fields)
    header = header[:16] + struct.pack("<I", zlib.crc32(header)) + header[20:]
    with open(name, "wb") as file:
        file.truncate(sectors * 512)
        file.seek(last * 512)
        file.write(header)


def storages():
    """How an SD is made and used: a format from end to end, and no file in place of a device that is not there."""
    for words in ("range=(1,100)", "range=(10,20)", "offset=512"):
        done = vdbench("whole", f"sd=sd1,lun=whole,size=20m,{words}\nwd=wd1,sd=sd1,xfersize=64k\nrd=r,wd=wd1,iorate=100,elapsed=2\n")
        with open("whole", "rb") as file:
            content = file.read()
        case(f"a format with {words} is from end to end", done.returncode == 0 and len(content) == 20 << 20 and
             all(any(content[at:at + 4096]) for at in range(0, len(content), 1 << 20)) and any(content[-512:]), (len(content), done))
        os.unlink("whole")
    missing = "Raw device 'sd=sd2,lun={}' does not exist, or no permissions."
    os.symlink("/dev", "devices")
    for lun, expected in (("/dev/no-such-disk9", missing), ("devices/no-such-disk9", missing), ("file:/dev/no-such-disk9", missing),
                          ("raw:/dev/no-such-disk9", missing), (r"\\.\PHYSICALDRIVE1", "lun={}; Lun requested on a non-windows system contains a backslash")):
        done = vdbench("device", f"sd=default,size=20m\nsd=sd1,lun=made\nsd=sd2,lun={lun}\nwd=wd1,sd=*\nrd=r,wd=wd1,iorate=100,elapsed=2\n")
        case(f"no file is made for {lun}: status 2 and a line", done.returncode == 2 and expected.format(lun) in done.stderr and
             done.stderr.count("\n") == 1 and not os.path.exists("made") and not os.path.exists("/dev/no-such-disk9"), done)
    write_backup_gpt("table")
    done = vdbench("table", "sd=sd1,lun=raw:table\nwd=wd1,sd=sd1,rdpct=0\nrd=r,wd=wd1,iorate=10,elapsed=2\n")
    case("a partition table at the end alone is not overwritten", done.returncode == 2 and "a partition table (gpt)" in done.stderr, done)
    done = vdbench("large", "sd=sd1,lun=lun5,size=64m,openflags=o_direct\nwd=wd1,sd=sd1,xfersize=16m\nwd=wd2,sd=sd1,xfersize=512\n"
                            "rd=r,wd=wd*,iorate=10,elapsed=2\nrd=s,wd=wd1,iorate=10,elapsed=2\n")
    case("transfers that are several requests are reported once", done.stdout.count("sd=sd1: transfers of more than 8m are split into several requests") == 1, done)


def main():
    parts = (options, places, rates_in_turn, ends, open_flags, storages)
    if sys.argv[1:2] == ["--part"]:
        parts[int(sys.argv[2])]()
    else:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for done in pool.map(lambda n: run(sys.executable, os.path.abspath(__file__), "--part", str(n)), range(len(parts))):
                print(done.stdout, end="", flush=True)
                if done.returncode:
                    failed.append("a part")
                    print(done.stderr[-2000:], file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    with scratch():
        main()
