#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may open FIFOs and devices, and connect to sockets, beneath a capture: never more than without one; as much, where a caller
may do all or nothing with a file; and where the kernel checks permissions (--permissions kernel) exactly the same, sticky
directories included."""
import ast
import os
import socket
import stat
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes"))
from callers import DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, Caller  # noqa: E402
from captured import Capture, make_scratch, remove  # noqa: E402
from probe_tools import attempt, put  # noqa: E402

FSTRACE = os.path.join(os.environ["FSR_BUILD"], "tools/fstrace")
USER, OTHER, GROUP = 1000, 12345, 23456
CALLERS = {
    "root": Caller(),
    "root without CAP_DAC_OVERRIDE": Caller(capabilities=[FOWNER]),
    "a user": Caller(USER),
    "another user": Caller(OTHER),
    "another user in the group": Caller(OTHER, groups=[GROUP]),
    "a user with CAP_DAC_OVERRIDE": Caller(OTHER, capabilities=[DAC_OVERRIDE]),
    "a user with CAP_DAC_READ_SEARCH": Caller(OTHER, capabilities=[DAC_READ_SEARCH]),
    "root of a namespace": Caller(ids=[(0, USER, 1)]),
}
NOBODY = 0xFFFFFFFF
# Owner, group, mode, and what an access list gives to the other user.
FILES = [(0, GROUP, mode, None) for mode in (0o600, 0o660, 0o666, 0o644, 0o622, 0o606, 0o000)]
FILES += [(USER, USER, mode, None) for mode in (0o600, 0o200, 0o755)] + [(0, GROUP, 0o660, 6), (0, GROUP, 0o666, 0)]


def make(kind, path, listening):
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    else:
        s = socket.socket(socket.AF_UNIX)
        s.bind(path)
        s.listen(100)
        listening.append(s)


def opened(path, flags):
    os.close(os.open(path, flags | os.O_NONBLOCK))


def connected(path):
    with socket.socket(socket.AF_UNIX) as s:
        # A stand-in refuses in its own way.
        try:
            s.connect(path)
        except ConnectionRefusedError as e:
            raise PermissionError(13, "refused") from e


def uses(kind, path):
    how = (connected,) if kind == "socket" else (lambda p: opened(p, os.O_RDONLY), lambda p: opened(p, os.O_RDWR))
    return [attempt(use, path) for use in how]


def attributes(path):
    s = os.lstat(path)
    return s.st_uid, s.st_gid, oct(stat.S_IMODE(s.st_mode)), s.st_nlink, os.access(path, os.R_OK), os.access(path, os.W_OK)


def build(top, listening):
    """{kind: names}"""
    names = {}
    for kind in ("fifo", "device", "socket"):
        names[kind] = []
        for number, (uid, gid, mode, listed) in enumerate(FILES):
            name = f"{kind}{number}"
            os.chdir(top)
            make(kind, name, listening)
            os.chown(name, uid, gid)
            os.chmod(name, mode)
            if listed is not None:
                entries = [(1, 6, NOBODY), (2, listed, OTHER), (4, 6, NOBODY), (0x10, 6, NOBODY), (0x20, mode & 7, NOBODY)]
                os.setxattr(name, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
            names[kind].append(f"{top}/{name}")
    os.chdir("/")
    return names


def answers(top, names):
    """{(caller, kind, file): (uses, attributes)}"""
    found = {}
    for name, caller in CALLERS.items():
        said = caller.does(lambda: [[(uses(kind, p), attributes(p)) for p in names[kind]] for kind in names])
        if "failed" in said:
            raise RuntimeError(said)
        for kind, of_kind in zip(names, ast.literal_eval(said)):
            for file, answer in zip(FILES, of_kind):
                found[f"{name}, {kind} {file}"] = answer
    return found


def sticky(top):
    """What a directory that everybody may write to keeps others from."""
    d = f"{top}/sticky"
    os.mkdir(d)
    os.chmod(d, 0o1777)
    put(d + "/target", b"secret", 0o644)
    make_as = Caller(OTHER)
    made = make_as.does(lambda: (os.symlink("target", d + "/link"), os.mkfifo(d + "/fifo", 0o666), put(d + "/file", b"x", 0o666)))
    victim = Caller(USER)
    removals = [victim.does(lambda n=n: os.unlink(f"{d}/{n}")) for n in ("link", "fifo", "file")]
    moves = [victim.does(lambda n=n: os.rename(f"{d}/{n}", d + "/mine")) for n in ("link", "fifo", "file")]
    links = [victim.does(lambda n=n: os.link(f"{d}/{n}", f"{top}/linked-{n}", follow_symlinks=False)) for n in ("fifo", "file")]
    guarded = [victim.does(lambda: opened(d + "/link", os.O_RDONLY)),
               victim.does(lambda: opened(d + "/file", os.O_CREAT | os.O_WRONLY)),
               victim.does(lambda: opened(d + "/fifo", os.O_CREAT | os.O_RDWR))]
    return (made, removals, moves, links), guarded


def main():
    scratch = make_scratch()
    failed = 0

    def case(name, wrong):
        nonlocal failed
        failed += bool(wrong)
        print(f"not ok - {name}: {wrong[:3]}" if wrong else f"ok - {name}", flush=True)

    try:
        os.umask(0)
        listening = []
        os.mkdir(f"{scratch}/native", 0o777)
        os.chmod(f"{scratch}/native", 0o777)
        native = answers(f"{scratch}/native", build(f"{scratch}/native", listening))
        native_kept, native_guarded = sticky(f"{scratch}/native")
        for mode in ("auto", "kernel"):
            top = f"{scratch}/{mode}"
            os.mkdir(top)
            os.chmod(top, 0o777)
            make("socket", f"{top}/before", listening)
            with Capture(top, "--permissions", mode) as capture:
                before = attempt(connected, f"{top}/before")
                names = build(top, listening)
                got = answers(top, names)
                again = answers(top, names)
                kept, guarded = sticky(top)
                for s in listening:  # they would keep the mount busy
                    s.close()
                kinds = {name: stat.S_IFMT(os.lstat(paths[0]).st_mode) for name, paths in names.items()}
            exact = mode == "kernel"
            case(f"{mode}: nobody may more", [(n, native[n][0], got[n][0]) for n in native
                                             if any(a is None and b is not None for a, b in zip(got[n][0], native[n][0]))])
            case(f"{mode}: who may {'something' if exact else 'all or nothing'} may the same",
                 [(n, native[n][0], got[n][0]) for n in native if got[n][0] != native[n][0] and (exact or len(set(native[n][0])) == 1)])
            case(f"{mode}: attributes are the file's", [(n, native[n][1], got[n][1]) for n in native if got[n][1] != native[n][1]])
            case(f"{mode}: the same the second time", [(n, got[n], again[n]) for n in got if got[n] != again[n]])
            case(f"{mode}: the superuser sees what they are",
                 [] if kinds == {"fifo": stat.S_IFIFO, "device": stat.S_IFCHR, "socket": stat.S_IFSOCK} else [kinds])
            case(f"{mode}: others' names in a sticky directory", [] if kept == native_kept else [(native_kept, kept)])
            if exact:
                case(f"{mode}: others' symlinks, files and FIFOs in a sticky directory",
                     [] if guarded == native_guarded else [(native_guarded, guarded)])
            told = subprocess.run([FSTRACE, "info", capture.trace], capture_output=True, text=True, check=False).stdout
            case(f"{mode}: a socket that was bound before is named", [] if f"{top}/before" in told else [before, told])
        if "EACCES" not in str(native):
            case("something was refused", ["is /tmp a file system with permissions?"])
    finally:
        remove(scratch)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
