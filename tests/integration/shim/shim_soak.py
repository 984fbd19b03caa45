#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writers and readers for a while, killed at random and replaced, with `fsshim list` and rotation under way: the trace's counts are
those that the clients kept, nothing is dropped, the daemon's memory stays within what its threads need.

usage: shim_soak.py [SECONDS]        default 20; 600 for the real thing
       shim_soak.py --client DIR NUMBER COUNTS    one client (what the former runs)
"""
import collections
import glob
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from lower_fs import Cases, Scratch, fstrace_program, shim_program  # noqa: E402

CLIENTS = 8
KINDS = ("write", "read", "mkdir", "rmdir")
SLOT = 8 * 2 * len(KINDS)  # begun and done of each kind


class Counts:
    """Of one client, in memory that outlives it."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), SLOT)

    def add(self, kind, done):
        at = (KINDS.index(kind) * 2 + done) * 8
        struct.pack_into("Q", self.memory, at, struct.unpack_from("Q", self.memory, at)[0] + 1)


def client(directory, number, counts):
    def call(kind, function, *args):
        counts.add(kind, False)
        result = function(*args)
        counts.add(kind, True)
        return result

    choose = random.Random(number)
    fd = os.open(f"{directory}/file{number}", os.O_CREAT | os.O_RDWR)
    i = 0
    while True:
        i += 1
        block = struct.pack("QQ", number, i) * 256
        at = choose.randrange(64) * 4096
        call("write", os.pwrite, fd, block, at)
        if call("read", os.pread, fd, 4096, at) != block:
            sys.exit("read something else than was written")
        if i % 20 == 0:
            name = f"{directory}/d{number}-{i}"
            call("mkdir", os.mkdir, name)
            call("rmdir", os.rmdir, name)


class Soak:
    def __init__(self, scratch, seconds):
        self.scratch, self.seconds = scratch, seconds
        self.place = scratch.mount("tmpfs")
        self.started = 0
        self.clients = []  # (process, path of its counts), also those that ended
        self.at_work = []  # processes
        self.random = random.Random(5)

    def start_client(self, slot):
        counts = f"{self.scratch.path}/counts{self.started}"
        with open(counts, "wb") as file:
            file.write(bytes(SLOT))
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--client", self.place, str(self.started), counts],
                                   stderr=subprocess.PIPE, text=True)
        self.clients.append((process, counts))
        self.at_work[slot:slot + 1] = [process]
        self.started += 1

    def resident(self):
        """MiB in memory, and how many threads have a part of it."""
        with open(f"/proc/{self.shim.pid}/status", encoding="ascii") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmRSS"].split()[0]) // 1024, int(fields["Threads"])

    def run(self, cases):
        # A ring of one second, the default, grows with the highest load so far.
        self.shim = subprocess.Popen([shim_program(), "capture", self.place, "-o", f"{self.scratch.path}/soak.zst", "--rotate", "1G", "--ring", "100ms"],
                                     stderr=subprocess.PIPE, text=True)
        while f" {self.place} fuse.fsshim " not in open("/proc/self/mounts", encoding="utf-8").read():
            if self.shim.poll() is not None:
                return cases.case("capture starts", False, self.shim.stderr.read())
            time.sleep(0.02)
        for slot in range(CLIENTS):
            self.start_client(slot)
        memory, threads, listed, rotated, broken = [], 0, 0, 0, []
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            time.sleep(0.5)
            slot = self.random.randrange(CLIENTS)
            if self.random.random() < 0.5:
                self.at_work[slot].kill()
                self.at_work[slot].wait()
                self.start_client(slot)
            broken += [p.stderr.read() for p, _ in self.clients if p.poll() not in (None, -9)]
            answer = subprocess.run([shim_program(), "list"], capture_output=True, text=True, check=False)
            listed += answer.returncode == 0 and self.place in answer.stdout
            if self.random.random() < 0.2:
                rotated += subprocess.run([shim_program(), "rotate", self.place], capture_output=True, check=False).returncode == 0
            resident, now = self.resident()
            memory.append(resident)
            threads = max(threads, now)
        for process, _ in self.clients:
            process.kill()
            process.wait()
        subprocess.run([shim_program(), "stop", self.place], stdout=subprocess.DEVNULL, check=False)
        said = self.shim.communicate()[1]
        cases.case("the capture ends well", self.shim.returncode == 0, said)
        cases.case("clients read what they wrote", not broken, str(broken[:3]))
        cases.case("fsshim list answers throughout", listed == len(memory), f"{listed} of {len(memory)} times")
        cases.case("rotation under way", rotated > 0, "no piece was begun")
        print(f"# MiB resident: {memory[::max(1, len(memory) // 20)]}; {threads} threads, {self.started} clients, {rotated} rotations")
        bound = 16 + 3 * threads  # most have a ring and buffers, whose pages they touch one after the other
        cases.case("memory stays bounded", max(memory) < bound, f"{max(memory)} of {bound} MiB")
        self.compare(cases)

    def compare(self, cases):
        recorded = collections.defaultdict(collections.Counter)
        dropped = 0
        for piece in sorted(glob.glob(f"{self.scratch.path}/soak*.zst")):
            info = json.loads(subprocess.check_output([fstrace_program(), "info", "--json", piece]))
            dropped += info["closing"]["dropped"]
            dump = subprocess.Popen([fstrace_program(), "dump", "--json", piece], stdout=subprocess.PIPE, text=True)
            for line in dump.stdout:
                op = json.loads(line)
                if op["kind"] in KINDS and "error" not in op:
                    recorded[op["pid"]][op["kind"]] += 1
            dump.wait()
        cases.case("nothing was dropped", dropped == 0, f"{dropped} operations")
        total, wrong = 0, []
        for process, path in self.clients:
            with open(path, "rb") as file:
                numbers = struct.unpack(f"{SLOT // 8}Q", file.read())
            for kind, begun, done in zip(KINDS, numbers[::2], numbers[1::2]):
                total += done
                if not done <= recorded[process.pid][kind] <= begun:
                    wrong.append(f"{kind} of {process.pid}: {done} to {begun}, recorded {recorded[process.pid][kind]}")
        cases.case(f"all of {total} counted operations are there", total > 1000 and not wrong, "; ".join(wrong[:5]))


def main():
    if sys.argv[1:2] == ["--client"]:
        return client(sys.argv[2], int(sys.argv[3]), Counts(sys.argv[4]))
    cases = Cases()
    with Scratch() as scratch:
        Soak(scratch, float(sys.argv[1]) if len(sys.argv) > 1 else 20).run(cases)
    return cases.status()


if __name__ == "__main__":
    sys.exit(main())
