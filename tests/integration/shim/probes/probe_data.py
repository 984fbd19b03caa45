# SPDX-License-Identifier: Apache-2.0
"""Reading, writing, mapping."""
import fcntl
import mmap
import os

from probe_tools import *  # noqa: F403


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


# --- flags that change while a file is open

@probe
def direct_switched_off():
    put("f", b"0123456789")
    fd = os.open("f", os.O_RDWR | os.O_DIRECT)
    fcntl.fcntl(fd, fcntl.F_SETFL, 0)
    answer = attempt(os.pread, fd, 5, 3), attempt(os.pwrite, fd, b"XY", 1), attempt(os.pread, fd, 5, 0)
    os.close(fd)
    return answer, get("f")


@probe
def direct_switched_on():
    put("f", b"a" * 8192)
    fd = os.open("f", os.O_RDWR)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_DIRECT)
    page = mmap.mmap(-1, 4096)
    page[:] = b"d" * 4096
    answer = attempt(os.preadv, fd, [page], 4096), page[:2], attempt(os.pwritev, fd, [page], 0)
    odd = attempt(os.pread, fd, 100, 1)
    fcntl.fcntl(fd, fcntl.F_SETFL, 0)
    return answer, odd, attempt(os.pwrite, fd, b"odd", 1), os.close(fd), get("f")[:5], len(get("f"))


@probe
def appending_directly():
    put("f", b"a" * 4096)
    page = mmap.mmap(-1, 4096)
    page[:] = b"d" * 4096
    fd = os.open("f", os.O_WRONLY | os.O_APPEND | os.O_DIRECT)
    answer = attempt(os.writev, fd, [page]), os.lseek(fd, 0, os.SEEK_CUR), attempt(os.pwritev, fd, [page], 0)
    # A file's position may stand anywhere, and be set back without a request.
    os.ftruncate(fd, 9000)
    answer += os.lseek(fd, 0, os.SEEK_HOLE), os.ftruncate(fd, 8192), os.lseek(fd, 0, os.SEEK_SET), attempt(os.writev, fd, [page])
    return answer, os.close(fd), get("f").count(b"d"), len(get("f"))


@probe
def copying_after_flags_were_cleared():
    put("a", b"0123456789" * 1000)
    answers = []
    for source, target in ((0, os.O_APPEND), (os.O_DIRECT, 0), (0, os.O_DIRECT), (os.O_DIRECT, os.O_APPEND | os.O_DIRECT)):
        put("b", b"b" * 20)
        a, b = os.open("a", os.O_RDONLY | source), os.open("b", os.O_RDWR | target)
        refused = attempt(os.copy_file_range, a, b, 10, 5, 3) if target & os.O_APPEND else None
        for fd in (a, b):
            fcntl.fcntl(fd, fcntl.F_SETFL, 0)
        answers.append((refused, attempt(os.copy_file_range, a, b, 10, 5, 3), os.close(a), os.close(b), get("b")))
    return answers


@probe
def append_only_files():
    put("f", b"0123456789")
    fd = os.open("f", os.O_RDWR)
    if set_inode_flag(fd, 0x20) != "set":
        os.close(fd)
        return "not here"
    refused = attempt(os.open, "f", os.O_WRONLY), attempt(os.open, "f", os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
    log = os.open("f", os.O_RDWR | os.O_APPEND)
    answer = os.write(log, b"end"), os.lseek(log, 0, os.SEEK_CUR), os.pwrite(log, b"!", 0), attempt(os.ftruncate, log, 1), get("f")
    os.close(log)
    word = bytearray(8)
    fcntl.ioctl(fd, 0x80086601, word)
    fcntl.ioctl(fd, 0x40086602, bytes([word[0] & ~0x20]) + bytes(word[1:]))
    os.close(fd)
    return refused, answer


# --- several writers

def mixed_rounds(how, size, rounds):
    """How often a file holds parts of both when two write the whole of it at once."""
    put("f", b"-" * size)
    mixed = 0
    for _ in range(rounds):
        go, tell = os.pipe()
        children = []
        for letter in b"ab":
            pid = os.fork()
            if pid == 0:
                page = mmap.mmap(-1, size)
                page[:] = bytes([letter]) * size
                fd = os.open("f", os.O_WRONLY | how)
                os.close(tell)
                os.read(go, 1)
                os._exit(0 if os.pwritev(fd, [page], 0) == size else 1)
            children.append(pid)
        os.close(go)
        os.close(tell)
        done = [os.waitpid(pid, 0)[1] for pid in children]
        mixed += done != [0, 0] or len(set(get("f"))) != 1
    return mixed


@probe
def large_writes_do_not_mix():
    return mixed_rounds(0, 4 << 20, 30)
