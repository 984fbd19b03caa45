#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NFSv3 target against a server that lies: see hostile.py."""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402

PROXY_PORT = 12999


def huge_count(wire, body, chance):
    at = chance.randrange(24, len(body) - 3) & ~3
    return wire.framed(body[:at] + b"\xff\xff\xff\xff" + body[at + 4:])


def pieces(_, body, __):
    return struct.pack(">I", 0) * 1000 + b"".join(struct.pack(">I", 1) + body[i:i + 1] for i in range(len(body))) + struct.pack(">I", 1 << 31)


class Restarts(faults.Fault):
    """The server seems to restart after one COMMIT of `every`: from there on, all write verifiers are others."""
    WRITE, COMMIT = 7, 21

    def __init__(self, every):
        self.every, self.written, self.chance = every, {}, random.Random(7)

    def request(self, link, body):
        xid, procedure = struct.unpack_from(">I16xI", body)
        if procedure in (self.WRITE, self.COMMIT):
            self.written[xid] = procedure
        return body

    def reply(self, link, body):
        procedure = self.written.pop(struct.unpack_from(">I", body)[0], None)
        if procedure == self.COMMIT and self.chance.randrange(self.every) == 0:
            self.times += 1
        if procedure and struct.unpack_from(">20xII", body) == (0, 0):  # accepted, and done: the verifier ends it
            body = body[:-8] + struct.pack(">Q", self.times)
        return link.wire.framed(body)


class RestartsAlways(Restarts):
    pass


class Jukebox(faults.Fault):
    """Answers one request of `every` with NFS3ERR_JUKEBOX and does not pass it on."""
    # Bytes behind the status: attributes that are not there (RFC 1813). 8 where none is said: those of before and after a change.
    REST = {1: 0, 3: 4, 4: 4, 5: 4, 6: 4, 14: 16, 15: 12, 16: 4, 17: 4, 18: 4, 19: 4, 20: 4}

    def __init__(self, every, honest=1):
        self.every, self.honest, self.chance = every, honest, random.Random(7)

    def request(self, link, body):
        xid, procedure = struct.unpack_from(">I16xI", body)
        if not procedure or link.number < self.honest or self.chance.randrange(self.every):
            return body
        self.times += 1
        link.answer(struct.pack(">7I", xid, 1, 0, 0, 0, 0, 10008) + bytes(self.REST.get(procedure, 8)))
        return None


def run(fault, **options):
    directory = "hostile-" + fault.name().replace(" ", "-")
    os.mkdir(os.path.join(os.environ["NFS_VFS_DIR"], directory))
    between = proxy.Proxy(wires.Rpc(), fault, int(os.environ["NFS_PORT"]), PROXY_PORT)
    url = f"nfs://127.0.0.1/vfs/{directory}?nfsport={PROXY_PORT}&mountport={os.environ['MOUNT_PORT']}&timeout=1"
    return hostile.attack(between, url, **options)


def main():
    hostile.beside("ganesha")
    good = [run(faults.Damage(damage, every, honest=1)) for damage, every in
            ((faults.flip, 20), (faults.cut, 20), (faults.huge_length, 50), (huge_count, 20), (faults.garbage, 50),
             (faults.stranger, 2000), (faults.twice, 20), (pieces, 20), (faults.hang_up, 50), (faults.silence, 3000))]
    good.append(run(Jukebox(300), all_right=True))
    good.append(run(Restarts(3), all_right=True))
    good.append(run(RestartsAlways(1)))
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
