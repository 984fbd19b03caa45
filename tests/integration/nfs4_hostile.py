#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The NFSv4.1 target against a server that lies: see hostile.py. And against one that only hangs up: there the slots of the session
see to it that everything is done once, and every case passes."""
import os
import sys

import hostile
import nfs_hostile

PROXY_PORT = 12998
GREETING = 8  # replies of the set-up, which ends with one line when they make no sense: nfs4_target.sh shows that


def other_operation(wire, body, chance):
    """The number of a result, or a status, is another."""
    at = chance.randrange(24, len(body) - 3) & ~3
    return wire.framed(body[:at] + chance.choice([b"\0\0\0\x12", b"\0\0\x27\x54", b"\0\0\x27\x18", b"\0\0\x27\x2f"]) + body[at + 4:])


def anything(wire, body, chance):
    damages = (hostile.flip, hostile.cut, hostile.huge_length, nfs_hostile.huge_count, other_operation, hostile.garbage, hostile.twice,
               nfs_hostile.pieces, hostile.hang_up)
    return chance.choice(damages)(wire, body, chance)


# What a client can only find out by waiting.
def stranger_or_silence(wire, body, chance):
    return chance.choice((hostile.stranger, hostile.silence))(wire, body, chance)


def run(damage, every, all_right=False):
    directory = f"hostile-{damage.__name__}"
    os.mkdir(os.path.join(os.environ["NFS_VFS_DIR"], directory))
    proxy = hostile.Proxy(nfs_hostile.Rpc(), damage, every, int(os.environ["NFS_PORT"]), PROXY_PORT, honest=0, greeting=GREETING)
    return hostile.attack(proxy, f"nfs://127.0.0.1:{PROXY_PORT}/vfs/{directory}?version=4.2&timeout={20 if all_right else 1}", all_right)


def main():
    if "NFS_HOST" not in os.environ:
        ganesha = os.path.join(hostile.SOURCE, "tests/servers/ganesha")
        os.execv(ganesha, [ganesha, sys.executable, os.path.abspath(__file__)])
    good = [run(anything, 60), run(stranger_or_silence, 3000), run(hostile.hang_up, 100, True)]
    sys.exit(0 if all(good) else 1)


main()
