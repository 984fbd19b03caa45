# SPDX-License-Identifier: Apache-2.0
"""Runs of several ranks, and their processes."""
import os
import subprocess
import time


class Running:
    """A test that would last for long, when it has printed its first results. `others`: the processes that the first one started."""
    def __init__(self, *command, **options):
        self.run = subprocess.Popen([*command, "fd", "m1024", "R1000000"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        for _ in range(4):
            self.run.stdout.readline()
        with open(f"/proc/{self.run.pid}/task/{self.run.pid}/children", encoding="utf-8") as file:
            self.others = [int(pid) for pid in file.read().split()]

    def end(self):
        out, err = self.run.communicate(timeout=60)
        return self.run.returncode, out, err


def read(path):
    """Nothing where the process or thread has ended meanwhile."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def descendants(pid, name):
    """Of a process, at any depth: those of that name, by number."""
    found = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return found
    for task in tasks:
        for child in read(f"/proc/{pid}/task/{task}/children").split():
            found += [int(child)] if read(f"/proc/{child}/comm").strip() == name else []
            found += descendants(int(child), name)
    return sorted(found)


def gone(pids):
    for _ in range(200):
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return True
        time.sleep(0.05)
    return False


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_while_waiting(pids, seconds=1.5):
    """The most of a processor that one of them uses."""
    time.sleep(0.3)
    before = [cpu_seconds(pid) for pid in pids]
    time.sleep(seconds)
    return max(cpu_seconds(pid) - used for pid, used in zip(pids, before)) / seconds
