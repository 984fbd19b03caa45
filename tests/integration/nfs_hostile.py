#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NFSv3 target against a server that lies: see hostile.py."""
import os
import struct
import sys

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


def run(damage, every):
    directory = f"hostile-{damage.__name__}"
    os.mkdir(os.path.join(os.environ["NFS_VFS_DIR"], directory))
    proxy = hostile.Proxy(Rpc(), damage, every, int(os.environ["NFS_PORT"]), PROXY_PORT)
    return hostile.attack(proxy, f"nfs://127.0.0.1/vfs/{directory}?nfsport={PROXY_PORT}&mountport={os.environ['MOUNT_PORT']}&timeout=1")


def main():
    if "NFS_HOST" not in os.environ:
        ganesha = os.path.join(hostile.SOURCE, "tests/servers/ganesha")
        os.execv(ganesha, [ganesha, sys.executable, os.path.abspath(__file__)])
    good = [run(damage, every) for damage, every in
            ((hostile.flip, 20), (hostile.cut, 20), (hostile.huge_length, 50), (huge_count, 20), (hostile.garbage, 50),
             (hostile.stranger, 2000), (hostile.twice, 20), (pieces, 20), (hostile.hang_up, 50), (hostile.silence, 3000))]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
