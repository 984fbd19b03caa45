#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores through mappings that go through FUSE (--mappings seen) reach the file, and only they: beside a rename that makes the kernel
forget a lookup of the mapped file, in files with many pages, and with an error where the disk is full."""
import errno
import mmap
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from captures import Capture, wait_until  # noqa: E402
from lower_fs import Cases, Scratch, run  # noqa: E402

MIB = 1 << 20
OWN, OTHERS = 100, 2000  # places in the first page


def put(path, size):
    with open(path, "wb") as f:
        f.truncate(size)


def mapped(path):
    with open(path, "r+b") as f:
        m = mmap.mmap(f.fileno(), 0)
    for at in range(0, len(m), mmap.PAGESIZE):
        m[at]  # pylint: disable=pointless-statement
    return m


def store_beside_another(m, beneath):
    """The two bytes of the file after another program has written one there and this one has stored one through its mapping."""
    with open(beneath, "r+b") as f:
        f.seek(OTHERS)
        f.write(b"B")
    m[OWN] = ord("A")
    m.flush()
    with open(beneath, "rb") as f:
        page = f.read(mmap.PAGESIZE)
    return page[OWN:OWN + 1] + page[OTHERS:OTHERS + 1]


def renamed(cases, directory, behind):
    put(f"{directory}/db", 2 * mmap.PAGESIZE)
    put(f"{directory}/new", 2 * mmap.PAGESIZE)
    m = mapped(f"{directory}/new")
    known = os.stat(f"{directory}/db").st_ino
    os.rename(f"{behind}/new", f"{behind}/db")
    wait_until(lambda: os.stat(f"{directory}/db").st_ino != known)
    left = store_beside_another(m, f"{behind}/db")
    cases.case("a mapped file gets a name that the kernel knows: other bytes of its pages stay", left == b"AB", left)


def large(cases, directory, behind):
    put(f"{directory}/large", 8 * MIB)
    left = store_beside_another(mapped(f"{directory}/large"), f"{behind}/large")
    cases.case("the first page of a file of which 8 MiB are mapped: other bytes stay", left == b"AB", left)


def full(cases, directory):
    put(f"{directory}/sparse", MIB)
    with open(f"{directory}/sparse", "r+b") as f:
        m = mmap.mmap(f.fileno(), 0)
    with open(f"{directory}/fill", "wb", buffering=0) as f:
        try:
            while True:
                f.write(bytes(mmap.PAGESIZE))
        except OSError:
            pass
    m[OWN] = ord("A")
    try:
        m.flush()
        said = 0
    except OSError as e:
        said = e.errno
    cases.case("msync of a byte amid a page for which the disk has no space", said == errno.ENOSPC, said)


def main():
    cases = Cases()
    with Scratch() as scratch:
        directory, behind = scratch.mount("tmpfs", size="24M"), f"{scratch.path}/behind"
        os.mkdir(behind)
        run("mount", "--bind", directory, behind)
        run("mount", "--make-private", behind)
        capture = Capture(directory, f"{scratch.path}/t.zst", "--mappings", "seen")
        renamed(cases, directory, behind)
        large(cases, directory, behind)
        full(cases, directory)
        cases.case("the capture ends well", capture.end() == 0)
    return cases.status()


sys.exit(main())
