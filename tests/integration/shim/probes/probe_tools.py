# SPDX-License-Identifier: Apache-2.0
"""What the probes of shim_probes.py share."""
import ctypes
import errno
import fcntl
import os
import struct
import threading

PROBES = []
libc = ctypes.CDLL(None, use_errno=True)


def probe(function):
    PROBES.append(function)
    return function


def attempt(function, *args, **kw):
    """The result, or the name of the errno."""
    try:
        return function(*args, **kw)
    except OSError as e:
        return errno.errorcode.get(e.errno, e.errno)


def as_user(uid, function, groups=(), gid=None):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups(list(groups))
        os.setgid(uid if gid is None else gid)
        os.setuid(uid)
        os.write(w, repr(attempt(function)).encode())
        os._exit(0)
    os.close(w)
    answer = os.read(r, 10000).decode()
    os.close(r)
    os.waitpid(pid, 0)
    return answer


def put(name, data=b"x", mode=0o644):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    os.write(fd, data)
    os.close(fd)


def get(name):
    with open(name, "rb") as f:
        return f.read()


def mode(name):
    return oct(os.lstat(name).st_mode)


def owner(name):
    s = os.lstat(name)
    return s.st_uid, s.st_gid


def set_inode_flag(fd, flag):
    """Beside those the file has. The result, or the name of the errno."""
    word = bytearray(8)
    attempt(fcntl.ioctl, fd, 0x80086601, word)  # FS_IOC_GETFLAGS
    done = attempt(fcntl.ioctl, fd, 0x40086602, struct.pack("q", word[0] + (word[1] << 8) + (word[2] << 16) | flag))
    return done if isinstance(done, str) else "set"


def in_thread(function):
    box = []
    t = threading.Thread(target=lambda: box.append(attempt(function)))
    t.start()
    return t, box


def fallocate(fd, how, offset, length):
    if libc.fallocate(fd, how, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")
