# SPDX-License-Identifier: Apache-2.0
"""Calls on open files that not every file system answers alike: allocation, copying, handles, flags, times, notification."""
import ctypes
import fcntl
import mmap
import os
import resource
import signal
import struct
import time

from probe_tools import *  # noqa: F403


def opened(name, flags=os.O_RDWR | os.O_CREAT, data=b""):
    fd = os.open(name, flags, 0o644)
    if data:
        os.pwrite(fd, data, 0)
    return fd


@probe
def zeroing_ranges():
    fd = opened("f", data=b"y" * 65536)
    zero, keep = 0x10, 1
    first = attempt(fallocate, fd, zero, 4096, 8192)
    data = os.pread(fd, 2, 4095), os.pread(fd, 2, 12287)
    return first, data, attempt(fallocate, fd, zero | keep, 60000, 70000), os.fstat(fd).st_size, attempt(fallocate, fd, 2, 0, 10)


@probe
def allocation_is_refused_where_it_should_be():
    fd, r = opened("f", data=b"x"), os.open("f", os.O_RDONLY)
    return (attempt(fallocate, r, 0, 0, 10), attempt(fallocate, fd, 0, -1, 10), attempt(fallocate, fd, 0, 0, -1),
            attempt(fallocate, fd, 0, 1 << 62, 1 << 62), attempt(fallocate, os.open(".", os.O_RDONLY), 0, 0, 10))


@probe
def collapsing_and_inserting_ranges():
    fd = opened("f", data=b"a" * 4096 + b"b" * 4096 + b"c" * 4096)
    return attempt(fallocate, fd, 8, 0, 4096), attempt(fallocate, fd, 0x20, 4096, 4096), os.fstat(fd).st_size


@probe
def extents():
    a, b = opened("a", data=b"a" * 8192), opened("b")
    os.fsync(a)
    word = bytearray(struct.pack("QQIIII", 0, 1 << 20, 0, 0, 0, 0))
    # FS_IOC_FIEMAP, counting only, and FICLONE.
    return attempt(fcntl.ioctl, a, 0xC020660B, word), attempt(fcntl.ioctl, b, 0x40049409, a), get("b")[:2]


@probe
def file_system_type():
    word = ctypes.create_string_buffer(120)
    libc.statfs(b".", word)
    return hex(struct.unpack("q", word.raw[:8])[0])


@probe
def not_waiting_reads():
    fd = opened("f", data=b"data")
    return attempt(os.preadv, fd, [bytearray(4)], 0, os.RWF_NOWAIT)


@probe
def islands_in_a_hole():
    fd = opened("f")
    for i in range(4):
        os.pwrite(fd, b"x" * 65536, (2 * i + 1) * (1 << 20))
    os.ftruncate(fd, 10 << 20)
    seen, at = [], 0
    while True:
        data = attempt(os.lseek, fd, at, os.SEEK_DATA)
        if isinstance(data, str):
            return seen, data
        at = os.lseek(fd, data, os.SEEK_HOLE)
        seen.append((data, at))


@probe
def copying_within_and_beyond():
    fd = opened("f", data=b"0123456789" * 1000)
    out = opened("g")
    ap = os.open("h", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    r = os.open("f", os.O_RDONLY)
    answer = (attempt(os.copy_file_range, fd, fd, 100, 0, 50), attempt(os.copy_file_range, fd, fd, 5000, 0, 9000),
              attempt(os.copy_file_range, fd, out, 100, 10000, 0), attempt(os.copy_file_range, fd, out, 100000, 9000, 0),
              attempt(os.copy_file_range, fd, ap, 10, 0), attempt(os.copy_file_range, fd, r, 10, 0, 0),
              attempt(os.copy_file_range, os.open(".", os.O_RDONLY), out, 10))
    os.lseek(fd, 10, 0)
    return answer, os.copy_file_range(fd, out, 20), os.lseek(fd, 0, 1), os.lseek(out, 0, 1), get("f")[9050:9055], len(get("g"))


@probe
def copying_large_ranges():
    data = os.urandom(5 << 20)
    a, b, done = opened("a", data=data), opened("b"), 0
    while done < len(data):
        done += os.copy_file_range(a, b, len(data) - done, done, done)
    return get("b") == data


@probe
def offset_of_a_positioned_append():
    fd = os.open("f", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    return os.write(fd, b"one"), os.pwrite(fd, b"two", 0), get("f"), os.lseek(fd, 0, 1), os.pread(fd, 3, 0), os.lseek(fd, 0, 1)


@probe
def append_flag_of_one_write():
    fd = opened("f", data=b"12345")
    return attempt(os.pwritev, fd, [b"678"], 0, os.RWF_APPEND), get("f"), os.lseek(fd, 0, 1)


@probe
def far_offsets():
    fd = opened("f")
    answer = [attempt(os.pwrite, fd, b"x", 1 << shift) for shift in (31, 32, 40)], os.fstat(fd).st_size
    os.ftruncate(fd, 0)
    return (answer, attempt(os.pread, fd, 1, -1), attempt(os.pread, fd, 1, (1 << 63) - 1), attempt(os.lseek, fd, -1, 0),
            attempt(os.lseek, fd, 0, 9))


@probe
def nothing_read_or_written():
    fd = opened("f", data=b"x")
    os.utime("f", ns=(5, 5))
    answer = os.read(fd, 0), os.write(fd, b""), os.stat("f").st_mtime_ns, os.pwrite(fd, b"", 100), os.stat("f").st_size
    d = os.open(".", os.O_RDONLY)
    return answer, attempt(os.read, d, 10), attempt(os.pread, d, 10, 0), attempt(os.write, d, b"x")


@probe
def file_size_limit():
    def child():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        fd = opened("f")
        return os.write(fd, b"x" * 2000), attempt(os.write, fd, b"x"), attempt(os.ftruncate, fd, 2000), attempt(fallocate, fd, 0, 0, 2000)
    return as_user(0, child), os.stat("f").st_size


@probe
def direct_io_alignment():
    fd = attempt(os.open, "f", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    if isinstance(fd, str):
        return fd
    page = mmap.mmap(-1, 8192)
    os.pwritev(fd, [page], 0)
    return (attempt(os.pwritev, fd, [memoryview(page)[:100]], 0), attempt(os.pwritev, fd, [page], 100),
            attempt(os.preadv, fd, [memoryview(page)[:4096]], 1 << 20), os.fstat(fd).st_size)


@probe
def direct_switched_on_and_off():
    fd = opened("f", data=b"x" * 4096)
    answer = attempt(fcntl.fcntl, fd, fcntl.F_SETFL, os.O_DIRECT), bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT)
    page = mmap.mmap(-1, 4096)
    page[:] = b"d" * 4096
    return answer, attempt(os.pwritev, fd, [page], 4096), attempt(fcntl.fcntl, fd, fcntl.F_SETFL, 0), os.pwrite(fd, b"u", 1), get("f")[:3]


@probe
def pipes_into_files():
    r, w = os.pipe()
    os.write(w, b"through a pipe")
    fd = opened("f")
    return os.splice(r, fd, 100, offset_dst=10), get("f")[8:], os.splice(fd, w, 4, offset_src=10), os.read(r, 10)


@probe
def advice_and_flushing():
    fd = opened("f", data=b"x" * 100000)
    libc.sync_file_range.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_long, ctypes.c_uint]
    libc.readahead.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_size_t]
    return ([attempt(os.posix_fadvise, fd, 0, 50000, advice) for advice in range(6)], libc.sync_file_range(fd, 0, 4096, 7), libc.syncfs(fd),
            libc.readahead(fd, 0, 4096), os.pread(fd, 1, 0))


def name_it(fd, name):
    result = libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, os.fsencode(name), 0x400)  # AT_SYMLINK_FOLLOW
    return result, ctypes.get_errno() if result != 0 else 0


@probe
def unnamed_files():
    tmpfile = 0o20200000
    fd = attempt(os.open, ".", tmpfile | os.O_RDWR, 0o640)
    if isinstance(fd, str):
        return fd
    os.write(fd, b"unnamed")
    before = os.listdir("."), os.fstat(fd).st_nlink, oct(os.fstat(fd).st_mode)
    linked = name_it(fd, "named")
    other = os.open(".", tmpfile | os.O_WRONLY | os.O_EXCL, 0o600)
    kept = name_it(other, "never")
    os.close(fd)
    os.close(other)
    return before, linked, get("named"), os.stat("named").st_nlink, kept, attempt(os.open, "no", tmpfile | os.O_RDWR), os.listdir(".")


@probe
def unnamed_files_of_users():
    os.chmod(".", 0o777)
    os.umask(0o022)

    def make():
        fd = os.open(".", 0o20200000 | os.O_RDWR, 0o666)
        s = os.fstat(fd)
        return s.st_uid, s.st_gid, oct(s.st_mode)
    answer = as_user(1000, make)
    os.chmod(".", 0o755)
    return answer, as_user(1000, make)


def handle_of(name):
    buffer = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, os.fsencode(name), buffer, ctypes.byref(mount), 0) != 0:
        raise OSError(ctypes.get_errno(), "name_to_handle_at")
    return buffer


def open_handle(at, buffer):
    fd = libc.open_by_handle_at(at, buffer, os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open_by_handle_at")
    with os.fdopen(fd, "rb") as file:
        return file.read()


@probe
def file_handles():
    put("f", b"by handle")
    here = os.open(".", os.O_RDONLY)
    handle = handle_of("f")
    same = handle.raw == handle_of("f").raw
    os.rename("f", "g")
    return same, handle.raw == handle_of("g").raw, attempt(open_handle, here, handle), attempt(handle_of, "no")


@probe
def file_handles_do_not_come_back():
    here = os.open(".", os.O_RDONLY)
    handles = []
    for i in range(300):
        put(f"f{i % 3}")
        handles.append(handle_of(f"f{i % 3}"))
        os.unlink(f"f{i % 3}")
    put("g")
    return len({handle.raw for handle in handles}), {attempt(open_handle, here, handle) for handle in handles}


def statx(name):
    """(mask, birth time in ns, attributes)"""
    buffer = ctypes.create_string_buffer(256)
    if libc.statx(-100, os.fsencode(name), 0x100, 0xfff, buffer) != 0:
        raise OSError(ctypes.get_errno(), "statx")
    seconds, nanoseconds = struct.unpack_from("qI", buffer.raw, 80)
    return struct.unpack_from("I", buffer.raw)[0] & 0xfff, seconds * 10**9 + nanoseconds, buffer


@probe
def birth_time():
    put("f")
    mask, born, _ = statx("f")
    time.sleep(0.02)
    put("f", b"again")
    os.rename("f", "g")
    put("h")
    os.mkdir("d")
    os.symlink("x", "l")
    return hex(mask), statx("g")[1] == born, abs(born / 1e9 - time.time()) < 10, statx("h")[1] > born, [hex(statx(n)[0]) for n in "dl"]


@probe
def all_of_statx():
    put("f", b"x" * 1234)
    _, _, buffer = statx("f")
    s = os.stat("f")
    mask, blksize, _, nlink, uid, gid, mode = struct.unpack_from("IIQIIIH", buffer.raw)
    ino, size, blocks = struct.unpack_from("QQQ", buffer.raw, 32)
    return (blksize == s.st_blksize, nlink, uid, gid, oct(mode), ino == s.st_ino, size, blocks == s.st_blocks, bool(mask),
            struct.unpack_from("qI", buffer.raw, 112) == divmod(s.st_mtime_ns, 10**9))


@probe
def append_only_file():
    fd = opened("f", data=b"old")
    done = set_inode_flag(fd, 0x20)
    ap = attempt(os.open, "f", os.O_WRONLY | os.O_APPEND)
    answer = (attempt(os.open, "f", os.O_WRONLY), attempt(os.truncate, "f", 0), attempt(os.unlink, "f"), attempt(os.link, "f", "g"),
              attempt(os.write, ap, b"new") if isinstance(ap, int) else ap)
    attempt(fcntl.ioctl, fd, 0x40086602, struct.pack("q", 0))
    return done, answer, get("f")


@probe
def flags_of_directories_and_users():
    os.mkdir("d")
    fd = os.open("d", os.O_RDONLY)
    word = bytearray(8)
    answer = attempt(fcntl.ioctl, fd, 0x80086601, word), attempt(fcntl.ioctl, fd, 0x40086602, struct.pack("q", word[0] | 0x40))
    os.chmod(".", 0o755)
    put("f")

    def user():
        f = os.open("f", os.O_RDONLY)
        return attempt(fcntl.ioctl, f, 0x40086602, struct.pack("q", 0x40)), isinstance(attempt(fcntl.ioctl, f, 0x80086601, bytearray(8)), str)
    return [a if isinstance(a, str) else "done" for a in answer], as_user(1000, user)


@probe
def extended_flags():
    fd = opened("f")
    word = bytearray(28)
    got = attempt(fcntl.ioctl, fd, 0x801C581F, word)  # FS_IOC_FSGETXATTR
    if isinstance(got, str):
        return got
    word[0] |= 0x80  # NODUMP
    done = attempt(fcntl.ioctl, fd, 0x401C5820, bytes(word))
    attempt(fcntl.ioctl, fd, 0x801C581F, word)
    return done if isinstance(done, str) else "set", bool(word[0] & 0x80)


@probe
def generation_number():
    fd = opened("f")
    word = bytearray(8)
    a = attempt(fcntl.ioctl, fd, 0x80087601, word)
    return a if isinstance(a, str) else "answered"


@probe
def size_of_a_file_in_other_words():
    fd = opened("f", data=b"x" * 100)
    os.lseek(fd, 30, 0)
    word = bytearray(4)
    return attempt(fcntl.ioctl, fd, 0x541B, word), word[0], attempt(fcntl.ioctl, fd, 2, bytearray(4))  # FIONREAD, FIGETBSZ


@probe
def leases():
    put("f")
    r = os.open("f", os.O_RDONLY)
    answer = attempt(fcntl.fcntl, r, fcntl.F_SETLEASE, fcntl.F_RDLCK), fcntl.fcntl(r, fcntl.F_GETLEASE)
    fcntl.fcntl(r, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    os.close(r)
    return answer


@probe
def watching_a_directory():
    watcher = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(watcher, b".", 0xfff)
    put("f")
    os.rename("f", "g")
    os.mkdir("d")
    os.unlink("g")
    data, events = os.read(watcher, 8192), []
    while data:
        mask, _, length = struct.unpack_from("4xIII", data)
        events.append((hex(mask), data[16:16 + length].rstrip(b"\0")))
        data = data[16 + length:]
    os.close(watcher)
    return events
