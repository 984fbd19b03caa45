#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the kernel keeps under each `--cache`: which calls reach the trace, and how soon a change that somebody makes to the lower
directory behind the capture is seen: on a local file system, and on one that other machines could change."""
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes"))
from captured import Capture, make_scratch, remove  # noqa: E402
from probe_tools import as_user, attempt, get, put  # noqa: E402

FSTRACE = os.path.join(os.environ["FSR_BUILD"], "tools/fstrace")
STRANGER = 12345
KEPT = 2.3  # seconds: an entry and what is known of its directory, a second each

failed = 0


def check(name, said, wanted):
    global failed
    if said == wanted:
        print(f"ok - {name}")
    else:
        failed += 1
        print(f"not ok - {name}: {said!r}, not {wanted!r}")


def becomes(function, wanted, seconds):
    """What it answers at last, at most that much later."""
    end = time.monotonic() + seconds
    while (said := attempt(function)) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    return said


def fill(directory):
    for name in ("replaced", "removed", "moved", "held", "grown"):
        put(f"{directory}/{name}", name.encode())
    os.mkdir(f"{directory}/shut", 0o755)
    put(f"{directory}/shut/f")
    put(f"{directory}/new content", b"replaced it")


def changes_behind(label, front, behind, at_once, has_handles):
    """`at_once`: nothing at all is kept. Otherwise a name that was moved away, and a directory that was closed, may be taken for
    what they were for a while; everything else is seen at once."""
    seconds = 0 if at_once else KEPT
    fill(behind)
    for _ in range(2):  # the kernel knows all of it
        for name in os.listdir(front):
            os.stat(f"{front}/{name}")
        as_user(STRANGER, lambda: os.stat(f"{front}/shut/f"))

    check(f"{label}: a name not there", attempt(os.stat, f"{front}/later"), "ENOENT")
    put(f"{behind}/later")
    check(f"{label}: the same, made", os.stat(f"{front}/later").st_size, 1)

    os.rename(f"{behind}/new content", f"{behind}/replaced")
    check(f"{label}: replaced, stat", os.stat(f"{front}/replaced").st_size, len(b"replaced it"))
    put(f"{behind}/again", b"and again")
    os.rename(f"{behind}/again", f"{behind}/replaced")
    check(f"{label}: replaced, open", get(f"{front}/replaced"), b"and again")

    def left(name, make, change):
        make(f"{behind}/{name}")
        os.chmod(f"{behind}/{name}", 0o750)
        place = os.open(f"{front}/{name}", os.O_PATH)
        change(f"{behind}/{name}")
        check(f"{label}: {name} that is open with O_PATH", becomes(lambda: f"{os.fstat(place).st_mode & 0o777:o}", "750", seconds), "750")
        os.close(place)

    def move(path):
        os.rename(path, f"{path} away")

    left("a moved directory", os.mkdir, move)
    left("a removed directory", os.mkdir, os.rmdir)
    if has_handles:
        left("a moved file", put, move)

    with open(f"{front}/held", "rb") as held:
        os.unlink(f"{behind}/held")
        check(f"{label}: removed while open, fstat", os.fstat(held.fileno()).st_nlink, 0)
        check(f"{label}: removed while open, read", held.read(), b"held")
    os.unlink(f"{behind}/removed")
    check(f"{label}: removed", attempt(os.stat, f"{front}/removed"), "ENOENT")
    put(f"{behind}/grown", b"longer than it was")
    check(f"{label}: grown", os.stat(f"{front}/grown").st_size, 18)

    os.rename(f"{behind}/moved", f"{behind}/gone")
    os.chmod(f"{behind}/shut", 0o700)
    check(f"{label}: moved, under its new name", os.stat(f"{front}/gone").st_size, 5)
    check(f"{label}: moved away", becomes(lambda: os.stat(f"{front}/moved").st_size, "ENOENT", seconds), "ENOENT")
    check(f"{label}: closed", becomes(lambda: as_user(STRANGER, lambda: os.stat(f"{front}/shut/f").st_size), "'EACCES'", seconds),
          "'EACCES'")


def local(scratch):
    for mode, at_once in (("auto", False), ("none", True)):
        front, behind = f"{scratch}/local-{mode}", f"{scratch}/behind-{mode}"
        os.mkdir(front, 0o755)
        os.mkdir(behind)
        subprocess.run(["mount", "--bind", front, behind], check=True)
        with Capture(front, "--cache", mode):
            changes_behind(f"local, {mode}", front, behind, at_once, True)


def foreign(scratch):
    """Tests captures of a file system that is not local. An inner capture with --cache none stands for the client of a server."""
    lower, outer = f"{scratch}/server", f"{scratch}/client"
    os.makedirs(f"{outer}/share", 0o755)
    os.mkdir(lower, 0o755)
    subprocess.run(["mount", "--bind", lower, f"{outer}/share"], check=True)
    with Capture(f"{outer}/share", "--cache", "none"), Capture(outer):
        changes_behind("not local, auto", f"{outer}/share", lower, True, False)
    with Capture(f"{outer}/share", "--cache", "none"), Capture(outer, "--cache", "attr"):
        start = -1.0
        while time.monotonic() - start > 0.9:  # it is kept for a second
            put(f"{lower}/grown", b"1")
            becomes(lambda: os.stat(f"{outer}/share/grown").st_size, 1, KEPT)
            start = time.monotonic()
            size = os.stat(f"{outer}/share/grown").st_size
            put(f"{lower}/grown", b"12")
            kept = os.stat(f"{outer}/share/grown").st_size
        check("not local, attr: an attribute is kept", (size, kept), (1, 1))
        check("not local, attr: not for ever", becomes(lambda: os.stat(f"{outer}/share/grown").st_size, 2, KEPT), 2)


def visible(scratch):
    """How many of ten stats and ten reads of one file, and of the lookups that lead to it, are in the trace."""
    rounds = 10
    wanted = {
        #        lookups, getattrs, reads
        "auto": ((2, 3), (rounds, rounds + 2), (rounds, rounds)),
        "none": ((2 * rounds, 4 * rounds + 8), (rounds, rounds + 2), (rounds, rounds)),
        "attr": ((2, 3), (0, 3), (rounds, rounds)),
        "kernel": ((2, 3), (0, 3), (1, 2)),
    }
    for mode, bounds in wanted.items():
        directory = f"{scratch}/visible-{mode}"
        os.makedirs(directory + "/d", 0o755)
        put(directory + "/d/f", b"content")
        os.chmod(directory, 0o755)
        with Capture(directory, "--cache", mode) as capture:
            start = time.monotonic()
            for _ in range(rounds):
                os.stat(directory + "/d/f")
            fd = os.open(directory + "/d/f", os.O_RDONLY)
            for _ in range(rounds):
                os.pread(fd, 7, 0)
            os.close(fd)
            again = 2 * int((time.monotonic() - start) / 0.9)  # what is kept is kept for a second
        info = json.loads(subprocess.run([FSTRACE, "info", "--json", capture.trace], capture_output=True, check=True).stdout)
        counts = [info["by_kind"].get(kind, 0) for kind in ("lookup", "getattr", "read")]
        inside = all(low <= n <= high + again for n, (low, high) in zip(counts, bounds))
        check(f"visible, {mode}: lookups, stats, reads", counts if not inside else "as documented", "as documented")
        check(f"visible, {mode}: the header says so", info["header"]["visibility"].split(":")[0], f"cache {mode}")


def data_kept(scratch):
    """File data that the kernel keeps is still the file's."""
    front, behind = f"{scratch}/data", f"{scratch}/data-behind"
    os.mkdir(front, 0o755)
    os.mkdir(behind)
    subprocess.run(["mount", "--bind", front, behind], check=True)
    with Capture(front, "--cache", "kernel"):
        put(f"{front}/f", b"a" * 10000)
        with open(f"{front}/f", "r+b", buffering=0) as f:
            check("data kept: read", f.read(), b"a" * 10000)
            f.seek(5000)
            f.write(b"b" * 10)
            check("data kept: a write is seen below at once", get(f"{behind}/f")[4999:5011], b"a" + b"b" * 10 + b"a")
        put(f"{behind}/f", b"c" * 20000)
        check("data kept: a change behind is seen", becomes(lambda: get(f"{front}/f"), b"c" * 20000, KEPT), b"c" * 20000)


def mounted_inside(scratch):
    """What is mounted inside stays when a directory elsewhere is closed, and nobody gets through that one."""
    front = f"{scratch}/inside"
    os.makedirs(f"{front}/point", 0o755)
    os.makedirs(f"{front}/gate/d", 0o755)
    with Capture(front):
        subprocess.run(["mount", "-t", "tmpfs", "inside", f"{front}/point"], check=True)
        put(f"{front}/point/f")
        for _ in range(2):
            as_user(STRANGER, lambda: os.stat(f"{front}/gate/d"))
            os.chmod(f"{front}/gate", 0o700)
            check("mounted inside: closed", as_user(STRANGER, lambda: os.stat(f"{front}/gate/d")), "'EACCES'")
            check("mounted inside: still there", attempt(os.listdir, f"{front}/point"), ["f"])
            os.chmod(f"{front}/gate", 0o755)
        check("mounted inside: open again", as_user(STRANGER, lambda: os.stat(f"{front}/gate/d").st_uid), "0")
        subprocess.run(["umount", f"{front}/point"], check=True)


def main():
    scratch = make_scratch()
    os.umask(0)
    try:
        for part in (local, foreign, visible, data_kept, mounted_inside):
            part(scratch)
    finally:
        remove(scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
