#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same random system calls in a bare directory and beneath the shim, on several file systems: answers and trees must be the same,
but for what fsshim(1) states. A difference is printed as the shortest script that shows it (differential/).

usage: shim_differential.py                     a short run with fixed seeds
       shim_differential.py KIND PERMISSIONS [OPTION...]
                                                on that file system, captured with --permissions auto or kernel, with options of the
                                                program differential (--seed N --calls N --outside USER ...) and of the world
                                                around it: --mounts, --mounts --fuse (one of them is bindfs, which must be
                                                installed), --stops, --limits (a user has all files that one may), --stalled
                                                (a file system inside does not answer, and processes wait for it)
"""
import os
import random
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../harness", f"{HERE}/probes"]
from lower_fs import Cases, Scratch, built, run, shim_program  # noqa: E402
from probe_tools import bind_mapped  # noqa: E402

KINDS = ("tmpfs", "ext4", "xfs")
CONNECTIONS = "/sys/fs/fuse/connections"
MAN_PAGE = os.path.join(os.environ.get("FSR_SOURCE") or f"{HERE}/../../..", "docs/man/fsshim.1.scd")
DIFFERENTIAL = built("tests/integration/shim/differential/differential")
# Areas in which answers differ unless the kernel checks permissions, and the words that state it.
UNCHECKED = {"dots": '"." and ".." in a path take no search permission of their own',
             "special-files": "who may only read or only write a FIFO or a device may do neither",
             "watches": "inotify_add_watch(2) succeeds on files and directories that the caller may search for but not read"}
WITHOUT_UNCHECKED = ["--without", ",".join(UNCHECKED)]
SHORT = {"auto": ["--seed", "1", "--calls", "15000", *WITHOUT_UNCHECKED], "kernel": ["--seed", "1000", "--calls", "9000"]}
# What random runs have found, and what it was.
FOUND = {"io_uring-workers": """# a worker that is older than the credentials of the request has others
root setfsuid uid=1002
root ring-openat new=0 at=cwd path="a" flags=O_RDWR|O_CREAT mode=0644 async=0
root seteuid uid=0
root ring-openat new=0 at=cwd path="a" flags=O_RDWR|O_CREAT mode=0644 async=0
"""}


def mount_inside(directory, fuse):
    """Other file systems where sequences have files: one directory in two places, one of them read-only; one with other owners; a tmpfs
    or, with `fuse`, bindfs."""
    for name in ("twice", "mapped", "behind"):
        os.mkdir(f"{directory}.{name}")
        os.chmod(f"{directory}.{name}", 0o777)
    for name in ("c", "d", "e", "f"):
        os.mkdir(f"{directory}/{name}")
    if fuse:
        run("bindfs", "--multithreaded", f"{directory}.behind", f"{directory}/c")
    else:
        run("mount", "-t", "tmpfs", "-o", "mode=777", "none", f"{directory}/c")
    for place in ("d", "e"):
        run("mount", "--bind", f"{directory}.twice", f"{directory}/{place}")
    run("mount", "-o", "remount,bind,ro", f"{directory}/e")
    bind_mapped(f"{directory}.mapped", f"{directory}/f", b"0 0 1000\n1000 1001 1\n1001 1000 1\n1002 1002 200000")


def start_and_end(differential, directory, capture, trace):
    """Captures for everybody that begin and end until the program has. How many."""
    count = 0
    while differential.poll() is None:
        count += 1
        with subprocess.Popen([*capture, "-o", f"{trace}-{count}.zst"], stderr=subprocess.DEVNULL) as process:
            time.sleep(random.uniform(0.3, 2))
            subprocess.run([shim_program(), "stop", directory], stderr=subprocess.DEVNULL, check=False)
            process.wait()  # for what the sequence has open: a signal would cut that off
        for name in (f"{trace}-{count}.zst", f"{trace}-{count}.mix"):
            if os.path.exists(name):
                os.remove(name)
    return count


def hog(directory, command):
    """Runs a command while a user has as many open files and locks as one may."""
    os.close(os.open(f"{directory}/hog", os.O_RDWR | os.O_CREAT))
    os.chmod(f"{directory}/hog", 0o666)
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        os.setresuid(3000, 3000, 3000)
        held = []
        try:
            while True:
                held.append(os.open(f"{directory}/hog", os.O_RDWR))
        except OSError as e:
            os.write(w, f"{len(held)} files, then {e.strerror}".encode())
        signal.pause()
    print(f"a user has {os.read(r, 100).decode()}", flush=True)
    status = subprocess.run(command, check=False).returncode
    os.kill(child, signal.SIGKILL)
    return status


def stall(frozen, inside, command):
    """Runs a command while processes wait for a file system inside that is frozen."""
    run("fsfreeze", "-f", frozen)
    writers = [subprocess.Popen(["touch", f"{inside}/{i}"]) for i in range(20)]
    status = subprocess.run(command, check=False).returncode
    waited = sum(writer.poll() is None for writer in writers)
    run("fsfreeze", "-u", frozen)
    print(f"{waited} processes waited for the frozen file system", flush=True)
    return status if all(writer.wait() == 0 for writer in writers) and waited == len(writers) else 1


def run_on(cases, scratch, point, permissions, options):
    kind = os.path.basename(point)
    name = f"{kind}-{permissions}-{len(os.listdir(point))}"
    bare, shim, beneath = f"{point}/{name}-bare", f"{point}/{name}-shim", f"{scratch.path}/{name}-beneath"
    for directory in (bare, shim, beneath):
        os.mkdir(directory)
    if "--mounts" in options:
        mount_inside(bare, "--fuse" in options)
        mount_inside(shim, "--fuse" in options)
    if "--stalled" in options:
        frozen = scratch.mount("ext4", size="64M", name="frozen")
        os.mkdir(f"{shim}/frozen")
        run("mount", "--bind", frozen, f"{shim}/frozen")
    run("mount", "--rbind", shim, beneath)
    run("mount", "--make-rprivate", beneath)
    # What others do is seen at once only where nothing is cached.
    cache = "none" if "--outside" in options or "--stops" in options else "auto"
    capture = [shim_program(), "capture", shim, "--permissions", permissions, "--cache", cache]
    command = [DIFFERENTIAL, *(word for word in options if word not in ("--limits", "--fuse", "--stalled")), bare, shim, beneath]
    if permissions == "kernel":
        command.append("--kernel-checks")
    if "--stops" in options:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as done:
            captures = start_and_end(done, shim, capture, f"{scratch.path}/{name}")
            output = done.stdout.read()
        print(f"# {captures} captures")
    else:
        if "--limits" in options:
            command = [sys.executable, os.path.abspath(__file__), "--hog", shim, *command]
            capture = ["prlimit", "--nofile=2000:2000", "setpriv", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource", *capture]
        if "--stalled" in options:
            command = [sys.executable, os.path.abspath(__file__), "--stall", frozen, f"{shim}/frozen", *command]
        done = subprocess.run([*capture, "-o", f"{scratch.path}/{name}.zst", "--", *command], stdout=subprocess.PIPE, text=True, check=False)
        output = done.stdout
    print("".join(f"# {line}\n" for line in output.splitlines()), end="")
    cases.case(f"answers and trees on {kind}, permissions {permissions}", done.returncode == 0, f"status {done.returncode}, see above")


def check_known(cases):
    """Each known difference is stated in the man page."""
    with open(MAN_PAGE, encoding="utf-8") as page:
        text = " ".join(page.read().split()).replace("\\", "")
    known = [line.split(": ", 1) for line in run(DIFFERENTIAL, "--known").splitlines()]
    known += UNCHECKED.items()
    missing = [name for name, words in known if words not in text]
    cases.case("known differences are stated in fsshim(1)", known and not missing, f"not there: {missing}")


def main():
    cases = Cases()
    if not os.path.ismount(CONNECTIONS):
        run("mount", "-t", "fusectl", "none", CONNECTIONS)
    with Scratch() as scratch:
        if sys.argv[1:]:
            kind, permissions, *options = sys.argv[1:]
            if permissions == "auto" and not {"--without", "--script"} & set(options):
                options += WITHOUT_UNCHECKED
            run_on(cases, scratch, scratch.mount(kind), permissions, options)
        else:
            check_known(cases)
            points = [scratch.mount(kind) for kind in KINDS]
            for point in points:
                run_on(cases, scratch, point, "auto", SHORT["auto"])
            run_on(cases, scratch, points[0], "kernel", SHORT["kernel"])
            for name, script in FOUND.items():
                with open(f"{scratch.path}/{name}", "w", encoding="ascii") as file:
                    file.write(script)
                run_on(cases, scratch, points[0], "auto", ["--script", file.name])
    return cases.status()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hog"]:
        sys.exit(hog(sys.argv[2], sys.argv[3:]))
    if sys.argv[1:2] == ["--stall"]:
        sys.exit(stall(sys.argv[2], sys.argv[3], sys.argv[4:]))
    sys.exit(main())
