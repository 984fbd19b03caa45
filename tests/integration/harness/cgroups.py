# SPDX-License-Identifier: Apache-2.0
"""Control groups of a test's own, of version 1 or 2, whichever the machine has."""
import os
import subprocess
import tempfile

from lower_fs import run


class ControlGroup:
    """A group under a controller ("memory", "pids", "freezer"), or of version 2 in any case (None). It ends with what is in it."""

    def __init__(self, scratch, controller):
        top = tempfile.mkdtemp(dir=scratch.path)
        self.old = controller and subprocess.run(["mount", "-t", "cgroup", "-o", controller, "none", top], check=False,
                                                 stderr=subprocess.DEVNULL).returncode == 0
        if not self.old:
            run("mount", "-t", "cgroup2", "none", top)
            if controller in ("memory", "pids"):
                with open(f"{top}/cgroup.subtree_control", "w", encoding="ascii") as control:
                    control.write(f"+{controller}")
        self.top, self.path = top, f"{top}/fsshim-test-{os.getpid()}"
        os.mkdir(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in self.processes():
            os.kill(pid, 9)
        subprocess.run(["timeout", "10", "sh", "-c", 'until rmdir "$0" 2>/dev/null; do sleep 0.05; done', self.path], check=False)

    def write(self, old_name, name, value):
        with open(f"{self.path}/{old_name if self.old else name}", "w", encoding="ascii") as control:
            control.write(str(value))

    def read(self, name):
        with open(f"{self.path}/{name}", encoding="ascii") as control:
            return control.read()

    def processes(self):
        return [int(pid) for pid in self.read("cgroup.procs").split()]

    def limit_memory(self, size):
        self.write("memory.limit_in_bytes", "memory.max", size)

    def limit_threads(self, count):
        self.write("pids.max", "pids.max", count)

    def killed(self):
        """Whether something in it was killed for want of memory."""
        lines = self.read("memory.oom_control" if self.old else "memory.events").splitlines()
        return int(dict(line.split() for line in lines)["oom_kill"]) > 0

    def freeze(self, on):
        self.write("freezer.state", "cgroup.freeze", ("FROZEN" if on else "THAWED") if self.old else int(on))

    def frozen(self):
        return self.read("freezer.state").strip() == "FROZEN" if self.old else "frozen 1" in self.read("cgroup.events")

    def command(self, *command):
        """A command that runs within."""
        return ["sh", "-c", 'echo $$ >"$0" && exec "$@"', f"{self.path}/cgroup.procs", *command]
