#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Quotas of users, groups and projects on xfs and ext4: what they refuse beneath a capture is what they refuse without one, and projects
are inherited alike. The kernel must have quotas; Debian's has: tests/vm/test BUILD shim_quotas.

usage: shim_quotas.py
       shim_quotas.py --in DIR    answers of one directory (what the former runs)
"""
import ast
import ctypes
import fcntl
import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, run, shim_program  # noqa: E402

USER, OTHER, GROUP, PROJECT = 1000, 1001, 5000, 42
BLOCKS, FILES = 1 << 20, 4  # bytes and inodes that each of them may have
KINDS = {"xfs": ("uquota", "gquota", "pquota"), "ext4": ("usrquota", "grpquota", "prjquota")}
MKFS = {"xfs": (), "ext4": ("-O", "quota,project", "-E", "quotatype=usrquota:grpquota:prjquota")}
FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR, INHERIT = 0x801C581F, 0x401C5820, 0x200  # linux/fs.h
Q_SETQUOTA, Q_XSETQLIM = 0x800008, 0x5804  # linux/quota.h, linux/dqblk_xfs.h
QIF_LIMITS = 5  # of blocks and inodes
libc = ctypes.CDLL(None, use_errno=True)


def set_limits(kind, device):
    for number, owner in enumerate((USER, GROUP, PROJECT)):
        if kind == "xfs":  # struct fs_disk_quota: in blocks of 512 bytes; limits of blocks and inodes are given
            # version, flags, fieldmask, id, blk_hard, blk_soft, ino_hard, ino_soft, then zeros
            limits = struct.pack("=bbHIQQQQ", 1, 1 << number, 0b1111, owner, BLOCKS >> 9, 0, FILES, 0).ljust(112, b"\0")
            command = Q_XSETQLIM
        else:  # struct if_dqblk: in blocks of 1 KiB
            limits, command = struct.pack("=8QI4x", BLOCKS >> 10, 0, 0, FILES, 0, 0, 0, 0, QIF_LIMITS), Q_SETQUOTA
        if libc.quotactl(command << 8 | number, device.encode(), owner, limits) != 0:
            raise OSError(ctypes.get_errno(), "quotactl", device)


def answer_of(function):
    try:
        return function()
    except OSError as e:
        return os.strerror(e.errno)


def as_user(uid, gid, function):
    receiver, sender = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
        os.write(sender, repr(answer_of(function)).encode())
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as text:
        answer = text.read()
    os.waitpid(pid, 0)
    return answer


def fill(path):
    """How many KiB could be written of 3 MiB, and why no more."""
    fd, written = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644), 0
    try:
        while written < 3 << 20:
            written += os.write(fd, bytes(64 << 10))
            os.fsync(fd)
    except OSError as e:
        return written >> 10, os.strerror(e.errno)
    finally:
        os.close(fd)
    return written >> 10


def allocate(path):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
    try:
        os.posix_fallocate(fd, 0, 2 * BLOCKS)
    finally:
        os.close(fd)


def make_files(directory):
    made = 0
    try:
        for made in range(3 * FILES):
            with open(f"{directory}/file{made}", "xb"):
                pass
    except OSError as e:
        return made, os.strerror(e.errno)
    return made


def project(path, number=None):
    fd, attributes = os.open(path, os.O_RDONLY), bytearray(28)
    try:
        fcntl.ioctl(fd, FS_IOC_FSGETXATTR, attributes)
        flags, *rest = struct.unpack("5I8x", attributes)
        if number is None:
            return rest[2], flags & INHERIT
        rest[2] = number
        fcntl.ioctl(fd, FS_IOC_FSSETXATTR, struct.pack("5I8x", flags | INHERIT, *rest))
        return None
    finally:
        os.close(fd)


def answers(place):
    """[(name, answer)]; leaves nothing behind that counts."""
    os.chdir(place)
    found = []

    def ask(name, function):
        found.append((name, answer_of(function)))
        for entry in os.listdir("."):
            run("rm", "-rf", entry)
        os.sync()
    for uid, gid, who in ((USER, USER, "a user"), (OTHER, GROUP, "a group"), (OTHER, OTHER, "nobody in particular")):
        ask(f"blocks of {who}", lambda uid=uid, gid=gid: as_user(uid, gid, lambda: fill("file")))
        ask(f"allocation by {who}", lambda uid=uid, gid=gid: as_user(uid, gid, lambda: allocate("file")))
        ask(f"files of {who}", lambda uid=uid, gid=gid: as_user(uid, gid, lambda: make_files(".")))

    def given_away():
        allocate("file")
        return answer_of(lambda: os.chown("file", USER, -1)), os.stat("file").st_uid
    ask("a large file is given to the user", given_away)
    ask("root writes the user's file", lambda: (as_user(USER, USER, lambda: open("file", "wb").close()), fill("file")))

    def in_project():
        os.mkdir("project")
        os.chmod("project", 0o777)
        project("project", PROJECT)
        os.mkdir("other")
        with open("other/file", "wb") as file:
            file.write(b"x")
        seen = [as_user(OTHER, OTHER, lambda: fill("project/file")), answer_of(lambda: fill("project/of_root")),
                as_user(OTHER, OTHER, lambda: make_files("project")), project("project"), project("project/file"),
                answer_of(lambda: os.link("other/file", "project/link")), answer_of(lambda: os.rename("other/file", "project/renamed")),
                as_user(OTHER, OTHER, lambda: project("project/file", 7))]
        return seen + [os.statvfs("project").f_blocks * os.statvfs("project").f_frsize >> 10]
    ask("a project", in_project)
    return found


def refusals(native, kind):
    """(what was asked beneath a quota, its answer, words of a refusal) for each quota of blocks and of files."""
    given = dict(line.split("\t") for line in native)
    for who in ("a user", "a group"):
        for what in (f"blocks of {who}", f"allocation by {who}", f"files of {who}"):
            yield what, given.get(what, ""), "Disk quota exceeded"
    blocks, _, files, *_ = ast.literal_eval(given.get("a project", "['', '', '']"))
    for what, answer in (("blocks of a project", blocks), ("files of a project", files)):
        yield what, answer, "No space left on device" if kind == "xfs" else "Disk quota exceeded"


def on(cases, scratch, kind):
    point, image = f"{scratch.path}/{kind}", f"{scratch.path}/{kind}.img"
    os.mkdir(point)
    run("truncate", "-s", "400M", image)
    run(f"mkfs.{kind}", "-q", *MKFS[kind], image)
    device = run("losetup", "--find", "--show", image).strip()
    try:
        run("mount", "-o", ",".join(KINDS[kind]), device, point)
        set_limits(kind, device)
        places = [f"{point}/native", f"{point}/shim"]
        for place in places:
            os.mkdir(place)
            os.chmod(place, 0o777)
        me = [sys.executable, os.path.abspath(__file__), "--in"]
        native = run(*me, places[0]).splitlines()
        done = subprocess.run([shim_program(), "capture", places[1], "-o", f"{scratch.path}/{kind}.zst", "--", *me, places[1]],
                              capture_output=True, text=True, check=False)
        cases.case(f"capture on {kind}", done.returncode == 0, done.stderr)
        for one, two in zip(native, done.stdout.splitlines()):
            name, answer = one.split("\t")
            print(f"# {name} on {kind}: {answer}")
            cases.case(f"{name} on {kind}", one == two, f"native {answer}, shim {two}")
        cases.case(f"each was asked on {kind}", len(native) == len(done.stdout.splitlines()), native)
        for what, answer, words in refusals(native, kind):
            cases.case(f"{what} on {kind}: refused without a capture", words in answer, answer)
        run("umount", point)
    finally:
        run("losetup", "--detach", device)


def main():
    if sys.argv[1:2] == ["--in"]:
        for name, answer in answers(sys.argv[2]):
            print(f"{name}\t{answer}")
        return 0
    cases = Cases()
    with Scratch() as scratch:
        for kind in KINDS:
            on(cases, scratch, kind)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
