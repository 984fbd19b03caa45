# SPDX-License-Identifier: Apache-2.0
"""What the tests of fsbench's programs share: a line for each case, a program's requests as a capture shows them, and the servers that
each program has to run on."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("FSR_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
BUILD = os.environ.get("FSR_BUILD") or os.path.join(SOURCE, "build")
FSBENCH = os.path.join(BUILD, "tools/fsbench")
SERVERS = os.path.join(SOURCE, "tests", "servers")
# What captures of the original and of ours differ in: look-ups and closes are the kernel's to order.
UNCOMPARED = {"lookup", "getattr", "statx", "access", "opendir", "releasedir", "readdir", "flush", "release", "statfs", "getxattr", "lseek",
              "ioctl"}
STOOD_STILL = "the load generator itself stood still"  # said of a busy machine, with status 1
failed = []


def case(name, fine, why=""):
    if not fine:
        failed.append(name)
    print(f"ok - {name}" if fine else f"not ok - {name}: {why}", flush=True)


def run(*command, timeout=120, **options):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False, **options)


def ended_well(done):
    """With status 0, or 1 only because the machine stood still."""
    return done.returncode == 0 or (done.returncode == 1 and STOOD_STILL in done.stderr)


def without_stands(err):
    """What a program printed, without that the machine stood still."""
    return "".join(line for line in err.splitlines(True) if STOOD_STILL not in line)


@contextlib.contextmanager
def scratch(in_memory=False):
    """A working directory of our own, removed at the end. In memory: a tmpfs, which takes no time to sync."""
    path = tempfile.mkdtemp(prefix="fsshim-test.")
    if in_memory:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", path], check=True)
    os.chdir(path)
    try:
        yield path
    finally:
        os.chdir("/")
        if in_memory:
            subprocess.run(["umount", path], check=False)
        shutil.rmtree(path, ignore_errors=True)


def captured(command, trace, directory="d"):
    """Requests and outputs of a run in the directory, which is made, and what it leaves there. Names that hold the process's number
    are made alike."""
    os.mkdir(directory)
    done = run(f"{BUILD}/shim/fsshim", "capture", directory, "-o", trace, "--", *command)
    left = os.listdir(directory)
    shutil.rmtree(directory)
    dump = subprocess.run([f"{BUILD}/tools/fstrace", "dump", "--json", trace], capture_output=True, text=True, check=True).stdout
    dump = re.sub(r"Bonnie\.[0-9]+", "Bonnie", dump)
    ops = [json.loads(line) for line in dump.splitlines()]
    calls = [("open" if o["kind"] == "create" else o["kind"], o.get("path"), o.get("offset"), o.get("length"), o.get("result"),
              o.get("mode"), o.get("error")) for o in ops if o["kind"] not in UNCOMPARED]
    return calls, done, left


def same_requests(name, theirs, ours):
    differs = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b), min(len(theirs), len(ours)))
    case(f"{name}: {len(theirs)} requests as the original's", theirs == ours and theirs,
         f"number {differs}: {theirs[differs:differs + 2]} {ours[differs:differs + 2]}")


def on_servers(script):
    """Runs the script itself beside each server, as "script --on-server NAME URL DIRECTORY..."."""
    for server, targets in (("ganesha", ["NFSv3 NFS_VFS_URL NFS_VFS_DIR", "NFSv4.1 NFS4_VFS_URL NFS_VFS_DIR"]),
                            ("diod", ["9P2000.L P9_URL P9_DIR"]), ("netatalk", ["AFP AFP_URL AFP_DIR"])):
        done = run(f"{SERVERS}/{server}", sys.executable, os.path.abspath(script), "--on-server", *targets, timeout=280)
        print(done.stdout, end="", flush=True)
        if done.returncode not in (0, 1):
            case(server, False, done.stderr[-500:])
        failed.extend(["a case on a server"] * done.stdout.count("not ok - "))


def targets_of_server():
    """Of such a run: name, URL and the directory behind it."""
    for name, url, directory in [line.split() for line in sys.argv[2:]]:
        yield name, os.environ[url], os.environ[directory]
