# SPDX-License-Identifier: Apache-2.0
"""File systems to put the shim on: tmpfs, and others in images that lie in memory, so that their fsync costs no disk."""
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile


def run(*command, **kw):
    """Must succeed; its standard output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kw)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def built(name):
    """Path of a built program."""
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(os.environ.get("FSR_BUILD") or f"{here}/../../../build", name)


def put_on_path():
    """The built programs, for those who name them as a user does."""
    os.environ["PATH"] = ":".join([built("shim"), built("replay"), built("tools"), os.environ["PATH"]])


def shim_program():
    return built("shim/fsshim")


def fstrace_program():
    return built("tools/fstrace")


def take_descriptors(process, directory):
    """Takes its descriptors for all files that were used before those of a directory, which it makes, away from a capture."""
    held = len(os.listdir(f"/proc/{process}/fd"))
    before = resource.prlimit(process, resource.RLIMIT_NOFILE)
    resource.prlimit(process, resource.RLIMIT_NOFILE, (held + 40, before[1]))
    for i in list(range(100)) * 2:
        with open(f"{directory}/{i}", "wb") as f:
            f.write(b"x")
    resource.prlimit(process, resource.RLIMIT_NOFILE, before)


class Scratch:
    """A scratch directory that everyone may enter. At the end, SIGTERM included, what was mounted below it is unmounted."""

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.path = tempfile.mkdtemp(prefix="fsshim-test.")
        os.chmod(self.path, 0o755)
        return self

    def __exit__(self, *_):
        os.chdir("/")
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as mounts:
            points = [line.split()[1] for line in mounts]
        for point in reversed([p for p in points if p.startswith(self.path + "/")]):
            subprocess.run(["umount", "-l", point], check=False)
        shutil.rmtree(self.path, ignore_errors=True)

    def mount(self, kind, size="1G", options=(), name=None):
        """Mount point of a new file system of that kind, empty and writable for all. `name`: of the mount point, if not its kind."""
        name = name or kind
        ram, point = f"{self.path}/ram", f"{self.path}/{name}"
        os.mkdir(point)
        if kind == "tmpfs":
            run("mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", *options]), "none", point)
        elif kind == "overlay":  # both layers in memory
            layers = f"{self.path}/{name}-layers"
            os.mkdir(layers)
            run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", layers)
            for layer in ("lower", "upper", "work"):
                os.mkdir(f"{layers}/{layer}")
            places = [f"lowerdir={layers}/lower", f"upperdir={layers}/upper", f"workdir={layers}/work"]
            run("mount", "-t", "overlay", "-o", ",".join([*places, *options]), "none", point)
        else:
            if not os.path.isdir(ram):
                os.mkdir(ram)
                run("mount", "-t", "tmpfs", "-o", "size=8G", "none", ram)
            image = f"{ram}/{name}.img"
            run("truncate", "-s", size, image)
            run(f"mkfs.{kind}", "-q", image)
            run("mount", "-o", ",".join(["loop", *options]), image, point)
        os.chmod(point, 0o777)
        return point


class Cases:
    """Prints one line per case and remembers whether one failed."""

    def __init__(self):
        self.failed = 0

    def case(self, name, fine, why=""):
        if fine:
            print(f"ok - {name}", flush=True)
        else:
            self.failed += 1
            print(f"not ok - {name}: {why}", flush=True)
        return fine

    def status(self):
        return 1 if self.failed else 0
