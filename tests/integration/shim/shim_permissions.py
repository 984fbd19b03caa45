#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Permissions beneath a capture that lets the kernel keep directory entries. Each operation is tried by another user through a
directory that was just used, in every way to close that directory and to open it again: all answers as without a capture."""
import ctypes
import errno
import os
import socket
import stat
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes"))
from captured import Capture, make_scratch, remove  # noqa: E402
from probe_tools import attempt, put  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
STRANGER, GROUP = 12345, 23456
AT_FDCWD, EXCHANGE = -100, 2


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "call")
    return result


def exchange(one, other):
    call(LIBC.renameat2(AT_FDCWD, one.encode(), AT_FDCWD, other.encode(), EXCHANGE))


def acl(user_rights):
    """An access ACL of mode 0755 that gives the stranger `user_rights`."""
    undefined = 0xFFFFFFFF
    entries = [(1, 7, undefined), (2, user_rights, STRANGER), (4, 5, undefined), (0x10, 5, undefined), (0x20, 5, undefined)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)


def bind(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path)


def run_file(path):
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(path, [path])
        except OSError as e:
            os._exit(e.errno)
    error = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if error != 0:
        raise OSError(error, "exec")


def closing(fd):
    os.close(fd)


# On d, a directory with the files f (0666), x (0755, a program), s (a symlink) and the directory e.
OPERATIONS = {
    "stat": lambda d: os.stat(d + "/f").st_size,
    "stat of the directory": lambda d: stat.filemode(os.stat(d).st_mode),
    "open to read": lambda d: closing(os.open(d + "/f", os.O_RDONLY)),
    "open to write": lambda d: closing(os.open(d + "/f", os.O_WRONLY)),
    "open and truncate": lambda d: closing(os.open(d + "/f", os.O_WRONLY | os.O_TRUNC)),
    "open as a path": lambda d: closing(os.open(d + "/f", os.O_PATH)),
    "create": lambda d: closing(os.open(d + "/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)),
    "create what exists": lambda d: closing(os.open(d + "/f", os.O_WRONLY | os.O_CREAT)),
    "mkdir": lambda d: os.mkdir(d + "/newdir"),
    "mkdir of what exists": lambda d: os.mkdir(d + "/e"),
    "mkfifo": lambda d: os.mkfifo(d + "/fifo"),
    "bind": lambda d: bind(d + "/socket"),
    "symlink": lambda d: os.symlink("f", d + "/newlink"),
    "readlink": lambda d: os.readlink(d + "/s"),
    "follow": lambda d: os.stat(d + "/s").st_size,
    "link": lambda d: os.link(d + "/f", d + "/hard"),
    "rename": lambda d: os.rename(d + "/new", d + "/newer"),
    "unlink": lambda d: os.unlink(d + "/newer"),
    "rmdir": lambda d: os.rmdir(d + "/newdir"),
    "list": lambda d: sorted(os.listdir(d + "/e")),
    "chdir": lambda d: (os.chdir(d), os.chdir("/")),
    "access": lambda d: os.access(d + "/f", os.R_OK),
    "access to run": lambda d: os.access(d + "/x", os.X_OK),
    "chmod": lambda d: os.chmod(d + "/f", 0o666),
    "chown": lambda d: os.chown(d + "/f", STRANGER, -1),
    "utime": lambda d: os.utime(d + "/f"),
    "truncate": lambda d: os.truncate(d + "/f", 1),
    "statvfs": lambda d: os.statvfs(d + "/f").f_namemax,
    "getxattr": lambda d: os.getxattr(d + "/f", "user.a"),
    "setxattr": lambda d: os.setxattr(d + "/f", "user.b", b"1"),
    "listxattr": lambda d: "user.a" in os.listxattr(d + "/f"),
    "removexattr": lambda d: os.removexattr(d + "/f", "user.b"),
    "exec": lambda d: run_file(d + "/x"),
}


class Stranger:
    """Another user's process that tries operations when told to."""

    def __init__(self, groups=()):
        self.ask, asked = os.pipe()
        told, self.tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.ask)
            os.close(self.tell)
            os.setgroups(list(groups))
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            while request := os.read(told, 4096).decode():
                name, directory = request.split("\0")
                os.write(asked, repr(attempt(OPERATIONS[name], directory)).encode())
            os._exit(0)
        os.close(asked)
        os.close(told)

    def tries(self, name, directory):
        os.write(self.tell, f"{name}\0{directory}".encode())
        return os.read(self.ask, 65536).decode()

    def ends(self):
        os.close(self.tell)
        os.close(self.ask)
        os.waitpid(self.pid, 0)


def build(top):
    """top/gate/d is where operations work; top/private and top/public are places to move the gate's contents to."""
    for name, mode in (("gate", 0o755), ("private", 0o700), ("public", 0o755)):
        os.mkdir(f"{top}/{name}", mode)
    d = f"{top}/gate/d"
    os.mkdir(d, 0o777)
    put(d + "/f", b"xyz", 0o666)
    os.setxattr(d + "/f", "user.a", b"1")
    with open("/bin/true", "rb") as program:
        put(d + "/x", program.read(), 0o755)
    os.symlink("f", d + "/s")
    os.mkdir(d + "/e", 0o755)
    os.mkdir(f"{top}/private/other", 0o777)
    os.chown(f"{top}/gate", 0, GROUP)
    return d


def closed_by_acl(top):
    os.setxattr(top + "/gate", "system.posix_acl_access", acl(0))


def opened_by_acl(top):
    os.removexattr(top + "/gate", "system.posix_acl_access")


# How the stranger's way to d is closed, where d is then, how it is opened again, and the stranger's groups.
GATES = {
    "chmod 0700": (lambda t: os.chmod(t + "/gate", 0o700), "gate/d", lambda t: os.chmod(t + "/gate", 0o755), ()),
    "chmod 0644": (lambda t: os.chmod(t + "/gate", 0o644), "gate/d", lambda t: os.chmod(t + "/gate", 0o755), ()),
    "fchmod": (lambda t: chmod_open(t + "/gate", 0o700), "gate/d", lambda t: chmod_open(t + "/gate", 0o755), ()),
    "group denied (0705)": (lambda t: os.chmod(t + "/gate", 0o705), "gate/d", lambda t: os.chmod(t + "/gate", 0o755), (GROUP,)),
    "group let in (0710)": (lambda t: os.chmod(t + "/gate", 0o710), "gate/d", lambda t: os.chmod(t + "/gate", 0o755), (GROUP,)),
    "ACL": (closed_by_acl, "gate/d", opened_by_acl, ()),
    "rename": (lambda t: os.rename(t + "/gate/d", t + "/private/d"), "private/d",
               lambda t: os.rename(t + "/private/d", t + "/gate/d"), ()),
    "rename of the gate": (lambda t: os.rename(t + "/gate", t + "/private/gate"), "private/gate/d",
                           lambda t: os.rename(t + "/private/gate", t + "/gate"), ()),
    "exchange": (lambda t: exchange(t + "/gate/d", t + "/private/other"), "private/other",
                 lambda t: exchange(t + "/gate/d", t + "/private/other"), ()),
}


def chmod_open(path, mode):
    fd = os.open(path, os.O_RDONLY)
    os.fchmod(fd, mode)
    os.close(fd)


def through_gates(top):
    """{case: answers}"""
    answers = {}
    for number, (gate, (close, place, reopen, groups)) in enumerate(GATES.items()):
        here = f"{top}/{number}"
        os.mkdir(here, 0o755)
        d = build(here)
        stranger = Stranger(groups)
        for name in OPERATIONS:
            said = []
            stranger.tries("stat", d)  # so that the kernel knows the way
            close(here)
            said.append(stranger.tries(name, f"{here}/{place}"))
            said.append(repr(attempt(os.stat, f"{here}/{place}/f") and "root may"))
            said.append(stranger.tries("stat", f"{here}/{place}"))
            reopen(here)
            said.append(stranger.tries(name, d))
            answers[f"{gate}: {name}"] = "; ".join(said)
        stranger.ends()
    return answers


def as_stranger(function, groups=()):
    """What it returns or fails with, in a child that has what this process has open."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups(list(groups))
        os.setgid(STRANGER)
        os.setuid(STRANGER)
        os.write(w, repr(attempt(function)).encode())
        os._exit(0)
    os.close(w)
    said = os.read(r, 65536).decode()
    os.close(r)
    os.waitpid(pid, 0)
    return said


def below_private(top):
    """A native file system lets whoever holds a descriptor or stands below a private directory go on."""
    here = top + "/held"
    os.mkdir(here, 0o755)
    d = build(here)
    directory, file = os.open(d, os.O_PATH), os.open(d + "/f", os.O_RDWR)
    os.chmod(here + "/gate", 0o700)
    answers = {
        "stat from a directory held": as_stranger(lambda: os.stat("f", dir_fd=directory).st_size),
        "open from a directory held": as_stranger(lambda: closing(os.open("f", os.O_RDWR, dir_fd=directory))),
        "create in a directory held": as_stranger(lambda: closing(os.open("mine", os.O_CREAT, dir_fd=directory))),
        "fstat of a file held": as_stranger(lambda: os.fstat(file).st_size),
        "read from a file held": as_stranger(lambda: os.pread(file, 3, 0)),
        "fchmod of a file held": as_stranger(lambda: os.fchmod(file, 0o600)),
        "the path of what is held": as_stranger(lambda: os.stat(d + "/f").st_size),
    }
    os.chdir(d)
    answers["stat in the working directory"] = as_stranger(lambda: os.stat("f").st_size)
    answers["list the working directory"] = as_stranger(lambda: len(os.listdir(".")))
    answers["up from the working directory"] = as_stranger(lambda: os.stat("../d/f").st_size)
    os.chdir("/")
    os.close(directory)
    os.close(file)
    return answers


def programs(top):
    """To run a file takes x, not r."""
    answers = {}
    with open("/bin/true", "rb") as program:
        image = program.read()
    for mode in (0o744, 0o711, 0o700, 0o755, 0o001, 0o010, 0o644):
        path = f"{top}/program-{mode:o}"
        put(path, image, 0o600)
        os.chown(path, 0, GROUP)
        os.chmod(path, mode)
        answers[f"run {mode:04o}"] = as_stranger(lambda: run_file(path))
        answers[f"run {mode:04o} in its group"] = as_stranger(lambda: run_file(path), (GROUP,))
    return answers


def ownership(top):
    """What is made belongs to its maker, wherever that is decided."""
    answers = {}

    def owner(path):
        s = os.lstat(path)
        return s.st_uid, s.st_gid, oct(s.st_mode)

    for name, uid, gid, mode in (("own", STRANGER, STRANGER, 0o755), ("open", 0, 0, 0o777), ("group", 0, GROUP, 0o2770),
                                 ("sticky", 0, 0, 0o1777)):
        d = f"{top}/{name}"
        os.mkdir(d)
        os.chown(d, uid, gid)
        os.chmod(d, mode)
        put(d + "/root", b"", 0o644)

        def make():
            os.umask(0o022)
            closing(os.open(d + "/file", os.O_CREAT | os.O_EXCL, 0o6777))
            os.mkdir(d + "/dir", 0o777)
            os.symlink("x", d + "/link")
            os.umask(0)
            os.mkfifo(d + "/fifo", 0o666)
            os.link(d + "/file", d + "/hard")
            os.rename(d + "/dir", d + "/renamed")

        for groups in ((), (GROUP,)):
            said = as_stranger(make, groups)
            made = sorted(n for n in os.listdir(d) if n != "root")
            answers[f"made in {name} with groups {groups}"] = said, [(n, owner(f"{d}/{n}")) for n in made]
            answers[f"root's file in {name} with groups {groups}"] = (
                as_stranger(lambda: os.rename(d + "/root", d + "/renamed-root"), groups),
                as_stranger(lambda: os.unlink(d + "/root"), groups))
            for n in made:
                (os.rmdir if n in ("dir", "renamed") else os.unlink)(f"{d}/{n}")
            if not os.path.exists(d + "/root"):
                put(d + "/root", b"", 0o644)
    return answers


def files(top):
    """Who may open a file: owner, group, others, an ACL; and what a write does to set-id bits."""
    answers = {}
    for mode in (0o600, 0o640, 0o604, 0o664, 0o646, 0o060, 0o004, 0o400, 0o200):
        for uid in (0, STRANGER):
            path = f"{top}/file-{mode:o}-{uid}"
            put(path)
            os.chown(path, uid, GROUP)
            os.chmod(path, mode)
            # Of others' files the kernel refuses O_NOATIME itself, before FUSE hears of it.
            own = (os.O_RDONLY | os.O_NOATIME,) if uid == STRANGER else ()
            for groups in ((), (GROUP,)):
                answers[f"file {mode:04o} of {uid} for groups {groups}"] = [
                    as_stranger(lambda flags=flags: closing(os.open(path, flags)), groups)
                    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, *own)
                ] + [as_stranger(lambda how=how: os.access(path, how), groups) for how in (os.R_OK, os.W_OK, os.X_OK)]
    path = top + "/acl"
    put(path, b"x", 0o644)
    os.setxattr(path, "system.posix_acl_access", acl(0))
    answers["an ACL that takes away"] = as_stranger(lambda: closing(os.open(path, os.O_RDONLY)))
    os.setxattr(path, "system.posix_acl_access", acl(6))
    answers["an ACL that gives, masked"] = as_stranger(lambda: closing(os.open(path, os.O_RDWR)))
    for flags in (os.O_WRONLY, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND):
        for uid in (0, STRANGER):
            path = f"{top}/setid-{flags}-{uid}"
            put(path)
            os.chown(path, uid, GROUP)
            os.chmod(path, 0o6777)

            def write():
                fd = os.open(path, flags)
                os.write(fd, b"y")
                os.close(fd)

            answers[f"set-id bits after {flags:x} on a file of {uid}"] = as_stranger(write), oct(os.stat(path).st_mode)
    return answers


def all_answers(directory):
    os.umask(0)
    answers = {}
    for part in (through_gates, below_private, programs, ownership, files):
        os.mkdir(f"{directory}/{part.__name__}", 0o755)
        answers |= {name: str(said) for name, said in part(f"{directory}/{part.__name__}").items()}
    return answers


def main():
    scratch = make_scratch()
    failed = 0
    try:
        for name in ("native", "shim"):
            os.mkdir(f"{scratch}/{name}", 0o755)
        native = all_answers(f"{scratch}/native")
        with Capture(f"{scratch}/shim"):
            shimmed = all_answers(f"{scratch}/shim")
        for name, said in native.items():
            if shimmed[name] == said:
                print(f"ok - {name}")
            else:
                failed += 1
                print(f"not ok - {name}: native {said}, shim {shimmed[name]}")
        # A way that is never closed would make all of this pass.
        if not any(errno.errorcode[errno.EACCES] in said for said in native.values()):
            failed += 1
            print("not ok - nothing was denied: is /tmp a file system with permissions?")
    finally:
        remove(scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
