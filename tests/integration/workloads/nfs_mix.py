#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesized mixes on NFS-Ganesha: the calls that pass a proxy, counted there, are those that the report claims; the load is kept;
fsbench's line and table; the curve; a server that is gone before the end."""
import collections
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

SOURCE = os.environ.get("FSR_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
BUILD = os.environ.get("FSR_BUILD") or os.path.join(SOURCE, "build")
GANESHA = os.path.join(SOURCE, "tests", "servers", "ganesha")
PROXY_PORT = 12998
PROCEDURES = ("null getattr setattr lookup access readlink read write create mkdir symlink mknod remove rmdir rename link readdir "
              "readdirplus fsstat fsinfo pathconf commit").split()
failures = 0


def case(name, good, why=""):
    global failures
    failures += not good
    print(f"ok - {name}" if good else f"not ok - {name}: {why}", flush=True)


class Proxy:
    """Passes TCP connections on to the server and counts the NFSv3 calls in them (RFC 5531: record marks, call headers)."""

    def __init__(self, host, port, listen_port=PROXY_PORT):
        self.server = (host, port)
        self.streams = []
        self.counts = collections.Counter()
        self.listener = socket.create_server(("127.0.0.1", listen_port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.server)
            self.streams += [client, server]
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.forward, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.forward, args=(server, client, False), daemon=True).start()

    def forward(self, source, to, calls):
        held, skip, head = b"", 0, True
        try:
            while data := source.recv(1 << 18):
                to.sendall(data)
                if not calls:
                    continue
                held += data
                while held:
                    if skip:
                        part = min(skip, len(held))
                        held, skip = held[part:], skip - part
                        continue
                    if len(held) < 28:
                        break
                    mark, _, kind, _, program, version, procedure = struct.unpack(">7I", held[:28])
                    if kind == 0 and program == 100003 and version == 3:
                        self.counts[PROCEDURES[procedure]] += 1
                    skip = 4 + (mark & 0x7FFFFFFF)
        except OSError:
            pass
        for one in (source, to):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


    def leave(self):
        """Nobody is there any more."""
        for one in (self.listener, *self.streams):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.listener.close()


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)


def fsreplay(*arguments):
    return run(os.path.join(BUILD, "replay", "fsreplay"), "-q", *arguments)


def restart():
    run(GANESHA, "--stop")
    run(GANESHA, "--start")


def url_through(proxy, export="NFS_MEM_URL"):
    port, instead = proxy.server[1], proxy.listener.getsockname()[1]
    return os.environ[export].replace(f":{port}", f":{instead}").replace(f"nfsport={port}", f"nfsport={instead}")


def new_directory(proxy):
    """On the export on disk: URL of an empty directory through the proxy."""
    path = tempfile.mkdtemp(dir=os.environ["NFS_VFS_DIR"])
    return url_through(proxy, "NFS_VFS_URL").replace("/vfs", f"/vfs/{os.path.basename(path)}")


def counted(proxy, mix, calls):
    """What passes the proxy beyond the preparation, and the report."""
    arguments = [mix, "--streams", "16", "--load", "1500", "--calls", str(calls)]
    proxy.counts.clear()
    prepared = fsreplay(*arguments, new_directory(proxy), "--prepare-only")
    before = collections.Counter(proxy.counts)
    proxy.counts.clear()
    ran = fsreplay(*arguments, new_directory(proxy), "--json")
    case(f"{mix}: prepared and run", prepared.returncode == 0 and ran.returncode == 0, prepared.stderr + ran.stderr + ran.stdout[-300:])
    after = collections.Counter(proxy.counts)
    after.subtract(before)
    return after, json.loads(ran.stdout)


def independent_count():
    proxy = Proxy(os.environ["NFS_HOST"], int(os.environ["NFS_PORT"]))
    for mix, calls in (("mix:sfs97-v3", 9000), ("mix:nhfsstone", 9000)):
        seen, report = counted(proxy, mix, calls)
        rows = report["mix"]["procedures"]
        total = sum(seen.values())
        case(f"{mix}: a proxy counts as many calls as the report", abs(total - calls) <= calls / 100, f"{total} {seen}")
        wrong = {p: (rows[p]["wire"], seen[p]) for p in rows if abs(rows[p]["wire"] - seen[p]) > calls / 100}
        case(f"{mix}: and the same of each procedure, within 1 %", not wrong, f"{wrong}")
        off = {p: round((seen[p] / total - rows[p]["asked"]) * 100, 2) for p in rows}
        case(f"{mix}: they have the shares asked for", max(map(abs, off.values())) < 1, f"{off}")
        case(f"{mix}: no call failed", report["differed"] == 0 and report["mix"]["valid"], f"{report['mismatches'][:2]}")


def load_is_kept():
    restart()
    for load in (30, 300):
        ran = fsreplay("mix:sfs2008-v3", os.environ["NFS_MEM_URL"], "--streams", "8", "--load", str(load), "--duration", "2s", "--json")
        report = json.loads(ran.stdout)
        # A call that is a little late ends the run a little later.
        rate = report["issued"] / max(2.0, report["elapsed_ns"] / 1e9)
        case(f"{load} calls/s are kept", abs(rate - load) <= load / 50, f"{rate}: {report['limited_by']}")


def curve():
    with tempfile.TemporaryDirectory() as scratch:
        svg = os.path.join(scratch, "curve.svg")
        restart()
        ran = fsreplay("mix:sfs97-v3", os.environ["NFS_MEM_URL"], "--streams", "8", "--load", "200-600,200", "--duration", "1s", "--svg", svg)
        lines = ran.stdout.splitlines()
        case("a ramp prints a line for each load", ran.returncode == 0 and len(lines) == 4 and lines[0].split()[0] == "asked/s"
             and [line.split()[0] for line in lines[1:]] == ["200.0", "400.0", "600.0"], ran.stdout + ran.stderr)
        try:
            drawing = xml.etree.ElementTree.parse(svg).getroot()
            points = [re.split("[MLl]", line.get("d"))[1:] for line in drawing.iter("{http://www.w3.org/2000/svg}path") if line.get("class", "").startswith("l ")]
        except (OSError, xml.etree.ElementTree.ParseError) as error:
            points = str(error)
        case("and draws them", [len(p) for p in points] == [3, 3], f"{points}")


def server_leaves():
    restart()
    proxy = Proxy(os.environ["NFS_HOST"], int(os.environ["NFS_PORT"]), 0)
    with tempfile.TemporaryDirectory() as scratch:
        results, record = os.path.join(scratch, "results"), os.path.join(scratch, "record.zst")
        command = [os.path.join(BUILD, "replay", "fsreplay"), "-q", "mix:sfs97-v3", url_through(proxy) + "&timeout=1", "--streams", "64",
                   "--load", "400", "--duration", "5s", "--json", "--results", results, "--record", record]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as replay:
            while proxy.counts["read"] < 5 and replay.poll() is None:  # nothing is read before the run
                time.sleep(0.01)
            before = sum(proxy.counts.values())
            proxy.leave()
            output, errors = replay.communicate(timeout=100)
        written = run(os.path.join(BUILD, "tools", "fstrace"), "verify", record)
        case("a server that is gone at the end: the report is whole, in each of its forms",
             replay.returncode == 1 and output and os.path.exists(results) and " operations" in written.stdout,
             f"{replay.returncode} {errors} {written.stdout}")
        report = json.loads(output or "{}")
        case("it says that nobody answered, and counts what failed apart from what was done",
             report.get("failed", 0) > 0 and report["achieved_per_s"] < 0.8 * report["offered_per_s"]
             and report["service"]["count"] + report["failing"]["count"] == report["issued"] - report["unfinished"]
             and report["silent_ns"] > 1e9 and "did not answer for" in report["limited_by"], output)
        seen = sum(proxy.counts.values()) - before
        case("what found no server does not count as sent", report["mix"]["wire_calls"] < seen + 200 < seen + report["unanswered"],
             f"{seen} {report['mix']['wire_calls']} {report['unanswered']}")
        case("and what could not be closed", any("files were not closed" in why for why in report.get("not_clean", [])), output[-500:])


def nhfsstone():
    restart()
    ran = run(os.path.join(BUILD, "tools", "fsbench"), "nhfsstone", "-v", "-l", "500", "-c", "1000", "-p", "4", os.environ["NFS_MEM_URL"])
    lines = ran.stdout.splitlines()
    case("fsbench nhfsstone runs on a URL", ran.returncode == 0 and lines, ran.stdout + ran.stderr)
    fields = lines[-1].split()
    case("its line has load and response where nhfsnums looks for them",
         len(fields) == 8 and fields[1] == "sec" and fields[3] == "calls" and fields[5] == "calls/sec" and fields[7] == "msec/call"
         and abs(float(fields[4]) - 500) < 50 and 0 < float(fields[6]) < 100, lines[-1])
    ran = run(os.path.join(BUILD, "tools", "fsbench"), "nhfsstone", "-v", "-l", "500", "-c", "500", "-p", "4", os.environ["NFS4_MEM_URL"])
    rows = {line.split()[0]: line.split() for line in ran.stdout.splitlines() if "%" in line}
    case("an older mix is valid on a server of version 4.1, by the operations sent in place of its procedures", ran.returncode == 0
         and "INVALID" not in ran.stdout and rows["open"][1] == "2%" and int(rows["open"][3]) >= 10 and rows["getattr"][1] == "14%", f"{ran.returncode} {ran.stderr}{ran.stdout}")


def linked():
    """Test directories that are symbolic links on the server, by relative and by absolute paths."""
    for name in ("NFS_VFS_URL", "NFS4_VFS_URL"):
        path = tempfile.mkdtemp(dir=os.environ["NFS_VFS_DIR"])
        for directory in ("tests", "disk1/zero", "disk2"):
            os.makedirs(os.path.join(path, directory))
        tree = f"/vfs/{os.path.basename(path)}"
        os.symlink("../disk1/zero", os.path.join(path, "tests/testdir0"))
        os.symlink(f"{tree}/disk2/one", os.path.join(path, "tests/testdir1"))
        os.symlink("testdir1", os.path.join(path, "disk2/one"))
        os.mkdir(os.path.join(path, "disk2/testdir1"))
        url = os.environ[name].replace("/vfs", f"{tree}/tests")
        command = [os.path.join(BUILD, "tools", "fsbench"), "nhfsstone", "-c", "1500", "-l", "3000", "-p", "3", url]
        ran = run(*command)
        used = [place for place in ("disk1/zero", "disk2/testdir1", "tests/testdir2") if os.path.exists(os.path.join(path, place, "000abcdefghijklmn"))]
        case(f"{name}: test directories may be links on the server", ran.returncode == 0 and len(used) == 3, f"{ran.stdout}{ran.stderr}{used}")
        os.symlink("nowhere", os.path.join(path, "tests/testdir3"))
        command[command.index("3")] = "4"
        ran = run(*command)
        case(f"{name}: a link that leads nowhere is named", ran.returncode == 2 and "testdir3: a symbolic link that leads nowhere" in ran.stderr, ran.stderr)
        os.makedirs(os.path.join(path, "set/testdir0"))
        os.symlink("testdir0", os.path.join(path, "set/testdir1"))
        ran = run(*command[:-1], url.replace("/tests?", "/set/?"))
        case(f"{name}: a link to another test directory is refused", ran.returncode == 2 and "testdir0 and testdir1: expected a directory each" in ran.stderr, ran.stderr)


if "NFS_MEM_URL" not in os.environ:
    os.execv(GANESHA, [GANESHA, os.path.abspath(__file__)])
independent_count()
load_is_kept()
curve()
server_leaves()
nhfsstone()
linked()
sys.exit(1 if failures else 0)
