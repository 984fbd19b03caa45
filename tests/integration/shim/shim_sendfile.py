#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sendfile(2) where mappings are the lower file's own: it sends what was changed, by whatever way, a moment later; it reads a file that
nobody can change only now and then; nobody waits for the process that drops pages, nor for a capture that was killed."""
import mmap
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from captures import PATIENCE, Capture, connection_of, wait_until  # noqa: E402
from lower_fs import Cases, Scratch, fstrace_program, run  # noqa: E402

PAGE = 4096


def sent(fd, to):
    """The first byte of `fd`, as sendfile(2) reads it."""
    os.lseek(to, 0, os.SEEK_SET)
    os.sendfile(to, fd, 0, PAGE)
    return os.pread(to, 1, 0)


def send(path, to):
    """Sends a file until that fails."""
    fd, target = os.open(path, os.O_RDWR), os.open(to, os.O_WRONLY)
    print("sends", flush=True)
    while True:
        os.sendfile(target, fd, 0, 1 << 20)


def dropper_of(capture):
    """The process among the capture's own that has the device open."""
    with open(f"/proc/{capture}/task/{capture}/children", encoding="ascii") as f:
        children = f.read().split()
    return next(int(pid) for pid in children if any(os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/fuse" for fd in os.listdir(f"/proc/{pid}/fd")))


def sendfile(cases, scratch, directory):
    with open(f"{directory}/sent", "wb") as f:
        f.write(bytes(64 * PAGE))
    trace = f"{scratch.path}/sendfile.zst"
    capture = Capture(directory, trace)
    fd, to = os.open(f"{directory}/sent", os.O_RDWR), os.open(f"{scratch.path}/sent", os.O_RDWR | os.O_CREAT)
    with mmap.mmap(fd, PAGE) as m:
        for value in b"\1\2\3":
            m[0] = value
            try:
                wait_until(lambda: sent(fd, to) == bytes([value]))  # pylint: disable=cell-var-from-loop
                cases.case(f"sendfile sends what was stored through a mapping, {value}", True)
            except RuntimeError:
                cases.case(f"sendfile sends what was stored through a mapping, {value}", False, "never")
    os.close(fd)
    os.close(to)
    status = capture.end()
    dump = [line for line in run(fstrace_program(), "dump", trace).splitlines() if " read sent" in line]
    cases.case("reads of sendfile are recorded as the kernel's", status == 0 and len(dump) >= 3 and all("kernel" in line for line in dump),
               (status, dump[:3]))
    for number, how in ((signal.SIGKILL, "killed"), (signal.SIGSTOP, "stopped")):
        capture = Capture(directory, f"{scratch.path}/helper-{how}.zst")
        os.kill(dropper_of(capture.process.pid), number)
        with open(f"{directory}/sent", "r+b") as source, open(f"{scratch.path}/sent", "wb") as target:
            sends = [os.sendfile(target.fileno(), source.fileno(), 0, PAGE) for _ in range(100)]
        capture.process.terminate()
        try:
            status = capture.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            status = "it does not end"
            capture.process.kill()
            capture.process.wait()
        cases.case(f"the process that drops pages is {how}: nobody waits for it", status == 0 and set(sends) == {PAGE}, status)
    # The kernel is told to drop pages all the time, and waits for those that are being read.
    left = []
    for i in range(8):
        capture = Capture(directory, f"{scratch.path}/killed-{i}.zst")
        senders = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "--send", f"{directory}/sent", "/dev/null"],
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(4)]
        for sender in senders:
            sender.stdout.readline()
        time.sleep(0.02 * i)
        capture.process.kill()
        capture.process.wait()
        try:
            for sender in senders:
                sender.kill()  # pages that are there can be sent without the capture
                sender.wait(PATIENCE)
            wait_until(lambda: connection_of(directory) is None)
        except (subprocess.TimeoutExpired, RuntimeError) as e:
            left.append(e)
            capture.abort()
            for sender in senders:
                sender.wait()
        for sender in senders:
            sender.stdout.close()
    cases.case("a capture that is killed amid sendfile leaves nobody waiting", not left, left)


def hung_read(cases, scratch, directory):
    """The kernel drops the pages of a file only after those that are being read have come; those of other files meanwhile."""
    hung, images = f"{directory}/hung", f"{scratch.path}/images"
    os.mkdir(hung)
    os.mkdir(images)
    beneath = Capture(images, f"{scratch.path}/beneath.zst")
    run("truncate", "-s", "64M", f"{images}/ext4")
    run("mkfs.ext4", "-q", f"{images}/ext4")
    run("mount", "-o", "loop", f"{images}/ext4", hung)
    for name in (f"{hung}/a", f"{directory}/other"):
        with open(name, "wb") as f:
            f.write(bytes(1024 * PAGE))
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    capture = Capture(directory, f"{scratch.path}/beside.zst")
    sender = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--send-page", f"{hung}/a", "1000"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    sender.stdout.readline()
    a, to = os.open(f"{hung}/a", os.O_RDWR), os.open(f"{scratch.path}/sent", os.O_RDWR | os.O_CREAT)
    os.posix_fadvise(a, 0, 0, os.POSIX_FADV_RANDOM)
    sent(a, to)  # stays in the page cache of ext4
    time.sleep(0.1)
    beneath.process.send_signal(signal.SIGSTOP)
    sender.stdin.close()
    wrong = []
    try:
        time.sleep(0.5)
        sent(a, to)
        with open(f"{directory}/other", "r+b") as other, mmap.mmap(other.fileno(), PAGE) as m:
            for value in b"\1\2\3":
                m[0] = value
                wait_until(lambda: sent(other.fileno(), to) == bytes([value]))  # pylint: disable=cell-var-from-loop
    except RuntimeError as e:
        wrong.append(e)
    if sender.poll() is not None:
        wrong.append("no read hung")
    beneath.process.send_signal(signal.SIGCONT)
    sender.wait()
    sender.stdout.close()
    os.close(a)
    os.close(to)
    statuses = [capture.end()]
    run("umount", hung)
    statuses.append(beneath.end())
    cases.case("sendfile sends what was stored in one file while a read of another hangs", not wrong and statuses == [0, 0], (wrong, statuses))


def kept_pages(cases, scratch, kind, directory, behind):
    """What sendfile read stays in memory only while nobody can change the file."""
    name, trace = f"{directory}/kept", f"{scratch.path}/kept-{kind}.zst"
    capture = Capture(directory, trace)
    with open(name, "wb") as f:
        f.write(bytes(64 * PAGE))
    time.sleep(0.2)  # until the release: the kernel's backing file of an open that overlaps it is open for writing
    fd, to = os.open(name, os.O_RDONLY), os.open(f"{scratch.path}/sent", os.O_RDWR | os.O_CREAT)

    def sends(value):
        wait_until(lambda: sent(fd, to) == value)

    def write_beneath(value):
        with open(name, "r+b") as f:
            f.write(value)

    def store_beneath(value):
        with open(name, "r+b") as f, mmap.mmap(f.fileno(), PAGE) as m:
            m[0] = 0
            sends(b"\0")
            m[0:1] = value
            sends(value)

    def write_outside(value):
        with open(f"{behind}/kept", "r+b") as f:
            f.write(value)

    def store_outside(value):
        with open(f"{behind}/kept", "r+b") as f:
            m = mmap.mmap(f.fileno(), PAGE)
        m[0] = 0
        sends(b"\0")
        m[0:1] = value
        sends(value)
        m.close()

    missed = []
    for i, change in enumerate((write_beneath, store_beneath, write_outside, store_outside) * 2):
        for _ in range(40):  # 5 ms each, over the time for which a writer is remembered
            os.sendfile(to, fd, 0, PAGE)
            time.sleep(0.005)
        try:
            change(bytes([i + 1]))
            sends(bytes([i + 1]))
        except RuntimeError:
            missed.append(change.__name__)
    cases.case(f"{kind}: sendfile sends what was changed after pages were kept", not missed, missed)
    with open(f"{directory}/marker", "wb"):
        pass
    time.sleep(0.15)
    begin = time.monotonic()
    for _ in range(100):
        os.sendfile(to, fd, 0, PAGE)
        time.sleep(0.005)
    rounds = 1 + (time.monotonic() - begin) / 0.25
    os.close(fd)
    os.close(to)
    status = capture.end()
    dump = run(fstrace_program(), "dump", trace).splitlines()
    start = next(i for i, line in enumerate(dump) if " create marker" in line)
    reads = sum(" read kept" in line for line in dump[start:])
    cases.case(f"{kind}: a file that nobody has open for writing is not read again for each sendfile", status == 0 and 0 < reads < 6 * rounds,
               (status, reads, rounds))


def main():
    cases = Cases()
    with Scratch() as scratch:
        for kind in ("tmpfs", "ext4"):
            directory, behind = scratch.mount(kind, size="128M"), f"{scratch.path}/behind-{kind}"
            os.mkdir(behind)
            run("mount", "--bind", directory, behind)
            run("mount", "--make-private", behind)
            kept_pages(cases, scratch, kind, directory, behind)
            if kind == "tmpfs":
                sendfile(cases, scratch, directory)
                hung_read(cases, scratch, directory)
            run("umount", behind)
    return cases.status()


if sys.argv[1:2] == ["--send-page"]:
    with open(sys.argv[2], "r+b") as sent_file, open("/dev/null", "wb") as null:
        os.posix_fadvise(sent_file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        print("ready", flush=True)
        sys.stdin.read()
        os.sendfile(null.fileno(), sent_file.fileno(), int(sys.argv[3]) * PAGE, PAGE)
elif sys.argv[1:2] == ["--send"]:
    try:
        send(*sys.argv[2:4])
    except OSError:
        pass
else:
    sys.exit(main())
