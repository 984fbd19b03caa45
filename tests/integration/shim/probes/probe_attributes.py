# SPDX-License-Identifier: Apache-2.0
"""Attributes, owners, permissions."""
import ctypes
import fcntl
import os
import struct
import time

from probe_tools import *  # noqa: F403


# --- attributes

@probe
def modes():
    put("f")
    answers = []
    for m in (0o000, 0o4755, 0o2755, 0o1777, 0o7777):
        os.chmod("f", m)
        answers.append(mode("f"))
    os.mkdir("d")
    os.chmod("d", 0o3775)
    os.symlink("f", "l")
    return answers, mode("d"), mode("l"), attempt(os.chmod, "no", 0)


@probe
def owners():
    put("f", mode=0o4755)
    os.symlink("f", "l")
    os.chown("f", 1000, 2000)
    os.lchown("l", 3000, 4000)
    answer = owner("f"), mode("f"), owner("l"), attempt(os.chown, "f", -1, 5), owner("f")
    return answer, as_user(1000, lambda: os.chown("f", 1001, -1)), as_user(1000, lambda: os.chown("f", -1, 7), groups=[7]), owner("f")


@probe
def times():
    put("f")
    os.symlink("f", "l")
    os.mkdir("d")
    os.utime("f", ns=(1_000_000_001, 2_000_000_002))
    os.utime("l", ns=(3_000_000_003, 4_000_000_004), follow_symlinks=False)
    os.utime("d", ns=(5, 6))
    fd = os.open("f", os.O_RDWR)
    os.utime(fd, ns=(7_000_000_007, 8_000_000_008))
    os.close(fd)
    f, l, d = os.stat("f"), os.lstat("l"), os.stat("d")
    return f.st_atime_ns, f.st_mtime_ns, l.st_atime_ns, l.st_mtime_ns, d.st_atime_ns, d.st_mtime_ns


@probe
def times_now_and_omitted():
    class Spec(ctypes.Structure):
        _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]
    put("f")
    os.utime("f", ns=(11, 22))
    now, omit = (1 << 30) - 1, (1 << 30) - 2
    libc.utimensat(-100, b"f", (Spec * 2)(Spec(0, omit), Spec(0, now)), 0)
    s = os.stat("f")
    answer = s.st_atime_ns, abs(s.st_mtime - time.time()) < 5
    os.chmod("f", 0o666)
    as_1000 = as_user(1000, lambda: os.utime("f")), as_user(1000, lambda: os.utime("f", ns=(1, 1)))
    return answer, as_1000


@probe
def numbers_agree():
    put("f", b"x" * 5000)
    s = os.stat("f")
    fd = os.open("f", os.O_RDONLY)
    t = os.fstat(fd)
    os.close(fd)
    return s.st_ino == t.st_ino, s.st_size, s.st_blocks, s.st_blksize, s.st_nlink, os.statvfs(".").f_namemax


@probe
def change_time_moves():
    put("f")
    a = os.stat("f")
    time.sleep(0.02)
    os.chmod("f", 0o600)
    b = os.stat("f")
    return b.st_ctime_ns > a.st_ctime_ns, b.st_mtime_ns == a.st_mtime_ns


@probe
def extended_attributes():
    put("f")
    set_ = attempt(os.setxattr, "f", "user.a", b"value")
    os.setxattr("f", "user.empty", b"")
    big = attempt(os.setxattr, "f", "user.big", b"v" * 2000)
    answer = (set_, big, attempt(os.getxattr, "f", "user.a"), sorted(n for n in os.listxattr("f") if n.startswith("user")),
              attempt(os.setxattr, "f", "user.a", b"n", os.XATTR_CREATE), attempt(os.setxattr, "f", "user.q", b"n", os.XATTR_REPLACE),
              attempt(os.getxattr, "f", "user.no"), attempt(os.removexattr, "f", "user.a"), attempt(os.removexattr, "f", "user.a"),
              attempt(os.setxattr, "f", "bogus.a", b"x"), attempt(os.getxattr, "f", "user.empty"))
    os.symlink("f", "l")
    return answer, attempt(os.setxattr, "l", "user.x", b"", 0, follow_symlinks=False), attempt(os.setxattr, "f", "trusted.t", b"1")


@probe
def extended_attribute_sizes():
    put("f")
    os.setxattr("f", "user.a", b"0123456789")
    small = ctypes.create_string_buffer(4)
    n = libc.getxattr(b"f", b"user.a", small, 4), ctypes.get_errno()
    return libc.getxattr(b"f", b"user.a", None, 0), n


@probe
def access_lists():
    os.mkdir("d")
    put("f")
    # user::rw-, user:1000:r--, group::---, mask::r--, other::---
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in (
        (1, 6, 0xffffffff), (2, 4, 1000), (4, 0, 0xffffffff), (16, 4, 0xffffffff), (32, 0, 0xffffffff)))
    done = attempt(os.setxattr, "f", "system.posix_acl_access", acl)
    default = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in (
        (1, 7, 0xffffffff), (4, 5, 0xffffffff), (32, 0, 0xffffffff)))
    inherited = attempt(os.setxattr, "d", "system.posix_acl_default", default)
    os.umask(0o077)
    put("d/f", mode=0o666)
    os.umask(0)
    os.chmod(".", 0o755)
    return (done, inherited, mode("f"), mode("d/f"), attempt(os.getxattr, "f", "system.posix_acl_access"),
            as_user(1000, lambda: get("f")), as_user(1001, lambda: get("f")), as_user(1000, lambda: put("f")))


@probe
def inode_flags():
    put("f")
    fd = os.open("f", os.O_RDONLY)
    word = bytearray(8)
    got = attempt(fcntl.ioctl, fd, 0x80086601, word)  # FS_IOC_GETFLAGS
    flags = struct.unpack("i", word[:4])[0]
    done = attempt(fcntl.ioctl, fd, 0x40086602, struct.pack("q", flags | 0x40))  # NODUMP
    attempt(fcntl.ioctl, fd, 0x80086601, word)
    other = attempt(fcntl.ioctl, fd, 0x5401, bytearray(64))
    os.close(fd)
    return got, done if isinstance(done, str) else "set", bool(word[0] & 0x40), other


@probe
def immutable_file():
    put("f")
    fd = os.open("f", os.O_RDONLY)
    done = set_inode_flag(fd, 0x10)
    answer = attempt(os.open, "f", os.O_WRONLY), attempt(os.unlink, "f"), attempt(os.chmod, "f", 0o600)
    attempt(fcntl.ioctl, fd, 0x40086602, struct.pack("q", 0))
    os.close(fd)
    return done, answer


# --- who

@probe
def ownership_of_new_files():
    os.chmod(".", 0o777)
    os.mkdir("s")
    os.chown("s", 0, 5000)
    os.chmod("s", 0o2777)

    def make():
        put("f")
        os.mkdir("d")
        os.symlink("x", "l")
        os.mkfifo("p")
        put("s/f")
        os.mkdir("s/d")
        os.link("f", "h")
    answer = as_user(1000, make, groups=[6000], gid=2000)
    return answer, [(n, owner(n), mode(n)) for n in ("f", "d", "l", "p", "s/f", "s/d", "h")]


@probe
def permissions():
    os.chmod(".", 0o755)
    os.mkdir("priv", 0o700)
    put("priv/f")
    put("ro", mode=0o444)
    put("grp", mode=0o640)
    os.chown("grp", 0, 4000)
    os.mkdir("wx", 0o733)
    put("wx/f")
    return [as_user(1000, f, groups=[4000]) for f in (
        lambda: os.stat("priv/f"), lambda: os.listdir("priv"), lambda: put("ro"), lambda: get("ro"), lambda: get("grp"),
        lambda: put("grp"), lambda: put("new"), lambda: os.unlink("ro"), lambda: os.listdir("wx"), lambda: get("wx/f"),
        lambda: put("wx/g"), lambda: os.chmod("ro", 0o777), lambda: os.rename("ro", "x"), lambda: os.mkdir("priv/d"),
        lambda: os.truncate("ro", 0), lambda: [os.access(n, m) for n in ("priv", "ro", "grp") for m in (4, 2, 1)],
        lambda: os.link("ro", "wx/link"), lambda: os.utime("ro"), lambda: os.setxattr("ro", "user.a", b"1"))]


@probe
def write_only_directory_of_a_user():
    os.mkdir("d", 0o300)
    os.chown("d", 1000, 1000)
    os.chmod(".", 0o755)
    return as_user(1000, lambda: (put("d/f"), os.mkdir("d/s"), get("d/f"))), as_user(1000, lambda: os.listdir("d"))


@probe
def sticky_directory():
    os.chmod(".", 0o755)
    os.mkdir("t")
    os.chmod("t", 0o1777)
    put("t/roots", mode=0o666)
    return as_user(1000, lambda: os.unlink("t/roots")), as_user(1000, lambda: os.rename("t/roots", "t/x")), as_user(1000, lambda: put("t/own"))


@probe
def set_id_bits_are_lost():
    os.chmod(".", 0o755)
    answers = []
    for how in ("write", "truncate", "append", "open-truncate", "fallocate"):
        put("f", b"0123456789", 0o600)
        os.chown("f", 1001, 1001)
        os.chmod("f", 0o6777)

        def change(how=how):
            if how == "truncate":
                os.truncate("f", 3)
                return
            flags = {"append": os.O_APPEND, "open-truncate": os.O_TRUNC}.get(how, 0)
            fd = os.open("f", os.O_WRONLY | flags)
            if how == "fallocate":
                fallocate(fd, 0, 0, 4096)
            elif how != "open-truncate":
                os.write(fd, b"x")
            os.close(fd)
        answers.append((how, as_user(1000, change), mode("f")))
    put("g", b"1", 0o600)
    os.chmod("g", 0o4755)
    put("g", b"2")
    return answers, mode("g")


@probe
def group_bit_kept_only_for_members():
    os.chmod(".", 0o755)
    put("f")
    os.chown("f", 1000, 5000)
    a = as_user(1000, lambda: os.chmod("f", 0o2755), groups=[]), mode("f")
    b = as_user(1000, lambda: os.chmod("f", 0o2755), groups=[5000]), mode("f")
    return a, b
