# SPDX-License-Identifier: Apache-2.0
"""Mappings, and how they agree with reads, writes and other processes."""
import fcntl
import mmap
import os
import shutil
import signal
import subprocess
import time

from probe_tools import *  # noqa: F403


def in_child(function):
    """Its answer, or the name of the signal that ended it."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(w, repr(attempt(function)).encode())
        os._exit(0)
    os.close(w)
    answer = os.read(r, 10000).decode()
    os.close(r)
    status = os.waitpid(pid, 0)[1]
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else answer


def mapped(name, size, prot=mmap.PROT_READ | mmap.PROT_WRITE, flags=mmap.MAP_SHARED, how=os.O_RDWR):
    fd = os.open(name, how)
    try:
        return mmap.mmap(fd, size, prot=prot, flags=flags)
    finally:
        os.close(fd)


@probe
def mapping_is_shared_between_processes():
    put("f", b"\0" * 8192)
    m = mapped("f", 8192)

    def child():
        n = mapped("f", 8192)
        n[5000:5005] = b"child"
        return n[0:1]
    answer = in_child(child)
    return answer, m[5000:5005]


@probe
def mapping_sees_writes_of_others():
    put("f", b"a" * 8192)
    m = mapped("f", 8192, prot=mmap.PROT_READ)
    before = m[4096:4099]
    in_child(lambda: put_at("f", 4096, b"new"))
    return before, m[4096:4099]


def put_at(name, offset, data):
    fd = os.open(name, os.O_WRONLY)
    os.pwrite(fd, data, offset)
    os.close(fd)


@probe
def reads_see_what_others_mapped():
    put("f", b"a" * 8192)

    def child():
        m = mapped("f", 8192)
        m[100:103] = b"map"
        m.flush()
    in_child(child)
    return get("f")[99:104]


@probe
def private_mapping_stays_private():
    put("f", b"a" * 4096)
    m = mapped("f", 4096, flags=mmap.MAP_PRIVATE)
    m[0:3] = b"own"
    return m[0:4], get("f")[0:4]


@probe
def mapping_ends_with_the_file():
    put("f", b"a" * 100)
    m = mapped("f", 100)
    fd = os.open("f", os.O_RDWR)

    def beyond():
        import ctypes
        libc.mmap.restype = ctypes.c_void_p
        at = libc.mmap(None, ctypes.c_size_t(8192), 1, 1, fd, ctypes.c_long(0))
        return ctypes.string_at(at + 99, 2), ctypes.string_at(at + 4096, 1)
    return m[99:100], in_child(beyond), os.close(fd)


@probe
def truncation_takes_mapped_pages():
    put("f", b"a" * 8192)

    def child():
        m = mapped("f", 8192)
        first = m[4096:4097]
        os.truncate("f", 100)
        return first, m[0:1], m[4096:4097]
    return in_child(child), os.stat("f").st_size


@probe
def mapped_holes_are_filled():
    fd = os.open("f", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 1 << 20)
    m = mmap.mmap(fd, 1 << 20)
    m[500_000:500_004] = b"data"
    m.flush()
    os.fsync(fd)
    answer = os.pread(fd, 6, 499_999), 0 < os.fstat(fd).st_blocks < 200
    m.close()
    os.close(fd)
    return answer


@probe
def mapped_writes_change_the_time():
    put("f", b"a" * 4096)
    os.utime("f", ns=(1, 1))
    m = mapped("f", 4096)
    m[0:1] = b"b"
    m.flush()
    m.close()
    return abs(os.stat("f").st_mtime - time.time()) < 10


@probe
def mapping_needs_the_right_mode():
    put("f", b"a" * 4096)
    return (attempt(lambda: mapped("f", 4096, how=os.O_RDONLY)), attempt(lambda: mapped("f", 4096, how=os.O_WRONLY)),
            isinstance(attempt(lambda: mapped("f", 4096, prot=mmap.PROT_READ, how=os.O_RDONLY)), mmap.mmap),
            isinstance(attempt(lambda: mapped("f", 4096, flags=mmap.MAP_PRIVATE, how=os.O_RDONLY)), mmap.mmap))


@probe
def mapping_outlives_descriptor_and_name():
    put("f", b"a" * 4096)
    m = mapped("f", 4096)
    os.unlink("f")
    m[10:14] = b"kept"
    m.flush()
    return m[9:15]


@probe
def programs_run_with_their_libraries():
    shutil.copy("/bin/ls", "ls")
    library = next(line.split()[2] for line in subprocess.check_output(["ldd", "/bin/ls"], text=True).splitlines() if "libc.so" in line)
    shutil.copy(library, "libc.so.6")
    put("f")
    return subprocess.check_output(["./ls", "f"], env={"LD_LIBRARY_PATH": "."})


@probe
def direct_reads_see_mapped_writes():
    put("f", b"a" * 8192)
    m = mapped("f", 8192)
    m[0:3] = b"map"
    m.flush()
    fd = attempt(os.open, "f", os.O_RDWR | os.O_DIRECT)
    if isinstance(fd, str):
        return fd
    page = mmap.mmap(-1, 4096)
    os.preadv(fd, [page], 0)
    page[0:4096] = b"d" * 4096
    os.pwritev(fd, [page], 4096)
    os.close(fd)
    return page[0:1], m[0:4], m[4096:4098]


# --- what writes a mapping back: any descriptor that can write, whatever its flags are by now

FLAGS = {"plain": 0, "append": os.O_APPEND, "direct": os.O_DIRECT, "both": os.O_APPEND | os.O_DIRECT}


def changed_through(prepare, size=6000):
    """What a file holds after 5 bytes were changed by a mapping. `prepare`: open descriptors, of which the first is mapped, and what
    to do after that."""
    put("f", b"a" * size)
    fds, later = prepare()
    m = mmap.mmap(fds[0], size)
    later()
    m[5000:5005] = b"first"
    m.flush()
    m[5100:5105] = b"after"
    m.close()
    answer = [attempt(os.fsync, fd) for fd in fds]
    for fd in fds:
        os.close(fd)
    data = get("f")
    os.unlink("f")
    return answer, len(data), data[5000:5005], data[5100:5105], data.count(b"a")


@probe
def mappings_of_descriptors_with_flags():
    return [changed_through(lambda how=how: ([os.open("f", os.O_RDWR | how)], lambda: None)) for how in FLAGS.values()]


@probe
def mappings_of_descriptors_that_got_flags():
    answers = []
    for first in FLAGS.values():
        for then in FLAGS.values():
            for before in (False, True):
                def prepare(first=first, then=then, before=before):
                    fd = os.open("f", os.O_RDWR | first)

                    def switch():
                        fcntl.fcntl(fd, fcntl.F_SETFL, then)
                        if not then & os.O_DIRECT:
                            os.pread(fd, 1, 0)
                    if before:
                        switch()
                    return [fd], (lambda: None) if before else switch
                answers.append(changed_through(prepare))
    return answers


@probe
def mappings_beside_descriptors_with_flags():
    answers = []
    for first in FLAGS.values():
        for how in (os.O_RDWR, os.O_WRONLY):
            for second in FLAGS.values():
                answers.append(changed_through(lambda: ([os.open("f", os.O_RDWR | first), os.open("f", how | second)], lambda: None)))
    return answers


@probe
def mapping_of_a_file_that_cannot_be_opened_any_more():
    answers = []
    for how in FLAGS.values():
        put("f", b"a" * 6000)
        fd = os.open("f", os.O_RDWR | how)
        os.chmod("f", 0)
        os.unlink("f")
        m = mmap.mmap(fd, 6000)
        m[5000:5005] = b"first"
        m.flush()
        fcntl.fcntl(fd, fcntl.F_SETFL, 0)
        answers.append((os.fstat(fd).st_size, os.pread(fd, 6, 4999)))
        m.close()
        os.close(fd)
    return answers


@probe
def mapped_writes_keep_set_id_bits():
    put("f", b"a" * 4096)
    os.chown("f", 1000, 1000)
    os.chmod(".", 0o777)

    def user():
        m = mapped("f", 4096)
        m[0:1] = b"b"
        os.write(ready, b".")
        os.read(go, 1)
        m.flush()
    came, ready = os.pipe()
    go, tell = os.pipe()
    thread, box = in_thread(lambda: as_user(1000, user))
    os.read(came, 1)
    os.chmod("f", 0o6755)
    os.write(tell, b".")
    thread.join()
    return box, mode("f"), get("f")[:2]
