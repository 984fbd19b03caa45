#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fsreplay reports of a load on NFSv3, NFSv4.1, 9P and AFP beside an independent count: tcpdump's record of each request and reply,
from which this script computes rates, durations and percentiles of the response. On a server that answers, is slow, pauses, or hangs for
good, and while fsreplay itself is stopped. All servers at once.

wire_count.py [--table] [nfs3|nfs4|9p|afp...]   with the figures of both, as in docs/results.md"""
import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server_faults import HERE, PATIENCE, SERVERS, Cases, Scratch, Server, built  # noqa: E402

LOAD, DURATION, TIMEOUT = 200, 5, 3  # calls a second, at even gaps, one at a time; seconds
NFS = 100003
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def packets(path):
    """(time, source, destination, sequence number, payload) of each TCP segment in a pcap file of Ethernet frames."""
    with open(path, "rb") as file:
        data = file.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    unit = 1e-9 if struct.unpack(order + "I", data[:4])[0] == 0xA1B23C4D else 1e-6
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, size, _ = struct.unpack_from(order + "4I", data, at)
        ip, at = data[at + 16 + 14:at + 16 + size], at + 16 + size
        tcp, length = (ip[0] & 15) * 4, struct.unpack_from(">H", ip, 2)[0]
        source, to, sequence = struct.unpack_from(">HHI", ip, tcp)
        yield seconds + fraction * unit, source, to, sequence, ip[tcp + (ip[tcp + 12] >> 4) * 4:length]


def framed_as(kind, data):
    """(size, tag, is a request, is a reply) of the message at the start of `data`, or None if it is not whole."""
    if kind == "afp":
        if len(data) < 16 or len(data) < 16 + int.from_bytes(data[8:12], "big"):
            return None
        unanswered = data[1] in (1, 5)  # CloseSession, Tickle
        return 16 + int.from_bytes(data[8:12], "big"), data[2:4], data[0] == 0 and not unanswered, data[0] == 1
    if kind == "9p":
        size = int.from_bytes(data[:4], "little")
        return (size, data[5:7], data[4] % 2 == 0, data[4] % 2 == 1) if 7 <= size <= len(data) else None
    size = 4 + (int.from_bytes(data[:4], "big") & 0x7FFFFFFF)
    return (size, data[4:8], data[11] == 0, data[11] == 1) if 12 <= size <= len(data) else None


def messages(kind, path):
    """(time, source, destination, message, its frame) of each whole message. Segments may be seen twice, late or, if tcpdump lost some, not."""
    streams = {}
    for when, source, to, sequence, payload in packets(path):
        if not payload:
            continue
        stream = streams.setdefault((source, to), [sequence, b"", {}])
        stream[2][sequence] = payload
        if len(stream[2]) > 100:  # tcpdump lost what was before
            stream[:2] = min(stream[2], key=lambda at, begun=stream[0]: (at - begun) % 2**32), b""
        while True:  # parts may be seen again, or before an earlier one
            known = {at: (stream[0] - at) % 2**32 for at in stream[2]}
            fits = [at for at, seen in known.items() if seen < len(stream[2][at])]
            for at in [at for at, seen in known.items() if len(stream[2][at]) <= seen < 2**31]:
                del stream[2][at]
            if not fits:
                break
            stream[1] += stream[2][fits[0]][known[fits[0]]:]
            stream[0] = (fits[0] + len(stream[2].pop(fits[0]))) % 2**32
        while frame := framed_as(kind, stream[1]):
            yield when, source, to, stream[1][:frame[0]], frame
            stream[1] = stream[1][frame[0]:]


def is_getattr(kind, request):
    """Whether the request is what one GETATTR of a mix becomes."""
    if kind == "afp":
        return request[16:17] == b"\x22"  # FPGetFileDirParms
    if kind == "9p":
        return request[4] == 24  # Tgetattr
    _, _, _, program, _, procedure, _, credentials = struct.unpack_from(">8I", request, 4)
    if program != NFS:
        return False
    if kind == "nfs3":
        return procedure == 1
    at = 36 + credentials + 8
    at += 4 + (struct.unpack_from(">I", request, at)[0] + 3) // 4 * 4 + 4  # the tag, the minor version
    if procedure != 1 or struct.unpack_from(">2I", request, at) != (3, 53):  # SEQUENCE and two more
        return False
    at += 8 + 32
    operation, size = struct.unpack_from(">2I", request, at)
    return operation == 22 and struct.unpack_from(">I", request, at + 8 + (size + 3) // 4 * 4)[0] == 9  # PUTFH, GETATTR


def calls(kind, path, port):
    """[time of the call, time of its reply or None] of each GETATTR, in their order."""
    asked, found = {}, []
    for when, source, to, message, (_, tag, is_request, is_reply) in messages(kind, path):
        if to == port and is_request and is_getattr(kind, message):
            found.append([when, None])
            asked[source, tag] = found[-1]
        elif source == port and is_reply and (to, tag) in asked:
            asked.pop((to, tag))[1] = when
    return found


def quantile(values, share):
    return sorted(values)[max(0, min(len(values), -int(-share * len(values) // 1)) - 1)]


def counted(kind, path, port, report):
    """The figures that the report should have, from the wire alone. The report's own are used for what the wire can't show: how many calls
    are the run's, after its preparation, how many of these were issued while no connection was to be had, and when a run that could not
    issue or complete all was stopped."""
    seen = calls(kind, path, port)
    answered = report["issued"] - report["unanswered"] - report["unfinished"]
    hung = sum(done is None for _, done in seen)
    of_run = seen[-(answered + hung):]
    while len(of_run) < report["issued"]:  # after a call that hung, the session or the attachment is to be made anew, which hangs as well
        of_run.append([of_run[-1][0] + TIMEOUT, None])
    start = min(sent - i / LOAD for i, (sent, _) in enumerate(of_run))  # no call is sent before it is due, and most at once
    answered, due = sum(done is not None for _, done in of_run), LOAD * DURATION
    end = max(start + DURATION, of_run[-1][1]) if answered == due else start + report["elapsed_ns"] / 1e9
    given_up = [sent for sent, _ in of_run[1:]] + [end]  # one at a time: the next call, if there was no answer
    until = [done or later for (_, done), later in zip(of_run, given_up)] + [start + DURATION] * (due - len(of_run))
    waits = [until[i] - start - i / LOAD for i in range(due)]
    return {"calls issued": len(of_run), "answered": answered, "never issued": due - len(of_run), "duration, s": end - start,
            "achieved, 1/s": answered / (end - start), **{f"response {name}, ms": quantile(waits, share) * 1e3 for name, share in QUANTILES.items()},
            "response mean, ms": sum(waits) / due * 1e3, "response max, ms": max(waits) * 1e3}


def reported(report):
    response = report["response"]
    return {"calls issued": report["issued"], "answered": report["issued"] - report["unanswered"] - report["unfinished"],
            "never issued": report["overdue"], "duration, s": report["elapsed_ns"] / 1e9, "achieved, 1/s": report["achieved_per_s"],
            **{f"response {name}, ms": response[f"{name}_ns"] / 1e6 for name in QUANTILES},
            "response mean, ms": response["mean_ns"] / 1e6, "response max, ms": response["max_ns"] / 1e6}


@contextlib.contextmanager
def recorded(path, port):
    """Has tcpdump record what goes through the port."""
    with subprocess.Popen(["tcpdump", "-i", "lo", "-w", path, "--immediate-mode", "-U", "-B", "65536", "-s", "0", "tcp", "port", str(port)],
                          stderr=subprocess.PIPE, text=True) as dump:
        while "listening on" not in dump.stderr.readline():
            pass
        try:
            yield
        finally:
            dump.send_signal(signal.SIGINT)
            dump.wait()


def run_beside_tcpdump(server, name, who, lasts):
    wire, url, mix = f"{server.directory}.{name}.pcap", server.url(name), f"{server.directory}.mix"
    with open(mix, "w", encoding="ascii") as file:
        file.write("nfs v3 server total: 100\nnfs v3 server getattr: 100\n")
    with recorded(wire, server.port):
        csv = f"{server.directory}.{name}.csv"
        with open(f"{csv}.json", "w+", encoding="ascii") as output, subprocess.Popen([built("replay/fsreplay"), mix, f"{url}{'&' if '?' in url else '?'}timeout={TIMEOUT if lasts is None else PATIENCE}",
                               "--streams", "1", "--arrival", "deterministic", "--duration", f"{DURATION}s", "--load", str(LOAD), "-q",
                               "--json", "--csv", csv], stdout=output) as replay:
            while who and not (os.path.exists(csv) and len(open(csv, encoding="ascii").readlines()) > 1):
                time.sleep(0.02)
            stop = replay.send_signal if who == "fsreplay" else server.send
            if who == "slow server":
                while replay.poll() is None:
                    stop(signal.SIGSTOP)
                    time.sleep(0.02)
                    stop(signal.SIGCONT)
                    time.sleep(0.005)
            elif who:
                stop(signal.SIGSTOP)
                if lasts is not None:
                    time.sleep(lasts)
                    stop(signal.SIGCONT)
            replay.wait(PATIENCE)
            output.seek(0)
            report = json.load(output)
        time.sleep(0.2)
    if who and lasts is None:
        stop(signal.SIGCONT)
    return counted(server.kind, wire, server.port, report), reported(report), report


def beside_server(kind, as_table):
    cases, server = Cases(), Server(kind)
    for name, who, lasts in (("the server answers", None, 0), ("the server is slow", "slow server", 0), ("the server pauses for 2 s", "server", 2.0), ("the server hangs", "server", None),
                             ("fsreplay is stopped for 2 s", "fsreplay", 2.0)):
        wire, said, report = run_beside_tcpdump(server, name.replace(" ", "-"), who, lasts)
        if as_table:
            for key, value in wire.items():
                print(f"| {name} | {kind} | {key} | {value:.5g} | {said[key]:.5g} |")
        # Buckets of the histogram are 3 % wide. A busy machine may take 25 ms between wire and program, and a run that is stopped in the midst
        # of a load ends up to 0.15 s after its duration.
        late = 25 + 150 * (wire["never issued"] > 0)  # ms
        wrong = {key: (wire[key], said[key]) for key in wire
                 if abs(wire[key] - said[key]) > (0 if isinstance(wire[key], int) else 0.04 * wire[key] + (late if key.endswith("ms") else 0.05))}
        cases.case(f"{kind}, {name}: the report agrees with the wire", not wrong, (wrong, report["limited_by"]))
    return cases.status()


def main():
    words = sys.argv[1:]
    if words[:1] == ["--beside"]:
        return beside_server(words[1], "--table" in words)
    with Scratch() as scratch:
        beside = [subprocess.Popen([os.path.join(HERE, "..", "..", "servers", SERVERS[kind][0]), "--dir", f"{scratch.path}/{kind}", __file__, "--beside",
                                    kind, *words], stdin=subprocess.DEVNULL)
                  for kind in [word for word in words if word in SERVERS] or SERVERS]
        return 1 if any([server.wait() for server in beside]) else 0


if __name__ == "__main__":
    sys.exit(main())
