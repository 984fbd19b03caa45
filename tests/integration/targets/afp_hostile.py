#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The AFP target against a server that lies: see hostile.py."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402

PROXY_PORT = 15999


def other_result(wire, body, chance):
    return wire.framed(body[:4] + struct.pack(">i", -chance.randrange(4990, 5070)) + body[8:])


def unasked(wire, body, chance):
    said = struct.pack(">BBHIII", 0, chance.choice([1, 2, 4, 5, 8]), chance.getrandbits(16), 0, 2, 0) + b"\x80\x00"
    return said * chance.randrange(1, 4) + wire.framed(body)


def anything(wire, body, chance):
    damages = (faults.flip, faults.cut, faults.huge_length, other_result, unasked, faults.garbage, faults.twice, faults.hang_up)
    return chance.choice(damages)(wire, body, chance)


# What a client can only find out by waiting.
def stranger_or_silence(wire, body, chance):
    return chance.choice((faults.stranger, faults.silence))(wire, body, chance)


def run(damage, every):
    directory = os.path.join(os.environ["AFP_DIR"], f"hostile-{damage.__name__}")
    os.mkdir(directory)
    os.chown(directory, os.stat(os.environ["AFP_DIR"]).st_uid, -1)
    between = proxy.Proxy(wires.Afp(), faults.Damage(damage, every, honest=1, greeting=wires.Afp.greeting), int(os.environ["AFP_PORT"]),
                          PROXY_PORT)
    volume = os.path.basename(os.environ["AFP_DIR"]) + "/" + os.path.basename(directory)
    return hostile.attack(between, f"afp://{os.environ['AFP_USER']}@127.0.0.1:{PROXY_PORT}/{volume}?timeout=8")


def main():
    hostile.beside("netatalk")
    good = [run(damage, every) for damage, every in ((anything, 6000), (stranger_or_silence, 30000))]
    sys.exit(0 if all(good) else 1)


main()
