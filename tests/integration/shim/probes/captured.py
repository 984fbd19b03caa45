# SPDX-License-Identifier: Apache-2.0
"""A directory with a capture mounted over it, for tests that need both sides."""
import os
import shutil
import subprocess
import tempfile
import time

FSSHIM = os.path.join(os.environ["FSR_BUILD"], "shim/fsshim")


_traces = []


def make_scratch():
    scratch = tempfile.mkdtemp(prefix="fsshim-test.")
    os.chmod(scratch, 0o755)
    _traces.append(tempfile.mkdtemp(dir=scratch, prefix="traces."))
    return scratch


class Capture:
    """`with Capture(directory, options) as capture:`; capture.trace is complete afterwards."""

    def __init__(self, directory, *options):
        self.directory = directory
        self.trace = f"{_traces[0]}/{len(_traces)}.zst"
        _traces.append(self.trace)
        self.command = [FSSHIM, "capture", directory, "-o", self.trace, *options]

    def __enter__(self):
        before = os.stat(self.directory).st_dev
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        while os.stat(self.directory).st_dev == before:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.command} ended with {self.process.returncode}")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        subprocess.run([FSSHIM, "stop", self.directory], stdout=subprocess.DEVNULL, check=False)
        try:
            self.status = self.process.wait(60)
        except subprocess.TimeoutExpired:  # something still holds files: cut it off
            self.process.kill()
            self.status = self.process.wait()


def remove(scratch):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        points = [line.split()[1] for line in mounts]
    for point in reversed([p for p in points if p.startswith(scratch + "/")]):
        subprocess.run(["umount", "-l", point], check=False)
    shutil.rmtree(scratch, ignore_errors=True)
