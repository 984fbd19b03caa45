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
        fcntl.lockf(o, fcntl.LOCK_EX)
        os.write(w, b"late" if time.time() - start > 0.2 else b"early")
        os._exit(0)
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
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDWR)
    set_ofd = 37
    first = attempt(fcntl.fcntl, a, set_ofd, lock_record(fcntl.F_WRLCK))
    answer = attempt(fcntl.fcntl, b, set_ofd, lock_record(fcntl.F_WRLCK))
    os.close(a)
    after = attempt(fcntl.fcntl, b, set_ofd, lock_record(fcntl.F_WRLCK))
    os.close(b)
    return isinstance(first, bytes), answer, isinstance(after, bytes)


@probe
def whole_file_locks():
    put("f")
    a, b = os.open("f", os.O_RDWR), os.open("f", os.O_RDONLY)
    fcntl.flock(a, fcntl.LOCK_EX)
    one = attempt(fcntl.flock, b, fcntl.LOCK_SH | fcntl.LOCK_NB)
    fcntl.flock(a, fcntl.LOCK_SH)
    two = attempt(fcntl.flock, b, fcntl.LOCK_SH | fcntl.LOCK_NB), attempt(fcntl.flock, b, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(a)
    # FUSE tells of the last close only after close() has returned: the lock goes a moment later than on the directory itself.
    for _ in range(100):
        three = attempt(fcntl.flock, b, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if three != "EAGAIN":
            break
        time.sleep(0.01)
    os.close(b)
    return one, two, three


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
