#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that halt or die in the middle of what they do: frozen, dumping core into the directory, waiting for a page fault that
somebody has to serve. They keep nobody from working.

usage: shim_halts.py             all of it
       shim_halts.py --in WHAT   one of the programs below, in the captured directory (what the former runs)
"""
import ctypes
import fcntl
import mmap
import os
import re
import resource
import struct
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness"]
from captures import PATIENCE, Capture, wait_until  # noqa: E402
from cgroups import ControlGroup  # noqa: E402
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program  # noqa: E402

CORE_PATTERN = "/proc/sys/kernel/core_pattern"
MARK = b"mapped from the directory "
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


def called(result):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def pages(fd, size, flags=mmap.MAP_SHARED):
    """Address of a mapping none of whose pages is there yet."""
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0)
    assert address != ctypes.c_void_p(-1).value
    return address


def write_file(name, data):
    with open(name, "wb") as f:
        f.write(data)


def read_file(name):
    with open(name, "rb") as f:
        return f.read()


def worker():
    """Four processes at work with files, locks, mappings and programs, until "end" exists; then their results are looked at."""
    def loop(step):
        with open(f"{step.__name__}.file", "w+b", buffering=0) as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            f.write(bytes(4096))
            rounds = 0
            while not os.path.exists("end"):
                rounds += 1
                step(f, rounds)
        os._exit(0)

    def rewrite(f, n):
        block = b"%8d" % n * 512
        os.pwrite(f.fileno(), block, 0)
        assert os.pread(f.fileno(), 4096, 0) == block
        os.fsync(f.fileno())

    def remap(f, n):
        with mmap.mmap(f.fileno(), 4096) as m:
            m[:8] = b"%8d" % n
            m.flush()
        assert os.pread(f.fileno(), 8, 0) == b"%8d" % n

    def rename(_, n):
        write_file("a", b"a")
        os.rename("a", f"b{n % 7}")

    subprocess._USE_VFORK = False  # a freezer of version 1 now and then waits for ever for a parent that waits for its vfork(2)

    def execute(_, __):
        assert subprocess.run(["true"], close_fds=False, check=False).returncode == 0

    children = []
    for step in (rewrite, remap, rename, execute):
        pid = os.fork()
        if pid == 0:
            loop(step)
        children.append(pid)
    print(flush=True)
    assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)


def dies_with_core():
    """Eight threads at work, and a mapping of a captured file that belongs to the core."""
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with open("/proc/self/coredump_filter", "w", encoding="ascii") as f:
        f.write("0x7f")
    with open("mapped", "w+b", buffering=0) as f:
        f.truncate(1 << 20)
        m = mmap.mmap(f.fileno(), 0)
        m[:len(MARK) * 100] = MARK * 100
        write_file("address", str(ctypes.addressof(ctypes.c_char.from_buffer(m))).encode())

        def work(i):
            while True:
                write_file(f"w{i}", b"x")
                os.stat(f"w{i}")
        for i in range(8):
            threading.Thread(target=work, args=(i,), daemon=True).start()
        time.sleep(0.1)
        os.abort()


def core():
    pid = os.fork()
    if pid == 0:
        dies_with_core()
    status = os.waitpid(pid, 0)[1]
    assert os.WCOREDUMP(status), status
    data = read_file(next(name for name in os.listdir(".") if name.startswith("core")))
    # The last segment of the ELF file ends where the file ends: all of it was written.
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    mapped = int(read_file("address"))
    ends, dumped = [], None
    for i in range(count):
        position, address, _, length = struct.unpack_from("<QQQQ", data, offset + i * size + 8)
        ends.append(position + length)
        if address <= mapped < address + length:
            begin = position + mapped - address
            dumped = data[begin:begin + len(MARK) * 100]
    assert max(ends) == len(data), (ends, len(data))
    assert dumped == MARK * 100, (dumped or b"")[:100]


def faults():
    """Arguments of calls lie in mapped files of the directory, whose pages are read and written while the call goes on."""
    write_file("names", b"one\0".ljust(4096, b"\0") + b"two\0".ljust(4096, b"\0") + b"user.name\0".ljust(4096, b"\0"))
    write_file("one", b"")

    def fresh(name, flags=mmap.MAP_SHARED):
        """None of its pages is in the kernel's cache either."""
        fd = os.open(name, os.O_RDWR)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        address = pages(fd, 1 << 20, flags)
        os.close(fd)
        return address

    at_cwd = -100
    for flags in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
        names = fresh("names", flags)
        called(libc.access(ctypes.c_void_p(names), 0))
        called(libc.renameat(at_cwd, ctypes.c_void_p(names), at_cwd, ctypes.c_void_p(names + 4096)))
        called(libc.renameat(at_cwd, ctypes.c_void_p(names + 4096), at_cwd, ctypes.c_void_p(names)))
        called(libc.setxattr(ctypes.c_void_p(fresh("names", flags)), ctypes.c_void_p(fresh("names", flags) + 8192),
                             ctypes.c_void_p(fresh("names", flags) + 3000), ctypes.c_size_t(2000), 0))
    assert os.getxattr("one", "user.name") == read_file("names")[3000:5000]
    # Data from and to a mapping: of another file, and of the very file.
    write_file("data", os.urandom(1 << 20))
    for source, target in (("data", "copy"), ("data", "data")):
        before = read_file("data")
        write_file(target, before)
        fd = os.open(target, os.O_RDWR)
        for offset in (0, 512 << 10):
            left = 512 << 10
            while left > 0:
                n = called(libc.pwrite(fd, ctypes.c_void_p(fresh(source) + offset), ctypes.c_size_t(left), ctypes.c_long(offset)))
                offset, left = offset + n, left - n
        assert read_file(target) == before
        buffer = fresh(source)
        assert called(libc.pread(fd, ctypes.c_void_p(buffer), ctypes.c_size_t(1 << 20), ctypes.c_long(0))) == 1 << 20
        called(libc.msync(ctypes.c_void_p(buffer), ctypes.c_size_t(1 << 20), 4))
        assert read_file(source) == before
        os.close(fd)
    program = pages(os.open("names", os.O_RDWR), 1 << 20)
    os.symlink("/bin/true", "two")
    pid = os.fork()
    if pid == 0:
        arguments = (ctypes.c_void_p * 3)(program + 4096, program, None)
        libc.execv(ctypes.c_void_p(program + 4096), arguments)
        os._exit(9)
    assert os.waitpid(pid, 0)[1] == 0


class HeldPages:
    """Memory whose page faults wait until they are served (userfaultfd)."""
    API, REGISTER, COPY = 0xc018aa3f, 0xc020aa00, 0xc028aa03

    def __init__(self, count):
        self.count = count
        self.address = pages(-1, count * 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.fd = called(libc.syscall(323, os.O_CLOEXEC))
        fcntl.ioctl(self.fd, self.API, struct.pack("<QQQ", 0xaa, 0, 0))
        fcntl.ioctl(self.fd, self.REGISTER, struct.pack("<QQQQ", self.address, count * 4096, 1, 0))

    def wait(self):
        """For the next fault; the address of its page."""
        return struct.unpack_from("<Q", os.read(self.fd, 32), 16)[0] & ~4095

    def serve(self, page, data):
        source = ctypes.create_string_buffer(data.ljust(4096, b"\0") + bytes(4096), 8192)
        fcntl.ioctl(self.fd, self.COPY, struct.pack("<QQQQq", page, ctypes.addressof(source), 4096, 0, 0))


def held_fault():
    """Calls that wait for pages of their arguments, while others work with the same directory and, but for its lock, file."""
    write_file("other", b"x")
    write_file("f", b"f" * 8192)
    fd = os.open("f", os.O_RDWR)

    def others():
        child = subprocess.run(["sh", "-c", "stat f other >/dev/null && echo y >other && mv other o && mv o other && cat other >/dev/null &&"
                                f" ls >/dev/null && {shim_program()} list >/dev/null"], timeout=PATIENCE, check=False)
        return child.returncode == 0

    calls = {
        "write": lambda at: libc.pwrite(fd, at, ctypes.c_size_t(8192), ctypes.c_long(0)),
        "read": lambda at: libc.pread(fd, at, ctypes.c_size_t(8192), ctypes.c_long(0)),
        "path": lambda at: libc.access(at, 0),
        "set value": lambda at: libc.setxattr(b"f", b"user.x", at, ctypes.c_size_t(2000), 0),
        "get value": lambda at: libc.getxattr(b"f", b"user.x", at, ctypes.c_size_t(2000)),
    }
    expected = {"write": 8192, "read": 8192, "path": 0, "set value": 0, "get value": 2000}
    for name, call in calls.items():
        held, answers = HeldPages(2), []
        start = held.address + (3000 if "value" in name else 0)
        thread = threading.Thread(target=lambda: answers.append(called(call(ctypes.c_void_p(start)))), daemon=True)
        thread.start()
        while True:
            page = held.wait()
            assert others(), name
            held.serve(page, b"f\0" if name == "path" else b"w" * 4096)
            if page != held.address or name == "path":
                break
        thread.join(PATIENCE)
        assert answers == [expected[name]], (name, answers)
    assert read_file("f") == b"w" * 8192


PROGRAMS = {p.__name__: p for p in (core, faults, held_fault, worker)}
ME = [sys.executable, os.path.abspath(__file__), "--in"]


def frozen(cases, group, capture, which):
    """A group of processes that is frozen wherever they are."""
    group_of_files = [f"{capture.directory}/{name}.file" for name in ("rewrite", "remap", "rename", "execute")]
    with group:
        process = subprocess.Popen(group.command(*ME, "worker"), cwd=capture.directory, stdout=subprocess.PIPE)
        process.stdout.readline()
        wait_until(lambda: all(os.path.exists(f) for f in group_of_files))
        wrong = ""
        for _ in range(3):
            time.sleep(0.1)
            group.freeze(True)
            wait_until(group.frozen)
            for name in group_of_files:
                with open(name, "rb") as f:
                    try:
                        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        wrong = f"{name} is not locked any more"
                    except BlockingIOError:
                        pass
            wrong = wrong or capture.runs("sh", "-c", f"echo x >x && mv x y && cat y *.file >/dev/null && ls -l && {shim_program()} list")
            group.freeze(False)
        cases.case(f"clients frozen ({which}) keep their locks and hold up nobody", not wrong, wrong)
        write_file(f"{capture.directory}/end", b"")
        cases.case(f"they go on ({which})", process.wait(PATIENCE) == 0)
    os.unlink(f"{capture.directory}/end")


def container(scratch, name, last):
    """What verify says of the trace of a container with a capture and a client at work, whose first process does `last`."""
    place, trace = f"{scratch.path}/{name}", f"{scratch.path}/{name}.zst"
    os.mkdir(place)
    client = "i=0; while i=$((i + 1)); do echo $i >>log; done"
    script = f"{shim_program()} capture --background {place} -o {trace}; cd {place}; sh -c '{client}' & cd /; sleep 1; {last}"
    subprocess.run(["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child", "sh", "-ec", script], timeout=PATIENCE, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return subprocess.run([fstrace_program(), "verify", trace], stdout=subprocess.PIPE, text=True, check=False)


def containers(cases, scratch):
    # As systemd does it: SIGTERM for all, then SIGKILL for those that are left.
    told = container(scratch, "shut-down", "trap '' TERM; kill -TERM -1; sleep 1; kill -KILL -1")
    cases.case("a container that is shut down leaves a complete trace", told.returncode == 0, told.stdout)
    told = container(scratch, "killed", "exit")
    kept = re.search(r"([\d,]+) operations in", told.stdout)
    cases.case("one that is killed leaves what was recorded until then", "truncated: closing statement missing" in told.stdout and kept and
               int(kept[1].replace(",", "")) > 20, told.stdout)


def main():
    if len(sys.argv) > 2:
        PROGRAMS[sys.argv[2]]()
        return 0
    cases = Cases()
    with Scratch() as scratch, open(CORE_PATTERN, "r+", encoding="ascii", buffering=1) as pattern:
        lower, trace = f"{scratch.mount('xfs', '512M')}/d", f"{scratch.path}/t.zst"
        os.mkdir(lower)
        capture = Capture(lower, trace)
        frozen(cases, ControlGroup(scratch, None), capture, "version 2")
        if os.path.isdir("/sys/fs/cgroup/freezer"):
            frozen(cases, ControlGroup(scratch, "freezer"), capture, "version 1")
        before = pattern.read()
        pattern.write("core")
        try:
            why = capture.runs(*ME, "core")
        finally:
            pattern.write(before)
        cases.case("a core is dumped into the directory", not why, why)
        why = capture.runs(*ME, "faults")
        cases.case("arguments in mapped files of the directory", not why, why)
        why = capture.runs(*ME, "held_fault")
        cases.case("arguments whose page faults wait", not why, why)
        containers(cases, scratch)
        cases.case("the capture ends", capture.end() == 0)
        cases.case("its trace is complete", subprocess.run([fstrace_program(), "verify", trace], check=False).returncode == 0)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
