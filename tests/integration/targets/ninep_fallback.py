#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ninep_fallback.py PORT: servers that are silent or hang up when they are offered 9P2000.L, made of the one on PORT, are spoken to in
the next dialect, within a second; diod, which speaks nothing else and was merely slow, in 9P2000.L. One of the older dialects that loses
entries of a listing is asked for them again. For ninep_dialects.sh, in whose directory the server's is ./PORT."""
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness", f"{HERE}/../../servers"]
import faults  # noqa: E402
import proxy  # noqa: E402
import wires  # noqa: E402
from lower_fs import Cases  # noqa: E402


def main():
    cases = Cases()
    of_unix, diod = int(sys.argv[1]), int(os.environ["P9_PORT"])
    for port, name, fault, server, tree in (
            (15690, "a server that says nothing when offered 9P2000.L: the next dialect", faults.OtherDialect(False), of_unix, "/"),
            (15691, "a server that hangs up when offered 9P2000.L: the next dialect", faults.OtherDialect(True), of_unix, "/"),
            (15692, "a server of 9P2000.L that was slow: asked once more", faults.OtherDialect(False, 1), diod, os.environ["P9_DIR"])):
        proxy.Proxy(wires.NineP(), fault, server, port)
        begun = time.monotonic()
        done = subprocess.run(["fsreplay", "target", "ls", f"9p://127.0.0.1:{port}/?aname={tree}"], capture_output=True, text=True,
                              check=False, timeout=60)
        took = time.monotonic() - begun
        cases.case(name, done.returncode == 0 and fault.times == 1 and took < 6, f"{took:.1f} s, {fault.times} offers: {done}")
    names = {f"file{i}" for i in range(1000)}
    os.mkdir(f"{of_unix}/many")
    for name in names:
        open(f"{of_unix}/many/{name}", "wb").close()
    first = os.listdir(f"{of_unix}/many")[:20]  # in the first reply

    def remove():
        for name in first:
            os.unlink(f"{of_unix}/many/{name}")

    gone = faults.EntryGone(2, remove)
    proxy.Proxy(wires.NineP(), gone, of_unix, 15693)
    done = subprocess.run(["fsreplay", "target", "ls", "9p://127.0.0.1:15693/?dialect=9p2000.u&aname=/", "many"], capture_output=True,
                          text=True, check=False, timeout=60)
    listed = [line.split()[-1] for line in done.stdout.splitlines()]
    cases.case("a listing in which a server met an entry that was gone: all others once", done.returncode == 0 and gone.times == 1 and
               sorted(listed) == sorted(names - set(first)), f"{gone.times} errors, {len(listed)} entries: {done.stderr}")
    shutil.rmtree(f"{of_unix}/many")
    return cases.status()


sys.exit(main())
