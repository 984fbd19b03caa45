# SPDX-License-Identifier: Apache-2.0
"""Access lists, capabilities and attribute limits; paths that lead astray."""
import ctypes
import errno
import os
import struct
import time

from probe_tools import *  # noqa: F403

NOBODY = 0xffffffff


def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)


@probe
def access_lists_are_inherited():
    os.mkdir("d")
    default = acl((1, 7, NOBODY), (2, 6, 1000), (4, 5, NOBODY), (16, 7, NOBODY), (32, 0, NOBODY))
    os.setxattr("d", "system.posix_acl_default", default)
    os.umask(0o077)
    os.mkdir("d/sub", 0o777)
    put("d/sub/f", mode=0o666)
    os.mkfifo("d/p", 0o640)
    os.umask(0)
    names = "d/sub", "d/sub/f", "d/p"
    return ([mode(n) for n in names], [attempt(os.getxattr, n, "system.posix_acl_access") for n in names],
            attempt(os.getxattr, "d/sub", "system.posix_acl_default") == default)


@probe
def access_lists_follow_the_mode():
    put("f")
    os.setxattr("f", "system.posix_acl_access", acl((1, 6, NOBODY), (2, 6, 1000), (4, 4, NOBODY), (16, 6, NOBODY), (32, 4, NOBODY)))
    os.chmod("f", 0o604)
    os.chmod(".", 0o755)
    masked = as_user(1000, lambda: get("f")), os.getxattr("f", "system.posix_acl_access")
    os.chmod("f", 0o664)
    after = as_user(1000, lambda: put("f"))
    os.removexattr("f", "system.posix_acl_access")
    return masked, after, mode("f"), as_user(1000, lambda: put("f")), attempt(os.getxattr, "f", "system.posix_acl_access")


@probe
def access_lists_are_checked():
    put("f")
    os.mkdir("d")
    os.chmod(".", 0o755)
    good = acl((1, 6, NOBODY), (4, 4, NOBODY), (32, 0, NOBODY))
    return (attempt(os.setxattr, "f", "system.posix_acl_access", b"x"), attempt(os.setxattr, "f", "system.posix_acl_access", good[:-8]),
            attempt(os.setxattr, "f", "system.posix_acl_default", good), as_user(1000, lambda: os.setxattr("f", "system.posix_acl_access", good)),
            attempt(os.setxattr, "f", "system.posix_acl_access", good), mode("f"))


@probe
def access_list_of_a_group():
    put("f", b"secret", 0o600)
    os.chmod(".", 0o755)
    os.setxattr("f", "system.posix_acl_access", acl((1, 6, NOBODY), (4, 0, NOBODY), (8, 4, 7000), (16, 4, NOBODY), (32, 0, NOBODY)))
    return as_user(1000, lambda: get("f")), as_user(1000, lambda: get("f"), groups=[7000]), as_user(1000, lambda: get("f"), gid=7000)


@probe
def access_lists_and_new_group_owner():
    os.mkdir("d")
    os.chown("d", 0, 4000)
    os.chmod("d", 0o2770)
    os.setxattr("d", "system.posix_acl_default", acl((1, 7, NOBODY), (4, 7, NOBODY), (32, 0, NOBODY)))
    os.chmod(".", 0o755)

    def make():
        put("d/f", mode=0o666)
        os.mkdir("d/s", 0o777)
    return as_user(1000, make, groups=[4000]), [(owner(n), mode(n)) for n in ("d/f", "d/s")]


@probe
def capabilities_are_lost_by_writing():
    put("f", mode=0o755)
    capability = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)
    done = attempt(os.setxattr, "f", "security.capability", capability)
    there = attempt(os.getxattr, "f", "security.capability")
    os.chmod(".", 0o755)
    os.chmod("f", 0o777)
    as_user(1000, lambda: os.close(os.open("f", os.O_WRONLY)))
    kept = attempt(os.getxattr, "f", "security.capability") == there
    written = as_user(1000, lambda: put("f", b"new"))
    return done, there, kept, written, attempt(os.getxattr, "f", "security.capability")


@probe
def capabilities_are_lost_by_a_new_owner():
    put("f", mode=0o755)
    os.setxattr("f", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0))
    os.chown("f", 1000, 1000)
    os.chmod("f", 0o6755)
    os.chown("f", 1001, -1)
    return attempt(os.getxattr, "f", "security.capability"), mode("f")


@probe
def attribute_limits():
    put("f")
    return (attempt(os.setxattr, "f", "user." + "n" * 250, b"x"), attempt(os.setxattr, "f", "user." + "n" * 251, b"x"),
            attempt(os.setxattr, "f", "user.big", b"v" * 65537), attempt(os.setxattr, "f", "user.", b"x"), attempt(os.setxattr, "f", "", b"x"),
            attempt(os.getxattr, "f", "user." + "n" * 251), attempt(os.setxattr, "no", "user.a", b""))


@probe
def attribute_lists():
    put("f")
    for i in range(20):
        os.setxattr("f", f"user.name{i}", b"%d" % i)
    small = ctypes.create_string_buffer(10)
    os.setxattr("f", "trusted.t", b"1")
    os.chmod(".", 0o755)
    return (sorted(os.listxattr("f")), libc.listxattr(b"f", small, 10), ctypes.get_errno(), libc.listxattr(b"f", None, 0),
            as_user(1000, lambda: len(os.listxattr("f"))), as_user(1000, lambda: os.getxattr("f", "trusted.t")))


@probe
def attributes_of_open_and_removed_files():
    put("f")
    fd = os.open("f", os.O_RDWR)
    os.unlink("f")
    return attempt(os.setxattr, fd, "user.a", b"1"), attempt(os.getxattr, fd, "user.a"), os.close(fd)


@probe
def limits_of_time():
    put("f")
    answers = []
    for when in (-1, -10**9, 2**31, 2**32, 2**34 - 1, 2**35):
        os.utime("f", (when, when))
        answers.append((os.stat("f").st_mtime_ns, os.stat("f").st_atime_ns))
    return answers


@probe
def times_move_as_they_should():
    put("f", b"abc")
    os.mkdir("d")

    def moved(name, action):
        os.utime(name, (1000, 1000))
        before = os.stat(name).st_ctime_ns
        time.sleep(0.012)
        action()
        s = os.stat(name)
        return s.st_atime_ns != 10**12, s.st_mtime_ns != 10**12, s.st_ctime_ns != before
    fd = os.open("f", os.O_RDWR)
    return [moved("f", lambda: get("f")), moved("f", lambda: os.pwrite(fd, b"x", 0)), moved("f", lambda: os.truncate("f", 3)),
            moved("f", lambda: os.ftruncate(fd, 1)), moved("f", lambda: os.link("f", "g")), moved("f", lambda: os.rename("g", "h")),
            moved("f", lambda: os.setxattr("f", "user.a", b"")), moved("d", lambda: put("d/x")), moved("d", lambda: os.listdir("d")),
            moved("d", lambda: put("d/x", b"longer")), moved("d", lambda: os.unlink("d/x"))]


@probe
def not_touching_the_access_time():
    put("f", b"abc")
    os.utime("f", (1000, 2000))
    fd = os.open("f", os.O_RDONLY | os.O_NOATIME)
    os.read(fd, 1)
    os.chmod(".", 0o755)
    return os.stat("f").st_atime_ns, as_user(1000, lambda: os.open("f", os.O_RDONLY | os.O_NOATIME))


@probe
def directories_count_their_children():
    before = os.stat(".").st_nlink
    for i in range(5):
        os.mkdir(f"d{i}")
    full = os.stat(".").st_nlink
    os.rename("d0", "d1/d0")
    os.rmdir("d2")
    return full - before, os.stat(".").st_nlink - before, os.stat("d1").st_nlink


@probe
def names_of_every_byte():
    for i in range(1, 256):
        if i != ord("/") and i != ord("."):
            put(bytes([i]), bytes([i]))
    names = sorted(os.listdir(b"."))
    return len(names), all(get(n) == n for n in names), [os.unlink(n) for n in names].count(None)


@probe
def dots_and_slashes():
    os.mkdir("d")
    put("f")
    return (attempt(os.rmdir, "."), attempt(os.rmdir, "d/."), attempt(os.rmdir, "d/.."), attempt(os.rename, ".", "x"), attempt(os.rename, "d", "d/.."),
            attempt(os.mkdir, "e/"), attempt(os.rename, "f", "g/"), attempt(os.stat, "f/"), attempt(os.unlink, "d/"), attempt(os.rmdir, "d/"),
            attempt(os.mkdir, ""), attempt(os.open, "new/", os.O_CREAT | os.O_WRONLY), attempt(os.mkdir, ".."))


@probe
def paths_longer_than_any_argument():
    top = os.getcwd()
    for _ in range(40):
        os.mkdir("n" * 200)
        os.chdir("n" * 200)
    put("deep", b"down here")
    answer = get("deep"), attempt(os.getcwd) == "ENAMETOOLONG" or len(os.getcwd()) > 8000
    os.chdir(top)
    return answer, attempt(os.stat, "/".join(["n" * 200] * 40))


@probe
def working_directory_removed():
    os.mkdir("d")
    os.chdir("d")
    os.rmdir("../d")
    return attempt(os.getcwd), os.listdir("."), attempt(put, "f"), attempt(os.mkdir, "e"), attempt(os.stat, ".") != "ENOENT", attempt(os.stat, "..") != "ENOENT"


@probe
def resolving_with_rules():
    os.mkdir("d")
    put("d/f")
    os.symlink("d", "l")
    os.symlink("../../../..", "up")
    here = os.open(".", os.O_PATH)

    def open2(path, resolve):
        how = struct.pack("QQQ", os.O_RDONLY, 0, resolve)
        fd = libc.syscall(437, here, path, how, 24)
        while fd < 0 and ctypes.get_errno() == errno.EAGAIN:  # something was renamed or mounted elsewhere while ".." was looked up: openat2(2)
            fd = libc.syscall(437, here, path, how, 24)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "openat2")
        os.close(fd)
    no_xdev, no_symlinks, beneath, in_root = 1, 4, 8, 16
    return [attempt(open2, p, r) for p, r in ((b"d/f", beneath), (b"../x", beneath), (b"l/f", no_symlinks), (b"l/f", beneath), (b"up", beneath),
                                              (b"up", in_root), (b"d/f", no_xdev))]


@probe
def directory_descriptors():
    os.mkdir("d", 0o700)
    fd = os.open("d", os.O_RDONLY)
    os.fchmod(fd, 0o750)
    os.fchown(fd, 5, 6)
    os.utime(fd, ns=(7, 8))
    os.setxattr(fd, "user.d", b"1")
    put("d/x")
    os.rename("d", "e")
    f = os.open("x", os.O_RDONLY, dir_fd=fd)
    os.mkdir("sub", dir_fd=fd)
    return mode("e"), owner("e"), os.stat("e").st_atime_ns, os.getxattr("e", "user.d"), os.read(f, 5), sorted(os.listdir("e")), os.fsync(fd), attempt(os.ftruncate, fd, 0)


@probe
def reopening_through_proc():
    put("f", b"data", 0o644)
    path = os.open("f", os.O_PATH)
    w = os.open(f"/proc/self/fd/{path}", os.O_WRONLY | os.O_APPEND)
    os.write(w, b" more")
    os.unlink("f")
    again = os.open(f"/proc/self/fd/{w}", os.O_RDWR | os.O_TRUNC)
    return os.fstat(again).st_size, os.readlink(f"/proc/self/fd/{again}").endswith(" (deleted)"), os.write(again, b"z"), os.fstat(path).st_size


@probe
def many_hard_links():
    put("f")
    for i in range(300):
        os.link("f", f"l{i}")
    a = os.stat("f").st_nlink, len({os.stat(f"l{i}").st_ino for i in range(300)})
    for i in range(0, 300, 2):
        os.unlink(f"l{i}")
    return a, os.stat("l1").st_nlink


@probe
def making_nodes():
    os.chmod(".", 0o777)
    os.mknod("r", 0o100644)
    return (mode("r"), attempt(os.mknod, "r", 0o100644), as_user(1000, lambda: os.mknod("c", 0o20666, os.makedev(1, 3))),
            as_user(1000, lambda: os.mknod("u", 0o100600)), as_user(1000, lambda: os.mkfifo("p")), attempt(os.mknod, "x", 0o40755),
            owner("u"), attempt(os.open, "r", os.O_RDONLY | os.O_DIRECTORY))


@probe
def whiteouts():
    put("f")
    flags = 4
    done = libc.renameat2(-100, b"f", -100, b"g", flags), ctypes.get_errno() if not os.path.exists("g") else 0
    return done, sorted((n, mode(n)) for n in os.listdir("."))


@probe
def opening_to_truncate():
    put("f", b"data", 0o666)
    os.chmod(".", 0o755)
    answer = os.close(os.open("f", os.O_RDONLY | os.O_TRUNC)), os.stat("f").st_size
    put("g", b"data", 0o444)
    return answer, as_user(1000, lambda: os.open("g", os.O_RDONLY | os.O_TRUNC)), as_user(1000, lambda: os.open("f", os.O_WRONLY | os.O_TRUNC | os.O_APPEND)) != ""


@probe
def real_and_effective_user():
    put("f", mode=0o600)
    os.chown("f", 1000, 1000)
    os.chmod(".", 0o755)

    def child():
        os.setegid(0)
        os.setresuid(1000, 0, 0)
        mine = os.access("f", os.R_OK), os.access("f", os.R_OK, effective_ids=True)
        os.chmod("f", 0)
        return mine, os.access("f", os.R_OK), os.access("f", os.R_OK, effective_ids=True)
    return as_user(0, child)


@probe
def supplementary_groups():
    os.chmod(".", 0o755)
    put("f", b"x", 0o640)
    os.chown("f", 0, 4100)
    many = list(range(5000, 5060))
    return (as_user(1000, lambda: get("f")), as_user(1000, lambda: get("f"), groups=many), as_user(1000, lambda: get("f"), groups=[*many, 4100]),
            as_user(1000, lambda: os.chown("f", -1, 4100), groups=[4100]))
