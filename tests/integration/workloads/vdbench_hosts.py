#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fsbench vdbench: files that name several hosts: ranks of this machine that stand for them, and four network namespaces with a loop device
each; data validation and journals of each host's own disks and trees."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from hosts import NAMES, Hosts  # noqa: E402
from older_tools import BUILD, FSBENCH, case, failed, run, scratch  # noqa: E402
from ranks import descendants  # noqa: E402

ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
       "LD_LIBRARY_PATH": os.path.join(BUILD, "replay/cluster")}
RDS = "rd=default,iorate=max,elapsed=60,interval=1\nrd=first,wd=w\nrd=second,wd=w\nrd=check,wd=r\n"
WDS = "wd=default,sd=sd*,xfersize=4k,seekpct=eof\nwd=w,rdpct=0\nwd=r,rdpct=100\n"


def write(name, text):
    with open(f"{name}.vdb", "w", encoding="utf-8") as file:
        file.write(text)


def write_empty(name):
    with open(name, "x", encoding="ascii"):
        pass


def content(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def vdbench(name, text, *options, launcher=(), timeout=120):
    write(name, text)
    return run(*launcher, FSBENCH, "vdbench", "-f", f"{name}.vdb", "-o", f"{name}.out", *options, env=ENV, timeout=timeout)


def writers(path):
    """Ranks that wrote the blocks of an SD, by the marks of data validation."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
    text = run(FSBENCH, "vdbench", "print", path, "4096", str(size - 4096)).stdout
    return {int(rank or 0) for rank in re.findall(r"by rd=second (?:rank=(\d+) )?thread=", text)}, text.count("by rd=second")


def hds(systems):
    return "".join(f"hd=hd{n},system={system}\n" for n, system in enumerate(systems, 1))


def on_localhost():
    disks = "".join(f"sd=sd{n},host=hd{n},lun=disk{n},size=1m\n" for n in (1, 2, 3))
    done = vdbench("local", hds(["localhost"] * 3) + disks + WDS + RDS, "-v", "--ranks", "3")
    checked = re.findall(r"Data Validation: ([\d,]+) blocks checked", done.stdout)
    case("the blocks of all ranks are counted", checked == ["0", "768", "768", "768"], checked)
    case("three hosts of this machine: each SD is written and checked by its host's rank", done.returncode == 0 and
         [writers(f"disk{n}") for n in (1, 2, 3)] == [({n}, 2040) for n in (0, 1, 2)], (done, checked))
    done = vdbench("other", hds(["nodeA", "nodeB", "nodeA"]) + disks.replace("1m", "$size") + WDS + RDS, "size=1m", "-e", "5", "--map", "hd1=node A", "--allow-mount")
    case("other machines without a launcher: the line that starts them, with all words", done.returncode == 2 and
         "mpirun -np 3 --host nodeA:2,nodeB:1 fsbench vdbench -f other.vdb -o other.out size=1m -e 5 --map 'hd1=node A' --allow-mount\n" in done.stderr, done)
    done = run(FSBENCH, "vdbench", "-", *(hds(["nodeA"]) + disks.replace("hd2", "hd1").replace("hd3", "hd1") + WDS + RDS).split())
    case("also text that is given as words", done.returncode == 2 and "mpirun -np 1 --host nodeA:1 fsbench vdbench - hd=hd1,system=nodeA sd=sd1" in done.stderr and
         done.stderr.endswith(" rd=check,wd=r\n"), done)
    done = vdbench("one", hds(["localhost"] * 3) + disks + WDS + RDS.replace("rd=check,", "rd=check,host=hd3,"), "-v", "--ranks", "3")
    checked = re.findall(r"Data Validation: ([\d,]+) blocks checked", done.stdout)
    case("also in an RD on a host without rank 0", done.returncode == 0 and checked[-1:] == ["256"], (checked, done))
    hurt = RDS.replace("check,wd=r", 'check,wd=r,startcmd="dd if=/dev/zero of=disk3 bs=4k count=2 seek=7 conv=notrunc status=none"')
    done = vdbench("bad", hds(["localhost"] * 3) + disks + WDS + hurt, "-j", "--ranks", "3")
    read = run(FSBENCH, "vdbench", "dvpost", "bad.out")
    case("dvpost finds wrong blocks of another rank", done.returncode == 1 and "2 wrong blocks, 0 other errors" in read.stdout and
         re.search(r"^rank 2 \(.*\): sd=sd3 .*\n  lba=28672 .*\n  lba=32768 ", read.stdout, re.M), (read, done))
    with open("disk3", "r+b") as file:
        file.seek(40960)
        file.write(bytes(8192))
    done = vdbench("bad", hds(["localhost"] * 3) + disks + WDS + RDS, "-jro", "--ranks", "3")
    read, log = run(FSBENCH, "vdbench", "dvpost", "bad.out"), content("bad.out/errorlog.html")
    case("the recovery of each rank is told", len(re.findall(r"^\S+ (?:rank [12] \(.*\): )?sd=sd\d .*: recovered from the journal: ", done.stdout, re.M)) == 3, done)
    case("and those that its recovery found, each with a time", done.returncode == 1 and re.search(r"[1-9] wrong blocks, 0 other errors", read.stdout) and
         {"lba=40960 ", "lba=45056 "} <= set(re.findall(r"lba=\d+ ", read.stdout)) and
         len(re.findall(r"^[\d:.]+ rank 2 .*Data Validation error", log, re.M)) == log.count("Data Validation error"), (read, log))
    done = vdbench("other", hds(["nodeA", "nodeB", "nodeC"]) + disks + WDS + RDS, "-s")
    case("and what they would do", done.returncode == 0 and done.stdout.count("Simulating RD=") == 3, done)
    done = vdbench("other", hds(["nodeA", "nodeB", "nodeC"]) + disks + WDS + RDS, "--ranks", "3")
    case("ranks of this machine stand for them, in order", done.returncode == 0, done)
    done = vdbench("other", hds(["nodeA"] * 3) + disks + WDS + RDS, "--ranks", "2")
    case("fewer ranks than hosts: status 2 and a line", done.returncode == 2 and "fewer ranks than hosts, expected 3" in done.stderr, done)
    done = vdbench("other", hds(["localhost"] * 2) + disks.replace("host=hd3,", "") + WDS + RDS, "-v", "--ranks", "2")
    case("data validation of an SD that two ranks write: refused", done.returncode == 2 and "2 ranks use sd=sd3" in done.stderr, done)
    with open("one", "wb") as file:
        file.write(bytes(1 << 20))
    os.link("one", "two")
    done = vdbench("luns", hds(["localhost"] * 2) + "sd=sd1,size=1m,host=hd1,lun=one,host=hd2,lun=two\n" + WDS + "rd=r,wd=w,iorate=max,elapsed=60\n", "--ranks", "2")
    case("an SD whose name differs by host", done.returncode == 0, done)
    wrong = "sd=sd1,host=hd1,lun=absent/disk,size=1m\nsd=sd2,host=hd2,lun=/dev/absent,size=1m\nwd=odd,xfersize=none\n"
    done = vdbench("wrong", hds(["localhost"] * 2) + wrong + WDS + RDS, "--ranks", "2")
    told = re.sub(r"rank (\d) \(.*?\): ", r"\1 ", done.stderr).splitlines()
    case("what each rank finds wrong is told together, and once what both find", done.returncode == 2 and len(told) == 3 and
         [part in line for part, line in zip((": all ranks: wrong.vdb:5:", "0 sd=sd1: absent/disk: the directory absent does not exist",
                                              "1 Raw device 'sd=sd2,lun=/dev/absent' does not exist"), told)] == [True] * 3, done)
    done = vdbench("wrong", hds(["localhost"] * 3) + "sd=sd1,host=hd1,lun=absent/disk,host=hd2,lun=absent/disk,size=1m\nwd=w,sd=sd1\n" + RDS, "--ranks", "3")
    case("a line says how many ranks find it", done.returncode == 2 and "rank 0 (" in done.stderr and ") and 1 more: sd=sd1: absent/disk" in done.stderr, done)
    done = vdbench("mounts", "hd=hd1,system=localhost,mount=\"touch mounted\"\n" + disks.replace("hd2", "hd1").replace("hd3", "hd1") + WDS + RDS)
    case("mount=: refused without --allow-mount", done.returncode == 2 and "--allow-mount" in done.stderr and not os.path.exists("mounted"), done)
    done = vdbench("mounts", content("mounts.vdb"), "--allow-mount")
    case("and run with it", done.returncode == 0 and os.path.exists("mounted"), done)
    text = "hd=hd1,system=localhost,shell=ssh,user=root,mount=\"mount -t tmpfs none point/deep\"\n" + disks.replace("hd2", "hd1").replace("hd3", "hd1") + WDS + RDS
    done = vdbench("point", text, "--allow-mount")
    case("the mount point is made", done.returncode == 0 and os.path.ismount("point/deep"), done)
    run("umount", "point/deep")
    look = 'endcmd="grep remounted /proc/self/mounts >{}"'
    text = "hd=hd1,system=localhost,mount=\"mount -t tmpfs none remounted\"\nsd=sd1,lun=remounted/disk,size=1m\nwd=w,sd=sd1\n" + "".join(
        f"rd={name},wd=w,iorate=50,elapsed=2,{look.format('seen.' + name)}{mount}\n"
        for name, mount in (("a", ""), ("b", ',mount="-t tmpfs -o size=3m"'), ("c", ",mount=reset")))
    remounted = vdbench("remount", text, "--allow-mount")
    run("umount", "remounted")
    seen = [content(f"seen.{name}") for name in "abc"]
    case("mount= of an RD: other options, and those of hd= again", remounted.returncode == 0 and [text.count("\n") for text in seen] == [1, 1, 1]
         and ["size=3072k" in text for text in seen] == [False, True, False] and remounted.stdout.count("Starting RD=SD_format") == 3, (remounted, seen))
    wrong = [vdbench("remount", *how) for how in ((text.replace("mount=reset", "mount=\"mount -t tmpfs\""),), (text[text.index("\n") + 1:],),
                                                  (text, "--allow-mount", "-v"))]
    case("mount= of an RD: with the command, without hd=, with data validation: refused", all(done.returncode == 2 and why in done.stderr for done, why in
         zip(wrong, ("expected only options of mount(8)", "rd=b: mount= has options for mount= of an hd=", "not possible with mount="))), wrong)
    dull = [vdbench("remount", text.replace("mount -t tmpfs none remounted", command), *how) for command, how in
            (("./mnt.sh mm", ("-s", "--allow-mount")), ("mount -t tmpfs none remounted; sleep 0", ("-s", "--allow-mount")))]
    case("mount= of an RD: a command of hd= that can't take other options: refused before anything is changed, once", all(
        done.returncode == 2 and done.stderr.count("\n") == 1 and "remount.vdb:1:1: hd=hd1: " in done.stderr and "for mount= of an RD" in done.stderr
        for done in dull), dull)
    odd = vdbench("remount", text.replace("-o size=3m", "-o size=3m; sleep 0"), "-s", "--allow-mount")
    case("and options with characters for the shell", odd.returncode == 2 and "expected no characters for the shell" in odd.stderr, odd)
    nested = vdbench("nested", "hd=hd1,system=localhost,mount=(\"mount -t tmpfs none nest\",\"mount -t tmpfs none nest/in\")\n"
                     "fsd=f,anchor=nest/in/tree,depth=1,width=1,files=4,size=4k\nfwd=w,fsd=f,operation=read\n"
                     f"rd=r,fwd=w,fwdrate=50,elapsed=2,format=yes,forthreads=(1,2),mount=reset,{look.format('seen.nested').replace('remounted', 'nest')}\n", "--allow-mount")
    run("umount", "nest/in")
    run("umount", "nest")
    case("mounts inside mounts, and files that a format of the RD made: they are there in its run", nested.returncode == 0 and
         content("seen.nested").count("\n") == 2 and len(re.findall(r"avg_2-2 +[45]\d\.\d ", nested.stdout)) == 2, nested)
    lost_rank()
    case("parameters without effect have a note", "hd=hd1: shell=, user= passed over" in done.stdout, done)
    idle = hds(["localhost"] * 2) + "sd=sd1,lun=disk1,size=1m\nwd=w,sd=sd1\nrd=r,wd=w,iorate=max,elapsed=4,host=hd2\n"
    done = vdbench("idle", idle, "--ranks", "2")
    used = [float(used) for used in re.findall(r"^\S+ +\d .* ([\d.]+) +[\d.]+$", done.stdout, re.M)]
    case("the processor use of a run that rank 0 has no part in", done.returncode == 0 and len(used) == 4 and max(used) > 5, (used, done))
    trees = "".join(f"fsd=f{n},anchor=tree{n},files=20,size=16k\nfwd=w{n},fsd=f{n},host=hd{n},operation=write,fileselect=random,fileio=random,threads=2\n" for n in (1, 2))
    trees = "".join(sorted(trees.splitlines(True)))
    done = vdbench("trees", hds(["localhost"] * 2) + trees + "rd=r,fwd=w*,fwdrate=200,elapsed=3,format=yes\n", "-v", "--ranks", "2")
    sizes = [sum(len(files) for _, _, files in os.walk(f"tree{n}")) for n in (1, 2)]
    rates = re.findall(r"rank \d .*: ([\d,]+) operations", done.stdout)
    case("trees of hosts: each is made and used by its host's rank, with data validation", done.returncode == 0 and sizes == [20, 20] and
         len(rates) == 4 and all(int(n.replace(",", "")) > 0 for n in rates), (sizes, rates, done))


def lost_rank():
    """A rank that is killed while all is closed for other mounts."""
    write("lost", hds(["localhost"] * 2).replace("localhost", 'localhost,mount="mount -t tmpfs none lost"', 1) +
          "sd=sd1,lun=disk,size=1m\nwd=w,sd=sd1\nrd=r,wd=w,iorate=10,elapsed=2,mount=reset,startcmd=\"touch started && sleep 3\"\n")
    with subprocess.Popen([FSBENCH, "vdbench", "-f", "lost.vdb", "-o", "lost.out", "--allow-mount", "--ranks", "2"], text=True, env=ENV,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run_:
        while not os.path.exists("started") and run_.poll() is None:
            time.sleep(0.05)
        for rank in descendants(run_.pid, "fsbench"):
            os.kill(rank, signal.SIGKILL)
        out, err = run_.communicate(timeout=60)
    while os.path.ismount("lost"):
        run("umount", "lost")
    case("a rank that is lost before other mounts: a line and status 1", run_.returncode == 1 and "has ended" in err, (run_.returncode, out, err))


def trees_of_hosts():
    fsd = "fsd=f,anchor=both,depth=2,width=2,files=6,size=8k{}\nfwd=default,fsd=f,operation=read,threads=4\n"
    each = "fwd=w1,host=hd1\nfwd=w2,host=hd2\n"
    rd = "rd=r,fwd=w*,fwdrate=100,elapsed=3,interval=1,format={}\n"
    for name, options, used in (("two hosts", ",shared=yes", [75, 75, 75, 75]), ("one tree without shared=yes", "", [75, 75, 75, 75])):
        done = vdbench("each", hds(["localhost"] * 2).replace("localhost", "localhost,jvms=2") + fsd.format(options) + each + rd.format("yes"), "--ranks", "4")
        counts = [int(n) for n in re.findall(r"rank \d .*: ([\d,]+) operations", done.stdout)]
        case(f"{name} with an FWD each on one tree: they divide its files, and keep the rate", done.returncode == 0 and counts[:4] == [6] * 4 and
             all(abs(n - its) <= 6 for n, its in zip(counts[4:], used, strict=True)), (counts, done))
    done = vdbench("each", hds(["localhost"] * 2) + fsd.format("") + each.replace("f,", "f,") + "fwd=w1b,host=hd2,operation=mkdir\n" + rd.format("no"), "--ranks", "2")
    case("mkdir of one of two hosts on one tree: refused", done.returncode and "expected no host= for operation=mkdir" in done.stderr, done)
    done = vdbench("few", hds(["localhost"] * 2).replace("localhost", "localhost,jvms=2") +
                   fsd.format("").replace("both", "few").replace("read,threads=4", "create,fileselect=sequential") +
                   each + rd.format("(yes,directories)").replace("fwdrate=100", "fwdrate=max"), "--ranks", "4")
    made = sum(name.startswith("vdb_f") for _, _, files in os.walk("few") for name in files)
    case("ranks without a thread keep no files", done.returncode == 0 and made == 24, (made, done))
    turns = hds(["localhost"] * 2) + fsd.format("").replace("both", "turns") + "".join(
        f"fwd={name},host=hd{host},operation={what}\n" for name, host, what in (("d", 1, "mkdir"), ("c", 1, "create"), ("w", 1, "write"), ("r", 2, "read")))
    done = vdbench("turns", turns + "".join(f"rd={name},fwd={name},fwdrate={rate},elapsed=2\n" for name, rate in (("d", "max"), ("c", "max"), ("w", 200), ("r", 100))), "--ranks", "2")
    counts = [int(n.replace(",", "")) for n in re.findall(r"rank 1 .*: ([\d,]+) operations", done.stdout)]
    made = re.findall(r"Files created: +(\d+)", done.stdout)
    case("files that one host makes are found by another in a later run", done.returncode == 0 and made == ["24"] and counts[:3] == [0, 0, 0]
         and abs(counts[3] - 200) <= 6, (counts, made, done))
    part = hds(["localhost"] * 3) + fsd.format("") + "fwd=w1,host=(hd1,hd3)\n" + rd.format("yes")
    done = vdbench("part", part, "--ranks", "3")
    counts = [int(n) for n in re.findall(r"rank \d .*: ([\d,]+) operations", done.stdout)]
    case("an FWD on two of three hosts", done.returncode == 0 and counts[:3] == [12, 0, 12] and counts[4] == 0 and abs(sum(counts[3:]) - 300) <= 6, (counts, done))
    done = vdbench("part", part, "--ranks", "3", "-v")
    case("and with data validation: refused before anything is changed", done.returncode == 2 and "2 ranks use anchor=both" in done.stderr, done)
    done = vdbench("part", part.replace("localhost", "nodeX"), "-s", "-v")
    case("also when it is simulated", done.returncode == 2 and "2 ranks use anchor=both" in done.stderr, done)

    def apart(options, *hosts):
        write("apart", "".join(hosts) + fsd.format(options).replace("both", "own") + "fwd=w1,threads=4\n" + rd.format("yes"))
        file = os.path.abspath("apart.vdb")
        words = [[FSBENCH, "vdbench", "-f", file, "-o", os.path.abspath("apart.out")]] * 2
        return run("mpirun", "-np", "1", "-wdir", "a", *words[0], ":", "-np", "1", "-wdir", "b", *words[1], env=ENV)
    os.mkdir("a")
    os.mkdir("b")
    done = apart("", hds(["localhost"] * 2))
    counts = [int(n) for n in re.findall(r"rank \d .*: ([\d,]+) operations", done.stdout)]
    sizes = [sum(name.startswith("vdb_f") for _, _, files in os.walk(d) for name in files) for d in "ab"]
    case("hosts with disks of their own: each makes and uses the whole tree", done.returncode == 0 and sizes == [24, 24] and counts[:2] == [24, 24] and
         all(abs(n - 150) <= 6 for n in counts[2:]), (sizes, counts, done))
    left = [name for where in ("a/own", "b/own", "both") for name in os.listdir(where) if not name.endswith(".dir")]
    case("and leave nothing else there", left == [], left)
    now = time.time_ns()
    kept = [f"vdb_rank0.{now}", f"vdb_rank1.{now - 3600 * 10**9}", "vdb_rank12.5", "vdb_rank -3.-7", "vdb_rank1.9223372036854775807", "vdb_rank1.5"]
    for name in kept[:-1]:
        write_empty(f"both/{name}")
    os.symlink(kept[0], f"both/{kept[-1]}")
    done = vdbench("part", part, "--ranks", "3")
    left = sorted(name for name in os.listdir("both") if not name.endswith(".dir"))
    case("names of others stay, also those that look like the marks of a comparison", done.returncode == 0 and left == sorted(kept), (left, done))
    for name in kept:
        os.unlink(f"both/{name}")
    own = [os.path.abspath(f"{where}/own") for where in "ab"]
    for tree in own:
        subprocess.run(["mount", "--bind", tree, tree], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", tree], check=True)
    try:
        done = apart("", hds(["localhost"] * 2))
    finally:
        for tree in own:
            subprocess.run(["umount", tree], check=True)
    case("trees that can't be written: refused, as it is not known whether they are one", done.returncode and "it is not known whether hosts see one tree" in done.stderr, done)
    for name, done in (("shared=yes", apart(",shared=yes", hds(["localhost"] * 2))), ("no hd=", apart(""))):
        case(f"other trees than the first rank's, {name}: refused", done.returncode and "is another directory here than on the first rank" in done.stderr, done)


def on_namespaces():
    devices = []
    hosts = Hosts()
    try:
        for name in NAMES:
            with open(f"{name}.image", "wb") as file:
                file.truncate(1 << 20)
            devices.append(run("losetup", "-f", "--show", f"{name}.image").stdout.strip())
        disks = "".join(f"sd=sd{n},host=hd{n},lun={device},journal=/dev/shm\n" for n, device in enumerate(devices, 1))
        text = hds(NAMES) + disks + WDS + RDS
        done = vdbench("four", text, "-j", launcher=hosts.mpirun())
        seen = [writers(device) for device in devices]
        case("four hosts with a loop device each: each host writes and checks its own", done.returncode == 0 and seen == [({n}, 2040) for n in range(4)], (seen, done))
        pages = {name: re.findall(r"^[\d:.]+ +avg_\S+ +([\d.]+).* +([\d.]+) +[\d.]+$", content(f"four.out/{name}.html"), re.M)
                 for name in ("summary", *(f"hd{n}" for n in range(1, 5)), *(f"hd{n}-0" for n in range(1, 5)))}
        rates = {name: [float(line[0]) for line in lines] for name, lines in pages.items()}
        case("a page for each host and slave: their rates add up to the summary's", [len(lines) for lines in pages.values()] == [3] * 9 and
             all(abs(rates["summary"][run_] - sum(rates[f"hd{n}"][run_] for n in range(1, 5))) <= max(4, rates["summary"][run_] / 100) for run_ in range(3)) and
             all(rates[f"hd{n}"] == rates[f"hd{n}-0"] for n in range(1, 5)), pages)
        skew = content("four.out/skew.html")
        case("tables of slaves and hosts", all(re.search(rf"^[\d:.]+ {name} +[\d.]+ ", skew, re.M) for name in ("hd1", "hd4", "hd1-0", "hd4-0")), skew[:2000])
        case("the report has each host", all(f"rank {n} ({name}):" in done.stdout for n, name in enumerate(NAMES)), done.stdout[-1500:])
        with open(devices[2], "r+b") as file:
            file.seek(40960)
            file.write(bytes(4096))
            os.fsync(file.fileno())
        done = vdbench("hurt", text, "-jro", launcher=hosts.mpirun())
        log = content("hurt.out/errorlog.html")
        case("recovery finds a block that one host lost, and names the host and the last write", done.returncode and "1 errors" in done.stderr and
             re.search(r"rank 2 \(h3\): .*sd=sd3 .*lba=40960 .*lost write.*", log), (log, done))
        case("each line of the recovery of another host has a time", len(re.findall(r"^[\d:.]+ rank 2 \(h3\): (?:Data|Ranges|sd=)", log, re.M)) == 3, log)
        read = run(FSBENCH, "vdbench", "dvpost", "hurt.out")
        case("dvpost finds it", "1 wrong blocks, 0 other errors" in read.stdout and re.search(r"^rank 2 \(h3\): sd=sd3 .*\n  lba=40960 ", read.stdout, re.M), read)
        done = vdbench("detail", "report=(host_detail,slave_detail)\n" + text, launcher=hosts.mpirun())
        made = {name for name in os.listdir("detail.out") if ".sd" in name and "histogram" not in name}
        case("report=: a page for each SD of each host and slave that has it", done.returncode == 0 and
             made == {f"hd{n}{slave}.sd{n}.html" for n in range(1, 5) for slave in ("", "-0")}, (made, done))
        order = hds(["a", "b", "c", "d"]) + disks + WDS + "rd=r,wd=r,iorate=max,elapsed=60\n"
        done = vdbench("order", order, "--map", "hd1=h2", "--map", "hd2=h1", launcher=hosts.mpirun())
        case("--map, and the other hosts in order", done.returncode == 0, done)
        done = vdbench("order", order, "--map", "hd1=h9", launcher=hosts.mpirun())
        case("--map to a machine that has no rank", done.returncode and "--map hd1=h9: no rank runs on this machine" in done.stderr, done)
    finally:
        for device in devices:
            run("losetup", "-d", device)
        for number in range(1, 5):
            for end in ("map", "jnl"):
                if os.path.exists(f"/dev/shm/sd{number}.{end}"):
                    os.unlink(f"/dev/shm/sd{number}.{end}")
        hosts.end()


def main():
    with scratch():
        on_localhost()
        trees_of_hosts()
        on_namespaces()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
