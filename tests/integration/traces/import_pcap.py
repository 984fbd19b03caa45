#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NFS traffic of a replay, captured with tcpdump and imported, is what the replayer was to issue: the same requests with the same
sizes and outcomes in the same order, in pcap and in pcapng; lost packets are counted, and cost only what was in them; it replays."""
import collections
import difflib
import json
import os
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness"]
from lower_fs import Cases, Scratch, built, fstrace_program, shim_program  # noqa: E402
from wire_capture import captured  # noqa: E402

FIELDS = {
    "read": ["offset", "length", "result"], "write": ["offset", "length", "result"], "create": ["name"], "mkdir": ["name", "mode"],
    "symlink": ["name", "data"], "link": ["name2"], "unlink": ["name"], "rmdir": ["name"], "rename": ["name", "name2"],
}


def run(*command):
    done = subprocess.run(command, capture_output=True, check=False, timeout=100)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def operations(trace):
    lines = run(fstrace_program(), "dump", "--json", trace)[1].splitlines()
    return [(o["kind"], o.get("error", "ok"), *(o.get(f, 0) for f in FIELDS[o["kind"]])) for o in map(json.loads, lines)
            if o["kind"] in FIELDS and ".fsreplay" not in o.get("name", "") + o.get("path", "")]


def packets(pcap):
    with open(pcap, "rb") as file:
        data = file.read()
    at, found = 24, []
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        found.append(data[at:at + 16 + size])
        at += 16 + size
    return data[:24], found


def pcapng(header, found):
    """The same packets as pcapng, big-endian, in nanoseconds."""
    def block(kind, body):
        body += b"\0" * (-len(body) % 4)
        return struct.pack(">II", kind, len(body) + 12) + body + struct.pack(">I", len(body) + 12)
    link = struct.unpack_from("<I", header, 20)[0]
    out = block(0x0A0D0D0A, struct.pack(">IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack(">HHIHHB3xHH", link, 0, 0, 9, 1, 9, 0, 0))
    for packet in found:
        seconds, micro, size, whole = struct.unpack_from("<IIII", packet)
        ns = seconds * 10**9 + micro * 1000
        out += block(6, struct.pack(">IIIII", 0, ns >> 32, ns & 0xffffffff, size, whole) + packet[16:])
    return out


def halves(packet):
    """A packet of TCP over IPv4 over Ethernet as two, in the wrong order, and the second again."""
    ip = 16 + 14
    if packet[ip - 2:ip] != b"\x08\0":
        return [packet]
    tcp = ip + (packet[ip] & 15) * 4
    data = tcp + (packet[tcp + 12] >> 4) * 4
    size = struct.unpack_from(">H", packet, ip + 2)[0] - (data - ip)
    if size < 100 or size != len(packet) - data:
        return [packet]
    half, made = size // 2, []
    for begin, end in ((half, size), (0, half), (half, size)):
        piece = bytearray(packet[:data] + packet[data + begin:data + end])
        struct.pack_into("<II", piece, 8, len(piece) - 16, len(piece) - 16)
        struct.pack_into(">H", piece, ip + 2, len(piece) - ip)
        struct.pack_into(">I", piece, tcp + 4, (struct.unpack_from(">I", packet, tcp + 4)[0] + begin) & 0xffffffff)
        made.append(bytes(piece))
    return made


def as_udp(packet):
    """A segment of TCP over IPv4 over Ethernet that is one RPC message, as a datagram of UDP; else nothing."""
    ip = 16 + 14
    tcp = ip + (packet[ip] & 15) * 4
    data = tcp + (packet[tcp + 12] >> 4) * 4
    message = packet[data + 4:]
    if packet[ip - 2:ip] != b"\x08\0" or len(message) < 8 or struct.unpack_from(">I", packet, data)[0] != 1 << 31 | len(message):
        return b""
    made = bytearray(packet[:tcp] + packet[tcp:tcp + 4] + struct.pack(">HH", 8 + len(message), 0) + message)
    made[ip + 9] = 17
    struct.pack_into(">H", made, ip + 2, len(made) - ip)
    struct.pack_into("<II", made, 8, len(made) - 16, len(made) - 16)
    return bytes(made)


def parts(packet):
    """Where a packet of TCP over IPv4 over Ethernet has its TCP header and its data, and from where to where it goes."""
    ip = 16 + 14
    if packet[ip - 2:ip] != b"\x08\0" or packet[ip + 9] != 6:
        return None
    tcp = ip + (packet[ip] & 15) * 4
    return tcp, tcp + (packet[tcp + 12] >> 4) * 4, packet[ip + 12:ip + 20] + packet[tcp:tcp + 4]


def holes(found, every):
    """Of every so many requests the first half is lost, and the rest is in one segment with the next request."""
    out, rest, number, made = [], None, 0, 0
    for packet in found:
        split = parts(packet)
        is_call = split and len(packet) - split[1] > 60 and struct.unpack_from(">I", packet, split[1] + 8)[0] == 0
        if not is_call:
            out.append(packet)
            continue
        tcp, data, flow = split
        if rest and rest[2] == flow:
            joined = bytearray(packet[:data] + rest[0] + packet[data:])
            struct.pack_into("<II", joined, 8, len(joined) - 16, len(joined) - 16)
            struct.pack_into(">H", joined, 32, len(joined) - 30)
            struct.pack_into(">I", joined, tcp + 4, rest[1])
            packet, rest, made = bytes(joined), None, made + 1
        elif rest is None:
            number += 1
            half = (len(packet) - data) // 2
            if number % every == 0:
                rest = packet[data + half:], (struct.unpack_from(">I", packet, tcp + 4)[0] + half) & 0xffffffff, flow
                continue
        out.append(packet)
    return out, made


def fragments(packet):
    """A packet of UDP over IPv4 over Ethernet as fragments, the last first."""
    ip, size, made = 16 + 14, 520, []
    body = packet[ip + 20:]
    for at in range(0, len(body), size):
        piece = bytearray(packet[:ip + 20] + body[at:at + size])
        struct.pack_into("<II", piece, 8, len(piece) - 16, len(piece) - 16)
        struct.pack_into(">H", piece, ip + 2, len(piece) - ip)
        struct.pack_into(">H", piece, ip + 6, at // 8 | (0x2000 if at + size < len(body) else 0))
        made.insert(0, bytes(piece))
    return made


def imported(cases, what, source, out, statuses):
    status, said, error = run(fstrace_program(), "import", source, "-o", out, "--force")
    cases.case(f"{what}: imported", status in statuses, f"status {status}: {said}{error}")
    return error


def main():
    if "NFS_VFS_URL" not in os.environ:
        os.execv(f"{HERE}/../../servers/ganesha", ["ganesha", os.path.abspath(__file__)])
    cases = Cases()
    with Scratch() as scratch:
        place = scratch.path
        top, trace, pcap, out = (f"{place}/{n}" for n in ("top", "trace.zst", "x.pcap", "x.zst"))
        os.mkdir(top)
        run(f"{HERE}/../../apps/make-input", f"{place}/input")
        run(shim_program(), "capture", top, "-o", trace, "--", "sh", "-c", f"cd {top} && {HERE}/../../apps/run tar {place}/input")
        with captured(cases, pcap):
            status, said, error = run(built("replay/fsreplay"), trace, os.environ["NFS_VFS_URL"], "--order", "strict", "--timing", "asap",
                                      "-q", "--json")
        report = json.loads(said)
        cases.case("replayed over NFS", report["matched"] == report["issued"] > 1000, error)
        wanted = operations(trace)
        header, found = packets(pcap)
        with open(f"{place}/x.pcapng", "wb") as file:
            file.write(pcapng(header, found))
        for name in ("x.pcap", "x.pcapng"):
            error = imported(cases, name, f"{place}/{name}", out, {0, 1})
            cases.case(f"{name}: nothing is lost", " lost " not in error, error)
            got = operations(out)
            difference = [d for d in difflib.unified_diff([str(w) for w in wanted], [str(g) for g in got], n=0, lineterm="")]
            cases.case(f"{name}: {len(wanted)} requests, their sizes and outcomes are the replayer's", wanted == got and len(wanted) > 500,
                       f"{len(got)} imported: {difference[:20]}")
        # Every fiftieth packet lost, and the file cut in a packet.
        with open(f"{place}/lossy.pcap", "wb") as file:
            file.write(header + b"".join(p for i, p in enumerate(found) if i % 50 != 49))
        error = imported(cases, "with lost packets", f"{place}/lossy.pcap", out, {1})
        some = collections.Counter(operations(out))
        cases.case("lost packets: they are counted, the others are right", "bytes of TCP streams in packets" in error and
                   not some - collections.Counter(wanted) and sum(some.values()) > len(wanted) / 2, f"{sum(some.values())}: {error}")
        with open(f"{place}/cut.pcap", "wb") as file:
            file.write(header + b"".join(found)[:-100])
        error = imported(cases, "cut", f"{place}/cut.pcap", out, {1})
        cases.case("cut: it is told", "the capture file is truncated" in error, error)
        # Segments in halves, the second of which comes first, and once more.
        swapped = [piece for packet in found for piece in halves(packet)]
        with open(f"{place}/swapped.pcap", "wb") as file:
            file.write(header + b"".join(swapped))
        imported(cases, "out of order", f"{place}/swapped.pcap", out, {0, 1})
        cases.case("out of order, and sent twice: the same requests", collections.Counter(operations(out)) == collections.Counter(wanted) and
                   len(swapped) > len(found) * 1.5, f"{len(swapped)} of {len(found)}")
        with open(f"{place}/udp.pcap", "wb") as file:
            file.write(header + b"".join(map(as_udp, found)))
        error = imported(cases, "over UDP", f"{place}/udp.pcap", out, {0, 1})
        some = collections.Counter(operations(out))
        cases.case("over UDP: the same requests, but for those that no datagram holds", not some - collections.Counter(wanted) and
                   sum(some.values()) > len(wanted) * 0.95, f"{sum(some.values())} of {len(wanted)}: {error}")
        datagrams = [as_udp(packet) for packet in found]
        pieces = [piece for packet in datagrams if packet for piece in fragments(packet)]
        with open(f"{place}/fragments.pcap", "wb") as file:
            file.write(header + b"".join(pieces))
        imported(cases, "over UDP in fragments", f"{place}/fragments.pcap", out, {0, 1})
        cases.case("fragments of UDP are put together", collections.Counter(operations(out)) == some and len(pieces) > len(datagrams) * 1.2,
                   f"{len(pieces)} of {len(datagrams)}")
        with open(f"{place}/fragments.pcap", "wb") as file:
            file.write(header + b"".join(piece for i, piece in enumerate(pieces) if i % 100))
        error = imported(cases, "with fragments lost", f"{place}/fragments.pcap", out, {1})
        cases.case("lost fragments: they are counted", "incomplete sets of IP fragments" in error and
                   not collections.Counter(operations(out)) - some, error)
        torn, made = holes(found, 20)
        with open(f"{place}/torn.pcap", "wb") as file:
            file.write(header + b"".join(torn))
        error = imported(cases, "requests torn", f"{place}/torn.pcap", out, {1})
        some = collections.Counter(operations(out))
        cases.case("behind a hole the next request is found in mid-segment, and what is passed over counted", made > 20 and
                   not some - collections.Counter(wanted) and sum(some.values()) >= len(wanted) - made and "passed over" in error,
                   f"{sum(some.values())} of {len(wanted)}, {made} holes: {error}")
        imported(cases, "to replay", pcap, out, {0, 1})
        status, said, error = run(built("replay/fsreplay"), out, f"{place}/tree", "--order", "strict", "--timing", "asap", "-q", "--json")
        report = json.loads(said)
        cases.case("it replays onto a directory", report["issued"] > 1000 and report["matched"] >= 0.99 * report["issued"],
                   f"{report['matched']} of {report['issued']}: {report['mismatches'][:5]} {error}")
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
