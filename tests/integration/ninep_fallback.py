#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ninep_fallback.py PORT: servers that are silent or hang up when they are offered 9P2000.L, made of the one on PORT, are spoken to in
the next dialect, within a second. For ninep_dialects.sh."""
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f"{HERE}/../servers"]
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402
from lower_fs import Cases  # noqa: E402


def main():
    cases = Cases()
    for port, hangs_up in ((15690, False), (15691, True)):
        fault = faults.OtherDialect(hangs_up)
        proxy.Proxy(wires.NineP(), fault, int(sys.argv[1]), port)
        begun = time.monotonic()
        done = subprocess.run(["fsreplay", "target", "ls", f"9p://127.0.0.1:{port}/?aname=/"], capture_output=True, text=True,
                              check=False, timeout=60)
        took = time.monotonic() - begun
        cases.case("a server that " + ("hangs up" if hangs_up else "says nothing") + " when offered 9P2000.L: the next dialect",
                   done.returncode == 0 and fault.times == 1 and took < 5, f"{took:.1f} s, {fault.times} offers: {done}")
    return cases.status()


sys.exit(main())
