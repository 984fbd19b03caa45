#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real applications' traces replayed onto a directory, NFSv3, NFSv4.1, 9P2000.L and AFP: what the target can express has the recorded
outcome, the tree is the captured one to the byte as far as the protocol holds it, what it cannot express is counted by kind.

With "--on NAME CAPTURES" it is the part beside the server of that name, which it starts itself."""
import json
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness"]
from lower_fs import Cases, Scratch, put_on_path, run  # noqa: E402

TESTS = os.path.normpath(f"{HERE}/../..")
APPLICATIONS = ("git", "make", "tar", "sqlite", "sqlite-wal", "maildir")
NEVER = {"getxattr", "setxattr", "removexattr", "fallocate", "lseek", "ioctl", "tmpfile", "rename"}
cases = Cases()


class Server:
    """A target beside which this script runs: its wrapper, what that puts into the environment, what it may not express."""

    def __init__(self, wrapper, url, directory, orders, impossible, environment=(), compare=()):
        self.wrapper, self.url, self.directory, self.orders = wrapper, url, directory, orders
        self.impossible, self.environment, self.compare = NEVER | impossible, dict(environment), compare


BOTH, FREE = ("strict", "resource"), ("resource",)
SERVERS = {
    "NFSv3": Server("ganesha", "NFS_VFS_URL", "NFS_VFS_DIR", BOTH, {"listxattr", "getlk", "setlk", "flock", "syncfs"}),
    "NFSv4.1": Server("ganesha", "NFS4_VFS_URL", "NFS_VFS_DIR", FREE, {"listxattr", "syncfs"}, {"NFS_GRACE": "1"}),
    "9P2000.L": Server("diod", "P9_URL", "P9_DIR", BOTH, {"syncfs"}),
    "AFP": Server("netatalk", "AFP_URL", "AFP_DIR", FREE, {"setattr"}, compare=("--over-afp",)),
}


def alike(name, captured, replayed, *options):
    done = subprocess.run([f"{TESTS}/apps/compare-trees", "--content", "--ignore", ".fsreplay", *options, captured, replayed],
                          capture_output=True, text=True, check=False)
    cases.case(name, done.returncode == 0, (done.stdout + done.stderr)[-300:])


def replayed(trace, url, *options):
    """The report of a replay as fast as possible."""
    done = subprocess.run(["fsreplay", trace, url, "--timing", "asap", "-q", "--json", *options], capture_output=True, text=True,
                          check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"{trace} onto {url}: status {done.returncode}: {done.stderr[-300:]}") from None


def below(url, directory):
    """The URL of a directory of that target."""
    return f"{url}/{directory}" if "aname=" in url else re.sub(r"/?(?=[?]|$)", f"/{directory}", url, count=1)


def short(report):
    return {key: report[key] for key in ("issued", "matched", "differed", "free_pairs", "violations", "not_clean")} | {
        "mismatches": report["mismatches"][:3]}


def as_recorded(name, report, impossible=frozenset()):
    kinds = report["kinds"]
    fine = (report["violations"] == 0 and report["issued"] > 0
            and report["issued"] + sum(kind["impossible"] + kind["refused"] for kind in kinds.values()) == report["operations"]
            and {kind for kind, counts in kinds.items() if counts["impossible"]} <= impossible
            # A read may see a write that it overlapped in the capture, or not: that order is free.
            and report["differed"] <= report["free_pairs"]
            and report["matched"] >= 0.9 * report["issued"])
    cases.case(name, fine, str(short(report)))


def capture_all(place):
    """Each application once, with its content: PLACE/APPLICATION is what it left, PLACE/APPLICATION.zst the trace."""
    run(f"{TESTS}/apps/make-input", f"{place}/input")
    for application in APPLICATIONS:
        top = f"{place}/{application}"
        os.mkdir(top)
        done = subprocess.run(["fsshim", "capture", top, "-o", f"{top}.zst", "--content", "full", "--", "sh", "-c",
                               f"cd {top} && {TESTS}/apps/run {application} {place}/input"], capture_output=True, text=True, check=False)
        cases.case(f"{application}: captured", done.returncode == 0, done.stderr[-300:])
        done = subprocess.run(["fstrace", "verify", f"{top}.zst"], capture_output=True, text=True, check=False)
        cases.case(f"{application}: the trace verifies", done.returncode == 0, done.stderr[-300:])


def on_a_directory(place):
    for application in APPLICATIONS:
        for order in BOTH:
            target = f"{place}/{application}.{order}"
            report = replayed(f"{place}/{application}.zst", target, "--order", order)
            as_recorded(f"{application}: outcomes on a directory, order {order}", report)
            cases.case(f"{application}: each operation is issued", report["issued"] == report["operations"]
                       and len(report["mismatches"]) == min(report["differed"], 20), str(short(report)))
            alike(f"{application}: the tree is the captured one, order {order}", f"{place}/{application}", target)


def on_server(name, place):
    server = SERVERS[name]
    root = os.environ[server.directory]
    runs = [(application, order) for application in APPLICATIONS for order in server.orders]
    for application, order in runs:  # all before the first look of the server, which remembers what was there
        os.mkdir(f"{root}/{application}-{order}")
        os.chmod(f"{root}/{application}-{order}", 0o777)  # AFP's user is not root
    for application, order in runs:
        url = below(os.environ[server.url], f"{application}-{order}")
        report = replayed(f"{place}/{application}.zst", url, "--order", order)
        as_recorded(f"{application}: outcomes over {name}, order {order}", report, server.impossible)
        cases.case(f"{application}: each flush over {name} is as recorded",
                   not [m for m in report["mismatches"] if m["kind"] == "flush"], str(report["mismatches"]))
        alike(f"{application}: the tree on the server is the captured one, {name}, order {order}", f"{place}/{application}",
              f"{root}/{application}-{order}", *server.compare)
    if name == "NFSv3":
        onto_memory(place)
    if name == "NFSv4.1":
        with_a_restart(place, f"{root}/restart")


def onto_memory(place):
    """Ganesha's export in memory keeps at most 2 MiB of a file and answers EIO to a rename over an existing name, as git does them. The
    tree behind it can't be compared."""
    for application in ("tar", "sqlite"):
        report = replayed(f"{place}/{application}.zst", os.environ["NFS_MEM_URL"], "--cleanup")
        as_recorded(f"{application}: outcomes over NFSv3 onto memory", report, SERVERS["NFSv3"].impossible)


def with_a_restart(place, directory):
    """The server restarts in mid-run, and lets its client reclaim what it had open."""
    os.mkdir(directory)
    url = os.environ["NFS4_VFS_URL"].replace("vfs", "vfs/restart", 1)
    with subprocess.Popen(["fsreplay", f"{place}/sqlite.zst", url, "--scale", "0.1x", "-q", "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as replay:
        time.sleep(2)
        run(f"{TESTS}/servers/ganesha", "--stop")
        run(f"{TESTS}/servers/ganesha", "--start")
        report = json.loads(replay.communicate()[0])
    counters = report["counters"]
    cases.case("a restart of the server in mid-run", report["violations"] == 0 and report["differed"] == 0
               and counters["sessions made again"] == 1 and counters["open files lost"] + counters["locks lost"] == 0,
               f"{short(report)} {counters}")
    alike("the tree is the captured one all the same", f"{place}/sqlite", directory)


def main():
    put_on_path()
    if sys.argv[1:2] == ["--on"]:
        on_server(*sys.argv[2:])
        return cases.status()
    with Scratch() as scratch:
        capture_all(scratch.path)
        parts = []
        for name, server in SERVERS.items():
            parts.append((name, subprocess.Popen(
                [f"{TESTS}/servers/{server.wrapper}", sys.executable, os.path.abspath(__file__), "--on", name, scratch.path],
                env=os.environ | server.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)))
        try:
            on_a_directory(scratch.path)
            for name, part in parts:
                said, complaint = part.communicate()
                print(said, end="", flush=True)
                failed = said.count("not ok - ")
                cases.failed += failed
                cases.case(f"the part beside {name} ran to its end", part.returncode == (1 if failed else 0) and said,
                           f"{part.returncode}: {complaint[-500:]}")
        finally:
            for _, part in parts:
                if part.poll() is None:
                    part.terminate()
                    part.wait()
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
