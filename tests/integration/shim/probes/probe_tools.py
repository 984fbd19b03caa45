# SPDX-License-Identifier: Apache-2.0
"""Functions that the probes of shim_probes.py share."""
import ctypes
import errno
import fcntl
import os
import struct
import subprocess
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


def bind_mapped(source, target, ids=b"1000 2000 1"):
    """A bind mount that shows files of user 1000 as those of 2000, or of others: by mount_setattr(2), which mount(8) knows from 2.39 on."""
    child = subprocess.Popen(["unshare", "-U", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE)
    child.stdout.readline()
    for kind in ("uid", "gid"):
        put(f"/proc/{child.pid}/{kind}_map", ids)
    space = os.open(f"/proc/{child.pid}/ns/user", os.O_RDONLY)
    child.kill()
    child.communicate()
    clone, empty, idmap = 1, 0x1000, 0x100000
    tree = libc.syscall(428, -100, source.encode(), clone)  # open_tree
    attributes = (ctypes.c_uint64 * 4)(idmap, 0, 0, space)
    done = [libc.syscall(442, tree, b"", empty, attributes, 32), libc.syscall(429, tree, b"", -100, target.encode(), 4)]  # mount_setattr, move_mount
    if tree < 0 or done != [0, 0]:
        raise RuntimeError(f"bind mount with other owners: {tree} {done} {os.strerror(ctypes.get_errno())}")
    os.close(tree)
    os.close(space)
