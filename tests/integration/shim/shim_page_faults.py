#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is read and stored through mappings that are the underlying files' own is recorded, by pages, in its place in the trace; what
others do with the same files beside the capture is not. A replay makes the same file of it."""
import ctypes
import json
import mmap
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from captures import LOW_LIMIT, Capture  # noqa: E402
from live_runs import clean  # noqa: E402
from lower_fs import built, Cases, Scratch, fstrace_program, run  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
PAGE = 4096
SIZE = 100 * PAGE + 100
ROWS = """select op, offset, length, coalesce(handle, 0) <> 0, kernel, pid, command, error from ops
          where op in ('read', 'write', 'release') and path like '%touched' order by seq"""

CLOSINGS = 200
LATE = """select count(*) filter (where o.seq > r.seq), count(nullif(o.handle, 0)), count(*) from ops o left join
            (select handle, seq from ops where op = 'release') r using (handle)
          where o.op in ('read', 'write') and o.kernel and o.path like '%closing'"""


def mapped(fd, flags):
    """The address; mmap.mmap() would keep a descriptor."""
    address = LIBC.mmap(None, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, flags, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return address


def touch(path):
    """Stores and reads, at first with the file open, then without; then a child that has never opened it."""
    fd = os.open(path, os.O_RDWR)
    os.ftruncate(fd, SIZE)
    shared, private = mapped(fd, mmap.MAP_SHARED), mapped(fd, mmap.MAP_PRIVATE)
    ctypes.memset(shared + 3 * PAGE + 5, 1, 1)
    ctypes.memset(shared + 40 * PAGE, 2, 2 * PAGE)
    os.close(fd)
    time.sleep(0.1)  # for the release
    ctypes.memset(shared + SIZE - 1, 3, 1)
    ctypes.memset(private + 50 * PAGE, 9, 1)
    if os.fork() == 0:
        ctypes.memset(shared + 60 * PAGE, 4, 1)
        os._exit(0)
    os.wait()
    ctypes.string_at(shared + 80 * PAGE, 1)


def beside(path):
    fd = os.open(path, os.O_RDWR)
    shared = mapped(fd, mmap.MAP_SHARED)
    ctypes.memset(shared + 25 * PAGE, 5, 1)
    ctypes.string_at(shared + 20 * PAGE, 1)


def closing(path):
    """Stores into pages while the file's open instance is being released; every second page, as neighbours become one operation."""
    with open(path, "wb") as file:
        file.truncate(SIZE)
    for _ in range(CLOSINGS):
        fd = os.open(path, os.O_RDWR)
        shared = mapped(fd, mmap.MAP_SHARED)
        os.close(fd)
        for page in range(0, SIZE // PAGE, 2):
            ctypes.memset(shared + page * PAGE, 1, 1)
        LIBC.munmap(ctypes.c_void_p(shared), ctypes.c_size_t(SIZE))


def joined(rows):
    """Rows in which stores into neighbouring pages are one, as they are unless the machine stood still between them."""
    result = []
    for row in rows:
        last = result[-1] if result else []
        if row[0] == "write" and last[:1] == ["write"] and last[3:] == row[3:] and int(last[1]) + int(last[2]) == int(row[1]):
            last[2] = str(int(last[2]) + int(row[2]))
        else:
            result.append(row)
    return result


def by_itself(what, path):
    return subprocess.run([sys.executable, os.path.abspath(__file__), what, path], check=False).returncode


def recorded(cases, scratch, kind):
    directory, behind, trace = scratch.mount(kind), f"{scratch.path}/behind-{kind}", f"{scratch.path}/{kind}.zst"
    os.mkdir(behind)
    run("mount", "--bind", directory, behind)
    run("mount", "--make-private", behind)
    capture = Capture(directory, trace)
    with open(f"{directory}/touched", "wb"):
        pass
    statuses = (by_itself("--touch", f"{directory}/touched"), by_itself("--beside", f"{behind}/touched"),
                by_itself("--closing", f"{directory}/closing"), capture.end())
    cases.case(f"{kind}: all end well", statuses == (0, 0, 0, 0), statuses)
    late, named, stores = run(fstrace_program(), "sql", "--csv", trace, LATE).splitlines()[1].split(",")
    cases.case(f"{kind}: no access names an open instance after its release", late == "0" and int(stores) > CLOSINGS,
               f"{late} of {named} do, among {stores}")
    rows = joined([row.split(",") for row in run(fstrace_program(), "sql", "--csv", trace, ROWS).splitlines()[1:]])
    stores = [(int(row[1]), int(row[2])) for row in rows if row[0] == "write"]
    cases.case(f"{kind}: stores are writes of their pages, not beyond the end of the file",
               stores == [(3 * PAGE, PAGE), (40 * PAGE, 2 * PAGE), (100 * PAGE, 100), (60 * PAGE, PAGE)], stores)
    faults = [row for row in rows if row[0] != "release"]
    cases.case(f"{kind}: they are the kernel's", {(row[4], row[7]) for row in faults} == {("1", "")}, faults)
    reads = [range(int(row[1]), int(row[1]) + int(row[2])) for row in rows if row[0] == "read"]
    cases.case(f"{kind}: a page that was read", any(80 * PAGE in read for read in reads), reads)
    cases.case(f"{kind}: a store into a private mapping is a read", any(50 * PAGE in read for read in reads), reads)
    cases.case(f"{kind}: what others did is not recorded", not any(20 * PAGE in read for read in reads), reads)
    writes = [row for row in rows if row[0] == "write"]
    cases.case(f"{kind}: the open instance is named until it is closed", [row[3] for row in writes] == ["1", "1", "0", "0"], writes)
    order = [row[0] for row in rows if row[0] != "read"]
    cases.case(f"{kind}: they are in their places", order == ["release", "write", "write", "release", "write", "write"], order)
    cases.case(f"{kind}: each is its process's", len({row[5] for row in writes}) == 2 and writes[-1][5] != writes[0][5] and
               len({row[6] for row in faults}) == 1, faults)
    info = run(fstrace_program(), "info", trace)
    cases.case(f"{kind}: the header says so", "page faults of mappings of files that were first opened for writing as reads" in info, info)
    replayed = subprocess.run([built("replay/fsreplay"), trace,
                               f"{scratch.path}/replayed-{kind}", "--timing", "asap", "--json", "-q"], capture_output=True, text=True, check=False)
    size = os.stat(f"{scratch.path}/replayed-{kind}/touched").st_size if clean(json.loads(replayed.stdout or "{}")) else None
    cases.case(f"{kind}: a replay writes and reads the same", size == SIZE, (replayed.returncode, replayed.stdout[-1500:], replayed.stderr))
    run("umount", behind)
    return int(named)


def many_files(cases, scratch):
    """Files that were mapped and closed take few descriptors."""
    directory = scratch.mount("tmpfs", name="many")
    capture = Capture(directory, f"{scratch.path}/many.zst", prefix=LOW_LIMIT)
    failed = None
    try:
        for i in range(1500):
            with open(f"{directory}/{i}", "w+b") as f:
                f.truncate(PAGE)
                with mmap.mmap(f.fileno(), PAGE) as m:
                    m[0] = 1
    except OSError as e:
        failed = e
    status = capture.end()
    cases.case("1,500 files are mapped, one after the other, with 1,024 descriptors", failed is None and status == 0, (failed, status))


def main():
    cases = Cases()
    with Scratch() as scratch:
        # Whether a store comes before the release is a matter of time on one file system.
        named = [recorded(cases, scratch, kind) for kind in ("tmpfs", "ext4", "xfs", "btrfs")]
        cases.case("accesses name open instances that are being released", sum(named) > 0, named)
        many_files(cases, scratch)
    return cases.status()


if sys.argv[1:2] == ["--touch"]:
    touch(sys.argv[2])
elif sys.argv[1:2] == ["--closing"]:
    closing(sys.argv[2])
elif sys.argv[1:2] == ["--beside"]:
    beside(sys.argv[2])
else:
    sys.exit(main())
