#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mappings are the lower file's own: what others write, beneath the capture and beside it, is seen and kept; SQLite's databases
survive a capture that starts and ends while they are in use. What was first opened to be read is mapped visibly. Where mappings
are not the lower file's own, a capture stays mounted after its end for whoever may have some. Before Linux 6.9 they never are, and
the cases about them are left out (tests/vm/test)."""
import mmap
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from captures import Capture, connection_of, wait_until  # noqa: E402
from lower_fs import Cases, Scratch, fstrace_program, run, shim_program  # noqa: E402

ROWS = 150  # of each process, in each of three stretches
PAGE = 4096
KERNEL = tuple(int(number) for number in os.uname().release.split(".")[:2])
LOWER = KERNEL >= (6, 9)  # mappings can be the lower file's own
SHARED = "" if KERNEL >= (6, 6) else "-shm"  # ending of the names of files that can be mapped shared


def insert(path, who):
    """For each line on standard input inserts rows; says how many it has been told are in."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=off")
    for _ in sys.stdin:
        for i in range(ROWS):
            connection.execute("insert into t values (?, ?)", (who, i))
        print(ROWS, flush=True)


class Inserter:
    def __init__(self, path, who):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--insert", path, who], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def begin(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def done(self):
        return int(self.process.stdout.readline() or 0)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def stretch(*inserters):
    for one in inserters:
        one.begin()
    return sum(one.done() for one in inserters)


def new_database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("pragma journal_mode=wal")
        connection.execute("create table t (who text, i integer)")
    connection.close()


def rows_of(path):
    """How many there are, and what the integrity check says."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute("select count(*) from t").fetchone()[0], connection.execute("pragma integrity_check").fetchone()[0]
    except sqlite3.DatabaseError as e:
        return 0, str(e)
    finally:
        connection.close()


def database(cases, scratch, kind, directory):
    path, trace = f"{directory}/db", f"{scratch.path}/database-{kind}.zst"
    new_database(path)
    before = Inserter(path, "before")
    good = stretch(before)
    if not LOWER:
        done = subprocess.run([shim_program(), "capture", directory, "-o", trace, "--", "true"], capture_output=True, text=True, check=False)
        before.end()
        cases.case(f"{kind}: a capture is refused while SQLite is at work", done.returncode == 2 and "mapped shared and writable" in done.stderr, done)
        return
    capture = Capture(directory, trace)
    beneath = Inserter(path, "beneath")
    good += stretch(before, beneath)
    capture.process.terminate()
    good += stretch(before, beneath)
    before.end()
    beneath.end()
    status = capture.end()
    found, verdict = rows_of(path)
    cases.case(f"{kind}: SQLite before, beneath and after a capture", (good, verdict, status) == (found, "ok", 0) and good == 5 * ROWS,
               f"{good} rows inserted, {found} found, {verdict}, status {status}")


def pages(cases, kind, front, behind):
    """`behind` is the directory, `front` the same through a capture."""
    with open(f"{behind}/f{SHARED}", "wb") as f:
        f.write(bytes(2 * PAGE))
    fd, lower = os.open(f"{front}/f{SHARED}", os.O_RDWR), os.open(f"{behind}/f{SHARED}", os.O_RDWR)
    with mmap.mmap(fd, 2 * PAGE) as m:
        m[0] = 1
        os.pwrite(lower, b"\2", 1)
        if not kind.startswith("seen"):
            cases.case(f"{kind}: a mapping shows what was written beside the capture", m[1] == 2, m[1])
        m[2] = 3
        m.flush()
        os.pwrite(fd, b"\4", 3)
        cases.case(f"{kind}: a mapping shows what was written through the capture", m[3] == 4, m[3])
        said = os.pread(lower, 4, 0)
        cases.case(f"{kind}: a stored byte leaves the rest of its page alone", said == b"\1\2\3\4", said)

        def write():
            for i in range(4000):
                os.pwrite(fd, bytes([i % 250 + 1]), PAGE + 2 * (i % 2000))
        writer = threading.Thread(target=write)
        writer.start()
        for i in range(40000):
            m[PAGE + 1 + 2 * (i % 2000)] = i % 250 + 1
        writer.join()
        m.flush()
    said = os.pread(lower, 4000, PAGE)
    lost = sum(said[2 * i] != (i + 2000) % 250 + 1 for i in range(2000)) + sum(
        said[2 * i + 1] != (i + 38000) % 250 + 1 for i in range(2000))
    cases.case(f"{kind}: stores and writes on one page at the same time", lost == 0, f"{lost} bytes lost")
    os.close(fd)
    os.close(lower)


def modes(cases, kind, front):
    """Opens of every kind, by several threads on few files, each perhaps with a mapping."""
    failed = []

    def work(seed):
        for i in range(seed, seed + 400):
            how = (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC, os.O_RDWR | os.O_CREAT, os.O_RDONLY | os.O_CREAT)[i * 7 % 5]
            try:
                fd = os.open(f"{front}/modes{i * 3 % 4}", how)
                try:
                    if i % 2 == 0 and os.fstat(fd).st_size:
                        mmap.mmap(fd, 1, prot=mmap.PROT_READ, flags=(mmap.MAP_SHARED, mmap.MAP_PRIVATE)[i // 2 % 2]).close()
                    elif how & os.O_RDWR:
                        os.write(fd, b"x")
                finally:
                    os.close(fd)
            except ValueError:  # truncated since
                pass
            except OSError as e:
                failed.append(f"{i}: {e}")
    for i in range(4):
        with open(f"{front}/modes{i}", "wb") as f:
            f.write(b"x" * PAGE)
    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cases.case(f"{kind}: opens of each kind at the same time", not failed, f"{len(failed)}: {failed[:2]}")


def own_files(cases, scratch, kind, directory, behind):
    trace = f"{scratch.path}/pages-{kind}.zst"
    with open(f"{directory}/read first", "wb") as f:
        f.write(bytes(PAGE))
    capture = Capture(directory, trace)
    pages(cases, kind, directory, behind)
    modes(cases, kind, directory)
    fd = os.open(f"{directory}/read first", os.O_RDONLY)
    with mmap.mmap(fd, PAGE, prot=mmap.PROT_READ) as m:
        _ = m[0]
        os.close(os.open(f"{directory}/read first", os.O_RDWR))
    os.close(fd)
    status = capture.end()
    cases.case(f"{kind}: the capture ends well", status == 0, status)
    faults = [line for line in run(fstrace_program(), "dump", trace).splitlines() if " read read first" in line]
    cases.case(f"{kind}: page faults of a file that was opened to be read are seen", len(faults) == 1 and "kernel" in faults[0], faults)
    info = run(fstrace_program(), "info", trace)
    cases.case(f"{kind}: the header says what is seen of mappings", "mappings auto: page faults of mappings of files" in info, info[:1500])


def merged(cases, scratch, kind, directory, behind):
    """Where mappings go through FUSE, write-back changes what was stored, and nothing else."""
    capture = Capture(directory, f"{scratch.path}/merged-{kind}.zst", "--mappings", "seen")
    pages(cases, f"seen, {kind}", directory, behind)
    fd, lower = os.open(f"{directory}/f{SHARED}", os.O_RDWR), os.open(f"{behind}/f{SHARED}", os.O_RDWR)
    with mmap.mmap(fd, 2 * PAGE) as m:
        m[PAGE] = m[0] = 1
        os.ftruncate(fd, PAGE + 10)
        os.ftruncate(fd, 2 * PAGE)
        os.pwrite(lower, b"\7\7", PAGE + 20)
        m[PAGE + 20] = 8
        m.flush()
    said = os.pread(lower, 2, PAGE + 20)
    cases.case(f"seen, {kind}: a page that was truncated meanwhile", said == b"\10\7", said)
    os.close(fd)
    os.close(lower)
    status = capture.end()
    cases.case(f"seen, {kind}: the capture ends well", status == 0, status)


def database_at_the_stop(cases, scratch, directory):
    path = f"{directory}/db at the stop"
    new_database(path)
    capture = Capture(directory, f"{scratch.path}/at-the-stop.zst", "--mappings", "seen")
    beneath = Inserter(path, "beneath")
    good = stretch(beneath)
    run(shim_program(), "stop", directory)
    later = Inserter(path, "later")
    good += stretch(beneath, later)
    beneath.end()
    later.end()
    status = capture.process.wait(20)
    found, verdict = rows_of(path)
    cases.case("seen: SQLite by a process from before a stop and one from after it",
               (good, verdict, status) == (found, "ok", 0) and good == 3 * ROWS,
               f"{good} rows inserted, {found} found, {verdict}, status {status}")


def seen_to_the_end(cases, scratch, directory):
    """Where mappings differ, whoever opens a file anew while another process maps it must get the same pages."""
    trace, path = f"{scratch.path}/seen.zst", f"{directory}/seen{SHARED}"
    with open(path, "wb") as f:
        f.write(bytes(PAGE))
    capture = Capture(directory, trace, "--mappings", "seen")
    fd = os.open(path, os.O_RDWR)
    with mmap.mmap(fd, PAGE) as first:
        os.close(fd)
        first[0] = 1
        done = subprocess.run([shim_program(), "stop", directory], capture_output=True, text=True, check=False)
        said = f"still serving 1 process: {open('/proc/self/comm', encoding='utf-8').read().strip()} ({os.getpid()})"
        cases.case("seen: a stop names who has a file mapped", done.returncode == 0 and "stopped:" in done.stdout and said in done.stdout,
                   (done.returncode, done.stdout, done.stderr))
        run(fstrace_program(), "verify", trace)
        fd = os.open(path, os.O_RDWR)
        with mmap.mmap(fd, PAGE) as second:
            second[1] = 2
            first[2] = 3
            cases.case("seen: who maps it after the stop has the same pages", (first[1], second[2]) == (2, 3), (first[1], second[2]))
        os.close(fd)
    status = capture.process.wait(20)
    with open(path, "rb") as f:
        left = f.read(3)
    cases.case("seen: the capture ends with the last mapping, and nothing is lost", (status, left) == (0, b"\1\2\3"), (status, left))
    capture = Capture(directory, f"{scratch.path}/now.zst", "--mappings", "seen")
    fd = os.open(path, os.O_RDWR)
    done = subprocess.run([shim_program(), "stop", "--now", directory], capture_output=True, text=True, check=False)
    cases.case("stop --now cuts it off", (done.returncode, capture.process.wait(20), connection_of(directory)) == (0, 0, None), done)
    try:
        os.close(fd)
    except OSError:  # cut off
        pass


def refused(cases, scratch, directory):
    with open(f"{directory}/mapped{SHARED}", "w+b") as f:
        f.write(bytes(PAGE))
        f.flush()
        with mmap.mmap(f.fileno(), PAGE):
            command = [shim_program(), "capture", directory, "--mappings", "seen", "-o"]
            done = subprocess.run([*command, f"{scratch.path}/refused.zst", "--", "true"], capture_output=True, text=True, check=False)
            cases.case("a file that is mapped for writing: refused where mappings differ",
                       done.returncode == 2 and f"mapped shared and writable by {os.getpid()} " in done.stderr
                       and not os.path.exists(f"{scratch.path}/refused.zst"), (done.returncode, done.stderr))
            done = subprocess.run([*command, f"{scratch.path}/forced.zst", "--force", "--", "true"], capture_output=True, text=True,
                                  check=False)
            cases.case("the same with --force", done.returncode == 0, done.stderr)
            done = subprocess.run([shim_program(), "capture", directory, "-o", f"{scratch.path}/one.zst", "--", "true"],
                                  capture_output=True, text=True, check=False)
            cases.case("the same with default options", (done.returncode == 0) == LOWER, done.stderr)


def refused_inside(cases, scratch, directory):
    """An overlay inside a directory that is none: its mappings are seen, although those of the directory are not."""
    inside = f"{directory}/inside"
    for name in ("low", "up", "work"):
        os.mkdir(f"{directory}/{name}")
    os.mkdir(inside)
    run("mount", "-t", "overlay", "-o", f"lowerdir={directory}/low,upperdir={directory}/up,workdir={directory}/work", "none", inside)
    try:
        with open(f"{inside}/mapped", "w+b") as f:
            f.write(bytes(PAGE))
            f.flush()
            command = [shim_program(), "capture", directory, "-o", f"{scratch.path}/inside.zst"]
            with mmap.mmap(f.fileno(), PAGE):
                done = subprocess.run([*command, "--", "true"], capture_output=True, text=True, check=False)
                cases.case("a file that is mapped for writing, on an overlay inside: refused", done.returncode == 2 and
                           f"{os.getpid()} " in done.stderr and f"{inside} is on an overlay" in done.stderr, done)
                done = subprocess.run([*command, "--force", "--", "true"], capture_output=True, text=True, check=False)
                cases.case("the same with --force", done.returncode == 0, done.stderr)
    finally:
        run("umount", inside)


def main():
    cases = Cases()
    with Scratch() as scratch:
        for kind in ("tmpfs", "ext4"):
            directory, behind = scratch.mount(kind, size="128M"), f"{scratch.path}/behind-{kind}"
            os.mkdir(behind)
            run("mount", "--bind", directory, behind)
            run("mount", "--make-private", behind)
            if LOWER:
                own_files(cases, scratch, kind, directory, behind)
            database(cases, scratch, kind, directory)
            merged(cases, scratch, kind, directory, behind)
            if kind == "tmpfs":
                refused(cases, scratch, directory)
                if LOWER:
                    refused_inside(cases, scratch, directory)
                seen_to_the_end(cases, scratch, directory)
                database_at_the_stop(cases, scratch, directory)
            run("umount", behind)
    return cases.status()


if sys.argv[1:2] == ["--insert"]:
    insert(*sys.argv[2:4])
else:
    sys.exit(main())
