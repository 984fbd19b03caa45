#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing missed: a program writes down each call that it makes, strace writes down what the kernel saw, the capture what reached it.
The three agree per kind, but for the differences stated in TABLE. Requests that no application made are marked as the kernel's.

usage: shim_visibility.py            all of it
       shim_visibility.py --in DIR LIST    the program: works in DIR, its own count goes to the file LIST
"""
import collections
import ctypes
import fcntl
import json
import mmap
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, fstrace_program, shim_program  # noqa: E402

CALLS = 4000

# What the program calls: the system calls of it in strace, and the kinds of operation in the trace. An operation counts once,
# whatever else the kernel had to ask (lookup) before it could pass the call on.
TABLE = {
    "read": (("pread64",), ("read",)),
    "write": (("pwrite64",), ("write",)),
    "stat": (("newfstatat", "stat", "lstat"), ("getattr",)),
    "mkdir": (("mkdir",), ("mkdir",)),
    "rmdir": (("rmdir",), ("rmdir",)),
    "unlink": (("unlink",), ("unlink",)),
    "rename": (("rename",), ("rename",)),
    "link": (("link",), ("link",)),
    "symlink": (("symlink",), ("symlink",)),
    "readlink": (("readlink",), ("readlink",)),
    "truncate, chmod, chown, utime": (("truncate", "chmod", "fchmodat", "chown", "utimensat"), ("setattr",)),
    "fsync": (("fsync", "fdatasync"), ("fsync",)),
    "fallocate": (("fallocate",), ("fallocate",)),
    "setxattr": (("setxattr",), ("setxattr",)),
    "getxattr": (("getxattr",), ("getxattr",)),
    "lseek to data or a hole": (("lseek",), ("lseek",)),
    "statfs": (("statfs",), ("statfs",)),
    "record lock": (("fcntl",), ("setlk",)),
    "whole-file lock": (("flock",), ("flock",)),
    "copy_file_range": (("copy_file_range",), ("copy_file_range",)),
    "open": (("openat",), ("open", "create")),
    "close": (("close",), ("flush",)),
}
# Stated differences: calls that the kernel answers without a request.
NO_REQUEST = "a call on a name that is found absent, or that exists already for a call that must not find it, ends with its lookup"


class Program:
    """Random calls; each is counted when it was made, and whether it succeeded."""

    def __init__(self, directory):
        os.chdir(directory)
        self.random = random.Random(11)
        self.done = collections.Counter()
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.files = []
        self.number = 0

    def call(self, kind, function, *args):
        result = function(*args)
        self.done[kind] += 1
        return result

    def new_file(self):
        self.number += 1
        name = f"f{self.number}"
        fd = self.call("open", os.open, name, os.O_CREAT | os.O_RDWR)
        self.call("write", os.pwrite, fd, b"x" * self.random.randrange(1, 70000), 0)
        self.files.append((name, fd))

    def step(self):
        r, call = self.random, self.call
        if len(self.files) < 4 or r.random() < 0.05:
            self.new_file()
        name, fd = r.choice(self.files)
        other, other_fd = r.choice(self.files)
        self.number += 1
        fresh = f"n{self.number}"
        choice = r.randrange(20)
        if choice < 4:
            call("read", os.pread, fd, r.randrange(1, 100000), r.randrange(0, 80000))
        elif choice < 8:
            call("write", os.pwrite, fd, b"y" * r.randrange(1, 30000), r.randrange(0, 100000))
        elif choice == 8:
            call("stat", os.stat, name)
        elif choice == 9:
            call("mkdir", os.mkdir, fresh)
            call("rmdir", os.rmdir, fresh)
        elif choice == 10:
            self.files.remove((name, fd))
            call("unlink", os.unlink, name)
            call("close", os.close, fd)
        elif choice == 11:
            self.files.remove((name, fd))
            call("rename", os.rename, name, fresh)
            self.files.append((fresh, fd))
        elif choice == 12:
            call("link", os.link, name, fresh)
            call("unlink", os.unlink, fresh)
        elif choice == 13:
            call("symlink", os.symlink, "where", fresh)
            call("readlink", os.readlink, fresh)
            call("unlink", os.unlink, fresh)
        elif choice == 14:
            change = r.choice([(os.truncate, name, r.randrange(90000)), (os.chmod, name, 0o640), (os.chown, name, 1, 2), (os.utime, name, (1, 2))])
            call("truncate, chmod, chown, utime", *change)
        elif choice == 15:
            call("fsync", r.choice([os.fsync, os.fdatasync]), fd)
            call("fallocate", self.libc.fallocate, fd, 0, ctypes.c_long(0), ctypes.c_long(5000))
        elif choice == 16:
            call("setxattr", os.setxattr, name, "user.a", b"value")
            call("getxattr", self.libc.getxattr, os.fsencode(name), b"user.a", ctypes.create_string_buffer(10), 10)
        elif choice == 17:
            call("lseek to data or a hole", os.lseek, fd, 0, r.choice([os.SEEK_HOLE, os.SEEK_DATA] if os.fstat(fd).st_size else [os.SEEK_HOLE]))
            self.done["fstat"] += 1
        elif choice == 18:
            call("statfs", self.libc.statfs, os.fsencode(name), ctypes.create_string_buffer(200))
            call("record lock", fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
            call("whole-file lock", fcntl.flock, fd, fcntl.LOCK_EX)
        elif other_fd != fd:
            call("copy_file_range", os.copy_file_range, fd, other_fd, 1000, 0, 0)

    def run(self):
        for _ in range(CALLS):
            self.step()
        for _, fd in self.files:
            self.call("close", os.close, fd)


def strace_counts(path, directory):
    """Successful calls, by name, that concern the directory: `strace -y` shows what each descriptor stands for."""
    counts = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as text:
        lines = text.read().splitlines()
    started = False
    for line in lines:
        if not started:
            started = f'chdir("{directory}")' in line
            continue
        call = re.match(r"(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)", line)
        if not call or call[3].startswith("-"):
            continue
        name, arguments = call[1], call[2]
        on_descriptor = re.match(r"\d+<([^>]*)>", arguments)
        if on_descriptor and not on_descriptor[1].startswith(directory):
            continue
        if name == "openat" and not re.match(r'AT_FDCWD<[^>]*>, "[fn]\d+"', arguments):
            continue
        if re.match(r'(AT_FDCWD<[^>]*>, )?"/', arguments):
            continue
        if name == "newfstatat" and re.match(r"\d+<", arguments):
            name = "fstat"
        counts[name] += 1
    return counts


def trace_counts(path):
    """Successful operations by kind, those of the kernel left out and counted by themselves."""
    counts, kernel = collections.Counter(), collections.Counter()
    for line in subprocess.check_output([fstrace_program(), "dump", "--json", path], text=True).splitlines():
        op = json.loads(line)
        if op["command"].startswith("strace"):
            continue
        if "error" not in op:
            (kernel if op.get("op_flags", 0) & 1 else counts)[op["kind"]] += 1
    return counts, kernel


def mapped(directory):
    """Causes page faults and write-back, which are reads and writes without a system call."""
    os.chdir(directory)
    fd = os.open("m", os.O_CREAT | os.O_RDWR)
    os.pwrite(fd, b"z" * 65536, 0)
    os.pread(fd, 65536, 0)
    m = mmap.mmap(fd, 65536)
    for at in range(0, 65536, 4096):
        m[at] = m[at] ^ 1
    m.flush()
    m.close()
    os.close(fd)


def main():
    if sys.argv[1:2] == ["--in"]:
        program = Program(sys.argv[2])
        program.run()
        with open(sys.argv[3], "w", encoding="ascii") as out:
            json.dump(program.done, out)
        return 0
    if sys.argv[1:2] == ["--mapped"]:
        mapped(sys.argv[2])
        return 0
    cases = Cases()
    with Scratch() as scratch:
        place = scratch.mount("ext4")
        top = f"{place}/top"
        os.mkdir(top)
        trace, log, own = (f"{scratch.path}/{n}" for n in ("trace.zst", "strace.log", "own.json"))
        me = [sys.executable, os.path.abspath(__file__)]
        done = subprocess.run([shim_program(), "capture", top, "-o", trace, "--", "strace", "-y", "-s", "300", "-o", log, "-e",
                               "trace=file,desc", *me, "--in", top, own], capture_output=True, text=True, check=False)
        if not cases.case("program, strace and capture at once", done.returncode == 0, f"status {done.returncode}: {done.stderr[-1500:]}"):
            return 1
        with open(own, encoding="ascii") as text:
            called = collections.Counter(json.load(text))
        straced = strace_counts(log, top)
        recorded, kernel = trace_counts(trace)
        # fstat and stat are one kind of request; both are in the program's list.
        called["stat"] += called.pop("fstat", 0)
        straced["newfstatat"] += straced.pop("fstat", 0)
        print(f"# {'call':32}{'called':>8}{'strace':>8}{'trace':>8}")
        for kind, (calls, kinds) in TABLE.items():
            seen = [called[kind], sum(straced[c] for c in calls), sum(recorded[k] for k in kinds)]
            print(f"# {kind:32}{seen[0]:>8}{seen[1]:>8}{seen[2]:>8}")
            cases.case(f"every {kind} is there", seen[0] > 0 and seen[0] == seen[1] == seen[2], f"called, strace, trace: {seen}")
        print(f"# {NO_REQUEST}; lookups that paths needed: {recorded['lookup']}")
        print(f"# the kernel's own: {dict(kernel)}")
        cases.case("releases are marked as the kernel's", kernel["release"] == called["open"] and recorded["release"] == 0, str(kernel))
        cases.case("nothing else is", set(kernel) == {"release"}, str(kernel))

        trace = f"{scratch.path}/mapped.zst"
        done = subprocess.run([shim_program(), "capture", top, "-o", trace, "--mappings", "seen", "--", *me, "--mapped", top],
                              check=False)
        recorded, kernel = trace_counts(trace)
        cases.case("page faults and write-back of a mapping are marked as the kernel's",
                   done.returncode == 0 and kernel["write"] > 0 and kernel["read"] > 0 and recorded["write"] == 1 and recorded["read"] == 1,
                   f"recorded {dict(recorded)}, the kernel's {dict(kernel)}")
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
