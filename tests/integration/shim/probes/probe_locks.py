# SPDX-License-Identifier: Apache-2.0
"""Locks."""
import ctypes
import errno
import fcntl
import os
import signal
import struct
import time

from probe_tools import *  # noqa: F403


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
        os.write(w, b"begins")
        fcntl.lockf(o, fcntl.LOCK_EX)
        os.write(w, b"late" if time.time() - start > 0.2 else b"early")
        os._exit(0)
    os.read(r, 10)
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
    set_ofd = 37
    answers = set()
    for _ in range(50):  # the kernel tells a file system of the last close when close(2) has returned
        a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
        first = attempt(fcntl.fcntl, a, set_ofd, lock_record(fcntl.F_WRLCK))
        second = attempt(fcntl.fcntl, b, set_ofd, lock_record(fcntl.F_WRLCK))
        os.close(a)
        after = attempt(fcntl.fcntl, b, set_ofd, lock_record(fcntl.F_WRLCK))
        os.close(b)
        answers.add((isinstance(first, bytes), second, isinstance(after, bytes)))
    return sorted(answers, key=str)


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
def whole_file_lock_outlives_a_duplicate():
    put("f")
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDONLY)
    fcntl.flock(a, fcntl.LOCK_EX)
    os.close(os.dup(a))
    one = attempt(fcntl.flock, b, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(a)
    two = attempt(fcntl.flock, b, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(b)
    return one, two


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


def lock_of(fd, kind, command=fcntl.F_GETLK):
    return struct.unpack("hhqqi4x", fcntl.fcntl(fd, command, lock_record(kind)))


@probe
def holder_of_a_lock():
    put("f", b"0" * 100)
    fd = os.open("f", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX, 10, 5)
    me = os.getpid()

    def other():
        kind, whence, start, length, pid = lock_of(os.open("f", os.O_RDWR), fcntl.F_WRLCK)
        return kind, whence, start, length, pid == me
    first = as_user(0, other)
    fcntl.lockf(fd, fcntl.LOCK_SH, 4, 8)
    return first, as_user(0, other), lock_of(fd, fcntl.F_WRLCK)[0]


@probe
def holder_of_a_description_lock():
    put("f")
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    fcntl.fcntl(a, 37, lock_record(fcntl.F_WRLCK))
    return lock_of(b, fcntl.F_WRLCK, 36), as_user(0, lambda: lock_of(os.open("f", os.O_RDWR), fcntl.F_RDLCK))


@probe
def deadlock_is_noticed():
    put("f", b"0" * 100)
    a = os.open("f", os.O_RDWR)
    fcntl.lockf(a, fcntl.LOCK_EX, 1, 0)
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        b = os.open("f", os.O_RDWR)
        fcntl.lockf(b, fcntl.LOCK_EX, 1, 1)
        os.write(w, b"ready")
        attempt(fcntl.lockf, b, fcntl.LOCK_EX, 1, 0)
        os._exit(0)
    os.read(r, 5)
    time.sleep(0.2)
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 3)
    result = libc.fcntl(a, fcntl.F_SETLKW, lock_record(fcntl.F_WRLCK, 1, 1)), errno.errorcode.get(ctypes.get_errno())
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.close(a)
    os.waitpid(pid, 0)
    return result


@probe
def lock_ranges_split_and_join():
    put("f", b"0" * 100)
    fd = os.open("f", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX, 30, 0)
    fcntl.lockf(fd, fcntl.LOCK_UN, 10, 10)
    fcntl.lockf(fd, fcntl.LOCK_SH, 5, 22)

    def other():
        o = os.open("f", os.O_RDWR)
        kinds = [fcntl.LOCK_SH | fcntl.LOCK_NB, fcntl.LOCK_EX | fcntl.LOCK_NB]
        answers = []
        for at in range(0, 35, 3):
            answers.append([attempt(fcntl.lockf, o, kind, 1, at) for kind in kinds])
            fcntl.lockf(o, fcntl.LOCK_UN, 1, at)
        return answers
    return as_user(0, other)


@probe
def lock_to_the_end_and_backwards():
    put("f", b"0" * 100)
    fd = os.open("f", os.O_RDWR)
    answers = [attempt(fcntl.fcntl, fd, fcntl.F_SETLK, lock_record(fcntl.F_WRLCK, *at)) for at in ((50, 0), (40, -10), (5, -10), (-1, 5))]
    record = lambda at: lock_record(fcntl.F_WRLCK, at, 1)
    held = as_user(0, lambda: [struct.unpack("hhqqi4x", fcntl.fcntl(os.open("f", os.O_RDWR), fcntl.F_GETLK, record(at)))[:4]
                               for at in (29, 30, 39, 40, 49, 50, 1 << 40)])
    return [a if isinstance(a, str) else "set" for a in answers], held


@probe
def locks_and_children():
    put("f")
    fd = os.open("f", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    flocked = os.open("f", os.O_RDWR)
    fcntl.flock(flocked, fcntl.LOCK_EX)
    # A child does not have its parent's record locks, but shares the whole-file lock of an inherited descriptor.
    return as_user(0, lambda: (attempt(fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB), attempt(fcntl.flock, flocked, fcntl.LOCK_EX | fcntl.LOCK_NB),
                               attempt(fcntl.flock, os.open("f", os.O_RDWR), fcntl.LOCK_SH | fcntl.LOCK_NB)))


@probe
def record_and_description_locks_conflict():
    put("f", b"0" * 10)
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    fcntl.lockf(a, fcntl.LOCK_EX, 5)
    one = attempt(fcntl.fcntl, b, 37, lock_record(fcntl.F_WRLCK, 0, 1))
    two = attempt(fcntl.fcntl, b, 37, lock_record(fcntl.F_WRLCK, 6, 1))
    return one, isinstance(two, bytes), attempt(fcntl.lockf, a, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 6), attempt(fcntl.flock, b, fcntl.LOCK_EX | fcntl.LOCK_NB)


@probe
def lock_wait_goes_on_after_a_signal():
    put("f")
    fd = os.open("f", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.siginterrupt(signal.SIGALRM, False)
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        o = os.open("f", os.O_RDWR)
        os.write(w, repr(libc.fcntl(o, fcntl.F_SETLKW, lock_record(fcntl.F_WRLCK))).encode())
        os._exit(0)
    time.sleep(0.5)
    fcntl.lockf(fd, fcntl.LOCK_UN)
    answer = os.read(r, 100)
    os.waitpid(pid, 0)
    return answer
