#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NFSv3 target against a server that lies: see hostile.py."""
import os
import struct
import sys
import threading

import hostile

PROXY_PORT = 12999


class Rpc(hostile.Wire):
    head = 8

    def receive_message(self, stream):
        body, last = b"", False
        while not last:
            mark = struct.unpack(">I", hostile.receive(stream, 4))[0]
            last = bool(mark >> 31)
            body += hostile.receive(stream, mark & 0x7FFFFFFF)
        return body

    def framed(self, body):
        return struct.pack(">I", len(body) | 1 << 31) + body

    def oversized(self, body, chance):
        return struct.pack(">I", chance.choice([0x7FFFFFFF, 0xFFFFFFFF, 0x80000000 | len(body) + 50_000_000])) + body

    def strange(self, body, chance):
        return struct.pack(">I", chance.getrandbits(32)) + body[4:]


def huge_count(wire, body, chance):
    at = chance.randrange(24, len(body) - 3) & ~3
    return wire.framed(body[:at] + b"\xff\xff\xff\xff" + body[at + 4:])


def pieces(_, body, __):
    return struct.pack(">I", 0) * 1000 + b"".join(struct.pack(">I", 1) + body[i:i + 1] for i in range(len(body))) + struct.pack(">I", 1 << 31)


class Restarts(hostile.Proxy):
    """The server seems to restart after one COMMIT of `every`: from there on, all write verifiers are others."""
    WRITE, COMMIT = 7, 21

    def forward(self, client, server):
        try:
            while True:
                body = self.wire.receive_message(client)
                xid, procedure = struct.unpack_from(">I16xI", body)
                if procedure in (self.WRITE, self.COMMIT):
                    self.written[xid] = procedure
                server.sendall(self.wire.framed(body))
        except OSError:
            pass
        self.end(client, server)

    def __init__(self, *arguments, **options):
        self.written = {}
        super().__init__(*arguments, **options)

    def answer(self, client, server, _):
        try:
            while True:
                body = self.wire.receive_message(server)
                procedure = self.written.pop(struct.unpack_from(">I", body)[0], None)
                if procedure == self.COMMIT and self.chance.randrange(self.every) == 0:
                    self.damaged += 1
                if procedure and struct.unpack_from(">20xII", body) == (0, 0):  # accepted, and done: the verifier ends it
                    body = body[:-8] + struct.pack(">Q", self.damaged)
                client.sendall(self.wire.framed(body))
        except OSError:
            pass
        self.end(client, server)


class NotYet(hostile.Proxy):
    """Answers one request of `every` with NFS3ERR_JUKEBOX and does not pass it on."""
    # Bytes behind the status: attributes that are not there (RFC 1813). 8 where none is said: those of before and after a change.
    sending = threading.Lock()
    REST = {1: 0, 3: 4, 4: 4, 5: 4, 6: 4, 14: 16, 15: 12, 16: 4, 17: 4, 18: 4, 19: 4, 20: 4}

    def forward(self, client, server):
        try:
            while True:
                body = self.wire.receive_message(client)
                xid, procedure = struct.unpack_from(">I16xI", body)
                if procedure and self.connections > self.honest and self.chance.randrange(self.every) == 0:
                    self.damaged += 1
                    reply = struct.pack(">7I", xid, 1, 0, 0, 0, 0, 10008) + bytes(self.REST.get(procedure, 8))
                    with self.sending:
                        client.sendall(self.wire.framed(reply))
                else:
                    server.sendall(self.wire.framed(body))
        except OSError:
            pass
        self.end(client, server)

    def answer(self, client, server, _):
        try:
            while True:
                reply = self.wire.framed(self.wire.receive_message(server))
                with self.sending:  # not amidst an answer of ours
                    client.sendall(reply)
        except OSError:
            pass
        self.end(client, server)


def jukebox(*_):
    """Names that case."""


def restarted(*_):
    """Names that case."""


def always_restarted(*_):
    """Names that case."""


def run(damage, every, proxy_class=hostile.Proxy, **options):
    directory = f"hostile-{damage.__name__}"
    os.mkdir(os.path.join(os.environ["NFS_VFS_DIR"], directory))
    proxy = proxy_class(Rpc(), damage, every, int(os.environ["NFS_PORT"]), PROXY_PORT)
    url = f"nfs://127.0.0.1/vfs/{directory}?nfsport={PROXY_PORT}&mountport={os.environ['MOUNT_PORT']}&timeout=1"
    return hostile.attack(proxy, url, **options)


def main():
    if "NFS_HOST" not in os.environ:
        ganesha = os.path.join(hostile.SOURCE, "tests/servers/ganesha")
        os.execv(ganesha, [ganesha, sys.executable, os.path.abspath(__file__)])
    good = [run(damage, every) for damage, every in
            ((hostile.flip, 20), (hostile.cut, 20), (hostile.huge_length, 50), (huge_count, 20), (hostile.garbage, 50),
             (hostile.stranger, 2000), (hostile.twice, 20), (pieces, 20), (hostile.hang_up, 50), (hostile.silence, 3000))]
    good.append(run(jukebox, 300, NotYet, all_right=True))
    good.append(run(restarted, 3, Restarts, all_right=True))
    good.append(run(always_restarted, 1, Restarts))
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
