#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text of nfsdump, as it prints the traffic of a small file server with a client of version 2 and one of version 3: what is imported are
the requests with their sizes and outcomes, and it replays. Calls and replies that are missing are counted."""
import collections
import difflib
import json
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, built, fstrace_program  # noqa: E402

FILE, DIRECTORY, LINK = 1, 2, 5  # ftype
TYPE_BITS = {FILE: 0o100000, DIRECTORY: 0o040000, LINK: 0o120000}
NUMBERS = {"getattr": 1, "setattr": 2, "lookup": 3, "access": 4, "readlink": 5, "read": 6, "write": 7, "create": 8, "mkdir": 9,
           "symlink": 10, "remove": 12, "rmdir": 13, "rename": 14, "link": 15, "readdir": 16, "readdirp": 17, "fsstat": 18, "commit": 21}
NUMBERS_2 = {"getattr": 1, "setattr": 2, "lookup": 4, "readlink": 5, "read": 6, "write": 8, "create": 9, "remove": 10, "rename": 11,
             "link": 12, "symlink": 13, "mkdir": 14, "rmdir": 15, "readdir": 16, "statfs": 17}
FIELDS = {"read": ["offset", "length", "result"], "write": ["offset", "length", "result"], "lookup": ["name"], "create": ["name"],
          "mkdir": ["name", "mode"], "symlink": ["name", "data"], "readlink": ["data"], "link": ["name2"], "unlink": ["name"],
          "rmdir": ["name"], "rename": ["name", "name2"], "readdir": ["result"], "readdirplus": ["result"], "getattr": [], "setattr": [],
          "access": [], "statfs": [], "fsync": []}


class Server:
    """A file server's tree and what nfsdump prints of each request to it, in the words of one version."""

    def __init__(self, version, client, seed):
        self.version, self.client, self.random = version, client, random.Random(seed)
        self.nodes, self.next_file, self.xid, self.lines, self.wanted = {}, 2, 0x1000 * seed, [], []
        self.time = 1037000000 * 10**6 + seed * 137
        self.root = self.make(DIRECTORY, 0o755)

    def make(self, kind, mode, target=""):
        number, self.next_file = self.next_file, self.next_file + 1
        self.nodes[number] = {"type": kind, "mode": mode, "size": 0, "nlink": 1, "entries": {}, "target": target}
        return number

    def handle(self, number):
        return f"{self.version:02x}c0ffee{number:08x}" + "00" * (24 if self.version == 2 else 8)

    def attributes(self, number):
        n = self.nodes[number]
        if self.version == 2:
            return (f"ftype {n['type']:x} mode {TYPE_BITS[n['type']] | n['mode']:x} nlink {n['nlink']:x} uid 3e8 gid 64 size {n['size']:x} "
                    f"blksize 2000 rdev 0 blocks 8 fsid 8664 fileid {number:x} atime 1030395536.0      mtime 996088922.79027  "
                    "ctime 1036443759.684014 ")
        return (f"ftype {n['type']:x} mode {n['mode']:x} nlink {n['nlink']:x} uid 3e8 gid 64 size {n['size']:x} used 2000 rdev 0 rdev2 0 "
                f"fsid ffffffff8465bccf fileid {number:x} atime 1006231501.431992 mtime 1006231501.431992 ctime 1006231501.436870 ")

    def request(self, procedure, asked, status, answer, wanted):
        """One call and its reply; `wanted`: kind and fields of the operation."""
        self.xid += 1
        number = (NUMBERS_2 if self.version == 2 else NUMBERS)[procedure]
        transport = "U" if self.version == 2 else "T"
        times = []
        for _ in range(2):
            self.time += self.random.randrange(200, 5000)
            times.append(f"{self.time // 10**6}.{self.time % 10**6:06}")
        head = f"{self.version} {self.xid:x} {number:x} {procedure:8}"
        self.lines.append((times[0], f"{times[0]} {self.client} 30.0801 {transport} C{head} {asked}euid 3e8 egid 64 con = 130 len = 150"))
        said = "OK" if not status else f"{status:x}"
        self.lines.append((times[1], f"{times[1]} 30.0801 {self.client} {transport} R{head} {said} {'' if status else answer}"
                           f"status={status:x} pl = 8 con = 70 len = 78"))
        errors = {0: "ok", 2: "ENOENT", 17: "EEXIST", 66: "ENOTEMPTY"}
        fields = wanted[1:] if not status else [0 if f == "result" else w for f, w in zip(FIELDS[wanted[0]], wanted[1:])]
        self.wanted.append((int(self.lines[-2][0].replace(".", "")), (wanted[0], errors[status], *fields)))

    def quoted(self, name):
        return '"' + "".join(f"\\{ord(c):02x}" if c in ' "\\' else c for c in name) + '"'

    def named(self, directory, name, second=""):
        key = ("fn" if self.version == 2 else "name") + second
        return f"fh{second} {self.handle(directory)} {key} {self.quoted(name)} "

    def found(self, number):
        return f"fh {self.handle(number)} " + self.attributes(number)

    def lookup(self, directory, name):
        child = self.nodes[directory]["entries"].get(name)
        answer = child and self.found(child) + (self.attributes(directory) if self.version == 3 else "")
        self.request("lookup", self.named(directory, name), 0 if child else 2, answer, ("lookup", name))

    def create(self, directory, name, procedure="create"):
        entries = self.nodes[directory]["entries"]
        kind, mode = (FILE, 0o640) if procedure == "create" else (DIRECTORY, 0o750)
        exists = 17 if name in entries else 0
        if not exists:
            entries[name] = self.make(kind, mode)
        how = "how G " if self.version == 3 and procedure == "create" else ""
        wanted = ("create", name) if procedure == "create" else ("mkdir", name, mode)
        if exists and self.version == 2 and procedure == "create":
            return
        self.request(procedure, self.named(directory, name) + f"{how}mode {mode:x} ", exists, self.found(entries[name]), wanted)

    def transfer(self, number, write):
        node, length = self.nodes[number], self.random.randrange(1, 8193)
        offset = self.random.randrange(0, node["size"] + 1)
        moved = length if write else min(length, node["size"] - offset)
        if write:
            node["size"] = max(node["size"], offset + length)
        if self.version == 3:
            asked = f"off {offset:x} count {length:x} " + ("stable U " if write else "")
            answer = self.attributes(number) + f"count {moved:x} " + ("stable U " if write else f"eof {int(moved < length):x} ")
        elif write:
            asked, answer = f"begoff 0 offset {offset:x} tcount {length:x} ", self.attributes(number)
        else:
            asked, answer = f"offset {offset:x} count {length:x} tcount 0 ", self.attributes(number) + f"count {moved:x} "
        kind = "write" if write else "read"
        self.request(kind, f"fh {self.handle(number)} {asked}", 0, answer, (kind, offset, length, moved))

    def of_file(self, procedure, number, asked="", answer="", wanted=None):
        field = "file" if procedure == "commit" else "fh"
        self.request(procedure, f"{field} {self.handle(number)} {asked}", 0, answer, wanted or (procedure,))

    def symlink(self, directory, name, target):
        number = self.nodes[directory]["entries"][name] = self.make(LINK, 0o777, target)
        if self.version == 2:
            asked, answer = f"fn2 {self.quoted(target)} mode 1ff ", "nfsstat fee1c63d "
        else:
            asked, answer = f"mode 1ff sdata {self.quoted(target)} ", self.found(number)
        self.request("symlink", self.named(directory, name) + asked, 0, answer, ("symlink", name, target))
        if self.version == 2:
            self.lookup(directory, name)
        words = f"{'fn' if self.version == 2 else 'name'} {self.quoted(target)} "
        self.of_file("readlink", number, "", words, ("readlink", target))

    def remove(self, directory, name, procedure="remove"):
        entries = self.nodes[directory]["entries"]
        child = entries.get(name)
        status = 2 if child is None else 66 if self.nodes[child]["entries"] else 0
        if not status:
            del entries[name]
            self.nodes[child]["nlink"] -= 1
        answer = "nfsstat 8 " if self.version == 2 else self.attributes(directory)
        self.request(procedure, self.named(directory, name), status, answer, ("unlink" if procedure == "remove" else "rmdir", name))

    def rename(self, directory, name, to, name2):
        self.nodes[to]["entries"][name2] = self.nodes[directory]["entries"].pop(name)
        answer = "nfsstat 8 " if self.version == 2 else ""
        self.request("rename", self.named(directory, name) + self.named(to, name2, "2"), 0, answer, ("rename", name, name2))

    def link(self, number, directory, name):
        self.nodes[directory]["entries"][name] = number
        self.nodes[number]["nlink"] += 1
        asked = f"fh {self.handle(number)} fh2 {self.handle(directory)} {'fn' if self.version == 2 else 'name'} {self.quoted(name)} "
        self.request("link", asked, 0, "nfsstat 8 " if self.version == 2 else "", ("link", name))

    def listing(self, directory, plus):
        entries = [(".", directory), ("..", 2), *self.nodes[directory]["entries"].items()]
        answer = self.attributes(directory) + "eof 1 "
        for i, (name, number) in enumerate(entries):
            answer += f"fileid-{i} {number:x} name-{i} {self.quoted(name)} cookie-{i} {i + 1:x} "
            answer += f"fh-{i} {self.handle(number)} " if plus else ""
        procedure, kind = ("readdirp", "readdirplus") if plus else ("readdir", "readdir")
        self.of_file(procedure, directory, "cookie 0 count 800 " + ("maxcnt 2000 " if plus else ""), answer, (kind, len(entries) - 2))

    def work(self, rounds):
        top = self.root
        for i in range(rounds):
            self.create(top, f"dir {i}", "mkdir")
            place = self.nodes[top]["entries"][f"dir {i}"]
            self.lookup(place, "absent")
            for name in ("a.txt", 'quote"d', "back\\slash"):
                self.create(place, name)
            self.create(place, "a.txt")
            number = self.nodes[place]["entries"]["a.txt"]
            for _ in range(6):
                self.transfer(number, True)
                self.transfer(number, False)
            self.of_file("getattr", number, "", self.attributes(number))
            self.nodes[number]["size"] = 100
            self.of_file("setattr", number, "size 64 mtime 1030395535.0 ", self.attributes(number) if self.version == 2 else "")
            self.transfer(number, False)
            self.symlink(place, "link", "../some where")
            self.link(number, place, "second name")
            self.rename(place, "a.txt", top, f"moved {i}")
            if self.version == 3:
                self.of_file("access", number, "acc 1 ", self.attributes(number) + "acc 1 ")
                self.of_file("commit", number, "off 0 count 0 ", self.attributes(number), ("fsync",))
                self.of_file("fsstat", top, wanted=("statfs",))
                self.listing(place, False)
                self.listing(place, True)
            else:
                self.of_file("statfs", top, "", "tsize 2000 bsize 1000 blocks 777ec67 bfree 3c83c11 bavail 3c83c11 ")
            self.remove(top, f"dir {i}", "rmdir")
            self.remove(place, "second name")
            self.remove(place, "second name")


def run(*command):
    done = subprocess.run(command, capture_output=True, check=False, timeout=100)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def operations(trace):
    lines = run(fstrace_program(), "dump", "--json", trace)[1].splitlines()
    return [(o["kind"], o.get("error", "ok"), *(o.get(f, 0) for f in FIELDS[o["kind"]])) for o in map(json.loads, lines)
            if o["kind"] not in ("opendir", "releasedir")]


def replayed(trace, tree):
    status, said, _ = run(built("replay/fsreplay"), trace, tree, "--order", "strict", "--timing", "asap", "-q", "--json")
    return status, json.loads(said)


def imported(cases, what, lines, place, status):
    with open(f"{place}/log", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    got, said, error = run(fstrace_program(), "import", f"{place}/log", "-o", f"{place}/x.zst", "--force")
    cases.case(f"{what}: imported", got == status, f"status {got}: {said}{error}")
    return error


def main():
    cases = Cases()
    servers = [Server(2, "32.02d2", 1), Server(3, "31.03f7", 2)]
    for server in servers:
        server.work(6)
    lines = [line for _, line in sorted(line for server in servers for line in server.lines)]
    wanted = [operation for _, operation in sorted(w for server in servers for w in server.wanted)]
    with Scratch() as scratch:
        place = scratch.path
        error = imported(cases, f"{len(lines)} lines of versions 2 and 3", lines, place, 0)
        got = operations(f"{place}/x.zst")
        difference = list(difflib.unified_diff([str(w) for w in wanted], [str(g) for g in got], n=0, lineterm=""))
        cases.case(f"{len(wanted)} requests, their sizes and outcomes are the server's", wanted == got and len(wanted) > 300,
                   f"{len(got)} imported: {difference[:20]} {error}")
        cases.case("times, durations and users are the log's",
                   all(o["duration"] % 1000 == 0 and o["duration"] > 0 and (o["uid"], o["gid"]) == (1000, 100) for o in map(
                       json.loads, run(fstrace_program(), "dump", "--json", f"{place}/x.zst")[1].splitlines())
                       if o["kind"] not in ("opendir", "releasedir")))
        status, report = replayed(f"{place}/x.zst", f"{place}/tree")
        cases.case("it replays with every outcome as recorded", status == 0 and report["issued"] > 300 and report["differed"] == 0,
                   f"{report['matched']} of {report['issued']}: {report['mismatches'][:5]}")
        # A reply of the third request is missing, a call of another, a packet was cut, and another version talks in between.
        calls = [i for i, line in enumerate(lines) if " C3 " in line and " write " in line]
        xid = lines[calls[0]].split()[5]
        spoilt = [line for line in lines if not (" R3 " in line and line.split()[5] == xid)]
        del spoilt[spoilt.index(lines[calls[1]])]
        cut = spoilt.index(lines[calls[2]])
        spoilt[cut] = spoilt[cut][:spoilt[cut].index(" off ")] + " SHORT PACKETcon = 130 len = 400"
        spoilt[10:10] = ["1037000000.100000 32.02d2 30.0801 T CU4", "con = 70 len = 78"]
        error = imported(cases, "what is missing", spoilt, place, 1)
        cases.case("what is missing is counted", all(f"lost 1: {why}" in error for why in (
            "calls whose reply was not seen", "replies whose call was not seen", "calls or replies in packets that were not captured completely",
            "calls of other versions of NFS")), error)
        some = collections.Counter(operations(f"{place}/x.zst"))
        cases.case("what is not missing is right", not some - collections.Counter(wanted) and sum(some.values()) == len(wanted) - 3,
                   f"{sum(some.values())} of {len(wanted)}")
        # Sent again, as over UDP; directories of a version before 1.2.0, which did not print what they hold.
        again = [line for line in lines for _ in range(1 + (line == lines[calls[0]]))]
        error = imported(cases, "a call sent again", again, place, 1)
        cases.case("a call sent again counts once",
                   operations(f"{place}/x.zst") == wanted and "changed 1: repeated calls" in error, error)
        tail = " status=0 pl = 8 con = 70 len = 78"
        brief = [line[:line.index(" eof 1 fileid-0")] + tail if " fileid-0 " in line else line for line in lines]
        imported(cases, "listings without names", brief, place, 0)
        status, report = replayed(f"{place}/x.zst", f"{place}/tree2")
        cases.case("listings of which nothing is known are not compared", status == 0 and report["differed"] == 0,
                   str(report["mismatches"][:5]))
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
