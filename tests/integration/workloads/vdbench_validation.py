#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench vdbench: data validation of SDs and of files, which names what became of a block."""
import contextlib
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from older_tools import FSBENCH, case, failed, run, scratch  # noqa: E402
from vdbench import vdbench  # noqa: E402


HURT = """
import os
import sys
B = 4096
with open("old", "rb") as file:
    old = file.read()
with open(sys.argv[1], "r+b") as file:
    def get(n):
        file.seek(n * B)
        return file.read(B)
    def put(n, data, at=0):
        file.seek(n * B + at)
        file.write(data)
    one, other = get(10), get(11)
    put(10, other)
    put(11, one)
    put(20, bytes(B))
    put(30, old[30 * B:31 * B])
    put(40, old[40 * B + 2048:41 * B], 2048)
    put(50, bytes([get(50)[100] ^ 1]), 100)
    put(60, b"somebody" * 512)
    file.flush()
    os.fsync(file.fileno())
"""
BECAME = {10: "misplaced write", 11: "misplaced write", 20: "lost write", 30: "lost write", 40: "torn write", 50: "damaged data", 60: "foreign data"}


def told_of_blocks(name):
    return {int(lba) // 4096: what for lba, what in re.findall(r"block lba=(\d+) .*?: ([a-z ]+), expected", content(f"{name}.out/errorlog.html"))}


def validation():
    with open("hurt.py", "w", encoding="ascii") as file:
        file.write(HURT)
    parameters = """sd=sd1,lun=checked,size=4m
wd=w,sd=sd1,rdpct=0,xfersize=4k,seekpct=eof
wd=r,sd=sd1,rdpct=100,xfersize=4k,seekpct=eof
wd=mix,sd=sd1,rdpct=50,xfersize=(4k,50,8k,50)
rd=default,iorate=max,elapsed=60,interval=1
rd=mix,wd=mix,elapsed=2,threads=8
rd=first,wd=w
rd=check,wd=r
"""
    done, out = vdbench(parameters, "-vr", name="good")
    checked = [tuple(int(n.replace(",", "")) for n in found) for found in re.findall(r"Data Validation: ([0-9,]+) blocks checked, ([0-9,]+) not", out)]
    case("what was written is found again, by eight threads and in turn", done.returncode == 0 and len(checked) == 4 and checked[1][0] > 1000 and
         checked[3] == (1024, 0) and not any(wrong for _, wrong in checked), (checked, out[-600:], done.stderr))
    os.unlink("checked")
    done, out = vdbench(parameters.replace("wd=mix,sd", "wd=other,sd").replace("rd=mix,wd=mix,elapsed=2,threads=8\n", "") +
                        'rd=second,wd=w,startcmd="cp checked old"\nrd=between,wd=r\nrd=hurt,wd=r,startcmd="python3 hurt.py checked"\n', "-v", name="bad")
    told = told_of_blocks("bad")
    case("swapped, dropped, rolled back, torn, flipped and foreign blocks are named for what they are", told == BECAME, told)
    shown = {int(at): text for at, text in re.findall(r"\n  sector at byte (\d+) (.*?words are as written[^\n]*)", content("bad.out/errorlog.html"), re.S)}
    case("the first wrong sector of each is shown", [at // 4096 for at in sorted(shown)] == sorted(BECAME), sorted(shown))
    flipped = shown.get(50 * 4096, "")
    words = re.findall(r"^  (\d+) +([0-9a-f]{16})  ([0-9a-f]{16})  ", flipped, re.M)
    case("a flipped bit: the one word that differs, by that bit alone", "LBA 400 of 512 bytes" in flipped and "63 of 64 words" in flipped and len(words) == 1 and
         words[0][0] == "96" and int(words[0][1], 16) ^ int(words[0][2], 16) == 1 << 24, flipped)
    heads = {at // 4096: re.findall(r"header (?:expected|found): +(.*)", text) for at, text in shown.items()}
    case("headers: swapped blocks have each other's offsets", heads.get(10, ["", ""])[0][:16] == heads.get(11, ["", ""])[1][:16] == "00a0000000000000", heads)
    case("zeros, and another program's octets", heads.get(20, [0, 0])[1] == "0000000000000000 " * 6 + "0" * 16 and "somebody" in shown.get(60 * 4096, ""), heads)
    log = content("bad.out/errorlog.html")
    by = {int(lba) // 4096: good for lba, good in re.findall(r"block lba=(\d+) .*; (last .*)", log)}
    case("each has its last write and its last good read, by RD and thread", sorted(by) == sorted(BECAME) and all(re.fullmatch(r"last written at [0-9/]+ [0-9:]+ by rd=second thread=\d+, last read well at [0-9/]+ [0-9:]+ by rd=between thread=\d+", good) for good in by.values()), by)
    case("a block that was rolled back: who wrote what is there", re.search(r"block lba=122880 .*key 2 of [0-9/:. ]+ by rd=first thread=\d", log), log[:1500])
    dump = re.search(r"the sector:\n  000000032000 .*\n(.*\n)*?  0000000321f0", log)
    case("the whole sector is there", dump and 20 < dump.group(0).count("\n") < 33, dump)
    ranges = re.findall(r"sd=sd1 lun=checked: lba=(\d+) to (\d+) .*: ([a-z ]+)$", log, re.M)
    case("wrong blocks are summed up as ranges", "Ranges of wrong blocks: 6" in log and ranges[0] == ("40960", "49152", "misplaced write") and len(ranges) == 6, ranges)
    read = run(FSBENCH, "vdbench", "dvpost", "bad.out")
    case("dvpost sums them up again", "7 wrong blocks, 0 other errors" in read.stdout and re.search(r"misplaced write +2", read.stdout) and
         len(re.findall(r"^  lba=\d+ .* (?:write|data) at .*by rd=second", read.stdout, re.M)) == 7, read)
    read = run(FSBENCH, "vdbench", "dvpost", "bad.out", "-l", "0x32004")
    case("dvpost -l: the report on one block", read.stdout.count("Data Validation error") == 1 and "damaged data" in read.stdout and "63 of 64 words" in read.stdout, read)
    read = run(FSBENCH, "vdbench", "print", "checked", "196608", "1k")
    case("print: what data validation wrote there", re.search(r"sector at byte 196608 .*written for lba=196608 of sd1 at .* by rd=second thread=\d+, key 3", read.stdout), read.stdout[:500])
    case("and end with status 1", done.returncode == 1 and "7 errors" in done.stderr, done.stderr)
    done, out = vdbench('data_errors="echo saw $lun $lba $size $sector $error >told"\n' + parameters.replace("rd=mix,wd=mix,elapsed=2,threads=8\n", "") +
                        'rd=hurt,wd=r,startcmd="cp old checked"\n', "-v", name="told")
    case("the first error runs the command of data_errors=, and ends all", done.returncode == 1 and re.fullmatch(r"saw checked (\d+) 4096 \d+ 0\n", content("told")) and
         "as many as data_errors= allows" in done.stderr, (content("told"), out[-800:], done.stderr))
    os.rename("checked", "a $size b")
    done, out = vdbench('data_errors="echo $lun $lba >told"\n' + parameters.replace("lun=checked", 'lun="a $size b"').replace("rd=mix,wd=mix,elapsed=2,threads=8\n", "") +
                        """rd=hurt,wd=r,startcmd="dd if=/dev/zero of='a $size b' bs=4k count=1 seek=7 conv=notrunc status=none"\n""", "-v", name="named")
    case("what stands in a name is no variable", done.returncode == 1 and content("told") == "a $size b 28672\n", (content("told"), out[-800:], done.stderr))
    os.rename("a $size b", "checked")
    two = """sd=sd1,lun=checked,size=4m
sd=sd2,lun=fine,size=4m
wd=w,sd=sd*,rdpct=0,xfersize=4k,seekpct=eof
wd=r,sd=sd*,rdpct=100,xfersize=4k
rd=default,iorate=max,elapsed=60,interval=1
rd=first,wd=w
rd=hurt,wd=r,elapsed=2,startcmd="cp old checked"
rd=after,wd=r,elapsed=2
"""
    done, out = vdbench("data_errors=remove\n" + two, "-v", name="removed")
    rates = re.findall(r"avg_2-2 +([0-9.]+)", content("removed.out/sd1.html")), re.findall(r"avg_2-2 +([0-9.]+)", content("removed.out/sd2.html"))
    case("with data_errors=remove nothing more is done to an SD that had an error, and the other goes on", done.returncode == 1 and
         "sd=sd1: removed from the run" in content("removed.out/errorlog.html") and len(rates[1]) == 2 and all(float(r) > 0 for r in rates[1]) and
         all(float(r) == 0 for r in rates[0]), (rates, out[-2500:], done.stderr))
    done, out = vdbench("data_errors=(1000000,1)\n" + two.replace("elapsed=2,startcmd", "elapsed=30,startcmd"), "-v", name="waited")
    case("or all ends some time after the latest error", done.returncode == 1 and "none for the 1 seconds of data_errors=" in done.stderr, done.stderr)
    done, out = vdbench("sd=sd1,lun=checked\nwd=w,sd=sd1,rdpct=0\nrd=r,wd=w,iorate=100,elapsed=2\n", "-vw", name="unread")
    case("a run that checks nothing fails", done.returncode == 1 and "rd=r: No read validations done" in done.stderr, (out, done.stderr))
    done, out = vdbench("sd=toolongname,lun=checked\nwd=w,sd=t*\nrd=r,wd=w,iorate=1\n", "-v", name="long")
    case("refused: a name that does not fit into a sector", done.returncode == 2 and "at most 8 letters" in done.stderr, done.stderr)


def validation_of_a_device():
    with open("image", "wb") as file:
        file.truncate(4 << 20)
    device = run("losetup", "-f", "--show", "image").stdout.strip()
    try:
        done, out = vdbench(f"""sd=sd1,lun={device}
wd=w,sd=sd1,rdpct=0,xfersize=4k,seekpct=eof
wd=r,sd=sd1,rdpct=100,xfersize=4k,seekpct=eof
rd=default,iorate=max,elapsed=60,interval=1
rd=first,wd=w
rd=second,wd=w,startcmd="cp {device} old"
rd=hurt,wd=r,startcmd="python3 hurt.py {device}"
""", "-v", name="device")
    finally:
        run("losetup", "-d", device)
    told = told_of_blocks("device")
    case("blocks of a device are named for what became of them", done.returncode == 1 and told == BECAME, (told, out[-800:], done.stderr))


HURT_FILES = """
import os
B = 4096
def path(d, f):
    return f"checked.d/vdb.1_{d}.dir/vdb_f000{f}.file"
def get(d, f, n):
    with open(path(d, f), "rb") as file:
        file.seek(n * B)
        return file.read(B)
def put(d, f, n, data, at=0):
    with open(path(d, f), "r+b") as file:
        file.seek(n * B + at)
        file.write(data)
def old(d, f, n):
    with open("old.d" + path(d, f)[len("checked.d"):], "rb") as file:
        file.seek(n * B)
        return file.read(B)
one = get(1, 1, 2)
put(1, 1, 2, get(2, 3, 5))
put(2, 3, 5, one)
put(1, 2, 3, bytes(B))
put(1, 3, 4, old(1, 3, 4))
put(2, 1, 5, old(2, 1, 5)[:1024])
put(2, 2, 6, bytes([get(2, 2, 6)[100] ^ 1]), 100)
put(2, 4, 7, b"somebody" * 512)
"""


def validation_of_files():
    with open("hurt_files.py", "w", encoding="ascii") as file:
        file.write(HURT_FILES)
    parameters = """create_anchors=yes
fsd=fsd1,anchor=checked.d,depth=1,width=2,files=4,size=64k
fwd=default,fsd=fsd1,threads=2
fwd=write,operation=write,xfersize=16k,fileselect=(seq,once)
fwd=again,operation=write,xfersize=16k,fileselect=(seq,once)
fwd=read,operation=read,xfersize=4k,fileselect=(seq,once)
fwd=mixed,rdpct=50,operation=read,xfersize=(4k,50,8k,50),fileio=random,fileselect=random
fwd=shared,rdpct=50,operation=read,xfersize=4k,fileio=(random,shared)
fwd=make,operation=create
fwd=drop,operation=delete
fwd=fill,operation=write,xfersize=8k,fileio=(seq,delete)
rd=default,fwdrate=max,elapsed=60,interval=1
rd=first,fwd=write,format=yes
rd=second,fwd=again
"""
    done, out = vdbench(parameters + "rd=mixed,fwd=(mixed,shared),elapsed=2\nrd=changes,fwd=(mixed,make,drop,fill),elapsed=2\nrd=end,fwd=read\n", "-vr", name="files")
    checked = [tuple(int(n.replace(",", "")) for n in found) for found in re.findall(r"Data Validation: ([0-9,]+) blocks checked, ([0-9,]+) not", out)]
    case("what is written to files is found again, also while files come and go", done.returncode == 0 and len(checked) == 6 and
         all(n > 0 for n, _ in checked) and not any(wrong for _, wrong in checked), (checked, out[-600:], done.stderr))
    done, out = vdbench(parameters.replace("rd=second,", 'rd=second,startcmd="cp -r checked.d old.d",') + 'rd=hurt,fwd=read,startcmd="python3 hurt_files.py"\n', "-v",
                        name="badfiles")
    with open("badfiles.out/errorlog.html", encoding="utf-8") as file:
        told = {(path, int(lba) // 4096): (what, rest) for path, lba, what, rest in
                re.findall(r"block file=\S+?(\d\.dir/vdb_f\d+)\.file lba=(\d+) .*?: ([a-z ]+), expected(.*)", file.read())}
    case("blocks of files are named for what became of them", {place: what for place, (what, _) in told.items()} == {
        ("1.dir/vdb_f0001", 2): "misplaced write", ("2.dir/vdb_f0003", 5): "misplaced write", ("1.dir/vdb_f0002", 3): "lost write", ("1.dir/vdb_f0003", 4): "lost write",
        ("2.dir/vdb_f0001", 5): "torn write", ("2.dir/vdb_f0002", 6): "damaged data", ("2.dir/vdb_f0004", 7): "foreign data"}, told)
    case("with the file that a misplaced one belongs to", "of file=vdb.1_2.dir/vdb_f0003.file lba=20480" in told.get(("1.dir/vdb_f0001", 2), ("", ""))[1], told)
    case("they end with status 1", done.returncode == 1 and "7 errors" in done.stderr, done.stderr)
    for name, text, expected in (("a size that is not of sectors", parameters.replace("4,size=64k", "4,size=1000"), "multiples of 512"),
                                 ("a copy", parameters.replace("fwd=default", "fsd=x,anchor=y\nfwd=default").replace("fsd=fsd1,threads", "fsd=fsd1,target=x,threads") +
                                  "rd=copy,fwd=write,operations=copy\n", "expected no copy"),
                                 ("a long name", parameters.replace("fsd1", "longername"), "at most 8 letters")):
        done, out = vdbench(text.replace("checked.d", "none.d"), "-v", name="mistake")
        case(f"refused: {name}", done.returncode == 2 and expected in done.stderr and not os.path.exists("none.d"), done.stderr)


def content(name):
    """Empty where there is no such file."""
    with contextlib.suppress(FileNotFoundError), open(name, encoding="utf-8") as file:
        return file.read()
    return ""


def main():
    validation()
    validation_of_a_device()
    validation_of_files()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    with scratch():
        main()
