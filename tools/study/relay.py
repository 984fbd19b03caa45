#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""relay.py nfs|9p PORT SERVER:PORT [--delay MS]

Passes a protocol's messages between clients that connect to PORT of loopback and a server, counts them, and holds each back so that a
round trip takes MS longer. On SIGTERM it prints what it counted as JSON: requests by name, bytes both ways, and how much longer it held
messages than it was asked to."""
import argparse
import collections
import ctypes
import json
import select
import signal
import socket
import struct
import sys
import time

NFS3 = ("null getattr setattr lookup access readlink read write create mkdir symlink mknod remove rmdir rename link readdir readdirplus "
        "fsstat fsinfo pathconf commit").split()
NINEP = {8: "statfs", 12: "lopen", 14: "lcreate", 16: "symlink", 18: "mknod", 20: "rename", 22: "readlink", 24: "getattr", 26: "setattr",
         30: "xattrwalk", 32: "xattrcreate", 40: "readdir", 50: "fsync", 52: "lock", 54: "getlock", 70: "link", 72: "mkdir", 74: "renameat",
         76: "unlinkat", 100: "version", 102: "auth", 104: "attach", 108: "flush", 110: "walk", 112: "open", 114: "create", 116: "read",
         118: "write", 120: "clunk", 122: "remove", 124: "stat", 126: "wstat"}
BUFFER = 1 << 20
MOST_WAITING = 8 << 20  # bytes held back in one direction before no more are read


class Names:
    """Cuts a client's stream into messages and counts them by name. Only the first bytes of a message are looked at."""
    HEAD = 28

    def __init__(self, protocol, counts):
        self.protocol, self.counts = protocol, counts
        self.head, self.skip = b"", 0

    def feed(self, octets):
        at = 0
        while at < len(octets):
            if self.skip:
                step = min(self.skip, len(octets) - at)
                self.skip -= step
                at += step
                continue
            need = self.HEAD if self.protocol == "nfs" else 5
            part = octets[at:at + need - len(self.head)]
            self.head += part
            at += len(part)
            # A message may be shorter than what is looked at; none of these protocols has a request below 7 bytes.
            if len(self.head) < need:
                return
            size = 4 + (struct.unpack(">I", self.head[:4])[0] & 0x7FFFFFFF) if self.protocol == "nfs" else struct.unpack("<I", self.head[:4])[0]
            self.counts[self.name()] += 1
            self.skip, self.head = size - need, b""

    def name(self):
        if self.protocol == "9p":
            return NINEP.get(self.head[4], f"type {self.head[4]}")
        _, kind, _, program, version, procedure = struct.unpack_from(">6I", self.head, 4)
        if kind:
            return "reply to a callback"
        if program != 100003:
            return f"program {program}"
        if version == 4:
            return "compound" if procedure else "null"
        return NFS3[procedure] if procedure < len(NFS3) else f"procedure {procedure}"


class Direction:
    """What one end sends to the other."""

    def __init__(self, source, sink, names):
        self.source, self.sink, self.names = source, sink, names
        self.waiting = collections.deque()  # (when it is due, bytes)
        self.held, self.ended, self.bytes = 0, False, 0


class Relay:
    def __init__(self, options):
        self.options, self.half = options, options.delay / 2000
        host, _, port = options.server.rpartition(":")
        self.server = host, int(port)
        self.counts, self.late, self.messages = collections.Counter(), 0.0, 0
        self.bytes = {"to the server": 0, "to the client": 0}
        self.listener = socket.create_server(("127.0.0.1", options.port), backlog=64)
        self.directions = []
        self.stopping = False

    def accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(self.server, timeout=10)
        except OSError:
            client.close()
            return
        for stream in (client, server):
            stream.setblocking(False)
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.directions += [Direction(client, server, Names(self.options.protocol, self.counts)), Direction(server, client, None)]

    def run(self):
        while not self.stopping:
            now = time.monotonic()
            readers = [self.listener] + [d.source for d in self.directions if not d.ended and d.held < MOST_WAITING]
            writers = [d.sink for d in self.directions if d.waiting and d.waiting[0][0] <= now]
            due = [d.waiting[0][0] - now for d in self.directions if d.waiting and d.waiting[0][0] > now]
            try:
                can_read, can_write, _ = select.select(readers, writers, [], max(0, min(due)) if due else 0.5)
            except InterruptedError:
                continue
            if self.listener in can_read:
                self.accept()
            for direction in self.directions:
                if direction.source in can_read:
                    self.read(direction)
                if direction.waiting and (direction.sink in can_write or not self.half):
                    self.write(direction)
            self.drop_ended()

    def read(self, direction):
        try:
            octets = direction.source.recv(BUFFER)
        except BlockingIOError:
            return
        except OSError:
            octets = b""
        if not octets:
            direction.ended = True
            return
        if direction.names:
            direction.names.feed(octets)
        self.bytes["to the server" if direction.names else "to the client"] += len(octets)
        direction.held += len(octets)
        direction.waiting.append((time.monotonic() + self.half, octets))

    def write(self, direction):
        while direction.waiting:
            due, octets = direction.waiting[0]
            late = time.monotonic() - due
            if late < 0:
                return
            try:
                sent = direction.sink.send(octets)
            except BlockingIOError:
                return
            except OSError:
                direction.ended = True
                direction.waiting.clear()
                return
            direction.held -= sent
            if sent < len(octets):
                direction.waiting[0] = (due, octets[sent:])
                return
            direction.waiting.popleft()
            self.late += late
            self.messages += 1

    def drop_ended(self):
        for direction in [d for d in self.directions if d.ended and not d.waiting]:
            if direction not in self.directions:
                continue
            both = [d for d in self.directions if direction.source in (d.source, d.sink)]
            for one in both:
                self.directions.remove(one)
            for stream in (direction.source, direction.sink):
                stream.close()

    def report(self):
        return {"requests": dict(self.counts), "bytes": self.bytes, "delay_ms": self.options.delay,
                "late_ms": 2000 * self.late / self.messages if self.messages else 0}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("protocol", choices=["nfs", "9p"])
    parser.add_argument("port", type=int)
    parser.add_argument("server")
    parser.add_argument("--delay", type=float, default=0)
    relay = Relay(parser.parse_args())

    def stop(*_):
        relay.stopping = True
    signal.signal(signal.SIGTERM, stop)
    ctypes.CDLL(None).prctl(29, 1)  # PR_SET_TIMERSLACK: wake up when it is due, not 50 us later
    print("ready", flush=True)
    relay.run()
    json.dump(relay.report(), sys.stdout)


if __name__ == "__main__":
    main()
