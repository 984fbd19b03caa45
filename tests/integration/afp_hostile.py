#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The AFP target against a server that lies: see hostile.py."""
import os
import struct
import sys

import hostile

PROXY_PORT = 15999
GREETING = 9  # replies of the set-up, which ends with one line when they make no sense: afp_target.sh shows that


class Afp(hostile.Wire):
    head = 4  # flags, command, request id

    def receive_message(self, stream):
        head = hostile.receive(stream, 16)
        return head + hostile.receive(stream, struct.unpack(">I", head[8:12])[0])

    def framed(self, body):
        return body[:8] + struct.pack(">I", max(0, len(body) - 16)) + body[12:]

    def oversized(self, body, chance):
        return body[:8] + struct.pack(">I", chance.choice([1, 0x7FFFFFFF, 0xFFFFFFFF, 50_000_000])) + body[12:]

    def strange(self, body, chance):
        return body[:2] + struct.pack(">H", chance.getrandbits(16)) + body[4:]

    def damaged_from(self, body):
        return min(16, len(body) - 1)


def other_result(wire, body, chance):
    return wire.framed(body[:4] + struct.pack(">i", -chance.randrange(4990, 5070)) + body[8:])


def unasked(wire, body, chance):
    said = struct.pack(">BBHIII", 0, chance.choice([1, 2, 4, 5, 8]), chance.getrandbits(16), 0, 2, 0) + b"\x80\x00"
    return said * chance.randrange(1, 4) + wire.framed(body)


def anything(wire, body, chance):
    damages = (hostile.flip, hostile.cut, hostile.huge_length, other_result, unasked, hostile.garbage, hostile.twice, hostile.hang_up)
    return chance.choice(damages)(wire, body, chance)


# What a client can only find out by waiting.
def stranger_or_silence(wire, body, chance):
    return chance.choice((hostile.stranger, hostile.silence))(wire, body, chance)


def run(damage, every):
    directory = os.path.join(os.environ["AFP_DIR"], f"hostile-{damage.__name__}")
    os.mkdir(directory)
    os.chown(directory, os.stat(os.environ["AFP_DIR"]).st_uid, -1)
    proxy = hostile.Proxy(Afp(), damage, every, int(os.environ["AFP_PORT"]), PROXY_PORT, honest=1, greeting=GREETING)
    volume = os.path.basename(os.environ["AFP_DIR"]) + "/" + os.path.basename(directory)
    return hostile.attack(proxy, f"afp://{os.environ['AFP_USER']}@127.0.0.1:{PROXY_PORT}/{volume}?timeout=8")


def main():
    if "AFP_HOST" not in os.environ:
        netatalk = os.path.join(hostile.SOURCE, "tests/servers/netatalk")
        os.execv(netatalk, [netatalk, sys.executable, os.path.abspath(__file__)])
    good = [run(damage, every) for damage, every in ((anything, 6000), (stranger_or_silence, 30000))]
    sys.exit(0 if all(good) else 1)


main()
