#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NFSv4.1 target against a server that lies: see hostile.py. And against one that only hangs up: there the slots of the session
see to it that everything is done once, and every case passes."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
import nfs_hostile  # noqa: E402
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402

PROXY_PORT = 12998


def other_operation(wire, body, chance):
    """The number of a result, or a status, is another."""
    at = chance.randrange(24, len(body) - 3) & ~3
    return wire.framed(body[:at] + chance.choice([b"\0\0\0\x12", b"\0\0\x27\x54", b"\0\0\x27\x18", b"\0\0\x27\x2f"]) + body[at + 4:])


def anything(wire, body, chance):
    damages = (faults.flip, faults.cut, faults.huge_length, nfs_hostile.huge_count, other_operation, faults.garbage, faults.twice,
               nfs_hostile.pieces, faults.hang_up)
    return chance.choice(damages)(wire, body, chance)


# What a client can only find out by waiting.
def stranger_or_silence(wire, body, chance):
    return chance.choice((faults.stranger, faults.silence))(wire, body, chance)


def run(damage, every, all_right=False):
    directory = f"hostile-{damage.__name__}"
    os.mkdir(os.path.join(os.environ["NFS_VFS_DIR"], directory))
    between = proxy.Proxy(wires.Rpc4(), faults.Damage(damage, every, greeting=wires.Rpc4.greeting), int(os.environ["NFS_PORT"]), PROXY_PORT)
    return hostile.attack(between, f"nfs://127.0.0.1:{PROXY_PORT}/vfs/{directory}?version=4.2&timeout={20 if all_right else 1}", all_right)


def main():
    hostile.beside("ganesha")
    good = [run(anything, 60), run(stranger_or_silence, 3000), run(faults.hang_up, 100, True)]
    sys.exit(0 if all(good) else 1)


main()
