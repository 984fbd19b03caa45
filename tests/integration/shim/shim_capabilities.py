#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Capabilities and user namespaces beneath a capture: root that lacks some, users that have some, root of a user namespace. Each
caller tries each operation on files of several owners and modes; all answers, and what became of the files, as without a capture."""
import ast
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness", f"{HERE}/probes"]
from callers import (CHOWN, CLONE_NEWUSER, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, LIBC, MKNOD,
                     SYS_ADMIN, Caller)  # noqa: E402
from captured import Capture, make_scratch, remove  # noqa: E402
from lower_fs import shim_program  # noqa: E402
from probe_tools import attempt, put  # noqa: E402

USER, OTHER, GROUP = 1000, 12345, 23456
MAPPED = 200_000  # the first of the ids that a user namespace has

ALL = {CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, MKNOD, SYS_ADMIN}
CALLERS = {
    "root": Caller(),
    "root without capabilities": Caller(capabilities=()),
    "root without CAP_DAC_OVERRIDE": Caller(capabilities=ALL - {DAC_OVERRIDE}),
    "root without CAP_CHOWN": Caller(capabilities=ALL - {CHOWN}),
    "root without CAP_FOWNER": Caller(capabilities=ALL - {FOWNER}),
    "root without CAP_FSETID": Caller(capabilities=ALL - {FSETID}),
    "root without CAP_SYS_ADMIN": Caller(capabilities=ALL - {SYS_ADMIN}),
    "a user": Caller(USER, capabilities=()),
    "a user with CAP_DAC_READ_SEARCH": Caller(USER, capabilities=[DAC_READ_SEARCH]),
    "a user with CAP_DAC_OVERRIDE": Caller(USER, capabilities=[DAC_OVERRIDE]),
    "a user with CAP_CHOWN": Caller(USER, capabilities=[CHOWN]),
    "a user with CAP_FOWNER": Caller(USER, capabilities=[FOWNER]),
    "a user with all of them": Caller(USER, capabilities=ALL),
    "root of a namespace with other ids": Caller(ids=[(0, MAPPED, 1000)]),
    "a user of a namespace with other ids": Caller(5, capabilities=(), ids=[(0, MAPPED, 1000)]),
    "root of a namespace with root's id alone": Caller(ids=[(0, 0, 1)]),
    "root of a namespace with a user's id alone": Caller(ids=[(0, USER, 1)]),
}

# Owner, group and mode of a file; directories get the same and search permission where there is permission to read.
FILES = [(0, 0, 0o600), (0, 0, 0o4755), (USER, USER, 0o600), (OTHER, GROUP, 0o640), (MAPPED, MAPPED, 0o600), (MAPPED + 7, MAPPED + 8, 0o6711),
         (MAPPED + 7, MAPPED + 8, 0o2666), (MAPPED + 7, 0, 0o600)]


def opened(path, flags):
    os.close(os.open(path, flags))


def written(path):
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, b"z")
    os.close(fd)


def device(path):
    # The kernel asks for CAP_MKNOD first when FUSE has no opinion of its own about the directory: another errno.
    try:
        os.mknod(path, 0o20666, os.makedev(1, 3))
    except PermissionError:
        return "refused"
    return "made"


def chown_of_nothing(path):
    # The kernel sends the same request before other changes: a refusal can't be told.
    try:
        os.chown(path, -1, -1)
    except PermissionError:
        pass


# On a file of its own, f.
ON_FILES = {
    "read": lambda f: opened(f, os.O_RDONLY),
    "write": written,
    "truncate": lambda f: os.truncate(f, 0),
    "overwrite": lambda f: opened(f, os.O_WRONLY | os.O_TRUNC),
    "access": lambda f: [os.access(f, how) for how in (os.R_OK, os.W_OK, os.X_OK)],
    "chmod": lambda f: os.chmod(f, 0o6755),
    "chown to a user": lambda f: os.chown(f, 3, 4),
    "chown of nothing": chown_of_nothing,
    "give to a group": lambda f: os.chown(f, -1, 5),
    "set times": lambda f: os.utime(f, (1, 1)),
    "set an attribute": lambda f: os.setxattr(f, "user.a", b"1"),
    "set a trusted attribute": lambda f: os.setxattr(f, "trusted.b", b"1"),
    "list attributes": lambda f: sorted(n for n in os.listxattr(f) if not n.startswith("security.")),
    "link": lambda f: os.link(f, f + "-hard"),
}
# In the directories of a place.
IN_DIRECTORIES = {
    "look up": lambda p: os.stat(p + "/d/x").st_size,
    "list": lambda p: sorted(os.listdir(p + "/d")),
    "enter": lambda p: (os.chdir(p + "/d"), os.chdir("/")),
    "create": lambda p: opened(p + "/d/new", os.O_CREAT | os.O_EXCL | os.O_WRONLY),
    "mkdir": lambda p: os.mkdir(p + "/d/dir"),
    "device": lambda p: device(p + "/d/null"),
    "rename": lambda p: os.rename(p + "/d/x", p + "/d/y"),
    "unlink": lambda p: os.unlink(p + "/d/y"),
    "unlink in a sticky directory": lambda p: os.unlink(p + "/sticky/x"),
    "rename in a sticky directory": lambda p: os.rename(p + "/sticky/y", p + "/sticky/z"),
    "move a directory": lambda p: os.rename(p + "/from/moved", p + "/to/moved"),
}


def build(place, uid, gid, mode):
    os.mkdir(place, 0o777)
    for directory in ("d", "sticky"):
        os.mkdir(f"{place}/{directory}")
    for name in (*ON_FILES, "d/x", "sticky/x", "sticky/y"):
        put(f"{place}/{name}", b"xyz")
        os.chown(f"{place}/{name}", uid, gid)
        os.chmod(f"{place}/{name}", mode)
    os.setxattr(place + "/list attributes", "trusted.a", b"1")
    for directory in ("from", "to", "from/moved"):
        os.mkdir(f"{place}/{directory}")
        os.chown(f"{place}/{directory}", MAPPED, MAPPED)
    for directory in ("d", "from/moved"):
        os.chown(f"{place}/{directory}", uid, gid)
        os.chmod(f"{place}/{directory}", mode & 0o777 | (mode & 0o444) >> 2)
    os.chown(place + "/sticky", MAPPED + 77, MAPPED + 77)
    os.chmod(place + "/sticky", 0o1777)


def state(place):
    found = {}
    for here, _, names in os.walk(place):
        for path in [here, *(f"{here}/{n}" for n in names)]:
            s = os.lstat(path)
            found[path[len(place):]] = s.st_uid, s.st_gid, oct(s.st_mode), s.st_size if os.path.isfile(path) else 0
    return found


def tried(caller, places):
    """{operation on a file: (answer, what became of it)}"""
    for place, file in zip(places, FILES):
        build(place, *file)

    def all_of_them():
        return [[(name, attempt(do, f"{place}/{name}")) for name, do in ON_FILES.items()] +
                [(name, attempt(do, place)) for name, do in IN_DIRECTORIES.items()] for place in places]
    said = caller.does(all_of_them)
    if "failed" in said:
        raise RuntimeError(said)
    return [(dict(answers), state(place)) for answers, place in zip(ast.literal_eval(said), places)]


def differences(native, shim):
    for file, (expected, before), (got, after) in zip(FILES, native, shim):
        label = f"{oct(file[2])} of {file[0]}:{file[1]}"
        yield from (f"{name} of {label}: native {said}, shim {got[name]}" for name, said in expected.items() if got[name] != said)
        yield from (f"{path} of {label}: native {before.get(path)}, shim {after.get(path)}"
                    for path in sorted({*before, *after}) if before.get(path) != after.get(path))


def enters_a_namespace(path):
    """What root may do to a user's file 50 ms after it entered a user namespace without that user, once it is well known."""
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        opened(path, os.O_RDONLY)
        time.sleep(0.001)
    if LIBC.unshare(CLONE_NEWUSER) != 0:
        raise RuntimeError("unshare")
    time.sleep(0.05)
    return attempt(lambda: opened(path, os.O_RDONLY))


def main():
    scratch = make_scratch()
    failed = 0
    try:
        os.umask(0)
        for name in ("native", "shim"):
            os.mkdir(f"{scratch}/{name}", 0o755)
        with Capture(f"{scratch}/shim"):
            for number, (name, caller) in enumerate(CALLERS.items()):
                native, shim = (tried(caller, [f"{scratch}/{where}/{number}-{i}" for i in range(len(FILES))]) for where in ("native", "shim"))
                different = list(differences(native, shim))
                failed += bool(different)
                print(f"not ok - {name}: {'; '.join(different)}" if different else f"ok - {name}: as without a capture", flush=True)
            for where in ("native", "shim"):
                path = f"{scratch}/{where}/private"
                put(path, b"xyz")
                os.chown(path, USER, USER)
                os.chmod(path, 0o600)
            native, shim = (Caller().does(lambda w=where: enters_a_namespace(f"{scratch}/{w}/private")) for where in ("native", "shim"))
            failed += native != shim
            print(f"{'ok' if native == shim else 'not ok'} - root that enters a namespace: native {native}, shim {shim}", flush=True)
        for name in ("setuid", "setgid"):
            done = subprocess.run(["setpriv", "--bounding-set", f"-{name}", shim_program(), "capture", f"{scratch}/shim", "-o", f"{scratch}/t.zst"],
                                  stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            refused = done.returncode == 2 and "lacks CAP_SETUID or CAP_SETGID" in done.stderr
            failed += not refused
            print(f"{'ok' if refused else 'not ok'} - root without CAP_{name.upper()} is refused: {done.returncode} {done.stderr}", flush=True)
    finally:
        remove(scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
