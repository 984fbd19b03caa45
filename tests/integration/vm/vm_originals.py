#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's postmark and bonnie++ beside fsbench's, on Linux's own mounts of NFSv3, NFSv4.1 and 9P2000.L: the mount sends as many
requests of each kind for one as for the other. NFS: /proc/net/rpc/nfs of the guest; 9P: a proxy before the server counts. On a mount
of 9P2000.u, each of 1024 entries of a directory is listed.

Each program runs on a mount of its own, whose attributes do not expire and whose data is written when a file is closed or synced: how
slow the emulated processor is decides nothing.

--all compares bonnie's small files, too, by hand: that takes minutes. --only TEXT: the mounts and programs in whose
names that is."""
import collections
import json
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.normpath(f"{HERE}/../..")
sys.path[:0] = [f"{HERE}/../harness", f"{TESTS}/servers"]
from faults import Fault  # noqa: E402
from lower_fs import Cases, Scratch, built, put_on_path, run  # noqa: E402
from proxy import Proxy  # noqa: E402
from wires import NineP  # noqa: E402

PROXY_PORT, DIOD_PORT = 15641, 15640
NFS_OPTIONS = "actimeo=600,proto=tcp,port={nfs},addr=10.0.2.2"
MOUNTS = {
    "NFSv3": f"-t nfs -o vers=3,nolock,mountproto=tcp,mountport={{mountd}},{NFS_OPTIONS} 10.0.2.2:{{export}}",
    "NFSv4.1": f"-t nfs4 -o vers=4.1,clientaddr=10.0.2.15,{NFS_OPTIONS} 10.0.2.2:{{export}}",
    "9P2000.L": f"-t 9p -o trans=tcp,version=9p2000.L,dfltuid=0,dfltgid=0,uname=root,port={PROXY_PORT},aname={{directory}} 10.0.2.2",
}
POSTMARK = """set location {where}
set number 30
set transactions 60
set subdirectories 2
set size 500 20000
set seed 7
set buffering {buffering}
run
quit
"""
BONNIE = "-d {where} -r 0 -u root -z 7 -m host -q -f"
BIG, SMALL = f"{BONNIE} -s 1:8192:40:1 -n 0", f"{BONNIE} -s 0 -n 1:3000:10:3"
PROGRAMS = {
    "postmark": ("postmark /share/buffered", "fsbench postmark /share/buffered"),
    "postmark, unbuffered": ("postmark /share/unbuffered", "fsbench postmark /share/unbuffered"),
    "bonnie, big file": (f"bonnie++ {BIG}", f"fsbench bonnie {BIG}"),
    "bonnie, small files": (f"bonnie++ {SMALL}", f"fsbench bonnie {SMALL}"),
}
BY_HAND = {"bonnie, small files"}
ALL = "--all" in sys.argv
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
RUNS = [(mount, program, whose) for mount in MOUNTS for program in PROGRAMS for whose in (0, 1)
        if (ALL or program not in BY_HAND) and ONLY in f"{mount}, {program}"]
# Of time and of the mount: leases that are renewed, sessions that begin and end; whether a write is stable or followed by a COMMIT.
UNCOMPARED = {"sequence", "renew", "exchange_id", "create_session", "destroy_session", "destroy_clientid", "reclaim_comp", "server_caps",
              "fsinfo", "lookup_root", "commit"}
# When the client writes back or reads anew the big file, which two processes have open, depends on time: three runs of the original sent
# 9 to 27 WRITEs, 0 or 11 READs. On 9P each read and write is a request, and all are compared.
TIMED = {"read", "write", "getattr", "access"}
# Requests that fsbench makes to look at its directory before its work begins. On 9P at most as many: threads share what they look up.
LOOK = {"getattr": 1, "fsstat": 1, "4:getattr": 1, "4:statfs": 1, "Tgetattr": 6, "Twalk": 4, "Tclunk": 4, "Tlopen": 1, "Tstatfs": 1}
TYPES = {8: "Tstatfs", 12: "Tlopen", 14: "Tlcreate", 24: "Tgetattr", 26: "Tsetattr", 30: "Txattrwalk", 40: "Treaddir", 50: "Tfsync",
         72: "Tmkdir", 76: "Tunlinkat", 100: "Tversion", 104: "Tattach", 108: "Tflush", 110: "Twalk", 116: "Tread", 118: "Twrite",
         120: "Tclunk", 122: "Tremove"}
PROC3 = ("null getattr setattr lookup access readlink read write create mkdir symlink mknod remove rmdir rename link readdir readdirplus "
         "fsstat fsinfo pathconf commit").split()
# The client's procedures in the order of its table (include/linux/nfs4.h), the first of them.
PROC4 = ("null read write commit open open_conf open_noattr open_dgrd close setattr fsinfo renew setclntid confirm lock lockt locku access "
         "getattr lookup lookup_root remove rename link symlink create pathconf statfs readlink readdir server_caps delegreturn getacl setacl "
         "fs_locations release_lockowner secinfo fsid_present exchange_id create_session destroy_session sequence get_lease_time "
         "reclaim_comp").split()


class Counting(Fault):
    """Passes all, and counts each connection's requests by type."""

    def __init__(self):
        self.types = collections.defaultdict(collections.Counter)

    def request(self, link, body):
        self.types[link.number][body[0]] += 1
        return body

    def reply(self, link, body):
        return link.wire.framed(body)


class Diod:
    """A server of the directory. diod 1.0.24 may die as a connection ends, and is started again then."""

    def __init__(self, directory):
        self.ending, self.process = False, None
        self.command = ["/usr/sbin/diod", "-f", "-n", "-N", "-l", f"127.0.0.1:{DIOD_PORT}", "-e", directory]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while not self.ending:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.process.wait()

    def end(self):
        self.ending = True
        self.process.terminate()
        self.thread.join()


def job(directory):
    place = {"nfs": os.environ["NFS_PORT"], "mountd": os.environ["MOUNT_PORT"], "export": os.environ["NFS_VFS_EXPORT"], "directory": directory}
    lines = ["#!/bin/sh", "echo 0 >/proc/sys/vm/dirty_writeback_centisecs", "mkdir /mnt/m"]
    for number, (mount, program, whose) in enumerate(RUNS):
        lines += [f"mount {MOUNTS[mount].format(**place)} /mnt/m || {{ echo 'not ok - guest: mount of {mount}'; exit 1; }}",
                  "mkdir /mnt/m/d", f"cat /proc/net/rpc/nfs >/share/{number}.before 2>/dev/null",
                  f"{PROGRAMS[program][whose].format(where='/mnt/m/d')} >/share/{number}.out 2>&1 </dev/null",
                  f"echo $? >/share/{number}.status", f"cat /proc/net/rpc/nfs >/share/{number}.after 2>/dev/null",
                  f"rmdir /mnt/m/d || echo 'not ok - guest: {program} left files on {mount}'",
                  f"umount /mnt/m || {{ echo 'not ok - guest: unmount of {mount}'; exit 1; }}"]
    # The only server of 9P2000.u is that of /share, which takes one mount at a time.
    share = "mount -t 9p -o trans=virtio,version=9p2000.{} share {}"
    lines += ["cp /share/listing.zst /tmp; umount /share", f"{share.format('u', '/mnt/m')} || exit 1",
              "fsreplay /tmp/listing.zst /mnt/m/u --timing asap -q --json >/tmp/u.json 2>/tmp/u.err </dev/null",
              "ls /mnt/m/u/many | wc -l >/tmp/u.count", f"umount /mnt/m; {share.format('L', '/share')}", "cp /tmp/u.* /share"]
    return "\n".join(lines) + "\n"


def nfs_counts(path):
    with open(path, encoding="ascii") as text:
        rows = {line.split()[0]: [int(n) for n in line.split()[2:]] for line in text if line.startswith("proc")}
    counts = collections.Counter(dict(zip(PROC3, rows.get("proc3", []))))
    for index, n in enumerate(rows.get("proc4", [])):
        counts[f"4:{PROC4[index] if index < len(PROC4) else index}"] += n
    return counts


def counts_of(number, share, counting):
    mount = RUNS[number][0]
    if mount == "9P2000.L":
        link = sorted(counting.types)[sum(run[0] == mount for run in RUNS[:number])]
        return collections.Counter({TYPES.get(kind, f"T{kind}"): n for kind, n in counting.types[link].items()})
    before, after = (nfs_counts(f"{share}/{number}.{when}") for when in ("before", "after"))
    return collections.Counter({name: n - before[name] for name, n in after.items()
                                if n != before[name] and name.split(":")[-1] not in UNCOMPARED})


def content(path):
    with open(path, encoding="utf-8", errors="replace") as text:
        return text.read()


def alike(kind, more):
    look = LOOK.get(kind, 0)
    if kind.endswith("write") and not kind.startswith("T"):
        return abs(more) <= 1  # a client may write a part of a new mount's first file back before it is closed
    return 0 <= more <= look if kind.startswith("T") else more == look


def compare(cases, share, counting):
    for number in range(0, len(RUNS), 2):
        mount, program, _ = RUNS[number]
        theirs, ours = (counts_of(n, share, counting) for n in (number, number + 1))
        statuses = [content(f"{share}/{n}.status").strip() for n in (number, number + 1)]
        said = content(f"{share}/{number + 1}.out")
        cases.case(f"{mount}, {program}: both end well", statuses == ["0", "0"], f"{statuses} {said[:300]} ... {said[-300:]}")
        timed = TIMED if program == "bonnie, big file" and mount.startswith("NFS") else set()
        differing = {kind: (theirs[kind], ours[kind]) for kind in theirs | ours
                     if kind.split(":")[-1] not in timed and not alike(kind, ours[kind] - theirs[kind])}
        cases.case(f"{mount}, {program}: {sum(theirs.values())} requests, as many of each kind{' but for ' + ', '.join(sorted(timed)) if timed else ''}",
                   not differing and sum(theirs.values()) > 20, f"{differing} of {dict(theirs)}")


def compare_listing(cases, share):
    try:
        report = json.loads(content(f"{share}/u.json"))
    except ValueError:
        report = {"differed": content(f"{share}/u.err"), "kinds": {}, "violations": None, "mismatches": None}
    cases.case("9P2000.u: each listing of 1024 entries has all", report["differed"] == 0 and report["kinds"].get("readdir"),
               str({key: report[key] for key in ("differed", "violations", "mismatches")})[:500])
    cases.case("9P2000.u: 1024 files were made", content(f"{share}/u.count").strip() == "1024", content(f"{share}/u.count"))


def capture_listing(place):
    """A program that makes 1024 files and lists them twice."""
    os.mkdir(f"{place}/listed")
    work = ("import os; os.mkdir('many'); [open(f'many/{i:04}', 'w').close() for i in range(1024)]; assert len(os.listdir('many')) == 1024; "
            "assert sum(1 for _ in os.scandir('many')) == 1024")
    run("fsshim", "capture", f"{place}/listed", "-o", f"{place}/share/listing.zst", "--", "sh", "-c",
        f"cd {place}/listed && {sys.executable} -c \"{work}\"")


def beside_server():
    put_on_path()
    cases, counting = Cases(), Counting()
    directory = os.environ["NFS_VFS_DIR"]
    with Scratch() as scratch:
        share = f"{scratch.path}/share"
        os.mkdir(share)
        capture_listing(scratch.path)
        for name, buffering in (("buffered", "true"), ("unbuffered", "false")):
            with open(f"{share}/{name}", "w", encoding="ascii") as out:
                out.write(POSTMARK.format(where="/mnt/m/d", buffering=buffering))
        with open(f"{scratch.path}/job", "w", encoding="ascii") as out:
            out.write(job(directory))
        diod, proxy = Diod(directory), Proxy(NineP(), counting, DIOD_PORT, PROXY_PORT)
        programs = [built("tools/fsbench"), built("replay/fsreplay"), "/usr/bin/postmark", "/usr/sbin/bonnie++"]
        try:
            guest = subprocess.run([f"{TESTS}/vm/run", "--share", share, "--timeout", "3000" if ALL else "1500", "--module", "9pnet_fd",
                                    *(word for program in programs for word in ("--program", program)), f"{scratch.path}/job"],
                                   capture_output=True, text=True, check=False)
        finally:
            proxy.close()
            diod.end()
        print("".join(f"{line}\n" for line in guest.stdout.splitlines() if line.startswith("not ok - ")), end="")
        cases.failed += guest.stdout.count("not ok - ")
        if cases.case("the guest's job ends well", guest.returncode == 0, (guest.stdout + guest.stderr)[-500:]):
            compare(cases, share, counting)
            compare_listing(cases, share)
    return cases.status()


def main():
    if "--beside-server" in sys.argv:
        return beside_server()
    subprocess.run([f"{TESTS}/vm/fetch-kernel"], check=True, stdout=subprocess.DEVNULL)  # needs the network, which the server's namespace has not
    return subprocess.run([f"{TESTS}/servers/ganesha", sys.executable, os.path.abspath(__file__), "--beside-server", *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
