# SPDX-License-Identifier: Apache-2.0
"""Processes with other credentials than the test's own, which is root."""
import ctypes
import os
import struct

from probe_tools import attempt

LIBC = ctypes.CDLL(None, use_errno=True)
CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, MKNOD, SYS_RESOURCE, SYS_ADMIN = 0, 1, 2, 3, 4, 27, 24, 21
CLONE_NEWUSER = 0x10000000
PR_SET_KEEPCAPS = 8


def set_capabilities(wanted):
    """Effective and permitted: these numbers and no others."""
    bits = sum(1 << n for n in wanted)
    low, high = bits & 0xFFFFFFFF, bits >> 32
    if LIBC.capset(struct.pack("Ii", 0x20080522, 0), struct.pack("6I", low, low, 0, high, high, 0)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


class Caller:
    """`capabilities`: None leaves what the user has by itself. `ids`: in a user namespace of its own, with these (inside, outside,
    count) for users and groups alike; then `uid` is one of its."""

    def __init__(self, uid=0, groups=(), capabilities=None, ids=None):
        self.uid, self.groups, self.capabilities, self.ids = uid, groups, capabilities, ids

    def does(self, function):
        """What the function returns or fails with, as text."""
        result, told = os.pipe()
        ready, entered = os.pipe()
        mapped, go = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.become(entered, mapped)
                answer = repr(attempt(function))
            except BaseException as e:  # noqa: B902
                answer = f"probe failed: {e!r}"
            os.write(told, answer.encode())
            os._exit(0)
        os.close(told)
        if self.ids:
            os.read(ready, 1)
            for name in ("uid_map", "gid_map"):
                with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as f:
                    f.write("\n".join(" ".join(map(str, line)) for line in self.ids))
        os.write(go, b"g")
        said = b""
        while part := os.read(result, 65536):
            said += part
        os.waitpid(pid, 0)
        for fd in (result, ready, entered, mapped, go):
            os.close(fd)
        return said.decode()

    def become(self, entered, mapped):
        if self.ids and LIBC.unshare(CLONE_NEWUSER) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        os.write(entered, b"e")
        os.read(mapped, 1)
        os.setgroups(list(self.groups))
        LIBC.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setresgid(self.uid, self.uid, self.uid)
        os.setresuid(self.uid, self.uid, self.uid)
        if self.capabilities is not None:
            set_capabilities(self.capabilities)
