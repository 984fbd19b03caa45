#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a directory some hundred questions that an application could ask, beneath the shim and without it: the answers must be the
same. Each probe returns something printable or fails with an errno; probes run in a directory of their own."""
import ctypes
import errno
import fcntl
import mmap
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

PROBES = []
libc = ctypes.CDLL(None, use_errno=True)


def probe(function):
    PROBES.append(function)
    return function


def attempt(function, *args, **kw):
    """The result, or the name of the errno."""
    try:
        return function(*args, **kw)
    except OSError as e:
        return errno.errorcode.get(e.errno, e.errno)


def as_user(uid, function, groups=(), gid=None):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups(list(groups))
        os.setgid(uid if gid is None else gid)
        os.setuid(uid)
        os.write(w, repr(attempt(function)).encode())
        os._exit(0)
    os.close(w)
    answer = os.read(r, 10000).decode()
    os.close(r)
    os.waitpid(pid, 0)
    return answer


def put(name, data=b"x", mode=0o644):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    os.write(fd, data)
    os.close(fd)


def get(name):
    with open(name, "rb") as f:
        return f.read()


def mode(name):
    return oct(os.lstat(name).st_mode)


def owner(name):
    s = os.lstat(name)
    return s.st_uid, s.st_gid


def in_thread(function):
    box = []
    t = threading.Thread(target=lambda: box.append(attempt(function)))
    t.start()
    return t, box


# --- names

@probe
def absent_names():
    return [attempt(f, "no") for f in (os.stat, os.unlink, os.rmdir, os.readlink, os.listdir)], attempt(os.rename, "no", "b")


@probe
def make_and_remove():
    os.mkdir("d", 0o751)
    put("d/f")
    return mode("d"), attempt(os.mkdir, "d"), attempt(os.rmdir, "d"), os.unlink("d/f"), os.rmdir("d"), os.listdir(".")


@probe
def wrong_types():
    put("f")
    os.mkdir("d")
    os.symlink("f", "l")
    return (attempt(os.rmdir, "f"), attempt(os.unlink, "d"), attempt(os.listdir, "f"), attempt(os.readlink, "f"),
            attempt(os.open, "d", os.O_WRONLY), attempt(os.stat, "f/x"), attempt(os.open, "l", os.O_NOFOLLOW),
            attempt(os.mkdir, "l"), attempt(os.open, "f", os.O_DIRECTORY))


@probe
def long_names():
    return attempt(put, "n" * 255), attempt(put, "n" * 256), attempt(os.mkdir, "m" * 256), attempt(os.stat, "n" * 256)


@probe
def strange_names():
    names = [b"a b", b"\xff\xfe", b"new\nline", b"tab\t", b"'\"", b"-rf", b"..."]
    for n in names:
        put(n)
    return sorted(os.listdir(b"."))


@probe
def hard_links():
    put("a", b"data")
    os.link("a", "b")
    a, b = os.stat("a"), os.stat("b")
    os.unlink("a")
    os.mkdir("d")
    return (a.st_ino == b.st_ino, b.st_nlink, get("b"), os.stat("b").st_nlink, attempt(os.link, "b", "b"), attempt(os.link, "no", "c"),
            attempt(os.link, "d", "e"))


@probe
def link_to_symlink():
    os.symlink("nowhere", "s")
    os.link("s", "t", follow_symlinks=False)
    return os.readlink("t"), os.lstat("s").st_nlink, os.lstat("s").st_ino == os.lstat("t").st_ino


@probe
def symlinks():
    os.symlink("../x/y", "s")
    os.symlink("s2", "s2")
    os.symlink("q" * 4095, "long")
    return os.readlink("s"), os.lstat("s").st_size, attempt(os.stat, "s2"), attempt(os.symlink, "a", "s"), len(os.readlink("long"))


@probe
def absolute_symlink_leaves():
    os.symlink("/etc/hostname", "s")
    return os.path.realpath("s"), attempt(os.stat, "s") is not None


@probe
def rename_plain():
    put("a", b"1")
    put("b", b"2")
    ino = os.stat("a").st_ino
    os.rename("a", "b")
    os.mkdir("d")
    os.mkdir("e")
    put("e/f")
    return (get("b"), os.stat("b").st_ino == ino, attempt(os.rename, "b", "d"), attempt(os.rename, "d", "b"), attempt(os.rename, "d", "e"),
            attempt(os.rename, "e", "e/g"), attempt(os.rename, "e", "d"), sorted(os.listdir("d")))


def renameat2(a, b, flags):
    if libc.renameat2(-100, os.fsencode(a), -100, os.fsencode(b), flags) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


@probe
def rename_flags():
    put("a", b"1")
    put("b", b"2")
    first = attempt(renameat2, "a", "b", 1)  # NOREPLACE
    renameat2("a", "b", 2)  # EXCHANGE
    answers = get("a"), get("b")
    return first, answers, attempt(renameat2, "a", "c", 1), attempt(renameat2, "c", "no", 2), sorted(os.listdir(".")), attempt(renameat2, "b", "c", 3)


@probe
def rename_hard_links_of_one_file():
    put("a")
    os.link("a", "b")
    os.rename("a", "b")
    return sorted(os.listdir("."))


@probe
def directories_move_with_their_files():
    os.makedirs("a/b/c")
    put("a/b/c/f", b"deep")
    fd = os.open("a/b/c", os.O_RDONLY)
    os.rename("a/b", "z")
    put("z/c/g")
    names = sorted(os.listdir(fd))
    os.close(fd)
    return get("z/c/f"), names


@probe
def special_files():
    os.mkfifo("p", 0o640)
    os.mknod("n", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    s = socket.socket(socket.AF_UNIX)
    s.bind("sock")
    s.close()
    return mode("p"), mode("n"), os.lstat("n").st_rdev, stat.S_ISSOCK(os.lstat("sock").st_mode), attempt(lambda: get("n"))


@probe
def fifo_carries_data():
    os.mkfifo("p")
    t, box = in_thread(lambda: get("p"))
    put_fd = os.open("p", os.O_WRONLY)
    os.write(put_fd, b"through")
    os.close(put_fd)
    t.join()
    return box


@probe
def readdir_large():
    for i in range(1500):
        put(f"file-with-a-name-{i}")
    names = os.listdir(".")
    kinds = {e.is_file(follow_symlinks=False) for e in os.scandir(".")}
    return len(names), len(set(names)), kinds


@probe
def readdir_while_removing():
    for i in range(800):
        put(f"{i}")
    with os.scandir(".") as entries:
        for e in entries:
            os.unlink(e.name)
    return os.listdir(".")


@probe
def readdir_inodes():
    put("a")
    os.mkdir("d")
    return [(e.name, e.inode() == os.lstat(e.name).st_ino) for e in sorted(os.scandir("."), key=lambda e: e.name)]


@probe
def telldir_seekdir():
    for i in range(300):
        put(f"f{i}")
    libc.opendir.restype = ctypes.c_void_p
    libc.readdir.restype = ctypes.c_void_p
    d = ctypes.c_void_p(libc.opendir(b"."))
    libc.telldir.restype = ctypes.c_long
    seen = []
    for _ in range(150):
        seen.append(libc.readdir(d))
    at = libc.telldir(d)
    rest = 0
    while libc.readdir(d):
        rest += 1
    libc.seekdir(d, ctypes.c_long(at))
    again = 0
    while libc.readdir(d):
        again += 1
    libc.closedir(d)
    return rest, again


# --- opening

@probe
def create_flags():
    put("f", b"data")
    os.symlink("f", "l")
    os.symlink("made", "dangling")
    return (attempt(os.open, "f", os.O_CREAT | os.O_EXCL | os.O_WRONLY), attempt(os.open, "l", os.O_CREAT | os.O_EXCL | os.O_WRONLY),
            put("dangling", b"1"), get("made"), attempt(os.open, "no/f", os.O_CREAT), attempt(os.open, ".", os.O_CREAT | os.O_WRONLY),
            os.close(os.open("f", os.O_WRONLY | os.O_TRUNC)), os.stat("f").st_size)


@probe
def umask_applies():
    os.umask(0o027)
    put("f", mode=0o666)
    os.mkdir("d", 0o777)
    os.mkfifo("p", 0o666)
    os.umask(0)
    put("g", mode=0o4777)
    return mode("f"), mode("d"), mode("p"), mode("g")


@probe
def creating_race_has_one_winner():
    answers = []
    for i in range(20):
        threads = [in_thread(lambda: os.close(os.open(f"f{i}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))) for _ in range(4)]
        for t, _ in threads:
            t.join()
        answers.append(sorted(str(box[0]) for _, box in threads))
    return answers


@probe
def unlinked_stays_usable():
    fd = os.open("f", os.O_RDWR | os.O_CREAT)
    os.write(fd, b"before")
    os.unlink("f")
    os.write(fd, b" after")
    os.ftruncate(fd, 8)
    os.fchmod(fd, 0o600)
    s = os.fstat(fd)
    data = os.pread(fd, 100, 0)
    again = attempt(os.open, f"/proc/self/fd/{fd}", os.O_RDONLY)
    os.close(fd)
    return data, s.st_nlink, oct(s.st_mode), isinstance(again, int)


@probe
def replaced_stays_usable():
    put("a", b"old")
    put("b", b"new")
    fd = os.open("a", os.O_RDONLY)
    os.rename("b", "a")
    answer = os.read(fd, 10), os.fstat(fd).st_nlink, get("a")
    os.close(fd)
    return answer


@probe
def removed_directory_stays_open():
    os.mkdir("d")
    fd = os.open("d", os.O_RDONLY)
    os.rmdir("d")
    answer = os.listdir(fd), os.fstat(fd).st_nlink, attempt(lambda: os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.close(fd)
    return answer


@probe
def path_descriptor():
    put("f", b"abc")
    fd = os.open("f", os.O_PATH)
    os.unlink("f")
    answer = os.fstat(fd).st_size, attempt(os.read, fd, 1), attempt(lambda: get(f"/proc/self/fd/{fd}"))
    os.close(fd)
    return answer


@probe
def executing():
    for name, bits in (("x", 0o755), ("n", 0o644), ("only", 0o711), ("user", 0o744)):
        put(name, b"#!/bin/sh\nexit 3\n", 0o600)
        os.chmod(name, bits)
    shutil.copy("/bin/true", "t711")
    os.chmod("t711", 0o711)
    shutil.copy("/bin/true", "t744")
    os.chmod("t744", 0o744)
    os.chmod(".", 0o755)

    def run(name):
        def call():
            return subprocess.call(["./" + name])
        return call
    return [(n, attempt(run(n)), as_user(1000, run(n))) for n in ("x", "n", "t711", "t744")]


@probe
def busy_text():
    shutil.copy("/bin/sleep", "s")
    p = subprocess.Popen(["./s", "10"])
    time.sleep(0.1)
    answer = attempt(os.open, "s", os.O_WRONLY)
    p.kill()
    p.wait()
    fd = os.open("s", os.O_WRONLY)
    blocked = attempt(subprocess.call, ["./s", "0"])
    os.close(fd)
    return answer, blocked


# --- data

@probe
def appends_interleave():
    fds = [os.open("f", os.O_WRONLY | os.O_CREAT | os.O_APPEND) for _ in range(3)]
    for i in range(30):
        os.write(fds[i % 3], b"%02d" % i)
    return get("f") == b"".join(b"%02d" % i for i in range(30)), [os.lseek(fd, 0, os.SEEK_CUR) for fd in fds], [os.close(f) for f in fds]


@probe
def appends_from_processes():
    children = []
    for c in range(4):
        pid = os.fork()
        if pid == 0:
            fd = os.open("f", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            for _ in range(200):
                os.write(fd, b"%d" % c * 10)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    data = get("f")
    return len(data), {len(set(data[i:i + 10])) for i in range(0, len(data), 10)}


@probe
def append_switched_on_and_off():
    put("f", b"0123456789")
    fd = os.open("f", os.O_RDWR)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    os.write(fd, b"end")
    fcntl.fcntl(fd, fcntl.F_SETFL, 0)
    os.pwrite(fd, b"X", 0)
    os.close(fd)
    return get("f")


@probe
def holes():
    fd = os.open("f", os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, b"x", 1 << 20)
    answer = (os.lseek(fd, 0, os.SEEK_HOLE), os.lseek(fd, 0, os.SEEK_DATA), attempt(os.lseek, fd, 2 << 20, os.SEEK_DATA),
              os.fstat(fd).st_size, os.fstat(fd).st_blocks < 100, os.pread(fd, 4, 100))
    os.close(fd)
    return answer


def fallocate(fd, how, offset, length):
    if libc.fallocate(fd, how, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


@probe
def allocating():
    fd = os.open("f", os.O_RDWR | os.O_CREAT)
    fallocate(fd, 0, 0, 100000)
    size = os.fstat(fd).st_size
    fallocate(fd, 1, 0, 300000)  # KEEP_SIZE
    kept = os.fstat(fd).st_size
    os.pwrite(fd, b"y" * 65536, 0)
    fallocate(fd, 3, 4096, 8192)  # PUNCH_HOLE | KEEP_SIZE
    answer = size, kept, os.pread(fd, 3, 4095), attempt(fallocate, fd, 0, 0, 0), os.lseek(fd, 0, os.SEEK_HOLE)
    os.close(fd)
    return answer


@probe
def truncating():
    put("f", b"0123456789")
    os.truncate("f", 4)
    a = get("f")
    os.truncate("f", 8)
    return a, get("f"), attempt(os.truncate, ".", 1), attempt(os.truncate, "no", 1), attempt(os.truncate, "f", -1)


@probe
def large_io():
    data = os.urandom(3 << 20)
    fd = os.open("f", os.O_RDWR | os.O_CREAT)
    n = os.write(fd, data)
    answer = n, os.pread(fd, 4 << 20, 0) == data, os.pread(fd, 10, 3 << 20), os.pread(fd, 100, (3 << 20) - 1) == data[-1:]
    os.close(fd)
    return answer


@probe
def direct_io():
    fd = attempt(os.open, "f", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    if isinstance(fd, str):
        return fd
    page = mmap.mmap(-1, 8192)
    page[:] = b"d" * 8192
    answer = attempt(os.pwritev, fd, [page], 0), attempt(os.preadv, fd, [page], 4096), os.fstat(fd).st_size
    odd = attempt(os.pread, fd, 100, 1)
    os.close(fd)
    return answer, odd


@probe
def wrong_directions():
    put("f")
    r, w = os.open("f", os.O_RDONLY), os.open("f", os.O_WRONLY)
    answer = attempt(os.write, r, b"x"), attempt(os.read, w, 1), attempt(os.ftruncate, r, 0)
    os.close(r)
    os.close(w)
    return answer


@probe
def copying_ranges():
    put("a", b"0123456789" * 1000)
    put("b", b"")
    a, b = os.open("a", os.O_RDONLY), os.open("b", os.O_WRONLY)
    n = os.copy_file_range(a, b, 5000, 10, 100)
    answer = n, os.stat("b").st_size, get("b")[100:110]
    os.close(a)
    os.close(b)
    return answer


@probe
def sendfile_and_vectors():
    put("a", b"abcdef" * 1000)
    a, b = os.open("a", os.O_RDONLY), os.open("b", os.O_RDWR | os.O_CREAT)
    n = os.sendfile(b, a, 6, 600)
    os.pwritev(b, [b"1", b"22", b"333"], 0)
    bufs = [bytearray(2), bytearray(4)]
    os.preadv(b, bufs, 0)
    return n, bytes(bufs[0] + bufs[1]), os.close(a), os.close(b)


@probe
def private_mapping():
    put("f", b"mapped" * 1000)
    with open("f", "rb") as f:
        m = mmap.mmap(f.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
        answer = m[:6], m[5994:]
        m.close()
    return answer


@probe
def shared_mapping():
    put("f", b"a" * 8192)
    fd = os.open("f", os.O_RDWR)
    m = attempt(mmap.mmap, fd, 8192)
    if isinstance(m, str):
        return m
    m[0:3] = b"map"
    m.flush()
    seen = os.pread(fd, 4, 0)
    os.pwrite(fd, b"write", 4096)
    answer = m[4096:4101]
    m.close()
    os.close(fd)
    return seen, answer, get("f")[:4]


@probe
def syncing():
    fd = os.open("f", os.O_RDWR | os.O_CREAT | os.O_SYNC)
    d = os.open(".", os.O_RDONLY)
    answer = os.write(fd, b"x"), os.fsync(fd), os.fdatasync(fd), os.fsync(d), os.close(d), os.close(fd)
    fd = os.open("g", os.O_RDWR | os.O_CREAT)
    answer += (attempt(os.pwritev, fd, [b"y"], 0, os.RWF_DSYNC), os.close(fd))
    return answer


@probe
def duplicates_share_position():
    fd = os.open("f", os.O_RDWR | os.O_CREAT)
    two = os.dup(fd)
    os.write(fd, b"abc")
    os.write(two, b"def")
    os.close(fd)
    os.lseek(two, 0, 0)
    return os.read(two, 10), os.close(two)


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
    done = attempt(fcntl.ioctl, fd, 0x40086602, struct.pack("q", 0x10))
    answer = attempt(os.open, "f", os.O_WRONLY), attempt(os.unlink, "f"), attempt(os.chmod, "f", 0o600)
    attempt(fcntl.ioctl, fd, 0x40086602, struct.pack("q", 0))
    os.close(fd)
    return done if isinstance(done, str) else "set", answer


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


# --- locks

def lock_record(kind, start=0, length=0):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


@probe
def posix_locks():
    put("f", b"0" * 100)
    fd = os.open("f", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX, 10, 0)
    fcntl.lockf(fd, fcntl.LOCK_SH, 10, 20)

    def other():
        o = os.open("f", os.O_RDWR)
        kind = lambda start: struct.unpack("hhqqi4x", fcntl.fcntl(o, fcntl.F_GETLK, lock_record(fcntl.F_WRLCK, start, 1)))[0]
        return (attempt(fcntl.lockf, o, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 0), attempt(fcntl.lockf, o, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 10),
                attempt(fcntl.lockf, o, fcntl.LOCK_SH | fcntl.LOCK_NB, 5, 20), attempt(fcntl.lockf, o, fcntl.LOCK_EX | fcntl.LOCK_NB, 5, 20),
                kind(0), kind(20), kind(50))
    first = as_user(0, other)
    fcntl.lockf(fd, fcntl.LOCK_UN, 10, 0)
    second = as_user(0, other)
    # Closing any descriptor of the file drops the process's locks.
    two = os.open("f", os.O_RDWR)
    os.close(two)
    third = as_user(0, other)
    os.close(fd)
    return first, second, third


@probe
def own_locks_do_not_conflict():
    put("f", b"0" * 100)
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    fcntl.lockf(a, fcntl.LOCK_EX, 10)
    answer = attempt(fcntl.lockf, b, fcntl.LOCK_EX | fcntl.LOCK_NB, 10)
    fcntl.lockf(a, fcntl.LOCK_SH, 5)
    return answer, os.close(a), os.close(b)


@probe
def lock_needs_the_right_mode():
    put("f")
    r, w = os.open("f", os.O_RDONLY), os.open("f", os.O_WRONLY)
    answer = attempt(fcntl.lockf, r, fcntl.LOCK_EX | fcntl.LOCK_NB), attempt(fcntl.lockf, w, fcntl.LOCK_SH | fcntl.LOCK_NB), attempt(
        fcntl.lockf, r, fcntl.LOCK_SH)
    os.close(r)
    os.close(w)
    return answer


@probe
def lock_waits():
    put("f")
    fd = os.open("f", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        o = os.open("f", os.O_RDWR)
        start = time.time()
        fcntl.lockf(o, fcntl.LOCK_EX)
        os.write(w, b"late" if time.time() - start > 0.2 else b"early")
        os._exit(0)
    time.sleep(0.4)
    fcntl.lockf(fd, fcntl.LOCK_UN)
    answer = os.read(r, 10)
    os.waitpid(pid, 0)
    os.close(fd)
    return answer


@probe
def lock_wait_is_interrupted():
    put("f")
    fd = os.open("f", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    answers = []
    for call in (lambda o: libc.fcntl(o, fcntl.F_SETLKW, lock_record(fcntl.F_WRLCK)), lambda o: libc.flock(o, fcntl.LOCK_EX)):
        holder = os.open("f", os.O_RDWR)
        fcntl.flock(holder, fcntl.LOCK_EX)
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, lambda *_: None)
            signal.siginterrupt(signal.SIGALRM, True)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            o = os.open("f", os.O_RDWR)
            result = call(o)
            os.write(w, repr((result, errno.errorcode.get(ctypes.get_errno()))).encode())
            os._exit(0)
        answers.append(os.read(r, 100))
        os.waitpid(pid, 0)
        os.close(holder)
    os.close(fd)
    return answers


@probe
def killed_waiter_leaves_nothing():
    put("f")
    fd = os.open("f", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    pid = os.fork()
    if pid == 0:
        o = os.open("f", os.O_RDWR)
        fcntl.lockf(o, fcntl.LOCK_EX)
        os._exit(0)
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    fcntl.lockf(fd, fcntl.LOCK_UN)
    time.sleep(0.2)
    answer = as_user(0, lambda: fcntl.lockf(os.open("f", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB))
    os.close(fd)
    return answer


@probe
def open_file_description_locks():
    put("f")
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    set_ofd = 37
    first = attempt(fcntl.fcntl, a, set_ofd, lock_record(fcntl.F_WRLCK))
    answer = attempt(fcntl.fcntl, b, set_ofd, lock_record(fcntl.F_WRLCK))
    os.close(a)
    after = attempt(fcntl.fcntl, b, set_ofd, lock_record(fcntl.F_WRLCK))
    os.close(b)
    return isinstance(first, bytes), answer, isinstance(after, bytes)


@probe
def whole_file_locks():
    put("f")
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDONLY)
    fcntl.flock(a, fcntl.LOCK_EX)
    one = attempt(fcntl.flock, b, fcntl.LOCK_SH | fcntl.LOCK_NB)
    fcntl.flock(a, fcntl.LOCK_SH)
    two = attempt(fcntl.flock, b, fcntl.LOCK_SH | fcntl.LOCK_NB), attempt(fcntl.flock, b, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(a)
    three = attempt(fcntl.flock, b, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(b)
    return one, two, three


@probe
def whole_file_lock_waits():
    put("f")
    a = os.open("f", os.O_RDWR)
    fcntl.flock(a, fcntl.LOCK_EX)
    b = os.open("f", os.O_RDWR)
    t, box = in_thread(lambda: fcntl.flock(b, fcntl.LOCK_EX))
    time.sleep(0.2)
    early = list(box)
    os.close(a)
    t.join(5)
    os.close(b)
    return early, box


def run_probes(directory):
    """{name: answer}"""
    answers = {}
    for function in PROBES:
        place = tempfile.mkdtemp(dir=directory)
        os.chdir(place)
        os.umask(0)
        try:
            answers[function.__name__] = repr(function())
        except OSError as e:
            answers[function.__name__] = f"probe failed: {e!r}"
        os.chdir("/")
    return answers


def main():
    if len(sys.argv) == 2:  # run by ourselves, beneath the shim
        for name, answer in run_probes(sys.argv[1]).items():
            print(f"{name}\t{answer}")
        return 0
    shim = os.path.join(os.environ["FSR_BUILD"], "shim/fsshim")
    scratch = tempfile.mkdtemp(prefix="fsshim-probes.")
    failed = 0
    try:
        os.chmod(scratch, 0o755)
        for kind in ("native", "shim"):
            os.mkdir(f"{scratch}/{kind}", 0o755)
        native = run_probes(f"{scratch}/native")
        run = subprocess.run([shim, "capture", f"{scratch}/shim", "-o", f"{scratch}/trace.zst", "--", sys.executable,
                              os.path.abspath(__file__), f"{scratch}/shim"], capture_output=True, text=True, check=False)
        shimmed = dict(line.split("\t", 1) for line in run.stdout.splitlines() if "\t" in line)
        for name, answer in native.items():
            if "probe failed" in answer:
                print(f"not ok - {name}: does not work without the shim: {answer}")
            elif shimmed.get(name) == answer:
                print(f"ok - {name}")
                continue
            else:
                print(f"not ok - {name}: native {answer}, shim {shimmed.get(name)}")
            failed += 1
        if run.returncode != 0:
            failed += 1
            print(f"not ok - capture: status {run.returncode}: {run.stderr}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
