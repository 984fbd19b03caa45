#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What foreign input may look like, for every importer: a clear message or a counted skip, never a crash, never success without an
operation, never half a trace."""
import gzip
import itertools
import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, fstrace_program  # noqa: E402

DATA = f"{os.path.dirname(os.path.abspath(__file__))}/../../data/import"
# Formats by their samples. Binary ones have no lines: what concerns lines does them another kind of harm.
SAMPLES = {
    "strace": ["strace-y.log", "strace.log"], "fio-iolog": ["fio-iolog-v2.log", "fio-iolog-v3.log"], "msr": ["msr.csv"],
    "blkparse": ["blkparse.txt"], "pcap": ["nfs3.pcap", "nfs4.pcap"], "loggedfs": ["loggedfs.log"],
    "nfsdump": ["nfsdump.txt"], "dxt": ["dxt.txt"], "dftracer": ["dftracer.pfw", "dftracer2.pfw"],
}


# Logs of strace without times: told as such whatever stands before the calls.
TIMELESS = {"-f": "1234  openat(AT_FDCWD, \"/x\", O_RDONLY) = 3\n",
            "-i": "[00007f1c9a6ea7b4] openat(AT_FDCWD, \"/x\", O_RDONLY) = 3\n",
            "-f -i": "1234  [00007f1c9a6ea7b4] openat(AT_FDCWD, \"/x\", O_RDONLY) = 3\n",
            "-f, on standard error": "[pid  1234] openat(AT_FDCWD, \"/x\", O_RDONLY) = 3\n"}


def reversed_times(data):
    """Reverses the order of the lines. The first line stays first, except in nfsdump text, where pairs of call and reply are reversed."""
    first, *others = data.splitlines(keepends=True)
    for metadata, call in ((b'"ph":"M"', b'"ph":"X"'), (b'"ph":4', b'"ph":1')):
        if metadata in data:  # names of hashes stay in front of what uses them
            return b"".join([first, *(line for line in others if metadata in line), *(line for line in reversed(others) if call in line)])
    if b" C3 " not in data:
        return first + b"".join(reversed(others))
    others = [first, *others]
    return b"".join(b"".join(others[at:at + 2]) for at in range(len(others) - 2, -1, -2))


def in_middle(data, what):
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:2]) + what + b"".join(lines[2:])


# Name: what is made of a good input, the statuses that are right, words that must be told.
SPOILT = {
    "empty": (lambda data: b"", {2}, "is empty"),
    "empty lines": (lambda data: b"\n\r\n\n", {2}, "not recognized as any of"),
    "another format": (lambda data: b"%PDF-1.4 none of these\n" * 50, {2}, "not recognized as any of"),
    "cut in mid-line": (lambda data: data[:len(data) * 2 // 3].rstrip(b"\n"), {1}, "may be truncated"),
    "NUL bytes": (lambda data: in_middle(data, b"\0" * 5000 + b"\n"), {1}, "lines with NUL bytes"),
    "times running backwards": (reversed_times, {0, 1}, ""),
    "a line of 1 MB": (lambda data: in_middle(data, b"9" * (1 << 20) + b"\n"), {1}, "not understood"),
    "a line of 40 MB": (lambda data: in_middle(data, b"x" * (40 << 20) + b"\n"), {1}, "longer than 32 MiB"),
    "mixed line ends": (lambda data: b"".join(line[:-1] + (b"\r\n" if i % 2 else b"\n")
                                              for i, line in enumerate(data.splitlines(keepends=True))), {0, 1}, ""),
    "half of its bytes changed": (lambda data: bytes(b ^ (b * 31 + i) % 2 for i, b in enumerate(data)), {1, 2}, ""),
}




def members(data, between=b"", cut=None):
    """Returns what gzip writes for the halves of `data`, one after the other, as programs do that write in pieces."""
    return (gzip.compress(data[:len(data) // 2]) + between + gzip.compress(data[len(data) // 2:]))[:cut]


COMPRESSED = {
    "by gzip in two pieces": (members, {0, 1}, ""),
    "with zeros behind a piece": (lambda data: members(data, b"\0" * 600), {0, 1}, ""),
    "with a line end behind it": (lambda data: gzip.compress(data) + b"\r\n", {0, 1}, ""),
    "with a byte behind it": (lambda data: gzip.compress(data) + b"x", {1}, "rest of the compressed input: not written by gzip"),
    "cut": (lambda data: members(data, cut=-20), {1}, "rest of the compressed input: unexpected end of file"),
    "its second piece damaged": (lambda data: members(data, b"\1"), {1}, "rest of the compressed input: not written by gzip"),
    "its beginning damaged": (lambda data: b"\x1f\x8b" + data[:300], {2}, "compressed input is damaged"),
}

# Without lines.
SPOILT_BINARY = {
    **{what: SPOILT[what] for what in ("empty", "another format")},
    "cut": (lambda data: data[:len(data) * 2 // 3], {1}, "the capture file is truncated"),
    "NUL bytes": (lambda data: data[:10000] + b"\0" * 5000 + data[10000:], {1}, "lost"),
    "its header only": (lambda data: data[:24], {2}, "no operation"),
    "half of its bytes changed": (lambda data: data[:24] + bytes(b ^ (b * 31 + i) % 2 for i, b in enumerate(data[24:])), {1, 2}, ""),
    "a byte in fifty changed": (lambda data: data[:500] + bytes(b ^ 255 if i % 50 == 0 else b for i, b in enumerate(data[500:])),
                                {1, 2}, ""),
    "lengths beyond the file": (lambda data: data[:24] + b"\xff" * 16 + data[40:], {2}, "expected a packet's header"),
}


def run(*command):
    done = subprocess.run([fstrace_program(), *command], capture_output=True, check=False, timeout=60)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def operations(trace):
    return subprocess.run([fstrace_program(), "dump", trace], capture_output=True, check=False).stdout.count(b"\n")


def reconnected(half):
    """A capture of NFSv3 calls over two connections from one port. The first ends in the middle of a call, or behind a lost packet."""
    client, server = b"\x0a\0\0\1", b"\x0a\0\0\2"
    data, clock = [struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101)], itertools.count(1)

    def packet(up, seq, ack, flags, payload):
        segment = struct.pack(">HHIIBBHHH", *((900, 2049) if up else (2049, 900)), seq, ack, 5 << 4, flags, 65535, 0, 0) + payload
        addresses = client + server if up else server + client
        whole = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0) + addresses + segment
        data.append(struct.pack("<IIII", 1700000000, next(clock), len(whole), len(whole)) + whole)

    def record(body):
        return struct.pack(">I", 0x80000000 | len(body)) + body

    def call(xid):
        return record(struct.pack(">11I", xid, 0, 2, 100003, 3, 1, 0, 0, 0, 0, 8) + b"rootroot")

    def reply(xid):
        attributes = struct.pack(">5IQQIIQQ6I", 1, 0o644, 1, 0, 0, 100, 4096, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0)
        return record(struct.pack(">7I", xid, 1, 0, 0, 0, 0, 0) + attributes)

    xid = 0
    for seq, calls in ((1000, 5), (500000, 10)):
        back = seq + 1000
        packet(True, seq, 0, 2, b"")
        packet(False, back, seq + 1, 0x12, b"")
        seq, back = seq + 1, back + 1
        for _ in range(calls):
            xid += 1
            packet(True, seq, back, 0x18, call(xid))
            seq += len(call(xid))
            packet(False, back, seq, 0x18, reply(xid))
            back += len(reply(xid))
        if calls == 5 and half:
            packet(True, seq, back, 0x18, call(99)[:40])
        elif calls == 5:
            packet(True, seq + len(call(98)), back, 0x18, call(99))
    return b"".join(data)


def main():
    cases = Cases()
    with Scratch() as scratch:
        out, spoilt = f"{scratch.path}/out.zst", f"{scratch.path}/input"
        for name, samples in SAMPLES.items():
            for sample in samples:
                with open(f"{DATA}/{sample}", "rb") as file:
                    data = file.read()
                status, said = run("import", f"{DATA}/{sample}", "--directory", "/srv/work" if b"/srv/work" in data else "/", "-o", out)
                good = operations(out) if os.path.exists(out) else 0
                cases.case(f"{sample} is recognized as {name}", status in (0, 1) and good > 4 and f"lost" not in said, said)
                for what, (spoil, statuses, words) in ({**(SPOILT_BINARY if sample.endswith(".pcap") else SPOILT), **COMPRESSED}).items():
                    if os.path.exists(out):
                        os.unlink(out)
                    with open(spoilt, "wb") as file:
                        file.write(spoil(data))
                    status, said = run("import", spoilt, "--directory", "/srv/work" if b"/srv/work" in data else "/", "-o", out)
                    made = operations(out) if os.path.exists(out) else 0
                    left = [n for n in os.listdir(scratch.path) if n not in ("input", "out.zst")]
                    told = status in statuses and words in said and (made > 0) == (status != 2) and not left
                    told = told and (what not in COMPRESSED or words != "" or "lost" not in said)  # nothing to tell: whole
                    cases.case(f"{sample}, {what}", told and (status != 0 or made >= good) and "runtime error" not in said,
                               f"status {status}, {made} operations, left {left}: {said[-600:]}")
            forced = next(s for other, s in SAMPLES.items() if other != name)[0]
            status, said = run("import", f"{DATA}/{forced}", "--format", name, "-o", out, "--force")
            cases.case(f"{forced} forced to be {name}", status == 2 and ("no operation" in said or "expected" in said), said)
        for options, line in TIMELESS.items():
            with open(spoilt, "w", encoding="ascii") as file:
                file.write(line * 3)
            status, said = run("import", spoilt, "-o", out, "--force")
            cases.case(f"strace {options}, without times", status == 2 and "strace log without times" in said, said)
        for half, words in ((True, "RPC messages with bytes that were lost"), (False, "calls whose reply was not seen")):
            with open(spoilt, "wb") as file:
                file.write(reconnected(half))
            status, said = run("import", spoilt, "-o", out, "--force")
            cases.case(f"a connection from the port of one that ended {'in a call' if half else 'behind a gap'}",
                       status == 1 and operations(out) == 15 and words in said, f"{operations(out)} operations: {said}")
        with open(spoilt, "w", encoding="ascii") as file:
            file.write("fio version 3 iolog\n1 /a add\n2 /a open\n3 /a write 0 4294967295\n4 /a read 0 4096\n")
        status, said = run("import", spoilt, "-o", out, "--force")
        cases.case("a write that Linux would shorten", status == 1 and "changed 1: reads and writes of more than 2 GiB" in said, said)
        status, said = run("import", f"{DATA}/msr.csv", "--format", "nonsense", "-o", out, "--force")
        cases.case("an unknown format", status == 2 and "expected one of" in said, said)
        for order in "<>":
            with open(spoilt, "wb") as file:
                file.write(struct.pack(f"{order}8sq", b"3.41", 6567223) + b"\1" * 400)
            status, said = run("import", spoilt, "-o", out, "--force")
            cases.case(f"a log of Darshan itself ({order})", status == 2 and "darshan-dxt-parser" in said, said)
        status, said = run("import", f"{DATA}/../golden-v1.zst", "-o", out, "--force")
        cases.case("a trace of our own", status == 2 and "is a trace already" in said, said)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
