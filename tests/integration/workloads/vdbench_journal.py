#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench vdbench: journals of data validation, of SDs and of files: runs that are killed at moments of chance, each after recovery from
the one before; a server that is killed; what recovery finds wrong.

vdbench_journal.py [--kills N]"""
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay"))
from older_tools import FSBENCH, SERVERS, case, failed, run, scratch  # noqa: E402
from server_faults import Server  # noqa: E402
from vdbench import vdbench  # noqa: E402
from vdbench_validation import content  # noqa: E402

SD = """sd=sd1,lun=kept,size=2m,threads=4
wd=w,sd=sd1,rdpct=20,xfersize=(4k,50,8k,50)
rd=r,wd=w,iorate=max,elapsed=60,interval=1
"""
FSD = """fsd=fsd1,anchor=ANCHOR,depth=1,width=2,files=8,sizes=(16k,60,64k,30,512k,10)
fwd=default,fsd=fsd1
fwd=write,operation=write,xfersize=8k,fileselect=random,fileio=random,threads=2
fwd=mixed,rdpct=40,operation=read,xfersize=(4k,50,8k,50),fileio=random,fileselect=random,threads=2
fwd=make,operation=create,fileselect=random
fwd=drop,operation=delete,fileselect=random
fwd=fill,operation=write,xfersize=16k,fileio=(seq,delete),fileselect=random,threads=2
rd=r,fwd=*,fwdrate=max,elapsed=60,interval=1
"""


def killed_once(mode, chance):
    """What a run said that was killed."""
    with subprocess.Popen([FSBENCH, "vdbench", "-f", "kept.vdb", "-o", "kept.out", "-q", mode], stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while "Starting RD=r;" not in content("kept.out/logfile.html") and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.3)
        process.kill()
        return process.stderr.read()


def killed(what, parameters, count, how=("", "n")):
    """Runs that are killed, the first of which makes what is not there yet; more of them until one was killed amid a write."""
    chance = random.Random(11)
    recovered, wrong = [], []
    for number in range(count + 41):
        if number > count and any(recovered):
            break
        with open("kept.vdb", "w", encoding="ascii") as file:
            file.write(parameters if number else parameters.replace("rd=r,fwd", "rd=r,format=yes,fwd"))
        errors = killed_once(("-jr" if number else "-j") + how[number % len(how)], chance)
        # diod 1.0.24 may die as a connection ends, and is then started again (tests/servers/diod).
        for _ in range(20):
            if "9p: " not in errors or "Connection refused" not in errors:
                break
            time.sleep(0.1)
            shutil.rmtree("kept.out")
            errors = killed_once(("-jr" if number else "-j") + how[number % len(how)], chance)
        found = re.search(r"recovered from the journal: ([0-9,]+) pending writes, .* ([0-9,]+) not as written", content("kept.out/logfile.html"))
        if number:
            recovered.append(int(found.group(1).replace(",", "")) if found else None)
            if errors or not found or found.group(2) != "0":
                wrong.append((number, errors, content("kept.out/errorlog.html")[-1500:]))
        shutil.rmtree("kept.out")
    case(f"{what}: after {count} kills all is recovered from the journal, nothing is lost, nothing is told that is not so",
         not wrong and None not in recovered and any(recovered), wrong[:3] or recovered)


def recovery_of_a_device():
    with open("kept", "rb") as file:
        old = file.read()
    text = SD.replace("rdpct=20", "rdpct=0").replace("iorate=max,elapsed=60", "iorate=max,maxdata=20m,elapsed=60")
    done, out = vdbench(text, "-jr", name="kept")
    case("a run goes on with what was recovered", done.returncode == 0 and "pending writes" in out, out + done.stderr)
    with open("kept", "r+b") as file:
        file.seek(1 << 20)
        file.write(old[1 << 20:(1 << 20) + 4096])
    done, out = vdbench(SD, "-jro", name="kept")
    told = content("kept.out/errorlog.html")
    case("a block that was rolled back after the end is found by recovery", done.returncode == 1 and "lba=1048576" in told and "lost write" in told, told)
    printed = run(FSBENCH, "vdbench", "printjournal", "sd1.jnl").stdout
    case("printjournal: the map", re.search(r"^map of [0-9/:. ]+: 512 blocks of 4096 bytes, \d+ with a known key$", printed, re.M), printed[:500])
    with open("kept", "r+b") as file:
        file.seek(1 << 19)
        file.write(old[1 << 19:(1 << 19) + 8192])
    done, out = vdbench('data_errors="echo saw $lun $lba $size >told"\n' + SD, "-jr", name="kept")
    case("recovery's first error runs the command of data_errors=, and nothing is run", done.returncode == 1 and
         content("told") == "saw kept 524288 4096\n" and "recovery: 1 errors, as many as data_errors= allows" in done.stderr and "Starting RD" not in out, (out, done.stderr))
    done, out = vdbench("data_errors=remove\n" + text.replace("maxdata=20m,elapsed=60", "elapsed=2"), "-jr", name="kept")
    told = content("kept.out/errorlog.html")
    case("with data_errors=remove, nothing is run on an SD in which recovery found an error", done.returncode == 1 and
         told.count("sd=sd1: removed from the run") == 1 and re.findall(r"avg_\S+ +([\d.]+)", out) in (["0.0"], []), (out, told[:1000], done.stderr))
    done, out = vdbench(SD.replace("lun=kept", "lun=other"), "-jr", name="other")
    case("refused: recovery of what is not there", done.returncode == 2 and "nothing to recover" in done.stderr, done.stderr)
    with open("sd1.map", "r+b") as file:
        file.seek(100)
        file.write(b"\xff")
    done, out = vdbench(SD, "-jr", name="kept")
    case("refused: a damaged map", done.returncode == 2 and "sd1.map: is damaged" in done.stderr, done.stderr)


def recovery_of_files():
    text = FSD.replace("ANCHOR", "tree").replace("rd=r,fwd=*,fwdrate=max,elapsed=60", "rd=r,fwd=write,fwdrate=max,elapsed=2")
    done, out = vdbench(text, "-jr", name="files")
    case("a run of files goes on with what was recovered", done.returncode == 0 and "pending writes" in out, out + done.stderr)
    files = sorted(os.path.join(where, name) for where, _, names in os.walk("tree") for name in names)
    short, gone = [file for file in files if os.path.getsize(file) >= 16384][:2]
    os.truncate(short, 4096)
    os.unlink(gone)
    done, out = vdbench(text, "-jro", name="files")
    told = [line for line in content("files.out/errorlog.html").splitlines() if "Data Validation error" in line]
    case("files that are cut or missing after the end are found by recovery, and told once each", done.returncode == 1 and len(told) == 2 and
         f"file={short[5:]} lba=4096" in told[0] and f"file={gone[5:]} lba=0" in told[1] and all("lost write" in line for line in told), told)
    with open(files[-1], "ab") as file:
        file.write(b"more")
    done, out = vdbench(text, "-jro", name="files")
    case("a file to which bytes were appended is found by recovery", done.returncode == 1 and
         f"file={files[-1][5:]}: expected " in content("files.out/errorlog.html"), (out, done.stderr, content("files.out/errorlog.html")))
    os.truncate(files[-1], os.path.getsize(files[-1]) - 4)
    with open("fsd1.jnl", "ab") as file:
        file.write(bytes(24) * 3)
        file.write(b"?" * 24)
    done, out = vdbench(text, "-jr", name="files")
    case("an end of a journal that is no entries is nothing", done.returncode == 0, (out, done.stderr))
    done, out = vdbench(text.replace("width=2", "width=3"), "-jr", name="files")
    case("refused: recovery of another tree", done.returncode == 2 and "the journal belongs to another tree" in done.stderr, done.stderr)
    done, out = vdbench(text.replace("fsd1,anchor", "fsd1,journal=nowhere,anchor"), "-jr", name="files")
    case("refused: no journal", done.returncode == 2 and "nowhere/fsd1.map" in done.stderr, done.stderr)


def working_set():
    """A part of the files is used, all are made, and the keys of the others are not forgotten."""
    text = """fsd=fsd1,anchor=parts,depth=1,width=2,files=20,size=16k
fwd=w,fsd=fsd1,operation=write,xfersize=4k,fileio=random,fileselect=random
fwd=r,fsd=fsd1,operation=read,xfersize=4k,fileselect=(seq,once)
rd=default,fwdrate=max,interval=1
rd=parts,fwd=w,format=yes,elapsed=2,forwss=(64k,128k)
rd=hurt,fwd=r,elapsed=60,wss=100%,startcmd="dd if=/dev/zero of=`ls -d parts/*/* | tail -1` bs=4k count=1 conv=notrunc status=none"
"""
    os.mkdir("parts")
    done, out = vdbench(text.replace("elapsed=2,forwss", "elapsed=2,forwss").replace(",wss=100%", ",forwss=100%"), "-v", name="parts")
    told = content("parts.out/errorlog.html")
    case("a run on a part of the files keeps what is known of the others", done.returncode == 1 and "1 errors" in done.stderr and "lost write" in told and
         "using            4 of           40 files" in content("parts.out/logfile.html"), (out[-1500:], done.stderr, told))


def goes_on(kind, what, server, parameters):
    """A run whose server is killed in the midst of it."""
    with open("kept.vdb", "w", encoding="ascii") as file:
        file.write(parameters)
    with subprocess.Popen([FSBENCH, "vdbench", "-f", "kept.vdb", "-o", "kept.out", "-q", "-j"], stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while "Starting RD=r;" not in content("kept.out/logfile.html") and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(1)
        server.kill_and_start()
        errors = process.communicate(timeout=120)[1]
    case(f"{kind}: a run on {what} goes on when its server was killed, nothing is lost", process.returncode == 0 and errors == "",
         (errors, content("kept.out/errorlog.html")[-1500:]))
    shutil.rmtree("kept.out")


def server_killed(kind):
    """On a server: the program is killed; with NFS the server too, in the midst of a run, which goes on. (What was under way on 9P and
    AFP may be lost with the connection, which is an error that is told.)"""
    server = Server(kind)
    server.options = ""  # as root
    tree = server.url("tree")
    where, _, query = server.base.partition("?")
    lun = where.rstrip("/") + "/kept" + ("?" + query if query else "")
    files = FSD.replace("ANCHOR", tree).replace("fwd=*", "fwd=(write,mixed)").replace("elapsed=60", "elapsed=6")
    if kind != "nfs4":
        killed(f"files on {kind}", files, 2)
    if kind == "nfs3":
        goes_on(kind, "files", server, files.replace("rd=r,fwd", "rd=r,format=yes,fwd"))
    if kind.startswith("nfs"):
        # Small, so that many of its blocks are written while others are made good for the server.
        goes_on(kind, "an SD", server, SD.replace("lun=kept", f"lun={lun}").replace("elapsed=60", "elapsed=5"))


def beside_server(kind, server):
    return kind, run(f"{SERVERS}/{server}", sys.executable, os.path.abspath(__file__), "--on-server", kind, timeout=280)


def main():
    kills = int(sys.argv[2]) if sys.argv[1:2] == ["--kills"] else 6
    os.mkdir("tree")
    killed("an SD", SD, kills)
    killed("files", FSD.replace("ANCHOR", "tree"), kills)
    recovery_of_a_device()
    recovery_of_files()
    working_set()
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for kind, done in pool.map(beside_server, ("nfs3", "nfs4", "9p", "afp"), ("ganesha", "ganesha", "diod", "netatalk")):
            print(done.stdout, end="", flush=True)
            case(f"beside a server of {kind}", done.returncode == 0 and done.stdout.startswith("ok - "), done.stdout[-500:] + done.stderr[-500:])
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    with scratch():
        if sys.argv[1:2] == ["--on-server"]:
            server_killed(sys.argv[2])
            sys.exit(1 if failed else 0)
        main()
