# SPDX-License-Identifier: Apache-2.0
"""waiting_locks.py FILE N: one process holds a lock, N others wait for it, and every processor can still use the file. Status 0: each of
the N got the lock in the end, or was refused at once. Prints how many were refused."""
import errno
import fcntl
import os
import sys
import time


def waiter(path, told):
    fd = os.open(path, os.O_RDWR)
    os.write(told, b".")
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError as e:
        os._exit(1 if e.errno == errno.ENOLCK else 2)
    os._exit(0)


def main(path, count):
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    there, told = os.pipe()
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            waiter(path, told)
        children.append(child)
    for _ in range(count):
        os.read(there, 1)
    time.sleep(0.5)  # all of them ask
    for processor in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {processor})
        os.pwrite(fd, b"x", 0)
        os.stat(path)
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    print(f"{statuses.count(1)} of {count} refused")
    return 0 if set(statuses) <= {0, 1} else 1


sys.exit(main(sys.argv[1], int(sys.argv[2])))
