#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The 9P target against a server that lies: see hostile.py."""
import os
import struct
import sys

import hostile

PROXY_PORT = 15999
GREETING = 8  # replies of the set-up, which ends with one line when they make no sense: ninep_target.sh shows that


class NineP(hostile.Wire):
    head = 3

    def receive_message(self, stream):
        size = struct.unpack("<I", hostile.receive(stream, 4))[0]
        return hostile.receive(stream, size - 4)

    def framed(self, body):
        return struct.pack("<I", len(body) + 4) + body

    def oversized(self, body, chance):
        return struct.pack("<I", chance.choice([0, 3, 6, 0x7FFFFFFF, 0xFFFFFFFF, 50_000_000])) + body

    def strange(self, body, chance):
        return body[:1] + struct.pack("<H", chance.getrandbits(16)) + body[3:]


def huge_count(wire, body, chance):
    at = chance.randrange(3, max(4, len(body) - 1))
    return wire.framed(body[:at] + b"\xff\xff" + body[at + 2:])


def other_type(wire, body, chance):
    return wire.framed(bytes([chance.randrange(256)]) + body[1:])


def anything(wire, body, chance):
    damages = (hostile.flip, hostile.cut, hostile.huge_length, huge_count, other_type, hostile.garbage, hostile.twice, hostile.hang_up)
    return chance.choice(damages)(wire, body, chance)


# What a client can only find out by waiting.
def stranger_or_silence(wire, body, chance):
    return chance.choice((hostile.stranger, hostile.silence))(wire, body, chance)


def run(damage, every):
    directory = os.path.join(os.environ["P9_DIR"], f"hostile-{damage.__name__}")
    os.mkdir(directory)
    proxy = hostile.Proxy(NineP(), damage, every, int(os.environ["P9_PORT"]), PROXY_PORT, honest=0, greeting=GREETING)
    return hostile.attack(proxy, f"9p://127.0.0.1:{PROXY_PORT}/?aname={directory}&timeout=1")


def main():
    if "P9_HOST" not in os.environ:
        diod = os.path.join(hostile.SOURCE, "tests/servers/diod")
        os.execv(diod, [diod, sys.executable, os.path.abspath(__file__)])
    good = [run(damage, every) for damage, every in ((anything, 60), (stranger_or_silence, 3000))]
    sys.exit(0 if all(good) else 1)


main()
