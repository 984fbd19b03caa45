# SPDX-License-Identifier: Apache-2.0
"""Names, directories and opening."""
import ctypes
import os
import shutil
import socket
import stat
import subprocess
import time

from probe_tools import *  # noqa: F403


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
    long = [attempt(os.symlink, "q" * length, f"long{length}") or len(os.readlink(f"long{length}")) for length in (1000, 4095, 4096)]
    return os.readlink("s"), os.lstat("s").st_size, attempt(os.stat, "s2"), attempt(os.symlink, "a", "s"), long


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
