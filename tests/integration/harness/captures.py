# SPDX-License-Identifier: Apache-2.0
"""Captures that may hang: a test of one aborts its connection and goes on."""
import os
import subprocess
import time

from lower_fs import run, shim_program

CONNECTIONS = "/sys/fs/fuse/connections"
# Before a command: 1,024 descriptors, which it can't raise.
LOW_LIMIT = ("prlimit", "--nofile=1024:1024", "setpriv", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource")
PATIENCE = 20  # seconds for what takes one


def wait_until(true):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise RuntimeError("waited in vain")
        time.sleep(0.05)


def connection_of(directory):
    """The number of the FUSE connection that is mounted there, None if none is. It asks nobody who might hang."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        fields = [line.split() for line in mounts if " - fuse.fsshim " in line]
    return next((f[2].split(":")[1] for f in fields if f[4] == directory), None)


class Capture:
    """Over a directory, for all to see. A hang ends by aborting its connection."""

    def __init__(self, directory, trace, *options, prefix=()):
        self.directory, self.trace = directory, trace
        if not os.path.ismount(CONNECTIONS):
            run("mount", "-t", "fusectl", "none", CONNECTIONS)
        self.process = subprocess.Popen([*prefix, shim_program(), "capture", directory, "-o", trace, *options])
        wait_until(lambda: connection_of(directory) or self.process.poll() is not None)
        self.connection = f"{CONNECTIONS}/{connection_of(directory)}"
        try:
            subprocess.run(["stat", directory], stdout=subprocess.DEVNULL, timeout=PATIENCE, check=True)
        except subprocess.SubprocessError:
            self.abort()
            raise

    def runs(self, *command):
        """Empty, or what went wrong."""
        process = subprocess.Popen(command, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.abort()
            process.kill()
            process.communicate()
            return "it hangs"
        return "" if process.returncode == 0 else f"status {process.returncode}: {output.decode()[-300:]}"

    def abort(self):
        with open(f"{self.connection}/abort", "w", encoding="ascii") as f:
            f.write("1")

    def end(self):
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.abort()
            return self.process.wait()
