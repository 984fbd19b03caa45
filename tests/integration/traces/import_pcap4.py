#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NFSv4.1 traffic of a replay, captured with tcpdump and imported, is what the replayer wrote down of itself (fsreplay --record), operation
by operation but for the differences that docs/import.md lists; it replays. Traffic of version 4.0, made here, is imported too."""
import difflib
import json
import os
import struct
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness"]
from import_pcap import imported, run  # noqa: E402
from lower_fs import Cases, Scratch, built, fstrace_program, shim_program  # noqa: E402
from wire_capture import captured  # noqa: E402

FIELDS = {"read": ["offset", "length", "result"], "write": ["offset", "length", "result"], "mkdir": ["mode"], "symlink": ["data"],
          "link": ["name2"], "rename": ["name2"], "setlk": ["offset", "length", "mode"], "create": ["mode", "created"], "setattr": ["set"],
          "fallocate": ["offset", "length"], "lseek": ["offset", "result"], "readlink": ["data"]}
NO_REQUEST = {"flush", "fsyncdir", "releasedir"}
LISTING = {"opendir", "access", "readdir", "readdirplus"}  # opendir is an ACCESS, listings are asked for as the target needs them
APPEND, CREATED, UNLOCK = 2, 16, 2


def dumped(trace):
    return [json.loads(line) for line in run(fstrace_program(), "dump", "--json", trace)[1].splitlines()]


def comparable(operations, place):
    made, hidden = [], {}
    for o in operations:
        path, kind = o.get("path", ""), o["kind"]
        path = path[len(place) + 1:] if path.startswith(place + "/") else "." if path == place and kind == "getattr" else path
        # A file that is removed while it is open, as a late release has it, gets a name of ours until then.
        other = os.path.basename(o.get("name2", ""))
        if kind == "rename" and other.startswith(".nfs"):
            hidden[os.path.join(os.path.dirname(path), other)], kind = path, "unlink"
        elif path in hidden:
            if kind == "unlink":
                continue
            path = hidden[path]
        o["created"] = o.get("op_flags", 0) & CREATED  # a server that does not tell for sure leaves it inferred
        if ".fsreplay" in path or ".fsreplay" in o.get("name2", "") or kind in NO_REQUEST or kind in LISTING:
            continue
        if kind == "setlk" and o.get("mode", 0) == UNLOCK:
            continue  # a flush and a release end locks, where there are some
        if kind in ("lookup", "statfs") and place.startswith(path) and place:
            continue  # the way to the export, before the run
        if kind == "setattr" and place and made and made[-1][0] == "create" and o["set"] == {"atime_now": True, "mtime_now": True}:
            continue  # behind an exclusive create
        if kind == "write" and not place and o.get("op_flags", 0) & APPEND:
            made.append(("getattr", "ok", path))  # for the size
        made.append((kind, o.get("error", "ok"), path, *(json.dumps(o.get(f, 0)) for f in FIELDS.get(kind, []))))
    return made


def listed(operations, place):
    return sorted((o["path"].removeprefix(place).lstrip("./"), e["name"]) for o in operations for e in o.get("entries", [])
                  if not e["name"].startswith(".fsreplay"))


def replayed(cases, app, place):
    """Captures an application, replays it over NFSv4.1 and imports what tcpdump saw of it."""
    top, trace, record, pcap, out = (f"{place}/{app}{end}" for end in ("", ".zst", ".rec.zst", ".pcap", ".imported.zst"))
    os.mkdir(top)
    os.mkdir(f"{os.environ['NFS_VFS_DIR']}/{app}")
    run(shim_program(), "capture", top, "-o", trace, "--content", "full", "--", "sh", "-c",
        f"cd {top} && {HERE}/../../apps/run {app} {place}/input")
    url = os.environ["NFS4_VFS_URL"].replace("vfs", f"vfs/{app}")
    with captured(cases, pcap):
        _, said, error = run(built("replay/fsreplay"), trace, url, "--order", "strict", "--timing", "asap", "-q", "--json",
                             "--record", record)
    report = json.loads(said)
    cases.case(f"{app}: replayed over NFSv4.1", report["matched"] == report["issued"] > 1000, f"{report['mismatches'][:5]} {error}")
    error = imported(cases, app, pcap, out, {0})
    cases.case(f"{app}: nothing is lost or changed", " lost " not in error and " changed " not in error, error)
    recorded, got = dumped(record), dumped(out)
    one, two = comparable(recorded, ""), comparable(got, f"vfs/{app}")
    difference = list(difflib.unified_diff([str(w) for w in one], [str(g) for g in two], n=0, lineterm=""))
    cases.case(f"{app}: {len(one)} operations on the same files, with the same sizes and outcomes", one == two and len(one) > 1000,
               f"{len(two)} imported: {difference[:12]}")
    cases.case(f"{app}: the same names were listed", listed(recorded, "") == listed(got, f"vfs/{app}"))
    opens = [o["handle"] for o in got if o["kind"] in ("open", "create")]
    ends = [o["handle"] for o in got if o["kind"] == "release"]
    cases.case(f"{app}: what is open is closed, reads and writes have their open", sorted(opens) == sorted(ends) and all(
        o.get("handle") in opens for o in got if o["kind"] in ("read", "write")), f"{len(opens)} opens, {len(ends)} releases")
    _, said, error = run(built("replay/fsreplay"), out, f"{place}/{app}.tree", "--order", "strict", "--timing", "asap", "-q", "--json")
    report = json.loads(said)
    cases.case(f"{app}: it replays onto a directory", report["issued"] > 1000 and report["differed"] == 0,
               f"{report['matched']} of {report['issued']}: {report['mismatches'][:5]} {error}")


def u32(*numbers):
    return struct.pack(f">{len(numbers)}I", *numbers)


def u64(number):
    return struct.pack(">Q", number)


def opaque(data):
    return u32(len(data)) + data + b"\0" * (-len(data) % 4)


STATE, CONFIRMED, FILE, ROOT = u32(1) + b"state-of-a12", u32(2) + b"state-of-a12", b"handle of a", b"handle of root"
FATTR = u32(2, 1 << 1 | 1 << 3 | 1 << 4, 1 << 1) + opaque(u32(1) + u64(77) + u64(5) + u32(0o640))  # type, change, size, mode
# COMPOUNDs of version 4.0: for each its operations as number, arguments, results.
COMPOUNDS = [
    [(35, b"v" * 8 + opaque(b"client") + u32(0x40000000) + opaque(b"tcp") + opaque(b"127.0.0.1.0.1") + u32(1), u64(9) + b"c" * 8)],
    [(36, u64(9) + b"c" * 8, b"")],
    [(24, b"", b""), (10, b"", opaque(ROOT)), (9, u32(1, 1 << 1 | 1 << 3 | 1 << 4), FATTR.replace(u32(1) + u64(77), u32(2) + u64(77)))],
    [(22, opaque(ROOT), b""), (18, u32(1, 1, 0) + u64(9) + opaque(b"owner") + u32(0, 0) + opaque(b"a"),
                               STATE + u32(1) + u64(1) + u64(1) + u32(2, 0, 0)), (10, b"", opaque(FILE)), (9, u32(1, 0), FATTR)],
    [(22, opaque(FILE), b""), (20, STATE + u32(2), CONFIRMED)],
    [(22, opaque(FILE), b""), (25, CONFIRMED + u64(0) + u32(4096), u32(1) + opaque(b"hello"))],
    [(22, opaque(FILE), b""), (4, u32(3) + CONFIRMED, CONFIRMED)],
    [(30, u64(9), b"")],
    [(22, opaque(ROOT), b""), (15, opaque(b"none"), 2), (10, b"", b"")],
    [(22, opaque(ROOT), b""), (28, opaque(b"a"), u32(0) + u64(1) + u64(2))],
    [(22, opaque(ROOT), b""), (15, opaque(b"b"), 10008)],  # asked to repeat it later
]


def packet(at, source, port, to, sequence, data):
    tcp = struct.pack(">HHIIBBHHH", port, to, sequence, 0, 5 << 4, 16, 65535, 0, 0) + data
    target = b"\x0a\0\0\x01" if source[3] == 2 else b"\x0a\0\0\x02"
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, source, target)
    return struct.pack("<IIII", 1700000000, at, len(ip + tcp), len(ip + tcp)) + ip + tcp


def version_4_0():
    out, sent, got = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101), 1, 1
    for i, operations in enumerate(COMPOUNDS):
        call = u32(i, 0, 2, 100003, 4, 1, 1) + opaque(u32(0) + opaque(b"host") + u32(1000, 100, 0)) + u32(0, 0)
        call += opaque(b"tag") + u32(0, len(operations)) + b"".join(u32(number) + asked for number, asked, _ in operations)
        results, status = b"", 0
        done = 0
        for number, _, result in operations:
            status = result if isinstance(result, int) else 0
            results += u32(number, status) + (b"" if status else result)
            done += 1
            if status:
                break
        reply = u32(i, 1, 0, 0, 0, 0) + u32(status) + opaque(b"tag") + u32(done) + results
        for data, source, port, to, at in ((call, b"\x0a\0\0\x02", 700, 2049, 0), (reply, b"\x0a\0\0\x01", 2049, 700, 300)):
            sequence = sent if port == 700 else got
            out += packet(1000 * i + at, source, port, to, sequence, u32(1 << 31 | len(data)) + data)
            if port == 700:
                sent += 4 + len(data)
            else:
                got += 4 + len(data)
    return out


def main():
    if "NFS4_VFS_URL" not in os.environ:
        os.execv(f"{HERE}/../../servers/ganesha", ["ganesha", os.path.abspath(__file__)])
    cases = Cases()
    with Scratch() as scratch:
        place = scratch.path
        run(f"{HERE}/../../apps/make-input", f"{place}/input")
        for app in ("tar", "sqlite"):
            replayed(cases, app, place)
        with open(f"{place}/v40.pcap", "wb") as file:
            file.write(version_4_0())
        error = imported(cases, "version 4.0", f"{place}/v40.pcap", f"{place}/v40.zst", {0})
        got = [(o["kind"], o.get("error", "ok"), o.get("path"), o.get("result", 0)) for o in dumped(f"{place}/v40.zst")]
        cases.case("version 4.0: opens by name, confirmed; reads; what keeps the lease is left out", got == [
            ("getattr", "ok", ".", 0), ("lookup", "ok", "a", 0), ("open", "ok", "a", 0), ("read", "ok", "a", 5), ("release", "ok", "a", 0),
            ("lookup", "ENOENT", "none", 0), ("unlink", "ok", "a", 0)] and "left out 3: COMPOUNDs that keep" in error and
            "left out 1: requests that the server asked to repeat later" in error, f"{got} {error}")
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
