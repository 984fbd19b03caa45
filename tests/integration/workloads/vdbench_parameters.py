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
    done = run(FSBENCH, "vdbench", "o.vdb")
    case("a file as the first word: what was expected", done.returncode == 2 and "expected -f FILE, NAME=VALUE" in done.stderr, done)


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
    case("a first rate of 0",
         *rates_are("z", SD.replace("lun1", "lun2") + "wd=wd1,sd=sd1\n"
                    "rd=r,wd=wd1,iorate=(0,1,100,1),distribution=(deterministic,variable),elapsed=4\n", (0, 100, 0, 100)))
    case("of files, too",
         *rates_are("w", "fsd=f,anchor=f,files=4,size=8k\nfwd=w,fsd=f,threads=2\n"
                    "rd=r,fwd=w,distribution=(deterministic,variable),fwdrate=(20,1,60,1),elapsed=4,format=yes\n", (20, 60, 20, 60)))


# Parameters that are refused: what is in front of the line, the line, and the reason.
REFUSED = (("report_run_totals=yes", "report_run_totals= is refused: totals.html"), ("pattern_buffer=4", "pattern_buffer= is refused: the length"),
           ("showlba=yes", "showlba= is refused: fsshim capture"), ("heartbeat_error=x", "heartbeat_error= is refused: no command"),
           ("unix2windows=(a,b)", "unix2windows= is refused: only Solaris"), ("debug=27", "debug= is refused: internal"),
           ("timeout=5", "timeout= is refused: an SD"), ("auxreport=x", "auxreport= is refused: this program can't load"), ("swat=x", "swat= is refused"),
           ("rg=x,devices=1", "rg= is refused: the format of Swat's traces is not public; fsreplay TRACE"))
REFUSED_OF = (("sd=sd1,lun=lun1,size=1m,dedupunit=4k\n", "wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=1\n", "dedupunit= is refused: a general"),
              ("sd=sd1,lun=lun1,size=1m,replay=1\n", "wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=1\n", "replay= is refused: the format"),
              (SD, "wd=wd1,sd=sd1,user=x\nrd=r,wd=wd1,iorate=1\n", "user= is refused: this program can't load"),
              (SD, "wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=1,interval=0\n", "expected a whole number from 1"),
              (SD, "wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=1,replay=x\n", "replay= is refused: the format"),
              ("fsd=f,anchor=a,log=yes\n", "fwd=w,fsd=f\nrd=r,fwd=w,fwdrate=1\n", "log= is refused: fsshim capture"))


def refused():
    rest = SD + "wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=10\n"
    texts = [(line + "\n" + rest, why) for line, why in REFUSED] + [(sd + more, why) for sd, more, why in REFUSED_OF]
    for text, why in texts:
        done = vdbench("refused", text, "-s")
        case(f"refused: {why}", done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, (text, done))
    for word in ("edit", "gui", "rsh", "swat", "showlba", "jstack", "jmap"):
        done = run(FSBENCH, "vdbench", word)
        case(f"{word}: refused by name, with the reason", done.returncode == 2 and f"{word}: refused: " in done.stderr, done)


def sets_of_storages():
    three = "sd=default,size=1m\nsd=sd1,lun=s1\nsd=sd2,lun=s2\nsd=sd3,lun=s3\nwd=wd1,sd=sd1\n"
    for word, names in (("single", ["r_sd1", "r_sd2", "r_sd3"]), ("range", ["r_sd1-sd1", "r_sd1-sd2", "r_sd1-sd3"])):
        done = vdbench("sets", three + f"rd=r,wd=wd1,sd={word},iorate=10,elapsed=2\n", "-s")
        case(f"sd={word}", re.findall(r"RD=([\w-]+);", done.stdout) == names, done)
    done = vdbench("sets", three + "rd=r,wd=wd1,sd=setsof2,iorate=10,elapsed=2\n", "-s")
    names = re.findall(r"RD=r_([\w-]+);", done.stdout)
    case("sd=setsof2: sets of two, and the rest", [name.count("_") for name in names] == [1, 0] and sorted("_".join(names).split("_")) == ["sd1", "sd2", "sd3"], done)
    done = vdbench("sets", three + "rd=r,wd=wd1,sd=setsofx,iorate=10,elapsed=2\n", "-s")
    case("sd=setsofx: refused", done.returncode == 2 and "'x'" in done.stderr, done)
    done = vdbench("share", SD.replace("lun1", "lun7") + "wd=wd1,sd=sd1\nrd=a,wd=wd1,iorate=200,elapsed=3\nrd=b,wd=wd1,iorate=(50%,25%),elapsed=3\n")
    rates = {run_: float(rate) for run_, interval, rate in flatfile("share", "Run", "Interval", "rate") if interval.startswith("avg")}
    case("rates in percent of those of the run before", list(rates) == ["a", "b_(50%)", "b_(25%)"] and 90 <= rates["b_(50%)"] <= 125 and
         20 <= rates["b_(25%)"] <= 45, (rates, done))
    done = vdbench("first", SD + "wd=wd1,sd=sd1\nrd=a,wd=wd1,iorate=(50%,100),elapsed=3\n", "-s")
    case("a rate in percent of none is refused", done.returncode == 2 and "first.vdb:3:1: rd=a: 50% of the rate of the run before" in done.stderr, done)
    done = vdbench("first", SD + "wd=wd1,sd=sd1\nrd=a,wd=wd1,iorate=10\nrd=b,wd=wd1,iorate=50%\n", "-s", "-r", "b")
    case("also if -r leaves the first RD out", done.returncode == 2 and "first.vdb:4:1: rd=b: 50% of the rate" in done.stderr, done)
    done = vdbench("between", "fsd=f,anchor=between,files=400,size=8k\nfwd=w,fsd=f,operation=getattr,threads=2\nrd=default,elapsed=3\n"
                   "rd=a,fwd=w,fwdrate=40,format=yes\nrd=b,fwd=w,fwdrate=50%,format=yes\n")
    rates = {run_: float(rate) for run_, interval, rate in flatfile("between", "Run", "Interval", "rate") if interval.startswith("avg")}
    case("the rate of a format in between does not count", done.returncode == 0 and 10 <= rates.get("b_(50%)", 0) <= 31, (rates, done))


def whole_lun(name):
    with open(name, "rb") as file:
        return file.read()


def general_parameters():
    rest = "sd=sd1,lun=lun8,size=1m\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=10,elapsed=2\n"
    done = vdbench("fmt", "formatsds=no\n" + rest)
    case("formatsds=no: a missing SD is an error", done.returncode == 2 and "formatsds=no" in done.stderr and not os.path.exists("lun8"), done)
    with open("lun8", "wb") as file:
        file.write(bytes(1 << 20))
    done = vdbench("fmt", "formatsds=yes\n" + rest)
    case("formatsds=yes: a complete SD is written again", done.returncode == 0 and "Starting RD=SD_format" in done.stdout and whole_lun("lun8").count(0) < 1 << 16, done)
    contents = []
    for seed in ("7", "7", "8"):
        vdbench("seed", f"compressionseed={seed}\ncompratio=2\nformatsds=yes\n" + rest)
        contents.append(whole_lun("lun8"))
    case("compressionseed=: the same content for the same seed", contents[0] == contents[1] != contents[2])
    for words, why in ((["csim", "lun8", "-p", "abc"], "-p abc: expected up to 100 percent"), (["csim", "lun8", "-p", "1e999"], "-p 1e999: expected up"),
                       (["csim", "lun8", "-p", "0"], "-p 0: expected up"), (["dvpost", "seed.out", "-l", "0xzz"], "'0xzz': expected an offset in bytes"),
                       (["dvpost", "seed.out", "-l", "0x" + "f" * 17], "f': expected an offset in bytes")):
        done = run(FSBENCH, "vdbench", *words)
        case(f"{why}: status 2 and a line", done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, done)
    ratio = run(FSBENCH, "vdbench", "csim", "lun8", "-p", "50")
    case("csim -p reads that part", re.fullmatch(r"lun8: 512k read, compratio=(1\.9|2\.0).\n", ratio.stdout), ratio)
    ratio = run(FSBENCH, "vdbench", "csim", "lun8")
    case("csim finds compratio=", re.fullmatch(r"lun8: 1m read, compratio=(1\.9|2\.0).\n", ratio.stdout), ratio)
    two = "dedupunit=4k\nsd=sd1,lun=twice,size=4m,dedupratio=2,dedupsets=10\nsd=sd2,lun=once,size=4m,dedupratio=1\nwd=wd1,sd=sd*\nrd=r,wd=wd1,iorate=10,elapsed=2\n"
    done = vdbench("dedup", two)
    ratios = [float(run(FSBENCH, "vdbench", "dsim", "-u", "4k", name).stdout.rpartition("=")[2]) for name in ("twice", "once")]
    case("dedupratio= of one SD, as dsim finds it", done.returncode == 0 and 1.9 < ratios[0] < 2.1 and ratios[1] < 1.1, (ratios, done))
    done = vdbench("flip", "dedupunit=4k\ndedupratio=2\ndedupsets=10\ndeduphotsets=(2,4)\ndedupflipflop=hot\n" + rest.replace("lun8", "lun9"))
    case("deduphotsets= and dedupflipflop= work", done.returncode == 0, done)
    trees = "fsd=f1,anchor=t1,files=2,size=8k\nfsd=f2,anchor=t2,files=2,size=8k\nfwd=w,fsd=f*,threads=3\nrd=r,fwd=w,fwdrate=10,elapsed=2,format=yes\n"
    done = vdbench("adjust", "fwd_thread_adjust=no\n" + trees, "-s")
    case("fwd_thread_adjust=no: 3 threads on 2 FSDs are refused", done.returncode == 2 and "threads=3 are not a multiple of the 2" in done.stderr, done)
    done = vdbench("alone", trees.replace("fwd=w,fsd=f*,threads=3\n", "").replace("fwd=w", "fsd=f1"))
    case("rd with fsd= alone: fwd=default", done.returncode == 0 and "fwd=default is used" in done.stdout and not os.listdir("t2"), done)
    skewed = "abort_failed_skew=5\nsd=sd1,lun=memory:a,size=4m\nwd=wd1,sd=sd1,skew=90,seekpct=eof,xfersize=512k\nwd=wd2,sd=sd1,skew=10\nrd=r,wd=wd*,iorate=100,elapsed=2\n"
    done = vdbench("skew", skewed)
    case("abort_failed_skew= ends everything", done.returncode == 1 and "more than abort_failed_skew=5" in done.stderr, done)
    done = vdbench("skew", skewed.replace("seekpct=eof,", ""))
    case("or nothing", done.returncode == 0, done)
    done = vdbench("remove", "data_errors=(remove,5)\n" + rest, "-s")
    case("data_errors=(remove,5)", done.returncode == 0, done)
    done = run(FSBENCH, "vdbench", "sds", "-o", "disks.vdb")
    with open("disks.vdb", encoding="utf-8") as file:
        text = file.read()
    case("sds: a file of disks, which only reads", done.returncode == 0 and text.startswith("* Disks of this machine") and "rdpct=0" not in text and
         ("rdpct=100" in text or "No disk is free" in text), text)


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


def told():
    """What can't be as the file asks is told, and changes nothing."""
    own = SD.replace("lun1", "lun7") + "wd=wd1,sd=sd1,iorate=50\nwd=wd2,sd=sd1\nrd=a,wd=wd*,iorate=60,elapsed=2\nrd=r,wd=wd*,iorate=50%,elapsed=2\n"
    done = vdbench("own", own)
    case("a percentage below the rate of a WD", done.returncode == 1 and re.search(r"rd=r_\(50%\): iorate=[34]0 leaves nothing beside the 50 of WDs", done.stderr), done)
    case("all of a spike is in its interval", *rates_are("spike", SD.replace("lun1", "lun8") + "wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=100,elapsed=4,distribution=spike\n", (100, 100, 100, 100)))
    done = vdbench("dev", "fsd=f,anchor=/dev/no-such-tree,files=2\nfwd=w,fsd=f\nrd=r,fwd=w,fwdrate=10,format=yes,elapsed=2\n")
    case("no tree is made below /dev", done.returncode == 2 and "nothing is made below /dev" in done.stderr and not os.path.exists("/dev/no-such-tree"), done)
    done = vdbench("dir", "sd=sd1,lun=missing/lun,size=1m\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=10,elapsed=2\n")
    case("no directory is made for an SD", done.returncode == 2 and "the directory missing does not exist" in done.stderr and not os.path.exists("missing"), done)
    tree = "fsd=f,anchor=st,depth=2,width=2,files=3,size={}\nfwd=w,fsd=f,operation=read,fileselect=random\nrd=r,fwd=w,fwdrate=100,elapsed=2,format={}\n"
    made = vdbench("st", tree.format("8k", "yes"))
    for was, now, why in (("depth=2", "depth=3", "has none of the 24 files"), ("8k", "4k", "has more bytes than its structure says")):
        done = vdbench("st", tree.format("8k", "no").replace(was, now))
        case(f"{was} that has become {now}, without a format", made.returncode == 0 and done.returncode == 1 and why in done.stderr, (made, done))
    done = vdbench("st", tree.format("16k", "no"))
    case("larger sizes without a format have a note", done.returncode == 0 and "all files of anchor=st have fewer bytes than sizes= says" in done.stdout, done)
    mistakes = "sd=sd1,lum=x,size=4m\nsd=sd2,lun=y,size=abc,threads=-1\nwd=wd1,sd=sd9,rdpct=200\nrd=r1,wd=wd7,iorate=fast,elapsed=1,interval=2\nrd=r3,wd=wd1,elapsed=\n"
    done = vdbench("all", mistakes, "-s")
    case("every mistake, also beside an empty value", done.returncode == 2 and
         all(f"all.vdb:{at}:" in done.stderr for at in ("1:8", "2:19", "2:31", "3:11", "3:21", "4:10", "4:21", "4:1", "5:22")), done)
    done = vdbench("lines", "sd=sd1,lun=$where,size=4m\ninclude=nowhere\nsd=sd2,lun=\"x,size=4m\nwd=wd1,sd=sd1,rdpct=200\nrd=r,wd=wd1,iorate=10\n", "-s", "other=1")
    case("mistakes of several lines of text", done.returncode == 2 and len(done.stderr.splitlines()) >= 5 and
         all(why in done.stderr for why in ("lines.vdb:1:", "lines.vdb:2:", "lines.vdb:3:", "lines.vdb:4:", "other=1: no parameter file has $other")), done)
    for lost, at in (("sd=sd1,lun=$where,size=4m\n", 1), ("sd=sd1,lun=\"x,size=4m\n", 1), ("include=nowhere\n", 1), ("sd=sd1,lun=(x,size=4m\n", 1),
                     ("hd=hd1,jvms=none\nsd=sd1,lun=x,size=4m,host=hd1\n", 1), ("sd=sd1,lun=x,count=none\n", 1)):
        done = vdbench("lone", lost + "sd=sd2,lun=y,size=4m\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=10,elapsed=4\n", "-s")
        case(f"nothing follows from a statement that is lost: {lost.splitlines()[0]}", done.returncode == 2 and done.stderr.startswith(f"fsbench vdbench: lone.vdb:{at}:")
             and done.stderr.count("\n") == 1, done)
    done = vdbench("lone", "hd=hd1,jvms=none\nsd=sd1,lun=x,size=4m,host=hd7\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=10,elapsed=4\n", "-s")
    case("a flawed host keeps its name, and others are unknown", done.returncode == 2 and done.stderr.count("\n") == 2 and "no host is named 'hd7'" in done.stderr, done)
    mistakes = ("sd=sd1,lun=missing/lun,size=1m\nsd=sd2,lun=/dev/no-such-disk9\nwd=wd1,sd=sd1,skew=30\nwd=wd2,sd=sd1,skew=abc\n"
                "rd=a,wd=wd1,iorate=10,elapsed=2\nrd=b,wd=wd2,iorate=10,elapsed=2\nrd=c,wd=(wd1,wd1),iorate=10,elapsed=2,forrdpct=(10,20)\n")
    done = vdbench("plan", mistakes)
    lines = done.stderr.splitlines()
    case("mistakes of values, of runs and of devices are told together, each once, and none that follows from another",
         done.returncode == 2 and len(lines) == 5 and "plan.vdb:4:" in lines[0]
         and all(why in line for why, line in zip(("rd=a: the skews add up to 30", "rd=c: the skews add up to 30",
                                                   "the directory missing does not exist", "Raw device 'sd=sd2"), lines[1:])), done)
    done = vdbench("nothing", SD + "wd=wd1,sd=sd1,skew=100\nwd=wd2,sd=sd1\nrd=r,wd=wd*,iorate=10,elapsed=2\n")
    case("a workload that the skews leave nothing for", done.returncode == 2 and "nothing is left for them" in done.stderr, done)
    done = vdbench("off", "debug=0\nshowlba=no\nreport_run_totals=no\n" + SD + "wd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=10\n", "-s")
    case("parameters that turn off what is not there", done.returncode == 0, done)
    done = vdbench("band", "sd=sd1,lun=lun9,size=4m\nwd=wd1,sd=sd1,hotband=(10,20)\nrd=r,wd=wd1,iorate=10,elapsed=2\n")
    case("a hotband of less than 1 MB", done.returncode != 0 and "hotband= has less than 1m" in done.stderr, done)
    done = run(FSBENCH, "vdbench", "dsim", "-u", "100", "own.vdb")
    case("dsim -u 100", done.returncode == 2 and "-u: expected a multiple of 512" in done.stderr, done)


def main():
    parts = (options, places, rates_in_turn, ends, open_flags, storages, told, refused, sets_of_storages, general_parameters)
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
