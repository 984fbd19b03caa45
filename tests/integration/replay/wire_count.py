#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fsreplay reports of a load on NFSv3 beside an independent count: tcpdump's record of each call and reply (RFC 5531), from which
this script computes rates, durations and percentiles of the response. On a server that answers, is slow, pauses, or hangs for good, and
while fsreplay itself is stopped.

wire_count.py [--table]   with the figures of both, as in docs/results.md"""
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
from server_faults import HERE, PATIENCE, Cases, Scratch, Server, built  # noqa: E402

LOAD, DURATION, TIMEOUT = 200, 5, 3  # calls a second, at even gaps, one at a time; seconds
NFS = 100003


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


def calls(path, port):
    """{xid: [time of the call, time of its reply or None]} of NFS, in the order of the calls."""
    streams, found = {}, {}
    for when, source, to, sequence, payload in packets(path):
        if not payload:
            continue
        stream = streams.setdefault((source, to), [sequence, b"", []])
        if sequence != stream[0]:
            continue  # sent again
        stream[0] = (sequence + len(payload)) % 2**32
        stream[1] += payload
        while len(stream[1]) >= 4 and len(stream[1]) >= 4 + (struct.unpack(">I", stream[1][:4])[0] & 0x7FFFFFFF):
            size = 4 + (struct.unpack(">I", stream[1][:4])[0] & 0x7FFFFFFF)
            record, stream[1] = stream[1][4:size], stream[1][size:]
            xid, reply = struct.unpack_from(">2I", record)
            if to == port and not reply and struct.unpack_from(">I", record, 12)[0] == NFS:
                found[xid] = [when, None]
            elif source == port and reply and xid in found and found[xid][1] is None:
                found[xid][1] = when
    return list(found.values())


def quantile(values, share):
    return sorted(values)[max(0, min(len(values), -int(-share * len(values) // 1)) - 1)]


def counted(path, port, report):
    """The figures that the report should have, from the wire alone. The report's own are used for two things that the wire can't show: how
    many calls are the run's, after its preparation, and when a run that could not issue or complete all was stopped."""
    of_run = calls(path, port)[-report["issued"]:]
    start = min(sent - i / LOAD for i, (sent, _) in enumerate(of_run))  # no call is sent before it is due, and most at once
    answered, due = sum(done is not None for _, done in of_run), LOAD * DURATION
    end = max(start + DURATION, of_run[-1][1]) if answered == due else start + report["elapsed_ns"] / 1e9
    given_up = [sent for sent, _ in of_run[1:]] + [end]  # one at a time: the next call, if there was no answer
    until = [done or later for (_, done), later in zip(of_run, given_up)] + [start + DURATION] * (due - len(of_run))
    waits = [until[i] - start - i / LOAD for i in range(due)]
    return {"calls issued": len(of_run), "answered": answered, "never issued": due - len(of_run), "duration, s": end - start,
            "achieved, 1/s": answered / (end - start), "response p50, ms": quantile(waits, 0.5) * 1e3, "response p99, ms": quantile(waits, 0.99) * 1e3,
            "response mean, ms": sum(waits) / due * 1e3, "response max, ms": max(waits) * 1e3}


def reported(report):
    response = report["response"]
    return {"calls issued": report["issued"], "answered": report["issued"] - report["unanswered"] - report["unfinished"],
            "never issued": report["overdue"], "duration, s": report["elapsed_ns"] / 1e9, "achieved, 1/s": report["achieved_per_s"],
            "response p50, ms": response["p50_ns"] / 1e6, "response p99, ms": response["p99_ns"] / 1e6,
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
    wire = f"{server.directory}.{name}.pcap"
    with recorded(wire, server.port):
        csv = f"{server.directory}.{name}.csv"
        with open(f"{csv}.json", "w+", encoding="ascii") as output, subprocess.Popen([built("replay/fsreplay"), "mix:sfs97-v3", f"{server.url(name)}&timeout={TIMEOUT if lasts is None else PATIENCE}",
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
    return counted(wire, server.port, report), reported(report), report


def beside_server(as_table):
    cases, server = Cases(), Server("nfs3")
    for name, who, lasts in (("the server answers", None, 0), ("the server is slow", "slow server", 0), ("the server pauses for 2 s", "server", 2.0), ("the server hangs", "server", None),
                             ("fsreplay is stopped for 2 s", "fsreplay", 2.0)):
        wire, said, report = run_beside_tcpdump(server, name.replace(" ", "-"), who, lasts)
        if as_table:
            for key, value in wire.items():
                print(f"| {name} | {key} | {value:.5g} | {said[key]:.5g} |")
        # Buckets of the histogram are 3 % wide. A busy machine may take 25 ms between wire and program, and a run that is stopped in the midst
        # of a load ends up to 0.15 s after its duration.
        late = 25 + 150 * (wire["never issued"] > 0)  # ms
        wrong = {key: (wire[key], said[key]) for key in wire
                 if abs(wire[key] - said[key]) > (0 if isinstance(wire[key], int) else 0.04 * wire[key] + (late if key.endswith("ms") else 0.05))}
        cases.case(f"{name}: the report agrees with the wire", not wrong, (wrong, report["limited_by"]))
    return cases.status()


def main():
    if sys.argv[1:2] == ["--beside"]:
        return beside_server("--table" in sys.argv)
    with Scratch() as scratch:
        return subprocess.run([os.path.join(HERE, "..", "..", "servers", "ganesha"), "--dir", f"{scratch.path}/nfs3", __file__, "--beside",
                               *sys.argv[1:]], stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
