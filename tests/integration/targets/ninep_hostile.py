#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The 9P target against a server that lies: see hostile.py."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402

PROXY_PORT = 15999


def huge_count(wire, body, chance):
    at = chance.randrange(3, max(4, len(body) - 1))
    return wire.framed(body[:at] + b"\xff\xff" + body[at + 2:])


def other_type(wire, body, chance):
    return wire.framed(bytes([chance.randrange(256)]) + body[1:])


def anything(wire, body, chance):
    damages = (faults.flip, faults.cut, faults.huge_length, huge_count, other_type, faults.garbage, faults.twice, faults.hang_up)
    return chance.choice(damages)(wire, body, chance)


# What a client can only find out by waiting.
def stranger_or_silence(wire, body, chance):
    return chance.choice((faults.stranger, faults.silence))(wire, body, chance)


def run(damage, every):
    directory = os.path.join(os.environ["P9_DIR"], f"hostile-{damage.__name__}")
    os.mkdir(directory)
    fault = faults.Damage(damage, every, greeting=wires.NineP.greeting)
    between = proxy.Proxy(wires.NineP(), fault, int(os.environ["P9_PORT"]), PROXY_PORT)
    return hostile.attack(between, f"9p://127.0.0.1:{PROXY_PORT}/?aname={directory}&timeout=1")


def main():
    hostile.beside("diod")
    good = [run(damage, every) for damage, every in ((anything, 60), (stranger_or_silence, 3000))]
    sys.exit(0 if all(good) else 1)


main()
