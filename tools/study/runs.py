# SPDX-License-Identifier: Apache-2.0
"""Runs a program on several targets: by this project's clients here, or on the mounts of a kernel in a virtual machine."""
import contextlib
import json
import os
import re
import signal
import subprocess

from targets import FSBENCH, VM, Failed

POSTMARK = "set number {number}\nset transactions {transactions}\nset buffering {buffering}\nrun\nquit\n"
CLEANUP_TIME = 30  # s in which an interrupted program must have ended
GUEST_KERNEL = 160  # MiB of the guest that its kernel and the programs' files take at most
PROBE = "set number 50\nset transactions 20\nrun\nquit\n"

# Said, with status 1, by a run whose machine stopped meanwhile. That spoils times, but neither counts nor what a target is able to.
STOOD_STILL = "the load generator itself stood still"

# Busybox runs this in the guest, where /share is the scratch directory. A target that a small run fails on is left out.
# A file in memory takes what the kernel would have beyond the study's --memory.
JOB = """#!/bin/sh
left_out() {{ echo "$1: $2" >>/share/left_out; }}
: >/share/left_out
held=$(awk '/^MemAvailable/ {{print int($2 / 1024) - {memory}}}' /proc/meminfo)
[ "$held" -ge 0 ] || {{ echo "$((held + {memory})) MiB of memory are available, expected {memory}"; exit 1; }}
mkdir /held; mount -t tmpfs -o size=100% held /held; dd if=/dev/zero of=/held/file bs=1M count="$held" 2>/dev/null
{mounts}
cd /mnt
usable=
for name in {names}; do
  [ -e "/tmp/mounted.$name" ] || continue
  if fsbench {probe} "$name" </dev/null >/dev/null 2>/tmp/said || grep -q "{stood_still}" /tmp/said; then usable="$usable $name"; else left_out "$name" "$(tail -n 1 /tmp/said)"; fi
done
{work}
echo 0 >/share/status
"""
COMPARE = """fsbench {words} --html /share/drawn.html $usable -- {program} >/share/result 2>/share/errors"""
COUNT = """for name in $usable; do fsbench {program} "$name" </dev/null >"/share/count.$name" 2>&1 || grep -q "{stood_still}" "/share/count.$name" || left_out "$name" "$(tail -n 1 "/share/count.$name")"; done"""


def write(path, text):
    with open(path, "w", encoding="ascii") as out:
        out.write(text)


def begin(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def end(child, timeout=None):
    out, err = child.communicate(timeout=timeout)
    return subprocess.CompletedProcess(child.args, child.returncode, out, err)


def stop(child):
    """Interrupts it, and waits while it removes its files."""
    if child.poll() is None:  # communicate() waits a moment itself
        child.terminate()  # not its group: a comparison passes the signal on, and a second one stops the removal of files
    try:
        child.communicate(timeout=CLEANUP_TIME)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)


def run(command, timeout=None):
    """Runs it to its end, or for `timeout` s. An interrupted study interrupts it once."""
    with begin(command) as child:
        try:
            return end(child, timeout)
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            stop(child)
            raise


def run_together(commands):
    """Runs them side by side, which is for what takes no times. Their outputs are short."""
    with contextlib.ExitStack() as stack:
        children = []
        try:
            for command in commands:
                children.append(stack.enter_context(begin(command)))
            return [end(child) for child in children]
        except KeyboardInterrupt:
            for child in children:
                stop(child)
            raise


class Program:
    """PostMark, or the parts of bonnie++ that were asked for."""

    def __init__(self, kind, options):
        self.kind = kind
        self.transactions, self.number, self.size, self.files = options.transactions, options.number, options.size, options.files
        if kind == "delay":
            self.transactions = max(20, options.transactions // 50)
            self.number = max(30, self.transactions // 10)

    def is_bonnie(self):
        return self.kind.startswith("bonnie")

    def words(self, scratch):
        if not self.is_bonnie():
            return ["postmark", f"{scratch}/config"]
        size = 0 if self.kind == "bonnie files" else self.size
        files = 0 if self.kind == "bonnie data" else self.files
        return ["bonnie", "-s", str(size), "-f", "-n", str(files), "-r", "0", "-u", "root"]

    def prepare(self, scratch):
        write(f"{scratch}/config", POSTMARK.format(number=self.number, transactions=self.transactions, buffering="false" if self.kind == "unbuffered" else "true"))
        write(f"{scratch}/probe", PROBE)

    def probe(self, scratch):
        """A small run. bonnie's least number of files is as many as some studies have, so PostMark makes them instead."""
        if self.is_bonnie() and self.kind != "bonnie files":
            return ["bonnie", "-s", "1:8192:10", "-f", "-n", "0", "-r", "0", "-u", "root", "-q", "-d"]
        return ["postmark", f"{scratch}/probe", "--location"]

    def once(self, scratch):
        """The words of one run, before its target: the same work each time."""
        return self.words(scratch) + (["-q", "-z", "1", "-d"] if self.is_bonnie() else ["--location"])

    def units(self):
        """What requests are counted for: how many there are, and what they are."""
        if self.kind == "bonnie data":
            return self.size, "MiB"
        if self.kind == "bonnie files":
            return 2 * self.files * 1024, "file"
        return self.transactions, "transaction"


def failure(done):
    """Why a run failed. Empty: it did not."""
    if done.returncode == 0 or (done.returncode == 1 and STOOD_STILL in done.stderr):
        return ""
    return (done.stderr.strip().splitlines() or ["no word"])[-1]


def parsed(done):
    if done.returncode == 2 or not done.stdout:
        raise Failed(f"the comparison failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def at_least(count, targets, left_out):
    if len(targets) < count:
        raise Failed("; ".join(["too few targets can be used", *left_out]))
    return targets


class OwnClients:
    def __init__(self, options, directory, scratch):
        self.options, self.directory, self.scratch = options, directory, scratch
        self.left_out = []

    def usable(self, targets, program, ports):
        program.prepare(self.scratch)
        found = []
        for target in targets:
            place = target.url(self.directory, ports.get(target.name))
            done = run([FSBENCH, *program.probe(self.scratch), place])
            if why := failure(done):
                self.left_out.append(f"{target.name}: {why}")
            else:
                found.append(target)
        return found

    def compare(self, targets, program, words, ports):
        targets = at_least(2, self.usable(targets, program, ports), self.left_out)
        places = [target.url(self.directory, ports.get(target.name)) for target in targets]
        return targets, parsed(run([FSBENCH, *words, "--html", f"{self.scratch}/drawn.html", *places, "--", *program.words(self.scratch)]))

    def count(self, targets, program, ports):
        """Runs it once on each target, whose relay counts."""
        program.prepare(self.scratch)
        commands = [[FSBENCH, *program.once(self.scratch), target.url(self.directory, ports[target.name])] for target in targets]
        # PostMark's files have the same names on each target, and all servers have the same directory.
        runs = run_together(commands) if program.is_bonnie() else [run(command) for command in commands]
        counted = []
        for target, done in zip(targets, runs):
            if why := failure(done):
                self.left_out.append(f"{target.name}: {why}")
            else:
                counted.append(target)
        return at_least(1, counted, self.left_out)


class KernelMounts:
    def __init__(self, options, directory, scratch):
        self.options, self.directory, self.scratch = options, directory, scratch
        self.left_out, self.kernel = [], ""

    def run(self, targets, program, ports, work):
        program.prepare(self.scratch)
        mounts = "\n".join(f'mkdir -p "/mnt/{t.name}"; {t.mount(self.directory, ports.get(t.name))} 2>/tmp/said && touch "/tmp/mounted.{t.name}" '
                           f'|| left_out "{t.name}" "$(tail -n 1 /tmp/said)"' for t in targets)
        write(f"{self.scratch}/job", JOB.format(mounts=mounts, names=" ".join(t.name for t in targets), probe=" ".join(program.probe("/share")), work=work, stood_still=STOOD_STILL, memory=self.options.memory))
        guest = run([f"{VM}/run", "--share", self.scratch, "--timeout", str(self.options.timeout), "--memory", str(self.options.memory + GUEST_KERNEL),
                                "--module", "9pnet_fd", "--program", FSBENCH, f"{self.scratch}/job"])
        if guest.returncode != 0 or not os.path.exists(f"{self.scratch}/status"):
            raise Failed(f"the virtual machine: {(guest.stdout + guest.stderr).strip()[-500:]}")
        self.kernel = re.search(r"VM-READY (\S+)", guest.stdout)[1]
        said = self.read("left_out").splitlines()
        self.left_out += said
        gone = {line.partition(": ")[0] for line in said}
        return [target for target in targets if target.name not in gone]

    def read(self, name):
        with open(f"{self.scratch}/{name}", encoding="utf-8") as file:
            return file.read()

    def compare(self, targets, program, words, ports):
        work = COMPARE.format(words=" ".join(words), program=" ".join(program.words("/share")))
        targets = self.run(targets, program, ports, work)
        at_least(2, targets, self.left_out)
        return targets, parsed(subprocess.CompletedProcess(words, 0, self.read("result"), self.read("errors")))

    def count(self, targets, program, ports):
        work = COUNT.format(program=" ".join(program.once("/share")), stood_still=STOOD_STILL)
        return at_least(1, self.run(targets, program, ports, work), self.left_out)
