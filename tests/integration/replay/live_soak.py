#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Git, SQLite, tar, mail, rsync and make, one after the other and over again, captured with their content, and replayed meanwhile on a
directory, NFSv3 and NFSv4.1 at once: nothing differs, the trees are equal, the memory of every side stays flat.

usage: live_soak.py [SECONDS [TARGET]...]        default: 60 s, and all of local, "NFS 3", "NFS 4.1"; 600 for the real thing
"""
import json
import os
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import hostile  # noqa: E402
from live_runs import APPS, alike, server_url  # noqa: E402
from lower_fs import Cases, Scratch, put_on_path  # noqa: E402

cases = Cases()
put_on_path()
SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
NO_XATTRS = re.compile("can't express|removexattr 'system.posix_acl|stood still")
LOAD = f"""end=$(($(date +%s) + {SECONDS})); i=0
while [ $(date +%s) -lt $end ]; do
    i=$((i + 1)); rm -rf share/round$((i - 2))
    for app in git sqlite tar maildir sqlite-wal make; do
        mkdir -p share/round$i/$app; (cd share/round$i/$app; {APPS}/run $app $OLDPWD/input) || exit
        sleep 1
    done
    rsync -a --delete share/round$i/tar/ share/mirror/ || exit
done
"""


class Memory(threading.Thread):
    """The resident memory of some processes, twice a second, until close()."""

    def __init__(self, processes):
        super().__init__()
        self.samples = {name: [] for name in processes}
        self.processes = processes
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.5):
            for name, process in self.processes.items():
                try:
                    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                        rss = [int(line.split()[1]) for line in status if line.startswith("VmRSS")]
                except OSError:  # it has ended
                    continue
                self.samples[name] += rss

    def close(self):
        self.ended.set()
        self.join()

    def flat(self, name):
        """Whether the last third takes no more than the second by a quarter and 16 MiB."""
        third = len(self.samples[name]) // 3
        if third == 0:
            return False
        return max(self.samples[name][-third:]) <= 1.25 * max(self.samples[name][third:-third]) + (16 << 10)


def main():
    os.makedirs("share")
    os.mkdir("local")
    subprocess.run([f"{APPS}/make-input", "input"], check=True)
    targets = {"local": ("file:local", "local")} | {
        f"NFS {version}": (server_url(f"soak{version}", version), f"{os.environ['NFS_VFS_DIR']}/soak{version}") for version in ("3", "4.1")}
    targets = {name: place for name, place in targets.items() if name in (sys.argv[2:] or targets)}
    for number, name in enumerate(targets):
        os.mkfifo(f"pipe{number}")
    replays = {}
    for number, (name, (url, _)) in enumerate(targets.items()):
        replays[name] = subprocess.Popen(["fsreplay", f"pipe{number}", url, "--live", "--json", "-q"], text=True,
                                         stdout=open(f"report{number}", "w+", encoding="utf-8"), stderr=subprocess.STDOUT)
    tee = subprocess.Popen(["tee", *[f"pipe{number}" for number in range(len(targets))]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    shim = subprocess.Popen(["fsshim", "capture", "share", "-o", "-", "--content", "full", "--", "sh", "-c", LOAD], stdout=tee.stdin,
                            stderr=subprocess.PIPE, text=True)
    tee.stdin.close()
    memory = Memory({"capture": shim} | replays)
    said = shim.communicate()[1]
    cases.case("the capture ended well", shim.returncode == 0, said[-500:])
    for number, (name, (_, directory)) in enumerate(targets.items()):
        status = replays[name].wait(timeout=300)
        with open(f"report{number}", encoding="utf-8") as text:
            printed = text.read()
        report = json.loads(printed[printed.index("{"):]) if "{" in printed else {}
        with open(os.path.join(os.environ.get("FSR_KEEP", "."), f"soak{number}.json"), "w", encoding="utf-8") as kept:
            kept.write(printed)
        cases.case(f"{name}: nothing differed, or was left out, but for extended attributes where the protocol has none",
                   status in (0, 4) and report.get("issued", 0) > 1000 and all(NO_XATTRS.search(reason) for reason in report["not_clean"]),
                   (status, report.get("not_clean", printed[-500:])))
        lag = report.get("live", {}).get("lag_p99_ns", 1 << 62)
        print(f"# {name}: lag p99 {lag / 1e9:.2f} s")
        compared = alike("share", directory, "--content")
        cases.case(f"{name}: the trees are equal, with content", compared.returncode == 0, compared.stdout[-500:] + compared.stderr[-500:])
        print(f"# {name}: {report.get('issued')} operations, live {json.dumps(report.get('live'))}, not clean: {report.get('not_clean')}")
    tee.wait()
    memory.close()
    for name, samples in memory.samples.items():
        print(f"# {name}: {len(samples)} samples of memory, at most {max(samples, default=0)} KiB")
        cases.case(f"{name}: memory is flat", memory.flat(name), samples[::20])


hostile.beside("ganesha")
with Scratch() as scratch:
    os.chdir(scratch.path)
    main()
sys.exit(cases.status())
