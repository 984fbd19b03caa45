# SPDX-License-Identifier: Apache-2.0
"""waiting_locks.py FILE N: one thread holds a lock, N others wait for it, each with an open instance of its own, and every processor can
still use the file. Status 0: each of the N got the lock in the end, or was refused at once. Prints how many were refused."""
import errno
import fcntl
import os
import resource
import sys
import threading
import time


def waiter(path, there, answers):
    fd = os.open(path, os.O_RDWR)
    there.release()
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        answers.append(0)
    except OSError as e:
        answers.append(e.errno)
    os.close(fd)


def main(path, count):
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(count + 100, 1024),) * 2)
    threading.stack_size(128 << 10)
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    there, answers = threading.Semaphore(0), []
    threads = [threading.Thread(target=waiter, args=(path, there, answers)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for _ in threads:
        there.acquire()
    time.sleep(0.5)  # all of them ask
    for processor in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {processor})
        os.pwrite(fd, b"x", 0)
        os.stat(path)
    began = time.monotonic()
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)
    for thread in threads:
        thread.join()
    print(f"{answers.count(errno.ENOLCK)} of {count} refused, the others got it within {time.monotonic() - began:.1f} s")
    return 0 if len(answers) == count and set(answers) <= {0, errno.ENOLCK} else 1


sys.exit(main(sys.argv[1], int(sys.argv[2])))
